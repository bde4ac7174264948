//! The converged mode on CUDA: the cycles of `multigrid.rs`, launch by launch (`kernels/edge_strength_multigrid.cuh`).
//!
//! In 2D a smoothing is one launch, together with what comes before and after it; in 3D each step is a launch. The host
//! waits for the largest change only when a further cycle might be the last one needed.
#![allow(unsafe_code)]

use super::multigrid::{COARSEST_SMOOTHINGS, Goal, Grid, MOST_STEPS, Solution, Watch, first_guess, grids};
use crate::device::cuda::{Buffer, Cuda, Event, Pinned, Stream, failed};
use crate::error::Result;
use cudarc::driver::{CudaFunction, LaunchConfig, PushKernelArg};
use std::ffi::c_void;

/// The module (kernel file) of this operation.
const MODULE: &str = "edge_strength";

/// Rows start at multiples of this many floats.
const PITCH_ALIGNMENT: usize = 32;

/// One word before and one after each row of a mask.
const MASK_PADS: usize = 2;

/// Pieces of the one buffer for the coarse grids start at multiples of this many bytes.
const PIECE_ALIGNMENT: usize = 256;

/// Lanes and warps of a 2D smoothing's block.
const BLOCK_2D: (u32, u32, u32) = (32, 16, 1);

/// Pixels that a block writes: solving for v on large grids, for corrections on large and on small ones, and for v on
/// small ones.
const TILE_FINE: [usize; 2] = [112, 112];
const TILE_COARSE: [usize; 2] = [104, 108];
const TILE_SMALL: [usize; 2] = [104, 12];
const TILE_SMALL_OWN: [usize; 2] = [112, 16];

/// A coarse grid is large from this many large tiles on: about one for each multiprocessor.
const LARGE_TILES: usize = 100;

/// The block of the 3D kernels, and the largest grid in y and z.
const BLOCK_3D: [usize; 3] = [32, 4, 2];
const MAX_GRID_YZ: usize = 65535;

/// The flags that coarsening sets.
const ANY_FREE: u32 = 1;
const ANY_FIXED: u32 = 2;

/// No cycle lowers the error by more than about this factor, so many cycles may be queued without a look.
const BEST_FACTOR: f64 = 0.03;

/// With more pixels than this each cycle is looked at, so that a cancel is heard in time.
const QUEUE_PIXELS: usize = 1 << 25;

/// The most cycles queued without a look; one word of `changes` each.
const MOST_QUEUED: usize = 8;

/// A field on the device, as the kernels see it.
pub(super) struct Field<'a> {
    /// In: the start. Out: v.
    pub values: &'a Buffer,
    /// Of the same size, free to use.
    pub scratch: &'a Buffer,
    pub mask: &'a Buffer,
    /// Width, height, depth; depth 1 is 2D.
    pub shape: [usize; 3],
    /// Floats from row to row.
    pub pitch: usize,
    /// Words from row to row of the mask.
    pub mask_pitch: usize,
}

/// Device memory beyond the field's own, in bytes.
pub(super) fn extra_bytes(shape: [usize; 3]) -> u64 {
    // λ = 0 has the most grids.
    Layout::new(shape, 0.0).bytes as u64
}

/// Solves in place; returns when it is done. `poll` is called with the fraction done between cycles.
pub(super) fn solve(
    cuda: &Cuda,
    stream: &Stream,
    field: &Field<'_>,
    goal: &Goal,
    poll: &mut dyn FnMut(f64) -> Result<()>,
) -> Result<Solution> {
    let mut solver = Solver::new(cuda, stream, field, goal)?;
    let flags = solver.coarsen()?;
    if flags.iter().all(|flags| flags & ANY_FIXED == 0) {
        stream.fill(field.values, 0, field.pitch * field.shape[1] * field.shape[2] * size_of::<f32>(), 0)?;
        return Ok(Solution { cycles: 0, residual: 0.0, converged: true });
    }
    // Grids from the first wholly fixed one on have nothing to correct. The first flags are the second grid's.
    let useful = 1 + flags.iter().take_while(|flags| *flags & ANY_FREE != 0).count();
    solver.levels.truncate(useful.min(solver.grids));

    let guess = first_guess(solver.levels.iter().map(|level| &level.grid));
    if let Some(first) = guess {
        for index in (1..=first).rev() {
            let entry = if index == first { Entry::Shape } else { Entry::Guess };
            solver.cycle(index, entry, 0)?;
        }
    }
    let mut watch = Watch::new();
    let mut cycles = 0;
    while cycles < goal.max_cycles && watch.residual > goal.tolerance {
        let queue = match cycles {
            _ if field.shape.iter().product::<usize>() > QUEUE_PIXELS => 1.0,
            // The estimate needs two cycles to start with, and falls steeply with the third.
            0 => 2.0,
            2 => 1.0,
            _ => ((watch.residual / goal.tolerance).ln() / (1.0 / BEST_FACTOR).ln()).floor(),
        };
        let queue = (queue as u64).clamp(1, MOST_QUEUED as u64).min(goal.max_cycles - cycles);
        let entry = if cycles == 0 && guess.is_some() { Entry::Guess } else { Entry::Values };
        for change in solver.cycles(queue as usize, entry)? {
            watch.note(f64::from(change));
        }
        cycles += queue;
        poll(watch.fraction(goal))?;
    }
    Ok(Solution { cycles, residual: watch.residual, converged: watch.residual <= goal.tolerance })
}

/// Where one grid's fields lie: offsets into the buffer for coarse grids.
#[derive(Clone)]
struct Piece {
    grid: Grid,
    pitch: usize,
    mask_pitch: usize,
    values: usize,
    smoothed: usize,
    right: usize,
    /// 3D: the second buffer that steps alternate with.
    other: usize,
    mask: usize,
}

/// The buffer for everything but the finest grid's two fields and mask.
struct Layout {
    /// Finest first. Of the finest only `other` is in the buffer. One more than the grids in use: its mask tells
    /// whether there is any shape.
    pieces: Vec<Piece>,
    grids: usize,
    bytes: usize,
    /// One word a grid.
    flags: usize,
    /// One word a queued cycle.
    changes: usize,
}

impl Layout {
    fn new(shape: [usize; 3], lambda: f64) -> Self {
        let mut all = grids(shape, lambda);
        let count = all.len();
        if count == 1 {
            // Not computed on: any halving serves to look for the shape.
            let halved = Grid { shape: shape.map(|n| n.div_ceil(2)), ..all[0].clone() };
            all.push(halved);
        }
        let mut bytes = 0;
        let mut take = |wanted: usize| {
            let offset = bytes;
            bytes += wanted.next_multiple_of(PIECE_ALIGNMENT);
            offset
        };
        let volume = shape[2] > 1;
        let pieces = all
            .into_iter()
            .enumerate()
            .map(|(index, grid)| {
                let rows = grid.shape[1] * grid.shape[2];
                let pitch = grid.shape[0].next_multiple_of(PITCH_ALIGNMENT);
                let mask_pitch = grid.shape[0].div_ceil(u32::BITS as usize) + MASK_PADS;
                let field = pitch * rows * size_of::<f32>();
                let coarse = if index > 0 { field } else { 0 };
                Piece {
                    pitch,
                    mask_pitch,
                    values: take(coarse),
                    smoothed: take(coarse),
                    right: take(coarse),
                    other: take(if volume { field } else { 0 }),
                    mask: take(if index > 0 { mask_pitch * rows * size_of::<u32>() } else { 0 }),
                    grid,
                }
            })
            .collect::<Vec<_>>();
        let flags = take(pieces.len() * size_of::<u32>());
        let changes = take(MOST_QUEUED * size_of::<u32>());
        Self { pieces, grids: count, bytes, flags, changes }
    }
}

/// `isoline_mg_weights` in the kernels.
#[repr(C)]
#[derive(Clone, Copy)]
struct Weights([f32; MOST_STEPS]);

// SAFETY: plain floats in the layout of the kernels' struct.
unsafe impl cudarc::driver::DeviceRepr for Weights {}

/// One grid on the device: addresses and sizes as the kernels take them.
struct Level {
    grid: Grid,
    shape: [i32; 3],
    pitch: u32,
    mask_pitch: u32,
    values: u64,
    smoothed: u64,
    /// 0 (zero) on the finest grid.
    right: u64,
    other: u64,
    mask: u64,
}

/// The kernels of one call.
struct Kernels {
    coarsen: CudaFunction,
    kind: Kind,
}

enum Kind {
    Flat {
        fine_down: CudaFunction,
        fine_up: CudaFunction,
        fine_alone: CudaFunction,
        coarse_down: CudaFunction,
        coarse_up: CudaFunction,
        fine_guess: CudaFunction,
        small_start: CudaFunction,
        small_guess: CudaFunction,
        small_finish: CudaFunction,
        small_down: CudaFunction,
        small_up: CudaFunction,
        coarsest_zero: CudaFunction,
        coarsest_on: CudaFunction,
    },
    Volume {
        step: CudaFunction,
        restrict: CudaFunction,
        correct: CudaFunction,
    },
}

/// What a cycle does on the first of its grids.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// Solves for v, from the values there.
    Values,
    /// Solves for v, from the values of the next grid, interpolated.
    Guess,
    /// Solves for v, from 1 on the shape and 0 elsewhere.
    Shape,
}

struct Solver<'a> {
    stream: &'a Stream,
    kernels: Kernels,
    early_launches: bool,
    levels: Vec<Level>,
    grids: usize,
    buffer: Buffer,
    flags: usize,
    changes: usize,
    /// Where flags and changes arrive.
    pinned: Pinned,
    arrived: Event,
}

impl Drop for Solver<'_> {
    fn drop(&mut self) {
        // The buffer must outlive the work that uses it, also when an error ends the call. A failed stream has nothing
        // left to wait for.
        let _ = self.stream.synchronize();
    }
}

impl<'a> Solver<'a> {
    fn new(cuda: &Cuda, stream: &'a Stream, field: &Field<'_>, goal: &Goal) -> Result<Self> {
        let layout = Layout::new(field.shape, goal.lambda);
        let buffer = cuda.memory().device(layout.bytes)?;
        let at = |offset: usize| buffer.address() + offset as u64;
        let levels = layout
            .pieces
            .into_iter()
            .enumerate()
            .map(|(index, piece)| {
                let own = |offset: usize, fields: u64| if index == 0 { fields } else { at(offset) };
                Level {
                    shape: piece.grid.shape.map(|n| n as i32),
                    pitch: if index == 0 { field.pitch } else { piece.pitch } as u32,
                    mask_pitch: if index == 0 { field.mask_pitch } else { piece.mask_pitch } as u32,
                    values: own(piece.values, field.values.address()),
                    smoothed: own(piece.smoothed, field.scratch.address()),
                    right: own(piece.right, 0),
                    other: at(piece.other),
                    mask: own(piece.mask, field.mask.address()),
                    grid: piece.grid,
                }
            })
            .collect();
        let function = |name: &str| cuda.function(MODULE, &format!("isoline_mg_{name}"));
        let kind = if field.shape[2] > 1 {
            Kind::Volume {
                step: function("step_3d")?,
                restrict: function("restrict_3d")?,
                correct: function("correct_3d")?,
            }
        } else {
            Kind::Flat {
                fine_down: function("fine_down")?,
                fine_up: function("fine_up")?,
                fine_alone: function("fine_alone")?,
                coarse_down: function("coarse_down")?,
                coarse_up: function("coarse_up")?,
                fine_guess: function("fine_guess")?,
                small_start: function("small_start")?,
                small_guess: function("small_guess")?,
                small_finish: function("small_finish")?,
                small_down: function("small_down")?,
                small_up: function("small_up")?,
                coarsest_zero: function("coarsest_zero")?,
                coarsest_on: function("coarsest_on")?,
            }
        };
        Ok(Self {
            stream,
            early_launches: cuda.early_launches(),
            kernels: Kernels { coarsen: function("coarsen")?, kind },
            levels,
            grids: layout.grids,
            buffer,
            flags: layout.flags,
            changes: layout.changes,
            pinned: cuda.memory().pinned(PIECE_ALIGNMENT)?,
            arrived: cuda.event()?,
        })
    }

    /// Makes the coarse masks; returns the flags of each, from the second grid on.
    fn coarsen(&mut self) -> Result<Vec<u32>> {
        const THREADS: usize = 128;
        let words = self.levels.len();
        self.stream.fill(&self.buffer, self.flags, words * size_of::<u32>(), 0)?;
        for (index, pair) in self.levels.windows(2).enumerate() {
            let [fine, coarse] = pair else { unreachable!("windows of two") };
            let flags = self.buffer.address() + (self.flags + (index + 1) * size_of::<u32>()) as u64;
            let config = LaunchConfig {
                grid_dim: (
                    coarse.grid.shape[0].div_ceil(THREADS * u32::BITS as usize) as u32,
                    (coarse.grid.shape[1] * coarse.grid.shape[2]).min(MAX_GRID_YZ) as u32,
                    1,
                ),
                block_dim: (THREADS as u32, 1, 1),
                shared_mem_bytes: 0,
            };
            let [width, height, depth] = &fine.shape;
            let [coarse_width, coarse_height, coarse_depth] = &coarse.shape;
            let mut launch = self.stream.raw().launch_builder(&self.kernels.coarsen);
            launch.arg(&fine.mask).arg(&fine.mask_pitch).arg(width).arg(height).arg(depth);
            launch.arg(&coarse.mask).arg(&coarse.mask_pitch).arg(coarse_width).arg(coarse_height).arg(coarse_depth);
            launch.arg(&flags);
            // SAFETY: the arguments are the kernel's, in its order; masks and flags have the layout's bytes.
            unsafe { launch.launch(config) }.map_err(|e| failed("start the kernel coarsen", e))?;
        }
        Ok(self.fetch(self.flags, words)?.split_off(1))
    }

    /// Waits for the work so far and returns words of the buffer.
    fn fetch(&self, offset: usize, words: usize) -> Result<Vec<u32>> {
        let bytes = words * size_of::<u32>();
        self.stream.copy(self.buffer.side(offset), self.pinned.side(), bytes, 1, [bytes; 2])?;
        self.stream.record(&self.arrived)?;
        self.arrived.synchronize()?;
        Ok(self.pinned.as_slice()[..bytes].chunks_exact(4).map(bytemuck::pod_read_unaligned).collect())
    }

    /// Queues `count` cycles, the first of them from `entry`, waits for them and returns the largest change of each.
    fn cycles(&self, count: usize, entry: Entry) -> Result<Vec<f32>> {
        self.stream.fill(&self.buffer, self.changes, count * size_of::<u32>(), 0)?;
        for index in 0..count {
            let change = self.buffer.address() + (self.changes + index * size_of::<u32>()) as u64;
            self.cycle(0, if index == 0 { entry } else { Entry::Values }, change)?;
        }
        Ok(self.fetch(self.changes, count)?.into_iter().map(f32::from_bits).collect())
    }

    /// Queues one V-cycle from grid `first` down; the largest change of its values goes to `change`, if not 0.
    fn cycle(&self, first: usize, entry: Entry, change: u64) -> Result<()> {
        match &self.kernels.kind {
            Kind::Flat { .. } => self.cycle_2d(&self.levels[first..], entry, change),
            Kind::Volume { .. } => self.cycle_3d(&self.levels[first..], entry, change),
        }
    }

    fn cycle_2d(&self, levels: &[Level], entry: Entry, change: u64) -> Result<()> {
        let Kind::Flat {
            fine_down,
            fine_guess,
            fine_up,
            fine_alone,
            small_start,
            small_guess,
            small_finish,
            coarse_down,
            coarse_up,
            small_down,
            small_up,
            coarsest_zero,
            coarsest_on,
        } = &self.kernels.kind
        else {
            unreachable!("2D kernels for a 2D field")
        };
        let last = levels.len() - 1;
        if last == 0 {
            let only = Own(&levels[0]);
            self.smooth((fine_alone, TILE_FINE), only, None, only.0.values, only.0.smoothed, 0)?;
            return self.smooth((fine_alone, TILE_FINE), only, None, only.0.smoothed, only.0.values, change);
        }
        let large = |level: &Level| tiles(level, TILE_COARSE) >= LARGE_TILES;
        let (down, up) = match (entry, large(&levels[0])) {
            (Entry::Values, true) => ((fine_down, TILE_FINE), (fine_up, TILE_FINE)),
            (Entry::Values, false) => ((small_start, TILE_SMALL_OWN), (small_finish, TILE_SMALL_OWN)),
            (_, true) => ((fine_guess, TILE_FINE), (fine_up, TILE_FINE)),
            (_, false) => ((small_guess, TILE_SMALL_OWN), (small_finish, TILE_SMALL_OWN)),
        };
        for (index, pair) in levels.windows(2).enumerate() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            if index == 0 {
                let coarse = if entry == Entry::Shape { Below::Right(coarse) } else { Below::All(coarse) };
                self.smooth(down, Own(level), Some(coarse), level.values, level.smoothed, 0)?;
            } else {
                let kernel = if large(level) { (coarse_down, TILE_COARSE) } else { (small_down, TILE_SMALL) };
                self.smooth(kernel, Correction(level), Some(Below::All(coarse)), 0, level.smoothed, 0)?;
            }
        }
        const { assert!(COARSEST_SMOOTHINGS == 2, "one into each field") };
        let coarsest = Correction(&levels[last]);
        self.smooth((coarsest_zero, TILE_SMALL), coarsest, None, 0, coarsest.0.smoothed, 0)?;
        self.smooth((coarsest_on, TILE_SMALL), coarsest, None, coarsest.0.smoothed, coarsest.0.values, 0)?;
        for (index, pair) in levels.windows(2).enumerate().rev() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            let coarse = Some(Below::All(coarse));
            if index == 0 {
                self.smooth(up, Own(level), coarse, level.smoothed, level.values, change)?;
            } else {
                let kernel = if large(level) { (coarse_up, TILE_COARSE) } else { (small_up, TILE_SMALL) };
                self.smooth(kernel, Correction(level), coarse, level.smoothed, level.values, 0)?;
            }
        }
        Ok(())
    }

    /// One launch of a 2D smoothing kernel, whose blocks write tiles of the size given with it.
    fn smooth(
        &self,
        (kernel, tile): (&CudaFunction, [usize; 2]),
        role: impl Role,
        coarse: Option<Below<'_>>,
        from: u64,
        to: u64,
        change: u64,
    ) -> Result<()> {
        let (level, right, own_weights) = role.of();
        let config =
            LaunchConfig { grid_dim: (tiles(level, tile) as u32, 1, 1), block_dim: BLOCK_2D, shared_mem_bytes: 0 };
        let mut weights = Weights([0.0; MOST_STEPS]);
        weights.0[..own_weights.len()].copy_from_slice(own_weights);
        let (coarse_values, coarse_right, coarse_shape, coarse_pitch) = match coarse {
            None => (0, 0, [0; 3], 0),
            Some(Below::All(c)) => (c.values, c.right, c.shape, c.pitch),
            Some(Below::Right(c)) => (0, c.right, c.shape, c.pitch),
        };
        let [width, height, _] = &level.shape;
        let [coarse_width, coarse_height, _] = &coarse_shape;
        let mut arguments = [
            pointer(&from),
            pointer(&to),
            pointer(&right),
            pointer(&level.mask),
            pointer(width),
            pointer(height),
            pointer(&level.pitch),
            pointer(&level.mask_pitch),
            pointer(&level.grid.lambda),
            pointer(&weights),
            pointer(&coarse_values),
            pointer(&coarse_right),
            pointer(coarse_width),
            pointer(coarse_height),
            pointer(&coarse_pitch),
            pointer(&change),
        ];
        // SAFETY: the arguments are the kernel's, in its order; fields and masks have their grid's bytes, `from` and
        // `to` are different buffers, and the pointers that are 0 belong to features that the kernel does not have.
        // The kernels begin by waiting for the launch ahead.
        unsafe {
            if self.early_launches {
                self.stream.launch_early(kernel, config, &mut arguments)
            } else {
                let (grid, block) = (config.grid_dim, config.block_dim);
                let stream = self.stream.raw().cu_stream();
                cudarc::driver::result::launch_kernel(kernel.cu_function(), grid, block, 0, stream, &mut arguments)
            }
        }
        .map_err(|e| failed("start a smoothing kernel", e))
    }

    fn cycle_3d(&self, levels: &[Level], entry: Entry, change: u64) -> Result<()> {
        let last = levels.len() - 1;
        if last == 0 {
            let only = Own(&levels[0]);
            self.smooth_3d(only, only.0.values, only.0.smoothed)?;
            return self.finish_3d(only, only.0.smoothed, change);
        }
        for (index, pair) in levels.windows(2).enumerate() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            match (index, entry) {
                (0, Entry::Values) => self.smooth_3d(Own(level), level.values, level.smoothed)?,
                (0, _) => {
                    let below = if entry == Entry::Guess { coarse.values } else { 0 };
                    self.correct_3d(level, coarse, 0, below, level.smoothed)?;
                    self.smooth_3d(Own(level), level.smoothed, level.smoothed)?;
                }
                _ => self.smooth_3d(Correction(level), 0, level.smoothed)?,
            }
            self.restrict_3d(level, coarse, if index == 0 { 0 } else { level.right })?;
        }
        const { assert!(COARSEST_SMOOTHINGS == 2, "one into each field") };
        let coarsest = Correction(&levels[last]);
        self.smooth_3d(coarsest, 0, coarsest.0.smoothed)?;
        self.smooth_3d(coarsest, coarsest.0.smoothed, coarsest.0.values)?;
        for (index, pair) in levels.windows(2).enumerate().rev() {
            let [level, coarse] = pair else { unreachable!("windows of two") };
            self.correct_3d(level, coarse, level.smoothed, coarse.values, level.other)?;
            if index == 0 {
                self.finish_3d(Own(level), level.other, change)?;
            } else {
                self.finish_3d(Correction(level), level.other, 0)?;
            }
        }
        Ok(())
    }

    /// The steps of one smoothing from `from` (0: zero) by way of `other` to `to`; the last two may be the same.
    fn smooth_3d(&self, role: impl Role, from: u64, to: u64) -> Result<()> {
        let (level, right, weights) = role.of();
        let mut source = from;
        for (step, &weight) in weights.iter().enumerate() {
            let target = if step % 2 == 0 { level.other } else { to };
            self.step_3d(level, right, source, target, weight, 0)?;
            source = target;
        }
        Ok(())
    }

    /// The steps of one smoothing from `from`, which is `other` or `smoothed`, by way of both to `values`, which keeps
    /// what it was until the last step has compared with it.
    fn finish_3d(&self, role: impl Role, from: u64, change: u64) -> Result<()> {
        let (level, right, weights) = role.of();
        let mut source = from;
        for (step, &weight) in weights.iter().enumerate() {
            let last = step + 1 == weights.len();
            let target = match (last, source == level.other) {
                (true, _) => level.values,
                (false, true) => level.smoothed,
                (false, false) => level.other,
            };
            self.step_3d(level, right, source, target, weight, if last { change } else { 0 })?;
            source = target;
        }
        Ok(())
    }

    fn step_3d(&self, level: &Level, right: u64, from: u64, to: u64, weight: f32, change: u64) -> Result<()> {
        let Kind::Volume { step, .. } = &self.kernels.kind else { unreachable!("3D kernels for a volume") };
        let [width, height, depth] = &level.shape;
        let mut launch = self.stream.raw().launch_builder(step);
        launch.arg(&from).arg(&to).arg(&right).arg(&level.mask).arg(width).arg(height).arg(depth);
        launch.arg(&level.pitch).arg(&level.mask_pitch).arg(&level.grid.lambda).arg(&weight).arg(&change);
        // SAFETY: as in `smooth`.
        unsafe { launch.launch(geometry_3d(level)) }.map(|_| ()).map_err(|e| failed("start the kernel step_3d", e))
    }

    /// Residuals of `smoothed` to the right side of the next grid.
    fn restrict_3d(&self, level: &Level, coarse: &Level, right: u64) -> Result<()> {
        let Kind::Volume { restrict, .. } = &self.kernels.kind else { unreachable!("3D kernels for a volume") };
        let [width, height, depth] = &level.shape;
        let [coarse_width, coarse_height, coarse_depth] = &coarse.shape;
        let mut launch = self.stream.raw().launch_builder(restrict);
        launch.arg(&level.smoothed).arg(&right).arg(&level.mask).arg(width).arg(height).arg(depth);
        launch.arg(&level.pitch).arg(&level.mask_pitch).arg(&level.grid.lambda);
        launch.arg(&coarse.right).arg(coarse_width).arg(coarse_height).arg(coarse_depth).arg(&coarse.pitch);
        // SAFETY: as in `smooth`; a thread writes one coarse voxel.
        unsafe { launch.launch(geometry_3d(coarse)) }.map(|_| ()).map_err(|e| failed("start the kernel restrict_3d", e))
    }

    /// `from` (0: the shape) and `below`, the next grid's values (0: zero), interpolated, into `to`.
    fn correct_3d(&self, level: &Level, coarse: &Level, from: u64, below: u64, to: u64) -> Result<()> {
        let Kind::Volume { correct, .. } = &self.kernels.kind else { unreachable!("3D kernels for a volume") };
        let [width, height, depth] = &level.shape;
        let [coarse_width, coarse_height, coarse_depth] = &coarse.shape;
        let mut launch = self.stream.raw().launch_builder(correct);
        launch.arg(&from).arg(&to).arg(&level.mask).arg(width).arg(height).arg(depth);
        launch.arg(&level.pitch).arg(&level.mask_pitch);
        launch.arg(&below).arg(coarse_width).arg(coarse_height).arg(coarse_depth).arg(&coarse.pitch);
        // SAFETY: as in `smooth`.
        unsafe { launch.launch(geometry_3d(level)) }.map(|_| ()).map_err(|e| failed("start the kernel correct_3d", e))
    }
}

/// What a grid is solved for: its right side and its steps depend on it.
trait Role: Copy {
    /// The grid, the address of its right side (0: zero) and its smoother's steps.
    fn of(&self) -> (&Level, u64, &[f32]);
}

/// For v.
#[derive(Clone, Copy)]
struct Own<'a>(&'a Level);

/// For the correction of the grid above.
#[derive(Clone, Copy)]
struct Correction<'a>(&'a Level);

impl Role for Own<'_> {
    fn of(&self) -> (&Level, u64, &[f32]) {
        (self.0, 0, &self.0.grid.own_weights)
    }
}

impl Role for Correction<'_> {
    fn of(&self) -> (&Level, u64, &[f32]) {
        (self.0, self.0.right, &self.0.grid.weights)
    }
}

/// The next grid as a smoothing kernel sees it.
#[derive(Clone, Copy)]
enum Below<'a> {
    All(&'a Level),
    /// Only its right side: its values are not there yet.
    Right(&'a Level),
}

/// A kernel argument as the driver takes it.
fn pointer<T>(argument: &T) -> *mut c_void {
    std::ptr::from_ref(argument).cast_mut().cast()
}

/// How many tiles cover a grid.
fn tiles(level: &Level, tile: [usize; 2]) -> usize {
    level.grid.shape[0].div_ceil(tile[0]) * level.grid.shape[1].div_ceil(tile[1])
}

/// A thread a voxel; blocks loop over what exceeds the grid.
fn geometry_3d(level: &Level) -> LaunchConfig {
    let blocks = |axis: usize| level.grid.shape[axis].div_ceil(BLOCK_3D[axis]);
    LaunchConfig {
        grid_dim: (blocks(0) as u32, blocks(1).min(MAX_GRID_YZ) as u32, blocks(2).min(MAX_GRID_YZ) as u32),
        block_dim: (BLOCK_3D[0] as u32, BLOCK_3D[1] as u32, BLOCK_3D[2] as u32),
        shared_mem_bytes: 0,
    }
}
