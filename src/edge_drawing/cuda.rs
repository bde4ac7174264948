//! The CUDA backend: an operation of the slice pipeline. Kernels are launched in [`launch`].
//!
//! The edge map is downloaded with one bit per pixel, an eighth of the bytes, and the CPU expands it to bytes in the
//! caller's memory. The [`segments`] of the paper profile are found on the device, too. The reference profile's tracing is
//! sequential by definition, so its working map is copied to the host, where several slices are linked in parallel.

mod expand;
mod launch;
mod maps;
mod reference;
mod segments;

pub(super) use maps::maps;

use super::prepare::Plan;
use super::{Params, Profile, Segments, Variant};
use crate::device::Context;
use crate::device::cuda::{
    Buffer, Cuda, DeviceSlices, Pinned, Pipeline, Side, SliceOperation, Slot, check_device_pixels, output_is_direct,
    slices_together, useful_slots,
};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::memory::reserved;
use crate::progress::Progress;
use crate::report::Report;
use launch::{Job, Launcher, RAW_ALIGNMENT, SliceLayout};
use ndarray::s;
use segments::{SegmentFinder, SliceMemory};
use std::ops::Range;
use std::sync::Arc;

/// Returns the least device memory that a call needs, one slice at a time.
pub(super) fn min_device_bytes(params: &Params, input: &Image<'_>, want_segments: bool) -> u64 {
    let [width, height, _] = input.shape();
    let layout = SliceLayout::new(input.pixel_type(), width, height);
    let raw = if matches!(input, Image::Device(_)) { 0 } else { layout.raw_bytes() };
    let next = if params.follow_turns { layout.next_bytes() } else { 0 };
    // Memory for the links and the segments is added later, when their numbers are known.
    let linked = want_segments && params.profile == Profile::Paper;
    let segments = if linked { SegmentFinder::slice_bytes(&layout) } else { 0 };
    let smoothed = if params.taps().are_default() { 0 } else { layout.smoothed_bytes() };
    (raw + smoothed + layout.map_bytes() + 2 * layout.bit_bytes() + layout.edge_bytes() + next + segments) as u64
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
    Ok(params.plan(input.pixel_type(), super::prepare::range(context, params, &mut (*input).into(), &mut None)?))
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
    let mut pipeline = Pipeline::new(context, cuda, super::STAGE, count, progress)?;
    let plan = resolve(context, cuda, params, input, &[("edge map", edges.as_ref())])?;
    let layout = SliceLayout::new(input.pixel_type(), width, height);
    let delivery = Delivery::choose(edges.as_ref());
    let slice_bytes = min_device_bytes(params, input, want_segments);
    // Slices are not computed together in the reference profile, which the host links slice by slice, and with segments,
    // whose memory is allocated per slice.
    let together = if want_segments || plan.profile == Profile::Reference {
        1
    } else {
        let packed = width * height * input.pixel_type().bytes();
        slices_together(count, packed, cuda.budget()? / slice_bytes)
    };
    let launcher = Launcher::new(cuda, &plan, layout, together)?;
    let call = Call { context, cuda, plan: &plan, layout, launcher: &launcher, input, delivery, together, slice_bytes };
    let segments = match plan.profile {
        Profile::Reference => Some(call.run_linked(&mut pipeline, edges)?).filter(|_| want_segments),
        Profile::Paper => call.run_slices(&mut pipeline, edges, want_segments)?,
    };
    Ok((Report { slices_done: count as u64, ..pipeline.end(cuda) }, segments))
}

/// The path of an edge map to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    /// No edge map is delivered.
    Nothing,
    /// The kernels write the map to the caller's device memory.
    Direct,
    /// The map is copied from a device buffer to the caller's page-locked memory.
    Copied,
    /// The map is downloaded as bits, which the CPU expands to bytes.
    Bits,
}

impl Delivery {
    fn choose(edges: Option<&ImageMut<'_>>) -> Self {
        match edges {
            None => Self::Nothing,
            Some(ImageMut::Device(_)) => Self::Direct,
            Some(edges) if output_is_direct(edges) => Self::Copied,
            Some(_) => Self::Bits,
        }
    }
}

/// The memory of the slices of one slot.
struct Buffers {
    /// The smoothed pixels, unless the kernel `tile` smooths them itself.
    smoothed: Option<Buffer>,
    map: Buffer,
    bits: Option<Buffer>,
    pending: Option<Buffer>,
    next: Option<Buffer>,
    edges: Option<Buffer>,
    /// The bits on the host.
    bits_back: Option<Pinned>,
    segments: Option<SliceMemory>,
    edge_pitch: usize,
    job: Job,
}

/// One call in progress.
struct Call<'a, 'i> {
    context: &'a Context,
    cuda: &'a Arc<Cuda>,
    plan: &'a Plan,
    layout: SliceLayout,
    launcher: &'a Launcher,
    input: &'a Image<'i>,
    delivery: Delivery,
    /// The number of slices of a slot, which are computed by the same launches, and the device memory of one in bytes.
    together: usize,
    slice_bytes: u64,
}

impl Call<'_, '_> {
    /// Returns as many slots as the call can use and the device has memory for.
    fn slots(&self, most: usize, finder: Option<&SegmentFinder<'_>>) -> Result<Vec<Slot<Buffers>>> {
        let bytes = self.slice_bytes * self.together as u64;
        let wanted = self.cuda.slots_that_fit(bytes, most.min(self.input.shape()[2].div_ceil(self.together)))?;
        let slot = |_| Slot::new(self.cuda, self.input, self.together, RAW_ALIGNMENT, self.buffers(finder)?);
        (0..wanted).map(slot).collect()
    }

    fn buffers(&self, finder: Option<&SegmentFinder<'_>>) -> Result<Buffers> {
        let layout = &self.layout;
        let memory = self.cuda.memory();
        let slices = |bytes: usize| memory.device(self.together * bytes);
        let when = |wanted: bool, bytes: usize| if wanted { slices(bytes).map(Some) } else { Ok(None) };
        let linked = self.plan.profile == Profile::Paper;
        let bits_back = linked && self.delivery == Delivery::Bits;
        let mut buffers = Buffers {
            smoothed: when(!self.plan.taps.are_default(), layout.smoothed_bytes())?,
            map: slices(layout.map_bytes())?,
            bits: when(bits_back || finder.is_some(), layout.bit_bytes())?,
            pending: when(linked, layout.bit_bytes())?,
            next: when(linked && self.plan.follow_turns, layout.next_bytes())?,
            edges: when(linked && self.delivery == Delivery::Copied, layout.edge_bytes())?,
            bits_back: if bits_back { Some(memory.pinned(self.together * layout.bit_bytes())?) } else { None },
            segments: finder.map(SegmentFinder::slice_memory).transpose()?,
            edge_pitch: layout.edge_pitch(),
            job: self.launcher.job(self.plan),
        };
        // These addresses are the same for all slices of the slot.
        let address = |buffer: &Option<Buffer>| buffer.as_ref().map_or(0, Buffer::address);
        buffers.job.map = buffers.map.address();
        buffers.job.bits = address(&buffers.bits);
        buffers.job.pending = address(&buffers.pending);
        buffers.job.next = address(&buffers.next);
        buffers.job.edges = address(&buffers.edges);
        buffers.job.edge_pitch = layout.edge_pitch() as u64;
        buffers.job.edge_slice_stride = layout.edge_bytes() as u64;
        Ok(buffers)
    }

    /// Runs the paper profile.
    fn run_slices(
        &self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        edges: &mut Option<ImageMut<'_>>,
        want_segments: bool,
    ) -> Result<Option<Segments>> {
        let Self { context, cuda, plan, layout, together, .. } = *self;
        pipeline.count = pipeline.count.div_ceil(together);
        let finder = want_segments.then(|| SegmentFinder::new(context, cuda, layout, plan.unit, plan.min_length));
        let finder = finder.transpose()?;
        let most = useful_slots(self.input, edges.as_ref(), together * layout.raw_bytes());
        let mut slots = self.slots(most, finder.as_ref())?;
        // The finder uses the slots' memory. It is declared after them, so it is dropped, and its stream waited for, before
        // them.
        let mut drawing = Drawing { call: self, finder };
        pipeline.run(context, cuda, &mut drawing, &mut slots, Some(self.input), edges.as_mut())?;
        let Some(finder) = &mut drawing.finder else { return Ok(None) };
        let found = finder.finish()?;
        pipeline.ticker.check()?;
        pipeline.report.seconds_compute += finder.seconds[0];
        pipeline.report.seconds_download += finder.seconds[1];
        Ok(Some(found))
    }
}

/// The paper profile as an operation of the slice pipeline.
struct Drawing<'a, 'i> {
    call: &'a Call<'a, 'i>,
    finder: Option<SegmentFinder<'a>>,
}

impl SliceOperation for Drawing<'_, '_> {
    type Buffers = Buffers;

    fn slices(&self, slice: usize) -> Range<usize> {
        let Call { together, input, .. } = self.call;
        slice * together..input.shape()[2].min((slice + 1) * together)
    }

    fn compute(
        &mut self,
        _: &mut Pipeline<'_, '_, '_>,
        slot: &mut Slot<Buffers>,
        pixels: DeviceSlices,
        slice: usize,
        edges: Option<&ImageMut<'_>>,
    ) -> Result<()> {
        let (call, slices, Slot { stream, buffers, .. }) = (self.call, self.slices(slice), slot);
        call.launcher.set_pixels(stream, &mut buffers.job, (pixels, slices.len()), buffers.smoothed.as_ref())?;
        if let (Delivery::Direct, Some(ImageMut::Device(pixels))) = (call.delivery, edges) {
            buffers.job.edges = pixels.address + (slices.start * pixels.strides[1]) as u64;
            [buffers.job.edge_pitch, buffers.job.edge_slice_stride] = pixels.strides.map(|stride| stride as u64);
        }
        if let Some(memory) = &buffers.segments {
            memory.wait(stream)?;
        }
        call.launcher.draw(stream, &buffers.job, slices.len())?;
        if let (Some(finder), Some(memory)) = (&self.finder, &buffers.segments) {
            finder.thin(stream, &buffers.job, memory)?;
        }
        if let (Some(bits), Some(back)) = (&buffers.bits, &buffers.bits_back) {
            stream.copy_bytes(bits.side(0), back.side(), slices.len() * call.layout.bit_bytes())?;
        }
        Ok(())
    }

    /// Queues the extraction of the slices' segments, and expands their bits to the caller's memory.
    const FINISHES: bool = true;

    fn finish(
        &mut self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        slots: &[Slot<Buffers>],
        slices: Range<usize>,
        edges: Option<&mut ImageMut<'_>>,
    ) -> Result<()> {
        let (context, layout) = (self.call.context, &self.call.layout);
        for (slice, Slot { buffers, .. }) in slices.clone().zip(slots) {
            if let (Some(finder), Some(memory)) = (&mut self.finder, &buffers.segments) {
                finder.find(&buffers.job, memory, slice, pipeline.count - slice)?;
            }
        }
        let Some(ImageMut::U8(view)) = edges else { return Ok(()) };
        let together = self.call.together;
        let planes = slices.start * together..view.dim().0.min(slices.end * together);
        let mut maps: Vec<&[u32]> = reserved(planes.len())?;
        let backs = slots.iter().filter_map(|slot| slot.buffers.bits_back.as_ref());
        let all = backs.flat_map(|back| back.as_slice()[..].chunks_exact(layout.bit_bytes()).take(together));
        maps.extend(all.take(planes.len()).map(bytemuck::cast_slice::<u8, u32>));
        if maps.is_empty() {
            return Ok(());
        }
        let planes = view.slice_mut(s![planes, .., ..]);
        expand::expand(context.pool(), &maps, layout.bit_pitch, planes, &pipeline.ticker)
    }

    fn result(buffers: &Buffers) -> Option<(Side, usize)> {
        buffers.edges.as_ref().map(|edges| (edges.side(0), buffers.edge_pitch))
    }
}
