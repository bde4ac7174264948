#!/usr/bin/env python3
"""The distance beside other programs, in one process on the same masks.

Usage: distance_peers.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda) says where
Isoline runs besides the CPU. Peers that are not installed are named and left out: the package edt, SciPy, OpenCV (planes
with equal spacings only), cuCIM with CuPy.

Isoline's distance is signed: of both classes, to the boundary between pixels. The peers give that of one class, to the
centres of the other's pixels; what a signed map takes of them is two calls, one of the mask and one of its inverse, and
is listed as such. Masks are ready in memory (cuCIM's on the GPU), and of one byte a pixel.
"""
import importlib
import importlib.metadata
import json
import os
import pathlib
import statistics
import sys
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from libisoline import Library  # noqa: E402

SIZES = [(256, 256, 256), (512, 512, 512), (1, 4096, 4096)]
QUICK_SIZES = [(64, 64, 64), (1, 256, 256)]
SPACINGS = [(1, 1, 1), (1, 1.5, 2.5)]  # of x, y, z
SECONDS, LEAST, MOST = 2.0, 3, 100  # of one measurement: enough time, and how many calls at least and at most
SCIPY_MOST = 1 << 24  # pixels; larger ones take it half a minute


def mask(shape, size):
    """As in benches/distance.rs."""
    z, y, x = numpy.ogrid[tuple(slice(side) for side in size)]
    depth, height, width = size
    if shape == "gyroid":
        (sx, cx), (sy, cy), (sz, cz) = ((numpy.sin(a), numpy.cos(a)) for a in (16 * numpy.pi / width * i for i in (x, y, z)))
        inside = sx * cy + sy * cz + sz * cx < 0.3
    elif shape == "ball":
        inside = sum((2 * i - (side - 1)) ** 2 for i, side in ((x, width), (y, height), (z, depth))) < (7 * width // 10) ** 2
    else:
        inside = ((z * height + y) * width + x) * 7919 % 10007 == 0
    return numpy.ascontiguousarray(inside, numpy.uint8)


def isoline_calls(library, device, inside, spacing):
    context = library.context(device)
    distances = numpy.zeros(inside.shape, numpy.float32)
    yield f"Isoline signed, {device}", context.distance_caller(inside, distances, spacing=spacing)


def both(call, inside):
    """One call of the mask, one of the mask and its inverse."""
    inverse = 1 - inside
    return (("one class", lambda: call(inside)), ("both classes", lambda: (call(inside), call(inverse))))


def edt_calls(inside, spacing):
    import edt

    threads = os.cpu_count()
    plane = inside[0] if len(inside) == 1 else inside
    along = spacing[::-1][-plane.ndim:]
    for what, run in both(lambda pixels: edt.edt(pixels, anisotropy=along, parallel=threads), plane):
        yield f"edt {importlib.metadata.version('edt')}, {what}, {threads} threads", run


def scipy_calls(inside, spacing):
    import scipy.ndimage

    if inside.size > SCIPY_MOST:
        return
    plane = inside[0] if len(inside) == 1 else inside
    along = spacing[::-1][-plane.ndim:]
    what, run = both(lambda pixels: scipy.ndimage.distance_transform_edt(pixels, sampling=along), plane)[0]
    yield f"SciPy {scipy.__version__}, {what}, 1 thread", run


def opencv_calls(inside, spacing):
    import cv2

    if len(inside) > 1 or len(set(spacing)) > 1:
        return
    for what, run in both(lambda pixels: cv2.distanceTransform(pixels, cv2.DIST_L2, cv2.DIST_MASK_PRECISE), inside[0]):
        yield f"OpenCV {cv2.__version__} precise, {what}, {cv2.getNumThreads()} threads", run


def cucim_calls(inside, spacing):
    import cupy
    import cucim
    from cucim.core.operations.morphology import distance_transform_edt

    plane = cupy.asarray(inside[0] if len(inside) == 1 else inside)
    along = spacing[::-1][-plane.ndim:]

    def call(pixels):
        distance_transform_edt(pixels, sampling=along, float64_distances=False)
        cupy.cuda.Device().synchronize()

    for what, run in both(call, plane):
        yield f"cuCIM {cucim.__version__}, {what}, resident", run


def installed():
    """The peers that are here; says which are not."""
    found = []
    for name, module, calls in (("edt", "edt", edt_calls), ("SciPy", "scipy", scipy_calls), ("OpenCV", "cv2", opencv_calls),
                                ("cuCIM with CuPy", "cucim", cucim_calls)):
        try:
            importlib.import_module(module)
            found.append(calls)
        except ImportError as error:
            print(f"left out: {name} ({error})")
    return found


def measure(calls, seconds):
    """Median and best of each, taken in turns, so that what else the machine does meets all alike."""
    times = {name: [] for name, _ in calls}
    for _, run in calls:
        run()
    started = time.perf_counter()
    while True:
        for name, run in calls:
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
        rounds = len(times[calls[0][0]])
        spent = time.perf_counter() - started
        if rounds >= MOST or (rounds >= LEAST and spent > seconds * len(calls)):
            return [{name: pick(values) for name, values in times.items()} for pick in (statistics.median, min)]


def print_table(title, medians, best):
    columns = [(f"x edt, {what}", [name for name in medians if name.startswith("edt") and f", {what}," in name])
               for what in ("one class", "both classes")]
    columns = [(label, found[0]) for label, found in columns if found]
    print(f"\n{title}: ms, and the median as a multiple of a peer's")
    print(f"  {'':<46}{'median':>10}{'best':>10}" + "".join(f"{label:>21}" for label, _ in columns))
    for name, seconds in medians.items():
        ratios = "".join(f"{seconds / medians[peer]:>21.2f}" for _, peer in columns)
        print(f"  {name:<46}{1e3 * seconds:>10.3f}{1e3 * best[name]:>10.3f}{ratios}", flush=True)


def main():
    arguments = sys.argv[1:]
    quick = "--quick" in arguments
    if quick:
        arguments.remove("--quick")
    out = None
    if "--json" in arguments:
        at = arguments.index("--json")
        out = arguments[at + 1]
        del arguments[at:at + 2]
    if len(arguments) != 1:
        sys.exit(__doc__)
    library = Library(arguments[0])
    devices = ["cpu"]
    wanted = os.environ.get("ISOLINE_BENCH_DEVICE", "auto")
    if wanted != "cpu":
        try:
            library.context("cuda" if wanted == "auto" else wanted)
            devices.append("cuda" if wanted == "auto" else wanted)
        except RuntimeError as error:
            if wanted != "auto":
                raise
            print(f"CUDA is skipped: {error}")
    records = []
    peers = installed()
    for size in QUICK_SIZES if quick else SIZES:
        for shape in ("gyroid", "ball", "specks"):
            inside = mask(shape, size)
            for spacing in SPACINGS:
                calls = [call for device in devices for call in isoline_calls(library, device, inside, spacing)]
                calls += [call for peer in peers for call in peer(inside, spacing)]
                medians, best = measure(calls, 0.02 if quick else SECONDS)
                name = "x".join(map(str, reversed(size)))
                print_table(f"{shape} {name}, spacing {' '.join(map(str, spacing))}", medians, best)
                records += [{"mask": shape, "size": size[::-1], "spacing": spacing, "what": what, "seconds": medians[what],
                             "seconds_best": best[what]} for what in medians]
    if out is not None:
        pathlib.Path(out).write_text(json.dumps({"results": records}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
