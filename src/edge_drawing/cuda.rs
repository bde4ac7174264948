//! Edge drawing on CUDA: the slices of a stack as a pipeline.

use super::{Maps, Params, Segments};
use crate::device::Context;
use crate::device::cuda::Cuda;
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::Progress;
use crate::report::Report;
use std::sync::Arc;

/// The least device memory that a job needs, one slice at a time.
pub(super) fn least_bytes(_params: &Params, _input: &Image<'_>) -> u64 {
    0
}

/// See [`super::run`].
pub(super) fn run(
    _context: &Context,
    _cuda: &Arc<Cuda>,
    _params: &Params,
    _input: &Image<'_>,
    _progress: &mut Option<&mut Progress<'_>>,
    _edges: &mut Option<ImageMut<'_>>,
    _want_segments: bool,
) -> Result<(Report, Option<Segments>)> {
    Err(Error::unsupported("edge drawing on CUDA is being built"))
}

/// See [`super::maps`].
pub(super) fn maps(
    _context: &Context,
    _cuda: &Arc<Cuda>,
    _params: &Params,
    _input: &Image<'_>,
    _progress: &mut Option<&mut Progress<'_>>,
    _maps: &mut Maps<'_>,
) -> Result<Report> {
    Err(Error::unsupported("edge drawing on CUDA is being built"))
}
