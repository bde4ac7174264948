//! Constants of the kernels' contract (`kernels/README.md`) that several modules use.

/// The module (kernel file) of this operation.
pub(super) const MODULE: &str = "edge_strength";

/// Rows start at multiples of this many floats.
pub(super) const PITCH_ALIGNMENT: usize = 32;
