#!/usr/bin/env python3
"""Level sets from start to rest beside SimpleITK's ThresholdSegmentationLevelSet, in one process on the same images.

Usage: level_set_peers.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda) says where
Isoline runs besides the CPU.

Isoline runs with its defaults until it says that it is at rest. SimpleITK has no criterion that tells when a front is at
rest, so it gets as many iterations as it needs, and no more: the fewest after which its mask has a Dice of 0.999 with the
one that it has after 4000 iterations. For Isoline, "needed" is the number after which its mask has that Dice with its
last one. Times are of everything from the image and the start mask to the mask; of SimpleITK
the filter alone. The least of a few runs counts.
"""
import functools
import pathlib
import sys
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import level_set_oracle as oracle  # noqa: E402
from isoline import LevelSet  # noqa: E402
from peers import devices, parse, write  # noqa: E402

AT_REST = 4000  # iterations of SimpleITK
SAME = 0.999  # Dice
ROUNDS = 3
LOW, HIGH, EDGE, NOISE = 40, 150, 1.5, 4  # of the drawn objects: grey values, width of the edge in voxels, noise
EPSILON = 40


def drawn(distance, noise=NOISE):
    """An object of the voxels where `distance` is negative, with a blurred edge and noise of this standard deviation."""
    image = LOW + (HIGH - LOW) / (1 + numpy.exp(numpy.clip(distance / EDGE, -50, 50)))
    added = numpy.random.default_rng(0).normal(0, noise, distance.shape)
    return (image + added).round().clip(0, 255).astype(numpy.uint8)


def centred(shape):
    return numpy.meshgrid(*(numpy.arange(n) - (n - 1) / 2 for n in shape), indexing="ij")


def cases(quick):
    """Name, image, start, T, epsilon, alpha."""
    z, y, x = centred((48, 72, 80))
    level = numpy.sqrt((z / 16) ** 2 + (y / 24) ** 2 + (x / 28) ** 2)
    yield ("ellipsoid, 48 x 72 x 80", drawn((level - 1) * 20), numpy.uint8(x * x + y * y + z * z < 64), HIGH, EPSILON)
    if not quick:
        z, y, x = centred((128, 128, 128))
        radius = numpy.sqrt(x * x + y * y + z * z)
        yield "ball, 128 x 128 x 128", drawn(radius - 45), numpy.uint8(radius < 20), HIGH, EPSILON
        z, y, x = centred((64, 112, 112))
        ring = numpy.hypot(numpy.hypot(x, y) - 34, z)
        yield ("torus, 64 x 112 x 112", drawn(ring - 14), numpy.uint8(numpy.hypot(numpy.hypot(x - 34, y), z) < 7), HIGH,
               EPSILON)
    pixels = numpy.pad(oracle.stack()[oracle.SLICE], ((11, 12), (29, 30)))
    start = numpy.pad(oracle.balls(oracle.STACK, oracle.STACK_SPACING, oracle.SLICE_SEEDS, oracle.RADIUS)[oracle.SLICE],
                      ((11, 12), (29, 30)))
    for target, epsilon in ((210, 30), (215, 20)):
        yield f"MRI slice, 256 x 256, T {target}, epsilon {epsilon}", pixels, start, target, epsilon


def fewest_iterations(run, most):
    """The fewest after which the mask, the first result of `run`, is that of the most iterations, by bisection; and this
    mask."""
    rest = run(iterations=most)[0]
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if oracle.dice(run(iterations=middle)[0], rest) >= SAME:
            high = middle
        else:
            low = middle + 1
    return low, rest


def main():
    arguments = parse(__doc__)
    contexts = [(name, arguments.library.context(name)) for name in devices(arguments.library)]
    records = []
    for name, pixels, start, target, epsilon in cases(arguments.quick):
        spacing = (1.0, 1.0, 1.0)
        alpha = 1 / (1 + epsilon)  # Isoline's default where the smallest spacing is 1
        itk = functools.partial(oracle.with_itk, contexts[0][1], pixels, start, spacing, target, epsilon, alpha, rms=0)
        needed, rest = fewest_iterations(itk, AT_REST)
        theirs = min(itk(iterations=needed)[2] for _ in range(ROUNDS))
        print(f"{name}\n  {'SimpleITK':<10} {1e3 * theirs:9.1f} ms, {needed} iterations", flush=True)
        records.append({"what": name, "who": "SimpleITK", "seconds": theirs, "iterations": needed})
        for device, context in contexts:
            times = []
            for _ in range(ROUNDS):
                began = time.perf_counter()
                surface = LevelSet(pixels, start, device=context, dimensions=pixels.ndim, target=target,
                                   epsilon=epsilon)
                report = surface.step(10_000)
                mask = surface.mask() > 0
                times.append(time.perf_counter() - began)
            alike = oracle.dice(mask, rest)
            here = functools.partial(oracle.with_isoline, context, pixels, start, spacing, target, epsilon, alpha)
            ours, _ = fewest_iterations(here, report.iterations)
            rested = "at rest" if report.converged else "NOT at rest"
            print(f"  {device:<10} {1e3 * min(times):9.1f} ms, {report.iterations} iterations ({ours} needed), {rested}; "
                  f"Dice with SimpleITK {alike:.4f}; {theirs / min(times):.1f} times as fast", flush=True)
            records.append({"what": name, "who": device, "seconds": min(times), "iterations": report.iterations,
                            "needed": ours, "converged": bool(report.converged), "dice": alike})
    write(arguments.json, records)


if __name__ == "__main__":
    main()
