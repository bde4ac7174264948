//! One pass by itself, from an image to another one.

use super::passes::{ColumnPass, RowPass, TASK_PIXELS, Workspace};
use super::{Call, Finish, Mask, Metric, by_groups};
use crate::device::{Context, PerThread};
use crate::distance::Params;
use crate::error::{Error, Result};
use crate::image::{Dimensions, Image, ImageMut};
use crate::progress::{Progress, Ticker};
use crate::report::Report;
use crate::threshold::Pixel;
use ndarray::{ArrayView1, ArrayView3, ArrayViewMut1, ArrayViewMut3, s};
use rayon::prelude::*;
use std::time::Instant;

/// Computes the pass along an axis; see [`crate::distance::pass`].
pub(in crate::distance) fn run(
    context: &Context,
    params: &Params,
    axis: usize,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    mut output: ImageMut<'_>,
) -> Result<Report> {
    let started = Instant::now();
    output.use_huge_pages();
    let ImageMut::F32(output) = &mut output else { return Err(in_cuda_memory("output")) };
    match (input, axis) {
        (Image::U8(view), _) => Call { context, params, view: *view }.along_rows(progress, output)?,
        (Image::U16(view), _) => Call { context, params, view: *view }.along_rows(progress, output)?,
        (Image::F32(view), 0) => Call { context, params, view: *view }.along_rows(progress, output)?,
        (Image::F32(view), _) => Call { context, params, view: *view }.along_columns(axis, progress, output)?,
        (Image::Device(_), _) => return Err(in_cuda_memory("input")),
    }
    Ok(Report::on_cpu(context, started, input.shape()[2]))
}

fn in_cuda_memory(name: &str) -> Error {
    Error::unsupported(format!(
        "cannot compute one pass of the distance: the {name} is in CUDA memory; copy it to host memory, as the CPU computes \
         passes"
    ))
}

/// Returns the metric of an image with these parameters in which no axis has one pixel.
fn metric(params: &Params) -> Metric {
    Metric::new([2, 2, if params.dimensions == Dimensions::Volume { 2 } else { 1 }], params.spacing)
}

impl<T: Pixel> Call<'_, T> {
    /// Computes the pass along x, of the pixels of the image.
    fn along_rows(&self, progress: &mut Option<&mut Progress<'_>>, output: &mut ArrayViewMut3<'_, f32>) -> Result<()> {
        let (_, height, width) = self.view.dim();
        let Params { threshold, foreground, dimensions, .. } = *self.params;
        let rows = RowPass::new(width, metric(self.params).weights[0], None)?;
        let workspaces = PerThread::new(|| Workspace::new(width, 0))?;
        by_groups(self.context, dimensions, 1, progress, output, &|slices, field, ticker| {
            let view = self.view.slice(s![slices, .., ..]);
            let mask = Mask { view, threshold: T::threshold(threshold), foreground };
            let slices = field.par_chunks_mut(width * height).enumerate();
            slices.into_par_iter().try_for_each(|(z, slice)| rows.run(&mask, z, slice, &workspaces, ticker))
        })
    }
}

impl Call<'_, f32> {
    /// Computes the pass along y (1) or z (2), of the values of the pass before.
    fn along_columns(
        &self,
        axis: usize,
        progress: &mut Option<&mut Progress<'_>>,
        output: &mut ArrayViewMut3<'_, f32>,
    ) -> Result<()> {
        let (depth, height, width) = self.view.dim();
        let Params { dimensions, region, .. } = *self.params;
        let metric = metric(self.params);
        let finish = Finish { scale: metric.scale, region };
        let is_last = axis == 2 || dimensions == Dimensions::Slices;
        let length = [width, height, depth][axis];
        let columns = ColumnPass::new(length, metric.weights[axis], is_last.then_some(&finish))?;
        let workspaces = PerThread::new(|| Workspace::new(0, length))?;
        // The columns of a slice, or of the volume, are in one piece of the field.
        let piece = if axis == 1 { width * height } else { width * height * depth };
        by_groups(self.context, dimensions, 1, progress, output, &|slices, field, ticker| {
            pack(self.view.slice(s![slices, .., ..]), field, ticker)?;
            field.par_chunks_mut(piece).try_for_each(|field| columns.run(field, &workspaces, ticker))
        })
    }
}

/// Copies pixels into packed values, on all threads of the current pool. The ticker can cancel it.
fn pack(view: ArrayView3<'_, f32>, values: &mut [f32], ticker: &Ticker) -> Result<()> {
    let (_, height, width) = view.dim();
    let rows = TASK_PIXELS.div_ceil(width);
    values.par_chunks_mut(rows * width).enumerate().try_for_each(|(task, values)| {
        ticker.check()?;
        for (row, to) in (task * rows..).zip(values.chunks_exact_mut(width)) {
            let from: ArrayView1<'_, f32> = view.slice(s![row / height, row % height, ..]);
            ArrayViewMut1::from(to).assign(&from);
        }
        Ok(())
    })
}
