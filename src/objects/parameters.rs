//! The table of the parameters of objects.

use crate::parameter::{Choice, Operation, Parameter};

pub(crate) const FOREGROUND: Parameter = Parameter::choice(
    c"foreground",
    c"Foreground",
    0,
    &[
        Choice::new(0, c"above", c"Above", c"Objects are brighter than what is around them."),
        Choice::new(1, c"below", c"Below", c"Objects are darker than what is around them."),
    ],
    c"The side of the surroundings' brightness on which objects are.",
);

pub(crate) const ALPHA: Parameter = Parameter::float(
    c"alpha",
    c"Detail",
    0.5,
    c"The weight of the image against that of curvature. A larger one follows the image more closely, a smaller one is \
      smoother.",
)
.above(0.0)
.at_most(1.0);

pub(crate) const MARGIN: Parameter = Parameter::float(
    c"margin",
    c"Background within",
    0.0,
    c"The background of an object is measured up to this far from it, along each axis. A larger one suits an even \
      background, a smaller one follows an uneven one.",
)
.above(0.0)
.unit(c"units of the spacing")
.automatic(c"Half the mean distance of the starts, as if they were on a grid.");

pub(crate) const KEEP_STARTS: Parameter = Parameter::flag(
    c"keep_starts",
    c"Keep starts",
    true,
    c"The voxels of a start stay in its object, so that no object vanishes. Otherwise fronts leave starts that do not fit \
      the image.",
);

pub(crate) const THRESHOLD: Parameter = Parameter::float(
    c"threshold",
    c"Start threshold",
    0.0,
    c"Automatic starts: a start is put into each thick part of what is on the objects' side of this value.",
)
.pixel_values()
.automatic(c"The value that separates the square roots of the smoothed image best (Otsu).");

pub(crate) const SIGMA: Parameter = Parameter::float(
    c"sigma",
    c"Start smoothing",
    0.0,
    c"Automatic starts: the standard deviation of the Gaussian that smooths the image before the threshold, at most 100 times \
      the smallest spacing. A larger one ignores more noise. 0: none.",
)
.at_least(0.0)
.unit(c"units of the spacing")
.automatic(c"The smallest spacing.");

pub(crate) const PROMINENCE: Parameter = Parameter::float(
    c"prominence",
    c"Start prominence",
    0.0,
    c"Automatic starts: two parts get starts of their own if the neck between them is thinner than both by twice this. A larger one gives fewer starts.",
)
.above(0.0)
.unit(c"units of the spacing")
.automatic(c"A quarter of the smallest spacing.");

pub(crate) const ITERATIONS: Parameter = Parameter::integer(
    c"iterations",
    c"Iterations",
    1000,
    c"The most iterations. More let the fronts go further, if they are not at rest before. 0: the objects are the starts.",
)
.at_least(0.0)
.advanced();

pub(crate) const CHECK_INTERVAL: Parameter = Parameter::integer(
    c"check_interval",
    c"Check interval",
    10,
    c"Iterations after which the objects' brightness is measured again, and the stopping criterion tested. A larger one is \
      faster and stops later.",
)
.at_least(1.0)
.at_most(1000.0)
.unit(c"iterations")
.advanced();

pub(crate) const CHANGE_TOLERANCE: Parameter = Parameter::float(
    c"change_tolerance",
    c"Change tolerance",
    2e-2,
    c"Stopping criterion: how far the front of an object may move in 10 iterations, or more for a larger check interval or spacing, on average over the front. A larger one stops earlier.",
)
.at_least(0.0)
.unit(c"voxels")
.advanced();

pub(crate) const RANGE_MIN: Parameter = Parameter::first_level();

pub(crate) const RANGE_MAX: Parameter = Parameter::last_level();

pub(crate) const OPERATION: Operation = Operation {
    name: c"objects",
    title: c"Objects",
    help: c"Many objects at once, each with a smooth front of its own that grows from a start and stops at its neighbours.",
    parameters: &[FOREGROUND, KEEP_STARTS, CHECK_INTERVAL, ITERATIONS, ALPHA, MARGIN, CHANGE_TOLERANCE, THRESHOLD, SIGMA, PROMINENCE, RANGE_MIN, RANGE_MAX],
};
