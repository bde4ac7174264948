//! The level set on CUDA: φ, a second φ and the image stay on the device; iterations are queued in batches, and the
//! device itself counts, keeps the list of active tiles and stops. [`launch`] launches the kernels.

mod dense_grid;
mod launch;
mod load;
mod paper;
mod start;
mod tables;
mod transfer;
mod values;

use super::convergence::ConvergenceMonitor;
use super::plan::{self, Plan};
use super::regions::RegionSums;
use super::types::{Counts, Fit};
use super::{Params, Variant};
use crate::device::Context;
use crate::device::cuda::{Buffer, Cuda, Event, Pinned, Stream};
use crate::device::kernels::level_set::{self as kernels, ConvergenceState, IterationStatistics, RegionLevels};
use crate::distance::cuda::signed_workspace_bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::image::Image;
use crate::progress::{Progress, Ticker, may_cancel};
use launch::{Fields, Launcher, Span};
use load::{Loaded, PixelKind};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use tables::{BARRIERS, Layout, PADDING_BEFORE, STATISTICS, STATISTICS_BYTES, Tables, table_bytes};

/// The iterations of the first batch and of the largest; batches grow until one takes this long.
const FIRST_BATCH: u64 = 16;
const LARGEST_BATCH: u64 = 2048;
const BATCH_SECONDS: f64 = 0.010;
/// The number of batches in flight: one running, one queued behind it.
const BATCHES: usize = 2;

/// Returns the device memory that a level set needs, in bytes.
pub(super) fn min_device_bytes(context: &Context, params: &Params, input: &Image<'_>) -> Result<u64> {
    let shape = input.shape();
    // The distance that phi starts as needs a workspace for columns above a length that depends on the device.
    let workspace = match context.cuda_for(0)? {
        Some(cuda) => signed_workspace_bytes(cuda, shape, params.dimensions)?,
        None => 0,
    };
    let layout = Layout::new(shape);
    let tiles: u64 = plan::tiles(shape, params.dimensions).into_iter().map(|n| n as u64).product();
    let elements = layout.elements() as u64;
    let edge_bytes = if params.has_edge_pixels() { PixelKind::WithEdges.bytes() } else { 0 };
    Ok(elements * (2 * size_of::<f32>() + input.pixel_type().bytes() + edge_bytes) as u64
        + table_bytes(tiles)
        + (values::mask_part_bytes(shape) + workspace) as u64)
}

/// The state of a level set on the device. The stream is the first field: it is waited for before the memory is freed.
pub(super) struct Solver {
    stream: Stream,
    cuda: Arc<Cuda>,
    plan: Plan,
    layout: Layout,
    launcher: Launcher,
    phi: [Buffer; 2],
    image: Buffer,
    /// The bytes of a pixel of the image, with its edge if there is an edge term.
    pixel_bytes: usize,
    /// The contrast of the edge term, if there is one.
    edge_contrast: Option<f64>,
    tables: Tables,
    /// The staging buffers for the statistics of iterations, one for each batch in flight.
    staged_statistics: [Pinned; BATCHES],
    /// The index of the newest φ.
    current: usize,
    /// The number of voxels inside.
    inside: u64,
    /// The number of tiles that the last iteration updated.
    active_tiles: u64,
    /// The number of the next set of active tiles; the lists are empty before the first.
    set: u32,
    /// True if the lists hold the set of tiles that φ needs; false after φ was written.
    lists_valid: bool,
    /// True if the plan has changed since the tiles of the lists were found.
    front_may_move: bool,
    /// The number of iterations of the current check interval.
    interval_iterations: u32,
    /// True if a launch failed while iterations were queued, so that the iteration that φ has reached is unknown.
    phi_unknown: bool,
}

impl std::fmt::Debug for Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solver").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// A batch in flight.
struct Batch {
    first: u64,
    count: u64,
    slot: usize,
    end: Event,
}

/// Copies the image and the initial mask to the device.
pub(super) fn load(
    context: &Context,
    cuda: &Arc<Cuda>,
    params: &Params,
    input: &Image<'_>,
    mask: &Image<'_>,
) -> Result<Loaded> {
    if params.variant == Variant::Scalar {
        return Err(Error::unsupported(
            "the variant scalar is the CPU reference; use the device cpu or another variant",
        ));
    }
    cuda.bind()?;
    cuda.memory().reset_peak();
    Loaded::new(context, cuda, params.dimensions, input, mask)
}

impl Solver {
    pub(super) fn new(plan: &Plan, loaded: Loaded) -> Result<Self> {
        let (plan, cuda) = (*plan, &loaded.cuda);
        cuda.bind()?;
        let tables = Tables::new(cuda, &plan)?;
        let launcher = Launcher::new(cuda, &plan, &loaded.layout, loaded.pixels, &tables)?;
        let staging = || cuda.memory().pinned(LARGEST_BATCH as usize * STATISTICS_BYTES);
        let staged_statistics = [staging()?, staging()?];
        let Loaded { stream, cuda, layout, phi, image, pixels, edge_contrast } = loaded;
        let mut solver = Self {
            stream,
            cuda,
            inside: 0,
            plan,
            layout,
            launcher,
            phi,
            image,
            pixel_bytes: pixels.bytes(),
            edge_contrast,
            tables,
            staged_statistics,
            current: 0,
            active_tiles: 0,
            set: 0,
            lists_valid: false,
            front_may_move: false,
            interval_iterations: 0,
            phi_unknown: false,
        };
        // Lists are filled too: kernels load entries before they know how many are valid.
        let Tables { convergence, statistics, lists: [entries, ..], .. } = &solver.tables;
        for buffer in [convergence, statistics, entries] {
            solver.stream.fill(buffer, 0, buffer.bytes(), 0)?;
        }
        solver.inside = solver.start()?;
        Ok(solver)
    }

    /// Returns the address of the first row of φ `which`.
    fn phi_address(&self, which: usize) -> u64 {
        self.phi[which].address() + (PADDING_BEFORE * size_of::<f32>()) as u64
    }

    /// Returns the addresses of the newest φ, of the other and of the image.
    fn fields(&self) -> Fields {
        Fields {
            from: self.phi_address(self.current),
            to: self.phi_address(1 - self.current),
            image: self.image.address() + (PADDING_BEFORE * self.pixel_bytes) as u64,
        }
    }

    /// Evolves by up to `iterations`, until the stopping criterion is met. Returns the most device memory that was in
    /// use, in bytes.
    pub(super) fn run(
        &mut self,
        monitor: &mut ConvergenceMonitor,
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
    ) -> Result<u64> {
        self.check_phi_known()?;
        self.cuda.bind()?;
        ticker.report(progress)?;
        let result = self.evolve(monitor, iterations, progress, ticker);
        self.phi_unknown = matches!(&result, Err(error) if error.kind() != ErrorKind::Cancelled);
        result.map(|()| self.cuda.memory().peak())
    }

    /// Replaces the plan by one that differs in its range and what follows from that. All of the front may move again.
    pub(super) fn set_plan(&mut self, plan: &Plan) {
        self.plan = *plan;
        self.launcher.set_constants(&plan.constants);
        self.front_may_move = true;
    }

    /// Sums the pixels inside and those outside.
    pub(super) fn sum_regions(&self, levels: &RegionLevels) -> Result<[RegionSums; 2]> {
        const BYTES: usize = 2 * size_of::<kernels::RegionSums>();
        self.check_phi_known()?;
        self.cuda.bind()?;
        let back = self
            .found(BYTES, |found| self.launcher.sum_regions(&self.cuda, &self.stream, self.fields(), levels, found))?;
        let sums: &[kernels::RegionSums] = bytemuck::cast_slice(&back.as_slice()[..BYTES]);
        Ok([sums[0], sums[1]].map(|kernels::RegionSums { count, sum, squares_low, squares_high }| RegionSums {
            count,
            sum,
            squares: u128::from(squares_low) + (u128::from(squares_high) << 32),
        }))
    }

    /// Returns what a kernel counts in a buffer of this many bytes, which are 0 before.
    fn found(&self, bytes: usize, launch: impl FnOnce(&Buffer) -> Result<()>) -> Result<Pinned> {
        let (stream, memory) = (&self.stream, self.cuda.memory());
        let found = memory.device(bytes)?;
        let back = memory.pinned(bytes)?;
        stream.fill(&found, 0, bytes, 0)?;
        launch(&found)?;
        stream.copy_bytes(found.side(0), back.side(), bytes)?;
        stream.synchronize()?;
        Ok(back)
    }

    /// Returns the contrast of the edge term, if there is one.
    pub(super) fn edge_contrast(&self) -> Option<f64> {
        self.edge_contrast
    }

    fn check_phi_known(&self) -> Result<()> {
        if self.phi_unknown {
            return Err(Error::new(
                ErrorKind::DeviceFailed,
                "the device failed in an earlier step of this level set, so its phi is not known; write phi, or begin \
                 a new level set",
            ));
        }
        Ok(())
    }

    /// Tells whether no voxel is inside any more, or none outside: nothing can move then.
    fn front_vanished(&self) -> bool {
        self.inside == 0 || self.inside == self.plan.voxels() as u64
    }

    fn evolve(
        &mut self,
        monitor: &mut ConvergenceMonitor,
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
    ) -> Result<()> {
        if self.front_vanished() {
            monitor.converged = true;
        }
        if monitor.converged || iterations == 0 {
            return Ok(());
        }
        self.prepare_iterations(monitor.iterations)?;
        let mut queue = Queue::new(self, monitor.iterations);
        let mut flight: VecDeque<Batch> = VecDeque::new();
        let (mut queued, mut size) = (0, FIRST_BATCH);
        let mut cancelled = Ok(());
        let mut last_end = Instant::now();
        let mut first_batch = true;
        loop {
            while flight.len() < BATCHES && queued < iterations && cancelled.is_ok() && !monitor.converged {
                let count = size.min(iterations - queued);
                monitor.make_room(BATCHES * count as usize)?;
                let slot = (0..BATCHES).find(|slot| flight.iter().all(|batch| batch.slot != *slot)).unwrap_or(0);
                flight.push_back(self.queue_batch(&mut queue, count, slot)?);
                queued += count;
            }
            let Some(batch) = flight.pop_front() else { break };
            self.wait_for_batch(&batch, progress, ticker, &mut cancelled)?;
            if !monitor.converged {
                self.collect_batch(&batch, monitor);
                ticker.set(monitor.fraction());
            }
            // A batch is timed from the end of the one ahead. The first of several is not judged: its time includes the
            // queueing of both.
            let seconds = last_end.elapsed().as_secs_f64();
            last_end = Instant::now();
            if !first_batch || flight.is_empty() {
                if seconds < BATCH_SECONDS / 2.0 {
                    size = (size * 2).min(LARGEST_BATCH);
                } else if seconds > BATCH_SECONDS * 2.0 {
                    size = (size / 2).max(1);
                }
            }
            first_batch = false;
        }
        if self.front_vanished() {
            monitor.converged = true;
        }
        if monitor.converged { Ok(()) } else { cancelled }
    }

    /// Waits for a batch, and calls the progress callback while waiting.
    fn wait_for_batch(
        &self,
        batch: &Batch,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
        cancelled: &mut Result<()>,
    ) -> Result<()> {
        if may_cancel(progress) {
            while !batch.end.is_done()? {
                if cancelled.is_ok() {
                    *cancelled = ticker.report(progress);
                }
                std::thread::yield_now();
            }
        }
        batch.end.synchronize()?;
        if cancelled.is_ok() {
            *cancelled = ticker.report(progress);
        }
        Ok(())
    }

    /// Prepares the state of the iterations on the device.
    fn prepare_iterations(&mut self, iterations: u64) -> Result<()> {
        // The state is "not stopped", and the number of voxels inside, at the parity of the iteration.
        const STATE_BYTES: usize = std::mem::offset_of!(ConvergenceState, inside_sum);
        let mut convergence = [0u64; 3];
        convergence[1 + (iterations & 1) as usize] = self.inside;
        let staged = &mut self.staged_statistics[0];
        staged.as_mut_slice()[..STATE_BYTES].copy_from_slice(bytemuck::cast_slice(&convergence));
        let stream = &self.stream;
        stream.copy_bytes(staged.side(), self.tables.convergence.side(0), STATE_BYTES)?;
        // The statistics of the iteration before the first are empty.
        let at = (iterations % STATISTICS) as usize * STATISTICS_BYTES;
        stream.fill(&self.tables.statistics, at, STATISTICS_BYTES, 0)?;
        if !self.lists_valid {
            self.tables.clear_lists(stream)?;
            self.set = 0;
        }
        if self.launcher.band() && (self.front_may_move || !self.lists_valid) {
            self.launcher.activate_near_front(stream, self.phi_address(self.current), 0, iterations, self.set)?;
        }
        (self.lists_valid, self.front_may_move) = (true, false);
        stream.synchronize()
    }

    /// Queues iterations with their reinitialisations and tests of convergence, and the download of their statistics.
    fn queue_batch(&self, queue: &mut Queue, count: u64, slot: usize) -> Result<Batch> {
        let stream = &self.stream;
        let first = queue.iteration + 1;
        // The statistics of a batch are in up to two parts of the ring: from where, to where in the staging buffer,
        // bytes.
        let begin = (first % STATISTICS) as usize;
        let head = (count as usize).min(STATISTICS as usize - begin);
        let parts = [(begin, 0, head), (0, head, count as usize - head)]
            .map(|(at, to, number)| [at, to, number].map(|n| n * STATISTICS_BYTES));
        for [at, _, bytes] in parts {
            if bytes > 0 {
                stream.fill(&self.tables.statistics, at, bytes, 0)?;
            }
        }
        const { assert!(BARRIERS >= 2 * LARGEST_BATCH as usize, "an iteration is at most two launches") }
        self.tables.clear_barriers(stream)?;
        let mut barrier = 0;
        let mut unchecked = first;
        let end = queue.iteration + count;
        while queue.iteration < end {
            let span = self.next_span(queue, end);
            queue.iteration += u64::from(span.count);
            let iteration = queue.iteration;
            let reinitialises = self.plan.reinitialises_after(iteration);
            self.launcher.iterate(stream, queue.fields, span, !reinitialises, barrier)?;
            barrier += 1;
            queue.advance(span.count, self.sets_per_iteration(false));
            if queue.interval_iterations == self.plan.criterion.check_interval {
                self.launcher.check_convergence(stream, unchecked, iteration, true)?;
                (unchecked, queue.interval_iterations) = (iteration + 1, 0);
            }
            if reinitialises {
                // After a dense iteration the other φ is that of the iteration before, everywhere.
                let copy = if self.launcher.band() { 0 } else { queue.fields.to };
                self.launcher.activate_near_front(stream, queue.fields.from, copy, iteration, queue.set)?;
                self.launcher.reinitialise(stream, queue.fields, iteration, queue.set, barrier)?;
                barrier += 1;
                queue.set = queue.set.wrapping_add(1);
            }
        }
        if unchecked <= queue.iteration {
            self.launcher.check_convergence(stream, unchecked, queue.iteration, false)?;
        }
        for [at, to, bytes] in parts {
            if bytes > 0 {
                let staged = self.staged_statistics[slot].side().after(to);
                stream.copy_bytes(self.tables.statistics.side(at), staged, bytes)?;
            }
        }
        let end = self.cuda.event()?;
        stream.record(&end)?;
        Ok(Batch { first, count, slot, end })
    }

    /// Returns the iterations after those of `queue`, up to `end`, that one launch can do: until a reinitialisation or
    /// the end of a check interval.
    fn next_span(&self, queue: &Queue, end: u64) -> Span {
        let every = u64::from(self.plan.reinitialise_every);
        let mut count = if self.launcher.takes_many_iterations() { end - queue.iteration } else { 1 };
        count = count.min(u64::from(self.plan.criterion.check_interval - queue.interval_iterations));
        if every > 0 {
            count = count.min(every - queue.iteration % every);
        }
        Span { first: queue.iteration + 1, count: count as u32, set: queue.set }
    }

    /// Returns the number of sets of tiles that an iteration makes, with the reinitialisation that follows it or
    /// without.
    fn sets_per_iteration(&self, reinitialised: bool) -> u32 {
        u32::from(self.launcher.band()) + u32::from(reinitialised)
    }

    /// Records the iterations of a finished batch, up to the one at which it stopped. The device
    /// has stopped by the same arithmetic (`check_convergence` in `kernels/level_set_support.cuh`), so that batches
    /// queued ahead do nothing; the host repeats it to learn at which iteration.
    fn collect_batch(&mut self, batch: &Batch, monitor: &mut ConvergenceMonitor) {
        let bytes = &self.staged_statistics[batch.slot].as_slice()[..batch.count as usize * STATISTICS_BYTES];
        let statistics: &[IterationStatistics] = bytemuck::cast_slice(bytes);
        for (done, iteration) in (0..).zip(statistics) {
            let IterationStatistics { changed, near, squares, inside, tiles, .. } = *iteration;
            if iteration.done == 0 {
                // The device found before this iteration that no voxel is inside any more, or none outside.
                monitor.converged = true;
                break;
            }
            self.inside = self.inside.wrapping_add_signed(inside);
            self.active_tiles = u64::from(tiles);
            monitor.record(Counts { inside: self.inside, changed, near, squares });
            debug_assert_eq!(monitor.iterations, batch.first + done);
            monitor.converged = monitor.should_stop();
            self.interval_iterations = (self.interval_iterations + 1) % self.plan.criterion.check_interval;
            self.current = 1 - self.current;
            self.set = self.set.wrapping_add(self.sets_per_iteration(monitor.should_reinitialise()));
            if monitor.converged {
                break;
            }
        }
    }

    /// Counts the voxels in the middle of the object.
    pub(super) fn fit(&self) -> Result<Fit> {
        const BYTES: usize = 2 * size_of::<u64>();
        self.check_phi_known()?;
        self.cuda.bind()?;
        let back = self.found(BYTES, |found| {
            self.launcher.count_fit(&self.cuda, &self.stream, self.fields(), &self.plan, found)
        })?;
        let counts: &[u64] = bytemuck::cast_slice(&back.as_slice()[..BYTES]);
        Ok(Fit { middle: counts[0], at_limits: counts[1] })
    }

    pub(super) fn inside(&self) -> u64 {
        self.inside
    }

    /// Returns the number of tiles that the last iteration updated.
    pub(super) fn active_tiles(&self) -> u64 {
        if self.launcher.band() {
            self.active_tiles
        } else {
            u64::from(self.plan.tiles().iter().product::<usize>() as u32)
        }
    }
}

/// The state after the iterations that are queued, which may be ahead of those that are done.
struct Queue {
    iteration: u64,
    fields: Fields,
    set: u32,
    interval_iterations: u32,
}

impl Queue {
    fn new(solver: &Solver, iterations: u64) -> Self {
        Self {
            iteration: iterations,
            fields: solver.fields(),
            set: solver.set,
            interval_iterations: solver.interval_iterations,
        }
    }

    /// Advances by a number of iterations, each of which makes a number of sets.
    fn advance(&mut self, iterations: u32, sets: u32) {
        if !iterations.is_multiple_of(2) {
            std::mem::swap(&mut self.fields.from, &mut self.fields.to);
        }
        self.set = self.set.wrapping_add(iterations.wrapping_mul(sets));
        self.interval_iterations += iterations;
    }
}
