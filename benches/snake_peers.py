#!/usr/bin/env python3
"""Compares the speed of region snakes with scikit-image's contours, in one process on the same noisy images;
tests/snake_oracle.py compares their results, and has their parameters.

Usage: snake_peers.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda) chooses where
Isoline runs besides the CPU.

The image is a star in noise as strong as its contrast (SNR 1), the start a rectangle around it. Times are from image to
mask: the smallest of a few for Isoline, of one for the others. The largest step grows with the image, and so does the
number of iterations of the morphological contour, whose front has to cross the image.
"""
import json
import os
import pathlib
import sys
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests")]
import snake_oracle as oracle  # noqa: E402
from isoline import Error, Library, Snake  # noqa: E402

NOISE = "Gaussian, SNR 1"
SIDES, QUICK_SIDES = [256, 512, 1024, 2048], [256]
LARGEST = {"active_contour": 512, "chan_vese": 1024, "morphological_chan_vese": 512}  # sides; larger ones take minutes
ROUNDS = 5


def contexts(library):
    device = os.environ.get("ISOLINE_BENCH_DEVICE", "auto")
    yield "cpu", library.context("cpu")
    if device != "cpu":
        try:
            yield device if device != "auto" else "cuda", library.context(device if device != "auto" else "cuda")
        except Error as error:
            print(f"CUDA is skipped: {error}")


def measure(call, rounds):
    best, mask = float("inf"), None
    for _ in range(rounds):
        began = time.perf_counter()
        mask = call()
        best = min(best, time.perf_counter() - began)
    return mask, best


def main():
    arguments = sys.argv[2:]
    target = arguments[arguments.index("--json") + 1] if "--json" in arguments else None
    devices, records = list(contexts(Library(sys.argv[1]))), []
    for side in QUICK_SIDES if "--quick" in arguments else SIDES:
        scale = side // oracle.SIDE
        truth = numpy.kron(oracle.star(), numpy.ones((scale, scale), bool))
        image = oracle.noisy(NOISE, truth)
        start = tuple((x * scale, y * scale) for x, y in oracle.STARTS[0])

        def snake(context):
            found = Snake(image, [start], device=context, largest_step=32 * scale)
            found.step()
            return found.mask() > 0

        calls = [(f"Isoline, {name}", lambda context=context: snake(context), ROUNDS) for name, context in devices]
        for (who, method), chosen in zip(oracle.METHODS.items(), oracle.PEERS[NOISE]):
            if side <= LARGEST[who]:
                calls.append((f"scikit-image {who}",
                              lambda method=method, chosen=chosen: method(image, [start], "grey", **chosen), 1))
        oracle.ITERATIONS = 200 * scale
        for who, call, rounds in calls:
            mask, seconds = measure(call, rounds)
            found = oracle.best_overlap(mask, truth)
            print(f"{side:5} x {side:<5} {who:40} {1e3 * seconds:10.1f} ms, overlap {found:.3f}", flush=True)
            records.append({"what": who, "side": side, "seconds": seconds, "overlap": found})
    if target:
        pathlib.Path(target).write_text(json.dumps({"results": records}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
