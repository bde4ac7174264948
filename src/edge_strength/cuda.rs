//! Edge strength on CUDA: the slice pipeline. Each slot owns a stream, two fields and a mask; while one slot computes,
//! another uploads and a third downloads. [`launch`] starts the kernels, [`multigrid`] solves the converged mode.

mod constants;
mod field_layout;
mod fused;
mod launch;
mod multigrid;

use super::multigrid::SolveOptions;
use super::prepare::InitialValues;
use super::{Mode, Outcome, Plan, Start, Variant};
use crate::device::Context;
use crate::device::cuda::{
    Buffer, Cuda, Pipeline, Stream, Texture, Times, Upload, check_device_pixels, output_is_direct,
    run_slices,
};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::Progress;
use crate::report::Report;
use field_layout::FieldLayout;
use launch::Launcher;
use rayon::ThreadPool;
use std::ops::Range;
use std::sync::Arc;

/// The largest number of slices in flight. Downloads take the longest, and kernels of different slots slow each other
/// down; with eight the link never waits (64 slices of 2048²: 26.0 ms with four, 21.9 with eight, 19.8 for the link
/// alone).
const SLOTS: usize = 8;

/// The same for slices with results of more than `LARGE_BYTES`, whose device memory would be large.
const SLOTS_OF_LARGE: usize = 3;
const LARGE_BYTES: usize = 32 << 20;

/// Returns the least device memory with which the call can run, in bytes: that of one slot.
pub(super) fn min_device_bytes(plan: &Plan, input: &Image<'_>) -> u64 {
    let layout = SlotLayout::new(plan, input);
    layout.slot_bytes(plan)
}

/// The sizes of one slot, which holds a slice or the volume.
#[derive(Clone, Copy)]
struct SlotLayout {
    field: FieldLayout,
    /// The bytes of the packed input; 0 if it is on the device already.
    raw_bytes: usize,
    /// The number of slices (or volumes) that the image has.
    count: usize,
}

impl SlotLayout {
    fn new(plan: &Plan, input: &Image<'_>) -> Self {
        let [width, height, depth] = input.shape();
        let (shape, count) =
            if plan.dimensions == 3 { ([width, height, depth], 1) } else { ([width, height, 1], depth) };
        let on_device = matches!(input, Image::Device(_));
        let raw_bytes = if on_device { 0 } else { shape.iter().product::<usize>() * input.pixel_type().bytes() };
        Self { field: FieldLayout::new(shape), raw_bytes, count }
    }

    fn slot_bytes(&self, plan: &Plan) -> u64 {
        let extra = match plan.mode {
            Mode::Iterate { .. } => 0,
            Mode::Converged { .. } => multigrid::extra_bytes(self.field.shape),
        };
        (self.raw_bytes + 2 * self.field.value_bytes() + self.field.mask_bytes()) as u64 + extra
    }

    fn packed_result_bytes(&self) -> usize {
        self.field.shape.iter().product::<usize>() * size_of::<f32>()
    }
}

/// The stream and the memory of one slice in flight. The stream comes first, because dropping it waits for its work,
/// which uses the memory.
struct Slot {
    stream: Stream,
    times: Times,
    values: [Buffer; 2],
    mask: Buffer,
    /// The textures over `values`, for the variant `texture`.
    textures: Option<[Texture; 2]>,
    upload: Upload,
    /// The index in `values` of the result of the slice in flight.
    result: usize,
    /// Set if the download of the slice in flight is queued.
    queued: bool,
}

/// Computes the whole image; see [`super::run`].
pub(super) fn run(
    context: &Context,
    cuda: &Arc<Cuda>,
    plan: &Plan,
    start: Start,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    output: &mut ImageMut<'_>,
) -> Result<Report> {
    let layout = SlotLayout::new(plan, input);
    let pipeline = Pipeline::new(context, cuda, "edge strength", layout.count, progress)?;
    check_request(cuda, plan, input, output)?;
    // 1. Prepare the call: kernels and the scaling of the initial values.
    let launcher = Launcher::new(cuda, plan, start, layout.field, input.pixel_type())?;
    let mut call = Call {
        pool: context.pool(),
        launcher: &launcher,
        initial: resolve(cuda, plan, start, input, context.pool())?,
        outcome: Outcome::none(plan),
        cuda,
        plan,
        layout,
        input,
        pipeline,
    };
    // 2. Allocate as many slots as are useful and fit the memory budget.
    let most = if layout.packed_result_bytes() <= LARGE_BYTES { SLOTS } else { SLOTS_OF_LARGE };
    let wanted = cuda.slots_that_fit(layout.slot_bytes(plan), most.min(layout.count))?;
    let mut slots = (0..wanted).map(|_| call.slot()).collect::<Result<Vec<_>>>()?;
    // 3. Run the pipeline.
    run_slices(&mut call, &mut slots, layout.count, output, Call::begin, Call::finish)?;
    drop(slots);
    let mut report = call.pipeline.end(cuda);
    report.iterations = call.outcome.iterations;
    report.residual = call.outcome.residual;
    report.converged = call.outcome.converged;
    report.slices_done = input.shape()[2] as u64;
    Ok(report)
}

/// Refuses a variant that CUDA does not have, and images outside the memory of the device.
fn check_request(cuda: &Cuda, plan: &Plan, input: &Image<'_>, output: &ImageMut<'_>) -> Result<()> {
    if plan.variant == Variant::Scalar {
        return Err(Error::unsupported(
            "cannot compute on a CUDA device: the variant scalar is the CPU reference; use the device cpu or another variant",
        ));
    }
    if let Image::Device(pixels) = input {
        check_device_pixels(cuda, "the input", pixels)?;
    }
    if let ImageMut::Device(pixels) = output {
        check_device_pixels(cuda, "the output", pixels)?;
    }
    Ok(())
}

/// Resolves the scaling of the initial values. The automatic range of a device image is computed on the device.
fn resolve(cuda: &Arc<Cuda>, plan: &Plan, start: Start, input: &Image<'_>, pool: &ThreadPool) -> Result<InitialValues> {
    match (start, input) {
        (Start::Input(None), Image::Device(pixels)) if super::type_range(pixels.pixel_type).is_none() => {
            Ok(InitialValues::scaled(cuda.extremes("the input", pixels)?, plan.foreground))
        }
        _ => Ok(pool.install(|| InitialValues::resolve(start, input, plan.foreground))),
    }
}

/// A call in progress.
struct Call<'a, 'i, 'p, 'q> {
    cuda: &'a Arc<Cuda>,
    pool: &'a ThreadPool,
    plan: &'a Plan,
    layout: SlotLayout,
    launcher: &'a Launcher<'a>,
    initial: InitialValues,
    input: &'a Image<'i>,
    pipeline: Pipeline<'a, 'p, 'q>,
    outcome: Outcome,
}

impl Call<'_, '_, '_, '_> {
    fn slot(&self) -> Result<Slot> {
        let memory = self.cuda.memory();
        let field = &self.layout.field;
        let values = [memory.device(field.value_bytes())?, memory.device(field.value_bytes())?];
        Ok(Slot {
            textures: self.launcher.textures(&values)?,
            stream: self.cuda.stream()?,
            times: self.cuda.times()?,
            values,
            mask: memory.device(field.mask_bytes())?,
            upload: Upload::new(self.cuda, self.input, field.shape[2], 1)?,
            result: 0,
            queued: false,
        })
    }

    /// Returns the z range of the slice, or of the volume.
    fn slices_of(&self, slice: usize) -> Range<usize> {
        slice..slice + self.layout.field.shape[2]
    }

    /// Queues the upload, the computation and, where the host need not wait for it, the download of one slice.
    fn begin(&mut self, slot: &mut Slot, slice: usize, output: &mut ImageMut<'_>) -> Result<()> {
        self.pipeline.poll(slice, 0.0)?;
        let slices = self.slices_of(slice);
        // 1. Upload the pixels, and prepare the initial values and the mask.
        slot.stream.record(&slot.times[0])?;
        let pixels = slot.upload.queue(self.pool, &slot.stream, self.input, slices.clone())?;
        slot.stream.record(&slot.times[1])?;
        self.launcher.prepare(&slot.stream, pixels, &self.initial, &slot.values[0], &slot.mask)?;
        // 2. Compute.
        slot.result = 0;
        match self.plan.mode {
            Mode::Iterate { iterations } => {
                slot.result = self.iterate(slot, slice)?;
                self.outcome.iterations = iterations;
            }
            Mode::Converged { tolerance, max_cycles } => {
                let options = SolveOptions { lambda: self.plan.lambda, tolerance, max_cycles };
                let field = multigrid::FieldBuffers {
                    values: &slot.values[0],
                    workspace: &slot.values[1],
                    mask: &slot.mask,
                    layout: self.layout.field,
                };
                let cuda = self.cuda;
                let solution = multigrid::solve(cuda, &slot.stream, &field, &options, &mut |fraction| {
                    self.pipeline.poll(slice, fraction)
                })?;
                self.outcome = self.outcome.worst(Outcome {
                    iterations: solution.cycles,
                    residual: solution.residual,
                    converged: solution.converged,
                });
            }
        }
        slot.stream.record(&slot.times[2])?;
        // 3. Download. A single image or a volume must stay untouched on a cancellation, so `finish` writes it after
        // the last call of the callback.
        slot.queued = self.layout.count > 1 && output_is_direct(output);
        if slot.queued {
            self.download(slot, output, slices)?;
        }
        Ok(())
    }

    /// Copies the result of a slice to the caller's memory.
    fn download(&self, slot: &Slot, output: &mut ImageMut<'_>, slices: Range<usize>) -> Result<()> {
        let (from, pitch) = (slot.values[slot.result].side(0), self.layout.field.pitch * size_of::<f32>());
        self.cuda.transfer().download(self.pool, &slot.stream, from, pitch, output, slices)?;
        slot.stream.record(&slot.times[3])
    }

    /// Queues all iterations; waits at intervals, so that it acts on a cancellation in time and the queue stays short.
    fn iterate(&mut self, slot: &Slot, slice: usize) -> Result<usize> {
        /// The number of pixel updates between two polls: about a millisecond on a large GPU, 20 on a small one.
        const UPDATES_PER_POLL: u64 = 4_000_000_000;
        /// The number of polls in flight: one batch runs, and one is queued behind it.
        const POLLS: usize = 2;
        let pixels = self.layout.field.shape.iter().product::<usize>() as u64;
        let total = self.plan.centre_weights.len();
        let launcher = self.launcher;
        let mut binding = launcher.bind(&slot.values, slot.textures.as_ref(), &slot.mask);
        let reached = [self.cuda.event()?, self.cuda.event()?];
        let (mut done, mut since, mut polls) = (0, 0u64, 0);
        while done < total {
            let steps = binding.launch(&slot.stream, done)?;
            done += steps;
            since += steps as u64 * pixels;
            if since >= UPDATES_PER_POLL && done < total {
                since = 0;
                if polls >= POLLS {
                    reached[polls % POLLS].synchronize()?;
                }
                slot.stream.record(&reached[polls % POLLS])?;
                polls += 1;
                self.pipeline.poll(slice, done as f64 / total as f64)?;
            }
        }
        Ok(binding.result())
    }

    /// Waits for a slice and writes it to the caller's memory.
    fn finish(&mut self, slot: &mut Slot, slice: usize, output: &mut ImageMut<'_>) -> Result<()> {
        self.pipeline.wait(&slot.times, slice, 0.99)?;
        let slices = self.slices_of(slice);
        let done = slices.end as u64;
        if !slot.queued {
            self.download(slot, output, slices)?;
        }
        self.pipeline.report.slices_done = done;
        self.pipeline.add(&slot.times)
    }
}
