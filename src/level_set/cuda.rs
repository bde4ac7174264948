//! The level set on CUDA.

use super::Params;
use super::course::Course;
use super::plan::{Plan, Survey};
use crate::device::Context;
use crate::device::cuda::Cuda;
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::Progress;
use crate::report::Report;
use std::sync::Arc;

/// The device memory that a level set needs.
pub(super) fn bytes(_params: &Params, _input: &Image<'_>) -> u64 {
    0
}

/// Measures images of which at least one is in device memory.
pub(super) fn survey(_context: &Context, _cuda: &Arc<Cuda>, _input: &Image<'_>, _mask: &Image<'_>) -> Result<Survey> {
    Err(unbuilt())
}

/// φ on the device and what it evolves with.
#[derive(Debug)]
pub(super) struct Solver {}

impl Solver {
    pub(super) fn new(
        _context: &Context,
        _cuda: &Arc<Cuda>,
        _plan: &Plan,
        _input: &Image<'_>,
        _mask: &Image<'_>,
    ) -> Result<Self> {
        Err(unbuilt())
    }

    /// Evolves by up to `iterations`, until the stop rule is met; adds its times and memory to `report`.
    pub(super) fn run(
        &mut self,
        _context: &Context,
        _course: &mut Course,
        _iterations: u64,
        _progress: &mut Option<&mut Progress<'_>>,
        _report: &mut Report,
    ) -> Result<()> {
        Err(unbuilt())
    }

    pub(super) fn read_mask(&self, _mask: ImageMut<'_>) -> Result<()> {
        Err(unbuilt())
    }

    pub(super) fn read_phi(&self, _phi: ImageMut<'_>) -> Result<()> {
        Err(unbuilt())
    }

    /// In host or device memory; refuses what is not finite.
    pub(super) fn write_phi(&mut self, _phi: &Image<'_>) -> Result<()> {
        Err(unbuilt())
    }

    pub(super) fn inside(&self) -> u64 {
        0
    }

    /// Tiles that the last iteration updated.
    pub(super) fn active_tiles(&self) -> u64 {
        0
    }
}

fn unbuilt() -> Error {
    Error::unsupported("the level set is not built for CUDA yet")
}
