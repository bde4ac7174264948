//! Circles and ellipses along segments: EDCircles (Akinlar and Topal, "EDCircles: a real-time circle detector with a false
//! detection control", Pattern Recognition 46, 2013).
//!
//! A closed segment is first tried as a whole. In all other segments, successive lines that turn in one direction form
//! arcs, and arcs that are near to the same circle, or otherwise to the same ellipse, are joined. Each candidate is tested
//! by the Helmholtz principle: it is kept if more pixels along its whole outline have a gradient across it than chance
//! explains.
//!
//! The host computes this from finished segments and the pixels, whichever device the context has, so the result is the
//! same for every device.

mod arcs;
mod fit;

use super::lines::{Finder, LineParams};
use super::parameters;
use super::search::{self, POINTS_PER_CHECK, Pixels, Tested};
use super::segments::{Segment, Segments};
use crate::device::Context;
use crate::error::Result;
use crate::memory::{extend, push, reserved};
use crate::parallel::try_par_indexed;
use crate::progress::{Progress, Ticker};
use crate::report::Report;
use crate::slice_io::Input;
use arcs::{Arc, Candidate};
use std::f64::consts::{LOG10_2, PI};
use std::ops::Range;

/// The smallest number of points of the lines that form arcs. A separate line needs more points, because it must pass the
/// test alone.
const SHORTEST_LINE: usize = 6;

/// The largest distance of points from the lines that form arcs, in pixels. It is smaller than for separate lines, so that
/// they follow bends more closely.
const LINE_TOLERANCE: f64 = 0.75;

/// The shapes to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shapes {
    /// Circles and ellipses; a shape is a circle unless an ellipse fits its points much better.
    All,
    /// Circles alone.
    Circles,
}

/// The parameters of [`ellipses`]; [`EllipseParams::default`] gives each its default.
#[derive(Clone, Debug, PartialEq)]
pub struct EllipseParams {
    /// The largest root mean square distance of points from their circle or ellipse, in pixels, greater than 0. Default
    /// 1.5. It is also limited to 0.25 plus 0.04 times the smaller semi-axis, which matters for small shapes. Higher: more
    /// shapes that are not quite round.
    pub tolerance: f64,
    /// The smallest share of the outline that segments cover, 0.1 to 1. Default 0.5. Lower: also shapes that are mostly
    /// hidden, with less accurate parameters.
    pub coverage: f64,
    /// The smallest radius, or smaller semi-axis, in pixels, at least 1. Default 3. Higher: no small shapes.
    pub min_radius: f64,
    /// Default: [`Shapes::All`].
    pub shapes: Shapes,
    /// If true (default), keeps only shapes that chance would form at most once in the image; otherwise keeps all.
    pub validation: bool,
}

impl Default for EllipseParams {
    fn default() -> Self {
        Self {
            tolerance: parameters::ELLIPSE_TOLERANCE.default,
            coverage: parameters::ELLIPSE_COVERAGE.default,
            min_radius: parameters::ELLIPSE_MIN_RADIUS.default,
            shapes: parameters::ELLIPSE_SHAPES.default_of(&parameters::SHAPES),
            validation: parameters::ELLIPSE_VALIDATION.default != 0.0,
        }
    }
}

impl EllipseParams {
    fn check(&self) -> Result<()> {
        parameters::ELLIPSE_TOLERANCE.check(self.tolerance)?;
        parameters::ELLIPSE_COVERAGE.check(self.coverage)?;
        parameters::ELLIPSE_MIN_RADIUS.check(self.min_radius)
    }
}

/// A circle or an ellipse along segments.
///
/// Coordinates are in pixels: whole numbers are pixel centres, and (0, 0) is the centre of the top left pixel.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipse {
    /// The column of the centre.
    pub x: f64,
    /// The row of the centre.
    pub y: f64,
    /// The longer semi-axis, in pixels; the radius of a circle.
    pub semi_major: f64,
    /// The shorter semi-axis, in pixels; the radius of a circle.
    pub semi_minor: f64,
    /// The direction of the longer axis, in radians from 0 to less than π, counted from the x axis towards the y axis,
    /// which is clockwise on a screen. 0 for a circle.
    pub angle: f64,
    /// The root mean square distance of its points, in pixels.
    pub rms: f64,
    /// The share of its outline that its points cover, 0 to 1.
    pub coverage: f64,
    /// The decimal logarithm of its number of false alarms: how often chance is expected to form such a shape in an image
    /// of this size. At most 0 with validation.
    pub log_false_alarms: f64,
    /// The index of the segment that its longest arc belongs to.
    pub segment: u64,
    /// The number of points that it was fitted to.
    pub points: u32,
    /// The number of arcs that were joined; 1 for a closed segment.
    pub arcs: u32,
    /// See [`CIRCLE`](Self::CIRCLE) and [`BRIGHT`](Self::BRIGHT).
    pub flags: u32,
    /// The slice of the stack, from 0.
    pub slice: u32,
}

impl Ellipse {
    /// The bit of [`flags`](Self::flags) of a circle.
    pub const CIRCLE: u32 = 1;

    /// The bit of [`flags`](Self::flags) of a shape that is brighter inside than outside.
    pub const BRIGHT: u32 = 2;
}

/// Finds circles and ellipses along `segments`, which edge drawing found in `input`; replaces `found` on success.
///
/// The result is in the order of the segments of the longest arcs. `segments` may come from any profile and any parameters.
/// `input` is u8, u16 or f32, in host or device memory, or a function that reads slices ([`Source`](crate::Source)); it is
/// called for the slices that have segments, in ascending order. Gradients next to a pixel that is NaN or infinite count as
/// random ones. The CPU computes this with every context, and the result has the same bits for every number of threads.
///
/// # Errors
/// A parameter out of range, segments with points or slices outside of the image, out of memory, a device failure when
/// pixels are in device memory, or [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
///
/// ```
/// use isoline::{Context, edge_drawing::{self, Ellipse, EllipseParams, Params, Segments}};
/// use ndarray::Array2;
///
/// // A bright disc on a dark ground, its outline soft as a camera makes it.
/// let disc = Array2::from_shape_fn((64, 64), |(y, x)| {
///     let distance = (x as f64 - 31.4).hypot(y as f64 - 32.3);
///     (40.0 + 160.0 * (20.5 - distance).clamp(0.0, 1.0)) as u8
/// });
/// let (context, mut segments, mut ellipses) = (Context::new("cpu")?, Segments::new(), Vec::new());
/// edge_drawing::run(
///     &context, disc.view().into(), &Params::default(), None, None, Some(&mut segments))?;
/// edge_drawing::ellipses(
///     &context, disc.view().into(), &segments, &EllipseParams::default(), None, &mut ellipses)?;
/// let [circle] = ellipses[..] else { panic!("one disc") };
/// assert_eq!(circle.flags, Ellipse::CIRCLE | Ellipse::BRIGHT);
/// assert!((circle.x - 31.4).hypot(circle.y - 32.3) < 0.2 && (circle.semi_major - 20.0).abs() < 0.3);
/// # Ok::<(), isoline::Error>(())
/// ```
pub fn ellipses(
    context: &Context,
    input: Input<'_>,
    segments: &Segments,
    params: &EllipseParams,
    progress: Option<&mut Progress<'_>>,
    found: &mut Vec<Ellipse>,
) -> Result<Report> {
    params.check()?;
    search::run(("ellipses", 2), context, input, segments, progress, found, |pixels, indices, ticker| {
        let mut all = Vec::new();
        let mut start = indices.start;
        while start < indices.end {
            let number = segments.slices[start];
            let end = segments.slices.partition_point(|other| *other <= number).min(indices.end);
            let slice = Slice { pixels, params, ticker };
            extend(&mut all, slice.ellipses(segments, start..end)?)?;
            start = end;
        }
        Ok(all)
    })
}

/// The search in one slice.
struct Slice<'a, 'i> {
    pixels: &'a Pixels<'a, 'i>,
    params: &'a EllipseParams,
    ticker: &'a Ticker,
}

impl Slice<'_, '_> {
    /// Returns the circles and ellipses along the segments of a slice.
    fn ellipses(&self, segments: &Segments, indices: Range<usize>) -> Result<Vec<Ellipse>> {
        let line_params = LineParams { tolerance: LINE_TOLERANCE, ..LineParams::default() };
        let finder = Finder {
            pixels: self.pixels,
            params: &line_params,
            shortest: SHORTEST_LINE,
            log_tests: 0.0,
            ticker: self.ticker,
        };
        // 1. Closed segments as a whole, and the arcs of the others.
        let parts = try_par_indexed(indices.len(), |at| {
            let index = indices.start + at;
            let segment = segments.at(index);
            self.pixels.check(segment.points, index)?;
            let whole = if segment.closed { arcs::closed(self, &segment, index)? } else { None };
            let arcs = if whole.is_none() { arcs::arcs(self, &finder, &segment, index)? } else { Vec::new() };
            self.ticker.add(segment.points.len() as u64);
            Ok((whole, arcs))
        })?;
        let (mut candidates, mut all): (Vec<Candidate>, Vec<Arc>) = (Vec::new(), Vec::new());
        for (whole, arcs) in parts {
            whole.map_or(Ok(()), |whole| push(&mut candidates, whole))?;
            extend(&mut all, arcs)?;
        }
        // 2. Arcs that are joined.
        let points = (indices.clone()).map(|index| segments.at(index).points.len()).sum();
        extend(&mut candidates, arcs::joined(self, segments, all, points)?)?;
        candidates.sort_unstable_by_key(|candidate| (candidate.arcs[0].segment, candidate.arcs[0].points.start));
        // 3. The test.
        let tested = try_par_indexed(candidates.len(), |index| self.ellipse(segments, &candidates[index]))?;
        let mut kept = reserved(tested.len())?;
        kept.extend(tested.into_iter().filter(|one| !self.params.validation || one.log_false_alarms <= 0.0));
        Ok(kept)
    }

    /// Returns a candidate as an ellipse with its number of false alarms.
    fn ellipse(&self, segments: &Segments, candidate: &Candidate) -> Result<Ellipse> {
        let Candidate { arcs, fit, coverage } = candidate;
        debug_assert!(arcs.iter().all(|arc| arc.points.len() <= arcs[0].points.len()), "the longest arc is the first");
        let shape = &fit.shape;
        let segment: Segment<'_> = segments.at(arcs[0].segment);
        let mut tested = Tested::default();
        for (index, sample) in shape.outline().enumerate() {
            if index % POINTS_PER_CHECK == 0 {
                self.ticker.check()?;
            }
            let [x, y] = sample.at.map(|value| (value + 0.5).floor());
            if x >= 0.0 && y >= 0.0 {
                tested.add(self.pixels, segment.slice, [x as usize, y as usize], sample.normal);
            }
        }
        // The number of tests, with N pixels: N positions, √N values for each semi-axis and for the direction, and two
        // polarities (brighter inside or outside).
        let [width, height] = self.pixels.size;
        let log_tests = 2.5 * (width as f64 * height as f64).log2() + 1.0;
        let [c, s] = shape.direction;
        let angle = if shape.is_circle() { 0.0 } else { s.atan2(c).rem_euclid(PI) };
        let circle = if shape.is_circle() { Ellipse::CIRCLE } else { 0 };
        let bright = if tested.against > tested.along { Ellipse::BRIGHT } else { 0 };
        let points: usize = arcs.iter().map(|arc| arc.points.len()).sum();
        Ok(Ellipse {
            x: shape.centre[0],
            y: shape.centre[1],
            semi_major: shape.axes[0],
            semi_minor: shape.axes[1],
            angle: if angle < PI { angle } else { 0.0 },
            rms: fit.rms,
            coverage: *coverage,
            log_false_alarms: (log_tests + tested.log_chance()) * LOG10_2,
            segment: arcs[0].segment as u64,
            points: u32::try_from(points).unwrap_or(u32::MAX),
            arcs: arcs.len() as u32,
            flags: circle | bright,
            slice: segment.slice,
        })
    }
}
