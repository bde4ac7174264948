//! An image on the CPU, from the caller's input to the caller's output: the slices of a stack, or a volume.
//!
//! The pool computes while the calling thread tells the progress. The calling thread then writes, after its last look
//! at the callback: a cancel, however late, leaves what is not yet written untouched. Without a callback nothing can
//! cancel, and the fast path writes to the caller's memory by itself.

use super::prepare::{Pixels, Start0, prepare};
use super::{Mode, Outcome, Plan, Start, Variant, cpu, multigrid, scalar};
use crate::device::{Context, Lent};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::{Progress, Ticker, run as run_with_progress};
use crate::report::Report;
use ndarray::{ArrayViewMut3, Axis, s};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::time::Instant;

/// From this many pixels on a slice occupies all cores by itself; smaller ones are computed side by side.
const LARGE_SLICE: usize = 1 << 20;

/// Rows that one worker writes at a time.
const ROWS_A_WORKER: usize = 64;

/// Computes the whole image; see [`super::run`].
pub(super) fn run(
    context: &Context,
    plan: &Plan,
    start: Start,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    output: &mut ImageMut<'_>,
) -> Result<Report> {
    let info = context.cpu_for_report();
    if matches!(plan.variant, Variant::Shared | Variant::Texture) {
        return Err(Error::unsupported(format!(
            "the variants shared and texture need a CUDA device, but this runs on the CPU ({}); use the default variant",
            info.reason
        )));
    }
    let (ImageMut::F32(target), false) = (output, matches!(input, Image::Device(_))) else {
        return Err(Error::unsupported(
            "the image is in CUDA memory, but this runs on the CPU; use a CUDA context or host memory",
        ));
    };
    let started = Instant::now();
    let pool = context.pool();
    let ticker = Ticker::new("edge strength");
    let start = pool.install(|| Start0::resolve(start, input, plan.foreground));
    let [width, height, depth] = input.shape();
    // A field is a slice or the volume; small slices are computed side by side.
    let (field_depth, together) = match plan.dimensions {
        3 => (depth, depth),
        _ if width * height >= LARGE_SLICE => (1, 1),
        _ => (1, pool.current_num_threads()),
    };
    let fused = matches!(plan.mode, Mode::Iterate { .. }) && plan.variant != Variant::Scalar;
    let room = if fused {
        Some(pool.install(|| cpu::Room::new(context.scratch(), [width, height, field_depth], &plan.steps()))?)
    } else {
        None
    };
    let solver = Solver { plan, start: &start, input, shape: [width, height, field_depth], room, ticker: &ticker };
    let direct = fused && progress.is_none() && has_contiguous_rows(target);
    let mut outcome = Outcome::none(plan);
    for first in (0..depth).step_by(together) {
        let batch = first..depth.min(first + together);
        ticker.section(first / together, depth.div_ceil(together));
        ticker.expect((batch.len() * width * height) as u64 * plan.centre_weights.len() as u64);
        let mut targets = target.slice_mut(s![batch.clone(), .., ..]);
        let mut targets: Vec<_> = targets.axis_chunks_iter_mut(Axis(0), field_depth).collect();
        let solved: Vec<Solved<'_>> = run_with_progress(pool, progress, &ticker, || {
            let starts = batch.clone().into_par_iter().step_by(field_depth);
            let threads = pool.current_num_threads().div_ceil(batch.len() / field_depth);
            starts
                .zip(&mut targets)
                .map(|(z, target)| solver.solve(z, direct.then(|| target.view_mut()), threads))
                .collect()
        })?;
        ticker.check()?;
        for (target, solved) in targets.into_iter().zip(solved) {
            match solved.field {
                Field::InPlace => {}
                Field::Lent(values) => write(pool, &values, target),
                Field::Own(values) => write(pool, &values, target),
            }
            outcome = outcome.worst(solved.outcome);
        }
    }
    let mut report = Report::new(&info);
    report.iterations = outcome.iterations;
    report.residual = outcome.residual;
    report.converged = outcome.converged;
    report.slices_done = depth as u64;
    report.seconds_compute = started.elapsed().as_secs_f64();
    Ok(report)
}

fn has_contiguous_rows(target: &ArrayViewMut3<'_, f32>) -> bool {
    target.rows().into_iter().next().is_some_and(|row| row.to_slice().is_some())
}

/// What turns fields from input to result: slices, or a volume.
struct Solver<'a, 'i> {
    plan: &'a Plan,
    start: &'a Start0,
    input: &'a Image<'i>,
    /// Of a field.
    shape: [usize; 3],
    /// For the fast path.
    room: Option<cpu::Room<'a>>,
    ticker: &'a Ticker,
}

/// A field that is done.
struct Solved<'a> {
    field: Field<'a>,
    outcome: Outcome,
}

/// Where its values are.
enum Field<'a> {
    /// In the caller's memory.
    InPlace,
    /// Packed, in front of what may be more.
    Lent(Lent<'a>),
    /// Packed.
    Own(Vec<f32>),
}

impl<'a> Solver<'a, '_> {
    /// The field that begins with slice `z`, by so many threads, into `target` where there is one.
    fn solve(&self, z: usize, target: Option<ArrayViewMut3<'_, f32>>, threads: usize) -> Result<Solved<'a>> {
        let Self { plan, shape, ticker, .. } = *self;
        let pixels = Pixels::new(self.input, z..z + shape[2], plan, self.start)?;
        match (plan.mode, &self.room) {
            (Mode::Iterate { iterations }, Some(room)) => {
                let field = match target {
                    Some(target) => {
                        cpu::iterate(room, &pixels, &plan.steps(), target, threads, ticker)?;
                        Field::InPlace
                    }
                    None => {
                        let [width, height, depth] = shape;
                        let mut field = room.field(width * height * depth)?;
                        let (result, _) = field.split_at_mut(width * height * depth);
                        let result = ArrayViewMut3::from_shape((depth, height, width), result);
                        let result = result.unwrap_or_else(|_| unreachable!("a view of its own size"));
                        cpu::iterate(room, &pixels, &plan.steps(), result, threads, ticker)?;
                        Field::Lent(field)
                    }
                };
                Ok(Solved { field, outcome: Outcome { iterations, residual: f64::NAN, converged: false } })
            }
            (Mode::Iterate { iterations }, None) => {
                let (mut field, fixed) = prepare(&pixels)?;
                ticker.check()?;
                scalar::iterate(&mut field, &fixed, shape, &plan.steps(), ticker)?;
                let outcome = Outcome { iterations, residual: f64::NAN, converged: false };
                Ok(Solved { field: Field::Own(field), outcome })
            }
            (Mode::Converged { tolerance, max_cycles }, _) => {
                let (mut field, fixed) = prepare(&pixels)?;
                ticker.check()?;
                let goal = multigrid::Goal { lambda: plan.lambda, tolerance, max_cycles };
                let solution = multigrid::solve(&mut field, &fixed, shape, &goal, ticker)?;
                let outcome =
                    Outcome { iterations: solution.cycles, residual: solution.residual, converged: solution.converged };
                Ok(Solved { field: Field::Own(field), outcome })
            }
        }
    }
}

/// Copies a packed field into the caller's view, on all cores.
fn write(pool: &ThreadPool, field: &[f32], mut output: ArrayViewMut3<'_, f32>) {
    let (_, height, width) = output.dim();
    pool.install(|| {
        for (mut slice, values) in output.outer_iter_mut().zip(field.chunks_exact(width * height)) {
            slice
                .axis_chunks_iter_mut(Axis(0), ROWS_A_WORKER)
                .into_par_iter()
                .zip(values.par_chunks(width * ROWS_A_WORKER))
                .for_each(|(mut rows, values)| {
                    for (mut row, values) in rows.rows_mut().into_iter().zip(values.chunks_exact(width)) {
                        match row.as_slice_mut() {
                            Some(row) => row.copy_from_slice(values),
                            None => row.iter_mut().zip(values).for_each(|(to, from)| *to = *from),
                        }
                    }
                });
        }
    });
}
