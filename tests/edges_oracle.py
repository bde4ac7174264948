#!/usr/bin/env python3
"""Compares the level set's edge term with SimpleITK's GeodesicActiveContour, from the same start and with the same
edge-stopping function: the coins of tests/data, whose light is uneven, and a ball in a ramp of brightness.

Usage: edges_oracle.py FOLDER-OF-LIBISOLINE [--device cpu|cuda|auto] [--picture FILE]

The truth of the coins is a watershed of their gradient, from markers of dark and of bright pixels. Every front starts from
a disc or a ball in the middle of an object. The range of intensities holds nearly all pixels, so that edges alone can hold
the front: without them it leaks. ITK's front is the best of several weights of its propagation and advection; that of
its curvature is 1. --picture draws the coins' fronts.
"""
import argparse
import pathlib
import sys
import time

import numpy
import SimpleITK
import skimage.filters
import skimage.io
import skimage.measure
import skimage.segmentation
from scipy import ndimage

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(HERE.parent / folder) for folder in ("python", "scripts"))]  # the modules are there
from isoline import Context, LevelSet, Library  # noqa: E402
from level_set_oracle import balls, dice  # noqa: E402

EDGE_WEIGHT = 2.0
ITERATIONS = 3000
LEAST_DICE = {"coins": 0.985, "ball": 0.97}
MOST_LEAKED = 0.8  # Dice without edges
WEIGHTS_OF_ITK = (0.5, 2), (0.5, 3), (1, 5), (1, 10)  # propagation, advection
ITERATIONS_OF_ITK = 1500
RMS = 0.003  # where ITK stops before its last iteration


def coins():
    """The picture, a disc in each coin, the coins, and the range of intensities."""
    pixels = skimage.io.imread(HERE / "data" / "coins.png")
    markers = numpy.zeros(pixels.shape, int)
    markers[pixels < 30], markers[pixels > 150] = 1, 2
    truth = ndimage.binary_fill_holes(skimage.segmentation.watershed(skimage.filters.sobel(pixels), markers) == 2)
    labels = skimage.measure.label(truth)
    regions = [region for region in skimage.measure.regionprops(labels) if region.area >= 400]
    truth = numpy.isin(labels, [region.label for region in regions])
    centres = [(region.centroid[1], region.centroid[0], 0) for region in regions]
    start = balls((1, *pixels.shape), (1, 1, 1), centres, 8)
    return pixels[None], start, truth[None], (255.0, 200.0)


def ball():
    """The same for a ball, of a ground that rises along x by more than the ball differs from it."""
    shape, centre = (40, 48, 56), [(27, 23, 19)]
    truth = balls(shape, (1, 1, 1), centre, 12).astype(bool)
    noise = numpy.random.default_rng(1).normal(0, 5, shape)
    pixels = (40 + 4 * numpy.arange(shape[2]) + 60 * truth + noise).astype(numpy.float32)
    return pixels, balls(shape, (1, 1, 1), centre, 5), truth, (170.0, 160.0)


def with_isoline(context, pixels, start, interval, edge_weight):
    dimensions = "slices" if len(pixels) == 1 else "volume"
    began = time.perf_counter()
    with LevelSet(pixels, start, device=context, dimensions=dimensions, target=interval[0], epsilon=interval[1],
                  edge_weight=edge_weight) as front:
        report = front.step(ITERATIONS)
        return front.mask() > 0, report.iterations, time.perf_counter() - began, front.state().edge_contrast


def with_itk(pixels, start, contrast, propagation, advection):
    floats = (pixels[0] if len(pixels) == 1 else pixels).astype(numpy.float32)
    smooth = ndimage.gaussian_filter(floats, 1, mode="nearest", truncate=3)
    squares = sum(slope ** 2 for slope in numpy.gradient(smooth))
    stopping = SimpleITK.GetImageFromArray((1 / (1 + squares / contrast ** 2)).astype(numpy.float32))
    began = time.perf_counter()
    mask = SimpleITK.GetImageFromArray(start[0] if len(start) == 1 else start)
    distance = SimpleITK.SignedMaurerDistanceMap(mask, insideIsPositive=False, squaredDistance=False)
    contour = SimpleITK.GeodesicActiveContourLevelSetImageFilter()
    contour.SetPropagationScaling(propagation)
    contour.SetCurvatureScaling(1)
    contour.SetAdvectionScaling(advection)
    contour.SetMaximumRMSError(RMS)
    contour.SetNumberOfIterations(ITERATIONS_OF_ITK)
    front = SimpleITK.GetArrayFromImage(contour.Execute(distance, stopping)) < 0
    return front.reshape(start.shape), contour.GetElapsedIterations(), time.perf_counter() - began


def compare(context, name, case):
    """The fronts without edges, with them, and ITK's best; the names of the checks that fail."""
    pixels, start, truth, interval = case
    leaked, iterations, seconds, _ = with_isoline(context, pixels, start, interval, 0)
    fronts, failed = {"without edges": leaked}, []
    print(f"{name}: {dice(leaked, truth):.3f} without edges ({iterations} iterations, {seconds:.2f} s)")
    if dice(leaked, truth) > MOST_LEAKED:
        failed.append(f"{name} does not leak")
    front, iterations, seconds, contrast = with_isoline(context, pixels, start, interval, EDGE_WEIGHT)
    fronts[f"edge_weight {EDGE_WEIGHT:g}"] = front
    found = dice(front, truth)
    print(f"{name}: {found:.3f} with edge_weight {EDGE_WEIGHT:g} ({iterations} iterations, {seconds:.2f} s)")
    best = None
    for weights in WEIGHTS_OF_ITK:
        theirs, iterations, seconds = with_itk(pixels, start, contrast, *weights)
        print(f"{name}: {dice(theirs, truth):.3f} with ITK, propagation {weights[0]}, advection {weights[1]} "
              f"({iterations} iterations, {seconds:.2f} s)")
        best = theirs if best is None or dice(theirs, truth) > dice(best, truth) else best
    fronts["ITK, the best of its weights"] = best
    if found < LEAST_DICE[name]:
        failed.append(f"{name}: {found:.3f} is below {LEAST_DICE[name]}")
    if found < dice(best, truth) - 0.01:
        failed.append(f"{name}: ITK's {dice(best, truth):.3f} is better")
    return fronts, failed


def draw(pixels, truth, fronts, path):
    import matplotlib

    matplotlib.use("Agg")  # there may be no display
    import matplotlib.pyplot as plt

    from make_pictures import draw_input, draw_outline

    figure, places = plt.subplots(1, len(fronts), figsize=(4 * len(fronts), 3.4), dpi=100, layout="constrained")
    for axes, (title, front) in zip(places, fronts.items()):
        draw_input(axes, pixels, (0, 255))
        draw_outline(axes, front)
        axes.set_title(f"{title}: Dice {dice(front, truth):.3f}", loc="left", fontsize=10)
        axes.set_axis_off()
    figure.savefig(path)
    print(f"  {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("library")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--picture")
    arguments = parser.parse_args()
    with Context(arguments.device, library=Library(arguments.library)) as context:
        failed = []
        for name, case in ("coins", coins()), ("ball", ball()):
            fronts, wrong = compare(context, name, case)
            failed += wrong
            if arguments.picture and name == "coins":
                draw(case[0][0], case[2][0], {title: front[0] for title, front in fronts.items()}, arguments.picture)
    for problem in failed:
        print(f"FAIL {problem}")
    print(f"oracle: {2 - len(failed)} of 2 fronts as good as or ahead of SimpleITK's GeodesicActiveContour")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
