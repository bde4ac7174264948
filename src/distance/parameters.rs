//! The table of the distance's parameters.

use super::Region;
use crate::parameter::{Choice, DIMENSIONS_CHOICES, FOREGROUND_CHOICES, Operation, Parameter};

pub(crate) const DIMENSIONS: Parameter = Parameter::choice(
    c"dimensions",
    c"Dimensions",
    3,
    &DIMENSIONS_CHOICES,
    c"Distances are measured within each slice of a stack, or in the stack as one volume.",
);

pub(crate) const FOREGROUND: Parameter = Parameter::choice(
    c"foreground",
    c"Foreground",
    0,
    &FOREGROUND_CHOICES,
    c"The side of the threshold on which pixels are inside.",
);

pub(crate) const REGION: Parameter = Parameter::choice(
    c"region",
    c"Region",
    0,
    &[
        Choice::new(0, c"signed", c"Signed", c"Everywhere: negative inside, positive outside."),
        Choice::new(1, c"outside", c"Outside", c"Outside only: positive there, 0 inside."),
        Choice::new(
            2,
            c"inside",
            c"Inside",
            c"Inside only, the distance map of many programs: positive there, 0 outside.",
        ),
    ],
    c"The side of the boundary on which distances are wanted.",
);

/// The meanings of [`REGION`]'s choices.
pub(crate) const REGIONS: [Region; 3] = [Region::Signed, Region::Outside, Region::Inside];

pub(crate) const THRESHOLD: Parameter = Parameter::float(
    c"threshold",
    c"Threshold",
    0.0,
    c"The pixel value that separates inside from outside. A larger one leaves fewer pixels above it.",
)
.unit(c"pixel values");

pub(crate) const OPERATION: Operation = Operation {
    name: c"distance",
    title: c"Signed Distance",
    help: c"The exact distance of every pixel to the boundary of a mask, negative inside.",
    parameters: &[DIMENSIONS, FOREGROUND, REGION, THRESHOLD],
};
