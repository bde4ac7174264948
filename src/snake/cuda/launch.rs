//! The launches of `kernels/snake.cu`, each with its geometry and arguments. The structs repeat those of
//! `kernels/snake_state.cuh`.
#![allow(unsafe_code)]

use super::super::search::Target;
use super::super::sums::Sum;
use super::super::{Node, Noise, Status};
use crate::device::cuda::{Buffer, Cuda, Kernel, Stream, geometry};
use crate::device::kernels::common::WARP;
use crate::error::Result;
use cudarc::driver::LaunchConfig;

/// The module (kernel file) of this operation.
const MODULE: &str = "snake";

/// `ALONE_THREADS` and `CUMULATE_THREADS`.
const THREADS: usize = 256;

/// `GROUP_THREADS`.
const GROUP_THREADS: usize = 512;

/// The size of a block of `levels`.
const LEVELS_BLOCK: [usize; 2] = [32, 8];

/// `sizeof(Control)`.
const CONTROL_BYTES: usize = 64;

/// `TURNS`.
const TURNS: usize = 3;

/// An upper bound on the static shared memory of the search kernel, which it needs beside a block's private state.
const STATIC_SHARED_BYTES: usize = 8 << 10;

/// The rows of a target's start per block that works on it, and the most blocks of a target.
const ROWS_PER_BLOCK: i64 = 16;
const MAX_BLOCKS: usize = 128;

/// The most blocks of a target where a block's private state does not fit in shared memory: each block then has its own in
/// device memory.
const MAX_BLOCKS_UNSHARED: usize = 32;

/// The arguments `isoline_snake_image` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceLevels {
    pub(super) levels: u64,
    pub(super) before: u64,
    pub(super) pitch: u64,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) blocks: u32,
    pub(super) pad: u32,
}

/// The state `isoline_snake_target` of a target.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeviceTarget {
    whole: [i64; 3],
    inside: [i64; 3],
    cost: f64,
    node_cost: f64,
    steps: u64,
    area: i64,
    bounds: [i32; 4],
    count: u32,
    distance: i32,
    phase: u32,
    status: u32,
}

// SAFETY: repr(C) of plain numbers; 14 times 8 bytes, no padding.
unsafe impl bytemuck::Zeroable for DeviceTarget {}
// SAFETY: as above.
unsafe impl bytemuck::Pod for DeviceTarget {}
const _: () = assert!(size_of::<DeviceTarget>() == 112);

const STATUSES: [Status; 5] =
    [Status::Running, Status::Converged, Status::Vanished, Status::LeftImage, Status::IterationLimit];

impl DeviceTarget {
    pub(super) fn new(target: &Target, node_cost: f64) -> Self {
        let bounds = &target.bounds;
        Self {
            bounds: [bounds.x0, bounds.y0, bounds.x1, bounds.y1],
            node_cost,
            count: target.nodes.len() as u32,
            distance: target.distance,
            status: STATUSES.iter().position(|status| *status == target.status).unwrap_or(0) as u32,
            ..Self::default()
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count as usize
    }

    pub(super) fn running(&self) -> bool {
        self.status == 0
    }

    /// Writes the state to the host's target; its nodes are copied separately.
    pub(super) fn update(&self, target: &mut Target) {
        let sum = |[pixels, z, zz]: [i64; 3]| Sum { pixels, z, zz };
        target.status = STATUSES.get(self.status as usize).copied().unwrap_or(Status::Running);
        if target.status != Status::LeftImage {
            target.whole = sum(self.whole);
            target.inside = sum(self.inside);
            target.cost = self.cost;
        }
        target.steps = self.steps;
    }
}

/// The arguments `isoline_snake_job` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) image: DeviceLevels,
    pub(super) targets: u64,
    pub(super) nodes: u64,
    pub(super) edges: u64,
    pub(super) scratch: u64,
    pub(super) scratch_bytes: u64,
    pub(super) controls: u64,
    pub(super) queue: u64,
    pub(super) looks: f64,
    pub(super) max_steps: u64,
    pub(super) steps: u64,
    pub(super) spacing_squared: i64,
    pub(super) target_count: u32,
    pub(super) capacity: u32,
    pub(super) max_nodes: u32,
    pub(super) noise: u32,
    pub(super) blocks_per_group: u32,
    pub(super) groups: u32,
    pub(super) private_shared: u32,
    pub(super) private_bytes: u32,
}

// SAFETY: repr(C), passed by value to kernels that declare the same struct; addresses are checked by the code that makes them.
unsafe impl cudarc::driver::DeviceRepr for Job {}
// SAFETY: as above.
unsafe impl cudarc::driver::DeviceRepr for DeviceLevels {}

/// Returns the kernels' `NOISE_...` number of a model, and its looks.
pub(super) fn noise_code(noise: Noise) -> (u32, f64) {
    match noise {
        Noise::Gaussian => (0, 1.0),
        Noise::Poisson => (1, 1.0),
        Noise::Gamma { looks } => (2, looks),
        Noise::Rayleigh => (3, 1.0),
        Noise::Bernoulli => (4, 1.0),
    }
}

/// Returns the largest number of changes that are tried together: half the nodes, and one.
fn items(capacity: usize) -> usize {
    capacity / 2 + 1
}

/// Returns the size of a block's private state of its target, which `lay_out` divides in the kernel.
fn private_bytes(capacity: usize) -> usize {
    let by_node = size_of::<Sum>() + 2 * size_of::<Node>();
    let by_item = 2 * size_of::<Sum>() + (size_of::<Sum>() + 8) + 8 + 4 + 1;
    ((capacity / 32 + 1) * 16 + capacity * by_node + items(capacity) * by_item).next_multiple_of(256)
}

/// The geometry of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) groups: usize,
    pub(super) blocks_per_group: usize,
    /// True if a block's private state lies in shared memory.
    pub(super) private_shared: bool,
    pub(super) private_bytes: usize,
    /// The size of the memory that the blocks of a group share.
    group_bytes: usize,
}

impl Geometry {
    fn new(capacity: usize, groups: usize, blocks_per_group: usize, private_shared: bool) -> Self {
        let items = items(capacity);
        let results = items * 2 * size_of::<Sum>() + items.next_multiple_of(2) * 8 + items.next_multiple_of(16);
        let group_bytes = TURNS * items * 16 * size_of::<Sum>() + results;
        Self { groups, blocks_per_group, private_shared, private_bytes: private_bytes(capacity), group_bytes }
    }

    /// Returns the size of a group's workspace, which `lay_out` divides in the kernel.
    pub(super) fn scratch_bytes(&self) -> usize {
        let private = if self.private_shared { 0 } else { self.blocks_per_group * self.private_bytes };
        (self.group_bytes + private).next_multiple_of(256)
    }
}

/// Returns the largest workspace of one target: that of a group of blocks whose private state does not fit in shared memory.
pub(super) fn scratch_bytes_of_one(capacity: usize) -> usize {
    Geometry::new(capacity, 1, MAX_BLOCKS_UNSHARED, false).scratch_bytes()
}

/// Returns the size of all groups' control structs, with the number of the queue before them.
pub(super) fn control_bytes(groups: usize) -> usize {
    CONTROL_OFFSET + groups * CONTROL_BYTES
}

/// The offset of the first control struct, after the number of the queue.
pub(super) const CONTROL_OFFSET: usize = 256;

/// The kernels for levels of one or two bytes.
pub(super) struct Kernels {
    cumulate: Kernel,
    whole: Kernel,
    search: Kernel,
    search_group: Kernel,
    /// The shared memory for a block's private state, in bytes.
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
        let private = private_bytes(capacity);
        let fits = private <= self.shared_limit;
        let shared = if fits { private } else { 0 };
        let most = if fits { MAX_BLOCKS } else { MAX_BLOCKS_UNSHARED };
        let wanted = ((rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK).clamp(1, most as i64) as usize;
        let blocks = self.search_group.resident_blocks(cuda, GROUP_THREADS, shared)? as usize;
        let blocks_per_group = wanted.min(blocks / targets.max(1));
        if blocks_per_group > 1 {
            return Ok(Geometry::new(capacity, targets.max(1), blocks_per_group, fits));
        }
        let with = self.search.resident_blocks(cuda, THREADS, shared)? as usize;
        let without = self.search.resident_blocks(cuda, THREADS, 0)?.max(1) as usize;
        // Shared memory is used unless it reduces the number of targets that are searched at once.
        let shared = fits && with >= without.min(targets);
        Ok(Geometry::new(capacity, targets.clamp(1, if shared { with } else { without }), 1, shared))
    }

    /// Cumulates the rows of the levels.
    pub(super) fn cumulate(&self, stream: &Stream, image: &DeviceLevels) -> Result<()> {
        let rows_per_block = THREADS / WARP;
        let config = geometry([(image.height as usize).div_ceil(rows_per_block), 1, 1], [THREADS, 1, 1]);
        // SAFETY: the kernel's arguments, in its order; levels and table lie in buffers of the sizes that `image` says.
        unsafe { stream.launch(&self.cumulate, config, &[image, &image.before]) }
    }

    /// Sums over each target's bounds, on the device.
    pub(super) fn whole(&self, stream: &Stream, job: &Job) -> Result<()> {
        let config = geometry([job.target_count.clamp(1, 1 << 16) as usize, 1, 1], [THREADS, 1, 1]);
        // SAFETY: the kernel's argument; bounds lie within the image, which `Solver::start` has checked.
        unsafe { stream.launch(&self.whole, config, &[job]) }
    }

    /// Makes up to `job.steps` steps of every running target. The control structs and the queue must be 0.
    pub(super) fn search(&self, stream: &Stream, job: &Job) -> Result<()> {
        let alone = job.blocks_per_group == 1;
        let threads = if alone { THREADS } else { GROUP_THREADS };
        let config = LaunchConfig {
            shared_mem_bytes: if job.private_shared == 1 { job.private_bytes } else { 0 },
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
            let enough = scratch_bytes_of_one(capacity);
            for (most, shared) in [(MAX_BLOCKS, true), (MAX_BLOCKS_UNSHARED, false)] {
                for blocks in [1, 2, most] {
                    let takes = Geometry::new(capacity, 1, blocks, shared).scratch_bytes();
                    assert!(takes <= enough, "{capacity} nodes, {blocks} blocks, shared {shared}: {takes} of {enough}");
                }
            }
        }
        assert!(scratch_bytes_of_one(65536) >= MAX_BLOCKS_UNSHARED * private_bytes(65536));
    }
}
