//! The processing of one tile in a pass: its buffers, the copy of φ with a halo, the new values and their statistics. The
//! arithmetic is in `kernel.rs`, whose module documentation explains the size constants.

use super::edges::EdgesAt;
use super::kernel::{iterate, reinitialise};
use super::tiles::{ALL_ALONG_AXIS, HaloTile, Layout, affected_along_axis, affected_tiles};
use crate::level_set::plan::{SLICE_TILE, VOLUME_TILE};
use crate::level_set::scalar;
use crate::level_set::types::Constants;
use crate::vector::Floats;
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

/// Counts the changes of an iteration in a tile, in a separate loop over each finished plane. The branches depend on the
/// new values; within the update loop each would wait for the whole chain of arithmetic before it.
pub(super) struct Counter<'a, S: Simd> {
    simd: S,
    constants: &'a Constants,
    /// The columns of the tile that lie in the image.
    columns: usize,
    statistics: TileStatistics,
    closest: f32,
}

impl<'a, S: Simd> Counter<'a, S> {
    #[inline(always)]
    pub(super) fn new(simd: S, constants: &'a Constants, columns: usize) -> Self {
        Self { simd, constants, columns, statistics: TileStatistics::default(), closest: f32::INFINITY }
    }

    /// Counts the changes in plane `z` of a tile with sides `tile`, whose first `rows` rows lie in the image. `old` and
    /// `new` are the plane's values before and after.
    #[inline(always)]
    pub(super) fn plane<const ROW: usize>(
        &mut self,
        tile: [usize; 3],
        z: usize,
        rows: usize,
        old: &[f32],
        new: &[f32],
    ) {
        if self.columns < ROW || rows < tile[1] {
            for y in 0..rows {
                let row = y * ROW..y * ROW + self.columns;
                self.row(tile, [y, z], &old[row.clone()], &new[row]);
            }
            return;
        }
        let simd = self.simd;
        let zero = Floats::splat(simd, 0.0);
        // These are not made by a closure, which would be compiled without the target's vector instructions.
        let near = Floats::splat(simd, self.constants.max_spacing);
        let band = Floats::splat(simd, self.constants.band_width);
        let threshold = Floats::splat(simd, self.constants.activity_threshold);
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
        // Skip the search if this row cannot add a bit.
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
    pub(super) fn statistics(self) -> TileStatistics {
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

/// Returns the number of planes of a tile with `halo` planes on both sides. The tile of a slice has no halo planes.
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

/// The computation of the image terms of a tile. It is separate from the update, so that the update does not depend on the
/// pixel type and is compiled once.
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

/// A task whose image terms have been computed, and the buffers of its thread.
struct TaskWithBuffers<'a>(Task<'a>, &'a mut Buffers);

impl WithSimd for TaskWithBuffers<'_> {
    type Output = TileStatistics;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> TileStatistics {
        let Self(task, Buffers { volume, slice }) = self;
        let second = matches!(task.work, Work::Iterate(_)) && task.has_second_order();
        // Multiplying by 1 changes no digit, so second order does without a variant for a spacing of 1.
        let unit = !second && task.constants.inverse_spacing == [1.0; 3];
        macro_rules! update {
            ($volume:literal, $unit:literal, $second:literal, $tile:expr, $buffers:expr) => {
                task.update::<S, $volume, $unit, $second, { $tile[0] }, _, _, _, _, _, _>(simd, $buffers)
            };
        }
        match (task.constants.volume, unit, second) {
            (true, _, true) => update!(true, false, true, VOLUME_TILE, volume),
            (true, true, _) => update!(true, true, false, VOLUME_TILE, volume),
            (true, false, _) => update!(true, false, false, VOLUME_TILE, volume),
            (false, _, true) => update!(false, false, true, SLICE_TILE, slice),
            (false, true, _) => update!(false, true, false, SLICE_TILE, slice),
            (false, false, _) => update!(false, false, false, SLICE_TILE, slice),
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

/// Updates a tile with vector instructions. This is not generic over the pixel type, so it is compiled once.
#[inline(never)]
fn update(arch: Arch, task: TaskWithBuffers<'_>) -> TileStatistics {
    arch.dispatch(task)
}

impl Task<'_> {
    /// Updates the tile, whose image terms are computed. `SECOND_ORDER` is for iterations.
    #[inline(always)]
    fn update<
        S: Simd,
        const VOLUME: bool,
        const UNIT: bool,
        const SECOND_ORDER: bool,
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
                if SECOND_ORDER {
                    layout.gather::<2, ROW, AREA, VOLUME, _, _, _>(field, position, phi2);
                }
                iterate::<S, VOLUME, UNIT, SECOND_ORDER, ROW, AREA, AREA1, PLANES1, AREA2, PLANES2>(
                    simd, constants, phi1, phi2, terms, edges, out, valid,
                )
            }
            Work::Reinitialise(_) if SECOND_ORDER => unreachable!("it is not an iteration"),
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

    /// Tells whether the tile needs differences of second order: whether a voxel of it is close enough to the front.
    fn has_second_order(&self) -> bool {
        let width = self.constants.second_order_width;
        let first = self.index * self.layout.tile_voxels();
        width >= 0.0 && self.field[first..first + self.layout.tile_voxels()].iter().any(|phi| phi.abs() <= width)
    }
}
