//! Isolines: the curves on which an image has a value, the level, by marching squares with linear interpolation.
//!
//! A **cell** is the square between four neighbouring pixel centres. A pixel is **high** if it is above the level, else
//! **low**: a pixel that equals the level is low, so that every edge of a cell either has one crossing or none, and curves
//! never break. Where an edge has a high and a low end, the curve crosses it at
//!
//! ```text
//! t = (level − a) / (b − a)        a: the value at the left or upper end, b: at the other, in double precision
//! ```
//!
//! * **Points** are in pixels; whole numbers are pixel centres, and (0, 0) is the centre of the upper left pixel.
//! * **Direction:** the higher values lie to the right of a curve, as the screen shows it (y runs downwards). A closed
//!   curve around higher values is clockwise and has a positive area, one around lower values a negative one.
//! * **Saddles:** in a cell whose two high pixels are diagonally opposite, [`Connect`] decides which pixels are connected.
//! * **Pixels that are not finite** (NaN, infinite): a cell with such a corner has no curve. Curves end there, as they do
//!   at the border of the image.
//! * **Order:** by slice, then by level as given, then by first crossing. Crossings are ordered row by row; within a row,
//!   those between left and right pixels come before those between upper and lower ones. A closed curve begins with its
//!   first crossing.
//! * **Equal points:** a point that equals the one before is left out; a curve of one point is no curve.
//! * **Nesting:** the parent of a closed curve is the closed curve of the same slice and level that directly encloses it.
//!   Open curves neither have nor are parents.
//! * **Stacks:** every slice is processed by itself.
//!
//! It always runs on the CPU, whatever the device of the context.

mod cpu;
mod link;
pub(crate) mod parameters;

use crate::device::Context;
use crate::error::{Error, Result, finite};
use crate::image::{MOST_ANISOTROPY, check_shapes, check_sides, check_spacing};
use crate::memory::{collected, concatenated, extend, reserved};
use crate::parameter::{AUTOMATIC, check_ends};
use crate::progress::Progress;
use crate::report::{Parts, Report};
use crate::slice_io::Input;
pub(crate) use link::measure;
use ndarray::ArrayView2;
use std::time::Instant;

/// The name of the stage that progress callbacks get.
const STAGE: &str = "isolines";

/// The largest number of levels of a call.
const MOST_LEVELS: usize = 65535;

/// The choice at a saddle: a cell whose two high pixels are diagonally opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Connect {
    /// The two low pixels are connected, and each high one is cut off (scikit-image's `fully_connected="low"`).
    Low,
    /// The two high pixels are connected, and each low one is cut off.
    High,
}

/// The parameters; [`Params::default`] gives each its default.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The choice at saddles. Default: [`Connect::Low`].
    pub connect: Connect,
    /// The levels, finite, in the image's own units, in any order. Empty (default): `level_count` levels of `range`.
    pub levels: Vec<f64>,
    /// The number of equally spaced levels where none are given, 1 to 65535: level i of n, from 1 on, is
    /// `low + (high − low) · i / (n + 1)`. Default 1, the middle.
    pub level_count: u32,
    /// The range of equally spaced levels, within ±3.4e38. `None` (default): the smallest and the largest finite pixel of the
    /// whole input.
    pub range: Option<[f64; 2]>,
    /// The pixel's size along x and y, each from 1e-15 to 1e15 and at most 1e9 times the other, in which lengths and areas are
    /// measured; points are in pixels whatever it is. Default 1, 1.
    pub spacing: [f64; 2],
}

impl Default for Params {
    fn default() -> Self {
        Self {
            connect: parameters::CONNECT.default_of(&parameters::CONNECTS),
            levels: Vec::new(),
            level_count: parameters::LEVEL_COUNT.default as u32,
            range: None,
            spacing: [1.0; 2],
        }
    }
}

/// Refuses more levels than a call takes.
pub(crate) fn check_level_count(count: usize) -> Result<()> {
    if count > MOST_LEVELS {
        return Err(Error::argument(format!(
            "cannot compute isolines: there may be at most {MOST_LEVELS} levels (got {count}); make several calls"
        )));
    }
    Ok(())
}

impl Params {
    fn check(&self) -> Result<()> {
        parameters::LEVEL_COUNT.check(f64::from(self.level_count))?;
        if let Some(range) = self.range {
            check_ends(&parameters::RANGE_MIN, &parameters::RANGE_MAX, range)?;
        }
        check_level_count(self.levels.len())?;
        for (index, level) in self.levels.iter().enumerate() {
            finite(format_args!("levels[{index}]"), *level)?;
            if *level == AUTOMATIC {
                return Err(Error::argument(format!(
                    "cannot use levels[{index}]: a level cannot be automatic; give its value, or no levels at all"
                )));
            }
        }
        check_spacing(&self.spacing, MOST_ANISOTROPY)
    }

    /// Returns the levels of a call.
    fn levels(
        &self,
        context: &Context,
        input: &mut Input<'_>,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<Vec<f64>> {
        if !self.levels.is_empty() {
            return collected(self.levels.iter().copied());
        }
        let [low, high] = self.range.map_or_else(|| context.extremes(STAGE, input, progress), Ok)?;
        // The division comes last, so that a level that is a whole number has no rounding error, and pixels equal to it
        // stay low. The ends are within the range of f32, so that the products cannot overflow.
        let parts = f64::from(self.level_count) + 1.0;
        let level = |index: u32| low + (high - low) * f64::from(index) / parts;
        collected((0..self.level_count).map(|index| level(index + 1)))
    }
}

/// One polyline of [`Polylines`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polyline {
    /// The index of its first point in [`Polylines::points`]; the points of consecutive polylines follow without a gap.
    pub first: u64,
    /// The number of its points, at least 2; 1 for a critical point. A closed one lists its first point once.
    pub count: u64,
    /// The index of the polyline that directly encloses it; −1 if there is none, or if it is open.
    pub parent: i64,
    /// The level, in the image's own units; of axes and critical points the smallest edge strength on them.
    pub level: f64,
    /// Its length, in the unit of the spacing; for a closed polyline it includes the segment from the last point to the
    /// first.
    pub length: f64,
    /// The area that a closed polyline encloses, in the square of the unit of the spacing: positive around higher values,
    /// negative around lower ones. An open polyline has 0.
    pub area: f64,
    /// The slice of the stack, from 0.
    pub slice: u32,
    /// [`Polylines::CLOSED`] or 0. Polylines from [`edge_strength::axes`](crate::edge_strength::axes) also have one of the
    /// other bits of [`Polylines`].
    pub flags: u32,
}

impl Polyline {
    /// Returns whether the last point is joined to the first.
    pub fn is_closed(&self) -> bool {
        self.flags & Polylines::CLOSED != 0
    }
}

/// Polylines in flat arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polylines {
    pub(crate) points: Vec<[f64; 2]>,
    pub(crate) polylines: Vec<Polyline>,
}

impl Polylines {
    /// The bit of [`Polyline::flags`] of a closed polyline.
    pub const CLOSED: u32 = 1;

    /// The bit of an axis of an edge strength v on which |∇v| is smallest along the level curves of v: S+.
    pub const S_PLUS: u32 = 2;

    /// The bit of an axis on which |∇v| is largest along the level curves of v: S−.
    pub const S_MINUS: u32 = 4;

    /// The bit of a critical point at which v is smallest.
    pub const ELLIPTIC: u32 = 8;

    /// The bit of a critical point that is a saddle of v.
    pub const HYPERBOLIC: u32 = 16;

    /// Returns an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the points of all polylines, one polyline after the other: x and y in pixels; whole numbers are pixel
    /// centres.
    pub fn points(&self) -> &[[f64; 2]] {
        &self.points
    }

    /// Returns the polylines in their order.
    pub fn polylines(&self) -> &[Polyline] {
        &self.polylines
    }

    /// Returns the points of a polyline of this list.
    pub fn points_of(&self, polyline: &Polyline) -> &[[f64; 2]] {
        &self.points[polyline.first as usize..][..polyline.count as usize]
    }

    /// Joins lists one after the other, on the threads of the current pool.
    pub(crate) fn joined(mut parts: Vec<Self>) -> Result<Self> {
        if parts.len() == 1 {
            return Ok(parts.swap_remove(0));
        }
        let lengths = collected(parts.iter().map(|part| part.points.len() as u64))?;
        let mut joined = Self {
            points: concatenated(collected(parts.iter_mut().map(|part| std::mem::take(&mut part.points)))?)?,
            polylines: reserved(parts.iter().map(|part| part.polylines.len()).sum())?,
        };
        let mut points = 0;
        for (part, length) in parts.into_iter().zip(lengths) {
            let polylines = joined.polylines.len() as i64;
            let moved = |polyline: Polyline| Polyline {
                first: polyline.first + points,
                parent: if polyline.parent < 0 { -1 } else { polyline.parent + polylines },
                ..polyline
            };
            extend(&mut joined.polylines, part.polylines.into_iter().map(moved))?;
            points += length;
        }
        Ok(joined)
    }
}

/// One call: the checked parameters with the levels.
struct Plan {
    levels: Vec<f64>,
    /// `None`: the high pixels are connected if the bilinear interpolation of the four pixels is above the level at its
    /// saddle point.
    connect: Option<Connect>,
    spacing: [f64; 2],
    /// The size of a slice.
    size: [usize; 2],
}

/// Computes the isolines of `input` (u8, u16 or f32; one image or a stack, slice by slice; a callback may supply the
/// slices, see [`Source`](crate::Source)) into `polylines`, which is replaced only on success. It runs on the CPU with
/// every context, and gives the same bits for every number of threads.
///
/// # Errors
/// A parameter out of range, sides of more than 2³² − 1 pixels, 2³² − 1 or more crossings of a slice and level, out of
/// memory, a device failure when pixels are in device memory, or [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
///
/// ```
/// use isoline::{Context, isolines::{self, Params, Polylines}};
/// use ndarray::Array2;
///
/// // A cone: its level curves are circles.
/// let cone = Array2::from_shape_fn((64, 64), |(y, x)| (x as f32 - 31.0).hypot(y as f32 - 31.0));
/// let params = Params { levels: vec![10.0, 20.0], ..Params::default() };
/// let mut curves = Polylines::new();
/// isolines::run(&Context::new("cpu")?, cone.view().into(), &params, None, &mut curves)?;
/// let circle = curves.polylines()[0];
/// assert!(curves.polylines().len() == 2 && circle.is_closed());
/// // The lower values are inside, so the area is negative.
/// assert!((circle.area / (std::f64::consts::PI * 100.0) + 1.0).abs() < 0.01);
/// # Ok::<(), isoline::Error>(())
/// ```
pub fn run(
    context: &Context,
    mut input: Input<'_>,
    params: &Params,
    mut progress: Option<&mut Progress<'_>>,
    polylines: &mut Polylines,
) -> Result<Report> {
    let started = Instant::now();
    params.check()?;
    let shape = input.shape();
    check_shapes(shape, shape)?;
    check_sides(STAGE, shape)?;
    let _lock = context.lock()?;
    // The CPU computes all slices, so they are not distributed over several devices.
    let context = &context.parts()[0];
    let plan = Plan {
        levels: params.levels(context, &mut input, &mut progress)?,
        connect: Some(params.connect),
        spacing: params.spacing,
        size: [shape[0], shape[1]],
    };
    let (mut report, found) = context.by_slices(
        STAGE,
        Some(0),
        (input, []),
        &mut progress,
        |context, input, _, [], progress| cpu::run(context, &plan, input, progress),
        joined,
    )?;
    *polylines = found;
    report.complete(started, format_args!("isolines of {shape:?} pixels"));
    Ok(report)
}

/// Returns the isolines of level 0 of one slice; the caller has locked the context. A field and its negative have the same
/// curves, also at saddles.
pub(crate) fn zero_curves(
    context: &Context,
    field: ArrayView2<'_, f32>,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<Polylines> {
    let (height, width) = field.dim();
    let plan = Plan { levels: vec![0.0], connect: None, spacing: [1.0; 2], size: [width, height] };
    Ok(cpu::run(context, &plan, &field.into(), progress)?.1)
}

/// Joins the results of several parts; each comes with the number of its first slice.
pub(crate) fn joined(results: Vec<(usize, (Report, Polylines))>, parts: Parts) -> Result<(Report, Polylines)> {
    let (mut reports, mut lists) = (Vec::new(), Vec::new());
    for (first, (report, mut found)) in results {
        found.polylines.iter_mut().for_each(|polyline| polyline.slice += first as u32);
        reports.push((first, report));
        lists.push(found);
    }
    Ok((Report::joined(reports, parts)?, Polylines::joined(lists)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, s};

    /// Returns the number of the curves, how many are closed, and their length.
    fn summary(field: ArrayView2<'_, f32>) -> (usize, usize, f64) {
        let found = zero_curves(&Context::new("cpu").unwrap(), field, &mut None).unwrap();
        let curves = found.polylines();
        (curves.len(), curves.iter().filter(|c| c.is_closed()).count(), curves.iter().map(|c| c.length).sum())
    }

    #[test]
    fn curves_of_level_0_depend_neither_on_the_sign_nor_on_mirrors() {
        let mut state = 1u32;
        let field = Array2::from_shape_simple_fn((40, 50), || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state as f32 / 2f32.powi(31) - 1.0
        });
        let (count, closed, length) = summary(field.view());
        assert!(count > 50 && closed > 20, "{count} curves, {closed} closed");
        let negative = field.mapv(|value| -value);
        for field in [&field, &negative] {
            let mirrored = [field.view(), field.slice(s![.., ..;-1]), field.slice(s![..;-1, ..]), field.t()];
            for (index, field) in mirrored.into_iter().enumerate() {
                let found = summary(field);
                assert_eq!((found.0, found.1), (count, closed), "mirror {index}");
                assert!((found.2 / length - 1.0).abs() < 1e-12, "mirror {index}: {} and {length}", found.2);
            }
        }
    }
}
