//! Simple reference implementations, written from the definitions.

use isoline::edge_strength::Dimensions;
use ndarray::Array3;

/// Iterates eq. 3 of the paper in float64. `shape` marks the pixels that stay at 1.
pub fn iterate_f64(
    start: &Array3<f64>,
    shape: &Array3<bool>,
    dimensions: Dimensions,
    rho: f64,
    time_step: f64,
    iterations: u64,
) -> Array3<f64> {
    let lambda = 1.0 / (rho * rho);
    let mut v = start.clone();
    for _ in 0..iterations {
        let old = v.clone();
        for (at, new) in v.indexed_iter_mut() {
            if shape[at] {
                continue;
            }
            let neighbours = neighbours(old.dim(), at, dimensions);
            let sum: f64 = neighbours.iter().map(|neighbour| old[*neighbour]).sum();
            *new = old[at] + time_step * (sum - (neighbours.len() as f64 + lambda) * old[at]);
        }
    }
    v
}

/// Iterates in the documented float32 arithmetic: two fused multiply-adds on a sum of neighbours in a fixed order, and
/// the centre weight 4 + λ (6 + λ) rounded in each iteration, with the rounding error carried to the next; after every
/// 16th iteration values below 2⁻⁸⁰ are set to 0.
pub fn iterate_f32(
    start: &Array3<f32>,
    shape: &Array3<bool>,
    dimensions: Dimensions,
    rho: f64,
    time_step: f32,
    iterations: u64,
) -> Array3<f32> {
    let lambda = 1.0 / (rho * rho);
    let mut carry = 0.0;
    let mut v = start.clone();
    for iteration in 1..=iterations {
        let old = v.clone();
        let count = if dimensions == Dimensions::Volume { 6.0 } else { 4.0 };
        let wanted = count + lambda + carry;
        let k = wanted as f32;
        carry = wanted - f64::from(k);
        for (at, new) in v.indexed_iter_mut() {
            let n: Vec<f32> = neighbours(old.dim(), at, dimensions).iter().map(|n| old[*n]).collect();
            let sum = match n[..] {
                [left, right, up, down] => (left + right) + (up + down),
                [left, right, up, down, front, back] => ((left + right) + (up + down)) + (front + back),
                _ => unreachable!(),
            };
            let change = (-k).mul_add(old[at], sum);
            *new = if shape[at] { 0.0f32 } else { time_step }.mul_add(change, old[at]);
            if iteration % 16 == 0 && *new < 2.0f32.powi(-80) {
                *new = 0.0;
            }
        }
    }
    v
}

/// Returns left, right, up, down (front, back) of (z, y, x); beyond the border, the pixel itself.
fn neighbours(
    (depth, height, width): (usize, usize, usize),
    (z, y, x): (usize, usize, usize),
    dimensions: Dimensions,
) -> Vec<(usize, usize, usize)> {
    let before = |i: usize| i.saturating_sub(1);
    let after = |i: usize, size: usize| (i + 1).min(size - 1);
    let mut all = vec![(z, y, before(x)), (z, y, after(x, width)), (z, before(y), x), (z, after(y, height), x)];
    if dimensions == Dimensions::Volume {
        all.extend([(before(z), y, x), (after(z, depth), y, x)]);
    }
    all
}
