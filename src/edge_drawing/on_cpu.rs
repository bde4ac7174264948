//! Edge drawing on the CPU: the slices of a stack.

use super::{Maps, Params, Segments};
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::Progress;
use crate::report::Report;

/// See [`super::run`].
pub(super) fn run(
    _context: &Context,
    _params: &Params,
    _input: &Image<'_>,
    _progress: &mut Option<&mut Progress<'_>>,
    _edges: &mut Option<ImageMut<'_>>,
    _want_segments: bool,
) -> Result<(Report, Option<Segments>)> {
    Err(Error::unsupported("edge drawing is being built"))
}

/// See [`super::maps`].
pub(super) fn maps(
    _context: &Context,
    _params: &Params,
    _input: &Image<'_>,
    _progress: &mut Option<&mut Progress<'_>>,
    _maps: &mut Maps<'_>,
) -> Result<Report> {
    Err(Error::unsupported("edge drawing is being built"))
}
