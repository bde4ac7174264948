//! Eq. 3 as a plain loop on one thread: the reference that the fast paths are compared with.

use super::{FLUSH_THRESHOLD, Plan, is_flushed};
use crate::error::Result;
use crate::memory::Array;
use crate::progress::Ticker;

/// Applies one iteration per centre weight to `field` (x fastest, then y, then z). Pixels with `fixed` != 0 keep their
/// value.
pub(super) fn iterate(
    field: &mut Array<f32>,
    fixed: &[u8],
    shape: [usize; 3],
    plan: &Plan,
    ticker: &Ticker,
) -> Result<()> {
    let [width, height, depth] = shape;
    let volume = plan.dimensions == 3;
    let [_, weight_y, weight_z] = plan.weights;
    // This is a Jacobi iteration: every pixel is computed from values of the previous iteration only, so the order of the
    // loop does not matter.
    let mut next = Array::zeroed(field.len())?;
    next.copy_from_slice(field);
    for (done, &centre) in plan.centre_weights.iter().enumerate() {
        let (from, to): (&[f32], &mut [f32]) = (field, &mut next);
        let flush_below = if is_flushed(done + 1) { FLUSH_THRESHOLD } else { 0.0 };
        for z in 0..depth {
            for y in 0..height {
                ticker.check()?;
                // The pixel beyond the border has the value of the border pixel.
                let row = (z * height + y) * width;
                let up = if y > 0 { row - width } else { row };
                let down = if y + 1 < height { row + width } else { row };
                let front = if z > 0 { row - width * height } else { row };
                let back = if z + 1 < depth { row + width * height } else { row };
                for x in 0..width {
                    if fixed[row + x] != 0 {
                        continue;
                    }
                    let v = from[row + x];
                    let left = from[row + if x > 0 { x - 1 } else { x }];
                    let right = from[row + if x + 1 < width { x + 1 } else { x }];
                    // The weights of 2D are 1.
                    let mut sum = (left + right) + weight_y * (from[up + x] + from[down + x]);
                    if volume {
                        sum += weight_z * (from[front + x] + from[back + x]);
                    }
                    // With weights that are not integers the sum is rounded, and may slightly exceed the weight of the
                    // centre.
                    let changed = (v + plan.time_step * (sum - centre * v)).min(1.0);
                    to[row + x] = if changed < flush_below { 0.0 } else { changed };
                }
            }
            ticker.add((width * height) as u64);
        }
        std::mem::swap(field, &mut next);
    }
    Ok(())
}
