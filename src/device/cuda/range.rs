//! The range of the pixels of an image in device memory, which the kernels of `kernels/image.cu` compute.

use super::{Cuda, check_device_pixels, check_sides, geometry};
use crate::device::kernels::common::RANGE_THREADS;
use crate::error::Result;
use crate::image::DevicePixels;
use crate::pixel_range::{Measure, Range};

/// The most blocks along x and y, which are enough to fill a device.
const MAX_BLOCKS: [usize; 2] = [64, 1024];

impl Cuda {
    /// Returns the range of a device image, which `what` names in errors.
    pub(crate) fn range(&self, measure: Measure, what: &str, pixels: &DevicePixels<'_>) -> Result<Range> {
        const BYTES: usize = size_of::<Range>();
        self.bind()?;
        check_device_pixels(self, what, pixels)?;
        check_sides(pixels.shape, u32::MAX as usize)?;
        let range = self.memory().device(BYTES)?;
        let back = self.memory().pinned(BYTES)?;
        let stream = self.stream()?;
        // Initialise the keys to those of an empty image: the smallest with ones, the largest with zeros.
        for at in (0..BYTES).step_by(BYTES / 2) {
            stream.fill(&range, at, BYTES / 4, 0xFF)?;
            stream.fill(&range, at + BYTES / 4, BYTES / 4, 0)?;
        }
        let name = match measure {
            Measure::Pixels => "range",
            Measure::Neighbours => "neighbour_range",
        };
        let kernel = self.kernel("image", &format!("isoline_{name}_{}", pixels.pixel_type.name()))?;
        let [width, height, depth] = pixels.shape;
        let blocks = [width.div_ceil(RANGE_THREADS).min(MAX_BLOCKS[0]), (height * depth).min(MAX_BLOCKS[1]), 1];
        let [row_stride, slice_stride] = pixels.strides.map(|bytes| bytes as u64);
        let [width, height, depth] = pixels.shape.map(|side| side as u32);
        // SAFETY: the arguments are the kernel's, in its order; the pixels lie in one allocation (checked above), and
        // `range` holds four words.
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
        Ok(Range { pixels: [keys[0], keys[1]], neighbours: [keys[2], keys[3]] })
    }
}
