//! The fast path on the CPU: several iterations per pass over memory (temporal blocking), with vector instructions, on all
//! cores.
//!
//! A pass does up to [`Tuning::levels`] iterations at once. The field is divided into panels (groups of columns in 2D,
//! beams along z in 3D), and panels into stretches along the last axis. Each such tile is a task: [`rows`] (2D) or
//! [`planes`] (3D) computes all iterations of the pass on it while it is in the second-level cache. The halo of a tile is
//! as wide as the pass has iterations. It is computed by several tasks, which makes the tasks independent of each other.
//!
//! The first pass computes the initial values from the caller's pixels as it goes, every pass computes its mask from them,
//! and the last pass may write to the caller's output. So no pass over memory is spent on preparing or copying.
//!
//! For every partition, each pixel is computed by the same operations in the same order, so the result depends neither on
//! the number of threads nor on [`Tuning`]. `docs/edge_strength_cpu.md` has the reasons and the measurements.

mod planes;
mod rows;

use super::super::prepare::InputPixels;
use super::super::{FLUSH_THRESHOLD, Plan, is_flushed};
use crate::device::{BufferPool, PerThread, PooledBuffer};
use crate::error::Result;
use crate::memory::reserved;
use crate::progress::Ticker;
use ndarray::{ArrayView3, ArrayViewMut3, Axis};
use planes::PlaneTask;
use pulp::{Arch, Simd};
use rayon::prelude::*;
use rows::RowTask;
use std::ops::Range;

/// The shape of the tasks, chosen so that the buffer of a task stays in the second-level cache.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    /// The most iterations in one pass.
    levels: usize,
    /// The widest panel in x, without its halo. Rows that are not divided are read and written fastest.
    width: usize,
    /// The most pixels of a panel, without its halo.
    pixels: usize,
    /// The fewest and the most rows of a panel.
    rows: [usize; 2],
    /// The smallest ratio of the length of a stretch to its halo. If it would be smaller, a pass has fewer iterations.
    halo_share: usize,
    /// With stretches shorter than this, there are only as many tasks as threads.
    long: usize,
    /// The longest stretch of a task, which is short enough to act on a cancellation in time.
    longest: usize,
}

/// The tuning for 2D, measured with 512 KiB and 1 MiB of second-level cache per core: the rows of a task take
/// 2 · 50 · 4.5 KiB = 450 KiB, and the default of 50 iterations is one pass.
const TUNING_2D: Tuning =
    Tuning { levels: 50, width: 1024, pixels: 1024, rows: [1, 1], halo_share: 3, long: 512, longest: 2048 };
/// The tuning for 3D, measured with 2 MiB of second-level cache per core: the planes of a task and their masks take up to
/// 2.1 MiB. Processors with a smaller cache use the next cache level; this was not measured. The halo costs more than in
/// 2D, so the best number of levels is smaller.
const TUNING_3D: Tuning =
    Tuning { levels: 6, width: 1024, pixels: 1 << 14, rows: [8, 64], halo_share: 8, long: MIN_STRETCH, longest: 512 };
/// The time to read and write a voxel, in units of one iteration of it, from the times for 256³ with 4 and with 8
/// iterations per pass (`docs/edge_strength_cpu.md`).
const PASS_COST: f64 = 5.6;
/// The shortest stretch of the last axis in a task.
const MIN_STRETCH: usize = 16;
/// The number of bytes in a cache line.
const LINE_BYTES: usize = 64;
/// The number of floats in a cache line.
const LINE: usize = LINE_BYTES / size_of::<f32>();

/// The workspace of a call: host memory for a second field besides the result, and a buffer for the task of each thread.
pub(super) struct Workspace<'a> {
    pool: &'a BufferPool,
    buffers: PerThread<PooledBuffer<'a>>,
}

impl<'a> Workspace<'a> {
    /// Allocates the buffers for fields of this shape on the threads of the current pool.
    pub(super) fn new(pool: &'a BufferPool, shape: [usize; 3], plan: &Plan) -> Result<Self> {
        // A partition for one thread has the longest stretches, so the most levels and the largest tasks. Its buffers fit
        // all others.
        let possible = Partition::possible(shape, plan.dimensions, 1);
        let floats = possible.map(|one| one.buffer_len(plan.centre_weights.len())).max().unwrap_or(0);
        Ok(Self { pool, buffers: PerThread::new(|| pool.acquire(floats))? })
    }

    /// Returns a field of at least `count` pixels with any values.
    pub(super) fn field(&self, count: usize) -> Result<PooledBuffer<'a>> {
        self.pool.acquire(count)
    }
}

/// Iterates from the initial values of `pixels`, once per centre weight, into `result`, whose rows are contiguous. The work
/// is divided among `threads` threads of the current pool; the pool may compute other fields at the same time.
///
/// Once `result` has been written to, only a cancellation can make this fail: the lists of each pass need as much memory as
/// those of the pass before it, which has just been freed.
pub(super) fn iterate(
    workspace: &Workspace<'_>,
    pixels: &InputPixels<'_>,
    plan: &Plan,
    mut result: ArrayViewMut3<'_, f32>,
    threads: usize,
    ticker: &Ticker,
) -> Result<()> {
    let [width, height, depth] = pixels.shape();
    let partition = Partition::new([width, height, depth], plan.dimensions, threads);
    let arch = Arch::new();
    let mut weights = &plan.centre_weights[..];
    if weights.is_empty() {
        return write_initial_values(pixels, result, ticker);
    }
    let mut passes = weights.len().div_ceil(partition.levels);
    // The passes alternate between the spare field and the result, so that the last one writes to the result.
    let dim = if passes > 1 { (depth, height, width) } else { (0, 0, 0) };
    let count = dim.0 * dim.1 * dim.2;
    let mut spare = workspace.field(count)?;
    let spare = ArrayViewMut3::from_shape(dim, &mut spare[..count]).unwrap_or_else(|_| unreachable!("its own size"));
    let result = result.view_mut();
    let (mut to, mut other) = if passes.is_multiple_of(2) { (spare, result) } else { (result, spare) };
    let mut done = 0;
    while !weights.is_empty() {
        // The remaining passes have about equal numbers of iterations.
        let (now, later) = weights.split_at(weights.len().div_ceil(passes));
        passes -= 1;
        weights = later;
        let field = if done == 0 { None } else { Some(other.view()) };
        let pass = Pass { pixels, plan, field, shape: partition.shape, done, centre_weights: now };
        partition.tasks(&mut to, now.len())?.into_par_iter().with_max_len(1).try_for_each(|task| {
            ticker.check()?;
            let updates = task.pixels() * now.len();
            workspace.buffers.with(|buffer| {
                if partition.volume {
                    arch.dispatch(PlaneTask { pass: &pass, task, buffer });
                } else {
                    arch.dispatch(RowTask { pass: &pass, task, buffer });
                }
            });
            ticker.add(updates as u64);
            Ok(())
        })?;
        std::mem::swap(&mut to, &mut other);
        done += now.len();
    }
    Ok(())
}

/// Writes the initial values, which are the result of 0 iterations.
fn write_initial_values(pixels: &InputPixels<'_>, mut result: ArrayViewMut3<'_, f32>, ticker: &Ticker) -> Result<()> {
    let width = result.dim().2;
    result.axis_iter_mut(Axis(0)).enumerate().try_for_each(|(z, mut slice)| {
        slice.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(y, row)| {
            pixels.initial_values([y, z], 0..width, contiguous(row.into_slice()));
        });
        ticker.check()
    })
}

/// Returns a row as a slice, which every row of the fields here is.
fn contiguous<T>(row: Option<T>) -> T {
    row.unwrap_or_else(|| unreachable!("the rows of a field are contiguous"))
}

/// The iterations of one pass over the whole field.
struct Pass<'a, 'p> {
    pixels: &'a InputPixels<'p>,
    plan: &'a Plan,
    /// The values before the pass; `None` for the initial values of `pixels`.
    field: Option<ArrayView3<'a, f32>>,
    /// The same as [`Partition::shape`].
    shape: [usize; 3],
    /// The number of iterations before the pass.
    done: usize,
    /// The centre weight of each iteration of the pass.
    centre_weights: &'a [f32],
}

impl Pass<'_, '_> {
    /// Copies the values before the pass, for some columns of row `[y, z]`.
    #[inline(always)]
    fn values(&self, [y, z]: [usize; 2], columns: Range<usize>, values: &mut [f32]) {
        match &self.field {
            Some(field) => {
                let row = contiguous(field.index_axis(Axis(0), z).index_axis_move(Axis(0), y).to_slice());
                values.copy_from_slice(&row[columns]);
            }
            None => self.pixels.initial_values([y, z], columns, values),
        }
    }

    /// Tells whether the results of iteration `level` of the pass are flushed; the first iteration is 1.
    fn is_flushed(&self, level: usize) -> bool {
        is_flushed(self.done + level)
    }
}

/// Sets values below [`FLUSH_THRESHOLD`] to 0.
#[inline(always)]
fn flush<S: Simd>(simd: S, values: S::f32s) -> S::f32s {
    let small = simd.less_than_f32s(values, simd.splat_f32s(FLUSH_THRESHOLD));
    simd.select_f32s(small, simd.splat_f32s(0.0), values)
}

/// A tile of the field, and the rows of the result that it computes.
struct Task<'a> {
    spans: [Span; 3],
    /// The rows of the result, plane by plane.
    rows: Vec<&'a mut [f32]>,
}

impl Task<'_> {
    fn pixels(&self) -> usize {
        self.spans.iter().map(|span| span.own.len()).product()
    }
}

/// The extent of a task along one axis.
#[derive(Clone, Debug)]
struct Span {
    /// The pixels that the task computes.
    own: Range<usize>,
    /// These pixels and the halo, clipped to the image.
    window: Range<usize>,
    /// The size of the image along the axis.
    size: usize,
}

impl Span {
    fn new(own: Range<usize>, halo: usize, size: usize) -> Self {
        let window = own.start.saturating_sub(halo)..(own.end + halo).min(size);
        Self { own, window, size }
    }

    fn at_start(&self) -> bool {
        self.window.start == 0
    }

    fn at_end(&self) -> bool {
        self.window.end == self.size
    }

    /// Returns the positions in the window whose values are valid after `level` iterations.
    fn valid(&self, level: usize) -> Range<usize> {
        let from = if self.at_start() { 0 } else { level };
        let to = self.window.len() - if self.at_end() { 0 } else { level };
        from..to
    }

    /// Returns the coordinates whose values `later` more iterations need.
    fn needed(&self, later: usize) -> Range<isize> {
        self.own.start.saturating_sub(later) as isize..(self.own.end + later).min(self.size) as isize
    }
}

/// Returns the size of parts if `size` is divided into the fewest parts of about equal size, each at most `most`.
fn even(size: usize, most: usize) -> usize {
    size.div_ceil(size.div_ceil(most))
}

/// The partition of a field into panels, and of panels into stretches of the last axis.
#[derive(Clone, Copy, Debug)]
struct Partition {
    volume: bool,
    /// The shape of the field. A slice counts as a volume of height 1 whose last axis is y.
    shape: [usize; 3],
    panel: [usize; 2],
    stretch: usize,
    levels: usize,
}

impl Partition {
    /// Returns the partition that is expected to be the fastest.
    fn new(shape: [usize; 3], dimensions: u32, threads: usize) -> Self {
        Self::possible(shape, dimensions, threads)
            .min_by(|a, b| a.cost(threads).total_cmp(&b.cost(threads)))
            .unwrap_or_else(|| unreachable!("panels of the most rows are possible"))
    }

    /// Returns partitions with panels of fewer and fewer rows: high panels have less halo, low panels keep more threads
    /// busy.
    fn possible([width, height, depth]: [usize; 3], dimensions: u32, threads: usize) -> impl Iterator<Item = Self> {
        let volume = dimensions == 3;
        debug_assert!(volume || depth == 1);
        let (shape, tuning) =
            if volume { ([width, height, depth], TUNING_3D) } else { ([width, 1, height], TUNING_2D) };
        let [least, most] = tuning.rows;
        let highest = (tuning.pixels / even(width, tuning.width)).clamp(least, most);
        std::iter::successors(Some(highest), |rows| Some(rows / 2))
            .take_while(move |rows| *rows >= least)
            .map(move |rows| Self::of_panels(shape, volume, &tuning, rows, threads))
    }

    /// Divides a field into panels of at most `rows` rows.
    fn of_panels(shape: [usize; 3], volume: bool, tuning: &Tuning, rows: usize, threads: usize) -> Self {
        let [width, height, depth] = shape;
        // 1. Panels of equal size, in whole cache lines.
        let panel = [even(width, tuning.width).next_multiple_of(LINE).min(width), even(height, rows)];
        let panels = width.div_ceil(panel[0]) * height.div_ceil(panel[1]);
        // 2. Stretches for twice as many tasks as threads, so that one slow task does not delay all; if these are short,
        //    for as many tasks as threads.
        let stretch = |tasks: usize| depth.div_ceil(tasks.div_ceil(panels));
        let stretch = if stretch(2 * threads) < tuning.long { stretch(threads) } else { stretch(2 * threads) };
        let stretch = stretch.clamp(depth.min(MIN_STRETCH), tuning.longest);
        // 3. Fewer levels if stretches are shorter still, so that the halo stays small compared to them.
        let most = if stretch < depth { stretch / tuning.halo_share } else { tuning.levels };
        let levels = most.clamp(1, tuning.levels);
        Self { volume, shape, panel, stretch, levels }
    }

    /// Returns the expected time of an iteration, in arbitrary units.
    fn cost(&self, threads: usize) -> f64 {
        let sizes = [self.panel[0], self.panel[1], self.stretch];
        let mut cost = 1.0 + PASS_COST / self.levels as f64;
        let mut tasks = 1;
        for (size, all) in sizes.into_iter().zip(self.shape) {
            // The halo shrinks by a pixel on either side with each level.
            cost *= if size < all { 1.0 + self.levels as f64 / size as f64 } else { 1.0 };
            tasks *= all.div_ceil(size);
        }
        cost * (tasks.div_ceil(threads) * threads) as f64 / tasks as f64
    }

    /// Returns the number of floats that the buffer of a task needs in a call of `iterations` iterations.
    fn buffer_len(&self, iterations: usize) -> usize {
        let levels = self.levels.min(iterations);
        if self.volume { planes::buffer_len(self.panel, levels) } else { rows::buffer_len(self.panel[0], levels) }
    }

    /// Returns the tasks of a pass of `levels` iterations, each with its rows of the result.
    fn tasks<'t>(self, result: &'t mut ArrayViewMut3<'_, f32>, levels: usize) -> Result<Vec<Task<'t>>> {
        let [width, height, depth] = self.shape;
        let steps = [self.panel[0], self.panel[1], self.stretch];
        let counts = [width.div_ceil(steps[0]), height.div_ceil(steps[1]), depth.div_ceil(steps[2])];
        let span = |axis: usize, index: usize| {
            let from = index * steps[axis];
            Span::new(from..(from + steps[axis]).min(self.shape[axis]), levels, self.shape[axis])
        };
        let mut tasks = reserved(counts.iter().product())?;
        for z in 0..counts[2] {
            for y in 0..counts[1] {
                for x in 0..counts[0] {
                    let spans = [span(0, x), span(1, y), span(2, z)];
                    let rows = reserved(spans[1].own.len() * spans[2].own.len())?;
                    tasks.push(Task { spans, rows });
                }
            }
        }
        for (row, values) in result.rows_mut().into_iter().enumerate() {
            let values = contiguous(values.into_slice());
            let first = (row / height / steps[2] * counts[1] + row % height / steps[1]) * counts[0];
            for (part, task) in values.chunks_mut(steps[0]).zip(&mut tasks[first..]) {
                task.rows.push(part);
            }
        }
        Ok(tasks)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::prepare::InitialValues;
    use super::super::super::{Dimensions, Mode, Params};
    use super::*;
    use crate::image::Image;
    use ndarray::Array3;
    use pulp::Scalar;

    #[test]
    fn no_task_is_too_long_to_be_cancelled_in_time() {
        for shape in [[1024, 1024, 4096], [256, 512, 9000], [64, 4096, 4096], [3000, 70, 5000]] {
            for threads in [1, 2, 16, 128] {
                let Partition { panel, stretch, levels, .. } = Partition::new(shape, 3, threads);
                assert!(panel[0] * panel[1] * stretch * levels <= 1 << 26, "{shape:?} {threads}");
            }
        }
    }

    #[test]
    fn the_buffers_hold_the_tasks_of_any_number_of_threads() {
        let volumes = [[300, 300, 20], [1025, 66, 130], [1, 9, 4000]].map(|shape| (3, shape));
        for (dimensions, shape) in volumes.into_iter().chain([(2, [5000, 3000, 1]), (2, [1, 700, 1])]) {
            for iterations in [1, 5, 50, 200] {
                let room = Partition::possible(shape, dimensions, 1).map(|one| one.buffer_len(iterations)).max();
                for threads in 1..300 {
                    let needed = Partition::new(shape, dimensions, threads).buffer_len(iterations);
                    assert!(Some(needed) <= room, "{shape:?} {iterations} {threads}");
                }
            }
        }
    }

    /// A CPU without a known vector unit computes vectors of one lane and rounds products.
    #[test]
    fn one_lane_matches_the_vector_unit() {
        let pool = BufferPool::default();
        for (dimensions, shape) in
            [(Dimensions::Slices, [67, 41, 1]), (Dimensions::Slices, [1, 9, 1]), (Dimensions::Volume, [19, 13, 11])]
        {
            let [width, height, depth] = shape;
            let input =
                Array3::from_shape_fn((depth, height, width), |(z, y, x)| u8::from((7 * x + 5 * y + 3 * z) % 23 == 0));
            let params = Params { dimensions, mode: Mode::Iterate { iterations: 4 }, ..Params::default() };
            let plan = params.plan().unwrap();
            let pixels = InputPixels::new(&Image::from(input.view()), 0..depth, &plan, &InitialValues::mask()).unwrap();
            let workspace = Workspace::new(&pool, shape, &plan).unwrap();
            let mut expected = Array3::zeros(input.dim());
            iterate(&workspace, &pixels, &plan, expected.view_mut(), 1, &Ticker::new("test")).unwrap();

            let partition = Partition::new(shape, plan.dimensions, 1);
            let (shape, centre_weights) = (partition.shape, &plan.centre_weights[..]);
            let pass = Pass { pixels: &pixels, plan: &plan, field: None, shape, done: 0, centre_weights };
            let mut got = Array3::<f32>::zeros(input.dim());
            for task in partition.tasks(&mut got.view_mut(), centre_weights.len()).unwrap() {
                workspace.buffers.with(|buffer| {
                    if partition.volume {
                        Scalar::new().vectorize(PlaneTask { pass: &pass, task, buffer });
                    } else {
                        Scalar::new().vectorize(RowTask { pass: &pass, task, buffer });
                    }
                });
            }
            let worst = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-6, "{dimensions:?} {shape:?}: {worst}");
            assert!(expected.iter().any(|value| (0.01..0.99).contains(value)));
        }
    }
}
