//! Measures the speed of the edge strength: every variant on every device here, against the scalar loop and the
//! published numbers. `cargo bench --bench edge_strength -- [--quick] [--json FILE]`; `ISOLINE_BENCH_DEVICE` (auto,
//! cpu, cuda, cuda:N) and `ISOLINE_BENCH_JSON` set the same.
//!
//! Every number is a median after a warm-up. "ms" is the time of the iterations alone: on CUDA the kernels, between
//! CUDA events, with input and output resident; on the CPU the time that the same number of further iterations adds to
//! the call. "call ms" is the time of the whole call, host memory to host memory. The rates are pixel updates per
//! second: "alone" for the iterations, "call" for the whole call, which is the rate that a program sees.
#![allow(missing_docs)]

mod common;
mod link;

use common::{Bench, Outcome, Repeats, Resident, json, repeat_within};
use isoline::edge_strength::{self, Mode, Params, Variant};
use isoline::{Context, PixelType};
use ndarray::Array3;
use std::time::Duration;

/// The approximate number of updates with which the scalar loop is timed; it is slow, and its speed does not depend on
/// the number of iterations.
const SCALAR_UPDATES: usize = 50_000_000;
const REPEATS: Repeats = (3, 25, Duration::from_millis(1500));

/// Published milliseconds (Keleş 2016, tables 1–3): side, iterations, image, a 4 GHz Core i7, a GTX 970 with shared and
/// with texture memory.
const PUBLISHED: [(usize, u64, &str, f64, f64, f64); 12] = [
    (1024, 50, "lines", 267.7, 6.2, 7.0),
    (2048, 50, "lines", 1076.3, 23.9, 25.7),
    (4096, 50, "lines", 4319.5, 92.6, 101.3),
    (8192, 50, "lines", 17266.4, 360.8, 410.3),
    (1024, 200, "lines", 1070.2, 25.3, 26.8),
    (2048, 200, "lines", 4309.2, 91.5, 102.3),
    (4096, 200, "lines", 17270.3, 363.9, 404.6),
    (8192, 200, "lines", 69295.6, 1441.8, 1641.3),
    (1024, 200, "shape", 1042.6, 24.9, 26.6),
    (2048, 200, "shape", 5016.1, 91.5, 103.9),
    (4096, 200, "shape", 23192.1, 359.2, 412.8),
    (8192, 200, "shape", 86319.7, 1406.1, 1667.3),
];

/// Makes an image. "lines" has bands of an eightfold star pattern, with foreground and background in every tile, like
/// the paper's Seljuk patterns; "shape" has one filled shape; "white" has only shape pixels.
fn picture(name: &str, side: usize) -> Array3<u8> {
    const PERIOD: f64 = 61.0;
    const WIDTH: f64 = 3.0;
    Array3::from_shape_fn((1, side, side), |(_, y, x)| {
        let (x, y) = (x as f64, y as f64);
        let on = match name {
            "lines" => (0..4).any(|direction| {
                let (sin, cos) = (f64::from(direction) * std::f64::consts::FRAC_PI_4).sin_cos();
                (x * cos + y * sin).rem_euclid(PERIOD) < WIDTH
            }),
            "shape" => {
                let (x, y) = (x / side as f64 - 0.5, y / side as f64 - 0.5);
                x.hypot(y) < 0.3 * (1.0 + 0.3 * (5.0 * y.atan2(x)).cos())
            }
            _ => true,
        };
        if on { 255 } else { 0 }
    })
}

fn repeat(measure: impl FnMut() -> Outcome<f64>) -> Outcome<f64> {
    repeat_within(REPEATS, measure)
}

/// Returns the seconds of a whole call, host to host.
fn call(context: &Context, input: &Array3<u8>, output: &mut Array3<f32>, params: &Params) -> Outcome<f64> {
    Ok(edge_strength::run(context, input.view().into(), params, None, output.view_mut().into())?.seconds_total)
}

/// Returns the seconds in kernels of a call whose images are on the device.
fn compute(context: &Context, images: &mut Resident, params: &Params) -> Outcome<f64> {
    Ok(edge_strength::run(context, images.input.view().into(), params, None, images.output.view_mut().into())?
        .seconds_compute)
}

/// One measured line.
struct Line {
    device: String,
    variant: &'static str,
    picture: &'static str,
    side: usize,
    iterations: u64,
    /// The seconds of the iterations alone.
    seconds: f64,
    seconds_call: Option<f64>,
    note: String,
}

impl Line {
    fn updates(&self) -> f64 {
        (self.side * self.side) as f64 * self.iterations as f64
    }

    fn updates_per_second(&self) -> f64 {
        self.updates() / self.seconds
    }

    fn updates_per_second_call(&self) -> Option<f64> {
        self.seconds_call.map(|seconds| self.updates() / seconds)
    }
}

fn with(variant: Variant, iterations: u64) -> Params {
    Params { variant, mode: Mode::Iterate { iterations }, ..Params::default() }
}

impl Bench {
    /// Measures every variant on one image and prints a table.
    fn table(&mut self, picture_name: &'static str, side: usize, counts: &[u64]) -> Outcome<()> {
        let input = picture(picture_name, side);
        let mut output = Array3::<f32>::zeros(input.dim());
        let mut resident = self.cuda.as_ref().map(|cuda| Resident::new(cuda, &input, PixelType::F32)).transpose()?;
        let mut lines = vec![self.scalar(picture_name, &input, &mut output)?];
        for &iterations in counts {
            let whole = repeat(|| call(&self.cpu, &input, &mut output, &with(Variant::Fused, iterations)))?;
            let twice = repeat(|| call(&self.cpu, &input, &mut output, &with(Variant::Fused, 2 * iterations)))?;
            let mut line = Line {
                device: "cpu".into(),
                variant: "fused",
                picture: picture_name,
                side,
                iterations,
                seconds: twice - whole,
                seconds_call: Some(whole),
                note: String::new(),
            };
            if let Some(paper) = PUBLISHED.iter().find(|p| (p.0, p.1, p.2) == (side, iterations, picture_name)) {
                line.note = format!("published: CPU {} ms, GPU {} / {} ms", paper.3, paper.4, paper.5);
            }
            lines.push(line);
            let (Some(cuda), Some(resident)) = (&self.cuda, &mut resident) else { continue };
            for (variant, name) in
                [(Variant::Fused, "fused"), (Variant::Shared, "shared"), (Variant::Texture, "texture")]
            {
                let params = with(variant, iterations);
                let seconds = repeat(|| compute(cuda, resident, &params))?;
                let seconds_call = if name == "fused" && picture_name == "lines" {
                    Some(repeat(|| call(cuda, &input, &mut output, &params))?)
                } else {
                    None
                };
                lines.push(Line {
                    device: cuda.device().id.clone(),
                    variant: name,
                    picture: picture_name,
                    side,
                    iterations,
                    seconds,
                    seconds_call,
                    note: String::new(),
                });
            }
        }
        self.print(&lines);
        Ok(())
    }

    fn scalar(&self, picture: &'static str, input: &Array3<u8>, output: &mut Array3<f32>) -> Outcome<Line> {
        let side = input.dim().1;
        let iterations = (SCALAR_UPDATES / (side * side)).clamp(3, 50) as u64;
        let mut whole = || call(&self.cpu, input, output, &with(Variant::Scalar, iterations));
        let whole = whole()?.min(whole()?);
        let mut nothing = || call(&self.cpu, input, output, &with(Variant::Scalar, 0));
        let nothing = nothing()?.min(nothing()?);
        Ok(Line {
            device: "cpu".into(),
            variant: "scalar",
            picture,
            side,
            iterations,
            seconds: whole - nothing,
            seconds_call: None,
            note: format!("one thread; timed over {iterations} iterations"),
        })
    }

    fn print(&mut self, lines: &[Line]) {
        let scalar = lines[0].updates_per_second();
        println!("\n{} {side}x{side}", lines[0].picture, side = lines[0].side);
        println!("                                                          10^9 updates/s");
        println!("  device  variant   iterations          ms     call ms     alone      call   x scalar   x shared");
        for line in lines {
            let shared = lines.iter().find(|other| other.variant == "shared" && other.iterations == line.iterations);
            let on_gpu = shared.filter(|shared| shared.device == line.device);
            let text = |value: Option<f64>, digits| value.map_or("-".into(), |value| format!("{value:.digits$}"));
            println!(
                "  {:<7} {:<9} {:>10} {:>11.3} {:>11} {:>9.3} {:>9} {:>10.1} {:>10}   {}",
                line.device,
                line.variant,
                line.iterations,
                line.seconds * 1e3,
                text(line.seconds_call.map(|seconds| seconds * 1e3), 3),
                line.updates_per_second() * 1e-9,
                text(line.updates_per_second_call().map(|rate| rate * 1e-9), 3),
                line.updates_per_second() / scalar,
                text(on_gpu.map(|shared| shared.seconds / line.seconds), 2),
                line.note
            );
            self.records.push(format!(
                "{{\"what\": \"iterations\", \"device\": \"{}\", \"variant\": \"{}\", \"picture\": \"{}\", \"side\": {}, \
                 \"iterations\": {}, \"seconds\": {:.9}, \"seconds_call\": {}, \"updates_per_second\": {:.4e}, \
                 \"updates_per_second_call\": {}}}",
                line.device,
                line.variant,
                line.picture,
                line.side,
                line.iterations,
                line.seconds,
                json(line.seconds_call),
                line.updates_per_second(),
                line.updates_per_second_call().map_or("null".into(), |rate| format!("{rate:.4e}"))
            ));
        }
    }

    /// Measures the converged mode against iterations that do not reach the steady state.
    fn converged(&mut self, side: usize) -> Outcome<()> {
        const ITERATIONS: u64 = 500;
        println!(
            "\nconverged (multigrid, ρ = 64, tolerance 1e-5) against {ITERATIONS} fused iterations, lines {side}x{side}"
        );
        let input = picture("lines", side);
        let steady = Params {
            mode: Mode::Converged {
                tolerance: edge_strength::DEFAULT_TOLERANCE,
                max_cycles: edge_strength::DEFAULT_MAX_CYCLES,
            },
            ..Params::default()
        };
        let mut output = Array3::<f32>::zeros(input.dim());
        let fused = repeat(|| call(&self.cpu, &input, &mut output, &with(Variant::Fused, ITERATIONS)))?;
        let multigrid = repeat(|| call(&self.cpu, &input, &mut output, &steady))?;
        self.compare("cpu", "whole calls", side, multigrid, fused);
        if let Some(cuda) = &self.cuda {
            let mut resident = Resident::new(cuda, &input, PixelType::F32)?;
            let fused = repeat(|| compute(cuda, &mut resident, &with(Variant::Fused, ITERATIONS)))?;
            let multigrid = repeat(|| compute(cuda, &mut resident, &steady))?;
            let id = cuda.device().id.clone();
            self.compare(&id, "kernels only", side, multigrid, fused);
        }
        Ok(())
    }

    fn compare(&mut self, device: &str, what: &str, side: usize, multigrid: f64, fused: f64) {
        println!(
            "  {device:<7} converged {:>10.3} ms, iterations {:>10.3} ms, ratio {:.2} ({what})",
            multigrid * 1e3,
            fused * 1e3,
            multigrid / fused
        );
        self.records.push(format!(
            "{{\"what\": \"converged\", \"device\": \"{device}\", \"side\": {side}, \"seconds\": {multigrid:.9}, \
             \"seconds_500_iterations\": {fused:.9}}}"
        ));
    }

    /// Measures a stack from host memory to host memory, where the link is the limit.
    fn stack(&mut self, side: usize, depth: usize) -> Outcome<()> {
        let Some(cuda) = &self.cuda else { return Ok(()) };
        let params = with(Variant::Fused, 50);
        let slice = picture("lines", side);
        let one = {
            let mut resident = Resident::new(cuda, &slice, PixelType::F32)?;
            repeat(|| compute(cuda, &mut resident, &params))?
        };
        let compute = one * depth as f64;
        let pixels = side * side * depth;
        println!("\nstack of {depth} slices of {side}x{side}, u8 to f32, 50 iterations, host to host");
        for pinned in [true, false] {
            let mut memory = link::Memory::new(cuda.device().index as usize, [pixels; 2], pinned)?;
            for (z, plane) in memory.input().chunks_exact_mut(side * side).enumerate() {
                // Each slice is different, so that a wrong order is detected.
                plane.copy_from_slice(slice.as_slice().ok_or("a packed picture")?);
                plane[z] = 255;
            }
            let [up, down, both] = memory.seconds()?;
            let mut measure = || -> Outcome<f64> {
                let (input, output) = memory.both();
                let input = ndarray::ArrayView3::from_shape((depth, side, side), input)?;
                let output = ndarray::ArrayViewMut3::from_shape((depth, side, side), output)?;
                Ok(edge_strength::run(cuda, input.into(), &params, None, output.into())?.seconds_total)
            };
            let seconds = repeat(&mut measure)?;
            let limit = both.max(compute);
            let name = if pinned { "pinned" } else { "pageable" };
            println!(
                "  {name:<8} {:>8.2} ms; link {:.2} ms (up {:.1}, down {:.1} GB/s; both ways at once), compute {:.2} ms; \
                 {:.2} of the larger",
                seconds * 1e3,
                both * 1e3,
                pixels as f64 / up * 1e-9,
                4.0 * pixels as f64 / down * 1e-9,
                compute * 1e3,
                seconds / limit
            );
            self.records.push(format!(
                "{{\"what\": \"stack\", \"memory\": \"{name}\", \"side\": {side}, \"depth\": {depth}, \"seconds\": {seconds:.9}, \
                 \"seconds_link\": {both:.9}, \"seconds_compute\": {compute:.9}, \"ratio\": {:.4}}}",
                seconds / limit
            ));
        }
        Ok(())
    }
}

fn main() -> Outcome<()> {
    let mut bench = Bench::new()?;
    let sides: &[usize] = if bench.quick { &[256] } else { &[1024, 2048, 4096, 8192] };
    let counts: &[u64] = if bench.quick { &[10] } else { &[50, 200] };
    for picture in ["lines", "shape", "white"] {
        for &side in sides {
            bench.table(picture, side, counts)?;
        }
    }
    bench.converged(if bench.quick { 256 } else { 4096 })?;
    if bench.quick {
        bench.stack(256, 4)?
    } else {
        bench.stack(2048, 64)?
    }
    bench.write()
}
