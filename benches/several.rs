//! Measures a stack on one GPU and on all of this machine: slices of 2048 x 2048 u8, edge strength with 50 iterations of 256 and
//! edge maps of 1024, whose kernels take a quarter of the time; and volumes of 1024^3 u8, in slabs: edge strength with 50 iterations, and a dense level set.
//! `cargo bench --bench several -- [--quick] [--json FILE]`; `ISOLINE_BENCH_JSON` sets the same, and
//! `ISOLINE_BENCH_DEVICE=cpu` leaves it out.
//!
//! Every number is a median after a warm-up, of whole calls. "pageable" and "buffers" are from host memory to host memory,
//! ordinary or made by the context, by one context on `cuda:0` or `cuda:all`. "kernels" is without copies: each GPU has its
//! share of the slices in its own memory, in a context and on a thread of its own. Those of the volume's edge strength are the
//! longest time of kernels on a GPU. The level set's are steps of 50 iterations, one of them with a reinitialisation, with the
//! image on the GPUs. The results of one and all are compared.
#![allow(missing_docs)]

mod common;

use common::{Bench, Outcome, Resident, repeat};
use isoline::edge_drawing;
use isoline::edge_strength::{self, Mode};
use isoline::level_set::{self, LevelSet, TargetRange, Variant};
use isoline::{Context, Dimensions, HostBuffer, Image, ImageMut, PixelType};
use ndarray::{Array3, ArrayView3, ArrayViewMut3, s};
use rayon::prelude::*;
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    EdgeStrength,
    EdgeDrawing,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::EdgeStrength => "edge strength",
            Self::EdgeDrawing => "edge drawing",
        }
    }

    /// Returns depth, height and width.
    fn shape(self, quick: bool) -> [usize; 3] {
        match self {
            _ if quick => [6, 128, 128],
            Self::EdgeStrength => [256, 2048, 2048],
            Self::EdgeDrawing => [1024, 2048, 2048],
        }
    }

    fn output(self) -> PixelType {
        match self {
            Self::EdgeStrength => PixelType::F32,
            Self::EdgeDrawing => PixelType::U8,
        }
    }

    fn run(self, context: &Context, input: Image<'_>, output: ImageMut<'_>) -> isoline::Result<u32> {
        let report = match self {
            Self::EdgeStrength => {
                let mode = Mode::Iterate { iterations: 50 };
                let params = edge_strength::Params { mode, threshold: 200.0, ..Default::default() };
                edge_strength::run(context, input.into(), &params, None, output.into())?
            }
            Self::EdgeDrawing => {
                let params = edge_drawing::Params { gradient_threshold: Some(20.0), ..Default::default() };
                edge_drawing::run(context, input.into(), &params, None, Some(output.into()), None)?
            }
        };
        Ok(report.device_count)
    }

    /// Returns memory for the output as an image.
    fn view(self, memory: &mut [u8], shape: [usize; 3]) -> Outcome<ImageMut<'_>> {
        let bytes = shape.iter().product::<usize>() * self.output().bytes();
        let memory = &mut memory[..bytes];
        Ok(match self.output() {
            PixelType::U8 => ArrayViewMut3::from_shape(shape, memory)?.into(),
            _ => ArrayViewMut3::<f32>::from_shape(shape, bytemuck::cast_slice_mut(memory))?.into(),
        })
    }
}

/// Returns discs on a slope, in some noise.
fn stack(shape: [usize; 3]) -> Array3<u8> {
    let mut pixels = Array3::zeros(shape);
    pixels.outer_iter_mut().into_par_iter().enumerate().for_each(|(z, mut slice)| {
        slice.indexed_iter_mut().for_each(|((y, x), pixel)| {
            let [dx, dy] = [x % 97, y % 89].map(|v| v as i64 - 44);
            let disc = if dx * dx + dy * dy < 700 + 5 * (z % 256) as i64 { 120 } else { 0 };
            let noise = (x * 7919 + y * 104_729 + z * 1_299_709) % 251 % 16;
            *pixel = (disc + x * 100 / shape[2] + noise) as u8;
        });
    });
    pixels
}

/// Measures calls from host memory to host memory; returns the seconds of one.
fn host(operation: Operation, context: &Context, input: ArrayView3<'_, u8>, output: &mut [u8]) -> Outcome<f64> {
    let shape = [input.dim().0, input.dim().1, input.dim().2];
    repeat(|| {
        let view = operation.view(output, shape)?;
        let started = Instant::now();
        let devices = operation.run(context, input.into(), view)?;
        let seconds = started.elapsed().as_secs_f64();
        let wanted = context.devices().len().min(shape[0]);
        if devices as usize != wanted {
            Err(format!("{devices} devices took part, not {wanted}").into())
        } else {
            Ok(seconds)
        }
    })
}

/// Measures calls whose pixels are in the memory of GPUs, each of which has its share; returns the seconds of one.
fn kernels(operation: Operation, gpus: &[Context], input: &Array3<u8>) -> Outcome<f64> {
    let depth = input.dim().0;
    let share = |index: usize| depth * index / gpus.len()..depth * (index + 1) / gpus.len();
    let resident = |(index, gpu): (usize, &Context)| {
        Resident::new(gpu, &input.slice(s![share(index), .., ..]).to_owned(), operation.output())
    };
    let mut shares = gpus.iter().enumerate().map(resident).collect::<Outcome<Vec<_>>>()?;
    repeat(|| {
        let started = Instant::now();
        std::thread::scope(|scope| {
            let run = |(gpu, share): (&'_ Context, &'_ mut Resident)| {
                let (input, output) = (share.input.view(), share.output.view_mut());
                operation.run(gpu, input, output)
            };
            let calls: Vec<_> = gpus.iter().zip(&mut shares).map(|call| scope.spawn(move || run(call))).collect();
            let ended =
                calls.into_iter().map(|call| call.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            ended.collect::<isoline::Result<Vec<_>>>()
        })?;
        Ok(started.elapsed().as_secs_f64())
    })
}

impl Bench {
    fn table(&mut self, operation: Operation, contexts: &[&Context], shape: [usize; 3]) -> Outcome<()> {
        let input = stack(shape);
        let bytes = input.len() * operation.output().bytes();
        let [depth, height, width] = shape;
        println!("\n{}: {depth} slices of {width}x{height} u8, ms", operation.name());
        println!("  GPUs     kernels     buffers    pageable");
        let (mut outputs, mut first) = (Vec::new(), None);
        for context in contexts {
            let gpus = context.devices().map(|device| Context::new(&device.id)).collect::<Result<Vec<_>, _>>()?;
            let kernels = kernels(operation, &gpus, &input)?;
            let [mut source, mut target] = [input.len(), bytes]
                .map(|bytes| context.host_buffer(bytes))
                .into_iter()
                .collect::<Result<Vec<HostBuffer>, _>>()?
                .try_into()
                .map_err(|_| "two buffers")?;
            source.pixels_mut::<u8>().copy_from_slice(input.as_slice().ok_or("packed")?);
            let locked = ArrayView3::from_shape(shape, source.pixels::<u8>())?;
            let buffers = host(operation, context, locked, target.pixels_mut::<u8>())?;
            let mut output = vec![0; bytes];
            let pageable = host(operation, context, input.view(), &mut output)?;
            if output != target.pixels::<u8>() {
                return Err("the results for both kinds of memory differ".into());
            }
            outputs.push(output);
            let count = gpus.len();
            let [kernels_of_one, buffers_of_one, pageable_of_one] = *first.get_or_insert([kernels, buffers, pageable]);
            println!(
                "  {count:>4} {:>11.3} {:>11.3} {:>11.3}    times as fast: {:.2} {:.2} {:.2}",
                kernels * 1e3,
                buffers * 1e3,
                pageable * 1e3,
                kernels_of_one / kernels,
                buffers_of_one / buffers,
                pageable_of_one / pageable,
            );
            self.records.push(format!(
                "{{\"what\": \"{}\", \"devices\": {count}, \"width\": {width}, \"height\": {height}, \"slices\": {depth}, \
                 \"seconds_kernels\": {kernels:.9}, \"seconds_buffers\": {buffers:.9}, \"seconds_pageable\": {pageable:.9}}}",
                operation.name(),
            ));
            gpus.iter().for_each(Context::trim);
            context.trim();
        }
        if outputs.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err("the results of one GPU and of all differ".into());
        }
        Ok(())
    }

    /// Measures the edge strength of a cube in buffers of the context.
    fn volume(&mut self, contexts: &[&Context], side: usize) -> Outcome<()> {
        // Each device has to have twice as many slices as there are iterations.
        let iterations = if self.quick { 5 } else { 50 };
        let (image, mode) = (stack([side; 3]), Mode::Iterate { iterations });
        let params =
            edge_strength::Params { mode, dimensions: Dimensions::Volume, threshold: 200.0, ..Default::default() };
        println!("\nedge strength of a volume: {side}^3 u8, ms\n  GPUs     kernels     buffers");
        let (mut outputs, mut first) = (Vec::new(), None);
        for context in contexts {
            let mut source = context.host_buffer(image.len())?;
            source.pixels_mut::<u8>().copy_from_slice(image.as_slice().ok_or("packed")?);
            let mut target = context.host_buffer(image.len() * size_of::<f32>())?;
            let (wanted, mut kernels) = (context.devices().len(), Vec::new());
            let buffers = repeat(|| {
                let input = ArrayView3::from_shape([side; 3], source.pixels::<u8>())?;
                let output = ArrayViewMut3::from_shape([side; 3], target.pixels_mut::<f32>())?;
                let report = edge_strength::run(context, input.into(), &params, None, output.into())?;
                kernels.push(report.seconds_compute);
                if report.device_count as usize != wanted {
                    return Err(format!("{} devices took part, not {wanted}", report.device_count).into());
                }
                Ok(report.seconds_total)
            })?;
            kernels.sort_by(f64::total_cmp);
            let kernels = kernels[kernels.len() / 2];
            outputs.push(target.pixels::<f32>().to_vec());
            let [kernels_of_one, buffers_of_one] = *first.get_or_insert([kernels, buffers]);
            println!(
                "  {wanted:>4} {:>11.3} {:>11.3}    times as fast: {:.2} {:.2}",
                kernels * 1e3,
                buffers * 1e3,
                kernels_of_one / kernels,
                buffers_of_one / buffers,
            );
            self.records.push(format!(
                "{{\"what\": \"edge strength of a volume\", \"devices\": {wanted}, \"width\": {side}, \"height\": {side}, \
                 \"slices\": {side}, \"seconds_kernels\": {kernels:.9}, \"seconds_buffers\": {buffers:.9}}}",
            ));
            context.trim();
        }
        if outputs.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err("the results of one GPU and of all differ".into());
        }
        Ok(())
    }

    /// Measures steps of a dense level set of a cube.
    fn level_set(&mut self, contexts: &[&Context], side: usize) -> Outcome<()> {
        const ITERATIONS: u64 = 50;
        let image = stack([side; 3]);
        let radius = (side / 3).pow(2);
        let mask = Array3::from_shape_fn([side; 3], |(z, y, x)| {
            u8::from([x, y, z].map(|at| at.abs_diff(side / 2).pow(2)).iter().sum::<usize>() <= radius)
        });
        let range = Some(TargetRange { target: 150.0, epsilon: 40.0 });
        let params = level_set::Params { range, variant: Variant::Dense, ..Default::default() }.without_stopping();
        println!("\ndense level set: {side}^3 u8, ms for {ITERATIONS} iterations");
        let (mut masks, mut first) = (Vec::new(), None);
        for context in contexts {
            let mut surface = LevelSet::new(context, image.view().into(), mask.view().into(), &params)?;
            let wanted = context.devices().len();
            let mut seconds = Vec::new();
            for _ in 0..4 {
                let report = surface.step(ITERATIONS, None)?;
                if report.device_count as usize != wanted {
                    return Err(format!("{} devices took part, not {wanted}", report.device_count).into());
                }
                seconds.push(report.seconds_compute);
            }
            // The first step loads the kernels.
            seconds[1..].sort_by(f64::total_cmp);
            let seconds = seconds[2];
            let mut mask = Array3::<u8>::zeros([side; 3]);
            surface.read_mask(mask.view_mut().into())?;
            masks.push(mask);
            let of_one = *first.get_or_insert(seconds);
            println!("  {wanted:>4} {:>11.3}    times as fast: {:.2}", seconds * 1e3, of_one / seconds);
            self.records.push(format!(
                "{{\"what\": \"dense level set\", \"devices\": {wanted}, \"width\": {side}, \"height\": {side}, \"slices\": \
                 {side}, \"seconds_kernels\": {seconds:.9}}}",
            ));
            context.trim();
        }
        if masks.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err("the level sets of one GPU and of all differ".into());
        }
        Ok(())
    }
}

fn main() -> Outcome<()> {
    let mut bench = Bench::new()?;
    if bench.cuda.is_none() {
        println!("SKIPPED: several GPUs are measured where there is one at least");
        return bench.write();
    }
    let (one, all) = (Context::new("cuda:0")?, Context::new("cuda:all")?);
    let mut contexts = vec![&one];
    if all.devices().len() > 1 {
        contexts.push(&all);
    } else {
        println!("one GPU only: the numbers of several are SKIPPED");
    }
    for operation in [Operation::EdgeStrength, Operation::EdgeDrawing] {
        bench.table(operation, &contexts, operation.shape(bench.quick))?;
    }
    let side = if bench.quick { 256 } else { 1024 };
    bench.volume(&contexts, side)?;
    bench.level_set(&contexts, side)?;
    bench.write()
}
