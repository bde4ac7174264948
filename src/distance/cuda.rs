//! The distance on CUDA: a volume as a whole, slices in a pipeline of groups. Each slot owns a stream and its buffers;
//! while one slot computes, another uploads and a third downloads. [`launch`] starts the kernels.
//!
//! Distances are computed in place: the squared distances along rows are written to the memory of the output, and the
//! passes along y and z overwrite them. A pixel takes four bytes beside the mask, and none if the output is in device
//! memory. Columns longer than shared memory (44,000 pixels on an H100) take four
//! more.
//!
//! The arithmetic is that of the CPU: four times the squared distance in units of the smallest spacing, with the term
//! of each axis rounded once from f64 and each sum rounded once, x first; then the root times half that spacing, in
//! f32.

mod launch;

use super::{Params, STAGE};
use crate::device::Context;
use crate::device::cuda::{
    Buffer, Cuda, DeviceSlices, Event, Pipeline, Side, SliceOperation, Slot, Stream, check_device_pixels,
};
use crate::error::Result;
use crate::image::{Dimensions, Image, ImageMut, PixelType};
use crate::progress::{Progress, may_cancel};
use crate::report::Report;
use launch::{DeviceField, Launcher};
use std::ops::Range;
use std::sync::Arc;

/// The largest number of groups of slices in flight.
const SLOTS: usize = 4;

/// The size of the distances of a group of slices, which are computed together: large enough to fill a device, and
/// small enough to overlap with the copies of other groups.
const GROUP_BYTES: usize = 16 << 20;

/// Returns the least device memory with which the call can run, in bytes: that of the volume, or of one slice.
pub(super) fn min_device_bytes(params: &Params, mask: &Image<'_>, output: &ImageMut<'_>) -> u64 {
    let slices = if params.dimensions == Dimensions::Volume { mask.shape()[2] } else { 1 };
    slot_bytes(mask, writes_directly(output), slices)
}

/// Returns the bytes of the mask and the distances of `slices` slices. Columns longer than shared memory take more.
fn slot_bytes(mask: &Image<'_>, direct: bool, slices: usize) -> u64 {
    let [width, height, _] = mask.shape();
    let raw = if matches!(mask, Image::Device(_)) { 0 } else { mask.pixel_type().bytes() };
    let values = if direct { 0 } else { size_of::<f32>() };
    (width * height * slices * (raw + values)) as u64
}

/// Returns whether the kernels write straight to the caller's device memory.
fn writes_directly(output: &ImageMut<'_>) -> bool {
    matches!(output, ImageMut::Device(_))
}

/// Computes the whole image; see [`super::run`].
pub(super) fn run(
    context: &Context,
    cuda: &Arc<Cuda>,
    params: &Params,
    mask: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    output: &mut ImageMut<'_>,
) -> Result<Report> {
    // 1. Divide the slices into groups.
    let [width, height, depth] = mask.shape();
    let direct = writes_directly(output);
    let on_device = matches!(mask, Image::Device(_));
    let together = match params.dimensions {
        Dimensions::Volume => depth,
        Dimensions::Slices if direct && on_device => depth,
        Dimensions::Slices => {
            let most = (GROUP_BYTES / (width * height * size_of::<f32>())).clamp(1, depth);
            cuda.slots_that_fit(slot_bytes(mask, direct, 1), most)?
        }
    };
    let groups = depth.div_ceil(together);
    let mut pipeline = Pipeline::new(context, cuda, STAGE, groups, progress)?;
    if let Image::Device(pixels) = mask {
        check_device_pixels(cuda, "the mask", pixels)?;
    }
    if let ImageMut::Device(pixels) = output {
        check_device_pixels(cuda, "the output", pixels)?;
    }
    let shape = [width, height, together];
    let workspace = launch::workspace_bytes(cuda, shape, params.dimensions)?;
    let launcher = Launcher::new(cuda, params, mask.pixel_type(), shape)?;
    let mut distance = Distance { launcher, shape, depth };
    // 2. Allocate as many slots as are useful and fit the memory budget.
    let slot = slot_bytes(mask, direct, together) + workspace as u64;
    let when = |wanted: bool, bytes: usize| if wanted { cuda.memory().device(bytes).map(Some) } else { Ok(None) };
    let slots = (0..cuda.slots_that_fit(slot, SLOTS.min(groups))?).map(|_| {
        let buffers = Buffers {
            reached: [cuda.event()?, cuda.event()?],
            values: when(!direct, shape.iter().product::<usize>() * size_of::<f32>())?,
            pitch: width * size_of::<f32>(),
            workspace: when(workspace > 0, workspace)?,
        };
        Slot::new(cuda, mask, together, 1, buffers)
    });
    let mut slots = slots.collect::<Result<Vec<_>>>()?;
    // 3. Run the pipeline.
    pipeline.run(context, cuda, &mut distance, &mut slots, mask, Some(output))?;
    drop(slots);
    Ok(pipeline.end(cuda))
}

/// The memory of one group in flight.
struct Buffers {
    /// Events behind every second launch, which keep the queue short if the call can be cancelled.
    reached: [Event; 2],
    /// The distances, and the bytes of a row of them; `None` if the kernels write to the caller's memory.
    values: Option<Buffer>,
    pitch: usize,
    workspace: Option<Buffer>,
}

/// A call in progress: its kernels, the shape of a group, and the number of slices of the image.
struct Distance {
    launcher: Launcher,
    shape: [usize; 3],
    depth: usize,
}

impl SliceOperation for Distance {
    type Buffers = Buffers;

    fn slices(&self, group: usize) -> Range<usize> {
        let together = self.shape[2];
        group * together..self.depth.min((group + 1) * together)
    }

    fn compute(
        &mut self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        slot: &mut Slot<Buffers>,
        pixels: DeviceSlices,
        group: usize,
        output: Option<&ImageMut<'_>>,
    ) -> Result<()> {
        let slices = self.slices(group);
        let (stream, Buffers { reached, values, workspace, .. }) = (&slot.stream, &slot.buffers);
        let field = match (values, output) {
            (Some(values), _) => DeviceField::packed(values.address(), self.shape),
            (None, Some(ImageMut::Device(own))) => DeviceField {
                address: own.address + (slices.start * own.strides[1]) as u64,
                strides: own.strides.map(|bytes| bytes / size_of::<f32>()),
            },
            (None, _) => unreachable!("only device memory is written directly"),
        };
        let mut launches = 0;
        let workspace = workspace.as_ref().map(Buffer::address);
        self.launcher.queue(stream, slices.len(), pixels, field, workspace, &mut |share| {
            if !may_cancel(pipeline.progress) {
                return Ok(());
            }
            if launches >= reached.len() {
                reached[launches % reached.len()].synchronize()?;
            }
            stream.record(&reached[launches % reached.len()])?;
            launches += 1;
            pipeline.poll(group, share * 0.9)
        })
    }

    fn result(buffers: &Buffers) -> Option<(Side, usize)> {
        buffers.values.as_ref().map(|values| (values.side(0), buffers.pitch))
    }
}

/// Returns the bytes of device memory that [`signed_on_device`] needs beside the output: 0 unless a column is longer
/// than shared memory, then as many as the output has.
pub(crate) fn signed_workspace_bytes(cuda: &Cuda, shape: [usize; 3], dimensions: Dimensions) -> Result<usize> {
    launch::workspace_bytes(cuda, shape, dimensions)
}

/// Queues the signed distance of a mask in device memory (packed u8, inside where not 0) into `output` (packed f32),
/// for other operations. `workspace` has [`signed_workspace_bytes`]; all of this memory must live until the stream is
/// done. Does not wait. If one class has no pixel, the result is infinite.
#[allow(clippy::too_many_arguments, reason = "three buffers and their contents")]
pub(crate) fn signed_on_device(
    cuda: &Cuda,
    stream: &Stream,
    mask: &Buffer,
    shape: [usize; 3],
    spacing: [f64; 3],
    dimensions: Dimensions,
    output: &Buffer,
    workspace: Option<&Buffer>,
) -> Result<()> {
    let [width, height, depth] = shape;
    let pixels = width * height * depth;
    let wanted = signed_workspace_bytes(cuda, shape, dimensions)?;
    assert!(mask.bytes() >= pixels && output.bytes() >= pixels * size_of::<f32>(), "mask and output hold the image");
    assert!(
        workspace.map_or(0, Buffer::bytes) >= wanted,
        "the workspace has the size that signed_workspace_bytes returns"
    );
    let params = Params { dimensions, spacing, ..Params::default() };
    let launcher = Launcher::new(cuda, &params, PixelType::U8, shape)?;
    let workspace = if wanted > 0 { workspace.map(Buffer::address) } else { None };
    let mask = DeviceSlices { address: mask.address(), strides: [width, width * height] };
    launcher.queue(stream, depth, mask, DeviceField::packed(output.address(), shape), workspace, &mut |_| Ok(()))
}
