//! Cycles in 2D. A smoothing is one launch, with the interpolation before it and the residuals after it.
#![allow(unsafe_code)]

use super::{CycleStart, Equation, ForCorrection, ForSolution, Level};
use crate::device::cuda::{Cuda, Kernel, Stream, geometry};
use crate::device::kernels::edge_strength::{
    MG_COARSE_SMALL_Y, MG_COARSE_X, MG_COARSE_Y, MG_FINE_SMALL_Y, MG_FINE_X, MG_FINE_Y, MG_WARPS, WARP,
    isoline_mg_weights,
};
use crate::edge_strength::cuda::constants::MODULE;
use crate::edge_strength::multigrid::COARSEST_SMOOTHINGS;
use crate::error::Result;

/// The block of a 2D smoothing: lanes and warps.
const BLOCK_2D: [usize; 3] = [WARP, MG_WARPS, 1];

/// The pixels that a block writes where a large grid is solved for v.
const TILE_FINE: [usize; 2] = [MG_FINE_X, MG_FINE_Y];
/// The pixels that a block writes where a large grid is solved for a correction.
const TILE_COARSE: [usize; 2] = [MG_COARSE_X, MG_COARSE_Y];
/// The pixels that a block writes where a small grid is solved for a correction.
const TILE_SMALL: [usize; 2] = [MG_COARSE_X, MG_COARSE_SMALL_Y];
/// The pixels that a block writes where a small grid is solved for v.
const TILE_SMALL_SOLUTION: [usize; 2] = [MG_FINE_X, MG_FINE_SMALL_Y];

/// The number of large tiles from which a coarse grid is large: about one for each multiprocessor.
const LARGE_TILES: usize = 100;

/// The kernels of a smoothing in 2D.
pub(super) struct SliceKernels {
    fine_down: Kernel,
    fine_up: Kernel,
    fine_alone: Kernel,
    coarse_down: Kernel,
    coarse_up: Kernel,
    fine_guess: Kernel,
    small_start: Kernel,
    small_guess: Kernel,
    small_finish: Kernel,
    small_down: Kernel,
    small_up: Kernel,
    coarsest_zero: Kernel,
    coarsest_on: Kernel,
}

impl SliceKernels {
    pub(super) fn new(cuda: &Cuda) -> Result<Self> {
        let kernel = |name: &str| cuda.kernel(MODULE, &format!("isoline_mg_{name}"));
        Ok(Self {
            fine_down: kernel("fine_down")?,
            fine_up: kernel("fine_up")?,
            fine_alone: kernel("fine_alone")?,
            coarse_down: kernel("coarse_down")?,
            coarse_up: kernel("coarse_up")?,
            fine_guess: kernel("fine_guess")?,
            small_start: kernel("small_start")?,
            small_guess: kernel("small_guess")?,
            small_finish: kernel("small_finish")?,
            small_down: kernel("small_down")?,
            small_up: kernel("small_up")?,
            coarsest_zero: kernel("coarsest_zero")?,
            coarsest_on: kernel("coarsest_on")?,
        })
    }

    /// Queues one V-cycle on `levels`; see [`Multigrid::cycle`](super::Multigrid::cycle).
    pub(super) fn cycle(&self, stream: &Stream, levels: &[Level], start: CycleStart, change: u64) -> Result<()> {
        let last = levels.len() - 1;
        if last == 0 {
            let only = ForSolution(&levels[0]);
            smooth(stream, (&self.fine_alone, TILE_FINE), only, None, only.0.values, only.0.smoothed, 0)?;
            return smooth(stream, (&self.fine_alone, TILE_FINE), only, None, only.0.smoothed, only.0.values, change);
        }
        let large = |level: &Level| tiles(level, TILE_COARSE) >= LARGE_TILES;
        let (down, up) = match (start, large(&levels[0])) {
            (CycleStart::Values, true) => ((&self.fine_down, TILE_FINE), (&self.fine_up, TILE_FINE)),
            (CycleStart::Values, false) => {
                ((&self.small_start, TILE_SMALL_SOLUTION), (&self.small_finish, TILE_SMALL_SOLUTION))
            }
            (_, true) => ((&self.fine_guess, TILE_FINE), (&self.fine_up, TILE_FINE)),
            (_, false) => ((&self.small_guess, TILE_SMALL_SOLUTION), (&self.small_finish, TILE_SMALL_SOLUTION)),
        };
        for (index, pair) in levels.windows(2).enumerate() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            if index == 0 {
                let coarse =
                    if start == CycleStart::Shape { CoarserGrid::Right(coarse) } else { CoarserGrid::All(coarse) };
                smooth(stream, down, ForSolution(level), Some(coarse), level.values, level.smoothed, 0)?;
            } else {
                let kernel =
                    if large(level) { (&self.coarse_down, TILE_COARSE) } else { (&self.small_down, TILE_SMALL) };
                smooth(stream, kernel, ForCorrection(level), Some(CoarserGrid::All(coarse)), 0, level.smoothed, 0)?;
            }
        }
        const { assert!(COARSEST_SMOOTHINGS == 2, "one into each field") };
        let coarsest = ForCorrection(&levels[last]);
        smooth(stream, (&self.coarsest_zero, TILE_SMALL), coarsest, None, 0, coarsest.0.smoothed, 0)?;
        smooth(stream, (&self.coarsest_on, TILE_SMALL), coarsest, None, coarsest.0.smoothed, coarsest.0.values, 0)?;
        for (index, pair) in levels.windows(2).enumerate().rev() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            let coarse = Some(CoarserGrid::All(coarse));
            if index == 0 {
                smooth(stream, up, ForSolution(level), coarse, level.smoothed, level.values, change)?;
            } else {
                let kernel = if large(level) { (&self.coarse_up, TILE_COARSE) } else { (&self.small_up, TILE_SMALL) };
                smooth(stream, kernel, ForCorrection(level), coarse, level.smoothed, level.values, 0)?;
            }
        }
        Ok(())
    }
}

/// Queues one launch of a 2D smoothing kernel, whose blocks write tiles of the size given with it.
fn smooth(
    stream: &Stream,
    (kernel, tile): (&Kernel, [usize; 2]),
    equation: impl Equation,
    coarse: Option<CoarserGrid<'_>>,
    from: u64,
    to: u64,
    change: u64,
) -> Result<()> {
    let (level, right, steps) = equation.parts();
    let config = geometry([tiles(level, tile), 1, 1], BLOCK_2D);
    let mut weights = isoline_mg_weights::default();
    weights.w[..steps.len()].copy_from_slice(steps);
    let (coarse_values, coarse_right, coarse_shape, coarse_pitch) = match coarse {
        None => (0, 0, [0; 3], 0),
        Some(CoarserGrid::All(c)) => (c.values, c.right, c.shape, c.pitch),
        Some(CoarserGrid::Right(c)) => (0, c.right, c.shape, c.pitch),
    };
    let [width, height, _] = &level.shape;
    let [coarse_width, coarse_height, _] = &coarse_shape;
    // SAFETY: the arguments are the kernel's, in its order; fields and masks have their grid's bytes, `from` and
    // `to` are different buffers, and the pointers that are 0 belong to features that the kernel does not have.
    // The kernels begin by waiting for the launch ahead.
    unsafe {
        stream.launch_early(
            kernel,
            config,
            &[
                &from,
                &to,
                &right,
                &level.mask,
                width,
                height,
                &level.pitch,
                &level.mask_pitch,
                &level.grid.lambda,
                &weights,
                &coarse_values,
                &coarse_right,
                coarse_width,
                coarse_height,
                &coarse_pitch,
                &change,
            ],
        )
    }
}

/// The next coarser grid as a smoothing kernel uses it.
#[derive(Clone, Copy)]
enum CoarserGrid<'a> {
    /// Its values and its right-hand side.
    All(&'a Level),
    /// Only its right-hand side, because its values are not computed yet.
    Right(&'a Level),
}

/// Returns the number of tiles that cover a grid.
fn tiles(level: &Level, tile: [usize; 2]) -> usize {
    level.grid.shape[0].div_ceil(tile[0]) * level.grid.shape[1].div_ceil(tile[1])
}
