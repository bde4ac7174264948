#!/usr/bin/env python3
"""Compares circles and ellipses along segments with those of OpenCV's ximgproc.EdgeDrawing.detectEllipses, on the same
segments: those of the reference profile, which are OpenCV's.

Usage: ellipses_oracle.py FOLDER-OF-LIBISOLINE [--device cpu|cuda|auto] [--time]

Both find arcs along segments, join them, and test the result by the Helmholtz principle, but draw the limits elsewhere, so
they need not find the same. Two tests:

* Drawn shapes whose truth is known: circles and ellipses of several ratios of their axes, whole or partly hidden by a
  straight edge, with noise. One counts as found if its centre, both semi-axes, and its direction, as the way of the end of
  its longer axis, are within 2 pixels of the truth. Isoline must find the share LEAST_OF_TRUTH of
  all, and of no kind fewer than OpenCV.
* Photographs: one counts as found in the other if the centres are within 3 pixels and the means of the semi-axes within
  10 %.  On the coins both must find the same 24; each has a second one within one of these.

--time times both, one after the other, OpenCV on one thread, as its search is, and Isoline on as many as there are
processors.

Pictures: tests/data (its README.md has their licences).
"""
import math
import sys

import cv2
import numpy

import oracles
from lines_oracle import DRAWING, detected, from_command_line, print_times

PICTURES = ("camera", "cell", "coins", "horse", "microaneurysms", "nuclei", "page", "pattern")
SIZE = 256
OF_EACH = 20
# Ratios of the axes and hidden shares, which is how far the edge reaches in: 0.5 is half of the shape.
KINDS = [(ratio, hidden) for ratio in (1, 1.3, 2, 4) for hidden in (0, 0.3, 0.45)]
NOISES = (0, 5, 12)
LEAST_OF_TRUTH = 0.75
COINS = 24


def with_opencv(picture):
    found, seconds = detected(picture, "Ellipses", 6)
    # The third number is the radius of a circle; the next three are an ellipse's semi-axes and its angle in degrees.
    rows = [(x, y, r, r, 0) if r > 0 else (x, y, max(a, b), min(a, b), math.radians(turn + 90 * (a < b)))
            for x, y, r, a, b, turn in found]
    return numpy.array(rows).reshape(-1, 5), seconds


def with_isoline(context, picture):
    found, _ = context.edge_drawing_ellipses(picture, **DRAWING)
    return numpy.stack([found[name] for name in ("x", "y", "semi_major", "semi_minor", "angle")], axis=-1)


def drawn(ratio, hidden, noise, random):
    """A picture of an ellipse, of which a straight edge hides a part, and its truth."""
    minor = random.uniform(10, 25) if ratio > 1.5 else random.uniform(8, 58)
    major, centre, angle, cut = ratio * minor, random.uniform(110, 146, 2), *random.uniform(0, math.pi, 2)
    y, x = numpy.mgrid[:SIZE, :SIZE].astype(float)
    dx, dy = x - centre[0], y - centre[1]
    u, v = (math.cos(angle) * dx + math.sin(angle) * dy) / major, (math.cos(angle) * dy - math.sin(angle) * dx) / minor
    level = numpy.maximum(numpy.hypot(u, v), 1e-9)
    outside = (level - 1) * level / numpy.maximum(numpy.hypot(u / major, v / minor), 1e-9)
    if hidden:
        reach = math.hypot(major * math.cos(cut - angle), minor * math.sin(cut - angle)) * math.cos(math.pi * hidden)
        outside = numpy.maximum(outside, dx * math.cos(cut) + dy * math.sin(cut) - reach)
    picture = 80 + 90 * numpy.clip(0.5 - outside / 2, 0, 1) + noise * random.standard_normal((SIZE, SIZE))
    return picture.clip(0, 255).astype(numpy.uint8), (*centre, major, minor, angle)


def error(truth, found):
    turn = (found[4] - truth[4]) % math.pi
    across = min(turn, math.pi - turn) * (truth[2] - truth[3])
    centre = math.hypot(found[0] - truth[0], found[1] - truth[1])
    return max(centre, abs(found[2] - truth[2]), abs(found[3] - truth[3]), across)


def scenes(context):
    """Prints how many of drawn shapes are found, and returns their number, those that are, and those that OpenCV finds."""
    totals, worse = numpy.zeros(3, int), []
    for ratio, hidden in KINDS:
        random, counts, errors, extra = numpy.random.default_rng(1), numpy.zeros(2, int), ([], []), [0, 0]
        for noise in NOISES:
            for _ in range(OF_EACH):
                picture, truth = drawn(ratio, hidden, noise, random)
                for which, found in enumerate((with_isoline(context, picture), with_opencv(picture)[0])):
                    best = min((error(truth, one) for one in found), default=math.inf)
                    good = best < 2
                    counts[which] += good
                    errors[which].extend([best] if good else [])
                    extra[which] += len(found) - good
        total = OF_EACH * len(NOISES)
        totals += (total, *counts)
        worse += [(ratio, hidden)] if counts[0] < counts[1] else []
        medians = [numpy.median(one) if one else math.nan for one in errors]
        print(f"ratio {ratio}, hidden {hidden}: of {total} {counts[0]} found (error {medians[0]:.2f}), {extra[0]} others; "
              f"OpenCV {counts[1]} ({medians[1]:.2f}), {extra[1]} others")
    if worse:
        sys.exit(f"ellipses: OpenCV finds more of {worse}")
    return totals


def found(these, others):
    """The number of these that are found among the others."""
    def near(one, other):
        mean = (one[2] + one[3]) / 2
        centre = math.hypot(one[0] - other[0], one[1] - other[1])
        return centre <= 3 and abs((other[2] + other[3]) / 2 - mean) <= 0.1 * mean
    return sum(any(near(one, other) for other in others) for one in these)


def main():
    context, cpu, timed = from_command_line(__doc__)
    coins = None
    for name in PICTURES:
        picture = oracles.photograph(name)
        ours, (theirs, _) = with_isoline(context, picture), with_opencv(picture)
        counts = len(theirs), found(theirs, ours), len(ours), found(ours, theirs)
        print(f"{name}: of OpenCV's {counts[0]} {counts[1]} are found, of our {counts[2]} {counts[3]}")
        if name == "coins":
            coins = counts
        if timed:
            print_times(cpu, picture, "ellipses", with_opencv)
    if min(coins[1], coins[3]) < COINS or max(coins) > COINS + 1:
        sys.exit(f"ellipses: the {COINS} coins are not found as OpenCV finds them: {coins}")
    total, here, there = scenes(context)
    if here < LEAST_OF_TRUTH * total:
        sys.exit(f"ellipses: {here} of {total} drawn ones are found, fewer than {LEAST_OF_TRUTH:.0%}")
    print(f"oracle: {here} of {total} drawn circles and ellipses are found, {there} by OpenCV {cv2.__version__}; both find "
          f"all {COINS} coins of a photograph")


if __name__ == "__main__":
    main()
