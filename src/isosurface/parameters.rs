//! The table of the isosurface's parameters.

use crate::parameter::{FOREGROUND_CHOICES, Operation, Parameter};

pub(crate) const LEVEL: Parameter = Parameter::float(
    c"level",
    c"Level",
    0.0,
    c"The value on which the surface lies, between the voxels inside and those outside.",
)
.unit(c"pixel values")
.automatic(c"The mean of the smallest and the largest finite voxel.");

pub(crate) const CLOSE: Parameter = Parameter::flag(
    c"close",
    c"Close at the border",
    true,
    c"The surface is closed where an object is cut by the border of the volume, half a voxel beyond the last centres; otherwise it is open there.",
);

pub(crate) const FOREGROUND: Parameter = Parameter::choice(
    c"foreground",
    c"Foreground",
    0,
    &FOREGROUND_CHOICES,
    c"The side of the level on which voxels are inside: below for a level set function or a signed distance.",
);

pub(crate) const OPERATION: Operation = Operation {
    name: c"isosurface",
    title: c"Isosurface",
    help: c"The surface on which a volume has a value, as a mesh of triangles, with its area and volume.",
    parameters: &[CLOSE, LEVEL, FOREGROUND],
};
