//! Computes the range of the pixels of an image in device memory, for initial values from the image with an automatic
//! range.
#![allow(unsafe_code)]

use super::constants::MODULE;
use crate::device::cuda::{Cuda, launch_failed};
use crate::error::Result;
use crate::image::{DevicePixels, PixelType};
use cudarc::driver::{LaunchConfig, PushKernelArg};

/// Returns the smallest and the largest finite pixel of a device image (u16 or f32); `[0, 0]` if there is none.
pub(super) fn measure(cuda: &Cuda, pixels: &DevicePixels<'_>) -> Result<[f64; 2]> {
    let stream = cuda.stream()?;
    let range = cuda.memory().device(2 * size_of::<u32>())?;
    let back = cuda.memory().pinned(2 * size_of::<u32>())?;
    stream.fill(&range, 0, size_of::<u32>(), 0xFF)?;
    stream.fill(&range, size_of::<u32>(), size_of::<u32>(), 0)?;
    let name = format!("isoline_es_minmax_{}", pixels.pixel_type.name());
    let function = cuda.function(MODULE, &name)?;
    let [width, height, depth] = pixels.shape;
    let [row_stride, slice_stride] = pixels.strides.map(|bytes| bytes as u64);
    let address = range.address();
    let config = LaunchConfig {
        grid_dim: (width.div_ceil(256).min(64) as u32, (height * depth).min(1024) as u32, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: the arguments are the kernel's, in its order; the pixels were checked to lie in one allocation, and
    // `range` holds two words.
    unsafe {
        stream
            .raw()
            .launch_builder(&function)
            .arg(&pixels.address)
            .arg(&row_stride)
            .arg(&slice_stride)
            .arg(&(width as u32))
            .arg(&(height as u32))
            .arg(&(depth as u32))
            .arg(&address)
            .launch(config)
    }
    .map_err(|e| launch_failed(e, &name))?;
    let bytes = 2 * size_of::<u32>();
    stream.copy(range.side(0), back.side(), bytes, 1, [bytes, bytes])?;
    stream.synchronize()?;
    let keys: &[u32] = bytemuck::cast_slice(&back.as_slice()[..bytes]);
    Ok(if keys[0] > keys[1] {
        [0.0, 0.0]
    } else {
        [decode(keys[0], pixels.pixel_type), decode(keys[1], pixels.pixel_type)]
    })
}

/// Returns the pixel of a sorting key. The key of a 16-bit pixel is the pixel; that of a float has the bits in an order
/// that sorts as an integer.
fn decode(key: u32, pixel_type: PixelType) -> f64 {
    if pixel_type != PixelType::F32 {
        return f64::from(key);
    }
    const SIGN: u32 = 0x8000_0000;
    f64::from(f32::from_bits(if key & SIGN != 0 { key ^ SIGN } else { !key }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_decode_to_their_floats() {
        for value in [0.0f32, 1.5, -1.5, f32::MAX, f32::MIN, -0.0] {
            let bits = value.to_bits();
            let key = bits ^ if bits >> 31 == 1 { u32::MAX } else { 0x8000_0000 };
            assert_eq!(decode(key, PixelType::F32), f64::from(value));
        }
    }
}
