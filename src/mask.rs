//! Fills shapes into masks, from which a level set starts. It serves programs that have no drawing tools.
//!
//! ```
//! use isoline::mask::{self, Sphere};
//! use ndarray::Array3;
//!
//! let mut start = Array3::<u8>::zeros((20, 64, 64));
//! // A ball of 12 µm in a stack whose slices are 3 µm apart.
//! let ball = Sphere { centre: [32.0, 32.0, 10.0], radius: 12.0 };
//! mask::fill_spheres(start.view_mut().into(), [1.0, 1.0, 3.0], &[ball], 255)?;
//! assert_eq!((start[[14, 32, 32]], start[[15, 32, 32]]), (255, 0));
//! # Ok::<(), isoline::Error>(())
//! ```
//!
//! Positions are in columns, rows and slices: the centre of the first pixel is at (0, 0, 0). A pixel is in a shape if its
//! centre is. Pixels outside all shapes keep their value, and shapes are clipped to the mask. A mask is 8-bit and in host
//! memory. A call that fails writes nothing, unless it was cancelled by the [cancel flag](crate::set_cancel_flag) or ran
//! out of memory: then some of the shapes may have been filled.

use crate::error::{Error, ErrorKind, Result, finite, number};
use crate::image::{ImageMut, MOST_ANISOTROPY, PixelType, check_spacing, check_type};
use crate::memory::{reserved, sort_while};
use crate::progress::Ticker;
use ndarray::{ArrayViewMut3, s};
use std::fmt::Display;
use std::ops::Range;

/// A ball, in the memory layout of the C API.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// The column, row and slice of the centre.
    pub centre: [f64; 3],
    /// The radius, in the unit of the spacing, at least 0. The surface belongs to the ball.
    pub radius: f64,
}

/// A box along the axes, in the memory layout of the C API.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cuboid {
    /// The first column, row and slice, which belong to the box.
    pub min: [f64; 3],
    /// The last column, row and slice, which belong to the box; each is at least that of `min`.
    pub max: [f64; 3],
}

/// The largest absolute value of a coordinate, because squares of larger numbers could overflow.
const MAX_COORDINATE: f64 = 1e100;

/// Sets the pixels of `mask` in any of `spheres` to `value`; `spacing` is the distance between pixels along x, y, z,
/// each from 1e-15 to 1e15 and at most 1e9 times another.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] for a number that is not finite or beyond ±1e100, a negative radius or a
/// spacing out of its range; [`ErrorKind::InvalidType`] for another mask than u8; [`ErrorKind::Unsupported`] for
/// device memory.
pub fn fill_spheres(mask: ImageMut<'_>, spacing: [f64; 3], spheres: &[Sphere], value: u8) -> Result<()> {
    let mut mask = pixels(mask)?;
    let ticker = Ticker::new(STAGE);
    check_spacing(&spacing, MOST_ANISOTROPY)?;
    for (index, sphere) in spheres.iter().enumerate() {
        ticker.check()?;
        for (axis, centre) in AXES.into_iter().zip(sphere.centre) {
            coordinate(format_args!("spheres[{index}].centre along {axis}"), centre)?;
        }
        if coordinate(format_args!("spheres[{index}].radius"), sphere.radius)? < 0.0 {
            return Err(Error::argument(format!(
                "cannot use spheres[{index}].radius: it must not be negative (got {})",
                number(sphere.radius)
            )));
        }
    }
    spheres.iter().try_for_each(|sphere| fill_sphere(&mut mask, spacing, sphere, value, &ticker))
}

fn fill_sphere(
    mask: &mut ArrayViewMut3<'_, u8>,
    spacing: [f64; 3],
    sphere: &Sphere,
    value: u8,
    ticker: &Ticker,
) -> Result<()> {
    // The check comes first because a ball outside the mask takes time, too.
    ticker.check()?;
    let (depth, height, width) = mask.dim();
    let radius_squared = sphere.radius * sphere.radius;
    let squared = |axis: usize, index: usize| ((index as f64 - sphere.centre[axis]) * spacing[axis]).powi(2);
    // Returns the indices along an axis within `reach` of the centre, with one more on either side for rounding errors.
    let touched = |axis: usize, reach: f64, count: usize| {
        let steps = reach / spacing[axis] + 1.0;
        within(sphere.centre[axis] - steps, sphere.centre[axis] + steps, count)
    };
    for z in touched(2, sphere.radius, depth) {
        for y in touched(1, sphere.radius, height) {
            ticker.check()?;
            let off_axis = squared(2, z) + squared(1, y);
            if off_axis > radius_squared {
                continue;
            }
            // Shrink the range to the pixels that are inside.
            let inside = |x: usize| squared(0, x) + off_axis <= radius_squared;
            let mut row = touched(0, (radius_squared - off_axis).sqrt(), width);
            while row.start < row.end && !inside(row.start) {
                row.start += 1;
            }
            while row.start < row.end && !inside(row.end - 1) {
                row.end -= 1;
            }
            mask.slice_mut(s![z, y, row]).fill(value);
        }
    }
    Ok(())
}

/// Sets the pixels of `mask` in any of `boxes` to `value`.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] for a number that is not finite or beyond ±1e100, or a `min` above its `max`;
/// [`ErrorKind::InvalidType`] for another mask than u8; [`ErrorKind::Unsupported`] for device memory.
pub fn fill_boxes(mask: ImageMut<'_>, boxes: &[Cuboid], value: u8) -> Result<()> {
    let mut mask = pixels(mask)?;
    let ticker = Ticker::new(STAGE);
    for (index, cuboid) in boxes.iter().enumerate() {
        ticker.check()?;
        for (axis, (min, max)) in AXES.into_iter().zip(cuboid.min.into_iter().zip(cuboid.max)) {
            coordinate(format_args!("boxes[{index}].min along {axis}"), min)?;
            coordinate(format_args!("boxes[{index}].max along {axis}"), max)?;
            if min > max {
                return Err(Error::argument(format!(
                    "cannot use boxes[{index}].min along {axis}: it must be at most the max, {} (got {})",
                    number(max),
                    number(min)
                )));
            }
        }
    }
    let (depth, height, width) = mask.dim();
    for Cuboid { min, max } in boxes {
        let [x, y, z] = [width, height, depth];
        ticker.check()?;
        let part = s![within(min[2], max[2], z), within(min[1], max[1], y), within(min[0], max[0], x)];
        for mut row in mask.slice_mut(part).rows_mut() {
            ticker.check()?;
            row.fill(value);
        }
    }
    Ok(())
}

/// Sets the pixels of `mask` in a polygon of columns and rows to `value`, on the slices of a range. The last corner is
/// joined to the first.
///
/// A pixel is inside if a ray from its centre crosses the outline an odd number of times (the even-odd rule). A centre on
/// the outline counts as inside the region on the right of the outline or below it, so that each pixel along an edge shared
/// by two polygons is in exactly one of them.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] for a number that is not finite or beyond ±1e100, fewer than three corners,
/// or slices that the mask does not have; [`ErrorKind::InvalidType`] for another mask than u8;
/// [`ErrorKind::Unsupported`] for device memory; [`ErrorKind::OutOfMemory`].
pub fn fill_polygon(mask: ImageMut<'_>, corners: &[[f64; 2]], slices: Range<usize>, value: u8) -> Result<()> {
    let mut mask = pixels(mask)?;
    if corners.len() < 3 {
        return Err(Error::argument(format!(
            "cannot fill the polygon: it must have at least 3 corners (got {})",
            corners.len()
        )));
    }
    let ticker = Ticker::new(STAGE);
    for (index, corner) in corners.iter().enumerate() {
        ticker.check()?;
        coordinate(format_args!("the column of corner {index}"), corner[0])?;
        coordinate(format_args!("the row of corner {index}"), corner[1])?;
    }
    let (depth, height, width) = mask.dim();
    if slices.start > slices.end || slices.end > depth {
        return Err(Error::argument(format!(
            "cannot fill the polygon: the slices must be in the mask, from 0 up to {depth} (got {} up to {})",
            slices.start, slices.end
        )));
    }
    // 1. List the edges by their upper end.
    let mut edges = reserved::<PolygonEdge>(corners.len())?;
    edges.extend(corners.iter().zip(corners.iter().cycle().skip(1)).filter_map(|(a, b)| PolygonEdge::new(*a, *b)));
    sort_while(&mut edges, &ticker, |a, b| a.top[1].total_cmp(&b.top[1]))?;
    let mut active = reserved::<PolygonEdge>(edges.len())?;
    let mut crossings = reserved::<f64>(edges.len())?;
    let mut waiting = edges.iter().peekable();
    for y in 0..height {
        ticker.check()?;
        // 2. Update the edges that cross this row.
        let row = y as f64;
        active.retain(|edge| row < edge.bottom[1]);
        while let Some(edge) = waiting.next_if(|edge| edge.top[1] <= row) {
            if row < edge.bottom[1] {
                active.push(*edge);
            }
        }
        crossings.clear();
        crossings.extend(active.iter().map(|edge| edge.column(row)));
        sort_while(&mut crossings, &ticker, f64::total_cmp)?;
        // 3. Fill from each odd crossing up to the next, which is excluded.
        for pair in crossings.chunks_exact(2) {
            let columns = index(pair[0].ceil(), width)..index(pair[1].ceil(), width);
            for z in slices.clone() {
                ticker.check()?;
                mask.slice_mut(s![z, y, columns.clone()]).fill(value);
            }
        }
    }
    Ok(())
}

/// An edge of a polygon that crosses rows, from its upper end to its lower. It covers the rows from `top` to `bottom`,
/// which is excluded, so that a corner between two edges is crossed once.
#[derive(Clone, Copy)]
struct PolygonEdge {
    top: [f64; 2],
    bottom: [f64; 2],
}

impl PolygonEdge {
    /// Makes the same edge for either order of its ends, so that two polygons that share it have the same crossings.
    /// `None` for an edge along a row.
    fn new(a: [f64; 2], b: [f64; 2]) -> Option<Self> {
        if a[1] < b[1] {
            Some(Self { top: a, bottom: b })
        } else if b[1] < a[1] {
            Some(Self { top: b, bottom: a })
        } else {
            None
        }
    }

    /// Returns the column at which the edge crosses `row`. The product comes before the quotient: of corners on whole or half
    /// pixels it is exact, and so is then a crossing at the centre of a pixel, which decides about that pixel.
    fn column(&self, row: f64) -> f64 {
        let [across, down] = [0, 1].map(|axis| self.bottom[axis] - self.top[axis]);
        self.top[0] + (row - self.top[1]) * across / down
    }
}

/// The name of the stage; these calls have no callback that could get it.
const STAGE: &str = "filling shapes";

const AXES: [&str; 3] = ["x", "y", "z"];

/// Refuses a coordinate that is not finite or too large.
fn coordinate(name: impl Display, value: f64) -> Result<f64> {
    if finite(&name, value)?.abs() <= MAX_COORDINATE {
        return Ok(value);
    }
    Err(Error::argument(format!("cannot use {name}: it must be between -1e100 and 1e100 (got {})", number(value))))
}

/// Returns the pixels of a mask in host memory.
fn pixels(mask: ImageMut<'_>) -> Result<ArrayViewMut3<'_, u8>> {
    check_type("mask", mask.pixel_type(), PixelType::U8)?;
    match mask {
        ImageMut::U8(view) => Ok(view),
        _ => Err(Error::new(
            ErrorKind::Unsupported,
            "cannot fill shapes: the mask is in CUDA memory; fill one in host memory and copy it",
        )),
    }
}

/// Clamps a whole number to an index from 0 to `count`.
fn index(value: f64, count: usize) -> usize {
    // The conversion saturates at 0 and at the largest index.
    (value as usize).min(count)
}

/// Returns the indices from `first` to `last`, both included, clamped to `count` pixels.
fn within(first: f64, last: f64, count: usize) -> Range<usize> {
    let end = if last < 0.0 { 0 } else { index(last.floor(), count).saturating_add(1).min(count) };
    index(first.ceil(), count).min(end)..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    fn empty(shape: [usize; 3]) -> Array3<u8> {
        Array3::zeros((shape[2], shape[1], shape[0]))
    }

    #[test]
    fn spheres_are_the_pixels_within_the_radius_in_units_of_the_spacing() {
        let shape = [23, 19, 11];
        let spacings = [[1.0; 3], [0.3, 0.7, 2.1], [1.0, 1.0, 3.0]];
        let spheres = [
            Sphere { centre: [11.0, 9.0, 5.0], radius: 5.0 },
            Sphere { centre: [3.3, 17.9, 0.2], radius: 3.7 },
            Sphere { centre: [-4.0, 8.0, 12.0], radius: 6.5 },
            Sphere { centre: [20.0, 2.0, 9.0], radius: 0.0 },
            Sphere { centre: [20.5, 2.0, 9.0], radius: 0.0 },
            Sphere { centre: [1e60, 2.0, 9.0], radius: 1e10 },
        ];
        for spacing in spacings {
            for some in [&spheres[..1], &spheres[1..2], &spheres[2..3], &spheres[3..], &spheres] {
                let mut mask = empty(shape);
                fill_spheres(mask.view_mut().into(), spacing, some, 7).unwrap();
                for ((z, y, x), pixel) in mask.indexed_iter() {
                    let inside = some.iter().any(|sphere| {
                        let at = [x, y, z];
                        let squares: [f64; 3] =
                            std::array::from_fn(|a| ((at[a] as f64 - sphere.centre[a]) * spacing[a]).powi(2));
                        squares[2] + squares[1] + squares[0] <= sphere.radius * sphere.radius
                    });
                    assert_eq!(*pixel == 7, inside, "{x} {y} {z}, spacing {spacing:?}");
                }
            }
        }
        // The largest sphere covers the mask.
        let mut mask = empty(shape);
        fill_spheres(mask.view_mut().into(), [1.0; 3], &[Sphere { centre: [0.0; 3], radius: 1e100 }], 1).unwrap();
        assert!(mask.iter().all(|pixel| *pixel == 1));
    }

    #[test]
    fn boxes_include_their_ends_and_are_clipped_to_the_mask() {
        let mut mask = empty([8, 6, 4]);
        let boxes = [
            Cuboid { min: [1.0, 2.0, 1.0], max: [3.0, 2.0, 2.0] },
            Cuboid { min: [5.1, -9.0, 2.5], max: [99.0, 0.9, 1e100] },
            Cuboid { min: [-5.0, 0.0, 0.0], max: [-0.1, 5.0, 3.0] },
            Cuboid { min: [8.0, 0.0, 0.0], max: [9.0, 5.0, 3.0] },
        ];
        fill_boxes(mask.view_mut().into(), &boxes, 255).unwrap();
        for ((z, y, x), pixel) in mask.indexed_iter() {
            let first = (1..=3).contains(&x) && y == 2 && (1..=2).contains(&z);
            let second = x >= 6 && y == 0 && z == 3;
            assert_eq!(*pixel == 255, first || second, "{x} {y} {z}");
        }
        // Pixels outside keep their value.
        fill_boxes(mask.view_mut().into(), &[Cuboid { min: [0.0; 3], max: [0.0; 3] }], 9).unwrap();
        assert_eq!((mask[[0, 0, 0]], mask[[1, 2, 1]]), (9, 255));
    }

    /// Returns whether a point is inside by the even-odd rule, with the plain crossing test.
    fn even_odd(corners: &[[f64; 2]], at: [f64; 2]) -> bool {
        let sides = corners.iter().zip(corners.iter().cycle().skip(1));
        let crossed = |(a, b): &(&[f64; 2], &[f64; 2])| {
            (a[1] <= at[1]) != (b[1] <= at[1]) && (at[1] - a[1]) / (b[1] - a[1]) * (b[0] - a[0]) + a[0] <= at[0]
        };
        sides.filter(crossed).count() % 2 == 1
    }

    #[test]
    fn polygons_are_filled_by_the_even_odd_rule() {
        let star: Vec<[f64; 2]> = (0..5)
            .map(|corner| (corner * 2) as f64 * std::f64::consts::TAU / 5.0)
            .map(|angle| [20.3 + 17.1 * angle.sin(), 18.7 - 17.1 * angle.cos()])
            .collect();
        let beyond = vec![[-30.2, 10.1], [20.0, -25.3], [77.7, 20.2], [19.1, 60.6]];
        for corners in [star, beyond] {
            let mut mask = empty([41, 37, 3]);
            fill_polygon(mask.view_mut().into(), &corners, 1..3, 255).unwrap();
            for ((z, y, x), pixel) in mask.indexed_iter() {
                let inside = z > 0 && even_odd(&corners, [x as f64, y as f64]);
                assert_eq!(*pixel == 255, inside, "{x} {y} {z}");
            }
        }
    }

    #[test]
    fn polygons_that_share_edges_leave_no_gap_and_do_not_overlap() {
        // A fan of triangles, with corners and edges through pixel centres, covers each pixel of a square once.
        let hub = [10.0, 7.0];
        let rim =
            [[0.0, 0.0], [10.0, 0.0], [20.0, 0.0], [20.0, 14.0], [20.0, 20.0], [3.0, 20.0], [0.0, 20.0], [0.0, 7.0]];
        let mut covered = empty([24, 24, 1]);
        for (a, b) in rim.iter().zip(rim.iter().cycle().skip(1)) {
            // Both orientations of the triangle.
            for corners in [[hub, *a, *b], [*b, *a, hub]] {
                let mut mask = empty([24, 24, 1]);
                fill_polygon(mask.view_mut().into(), &corners, 0..1, 1).unwrap();
                if corners[0] == hub {
                    covered += &mask;
                } else {
                    let mut other = empty([24, 24, 1]);
                    fill_polygon(other.view_mut().into(), &[hub, *a, *b], 0..1, 1).unwrap();
                    assert_eq!(mask, other);
                }
            }
        }
        for ((_, y, x), count) in covered.indexed_iter() {
            assert_eq!(*count, u8::from(x < 20 && y < 20), "{x} {y}");
        }
    }

    #[test]
    fn invalid_arguments_are_named_and_nothing_is_written() {
        let mut mask = empty([4, 4, 2]);
        let good = Sphere { centre: [1.0; 3], radius: 1.0 };
        let mut refused = |spheres: &[Sphere], spacing| {
            let error = fill_spheres(mask.view_mut().into(), spacing, spheres, 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(mask.iter().all(|pixel| *pixel == 0));
            error.message().to_owned()
        };
        let bad = |radius| [good, Sphere { radius, ..good }];
        assert_eq!(
            refused(&bad(f64::NAN), [1.0; 3]),
            "cannot use spheres[1].radius: it must be a finite number (got NaN)"
        );
        assert_eq!(refused(&bad(-1.0), [1.0; 3]), "cannot use spheres[1].radius: it must not be negative (got -1)");
        assert_eq!(
            refused(&bad(1e101), [1.0; 3]),
            "cannot use spheres[1].radius: it must be between -1e100 and 1e100 (got 1e101)"
        );
        assert_eq!(
            refused(&[Sphere { centre: [0.0, f64::INFINITY, 0.0], ..good }], [1.0; 3]),
            "cannot use spheres[0].centre along y: it must be a finite number (got inf)"
        );
        let message =
            "spacing along z must be greater than 0, from 1e-15 to 1e15, but it is 0.0; give it in another unit";
        assert_eq!(refused(&[good], [1.0, 1.0, 0.0]), message);

        let error =
            fill_boxes(mask.view_mut().into(), &[Cuboid { min: [0.0, 2.0, 0.0], max: [1.0; 3] }], 1).unwrap_err();
        assert_eq!(error.message(), "cannot use boxes[0].min along y: it must be at most the max, 1 (got 2)");
        let triangle = [[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]];
        let error = fill_polygon(mask.view_mut().into(), &triangle[..2], 0..1, 1).unwrap_err();
        assert_eq!(error.message(), "cannot fill the polygon: it must have at least 3 corners (got 2)");
        let error = fill_polygon(mask.view_mut().into(), &triangle, 1..3, 1).unwrap_err();
        assert_eq!(
            error.message(),
            "cannot fill the polygon: the slices must be in the mask, from 0 up to 2 (got 1 up to 3)"
        );
        let mut wide = Array3::<u16>::zeros((1, 4, 4));
        let error = fill_polygon(wide.view_mut().into(), &triangle, 0..1, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidType);
        assert!(mask.iter().all(|pixel| *pixel == 0));
    }
}
