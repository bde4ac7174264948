//! Isolines, and polylines.

use super::context::{context, isoline_context};
use super::fields::{self, params_of};
use super::image::{Checked, isoline_image};
use super::progress::isoline_progress;
use super::report::isoline_report;
use super::sized::{self, same_layout, sized_struct};
use super::{check, guard, isoline_status, object};
use crate::error::Result;
use crate::isolines::{self, Params, Polyline, Polylines, parameters};
use crate::memory::collected;
use crate::parameter::ends;

/// The course of curves through a saddle cell: four neighbouring pixels whose two high pixels face each other across the
/// centre.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_isolines_connect {
    /// The low pixels are connected: each high one is cut off.
    ISOLINE_ISOLINES_CONNECT_LOW = 0,
    /// The high pixels are connected: each low one is cut off.
    ISOLINE_ISOLINES_CONNECT_HIGH = 1,
}

/// The parameters of isoline_isolines. isoline_isolines_params_init fills them with the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_isolines_params {
    /// The size of the struct, set by isoline_isolines_params_init.
    pub struct_size: u32,
    /// An isoline_isolines_connect. Default: ISOLINE_ISOLINES_CONNECT_LOW.
    pub connect: u32,
    /// The number n of equally spaced levels if no levels are given, 1 to 65535: level i, counted from 1, is range_min +
    /// (range_max - range_min) * i / (n + 1). Default 1, the middle.
    pub level_count: u32,
    /// Must be 0.
    pub reserved: u32,
    /// The lower end of the range of equally spaced levels. This and range_max ISOLINE_AUTOMATIC (default): automatic,
    /// the smallest and the largest finite pixel of the whole input. Otherwise both must be given, from -3.4e38 to 3.4e38,
    /// and range_min must be smaller than range_max.
    pub range_min: f64,
    /// The upper end of the range of equally spaced levels, at most 3.4e38. ISOLINE_AUTOMATIC (default): automatic.
    pub range_max: f64,
}

params_of!(isoline_isolines_params, 32, parameters::OPERATION, [reserved], connect, level_count, range_min, range_max,);

impl isoline_isolines_params {
    fn translate(&self, levels: &[f64], [x, y, _]: [f64; 3]) -> Result<Params> {
        Ok(Params {
            connect: parameters::CONNECT.chosen(self.connect, &parameters::CONNECTS)?,
            levels: collected(levels.iter().copied())?,
            level_count: self.level_count,
            range: ends(&parameters::RANGE_MIN, &parameters::RANGE_MAX, [self.range_min, self.range_max])?,
            spacing: [x, y],
        })
    }
}

/// A point of a polyline, in pixels: whole numbers are the centres of pixels, and (0, 0) is the centre of the top left
/// pixel. (Add half a pixel to get the coordinates of isoline_node.) The struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_polyline_point {
    /// The coordinate to the right.
    pub x: f64,
    /// The coordinate downwards.
    pub y: f64,
}

const _: () = assert!(size_of::<isoline_polyline_point>() == size_of::<[f64; 2]>());

/// The properties of a polyline, one per bit. Ignore unknown bits.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_polyline_flags {
    /// The polyline is closed: its last point is joined to its first, which is listed once.
    ISOLINE_POLYLINE_CLOSED = 1,
    /// An axis of an edge strength on which the gradient magnitude is smallest along level curves: an axis of symmetry.
    ISOLINE_POLYLINE_S_PLUS = 2,
    /// An axis of an edge strength on which the gradient magnitude is largest along level curves.
    ISOLINE_POLYLINE_S_MINUS = 4,
    /// A critical point at which an edge strength is smallest. The polyline has one point.
    ISOLINE_POLYLINE_ELLIPTIC = 8,
    /// A critical point that is a saddle of an edge strength. The polyline has one point.
    ISOLINE_POLYLINE_HYPERBOLIC = 16,
}
const _: () = assert!(Polylines::CLOSED == isoline_polyline_flags::ISOLINE_POLYLINE_CLOSED as u32);
const _: () = assert!(Polylines::S_PLUS == isoline_polyline_flags::ISOLINE_POLYLINE_S_PLUS as u32);
const _: () = assert!(Polylines::S_MINUS == isoline_polyline_flags::ISOLINE_POLYLINE_S_MINUS as u32);
const _: () = assert!(Polylines::ELLIPTIC == isoline_polyline_flags::ISOLINE_POLYLINE_ELLIPTIC as u32);
const _: () = assert!(Polylines::HYPERBOLIC == isoline_polyline_flags::ISOLINE_POLYLINE_HYPERBOLIC as u32);

/// One polyline. The struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct isoline_polyline {
    /// The index of its first point among the points of all polylines, which follow one another without a gap.
    pub first: u64,
    /// The number of its points, at least 2; 1 for a critical point.
    pub count: u64,
    /// The index of the closed polyline of the same slice and level that directly encloses it; -1 if there is none, or if
    /// it is open.
    pub parent: i64,
    /// The level, in the image's own units; of axes and critical points the smallest edge strength on them.
    pub level: f64,
    /// The length, in the unit of the image's spacing. For a closed polyline it includes the way from the last point to the
    /// first.
    pub length: f64,
    /// The area that a closed polyline encloses, in the square of the unit of the image's spacing: positive around higher
    /// values, negative around lower ones; 0 for an open polyline.
    pub area: f64,
    /// The slice, counted from 0.
    pub slice: u32,
    /// A sum of isoline_polyline_flags.
    pub flags: u32,
}

// Polylines are returned in the layout that they have in Rust's memory.
same_layout!(isoline_polyline, Polyline, first, count, parent, level, length, area, slice, flags);

/// Polylines, created by isoline_isolines and isoline_edge_strength_axes. The object never changes. Opaque.
pub struct isoline_polylines(pub(super) Polylines);

/// All polylines as flat arrays, which are borrowed: they are valid until the polylines are freed, and must only be read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_polyline_arrays {
    /// The size of the struct, set by isoline_polyline_arrays_init.
    pub struct_size: u32,
    /// Always 0.
    pub reserved: u32,
    /// The number of polylines.
    pub count: u64,
    /// The number of points of all polylines.
    pub point_count: u64,
    /// An array of `count` polylines; NULL if there are none.
    pub polylines: *const isoline_polyline,
    /// An array of `point_count` points; NULL if there are none.
    pub points: *const isoline_polyline_point,
}

sized_struct!(isoline_polyline_arrays, 40);

/// Fills `params` with the defaults; `struct_size` is sizeof *params, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_isolines_params_init(
    params: *mut isoline_isolines_params,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(params, struct_size, "params") })
}

/// Computes isolines, the curves on which an image has a value (the level), by marching squares with linear interpolation
/// between pixel centres (Lorensen and Cline 1987, in two dimensions). Each slice of a stack is processed separately. The
/// CPU computes them with every context; every device and number of threads gives the same bits.
///
/// A pixel above a level is high; any other pixel is low, also one that equals the level, so that curves never break. A
/// curve crosses the line between a high pixel and a low neighbour at (level - a) / (b - a) of the way from the left or
/// upper pixel, with the value a, to the other, with the value b. In cells whose two high pixels face each other, `connect`
/// decides. On a screen, higher values are on the right of a curve: a closed curve around them runs clockwise. Curves end
/// at the image's border and at cells with a pixel that is NaN or infinite. Neighbouring points of a curve differ.
///
/// Polylines are ordered by their slice, then by level as given, then by the crossing with which they begin, in the order
/// of rows (within a row, crossings between left and right pixels come first). A closed polyline begins with its first
/// crossing in this order, an open one with the end from which higher values are on its right. A curve whose points are all
/// equal is left out.
///
/// @param context not NULL.
/// @param input not NULL; any type; host or CUDA memory, or slices; up to 2^32 - 1 pixels along every axis. Its spacing
///   along x and y, each from 1e-15 to 1e15 and at most 1e9 times the other, is the size of a pixel, in which lengths and areas are
///   measured; points are in pixels.
/// @param levels `level_count` finite levels, in the image's own units; NULL for the equally spaced ones of `params`.
/// @param level_count the number of levels, up to 65535; 0 for the equally spaced ones of `params`.
/// @param params NULL for the defaults.
/// @param progress NULL for none.
/// @param polylines not NULL; receives the polylines, to be freed with isoline_polylines_free. Not written on failure.
/// @param report NULL for none; else after isoline_report_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, _INVALID_ARGUMENT; _INVALID_SIZE, also for 2^32 - 1 or more
///   crossings of a slice and level; _INVALID_TYPE; _UNSUPPORTED for CUDA pixels with a CPU context; _OUT_OF_MEMORY;
///   _DEVICE_FAILED; _CANCELLED; _CALLBACK_FAILED; _BUSY. May be called on any thread; calls on one context run one after
///   the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_isolines(
    context: *mut isoline_context,
    input: *const isoline_image,
    levels: *const f64,
    level_count: usize,
    params: *const isoline_isolines_params,
    progress: *const isoline_progress,
    polylines: *mut *mut isoline_polylines,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::sliced(input, "input")?;
            // A count that is wrong is refused before that many levels are read.
            isolines::check_level_count(level_count)?;
            let levels = check::slice(levels, level_count, "levels")?;
            let params = fields::read(params)?.translate(levels, input.spacing())?;
            object::compute(progress, (polylines, "polylines"), report, isoline_polylines, |progress, found| {
                isolines::run(context, input.source()?, &params, progress, found)
            })
        }
    })
}

/// Fills `arrays` with zeros; `struct_size` is sizeof *arrays, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_polyline_arrays_init(
    arrays: *mut isoline_polyline_arrays,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(arrays, struct_size, "arrays") })
}

/// Returns all polylines in one call, without a copy.
///
/// @param polylines not NULL.
/// @param arrays a struct after isoline_polyline_arrays_init; written on success. Its pointers are borrowed: valid until
///   the polylines are freed.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for a struct_size that is too small.
///   May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_polylines_all(
    polylines: *const isoline_polylines,
    arrays: *mut isoline_polyline_arrays,
) -> isoline_status {
    guard(|| {
        // SAFETY: as the caller ensures.
        let found = &unsafe { object::borrow(polylines, "polylines") }?.0;
        let all = isoline_polyline_arrays {
            count: found.polylines().len() as u64,
            point_count: found.points().len() as u64,
            polylines: check::address(found.polylines()).cast(),
            points: check::address(found.points()).cast(),
            ..sized::Sized32::defaults()
        };
        // SAFETY: as the caller ensures.
        unsafe { sized::write(arrays, &all, "arrays") }
    })
}

/// Frees polylines, after which every pointer into them dangles. They must not be used again. May be called on any thread,
/// before or after their context is freed.
///
/// @param polylines may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_polylines_free(polylines: *mut isoline_polylines) {
    // SAFETY: as the caller ensures.
    unsafe { object::free(polylines, "polylines") }
}
