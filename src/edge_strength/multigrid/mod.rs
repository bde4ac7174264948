//! The converged mode: solves (∇² − λ)v = 0 outside the shape by multigrid, with v = 1 on the shape and a zero normal
//! derivative at the border. With a spacing, ∇² has a weight for each axis.
//!
//! **Method.** V-cycles on cell-centred grids, each half as fine as the one before: along all axes or, while spacings
//! differ, only along the axes with the smaller spacings (semi-coarsening). A coarse cell is fixed if any of its children
//! is fixed, so a coarse correction never leaks through a line one pixel wide and never overshoots. The drawback is that
//! corrections miss a fringe along the shape, which is left to the smoother. The smoother is a Chebyshev polynomial of the
//! five-point (3D: seven-point) update. Its steps run inside a tile while that is in cache, so that many steps cost one
//! pass over memory. Coarse right-hand sides are sums of the children's residuals; corrections are interpolated linearly.
//! Coarsening stops when the mass term dominates (cells wider than 2ρ) or every cell is fixed. The first guess is the
//! solution on the coarse grids, computed from coarse to fine by one cycle on each (nested iteration).
//!
//! **Range.** Each cycle ends by clamping the values to 0..1, in the pass that writes them. The solution is in that range,
//! so clamping never increases an error. The error is estimated from the changes of the clamped values.
//!
//! **Accuracy.** Values are float32. Residuals are computed from differences, Σ(v_n − v) − λv, so λ is not lost by rounding
//! 4 + λ, however large ρ is. The remaining error is the rounding of the smoother, about 1e-6.
//!
//! **Reproducibility.** Tiles, grids and the order of operations depend on the image's shape only, and the only reduction
//! is a maximum, so the result has the same bits for every number of threads. The CUDA kernels do the same operations.
//!
//! This file has the cycles on the CPU; `grids` has the sizes and weights of the grids, `convergence` the stopping
//! criterion, `relax` a smoothing of a grid, `tile` the steps on one tile, and `lines` the interpolation of coarse
//! values. `docs/edge_strength_converged.md` has the reasons, the measured rates and the rejected ideas.

mod convergence;
mod grids;
mod lines;
mod relax;
#[cfg(test)]
mod tests;
mod tile;

use super::Outcome;
use crate::error::Result;
use crate::memory::Array;
use crate::parallel::{try_par_copy, try_par_parts};
use crate::progress::Ticker;
pub(super) use convergence::ConvergenceMonitor;
pub(super) use grids::{COARSEST_SMOOTHINGS, Grid, Operator, VOLUME_STEPS, first_guess, grids};
use rayon::prelude::*;
use relax::{Tiles, relax};
use std::ops::Range;

/// The outcome if no pixel is on the shape: v is 0 everywhere.
pub(super) const EMPTY: Outcome = Outcome { iterations: 0, residual: 0.0, converged: true };

/// The options of a solve.
#[derive(Clone, Copy, Debug)]
pub(super) struct SolveOptions {
    /// The equation of the finest grid.
    pub operator: Operator,
    /// The solve stops when the estimated largest error of any pixel is at most this.
    pub tolerance: f64,
    pub max_cycles: u64,
}

/// Solves in place. `field` is packed, x fastest; it holds the initial values, then v. `fixed` is 1 on the shape. A
/// `shape` of depth 1 is 2D.
pub(super) fn solve(
    field: &mut [f32],
    fixed: &[u8],
    shape: [usize; 3],
    options: &SolveOptions,
    ticker: &Ticker,
) -> Result<Outcome> {
    if !fixed.contains(&1) {
        field.fill(0.0);
        return Ok(EMPTY);
    }
    // 1. Make the grids, and put the initial values on the finest one. Axes of one voxel are moved to the end: they do not
    //    matter to the equation, this does not change the order of the values in memory, and tiles with few voxels along x
    //    or y would have large halos.
    let mut axes = [0, 1, 2];
    axes.sort_by_key(|&axis| shape[axis] == 1);
    let Operator { weights, lambda } = options.operator;
    let operator = Operator { weights: axes.map(|axis| weights[axis]), lambda };
    let grids = grids(axes.map(|axis| shape[axis]), operator, options.operator.is_of_volume(shape));
    let mut levels = levels(fixed, grids, ticker)?;
    try_par_parts(&mut levels[0].values, ticker, |first, values| {
        let given = field[first..].iter().zip(&fixed[first..]);
        values.iter_mut().zip(given).for_each(|(v, (given, fixed))| *v = if *fixed == 0 { *given } else { 1.0 });
    })?;
    // 2. Nested iteration: compute a first guess from coarse to fine.
    let tiles = Tiles::default();
    let mut start = CycleStart::Values;
    if let Some(first) = first_guess(levels.iter().map(|level| &level.grid)) {
        let Level { values, fixed, .. } = &mut levels[first];
        values.iter_mut().zip(fixed.iter()).for_each(|(value, &fixed)| *value = f32::from(fixed));
        for index in (1..=first).rev() {
            cycle(&mut levels[index..], start, &tiles, ticker)?;
            start = CycleStart::Guess;
        }
    }
    // 3. Run cycles until the estimated error is within the tolerance, or no longer decreases.
    let mut monitor = ConvergenceMonitor::new();
    while monitor.goes_on(options) {
        monitor.note(f64::from(cycle(&mut levels, start, &tiles, ticker)?));
        start = CycleStart::Values;
        ticker.set(monitor.fraction(options));
    }
    try_par_copy(field, &levels[0].values, ticker)?;
    Ok(monitor.outcome(options))
}

/// A grid with its fields.
struct Level {
    grid: Grid,
    fixed: Array<u8>,
    /// The values of v on the finest grid; on the others the correction of the next finer grid.
    values: Array<f32>,
    /// The values after the first smoothing.
    smoothed: Array<f32>,
    /// The right-hand side; empty, which means zero, on the finest grid.
    right: Array<f32>,
}

/// Makes the fields of the grids, finest first, up to the last grid with free cells.
fn levels(fixed: &[u8], grids: Vec<Grid>, ticker: &Ticker) -> Result<Vec<Level>> {
    let mut levels: Vec<Level> = Vec::new();
    for grid in grids {
        let fixed = match levels.last() {
            None => {
                let mut copy = Array::zeroed(fixed.len())?;
                try_par_copy(&mut copy, fixed, ticker)?;
                copy
            }
            Some(finer) => coarsen(&finer.fixed, finer.grid.shape, grid.shape, ticker)?,
        };
        if !levels.is_empty() && !fixed.contains(&0) {
            break;
        }
        let cells = fixed.len();
        let right = if levels.is_empty() { Array::default() } else { Array::zeroed(cells)? };
        levels.push(Level { grid, fixed, values: Array::zeroed(cells)?, smoothed: Array::zeroed(cells)?, right });
    }
    Ok(levels)
}

/// Returns the number of cells of a finer grid, along one axis, for each cell of a coarser one: 1 if the axis was not halved.
fn stride(coarse: usize, fine: usize) -> usize {
    if coarse == fine { 1 } else { 2 }
}

/// Returns the children of coarse cell `index` along one axis. If the number of cells was rounded down, the last cell
/// has three children.
fn children(index: usize, coarse: usize, fine: usize) -> Range<usize> {
    if coarse == fine {
        return index..index + 1;
    }
    2 * index..if index + 1 == coarse { fine } else { 2 * index + 2 }
}

/// Returns the mask of the coarse grid: a cell is fixed if any of its children is.
fn coarsen(fixed: &[u8], fine: [usize; 3], coarse: [usize; 3], ticker: &Ticker) -> Result<Array<u8>> {
    let mut cells: Array<u8> = Array::zeroed(coarse.iter().product())?;
    cells.par_chunks_mut(coarse[0]).enumerate().try_for_each(|(row, cells)| {
        ticker.check()?;
        for z in children(row / coarse[1], coarse[2], fine[2]) {
            for y in children(row % coarse[1], coarse[1], fine[1]) {
                let line = &fixed[(z * fine[1] + y) * fine[0]..][..fine[0]];
                for (x, cell) in cells.iter_mut().enumerate() {
                    *cell |= line[children(x, coarse[0], fine[0])].iter().fold(0, |any, f| any | f);
                }
            }
        }
        Ok(())
    })?;
    Ok(cells)
}

/// The equation that a cycle solves on the first of its grids, and the values from which it starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CycleStart {
    /// The equation for v, from the values of the grid.
    Values,
    /// The equation for v, from the interpolated values of the next coarser grid.
    Guess,
    /// The equation for the correction of the next finer grid, from zero.
    Correction,
}

/// Runs one V-cycle from the first of `levels` down. On the finest grid it clamps the values to 0..1 and returns their
/// largest change; on other grids it returns 0.
fn cycle(levels: &mut [Level], start: CycleStart, tiles: &Tiles, ticker: &Ticker) -> Result<f32> {
    let Some((level, coarser)) = levels.split_first_mut() else { return Ok(0.0) };
    let Level { grid, fixed, values, smoothed, right } = level;
    let for_solution = start != CycleStart::Correction;
    // Only the finest grid has no right-hand side. The values of v on coarser grids are only a first guess.
    let result = for_solution && right.is_empty();
    let problem = Problem {
        grid,
        weights: if for_solution { &grid.solution_weights } else { &grid.correction_weights },
        fixed,
        right: if for_solution { &[] } else { right },
        tiles,
    };
    let Some(below) = coarser.first_mut() else {
        // The coarsest grid is solved by smoothing.
        const { assert!(COARSEST_SMOOTHINGS == 2, "one smoothing into each field") };
        let source = if for_solution { Source::Values(values) } else { Source::Zero };
        relax(&problem, source, smoothed, None, false, ticker)?;
        return relax(&problem, Source::Values(smoothed), values, None, result, ticker);
    };
    // Smooth, restrict the residuals to the coarser grid, solve for the correction there, add it, and smooth again.
    let source = match start {
        CycleStart::Values => Source::Values(values),
        CycleStart::Guess => Source::Guess(&below.values, below.grid.shape),
        CycleStart::Correction => Source::Zero,
    };
    relax(&problem, source, smoothed, Some((&mut below.right, &below.grid)), false, ticker)?;
    cycle(coarser, CycleStart::Correction, tiles, ticker)?;
    let correction = Source::Corrected(smoothed, &coarser[0].values, coarser[0].grid.shape);
    relax(&problem, correction, values, None, result, ticker)
}

/// The equation on one grid, the same in all passes over it.
struct Problem<'a> {
    grid: &'a Grid,
    weights: &'a [f32],
    fixed: &'a [u8],
    right: &'a [f32],
    tiles: &'a Tiles,
}

/// The values from which a smoothing starts.
#[derive(Clone, Copy)]
enum Source<'a> {
    Zero,
    Values(&'a [f32]),
    /// The interpolated values of a coarser grid, and 1 on the shape.
    Guess(&'a [f32], [usize; 3]),
    /// Values, to which the interpolated values of a coarser grid are added.
    Corrected(&'a [f32], &'a [f32], [usize; 3]),
}
