//! The intensities that a level set starts with: the image's extremes, and the range of the object. An automatic range
//! lies between the object, which the initial mask marks, and its surroundings.
//!
//! It is measured on the host, so that it is the same for every device.

use super::{Params, Side, TargetRange};
use crate::device::{Context, HostCopy};
use crate::distance;
use crate::error::{Error, Result};
use crate::image::{Dimensions, Image, collected, extend, par_collected, push, reserved};
use ndarray::{Array3, ArrayView3, Axis, s};
use rayon::prelude::*;
use std::ops::Range;

/// The distance from the start within which surroundings are first looked for, in radii of the start.
const REACH: f64 = 3.0;
/// The fewest pixels that make surroundings, where the start does not have more.
const FEWEST: usize = 64;
/// The smallest share of them beside which the image is flat. Where it is smaller, they are the blurred boundary of the
/// object.
const FLAT_SHARE: f64 = 0.25;
/// A pixel differs from the start if it is more than this many standard deviations of the start's noise from its median.
const DIFFERENCE: f64 = 3.0;
/// The standard deviation of normally distributed values over their median absolute deviation.
const DEVIATION_PER_MEDIAN: f64 = 1.4826;
/// The share of the surroundings that must be darker (or brighter) than the start for a range without an upper (or
/// lower) limit.
const ONE_SIDED: f64 = 0.9;

/// The intensities that the plan depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Intensities {
    /// The range that the front grows into, and its open side.
    pub range: TargetRange,
    pub side: Side,
    /// The smallest and the largest finite pixel of the image; both are 0 where there is none.
    pub extremes: [f64; 2],
}

impl Intensities {
    /// Takes those that are given, and measures the others.
    pub(super) fn new(context: &Context, input: &Image<'_>, mask: &Image<'_>, params: &Params) -> Result<Self> {
        let extremes = match input {
            Image::Device(pixels) => {
                let cuda = context.cuda_for(0)?.ok_or_else(|| Error::in_cuda_memory("image"))?;
                cuda.extremes("the input", pixels)?
            }
            _ => context.pool().install(|| input.extremes()).unwrap_or_default(),
        };
        if let Some(range) = params.range {
            return Ok(Self { range, side: params.side.unwrap_or(Side::Within), extremes });
        }
        measured(context, input, mask, params, extremes)
    }
}

/// The first and the last voxel plus one, along x, y, z.
type Box3 = [Range<usize>; 3];

/// Returns a part of an image in host memory, whose pixels all fit f32.
fn part(image: &Image<'_>, [x, y, z]: &Box3) -> Result<Array3<f32>> {
    let part = s![z.clone(), y.clone(), x.clone()];
    match image {
        Image::U8(view) => mapped(view.slice(part), f32::from),
        Image::U16(view) => mapped(view.slice(part), f32::from),
        Image::F32(view) => mapped(view.slice(part), |pixel| pixel),
        Image::Device(_) => unreachable!("device images have been copied"),
    }
}

/// Returns an array of what `map` makes of each element, or an error when out of memory.
fn mapped<T: Copy, U>(view: ArrayView3<'_, T>, map: impl Fn(T) -> U) -> Result<Array3<U>> {
    let values = collected(view.iter().map(|value| map(*value)))?;
    Ok(Array3::from_shape_vec(view.dim(), values).unwrap_or_else(|_| unreachable!("as many as there are elements")))
}

/// Returns the box that holds all pixels above 0; `None` if there is none.
fn bounds(mask: &Image<'_>) -> Option<Box3> {
    fn bounds_of<T: Copy + Into<f64> + Send + Sync>(view: ArrayView3<'_, T>) -> [usize; 6] {
        let none = || [usize::MAX, 0, usize::MAX, 0, usize::MAX, 0];
        let merge = |a: [usize; 6], b: [usize; 6]| {
            std::array::from_fn(|i| if i % 2 == 0 { a[i].min(b[i]) } else { a[i].max(b[i]) })
        };
        let slice = |z: usize| {
            view.index_axis(Axis(0), z)
                .indexed_iter()
                .filter(|(_, mark)| (**mark).into() > 0.0)
                .fold(none(), |found, ((y, x), _)| merge(found, [x, x + 1, y, y + 1, z, z + 1]))
        };
        (0..view.dim().0).into_par_iter().map(slice).reduce(none, merge)
    }
    let [left, right, top, bottom, front, back] = match mask {
        Image::U8(view) => bounds_of(*view),
        Image::U16(view) => bounds_of(*view),
        Image::F32(view) => bounds_of(*view),
        Image::Device(_) => unreachable!("device images have been copied"),
    };
    (left < right).then_some([left..right, top..bottom, front..back])
}

/// Measures the range of the object in an image.
fn measured(
    context: &Context,
    input: &Image<'_>,
    mask: &Image<'_>,
    params: &Params,
    extremes: [f64; 2],
) -> Result<Intensities> {
    match (input, mask) {
        (Image::Device(pixels), _) => {
            measured(context, &HostCopy::new(context, pixels)?.view(), mask, params, extremes)
        }
        (_, Image::Device(pixels)) => {
            measured(context, input, &HostCopy::new(context, pixels)?.view(), params, extremes)
        }
        _ => context.pool().install(|| Measurement { context, input, mask, params, extremes }.run()),
    }
}

/// The measurement of a range, on the threads of the current pool.
struct Measurement<'a, 'i, 'm> {
    context: &'a Context,
    input: &'a Image<'i>,
    mask: &'a Image<'m>,
    params: &'a Params,
    extremes: [f64; 2],
}

/// The part of an image round the start, with the distance of each voxel to the start's boundary.
struct Neighbourhood {
    pixels: Array3<f32>,
    distances: Array3<f32>,
    /// True if this is the whole image.
    whole: bool,
}

/// The start's pixels.
#[derive(Clone, Copy)]
struct Object {
    count: usize,
    median: f64,
    /// The standard deviation that normally distributed noise of the same median absolute deviation has.
    noise: f64,
}

impl Measurement<'_, '_, '_> {
    fn run(&self) -> Result<Intensities> {
        let bounds = bounds(self.mask).ok_or_else(|| unmeasurable("the mask is empty"))?;
        let object = self.object(&bounds)?;
        let spacing = self.params.used_spacing();
        // The reach is at first that of a start as thick as its bounds; its own radius is not yet known.
        let thickness =
            bounds.iter().zip(spacing).map(|(range, h)| range.len() as f64 * h).fold(f64::INFINITY, f64::min);
        let largest = spacing.iter().copied().fold(0.0, f64::max);
        let mut reach = None;
        let mut margin = REACH * (thickness / 2.0).max(largest);
        loop {
            let around = self.cut(&bounds, margin)?;
            let radius = -around.distances.iter().copied().filter(|d| d.is_finite()).fold(0.0, f32::min);
            let reach = reach.get_or_insert(REACH * f64::from(radius).max(largest));
            let [flat, all] = self.surroundings(&around, object, *reach)?;
            let enough = flat.len() >= object.count.max(FEWEST) && flat.len() as f64 >= FLAT_SHARE * all.len() as f64;
            let everything = around.whole && around.distances.iter().all(|d| !d.is_finite() || f64::from(*d) <= *reach);
            if enough || everything {
                let values = if enough { flat } else { all };
                return self.intensities(object, values);
            }
            *reach *= 2.0;
            margin = margin.max(*reach);
        }
    }

    fn object(&self, bounds: &Box3) -> Result<Object> {
        let (pixels, marks) = (part(self.input, bounds)?, part(self.mask, bounds)?);
        let inside = pixels.iter().zip(&marks).filter(|(pixel, mark)| **mark > 0.0 && pixel.is_finite());
        let mut values: Vec<f64> = Vec::new();
        extend(&mut values, inside.map(|(pixel, _)| f64::from(*pixel)))?;
        let count = values.len();
        let median = median(&mut values).ok_or_else(|| unmeasurable("no pixel inside the mask is finite"))?;
        values.iter_mut().for_each(|value| *value = (*value - median).abs());
        let noise = DEVIATION_PER_MEDIAN * self::median(&mut values).unwrap_or_default();
        Ok(Object { count, median, noise: noise.max((self.extremes[1] - self.extremes[0]) / 1000.0) })
    }

    /// Cuts what lies within `margin` of the start's bounds, in the unit of the spacing.
    fn cut(&self, bounds: &Box3, margin: f64) -> Result<Neighbourhood> {
        let sizes = self.input.shape();
        let spacing = self.params.used_spacing();
        let ranges: Box3 = std::array::from_fn(|axis| match spacing.get(axis) {
            Some(h) => {
                let voxels = (margin / h).ceil().min(sizes[axis] as f64) as usize;
                bounds[axis].start.saturating_sub(voxels)..sizes[axis].min(bounds[axis].end + voxels)
            }
            None => bounds[axis].clone(),
        });
        let used = spacing.len();
        let whole = (0..used).all(|axis| ranges[axis].len() == sizes[axis]);
        let pixels = part(self.input, &ranges)?;
        let marks = mapped(part(self.mask, &ranges)?.view(), |mark| u8::from(mark > 0.0))?;
        let mut distances = mapped(marks.view(), |_| 0f32)?;
        let packed = distances.as_slice_mut().unwrap_or_else(|| unreachable!("a new array has no gaps"));
        let spacing = [spacing[0], spacing[1], spacing.get(2).copied().unwrap_or(1.0)];
        distance::cpu::signed_into(self.context, marks.view(), spacing, self.params.dimensions, packed)?;
        Ok(Neighbourhood { pixels, distances, whole })
    }

    /// Returns the pixels within `reach` of the start that differ from it: those beside which the image is flat, which
    /// the blur of an edge is not, and all.
    fn surroundings(&self, around: &Neighbourhood, object: Object, reach: f64) -> Result<[Vec<f64>; 2]> {
        let Neighbourhood { pixels, distances, .. } = around;
        let (depth, height, width) = pixels.dim();
        let volume = self.params.dimensions == Dimensions::Volume;
        // The difference of two pixels has √2 times the noise.
        let step = DIFFERENCE * std::f64::consts::SQRT_2 * object.noise;
        let is_flat = |z: usize, y: usize, x: usize| {
            let here = pixels[[z, y, x]];
            let near = |i: usize, count: usize| i.saturating_sub(1)..count.min(i + 2);
            let like = |other: f32| f64::from((other - here).abs()) <= step;
            near(x, width).all(|x| like(pixels[[z, y, x]]))
                && near(y, height).all(|y| like(pixels[[z, y, x]]))
                && (!volume || near(z, depth).all(|z| like(pixels[[z, y, x]])))
        };
        let slice = |z: usize| {
            let mut found = [Vec::new(), Vec::new()];
            for ((y, x), distance) in distances.index_axis(Axis(0), z).indexed_iter() {
                let pixel = f64::from(pixels[[z, y, x]]);
                let outside = *distance > 0.0 && f64::from(*distance) <= reach;
                if outside && pixel.is_finite() && (pixel - object.median).abs() > DIFFERENCE * object.noise {
                    push(&mut found[1], pixel)?;
                    if is_flat(z, y, x) {
                        push(&mut found[0], pixel)?;
                    }
                }
            }
            Ok(found)
        };
        let slices: Vec<Result<[Vec<f64>; 2]>> = par_collected((0..depth).into_par_iter().map(slice))?;
        let mut found = [Vec::new(), Vec::new()];
        for slice in slices {
            for (found, values) in found.iter_mut().zip(slice?) {
                extend(found, values)?;
            }
        }
        Ok(found)
    }

    /// Returns the range whose limits are half way between the start's pixels and those of its surroundings.
    fn intensities(&self, object: Object, surroundings: Vec<f64>) -> Result<Intensities> {
        let Object { median: middle, noise, .. } = object;
        let count = surroundings.len();
        let (mut darker, mut brighter): (Vec<f64>, Vec<f64>) = (reserved(count)?, reserved(count)?);
        for pixel in surroundings {
            if pixel < middle { darker.push(pixel) } else { brighter.push(pixel) }
        }
        let share = darker.len() as f64 / count.max(1) as f64;
        let side = self.params.side.unwrap_or(match count {
            0 => Side::Within,
            _ if share >= ONE_SIDED => Side::Above,
            _ if share <= 1.0 - ONE_SIDED => Side::Below,
            _ => Side::Within,
        });
        let half = |pixels: &mut Vec<f64>| median(pixels).map(|pixel| (pixel - middle).abs() / 2.0);
        // Few pixels on one side are noise or another object: they give no limit where the other side does.
        let few = 1.0 - ONE_SIDED;
        let below = if share > few || side == Side::Above { half(&mut darker) } else { None };
        let above = if share < ONE_SIDED || side == Side::Below { half(&mut brighter) } else { None };
        let alike = [DIFFERENCE * noise, middle.abs() / 1000.0, 1.0];
        let alike = alike.into_iter().find(|epsilon| *epsilon > middle.abs() * 1e-6).unwrap_or(1.0);
        let (target, epsilon) = match (side, below, above) {
            (Side::Within, Some(below), Some(above)) => (middle + (above - below) / 2.0, (above + below) / 2.0),
            (Side::Above, below, above) => (middle, below.or(above).unwrap_or(alike)),
            (Side::Below, below, above) => (middle, above.or(below).unwrap_or(alike)),
            (_, below, above) => (middle, below.or(above).unwrap_or(alike)),
        };
        Ok(Intensities { range: TargetRange { target, epsilon }, side, extremes: self.extremes })
    }
}

/// Returns the element that is in the middle when sorted (of two, the larger), and changes their order.
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
