//! The exact signed Euclidean distance to the boundary of a mask, in 2D and 3D, with anisotropic spacing.
//!
//! A pixel is the box of its spacing around its centre; the **boundary** is where boxes of inside pixels meet boxes of
//! outside pixels. The result is the distance from each pixel's centre to the boundary, **negative inside**, in the
//! unit of the spacing: next to a flat boundary −h/2 and +h/2, so that the zero level is the boundary itself.
//!
//! ```text
//! d²(p) = min over q of the other class of Σ_a (h_a · f(|p_a − q_a|))²      f(0) = 0, f(n) = n − ½
//! ```
//!
//! * **Exact:** the nearest pixel is found exactly. Squares are summed in single precision: with equal spacings they
//!   are exact integers up to 2048 pixels, and devices give the same bits. They do so up to 512 of the smallest spacing
//!   where the squares of the spacings' ratios are multiples of a sixteenth (1 : 1.5 : 2.5); otherwise the result is
//!   within a few parts in 10⁷.
//! * **Image border:** it is no boundary, because nothing is known beyond it.
//! * **Images of one class:** +∞ everywhere if no pixel is inside, −∞ everywhere if no pixel is outside; never NaN.
//! * **NaN** pixels are outside.
//! * The sum is separable, and each term is convex: one pass along each axis finds the minimum exactly (Felzenszwalb
//!   and Huttenlocher 2012; Meijster, Roerdink and Hesselink 2000).

pub(crate) mod cpu;
pub(crate) mod cuda;
pub(crate) mod parameters;
mod streamed;

use crate::device::{Context, DeviceNeeds, Workload};
use crate::error::{Error, ErrorKind, Result};
use crate::image::{
    Dimensions, Foreground, Image, ImageMut, MOST_ANISOTROPY, PixelType, check_shapes, check_spacing, check_type,
    host_only,
};
use crate::parameter;
use crate::progress::Progress;
use crate::report::Report;
use crate::slice_io::{Input, Output, check_streamed};
use std::time::Instant;

/// The name of the stage that progress callbacks get.
const STAGE: &str = "distance";

/// The pixels whose distances are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Region {
    /// Everywhere: negative inside, positive outside.
    Signed,
    /// Outside only: positive there, 0 inside.
    Outside,
    /// Inside only: positive there (the distance map of many programs), 0 outside.
    Inside,
}

/// The parameters; [`Params::default`] gives each its default.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// One volume (default), or many slices, each by itself.
    pub dimensions: Dimensions,
    /// The pixel's size along x, y, z, each from 1e-15 to 1e15 and at most 1e9 times another, in the unit of the result.
    /// Default 1, 1, 1. Of [`Dimensions::Slices`] that along z is not used, and may be anything.
    pub spacing: [f64; 3],
    /// The side of the threshold that is inside. Default: above.
    pub foreground: Foreground,
    /// The threshold, in the image's own units. Default 0.
    pub threshold: f64,
    /// The region in which distances are computed. Default: everywhere, signed.
    pub region: Region,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            dimensions: parameters::DIMENSIONS.default_of(&parameter::DIMENSIONS),
            spacing: [1.0; 3],
            foreground: parameters::FOREGROUND.default_of(&parameter::FOREGROUNDS),
            threshold: parameters::THRESHOLD.default,
            region: parameters::REGION.default_of(&parameters::REGIONS),
        }
    }
}

impl Params {
    fn check(&self) -> Result<()> {
        parameters::THRESHOLD.check(self.threshold)?;
        let used = &self.spacing[..if self.dimensions == Dimensions::Volume { 3 } else { 2 }];
        check_spacing(used, MOST_ANISOTROPY)
    }
}

/// Computes the distance of every pixel of `mask` (u8, u16 or f32; one image or a stack) into `output` (f32, the same
/// size). A volume that does not fit the memory of a GPU, or the context's memory limit, is computed in parts with the same
/// bits, if a slice of it and a plane along x and z fit, and the output is in host memory.
///
/// **Slices:** functions may read and write the slices ([`Source`](crate::Source), [`Sink`](crate::Sink)), so that
/// the image need not fit into memory. A volume of several slices is then computed on the CPU with every context,
/// with the bits that the CPU gives for the volume in memory. Between its passes the values are in the output, if
/// that is an image, else in a temporary file of 4 bytes a voxel in the folder that `TMPDIR` names (default `/var/tmp`;
/// on Windows `TMP`). The file has no name, and is gone when the call or the process ends. The sink gets the first slice
/// after the source has given the last one.
///
/// # Errors
/// A parameter out of range, sizes that do not match, out of memory, which a temporary file that cannot be made, written or
/// read is too, a device failure, or [`ErrorKind::Cancelled`].
pub fn run(
    context: &Context,
    mask: Input<'_>,
    params: &Params,
    progress: Option<&mut Progress<'_>>,
    output: Output<'_>,
) -> Result<Report> {
    run_in(context, mask, params, progress, output, false)
}

/// Computes one pass of the distance, along x (`axis` 0), y (1) or z (2), of an image in chunks, of which no call can
/// have all pixels. For one whose slices can be read in order, [`run`] is enough.
///
/// The passes along x and y, and in a volume that along z, one after the other, give what [`run`] gives for the whole image.
/// A pass needs whole lines of pixels along its axis. Along the others the image may be cut anywhere, for each pass in
/// another way.
///
/// * **Input:** along x the mask, of any type; along y and z the values (f32) of the pass before.
/// * **Output,** f32, of the same size: 4·d² in units of the smallest spacing, where d is the distance along the axes so far, as
///   negative numbers inside; ±∞ where there is no boundary along these axes. The last pass gives distances. It is that along y for
///   [`Dimensions::Slices`], else that along z.
/// * **Parameters:** the same for all passes; the threshold is used along x, the region in the last pass. `spacing` is that of the
///   whole image. [`run`] ignores that along an axis of one pixel: here it must be at least the smallest of the others.
/// * **Bits** are those of [`run`] where squares are exact: with equal spacings below 2048 pixels, and as this module says
///   otherwise. Elsewhere they depend on how the image is cut, within the same error.
///
/// The CPU computes with every context. Both images are in host memory.
///
/// # Errors
/// A parameter out of range, an axis that there is not, values that are not f32, sizes that do not match, pixels in CUDA
/// memory, out of memory, or [`ErrorKind::Cancelled`].
pub fn pass(
    context: &Context,
    input: Image<'_>,
    axis: usize,
    params: &Params,
    progress: Option<&mut Progress<'_>>,
    output: ImageMut<'_>,
) -> Result<Report> {
    let started = Instant::now();
    let mut progress = progress;
    params.check()?;
    let (axes, dimensions) = if params.dimensions == Dimensions::Volume { ("0, 1 or 2", 3) } else { ("0 or 1", 2) };
    if axis >= dimensions {
        return Err(Error::argument(format!(
            "axis must be {axes}, for a pass along x, y or, with 3 dimensions, z, but it is {axis} with {dimensions} dimensions"
        )));
    }
    check_shapes(input.shape(), output.shape())?;
    check_type("output", output.pixel_type(), PixelType::F32)?;
    if axis > 0 && input.pixel_type() != PixelType::F32 {
        let message = format!(
            "cannot compute the pass along {}: the values of the pass before are float32 (got {}); give its output",
            ["x", "y", "z"][axis],
            input.pixel_type()
        );
        return Err(Error::new(ErrorKind::InvalidType, message));
    }
    let _lock = context.lock()?;
    let mut report = cpu::pass(context, params, axis, &input, &mut progress, output)?;
    report.complete(started, format_args!("a pass of the distance of {:?} pixels", input.shape()));
    Ok(report)
}

/// Does what [`run`] does; on CUDA a volume that is `in_parts` is cut though it fits.
fn run_in(
    context: &Context,
    mask: Input<'_>,
    params: &Params,
    progress: Option<&mut Progress<'_>>,
    output: Output<'_>,
    in_parts: bool,
) -> Result<Report> {
    let started = Instant::now();
    let mut progress = progress;
    params.check()?;
    check_shapes(mask.shape(), output.shape())?;
    check_type("output", output.pixel_type(), PixelType::F32)?;
    let _lock = context.lock()?;
    let shape = mask.shape();
    check_streamed(&mask, [&output])?;
    // A volume of one slice is that slice.
    let slices = params.dimensions == Dimensions::Slices || shape[2] == 1;
    if !slices && (mask.is_streamed() || output.is_streamed()) {
        let mut report = streamed::run(context, params, mask, &mut progress, output)?;
        report.complete(started, format_args!("distance of {shape:?} voxels, slice by slice"));
        return Ok(report);
    }
    let independent = slices && mask.on_host() && output.on_host();
    let mut report = context.by_slices(
        STAGE,
        independent.then_some(0),
        (mask, [Some(output)]),
        &mut progress,
        |context, mask, _, [output], progress| {
            let output = output.unwrap_or_else(|| unreachable!("it was given"));
            compute(context, mask, params, progress, output, in_parts)
        },
        Report::joined,
    )?;
    report.complete(started, format_args!("distance of {shape:?} pixels"));
    Ok(report)
}

/// Does what [`run`] does, without its checks, on one device.
fn compute(
    context: &Context,
    mask: &Image<'_>,
    params: &Params,
    progress: &mut Option<&mut Progress<'_>>,
    mut output: ImageMut<'_>,
    in_parts: bool,
) -> Result<Report> {
    let (device_bytes, in_parts) = cuda::needs(context, params, mask, &output, in_parts)?;
    let needs = DeviceNeeds { device_bytes, cpu_only: false, host_memory: host_only(mask, &output) };
    let cpu_is_faster = context.cpu_is_faster(&needs, workload(params, mask.shape(), in_parts), progress)?;
    context.run_on_device(
        needs,
        cpu_is_faster,
        &mut (progress, &mut output),
        |cuda, (progress, output)| cuda::run(&cuda::Call { context, cuda, params }, mask, in_parts, progress, output),
        |(progress, output)| {
            output.use_huge_pages();
            cpu::run(context, params, mask, progress, output)
        },
    )
}

/// The sides below which distances have the same bits on both devices, if all spacings are equal.
const MOST_EXACT_SIDE: usize = 2048;

/// Describes a call for the choice of its device; `None` if the devices may differ in the last bits. A volume that is
/// `in_parts` is copied more often.
fn workload(params: &Params, shape: [usize; 3], in_parts: bool) -> Option<Workload> {
    let dimensions = params.dimensions;
    let [x, y, z] = params.spacing;
    let equal_spacing = x == y && (dimensions == Dimensions::Slices || y == z);
    if !equal_spacing || shape.iter().any(|side| *side >= MOST_EXACT_SIDE) {
        return None;
    }
    let name = if in_parts { "distance in parts" } else { "distance" };
    Some(Workload::to_floats(name, dimensions, shape, move |context, mask, output| {
        let params = Params { dimensions, threshold: Workload::THRESHOLD, ..Params::default() };
        run_in(context, mask.into(), &params, None, output.into(), in_parts)
    }))
}
