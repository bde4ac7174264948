//! The transfer of images and φ between the host, or a caller's device memory, and the rows of the kernels.

use super::tables::{Layout, PADDING_BEFORE};
use crate::device::cuda::{Buffer, Cuda, Side, Stream, check_device_pixels};
use crate::device::kernels::level_set::LEAD;
use crate::error::Result;
use crate::image::{DevicePixels, Image, PixelType, zeroed};
use bytemuck::Pod;
use ndarray::{Array3, Axis};
use rayon::ThreadPool;

/// Returns a side of a copy that begins at the first pixel of a slice of `buffer`, which has the layout `layout`.
pub(super) fn slice_side(buffer: &Buffer, layout: &Layout, bytes: usize, z: usize) -> Side {
    buffer.side((PADDING_BEFORE + LEAD + z * layout.shape[1] * layout.pitch) * bytes)
}

/// Queues the copy of an image into `buffer`; it is complete when the stream is.
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
        _ => cuda.transfer().upload(pool, stream, image, 0..depth, slice_side(buffer, layout, bytes, 0), pitch),
    }
}

/// Queues the copy of a caller's device pixels to the beginning of `buffer`, without gaps.
pub(super) fn pack(stream: &Stream, pixels: &DevicePixels<'_>, buffer: &Buffer) -> Result<()> {
    let [width, height, depth] = pixels.shape;
    let row = width * pixels.pixel_type.bytes();
    (0..depth).try_for_each(|z| {
        let (from, pitch) = Side::of_slice(pixels, z);
        stream.copy(from, buffer.side(z * height * row), row, height, [pitch, row])
    })
}

/// Calls `work` with an image in host memory: this one, or a copy of one in device memory.
pub(super) fn on_host<R>(
    cuda: &Cuda,
    pool: &ThreadPool,
    stream: &Stream,
    what: &str,
    image: &Image<'_>,
    work: impl FnOnce(&Image<'_>) -> R,
) -> Result<R> {
    let Image::Device(pixels) = image else { return Ok(work(image)) };
    check_device_pixels(cuda, what, pixels)?;
    Ok(match pixels.pixel_type {
        PixelType::U8 => work(&fetch::<u8>(cuda, pool, stream, pixels)?.view().into()),
        PixelType::U16 => work(&fetch::<u16>(cuda, pool, stream, pixels)?.view().into()),
        PixelType::F32 => work(&fetch::<f32>(cuda, pool, stream, pixels)?.view().into()),
    })
}

fn fetch<T: Pod + Send + Sync>(
    cuda: &Cuda,
    pool: &ThreadPool,
    stream: &Stream,
    pixels: &DevicePixels<'_>,
) -> Result<Array3<T>> {
    let [width, height, depth] = pixels.shape;
    let values = zeroed(width * height * depth)?;
    let mut array = Array3::from_shape_vec((depth, height, width), values).unwrap_or_else(|_| unreachable!("its size"));
    for (z, slice) in array.axis_chunks_iter_mut(Axis(0), 1).enumerate() {
        let (from, pitch) = Side::of_slice(pixels, z);
        cuda.transfer().download_view(pool, stream, from, pitch, slice)?;
    }
    Ok(array)
}
