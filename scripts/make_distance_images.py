#!/usr/bin/env python3
"""Makes the picture of docs/distance.md, of what the library itself computes.

Usage: make_distance_images.py FOLDER-OF-LIBISOLINE OUT
"""
import pathlib
import sys

import numpy
from matplotlib.colors import TwoSlopeNorm
from PIL import Image

from make_pictures import DATA, INK, Library, plt, save

HEIGHT, GAP, TOP, EDGE, BAR = 3.6, 0.14, 0.34, 0.06, 0.62  # inches
DOTS = 100  # an inch
STEP = 10  # pixels from level curve to level curve
WINDOW = 7  # pixels a side of the detail
# Blue inside, red outside, white at the boundary.
COLOURS = "RdBu_r"


def boundary(axes, inside, origin, width):
    """The faces between inside and outside pixels."""
    top, left = origin
    for y, x in numpy.argwhere(inside[:, 1:] != inside[:, :-1]):
        axes.plot([left + x + 0.5] * 2, [top + y - 0.5, top + y + 0.5], color=INK, linewidth=width, solid_capstyle="round")
    for y, x in numpy.argwhere(inside[1:] != inside[:-1]):
        axes.plot([left + x - 0.5, left + x + 0.5], [top + y + 0.5] * 2, color=INK, linewidth=width, solid_capstyle="round")


def detail_of(inside):
    """A window on a slanting boundary: as many pixels inside as outside."""
    best = None
    for y in range(0, inside.shape[0] - WINDOW, 3):
        for x in range(0, inside.shape[1] - WINDOW, 3):
            part = inside[y:y + WINDOW, x:x + WINDOW]
            steps = numpy.count_nonzero(part[:, 1:] != part[:, :-1]) - numpy.count_nonzero(part[1:] != part[:-1])
            score = abs(2 * numpy.count_nonzero(part) - part.size) + 2 * abs(steps)
            if best is None or score < best[0]:
                best = score, (slice(y, y + WINDOW), slice(x, x + WINDOW))
    return best[1]


def main():
    library, out = Library(sys.argv[1]), pathlib.Path(sys.argv[2])
    horse = numpy.array(Image.open(DATA / "horse.pgm"))
    inside = horse <= 127
    distances = library.context("cpu").run("distance", horse, foreground="below", threshold=127.0)
    assert numpy.array_equal(distances < 0, inside)
    norm = TwoSlopeNorm(0, vmin=-numpy.abs(distances[inside]).max(), vmax=distances.max())
    rows, columns = horse.shape
    map_width = HEIGHT * columns / rows
    width, height = 2 * EDGE + map_width + BAR + GAP + HEIGHT, HEIGHT + TOP + EDGE
    figure = plt.figure(figsize=(width, height), dpi=DOTS)

    def panel(left, wide, title):
        axes = figure.add_axes([left / width, EDGE / height, wide / width, HEIGHT / height])
        axes.set_title(title, loc="left", fontsize=9.5)
        axes.set_xticks([])
        axes.set_yticks([])
        return axes

    axes = panel(EDGE, map_width, f"signed distance, a curve every {STEP} pixels")
    image = axes.imshow(distances, cmap=COLOURS, norm=norm, interpolation="nearest")
    levels = numpy.arange(STEP * (distances.min() // STEP), distances.max(), STEP)
    axes.contour(distances, levels[levels != 0], colors=INK, linewidths=0.5, linestyles="solid")
    axes.contour(distances, [0], colors=INK, linewidths=1.6)
    bar = figure.add_axes([(EDGE + map_width + 0.08) / width, EDGE / height, 0.13 / width, HEIGHT / height])
    figure.colorbar(image, cax=bar).ax.tick_params(labelsize=8)

    window = detail_of(inside)
    axes = panel(EDGE + map_width + BAR + GAP, HEIGHT, "a detail: the boundary runs between the pixels")
    part = distances[window]
    extent = (window[1].start - 0.5, window[1].stop - 0.5, window[0].stop - 0.5, window[0].start - 0.5)
    most = numpy.abs(part).max()
    axes.imshow(part, cmap=COLOURS, vmin=-1.6 * most, vmax=1.6 * most, interpolation="nearest", extent=extent)
    boundary(axes, inside[window], (window[0].start, window[1].start), 2.2)
    for (y, x), value in numpy.ndenumerate(part):
        text = f"{value:+.2f}".replace("-", "\u2212")
        axes.text(window[1].start + x, window[0].start + y, text, ha="center", va="center", fontsize=8, color=INK)
    save(figure, out / "distance.png")
    print(f"  {out / 'distance.png'}: {distances.min():.2f} to {distances.max():.2f} pixels")


if __name__ == "__main__":
    main()
