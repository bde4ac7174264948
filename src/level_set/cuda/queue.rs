//! Batches of iterations. They are queued before the results of the previous ones are known.

use super::launch::{Fields, Span};
use super::sparse::RELEASED_EVERY;
use super::tables::{BARRIERS, STATISTICS, STATISTICS_BYTES};
use super::{Phi, Solver};
use crate::device::cuda::Event;
use crate::error::Result;

/// The iterations of the largest batch.
pub(super) const LARGEST_BATCH: u64 = 2048;
/// The time that a batch is meant to take, to within a factor of 2.
const BATCH_SECONDS: f64 = 0.010;
/// The most voxel updates of the first batch, which always has at least one iteration: some 10 ms on a large GPU.
const VOXELS_OF_FIRST_BATCH: u64 = 1 << 31;

/// Returns the number of iterations of the first batch: 16, or fewer for an image so large that a request to cancel would
/// wait too long for them.
pub(super) fn first_batch_size(voxels: usize) -> u64 {
    (VOXELS_OF_FIRST_BATCH / voxels.max(1) as u64).clamp(1, 16)
}

/// Returns the number of iterations of the next batch, given the number of the last one and the seconds that it took.
pub(super) fn next_batch_size(size: u64, seconds: f64) -> u64 {
    if seconds < BATCH_SECONDS / 2.0 {
        (size * 2).min(LARGEST_BATCH)
    } else if seconds > BATCH_SECONDS * 2.0 {
        (size / 2).max(1)
    } else {
        size
    }
}

/// A batch in flight.
pub(super) struct Batch {
    pub first: u64,
    pub count: u64,
    pub slot: usize,
    pub end: Event,
}

/// The state after all queued iterations, some of which may not be done yet.
pub(super) struct Queue {
    pub iteration: u64,
    pub fields: Fields,
    pub set: u32,
    interval_iterations: u32,
}

impl Queue {
    pub(super) fn new(solver: &Solver, iterations: u64) -> Self {
        Self {
            iteration: iterations,
            fields: solver.fields(),
            set: solver.set,
            interval_iterations: solver.interval_iterations,
        }
    }

    /// Advances by `iterations`, each of which makes `sets` sets of tiles.
    pub(super) fn advance(&mut self, iterations: u32, sets: u32) {
        if !iterations.is_multiple_of(2) {
            std::mem::swap(&mut self.fields.from, &mut self.fields.to);
        }
        self.set = self.set.wrapping_add(iterations.wrapping_mul(sets));
        self.interval_iterations += iterations;
    }
}

impl Solver {
    /// Queues iterations with their reinitialisations and tests of convergence, and the download of their statistics.
    pub(super) fn queue_batch(&self, queue: &mut Queue, count: u64, slot: usize) -> Result<Batch> {
        let stream = &self.stream;
        let first = queue.iteration + 1;
        self.begin_batch(first, count)?;
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
                self.queue_reinitialisation(queue, barrier)?;
                barrier += 1;
            }
            if matches!(self.phi, Phi::Sparse(_)) && iteration.is_multiple_of(RELEASED_EVERY) {
                // An iteration makes at most two sets, one of them for a reinitialisation. Two more may have been made
                // before the first iteration since the last release.
                let sets = 2 * RELEASED_EVERY as u32 + 2;
                self.launcher.release(&self.cuda, stream, queue.fields.from, iteration, queue.set, sets)?;
            }
        }
        if unchecked <= queue.iteration {
            self.launcher.check_convergence(stream, unchecked, queue.iteration, false)?;
        }
        self.end_batch(first, count, slot)
    }

    /// Returns the two parts of the ring that hold the statistics of a batch; the second is empty unless the batch wraps
    /// around the end. Each part is its offset in the ring, its offset in the staging buffer, and its size, in bytes.
    fn statistics_parts(first: u64, count: u64) -> [[usize; 3]; 2] {
        let begin = (first % STATISTICS) as usize;
        let head = (count as usize).min(STATISTICS as usize - begin);
        [(begin, 0, head), (0, head, count as usize - head)]
            .map(|(at, to, number)| [at, to, number].map(|n| n * STATISTICS_BYTES))
    }

    /// Queues the preparation of a batch: cleared statistics and cleared barriers.
    pub(super) fn begin_batch(&self, first: u64, count: u64) -> Result<()> {
        for [at, _, bytes] in Self::statistics_parts(first, count) {
            if bytes > 0 {
                self.stream.fill(&self.tables.statistics, at, bytes, 0)?;
            }
        }
        const { assert!(BARRIERS >= 2 * LARGEST_BATCH as usize, "an iteration is at most two launches") }
        self.tables.clear_barriers(&self.stream)
    }

    /// Queues the reinitialisation that follows the last iteration of `queue`.
    pub(super) fn queue_reinitialisation(&self, queue: &mut Queue, barrier: usize) -> Result<()> {
        // A dense iteration leaves the previous φ in the other buffer, in all tiles. A reinitialisation updates some tiles
        // only, so the other buffer must become a copy.
        let copy = if self.launcher.band() { None } else { Some(queue.fields.to) };
        let (fields, iteration, set) = (queue.fields, queue.iteration, queue.set);
        self.launcher.activate_near_front(&self.stream, fields.from, copy, iteration, set)?;
        self.launcher.reinitialise(&self.stream, fields, iteration, set, barrier)?;
        queue.set = set.wrapping_add(1);
        Ok(())
    }

    /// Queues the download of the statistics of a batch.
    pub(super) fn end_batch(&self, first: u64, count: u64, slot: usize) -> Result<Batch> {
        for [at, to, bytes] in Self::statistics_parts(first, count) {
            if bytes > 0 {
                let staged = self.staged_statistics[slot].side().after(to);
                self.stream.copy_bytes(self.tables.statistics.side(at), staged, bytes)?;
            }
        }
        let end = self.cuda.event()?;
        self.stream.record(&end)?;
        Ok(Batch { first, count, slot, end })
    }

    /// Returns the span of iterations that the next launch can do: from the last queued one up to `end`, but not beyond a
    /// reinitialisation, the end of a check interval or, of a sparse φ, a release of tiles.
    fn next_span(&self, queue: &Queue, end: u64) -> Span {
        let every = u64::from(self.plan.reinitialise_every);
        let mut count = if self.launcher.takes_many_iterations() { end - queue.iteration } else { 1 };
        count = count.min(u64::from(self.plan.criterion.check_interval - queue.interval_iterations));
        if every > 0 {
            count = count.min(every - queue.iteration % every);
        }
        if matches!(self.phi, Phi::Sparse(_)) {
            count = count.min(RELEASED_EVERY - queue.iteration % RELEASED_EVERY);
        }
        Span { first: queue.iteration + 1, count: count as u32, set: queue.set }
    }

    /// Returns the number of sets of tiles that an iteration makes, with the reinitialisation that follows it or
    /// without.
    pub(super) fn sets_per_iteration(&self, reinitialised: bool) -> u32 {
        u32::from(self.launcher.band()) + u32::from(reinitialised)
    }
}
