//! The fast path on the CPU: several iterations per pass over memory, in vector registers, on all cores.
//!
//! A pass does up to [`Tuning::levels`] iterations at once. The field is cut into panels (columns in 2D, beams in 3D),
//! and panels into stretches of the last axis; each such piece is a task, which [`rows`] (2D) or [`planes`] (3D) carries
//! through all iterations of the pass while it is in the second-level cache. A piece takes in a halo as wide as the pass
//! has iterations and computes it in vain, which makes the tasks independent of each other.
//!
//! The first pass makes its start from the caller's pixels as it goes, every pass makes its mask from them, and the last
//! one may write to the caller's output: nothing is prepared, and nothing is copied.
//!
//! Every pixel is computed by the same operations in the same order whatever the cutting, so the result does not depend
//! on the number of threads or on [`Tuning`]. `docs/edge_strength_cpu.md` has the reasons and the measurements.

mod planes;
mod rows;

use super::prepare::Pixels;
use super::{LEAST, Steps, is_flushed};
use crate::device::{Lent, Scratch};
use crate::error::Result;
use crate::image::reserved;
use crate::progress::Ticker;
use ndarray::{ArrayView3, ArrayViewMut3, Axis};
use planes::Planes;
use pulp::{Arch, Simd};
use rayon::prelude::*;
use rows::Rows;
use std::ops::Range;
use std::sync::Mutex;

/// The shape of the work, chosen so that what a task has in hand stays in the second-level cache.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    /// The most iterations in one pass.
    levels: usize,
    /// The widest panel in x and y, without its halo.
    panel: [usize; 2],
    /// How many times longer than its halo a stretch of the last axis is, or the pass has fewer iterations.
    halo_share: usize,
    /// Stretches shorter than this are not worth having more tasks than threads.
    long: usize,
}

/// Measured with 512 KiB and 1 MiB of second-level cache a core: the rows of a task take 2 · 50 · 4.5 KiB = 450 KiB,
/// and the default of 50 iterations is one pass.
const TUNING_2D: Tuning = Tuning { levels: 50, panel: [1024, 1], halo_share: 3, long: 512 };
/// Likewise: 2¼ · 4 · 44 KiB. The halo costs more here, so fewer levels pay.
const TUNING_3D: Tuning = Tuning { levels: 4, panel: [256, 32], halo_share: 8, long: SHORTEST };
/// The shortest stretch of the last axis that a task is made for.
const SHORTEST: usize = 16;
/// The longest one, so that a cancel is heard in time.
const LONGEST: usize = 2048;
/// Bytes and floats in a cache line.
const LINE_BYTES: usize = 64;
const LINE: usize = LINE_BYTES / size_of::<f32>();

/// A room to work in: main memory for a field beside the result, and for what each thread has in hand.
pub(super) struct Room<'a> {
    scratch: &'a Scratch,
    benches: Vec<Mutex<Lent<'a>>>,
}

impl<'a> Room<'a> {
    /// For fields of this shape on the threads of the current pool.
    pub(super) fn new(scratch: &'a Scratch, shape: [usize; 3], steps: &Steps<'_>) -> Result<Self> {
        // Longer stretches have more levels, so one thread needs the most.
        let cut = Cut::new(shape, steps.dimensions, 1);
        let most = cut.levels.min(steps.centre_weights.len());
        let floats = if cut.volume { planes::room(cut.panel, most) } else { rows::room(cut.panel[0], most) };
        let benches = (0..rayon::current_num_threads()).map(|_| scratch.lend(floats).map(Mutex::new));
        Ok(Self { scratch, benches: benches.collect::<Result<_>>()? })
    }

    /// A field of at least `count` pixels of any value.
    pub(super) fn field(&self, count: usize) -> Result<Lent<'a>> {
        self.scratch.lend(count)
    }

    /// Runs `work` with this thread's bench.
    fn at_bench<T>(&self, work: impl FnOnce(&mut [f32]) -> T) -> T {
        let mut bench =
            self.benches[rayon::current_thread_index().unwrap_or(0)].lock().unwrap_or_else(|e| e.into_inner());
        work(&mut bench)
    }
}

/// Iterates from the pixels' start, once per centre weight, into `result`, whose rows are contiguous. The work is cut
/// for so many threads of the current pool, which has others to do beside this field.
///
/// Once `result` has been written to, only a cancel can make this fail: each pass needs the memory for lists that the one
/// before it had.
pub(super) fn iterate(
    room: &Room<'_>,
    pixels: &Pixels<'_>,
    steps: &Steps<'_>,
    mut result: ArrayViewMut3<'_, f32>,
    threads: usize,
    ticker: &Ticker,
) -> Result<()> {
    let [width, height, depth] = pixels.shape();
    let cut = Cut::new([width, height, depth], steps.dimensions, threads);
    let arch = Arch::new();
    let mut weights = steps.centre_weights;
    if weights.is_empty() {
        return start(pixels, result);
    }
    let mut passes = weights.len().div_ceil(cut.levels);
    // The passes write to one field and the other in turn, the last one to the result.
    let dim = if passes > 1 { (depth, height, width) } else { (0, 0, 0) };
    let count = dim.0 * dim.1 * dim.2;
    let mut spare = room.field(count)?;
    let spare = ArrayViewMut3::from_shape(dim, &mut spare[..count]).unwrap_or_else(|_| unreachable!("its own size"));
    let result = result.view_mut();
    let (mut to, mut other) = if passes.is_multiple_of(2) { (spare, result) } else { (result, spare) };
    let mut done = 0;
    while !weights.is_empty() {
        // The passes left, each of about the same number of iterations.
        let (now, later) = weights.split_at(weights.len().div_ceil(passes));
        passes -= 1;
        weights = later;
        let field = if done == 0 { None } else { Some(other.view()) };
        let pass = Pass { pixels, field, shape: cut.shape, time_step: steps.time_step, done, centre_weights: now };
        cut.tasks(&mut to, now.len())?.into_par_iter().with_max_len(1).try_for_each(|task| {
            ticker.check()?;
            let updates = task.pixels() * now.len();
            room.at_bench(|bench| {
                if cut.volume {
                    arch.dispatch(Planes { pass: &pass, task, bench });
                } else {
                    arch.dispatch(Rows { pass: &pass, task, bench });
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

/// No iterations: the start.
fn start(pixels: &Pixels<'_>, mut result: ArrayViewMut3<'_, f32>) -> Result<()> {
    let width = result.dim().2;
    result.axis_iter_mut(Axis(0)).enumerate().for_each(|(z, mut slice)| {
        slice.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(y, row)| {
            pixels.start([y, z], 0..width, contiguous(row.into_slice()));
        });
    });
    Ok(())
}

/// A row of a field that was made, or chosen, for its contiguous rows.
fn contiguous<T>(row: Option<T>) -> T {
    row.unwrap_or_else(|| unreachable!("the rows of a field are contiguous"))
}

/// Some iterations over the whole field.
struct Pass<'a, 'p> {
    pixels: &'a Pixels<'p>,
    /// The field so far; `None`: the start that the pixels make.
    field: Option<ArrayView3<'a, f32>>,
    /// As [`Cut::shape`].
    shape: [usize; 3],
    time_step: f32,
    /// The iterations before.
    done: usize,
    centre_weights: &'a [f32],
}

impl Pass<'_, '_> {
    /// The values before the pass of some columns of row `[y, z]`.
    #[inline(always)]
    fn values(&self, [y, z]: [usize; 2], columns: Range<usize>, values: &mut [f32]) {
        match &self.field {
            Some(field) => {
                let row = contiguous(field.index_axis(Axis(0), z).index_axis_move(Axis(0), y).to_slice());
                values.copy_from_slice(&row[columns]);
            }
            None => self.pixels.start([y, z], columns, values),
        }
    }

    /// Whether the results of the pass's iteration `level`, the first one being 1, are flushed.
    fn is_flushed(&self, level: usize) -> bool {
        is_flushed(self.done + level)
    }
}

/// Values below [`LEAST`] are set to 0.
#[inline(always)]
fn flush<S: Simd>(simd: S, values: S::f32s) -> S::f32s {
    let small = simd.less_than_f32s(values, simd.splat_f32s(LEAST));
    simd.select_f32s(small, simd.splat_f32s(0.0), values)
}

/// A piece of the field and where its result goes.
struct Task<'a> {
    spans: [Span; 3],
    /// Slab by slab.
    rows: Vec<&'a mut [f32]>,
}

impl Task<'_> {
    fn pixels(&self) -> usize {
        self.spans.iter().map(|span| span.own.len()).product()
    }
}

/// One axis of a task.
#[derive(Clone, Debug)]
struct Span {
    /// The pixels to compute.
    own: Range<usize>,
    /// With the halo, inside the image.
    window: Range<usize>,
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

    /// The positions in the window that are still right after `level` iterations.
    fn right(&self, level: usize) -> Range<usize> {
        let from = if self.at_start() { 0 } else { level };
        let to = self.window.len() - if self.at_end() { 0 } else { level };
        from..to
    }

    /// The coordinates that `later` more iterations need.
    fn needed(&self, later: usize) -> Range<isize> {
        self.own.start.saturating_sub(later) as isize..(self.own.end + later).min(self.size) as isize
    }
}

/// The cutting of a field into panels, and of panels into stretches of the last axis.
#[derive(Clone, Copy, Debug)]
struct Cut {
    volume: bool,
    /// A slice is a volume of height 1 here, whose last axis is its y.
    shape: [usize; 3],
    panel: [usize; 2],
    stretch: usize,
    levels: usize,
}

impl Cut {
    fn new([width, height, depth]: [usize; 3], dimensions: u32, threads: usize) -> Self {
        let volume = dimensions == 3;
        debug_assert!(volume || depth == 1);
        let shape = if volume { [width, height, depth] } else { [width, 1, height] };
        let tuning = if volume { TUNING_3D } else { TUNING_2D };
        let [width, height, depth] = shape;
        let even = |size: usize, most: usize| size.div_ceil(size.div_ceil(most));
        // Panels of equal size, and of whole cache lines.
        let panel = [even(width, tuning.panel[0]).next_multiple_of(LINE).min(width), even(height, tuning.panel[1])];
        let panels = width.div_ceil(panel[0]) * height.div_ceil(panel[1]);
        // Twice as many tasks as threads, so that one that is held up does not hold up all; but only as many where
        // stretches are short, and fewer levels where they are shorter still, so that the halo stays small beside them.
        let stretch = |tasks: usize| depth.div_ceil(tasks.div_ceil(panels));
        let stretch = if stretch(2 * threads) < tuning.long { stretch(threads) } else { stretch(2 * threads) };
        let stretch = stretch.clamp(depth.min(SHORTEST), LONGEST);
        let most = if stretch < depth { stretch / tuning.halo_share } else { tuning.levels };
        let levels = most.clamp(1, tuning.levels);
        Self { volume, shape, panel, stretch, levels }
    }

    /// The tasks of a pass of `levels` iterations, each with its rows of the result.
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
            for (piece, task) in values.chunks_mut(steps[0]).zip(&mut tasks[first..]) {
                task.rows.push(piece);
            }
        }
        Ok(tasks)
    }
}

#[cfg(test)]
mod tests {
    use super::super::prepare::Start0;
    use super::super::{Dimensions, Mode, Params};
    use super::*;
    use crate::image::Image;
    use ndarray::Array3;
    use pulp::Scalar;

    /// What a CPU without any vector unit that is known computes: vectors of one lane, products rounded.
    #[test]
    fn one_lane_agrees() {
        let scratch = Scratch::default();
        for (dimensions, shape) in
            [(Dimensions::Slices, [67, 41, 1]), (Dimensions::Slices, [1, 9, 1]), (Dimensions::Volume, [19, 13, 11])]
        {
            let [width, height, depth] = shape;
            let input =
                Array3::from_shape_fn((depth, height, width), |(z, y, x)| u8::from((7 * x + 5 * y + 3 * z) % 23 == 0));
            let params = Params { dimensions, mode: Mode::Iterate { iterations: 4 }, ..Params::default() };
            let plan = params.plan().unwrap();
            let steps = plan.steps();
            let pixels = Pixels::new(&Image::from(input.view()), 0..depth, &plan, &Start0::mask()).unwrap();
            let room = Room::new(&scratch, shape, &steps).unwrap();
            let mut expected = Array3::zeros(input.dim());
            iterate(&room, &pixels, &steps, expected.view_mut(), 1, &Ticker::new("test")).unwrap();

            let cut = Cut::new(shape, steps.dimensions, 1);
            let centre_weights = steps.centre_weights;
            let time_step = steps.time_step;
            let pass = Pass { pixels: &pixels, field: None, shape: cut.shape, time_step, done: 0, centre_weights };
            let mut got = Array3::<f32>::zeros(input.dim());
            for task in cut.tasks(&mut got.view_mut(), centre_weights.len()).unwrap() {
                room.at_bench(|bench| {
                    if cut.volume {
                        Scalar::new().vectorize(Planes { pass: &pass, task, bench });
                    } else {
                        Scalar::new().vectorize(Rows { pass: &pass, task, bench });
                    }
                });
            }
            let worst = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-6, "{dimensions:?} {shape:?}: {worst}");
            assert!(expected.iter().any(|value| (0.01..0.99).contains(value)));
        }
    }
}
