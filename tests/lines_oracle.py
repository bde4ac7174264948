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
DRAWING = dict(profile="reference", gradient_operator="sobel", gradient_threshold=36)
MIN_LENGTH = 12
# The smallest shares of lines that are found, of OpenCV's in ours and of ours in OpenCV's, over all pictures.
LEAST_FOUND = (0.97, 0.9)


def detected(picture, kind, numbers, **more):
    """OpenCV's shapes of a kind along the segments of a picture, as rows of so many numbers, and the time for them alone."""
    params = cv2.ximgproc.EdgeDrawing.Params()
    params.EdgeDetectionOperator = cv2.ximgproc.EdgeDrawing_SOBEL
    params.GradientThresholdValue, params.AnchorThresholdValue, params.ScanInterval = DRAWING["gradient_threshold"], 0, 1
    params.MinPathLength, params.Sigma = 10, 1.0
    for name, value in more.items():
        setattr(params, name, value)
    detector = cv2.ximgproc.createEdgeDrawing()
    detector.setParams(params)
    detector.detectEdges(picture.copy())
    started = time.perf_counter()
    found = getattr(detector, f"detect{kind}")()
    seconds = time.perf_counter() - started
    return (numpy.empty((0, numbers)) if found is None else numpy.asarray(found, float).reshape(-1, numbers)), seconds


def with_opencv(picture):
    return detected(picture, "Lines", 4, MinLineLength=MIN_LENGTH, NFAValidation=False)


def with_isoline(context, picture):
    lines, _ = context.edge_drawing_lines(picture, line_min_length=MIN_LENGTH, line_validation=False, **DRAWING)
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


def print_times(cpu, picture, kind, opencv, **params):
    """Prints the times of calls for shapes of a kind along segments alone, here and by `opencv`."""
    def seconds():
        handle = ctypes.c_void_p()
        cpu.caller("edge_drawing", picture, None, ctypes.byref(handle), **DRAWING)()
        call = cpu.along_caller(kind, picture, **params)
        started = time.perf_counter()
        call(handle)
        seconds = time.perf_counter() - started
        cpu.library.free("segments")(handle)
        return seconds

    ms = [1000 * min(of() for _ in range(20)) for of in (seconds, lambda: opencv(picture)[1])]
    print(f"  {ms[0]:.2f} ms, OpenCV {ms[1]:.2f} ms")


def from_command_line(description):
    """Returns the context that the command line asks for, that of the CPU, and whether to print times."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("library")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--time", action="store_true")
    arguments = parser.parse_args()
    library = oracles.Library(arguments.library)
    cv2.setNumThreads(1)
    return library.context(arguments.device), library.context("cpu"), arguments.time


def main():
    context, cpu, timed = from_command_line(__doc__)
    totals = numpy.zeros(4, int)
    for name in PICTURES:
        picture = oracles.photograph(name)
        ours, (theirs, _) = with_isoline(context, picture), with_opencv(picture)
        counts = numpy.array([len(theirs), found(theirs, ours).sum(), len(ours), found(ours, theirs).sum()])
        totals += counts
        print(f"{name}: of OpenCV's {counts[0]} lines {counts[1]} are found, of our {counts[2]} lines {counts[3]}")
        if timed:
            print_times(cpu, picture, "lines", with_opencv, line_min_length=MIN_LENGTH, line_validation=False)
    shares = totals[1] / max(totals[0], 1), totals[3] / max(totals[2], 1)
    if any(share < least for share, least in zip(shares, LEAST_FOUND, strict=True)):
        sys.exit(f"lines: fewer are found than the shares {LEAST_FOUND}")
    print(f"oracle: {totals[1]} lines of OpenCV {cv2.__version__} ({shares[0]:.1%} of {totals[0]}) are found among "
          f"those here, and {shares[1]:.1%} of {totals[2]} here among its")


if __name__ == "__main__":
    main()
