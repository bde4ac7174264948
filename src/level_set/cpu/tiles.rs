//! A volume, or slices, stored tile by tile: the voxels of a tile are contiguous, x fastest.
//!
//! Tiles at the end of an axis may extend beyond the image; the values there are never used.

use crate::device::kernels::level_set::{AFFECTED_SIDE, BAND_REACH, OWN_TILE, TILE_AFTER, TILE_BEFORE};
use crate::error::Result;
use crate::memory::Array;
use crate::progress::Ticker;
use ndarray::{ArrayView3, ArrayViewMut3, Axis, s};
use rayon::prelude::*;

/// A tile with a halo of rows and planes, in `SHIFTS` copies that are shifted along x, each of `PLANES` planes of `AREA`
/// voxels. The middle copy holds the voxels themselves. The copy before it holds at each index the neighbour towards −x,
/// the copy after it the neighbour towards +x, and so on.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct HaloTile<const AREA: usize, const PLANES: usize, const SHIFTS: usize>(
    pub [[[f32; AREA]; PLANES]; SHIFTS],
);

/// The word of affected tiles along one axis that names all three tiles; `kernels/level_set.h` assigns the bits.
pub(super) const ALL_ALONG_AXIS: u32 = (TILE_BEFORE | OWN_TILE | TILE_AFTER) as u32;

/// Returns the tiles along one axis that a change affects: the tile itself, and a neighbour that the changed voxel is close
/// to. `place` is the voxel's number in its tile, which has `size` voxels along the axis.
#[inline(always)]
pub(super) fn affected_along_axis(size: usize, place: usize) -> u32 {
    let bit = |is_affected: bool, tile: usize| u32::from(is_affected) * tile as u32;
    bit(place < BAND_REACH, TILE_BEFORE) | OWN_TILE as u32 | bit(place + BAND_REACH >= size, TILE_AFTER)
}

/// Combines the affected tiles along x, y and z to a word with one bit for the tile and each of the 26 around it.
#[inline(always)]
pub(super) fn affected_tiles([x, y, z]: [u32; 3]) -> u32 {
    let repeat_along_axis = |pattern: u32, axis: u32, stride: usize| {
        let times = |bit: u32| (pattern * (axis >> bit & 1)) << (bit * stride as u32);
        times(0) | times(1) | times(2)
    };
    repeat_along_axis(repeat_along_axis(x, y, AFFECTED_SIDE), z, AFFECTED_SIDE * AFFECTED_SIDE)
}

/// The order of tiles and voxels in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::level_set) struct Layout {
    pub shape: [usize; 3],
    /// The sides of a tile.
    pub tile: [usize; 3],
    /// The number of tiles along each axis.
    pub tiles: [usize; 3],
}

impl Layout {
    /// Returns a layout whose tiles are slices, so that voxels are in the order of an image.
    pub(in crate::level_set) fn plain(shape: [usize; 3]) -> Self {
        let [width, height, depth] = shape;
        Self { shape, tile: [width, height, 1], tiles: [1, 1, depth] }
    }

    /// Returns the number of voxels of a tile.
    pub(super) fn tile_voxels(&self) -> usize {
        self.tile.iter().product()
    }

    pub(super) fn count(&self) -> usize {
        self.tiles.iter().product()
    }

    /// Returns the position of tile `index` in the grid of tiles.
    pub(super) fn position(&self, index: usize) -> [usize; 3] {
        let [along_x, along_y, _] = self.tiles;
        [index % along_x, index / along_x % along_y, index / along_x / along_y]
    }

    /// Returns the number of a tile's columns, rows and planes that are in the image.
    pub(super) fn valid(&self, position: [usize; 3]) -> [usize; 3] {
        std::array::from_fn(|axis| (self.shape[axis] - position[axis] * self.tile[axis]).min(self.tile[axis]))
    }

    /// Returns the first voxel of the part of row `[y, z]` that lies in the tiles at x = 0.
    pub(super) fn row(&self, [y, z]: [usize; 2]) -> usize {
        let [along_x, along_y, _] = self.tiles;
        let [tx, ty, tz] = self.tile;
        (z / tz * along_y + y / ty) * along_x * self.tile_voxels() + (z % tz * ty + y % ty) * tx
    }

    /// Returns how far voxel `x` of a row is from the row's first.
    pub(super) fn column(&self, x: usize) -> usize {
        x / self.tile[0] * self.tile_voxels() + x % self.tile[0]
    }

    /// Copies a tile whose planes have `AREA` voxels in rows of `ROW`, with a halo of `HALO` rows and (in volumes)
    /// planes on every side, so that planes have `HALO_AREA` voxels; positions are clamped to the image. With `HALO` >
    /// 1 only the tile's own rows and planes are shifted.
    #[inline(always)]
    pub(super) fn gather<
        const HALO: usize,
        const ROW: usize,
        const AREA: usize,
        const VOLUME: bool,
        const HALO_AREA: usize,
        const HALO_PLANES: usize,
        const SHIFTS: usize,
    >(
        &self,
        field: &[f32],
        position: [usize; 3],
        HaloTile(copies): &mut HaloTile<HALO_AREA, HALO_PLANES, SHIFTS>,
    ) {
        // The sizes are constants, so that divisions by them become shifts. Divisions by variables took a quarter of the
        // time of an iteration.
        let (rows, extra) = const { (AREA / ROW, if VOLUME { HALO } else { 0 }) };
        let own_planes = const { if VOLUME { HALO_PLANES - 2 * HALO } else { HALO_PLANES } };
        let tile_voxels = const { AREA * if VOLUME { HALO_PLANES - 2 * HALO } else { HALO_PLANES } };
        debug_assert_eq!(
            ([ROW, rows, own_planes], HALO_AREA, SHIFTS),
            (self.tile, AREA + 2 * HALO * ROW, 2 * HALO + 1)
        );
        let [along_x, along_y, _] = self.tiles;
        let [width, height, depth] = self.shape;
        let [x0, y0, z0] = [position[0] * ROW, position[1] * rows, position[2] * own_planes];
        let column = |x: usize| x / ROW * tile_voxels + x % ROW;
        let left: [usize; HALO] = std::array::from_fn(|h| column(x0.saturating_sub(h + 1)));
        let right: [usize; HALO] = std::array::from_fn(|h| column((x0 + ROW + h).min(width - 1)));
        let own = column(x0);
        let valid = (width - x0).min(ROW);
        let mut row_starts = [0; 20];
        let row_starts = &mut row_starts[..const { AREA / ROW + 2 * HALO }];
        for (j, start) in row_starts.iter_mut().enumerate() {
            let y = (y0 + j).saturating_sub(HALO).min(height - 1);
            *start = y / rows * along_x * tile_voxels + y % rows * ROW;
        }
        for k in 0..HALO_PLANES {
            let z = (z0 + k).saturating_sub(extra).min(depth - 1);
            let plane_start = z / own_planes * along_y * along_x * tile_voxels + z % own_planes * AREA;
            let own_plane = (extra..HALO_PLANES - extra).contains(&k);
            let planes = copies.each_mut().map(|shifted| shifted[k].as_chunks_mut::<ROW>().0);
            for (j, row_start) in row_starts.iter().enumerate() {
                let start = plane_start + row_start;
                let Some(from) = field[start + own..].first_chunk::<ROW>() else { unreachable!("a row of a tile") };
                planes[HALO][j] = *from;
                let last = from[valid - 1];
                if valid < ROW {
                    planes[HALO][j][valid..].fill(last);
                }
                if HALO > 1 && !(own_plane && (HALO..rows + HALO).contains(&j)) {
                    continue;
                }
                for shift in 1..=HALO {
                    let low = &mut planes[HALO - shift][j];
                    low[shift..].copy_from_slice(&from[..ROW - shift]);
                    for (x, left) in left[..shift].iter().rev().enumerate() {
                        low[x] = field[start + left];
                    }
                    if valid < ROW {
                        low[(valid + shift).min(ROW)..].fill(last);
                    }
                    let high = &mut planes[HALO + shift][j];
                    high[..ROW - shift].copy_from_slice(&from[shift..]);
                    for (x, right) in right[..shift].iter().enumerate() {
                        high[ROW - shift + x] = field[start + right];
                    }
                    if valid < ROW {
                        high[valid.saturating_sub(shift)..].fill(last);
                    }
                }
            }
        }
    }

    /// Copies an image into tiles, unless the ticker is cancelled.
    pub(super) fn pack<T, U>(
        &self,
        view: ArrayView3<'_, T>,
        ticker: &Ticker,
        convert: impl Fn(T) -> U + Sync,
    ) -> Result<Array<U>>
    where
        T: Copy + Sync,
        U: bytemuck::Pod + Send,
    {
        let mut packed = Array::zeroed(self.count() * self.tile_voxels())?;
        let slab = self.tiles[0] * self.tiles[1] * self.tile_voxels();
        packed.par_chunks_mut(slab).enumerate().for_each(|(slab, packed)| {
            let z0 = slab * self.tile[2];
            for z in z0..(z0 + self.tile[2]).min(self.shape[2]) {
                for y in 0..self.shape[1] {
                    if ticker.is_cancelled() {
                        return;
                    }
                    let start = self.row([y, z - z0]);
                    let pixels = view.slice(s![z, y, ..]);
                    for (tile, pixels) in pixels.axis_chunks_iter(Axis(0), self.tile[0]).enumerate() {
                        let to = packed[start + tile * self.tile_voxels()..].iter_mut();
                        to.zip(pixels).for_each(|(to, pixel)| *to = convert(*pixel));
                    }
                }
            }
        });
        ticker.check()?;
        Ok(packed)
    }

    /// Copies tiles into an image, the inverse of [`pack`](Self::pack), unless the ticker is cancelled.
    pub(super) fn unpack<T: Copy + Sync, U: Send + Sync>(
        &self,
        packed: &[T],
        mut view: ArrayViewMut3<'_, U>,
        ticker: &Ticker,
        convert: impl Fn(T) -> U + Sync,
    ) -> Result<()> {
        view.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(z, mut slice)| {
            for (y, mut row) in slice.axis_iter_mut(Axis(0)).enumerate() {
                if ticker.is_cancelled() {
                    return;
                }
                let start = self.row([y, z]);
                for (tile, mut pixels) in row.axis_chunks_iter_mut(Axis(0), self.tile[0]).enumerate() {
                    let from = &packed[start + tile * self.tile_voxels()..];
                    pixels.iter_mut().zip(from).for_each(|(pixel, from)| *pixel = convert(*from));
                }
            }
        });
        ticker.check()
    }

    /// Returns the tiles that the voxels of tile `index` within the band affect. `tile` holds the tile's values, in
    /// rows of `ROW`.
    pub(super) fn affected_by_band<const ROW: usize>(&self, index: usize, tile: &[f32], band_width: f32) -> u32 {
        let [_, height, depth] = self.tile;
        let [columns, rows, planes] = self.valid(self.position(index));
        // Rows that affect the same tiles along y and z are merged into one, which holds the smallest |φ| of each column.
        const WORDS: usize = 1 << AFFECTED_SIDE;
        let mut closest = [[f32::INFINITY; ROW]; WORDS * WORDS];
        let along = |size: usize, place: usize| affected_along_axis(size, place) as usize;
        for (k, plane) in tile.as_chunks::<ROW>().0.chunks_exact(height).enumerate().take(planes) {
            for (j, row) in plane.iter().enumerate().take(rows) {
                let closest = &mut closest[along(depth, k) * WORDS + along(height, j)];
                for (closest, phi) in closest.iter_mut().zip(row) {
                    *closest = if phi.abs() < *closest { phi.abs() } else { *closest };
                }
            }
        }
        let affected_by_rows = |y: usize, z: usize| {
            let bits =
                |(x, closest): (usize, &f32)| if *closest <= band_width { affected_along_axis(ROW, x) } else { 0 };
            let closest = &closest[z * WORDS + y][..columns];
            let x = closest.iter().enumerate().map(bits).fold(0, |all, one| all | one);
            affected_tiles([x, y as u32, z as u32])
        };
        // The words that `affected_along_axis` returns.
        let along = [0, TILE_BEFORE, TILE_AFTER, TILE_BEFORE | TILE_AFTER].map(|others| OWN_TILE | others);
        along.iter().flat_map(|z| along.map(|y| affected_by_rows(y, *z))).fold(0, |all, one| all | one)
    }

    /// Sets `is_active` to 1 for each tile that is in the word of `affected` tiles of any tile, and to 0 for all others. A
    /// slice does not affect the tiles of other slices.
    pub(super) fn mark_affected(&self, affected: &[u32], volume: bool, is_active: &mut [u8]) {
        is_active.fill(0);
        for (index, affected) in affected.iter().enumerate().filter(|(_, affected)| **affected != 0) {
            let position = self.position(index);
            for bit in (0..AFFECTED_SIDE.pow(3)).filter(|bit| affected >> bit & 1 == 1) {
                let offset = [bit, bit / AFFECTED_SIDE, bit / AFFECTED_SIDE.pow(2)].map(|tiles| tiles % AFFECTED_SIDE);
                let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| (position[axis] + offset[axis]).wrapping_sub(1));
                if x < self.tiles[0] && y < self.tiles[1] && z < self.tiles[2] && (volume || z == position[2]) {
                    is_active[(z * self.tiles[1] + y) * self.tiles[0] + x] = 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    /// A tile and all its neighbours.
    const ALL_NEIGHBOURS: u32 = (1 << 27) - 1;

    #[test]
    fn packing_can_be_undone_and_a_tile_sees_its_neighbours() {
        for shape in [[8usize, 8, 8], [1, 1, 1], [9, 17, 3], [19, 7, 25], [24, 1, 10]] {
            let [width, height, depth] = shape;
            let tile = [8; 3];
            let tiles = std::array::from_fn(|axis| shape[axis].div_ceil(tile[axis]));
            let layout = Layout { shape, tile, tiles };
            let image = Array3::from_shape_fn((depth, height, width), |(z, y, x)| (x + 100 * y + 10_000 * z) as f32);
            let packed = layout.pack(image.view(), &Ticker::new("test"), |v| v).unwrap();
            let mut back = Array3::zeros(image.dim());
            layout.unpack(&packed, back.view_mut(), &Ticker::new("test"), |v: f32| v).unwrap();
            assert_eq!(back, image);
            for index in 0..layout.count() {
                let position = layout.position(index);
                let mut one = HaloTile([[[0.0; 80]; 10]; 3]);
                layout.gather::<1, 8, 64, true, 80, 10, 3>(&packed, position, &mut one);
                let mut two = HaloTile([[[0.0; 96]; 12]; 5]);
                layout.gather::<2, 8, 64, true, 96, 12, 5>(&packed, position, &mut two);
                for (k, j, i) in (0..12).flat_map(|k| (0..12).flat_map(move |j| (0..12).map(move |i| (k, j, i)))) {
                    let at =
                        |axis: usize, place: usize| (position[axis] * 8 + place).saturating_sub(2).min(shape[axis] - 1);
                    let expected = image[[at(2, k), at(1, j), at(0, i)]];
                    for shift in 0..5 {
                        let is_copied = shift == 2 || [j, k].into_iter().all(|place| (2..10).contains(&place));
                        if is_copied && (shift..shift + 8).contains(&i) {
                            assert_eq!(
                                two.0[shift][k][j * 8 + i - shift],
                                expected,
                                "{shape:?} {position:?} {i} {j} {k}"
                            );
                        }
                    }
                    for shift in 0..3 {
                        let inner = [j, k].into_iter().all(|place| (1..11).contains(&place));
                        if inner && (shift + 1..shift + 9).contains(&i) {
                            let value = one.0[shift][k - 1][(j - 1) * 8 + i - 1 - shift];
                            assert_eq!(value, expected, "{shape:?} {position:?} {i} {j} {k}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn affected_tiles_are_active_and_no_others() {
        let layout = Layout { shape: [40, 32, 24], tile: [8; 3], tiles: [5, 4, 3] };
        let single = (0..27).map(|bit| 1 << bit);
        for word in single.chain([0, ALL_NEIGHBOURS, 0x2AA_5555]) {
            for (volume, index) in [true, false].into_iter().flat_map(|v| (0..layout.count()).map(move |i| (v, i))) {
                let mut affected = vec![0; layout.count()];
                affected[index] = word;
                let mut is_active = vec![7; layout.count()];
                layout.mark_affected(&affected, volume, &mut is_active);
                let centre = layout.position(index);
                for (other, is_active) in is_active.iter().enumerate() {
                    let position = layout.position(other);
                    let [dx, dy, dz] = std::array::from_fn(|axis| position[axis] as i64 - centre[axis] as i64);
                    let near = [dx, dy, dz].iter().all(|d| d.abs() <= 1) && (volume || dz == 0);
                    let expected = near && word >> (dx + 1 + 3 * (dy + 1) + 9 * (dz + 1)) & 1 == 1;
                    assert_eq!(*is_active == 1, expected, "{word:b} {centre:?} {position:?}");
                }
            }
        }
    }

    #[test]
    fn a_voxel_affects_the_tiles_within_two_voxels() {
        let bit = |dx: i32, dy: i32, dz: i32| 1u32 << (dx + 1 + 3 * (dy + 1) + 9 * (dz + 1));
        let from = |voxel: [usize; 3]| affected_tiles(voxel.map(|place| affected_along_axis(8, place)));
        assert_eq!(from([2, 5, 3]), bit(0, 0, 0));
        assert_eq!(from([1, 5, 3]), bit(0, 0, 0) | bit(-1, 0, 0));
        assert_eq!(from([2, 6, 3]), bit(0, 0, 0) | bit(0, 1, 0));
        assert_eq!(from([7, 3, 0]), bit(0, 0, 0) | bit(1, 0, 0) | bit(0, 0, -1) | bit(1, 0, -1));
        assert_eq!((0..512).fold(0, |all, i| all | from([i % 8, i / 8 % 8, i / 64])), ALL_NEIGHBOURS);
    }
}
