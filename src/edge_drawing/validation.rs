//! Validation of segments by the Helmholtz principle: EDPF (Akinlar and Topal, "EDPF: a real-time parameter-free edge segment
//! detector with a false detection control", 2012).
//!
//! H(g) is the share of a slice's pixels whose gradient is at least g. It is the Prewitt gradient after a Gaussian with σ =
//! 0.4, which smooths so little that pixels a short distance apart are independent. A part of a segment, with n points and
//! gradients of at least g, has N·H(g)^k false alarms, the number of times that chance would form such a part: N is the
//! number of parts of all segments, and k = 4n/9 is the number of independent points of the part. If the number of false
//! alarms is at most 1, the part passes. Otherwise it is divided at its smallest gradient, and both sides are tested.
//!
//! The host computes this from finished segments, whichever device has drawn them, so the result is the same for every
//! device. Rules and arithmetic are those of OpenCV's `EdgeDrawing` with `PFmode`; the tests compare the reference profile
//! with it.

use super::gradient::{self, Border, Method, Pixel, Rows, Sink, Source};
use super::prepare::{self, Plan};
use super::reference::{BRANCH_LENGTH, MIN_LENGTH, is_closed};
use super::taps::Taps;
use super::{Operator, Params, Point, Profile, Segment, Segments};
use crate::device::cuda::check_device_pixels;
use crate::device::{Context, in_host_memory, slices_side_by_side, upload_slice};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut, write_packed};
use crate::levels::finite_f32;
use crate::memory::{collected, extend, par_collected, push, reserved, try_collected, try_par_collected, zeroed};
use crate::progress::{Progress, Ticker, run as run_with_progress};
use crate::report::Report;
use ndarray::{Axis, s};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// The standard deviation of the Gaussian before the gradient that is tested.
const SIGMA: f64 = 0.4;

/// Among this many successive points of a segment, [`INDEPENDENT`] count as independent.
const POINTS: usize = 9;
const INDEPENDENT: usize = 4;

/// The smallest number of pixels in a task that computes and counts gradients.
const PIXELS_PER_BAND: usize = 1 << 18;

/// The share of the progress of a call that drawing takes; validation takes the rest.
const DRAWING: f64 = 0.7;

/// Implements [`super::run`] for parameters with validation.
pub(super) fn run(
    context: &Context,
    params: &Params,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    edges: &mut Option<ImageMut<'_>>,
) -> Result<(Report, Option<Segments>)> {
    if let Some(ImageMut::Device(pixels)) = edges {
        let cuda = context.cuda_for(0)?.ok_or_else(|| Error::in_cuda_memory("image"))?;
        check_device_pixels(cuda, "the edge map", pixels)?;
    }
    // 1. Draw all segments.
    let mut part = progress.as_deref_mut().map(|call| |done: f64, stage: &str| call(DRAWING * done, stage));
    let mut part = part.as_mut().map(|call| call as &mut Progress<'_>);
    let (mut report, drawn) = super::draw(context, params, input, &mut part, &mut None, true)?;
    let drawn = drawn.unwrap_or_else(|| unreachable!("segments were asked for"));
    // 2. Keep the parts that pass, and make the edge map from them.
    let started = Instant::now();
    let plan = params.plan(input.pixel_type(), prepare::range(context, params, &mut (*input).into(), &mut None)?);
    let mut part =
        progress.as_deref_mut().map(|call| |done: f64, stage: &str| call(DRAWING + (1.0 - DRAWING) * done, stage));
    let mut part = part.as_mut().map(|call| call as &mut Progress<'_>);
    let valid = Call { context, plan: &plan, input, drawn: &drawn }.slices(&mut part, edges)?;
    report.seconds_compute += started.elapsed().as_secs_f64();
    Ok((report, Some(valid)))
}

/// One call in progress.
struct Call<'a, 'i> {
    context: &'a Context,
    plan: &'a Plan,
    input: &'a Image<'i>,
    /// The segments of all slices.
    drawn: &'a Segments,
}

impl Call<'_, '_> {
    /// Validates all slices, a few at a time, and writes their edge maps.
    fn slices(&self, progress: &mut Option<&mut Progress<'_>>, edges: &mut Option<ImageMut<'_>>) -> Result<Segments> {
        let (context, pool) = (self.context, self.context.pool());
        let [width, height, depth] = self.input.shape();
        let ticker = Ticker::following(super::STAGE);
        let batch_size = slices_side_by_side(pool, width * height).min(depth);
        edges.iter_mut().for_each(ImageMut::use_huge_pages);
        let mut valid = Segments::default();
        for first in (0..depth).step_by(batch_size) {
            let batch = first..depth.min(first + batch_size);
            ticker.section(first / batch_size, depth.div_ceil(batch_size));
            // All pixels are counted twice: for the computation of their gradients, and for the test of the segments.
            ticker.expect((2 * batch.len() * width * height) as u64);
            // 1. Validate a batch of slices on the pool.
            let (image, mut copy) = (self.input.slices(&batch), None);
            let image = &in_host_memory(context, &image, &mut copy)?;
            let slice = |z: usize| self.slice(image, z - first, z, &ticker);
            let done: Vec<Validated> = run_with_progress(pool, progress, &ticker, || {
                try_par_collected(batch.clone().into_par_iter().with_max_len(1).map(slice))
            })?;
            ticker.report(progress)?;
            // 2. Collect the segments.
            let mut maps = reserved(done.len())?;
            for Validated { segments, edges } in done {
                valid.append(segments)?;
                maps.push(edges);
            }
            // 3. Write the edge maps.
            for (z, map) in batch.zip(&maps) {
                match edges {
                    Some(ImageMut::U8(view)) => {
                        pool.install(|| {
                            write_packed(map, view.slice_mut(s![z..z + 1, .., ..]), &ticker, |value| value)
                        })?;
                    }
                    Some(ImageMut::Device(pixels)) => {
                        let cuda = context.cuda_for(0)?.ok_or_else(|| Error::in_cuda_memory("image"))?;
                        upload_slice(context, cuda, &cuda.stream()?, map, pixels, z)?;
                    }
                    Some(ImageMut::U16(_) | ImageMut::F32(_)) => unreachable!("the type of the edge map was checked"),
                    None => {}
                }
            }
        }
        Ok(valid)
    }

    /// Validates the segments of slice `number` of the call, which is slice `z` of `image`.
    fn slice(&self, image: &Image<'_>, z: usize, number: usize, ticker: &Ticker) -> Result<Validated> {
        let slices = &self.drawn.slices;
        let [start, end] = [number, number + 1].map(|z| slices.partition_point(|slice| (*slice as usize) < z));
        let drawn = collected((start..end).map(|index| self.drawn.at(index)))?;
        match image {
            Image::U8(view) => validate(&view.index_axis(Axis(0), z), self.plan, &drawn, ticker),
            Image::U16(view) => validate(&view.index_axis(Axis(0), z), self.plan, &drawn, ticker),
            Image::F32(view) => validate(&self.plan.quantised(view.index_axis(Axis(0), z)), self.plan, &drawn, ticker),
            Image::Device(_) => unreachable!("images in device memory were copied"),
        }
    }
}

/// The result of one slice.
struct Validated {
    segments: Segments,
    /// The edge map, rows packed: 255 on the points of the parts that pass, else 0.
    edges: Vec<u8>,
}

/// Validates the segments of one slice on the current thread pool.
fn validate<P: Pixel>(
    source: &impl Source<P>,
    plan: &Plan,
    drawn: &[Segment<'_>],
    ticker: &Ticker,
) -> Result<Validated> {
    let [width, height] = source.size();
    let mut edges: Vec<u8> = zeroed(width * height)?;
    let mut segments = Segments::default();
    if drawn.is_empty() {
        ticker.add((2 * width * height) as u64);
        return Ok(Validated { segments, edges });
    }
    let at = |point: &Point| point.y as usize * width + point.x as usize;
    // 1. Test the segments, and mark the parts that pass.
    let (gradients, chance) = measure(source, plan, drawn, ticker)?;
    let min_length = plan.min_length.max(MIN_LENGTH);
    let passed = drawn.par_iter().map(|segment| {
        let gradients: Vec<u32> = collected(segment.points.iter().map(|point| gradients[at(point)].into()))?;
        parts_that_pass(&gradients, &chance, min_length, ticker)
    });
    for (segment, parts) in drawn.iter().zip(par_collected(passed)?) {
        parts?.into_iter().flat_map(|part| &segment.points[part]).for_each(|point| edges[at(point)] = 255);
    }
    // 2. The valid parts of a segment are its maximal runs of marked points. Points may also be marked by another segment.
    let marked = |point: &Point| edges[at(point)] != 0;
    for segment in drawn {
        ticker.check()?;
        let mut points = segment.points;
        let mut turned = Vec::new();
        let gap = points.iter().rposition(|point| !marked(point));
        if let (Profile::Paper, true, Some(gap)) = (plan.profile, segment.closed, gap) {
            // A closed segment may begin in the middle of a part, so its points are rotated to begin at a gap.
            extend(&mut turned, points[gap..].iter().chain(&points[..gap]).copied())?;
            points = &turned;
        }
        for part in points.chunk_by(|a, b| marked(a) == marked(b)).filter(|part| marked(&part[0])) {
            let (closed, least) = match plan.profile {
                Profile::Paper => (segment.closed && gap.is_none(), plan.min_length),
                Profile::Reference => {
                    (is_closed(at(&part[0]), at(&part[part.len() - 1]), part.len(), width), BRANCH_LENGTH)
                }
            };
            if part.len() >= least {
                let sum: u64 = part.iter().map(|point| u64::from(gradients[at(point)].into())).sum();
                let mean = finite_f32(sum as f64 * plan.unit / part.len() as f64);
                segments.push(part.iter().copied(), closed, segment.slice, mean)?;
            }
        }
    }
    ticker.add((width * height) as u64);
    Ok(Validated { segments, edges })
}

/// Returns the parts of a segment that pass, given the gradients along it. Parts of fewer than `min_length` points do not
/// pass.
fn parts_that_pass(
    gradients: &[u32],
    chance: &Chance,
    min_length: usize,
    ticker: &Ticker,
) -> Result<Vec<Range<usize>>> {
    let mut passed = Vec::new();
    let mut untested = Vec::new();
    push(&mut untested, 0..gradients.len())?;
    while let Some(part) = untested.pop() {
        ticker.check()?;
        let Some((smallest, least)) = part.clone().zip(&gradients[part.clone()]).min_by_key(|(_, gradient)| **gradient)
        else {
            continue;
        };
        if part.len() < min_length {
            continue;
        }
        if chance.passes(*least, part.len()) {
            push(&mut passed, part)?;
            continue;
        }
        // Also skip the following points with the same gradient: the rest is shorter, so it would fail and be divided
        // there.
        let equal = gradients[smallest..part.end].iter().take_while(|gradient| *gradient == least).count();
        push(&mut untested, smallest + equal..part.end)?;
        push(&mut untested, part.start..smallest)?;
    }
    Ok(passed)
}

/// Computes the number of false alarms of the parts of a slice's segments.
struct Chance {
    /// At index g the number of pixels with a gradient of at least g.
    counts: Vec<u64>,
    /// The number of all pixels that count.
    pixels: usize,
    /// N: the number of parts of all segments.
    parts: f64,
    /// The number of independent points of the longest segment.
    most: u32,
    /// At index g one more than the number of independent points that a part with the smallest gradient g needs; 0 while it
    /// is not known.
    needed: Vec<AtomicU32>,
}

impl Chance {
    /// Takes the number of pixels with each gradient, and the number of all pixels that count.
    fn new(mut counts: Vec<u64>, pixels: usize, drawn: &[Segment<'_>]) -> Result<Self> {
        counts.truncate(counts.iter().rposition(|count| *count > 0).map_or(0, |largest| largest + 1));
        let mut above = 0;
        for count in counts.iter_mut().rev() {
            above += *count;
            *count = above;
        }
        let parts: u64 =
            drawn.iter().map(|segment| segment.points.len() as u64).map(|n| n * n.saturating_sub(1) / 2).sum();
        let longest = drawn.iter().map(|segment| segment.points.len()).max().unwrap_or(0);
        let needed = collected(counts.iter().map(|_| AtomicU32::new(0)))?;
        Ok(Self { counts, pixels, parts: parts as f64, most: independent(longest), needed })
    }

    /// Tells whether a part has at most one false alarm, given its smallest gradient and its number of points.
    fn passes(&self, gradient: u32, points: usize) -> bool {
        let slot = &self.needed[gradient as usize];
        let mut needed = slot.load(Ordering::Relaxed);
        if needed == 0 {
            // Several threads may compute this at the same time, with the same result.
            needed = self.needed_for(self.counts[gradient as usize] as f64 / self.pixels as f64) + 1;
            slot.store(needed, Ordering::Relaxed);
        }
        needed <= independent(points) + 1
    }

    /// Returns the number of independent points with which a part has at most one false alarm if H is `share`; a number
    /// larger than any segment has if there is none. The products are rounded one after the other, as in OpenCV.
    fn needed_for(&self, share: f64) -> u32 {
        let (mut alarms, mut points) = (self.parts, 0);
        while alarms > 1.0 && points <= self.most {
            alarms *= share;
            points += 1;
        }
        points
    }
}

/// Returns how many of a number of points count as independent.
fn independent(points: usize) -> u32 {
    u32::try_from(points * INDEPENDENT / POINTS).unwrap_or(u32::MAX - 2).min(u32::MAX - 2)
}

/// Returns the gradients that are tested, as packed rows, and their statistics.
fn measure<P: Pixel>(
    source: &impl Source<P>,
    plan: &Plan,
    drawn: &[Segment<'_>],
    ticker: &Ticker,
) -> Result<(Vec<P::Gradient>, Chance)> {
    let [width, height] = source.size();
    let (border, pixels) = match plan.profile {
        Profile::Paper => (Border::Mirror, width * height),
        // The outermost pixels, below the threshold of 1, do not count.
        Profile::Reference => (Border::BelowThreshold, width.saturating_sub(2) * height.saturating_sub(2)),
    };
    let method =
        Method { operator: Operator::Prewitt, taps: Taps::new(SIGMA), border, threshold: 1, clear_below: false };
    // Each of the two slopes is a sum of three differences of pixels.
    let largest = 6 * Into::<u32>::into(P::of_level(u32::MAX)) as usize;
    let mut gradients: Vec<P::Gradient> = zeroed(width * height)?;
    // Bands are few, because each has its own counts.
    let bands = (width * height / PIXELS_PER_BAND).clamp(1, rayon::current_num_threads());
    let rows = height.div_ceil(bands);
    let bands = gradients.chunks_mut(rows * width).enumerate().map(|(index, gradients)| {
        let start = index * rows;
        Ok((start..height.min(start + rows), Counter::<P> { gradients, counts: zeroed(largest + 1)? }))
    });
    let counters = gradient::compute(source, &method, try_collected(bands)?, ticker)?;
    let mut counters = counters.into_iter().map(|counter| counter.counts);
    let mut counts = counters.next().unwrap_or_default();
    counters.for_each(|more| counts.iter_mut().zip(more).for_each(|(count, more)| *count += more));
    // All remaining pixels that count have the gradient 0. The counter has also counted the outermost pixels there, which
    // do not count in the reference profile.
    counts[0] = 0;
    counts[0] = (pixels as u64).saturating_sub(counts.iter().sum());
    Ok((gradients, Chance::new(counts, pixels, drawn)?))
}

/// Keeps the gradients of some rows and counts them.
struct Counter<'a, P: Pixel> {
    /// The memory for the gradients of the rows still to come.
    gradients: &'a mut [P::Gradient],
    counts: Vec<u64>,
}

impl<P: Pixel> Sink<P> for Counter<'_, P> {
    #[inline(always)]
    fn row(&mut self, rows: &Rows<'_, P>) {
        let width = rows.smoothed.len();
        let row = &rows.gradient[1][1..=width];
        let (here, later) = std::mem::take(&mut self.gradients).split_at_mut(width);
        here.copy_from_slice(row);
        self.gradients = later;
        row.iter().for_each(|gradient| self.counts[Into::<u32>::into(*gradient) as usize] += 1);
    }
}
