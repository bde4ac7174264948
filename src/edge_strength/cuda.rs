//! Edge strength on CUDA: the pipeline of slices. Each slot owns a stream, two fields and a mask; while one slot
//! computes, another uploads and a third downloads. Kernels are launched in [`launch`].

mod field;
mod fused;
mod launch;
mod range;

use super::multigrid::Goal;
use super::prepare::Start0;
use super::{Mode, Outcome, Plan, Start, Variant, multigrid_cuda};
use crate::device::Context;
use crate::device::cuda::{
    Buffer, Cuda, Event, Host, Pinned, Side, Stream, Texture, check_device_range, needs_staging, pack, unpack,
};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::{Progress, Ticker};
use crate::report::Report;
use field::Field;
use launch::Launcher;
use ndarray::{ArrayView3, s};
use rayon::ThreadPool;
use std::sync::Arc;
use std::time::Duration;

/// Slices in flight. Downloads take the longest, and kernels of neighbours slow each other down; with eight the link
/// never waits (64 slices of 2048²: 26.0 ms with four, 21.9 with eight, 19.8 for the link alone).
const SLOTS: usize = 8;

/// The same for slices of more than a piece, whose pinned memory would be large.
const SLOTS_OF_LARGE: usize = 3;

/// Staged copies go in pieces of at most this size; two pieces alternate.
const PIECE_BYTES: usize = 32 << 20;

/// The device memory that the job needs at least: one slot.
pub(super) fn least_bytes(plan: &Plan, input: &Image<'_>) -> u64 {
    let layout = Layout::new(plan, input);
    layout.slot_bytes(plan)
}

/// The sizes of one slot: a slice, or the volume.
#[derive(Clone, Copy)]
struct Layout {
    field: Field,
    /// Bytes of the packed input; 0 when it is on the device already.
    raw_bytes: usize,
    pixel_bytes: usize,
    /// How many slots' worth of slices the image has.
    count: usize,
}

impl Layout {
    fn new(plan: &Plan, input: &Image<'_>) -> Self {
        let [width, height, depth] = input.shape();
        let (shape, count) =
            if plan.dimensions == 3 { ([width, height, depth], 1) } else { ([width, height, 1], depth) };
        let pixel_bytes = input.pixel_type().bytes();
        let on_device = matches!(input, Image::Device(_));
        let raw_bytes = if on_device { 0 } else { shape.iter().product::<usize>() * pixel_bytes };
        Self { field: Field::new(shape), raw_bytes, pixel_bytes, count }
    }

    fn slot_bytes(&self, plan: &Plan) -> u64 {
        let extra = match plan.mode {
            Mode::Iterate { .. } => 0,
            Mode::Converged { .. } => multigrid_cuda::extra_bytes(self.field.shape),
        };
        (self.raw_bytes + 2 * self.field.value_bytes() + self.field.mask_bytes()) as u64 + extra
    }
}

/// One slice's place on the device. Streams come first: they are waited for before the memory goes.
struct Slot {
    stream: Stream,
    /// Before the upload, after it, after computing, after the download.
    times: [Event; 4],
    staged: [Event; 2],
    raw: Option<Buffer>,
    values: [Buffer; 2],
    mask: Buffer,
    /// Of `values`, for the variant `texture`.
    textures: Option<[Texture; 2]>,
    /// Two pieces each; empty when the caller's memory is pinned or on the device.
    upload: Vec<Pinned>,
    download: Vec<Pinned>,
    /// Which of `values` holds the result of the slice in flight.
    result: usize,
    /// The download of the slice in flight is queued.
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
    cuda.bind()?;
    let ticker = Ticker::new("edge strength");
    ticker.report(progress)?;
    check_request(cuda, plan, input, output)?;
    let layout = Layout::new(plan, input);
    cuda.memory().reset_peak();
    let launcher = Launcher::new(cuda, plan, start, layout.field, input.pixel_type())?;
    let mut job = Job {
        pool: context.pool(),
        launcher: &launcher,
        start: resolve(cuda, plan, start, input, context.pool())?,
        outcome: Outcome::none(plan),
        report: Report::new(context.device()),
        cuda,
        plan,
        layout,
        input,
        progress,
        ticker,
    };
    let staging = [needs_staging(Host::of(input)), needs_staging(Host::of_mut(output))];
    let most = if job.packed_result_bytes() <= PIECE_BYTES { SLOTS } else { SLOTS_OF_LARGE };
    let wanted = most.min(layout.count).min((cuda.budget()? / layout.slot_bytes(plan).max(1)) as usize).max(1);
    let mut slots = (0..wanted).map(|_| job.slot(staging)).collect::<Result<Vec<_>>>()?;
    for slice in 0..layout.count {
        let slot = slice % wanted;
        if slice >= wanted {
            job.finish(&mut slots[slot], slice - wanted, output)?;
        }
        job.begin(&mut slots[slot], slice, output)?;
    }
    for slice in layout.count - wanted..layout.count {
        job.finish(&mut slots[slice % wanted], slice, output)?;
    }
    drop(slots);
    let mut report = job.report;
    report.iterations = job.outcome.iterations;
    report.residual = job.outcome.residual;
    report.converged = job.outcome.converged;
    report.slices_done = input.shape()[2] as u64;
    report.peak_device_bytes = cuda.memory().peak();
    Ok(report)
}

/// What can be refused before anything is computed.
fn check_request(cuda: &Cuda, plan: &Plan, input: &Image<'_>, output: &ImageMut<'_>) -> Result<()> {
    if plan.variant == Variant::Scalar {
        return Err(Error::unsupported(
            "the variant scalar is the CPU reference; use the device cpu or another variant",
        ));
    }
    let extent = |pixels: &crate::DevicePixels<'_>| {
        let [width, height, depth] = pixels.shape;
        (depth - 1) * pixels.strides[1] + (height - 1) * pixels.strides[0] + width * pixels.pixel_type.bytes()
    };
    if let Image::Device(pixels) = input {
        check_device_range(cuda, "the input", pixels.address, extent(pixels))?;
    }
    if let ImageMut::Device(pixels) = output {
        check_device_range(cuda, "the output", pixels.address, extent(pixels))?;
    }
    Ok(())
}

/// The start values' scaling; a device image's automatic range is measured on the device.
fn resolve(cuda: &Arc<Cuda>, plan: &Plan, start: Start, input: &Image<'_>, pool: &ThreadPool) -> Result<Start0> {
    match (start, input) {
        (Start::Input(None), Image::Device(pixels)) if super::type_range(pixels.pixel_type).is_none() => {
            Ok(Start0::scaled(range::measure(cuda, pixels)?, plan.foreground))
        }
        _ => Ok(pool.install(|| Start0::resolve(start, input, plan.foreground))),
    }
}

/// One call in progress.
struct Job<'a, 'i, 'p, 'q> {
    cuda: &'a Arc<Cuda>,
    pool: &'a ThreadPool,
    plan: &'a Plan,
    layout: Layout,
    launcher: &'a Launcher<'a>,
    start: Start0,
    input: &'a Image<'i>,
    progress: &'a mut Option<&'p mut Progress<'q>>,
    ticker: Ticker,
    outcome: Outcome,
    report: Report,
}

impl Job<'_, '_, '_, '_> {
    fn slot(&self, [stage_up, stage_down]: [bool; 2]) -> Result<Slot> {
        let memory = self.cuda.memory();
        let field = &self.layout.field;
        let pieces = |staged: bool, bytes: usize| -> Result<Vec<Pinned>> {
            let count = if !staged {
                0
            } else if bytes <= PIECE_BYTES {
                1
            } else {
                2
            };
            (0..count).map(|_| memory.pinned(bytes.min(PIECE_BYTES).max(self.longest_row()))).collect()
        };
        let event = || self.cuda.event();
        let values = [memory.device(field.value_bytes())?, memory.device(field.value_bytes())?];
        Ok(Slot {
            textures: self.launcher.textures(&values)?,
            stream: self.cuda.stream()?,
            times: [event()?, event()?, event()?, event()?],
            staged: [event()?, event()?],
            raw: if self.layout.raw_bytes > 0 { Some(memory.device(self.layout.raw_bytes)?) } else { None },
            values,
            mask: memory.device(field.mask_bytes())?,
            upload: pieces(stage_up, self.layout.raw_bytes)?,
            download: pieces(stage_down, self.packed_result_bytes())?,
            result: 0,
            queued: false,
        })
    }

    /// A piece holds at least one row.
    fn longest_row(&self) -> usize {
        self.layout.field.shape[0] * size_of::<f32>()
    }

    fn packed_result_bytes(&self) -> usize {
        self.layout.field.shape.iter().product::<usize>() * size_of::<f32>()
    }

    /// Tells the caller how far it is, not too often, and passes a cancel on.
    fn poll(&mut self, slice: usize, fraction: f64) -> Result<()> {
        self.ticker.section(slice, self.layout.count);
        self.ticker.set(fraction);
        self.ticker.report(self.progress)
    }

    /// Queues the upload, the computing and, where it fits a piece, the download of one slice.
    fn begin(&mut self, slot: &mut Slot, slice: usize, output: &mut ImageMut<'_>) -> Result<()> {
        self.poll(slice, 0.0)?;
        slot.stream.record(&slot.times[0])?;
        self.upload(slot, slice)?;
        slot.stream.record(&slot.times[1])?;
        let raw = slot.raw.as_ref().map(|raw| raw.address());
        self.launcher.prepare(&slot.stream, self.input, raw, slice, &self.start, &slot.values[0], &slot.mask)?;
        slot.result = 0;
        match self.plan.mode {
            Mode::Iterate { iterations } => {
                slot.result = self.iterate(slot, slice)?;
                self.outcome.iterations = iterations;
            }
            Mode::Converged { tolerance, max_cycles } => {
                let goal = Goal { lambda: self.plan.lambda, tolerance, max_cycles };
                let field = multigrid_cuda::Field {
                    values: &slot.values[0],
                    scratch: &slot.values[1],
                    mask: &slot.mask,
                    shape: self.layout.field.shape,
                    pitch: self.layout.field.pitch,
                    mask_pitch: self.layout.field.mask_pitch,
                };
                let cuda = self.cuda;
                let solution = multigrid_cuda::solve(cuda, &slot.stream, &field, &goal, &mut |fraction| {
                    self.poll(slice, fraction)
                })?;
                self.outcome = self.outcome.worst(Outcome {
                    iterations: solution.cycles,
                    residual: solution.residual,
                    converged: solution.converged,
                });
            }
        }
        slot.stream.record(&slot.times[2])?;
        slot.queued = self.queue_download(slot, slice, output)?;
        if slot.queued {
            slot.stream.record(&slot.times[3])?;
        }
        Ok(())
    }

    /// Queues all iterations; waits now and then so that a cancel is heard and the queue stays short.
    fn iterate(&mut self, slot: &Slot, slice: usize) -> Result<usize> {
        /// Updates between two looks at the callback: about a millisecond on a large GPU, 20 on a small one.
        const UPDATES_A_LOOK: u64 = 4_000_000_000;
        /// Looks in flight: one running, one queued behind it.
        const LOOKS: usize = 2;
        let pixels = self.layout.field.shape.iter().product::<usize>() as u64;
        let total = self.plan.centre_weights.len();
        let launcher = self.launcher;
        let mut binding = launcher.bind(&slot.values, slot.textures.as_ref(), &slot.mask);
        let looks = [self.cuda.event()?, self.cuda.event()?];
        let (mut done, mut since, mut look) = (0, 0u64, 0);
        while done < total {
            let steps = binding.launch(&slot.stream, done)?;
            done += steps;
            since += steps as u64 * pixels;
            if since >= UPDATES_A_LOOK && done < total {
                since = 0;
                if look >= LOOKS {
                    looks[look % LOOKS].synchronize()?;
                }
                slot.stream.record(&looks[look % LOOKS])?;
                look += 1;
                self.poll(slice, done as f64 / total as f64)?;
            }
        }
        Ok(binding.result())
    }

    fn upload(&self, slot: &mut Slot, slice: usize) -> Result<()> {
        let raw = match &slot.raw {
            Some(raw) => raw,
            None => return Ok(()),
        };
        let z = self.slices_of(slice);
        match self.input {
            Image::U8(view) => {
                self.upload_rows(view.slice(s![z, .., ..]), raw, &slot.stream, &mut slot.upload, &slot.staged)
            }
            Image::U16(view) => {
                self.upload_rows(view.slice(s![z, .., ..]), raw, &slot.stream, &mut slot.upload, &slot.staged)
            }
            Image::F32(view) => {
                self.upload_rows(view.slice(s![z, .., ..]), raw, &slot.stream, &mut slot.upload, &slot.staged)
            }
            Image::Device(_) => Ok(()),
        }
    }

    /// The z range of a slot: one slice, or the whole volume.
    fn slices_of(&self, slice: usize) -> std::ops::Range<usize> {
        slice..slice + self.layout.field.shape[2]
    }

    fn upload_rows<T: bytemuck::Pod + Send + Sync>(
        &self,
        view: ArrayView3<'_, T>,
        raw: &Buffer,
        stream: &Stream,
        pieces: &mut [Pinned],
        staged: &[Event; 2],
    ) -> Result<()> {
        let row = view.dim().2 * self.layout.pixel_bytes;
        let height = view.dim().1;
        let mut piece = 0;
        for (z, plane) in view.outer_iter().enumerate() {
            if pieces.is_empty() {
                let pitch = if height > 1 { plane.strides()[0] as usize * size_of::<T>() } else { row };
                let from = Side::Host { address: plane.as_ptr() as usize, bytes: (height - 1) * pitch + row };
                stream.copy(from, raw.side(z * height * row), row, height, [pitch, row])?;
                continue;
            }
            let rows_a_piece = (pieces[0].as_slice().len() / row).max(1);
            for first in (0..height).step_by(rows_a_piece) {
                let rows = rows_a_piece.min(height - first);
                let which = piece % pieces.len();
                if piece >= pieces.len() {
                    staged[which].synchronize()?;
                }
                pack(
                    self.pool,
                    plane.slice(s![first..first + rows, ..]),
                    &mut pieces[which].as_mut_slice()[..rows * row],
                );
                stream.copy(pieces[which].side(), raw.side((z * height + first) * row), row, rows, [row, row])?;
                stream.record(&staged[which])?;
                piece += 1;
            }
        }
        Ok(())
    }

    /// Queues the download where no work of the CPU stands between: into a single piece, or for a stack straight into
    /// the caller's pinned or device memory. (A single image or a volume must stay untouched on a cancel, so finish()
    /// writes it after the last look at the callback.)
    fn queue_download(&self, slot: &Slot, slice: usize, output: &mut ImageMut<'_>) -> Result<bool> {
        let [width, height, depth] = self.layout.field.shape;
        let row = width * size_of::<f32>();
        let pitch = self.layout.field.pitch * size_of::<f32>();
        match slot.download.len() {
            0 if self.layout.count == 1 => Ok(false),
            0 => self.copy_out(slot, slice, output).map(|()| true),
            1 => {
                let from = slot.values[slot.result].side(0);
                slot.stream.copy(from, slot.download[0].side(), row, height * depth, [pitch, row])?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Queues the copy of the result straight into the caller's pinned or device memory.
    fn copy_out(&self, slot: &Slot, slice: usize, output: &mut ImageMut<'_>) -> Result<()> {
        let [width, height, depth] = self.layout.field.shape;
        let row = width * size_of::<f32>();
        let pitch = self.layout.field.pitch * size_of::<f32>();
        for z in 0..depth {
            let (to, to_pitch) = match output {
                ImageMut::Device(pixels) => {
                    let address = pixels.address + ((slice + z) * pixels.strides[1]) as u64;
                    let to_pitch = if height > 1 { pixels.strides[0] } else { row };
                    (Side::Device { address, bytes: (height - 1) * to_pitch + row }, to_pitch)
                }
                ImageMut::F32(view) => {
                    let mut plane = view.slice_mut(s![slice + z, .., ..]);
                    let to_pitch = if height > 1 { plane.strides()[0] as usize * size_of::<f32>() } else { row };
                    let address = plane.as_mut_ptr() as usize;
                    (Side::Host { address, bytes: (height - 1) * to_pitch + row }, to_pitch)
                }
                _ => unreachable!("other types are refused before"),
            };
            slot.stream.copy(slot.values[slot.result].side(z * height * pitch), to, row, height, [pitch, to_pitch])?;
        }
        Ok(())
    }

    /// Waits for a slice and writes it to the caller's memory.
    fn finish(&mut self, slot: &mut Slot, slice: usize, output: &mut ImageMut<'_>) -> Result<()> {
        let computed = &slot.times[2];
        while self.progress.is_some() && !computed.is_done()? {
            std::thread::sleep(Duration::from_micros(50));
            self.poll(slice, 0.99)?;
        }
        computed.synchronize()?;
        self.ticker.check()?;
        let [width, height, depth] = self.layout.field.shape;
        match (slot.download.len(), output) {
            (0, output) => {
                if !slot.queued {
                    self.copy_out(slot, slice, output)?;
                    slot.stream.record(&slot.times[3])?;
                }
            }
            (1, ImageMut::F32(view)) => {
                slot.times[3].synchronize()?;
                let packed = bytemuck::cast_slice(&slot.download[0].as_slice()[..self.packed_result_bytes()]);
                let mut view = view.slice_mut(s![slice..slice + depth, .., ..]);
                for (plane, values) in view.outer_iter_mut().zip(packed.chunks_exact(width * height)) {
                    unpack(self.pool, values, plane);
                }
            }
            (_, ImageMut::F32(view)) => {
                self.download_pieces(slot, view.slice_mut(s![slice..slice + depth, .., ..]))?;
            }
            _ => unreachable!("device memory is never staged, and other types are refused before"),
        }
        slot.times[3].synchronize()?;
        self.report.seconds_upload += slot.times[0].seconds_to(&slot.times[1])?;
        self.report.seconds_compute += slot.times[1].seconds_to(&slot.times[2])?;
        self.report.seconds_download += slot.times[2].seconds_to(&slot.times[3])?;
        self.report.slices_done = (slice + depth) as u64;
        Ok(())
    }

    /// A result larger than a piece: while the CPU copies one piece out, the device fills the other.
    fn download_pieces(&self, slot: &mut Slot, mut view: ndarray::ArrayViewMut3<'_, f32>) -> Result<()> {
        let [width, height, depth] = self.layout.field.shape;
        let row = width * size_of::<f32>();
        let pitch = self.layout.field.pitch * size_of::<f32>();
        let rows_a_piece = (slot.download[0].as_slice().len() / row).max(1).min(height);
        let pieces: Vec<(usize, usize)> =
            (0..depth).flat_map(|z| (0..height).step_by(rows_a_piece).map(move |first| (z, first))).collect();
        let queue = |slot: &Slot, piece: usize| -> Result<()> {
            let (z, first) = pieces[piece];
            let rows = rows_a_piece.min(height - first);
            let from = slot.values[slot.result].side((z * height + first) * pitch);
            slot.stream.copy(from, slot.download[piece % 2].side(), row, rows, [pitch, row])?;
            slot.stream.record(&slot.staged[piece % 2])
        };
        queue(slot, 0)?;
        for piece in 0..pieces.len() {
            if piece + 1 < pieces.len() {
                queue(slot, piece + 1)?;
            }
            slot.staged[piece % 2].synchronize()?;
            let (z, first) = pieces[piece];
            let rows = rows_a_piece.min(height - first);
            let packed = bytemuck::cast_slice(&slot.download[piece % 2].as_slice()[..rows * row]);
            unpack(self.pool, packed, view.slice_mut(s![z, first..first + rows, ..]));
        }
        slot.stream.record(&slot.times[3])
    }
}
