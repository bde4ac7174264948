//! The arithmetic of an iteration, or of a step of a reinitialisation, for one tile, with SIMD vectors of voxels.
//!
//! Every voxel gets the operations of `scalar.rs` in their order. The rows of a plane are contiguous, so a vector may span
//! several of them. The neighbours along y and z are then one row and one plane away in memory. Neighbours along x come
//! from copies of the tile that are shifted along x ([`HaloTile`]), because beside the end of a row its neighbour in memory
//! is the next row.
//!
//! Sizes are constants of the type, so that the compiler unrolls and vectorises for both kinds of tiles. Their names:
//! `VOLUME` is true for tiles of a volume, false for those of slices; `UNIT` is true if all spacings are 1; `ROW` is the
//! number of voxels of a tile's row, `AREA` of a tile's plane, `PLANES` the number of its planes; `AREA1` and `PLANES1` are
//! the same for the tile with a halo of one voxel, which an iteration reads; `AREA2` and `PLANES2` are for a halo of two
//! voxels, which reinitialisations and differences of second order read. `i` is the index of a voxel in a plane of the
//! tile, and `q` its index in the plane with the halo; `k` is the number of a plane, counted with the halo's planes.

use super::edges::EdgesAt;
use super::task::{Counter, TileStatistics};
use super::tiles::HaloTile;
use crate::device::kernels::level_set::{MAX_INVERSE_GRADIENT, MIN_INVERSE_GRADIENT, TINY};
use crate::level_set::plan::{SLICE_TILE, VOLUME_TILE};
use crate::level_set::scalar::TWO_RSQRT_SCALES;
use crate::level_set::types::Constants;
use crate::vector::Floats;
use pulp::Simd;

/// The inverse spacing along an axis, by which differences are multiplied; with `UNIT` it is 1, and the product is left
/// out.
#[derive(Clone, Copy)]
struct Scale<S: Simd, const UNIT: bool>(Floats<S>);

impl<S: Simd, const UNIT: bool> Scale<S, UNIT> {
    #[inline(always)]
    fn of(self, difference: Floats<S>) -> Floats<S> {
        if UNIT { difference } else { difference * self.0 }
    }
}

/// The indices of the copies in a [`HaloTile`] with a halo of one voxel: they hold the neighbours towards −x, the voxels
/// themselves, and the neighbours towards +x.
const LEFT: usize = 0;
const OWN: usize = 1;
const RIGHT: usize = 2;

/// Differences of φ at voxel `q` of plane `k` in one of the copies of a tile with a halo of one voxel. They are methods
/// because closures would be compiled without the target's vector instructions.
#[derive(Clone, Copy)]
struct Differences<
    'a,
    S: Simd,
    const VOLUME: bool,
    const UNIT: bool,
    const ROW: usize,
    const AREA1: usize,
    const PLANES1: usize,
> {
    simd: S,
    scales: [Scale<S, UNIT>; 3],
    phi: &'a HaloTile<AREA1, PLANES1, 3>,
}

impl<S: Simd, const VOLUME: bool, const UNIT: bool, const ROW: usize, const AREA1: usize, const PLANES1: usize>
    Differences<'_, S, VOLUME, UNIT, ROW, AREA1, PLANES1>
{
    #[inline(always)]
    fn load(self, copy: usize, k: usize, q: usize) -> Floats<S> {
        Floats::load(self.simd, &self.phi.0[copy][k], q)
    }

    /// Returns the wide difference along x, which is twice the central difference.
    #[inline(always)]
    fn wide_x(self, k: usize, q: usize) -> Floats<S> {
        self.scales[0].of(self.load(RIGHT, k, q) - self.load(LEFT, k, q))
    }

    #[inline(always)]
    fn wide_y(self, copy: usize, k: usize, q: usize) -> Floats<S> {
        self.scales[1].of(self.load(copy, k, q + ROW) - self.load(copy, k, q - ROW))
    }

    /// Returns the wide difference along z; 0 in slices.
    #[inline(always)]
    fn wide_z(self, copy: usize, k: usize, q: usize) -> Floats<S> {
        if VOLUME {
            self.scales[2].of(self.load(copy, k + 1, q) - self.load(copy, k - 1, q))
        } else {
            Floats::splat(self.simd, 0.0)
        }
    }

    /// Returns the normal of the face towards +y.
    #[inline(always)]
    fn normal_y(self, k: usize, q: usize) -> Floats<S> {
        let d = self.scales[1].of(self.load(OWN, k, q + ROW) - self.load(OWN, k, q));
        let a = self.wide_x(k, q) + self.wide_x(k, q + ROW);
        d.normal::<VOLUME>(a, self.wide_z(OWN, k, q) + self.wide_z(OWN, k, q + ROW))
    }

    /// Returns the normal of the face towards +z.
    #[inline(always)]
    fn normal_z(self, k: usize, q: usize) -> Floats<S> {
        let d = self.scales[2].of(self.load(OWN, k + 1, q) - self.load(OWN, k, q));
        let a = self.wide_x(k, q) + self.wide_x(k + 1, q);
        d.normal::<VOLUME>(a, self.wide_y(OWN, k, q) + self.wide_y(OWN, k + 1, q))
    }
}

/// Computes one iteration of a tile, whose first `columns`, `rows` and `planes` lie in the image. `farther` is read only
/// with `SECOND_ORDER`, which is a constant of the type so that the loop has no test for it.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a tile's inputs, each of its own type")]
pub(super) fn iterate<
    S: Simd,
    const VOLUME: bool,
    const UNIT: bool,
    const SECOND_ORDER: bool,
    const ROW: usize,
    const AREA: usize,
    const AREA1: usize,
    const PLANES1: usize,
    const AREA2: usize,
    const PLANES2: usize,
>(
    simd: S,
    constants: &Constants,
    phi: &HaloTile<AREA1, PLANES1, 3>,
    farther: &HaloTile<AREA2, PLANES2, 5>,
    terms: &[[f32; AREA]],
    edges: Option<EdgesAt<'_>>,
    out: &mut [f32],
    [columns, rows, planes]: [usize; 3],
) -> TileStatistics {
    let scales = constants.inverse_spacing.map(|step| Scale::<S, UNIT>(Floats::splat(simd, step)));
    let HaloTile(copies) = phi;
    let ([x, y, z], phi) = (scales, Differences::<S, VOLUME, UNIT, ROW, AREA1, PLANES1> { simd, scales, phi });
    let [zero, tiny, half, one] = [0.0, TINY, 0.5, 1.0].map(|value| Floats::splat(simd, value));
    let [curvature_weight, max_inward_term] =
        [constants.curvature_weight, constants.max_inward_term].map(|value| Floats::splat(simd, value));
    let [least, most] = [f32::NEG_INFINITY, f32::INFINITY].map(|value| Floats::splat(simd, value));
    // The normals of the faces between the last plane and the present one. The faces towards +z of one plane are the faces
    // towards −z of the next, so each normal is computed once.
    let mut low_z = [0.0f32; AREA];
    if VOLUME {
        for i in (0..AREA).step_by(S::F32_LANES) {
            phi.normal_z(0, i + ROW).store(&mut low_z, i);
        }
    }
    let mut counter = Counter::new(simd, constants, columns);
    for (plane, (out, terms)) in out.as_chunks_mut::<AREA>().0.iter_mut().zip(terms).enumerate().take(planes) {
        let k = if VOLUME { plane + 1 } else { 0 };
        // The normals of the faces towards +y, of the halo's row and of all rows of the tile.
        let mut normals_y = [0.0f32; AREA1];
        for i in (0..AREA + ROW).step_by(S::F32_LANES) {
            // The last vector begins earlier, so that it ends with the last row; some voxels are then computed twice.
            let i = i.min(AREA + ROW - S::F32_LANES);
            phi.normal_y(k, i).store(&mut normals_y, i);
        }
        for i in (0..AREA).step_by(S::F32_LANES) {
            let q = i + ROW;
            let old = phi.load(OWN, k, q);
            let mut forward = [x.of(phi.load(RIGHT, k, q) - old), y.of(phi.load(OWN, k, q + ROW) - old), zero];
            let mut backward = [x.of(old - phi.load(LEFT, k, q)), y.of(old - phi.load(OWN, k, i)), zero];
            let (wide_y, wide_z) = (phi.wide_y(OWN, k, q), phi.wide_z(OWN, k, q));
            let right_x =
                forward[0].normal::<VOLUME>(wide_y + phi.wide_y(RIGHT, k, q), wide_z + phi.wide_z(RIGHT, k, q));
            let left_x = backward[0].normal::<VOLUME>(wide_y + phi.wide_y(LEFT, k, q), wide_z + phi.wide_z(LEFT, k, q));
            let mut divergence =
                x.of(right_x - left_x) + y.of(Floats::load(simd, &normals_y, q) - Floats::load(simd, &normals_y, i));
            if VOLUME {
                let (below, above) = (phi.load(OWN, k - 1, q), phi.load(OWN, k + 1, q));
                (forward[2], backward[2]) = (z.of(above - old), z.of(old - below));
                let high_z = phi.normal_z(k, q);
                divergence = divergence + z.of(high_z - Floats::load(simd, &low_z, i));
                high_z.store(&mut low_z, i);
            }
            let divergence = divergence.clamp(constants.max_divergence);
            let of_image = Floats::load(simd, terms, i);
            let bounded = of_image.min(max_inward_term);
            let speed = divergence.mul_add(curvature_weight, bounded);
            let inwards = zero.less_than(speed);
            // If the curvature term is larger, the one-sided differences are not clipped to the upwind side, so that one
            // sum serves for both kinds of |∇φ|.
            let curvature_leads = bounded.abs().less_than((divergence * curvature_weight).abs());
            let (upwind_forward, upwind_backward) = if SECOND_ORDER {
                let width = constants.second_order_width;
                farther.upwind_differences::<S, VOLUME, UNIT, ROW>(scales, width, old, [plane, i], (forward, backward))
            } else {
                (forward, backward)
            };
            let low = curvature_leads.select(least, inwards.select(zero, least));
            let high = curvature_leads.select(most, inwards.select(most, zero));
            let [backward_low, backward_high] = [zero - high, zero - low];
            let mut gradient = tiny;
            for axis in 0..if VOLUME { 3 } else { 2 } {
                let (mut a, mut b) = (forward[axis], backward[axis]);
                if SECOND_ORDER {
                    a = curvature_leads.select(a, upwind_forward[axis]);
                    b = curvature_leads.select(b, upwind_backward[axis]);
                }
                let a = a.max(low).min(high);
                let b = b.max(backward_low).min(backward_high);
                gradient = b.mul_add(b, a.mul_add(a, gradient));
            }
            let gradient = curvature_leads.select(gradient * half, gradient);
            let grows = inwards.differs(old.less_than(zero));
            let gradient = grows.select(gradient.min(one), gradient);
            let speed = grows.select(divergence.mul_add(curvature_weight, of_image), speed);
            let (mut speed, mut old) = (speed, old);
            if let Some(edges) = edges {
                let at = plane * AREA + i;
                let carried = carried::<S, VOLUME>(simd, edges, at, upwind_forward, upwind_backward);
                speed = speed * Floats::load(simd, edges.stopping, at);
                old = carried.mul_add(Floats::splat(simd, constants.edge_weight), old);
            }
            speed.mul_add(gradient.sqrt(), old).store(out, i);
        }
        counter.plane::<ROW>(
            const { if VOLUME { VOLUME_TILE } else { SLICE_TILE } },
            plane,
            rows,
            &copies[OWN][k][ROW..ROW + AREA],
            out,
        );
    }
    counter.statistics()
}

/// Returns ∇g·∇φ for a vector of voxels that begins at voxel `at` of the tile, from the differences of φ; see
/// [`crate::level_set::scalar::carried`].
#[inline(always)]
fn carried<S: Simd, const VOLUME: bool>(
    simd: S,
    edges: EdgesAt<'_>,
    at: usize,
    forward: [Floats<S>; 3],
    backward: [Floats<S>; 3],
) -> Floats<S> {
    let zero = Floats::splat(simd, 0.0);
    let mut carried = zero;
    for axis in 0..if VOLUME { 3 } else { 2 } {
        let slope = Floats::load(simd, edges.slope[axis], at);
        let difference = zero.less_than(slope).select(forward[axis], backward[axis]);
        carried = slope.mul_add(difference.clamp(1.0), carried);
    }
    carried
}

/// Returns the same as [`crate::level_set::scalar::minmod`].
#[inline(always)]
fn minmod<S: Simd>(zero: Floats<S>, a: Floats<S>, b: Floats<S>) -> Floats<S> {
    let nearer = a.abs().less_than(b.abs()).select(a, b);
    zero.less_than(a * b).select(nearer, zero)
}

/// Returns the same as [`crate::level_set::scalar::second_order`].
#[inline(always)]
fn second_order<S: Simd>(
    zero: Floats<S>,
    half: Floats<S>,
    [forward, backward]: [Floats<S>; 2],
    [after, before]: [Floats<S>; 2],
) -> [Floats<S>; 2] {
    let middle = forward - backward;
    [
        minmod(zero, middle, after - forward).mul_add(zero - half, forward),
        minmod(zero, middle, backward - before).mul_add(half, backward),
    ]
}

impl<const AREA2: usize, const PLANES2: usize> HaloTile<AREA2, PLANES2, 5> {
    /// Returns the forward and the backward differences along each axis for a vector of voxels that begins at voxel `i` of
    /// the tile's plane and whose φ is `old`. They are of second order where |φ| is at most `width`, and elsewhere the
    /// given ones, of first order.
    #[inline(always)]
    fn upwind_differences<S: Simd, const VOLUME: bool, const UNIT: bool, const ROW: usize>(
        &self,
        scales: [Scale<S, UNIT>; 3],
        width: f32,
        old: Floats<S>,
        [plane, i]: [usize; 2],
        (mut forward, mut backward): ([Floats<S>; 3], [Floats<S>; 3]),
    ) -> ([Floats<S>; 3], [Floats<S>; 3]) {
        let simd = old.simd();
        let [zero, half, width] = [0.0, 0.5, width].map(|value| Floats::splat(simd, value));
        let is_near = old.abs().at_most(width);
        if is_near.any() {
            let along = self.neighbours::<S, VOLUME, ROW>(simd, old, plane, i);
            for axis in 0..if VOLUME { 3 } else { 2 } {
                let [before2, before1, after1, after2] = along[axis];
                let beyond = [scales[axis].of(after2 - after1), scales[axis].of(before1 - before2)];
                let [after, before] = second_order(zero, half, [forward[axis], backward[axis]], beyond);
                forward[axis] = is_near.select(after, forward[axis]);
                backward[axis] = is_near.select(before, backward[axis]);
            }
        }
        (forward, backward)
    }

    /// Returns φ at −2, −1, 1 and 2 voxels along each axis from a vector of voxels that begins at voxel `i` of the tile's
    /// plane; in slices `old` stands for all along z.
    #[inline(always)]
    fn neighbours<S: Simd, const VOLUME: bool, const ROW: usize>(
        &self,
        simd: S,
        old: Floats<S>,
        plane: usize,
        i: usize,
    ) -> [[Floats<S>; 4]; 3] {
        let Self(copies) = self;
        let own = &copies[2];
        let (k, q) = (if VOLUME { plane + 2 } else { 0 }, i + 2 * ROW);
        let mut along = [[old; 4]; 3];
        for (n, offset) in [0, 1, 3, 4].into_iter().enumerate() {
            along[0][n] = Floats::load(simd, &copies[offset][k], q);
            along[1][n] = Floats::load(simd, &own[k], i + offset * ROW);
            if VOLUME {
                along[2][n] = Floats::load(simd, &own[plane + offset], q);
            }
        }
        along
    }
}

/// Computes one step of the reinitialisation of a tile, whose first `columns`, `rows` and `planes` lie in the image.
/// `FIRST` is true for the first step.
#[inline(always)]
pub(super) fn reinitialise<
    S: Simd,
    const VOLUME: bool,
    const UNIT: bool,
    const FIRST: bool,
    const ROW: usize,
    const AREA: usize,
    const AREA2: usize,
    const PLANES2: usize,
>(
    simd: S,
    constants: &Constants,
    tile: &HaloTile<AREA2, PLANES2, 5>,
    out: &mut [f32],
    [columns, rows, planes]: [usize; 3],
) -> TileStatistics {
    let scales = constants.inverse_spacing.map(|step| Scale::<S, UNIT>(Floats::splat(simd, step)));
    let [zero, tiny, one, half, reinit_time_step, band] =
        [0.0, TINY, 1.0, 0.5, constants.reinit_time_step, constants.band_width].map(|value| Floats::splat(simd, value));
    let own = &tile.0[2];
    let [steep, flat] = [MIN_INVERSE_GRADIENT, MAX_INVERSE_GRADIENT].map(|value| Floats::splat(simd, value));
    let mut in_band = false;
    for (plane, out) in out.as_chunks_mut::<AREA>().0.iter_mut().enumerate().take(planes) {
        let k = if VOLUME { plane + 2 } else { 0 };
        for i in (0..AREA).step_by(S::F32_LANES) {
            let q = i + 2 * ROW;
            let old = Floats::load(simd, &own[k], q);
            let inside = old.less_than(zero);
            let along = tile.neighbours::<S, VOLUME, ROW>(simd, old, plane, i);
            let mut beside = inside.differs(inside);
            let [mut gradient, mut wide_gradient] = [tiny; 2];
            for (axis, scale) in scales.into_iter().enumerate().take(if VOLUME { 3 } else { 2 }) {
                let [before2, before1, after1, after2] = along[axis];
                beside = beside.or(before1.less_than(zero).differs(inside));
                beside = beside.or(after1.less_than(zero).differs(inside));
                if FIRST {
                    let wide = scale.of(after1 - before1);
                    wide_gradient = wide.mul_add(wide, wide_gradient);
                }
                let forward = scale.of(after1 - old);
                let backward = scale.of(old - before1);
                let beyond = [scale.of(after2 - after1), scale.of(before1 - before2)];
                let [forward, backward] = second_order(zero, half, [forward, backward], beyond);
                let forward = inside.select(zero - forward, forward).min(zero);
                let backward = inside.select(zero - backward, backward).max(zero);
                gradient = gradient + (backward * backward).max(forward * forward);
            }
            let change = (one - gradient.sqrt()) * reinit_time_step;
            let new = inside.select(old - change, old + change);
            let new = new.less_than(zero).differs(inside).select(old, new);
            let held = if FIRST {
                let inverse_gradient = Floats::splat(simd, TWO_RSQRT_SCALES) * wide_gradient.scaled_rsqrt();
                let scale = flat.less_than(inverse_gradient).select(inverse_gradient * steep, one);
                let scale = inverse_gradient.less_than(steep).select(inverse_gradient * flat, scale);
                (old * scale).clamp(constants.max_spacing)
            } else {
                old
            };
            beside.select(held, new).store(out, i);
        }
        if columns == ROW && rows * ROW == AREA {
            for i in (0..AREA).step_by(S::F32_LANES) {
                in_band |= Floats::load(simd, out, i).abs().at_most(band).any();
            }
        } else {
            let valid = out.chunks(ROW).take(rows).flat_map(|row| &row[..columns]);
            in_band |= valid.into_iter().any(|phi| phi.abs() <= constants.band_width);
        }
    }
    TileStatistics { in_band, ..TileStatistics::default() }
}
