//! How the dense kernel shares out a volume among its blocks.

/// How the blocks of the marching kernel share out a volume: see `dense` in `kernels/level_set_dense.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marching {
    pub blocks: u32,
    /// Planes of a block, the first `longer` blocks one more.
    pub share: u32,
    pub longer: u32,
}

impl Marching {
    /// Columns of a warp; rows of a warp; warps of a block. These and the next are the kernel's.
    pub(super) const COLUMNS: u64 = 62;
    pub(super) const ROWS: u64 = 2;
    pub(super) const WARPS: u32 = 4;
    /// What the beginning of a column costs, in planes.
    pub(super) const BEGIN: u64 = 2;
    /// Planes of a block, about: fewer fill the device more evenly, but begin more often. None for less than the second.
    const SHARE: u64 = 20;
    const LEAST: u64 = 6;

    /// Whether a volume can be shared out: it has as many rows as a warp, and 32 bits count its planes.
    pub(super) fn fits(shape: [usize; 3]) -> bool {
        shape[1] as u64 >= Self::ROWS && u32::try_from(Self::total(shape)).is_ok()
    }

    /// Planes of all columns, with what beginning them costs.
    fn total([width, height, depth]: [usize; 3]) -> u64 {
        let columns =
            (width as u64).div_ceil(Self::COLUMNS) * (height as u64).div_ceil(Self::ROWS * u64::from(Self::WARPS));
        columns * (depth as u64 + Self::BEGIN)
    }

    /// For a volume that fits, on a device that holds so many blocks.
    pub(super) fn new(held: u64, shape: [usize; 3]) -> Self {
        let total = Self::total(shape);
        // Whole turns of what the device holds.
        let turns = ((total + held * Self::SHARE / 2) / (held * Self::SHARE)).max(1);
        let blocks = (held * turns).min((total / Self::LEAST).max(1));
        Self { blocks: blocks as u32, share: (total / blocks) as u32, longer: (total % blocks) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_planes() {
        for shape in [[1, 2, 1], [181, 217, 181], [512, 512, 512], [62, 8, 1], [63, 9, 7], [1 << 14, 1 << 14, 300]] {
            assert!(Marching::fits(shape), "{shape:?}");
            for held in [1, 48, 660, 740] {
                let Marching { blocks, share, longer } = Marching::new(held, shape);
                let shared = u64::from(blocks) * u64::from(share) + u64::from(longer);
                assert_eq!(shared, Marching::total(shape), "{shape:?} on {held}");
                assert!(longer < blocks && share > 0, "{shape:?} on {held}");
            }
        }
        assert!(!Marching::fits([100, 1, 100]) && !Marching::fits([1 << 15, 1 << 15, 1 << 15]));
    }
}
