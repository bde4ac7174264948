//! Copies of images between the caller's memory and device memory.
//!
//! The device copies page-locked memory directly. All other host memory goes through page-locked staging buffers: each of
//! several threads has some, and fills (or empties) one of them while the device copies others. So a copy runs at the speed
//! of the link or of the host's memory, whichever is slower. A small image is copied by the calling thread alone.
//!
//! One change was measured on an H200 host and does not pay: a thread that gets the staging buffers that it used last is no
//! faster.

mod parts;
mod streaming_stores;

use super::memory::PageLocked;
use super::{Event, Side, Stream, is_pinned};
use crate::error::Result;
use crate::image::{Image, ImageMut, on_host, view_of_mut};
use crate::memory::{extend, pages};
use crate::progress::Ticker;
use bytemuck::Pod;
use cudarc::driver::CudaContext;
use ndarray::{ArrayView3, ArrayViewMut3, Axis};
use parts::{Place, split_into_parts};
use rayon::ThreadPool;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// The size of a staging buffer in bytes, and the most staging buffers of a thread. With smaller or fewer buffers the link
/// is idle at times: 512 MiB to the host take 22 ms with two buffers of 512 KiB, 15 ms with two of 1 MiB and 13 ms with
/// four; 1 GiB into memory fresh from the system takes 81 ms with four of 1 MiB and 66 ms with four of 2 MiB.
const STAGING_BYTES: usize = 2 << 20;
const STAGING_BUFFERS: usize = 4;

/// The numbers of parts that a thread copies of a small image. With fewer parts it waits longer for its first copy or after
/// its last one.
const UPLOADED_PARTS: usize = 2;
const DOWNLOADED_PARTS: usize = 3;

/// The smallest part of an image that is copied separately, and the smallest share of a thread, in bytes.
const MIN_PART_BYTES: usize = 256 << 10;
const MIN_COPIER_BYTES: usize = 512 << 10;

/// The most bytes of an upload whose staging buffers are filled with stores that bypass the caches, if there is no download
/// at the same time. Threads write more slowly so, which counts in large uploads: a level set of 512 x 512 x 512 voxels,
/// with 256 MiB of image and mask, takes 12.1 ms to start instead of 10.6. It counts even more beside downloads, which keep
/// the memory busy: 256 MiB to the device while 1 GiB comes from there take 19 ms instead of 13.
const MAX_STREAMED_BYTES: usize = 64 << 20;

/// The most bytes of copies to or from page-locked memory that are queued between two polls for cancellation: 40 ms on a
/// slow link.
const MAX_QUEUED_BYTES: usize = 512 << 20;

/// A copy counts as at least this many of these bytes, because queueing one takes the driver about 5 µs, however small it
/// is.
const LEAST_QUEUED_BYTES: usize = 64 << 10;

/// The most bytes from row to row in a copy that the driver makes, on all devices (`CU_DEVICE_ATTRIBUTE_MAX_PITCH`). Rows of
/// planes along x and z are a slice apart.
const MAX_PITCH: usize = i32::MAX as usize;

/// The most threads that fill or empty staging buffers; with more, the host's memory is the bottleneck. Eight are enough
/// for memory that was used before. Memory fresh from the system is cleared page by page at its first use: 1 GiB into such
/// memory takes 73 ms with eight threads and 48 ms with twelve.
const MAX_COPIERS: usize = 12;

/// The most threads that fill staging buffers while others empty some. With more, both would have too few cores.
const COPIERS_BESIDE_DOWNLOADS: usize = 4;

/// The most copiers that are kept for later copies: a call has up to two downloads and an upload at the same time. Their
/// buffers take at most 224 MiB.
const MAX_KEPT_COPIERS: usize = 28;

/// A stream and page-locked staging buffers, for one thread.
struct Copier {
    stream: Stream,
    staging: Vec<PageLocked>,
    /// For each buffer an event that is recorded after its last copy.
    copied: Vec<Event>,
}

/// Device memory to or from which slices of an image are copied: rows are `pitch` bytes apart, without gaps between slices.
/// Copies wait for the work that is queued on `stream`; work that is queued on it later waits for an upload.
#[derive(Clone, Copy)]
pub(crate) struct DeviceRows<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) side: Side,
    pub(crate) pitch: usize,
}

impl DeviceRows<'_> {
    /// Returns the location of a part of an image whose slices have `height` rows, as one side of a copy.
    fn after(&self, place: Place, height: usize, pixel_bytes: usize) -> Side {
        self.side.after((place.z * height + place.y) * self.pitch + place.x * pixel_bytes)
    }
}

/// The unused copiers of a device. All contexts on the device share them, because making page-locked memory takes longer
/// than most copies.
pub(crate) struct Transfer {
    copiers: Mutex<Vec<Copier>>,
    /// Each download through staging buffers holds a reference while it runs.
    downloads: Arc<()>,
    context: Arc<CudaContext>,
}

/// The copiers of each device that is in use.
static TRANSFERS: Mutex<Vec<(u32, Weak<Transfer>)>> = Mutex::new(Vec::new());

/// A copier in use. Dropping it waits for its copies, except after [`give_back`](Self::give_back).
struct Leased<'a> {
    copier: Option<Copier>,
    transfer: &'a Transfer,
}

impl Leased<'_> {
    /// Makes the copier available although the device may still copy from its buffers. The events `copied` tell when that
    /// is done.
    fn give_back(mut self) {
        if let Some(copier) = self.copier.take() {
            self.transfer.keep(copier);
        }
    }

    fn copier(&mut self) -> &mut Copier {
        self.copier.as_mut().unwrap_or_else(|| unreachable!("only give_back takes the copier"))
    }
}

impl Drop for Leased<'_> {
    fn drop(&mut self) {
        // Wait, because after an error or a panic the caller frees memory to which the copier may still copy. A copier
        // whose stream has failed is freed.
        if let Some(copier) = self.copier.take()
            && copier.stream.synchronize().is_ok()
        {
            self.transfer.keep(copier);
        }
    }
}

/// A copy that is divided into parts, each with the number of its image; the number of threads, and the number of staging
/// buffers of each. Threads must not have too many parts in flight, because then some would have nothing to do at the end.
struct Division<I> {
    copiers: usize,
    buffers: usize,
    parts: Mutex<I>,
}

/// Returns the next part, for the thread that calls.
fn next<T>(parts: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    parts.lock().unwrap_or_else(|e| e.into_inner()).next()
}

impl Transfer {
    /// Returns the copiers of a device, which its contexts share.
    pub(super) fn of_device(index: u32, context: &Arc<CudaContext>) -> Arc<Self> {
        let mut transfers = TRANSFERS.lock().unwrap_or_else(|e| e.into_inner());
        transfers.retain(|(_, shared)| shared.strong_count() > 0);
        if let Some(shared) =
            transfers.iter().find(|(known, _)| *known == index).and_then(|(_, shared)| shared.upgrade())
        {
            return shared;
        }
        let shared = Arc::new(Self { copiers: Mutex::default(), downloads: Arc::default(), context: context.clone() });
        transfers.push((index, Arc::downgrade(&shared)));
        shared
    }

    /// Frees the unused copiers.
    pub(super) fn trim(&self) {
        let copiers = std::mem::take(&mut *self.copiers.lock().unwrap_or_else(|e| e.into_inner()));
        drop(copiers);
    }

    /// Keeps a copier for the next copy, unless there are enough.
    fn keep(&self, copier: Copier) {
        let mut copiers = self.copiers.lock().unwrap_or_else(|e| e.into_inner());
        if copiers.len() < MAX_KEPT_COPIERS {
            copiers.push(copier);
        }
    }

    /// Returns an unused copier, or a new one, with at least `buffers` staging buffers.
    fn lease(&self, buffers: usize) -> Result<Leased<'_>> {
        let kept = self.copiers.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let mut copier = match kept {
            Some(copier) => copier,
            None => Copier { stream: Stream::new(&self.context)?, staging: Vec::new(), copied: Vec::new() },
        };
        while copier.staging.len() < buffers {
            copier.copied.push(Event::untimed(&self.context)?);
            copier.staging.push(PageLocked::new(&self.context, STAGING_BYTES)?);
        }
        Ok(Leased { copier: Some(copier), transfer: self })
    }

    /// Divides the copy of images with these shapes among at most `copiers` threads: splits each into parts of about the same
    /// size, `parts_of_each` for a thread, or more if they would be larger than a staging buffer.
    fn divide<V>(
        pool: &ThreadPool,
        (copiers, parts_of_each): (usize, usize),
        images: Vec<(V, (usize, usize, usize))>,
        pixel_bytes: usize,
        split_at: impl Fn(V, Axis, usize) -> (V, V),
    ) -> Result<Division<impl Iterator<Item = (usize, Place, V)>>> {
        let bytes: usize = images.iter().map(|(_, (depth, height, width))| depth * height * width * pixel_bytes).sum();
        let copiers = (bytes / MIN_COPIER_BYTES).clamp(1, pool.current_num_threads().min(copiers));
        let pixels = (bytes / (parts_of_each * copiers)).clamp(MIN_PART_BYTES, STAGING_BYTES) / pixel_bytes;
        let mut parts = Vec::new();
        for (image, (view, shape)) in images.into_iter().enumerate() {
            let split = split_into_parts(view, shape, pixels, &split_at)?;
            extend(&mut parts, split.into_iter().map(|(place, part)| (image, place, part)))?;
        }
        let buffers = (parts.len() / (2 * copiers)).clamp(2, STAGING_BUFFERS);
        Ok(Division { copiers, buffers, parts: Mutex::new(parts.into_iter()) })
    }

    /// Returns for the stream of each image an event after the work that is queued on it.
    fn record_ready<'a>(&self, rows: impl Iterator<Item = DeviceRows<'a>>) -> Result<Vec<Event>> {
        rows.map(|rows| {
            let ready = Event::untimed(&self.context)?;
            rows.stream.record(&ready)?;
            Ok(ready)
        })
        .collect()
    }

    /// Calls `work` with a copier that has `buffers` buffers on each of `copiers` threads, one of which is the calling thread.
    fn on_copiers(
        &self,
        pool: &ThreadPool,
        (copiers, buffers): (usize, usize),
        work: impl Fn(&mut Copier) -> Result<()> + Sync,
    ) -> Result<()> {
        let failure = OnceLock::new();
        let one = || {
            self.bind()?;
            let mut leased = self.lease(buffers)?;
            work(leased.copier())?;
            leased.give_back();
            Ok(())
        };
        let run = || {
            if failure.get().is_none()
                && let Err(error) = one()
            {
                // Only the first error is reported.
                let _ = failure.set(error);
            }
        };
        // Use tasks that do not wait for each other. The threads of a parallel iterator wait, and meanwhile take up work of
        // other calls, so that an upload would take as long as a concurrent download.
        pool.in_place_scope(|scope| {
            (1..copiers).for_each(|_| scope.spawn(|_| run()));
            run();
        });
        // This worker thread may have worked for another device before.
        let bound = self.bind();
        failure.into_inner().map_or(bound, Err)
    }

    /// Makes the device current on the calling thread.
    pub(super) fn bind(&self) -> Result<()> {
        self.context.bind_to_thread().map_err(|e| super::failed("activate the CUDA context", e))
    }

    /// Queues the copy of slices of an image in host memory to device memory, each range of slices to its own target. The
    /// image has been read when this returns, unless it is page-locked. The ticker can cancel it.
    pub(crate) fn upload(
        &self,
        pool: &ThreadPool,
        image: &Image<'_>,
        slices: &[(Range<usize>, DeviceRows<'_>)],
        ticker: &Ticker,
    ) -> Result<()> {
        fn views<'a, 'r, T>(
            view: &'a ArrayView3<'_, T>,
            slices: &[(Range<usize>, DeviceRows<'r>)],
        ) -> Vec<(ArrayView3<'a, T>, DeviceRows<'r>)> {
            slices.iter().map(|(range, rows)| (view.slice(ndarray::s![range.clone(), .., ..]), *rows)).collect()
        }
        on_host!(
            Image,
            image,
            view => self.upload_views(pool, views(view, slices), ticker),
            unreachable!("device memory is used as it is")
        )
    }

    /// Does what [`upload`](Self::upload) does, for images with pixels of any type.
    pub(crate) fn upload_views<T: Pod + Send + Sync>(
        &self,
        pool: &ThreadPool,
        images: Vec<(ArrayView3<'_, T>, DeviceRows<'_>)>,
        ticker: &Ticker,
    ) -> Result<()> {
        let pixel_bytes = size_of::<T>();
        let (direct, staged): (Vec<_>, Vec<_>) = images.into_iter().partition(|(view, _)| is_direct(view));
        // 1. Page-locked memory is copied directly.
        let mut queued = 0;
        for (view, to) in direct {
            let (_, height, width) = view.dim();
            for (z, rows, from_pitch) in runs_of_rows(view.strides(), view.dim(), pixel_bytes) {
                let slice = view.index_axis(Axis(0), z);
                let row = width * pixel_bytes;
                let from = Side::Host { address: slice.as_ptr() as usize, bytes: (rows - 1) * from_pitch + row };
                let side = to.after(Place { z, y: 0, x: 0 }, height, pixel_bytes);
                to.stream.copy(from, side, row, rows, [from_pitch, to.pitch])?;
                wait_now_and_then(to.stream, &mut queued, row * rows, ticker)?;
            }
        }
        if staged.is_empty() {
            return Ok(());
        }
        // 2. Other memory goes through staging buffers: a thread fills one while the device copies another.
        let (views, to): (Vec<_>, Vec<_>) =
            staged.into_iter().map(|(view, to)| ((view, view.dim()), (to, view.dim().1))).unzip();
        let ready = self.record_ready(to.iter().map(|(to, _)| *to))?;
        let bytes: usize = views.iter().map(|(view, _)| bytes_of(view)).sum();
        let (copiers, most_streamed) = match Arc::strong_count(&self.downloads) {
            1 => (MAX_COPIERS, MAX_STREAMED_BYTES),
            _ => (COPIERS_BESIDE_DOWNLOADS, 0),
        };
        let fill = if bytes <= most_streamed { streaming_stores::copy } else { <[u8]>::copy_from_slice };
        let Division { copiers, buffers, parts } =
            Self::divide(pool, (copiers, UPLOADED_PARTS), views, pixel_bytes, ArrayView3::split_at)?;
        self.on_copiers(pool, (copiers, buffers), |Copier { stream, staging, copied }| {
            // The copies of a copier are done in order, so it is enough to wait for the last one of an image.
            let mut last: Option<(usize, usize)> = None;
            for index in (0..buffers).cycle() {
                // After a cancellation, complete the copies that have begun, so that none is in progress when the buffers
                // are freed.
                let part = if ticker.is_cancelled() { None } else { next(&parts) };
                if let Some((image, buffer)) = last
                    && part.as_ref().is_none_or(|(next, ..)| *next != image)
                {
                    to[image].0.stream.wait(&copied[buffer])?;
                }
                let Some((image, place, part)) = part else { break };
                copied[index].synchronize()?;
                pack(staging[index].as_mut_slice(), &part, fill);
                stream.wait(&ready[image])?;
                let ((slices, rows, columns), (to, height)) = (part.dim(), to[image]);
                let row = columns * pixel_bytes;
                let side = to.after(place, height, pixel_bytes);
                stream.copy(staging[index].side(), side, row, slices * rows, [row, to.pitch])?;
                stream.record(&copied[index])?;
                last = Some((image, index));
            }
            Ok(())
        })?;
        ticker.check()
    }

    /// Copies from device memory to slices of an image in host or device memory, from each source to its own range of
    /// slices, in ascending order. An image in host memory that is not page-locked has been written when this returns;
    /// other images are written by the streams. The ticker can cancel it.
    pub(crate) fn download(
        &self,
        pool: &ThreadPool,
        image: &mut ImageMut<'_>,
        slices: &[(Range<usize>, DeviceRows<'_>)],
        ticker: &Ticker,
    ) -> Result<()> {
        fn views<'a, 'r, T>(
            view: &'a mut ArrayViewMut3<'_, T>,
            slices: &[(Range<usize>, DeviceRows<'r>)],
        ) -> Vec<(ArrayViewMut3<'a, T>, DeviceRows<'r>)> {
            let (mut rest, mut first, mut found) = (view.view_mut(), 0, Vec::new());
            for (range, rows) in slices {
                let (_, after) = rest.split_at(Axis(0), range.start - first);
                let (own, after) = after.split_at(Axis(0), range.len());
                found.push((own, *rows));
                (rest, first) = (after, range.end);
            }
            found
        }
        let ImageMut::Device(pixels) = image else {
            return on_host!(
                ImageMut,
                image,
                view => self.download_views(pool, views(view, slices), ticker),
                unreachable!("handled below")
            );
        };
        let [width, height, _] = pixels.shape;
        let row = width * pixels.pixel_type.bytes();
        for (range, from) in slices {
            for (z, slice) in range.clone().enumerate() {
                let (to, to_pitch) = Side::of_slice(pixels, slice);
                from.stream.copy(
                    from.after(Place { z, y: 0, x: 0 }, height, 0),
                    to,
                    row,
                    height,
                    [from.pitch, to_pitch],
                )?;
            }
        }
        Ok(())
    }

    /// Downloads a contiguous list of elements to `to`, after the work that is queued on the stream.
    pub(crate) fn download_list<T: Pod + Send + Sync>(
        &self,
        pool: &ThreadPool,
        stream: &Stream,
        side: Side,
        to: &mut [T],
        ticker: &Ticker,
    ) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        let (pitch, shape) = (size_of_val(to), [to.len(), 1, 1]);
        let to = view_of_mut(to, shape);
        self.download_views(pool, vec![(to, DeviceRows { stream, side, pitch })], ticker)
    }

    /// Does what [`download`](Self::download) does, for images in host memory with pixels of any type.
    pub(crate) fn download_views<T: Pod + Send + Sync>(
        &self,
        pool: &ThreadPool,
        images: Vec<(ArrayViewMut3<'_, T>, DeviceRows<'_>)>,
        ticker: &Ticker,
    ) -> Result<()> {
        let pixel_bytes = size_of::<T>();
        let (direct, staged): (Vec<_>, Vec<_>) = images.into_iter().partition(|(view, _)| is_direct(&view.view()));
        // 1. Page-locked memory is written directly.
        let mut queued = 0;
        for (mut view, from) in direct {
            let (strides, shape) = ([view.strides()[0], view.strides()[1], view.strides()[2]], view.dim());
            for (z, rows, to_pitch) in runs_of_rows(&strides, shape, pixel_bytes) {
                let mut slice = view.index_axis_mut(Axis(0), z);
                let row = shape.2 * pixel_bytes;
                let to = Side::Host { address: slice.as_mut_ptr() as usize, bytes: (rows - 1) * to_pitch + row };
                let side = from.after(Place { z, y: 0, x: 0 }, shape.1, pixel_bytes);
                from.stream.copy(side, to, row, rows, [from.pitch, to_pitch])?;
                wait_now_and_then(from.stream, &mut queued, row * rows, ticker)?;
            }
        }
        if staged.is_empty() {
            return Ok(());
        }
        // 2. Other memory goes through staging buffers: the device fills one while a thread empties another.
        let (mut views, mut from) = (Vec::new(), Vec::new());
        for (mut view, rows) in staged {
            if let Some(values) = view.as_slice_mut() {
                pages::advise(values);
            }
            from.push((rows, view.dim().1));
            let shape = view.dim();
            views.push((view, shape));
        }
        let ready = self.record_ready(from.iter().map(|(from, _)| *from))?;
        let _running = self.downloads.clone();
        let Division { copiers, buffers, parts } =
            Self::divide(pool, (MAX_COPIERS, DOWNLOADED_PARTS), views, pixel_bytes, ArrayViewMut3::split_at)?;
        self.on_copiers(pool, (copiers, buffers), |Copier { stream, staging, copied }| {
            let mut in_flight: VecDeque<(usize, _)> = VecDeque::new();
            for index in (0..buffers).cycle() {
                if in_flight.len() == buffers
                    && let Some((buffer, part)) = in_flight.pop_front()
                {
                    copied[buffer].synchronize()?;
                    empty(staging[buffer].as_slice(), part);
                }
                let part = if ticker.is_cancelled() { None } else { next(&parts) };
                let Some((image, place, part)) = part else { break };
                let ((slices, rows, columns), (from, height)) = (part.dim(), from[image]);
                let row = columns * pixel_bytes;
                let side = from.after(place, height, pixel_bytes);
                stream.wait(&ready[image])?;
                stream.copy(side, staging[index].side(), row, slices * rows, [from.pitch, row])?;
                stream.record(&copied[index])?;
                in_flight.push_back((index, part));
            }
            for (buffer, part) in in_flight {
                copied[buffer].synchronize()?;
                empty(staging[buffer].as_slice(), part);
            }
            Ok(())
        })?;
        ticker.check()
    }
}

/// Counts the bytes of copies that are queued on a stream, and waits for the stream after each [`MAX_QUEUED_BYTES`], so
/// that a cancellation takes effect in time.
fn wait_now_and_then(stream: &Stream, queued: &mut usize, bytes: usize, ticker: &Ticker) -> Result<()> {
    *queued += bytes.max(LEAST_QUEUED_BYTES);
    if *queued >= MAX_QUEUED_BYTES {
        *queued = 0;
        stream.synchronize()?;
        ticker.check()?;
    }
    Ok(())
}

/// Returns the bytes of the pixels of a view.
fn bytes_of<T>(view: &ArrayView3<'_, T>) -> usize {
    view.len() * size_of::<T>()
}

/// Returns the runs of equidistant rows of an image: for each its first slice, its number of rows, and the bytes from row
/// to row. There is a single run if slices have no gaps between them or one row each, otherwise a run for each slice.
fn runs_of_rows(
    strides: &[isize],
    (depth, height, width): (usize, usize, usize),
    pixel_bytes: usize,
) -> impl Iterator<Item = (usize, usize, usize)> {
    let [z, y] = [strides[0] as usize, strides[1] as usize];
    let (pitch, together) = match height {
        // Slices of one row may overlap, or be too far from each other for one copy.
        1 if (width..=MAX_PITCH / pixel_bytes).contains(&z) => (z, true),
        1 => (width, depth == 1),
        _ => (y, depth == 1 || z == height * y),
    };
    let (runs, rows) = if together { (1, depth * height) } else { (depth, height) };
    (0..runs).map(move |z| (z, rows, pitch * pixel_bytes))
}

/// Copies the pixels of a part to a buffer, without gaps; by `copy` if the part has none either.
fn pack<T: Pod>(buffer: &mut [u8], part: &ArrayView3<'_, T>, copy: fn(&mut [u8], &[u8])) {
    let to: &mut [T] = bytemuck::cast_slice_mut(&mut buffer[..bytes_of(part)]);
    if let Some(from) = part.as_slice() {
        copy(bytemuck::cast_slice_mut(to), bytemuck::cast_slice(from));
        return;
    }
    for (to, from) in to.chunks_exact_mut(part.dim().2).zip(part.rows()) {
        match from.as_slice() {
            Some(from) => to.copy_from_slice(from),
            None => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
        }
    }
}

/// Copies the pixels of a buffer, which have no gaps, to a part.
fn empty<T: Pod>(buffer: &[u8], mut part: ArrayViewMut3<'_, T>) {
    let from: &[T] = bytemuck::cast_slice(&buffer[..bytes_of(&part.view())]);
    if let Some(to) = part.as_slice_mut() {
        to.copy_from_slice(from);
        return;
    }
    let width = part.dim().2;
    for (mut to, from) in part.rows_mut().into_iter().zip(from.chunks_exact(width)) {
        match to.as_slice_mut() {
            Some(to) => to.copy_from_slice(from),
            None => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
        }
    }
}

/// Tells whether the device can copy from and to this memory directly: it is page-locked, and its rows are contiguous and
/// not too far apart.
fn is_direct<T>(view: &ArrayView3<'_, T>) -> bool {
    let [z, y, x] = [view.strides()[0], view.strides()[1], view.strides()[2]];
    let (depth, height, width) = view.dim();
    let span = z * (depth as isize - 1) + y * (height as isize - 1) + x * (width as isize - 1);
    let first = view.as_ptr() as usize;
    let last = first.wrapping_add_signed(span * size_of::<T>() as isize);
    let contiguous_rows = (x == 1 || width == 1) && (y >= width as isize || height == 1) && (z >= 0 || depth == 1);
    let near = height == 1 || y.unsigned_abs() * size_of::<T>() <= MAX_PITCH;
    contiguous_rows && near && is_pinned(first) && is_pinned(last)
}

/// Tells whether the device writes to an output directly.
pub(crate) fn output_is_direct(output: &ImageMut<'_>) -> bool {
    on_host!(ImageMut, output, view => is_direct(&view.view()), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_without_gaps_or_of_one_row_are_one_run() {
        let runs = |strides: [isize; 2], shape| runs_of_rows(&strides, shape, 2).collect::<Vec<_>>();
        assert_eq!(runs([12, 4], (5, 3, 4)), [(0, 15, 8)]);
        assert_eq!(runs([18, 6], (5, 3, 4)), [(0, 15, 12)]);
        assert_eq!(runs([13, 4], (2, 3, 4)), [(0, 3, 8), (1, 3, 8)]);
        for gap in [0, 3] {
            assert_eq!(runs([4 + gap, 9], (1000, 1, 4)), [(0, 1000, 2 * (4 + gap as usize))]);
        }
        // These overlap, or are too far apart.
        for apart in [0, 3, 1 << 30] {
            assert_eq!(runs([apart, 9], (2, 1, 4)), [(0, 1, 8), (1, 1, 8)]);
        }
        assert_eq!(runs([0, 9], (1, 1, 4)), [(0, 1, 8)]);
        assert!(runs([0, 4], (0, 3, 4)).is_empty());
    }
}
