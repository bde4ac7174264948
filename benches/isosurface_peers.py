#!/usr/bin/env python3
"""Compares the speed of isosurfaces with scikit-image, in one process on the same volumes.

Usage: isosurface_peers.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda) chooses
where Isoline runs besides the CPU.

Both give the same vertices on the grid's edges, normals and triangles. Isoline also gives area, volume, curvature and
topology.
"""
import importlib.metadata

import numpy

import peers

SIDES, QUICK_SIDES = (128, 256, 512), (32,)
NOISE_MOST = 256  # the side of the largest noise; more takes scikit-image a minute and tens of GiB


def volume(shape, side):
    """A gyroid, a ball, and noise, as f32; the ball is also a mask."""
    z, y, x = numpy.ogrid[:side, :side, :side]
    if shape == "gyroid":
        waves = [16 * numpy.pi * axis.astype(numpy.float32) / side for axis in (x, y, z)]
        return sum(numpy.sin(waves[k]) * numpy.cos(waves[(k + 1) % 3]) for k in range(3))
    if shape == "noise":
        return ((z * side * side + y * side + x) * 7919 % 10007).astype(numpy.float32) / numpy.float32(10007)
    squared = sum((axis - side / 2 + 0.3).astype(numpy.float32) ** 2 for axis in (x, y, z))
    ball = numpy.float32(0.4 * side) - numpy.sqrt(squared)
    return ball if shape == "ball" else numpy.where(ball > 0, numpy.uint8(255), numpy.uint8(0))


def isoline_calls(library, device, pixels, level):
    yield f"Isoline, {device}", library.context(device).isosurface_caller(pixels, level=level, close=False)


def skimage_calls(pixels, level):
    from skimage import measure

    yield (f"scikit-image {importlib.metadata.version('scikit-image')}, 1 thread",
           lambda: measure.marching_cubes(pixels, level))


PEERS = (("scikit-image", "skimage", skimage_calls),)


def main():
    options = peers.parse(__doc__)
    others = peers.installed(PEERS)
    records = []
    for side in QUICK_SIDES if options.quick else SIDES:
        for shape, level in (("gyroid", 0.137), ("ball", 0.0), ("mask of a ball", 127.5), ("noise", 0.7)):
            if shape == "noise" and side > NOISE_MOST:
                continue
            pixels = volume(shape, side)
            calls = [call for device in peers.devices(options.library)
                     for call in isoline_calls(options.library, device, pixels, level)]
            calls += [call for other in others for call in other(pixels, level)]
            records += peers.compare(f"{shape} {side}^3", calls, options.quick, peers.beside_all, image=shape, side=side)
    peers.write(options.json, records)


if __name__ == "__main__":
    main()
