//! The converged mode on CUDA.

use super::multigrid::{Goal, Solution};
use crate::device::cuda::{Buffer, Cuda, Stream};
use crate::error::{Error, Result};

/// A field on the device, as the kernels see it.
pub(super) struct Field<'a> {
    /// In: the start. Out: v.
    pub values: &'a Buffer,
    /// Of the same size, free to use.
    pub scratch: &'a Buffer,
    pub mask: &'a Buffer,
    pub shape: [usize; 3],
    /// Floats from row to row.
    pub pitch: usize,
    /// Words from row to row of the mask.
    pub mask_pitch: usize,
}

pub(super) fn extra_bytes(_shape: [usize; 3]) -> u64 {
    0
}

pub(super) fn solve(
    _cuda: &Cuda,
    _stream: &Stream,
    _field: &Field<'_>,
    _goal: &Goal,
    _poll: &mut dyn FnMut(f64) -> Result<()>,
) -> Result<Solution> {
    Err(Error::unsupported("not yet"))
}
