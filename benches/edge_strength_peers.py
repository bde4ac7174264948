#!/usr/bin/env python3
"""Compares the speed of the edge strength with the same iterations in array libraries, in one process on the same images.

Usage: edge_strength_peers.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda)
chooses where Isoline runs besides the CPU. Peers that are not installed are named and skipped: OpenCV (planes only), SciPy,
PyTorch, CuPy.

No other program has this operation. The peers compute it as their users would write it, from an 8-bit image to a field
that agrees with Isoline's to 1e-4, which is checked: OpenCV filters and accumulates a product, SciPy has a Laplace filter,
PyTorch and CuPy add shifted images. CuPy's images are on the GPU before and after, PyTorch's are on the host.
"""
import sys

import numpy

import peers

SIDES, QUICK_SIDES = [512, 1024, 2048, 4096], [256]
ITERATIONS, THRESHOLD, RHO = 50, 128, 64
TIME_STEPS = {2: 0.2, 3: 0.9 / (6 + 1 / RHO**2)}  # by dimensions; the defaults of Isoline
TOLERANCE = 1e-4


def isoline_calls(library, device, image):
    field = numpy.zeros(image.shape, numpy.float32)
    call = library.context(device).caller("edge_strength", image, field, iterations=ITERATIONS, threshold=THRESHOLD, rho=RHO)
    yield f"Isoline, {device}", lambda: (call(), field)[1]


def spread(field, steps):
    """Iterates by additions of shifted arrays; the pixel beyond the border has the value of the border pixel."""
    axes = range(field.ndim)
    here = [[tuple(part if axis == other else slice(None) for other in axes) for part in
             (slice(1, None), slice(None, -1), slice(None, 1), slice(-1, None))] for axis in axes]
    for _ in range(ITERATIONS):
        change = field * -(2 * field.ndim + 1 / RHO**2)
        for behind, ahead, first, last in here:
            change[behind] += field[ahead]
            change[ahead] += field[behind]
            change[first] += field[first]
            change[last] += field[last]
        change *= steps
        field += change
    return field


def opencv_calls(image):
    import cv2

    if image.ndim > 2:
        return
    centre = -4 - 1 / RHO**2
    kernel = numpy.array([[0, 1, 0], [1, centre, 1], [0, 1, 0]], numpy.float32)

    def run():
        inside = image > THRESHOLD
        field, steps = numpy.float32(inside), numpy.float32(TIME_STEPS[2]) * ~inside
        for _ in range(ITERATIONS):
            change = cv2.filter2D(field, cv2.CV_32F, kernel, borderType=cv2.BORDER_REPLICATE)
            cv2.accumulateProduct(change, steps, field)
        return field

    yield f"OpenCV {cv2.__version__} filter2D, {cv2.getNumThreads()} threads", run


def scipy_calls(image):
    import scipy.ndimage

    def run():
        inside = image > THRESHOLD
        field, steps = numpy.float32(inside), numpy.float32(TIME_STEPS[image.ndim]) * ~inside
        for _ in range(ITERATIONS):
            field += steps * (scipy.ndimage.laplace(field, mode="nearest") - field * numpy.float32(1 / RHO**2))
        return field

    yield f"SciPy {scipy.__version__} laplace, 1 thread", run


def torch_calls(image):
    import torch

    def run(device):
        with torch.inference_mode():
            inside = torch.as_tensor(image).to(device) > THRESHOLD
            return spread(inside.float(), TIME_STEPS[image.ndim] * (~inside).float()).cpu().numpy()

    yield f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads", lambda: run("cpu")
    if torch.cuda.is_available():
        yield f"PyTorch {torch.__version__}, GPU", lambda: run("cuda")


def cupy_calls(image):
    import cupy

    inside = cupy.asarray(image) > THRESHOLD
    steps = cupy.float32(TIME_STEPS[image.ndim]) * ~inside

    def run():
        field = spread(inside.astype(cupy.float32), steps)
        cupy.cuda.Device().synchronize()
        return field

    yield f"CuPy {cupy.__version__}, resident", run


PEERS = (("OpenCV", "cv2", opencv_calls), ("SciPy", "scipy", scipy_calls), ("PyTorch", "torch", torch_calls),
         ("CuPy", "cupy", cupy_calls))


def main():
    options = peers.parse(__doc__)
    devices, others, records = peers.devices(options.library), peers.installed(PEERS), []
    for side in QUICK_SIDES if options.quick else SIDES:
        image = numpy.random.default_rng(0).integers(0, 140, (side, side), numpy.uint8)
        calls = [call for device in devices for call in isoline_calls(options.library, device, image)]
        ours = calls[0][1]()
        calls += [call for other in others for call in other(image)]
        for name, run in calls:
            theirs = run()
            off = numpy.abs(ours - (theirs.get() if hasattr(theirs, "get") else theirs)).max()
            if off > TOLERANCE:
                sys.exit(f"edge_strength_peers: {name} differs from Isoline by {off:.2g}")
        records += peers.compare(f"noise {side}x{side}, {ITERATIONS} iterations", calls, options.quick,
                                 peers.beside(("x Isoline, cpu", "Isoline, cpu")), side=side)
    peers.write(options.json, records)


if __name__ == "__main__":
    main()
