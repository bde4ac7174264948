#!/usr/bin/env python3
"""Compares the speed of the distance with other programs, in one process on the same masks.

Usage: distance_peers.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda) chooses
where Isoline runs besides the CPU. Peers that are not installed are named and skipped: the package edt, SciPy, OpenCV
(planes with equal spacings only), SimpleITK, cuCIM with CuPy.

Isoline's distance is signed: it covers both classes, to the boundary between pixels. SimpleITK's is signed, too, to the
centres of the boundary's pixels. The other peers compute one class, to the centres of the other's pixels; a signed map
takes two calls of them, one of the mask and one of its inverse, and is listed as such. Masks are ready in memory (cuCIM's
on the GPU), with one byte per pixel.
"""
import importlib.metadata
import os

import numpy

import peers

SIZES = [(256, 256, 256), (512, 512, 512), (1, 4096, 4096)]
QUICK_SIZES = [(64, 64, 64), (1, 256, 256)]
SPACINGS = [(1, 1, 1), (1, 1.5, 2.5)]  # of x, y, z
SCIPY_MOST = 1 << 24  # pixels; larger ones take it half a minute


def mask(shape, size):
    """Makes the same masks as benches/distance.rs."""
    z, y, x = numpy.ogrid[tuple(slice(side) for side in size)]
    depth, height, width = size
    if shape == "gyroid":
        (sx, cx), (sy, cy), (sz, cz) = ((numpy.sin(a), numpy.cos(a)) for a in (16 * numpy.pi / width * i for i in (x, y, z)))
        inside = sx * cy + sy * cz + sz * cx < 0.3
    elif shape == "ball":
        inside = sum((2 * i - (side - 1)) ** 2 for i, side in ((x, width), (y, height), (z, depth))) < (7 * width // 10) ** 2
    elif shape == "half-space":
        sides = ((80, x, width), (53, y, height), (28, z, depth))
        inside = sum(part * (2 * i - (side - 1)) for part, i, side in sides) > 600
    else:
        inside = ((z * height + y) * width + x) * 7919 % 10007 == 0
    return numpy.ascontiguousarray(inside, numpy.uint8)


def isoline_calls(library, device, inside, spacing):
    context = library.context(device)
    distances = numpy.zeros(inside.shape, numpy.float32)
    yield f"Isoline signed, {device}", context.caller("distance", inside, distances, spacing=spacing[::-1])


def both(call, inside):
    """Returns one call of the mask, and one of the mask and its inverse."""
    inverse = 1 - inside
    return (("one class", lambda: call(inside)), ("both classes", lambda: (call(inside), call(inverse))))


# The peers get a plane or a volume, with its spacings in the order of its axes.

def edt_calls(plane, along):
    import edt

    threads = os.cpu_count()
    for what, run in both(lambda pixels: edt.edt(pixels, anisotropy=along, parallel=threads), plane):
        yield f"edt {importlib.metadata.version('edt')}, {what}, {threads} threads", run


def scipy_calls(plane, along):
    import scipy.ndimage

    if plane.size > SCIPY_MOST:
        return
    what, run = both(lambda pixels: scipy.ndimage.distance_transform_edt(pixels, sampling=along), plane)[0]
    yield f"SciPy {scipy.__version__}, {what}, 1 thread", run


def opencv_calls(plane, along):
    import cv2

    if plane.ndim > 2 or len(set(along)) > 1:
        return
    for what, run in both(lambda pixels: cv2.distanceTransform(pixels, cv2.DIST_L2, cv2.DIST_MASK_PRECISE), plane):
        yield f"OpenCV {cv2.__version__} precise, {what}, {cv2.getNumThreads()} threads", run


def itk_calls(plane, along):
    import SimpleITK

    image = SimpleITK.GetImageFromArray(plane)
    image.SetSpacing(along[::-1])
    call = SimpleITK.SignedMaurerDistanceMapImageFilter()
    call.SetUseImageSpacing(True)
    call.SetSquaredDistance(False)
    yield (f"SimpleITK {SimpleITK.__version__} Maurer, signed, {call.GetNumberOfThreads()} threads",
           lambda: call.Execute(image))


def cucim_calls(plane, along):
    import cucim
    import cupy
    from cucim.core.operations.morphology import distance_transform_edt

    def call(pixels):
        distance_transform_edt(pixels, sampling=along, float64_distances=False)
        cupy.cuda.Device().synchronize()

    for what, run in both(call, cupy.asarray(plane)):
        yield f"cuCIM {cucim.__version__}, {what}, resident", run


PEERS = (("edt", "edt", edt_calls), ("SciPy", "scipy", scipy_calls), ("OpenCV", "cv2", opencv_calls),
         ("SimpleITK", "SimpleITK", itk_calls), ("cuCIM with CuPy", "cucim", cucim_calls))


# edt's call for one class, and its two calls for both.
COLUMNS = peers.beside(*((f"x edt, {what}", "edt", f", {what},") for what in ("one class", "both classes")))


def main():
    options = peers.parse(__doc__)
    devices = peers.devices(options.library)
    others = peers.installed(PEERS)
    records = []
    for size in QUICK_SIZES if options.quick else SIZES:
        for shape in ("gyroid", "ball", "specks", "half-space"):
            inside = mask(shape, size)
            for spacing in SPACINGS:
                calls = [call for device in devices for call in isoline_calls(options.library, device, inside, spacing)]
                plane = inside[0] if len(inside) == 1 else inside
                calls += [call for other in others for call in other(plane, spacing[::-1][-plane.ndim:])]
                name = "x".join(map(str, reversed(size)))
                title = f"{shape} {name}, spacing {' '.join(map(str, spacing))}"
                records += peers.compare(title, calls, options.quick, COLUMNS, mask=shape, size=size[::-1], spacing=spacing)
    peers.write(options.json, records)


if __name__ == "__main__":
    main()
