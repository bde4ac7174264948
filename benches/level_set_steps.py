#!/usr/bin/env python3
"""Iterations of level sets to rest by the length of the time step, as the Markdown table of docs/level_set.md.

Usage: level_set_steps.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda) says where
Isoline runs. Without --quick it fetches ch2 (scripts/fetch_brain.py).

Three steps, each 0.95 of a limit: with the largest |D(I)| that the image's grey values can have, as in the paper; with
the bound of D, and curvature along all axes; the default. The first two are given as `time_step`. With a shorter step
check intervals and those between reinitialisations have as many times more iterations, so that every run tests and
repairs the front equally often in the time of the equation. Dice compares the default's mask with those of the others.
"""
import math
import pathlib
import sys
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import level_set_oracle as oracle  # noqa: E402
import level_set_peers as peers  # noqa: E402
from isoline import LevelSet  # noqa: E402
from peers import devices, parse, write  # noqa: E402

SHARE = 0.95  # of the limit, the default of cfl
MOST = 100_000  # iterations
REINITIALISE_EVERY = 6  # the default
UNIT = (1.0, 1.0, 1.0)


def noisy(name, shape, spacing, radius, noise):
    """A blurred ball or disc with strong noise, and a start of radius 8."""
    axes = numpy.meshgrid(*(numpy.arange(n) - n / 2 + 0.33 for n in shape), indexing="ij")
    distance = numpy.sqrt(sum((axis * h) ** 2 for axis, h in zip(axes, reversed(spacing[:len(shape)]))))
    image = peers.drawn(distance - radius, noise)
    return name, image, numpy.uint8(distance < 8), spacing, {"target": peers.HIGH, "epsilon": peers.EPSILON}


def cases(quick):
    """Name, image, start, spacing, parameters."""
    yield noisy("noisy ball, 64 x 64 x 64", (64, 64, 64), UNIT, 17, 16)
    yield noisy("noisy disc, 112 x 112", (112, 112), UNIT, 40, 16)
    yield noisy("noisy ball, voxels of 1 x 1 x 3", (22, 64, 64), (1.0, 1.0, 3.0), 17, 16)
    for name, image, start, target, epsilon in peers.cases(quick):
        yield name, image, start, UNIT, {"target": target, "epsilon": epsilon}
    if quick:
        return
    import fetch_brain

    fetch_brain.main()
    brain = oracle.stack()
    start = oracle.balls(oracle.STACK, oracle.STACK_SPACING, oracle.SLICE_SEEDS, oracle.RADIUS)
    yield "MRI stack, 197 x 233 x 20", brain, start, oracle.STACK_SPACING, {"target": 225, "epsilon": 30}
    head = fetch_brain.read("ch2.nii.gz")
    range_ = {"target": fetch_brain.CH2_TARGET, "epsilon": fetch_brain.CH2_EPSILON}
    yield "`ch2`", head, fetch_brain.start_in_ch2(head), UNIT, range_
    yield "`ch2`, alpha 0.2", head, fetch_brain.start_in_ch2(head), UNIT, {"alpha": fetch_brain.CH2_ALPHA, **range_}


def steps(image, spacing, target, epsilon, alpha):
    """The step of the largest |D(I)|, and the one of its bound with curvature along all axes."""
    squares = sum(1 / h ** 2 for h in spacing[:image.ndim])
    largest = max(epsilon, abs(float(image.min()) - target) - epsilon, abs(float(image.max()) - target) - epsilon)
    bound = min(largest, max(epsilon, (1 - alpha) / alpha * math.sqrt(2 * squares) / 2))
    return [SHARE / (alpha * d * math.sqrt(squares) + (1 - alpha) * squares) for d in (largest, bound)]


def run(context, image, start, spacing, given, step=None):
    """Mask, iterations, seconds and state of a run to rest, at the default step or a shorter one."""
    began = time.perf_counter()
    what = {"spacing": spacing[:image.ndim][::-1], "device": context, "dimensions": image.ndim, **given}
    surface = LevelSet(image, start, **what)
    if step is not None:
        state = surface.state()
        every = round(REINITIALISE_EVERY * max(1.0, state.time_step / step))
        interval = every * state.check_interval // REINITIALISE_EVERY
        surface = LevelSet(image, start, time_step=step, reinitialise_every=every, check_interval=interval, **what)
    report = surface.step(MOST)
    if not report.converged:
        sys.exit(f"level_set_steps: a front is not at rest after {report.iterations} iterations")
    return surface.mask() > 0, report.iterations, time.perf_counter() - began, surface.state()


def main():
    arguments = parse(__doc__)
    context = arguments.library.context(devices(arguments.library)[-1])
    records = []
    print("| image | largest D: iterations, s | bounded D: iterations, s | default: iterations, s | times fewer | Dice |\n"
          "|---|---|---|---|---|---|")
    for name, image, start, spacing, given in cases(arguments.quick):
        what = (context, image, start, spacing, given)
        default = run(*what)
        state = default[3]
        shorter = steps(image, spacing, state.target, state.epsilon, state.alpha)
        runs = [*(run(*what, step) for step in shorter), default]
        alike = [oracle.dice(default[0], one[0]) for one in runs[:2]]
        columns = [f"{iterations}, {seconds:.2f}" for _, iterations, seconds, _ in runs]
        fewer = ", ".join(f"{one[1] / default[1]:.1f}" for one in runs[:2])
        print("|", " | ".join([name, *columns, fewer, ", ".join(f"{value:.4f}" for value in alike)]), "|", flush=True)
        records.append({"what": name, "iterations": [one[1] for one in runs], "seconds": [one[2] for one in runs],
                        "dice": alike})
    write(arguments.json, records)


if __name__ == "__main__":
    main()
