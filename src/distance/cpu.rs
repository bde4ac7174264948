//! The distance on the CPU.

use super::Params;
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::Progress;
use crate::report::Report;

pub(super) fn run(
    _context: &Context,
    _params: &Params,
    _mask: &Image<'_>,
    _progress: &mut Option<&mut Progress<'_>>,
    _output: &mut ImageMut<'_>,
) -> Result<Report> {
    Err(Error::unsupported("the distance is not built yet"))
}
