//! The launches of `kernels/snake.cu`, each with its geometry and arguments.
#![allow(unsafe_code)]

use super::super::search::Target;
use super::super::sums::Sum;
use super::super::{Bounds, Node, Noise, Status};
use crate::device::cuda::{Buffer, Cuda, Kernel, Stream, geometry};
use crate::device::kernels::snake::{
    ALONE_THREADS, BOX_EDGES, Box as EdgesBox, CANDIDATE_COUNT, Change, Control, GROUP_THREADS, NOISE_BERNOULLI,
    NOISE_GAMMA, NOISE_GAUSSIAN, NOISE_POISSON, NOISE_RAYLEIGH, STATUS_CONVERGED, STATUS_ITERATION_LIMIT,
    STATUS_LEFT_IMAGE, STATUS_RUNNING, STATUS_VANISHED, SUM_BUFFERS, WARP, isoline_snake_sum,
};
pub(super) use crate::device::kernels::snake::{
    isoline_snake_image as DeviceLevels, isoline_snake_job as Job, isoline_snake_target as DeviceTarget,
};
use crate::error::Result;
use cudarc::driver::LaunchConfig;

/// The module (kernel file) of this operation.
const MODULE: &str = "snake";

/// The size of a block of `levels`.
const LEVELS_BLOCK: [usize; 2] = [32, 8];

/// An upper bound on the static shared memory of the search kernel, which it needs beside a block's own state.
const STATIC_SHARED_BYTES: usize = 8 << 10;

/// The rows of a target's start per block that works on it, and the most blocks of a target.
const ROWS_PER_BLOCK: i64 = 16;
const MAX_BLOCKS: usize = 128;

/// The most blocks of a target where a block's own state does not fit in shared memory: each block then has its own in
/// device memory.
const MAX_BLOCKS_UNSHARED: usize = 32;

// SAFETY: a struct of numbers, which have no padding between them or at the end: 14 times 8 bytes.
unsafe impl bytemuck::NoUninit for DeviceTarget {}
const _: () = assert!(size_of::<DeviceTarget>() == 112);

/// The kernels' `STATUS_...` numbers.
const STATUSES: [(usize, Status); 5] = [
    (STATUS_RUNNING, Status::Running),
    (STATUS_CONVERGED, Status::Converged),
    (STATUS_VANISHED, Status::Vanished),
    (STATUS_LEFT_IMAGE, Status::LeftImage),
    (STATUS_ITERATION_LIMIT, Status::IterationLimit),
];

impl DeviceTarget {
    pub(super) fn new(target: &Target, node_cost: f64) -> Self {
        let Bounds { x0, y0, x1, y1 } = target.bounds;
        Self {
            x0,
            y0,
            x1,
            y1,
            node_cost,
            count: target.nodes.len() as u32,
            distance: target.distance,
            status: STATUSES
                .iter()
                .find(|(_, status)| *status == target.status)
                .map_or(STATUS_RUNNING, |(code, _)| *code) as u32,
            ..Self::default()
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count as usize
    }

    pub(super) fn running(&self) -> bool {
        self.status as usize == STATUS_RUNNING
    }

    /// Writes the state to the host's target; its nodes are copied separately.
    pub(super) fn update(&self, target: &mut Target) {
        let sum = |isoline_snake_sum { pixels, z, zz }| Sum { pixels, z, zz };
        let status = STATUSES.iter().find(|(code, _)| *code == self.status as usize);
        target.status = status.map_or(Status::Running, |(_, status)| *status);
        if target.status != Status::LeftImage {
            target.whole = sum(self.whole);
            target.inside = sum(self.inside);
            target.cost = self.cost;
        }
        target.steps = self.steps;
    }
}

/// Returns the kernels' `NOISE_...` number of a model, and its looks.
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

/// Returns the largest number of changes that are tried together: half the nodes, and one.
fn items(capacity: usize) -> usize {
    capacity / 2 + 1
}

/// Returns the size of a block's own state of its target, which `assign_memory` divides in the kernel.
fn state_bytes(capacity: usize) -> usize {
    let by_node = size_of::<isoline_snake_sum>() + 2 * size_of::<Node>();
    let by_item = 2 * size_of::<isoline_snake_sum>() + size_of::<Change>() + 8 + 4 + 1;
    ((capacity / BOX_EDGES + 1) * size_of::<EdgesBox>() + capacity * by_node + items(capacity) * by_item)
        .next_multiple_of(256)
}

/// The geometry of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) groups: usize,
    pub(super) blocks_per_group: usize,
    /// True if a block's own state lies in shared memory.
    pub(super) state_in_shared_memory: bool,
    pub(super) state_bytes: usize,
    /// The size of the memory that the blocks of a group share.
    group_bytes: usize,
}

impl Geometry {
    fn new(capacity: usize, groups: usize, blocks_per_group: usize, state_in_shared_memory: bool) -> Self {
        let items = items(capacity);
        let results =
            items * 2 * size_of::<isoline_snake_sum>() + items.next_multiple_of(2) * 8 + items.next_multiple_of(16);
        let group_bytes = SUM_BUFFERS * items * 2 * CANDIDATE_COUNT * size_of::<isoline_snake_sum>() + results;
        Self { groups, blocks_per_group, state_in_shared_memory, state_bytes: state_bytes(capacity), group_bytes }
    }

    /// Returns the size of a group's workspace, which `assign_memory` divides in the kernel.
    pub(super) fn workspace_bytes(&self) -> usize {
        let state = if self.state_in_shared_memory { 0 } else { self.blocks_per_group * self.state_bytes };
        (self.group_bytes + state).next_multiple_of(256)
    }
}

/// Returns the largest workspace of one target: that of a group of blocks whose own state does not fit in shared memory.
pub(super) fn workspace_bytes_of_one(capacity: usize) -> usize {
    Geometry::new(capacity, 1, MAX_BLOCKS_UNSHARED, false).workspace_bytes()
}

/// Returns the size of all groups' control structs, with the number of the queue before them.
pub(super) fn control_bytes(groups: usize) -> usize {
    CONTROL_OFFSET + groups * size_of::<Control>()
}

/// The offset of the first control struct, after the number of the queue.
pub(super) const CONTROL_OFFSET: usize = 256;

/// The kernels for levels of one or two bytes.
pub(super) struct Kernels {
    cumulate: Kernel,
    whole: Kernel,
    search: Kernel,
    search_group: Kernel,
    /// The shared memory for a block's own state, in bytes.
    shared_limit: usize,
}

impl Kernels {
    pub(super) fn new(cuda: &Cuda, level_bytes: usize) -> Result<Self> {
        let kernel = |name| cuda.kernel(MODULE, &format!("isoline_snake_{name}_u{}", 8 * level_bytes));
        let shared_limit = cuda.shared_memory()?.saturating_sub(STATIC_SHARED_BYTES);
        let kernels = Self {
            cumulate: kernel("cumulate")?,
            whole: kernel("whole")?,
            search: kernel("search")?,
            search_group: kernel("search_group")?,
            shared_limit,
        };
        for search in [&kernels.search, &kernels.search_group] {
            search.reserve_shared_memory(shared_limit)?;
        }
        Ok(kernels)
    }

    /// Returns the geometry of the search of `targets` targets of up to `capacity` nodes, of which the edges of the largest
    /// one pass `rows` rows: the number of groups, and of the blocks of each. All fit on the device at once.
    pub(super) fn geometry(&self, cuda: &Cuda, targets: usize, rows: i64, capacity: usize) -> Result<Geometry> {
        let state = state_bytes(capacity);
        let fits = state <= self.shared_limit;
        let shared = if fits { state } else { 0 };
        let most = if fits { MAX_BLOCKS } else { MAX_BLOCKS_UNSHARED };
        let wanted = ((rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK).clamp(1, most as i64) as usize;
        let blocks = self.search_group.resident_blocks(cuda, GROUP_THREADS, shared)? as usize;
        let blocks_per_group = wanted.min(blocks / targets.max(1));
        if blocks_per_group > 1 {
            return Ok(Geometry::new(capacity, targets.max(1), blocks_per_group, fits));
        }
        let with = self.search.resident_blocks(cuda, ALONE_THREADS, shared)? as usize;
        let without = self.search.resident_blocks(cuda, ALONE_THREADS, 0)?.max(1) as usize;
        // Shared memory is used unless it reduces the number of targets that are searched at once.
        let shared = fits && with >= without.min(targets);
        Ok(Geometry::new(capacity, targets.clamp(1, if shared { with } else { without }), 1, shared))
    }

    /// Cumulates the rows of the levels.
    pub(super) fn cumulate(&self, stream: &Stream, image: &DeviceLevels) -> Result<()> {
        let rows_per_block = ALONE_THREADS / WARP;
        let config = geometry([(image.height as usize).div_ceil(rows_per_block), 1, 1], [ALONE_THREADS, 1, 1]);
        // SAFETY: the kernel's arguments, in its order; levels and table lie in buffers of the sizes that `image` says.
        unsafe { stream.launch(&self.cumulate, config, &[image, &image.before]) }
    }

    /// Sums over each target's bounds, on the device.
    pub(super) fn whole(&self, stream: &Stream, job: &Job) -> Result<()> {
        let config = geometry([job.target_count.clamp(1, 1 << 16) as usize, 1, 1], [ALONE_THREADS, 1, 1]);
        // SAFETY: the kernel's argument; bounds lie within the image, to which `cpu::bounds_of` clips them.
        unsafe { stream.launch(&self.whole, config, &[job]) }
    }

    /// Makes up to `job.steps` steps of every running target. The control structs and the queue must be 0.
    pub(super) fn search(&self, stream: &Stream, job: &Job) -> Result<()> {
        let alone = job.blocks_per_group == 1;
        let threads = if alone { ALONE_THREADS } else { GROUP_THREADS };
        let config = LaunchConfig {
            shared_mem_bytes: if job.state_in_shared_memory == 1 { job.state_bytes } else { 0 },
            ..geometry([(job.groups * job.blocks_per_group) as usize, 1, 1], [threads, 1, 1])
        };
        // SAFETY: the kernel's argument; nodes, edges and workspace have memory for `capacity` nodes of each target, group
        // or block, nodes lie within the bounds, and the blocks of a group are on the device together: there are no more
        // than fit.
        unsafe {
            if alone {
                stream.launch(&self.search, config, &[job])
            } else {
                stream.launch_cooperative(&self.search_group, config, &[job])
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
