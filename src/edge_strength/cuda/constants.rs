//! Constants of the kernels' contract, `kernels/README.md`, that the other modules share.

/// The module (kernel file) of this operation.
pub(super) const MODULE: &str = "edge_strength";

/// Rows start at multiples of this many floats.
pub(super) const PITCH_ALIGNMENT: usize = 32;

/// The number of padding words of a row of the mask: one before and one after the row hold it mirrored.
pub(super) const MASK_PADS: usize = 2;
