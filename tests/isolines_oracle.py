#!/usr/bin/env python3
"""Compares isolines, through Isoline's C API, with scikit-image's find_contours: every point of every curve.

Usage: isolines_oracle.py FOLDER-OF-LIBISOLINE [--device cpu|cuda|auto]

Both compute a crossing by the same operations in double precision, so that points are equal bit by bit. A curve of
scikit-image that is closed ends with its first point; its curves may begin with another point and run the other way
round. Where pixels equal the level, scikit-image joins curves by equal points rather than by edges of the grid, which may
cut two curves that touch in another way: there the pieces between neighbouring points are compared instead of the curves.

Images: the pictures of tests/data (its README.md has their licences), the edge strength of one, a distance and noise, with
and without pixels that are NaN.
"""
import collections
import sys

import numpy
import skimage
from skimage import measure

import oracles

PICTURES = ("horse", "cell", "coins", "page", "camera")


def images(context):
    """Name, image, levels, and whether no pixel equals a level."""
    for name in PICTURES:
        picture = oracles.photograph(name)
        yield name, picture, (20.5, 90.5, 127.25, 200.1), True
        yield f"{name}, levels that pixels have", picture, (20, 90, 127, 200), False
        yield f"{name}, 16 bits", picture.astype(numpy.uint16) * 257, (23000.5,), True
    strength = context.run("edge_strength", oracles.photograph("coins"), threshold=110, foreground="above")
    yield "an edge strength", strength, (0.1, 0.37, 0.9), True
    distance = context.run("distance", oracles.photograph("coins"), threshold=110)
    yield "a distance", distance, (-3.3, 0, 2.7), True
    random = numpy.random.default_rng(3)
    for shape in ((2, 2), (2, 300), (300, 2), (33, 65), (400, 517)):
        noise = random.random(shape).astype(numpy.float32)
        yield f"{shape[1]} x {shape[0]} of noise", noise, (0.5, 0.7), True
        holes = numpy.where(random.random(shape) < 0.03, numpy.float32(numpy.nan), noise)
        yield f"{shape[1]} x {shape[0]} of noise with holes", holes, (0.5,), True
        steps = random.integers(0, 5, shape).astype(numpy.uint8)
        yield f"{shape[1]} x {shape[0]} of few values", steps, (2, 2.5), False


def canonical(points, closed):
    """The same bytes for every first point of a closed curve, with points as rows of x and y."""
    if closed:
        first = min(range(len(points)), key=lambda place: tuple(points[place]))
        points = numpy.roll(points, -first, axis=0)
    return closed, points.tobytes()


def pieces(points, closed):
    following = numpy.roll(points, -1, axis=0)
    pairs = numpy.hstack([points, following])
    return [pair.tobytes() for pair in (pairs if closed else pairs[:-1])]


def theirs(image, level, connect):
    """Curves of x and y, the higher values to the right on the screen, and whether they are closed."""
    wide = image.astype(numpy.float64)
    for curve in measure.find_contours(wide, level, fully_connected=connect, positive_orientation="high"):
        curve = curve[::-1, ::-1] + 0.0
        closed = len(curve) > 2 and (curve[0] == curve[-1]).all()
        yield (curve[:-1] if closed else curve), closed


def main():
    context = oracles.context(__doc__, "auto")
    curves = points = failed = 0
    for name, image, levels, distinct in images(context):
        for connect in ("low", "high"):
            found = context.isolines(image, levels, connect=connect)
            for level in levels:
                own = [(found[place] + 0.0, bool(found.lines["flags"][place] & 1))
                       for place in numpy.flatnonzero(found.lines["level"] == level)]
                other = list(theirs(image, level, connect))
                if distinct:
                    same = (collections.Counter(canonical(*curve) for curve in own)
                            == collections.Counter(canonical(*curve) for curve in other))
                else:
                    same = (collections.Counter(piece for curve in own for piece in pieces(*curve))
                            == collections.Counter(piece for curve in other for piece in pieces(*curve)))
                curves, points = curves + len(own), points + sum(len(curve) for curve, _ in own)
                if not same:
                    failed += 1
                    print(f"FAIL {name}, level {level}, connect {connect}: {len(own)} curves, scikit-image has {len(other)}")
    if failed or curves < 1000:
        sys.exit(f"oracle: {failed} comparisons differ, of {curves} curves")
    print(f"oracle: {curves} isolines of {points} points identical to those of scikit-image {skimage.__version__}")


if __name__ == "__main__":
    main()
