//! Measures the speed of the level set on a head, on cubes and on slices, on every device here, beside the targets.
//! `cargo bench --bench level_set -- [--quick] [--json FILE]`; `ISOLINE_BENCH_DEVICE` (auto, cpu, cuda, cuda:N) and
//! `ISOLINE_BENCH_JSON` set the same. `ISOLINE_BENCH_BRAIN` names a file of 181 x 217 x 181 bytes (the voxels of
//! ch2.nii, without its header); without it the bench uses a synthetic volume of that size.
//!
//! Most numbers are the smallest of a few steps of many iterations, with φ and the image in the memory of the device
//! that computes. No step stops early, φ is reinitialised every 50 iterations, and Δt is that of the first records, so
//! that fronts move as they did then. "To rest" is the time from image and start in host memory to the mask, with the
//! default parameters.
#![allow(missing_docs)]

mod common;

use common::{Bench, Outcome};
use isoline::level_set::{LevelSet, Params, TargetRange, Variant};
use isoline::{Context, Dimensions};
use ndarray::Array3;
use std::fmt::Write as _;
use std::time::Instant;

/// Depth, height and width.
type Shape = (usize, usize, usize);
const HEAD: Shape = (181, 217, 181);

/// Makes a folded sheet within the intensity range on an empty background, which is similar to white matter for the
/// front.
fn sheet((depth, height, width): Shape) -> Array3<u8> {
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        let [a, b, c] = [x, y, z].map(|i| i as f64 * 0.16);
        let gyroid = a.sin() * b.cos() + b.sin() * c.cos() + if depth > 1 { c.sin() * a.cos() } else { 0.0 };
        let noise = ((x * 7919 + y * 104_729 + z * 1_299_709) % 13) as f64;
        (60.0 + 45.0 * (gyroid + 0.3).clamp(-1.0, 1.0) + noise) as u8
    })
}

/// Reads the head, if there is one.
fn head() -> Outcome<(Array3<u8>, &'static str)> {
    match std::env::var_os("ISOLINE_BENCH_BRAIN") {
        Some(path) => Ok((Array3::from_shape_vec(HEAD, std::fs::read(path)?)?, "head")),
        None => Ok((sheet(HEAD), "made head")),
    }
}

/// Makes the mask of a ball.
fn ball((depth, height, width): Shape, centre: [usize; 3], radius: usize) -> Array3<u8> {
    Array3::from_shape_fn((depth, height, width), |(z, y, x)| {
        let [cx, cy, cz] = centre;
        let off = x.abs_diff(cx).pow(2) + y.abs_diff(cy).pow(2) + z.abs_diff(cz).pow(2);
        u8::from(off <= radius * radius)
    })
}

struct Case {
    name: String,
    image: Array3<u8>,
    mask: Array3<u8>,
    dimensions: Dimensions,
    /// The numbers of iterations on a GPU and on the CPU.
    iterations: [u64; 2],
    /// The target milliseconds of all GPU iterations: dense, band.
    targets: [Option<f64>; 2],
}

fn cases(quick: bool) -> Outcome<Vec<Case>> {
    let volume = |side: usize, iterations: [u64; 2], targets| {
        let shape = (side, side, side);
        let mask = ball(shape, [side / 2; 3], side / 5);
        let name = format!("{side}^3");
        Case { name, image: sheet(shape), mask, dimensions: Dimensions::Volume, iterations, targets }
    };
    let slice = |side: usize, iterations: [u64; 2]| {
        let shape = (1, side, side);
        let mask = ball(shape, [side / 2, side / 2, 0], side / 5);
        let (image, dimensions, targets) = (sheet(shape), Dimensions::Slices, [None; 2]);
        Case { name: format!("{side}^2"), image, mask, dimensions, iterations, targets }
    };
    if quick {
        return Ok(vec![volume(32, [60, 10], [None; 2]), slice(64, [60, 10])]);
    }
    let (image, name) = head()?;
    let head = Case {
        name: name.into(),
        image,
        mask: ball(HEAD, [65, 110, 105], 8),
        dimensions: Dimensions::Volume,
        iterations: [1000, 20],
        targets: [Some(40.0), Some(10.0)],
    };
    Ok(vec![
        head,
        volume(64, [1000, 50], [None; 2]),
        volume(128, [1000, 20], [None; 2]),
        volume(256, [200, 5], [None; 2]),
        // 0.8 ms per iteration.
        volume(512, [100, 2], [Some(80.0), None]),
        slice(256, [5000, 500]),
        slice(512, [5000, 200]),
    ])
}

const RANGE: TargetRange = TargetRange { target: 113.0, epsilon: 18.0 };

/// Returns half of the largest stable time step for unbounded speeds.
fn time_step(case: &Case) -> f64 {
    let TargetRange { target, epsilon } = RANGE;
    let axes = if case.dimensions == Dimensions::Volume { 3.0f64 } else { 2.0 };
    let alpha = (1.0 + epsilon).recip();
    let farthest = case.image.iter().fold(0.0f64, |most, pixel| most.max((f64::from(*pixel) - target).abs()));
    0.5 / (alpha * epsilon.max(farthest - epsilon) * axes.sqrt() + (1.0 - alpha) * axes)
}

fn milliseconds(context: &Context, case: &Case, variant: Variant, iterations: u64, repeats: usize) -> Outcome<f64> {
    let params = Params {
        dimensions: case.dimensions,
        range: Some(RANGE),
        time_step: Some(time_step(case)),
        reinitialise_every: 50,
        variant,
        ..Params::default().without_stopping()
    };
    let mut best = f64::INFINITY;
    for _ in 0..repeats {
        let mut surface = LevelSet::new(context, case.image.view().into(), case.mask.view().into(), &params)?;
        let report = surface.step(iterations, None)?;
        if report.iterations != iterations {
            return Err(format!("{}: stopped after {} iterations", case.name, report.iterations).into());
        }
        best = best.min(report.seconds_compute * 1e3);
    }
    Ok(best)
}

/// Measures a run from image and start to the mask of the front at rest: iterations and milliseconds.
fn to_rest(context: &Context, case: &Case) -> Outcome<(u64, f64)> {
    let params = Params { dimensions: case.dimensions, range: Some(RANGE), ..Params::default() };
    let mut best = f64::INFINITY;
    let mut iterations = 0;
    for _ in 0..2 {
        let mut mask = Array3::<u8>::zeros(case.image.dim());
        let started = Instant::now();
        let mut surface = LevelSet::new(context, case.image.view().into(), case.mask.view().into(), &params)?;
        let report = surface.step(20_000, None)?;
        surface.read_mask(mask.view_mut().into())?;
        best = best.min(started.elapsed().as_secs_f64() * 1e3);
        if !report.converged {
            return Err(format!("{}: not at rest after {} iterations", case.name, report.iterations).into());
        }
        iterations = report.iterations;
    }
    Ok((iterations, best))
}

/// Measures the paper's kernel without its races, from the same φ with the same constants; it never reinitialises.
fn paper_milliseconds(context: &Context, case: &Case, iterations: u64) -> Outcome<f64> {
    let params =
        Params { dimensions: case.dimensions, range: Some(RANGE), variant: Variant::Dense, ..Params::default() };
    let surface = LevelSet::new(context, case.image.view().into(), case.mask.view().into(), &params)?;
    let mut best = f64::INFINITY;
    for _ in 0..2 {
        best = best.min(surface.paper_seconds(u32::try_from(iterations)?)? * 1e3);
    }
    Ok(best)
}

fn main() -> Outcome<()> {
    let mut bench = Bench::new()?;
    let mut records = vec![];
    println!("\n{:12} {:6} {:>10} {:>12} {:>14} {:>8}", "image", "", "iterations", "ms", "us/iteration", "target");
    for case in cases(bench.quick)? {
        for context in bench.contexts() {
            let id = &context.device().id;
            let on_cpu = id == "cpu";
            let iterations = case.iterations[usize::from(on_cpu)];
            // The paper's kernel runs on volumes on a GPU.
            if !on_cpu && case.dimensions == Dimensions::Volume {
                let ms = paper_milliseconds(context, &case, iterations)?;
                let each = ms * 1e3 / iterations as f64;
                println!("{:12} {id:6} {iterations:10} {ms:12.3} {each:14.2} {:>8}  Paper", case.name, "");
                let mut record = String::new();
                write!(record, "{{\"image\": \"{}\", \"device\": \"{id}\", \"variant\": \"Paper\", ", case.name)?;
                write!(record, "\"iterations\": {iterations}, \"ms\": {ms:.4}}}")?;
                records.push(record);
            }
            for (variant, target) in [(Variant::Dense, case.targets[0]), (Variant::Band, case.targets[1])] {
                let ms = milliseconds(context, &case, variant, iterations, if on_cpu { 1 } else { 3 })?;
                let target = target.filter(|_| !on_cpu).map_or(String::new(), |ms| format!("{ms} ms"));
                let each = ms * 1e3 / iterations as f64;
                println!("{:12} {id:6} {iterations:10} {ms:12.3} {each:14.2} {target:>8}  {variant:?}", case.name);
                let mut record = String::new();
                write!(record, "{{\"image\": \"{}\", \"device\": \"{id}\", \"variant\": \"{variant:?}\", ", case.name)?;
                write!(record, "\"iterations\": {iterations}, \"ms\": {ms:.4}}}")?;
                records.push(record);
            }
            // The larger cubes only measure the speed of the kernels.
            if case.image.len() <= 200 * 200 * 200 {
                let (iterations, ms) = to_rest(context, &case)?;
                println!("{:12} {id:6} {iterations:10} {ms:12.3} {:>14} {:>8}  Band, to rest", case.name, "", "");
                let mut record = String::new();
                write!(record, "{{\"image\": \"{}\", \"device\": \"{id}\", \"variant\": \"to rest\", ", case.name)?;
                write!(record, "\"iterations\": {iterations}, \"ms\": {ms:.4}}}")?;
                records.push(record);
            }
        }
    }
    bench.records = records;
    bench.write()
}
