//! A dense level set of a volume on several GPUs. Each GPU has a slab of the volume's planes, with a halo of planes of the
//! neighbouring slabs. An iteration computes the slab's own planes; then each GPU copies the plane next to its slab from
//! each neighbour. Before a reinitialisation, which reads farther, it copies more planes. Every voxel is computed by the
//! same kernels from the same values as on a single GPU, so the result has the same bits.

use super::super::convergence::ConvergenceMonitor;
use super::super::plan::Plan;
use super::super::regions::RegionSums;
use super::super::types::{Counts, Fit};
use super::launch::Span;
use super::load::Loaded;
use super::queue::{Batch, Queue, first_batch_size, next_batch_size};
use super::tables::STATISTICS_BYTES;
use super::values::not_finite;
use super::{Phi, Solver, transfer};
use crate::device::cuda::{Event, Side, check_device_pixels};
use crate::device::kernels::level_set::{IterationStatistics, RegionLevels, TILE};
use crate::device::{Context, Slices, in_host_memory, upload_slice};
use crate::distance;
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut, zeroed_image};
use crate::level_set::STAGE;
use crate::progress::{Progress, Ticker, part as part_of_call, uncancelled};
use bytemuck::Pod;
use ndarray::{ArrayViewMut3, Axis, s};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::ops::Range;
use std::time::Instant;

/// The planes of the halo on each side of a slab, in whole tiles. A reinitialisation reads up to eight planes away, in four
/// steps of two voxels. Its tiles must be the same ones that a single GPU would choose, which depends on two planes more.
const HALO: usize = 2 * TILE;

/// A level set in slabs.
pub(in crate::level_set) struct Slabs {
    /// The context on the first device.
    first: Context,
    slabs: Vec<Slab>,
    plan: Plan,
    inside: u64,
    /// The number of iterations of the current check interval.
    interval_iterations: u32,
}

/// A slab, on one GPU.
struct Slab {
    solver: Solver,
    /// The planes of the volume that are its own.
    own: Range<usize>,
    /// Recorded when the slab's newest planes are computed, and when it has copied its neighbours' planes.
    computed: Event,
    copied: Event,
}

impl std::fmt::Debug for Slabs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slabs").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// Divides the `depth` planes of a volume into slabs for at most `devices` devices. A slab begins at the border of a tile,
/// and has at least as many planes as a neighbour copies from it.
pub(super) fn ranges(devices: usize, depth: usize) -> Vec<Range<usize>> {
    let count = devices.min(depth / HALO).max(1);
    let first = |index: usize| if index == count { depth } else { depth * index / count / TILE * TILE };
    (0..count).map(|index| first(index)..first(index + 1)).collect()
}

/// Returns the planes of a slab with its halo, which are those in the memory of its GPU.
pub(in crate::level_set) fn with_halo(own: &Range<usize>, depth: usize) -> Range<usize> {
    own.start.saturating_sub(HALO)..depth.min(own.end + HALO)
}

/// The number of voxels inside that is passed to the kernels of a slab. Kernels stop if no voxel, or every voxel, is
/// inside. That may be true of a slab and not of the volume, so the number is one that never occurs.
const NEVER_DONE: u64 = 1 << 40;

impl Slabs {
    /// Starts from the boundary of the mask, in slabs on the devices of a context with several. Image and mask are in host
    /// memory.
    pub(in crate::level_set) fn new(
        context: &Context,
        ranges: Vec<Range<usize>>,
        plan: &Plan,
        input: &Image<'_>,
        mask: &Image<'_>,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Self> {
        let [width, height, depth] = plan.shape;
        // 1. The initial φ, of which every slab needs a part, in host memory.
        let mut phi = zeroed_image::<f32>((depth, height, width))?;
        let params = distance::Params { spacing: plan.spacing, ..distance::Params::default() };
        let first = &context.parts()[0];
        part_of_call(progress, [0.0; 2], STAGE, |progress| {
            distance::run(first, mask.reborrow().into(), &params, progress.as_deref_mut(), phi.view_mut().into())
        })?;
        // 2. The slabs.
        let mut slabs = Vec::new();
        let mut inside = 0;
        for (own, device) in ranges.into_iter().zip(context.parts()) {
            let planes = with_halo(&own, depth);
            let plan = Plan { shape: [width, height, planes.len()], ..*plan };
            let Some(cuda) = device.cuda() else { unreachable!("a list is of CUDA devices") };
            cuda.bind()?;
            cuda.memory().trim();
            cuda.memory().reset_peak();
            let input = input.slices(&planes);
            let loaded = Loaded::new(device, cuda, plan.dimensions, true, &input, None)?;
            let own_planes = own.start - planes.start..own.end - planes.start;
            let mut solver = Solver::without_phi(&plan, loaded, own_planes)?;
            let Phi::Rows([to, other]) = &solver.phi else { unreachable!("a dense phi is in rows") };
            let values = Image::F32(phi.slice(s![planes, .., ..]));
            // Rows are copied with the padding between them, which nothing else writes.
            solver.stream.fill(to, 0, to.bytes(), 0)?;
            transfer::upload(cuda, device.pool(), &solver.stream, &values, to, &solver.layout)?;
            inside += solver.sanitize_phi([to, other], plan.far, false)?.unwrap_or_default();
            solver.inside = NEVER_DONE;
            let (computed, copied) = (cuda.event()?, cuda.event()?);
            slabs.push(Slab { solver, own, computed, copied });
        }
        // 3. Neighbours copy from each other's memory.
        for pair in slabs.windows(2) {
            pair[0].solver.cuda.use_memory_of(&pair[1].solver.cuda)?;
            pair[1].solver.cuda.use_memory_of(&pair[0].solver.cuda)?;
        }
        log::info!("level set: {} slabs of planes, each on a GPU", slabs.len());
        Ok(Self { first: first.clone(), slabs, plan: *plan, inside, interval_iterations: 0 })
    }

    pub(in crate::level_set) fn device_count(&self) -> u32 {
        self.slabs.len() as u32
    }

    /// Does what [`Solver::run`] does.
    pub(in crate::level_set) fn run(
        &mut self,
        monitor: &mut ConvergenceMonitor,
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
    ) -> Result<u64> {
        self.slabs.iter().try_for_each(|slab| slab.solver.check_phi_known())?;
        ticker.report(progress)?;
        let evolved = self.evolve(monitor, iterations, progress, ticker);
        let is_unknown = evolved.is_err();
        for Slab { solver, .. } in &mut self.slabs {
            solver.phi_unknown = is_unknown;
            if is_unknown {
                // Copies from the memory of another slab may still be in progress.
                let _ = solver.stream.synchronize();
            }
        }
        evolved
            .flatten()
            .map(|()| self.slabs.iter().map(|slab| slab.solver.cuda.memory().peak()).max().unwrap_or_default())
    }

    /// Does what [`Solver::evolve`] does.
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
        for Slab { solver, .. } in &mut self.slabs {
            solver.cuda.bind()?;
            solver.prepare_iterations(monitor.iterations)?;
        }
        let (mut left, mut size) = (iterations, first_batch_size(self.plan.voxels()));
        let mut ended = Ok(());
        while left > 0 && !monitor.converged {
            let until_check = self.plan.criterion.check_interval - self.interval_iterations;
            let count = size.min(left).min(until_check.into());
            ended = ended.and_then(|()| monitor.make_room(count as usize));
            if ended.is_err() {
                break;
            }
            let begun = Instant::now();
            let batches = self.queue_batch(monitor.iterations, count)?;
            for (slab, batch) in self.slabs.iter().zip(&batches) {
                slab.solver.wait_for_batch(batch, progress, ticker, &mut ended)?;
            }
            self.collect_batch(&batches, monitor);
            ticker.set(monitor.fraction());
            left -= count;
            size = next_batch_size(size, begun.elapsed().as_secs_f64());
        }
        monitor.converged |= self.plan.front_vanished(self.inside);
        Ok(ended)
    }

    /// Queues iterations with their reinitialisations and the download of their statistics, on all GPUs.
    fn queue_batch(&mut self, done: u64, count: u64) -> Result<Vec<Batch>> {
        let first = done + 1;
        let mut queues = Vec::new();
        for Slab { solver, .. } in &self.slabs {
            solver.cuda.bind()?;
            solver.begin_batch(first, count)?;
            queues.push(Queue::new(solver, done));
        }
        let mut barrier = 0;
        for iteration in first..first + count {
            for (Slab { solver, computed, .. }, queue) in self.slabs.iter().zip(&mut queues) {
                solver.cuda.bind()?;
                let span = Span { first: iteration, count: 1, set: queue.set };
                solver.launcher.iterate(&solver.stream, queue.fields, span, false, barrier)?;
                queue.iteration = iteration;
                queue.advance(1, 0);
                solver.stream.record(computed)?;
            }
            let newest = iteration - done;
            let reinitialises = self.plan.reinitialises_after(iteration);
            self.exchange(newest, if reinitialises { HALO } else { 1 })?;
            if !reinitialises {
                continue;
            }
            // A reinitialisation changes φ in place, so it waits until the neighbours have copied their planes from it.
            for (index, slab) in self.slabs.iter().enumerate() {
                slab.solver.cuda.bind()?;
                self.neighbours(index).try_for_each(|other| slab.solver.stream.wait(&self.slabs[other].copied))?;
            }
            for (Slab { solver, computed, .. }, queue) in self.slabs.iter().zip(&mut queues) {
                solver.cuda.bind()?;
                solver.queue_reinitialisation(queue, barrier)?;
                solver.stream.record(computed)?;
            }
            barrier += 1;
            self.exchange(newest, 1)?;
        }
        let mut batches = Vec::new();
        for (slab, queue) in self.slabs.iter_mut().zip(&queues) {
            slab.solver.cuda.bind()?;
            batches.push(slab.solver.end_batch(first, count, 0)?);
            slab.solver.set = queue.set;
        }
        Ok(batches)
    }

    /// Returns the numbers of the slabs beside one.
    fn neighbours(&self, index: usize) -> impl Iterator<Item = usize> + use<> {
        let count = self.slabs.len();
        [index.wrapping_sub(1), index + 1].into_iter().filter(move |other| *other < count)
    }

    /// Queues the copies of `planes` planes beside each slab from its neighbours, of the φ that `iterations` queued iterations
    /// have computed.
    fn exchange(&self, iterations: u64, planes: usize) -> Result<()> {
        for (index, slab) in self.slabs.iter().enumerate() {
            slab.solver.cuda.bind()?;
            for other in self.neighbours(index) {
                let from = &self.slabs[other];
                slab.solver.stream.wait(&from.computed)?;
                let first = if other < index { from.own.end - planes } else { from.own.start };
                let [source, target] = [from, slab].map(|slab| slab.planes(iterations, first));
                let bytes = slab.solver.layout.plane_bytes() * planes;
                let (from, to) = ((&*from.solver.cuda, source), (&*slab.solver.cuda, target));
                slab.solver.stream.copy_between(from, to, bytes)?;
            }
            slab.solver.stream.record(&slab.copied)?;
        }
        Ok(())
    }

    /// Adds a finished batch to the statistics of the whole volume.
    fn collect_batch(&mut self, batches: &[Batch], monitor: &mut ConvergenceMonitor) {
        let count = batches[0].count as usize;
        let of_slab = |slab: &Slab| {
            let bytes = &slab.solver.staged_statistics[0].as_slice()[..count * STATISTICS_BYTES];
            bytemuck::cast_slice::<u8, IterationStatistics>(bytes).to_vec()
        };
        let statistics: Vec<_> = self.slabs.iter().map(of_slab).collect();
        for index in 0..count {
            let sum = |number: fn(&IterationStatistics) -> u64| {
                statistics.iter().map(|slab| number(&slab[index])).fold(0, u64::wrapping_add)
            };
            self.inside = self.inside.wrapping_add(sum(|one| one.inside as u64));
            let (changed, near, squares) = (sum(|one| one.changed), sum(|one| one.near), sum(|one| one.squares));
            monitor.record(Counts { inside: self.inside, changed, near, squares });
            monitor.converged = monitor.should_stop();
            self.interval_iterations = (self.interval_iterations + 1) % self.plan.criterion.check_interval;
            if self.plan.front_vanished(self.inside) {
                break;
            }
        }
        for slab in &mut self.slabs {
            slab.solver.current = (slab.solver.current + count) % 2;
        }
    }

    pub(in crate::level_set) fn set_plan(&mut self, plan: &Plan) {
        self.plan = *plan;
        for Slab { solver, .. } in &mut self.slabs {
            solver.set_plan(&Plan { shape: solver.plan.shape, ..*plan });
        }
    }

    pub(in crate::level_set) fn sum_regions(&self, levels: &RegionLevels) -> Result<[RegionSums; 2]> {
        let mut all = [RegionSums::default(); 2];
        for Slab { solver, .. } in &self.slabs {
            for (all, one) in all.iter_mut().zip(solver.sum_regions(levels)?) {
                *all = all.merged(one);
            }
        }
        Ok(all)
    }

    pub(in crate::level_set) fn fit(&self) -> Result<Fit> {
        let mut all = Fit { middle: 0, at_limits: 0 };
        for Slab { solver, .. } in &self.slabs {
            let Fit { middle, at_limits } = solver.fit()?;
            (all.middle, all.at_limits) = (all.middle + middle, all.at_limits + at_limits);
        }
        Ok(all)
    }

    pub(in crate::level_set) fn inside(&self) -> u64 {
        self.inside
    }

    /// Reads the mask or φ of each slab into its part of an image in host memory.
    fn read(&self, image: ImageMut<'_>, read: impl Fn(&Solver, ImageMut<'_>) -> Result<()>) -> Result<()> {
        let mut rest = image;
        for Slab { solver, own, .. } in &self.slabs {
            let (part, after) = rest.split_at(own.len());
            read(solver, part)?;
            rest = after;
        }
        Ok(())
    }

    pub(in crate::level_set) fn read_mask(&self, pool: &ThreadPool, mask: ImageMut<'_>, ticker: &Ticker) -> Result<()> {
        self.on_host::<u8>(mask, |mask| self.read(mask, |solver, part| solver.read_mask(pool, part, ticker)))
    }

    pub(in crate::level_set) fn read_phi(&self, pool: &ThreadPool, phi: ImageMut<'_>) -> Result<()> {
        self.on_host::<f32>(phi, |phi| self.read(phi, |solver, part| solver.read_phi(pool, part)))
    }

    /// Reads an image into host memory, and copies it to a caller's device memory if it is there.
    fn on_host<T: Pod + Send + Sync>(
        &self,
        image: ImageMut<'_>,
        read: impl FnOnce(ImageMut<'_>) -> Result<()>,
    ) -> Result<()>
    where
        for<'a> ImageMut<'a>: From<ArrayViewMut3<'a, T>>,
    {
        let ImageMut::Device(pixels) = image else { return read(image) };
        let [width, height, depth] = self.plan.shape;
        let mut copy = zeroed_image::<T>((depth, height, width))?;
        read(copy.view_mut().into())?;
        let Self { first, slabs, .. } = self;
        let Solver { cuda, stream, .. } = &slabs[0].solver;
        cuda.bind()?;
        check_device_pixels(cuda, "the output", &pixels)?;
        for (z, slice) in copy.outer_iter().enumerate() {
            let packed = slice.as_slice().unwrap_or_else(|| unreachable!("it has no gaps"));
            upload_slice(first, cuda, stream, packed, &pixels, z)?;
        }
        stream.synchronize()
    }

    pub(in crate::level_set) fn write_phi(&mut self, pool: &ThreadPool, phi: &Image<'_>) -> Result<()> {
        let mut copy = None;
        let phi = &in_host_memory(&self.first, phi, &mut copy)?;
        let Image::F32(values) = phi else { unreachable!("the type was checked") };
        // On an error nothing is written.
        let [width, height, depth] = self.plan.shape;
        let ticker = Ticker::of_copies();
        let bad =
            |z: &usize| !ticker.is_cancelled() && values.index_axis(Axis(0), *z).iter().any(|value| !value.is_finite());
        let found = pool.install(|| (0..depth).into_par_iter().find_first(bad));
        ticker.check()?;
        if let Some(z) = found {
            let place = values.index_axis(Axis(0), z).iter().position(|value| !value.is_finite());
            return Err(not_finite((z * height * width + place.unwrap_or_default()) as u64, self.plan.shape));
        }
        let written = uncancelled(|| {
            self.slabs.iter_mut().try_fold(0, |inside, Slab { solver, own, .. }| {
                solver.write_phi(pool, &phi.slices(&with_halo(own, depth)))?;
                Ok::<_, Error>(inside + std::mem::replace(&mut solver.inside, NEVER_DONE))
            })
        });
        for Slab { solver, .. } in &mut self.slabs {
            solver.phi_unknown = written.is_err();
            solver.inside = NEVER_DONE;
        }
        (self.inside, self.interval_iterations) = (written?, 0);
        Ok(())
    }
}

impl Slab {
    /// Returns the location of a plane of the volume in the φ that `iterations` queued iterations have computed.
    fn planes(&self, iterations: u64, first: usize) -> Side {
        let Phi::Rows(phi) = &self.solver.phi else { unreachable!("a dense phi is in rows") };
        let buffer = &phi[(self.solver.current + iterations as usize) % 2];
        let plane = first + self.solver.own.start - self.own.start;
        buffer.side((self.solver.layout.address(buffer, plane) - buffer.address()) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_are_whole_tiles_that_hold_a_neighbours_halo() {
        for depth in [1, 15, 16, 31, 32, 40, 100, 1024, 1031] {
            for devices in 1..9 {
                let ranges = ranges(devices, depth);
                assert!((1..=devices).contains(&ranges.len()) && ranges[0].start == 0, "{ranges:?}");
                assert_eq!(ranges.last().map(|last| last.end), Some(depth), "{ranges:?}");
                for pair in ranges.windows(2) {
                    assert!(pair[0].end == pair[1].start && pair[1].start % TILE == 0, "{ranges:?}");
                    assert!(pair[0].len() >= HALO && pair[1].len() >= HALO, "{ranges:?}");
                }
            }
        }
    }
}
