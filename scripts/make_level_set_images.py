#!/usr/bin/env python3
"""Makes the pictures of docs/level_set.md: the white matter of a whole head as the level set finds it, in three
orthogonal slices and as a montage.

Usage: make_level_set_images.py FOLDER-OF-LIBISOLINE OUT
"""
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first: there may be no display)
import numpy  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import fetch_brain  # noqa: E402
from isoline import LevelSet, Library  # noqa: E402
from make_pictures import draw_input, draw_outline  # noqa: E402

DOTS = 100  # an inch
HEIGHT, GAP, TOP = 3.4, 0.08, 0.3  # inches
SMALL = 1.75
CUTS = ("axial", 95), ("coronal", 115), ("sagittal", 65)
ROWS, COLUMNS = 3, 6
MAP_COLOUR = (0.1, 0.6, 1.0)


def cut(volume, name, at):
    """A slice with the head upright, or its front at the top."""
    return {"axial": volume[at, ::-1], "coronal": volume[::-1, at], "sagittal": volume[::-1, :, at]}[name]


def draw(axes, pixels, mask, reference):
    draw_input(axes, pixels, (0, 160))
    if reference is not None:
        draw_outline(axes, reference, MAP_COLOUR, 0.6)
    draw_outline(axes, mask)
    axes.set_xlim(-0.5, pixels.shape[1] - 0.5)
    axes.set_ylim(pixels.shape[0] - 0.5, -0.5)
    axes.set_axis_off()


def save(figure, path):
    figure.savefig(path)
    plt.close(figure)
    print(f"  {path}")


def orthogonal(pixels, mask, reference, path):
    widths = [HEIGHT * cut(pixels, *each).shape[1] / cut(pixels, *each).shape[0] for each in CUTS]
    width, height = sum(widths) + GAP * (len(CUTS) - 1), HEIGHT + TOP
    figure = plt.figure(figsize=(width, height), dpi=DOTS)
    left = 0
    for (name, at), wide in zip(CUTS, widths):
        axes = figure.add_axes([left / width, 0, wide / width, HEIGHT / height])
        draw(axes, *(cut(volume, name, at) for volume in (pixels, mask, reference)))
        axes.set_title(name, loc="left", fontsize=10)
        left += wide + GAP
    save(figure, path)


def montage(pixels, mask, path):
    levels = numpy.flatnonzero(mask.any(axis=(1, 2)))
    chosen = numpy.linspace(levels[0], levels[-1], ROWS * COLUMNS + 2).round().astype(int)[1:-1]
    aspect = pixels.shape[2] / pixels.shape[1]
    figure, places = plt.subplots(ROWS, COLUMNS, figsize=(COLUMNS * SMALL * aspect, ROWS * SMALL), dpi=DOTS,
                                  gridspec_kw={"left": 0, "right": 1, "bottom": 0, "top": 1, "wspace": 0.02,
                                               "hspace": 0.02})
    for axes, z in zip(places.flat, chosen):
        draw(axes, cut(pixels, "axial", z), cut(mask, "axial", z), None)
    save(figure, path)


def main():
    library, out = Library(sys.argv[1]), pathlib.Path(sys.argv[2])
    fetch_brain.main()
    pixels = fetch_brain.read("ch2.nii.gz")
    surface = LevelSet(pixels, fetch_brain.start_in_ch2(pixels), device=library.context(), target=fetch_brain.CH2_TARGET,
                       epsilon=fetch_brain.CH2_EPSILON, alpha=fetch_brain.CH2_ALPHA, change_tolerance=0, rms_tolerance=0)
    surface.step(fetch_brain.CH2_ITERATIONS)
    mask = surface.mask() > 0
    orthogonal(pixels, mask, fetch_brain.white_matter_of_ch2(), out / "level_set.png")
    montage(pixels, mask, out / "level_set_montage.png")


if __name__ == "__main__":
    main()
