//! An image on the CPU, from the caller's input to the caller's output: the slices of a stack, or a volume.
//!
//! The pool computes while the calling thread tells the progress. The calling thread then writes, after its last look
//! at the callback: a cancel, however late, leaves what is not yet written untouched.

use super::prepare::{Start0, prepare};
use super::{Mode, Outcome, Plan, Start, Variant, cpu, multigrid, scalar};
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::{Progress, Ticker, run as run_with_progress};
use crate::report::Report;
use ndarray::{ArrayViewMut3, Axis, s};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::ops::Range;
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
    let mut outcome = Outcome::none(plan);
    for first in (0..depth).step_by(together) {
        let batch = first..depth.min(first + together);
        ticker.section(first / together, depth.div_ceil(together));
        ticker.expect((batch.len() * width * height) as u64 * plan.centre_weights.len() as u64);
        let fields: Vec<(Vec<f32>, Outcome)> = run_with_progress(pool, progress, &ticker, || {
            let starts: Vec<usize> = batch.clone().step_by(field_depth).collect();
            starts
                .into_par_iter()
                .map(|z| solve(plan, &start, input, z..z + field_depth, [width, height, field_depth], &ticker))
                .collect()
        })?;
        ticker.check()?;
        for (z, (field, one)) in batch.step_by(field_depth).zip(fields) {
            write(pool, &field, target.slice_mut(s![z..z + field_depth, .., ..]));
            outcome = outcome.worst(one);
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

/// One field from input to result: a slice, or a volume.
fn solve(
    plan: &Plan,
    start: &Start0,
    input: &Image<'_>,
    slices: Range<usize>,
    shape: [usize; 3],
    ticker: &Ticker,
) -> Result<(Vec<f32>, Outcome)> {
    let (mut field, fixed) = prepare(input, slices, plan, start)?;
    ticker.check()?;
    let outcome = match plan.mode {
        Mode::Iterate { iterations } => {
            if plan.variant == Variant::Scalar {
                scalar::iterate(&mut field, &fixed, shape, &plan.steps(), ticker)?;
            } else {
                cpu::iterate(&mut field, &fixed, shape, &plan.steps(), ticker)?;
            }
            Outcome { iterations, residual: f64::NAN, converged: false }
        }
        Mode::Converged { tolerance, max_cycles } => {
            let goal = multigrid::Goal { lambda: plan.lambda, tolerance, max_cycles };
            let solution = multigrid::solve(&mut field, &fixed, shape, &goal, ticker)?;
            Outcome { iterations: solution.cycles, residual: solution.residual, converged: solution.converged }
        }
    };
    Ok((field, outcome))
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
