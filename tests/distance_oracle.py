#!/usr/bin/env python3
"""Compares the distance, through Isoline's C API, with SciPy's distance_transform_edt and the package edt: every pixel.

Usage: distance_oracle.py FOLDER-OF-LIBISOLINE [--device cpu|cuda|auto]

Both measure to the centres of pixels. On a grid of half the spacing, centres lie at even places and the faces between
pixels at odd ones; the box of a pixel is the 3 x 3 x 3 points round its centre, and the point of a box that is nearest to
another pixel's centre is one of them. So their distance to the points of the other class's boxes is Isoline's, exactly.

Masks: the pictures of tests/data (its README.md has their licences) at thresholds, a brain as a volume and as slices,
noise, specks, and images of few pixels.
"""
import importlib.metadata
import sys

import numpy
import scipy
from scipy import ndimage

import oracles

try:
    import edt
except ModuleNotFoundError:
    edt = None

MOST_DIFFERENCES = 5

PICTURES = (("horse", 127, "below"), ("cell", 90, "above"), ("coins", 110, "above"), ("page", 140, "below"),
            ("microaneurysms", 60, "above"), ("pattern", 127, "above"), ("camera", 64, "below"))
PLANE_SPACINGS = ((1, 1, 1), (0.325, 0.325, 1), (1, 1.75, 1), (3.1, 0.4, 1))
VOLUME_SPACINGS = ((1, 1, 1), (0.5, 0.5, 2.5), (1.3, 0.7, 0.9))
# Against SciPy, which computes in double precision: in units of the smallest spacing, and beyond 1000 of them, where
# floats do not hold more, as a share of the distance. edt computes in single precision and is some 4e-6 off itself.
TOLERANCE, FAR, TOLERANCE_FAR = 1e-4, 1000, 1e-6
TOLERANCE_OF_EDT = 1e-5


def masks():
    """Name, pixels, threshold, foreground, spacings."""
    for name, threshold, foreground in PICTURES:
        yield name, oracles.photograph(name), threshold, foreground, PLANE_SPACINGS
    stack = oracles.brain()
    yield "brain", stack, 70, "above", ((1, 1, 4),)
    yield "part of the brain", numpy.ascontiguousarray(stack[3:, 70:161, 50:147]), 90, "above", VOLUME_SPACINGS
    yield "part of the brain, floats", stack[3:, 70:130, 50:117].astype(numpy.float32), 90.5, "above", VOLUME_SPACINGS
    yield "part of the brain, 16 bits", stack[3:, 70:130, 50:117].astype(numpy.uint16) * 257, 23000, "below", VOLUME_SPACINGS
    random = numpy.random.default_rng(5)
    for share in (0.5, 0.02, 0.0003):
        volume = random.random((37, 61, 70)).astype(numpy.float32)
        yield f"noise, {share:.2%} inside", volume, 1 - share, "above", VOLUME_SPACINGS
        plane = random.random((517, 401)).astype(numpy.float32)
        yield f"noise in a plane, {share:.2%} inside", plane, share, "below", PLANE_SPACINGS
    shapes = ((1, 1), (1, 90), (90, 1), (2, 2), (1, 1, 70), (70, 1, 1), (1, 40, 1), (2, 1, 90), (33, 2, 5), (3, 1100, 2))
    for shape in shapes:
        noise = random.integers(0, 256, shape, numpy.uint8)
        yield f"{' x '.join(map(str, reversed(shape)))} of noise", noise, 200, "above", VOLUME_SPACINGS
    yield "all outside", numpy.zeros((5, 31, 40), numpy.uint8), 0, "above", VOLUME_SPACINGS[:1]
    yield "all inside", numpy.ones((5, 31, 40), numpy.uint8), 0, "above", VOLUME_SPACINGS[:1]


def boxes(inside):
    """The points of the boxes of the set pixels, on the grid of half the spacing with a point more at each end."""
    grid = numpy.zeros([2 * side + 1 for side in inside.shape], bool)
    grid[tuple(slice(1, None, 2) for _ in inside.shape)] = inside
    return ndimage.binary_dilation(grid, numpy.ones([3] * inside.ndim, bool))


def with_scipy(points, spacing):
    return ndimage.distance_transform_edt(~points, sampling=spacing)


def with_edt(points, spacing):
    return edt.edt(numpy.ascontiguousarray(~points), anisotropy=spacing, black_border=False, parallel=0)


def expected(inside, spacing, program):
    """Signed, of one image; `spacing` in the order of the axes."""
    if inside.all() or not inside.any():
        return numpy.full(inside.shape, -numpy.inf if inside.all() else numpy.inf)
    centres = tuple(slice(1, None, 2) for _ in inside.shape)
    halves = [h / 2 for h in spacing]
    outside = program(boxes(inside), halves)[centres]
    within = program(boxes(~inside), halves)[centres]
    return numpy.where(inside, -within.astype(numpy.float64), outside.astype(numpy.float64))


def difference(got, wanted, smallest, program):
    """Returns the first difference in words, or None."""
    size = numpy.abs(wanted)
    allowed = numpy.where(size < FAR * smallest, TOLERANCE * smallest, TOLERANCE_FAR * size)
    if program is with_edt:
        allowed = numpy.maximum(allowed, TOLERANCE_OF_EDT * size)
    with numpy.errstate(invalid="ignore"):
        wrong = ~((got == wanted) | (numpy.abs(got - wanted) <= allowed))
    if not wrong.any():
        return None
    where = tuple(numpy.argwhere(wrong)[0].tolist())
    return f"{numpy.count_nonzero(wrong)} pixels, the first at {where}: {got[where]:.7g} instead of {wanted[where]:.7g}"


def compare_all(context):
    programs = {f"SciPy {scipy.__version__}": with_scipy}
    if edt is None:
        print("without the package edt, which is not installed")
    else:
        programs[f"edt {importlib.metadata.version('edt')}"] = with_edt
    compared, differing = 0, 0
    for name, pixels, threshold, foreground, spacings in masks():
        inside = pixels > threshold if foreground == "above" else pixels <= threshold
        for spacing in spacings:
            for dimensions in (2, 3) if pixels.ndim == 3 else (3,):
                got = context.run("distance", pixels, spacing=spacing[:pixels.ndim][::-1], foreground=foreground,
                                  threshold=threshold, dimensions=dimensions)
                along = spacing[::-1][-2:] if dimensions == 2 or pixels.ndim == 2 else spacing[::-1]
                for program_name, program in programs.items():
                    if dimensions == 2:
                        wanted = numpy.stack([expected(plane, along, program) for plane in inside])
                    else:
                        wanted = expected(inside, along, program)
                    problem = difference(got, wanted, min(along), program)
                    compared += 1
                    if problem:
                        print(f"{name}, spacing {spacing}, {dimensions}D, {program_name}: {problem}")
                        differing += 1
                        if differing >= MOST_DIFFERENCES:
                            sys.exit("oracle: too many differences")
    if differing:
        sys.exit(f"oracle: {differing} of {compared} comparisons differ")
    print(f"oracle: {compared} distance maps identical to those of {' and '.join(programs)}, within {TOLERANCE:g} of a "
          f"pixel ({TOLERANCE_OF_EDT:g} of edt's distances)")


if __name__ == "__main__":
    compare_all(oracles.context(__doc__))
