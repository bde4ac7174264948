//! The mask's way to the device and the distances' way back: in whole slices, straight from and to the caller's memory
//! where it is pinned or the device's own, else through pieces of pinned memory that take turns.

use crate::device::cuda::{Buffer, Cuda, Event, Host, Pinned, Side, Stream, needs_staging, pack, unpack};
use crate::error::Result;
use crate::image::{Image, ImageMut};
use ndarray::{ArrayView3, s};
use rayon::ThreadPool;
use std::ops::Range;

/// The largest piece; larger images take two, so that one is copied while the other is filled.
const PIECE_BYTES: usize = 32 << 20;

/// Pinned memory of one slot and direction, and when its copies are done.
pub(super) struct Pieces {
    pieces: Vec<Pinned>,
    copied: [Event; 2],
}

impl Pieces {
    /// For `bytes` of rows of `row` bytes; none if they are not needed.
    fn new(cuda: &Cuda, needed: bool, bytes: usize, row: usize) -> Result<Self> {
        let count = if !needed { 0 } else { bytes.div_ceil(PIECE_BYTES).min(2) };
        let pieces = (0..count).map(|_| cuda.memory().pinned(bytes.min(PIECE_BYTES).max(row)));
        Ok(Self { pieces: pieces.collect::<Result<_>>()?, copied: [cuda.event()?, cuda.event()?] })
    }

    pub(super) fn for_input(cuda: &Cuda, input: &Image<'_>, slices: usize) -> Result<Self> {
        let [width, height, _] = input.shape();
        let row = width * input.pixel_type().bytes();
        Self::new(cuda, needs_staging(Host::of(input)), row * height * slices, row)
    }

    pub(super) fn for_output(cuda: &Cuda, output: &ImageMut<'_>, slices: usize) -> Result<Self> {
        let [width, height, _] = output.shape();
        let row = width * size_of::<f32>();
        Self::new(cuda, needs_staging(Host::of_mut(output)), row * height * slices, row)
    }

    /// Rows of `row` bytes that a piece holds.
    fn rows(&self, row: usize) -> usize {
        self.pieces[0].as_slice().len() / row
    }

    /// Queues the copy of `slices` of an image in host memory to `to`, packed.
    pub(super) fn upload(
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
        let mut turn = 0;
        for (z, plane) in view.outer_iter().enumerate() {
            if self.pieces.is_empty() {
                let pitch = if height > 1 { plane.strides()[0] as usize * size_of::<T>() } else { row };
                let from = Side::Host { address: plane.as_ptr() as usize, bytes: (height - 1) * pitch + row };
                stream.copy(from, to.side(z * height * row), row, height, [pitch, row])?;
                continue;
            }
            let together = self.rows(row);
            for first in (0..height).step_by(together) {
                let rows = together.min(height - first);
                let which = turn % self.pieces.len();
                if turn >= self.pieces.len() {
                    self.copied[which].synchronize()?;
                }
                let piece = &mut self.pieces[which];
                pack(pool, plane.slice(s![first..first + rows, ..]), &mut piece.as_mut_slice()[..rows * row]);
                stream.copy(piece.side(), to.side((z * height + first) * row), row, rows, [row, row])?;
                stream.record(&self.copied[which])?;
                turn += 1;
            }
        }
        Ok(())
    }

    /// Queues the copy of packed distances `from` the device, where the host need not wait for it: into the one piece
    /// that holds them all, or straight to the caller (`may_write`). False: nothing was queued.
    pub(super) fn begin_download(
        &self,
        stream: &Stream,
        from: &Buffer,
        output: &mut ImageMut<'_>,
        slices: Range<usize>,
        may_write: bool,
    ) -> Result<bool> {
        let [width, height, _] = output.shape();
        let row = width * size_of::<f32>();
        match self.pieces.len() {
            0 if may_write => copy_out(stream, from, output, slices).map(|()| true),
            1 => {
                let rows = height * slices.len();
                stream.copy(from.side(0), self.pieces[0].side(), row, rows, [row, row]).map(|()| true)
            }
            _ => Ok(false),
        }
    }

    /// Brings the distances to the caller's memory, after [`begin_download`](Self::begin_download) if it queued
    /// anything (`begun`). The stream may still be copying when this returns.
    pub(super) fn finish_download(
        &self,
        pool: &ThreadPool,
        stream: &Stream,
        from: &Buffer,
        output: &mut ImageMut<'_>,
        slices: Range<usize>,
        begun: bool,
    ) -> Result<()> {
        let [width, height, _] = output.shape();
        let row = width * size_of::<f32>();
        let ImageMut::F32(view) = output else {
            return if begun { Ok(()) } else { copy_out(stream, from, output, slices) };
        };
        match self.pieces.len() {
            0 if begun => Ok(()),
            0 => copy_out(stream, from, output, slices),
            1 => {
                stream.synchronize()?;
                let packed: &[f32] = bytemuck::cast_slice(&self.pieces[0].as_slice()[..slices.len() * height * row]);
                let mut planes = view.slice_mut(s![slices, .., ..]);
                for (plane, values) in planes.outer_iter_mut().zip(packed.chunks_exact(width * height)) {
                    unpack(pool, values, plane);
                }
                Ok(())
            }
            _ => {
                // While the CPU copies one piece out, the device fills the other.
                let together = self.rows(row).min(height);
                let cuts: Vec<(usize, usize)> = (0..slices.len())
                    .flat_map(|z| (0..height).step_by(together).map(move |first| (z, first)))
                    .collect();
                let queue = |turn: usize| -> Result<()> {
                    let (z, first) = cuts[turn];
                    let rows = together.min(height - first);
                    let piece = &self.pieces[turn % 2];
                    stream.copy(from.side((z * height + first) * row), piece.side(), row, rows, [row, row])?;
                    stream.record(&self.copied[turn % 2])
                };
                queue(0)?;
                for turn in 0..cuts.len() {
                    if turn + 1 < cuts.len() {
                        queue(turn + 1)?;
                    }
                    self.copied[turn % 2].synchronize()?;
                    let (z, first) = cuts[turn];
                    let rows = together.min(height - first);
                    let packed = bytemuck::cast_slice(&self.pieces[turn % 2].as_slice()[..rows * row]);
                    unpack(pool, packed, view.slice_mut(s![slices.start + z, first..first + rows, ..]));
                }
                Ok(())
            }
        }
    }
}

/// Queues the copy straight into the caller's pinned or device memory.
fn copy_out(stream: &Stream, from: &Buffer, output: &mut ImageMut<'_>, slices: Range<usize>) -> Result<()> {
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
            _ => unreachable!("other types are refused before"),
        };
        stream.copy(from.side(index * height * row), to, row, height, [row, pitch])?;
    }
    Ok(())
}
