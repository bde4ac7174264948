//! Copies of slices between the caller's memory and device memory: directly where the caller's memory is page-locked or
//! the device's own, else through page-locked staging buffers that all cores fill and empty.

use super::{Buffer, Cuda, Event, Pinned, Side, Stream, input_needs_staging, output_needs_staging, pack};
use crate::error::Result;
use crate::image::{Image, ImageMut, copy_packed};
use bytemuck::Pod;
use ndarray::{ArrayView3, ArrayViewMut3, s};
use rayon::ThreadPool;
use std::ops::Range;

/// The size of the largest staging buffer. Larger images take two buffers, so that one is copied while the other is
/// filled.
pub(crate) const STAGING_BYTES: usize = 32 << 20;

/// The staging buffers of one pipeline slot in one direction; none where copies need no staging.
pub(crate) struct Staging {
    buffers: Vec<Pinned>,
    /// For each buffer, the event after the last copy from or to it.
    copied: Vec<Event>,
    /// The bytes from row to row in a buffer.
    pitch: usize,
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
    buffer: Option<Buffer>,
    staging: Staging,
}

impl Upload {
    /// Makes the buffers for up to `slices` slices of `input`, in rows that begin at multiples of `alignment` bytes.
    pub(crate) fn new(cuda: &Cuda, input: &Image<'_>, slices: usize, alignment: usize) -> Result<Self> {
        let staging = Staging::for_input(cuda, input, slices, alignment)?;
        let buffer = match input {
            Image::Device(_) => None,
            _ => Some(cuda.memory().device(slices * input.shape()[1] * staging.pitch)?),
        };
        Ok(Self { buffer, staging })
    }

    /// Queues the copy of `slices` of the input, unless they are on the device; returns where they are.
    pub(crate) fn queue(
        &mut self,
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
                self.staging.upload(pool, stream, input, slices, buffer)?;
                let row = self.staging.pitch;
                Ok(DeviceSlices { address: buffer.address(), strides: [row, row * input.shape()[1]] })
            }
            (_, None) => unreachable!("an input in host memory has a buffer on the device"),
        }
    }
}

/// A result in device memory: rows without gaps between slices.
#[derive(Clone, Copy)]
pub(crate) struct DeviceResult<'a> {
    pub(crate) buffer: &'a Buffer,
    /// Bytes from row to row.
    pub(crate) pitch: usize,
}

impl Staging {
    /// Makes buffers for `rows` rows of `pitch` bytes, if they are needed; a buffer holds at least one row.
    pub(crate) fn new(cuda: &Cuda, needed: bool, rows: usize, pitch: usize) -> Result<Self> {
        let bytes = rows * pitch;
        let count = if needed { bytes.div_ceil(STAGING_BYTES).min(2) } else { 0 };
        let buffers = (0..count).map(|_| cuda.memory().pinned(bytes.min(STAGING_BYTES).max(pitch)));
        let copied = (0..count).map(|_| cuda.event());
        Ok(Self { buffers: buffers.collect::<Result<_>>()?, copied: copied.collect::<Result<_>>()?, pitch })
    }

    /// Makes the buffers for uploads of up to `slices` slices of `input` to rows that begin at multiples of `alignment`
    /// bytes.
    pub(crate) fn for_input(cuda: &Cuda, input: &Image<'_>, slices: usize, alignment: usize) -> Result<Self> {
        let [width, height, _] = input.shape();
        let pitch = (width * input.pixel_type().bytes()).next_multiple_of(alignment);
        Self::new(cuda, input_needs_staging(input), height * slices, pitch)
    }

    /// Makes the buffers for downloads of up to `slices` slices of `output`.
    pub(crate) fn for_output(cuda: &Cuda, output: &ImageMut<'_>, slices: usize) -> Result<Self> {
        let [width, height, _] = output.shape();
        let row = width * output.pixel_type().bytes();
        Self::new(cuda, output_needs_staging(output), height * slices, row)
    }

    /// Returns the number of rows that a buffer holds.
    fn rows_per_buffer(&self) -> usize {
        self.buffers[0].as_slice().len() / self.pitch
    }

    /// Queues the copy of `slices` of an image in host memory to `to`: rows as [`for_input`](Self::for_input) aligns
    /// them, without gaps between slices. Does nothing for an image in device memory.
    pub(crate) fn upload(
        &mut self,
        pool: &ThreadPool,
        stream: &Stream,
        input: &Image<'_>,
        slices: Range<usize>,
        to: &Buffer,
    ) -> Result<()> {
        let (to, pitch) = (to.side(0), self.pitch);
        match input {
            Image::U8(view) => self.upload_view(pool, stream, view.slice(s![slices, .., ..]), to, pitch),
            Image::U16(view) => self.upload_view(pool, stream, view.slice(s![slices, .., ..]), to, pitch),
            Image::F32(view) => self.upload_view(pool, stream, view.slice(s![slices, .., ..]), to, pitch),
            Image::Device(_) => Ok(()),
        }
    }

    /// Queues the copy of slices in host memory to rows `pitch` bytes apart. If that is the pitch of the buffers too,
    /// the gaps between rows are overwritten.
    pub(crate) fn upload_view<T: Pod + Send + Sync>(
        &mut self,
        pool: &ThreadPool,
        stream: &Stream,
        view: ArrayView3<'_, T>,
        to: Side,
        pitch: usize,
    ) -> Result<()> {
        let (_, height, width) = view.dim();
        let row = width * size_of::<T>();
        let mut copies = 0;
        for (z, plane) in view.outer_iter().enumerate() {
            // 1. Page-locked memory is copied as it is.
            if self.buffers.is_empty() {
                let from_pitch = if height > 1 { plane.strides()[0] as usize * size_of::<T>() } else { row };
                let from = Side::Host { address: plane.as_ptr() as usize, bytes: (height - 1) * from_pitch + row };
                stream.copy(from, to.after(z * height * pitch), row, height, [from_pitch, pitch])?;
                continue;
            }
            // 2. Other memory goes through the buffers in turn; each is filled again only after its last copy. Rows
            // are copied with the gaps between them where they may be, which is a single copy of bytes.
            let width = if pitch == self.pitch { pitch } else { row };
            let rows_per_buffer = self.rows_per_buffer();
            for first in (0..height).step_by(rows_per_buffer) {
                let rows = rows_per_buffer.min(height - first);
                let index = copies % self.buffers.len();
                if copies >= self.buffers.len() {
                    self.copied[index].synchronize()?;
                }
                let buffer = &mut self.buffers[index];
                let part = plane.slice(s![first..first + rows, ..]);
                pack(pool, part, &mut buffer.as_mut_slice()[..rows * self.pitch], self.pitch);
                let to = to.after((z * height + first) * pitch);
                stream.copy(buffer.side(), to, width, rows, [self.pitch, pitch])?;
                stream.record(&self.copied[index])?;
                copies += 1;
            }
        }
        Ok(())
    }

    /// Queues the download of a result where the host need not wait for it: into the one buffer that holds it all, or
    /// straight to the caller's memory (only if `may_write`). Returns whether anything was queued.
    pub(crate) fn begin_download(
        &self,
        stream: &Stream,
        from: DeviceResult<'_>,
        output: &mut ImageMut<'_>,
        slices: Range<usize>,
        may_write: bool,
    ) -> Result<bool> {
        match self.buffers.len() {
            0 if may_write => from.copy_to(stream, output, slices).map(|()| true),
            1 => self.fill(stream, from, output.shape()[1] * slices.len()).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Queues the copy of the whole result into the one buffer.
    fn fill(&self, stream: &Stream, from: DeviceResult<'_>, rows: usize) -> Result<()> {
        stream.copy(from.buffer.side(0), self.buffers[0].side(), self.pitch, rows, [from.pitch, self.pitch])
    }

    /// Brings a result to the caller's memory, after [`begin_download`](Self::begin_download), which returned `begun`.
    /// The stream may still be copying when this returns.
    pub(crate) fn finish_download(
        &self,
        pool: &ThreadPool,
        stream: &Stream,
        from: DeviceResult<'_>,
        output: &mut ImageMut<'_>,
        slices: Range<usize>,
        begun: bool,
    ) -> Result<()> {
        if self.buffers.is_empty() {
            return if begun { Ok(()) } else { from.copy_to(stream, output, slices) };
        }
        let slices = s![slices, .., ..];
        match output {
            ImageMut::U8(view) => self.download(pool, stream, from, view.slice_mut(slices), begun),
            ImageMut::U16(view) => self.download(pool, stream, from, view.slice_mut(slices), begun),
            ImageMut::F32(view) => self.download(pool, stream, from, view.slice_mut(slices), begun),
            ImageMut::Device(_) => unreachable!("device memory needs no staging"),
        }
    }

    /// Copies a result through the buffers. With `begun` it is in the only one already, or on its way there.
    pub(crate) fn download<T: Pod + Send + Sync>(
        &self,
        pool: &ThreadPool,
        stream: &Stream,
        from: DeviceResult<'_>,
        mut view: ArrayViewMut3<'_, T>,
        begun: bool,
    ) -> Result<()> {
        let (depth, height, _) = view.dim();
        if self.buffers.len() == 1 {
            if !begun {
                self.fill(stream, from, depth * height)?;
            }
            stream.synchronize()?;
            let packed = bytemuck::cast_slice(&self.buffers[0].as_slice()[..depth * height * self.pitch]);
            pool.install(|| copy_packed(packed, view));
            return Ok(());
        }
        // While the CPU empties one buffer, the device fills the other.
        let rows_per_buffer = self.rows_per_buffer().min(height);
        let parts: Vec<(usize, usize)> =
            (0..depth).flat_map(|z| (0..height).step_by(rows_per_buffer).map(move |first| (z, first))).collect();
        let queue = |part: usize| -> Result<()> {
            let (z, first) = parts[part];
            let rows = rows_per_buffer.min(height - first);
            let source = from.buffer.side((z * height + first) * from.pitch);
            stream.copy(source, self.buffers[part % 2].side(), self.pitch, rows, [from.pitch, self.pitch])?;
            stream.record(&self.copied[part % 2])
        };
        queue(0)?;
        for part in 0..parts.len() {
            if part + 1 < parts.len() {
                queue(part + 1)?;
            }
            self.copied[part % 2].synchronize()?;
            let (z, first) = parts[part];
            let rows = rows_per_buffer.min(height - first);
            let packed = bytemuck::cast_slice(&self.buffers[part % 2].as_slice()[..rows * self.pitch]);
            pool.install(|| copy_packed(packed, view.slice_mut(s![z..z + 1, first..first + rows, ..])));
        }
        Ok(())
    }
}

impl DeviceResult<'_> {
    /// Queues the copy of a result straight into the caller's page-locked or device memory.
    pub(crate) fn copy_to(self, stream: &Stream, output: &mut ImageMut<'_>, slices: Range<usize>) -> Result<()> {
        fn of_plane<T>(view: &mut ArrayViewMut3<'_, T>, z: usize, row: usize) -> (Side, usize) {
            let mut plane = view.slice_mut(s![z, .., ..]);
            let (height, _) = plane.dim();
            let pitch = if height > 1 { plane.strides()[0] as usize * size_of::<T>() } else { row };
            (Side::Host { address: plane.as_mut_ptr() as usize, bytes: (height - 1) * pitch + row }, pitch)
        }
        let [width, height, _] = output.shape();
        let row = width * output.pixel_type().bytes();
        for (index, z) in slices.enumerate() {
            let (to, pitch) = match output {
                ImageMut::U8(view) => of_plane(view, z, row),
                ImageMut::U16(view) => of_plane(view, z, row),
                ImageMut::F32(view) => of_plane(view, z, row),
                ImageMut::Device(pixels) => Side::of_slice(pixels, z),
            };
            stream.copy(self.buffer.side(index * height * self.pitch), to, row, height, [self.pitch, pitch])?;
        }
        Ok(())
    }
}
