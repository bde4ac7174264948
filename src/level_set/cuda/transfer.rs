//! The transfer of images and φ between the host, or a caller's device memory, and the rows of the kernels.

use super::tables::{Layout, PADDING_BEFORE};
use crate::device::cuda::{Buffer, Cuda, Side, Stream, check_device_pixels};
use crate::device::kernels::level_set::LEAD;
use crate::error::Result;
use crate::image::{DevicePixels, Image, ImageMut, PixelType, zeroed};
use ndarray::{Array3, ArrayView3, ArrayViewMut3};

/// Returns a side of a copy that begins at the first pixel of a slice of `buffer`, which has the layout `layout`.
pub(super) fn slice_side(buffer: &Buffer, layout: &Layout, bytes: usize, z: usize) -> Side {
    buffer.side((PADDING_BEFORE + LEAD + z * layout.shape[1] * layout.pitch) * bytes)
}

/// Queues the copy of an image into `buffer`; it is complete when the stream is.
pub(super) fn upload(stream: &Stream, image: &Image<'_>, buffer: &Buffer, layout: &Layout) -> Result<()> {
    match image {
        Image::U8(view) => upload_pixels(stream, *view, buffer, layout),
        Image::U16(view) => upload_pixels(stream, *view, buffer, layout),
        Image::F32(view) => upload_pixels(stream, *view, buffer, layout),
        Image::Device(pixels) => {
            let bytes = pixels.pixel_type.bytes();
            let [width, height, depth] = pixels.shape;
            (0..depth).try_for_each(|z| {
                let ((from, pitch), to) = (Side::of_slice(pixels, z), slice_side(buffer, layout, bytes, z));
                stream.copy(from, to, width * bytes, height, [pitch, layout.pitch * bytes])
            })
        }
    }
}

pub(super) fn upload_pixels<T: bytemuck::Pod>(
    stream: &Stream,
    view: ArrayView3<'_, T>,
    buffer: &Buffer,
    layout: &Layout,
) -> Result<()> {
    let bytes = size_of::<T>();
    let [width, height, _] = layout.shape;
    for (z, plane) in view.outer_iter().enumerate() {
        let packed = plane.as_standard_layout();
        let from = Side::Host { address: packed.as_ptr() as usize, bytes: height * width * bytes };
        let to = slice_side(buffer, layout, bytes, z);
        stream.copy(from, to, width * bytes, height, [width * bytes, layout.pitch * bytes])?;
        if packed.is_owned() {
            stream.synchronize()?;
        }
    }
    Ok(())
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

/// Copies φ to a caller's image.
pub(super) fn download_phi(stream: &Stream, buffer: &Buffer, layout: &Layout, phi: ImageMut<'_>) -> Result<()> {
    let bytes = size_of::<f32>();
    let [width, height, depth] = layout.shape;
    match phi {
        ImageMut::F32(mut view) => {
            download(stream, &mut view, |to, z| {
                let from = slice_side(buffer, layout, bytes, z);
                stream.copy(from, to, width * bytes, height, [layout.pitch * bytes, width * bytes])
            })?;
        }
        ImageMut::Device(pixels) => {
            for z in 0..depth {
                let (from, (to, pitch)) = (slice_side(buffer, layout, bytes, z), Side::of_slice(&pixels, z));
                stream.copy(from, to, width * bytes, height, [layout.pitch * bytes, pitch])?;
            }
        }
        _ => unreachable!("the type was checked"),
    }
    stream.synchronize()
}

/// Fills a host image slice by slice with `copy`, which queues the copy of a slice to packed memory.
pub(super) fn download<T: bytemuck::Pod>(
    stream: &Stream,
    view: &mut ArrayViewMut3<'_, T>,
    mut copy: impl FnMut(Side, usize) -> Result<()>,
) -> Result<()> {
    for (z, mut plane) in view.outer_iter_mut().enumerate() {
        if let Some(packed) = plane.as_slice_mut() {
            copy(Side::of_mut(packed), z)?;
            continue;
        }
        let mut packed: Vec<T> = zeroed(plane.len())?;
        copy(Side::of_mut(&mut packed), z)?;
        stream.synchronize()?;
        plane.iter_mut().zip(&packed).for_each(|(to, from)| *to = *from);
    }
    stream.synchronize()
}

/// Calls `work` with an image in host memory: this one, or a copy of one in device memory.
pub(super) fn on_host<R>(
    cuda: &Cuda,
    stream: &Stream,
    what: &str,
    image: &Image<'_>,
    work: impl FnOnce(&Image<'_>) -> R,
) -> Result<R> {
    let Image::Device(pixels) = image else { return Ok(work(image)) };
    check_device_pixels(cuda, what, pixels)?;
    Ok(match pixels.pixel_type {
        PixelType::U8 => work(&fetch::<u8>(stream, pixels)?.view().into()),
        PixelType::U16 => work(&fetch::<u16>(stream, pixels)?.view().into()),
        PixelType::F32 => work(&fetch::<f32>(stream, pixels)?.view().into()),
    })
}

fn fetch<T: bytemuck::Pod>(stream: &Stream, pixels: &DevicePixels<'_>) -> Result<Array3<T>> {
    let [width, height, depth] = pixels.shape;
    let values = zeroed(width * height * depth)?;
    let mut array = Array3::from_shape_vec((depth, height, width), values).unwrap_or_else(|_| unreachable!("its size"));
    let row = width * size_of::<T>();
    download(stream, &mut array.view_mut(), |to, z| {
        let (from, pitch) = Side::of_slice(pixels, z);
        stream.copy(from, to, row, height, [pitch, row])
    })?;
    Ok(array)
}
