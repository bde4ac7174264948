//! The level set, a solver that keeps its state between calls.

use super::context::{context, isoline_context};
use super::fields::{self, params_of};
use super::image::{Checked, isoline_image};
use super::object::Solver;
use super::progress::isoline_progress;
use super::report::isoline_report;
use super::sized;
use super::{check, guard, isoline_status, object};
use crate::error::Result;
use crate::image::PixelType;
use crate::level_set::{self, LevelSet, Params, TargetRange, parameters};
use crate::parameter::{DIMENSIONS, Parameter};
use crate::report::Outcome;

/// The implementation of the iterations. The variants differ in speed.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_level_set_variant {
    /// The same as ISOLINE_LEVEL_SET_BAND.
    ISOLINE_LEVEL_SET_DEFAULT = 0,
    /// A narrow band: only the active tiles, which the front can reach, are updated. CPU and CUDA. An approximation of
    /// ISOLINE_LEVEL_SET_DENSE: the masks agree to a Dice coefficient of 0.999 on compact objects; the smallest one
    /// that was measured is 0.9977, on scattered objects with voxels of 5 x 4 x 4 mm.
    ISOLINE_LEVEL_SET_BAND = 1,
    /// The whole image: every voxel is updated in every iteration. CPU and CUDA.
    ISOLINE_LEVEL_SET_DENSE = 2,
    /// A plain loop on one thread, which is the reference. CPU only, with the same bits as ISOLINE_LEVEL_SET_DENSE
    /// there.
    ISOLINE_LEVEL_SET_SCALAR = 3,
}

/// The limits of the intensity range.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_level_set_side {
    /// ISOLINE_LEVEL_SET_WITHIN if `epsilon` is given. If it is automatic: ISOLINE_LEVEL_SET_ABOVE if at least 90 % of the
    /// start's surroundings are darker than the start, ISOLINE_LEVEL_SET_BELOW if at least 90 % are brighter, otherwise
    /// ISOLINE_LEVEL_SET_WITHIN.
    ISOLINE_LEVEL_SET_AUTO_SIDE = 0,
    /// Both limits: intensities within T ± ε are in range.
    ISOLINE_LEVEL_SET_WITHIN = 1,
    /// The lower limit only: intensities above T - ε are in range. Pixels above T count as T.
    ISOLINE_LEVEL_SET_ABOVE = 2,
    /// The upper limit only: intensities below T + ε are in range. Pixels below T count as T.
    ISOLINE_LEVEL_SET_BELOW = 3,
    /// Neither: intensities farther from T than ε are in range. It occurs in a state only, with ISOLINE_LEVEL_SET_GAUSSIAN
    /// if the pixels inside vary more than those outside.
    ISOLINE_LEVEL_SET_OUTSIDE = 4,
}

/// The region term: the kind of distribution of the pixels inside and outside the front, each side with its own parameters.
/// The front moves outwards where an intensity is more likely inside, and inwards elsewhere.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_level_set_regions {
    /// None: the range of intensities is given, or measured once at the start.
    ISOLINE_LEVEL_SET_NO_REGIONS = 0,
    /// Normal, with one variance: the limit is half way between both means (Chan and Vese 2001).
    ISOLINE_LEVEL_SET_CHAN_VESE = 1,
    /// Normal, each with its own mean and variance. The sides may differ in their variance (texture) alone.
    ISOLINE_LEVEL_SET_GAUSSIAN = 2,
    /// Poisson: photon counts. Pixels are at least 0.
    ISOLINE_LEVEL_SET_POISSON = 3,
    /// Gamma: intensities with speckle. Pixels are at least 0.
    ISOLINE_LEVEL_SET_GAMMA = 4,
    /// Rayleigh: amplitudes with speckle, or magnitudes of MRI where there is no signal. Pixels are at least 0.
    ISOLINE_LEVEL_SET_RAYLEIGH = 5,
    /// Bernoulli, for binary images: only whether a pixel is above 0 counts.
    ISOLINE_LEVEL_SET_BERNOULLI = 6,
}

/// The way in which a level set ended. It is in the report of a step or run, and in the state. docs/level_set.md has the
/// numbers behind ISOLINE_LEVEL_SET_AT_LIMIT.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_level_set_outcome {
    /// The front may still move: the stopping criterion is not met.
    ISOLINE_LEVEL_SET_MOVING = 0,
    /// The front is at rest, and the intensity range suits the intensities inside.
    ISOLINE_LEVEL_SET_FRONT = 1,
    /// The front is at rest, but the intensity range does not suit the object: more than a tenth of the voxels in its
    /// middle (those whose neighbours along each axis are inside, too) have an intensity in the outer tenth of the range's
    /// width at either end, or outside of it. The limits cut into the object, which is probably larger than the result. On
    /// an open side this does not occur.
    ISOLINE_LEVEL_SET_AT_LIMIT = 2,
    /// Every voxel is inside, and no front is left.
    ISOLINE_LEVEL_SET_FILLED = 3,
    /// No voxel is inside, and no front is left.
    ISOLINE_LEVEL_SET_LOST = 4,
}

const _: () = assert!(Outcome::Lost as u32 == isoline_level_set_outcome::ISOLINE_LEVEL_SET_LOST as u32);

/// The parameters of a level set. isoline_level_set_params_init fills them with the defaults. The size of a voxel is
/// the input's spacing: curvature, distances and speeds are in its unit, and h is the smallest spacing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_level_set_params {
    /// The size of the struct, set by isoline_level_set_params_init.
    pub struct_size: u32,
    /// 3 (default): the stack is one volume; a single slice is processed in 2D. 2: each slice is processed separately; all
    /// slices advance together.
    pub dimensions: u32,
    /// An isoline_level_set_variant. Default: ISOLINE_LEVEL_SET_DEFAULT.
    pub variant: u32,
    /// The number of iterations between two reinitialisations of φ. Default 6; 0: none, which is faster, but φ may become
    /// steep or flat where the front moves unevenly.
    pub reinitialise_every: u32,
    /// The check interval: the number of iterations between two tests of the stopping criterion. 0 (default): automatic, as
    /// many as a front with the speed α ε + (1 - α)/h needs for one voxel, 12 to 1000, rounded up to a multiple of
    /// `reinitialise_every`, or of 1000 if `reinitialise_every` is larger than that. With a larger number it takes longer
    /// until the front counts as at rest.
    pub check_interval: u32,
    /// An isoline_level_set_side. Default: ISOLINE_LEVEL_SET_AUTO_SIDE.
    pub side: u32,
    /// T, the centre of the intensity range of the object, in the image's own units; within ±1e30. Default 0; used
    /// only if `epsilon` is given.
    pub target: f64,
    /// ε, half the width of the intensity range, in the image's own units: the front moves outwards where the intensity is
    /// within T ± ε and inwards elsewhere. More than 0, at most 1e30. ISOLINE_AUTOMATIC (default): automatic, as T is;
    /// each limit is half way between the median of the pixels inside the initial mask and the nearest mode of the pixels
    /// around it, on the limit's side. A larger ε includes more intensities.
    pub epsilon: f64,
    /// The weight α of the image term, 0 to 1; that of the curvature is 1 - α. ISOLINE_AUTOMATIC (default): automatic, 1 /
    /// (1 + ε h), where h is the smallest spacing; with `regions`, 1 / (1 + k h), where k is the larger of 2 ε, as it is
    /// measured at the start, and 1.5 standard deviations of the side that varies less. A larger α follows the image more
    /// closely, a smaller one gives a smoother front.
    pub alpha: f64,
    /// The time step Δt, more than 0 and at most the stable limit, which isoline_level_set_info returns and the error
    /// names. ISOLINE_AUTOMATIC (default): automatic, `cfl` times the limit. A larger time step needs fewer iterations. α
    /// Δt must be 0 or from 4.702e-38 to 3.403e38. The limit is the smaller of 1 / (α D sqrt(S) + (1 - α) (S - s)) and 1 /
    /// ((1 - α) S), where S is the sum of 1/h² over the axes, s is 1/h² of the axis with the largest spacing, and D is the
    /// bound of |ε - |I - T||: its largest value over the image, but at most the larger of ε and (1 - α)/α sqrt(2 S)/2. No
    /// curvature can outweigh an image term above that bound, so where φ approaches 0 the image term is clamped to it, and
    /// the front comes to rest in the same place.
    pub time_step: f64,
    /// The automatic time step as a share of the stable limit; more than 0, at most 1. Default 0.95.
    pub cfl: f64,
    /// Stopping criterion: the largest difference between the mean numbers of voxels inside of two successive check
    /// intervals, as a share of the mean number of voxels near the front (about the distance in voxels that the front
    /// moves); at least 0. Default 0.002. Within the interval the number of voxels inside may vary by at most 50
    /// times as much: a front that oscillates by more does not count as at rest. A larger tolerance stops earlier; if
    /// this and `rms_tolerance` are 0, all iterations are done.
    pub change_tolerance: f64,
    /// Stopping criterion: the largest root mean square, over the check interval, of the change of φ near the front
    /// in an iteration, in voxels; at least 0. Default 8, the largest value that it can have, so that
    /// `change_tolerance` alone decides: where pixels far outside the intensity range are beside a front at rest, φ
    /// keeps growing there by more than a voxel per iteration. Both tolerances must be met.
    pub rms_tolerance: f64,
    /// isoline_level_set_run: the largest number of iterations. Default 10000. Not used by isoline_level_set_new.
    pub iterations: u64,
    /// The region term, an isoline_level_set_regions. Default: ISOLINE_LEVEL_SET_NO_REGIONS. Otherwise the range consists
    /// of the intensities that are more likely inside the front than outside. The distributions are measured over all
    /// pixels of both sides (of all slices together with `dimensions` 2) at the start, and again at the start of every
    /// check interval; `epsilon`, `side` and `time_step` must then be automatic. The speed grows with the distance of the
    /// intensity from a limit of the range, up to half the difference of the means; in stronger noise, with the automatic
    /// `alpha`, the range is widened once the front has reached the object. ISOLINE_INVALID_ARGUMENT if one side is empty
    /// at the start or both are alike, or if a pixel is below 0 with a distribution of pixels of at least 0.
    pub regions: u32,
    /// The levels of the pyramid, 1 to 4. Default 1: the front moves on the full image only. With more levels, the first
    /// step (or the run) begins on the image that is reduced `pyramid_levels` - 1 times by 2 along each axis, where the
    /// front comes to rest, continues on the next larger one, and so on up to the full image. With more levels, a start
    /// that is far from the object needs fewer iterations on the full image, and the front moves past noise; structures
    /// narrower than about 2^`pyramid_levels` voxels vanish. Range, α and lengths are the same on all levels, in the
    /// image's units. In an anisotropic volume only axes whose spacing is less than twice the smallest one are reduced; an
    /// axis with fewer than 16 voxels is not reduced. Image and mask must be in host memory (ISOLINE_UNSUPPORTED).
    pub pyramid_levels: u32,
    /// The weight β of the image's edges, 0 to 1000. Default 0: none. With the edge-stopping function g = 1 / (1 +
    /// (|∇I_σ|/K)²) of the smoothed image's gradient, φ_t = g |∇φ| F + β (1 - α)/2 ∇g·∇φ: the front slows down at edges and
    /// is drawn to them, even if the parts of the object have different intensities. β = 1 is the geodesic active contour
    /// (Caselles, Kimmel and Sapiro 1997); a larger β holds the front at an edge against a stronger image term. The largest
    /// stable time step is smaller then: β (1 - α) S/4 (1.5 times that with upwind_order 2) is added to both denominators.
    /// The image must be in host memory (ISOLINE_UNSUPPORTED), because the CPU computes g for all devices.
    pub edge_weight: f64,
    /// σ, the standard deviation of the Gaussian that smooths the image before its gradient is taken, in the unit of the
    /// spacing; 0 (none) to 100 times the smallest spacing. ISOLINE_AUTOMATIC (default): automatic, the smallest spacing.
    /// With a larger σ there are fewer edges. Within 3 σ of a pixel that is not finite, g is 0. Used only with
    /// `edge_weight`.
    pub edge_sigma: f64,
    /// K, the gradient at which g is 1/2, in pixel values per unit of length; more than 0. ISOLINE_AUTOMATIC (default):
    /// automatic, the gradient that 90 % of the voxels do not exceed; with `dimensions` 2, of the voxels of each slice.
    /// With a larger K the front crosses fainter edges. Used only with `edge_weight`.
    pub edge_contrast: f64,
    /// The order of the one-sided differences in the upwind |∇φ| and in the edge term, 1 or 2, within two voxels of the
    /// front. Default 1, which is enough for compact objects. With 2 a front moves along structures of three and four
    /// voxels across within 3 % of its speed; with 1 it is 12 to 31 % too slow there (docs/level_set.md). An iteration
    /// takes 1.3 to 2.7 times as long, and the largest stable time step is two thirds as long where the image term limits
    /// it. On a CUDA device the image must then be in host memory (ISOLINE_UNSUPPORTED), and its copy takes 32 bytes per
    /// voxel.
    pub upwind_order: u32,
    /// Must be 0.
    pub reserved: u32,
}

params_of! {
    isoline_level_set_params, 128, parameters::OPERATION, [reserved], dimensions, variant, reinitialise_every,
    check_interval, side, target, epsilon, alpha, time_step, cfl, change_tolerance, rms_tolerance, iterations,
    regions, edge_weight, edge_sigma, edge_contrast, pyramid_levels, upwind_order
}

impl isoline_level_set_params {
    fn translate(&self, spacing: [f64; 3]) -> Result<Params> {
        let given = |parameter: &Parameter, value| parameter.unless_automatic(value);
        Ok(Params {
            dimensions: parameters::DIMENSIONS.chosen(self.dimensions, &DIMENSIONS)?,
            spacing,
            range: given(&parameters::EPSILON, self.epsilon)
                .map(|epsilon| TargetRange { target: self.target, epsilon }),
            side: parameters::SIDE.chosen(self.side, &parameters::SIDES)?,
            regions: parameters::REGIONS.chosen(self.regions, &parameters::ALL_REGIONS)?,
            edge_weight: self.edge_weight,
            edge_sigma: given(&parameters::EDGE_SIGMA, self.edge_sigma),
            edge_contrast: given(&parameters::EDGE_CONTRAST, self.edge_contrast),
            alpha: given(&parameters::ALPHA, self.alpha),
            time_step: given(&parameters::TIME_STEP, self.time_step),
            cfl: self.cfl,
            reinitialise_every: self.reinitialise_every,
            check_interval: given(&parameters::CHECK_INTERVAL, self.check_interval.into()).map(|_| self.check_interval),
            change_tolerance: self.change_tolerance,
            rms_tolerance: self.rms_tolerance,
            variant: parameters::VARIANT.chosen(self.variant, &parameters::VARIANTS)?,
            pyramid_levels: self.pyramid_levels,
            upwind_order: self.upwind_order,
        })
    }
}

/// A level set that evolves on one image, created by isoline_level_set_new. Opaque.
pub struct isoline_level_set(Solver<LevelSet>);

/// Locks the level set that a caller's pointer points to.
///
/// # Safety
/// `level_set` is NULL or came from isoline_level_set_new and has not been freed; it lives for `'a`.
pub(super) unsafe fn lock<'a>(level_set: *const isoline_level_set) -> Result<object::SolverGuard<'a, LevelSet>> {
    // SAFETY: as the caller ensures.
    Solver::lock(unsafe { level_set.as_ref() }.map(|level_set| &level_set.0), "level_set")
}

/// Fills `params` with the defaults; `struct_size` is sizeof *params, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_level_set_params_init(
    params: *mut isoline_level_set_params,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(params, struct_size, "params") })
}

/// Creates a level set: a front that evolves with the image's intensity and its own curvature (Mostofi 2009, with corrected
/// formulas), φ_t = |∇φ| F with F = -α (ε - |I - T|) + (1 - α) H, where H is half the divergence of the normals and φ < 0
/// inside. The front moves outwards where the intensity is within T ± ε; its curvature slows and smooths it. |ε - |I - T||
/// is bounded (see `time_step` of isoline_level_set_params). Where |φ| grows,
/// |∇φ| is limited to 1, so that the front comes to rest where F is 0. docs/level_set.md describes
/// the scheme.
///
/// φ starts as the signed distance to the boundary of the initial mask. φ and a copy of the image are kept in the memory of
/// the context's device; the caller's images are not needed after the call. If a volume with a narrow band does not fit the
/// memory of a GPU, or the context's limit, φ is stored only in tiles near the front (`stored_tiles` of the state); the
/// result is the same except for values far from the front. If there is not enough memory for these tiles, at the start or
/// in a step, the level set continues on the CPU with "auto", and the call fails with ISOLINE_OUT_OF_MEMORY otherwise. With
/// edges, `upwind_order` 2 or `pyramid_levels` above 1, φ is always stored in all tiles.
///
/// If the mask (with 2 dimensions: a slice of it) is empty or full, φ is plus or minus the image's diagonal and the front
/// never moves. Pixels that are NaN or infinite count as far from T as the farthest finite pixel of the image, but at least
/// 2ε. So they are never within the intensity range, except for an infinity on its open side, and for all of them with
/// ISOLINE_LEVEL_SET_OUTSIDE.
///
/// @param context not NULL. The level set keeps the device alive; the two may be freed in either order.
/// @param input not NULL; any type, floats within ±1e30; host or CUDA memory, or slices, all of which are read. Its spacing
///   is the size of a voxel: along each axis 1e-9 to 1e9, the largest at most 1000 times the smallest. With 2 dimensions,
///   and for a single slice, the spacing along z is not used (but, as in every image, it must be finite and more than 0).
/// @param initial_mask not NULL; any type, the input's size, host or CUDA memory, or slices; pixels above 0 are inside. Its
///   spacing is not used. isoline_mask_fill_spheres, _boxes and _polygon draw masks.
/// @param params NULL for the defaults.
/// @param out receives the level set; free it with isoline_level_set_free. Not written on failure.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT, also for a Δt above the stable limit, which the
///   message names, for an α Δt that is neither 0 nor from 4.702e-38 to 3.403e38 (the range of 32-bit numbers with full
///   precision), which occurs for example for pixels near 1e30 with a spacing of 1e-9, and for an automatic intensity range
///   with an empty mask; _INVALID_SIZE; _INVALID_TYPE; _UNSUPPORTED for a variant that the device does not have, for CUDA
///   pixels with a CPU context or with `pyramid_levels` above 1 and for an image too large for the CUDA kernels;
///   _OUT_OF_MEMORY; _DEVICE_FAILED; _CALLBACK_FAILED; _CANCELLED by the cancel flag; _BUSY. May be called on any thread;
///   calls on one context run one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_level_set_new(
    context: *mut isoline_context,
    input: *const isoline_image,
    initial_mask: *const isoline_image,
    params: *const isoline_level_set_params,
    out: *mut *mut isoline_level_set,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::sliced(input, "input")?;
            let mask = Checked::sliced(initial_mask, "initial_mask")?;
            let params = fields::read(params)?.translate(input.spacing())?;
            check::not_null(out, "out")?;
            let level_set = LevelSet::new(context, input.source()?, mask.source()?, &params)?;
            out.write(object::hand_out(isoline_level_set(Solver::new(context, level_set))));
            Ok(())
        }
    })
}

/// Evolves a level set by a number of iterations. It stops earlier if the stopping criterion is met (the report's
/// `converged`), or if no front is left because every voxel, or none, is inside, which also counts as converged. For a
/// converged level set, the report's `outcome` says whether there is a front that the intensity range suits. Computing it
/// takes about as long as one iteration of the whole image, once per run.
///
/// @param level_set not NULL.
/// @param iterations the largest number of iterations. A step of 20 and one of 30 give the same result as one of 50, unless
///   the first one meets the stopping criterion; the next one then continues from there. With `pyramid_levels` the first
///   step of at least one iteration first runs the coarse levels until they are at rest, with up to 10000 iterations each,
///   which do not count.
/// @param progress NULL for none. The fraction is the share of `iterations` that is done or, if the stopping criterion is
///   likely to be met sooner, of the iterations until then (isoline_level_set_state's `expected_iterations`). It never
///   decreases, is the same on every device, and is 1 only in the last call, whose result is not used. A cancelled step
///   returns ISOLINE_CANCELLED and keeps its last complete iteration: the level set can be read, and the next step
///   continues from there. If a reinitialisation was cancelled, the signs of φ are final and its magnitudes are not; a step
///   of 0 iterations completes the reinitialisation, and does nothing otherwise.
/// @param report NULL for none; else after isoline_report_init. `iterations` is the number of iterations of this step.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; _INVALID_ARGUMENT; _OUT_OF_MEMORY; _DEVICE_FAILED; _CANCELLED;
///   _BUSY for a re-entrant call from a callback of the level set's context. After ISOLINE_DEVICE_FAILED φ is not
///   known: write it or free the level set. May be called on any thread; calls on one level set run one after the
///   other, and so do calls on its context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_level_set_step(
    level_set: *mut isoline_level_set,
    iterations: u64,
    progress: *const isoline_progress,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let mut level_set = lock(level_set)?;
            isoline_report::of(report, progress, |progress| level_set.step(iterations, progress))
        }
    })
}

/// Frees a level set. No call may be running on it, and it must not be used again. May be called on any thread, but not
/// from a callback of its own step. Its context may be freed before or after it.
///
/// @param level_set may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_level_set_free(level_set: *mut isoline_level_set) {
    // SAFETY: as the caller ensures.
    unsafe { object::free_if(level_set, "a level set", |level_set| level_set.0.is_of_this_process()) }
}

/// Runs a level set in one call: starts from a mask, evolves it by up to params->iterations or until the stopping criterion
/// is met (the report's `converged` and `outcome`), and writes the mask: 255 inside, 0 elsewhere.
///
/// @param context,input,initial_mask,params as for isoline_level_set_new.
/// @param progress NULL for none; the fraction as for isoline_level_set_step.
/// @param mask not NULL; ISOLINE_U8, the input's size, its own memory, host or CUDA, or slices.
/// @param report NULL for none; else after isoline_report_init.
/// @return ISOLINE_OK or an error: as for isoline_level_set_new; _OVERLAP; _CANCELLED, also by `progress`. May be called on
///   any thread; calls on one context run one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_level_set_run(
    context: *mut isoline_context,
    input: *const isoline_image,
    initial_mask: *const isoline_image,
    params: *const isoline_level_set_params,
    progress: *const isoline_progress,
    mask: *const isoline_image,
    report: *mut isoline_report,
) -> isoline_status {
    guard(|| {
        // SAFETY: every pointer is NULL or valid, as the caller ensures; NULL is refused or allowed by each reader.
        unsafe {
            let context = self::context(context)?;
            let input = Checked::sliced(input, "input")?;
            let initial_mask = Checked::sliced(initial_mask, "initial_mask")?;
            let params = fields::read(params)?;
            let iterations = params.iterations;
            let params = params.translate(input.spacing())?;
            let mask = Checked::sliced(mask, "mask")?;
            mask.check_output(&input)?;
            mask.check_apart(&initial_mask)?;
            let target = mask.sink(PixelType::U8)?;
            let (input, initial_mask) = (input.source()?, initial_mask.source()?);
            isoline_report::of(report, progress, |progress| {
                level_set::run(context, input, initial_mask, &params, iterations, progress, target)
            })
        }
    })
}
