//! The search along finished segments that lines and ellipses share: access to the pixels beside segments, slice by slice,
//! and the test of candidates by the Helmholtz principle.

use super::segments::{Point, Segments};
use crate::device::{Context, HostCopy, slices_side_by_side};
use crate::error::{Error, Result};
use crate::image::{Image, check_shapes, on_host};
use crate::memory::extend;
use crate::progress::{Progress, Ticker, run as run_with_progress};
use crate::report::Report;
use crate::slice_io::Input;
use ndarray::ArrayView3;
use std::ops::Range;
use std::time::Instant;

/// The chance that a gradient of random direction is aligned with a curve: its direction is within 22.5 degrees of the
/// curve's normal. The normal points to the same side for all pixels of the curve.
pub(super) const ALIGNED: f64 = 1.0 / 8.0;

/// The cosine of 22.5 degrees.
const COS_TOLERANCE: f64 = 0.923_879_532_511_286_7;

/// The number of points of a segment between two polls for cancellation.
pub(super) const POINTS_PER_CHECK: usize = 1 << 14;

/// Replaces `found` by the results of `find`, which is called with the indices of the segments of successive slices. `find`
/// adds the points of its segments to the ticker in each of its `passes` over them.
pub(super) fn run<T: Send>(
    (name, passes): (&'static str, u64),
    context: &Context,
    mut input: Input<'_>,
    segments: &Segments,
    progress: Option<&mut Progress<'_>>,
    found: &mut Vec<T>,
    find: impl Fn(&Pixels<'_, '_>, Range<usize>, &Ticker) -> Result<Vec<T>> + Sync,
) -> Result<Report> {
    let started = Instant::now();
    let mut progress = progress;
    let shape = input.shape();
    check_shapes(shape, shape)?;
    let _lock = context.lock()?;
    let [width, height, depth] = shape;
    let pool = context.pool();
    let ticker = Ticker::new(name);
    let last = segments.slices.last().map_or(0, |slice| *slice as usize);
    if last >= depth {
        return Err(Error::argument(format!(
            "cannot find {name}: the slices of the segments must be those of the image, 0 to {} (got {last}); give the \
             image that the segments were drawn in",
            depth - 1
        )));
    }
    // Pixels in device memory are copied a few slices at a time.
    let together = match &input {
        Input::Image(Image::Device(_)) => slices_side_by_side(pool, width * height).min(depth),
        Input::Image(_) => depth,
        Input::Source(_) => 1,
    };
    let mut all = Vec::new();
    // Searches a batch of slices. The first slice of `image` is slice `slices_before` of the call.
    let mut search = |image: &Image<'_>, slices_before: usize, batch: Range<usize>| {
        let [start, end] = [batch.start, batch.end].map(|z| segments.slices.partition_point(|s| (*s as usize) < z));
        ticker.section(batch.start / together, depth.div_ceil(together));
        ticker.expect(passes * (segments.offsets()[end] - segments.offsets()[start]));
        let pixels = Pixels { image, size: [width, height], slices_before, name };
        extend(&mut all, run_with_progress(pool, &mut progress, &ticker, || find(&pixels, start..end, &ticker))?)
    };
    // Slices without a segment are neither copied nor read.
    let has_segments = |batch: &Range<usize>| {
        let first = segments.slices.partition_point(|slice| (*slice as usize) < batch.start);
        segments.slices.get(first).is_some_and(|slice| (*slice as usize) < batch.end)
    };
    match &mut input {
        Input::Image(Image::Device(pixels)) => {
            let batches = (0..depth).step_by(together).map(|first| first..depth.min(first + together));
            for batch in batches.filter(has_segments) {
                let copy = HostCopy::new(context, &pixels.slices(&batch))?;
                search(&copy.view(), batch.start, batch)?;
            }
        }
        Input::Image(image) => search(image, 0, 0..depth)?,
        Input::Source(source) => {
            let mut slices = Vec::new();
            extend(&mut slices, (0..depth).filter(|slice| has_segments(&(*slice..slice + 1))))?;
            context.each_slice(source, slices, &ticker, |slice, image| search(image, slice, slice..slice + 1))?;
        }
    }
    // The last slices may have no segments, so set the progress to its end.
    ticker.section(0, 1);
    ticker.set(1.0);
    ticker.report(&mut progress)?;
    *found = all;
    let mut report = Report::on_cpu(context, started, depth);
    report.complete(started, format_args!("{name} of {shape:?} pixels"));
    Ok(report)
}

/// Some slices of an image, in host memory.
pub(super) struct Pixels<'a, 'i> {
    pub image: &'a Image<'i>,
    /// Width and height.
    pub size: [usize; 2],
    /// The number of the call's slices before the first one of `image`.
    pub slices_before: usize,
    /// The name of the objects to find, for messages.
    pub name: &'static str,
}

impl Pixels<'_, '_> {
    /// Returns an error if a segment has points outside of the image.
    pub fn check(&self, points: &[Point], index: usize) -> Result<()> {
        let [width, height] = self.size;
        let Some(point) = points.iter().find(|p| p.x as usize >= width || p.y as usize >= height) else {
            return Ok(());
        };
        Err(Error::argument(format!(
            "cannot find {}: the points of the segments must be pixels of the image, of {width} x {height} (got point ({}, \
             {}) in segment {index}); give the image that the segments were drawn in",
            self.name, point.x, point.y
        )))
    }

    /// Returns the Prewitt gradient at a pixel of a slice of the call; `None` at outermost pixels, which lack neighbours.
    fn gradient(&self, slice: u32, x: usize, y: usize) -> Option<[f64; 2]> {
        let [width, height] = self.size;
        if x == 0 || y == 0 || x + 1 >= width || y + 1 >= height {
            return None;
        }
        let slice = slice as usize - self.slices_before;
        Some(
            on_host!(Image, self.image, view => prewitt(view, slice, x, y), unreachable!("images in device memory were copied")),
        )
    }
}

/// The gradients that were tested along a curve.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tested {
    pub count: u64,
    /// The number of gradients along the normal, and of gradients against it.
    pub along: u64,
    pub against: u64,
}

impl Tested {
    /// Tests the gradient at a pixel of a slice of the call, if it has one.
    pub fn add(&mut self, pixels: &Pixels<'_, '_>, slice: u32, [x, y]: [usize; 2], normal: [f64; 2]) {
        let Some([gx, gy]) = pixels.gradient(slice, x, y) else { return };
        let along = normal[0] * gx + normal[1] * gy;
        let needed = COS_TOLERANCE * (gx * gx + gy * gy).sqrt();
        self.count += 1;
        // A gradient without a direction, or beside a pixel that is not finite, is not aligned.
        let is_direction = needed > 0.0 && needed.is_finite();
        self.along += u64::from(is_direction && along >= needed);
        self.against += u64::from(is_direction && -along >= needed);
    }

    /// Returns the binary logarithm of the chance that at least as many random gradients would be aligned: the number along
    /// the normal or against it, whichever is larger.
    pub fn log_chance(&self) -> f64 {
        log_tail(self.count, self.along.max(self.against), ALIGNED)
    }
}

/// Returns the Prewitt gradient at a pixel that has all neighbours.
fn prewitt<T: Copy + Into<f64>>(view: &ArrayView3<'_, T>, slice: usize, x: usize, y: usize) -> [f64; 2] {
    let row = |y: usize| [x - 1, x, x + 1].map(|x| view[[slice, y, x]].into());
    let [a, b, c] = [y - 1, y, y + 1].map(row);
    let column = |x: usize| a[x] + b[x] + c[x];
    [column(2) - column(0), c.iter().sum::<f64>() - a.iter().sum::<f64>()]
}

/// Returns the binary logarithm of the tail of the binomial distribution: the chance that at least `hits` of `count`
/// independent events, each of chance `p`, occur. If `hits` is at most the expected number, returns 0, which is an upper
/// bound.
pub(super) fn log_tail(count: u64, hits: u64, p: f64) -> f64 {
    let (n, k) = (count as f64, hits as f64);
    if k <= n * p {
        return 0.0;
    }
    // 1. The chance of exactly `hits`.
    let ways: f64 = (1..=hits.min(count - hits)).map(|i| ((n - i as f64 + 1.0) / i as f64).log2()).sum();
    let exactly = ways + k * p.log2() + (n - k) * (1.0 - p).log2();
    // 2. The chances of larger numbers, relative to that of exactly `hits`. They decrease.
    let (mut sum, mut term) = (1.0, 1.0);
    for i in hits..count {
        term *= (count - i) as f64 / (i + 1) as f64 * (p / (1.0 - p));
        sum += term;
        if term < sum * f64::EPSILON {
            break;
        }
    }
    (exactly + f64::log2(sum)).min(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_that_of_the_binomial_distribution() {
        // Against the plain sum, of products that neither overflow nor lose digits.
        for count in 0..60u64 {
            for hits in 0..=count {
                let chance = |k: u64| {
                    let ways = (1..=k).fold(1.0, |ways, i| ways * (count - k + i) as f64 / i as f64);
                    ways * ALIGNED.powi(k as i32) * (1.0 - ALIGNED).powi((count - k) as i32)
                };
                let plain: f64 = (hits..=count).rev().map(chance).sum();
                let tail = log_tail(count, hits, ALIGNED);
                if hits as f64 > count as f64 * ALIGNED {
                    assert!((tail - plain.log2()).abs() < 1e-12 * tail.abs().max(1.0), "{count} {hits} {tail} {plain}");
                } else {
                    assert_eq!(tail, 0.0);
                }
            }
        }
        // All of a hundred thousand: p^n.
        assert!((log_tail(100_000, 100_000, ALIGNED) / (100_000.0 * ALIGNED.log2()) - 1.0).abs() < 1e-12);
    }
}
