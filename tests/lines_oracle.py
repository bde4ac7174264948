#!/usr/bin/env python3
"""Compares the lines along segments with those of OpenCV's ximgproc.EdgeDrawing.detectLines, on the same segments: those of
the reference profile, which are OpenCV's.

Usage: lines_oracle.py FOLDER-OF-LIBISOLINE [--device cpu|cuda|auto] [--time]

Both fit lines to runs of a segment's points, with the same minimum length and tolerance here, and without a test of the
lines. They need not be the same: OpenCV measures distances along x or y and fits again after several points. A line
counts as found if both of its ends are within 2 pixels of those of a line of the other, or if at least 80 % of its length
are within 1 pixel of lines of the other. --time times both, one after the other, OpenCV on one thread, as its fitting is,
and Isoline on as many as there are processors.

Pictures: tests/data (its README.md has their licences).
"""
import argparse
import ctypes
import sys
import time

import cv2
import numpy

import oracles

PICTURES = ("camera", "cell", "coins", "horse", "microaneurysms", "page", "pattern")
MIN_LENGTH = 12
# The smallest shares of lines that are found, of OpenCV's in ours and of ours in OpenCV's, over all pictures.
LEAST_FOUND = (0.97, 0.9)


def with_opencv(picture):
    params = cv2.ximgproc.EdgeDrawing.Params()
    params.EdgeDetectionOperator = cv2.ximgproc.EdgeDrawing_SOBEL
    params.GradientThresholdValue, params.AnchorThresholdValue, params.ScanInterval = 36, 0, 1
    params.MinPathLength, params.Sigma, params.MinLineLength, params.NFAValidation = 10, 1.0, MIN_LENGTH, False
    detector = cv2.ximgproc.createEdgeDrawing()
    detector.setParams(params)
    detector.detectEdges(picture.copy())
    started = time.perf_counter()
    lines = detector.detectLines()
    seconds = time.perf_counter() - started
    return (numpy.empty((0, 4)) if lines is None else numpy.asarray(lines, float).reshape(-1, 4)), seconds


def with_isoline(context, picture):
    lines, _ = context.edge_drawing_lines(picture, profile="reference", gradient_operator="sobel", gradient_threshold=36,
                                          line_min_length=MIN_LENGTH, line_validation=False)
    return numpy.stack([lines[name] for name in ("x0", "y0", "x1", "y1")], axis=-1)


def found(lines, others):
    """Says for each of the lines whether it is found among the others."""
    result = numpy.zeros(len(lines), bool)
    starts, ends = others[:, :2], others[:, 2:]
    along = ends - starts
    squares = numpy.maximum((along ** 2).sum(axis=1), 1e-12)
    for index, line in enumerate(lines):
        for first, last in ((line[:2], line[2:]), (line[2:], line[:2])):
            near = numpy.hypot(*(starts - first).T) <= 2
            result[index] |= bool((near & (numpy.hypot(*(ends - last).T) <= 2)).any())
        if not result[index] and len(others):
            points = line[:2] + numpy.linspace(0, 1, 101)[:, None] * (line[2:] - line[:2])
            shares = (((points[:, None] - starts) * along).sum(axis=2) / squares).clip(0, 1)
            nearest = starts + shares[:, :, None] * along
            distances = numpy.hypot(*numpy.moveaxis(points[:, None] - nearest, 2, 0)).min(axis=1)
            result[index] = (distances <= 1).mean() >= 0.8
    return result


def lines_seconds(context, picture):
    """The time of a call for lines alone."""
    handle = ctypes.c_void_p()
    drawing = dict(profile="reference", gradient_operator="sobel", gradient_threshold=36)
    context.caller("edge_drawing", picture, None, ctypes.byref(handle), **drawing)()
    call = context.along_caller("lines", picture, line_min_length=MIN_LENGTH, line_validation=False)
    started = time.perf_counter()
    call(handle)
    seconds = time.perf_counter() - started
    context.library.free("segments")(handle)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--time", action="store_true")
    arguments = parser.parse_args()
    library = oracles.Library(arguments.library)
    context, cpu = library.context(arguments.device), library.context("cpu")
    cv2.setNumThreads(1)
    totals = numpy.zeros(4, int)
    for name in PICTURES:
        picture = oracles.photograph(name)
        ours, (theirs, _) = with_isoline(context, picture), with_opencv(picture)
        counts = numpy.array([len(theirs), found(theirs, ours).sum(), len(ours), found(ours, theirs).sum()])
        totals += counts
        print(f"{name}: of OpenCV's {counts[0]} lines {counts[1]} are found, of our {counts[2]} lines {counts[3]}")
        if arguments.time:
            ms = [1000 * min(of() for _ in range(20))
                  for of in (lambda p=picture: lines_seconds(cpu, p), lambda p=picture: with_opencv(p)[1])]
            print(f"  {ms[0]:.2f} ms, OpenCV {ms[1]:.2f} ms")
    shares = totals[1] / max(totals[0], 1), totals[3] / max(totals[2], 1)
    if any(share < least for share, least in zip(shares, LEAST_FOUND, strict=True)):
        sys.exit(f"lines: fewer are found than the shares {LEAST_FOUND}")
    print(f"oracle: {totals[1]} lines of OpenCV {cv2.__version__} ({shares[0]:.1%} of {totals[0]}) are found among "
          f"those here, and {shares[1]:.1%} of {totals[2]} here among its")


if __name__ == "__main__":
    main()
