//! Measures the speed of the distance on volumes and planes, on every device here, and prints it beside the targets.
//! `cargo bench --bench distance -- [--quick] [--json FILE]`; `ISOLINE_BENCH_DEVICE` (auto, cpu, cuda, cuda:N) and
//! `ISOLINE_BENCH_JSON` set the same. `benches/distance_peers.py` measures other programs on the same masks.
//!
//! Every number is a median after a warm-up, of whole calls. "resident": mask (u8) and distances (f32) are in the GPU's
//! memory. "kernels": the part of a resident call between CUDA events, to which the targets apply.
#![allow(missing_docs)]

mod common;

use common::{Bench, Outcome, Resident, json, repeat, text};
use isoline::PixelType;
use isoline::distance::{self, Params};
use ndarray::Array3;
use std::f64::consts::TAU;

/// Depth, height and width, and the target of the kernels in milliseconds, on an H200.
type Size = ((usize, usize, usize), Option<f64>);
const SIZES: [Size; 3] = [((256, 256, 256), Some(0.5)), ((512, 512, 512), Some(2.5)), ((1, 4096, 4096), Some(0.5))];
const QUICK_SIZES: [Size; 2] = [((64, 64, 64), None), ((1, 256, 256), None)];

/// Spacings along x, y, z: equal, with ratios whose squares are multiples of a sixteenth, and others.
const SPACINGS: [[f64; 3]; 3] = [[1.0, 1.0, 1.0], [1.0, 1.5, 2.5], [0.1, 0.13, 0.17]];

/// The shape of the inside; `distance_peers.py` makes the same masks.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// A slightly thickened gyroid: sheets and channels everywhere, eight along each side.
    Gyroid,
    /// One ball or disc: distances up to a third of the side.
    Ball,
    /// One pixel in 10 007.
    Specks,
    /// The half-space beyond a plane oblique to the axes, which gives the longest distances.
    HalfSpace,
}

impl Shape {
    fn name(self) -> &'static str {
        match self {
            Self::Gyroid => "gyroid",
            Self::Ball => "ball",
            Self::Specks => "specks",
            Self::HalfSpace => "half-space",
        }
    }

    fn mask(self, (depth, height, width): (usize, usize, usize)) -> Array3<u8> {
        let waves: Vec<[f64; 2]> = (0..width)
            .map(|i| {
                let angle = 8.0 * TAU * i as f64 / width as f64;
                [angle.sin(), angle.cos()]
            })
            .collect();
        let from_middle = |i: usize, n: usize| 2 * i as i64 - (n as i64 - 1);
        let reach = (7 * width as i64 / 10).pow(2);
        Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
            let middle = [from_middle(x, width), from_middle(y, height), from_middle(z, depth)];
            let inside = match self {
                Self::Gyroid => {
                    let [[sx, cx], [sy, cy], [sz, cz]] = [waves[x], waves[y], waves[z]];
                    sx * cy + sy * cz + sz * cx < 0.3
                }
                Self::Ball => middle.iter().map(|steps| steps.pow(2)).sum::<i64>() < reach,
                Self::Specks => ((z * height + y) * width + x) * 7919 % 10_007 == 0,
                Self::HalfSpace => 80 * middle[0] + 53 * middle[1] + 28 * middle[2] > 600,
            };
            u8::from(inside)
        })
    }
}

impl Bench {
    /// Measures one size: all shapes and spacings, on every device.
    fn table(&mut self, (size, target): Size) -> Outcome<()> {
        let (depth, height, width) = size;
        println!("\n{width}x{height}x{depth} ({:.1} Mpixel), ms", (width * height * depth) as f64 * 1e-6);
        println!("  device  shape      spacing          host to host    resident     kernels    Mpixel/s      target");
        for shape in [Shape::Gyroid, Shape::Ball, Shape::Specks, Shape::HalfSpace] {
            let mask = shape.mask(size);
            for context in [Some(&self.cpu), self.cuda.as_ref()].into_iter().flatten() {
                let id = context.device().id.clone();
                let mut output = Array3::<f32>::zeros(size);
                let mut resident =
                    if id == "cpu" { None } else { Some(Resident::new(context, &mask, PixelType::F32)?) };
                for spacing in SPACINGS {
                    let params = Params { spacing, ..Params::default() };
                    let host = repeat(|| {
                        let target = output.view_mut().into();
                        Ok(distance::run(context, mask.view().into(), &params, None, target)?.seconds_total)
                    })?;
                    let [mut whole, mut kernels] = [None; 2];
                    if let Some(Resident { input, output }) = &mut resident {
                        let mut call =
                            || distance::run(context, input.view().into(), &params, None, output.view_mut().into());
                        whole = Some(repeat(|| Ok(call()?.seconds_total))?);
                        kernels = Some(repeat(|| Ok(call()?.seconds_compute))?);
                    }
                    let target = target.filter(|_| kernels.is_some());
                    let spaced = spacing.map(|h| h.to_string()).join(" ");
                    println!(
                        "  {id:<7} {:<10} {spaced:<14} {:>14.3} {:>11} {:>11} {:>11.0} {:>11}",
                        shape.name(),
                        host * 1e3,
                        text(whole),
                        text(kernels),
                        mask.len() as f64 / whole.unwrap_or(host) * 1e-6,
                        target.map_or("-".into(), |ms| format!("{ms:.1}")),
                    );
                    self.records.push(format!(
                        "{{\"what\": \"{}\", \"device\": \"{id}\", \"width\": {width}, \"height\": {height}, \
                         \"depth\": {depth}, \"spacing\": {spacing:?}, \"seconds_host_to_host\": {host:.9}, \
                         \"seconds_resident\": {}, \"seconds_kernels\": {}}}",
                        shape.name(),
                        json(whole),
                        json(kernels)
                    ));
                }
            }
        }
        Ok(())
    }
}

fn main() -> Outcome<()> {
    let mut bench = Bench::new()?;
    for size in if bench.quick { &QUICK_SIZES[..] } else { &SIZES } {
        bench.table(*size)?;
    }
    bench.write()
}
