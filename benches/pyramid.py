#!/usr/bin/env python3
"""Level sets and region snakes with 1 to 4 pyramid levels, as the Markdown tables of docs/level_set.md and docs/snake.md.

Usage: pyramid.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda) says where
Isoline runs. Without --quick it fetches ch2 (scripts/fetch_brain.py).

A run is everything from image and start to mask or polygons; the least time of a few counts. Fronts and targets run to
their rest; "coarse" are the iterations of all coarse levels. Of a level set Dice compares the mask of 2, 3 and 4 levels
with that of one; overlap is the intersection over union with the truth, where there is one, of several images or objects
the mean.
"""
import functools
import pathlib
import sys
import time

import numpy
import scipy.ndimage

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import level_set_oracle as brain  # noqa: E402
import level_set_steps as steps  # noqa: E402
import snake_oracle as oracle  # noqa: E402
from isoline import LevelSet, Snake  # noqa: E402
from peers import devices, parse, write  # noqa: E402

LEVELS = (1, 2, 3, 4)
ROUNDS = 3
MOST = 10_000  # iterations
SNR = {"SNR 1": 100, "SNR 0.5": 50, "SNR 0.35": 35}  # the contrast, in noise of 100


def best(run):
    """The result of a run and the least seconds of a few."""
    least = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        found = run()
        least = min(least, time.perf_counter() - began)
    return found, least


def small_start(radius):
    y, x = oracle.rows_and_columns()
    return numpy.uint8((x - 130) ** 2 + (y - 120) ** 2 < radius ** 2)


def surfaces(quick):
    """Name, image, start, spacing, parameters, truth."""
    for name, image, start, spacing, given in steps.cases(quick):
        yield name, image, start, spacing, given, None
    square = numpy.uint8(oracle.mask_of(oracle.STARTS, (oracle.SIDE,) * 2))
    for shape, start, where in (("disc", small_start(20), "within"), ("disc", square, "around"), ("star", square, "around"),
                                ("U", square, "around")):
        truth = oracle.SHAPES[shape]()
        for noise, contrast in SNR.items():
            pixels = numpy.random.default_rng(1).normal(1000 + contrast * truth, 100).round().astype(numpy.uint16)
            yield f"{shape}, {noise}, start {where}", pixels, start, (1.0, 1.0), {"regions": "chan_vese"}, truth


def surface(context, image, start, spacing, given, levels):
    level_set = LevelSet(image, start, spacing=spacing[:image.ndim][::-1], device=context, dimensions=image.ndim,
                         pyramid_levels=levels, **given)
    report = level_set.step(MOST)
    return level_set.mask() > 0, report, level_set.state()


def level_sets(context, quick):
    print("| image | " + " | ".join(f"{levels}: iterations, coarse; ms" for levels in LEVELS) + " | Dice | overlap |\n|---" +
          "|---" * (len(LEVELS) + 2) + "|")
    records = []
    for name, image, start, spacing, given, truth in surfaces(quick):
        columns, masks = [], []
        for levels in LEVELS:
            (mask, report, state), seconds = best(functools.partial(surface, context, image, start, spacing, given, levels))
            masks.append(mask)
            rest = "" if report.converged else " (moving)"
            columns.append(f"{report.iterations}{rest}, {state.coarse_iterations}; {shown(seconds)}")
            records.append({"what": name, "levels": levels, "iterations": int(report.iterations), "seconds": seconds,
                            "coarse": int(state.coarse_iterations), "dice": brain.dice(mask, masks[0]),
                            "overlap": None if truth is None else oracle.overlap(mask, truth)})
        alike = ", ".join(f"{brain.dice(mask, masks[0]):.4f}" for mask in masks[1:])
        overlaps = "" if truth is None else ", ".join(f"{oracle.overlap(mask, truth):.3f}" for mask in masks)
        print("|", " | ".join([name, *columns, alike, overlaps]), "|", flush=True)
    return records


def shown(seconds):
    return f"{1e3 * seconds:.3g}" if seconds < 0.1 else f"{1e3 * seconds:.0f}"


def octagon(x, y, radius):
    turn = numpy.arange(8) * numpy.pi / 4
    return [(round(x + radius * numpy.cos(a)), round(y + radius * numpy.sin(a))) for a in turn]


def outlines(quick):
    """Name, images, starts, parameters, truth or labels."""
    for shape, centre in (("disc", (256, 256)), ("star", (256, 256)), ("U", (160, 256))):
        truth = numpy.kron(oracle.SHAPES[shape](), numpy.ones((2, 2), bool))
        for snr in (1, 0.3, 0.15):
            images = [numpy.random.default_rng(seed).normal(1000 + 100 * snr * truth, 100).round().astype(numpy.uint16)
                      for seed in range(1 if quick else 4)]
            for step in (4, 32):
                yield f"{shape}, SNR {snr}, steps of {step}", images, [octagon(*centre, 10)], {"largest_step": step}, truth
    labels = oracle.picture("nuclei_labels")
    boxes = [(x.start, y.start, x.stop, y.stop) for y, x in filter(None, scipy.ndimage.find_objects(labels))]
    whole = [oracle.rectangle(*box) for box in boxes]
    centres = [octagon((x0 + x1) / 2, (y0 + y1) / 2, 4) for x0, y0, x1, y1 in boxes]
    given = {"noise": "poisson", "background": "window", "overlap": "excluded", "largest_step": 4, "node_spacing": 6}
    yield "nuclei, from their boxes", [oracle.picture("nuclei")], whole, given, labels
    yield "nuclei, from octagons of radius 4", [oracle.picture("nuclei")], centres, {**given, "margin": 1.5}, labels
    if quick:
        return
    truth = numpy.kron(oracle.SHAPES["star"](), numpy.ones((16, 16), bool))
    image = numpy.random.default_rng(1).normal(1000 + 100 * truth, 100).round().astype(numpy.uint16)
    yield "star of 4096 x 4096, SNR 1, steps of 32", [image], [octagon(2048, 2048, 100)], {}, truth


def score(labels, truth):
    """The overlap of a mask; of labels the mean over the objects of the best one."""
    if truth.dtype == bool:
        return oracle.overlap(labels > 0, truth)
    found = []
    for number in filter(None, numpy.unique(truth)):
        counts = numpy.bincount(labels[truth == number], minlength=2)
        best = 1 + counts[1:].argmax()
        found.append(oracle.overlap(labels == best, truth == number))
    return numpy.mean(found)


def searched(context, image, starts, levels, given):
    snake = Snake(image, starts, device=context, pyramid_levels=levels, **given)
    snake.step()
    return snake


def snakes(context, quick):
    print("| image | " + " | ".join(f"{levels}: overlap; ms" for levels in LEVELS) + " |\n|---" + "|---" * len(LEVELS) + "|")
    records = []
    for name, images, starts, given, truth in outlines(quick):
        columns = []
        for levels in LEVELS:
            overlaps, times = [], []
            for image in images:
                snake, seconds = best(functools.partial(searched, context, image, starts, levels, given))
                overlaps.append(score(snake.labels(), truth))
                times.append(seconds)
            columns.append(f"{numpy.mean(overlaps):.3f}; {shown(numpy.mean(times))}")
            records.append({"what": name, "levels": levels, "seconds": numpy.mean(times), "overlap": numpy.mean(overlaps)})
        print("|", " | ".join([name, *columns]), "|", flush=True)
    return records


def main():
    arguments = parse(__doc__)
    context = arguments.library.context(devices(arguments.library)[-1])
    records = snakes(context, arguments.quick)
    write(arguments.json, records + level_sets(context, arguments.quick))


if __name__ == "__main__":
    main()
