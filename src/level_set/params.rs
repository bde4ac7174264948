//! The parameters of a level set, as a caller gives them. Their table is in `parameters.rs`.

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
    /// Neither: intensities farther from T than ε are in range. Only a [`State`](super::State) has it, with
    /// [`Regions::Gaussian`] where the pixels inside vary more than those outside.
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

/// The kind of distribution that the pixels of both regions have, inside and outside, each with its own parameters.
///
/// A voxel belongs inside where its intensity is likelier there. Chan and Vese, "Active contours without edges" (2001);
/// for distributions in general Zhu and Yuille, "Region competition" (1996).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Regions {
    /// Normal, with one variance: the limit is half way between both means, as in Chan and Vese's model.
    ChanVese,
    /// Normal, each with its own mean and variance. Regions may differ in texture alone.
    Gaussian,
    /// Poisson: single photons are counted. Pixels are at least 0.
    Poisson,
    /// Gamma: intensities of speckle. Pixels are at least 0.
    Gamma,
    /// Rayleigh: amplitudes of speckle, magnitudes of MRI without signal. Pixels are at least 0.
    Rayleigh,
    /// Bernoulli: a pixel is above 0 or not. For binary images.
    Bernoulli,
}

impl Regions {
    /// Returns the name of the parameter's choice.
    pub(super) fn name(self) -> &'static str {
        let place = parameters::ALL_REGIONS.iter().position(|choice| *choice == Some(self));
        place.map_or("", |place| parameters::REGIONS.choices[place].name.to_str().unwrap_or_default())
    }
}

/// The implementation that computes.
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
    /// The voxel's size along x, y, z, each from 1e-9 to 1e9 and at most 1000 times another. Default 1, 1, 1.
    /// Curvature, distances and speeds are in its unit. With [`Dimensions::Slices`] that along z is not used, and may
    /// be anything.
    pub spacing: [f64; 3],
    /// The intensity range T ± ε. `None` (default): measured, with each limit half way between the median of the pixels
    /// of the initial mask within its rim and the nearest mode of its surroundings on the limit's side, see
    /// `docs/level_set.md`.
    pub range: Option<TargetRange>,
    /// The limits that the range has. `None` (default): both if `range` is given. If it is measured, only the lower one
    /// if at least 90 % of the surroundings are darker than the pixels inside the initial mask, only the upper one if as
    /// many are brighter, else both.
    pub side: Option<Side>,
    /// The region term: the range is the intensities that are likelier inside the front than outside, for this kind of
    /// distribution, measured in all pixels of both sides (of the whole stack, with [`Dimensions::Slices`], too) at the
    /// start and again at the start of every check interval. `range`, `side` and `time_step` must be `None` then. Beside
    /// a limit the speed grows with the distance from it, up to that of half the difference of the means. With the
    /// automatic `alpha`, in noise whose standard deviation is more than that half, the range is made wider once the front
    /// has come to the object, so that noise does not drive it inwards (see `docs/level_set.md`). `None`
    /// (default): the range stays as it is given or measured at the start.
    pub regions: Option<Regions>,
    /// The weight β, from 0 to 1000, of the image's edges. With the edge-stopping function g = 1 / (1 + (|∇I_σ|/K)²), the
    /// speed is multiplied by g, and the front is carried to where g is least: φ_t = g·F·|∇φ| + β·(1 − α)/2·∇g·∇φ. 1 is
    /// the geodesic active contour of Caselles, Kimmel and Sapiro (1997); a larger one holds the front at an edge against
    /// a stronger image term. Default 0: edges do not count, and g is not computed.
    /// Otherwise the input must be in host memory, where the CPU measures its edges for both devices.
    pub edge_weight: f64,
    /// The standard deviation σ of the Gaussian that smooths the image before its gradient is taken, in the unit of the
    /// spacing, at most 100 times the smallest spacing; 0: none. `None` (default): the smallest spacing.
    pub edge_sigma: Option<f64>,
    /// The gradient K at which g is ½, in pixel values per unit of length. `None` (default): the gradient that 90 % of the
    /// voxels do not exceed; in slices those of each slice.
    pub edge_contrast: Option<f64>,
    /// The weight α, in [0, 1], of the image against curvature. `None` (default): 1 / (1 + ε·h), h the smallest
    /// spacing; with `regions` 1 / (1 + k·h), where k is the larger of 2·ε, as it is measured first, and 1.5 standard
    /// deviations of the side that varies less, so that noise does not pass for detail.
    pub alpha: Option<f64>,
    /// The time step Δt. `None` (default): `cfl` times the largest stable step, the smaller of
    /// 1 / (α·D·√S + (1 − α)·(S − s)) and 1 / ((1 − α)·S), where S is Σh⁻², s is h⁻² of the axis with the largest spacing,
    /// and D is the bound of |D(I)|: the largest |ε − |I − T|| of the image, but at most the larger of ε and
    /// (1 − α)/α·½·√(2·S). Beyond that no curvature outweighs the image: where φ approaches 0, |D(I)| is clamped to
    /// it, and the front rests in the same place. Refused if α·Δt is neither 0 nor from 4.702e-38 to 3.403e38, the
    /// range of 32-bit numbers with all their digits; very large pixels in a very small spacing leave it.
    pub time_step: Option<f64>,
    /// The share of the largest stable step that the automatic Δt takes, in (0, 1]. Default 0.95.
    pub cfl: f64,
    /// The number of iterations between two reinitialisations of φ. Default 6; 0 is never.
    pub reinitialise_every: u32,
    /// The number of iterations that the stopping criterion tests together. `None` (default): as many as a front at the
    /// speed α·ε + (1 − α)/h needs for one voxel, 12 to 1000, rounded up to a multiple of `reinitialise_every`, or of
    /// 1000 if that is more.
    pub check_interval: Option<u32>,
    /// Stopping criterion: the amount by which the mean count of voxels inside may differ between a check interval and
    /// the one before, as a share of the mean count of voxels near the front: about the distance in voxels that the
    /// front moves. Within the interval the count may vary by at most 50 times as much, so that a front that oscillates
    /// does not count as at rest. Default 2e-3.
    pub change_tolerance: f64,
    /// Stopping criterion: the change of φ near the front in an iteration, root mean square over the check interval, in
    /// voxels. Default 8, the largest possible change, so that the count alone decides: beside a front at rest φ keeps
    /// growing by more than a voxel an iteration where pixels are far out of the range.
    pub rms_tolerance: f64,
    /// The order of the one-sided differences in the upwind |∇φ| and in the edge term, 1 or 2, within two voxels of the
    /// front. Default 1, which is enough for compact objects. With 2 a front moves along structures of three and four
    /// voxels across within 3 % of its speed; with 1 it is 12 to 31 % too slow there (docs/level_set.md). An iteration
    /// takes 1.3 to 2.7 times as long, and the largest step is two thirds as long where the image term limits it. On a
    /// CUDA device the image must be in host memory then, and its copy takes 32 bytes a voxel.
    pub upwind_order: u32,
    /// The implementation. Default: the band.
    pub variant: Variant,
    /// The levels of the pyramid, 1 to 4. Default 1: the front moves on the image alone. Otherwise it first comes to rest on
    /// the image reduced `pyramid_levels` − 1 times by 2 along each axis, then on the next larger one, and so on. Of an
    /// anisotropic volume the axes are reduced whose spacing is less than twice the smallest, and never one with fewer
    /// than 16 voxels. Ranges, α and lengths stay the same in the image's units. Structures of fewer than about
    /// 2^`pyramid_levels` voxels vanish on the coarsest image; where the whole front does, the next level starts from the
    /// mask. Image and mask must be in host memory.
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
    /// Returns the same parameters with a stopping criterion that is never met: all requested iterations are done.
    pub fn without_stopping(self) -> Self {
        Self { change_tolerance: 0.0, rms_tolerance: 0.0, ..self }
    }
}
