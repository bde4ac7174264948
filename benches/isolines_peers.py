#!/usr/bin/env python3
"""Compares the speed of isolines with other programs, in one process on the same images.

Usage: isolines_peers.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]. Isoline runs on the CPU. Peers that are not installed
are named and skipped: scikit-image's find_contours, and contourpy, which draws matplotlib's contours.

All give the same points, at one level. Isoline also gives length, area and nesting of each curve. Its images are f32,
scikit-image's and contourpy's f64, to which these programs convert others.
"""
import importlib.metadata

import numpy

import peers

SIDES, QUICK_SIDES = (1024, 4096), (128,)
SKIMAGE_MOST = 1 << 20  # pixels of noise; more take it a minute


def image(shape, side):
    """Makes the same images as benches/isolines.rs."""
    y, x = numpy.ogrid[:side, :side]
    if shape == "waves":
        wave = numpy.sin(16 * numpy.pi * numpy.arange(side) / side)
        return (wave[None] + wave[:, None]).astype(numpy.float32)
    return ((y * side + x) * 7919 % 10007).astype(numpy.float32) / numpy.float32(10007)


def skimage_calls(pixels, level):
    from skimage import measure

    if pixels.size > SKIMAGE_MOST:
        return
    wide = pixels.astype(numpy.float64)
    yield f"scikit-image {importlib.metadata.version('scikit-image')}, 1 thread", lambda: measure.find_contours(wide, level)


def contourpy_calls(pixels, level):
    import contourpy

    wide = pixels.astype(numpy.float64)
    yield (f"contourpy {contourpy.__version__}, 1 thread",
           lambda: contourpy.contour_generator(z=wide, line_type=contourpy.LineType.ChunkCombinedOffset).lines(level))


PEERS = (("scikit-image", "skimage", skimage_calls), ("contourpy", "contourpy", contourpy_calls))


def main():
    options = peers.parse(__doc__)
    others = peers.installed(PEERS)
    records = []
    for side in QUICK_SIDES if options.quick else SIDES:
        for shape, level in (("waves", 0.3), ("noise", 0.5)):
            pixels = image(shape, side)
            calls = [("Isoline, cpu", options.library.context("cpu").isolines_caller(pixels, [level]))]
            calls += [call for other in others for call in other(pixels, level)]
            records += peers.compare(f"{shape} {side}x{side}", calls, options.quick, peers.beside_all, image=shape,
                                     side=side)
    peers.write(options.json, records)


if __name__ == "__main__":
    main()
