//! Cycles in 3D: each step of a smoothing is a launch, and so are residuals and corrections.
#![allow(unsafe_code)]

use super::{Correction, Entry, Kind, Level, MAX_GRID_YZ, Own, Role, Solver};
use crate::device::cuda::failed;
use crate::edge_strength::multigrid::COARSEST_SMOOTHINGS;
use crate::error::Result;
use cudarc::driver::{LaunchConfig, PushKernelArg};

/// The block of the 3D kernels.
const BLOCK_3D: [usize; 3] = [32, 4, 2];

impl Solver<'_> {
    pub(super) fn cycle_3d(&self, levels: &[Level], entry: Entry, change: u64) -> Result<()> {
        let last = levels.len() - 1;
        if last == 0 {
            let only = Own(&levels[0]);
            self.smooth_3d(only, only.0.values, only.0.smoothed)?;
            return self.finish_3d(only, only.0.smoothed, change);
        }
        for (index, pair) in levels.windows(2).enumerate() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            match (index, entry) {
                (0, Entry::Values) => self.smooth_3d(Own(level), level.values, level.smoothed)?,
                (0, _) => {
                    let below = if entry == Entry::Guess { coarse.values } else { 0 };
                    self.correct_3d(level, coarse, 0, below, level.smoothed)?;
                    self.smooth_3d(Own(level), level.smoothed, level.smoothed)?;
                }
                _ => self.smooth_3d(Correction(level), 0, level.smoothed)?,
            }
            self.restrict_3d(level, coarse, if index == 0 { 0 } else { level.right })?;
        }
        const { assert!(COARSEST_SMOOTHINGS == 2, "one into each field") };
        let coarsest = Correction(&levels[last]);
        self.smooth_3d(coarsest, 0, coarsest.0.smoothed)?;
        self.smooth_3d(coarsest, coarsest.0.smoothed, coarsest.0.values)?;
        for (index, pair) in levels.windows(2).enumerate().rev() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            self.correct_3d(level, coarse, level.smoothed, coarse.values, level.other)?;
            if index == 0 {
                self.finish_3d(Own(level), level.other, change)?;
            } else {
                self.finish_3d(Correction(level), level.other, 0)?;
            }
        }
        Ok(())
    }

    /// The steps of one smoothing from `from` (0: zero) by way of `other` to `to`; the last two may be the same.
    fn smooth_3d(&self, role: impl Role, from: u64, to: u64) -> Result<()> {
        let (level, right, weights) = role.of();
        let mut source = from;
        for (step, &weight) in weights.iter().enumerate() {
            let target = if step % 2 == 0 { level.other } else { to };
            self.step_3d(level, right, source, target, weight, 0)?;
            source = target;
        }
        Ok(())
    }

    /// The steps of one smoothing from `from`, which is `other` or `smoothed`, by way of both to `values`, which keeps
    /// what it was until the last step has compared with it.
    fn finish_3d(&self, role: impl Role, from: u64, change: u64) -> Result<()> {
        let (level, right, weights) = role.of();
        let mut source = from;
        for (step, &weight) in weights.iter().enumerate() {
            let last = step + 1 == weights.len();
            let target = match (last, source == level.other) {
                (true, _) => level.values,
                (false, true) => level.smoothed,
                (false, false) => level.other,
            };
            self.step_3d(level, right, source, target, weight, if last { change } else { 0 })?;
            source = target;
        }
        Ok(())
    }

    fn step_3d(&self, level: &Level, right: u64, from: u64, to: u64, weight: f32, change: u64) -> Result<()> {
        let Kind::Volume { step, .. } = &self.kernels.kind else { unreachable!("3D kernels for a volume") };
        let [width, height, depth] = &level.shape;
        let mut launch = self.stream.raw().launch_builder(step);
        launch.arg(&from).arg(&to).arg(&right).arg(&level.mask).arg(width).arg(height).arg(depth);
        launch.arg(&level.pitch).arg(&level.mask_pitch).arg(&level.grid.lambda).arg(&weight).arg(&change);
        // SAFETY: as in `smooth`.
        unsafe { launch.launch(geometry_3d(level)) }.map(|_| ()).map_err(|e| failed("start the kernel step_3d", e))
    }

    /// Residuals of `smoothed` to the right side of the next grid.
    fn restrict_3d(&self, level: &Level, coarse: &Level, right: u64) -> Result<()> {
        let Kind::Volume { restrict, .. } = &self.kernels.kind else { unreachable!("3D kernels for a volume") };
        let [width, height, depth] = &level.shape;
        let [coarse_width, coarse_height, coarse_depth] = &coarse.shape;
        let mut launch = self.stream.raw().launch_builder(restrict);
        launch.arg(&level.smoothed).arg(&right).arg(&level.mask).arg(width).arg(height).arg(depth);
        launch.arg(&level.pitch).arg(&level.mask_pitch).arg(&level.grid.lambda);
        launch.arg(&coarse.right).arg(coarse_width).arg(coarse_height).arg(coarse_depth).arg(&coarse.pitch);
        // SAFETY: as in `smooth`; a thread writes one coarse voxel.
        unsafe { launch.launch(geometry_3d(coarse)) }.map(|_| ()).map_err(|e| failed("start the kernel restrict_3d", e))
    }

    /// `from` (0: the shape) and `below`, the next grid's values (0: zero), interpolated, into `to`.
    fn correct_3d(&self, level: &Level, coarse: &Level, from: u64, below: u64, to: u64) -> Result<()> {
        let Kind::Volume { correct, .. } = &self.kernels.kind else { unreachable!("3D kernels for a volume") };
        let [width, height, depth] = &level.shape;
        let [coarse_width, coarse_height, coarse_depth] = &coarse.shape;
        let mut launch = self.stream.raw().launch_builder(correct);
        launch.arg(&from).arg(&to).arg(&level.mask).arg(width).arg(height).arg(depth);
        launch.arg(&level.pitch).arg(&level.mask_pitch);
        launch.arg(&below).arg(coarse_width).arg(coarse_height).arg(coarse_depth).arg(&coarse.pitch);
        // SAFETY: as in `smooth`.
        unsafe { launch.launch(geometry_3d(level)) }.map(|_| ()).map_err(|e| failed("start the kernel correct_3d", e))
    }
}

/// A thread a voxel; blocks loop over what exceeds the grid.
fn geometry_3d(level: &Level) -> LaunchConfig {
    let blocks = |axis: usize| level.grid.shape[axis].div_ceil(BLOCK_3D[axis]);
    LaunchConfig {
        grid_dim: (blocks(0) as u32, blocks(1).min(MAX_GRID_YZ) as u32, blocks(2).min(MAX_GRID_YZ) as u32),
        block_dim: (BLOCK_3D[0] as u32, BLOCK_3D[1] as u32, BLOCK_3D[2] as u32),
        shared_mem_bytes: 0,
    }
}
