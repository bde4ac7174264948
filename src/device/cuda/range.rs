//! The range of the pixels of an image in device memory, by the kernels of `kernels/image.cu`.

use super::{Cuda, check_device_pixels, check_sides, geometry};
use crate::device::kernels::common::{FLOAT_SIGN, RANGE_THREADS};
use crate::error::Result;
use crate::image::{DevicePixels, PixelType};

/// The largest numbers of blocks along x and y: enough to fill a device.
const MAX_BLOCKS: [usize; 2] = [64, 1024];

impl Cuda {
    /// Returns the smallest and the largest finite pixel of a device image, which `what` names in errors;
    /// `[0, 0]` if there is none.
    pub(crate) fn extremes(&self, what: &str, pixels: &DevicePixels<'_>) -> Result<[f64; 2]> {
        const BYTES: usize = 2 * size_of::<u32>();
        self.bind()?;
        check_device_pixels(self, what, pixels)?;
        check_sides(pixels.shape, u32::MAX as usize)?;
        let range = self.memory().device(BYTES)?;
        let back = self.memory().pinned(BYTES)?;
        let stream = self.stream()?;
        stream.fill(&range, 0, BYTES / 2, 0xFF)?;
        stream.fill(&range, BYTES / 2, BYTES / 2, 0)?;
        let kernel = self.kernel("image", &format!("isoline_range_{}", pixels.pixel_type.name()))?;
        let [width, height, depth] = pixels.shape;
        let blocks = [width.div_ceil(RANGE_THREADS).min(MAX_BLOCKS[0]), (height * depth).min(MAX_BLOCKS[1]), 1];
        let [row_stride, slice_stride] = pixels.strides.map(|bytes| bytes as u64);
        let [width, height, depth] = pixels.shape.map(|side| side as u32);
        // SAFETY: the arguments are the kernel's, in its order; the pixels lie in one allocation (checked above), and
        // `range` holds two words.
        unsafe {
            stream.launch(
                &kernel,
                geometry(blocks, [RANGE_THREADS, 1, 1]),
                &[&pixels.address, &row_stride, &slice_stride, &width, &height, &depth, &range.address()],
            )
        }?;
        stream.copy_bytes(range.side(0), back.side(), BYTES)?;
        stream.synchronize()?;
        let keys: &[u32] = bytemuck::cast_slice(&back.as_slice()[..BYTES]);
        Ok(if keys[0] > keys[1] { [0.0; 2] } else { [0, 1].map(|i| pixel_of_key(keys[i], pixels.pixel_type)) })
    }
}

/// Returns the pixel of a sorting key, as `kernels/pixel_key.cuh` makes it. The key of an integer is the pixel; that of a
/// float has the bits in an order that sorts as an integer.
fn pixel_of_key(key: u32, pixel_type: PixelType) -> f64 {
    const SIGN: u32 = FLOAT_SIGN as u32;
    if pixel_type != PixelType::F32 {
        return f64::from(key);
    }
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
            assert_eq!(pixel_of_key(key, PixelType::F32), f64::from(value));
        }
    }
}
