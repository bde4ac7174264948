#!/usr/bin/env python3
"""Makes the picture of docs/isosurface.md, of what the library itself computes.

Usage: make_isosurface_images.py FOLDER-OF-LIBISOLINE OUT
"""
import pathlib
import sys

import numpy
from matplotlib.colors import to_rgb
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from make_pictures import Library, plt

HEIGHT, DOTS = 3.6, 100  # inches, and dots of one
LIGHT = numpy.array([-0.4, -0.8, -0.45])


def draw(axes, surface, colour, edges):
    corners = surface.vertices[surface.triangles.astype(int)]
    normals = numpy.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= numpy.maximum(numpy.linalg.norm(normals, axis=1), 1e-12)[:, None]
    shade = 0.35 + 0.65 * numpy.clip(normals @ (LIGHT / numpy.linalg.norm(LIGHT)), 0, 1)
    colours = shade[:, None] * numpy.array(to_rgb(colour))
    axes.add_collection3d(Poly3DCollection(corners, facecolors=colours, edgecolors="black" if edges else colours,
                                           linewidths=0.3 if edges else 0.1))
    low, high = surface.vertices.min(0), surface.vertices.max(0)
    for limits, a, b in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), low, high, strict=True):
        limits(a, b)
    axes.set_box_aspect(high - low, zoom=1.05)
    axes.set_axis_off()


def main():
    library, out = Library(sys.argv[1]), pathlib.Path(sys.argv[2])
    context = library.context("cpu")
    figure = plt.figure(figsize=(2.1 * HEIGHT, HEIGHT), dpi=DOTS)
    for place, (shape, step, colour, edges) in enumerate((((60, 60, 60), 0.31, "#e0b080", False),
                                                          ((14, 14, 14), 0.45, "#8fb8de", True))):
        z, y, x = (step * axis for axis in numpy.mgrid[:shape[0], :shape[1], :shape[2]])
        waves = numpy.sin(x) * numpy.cos(y) + numpy.sin(y) * numpy.cos(z) + numpy.sin(z) * numpy.cos(x)
        surface = context.isosurface(waves.astype(numpy.float32), level=0.2, close=not edges)
        axes = figure.add_axes((place * 0.5, 0, 0.5, 1), projection="3d", proj_type="ortho")
        draw(axes, surface, colour, edges)
        axes.view_init(elev=-65, azim=-70)
    figure.savefig(out / "isosurface.png", dpi=DOTS)


if __name__ == "__main__":
    main()
