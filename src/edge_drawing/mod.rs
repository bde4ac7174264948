//! Edge drawing (ED): thin, connected edges as ordered chains of pixels ("segments"), not only an edge map.
//!
//! There are four steps (Özsen, Topal and Akınlar, "Parallelizing Edge Drawing Algorithm on CUDA", §2): smoothing; gradient
//! and direction; anchors, the peaks of the gradient (Table I); edge tracing, which links the anchors along the ridge of the
//! gradient (Table II). There are two profiles:
//!
//! * [`Profile::Paper`]: the paper's steps, on every device. The result of Table II as printed depends on the order in
//!   which threads mark pixels. Here a trace marks pairs (pixel, heading), and ends at a pixel that was marked in its own
//!   heading. Its next step depends only on the image, so the result has the same bits on every device.
//! * [`Profile::Reference`]: the authors' later sequential algorithm, with the segments and the edge map of OpenCV's
//!   `ximgproc.EdgeDrawing`, identical pixel by pixel.
//!
//! Common to both:
//!
//! * **Numbers** are integers in all steps. u8 and u16 are used as they are; f32 is scaled to 0..65535 by
//!   [`Params::range`]; NaN counts as the range's minimum, and values outside the range are clamped to it.
//! * **Units:** thresholds are in the image's own units, for the magnitude |gx| + |gy| of the gradient operator without
//!   normalisation. Distances are in pixels; spacing is not used.
//! * **Border:** smoothing mirrors the image at the centre of the border pixel (reflect-101). So does the gradient of the
//!   paper profile, so that edges run up to the border. In the reference profile the gradient of the outermost pixels is
//!   below the threshold, as in OpenCV.
//! * **Stacks:** every slice is processed separately.

mod cpu;
mod cuda;
mod edge_map;
mod ellipses;
mod gradient;
mod lines;
mod noise;
mod paper;
pub(crate) mod parameters;
mod prepare;
mod reference;
mod scalar;
mod search;
mod segments;
mod taps;
mod validation;

pub use ellipses::{Ellipse, EllipseParams, Shapes, ellipses};
pub use lines::{Line, LineParams, lines};
pub use segments::{Point, Segment, Segments};

use crate::device::{Context, DeviceNeeds, Workload};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut, PixelType, check_shapes, check_sides, check_size, check_type, zeroed_image};
use crate::progress::Progress;
use crate::report::{Parts, Report};
use crate::slice_io::{Input, Output, check_streamed};
use ndarray::Array3;
use std::time::Instant;

/// The names of the stages that progress callbacks get.
const STAGE: &str = "edge drawing";
const MAPS_STAGE: &str = "edge drawing: maps";

/// The algorithm that links the anchors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Profile {
    /// The paper's linking, made independent of the order of threads. CPU and CUDA, bit-identical.
    Paper,
    /// The authors' later sequential linking, identical to OpenCV's `EdgeDrawing`. On CUDA the steps up to the anchors run
    /// on the GPU and the edge tracing on the host.
    Reference,
}

/// The 3×3 operator of the gradient: the derivative (−1, 0, 1) along one axis, times these weights along the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operator {
    /// 1, 2, 1.
    Sobel,
    /// 1, 1, 1.
    Prewitt,
    /// 3, 10, 3.
    Scharr,
}

impl Operator {
    /// Returns the weights of the two outer pixels and of the middle one.
    fn weights(self) -> [u32; 2] {
        match self {
            Self::Sobel => [1, 2],
            Self::Prewitt => [1, 1],
            Self::Scharr => [3, 10],
        }
    }
}

/// The test that segments must pass after they are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Validation {
    /// All segments are kept.
    None,
    /// Only those parts of segments are kept that chance, with the image's distribution of gradients, would form at most
    /// once (Helmholtz principle; EDPF, Akinlar and Topal 2012). In the reference profile the segments and the map are
    /// those of OpenCV's `EdgeDrawing` with `PFmode`.
    FalseAlarms,
}

/// The implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variant {
    /// The fastest one on the device.
    Default,
    /// A plain loop on one thread, which defines the paper profile. CPU only; the reference profile has no such variant.
    Scalar,
}

/// The parameters; [`Params::default`] gives each its default.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Default: [`Profile::Paper`].
    pub profile: Profile,
    /// Default: [`Operator::Sobel`]. Gradients by Prewitt are ¾ of Sobel's, so that the same threshold is stricter;
    /// gradients by Scharr are four times Sobel's.
    pub operator: Operator,
    /// The standard deviation of the Gaussian that smooths the image, in pixels, 0 to 10; 0 does not smooth. Default 1.
    /// Higher: less noise, and edges of larger structures. In the reference profile, as in OpenCV, a value below 1 does not
    /// smooth. It is used in single precision.
    pub sigma: f64,
    /// Pixels with a gradient below this are never edges. In the image's own units, at least 0 (0 acts as the smallest
    /// non-zero gradient, so that flat areas are never edges). `None` (default): [`automatic_threshold`], which is lower
    /// with validation. Higher: fewer, stronger edges.
    pub gradient_threshold: Option<f64>,
    /// An anchor's gradient exceeds those of its two neighbours across the edge by at least this. In the image's own units,
    /// at least 0. Default 0. Higher: fewer starting points, so fewer weak edges and more gaps.
    pub anchor_threshold: f64,
    /// Anchors are sought in every `scan_interval`-th row and column. At least 1. Default 1. Higher: fewer anchors and a
    /// faster run, but short edges are missed.
    pub scan_interval: u32,
    /// Segments of fewer points are dropped. Default 10; 0 and 1 keep all. In the paper profile this affects the segments
    /// only. In the reference profile it is the least number of pixels in all traces from one anchor, affects the edge map,
    /// too, and is at least 3; a branch of a kept edge becomes a segment if it has 10 points or more.
    pub min_length: u32,
    /// Paper profile: where an edge turns from horizontal to vertical or back, continue tracing in both directions across.
    /// Off by default, as in Table II. On: longer edges with fewer gaps at corners.
    pub follow_turns: bool,
    /// f32 images only: the pixel values that become 0 and 65535; pixels beyond are clamped. `None` (default): the smallest
    /// and the largest finite pixel, but not as far as isolated hot or dead pixels: the range ends at H + (H − L) and
    /// L − (H − L) if pixels are beyond. H is the largest value that two adjacent pixels (along x or y) both reach, and L is
    /// the smallest value that two adjacent pixels both do not exceed. If H is not above L, as in a chessboard, all finite
    /// pixels count.
    pub range: Option<[f64; 2]>,
    /// The implementation. Default: the fastest.
    pub variant: Variant,
    /// The test of the finished segments. Default: [`Validation::None`]. With [`Validation::FalseAlarms`] the parts that
    /// pass become the segments, in the order of the segments that they were part of, and the edge map has only their
    /// pixels. The mean gradient of a segment is then that of the tested gradient: Prewitt after a Gaussian with σ = 0.4.
    pub validation: Validation,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            profile: parameters::PROFILE.default_of(&parameters::PROFILES),
            operator: parameters::GRADIENT_OPERATOR.default_of(&parameters::OPERATORS),
            sigma: parameters::SIGMA.default,
            gradient_threshold: None,
            anchor_threshold: parameters::ANCHOR_THRESHOLD.default,
            scan_interval: parameters::SCAN_INTERVAL.default as u32,
            min_length: parameters::MIN_LENGTH.default as u32,
            follow_turns: parameters::FOLLOW_TURNS.default != 0.0,
            range: None,
            variant: parameters::VARIANT.default_of(&parameters::VARIANTS),
            validation: parameters::VALIDATION.default_of(&parameters::VALIDATIONS),
        }
    }
}

/// The intermediate maps that [`maps`] can write.
pub type Maps<'a> = MapsOf<Output<'a>>;

/// The intermediate maps in memory.
type MapImages<'a> = MapsOf<ImageMut<'a>>;

/// Intermediate maps, each of the input's size; `None` leaves one out.
#[derive(Debug)]
pub struct MapsOf<I> {
    /// The smoothed image, in the input's type.
    pub smoothed: Option<I>,
    /// |gx| + |gy| before thresholding, f32, in the image's own units.
    pub gradient: Option<I>,
    /// u8: 0 below the gradient threshold, 1 on a horizontal edge, 2 on a vertical one.
    pub direction: Option<I>,
    /// u8: 255 on anchors, else 0.
    pub anchors: Option<I>,
}

impl<I> Default for MapsOf<I> {
    fn default() -> Self {
        Self { smoothed: None, gradient: None, direction: None, anchors: None }
    }
}

impl<I> MapsOf<I> {
    fn into_array(self) -> [Option<I>; 4] {
        [self.smoothed, self.gradient, self.direction, self.anchors]
    }

    fn from_array([smoothed, gradient, direction, anchors]: [Option<I>; 4]) -> Self {
        Self { smoothed, gradient, direction, anchors }
    }

    /// Returns the maps with their names in messages.
    fn named(&self) -> [(&'static str, Option<&I>); 4] {
        [
            ("smoothed map", self.smoothed.as_ref()),
            ("gradient map", self.gradient.as_ref()),
            ("direction map", self.direction.as_ref()),
            ("anchor map", self.anchors.as_ref()),
        ]
    }
}

/// Draws the edges of `input`: into `edges` as a map (u8, the input's size: 255 on edges, else 0), and into `segments` as
/// ordered chains of pixels. At least one of the two must be given.
///
/// `input` is u8, u16 or f32, and one slice or a stack. Functions may read its slices and write the slices of `edges`
/// ([`Source`](crate::Source), [`Sink`](crate::Sink)). `segments` is replaced only on success; for the contents of `edges`
/// after an error see [`ErrorKind`](crate::ErrorKind).
///
/// # Errors
/// A parameter out of range, an output of another type or size, neither output given, a variant that the device does
/// not have, out of memory, a device failure, or [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
///
/// ```
/// use isoline::{Context, edge_drawing::{self, Params, Segments}};
/// use ndarray::Array2;
///
/// // A bright disc on a dark ground, its outline soft as a camera makes it.
/// let disc = Array2::from_shape_fn((64, 64), |(y, x)| {
///     let distance = (x as f64 - 31.4).hypot(y as f64 - 32.3);
///     (40.0 + 160.0 * (20.5 - distance).clamp(0.0, 1.0)) as u8
/// });
/// let mut edges = Array2::<u8>::zeros((64, 64));
/// let mut segments = Segments::new();
/// edge_drawing::run(
///     &Context::new("cpu")?, disc.view().into(), &Params::default(), None, Some(edges.view_mut().into()),
///     Some(&mut segments))?;
/// let outline = segments.get(0).unwrap();
/// assert!(segments.len() == 1 && outline.closed);
/// assert!(outline.points.iter().all(|point| edges[[point.y as usize, point.x as usize]] == 255));
/// # Ok::<(), isoline::Error>(())
/// ```
pub fn run(
    context: &Context,
    mut input: Input<'_>,
    params: &Params,
    progress: Option<&mut Progress<'_>>,
    edges: Option<Output<'_>>,
    segments: Option<&mut Segments>,
) -> Result<Report> {
    let started = Instant::now();
    let mut progress = progress;
    params.check(input.pixel_type())?;
    if edges.is_none() && segments.is_none() {
        return Err(Error::argument("neither an edge map nor segments were asked for; ask for at least one of them"));
    }
    check_shapes(input.shape(), edges.as_ref().map_or(input.shape(), Output::shape))?;
    check_sides("edges", input.shape())?;
    if let Some(edges) = &edges {
        check_type("edge map", edges.pixel_type(), PixelType::U8)?;
    }
    let _lock = context.lock()?;
    let shape = input.shape();
    let independent = input.on_host() && edges.as_ref().is_none_or(Output::on_host);
    check_streamed(&input, &edges)?;
    let params = &params.of_stack(context, &mut input, independent, &mut progress)?;
    let want_segments = segments.is_some();
    let (mut report, found) = context.by_slices(
        STAGE,
        independent.then_some(0),
        (input, [edges]),
        &mut progress,
        |context, input, _, [mut edges], progress| match params.validation {
            Validation::None => draw(context, params, input, progress, &mut edges, want_segments),
            Validation::FalseAlarms => validation::run(context, params, input, progress, &mut edges),
        },
        joined,
    )?;
    if let (Some(segments), Some(found)) = (segments, found) {
        *segments = found;
    }
    report.complete(started, format_args!("edge drawing of {shape:?} pixels"));
    Ok(report)
}

/// Joins the results of several parts of a stack, each given with the number of its first slice.
fn joined(results: Vec<(usize, (Report, Option<Segments>))>, parts: Parts) -> Result<(Report, Option<Segments>)> {
    let (mut reports, mut all) = (Vec::new(), None);
    for (first, (report, found)) in results {
        reports.push((first, report));
        if let Some(mut found) = found {
            found.slices.iter_mut().for_each(|slice| *slice += first as u32);
            all.get_or_insert_with(Segments::new).append(found)?;
        }
    }
    Ok((Report::joined(reports, parts)?, all))
}

/// Does what [`run`] does, without its checks and without validation, on one device.
fn draw(
    context: &Context,
    params: &Params,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    edges: &mut Option<ImageMut<'_>>,
    want_segments: bool,
) -> Result<(Report, Option<Segments>)> {
    let on_host = !matches!(input, Image::Device(_)) && !matches!(edges, Some(ImageMut::Device(_)));
    let needs = needs(params, input, want_segments, on_host);
    let workload = workload(params, input.shape(), edges.is_some(), want_segments);
    let cpu_is_faster = context.cpu_is_faster(&needs, workload, progress)?;
    context.run_on_device(
        needs,
        cpu_is_faster,
        &mut (progress, edges),
        |cuda, (progress, edges)| cuda::run(context, cuda, params, input, progress, edges, want_segments),
        |(progress, edges)| {
            edges.iter_mut().for_each(ImageMut::use_huge_pages);
            cpu::run(context, params, input, progress, edges, want_segments)
        },
    )
}

/// Writes the intermediate maps of the first three steps, for the profile in `params`. At least one map must be given.
///
/// `input` is as for [`run`]. For the contents of the maps after an error see [`ErrorKind`](crate::ErrorKind).
///
/// # Errors
/// Those of [`run`].
///
/// ```
/// use isoline::{Context, edge_drawing::{self, Maps, Params}};
/// use ndarray::Array2;
///
/// let halves = Array2::from_shape_fn((16, 16), |(_, x)| if x < 8 { 1000u16 } else { 2000 });
/// let mut gradient = Array2::<f32>::zeros((16, 16));
/// let wanted = Maps { gradient: Some(gradient.view_mut().into()), ..Maps::default() };
/// edge_drawing::maps(&Context::new("cpu")?, halves.view().into(), &Params::default(), None, wanted)?;
/// // An upright step of 1000, smoothed: 4 · 1000 · 166 / 256, up to a rounding of the smoothed pixels.
/// assert!((gradient[[8, 8]] - 2594.0).abs() <= 4.0 && gradient[[8, 2]] == 0.0);
/// # Ok::<(), isoline::Error>(())
/// ```
pub fn maps(
    context: &Context,
    mut input: Input<'_>,
    params: &Params,
    progress: Option<&mut Progress<'_>>,
    maps: Maps<'_>,
) -> Result<Report> {
    let started = Instant::now();
    let mut progress = progress;
    params.check(input.pixel_type())?;
    let types = [input.pixel_type(), PixelType::F32, PixelType::U8, PixelType::U8];
    let mut any = false;
    for ((name, map), wanted) in maps.named().into_iter().zip(types) {
        let Some(map) = map else { continue };
        any = true;
        check_size(name, map.shape(), "the input", input.shape())?;
        check_type(name, map.pixel_type(), wanted)?;
    }
    check_shapes(input.shape(), input.shape())?;
    if !any {
        return Err(Error::argument("no map was asked for; ask for at least one of the four"));
    }
    let _lock = context.lock()?;
    let maps = maps.into_array();
    let shape = input.shape();
    let on_host = input.on_host() && maps.iter().flatten().all(Output::on_host);
    check_streamed(&input, maps.iter().flatten())?;
    let params = &params.of_stack(context, &mut input, on_host, &mut progress)?;
    let mut report = context.by_slices(
        MAPS_STAGE,
        on_host.then_some(0),
        (input, maps),
        &mut progress,
        |context, input, _, maps, progress| {
            let mut maps = MapImages::from_array(maps);
            context.run_on_device(
                needs(params, input, false, on_host),
                false,
                &mut (progress, &mut maps),
                |cuda, (progress, maps)| cuda::maps(context, cuda, params, input, progress, maps),
                |(progress, maps)| cpu::maps(context, params, input, progress, maps),
            )
        },
        Report::joined,
    )?;
    report.complete(started, format_args!("edge drawing's maps of {shape:?} pixels"));
    Ok(report)
}

/// Returns the gradient threshold that [`run`] uses for an image if it is automatic: five times the lower quartile of the
/// gradients in sixteen blocks of 64 × 64 pixels of the image or stack. This quartile is a measure of the noise. If it is
/// 0, as in an image without noise, the threshold is 20 for u8, and for other types 20/255 of the range, which is
/// [`Params::range`] or the automatic one.
///
/// The gradients are taken after smoothing with [`Params::sigma`], so that the threshold is relative to the remaining
/// noise. With validation the threshold is at most 11/255 of the range for Prewitt, and in proportion to their sums of
/// weights for the other operators.
///
/// With a sigma above 1, even with validation, the threshold is at least five times the gradient of a step of one level,
/// which is 20 for Sobel and integer pixels. Smoothing leaves slopes so flat that their rounding to whole levels makes
/// steps, which are not edges.
///
/// # Errors
/// A parameter out of range, an image without pixels, out of memory, a device failure.
pub fn automatic_threshold(context: &Context, mut input: Input<'_>, params: &Params) -> Result<f64> {
    params.check(input.pixel_type())?;
    check_shapes(input.shape(), input.shape())?;
    let _lock = context.lock()?;
    let params =
        Params { gradient_threshold: None, ..params.clone() }.with_threshold(context, &mut input, &mut None)?;
    Ok(params.gradient_threshold.unwrap_or_else(|| unreachable!("it was computed")))
}

fn needs(params: &Params, input: &Image<'_>, want_segments: bool, on_host: bool) -> DeviceNeeds {
    DeviceNeeds {
        device_bytes: cuda::min_device_bytes(params, input, want_segments),
        cpu_only: params.variant == Variant::Scalar,
        host_memory: on_host,
    }
}

/// Describes a call for the choice of its device. Returns `None` for a chosen variant and for other sigmas than the
/// default, for which no times are measured.
fn workload(params: &Params, shape: [usize; 3], want_map: bool, want_segments: bool) -> Option<Workload> {
    if params.variant != Variant::Default || !params.taps().are_default() {
        return None;
    }
    let profile = params.profile;
    let run = move |context: &Context, image: &Array3<u8>| {
        let params = Params { profile, ..Params::default() };
        let mut edges = want_map.then(|| zeroed_image::<u8>(image.dim())).transpose()?;
        let edges = edges.as_mut().map(|edges| edges.view_mut().into());
        let mut segments = want_segments.then(Segments::new);
        run(context, image.view().into(), &params, None, edges, segments.as_mut()).map(drop)
    };
    let outputs = if want_segments { "segments" } else { "map" };
    let pixels = shape.iter().product();
    Some(Workload {
        kind: format!("edge drawing, {profile:?}, {outputs}"),
        pixels,
        is_volume: false,
        run: Box::new(run),
    })
}
