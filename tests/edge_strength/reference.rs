//! Simple reference implementations, written from the definitions.

use isoline::edge_strength::Dimensions;
use ndarray::Array3;

/// The spacing of slices, and of volumes that have none.
pub const EQUAL: [f64; 3] = [1.0; 3];

/// Iterates eq. 3 of the paper in float64, with each second difference divided by the square of the spacing along its axis. The
/// time step is in units of the square of the smallest spacing. `shape` marks the pixels that stay at 1.
pub fn iterate_f64(
    start: &Array3<f64>,
    shape: &Array3<bool>,
    dimensions: Dimensions,
    spacing: [f64; 3],
    rho: f64,
    time_step: f64,
    iterations: u64,
) -> Array3<f64> {
    let smallest = spacing.into_iter().fold(f64::INFINITY, f64::min);
    let mut v = start.clone();
    for _ in 0..iterations {
        let old = v.clone();
        for (at, new) in v.indexed_iter_mut() {
            if shape[at] {
                continue;
            }
            let pairs = neighbours(&old, at).into_iter().zip(spacing).take(axes_of(dimensions));
            let laplacian: f64 = pairs.map(|([a, b], h)| (a - 2.0 * old[at] + b) / (h * h)).sum();
            *new = old[at] + time_step * smallest * smallest * (laplacian - old[at] / (rho * rho));
        }
    }
    v
}

/// Iterates in the documented float32 arithmetic: two fused multiply-adds on a sum of neighbours in a fixed order, with weights
/// relative to that along x, and the centre weight 4 + λ (6 + λ) rounded in each iteration, with the rounding error carried to
/// the next; at most 1; after every 16th iteration values below 2⁻⁸⁰ are set to 0. The time step is in units of the square of
/// the spacing along x.
pub fn iterate_f32(
    start: &Array3<f32>,
    shape: &Array3<bool>,
    dimensions: Dimensions,
    spacing: [f64; 3],
    rho: f64,
    time_step: f32,
    iterations: u64,
) -> Array3<f32> {
    let weights = spacing.map(|h| (spacing[0] / h * (spacing[0] / h)) as f32);
    let neighbours_weight = 2.0 * weights[..axes_of(dimensions)].iter().map(|weight| f64::from(*weight)).sum::<f64>();
    let lambda = 1.0 / (rho / spacing[0] * (rho / spacing[0]));
    let mut carry = 0.0;
    let mut v = start.clone();
    for iteration in 1..=iterations {
        let old = v.clone();
        let wanted = neighbours_weight + lambda + carry;
        let k = wanted as f32;
        carry = wanted - f64::from(k);
        for (at, new) in v.indexed_iter_mut() {
            let [[left, right], [up, down], [front, back]] = neighbours(&old, at);
            let sum = match dimensions {
                Dimensions::Slices => (left + right) + (up + down),
                _ => (front + back).mul_add(weights[2], (up + down).mul_add(weights[1], left + right)),
            };
            let change = (-k).mul_add(old[at], sum);
            *new = if shape[at] { 0.0f32 } else { time_step }.mul_add(change, old[at]).min(1.0);
            if iteration % 16 == 0 && *new < 2.0f32.powi(-80) {
                *new = 0.0;
            }
        }
    }
    v
}

fn axes_of(dimensions: Dimensions) -> usize {
    if dimensions == Dimensions::Volume { 3 } else { 2 }
}

/// Returns the values left and right of (z, y, x), above and below, in front and behind; beyond the border, that of the pixel
/// itself.
fn neighbours<T: Copy>(values: &Array3<T>, (z, y, x): (usize, usize, usize)) -> [[T; 2]; 3] {
    let (depth, height, width) = values.dim();
    let around = |i: usize, size: usize| [i.saturating_sub(1), (i + 1).min(size - 1)];
    [
        around(x, width).map(|x| values[[z, y, x]]),
        around(y, height).map(|y| values[[z, y, x]]),
        around(z, depth).map(|z| values[[z, y, x]]),
    ]
}
