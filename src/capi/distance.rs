//! The signed distance.

use super::context::{context, isoline_context};
use super::fields::{self, params_of};
use super::image::{Checked, isoline_image};
use super::progress::isoline_progress;
use super::report::isoline_report;
use super::sized;
use super::{guard, isoline_status};
use crate::distance::{self, Params, parameters};
use crate::error::Result;
use crate::image::PixelType;
use crate::parameter::{DIMENSIONS, FOREGROUNDS};

/// The side of the boundary on which distances are computed.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_distance_region {
    /// Both sides: negative inside, positive outside.
    ISOLINE_DISTANCE_SIGNED = 0,
    /// The outside only: positive there, 0 inside.
    ISOLINE_DISTANCE_OUTSIDE = 1,
    /// The inside only: positive there (the distance map of many programs), 0 outside.
    ISOLINE_DISTANCE_INSIDE = 2,
}

/// The parameters of isoline_distance. isoline_distance_params_init fills them with the defaults. The size of a pixel
/// is the mask's spacing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_distance_params {
    /// The size of the struct, set by isoline_distance_params_init.
    pub struct_size: u32,
    /// 3 (default): the stack is one volume. 2: each slice is processed separately.
    pub dimensions: u32,
    /// The side of the threshold that is inside, an isoline_foreground. Default: ISOLINE_FOREGROUND_ABOVE.
    pub foreground: u32,
    /// An isoline_distance_region. Default: ISOLINE_DISTANCE_SIGNED.
    pub region: u32,
    /// The threshold, in the mask's own units; finite. Default 0: with the default foreground every pixel above 0 is
    /// inside.
    pub threshold: f64,
}

params_of!(isoline_distance_params, 24, parameters::OPERATION, [], dimensions, foreground, region, threshold);

impl isoline_distance_params {
    fn translate(&self, spacing: [f64; 3]) -> Result<Params> {
        Ok(Params {
            dimensions: parameters::DIMENSIONS.chosen(self.dimensions, &DIMENSIONS)?,
            spacing,
            foreground: parameters::FOREGROUND.chosen(self.foreground, &FOREGROUNDS)?,
            threshold: self.threshold,
            region: parameters::REGION.chosen(self.region, &parameters::REGIONS)?,
        })
    }
}

/// Fills `params` with the defaults; `struct_size` is sizeof *params, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_distance_params_init(
    params: *mut isoline_distance_params,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(params, struct_size, "params") })
}

/// Computes the exact Euclidean distance of every pixel's centre to the boundary of a mask, negative inside, in 2D or
/// 3D, in the unit of the mask's spacing (Felzenszwalb and Huttenlocher 2012; Meijster, Roerdink and Hesselink 2000).
///
/// A pixel is a box of the size of the spacing around its centre. The boundary is where boxes of inside pixels touch boxes
/// of outside pixels, so the pixels next to a flat boundary have distances of minus and plus half a pixel. The image's
/// border is not a boundary. If a volume (or, with 2 dimensions, a slice) has no inside pixels, all signed distances are
/// +infinity; if it has no outside pixels, they are -infinity. With `region` inside or outside, the pixels of that side are
/// then +infinity, and all others 0. NaN pixels are outside.
///
/// A volume that does not fit into the memory of the GPU, or into the context's memory limit, is computed in parts with the
/// same bits, if one of its slices fits, one of its planes along x and z fits (8 bytes per pixel), and the output is in
/// host memory.
///
/// With 3 dimensions a mask or an output of ISOLINE_SLICES is computed on the CPU with every context, with the bits that the
/// CPU gives for the volume in memory. Between the passes the values are in the output, if that is host memory, else in a
/// temporary file of 4 bytes per voxel. The first slice is written after the last one has been read.
///
/// @param context not NULL.
/// @param mask not NULL; any type; host or CUDA memory, or slices. Its spacing is the size of a pixel: along each axis from
///   1e-15 to 1e15, and at most 1e9 times that along another axis. With 2 dimensions the spacing along z is not used.
/// @param params NULL for the defaults.
/// @param progress NULL for none.
/// @param output not NULL; ISOLINE_F32, the mask's size, its own memory, host or CUDA, or slices. Its spacing is not used.
/// @param report NULL for none; else after isoline_report_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, _INVALID_ARGUMENT, _INVALID_SIZE, _INVALID_TYPE, _OVERLAP;
///   _UNSUPPORTED for CUDA pixels with a CPU context, or where the other image is ISOLINE_SLICES; _OUT_OF_MEMORY, also for a
///   temporary file that cannot be made, written or read; _DEVICE_FAILED; _CANCELLED; _CALLBACK_FAILED; _BUSY. May be called
///   on any thread; calls on one context run one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_distance(
    context: *mut isoline_context,
    mask: *const isoline_image,
    params: *const isoline_distance_params,
    progress: *const isoline_progress,
    output: *const isoline_image,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let mask = Checked::sliced(mask, "mask")?;
            let params = fields::read(params)?.translate(mask.spacing())?;
            let output = Checked::sliced(output, "output")?;
            output.check_output(&mask)?;
            let target = output.sink(PixelType::F32)?;
            isoline_report::of(report, progress, |progress| {
                distance::run(context, mask.source()?, &params, progress, target)
            })
        }
    })
}

/// Computes one pass of isoline_distance, along one axis, for an image in chunks. (If its slices can be read in order,
/// isoline_distance takes ISOLINE_SLICES, whatever the size.) The passes along x, y and, with 3 dimensions, z, one after the
/// other, compute the distances of the whole image. A pass needs whole lines of pixels along its axis; along the other axes
/// the image may be cut anywhere, and differently for each pass. The bits equal those of isoline_distance for the whole
/// image if squares of distances are exact in single precision: with equal spacings, if no side has 2048 pixels or more.
/// Otherwise they depend on how the image is cut, within the same error.
///
/// The CPU computes passes with every context; the bits do not depend on the number of threads.
///
/// @param context not NULL.
/// @param input not NULL; along x the mask, of any type; along y and z the output of the pass before, ISOLINE_F32 (other
///   values are not refused, but their result has no meaning). Host memory. Its spacing is that of the whole image, as for
///   isoline_distance, and the same for all passes. Along an axis with a single pixel isoline_distance ignores the spacing,
///   but here it must be at least the smallest spacing along the others.
/// @param axis 0 for x, 1 for y; 2 for z, with 3 dimensions.
/// @param params NULL for the defaults; the same for all passes. The pass along x uses `threshold` and `foreground`, the last
///   one `region`.
/// @param progress NULL for none.
/// @param output not NULL; ISOLINE_F32, the input's size, its own host memory. Its spacing is not used. It receives four
///   times the squared distance along the axes so far, in units of the smallest spacing, as a negative number for pixels
///   inside; plus or minus infinity if there is no boundary along these axes. The last pass, along y with 2 dimensions and
///   along z with 3, writes the same values as isoline_distance.
/// @param report NULL for none; else after isoline_report_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, _INVALID_ARGUMENT, _INVALID_SIZE; _INVALID_TYPE also for an input
///   along y or z that is not ISOLINE_F32; _OVERLAP; _UNSUPPORTED for pixels that are not in host memory; _OUT_OF_MEMORY;
///   _CANCELLED; _BUSY. May be called on any thread; calls on one context run one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_distance_pass(
    context: *mut isoline_context,
    input: *const isoline_image,
    axis: u32,
    params: *const isoline_distance_params,
    progress: *const isoline_progress,
    output: *const isoline_image,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::new(input, "input")?;
            let params = fields::read(params)?.translate(input.spacing())?;
            let output = Checked::new(output, "output")?;
            output.check_output(&input)?;
            let target = output.output(PixelType::F32)?;
            isoline_report::of(report, progress, |progress| {
                distance::pass(context, input.input(), axis as usize, &params, progress, target)
            })
        }
    })
}
