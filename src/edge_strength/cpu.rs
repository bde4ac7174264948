//! The fast path on the CPU: several iterations per pass over memory, in vector registers, on all cores.
//!
//! A pass does up to [`Tuning::levels`] iterations at once. The field is cut into panels (columns in 2D, beams in 3D),
//! and panels into stretches of the last axis; each such piece is a task, which [`march`] carries through all iterations
//! of the pass while it is in the second-level cache. A piece takes in a halo as wide as the pass has iterations and
//! computes it in vain, which makes the tasks independent of each other.
//!
//! Every pixel is computed by the same operations in the same order whatever the cutting, so the result does not depend
//! on the number of threads or on [`Tuning`]. `docs/edge_strength_cpu.md` has the reasons and the measurements.

mod march;

use super::Steps;
use super::prepare::zeroed;
use crate::error::Result;
use crate::progress::Ticker;
use march::{March, Pass, Span, Task};
use pulp::Arch;
use rayon::prelude::*;

/// The shape of the work, chosen so that a task's slabs stay in the second-level cache.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    /// The most iterations in one pass.
    levels: usize,
    /// The widest panel in x and y, without its halo.
    panel: [usize; 2],
}

/// Measured with 512 KiB of second-level cache a core: the slabs of a task take 2¼ · 50 · 4.5 KiB = 506 KiB,
/// and the default of 50 iterations is one pass.
const TUNING_2D: Tuning = Tuning { levels: 50, panel: [1024, 1] };
/// Likewise: 2¼ · 4 · 44 KiB. The halo costs more here, so fewer levels pay.
const TUNING_3D: Tuning = Tuning { levels: 4, panel: [256, 32] };
/// The shortest stretch of the last axis that a task is made for.
const SHORTEST: usize = 16;
/// The longest one, so that a cancel is heard in time.
const LONGEST: usize = 2048;
/// How many times longer than its halo a stretch is.
const HALO_SHARE: usize = 8;
/// Floats in a cache line.
const LINE: usize = 16;

/// Applies one iteration per centre weight to `field` (x fastest, then y, then z); pixels with `fixed` != 0 stay.
pub(super) fn iterate(
    field: &mut Vec<f32>,
    fixed: &[u8],
    shape: [usize; 3],
    steps: &Steps<'_>,
    ticker: &Ticker,
) -> Result<()> {
    let [width, height, depth] = shape;
    if steps.dimensions == 3 {
        passes::<true>(field, fixed, shape, steps, TUNING_3D, ticker)
    } else {
        // A single slice, marching along y.
        debug_assert_eq!(depth, 1);
        passes::<false>(field, fixed, [width, 1, height], steps, TUNING_2D, ticker)
    }
}

fn passes<const VOLUME: bool>(
    field: &mut Vec<f32>,
    fixed: &[u8],
    shape: [usize; 3],
    steps: &Steps<'_>,
    tuning: Tuning,
    ticker: &Ticker,
) -> Result<()> {
    let cut = Cut::new(shape, tuning);
    let arch = Arch::new();
    let mut result = zeroed(field.len())?;
    let mut weights = steps.centre_weights;
    while !weights.is_empty() {
        // The passes left, each of about the same number of iterations.
        let count = weights.len().div_ceil(cut.levels);
        let (now, later) = weights.split_at(weights.len().div_ceil(count));
        weights = later;
        let pass = Pass { source: field, fixed, shape, time_step: steps.time_step, centre_weights: now };
        cut.tasks(&mut result, now.len()).into_par_iter().with_max_len(1).try_for_each(|task| {
            ticker.check()?;
            let updates = task.pixels() * now.len();
            arch.dispatch(March::<VOLUME> { pass: &pass, task })?;
            ticker.add(updates as u64);
            Ok(())
        })?;
        std::mem::swap(field, &mut result);
    }
    Ok(())
}

/// The cutting of a field into panels, and of panels into stretches of the last axis.
#[derive(Clone, Copy, Debug)]
struct Cut {
    shape: [usize; 3],
    panel: [usize; 2],
    stretch: usize,
    levels: usize,
}

impl Cut {
    fn new(shape: [usize; 3], tuning: Tuning) -> Self {
        let [width, height, depth] = shape;
        let even = |size: usize, most: usize| size.div_ceil(size.div_ceil(most));
        // Panels of equal size, and of whole cache lines.
        let panel = [even(width, tuning.panel[0]).next_multiple_of(LINE).min(width), even(height, tuning.panel[1])];
        let panels = width.div_ceil(panel[0]) * height.div_ceil(panel[1]);
        // Twice as many tasks as threads, so that one that is held up does not hold up all; but where that makes short
        // stretches fewer levels, so that the halo stays small beside the stretch.
        let tasks = 2 * rayon::current_num_threads();
        let stretch = depth.div_ceil(tasks.div_ceil(panels)).clamp(depth.min(SHORTEST), LONGEST);
        let levels = if stretch < depth { (stretch / HALO_SHARE).clamp(1, tuning.levels) } else { tuning.levels };
        Self { shape, panel, stretch, levels }
    }

    /// The tasks of a pass of `levels` iterations, each with its rows of the result.
    fn tasks(self, result: &mut [f32], levels: usize) -> Vec<Task<'_>> {
        let [width, height, depth] = self.shape;
        let steps = [self.panel[0], self.panel[1], self.stretch];
        let counts = [width.div_ceil(steps[0]), height.div_ceil(steps[1]), depth.div_ceil(steps[2])];
        let span = |axis: usize, index: usize| {
            let from = index * steps[axis];
            Span::new(from..(from + steps[axis]).min(self.shape[axis]), levels, self.shape[axis])
        };
        let mut tasks = Vec::with_capacity(counts.iter().product());
        for z in 0..counts[2] {
            for y in 0..counts[1] {
                for x in 0..counts[0] {
                    tasks.push(Task { spans: [span(0, x), span(1, y), span(2, z)], rows: Vec::new() });
                }
            }
        }
        for (row, values) in result.chunks_exact_mut(width).enumerate() {
            let first = (row / height / steps[2] * counts[1] + row % height / steps[1]) * counts[0];
            for (piece, task) in values.chunks_mut(steps[0]).zip(&mut tasks[first..]) {
                task.rows.push(piece);
            }
        }
        tasks
    }
}
