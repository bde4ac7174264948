//! The table of the edge strength function's parameters.

use super::Variant;
use crate::parameter::{Choice, DIMENSIONS_CHOICES, FOREGROUND_CHOICES, Operation, Parameter};

pub(crate) const DIMENSIONS: Parameter = Parameter::choice(
    c"dimensions",
    c"Dimensions",
    2,
    &DIMENSIONS_CHOICES,
    c"Each slice of a stack is computed by itself, with four neighbours, or the stack as one volume, with six.",
);

pub(crate) const MODE: Parameter = Parameter::choice(
    c"mode",
    c"Mode",
    0,
    &[
        Choice::new(0, c"iterations", c"Iterations", c"A fixed number of iterations, as in the paper."),
        Choice::new(1, c"converged", c"Converged", c"The steady state that the iterations tend to."),
    ],
    c"The rule for the end of the computation.",
);

pub(crate) const FOREGROUND: Parameter = Parameter::choice(
    c"foreground",
    c"Foreground",
    0,
    &FOREGROUND_CHOICES,
    c"The side of the threshold on which pixels are the shape.",
);

pub(crate) const START: Parameter = Parameter::choice(
    c"start",
    c"Start from",
    0,
    &[
        Choice::new(0, c"mask", c"Mask", c"Pixels outside the shape start at 0."),
        Choice::new(1, c"image", c"Image", c"Pixels outside the shape start at their value, scaled to 0 to 1."),
    ],
    c"The values that the iterations start from. The converged mode does not depend on them.",
)
.advanced();

pub(crate) const VARIANT: Parameter = Parameter::choice(
    c"variant",
    c"Variant",
    0,
    &[
        Choice::new(0, c"default", c"Default", c"The fastest of the device."),
        Choice::new(1, c"fused", c"Fused", c"Several iterations each time that memory is read. CPU and CUDA."),
        Choice::new(2, c"shared", c"Shared memory", c"The paper's first design. CUDA only."),
        Choice::new(3, c"texture", c"Texture", c"The paper's second design. CUDA only."),
        Choice::new(4, c"scalar", c"Scalar", c"A plain loop on one thread, the reference. CPU only."),
    ],
    c"The implementation of the iterations. All give the same pixels; they differ in speed.",
)
.advanced();

/// The meanings of [`VARIANT`]'s choices.
pub(crate) const VARIANTS: [Variant; 5] =
    [Variant::Default, Variant::Fused, Variant::Shared, Variant::Texture, Variant::Scalar];

pub(crate) const ITERATIONS: Parameter = Parameter::integer(
    c"iterations",
    c"Iterations",
    50,
    c"Used by the mode iterations. More carry the field further from the shape, about the square root of their number in pixels.",
)
.at_most(10_000_000.0)
.advice("the converged mode gives the end of the iterations directly");

pub(crate) const MAX_CYCLES: Parameter = Parameter::integer(
    c"max_cycles",
    c"Most cycles",
    100,
    c"Used by the mode converged: the most multigrid cycles. More can reach a smaller tolerance.",
)
.at_least(1.0)
.at_most(10_000_000.0)
.advanced();

pub(crate) const RHO: Parameter = Parameter::float(
    c"rho",
    c"Decay length",
    64.0,
    c"The distance over which the field falls to 37 %. A larger one reaches further and smooths more. In a volume its unit is that of the spacing.",
)
// A 32-bit number holds 1/ρ² and what is computed with it.
.at_least(1e-18)
.unit(c"pixels");

pub(crate) const TIME_STEP: Parameter = Parameter::float(
    c"time_step",
    c"Time step",
    0.0,
    c"The time that an iteration advances. A larger one goes further per iteration.",
)
.above(0.0)
.automatic(c"0.2 for slices, 0.15 for a volume, but at most 0.9 of the largest stable step.")
.advanced();

pub(crate) const THRESHOLD: Parameter = Parameter::float(
    c"threshold",
    c"Threshold",
    0.0,
    c"The pixel value that separates the shape from the rest. A larger one leaves fewer pixels above it.",
)
.unit(c"pixel values");

pub(crate) const START_MIN: Parameter = Parameter::float(
    c"start_min",
    c"Start min",
    0.0,
    c"Used by start image: the pixel value that starts at 0. A larger one darkens the start.",
)
.unit(c"pixel values")
.automatic(c"0 for 8-bit images, else the smallest finite pixel, but for single ones that are far below all others.")
.advanced();

pub(crate) const START_MAX: Parameter = Parameter::float(
    c"start_max",
    c"Start max",
    0.0,
    c"Used by start image: the pixel value that starts at 1. A larger one darkens the start.",
)
.unit(c"pixel values")
.automatic(c"255 for 8-bit images, else the largest finite pixel, but for single ones that are far above all others.")
.advanced();

pub(crate) const TOLERANCE: Parameter = Parameter::float(
    c"tolerance",
    c"Tolerance",
    1e-5,
    c"Used by the mode converged: the accuracy at which to stop. A larger one is faster and less accurate.",
)
.above(0.0)
.below(1.0);

pub(crate) const AXIS_MIN_STRENGTH: Parameter = Parameter::float(
    c"axis_min_strength",
    c"Least strength",
    1e-4,
    c"Used by axes: the smallest edge strength at which they are looked for. A smaller one follows them further from the shape, where they are less exact.",
)
.above(0.0)
.below(1.0);

pub(crate) const AXIS_MIN_LENGTH: Parameter = Parameter::float(
    c"axis_min_length",
    c"Shortest axis",
    5.0,
    c"Used by axes: the smallest length of one. A larger one leaves out more of those that steps of an outline between pixels make.",
)
.at_least(0.0)
.unit(c"pixels");

pub(crate) const OPERATION: Operation = Operation {
    name: c"edge_strength",
    title: c"Edge Strength Function",
    help: c"A smooth field that is 1 on a shape and decays away from it.",
    parameters: &[
        DIMENSIONS,
        MODE,
        FOREGROUND,
        START,
        VARIANT,
        ITERATIONS,
        MAX_CYCLES,
        RHO,
        TIME_STEP,
        THRESHOLD,
        START_MIN,
        START_MAX,
        TOLERANCE,
        AXIS_MIN_STRENGTH,
        AXIS_MIN_LENGTH,
    ],
};
