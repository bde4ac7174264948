//! The distance on CUDA: a volume as a whole, slices in a pipeline of groups. Each slot owns a stream and its buffers;
//! while one slot computes, another uploads and a third downloads. [`launch`] starts the kernels.
//!
//! A volume that does not fit the device memory is cut twice: groups of slices go through the passes along x and y, then
//! groups of rows, each with all of its slices, through the pass along z. Between the two the squared distances are in the
//! output, in host memory, whose floats hold them as the device does: the result has the bits of a volume that fits.
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
    Buffer, Cuda, DeviceSlices, GROUP_BYTES, Pipeline, ShortQueue, Side, SliceOperation, Slot, Stream,
    check_device_pixels, slices_together, useful_slots,
};
use crate::error::Result;
use crate::image::{Dimensions, Image, ImageMut, PixelType};
use crate::progress::{Progress, may_cancel};
use crate::report::Report;
use launch::{DeviceField, Launcher, Passes};
use ndarray::ArrayViewMut3;
use std::ops::Range;
use std::sync::Arc;

/// Returns the least device memory with which the call can run, in bytes, and whether its volume is then cut: if it does not
/// fit, or if `in_parts` asks for it.
pub(super) fn needs(
    context: &Context,
    params: &Params,
    mask: &Image<'_>,
    output: &ImageMut<'_>,
    in_parts: bool,
) -> Result<(u64, bool)> {
    let (shape, direct) = (mask.shape(), writes_directly(output));
    if params.dimensions == Dimensions::Slices {
        return Ok((slot_bytes(mask, direct, 1), false));
    }
    let whole = slot_bytes(mask, direct, shape[2]);
    // The values between the passes need host memory, and a volume of one slice has nothing to cut.
    let Some(cuda) = context.cuda().filter(|_| !direct && shape[2] > 1) else { return Ok((whole, false)) };
    let workspace = launch::workspace_bytes(cuda, shape, params.dimensions, Passes::All)?;
    if !in_parts && whole + workspace as u64 <= cuda.budget()? {
        return Ok((whole, false));
    }
    let [slice, plane] = part_bytes(cuda, params, mask)?;
    Ok((slice.max(plane), true))
}

/// Returns the device memory that the parts of a volume take, in bytes: a slice in the passes along x and y, and a plane along
/// x and z in the pass along z.
fn part_bytes(cuda: &Cuda, params: &Params, mask: &Image<'_>) -> Result<[u64; 2]> {
    let [width, height, depth] = mask.shape();
    let passes = Passes::AlongXAndY { depth };
    let workspace = launch::workspace_bytes(cuda, [width, height, 1], params.dimensions, passes)?;
    // The pass along z reads one buffer and writes another.
    let plane = 2 * width * depth * size_of::<f32>();
    Ok([slot_bytes(mask, false, 1) + workspace as u64, plane as u64])
}

/// Returns the number of slices that go together through the passes along x and y of a volume that is cut, and the number of
/// rows that go together through the pass along z. A slice and a plane along x and z take `part_bytes`.
fn cut([width, height, depth]: [usize; 3], part_bytes: [u64; 2], budget: u64) -> [usize; 2] {
    let group = |bytes: u64, pixels: usize, count: usize| {
        let fitting = usize::try_from(budget / bytes.max(1)).unwrap_or(usize::MAX);
        fitting.min(GROUP_BYTES / (pixels * size_of::<f32>())).clamp(1, count)
    };
    [group(part_bytes[0], width * height, depth), group(part_bytes[1], width * depth, height)]
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

/// Computes the whole image; see [`super::run`]. A volume that is `in_parts` is cut.
pub(super) fn run(
    call: &Call<'_>,
    mask: &Image<'_>,
    in_parts: bool,
    progress: &mut Option<&mut Progress<'_>>,
    output: &mut ImageMut<'_>,
) -> Result<Report> {
    let Call { context, cuda, params } = *call;
    if let (true, ImageMut::F32(output)) = (in_parts, &mut *output) {
        return run_in_parts(call, mask, progress, output.view_mut());
    }
    let [width, height, depth] = mask.shape();
    let direct = writes_directly(output);
    let on_device = matches!(mask, Image::Device(_));
    let together = match params.dimensions {
        Dimensions::Volume => depth,
        Dimensions::Slices if direct && on_device => depth,
        Dimensions::Slices => {
            let fit = cuda.budget()? / slot_bytes(mask, direct, 1);
            slices_together(depth, width * height * size_of::<f32>(), fit)
        }
    };
    let mut pipeline = Pipeline::new(context, cuda, STAGE, depth.div_ceil(together), progress)?;
    call.check_memory(mask)?;
    if let ImageMut::Device(pixels) = output {
        check_device_pixels(cuda, "the output", pixels)?;
    }
    call.run_groups(&mut pipeline, Passes::All, together, Some(mask), output)?;
    Ok(pipeline.end(cuda))
}

/// Computes a volume that does not fit the device memory.
fn run_in_parts(
    call: &Call<'_>,
    mask: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    output: ArrayViewMut3<'_, f32>,
) -> Result<Report> {
    let Call { context, cuda, params } = *call;
    let [_, height, depth] = mask.shape();
    let [slices, rows] = cut(mask.shape(), part_bytes(cuda, params, mask)?, cuda.budget()?);
    let [first, second] = [depth.div_ceil(slices), height.div_ceil(rows)];
    log::debug!("the volume is cut into {first} slabs of {slices} slices, then into {second} of {rows} rows");
    let mut pipeline = Pipeline::new(context, cuda, STAGE, first, progress)?;
    call.check_memory(mask)?;
    let mut output = ImageMut::F32(output);
    pipeline.others = [0, second];
    call.run_groups(&mut pipeline, Passes::AlongXAndY { depth }, slices, Some(mask), &mut output)?;
    // The buffers for the pass along z have other sizes, and may take all of the budget.
    cuda.memory().trim();
    // Planes along x and z take the place of slices.
    let ImageMut::F32(output) = output else { unreachable!("it is in host memory") };
    let mut planes = ImageMut::F32(output.permuted_axes([1, 0, 2]));
    (pipeline.count, pipeline.others) = (second, [first, 0]);
    call.run_groups(&mut pipeline, Passes::AlongZ { height }, rows, None, &mut planes)?;
    pipeline.report.slices_done = depth as u64;
    pipeline.report.part_count = (first + second) as u64;
    Ok(pipeline.end(cuda))
}

/// The context, the device and the parameters of a call.
pub(super) struct Call<'a> {
    pub(super) context: &'a Context,
    pub(super) cuda: &'a Arc<Cuda>,
    pub(super) params: &'a Params,
}

impl Call<'_> {
    /// Refuses a mask in the memory of another device.
    fn check_memory(&self, mask: &Image<'_>) -> Result<()> {
        if let Image::Device(pixels) = mask { check_device_pixels(self.cuda, "the mask", pixels) } else { Ok(()) }
    }

    /// Runs some passes over an image in groups of `together` slices. Without a mask they read the output.
    fn run_groups(
        &self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        passes: Passes,
        together: usize,
        mask: Option<&Image<'_>>,
        output: &mut ImageMut<'_>,
    ) -> Result<()> {
        let Self { context, cuda, params } = *self;
        let direct = writes_directly(output);
        let source = mask.map_or_else(|| output.view(), Image::reborrow);
        let [width, height, depth] = source.shape();
        let shape = [width, height, together];
        let workspace = launch::workspace_bytes(cuda, shape, params.dimensions, passes)?;
        let launcher = Launcher::new(cuda, params, source.pixel_type(), shape, passes)?;
        let mut distance = Distance { launcher, shape, depth };
        // 1. Allocate as many slots as are useful and fit the memory budget.
        let slot = slot_bytes(&source, direct, together) + workspace as u64;
        let when = |wanted: bool, bytes: usize| if wanted { cuda.memory().device(bytes).map(Some) } else { Ok(None) };
        let bytes = shape.iter().product::<usize>() * size_of::<f32>();
        let most = useful_slots(&source, Some(output), bytes).min(pipeline.count);
        let slots = (0..cuda.slots_that_fit(slot, most)?).map(|_| {
            let buffers = Buffers {
                queue: ShortQueue::new(cuda)?,
                values: when(!direct, bytes)?,
                pitch: width * size_of::<f32>(),
                workspace: when(workspace > 0, workspace)?,
            };
            Slot::new(cuda, &source, together, 1, buffers)
        });
        let mut slots = slots.collect::<Result<Vec<_>>>()?;
        // 2. Run the pipeline.
        pipeline.run(context, cuda, &mut distance, &mut slots, mask, Some(output))
    }
}

/// The memory of one group in flight.
struct Buffers {
    /// Keeps the queue short if the call can be cancelled.
    queue: ShortQueue,
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
        let (stream, Buffers { queue, values, workspace, .. }) = (&slot.stream, &mut slot.buffers);
        let field = match (values, output) {
            (Some(values), _) => DeviceField::packed(values.address(), self.shape),
            (None, Some(ImageMut::Device(own))) => DeviceField {
                address: own.slices(&slices).address,
                strides: own.strides.map(|bytes| bytes / size_of::<f32>()),
            },
            (None, _) => unreachable!("only device memory is written directly"),
        };
        let workspace = workspace.as_ref().map(Buffer::address);
        self.launcher.queue(stream, slices.len(), pixels, field, workspace, &mut |share| {
            if !may_cancel(pipeline.progress) {
                return Ok(());
            }
            queue.follow(stream)?;
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
    launch::workspace_bytes(cuda, shape, dimensions, Passes::All)
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
    let launcher = Launcher::new(cuda, &params, PixelType::U8, shape, Passes::All)?;
    let workspace = if wanted > 0 { workspace.map(Buffer::address) } else { None };
    let mask = DeviceSlices { address: mask.address(), strides: [width, width * height] };
    launcher.queue(stream, depth, mask, DeviceField::packed(output.address(), shape), workspace, &mut |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fit_the_budget_and_cover_the_volume() {
        // 8-bit pixels: 5 bytes per pixel of a slice, and 8 per pixel of a plane.
        let bytes = |[width, height, depth]: [usize; 3]| [(width * height * 5) as u64, (width * depth * 8) as u64];
        for shape in [[1, 1, 2], [7, 5, 3], [100, 80, 60], [2048, 2048, 2048], [30_000, 20_000, 3], [3, 2, 100_000]] {
            let [slice, plane] = bytes(shape);
            for budget in [0, slice - 1, slice, plane, 3 * slice + 1, 1 << 20, 70 << 30] {
                let [slices, rows] = cut(shape, [slice, plane], budget);
                assert!((1..=shape[2]).contains(&slices) && (1..=shape[1]).contains(&rows), "{shape:?} {budget}");
                // A call for which not even one fits is refused before.
                assert!(slices == 1 || slices as u64 * slice <= budget, "{shape:?} {budget}: {slices} slices");
                assert!(rows == 1 || rows as u64 * plane <= budget, "{shape:?} {budget}: {rows} rows");
            }
        }
        // Small volumes: as much as fits. Large ones: groups that overlap with the copies of others.
        let shape = [100, 80, 60];
        assert_eq!(cut(shape, bytes(shape), 60 * 100 * 80 * 5 - 1), [59, 49]);
        assert_eq!(cut(shape, bytes(shape), 20 * 100 * 80 * 5), [20, 16]);
        assert_eq!(cut([2048; 3], bytes([2048; 3]), 30 << 30), [1, 1]);
        assert_eq!(cut([512; 3], bytes([512; 3]), 1 << 30), [16, 16]);
    }
}
