//! The edge term of the geodesic active contour (Caselles, Kimmel and Sapiro 1997).
//!
//! The edge-stopping function g = 1 / (1 + (|∇I_σ| / K)²) is 1 where the smoothed image I_σ is even and falls towards 0 at
//! its edges. The speed is multiplied by g, and an advection term carries the front down the slope of g, towards its
//! minimum at the edge.

use super::Plan;
use super::tiles::Layout;
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{Image, on_host, view_of};
use crate::level_set::plan::EdgePlan;
use crate::level_set::scalar::Edge;
use crate::memory::{Array, reserved, zeroed};
use crate::progress::Ticker;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// The share of the voxels whose gradient is at most the automatic contrast.
const EVEN_SHARE: f64 = 0.9;
/// The voxels between two looks at the ticker.
const PART: usize = 1 << 20;
/// The reach of the Gaussian, in standard deviations.
const REACH: f64 = 3.0;

/// The edge-stopping function of an image, in the order of a layout.
#[derive(Debug)]
pub(in crate::level_set) struct Edges {
    /// The contrast K; for slices, the K of the first slice.
    pub contrast: f64,
    /// g.
    stopping: Array<f32>,
    /// ∇g along x, y and, of a volume, z.
    slope: Vec<Array<f32>>,
}

/// The edge-stopping function and its slope at consecutive voxels.
#[derive(Clone, Copy, Debug)]
pub(super) struct EdgesAt<'a> {
    pub stopping: &'a [f32],
    pub slope: [&'a [f32]; 3],
}

impl Edges {
    /// Measures the edges of an image, unless the ticker is cancelled.
    pub(in crate::level_set) fn new(
        context: &Context,
        plan: &Plan,
        edges: EdgePlan,
        input: &Image<'_>,
        layout: &Layout,
        ticker: &Ticker,
    ) -> Result<Self> {
        context.pool().install(|| {
            let packed = |values: &[f32]| layout.pack(view_of(values, plan.shape), ticker, |value| value);
            let grid = Grid { plan, ticker };
            let image = Layout::plain(plan.shape);
            let device = Err(Error::in_cuda_memory("image"));
            let mut smooth = on_host!(Image, input, view => image.pack(*view, ticker, f32::from), device)?;
            let mut other = Array::zeroed(smooth.len())?;
            for axis in 0..grid.axes() {
                let taps = gaussian(edges.sigma / plan.spacing[axis]);
                grid.fill(&mut other, |row, to| grid.convolve(&smooth, axis, &taps, row, to))?;
                std::mem::swap(&mut smooth, &mut other);
            }
            // From here on `other` holds gradients, then g.
            grid.fill(&mut other, |row, to| {
                let own = &smooth[grid.index(row, 0, 0, 0)..];
                for (x, to) in to.iter_mut().enumerate() {
                    let squares = (0..grid.axes()).map(|axis| grid.slope(&smooth, axis, row, x).powi(2));
                    *to = if own[x].is_finite() { squares.sum::<f64>().sqrt() as f32 } else { f32::NAN };
                }
            })?;
            // Each slice has its own contrast.
            let images = if plan.constants.volume { 1 } else { plan.shape[2] };
            let mut contrasts = reserved(images)?;
            for gradients in other.chunks_mut(plan.voxels() / images) {
                ticker.check()?;
                let contrast = match edges.contrast {
                    Some(contrast) => contrast,
                    None => even_gradient(gradients, ticker)?,
                };
                contrasts.push(contrast);
                gradients.par_iter_mut().for_each(|value| {
                    let ratio = f64::from(*value) / contrast;
                    // A pixel that is not finite makes g 0 within the reach of the Gaussian, so the front stops there.
                    *value = if value.is_finite() { (1.0 + ratio * ratio).recip() as f32 } else { 0.0 };
                });
            }
            let mut slope = Vec::new();
            for axis in 0..grid.axes() {
                grid.fill(&mut smooth, |row, to| {
                    to.iter_mut().enumerate().for_each(|(x, to)| *to = grid.slope(&other, axis, row, x) as f32);
                })?;
                slope.push(packed(&smooth)?);
            }
            Ok(Self { contrast: contrasts[0], stopping: packed(&other)?, slope })
        })
    }

    /// Returns g and its slope at a voxel.
    pub(in crate::level_set) fn at_voxel(&self, index: usize) -> Edge {
        Edge {
            stopping: self.stopping[index],
            slope: std::array::from_fn(|axis| self.slope.get(axis).map_or(0.0, |values| values[index])),
        }
    }

    /// Returns the edges of `count` voxels from voxel `first` on.
    pub(super) fn at(&self, first: usize, count: usize) -> EdgesAt<'_> {
        let part = first..first + count;
        let slope = std::array::from_fn(|axis| self.slope.get(axis).map_or(&[][..], |values| &values[part.clone()]));
        EdgesAt { stopping: &self.stopping[part], slope }
    }
}

/// Values in the order of an image. Beyond the border, the value at the border is repeated.
struct Grid<'a> {
    plan: &'a Plan,
    ticker: &'a Ticker,
}

impl Grid<'_> {
    fn axes(&self) -> usize {
        if self.plan.constants.volume { 3 } else { 2 }
    }

    /// Fills every row `[y, z]` of `to` by a function, unless the ticker is cancelled.
    fn fill(&self, to: &mut [f32], row: impl Fn([usize; 2], &mut [f32]) + Sync) -> Result<()> {
        let [width, height, _] = self.plan.shape;
        to.par_chunks_mut(width).enumerate().for_each(|(index, to)| {
            if !self.ticker.is_cancelled() {
                row([index % height, index / height], to);
            }
        });
        self.ticker.check()
    }

    /// Returns the index of the voxel that is `steps` voxels from voxel `x` of a row along an axis.
    fn index(&self, [y, z]: [usize; 2], x: usize, axis: usize, steps: isize) -> usize {
        let mut place = [x, y, z];
        place[axis] = place[axis].saturating_add_signed(steps).min(self.plan.shape[axis] - 1);
        (place[2] * self.plan.shape[1] + place[1]) * self.plan.shape[0] + place[0]
    }

    /// Returns the central difference along an axis at voxel `x` of a row, over the spacing.
    fn slope(&self, values: &[f32], axis: usize, row: [usize; 2], x: usize) -> f64 {
        let [before, after] = [-1, 1].map(|step| f64::from(values[self.index(row, x, axis, step)]));
        (after - before) / (2.0 * self.plan.spacing[axis])
    }

    /// Convolves a row along an axis with `taps`, whose middle one is the weight of the voxel itself.
    fn convolve(&self, values: &[f32], axis: usize, taps: &[f32], row: [usize; 2], to: &mut [f32]) {
        let middle = (taps.len() / 2) as isize;
        to.fill(0.0);
        for (tap, steps) in taps.iter().zip(-middle..) {
            // Along y and z another row is added; along x the same row, shifted.
            let (line, steps) = if axis > 0 { (steps, 0) } else { (0, steps) };
            let from = &values[self.index(row, 0, axis, line)..][..to.len()];
            Arch::new().dispatch(AddShifted { from, steps, tap: *tap, to });
        }
    }
}

/// Adds a row to another, shifted by some voxels and multiplied by a weight. Beyond its ends, the row's first and last
/// value are repeated.
struct AddShifted<'a> {
    from: &'a [f32],
    steps: isize,
    tap: f32,
    to: &'a mut [f32],
}

impl WithSimd for AddShifted<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { from, steps, tap, to } = self;
        let width = to.len();
        let beyond = steps.unsigned_abs().min(width);
        let [before, after] = if steps < 0 { [beyond, 0] } else { [0, beyond] };
        let (first, rest) = to.split_at_mut(before);
        let (within, last) = rest.split_at_mut(width - beyond);
        first.iter_mut().for_each(|to| *to = from[0].mul_add(tap, *to));
        within.iter_mut().zip(&from[after..]).for_each(|(to, value)| *to = value.mul_add(tap, *to));
        last.iter_mut().for_each(|to| *to = from[width - 1].mul_add(tap, *to));
    }
}

/// Returns the weights of a Gaussian with standard deviation `sigma`, in voxels; their sum is 1.
fn gaussian(sigma: f64) -> Vec<f32> {
    let reach = (REACH * sigma).ceil() as i32;
    let weight = |x: i32| if x == 0 { 1.0 } else { (-0.5 * (f64::from(x) / sigma).powi(2)).exp() };
    let sum: f64 = (-reach..=reach).map(weight).sum();
    (-reach..=reach).map(|x| (weight(x) / sum) as f32).collect()
}

/// Returns the gradient that [`EVEN_SHARE`] of the voxels do not exceed, to within 1 %. If that is 0, returns half of the
/// largest gradient, or 1 if all gradients are 0.
fn even_gradient(gradients: &[f32], ticker: &Ticker) -> Result<f64> {
    // Non-negative floats sort as their bits do, so their upper 16 bits are bins of rising values, less than 1 % wide.
    let bin = |gradient: f32| (gradient.to_bits() >> 16) as usize;
    let mut counts: Vec<u64> = zeroed(1 << 15)?;
    let (mut finite, mut largest) = (0u64, 0f32);
    for part in gradients.chunks(PART) {
        ticker.check()?;
        for gradient in part.iter().copied().filter(|gradient| gradient.is_finite()) {
            counts[bin(gradient)] += 1;
            finite += 1;
            largest = largest.max(gradient);
        }
    }
    let wanted = (EVEN_SHARE * finite as f64).ceil() as u64;
    let mut seen = 0;
    let found = counts.iter().position(|count| {
        seen += count;
        seen >= wanted
    });
    let gradient = f64::from(f32::from_bits((found.unwrap_or(0) as u32) << 16));
    Ok(match (gradient > 0.0, largest > 0.0) {
        (true, _) => gradient,
        (false, true) => f64::from(largest) / 2.0,
        (false, false) => 1.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level_set::intensities::Intensities;
    use crate::level_set::{Params, Side, TargetRange};

    #[test]
    fn a_pixel_that_is_not_finite_stops_the_front_without_smoothing() {
        let range = TargetRange { target: 1.0, epsilon: 1.0 };
        let intensities = Intensities { range, side: Side::Within, balance: 1.0, extremes: [1.0, 1.0] };
        let params = Params { range: Some(range), edge_weight: 1.0, edge_sigma: Some(0.0), ..Params::default() };
        let plan = params.resolve([5, 5, 5], &intensities).unwrap();
        let mut image = ndarray::Array3::<f32>::ones((5, 5, 5));
        image[[2, 2, 2]] = f32::NAN;
        let (context, layout) = (Context::new("cpu").unwrap(), Layout::plain(plan.shape));
        let edges = plan.edges.unwrap();
        let edges = Edges::new(&context, &plan, edges, &image.view().into(), &layout, &Ticker::new("")).unwrap();
        // The voxels at x = 0, 1 and 2 of the row of that pixel.
        let middle = (2 * 5 + 2) * 5;
        assert_eq!([0, 1, 2].map(|x| edges.at_voxel(middle + x).stopping), [1.0, 0.0, 0.0]);
    }

    fn plan(shape: [usize; 3]) -> Plan {
        let range = TargetRange { target: 1.0, epsilon: 1.0 };
        let intensities = Intensities { range, side: Side::Within, balance: 1.0, extremes: [0.0, 1.0] };
        Params { range: Some(range), edge_weight: 1.0, ..Params::default() }.resolve(shape, &intensities).unwrap()
    }

    #[test]
    fn convolutions_have_the_bits_of_a_loop_over_the_voxels() {
        for shape in [[1, 7, 3], [5, 4, 9], [37, 3, 2], [70, 1, 5]] {
            let plan = plan(shape);
            let ticker = Ticker::new("");
            let grid = Grid { plan: &plan, ticker: &ticker };
            let values: Vec<f32> = (0..plan.voxels()).map(|i| ((i * i * 31 + i * 7) % 255) as f32).collect();
            for (sigma, axis) in
                [0.0, 0.4, 2.0, 30.0].into_iter().flat_map(|sigma| (0..3).map(move |axis| (sigma, axis)))
            {
                let taps = gaussian(sigma);
                let mut smooth = vec![0.0; values.len()];
                grid.fill(&mut smooth, |row, to| grid.convolve(&values, axis, &taps, row, to)).unwrap();
                for (i, smooth) in smooth.iter().enumerate() {
                    let [x, y, z] = [i % shape[0], i / shape[0] % shape[1], i / shape[0] / shape[1]];
                    let steps = -(taps.len() as isize / 2)..;
                    let sum = taps.iter().zip(steps).fold(0.0f32, |sum, (tap, steps)| {
                        values[grid.index([y, z], x, axis, steps)].mul_add(*tap, sum)
                    });
                    assert_eq!(smooth.to_bits(), sum.to_bits(), "{shape:?}, sigma {sigma}, axis {axis}, voxel {i}");
                }
            }
        }
    }
}
