//! Measures the speed of edge drawing on a photograph of 64 K to 16 M pixels: both profiles, both with validation, and the
//! paper's with a sigma of 2, the edge map alone and with segments, on every device here, beside the paper's Table III; straight lines
//! along the segments, circles and ellipses, without the drawing; and the cost of each step, as in its Fig. 3.
//! `cargo bench --bench edge_drawing -- [--quick] [--json FILE]`; `ISOLINE_BENCH_DEVICE` (auto, cpu, cuda, cuda:N) and
//! `ISOLINE_BENCH_JSON` set the same. `benches/edge_drawing_peers.py` measures other programs on the same images.
//!
//! Every number is a median after a warm-up, of whole calls. "resident": input and map are in the GPU's memory;
//! segments always end in host memory. "kernels": the part of a resident call between CUDA events.
#![allow(missing_docs)]

mod common;

use common::{Bench, Outcome, Resident, json, repeat, text};
use isoline::edge_drawing::{self, EllipseParams, LineParams, Maps, Params, Profile, Segments, Validation};
use isoline::{Context, ImageMut, PixelType, Report};
use ndarray::{Array2, Array3};
use std::path::PathBuf;

/// Published milliseconds (Özsen, Topal and Akınlar, Table III, Lena): side of the image, a 3 GHz Pentium 4, and CUDA
/// on a 9600 GT, a GT 240, a GTS 450 and a GTX 480.
const PUBLISHED: [(usize, [f64; 5]); 5] = [
    (256, [2.41, 3.11, 0.98, 0.47, 0.33]),
    (512, [9.83, 14.38, 3.85, 1.45, 0.90]),
    (1024, [34.72, 57.29, 16.19, 6.21, 3.09]),
    (2048, [116.27, 130.79, 39.15, 16.47, 9.32]),
    (4096, [410.17, 274.76, 103.20, 52.63, 32.88]),
];

/// The photograph from which all sizes are made.
fn photograph() -> Outcome<Array2<u8>> {
    let folder = std::env::var_os("ISOLINE_TEST_DATA")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")), PathBuf::from);
    let path = folder.join("camera.pgm");
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    const HEADER: &[u8] = b"P5\n512 512\n255\n";
    let pixels = bytes.strip_prefix(HEADER).ok_or_else(|| format!("{} is not the expected PGM", path.display()))?;
    Ok(Array2::from_shape_vec((512, 512), pixels.to_vec())?)
}

/// Resizes the photograph: bicubic interpolation (Catmull-Rom) where it grows, the mean of the pixels where it shrinks.
fn resized(photograph: &Array2<u8>, side: usize) -> Array3<u8> {
    let (height, width) = photograph.dim();
    if side < width {
        let step = width / side;
        return Array3::from_shape_fn((1, side, side), |(_, y, x)| {
            let window = photograph.slice(ndarray::s![y * step..(y + 1) * step, x * step..(x + 1) * step]);
            let sum: usize = window.iter().map(|pixel| usize::from(*pixel)).sum();
            ((sum + step * step / 2) / (step * step)) as u8
        });
    }
    // Each pixel of the result has four taps in the photograph, with the border pixel repeated.
    let taps: Vec<([usize; 4], [f32; 4])> = (0..side)
        .map(|i| {
            let at = (i as f32 + 0.5) * width as f32 / side as f32 - 0.5;
            let (base, t) = (at.floor(), at - at.floor());
            let index = [-1.0, 0.0, 1.0, 2.0].map(|k| (base + k).clamp(0.0, height as f32 - 1.0) as usize);
            let weights = [
                ((-0.5 * t + 1.0) * t - 0.5) * t,
                (1.5 * t - 2.5) * t * t + 1.0,
                ((-1.5 * t + 2.0) * t + 0.5) * t,
                (0.5 * t - 0.5) * t * t,
            ];
            (index, weights)
        })
        .collect();
    let rows = Array2::from_shape_fn((height, side), |(y, x)| {
        let (index, weights) = taps[x];
        index.iter().zip(weights).map(|(i, weight)| weight * f32::from(photograph[[y, *i]])).sum::<f32>()
    });
    Array3::from_shape_fn((1, side, side), |(_, y, x)| {
        let (index, weights) = taps[y];
        let value: f32 = index.iter().zip(weights).map(|(i, weight)| weight * rows[[*i, x]]).sum();
        value.round().clamp(0.0, 255.0) as u8
    })
}

/// The result that a call computes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Want {
    Map,
    MapAndSegments,
}

impl Want {
    fn name(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::MapAndSegments => "map + segments",
        }
    }
}

fn name(profile: Profile) -> &'static str {
    match profile {
        Profile::Paper => "paper",
        _ => "reference",
    }
}

/// Measures a whole call, host memory to host memory.
fn call(context: &Context, input: &Array3<u8>, map: &mut Array3<u8>, params: &Params, want: Want) -> Outcome<Report> {
    let mut segments = Segments::new();
    let wanted = (want == Want::MapAndSegments).then_some(&mut segments);
    Ok(edge_drawing::run(context, input.view().into(), params, None, Some(map.view_mut().into()), wanted)?)
}

/// Measures a call whose input and edge map are on the device.
fn call_resident(context: &Context, images: &mut Resident, params: &Params, want: Want) -> Outcome<Report> {
    let mut segments = Segments::new();
    let wanted = (want == Want::MapAndSegments).then_some(&mut segments);
    Ok(edge_drawing::run(
        context,
        images.input.view().into(),
        params,
        None,
        Some(images.output.view_mut().into()),
        wanted,
    )?)
}

impl Bench {
    /// Measures one size: both profiles, with and without segments, on every device.
    fn table(&mut self, input: &Array3<u8>) -> Outcome<()> {
        let side = input.dim().1;
        println!("\ncamera {side}x{side} ({} K pixels), ms", side * side / 1024);
        println!("  device  profile          what              host to host    resident     kernels    Mpixel/s");
        let mut map = Array3::zeros(input.dim());
        let contexts = [Some(&self.cpu), self.cuda.as_ref()];
        for context in contexts.into_iter().flatten() {
            let id = context.device().id.clone();
            let mut resident = if id == "cpu" { None } else { Some(Resident::new(context, input, PixelType::U8)?) };
            for (profile, sigma, validation, what) in [
                (Profile::Paper, 1.0, Validation::None, ""),
                (Profile::Reference, 1.0, Validation::None, ""),
                (Profile::Paper, 2.0, Validation::None, ", sigma 2"),
                (Profile::Paper, 1.0, Validation::FalseAlarms, ", valid"),
                (Profile::Reference, 1.0, Validation::FalseAlarms, ", valid"),
            ] {
                let params = Params { profile, sigma, validation, ..Params::default() };
                let kind = name(profile).to_owned() + what;
                for want in [Want::Map, Want::MapAndSegments] {
                    let host = repeat(|| Ok(call(context, input, &mut map, &params, want)?.seconds_total))?;
                    let [mut whole, mut kernels] = [None; 2];
                    if let Some(resident) = &mut resident {
                        whole = Some(repeat(|| Ok(call_resident(context, resident, &params, want)?.seconds_total))?);
                        kernels =
                            Some(repeat(|| Ok(call_resident(context, resident, &params, want)?.seconds_compute))?);
                    }
                    println!(
                        "  {id:<7} {kind:<16} {:<16} {:>13.3} {:>11} {:>11} {:>11.0}",
                        want.name(),
                        host * 1e3,
                        text(whole),
                        text(kernels),
                        (side * side) as f64 / whole.unwrap_or(host) * 1e-6
                    );
                    self.records.push(format!(
                        "{{\"what\": \"{}\", \"device\": \"{id}\", \"profile\": \"{kind}\", \"side\": {side}, \
                         \"seconds_host_to_host\": {host:.9}, \"seconds_resident\": {}, \"seconds_kernels\": {}}}",
                        want.name(),
                        json(whole),
                        json(kernels)
                    ));
                }
            }
        }
        // The host finds lines and ellipses with every context.
        for profile in [Profile::Paper, Profile::Reference] {
            let (params, mut segments) = (Params { profile, ..Params::default() }, Segments::new());
            edge_drawing::run(&self.cpu, input.view().into(), &params, None, None, Some(&mut segments))?;
            let (mut lines, mut ellipses) = (Vec::new(), Vec::new());
            let of_lines = repeat(|| {
                let params = LineParams::default();
                Ok(edge_drawing::lines(&self.cpu, input.view().into(), &segments, &params, None, &mut lines)?
                    .seconds_total)
            })?;
            let of_ellipses = repeat(|| {
                let params = EllipseParams::default();
                Ok(edge_drawing::ellipses(&self.cpu, input.view().into(), &segments, &params, None, &mut ellipses)?
                    .seconds_total)
            })?;
            for (what, count, host) in [("lines", lines.len(), of_lines), ("ellipses", ellipses.len(), of_ellipses)] {
                println!("  cpu     {:<16} {what:<16} {:>13.3}", name(profile), host * 1e3);
                self.records.push(format!(
                    "{{\"what\": \"{what}\", \"device\": \"cpu\", \"profile\": \"{}\", \"side\": {side}, \
                     \"{what}\": {count}, \"seconds_host_to_host\": {host:.9}}}",
                    name(profile)
                ));
            }
        }
        if let Some((_, ms)) = PUBLISHED.iter().find(|(published, _)| *published == side) {
            println!(
                "  published (Table III, Lena): Pentium 4 {}, 9600 GT {}, GT 240 {}, GTS 450 {}, GTX 480 {}",
                ms[0], ms[1], ms[2], ms[3], ms[4]
            );
        }
        Ok(())
    }

    /// Measures the time that each step adds to a call of the paper profile: the time of a call with the step, less
    /// that of one without.
    fn steps(&mut self, input: &Array3<u8>) -> Outcome<()> {
        let side = input.dim().1;
        println!("\nsteps of the paper profile, camera {side}x{side}, ms (the paper's Fig. 3 has three kernels)");
        println!("  device  smoothing   gradient, direction   anchors, linking   segments      whole");
        let contexts = [Some(&self.cpu), self.cuda.as_ref()];
        for context in contexts.into_iter().flatten() {
            let id = context.device().id.clone();
            let mut target = Array3::<u8>::zeros(input.dim());
            let mut resident = if id == "cpu" { None } else { Some(Resident::new(context, input, PixelType::U8)?) };
            let params = Params::default();
            let mut step = |which: usize| {
                repeat(|| {
                    let report = match (&mut resident, which) {
                        (Some(resident), 2) => call_resident(context, resident, &params, Want::Map)?,
                        (Some(resident), 3) => call_resident(context, resident, &params, Want::MapAndSegments)?,
                        (None, 2) => call(context, input, &mut target, &params, Want::Map)?,
                        (None, 3) => call(context, input, &mut target, &params, Want::MapAndSegments)?,
                        (Some(resident), _) => {
                            let maps = only(which, resident.output.view_mut());
                            edge_drawing::maps(context, resident.input.view().into(), &params, None, maps)?
                        }
                        (None, _) => {
                            let maps = only(which, target.view_mut().into());
                            edge_drawing::maps(context, input.view().into(), &params, None, maps)?
                        }
                    };
                    Ok(report.seconds_total)
                })
            };
            let times = [step(0)?, step(1)?, step(2)?, step(3)?];
            // Fused steps may cost less together than one of them alone, which must write its own map.
            let added: Vec<f64> =
                (0..4).map(|i| if i == 0 { times[0] } else { (times[i] - times[i - 1]).max(0.0) }).collect();
            println!(
                "  {id:<7} {:>9.3} {:>21.3} {:>18.3} {:>10.3} {:>10.3}",
                added[0] * 1e3,
                added[1] * 1e3,
                added[2] * 1e3,
                added[3] * 1e3,
                times[3] * 1e3
            );
            self.records.push(format!(
                "{{\"what\": \"steps\", \"device\": \"{id}\", \"side\": {side}, \"seconds_smoothed\": {:.9}, \
                 \"seconds_direction\": {:.9}, \"seconds_map\": {:.9}, \"seconds_segments\": {:.9}}}",
                times[0], times[1], times[2], times[3]
            ));
        }
        Ok(())
    }
}

/// Measures one of the intermediate maps: 0 is the smoothed image, 1 the edge directions.
fn only(which: usize, target: ImageMut<'_>) -> Maps<'_> {
    match which {
        0 => Maps { smoothed: Some(target.into()), ..Maps::default() },
        _ => Maps { direction: Some(target.into()), ..Maps::default() },
    }
}

fn main() -> Outcome<()> {
    let mut bench = Bench::new()?;
    let photograph = photograph()?;
    let sides: &[usize] = if bench.quick { &[256] } else { &[256, 512, 1024, 2048, 4096] };
    for &side in sides {
        bench.table(&resized(&photograph, side))?;
    }
    for &side in if bench.quick { &[256][..] } else { &[512, 4096] } {
        bench.steps(&resized(&photograph, side))?;
    }
    bench.write()
}
