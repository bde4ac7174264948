//! How the dense kernel cuts a volume among its blocks.

/// How every column of planes is cut into chunks, a block each: `DenseChunks` of `kernels/level_set_dense.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shares {
    /// So many chunks begin, of `share` planes each.
    pub large: u32,
    pub share: u32,
    /// Planes of each of the others, the first `longer` of them one more.
    pub small: u32,
    pub longer: u32,
}

/// How the blocks of the marching kernel share out a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marching {
    /// Strips of columns, groups of rows, chunks of planes.
    pub grid: (u32, u32, u32),
    pub shares: Shares,
}

impl Marching {
    /// Columns of a warp; rows of a warp; warps of a block. These are the kernel's.
    pub(super) const COLUMNS: u64 = 62;
    pub(super) const ROWS: u64 = 2;
    pub(super) const WARPS: u32 = 2;
    /// Planes of a block, about: fewer fill the device more evenly, but begin more often. None for less than the second.
    const SHARE: u64 = 20;
    const LEAST: u64 = 2;
    /// Up to so many planes for each block that the device holds, blocks end far apart, as the first on a multiprocessor is
    /// served first and a front's planes cost more. Then four fifths of the planes are a turn of large blocks, and what is
    /// free first takes of the rest, twice as many small ones: so long as a block has some planes.
    const MANY: u64 = 64;
    const SOME: u64 = 8;
    /// The most blocks along y and z.
    const MOST: u64 = 65535;

    /// Whether a volume can be shared out: it has as many rows as a warp, and a grid is not too large.
    pub(super) fn fits([_, height, depth]: [usize; 3]) -> bool {
        let chunks = (depth as u64).div_ceil(Self::SHARE);
        height as u64 >= Self::ROWS && Self::groups(height) <= Self::MOST && chunks <= Self::MOST
    }

    fn groups(height: usize) -> u64 {
        (height as u64).div_ceil(Self::ROWS * u64::from(Self::WARPS))
    }

    /// For a volume that fits, on a device that holds so many blocks.
    pub(super) fn new(held: u64, [width, height, depth]: [usize; 3]) -> Self {
        let (strips, groups, depth) = ((width as u64).div_ceil(Self::COLUMNS), Self::groups(height), depth as u64);
        let columns = strips * groups;
        let (in_a_turn, planes) = (held / columns, columns * depth / held);
        let [large, share, chunks] = if in_a_turn == 0 || planes > Self::MANY {
            [0, 0, ((depth + Self::SHARE / 2) / Self::SHARE).max(1)]
        } else if planes < Self::SOME {
            [0, 0, in_a_turn.min(depth / Self::LEAST).max(1)]
        } else {
            let share = depth * 4 / 5 / in_a_turn;
            [in_a_turn, share, in_a_turn + (2 * in_a_turn).min(depth - share * in_a_turn)]
        };
        let (others, rest) = (chunks - large, depth - large * share);
        let [large, share, small, longer] = [large, share, rest / others, rest % others].map(|planes| planes as u32);
        Self { grid: (strips as u32, groups as u32, chunks as u32), shares: Shares { large, share, small, longer } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_all_planes() {
        for shape in [[1, 2, 1], [181, 217, 181], [512, 512, 512], [62, 8, 1], [63, 9, 7], [1 << 14, 1 << 14, 300]] {
            assert!(Marching::fits(shape), "{shape:?}");
            for held in [1, 48, 660, 740, 1320] {
                let Marching { grid, shares: Shares { large, share, small, longer } } = Marching::new(held, shape);
                let of = |chunks: u32, planes: u32| u64::from(chunks) * u64::from(planes);
                let planes = of(large, share) + of(grid.2 - large, small) + u64::from(longer);
                assert_eq!(planes, shape[2] as u64, "{shape:?} on {held}");
                assert!(longer < grid.2 - large && small > 0, "{shape:?} on {held}");
                assert!(large == 0 || share >= small, "{shape:?} on {held}");
            }
        }
        assert!(
            !Marching::fits([100, 1, 100]) && !Marching::fits([100, 1 << 20, 1]) && !Marching::fits([1, 2, 1 << 21])
        );
    }

    #[test]
    fn a_volume_of_a_few_turns_ends_in_small_chunks() {
        let Marching { grid, shares } = Marching::new(1320, [181, 217, 181]);
        assert_eq!(grid, (3, 55, 24));
        assert_eq!(shares, Shares { large: 8, share: 18, small: 2, longer: 5 });
        assert_eq!(Marching::new(1320, [512; 3]).shares.large, 0);
    }
}
