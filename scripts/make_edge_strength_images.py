#!/usr/bin/env python3
"""Makes the pictures of docs/edge_strength.md that show what each parameter does, with examples/edge_strength.c, and that of
axes and critical points, with the Python package.

Usage: make_edge_strength_images.py FOLDER-OF-LIBISOLINE OUT. docs/images/horse.png and the like are made by 'make demo'
instead.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
from PIL import Image

from make_pictures import DATA, ROOT, Library, draw_field, draw_input, finish_bar, lay_out, plt

HEIGHT = 2.9  # inches of a panel


def edge_strength(program, name, options):
    with tempfile.NamedTemporaryFile(suffix=".pfm") as out:
        subprocess.run([program, *options.split(), DATA / f"{name}.pgm", out.name], check=True,
                       stdout=subprocess.DEVNULL)
        content = pathlib.Path(out.name).read_bytes()
    kind, size, scale, pixels = content.split(b"\n", 3)
    assert kind == b"Pf" and scale == b"-1.0", "not a little-endian grey PFM"
    width, height = map(int, size.split())
    return numpy.frombuffer(pixels, "<f4").reshape(height, width)[::-1]


def row(program, out, name, variants, crop=None):
    """The input and its edge strength with each (title, options)."""
    pixels = numpy.array(Image.open(DATA / f"{name}.png"))
    window = crop or (slice(None), slice(None))
    shown_input = pixels[window]
    aspect = shown_input.shape[1] / shown_input.shape[0]
    figure, panels, bar, _ = lay_out(1, 1 + len(variants), HEIGHT, aspect, 0.15, top=0.4)
    draw_input(panels[0][0], shown_input, (pixels.min(), pixels.max()))
    panels[0][0].set_title("input", loc="left")
    for axes, (title, options) in zip(panels[0][1:], variants):
        field = edge_strength(program, name, options)[window]
        shown = draw_field(axes, field)
        axes.set_title(title, loc="left")
        axes.set_yticklabels([])
    for axes in panels[0]:
        axes.locator_params(nbins=4)
        axes.set_xlabel("x (pixels)")
    panels[0][0].set_ylabel("y (pixels)")
    finish_bar(figure, shown, bar)
    figure.savefig(out, dpi=80)
    plt.close(figure)
    print(f"  {out}")


# The name and the colour of each class of axes and critical points, by its flag.
CLASSES = {2: ("S+ axis", "#35d05b"), 4: ("S− axis", "#ffb000"), 8: ("elliptic point", "#ff4b4b"),
           16: ("hyperbolic point", "#4a90ff")}


def skeletons(context, out, variants):
    """The silhouette's edge strength with axes and critical points, by each (title, parameters)."""
    pixels = numpy.array(Image.open(DATA / "horse.png"))
    figure, panels, bar, (width, height) = lay_out(1, len(variants), 4.2, pixels.shape[1] / pixels.shape[0], 0.15, top=0.7)
    for axes, (title, parameters) in zip(panels[0], variants):
        found, strength = context.edge_strength_axes(pixels, threshold=127, **parameters)
        shown = axes.imshow(strength, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        for points, flag in zip(found, found.lines["flags"]):
            point = {"marker": "o", "markersize": 6, "markeredgecolor": "black", "zorder": 3}
            style = {"linewidth": 1.3} if len(points) > 1 else point
            axes.plot(points[:, 0], points[:, 1], color=CLASSES[flag][1], **style)
        axes.set_title(title, loc="left")
        axes.locator_params(nbins=4)
        axes.set_xlabel("x (pixels)")
        if axes is not panels[0][0]:
            axes.set_yticklabels([])
    panels[0][0].set_ylabel("y (pixels)")
    for place, (name, colour) in enumerate(CLASSES.values()):
        figure.text((0.65 + 1.5 * place) / width, 1 - 0.25 / height, name, color=colour, fontweight="bold")
    figure.colorbar(shown, cax=bar).set_label("edge strength v")
    figure.savefig(out, dpi=80)
    plt.close(figure)
    print(f"  {out}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as work:
        native, program = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(work) / "edge_strength"
        subprocess.run(["cc", "-std=c11", "-O1", ROOT / "examples/edge_strength.c", f"-I{ROOT}/include", f"-L{native}",
                        "-lisoline", f"-Wl,-rpath,{native}", "-o", program], check=True)
        draw(program, pathlib.Path(sys.argv[2]))
    skeletons(Library(sys.argv[1]).context("cpu"), pathlib.Path(sys.argv[2]) / "axes.png", [
        ("converged, ρ = 16, axes from 8 pixels", dict(mode="converged", tolerance=1e-6, rho=16, axis_min_length=8)),
        ("200 iterations, ρ = 64", dict(iterations=200, axis_min_length=8)),
    ])


def draw(program, out):
    out.mkdir(parents=True, exist_ok=True)
    star = (slice(100, 284), slice(100, 284))
    dark = "-b -t 127"
    row(program, out / "iterations.png", "pattern", [
        ("50 iterations", f"{dark} -r 16 -n 50"),
        ("200 iterations", f"{dark} -r 16 -n 200"),
        ("1000 iterations", f"{dark} -r 16 -n 1000"),
        ("converged", f"{dark} -r 16 -c"),
    ], star)
    row(program, out / "rho.png", "horse", [
        ("ρ = 8", f"{dark} -r 8 -c"), ("ρ = 32", f"{dark} -r 32 -c"), ("ρ = 128", f"{dark} -r 128 -c"),
    ])
    row(program, out / "threshold.png", "coins", [
        ("threshold 100", "-t 100 -r 8 -c"), ("threshold 140", "-t 140 -r 8 -c"), ("threshold 180", "-t 180 -r 8 -c"),
    ])


if __name__ == "__main__":
    main()
