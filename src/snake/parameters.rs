//! The table of the region snake's parameters.

use super::{MAX_NODES as MOST_NODES, Noise, Overlap, Schedule};
use crate::parameter::{Choice, Operation, Parameter};

pub(crate) const NOISE: Parameter = Parameter::choice(
    c"noise",
    c"Noise",
    0,
    &[
        Choice::new(
            0,
            c"gaussian",
            c"Gaussian",
            c"Camera images at good light, and the choice when in doubt. Each region has its own μ and σ: regions may differ in brightness or in texture alone.",
        ),
        Choice::new(
            1,
            c"poisson",
            c"Poisson",
            c"Single photons are counted, in low light; what is brighter is noisier. Subtract the camera's offset first.",
        ),
        Choice::new(
            2,
            c"gamma",
            c"Gamma",
            c"Grainy images of speckle (ultrasound, OCT, radar, laser light), intensities; Looks: how many were averaged.",
        ),
        Choice::new(
            3,
            c"rayleigh",
            c"Rayleigh",
            c"Speckle as amplitudes (ultrasound B-mode before log compression), and magnitudes of MRI where there is no signal.",
        ),
        Choice::new(4, c"bernoulli", c"Bernoulli", c"Binary images and masks; pixels are above 0 or not."),
    ],
    c"The distribution of the pixels of a region round its mean.",
);

/// The meanings of [`NOISE`]'s choices.
pub(crate) fn noises(looks: f64) -> [Noise; 5] {
    [Noise::Gaussian, Noise::Poisson, Noise::Gamma { looks }, Noise::Rayleigh, Noise::Bernoulli]
}

pub(crate) const SCHEDULE: Parameter = Parameter::choice(
    c"schedule",
    c"Schedule",
    0,
    &[
        Choice::new(0, c"parallel", c"Parallel", c"All even nodes at once, then all odd ones. CPU and CUDA."),
        Choice::new(1, c"sequential", c"Sequential", c"Node after node, each moved at once. CPU only."),
    ],
    c"The order in which nodes are moved.",
)
.advanced();

/// The meanings of [`SCHEDULE`]'s choices.
pub(crate) const SCHEDULES: [Schedule; 2] = [Schedule::Parallel, Schedule::Sequential];

pub(crate) const BACKGROUND: Parameter = Parameter::choice(
    c"background",
    c"Background",
    0,
    &[
        Choice::new(0, c"image", c"Image", c"All of the image outside the target. For one target."),
        Choice::new(
            1,
            c"window",
            c"Window",
            c"A window round the start, so that neighbours do not matter. For many targets.",
        ),
    ],
    c"The pixels B that a target T is compared with.",
)
.advanced();

pub(crate) const OVERLAP: Parameter = Parameter::choice(
    c"overlap",
    c"Overlap",
    0,
    &[
        Choice::new(
            0,
            c"allowed",
            c"Allowed",
            c"Each target is found as if it were alone, and several may have the same pixels.",
        ),
        Choice::new(
            1,
            c"excluded",
            c"Excluded",
            c"Targets compete: a pixel can belong to the target with the nearest start only. For objects that touch.",
        ),
    ],
    c"The pixels that several targets may have.",
)
.advanced();

/// The meanings of [`OVERLAP`]'s choices.
pub(crate) const OVERLAPS: [Overlap; 2] = [Overlap::Allowed, Overlap::Excluded];

pub(crate) const LARGEST_STEP: Parameter = Parameter::integer(
    c"largest_step",
    c"Largest step",
    0,
    c"The distance d that nodes are moved at the start. A larger one comes over a larger distance past noise, a smaller one keeps to what is near.",
)
.at_least(1.0)
.at_most(4096.0)
.power_of_two()
.unit(c"pixels")
.automatic(c"For each target 18 % of the root of its start's area or less, from 1 to 32; 32 for the default rectangle.")
.advanced();

pub(crate) const MAX_NODES: Parameter =
    Parameter::integer(c"max_nodes", c"Most nodes", 1024, c"The most nodes of a target. More allow longer outlines.")
        .at_least(3.0)
        .at_most(MOST_NODES as f64)
        .advanced();

pub(crate) const MAX_ITERATIONS: Parameter = Parameter::integer(
    c"max_iterations",
    c"Most iterations",
    10_000,
    c"The most iterations of a target. More let it go further, if it has not ended before.",
)
.at_least(1.0)
.at_most(u64::MAX as f64)
.advanced();

pub(crate) const LOOKS: Parameter = Parameter::float(
    c"looks",
    c"Looks",
    1.0,
    c"Used by gamma noise: how many intensities were averaged, its order L; 1 is raw speckle. A larger one trusts the image more.",
)
.at_least(1.0)
.at_most(1e6);

pub(crate) const MARGIN: Parameter = Parameter::float(
    c"margin",
    c"Margin",
    0.5,
    c"Used by background window: its width round the start, in longer sides of the start. A larger one sees more background, and more neighbours.",
)
.above(0.0)
.unit(c"sides")
.advanced();

pub(crate) const NODE_SPACING: Parameter = Parameter::float(
    c"node_spacing",
    c"Node spacing",
    0.0,
    c"Edges longer than this get another node. A larger one follows less detail, and less noise.",
)
.at_least(2.0)
.unit(c"pixels")
.automatic(c"For each target two fifths of the root of its start's area, from 6 to 16.");

pub(crate) const NODE_COST: Parameter = Parameter::float(
    c"node_cost",
    c"Node cost",
    0.5,
    c"The gain that a node must bring, in logarithms of the number of pixels. A larger one gives fewer nodes; with 0, which is faster, none is taken out.",
)
.at_least(0.0)
.at_most(1e6)
.advanced();

pub(crate) const RANGE_MIN: Parameter = Parameter::first_level().automatic(
    c"The smallest finite pixel, but for single ones that are far below all others; 0 for Poisson, gamma and Rayleigh noise.",
);

pub(crate) const RANGE_MAX: Parameter = Parameter::last_level();

pub(crate) const PYRAMID_LEVELS: Parameter = Parameter::integer(
    c"pyramid_levels",
    c"Pyramid levels",
    1,
    c"Above 1 polygons first move on images of half, a quarter, an eighth of the size. A larger one comes past noise from \
      farther away, and loses small objects.",
)
.at_least(1.0)
.at_most(4.0)
.unit(c"levels")
.advanced();

pub(crate) const OPERATION: Operation = Operation {
    name: c"snake",
    title: c"Region Snake",
    help: c"Polygons that separate objects from a noisy background, one or thousands.",
    parameters: &[
        NOISE,
        SCHEDULE,
        BACKGROUND,
        OVERLAP,
        LARGEST_STEP,
        MAX_NODES,
        MAX_ITERATIONS,
        LOOKS,
        MARGIN,
        NODE_SPACING,
        NODE_COST,
        RANGE_MIN,
        RANGE_MAX,
        PYRAMID_LEVELS,
    ],
};
