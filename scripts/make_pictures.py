#!/usr/bin/env python3
"""Turns what the demo's macro saved into pictures: the input beside its edge strength with level curves, edges and
segments drawn over the input, a volume's mask as a montage, and outlines.

Usage: make_pictures.py FOLDER OUT. For every FOLDER/NAME.txt, lines "key: value" with the keys title, parameters and
ran, it reads FOLDER/NAME-input.tif (one slice, or a stack) and FOLDER/NAME-esf.tif, or FOLDER/NAME-edges.tif and
FOLDER/NAME-segments.zip, or FOLDER/NAME-mask.tif, or FOLDER/NAME-labels.tif and FOLDER/NAME-outlines.zip, and
writes OUT/NAME.png.
"""
import io
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first: there may be no display)
import numpy  # noqa: E402
import roifile  # noqa: E402
import tifffile  # noqa: E402
from PIL import Image  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
from isoline import Library  # noqa: E402,F401  (for make_*_images.py, as DATA and save)

DATA = ROOT / "tests" / "data"
LEVELS = numpy.arange(0.1, 1.0, 0.1)
MOST_SLICES = 5  # of a stack, in one picture
MONTAGE = (4, 5)  # rows and columns
MONTAGE_HEIGHT = 2.1
MONTAGE_GAP = 0.04
PANEL_HEIGHT = 4.6  # inches
SLICE_HEIGHT = 2.9
MARGINS = {"left": 0.65, "right": 0.95, "top": 0.95, "bottom": 0.85}  # inches
GAP = 0.55
SLICE_GAP = 0.12
INK = "#222222"
COLOURS = "viridis"
EDGE_COLOUR = (0.9, 0.1, 0.1)
OUTLINE_COLOUR = (1.0, 0.85, 0.0)
OUTLINES_HEIGHT = 7.5
PALE = 0.45  # how much of the image stays below edges, towards white
AREAS = (roifile.ROI_TYPE.FREEHAND, roifile.ROI_TYPE.POLYGON)

plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 10, "text.color": INK, "axes.edgecolor": "#999999",
                     "axes.labelcolor": INK, "xtick.color": "#666666", "ytick.color": "#666666",
                     "axes.titlesize": 11})


def save(figure, path):
    """Saves a picture in 256 colours, which are enough, in a third of the bytes."""
    memory = io.BytesIO()
    figure.savefig(memory)
    Image.open(memory).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


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


def paled(pixels, limits):
    """The image as pale colours, for edges to be seen on."""
    grey = numpy.clip((pixels.astype(float) - limits[0]) / max(limits[1] - limits[0], 1), 0, 1)
    return numpy.repeat((1 - PALE + PALE * grey)[..., None], 3, axis=2)


def draw_edges(axes, pixels, edges, limits):
    picture = paled(pixels, limits)
    picture[edges > 0] = EDGE_COLOUR
    axes.imshow(picture, interpolation="nearest")


def draw_segments(axes, pixels, segments, limits):
    """Lines through the pixels' centres, in the colours that ImageJ gives them."""
    axes.imshow(paled(pixels, limits), interpolation="nearest")
    for segment in segments:
        points = segment.coordinates().astype(float)
        if segment.roitype in AREAS:
            # An area's coordinates count from the pixels' corners, and it ends where it began.
            points = numpy.vstack([points, points[:1]]) - 0.5
        axes.plot(points[:, 0], points[:, 1], color=tuple(channel / 255 for channel in segment.stroke_color[1:]),
                  linewidth=1.1, solid_capstyle="round")


def edges_of_one(notes, pixels, edges, segments, out):
    aspect = pixels.shape[1] / pixels.shape[0]
    figure, panels, bar, size = lay_out(1, 3, PANEL_HEIGHT, aspect, SLICE_GAP)
    bar.remove()
    limits = (pixels.min(), pixels.max())
    draw_input(panels[0][0], pixels, limits)
    draw_edges(panels[0][1], pixels, edges, limits)
    draw_segments(panels[0][2], pixels, segments, limits)
    for axes, title in zip(panels[0], ("input", "edge map, over the input", f"{len(segments)} segments")):
        axes.set_title(title, loc="left")
        axes.set_xlabel("x (pixels)")
        axes.locator_params(nbins=6)
    panels[0][0].set_ylabel("y (pixels)")
    for axes in panels[0][1:]:
        axes.set_yticklabels([])
    write_words(figure, size, notes)
    figure.savefig(out)
    plt.close(figure)


def edges_of_many(notes, pixels, edges, segments, out):
    chosen = numpy.unique(numpy.linspace(0, len(pixels) - 1, MOST_SLICES).round().astype(int))
    aspect = pixels.shape[2] / pixels.shape[1]
    figure, panels, bar, size = lay_out(2, len(chosen), SLICE_HEIGHT, aspect, SLICE_GAP)
    bar.remove()
    limits = (pixels.min(), pixels.max())
    for column, z in enumerate(chosen):
        above, below = panels[0][column], panels[1][column]
        here = [segment for segment in segments if segment.position == z + 1]
        draw_edges(above, pixels[z], edges[z], limits)
        draw_segments(below, pixels[z], here, limits)
        above.set_title(f"slice {z + 1} of {len(pixels)}", loc="left")
        for axes, title in ((above, "edge map"), (below, f"{len(here)} segments")):
            axes.text(0.03, 0.97, title, transform=axes.transAxes, verticalalignment="top")
        for axes in (above, below):
            axes.locator_params(nbins=4)
            if column > 0:
                axes.set_yticklabels([])
        above.set_xticklabels([])
        below.set_xlabel("x (pixels)")
    for row in panels:
        row[0].set_ylabel("y (pixels)")
    write_words(figure, size, notes)
    figure.savefig(out)
    plt.close(figure)


def draw_outline(axes, mask, colour=EDGE_COLOUR, width=0.9):
    """The mask's boundary, between the pixels inside and outside; a mask at the border is closed there."""
    if mask.any():
        around = numpy.pad(mask.astype(float), 1)
        x, y = (numpy.arange(-1, side + 1) for side in mask.shape[::-1])
        axes.contour(x, y, around, levels=[0.5], colors=[colour], linewidths=width)


def montage(notes, pixels, mask, out):
    """Slices with the mask's outline, from the bottom of the volume to its top."""
    rows, columns = MONTAGE
    chosen = numpy.unique(numpy.linspace(0, len(pixels) - 1, rows * columns).round().astype(int))
    aspect = pixels.shape[2] / pixels.shape[1]
    figure, panels, bar, size = lay_out(rows, columns, MONTAGE_HEIGHT, aspect, MONTAGE_GAP)
    bar.remove()
    limits = (pixels.min(), pixels.max())
    places = [axes for row in panels for axes in row]
    for axes, z in zip(places, chosen):
        draw_input(axes, pixels[z], limits)
        draw_outline(axes, mask[z] > 0)
        axes.text(0.03, 0.97, f"slice {z + 1}", transform=axes.transAxes, verticalalignment="top", color="white",
                  fontsize=8)
        axes.set_xlim(-0.5, pixels.shape[2] - 0.5)
        axes.set_ylim(pixels.shape[1] - 0.5, -0.5)
    for axes in places:
        axes.set_axis_off()
    write_words(figure, size, notes)
    figure.savefig(out)
    plt.close(figure)


def outlines(notes, pixels, found, out):
    """The input, and the polygons over it."""
    aspect = pixels.shape[1] / pixels.shape[0]
    figure, panels, bar, size = lay_out(1, 2, OUTLINES_HEIGHT, aspect, SLICE_GAP)
    bar.remove()
    # A few very bright cells would leave the others in the dark.
    limits = (pixels.min(), numpy.percentile(pixels, 99.3))
    for axes, title in zip(panels[0], ("input", f"{len(found)} outlines")):
        draw_input(axes, pixels, limits)
        axes.set_title(title, loc="left")
        axes.set_xlabel("x (pixels)")
        axes.locator_params(nbins=6)
    right = panels[0][1]
    for polygon in found:
        # Corners of pixels, of which the picture's coordinates are the centres.
        points = polygon.coordinates().astype(float) - 0.5
        points = numpy.vstack([points, points[:1]])
        right.plot(points[:, 0], points[:, 1], color=OUTLINE_COLOUR, linewidth=1.3, solid_joinstyle="round")
    panels[0][0].set_ylabel("y (pixels)")
    right.set_yticklabels([])
    for axes in panels[0]:
        axes.set_xlim(-0.5, pixels.shape[1] - 0.5)
        axes.set_ylim(pixels.shape[0] - 0.5, -0.5)
    write_words(figure, size, notes)
    figure.savefig(out)
    plt.close(figure)


def picture_of(path, picture):
    """The picture for one NAME.txt."""
    notes = read_notes(path)
    pixels = as_stack(path.with_name(f"{path.stem}-input.tif"))
    drawn = path.with_name(f"{path.stem}-edges.tif")
    mask = path.with_name(f"{path.stem}-mask.tif")
    labels = path.with_name(f"{path.stem}-labels.tif")
    shown = next(file for file in (drawn, mask, labels, path.with_name(f"{path.stem}-esf.tif")) if file.exists())
    result = as_stack(shown)
    if pixels.shape != result.shape:
        sys.exit(f"make_pictures: {path.stem}: input is {pixels.shape}, result {result.shape}")
    single = len(pixels) == 1
    if shown == labels:
        found = roifile.roiread(path.with_name(f"{path.stem}-outlines.zip"))
        outlines(notes, pixels[0], found, picture)
    elif shown == mask:
        montage(notes, pixels, result, picture)
    elif shown == drawn:
        segments = roifile.roiread(path.with_name(f"{path.stem}-segments.zip"))
        if single:
            edges_of_one(notes, pixels[0], result[0], segments, picture)
        else:
            edges_of_many(notes, pixels, result, segments, picture)
    elif single:
        one_slice(notes, pixels[0], result[0], picture)
    else:
        many_slices(notes, pixels, result, picture)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    notes_files = sorted(folder.glob("*.txt"))
    if not notes_files:
        sys.exit(f"make_pictures: no NAME.txt in {folder}")
    for path in notes_files:
        picture = out / f"{path.stem}.png"
        picture_of(path, picture)
        print(f"  {picture}")


if __name__ == "__main__":
    main()
