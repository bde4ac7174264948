//! The converged mode on CUDA: the cycles of `edge_strength::multigrid`, launch by launch
//! (`kernels/edge_strength_multigrid.cuh`).
//!
//! In 2D a smoothing is one launch, together with the interpolation before it and the residuals after it
//! (`cycle_2d.rs`); in 3D each step is a launch (`cycle_3d.rs`). The host waits for the largest change only if a
//! further cycle might be the last one needed. `layout.rs` has the layout of the grids in memory. `slabs.rs` solves
//! volumes that do not fit the device memory.
#![allow(unsafe_code)]

mod cycle_2d;
mod cycle_3d;
mod layout;
mod slabs;

use super::super::Outcome;
use super::super::multigrid::{ConvergenceMonitor, EMPTY, Grid, Operator, SolveOptions, first_guess};
use super::constants::MODULE;
use super::field_layout::FieldLayout;
use crate::device::cuda::{Buffer, Cuda, Event, Kernel, Pinned, Stream, geometry};
use crate::device::kernels::edge_strength::{MASK_WORD_BITS, MG_ANY_FIXED, MG_ANY_FREE, MG_COARSEN_THREADS};
use crate::error::Result;
use cudarc::driver::DeviceRepr;
use cycle_2d::SliceKernels;
use cycle_3d::VolumeKernels;
use layout::{GridsLayout, MAX_QUEUED, OFFSET_ALIGNMENT};

pub(super) use slabs::{LEAST_CHOSEN_SLICES, LEAST_SLICES, bytes_in_slabs, solve_in_slabs};

/// About the smallest factor by which a cycle multiplies the error. From it follows the least number of cycles that are
/// still needed, which can be queued before the host waits.
const BEST_FACTOR: f64 = 0.03;

/// The number of pixels above which the host waits for each cycle, so that it acts on a cancellation in time.
const QUEUE_PIXELS: usize = 1 << 25;

/// The device memory of the finest grid.
pub(super) struct FieldBuffers<'a> {
    /// The initial values, then v.
    pub values: &'a Buffer,
    /// A buffer of the same size, which the solve may overwrite.
    pub workspace: &'a Buffer,
    pub mask: &'a Buffer,
    pub layout: FieldLayout,
}

/// Returns the device memory that a solve needs beside [`FieldBuffers`], in bytes.
pub(super) fn extra_bytes(shape: [usize; 3], operator: Operator) -> u64 {
    GridsLayout::new(shape, operator, false).bytes as u64
}

/// Solves in place; returns when done. `poll` is called between cycles, with the fraction done.
pub(super) fn solve(
    cuda: &Cuda,
    stream: &Stream,
    field: &FieldBuffers<'_>,
    options: &SolveOptions,
    poll: &mut dyn FnMut(f64) -> Result<()>,
) -> Result<Outcome> {
    let mut solver =
        Multigrid::new(cuda, stream, field.mask, Some([field.values, field.workspace]), field.layout, options)?;
    if !solver.coarsen()? {
        stream.fill(field.values, 0, field.layout.value_bytes(), 0)?;
        return Ok(EMPTY);
    }
    let guessed = solver.guess()?;
    // Run cycles until the estimated error is within the tolerance, or no longer decreases.
    let mut monitor = ConvergenceMonitor::new();
    while monitor.goes_on(options) {
        let queue = cycles_at_once(&monitor, options, field.layout.shape);
        let start = match guessed {
            true if monitor.cycles == 0 => CycleStart::Guess(solver.levels[1].values),
            _ => CycleStart::Values,
        };
        for change in solver.cycles(queue, start)? {
            monitor.note(f64::from(change));
        }
        poll(monitor.fraction(options))?;
    }
    Ok(monitor.outcome(options))
}

/// Returns the number of cycles to make before the stopping criterion is tested again.
fn cycles_at_once(monitor: &ConvergenceMonitor, options: &SolveOptions, shape: [usize; 3]) -> usize {
    let queue = match monitor.cycles {
        _ if shape.iter().product::<usize>() > QUEUE_PIXELS => 1.0,
        // The estimate needs two cycles at first, and decreases steeply with the third.
        0 => 2.0,
        2 => 1.0,
        _ => ((monitor.residual / options.tolerance).ln() / (1.0 / BEST_FACTOR).ln()).floor(),
    };
    (queue as u64).clamp(1, MAX_QUEUED as u64).min(options.max_cycles - monitor.cycles) as usize
}

/// One grid on the device: addresses and sizes as the kernels take them.
#[derive(Clone)]
struct Level {
    grid: Grid,
    shape: [i32; 3],
    pitch: u32,
    mask_pitch: u32,
    values: u64,
    smoothed: u64,
    /// The right-hand side; address 0, which means zero, on the finest grid.
    right: u64,
    other: u64,
    mask: u64,
}

/// The kernels of one call.
struct Kernels {
    coarsen: Kernel,
    kind: GridKernels,
}

/// The kernels of a smoothing.
#[allow(clippy::large_enum_variant, reason = "one for each solve")]
enum GridKernels {
    Slice(SliceKernels),
    Volume(VolumeKernels),
}

/// The values from which a cycle starts on the first of its grids.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CycleStart {
    /// The values of that grid.
    Values,
    /// The interpolated values of the next coarser grid, which are at this address.
    Guess(u64),
    /// The shape: 1 on it, 0 elsewhere.
    Shape,
}

/// The grids, kernels and memory of one solve.
struct Multigrid<'a> {
    stream: &'a Stream,
    kernels: Kernels,
    levels: Vec<Level>,
    grids: usize,
    buffer: Buffer,
    flags: usize,
    changes: usize,
    /// The page-locked memory to which flags and changes are copied.
    pinned: Pinned,
    /// Recorded after such a copy.
    arrived: Event,
}

impl Drop for Multigrid<'_> {
    fn drop(&mut self) {
        // The buffer must outlive the work that uses it, even if an error ends the call. A stream that failed has no work
        // left.
        let _ = self.stream.synchronize();
    }
}

impl<'a> Multigrid<'a> {
    /// Makes the solver of a field. `values` is `None` for a field in slabs.
    fn new(
        cuda: &Cuda,
        stream: &'a Stream,
        mask: &Buffer,
        fields: Option<[&Buffer; 2]>,
        field: FieldLayout,
        options: &SolveOptions,
    ) -> Result<Self> {
        let layout = GridsLayout::new(field.shape, options.operator, fields.is_none());
        let [values, workspace] = fields.map_or([0; 2], |fields| fields.map(Buffer::address));
        let buffer = cuda.memory().device(layout.bytes)?;
        let at = |offset: usize| buffer.address() + offset as u64;
        let levels = layout
            .grids_in_buffer
            .into_iter()
            .enumerate()
            .map(|(index, offsets)| {
                let address = |offset: usize, finest: u64| if index == 0 { finest } else { at(offset) };
                Level {
                    shape: offsets.grid.shape.map(|n| n as i32),
                    pitch: offsets.layout.pitch as u32,
                    mask_pitch: offsets.layout.mask_pitch as u32,
                    values: address(offsets.values, values),
                    smoothed: address(offsets.smoothed, workspace),
                    right: address(offsets.right, 0),
                    other: at(offsets.other),
                    mask: address(offsets.mask, mask.address()),
                    grid: offsets.grid,
                }
            })
            .collect();
        let kind = if options.operator.is_of_volume(field.shape) {
            GridKernels::Volume(VolumeKernels::new(cuda)?)
        } else {
            GridKernels::Slice(SliceKernels::new(cuda)?)
        };
        Ok(Self {
            stream,
            kernels: Kernels { coarsen: cuda.kernel(MODULE, "isoline_mg_coarsen")?, kind },
            levels,
            grids: layout.grids,
            buffer,
            flags: layout.flags,
            changes: layout.changes,
            pinned: cuda.memory().pinned(OFFSET_ALIGNMENT)?,
            arrived: cuda.event()?,
        })
    }

    /// Computes the masks of the coarse grids, and drops grids that have nothing to correct. Returns true if any pixel is
    /// on the shape.
    fn coarsen(&mut self) -> Result<bool> {
        let words = self.levels.len();
        self.stream.fill(&self.buffer, self.flags, words * size_of::<u32>(), 0)?;
        for (index, pair) in self.levels.windows(2).enumerate() {
            let [fine, coarse] = pair else { unreachable!("windows of two") };
            let flags = self.buffer.address() + (self.flags + (index + 1) * size_of::<u32>()) as u64;
            let columns = coarse.grid.shape[0].div_ceil(MG_COARSEN_THREADS * MASK_WORD_BITS);
            let config =
                geometry([columns, coarse.grid.shape[1] * coarse.grid.shape[2], 1], [MG_COARSEN_THREADS, 1, 1]);
            let [width, height, depth] = &fine.shape;
            let [coarse_width, coarse_height, coarse_depth] = &coarse.shape;
            let from: [&dyn DeviceRepr; 5] = [&fine.mask, &fine.mask_pitch, width, height, depth];
            let to: [&dyn DeviceRepr; 6] =
                [&coarse.mask, &coarse.mask_pitch, coarse_width, coarse_height, coarse_depth, &flags];
            // SAFETY: the arguments are the kernel's, in its order; masks and flags have the layout's bytes.
            unsafe { self.stream.launch(&self.kernels.coarsen, config, &[from.as_slice(), &to].concat()) }?;
        }
        // The first flags are those of the second grid. The first grid without free cells, and all coarser ones, correct
        // nothing.
        let flags = self.fetch(self.flags, words)?.split_off(1);
        let useful = 1 + flags.iter().take_while(|flags| *flags & MG_ANY_FREE as u32 != 0).count();
        self.levels.truncate(useful.min(self.grids));
        Ok(flags.iter().any(|flags| flags & MG_ANY_FIXED as u32 != 0))
    }

    /// Queues the nested iteration, which computes a first guess from coarse to fine on all grids except the finest.
    /// Returns true if there is a guess.
    fn guess(&self) -> Result<bool> {
        let Some(first) = first_guess(self.levels.iter().map(|level| &level.grid)) else { return Ok(false) };
        for index in (1..=first).rev() {
            let coarser = || CycleStart::Guess(self.levels[index + 1].values);
            let start = if index == first { CycleStart::Shape } else { coarser() };
            self.cycle(index, start, 0)?;
        }
        Ok(true)
    }

    /// Waits for the queued work and returns words of the buffer.
    fn fetch(&self, offset: usize, words: usize) -> Result<Vec<u32>> {
        let bytes = words * size_of::<u32>();
        self.stream.copy_bytes(self.buffer.side(offset), self.pinned.side(), bytes)?;
        self.stream.record(&self.arrived)?;
        self.arrived.synchronize()?;
        Ok(self.pinned.as_slice()[..bytes].chunks_exact(4).map(bytemuck::pod_read_unaligned).collect())
    }

    /// Queues `count` cycles, the first of them from `start`, waits for them and returns the largest change of each.
    fn cycles(&self, count: usize, start: CycleStart) -> Result<Vec<f32>> {
        self.stream.fill(&self.buffer, self.changes, count * size_of::<u32>(), 0)?;
        for index in 0..count {
            let change = self.buffer.address() + (self.changes + index * size_of::<u32>()) as u64;
            self.cycle(0, if index == 0 { start } else { CycleStart::Values }, change)?;
        }
        Ok(self.fetch(self.changes, count)?.into_iter().map(f32::from_bits).collect())
    }

    /// Queues one V-cycle from grid `first` down. On the finest grid the values are clamped to 0..1, and their largest
    /// change is written to the address `change`; on other grids `change` is 0.
    fn cycle(&self, first: usize, start: CycleStart, change: u64) -> Result<()> {
        match &self.kernels.kind {
            GridKernels::Slice(kernels) => kernels.cycle(self.stream, &self.levels[first..], start, change),
            GridKernels::Volume(kernels) => kernels.cycle(self.stream, &self.levels[first..], start, change),
        }
    }
}

/// The equation that a grid solves, which determines its right-hand side and its steps.
trait Equation: Copy {
    /// Returns the grid, the address of its right-hand side (0: zero) and the step widths of its smoother.
    fn parts(&self) -> (&Level, u64, &[f32]);
}

/// The equation for v.
#[derive(Clone, Copy)]
struct ForSolution<'a>(&'a Level);

/// The equation for the correction of the next finer grid.
#[derive(Clone, Copy)]
struct ForCorrection<'a>(&'a Level);

impl Equation for ForSolution<'_> {
    fn parts(&self) -> (&Level, u64, &[f32]) {
        (self.0, 0, &self.0.grid.solution_weights)
    }
}

impl Equation for ForCorrection<'_> {
    fn parts(&self) -> (&Level, u64, &[f32]) {
        (self.0, self.0.right, &self.0.grid.correction_weights)
    }
}
