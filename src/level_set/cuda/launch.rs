//! The launches of `kernels/level_set.cu`: which kernel, which geometry, which arguments. The kernels' contract is in that
//! file and in those it includes; the structures and constants here repeat it.
#![allow(unsafe_code)]

use super::super::Variant;
use super::super::course::SQUARES_UNIT;
use super::super::plan::{Constants, Plan, REINITIALISING_STEPS};
use crate::device::cuda::{Buffer, Cuda, Stream, failed};
use crate::error::{Error, Result};
use crate::image::PixelType;
use cudarc::driver::{CudaFunction, LaunchConfig};
use std::ffi::c_void;

/// The module (kernel file) of this operation.
const MODULE: &str = "level_set";

/// Elements before the first row, so that a tile's halo may begin before it; a multiple of 16 bytes.
pub(super) const FRONT: usize = 8;
/// Elements after the last row, likewise.
const BACK: usize = 64;
/// Elements of a row before its first pixel.
pub(super) const LEAD: usize = 1;
/// Rows of statistics on the device.
pub(super) const ROWS: u64 = 8192;
/// Lists of tiles.
const RING: usize = 4;

/// Sizes and constants, as every kernel takes them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Field {
    width: u32,
    height: u32,
    depth: u32,
    pitch: u32,
    target: f32,
    gain: f32,
    offset: f32,
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
struct Turn {
    course: u64,
    rows: u64,
    iteration: u64,
    voxels: u64,
    ring: u32,
}

/// The lists of tiles; no entries: all tiles.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Lists {
    entries: u64,
    counts: u64,
    stamps: u64,
    tiles: [u32; 3],
    count: u32,
}

/// Bytes of a row of statistics, and of what decides whether iterations go on.
pub(super) const ROW_BYTES: usize = 40;
pub(super) const CONTROL_BYTES: usize = 56;

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

/// Bytes of the tables of a plan with so many tiles.
pub(super) fn table_bytes(tiles: u64) -> u64 {
    tiles * (RING as u64 * 8 + 2 * 4) + ROWS * ROW_BYTES as u64 + 4096
}

/// The tables on the device.
pub(super) struct Tables {
    pub control: Buffer,
    pub rows: Buffer,
    /// Lists of tiles, their counts, stamps.
    lists: [Buffer; 3],
}

impl Tables {
    pub(super) fn new(cuda: &Cuda, plan: &Plan) -> Result<Self> {
        let memory = cuda.memory();
        let tiles: usize = plan.tiles().into_iter().product();
        let lists = [memory.device(RING * tiles * 8)?, memory.device(RING * 4)?, memory.device(2 * tiles * 4)?];
        Ok(Self { control: memory.device(CONTROL_BYTES)?, rows: memory.device(ROWS as usize * ROW_BYTES)?, lists })
    }

    /// Empties the lists.
    pub(super) fn clear_lists(&self, stream: &Stream) -> Result<()> {
        let [_, counts, stamps] = &self.lists;
        stream.fill(counts, 0, counts.bytes(), 0)?;
        stream.fill(stamps, 0, stamps.bytes(), 0)
    }
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
    mark: CudaFunction,
    judge: CudaFunction,
    multiprocessors: u32,
    early: bool,
    check: (f64, f64),
}

/// Block of the kernels that loop: four warps.
const BLOCK: (u32, u32, u32) = (128, 1, 1);
/// Blocks a multiprocessor of those, and of `restep`, which has fewer registers.
const BLOCKS: u32 = 5;
const RESTEP_BLOCKS: u32 = 7;

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

impl Launcher {
    pub(super) fn new(
        cuda: &Cuda,
        plan: &Plan,
        layout: &Layout,
        pixel_type: PixelType,
        tables: &Tables,
    ) -> Result<Self> {
        /// Kernels index the elements of a plane in 30 bits, tiles in 32 and a tile's place along an axis in 21.
        const MAX_PLANE: u64 = 1 << 30;
        let [width, height, depth] = plan.shape;
        let tiles = plan.tiles();
        let count: u64 = tiles.into_iter().map(|n| n as u64).product();
        if layout.pitch as u64 * height as u64 > MAX_PLANE
            || tiles.into_iter().any(|n| n >= 1 << 21)
            || count >= 1 << 31
        {
            return Err(Error::unsupported(format!(
                "a level set on a CUDA device may have at most {MAX_PLANE} pixels a slice and 2^31 tiles, but this has \
                 {width} x {height} x {depth}; use the device cpu"
            )));
        }
        let constants = &plan.constants;
        let axes = if constants.volume { "3d" } else { "2d" };
        let counted = if constants.volume { 3 } else { 2 };
        let unit = if constants.step[..counted].iter().all(|step| *step == 1.0) { "_unit" } else { "" };
        let name = pixel_type.name();
        let function = |name: &str| cuda.function(MODULE, name);
        let marching = (plan.variant == Variant::Dense && constants.volume)
            .then(|| Marching::new(u64::from(cuda.multiprocessors()), plan.shape))
            .flatten();
        let iterate = if marching.is_some() {
            function(&format!("isoline_ls_dense_{name}{unit}"))?
        } else {
            function(&format!("isoline_ls_tiles_{axes}_{name}{unit}"))?
        };
        let [entries, counts, stamps] = tables.lists.each_ref().map(Buffer::address);
        Ok(Self {
            field: Field {
                width: width as u32,
                height: height as u32,
                depth: depth as u32,
                pitch: layout.pitch as u32,
                target: constants.target,
                gain: constants.gain,
                offset: constants.offset,
                bend: constants.bend,
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
            restep: function(&format!("isoline_ls_restep_{axes}{unit}"))?,
            mark: function(&format!("isoline_ls_mark_{axes}"))?,
            judge: function("isoline_ls_judge")?,
            multiprocessors: cuda.multiprocessors(),
            early: cuda.early_launches(),
            check: (plan.change_tolerance, plan.rms_tolerance),
        })
    }

    fn turn(&self, iteration: u64) -> Turn {
        Turn { iteration, ..self.turn }
    }

    /// A grid of at most what the device holds, for kernels that loop over half tiles, tiles or rows, a warp each.
    fn loops(&self, warps: u64, held: u32) -> LaunchConfig {
        let blocks = warps.div_ceil(4).clamp(1, u64::from(self.multiprocessors * held)) as u32;
        LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: BLOCK, shared_mem_bytes: 0 }
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

    /// Queues an iteration, of the tiles in the set of `step` or of all; with `wake` what moves goes into the next set.
    pub(super) fn iterate(&self, stream: &Stream, at: Fields, iteration: u64, step: u32, wake: bool) -> Result<()> {
        let turn = self.turn(iteration);
        let wake = u32::from(wake);
        if let Some(Marching { blocks, share, longer }) = self.marching {
            let config = LaunchConfig {
                grid_dim: (blocks, 1, 1),
                block_dim: (32, Marching::WARPS as u32, 1),
                shared_mem_bytes: 0,
            };
            let mut arguments = [
                pointer(&at.from),
                pointer(&at.to),
                pointer(&at.image),
                pointer(&self.field),
                pointer(&turn),
                pointer(&share),
                pointer(&longer),
            ];
            // SAFETY: the kernel's arguments; both φ and the image have the layout's elements, the φ are different.
            return unsafe { self.launch(stream, &self.iterate, config, &mut arguments) };
        }
        let lists = if self.band { self.lists } else { Lists { entries: 0, ..self.lists } };
        let mut arguments = [
            pointer(&at.from),
            pointer(&at.to),
            pointer(&at.image),
            pointer(&self.field),
            pointer(&turn),
            pointer(&lists),
            pointer(&step),
            pointer(&wake),
        ];
        let config = self.loops(2 * u64::from(self.lists.count), BLOCKS);
        // SAFETY: as above; the lists have room for all tiles.
        unsafe { self.launch(stream, &self.iterate, config, &mut arguments) }
    }

    /// Queues the reinitialisation of the set of `step` that follows `iteration`; φ ends where it began.
    pub(super) fn reinitialise(&self, stream: &Stream, at: Fields, iteration: u64, step: u32) -> Result<()> {
        const { assert!(REINITIALISING_STEPS.is_multiple_of(2), "phi ends where it began") }
        let turn = self.turn(iteration);
        let config = self.loops(2 * u64::from(self.lists.count), RESTEP_BLOCKS);
        let mut at = at;
        for k in 0..REINITIALISING_STEPS {
            let (first, last) = (u32::from(k == 0), u32::from(self.band && k + 1 == REINITIALISING_STEPS));
            let mut arguments = [
                pointer(&at.from),
                pointer(&at.to),
                pointer(&self.field),
                pointer(&turn),
                pointer(&self.lists),
                pointer(&step),
                pointer(&first),
                pointer(&last),
            ];
            // SAFETY: as in `iterate`.
            unsafe { self.launch(stream, &self.restep, config, &mut arguments) }?;
            std::mem::swap(&mut at.from, &mut at.to);
        }
        Ok(())
    }

    /// Queues the putting of the tiles within the band, and of their neighbours, into the set of `step`; after `iteration`.
    /// `copy` becomes φ's copy, unless it is 0.
    pub(super) fn mark(&self, stream: &Stream, phi: u64, copy: u64, iteration: u64, step: u32) -> Result<()> {
        let turn = self.turn(iteration);
        let mut arguments =
            [pointer(&phi), pointer(&copy), pointer(&self.field), pointer(&turn), pointer(&self.lists), pointer(&step)];
        // SAFETY: the kernel's arguments; both φ have the layout's elements and are different.
        unsafe { self.launch(stream, &self.mark, self.loops(u64::from(self.lists.count), BLOCKS), &mut arguments) }
    }

    /// Whether iterations work on lists of tiles.
    pub(super) fn band(&self) -> bool {
        self.band
    }

    /// Queues a look at iterations `first` to `last`, with which the check interval ends if `test`.
    pub(super) fn judge(&self, stream: &Stream, first: u64, last: u64, test: bool) -> Result<()> {
        let turn = self.turn(last);
        let test = u32::from(test);
        let (change_tolerance, rms_tolerance) = self.check;
        let unit = SQUARES_UNIT;
        let mut arguments = [
            pointer(&turn),
            pointer(&first),
            pointer(&test),
            pointer(&unit),
            pointer(&change_tolerance),
            pointer(&rms_tolerance),
        ];
        let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the kernel's arguments; the rows are those of at most as many iterations as there are rows.
        unsafe { self.launch(stream, &self.judge, config, &mut arguments) }
    }

    /// Queues an iteration of the paper's kernel; φ and the image (u8) are packed.
    pub(super) fn paper(&self, cuda: &Cuda, stream: &Stream, at: Fields, constants: &Constants) -> Result<()> {
        let Constants { gain, offset, bend, .. } = *constants;
        let field = Field { pitch: self.field.width, gain, offset, bend, ..self.field };
        let mut arguments = [pointer(&at.from), pointer(&at.to), pointer(&at.image), pointer(&field)];
        let grid_dim = (field.width.div_ceil(32), field.height.div_ceil(4), field.depth);
        let config = LaunchConfig { grid_dim, block_dim: (32, 4, 1), shared_mem_bytes: 0 };
        // SAFETY: the kernel's arguments; both φ and the image have as many pixels as the field says.
        unsafe { launch_plainly(stream, &cuda.function(MODULE, "isoline_ls_paper_u8")?, config, &mut arguments) }
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

    /// Queues the replacing of f32 pixels that are not finite.
    pub(super) fn replace_missing(&self, cuda: &Cuda, stream: &Stream, image: u64, missing: f32) -> Result<()> {
        let mut arguments = [pointer(&image), pointer(&self.field), pointer(&missing)];
        self.rows(cuda, stream, "isoline_ls_replace_missing", self.field, &mut arguments)
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
        let config = self.loops(u64::from(field.height) * u64::from(field.depth), BLOCKS);
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

/// How the blocks of the marching kernel share out a volume: see `dense` in `kernels/level_set_dense.cuh`, whose constants
/// these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marching {
    blocks: u32,
    /// Planes of a block, the first `longer` blocks one more.
    share: u32,
    longer: u32,
}

impl Marching {
    /// Columns of a warp; rows of a warp; warps of a block; blocks that a multiprocessor holds.
    const COLUMNS: u64 = 62;
    const ROWS: u64 = 2;
    const WARPS: u64 = 4;
    const HELD: u64 = 5;
    /// What the beginning of a column costs, in planes.
    const BEGIN: u64 = 2;
    /// Planes of a block, about: fewer fill the device more evenly, but begin more often. None for less than the second.
    const SHARE: u64 = 40;
    const LEAST: u64 = 6;

    /// None where the volume has fewer rows than a warp.
    fn new(multiprocessors: u64, [width, height, depth]: [usize; 3]) -> Option<Self> {
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
