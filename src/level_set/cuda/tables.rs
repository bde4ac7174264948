//! What lies on the device besides the pixels, and how those lie there: the kernels' contract is in `kernels/level_set.cu`.

use super::super::plan::Plan;
use crate::device::cuda::{Buffer, Cuda, Stream};
use crate::error::Result;

/// Elements before the first row, so that a tile's halo may begin before it; a multiple of 16 bytes.
pub(super) const FRONT: usize = 8;
/// Elements after the last row, likewise.
const BACK: usize = 64;
/// Elements of a row before its first pixel.
pub(super) const LEAD: usize = 1;
/// Rows of statistics on the device.
pub(super) const ROWS: u64 = 8192;
/// Lists of tiles.
pub(super) const RING: usize = 4;

/// Bytes of a row of statistics, and of what decides whether iterations go on.
pub(super) const ROW_BYTES: usize = 40;
pub(super) const CONTROL_BYTES: usize = 72;

/// A row of statistics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub changed: u64,
    pub near: u64,
    pub squares: u64,
    /// What was added to the voxels inside.
    pub inside: i64,
    pub tiles: u32,
    pub done: bool,
}

impl Row {
    /// From five words as the kernels write them.
    pub(super) fn of(words: &[u64]) -> Self {
        let [changed, near, squares, inside, rest] = *words else { unreachable!("five words a row") };
        Self { changed, near, squares, inside: inside as i64, tiles: rest as u32, done: rest >> 32 != 0 }
    }
}

/// How φ, and the image in its own type, lie in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub shape: [usize; 3],
    /// Elements from row to row.
    pub pitch: usize,
}

impl Layout {
    pub(super) fn new(shape: [usize; 3]) -> Self {
        Self { shape, pitch: (shape[0] + 2).next_multiple_of(8) }
    }

    pub(super) fn rows(&self) -> usize {
        self.shape[1] * self.shape[2]
    }

    /// Elements with the room before and after.
    pub(super) fn elements(&self) -> usize {
        FRONT + self.pitch * self.rows() + BACK
    }
}

/// Counters at which the blocks of a launch meet, one a launch; so many may have been queued since they were emptied.
pub(super) const MEETINGS: usize = 4096;

/// Bytes of the tables of a plan with so many tiles.
pub(super) fn table_bytes(tiles: u64) -> u64 {
    tiles * (RING as u64 * 8 + 2 * 4) + ROWS * ROW_BYTES as u64 + MEETINGS as u64 * 4 + 4096
}

/// The tables on the device.
pub(super) struct Tables {
    pub control: Buffer,
    pub rows: Buffer,
    /// Lists of tiles, their counts, stamps.
    pub lists: [Buffer; 3],
    pub meetings: Buffer,
}

impl Tables {
    pub(super) fn new(cuda: &Cuda, plan: &Plan) -> Result<Self> {
        let memory = cuda.memory();
        let tiles: usize = plan.tiles().into_iter().product();
        let lists = [memory.device(RING * tiles * 8)?, memory.device(RING * 4)?, memory.device(2 * tiles * 4)?];
        Ok(Self {
            control: memory.device(CONTROL_BYTES)?,
            rows: memory.device(ROWS as usize * ROW_BYTES)?,
            lists,
            meetings: memory.device(MEETINGS * 4)?,
        })
    }

    /// Empties the counters at which blocks meet.
    pub(super) fn clear_meetings(&self, stream: &Stream) -> Result<()> {
        stream.fill(&self.meetings, 0, self.meetings.bytes(), 0)
    }

    /// Empties the lists.
    pub(super) fn clear_lists(&self, stream: &Stream) -> Result<()> {
        let [_, counts, stamps] = &self.lists;
        stream.fill(counts, 0, counts.bytes(), 0)?;
        stream.fill(stamps, 0, stamps.bytes(), 0)
    }
}
