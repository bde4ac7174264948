//! Edge drawing.

use super::context::{context, isoline_context};
use super::fields::{self, params_of};
use super::image::{Checked, isoline_image};
use super::progress::isoline_progress;
use super::report::isoline_report;
use super::segments::{isoline_ellipses, isoline_lines, isoline_segments, segments};
use super::sized;
use super::{check, guard, isoline_status, object};
use crate::edge_drawing::{self, EllipseParams, LineParams, Maps, Params, Segments, parameters};
use crate::error::Result;
use crate::image::PixelType;
use crate::parameter::ends;

/// The algorithm of edge drawing.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_edge_drawing_profile {
    /// The parallel algorithm of Özsen, Topal and Akınlar, made independent of the order of the work.
    ISOLINE_EDGE_DRAWING_PAPER = 0,
    /// The authors' later sequential algorithm: segments and edge map equal those of OpenCV's ximgproc.EdgeDrawing.
    ISOLINE_EDGE_DRAWING_REFERENCE = 1,
}

/// The gradient operator: the weights of the three neighbours of a pixel on either side.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_gradient_operator {
    /// The weights 1 2 1: a vertical step of height h has, after smoothing, the gradient magnitude 2.6 h.
    ISOLINE_GRADIENT_SOBEL = 0,
    /// The weights 1 1 1: 1.9 h.
    ISOLINE_GRADIENT_PREWITT = 1,
    /// The weights 3 10 3: 10.4 h.
    ISOLINE_GRADIENT_SCHARR = 2,
}

/// The test that segments must pass after they are drawn.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_edge_drawing_validation {
    /// All segments are kept.
    ISOLINE_EDGE_DRAWING_NO_VALIDATION = 0,
    /// Only those parts of segments are kept that chance, with the image's distribution of gradients, would form at most
    /// once (Helmholtz principle; EDPF of Akinlar and Topal 2012). In the reference profile segments and edge map equal
    /// those of OpenCV's ximgproc.EdgeDrawing with PFmode.
    ISOLINE_EDGE_DRAWING_FALSE_ALARMS = 1,
}

/// The implementation. All variants give the same edges and segments and differ in speed.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_edge_drawing_variant {
    /// The fastest variant of the device.
    ISOLINE_EDGE_DRAWING_DEFAULT = 0,
    /// Plain loops on one thread, which define the result. CPU and paper profile only.
    ISOLINE_EDGE_DRAWING_SCALAR = 1,
}

/// The shapes that isoline_edge_drawing_ellipses finds.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_edge_drawing_shapes {
    /// Circles and ellipses; a shape is a circle unless an ellipse fits its points much better.
    ISOLINE_EDGE_DRAWING_CIRCLES_AND_ELLIPSES = 0,
    /// Circles alone.
    ISOLINE_EDGE_DRAWING_CIRCLES = 1,
}

/// The parameters of isoline_edge_drawing. isoline_edge_drawing_params_init fills them with the defaults. The image is
/// smoothed in its own type, so an 8-bit image that is scaled to 16 bits, or converted to f32, has slightly different
/// edges. A 16-bit image with the numbers of an 8-bit image has the same edges if the threshold is given. The automatic
/// threshold may depend on the range of the pixels, which is 255 for 8 bits and measured for other types.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_edge_drawing_params {
    /// The size of the struct, set by isoline_edge_drawing_params_init.
    pub struct_size: u32,
    /// An isoline_edge_drawing_profile. Default: ISOLINE_EDGE_DRAWING_PAPER.
    pub profile: u32,
    /// An isoline_gradient_operator. Default: ISOLINE_GRADIENT_SOBEL.
    pub gradient_operator: u32,
    /// The scan interval: anchors are sought in all rows and columns whose number is a multiple of it; at least 1. Default
    /// 1: everywhere. A larger interval finds fewer anchors and misses short edges.
    pub scan_interval: u32,
    /// The smallest number of points of a segment; shorter ones are dropped. Default 10; 0 and 1 keep all. The edge map of
    /// the paper profile keeps their pixels. In the reference profile, as in OpenCV, this is the smallest number of all
    /// pixels that are traced from one anchor: segments into which these are divided may be shorter, down to 10 points.
    /// Dropped pixels are not in its edge map, and values below 3 act as 3.
    pub min_length: u32,
    /// Paper profile: at a pixel where the edge direction changes between horizontal and vertical, 1 continues tracing in
    /// both perpendicular headings, which closes gaps at corners. 0 (default) ends the trace there, as in the paper, unless
    /// an anchor continues it.
    pub follow_turns: u32,
    /// An isoline_edge_drawing_variant. Default: ISOLINE_EDGE_DRAWING_DEFAULT.
    pub variant: u32,
    /// An isoline_edge_drawing_validation. Default: ISOLINE_EDGE_DRAWING_NO_VALIDATION. With
    /// ISOLINE_EDGE_DRAWING_FALSE_ALARMS the segments are the parts that pass the test, of at least min_length points (at
    /// least 10 in the reference profile), in the order of the segments that they were part of; the edge map has only the
    /// pixels of parts that pass; mean gradients are those of the tested gradient, Prewitt after a Gaussian of sigma 0.4;
    /// and the automatic gradient threshold is lower, so that no threshold needs to be chosen.
    pub validation: u32,
    /// The gradient threshold: pixels with a smaller gradient magnitude, |gx| + |gy| of the smoothed image, are never
    /// edges; at least 0, in the image's own units. A threshold below one step of the integer gradient (1 for u8 and u16)
    /// acts as one step. ISOLINE_AUTOMATIC (default): automatic, the result of isoline_edge_drawing_threshold. A larger
    /// threshold gives fewer edges.
    pub gradient_threshold: f64,
    /// The anchor threshold: the smallest difference between the gradient magnitude of an anchor and those of its two
    /// neighbours across the edge; at least 0, in the image's own units. Default 0. A larger threshold gives fewer
    /// anchors, so that only distinct edges are drawn.
    pub anchor_threshold: f64,
    /// f32 images, which are converted to 65536 levels: the pixel value of level 0; smaller pixels are clamped to it. This
    /// and range_max ISOLINE_AUTOMATIC (default): automatic, see Automatic ranges at the top; give
    /// both for images of spots of one pixel. Otherwise both must be given, from -3.4e38 to 3.4e38, and this one must be
    /// less than range_max. Must be automatic for 8- and 16-bit images, which are used unchanged.
    pub range_min: f64,
    /// f32 images: the pixel value of level 65535, up to 3.4e38; larger pixels are clamped to it. ISOLINE_AUTOMATIC
    /// (default): automatic.
    pub range_max: f64,
    /// The standard deviation of the Gaussian that smooths the image, in pixels: 0 to 10; 0 does not smooth. Default 1. In
    /// the reference profile, as in OpenCV, a value below 1 does not smooth. A larger value removes noise and small
    /// details; the automatic gradient threshold decreases with the noise. It is used in single precision.
    pub sigma: f64,
    /// isoline_edge_drawing_lines: the largest distance of a point from its line, in pixels; greater than 0. Up to four
    /// successive points may be farther away; they are fitted, tested and counted, too. Default 1. Half of it limits the
    /// root mean square distance of the points with which a line begins, and of the points of two lines that are joined. A
    /// larger value gives longer lines, which follow bends less closely.
    pub line_tolerance: f64,
    /// isoline_edge_drawing_lines: two lines along a segment are joined if one line fits both and the distance between
    /// their ends is at most this, in pixels; at least 0. Default 6; 0 joins none.
    pub line_gap: f64,
    /// isoline_edge_drawing_lines: the smallest number of points of a line, at least 2. 0 (default): automatic, the
    /// smallest number that can pass the test, 2 log(width * height) / log 8 rounded up: 12 for 512 x 512 pixels. A larger
    /// value gives fewer, longer lines.
    pub line_min_length: u32,
    /// isoline_edge_drawing_lines: 1 (default) keeps only lines that chance would form at most once in an image of this
    /// size; 0 keeps all.
    pub line_validation: u32,
    /// isoline_edge_drawing_ellipses: the largest root mean square distance of points from their circle or ellipse, in
    /// pixels; greater than 0. Default 1.5. It is also limited to 0.25 plus 0.04 times the smaller semi-axis, which matters
    /// for small shapes. A larger value finds more shapes that are not quite round.
    pub ellipse_tolerance: f64,
    /// isoline_edge_drawing_ellipses: the smallest share of the outline that segments cover, 0.1 to 1. Default 0.5. A
    /// smaller value also finds shapes that are mostly hidden, with less accurate parameters.
    pub ellipse_coverage: f64,
    /// isoline_edge_drawing_ellipses: the smallest radius of a circle, or smaller semi-axis of an ellipse, in pixels; at least
    /// 1. Default 3. A larger value leaves out small shapes.
    pub ellipse_min_radius: f64,
    /// isoline_edge_drawing_ellipses: an isoline_edge_drawing_shapes. Default: ISOLINE_EDGE_DRAWING_CIRCLES_AND_ELLIPSES.
    pub ellipse_shapes: u32,
    /// isoline_edge_drawing_ellipses: 1 (default) keeps only shapes that chance would form at most once in an image of this
    /// size; 0 keeps all.
    pub ellipse_validation: u32,
}

params_of! {
    isoline_edge_drawing_params, 128, parameters::OPERATION, [], profile, gradient_operator, scan_interval,
    min_length, follow_turns, variant, validation, gradient_threshold, anchor_threshold, range_min, range_max,
    sigma, line_min_length, line_tolerance, line_gap, line_validation, ellipse_tolerance, ellipse_coverage,
    ellipse_min_radius, ellipse_shapes, ellipse_validation
}

impl isoline_edge_drawing_params {
    fn translate(&self) -> Result<Params> {
        Ok(Params {
            profile: parameters::PROFILE.chosen(self.profile, &parameters::PROFILES)?,
            operator: parameters::GRADIENT_OPERATOR.chosen(self.gradient_operator, &parameters::OPERATORS)?,
            follow_turns: self.follow_turns == 1,
            variant: parameters::VARIANT.chosen(self.variant, &parameters::VARIANTS)?,
            validation: parameters::VALIDATION.chosen(self.validation, &parameters::VALIDATIONS)?,
            scan_interval: self.scan_interval,
            min_length: self.min_length,
            gradient_threshold: parameters::GRADIENT_THRESHOLD.unless_automatic(self.gradient_threshold),
            anchor_threshold: self.anchor_threshold,
            sigma: self.sigma,
            range: ends(&parameters::RANGE_MIN, &parameters::RANGE_MAX, [self.range_min, self.range_max])?,
        })
    }

    /// Returns the parameters for lines. Their ranges have been checked.
    fn line_params(&self) -> LineParams {
        let min_length = f64::from(self.line_min_length);
        LineParams {
            min_length: parameters::LINE_MIN_LENGTH.unless_automatic(min_length).map(|length| length as u32),
            tolerance: self.line_tolerance,
            gap: self.line_gap,
            validation: self.line_validation == 1,
        }
    }

    /// Returns the parameters for circles and ellipses. Their ranges have been checked.
    fn ellipse_params(&self) -> Result<EllipseParams> {
        Ok(EllipseParams {
            tolerance: self.ellipse_tolerance,
            coverage: self.ellipse_coverage,
            min_radius: self.ellipse_min_radius,
            shapes: parameters::ELLIPSE_SHAPES.chosen(self.ellipse_shapes, &parameters::SHAPES)?,
            validation: self.ellipse_validation == 1,
        })
    }
}

/// Fills `params` with the defaults; `struct_size` is sizeof *params, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_edge_drawing_params_init(
    params: *mut isoline_edge_drawing_params,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(params, struct_size, "params") })
}

/// Computes edge drawing: thin, connected edges as an edge map and as segments, which are ordered chains of pixels.
/// The image is smoothed by a Gaussian; anchors are found on the ridges of the gradient magnitude, and edge tracing
/// links them along the ridges (Özsen, Topal and Akınlar; Topal and Akınlar 2012).
///
/// Each slice of a stack is processed separately. All computations are in integers, so that every device, variant and
/// number of threads gives the same edges and segments. NaN pixels of an f32 image count as range_min. Distances are in
/// pixels; the images' spacing is not used. In the paper profile an edge that runs into the image's border reaches its last
/// pixel. In the reference profile no edge touches the border, and no anchor is within two pixels of it.
///
/// The segments of the paper profile are the chains of the thinned edge map, whose lines are one pixel wide and which has
/// no spurs of one pixel; they are split where edges meet. They are ordered by their slice, then by their first point (row
/// by row), then by their second point; a segment begins at the end that comes first in this order. The segments of the
/// reference profile are in the order in which the algorithm draws them.
///
/// @param context not NULL.
/// @param input not NULL; any type; host or CUDA memory, or slices; up to 2^32 - 1 pixels along every axis.
/// @param params NULL for the defaults.
/// @param progress NULL for none.
/// @param edges receives the edge map, 255 on edges and 0 elsewhere; NULL if it is not wanted. ISOLINE_U8, the input's
///   size, its own memory, host or CUDA, or slices.
/// @param segments receives the segments, to be freed with isoline_segments_free; NULL if they are not wanted. Not
///   written on failure. `edges` and `segments` must not both be NULL.
/// @param report NULL for none; else after isoline_report_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, _INVALID_ARGUMENT, _INVALID_SIZE, _INVALID_TYPE, _OVERLAP;
///   _UNSUPPORTED for a variant that the device does not have or CUDA pixels with a CPU context; _OUT_OF_MEMORY;
///   _DEVICE_FAILED; _CANCELLED; _CALLBACK_FAILED; _BUSY. After an error `segments` is untouched, and `edges` as "Outputs"
///   above says. May be called on any thread; calls on one context run one after the other.
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
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::sliced(input, "input")?;
            let params = fields::read(params)?.translate()?;
            if edges.is_null() && segments.is_null() {
                return Err(check::none_asked_for("edges and segments must not both be NULL"));
            }
            let edges = Checked::optional(edges, "edges")?;
            check_outputs(&input, &[edges])?;
            let edges = edges.map(|edges| edges.sink(PixelType::U8)).transpose()?;
            let mut found = (!segments.is_null()).then(Segments::default);
            isoline_report::of(report, progress, |progress| {
                edge_drawing::run(context, input.source()?, &params, progress, edges, found.as_mut())
            })?;
            if let Some(found) = found {
                segments.write(object::hand_out(isoline_segments(found)));
            }
            Ok(())
        }
    })
}

/// Computes the intermediate images of edge drawing: the smoothed image, its gradient magnitude, the edge direction
/// and the anchors.
///
/// Each output may be NULL if it is not wanted, but not all of them. Each has the input's size and its own memory, host
/// or CUDA, or slices.
///
/// @param context,input,params,progress,report as for isoline_edge_drawing; min_length and follow_turns have no effect
///   here, and validation only on an automatic threshold.
/// @param smoothed the input's type. f32 images are returned in their own units, in steps of 1/65535 of their range.
/// @param gradient ISOLINE_F32; the gradient magnitude |gx| + |gy| in the image's own units, before the threshold. The
///   reference profile sets the outermost pixels one step below the threshold, so that they are never edges.
/// @param direction ISOLINE_U8; 0 where the gradient magnitude is below the threshold, 1 for a horizontal edge, 2 for a
///   vertical one.
/// @param anchors ISOLINE_U8; 255 on anchors, 0 elsewhere.
/// @return ISOLINE_OK or an error: as for isoline_edge_drawing. After an error the outputs are as "Outputs" above says.
///   May be called on any thread; calls on one context run one after the other.
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
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::sliced(input, "input")?;
            let params = fields::read(params)?.translate()?;
            if [smoothed, gradient, direction, anchors].iter().all(|output| output.is_null()) {
                return Err(check::none_asked_for("smoothed, gradient, direction and anchors must not all be NULL"));
            }
            let smoothed = Checked::optional(smoothed, "smoothed")?;
            let gradient = Checked::optional(gradient, "gradient")?;
            let direction = Checked::optional(direction, "direction")?;
            let anchors = Checked::optional(anchors, "anchors")?;
            check_outputs(&input, &[smoothed, gradient, direction, anchors])?;
            let target = |output: Option<Checked>, wanted| output.map(|output| output.sink(wanted)).transpose();
            let maps = Maps {
                smoothed: target(smoothed, input.pixel_type())?,
                gradient: target(gradient, PixelType::F32)?,
                direction: target(direction, PixelType::U8)?,
                anchors: target(anchors, PixelType::U8)?,
            };
            isoline_report::of(report, progress, |progress| {
                edge_drawing::maps(context, input.source()?, &params, progress, maps)
            })
        }
    })
}

/// Returns the gradient threshold that isoline_edge_drawing uses for an image if it is automatic: five times the lower
/// quartile of the gradients in sixteen blocks of 64 x 64 pixels of the image or stack. If that is 0, as in an image
/// without noise, the threshold is 20/255 of the range of the pixels, which is 255 for 8 bits, and for other types the
/// range from range_min to range_max or the automatic one. With validation the threshold is at most 11/255 of the range for
/// Prewitt, 14.7/255 for Sobel and 58.7/255 for Scharr. With a sigma above 1 it is at least five times the gradient of a
/// step of one level, which is 20 for Sobel and integer pixels.
///
/// @param context not NULL.
/// @param input not NULL; any type, host or CUDA memory, or slices, of which up to 16 are read, or all.
/// @param params NULL for the defaults; `gradient_threshold` is not used.
/// @param threshold not NULL; receives the threshold, in the image's own units. Not written on failure.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, _INVALID_ARGUMENT, _INVALID_SIZE, _INVALID_TYPE; _UNSUPPORTED for
///   CUDA pixels with a CPU context; _OUT_OF_MEMORY; _DEVICE_FAILED; _CANCELLED; _CALLBACK_FAILED; _BUSY. May be called on
///   any thread; calls on one context run one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_edge_drawing_threshold(
    context: *mut isoline_context,
    input: *const isoline_image,
    params: *const isoline_edge_drawing_params,
    threshold: *mut f64,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::sliced(input, "input")?;
            let params = fields::read(params)?.translate()?;
            check::not_null(threshold, "threshold")?;
            threshold.write(edge_drawing::automatic_threshold(context, input.source()?, &params)?);
            Ok(())
        }
    })
}

/// Finds straight lines along segments (EDLines of Akinlar and Topal, 2011). A line begins with line_min_length points of a
/// segment that fit a line, and is extended by the following points within line_tolerance; neighbouring lines of a segment
/// are joined if one line fits both. A line is kept if chance would form it at most once in an image of this size. This is
/// the less likely the more pixels of the line have a gradient across it, within 22.5 degrees and all towards the same
/// side.
///
/// The lines are in the order of their segments and, within a segment, in the order of its points. The host computes them
/// with every context; every device and number of threads gives the same bits. Distances are in pixels; the image's spacing
/// is not used.
///
/// @param context not NULL.
/// @param input not NULL; the image that the segments were drawn in; any type; host or CUDA memory, or ISOLINE_SLICES,
///   of which those with segments are read, in ascending order. Pixels that are NaN or infinite make the gradients next to
///   them count as random ones.
/// @param segments not NULL; segments of isoline_edge_drawing, by any parameters.
/// @param params NULL for the defaults; only parameters whose names begin with line_ are used.
/// @param progress NULL for none.
/// @param lines not NULL; receives the lines, to be freed with isoline_lines_free. Not written on failure.
/// @param report NULL for none; else after isoline_report_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT, also for segments that have points or slices
///   outside of the image; _INVALID_SIZE; _INVALID_TYPE; _UNSUPPORTED for CUDA pixels with a CPU context; _OUT_OF_MEMORY;
///   _DEVICE_FAILED; _CANCELLED; _CALLBACK_FAILED; _BUSY. May be called on any thread; calls on one context run one after
///   the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_edge_drawing_lines(
    context: *mut isoline_context,
    input: *const isoline_image,
    segments: *const isoline_segments,
    params: *const isoline_edge_drawing_params,
    progress: *const isoline_progress,
    lines: *mut *mut isoline_lines,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::sliced(input, "input")?;
            let segments = self::segments(segments)?;
            let params = fields::read(params)?.line_params();
            object::compute(progress, (lines, "lines"), report, isoline_lines, |progress, found| {
                edge_drawing::lines(context, input.source()?, segments, &params, progress, found)
            })
        }
    })
}

/// Finds circles and ellipses along segments (EDCircles of Akinlar and Topal, 2013). A closed segment is first tried as a
/// whole. In the others, successive lines that turn in one direction, by 3 to 60 degrees each, form arcs. Arcs that are
/// near to the same circle, or otherwise to the same ellipse, are joined, from the longest one on. A shape whose arcs cover
/// ellipse_coverage of its outline is kept if chance would form it at most once in an image of this size. This is the less
/// likely the more pixels along the whole outline have a gradient across it, within 22.5 degrees and all inwards or all
/// outwards.
///
/// The shapes are in the order of the segments of their longest arcs. The host computes them with every context; every
/// device and number of threads gives the same bits. Distances are in pixels; the image's spacing is not used.
///
/// @param context not NULL.
/// @param input not NULL; the image that the segments were drawn in; any type; host or CUDA memory, or ISOLINE_SLICES,
///   of which those with segments are read, in ascending order. Pixels that are NaN or infinite make the gradients next to
///   them count as random ones.
/// @param segments not NULL; segments of isoline_edge_drawing, by any parameters.
/// @param params NULL for the defaults; only parameters whose names begin with ellipse_ are used.
/// @param progress NULL for none.
/// @param ellipses not NULL; receives the circles and ellipses, to be freed with isoline_ellipses_free. Not written on
///   failure.
/// @param report NULL for none; else after isoline_report_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT, also for segments that have points or slices
///   outside of the image; _INVALID_SIZE; _INVALID_TYPE; _UNSUPPORTED for CUDA pixels with a CPU context; _OUT_OF_MEMORY;
///   _DEVICE_FAILED; _CANCELLED; _CALLBACK_FAILED; _BUSY. May be called on any thread; calls on one context run one after
///   the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_edge_drawing_ellipses(
    context: *mut isoline_context,
    input: *const isoline_image,
    segments: *const isoline_segments,
    params: *const isoline_edge_drawing_params,
    progress: *const isoline_progress,
    ellipses: *mut *mut isoline_ellipses,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::sliced(input, "input")?;
            let segments = self::segments(segments)?;
            let params = fields::read(params)?.ellipse_params()?;
            object::compute(progress, (ellipses, "ellipses"), report, isoline_ellipses, |progress, found| {
                edge_drawing::ellipses(context, input.source()?, segments, &params, progress, found)
            })
        }
    })
}

/// Refuses outputs that overlap themselves, the input or each other.
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
