//! The crossings of isolines on CUDA, slice by slice in the slice pipeline and level by level; the host links them. Beside
//! the slice, the kernels need 0.75 bytes a pixel, and 20 bytes a crossing.
#![allow(unsafe_code)]

use super::link::{Crossings, check_count, gathered, link};
use super::{Connect, Plan, Polylines, STAGE};
use crate::device::Context;
use crate::device::cuda::{
    Buffer, Cuda, DeviceSlices, Kernel, Pinned, Pipeline, Side, SliceOperation, Slot, Stream, check_device_pixels,
    geometry, useful_slots,
};
use crate::device::kernels::isolines::{IL_ROWS, IL_THREADS, IL_TILE, WARP, isoline_il_job as Job};
use crate::error::Result;
use crate::image::{Image, ImageMut, extend, push, zeroed};
use crate::progress::{Progress, Ticker, run as run_with_progress};
use crate::report::Report;
use bytemuck::Pod;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// The module (kernel file) of this operation.
const MODULE: &str = "isolines";

/// Slices wait until they have this number of crossings in all, and are then linked in parallel: small ones alone would
/// not keep all threads busy.
const LINKED_TOGETHER: usize = 1 << 22;

/// The bytes of a crossing: its position and its follower.
const POINT_BYTES: usize = size_of::<[f64; 2]>();
const WORD_BYTES: usize = size_of::<u32>();

/// The largest number of blocks of a grid whose kernel loops over the rest.
const MOST_BLOCKS: usize = 1 << 16;

/// Returns the words of a row of bits, and those of all crossings.
fn words([width, height]: [usize; 2]) -> [usize; 2] {
    let pitch = width.div_ceil(WARP);
    [pitch, 2 * pitch * height]
}

/// Returns the least device memory with which the call can run, in bytes. The crossings come on top, once their number is
/// known.
pub(super) fn min_device_bytes(plan: &Plan, input: &Image<'_>) -> u64 {
    let raw = if matches!(input, Image::Device(_)) { 0 } else { input.pixel_type().bytes() };
    let [width, height] = plan.size;
    // Two planes of classes have half the words of the crossings each.
    (width * height * raw + 3 * words(plan.size)[1] * WORD_BYTES) as u64
}

/// Computes all slices and levels; see [`super::run`].
pub(super) fn run(
    context: &Context,
    cuda: &Arc<Cuda>,
    plan: &Plan,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<(Report, Polylines)> {
    let [width, height] = plan.size;
    let mut pipeline = Pipeline::new(context, cuda, STAGE, input.shape()[2], progress)?;
    if let Image::Device(pixels) = input {
        check_device_pixels(cuda, "the input", pixels)?;
    }
    let slice_bytes = width * height * input.pixel_type().bytes();
    let most = useful_slots(input, None, slice_bytes).min(input.shape()[2]);
    let slots = (0..cuda.slots_that_fit(min_device_bytes(plan, input), most)?)
        .map(|_| Slot::new(cuda, input, 1, 1, Place { pixels: DeviceSlices { address: 0, strides: [0; 2] } }));
    let mut slots = slots.collect::<Result<Vec<_>>>()?;
    let mut finder = Finder::new(context, cuda, plan, input)?;
    pipeline.run(context, cuda, &mut finder, &mut slots, Some(input), None)?;
    finder.link(&mut pipeline)?;
    let parts = std::mem::take(&mut finder.parts);
    let found = run_with_progress(context.pool(), pipeline.progress, &pipeline.ticker, || Polylines::joined(parts))?;
    pipeline.ticker.report(pipeline.progress)?;
    drop((finder, slots));
    Ok((pipeline.end(cuda), found))
}

/// The place of the slice that a slot holds.
struct Place {
    pixels: DeviceSlices,
}

/// A call in progress: kernels, memory of one slice and level, and what was found.
struct Finder<'a> {
    context: &'a Context,
    cuda: &'a Arc<Cuda>,
    plan: &'a Plan,
    /// The stream comes before the memory, because dropping it waits for its work.
    stream: Stream,
    classes: Kernel,
    marks: Kernel,
    sums: Kernel,
    places: Kernel,
    crossings: Kernel,
    tiles: usize,
    high: Buffer,
    finite: Buffer,
    words: Buffer,
    before: Buffer,
    tile_sums: Buffer,
    rows: Buffer,
    /// The number of crossings, on the host.
    total: Pinned,
    /// Crossings that are not linked yet: slice, level, and what was found.
    waiting: Vec<(usize, f64, Crossings)>,
    waiting_crossings: usize,
    parts: Vec<Polylines>,
}

impl<'a> Finder<'a> {
    fn new(context: &'a Context, cuda: &'a Arc<Cuda>, plan: &'a Plan, input: &Image<'_>) -> Result<Self> {
        let [pitch, words] = words(plan.size);
        let classes = pitch * plan.size[1] * WORD_BYTES;
        let tiles = words.div_ceil(IL_TILE);
        let (memory, pixel) = (cuda.memory(), input.pixel_type().name());
        let kernel = |name: &str| cuda.kernel(MODULE, &format!("isoline_il_{name}"));
        Ok(Self {
            context,
            cuda,
            plan,
            stream: cuda.stream()?,
            classes: kernel(&format!("classes_{pixel}"))?,
            marks: kernel("marks")?,
            sums: kernel("sums")?,
            places: kernel("places")?,
            crossings: kernel(&format!("crossings_{pixel}"))?,
            tiles,
            high: memory.device(classes)?,
            finite: memory.device(classes)?,
            words: memory.device(words * WORD_BYTES)?,
            before: memory.device(words * WORD_BYTES)?,
            tile_sums: memory.device((tiles + 1) * size_of::<u64>())?,
            rows: memory.device((2 * plan.size[1] + 1) * WORD_BYTES)?,
            total: memory.pinned(size_of::<u64>())?,
            waiting: Vec::new(),
            waiting_crossings: 0,
            parts: Vec::new(),
        })
    }

    /// Finds the crossings of a slice in device memory at one level.
    fn find(&mut self, pixels: DeviceSlices, level: f64) -> Result<(Crossings, [f64; 2])> {
        let started = Instant::now();
        let [width, height] = self.plan.size;
        let [pitch, words] = words(self.plan.size);
        let mut job = Job {
            pixels: pixels.address,
            row_stride: pixels.strides[0] as u64,
            high: self.high.address(),
            finite: self.finite.address(),
            words: self.words.address(),
            before: self.before.address(),
            sums: self.tile_sums.address(),
            rows: self.rows.address(),
            level,
            width: width as u32,
            height: height as u32,
            pitch: pitch as u32,
            high_belong_together: u32::from(self.plan.connect == Connect::High),
            ..Job::default()
        };
        let stream = &self.stream;
        let tiles = geometry([self.tiles, 1, 1], [IL_THREADS, 1, 1]);
        // SAFETY: the kernels' arguments, in their order; the pixels are a whole slice of this size, and the buffers have
        // the sizes that kernels/isolines.h demands. None is freed before the stream is done.
        unsafe {
            let rows = geometry([pitch, height.div_ceil(IL_ROWS), 1], [WARP, IL_ROWS, 1]);
            stream.launch(&self.classes, rows, &[&job])?;
            stream.launch(&self.marks, tiles, &[&job])?;
            let count = self.tiles as u32;
            stream.launch(&self.sums, geometry([1, 1, 1], [IL_THREADS, 1, 1]), &[&job, &count])?;
            stream.launch(&self.places, tiles, &[&job])?;
        }
        stream.copy_bytes(self.tile_sums.side(self.tiles * size_of::<u64>()), self.total.side(), size_of::<u64>())?;
        stream.synchronize()?;
        let total: u64 = bytemuck::cast_slice(&self.total.as_slice()[..size_of::<u64>()])[0];
        check_count(total, level)?;
        let count = total as usize;
        let points = self.cuda.memory().device(count * POINT_BYTES)?;
        let next = self.cuda.memory().device(count * WORD_BYTES)?;
        (job.points, job.next) = (points.address(), next.address());
        let blocks = geometry([words.div_ceil(IL_THREADS).min(MOST_BLOCKS), 1, 1], [IL_THREADS, 1, 1]);
        // SAFETY: as above; `points` and `next` have an element for each crossing, and live until the stream is done: the
        // downloads below wait for it, and a failed stream has no work left.
        unsafe { stream.launch(&self.crossings, blocks, &[&job]) }?;
        stream.synchronize()?;
        let computed = started.elapsed().as_secs_f64();
        let mut found = Crossings { points: zeroed(count)?, next: zeroed(count)?, rows: zeroed(2 * height + 1)? };
        self.download(points.side(0), &mut found.points)?;
        self.download(next.side(0), &mut found.next)?;
        self.download(self.rows.side(0), &mut found.rows)?;
        self.stream.synchronize()?;
        Ok((found, [computed, started.elapsed().as_secs_f64() - computed]))
    }

    fn download<T: Pod + Send + Sync>(&self, side: Side, to: &mut [T]) -> Result<()> {
        self.cuda.transfer().download_list(self.context.pool(), &self.stream, side, to, &Ticker::of_copies())
    }

    /// Links the crossings that wait.
    fn link(&mut self, pipeline: &mut Pipeline<'_, '_, '_>) -> Result<()> {
        let (started, waiting) = (Instant::now(), std::mem::take(&mut self.waiting));
        self.waiting_crossings = 0;
        let (plan, ticker) = (self.plan, &pipeline.ticker);
        let linked = run_with_progress(self.context.pool(), pipeline.progress, ticker, || {
            let one = |(slice, level, found): &(usize, f64, Crossings)| link(plan, *slice, *level, found, ticker);
            gathered(waiting.par_iter().with_max_len(1).map(one))
        })?;
        pipeline.report.seconds_compute += started.elapsed().as_secs_f64();
        extend(&mut self.parts, linked)
    }
}

impl SliceOperation for Finder<'_> {
    type Buffers = Place;

    fn slices(&self, slice: usize) -> Range<usize> {
        slice..slice + 1
    }

    fn compute(
        &mut self,
        _: &mut Pipeline<'_, '_, '_>,
        slot: &mut Slot<Place>,
        pixels: DeviceSlices,
        _: usize,
        _: Option<&ImageMut<'_>>,
    ) -> Result<()> {
        slot.buffers.pixels = pixels;
        Ok(())
    }

    /// Finds the crossings of a slice, which is on the device now.
    fn finish(
        &mut self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        slots: &[Slot<Place>],
        slices: Range<usize>,
        _: Option<&mut ImageMut<'_>>,
    ) -> Result<()> {
        let levels = &self.plan.levels;
        for (slice, slot) in slices.zip(slots) {
            for (index, level) in levels.iter().enumerate() {
                let (found, [computed, downloaded]) = self.find(slot.buffers.pixels, *level)?;
                pipeline.report.seconds_compute += computed;
                pipeline.report.seconds_download += downloaded;
                self.waiting_crossings += found.next.len();
                push(&mut self.waiting, (slice, *level, found))?;
                if self.waiting_crossings >= LINKED_TOGETHER {
                    self.link(pipeline)?;
                }
                pipeline.poll(slice, (index + 1) as f64 / levels.len() as f64)?;
            }
        }
        Ok(())
    }

    fn result(_: &Place) -> Option<(Side, usize)> {
        None
    }
}
