#!/usr/bin/env python3
"""Level sets with the parameters of the paper's figures, on drawn images of the same sizes: in noise, in a volume, and at a
gap through which a front leaks where curvature has no weight.

Usage: level_set_paper.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda) says where
Isoline runs besides the CPU.

The paper's images are not published, so organs are drawn: of intensity T on half of it, with edges blurred by 1.5 pixels.
"20 % of noise" is taken as a standard deviation of 20 % of T. Everything that is not named is at its default; a run ends at
rest. "Two regions" is the same start without T and epsilon, with `regions` = chan_vese.
"""
import time

import numpy
import scipy.ndimage

import peers
from isoline import LevelSet

SIDE, HEART = 256, (17, 160, 256)
BLUR = 1.5
ALPHA = 0.003  # of the slices
GAP, ROOM = 4, 60  # pixels: the width of the gap between two rooms, and their side


def dice(mask, truth):
    return 2 * numpy.count_nonzero(mask & truth) / max(1, numpy.count_nonzero(mask) + numpy.count_nonzero(truth))


def ellipsoid(shape, centre, radii):
    axes = numpy.ogrid[tuple(slice(0, side) for side in shape)]
    return sum(((axis - c) / r) ** 2 for axis, c, r in zip(axes, centre, radii)) <= 1


def drawn(inside, target, noise=0.0):
    """The organ of these pixels, with noise of this share of T."""
    image = scipy.ndimage.gaussian_filter(target * (0.5 + 0.5 * inside), BLUR)
    image += numpy.random.default_rng(0).normal(0, noise * target, inside.shape)
    return image.round().clip(0, 255).astype(numpy.uint8)


def liver():
    inside = ellipsoid((SIDE, SIDE), (128, 105), (62, 70)) | ellipsoid((SIDE, SIDE), (108, 165), (34, 60))
    return inside, ellipsoid((SIDE, SIDE), (128, 100), (20, 20))


def ventricles():
    inside = ellipsoid(HEART, (8, 70, 90), (6, 34, 42)) | ellipsoid(HEART, (8, 92, 170), (6, 30, 36))
    return inside, ellipsoid(HEART, (8, 70, 90), (4, 8, 8)) | ellipsoid(HEART, (8, 92, 170), (4, 8, 8))


def rooms():
    """Two rooms and the gap between them; only the first is wanted."""
    inside = numpy.zeros((128, 192), bool)
    inside[34:34 + ROOM, 20:20 + ROOM] = inside[34:34 + ROOM, 112:112 + ROOM] = True
    first = inside.copy()
    first[:, 96:] = False
    inside[64 - GAP // 2:64 + GAP // 2, 80:112] = True
    return inside, first, ellipsoid(inside.shape, (64, 50), (10, 10))


def cases(quick):
    """Name, image, truth, start and parameters."""
    truth, start = liver()
    for noise, epsilon in ((0.0, 45), (0.2, 55), (0.4, 75))[:1 if quick else 3]:
        image = drawn(truth, 180, noise)
        name = f"liver, {noise:.0%} noise"
        yield name, image, truth, start, {"target": 180, "epsilon": epsilon, "alpha": ALPHA}
        yield name, image, truth, start, {"regions": "chan_vese"}
    if quick:
        return
    truth, start = ventricles()
    image = drawn(truth, 180)
    yield "ventricles", image, truth, start, {"target": 180, "epsilon": 60, "alpha": 0.02}
    yield "ventricles", image, truth, start, {"regions": "chan_vese"}
    inside, first, start = rooms()
    image = drawn(inside, 180)
    for alpha in (ALPHA, 0.03, 0.3, 1.0):
        yield "two rooms, a gap of 4 pixels", image, first, start, {"target": 180, "epsilon": 45, "alpha": alpha}


def main():
    options = peers.parse(__doc__)
    contexts = {name: options.library.context(name) for name in peers.devices(options.library)}
    records = []
    for name, image, truth, start, parameters in cases(options.quick):
        for device, context in contexts.items():
            began = time.perf_counter()
            surface = LevelSet(image, numpy.uint8(start), device=context, dimensions=image.ndim, **parameters)
            report = surface.step(10_000)
            mask = surface.mask() > 0
            seconds = time.perf_counter() - began
            record = {"image": f"{name}, {' x '.join(str(side) for side in reversed(image.shape))}", "device": device,
                      "parameters": parameters, "dice": dice(mask, truth), "inside": int(numpy.count_nonzero(mask)),
                      "wanted": int(numpy.count_nonzero(truth)), "iterations": report.iterations, "outcome": report.ended(),
                      "seconds": seconds}
            print(f"{record['image']}, {device}, {parameters}: Dice {record['dice']:.4f}, {record['inside']} of "
                  f"{record['wanted']} inside, {report.iterations} iterations, {record['outcome']}, {1e3 * seconds:.1f} ms",
                  flush=True)
            records.append(record)
    peers.write(options.json, records)


if __name__ == "__main__":
    main()
