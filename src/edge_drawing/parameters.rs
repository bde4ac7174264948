//! The table of edge drawing's parameters.

use super::{Operator, Profile, Shapes, Validation, Variant};
use crate::parameter::{Choice, Operation, Parameter};

pub(crate) const PROFILE: Parameter = Parameter::choice(
    c"profile",
    c"Algorithm",
    0,
    &[
        Choice::new(0, c"paper", c"Paper", c"The paper's edge tracing, the same on every device."),
        Choice::new(1, c"reference", c"Reference", c"The edges of OpenCV's EdgeDrawing, pixel by pixel."),
    ],
    c"The algorithm that connects pixels to edges.",
);

/// The meanings of [`PROFILE`]'s choices.
pub(crate) const PROFILES: [Profile; 2] = [Profile::Paper, Profile::Reference];

pub(crate) const GRADIENT_OPERATOR: Parameter = Parameter::choice(
    c"gradient_operator",
    c"Gradient operator",
    0,
    &[
        Choice::new(0, c"sobel", c"Sobel", c"Weights 1 2 1."),
        Choice::new(1, c"prewitt", c"Prewitt", c"Weights 1 1 1: smaller gradients, so the same threshold means more."),
        Choice::new(2, c"scharr", c"Scharr", c"Weights 3 10 3: larger gradients, the same in every direction."),
    ],
    c"The weights with which the gradient is measured.",
)
.advanced();

/// The meanings of [`GRADIENT_OPERATOR`]'s choices.
pub(crate) const OPERATORS: [Operator; 3] = [Operator::Sobel, Operator::Prewitt, Operator::Scharr];

pub(crate) const SCAN_INTERVAL: Parameter = Parameter::integer(
    c"scan_interval",
    c"Scan interval",
    1,
    c"Edges are begun on every row and column of this distance. A larger one is faster and misses short edges.",
)
.at_least(1.0)
.unit(c"pixels")
.advanced();

pub(crate) const MIN_LENGTH: Parameter = Parameter::integer(
    c"min_length",
    c"Minimum length",
    10,
    c"Edges of fewer pixels are dropped; the map of the profile paper keeps them, unless it is validated. A larger one leaves fewer, longer edges; 0 and 1 keep all.",
)
.unit(c"pixels");

pub(crate) const FOLLOW_TURNS: Parameter = Parameter::flag(
    c"follow_turns",
    c"Follow turns",
    false,
    c"Used by the profile paper: edges go on round corners. It closes gaps, and makes meshes of textures.",
)
.advanced();

pub(crate) const VARIANT: Parameter = Parameter::choice(
    c"variant",
    c"Variant",
    0,
    &[
        Choice::new(0, c"default", c"Default", c"The fastest of the device."),
        Choice::new(1, c"scalar", c"Scalar", c"Plain loops on one thread, the reference. CPU and profile paper only."),
    ],
    c"The implementation. All give the same edges; they differ in speed.",
)
.advanced();

/// The meanings of [`VARIANT`]'s choices.
pub(crate) const VARIANTS: [Variant; 2] = [Variant::Default, Variant::Scalar];

pub(crate) const VALIDATION: Parameter = Parameter::choice(
    c"validation",
    c"Validation",
    0,
    &[
        Choice::new(0, c"none", c"None", c"All edges are kept."),
        Choice::new(
            1,
            c"false_alarms",
            c"False alarms",
            c"Edges that the image's own gradients would make by chance are dropped: EDPF, which needs no thresholds. Weak real edges may go, too.",
        ),
    ],
    c"The test that edges must pass after they are drawn.",
);

/// The meanings of [`VALIDATION`]'s choices.
pub(crate) const VALIDATIONS: [Validation; 2] = [Validation::None, Validation::FalseAlarms];

pub(crate) const SIGMA: Parameter = Parameter::float(
    c"sigma",
    c"Smoothing",
    1.0,
    c"The standard deviation σ of the Gaussian that smooths the image first. A larger one removes noise and small details, and rounds corners; 0 does not smooth.",
)
.at_least(0.0)
.at_most(10.0)
.unit(c"pixels");

pub(crate) const GRADIENT_THRESHOLD: Parameter = Parameter::float(
    c"gradient_threshold",
    c"Gradient threshold",
    0.0,
    c"Pixels of a smaller gradient, G = |Gx| + |Gy| of the smoothed image, are never edges. A larger one gives fewer, stronger edges.",
)
.at_least(0.0)
.unit(c"pixel values")
.automatic(
    c"Five times the lower quartile of the gradients, which noise makes; 20/255 of the range where that is 0. With validation at most 11/255 (Prewitt), 14.7/255 (Sobel) or 58.7/255 (Scharr) of the range.",
);

pub(crate) const ANCHOR_THRESHOLD: Parameter = Parameter::float(
    c"anchor_threshold",
    c"Start threshold",
    0.0,
    c"The amount by which a pixel's gradient G must exceed its neighbours' for an edge to begin there, at an anchor. A larger one drops weak and blurred edges.",
)
.at_least(0.0)
.unit(c"pixel values");

pub(crate) const RANGE_MIN: Parameter = Parameter::first_level();

pub(crate) const RANGE_MAX: Parameter = Parameter::last_level();

pub(crate) const LINE_MIN_LENGTH: Parameter = Parameter::integer(
    c"line_min_length",
    c"Shortest line",
    0,
    c"Used by lines: the smallest number of pixels of an edge that make one. A larger one leaves fewer, longer lines.",
)
.at_least(2.0)
.unit(c"pixels")
.automatic(c"The smallest number that can pass the validation of lines: 12 for 512 x 512 pixels.");

pub(crate) const LINE_TOLERANCE: Parameter = Parameter::float(
    c"line_tolerance",
    c"Line tolerance",
    1.0,
    c"Used by lines: the largest distance of an edge's pixels from a line along it, but for up to four in a row. A larger one gives longer lines, which follow bends less closely.",
)
.above(0.0)
.unit(c"pixels");

pub(crate) const LINE_GAP: Parameter = Parameter::float(
    c"line_gap",
    c"Line gap",
    6.0,
    c"Used by lines: lines of one edge are joined if one line fits both and their ends are at most this far apart. 0 joins none.",
)
.at_least(0.0)
.unit(c"pixels");

pub(crate) const LINE_VALIDATION: Parameter = Parameter::flag(
    c"line_validation",
    c"Validate lines",
    true,
    c"Used by lines: only those are kept whose gradients chance would make at most once in an image of this size.",
);

pub(crate) const ELLIPSE_TOLERANCE: Parameter = Parameter::float(
    c"ellipse_tolerance",
    c"Ellipse tolerance",
    1.5,
    c"Used by ellipses: the largest root mean square distance of an edge's pixels from one. A larger one finds more that are less round.",
)
.above(0.0)
.unit(c"pixels");

pub(crate) const ELLIPSE_COVERAGE: Parameter = Parameter::float(
    c"ellipse_coverage",
    c"Least coverage",
    0.5,
    c"Used by ellipses: the smallest share of an outline that edges run along. A smaller one finds those that are more hidden, less exactly.",
)
.at_least(0.1)
.at_most(1.0);

pub(crate) const ELLIPSE_MIN_RADIUS: Parameter = Parameter::float(
    c"ellipse_min_radius",
    c"Smallest radius",
    3.0,
    c"Used by ellipses: the smallest radius of a circle, or smaller semi-axis. A larger one leaves out small ones.",
)
.at_least(1.0)
.unit(c"pixels");

pub(crate) const ELLIPSE_SHAPES: Parameter = Parameter::choice(
    c"ellipse_shapes",
    c"Shapes",
    0,
    &[
        Choice::new(0, c"all", c"Circles and ellipses", c"A circle, unless an ellipse is much nearer to the pixels."),
        Choice::new(1, c"circles", c"Circles", c"Circles alone."),
    ],
    c"Used by ellipses: the shapes that are looked for.",
);

/// The meanings of [`ELLIPSE_SHAPES`]'s choices.
pub(crate) const SHAPES: [Shapes; 2] = [Shapes::All, Shapes::Circles];

pub(crate) const ELLIPSE_VALIDATION: Parameter = Parameter::flag(
    c"ellipse_validation",
    c"Validate ellipses",
    true,
    c"Used by ellipses: only those are kept whose gradients chance would make at most once in an image of this size.",
);

pub(crate) const OPERATION: Operation = Operation {
    name: c"edge_drawing",
    title: c"Edge Drawing",
    help: c"Thin, connected edges, as a map and as ordered chains of pixels.",
    parameters: &[
        PROFILE,
        GRADIENT_OPERATOR,
        SCAN_INTERVAL,
        MIN_LENGTH,
        FOLLOW_TURNS,
        VARIANT,
        VALIDATION,
        GRADIENT_THRESHOLD,
        ANCHOR_THRESHOLD,
        RANGE_MIN,
        RANGE_MAX,
        SIGMA,
        LINE_MIN_LENGTH,
        LINE_TOLERANCE,
        LINE_GAP,
        LINE_VALIDATION,
        ELLIPSE_TOLERANCE,
        ELLIPSE_COVERAGE,
        ELLIPSE_MIN_RADIUS,
        ELLIPSE_SHAPES,
        ELLIPSE_VALIDATION,
    ],
};
