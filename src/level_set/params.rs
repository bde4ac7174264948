//! The parameters of a level set, as a caller gives them. Names, ranges, defaults and help texts are in `parameters.rs`.

use super::parameters;
use crate::image::Dimensions;
use crate::parameter;

/// The intensity range that the front grows into: `target` ± `epsilon`, unless a [`Side`] is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetRange {
    /// The centre T of the range, in the image's own units.
    pub target: f64,
    /// The half width ε > 0 of the range, in the image's own units.
    pub epsilon: f64,
}

/// The limits of the intensity range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Side {
    /// Both: intensities within T ± ε are in range.
    Within,
    /// The lower one: intensities above T − ε are in range. Pixels above T count as T.
    Above,
    /// The upper one: intensities below T + ε are in range. Pixels below T count as T.
    Below,
    /// Neither: intensities farther from T than ε are in range. It occurs in a [`State`](super::State) only, with
    /// [`Regions::Gaussian`] if the pixels inside vary more than those outside.
    Outside,
}

impl Side {
    /// The sign of I − T on the open side, or 0.
    pub(super) fn sign(self) -> f32 {
        match self {
            Self::Within | Self::Outside => 0.0,
            Self::Above => 1.0,
            Self::Below => -1.0,
        }
    }
}

/// The kind of distribution of the pixels. Both regions, inside and outside, have the same kind, each with its own
/// parameters.
///
/// A voxel belongs inside if its intensity is more likely there. Chan and Vese, "Active contours without edges" (2001); for
/// general distributions Zhu and Yuille, "Region competition" (1996).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Regions {
    /// Normal, with one variance: the limit is half way between both means, as in Chan and Vese's model.
    ChanVese,
    /// Normal, each with its own mean and variance. The regions may differ in their variance (texture) alone.
    Gaussian,
    /// Poisson: photon counts. Pixels are at least 0.
    Poisson,
    /// Gamma: intensities with speckle. Pixels are at least 0.
    Gamma,
    /// Rayleigh: amplitudes with speckle, or magnitudes of MRI where there is no signal. Pixels are at least 0.
    Rayleigh,
    /// Bernoulli, for binary images: only whether a pixel is above 0 counts.
    Bernoulli,
}

impl Regions {
    /// Returns the name of the parameter's choice.
    pub(super) fn name(self) -> &'static str {
        let place = parameters::ALL_REGIONS.iter().position(|choice| *choice == Some(self));
        place.map_or("", |place| parameters::REGIONS.choices[place].name.to_str().unwrap_or_default())
    }
}

/// The implementation that runs the iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variant {
    /// The same as `Band`.
    Default,
    /// Only the tiles that the front can reach are updated. CPU and CUDA.
    Band,
    /// Every voxel is updated in every iteration. CPU and CUDA.
    Dense,
    /// A plain loop on one thread: the reference. CPU only.
    Scalar,
}

/// The parameters; [`Params::default`] gives each its default.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// One volume (default), or slices, each segmented separately. A volume of a single slice is that slice.
    pub dimensions: Dimensions,
    /// The voxel's size along x, y, z, each from 1e-9 to 1e9 and at most 1000 times another. Default 1, 1, 1. Curvature,
    /// distances and speeds are in its unit. With [`Dimensions::Slices`] the spacing along z is not used, and may be
    /// anything.
    pub spacing: [f64; 3],
    /// The intensity range T ± ε. `None` (default): it is measured. Each limit is half way between the median of the pixels
    /// in the initial mask (without its rim) and the nearest mode of its surroundings on the limit's side, see
    /// `docs/level_set.md`.
    pub range: Option<TargetRange>,
    /// The limits that the range has. `None` (default): both if `range` is given. If the range is measured, it has only the
    /// lower limit if at least 90 % of the surroundings are darker than the pixels inside the initial mask, only the upper
    /// one if at least 90 % are brighter, and both otherwise.
    pub side: Option<Side>,
    /// The region term: the range consists of the intensities that are more likely inside the front than outside, for this
    /// kind of distribution. Its parameters are measured over all pixels of both sides (of the whole stack, even with
    /// [`Dimensions::Slices`]) at the start, and again at the start of every check interval. `range`, `side` and
    /// `time_step` must be `None` then. The speed grows with the distance of the intensity from a limit, up to half the
    /// difference of the means. If the standard deviation of the noise is larger than this half, and `alpha` is automatic,
    /// the range is widened once the front has reached the object, so that noise does not drive the front inwards (see
    /// `docs/level_set.md`). `None` (default): the range stays as it is given, or measured at the start.
    pub regions: Option<Regions>,
    /// The weight β, from 0 to 1000, of the image's edges. With the edge-stopping function g = 1 / (1 + (|∇I_σ|/K)²), the
    /// speed is multiplied by g, and the front is carried towards the minima of g: φ_t = g·F·|∇φ| + β·(1 − α)/2·∇g·∇φ. β =
    /// 1 is the geodesic active contour of Caselles, Kimmel and Sapiro (1997); a larger β holds the front at an edge
    /// against a stronger image term. Default 0: edges do not count, and g is not computed. Otherwise the input must be in
    /// host memory, because the CPU computes g for all devices.
    pub edge_weight: f64,
    /// The standard deviation σ of the Gaussian that smooths the image before its gradient is taken, in the unit of the
    /// spacing, at most 100 times the smallest spacing; 0: none. `None` (default): the smallest spacing.
    pub edge_sigma: Option<f64>,
    /// The gradient K at which g is ½, in pixel values per unit of length. `None` (default): the gradient that 90 % of the
    /// voxels do not exceed; for slices, of the voxels of each slice.
    pub edge_contrast: Option<f64>,
    /// The weight α, in [0, 1], of the image against curvature. `None` (default): 1 / (1 + ε·h), where h is the smallest
    /// spacing; with `regions`, 1 / (1 + k·h), where k is the larger of 2·ε, as it is measured at the start, and 1.5
    /// standard deviations of the side that varies less, so that the front does not follow noise.
    pub alpha: Option<f64>,
    /// The time step Δt. `None` (default): `cfl` times the largest stable step, the smaller of 1 / (α·D·√S + (1 − α)·(S −
    /// s)) and 1 / ((1 − α)·S), where S is Σh⁻², s is h⁻² of the axis with the largest spacing, and D is the bound of
    /// |D(I)|: the largest |ε − |I − T|| of the image, but at most the larger of ε and (1 − α)/α·½·√(2·S). No curvature can
    /// outweigh a |D(I)| above that bound, so where φ approaches 0, |D(I)| is clamped to it, and the front comes to rest in
    /// the same place. α·Δt must be 0 or from 4.702e-38 to 3.403e38, the range in which 32-bit numbers have full precision;
    /// other values, which occur with very large pixels and a very small spacing, are refused.
    pub time_step: Option<f64>,
    /// The share of the largest stable step that the automatic Δt takes, in (0, 1]. Default 0.95.
    pub cfl: f64,
    /// The number of iterations between two reinitialisations of φ; 0 for none. Default 6.
    pub reinitialise_every: u32,
    /// The check interval: the number of iterations between two tests of the stopping criterion. `None` (default): as many
    /// as a front with the speed α·ε + (1 − α)/h needs for one voxel, 12 to 1000, rounded up to a multiple of
    /// `reinitialise_every`, or of 1000 if `reinitialise_every` is larger than that.
    pub check_interval: Option<u32>,
    /// Stopping criterion: the largest difference between the mean number of voxels inside in a check interval and in the
    /// one before, as a share of the mean number of voxels near the front. This is about the distance in voxels that the
    /// front has moved. Within the interval the number may vary by up to 50 times as much; a front that oscillates more is
    /// not at rest. Default 2e-3.
    pub change_tolerance: f64,
    /// Stopping criterion: the largest root mean square, over the check interval, of the change of φ near the front in an
    /// iteration, in voxels. Default 8, the largest possible change, so that only `change_tolerance` decides: beside a
    /// front at rest φ keeps growing by more than a voxel per iteration where pixels are far out of the range.
    pub rms_tolerance: f64,
    /// The order of the one-sided differences in the upwind |∇φ| and in the edge term, 1 or 2, within two voxels of the
    /// front. Default 1, which is enough for compact objects. With 2 a front moves along structures of three and four
    /// voxels across within 3 % of its speed; with 1 it is 12 to 31 % too slow there (docs/level_set.md). An iteration
    /// takes 1.3 to 2.7 times as long, and the largest stable step is two thirds as long where the image term limits it. On
    /// a CUDA device the image must be in host memory then, and its copy takes 32 bytes a voxel.
    pub upwind_order: u32,
    /// The implementation. Default: the band.
    pub variant: Variant,
    /// The levels of the pyramid, 1 to 4. Default 1: the front moves on the full image only. With more levels the front
    /// first comes to rest on the image that is reduced `pyramid_levels` − 1 times by 2 along each axis, then on the next
    /// larger one, and so on. In an anisotropic volume only axes whose spacing is less than twice the smallest are reduced,
    /// and an axis with fewer than 16 voxels never is. The range, α and lengths stay the same in the image's units.
    /// Structures narrower than about 2^`pyramid_levels` voxels vanish on the coarsest image; if the whole front vanishes,
    /// the next level starts from the mask. Image and mask must be in host memory.
    pub pyramid_levels: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            dimensions: parameters::DIMENSIONS.default_of(&parameter::DIMENSIONS),
            spacing: [1.0; 3],
            range: None,
            side: None,
            regions: None,
            edge_weight: parameters::EDGE_WEIGHT.default,
            edge_sigma: None,
            edge_contrast: None,
            alpha: None,
            time_step: None,
            cfl: parameters::CFL.default,
            reinitialise_every: parameters::REINITIALISE_EVERY.default as u32,
            check_interval: None,
            change_tolerance: parameters::CHANGE_TOLERANCE.default,
            rms_tolerance: parameters::RMS_TOLERANCE.default,
            upwind_order: parameters::UPWIND_ORDER.default as u32,
            variant: parameters::VARIANT.default_of(&parameters::VARIANTS),
            pyramid_levels: parameters::PYRAMID_LEVELS.default as u32,
        }
    }
}

impl Params {
    /// Returns the same parameters with a stopping criterion that is never met, so that all requested iterations are done.
    pub fn without_stopping(self) -> Self {
        Self { change_tolerance: 0.0, rms_tolerance: 0.0, ..self }
    }
}
