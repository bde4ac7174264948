//! The size and layout of a field and its mask on the device, as the kernels' contract in `kernels/README.md` defines
//! them.

use super::constants::PITCH_ALIGNMENT;
use crate::device::kernels::common::{MASK_LEAD, MASK_WORD_BITS};

/// The size and layout of one field on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldLayout {
    /// Width, height and depth; in 2D the number of slices that the same launches compute.
    pub(super) shape: [usize; 3],
    /// Floats from row to row.
    pub(super) pitch: usize,
    /// Words from row to row of the mask.
    pub(super) mask_pitch: usize,
}

impl FieldLayout {
    pub(super) fn new(shape: [usize; 3]) -> Self {
        Self {
            shape,
            pitch: shape[0].next_multiple_of(PITCH_ALIGNMENT),
            mask_pitch: shape[0].div_ceil(MASK_WORD_BITS) + 2 * MASK_LEAD,
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.shape[1] * self.shape[2]
    }

    pub(super) fn value_bytes(&self) -> usize {
        self.pitch * self.rows() * size_of::<f32>()
    }

    pub(super) fn mask_bytes(&self) -> usize {
        self.mask_pitch * self.rows() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned_and_masks_are_padded() {
        let field = FieldLayout::new([33, 5, 2]);
        assert_eq!((field.pitch, field.mask_pitch), (64, 4));
        assert_eq!(field.value_bytes(), 64 * 10 * 4);
        assert_eq!(field.mask_bytes(), 4 * 10 * 4);
    }
}
