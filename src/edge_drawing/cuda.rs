//! The CUDA backend: a slice pipeline. Each slot owns a stream and its buffers; while one slot computes, another uploads and
//! a third downloads. Kernels are launched in [`launch`].
//!
//! The edge map crosses the link with one bit per pixel, an eighth of the bytes, which the CPU's cores expand to bytes in the
//! caller's memory. Segments are extracted on the host, from these bits and the gradients of the edge pixels. The reference
//! profile's tracing is sequential by definition, so its working map is copied to the host, and slices are linked there side
//! by side.

mod expand;
mod launch;
mod maps;
mod reference;

pub(super) use maps::maps;

use super::edge_map::{EdgeMap, Ranks};
use super::prepare::Plan;
use super::segments::{self, Part};
use super::{Params, Profile, Segments, Variant};
use crate::device::Context;
use crate::device::cuda::{
    Buffer, Cuda, Pinned, Pipeline, Stream, Times, Upload, check_device_pixels, output_is_direct, run_slices,
};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::{self, Progress};
use crate::report::Report;
use launch::{Job, Launcher, RAW_ALIGNMENT, SliceLayout};
use ndarray::s;
use std::sync::Arc;

/// The most slices in flight.
const SLOTS: usize = 8;

/// The most slices in flight of more than `LARGE_BYTES` each, whose page-locked memory would be large.
const SLOTS_OF_LARGE: usize = 3;
const LARGE_BYTES: usize = 32 << 20;

/// Returns the least device memory that a call needs, one slice at a time.
pub(super) fn min_device_bytes(params: &Params, input: &Image<'_>) -> u64 {
    let [width, height, _] = input.shape();
    let layout = SliceLayout::new(input.pixel_type(), width, height);
    let raw = if matches!(input, Image::Device(_)) { 0 } else { layout.raw_bytes() };
    let next = if params.follow_turns { layout.next_bytes() } else { 0 };
    // The gradients of the edge pixels come on top where segments are asked for, once it is known how many there are.
    (raw + layout.map_bytes() + 2 * layout.bit_bytes() + layout.edge_bytes() + next) as u64
}

/// Checks the call, measures the range where it is automatic, and returns the plan.
fn resolve(
    context: &Context,
    cuda: &Arc<Cuda>,
    params: &Params,
    input: &Image<'_>,
    outputs: &[(&str, Option<&ImageMut<'_>>)],
) -> Result<Plan> {
    if params.variant == Variant::Scalar {
        return Err(Error::unsupported(
            "the variant scalar runs on the CPU only; use the device cpu or another variant",
        ));
    }
    if let Image::Device(pixels) = input {
        check_device_pixels(cuda, "the input", pixels)?;
    }
    for (name, output) in outputs {
        if let Some(ImageMut::Device(pixels)) = output {
            check_device_pixels(cuda, &format!("the {name}"), pixels)?;
        }
    }
    let extremes = match input {
        _ if !params.needs_extremes(input.pixel_type()) => None,
        Image::Device(pixels) => Some(cuda.extremes("the input", pixels)?),
        _ => context.pool().install(|| input.extremes()),
    };
    Ok(params.plan(input.pixel_type(), extremes))
}

/// Implements [`super::run`].
pub(super) fn run(
    context: &Context,
    cuda: &Arc<Cuda>,
    params: &Params,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    edges: &mut Option<ImageMut<'_>>,
    want_segments: bool,
) -> Result<(Report, Option<Segments>)> {
    let [width, height, count] = input.shape();
    let pipeline = Pipeline::new(context, cuda, "edge drawing", count, progress)?;
    let plan = resolve(context, cuda, params, input, &[("edge map", edges.as_ref())])?;
    let layout = SliceLayout::new(input.pixel_type(), width, height);
    let launcher = Launcher::new(cuda, &plan, layout)?;
    // A single image is written after the last operation that may fail or be cancelled.
    let at_the_end = count == 1 && (want_segments || pipeline.progress.is_some());
    let delivery = Delivery::choose(edges.as_ref(), at_the_end);
    let mut call = Call {
        context,
        cuda,
        plan: &plan,
        layout,
        launcher: &launcher,
        input,
        delivery,
        want_segments,
        pipeline,
        parts: Vec::new(),
        linked: Segments::default(),
        slot_bytes: min_device_bytes(params, input),
    };
    if plan.profile == Profile::Reference {
        call.run_linked(edges)?;
    } else {
        call.run_slices(edges)?;
    }
    let (parts, linked) = (call.parts, call.linked);
    let segments = match plan.profile {
        _ if !want_segments => None,
        Profile::Reference => Some(linked),
        Profile::Paper => Some(context.pool().install(|| segments::join(parts, &call.pipeline.ticker))?),
    };
    Ok((Report { slices_done: count as u64, ..call.pipeline.end(cuda) }, segments))
}

/// The path of an edge map to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    /// No edge map is delivered.
    Nothing,
    /// The kernels write the map to the caller's device memory.
    Direct,
    /// The map is copied from a device buffer to the caller's device or page-locked memory.
    Copied,
    /// The map is downloaded as bits, which the CPU expands to bytes.
    Bits,
}

impl Delivery {
    fn choose(edges: Option<&ImageMut<'_>>, at_the_end: bool) -> Self {
        match edges {
            None => Self::Nothing,
            Some(ImageMut::Device(_)) if at_the_end => Self::Copied,
            Some(ImageMut::Device(_)) => Self::Direct,
            Some(edges) if output_is_direct(edges) => Self::Copied,
            Some(_) => Self::Bits,
        }
    }
}

/// The stream and the buffers of one slice in flight. The stream comes first, so that it is waited for before the memory is
/// freed.
struct Slot {
    stream: Stream,
    times: Times,
    upload: Upload,
    map: Buffer,
    bits: Option<Buffer>,
    pending: Option<Buffer>,
    next: Option<Buffer>,
    edges: Option<Buffer>,
    /// The offsets of each block's gradients, for segments.
    counts: Option<Buffer>,
    /// The bits on the host.
    bits_back: Option<Pinned>,
    /// The number of edge pixels on the host.
    total_back: Option<Pinned>,
    job: Job,
    /// True if the copy of the slice's edges to the caller is queued.
    delivered: bool,
}

/// One call in progress.
struct Call<'a, 'i, 'p, 'q> {
    context: &'a Context,
    cuda: &'a Arc<Cuda>,
    plan: &'a Plan,
    layout: SliceLayout,
    launcher: &'a Launcher,
    input: &'a Image<'i>,
    delivery: Delivery,
    want_segments: bool,
    pipeline: Pipeline<'a, 'p, 'q>,
    /// The segments of the paper profile.
    parts: Vec<Part>,
    /// The segments of the reference profile.
    linked: Segments,
    slot_bytes: u64,
}

impl Call<'_, '_, '_, '_> {
    /// Returns as many slots as the call can use and the device has memory for.
    fn slots(&self, most: usize) -> Result<Vec<Slot>> {
        let wanted = self.cuda.slots_that_fit(self.slot_bytes, most.min(self.pipeline.count))?;
        (0..wanted).map(|_| self.slot()).collect()
    }

    fn slot(&self) -> Result<Slot> {
        let (cuda, layout) = (self.cuda, &self.layout);
        let memory = cuda.memory();
        let when = |wanted: bool, bytes: usize| if wanted { memory.device(bytes).map(Some) } else { Ok(None) };
        let pinned = |wanted: bool, bytes: usize| if wanted { memory.pinned(bytes).map(Some) } else { Ok(None) };
        let linked = self.plan.profile == Profile::Paper;
        let want_bits = linked && (self.want_segments || self.delivery == Delivery::Bits);
        let slot = Slot {
            stream: cuda.stream()?,
            times: cuda.times()?,
            upload: Upload::new(cuda, self.input, 1, RAW_ALIGNMENT)?,
            map: memory.device(layout.map_bytes())?,
            bits: when(want_bits, layout.bit_bytes())?,
            pending: when(linked, layout.bit_bytes())?,
            next: when(linked && self.plan.follow_turns, layout.next_bytes())?,
            edges: when(linked && self.delivery == Delivery::Copied, layout.edge_bytes())?,
            counts: when(linked && self.want_segments, layout.count_bytes())?,
            bits_back: pinned(want_bits, layout.bit_bytes())?,
            total_back: pinned(linked && self.want_segments, size_of::<u64>())?,
            job: self.launcher.job(self.plan),
            delivered: false,
        };
        Ok(slot.with_addresses(layout))
    }

    fn run_slices(&mut self, edges: &mut Option<ImageMut<'_>>) -> Result<()> {
        let most = if self.layout.map_bytes() <= LARGE_BYTES { SLOTS } else { SLOTS_OF_LARGE };
        let mut slots = self.slots(most)?;
        run_slices(self, &mut slots, self.pipeline.count, edges, Self::begin, Self::finish)
    }

    /// Queues the upload of a slice and writes its address to the kernels' arguments.
    fn queue_upload(&mut self, slot: &mut Slot, slice: usize) -> Result<()> {
        self.pipeline.poll(slice, 0.0)?;
        slot.stream.record(&slot.times[0])?;
        let pixels = slot.upload.queue(self.context.pool(), &slot.stream, self.input, slice..slice + 1)?;
        slot.job.set_pixels(pixels);
        slot.stream.record(&slot.times[1])
    }

    /// Queues the upload, the kernels and the download of one slice.
    fn begin(&mut self, slot: &mut Slot, slice: usize, edges: &mut Option<ImageMut<'_>>) -> Result<()> {
        self.queue_upload(slot, slice)?;
        if let (Delivery::Direct, Some(ImageMut::Device(pixels))) = (self.delivery, edges.as_ref()) {
            slot.job.edges = pixels.address + (slice * pixels.strides[1]) as u64;
            slot.job.edge_pitch = pixels.strides[0] as u64;
        }
        self.launcher.draw(&slot.stream, &slot.job)?;
        if let Some(counts) = &slot.counts {
            launch::count(self.cuda, &slot.stream, &self.layout, &slot.job, counts)?;
        }
        slot.stream.record(&slot.times[2])?;
        if let (Some(bits), Some(back)) = (&slot.bits, &slot.bits_back) {
            slot.stream.copy_bytes(bits.side(0), back.side(), self.layout.bit_bytes())?;
        }
        if let (Some(counts), Some(back)) = (&slot.counts, &slot.total_back) {
            slot.stream.copy_bytes(counts.side(self.layout.total_at()), back.side(), size_of::<u64>())?;
        }
        slot.delivered = false;
        if self.pipeline.count > 1 {
            self.copy_edges(slot, slice, edges)?;
        }
        slot.stream.record(&slot.times[3])
    }

    fn copy_edges(&self, slot: &mut Slot, slice: usize, edges: &mut Option<ImageMut<'_>>) -> Result<()> {
        if let (Some(from), Some(edges), false) = (&slot.edges, edges.as_mut(), slot.delivered) {
            let (pool, pitch) = (self.context.pool(), self.layout.edge_pitch());
            self.cuda.transfer().download(pool, &slot.stream, from.side(0), pitch, edges, slice..slice + 1)?;
            slot.delivered = true;
        }
        Ok(())
    }

    /// Waits for a slice, extracts its segments and writes its edge map to the caller's memory.
    fn finish(&mut self, slot: &mut Slot, slice: usize, edges: &mut Option<ImageMut<'_>>) -> Result<()> {
        self.pipeline.wait(&slot.times, slice, 0.9)?;
        self.pipeline.add(&slot.times)?;
        if self.want_segments {
            self.extract(slot, slice)?;
            // A cancel during the last of the extraction acts now, not after the map was written.
            self.pipeline.ticker.check()?;
        }
        if self.delivery == Delivery::Copied && !slot.delivered {
            slot.stream.record(&slot.times[2])?;
            self.copy_edges(slot, slice, edges)?;
            slot.stream.record(&slot.times[3])?;
            slot.times[3].synchronize()?;
            self.pipeline.report.seconds_download += slot.times[2].seconds_to(&slot.times[3])?;
        }
        if let (Delivery::Bits, Some(back), Some(ImageMut::U8(view))) = (self.delivery, &slot.bits_back, edges.as_mut())
        {
            let words = bytemuck::cast_slice(&back.as_slice()[..self.layout.bit_bytes()]);
            expand::expand(self.context.pool(), words, self.layout.bit_pitch, view.slice_mut(s![slice, .., ..]));
        }
        self.pipeline.report.slices_done = slice as u64 + 1;
        Ok(())
    }

    /// Extracts the segments of a slice whose bits are on the host.
    fn extract(&mut self, slot: &Slot, slice: usize) -> Result<()> {
        let (Some(counts), Some(total), Some(bits)) = (&slot.counts, &slot.total_back, &slot.bits_back) else {
            unreachable!("a call for segments has slots for them");
        };
        let total = bytemuck::cast_slice::<u8, u64>(&total.as_slice()[..size_of::<u64>()])[0] as usize;
        let bytes = total * self.layout.word_bytes();
        // The slice's own times are read; its events now take those of the gathering. On an error the slots, and with
        // them the stream, are dropped before anybody else can have these buffers.
        let back = self.cuda.memory().pinned(bytes)?;
        let gradients = self.cuda.memory().device(bytes)?;
        slot.stream.record(&slot.times[1])?;
        launch::gather(self.cuda, &slot.stream, &self.layout, &slot.job, counts, &gradients, total)?;
        slot.stream.record(&slot.times[2])?;
        slot.stream.copy_bytes(gradients.side(0), back.side(), bytes)?;
        slot.stream.record(&slot.times[3])?;

        let SliceLayout { width, height, bit_pitch, .. } = self.layout;
        let words = bytemuck::cast_slice(&bits.as_slice()[..self.layout.bit_bytes()]);
        let pool = self.context.pool();
        let map = pool.install(|| EdgeMap::from_words(width, height, words, bit_pitch))?;
        let ranks = Ranks::new(&map)?;
        slot.times[3].synchronize()?;
        self.pipeline.report.seconds_compute += slot.times[1].seconds_to(&slot.times[2])?;
        self.pipeline.report.seconds_download += slot.times[2].seconds_to(&slot.times[3])?;

        let back = &back.as_slice()[..bytes];
        let (min_length, unit, ticker) = (self.plan.min_length, self.plan.unit, &self.pipeline.ticker);
        let at = |point: segments::Point| ranks.at(map.bit_index(point.x as usize, point.y as usize));
        let slice = slice as u32;
        let narrow = self.layout.word_bytes() == 2;
        let found = progress::run(pool, self.pipeline.progress, ticker, || {
            if narrow {
                let list: &[u16] = bytemuck::cast_slice(back);
                segments::extract(&map, slice, min_length, unit, &|point| u32::from(list[at(point)]), ticker)
            } else {
                let list: &[u32] = bytemuck::cast_slice(back);
                segments::extract(&map, slice, min_length, unit, &|point| list[at(point)], ticker)
            }
        })?;
        self.parts.extend(found);
        Ok(())
    }
}

impl Slot {
    /// Writes the addresses that do not change from slice to slice to the kernels' arguments.
    fn with_addresses(mut self, layout: &SliceLayout) -> Self {
        let address = |buffer: &Option<Buffer>| buffer.as_ref().map_or(0, Buffer::address);
        self.job.map = self.map.address();
        self.job.bits = address(&self.bits);
        self.job.pending = address(&self.pending);
        self.job.next = address(&self.next);
        self.job.edges = address(&self.edges);
        self.job.edge_pitch = layout.edge_pitch() as u64;
        self
    }
}
