//! The grids of a solve and the steps of the smoother on each: functions of the image's shape and λ alone, the same on
//! all devices.

/// A smoother: the steps, before and after each coarse correction, that damp the errors whose eigenvalue of −∇² is
/// between `from` and `to`. `from` is well below the 2 (2D) that coarse grids demand, because near the shape the coarse
/// grids cannot help.
struct Smoother {
    /// The order of the polynomial's roots, largest first, that keeps both intermediate values and rounding errors
    /// within 5×.
    order: &'static [usize],
    from: f64,
    to: f64,
}

/// On the finest grid, where steps are dearest, and for the first guess.
const FINEST: Smoother = Smoother { order: &[1, 5, 0, 3, 4, 2], from: 0.3, to: 8.0 };
const COARSE: Smoother = Smoother { order: &[2, 6, 3, 5, 0, 7, 1, 4], from: 0.15, to: 8.0 };
/// On all grids of a volume.
const VOLUME: Smoother = Smoother { order: &[1, 3, 0, 2], from: 0.6, to: 12.0 };

/// The most steps of a smoother.
pub(in crate::edge_strength) const MOST_STEPS: usize = 8;

/// Coarsening stops when λ in units of the grid reaches this (cells are 2ρ wide): smoothing alone then converges.
const COARSEST_LAMBDA: f64 = 4.0;

/// Smoothings that solve the coarsest grid.
pub(in crate::edge_strength) const COARSEST_SMOOTHINGS: usize = 2;

/// Above this λ every value but the shape's is below any tolerance, and float32 would overflow.
const LARGEST_LAMBDA: f64 = 1e12;

/// One grid's numbers, the same on all devices.
#[derive(Clone, Debug)]
pub(in crate::edge_strength) struct Grid {
    pub shape: [usize; 3],
    pub lambda: f32,
    /// The smoother's step widths, in order; an even number of them. When it corrects a finer grid:
    pub weights: Vec<f32>,
    /// When it is the finest, or makes the first guess:
    pub own_weights: Vec<f32>,
}

/// All grids that `lambda` and the shape call for, finest first; fixed cells may end the list earlier.
pub(in crate::edge_strength) fn grids(shape: [usize; 3], lambda: f64) -> Vec<Grid> {
    let mut lambda = lambda.min(LARGEST_LAMBDA);
    let (own, coarse) = if shape[2] > 1 { (&VOLUME, &VOLUME) } else { (&FINEST, &COARSE) };
    let grid = |shape, lambda: f64| Grid {
        shape,
        lambda: lambda as f32,
        weights: weights(coarse, lambda),
        own_weights: weights(own, lambda),
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

/// The grid on which the first guess starts, of the `grids` in use: the first with cells of ρ/8 or more, as wider cells
/// would tell nothing, but never the coarsest. `None`: the solver starts from the shape alone.
pub(in crate::edge_strength) fn first_guess<'a>(grids: impl ExactSizeIterator<Item = &'a Grid>) -> Option<usize> {
    const LEAST_LAMBDA: f32 = 1.0 / 64.0;
    let last = grids.len().checked_sub(2).filter(|&last| last > 0)?;
    Some(grids.take(last).skip(1).position(|grid| grid.lambda >= LEAST_LAMBDA).map_or(last, |index| index + 1))
}

/// Half of `n` cells, rounded to where `level` grids down the border stays closest to the image's: always rounding up
/// would let it drift outwards by up to a cell, and convergence suffers (0.64 instead of 0.2 a cycle at 513²).
fn half(n: usize, image: usize, level: usize) -> usize {
    let (down, up) = ((n / 2).max(1), n.div_ceil(2));
    let miss = |cells: usize| ((cells as u128) << level).abs_diff(image as u128);
    if miss(down) <= miss(up) { down } else { up }
}

/// The reciprocal roots of the Chebyshev polynomial of the smoothed part of the spectrum, in a stable order.
fn weights(smoother: &Smoother, lambda: f64) -> Vec<f32> {
    let Smoother { order, from, to } = smoother;
    let (middle, radius) = ((from + to) / 2.0 + lambda, (to - from) / 2.0);
    let steps = order.len() as f64;
    let root = |index: usize| middle + radius * (std::f64::consts::PI * (index as f64 + 0.5) / steps).cos();
    order.iter().map(|&index| (1.0 / root(index)) as f32).collect()
}
