#!/usr/bin/env python3
"""Compares axes and critical points, through Isoline's C API, with NumPy, SciPy and scikit-image.

Usage: axes_oracle.py FOLDER-OF-LIBISOLINE [--device cpu|cuda|auto]

SciPy fits the quadratic to every 3 x 3 pixels of ln v, by least squares, of which A is computed. The curves on which A is 0
are those of scikit-image's find_contours: all of their points must be points of axes, and the other way round, but near
critical points, in which axes end. Three more comparisons use no fit. An elliptic point must be beside each pixel that is
smaller than its eight neighbours, and no other. By a spline through ln v, along the level curve through a point of an S+
axis |grad v| must be smallest there, of an S- axis largest; and around a hyperbolic point v must rise, fall, rise and fall.

Images: the inside of pictures of tests/data (its README.md has their licences), dots, and lines at random.
"""
import sys

import numpy
import scipy
import skimage
from scipy import ndimage
from scipy.spatial import cKDTree
from skimage import measure

import oracles

S_PLUS, S_MINUS, ELLIPTIC, HYPERBOLIC = 2, 4, 8, 16
LEAST_STRENGTH = 1e-4
ROUNDING = 2.0 ** -23


def images():
    """Name, image and parameters of the strength."""
    exact = {"mode": "converged", "tolerance": 1e-6}
    yield "horse, inside", oracles.photograph("horse"), {"threshold": 127, "rho": 64, **exact}
    yield "horse, inside, a short decay", oracles.photograph("horse"), {"threshold": 127, "rho": 8, **exact}
    yield "horse, inside, iterations", oracles.photograph("horse"), {"threshold": 127, "iterations": 2000}
    yield "coins, outside", oracles.photograph("coins"), {"threshold": 110, "rho": 16, **exact}
    random = numpy.random.default_rng(5)
    dots = (random.random((240, 320)) < 0.001).astype(numpy.uint8)
    yield "dots", dots, {"rho": 16, **exact}
    lines = numpy.zeros((300, 280), numpy.uint8)
    for _ in range(12):
        (ax, ay), (bx, by) = random.integers(0, 280, (2, 2))
        rows, columns = numpy.linspace([ay, ax], [by, bx], 600).round().astype(int).T
        lines[rows, columns] = 1
    yield "lines", lines, {"rho": 32, **exact}


def derivatives(log):
    """x, y, xx, yy and xy of the quadratic that is nearest to each 3 x 3 values; NaN where one is missing."""
    y, x = (grid.ravel() for grid in numpy.mgrid[-1:2, -1:2])
    terms = numpy.stack([numpy.ones(9), x, y, x * x / 2, y * y / 2, x * y], axis=1)
    weights = scipy.linalg.pinv(terms)
    with numpy.errstate(invalid="ignore"):
        fields = [ndimage.correlate(log, row.reshape(3, 3), mode="constant", cval=numpy.nan) for row in weights[1:]]
    whole = numpy.isfinite(ndimage.correlate(log, numpy.ones((3, 3)), mode="constant", cval=numpy.nan))
    return [numpy.where(whole, field, numpy.nan) for field in fields]


def variation(log):
    """A, NaN where it is left out."""
    x, y, xx, yy, xy = derivatives(log)
    value = x * y * (xx - yy) + xy * (y * y - x * x)
    error = ((abs(x) + abs(y)) * (abs(xx - yy) + 2 * abs(xy)) + 4 * abs(x * y) + abs(y * y - x * x)) * ROUNDING
    clear = ndimage.maximum_filter(numpy.nan_to_num(abs(value) / error, nan=0), 3) > 1
    return numpy.where(clear, value, numpy.nan)


def far(points, others, distance):
    """The points of which none of the others is near, by the larger of the distances along x and y."""
    if not len(others):
        return points
    return points[cKDTree(others).query(points, p=numpy.inf)[0] > distance] if len(points) else points


class Spline:
    """A cubic spline through ln v, without the pixels that are left out, which are filled from their neighbours."""

    def __init__(self, log):
        missing = ~numpy.isfinite(log)
        nearest = ndimage.distance_transform_edt(missing, return_distances=False, return_indices=True)
        self.coefficients = ndimage.spline_filter(log[tuple(nearest)], 3, mode="mirror")
        # A spline is not that of the pixels alone within some pixels of others.
        self.clear = ndimage.distance_transform_edt(numpy.pad(~missing, 1))[1:-1, 1:-1]

    def __call__(self, points):
        return ndimage.map_coordinates(self.coefficients, points.T[::-1], mode="mirror", prefilter=False)

    def gradient(self, points, step=0.05):
        shift = numpy.array([[step, 0], [0, step]])
        return numpy.stack([(self(points + by) - self(points - by)) / (2 * step) for by in shift], axis=1)

    def along_level(self, points, step):
        """Points so far along the level curves."""
        level, slope = self(points), self.gradient(points)
        size = numpy.linalg.norm(slope, axis=1, keepdims=True)
        moved = points + step * numpy.stack([-slope[:, 1], slope[:, 0]], axis=1) / size
        for _ in range(4):
            slope = self.gradient(moved)
            moved = moved - ((self(moved) - level) / (slope ** 2).sum(axis=1))[:, None] * slope
        return moved


def compare(name, found, strength):
    """Returns the numbers of points and of critical points, and the faults."""
    with numpy.errstate(divide="ignore", invalid="ignore"):
        wide = strength.astype(numpy.float64)
        log = numpy.where((wide < 1) & (wide >= LEAST_STRENGTH), numpy.log(wide), numpy.nan)
    flags = numpy.repeat(found.lines["flags"], found.lines["count"].astype(int))
    critical = found.points[flags >= ELLIPTIC]
    own = found.points[flags < ELLIPTIC]
    kinds = flags[flags < ELLIPTIC]
    # 1. The curves. A critical point is the end of axes, and no crossing.
    field = variation(log)
    theirs = numpy.concatenate([numpy.empty((0, 2)), *(curve[:, ::-1] for curve in measure.find_contours(field, 0))])
    ends = (own[:, None] == critical[None]).all(axis=2).any(axis=1) if len(critical) else numpy.zeros(len(own), bool)
    lacking, wrong = far(far(theirs, critical, 1), own, 1e-3), far(own[~ends], theirs, 1e-3)
    faults = [f"{len(lacking)} points of curves are no points of axes, as {lacking[:3].tolist()}"] if len(lacking) else []
    faults += [f"{len(wrong)} points of axes are none of curves, as {wrong[:3].tolist()}"] if len(wrong) else []
    # 2. Elliptic points, which are beside the smallest of nine pixels.
    inside = numpy.isfinite(derivatives(log)[2])
    smallest = inside & (log < ndimage.minimum_filter(log, footprint=[[1, 1, 1], [1, 0, 1], [1, 1, 1]], mode="nearest"))
    pixels = numpy.argwhere(smallest)[:, ::-1]
    elliptic = found.points[flags == ELLIPTIC]
    lacking, wrong = far(pixels, elliptic, 1.5), far(elliptic, pixels, 1.5)
    # In a shallow valley the fit and the pixels may differ on whether it has one.
    if max(len(lacking), len(wrong)) > max(1, len(pixels) // 20):
        faults.append(f"{len(wrong)} of {len(elliptic)} elliptic points are beside no minimum, {len(lacking)} lack one")
    # 3. The classes.
    spline = Spline(log)
    clear = ~ends & (spline.clear[tuple(own.round().astype(int).T[::-1])] > 4)
    points, kind = own[clear], kinds[clear]
    size = [numpy.linalg.norm(spline.gradient(spline.along_level(points, step)), axis=1) for step in (-1.0, 0.0, 1.0)]
    bends = (size[0] + size[2] - 2 * size[1]) > 0
    right = (bends == (kind == S_PLUS)).mean() if len(points) else 1.0
    # The size is the same on both sides where axes of both kinds meet.
    if right < 0.93:
        faults.append(f"of {len(points)} points of axes only {100 * right:.1f} % are of their class")
    # 4. Hyperbolic points.
    hyperbolic = found.points[flags == HYPERBOLIC]
    hyperbolic = hyperbolic[spline.clear[tuple(hyperbolic.round().astype(int).T[::-1])] > 3]
    turn = numpy.linspace(0, 2 * numpy.pi, 32, endpoint=False)
    ring = numpy.stack([numpy.cos(turn), numpy.sin(turn)], axis=1)
    signs = [numpy.sign(spline(point + ring) - spline(point[None])) for point in hyperbolic]
    saddles = sum((one != numpy.roll(one, 1)).sum() == 4 for one in signs)
    if saddles < 0.9 * len(hyperbolic):
        faults.append(f"only {saddles} of {len(hyperbolic)} hyperbolic points are saddles of a spline")
    print(f"     {name}: {len(found.lines)} polylines, {len(own)} points, {100 * right:.1f} % of {len(points)} of their "
          f"class, {len(elliptic)} elliptic, {saddles} of {len(hyperbolic)} saddles")
    return len(own), len(critical), [f"FAIL {name}: {fault}" for fault in faults]


def main():
    context = oracles.context(__doc__, "auto")
    points = critical = 0
    failed = []
    for name, image, parameters in images():
        limits = {"axis_min_length": 0, "axis_min_strength": LEAST_STRENGTH}
        found, strength = context.edge_strength_axes(image, **limits, **parameters)
        own, single, faults = compare(name, found, strength)
        points, critical, failed = points + own, critical + single, failed + faults
    if failed or points < 20000 or critical < 100:
        sys.exit("\n".join([*failed, f"oracle: {len(failed)} comparisons differ, of {points} points"]))
    print(f"oracle: axes of {points} points are those of scikit-image {skimage.__version__} on a fit of SciPy "
          f"{scipy.__version__}, and {critical} critical points those of a spline")


if __name__ == "__main__":
    main()
