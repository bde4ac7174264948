//! Edge strength.

use super::context::{context, isoline_context};
use super::fields::{self, params_of};
use super::image::{Checked, isoline_image};
use super::progress::isoline_progress;
use super::report::isoline_report;
use super::sized;
use super::{guard, isoline_status};
use crate::edge_strength::{self, Mode, Params, Start, parameters};
use crate::error::Result;
use crate::image::PixelType;
use crate::parameter::{DIMENSIONS, FOREGROUNDS, ends};

/// The rule by which the computation of the edge strength ends.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_edge_strength_mode {
    /// A fixed number of iterations, each of them one explicit step of the equation.
    ISOLINE_EDGE_STRENGTH_ITERATIONS = 0,
    /// The steady state that the iterations approach, computed by multigrid cycles to a tolerance.
    ISOLINE_EDGE_STRENGTH_CONVERGED = 1,
}

/// The initial values of the pixels outside the shape.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_edge_strength_start {
    /// The value 0.
    ISOLINE_EDGE_STRENGTH_START_MASK = 0,
    /// The input, scaled by start_min and start_max to the range from 0 to 1, and inverted for ISOLINE_FOREGROUND_BELOW. If
    /// all finite pixels are equal, they are scaled to 0. NaN pixels start at 0.
    ISOLINE_EDGE_STRENGTH_START_IMAGE = 1,
}

/// The implementation of the iterations; the converged mode has only one. All variants give the same pixels (scalar: within
/// 1e-6 up to 200 iterations) and differ in speed.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_edge_strength_variant {
    /// The fastest variant of the device.
    ISOLINE_EDGE_STRENGTH_DEFAULT = 0,
    /// Several iterations per pass over memory. CPU and CUDA.
    ISOLINE_EDGE_STRENGTH_FUSED = 1,
    /// The paper's first design, a tile in shared memory. CUDA only.
    ISOLINE_EDGE_STRENGTH_SHARED = 2,
    /// The paper's second design, reads through the texture unit. CUDA only.
    ISOLINE_EDGE_STRENGTH_TEXTURE = 3,
    /// A plain loop on one thread, which is the reference. CPU only.
    ISOLINE_EDGE_STRENGTH_SCALAR = 4,
}

/// The parameters of isoline_edge_strength. isoline_edge_strength_params_init fills them with the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_edge_strength_params {
    /// The size of the struct, set by isoline_edge_strength_params_init.
    pub struct_size: u32,
    /// 2 (default): each slice is processed separately, with four neighbours per pixel. 3: the stack is one volume, with
    /// six neighbours per voxel.
    pub dimensions: u32,
    /// An isoline_edge_strength_mode. Default: ISOLINE_EDGE_STRENGTH_ITERATIONS.
    pub mode: u32,
    /// An isoline_foreground. Default: ISOLINE_FOREGROUND_ABOVE.
    pub foreground: u32,
    /// An isoline_edge_strength_start. Default: ISOLINE_EDGE_STRENGTH_START_MASK.
    pub start: u32,
    /// An isoline_edge_strength_variant. Default: ISOLINE_EDGE_STRENGTH_DEFAULT.
    pub variant: u32,
    /// The number of iterations, 0 to 10,000,000. Default 50. More iterations reach farther from the shape, by about the
    /// square root of their number in pixels. After every 16th iteration of a call, values below 2⁻⁸⁰ (8e-25) are set to 0.
    /// Not used by the converged mode.
    pub iterations: u64,
    /// Converged mode: the largest number of multigrid cycles, 1 to 10,000,000. Default 100. If they are not enough, or if
    /// the smallest change of a cycle has not decreased for 100 cycles, the result so far is returned and the report's
    /// `converged` is 0.
    pub max_cycles: u64,
    /// The decay length ρ in pixels or, with 3 dimensions, in the unit of the input's spacing; at least 1e-18, and with 3
    /// dimensions at least 1e-18 times the largest spacing (so that a 32-bit number can hold 1/ρ²). Default 64. The field
    /// decreases as exp(-distance/ρ): a larger ρ reaches farther and smooths more.
    pub rho: f64,
    /// The time step Δt, more than 0 and at most 1/(4 + 1/ρ²) in 2D, 1/(6 + 1/ρ²) in 3D. With a spacing h_x, h_y, h_z of a
    /// volume it is in units of h², the square of the smallest of them, and at most 1/(2 (w_x + w_y + w_z) + h²/ρ²), where
    /// w_x = (h/h_x)² and so on. ISOLINE_AUTOMATIC (default): automatic, min(0.2, 0.9 of the limit) in 2D, min(0.15,
    /// 0.9 of the limit) in 3D. With a larger time step the field spreads further per iteration.
    pub time_step: f64,
    /// The threshold of the foreground, in the image's own units; finite. Default 0. With the default foreground every pixel
    /// above it belongs to the shape.
    pub threshold: f64,
    /// ISOLINE_EDGE_STRENGTH_START_IMAGE: pixels up to this value start at 0. This and start_max ISOLINE_AUTOMATIC
    /// (default): automatic, 0 and 255 for 8-bit images, for other types see Automatic ranges at the top.
    /// Otherwise both must be given, and this one must be less than start_max.
    pub start_min: f64,
    /// ISOLINE_EDGE_STRENGTH_START_IMAGE: pixels from this value on start at 1. ISOLINE_AUTOMATIC (default): automatic.
    pub start_max: f64,
    /// Converged mode: the multigrid cycles end when the estimated largest error of any pixel is at most this; more
    /// than 0 and less than 1. Default 1e-5. The estimate is not a strict bound (errors of up to 1.54 times it were
    /// measured), and 32-bit numbers reach about 1e-6. A smaller tolerance takes more cycles.
    pub tolerance: f64,
    /// isoline_edge_strength_axes: the smallest edge strength at which axes and critical points are sought, more than 0 and
    /// less than 1. Default 1e-4. A smaller value follows axes farther from the shape, where v is less accurate.
    pub axis_min_strength: f64,
    /// isoline_edge_strength_axes: the smallest length of an axis, in pixels, at least 0. Default 5. A larger value removes
    /// more of the short axes that begin at the pixel steps of an outline.
    pub axis_min_length: f64,
}

params_of! {
    isoline_edge_strength_params, 104, parameters::OPERATION, [], dimensions, mode, foreground, start, variant,
    iterations, max_cycles, rho, time_step, threshold, start_min, start_max, tolerance, axis_min_strength,
    axis_min_length
}

impl isoline_edge_strength_params {
    fn translate(&self, spacing: [f64; 3]) -> Result<Params> {
        let modes = [
            Mode::Iterate { iterations: self.iterations },
            Mode::Converged { tolerance: self.tolerance, max_cycles: self.max_cycles },
        ];
        let range = ends(&parameters::START_MIN, &parameters::START_MAX, [self.start_min, self.start_max])?;
        Ok(Params {
            dimensions: parameters::DIMENSIONS.chosen(self.dimensions, &DIMENSIONS)?,
            mode: parameters::MODE.chosen(self.mode, &modes)?,
            foreground: parameters::FOREGROUND.chosen(self.foreground, &FOREGROUNDS)?,
            start: parameters::START.chosen(self.start, &[Start::Mask, Start::Input(range)])?,
            variant: parameters::VARIANT.chosen(self.variant, &parameters::VARIANTS)?,
            time_step: parameters::TIME_STEP.unless_automatic(self.time_step),
            spacing,
            rho: self.rho,
            threshold: self.threshold,
        })
    }
}

/// Fills `params` with the defaults; `struct_size` is sizeof *params, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_edge_strength_params_init(
    params: *mut isoline_edge_strength_params,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(params, struct_size, "params") })
}

/// Computes the edge strength function v: a smoothed, exponentially decaying distance field of a drawing or shape. v
/// is 1 on the shape and within 0 to 1 everywhere, in both modes. It solves dv/dt = (Laplacian - 1/ρ²) v with v = 1
/// on the shape and zero normal derivative at the image border (Keleş 2016, eq. 2 and 3; Tari, Shah and Pien 1997).
///
/// With 3 dimensions distances are in the unit of the input's spacing, which the Laplacian takes into account along each
/// axis; with 2 they are in pixels, and the spacing is not used. NaN pixels never belong to the shape and start at 0.
///
/// A volume that does not fit into the memory of the GPU, or into the context's memory limit, is computed in slabs along z
/// with the same bits. For iterations, one slice must fit with as many slices on either side as there are iterations. For
/// the converged mode, 28 slices of 12 bytes per voxel must fit, and 3 bytes for each voxel of the volume (up to 19 with
/// spacings that differ), and the output must be in host memory, of which 4 more bytes per voxel are then used. With "auto"
/// the GPU is used for this only if slabs cause at most twice the work. Iterations on a volume are also computed in slabs
/// if the context has several devices and each gets at least twice as many slices as there are iterations, and if the
/// images are ISOLINE_SLICES. The converged mode of a volume has all slices of such images in memory,
/// or in temporary files.
///
/// @param context not NULL.
/// @param input not NULL; any type; host or CUDA memory, or slices. With 3 dimensions its spacing is the size of a
///   voxel: along each axis from 1e-15 to 1e15, and at most 100 times that along another axis.
/// @param params NULL for the defaults.
/// @param progress NULL for none.
/// @param output not NULL; ISOLINE_F32, the input's size, its own memory, host or CUDA, or slices. Its spacing is not used.
/// @param report NULL for none; else after isoline_report_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, _INVALID_ARGUMENT, _INVALID_SIZE, _INVALID_TYPE, _OVERLAP;
///   _UNSUPPORTED for a variant that the device does not have, or CUDA pixels with a CPU context; _OUT_OF_MEMORY;
///   _DEVICE_FAILED; _CANCELLED; _CALLBACK_FAILED; _BUSY. May be called on any thread; calls on one context run one after
///   the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_edge_strength(
    context: *mut isoline_context,
    input: *const isoline_image,
    params: *const isoline_edge_strength_params,
    progress: *const isoline_progress,
    output: *const isoline_image,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::sliced(input, "input")?;
            let params = fields::read(params)?.translate(input.spacing())?;
            let output = Checked::sliced(output, "output")?;
            output.check_output(&input)?;
            let target = output.sink(PixelType::F32)?;
            isoline_report::of(report, progress, |progress| {
                edge_strength::run(context, input.source()?, &params, progress, target)
            })
        }
    })
}
