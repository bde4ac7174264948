//! The table of the isolines' parameters.

use super::Connect;
use crate::parameter::{Choice, Operation, Parameter};

pub(crate) const CONNECT: Parameter = Parameter::choice(
    c"connect",
    c"Connect",
    0,
    &[
        Choice::new(0, c"low", c"Low", c"Low pixels that touch at a corner belong together, high ones do not."),
        Choice::new(1, c"high", c"High", c"High pixels that touch at a corner belong together, low ones do not."),
    ],
    c"The way of curves between two high and two low pixels that face each other across a corner.",
)
.advanced();

/// The meanings of [`CONNECT`]'s choices.
pub(crate) const CONNECTS: [Connect; 2] = [Connect::Low, Connect::High];

pub(crate) const LEVEL_COUNT: Parameter = Parameter::integer(
    c"level_count",
    c"Number of levels",
    1,
    c"The levels, where none are given: so many, equally spaced between the lowest and the highest value, which are no levels themselves. One is the middle.",
)
.at_least(1.0)
.at_most(super::MOST_LEVELS as f64);

pub(crate) const RANGE_MIN: Parameter = Parameter::float(
    c"range_min",
    c"Lowest value",
    0.0,
    c"The value from which levels are equally spaced, where none are given.",
)
.pixel_values()
.automatic(c"The smallest finite pixel of the whole image.")
.advanced();

pub(crate) const RANGE_MAX: Parameter = Parameter::float(
    c"range_max",
    c"Highest value",
    0.0,
    c"The value up to which levels are equally spaced, where none are given.",
)
.pixel_values()
.automatic(c"The largest finite pixel of the whole image.")
.advanced();

pub(crate) const OPERATION: Operation = Operation {
    name: c"isolines",
    title: c"Isolines",
    help: c"The curves on which an image has a value, between pixels, as closed and open polylines.",
    parameters: &[CONNECT, LEVEL_COUNT, RANGE_MIN, RANGE_MAX],
};
