//! Copies of images in device memory, for measurements that the host makes of the images of every device.

use super::Context;
use super::cuda::{DeviceRows, Side};
use crate::error::{Error, Result};
use crate::image::{DevicePixels, Image, PixelType};
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
        Ok(match pixels.pixel_type {
            PixelType::U8 => Self::U8(download(context, pixels)?),
            PixelType::U16 => Self::U16(download(context, pixels)?),
            PixelType::F32 => Self::F32(download(context, pixels)?),
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

/// Copies an image from device memory.
fn download<T: Pod + Send + Sync>(context: &Context, pixels: &DevicePixels<'_>) -> Result<Array3<T>> {
    let cuda = context.cuda_for(0)?.ok_or_else(|| Error::in_cuda_memory("image"))?;
    let [width, height, depth] = pixels.shape;
    let stream = cuda.stream()?;
    let mut image = Array3::from_elem((depth, height, width), T::zeroed());
    for (z, to) in image.axis_chunks_iter_mut(Axis(0), 1).enumerate() {
        let (side, pitch) = Side::of_slice(pixels, z);
        cuda.transfer().download_views(context.pool(), vec![(to, DeviceRows { stream: &stream, side, pitch })])?;
    }
    stream.synchronize()?;
    Ok(image)
}
