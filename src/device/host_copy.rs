//! Host copies of images in device memory, for computations that are done on the host for every device.

use super::Context;
use super::cuda::{Cuda, DeviceRows, Side, Stream, check_device_pixels};
use crate::error::{Error, Result};
use crate::image::{DevicePixels, Image, PixelType, view_of, zeroed_image};
use crate::memory::collected;
use crate::progress::Ticker;
use bytemuck::Pod;
use ndarray::{Array3, Axis};

/// A copy of an image in device memory.
pub(crate) enum HostCopy {
    U8(Array3<u8>),
    U16(Array3<u16>),
    F32(Array3<f32>),
}

impl HostCopy {
    pub(crate) fn new(context: &Context, pixels: &DevicePixels<'_>) -> Result<Self> {
        let [width, height, depth] = pixels.shape;
        Self::of_parts(context, pixels, &collected((0..depth).map(|z| [0, 0, z]))?, [width, height])
    }

    /// Copies parts of slices, all of the same width and height and each given by its first pixel. Each part becomes a
    /// slice of the copy.
    pub(crate) fn of_parts(
        context: &Context,
        pixels: &DevicePixels<'_>,
        corners: &[[usize; 3]],
        size: [usize; 2],
    ) -> Result<Self> {
        Ok(match pixels.pixel_type {
            PixelType::U8 => Self::U8(download(context, pixels, corners, size)?),
            PixelType::U16 => Self::U16(download(context, pixels, corners, size)?),
            PixelType::F32 => Self::F32(download(context, pixels, corners, size)?),
        })
    }

    pub(crate) fn view(&self) -> Image<'_> {
        match self {
            Self::U8(array) => array.view().into(),
            Self::U16(array) => array.view().into(),
            Self::F32(array) => array.view().into(),
        }
    }
}

/// Returns an image in host memory: the given one or, if that is in device memory, a copy, which is stored in `copy`.
pub(crate) fn in_host_memory<'a>(
    context: &Context,
    image: &'a Image<'_>,
    copy: &'a mut Option<HostCopy>,
) -> Result<Image<'a>> {
    Ok(match image {
        Image::Device(pixels) => copy.insert(HostCopy::new(context, pixels)?).view(),
        _ => image.reborrow(),
    })
}

/// Copies parts of an image from device memory.
fn download<T: Pod + Send + Sync>(
    context: &Context,
    pixels: &DevicePixels<'_>,
    corners: &[[usize; 3]],
    [width, height]: [usize; 2],
) -> Result<Array3<T>> {
    let cuda = context.cuda_for(0)?.ok_or_else(|| Error::in_cuda_memory("image"))?;
    let stream = cuda.stream()?;
    check_device_pixels(cuda, "the image", pixels)?;
    let mut image = zeroed_image((corners.len(), height, width))?;
    let parts = image.axis_chunks_iter_mut(Axis(0), 1).zip(corners).map(|(to, [x, y, z])| {
        let offset = z * pixels.strides[1] + y * pixels.strides[0] + x * size_of::<T>();
        let part = DevicePixels { address: pixels.address + offset as u64, shape: [width, height, 1], ..*pixels };
        let (side, pitch) = Side::of_slice(&part, 0);
        (to, DeviceRows { stream: &stream, side, pitch })
    });
    cuda.transfer().download_views(context.pool(), parts.collect(), &Ticker::of_copies())?;
    stream.synchronize()?;
    Ok(image)
}

/// Copies the pixels of one slice, rows packed, to an image in device memory, and waits.
pub(crate) fn upload_slice<T: Pod + Send + Sync>(
    context: &Context,
    cuda: &Cuda,
    stream: &Stream,
    packed: &[T],
    pixels: &DevicePixels<'_>,
    slice: usize,
) -> Result<()> {
    let [width, height, _] = pixels.shape;
    let (side, pitch) = Side::of_slice(pixels, slice);
    let packed = view_of(packed, [width, height, 1]);
    cuda.transfer().upload_views(
        context.pool(),
        vec![(packed, DeviceRows { stream, side, pitch })],
        &Ticker::of_copies(),
    )?;
    stream.synchronize()
}
