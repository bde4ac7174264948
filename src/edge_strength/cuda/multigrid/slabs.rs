//! The converged mode of a volume that does not fit the device memory. The finest grid stays in host memory and is streamed
//! through the device in slabs along z. Its mask and all coarser grids stay on the device.
//!
//! A cycle is one pass from one array in host memory to another. In a pass each slab repeats the smoothing that began the
//! cycle, of which only the residuals were kept. It then adds the correction, does the smoothing that ends the cycle, and
//! does the smoothing that begins the next cycle, to compute its residuals. Each step makes the valid part of a slab one
//! slice thinner on either side, so a slab is read with a halo of one slice for each step and one more for the residuals.
//! The result has the same bits as for a volume that fits.

use super::super::constants::PITCH_ALIGNMENT;
use super::super::launch::Launcher;
use super::super::{FieldLayout, SlotLayout};
use super::{CycleStart, EMPTY, GridKernels, GridsLayout, Level, Multigrid, VolumeKernels, cycles_at_once};
use crate::device::Context;
use crate::device::cuda::{Buffer, Cuda, DeviceSlices, Pipeline, Side, SliceOperation, Slot};
use crate::edge_strength::multigrid::{ConvergenceMonitor, Operator, SolveOptions, VOLUME_STEPS};
use crate::edge_strength::prepare::InitialValues;
use crate::edge_strength::{Mode, Plan, STAGE};
use crate::error::Result;
use crate::image::{Image, ImageMut, zeroed_image};
use crate::progress::{Progress, run as run_with_progress};
use crate::report::Report;
use ndarray::parallel::prelude::*;
use ndarray::{Array3, ArrayViewMut3, Axis};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The slices on either side of a slab on which its own slices depend in a pass: one for each step of three smoothings, and
/// one for the residuals.
const HALO: usize = 3 * VOLUME_STEPS + 1;

/// The fewest slices of a slab, including both halos. A slab's own slices begin with the first child of a coarse slice, so
/// their number is even.
pub(in super::super) const LEAST_SLICES: usize = 2 * HALO + 2;

/// The fewest slices of a slab with which a pass takes at most twice the steps per slice of a volume that fits, which takes
/// 8: a slab takes 12 for each of its own slices, and 156 for its halos.
pub(in super::super) const LEAST_CHOSEN_SLICES: usize = 5 * HALO + 1;

/// The most voxels of all slabs in flight. A cancelled call returns only when their work has ended, which took at most 55
/// ms on an H100 with a volume of 1024³.
const MOST_IN_FLIGHT: usize = 1 << 29;

/// The number of slabs in flight: one is read, one is computed, and one is written.
const SLOTS: usize = 3;

/// A number of cycles that few solves exceed, from which the progress is estimated.
const USUAL_CYCLES: f64 = 8.0;

/// Returns the device memory of a volume whose finest grid is in slabs of `slices` slices, halos included, in bytes.
pub(in super::super) fn bytes_in_slabs(shape: [usize; 3], operator: Operator, slices: usize) -> u64 {
    fixed_bytes(shape, operator) + slices as u64 * slice_bytes(shape)
}

/// Returns the bytes of what stays on the device: the mask, the coarser grids, and a copy of the first guess.
fn fixed_bytes(shape: [usize; 3], operator: Operator) -> u64 {
    let layout = GridsLayout::new(shape, operator, true);
    let guess = layout.grids_in_buffer[1].layout.value_bytes();
    (FieldLayout::new(shape).mask_bytes() + layout.bytes + guess) as u64
}

/// Returns the bytes of a slice of a slab, which has three fields.
fn slice_bytes([width, height, _]: [usize; 3]) -> u64 {
    3 * FieldLayout::new([width, height, 1]).value_bytes() as u64
}

/// Returns the number of slabs in flight, and the number of slices of each, including halos, that fit into `budget` bytes.
fn slots_and_slices(shape: [usize; 3], budget: u64) -> (usize, usize) {
    let [width, height, depth] = shape;
    let fitting = |slots: usize| usize::try_from(budget / (slots as u64 * slice_bytes(shape))).unwrap_or(usize::MAX);
    // A shallow volume is one slab if that fits, because several slabs would consist mostly of halos.
    if depth < 4 * HALO && fitting(1) >= depth {
        return (1, depth);
    }
    // With fewer slots slabs can be deeper. Choose the most slots with which halos are at most half of a slab.
    let slots = (1..=SLOTS).rev().find(|&slots| fitting(slots) >= 4 * HALO).unwrap_or(1);
    // Deep slabs have a smaller share of halos, while with shallow slabs a pass has shorter phases at its beginning and
    // end.
    let best = 2 * HALO + (HALO * depth).isqrt();
    let most = (MOST_IN_FLIGHT / (slots * width * height)).max(4 * HALO).min(depth);
    (slots, (fitting(slots).min(best).min(most) / 2 * 2).max(LEAST_SLICES))
}

/// Computes a volume that has more than [`LEAST_SLICES`] slices; see [`super::solve`].
pub(in super::super) fn solve_in_slabs(
    context: &Context,
    cuda: &Arc<Cuda>,
    (plan, initial): (&Plan, &InitialValues),
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    mut output: ArrayViewMut3<'_, f32>,
) -> Result<Report> {
    let Mode::Converged { tolerance, max_cycles } = plan.mode else { unreachable!("the mode was checked") };
    let options = &SolveOptions { operator: plan.operator(), tolerance, max_cycles };
    let shape = input.shape();
    let budget = cuda.budget()?.saturating_sub(fixed_bytes(shape, options.operator));
    let (slots, slices) = slots_and_slices(shape, budget);
    let own = if slices == shape[2] { slices } else { slices - 2 * HALO };
    let layout = SlotLayout::of_slices(input, &(0..shape[2]), slices, own, HALO);
    let slabs = layout.count();
    log::debug!("the volume is cut into {slabs} slabs of {} slices", layout.own);
    let mut pipeline = Pipeline::new(context, cuda, STAGE, slabs, progress)?;
    let mut scratch = zeroed_image(output.dim())?;
    let mut monitor = ConvergenceMonitor::new();
    // 1. Make the masks of all grids, and the initial values, in the output.
    let mask = cuda.memory().device(FieldLayout::new(shape).mask_bytes())?;
    let stream = cuda.stream()?;
    let mut solver = Multigrid::new(cuda, &stream, &mask, None, FieldLayout::new(shape), options)?;
    pipeline.others = others(&monitor, options, slabs, 0);
    prepare(context, cuda, &mut pipeline, (plan, initial), (input, &mask), (slots, slices), output.view_mut())?;
    let (outcome, is_in_output) = if !solver.coarsen()? {
        // The array that was not written to holds zeros.
        (EMPTY, false)
    } else {
        // 2. Compute the first guess on the coarser grids, and the residuals with which the first cycle begins.
        let is_guessed = solver.guess()?;
        wait(&solver, &mut pipeline)?;
        let guess = if is_guessed { Some(copied_guess(cuda, &solver)?) } else { None };
        let mut pass = FinestPass { solver: &solver, layout, guess, ends_cycle: false };
        let values = Image::F32(output.view());
        // The slots' streams use the solver's memory, so they are declared after it and dropped before it.
        let mut slots = slab_slots(cuda, (&values, &layout), (slots, PITCH_ALIGNMENT * size_of::<f32>()), 2)?;
        (pipeline.count, pipeline.others) = (slabs, others(&monitor, options, slabs, 1));
        if solver.levels.len() > 1 {
            pipeline.run(context, cuda, &mut pass, &mut slots, Some(&values), None)?;
        }
        // 3. Run cycles until the estimated error is within the tolerance, or no longer falls.
        let mut is_in_output = true;
        pass.ends_cycle = true;
        while monitor.goes_on(options) {
            // Run as many cycles as for a volume that fits, so that both end after the same cycle.
            for _ in 0..cycles_at_once(&monitor, options, shape) {
                pipeline.others = others(&monitor, options, slabs, monitor.cycles as usize + 2);
                solver.correct_slabs()?;
                wait(&solver, &mut pipeline)?;
                let (from, to) = if is_in_output {
                    (output.view(), scratch.view_mut())
                } else {
                    (scratch.view(), output.view_mut())
                };
                let (from, mut to) = (Image::F32(from), ImageMut::F32(to));
                pipeline.run(context, cuda, &mut pass, &mut slots, Some(&from), Some(&mut to))?;
                monitor.note(f64::from(f32::from_bits(solver.fetch(solver.changes, 1)?[0])));
                (pass.guess, is_in_output) = (None, !is_in_output);
            }
        }
        (monitor.outcome(options), is_in_output)
    };
    if !is_in_output {
        copy(context, &mut pipeline, &scratch, output)?;
    }
    let mut report = pipeline.end(cuda);
    (report.part_count, report.slices_done) = (slabs as u64, shape[2] as u64);
    (report.iterations, report.residual, report.converged) = (outcome.iterations, outcome.residual, outcome.converged);
    Ok(report)
}

/// Waits for the work on the coarser grids; reports progress meanwhile.
fn wait(solver: &Multigrid<'_>, pipeline: &mut Pipeline<'_, '_, '_>) -> Result<()> {
    let started = Instant::now();
    solver.stream.record(&solver.arrived)?;
    while !solver.arrived.is_done()? {
        std::thread::sleep(Duration::from_micros(50));
        pipeline.ticker.report(pipeline.progress)?;
    }
    pipeline.report.seconds_compute += started.elapsed().as_secs_f64();
    Ok(())
}

/// Returns the number of slabs in the passes so far, and the estimated number of slabs in the passes after the next one.
fn others(monitor: &ConvergenceMonitor, options: &SolveOptions, slabs: usize, passes: usize) -> [usize; 2] {
    let most = options.max_cycles.saturating_sub(monitor.cycles + 1) as f64;
    let left = ((1.0 - monitor.fraction(options)) * USUAL_CYCLES).min(most);
    [passes * slabs, left as usize * slabs]
}

/// Copies the result to the output.
fn copy(
    context: &Context,
    pipeline: &mut Pipeline<'_, '_, '_>,
    from: &Array3<f32>,
    mut to: ArrayViewMut3<'_, f32>,
) -> Result<()> {
    let ticker = pipeline.ticker.clone();
    run_with_progress(context.pool(), pipeline.progress, &ticker, || {
        let slices = to.axis_iter_mut(Axis(0)).into_par_iter().zip(from.axis_iter(Axis(0)));
        slices.try_for_each(|(mut to, from)| {
            to.assign(&from);
            ticker.check()
        })
    })
}

impl Multigrid<'_> {
    /// Queues the computation, on the coarser grids, of the correction for the finest grid, which is in slabs.
    fn correct_slabs(&self) -> Result<()> {
        self.stream.fill(&self.buffer, self.changes, size_of::<u32>(), 0)?;
        if self.levels.len() > 1 {
            self.volume_kernels().solve_correction(self.stream, &self.levels[1..])?;
        }
        Ok(())
    }

    fn volume_kernels(&self) -> &VolumeKernels {
        let GridKernels::Volume(kernels) = &self.kernels.kind else { unreachable!("3D kernels for a volume") };
        kernels
    }
}

/// Returns a copy of the first guess. The second grid holds it until the first cycle overwrites it.
fn copied_guess(cuda: &Cuda, solver: &Multigrid<'_>) -> Result<Buffer> {
    let level = &solver.levels[1];
    let layout = FieldLayout::new(level.grid.shape);
    let (bytes, pitch) = (layout.value_bytes(), layout.pitch * size_of::<f32>());
    let copy = cuda.memory().device(bytes)?;
    let (from, width) = (Side::Device { address: level.values, bytes }, layout.shape[0] * size_of::<f32>());
    solver.stream.copy(from, copy.side(0), width, layout.rows(), [pitch; 2])?;
    solver.stream.synchronize()?;
    Ok(copy)
}

/// A pass over the finest grid. It ends a cycle and begins the next one; the first pass only begins a cycle.
struct FinestPass<'a> {
    solver: &'a Multigrid<'a>,
    layout: SlotLayout,
    /// The first guess, from which the first cycle starts. Others start from the values.
    guess: Option<Buffer>,
    ends_cycle: bool,
}

/// The memory of a slab in flight, in addition to the slices that are read.
struct SlabBuffers {
    /// For the preparation, one field of initial values. For a pass, two fields: the smoothed values, and the results of
    /// every other step. The values that end the cycle replace the ones that were read.
    fields: Vec<Buffer>,
    /// The result for the slab's own slices, and the bytes from row to row there.
    result: Side,
    pitch: usize,
}

impl SlabBuffers {
    /// Records that the result for the slices `own` is in a field at `address` that begins with slice `first`.
    fn set_result(&mut self, address: u64, own: &Range<usize>, first: usize, height: usize) {
        let slice = height * self.pitch;
        let address = address + ((own.start - first) * slice) as u64;
        self.result = Side::Device { address, bytes: own.len() * slice };
    }
}

/// Makes slots for slabs that are read from `input`, with rows at multiples of `alignment` bytes. Each has `fields` fields.
fn slab_slots(
    cuda: &Cuda,
    (input, layout): (&Image<'_>, &SlotLayout),
    (count, alignment): (usize, usize),
    fields: usize,
) -> Result<Vec<Slot<SlabBuffers>>> {
    let (field, result) = (layout.field, Side::Device { address: 0, bytes: 0 });
    let slot = |_| {
        let fields = (0..fields).map(|_| cuda.memory().device(field.value_bytes())).collect::<Result<_>>()?;
        let buffers = SlabBuffers { fields, result, pitch: field.pitch * size_of::<f32>() };
        Slot::new(cuda, input, field.shape[2], alignment, buffers)
    };
    (0..count.min(layout.count())).map(slot).collect()
}

impl FinestPass<'_> {
    /// Returns the finest grid with the fields of a slab, which begin with slice `first`.
    fn level(&self, values: u64, buffers: &SlabBuffers, first: usize) -> Level {
        let before = (first * self.layout.field.shape[1] * buffers.pitch) as u64;
        let slice_0 = |address: u64| address.wrapping_sub(before);
        Level {
            values: slice_0(values),
            smoothed: slice_0(buffers.fields[0].address()),
            other: slice_0(buffers.fields[1].address()),
            ..self.solver.levels[0].clone()
        }
    }
}

impl SliceOperation for FinestPass<'_> {
    type Buffers = SlabBuffers;

    fn slices(&self, slab: usize) -> Range<usize> {
        self.layout.slices(slab)
    }

    fn reads(&self, slab: usize) -> Range<usize> {
        let Range { start, end } = self.layout.reads(slab);
        // The values need not be read if the first guess replaces them and nothing is compared with them.
        start..if self.ends_cycle || self.guess.is_none() { end } else { start }
    }

    fn compute(
        &mut self,
        _pipeline: &mut Pipeline<'_, '_, '_>,
        slot: &mut Slot<SlabBuffers>,
        pixels: DeviceSlices,
        slab: usize,
        _output: Option<&ImageMut<'_>>,
    ) -> Result<()> {
        let Slot { stream, buffers, .. } = slot;
        let (own, first, kernels) = (self.slices(slab), self.reads(slab).start, self.solver.volume_kernels());
        let (level, coarse) = (self.level(pixels.address, buffers, first), self.solver.levels.get(1));
        let start = self.guess.as_ref().map_or(CycleStart::Values, |guess| CycleStart::Guess(guess.address()));
        // The slices that the residuals need, and on which the smoothing before them is computed.
        let neighbours = level.wider(&own, 1);
        if self.ends_cycle {
            let needed = level.wider(&neighbours, VOLUME_STEPS);
            let change = self.solver.buffer.address() + self.solver.changes as u64;
            kernels.descend(stream, &level, coarse, start, &level.wider(&needed, VOLUME_STEPS))?;
            kernels.ascend(stream, &level, coarse, change, &needed)?;
        }
        if let Some(coarse) = coarse {
            let start = if self.ends_cycle { CycleStart::Values } else { start };
            kernels.descend(stream, &level, Some(coarse), start, &neighbours)?;
            kernels.restrict(stream, &level, coarse, 0, &children(&own, &level, coarse))?;
        }
        buffers.set_result(pixels.address, &own, first, self.layout.field.shape[1]);
        Ok(())
    }

    fn result(buffers: &SlabBuffers) -> Option<(Side, usize)> {
        Some((buffers.result, buffers.pitch))
    }
}

/// Returns the coarse slices whose children are the slices `own`, which begin with a first child.
fn children(own: &Range<usize>, level: &Level, coarse: &Level) -> Range<usize> {
    let [depth, coarse_depth] = [level, coarse].map(|level| level.grid.shape[2]);
    let of = |slice: usize| if coarse_depth == depth { slice } else { slice / 2 };
    of(own.start)..if own.end == depth { coarse_depth } else { of(own.end) }
}

/// Makes the mask of the volume and, in `output`, the initial values, in slabs without a halo.
fn prepare(
    context: &Context,
    cuda: &Arc<Cuda>,
    pipeline: &mut Pipeline<'_, '_, '_>,
    (plan, initial): (&Plan, &InitialValues),
    (input, mask): (&Image<'_>, &Buffer),
    (slots, slices): (usize, usize),
    output: ArrayViewMut3<'_, f32>,
) -> Result<()> {
    let layout = SlotLayout::of_slices(input, &(0..input.shape()[2]), slices, slices, 0);
    let launcher = Launcher::new(cuda, plan, initial, layout.field, input.pixel_type())?;
    let mut slots = slab_slots(cuda, (input, &layout), (slots, 1), 1)?;
    let mut preparation = Preparation { launcher, initial, layout, mask };
    pipeline.count = layout.count();
    pipeline.run(context, cuda, &mut preparation, &mut slots, Some(input), Some(&mut ImageMut::F32(output)))?;
    drop(slots);
    // Free the pooled buffers, because those of the passes have other sizes.
    cuda.memory().trim();
    Ok(())
}

/// The pass that makes the mask and the initial values.
struct Preparation<'a> {
    launcher: Launcher<'a>,
    initial: &'a InitialValues,
    layout: SlotLayout,
    mask: &'a Buffer,
}

impl SliceOperation for Preparation<'_> {
    type Buffers = SlabBuffers;

    fn slices(&self, slab: usize) -> Range<usize> {
        self.layout.slices(slab)
    }

    fn reads(&self, slab: usize) -> Range<usize> {
        self.layout.reads(slab)
    }

    fn compute(
        &mut self,
        _pipeline: &mut Pipeline<'_, '_, '_>,
        slot: &mut Slot<SlabBuffers>,
        pixels: DeviceSlices,
        slab: usize,
        _output: Option<&ImageMut<'_>>,
    ) -> Result<()> {
        let Slot { stream, buffers, .. } = slot;
        let (own, first, field) = (self.slices(slab), self.reads(slab).start, self.layout.field);
        let values = buffers.fields[0].address();
        let mask = self.mask.address() + (first * field.mask_bytes() / field.shape[2]) as u64;
        self.launcher.prepare(stream, pixels, self.initial, values, mask)?;
        buffers.set_result(values, &own, first, field.shape[1]);
        Ok(())
    }

    fn result(buffers: &SlabBuffers) -> Option<(Side, usize)> {
        Some((buffers.result, buffers.pitch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_fit_the_budget_and_are_even() {
        // Three fields of a row of 32 voxels.
        let slice = 3 * 32 * 4;
        for depth in [29, 30, 101, 2048] {
            for slices in [0, 28, 29, 52, 60, 104, 156, 157, 1000, 100_000] {
                let (slots, got) = slots_and_slices([32, 1, depth], slice * slices);
                let is_even = got.is_multiple_of(2) || got == depth;
                assert!((1..=SLOTS).contains(&slots) && is_even && (28..=depth).contains(&got));
                // A call for which the least slab does not fit is refused before.
                assert!((slots * got) as u64 <= slices.max(28), "{depth} {slices}: {slots} x {got}");
            }
        }
        assert_eq!(slots_and_slices([32, 1, 2048], slice * 28), (1, 28));
        assert_eq!(slots_and_slices([32, 1, 2048], slice * 104), (2, 52));
        assert_eq!(slots_and_slices([32, 1, 2048], 1 << 40), (3, 188));
        assert_eq!(slots_and_slices([2048, 2048, 2048], 1 << 40), (3, 52));
    }
}
