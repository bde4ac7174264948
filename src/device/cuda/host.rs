//! The caller's host memory: decides whether the device can copy from it and to it, and copies between it and staging
//! buffers where the device cannot.

use super::is_pinned;
use crate::image::{Image, ImageMut};
use ndarray::{ArrayView2, ArrayView3, Axis};
use rayon::ThreadPool;
use rayon::prelude::*;

/// The number of rows that one worker copies at a time.
pub(crate) const ROWS_PER_WORKER: usize = 64;

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

/// Returns whether copies from an input go through staging buffers. Device memory needs none.
pub(crate) fn input_needs_staging(input: &Image<'_>) -> bool {
    match input {
        Image::U8(view) => !is_direct(view),
        Image::U16(view) => !is_direct(view),
        Image::F32(view) => !is_direct(view),
        Image::Device(_) => false,
    }
}

/// Returns whether copies to an output go through staging buffers. Device memory needs none.
pub(crate) fn output_needs_staging(output: &ImageMut<'_>) -> bool {
    match output {
        ImageMut::U8(view) => !is_direct(&view.view()),
        ImageMut::U16(view) => !is_direct(&view.view()),
        ImageMut::F32(view) => !is_direct(&view.view()),
        ImageMut::Device(_) => false,
    }
}

/// Copies rows into a buffer, `pitch` bytes apart, on all threads of `pool`.
pub(crate) fn pack<T: bytemuck::Pod + Send + Sync>(
    pool: &ThreadPool,
    rows: ArrayView2<'_, T>,
    buffer: &mut [u8],
    pitch: usize,
) {
    let row = rows.dim().1 * size_of::<T>();
    pool.install(|| {
        buffer.par_chunks_mut(pitch * ROWS_PER_WORKER).zip(rows.axis_chunks_iter(Axis(0), ROWS_PER_WORKER)).for_each(
            |(to, from)| {
                for (to, from) in to.chunks_exact_mut(pitch).zip(from.rows()) {
                    let to: &mut [T] = bytemuck::cast_slice_mut(&mut to[..row]);
                    match from.as_slice() {
                        Some(from) => to.copy_from_slice(from),
                        None => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
                    }
                }
            },
        );
    });
}
