//! The intensities that a level set starts with: the image's extremes, and the range of the object. The initial mask (the
//! "start") marks the object. Each limit of an automatic range is half way between the median of the start and the nearest
//! mode of the histogram of its surroundings, on the darker and on the brighter side.
//!
//! The range is measured on the host in a sample of bounded size, so that it is the same for every device.

mod modes;

use super::{Params, STAGE, Side, TargetRange};
use crate::device::{Context, in_host_memory};
use crate::distance;
use crate::error::{Error, Result};
use crate::image::{Dimensions, Image, on_host, zeroed_image};
use crate::memory::{extend, push, reserved};
use crate::parallel::{try_par_each, try_par_indexed};
use crate::progress::{Progress, Ticker, run as run_with_progress};
use modes::modes;
use ndarray::{Array3, ArrayView3, Axis};
use rayon::prelude::*;
use std::ops::Range;

/// The depth of the start's rim, in radii of the start. A start that is too large holds surroundings mostly in its rim.
const RIM: f64 = 2.0 / 3.0;
/// The fewest pixels within the rim for which a start always has a rim.
const FEWEST_WITHIN_RIM: usize = 256;
/// A smaller start has a rim if more than this share of the rim's pixels differ from those within, of which it then has at least
/// `FEWEST_WITHIN`. On 29 nuclei of `tests/data`, with starts 4 pixels larger than each, 6 fronts ran far over the object; of
/// starts that never have a rim 28 did.
const DIFFERENT_RIM: f64 = 0.25;
const FEWEST_WITHIN: usize = 64;
/// The distance from the object that is searched for surroundings at first, in radii of the object.
const REACH: f64 = 3.0;
/// The fewest pixels that make a mode of the surroundings. Otherwise a mode has as many pixels as the start, or `MODE_SHARE`
/// of the histogram.
const FEWEST: usize = 64;
/// The fewest pixels of a start from which alone its noise is estimated. For a smaller start, pixels near it are used, too.
const FEWEST_FOR_NOISE: usize = 16;
/// The distance from such a small start within which differences of pixels are used to estimate its noise, in units of the
/// smallest spacing.
const BESIDE: f64 = 3.0;
const MODE_SHARE: f64 = 0.02;
/// A pixel differs from the start if it is more than this many standard deviations of the start's noise from its median.
const DIFFERENCE: f64 = 3.0;
/// The ratio of the standard deviation to the median absolute deviation of normally distributed values.
const DEVIATION_PER_MEDIAN: f64 = 1.4826;
/// The grain of the start is at most this many standard deviations of its pixel noise, which are those of the differences
/// between neighbours over √2.
const GRAIN: f64 = 4.0;
/// The share of the surroundings that must be darker (or brighter) than the start for a range without an upper (or
/// lower) limit.
const ONE_SIDED: f64 = 0.9;
/// The most cells that are sampled, in the start and around it.
const SAMPLES: usize = 1 << 18;

/// The intensities that the plan depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Intensities {
    /// The range that the front grows into, and its open side.
    pub range: TargetRange,
    pub side: Side,
    /// The deviation from the limits at which, with the automatic α, the image term balances the curvature of a feature of
    /// one voxel.
    pub balance: f64,
    /// The smallest and the largest finite pixel of the image; both are 0 where there is none.
    pub extremes: [f64; 2],
}

/// Returns the range that the front grows into, and its open side, as given by the caller or measured. `progress` can
/// cancel the measurement; its fraction stays 0.
pub(super) fn range(
    context: &Context,
    input: &Image<'_>,
    mask: &Image<'_>,
    params: &Params,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<(TargetRange, Side)> {
    if params.regions.is_some() {
        // The range is measured later, from both sides of the front; this is a placeholder.
        return Ok((TargetRange { target: 0.0, epsilon: 1.0 }, Side::Within));
    }
    if let Some(range) = params.range {
        return Ok((range, params.side.unwrap_or(Side::Within)));
    }
    let (mut input_copy, mut mask_copy) = (None, None);
    let input = &in_host_memory(context, input, &mut input_copy)?;
    let mask = &in_host_memory(context, mask, &mut mask_copy)?;
    let ticker = &Ticker::new(STAGE);
    let measurement = Measurement { context, input, mask, params, ticker };
    run_with_progress(context.pool(), progress, ticker, || measurement.run())
}

/// The first and the last voxel plus one, along x, y, z.
type Box3 = [Range<usize>; 3];

const COPIED: &str = "device images have been copied";

/// The least number of rows of a mask that one task searches.
const ROWS_PER_TASK: usize = 16;

/// Returns the box that holds the initial mask; `None` if it is empty. A cancelled ticker ends it early.
fn bounds_of<T: Copy + Into<f32> + Send + Sync>(mask: ArrayView3<'_, T>, ticker: &Ticker) -> Option<Box3> {
    let none = || [usize::MAX, 0, usize::MAX, 0, usize::MAX, 0];
    let merge = |a: [usize; 6], b: [usize; 6]| {
        std::array::from_fn(|i| if i % 2 == 0 { a[i].min(b[i]) } else { a[i].max(b[i]) })
    };
    let row = |z: usize, y: usize| {
        let row = mask.index_axis(Axis(0), z).index_axis_move(Axis(0), y);
        let is_inside = |pixel: &T| (*pixel).into() > 0.0;
        // Most rows are empty, and counting is fast: the compiler vectorises it for a contiguous row.
        let count = match row.as_slice() {
            Some(row) => row.iter().filter(|pixel| is_inside(pixel)).count(),
            None => row.iter().filter(|pixel| is_inside(pixel)).count(),
        };
        if count == 0 {
            return none();
        }
        let first = row.iter().position(is_inside).unwrap_or_default();
        let last = row.iter().rposition(is_inside).unwrap_or_default();
        [first, last + 1, y, y + 1, z, z + 1]
    };
    let (depth, height, _) = mask.dim();
    let row = |index: usize| if ticker.is_cancelled() { none() } else { row(index / height, index % height) };
    let rows = (0..depth * height).into_par_iter().with_min_len(ROWS_PER_TASK);
    let [left, right, top, bottom, front, back] = rows.map(row).reduce(none, merge);
    (left < right).then_some([left..right, top..bottom, front..back])
}

/// The measurement of a range, on the threads of the current pool.
struct Measurement<'a, 'i, 'm> {
    context: &'a Context,
    input: &'a Image<'i>,
    mask: &'a Image<'m>,
    params: &'a Params,
    ticker: &'a Ticker,
}

/// The part of an image around the start, in cells. A cell is one voxel or, in a large image, a block of several, of which
/// the middle one is sampled.
struct Neighbourhood {
    ranges: Box3,
    /// The voxels of a cell along x, y, z.
    steps: [usize; 3],
    /// The distance of each cell to the start's boundary. A cell with a voxel of the start is inside.
    distances: Array3<f32>,
    /// True if this is the whole image.
    whole: bool,
}

impl Neighbourhood {
    /// Returns the position along an axis of the voxel that is sampled for cell `index`.
    fn middle(&self, axis: usize, index: usize) -> usize {
        let Range { start, end } = self.ranges[axis];
        (start + index * self.steps[axis] + self.steps[axis] / 2).min(end - 1)
    }

    fn voxels_per_cell(&self) -> usize {
        self.steps.iter().product()
    }

    /// Returns a depth inside the start below which at least `count` voxels are; 0 if the start has no more.
    fn depth_of(&self, count: usize) -> Result<f64> {
        let cells = count.div_ceil(self.voxels_per_cell());
        let mut depths = Vec::new();
        extend(&mut depths, self.distances.iter().map(|d| -d).filter(|depth| *depth > 0.0 && depth.is_finite()))?;
        if depths.len() <= cells {
            return Ok(0.0);
        }
        let (_, depth, _) = depths.select_nth_unstable_by(cells - 1, |a, b| b.total_cmp(a));
        // Cells of this depth are below it.
        Ok(f64::from(depth.next_down()))
    }
}

/// The start's pixels, without its rim.
#[derive(Clone, Copy)]
struct Object {
    count: usize,
    median: f64,
    /// A robust standard deviation of the pixels, from their median absolute deviation.
    noise: f64,
    /// The same, estimated from the differences between neighbours. It is smaller than `noise` if the start's brightness
    /// varies slowly, or if the start holds several things.
    grain: f64,
    /// The distance from the median within which a mode is taken for the object's own. It is 0 unless the start has so few
    /// pixels that the median is uncertain.
    own: f64,
}

/// The pixels of a neighbourhood. A pixel is flat if it differs from its neighbours by no more than noise does, which
/// excludes blurred edges.
#[derive(Default)]
struct Surroundings {
    /// The pixels outside the start that differ from it.
    differ: Vec<f64>,
    /// The flat ones of these.
    flat: Vec<f64>,
    /// All flat pixels, including the start's.
    histogram: Vec<f64>,
}

impl Measurement<'_, '_, '_> {
    fn run(&self) -> Result<(TargetRange, Side)> {
        let bounds = on_host!(Image, self.mask, view => bounds_of(*view, self.ticker), unreachable!("{COPIED}"));
        self.ticker.check()?;
        let bounds = bounds.ok_or_else(|| unmeasurable("the mask is empty"))?;
        let spacing = self.params.used_spacing();
        // The radius of the start is not known yet. The first margin assumes that the start fills its bounding box.
        let thickness =
            bounds.iter().zip(spacing).map(|(range, h)| range.len() as f64 * h).fold(f64::INFINITY, f64::min);
        let largest = spacing.iter().copied().fold(0.0, f64::max);
        let (mut rim, mut reach, mut small) = (None, None, None);
        let mut margin = REACH * (thickness / 2.0).max(largest);
        loop {
            let around = self.cut(&bounds, margin)?;
            self.ticker.check()?;
            let radius = -around.distances.iter().copied().filter(|d| d.is_finite()).fold(0.0, f32::min);
            let rim = match rim {
                Some(rim) => rim,
                None => *rim.insert(self.rim(&around, f64::from(radius))?),
            };
            let reach = reach.get_or_insert((REACH * (f64::from(radius) - rim) - rim).max(largest));
            if margin < *reach && !around.whole {
                margin = *reach;
                continue;
            }
            // A start of few pixels is measured once, in the first neighbourhood, where each pixel is a cell; larger
            // neighbourhoods may have larger cells.
            let object = match small {
                Some(object) => object,
                None => self.object(&around, rim)?,
            };
            small = Some(object).filter(|object| object.own > 0.0);
            let surroundings = self.surroundings(&around, object, rim, *reach)?;
            let [count, least] = [object.count, FEWEST].map(|count| count.div_ceil(around.voxels_per_cell()));
            let fewest = count.min((MODE_SHARE * surroundings.histogram.len() as f64) as usize).max(least);
            let modes = modes(&surroundings.histogram, object, fewest)?;
            let everything = around.whole && around.distances.iter().all(|d| !d.is_finite() || f64::from(*d) <= *reach);
            if everything || modes.iter().any(Option::is_some) {
                return self.limits(object, surroundings, modes, fewest);
            }
            *reach *= 2.0;
        }
    }

    /// Returns the depth of the rim of a start with this radius; 0 if it has none. A start that is too large also holds
    /// surroundings, mostly in its rim, so only the pixels deeper inside stand for the object.
    fn rim(&self, around: &Neighbourhood, radius: f64) -> Result<f64> {
        let rim = RIM * radius;
        let within = around.distances.iter().filter(|distance| f64::from(**distance) < -rim).count();
        if within * around.voxels_per_cell() >= FEWEST_WITHIN_RIM {
            return Ok(rim);
        }
        // Few pixels know the object less well than all do, unless many of the others are surroundings.
        let rim = rim.min(around.depth_of(FEWEST_WITHIN)?);
        let Object { median, noise, .. } = self.object(around, rim)?;
        let (mut count, mut different) = (0usize, 0usize);
        for ((k, j, i), distance) in around.distances.indexed_iter() {
            if *distance < 0.0 && f64::from(*distance) >= -rim {
                let pixel = self.pixel([around.middle(2, k), around.middle(1, j), around.middle(0, i)]);
                count += 1;
                different += usize::from((f64::from(pixel) - median).abs() > DIFFERENCE * noise);
            }
        }
        Ok(if different as f64 > DIFFERENT_RIM * count as f64 { rim } else { 0.0 })
    }

    /// Measures the start's pixels that are deeper inside than `rim`, or all of them if none of these is finite.
    fn object(&self, around: &Neighbourhood, rim: f64) -> Result<Object> {
        let [width, height, _] = self.input.shape();
        // A few pixels may be alike by chance, so the differences of the pixels beside them are used to estimate the noise.
        let is_few =
            around.distances.iter().filter(|d| **d < 0.0).count() * around.voxels_per_cell() < FEWEST_FOR_NOISE;
        let smallest = self.params.used_spacing().iter().copied().fold(f64::INFINITY, f64::min);
        let within = if is_few { (BESIDE * smallest) as f32 } else { 0.0 };
        let slice = |k: usize| -> Result<[[Vec<f64>; 2]; 2]> {
            let z = around.middle(2, k);
            let mut found = [(); 2].map(|()| [Vec::new(), Vec::new()]);
            for ((j, i), distance) in around.distances.index_axis(Axis(0), k).indexed_iter() {
                if *distance > within {
                    continue;
                }
                let (y, x) = (around.middle(1, j), around.middle(0, i));
                let pixel = self.pixel([z, y, x]);
                if !pixel.is_finite() {
                    continue;
                }
                let [values, differences] = &mut found[usize::from(f64::from(*distance) >= -rim)];
                if *distance < 0.0 {
                    push(values, pixel.into())?;
                }
                for next in [[z, y, (x + 1).min(width - 1)], [z, (y + 1).min(height - 1), x]] {
                    let difference = (self.pixel(next) - pixel).abs();
                    if next != [z, y, x] && difference.is_finite() {
                        push(differences, difference.into())?;
                    }
                }
            }
            Ok(found)
        };
        let mut all = [(); 2].map(|()| [Vec::new(), Vec::new()]);
        for slice in try_par_indexed(around.distances.dim().0, slice)? {
            for (all, found) in all.iter_mut().zip(slice) {
                for (all, found) in all.iter_mut().zip(found) {
                    extend(all, found)?;
                }
            }
        }
        let [deep, rim] = all;
        let ([mut values, mut differences], [_, beside]) = if deep[0].is_empty() { (rim, deep) } else { (deep, rim) };
        if is_few {
            extend(&mut differences, beside)?;
        }
        let count = values.len() * around.voxels_per_cell();
        let median = median(&mut values).ok_or_else(|| unmeasurable("no pixel inside the mask is finite"))?;
        values.iter_mut().for_each(|value| *value = (*value - median).abs());
        let deviation = |values: &mut [f64]| DEVIATION_PER_MEDIAN * self::median(values).unwrap_or_default();
        let least = self.least_noise(around);
        let grain = deviation(&mut differences) / std::f64::consts::SQRT_2;
        let spread = deviation(&mut values).max(if is_few { grain } else { 0.0 }).max(least);
        // The median of few pixels has an error of its own, which adds to the differences from it.
        let error = if is_few { std::f64::consts::FRAC_PI_2 / count as f64 } else { 0.0 };
        let (noise, own) = (spread * (1.0 + error).sqrt(), DIFFERENCE * spread * error.sqrt());
        Ok(Object { count, median, noise, grain: (GRAIN * grain.max(least)).min(spread), own })
    }

    /// Returns the least noise that is assumed: 1/1000 of the range of the pixels around the start.
    fn least_noise(&self, around: &Neighbourhood) -> f64 {
        let none = || [f64::INFINITY, f64::NEG_INFINITY];
        let merge = |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a.min(c), b.max(d)];
        let (depth, height, width) = around.distances.dim();
        let slice = |k: usize| {
            let places = (0..height).flat_map(|j| (0..width).map(move |i| (j, i)));
            let pixel = |(j, i)| self.pixel([around.middle(2, k), around.middle(1, j), around.middle(0, i)]);
            places
                .map(pixel)
                .filter(|pixel| pixel.is_finite())
                .fold(none(), |found, pixel| merge(found, [pixel.into(); 2]))
        };
        let [low, high] = (0..depth).into_par_iter().map(slice).reduce(none, merge);
        (high - low).max(0.0) / 1000.0
    }

    #[allow(clippy::useless_conversion, reason = "the views are of several types")]
    fn pixel(&self, place: [usize; 3]) -> f32 {
        on_host!(Image, self.input, view => f32::from(view[place]), unreachable!("{COPIED}"))
    }

    /// Cuts out the part of the image within `margin` of the start's bounding box. `margin` is in the unit of the spacing.
    #[allow(clippy::useless_conversion, reason = "the views are of several types")]
    fn cut(&self, bounds: &Box3, margin: f64) -> Result<Neighbourhood> {
        let sizes = self.input.shape();
        let spacing = self.params.used_spacing();
        let used = spacing.len();
        let ranges: Box3 = std::array::from_fn(|axis| match spacing.get(axis) {
            Some(h) => {
                let voxels = (margin / h).ceil().min(sizes[axis] as f64) as usize;
                bounds[axis].start.saturating_sub(voxels)..sizes[axis].min(bounds[axis].end + voxels)
            }
            None => bounds[axis].clone(),
        });
        let whole = (0..used).all(|axis| ranges[axis].len() == sizes[axis]);
        // Slices have no spacing along z, so the smaller of the other two is used for the shape of cells.
        let spacing = [spacing[0], spacing[1], spacing.get(2).copied().unwrap_or(spacing[0].min(spacing[1]))];
        let steps = steps(&ranges, spacing);
        let [width, height, depth] = std::array::from_fn(|axis| ranges[axis].len().div_ceil(steps[axis]));
        let mut marks = zeroed_image::<u8>((depth, height, width))?;
        // For each axis, the voxels of a cell that lie within the start's bounding box.
        let [xs, ys, zs] = [0, 1, 2].map(|axis| {
            let (range, bounds) = (&ranges[axis], &bounds[axis]);
            let step = steps[axis];
            move |cell: usize| {
                let first = range.start + cell * step;
                first.max(bounds.start)..(first + step).min(bounds.end)
            }
        });
        // A cell of several slices is inside where its middle slice, which is sampled, is inside. If no cell is inside by
        // that rule, all slices of a cell count.
        let middle = |cell: usize| {
            let at = (ranges[2].start + cell * steps[2] + steps[2] / 2).min(ranges[2].end - 1);
            at..at + 1
        };
        let is_volume = self.params.dimensions == Dimensions::Volume;
        for any_slice in if is_volume { &[true][..] } else { &[false, true] } {
            let rows =
                marks.as_slice_mut().unwrap_or_else(|| unreachable!("a new array has no gaps")).chunks_mut(width);
            try_par_each(rows, self.ticker, |row, marks| {
                let [y, z] = [row % height, row / height];
                for (x, mark) in marks.iter_mut().enumerate() {
                    let mut slices = if *any_slice { zs(z) } else { middle(z) };
                    let is_inside = on_host!(
                        Image,
                        self.mask,
                        view => slices.any(|z| ys(y).any(|y| xs(x).any(|x| f32::from(view[[z, y, x]]) > 0.0))),
                        unreachable!("{COPIED}")
                    );
                    *mark = u8::from(is_inside);
                }
                Ok(())
            })?;
            if marks.iter().any(|mark| *mark > 0) {
                break;
            }
        }
        let mut distances = zeroed_image::<f32>(marks.dim())?;
        let packed = distances.as_slice_mut().unwrap_or_else(|| unreachable!("a new array has no gaps"));
        let spacing = std::array::from_fn(|axis| spacing[axis] * steps[axis] as f64);
        distance::cpu::signed_into(self.context, marks.view(), spacing, self.params.dimensions, packed, self.ticker)?;
        Ok(Neighbourhood { ranges, steps, distances, whole })
    }

    /// Returns the pixels of the start and within `reach` of it. The start's rim belongs to the surroundings.
    fn surroundings(&self, around: &Neighbourhood, object: Object, rim: f64, reach: f64) -> Result<Surroundings> {
        let [width, height, depth] = self.input.shape();
        let volume = self.params.dimensions == Dimensions::Volume;
        // The difference of two pixels has √2 times the deviation of one.
        let step = DIFFERENCE * std::f64::consts::SQRT_2 * object.grain;
        let is_flat = |z: usize, y: usize, x: usize| {
            let here = self.pixel([z, y, x]);
            let near = |i: usize, count: usize| i.saturating_sub(1)..count.min(i + 2);
            let like = |place: [usize; 3]| f64::from((self.pixel(place) - here).abs()) <= step;
            near(x, width).all(|x| like([z, y, x]))
                && near(y, height).all(|y| like([z, y, x]))
                && (!volume || near(z, depth).all(|z| like([z, y, x])))
        };
        let slice = |k: usize| {
            let z = around.middle(2, k);
            let mut found = Surroundings::default();
            for ((j, i), distance) in around.distances.index_axis(Axis(0), k).indexed_iter() {
                if !distance.is_finite() || f64::from(*distance) > reach {
                    continue;
                }
                let (y, x) = (around.middle(1, j), around.middle(0, i));
                let pixel = f64::from(self.pixel([z, y, x]));
                if !pixel.is_finite() {
                    continue;
                }
                let flat = is_flat(z, y, x);
                if flat {
                    push(&mut found.histogram, pixel)?;
                }
                if f64::from(*distance) >= -rim && (pixel - object.median).abs() > DIFFERENCE * object.noise {
                    push(&mut found.differ, pixel)?;
                    if flat {
                        push(&mut found.flat, pixel)?;
                    }
                }
            }
            Ok(found)
        };
        let mut found = Surroundings::default();
        for Surroundings { differ, flat, histogram } in try_par_indexed(around.distances.dim().0, slice)? {
            extend(&mut found.differ, differ)?;
            extend(&mut found.flat, flat)?;
            extend(&mut found.histogram, histogram)?;
        }
        Ok(found)
    }

    /// Returns the range. Each limit is half way between the start's median and its surroundings on that side: their
    /// nearest mode or, if there is none, the median of their darker (or brighter) pixels.
    fn limits(
        &self,
        object: Object,
        surroundings: Surroundings,
        [darker_mode, brighter_mode]: [Option<f64>; 2],
        fewest: usize,
    ) -> Result<(TargetRange, Side)> {
        let Object { median: middle, noise, .. } = object;
        let Surroundings { flat, differ, .. } = surroundings;
        // If only few of the differing pixels are flat, these belong to the blurred boundary of the object.
        let values = if flat.len() >= fewest { flat } else { differ };
        let count = values.len();
        let (mut darker, mut brighter) = (reserved(count)?, reserved(count)?);
        for pixel in values {
            if pixel < middle { darker.push(pixel) } else { brighter.push(pixel) }
        }
        let share = darker.len() as f64 / count.max(1) as f64;
        let side = self.params.side.unwrap_or(match count {
            0 => Side::Within,
            _ if share >= ONE_SIDED => Side::Above,
            _ if share <= 1.0 - ONE_SIDED => Side::Below,
            _ => Side::Within,
        });
        let half = |mode: Option<f64>, pixels: &mut Vec<f64>| {
            mode.or_else(|| median(pixels)).map(|pixel| (pixel - middle).abs() / 2.0)
        };
        // If few of the pixels lie on one side, they are noise or another object, and that side gets no limit.
        let few = 1.0 - ONE_SIDED;
        let below = if share > few || side == Side::Above { half(darker_mode, &mut darker) } else { None };
        let above = if share < ONE_SIDED || side == Side::Below { half(brighter_mode, &mut brighter) } else { None };
        let alike = [DIFFERENCE * noise, middle.abs() / 1000.0, 1.0];
        let alike = alike.into_iter().find(|epsilon| *epsilon > middle.abs() * 1e-6).unwrap_or(1.0);
        let (target, epsilon) = match (side, below, above) {
            (Side::Within, Some(below), Some(above)) => (middle + (above - below) / 2.0, (above + below) / 2.0),
            (Side::Above, below, above) => (middle, below.or(above).unwrap_or(alike)),
            (Side::Below, below, above) => (middle, above.or(below).unwrap_or(alike)),
            (_, below, above) => (middle, below.or(above).unwrap_or(alike)),
        };
        Ok((TargetRange { target, epsilon }, side))
    }
}

/// Returns the voxels of a cell along x, y, z: 1, or larger numbers if needed for at most `SAMPLES` cells, with sides of
/// about equal length.
fn steps(ranges: &Box3, spacing: [f64; 3]) -> [usize; 3] {
    let mut steps = [1usize; 3];
    let cells = |axis: usize, steps: &[usize; 3]| ranges[axis].len().div_ceil(steps[axis]);
    while (0..3).map(|axis| cells(axis, &steps)).product::<usize>() > SAMPLES {
        let side = |axis: &usize| spacing[*axis] * steps[*axis] as f64;
        let thinnest = (0..3).filter(|axis| cells(*axis, &steps) > 1).min_by(|a, b| side(a).total_cmp(&side(b)));
        let Some(axis) = thinnest else { break };
        steps[axis] += 1;
    }
    steps
}

/// Returns the median (of two middle elements, the larger one), and reorders the values.
fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

fn unmeasurable(what: &str) -> Error {
    Error::argument(format!(
        "the automatic range (target and epsilon) is measured from the initial mask and its surroundings, but {what}; \
         give target and epsilon, or another mask"
    ))
}
