//! Measures the speed of isolines on planes, on every device here.
//! `cargo bench --bench isolines -- [--quick] [--json FILE]`; `ISOLINE_BENCH_DEVICE` (auto, cpu, cuda, cuda:N) and
//! `ISOLINE_BENCH_JSON` set the same. `benches/isolines_peers.py` measures other programs on the same images.
//!
//! Every number is a median after a warm-up, of whole calls, from f32 pixels in host memory to polylines in host memory.
//! "kernels" is what the report says of the computation: on CUDA the kernels and the linking on the host.
#![allow(missing_docs)]

mod common;

use common::{Bench, Outcome, median, repeat};
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
    /// Measures one size: all images and numbers of levels, on every device.
    fn table(&mut self, side: usize) -> Outcome<()> {
        println!("\n{side}x{side} f32, ms");
        println!("  device  image   levels       curves       points    host to host     kernels  Mpixel/s");
        for shape in [Shape::Waves, Shape::Noise] {
            let image = shape.image(side);
            for context in [Some(&self.cpu), self.cuda.as_ref()].into_iter().flatten() {
                let id = context.device().id.clone();
                for levels in LEVELS {
                    let params = Params { level_count: levels as u32, ..Params::default() };
                    let (mut found, mut kernels) = (Polylines::new(), vec![]);
                    let host = repeat(|| {
                        let report = isolines::run(context, image.view().into(), &params, None, &mut found)?;
                        kernels.push(report.seconds_compute);
                        Ok(report.seconds_total)
                    })?;
                    let kernels = median(kernels);
                    println!(
                        "  {id:<7} {:<7} {levels:>6} {:>12} {:>12} {:>15.3} {:>11.3} {:>9.0}",
                        shape.name(),
                        found.polylines().len(),
                        found.points().len(),
                        host * 1e3,
                        kernels * 1e3,
                        (image.len() * levels) as f64 / host * 1e-6,
                    );
                    self.records.push(format!(
                        "{{\"what\": \"{}\", \"device\": \"{id}\", \"width\": {side}, \"height\": {side}, \
                         \"levels\": {levels}, \"points\": {}, \"seconds_host_to_host\": {host:.9}, \
                         \"seconds_kernels\": {kernels:.9}}}",
                        shape.name(),
                        found.points().len(),
                    ));
                }
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
