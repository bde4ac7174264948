//! φ in the order of an image, on one thread: the reference.

use super::edges::Edges;
use super::{Pixels, prepare, scalar};
use crate::device::Context;
use crate::error::Result;
use crate::image::Image;
use crate::level_set::cpu::tiles::Layout;
use crate::level_set::plan::Plan;
use crate::level_set::types::Counts;
use crate::memory::Array;
use crate::progress::Ticker;

#[derive(Debug)]
pub(super) struct Plain {
    pub pixels: Pixels,
    pub phi: Array<f32>,
    next: Array<f32>,
    /// For each tile, true if the reinitialisation under way updates it.
    reinitialised_tiles: Vec<bool>,
}

impl Plain {
    pub(super) fn new(
        context: &Context,
        plan: &Plan,
        input: &Image<'_>,
        mask: &Image<'_>,
        ticker: &Ticker,
    ) -> Result<Self> {
        let mut phi = Array::zeroed(plan.voxels())?;
        let pixels = prepare(context, plan, input, mask, &Layout::plain(plan.shape), &mut phi, ticker)?;
        for row in phi.chunks_mut(plan.shape[0]) {
            ticker.check()?;
            row.iter_mut().for_each(|phi| *phi = phi.clamp(-plan.far, plan.far));
        }
        Ok(Self { pixels, phi, next: Array::zeroed(plan.voxels())?, reinitialised_tiles: Vec::new() })
    }

    pub(super) fn iterate(&mut self, plan: &Plan, edges: Option<&Edges>, ticker: &Ticker) -> Result<Counts> {
        let Self { pixels, phi, next, .. } = self;
        let edge = |i: usize| edges.map(|edges| edges.at_voxel(i));
        let counts = match pixels {
            Pixels::U8(pixels) => scalar::iterate(plan, phi, next, |i| (f32::from(pixels[i]), edge(i)), ticker)?,
            Pixels::U16(pixels) => scalar::iterate(plan, phi, next, |i| (f32::from(pixels[i]), edge(i)), ticker)?,
            Pixels::F32(pixels) => scalar::iterate(plan, phi, next, |i| (pixels[i], edge(i)), ticker)?,
        };
        std::mem::swap(phi, next);
        Ok(counts)
    }

    pub(super) fn reinitialisation_step(&mut self, plan: &Plan, first: bool, ticker: &Ticker) -> Result<()> {
        if first {
            self.reinitialised_tiles = scalar::reinitialised_tiles(plan, &self.phi, ticker)?;
        }
        scalar::reinitialise(plan, &self.phi, &mut self.next, &self.reinitialised_tiles, first, ticker)?;
        std::mem::swap(&mut self.phi, &mut self.next);
        Ok(())
    }

    /// Returns the number of voxels inside.
    pub(super) fn inside(&self) -> u64 {
        self.phi.iter().filter(|phi| **phi < 0.0).count() as u64
    }
}
