//! The launches of `kernels/snake.cu`, each with its geometry and arguments.
#![allow(unsafe_code)]

use super::super::search::Target;
use super::super::sums::RegionSum;
use super::super::{Bounds, Node, Noise, Status};
use crate::device::cuda::{Buffer, Cuda, Kernel, Stream, geometry};
use crate::device::kernels::snake::{
    ALONE_THREADS, BOX_EDGES, CANDIDATE_COUNT, Change, EdgesBox, GROUP_THREADS, GroupControl, NOISE_BERNOULLI,
    NOISE_GAMMA, NOISE_GAUSSIAN, NOISE_POISSON, NOISE_RAYLEIGH, RegionSum as DeviceSum, STATUS_CONVERGED,
    STATUS_ITERATION_LIMIT, STATUS_RUNNING, STATUS_START_OUTSIDE, STATUS_VANISHED, SUM_BUFFERS, WARP,
};
pub(super) use crate::device::kernels::snake::{DeviceTarget, LevelImage, SearchJob};
use crate::error::Result;
use cudarc::driver::LaunchConfig;

/// The module (kernel file) of this operation.
const MODULE: &str = "snake";

/// The width and height of a thread block of `levels`.
const LEVELS_BLOCK: [usize; 2] = [32, 8];

/// An upper bound on the static shared memory of a block of the search kernel, in bytes. It comes in addition to the arrays
/// of the block's state.
const STATIC_SHARED_BYTES: usize = 8 << 10;

/// A target gets a thread block for every `ROWS_PER_BLOCK` rows that the edges of its initial polygon pass, up to
/// `MAX_BLOCKS`.
const ROWS_PER_BLOCK: i64 = 16;
const MAX_BLOCKS: usize = 128;

/// The most thread blocks of a target if the arrays of a block's state do not fit into shared memory. Each block then has
/// its own arrays in device memory.
const MAX_BLOCKS_UNSHARED: usize = 32;

// SAFETY: a struct of numbers, which have no padding between them or at the end: 16 times 8 bytes.
unsafe impl bytemuck::NoUninit for DeviceTarget {}
const _: () = assert!(size_of::<DeviceTarget>() == 128);

/// The kernels' `STATUS_...` numbers.
const STATUSES: [(usize, Status); 5] = [
    (STATUS_RUNNING, Status::Running),
    (STATUS_CONVERGED, Status::Converged),
    (STATUS_VANISHED, Status::Vanished),
    (STATUS_START_OUTSIDE, Status::StartOutside),
    (STATUS_ITERATION_LIMIT, Status::IterationLimit),
];

impl DeviceTarget {
    /// Returns the state of an unmeasured target; `node_cost` is the cost of a node in units of the criterion, and
    /// `territory` the entry of its territory.
    pub(super) fn new(target: &Target, node_cost: f64, territory: i64) -> Self {
        let Bounds { x0, y0, x1, y1 } = target.bounds;
        Self {
            x0,
            y0,
            x1,
            y1,
            node_cost,
            territory,
            spacing_squared: target.spacing_squared,
            node_count: target.nodes.len() as u32,
            distance: target.distance,
            status: STATUSES
                .iter()
                .find(|(_, status)| *status == target.status)
                .map_or(STATUS_RUNNING, |(code, _)| *code) as u32,
            ..Self::default()
        }
    }

    /// Returns the number of nodes.
    pub(super) fn count(&self) -> usize {
        self.node_count as usize
    }

    /// Returns whether the search has not ended.
    pub(super) fn running(&self) -> bool {
        self.status as usize == STATUS_RUNNING
    }

    /// Writes the state to the host's target; its nodes are copied separately.
    pub(super) fn update(&self, target: &mut Target) {
        let sum = |DeviceSum { pixels, z, zz }| RegionSum { pixels, z, zz };
        let status = STATUSES.iter().find(|(code, _)| *code == self.status as usize);
        target.status = status.map_or(Status::Running, |(_, status)| *status);
        if target.status != Status::StartOutside {
            target.whole = sum(self.whole);
            target.inside = sum(self.inside);
            target.cost = self.cost;
        }
        target.iterations = self.iterations;
    }
}

/// Returns the kernels' `NOISE_...` number for a noise model, and its number of looks.
pub(super) fn noise_code(noise: Noise) -> (u32, f64) {
    let (code, looks) = match noise {
        Noise::Gaussian => (NOISE_GAUSSIAN, 1.0),
        Noise::Poisson => (NOISE_POISSON, 1.0),
        Noise::Gamma { looks } => (NOISE_GAMMA, looks),
        Noise::Rayleigh => (NOISE_RAYLEIGH, 1.0),
        Noise::Bernoulli => (NOISE_BERNOULLI, 1.0),
    };
    (code as u32, looks)
}

/// Returns the largest number of nodes whose changes are tried together: half the nodes, plus one.
fn items(capacity: usize) -> usize {
    capacity / 2 + 1
}

/// Returns the size in bytes of the arrays of a block's state. The kernel's `BlockState::assign_memory` lays them out.
fn state_bytes(capacity: usize) -> usize {
    let by_node = size_of::<DeviceSum>() + 2 * size_of::<Node>();
    let by_item = 2 * size_of::<DeviceSum>() + size_of::<Change>() + 8 + 4 + 1;
    ((capacity / BOX_EDGES + 1) * size_of::<EdgesBox>() + capacity * by_node + items(capacity) * by_item)
        .next_multiple_of(256)
}

/// The geometry of a search: groups of thread blocks, each of which searches one target at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) groups: usize,
    /// The thread blocks of a group.
    pub(super) blocks_per_target: usize,
    /// True if the arrays of a block's state lie in its shared memory, false if in the group's workspace.
    pub(super) state_in_shared_memory: bool,
    /// The size of these arrays, in bytes.
    pub(super) state_bytes: usize,
    /// The size of the device memory that the blocks of a group share, in bytes.
    group_bytes: usize,
}

impl Geometry {
    /// Returns the geometry for targets whose arrays have memory for `capacity` nodes.
    fn new(capacity: usize, groups: usize, blocks_per_target: usize, state_in_shared_memory: bool) -> Self {
        let items = items(capacity);
        let results = items * 2 * size_of::<DeviceSum>() + items.next_multiple_of(2) * 8 + items.next_multiple_of(16);
        let group_bytes = SUM_BUFFERS * items * 2 * CANDIDATE_COUNT * size_of::<DeviceSum>() + results;
        Self { groups, blocks_per_target, state_in_shared_memory, state_bytes: state_bytes(capacity), group_bytes }
    }

    /// Returns the size in bytes of a group's workspace. The kernel's `BlockState::assign_memory` lays it out.
    pub(super) fn workspace_bytes(&self) -> usize {
        let states = if self.state_in_shared_memory { 0 } else { self.blocks_per_target * self.state_bytes };
        (self.group_bytes + states).next_multiple_of(256)
    }
}

/// Returns the largest workspace of one target: that of a group of blocks whose states do not fit in shared memory.
pub(super) fn workspace_bytes_of_one(capacity: usize) -> usize {
    Geometry::new(capacity, 1, MAX_BLOCKS_UNSHARED, false).workspace_bytes()
}

/// Returns the size of all groups' control structs, with the queue's index before them.
pub(super) fn control_bytes(groups: usize) -> usize {
    CONTROL_OFFSET + groups * size_of::<GroupControl>()
}

/// The offset of the first control struct, after the queue's index.
pub(super) const CONTROL_OFFSET: usize = 256;

/// The kernels for levels of one or two bytes.
pub(super) struct Kernels {
    prefix_sums: Kernel,
    whole: Kernel,
    /// The search with a thread block for each target.
    alone: Kernel,
    /// The search with several blocks for each target.
    group: Kernel,
    /// The shared memory for the arrays of a block's state, in bytes.
    shared_limit: usize,
}

impl Kernels {
    pub(super) fn new(cuda: &Cuda, level_bytes: usize) -> Result<Self> {
        let kernel = |name| cuda.kernel(MODULE, &format!("isoline_snake_{name}_u{}", 8 * level_bytes));
        let shared_limit = cuda.shared_memory()?.saturating_sub(STATIC_SHARED_BYTES);
        let kernels = Self {
            prefix_sums: kernel("prefix_sums")?,
            whole: kernel("whole")?,
            alone: kernel("search")?,
            group: kernel("search_group")?,
            shared_limit,
        };
        kernels.alone.reserve_shared_memory(shared_limit)?;
        kernels.group.reserve_shared_memory(shared_limit)?;
        Ok(kernels)
    }

    /// Returns the geometry for a search of `targets` targets, whose arrays have memory for `capacity` nodes. `rows` is the
    /// largest number of rows that the edges of one target pass. All groups are resident on the device at the same time.
    pub(super) fn geometry(&self, cuda: &Cuda, targets: usize, rows: i64, capacity: usize) -> Result<Geometry> {
        let state = state_bytes(capacity);
        let fits = state <= self.shared_limit;
        let shared = if fits { state } else { 0 };
        let most = if fits { MAX_BLOCKS } else { MAX_BLOCKS_UNSHARED };
        let wanted = ((rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK).clamp(1, most as i64) as usize;
        let blocks = self.group.resident_blocks(cuda, GROUP_THREADS, shared)? as usize;
        let blocks_per_target = wanted.min(blocks / targets.max(1));
        if blocks_per_target > 1 {
            return Ok(Geometry::new(capacity, targets.max(1), blocks_per_target, fits));
        }
        let with = self.alone.resident_blocks(cuda, ALONE_THREADS, shared)? as usize;
        let without = self.alone.resident_blocks(cuda, ALONE_THREADS, 0)?.max(1) as usize;
        // Use shared memory unless that reduces the number of targets that are searched at the same time.
        let shared = fits && with >= without.min(targets);
        Ok(Geometry::new(capacity, targets.clamp(1, if shared { with } else { without }), 1, shared))
    }

    /// Computes the prefix sums of the levels.
    pub(super) fn prefix_sums(&self, stream: &Stream, image: &LevelImage) -> Result<()> {
        let rows_per_block = ALONE_THREADS / WARP;
        let config = geometry([(image.height as usize).div_ceil(rows_per_block), 1, 1], [ALONE_THREADS, 1, 1]);
        // SAFETY: the kernel's arguments, in its order; levels and prefix sums lie in buffers of the sizes that `image`
        // says.
        unsafe { stream.launch(&self.prefix_sums, config, &[image, &image.prefix_sums]) }
    }

    /// Sums over all pixels of each target's window, on the device.
    pub(super) fn whole(&self, stream: &Stream, job: &SearchJob) -> Result<()> {
        let config = geometry([job.target_count.clamp(1, 1 << 16) as usize, 1, 1], [ALONE_THREADS, 1, 1]);
        // SAFETY: the kernel's argument; bounds lie within the image, to which `stack::bounds_of` clips them.
        unsafe { stream.launch(&self.whole, config, &[job]) }
    }

    /// Makes up to `job.launch_iterations` iterations of every running target. The control structs and the queue must
    /// be 0.
    pub(super) fn search(&self, stream: &Stream, job: &SearchJob) -> Result<()> {
        let alone = job.blocks_per_target == 1;
        let threads = if alone { ALONE_THREADS } else { GROUP_THREADS };
        let config = LaunchConfig {
            shared_mem_bytes: if job.state_in_shared_memory == 1 { job.state_bytes } else { 0 },
            ..geometry([(job.groups * job.blocks_per_target) as usize, 1, 1], [threads, 1, 1])
        };
        // SAFETY: the kernel's argument; nodes, edges and workspace have memory for `capacity` nodes of each target,
        // group or block, nodes lie within the bounds, a territory has an entry for each row of its bounds and one more,
        // and the blocks of a group are on the device together: there are no more than fit.
        unsafe {
            if alone {
                stream.launch(&self.alone, config, &[job])
            } else {
                stream.launch_cooperative(&self.group, config, &[job])
            }
        }
    }
}

/// Pixels in device memory, to be converted to levels.
pub(super) struct Pixels {
    pub(super) address: u64,
    pub(super) stride: usize,
    pub(super) name: &'static str,
    pub(super) binary: bool,
    pub(super) minimum: f64,
    pub(super) scale: f64,
}

/// Converts pixels in device memory to levels.
pub(super) fn levels(
    cuda: &Cuda,
    stream: &Stream,
    from: &Pixels,
    [width, height]: [usize; 2],
    to: &Buffer,
    pitch: usize,
    level_bytes: usize,
) -> Result<()> {
    assert!(pitch * height <= to.bytes(), "levels must lie within their buffer");
    let name = format!("isoline_snake_levels_{}_u{}", from.name, 8 * level_bytes);
    let kernel = cuda.kernel(MODULE, &name)?;
    let [columns, rows] = LEVELS_BLOCK;
    let config = geometry([width.div_ceil(columns), height.div_ceil(rows), 1], [columns, rows, 1]);
    let (stride, binary, levels, pitch) = (from.stride as u64, u32::from(from.binary), to.address(), pitch as u64);
    let [width, height] = [width as u32, height as u32];
    // SAFETY: the kernel's arguments, in its order; the pixels' range was checked by the caller, the target above.
    unsafe {
        stream.launch(
            &kernel,
            config,
            &[&from.address, &stride, &width, &height, &binary, &from.minimum, &from.scale, &levels, &pitch],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_of_one_target_is_enough_for_every_geometry() {
        for capacity in [3, 1024, 2500, 65536] {
            let enough = workspace_bytes_of_one(capacity);
            for (most, shared) in [(MAX_BLOCKS, true), (MAX_BLOCKS_UNSHARED, false)] {
                for blocks in [1, 2, most] {
                    let takes = Geometry::new(capacity, 1, blocks, shared).workspace_bytes();
                    assert!(takes <= enough, "{capacity} nodes, {blocks} blocks, shared {shared}: {takes} of {enough}");
                }
            }
        }
        assert!(workspace_bytes_of_one(65536) >= MAX_BLOCKS_UNSHARED * state_bytes(65536));
    }
}
