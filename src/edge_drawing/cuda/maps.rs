//! The intermediate maps on CUDA. They are for inspection, so slices are processed one after the other.

use super::super::{MapImages, Params};
use super::launch::{self, Launcher, MapTargets, RAW_ALIGNMENT, SliceLayout};
use crate::device::Context;
use crate::device::cuda::{Buffer, Cuda, DeviceRows, Pipeline, Stream, Upload};
use crate::error::Result;
use crate::image::{Image, ImageMut};
use crate::progress::{Progress, Ticker};
use crate::report::Report;
use std::sync::Arc;

/// The alignment in bytes of the rows of a map in a device buffer.
const ROW_BYTES: usize = 16;

/// One map, and the memory to which the kernels write it.
struct MapOutput<'m, 'i> {
    map: &'m mut ImageMut<'i>,
    /// The device buffer of a map that is copied to the host.
    buffer: Option<Buffer>,
    pitch: usize,
}

impl<'m, 'i> MapOutput<'m, 'i> {
    fn new(cuda: &Cuda, map: &'m mut Option<ImageMut<'i>>) -> Result<Option<Self>> {
        let Some(map) = map.as_mut() else { return Ok(None) };
        if let ImageMut::Device(pixels) = map {
            let pitch = pixels.strides[0];
            return Ok(Some(Self { map, buffer: None, pitch }));
        }
        let [width, height, _] = map.shape();
        let pitch = (width * map.pixel_type().bytes()).next_multiple_of(ROW_BYTES);
        let buffer = Some(cuda.memory().device(pitch * height)?);
        Ok(Some(Self { map, buffer, pitch }))
    }

    /// Returns the address and the pitch of slice `slice` for the kernels; zeros for a map that is not wanted.
    fn of_slice(target: &Option<Self>, slice: usize) -> [u64; 2] {
        let Some(target) = target else { return [0, 0] };
        let address = match (&target.buffer, &*target.map) {
            (Some(buffer), _) => buffer.address(),
            (None, ImageMut::Device(pixels)) => pixels.address + (slice * pixels.strides[1]) as u64,
            (None, _) => unreachable!("maps in host memory have a buffer"),
        };
        [address, target.pitch as u64]
    }

    /// Copies slice `slice` to the caller's host memory.
    fn deliver(target: &mut Option<Self>, context: &Context, cuda: &Cuda, stream: &Stream, slice: usize) -> Result<()> {
        let Some(Self { map, buffer: Some(buffer), pitch }) = target else { return Ok(()) };
        let from = DeviceRows { stream, side: buffer.side(0), pitch: *pitch };
        cuda.transfer().download(context.pool(), map, &[(slice..slice + 1, from)], &Ticker::of_copies())
    }
}

/// Implements [`super::super::maps`].
pub(in super::super) fn maps(
    context: &Context,
    cuda: &Arc<Cuda>,
    params: &Params,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    maps: &mut MapImages<'_>,
) -> Result<Report> {
    let [width, height, count] = input.shape();
    let mut pipeline = Pipeline::new(context, cuda, super::super::MAPS_STAGE, count, progress)?;
    let plan = super::resolve(context, cuda, params, input, &maps.named())?;
    let layout = SliceLayout::new(input.pixel_type(), width, height);
    let launcher = Launcher::new(cuda, &plan, layout, 1)?;
    let times = cuda.times()?;
    let upload = Upload::new(cuda, input, 1, RAW_ALIGNMENT)?;
    let map = cuda.memory().device(layout.map_bytes())?;
    let levels = if plan.taps.are_default() { None } else { Some(cuda.memory().device(layout.smoothed_bytes())?) };
    let mut smoothed = MapOutput::new(cuda, &mut maps.smoothed)?;
    let mut gradient = MapOutput::new(cuda, &mut maps.gradient)?;
    let mut direction = MapOutput::new(cuda, &mut maps.direction)?;
    let mut anchors = MapOutput::new(cuda, &mut maps.anchors)?;
    let direct = [&smoothed, &gradient, &direction, &anchors]
        .iter()
        .any(|target| target.as_ref().is_some_and(|target| target.buffer.is_none()));
    // The stream is declared after the memory, so that it is dropped, and waited for, first.
    let stream = cuda.stream()?;

    for slice in 0..count {
        pipeline.poll(slice, 0.0)?;
        let mut job = launcher.job(&plan).anchors_only();
        job.map = map.address();
        stream.record(&times[0])?;
        let slices = slice..slice + 1;
        Upload::queue(context.pool(), input, [(slices.clone(), &stream, &upload)].into_iter(), &pipeline.ticker)?;
        let pixels = upload.slices(input, &slices);
        stream.record(&times[1])?;
        let [smoothed_to, gradient_to, direction_to, anchors_to] =
            [&smoothed, &gradient, &direction, &anchors].map(|map| MapOutput::of_slice(map, slice));
        let targets = MapTargets {
            gradient: gradient_to[0],
            gradient_pitch: gradient_to[1],
            direction: direction_to[0],
            direction_pitch: direction_to[1],
            anchors: anchors_to[0],
            anchors_pitch: anchors_to[1],
            ..MapTargets::new(&plan)
        };
        if smoothed.is_some() {
            launcher.set_pixels(&stream, &mut job, (pixels, 1), None)?;
            launcher.write_smoothed(cuda, &stream, &job, smoothed_to)?;
        }
        launcher.set_pixels(&stream, &mut job, (pixels, 1), levels.as_ref())?;
        compute(cuda, &stream, &layout, &launcher, &job, targets)?;
        stream.record(&times[2])?;
        stream.synchronize()?;
        if count == 1 && !direct {
            // This is the last call of the progress callback before anything is written to the caller's host memory.
            pipeline.ticker.report(pipeline.progress)?;
        }
        for target in [&mut smoothed, &mut gradient, &mut direction, &mut anchors] {
            MapOutput::deliver(target, context, cuda, &stream, slice)?;
        }
        stream.record(&times[3])?;
        pipeline.add(&times)?;
        pipeline.report.slices_done = slice as u64 + 1;
    }
    Ok(pipeline.end(cuda))
}

/// Queues the kernels of one slice's maps, except for the smoothed image.
fn compute(
    cuda: &Cuda,
    stream: &Stream,
    layout: &SliceLayout,
    launcher: &Launcher,
    job: &launch::Job,
    targets: MapTargets,
) -> Result<()> {
    let write = |targets: &MapTargets| launch::write_maps(cuda, stream, layout, job, targets);
    if targets.gradient != 0 {
        // The gradient map is not thresholded, so the working map is computed twice if directions or anchors are wanted,
        // too.
        launcher.tile(stream, &job.keeping_all(), 1)?;
        write(&MapTargets { direction: 0, anchors: 0, ..targets })?;
    }
    if targets.direction != 0 || targets.anchors != 0 {
        launcher.tile(stream, job, 1)?;
        let rest = MapTargets { gradient: 0, ..targets };
        write(&rest)?;
    }
    Ok(())
}
