#!/usr/bin/env python3
"""Compares the speed of edge drawing with edge detectors of other programs, in one process on the same pixels.

Usage: edge_drawing_peers.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda)
chooses where Isoline runs besides the CPU. Peers that are not installed are named and skipped: OpenCV with its contributed
modules (opencv-contrib-python-headless), scikit-image, cuCIM with CuPy.

Each is called in the way that its authors show, on an 8-bit image that is ready in memory (cuCIM's on the GPU), with
equivalent thresholds where it has thresholds. Canny detectors give an edge map; EdgeDrawing gives segments as well, and
straight lines along these, and circles and ellipses, which are timed without the drawing.
"""
import os
import pathlib
import time

import numpy

import peers
import whole

SIDES = [256, 512, 1024, 2048, 4096]
THRESHOLD = 20
LINES = dict(profile="reference", gradient_threshold=THRESHOLD, line_min_length=12, line_validation=False)
ELLIPSES = dict(profile="reference", gradient_threshold=THRESHOLD)
HYSTERESIS = (20, 60)  # Canny's two; the lower one is edge drawing's


def picture(side):
    from PIL import Image

    data = pathlib.Path(os.environ.get("ISOLINE_TEST_DATA", peers.ROOT / "tests" / "data"))
    photograph = Image.open(data / "camera.pgm")
    return numpy.ascontiguousarray(photograph.resize((side, side), Image.Resampling.BICUBIC))


def isoline_calls(library, device, image):
    context = library.context(device)
    edges = numpy.zeros_like(image)
    for profile in ("paper", "reference"):
        for segments in (False, True):
            what = "map + segments" if segments else "map"
            yield f"Isoline {profile}, {what}, {device}", context.drawing_caller(
                image, edges, segments, profile=profile, gradient_threshold=THRESHOLD)
    yield f"Isoline reference, lines, {device}", whole.along_caller(context, "lines", image, **LINES)
    yield f"Isoline reference, ellipses, {device}", whole.along_caller(context, "ellipses", image, **ELLIPSES)


def with_threads(count, function):
    import cv2

    def run():
        cv2.setNumThreads(count)
        return function()
    return run


def opencv_calls(image):
    import cv2

    def canny():
        cv2.Canny(image, *HYSTERESIS)

    def smoothed_canny():
        cv2.Canny(cv2.GaussianBlur(image, (5, 5), 1), *HYSTERESIS)

    every = cv2.getNumberOfCPUs()
    yield f"OpenCV {cv2.__version__} Canny, {every} threads", with_threads(every, canny)
    yield f"OpenCV GaussianBlur + Canny, {every} threads", with_threads(every, smoothed_canny)
    yield "OpenCV GaussianBlur + Canny, 1 thread", with_threads(1, smoothed_canny)


def ximgproc_calls(image):
    import cv2

    detector = cv2.ximgproc.createEdgeDrawing()
    params = cv2.ximgproc_EdgeDrawing_Params()
    params.PFmode, params.NFAValidation, params.SumFlag = False, False, True
    params.EdgeDetectionOperator = cv2.ximgproc.EdgeDrawing_SOBEL
    params.GradientThresholdValue, params.AnchorThresholdValue = THRESHOLD, 0
    params.ScanInterval, params.MinPathLength, params.Sigma = 1, 10, 1.0
    params.MinLineLength = LINES["line_min_length"]
    detector.setParams(params)
    # detectEdges finds map and segments; the conversion of the segments to Python is not counted.
    yield "OpenCV EdgeDrawing, 1 thread", with_threads(1, lambda: detector.detectEdges(image))

    def along(find):
        detector.detectEdges(image)
        began = time.perf_counter()
        find()
        return time.perf_counter() - began

    yield "OpenCV detectLines, 1 thread", with_threads(1, lambda: along(detector.detectLines))
    yield "OpenCV detectEllipses, 1 thread", with_threads(1, lambda: along(detector.detectEllipses))


def scikit_image_calls(image):
    import skimage.feature

    yield (f"scikit-image {skimage.__version__} canny, 1 thread",
           lambda: skimage.feature.canny(image, sigma=1, low_threshold=HYSTERESIS[0], high_threshold=HYSTERESIS[1]))


def cucim_calls(image):
    import cucim
    import cucim.skimage.feature
    import cupy

    resident = cupy.asarray(image)

    def run():
        cucim.skimage.feature.canny(resident, sigma=1, low_threshold=HYSTERESIS[0], high_threshold=HYSTERESIS[1])
        cupy.cuda.Device().synchronize()

    yield f"cuCIM {cucim.__version__} canny, resident", run


PEERS = (("OpenCV", "cv2", opencv_calls), ("OpenCV's contributed modules", "cv2.ximgproc", ximgproc_calls),
         ("scikit-image", "skimage", scikit_image_calls), ("cuCIM with CuPy", "cucim", cucim_calls))


# OpenCV's Canny on a smoothed image, its EdgeDrawing, its lines, and its ellipses.
COLUMNS = peers.beside(("x Canny", "GaussianBlur + Canny"), ("x OpenCV ED", "OpenCV EdgeDrawing"),
                       ("x detectLines", "OpenCV detectLines"), ("x detectEllipses", "OpenCV detectEllipses"))


def main():
    options = peers.parse(__doc__)
    devices = peers.devices(options.library)
    others = peers.installed(PEERS)
    records = []
    for side in [256] if options.quick else SIDES:
        image = picture(side)
        calls = [call for device in devices for call in isoline_calls(options.library, device, image)]
        calls += [call for other in others for call in other(image)]
        records += peers.compare(f"camera {side}x{side}", calls, options.quick, COLUMNS, side=side)
    peers.write(options.json, records)


if __name__ == "__main__":
    main()
