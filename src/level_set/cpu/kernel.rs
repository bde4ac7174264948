//! The update of one tile, an iteration or a step of a reinitialisation, eight or sixteen voxels at a time.
//!
//! Every voxel gets the operations of `scalar.rs` in their order. The normals towards −x, −y and −z are those of the
//! neighbours.

use super::tiles::{Layout, Row, reached_along, reached_from};
use super::vector::Floats;
use crate::level_set::plan::{SLICE_TILE, VOLUME_TILE};
use crate::level_set::scalar::{self, FLATNESS, TINY, TWO_ROOT_UNITS};
use crate::level_set::types::Constants;
use pulp::{Arch, Simd, WithSimd};

/// Pixels from which the image term of the speed, Δt included, is computed.
pub(super) trait Term: Sync {
    /// Computes the terms of the pixels from `first` on.
    fn fill(&self, constants: &Constants, first: usize, terms: &mut [f32]);
}

macro_rules! term {
    ($pixel:ty) => {
        impl Term for [$pixel] {
            #[inline(always)]
            fn fill(&self, constants: &Constants, first: usize, terms: &mut [f32]) {
                for (term, pixel) in terms.iter_mut().zip(&self[first..]) {
                    *term = scalar::image_term(constants, f32::from(*pixel));
                }
            }
        }
    };
}
term!(u8);
term!(u16);
term!(f32);

/// The statistics of one pass over a tile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepStatistics {
    /// The number of voxels that came inside, and of those that went outside.
    pub entered: u32,
    pub left: u32,
    /// The number of voxels near the front before the pass.
    pub near: u32,
    /// The sum of `scalar::square` over the voxels near the front.
    pub squares: u64,
    /// The tiles that a change within the band may affect, see [`reached_from`]; 0 if nothing changed there.
    pub activated: u32,
    /// True if a voxel is within the band after the pass.
    pub in_band: bool,
}

/// Counts the changes of an iteration in a tile, in a separate pass over the finished tile: its branches depend on the
/// new values, and within the update they would be decided only after all of a row's arithmetic.
struct Counter<'a, S: Simd> {
    simd: S,
    constants: &'a Constants,
    /// The columns of the tile that lie in the image.
    columns: usize,
    statistics: StepStatistics,
    closest: f32,
}

impl<'a, S: Simd> Counter<'a, S> {
    #[inline(always)]
    fn new(simd: S, constants: &'a Constants, columns: usize) -> Self {
        Self { simd, constants, columns, statistics: StepStatistics::default(), closest: f32::INFINITY }
    }

    /// Counts row `[y, z]` of a tile with sides `tile` from its values before and after.
    #[inline(always)]
    fn row<const N: usize>(&mut self, tile: [usize; 3], [y, z]: [usize; 2], old: &[f32], new: &[f32]) {
        let simd = self.simd;
        if self.columns < N {
            return self.lanes(tile, [y, z], &old[..self.columns], &new[..self.columns]);
        }
        let zero = Floats::splat(simd, 0.0);
        let (near, band) =
            (Floats::splat(simd, self.constants.max_spacing), Floats::splat(simd, self.constants.band_width));
        for i in (0..N).step_by(S::F32_LANES) {
            let (before, after) = (Floats::load(simd, old, i), Floats::load(simd, new, i));
            let moved = before.less_than(zero).differs(after.less_than(zero));
            if before.abs().min(after.abs()).at_most(band).or(moved).any() {
                let threshold = Floats::splat(simd, self.constants.activity_threshold);
                if before.abs().at_most(band).and(threshold.less_than((after - before).abs())).any() {
                    self.record_activity(tile, [y, z], i, &old[i..i + S::F32_LANES], &new[i..i + S::F32_LANES]);
                }
                self.closest = self.closest.min(after.abs().smallest());
                if before.abs().at_most(near).or(moved).any() {
                    self.count(&old[i..i + S::F32_LANES], &new[i..i + S::F32_LANES]);
                }
            }
        }
    }

    /// Counts the voxels of a row one by one, as [`row`](Self::row) does with vectors.
    fn lanes(&mut self, tile: [usize; 3], row: [usize; 2], old: &[f32], new: &[f32]) {
        self.closest = new.iter().fold(self.closest, |closest, new| closest.min(new.abs()));
        self.record_activity(tile, row, 0, old, new);
        self.count(old, new);
    }

    /// Records the changes within the band, in voxels of a row from column `first` on.
    #[inline(always)]
    fn record_activity(&mut self, tile: [usize; 3], [y, z]: [usize; 2], first: usize, old: &[f32], new: &[f32]) {
        let [y, z] = [reached_along(tile[1], y), reached_along(tile[2], z)];
        // The search is skipped if this row can add no bit.
        let most = reached_from([7, y, z]);
        if self.statistics.activated & most == most {
            return;
        }
        let Constants { band_width, activity_threshold, .. } = *self.constants;
        let x = (first..).zip(old.iter().zip(new)).fold(0, |along, (x, (old, new))| {
            let moved = (old.abs() <= band_width) & ((new - old).abs() > activity_threshold);
            along | (u32::from(moved) * reached_along(tile[0], x))
        });
        self.statistics.activated |= reached_from([x, y, z]);
    }

    #[inline(always)]
    fn count(&mut self, old: &[f32], new: &[f32]) {
        let Self { constants, statistics, .. } = self;
        for (old, new) in old.iter().zip(new) {
            let near = old.abs() <= constants.max_spacing;
            statistics.near += u32::from(near);
            statistics.entered += u32::from((*new < 0.0) & (*old >= 0.0));
            statistics.left += u32::from((*old < 0.0) & (*new >= 0.0));
            let square = scalar::square(constants, new - old);
            statistics.squares += u64::from(if near { square } else { 0 });
        }
    }

    #[inline(always)]
    fn statistics(self) -> StepStatistics {
        StepStatistics { in_band: self.closest <= self.constants.band_width, ..self.statistics }
    }
}

/// The work of a pass on a tile.
#[derive(Clone, Copy)]
pub(super) enum Work<'a, T: ?Sized> {
    /// An iteration, with the image in tiles.
    Iterate(&'a T),
    /// A step of a reinitialisation; true for the first.
    Reinitialise(bool),
}

/// One tile of `field`, and the buffer for its new values.
pub(super) struct Task<'a, T: ?Sized> {
    pub constants: &'a Constants,
    pub layout: &'a Layout,
    pub work: Work<'a, T>,
    pub field: &'a [f32],
    pub index: usize,
    pub out: &'a mut [f32],
}

impl<T: Term + ?Sized> Task<'_, T> {
    pub(super) fn run(self, arch: Arch) -> StepStatistics {
        arch.dispatch(self)
    }
}

impl<T: Term + ?Sized> WithSimd for Task<'_, T> {
    type Output = StepStatistics;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> StepStatistics {
        let unit = self.constants.inverse_spacing == [1.0; 3];
        match (self.constants.volume, unit) {
            (true, true) => self.tile::<S, true, true, 8, 16, 8, 8, 100, 144>(simd),
            (true, false) => self.tile::<S, true, false, 8, 16, 8, 8, 100, 144>(simd),
            (false, true) => self.tile::<S, false, true, 16, 32, 16, 1, 18, 20>(simd),
            (false, false) => self.tile::<S, false, false, 16, 32, 16, 1, 18, 20>(simd),
        }
    }
}

impl<T: Term + ?Sized> Task<'_, T> {
    /// Updates the tile. `V` is true for a volume, `UNIT` if all spacings are 1. A tile has `J` rows of `N` voxels in
    /// each of its `K` planes; `R1` and `R2` rows of `W` with one and with two more on every side.
    #[inline(always)]
    fn tile<
        S: Simd,
        const V: bool,
        const UNIT: bool,
        const N: usize,
        const W: usize,
        const J: usize,
        const K: usize,
        const R1: usize,
        const R2: usize,
    >(
        self,
        simd: S,
    ) -> StepStatistics {
        let Self { constants, layout, work, field, index, out } = self;
        let position = layout.position(index);
        let valid = layout.valid(position);
        match work {
            Work::Iterate(pixels) => {
                let mut rows = [Row::<W>::ZERO; R1];
                layout.gather::<1, N, J, K, W>(field, position, V, &mut rows);
                let mut terms = [[0.0; N]; 64];
                let terms = &mut terms[..J * K];
                pixels.fill(constants, index * J * K * N, terms.as_flattened_mut());
                iterate::<S, V, UNIT, N, W, J>(simd, constants, &rows, terms, out, valid)
            }
            Work::Reinitialise(first) => {
                let mut rows = [Row::<W>::ZERO; R2];
                layout.gather::<2, N, J, K, W>(field, position, V, &mut rows);
                if first {
                    reinitialise::<S, V, UNIT, true, N, W, J>(simd, constants, &rows, out, valid)
                } else {
                    reinitialise::<S, V, UNIT, false, N, W, J>(simd, constants, &rows, out, valid)
                }
            }
        }
    }
}

/// The factor that divides differences by the spacing along an axis.
#[derive(Clone, Copy)]
struct Scale<S: Simd, const UNIT: bool>(Floats<S>);

impl<S: Simd, const UNIT: bool> Scale<S, UNIT> {
    #[inline(always)]
    fn of(self, difference: Floats<S>) -> Floats<S> {
        if UNIT { difference } else { difference * self.0 }
    }
}

/// Returns the sum of the wide differences along one axis on the two sides of a face.
#[inline(always)]
fn pair<S: Simd, const UNIT: bool>(
    scale: Scale<S, UNIT>,
    [high, low]: [Floats<S>; 2],
    [other_high, other_low]: [Floats<S>; 2],
) -> Floats<S> {
    scale.of(high - low) + scale.of(other_high - other_low)
}

#[inline(always)]
fn iterate<S: Simd, const V: bool, const UNIT: bool, const N: usize, const W: usize, const J: usize>(
    simd: S,
    constants: &Constants,
    rows: &[Row<W>],
    terms: &[[f32; N]],
    out: &mut [f32],
    [columns, own_rows, planes]: [usize; 3],
) -> StepStatistics {
    let o = const { (W - N) / 2 };
    let [x, y, z] = constants.inverse_spacing.map(|step| Scale::<S, UNIT>(Floats::splat(simd, step)));
    let [zero, tiny, half, one] = [0.0, TINY, 0.5, 1.0].map(|value| Floats::splat(simd, value));
    let [curvature_weight, max_inward_term] =
        [constants.curvature_weight, constants.max_inward_term].map(|value| Floats::splat(simd, value));
    let [least, most] = [f32::NEG_INFINITY, f32::INFINITY].map(|value| Floats::splat(simd, value));
    let row = |k: usize, j: usize| &rows[if V { k * (J + 2) + j } else { j }].0;
    let load = |row: &[f32; W], at: usize| Floats::load(simd, row, at);
    // `low_z` holds the normals of the faces below a plane.
    let mut low_z = [[0.0f32; N]; J];
    if V {
        for (j, low_z) in low_z.iter_mut().enumerate() {
            let [lower, upper] = [row(0, j + 1), row(1, j + 1)];
            let [lower_south, lower_north] = [row(0, j), row(0, j + 2)];
            let [upper_south, upper_north] = [row(1, j), row(1, j + 2)];
            for i in (0..N).step_by(S::F32_LANES) {
                let c = o + i;
                let d = z.of(load(upper, c) - load(lower, c));
                let a = pair(x, [load(lower, c + 1), load(lower, c - 1)], [load(upper, c + 1), load(upper, c - 1)]);
                let b =
                    pair(y, [load(lower_north, c), load(lower_south, c)], [load(upper_north, c), load(upper_south, c)]);
                d.normal::<V>(a, b).store(low_z, i);
            }
        }
    }
    for k in 1..=planes {
        // `right_x` holds the normals towards +x of a plane, and for the first column those towards −x.
        let mut right_x = [Row::<W>::ZERO; J];
        for (j, right_x) in right_x.iter_mut().enumerate().take(own_rows) {
            let [here, south, north] = [row(k, j + 1), row(k, j), row(k, j + 2)];
            let [below, above] = if V { [row(k - 1, j + 1), row(k + 1, j + 1)] } else { [here, here] };
            for i in (0..N).step_by(S::F32_LANES) {
                let c = o + i;
                let d = x.of(load(here, c + 1) - load(here, c));
                let a = pair(y, [load(north, c), load(south, c)], [load(north, c + 1), load(south, c + 1)]);
                let b = if V {
                    pair(z, [load(above, c), load(below, c)], [load(above, c + 1), load(below, c + 1)])
                } else {
                    zero
                };
                d.normal::<V>(a, b).store(&mut right_x.0, c);
            }
            let [ix, iy, iz] = constants.inverse_spacing;
            let c = o - 1;
            let d = (here[o] - here[c]) * ix;
            let a = (north[c] - south[c]) * iy + (north[o] - south[o]) * iy;
            let b = if V { (above[c] - below[c]) * iz + (above[o] - below[o]) * iz } else { 0.0 };
            right_x.0[c] = scalar::normal(d, a, b);
        }
        // `low_y` holds the normals towards −y, first of the first row.
        let mut low_y = [0.0f32; N];
        {
            let [lower, upper] = [row(k, 0), row(k, 1)];
            let [lower_below, lower_above] = if V { [row(k - 1, 0), row(k + 1, 0)] } else { [lower, lower] };
            let [upper_below, upper_above] = if V { [row(k - 1, 1), row(k + 1, 1)] } else { [upper, upper] };
            for i in (0..N).step_by(S::F32_LANES) {
                let c = o + i;
                let d = y.of(load(upper, c) - load(lower, c));
                let a = pair(x, [load(lower, c + 1), load(lower, c - 1)], [load(upper, c + 1), load(upper, c - 1)]);
                let b = if V {
                    pair(z, [load(lower_above, c), load(lower_below, c)], [load(upper_above, c), load(upper_below, c)])
                } else {
                    zero
                };
                d.normal::<V>(a, b).store(&mut low_y, i);
            }
        }
        for j in 1..=own_rows {
            let [here, south, north] = [row(k, j), row(k, j - 1), row(k, j + 1)];
            let [below, above, below_north, above_north, above_south] = if V {
                [row(k - 1, j), row(k + 1, j), row(k - 1, j + 1), row(k + 1, j + 1), row(k + 1, j - 1)]
            } else {
                [here; 5]
            };
            let normals = &right_x[j - 1].0;
            let low_z = &mut low_z[j - 1];
            let at = (k - 1) * J + j - 1;
            let Some(new_values) = out.get_mut(at * N..(at + 1) * N) else { break };
            for i in (0..N).step_by(S::F32_LANES) {
                let c = o + i;
                let old = load(here, c);
                let [left, right] = [load(here, c - 1), load(here, c + 1)];
                let [toward_south, toward_north] = [load(south, c), load(north, c)];
                let mut forward = [x.of(right - old), y.of(toward_north - old), zero];
                let mut backward = [x.of(old - left), y.of(old - toward_south), zero];
                let wide_x = x.of(right - left);
                let wide_x_north = x.of(load(north, c + 1) - load(north, c - 1));
                let [mut wide_z, mut wide_z_north] = [zero; 2];
                let [mut down, mut up, mut up_north] = [zero; 3];
                if V {
                    [down, up, up_north] = [load(below, c), load(above, c), load(above_north, c)];
                    wide_z = z.of(up - down);
                    wide_z_north = z.of(up_north - load(below_north, c));
                }
                let normal_y = forward[1].normal::<V>(wide_x + wide_x_north, wide_z + wide_z_north);
                let mut divergence =
                    x.of(load(normals, c) - load(normals, c - 1)) + y.of(normal_y - Floats::load(simd, &low_y, i));
                normal_y.store(&mut low_y, i);
                if V {
                    (forward[2], backward[2]) = (z.of(up - old), z.of(old - down));
                    let wide_x_above = x.of(load(above, c + 1) - load(above, c - 1));
                    let wide_y = y.of(toward_north - toward_south);
                    let wide_y_above = y.of(up_north - load(above_south, c));
                    let normal_z = forward[2].normal::<V>(wide_x + wide_x_above, wide_y + wide_y_above);
                    divergence = divergence + z.of(normal_z - Floats::load(simd, low_z, i));
                    normal_z.store(low_z, i);
                }
                let divergence = divergence.clamp(constants.max_divergence);
                let of_image = Floats::load(simd, &terms[at], i);
                let bounded = of_image.min(max_inward_term);
                let speed = divergence.mul_add(curvature_weight, bounded);
                let grows = zero.less_than(speed);
                // If the curvature term is the larger one, nothing is clipped: one sum serves for both kinds of |∇φ|.
                let curvature_leads = bounded.abs().less_than((divergence * curvature_weight).abs());
                let [least, most] = [curvature_leads.select(least, zero), curvature_leads.select(most, zero)];
                let mut gradient = tiny;
                for axis in 0..if V { 3 } else { 2 } {
                    // If the speed is negative, the two are exchanged: max(a, 0) and min(b, 0) of the negatives.
                    let a = grows.select(forward[axis], zero - forward[axis]).max(least);
                    let b = grows.select(backward[axis], zero - backward[axis]).min(most);
                    gradient = b.mul_add(b, a.mul_add(a, gradient));
                }
                let gradient = curvature_leads.select(gradient * half, gradient);
                let away = grows.differs(old.less_than(zero));
                let gradient = away.select(gradient.min(one), gradient);
                let speed = away.select(divergence.mul_add(curvature_weight, of_image), speed);
                speed.mul_add(gradient.sqrt(), old).store(new_values, i);
            }
        }
    }
    let mut counter = Counter::new(simd, constants, columns);
    let tile = const { if V { VOLUME_TILE } else { SLICE_TILE } };
    for k in 0..planes {
        for j in 0..own_rows {
            let new_values = &out[(k * J + j) * N..][..N];
            counter.row::<N>(tile, [j, k], &row(k + 1, j + 1)[o..o + N], new_values);
        }
    }
    counter.statistics()
}

/// Returns the same as [`scalar::minmod`].
#[inline(always)]
fn minmod<S: Simd>(zero: Floats<S>, a: Floats<S>, b: Floats<S>) -> Floats<S> {
    let nearer = a.abs().less_than(b.abs()).select(a, b);
    zero.less_than(a * b).select(nearer, zero)
}

#[inline(always)]
fn reinitialise<
    S: Simd,
    const V: bool,
    const UNIT: bool,
    const FIRST: bool,
    const N: usize,
    const W: usize,
    const J: usize,
>(
    simd: S,
    constants: &Constants,
    rows: &[Row<W>],
    out: &mut [f32],
    [columns, own_rows, planes]: [usize; 3],
) -> StepStatistics {
    let o = const { (W - N) / 2 };
    let scales = constants.inverse_spacing.map(|step| Scale::<S, UNIT>(Floats::splat(simd, step)));
    let [zero, tiny, one, half, reinit_step] =
        [0.0, TINY, 1.0, 0.5, constants.reinit_step].map(|value| Floats::splat(simd, value));
    let [steep, flat] = FLATNESS.map(|value| Floats::splat(simd, value));
    let row = |k: usize, j: usize| &rows[if V { k * (J + 4) + j } else { j }].0;
    let load = |row: &[f32; W], at: usize| Floats::load(simd, row, at);
    for k in 0..planes {
        for j in 0..own_rows {
            let here = row(k + 2, j + 2);
            let y: [&[f32; W]; 4] = std::array::from_fn(|n| row(k + 2, j + [0, 1, 3, 4][n]));
            let z: [&[f32; W]; 4] =
                if V { std::array::from_fn(|n| row(k + [0, 1, 3, 4][n], j + 2)) } else { [here; 4] };
            let at = k * J + j;
            let Some(new_values) = out.get_mut(at * N..(at + 1) * N) else { break };
            for i in (0..N).step_by(S::F32_LANES) {
                let c = o + i;
                let old = load(here, c);
                let inside = old.less_than(zero);
                let along = [
                    [load(here, c - 2), load(here, c - 1), load(here, c + 1), load(here, c + 2)],
                    y.map(|row| load(row, c)),
                    z.map(|row| load(row, c)),
                ];
                let mut beside = inside.differs(inside);
                let [mut gradient, mut wide_gradient] = [tiny; 2];
                for (axis, scale) in scales.into_iter().enumerate().take(if V { 3 } else { 2 }) {
                    let [before2, before1, after1, after2] = along[axis];
                    beside = beside.or(before1.less_than(zero).differs(inside));
                    beside = beside.or(after1.less_than(zero).differs(inside));
                    if FIRST {
                        let wide = scale.of(after1 - before1);
                        wide_gradient = wide.mul_add(wide, wide_gradient);
                    }
                    let forward = scale.of(after1 - old);
                    let backward = scale.of(old - before1);
                    let middle = forward - backward;
                    let after = scale.of(after2 - after1) - forward;
                    let before = backward - scale.of(before1 - before2);
                    let forward = minmod(zero, middle, after).mul_add(zero - half, forward);
                    let backward = minmod(zero, middle, before).mul_add(half, backward);
                    let forward = inside.select(zero - forward, forward).min(zero);
                    let backward = inside.select(zero - backward, backward).max(zero);
                    gradient = gradient + (backward * backward).max(forward * forward);
                }
                let change = (one - gradient.sqrt()) * reinit_step;
                let new = inside.select(old - change, old + change);
                let new = new.less_than(zero).differs(inside).select(old, new);
                let held = if FIRST {
                    let flatness = Floats::splat(simd, TWO_ROOT_UNITS) * wide_gradient.rsqrt();
                    let scale = flat.less_than(flatness).select(flatness * steep, one);
                    let scale = flatness.less_than(steep).select(flatness * flat, scale);
                    (old * scale).clamp(constants.max_spacing)
                } else {
                    old
                };
                beside.select(held, new).store(new_values, i);
            }
        }
    }
    let mut in_band = false;
    for k in 0..planes {
        for j in 0..own_rows {
            in_band |= within_band::<S, N>(simd, constants, &out[(k * J + j) * N..][..columns]);
        }
    }
    StepStatistics { in_band, ..StepStatistics::default() }
}

/// Tells whether a row, or the part of it that lies in the image, has a voxel within the band.
#[inline(always)]
fn within_band<S: Simd, const N: usize>(simd: S, constants: &Constants, row: &[f32]) -> bool {
    if row.len() < N {
        return row.iter().any(|phi| phi.abs() <= constants.band_width);
    }
    // A closure would be compiled without the vector unit.
    let band = Floats::splat(simd, constants.band_width);
    let mut within = false;
    for i in (0..N).step_by(S::F32_LANES) {
        within |= Floats::load(simd, row, i).abs().at_most(band).any();
    }
    within
}
