//! One tile: an iteration, or a step of a reinitialisation, eight or sixteen voxels at a time.
//!
//! The loops along x have a fixed length and no branches, so the compiler makes vector instructions of them. Every voxel
//! gets the operations of `scalar.rs` in their order; of the normals, those towards −x, −y and −z are the neighbours'.

use super::tiles::{Layout, Row};
use crate::level_set::plan::Constants;
use crate::level_set::scalar::{FLATNESS, TINY, clamp, minmod, normal, outwards, rsqrt, upwind};
use pulp::{Arch, Simd, WithSimd};

/// The image's part of the speed, Δt included, of one row.
pub(super) trait Term: Sync {
    fn fill(&self, constants: &Constants, first: usize, terms: &mut [f32]);
}

macro_rules! term {
    ($pixel:ty) => {
        impl Term for [$pixel] {
            #[inline(always)]
            fn fill(&self, constants: &Constants, first: usize, terms: &mut [f32]) {
                for (term, pixel) in terms.iter_mut().zip(&self[first..]) {
                    let away = (f32::from(*pixel) - constants.target).abs();
                    *term = away.mul_add(constants.gain, constants.offset);
                }
            }
        }
    };
}
term!(u8);
term!(u16);
term!(f32);

/// What happened in a tile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Voxels that came inside, and that went outside.
    pub born: u32,
    pub died: u32,
    /// Voxels near the front, before and after.
    pub near_before: u32,
    pub near_after: u32,
    pub squares: u64,
    /// Something changed within the band.
    pub awake: bool,
    /// There is something within the band.
    pub in_band: bool,
}

/// Per column: counts of up to 255 rows in the four bytes of a word, and so on.
struct Columns<const N: usize> {
    counts: [u32; N],
    low: [u32; N],
    high: [u32; N],
    change: [f32; N],
    closest: [f32; N],
}

impl<const N: usize> Columns<N> {
    const fn new() -> Self {
        Self { counts: [0; N], low: [0; N], high: [0; N], change: [0.0; N], closest: [f32::INFINITY; N] }
    }

    #[inline(always)]
    fn add(&mut self, i: usize, constants: &Constants, old: f32, new: f32) {
        let (before, after) = (old.abs(), new.abs());
        let near = before <= constants.near;
        let mut word = u32::from(near);
        word |= u32::from(after <= constants.near) << 8;
        word |= u32::from((new < 0.0) & !(old < 0.0)) << 16;
        word |= u32::from((old < 0.0) & !(new < 0.0)) << 24;
        self.counts[i] += word;
        let change = new - old;
        let scaled = change * constants.rms_scale;
        let square = scaled * scaled;
        let square = if square < 64.0 { square } else { 64.0 };
        // As scalar::square; a cast to a signed number is what vector units have.
        let square = (if near { square * 16_777_216.0 } else { 0.0 }) as i32 as u32;
        self.low[i] += square & 0xFFFF;
        self.high[i] += square >> 16;
        let change = if before <= constants.band { change.abs() } else { 0.0 };
        self.change[i] = if change > self.change[i] { change } else { self.change[i] };
        self.closest[i] = if after < self.closest[i] { after } else { self.closest[i] };
    }

    /// Of the first `columns`.
    fn tally(&self, constants: &Constants, columns: usize) -> Tally {
        let mut tally = Tally::default();
        for i in 0..columns {
            let byte = |n: u32| self.counts[i] >> (8 * n) & 0xFF;
            tally.near_before += byte(0);
            tally.near_after += byte(1);
            tally.born += byte(2);
            tally.died += byte(3);
            tally.squares += u64::from(self.low[i]) + (u64::from(self.high[i]) << 16);
            tally.awake |= self.change[i] > constants.waking;
            tally.in_band |= self.closest[i] <= constants.band;
        }
        tally
    }
}

/// What is done with a tile.
#[derive(Clone, Copy)]
pub(super) enum Work<'a, T: ?Sized> {
    /// An iteration, with the image in tiles.
    Step(&'a T),
    /// A step of a reinitialisation; the first?
    Restep(bool),
}

/// One tile of `field` and where its new values go.
pub(super) struct Task<'a, T: ?Sized> {
    pub constants: &'a Constants,
    pub layout: &'a Layout,
    pub work: Work<'a, T>,
    pub field: &'a [f32],
    pub index: usize,
    pub out: &'a mut [f32],
}

impl<T: Term + ?Sized> Task<'_, T> {
    pub(super) fn run(self, arch: Arch) -> Tally {
        arch.dispatch(self)
    }
}

impl<T: Term + ?Sized> WithSimd for Task<'_, T> {
    type Output = Tally;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Tally {
        let unit = self.constants.step == [1.0; 3];
        match (self.constants.volume, unit) {
            (true, true) => self.tile::<true, true, 8, 16, 8, 8, 100, 144>(),
            (true, false) => self.tile::<true, false, 8, 16, 8, 8, 100, 144>(),
            (false, true) => self.tile::<false, true, 16, 32, 16, 1, 18, 20>(),
            (false, false) => self.tile::<false, false, 16, 32, 16, 1, 18, 20>(),
        }
    }
}

impl<T: Term + ?Sized> Task<'_, T> {
    /// `V`: a volume. `UNIT`: all spacings are 1. A tile has `J` rows of `N` voxels in each of its `K` planes; `R1` and
    /// `R2` rows of `W` with one and with two more on every side.
    #[inline(always)]
    fn tile<
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
    ) -> Tally {
        let Self { constants, layout, work, field, index, out } = self;
        let position = layout.position(index);
        let valid = layout.valid(position);
        match work {
            Work::Step(pixels) => {
                let mut rows = [Row::<W>::ZERO; R1];
                layout.gather::<1, N, W>(field, position, V, &mut rows);
                let mut terms = [[0.0; N]; 64];
                let terms = &mut terms[..J * K];
                pixels.fill(constants, index * J * K * N, terms.as_flattened_mut());
                step::<V, UNIT, N, W, J>(constants, &rows, terms, out, valid)
            }
            Work::Restep(first) => {
                let mut rows = [Row::<W>::ZERO; R2];
                layout.gather::<2, N, W>(field, position, V, &mut rows);
                if first {
                    restep::<V, UNIT, true, N, W, J>(constants, &rows, out, valid)
                } else {
                    restep::<V, UNIT, false, N, W, J>(constants, &rows, out, valid)
                }
            }
        }
    }
}

/// Over the spacing.
#[inline(always)]
fn per<const UNIT: bool>(difference: f32, step: f32) -> f32 {
    if UNIT { difference } else { difference * step }
}

/// As [`normal`], without the second difference of slices.
#[inline(always)]
fn across<const V: bool>(d: f32, a: f32, b: f32) -> f32 {
    if V {
        normal(d, a, b)
    } else {
        let d = 4.0 * d;
        d * rsqrt(d.mul_add(d, a.mul_add(a, TINY)))
    }
}

#[inline(always)]
fn step<const V: bool, const UNIT: bool, const N: usize, const W: usize, const J: usize>(
    constants: &Constants,
    rows: &[Row<W>],
    terms: &[[f32; N]],
    out: &mut [f32],
    [columns, own_rows, planes]: [usize; 3],
) -> Tally {
    let o = const { (W - N) / 2 };
    let [ix, iy, iz] = constants.step;
    let [bend, sharpest] = [constants.bend, constants.sharpest];
    let row = |k: usize, j: usize| &rows[if V { k * (J + 2) + j } else { j }].0;
    let mut tally = Columns::<N>::new();
    // The normals of the faces below, of a plane.
    let mut low_z = [[0.0f32; N]; J];
    if V {
        for (j, low_z) in low_z.iter_mut().enumerate() {
            let [lower, upper] = [row(0, j + 1), row(1, j + 1)];
            let [lower_south, lower_north] = [row(0, j), row(0, j + 2)];
            let [upper_south, upper_north] = [row(1, j), row(1, j + 2)];
            for i in 0..N {
                let i1 = o + i;
                let d = per::<UNIT>(upper[i1] - lower[i1], iz);
                let a = per::<UNIT>(lower[i1 + 1] - lower[i1 - 1], ix) + per::<UNIT>(upper[i1 + 1] - upper[i1 - 1], ix);
                let b = per::<UNIT>(lower_north[i1] - lower_south[i1], iy)
                    + per::<UNIT>(upper_north[i1] - upper_south[i1], iy);
                low_z[i] = across::<V>(d, a, b);
            }
        }
    }
    for k in 1..=planes {
        // The normals towards +x, of a plane, and of the first column those towards −x.
        let mut right_x = [Row::<W>::ZERO; J];
        for (j, right_x) in right_x.iter_mut().enumerate().take(own_rows) {
            let [here, south, north] = [row(k, j + 1), row(k, j), row(k, j + 2)];
            let [below, above] = if V { [row(k - 1, j + 1), row(k + 1, j + 1)] } else { [here, here] };
            let face = |i: usize| {
                let d = per::<UNIT>(here[i + 1] - here[i], ix);
                let a = per::<UNIT>(north[i] - south[i], iy) + per::<UNIT>(north[i + 1] - south[i + 1], iy);
                let b = if V {
                    per::<UNIT>(above[i] - below[i], iz) + per::<UNIT>(above[i + 1] - below[i + 1], iz)
                } else {
                    0.0
                };
                across::<V>(d, a, b)
            };
            for i in 0..N {
                right_x.0[o + i] = face(o + i);
            }
            right_x.0[o - 1] = face(o - 1);
        }
        // Those towards −y, of the first row.
        let mut low_y = [0.0f32; N];
        {
            let [lower, upper] = [row(k, 0), row(k, 1)];
            let [lower_below, lower_above] = if V { [row(k - 1, 0), row(k + 1, 0)] } else { [lower, lower] };
            let [upper_below, upper_above] = if V { [row(k - 1, 1), row(k + 1, 1)] } else { [upper, upper] };
            for i in 0..N {
                let i1 = o + i;
                let d = per::<UNIT>(upper[i1] - lower[i1], iy);
                let a = per::<UNIT>(lower[i1 + 1] - lower[i1 - 1], ix) + per::<UNIT>(upper[i1 + 1] - upper[i1 - 1], ix);
                let b = if V {
                    per::<UNIT>(lower_above[i1] - lower_below[i1], iz)
                        + per::<UNIT>(upper_above[i1] - upper_below[i1], iz)
                } else {
                    0.0
                };
                low_y[i] = across::<V>(d, a, b);
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
            let terms = &terms[at];
            let Some(out) = out.get_mut(at * N..(at + 1) * N) else { return Tally::default() };
            let mut new_values = [0.0f32; N];
            for i in 0..N {
                let i1 = o + i;
                let old = here[i1];
                let (forward_x, backward_x) = (per::<UNIT>(here[i1 + 1] - old, ix), per::<UNIT>(old - here[i1 - 1], ix));
                let (forward_y, backward_y) = (per::<UNIT>(north[i1] - old, iy), per::<UNIT>(old - south[i1], iy));
                let wide_x = per::<UNIT>(here[i1 + 1] - here[i1 - 1], ix);
                let wide_x_north = per::<UNIT>(north[i1 + 1] - north[i1 - 1], ix);
                let (mut wide_z, mut wide_z_north) = (0.0, 0.0);
                if V {
                    wide_z = per::<UNIT>(above[i1] - below[i1], iz);
                    wide_z_north = per::<UNIT>(above_north[i1] - below_north[i1], iz);
                }
                let normal_y = across::<V>(forward_y, wide_x + wide_x_north, wide_z + wide_z_north);
                let mut divergence =
                    per::<UNIT>(normals[i1] - normals[i1 - 1], ix) + per::<UNIT>(normal_y - low_y[i], iy);
                low_y[i] = normal_y;
                let (mut forward_z, mut backward_z) = (0.0, 0.0);
                if V {
                    (forward_z, backward_z) = (per::<UNIT>(above[i1] - old, iz), per::<UNIT>(old - below[i1], iz));
                    let wide_x_above = per::<UNIT>(above[i1 + 1] - above[i1 - 1], ix);
                    let wide_y = per::<UNIT>(north[i1] - south[i1], iy);
                    let wide_y_above = per::<UNIT>(above_north[i1] - above_south[i1], iy);
                    let normal_z = across::<V>(forward_z, wide_x + wide_x_above, wide_y + wide_y_above);
                    divergence += per::<UNIT>(normal_z - low_z[i], iz);
                    low_z[i] = normal_z;
                }
                let speed = clamp(divergence, sharpest).mul_add(bend, terms[i]);
                let mut gradient = upwind(speed, forward_x, backward_x, TINY);
                gradient = upwind(speed, forward_y, backward_y, gradient);
                if V {
                    gradient = upwind(speed, forward_z, backward_z, gradient);
                }
                new_values[i] = speed.mul_add(gradient * rsqrt(gradient), old);
            }
            for i in 0..N {
                tally.add(i, constants, here[o + i], new_values[i]);
            }
            out.copy_from_slice(&new_values);
        }
    }
    tally.tally(constants, columns)
}

#[inline(always)]
fn restep<const V: bool, const UNIT: bool, const FIRST: bool, const N: usize, const W: usize, const J: usize>(
    constants: &Constants,
    rows: &[Row<W>],
    out: &mut [f32],
    [columns, own_rows, planes]: [usize; 3],
) -> Tally {
    let o = const { (W - N) / 2 };
    let row = |k: usize, j: usize| &rows[if V { k * (J + 4) + j } else { j }].0;
    let mut tally = Columns::<N>::new();
    for k in 0..planes {
        for j in 0..own_rows {
            let here = row(k + 2, j + 2);
            let y: [&[f32; W]; 4] = std::array::from_fn(|n| row(k + 2, j + [0, 1, 3, 4][n]));
            let z: [&[f32; W]; 4] =
                if V { std::array::from_fn(|n| row(k + [0, 1, 3, 4][n], j + 2)) } else { [here; 4] };
            let at = k * J + j;
            let Some(out) = out.get_mut(at * N..(at + 1) * N) else { return Tally::default() };
            let mut new_values = [0.0f32; N];
            for i in 0..N {
                let i1 = o + i;
                let old = here[i1];
                let inside = old < 0.0;
                let mut beside = false;
                let mut gradient = TINY;
                let mut wide_gradient = TINY;
                let mut axis = |near: [f32; 4], step: f32| {
                    let [before2, before1, after1, after2] = near;
                    beside |= ((before1 < 0.0) != inside) | ((after1 < 0.0) != inside);
                    if FIRST {
                        let wide = per::<UNIT>(after1 - before1, step);
                        wide_gradient = wide.mul_add(wide, wide_gradient);
                    }
                    let forward = per::<UNIT>(after1 - old, step);
                    let backward = per::<UNIT>(old - before1, step);
                    let middle = forward - backward;
                    let after = per::<UNIT>(after2 - after1, step) - forward;
                    let before = backward - per::<UNIT>(before1 - before2, step);
                    let forward = minmod(middle, after).mul_add(-0.5, forward);
                    let backward = minmod(middle, before).mul_add(0.5, backward);
                    gradient += outwards(inside, forward, backward);
                };
                axis([here[i1 - 2], here[i1 - 1], here[i1 + 1], here[i1 + 2]], constants.step[0]);
                axis(y.map(|row| row[i1]), constants.step[1]);
                if V {
                    axis(z.map(|row| row[i1]), constants.step[2]);
                }
                let slope = gradient * rsqrt(gradient);
                let change = (1.0 - slope) * constants.restep;
                let new = if inside { old - change } else { old + change };
                let new = if (new < 0.0) == inside { new } else { old };
                let held = if FIRST {
                    let flatness = 2.0 * rsqrt(wide_gradient);
                    let steep = flatness * FLATNESS[1];
                    let flat = flatness * FLATNESS[0];
                    let scale = if flatness > FLATNESS[1] { flat } else { 1.0 };
                    let scale = if flatness < FLATNESS[0] { steep } else { scale };
                    clamp(old * scale, constants.near)
                } else {
                    old
                };
                new_values[i] = if beside { held } else { new };
            }
            for i in 0..N {
                tally.add(i, constants, here[o + i], new_values[i]);
            }
            out.copy_from_slice(&new_values);
        }
    }
    tally.tally(constants, columns)
}
