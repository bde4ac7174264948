//! The division of a volume among the blocks of the dense kernel.

use crate::device::cuda::MAX_GRID_YZ;
use crate::device::kernels::level_set::{DENSE_COLUMNS, DENSE_ROWS, DENSE_WARPS, DenseChunks};

/// The grid of the dense kernel of volumes and the chunks of its blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DenseGrid {
    /// The numbers of strips of columns, groups of rows, and chunks of planes.
    pub grid: [usize; 3],
    pub chunks: DenseChunks,
}

impl DenseGrid {
    /// The usual number of planes of a block. With fewer planes the load is balanced better, but the cost of starting a
    /// block counts more often. A block has at least `MIN_PLANES`.
    const PLANES: u64 = 20;
    const MIN_PLANES: u64 = 2;
    /// With blocks of one size, some end much later than others, because the first block on a multiprocessor has priority
    /// and planes with a front take longer. If there are `MIN_PLANES_OF_TWO_SIZES` to `MAX_PLANES_OF_TWO_SIZES` planes per
    /// resident block, this is balanced by blocks of two sizes: four fifths of the planes are divided among large blocks,
    /// one per resident block, and the rest among twice as many small ones, which multiprocessors take as they become free.
    const MAX_PLANES_OF_TWO_SIZES: u64 = 64;
    const MIN_PLANES_OF_TWO_SIZES: u64 = 8;

    /// Tells whether a volume can be divided: it must have at least as many rows as a warp needs, and the grid must not
    /// exceed the limits of a launch.
    pub(super) fn fits([_, height, depth]: [usize; 3]) -> bool {
        let chunks = (depth as u64).div_ceil(Self::PLANES);
        height >= DENSE_ROWS && Self::groups(height) <= MAX_GRID_YZ as u64 && chunks <= MAX_GRID_YZ as u64
    }

    fn groups(height: usize) -> u64 {
        height.div_ceil(DENSE_ROWS * DENSE_WARPS) as u64
    }

    /// Divides a volume for which [`fits`](Self::fits) is true, on a device that holds `resident` blocks at a time.
    pub(super) fn new(resident: u64, [width, height, depth]: [usize; 3]) -> Self {
        let (strips, groups, depth) = (width.div_ceil(DENSE_COLUMNS) as u64, Self::groups(height), depth as u64);
        let columns = strips * groups;
        let (in_a_wave, planes) = (resident / columns, columns * depth / resident);
        let [large_count, large_planes, chunks] = if in_a_wave == 0 || planes > Self::MAX_PLANES_OF_TWO_SIZES {
            [0, 0, ((depth + Self::PLANES / 2) / Self::PLANES).max(1)]
        } else if planes < Self::MIN_PLANES_OF_TWO_SIZES {
            [0, 0, in_a_wave.min(depth / Self::MIN_PLANES).max(1)]
        } else {
            let large_planes = depth * 4 / 5 / in_a_wave;
            [in_a_wave, large_planes, in_a_wave + (2 * in_a_wave).min(depth - large_planes * in_a_wave)]
        };
        let (others, rest) = (chunks - large_count, depth - large_count * large_planes);
        let [large_count, large_planes, small_planes, longer_count] =
            [large_count, large_planes, rest / others, rest % others].map(|planes| planes as u32);
        Self {
            grid: [strips as usize, groups as usize, chunks as usize],
            chunks: DenseChunks { large_count, large_planes, small_planes, longer_count },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_all_planes() {
        for shape in [[1, 2, 1], [181, 217, 181], [512, 512, 512], [62, 8, 1], [63, 9, 7], [1 << 14, 1 << 14, 300]] {
            assert!(DenseGrid::fits(shape), "{shape:?}");
            for resident in [1, 48, 660, 740, 1320] {
                let DenseGrid { grid, chunks } = DenseGrid::new(resident, shape);
                let DenseChunks { large_count, large_planes, small_planes, longer_count } = chunks;
                let of = |chunks: u32, planes: u32| u64::from(chunks) * u64::from(planes);
                let planes = of(large_count, large_planes)
                    + of(grid[2] as u32 - large_count, small_planes)
                    + u64::from(longer_count);
                assert_eq!(planes, shape[2] as u64, "{shape:?} on {resident}");
                assert!(longer_count < grid[2] as u32 - large_count && small_planes > 0, "{shape:?} on {resident}");
                assert!(large_count == 0 || large_planes >= small_planes, "{shape:?} on {resident}");
            }
        }
        assert!(
            !DenseGrid::fits([100, 1, 100]) && !DenseGrid::fits([100, 1 << 20, 1]) && !DenseGrid::fits([1, 2, 1 << 21])
        );
    }

    #[test]
    fn a_volume_of_a_few_waves_ends_in_small_chunks() {
        let DenseGrid { grid, chunks } = DenseGrid::new(1320, [181, 217, 181]);
        assert_eq!(grid, [3, 55, 24]);
        assert_eq!(chunks, DenseChunks { large_count: 8, large_planes: 18, small_planes: 2, longer_count: 5 });
        assert_eq!(DenseGrid::new(1320, [512; 3]).chunks.large_count, 0);
    }
}
