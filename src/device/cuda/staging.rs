//! Copies of slices between the caller's memory and packed device memory: directly where the caller's memory is
//! page-locked or the device's own, else through page-locked staging buffers that all cores fill and empty.

use super::{Buffer, Cuda, Event, Host, Pinned, Side, Stream, needs_staging, pack, unpack};
use crate::error::Result;
use crate::image::{Image, ImageMut};
use ndarray::{ArrayView3, s};
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
}

/// A result in device memory: rows of floats without gaps between slices.
#[derive(Clone, Copy)]
pub(crate) struct DeviceResult<'a> {
    pub(crate) buffer: &'a Buffer,
    /// Bytes from row to row.
    pub(crate) pitch: usize,
}

impl Staging {
    /// Makes buffers for `bytes` in rows of `row` bytes; a buffer holds at least one row.
    fn new(cuda: &Cuda, needed: bool, bytes: usize, row: usize) -> Result<Self> {
        let count = if needed { bytes.div_ceil(STAGING_BYTES).min(2) } else { 0 };
        let buffers = (0..count).map(|_| cuda.memory().pinned(bytes.min(STAGING_BYTES).max(row)));
        let copied = (0..count).map(|_| cuda.event());
        Ok(Self { buffers: buffers.collect::<Result<_>>()?, copied: copied.collect::<Result<_>>()? })
    }

    /// Makes the buffers for uploads of up to `slices` slices of `input`.
    pub(crate) fn for_input(cuda: &Cuda, input: &Image<'_>, slices: usize) -> Result<Self> {
        let [width, height, _] = input.shape();
        let row = width * input.pixel_type().bytes();
        Self::new(cuda, needs_staging(Host::of(input)), row * height * slices, row)
    }

    /// Makes the buffers for downloads of up to `slices` slices of `output`, whose pixels are f32.
    pub(crate) fn for_output(cuda: &Cuda, output: &ImageMut<'_>, slices: usize) -> Result<Self> {
        let [width, height, _] = output.shape();
        let row = width * size_of::<f32>();
        Self::new(cuda, needs_staging(Host::of_mut(output)), row * height * slices, row)
    }

    /// Returns the number of rows of `row` bytes that a buffer holds.
    fn rows_per_buffer(&self, row: usize) -> usize {
        self.buffers[0].as_slice().len() / row
    }

    /// Queues the copy of `slices` of an image in host memory to `to`, packed. Does nothing for an image in device
    /// memory.
    pub(crate) fn upload(
        &mut self,
        pool: &ThreadPool,
        stream: &Stream,
        input: &Image<'_>,
        slices: Range<usize>,
        to: &Buffer,
    ) -> Result<()> {
        match input {
            Image::U8(view) => self.upload_view(pool, stream, view.slice(s![slices, .., ..]), to),
            Image::U16(view) => self.upload_view(pool, stream, view.slice(s![slices, .., ..]), to),
            Image::F32(view) => self.upload_view(pool, stream, view.slice(s![slices, .., ..]), to),
            Image::Device(_) => Ok(()),
        }
    }

    fn upload_view<T: bytemuck::Pod + Send + Sync>(
        &mut self,
        pool: &ThreadPool,
        stream: &Stream,
        view: ArrayView3<'_, T>,
        to: &Buffer,
    ) -> Result<()> {
        let (_, height, width) = view.dim();
        let row = width * size_of::<T>();
        let mut copies = 0;
        for (z, plane) in view.outer_iter().enumerate() {
            // 1. Page-locked memory is copied as it is.
            if self.buffers.is_empty() {
                let pitch = if height > 1 { plane.strides()[0] as usize * size_of::<T>() } else { row };
                let from = Side::Host { address: plane.as_ptr() as usize, bytes: (height - 1) * pitch + row };
                stream.copy(from, to.side(z * height * row), row, height, [pitch, row])?;
                continue;
            }
            // 2. Other memory goes through the buffers in turn; each is filled again only after its last copy.
            let rows_per_buffer = self.rows_per_buffer(row);
            for first in (0..height).step_by(rows_per_buffer) {
                let rows = rows_per_buffer.min(height - first);
                let index = copies % self.buffers.len();
                if copies >= self.buffers.len() {
                    self.copied[index].synchronize()?;
                }
                let buffer = &mut self.buffers[index];
                pack(pool, plane.slice(s![first..first + rows, ..]), &mut buffer.as_mut_slice()[..rows * row]);
                stream.copy(buffer.side(), to.side((z * height + first) * row), row, rows, [row, row])?;
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
        let [width, height, _] = output.shape();
        let row = width * size_of::<f32>();
        match self.buffers.len() {
            0 if may_write => copy_out(stream, from, output, slices).map(|()| true),
            1 => {
                let rows = height * slices.len();
                let to = self.buffers[0].side();
                stream.copy(from.buffer.side(0), to, row, rows, [from.pitch, row]).map(|()| true)
            }
            _ => Ok(false),
        }
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
        let [width, height, _] = output.shape();
        let row = width * size_of::<f32>();
        let ImageMut::F32(view) = output else {
            return if begun { Ok(()) } else { copy_out(stream, from, output, slices) };
        };
        match self.buffers.len() {
            0 if begun => Ok(()),
            0 => copy_out(stream, from, output, slices),
            1 => {
                stream.synchronize()?;
                let packed: &[f32] = bytemuck::cast_slice(&self.buffers[0].as_slice()[..slices.len() * height * row]);
                let mut planes = view.slice_mut(s![slices, .., ..]);
                for (plane, values) in planes.outer_iter_mut().zip(packed.chunks_exact(width * height)) {
                    unpack(pool, values, plane);
                }
                Ok(())
            }
            _ => {
                // While the CPU empties one buffer, the device fills the other.
                let rows_per_buffer = self.rows_per_buffer(row).min(height);
                let parts: Vec<(usize, usize)> = (0..slices.len())
                    .flat_map(|z| (0..height).step_by(rows_per_buffer).map(move |first| (z, first)))
                    .collect();
                let queue = |part: usize| -> Result<()> {
                    let (z, first) = parts[part];
                    let rows = rows_per_buffer.min(height - first);
                    let source = from.buffer.side((z * height + first) * from.pitch);
                    stream.copy(source, self.buffers[part % 2].side(), row, rows, [from.pitch, row])?;
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
                    let packed = bytemuck::cast_slice(&self.buffers[part % 2].as_slice()[..rows * row]);
                    unpack(pool, packed, view.slice_mut(s![slices.start + z, first..first + rows, ..]));
                }
                Ok(())
            }
        }
    }
}

/// Queues the copy of a result straight into the caller's page-locked or device memory.
fn copy_out(stream: &Stream, from: DeviceResult<'_>, output: &mut ImageMut<'_>, slices: Range<usize>) -> Result<()> {
    let [width, height, _] = output.shape();
    let row = width * size_of::<f32>();
    for (index, z) in slices.enumerate() {
        let (to, pitch) = match output {
            ImageMut::Device(pixels) => {
                let address = pixels.address + (z * pixels.strides[1]) as u64;
                let pitch = if height > 1 { pixels.strides[0] } else { row };
                (Side::Device { address, bytes: (height - 1) * pitch + row }, pitch)
            }
            ImageMut::F32(view) => {
                let mut plane = view.slice_mut(s![z, .., ..]);
                let pitch = if height > 1 { plane.strides()[0] as usize * size_of::<f32>() } else { row };
                (Side::Host { address: plane.as_mut_ptr() as usize, bytes: (height - 1) * pitch + row }, pitch)
            }
            _ => unreachable!("the type of the output is checked before"),
        };
        stream.copy(from.buffer.side(index * height * from.pitch), to, row, height, [from.pitch, pitch])?;
    }
    Ok(())
}
