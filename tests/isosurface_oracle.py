#!/usr/bin/env python3
"""Compares isosurfaces, through Isoline's C API, with scikit-image's marching_cubes: every vertex on an edge, and the areas.

Usage: isosurface_oracle.py FOLDER-OF-LIBISOLINE [--device cpu|cuda|auto]

scikit-image (Lewiner and others 2003) computes a vertex in single precision, from weights to which it adds a small number,
so that vertices agree to 0.00005 voxels. Where faces are ambiguous both may have vertices inside cells, which are left out:
scikit-image also tests the inside. There the areas agree to 2 %, elsewhere to 0.1 %: polygons that are not flat are cut into
triangles in other ways.

Volumes: distances to bodies, a gyroid, the pictures of tests/data as slices, smooth noise and noise. No voxel equals a
level.
"""
import sys

import numpy
import scipy.ndimage
import scipy.spatial
import skimage
from skimage import measure

import oracles

TOLERANCE = 5e-5


def volumes():
    """Name, volume, level, and whether it has no ambiguous faces."""
    z, y, x = numpy.mgrid[:60, :66, :70].astype(numpy.float64)
    ball = numpy.sqrt((x - 33.3) ** 2 + (y - 31.9) ** 2 + (z - 29.4) ** 2)
    yield "a ball", (20.7 - ball).astype(numpy.float32), 0.0, True
    ring = numpy.sqrt((x - 33.3) ** 2 + (y - 31.9) ** 2) - 19.1
    yield "a torus", (7.3 - numpy.sqrt(ring ** 2 + (z - 29.4) ** 2)).astype(numpy.float32), 0.0, True
    waves = [numpy.sin(axis * 0.31) for axis in (x, y, z)], [numpy.cos(axis * 0.31) for axis in (x, y, z)]
    gyroid = sum(waves[0][k] * waves[1][(k + 1) % 3] for k in range(3))
    yield "a gyroid", gyroid.astype(numpy.float32), 0.137, True
    yield "a ball of 8 bits", numpy.clip(6 * (40 - ball), 0, 255).astype(numpy.uint8), 117.5, True
    for name in ("cell", "coins"):
        picture = oracles.photograph(name)[:200, :250].astype(numpy.float64)
        stack = numpy.stack([scipy.ndimage.gaussian_filter(picture, 1 + z) for z in range(12)])
        level = int(stack.mean() * 257) + 0.5
        yield f"{name}, blurred more from slice to slice", (stack * 257).astype(numpy.uint16), level, False
    random = numpy.random.default_rng(3)
    noise = random.random((40, 50, 60))
    yield "smooth noise", scipy.ndimage.gaussian_filter(noise, 2).astype(numpy.float32), 0.5003, False
    yield "noise", noise.astype(numpy.float32), 0.6, False
    yield "noise of 8 bits", (noise * 255).astype(numpy.uint8), 127.5, False


def on_edges(vertices):
    """The vertices, in voxels, of which two coordinates are whole numbers."""
    whole = numpy.abs(vertices - numpy.round(vertices)) < TOLERANCE
    return vertices[whole.sum(1) >= 2]


def main():
    context = oracles.context(__doc__, "auto")
    compared = failed = 0
    worst = {True: 0.0, False: 0.0}
    farthest = 0.0
    for name, volume, level, plain in volumes():
        for spacing in ((1, 1, 1), (2.5, 1, 0.7)):
            own = context.isosurface(volume, level=level, close=False, spacing=spacing)
            vertices, triangles, _normals, _values = measure.marching_cubes(volume, level, spacing=spacing,
                                                                            allow_degenerate=True)
            area = measure.mesh_surface_area(vertices, triangles)
            ours, theirs = on_edges(own.vertices[:, ::-1] / spacing), on_edges(vertices / numpy.float64(spacing))
            if plain and (len(ours) < len(own.vertices) or len(theirs) < len(vertices)):
                failed += 1
                print(f"FAIL {name}: vertices inside cells")
            # Each of ours is one of theirs, and each of theirs one of ours.
            pairs = (ours, theirs), (theirs, ours)
            distances = numpy.concatenate([scipy.spatial.cKDTree(a).query(b)[0] for a, b in pairs])
            farthest, ratio = max(farthest, distances.max()), abs(own.area / area - 1)
            worst[plain] = max(worst[plain], ratio)
            compared += len(ours)
            if len(ours) != len(theirs) or distances.max() > TOLERANCE or ratio > (0.001 if plain else 0.02):
                failed += 1
                print(f"FAIL {name}, spacing {spacing}: {len(ours)} vertices, scikit-image has {len(theirs)}, up to "
                      f"{distances.max():.2g} voxels away; area {own.area:g}, scikit-image has {area:g}")
    if failed or compared < 100_000:
        sys.exit(f"oracle: {failed} comparisons differ, of {compared} vertices")
    print(f"oracle: {compared} vertices are those of scikit-image {skimage.__version__} to {farthest:.1g} voxels, areas to "
          f"{100 * worst[True]:.2g} %, with ambiguous faces {100 * worst[False]:.2g} %")


if __name__ == "__main__":
    main()
