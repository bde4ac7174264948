//! Edge drawing.

use super::context::{context, isoline_context};
use super::fields::{check_ranges, params_of};
use super::image::{Checked, isoline_image};
use super::progress::{closure, isoline_progress};
use super::report::isoline_report;
use super::segments::isoline_segments;
use super::sized;
use super::{check, guard, isoline_status};
use crate::edge_drawing::{self, Maps, Params, Segments, parameters};
use crate::error::{Error, ErrorKind, Result};
use crate::image::PixelType;
use crate::parameter::ends;
use crate::progress::Progress;

/// Which edge drawing.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_edge_drawing_profile {
    /// The parallel algorithm of Özsen, Topal and Akınlar, made independent of the order of the work.
    ISOLINE_EDGE_DRAWING_PAPER = 0,
    /// The authors' later sequential algorithm: segments and edge map equal those of OpenCV's ximgproc.EdgeDrawing.
    ISOLINE_EDGE_DRAWING_REFERENCE = 1,
}

/// How the gradient is measured: how much a pixel's three neighbours on either side weigh.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_gradient_operator {
    /// 1 2 1: an upright step of height h has, smoothed, the gradient 2.6 h.
    ISOLINE_GRADIENT_SOBEL = 0,
    /// 1 1 1: 1.9 h.
    ISOLINE_GRADIENT_PREWITT = 1,
    /// 3 10 3: 10.4 h.
    ISOLINE_GRADIENT_SCHARR = 2,
}

/// Which implementation computes. All give the same edges and segments; they differ in speed.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_edge_drawing_variant {
    /// The fastest of the device.
    ISOLINE_EDGE_DRAWING_DEFAULT = 0,
    /// Plain loops on one thread, the definition in code. CPU and paper profile only.
    ISOLINE_EDGE_DRAWING_SCALAR = 1,
}

/// The parameters of isoline_edge_drawing. Fill with isoline_edge_drawing_params_init, then change what you need.
/// The image is smoothed in its own type, so that an 8-bit image scaled to 16 bits, or given as f32, has other edges in
/// places; 16 bits with the same numbers have the same ones (docs/edge_drawing.md).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_edge_drawing_params {
    /// Set by isoline_edge_drawing_params_init.
    pub struct_size: u32,
    /// An isoline_edge_drawing_profile. Default: ISOLINE_EDGE_DRAWING_PAPER.
    pub profile: u32,
    /// An isoline_gradient_operator. Default: ISOLINE_GRADIENT_SOBEL.
    pub gradient_operator: u32,
    /// Anchors are looked for on every row and every column whose number is a multiple of this, at least 1. Default 1:
    /// everywhere. A larger one finds fewer anchors and loses short edges.
    pub scan_interval: u32,
    /// Segments of fewer points are dropped. Default 10; 0 and 1 keep all. The paper profile's map keeps their pixels, the
    /// reference profile's does not (and less than 3 acts as 3 there).
    pub min_length: u32,
    /// Paper profile: 1: where an edge changes between horizontal and vertical it is followed on in both perpendicular
    /// directions. 0 (default): it ends there, as printed, unless an anchor continues it. 1 closes gaps at corners.
    pub follow_turns: u32,
    /// An isoline_edge_drawing_variant. Default: ISOLINE_EDGE_DRAWING_DEFAULT.
    pub variant: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Pixels with a smaller gradient, |gx| + |gy| of the smoothed image, are never edges; in the image's own units, and
    /// one step of the integer gradient at least (1 for u8 and u16). ISOLINE_AUTOMATIC (default): automatic, 20 for 8-bit
    /// images, else 20/255 of the range from the smallest to the largest finite pixel of the whole input. A larger one
    /// gives fewer edges.
    pub gradient_threshold: f64,
    /// How far an anchor's gradient must stand above those of its two neighbours across the edge; at least 0, in the
    /// image's own units. Default 0. A larger one gives fewer anchors, so that only marked edges are drawn.
    pub anchor_threshold: f64,
    /// f32 images, which are computed in 65536 steps: the pixel value of step 0; pixels below count as it. This and
    /// range_max ISOLINE_AUTOMATIC (default): automatic, the smallest and largest finite pixel of the whole input. Must be
    /// automatic for 8- and 16-bit images, which are used as they are.
    pub range_min: f64,
    /// f32 images: the pixel value of step 65535; pixels above count as it. ISOLINE_AUTOMATIC (default): automatic.
    pub range_max: f64,
}

params_of!(
    isoline_edge_drawing_params,
    64,
    parameters::OPERATION,
    1,
    profile,
    gradient_operator,
    scan_interval,
    min_length,
    follow_turns,
    variant,
    gradient_threshold,
    anchor_threshold,
    range_min,
    range_max,
);

impl isoline_edge_drawing_params {
    /// # Safety
    /// As [`sized::read`].
    unsafe fn read(params: *const Self) -> Result<Params> {
        // SAFETY: as the caller vouches.
        unsafe { sized::read_or_defaults(params, "params") }?.translate()
    }

    fn translate(&self) -> Result<Params> {
        check_ranges(self)?;
        check::reserved(self.reserved)?;
        Ok(Params {
            profile: parameters::PROFILE.chosen(self.profile, &parameters::PROFILES)?,
            operator: parameters::GRADIENT_OPERATOR.chosen(self.gradient_operator, &parameters::OPERATORS)?,
            follow_turns: self.follow_turns == 1,
            variant: parameters::VARIANT.chosen(self.variant, &parameters::VARIANTS)?,
            scan_interval: self.scan_interval,
            min_length: self.min_length,
            gradient_threshold: parameters::GRADIENT_THRESHOLD.unless_automatic(self.gradient_threshold),
            anchor_threshold: self.anchor_threshold,
            range: ends(&parameters::RANGE_MIN, &parameters::RANGE_MAX, [self.range_min, self.range_max])?,
        })
    }
}

/// The error of optional outputs of which all are NULL.
fn none_asked_for(what: &str) -> Error {
    Error::new(ErrorKind::NullPointer, format!("{what}; one of them is enough"))
}

/// Fills `params` with the defaults. `struct_size`: sizeof(isoline_edge_drawing_params).
/// Errors: ISOLINE_NULL_POINTER, ISOLINE_INVALID_ARGUMENT for a size that is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_edge_drawing_params_init(
    params: *mut isoline_edge_drawing_params,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller vouches.
    guard(|| unsafe { sized::init(params, struct_size, "params") })
}

/// Edge drawing: thin, connected edges as a map and as segments, ordered chains of pixels. Smooths the image (5 x 5
/// Gaussian, sigma 1), takes the gradient, finds anchors on its ridges and links them along the ridges (Özsen, Topal and
/// Akınlar; Topal and Akınlar 2012).
///
/// Every slice of a stack is by itself. Everything is computed in integers, so that every device, variant and number of
/// threads gives the same edges and segments. NaN pixels of an f32 image count as the smallest. Distances are in pixels:
/// the images' spacing is not used. There is no gap at the image's border: docs/edge_drawing.md says what holds there.
///
/// Segments of the paper profile are the chains of the edge map, thinned to lines of one pixel without spurs of one
/// pixel (docs/edge_drawing.md), split where edges meet; they come in the order of their slice, then of their first point
/// (row by row), then of their second; a segment begins at the end that comes first that way. Those of the reference
/// profile come in the order in which the algorithm draws them.
///
/// `context`: not NULL.
/// `input`: not NULL; any type; host or CUDA memory; up to 2^32 - 1 pixels along every axis.
/// `params`: NULL for the defaults.
/// `progress`: NULL for none.
/// `edges`: NULL when it is not wanted; else ISOLINE_U8, the input's size, memory of its own, host or CUDA: 255 on edges,
/// 0 elsewhere.
/// `segments`: NULL when they are not wanted; else receives them; free them with isoline_segments_free. Not written on
/// failure. One of `edges` and `segments` must be asked for.
/// `report`: NULL for none; else after isoline_report_init.
/// Errors: ISOLINE_NULL_POINTER, _INVALID_ARGUMENT, _INVALID_SIZE, _INVALID_TYPE, _OVERLAP; _UNSUPPORTED for a variant
/// that the device does not have or CUDA pixels with a CPU context; _OUT_OF_MEMORY; _DEVICE_FAILED; _CANCELLED; _BUSY.
/// On an error `segments` and a single image are untouched, and of a stack each slice of `edges` is either whole or
/// untouched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_edge_drawing(
    context: *mut isoline_context,
    input: *const isoline_image,
    params: *const isoline_edge_drawing_params,
    progress: *const isoline_progress,
    edges: *const isoline_image,
    segments: *mut *mut isoline_segments,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or good, as the caller vouches; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::new(input, "input")?;
            let params = isoline_edge_drawing_params::read(params)?;
            let mut callback = closure(progress)?;
            if edges.is_null() && segments.is_null() {
                return Err(none_asked_for("edges and segments must not both be NULL"));
            }
            let edges = Checked::optional(edges, "edges")?;
            check_outputs(&input, &[edges])?;
            if !report.is_null() {
                // Refused now rather than after the work.
                sized::read(report.cast_const(), "report")?;
            }
            let edges = edges.map(|edges| edges.output(PixelType::U8)).transpose()?;
            let progress = callback.as_mut().map(|callback| callback as &mut Progress<'_>);
            let mut found = (!segments.is_null()).then(Segments::default);
            let done = edge_drawing::run(context, input.input(), &params, progress, edges, found.as_mut())?;
            if !report.is_null() {
                sized::write(report, &(&done).into(), "report")?;
            }
            if let Some(found) = found {
                segments.write(isoline_segments::hand_out(found));
            }
            Ok(())
        }
    })
}

/// What edge drawing works with: the smoothed image, its gradient, the gradient's direction, and the anchors.
///
/// `context`, `input`, `params`, `progress`, `report`: as for isoline_edge_drawing; min_length and follow_turns have no
/// effect here.
/// Each output may be NULL when it is not wanted, but not all; each has the input's size and memory of its own, host or
/// CUDA:
/// `smoothed`: the input's type. f32 images come back in their own units, in steps of 1/65535 of their range.
/// `gradient`: ISOLINE_F32; |gx| + |gy| in the image's own units, before the threshold. The reference profile sets the
/// outermost pixels one step below the threshold, so that they are never edges.
/// `direction`: ISOLINE_U8; 0 where the gradient is below the threshold, 1 for a horizontal edge, 2 for a vertical one.
/// `anchors`: ISOLINE_U8; 255 on anchors, 0 elsewhere.
/// Errors: as for isoline_edge_drawing. On an error a single image's outputs are untouched, and of a stack each slice of
/// each is either whole or untouched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_edge_drawing_maps(
    context: *mut isoline_context,
    input: *const isoline_image,
    params: *const isoline_edge_drawing_params,
    progress: *const isoline_progress,
    smoothed: *const isoline_image,
    gradient: *const isoline_image,
    direction: *const isoline_image,
    anchors: *const isoline_image,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or good, as the caller vouches; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::new(input, "input")?;
            let params = isoline_edge_drawing_params::read(params)?;
            let mut callback = closure(progress)?;
            if [smoothed, gradient, direction, anchors].iter().all(|output| output.is_null()) {
                return Err(none_asked_for("smoothed, gradient, direction and anchors must not all be NULL"));
            }
            let smoothed = Checked::optional(smoothed, "smoothed")?;
            let gradient = Checked::optional(gradient, "gradient")?;
            let direction = Checked::optional(direction, "direction")?;
            let anchors = Checked::optional(anchors, "anchors")?;
            check_outputs(&input, &[smoothed, gradient, direction, anchors])?;
            if !report.is_null() {
                // Refused now rather than after the work.
                sized::read(report.cast_const(), "report")?;
            }
            let target = |output: Option<Checked>, wanted| output.map(|output| output.output(wanted)).transpose();
            let maps = Maps {
                smoothed: target(smoothed, input.pixel_type())?,
                gradient: target(gradient, PixelType::F32)?,
                direction: target(direction, PixelType::U8)?,
                anchors: target(anchors, PixelType::U8)?,
            };
            let progress = callback.as_mut().map(|callback| callback as &mut Progress<'_>);
            let done = edge_drawing::maps(context, input.input(), &params, progress, maps)?;
            if report.is_null() { Ok(()) } else { sized::write(report, &(&done).into(), "report") }
        }
    })
}

/// Refuses outputs that overlap themselves, the input or one another.
fn check_outputs(input: &Checked, outputs: &[Option<Checked>]) -> Result<()> {
    let asked_for: Vec<&Checked> = outputs.iter().flatten().collect();
    for (index, output) in asked_for.iter().enumerate() {
        output.check_output(input)?;
        for other in &asked_for[..index] {
            output.check_apart(other)?;
        }
    }
    Ok(())
}
