//! Cycles in 3D. Each step of a smoothing is a launch, and so are residuals and corrections.
#![allow(unsafe_code)]

use super::{CycleStart, Equation, ForCorrection, ForSolution, GridKernels, Level, Multigrid};
use crate::device::cuda::{MAX_GRID_YZ, launch_failed};
use crate::edge_strength::multigrid::COARSEST_SMOOTHINGS;
use crate::error::Result;
use cudarc::driver::{LaunchConfig, PushKernelArg};

/// The block of the 3D kernels.
const BLOCK_3D: [usize; 3] = [32, 4, 2];

impl Multigrid<'_> {
    /// Queues one V-cycle on `levels`; see [`cycle`](Self::cycle).
    pub(super) fn cycle_3d(&self, levels: &[Level], start: CycleStart, change: u64) -> Result<()> {
        let last = levels.len() - 1;
        if last == 0 {
            let only = ForSolution(&levels[0]);
            self.smooth_3d(only, only.0.values, only.0.smoothed)?;
            return self.finish_3d(only, only.0.smoothed, change);
        }
        for (index, pair) in levels.windows(2).enumerate() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            match (index, start) {
                (0, CycleStart::Values) => self.smooth_3d(ForSolution(level), level.values, level.smoothed)?,
                (0, _) => {
                    let below = if start == CycleStart::Guess { coarse.values } else { 0 };
                    self.correct_3d(level, coarse, 0, below, level.smoothed)?;
                    self.smooth_3d(ForSolution(level), level.smoothed, level.smoothed)?;
                }
                _ => self.smooth_3d(ForCorrection(level), 0, level.smoothed)?,
            }
            self.restrict_3d(level, coarse, if index == 0 { 0 } else { level.right })?;
        }
        const { assert!(COARSEST_SMOOTHINGS == 2, "one into each field") };
        let coarsest = ForCorrection(&levels[last]);
        self.smooth_3d(coarsest, 0, coarsest.0.smoothed)?;
        self.smooth_3d(coarsest, coarsest.0.smoothed, coarsest.0.values)?;
        for (index, pair) in levels.windows(2).enumerate().rev() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            self.correct_3d(level, coarse, level.smoothed, coarse.values, level.other)?;
            if index == 0 {
                self.finish_3d(ForSolution(level), level.other, change)?;
            } else {
                self.finish_3d(ForCorrection(level), level.other, 0)?;
            }
        }
        Ok(())
    }

    /// Queues the steps of one smoothing, from `from` (0: zero) through `other` to `to`, which may be `from`.
    fn smooth_3d(&self, equation: impl Equation, from: u64, to: u64) -> Result<()> {
        let (level, right, weights) = equation.parts();
        let mut source = from;
        for (step, &weight) in weights.iter().enumerate() {
            let target = if step % 2 == 0 { level.other } else { to };
            self.step_3d(level, right, source, target, weight, 0)?;
            source = target;
        }
        Ok(())
    }

    /// Queues the steps of one smoothing from `from`, which is `other` or `smoothed`, through both of them to `values`.
    /// The last step compares its result with the old `values`.
    fn finish_3d(&self, equation: impl Equation, from: u64, change: u64) -> Result<()> {
        let (level, right, weights) = equation.parts();
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

    /// Queues one step of a smoothing.
    fn step_3d(&self, level: &Level, right: u64, from: u64, to: u64, weight: f32, change: u64) -> Result<()> {
        let GridKernels::Volume { step, .. } = &self.kernels.kind else { unreachable!("3D kernels for a volume") };
        let [width, height, depth] = &level.shape;
        let mut launch = self.stream.raw().launch_builder(step);
        launch.arg(&from).arg(&to).arg(&right).arg(&level.mask).arg(width).arg(height).arg(depth);
        launch.arg(&level.pitch).arg(&level.mask_pitch).arg(&level.grid.lambda).arg(&weight).arg(&change);
        // SAFETY: as in `smooth`.
        unsafe { launch.launch(geometry_3d(level)) }.map(|_| ()).map_err(|e| launch_failed(e, "step_3d"))
    }

    /// Queues the residuals of `smoothed`, which become the right-hand side of the next coarser grid.
    fn restrict_3d(&self, level: &Level, coarse: &Level, right: u64) -> Result<()> {
        let GridKernels::Volume { restrict, .. } = &self.kernels.kind else { unreachable!("3D kernels for a volume") };
        let [width, height, depth] = &level.shape;
        let [coarse_width, coarse_height, coarse_depth] = &coarse.shape;
        let mut launch = self.stream.raw().launch_builder(restrict);
        launch.arg(&level.smoothed).arg(&right).arg(&level.mask).arg(width).arg(height).arg(depth);
        launch.arg(&level.pitch).arg(&level.mask_pitch).arg(&level.grid.lambda);
        launch.arg(&coarse.right).arg(coarse_width).arg(coarse_height).arg(coarse_depth).arg(&coarse.pitch);
        // SAFETY: as in `smooth`; a thread writes one coarse voxel.
        unsafe { launch.launch(geometry_3d(coarse)) }.map(|_| ()).map_err(|e| launch_failed(e, "restrict_3d"))
    }

    /// Queues the sum of `from` (0: the shape) and `below`, the interpolated values of the next coarser grid (0: zero),
    /// into `to`.
    fn correct_3d(&self, level: &Level, coarse: &Level, from: u64, below: u64, to: u64) -> Result<()> {
        let GridKernels::Volume { correct, .. } = &self.kernels.kind else { unreachable!("3D kernels for a volume") };
        let [width, height, depth] = &level.shape;
        let [coarse_width, coarse_height, coarse_depth] = &coarse.shape;
        let mut launch = self.stream.raw().launch_builder(correct);
        launch.arg(&from).arg(&to).arg(&level.mask).arg(width).arg(height).arg(depth);
        launch.arg(&level.pitch).arg(&level.mask_pitch);
        launch.arg(&below).arg(coarse_width).arg(coarse_height).arg(coarse_depth).arg(&coarse.pitch);
        // SAFETY: as in `smooth`.
        unsafe { launch.launch(geometry_3d(level)) }.map(|_| ()).map_err(|e| launch_failed(e, "correct_3d"))
    }
}

/// Returns the geometry of one thread per voxel; blocks loop over voxels beyond the largest grid.
fn geometry_3d(level: &Level) -> LaunchConfig {
    let blocks = |axis: usize| level.grid.shape[axis].div_ceil(BLOCK_3D[axis]);
    LaunchConfig {
        grid_dim: (blocks(0) as u32, blocks(1).min(MAX_GRID_YZ) as u32, blocks(2).min(MAX_GRID_YZ) as u32),
        block_dim: (BLOCK_3D[0] as u32, BLOCK_3D[1] as u32, BLOCK_3D[2] as u32),
        shared_mem_bytes: 0,
    }
}
