//! Axes and critical points of an edge strength: the skeleton of a shape (Tari, Shah and Pien 1997; Aslan and Tari 2005).
//!
//! Along a level curve of v, |∇v| is smallest where the curve bends most, and largest where it is flattest or bends inwards.
//! Its extrema are the **axis points**: with s the length along the level curve,
//!
//! ```text
//! A = v_x v_y (v_xx − v_yy) + v_xy (v_y² − v_x²) = −|∇v|² d|∇v|/ds = 0
//! ```
//!
//! These points form curves, which are the [isolines] of A at level 0. **S+** axes, where |∇v| is smallest, are axes of
//! symmetry; they begin at protrusions of the shape. **S−** axes, where |∇v| is largest, begin at indentations and at
//! sides. The sign of ∂A/∂s tells them apart, because it is opposite to that of the second derivative of |∇v|. On a curve
//! that has the higher values of A on its right, ∂A/∂s is negative exactly where v decreases along the curve. So an S+ axis
//! ends, and an S− axis begins, at its lowest v.
//!
//! **Critical points** are the points where ∇v = 0. They are **elliptic** at a minimum of v, in the centre of a part of the
//! shape, and **hyperbolic** at a saddle, in a neck between two parts. Axes that come within a pixel of a critical point
//! end in it.
//!
//! * **Derivatives** are taken from the least-squares quadratic fit of ln v on 3 × 3 pixels. ln v has the same level curves
//!   as v, and |∇ ln v| = |∇v|/v has the same extrema on them, because v is constant on each. But v decays exponentially,
//!   while ln v is nearly linear, so differences of ln v are as accurate far from the shape as next to it.
//! * **Excluded pixels** are those on the shape (v = 1), below the smallest strength, at the border of the image, and next
//!   to any of these, because there the fit would mix different things.
//! * **Rounding:** v is a 32-bit number with an assumed relative error of 2⁻²³. An axis passes a pixel only if A, there or
//!   at one of the eight neighbours, is larger than the error that this may cause. A critical point is accepted only if the
//!   second derivatives of ln v are larger than theirs in every direction. So there are no axes and critical points where v
//!   is 0, constant, or varies along one direction only.
//!
//! The CPU computes all of this in double precision, whichever device the context has.

use super::parameters;
use crate::device::{Context, in_host_memory};
use crate::error::{Error, ErrorKind, Result};
use crate::image::{Image, MOST_ANISOTROPY, PixelType, check_shapes, check_sides, check_spacing};
use crate::isolines::{self, Polyline, Polylines};
use crate::memory::{collected, extend, push, reserved, try_collected, try_par_collected, zeroed};
use crate::parallel::try_par_indexed;
use crate::progress::{Progress, Ticker, part, run as run_with_progress};
use crate::report::Report;
use crate::slice_io::Input;
use ndarray::{ArrayView2, Axis};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::ops::Range;
use std::time::Instant;

/// The name of the stage that progress callbacks get.
const STAGE: &str = "axes";

/// The relative rounding error of v that is assumed.
const ROUNDING: f64 = f32::EPSILON as f64;

/// The largest distance along x and along y of a critical point from the pixel whose neighbourhood it is computed from. It
/// is more than half a pixel because each of two neighbouring pixels may find it closer to the other one.
const REACH: f64 = 0.75;

/// The distance along x and y within which critical points are merged, and within which axes end in one.
const NEAR: f64 = 1.0;

/// The largest distance in pixels of two pixels whose critical points may have to be merged.
const AROUND: usize = 2;

/// The pixels of one task, and its fewest rows: each task also computes the logarithms of some rows around its own.
const TASK_PIXELS: usize = 1 << 16;
const LEAST_ROWS: usize = 16;

/// The number of points of a curve between two polls for cancellation.
const POINTS_PER_CHECK: usize = 1 << 14;

/// The curves of one task.
const TASK_CURVES: usize = 256;

/// The parameters of [`axes`]; [`AxisParams::default`] gives each its default.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisParams {
    /// The smallest strength that is used, greater than 0 and less than 1. Default 1e-4. A smaller one follows axes farther
    /// from the shape, where v is less accurate: a converged v because of its tolerance, and one of few iterations because
    /// these spread along the pixel grid.
    pub min_strength: f64,
    /// The smallest length of an axis, in pixels, at least 0. Default 5. A larger one removes more of the short axes that
    /// begin at the pixel steps of an outline.
    pub min_length: f64,
    /// The pixel's size along x and y, each from 1e-15 to 1e15 and at most 1e9 times the other. It is used for the lengths
    /// of the result only; everything else is in pixels. Default 1, 1.
    pub spacing: [f64; 2],
}

impl Default for AxisParams {
    fn default() -> Self {
        Self {
            min_strength: parameters::AXIS_MIN_STRENGTH.default,
            min_length: parameters::AXIS_MIN_LENGTH.default,
            spacing: [1.0; 2],
        }
    }
}

/// Finds the axes and the critical points of an edge strength, slice by slice; replaces `found` on success.
///
/// `strength` is the output of [`run`](super::run): f32, one slice or a stack, in host or device memory, or read by
/// functions ([`Source`](crate::Source)). For each slice the critical points come first, row by row, as polylines of one
/// point with the flag [`Polylines::ELLIPTIC`] or [`Polylines::HYPERBOLIC`]. The axes follow as open polylines with the
/// flag [`Polylines::S_PLUS`] or [`Polylines::S_MINUS`], in the order of the isolines that they are part of. Along an S+
/// axis v decreases, along an S− axis it increases. The level of a polyline is the smallest v on it.
///
/// The CPU computes this with every context, and the result has the same bits for every number of threads. A converged
/// strength is accurate far from the shape, and gives complete axes; n iterations give axes within about √n pixels of the
/// shape.
///
/// # Errors
/// A parameter out of range, another type than f32, an image without pixels or with sides of more than 2³² − 1 pixels, out of
/// memory, a device failure when pixels are in device memory, or [`ErrorKind::Cancelled`].
///
/// ```
/// use isoline::edge_strength::{self, AxisParams, Mode, Params};
/// use isoline::{Context, isolines::Polylines};
/// use ndarray::Array2;
///
/// // The outline of a rectangle of 60 × 40 pixels.
/// let outline = Array2::from_shape_fn((49, 69), |(y, x)| {
///     let [dx, dy] = [x.abs_diff(34), y.abs_diff(24)];
///     u8::from((dx == 30 && dy <= 20) || (dy == 20 && dx <= 30))
/// });
/// let (context, mut strength) = (Context::new("cpu")?, Array2::<f32>::zeros((49, 69)));
/// let converged = Mode::Converged { tolerance: 1e-6, max_cycles: 100 };
/// let params = Params { mode: converged, rho: 16.0, ..Params::default() };
/// edge_strength::run(&context, outline.view().into(), &params, None, strength.view_mut().into())?;
/// let mut found = Polylines::new();
/// edge_strength::axes(&context, strength.view().into(), &AxisParams::default(), None, &mut found)?;
/// let centre = found.polylines()[0];
/// assert_eq!(centre.flags, Polylines::ELLIPTIC);
/// let [x, y] = found.points_of(&centre)[0];
/// assert!((x - 34.0).abs() < 1e-3 && (y - 24.0).abs() < 1e-3);
/// # Ok::<(), isoline::Error>(())
/// ```
pub fn axes(
    context: &Context,
    strength: Input<'_>,
    params: &AxisParams,
    mut progress: Option<&mut Progress<'_>>,
    found: &mut Polylines,
) -> Result<Report> {
    let started = Instant::now();
    parameters::AXIS_MIN_STRENGTH.check(params.min_strength)?;
    parameters::AXIS_MIN_LENGTH.check(params.min_length)?;
    check_spacing(&params.spacing, MOST_ANISOTROPY)?;
    let shape = strength.shape();
    check_shapes(shape, shape)?;
    check_sides("axes", shape)?;
    if strength.pixel_type() != PixelType::F32 {
        let message = format!(
            "cannot find axes: the pixels of an edge strength must be float32 (got {}); give the output of the edge strength \
             function",
            strength.pixel_type()
        );
        return Err(Error::new(ErrorKind::InvalidType, message));
    }
    let _lock = context.lock()?;
    let halo = strength.on_host().then_some(0);
    let (mut report, all) = context.by_slices(
        STAGE,
        halo,
        (strength, []),
        &mut progress,
        |context, strength, _, [], progress| of_slices(context, strength, params, progress),
        isolines::joined,
    )?;
    *found = all;
    report.complete(started, format_args!("axes of {shape:?} pixels"));
    Ok(report)
}

/// Does what [`axes`] does, without its checks, on one device.
fn of_slices(
    context: &Context,
    strength: &Image<'_>,
    params: &AxisParams,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<(Report, Polylines)> {
    let started = Instant::now();
    let depth = strength.shape()[2];
    let mut parts = reserved(depth)?;
    for z in 0..depth {
        let share = |slices: usize| slices as f64 / depth as f64;
        let (slice, mut copy) = (strength.slices(&(z..z + 1)), None);
        let Image::F32(slice) = in_host_memory(context, &slice, &mut copy)? else {
            unreachable!("the type was checked")
        };
        let found = part(progress, [share(z), share(z + 1)], STAGE, |progress| {
            of_slice(context, slice.index_axis(Axis(0), 0), params, progress)
        });
        let mut found = found?;
        found.polylines.iter_mut().for_each(|polyline| polyline.slice = z as u32);
        parts.push(found);
    }
    let found = context.pool().install(|| Polylines::joined(parts))?;
    Ok((Report::on_cpu(context, started, depth), found))
}

/// Finds the axes and the critical points of one slice.
fn of_slice(
    context: &Context,
    strength: ArrayView2<'_, f32>,
    params: &AxisParams,
    progress: &mut Option<&mut Progress<'_>>,
) -> Result<Polylines> {
    let (height, width) = strength.dim();
    let pool = context.pool();
    // 1. Compute A, and find the critical points.
    let mut field: Vec<f32> = zeroed(width * height)?;
    let rows = (TASK_PIXELS / width).max(LEAST_ROWS);
    let found = part(progress, [0.0, 0.5], STAGE, |progress| {
        let ticker = Ticker::following(STAGE);
        ticker.expect(height as u64);
        run_with_progress(pool, progress, &ticker, || {
            try_par_collected(field.par_chunks_mut(width * rows).enumerate().map(|(task, field)| {
                let rows = task * rows..height.min((task + 1) * rows);
                variation(strength, rows, params, field, &ticker)
            }))
        })
    })?;
    let mut critical: Vec<Critical> = reserved(found.iter().map(Vec::len).sum())?;
    critical.extend(found.into_iter().flatten());
    // 2. Find the curves on which A is 0.
    let field =
        ArrayView2::from_shape((height, width), &field).unwrap_or_else(|e| unreachable!("one for each pixel: {e}"));
    let curves = part(progress, [0.5, 0.8], STAGE, |progress| isolines::zero_curves(context, field, progress))?;
    // 3. Split them into axes.
    part(progress, [0.8, 1.0], STAGE, |progress| {
        let ticker = Ticker::following(STAGE);
        let splitter = Splitter { strength, critical: &critical, params, ticker: &ticker };
        run_with_progress(pool, progress, &ticker, || {
            let axes = try_par_indexed(curves.polylines().len().div_ceil(TASK_CURVES), |task| {
                let mut axes = Polylines::new();
                for curve in curves.polylines().iter().skip(task * TASK_CURVES).take(TASK_CURVES) {
                    splitter.split(curves.points_of(curve), curve.is_closed(), &mut axes)?;
                }
                Ok(axes)
            })?;
            let mut parts = reserved(axes.len() + 1)?;
            parts.push(points(&critical)?);
            parts.extend(axes);
            Polylines::joined(parts)
        })
    })
}

/// Returns critical points as polylines of one point.
fn points(critical: &[Critical]) -> Result<Polylines> {
    let polyline = |(index, point): (usize, &Critical)| Polyline {
        first: index as u64,
        count: 1,
        parent: -1,
        level: point.log.exp(),
        length: 0.0,
        area: 0.0,
        slice: 0,
        flags: if point.elliptic { Polylines::ELLIPTIC } else { Polylines::HYPERBOLIC },
    };
    Ok(Polylines {
        points: collected(critical.iter().map(|point| point.at))?,
        polylines: collected(critical.iter().enumerate().map(polyline))?,
    })
}

/// Returns ln v of a pixel, or NaN if the pixel is excluded.
fn log(strength: f32, min_strength: f64) -> f64 {
    let strength = f64::from(strength);
    if strength >= min_strength && strength < 1.0 { strength.ln() } else { f64::NAN }
}

/// The derivatives, at the middle pixel, of the quadratic that fits 3 × 3 values best in the sense of least squares.
///
/// Sums are ordered so that a mirrored or transposed image adds the same numbers in the same order. Its derivatives, and A,
/// are then equal up to their sign.
#[derive(Clone, Copy)]
struct Fit {
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Fit {
    /// Returns the fit; `None` if one of the values is not finite.
    fn new([[nw, n, ne], [w, c, e], [sw, s, se]]: [[f64; 3]; 3]) -> Option<Self> {
        let [left, right, top, bottom] = [(nw + sw) + w, (ne + se) + e, (nw + ne) + n, (sw + se) + s];
        let fit = Self {
            x: (right - left) / 6.0,
            y: (bottom - top) / 6.0,
            xx: (right + left - 2.0 * ((n + s) + c)) / 3.0,
            yy: (bottom + top - 2.0 * ((w + e) + c)) / 3.0,
            xy: ((nw + se) - (ne + sw)) / 4.0,
        };
        fit.xx.is_finite().then_some(fit)
    }

    /// Returns A, and the largest error that the rounding of v may cause in it: values of ln v have an error of up to
    /// [`ROUNDING`], `x`, `y` and `xy` have the same one, and `xx − yy` has four times as much.
    fn variation(&self) -> [f64; 2] {
        let Self { x, y, xx, yy, xy } = *self;
        let [product, squares] = [x * y, y * y - x * x];
        let error = (x.abs() + y.abs()) * ((xx - yy).abs() + 2.0 * xy.abs()) + 4.0 * product.abs() + squares.abs();
        [product * (xx - yy) + xy * squares, ROUNDING * error]
    }

    /// Returns the offset of a critical point within reach, the change of the values from the middle pixel to that point,
    /// and true if it is elliptic.
    fn critical(&self) -> Option<([f64; 2], f64, bool)> {
        let Self { x, y, xx, yy, xy } = *self;
        let determinant = xx * yy - xy * xy;
        let [dx, dy] = [(xy * y - yy * x) / determinant, (xy * x - xx * y) / determinant];
        // The negated test also rejects numbers that are not finite.
        if !(dx.abs() <= REACH && dy.abs() <= REACH) {
            return None;
        }
        let (mean, half) = (0.5 * (xx + yy), 0.5 * (xx - yy));
        let spread = (half * half + xy * xy).sqrt();
        let [low, high] = [mean - spread, mean + spread];
        // Second derivatives have an error of up to four times the rounding error. If both are negative, the point is a
        // maximum.
        let bends = low.abs().min(high.abs()) > 4.0 * ROUNDING && high > 0.0;
        bends.then_some(([dx, dy], 0.5 * (x * dx + y * dy), low > 0.0))
    }
}

/// A critical point.
struct Critical {
    /// The row and the column of the pixel whose neighbourhood it was computed from.
    pixel: [usize; 2],
    /// Its distance from that pixel: the larger of the distances along x and along y.
    offset: f64,
    /// The position, x and y.
    at: [f64; 2],
    /// ln v.
    log: f64,
    elliptic: bool,
}

impl Critical {
    /// Returns the distance from a point: the larger of the distances along x and along y.
    fn distance(&self, [x, y]: [f64; 2]) -> f64 {
        (x - self.at[0]).abs().max((y - self.at[1]).abs())
    }

    /// Compares by the distance from the pixel, then by the pixel's position.
    fn compare(&self, other: &Self) -> Ordering {
        self.offset.total_cmp(&other.offset).then(self.pixel.cmp(&other.pixel))
    }
}

/// The logarithms of the strength in some rows and in the rows around them.
struct Window {
    width: usize,
    height: usize,
    /// The first row.
    first: usize,
    logs: Vec<f64>,
}

impl Window {
    fn new(strength: ArrayView2<'_, f32>, rows: &Range<usize>, min_strength: f64) -> Result<Self> {
        let (height, width) = strength.dim();
        // A critical point is compared with those of the pixels around it, each of which depends on its own neighbours.
        let halo = AROUND + 1;
        let (first, end) = (rows.start.saturating_sub(halo), height.min(rows.end + halo));
        let mut logs = reserved((end - first) * width)?;
        for y in first..end {
            logs.extend(strength.row(y).iter().map(|pixel| log(*pixel, min_strength)));
        }
        Ok(Self { width, height, first, logs })
    }

    /// Returns the fit at a pixel; `None` at the border, and if the pixel or a neighbour is excluded.
    fn fit(&self, x: usize, y: usize) -> Option<Fit> {
        if x == 0 || y == 0 || x + 1 >= self.width || y + 1 >= self.height {
            return None;
        }
        let row = |y: usize| {
            let at = (y - self.first) * self.width + x;
            [self.logs[at - 1], self.logs[at], self.logs[at + 1]]
        };
        Fit::new([row(y - 1), row(y), row(y + 1)])
    }

    /// Returns the critical point of a pixel.
    fn critical(&self, x: usize, y: usize) -> Option<Critical> {
        let ([dx, dy], change, elliptic) = self.fit(x, y)?.critical()?;
        Some(Critical {
            pixel: [y, x],
            offset: dx.abs().max(dy.abs()),
            at: [x as f64 + dx, y as f64 + dy],
            log: self.logs[(y - self.first) * self.width + x] + change,
            elliptic,
        })
    }

    /// Returns the critical point of a pixel, unless another pixel finds the same point closer to itself.
    fn only_critical(&self, x: usize, y: usize) -> Option<Critical> {
        let own = self.critical(x, y)?;
        let around = |at: usize, count: usize| at.saturating_sub(AROUND)..count.min(at + AROUND + 1);
        let better = around(y, self.height).any(|v| {
            around(x, self.width).any(|u| {
                self.critical(u, v).is_some_and(|other| other.compare(&own).is_lt() && other.distance(own.at) < NEAR)
            })
        });
        (!better).then_some(own)
    }
}

/// Writes A of some rows into `field`, with NaN at excluded pixels, and returns their critical points.
fn variation(
    strength: ArrayView2<'_, f32>,
    rows: Range<usize>,
    params: &AxisParams,
    field: &mut [f32],
    ticker: &Ticker,
) -> Result<Vec<Critical>> {
    ticker.check()?;
    let window = Window::new(strength, &rows, params.min_strength)?;
    let (width, height) = (window.width, window.height);
    let around = rows.start.saturating_sub(1)..height.min(rows.end + 1);
    let mut clear: Vec<u8> = zeroed(around.len() * width)?;
    let mut values: Vec<f32> = reserved(around.len() * width)?;
    let mut critical = Vec::new();
    for y in around.clone() {
        ticker.check()?;
        for x in 0..width {
            let Some(fit) = window.fit(x, y) else {
                values.push(f32::NAN);
                continue;
            };
            let [value, error] = fit.variation();
            clear[values.len()] = u8::from(value.abs() > error);
            values.push(value as f32);
            if rows.contains(&y) && fit.critical().is_some() {
                window.only_critical(x, y).map_or(Ok(()), |point| push(&mut critical, point))?;
            }
        }
    }
    // A is 0 on an axis, so it may be below its error there. It is kept if it is above its error at the pixel or at any
    // neighbour.
    for (y, field) in rows.clone().zip(field.chunks_exact_mut(width)) {
        for (x, pixel) in field.iter_mut().enumerate() {
            let at = (y - around.start) * width + x;
            // A pixel with a value has all of its neighbours.
            let is_clear = |at: usize| clear[at - 1] | clear[at] | clear[at + 1] != 0;
            let keep = values[at].is_finite() && (is_clear(at - width) || is_clear(at) || is_clear(at + width));
            *pixel = if keep { values[at] } else { f32::NAN };
        }
    }
    ticker.add(rows.len() as u64);
    Ok(critical)
}

/// Splits curves on which A is 0 into axes.
struct Splitter<'a> {
    strength: ArrayView2<'a, f32>,
    /// The critical points, sorted by the row, then by the column of their pixels.
    critical: &'a [Critical],
    params: &'a AxisParams,
    ticker: &'a Ticker,
}

/// An axis that is being followed.
#[derive(Default)]
struct Piece {
    points: Vec<[f64; 2]>,
    /// ln v of the first and of the last point.
    logs: [f64; 2],
    /// The comparison of ln v at a point with the point before: less on S+, greater on S−, and none while all are equal.
    turn: Option<Ordering>,
}

impl Piece {
    fn begin(&mut self, point: [f64; 2], log: f64) -> Result<()> {
        self.points.clear();
        (self.logs, self.turn) = ([log; 2], None);
        push(&mut self.points, point)
    }
}

impl Splitter<'_> {
    /// Returns ln v at a point of a curve, which is on a line between neighbouring pixels.
    fn log(&self, [x, y]: [f64; 2]) -> f64 {
        let [column, row] = [x as usize, y as usize];
        let log = |x: usize, y: usize| log(self.strength[[y, x]], self.params.min_strength);
        let (here, [dx, dy]) = (log(column, row), [x - column as f64, y - row as f64]);
        if dx > 0.0 {
            here * (1.0 - dx) + log(column + 1, row) * dx
        } else if dy > 0.0 {
            here * (1.0 - dy) + log(column, row + 1) * dy
        } else {
            here
        }
    }

    /// Returns the nearest critical point that is near to a point.
    fn critical_near(&self, at: [f64; 2]) -> Option<&Critical> {
        let least = |value: f64| (value - NEAR - REACH).max(0.0) as usize;
        let most = |value: f64| (value + NEAR + REACH) as usize;
        let near = (least(at[1])..=most(at[1])).flat_map(|row| {
            let first = self.critical.partition_point(|point| point.pixel < [row, least(at[0])]);
            self.critical[first..].iter().take_while(move |point| point.pixel <= [row, most(at[0])])
        });
        near.filter(|point| point.distance(at) < NEAR).min_by(|a, b| a.distance(at).total_cmp(&b.distance(at)))
    }

    /// Appends the axes of a curve that has the higher values of A on its right.
    fn split(&self, points: &[[f64; 2]], closed: bool, axes: &mut Polylines) -> Result<()> {
        // Replace all points of the curve that are near to a critical point by that point.
        let points = try_collected(points.iter().enumerate().map(|(index, point)| {
            if index % POINTS_PER_CHECK == 0 {
                self.ticker.check()?;
            }
            Ok(match self.critical_near(*point) {
                Some(critical) => (critical.at, critical.log, true),
                None => (*point, self.log(*point), false),
            })
        }))?;
        // In a closed curve, begin at the highest point, which is the end of an axis.
        let highest = (0..points.len()).max_by(|a, b| points[*a].1.total_cmp(&points[*b].1).then(b.cmp(a)));
        let start = if closed { highest.unwrap_or(0) } else { 0 };
        let mut piece = Piece::default();
        for index in start..start + points.len() + usize::from(closed) {
            let (point, log, is_critical) = points[index % points.len()];
            let Some(&last) = piece.points.last() else {
                piece.begin(point, log)?;
                continue;
            };
            if point == last {
                continue;
            }
            let turn = log.total_cmp(&piece.logs[1]);
            if turn.is_ne() && piece.turn.is_some_and(|other| other != turn) {
                self.end(&piece, axes)?;
                piece.begin(last, piece.logs[1])?;
            }
            if turn.is_ne() {
                piece.turn = Some(turn);
            }
            push(&mut piece.points, point)?;
            piece.logs[1] = log;
            if is_critical {
                self.end(&piece, axes)?;
                piece.begin(point, log)?;
            }
        }
        self.end(&piece, axes)
    }

    /// Appends an axis, unless it is too short.
    fn end(&self, piece: &Piece, axes: &mut Polylines) -> Result<()> {
        let Some(turn) = piece.turn else { return Ok(()) };
        let length = |spacing| isolines::measure(&piece.points, false, spacing, self.ticker).map(|[length, _]| length);
        if length([1.0; 2])? < self.params.min_length {
            return Ok(());
        }
        let polyline = Polyline {
            first: axes.points.len() as u64,
            count: piece.points.len() as u64,
            parent: -1,
            level: piece.logs[0].min(piece.logs[1]).exp(),
            length: length(self.params.spacing)?,
            area: 0.0,
            slice: 0,
            flags: if turn.is_lt() { Polylines::S_PLUS } else { Polylines::S_MINUS },
        };
        extend(&mut axes.points, piece.points.iter().copied())?;
        push(&mut axes.polylines, polyline)
    }
}
