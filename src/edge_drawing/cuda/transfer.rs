//! Copies of pixels between the caller's host memory and the device: direct where the memory is page-locked and its rows are
//! whole, else through staging buffers that all cores fill and empty.

use crate::device::cuda::{Buffer, Event, Memory, Pinned, Side, Stream, is_pinned};
use crate::error::Result;
use crate::image::{Image, ImageMut};
use ndarray::{ArrayView2, ArrayView3, ArrayViewMut2, Axis, s};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::Arc;

/// The largest size of a staging buffer; two alternate.
const PIECE_BYTES: usize = 32 << 20;

/// The number of rows that one worker copies at a time between pageable and page-locked memory.
const ROWS_PER_WORKER: usize = 64;

/// Returns whether copies from or to this host memory need staging.
pub(super) fn needs_staging<T>(view: &ArrayView3<'_, T>) -> bool {
    let [z, y, x] = [view.strides()[0], view.strides()[1], view.strides()[2]];
    let (depth, height, width) = view.dim();
    let whole_rows = (x == 1 || width == 1) && (y >= width as isize || height == 1) && (z >= 0 || depth == 1);
    if !whole_rows {
        return true;
    }
    let span = z * (depth as isize - 1) + y * (height as isize - 1) + x * (width as isize - 1);
    let first = view.as_ptr() as usize;
    let last = first.wrapping_add_signed(span * size_of::<T>() as isize);
    !(is_pinned(first) && is_pinned(last))
}

/// Returns whether copies from an input need staging; device memory needs none.
pub(super) fn input_needs_staging(input: &Image<'_>) -> bool {
    match input {
        Image::U8(view) => needs_staging(view),
        Image::U16(view) => needs_staging(view),
        Image::F32(view) => needs_staging(view),
        Image::Device(_) => false,
    }
}

/// The upload of a slot's slices, with its staging buffers.
pub(super) struct Upload {
    pieces: Vec<Pinned>,
    /// The events after which a staging buffer may be filled again.
    free: [Event; 2],
}

impl Upload {
    /// Returns an upload of `rows` rows of `pitch` bytes on the device.
    pub(super) fn new(memory: &Arc<Memory>, free: [Event; 2], staged: bool, pitch: usize, rows: usize) -> Result<Self> {
        let bytes = pitch * rows;
        let count = if !staged {
            0
        } else if bytes <= PIECE_BYTES {
            1
        } else {
            2
        };
        let piece = bytes.min(PIECE_BYTES).max(pitch);
        Ok(Self { pieces: (0..count).map(|_| memory.pinned(piece)).collect::<Result<_>>()?, free })
    }

    /// Queues the copy of slice `slice` of `input` to `to`, rows `pitch` bytes apart.
    pub(super) fn queue(
        &mut self,
        pool: &ThreadPool,
        stream: &Stream,
        input: &Image<'_>,
        slice: usize,
        to: &Buffer,
        pitch: usize,
    ) -> Result<()> {
        match input {
            Image::U8(view) => self.rows(pool, stream, view.slice(s![slice, .., ..]), to, pitch),
            Image::U16(view) => self.rows(pool, stream, view.slice(s![slice, .., ..]), to, pitch),
            Image::F32(view) => self.rows(pool, stream, view.slice(s![slice, .., ..]), to, pitch),
            Image::Device(_) => Ok(()),
        }
    }

    fn rows<T: bytemuck::Pod + Send + Sync>(
        &mut self,
        pool: &ThreadPool,
        stream: &Stream,
        plane: ArrayView2<'_, T>,
        to: &Buffer,
        pitch: usize,
    ) -> Result<()> {
        let (height, width) = plane.dim();
        let row = width * size_of::<T>();
        if self.pieces.is_empty() {
            let from_pitch = if height > 1 { plane.strides()[0] as usize * size_of::<T>() } else { row };
            let from = Side::Host { address: plane.as_ptr() as usize, bytes: (height - 1) * from_pitch + row };
            return stream.copy(from, to.side(0), row, height, [from_pitch, pitch]);
        }
        let rows_per_piece = (self.pieces[0].as_slice().len() / pitch).max(1);
        for (index, first) in (0..height).step_by(rows_per_piece).enumerate() {
            let rows = rows_per_piece.min(height - first);
            let which = index % self.pieces.len();
            if index >= self.pieces.len() {
                self.free[which].synchronize()?;
            }
            let piece = &mut self.pieces[which];
            pack(pool, plane.slice(s![first..first + rows, ..]), &mut piece.as_mut_slice()[..rows * pitch], pitch);
            // The rows are copied with the gaps between them, as one long row.
            stream.copy(piece.side(), to.side(first * pitch), pitch * rows, 1, [pitch * rows; 2])?;
            stream.record(&self.free[which])?;
        }
        Ok(())
    }
}

/// Copies rows to rows of `pitch` bytes, on all cores.
fn pack<T: bytemuck::Pod + Send + Sync>(pool: &ThreadPool, rows: ArrayView2<'_, T>, packed: &mut [u8], pitch: usize) {
    let width = rows.dim().1;
    pool.install(|| {
        packed.par_chunks_mut(pitch * ROWS_PER_WORKER).zip(rows.axis_chunks_iter(Axis(0), ROWS_PER_WORKER)).for_each(
            |(to, from)| {
                for (to, from) in to.chunks_exact_mut(pitch).zip(from.rows()) {
                    let to: &mut [T] = bytemuck::cast_slice_mut(&mut to[..width * size_of::<T>()]);
                    match from.as_slice() {
                        Some(from) => to.copy_from_slice(from),
                        None => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
                    }
                }
            },
        );
    });
}

/// Copies `from`, packed rows in device memory `pitch` bytes apart, to a plane of host memory; waits until it is there.
pub(super) fn download<T: bytemuck::Pod + Send + Sync>(
    memory: &Arc<Memory>,
    pool: &ThreadPool,
    stream: &Stream,
    from: &Buffer,
    pitch: usize,
    mut plane: ArrayViewMut2<'_, T>,
) -> Result<()> {
    let (height, width) = plane.dim();
    let row = width * size_of::<T>();
    let rows_per_piece = (PIECE_BYTES / pitch).clamp(1, height);
    let piece = memory.pinned(rows_per_piece * pitch)?;
    for first in (0..height).step_by(rows_per_piece) {
        let rows = rows_per_piece.min(height - first);
        stream.copy(from.side(first * pitch), piece.side(), row, rows, [pitch, pitch])?;
        stream.synchronize()?;
        let packed = &piece.as_slice()[..pitch * rows];
        let mut target = plane.slice_mut(s![first..first + rows, ..]);
        pool.install(|| {
            packed
                .par_chunks(pitch * ROWS_PER_WORKER)
                .zip(target.axis_chunks_iter_mut(Axis(0), ROWS_PER_WORKER))
                .for_each(|(from, mut to)| {
                    for (from, mut to) in from.chunks_exact(pitch).zip(to.rows_mut()) {
                        let from: &[T] = bytemuck::cast_slice(&from[..row]);
                        match to.as_slice_mut() {
                            Some(to) => to.copy_from_slice(from),
                            None => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
                        }
                    }
                });
        });
    }
    Ok(())
}

/// Copies packed rows of bytes to a plane of host memory, on all cores.
pub(super) fn unpack(pool: &ThreadPool, packed: &[u8], mut plane: ArrayViewMut2<'_, u8>) {
    let width = plane.dim().1;
    pool.install(|| {
        packed.par_chunks(width * ROWS_PER_WORKER).zip(plane.axis_chunks_iter_mut(Axis(0), ROWS_PER_WORKER)).for_each(
            |(from, mut to)| {
                for (from, mut to) in from.chunks_exact(width).zip(to.rows_mut()) {
                    match to.as_slice_mut() {
                        Some(to) => to.copy_from_slice(from),
                        None => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
                    }
                }
            },
        );
    });
}

/// Copies packed rows of bytes to device memory, `pitch` bytes apart; waits until they are there.
pub(super) fn upload(
    memory: &Arc<Memory>,
    pool: &ThreadPool,
    stream: &Stream,
    packed: &[u8],
    width: usize,
    to: Side,
    pitch: usize,
) -> Result<()> {
    let Side::Device { address, bytes } = to else { unreachable!("an upload goes to the device") };
    let rows_per_piece = (PIECE_BYTES / width).max(1);
    let mut piece = memory.pinned((width * rows_per_piece).min(packed.len()))?;
    for (index, part) in packed.chunks(width * rows_per_piece).enumerate() {
        let target = &mut piece.as_mut_slice()[..part.len()];
        pool.install(|| {
            let workers = width * ROWS_PER_WORKER;
            target
                .par_chunks_mut(workers)
                .zip(part.par_chunks(workers))
                .for_each(|(to, from)| to.copy_from_slice(from));
        });
        let offset = index * rows_per_piece * pitch;
        let to = Side::Device { address: address + offset as u64, bytes: bytes - offset };
        stream.copy(piece.side(), to, width, part.len() / width, [width, pitch])?;
        stream.synchronize()?;
    }
    Ok(())
}

/// The bytes of eight pixels of an edge map, 0 or 255 each, by their bits.
static BYTES_OF_BITS: [[u8; 8]; 256] = bytes_of_bits();

const fn bytes_of_bits() -> [[u8; 8]; 256] {
    let mut table = [[0; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let mut k = 0;
        while k < 8 {
            table[bits][k] = if bits >> k & 1 == 1 { 255 } else { 0 };
            k += 1;
        }
        bits += 1;
    }
    table
}

/// Expands an edge map of one bit per pixel, in rows of `pitch` words, to bytes, on all cores.
pub(super) fn expand(pool: &ThreadPool, words: &[u32], pitch: usize, mut plane: ArrayViewMut2<'_, u8>) {
    pool.install(|| {
        words.par_chunks(pitch * ROWS_PER_WORKER).zip(plane.axis_chunks_iter_mut(Axis(0), ROWS_PER_WORKER)).for_each(
            |(words, mut rows)| {
                for (words, mut row) in words.chunks_exact(pitch).zip(rows.rows_mut()) {
                    let eights =
                        bytemuck::cast_slice::<u32, u8>(words).iter().map(|bits| &BYTES_OF_BITS[*bits as usize]);
                    match row.as_slice_mut() {
                        Some(row) => {
                            // Eight pixels are copied at a time, a length that the compiler knows.
                            let (whole, rest) = row.as_chunks_mut::<8>();
                            let mut eights = eights;
                            whole.iter_mut().zip(&mut eights).for_each(|(to, from)| *to = *from);
                            if let Some(from) = eights.next() {
                                rest.copy_from_slice(&from[..rest.len()]);
                            }
                        }
                        None => row.iter_mut().zip(eights.flatten()).for_each(|(to, from)| *to = *from),
                    }
                }
            },
        );
    });
}

/// Queues the copy of an edge map from `from`, rows `pitch` bytes apart, to slice `slice` of device or page-locked memory.
pub(super) fn copy_edges(
    stream: &Stream,
    from: &Buffer,
    pitch: usize,
    edges: &mut ImageMut<'_>,
    slice: usize,
) -> Result<()> {
    let [width, height, _] = edges.shape();
    let (to, to_pitch) = match edges {
        ImageMut::Device(pixels) => {
            let to_pitch = if height > 1 { pixels.strides[0] } else { width };
            let address = pixels.address + (slice * pixels.strides[1]) as u64;
            (Side::Device { address, bytes: (height - 1) * to_pitch + width }, to_pitch)
        }
        ImageMut::U8(view) => {
            let mut plane = view.slice_mut(s![slice, .., ..]);
            let to_pitch = if height > 1 { plane.strides()[0] as usize } else { width };
            let address = plane.as_mut_ptr() as usize;
            (Side::Host { address, bytes: (height - 1) * to_pitch + width }, to_pitch)
        }
        ImageMut::U16(_) | ImageMut::F32(_) => unreachable!("the type of the edge map was checked"),
    };
    stream.copy(from.side(0), to, width, height, [pitch, to_pitch])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn bits_become_bytes_in_rows_of_any_width_and_stride() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for width in [1, 7, 8, 31, 32, 33, 70] {
            let (height, pitch) = (131, usize::div_ceil(width, 32));
            let bit = |x: usize, y: usize| (x * 7 + y * 3) % 5 < 2;
            let mut words = vec![0u32; pitch * height];
            for y in 0..height {
                (0..width).filter(|x| bit(*x, y)).for_each(|x| words[y * pitch + x / 32] |= 1 << (x % 32));
            }
            let expected = Array2::from_shape_fn((height, width), |(y, x)| if bit(x, y) { 255 } else { 0 });
            let mut rows = Array2::from_elem((height, width), 7u8);
            expand(&pool, &words, pitch, rows.view_mut());
            assert_eq!(rows, expected);
            let mut columns = Array2::from_elem((width, height), 7u8);
            expand(&pool, &words, pitch, columns.view_mut().reversed_axes());
            assert_eq!(columns.t(), expected);
        }
    }
}
