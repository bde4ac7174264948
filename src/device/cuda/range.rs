//! The range of the pixels of an image in device memory, by the kernels of `kernels/image.cu`.

use super::{Cuda, check_device_pixels, check_sides, geometry};
use crate::device::kernels::common::RANGE_THREADS;
use crate::error::Result;
use crate::image::DevicePixels;
use crate::pixel_range::{Keys, RangeOf};

/// The largest numbers of blocks along x and y: enough to fill a device.
const MAX_BLOCKS: [usize; 2] = [64, 1024];

impl Cuda {
    /// Returns a range of a device image, which `what` names in errors; `None` if it is of nothing.
    pub(crate) fn range(&self, of: RangeOf, what: &str, pixels: &DevicePixels<'_>) -> Result<Option<[f64; 2]>> {
        const BYTES: usize = 2 * size_of::<u32>();
        self.bind()?;
        check_device_pixels(self, what, pixels)?;
        check_sides(pixels.shape, u32::MAX as usize)?;
        let range = self.memory().device(BYTES)?;
        let back = self.memory().pinned(BYTES)?;
        let stream = self.stream()?;
        stream.fill(&range, 0, BYTES / 2, 0xFF)?;
        stream.fill(&range, BYTES / 2, BYTES / 2, 0)?;
        let name = match of {
            RangeOf::Pixels => "range",
            RangeOf::Neighbours => "neighbour_range",
        };
        let kernel = self.kernel("image", &format!("isoline_{name}_{}", pixels.pixel_type.name()))?;
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
        Ok(Keys([keys[0], keys[1]]).pixels(pixels.pixel_type))
    }
}
