#!/usr/bin/env python3
"""Makes the pictures of docs/snake.md, of what the library itself finds.

Usage: make_snake_images.py FOLDER-OF-LIBISOLINE OUT
"""
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first: there may be no display)
import numpy  # noqa: E402
import scipy.ndimage  # noqa: E402

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / folder) for folder in ("python", "tests")]
from isoline import Library, Snake  # noqa: E402
from make_pictures import INK  # noqa: E402,F401  (it also sets the fonts)
from snake_oracle import NOISES, STARTS, letter_u, noisy, overlap, picture, rectangle, star  # noqa: E402

PANEL, GAP, TOP = 2.3, 0.06, 0.42  # inches
DOTS = 100  # an inch
RESULT, START = "#e6194b", "#4aa3ff"
BRIGHT = 99.5  # percent of the pixels are not white
CUT = (slice(150, 400), slice(0, 512))  # of the nuclei


class Row:
    """Pictures side by side, each with a title, outlines drawn over."""

    def __init__(self, path, count, aspect=1.0, panel=PANEL):
        self.path, self.panels = path, []
        width, height = count * panel + (count - 1) * GAP, panel / aspect + TOP
        self.figure = plt.figure(figsize=(width, height), dpi=DOTS)
        for column in range(count):
            at = [column * (panel + GAP) / width, 0, panel / width, panel / aspect / height]
            self.panels.append(self.figure.add_axes(at))

    def add(self, title, pixels, starts=(), results=(), nodes=False, first=(0, 0)):
        """`first`: x and y of the first pixel, where polygons are those of a larger image."""
        axes = self.panels.pop(0)
        height, width = pixels.shape
        (x, y), white = first, numpy.percentile(pixels, BRIGHT)
        axes.imshow(pixels, cmap="gray", vmin=pixels.min(), vmax=white, interpolation="nearest",
                    extent=(x, x + width, y + height, y))
        for polygons, colour, style in ((starts, START, "--"), (results, RESULT, "-")):
            for polygon in polygons:
                closed = numpy.vstack([polygon, polygon[:1]])
                axes.plot(*closed.T, style, color=colour, linewidth=1.3, marker="o" if nodes and style == "-" else None,
                          markersize=2.6)
        axes.set_xlim(x, x + width)
        axes.set_ylim(y + height, y)
        axes.set_axis_off()
        axes.set_title(title, loc="left", fontsize=9)

    def save(self):
        assert not self.panels, f"{self.path} has empty panels"
        self.figure.savefig(self.path)
        plt.close(self.figure)
        print(f"  {self.path}")


def models(context, out):
    chosen = ["Gaussian, SNR 1", "Gaussian, same mean", "Poisson, 2 and 4 photons", "speckle, 100 and 200",
              "Rayleigh, 100 and 150", "Bernoulli, 0.3 and 0.6"]
    row, truth = Row(out / "snake.png", len(chosen), panel=1.9), star()
    for noise in chosen:
        image = noisy(noise, truth)
        snake = Snake(image, STARTS, noise=NOISES[noise][0], device=context)
        snake.step()
        row.add(f"{noise}\noverlap {overlap(snake.mask() > 0, truth):.3f}", image, STARTS, snake.polygons())
    row.save()


def steps(context, out):
    row, image = Row(out / "snake_steps.png", 5), noisy("Gaussian, SNR 1", star())
    snake = Snake(image, STARTS, device=context)
    row.add("start: 4 nodes", image, (), snake.polygons(), nodes=True)
    shown, done = 4, 0
    while len(row.panels) > 1:
        snake.step(1)
        done += 1
        nodes = len(snake.polygons()[0])
        if nodes != shown:
            row.add(f"step {done}: {nodes} nodes", image, (), snake.polygons(), nodes=True)
            shown = nodes
    snake.step()
    told = snake.statistics()[0]
    row.add(f"step {told['iterations']}, the end: {told['nodes']} nodes", image, (), snake.polygons(), nodes=True)
    row.save()


def nodes(context, out):
    settings = [(32, 0), (16, 0), (6, 0), (6, 0.5), (6, 1)]
    row, truth = Row(out / "snake_nodes.png", len(settings)), letter_u()
    image = noisy("Gaussian, SNR 0.5", truth)
    for spacing, cost in settings:
        snake = Snake(image, STARTS, node_spacing=spacing, node_cost=cost, device=context)
        snake.step()
        found = f"{len(snake.polygons()[0])} nodes, overlap {overlap(snake.mask() > 0, truth):.3f}"
        row.add(f"spacing {spacing}, cost {cost}\n{found}", image, (), snake.polygons(), nodes=True)
    row.save()


def nuclei(context, out):
    image, labels = picture("nuclei"), picture("nuclei_labels")
    boxes = [(x.start, y.start, x.stop, y.stop) for y, x in filter(None, scipy.ndimage.find_objects(labels))]
    starts = [rectangle(*box) for box in boxes]
    snake = Snake(image, starts, noise="poisson", background="window", largest_step=4, node_spacing=6, device=context)
    snake.step()
    rows, columns = CUT
    row = Row(out / "snake_nuclei.png", 2, panel=5.2, aspect=(columns.stop - columns.start) / (rows.stop - rows.start))
    first = columns.start, rows.start
    row.add(f"{len(starts)} starts", image[CUT], starts, (), first=first)
    row.add("outlines", image[CUT], (), snake.polygons(), first=first)
    row.save()


def main():
    context, out = Library(sys.argv[1]).context("auto"), pathlib.Path(sys.argv[2])
    for draw in (models, steps, nodes, nuclei):
        draw(context, out)


if __name__ == "__main__":
    main()
