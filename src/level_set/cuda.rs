//! The level set on CUDA: φ, a second φ and the image stay on the device; iterations are queued in batches, and the device
//! itself counts, keeps the list of active tiles and stops. Kernels are launched in [`launch`].

#[cfg(test)]
mod contract;
mod launch;
mod marching;
mod paper;
mod start;
mod tables;
mod transfer;
mod values;

use super::course::{Counts, Course};
use super::plan::{self, Plan, Survey};
use super::{Params, Variant};
use crate::device::Context;
use crate::device::cuda::{Buffer, Cuda, Event, Pinned, Side, Stream};
use crate::distance::cuda::signed_workspace_bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::image::{Dimensions, Image};
use crate::progress::{Progress, Ticker};
use crate::report::Report;
use launch::{Fields, Launcher, Stretch};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use tables::{FRONT, Layout, MEETINGS, ROW_BYTES, ROWS, Row, Tables, table_bytes};

/// Iterations of the first batch and at most of one; batches grow until one takes this long.
const FIRST_BATCH: u64 = 16;
const LARGEST_BATCH: u64 = 2048;
const BATCH_SECONDS: f64 = 0.010;
/// Batches in flight: one running, one queued behind it.
const BATCHES: usize = 2;

/// The CUDA device, if it is to be used: the context has one, with room for this.
pub(super) fn device<'a>(context: &'a Context, params: &Params, input: &Image<'_>) -> Result<Option<&'a Arc<Cuda>>> {
    let bytes = bytes(params, input);
    let Some(cuda) = context.cuda_for(bytes)? else { return Ok(None) };
    // Of the distance that phi starts as; the device tells from which length of columns on.
    match signed_workspace_bytes(cuda, input.shape(), params.dimensions)? {
        0 => Ok(Some(cuda)),
        scratch => context.cuda_for(bytes + scratch as u64),
    }
}

/// The device memory that a level set needs, but for the distance's scratch.
fn bytes(params: &Params, input: &Image<'_>) -> u64 {
    let shape = input.shape();
    let layout = Layout::new(shape);
    let side: [usize; 3] = if params.dimensions == Dimensions::Volume { plan::VOLUME_TILE } else { plan::SLICE_TILE };
    let tiles: u64 = (0..3).map(|axis| shape[axis].div_ceil(side[axis]) as u64).product();
    let elements = layout.elements() as u64;
    elements * (2 * size_of::<f32>() + input.pixel_type().bytes()) as u64
        + table_bytes(tiles)
        + values::mask_piece_bytes(shape) as u64
}

/// Measures images of which at least one is in device memory.
pub(super) fn survey(context: &Context, cuda: &Arc<Cuda>, input: &Image<'_>, mask: &Image<'_>) -> Result<Survey> {
    cuda.bind()?;
    let stream = cuda.stream()?;
    let input = transfer::fetch(cuda, &stream, "the input", input)?;
    let mask = transfer::fetch(cuda, &stream, "the initial mask", mask)?;
    Ok(context.pool().install(|| plan::survey(&input.view(), &mask.view())))
}

/// φ on the device and what it evolves with. The stream comes first: it is waited for before the memory goes.
pub(super) struct Solver {
    stream: Stream,
    cuda: Arc<Cuda>,
    plan: Plan,
    layout: Layout,
    launcher: Launcher,
    phi: [Buffer; 2],
    image: Buffer,
    /// Of a pixel of the image.
    pixel_bytes: usize,
    tables: Tables,
    /// Rows of statistics on their way to the host, one piece a batch in flight.
    rows: [Pinned; BATCHES],
    /// Which φ is the newest.
    current: usize,
    inside: u64,
    active: u64,
    /// Of the lists: the number of the next set; they are empty before the first.
    step: u32,
    listed: bool,
    /// Iterations of the check interval under way.
    watched: u32,
    /// A launch failed while iterations were queued, so nobody knows which one φ is at.
    lost: bool,
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

impl Solver {
    pub(super) fn new(cuda: &Arc<Cuda>, plan: &Plan, input: &Image<'_>, mask: &Image<'_>) -> Result<Self> {
        if plan.variant == Variant::Scalar {
            return Err(Error::unsupported(
                "the variant scalar is the CPU reference; use the device cpu or another variant",
            ));
        }
        cuda.bind()?;
        cuda.memory().reset_peak();
        if let Image::Device(pixels) = input {
            transfer::check(cuda, "the input", pixels)?;
        }
        let memory = cuda.memory();
        let layout = Layout::new(plan.shape);
        let pixel_type = input.pixel_type();
        let tables = Tables::new(cuda, plan)?;
        let phi_bytes = layout.elements() * size_of::<f32>();
        let rows = || memory.pinned(LARGEST_BATCH as usize * ROW_BYTES);
        let solver = Self {
            stream: cuda.stream()?,
            cuda: cuda.clone(),
            plan: *plan,
            layout,
            launcher: Launcher::new(cuda, plan, &layout, pixel_type, &tables)?,
            phi: [memory.device(phi_bytes)?, memory.device(phi_bytes)?],
            image: memory.device(layout.elements() * pixel_type.bytes())?,
            pixel_bytes: pixel_type.bytes(),
            tables,
            rows: [rows()?, rows()?],
            current: 0,
            inside: plan.inside,
            active: 0,
            step: 0,
            listed: false,
            watched: 0,
            lost: false,
        };
        let stream = &solver.stream;
        // Lists too: kernels load what may be on them before they know how much is.
        let Tables { control, rows, lists: [entries, ..], .. } = &solver.tables;
        for buffer in [&solver.phi[0], &solver.image, control, rows, entries] {
            stream.fill(buffer, 0, buffer.bytes(), 0)?;
        }
        transfer::upload(stream, input, &solver.image, &layout)?;
        solver.start(mask)?;
        Ok(solver)
    }

    /// Where the first row of φ `which` begins.
    fn address(&self, which: usize) -> u64 {
        self.phi[which].address() + (FRONT * size_of::<f32>()) as u64
    }

    fn fields(&self) -> Fields {
        Fields {
            from: self.address(self.current),
            to: self.address(1 - self.current),
            image: self.image.address() + (FRONT * self.pixel_bytes) as u64,
        }
    }

    /// Evolves by up to `iterations`, until the stop rule is met; adds its times and memory to `report`.
    pub(super) fn run(
        &mut self,
        _context: &Context,
        course: &mut Course,
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
        report: &mut Report,
    ) -> Result<()> {
        self.known()?;
        self.cuda.bind()?;
        let started = Instant::now();
        let ticker = Ticker::new("level set");
        ticker.report(progress)?;
        let result = self.evolve(course, iterations, progress, &ticker);
        self.lost = matches!(&result, Err(error) if error.kind() != ErrorKind::Cancelled);
        report.seconds_compute = started.elapsed().as_secs_f64();
        report.peak_device_bytes = self.cuda.memory().peak();
        result
    }

    fn known(&self) -> Result<()> {
        if self.lost {
            return Err(Error::new(
                ErrorKind::DeviceFailed,
                "the device failed in an earlier step of this level set, so its phi is not known; write phi, or begin a \
                 new level set",
            ));
        }
        Ok(())
    }

    fn vanished(&self) -> bool {
        self.inside == 0 || self.inside == self.plan.voxels() as u64
    }

    fn evolve(
        &mut self,
        course: &mut Course,
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
    ) -> Result<()> {
        if self.vanished() {
            course.converged = true;
        }
        if course.converged || iterations == 0 {
            return Ok(());
        }
        ticker.expect(iterations);
        self.begin(course.iterations)?;
        let mut queue = Queue::new(self, course.iterations);
        let mut flight: VecDeque<Batch> = VecDeque::new();
        let (mut queued, mut size) = (0, FIRST_BATCH);
        let mut cancelled = Ok(());
        let mut last_end = Instant::now();
        let mut alone = true;
        loop {
            while flight.len() < BATCHES && queued < iterations && cancelled.is_ok() && !course.converged {
                let count = size.min(iterations - queued);
                let slot = (0..BATCHES).find(|slot| flight.iter().all(|batch| batch.slot != *slot)).unwrap_or(0);
                flight.push_back(self.queue(&mut queue, count, slot)?);
                queued += count;
            }
            let Some(batch) = flight.pop_front() else { break };
            self.wait(&batch, progress, ticker, &mut cancelled)?;
            if !course.converged {
                let done = self.take_down(&batch, course);
                ticker.add(done);
            }
            // The first batch of two is measured from its beginning, the next from the end of the one ahead.
            let seconds = last_end.elapsed().as_secs_f64();
            last_end = Instant::now();
            if !alone || flight.is_empty() {
                if seconds < BATCH_SECONDS / 2.0 {
                    size = (size * 2).min(LARGEST_BATCH);
                } else if seconds > BATCH_SECONDS * 2.0 {
                    size = (size / 2).max(1);
                }
            }
            alone = false;
        }
        if self.vanished() {
            course.converged = true;
        }
        if course.converged { Ok(()) } else { cancelled }
    }

    /// Waits for a batch, and hears the callback meanwhile.
    fn wait(
        &self,
        batch: &Batch,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
        cancelled: &mut Result<()>,
    ) -> Result<()> {
        if progress.is_some() {
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

    /// Tells the device where iterations begin.
    fn begin(&mut self, iterations: u64) -> Result<()> {
        // Not stopped; the voxels inside, at its parity.
        const TOLD: usize = 24;
        let mut control = [0u64; 3];
        control[1 + (iterations & 1) as usize] = self.inside;
        let staged = &mut self.rows[0];
        staged.as_mut_slice()[..TOLD].copy_from_slice(bytemuck::cast_slice(&control));
        let stream = &self.stream;
        stream.copy(staged.side(), self.tables.control.side(0), TOLD, 1, [TOLD, TOLD])?;
        // The iteration before the first adds nothing more.
        let row = ROW_BYTES;
        stream.fill(&self.tables.rows, (iterations % ROWS) as usize * row, row, 0)?;
        if !self.listed {
            self.tables.clear_lists(stream)?;
            self.step = 0;
            if self.launcher.band() {
                self.launcher.mark(stream, self.address(self.current), 0, iterations, 0)?;
            }
            self.listed = true;
        }
        stream.synchronize()
    }

    /// Queues iterations with their reinitialisations and looks, and the way back of their statistics.
    fn queue(&self, queue: &mut Queue, count: u64, slot: usize) -> Result<Batch> {
        let stream = &self.stream;
        let row = ROW_BYTES;
        let first = queue.iteration + 1;
        // The rows of a batch, in up to two pieces of the ring.
        let begin = (first % ROWS) as usize;
        let head = (count as usize).min(ROWS as usize - begin);
        let pieces = [(begin, 0, head), (0, head, count as usize - head)];
        for (at, _, rows) in pieces {
            if rows > 0 {
                stream.fill(&self.tables.rows, at * row, rows * row, 0)?;
            }
        }
        const { assert!(MEETINGS >= 2 * LARGEST_BATCH as usize, "an iteration is at most two launches") }
        self.tables.clear_meetings(stream)?;
        let mut meeting = 0;
        let mut unjudged = first;
        let end = queue.iteration + count;
        while queue.iteration < end {
            let stretch = self.stretch(queue, end);
            queue.iteration += u64::from(stretch.count);
            let iteration = queue.iteration;
            let every = u64::from(self.plan.reinitialise_every);
            let reinitialises = every > 0 && iteration.is_multiple_of(every);
            self.launcher.iterate(stream, queue.fields, stretch, !reinitialises, meeting)?;
            meeting += 1;
            queue.advance(stretch.count, self.steps(false));
            if queue.watched == self.plan.check_interval {
                self.launcher.judge(stream, unjudged, iteration, true)?;
                (unjudged, queue.watched) = (iteration + 1, 0);
            }
            if reinitialises {
                // Dense iterations leave the other φ one behind everywhere.
                let copy = if self.launcher.band() { 0 } else { queue.fields.to };
                self.launcher.mark(stream, queue.fields.from, copy, iteration, queue.step)?;
                self.launcher.reinitialise(stream, queue.fields, iteration, queue.step, meeting)?;
                meeting += 1;
                queue.step = queue.step.wrapping_add(1);
            }
        }
        if unjudged <= queue.iteration {
            self.launcher.judge(stream, unjudged, queue.iteration, false)?;
        }
        for (at, to, rows) in pieces {
            if rows > 0 {
                let Side::Host { address, bytes } = self.rows[slot].side() else { unreachable!("pinned memory") };
                let back = Side::Host { address: address + to * row, bytes: bytes - to * row };
                stream.copy(self.tables.rows.side(at * row), back, rows * row, 1, [rows * row; 2])?;
            }
        }
        let end = self.cuda.event()?;
        stream.record(&end)?;
        Ok(Batch { first, count, slot, end })
    }

    /// The iterations after `queue`'s, up to `end`, that one launch can do: until a reinitialisation or the end of a check interval.
    fn stretch(&self, queue: &Queue, end: u64) -> Stretch {
        let every = u64::from(self.plan.reinitialise_every);
        let mut count = if self.launcher.stretches() { end - queue.iteration } else { 1 };
        count = count.min(u64::from(self.plan.check_interval - queue.watched));
        if every > 0 {
            count = count.min(every - queue.iteration % every);
        }
        Stretch { first: queue.iteration + 1, count: count as u32, step: queue.step }
    }

    /// Sets of tiles that an iteration makes, with the reinitialisation that follows it or without.
    fn steps(&self, reinitialised: bool) -> u32 {
        u32::from(self.launcher.band()) + u32::from(reinitialised)
    }

    /// Takes down what a finished batch did, up to where it stopped; how many iterations that is.
    fn take_down(&mut self, batch: &Batch, course: &mut Course) -> u64 {
        let bytes = &self.rows[batch.slot].as_slice()[..batch.count as usize * ROW_BYTES];
        let words: &[u64] = bytemuck::cast_slice(bytes);
        let mut done = 0;
        for row in words.chunks_exact(ROW_BYTES / size_of::<u64>()).map(Row::of) {
            if !row.done {
                // Nothing is inside any more, or nothing outside: the device saw it before this iteration.
                course.converged = true;
                break;
            }
            self.inside = self.inside.wrapping_add_signed(row.inside);
            self.active = u64::from(row.tiles);
            course.record(Counts { inside: self.inside, changed: row.changed, near: row.near, squares: row.squares });
            debug_assert_eq!(course.iterations, batch.first + done);
            course.converged = course.stop_now();
            self.watched = (self.watched + 1) % self.plan.check_interval;
            self.current = 1 - self.current;
            self.step = self.step.wrapping_add(self.steps(course.reinitialise_now()));
            done += 1;
            if course.converged {
                break;
            }
        }
        done
    }

    pub(super) fn inside(&self) -> u64 {
        self.inside
    }

    /// Tiles that the last iteration updated.
    pub(super) fn active_tiles(&self) -> u64 {
        if self.launcher.band() { self.active } else { u64::from(self.plan.tiles().iter().product::<usize>() as u32) }
    }
}

/// Where queueing stands, which may be ahead of what is done.
struct Queue {
    iteration: u64,
    fields: Fields,
    step: u32,
    watched: u32,
}

impl Queue {
    fn new(solver: &Solver, iterations: u64) -> Self {
        Self { iteration: iterations, fields: solver.fields(), step: solver.step, watched: solver.watched }
    }

    /// By so many iterations, each of so many sets.
    fn advance(&mut self, iterations: u32, steps: u32) {
        if !iterations.is_multiple_of(2) {
            std::mem::swap(&mut self.fields.from, &mut self.fields.to);
        }
        self.step = self.step.wrapping_add(iterations.wrapping_mul(steps));
        self.watched += iterations;
    }
}
