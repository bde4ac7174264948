//! The level set on CUDA: both buffers of φ and the image stay on the device. Iterations are queued in batches; the device
//! itself counts the changes, keeps the list of active tiles and tests the stopping criterion. [`launch`] launches the
//! kernels.

mod dense_grid;
mod launch;
mod load;
mod paper;
mod queue;
mod slabs;
mod sparse;
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
use crate::device::cuda::{Buffer, Cuda, Pinned, Stream, check_device_pixels};
use crate::device::kernels::level_set::{self as kernels, ConvergenceState, IterationStatistics, RegionLevels};
use crate::distance::cuda::signed_workspace_bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::image::{Dimensions, Image, PixelType};
use crate::progress::{Progress, Ticker, may_cancel};
use dense_grid::DenseGrid;
use launch::{Fields, Launcher, PhiArgument};
use load::{Loaded, PixelKind};
use queue::{Batch, LARGEST_BATCH, Queue, first_batch_size, next_batch_size};
use rayon::ThreadPool;
pub(super) use slabs::{Slabs, with_halo};
use sparse::SparsePhi;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use tables::{CONVERGENCE_BYTES, Layout, PADDING_BEFORE, STATISTICS, STATISTICS_BYTES, Tables, table_bytes};

/// The number of batches in flight: one runs while the next is queued.
const BATCHES: usize = 2;

/// Returns the device memory that a level set needs, in bytes, and whether φ must be sparse because two dense buffers of it
/// do not fit.
pub(super) fn needs(
    context: &Context,
    params: &Params,
    shape: [usize; 3],
    pixel_type: PixelType,
) -> Result<(u64, bool)> {
    let cuda = context.cuda_for(0)?;
    // The signed distance at the start needs a workspace for columns that are longer than a limit of the device.
    let workspace = cuda.map_or(Ok(0), |cuda| signed_workspace_bytes(cuda, shape, params.dimensions))?;
    let layout = Layout::new(shape);
    let tiles: u64 = plan::tiles(shape, params.dimensions).into_iter().map(|n| n as u64).product();
    let elements = layout.elements() as u64;
    let edge_bytes = if params.has_edge_pixels() { PixelKind::WithEdges.bytes() } else { 0 };
    let others = elements * pixel_type.bytes() as u64 + table_bytes(tiles);
    let in_rows = others
        + elements * (2 * size_of::<f32>() + edge_bytes) as u64
        + (values::mask_part_bytes(shape) + workspace) as u64;
    let Some(cuda) = cuda else { return Ok((in_rows, false)) };
    let available = cuda.available()?;
    if in_rows <= available {
        return Ok((in_rows, false));
    }
    let sparse = sparse::min_bytes(cuda, params, shape, available)?;
    Ok(sparse.map_or((in_rows, false), |bytes| (others + bytes, true)))
}

/// The two buffers of φ on the device.
enum Phi {
    /// Dense: all voxels, in the rows of the layout.
    Rows([Buffer; 2]),
    Sparse(SparsePhi),
}

/// Returns the planes of each slab, one for each device that takes part; a single slab if the level set is not divided.
pub(super) fn slabs(context: &Context, params: &Params, input: &Image<'_>, mask: &Image<'_>) -> Vec<Range<usize>> {
    let [width, height, depth] = input.shape();
    let on_host = !matches!(input, Image::Device(_)) && !matches!(mask, Image::Device(_));
    let on_cuda = context.parts().iter().all(|part| part.cuda().is_some());
    let is_dense = params.variant == Variant::Dense && params.dimensions == Dimensions::Volume;
    let is_divided =
        is_dense && on_host && on_cuda && !params.has_edge_pixels() && DenseGrid::fits([width, height, depth]);
    slabs::ranges(if is_divided { context.parts().len() } else { 1 }, depth)
}

/// The state of a level set on the device. The stream is the first field: it is waited for before the memory is freed.
pub(super) struct Solver {
    stream: Stream,
    cuda: Arc<Cuda>,
    plan: Plan,
    layout: Layout,
    /// The slices that this solver computes: all of them, or those of its slab without the halo.
    own: Range<usize>,
    launcher: Launcher,
    phi: Phi,
    image: Buffer,
    pixels: PixelKind,
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
    /// True if no memory was left for a tile of a sparse φ.
    lacks_places: bool,
    /// True if image and mask were in host memory, so that the CPU may continue in place of the GPU.
    from_host: bool,
    /// The number of tiles in which φ is stored.
    stored_tiles: u64,
    /// The number of the next set of active tiles. Sets are counted from 0, when the lists are empty.
    set: u32,
    /// True if the lists hold the active tiles of the present φ; false after φ was replaced.
    lists_valid: bool,
    /// True if the plan has changed since the lists were made, so that a front at rest may move again.
    front_may_move: bool,
    /// The number of iterations of the current check interval.
    interval_iterations: u32,
    /// True if a call failed while iterations were queued, so that the contents of φ are not known.
    phi_unknown: bool,
}

impl std::fmt::Debug for Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solver").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// Copies the image and the initial mask to the device.
pub(super) fn load(
    context: &Context,
    cuda: &Arc<Cuda>,
    params: &Params,
    is_sparse: bool,
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
    if let Image::Device(pixels) = mask {
        check_device_pixels(cuda, "the initial mask", pixels)?;
    }
    let mask = if is_sparse { None } else { Some(mask) };
    Loaded::new(context, cuda, params.dimensions, !is_sparse, input, mask)
}

impl Solver {
    /// Starts from the boundary of the mask.
    pub(super) fn new(
        plan: &Plan,
        loaded: Loaded,
        pool: &ThreadPool,
        mask: &Image<'_>,
        ticker: &Ticker,
    ) -> Result<Self> {
        let from_host = loaded.image_from_host && !matches!(mask, Image::Device(_));
        let mut solver = Self { from_host, ..Self::without_phi(plan, loaded, 0..plan.shape[2])? };
        match &solver.phi {
            Phi::Rows(phi) => solver.inside = solver.start(phi)?,
            Phi::Sparse(phi) => {
                solver.inside = solver.start_sparse(phi, pool, mask, ticker)?;
                solver.stored_tiles = phi.stored_tiles_of_all(&solver.cuda, &solver.stream)?;
            }
        }
        Ok(solver)
    }

    /// Makes a solver whose φ is not set yet. `own` is the slices that it computes; the others are a halo.
    fn without_phi(plan: &Plan, loaded: Loaded, own: Range<usize>) -> Result<Self> {
        let (plan, cuda) = (*plan, &loaded.cuda);
        cuda.bind()?;
        let tables = Tables::new(cuda, &plan)?;
        let is_sparse = loaded.phi.is_none();
        let launcher = Launcher::new(cuda, &plan, &loaded.layout, loaded.pixels, is_sparse, &own, &tables)?;
        let staging = || cuda.memory().pinned(LARGEST_BATCH as usize * STATISTICS_BYTES);
        let staged_statistics = [staging()?, staging()?];
        let Loaded { stream, cuda, layout, phi, image, pixels, edge_contrast, .. } = loaded;
        let phi = match phi {
            Some(phi) => Phi::Rows(phi),
            None => Phi::Sparse(SparsePhi::new(&cuda, &plan)?),
        };
        let solver = Self {
            stream,
            cuda,
            inside: 0,
            plan,
            layout,
            own,
            launcher,
            phi,
            image,
            pixels,
            edge_contrast,
            tables,
            staged_statistics,
            current: 0,
            active_tiles: 0,
            from_host: false,
            lacks_places: false,
            stored_tiles: plan.tile_count(),
            set: 0,
            lists_valid: false,
            front_may_move: false,
            interval_iterations: 0,
            phi_unknown: false,
        };
        // The lists are cleared, too, because kernels load entries before they know how many are valid.
        let Tables { convergence, statistics, lists: [entries, ..], .. } = &solver.tables;
        for buffer in [convergence, statistics, entries] {
            solver.stream.fill(buffer, 0, buffer.bytes(), 0)?;
        }
        Ok(solver)
    }

    /// Returns φ buffer number `which` from slice `z` on, as an argument of kernels.
    fn phi_from(&self, which: usize, z: usize) -> PhiArgument {
        match &self.phi {
            Phi::Rows(phi) => PhiArgument::Rows(self.layout.address(&phi[which], z)),
            Phi::Sparse(phi) => phi.argument(which, z),
        }
    }

    /// Returns the addresses of the newest φ, of the other buffer of φ, and of the image.
    fn fields(&self) -> Fields {
        Fields {
            from: self.phi_from(self.current, 0),
            to: self.phi_from(1 - self.current, 0),
            image: self.image.address() + (PADDING_BEFORE * self.pixels.bytes()) as u64,
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
        let evolved = self.evolve(monitor, iterations, progress, ticker);
        self.phi_unknown = evolved.is_err();
        let all_placed = if self.phi_unknown { Ok(()) } else { self.check_places(monitor) };
        evolved.flatten().and(all_placed).map(|()| self.cuda.memory().peak())
    }

    /// Replaces the plan. The new one may differ only in the intensity range and the numbers that are computed from it. All
    /// of the front may move again.
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

    /// Launches a kernel that counts in a buffer of `bytes` zeroed bytes, and returns a copy of the buffer.
    fn found(&self, bytes: usize, launch: impl FnOnce(&Buffer) -> Result<()>) -> Result<Pinned> {
        let (stream, memory) = (&self.stream, self.cuda.memory());
        let found = memory.device(bytes)?;
        let back = memory.pinned(bytes)?;
        stream.fill(&found, 0, bytes, 0)?;
        let queued = launch(&found).and_then(|()| stream.copy_bytes(found.side(0), back.side(), bytes));
        // Wait even after an error: kernels that were queued before it still use the buffers.
        let done = stream.synchronize();
        queued.and(done).map(|()| back)
    }

    /// Returns the contrast of the edge term, if there is one.
    pub(super) fn edge_contrast(&self) -> Option<f64> {
        self.edge_contrast
    }

    fn check_phi_known(&self) -> Result<()> {
        if self.phi_unknown {
            return Err(Error::new(
                ErrorKind::DeviceFailed,
                "an earlier call for this level set failed, so that its phi is not known; write phi, or begin a new level set",
            ));
        }
        Ok(())
    }

    /// Does the work of [`run`](Self::run). The outer error is a failure of the device, after which φ is not known. The
    /// inner one is a cancellation, or a lack of host memory for more statistics: all queued iterations are done, and φ is
    /// known.
    fn evolve(
        &mut self,
        monitor: &mut ConvergenceMonitor,
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
    ) -> Result<Result<()>> {
        monitor.converged |= self.plan.front_vanished(self.inside);
        if monitor.converged || iterations == 0 {
            return Ok(Ok(()));
        }
        self.prepare_iterations(monitor.iterations)?;
        let mut queue = Queue::new(self, monitor.iterations);
        let mut flight: VecDeque<Batch> = VecDeque::new();
        let (mut queued, mut size) = (0, first_batch_size(self.plan.voxels()));
        let mut ended = Ok(());
        let mut last_end = Instant::now();
        let mut first_batch = true;
        loop {
            while flight.len() < BATCHES && queued < iterations && ended.is_ok() && !monitor.converged {
                let count = size.min(iterations - queued);
                let in_flight: u64 = flight.iter().map(|batch| batch.count).sum();
                ended = monitor.make_room((in_flight + count) as usize);
                if ended.is_err() {
                    break;
                }
                let slot = (0..BATCHES).find(|slot| flight.iter().all(|batch| batch.slot != *slot)).unwrap_or(0);
                flight.push_back(self.queue_batch(&mut queue, count, slot)?);
                queued += count;
            }
            let Some(batch) = flight.pop_front() else { break };
            self.wait_for_batch(&batch, progress, ticker, &mut ended)?;
            if !monitor.converged {
                self.collect_batch(&batch, monitor);
                ticker.set(monitor.fraction());
            }
            // A batch is timed from the end of the one before it. The time of the first one also includes the queueing of
            // the second, so it does not set the next size unless it is the only one.
            let seconds = last_end.elapsed().as_secs_f64();
            last_end = Instant::now();
            if !first_batch || flight.is_empty() {
                size = next_batch_size(size, seconds);
            }
            first_batch = false;
        }
        monitor.converged |= self.plan.front_vanished(self.inside);
        Ok(ended)
    }

    /// Waits for a batch, and calls the progress callback while waiting, unless the run has `ended`.
    fn wait_for_batch(
        &self,
        batch: &Batch,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
        ended: &mut Result<()>,
    ) -> Result<()> {
        if may_cancel(progress) {
            while !batch.end.is_done()? {
                if ended.is_ok() {
                    *ended = ticker.report(progress);
                }
                std::thread::yield_now();
            }
        }
        batch.end.synchronize()?;
        if ended.is_ok() {
            *ended = ticker.report(progress);
        }
        Ok(())
    }

    /// Prepares the state of the iterations on the device.
    fn prepare_iterations(&mut self, iterations: u64) -> Result<()> {
        // The state says that the run has not stopped, and holds the number of voxels inside in the element for the
        // iteration's parity.
        const STATE_BYTES: usize = std::mem::offset_of!(ConvergenceState, inside_sum);
        let mut convergence = [0u64; 3];
        convergence[1 + (iterations & 1) as usize] = self.inside;
        let staged = &mut self.staged_statistics[0];
        staged.as_mut_slice()[..STATE_BYTES].copy_from_slice(bytemuck::cast_slice(&convergence));
        let stream = &self.stream;
        stream.copy_bytes(staged.side(), self.tables.convergence.side(0), STATE_BYTES)?;
        // The first iteration reads the statistics of the one before it; they are empty.
        let at = (iterations % STATISTICS) as usize * STATISTICS_BYTES;
        stream.fill(&self.tables.statistics, at, STATISTICS_BYTES, 0)?;
        if !self.lists_valid {
            self.tables.clear_lists(stream)?;
            self.set = 0;
        }
        if self.launcher.band() && (self.front_may_move || !self.lists_valid) {
            let phi = self.phi_from(self.current, 0);
            if std::mem::take(&mut self.lacks_places) {
                // Free the places of all tiles that are far from the front now, in whichever set they were active.
                self.launcher.release(&self.cuda, stream, phi, iterations, self.set, u32::MAX)?;
            }
            self.launcher.activate_near_front(stream, phi, None, iterations, self.set)?;
        }
        (self.lists_valid, self.front_may_move) = (true, false);
        stream.synchronize()
    }

    /// Returns an error if the iterations have ended because no memory was left for a tile of a sparse φ. φ is then the
    /// result of the last complete iteration. The next run finds its active tiles anew.
    fn check_places(&mut self, monitor: &mut ConvergenceMonitor) -> Result<()> {
        let Phi::Sparse(phi) = &self.phi else { return Ok(()) };
        // If the next call fails, φ is not known.
        self.phi_unknown = true;
        let (stored, lacks_places) = phi.stored_tiles(&self.cuda, &self.stream)?;
        if lacks_places {
            // A new check interval begins, on the device, too.
            (self.lists_valid, self.lacks_places, self.interval_iterations) = (false, true, 0);
            monitor.converged = false;
            monitor.begin_interval();
            self.stream.fill(&self.tables.convergence, 0, CONVERGENCE_BYTES, 0)?;
            self.stream.synchronize()?;
        }
        (self.stored_tiles, self.phi_unknown) = (stored, false);
        if lacks_places { Err(phi.no_place()) } else { Ok(()) }
    }

    /// Records the iterations of a finished batch, up to the one that met the stopping criterion. The device has tested the
    /// criterion with the same arithmetic (`check_convergence` in `kernels/level_set_support.cuh`), so iterations that were
    /// queued after that have done nothing. The host repeats the test to learn which iteration was the last.
    fn collect_batch(&mut self, batch: &Batch, monitor: &mut ConvergenceMonitor) {
        let bytes = &self.staged_statistics[batch.slot].as_slice()[..batch.count as usize * STATISTICS_BYTES];
        let statistics: &[IterationStatistics] = bytemuck::cast_slice(bytes);
        for (done, iteration) in (0..).zip(statistics) {
            let IterationStatistics { changed, near, squares, inside, tiles, .. } = *iteration;
            if iteration.done == 0 {
                // The device skipped this iteration: no voxel, or every voxel, is inside, or no memory is left for a tile
                // of a sparse φ.
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

    /// Tells whether memory lacked for a tile of a sparse φ, φ is known, and the images were in host memory, so that the CPU
    /// can go on.
    pub(super) fn may_move(&self) -> bool {
        self.lacks_places && !self.phi_unknown && self.from_host
    }

    /// Forbids the fallback to the CPU, which could not write to an output in device memory.
    pub(super) fn stay(&mut self) {
        self.from_host = false;
    }

    /// Returns the number of tiles in which φ is stored.
    pub(super) fn stored_tiles(&self) -> u64 {
        self.stored_tiles
    }

    /// Returns the number of tiles that the last iteration updated.
    pub(super) fn active_tiles(&self) -> u64 {
        if self.launcher.band() { self.active_tiles } else { self.plan.tile_count() }
    }
}
