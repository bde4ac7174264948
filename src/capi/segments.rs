//! Edge segments, and the lines and ellipses along them. An operation returns these objects, and the caller frees them.

use super::sized::{self, Sized32, same_layout, sized_struct};
use super::{check, guard, guard_or, isoline_status, object};
use crate::edge_drawing::{Ellipse, Line, Point, Segments};
use crate::error::Result;

/// The position of a pixel: column and row, counted from the top left pixel, which is (0, 0). The struct never
/// changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct isoline_point {
    /// The column, counted from 0.
    pub x: u32,
    /// The row, counted from 0.
    pub y: u32,
}

// Points are returned in the layout that they have in Rust's memory.
same_layout!(isoline_point, Point, x, y);

/// The properties of a segment, one per bit. Ignore unknown bits.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_segment_flags {
    /// The segment is closed: its last point is next to its first.
    ISOLINE_SEGMENT_CLOSED = 1,
}
const _: () = assert!(Segments::CLOSED == isoline_segment_flags::ISOLINE_SEGMENT_CLOSED as u32);

/// Ordered chains of pixels, created by isoline_edge_drawing. The object never changes. Opaque.
pub struct isoline_segments(pub(super) Segments);

/// All segments as flat arrays, which are borrowed: they are valid until the segments are freed, and must only be
/// read. Segment i has the points from `offsets[i]` up to but not including `offsets[i + 1]`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_segment_arrays {
    /// The size of the struct, set by isoline_segment_arrays_init.
    pub struct_size: u32,
    /// Always 0.
    pub reserved: u32,
    /// The number of segments.
    pub count: u64,
    /// The number of points of all segments.
    pub point_count: u64,
    /// An array of `point_count` points; NULL if there are none.
    pub points: *const isoline_point,
    /// An array of `count` + 1 offsets, from 0 up to `point_count`; never NULL.
    pub offsets: *const u64,
    /// An array of `count` sums of isoline_segment_flags; NULL if there are no segments.
    pub flags: *const u32,
    /// An array of `count` slice numbers, counted from 0; NULL if there are no segments.
    pub slices: *const u32,
    /// An array of `count` means of the gradient magnitude over the points of a segment, in the image's own units;
    /// NULL if there are no segments.
    pub mean_gradients: *const f32,
}

sized_struct!(isoline_segment_arrays, 64);

/// Returns the segments that a caller's pointer points to.
///
/// # Safety
/// `segments` is NULL or came from an operation and has not been freed; it lives for `'a`.
pub(super) unsafe fn segments<'a>(segments: *const isoline_segments) -> Result<&'a Segments> {
    // SAFETY: as the caller ensures.
    Ok(&unsafe { object::borrow(segments, "segments") }?.0)
}

/// Writes the result of `of` for the segment `index` to `out`, an argument named `name`.
///
/// # Safety
/// The requirements of [`segments`] hold; `out` is NULL or writable.
unsafe fn write_property<T>(
    segments: *const isoline_segments,
    index: usize,
    out: *mut T,
    name: &str,
    of: impl FnOnce(&Segments) -> T,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller ensures.
        let segments = unsafe { self::segments(segments) }?;
        check::not_null(out, name)?;
        check::index(index, segments.len(), "segment")?;
        // SAFETY: not NULL; writable, as the caller ensures.
        unsafe { out.write(of(segments)) };
        Ok(())
    })
}

/// Returns the number of segments. Never fails. May be called on any thread.
///
/// @param segments NULL counts as 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_count(segments: *const isoline_segments) -> usize {
    // SAFETY: as the caller ensures; NULL is an error there and none here.
    guard_or(0, || unsafe { self::segments(segments) }.map_or(0, Segments::len))
}

/// Returns the points of one segment, from one end to the other; successive points are neighbouring pixels (of
/// eight). The description of isoline_edge_drawing states the order of points and segments.
///
/// @param segments not NULL.
/// @param index less than isoline_segments_count().
/// @param points receives the address of the first point, which is borrowed: valid until the segments are freed, and
///   only to be read.
/// @param count receives the number of points, at least 1.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for an index out of range; nothing is
///   written then. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_points(
    segments: *const isoline_segments,
    index: usize,
    points: *mut *const isoline_point,
    count: *mut usize,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller ensures.
        let segments = unsafe { self::segments(segments) }?;
        check::not_null(points, "points")?;
        check::not_null(count, "count")?;
        check::index(index, segments.len(), "segment")?;
        let found = segments.get(index).map_or(&[][..], |segment| segment.points);
        // SAFETY: not NULL; writable, as the caller ensures. A Point has the layout of an isoline_point (asserted
        // above).
        unsafe {
            points.write(check::address(found).cast());
            count.write(found.len());
        }
        Ok(())
    })
}

/// Returns the properties of one segment.
///
/// @param segments not NULL.
/// @param index less than isoline_segments_count().
/// @param flags receives a sum of isoline_segment_flags.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for an index out of range; nothing is
///   written then. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_flags(
    segments: *const isoline_segments,
    index: usize,
    flags: *mut u32,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    unsafe { write_property(segments, index, flags, "flags", |segments| segments.flags()[index]) }
}

/// Returns the slice that one segment is in.
///
/// @param segments not NULL.
/// @param index less than isoline_segments_count().
/// @param slice receives the slice, counted from 0.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for an index out of range; nothing is
///   written then. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_slice(
    segments: *const isoline_segments,
    index: usize,
    slice: *mut u64,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    unsafe { write_property(segments, index, slice, "slice", |segments| u64::from(segments.slices()[index])) }
}

/// Returns the strength of one segment: the mean of the gradient magnitude over its points. Deprecated: call
/// isoline_segments_all and read `mean_gradients[index]`, which is the same number. To be removed in version 0.3.
///
/// @param segments not NULL.
/// @param index less than isoline_segments_count().
/// @param mean_gradient receives the mean of |gx| + |gy|, by the gradient operator of the parameters, in the image's
///   own units.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for an index out of range; nothing is
///   written then. May be called on any thread.
#[deprecated(note = "read mean_gradients of isoline_segments_all; to be removed in version 0.3")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_gradient(
    segments: *const isoline_segments,
    index: usize,
    mean_gradient: *mut f64,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    unsafe {
        write_property(segments, index, mean_gradient, "mean_gradient", |segments| {
            f64::from(segments.mean_gradients()[index])
        })
    }
}

/// Fills `arrays` with zeros; `struct_size` is sizeof *arrays, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segment_arrays_init(
    arrays: *mut isoline_segment_arrays,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(arrays, struct_size, "arrays") })
}

/// Returns all segments in one call, without a copy.
///
/// @param segments not NULL.
/// @param arrays a struct after isoline_segment_arrays_init; written on success. Its pointers are borrowed: valid until
///   the segments are freed.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for a struct_size that is too small.
///   May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_all(
    segments: *const isoline_segments,
    arrays: *mut isoline_segment_arrays,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller ensures.
        let segments = unsafe { self::segments(segments) }?;
        let all = isoline_segment_arrays {
            count: segments.len() as u64,
            point_count: segments.points().len() as u64,
            points: check::address(segments.points()).cast(),
            offsets: segments.offsets().as_ptr(),
            flags: check::address(segments.flags()),
            slices: check::address(segments.slices()),
            mean_gradients: check::address(segments.mean_gradients()),
            ..isoline_segment_arrays::defaults()
        };
        // SAFETY: as the caller ensures.
        unsafe { sized::write(arrays, &all, "arrays") }
    })
}

/// Frees segments, after which every pointer into them dangles. They must not be used again. May be called on any
/// thread, before or after their context is freed.
///
/// @param segments may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_segments_free(segments: *mut isoline_segments) {
    // SAFETY: as the caller ensures.
    unsafe { object::free(segments, "segments") }
}

/// A straight line along a segment. Seen on a screen in the direction from the first end to the second, the brighter side
/// of the image is on the right. Coordinates are in pixels: whole numbers are the centres of pixels, and (0, 0) is the
/// centre of the top left pixel. The struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_line {
    /// The coordinate to the right of the first end.
    pub x0: f64,
    /// The coordinate downwards of the first end.
    pub y0: f64,
    /// The coordinate to the right of the second end.
    pub x1: f64,
    /// The coordinate downwards of the second end.
    pub y1: f64,
    /// The root mean square distance of its points from the line, in pixels.
    pub rms: f64,
    /// The decimal logarithm of its number of false alarms: how often chance is expected to form such a line in an image of
    /// this size. At most 0 with line_validation.
    pub log_false_alarms: f64,
    /// The index of its segment.
    pub segment: u64,
    /// The number of points that it was fitted to.
    pub points: u32,
    /// The slice, counted from 0.
    pub slice: u32,
}

// Lines are returned in the layout that they have in Rust's memory.
same_layout!(isoline_line, Line, x0, y0, x1, y1, rms, log_false_alarms, segment, points, slice);

/// Straight lines, created by isoline_edge_drawing_lines. The object never changes. Opaque.
pub struct isoline_lines(pub(super) Vec<Line>);

/// Returns all lines in one call, without a copy.
///
/// @param lines not NULL.
/// @param all receives the address of the first line, which is borrowed: valid until the lines are freed, and only to be
///   read; NULL if there are none.
/// @param count receives the number of lines.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; nothing is written then. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_lines_all(
    lines: *const isoline_lines,
    all: *mut *const isoline_line,
    count: *mut usize,
) -> isoline_status {
    // SAFETY: as the caller ensures. A Line has the layout of an isoline_line (asserted above).
    unsafe { object::all((lines, "lines"), |lines| &lines.0, all, count) }
}

/// Frees lines, after which every pointer into them dangles. They must not be used again. May be called on any thread, before
/// or after their context and their segments are freed.
///
/// @param lines may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_lines_free(lines: *mut isoline_lines) {
    // SAFETY: as the caller ensures.
    unsafe { object::free(lines, "lines") }
}

/// The flags of an ellipse.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_ellipse_flags {
    /// It is a circle: both semi-axes are its radius, and its angle is 0.
    ISOLINE_ELLIPSE_CIRCLE = 1,
    /// It is brighter inside than outside.
    ISOLINE_ELLIPSE_BRIGHT = 2,
}

/// A circle or an ellipse along segments. Coordinates are in pixels: whole numbers are the centres of pixels, and (0, 0) is
/// the centre of the top left pixel. The struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_ellipse {
    /// The coordinate to the right of the centre.
    pub x: f64,
    /// The coordinate downwards of the centre.
    pub y: f64,
    /// The longer semi-axis, in pixels.
    pub semi_major: f64,
    /// The shorter semi-axis, in pixels.
    pub semi_minor: f64,
    /// The direction of the longer axis, in radians from 0 to less than pi, counted from the right direction towards the
    /// downward direction.
    pub angle: f64,
    /// The root mean square distance of its points from the outline, in pixels.
    pub rms: f64,
    /// The share of its outline that its points cover, 0 to 1.
    pub coverage: f64,
    /// The decimal logarithm of its number of false alarms: how often chance is expected to form such a shape in an image
    /// of this size. At most 0 with ellipse_validation.
    pub log_false_alarms: f64,
    /// The index of the segment that its longest arc belongs to.
    pub segment: u64,
    /// The number of points that it was fitted to.
    pub points: u32,
    /// The number of arcs that were joined; 1 for a closed segment.
    pub arcs: u32,
    /// A sum of isoline_ellipse_flags.
    pub flags: u32,
    /// The slice, counted from 0.
    pub slice: u32,
}

// Ellipses are returned in the layout that they have in Rust's memory.
same_layout! {
    isoline_ellipse, Ellipse, x, y, semi_major, semi_minor, angle, rms, coverage, log_false_alarms, segment,
    points, arcs, flags, slice
}
const _: () = assert!(Ellipse::CIRCLE == isoline_ellipse_flags::ISOLINE_ELLIPSE_CIRCLE as u32);
const _: () = assert!(Ellipse::BRIGHT == isoline_ellipse_flags::ISOLINE_ELLIPSE_BRIGHT as u32);

/// Circles and ellipses, created by isoline_edge_drawing_ellipses. The object never changes. Opaque.
pub struct isoline_ellipses(pub(super) Vec<Ellipse>);

/// Returns all circles and ellipses in one call, without a copy.
///
/// @param ellipses not NULL.
/// @param all receives the address of the first one, which is borrowed: valid until the ellipses are freed, and only to be
///   read; NULL if there are none.
/// @param count receives their number.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; nothing is written then. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_ellipses_all(
    ellipses: *const isoline_ellipses,
    all: *mut *const isoline_ellipse,
    count: *mut usize,
) -> isoline_status {
    // SAFETY: as the caller ensures. An Ellipse has the layout of an isoline_ellipse (asserted above).
    unsafe { object::all((ellipses, "ellipses"), |ellipses| &ellipses.0, all, count) }
}

/// Frees circles and ellipses, after which every pointer into them dangles. They must not be used again. May be called on any
/// thread, before or after their context and their segments are freed.
///
/// @param ellipses may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_ellipses_free(ellipses: *mut isoline_ellipses) {
    // SAFETY: as the caller ensures.
    unsafe { object::free(ellipses, "ellipses") }
}
