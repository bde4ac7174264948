//! A volume, or slices, stored tile by tile: the voxels of a tile are contiguous, x fastest.
//!
//! Tiles at the end of an axis may extend beyond the image; the values there are never used.

use crate::device::kernels::level_set::BAND_REACH;
use crate::error::Result;
use crate::image::zeroed;
use ndarray::{ArrayView3, ArrayViewMut3, Axis, s};
use rayon::prelude::*;

/// A tile with a halo of rows and planes, in copies that are shifted along x: `K` planes of `A` voxels for each of the
/// `SHIFTS` shifts.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Block<const A: usize, const K: usize, const SHIFTS: usize>(pub [[[f32; A]; K]; SHIFTS]);

/// Returns the tiles along one axis that a change at `place` of a tile of this size may affect: those within two
/// voxels. Bits 0, 1 and 2 are the tile below, the tile itself and the one above.
#[inline(always)]
pub(super) fn affected_along_axis(size: usize, place: usize) -> u32 {
    u32::from(place < BAND_REACH) | 2 | u32::from(place + BAND_REACH >= size) << 2
}

/// Returns the tiles, of a tile and the 26 around it, that are reached along x, y and z: the tile that is
/// `[dx, dy, dz]` further, each −1, 0 or 1, has bit (dx + 1) + 3·(dy + 1) + 9·(dz + 1).
#[inline(always)]
pub(super) fn affected_tiles([x, y, z]: [u32; 3]) -> u32 {
    let spread = |pattern: u32, axis: u32, stride: u32| {
        let times = |bit: u32| (pattern * (axis >> bit & 1)) << (bit * stride);
        times(0) | times(1) | times(2)
    };
    spread(spread(x, y, 3), z, 9)
}

/// The order of tiles and voxels in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub shape: [usize; 3],
    /// The sides of a tile.
    pub tile: [usize; 3],
    /// The number of tiles along each axis.
    pub tiles: [usize; 3],
}

impl Layout {
    /// Returns a layout whose tiles are slices, so that voxels are in the order of an image.
    pub(super) fn plain(shape: [usize; 3]) -> Self {
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
    fn row(&self, [y, z]: [usize; 2]) -> usize {
        let [along_x, along_y, _] = self.tiles;
        let [tx, ty, tz] = self.tile;
        (z / tz * along_y + y / ty) * along_x * self.tile_voxels() + (z % tz * ty + y % ty) * tx
    }

    /// Copies a tile whose planes have `AREA` voxels in rows of `N`, with a halo of `H` rows and (in volumes) planes on
    /// every side, and shifted by −`H` … `H` columns, clamped to the image. With H > 1 only the tile's own rows and
    /// planes are shifted.
    #[inline(always)]
    pub(super) fn gather<
        const H: usize,
        const N: usize,
        const AREA: usize,
        const VOLUME: bool,
        const A: usize,
        const K: usize,
        const SHIFTS: usize,
    >(
        &self,
        field: &[f32],
        position: [usize; 3],
        Block(block): &mut Block<A, K, SHIFTS>,
    ) {
        // Divisions by sizes that are known here are shifts; others took a quarter of the time of an iteration.
        let (rows, extra) = const { (AREA / N, if VOLUME { H } else { 0 }) };
        let own_planes = const { if VOLUME { K - 2 * H } else { K } };
        let tile_voxels = const { AREA * if VOLUME { K - 2 * H } else { K } };
        debug_assert_eq!(([N, rows, own_planes], A, SHIFTS), (self.tile, AREA + 2 * H * N, 2 * H + 1));
        let [along_x, along_y, _] = self.tiles;
        let [width, height, depth] = self.shape;
        let [x0, y0, z0] = [position[0] * N, position[1] * rows, position[2] * own_planes];
        let column = |x: usize| x / N * tile_voxels + x % N;
        let left: [usize; H] = std::array::from_fn(|h| column(x0.saturating_sub(h + 1)));
        let right: [usize; H] = std::array::from_fn(|h| column((x0 + N + h).min(width - 1)));
        let own = column(x0);
        let valid = (width - x0).min(N);
        let mut row_starts = [0; 20];
        let row_starts = &mut row_starts[..const { AREA / N + 2 * H }];
        for (j, start) in row_starts.iter_mut().enumerate() {
            let y = (y0 + j).saturating_sub(H).min(height - 1);
            *start = y / rows * along_x * tile_voxels + y % rows * N;
        }
        for k in 0..K {
            let z = (z0 + k).saturating_sub(extra).min(depth - 1);
            let plane_start = z / own_planes * along_y * along_x * tile_voxels + z % own_planes * AREA;
            let own_plane = (extra..K - extra).contains(&k);
            let planes = block.each_mut().map(|shifted| shifted[k].as_chunks_mut::<N>().0);
            for (j, row_start) in row_starts.iter().enumerate() {
                let start = plane_start + row_start;
                let Some(from) = field[start + own..].first_chunk::<N>() else { unreachable!("a row of a tile") };
                planes[H][j] = *from;
                let last = from[valid - 1];
                if valid < N {
                    planes[H][j][valid..].fill(last);
                }
                if H > 1 && !(own_plane && (H..rows + H).contains(&j)) {
                    continue;
                }
                for shift in 1..=H {
                    let low = &mut planes[H - shift][j];
                    low[shift..].copy_from_slice(&from[..N - shift]);
                    for (x, left) in left[..shift].iter().rev().enumerate() {
                        low[x] = field[start + left];
                    }
                    if valid < N {
                        low[(valid + shift).min(N)..].fill(last);
                    }
                    let high = &mut planes[H + shift][j];
                    high[..N - shift].copy_from_slice(&from[shift..]);
                    for (x, right) in right[..shift].iter().enumerate() {
                        high[N - shift + x] = field[start + right];
                    }
                    if valid < N {
                        high[valid.saturating_sub(shift)..].fill(last);
                    }
                }
            }
        }
    }

    /// Copies an image into tiles.
    pub(super) fn pack<T, U>(&self, view: ArrayView3<'_, T>, convert: impl Fn(T) -> U + Sync) -> Result<Vec<U>>
    where
        T: Copy + Sync,
        U: bytemuck::Zeroable + Send,
    {
        let mut packed = zeroed(self.count() * self.tile_voxels())?;
        let slab = self.tiles[0] * self.tiles[1] * self.tile_voxels();
        packed.par_chunks_mut(slab).enumerate().for_each(|(slab, packed)| {
            let z0 = slab * self.tile[2];
            for z in z0..(z0 + self.tile[2]).min(self.shape[2]) {
                for y in 0..self.shape[1] {
                    let start = self.row([y, z - z0]);
                    let pixels = view.slice(s![z, y, ..]);
                    for (tile, pixels) in pixels.axis_chunks_iter(Axis(0), self.tile[0]).enumerate() {
                        let to = packed[start + tile * self.tile_voxels()..].iter_mut();
                        to.zip(pixels).for_each(|(to, pixel)| *to = convert(*pixel));
                    }
                }
            }
        });
        Ok(packed)
    }

    /// Copies tiles into an image, the inverse of [`pack`](Self::pack).
    pub(super) fn unpack<T: Copy + Sync, U: Send + Sync>(
        &self,
        packed: &[T],
        mut view: ArrayViewMut3<'_, U>,
        convert: impl Fn(T) -> U + Sync,
    ) {
        view.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(z, mut slice)| {
            for (y, mut row) in slice.axis_iter_mut(Axis(0)).enumerate() {
                let start = self.row([y, z]);
                for (tile, mut pixels) in row.axis_chunks_iter_mut(Axis(0), self.tile[0]).enumerate() {
                    let from = &packed[start + tile * self.tile_voxels()..];
                    pixels.iter_mut().zip(from).for_each(|(pixel, from)| *pixel = convert(*from));
                }
            }
        });
    }

    /// Returns the tiles that those voxels of tile `index` reach that are within the band, as the bits of
    /// [`affected_tiles`]. `tile` holds the tile's values, in rows of `N`.
    pub(super) fn affected_by_band<const N: usize>(&self, index: usize, tile: &[f32], band_width: f32) -> u32 {
        let [_, height, depth] = self.tile;
        let [columns, rows, planes] = self.valid(self.position(index));
        // All rows that reach the same tiles along y and z are one: the smallest |φ| of each column counts.
        let mut closest = [[f32::INFINITY; N]; 64];
        let along = |size: usize, place: usize| affected_along_axis(size, place) as usize;
        for (k, plane) in tile.as_chunks::<N>().0.chunks_exact(height).enumerate().take(planes) {
            for (j, row) in plane.iter().enumerate().take(rows) {
                let closest = &mut closest[along(depth, k) * 8 + along(height, j)];
                for (closest, phi) in closest.iter_mut().zip(row) {
                    *closest = if phi.abs() < *closest { phi.abs() } else { *closest };
                }
            }
        }
        let within = |place: usize| {
            let bits = |(x, closest): (usize, &f32)| if *closest <= band_width { affected_along_axis(N, x) } else { 0 };
            let x = closest[place][..columns].iter().enumerate().map(bits).fold(0, |all, one| all | one);
            affected_tiles([x, place as u32 % 8, place as u32 / 8])
        };
        [2, 3, 6, 7].iter().flat_map(|z| [2, 3, 6, 7].map(|y| within(z * 8 + y))).fold(0, |all, one| all | one)
    }

    /// Sets `reached` to 1 for the tiles that the bits of `marks` name, see [`affected_tiles`], and to 0 for others. In
    /// slices the tiles of other slices are left out.
    pub(super) fn spread(&self, marks: &[u32], volume: bool, reached: &mut [u8]) {
        reached.fill(0);
        for (index, mark) in marks.iter().enumerate().filter(|(_, mark)| **mark != 0) {
            let position = self.position(index);
            for bit in (0..27).filter(|bit| mark >> bit & 1 == 1) {
                let offset = [bit % 3, bit / 3 % 3, bit / 9];
                let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| (position[axis] + offset[axis]).wrapping_sub(1));
                if x < self.tiles[0] && y < self.tiles[1] && z < self.tiles[2] && (volume || z == position[2]) {
                    reached[(z * self.tiles[1] + y) * self.tiles[0] + x] = 1;
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
            let packed = layout.pack(image.view(), |v| v).unwrap();
            let mut back = Array3::zeros(image.dim());
            layout.unpack(&packed, back.view_mut(), |v: f32| v);
            assert_eq!(back, image);
            for index in 0..layout.count() {
                let position = layout.position(index);
                let mut one = Block([[[0.0; 80]; 10]; 3]);
                layout.gather::<1, 8, 64, true, 80, 10, 3>(&packed, position, &mut one);
                let mut two = Block([[[0.0; 96]; 12]; 5]);
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
    fn marks_reach_the_tiles_that_they_name_and_no_others() {
        let layout = Layout { shape: [40, 32, 24], tile: [8; 3], tiles: [5, 4, 3] };
        let single = (0..27).map(|bit| 1 << bit);
        for mark in single.chain([0, ALL_NEIGHBOURS, 0x2AA_5555]) {
            for (volume, index) in [true, false].into_iter().flat_map(|v| (0..layout.count()).map(move |i| (v, i))) {
                let mut marks = vec![0; layout.count()];
                marks[index] = mark;
                let mut reached = vec![7; layout.count()];
                layout.spread(&marks, volume, &mut reached);
                let centre = layout.position(index);
                for (other, reached) in reached.iter().enumerate() {
                    let position = layout.position(other);
                    let [dx, dy, dz] = std::array::from_fn(|axis| position[axis] as i64 - centre[axis] as i64);
                    let near = [dx, dy, dz].iter().all(|d| d.abs() <= 1) && (volume || dz == 0);
                    let expected = near && mark >> (dx + 1 + 3 * (dy + 1) + 9 * (dz + 1)) & 1 == 1;
                    assert_eq!(*reached == 1, expected, "{mark:b} {centre:?} {position:?}");
                }
            }
        }
    }

    #[test]
    fn a_voxel_reaches_the_tiles_within_two_voxels() {
        let bit = |dx: i32, dy: i32, dz: i32| 1u32 << (dx + 1 + 3 * (dy + 1) + 9 * (dz + 1));
        let from = |voxel: [usize; 3]| affected_tiles(voxel.map(|place| affected_along_axis(8, place)));
        assert_eq!(from([2, 5, 3]), bit(0, 0, 0));
        assert_eq!(from([1, 5, 3]), bit(0, 0, 0) | bit(-1, 0, 0));
        assert_eq!(from([2, 6, 3]), bit(0, 0, 0) | bit(0, 1, 0));
        assert_eq!(from([7, 3, 0]), bit(0, 0, 0) | bit(1, 0, 0) | bit(0, 0, -1) | bit(1, 0, -1));
        assert_eq!((0..512).fold(0, |all, i| all | from([i % 8, i / 8 % 8, i / 64])), ALL_NEIGHBOURS);
    }
}
