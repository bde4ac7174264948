//! The launches of `kernels/level_set.cu`: which kernel, which geometry, which arguments. The kernels' contract is in that
//! file and in those it includes; the structures and constants here repeat it, which the tests in `contract` hold them to.
#![allow(unsafe_code)]

use super::super::Variant;
use super::super::course::SQUARES_UNIT;
use super::super::plan::{Constants, GAINS, Plan, REINITIALISING_STEPS};
use super::super::scalar::ROOT_UNIT;
use super::marching::Marching;
use super::tables::{Layout, MEETINGS, ROWS, Tables};
use crate::device::cuda::{Buffer, Cuda, Stream, failed};
use crate::error::{Error, Result};
use crate::image::PixelType;
use cudarc::driver::{CudaFunction, LaunchConfig};
use std::ffi::c_void;

/// The module (kernel file) of this operation.
const MODULE: &str = "level_set";

/// Columns and rows of a block of the paper's kernel.
pub(super) const PAPER_BLOCK: [u32; 2] = [32, 4];

/// Of the speed in the kernels, whose gradients are four times as large.
const SPEED_SHARE: f32 = 0.25;
const _: () = assert!(GAINS[0] * SPEED_SHARE as f64 >= f32::MIN_POSITIVE as f64, "the gain keeps its digits");

/// Sizes and constants, as every kernel takes them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    width: u32,
    height: u32,
    depth: u32,
    pitch: u32,
    target: f32,
    farthest: f32,
    gain: f32,
    offset: f32,
    bound: f32,
    bend: f32,
    step: [f32; 3],
    near: f32,
    rms_scale: f32,
    reach: f32,
    tiny: f32,
    restep: f32,
    sharpest: f32,
}

/// Where an iteration stands.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    course: u64,
    rows: u64,
    iteration: u64,
    voxels: u64,
    ring: u32,
}

/// The lists of tiles; no entries: all tiles.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists {
    entries: u64,
    counts: u64,
    stamps: u64,
    tiles: [u32; 3],
    count: u32,
}

/// The kernels of one level set, with what they are always given.
pub(super) struct Launcher {
    field: Field,
    lists: Lists,
    /// Iterations work on lists of tiles too, not only reinitialisations.
    band: bool,
    turn: Turn,
    iterate: CudaFunction,
    /// Iterations march along z, each block its share of the planes.
    marching: Option<Marching>,
    restep: CudaFunction,
    /// Blocks of these two kernels that are on the device together; of iterations where they do not march.
    held: [u32; 2],
    meetings: u64,
    mark: CudaFunction,
    judge: CudaFunction,
    multiprocessors: u32,
    early: bool,
    /// Of the stop rule: iterations of an interval, and its two tolerances.
    check: (u32, f64, f64),
}

/// Warps of a block of the kernels round the iterations, and blocks a multiprocessor.
pub(super) const LOOP_WARPS: u32 = 4;
pub(super) const BLOCKS: u32 = 8;
/// Warps of a block of iterations of tiles, and of steps of a reinitialisation.
pub(super) const ITERATION_WARPS: u32 = 10;
pub(super) const RESTEP_WARPS: u32 = 6;
/// Pieces of a tile, a warp each, where tiles are few.
pub(super) const PIECES: u64 = 8;

fn pointer<T>(argument: &T) -> *mut c_void {
    std::ptr::from_ref(argument).cast_mut().cast()
}

/// What an iteration or a step of a reinitialisation works on: from the first φ to the second.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    pub from: u64,
    pub to: u64,
    pub image: u64,
}

/// Iterations that follow each other in one launch: the first, how many, the number of its set of tiles.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    pub first: u64,
    pub count: u32,
    pub step: u32,
}

impl Launcher {
    pub(super) fn new(
        cuda: &Cuda,
        plan: &Plan,
        layout: &Layout,
        pixel_type: PixelType,
        tables: &Tables,
    ) -> Result<Self> {
        /// Kernels index the elements of a plane in 30 bits, halves of tiles and rows in 32 and a tile's place along an axis
        /// in 21.
        const MAX_PLANE: u64 = 1 << 30;
        const MAX_ROWS: u64 = 1 << 32;
        let [width, height, depth] = plan.shape;
        let tiles = plan.tiles();
        let count: u64 = tiles.into_iter().map(|n| n as u64).product();
        if layout.pitch as u64 * height as u64 > MAX_PLANE
            || tiles.into_iter().any(|n| n >= 1 << 21)
            || count >= 1 << 31
            || layout.rows() as u64 > MAX_ROWS
        {
            return Err(Error::unsupported(format!(
                "a level set on a CUDA device may have at most {MAX_PLANE} pixels a slice, 2^32 rows and 2^31 tiles, but this \
                 has {width} x {height} x {depth}; use the device cpu"
            )));
        }
        let constants = &plan.constants;
        let axes = if constants.volume { "3d" } else { "2d" };
        let counted = if constants.volume { 3 } else { 2 };
        let unit = if constants.step[..counted].iter().all(|step| *step == 1.0) { "_unit" } else { "" };
        let name = pixel_type.name();
        let function = |name: &str| cuda.function(MODULE, name);
        // Blocks of a kernel that the device holds together: as many are a turn, and those that meet must not be more.
        let held = |function: &CudaFunction, warps: u32| {
            function
                .occupancy_max_active_blocks_per_multiprocessor(warps * 32, 0, None)
                .map(|blocks| blocks.max(1) * cuda.multiprocessors())
                .map_err(|e| failed("tell how many blocks fit", e))
        };
        let marches = plan.variant == Variant::Dense && constants.volume && Marching::fits(plan.shape);
        let iterate = if marches {
            function(&format!("isoline_ls_dense_{name}{unit}"))?
        } else {
            function(&format!("isoline_ls_tiles_{axes}_{name}{unit}"))?
        };
        let (marching, iterating) = if marches {
            (Some(Marching::new(held(&iterate, Marching::WARPS)?.into(), plan.shape)), 0)
        } else {
            (None, held(&iterate, ITERATION_WARPS)?)
        };
        let [entries, counts, stamps] = tables.lists.each_ref().map(Buffer::address);
        let restep = function(&format!("isoline_ls_restep_{axes}{unit}"))?;
        let held = [iterating, held(&restep, RESTEP_WARPS)?];
        Ok(Self {
            field: Field {
                width: width as u32,
                height: height as u32,
                depth: depth as u32,
                pitch: layout.pitch as u32,
                target: constants.target,
                farthest: constants.farthest,
                gain: SPEED_SHARE * constants.gain,
                offset: SPEED_SHARE * constants.offset,
                bound: SPEED_SHARE * constants.bound,
                bend: SPEED_SHARE * constants.bend,
                step: constants.step,
                near: constants.near,
                rms_scale: constants.rms_scale,
                reach: constants.band,
                tiny: constants.waking,
                restep: constants.restep,
                sharpest: constants.sharpest,
            },
            lists: Lists { entries, counts, stamps, tiles: tiles.map(|n| n as u32), count: count as u32 },
            band: plan.variant == Variant::Band,
            turn: Turn {
                course: tables.control.address(),
                rows: tables.rows.address(),
                iteration: 0,
                voxels: plan.voxels() as u64,
                ring: ROWS as u32 - 1,
            },
            iterate,
            marching,
            restep,
            held,
            meetings: tables.meetings.address(),
            mark: function(&format!("isoline_ls_mark_{axes}"))?,
            judge: function("isoline_ls_judge")?,
            multiprocessors: cuda.multiprocessors(),
            early: cuda.early_launches(),
            check: (plan.check_interval, plan.change_tolerance, plan.rms_tolerance),
        })
    }

    fn turn(&self, iteration: u64) -> Turn {
        Turn { iteration, ..self.turn }
    }

    /// A grid of at most what the device holds, for kernels that loop over rows, a warp each.
    fn loops(&self, warps: u64) -> LaunchConfig {
        let blocks = warps.div_ceil(u64::from(LOOP_WARPS)).clamp(1, u64::from(self.multiprocessors * BLOCKS)) as u32;
        LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (LOOP_WARPS * 32, 1, 1), shared_mem_bytes: 0 }
    }

    /// A grid whose blocks are on the device together, for kernels that work on tiles.
    fn together(&self, held: u32, warps: u32) -> LaunchConfig {
        let blocks = (u64::from(self.lists.count) * PIECES).div_ceil(warps.into()).min(held.into()) as u32;
        LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (warps * 32, 1, 1), shared_mem_bytes: 0 }
    }

    /// Where the blocks of a launch meet.
    fn meeting(&self, number: usize) -> u64 {
        assert!(number < MEETINGS, "as many launches as there are counters to meet at");
        self.meetings + 4 * number as u64
    }

    /// # Safety
    /// `arguments` are the kernel's, in its order, and so are their types; the grid is one of `together`.
    unsafe fn launch_together(
        stream: &Stream,
        function: &CudaFunction,
        config: LaunchConfig,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe {
            cudarc::driver::result::launch_cooperative_kernel(
                function.cu_function(),
                config.grid_dim,
                config.block_dim,
                config.shared_mem_bytes,
                stream.raw().cu_stream(),
                arguments,
            )
        }
        .map_err(|e| failed("start a kernel of the level set whose blocks meet", e))
    }

    /// # Safety
    /// `arguments` are the kernel's, in its order, and so are their types; the kernel waits for the launch ahead.
    unsafe fn launch(
        &self,
        stream: &Stream,
        function: &CudaFunction,
        config: LaunchConfig,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        let done = if self.early {
            // SAFETY: as the caller vouches.
            unsafe { stream.launch_early(function, config, arguments) }
        } else {
            // SAFETY: as the caller vouches.
            unsafe { launch_plainly(stream, function, config, arguments) }
        };
        done.map_err(|e| failed("start a kernel of the level set", e))
    }

    /// Whether several iterations may be one launch.
    pub(super) fn stretches(&self) -> bool {
        self.marching.is_none()
    }

    /// Queues iterations, of the tiles in the sets from `step` on or of all; with `wake` what moves in the last goes into the next
    /// set, as it does in those before. `meeting`: another for every launch since the counters were emptied.
    pub(super) fn iterate(
        &self,
        stream: &Stream,
        at: Fields,
        stretch: Stretch,
        wake: bool,
        meeting: usize,
    ) -> Result<()> {
        let turn = self.turn(stretch.first);
        let wake = u32::from(wake);
        if let Some(Marching { grid, shares }) = self.marching {
            assert_eq!(stretch.count, 1, "an iteration a launch");
            let config = LaunchConfig { grid_dim: grid, block_dim: (32, Marching::WARPS, 1), shared_mem_bytes: 0 };
            let mut arguments = [
                pointer(&at.from),
                pointer(&at.to),
                pointer(&at.image),
                pointer(&self.field),
                pointer(&turn),
                pointer(&shares),
            ];
            // SAFETY: the kernel's arguments; both φ and the image have the layout's elements, the φ are different.
            return unsafe { self.launch(stream, &self.iterate, config, &mut arguments) };
        }
        let lists = if self.band { self.lists } else { Lists { entries: 0, ..self.lists } };
        let arrived = self.meeting(meeting);
        let mut arguments = [
            pointer(&at.from),
            pointer(&at.to),
            pointer(&at.image),
            pointer(&self.field),
            pointer(&turn),
            pointer(&lists),
            pointer(&stretch.step),
            pointer(&wake),
            pointer(&stretch.count),
            pointer(&arrived),
        ];
        let config = self.together(self.held[0], ITERATION_WARPS);
        // SAFETY: as above; the lists have room for all tiles, the counter is 0.
        unsafe {
            if stretch.count == 1 {
                self.launch(stream, &self.iterate, config, &mut arguments)
            } else {
                Self::launch_together(stream, &self.iterate, config, &mut arguments)
            }
        }
    }

    /// Queues the reinitialisation of the set of `step` that follows `iteration`; φ ends where it began. `meeting`: as in `iterate`.
    pub(super) fn reinitialise(
        &self,
        stream: &Stream,
        at: Fields,
        iteration: u64,
        step: u32,
        meeting: usize,
    ) -> Result<()> {
        const { assert!(REINITIALISING_STEPS.is_multiple_of(2), "phi ends where it began") }
        let turn = self.turn(iteration);
        let (begin, end, wakes) = (0u32, REINITIALISING_STEPS, u32::from(self.band));
        let arrived = self.meeting(meeting);
        let mut arguments = [
            pointer(&at.from),
            pointer(&at.to),
            pointer(&self.field),
            pointer(&turn),
            pointer(&self.lists),
            pointer(&step),
            pointer(&begin),
            pointer(&end),
            pointer(&wakes),
            pointer(&arrived),
        ];
        let config = self.together(self.held[1], RESTEP_WARPS);
        // SAFETY: as in `iterate`.
        unsafe { Self::launch_together(stream, &self.restep, config, &mut arguments) }
    }

    /// Queues the putting of the tiles within the band, and of their neighbours, into the set of `step`; after `iteration`.
    /// `copy` becomes φ's copy, unless it is 0.
    pub(super) fn mark(&self, stream: &Stream, phi: u64, copy: u64, iteration: u64, step: u32) -> Result<()> {
        let turn = self.turn(iteration);
        let mut arguments =
            [pointer(&phi), pointer(&copy), pointer(&self.field), pointer(&turn), pointer(&self.lists), pointer(&step)];
        // SAFETY: the kernel's arguments; both φ have the layout's elements and are different.
        unsafe { self.launch(stream, &self.mark, self.loops(u64::from(self.lists.count)), &mut arguments) }
    }

    /// Whether iterations work on lists of tiles.
    pub(super) fn band(&self) -> bool {
        self.band
    }

    /// Queues a look at iterations `first` to `last`, with which the check interval ends if `test`.
    pub(super) fn judge(&self, stream: &Stream, first: u64, last: u64, test: bool) -> Result<()> {
        let turn = self.turn(last);
        let test = u32::from(test);
        let (interval, change_tolerance, rms_tolerance) = self.check;
        let unit = SQUARES_UNIT;
        let mut arguments = [
            pointer(&turn),
            pointer(&first),
            pointer(&test),
            pointer(&interval),
            pointer(&unit),
            pointer(&change_tolerance),
            pointer(&rms_tolerance),
        ];
        let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the kernel's arguments; the rows are those of at most as many iterations as there are rows.
        unsafe { self.launch(stream, &self.judge, config, &mut arguments) }
    }

    /// Queues an iteration of the paper's kernel; φ and the image's -D(I) (f32) have rows of `pitch` elements, a plane
    /// after the other.
    pub(super) fn paper(
        &self,
        cuda: &Cuda,
        stream: &Stream,
        at: Fields,
        pitch: u32,
        constants: &Constants,
    ) -> Result<()> {
        let Constants { gain, offset, bend, sharpest, .. } = *constants;
        // Its normals are unit vectors.
        let (bend, sharpest) = ((f64::from(bend) / ROOT_UNIT) as f32, (f64::from(sharpest) * ROOT_UNIT) as f32);
        let field = Field { pitch, gain, offset, bend, sharpest, ..self.field };
        let mut arguments = [pointer(&at.from), pointer(&at.to), pointer(&at.image), pointer(&field)];
        let [columns, rows] = PAPER_BLOCK;
        let grid_dim = (field.width.div_ceil(columns), field.height.div_ceil(rows), 1);
        let config = LaunchConfig { grid_dim, block_dim: (columns, rows, 1), shared_mem_bytes: 0 };
        // SAFETY: the kernel's arguments; both φ and -D(I) have as many pixels as the field says, in rows of this pitch.
        unsafe { launch_plainly(stream, &cuda.function(MODULE, "isoline_ls_paper")?, config, &mut arguments) }
            .map_err(|e| failed("start the paper's kernel", e))
    }

    /// Queues the completion of φ that came in from outside: values to ±`far`, copies beside the borders; `strict` and
    /// `found`: see the kernel.
    pub(super) fn settle(
        &self,
        cuda: &Cuda,
        stream: &Stream,
        phi: u64,
        (far, strict): (f32, bool),
        found: &Buffer,
    ) -> Result<()> {
        let (found, strict) = (found.address(), u32::from(strict));
        let mut arguments = [pointer(&phi), pointer(&self.field), pointer(&far), pointer(&strict), pointer(&found)];
        self.rows(cuda, stream, "isoline_ls_settle", self.field, &mut arguments)
    }

    /// Queues the mask of `slices` slices from `phi` on.
    pub(super) fn mask(
        &self,
        cuda: &Cuda,
        stream: &Stream,
        phi: u64,
        slices: usize,
        (mask, strides): (u64, [usize; 2]),
    ) -> Result<()> {
        let field = Field { depth: slices as u32, ..self.field };
        let [row, slice] = strides.map(|bytes| bytes as u64);
        let mut arguments = [pointer(&phi), pointer(&mask), pointer(&row), pointer(&slice), pointer(&field)];
        self.rows(cuda, stream, "isoline_ls_mask", field, &mut arguments)
    }

    fn rows(
        &self,
        cuda: &Cuda,
        stream: &Stream,
        name: &str,
        field: Field,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        let config = self.loops(u64::from(field.height) * u64::from(field.depth));
        // SAFETY: the caller's arguments are the kernel's, in its order, with buffers of the layout's size.
        unsafe { launch_plainly(stream, &cuda.function(MODULE, name)?, config, arguments) }
            .map_err(|e| failed(&format!("start the kernel {name}"), e))
    }
}

/// # Safety
/// `arguments` are the kernel's, in its order.
unsafe fn launch_plainly(
    stream: &Stream,
    function: &CudaFunction,
    config: LaunchConfig,
    arguments: &mut [*mut c_void],
) -> std::result::Result<(), cudarc::driver::DriverError> {
    // SAFETY: as the caller vouches.
    unsafe {
        cudarc::driver::result::launch_kernel(
            function.cu_function(),
            config.grid_dim,
            config.block_dim,
            config.shared_mem_bytes,
            stream.raw().cu_stream(),
            arguments,
        )
    }
}
