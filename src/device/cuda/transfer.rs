//! Copies of images between the caller's memory and device memory.
//!
//! The device copies page-locked memory by itself. All other host memory goes through page-locked staging buffers: each
//! of several threads has two, and fills (or empties) one of them while the device copies the other. So a copy takes as
//! long as the slower of the link and the memory of the host. A small image is copied by the calling thread alone.

use super::memory::PageLocked;
use super::{Buffer, Cuda, Event, Side, Stream, is_pinned};
use crate::error::Result;
use crate::image::{Image, ImageMut};
use bytemuck::Pod;
use cudarc::driver::CudaContext;
use ndarray::{ArrayView3, ArrayViewMut3, Axis};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex, Weak};

/// The size of a staging buffer in bytes. With smaller ones the device copies more slowly: 512 MiB to the host take 13 ms,
/// and 17 ms with 1 MiB.
const STAGING_BYTES: usize = 4 << 20;

/// The smallest part of an image that is worth a copy of its own, and the smallest share of a thread, in bytes.
const MIN_PART_BYTES: usize = 256 << 10;
const MIN_COPIER_BYTES: usize = 512 << 10;

/// The largest number of threads that fill or empty staging buffers: with more, the memory of the host is the limit.
const MAX_COPIERS: usize = 8;

/// The largest number of copiers that are kept for later copies: a call copies both ways at once, and two calls may run
/// side by side. Their buffers have 192 MiB.
const MAX_KEPT_COPIERS: usize = 24;

/// A stream and two page-locked staging buffers, for one thread.
struct Copier {
    stream: Stream,
    staging: [PageLocked; 2],
    /// The events after the last copy from or to each buffer.
    copied: [Event; 2],
    /// An event of the operation's stream, before which no copy may begin.
    ready: Event,
}

/// The copiers of a device that are not in use. All contexts on the device share them, because making page-locked
/// memory takes longer than most copies.
pub(crate) struct Transfer {
    copiers: Mutex<Vec<Copier>>,
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
    /// Makes the copier available while the device may still copy from its buffers; `copied` tells when it has done so.
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
        // After an error or a panic the caller frees memory to which the copier may still copy. A copier whose stream
        // failed is freed.
        if let Some(copier) = self.copier.take()
            && copier.stream.synchronize().is_ok()
        {
            self.transfer.keep(copier);
        }
    }
}

/// A part of an image that fits into a staging buffer: whole slices, rows of one slice, or a part of one row. The fields
/// are its first slice, row and column.
#[derive(Clone, Copy, Debug)]
struct Place {
    z: usize,
    y: usize,
    x: usize,
}

/// Splits `view`, of `length` along `axis`, into parts of at most `most`, each with its first index.
fn split<V>(
    view: V,
    axis: usize,
    length: usize,
    most: usize,
    split_at: &impl Fn(V, Axis, usize) -> (V, V),
) -> Vec<(usize, V)> {
    let (mut rest, mut first, mut parts) = (view, 0, Vec::new());
    while length - first > most {
        let (part, after) = split_at(rest, Axis(axis), most);
        parts.push((first, part));
        (rest, first) = (after, first + most);
    }
    parts.push((first, rest));
    parts
}

/// Splits a view into parts of at most `pixels` pixels each, in the order of memory.
fn split_into_parts<V>(
    view: V,
    (depth, height, width): (usize, usize, usize),
    pixels: usize,
    split_at: impl Fn(V, Axis, usize) -> (V, V),
) -> Mutex<impl Iterator<Item = (Place, V)>> {
    let [slices, rows, columns] = [pixels / (height * width), pixels / width, pixels].map(|most| most.max(1));
    let mut parts = Vec::new();
    for (z, slab) in split(view, 0, depth, slices, &split_at) {
        for (y, band) in split(slab, 1, height, rows, &split_at) {
            let pieces = split(band, 2, width, columns, &split_at);
            parts.extend(pieces.into_iter().map(|(x, part)| (Place { z, y, x }, part)));
        }
    }
    Mutex::new(parts.into_iter())
}

/// Returns the next part, for the thread that calls.
fn next<T>(parts: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    parts.lock().unwrap_or_else(|e| e.into_inner()).next()
}

impl Transfer {
    /// Returns that of a device, which its contexts share.
    pub(super) fn of_device(index: u32, context: &Arc<CudaContext>) -> Arc<Self> {
        let mut transfers = TRANSFERS.lock().unwrap_or_else(|e| e.into_inner());
        transfers.retain(|(_, shared)| shared.strong_count() > 0);
        if let Some(shared) =
            transfers.iter().find(|(known, _)| *known == index).and_then(|(_, shared)| shared.upgrade())
        {
            return shared;
        }
        let shared = Arc::new(Self { copiers: Mutex::default(), context: context.clone() });
        transfers.push((index, Arc::downgrade(&shared)));
        shared
    }

    /// Frees the copiers that are not in use.
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

    /// Returns a copier that was not in use, or else a new one.
    fn lease(&self) -> Result<Leased<'_>> {
        let kept = self.copiers.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let copier = match kept {
            Some(copier) => copier,
            None => {
                let staging = || PageLocked::new(&self.context, STAGING_BYTES);
                let event = || Event::new(&self.context);
                Copier {
                    stream: Stream::new(&self.context, false)?,
                    staging: [staging()?, staging()?],
                    copied: [event()?, event()?],
                    ready: event()?,
                }
            }
        };
        Ok(Leased { copier: Some(copier), transfer: self })
    }

    /// Returns the number of copiers for a copy of `bytes` bytes, and the bytes of a part.
    fn copiers_for(pool: &ThreadPool, bytes: usize) -> (usize, usize) {
        let copiers = (bytes / MIN_COPIER_BYTES).clamp(1, pool.current_num_threads().min(MAX_COPIERS));
        (copiers, (bytes / (2 * copiers)).clamp(MIN_PART_BYTES, STAGING_BYTES))
    }

    /// Calls `work` with a copier that begins after what `stream` has queued, on `copiers` threads.
    fn on_copiers(
        &self,
        pool: &ThreadPool,
        stream: &Stream,
        copiers: usize,
        work: impl Fn(&mut Copier) -> Result<()> + Sync,
    ) -> Result<()> {
        let one = || {
            self.context.bind_to_thread().map_err(|e| super::failed("activate the CUDA context", e))?;
            let mut leased = self.lease()?;
            let copier = leased.copier();
            stream.record(&copier.ready)?;
            copier.stream.wait(&copier.ready)?;
            work(copier)?;
            leased.give_back();
            Ok(())
        };
        if copiers == 1 {
            return one();
        }
        pool.install(|| (0..copiers).into_par_iter().with_max_len(1).try_for_each(|_| one()))
    }

    /// Queues the copy of `slices` of an image in host memory to device memory, to rows `pitch` bytes apart without
    /// gaps between slices. The image has been read when this returns, unless it is page-locked; what is queued on
    /// `stream` from then on comes after the copy.
    pub(crate) fn upload(
        &self,
        pool: &ThreadPool,
        stream: &Stream,
        image: &Image<'_>,
        slices: Range<usize>,
        to: Side,
        pitch: usize,
    ) -> Result<()> {
        let slices = ndarray::s![slices, .., ..];
        match image {
            Image::U8(view) => self.upload_view(pool, stream, view.slice(slices), to, pitch),
            Image::U16(view) => self.upload_view(pool, stream, view.slice(slices), to, pitch),
            Image::F32(view) => self.upload_view(pool, stream, view.slice(slices), to, pitch),
            Image::Device(_) => unreachable!("device memory is used as it is"),
        }
    }

    /// Does what [`upload`](Self::upload) does, for pixels of any type.
    pub(crate) fn upload_view<T: Pod + Send + Sync>(
        &self,
        pool: &ThreadPool,
        stream: &Stream,
        view: ArrayView3<'_, T>,
        to: Side,
        pitch: usize,
    ) -> Result<()> {
        let (_, height, width) = view.dim();
        let row = width * size_of::<T>();
        // 1. Page-locked memory is copied as it is.
        if is_direct(&view) {
            return runs_of_rows(view.strides(), view.dim(), size_of::<T>()).try_for_each(|(z, rows, from_pitch)| {
                let slice = view.index_axis(Axis(0), z);
                let from = Side::Host { address: slice.as_ptr() as usize, bytes: (rows - 1) * from_pitch + row };
                stream.copy(from, to.after(z * height * pitch), row, rows, [from_pitch, pitch])
            });
        }
        // 2. Other memory goes through staging buffers.
        let (copiers, part_bytes) = Self::copiers_for(pool, bytes_of(&view));
        let parts = split_into_parts(view, view.dim(), part_bytes / size_of::<T>(), ArrayView3::split_at);
        self.on_copiers(pool, stream, copiers, |copier| {
            let mut turn = 0;
            while let Some((place, part)) = next(&parts) {
                let index = turn % 2;
                copier.copied[index].synchronize()?;
                let (slices, rows, columns) = part.dim();
                let part_row = columns * size_of::<T>();
                fill(copier.staging[index].as_mut_slice(), &part);
                let to = to.after((place.z * height + place.y) * pitch + place.x * size_of::<T>());
                copier.stream.copy(copier.staging[index].side(), to, part_row, slices * rows, [part_row, pitch])?;
                copier.stream.record(&copier.copied[index])?;
                stream.wait(&copier.copied[index])?;
                turn += 1;
            }
            Ok(())
        })
    }

    /// Copies rows `pitch` bytes apart, without gaps between slices, from device memory to `slices` of an image in host
    /// or device memory, after what `stream` has queued. Returns when an image in host memory that is not page-locked
    /// has been written; else `stream` writes it.
    pub(crate) fn download(
        &self,
        pool: &ThreadPool,
        stream: &Stream,
        from: Side,
        pitch: usize,
        image: &mut ImageMut<'_>,
        slices: Range<usize>,
    ) -> Result<()> {
        let ImageMut::Device(pixels) = image else {
            let slices = ndarray::s![slices, .., ..];
            return match image {
                ImageMut::U8(view) => self.download_view(pool, stream, from, pitch, view.slice_mut(slices)),
                ImageMut::U16(view) => self.download_view(pool, stream, from, pitch, view.slice_mut(slices)),
                ImageMut::F32(view) => self.download_view(pool, stream, from, pitch, view.slice_mut(slices)),
                ImageMut::Device(_) => unreachable!("handled above"),
            };
        };
        let [width, height, _] = pixels.shape;
        let row = width * pixels.pixel_type.bytes();
        slices.enumerate().try_for_each(|(index, z)| {
            let (to, to_pitch) = Side::of_slice(pixels, z);
            stream.copy(from.after(index * height * pitch), to, row, height, [pitch, to_pitch])
        })
    }

    /// Does what [`download`](Self::download) does, for pixels of any type in host memory.
    pub(crate) fn download_view<T: Pod + Send + Sync>(
        &self,
        pool: &ThreadPool,
        stream: &Stream,
        from: Side,
        pitch: usize,
        mut view: ArrayViewMut3<'_, T>,
    ) -> Result<()> {
        let (_, height, width) = view.dim();
        let row = width * size_of::<T>();
        // 1. Page-locked memory is copied to as it is.
        if is_direct(&view.view()) {
            let (strides, shape) = ([view.strides()[0], view.strides()[1], view.strides()[2]], view.dim());
            return runs_of_rows(&strides, shape, size_of::<T>()).try_for_each(|(z, rows, to_pitch)| {
                let mut slice = view.index_axis_mut(Axis(0), z);
                let to = Side::Host { address: slice.as_mut_ptr() as usize, bytes: (rows - 1) * to_pitch + row };
                stream.copy(from.after(z * height * pitch), to, row, rows, [pitch, to_pitch])
            });
        }
        // 2. Other memory goes through staging buffers: the device fills one while the thread empties the other.
        if let Some(values) = view.as_slice_mut() {
            use_huge_pages(bytemuck::cast_slice_mut(values));
        }
        let (copiers, part_bytes) = Self::copiers_for(pool, bytes_of(&view.view()));
        let shape = view.dim();
        let parts = split_into_parts(view, shape, part_bytes / size_of::<T>(), ArrayViewMut3::split_at);
        self.on_copiers(pool, stream, copiers, |copier| {
            let mut before = None;
            for index in [0, 1].into_iter().cycle() {
                let part = next(&parts);
                if let Some((place, part)) = &part {
                    let (slices, rows, columns) = part.dim();
                    let part_row = columns * size_of::<T>();
                    let from = from.after((place.z * height + place.y) * pitch + place.x * size_of::<T>());
                    copier.stream.copy(
                        from,
                        copier.staging[index].side(),
                        part_row,
                        slices * rows,
                        [pitch, part_row],
                    )?;
                    copier.stream.record(&copier.copied[index])?;
                }
                if let Some((_, part)) = before {
                    copier.copied[1 - index].synchronize()?;
                    empty(copier.staging[1 - index].as_slice(), part);
                }
                if part.is_none() {
                    break;
                }
                before = part;
            }
            Ok(())
        })
    }
}

/// Returns the bytes of the pixels of a view.
fn bytes_of<T>(view: &ArrayView3<'_, T>) -> usize {
    view.len() * size_of::<T>()
}

/// Returns for each run of rows that are the same number of bytes apart its first slice, its rows, and those bytes: one
/// run if the slices have no gaps between them, else one for each slice.
fn runs_of_rows(
    strides: &[isize],
    (depth, height, width): (usize, usize, usize),
    pixel_bytes: usize,
) -> impl Iterator<Item = (usize, usize, usize)> {
    let pitch = if height > 1 { strides[1] as usize } else { width };
    let together = depth == 1 || (height > 1 && strides[0] as usize == height * pitch);
    let (runs, rows) = if together { (1, depth * height) } else { (depth, height) };
    (0..runs).map(move |z| (z, rows, pitch * pixel_bytes))
}

/// Copies the pixels of a part to a buffer, without gaps.
fn fill<T: Pod>(buffer: &mut [u8], part: &ArrayView3<'_, T>) {
    let to: &mut [T] = bytemuck::cast_slice_mut(&mut buffer[..bytes_of(part)]);
    if let Some(from) = part.as_slice() {
        to.copy_from_slice(from);
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

/// Returns whether the device copies from and to this memory itself: it is page-locked, and its rows are contiguous.
fn is_direct<T>(view: &ArrayView3<'_, T>) -> bool {
    let [z, y, x] = [view.strides()[0], view.strides()[1], view.strides()[2]];
    let (depth, height, width) = view.dim();
    let span = z * (depth as isize - 1) + y * (height as isize - 1) + x * (width as isize - 1);
    let first = view.as_ptr() as usize;
    let last = first.wrapping_add_signed(span * size_of::<T>() as isize);
    let contiguous_rows = (x == 1 || width == 1) && (y >= width as isize || height == 1) && (z >= 0 || depth == 1);
    contiguous_rows && is_pinned(first) && is_pinned(last)
}

/// Returns whether the device writes to an output itself.
pub(crate) fn output_is_direct(output: &ImageMut<'_>) -> bool {
    match output {
        ImageMut::U8(view) => is_direct(&view.view()),
        ImageMut::U16(view) => is_direct(&view.view()),
        ImageMut::F32(view) => is_direct(&view.view()),
        ImageMut::Device(_) => true,
    }
}

/// Asks the system to back memory that was never written with large pages, which makes its first use several times
/// faster; does nothing for small memory and on systems without them.
fn use_huge_pages(memory: &mut [u8]) {
    /// The size of a large page on x86-64, and on ARM with pages of 4 KiB.
    const HUGE: usize = 2 << 20;
    #[cfg(target_os = "linux")]
    if memory.len() >= 4 * HUGE {
        let first = memory.as_ptr().align_offset(HUGE);
        let whole = &mut memory[first..];
        // SAFETY: the range lies within `memory`, and the advice changes no byte. A refusal changes nothing.
        unsafe {
            libc::madvise(whole.as_mut_ptr().cast(), whole.len() / HUGE * HUGE, libc::MADV_HUGEPAGE);
        }
    }
}

/// Slices of an input in device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceSlices {
    pub(crate) address: u64,
    /// Bytes from row to row and from slice to slice.
    pub(crate) strides: [usize; 2],
}

/// The way of an input's slices to the device: device memory is used as it is, host memory is copied to a buffer.
pub(crate) struct Upload {
    /// The buffer of an input in host memory.
    buffer: Option<Buffer>,
    /// The bytes from row to row in the buffer.
    pitch: usize,
    transfer: Arc<Transfer>,
}

impl Upload {
    /// Makes the buffer for up to `slices` slices of `input`, in rows that begin at multiples of `alignment` bytes.
    pub(crate) fn new(cuda: &Cuda, input: &Image<'_>, slices: usize, alignment: usize) -> Result<Self> {
        let [width, height, _] = input.shape();
        let pitch = (width * input.pixel_type().bytes()).next_multiple_of(alignment);
        let buffer = match input {
            Image::Device(_) => None,
            _ => Some(cuda.memory().device(slices * height * pitch)?),
        };
        Ok(Self { buffer, pitch, transfer: cuda.transfer().clone() })
    }

    /// Queues the copy of `slices` of the input, unless they are on the device; returns where they are.
    pub(crate) fn queue(
        &self,
        pool: &ThreadPool,
        stream: &Stream,
        input: &Image<'_>,
        slices: Range<usize>,
    ) -> Result<DeviceSlices> {
        match (input, &self.buffer) {
            (Image::Device(own), _) => {
                let address = own.address + (slices.start * own.strides[1]) as u64;
                Ok(DeviceSlices { address, strides: own.strides })
            }
            (_, Some(buffer)) => {
                self.transfer.upload(pool, stream, input, slices, buffer.side(0), self.pitch)?;
                Ok(DeviceSlices { address: buffer.address(), strides: [self.pitch, self.pitch * input.shape()[1]] })
            }
            (_, None) => unreachable!("an input in host memory has a buffer on the device"),
        }
    }
}
