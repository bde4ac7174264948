//! The distance on CUDA.

use super::Params;
use crate::device::Context;
use crate::device::cuda::Cuda;
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::Progress;
use crate::report::Report;
use std::sync::Arc;

/// The least device memory that a job needs.
pub(super) fn least_bytes(_params: &Params, _mask: &Image<'_>, _output: &ImageMut<'_>) -> u64 {
    0
}

pub(super) fn run(
    _context: &Context,
    _cuda: &Arc<Cuda>,
    _params: &Params,
    _mask: &Image<'_>,
    _progress: &mut Option<&mut Progress<'_>>,
    _output: &mut ImageMut<'_>,
) -> Result<Report> {
    Err(Error::unsupported("the distance is not built for CUDA yet"))
}
