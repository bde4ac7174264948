//! The transfer of images and φ between the host, or a caller's device memory, and the rows of the kernels.

use super::tables::{Layout, PADDING_BEFORE};
use crate::device::cuda::{Buffer, Cuda, DeviceRows, Side, Stream};
use crate::device::kernels::level_set::LEAD;
use crate::error::Result;
use crate::image::{DevicePixels, Image};
use crate::progress::Ticker;
use rayon::ThreadPool;
use std::ops::Range;

/// Returns the source or target of a copy that begins at the first pixel of slice `z` of `buffer`, in the given layout.
pub(super) fn slice_side(buffer: &Buffer, layout: &Layout, bytes: usize, z: usize) -> Side {
    buffer.side((PADDING_BEFORE + LEAD + z * layout.shape[1] * layout.pitch) * bytes)
}

/// Queues the copy of an image into `buffer`. It is complete once the stream has been synchronised.
pub(super) fn upload(
    cuda: &Cuda,
    pool: &ThreadPool,
    stream: &Stream,
    image: &Image<'_>,
    buffer: &Buffer,
    layout: &Layout,
) -> Result<()> {
    let bytes = image.pixel_type().bytes();
    let [width, height, depth] = layout.shape;
    let pitch = layout.pitch * bytes;
    match image {
        Image::Device(pixels) => (0..depth).try_for_each(|z| {
            let ((from, from_pitch), to) = (Side::of_slice(pixels, z), slice_side(buffer, layout, bytes, z));
            stream.copy(from, to, width * bytes, height, [from_pitch, pitch])
        }),
        _ => {
            let to = DeviceRows { stream, side: slice_side(buffer, layout, bytes, 0), pitch };
            cuda.transfer().upload(pool, image, &[(0..depth, to)], &Ticker::of_copies())
        }
    }
}

/// Queues the copy of slices of a caller's device pixels to the beginning of `buffer`, without gaps.
pub(super) fn pack(stream: &Stream, pixels: &DevicePixels<'_>, slices: Range<usize>, buffer: &Buffer) -> Result<()> {
    let [width, height, _] = pixels.shape;
    let row = width * pixels.pixel_type.bytes();
    slices.enumerate().try_for_each(|(index, z)| {
        let (from, pitch) = Side::of_slice(pixels, z);
        stream.copy(from, buffer.side(index * height * row), row, height, [pitch, row])
    })
}

/// Copies slices of an image to the beginning of `buffer`, without gaps. A copy from device memory is only queued.
pub(super) fn put_slices(
    cuda: &Cuda,
    pool: &ThreadPool,
    stream: &Stream,
    image: &Image<'_>,
    slices: Range<usize>,
    buffer: &Buffer,
) -> Result<()> {
    if let Image::Device(pixels) = image {
        return pack(stream, pixels, slices, buffer);
    }
    let to = DeviceRows { stream, side: buffer.side(0), pitch: image.shape()[0] * image.pixel_type().bytes() };
    cuda.transfer().upload(pool, image, &[(slices, to)], &Ticker::of_copies())?;
    stream.synchronize()
}
