#!/usr/bin/env python3
"""Compares converged edge strengths of volumes, through Isoline's C API, with a sparse direct solve of SciPy in float64.

Usage: edge_strength_oracle.py FOLDER-OF-LIBISOLINE [--device cpu|cuda|auto]

The equation is sum over the axes of (neighbour - v) / spacing² - v / rho² = 0 off the shape and v = 1 on it, where a
neighbour beyond the border does not count. Volumes are scattered voxels, a shell and one slice; spacings are those of cubes,
of slices that lie further apart or closer together, and unequal along every axis. The numbers of multigrid cycles are
printed.
"""
import sys

import numpy
import scipy
from scipy.sparse import csc_matrix, linalg

import oracles
from isoline import Report

SPACINGS = (1, 1, 1), (2, 1, 1), (5, 1, 1), (10, 1, 1), (0.5, 1, 1), (1, 1, 4), (3, 0.5, 0.9)  # along z, y, x
RHOS = 2, 8, 40  # in units of the smallest spacing
TOLERANCE = 1e-5
LARGEST_ERROR = 1e-4


def volumes():
    """Name and shape of each volume."""
    random = numpy.random.default_rng(1)
    yield "scattered voxels", random.random((21, 24, 26)) < 0.003
    y, x = numpy.mgrid[:30, :34]
    z = numpy.arange(14)[:, None, None]
    yield "a shell", abs(numpy.hypot(numpy.hypot(x - 16, y - 14), 2 * (z - 7)) - 10) < 0.7
    yield "one slice", (random.random((1, 60, 70)) < 0.01)


def solve(shape, spacing, rho):
    """The solution of the equation, by elimination."""
    free = ~shape
    number = numpy.cumsum(free).reshape(free.shape) - 1
    unknowns = int(free.sum())
    diagonal, right = numpy.full(unknowns, 1 / rho ** 2), numpy.zeros(unknowns)
    entries = []
    for axis, step in enumerate(spacing):
        one = [numpy.take(array, range(shape.shape[axis] - 1), axis) for array in (free, number)]
        two = [numpy.take(array, range(1, shape.shape[axis]), axis) for array in (free, number)]
        for (own_free, own), (other_free, other) in ((one, two), (two, one)):
            numpy.add.at(diagonal, own[own_free], step ** -2)
            numpy.add.at(right, own[own_free & ~other_free], step ** -2)
            both = own_free & other_free
            entries.append((own[both], other[both], numpy.full(both.sum(), -step ** -2.0)))
    rows, columns, values = (numpy.concatenate(part) for part in zip(*entries, (range(unknowns), range(unknowns), diagonal)))
    matrix = csc_matrix((values, (rows, columns)), (unknowns, unknowns))
    solution = numpy.ones(shape.shape)
    solution[free] = linalg.splu(matrix, "MMD_AT_PLUS_A", options=dict(SymmetricMode=True)).solve(right)
    return solution


def main():
    compared, worst, failed = 0, 0.0, []
    with oracles.context(__doc__) as context:
        for name, shape in volumes():
            for spacing in SPACINGS:
                told = []
                for rho in (share * min(spacing) for share in RHOS):
                    report = Report()
                    found = context.run("edge_strength", shape.astype(numpy.uint8), spacing=spacing, report=report, rho=rho,
                                        dimensions="volume", mode="converged", tolerance=TOLERANCE)
                    error = abs(found - solve(shape, spacing, rho)).max()
                    told.append(f"{report.iterations} cycles, {error:.1e}")
                    compared, worst = compared + 1, max(worst, error)
                    if not report.converged or error > LARGEST_ERROR:
                        failed.append(f"{name}, spacing {spacing}, rho {rho}: off by {error:.1e}, {report}")
                print(f"{name}, spacing {spacing} along z, y, x, rho {', '.join(map(str, RHOS))}: {'; '.join(told)}")
    for problem in failed:
        print(f"FAIL {problem}")
    if failed:
        sys.exit(1)
    print(f"oracle: {compared} edge strengths identical to those of SciPy {scipy.__version__}'s direct solve within "
          f"{worst:.1e}")


if __name__ == "__main__":
    main()
