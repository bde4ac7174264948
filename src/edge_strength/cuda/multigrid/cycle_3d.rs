//! Cycles in 3D. Each step of a smoothing is a launch, and so are residuals and corrections.
#![allow(unsafe_code)]

use super::{CycleStart, Equation, ForCorrection, ForSolution, GridKernels, Level, Multigrid};
use crate::device::cuda::geometry;
use crate::device::kernels::edge_strength::{MG_BLOCK_X, MG_BLOCK_Y, MG_BLOCK_Z};
use crate::edge_strength::multigrid::COARSEST_SMOOTHINGS;
use crate::error::Result;
use cudarc::driver::{DeviceRepr, LaunchConfig};

/// The block of the 3D kernels.
const BLOCK_3D: [usize; 3] = [MG_BLOCK_X, MG_BLOCK_Y, MG_BLOCK_Z];

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
        let fields: [&dyn DeviceRepr; 7] = [&from, &to, &right, &level.mask, width, height, depth];
        let [_, weight_y, weight_z] = &level.grid.weights;
        let [centre, rest] = &level.grid.centre(3);
        let pitches: [&dyn DeviceRepr; 2] = [&level.pitch, &level.mask_pitch];
        let numbers: [&dyn DeviceRepr; 6] = [weight_y, weight_z, centre, rest, &weight, &change];
        // SAFETY: as in `smooth`.
        unsafe { self.stream.launch(step, geometry_3d(level), &[fields.as_slice(), &pitches, &numbers].concat()) }
    }

    /// Queues the residuals of `smoothed`, which become the right-hand side of the next coarser grid.
    fn restrict_3d(&self, level: &Level, coarse: &Level, right: u64) -> Result<()> {
        let GridKernels::Volume { restrict, .. } = &self.kernels.kind else { unreachable!("3D kernels for a volume") };
        let [width, height, depth] = &level.shape;
        let [coarse_width, coarse_height, coarse_depth] = &coarse.shape;
        let fine: [&dyn DeviceRepr; 6] = [&level.smoothed, &right, &level.mask, width, height, depth];
        let [_, weight_y, weight_z] = &level.grid.weights;
        /// The kernel sums as many children of a coarse voxel.
        const CHILDREN: f32 = 8.0;
        let factor = coarse.grid.residual_factor / CHILDREN;
        let pitches: [&dyn DeviceRepr; 6] =
            [&level.pitch, &level.mask_pitch, weight_y, weight_z, &level.grid.lambda, &factor];
        let rest: [&dyn DeviceRepr; 5] = [&coarse.right, coarse_width, coarse_height, coarse_depth, &coarse.pitch];
        // SAFETY: as in `smooth`; a thread writes one coarse voxel.
        unsafe { self.stream.launch(restrict, geometry_3d(coarse), &[fine.as_slice(), &pitches, &rest].concat()) }
    }

    /// Queues the sum of `from` (0: the shape) and `below`, the interpolated values of the next coarser grid (0: zero),
    /// into `to`.
    fn correct_3d(&self, level: &Level, coarse: &Level, from: u64, below: u64, to: u64) -> Result<()> {
        let GridKernels::Volume { correct, .. } = &self.kernels.kind else { unreachable!("3D kernels for a volume") };
        let [width, height, depth] = &level.shape;
        let [coarse_width, coarse_height, coarse_depth] = &coarse.shape;
        let fine: [&dyn DeviceRepr; 6] = [&from, &to, &level.mask, width, height, depth];
        let pitches: [&dyn DeviceRepr; 2] = [&level.pitch, &level.mask_pitch];
        let rest: [&dyn DeviceRepr; 5] = [&below, coarse_width, coarse_height, coarse_depth, &coarse.pitch];
        // SAFETY: as in `smooth`.
        unsafe { self.stream.launch(correct, geometry_3d(level), &[fine.as_slice(), &pitches, &rest].concat()) }
    }
}

/// Returns the geometry of one thread per voxel; blocks loop over voxels beyond the largest grid.
fn geometry_3d(level: &Level) -> LaunchConfig {
    geometry([0, 1, 2].map(|axis| level.grid.shape[axis].div_ceil(BLOCK_3D[axis])), BLOCK_3D)
}
