//! Cycles in 3D. Each step of a smoothing is a launch, and so are residuals and corrections.
//!
//! For volumes in slabs (`slabs.rs`), operations on the finest grid can be limited to some of its slices. Each operation
//! then has to cover one more slice on either side than the operation that uses its result.
#![allow(unsafe_code)]

use super::{CycleStart, Equation, ForCorrection, ForSolution, Level};
use crate::device::cuda::{Cuda, Kernel, Stream, geometry};
use crate::device::kernels::edge_strength::{MG_BLOCK_X, MG_BLOCK_Y, MG_BLOCK_Z};
use crate::edge_strength::cuda::constants::MODULE;
use crate::edge_strength::multigrid::COARSEST_SMOOTHINGS;
use crate::error::Result;
use cudarc::driver::{DeviceRepr, LaunchConfig};
use std::ops::Range;

/// The block of the 3D kernels.
const BLOCK_3D: [usize; 3] = [MG_BLOCK_X, MG_BLOCK_Y, MG_BLOCK_Z];

/// The kernels for volumes. Each writes some slices of a grid.
pub(super) struct VolumeKernels {
    step: Kernel,
    restrict: Kernel,
    correct: Kernel,
}

impl VolumeKernels {
    pub(super) fn new(cuda: &Cuda) -> Result<Self> {
        let kernel = |name: &str| cuda.kernel(MODULE, &format!("isoline_mg_{name}_3d"));
        Ok(Self { step: kernel("step")?, restrict: kernel("restrict")?, correct: kernel("correct")? })
    }

    /// Queues one V-cycle on `levels`; see [`Multigrid::cycle`](super::Multigrid::cycle).
    pub(super) fn cycle(&self, stream: &Stream, levels: &[Level], start: CycleStart, change: u64) -> Result<()> {
        let (finest, coarse) = (&levels[0], levels.get(1));
        self.descend(stream, finest, coarse, start, &finest.slices())?;
        if let Some(coarse) = coarse {
            self.restrict(stream, finest, coarse, 0, &coarse.slices())?;
            self.solve_correction(stream, &levels[1..])?;
        }
        self.ascend(stream, finest, coarse, change, &finest.slices())
    }

    /// Queues the smoothing that begins a cycle on its first grid, into some slices of `smoothed`.
    pub(super) fn descend(
        &self,
        stream: &Stream,
        finest: &Level,
        coarse: Option<&Level>,
        start: CycleStart,
        slices: &Range<usize>,
    ) -> Result<()> {
        let equation = ForSolution(finest);
        let below = if let CycleStart::Guess(values) = start { values } else { 0 };
        match coarse {
            Some(coarse) if start != CycleStart::Values => {
                let wider = finest.wider(slices, finest.grid.solution_weights.len());
                self.correct(stream, finest, coarse, [0, below], finest.smoothed, &wider)?;
                self.smooth(stream, equation, finest.smoothed, finest.smoothed, slices)
            }
            _ => self.smooth(stream, equation, finest.values, finest.smoothed, slices),
        }
    }

    /// Queues the correction and the smoothing that end a cycle on its first grid, into some slices of `values`.
    pub(super) fn ascend(
        &self,
        stream: &Stream,
        finest: &Level,
        coarse: Option<&Level>,
        change: u64,
        slices: &Range<usize>,
    ) -> Result<()> {
        let mut from = finest.smoothed;
        if let Some(coarse) = coarse {
            let wider = finest.wider(slices, finest.grid.solution_weights.len());
            self.correct(stream, finest, coarse, [finest.smoothed, coarse.values], finest.other, &wider)?;
            from = finest.other;
        }
        self.finish(stream, ForSolution(finest), from, change, slices)
    }

    /// Queues the part of a V-cycle that computes the correction of the next finer grid: from the right-hand side of the
    /// first grid of `levels` to its values.
    pub(super) fn solve_correction(&self, stream: &Stream, levels: &[Level]) -> Result<()> {
        for pair in levels.windows(2) {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            self.smooth(stream, ForCorrection(level), 0, level.smoothed, &level.slices())?;
            self.restrict(stream, level, coarse, level.right, &coarse.slices())?;
        }
        const { assert!(COARSEST_SMOOTHINGS == 2, "one into each field") };
        let coarsest = levels.last().unwrap_or_else(|| unreachable!("a correction has a grid"));
        let (equation, all) = (ForCorrection(coarsest), coarsest.slices());
        self.smooth(stream, equation, 0, coarsest.smoothed, &all)?;
        self.smooth(stream, equation, coarsest.smoothed, coarsest.values, &all)?;
        for pair in levels.windows(2).rev() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            let all = level.slices();
            self.correct(stream, level, coarse, [level.smoothed, coarse.values], level.other, &all)?;
            self.finish(stream, ForCorrection(level), level.other, 0, &all)?;
        }
        Ok(())
    }

    /// Queues the steps of one smoothing, from `from` (0: zero) through `other` to `to`, which may be `from`.
    fn smooth(
        &self,
        stream: &Stream,
        equation: impl Equation,
        from: u64,
        to: u64,
        slices: &Range<usize>,
    ) -> Result<()> {
        let (level, right, weights) = equation.parts();
        let mut source = from;
        for (step, &weight) in weights.iter().enumerate() {
            let target = if step % 2 == 0 { level.other } else { to };
            let slices = level.wider(slices, weights.len() - 1 - step);
            self.step(stream, level, right, [source, target], weight, 0, &slices)?;
            source = target;
        }
        Ok(())
    }

    /// Queues the steps of one smoothing from `from`, which is `other` or `smoothed`, through both of them to `values`.
    /// The last step compares its result with the old `values`.
    fn finish(
        &self,
        stream: &Stream,
        equation: impl Equation,
        from: u64,
        change: u64,
        slices: &Range<usize>,
    ) -> Result<()> {
        let (level, right, weights) = equation.parts();
        let mut source = from;
        for (step, &weight) in weights.iter().enumerate() {
            let last = step + 1 == weights.len();
            let target = match (last, source == level.other) {
                (true, _) => level.values,
                (false, true) => level.smoothed,
                (false, false) => level.other,
            };
            let slices = level.wider(slices, weights.len() - 1 - step);
            self.step(stream, level, right, [source, target], weight, if last { change } else { 0 }, &slices)?;
            source = target;
        }
        Ok(())
    }

    /// Queues one step of a smoothing.
    #[allow(clippy::too_many_arguments, reason = "two fields and what the kernel does with them")]
    fn step(
        &self,
        stream: &Stream,
        level: &Level,
        right: u64,
        [from, to]: [u64; 2],
        weight: f32,
        change: u64,
        slices: &Range<usize>,
    ) -> Result<()> {
        let [width, height, depth] = &level.shape;
        let fields: [&dyn DeviceRepr; 7] = [&from, &to, &right, &level.mask, width, height, depth];
        let [_, weight_y, weight_z] = &level.grid.weights;
        let [centre, rest] = &level.grid.centre(3);
        let pitches: [&dyn DeviceRepr; 2] = [&level.pitch, &level.mask_pitch];
        let [first, end] = &[slices.start as i32, slices.end as i32];
        let numbers: [&dyn DeviceRepr; 8] = [weight_y, weight_z, centre, rest, &weight, &change, first, end];
        let arguments = [fields.as_slice(), &pitches, &numbers].concat();
        // SAFETY: the arguments are the kernel's, in its order; each field has the slices that are written, and where it is
        // read one more on either side within the grid.
        unsafe { stream.launch(&self.step, geometry_3d(level, slices), &arguments) }
    }

    /// Queues the residuals of `smoothed`, which become the right-hand side of the next coarser grid, in some slices of that.
    pub(super) fn restrict(
        &self,
        stream: &Stream,
        level: &Level,
        coarse: &Level,
        right: u64,
        slices: &Range<usize>,
    ) -> Result<()> {
        // If the coarse grid was rounded down, the last slice is not a child of any coarse slice.
        if slices.is_empty() {
            return Ok(());
        }
        let [width, height, depth] = &level.shape;
        let [coarse_width, coarse_height, coarse_depth] = &coarse.shape;
        let fine: [&dyn DeviceRepr; 6] = [&level.smoothed, &right, &level.mask, width, height, depth];
        let [_, weight_y, weight_z] = &level.grid.weights;
        /// The number of children of a coarse voxel whose residuals the kernel sums.
        const CHILDREN: f32 = 8.0;
        let factor = coarse.grid.residual_factor / CHILDREN;
        let pitches: [&dyn DeviceRepr; 6] =
            [&level.pitch, &level.mask_pitch, weight_y, weight_z, &level.grid.lambda, &factor];
        let [first, end] = &[slices.start as i32, slices.end as i32];
        let rest: [&dyn DeviceRepr; 7] =
            [&coarse.right, coarse_width, coarse_height, coarse_depth, &coarse.pitch, first, end];
        let arguments = [fine.as_slice(), &pitches, &rest].concat();
        // SAFETY: as in `step`; a thread writes one coarse voxel, and `smoothed` has its children and their neighbours.
        unsafe { stream.launch(&self.restrict, geometry_3d(coarse, slices), &arguments) }
    }

    /// Queues the addition of `from` (address 0: the shape) and the interpolated values of the next coarser grid at `below`
    /// (address 0: zeros), into some slices of `to`.
    fn correct(
        &self,
        stream: &Stream,
        level: &Level,
        coarse: &Level,
        [from, below]: [u64; 2],
        to: u64,
        slices: &Range<usize>,
    ) -> Result<()> {
        let [width, height, depth] = &level.shape;
        let [coarse_width, coarse_height, coarse_depth] = &coarse.shape;
        let fine: [&dyn DeviceRepr; 6] = [&from, &to, &level.mask, width, height, depth];
        let pitches: [&dyn DeviceRepr; 2] = [&level.pitch, &level.mask_pitch];
        let [first, end] = &[slices.start as i32, slices.end as i32];
        let rest: [&dyn DeviceRepr; 7] = [&below, coarse_width, coarse_height, coarse_depth, &coarse.pitch, first, end];
        let arguments = [fine.as_slice(), &pitches, &rest].concat();
        // SAFETY: as in `step`; the coarse grid is whole.
        unsafe { stream.launch(&self.correct, geometry_3d(level, slices), &arguments) }
    }
}

impl Level {
    /// Returns all slices.
    fn slices(&self) -> Range<usize> {
        0..self.grid.shape[2]
    }

    /// Returns `slices` with `by` more on either side, clipped to the grid.
    pub(super) fn wider(&self, slices: &Range<usize>, by: usize) -> Range<usize> {
        slices.start.saturating_sub(by)..(slices.end + by).min(self.grid.shape[2])
    }
}

/// Returns the geometry of one thread for each voxel of some slices; blocks loop over voxels beyond the largest grid.
fn geometry_3d(level: &Level, slices: &Range<usize>) -> LaunchConfig {
    let [width, height, _] = level.grid.shape;
    let threads = [width, height, slices.len()];
    geometry([0, 1, 2].map(|axis| threads[axis].div_ceil(BLOCK_3D[axis])), BLOCK_3D)
}
