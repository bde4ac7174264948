//! The update of one tile, an iteration or a step of a reinitialisation, as many voxels at a time as a vector has.
//!
//! Every voxel gets the operations of `scalar.rs` in their order. The rows of a plane are contiguous, so a vector may
//! hold several of them: neighbours along y and z are a row and a plane away, and those along x are in copies of the
//! tile that are shifted along x ([`HaloTile`]).
//!
//! Sizes are constants of the type, so that the compiler unrolls and vectorises for both kinds of tiles. Their names:
//! `VOLUME` is true for tiles of a volume, false for those of slices; `UNIT` is true if all spacings are 1; `ROW` is
//! the number of voxels of a tile's row, `AREA` of a tile's plane, `PLANES` the number of its planes; `AREA1` and
//! `PLANES1` are those of the tile with a halo of one voxel, which an iteration reads, and `AREA2` and `PLANES2` of the
//! one with a halo of two, which a reinitialisation reads. Within a plane, voxel `i` of the tile is voxel `q` of the
//! tile with its halo; plane `k` counts the halo's planes too.

use super::edges::EdgesAt;
use super::tiles::{ALL_ALONG_AXIS, HaloTile, Layout, affected_along_axis, affected_tiles};
use super::vector::Floats;
use crate::device::kernels::level_set::{MAX_INVERSE_GRADIENT, MIN_INVERSE_GRADIENT, TINY};
use crate::level_set::plan::{SLICE_TILE, VOLUME_TILE};
use crate::level_set::scalar::{self, TWO_RSQRT_SCALES};
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
pub(super) struct TileStatistics {
    /// The number of voxels that came inside, and of those that went outside.
    pub entered: u32,
    pub left: u32,
    /// The number of voxels near the front before the pass.
    pub near: u32,
    /// The sum of `scalar::square` over the voxels near the front.
    pub squares: u64,
    /// The tiles that a change within the band may affect, see [`affected_tiles`]; 0 if nothing changed there.
    pub affected: u32,
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
    statistics: TileStatistics,
    closest: f32,
}

impl<'a, S: Simd> Counter<'a, S> {
    #[inline(always)]
    fn new(simd: S, constants: &'a Constants, columns: usize) -> Self {
        Self { simd, constants, columns, statistics: TileStatistics::default(), closest: f32::INFINITY }
    }

    /// Counts plane `z` of a tile with sides `tile`, of which `rows` rows lie in the image, from its values before and
    /// after.
    #[inline(always)]
    fn plane<const ROW: usize>(&mut self, tile: [usize; 3], z: usize, rows: usize, old: &[f32], new: &[f32]) {
        if self.columns < ROW || rows < tile[1] {
            for y in 0..rows {
                let row = y * ROW..y * ROW + self.columns;
                self.row(tile, [y, z], &old[row.clone()], &new[row]);
            }
            return;
        }
        let simd = self.simd;
        let zero = Floats::splat(simd, 0.0);
        let [near, band, threshold] =
            [self.constants.max_spacing, self.constants.band_width, self.constants.activity_threshold]
                .map(|value| Floats::splat(simd, value));
        for i in (0..new.len()).step_by(S::F32_LANES) {
            let (before, after) = (Floats::load(simd, old, i), Floats::load(simd, new, i));
            let moved = before.less_than(zero).differs(after.less_than(zero));
            if before.abs().min(after.abs()).at_most(band).or(moved).any() {
                if before.abs().at_most(band).and(threshold.less_than((after - before).abs())).any() {
                    let lanes = const { if S::F32_LANES < ROW { S::F32_LANES } else { ROW } };
                    for i in (i..i + S::F32_LANES).step_by(lanes) {
                        self.record_affected(tile, [i / ROW, z], i % ROW, &old[i..i + lanes], &new[i..i + lanes]);
                    }
                }
                self.closest = self.closest.min(after.abs().smallest());
                if before.abs().at_most(near).or(moved).any() {
                    self.count(&old[i..i + S::F32_LANES], &new[i..i + S::F32_LANES]);
                }
            }
        }
    }

    /// Counts the voxels of row `[y, z]` one by one, as [`plane`](Self::plane) does with vectors.
    fn row(&mut self, tile: [usize; 3], row: [usize; 2], old: &[f32], new: &[f32]) {
        self.closest = new.iter().fold(self.closest, |closest, new| closest.min(new.abs()));
        self.record_affected(tile, row, 0, old, new);
        self.count(old, new);
    }

    /// Records the changes within the band, in voxels of row `[y, z]` from column `first` on.
    #[inline(always)]
    fn record_affected(&mut self, tile: [usize; 3], [y, z]: [usize; 2], first: usize, old: &[f32], new: &[f32]) {
        let [y, z] = [affected_along_axis(tile[1], y), affected_along_axis(tile[2], z)];
        // The search is skipped if this row can add no bit.
        let most = affected_tiles([ALL_ALONG_AXIS, y, z]);
        if self.statistics.affected & most == most {
            return;
        }
        let Constants { band_width, activity_threshold, .. } = *self.constants;
        let x = (first..).zip(old.iter().zip(new)).fold(0, |along, (x, (old, new))| {
            let moved = (old.abs() <= band_width) & ((new - old).abs() > activity_threshold);
            along | (u32::from(moved) * affected_along_axis(tile[0], x))
        });
        self.statistics.affected |= affected_tiles([x, y, z]);
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
    fn statistics(self) -> TileStatistics {
        TileStatistics { in_band: self.closest <= self.constants.band_width, ..self.statistics }
    }
}

/// The work of a pass on a tile.
#[derive(Clone, Copy)]
pub(super) enum Work<'a> {
    /// An iteration, with the edges in this tile if the plan has an edge term.
    Iterate(Option<EdgesAt<'a>>),
    /// A step of a reinitialisation; true for the first.
    Reinitialise(bool),
}

/// Returns the number of voxels in a plane of a tile with `halo` rows beside it on both sides.
const fn area(tile: [usize; 3], halo: usize) -> usize {
    tile[0] * (tile[1] + 2 * halo)
}

/// Returns the number of planes of a tile with `halo` planes beside it on both sides, which a slice's tile has not.
const fn planes(tile: [usize; 3], halo: usize) -> usize {
    if tile[2] == 1 { 1 } else { tile[2] + 2 * halo }
}

/// Gives the type of the buffers for a kind of tile.
macro_rules! tile_buffers {
    ($tile:expr) => {
        TileBuffers<
            { area($tile, 0) }, { planes($tile, 0) },
            { area($tile, 1) }, { planes($tile, 1) },
            { area($tile, 2) }, { planes($tile, 2) },
        >
    };
}

/// The buffers of a thread, for one tile after another.
#[derive(Debug)]
pub(super) struct Buffers {
    volume: tile_buffers!(VOLUME_TILE),
    slice: tile_buffers!(SLICE_TILE),
}

/// Buffers for one tile: the image terms of its voxels, and φ with a halo of one voxel and of two.
#[derive(Debug)]
struct TileBuffers<
    const AREA: usize,
    const PLANES: usize,
    const AREA1: usize,
    const PLANES1: usize,
    const AREA2: usize,
    const PLANES2: usize,
> {
    terms: [[f32; AREA]; PLANES],
    phi1: HaloTile<AREA1, PLANES1, 3>,
    phi2: HaloTile<AREA2, PLANES2, 5>,
}

impl Buffers {
    pub(super) fn new() -> Self {
        Self { volume: TileBuffers::ZERO, slice: TileBuffers::ZERO }
    }
}

impl<
    const AREA: usize,
    const PLANES: usize,
    const AREA1: usize,
    const PLANES1: usize,
    const AREA2: usize,
    const PLANES2: usize,
> TileBuffers<AREA, PLANES, AREA1, PLANES1, AREA2, PLANES2>
{
    const ZERO: Self = Self {
        terms: [[0.0; AREA]; PLANES],
        phi1: HaloTile([[[0.0; AREA1]; PLANES1]; 3]),
        phi2: HaloTile([[[0.0; AREA2]; PLANES2]; 5]),
    };
}

/// One tile of `field`, and the buffer for its new values.
pub(super) struct Task<'a> {
    pub constants: &'a Constants,
    pub layout: &'a Layout,
    pub work: Work<'a>,
    pub field: &'a [f32],
    pub index: usize,
    pub out: &'a mut [f32],
}

/// The computation of the image terms of a tile. It is apart from the update, which so does not depend on the pixels' type
/// and is compiled once.
struct Fill<'a, T: ?Sized> {
    pixels: &'a T,
    constants: &'a Constants,
    first: usize,
    terms: &'a mut [f32],
}

impl<T: Term + ?Sized> WithSimd for Fill<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.pixels.fill(self.constants, self.first, self.terms);
    }
}

/// A task, whose image terms are computed, and the buffers of its thread.
struct TaskWithBuffers<'a>(Task<'a>, &'a mut Buffers);

impl WithSimd for TaskWithBuffers<'_> {
    type Output = TileStatistics;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> TileStatistics {
        let Self(task, Buffers { volume, slice }) = self;
        let unit = task.constants.inverse_spacing == [1.0; 3];
        match (task.constants.volume, unit) {
            (true, true) => task.update::<S, true, true, { VOLUME_TILE[0] }, _, _, _, _, _, _>(simd, volume),
            (true, false) => task.update::<S, true, false, { VOLUME_TILE[0] }, _, _, _, _, _, _>(simd, volume),
            (false, true) => task.update::<S, false, true, { SLICE_TILE[0] }, _, _, _, _, _, _>(simd, slice),
            (false, false) => task.update::<S, false, false, { SLICE_TILE[0] }, _, _, _, _, _, _>(simd, slice),
        }
    }
}

impl Task<'_> {
    /// Updates the tile, with the image in tiles.
    pub(super) fn run<T: Term + ?Sized>(self, arch: Arch, buffers: &mut Buffers, pixels: &T) -> TileStatistics {
        if let Work::Iterate(_) = self.work {
            let Buffers { volume, slice } = buffers;
            let constants = self.constants;
            let terms = if constants.volume { volume.terms.as_flattened_mut() } else { slice.terms.as_flattened_mut() };
            arch.dispatch(Fill { pixels, constants, first: self.index * terms.len(), terms });
        }
        update(arch, TaskWithBuffers(self, buffers))
    }
}

/// Updates a tile by the vector unit. A function of its own, so that it is compiled once for all pixel types.
#[inline(never)]
fn update(arch: Arch, task: TaskWithBuffers<'_>) -> TileStatistics {
    arch.dispatch(task)
}

impl Task<'_> {
    /// Updates the tile, whose image terms are computed.
    #[inline(always)]
    fn update<
        S: Simd,
        const VOLUME: bool,
        const UNIT: bool,
        const ROW: usize,
        const AREA: usize,
        const PLANES: usize,
        const AREA1: usize,
        const PLANES1: usize,
        const AREA2: usize,
        const PLANES2: usize,
    >(
        self,
        simd: S,
        buffers: &mut TileBuffers<AREA, PLANES, AREA1, PLANES1, AREA2, PLANES2>,
    ) -> TileStatistics {
        let Self { constants, layout, work, field, index, out } = self;
        let TileBuffers { terms, phi1, phi2 } = buffers;
        let position = layout.position(index);
        let valid = layout.valid(position);
        match work {
            Work::Iterate(edges) => {
                layout.gather::<1, ROW, AREA, VOLUME, _, _, _>(field, position, phi1);
                iterate::<S, VOLUME, UNIT, ROW, AREA, AREA1, PLANES1>(simd, constants, phi1, terms, edges, out, valid)
            }
            Work::Reinitialise(first) => {
                layout.gather::<2, ROW, AREA, VOLUME, _, _, _>(field, position, phi2);
                if first {
                    reinitialise::<S, VOLUME, UNIT, true, ROW, AREA, AREA2, PLANES2>(simd, constants, phi2, out, valid)
                } else {
                    reinitialise::<S, VOLUME, UNIT, false, ROW, AREA, AREA2, PLANES2>(simd, constants, phi2, out, valid)
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

/// The copies of a [`HaloTile`] with a halo of one voxel that hold the values towards −x, the voxel's own, and those
/// towards +x.
const LEFT: usize = 0;
const OWN: usize = 1;
const RIGHT: usize = 2;

/// Differences of φ in a tile with a halo of one voxel, at voxel `q` of plane `k`, in one of its copies. These are
/// functions and not closures, which would be compiled without the vector unit.
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

    /// Returns the wide difference along x, twice the central one.
    #[inline(always)]
    fn wide_x(self, k: usize, q: usize) -> Floats<S> {
        self.scales[0].of(self.load(RIGHT, k, q) - self.load(LEFT, k, q))
    }

    #[inline(always)]
    fn wide_y(self, copy: usize, k: usize, q: usize) -> Floats<S> {
        self.scales[1].of(self.load(copy, k, q + ROW) - self.load(copy, k, q - ROW))
    }

    /// Returns the wide difference along z, in slices 0.
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

/// Computes one iteration of a tile, of which the given numbers of columns, rows and planes lie in the image.
#[inline(always)]
fn iterate<
    S: Simd,
    const VOLUME: bool,
    const UNIT: bool,
    const ROW: usize,
    const AREA: usize,
    const AREA1: usize,
    const PLANES1: usize,
>(
    simd: S,
    constants: &Constants,
    phi: &HaloTile<AREA1, PLANES1, 3>,
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
    // The normals of the faces towards +z of a plane; those of the plane before are the ones towards −z.
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
            // The last vector begins earlier where it would not end with the last row.
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
            // If the curvature term is the larger one, nothing is clipped: one sum serves for both kinds of |∇φ|.
            let curvature_leads = bounded.abs().less_than((divergence * curvature_weight).abs());
            let low = curvature_leads.select(least, inwards.select(zero, least));
            let high = curvature_leads.select(most, inwards.select(most, zero));
            let [backward_low, backward_high] = [zero - high, zero - low];
            let mut gradient = tiny;
            for axis in 0..if VOLUME { 3 } else { 2 } {
                let a = forward[axis].max(low).min(high);
                let b = backward[axis].max(backward_low).min(backward_high);
                gradient = b.mul_add(b, a.mul_add(a, gradient));
            }
            let gradient = curvature_leads.select(gradient * half, gradient);
            let grows = inwards.differs(old.less_than(zero));
            let gradient = grows.select(gradient.min(one), gradient);
            let speed = grows.select(divergence.mul_add(curvature_weight, of_image), speed);
            let (mut speed, mut old) = (speed, old);
            if let Some(EdgesAt { stopping, slope }) = edges {
                let at = plane * AREA + i;
                let mut carried = zero;
                for axis in 0..if VOLUME { 3 } else { 2 } {
                    let slope = Floats::load(simd, slope[axis], at);
                    let difference = zero.less_than(slope).select(forward[axis], backward[axis]);
                    carried = slope.mul_add(difference.clamp(1.0), carried);
                }
                speed = speed * Floats::load(simd, stopping, at);
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

/// Returns the same as [`scalar::minmod`].
#[inline(always)]
fn minmod<S: Simd>(zero: Floats<S>, a: Floats<S>, b: Floats<S>) -> Floats<S> {
    let nearer = a.abs().less_than(b.abs()).select(a, b);
    zero.less_than(a * b).select(nearer, zero)
}

/// Computes one step of a reinitialisation of a tile, of which the given numbers of columns, rows and planes lie in the
/// image; `FIRST` is true for the first step.
#[inline(always)]
fn reinitialise<
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
    HaloTile(copies): &HaloTile<AREA2, PLANES2, 5>,
    out: &mut [f32],
    [columns, rows, planes]: [usize; 3],
) -> TileStatistics {
    let scales = constants.inverse_spacing.map(|step| Scale::<S, UNIT>(Floats::splat(simd, step)));
    let [zero, tiny, one, half, reinit_time_step, band] =
        [0.0, TINY, 1.0, 0.5, constants.reinit_time_step, constants.band_width].map(|value| Floats::splat(simd, value));
    let own = &copies[2];
    let [steep, flat] = [MIN_INVERSE_GRADIENT, MAX_INVERSE_GRADIENT].map(|value| Floats::splat(simd, value));
    let mut in_band = false;
    for (plane, out) in out.as_chunks_mut::<AREA>().0.iter_mut().enumerate().take(planes) {
        let k = if VOLUME { plane + 2 } else { 0 };
        for i in (0..AREA).step_by(S::F32_LANES) {
            let q = i + 2 * ROW;
            let old = Floats::load(simd, &own[k], q);
            let inside = old.less_than(zero);
            // The neighbours −2, −1, 1 and 2 voxels away along each axis, which are at these places from the first on.
            let mut along = [[old; 4]; 3];
            for (n, offset) in [0, 1, 3, 4].into_iter().enumerate() {
                along[0][n] = Floats::load(simd, &copies[offset][k], q);
                along[1][n] = Floats::load(simd, &own[k], i + offset * ROW);
                if VOLUME {
                    along[2][n] = Floats::load(simd, &own[plane + offset], q);
                }
            }
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
                let middle = forward - backward;
                let after = scale.of(after2 - after1) - forward;
                let before = backward - scale.of(before1 - before2);
                let forward = minmod(zero, middle, after).mul_add(zero - half, forward);
                let backward = minmod(zero, middle, before).mul_add(half, backward);
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
