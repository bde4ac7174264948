#!/usr/bin/env python3
"""Makes the pictures of docs/edge_drawing.md, of what the library itself finds.

Usage: make_edge_drawing_images.py FOLDER-OF-LIBISOLINE OUT
"""
import pathlib
import sys

import numpy
from PIL import Image

from make_pictures import DATA, Library, plt, save

PANEL, GAP, TOP, EDGE = 2.75, 0.12, 0.34, 0.06  # inches
DOTS = 100  # an inch
# Neighbours in this list are easy to distinguish; segments use them one after the other.
COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"]
DIRECTIONS = numpy.array([[255, 255, 255], [68, 119, 170], [238, 102, 119]], numpy.uint8)
HEAD = (slice(40, 200), slice(150, 310))  # of camera: the man's head and his camera
HANDS = (slice(112, 176), slice(246, 310))
MAN = (slice(30, 350), slice(90, 410))
COINS = (slice(150, 303), slice(180, 384))


def grey(name):
    return numpy.array(Image.open(DATA / f"{name}.pgm"))


class Row:
    """Panels side by side, each a picture with a title."""

    def __init__(self, out, name, count, crop):
        self.path, self.crop = out / f"{name}.png", crop
        rows, columns = (window.stop - window.start for window in crop)
        width, height = 2 * EDGE + count * PANEL + (count - 1) * GAP, PANEL * rows / columns + TOP + EDGE
        self.figure = plt.figure(figsize=(width, height), dpi=DOTS)
        self.axes = []
        for column in range(count):
            at = [(EDGE + column * (PANEL + GAP)) / width, EDGE / height, PANEL / width, 1 - (TOP + EDGE) / height]
            axes = self.figure.add_axes(at)
            axes.set_xticks([])
            axes.set_yticks([])
            self.axes.append(axes)

    def next_panel(self, title):
        self.last = self.axes.pop(0)
        self.last.set_title(title, loc="left", fontsize=9.5)
        return self.last

    def image(self, title, pixels, limits=(0, 255), colours="gray"):
        axes = self.next_panel(title)
        axes.imshow(pixels[self.crop], cmap=colours, vmin=limits[0], vmax=limits[1], interpolation="nearest")

    def edges(self, title, edges):
        self.image(title, 255 - edges)

    def segments(self, title, pixels, segments, width=1.1):
        axes = self.next_panel(title)
        rows, columns = self.crop
        axes.imshow(255 - (255 - pixels[self.crop]) // 3, cmap="gray", vmin=0, vmax=255, interpolation="nearest",
                    extent=(columns.start - 0.5, columns.stop - 0.5, rows.stop - 0.5, rows.start - 0.5))
        for number, points in enumerate(segments):
            closed = segments.flags[number] & 1
            line = numpy.vstack([points, points[:1]]) if closed else points
            if len(line) == 1:
                axes.plot(line[:, 0], line[:, 1], ".", color=COLOURS[number % len(COLOURS)], markersize=1.5)
            axes.plot(line[:, 0], line[:, 1], "-", color=COLOURS[number % len(COLOURS)], linewidth=width)
        axes.set_xlim(columns.start - 0.5, columns.stop - 0.5)
        axes.set_ylim(rows.stop - 0.5, rows.start - 0.5)

    def lines(self, title, pixels, lines):
        self.segments(title, pixels, [])
        axes = self.last
        for number, line in enumerate(lines):
            colour = COLOURS[number % len(COLOURS)]
            axes.plot([line["x0"], line["x1"]], [line["y0"], line["y1"]], "-", color=colour, linewidth=1.3)

    def ellipses(self, title, pixels, ellipses):
        self.segments(title, pixels, [])
        turn = numpy.linspace(0, 2 * numpy.pi, 181)
        for number, one in enumerate(ellipses):
            u, v = one["semi_major"] * numpy.cos(turn), one["semi_minor"] * numpy.sin(turn)
            cos, sin = numpy.cos(one["angle"]), numpy.sin(one["angle"])
            self.last.plot(one["x"] + cos * u - sin * v, one["y"] + sin * u + cos * v, "-",
                           color=COLOURS[number % len(COLOURS)], linewidth=1.3)

    def save(self):
        assert not self.axes, f"{self.path} has empty panels"
        save(self.figure, self.path)
        plt.close(self.figure)
        print(f"  {self.path}")


def overview(context, out):
    camera = grey("camera")
    paper, found = context.edge_drawing(camera)
    strict, fewer = context.edge_drawing(camera, gradient_threshold=36, anchor_threshold=8)
    _, reference = context.edge_drawing(camera, profile="reference", gradient_threshold=36, anchor_threshold=8)
    row = Row(out, "edge_drawing", 4, MAN)
    row.image("input", camera)
    row.edges("edge map, defaults", paper)
    row.segments("segments, thresholds 36 and 8", camera, fewer)
    row.segments("the same by the reference profile", camera, reference)
    row.save()
    print(f"    defaults {len(found)}, 36 and 8: {len(fewer)}, reference {len(reference)} segments")


def steps(context, out):
    camera = grey("camera")
    smoothed, gradient, direction, anchors = context.edge_drawing_maps(camera)
    edges, _ = context.edge_drawing(camera)
    row = Row(out, "edge_drawing_steps", 5, HANDS)
    row.image("1 smoothed", smoothed)
    row.image("2 gradient", numpy.minimum(gradient, 400), (0, 400), "gray_r")
    row.image("2 direction", DIRECTIONS[direction])
    row.edges("3 anchors", anchors)
    row.edges("4 edges", edges)
    row.save()


def gradient_threshold(context, out):
    camera = grey("camera")
    row = Row(out, "edge_drawing_gradient_threshold", 4, MAN)
    for threshold in (5, 20, 60, 150):
        edges, _ = context.edge_drawing(camera, gradient_threshold=threshold)
        row.edges(f"gradient_threshold {threshold}" + (" (default)" if threshold == 20 else ""), edges)
    row.save()


def anchor_threshold(context, out):
    camera = grey("camera")
    row = Row(out, "edge_drawing_anchor_threshold", 4, MAN)
    for threshold in (0, 8, 30, 80):
        edges, _ = context.edge_drawing(camera, anchor_threshold=threshold)
        row.edges(f"anchor_threshold {threshold}" + (" (default)" if threshold == 0 else ""), edges)
    row.save()


def scan_interval(context, out):
    camera = grey("camera")
    row = Row(out, "edge_drawing_scan_interval", 4, HEAD)
    for interval in (1, 4, 16):
        edges, _ = context.edge_drawing(camera, scan_interval=interval, gradient_threshold=36, anchor_threshold=8)
        row.edges(f"scan_interval {interval}" + (" (default)" if interval == 1 else ""), edges)
    *_, anchors = context.edge_drawing_maps(camera, scan_interval=16, gradient_threshold=36, anchor_threshold=8)
    row.edges("the anchors of 16", anchors)
    row.save()


def sigma(context, out):
    coins = grey("coins")
    row = Row(out, "edge_drawing_sigma", 4, COINS)
    for value in (0, 1, 2, 4):
        _, segments = context.edge_drawing(coins, sigma=value)
        row.segments(f"sigma {value}" + (" (default)" if value == 1 else ""), coins, segments)
    row.save()


def min_length(context, out):
    camera = grey("camera")
    row = Row(out, "edge_drawing_min_length", 4, HEAD)
    for length in (1, 10, 25, 60):
        _, segments = context.edge_drawing(camera, min_length=length, gradient_threshold=36, anchor_threshold=8)
        title = f"min_length {length}" + (" (default)" if length == 10 else "")
        row.segments(title, camera, segments, 1.3)
    row.save()


def follow_turns(context, out):
    camera = grey("camera")
    row = Row(out, "edge_drawing_follow_turns", 4, HEAD)
    for follow in (0, 1):
        edges, segments = context.edge_drawing(camera, follow_turns=follow, scan_interval=16, gradient_threshold=60,
                                               anchor_threshold=30)
        row.edges(f"follow_turns {follow}" + ("" if follow else " (default)"), edges)
        row.segments("its segments", camera, segments, 1.5)
    row.save()


def validation(context, out):
    camera = grey("camera")
    row = Row(out, "edge_drawing_validation", 3, (slice(0, 512), slice(0, 512)))
    for title, chosen in (("validation none (default)", {}), ("false_alarms", {"validation": "false_alarms"}),
                          ("the same, reference", {"validation": "false_alarms", "profile": "reference"})):
        edges, segments = context.edge_drawing(camera, **chosen)
        row.edges(f"{title}: {len(segments)} segments", edges)
    row.save()


def edge_operator(context, out):
    camera = grey("camera")
    row = Row(out, "edge_drawing_operator", 3, MAN)
    for name, threshold, anchor in (("sobel", 36, 8), ("prewitt", 27, 6), ("scharr", 144, 32)):
        edges, _ = context.edge_drawing(camera, gradient_operator=name, gradient_threshold=threshold,
                                        anchor_threshold=anchor)
        row.edges(f"{name}, thresholds {threshold} and {anchor}", edges)
    row.save()


def lines(context, out):
    camera = grey("camera")
    chosen = {"profile": "reference"}
    row = Row(out, "edge_drawing_lines", 3, MAN)
    found, segments = context.edge_drawing_lines(camera, **chosen)
    row.segments(f"segments: {len(segments)} in the photograph", camera, segments)
    row.lines(f"their lines: {len(found)}", camera, found)
    longer, _ = context.edge_drawing_lines(camera, line_min_length=30, line_tolerance=1.5, **chosen)
    row.lines(f"line_min_length 30, line_tolerance 1.5: {len(longer)}", camera, longer)
    row.save()


def ellipses(context, out):
    coins = grey("coins")
    row = Row(out, "edge_drawing_ellipses", 3, tuple(slice(0, side) for side in coins.shape))
    found, segments = context.edge_drawing_ellipses(coins, profile="reference")
    row.segments(f"segments: {len(segments)} in the photograph", coins, segments)
    row.ellipses(f"their circles and ellipses: {len(found)}", coins, found)
    circles, _ = context.edge_drawing_ellipses(coins, profile="reference", ellipse_shapes="circles", ellipse_min_radius=20)
    row.ellipses(f"circles of a radius of 20 or more: {len(circles)}", coins, circles)
    row.save()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    context = Library(sys.argv[1]).context("cpu")
    out = pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    for picture in (overview, steps, gradient_threshold, anchor_threshold, scan_interval, sigma, min_length, follow_turns,
                    validation, edge_operator, lines, ellipses):
        picture(context, out)


if __name__ == "__main__":
    main()
