//! Axes and critical points of an edge strength, as polylines.

use super::context::{context, isoline_context};
use super::edge_strength::isoline_edge_strength_params;
use super::fields;
use super::image::{Checked, isoline_image};
use super::isolines::isoline_polylines;
use super::progress::isoline_progress;
use super::report::isoline_report;
use super::{guard, isoline_status, object};
use crate::edge_strength::{self, AxisParams};

/// Finds the axes and the critical points of an edge strength v, which make up the skeleton of a shape (Tari, Shah and Pien
/// 1997; Aslan and Tari 2005). Each slice of a stack is processed separately. Every context computes them on the CPU; the
/// bits do not depend on the number of threads.
///
/// Axes are the curves on which the gradient magnitude of v is extremal along the level curves of v. On axes with the flag
/// ISOLINE_POLYLINE_S_PLUS it is smallest: these are axes of symmetry, which begin at protrusions of the shape, and along
/// which v decreases. On axes with the flag ISOLINE_POLYLINE_S_MINUS it is largest; along these v increases, towards
/// indentations and sides. Critical points are points where the gradient is 0, returned as polylines of one point:
/// ISOLINE_POLYLINE_ELLIPTIC at a minimum of v, in the centre of a part of the shape, and ISOLINE_POLYLINE_HYPERBOLIC at a
/// saddle, in a neck. Axes that come within a pixel of a critical point end in it.
///
/// Pixels are excluded if v is 1, less than axis_min_strength or not a number, if they are at the border of the image, and
/// if they are next to any of these. Axes and points that the rounding of v to 32 bits may have caused are excluded, too.
///
/// Polylines are ordered by their slice; in a slice critical points come first, row by row, then the axes. The `level` of
/// each is the smallest v on it, `parent` is -1 and `area` 0.
///
/// @param context not NULL.
/// @param strength not NULL; the output of isoline_edge_strength: ISOLINE_F32; host or CUDA memory, or slices; up to
///   2^32 - 1 pixels along every axis. Its spacing along x and y, each from 1e-15 to 1e15 and at most 1e9 times the other, is the
///   size of a pixel, in which lengths are measured; points are in pixels.
/// @param params NULL for the defaults; only parameters whose names begin with axis_ are used.
/// @param progress NULL for none.
/// @param polylines not NULL; receives the axes and the critical points, to be freed with isoline_polylines_free. Not written
///   on failure.
/// @param report NULL for none; else after isoline_report_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, _INVALID_ARGUMENT, _INVALID_SIZE; _INVALID_TYPE for other pixels
///   than ISOLINE_F32; _UNSUPPORTED for CUDA pixels with a CPU context; _OUT_OF_MEMORY; _DEVICE_FAILED; _CANCELLED;
///   _CALLBACK_FAILED; _BUSY. May be called on any thread; calls on one context run one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_edge_strength_axes(
    context: *mut isoline_context,
    strength: *const isoline_image,
    params: *const isoline_edge_strength_params,
    progress: *const isoline_progress,
    polylines: *mut *mut isoline_polylines,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let strength = Checked::sliced(strength, "strength")?;
            let params = fields::read(params)?;
            let [x, y, _] = strength.spacing();
            let params = AxisParams {
                min_strength: params.axis_min_strength,
                min_length: params.axis_min_length,
                spacing: [x, y],
            };
            object::compute(progress, (polylines, "polylines"), report, isoline_polylines, |progress, found| {
                edge_strength::axes(context, strength.source()?, &params, progress, found)
            })
        }
    })
}
