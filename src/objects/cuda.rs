//! The fronts on CUDA, with the same bits as on the CPU. The host computes the labels of the starts and the levels, and
//! measures the resulting objects. In between, everything stays on the device; the host reads one number after each check
//! interval. A voxel takes 23 bytes.
#![allow(unsafe_code)]

use super::cpu::{Moved, Plan, Rest, way_factor};
use super::statistics::Statistics;
use crate::device::Context;
use crate::device::cuda::{Buffer, Cuda, DeviceRows, Kernel, Pinned, Stream, check_sides, geometry};
use crate::device::kernels::objects::{
    OB_COLUMNS, OB_ROWS, OB_SLICES, OB_THREADS, isoline_ob_job as Job, isoline_ob_object as Sums,
    isoline_ob_score as DeviceScore,
};
use crate::error::Result;
use crate::image::view_of;
use crate::memory::{Array, zeroed};
use crate::progress::Ticker;
use crate::report::Report;
use std::sync::Arc;
use std::time::Instant;

/// The module (kernel file) of this operation.
const MODULE: &str = "objects";

/// The largest side of an image, because the kernels' coordinates have 32 bits.
const MOST_SIDE: usize = i32::MAX as usize;

/// The number of voxel updates that are queued between two polls for cancellation: an estimated 40 ms on a small GPU if all
/// voxels change.
const QUEUED_VOXELS: usize = 1 << 27;

/// The number of objects whose means one launch computes, few enough to take less than 100 ms on a small GPU.
const MEASURED_TOGETHER: usize = 1 << 15;

/// The device memory of a voxel in bytes: two labels, the label at the last test, two distances, a level, and a byte of
/// facts.
const VOXEL_BYTES: usize = 3 * size_of::<u32>() + 2 * size_of::<f32>() + size_of::<u16>() + 1;

/// The device memory of a tile in bytes: two marks of changes.
const TILE_BYTES: usize = 2;

const OBJECT_BYTES: usize = size_of::<Sums>() + size_of::<DeviceScore>();

/// Returns the tiles along x, y and z.
fn tiles(shape: [usize; 3]) -> [usize; 3] {
    let tile = [OB_COLUMNS, OB_ROWS, OB_SLICES];
    std::array::from_fn(|axis| shape[axis].div_ceil(tile[axis]))
}

/// Returns the device memory that an image with `objects` objects needs, in bytes.
pub(super) fn device_bytes(shape: [usize; 3], objects: usize) -> u64 {
    let voxels = shape.iter().product::<usize>() as u64 * VOXEL_BYTES as u64;
    let tiles = tiles(shape).iter().product::<usize>() as u64 * TILE_BYTES as u64;
    voxels + tiles + ((objects + 1) * OBJECT_BYTES + size_of::<u32>()) as u64
}

/// Moves the fronts from `starts`, a label of each voxel, until they are at rest; see [`super::cpu::evolve`].
pub(super) fn evolve(
    context: &Context,
    cuda: &Arc<Cuda>,
    plan: &Plan,
    starts: &[u32],
    levels: &[u16],
    ticker: &Ticker,
) -> Result<(Moved, Report)> {
    check_sides(plan.grid.shape, MOST_SIDE)?;
    cuda.bind()?;
    cuda.memory().reset_peak();
    let mut report = Report::new(context.device());
    let mut seconds = Seconds(Instant::now());
    let mut fronts = Fronts::new(context, cuda, plan, starts, levels, ticker)?;
    report.seconds_upload = seconds.passed();
    let (iterations, converged) = fronts.move_to_rest(ticker)?;
    report.seconds_compute = seconds.passed();
    let (labels, statistics) = fronts.read(ticker)?;
    drop(fronts);
    report.seconds_download = seconds.passed();
    report.peak_device_bytes = cuda.memory().peak();
    report.slices_done = plan.grid.shape[2] as u64;
    Ok((Moved { labels, statistics, iterations, converged }, report))
}

/// A clock that restarts whenever it is read.
struct Seconds(Instant);

impl Seconds {
    fn passed(&mut self) -> f64 {
        let before = std::mem::replace(&mut self.0, Instant::now());
        (self.0 - before).as_secs_f64()
    }
}

/// A call in progress.
struct Fronts<'a> {
    context: &'a Context,
    cuda: &'a Arc<Cuda>,
    plan: &'a Plan,
    /// The stream comes before the memory, because dropping it waits for its work.
    stream: Stream,
    iterate: Kernel,
    sums: Kernel,
    means: Kernel,
    moved: Kernel,
    rest: Kernel,
    /// The labels before and after an iteration. Distances and changes of tiles are in the same order.
    labels: [Buffer; 2],
    distances: [Buffer; 2],
    changed: [Buffer; 2],
    levels: Buffer,
    objects: Buffer,
    answer: Buffer,
    /// The page-locked copy of the answer.
    read: Pinned,
    tiles: usize,
    job: Job,
    /// Memory to which the job points, and nothing else does.
    _others: [Buffer; 3],
}

impl<'a> Fronts<'a> {
    /// Uploads starts and levels, and initialises everything else.
    fn new(
        context: &'a Context,
        cuda: &'a Arc<Cuda>,
        plan: &'a Plan,
        starts: &[u32],
        levels: &[u16],
        ticker: &Ticker,
    ) -> Result<Self> {
        let (memory, shape, voxels) = (cuda.memory(), plan.grid.shape, starts.len());
        let of_axis = tiles(shape);
        let (tiles, labels) = (of_axis.iter().product::<usize>(), plan.objects + 1);
        let words = || memory.device(voxels * size_of::<u32>());
        let others = [memory.device(voxels)?, words()?, memory.device(labels * size_of::<DeviceScore>())?];
        let [facts, judged, scores] = &others;
        let constants = &plan.constants;
        let kernel = |name: &str| cuda.kernel(MODULE, &format!("isoline_ob_{name}"));
        let fronts = Self {
            context,
            cuda,
            plan,
            stream: cuda.stream()?,
            iterate: kernel("iterate")?,
            sums: kernel("sums")?,
            means: kernel("means")?,
            moved: kernel("moved")?,
            rest: kernel("rest")?,
            labels: [words()?, words()?],
            distances: [words()?, words()?],
            changed: [memory.device(tiles)?, memory.device(tiles)?],
            levels: memory.device(size_of_val(levels))?,
            objects: memory.device(labels * size_of::<Sums>())?,
            answer: memory.device(size_of::<u32>())?,
            read: memory.pinned(size_of::<u32>())?,
            tiles,
            job: Job {
                facts: facts.address(),
                judged: judged.address(),
                scores: scores.address(),
                new_scores: scores.address(),
                width: shape[0] as u32,
                height: shape[1] as u32,
                depth: shape[2] as u32,
                tiles: of_axis.map(|count| count as u32),
                margin: plan.grid.margin.map(|margin| u32::try_from(margin).unwrap_or(u32::MAX)),
                change_tolerance: plan.change_tolerance,
                most_moved: plan.most_moved(),
                keep_starts: u32::from(plan.keep_starts),
                label_count: labels as u32,
                spacing: constants.spacing,
                inverse_squares: constants.inverse_squares,
                far: constants.far,
                image_weight: constants.image_weight,
                curvature_weight: constants.curvature_weight,
                ..Job::default()
            },
            _others: others,
        };
        fronts.upload(bytemuck::cast_slice(levels), &fronts.levels, ticker)?;
        fronts.upload(bytemuck::cast_slice(starts), &fronts.labels[0], ticker)?;
        fronts.stream.fill(&fronts.changed[0], 0, tiles, 1)?;
        let [clear, begin] = [kernel("clear")?, kernel("begin")?];
        let job = fronts.job_now();
        // SAFETY: the kernels' arguments, in their order; the buffers have the sizes that kernels/objects.h demands of an
        // image of this size, and live until the stream is done.
        unsafe {
            let objects = geometry([labels.div_ceil(OB_THREADS), 1, 1], [OB_THREADS, 1, 1]);
            fronts.stream.launch(&clear, objects, &[&job])?;
            let tiles = geometry([tiles, 1, 1], [OB_THREADS, 1, 1]);
            fronts.stream.launch(&begin, tiles, &[&job, &fronts.distances[0].address()])?;
        }
        fronts.stream.synchronize()?;
        Ok(fronts)
    }

    /// Queues the copy of bytes to the start of a buffer. The bytes may change as soon as this returns.
    fn upload(&self, bytes: &[u8], to: &Buffer, ticker: &Ticker) -> Result<()> {
        let row = view_of(bytes, [bytes.len(), 1, 1]);
        let to = DeviceRows { stream: &self.stream, side: to.side(0), pitch: bytes.len() };
        self.cuda.transfer().upload_views(self.context.pool(), vec![(row, to)], ticker)
    }

    /// Returns the arguments of the next launch.
    fn job_now(&self) -> Job {
        Job {
            labels: self.labels[0].address(),
            distances: self.distances[0].address(),
            new_labels: self.labels[1].address(),
            new_distances: self.distances[1].address(),
            changed: self.changed[0].address(),
            new_changed: self.changed[1].address(),
            levels: self.levels.address(),
            objects: self.objects.address(),
            answer: self.answer.address(),
            ..self.job
        }
    }

    /// Iterates until the fronts are at rest; returns the iterations, and whether they are.
    fn move_to_rest(&mut self, ticker: &Ticker) -> Result<(u64, bool)> {
        let plan = self.plan;
        let between_waits = (QUEUED_VOXELS / plan.grid.shape.iter().product::<usize>().max(1)).max(1) as u64;
        self.check(ticker)?;
        let mut rest = Rest::new(plan);
        while let Some(count) = rest.next_interval() {
            for index in 0..count {
                self.queue_iteration()?;
                rest.iterations += 1;
                if (index + 1) % between_waits == 0 {
                    self.stream.synchronize()?;
                    ticker.check()?;
                }
                ticker.set(rest.iterations as f64 / plan.iterations as f64);
            }
            let scores_changed = self.check(ticker)?;
            if rest.is_due(scores_changed) {
                rest.judge(self.have_moved(rest.passed(), ticker)?);
            }
            if scores_changed {
                // The scores have changed, so every voxel may change in the next iteration.
                self.stream.fill(&self.changed[0], 0, self.tiles, 1)?;
            }
        }
        Ok((rest.iterations, rest.converged))
    }

    fn queue_iteration(&mut self) -> Result<()> {
        // SAFETY: as in `new`.
        unsafe {
            let tiles = geometry([self.tiles, 1, 1], [OB_THREADS, 1, 1]);
            self.stream.launch(&self.iterate, tiles, &[&self.job_now()])?;
        }
        self.labels.swap(0, 1);
        self.distances.swap(0, 1);
        self.changed.swap(0, 1);
        Ok(())
    }

    /// Measures the objects, waits, and returns true if a score has changed.
    fn check(&mut self, ticker: &Ticker) -> Result<bool> {
        self.stream.fill(&self.answer, 0, size_of::<u32>(), 0)?;
        let job = self.job_now();
        // SAFETY: as in `new`.
        unsafe {
            let tiles = geometry([self.tiles, 1, 1], [OB_THREADS, 1, 1]);
            self.stream.launch(&self.sums, tiles, &[&job])?;
        }
        for first in (0..self.plan.objects).step_by(MEASURED_TOGETHER) {
            // Each launch handles the objects after those of the launches before.
            let job = Job {
                objects: job.objects + (first * size_of::<Sums>()) as u64,
                new_scores: job.new_scores + (first * size_of::<DeviceScore>()) as u64,
                ..job
            };
            let count = MEASURED_TOGETHER.min(self.plan.objects - first);
            // SAFETY: as in `new`.
            unsafe { self.stream.launch(&self.means, geometry([count, 1, 1], [OB_THREADS, 1, 1]), &[&job]) }?;
            if first + count < self.plan.objects {
                self.stream.synchronize()?;
                ticker.check()?;
            }
        }
        self.answer(ticker)
    }

    /// Tells whether a front has moved since the last test, `passed` iterations ago; see `have_moved` in `cpu.rs`.
    fn have_moved(&mut self, passed: u64, ticker: &Ticker) -> Result<bool> {
        self.stream.fill(&self.answer, 0, size_of::<u32>(), 0)?;
        let job = Job { interval: way_factor(passed), ..self.job_now() };
        // SAFETY: as in `new`.
        unsafe {
            let tiles = geometry([self.tiles, 1, 1], [OB_THREADS, 1, 1]);
            self.stream.launch(&self.moved, tiles, &[&job])?;
            self.stream.launch(&self.rest, tiles, &[&job])?;
        }
        self.answer(ticker)
    }

    /// Waits for the kernels, and returns true if one of them has set the answer.
    fn answer(&mut self, ticker: &Ticker) -> Result<bool> {
        let bytes = size_of::<u32>();
        self.stream.copy_bytes(self.answer.side(0), self.read.side(), bytes)?;
        self.stream.synchronize()?;
        ticker.check()?;
        Ok(self.read.as_slice()[..bytes].iter().any(|byte| *byte != 0))
    }

    /// Downloads the labels and the statistics of the objects.
    fn read(&self, ticker: &Ticker) -> Result<(Array<u32>, Statistics)> {
        let (transfer, pool) = (self.cuda.transfer(), self.context.pool());
        let mut labels = Array::<u32>::zeroed(self.plan.grid.shape.iter().product())?;
        let mut words = zeroed::<u64>((self.plan.objects + 1) * size_of::<Sums>() / size_of::<u64>())?;
        // Copy as bytes, because that code is already compiled for images.
        let lists: [(_, &mut [u8]); 2] = [
            (&self.labels[0], bytemuck::cast_slice_mut(&mut labels)),
            (&self.objects, bytemuck::cast_slice_mut(&mut words)),
        ];
        for (from, to) in lists {
            transfer.download_list(pool, &self.stream, from.side(0), to, ticker)?;
        }
        self.stream.synchronize()?;
        let mut statistics = Statistics::new(self.plan.objects)?;
        for (index, object) in bytemuck::cast_slice::<u64, Sums>(&words).iter().enumerate() {
            statistics.voxels[index] = object.voxels;
            statistics.means[index] = object.mean;
            statistics.backgrounds[index] = object.background;
        }
        Ok((labels, statistics))
    }
}
