//! Edge strength on the CPU, from the caller's input to the caller's output, for the slices of a stack or for a volume.
//! [`fused`] is the fast path for a given number of iterations, `scalar` the reference, and `multigrid` the converged mode.
//!
//! The worker threads compute, while the calling thread calls the progress callback. The fast path writes directly to the
//! caller's memory if its rows are contiguous.

mod fused;

use super::prepare::{InitialValues, InputPixels, prepare};
use super::{Mode, Outcome, Plan, STAGE, Variant, multigrid, scalar};
use crate::device::{Context, PooledBuffer, slices_side_by_side};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut, on_host, view_of_mut, write_packed};
use crate::memory::{Array, collected, try_par_collected};
use crate::progress::{Progress, Ticker, run as run_with_progress};
use crate::report::Report;
use ndarray::{ArrayViewMut3, Axis, s};
use rayon::prelude::*;
use std::ops::Range;
use std::time::Instant;

/// Tells whether the fast path has fused multiply-add, and therefore returns the same bits as CUDA.
pub(super) fn has_fused_multiply_add() -> bool {
    !matches!(pulp::Arch::new(), pulp::Arch::Scalar)
}

/// Computes the slices `own` of the image; see [`super::compute`].
pub(super) fn run(
    context: &Context,
    (plan, initial): (&Plan, &InitialValues),
    (input, own): (&Image<'_>, &Range<usize>),
    progress: &mut Option<&mut Progress<'_>>,
    output: &mut ImageMut<'_>,
) -> Result<Report> {
    if matches!(plan.variant, Variant::Shared | Variant::Texture) {
        return Err(Error::unsupported(format!(
            "cannot compute on the CPU ({}): the variants shared and texture need a CUDA device; use the default variant",
            context.cpu_for_report().reason
        )));
    }
    let (ImageMut::F32(target), false) = (output, matches!(input, Image::Device(_))) else {
        return Err(Error::in_cuda_memory("image"));
    };
    // In 2D, rows of one pixel are computed as a single row: most of the lanes of their vectors would be empty. The bits are
    // the same, because the sum of the neighbours is symmetric.
    let [width, height, _] = input.shape();
    let (mut input, mut target) = (input.reborrow(), target.view_mut());
    if plan.dimensions == 2 && width == 1 && height > 1 {
        input = on_host!(Image, input, view => view.permuted_axes([0, 2, 1]).into(), unreachable!("it was refused"));
        target.swap_axes(1, 2);
    }
    let input = &input;
    let started = Instant::now();
    let pool = context.pool();
    let ticker = Ticker::new(STAGE);
    // 1. Decide how many slices are computed in parallel. A volume is computed as a whole, including the slices on which
    //    the output's slices depend.
    let [width, height, depth] = input.shape();
    let (field_depth, of_field, together) = match plan.dimensions {
        3 => (depth, own.clone(), own.len()),
        _ => (1, 0..1, slices_side_by_side(pool, width * height)),
    };
    // 2. Allocate the workspace of the fast path.
    let fused = matches!(plan.mode, Mode::Iterate { .. }) && plan.variant != Variant::Scalar;
    let shape = [width, height, field_depth];
    let workspace =
        if fused { Some(pool.install(|| fused::Workspace::new(context.buffer_pool(), shape, plan))?) } else { None };
    let call = Call { plan, initial, input, shape, workspace, ticker: &ticker };
    let direct = fused && has_contiguous_rows(&target) && of_field.len() == field_depth;
    let mut outcome = Outcome::none(plan);
    for first in (0..own.len()).step_by(together) {
        // 3. Compute a batch on the worker threads.
        let batch = first..own.len().min(first + together);
        let fields = batch.len() / of_field.len();
        ticker.section(first / together, own.len().div_ceil(together));
        ticker.expect((fields * field_depth * width * height) as u64 * plan.centre_weights.len() as u64);
        let mut targets = target.slice_mut(s![batch.clone(), .., ..]);
        let mut targets = collected(targets.axis_chunks_iter_mut(Axis(0), of_field.len()))?;
        let solved = run_with_progress(pool, progress, &ticker, || {
            let starts = batch.clone().into_par_iter().step_by(of_field.len());
            let threads = pool.current_num_threads().div_ceil(fields);
            let solve = |(z, target): (usize, &mut ArrayViewMut3<'_, f32>)| {
                call.solve(z, direct.then(|| target.view_mut()), threads)
            };
            try_par_collected(starts.zip(&mut targets).map(solve))
        })?;
        // 4. Write its results, unless they are written.
        run_with_progress(pool, progress, &ticker, || {
            let before = of_field.start * width * height;
            for (target, (values, of_field)) in targets.into_iter().zip(solved) {
                let packed: Option<&[f32]> = match &values {
                    Values::InPlace => None,
                    Values::Pooled(values) => Some(values),
                    Values::Owned(values) => Some(values),
                };
                if let Some(values) = packed {
                    write_packed(&values[before..][..target.len()], target, &ticker, |value| value)?;
                }
                outcome = outcome.worst(of_field);
            }
            Ok(())
        })?;
    }
    let mut report = Report::on_cpu(context, started, own.len());
    report.iterations = outcome.iterations;
    report.residual = outcome.residual;
    report.converged = outcome.converged;
    Ok(report)
}

fn has_contiguous_rows(target: &ArrayViewMut3<'_, f32>) -> bool {
    target.rows().into_iter().next().is_some_and(|row| row.to_slice().is_some())
}

/// A call in progress, which computes slices or a volume.
struct Call<'a, 'i> {
    plan: &'a Plan,
    initial: &'a InitialValues,
    input: &'a Image<'i>,
    /// The shape of a slice, or of the volume.
    shape: [usize; 3],
    /// The workspace of the fast path, if it is used.
    workspace: Option<fused::Workspace<'a>>,
    ticker: &'a Ticker,
}

/// The memory that holds the values of a result.
enum Values<'a> {
    /// The caller's memory.
    InPlace,
    /// A pooled buffer that begins with the packed values and may be longer.
    Pooled(PooledBuffer<'a>),
    /// An array of the packed values.
    Owned(Array<f32>),
}

impl<'a> Call<'a, '_> {
    /// Computes the slice or volume that begins with slice `z` on `threads` threads, into `target` if it is given.
    fn solve(&self, z: usize, target: Option<ArrayViewMut3<'_, f32>>, threads: usize) -> Result<(Values<'a>, Outcome)> {
        let Self { plan, shape, ticker, .. } = *self;
        let pixels = InputPixels::new(self.input, z..z + shape[2], plan, self.initial)?;
        let iterated = |iterations| Outcome { iterations, ..Outcome::none(plan) };
        match (plan.mode, &self.workspace) {
            (Mode::Iterate { iterations }, Some(workspace)) => {
                let values = match target {
                    Some(target) => {
                        fused::iterate(workspace, &pixels, plan, target, threads, ticker)?;
                        Values::InPlace
                    }
                    None => {
                        let [width, height, depth] = shape;
                        let mut field = workspace.field(width * height * depth)?;
                        let (result, _) = field.split_at_mut(width * height * depth);
                        fused::iterate(workspace, &pixels, plan, view_of_mut(result, shape), threads, ticker)?;
                        Values::Pooled(field)
                    }
                };
                Ok((values, iterated(iterations)))
            }
            (Mode::Iterate { iterations }, None) => {
                let (mut field, fixed) = prepare(&pixels, ticker)?;
                scalar::iterate(&mut field, &fixed, shape, plan, ticker)?;
                Ok((Values::Owned(field), iterated(iterations)))
            }
            (Mode::Converged { tolerance, max_cycles }, _) => {
                let (mut field, fixed) = prepare(&pixels, ticker)?;
                let options = multigrid::SolveOptions { operator: plan.operator(), tolerance, max_cycles };
                let outcome = multigrid::solve(&mut field, &fixed, shape, &options, ticker)?;
                Ok((Values::Owned(field), outcome))
            }
        }
    }
}
