#!/usr/bin/env python3
"""Measures level sets of volumes that do not fit the memory of the GPU, where phi is stored near the front only.

Usage: level_set_large.py FOLDER-OF-LIBISOLINE [--size WIDTH DEPTH] [--limit GIB] [--compare] [--json FILE]
  --size     slices of WIDTH x WIDTH pixels, DEPTH of them (default 2048 512); the host needs 3 bytes a voxel
  --limit    the memory that the level set may use, in GiB (default: what the card has)
  --iterations  of the level set (default 1000)
  --compare  also without the limit, and count the voxels in which the masks differ

The volume is the brain of tests/data/brain.tif (20 slices of 1 x 1 x 2 mm), made 4 times as large (z: 8 times) by linear
interpolation, repeated along all axes, every second time mirrored along z, and darker or brighter by up to 3 levels. In each
repetition four balls in the white matter are the start. ISOLINE_BENCH_DEVICE names the device (default cuda).
"""
import argparse
import json
import os
import pathlib
import sys
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
from isoline import Context, LevelSet, Library  # noqa: E402

DATA = pathlib.Path(os.environ.get("ISOLINE_TEST_DATA", ROOT / "tests/data"))
BRAIN, PIXELS_AT = (20, 233, 197), 832  # the shape and where in the file its pixels begin
LARGER = (8, 4, 4)
STARTS, RADIUS = [(70, 82), (127, 82), (70, 152), (127, 152)], 8  # in pixels of the file
RANGE = {"target": 215, "epsilon": 20, "alpha": 0.2}


def brain():
    """The brain and its start."""
    size = BRAIN[0] * BRAIN[1] * BRAIN[2]
    pixels = numpy.fromfile(DATA / "brain.tif", numpy.uint8, size, offset=PIXELS_AT).reshape(BRAIN).astype(numpy.float32)
    for axis, factor in enumerate(LARGER):
        at = numpy.arange(pixels.shape[axis] * factor, dtype=numpy.float32) / factor
        low = numpy.minimum(at.astype(int), pixels.shape[axis] - 2)
        share = (at - low).clip(0, 1).reshape([-1 if other == axis else 1 for other in range(3)])
        pixels = pixels.take(low, axis) * (1 - share) + pixels.take(low + 1, axis) * share
    start, radius = numpy.zeros(pixels.shape, numpy.uint8), RADIUS * LARGER[2]
    z, y, x = numpy.ogrid[-radius:radius + 1, -radius:radius + 1, -radius:radius + 1]
    for column, row in STARTS:
        box = tuple(slice(at - radius, at + radius + 1) for at in (9 * LARGER[0], row * LARGER[1], column * LARGER[2]))
        start[box] |= z ** 2 + y ** 2 + x ** 2 <= radius ** 2
    return pixels.astype(numpy.uint8), start


def repeated(width, depth):
    """The volume and its start."""
    pixels, start = brain()
    volume, starts = (numpy.zeros((depth, width, width), numpy.uint8) for _ in range(2))
    planes, rows, columns = pixels.shape
    for number, z in enumerate(range(0, depth, planes)):
        order = slice(None, None, -1 if number % 2 else 1)
        brighter = numpy.where(pixels > 50, pixels + number % 7 - 3, pixels).astype(numpy.uint8)[order]
        for target, source in ((volume, brighter), (starts, start[order])):
            for y in range(0, width, rows):
                for x in range(0, width, columns):
                    target[z:z + planes, y:y + rows, x:x + columns] = source[:depth - z, :width - y, :width - x]
    return volume, starts


def run(context, volume, starts, iterations):
    """The mask, and the times and sizes of a run."""
    began = time.perf_counter()
    with LevelSet(volume, starts, device=context, change_tolerance=0, rms_tolerance=0, **RANGE) as surface:
        started = time.perf_counter()
        report = surface.step(iterations)
        stepped = time.perf_counter()
        mask = surface.mask()
        state = surface.state()
        found = {"new": started - began, "step": stepped - started, "mask": time.perf_counter() - stepped,
                 "iterations": report.iterations, "stored tiles": state.stored_tiles,
                 "tiles": state.tiles, "inside": state.inside, "GiB": report.peak_device_bytes / 2 ** 30}
    return mask, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Library, help="the folder that libisoline.so is in")
    parser.add_argument("--size", type=int, nargs=2, default=(2048, 512), metavar=("WIDTH", "DEPTH"))
    parser.add_argument("--limit", type=float, metavar="GIB")
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    volume, starts = repeated(*options.size)
    context = Context(os.environ.get("ISOLINE_BENCH_DEVICE", "cuda"), library=options.library)
    limit = int((options.limit or 0) * 2 ** 30)
    context.set_memory_limit(limit)
    mask, found = run(context, volume, starts, options.iterations)
    results = {"size": options.size, "limit": options.limit, "limited": found}
    print(options.size, "limit", options.limit, found, flush=True)
    if options.compare:
        context.trim()
        context.set_memory_limit(0)
        whole, results["whole"] = run(context, volume, starts, options.iterations)
        differing = sum(int(numpy.count_nonzero(a != b)) for a, b in zip(mask, whole))
        results["differing"] = differing
        print("whole", results["whole"], f"{differing} of {found['inside']} voxels differ", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
