//! How the dense kernel shares out a volume among its blocks.

/// How the blocks of the marching kernel share out a volume: see `dense` in `kernels/level_set_dense.cuh`, whose constants
/// these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marching {
    pub blocks: u32,
    /// Planes of a block, the first `longer` blocks one more.
    pub share: u32,
    pub longer: u32,
}

impl Marching {
    /// Columns of a warp; rows of a warp; warps of a block; blocks that a multiprocessor holds.
    const COLUMNS: u64 = 62;
    const ROWS: u64 = 2;
    pub(super) const WARPS: u64 = 4;
    const HELD: u64 = 5;
    /// What the beginning of a column costs, in planes.
    const BEGIN: u64 = 2;
    /// Planes of a block, about: fewer fill the device more evenly, but begin more often. None for less than the second.
    const SHARE: u64 = 20;
    const LEAST: u64 = 6;

    /// None where the volume has fewer rows than a warp.
    pub(super) fn new(multiprocessors: u64, [width, height, depth]: [usize; 3]) -> Option<Self> {
        let [width, height, depth] = [width, height, depth].map(|n| n as u64);
        if height < Self::ROWS {
            return None;
        }
        let columns = width.div_ceil(Self::COLUMNS) * height.div_ceil(Self::ROWS * Self::WARPS);
        let total = columns * (depth + Self::BEGIN);
        u32::try_from(total).ok()?;
        let once = multiprocessors * Self::HELD;
        // Whole turns of what the device holds.
        let turns = ((total + once * Self::SHARE / 2) / (once * Self::SHARE)).max(1);
        let blocks = (once * turns).min((total / Self::LEAST).max(1));
        Some(Self { blocks: blocks as u32, share: (total / blocks) as u32, longer: (total % blocks) as u32 })
    }
}
