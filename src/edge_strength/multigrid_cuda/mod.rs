//! The converged mode on CUDA: the cycles of `multigrid`, launch by launch (`kernels/edge_strength_multigrid.cuh`).
//!
//! In 2D a smoothing is one launch, together with what comes before and after it (`flat.rs`); in 3D each step is a launch
//! (`volume.rs`). The host waits for the largest change only when a further cycle might be the last one needed. The
//! grids' memory is laid out in `layout.rs`.
#![allow(unsafe_code)]

mod flat;
mod layout;
mod volume;

use super::multigrid::{Goal, Grid, Solution, Watch, first_guess};
use crate::device::cuda::{Buffer, Cuda, Event, Pinned, Stream, failed};
use crate::error::Result;
use cudarc::driver::{CudaFunction, LaunchConfig, PushKernelArg};
use layout::{Layout, MOST_QUEUED, PIECE_ALIGNMENT};

/// The module (kernel file) of this operation.
const MODULE: &str = "edge_strength";

/// The largest grid in y and z.
const MAX_GRID_YZ: usize = 65535;

/// The flags that coarsening sets.
const ANY_FREE: u32 = 1;
const ANY_FIXED: u32 = 2;

/// No cycle lowers the error by more than about this factor, so many cycles may be queued without a look.
const BEST_FACTOR: f64 = 0.03;

/// With more pixels than this each cycle is looked at, so that a cancel is heard in time.
const QUEUE_PIXELS: usize = 1 << 25;

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

    /// Queues one V-cycle from grid `first` down. `change`: 0, but for the finest grid; its values are brought to 0..1 and
    /// their largest change goes there.
    fn cycle(&self, first: usize, entry: Entry, change: u64) -> Result<()> {
        match &self.kernels.kind {
            Kind::Flat { .. } => self.cycle_2d(&self.levels[first..], entry, change),
            Kind::Volume { .. } => self.cycle_3d(&self.levels[first..], entry, change),
        }
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
