//! Functions that draw shapes into masks.

use super::image::{Checked, isoline_image};
use super::sized::same_layout;
use super::{check, guard, isoline_status};
use crate::image::PixelType;
use crate::mask::{self, Cuboid, Sphere};

/// A ball. The struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_sphere {
    /// The column, row and slice of the centre, counted from 0; whole numbers are the centres of pixels.
    pub centre: [f64; 3],
    /// The radius in the unit of the mask's spacing, at least 0.
    pub radius: f64,
}

/// A box along the axes. The struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_box {
    /// The first column, row and slice, counted from 0; whole numbers are the centres of pixels.
    pub min: [f64; 3],
    /// The last column, row and slice, each at least that of `min`.
    pub max: [f64; 3],
}

// The caller's shapes are read in the layout that they have in Rust's memory.
same_layout!(isoline_sphere, Sphere, centre, radius);
same_layout!(isoline_box, Cuboid, min, max);

/// Sets the pixels of a mask that are inside one or more balls: pixels whose centre is at most the radius away from the
/// centre of a ball, measured with the mask's spacing. The other pixels are unchanged; parts outside the mask are ignored.
/// The time grows with the number of balls and of their pixels; isoline_set_cancel_flag can cancel it.
///
/// @param mask not NULL; ISOLINE_U8, host memory.
/// @param spheres an array of balls, only read. NULL if `count` is 0.
/// @param count the number of balls.
/// @param value the value that the pixels are set to.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT for a number that is not finite or beyond
///   ±1e100, or a negative radius; _INVALID_SIZE; _INVALID_TYPE; _OVERLAP for rows that overlap each other;
///   _UNSUPPORTED for CUDA memory; _CANCELLED by the cancel flag, with a part of the pixels set. May be called on any
///   thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_mask_fill_spheres(
    mask: *const isoline_image,
    spheres: *const isoline_sphere,
    count: usize,
    value: u8,
) -> isoline_status {
    guard(|| {
        // SAFETY: both are NULL or valid, as the caller ensures; NULL is refused or allowed by each reader. The two
        // sphere types have one layout.
        unsafe {
            let mask = Checked::to_write(mask, "mask")?;
            let spheres = check::slice(spheres.cast::<Sphere>(), count, "spheres")?;
            mask::fill_spheres(mask.output(PixelType::U8)?, mask.spacing(), spheres, value)
        }
    })
}

/// Sets the pixels of a mask that are inside one or more boxes: pixels whose centre is between `min` and `max`, both
/// included. The other pixels are unchanged; parts outside the mask are ignored. The time grows with the number of boxes
/// and of their pixels; isoline_set_cancel_flag can cancel it.
///
/// @param mask not NULL; ISOLINE_U8, host memory; its spacing is not used.
/// @param boxes an array of boxes, only read. NULL if `count` is 0.
/// @param count the number of boxes.
/// @param value the value that the pixels are set to.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT for a number that is not finite or beyond
///   ±1e100, or a `min` above its `max`; _INVALID_SIZE; _INVALID_TYPE; _OVERLAP for rows that overlap each other;
///   _UNSUPPORTED for CUDA memory; _CANCELLED by the cancel flag, with a part of the pixels set. May be called on any
///   thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_mask_fill_boxes(
    mask: *const isoline_image,
    boxes: *const isoline_box,
    count: usize,
    value: u8,
) -> isoline_status {
    guard(|| {
        // SAFETY: both are NULL or valid, as the caller ensures; NULL is refused or allowed by each reader. The two box
        // types have one layout.
        unsafe {
            let mask = Checked::to_write(mask, "mask")?;
            let boxes = check::slice(boxes.cast::<Cuboid>(), count, "boxes")?;
            mask::fill_boxes(mask.output(PixelType::U8)?, boxes, value)
        }
    })
}

/// Sets the pixels of a mask whose centre is inside a polygon, on some of its slices; a centre is inside if a ray from it
/// crosses the outline an odd number of times. A centre on the outline belongs to the side to its right, or below. So if
/// polygons share a side, a pixel on it belongs to exactly one of them. The other pixels are unchanged; parts outside the
/// mask are ignored. The time grows with the number of rows that each side passes, and with the number of pixels that are
/// set; isoline_set_cancel_flag can cancel it.
///
/// @param mask not NULL; ISOLINE_U8, host memory; its spacing is not used.
/// @param xy an array of 2 `count` numbers, the column and row of each corner, counted from 0; whole numbers are the
///   centres of pixels. It is only read. The last corner is joined to the first. NULL only if `count` is 0.
/// @param count the number of corners; fewer than 3 enclose nothing and are an error.
/// @param first_slice,slice_count the first slice and the number of slices, which the mask must have.
/// @param value the value that the pixels are set to.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT for a number that is not finite or beyond
///   ±1e100, fewer than 3 corners, or slices that the mask does not have; _INVALID_SIZE; _INVALID_TYPE; _OVERLAP for
///   rows that overlap each other; _UNSUPPORTED for CUDA memory; _OUT_OF_MEMORY; _CANCELLED by the cancel flag, with a
///   part of the pixels set. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_mask_fill_polygon(
    mask: *const isoline_image,
    xy: *const f64,
    count: usize,
    first_slice: u64,
    slice_count: u64,
    value: u8,
) -> isoline_status {
    guard(|| {
        // SAFETY: both are NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let mask = Checked::to_write(mask, "mask")?;
            let corners = check::slice(xy.cast::<[f64; 2]>(), count, "xy")?;
            let index = |slice: u64| usize::try_from(slice).unwrap_or(usize::MAX);
            let slices = index(first_slice)..index(first_slice.saturating_add(slice_count));
            mask::fill_polygon(mask.output(PixelType::U8)?, corners, slices, value)
        }
    })
}
