//! The tables on the device and the layout of φ and the image there. The kernels' contract is in
//! `kernels/level_set.cu`.

use super::super::plan::Plan;
use crate::device::cuda::{Buffer, Cuda, Stream};
use crate::device::kernels::level_set::{ConvergenceState, IterationStatistics, LISTS};
use crate::error::Result;

/// The number of elements before the first row, where the halo of the first tile begins. In bytes it is a multiple of 16.
pub(super) const PADDING_BEFORE: usize = 8;
/// The number of elements after the last row, where the halo of the last tile ends.
const PADDING_AFTER: usize = 64;
/// The length of the ring of statistics on the device.
pub(super) const STATISTICS: u64 = 8192;
/// The bytes of the statistics of an iteration, and of the state of the stopping criterion.
pub(super) const STATISTICS_BYTES: usize = size_of::<IterationStatistics>();
pub(super) const CONVERGENCE_BYTES: usize = size_of::<ConvergenceState>();

/// The layout of φ, and of the image in its own type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub shape: [usize; 3],
    /// The number of elements from row to row.
    pub pitch: usize,
}

impl Layout {
    pub(super) fn new(shape: [usize; 3]) -> Self {
        Self { shape, pitch: (shape[0] + 2).next_multiple_of(8) }
    }

    /// Returns the address of slice `z` of a φ.
    pub(super) fn address(&self, phi: &Buffer, z: usize) -> u64 {
        phi.address() + ((PADDING_BEFORE + z * self.shape[1] * self.pitch) * size_of::<f32>()) as u64
    }

    /// Returns the bytes of a plane of a φ.
    pub(super) fn plane_bytes(&self) -> usize {
        self.shape[1] * self.pitch * size_of::<f32>()
    }

    pub(super) fn rows(&self) -> usize {
        self.shape[1] * self.shape[2]
    }

    /// Returns the number of elements, with those before the first row and after the last.
    pub(super) fn elements(&self) -> usize {
        PADDING_BEFORE + self.pitch * self.rows() + PADDING_AFTER
    }
}

/// The number of counters of grid barriers. Each launch takes one, so this bounds the launches between two resets.
pub(super) const BARRIERS: usize = 4096;

/// Returns the bytes of the tables of a plan with `tiles` tiles.
pub(super) fn table_bytes(tiles: u64) -> u64 {
    tiles * (LISTS as u64 * 8 + 2 * 4) + STATISTICS * STATISTICS_BYTES as u64 + BARRIERS as u64 * 4 + 4096
}

/// The tables on the device.
pub(super) struct Tables {
    /// The state of the stopping criterion.
    pub convergence: Buffer,
    /// The ring of the statistics of iterations.
    pub statistics: Buffer,
    /// The lists of active tiles, their lengths, and the stamps of tiles.
    pub lists: [Buffer; 3],
    /// The counters of the grid barriers.
    pub barriers: Buffer,
}

impl Tables {
    pub(super) fn new(cuda: &Cuda, plan: &Plan) -> Result<Self> {
        let memory = cuda.memory();
        let tiles = plan.tile_count() as usize;
        let lists = [memory.device(LISTS * tiles * 8)?, memory.device(LISTS * 4)?, memory.device(2 * tiles * 4)?];
        Ok(Self {
            convergence: memory.device(CONVERGENCE_BYTES)?,
            statistics: memory.device(STATISTICS as usize * STATISTICS_BYTES)?,
            lists,
            barriers: memory.device(BARRIERS * 4)?,
        })
    }

    /// Resets the counters of the grid barriers.
    pub(super) fn clear_barriers(&self, stream: &Stream) -> Result<()> {
        stream.fill(&self.barriers, 0, self.barriers.bytes(), 0)
    }

    /// Clears the lists of active tiles.
    pub(super) fn clear_lists(&self, stream: &Stream) -> Result<()> {
        let [_, counts, stamps] = &self.lists;
        stream.fill(counts, 0, counts.bytes(), 0)?;
        stream.fill(stamps, 0, stamps.bytes(), 0)
    }
}
