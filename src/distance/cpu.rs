//! The exact distance on the CPU, on all threads.
//!
//! From the first pass to the last the field holds 4·d² in units of the smallest spacing, with the sign bit of the
//! pixel's class (inside or outside). The passes work in place, on both classes together: for an inside pixel, an
//! inside pixel of the same line contributes the value that it holds, and an outside pixel contributes 0; for an
//! outside pixel it is the reverse.
//!
//! 1. [`RowPass`] along x: two ramps for each run of equal pixels.
//! 2. [`ColumnPass`] along y, then z: the minimum, over the pixels of a column, of the value held plus the squared
//!    distance along the column. The last pass takes the root.
//!
//! [`pass`] computes one of these passes by itself, for images of which no computer holds all pixels; [`within_slices`] and
//! [`across_slices`] compute them for volumes whose slices functions of the host read or write.
//!
//! If all spacings are equal, every number is an integer, exact up to a distance of 2048 pixels. If the squares of
//! their ratios are multiples of a sixteenth, numbers are exact up to 512 of the smallest spacing or more. Otherwise
//! the only error is the rounding of floats (at most a few parts in 10⁷ of the distance). The work is divided by the
//! image's shape alone, so the result does not depend on the number of threads.

mod passes;

use super::{Params, Region, STAGE};
use crate::device::{Context, PerThread};
use crate::error::{Error, Result};
use crate::image::{Dimensions, Foreground, Image, ImageMut, on_host, write_packed};
use crate::memory::zeroed;
use crate::parallel::try_par_each;
use crate::progress::{Progress, Ticker, run as run_with_progress};
use crate::report::Report;
use crate::threshold::Pixel;
use ndarray::{ArrayView1, ArrayView3, ArrayViewMut1, ArrayViewMut3, s};
pub(super) use passes::ALIGNED_COLUMNS;
use passes::{ColumnPass, RowPass, TASK_PIXELS, Workspace};
use std::ops::Range;
use std::time::Instant;

/// The number of pixels up to which slices of a stack are computed side by side.
const BATCH_PIXELS: usize = 1 << 20;

/// Computes the whole image; see [`super::run`].
pub(super) fn run(
    context: &Context,
    params: &Params,
    mask: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    output: &mut ImageMut<'_>,
) -> Result<Report> {
    let ImageMut::F32(output) = output else { return Err(Error::in_cuda_memory("image")) };
    let started = Instant::now();
    let device = Err(Error::in_cuda_memory("image"));
    on_host!(Image, mask, view => Call { context, params, view: *view }.run(progress, output), device)?;
    Ok(Report::on_cpu(context, started, mask.shape()[2]))
}

/// Computes the signed distance of a mask whose inside pixels are not 0, into packed floats, for other operations. The
/// ticker can cancel it; its fraction does not change.
pub(crate) fn signed_into(
    context: &Context,
    inside: ArrayView3<'_, u8>,
    spacing: [f64; 3],
    dimensions: Dimensions,
    output: &mut [f32],
    ticker: &Ticker,
) -> Result<()> {
    let params = Params { dimensions, spacing, ..Params::default() };
    params.check()?;
    let call = Call { context, params: &params, view: inside };
    context.pool().install(|| call.compute(0..inside.dim().0, output, ticker))
}

/// A call in progress.
struct Call<'a, T> {
    context: &'a Context,
    params: &'a Params,
    view: ArrayView3<'a, T>,
}

impl<T: Pixel> Call<'_, T> {
    fn run(&self, progress: &mut Option<&mut Progress<'_>>, output: &mut ArrayViewMut3<'_, f32>) -> Result<()> {
        let (depth, height, width) = self.view.dim();
        let axes = [width, height, if self.params.dimensions == Dimensions::Volume { depth } else { 1 }];
        let passes = axes.iter().filter(|length| **length > 1).count().max(1);
        let compute = |slices, field: &mut [f32], ticker: &Ticker| self.compute(slices, field, ticker);
        by_groups(self.context, self.params.dimensions, passes, progress, output, &compute)
    }

    /// Computes some slices, or the volume, on the threads of the current pool.
    fn compute(&self, slices: Range<usize>, field: &mut [f32], ticker: &Ticker) -> Result<()> {
        let mut view = self.view.slice(s![slices, .., ..]);
        let [mut hx, mut hy, mut hz] = self.params.spacing;
        let volume = self.params.dimensions == Dimensions::Volume;
        // 1. Move axes of one pixel to the end, so that a line of pixels is along x.
        if volume {
            while view.dim().2 == 1 && (view.dim().1 > 1 || view.dim().0 > 1) {
                view = view.permuted_axes([2, 0, 1]);
                [hx, hy, hz] = [hy, hz, hx];
            }
        } else if view.dim().2 == 1 {
            view = view.permuted_axes([0, 2, 1]);
            [hx, hy] = [hy, hx];
        }
        // 2. Prepare the passes.
        let (depth, height, width) = view.dim();
        let lengths = [width, height, if volume { depth } else { 1 }];
        let metric = Metric::new(lengths, [hx, hy, hz]);
        let passes = 1 + lengths[1..].iter().filter(|length| **length > 1).count();
        let finish = Finish { scale: metric.scale, region: self.params.region };
        let last = |pass: usize| (pass == passes).then_some(&finish);
        let rows = RowPass::new(width, metric.weights[0], last(1))?;
        let along_y = ColumnPass::new(height, metric.weights[1], if lengths[2] > 1 { None } else { Some(&finish) })?;
        let along_z = ColumnPass::new(lengths[2], metric.weights[2], Some(&finish))?;
        let workspaces = PerThread::new(|| Workspace::new(width, height.max(lengths[2])))?;
        // 3. Run them: x and y slice by slice, then z.
        self.each_slice(view, (&rows, (height > 1).then_some(&along_y)), &workspaces, field, ticker)?;
        if lengths[2] > 1 {
            along_z.run(field, &workspaces, ticker)?;
        }
        Ok(())
    }

    /// Computes the pass along x of each slice of a view and, if there is one, the pass along y.
    fn each_slice(
        &self,
        view: ArrayView3<'_, T>,
        (rows, columns): (&RowPass<'_>, Option<&ColumnPass<'_>>),
        workspaces: &PerThread<Workspace>,
        field: &mut [f32],
        ticker: &Ticker,
    ) -> Result<()> {
        let (_, height, width) = view.dim();
        let mask = Mask { view, threshold: T::threshold(self.params.threshold), foreground: self.params.foreground };
        try_par_each(field.chunks_mut(width * height), ticker, |z, slice| {
            rows.run(&mask, z, slice, workspaces, ticker)?;
            columns.map_or(Ok(()), |columns| columns.run(slice, workspaces, ticker))
        })
    }
}

/// A function that computes some slices of an image into their packed output.
type Compute<'a> = dyn Fn(Range<usize>, &mut [f32], &Ticker) -> Result<()> + Sync + 'a;

/// Computes the volume, or group by group the slices that are computed together, by a function that goes through its output
/// `passes` times.
fn by_groups(
    context: &Context,
    dimensions: Dimensions,
    passes: usize,
    progress: &mut Option<&mut Progress<'_>>,
    output: &mut ArrayViewMut3<'_, f32>,
    compute: &Compute<'_>,
) -> Result<()> {
    let pool = context.pool();
    let ticker = Ticker::new(STAGE);
    let (depth, height, width) = output.dim();
    let together = match dimensions {
        Dimensions::Volume => depth,
        Dimensions::Slices => (BATCH_PIXELS / (width * height)).clamp(1, depth),
    };
    // Packed memory of the caller is written directly.
    if let Some(output) = output.as_slice_mut() {
        ticker.expect((passes * output.len()) as u64);
        return run_with_progress(pool, progress, &ticker, || compute(0..depth, output, &ticker));
    }
    let mut field = context.buffer_pool().acquire(together * width * height)?;
    for first in (0..depth).step_by(together) {
        let slices = first..depth.min(first + together);
        let field = &mut field[..slices.len() * width * height];
        ticker.section(first / together, depth.div_ceil(together));
        ticker.expect((passes * field.len()) as u64);
        run_with_progress(pool, progress, &ticker, || compute(slices.clone(), field, &ticker))?;
        let target = output.slice_mut(s![slices, .., ..]);
        run_with_progress(pool, progress, &ticker, || write_packed(field, target, &ticker, |value| value))?;
    }
    Ok(())
}

/// Computes the pass along an axis; see [`crate::distance::pass`].
pub(super) fn pass(
    context: &Context,
    params: &Params,
    axis: usize,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    mut output: ImageMut<'_>,
) -> Result<Report> {
    let started = Instant::now();
    let in_cuda_memory = |name: &str| {
        Error::unsupported(format!(
            "cannot compute one pass of the distance: the {name} is in CUDA memory; copy it to host memory, as the CPU \
             computes passes"
        ))
    };
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

/// Computes the passes along x and y of some slices of a `volume`, as [`run`] does; see [`super::streamed`].
pub(super) fn within_slices(
    context: &Context,
    (params, volume): (&Params, [usize; 3]),
    mask: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    mut output: ImageMut<'_>,
) -> Result<()> {
    output.use_huge_pages();
    let ImageMut::F32(output) = &mut output else { return Err(Error::in_cuda_memory("output")) };
    let device = Err(Error::in_cuda_memory("mask"));
    let passes = (&Metric::new(volume, params.spacing), Dimensions::Volume, 2);
    on_host!(Image, mask, view => Call { context, params, view: *view }.within_slices(passes, progress, output), device)
}

/// Computes the pass along z of some columns of a `volume`, whose values are packed in `field`, as [`run`] does, on the
/// threads of the current pool. The bits are those of the whole volume if their number is a multiple of [`ALIGNED_COLUMNS`],
/// or if they are the last ones.
pub(super) fn across_slices(params: &Params, volume: [usize; 3], field: &mut [f32], ticker: &Ticker) -> Result<()> {
    let metric = Metric::new(volume, params.spacing);
    let finish = Finish { scale: metric.scale, region: params.region };
    let columns = ColumnPass::new(volume[2], metric.weights[2], Some(&finish))?;
    columns.run(field, &PerThread::new(|| Workspace::new(0, volume[2]))?, ticker)
}

/// Returns the metric of an image with these parameters in which no axis has one pixel.
fn metric(params: &Params) -> Metric {
    Metric::new([2, 2, if params.dimensions == Dimensions::Volume { 2 } else { 1 }], params.spacing)
}

impl<T: Pixel> Call<'_, T> {
    /// Computes the first one or two of the passes along x and y, of slices with a metric.
    fn within_slices(
        &self,
        (metric, dimensions, passes): (&Metric, Dimensions, usize),
        progress: &mut Option<&mut Progress<'_>>,
        output: &mut ArrayViewMut3<'_, f32>,
    ) -> Result<()> {
        let (_, height, width) = self.view.dim();
        let length = if passes > 1 { height } else { 0 };
        let rows = RowPass::new(width, metric.weights[0], None)?;
        let columns = ColumnPass::new(length, metric.weights[1], None)?;
        let workspaces = self.context.pool().install(|| PerThread::new(|| Workspace::new(width, length)))?;
        by_groups(self.context, dimensions, passes, progress, output, &|slices, field, ticker| {
            let view = self.view.slice(s![slices, .., ..]);
            self.each_slice(view, (&rows, (passes > 1).then_some(&columns)), &workspaces, field, ticker)
        })
    }

    /// Computes the pass along x, of the pixels of the image.
    fn along_rows(&self, progress: &mut Option<&mut Progress<'_>>, output: &mut ArrayViewMut3<'_, f32>) -> Result<()> {
        self.within_slices((&metric(self.params), self.params.dimensions, 1), progress, output)
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
        let workspaces = self.context.pool().install(|| PerThread::new(|| Workspace::new(0, length)))?;
        // The columns of a slice, or of the volume, are in one piece of the field.
        let piece = if axis == 1 { width * height } else { width * height * depth };
        by_groups(self.context, dimensions, 1, progress, output, &|slices, field, ticker| {
            pack(self.view.slice(s![slices, .., ..]), field, ticker)?;
            try_par_each(field.chunks_mut(piece), ticker, |_, field| columns.run(field, &workspaces, ticker))
        })
    }
}

/// Copies pixels into packed values, on all threads of the current pool. The ticker can cancel it.
pub(super) fn pack(view: ArrayView3<'_, f32>, values: &mut [f32], ticker: &Ticker) -> Result<()> {
    let (_, height, width) = view.dim();
    let rows = TASK_PIXELS.div_ceil(width);
    try_par_each(values.chunks_mut(rows * width), ticker, |task, values| {
        for (row, to) in (task * rows..).zip(values.chunks_exact_mut(width)) {
            let from: ArrayView1<'_, f32> = view.slice(s![row / height, row % height, ..]);
            ArrayViewMut1::from(to).assign(&from);
        }
        Ok(())
    })
}

/// The metric: the squared length of a step along each axis.
pub(super) struct Metric {
    /// The square of the spacing, in units of the smallest spacing of the axes of more than one pixel; 1 along the
    /// others.
    pub(super) weights: [f64; 3],
    /// The factor from the root of a value of the field to the distance.
    pub(super) scale: f32,
}

impl Metric {
    /// Makes the metric of an image. Axes of one pixel are ignored.
    pub(super) fn new(lengths: [usize; 3], spacing: [f64; 3]) -> Self {
        let counts = |axis: &usize| lengths[*axis] > 1;
        let unit = (0..3).filter(counts).map(|axis| spacing[axis]).fold(f64::INFINITY, f64::min);
        let unit = if unit.is_finite() { unit } else { 1.0 };
        let weight = |axis| if counts(&axis) { square(spacing[axis] / unit) } else { 1.0 };
        Self { weights: std::array::from_fn(weight), scale: (unit / 2.0) as f32 }
    }
}

/// Returns the square of a ratio. It is rounded to a multiple of a sixteenth if it differs from one by no more than the
/// rounding errors of the spacings (of their decimals, and of a change of units) and of the ratio, such as 0.3 / 0.2.
/// Sums of such squares are exact, and CUDA has a faster path for them.
fn square(ratio: f64) -> f64 {
    let square = ratio * ratio;
    let multiple = (square * 16.0).round() / 16.0;
    if (square - multiple).abs() <= 8.0 * f64::EPSILON * square { multiple } else { square }
}

/// Returns 4·d² along one axis to the near side of the pixel that is `steps` pixels away.
#[inline(always)]
fn term(weight: f64, steps: usize) -> f32 {
    let halves = (2 * steps) as f64 - 1.0;
    (weight * (halves * halves)) as f32
}

/// The last step, from 4·d² to the distances of a region.
#[derive(Clone, Copy)]
struct Finish {
    scale: f32,
    region: Region,
}

impl Finish {
    #[inline(always)]
    fn apply(&self, values: &mut [f32]) {
        let scale = self.scale;
        match self.region {
            Region::Signed => values.iter_mut().for_each(|v| *v = (v.abs().sqrt() * scale).copysign(*v)),
            Region::Outside => {
                values.iter_mut().for_each(|v| *v = if *v > 0.0 { v.sqrt() * scale } else { 0.0 });
            }
            Region::Inside => {
                values.iter_mut().for_each(|v| *v = if *v < 0.0 { v.abs().sqrt() * scale } else { 0.0 });
            }
        }
    }
}

/// The caller's pixels as a mask.
struct Mask<'a, T: Pixel> {
    view: ArrayView3<'a, T>,
    threshold: T::Threshold,
    foreground: Foreground,
}

impl<T: Pixel> Mask<'_, T> {
    /// Writes row `[y, z]`: 1 inside, 0 outside.
    #[inline(always)]
    fn row(&self, [y, z]: [usize; 2], inside: &mut [u8]) {
        let row: ArrayView1<'_, T> = self.view.slice(s![z, y, ..]);
        match (row.as_slice(), self.foreground) {
            (Some(row), Foreground::Above) => {
                inside.iter_mut().zip(row).for_each(|(to, pixel)| *to = u8::from(pixel.is_above(self.threshold)));
            }
            (Some(row), Foreground::Below) => {
                inside.iter_mut().zip(row).for_each(|(to, pixel)| *to = u8::from(pixel.is_below(self.threshold)));
            }
            (None, foreground) => {
                let marks = row.iter().map(|pixel| u8::from(pixel.is_foreground(foreground, self.threshold)));
                inside.iter_mut().zip(marks).for_each(|(to, mark)| *to = mark);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_within_rounding_errors_of_a_sixteenth_are_rounded() {
        let weights = |spacing| Metric::new([9; 3], spacing).weights;
        let pairs = [(0.2, 0.3, 2.25), (0.1, 0.15, 2.25), (0.2, 0.7, 12.25), (0.1, 0.3, 9.0), (1.2, 1.5, 1.5625)];
        for (less, more, square) in pairs {
            assert_eq!(weights([less, more, less]), [1.0, square, 1.0], "{less} and {more}");
            for unit in [1e-9, 1e-3, 0.7, 1.1, 1e6, 2.54e7] {
                assert_eq!(
                    weights([more * unit, less * unit, less * unit])[0],
                    square,
                    "{unit} times {less} and {more}"
                );
            }
        }
        // Other weights are not rounded, however near to a multiple.
        assert_eq!(weights([1.0, 1.1, 1.3]), [1.0, 1.1 * 1.1, 1.3 * 1.3]);
        let near = 1.5 * (1.0 + 1e-14);
        assert_eq!(weights([1.0, 1.0, near]), [1.0, 1.0, near * near]);
    }

    #[test]
    fn axes_of_one_pixel_are_ignored() {
        let metric = Metric::new([9, 1, 9], [0.6, 0.1, 0.9]);
        assert_eq!((metric.weights[0], metric.weights[2], metric.scale), (1.0, 2.25, 0.3));
    }
}
