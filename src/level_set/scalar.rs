//! The level set as a plain loop on one thread. This is its definition: all other implementations follow it.
//!
//! The order and the rounding of every operation on f32 are part of the definition: products are fused with sums only where
//! the code says `mul_add`, and sums have the order that is written. The vector path does the same operations in the same
//! order, so it returns the same bits. CUDA does so except for factors that are powers of two, which it moves; that changes
//! no digit unless a number is subnormal. For other differences of its results, see `docs/level_set.md`.
//!
//! * **1/√x** is [`scaled_rsqrt`] times [`RSQRT_SCALE`], within 1.7e-5 of the value: a first approximation from the bits of
//!   x, corrected by a polynomial of degree 2 in its error, whose constants are in `kernels/level_set.h`. Unlike a division
//!   or a root it needs no special instruction, so it is cheap on every device. Its error changes slowly with x, so the
//!   curvature, which is made of differences of normals, is more accurate than that. The constant factor saves an
//!   operation; it is contained in the constants that normals are multiplied or compared with.
//! * **Normals** are defined on the faces between voxels. A voxel's normal towards +x is its neighbour's towards −x, so a
//!   pass over many voxels computes only one normal per axis and voxel. They are computed from differences that are four
//!   times as large as in the formula, which saves the factors ½.
//! * **|∇φ|** is upwind where the image term of the speed is larger than the curvature term. Elsewhere it is the root mean
//!   square of the differences on both sides, which is of second order; with the upwind gradient a front of radius R would
//!   be too fast by 0.35·h/R. The root is correctly rounded (IEEE 754).
//! * **Second order:** where |φ| is at most `second_order_width`, the one-sided differences of the upwind |∇φ| and of the
//!   edge term are of second order, see [`second_order`]. They are not used farther away, because φ has ridges there,
//!   beside which they would create a front where none was.
//! * **Where |φ| grows**, that is, where φ and the speed have the same sign, |∇φ| is limited to 1. At a front at rest F
//!   changes its sign, so φ becomes steep on both sides. With |∇φ| as a factor it would grow exponentially, and the zero of
//!   φ would end up near the side that grows more slowly instead of where F is 0. With the limit φ grows by F·Δt, so its
//!   zero tends to the zero of F.
//! * **Where |φ| shrinks**, −D is limited to the bound of `image_term_bounds` in `plan.rs`, which does not change the sign
//!   of F. A time step can be too long only there, so with this bound one bright pixel does not shorten the time step of
//!   all voxels.
//! * **The divergence** is bounded by √(2·Σh⁻²), about the curvature of one voxel. Without that bound the time step would
//!   be unstable at an extremum of φ, where |∇φ| times the divergence is several times the Laplacian of φ, with alternating
//!   sign.
//! * **Δt** is contained in the weights of both terms of the speed in `Constants`.

use super::plan::Plan;
use super::types::{Constants, Counts};
use crate::device::kernels::level_set::{
    BAND_REACH, MAX_INVERSE_GRADIENT, MIN_INVERSE_GRADIENT, RSQRT_REST, RSQRT_SCALE, RSQRT_SHIFT, RSQRT_START,
    SQUARE_MAX, SQUARE_ONE, TINY,
};
use crate::error::Result;
use crate::memory::zeroed;
use crate::progress::Ticker;

/// 1/|∇φ| is this factor times [`scaled_rsqrt`] of the squared length of the wide differences, whose length is 2·|∇φ|.
pub(super) const TWO_RSQRT_SCALES: f32 = (2.0 * RSQRT_SCALE) as f32;

/// Returns 1/√x over [`RSQRT_SCALE`], for 1e-36 < x < 1e36.
#[inline(always)]
pub(super) fn scaled_rsqrt(x: f32) -> f32 {
    let start = f32::from_bits((RSQRT_START as u32).wrapping_sub(x.to_bits()) >> 1);
    let off = (x * start).mul_add(start, RSQRT_SHIFT);
    start * off.mul_add(off, RSQRT_REST)
}

/// Returns the component across a face of the normal there, whose length is 1/[`RSQRT_SCALE`]. `d` is the difference of φ
/// across the face; `a` and `b` are, for each of the other axes, the sum of the wide differences on both sides of the face.
/// All are divided by their spacing.
#[inline(always)]
pub(super) fn normal(d: f32, a: f32, b: f32) -> f32 {
    let d = 4.0 * d;
    d * scaled_rsqrt(d.mul_add(d, a.mul_add(a, b.mul_add(b, TINY))))
}

/// Adds one axis of the squared upwind gradient of Osher and Sethian to `sum`.
#[inline(always)]
pub(super) fn upwind(speed: f32, forward: f32, backward: f32, sum: f32) -> f32 {
    let (forward, backward) = if speed > 0.0 {
        (if forward > 0.0 { forward } else { 0.0 }, if backward < 0.0 { backward } else { 0.0 })
    } else {
        (if forward < 0.0 { forward } else { 0.0 }, if backward > 0.0 { backward } else { 0.0 })
    };
    backward.mul_add(backward, forward.mul_add(forward, sum))
}

/// Returns Δt times the image term of the speed. A pixel that is not finite counts as far from T as the farthest finite
/// one, but at least 2ε. Any pixel beyond T on the open side of the range counts as T.
#[inline(always)]
pub(super) fn image_term(constants: &Constants, pixel: f32) -> f32 {
    let Constants { intensity_centre, open_side, max_deviation, intensity_gain, intensity_offset, .. } = *constants;
    let difference = pixel - intensity_centre;
    let apart = if difference * open_side > 0.0 { 0.0 } else { difference.abs() };
    (if apart < max_deviation { apart } else { max_deviation }).mul_add(intensity_gain, intensity_offset)
}

/// Clamps a value to ± `limit`.
#[inline(always)]
pub(super) fn clamp(value: f32, limit: f32) -> f32 {
    let value = if value < limit { value } else { limit };
    if value > -limit { value } else { -limit }
}

/// Returns the square of a change of φ as an integer, for the statistics.
#[inline(always)]
pub(super) fn square(constants: &Constants, change: f32) -> u32 {
    let change = change * constants.rms_scale;
    let square = change * change;
    let square = if square < SQUARE_MAX { square } else { SQUARE_MAX };
    (square * SQUARE_ONE) as u32
}

/// The edge-stopping function g at a voxel, and its slope ∇g.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub stopping: f32,
    pub slope: [f32; 3],
}

/// The edge of a voxel in an image without an edge term.
pub(super) const NO_EDGE: Edge = Edge { stopping: 1.0, slope: [0.0; 3] };

/// Adds one axis of ∇g·∇φ to `sum`: the slope of g times the upwind difference of φ. The difference is limited to 1, as
/// |∇φ| is where |φ| grows.
#[inline(always)]
pub(super) fn carried(slope: f32, forward: f32, backward: f32, sum: f32) -> f32 {
    slope.mul_add(clamp(if slope > 0.0 { forward } else { backward }, 1.0), sum)
}

/// φ around a voxel.
pub(super) trait Neighbourhood {
    /// Returns φ at an offset `[dx, dy, dz]` from the voxel; positions are clamped to the image.
    fn at(&self, offset: [isize; 3]) -> f32;
}

/// Returns φ' of a voxel from φ around it, its pixel and, with an edge term, its edge.
pub(super) fn updated_phi(constants: &Constants, phi: &impl Neighbourhood, pixel: f32, edge: Option<Edge>) -> f32 {
    let Constants { inverse_spacing, max_inward_term, curvature_weight, max_divergence, volume, .. } = *constants;
    let [ix, iy, iz] = inverse_spacing;
    let old = phi.at([0, 0, 0]);
    // Wide differences, twice the central ones, at an offset.
    let wide_x = |o: [isize; 3]| (phi.at([o[0] + 1, o[1], o[2]]) - phi.at([o[0] - 1, o[1], o[2]])) * ix;
    let wide_y = |o: [isize; 3]| (phi.at([o[0], o[1] + 1, o[2]]) - phi.at([o[0], o[1] - 1, o[2]])) * iy;
    let wide_z = |o: [isize; 3]| {
        if volume { (phi.at([o[0], o[1], o[2] + 1]) - phi.at([o[0], o[1], o[2] - 1])) * iz } else { 0.0 }
    };
    let here = [0, 0, 0];
    // The forward and the backward difference along an axis, and the difference of the normals along it.
    let sides = |axis: usize, inverse: f32, others: [&dyn Fn([isize; 3]) -> f32; 2]| {
        let unit = |sign: isize| std::array::from_fn(|i| if i == axis { sign } else { 0 });
        let forward = (phi.at(unit(1)) - old) * inverse;
        let backward = (old - phi.at(unit(-1))) * inverse;
        let [a, b] = others;
        let after = normal(forward, a(here) + a(unit(1)), b(here) + b(unit(1)));
        let before = normal(backward, a(unit(-1)) + a(here), b(unit(-1)) + b(here));
        (forward, backward, (after - before) * inverse)
    };
    let (forward_x, backward_x, divergence_x) = sides(0, ix, [&wide_y, &wide_z]);
    let (forward_y, backward_y, divergence_y) = sides(1, iy, [&wide_x, &wide_z]);
    let mut divergence = divergence_x + divergence_y;
    let mut along_z = None;
    if volume {
        let (forward_z, backward_z, divergence_z) = sides(2, iz, [&wide_x, &wide_y]);
        divergence += divergence_z;
        along_z = Some((forward_z, backward_z));
    }
    let divergence = clamp(divergence, max_divergence);
    let of_image = image_term(constants, pixel);
    let bounded = if of_image < max_inward_term { of_image } else { max_inward_term };
    let speed = divergence.mul_add(curvature_weight, bounded);
    let mut axes = [Some((forward_x, backward_x)), Some((forward_y, backward_y)), along_z];
    let both = axes
        .iter()
        .flatten()
        .fold(TINY, |sum, (forward, backward)| backward.mul_add(*backward, forward.mul_add(*forward, sum)));
    if old.abs() <= constants.second_order_width {
        for (axis, (sides, inverse)) in axes.iter_mut().zip(inverse_spacing).enumerate() {
            let Some(sides) = sides else { continue };
            let along = |n: isize| phi.at(std::array::from_fn(|i| if i == axis { n } else { 0 }));
            *sides = second_order(*sides, ((along(2) - along(1)) * inverse, (along(-1) - along(-2)) * inverse));
        }
    }
    let one_sided =
        axes.iter().flatten().fold(TINY, |sum, (forward, backward)| upwind(speed, *forward, *backward, sum));
    let curvature_leads = (divergence * curvature_weight).abs() > bounded.abs();
    let gradient = if curvature_leads { 0.5 * both } else { one_sided };
    let grows = (speed > 0.0) != (old < 0.0);
    let gradient = if grows && gradient > 1.0 { 1.0 } else { gradient };
    let speed = if grows { divergence.mul_add(curvature_weight, of_image) } else { speed };
    let Some(Edge { stopping, slope }) = edge else { return speed.mul_add(gradient.sqrt(), old) };
    let carried = axes
        .into_iter()
        .zip(slope)
        .fold(0.0, |sum, (axis, slope)| axis.map_or(sum, |(forward, backward)| carried(slope, forward, backward, sum)));
    (speed * stopping).mul_add(gradient.sqrt(), carried.mul_add(constants.edge_weight, old))
}

/// Returns φ of a voxel after one step of a reinitialisation, which makes φ a distance again within a few voxels of the
/// front and does not move the front.
///
/// Voxels beside the front, which have a face neighbour of the other sign, are scaled in the `first` step if |∇φ| differs
/// from 1 by more than 2 %, and then keep their value. All others follow φ_τ = sign(φ)·(1 − |∇φ|) (Sussman, Smereka and
/// Osher 1994) with second-order one-sided differences, from the front outwards. To fix the voxels beside the front is
/// Russo and Smereka's remedy (2000) against the drift of the front in the original method. No sign changes. Only tiles
/// near the front are updated, see [`reinitialised_tiles`].
pub(super) fn reinitialised(constants: &Constants, phi: &impl Neighbourhood, first: bool) -> f32 {
    let old = phi.at([0, 0, 0]);
    let axes = if constants.volume { 3 } else { 2 };
    let along = |axis: usize, n: isize| phi.at(std::array::from_fn(|i| if i == axis { n } else { 0 }));
    let beside = (0..axes).any(|axis| [-1, 1].into_iter().any(|n| (along(axis, n) < 0.0) != (old < 0.0)));
    if beside {
        return if first { rescale_beside_front(constants, axes, old, along) } else { old };
    }
    let mut gradient = TINY;
    for (axis, inverse) in constants.inverse_spacing.into_iter().enumerate().take(axes) {
        let difference = |n: isize| (along(axis, n) - along(axis, n - 1)) * inverse;
        let (forward, backward) = second_order((difference(1), difference(0)), (difference(2), difference(-1)));
        gradient += upwind_square(old < 0.0, forward, backward);
    }
    let change = (1.0 - gradient.sqrt()) * constants.reinit_time_step;
    let new = if old < 0.0 { old - change } else { old + change };
    if (new < 0.0) == (old < 0.0) { new } else { old }
}

/// Returns Godunov's squared gradient along an axis: the larger square of the one-sided differences that look towards the
/// front, or 0 if neither does.
#[inline(always)]
pub(super) fn upwind_square(inside: bool, forward: f32, backward: f32) -> f32 {
    // Inside, everything is mirrored.
    let (forward, backward) = if inside { (-forward, -backward) } else { (forward, backward) };
    let backward = if backward > 0.0 { backward } else { 0.0 };
    let forward = if forward < 0.0 { forward } else { 0.0 };
    let (backward, forward) = (backward * backward, forward * forward);
    if backward > forward { backward } else { forward }
}

/// Returns the forward and the backward difference of second order (Osher and Shu 1991), from the differences of first
/// order and the next ones outwards: `after` follows the forward difference, `before` precedes the backward one. All are
/// divided by the spacing.
#[inline(always)]
pub(super) fn second_order((forward, backward): (f32, f32), (after, before): (f32, f32)) -> (f32, f32) {
    let middle = forward - backward;
    (minmod(middle, after - forward).mul_add(-0.5, forward), minmod(middle, backward - before).mul_add(0.5, backward))
}

/// Returns the number nearer to 0 of two of the same sign, and 0 for others.
#[inline(always)]
pub(super) fn minmod(a: f32, b: f32) -> f32 {
    let nearer = if a.abs() < b.abs() { a } else { b };
    if a * b > 0.0 { nearer } else { 0.0 }
}

/// Returns φ of a voxel beside the front, scaled so that |∇φ| is within 2 % of 1, and clamped to the largest spacing.
/// Dividing by |∇φ| itself in every reinitialisation would let noise from voxel to voxel grow along the front.
fn rescale_beside_front(constants: &Constants, axes: usize, old: f32, along: impl Fn(usize, isize) -> f32) -> f32 {
    let mut gradient = TINY;
    for (axis, inverse) in constants.inverse_spacing.into_iter().enumerate().take(axes) {
        let wide = (along(axis, 1) - along(axis, -1)) * inverse;
        gradient = wide.mul_add(wide, gradient);
    }
    let inverse_gradient = TWO_RSQRT_SCALES * scaled_rsqrt(gradient);
    let scale = if inverse_gradient < MIN_INVERSE_GRADIENT {
        inverse_gradient * MAX_INVERSE_GRADIENT
    } else if inverse_gradient > MAX_INVERSE_GRADIENT {
        inverse_gradient * MIN_INVERSE_GRADIENT
    } else {
        1.0
    };
    clamp(old * scale, constants.max_spacing)
}

/// φ around the voxel at `position`.
struct ClampedNeighbourhood<'a> {
    phi: &'a [f32],
    shape: [usize; 3],
    position: [usize; 3],
    /// True if voxels of other slices may be read.
    volume: bool,
}

impl Neighbourhood for ClampedNeighbourhood<'_> {
    fn at(&self, offset: [isize; 3]) -> f32 {
        let [x, y, z] = std::array::from_fn(|axis| {
            self.position[axis].saturating_add_signed(offset[axis]).min(self.shape[axis] - 1)
        });
        debug_assert!(self.volume || offset[2] == 0);
        self.phi[(z * self.shape[1] + y) * self.shape[0] + x]
    }
}

/// Calls `update` for every voxel, with φ around it and its index.
fn for_each_voxel(
    plan: &Plan,
    phi: &[f32],
    ticker: &Ticker,
    mut update: impl FnMut(ClampedNeighbourhood<'_>, usize),
) -> Result<()> {
    let [width, height, depth] = plan.shape;
    let volume = plan.constants.volume;
    let mut index = 0;
    for z in 0..depth {
        for y in 0..height {
            ticker.check()?;
            for x in 0..width {
                update(ClampedNeighbourhood { phi, shape: plan.shape, position: [x, y, z], volume }, index);
                index += 1;
            }
        }
    }
    Ok(())
}

/// Computes one iteration, from `phi` to `next`.
pub(super) fn iterate(
    plan: &Plan,
    phi: &[f32],
    next: &mut [f32],
    pixel_and_edge: impl Fn(usize) -> (f32, Option<Edge>),
    ticker: &Ticker,
) -> Result<Counts> {
    let constants = &plan.constants;
    let mut counts = Counts::default();
    for_each_voxel(plan, phi, ticker, |around, index| {
        let old = phi[index];
        let (pixel, edge) = pixel_and_edge(index);
        let new = updated_phi(constants, &around, pixel, edge);
        counts.inside += u64::from(new < 0.0);
        counts.changed += u64::from((new < 0.0) != (old < 0.0));
        if old.abs() <= constants.max_spacing {
            counts.near += 1;
            counts.squares += u64::from(square(constants, new - old));
        }
        next[index] = new;
    })?;
    Ok(counts)
}

/// Tells for each tile whether a reinitialisation that begins with `phi` updates it: it does if one of its voxels is at
/// most [`BAND_REACH`] voxels along each axis from one within the band.
pub(super) fn reinitialised_tiles(plan: &Plan, phi: &[f32], ticker: &Ticker) -> Result<Vec<bool>> {
    let (tile, [along_x, along_y, along_z]) = (plan.tile(), plan.tiles());
    let [width, height, _] = plan.shape;
    let mut is_updated: Vec<bool> = zeroed(along_x * along_y * along_z)?;
    for (i, phi) in phi.iter().enumerate() {
        if i % width == 0 {
            ticker.check()?;
        }
        if phi.abs() > plan.constants.band_width {
            continue;
        }
        let voxel = [i % width, i / width % height, i / width / height];
        let [xs, ys, zs] = std::array::from_fn(|axis| {
            // Slices do not affect each other.
            let reach = if axis == 2 && !plan.constants.volume { 0 } else { BAND_REACH };
            let last = (voxel[axis] + reach).min(plan.shape[axis] - 1) / tile[axis];
            voxel[axis].saturating_sub(reach) / tile[axis]..=last
        });
        for (z, y) in zs.flat_map(|z| ys.clone().map(move |y| (z, y))) {
            is_updated[(z * along_y + y) * along_x..][xs.clone()].fill(true);
        }
    }
    Ok(is_updated)
}

/// Computes one step of a reinitialisation, from `phi` to `next`, in the [`reinitialised_tiles`].
pub(super) fn reinitialise(
    plan: &Plan,
    phi: &[f32],
    next: &mut [f32],
    is_updated: &[bool],
    first: bool,
    ticker: &Ticker,
) -> Result<()> {
    let (tile, [along_x, along_y, _]) = (plan.tile(), plan.tiles());
    for_each_voxel(plan, phi, ticker, |around, index| {
        let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| around.position[axis] / tile[axis]);
        let updates = is_updated[(z * along_y + y) * along_x + x];
        next[index] = if updates { reinitialised(&plan.constants, &around, first) } else { phi[index] };
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_root_is_as_good_as_documented() {
        let worst = |exponent: i32| {
            (0..100_000).fold(0.0f64, |worst, i| {
                let x = (1.0 + 3.0 * i as f32 / 100_000.0) * 2f32.powi(exponent);
                let right = f64::from(x).sqrt().recip();
                worst.max((RSQRT_SCALE * f64::from(scaled_rsqrt(x)) / right - 1.0).abs())
            })
        };
        for exponent in [-118, -60, -1, 0, 1, 60, 117] {
            let worst = worst(exponent);
            assert!((1e-5..1.7e-5).contains(&worst), "at 2^{exponent}: {worst:e}");
        }
    }
}
