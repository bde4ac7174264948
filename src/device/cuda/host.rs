//! The caller's host memory: decides whether the device can copy from it and to it, and copies between it and staging
//! buffers where the device cannot.

use super::is_pinned;
use crate::image::{Image, ImageMut};
use ndarray::{ArrayView2, ArrayView3, Axis};
use rayon::ThreadPool;
use rayon::prelude::*;

/// The number of rows that one worker copies at a time.
pub(crate) const ROWS_PER_WORKER: usize = 64;

/// The addresses of the caller's host memory, which decide whether copies need staging.
#[derive(Clone, Copy)]
pub(crate) struct Host {
    first: usize,
    last: usize,
    contiguous_rows: bool,
}

impl Host {
    fn new<T>(view: &ArrayView3<'_, T>) -> Self {
        let [z, y, x] = [view.strides()[0], view.strides()[1], view.strides()[2]];
        let (depth, height, width) = view.dim();
        let span = z * (depth as isize - 1) + y * (height as isize - 1) + x * (width as isize - 1);
        let first = view.as_ptr() as usize;
        let last = first.wrapping_add_signed(span * size_of::<T>() as isize);
        let contiguous_rows = (x == 1 || width == 1) && (y >= width as isize || height == 1) && (z >= 0 || depth == 1);
        Self { first, last, contiguous_rows }
    }

    pub(crate) fn of(input: &Image<'_>) -> Option<Self> {
        match input {
            Image::U8(view) => Some(Self::new(view)),
            Image::U16(view) => Some(Self::new(view)),
            Image::F32(view) => Some(Self::new(view)),
            Image::Device(_) => None,
        }
    }

    pub(crate) fn of_mut(output: &ImageMut<'_>) -> Option<Self> {
        match output {
            ImageMut::U8(view) => Some(Self::new(&view.view())),
            ImageMut::U16(view) => Some(Self::new(&view.view())),
            ImageMut::F32(view) => Some(Self::new(&view.view())),
            ImageMut::Device(_) => None,
        }
    }
}

/// Returns whether copies go through staging buffers: they do unless the caller's memory is page-locked with contiguous
/// rows, or is not host memory.
pub(crate) fn needs_staging(host: Option<Host>) -> bool {
    host.is_some_and(|host| !(host.contiguous_rows && is_pinned(host.first) && is_pinned(host.last)))
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
