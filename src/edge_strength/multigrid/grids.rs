//! The grids of a solve and the steps of the smoother on each. They depend only on the image's shape and the operator, so
//! they are the same on all devices.

use crate::device::kernels::edge_strength::{MG_COARSE_STEPS, MG_FINE_STEPS};

/// The operator of a grid's equation, Σ_a w_a·(v_before − 2v + v_after) − λv along the axes a. Axes of one cell do not count.
#[derive(Clone, Copy, Debug)]
pub(in crate::edge_strength) struct Operator {
    /// The weights along x, y, z.
    pub weights: [f64; 3],
    pub lambda: f64,
}

impl Operator {
    /// Returns the largest weight of an axis with more than one cell; if there is none, the weight along x.
    fn strongest(&self, shape: [usize; 3]) -> f64 {
        let counted = self.weights.iter().zip(shape).filter(|(_, cells)| *cells > 1);
        counted.map(|(weight, _)| *weight).reduce(f64::max).unwrap_or(self.weights[0])
    }

    /// Multiplies the operator by a factor so that the weight along x is 1, and returns the factor. Axes of one cell get
    /// the weight of the strongest axis, so that they do not affect the result by rounding.
    fn normalise(&mut self, shape: [usize; 3]) -> f64 {
        let strongest = self.strongest(shape);
        self.weights = std::array::from_fn(|axis| if shape[axis] > 1 { self.weights[axis] } else { strongest });
        let factor = self.weights[0].recip();
        self.weights = self.weights.map(|weight| weight * factor);
        self.lambda *= factor;
        factor
    }

    /// Tells whether a grid of this shape needs the operations for volumes, because those for slices have no weights.
    pub(in crate::edge_strength) fn is_of_volume(&self, shape: [usize; 3]) -> bool {
        shape[2] > 1 || shape[0] > 1 && shape[1] > 1 && self.weights[0] != self.weights[1]
    }
}

/// A smoother: the steps before and after each coarse correction. They damp errors whose eigenvalues of −Σ_a w_a ∂²_a are
/// from `from`, in units of the largest weight, to the largest one, 4·Σ_a w_a. For coarse grids alone a `from` of 2 would
/// be enough; it is much smaller because the coarse grids cannot correct errors near the shape.
struct Smoother {
    /// The order in which the roots of the polynomial are used; root 0 is the largest. This order keeps the growth of
    /// intermediate values and of rounding errors within a factor of 5.
    order: &'static [usize],
    from: f64,
    /// The number of axes.
    axes: usize,
}

/// The smoother of the finest 2D grid, where steps cost most, and of the first guess.
const FINEST_2D: Smoother = Smoother { order: &[1, 5, 0, 3, 4, 2], from: 0.3, axes: 2 };
/// The smoother of corrections on coarser 2D grids.
const COARSER_2D: Smoother = Smoother { order: &[2, 6, 3, 5, 0, 7, 1, 4], from: 0.15, axes: 2 };
/// The smoother of all grids of a volume.
const VOLUME: Smoother = Smoother { order: &[1, 3, 0, 2], from: 0.6, axes: 3 };
/// The number of steps of the smoother of volumes.
pub(in crate::edge_strength) const VOLUME_STEPS: usize = VOLUME.order.len();

// The kernels unroll the steps.
const _: () = assert!(FINEST_2D.order.len() == MG_FINE_STEPS && COARSER_2D.order.len() == MG_COARSE_STEPS);

/// An axis is halved if its weight is at least this share of the largest weight. Halving an axis divides its weight by
/// four, so the ratio of two weights ends between this value and its reciprocal, whatever it is at first.
const STRONG: f64 = 0.5;

/// Coarsening stops when λ reaches this, in units of the largest weight (cells are then 2ρ wide), because smoothing alone
/// converges.
const COARSEST_LAMBDA: f64 = 4.0;

/// The number of smoothings that solve the coarsest grid.
pub(in crate::edge_strength) const COARSEST_SMOOTHINGS: usize = 2;

/// The largest λ that is used. With a larger λ every value outside the shape would be below any tolerance, and float32
/// would overflow.
const MAX_LAMBDA: f64 = 1e12;

/// The parameters of one grid, the same on all devices.
#[derive(Clone, Debug)]
pub(in crate::edge_strength) struct Grid {
    pub shape: [usize; 3],
    /// The operator's weights along x, y, z; 1 along x.
    pub weights: [f32; 3],
    /// The operator's λ.
    pub lambda: f32,
    /// λ in units of the largest weight.
    pub relative_lambda: f32,
    /// The factor of the right-hand side, which is this times the mean of the children's residuals on the next finer grid.
    pub residual_factor: f32,
    /// The step widths of the smoother, in order, if the grid corrects a finer one. Their number is even.
    pub correction_weights: Vec<f32>,
    /// The step widths of the smoother, in order, if the grid is the finest or computes the first guess. Their number is
    /// even.
    pub solution_weights: Vec<f32>,
}

impl Grid {
    fn new(shape: [usize; 3], operator: &Operator, factor: f64, volume: bool) -> Self {
        let (solution, correction) = if volume { (&VOLUME, &VOLUME) } else { (&FINEST_2D, &COARSER_2D) };
        let strongest = operator.strongest(shape);
        Self {
            shape,
            weights: operator.weights.map(|weight| weight as f32),
            lambda: operator.lambda as f32,
            relative_lambda: (operator.lambda / strongest) as f32,
            residual_factor: factor as f32,
            correction_weights: weights(correction, operator, strongest),
            solution_weights: weights(solution, operator, strongest),
        }
    }

    /// Returns the weight of the centre, which is the sum of the neighbours' weights and λ, for the first two or three
    /// axes. It is split into two numbers: the rounded sum of the weights, and λ plus the rounding error of that sum.
    pub(in crate::edge_strength) fn centre(&self, axes: usize) -> [f32; 2] {
        let sum = 2.0 * self.weights[..axes].iter().copied().map(f64::from).sum::<f64>();
        [sum as f32, (f64::from(self.lambda) + (sum - f64::from(sum as f32))) as f32]
    }
}

/// Returns all grids for an operator and a shape, finest first. The solve may use fewer, because a grid without free cells
/// is not needed. `volume` chooses the smoother.
///
/// Each grid halves only the axes along which the operator couples cells strongly: a few steps of the smoother make
/// corrections smooth only along these. Equal weights remain equal.
pub(in crate::edge_strength) fn grids(shape: [usize; 3], mut operator: Operator, volume: bool) -> Vec<Grid> {
    operator.normalise(shape);
    operator.lambda = operator.lambda.min(MAX_LAMBDA * operator.strongest(shape));
    let mut grids = vec![Grid::new(shape, &operator, 1.0, volume)];
    let (mut cells, mut halvings) = (shape, [0; 3]);
    loop {
        let strongest = operator.strongest(cells);
        if cells == [1; 3] || operator.lambda >= COARSEST_LAMBDA * strongest {
            return grids;
        }
        let halved: [bool; 3] =
            std::array::from_fn(|axis| cells[axis] == 1 || operator.weights[axis] >= STRONG * strongest);
        for axis in (0..3).filter(|&axis| halved[axis]) {
            halvings[axis] += 1;
            cells[axis] = half(cells[axis], shape[axis], halvings[axis]);
            operator.weights[axis] /= 4.0;
        }
        let factor = operator.normalise(cells);
        grids.push(Grid::new(cells, &operator, factor, volume));
    }
}

/// Returns the index of the grid in use on which the first guess starts: the first one with cells of ρ/8 or more, because
/// wider cells would not improve the guess, but never the coarsest. `None` if the solve starts from the shape alone.
pub(in crate::edge_strength) fn first_guess<'a>(grids: impl ExactSizeIterator<Item = &'a Grid>) -> Option<usize> {
    const MIN_LAMBDA: f32 = 1.0 / 64.0;
    let last = grids.len().checked_sub(2).filter(|&last| last > 0)?;
    Some(grids.take(last).skip(1).position(|grid| grid.relative_lambda >= MIN_LAMBDA).map_or(last, |index| index + 1))
}

/// Halves `n` cells for the `level`th time, rounded so that the border of the grid stays closest to the border of the
/// image. Rounding up each time would move the border outwards by up to a cell, and slow down convergence (a factor of 0.64
/// instead of 0.2 per cycle at 513²).
fn half(n: usize, image: usize, level: usize) -> usize {
    let (down, up) = ((n / 2).max(1), n.div_ceil(2));
    let miss = |cells: usize| ((cells as u128) << level).abs_diff(image as u128);
    if miss(down) <= miss(up) { down } else { up }
}

/// Returns the reciprocal roots of the Chebyshev polynomial of the smoothed part of the spectrum, in a stable order.
fn weights(smoother: &Smoother, operator: &Operator, strongest: f64) -> Vec<f32> {
    let from = smoother.from * strongest;
    let to = 4.0 * operator.weights[..smoother.axes].iter().sum::<f64>();
    let (middle, radius) = ((from + to) / 2.0 + operator.lambda, (to - from) / 2.0);
    let steps = smoother.order.len() as f64;
    let root = |index: usize| middle + radius * (std::f64::consts::PI * (index as f64 + 0.5) / steps).cos();
    smoother.order.iter().map(|&index| (1.0 / root(index)) as f32).collect()
}
