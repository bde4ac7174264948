//! The grids of a solve and the steps of the smoother on each: functions of the image's shape and λ alone, the same on
//! all devices.

use crate::device::kernels::edge_strength::{MG_COARSE_STEPS, MG_FINE_STEPS};

/// A smoother: the steps, before and after each coarse correction, that damp the errors whose eigenvalue of −∇² is
/// between `from` and `to`. `from` is well below the 2 (2D) that coarse grids require, because the coarse grids cannot
/// correct errors near the shape.
struct Smoother {
    /// The order in which the roots of the polynomial are used; root 0 is the largest. It keeps both intermediate
    /// values and rounding errors within 5×.
    order: &'static [usize],
    from: f64,
    to: f64,
}

/// The smoother of the finest 2D grid, where steps cost most, and of the first guess.
const FINEST_2D: Smoother = Smoother { order: &[1, 5, 0, 3, 4, 2], from: 0.3, to: 8.0 };
/// The smoother of corrections on coarser 2D grids.
const COARSER_2D: Smoother = Smoother { order: &[2, 6, 3, 5, 0, 7, 1, 4], from: 0.15, to: 8.0 };
/// The smoother of all grids of a volume.
const VOLUME: Smoother = Smoother { order: &[1, 3, 0, 2], from: 0.6, to: 12.0 };

// The kernels unroll the steps.
const _: () = assert!(FINEST_2D.order.len() == MG_FINE_STEPS && COARSER_2D.order.len() == MG_COARSE_STEPS);

/// Coarsening stops when λ in units of the grid reaches this (cells are 2ρ wide): smoothing alone then converges.
const COARSEST_LAMBDA: f64 = 4.0;

/// The number of smoothings that solve the coarsest grid.
pub(in crate::edge_strength) const COARSEST_SMOOTHINGS: usize = 2;

/// The largest λ that is used. For larger λ every value outside the shape is below any tolerance, and float32 would
/// overflow.
const MAX_LAMBDA: f64 = 1e12;

/// The parameters of one grid, the same on all devices.
#[derive(Clone, Debug)]
pub(in crate::edge_strength) struct Grid {
    pub shape: [usize; 3],
    pub lambda: f32,
    /// The step widths of the smoother, in order, where the grid corrects a finer one; an even number of them.
    pub correction_weights: Vec<f32>,
    /// The step widths of the smoother, in order, where the grid is the finest or computes the first guess; an even
    /// number of them.
    pub solution_weights: Vec<f32>,
}

/// Returns all grids that `lambda` and the shape require, finest first; fixed cells may end the list earlier. `volume`
/// chooses the smoother.
pub(in crate::edge_strength) fn grids(shape: [usize; 3], lambda: f64, volume: bool) -> Vec<Grid> {
    let mut lambda = lambda.min(MAX_LAMBDA);
    let (solution, correction) = if volume { (&VOLUME, &VOLUME) } else { (&FINEST_2D, &COARSER_2D) };
    let grid = |shape, lambda: f64| Grid {
        shape,
        lambda: lambda as f32,
        correction_weights: weights(correction, lambda),
        solution_weights: weights(solution, lambda),
    };
    let mut grids = vec![grid(shape, lambda)];
    let mut cells = shape;
    while cells.iter().any(|&n| n > 1) && lambda < COARSEST_LAMBDA {
        lambda *= 4.0;
        cells = std::array::from_fn(|axis| half(cells[axis], shape[axis], grids.len()));
        grids.push(grid(cells, lambda));
    }
    grids
}

/// Returns the index of the grid on which the first guess starts, of the `grids` in use: the first one with cells of
/// ρ/8 or more, because wider cells would not improve the guess, but never the coarsest. `None` if the solve starts
/// from the shape alone.
pub(in crate::edge_strength) fn first_guess<'a>(grids: impl ExactSizeIterator<Item = &'a Grid>) -> Option<usize> {
    const MIN_LAMBDA: f32 = 1.0 / 64.0;
    let last = grids.len().checked_sub(2).filter(|&last| last > 0)?;
    Some(grids.take(last).skip(1).position(|grid| grid.lambda >= MIN_LAMBDA).map_or(last, |index| index + 1))
}

/// Halves `n` cells, rounded so that the border of the grid, `level` grids below the finest, stays closest to the
/// border of the image. Rounding up always would move it outwards by up to a cell, and slow convergence down (a factor
/// of 0.64 instead of 0.2 per cycle at 513²).
fn half(n: usize, image: usize, level: usize) -> usize {
    let (down, up) = ((n / 2).max(1), n.div_ceil(2));
    let miss = |cells: usize| ((cells as u128) << level).abs_diff(image as u128);
    if miss(down) <= miss(up) { down } else { up }
}

/// Returns the reciprocal roots of the Chebyshev polynomial of the smoothed part of the spectrum, in a stable order.
fn weights(smoother: &Smoother, lambda: f64) -> Vec<f32> {
    let Smoother { order, from, to } = smoother;
    let (middle, radius) = ((from + to) / 2.0 + lambda, (to - from) / 2.0);
    let steps = order.len() as f64;
    let root = |index: usize| middle + radius * (std::f64::consts::PI * (index as f64 + 0.5) / steps).cos();
    order.iter().map(|&index| (1.0 / root(index)) as f32).collect()
}
