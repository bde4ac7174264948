//! Measures the speed of isolines on planes, on the CPU.
//! `cargo bench --bench isolines -- [--quick] [--json FILE]`; `ISOLINE_BENCH_JSON` sets the same.
//! `benches/isolines_peers.py` measures other programs on the same images.
//!
//! Every number is a median after a warm-up, of whole calls, from f32 pixels in host memory to polylines in host memory.
#![allow(missing_docs)]

mod common;

use common::{Bench, Outcome, repeat};
use isoline::isolines::{self, Params, Polylines};
use ndarray::Array2;
use std::f64::consts::TAU;

const SIDES: [usize; 2] = [1024, 4096];
const QUICK_SIDES: [usize; 1] = [128];

/// The levels of a call.
const LEVELS: [usize; 2] = [1, 9];

/// The image; `isolines_peers.py` makes the same ones.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Smooth waves, eight along each side: long curves.
    Waves,
    /// A different number at each pixel: a crossing for every pixel, and many short curves.
    Noise,
}

impl Shape {
    fn name(self) -> &'static str {
        match self {
            Self::Waves => "waves",
            Self::Noise => "noise",
        }
    }

    fn image(self, side: usize) -> Array2<f32> {
        let wave = |i: usize| (8.0 * TAU * i as f64 / side as f64).sin();
        Array2::from_shape_fn((side, side), |(y, x)| match self {
            Self::Waves => (wave(x) + wave(y)) as f32,
            Self::Noise => ((y * side + x) * 7919 % 10_007) as f32 / 10_007.0,
        })
    }
}

impl Bench {
    /// Measures one size: all images and numbers of levels.
    fn table(&mut self, side: usize) -> Outcome<()> {
        println!("\n{side}x{side} f32, ms");
        println!("  image   levels       curves       points    host to host  Mpixel/s");
        for shape in [Shape::Waves, Shape::Noise] {
            let image = shape.image(side);
            for levels in LEVELS {
                let params = Params { level_count: levels as u32, ..Params::default() };
                let mut found = Polylines::new();
                let host = repeat(|| {
                    Ok(isolines::run(&self.cpu, image.view().into(), &params, None, &mut found)?.seconds_total)
                })?;
                println!(
                    "  {:<7} {levels:>6} {:>12} {:>12} {:>15.3} {:>9.0}",
                    shape.name(),
                    found.polylines().len(),
                    found.points().len(),
                    host * 1e3,
                    (image.len() * levels) as f64 / host * 1e-6,
                );
                self.records.push(format!(
                    "{{\"what\": \"{}\", \"device\": \"cpu\", \"width\": {side}, \"height\": {side}, \
                     \"levels\": {levels}, \"points\": {}, \"seconds_host_to_host\": {host:.9}}}",
                    shape.name(),
                    found.points().len(),
                ));
            }
        }
        Ok(())
    }
}

fn main() -> Outcome<()> {
    let mut bench = Bench::new()?;
    for side in if bench.quick { &QUICK_SIDES[..] } else { &SIDES } {
        bench.table(*side)?;
    }
    bench.write()
}
