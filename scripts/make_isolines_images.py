#!/usr/bin/env python3
"""Makes the picture of docs/isolines.md, of what the library itself computes.

Usage: make_isolines_images.py FOLDER-OF-LIBISOLINE OUT
"""
import pathlib
import sys

import numpy
from PIL import Image

from make_pictures import DATA, INK, Library, plt

HEIGHT, GAP, EDGE = 3.6, 0.14, 0.06  # inches
DOTS = 100  # an inch
LEVELS = 9
SIDE = 12  # of the detail, pixels
COLOURS = plt.get_cmap("turbo")


def draw(axes, curves, low, high, width, arrows):
    for place, line in enumerate(curves.lines):
        points = curves[place]
        if line["flags"] & 1:
            points = numpy.vstack([points, points[:1]])
        colour = COLOURS(0.1 + 0.8 * (line["level"] - low) / (high - low))
        axes.plot(*points.T, color=colour, linewidth=width, marker="." if arrows else None, markersize=4)
        if arrows and len(points) > 6:
            middle = len(points) // 2
            axes.annotate("", points[middle + 1], points[middle], arrowprops={"arrowstyle": "-|>", "color": colour})


def main():
    library, out = Library(sys.argv[1]), pathlib.Path(sys.argv[2])
    horse = numpy.array(Image.open(DATA / "horse.pgm"))
    context = library.context("cpu")
    field = context.run("edge_strength", horse, foreground="below", threshold=127.0, rho=24.0)
    curves = context.isolines(field, level_count=LEVELS, range_min=0.0, range_max=1.0)
    levels = numpy.unique(curves.lines["level"])
    # The detail is where the middle level turns the most within its side.
    longest = max((curves[place] for place in numpy.flatnonzero(curves.lines["level"] == levels[LEVELS // 2])), key=len)
    turned = numpy.abs(longest + numpy.roll(longest, -SIDE, 0) - 2 * numpy.roll(longest, -SIDE // 2, 0)).sum(1)
    left, top = (longest[(turned.argmax() + SIDE // 2) % len(longest)] - SIDE / 2).astype(int)
    detail = numpy.ascontiguousarray(field[top:top + SIDE, left:left + SIDE])
    near = context.isolines(detail, levels)
    rows, columns = field.shape
    width = HEIGHT * columns / rows
    whole = 2 * EDGE + width + GAP + HEIGHT
    figure = plt.figure(figsize=(whole, HEIGHT + 2 * EDGE), dpi=DOTS)
    for left, size, image, found, line, arrows in ((EDGE, width, field, curves, 0.8, False),
                                                   (EDGE + width + GAP, HEIGHT, detail, near, 1.4, True)):
        place = left / whole, EDGE / (HEIGHT + 2 * EDGE), size / whole, HEIGHT / (HEIGHT + 2 * EDGE)
        axes = figure.add_axes(place, xticks=[], yticks=[])
        axes.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        draw(axes, found, levels[0], levels[-1], line, arrows)
        axes.set_xlim(-0.5, image.shape[1] - 0.5)
        axes.set_ylim(image.shape[0] - 0.5, -0.5)
        for spine in axes.spines.values():
            spine.set_color(INK)
    figure.savefig(out / "isolines.png", dpi=DOTS)


if __name__ == "__main__":
    main()
