//! The table of the level set's parameters.

use super::{Regions, Side, Variant};
use crate::parameter::{Choice, DIMENSIONS_CHOICES, Operation, Parameter};

/// The bound of pixels; beyond it differences of f32 could overflow.
pub(super) const LARGEST_PIXEL: f64 = 1e30;

pub(crate) const DIMENSIONS: Parameter = Parameter::choice(
    c"dimensions",
    c"Dimensions",
    3,
    &DIMENSIONS_CHOICES,
    c"Each slice of a stack is segmented by itself, or the stack as one volume. A single slice is an image either way.",
);

pub(crate) const VARIANT: Parameter = Parameter::choice(
    c"variant",
    c"Variant",
    0,
    &[
        Choice::new(0, c"default", c"Default", c"The narrow band."),
        Choice::new(1, c"band", c"Narrow band", c"Only tiles that the front can reach are updated. CPU and CUDA."),
        Choice::new(2, c"dense", c"Dense", c"Every voxel is updated in every iteration. CPU and CUDA."),
        Choice::new(3, c"scalar", c"Scalar", c"A plain loop on one thread, the reference. CPU only."),
    ],
    c"The implementation. They differ in speed, and a little in the result.",
)
.advanced();

/// The meanings of [`VARIANT`]'s choices.
pub(crate) const VARIANTS: [Variant; 4] = [Variant::Default, Variant::Band, Variant::Dense, Variant::Scalar];

pub(crate) const REINITIALISE_EVERY: Parameter = Parameter::integer(
    c"reinitialise_every",
    c"Reinitialise every",
    6,
    c"Iterations after which φ is made a distance again. A larger one is faster and less accurate; 0 is never.",
)
.unit(c"iterations")
.advanced();

pub(crate) const CHECK_INTERVAL: Parameter = Parameter::integer(
    c"check_interval",
    c"Check interval",
    0,
    c"Iterations that the stopping criterion looks at together. A larger one waits longer before it says that the \
      front is at rest.",
)
.at_least(1.0)
.unit(c"iterations")
.automatic(c"As many as the front can need for one voxel, 12 to 1000.")
.advanced();

pub(crate) const SIDE: Parameter = Parameter::choice(
    c"side",
    c"Limits",
    0,
    &[
        Choice::new(
            0,
            c"auto",
            c"Automatic",
            c"Both if epsilon is given; else one if 90 % of the start's surroundings are darker, or brighter, than the \
              start.",
        ),
        Choice::new(1, c"within", c"Both", c"Intensities within target ± epsilon are in range."),
        Choice::new(2, c"above", c"Lower only", c"Intensities above target - epsilon are in range: the brightest object."),
        Choice::new(3, c"below", c"Upper only", c"Intensities below target + epsilon are in range: the darkest object."),
    ],
    c"The limits of the range of intensities.",
);

/// The meanings of [`SIDE`]'s choices.
pub(crate) const SIDES: [Option<Side>; 4] = [None, Some(Side::Within), Some(Side::Above), Some(Side::Below)];

pub(crate) const REGIONS: Parameter = Parameter::choice(
    c"regions",
    c"Two regions",
    0,
    &[
        Choice::new(0, c"off", c"Off", c"The front follows a range of intensities."),
        Choice::new(
            1,
            c"chan_vese",
            c"Chan-Vese",
            c"Normal noise of the same strength on both sides: the limit is half way between both means.",
        ),
        Choice::new(2, c"gaussian", c"Gaussian", c"Normal noise; the sides may differ in brightness or in texture alone."),
        Choice::new(3, c"poisson", c"Poisson", c"Single photons are counted; what is brighter is noisier."),
        Choice::new(4, c"gamma", c"Gamma", c"Speckle (ultrasound, OCT, radar), intensities."),
        Choice::new(5, c"rayleigh", c"Rayleigh", c"Speckle as amplitudes, and magnitudes of MRI without signal."),
        Choice::new(6, c"bernoulli", c"Bernoulli", c"Binary images; pixels are above 0 or not."),
    ],
    c"Separates inside and outside by their own intensities, measured as the front moves: no range is needed. The choice \
      is their noise.",
);

/// The meanings of [`REGIONS`]' choices.
pub(crate) const ALL_REGIONS: [Option<Regions>; 7] = [
    None,
    Some(Regions::ChanVese),
    Some(Regions::Gaussian),
    Some(Regions::Poisson),
    Some(Regions::Gamma),
    Some(Regions::Rayleigh),
    Some(Regions::Bernoulli),
];

pub(crate) const TARGET: Parameter = Parameter::float(
    c"target",
    c"Intensity",
    0.0,
    c"The typical intensity of the object. Used where epsilon is given; otherwise it is measured, too.",
)
.at_least(-LARGEST_PIXEL)
.at_most(LARGEST_PIXEL)
.unit(c"pixel values");

pub(crate) const EPSILON: Parameter = Parameter::float(
    c"epsilon",
    c"Tolerance",
    0.0,
    c"The front grows where the intensity is within target ± epsilon, and shrinks elsewhere. A larger one takes in \
      more.",
)
.above(0.0)
.at_most(LARGEST_PIXEL)
.unit(c"pixel values")
.automatic(
    c"Target and epsilon are measured: the limits are half way between the median of the start and the nearest modes of \
      what surrounds it.",
);

pub(crate) const ALPHA: Parameter = Parameter::float(
    c"alpha",
    c"Detail",
    0.0,
    c"The weight of the image against that of curvature. A larger one follows the image more closely, a smaller one is \
      smoother.",
)
.at_least(0.0)
.at_most(1.0)
.automatic(
    c"1 / (1 + epsilon h), where h is the smallest spacing; with two regions 1 / (1 + k h), where k is the larger of 2 epsilon, \
      as it is measured first, and 1.5 standard deviations of the noise.",
);

pub(crate) const TIME_STEP: Parameter = Parameter::float(
    c"time_step",
    c"Time step",
    0.0,
    c"The time that an iteration advances, at most the stable limit. A larger one needs fewer iterations.",
)
.above(0.0)
.automatic(c"The share cfl of the stable limit.")
.advanced();

pub(crate) const CFL: Parameter = Parameter::float(
    c"cfl",
    c"Time step share",
    0.95,
    c"The share of the stable limit that the automatic time step takes. A larger one needs fewer iterations.",
)
.above(0.0)
.at_most(1.0)
.advanced();

pub(crate) const CHANGE_TOLERANCE: Parameter = Parameter::float(
    c"change_tolerance",
    c"Change tolerance",
    2e-3,
    c"Stopping criterion: how far the front may move between two check intervals, on average. A larger one stops \
      earlier.",
)
.at_least(0.0)
.unit(c"voxels")
.advanced();

pub(crate) const RMS_TOLERANCE: Parameter = Parameter::float(
    c"rms_tolerance",
    c"RMS tolerance",
    8.0,
    c"Stopping criterion: the change of φ near the front in an iteration, root mean square. A larger one stops \
      earlier.",
)
.at_least(0.0)
.unit(c"voxels")
.advanced();

pub(crate) const ITERATIONS: Parameter = Parameter::integer(
    c"iterations",
    c"Iterations",
    10_000,
    c"The most iterations. More let the front go further, if it is not at rest before.",
)
.at_most(u64::MAX as f64)
.advanced();

pub(crate) const EDGE_WEIGHT: Parameter = Parameter::float(
    c"edge_weight",
    c"Edge weight",
    0.0,
    c"The weight of edges: the front slows down at edges of the image and is drawn to them. 1 is the geodesic active \
      contour. 0: edges do not count.",
)
.at_least(0.0)
.at_most(1000.0);

pub(crate) const EDGE_SIGMA: Parameter = Parameter::float(
    c"edge_sigma",
    c"Edge smoothing",
    0.0,
    c"The standard deviation of the Gaussian that smooths the image before its edges are measured. A larger one sees \
      fewer edges. 0: none.",
)
.at_least(0.0)
.unit(c"units of the spacing")
.automatic(c"The smallest spacing.")
.advanced();

pub(crate) const EDGE_CONTRAST: Parameter = Parameter::float(
    c"edge_contrast",
    c"Edge contrast",
    0.0,
    c"The gradient at which an edge halves the speed of the front. A larger one lets the front cross fainter edges.",
)
.above(0.0)
.unit(c"pixel values per unit of length")
.automatic(c"The gradient that 90 % of the voxels do not exceed.")
.advanced();

pub(crate) const PYRAMID_LEVELS: Parameter = Parameter::integer(
    c"pyramid_levels",
    c"Pyramid levels",
    1,
    c"Above 1 the front first comes to rest on images of half, a quarter, an eighth of the size. A larger one comes past noise \
      from farther away, and loses thin objects.",
)
.at_least(1.0)
.at_most(4.0)
.unit(c"levels")
.advanced();

pub(crate) const UPWIND_ORDER: Parameter = Parameter::integer(
    c"upwind_order",
    c"Upwind order",
    1,
    c"The order of one-sided differences near the front. 2 is for structures of three or four voxels across, along which a front \
      is too slow with 1; compact objects need 1 only.",
)
.at_least(1.0)
.at_most(2.0)
.advanced();

pub(crate) const OPERATION: Operation = Operation {
    name: c"level_set",
    title: c"Level Set",
    help: c"Objects of a range of intensities, with a smooth outline, grown or shrunk from a start.",
    parameters: &[
        DIMENSIONS,
        VARIANT,
        REINITIALISE_EVERY,
        CHECK_INTERVAL,
        SIDE,
        TARGET,
        EPSILON,
        ALPHA,
        TIME_STEP,
        CFL,
        CHANGE_TOLERANCE,
        RMS_TOLERANCE,
        ITERATIONS,
        REGIONS,
        EDGE_WEIGHT,
        EDGE_SIGMA,
        EDGE_CONTRAST,
        PYRAMID_LEVELS,
        UPWIND_ORDER,
    ],
};
