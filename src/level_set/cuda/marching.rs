//! How the dense kernel shares out a volume among its blocks.

/// What each block does of a volume's planes: `DenseShares` of `kernels/level_set_dense.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shares {
    /// So many blocks begin, of `share` planes each.
    pub large: u32,
    pub share: u32,
    /// Planes of each of the others, the first `longer` of them one more.
    pub small: u32,
    pub longer: u32,
}

/// How the blocks of the marching kernel share out a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marching {
    pub blocks: u32,
    pub shares: Shares,
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
    const LEAST: u64 = 2;
    /// Up to so many turns of what the device holds, blocks end far apart, as the first on a multiprocessor is served first
    /// and a front's planes cost more. Then seven tenths of the planes are one turn, and what is free first takes of the
    /// rest, two turns: so long as a block has some planes.
    const FEW_TURNS: u64 = 3;
    const SOME: u64 = 8;

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
        if turns <= Self::FEW_TURNS && total >= held * Self::SOME {
            let share = total * 7 / 10 / held;
            let (rest, others) = (total - held * share, 2 * held);
            let shares = [held, share, rest / others, rest % others];
            return Self::of(held + others, shares);
        }
        let blocks = (held * turns).min((total / Self::LEAST).max(1));
        Self::of(blocks, [0, 0, total / blocks, total % blocks])
    }

    fn of(blocks: u64, shares: [u64; 4]) -> Self {
        let [large, share, small, longer] = shares.map(|planes| planes as u32);
        Self { blocks: blocks as u32, shares: Shares { large, share, small, longer } }
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
                let Marching { blocks, shares: Shares { large, share, small, longer } } = Marching::new(held, shape);
                let planes = |blocks: u32, share: u32| u64::from(blocks) * u64::from(share);
                let shared = planes(large, share) + planes(blocks - large, small) + u64::from(longer);
                assert_eq!(shared, Marching::total(shape), "{shape:?} on {held}");
                assert!(longer < blocks - large && small > 0, "{shape:?} on {held}");
                assert!(large == 0 || share > small, "{shape:?} on {held}");
            }
        }
        assert!(!Marching::fits([100, 1, 100]) && !Marching::fits([1 << 15, 1 << 15, 1 << 15]));
    }
}
