//! The intermediate maps on the CPU.

use super::super::gradient::{self, Border, Pixel, Rows, Sink, Source};
use super::super::prepare::Plan;
use super::super::scalar::{self, Direction};
use super::super::{MapImages, Params, Profile, Variant};
use super::{resolve, working_image, write};
use crate::device::Context;
use crate::device::kernels::edge_drawing::{HORIZONTAL_EDGE, VERTICAL_EDGE};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::levels::finite_f32;
use crate::memory::zeroed;
use crate::progress::{Progress, Ticker, run as run_with_progress};
use crate::report::Report;
use ndarray::Axis;
use std::time::Instant;

/// The anchors of the reference profile are at least this far from the border.
const MARGIN: usize = 2;

/// Implements [`super::super::maps`].
pub(in super::super) fn maps(
    context: &Context,
    params: &Params,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    maps: &mut MapImages<'_>,
) -> Result<Report> {
    if maps.named().iter().any(|(_, map)| matches!(map, Some(ImageMut::Device(_)))) {
        return Err(Error::in_cuda_memory("image"));
    }
    let started = Instant::now();
    let plan = resolve(context, params, input)?;
    let shape = input.shape();
    match input {
        Image::U8(view) => slices(context, &plan, shape, |z| view.index_axis(Axis(0), z), progress, maps)?,
        Image::U16(view) => slices(context, &plan, shape, |z| view.index_axis(Axis(0), z), progress, maps)?,
        Image::F32(view) => {
            slices(context, &plan, shape, |z| plan.quantised(view.index_axis(Axis(0), z)), progress, maps)?;
        }
        Image::Device(_) => return Err(Error::in_cuda_memory("image")),
    }
    Ok(Report::on_cpu(context, started, shape[2]))
}

/// The maps of one slice, rows packed; those that are not wanted are empty.
struct Packed {
    /// The smoothed image, in the working image's units.
    smoothed: Vec<u16>,
    gradient: Vec<f32>,
    direction: Vec<u8>,
    anchors: Vec<u8>,
}

/// Processes all slices, one after the other.
fn slices<P: Pixel, S: Source<P>>(
    context: &Context,
    plan: &Plan,
    [width, height, depth]: [usize; 3],
    source: impl Fn(usize) -> S + Sync,
    progress: &mut Option<&mut Progress<'_>>,
    maps: &mut MapImages<'_>,
) -> Result<()> {
    let pool = context.pool();
    let ticker = Ticker::new(super::super::MAPS_STAGE);
    let count = |map: &Option<ImageMut<'_>>| if map.is_some() { width * height } else { 0 };
    let mut packed = Packed {
        smoothed: zeroed(count(&maps.smoothed))?,
        gradient: zeroed(count(&maps.gradient))?,
        direction: zeroed(count(&maps.direction))?,
        anchors: zeroed(count(&maps.anchors))?,
    };
    for slice in 0..depth {
        // 1. Compute the maps of one slice.
        ticker.section(slice, depth);
        ticker.expect((width * height) as u64);
        run_with_progress(pool, progress, &ticker, || match plan.variant {
            Variant::Scalar => fill_scalar(&source(slice), plan, &mut packed, &ticker),
            Variant::Default => fill(&source(slice), plan, &mut packed, &ticker),
        })?;
        // 2. Write them to the caller's memory.
        run_with_progress(pool, progress, &ticker, || {
            let row = |y: usize| y * width..(y + 1) * width;
            let smoothed = |y: usize| packed.smoothed[row(y)].iter();
            for (map, values) in [(&mut maps.direction, &packed.direction), (&mut maps.anchors, &packed.anchors)] {
                if let Some(ImageMut::U8(map)) = map {
                    write(map.index_axis_mut(Axis(0), slice), &ticker, |y, to| to.copy_from_slice(&values[row(y)]))?;
                }
            }
            if let Some(ImageMut::F32(map)) = &mut maps.gradient {
                let values = &packed.gradient;
                write(map.index_axis_mut(Axis(0), slice), &ticker, |y, to| to.copy_from_slice(&values[row(y)]))?;
            }
            match &mut maps.smoothed {
                Some(ImageMut::U8(map)) => write(map.index_axis_mut(Axis(0), slice), &ticker, |y, to| {
                    to.iter_mut().zip(smoothed(y)).for_each(|(to, value)| *to = *value as u8);
                }),
                Some(ImageMut::U16(map)) => write(map.index_axis_mut(Axis(0), slice), &ticker, |y, to| {
                    to.copy_from_slice(&packed.smoothed[row(y)]);
                }),
                Some(ImageMut::F32(map)) => write(map.index_axis_mut(Axis(0), slice), &ticker, |y, to| {
                    let own = |value: u16| (f64::from(value) * plan.unit + plan.origin) as f32;
                    to.iter_mut().zip(smoothed(y)).for_each(|(to, value)| *to = own(*value));
                }),
                Some(ImageMut::Device(_)) | None => Ok(()),
            }
        })?;
    }
    Ok(())
}

/// Returns the gradient map's value, in the image's own units.
fn own_gradient(gradient: u32, plan: &Plan) -> f32 {
    finite_f32(f64::from(gradient) * plan.unit)
}

/// Computes the maps of one slice by the plain loops.
fn fill_scalar<P: Pixel>(source: &impl Source<P>, plan: &Plan, packed: &mut Packed, ticker: &Ticker) -> Result<()> {
    let drawing = scalar::draw(&working_image(source, ticker)?, plan, ticker, |_| ())?;
    let pairs = drawing.gradient.values.iter().zip(&drawing.direction.values);
    packed.smoothed.iter_mut().zip(&drawing.smoothed.values).for_each(|(to, value)| *to = *value as u16);
    packed.gradient.iter_mut().zip(pairs.clone()).for_each(|(to, (g, _))| *to = own_gradient(*g, plan));
    packed.direction.iter_mut().zip(pairs).for_each(|(to, (gradient, direction))| {
        *to = match direction {
            _ if *gradient < plan.threshold => 0,
            Direction::Horizontal => HORIZONTAL_EDGE as u8,
            Direction::Vertical => VERTICAL_EDGE as u8,
        }
    });
    packed.anchors.iter_mut().zip(&drawing.anchors.values).for_each(|(to, anchor)| *to = if *anchor { 255 } else { 0 });
    Ok(())
}

/// Computes the maps of one slice, on all threads.
fn fill<P: Pixel>(source: &impl Source<P>, plan: &Plan, packed: &mut Packed, ticker: &Ticker) -> Result<()> {
    let [width, height] = source.size();
    let rows = height.div_ceil(2 * rayon::current_num_threads()).max(MIN_ROWS);
    let mut smoothed = packed.smoothed.chunks_mut(rows * width);
    let mut gradient = packed.gradient.chunks_mut(rows * width);
    let mut direction = packed.direction.chunks_mut(rows * width);
    let mut anchors = packed.anchors.chunks_mut(rows * width);
    let mut bands = Vec::new();
    for first in (0..height).step_by(rows) {
        bands.push((
            first..height.min(first + rows),
            Mapper {
                plan,
                size: [width, height],
                first,
                smoothed: smoothed.next(),
                gradient: gradient.next(),
                direction: direction.next(),
                anchors: anchors.next(),
            },
        ));
    }
    let border = match plan.profile {
        Profile::Paper => Border::Mirror,
        Profile::Reference => Border::BelowThreshold,
    };
    let method = gradient::Method {
        operator: plan.operator,
        taps: plan.taps,
        border,
        threshold: plan.threshold,
        clear_below: false,
    };
    gradient::compute(source, &method, bands, ticker)?;
    Ok(())
}

/// The smallest number of rows in a band. Every band computes six more as its halo.
const MIN_ROWS: usize = 32;

/// Writes a band of the maps.
struct Mapper<'a> {
    plan: &'a Plan,
    size: [usize; 2],
    /// The first row of the band.
    first: usize,
    smoothed: Option<&'a mut [u16]>,
    gradient: Option<&'a mut [f32]>,
    direction: Option<&'a mut [u8]>,
    anchors: Option<&'a mut [u8]>,
}

impl<P: Pixel> Sink<P> for Mapper<'_> {
    #[inline(always)]
    fn row(&mut self, rows: &Rows<'_, P>) {
        let [width, height] = self.size;
        let (plan, y) = (self.plan, rows.y);
        let to = (y - self.first) * width..(y - self.first + 1) * width;
        let here = &rows.gradient[1][1..=width];
        let outermost = |x: usize| x == 0 || y == 0 || x + 1 == width || y + 1 == height;
        if let Some(smoothed) = &mut self.smoothed {
            for (to, value) in smoothed[to.clone()].iter_mut().zip(rows.smoothed) {
                *to = Into::<u32>::into(*value) as u16;
            }
        }
        if let Some(gradient) = &mut self.gradient {
            for (x, (to, value)) in gradient[to.clone()].iter_mut().zip(here).enumerate() {
                // A threshold may be larger than the type of the gradients.
                let below = plan.profile == Profile::Reference && outermost(x);
                *to = own_gradient(if below { plan.threshold - 1 } else { (*value).into() }, plan);
            }
        }
        if let Some(direction) = &mut self.direction {
            for (x, (to, value)) in direction[to.clone()].iter_mut().zip(here).enumerate() {
                let vertical = if rows.vertical[x] != 0 { VERTICAL_EDGE } else { HORIZONTAL_EDGE } as u8;
                *to = if Into::<u32>::into(*value) >= plan.threshold { vertical } else { 0 };
            }
        }
        if let Some(anchors) = &mut self.anchors {
            for (x, to) in anchors[to].iter_mut().enumerate() {
                *to = if is_anchor(rows, plan, [width, height], x) { 255 } else { 0 };
            }
        }
    }
}

/// Returns whether the pixel at column `x` is an anchor.
#[inline(always)]
fn is_anchor<P: Pixel>(rows: &Rows<'_, P>, plan: &Plan, [width, height]: [usize; 2], x: usize) -> bool {
    let y = rows.y;
    let margin = if plan.profile == Profile::Reference { MARGIN } else { 0 };
    let inside = x >= margin && y >= margin && x + margin < width && y + margin < height;
    if !inside || !(y.is_multiple_of(plan.scan) || x.is_multiple_of(plan.scan)) {
        return false;
    }
    let [above, here, below] = rows.gradient;
    let across = if rows.vertical[x] != 0 { [here[x], here[x + 2]] } else { [above[x + 1], below[x + 1]] };
    let centre: u32 = here[x + 1].into();
    // The paper profile compares anchors with the thresholded gradient, in which weak neighbours are 0.
    let cleared = |g: u32| if plan.profile == Profile::Paper && g < plan.threshold { 0 } else { g };
    let exceeds = |other: P::Gradient| i64::from(centre) - i64::from(cleared(other.into())) >= i64::from(plan.anchor);
    centre >= plan.threshold && across.into_iter().all(exceeds)
}
