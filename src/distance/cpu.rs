//! The distance on the CPU, by all threads, exactly.
//!
//! The field holds 4·d² in units of the smallest spacing, with the sign bit of the pixel's class, from the first pass to
//! the last, in place. One pass does both classes: seen from an inside pixel, an inside pixel of the same line holds what
//! is known of its own line, and an outside pixel holds 0; and the other way round.
//!
//! 1. [`rows`] along x: two ramps for each run of equal pixels.
//! 2. [`columns`] along y, then z: the least of what the pixels of a column hold plus their own distance. The last pass
//!    takes the root.
//!
//! Where all spacings are equal every number is an integer, and exact up to a distance of 2048 pixels; where the squares of
//! their ratios are multiples of a sixteenth, up to 512 of the smallest spacing or more. A float's rounding (at most a few
//! parts in 10⁷ of the distance) is all there is otherwise. The work is cut by the image's shape
//! alone, so the result does not depend on the number of threads.

mod columns;
mod rows;

use super::{Params, Region};
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{Dimensions, Foreground, Image, ImageMut, zeroed};
use crate::progress::{Progress, Ticker, run as run_with_progress};
use crate::report::Report;
use crate::threshold::Pixel;
use columns::{Bench, Columns};
use ndarray::{ArrayView1, ArrayView3, ArrayViewMut3, Axis, s};
use rayon::prelude::*;
use rows::Rows;
use std::ops::Range;
use std::sync::Mutex;
use std::time::Instant;

/// Slices of a stack are computed side by side until they have so many pixels together.
const BATCH_PIXELS: usize = 1 << 20;

/// See [`super::run`].
pub(super) fn run(
    context: &Context,
    params: &Params,
    mask: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    output: &mut ImageMut<'_>,
) -> Result<Report> {
    let ImageMut::F32(output) = output else { return Err(in_cuda_memory()) };
    let started = Instant::now();
    match mask {
        Image::U8(view) => Call { context, params, view: *view }.run(progress, output)?,
        Image::U16(view) => Call { context, params, view: *view }.run(progress, output)?,
        Image::F32(view) => Call { context, params, view: *view }.run(progress, output)?,
        Image::Device(_) => return Err(in_cuda_memory()),
    }
    let mut report = Report::new(&context.cpu_for_report());
    report.slices_done = mask.shape()[2] as u64;
    report.seconds_compute = started.elapsed().as_secs_f64();
    Ok(report)
}

fn in_cuda_memory() -> Error {
    Error::unsupported("the image is in CUDA memory, but this runs on the CPU; use a CUDA context or host memory")
}

/// The signed distance of a mask whose inside pixels are not 0, into packed floats; for other operations.
pub(crate) fn signed_into(
    context: &Context,
    inside: ArrayView3<'_, u8>,
    spacing: [f64; 3],
    dimensions: Dimensions,
    output: &mut [f32],
) -> Result<()> {
    let params = Params { dimensions, spacing, ..Params::default() };
    params.check()?;
    let call = Call { context, params: &params, view: inside };
    let ticker = Ticker::new("distance");
    context.pool().install(|| call.compute(0..inside.dim().0, output, &ticker))
}

/// What is computed from what.
struct Call<'a, T> {
    context: &'a Context,
    params: &'a Params,
    view: ArrayView3<'a, T>,
}

impl<T: Pixel> Call<'_, T> {
    fn run(&self, progress: &mut Option<&mut Progress<'_>>, output: &mut ArrayViewMut3<'_, f32>) -> Result<()> {
        let pool = self.context.pool();
        let ticker = Ticker::new("distance");
        let (depth, height, width) = self.view.dim();
        // Without a callback nothing can cancel, and packed memory of the caller's is written to as it is computed.
        if progress.is_none()
            && let Some(output) = output.as_slice_mut()
        {
            return pool.install(|| self.compute(0..depth, output, &ticker));
        }
        let together = match self.params.dimensions {
            Dimensions::Volume => depth,
            Dimensions::Slices => (BATCH_PIXELS / (width * height)).clamp(1, depth),
        };
        let mut field = self.context.scratch().lend(together * width * height)?;
        for first in (0..depth).step_by(together) {
            let slices = first..depth.min(first + together);
            let field = &mut field[..slices.len() * width * height];
            ticker.section(first / together, depth.div_ceil(together));
            run_with_progress(pool, progress, &ticker, || self.compute(slices.clone(), field, &ticker))?;
            // The last look at the callback: a cancel, however late, leaves what is not yet written untouched.
            ticker.report(progress)?;
            let target = output.slice_mut(s![slices, .., ..]);
            pool.install(|| write(field, target));
        }
        Ok(())
    }

    /// Some slices, or the volume, on the threads of the current pool.
    fn compute(&self, slices: Range<usize>, field: &mut [f32], ticker: &Ticker) -> Result<()> {
        let mut view = self.view.slice(s![slices, .., ..]);
        let [mut hx, mut hy, mut hz] = self.params.spacing;
        let volume = self.params.dimensions == Dimensions::Volume;
        // Axes of one pixel go last: the rest of the code may take x to be the longest of a line of pixels.
        if volume {
            while view.dim().2 == 1 && (view.dim().1 > 1 || view.dim().0 > 1) {
                view = view.permuted_axes([2, 0, 1]);
                [hx, hy, hz] = [hy, hz, hx];
            }
        } else if view.dim().2 == 1 {
            view = view.permuted_axes([0, 2, 1]);
            [hx, hy] = [hy, hx];
        }
        let (depth, height, width) = view.dim();
        let lengths = [width, height, if volume { depth } else { 1 }];
        let metric = Metric::new(lengths, [hx, hy, hz]);
        let passes = 1 + lengths[1..].iter().filter(|length| **length > 1).count();
        ticker.expect((passes * view.len()) as u64);

        let finish = Finish { scale: metric.scale, region: self.params.region };
        let last = |pass: usize| (pass == passes).then_some(&finish);
        let mask = Mask { view, cut: T::cut(self.params.threshold), foreground: self.params.foreground };
        let rows = Rows::new(width, metric.weights[0], last(1))?;
        let along_y = Columns::new(height, metric.weights[1], if lengths[2] > 1 { None } else { Some(&finish) })?;
        let along_z = Columns::new(lengths[2], metric.weights[2], Some(&finish))?;
        let benches = Benches::new(width, height.max(lengths[2]))?;
        field.par_chunks_mut(width * height).enumerate().try_for_each(|(z, slice)| {
            rows.run(&mask, z, slice, &benches, ticker)?;
            if height > 1 { along_y.run(slice, &benches, ticker) } else { Ok(()) }
        })?;
        if lengths[2] > 1 {
            along_z.run(field, &benches, ticker)?;
        }
        Ok(())
    }
}

/// How long a step along each axis is.
pub(super) struct Metric {
    /// The square of the spacing, in units of the smallest one of the axes that count; 1 along the others.
    pub(super) weights: [f64; 3],
    /// From the root of what the field holds to the distance.
    pub(super) scale: f32,
}

impl Metric {
    /// Axes of one pixel do not count.
    pub(super) fn new(lengths: [usize; 3], spacing: [f64; 3]) -> Self {
        let counts = |axis: &usize| lengths[*axis] > 1;
        let unit = (0..3).filter(counts).map(|axis| spacing[axis]).fold(f64::INFINITY, f64::min);
        let unit = if unit.is_finite() { unit } else { 1.0 };
        let weight = |axis| if counts(&axis) { square(spacing[axis] / unit) } else { 1.0 };
        Self { weights: std::array::from_fn(weight), scale: (unit / 2.0) as f32 }
    }
}

/// The ratio's square: a multiple of a sixteenth if it misses one by no more than roundings of the spacings (of their
/// decimals, and by a change of units) and of the ratio, as that of 0.3 to 0.2 does. Sums of such squares are exact, and
/// CUDA has a faster way for them.
fn square(ratio: f64) -> f64 {
    let square = ratio * ratio;
    let multiple = (square * 16.0).round() / 16.0;
    if (square - multiple).abs() <= 8.0 * f64::EPSILON * square { multiple } else { square }
}

/// 4·d² along one axis, `steps` pixels away: to the near side of that pixel.
#[inline(always)]
fn term(weight: f64, steps: usize) -> f32 {
    let halves = (2 * steps) as f64 - 1.0;
    (weight * (halves * halves)) as f32
}

/// From 4·d² to what the caller wants.
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

/// The caller's pixels as inside and outside.
struct Mask<'a, T: Pixel> {
    view: ArrayView3<'a, T>,
    cut: T::Cut,
    foreground: Foreground,
}

impl<T: Pixel> Mask<'_, T> {
    /// Row `[y, z]`: 1 inside, 0 outside.
    #[inline(always)]
    fn row(&self, [y, z]: [usize; 2], inside: &mut [u8]) {
        let row: ArrayView1<'_, T> = self.view.slice(s![z, y, ..]);
        match (row.as_slice(), self.foreground) {
            (Some(row), Foreground::Above) => {
                inside.iter_mut().zip(row).for_each(|(to, pixel)| *to = u8::from(pixel.is_above(self.cut)));
            }
            (Some(row), Foreground::Below) => {
                inside.iter_mut().zip(row).for_each(|(to, pixel)| *to = u8::from(pixel.is_below(self.cut)));
            }
            (None, foreground) => {
                let marks = row.iter().map(|pixel| u8::from(pixel.is_shape(foreground, self.cut)));
                inside.iter_mut().zip(marks).for_each(|(to, mark)| *to = mark);
            }
        }
    }
}

/// What each thread has in hand.
struct Benches(Vec<Mutex<Bench>>);

impl Benches {
    /// For rows of `width` and columns of `length`, on the threads of the current pool.
    fn new(width: usize, length: usize) -> Result<Self> {
        let benches = (0..rayon::current_num_threads()).map(|_| Bench::new(width, length).map(Mutex::new));
        Ok(Self(benches.collect::<Result<_>>()?))
    }

    /// Runs `work`, which must not wait for other tasks, with this thread's bench.
    fn at<R>(&self, work: impl FnOnce(&mut Bench) -> R) -> R {
        let bench = &self.0[rayon::current_thread_index().unwrap_or(0)];
        work(&mut bench.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

/// Copies packed slices into the caller's view, on all threads of the current pool.
fn write(field: &[f32], mut output: ArrayViewMut3<'_, f32>) {
    let (_, height, width) = output.dim();
    let slices = output.axis_iter_mut(Axis(0)).into_par_iter().zip(field.par_chunks(width * height));
    slices.for_each(|(mut slice, values)| {
        let rows = slice.axis_iter_mut(Axis(0)).into_par_iter().zip(values.par_chunks(width));
        rows.with_min_len(64).for_each(|(mut row, values)| match row.as_slice_mut() {
            Some(row) => row.copy_from_slice(values),
            None => row.iter_mut().zip(values).for_each(|(to, from)| *to = *from),
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_that_miss_a_sixteenth_by_roundings_are_one() {
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
        // What is no such multiple stays as it is, however near.
        assert_eq!(weights([1.0, 1.1, 1.3]), [1.0, 1.1 * 1.1, 1.3 * 1.3]);
        let near = 1.5 * (1.0 + 1e-14);
        assert_eq!(weights([1.0, 1.0, near]), [1.0, 1.0, near * near]);
    }

    #[test]
    fn axes_of_one_pixel_do_not_count() {
        let metric = Metric::new([9, 1, 9], [0.6, 0.1, 0.9]);
        assert_eq!((metric.weights[0], metric.weights[2], metric.scale), (1.0, 2.25, 0.3));
    }
}
