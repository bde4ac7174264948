#!/usr/bin/env python3
"""Turns what the demo's macro saved into pictures: the input beside its edge strength with level curves.

Usage: make_pictures.py FOLDER OUT. For every FOLDER/NAME.txt, lines "key: value" with the keys title, parameters and
ran, it reads FOLDER/NAME-input.tif and FOLDER/NAME-esf.tif (one slice, or a stack) and writes OUT/NAME.png.
"""
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first: there may be no display)
import numpy  # noqa: E402
import tifffile  # noqa: E402

LEVELS = numpy.arange(0.1, 1.0, 0.1)
MOST_SLICES = 5  # of a stack, in one picture
PANEL_HEIGHT = 4.6  # inches
SLICE_HEIGHT = 2.9
MARGINS = {"left": 0.65, "right": 0.95, "top": 0.95, "bottom": 0.85}  # inches
GAP = 0.55
SLICE_GAP = 0.12
INK = "#222222"
COLOURS = "viridis"

plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 10, "text.color": INK, "axes.edgecolor": "#999999",
                     "axes.labelcolor": INK, "xtick.color": "#666666", "ytick.color": "#666666",
                     "axes.titlesize": 11})


def read_notes(path):
    return dict(line.split(": ", 1) for line in path.read_text(encoding="utf-8").splitlines() if ": " in line)


def as_stack(path):
    pixels = tifffile.imread(path)
    return pixels[None] if pixels.ndim == 2 else pixels


def lay_out(rows, columns, panel_height, aspect, gap, top=MARGINS["top"]):
    """A figure with equal panels of the images' own aspect, and one narrow axes for the colour bar."""
    panel_width = panel_height * aspect
    width = MARGINS["left"] + columns * panel_width + (columns - 1) * gap + MARGINS["right"]
    height = top + rows * panel_height + (rows - 1) * gap + MARGINS["bottom"]
    figure = plt.figure(figsize=(width, height), dpi=110)

    def at(row, column):
        x = MARGINS["left"] + column * (panel_width + gap)
        y = MARGINS["bottom"] + (rows - 1 - row) * (panel_height + gap)
        return figure.add_axes([x / width, y / height, panel_width / width, panel_height / height])

    panels = [[at(row, column) for column in range(columns)] for row in range(rows)]
    bar = figure.add_axes([(width - MARGINS["right"] + 0.18) / width, MARGINS["bottom"] / height,
                           0.16 / width, (rows * panel_height + (rows - 1) * gap) / height])
    return figure, panels, bar, (width, height)


def draw_input(axes, pixels, limits):
    axes.imshow(pixels, cmap="gray", vmin=limits[0], vmax=limits[1], interpolation="nearest")


def draw_field(axes, field):
    shown = axes.imshow(field, cmap=COLOURS, vmin=0, vmax=1, interpolation="nearest")
    if field.min() < LEVELS[-1] and field.max() > LEVELS[0]:
        axes.contour(field, levels=LEVELS, colors="white", linewidths=0.55, alpha=0.8)
    return shown


def write_words(figure, size, notes):
    width, height = size
    left = MARGINS["left"] / width
    figure.text(left, 1 - 0.36 / height, notes["title"], fontsize=14, fontweight="bold")
    figure.text(left, 1 - 0.60 / height, notes["parameters"].replace("rho", "ρ"), fontsize=10)
    figure.text(left, 0.14 / height, notes["ran"], fontsize=8.5, color="#666666")


def finish_bar(figure, shown, bar):
    colours = figure.colorbar(shown, cax=bar, ticks=numpy.linspace(0, 1, 6))
    colours.set_label("edge strength v (level curves every 0.1)")
    for level in LEVELS:
        bar.axhline(level, color="white", linewidth=0.55, alpha=0.8)


def one_slice(notes, pixels, field, out):
    aspect = pixels.shape[1] / pixels.shape[0]
    figure, panels, bar, size = lay_out(1, 2, PANEL_HEIGHT, aspect, GAP)
    left, right = panels[0]
    draw_input(left, pixels, (pixels.min(), pixels.max()))
    shown = draw_field(right, field)
    left.set_title("input", loc="left")
    right.set_title("edge strength", loc="left")
    for axes in (left, right):
        axes.set_xlabel("x (pixels)")
        axes.locator_params(nbins=6)
    left.set_ylabel("y (pixels)")
    right.set_yticklabels([])
    finish_bar(figure, shown, bar)
    write_words(figure, size, notes)
    figure.savefig(out)
    plt.close(figure)


def many_slices(notes, pixels, field, out):
    chosen = numpy.unique(numpy.linspace(0, len(pixels) - 1, MOST_SLICES).round().astype(int))
    aspect = pixels.shape[2] / pixels.shape[1]
    figure, panels, bar, size = lay_out(2, len(chosen), SLICE_HEIGHT, aspect, SLICE_GAP)
    for column, z in enumerate(chosen):
        above, below = panels[0][column], panels[1][column]
        draw_input(above, pixels[z], (pixels.min(), pixels.max()))
        shown = draw_field(below, field[z])
        above.set_title(f"slice {z + 1} of {len(pixels)}", loc="left")
        for axes in (above, below):
            axes.locator_params(nbins=4)
            if column > 0:
                axes.set_yticklabels([])
        above.set_xticklabels([])
        below.set_xlabel("x (pixels)")
    for row in panels:
        row[0].set_ylabel("y (pixels)")
    finish_bar(figure, shown, bar)
    write_words(figure, size, notes)
    figure.savefig(out)
    plt.close(figure)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    notes_files = sorted(folder.glob("*.txt"))
    if not notes_files:
        sys.exit(f"make_pictures: no NAME.txt in {folder}")
    for path in notes_files:
        notes = read_notes(path)
        pixels, field = as_stack(path.with_name(f"{path.stem}-input.tif")), as_stack(path.with_name(f"{path.stem}-esf.tif"))
        if pixels.shape != field.shape:
            sys.exit(f"make_pictures: {path.stem}: input is {pixels.shape}, edge strength {field.shape}")
        picture = out / f"{path.stem}.png"
        if len(pixels) == 1:
            one_slice(notes, pixels[0], field[0], picture)
        else:
            many_slices(notes, pixels, field, picture)
        print(f"  {picture}")


if __name__ == "__main__":
    main()
