#!/usr/bin/env python3
"""Edge drawing beside other programs' edge detectors, in one process on the same pixels.

Usage: edge_drawing_peers.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda) says
where Isoline runs besides the CPU. Peers that are not installed are named and left out: OpenCV with its contributed
modules (opencv-contrib-python-headless), scikit-image, cuCIM with CuPy.

Each is called as its authors show it, on an 8-bit image that is ready in memory (cuCIM's on the GPU), with thresholds
that mean the same where there are such. Peers by Canny give an edge map; EdgeDrawing gives segments as well.
"""
import importlib
import json
import os
import pathlib
import statistics
import sys
import time

import numpy
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from libisoline import Library  # noqa: E402

SIDES = [256, 512, 1024, 2048, 4096]
SECONDS, LEAST, MOST = 2.0, 5, 200  # of one measurement: enough time, and how many calls at least and at most
THRESHOLD = 20
HYSTERESIS = (20, 60)  # Canny's two; the lower one is edge drawing's


def picture(side):
    data = pathlib.Path(os.environ.get("ISOLINE_TEST_DATA", ROOT / "tests" / "data"))
    photograph = Image.open(data / "camera.pgm")
    return numpy.ascontiguousarray(photograph.resize((side, side), Image.Resampling.BICUBIC))


def isoline_calls(library, device, image):
    context = library.context(device)
    edges = numpy.zeros_like(image)
    for profile in ("paper", "reference"):
        params = context.params(profile=profile, gradient_threshold=THRESHOLD)
        for segments in (False, True):
            what = "map + segments" if segments else "map"
            yield f"Isoline {profile}, {what}, {device}", context.caller(image, edges, params, segments)


def opencv_calls(image):
    import cv2

    def with_threads(count, function):
        def run():
            cv2.setNumThreads(count)
            function()
        return run

    def canny():
        cv2.Canny(image, *HYSTERESIS)

    def smoothed_canny():
        cv2.Canny(cv2.GaussianBlur(image, (5, 5), 1), *HYSTERESIS)

    every = cv2.getNumberOfCPUs()
    yield f"OpenCV {cv2.__version__} Canny, {every} threads", with_threads(every, canny)
    yield f"OpenCV GaussianBlur + Canny, {every} threads", with_threads(every, smoothed_canny)
    yield "OpenCV GaussianBlur + Canny, 1 thread", with_threads(1, smoothed_canny)
    if not hasattr(cv2, "ximgproc"):
        print("OpenCV is without its contributed modules: no EdgeDrawing")
        return
    detector = cv2.ximgproc.createEdgeDrawing()
    params = cv2.ximgproc_EdgeDrawing_Params()
    params.PFmode, params.NFAValidation, params.SumFlag = False, False, True
    params.EdgeDetectionOperator = cv2.ximgproc.EdgeDrawing_SOBEL
    params.GradientThresholdValue, params.AnchorThresholdValue = THRESHOLD, 0
    params.ScanInterval, params.MinPathLength, params.Sigma = 1, 10, 1.0
    detector.setParams(params)
    # detectEdges finds map and segments; handing the segments to Python is not counted.
    yield "OpenCV EdgeDrawing, 1 thread", with_threads(1, lambda: detector.detectEdges(image))


def scikit_image_calls(image):
    import skimage.feature

    yield (f"scikit-image {skimage.__version__} canny, 1 thread",
           lambda: skimage.feature.canny(image, sigma=1, low_threshold=HYSTERESIS[0], high_threshold=HYSTERESIS[1]))


def cucim_calls(image):
    import cupy
    import cucim
    import cucim.skimage.feature

    resident = cupy.asarray(image)

    def run():
        cucim.skimage.feature.canny(resident, sigma=1, low_threshold=HYSTERESIS[0], high_threshold=HYSTERESIS[1])
        cupy.cuda.Device().synchronize()

    yield f"cuCIM {cucim.__version__} canny, resident", run


def installed():
    """The peers that are here; says which are not."""
    found = []
    for name, module, calls in (("OpenCV", "cv2", opencv_calls), ("scikit-image", "skimage", scikit_image_calls),
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


def print_table(side, medians, best):
    columns = [(label, [name for name in medians if part in name][:1])
               for label, part in (("x Canny", "GaussianBlur + Canny"), ("x OpenCV ED", "OpenCV EdgeDrawing"))]
    columns = [(label, found[0]) for label, found in columns if found]
    print(f"\ncamera {side}x{side}: ms, and the median as a multiple of a peer's")
    print(f"  {'':<46}{'median':>10}{'best':>10}" + "".join(f"{label:>14}" for label, _ in columns))
    for name, seconds in medians.items():
        ratios = "".join(f"{seconds / medians[peer]:>14.2f}" for _, peer in columns)
        print(f"  {name:<46}{1e3 * seconds:>10.3f}{1e3 * best[name]:>10.3f}{ratios}")


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
    for side in [256] if quick else SIDES:
        image = picture(side)
        calls = [call for device in devices for call in isoline_calls(library, device, image)]
        calls += [call for peer in peers for call in peer(image)]
        medians, best = measure(calls, 0.02 if quick else SECONDS)
        print_table(side, medians, best)
        records += [{"side": side, "what": name, "seconds": medians[name], "seconds_best": best[name]} for name in medians]
    if out is not None:
        pathlib.Path(out).write_text(json.dumps({"results": records}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
