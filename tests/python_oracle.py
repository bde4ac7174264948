#!/usr/bin/env python3
"""Compares the results that the Python package gives for images in every kind of memory with those of packed NumPy arrays.

Usage: python_oracle.py FOLDER-OF-LIBISOLINE [--device cpu|cuda|auto]

On a CUDA device the kinds are also arrays in its memory, by __cuda_array_interface__ and by DLPack, and results that are
written there. The arrays are made by the driver, so that no package is needed that has them.
"""
import argparse
import ctypes
import os
import pathlib
import sys
from ctypes import byref, c_int, c_int64, c_size_t, c_uint64, c_void_p

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]  # isoline/ is beside this file or in python/

TYPES = (numpy.uint8, numpy.uint16, numpy.float32)
PARAMETERS = {
    "edge_strength": dict(threshold=150, iterations=37), "edge_drawing": dict(gradient_threshold=60.0),
    "edge_drawing_maps": dict(),
    "distance": dict(threshold=150, spacing=(2, 1, 1.5)), "isolines": dict(levels=[60.5, 150.5]),
    "isosurface": dict(level=110.5), "objects": dict(iterations=20),
    "level_set": dict(target=190.0, epsilon=60.0, iterations=60), "snake": dict(background="window", largest_step=4),
}
STARTS = [[(x, y), (x + 16, y), (x + 16, y + 16), (x, y + 16)] for y in range(8, 60, 24) for x in range(8, 80, 24)]


def picture():
    z, y, x = numpy.mgrid[:9, :83, :101]
    noise = numpy.random.default_rng(1).normal(0, 10, z.shape)
    return numpy.clip(120 + 80 * numpy.sin(x / 9) * numpy.sin(y / 11) * numpy.cos(z / 8) + noise, 0, 255).round()


class Driver:
    """Memory of a CUDA device, in its primary context."""

    def __init__(self, ordinal):
        self.library, self.ordinal = ctypes.CDLL("libcuda.so.1"), ordinal
        device, context = c_int(), c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", byref(device), ordinal)
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} failed with {status}")


class Interface:
    """An array on a device with __cuda_array_interface__: rows have eight pixels more than the image's."""

    def __init__(self, driver, array):
        self.driver, self.array = driver, numpy.zeros((*array.shape[:-1], array.shape[-1] + 8), array.dtype)
        self.array[..., :-8], self.shape = array, array.shape
        address = c_uint64()
        driver.call("cuMemAlloc_v2", byref(address), c_size_t(self.array.nbytes))
        driver.call("cuMemcpyHtoD_v2", address, c_void_p(self.array.ctypes.data), c_size_t(self.array.nbytes))
        self.address = address.value

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.array.dtype.str, "data": (self.address, False),
                "strides": self.array.strides, "version": 3, "stream": None}

    def __array__(self, *_, **__):
        self.driver.call("cuMemcpyDtoH_v2", c_void_p(self.array.ctypes.data), c_uint64(self.address),
                         c_size_t(self.array.nbytes))
        return self.array[..., :-8]


class Tensor:
    """The same memory with DLPack alone."""

    def __init__(self, driver, array):
        self.memory, self.shape = Interface(driver, array), array.shape

    def __array__(self, *_, **__):
        return self.memory.__array__()

    def __dlpack_device__(self):
        return 2, self.memory.driver.ordinal

    def __dlpack__(self, stream=None):
        from isoline._arrays import DLTensor
        array, axes = self.memory.array, len(self.shape)
        self.steps = (c_int64 * axes)(*(step // array.itemsize for step in array.strides))
        self.sides = (c_int64 * axes)(*self.shape)
        code = 2 if array.dtype.kind == "f" else 1
        self.tensor = DLTensor(data=self.memory.address, device_type=2, device_id=self.memory.driver.ordinal, ndim=axes,
                               code=code, bits=8 * array.itemsize, lanes=1, shape=self.sides, strides=self.steps)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def kinds(driver):
    """Functions that make of a packed array one of another kind with the same pixels."""
    def crop(array):
        canvas = numpy.zeros((*array.shape[:-2], array.shape[-2] + 3, array.shape[-1] + 5), array.dtype)
        canvas[..., 1:-2, 2:-3] = array
        return canvas[..., 1:-2, 2:-3]

    yield "a crop", crop
    yield "swapped bytes", lambda array: array.astype(array.dtype.newbyteorder())
    yield "columns first", numpy.asfortranarray
    if driver is not None:
        yield "__cuda_array_interface__", lambda array: Interface(driver, array)
        yield "DLPack", lambda array: Tensor(driver, array)


def results(isoline, name, image, start, context):
    """The arrays that an operation gives."""
    options = dict(PARAMETERS[name], device=context)
    if name == "edge_drawing":
        edges, segments = isoline.edge_drawing(image, **options)
        return edges, segments.points, segments.offsets
    if name == "edge_drawing_maps":
        return tuple(isoline.edge_drawing_maps(image, **options))
    if name == "isolines":
        found = isoline.isolines(image, **options)
        return found.points, found.lines
    if name == "isosurface":
        found = isoline.isosurface(image, **options)
        return found.vertices, found.normals, found.triangles
    if name == "objects":
        return tuple(isoline.objects(image, start, **options))
    if name == "level_set":
        return (isoline.level_set(image, start, **options),)
    if name == "snake":
        found = isoline.snake(image, STARTS, **options)
        return found.labels(), found.statistics(), *found.polygons()
    return (getattr(isoline, name)(image, **options),)


def compare(isoline, context, driver):
    compared, different = 0, []
    pixels = picture()
    start = numpy.ascontiguousarray(numpy.hypot(*(numpy.mgrid[:83, :101] - numpy.array([[[17]], [[14]]]))) < 6)
    start = numpy.broadcast_to(start, pixels.shape).astype(numpy.uint8)

    def judge(what, got, wanted):
        nonlocal compared
        compared += 1
        if len(got) != len(wanted) or any(a.tobytes() != b.tobytes() for a, b in zip(got, wanted)):
            different.append(what)

    for dtype in TYPES:
        image = pixels.astype(dtype)
        for name in PARAMETERS:
            packed, first = (image[4], start[4]) if name == "snake" else (image, start)
            wanted = results(isoline, name, packed, first, context)
            for kind, make in kinds(driver):
                got = results(isoline, name, make(packed), make(first), context)
                judge(f"{name} of {dtype.__name__} in {kind}", got, wanted)
            if driver is not None and name in ("edge_strength", "distance"):
                for out in (Interface(driver, numpy.zeros_like(wanted[0])), Tensor(driver, numpy.zeros_like(wanted[0]))):
                    returned = getattr(isoline, name)(Interface(driver, image), out=out, device=context, **PARAMETERS[name])
                    judge(f"{name} of {dtype.__name__} from device to device", [numpy.array(returned.__array__())], wanted)
    if driver is not None:
        # Without a device's name a call runs where the image is.
        report = isoline.Report()
        got = isoline.distance(Interface(driver, pixels.astype(numpy.uint8)), report=report, **PARAMETERS["distance"])
        wanted = isoline.distance(pixels.astype(numpy.uint8), device=context, **PARAMETERS["distance"])
        judge("distance where the image is", [got], [wanted])
        if report.device != f"cuda:{driver.ordinal}":
            different.append(f"distance of an image on cuda:{driver.ordinal} ran on {report.device}")
    return compared, different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="the folder that libisoline.so is in")
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda, cuda:N or auto")
    options = parser.parse_args()
    os.environ["ISOLINE_LIBRARY"] = options.library
    import isoline
    from isoline._native import default_library
    missing = default_library().operations.keys() - PARAMETERS.keys()
    if missing:
        sys.exit(f"oracle: no results of {', '.join(missing)}; add them to PARAMETERS and results()")
    context = isoline.Context(options.device)
    driver = Driver(context.device.index) if context.device.kind else None
    compared, different = compare(isoline, context, driver)
    for what in different[:10]:
        print(f"DIFFERENT: {what}")
    outcome = "NOT identical to" if different else "identical to"
    print(f"oracle: {compared} results on {context.device.id} {outcome} those of packed arrays")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
