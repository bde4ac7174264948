#!/usr/bin/env python3
"""The time of whole calls through the C API, from the caller's memory to the caller's memory.

Each call runs with outputs in ordinary memory that was used before, in ordinary memory that was never touched (fresh from
the system for each call), and with all images page-locked. Beside them stands the bare link: the same bytes copied by the
driver between page-locked memory and the device, up and down, one after the other. `compute` is what the library's report
says of the device's work.

    whole.py [FOLDER-OF-LIBISOLINE] [--quick] [--json FILE] [--only WORDS]

ISOLINE_BENCH_DEVICE  auto (CPU and CUDA), cpu, cuda or cuda:N          ISOLINE_BENCH_JSON  as --json
"""
import argparse
import ctypes
import json
import mmap
import os
import pathlib
import statistics
import sys
import time
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "scripts")]
from libisoline import Library, Report  # noqa: E402

LEAST, MOST, SECONDS = 3, 40, 0.5  # calls of one measurement, and the time after which no more begin
MEMORY = ("used", "untouched", "pinned")


class Driver:
    """Page-locked memory and bare copies, through the CUDA driver."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = c_int(), c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        result = getattr(self.cuda, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name} failed with {result}")

    def page_locked(self, count):
        address = c_void_p()
        self.call("cuMemHostAlloc", byref(address), c_size_t(count), 0)
        return numpy.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8)), (count,))

    def free(self, memory):
        self.call("cuMemFreeHost", c_void_p(memory.ctypes.data))

    def link(self, up, down):
        """The seconds of copying so many bytes up and so many down: a pair."""
        count = max(up, down, 1)
        memory, device = self.page_locked(count), c_uint64()
        self.call("cuMemAlloc_v2", byref(device), c_size_t(count))
        host = c_void_p(memory.ctypes.data)
        copies = [lambda: self.call("cuMemcpyHtoD_v2", device, host, c_size_t(up)),
                  lambda: self.call("cuMemcpyDtoH_v2", host, device, c_size_t(down))]
        seconds = [measured(lambda: copy)[0] if size else 0.0 for copy, size in zip(copies, (up, down))]
        self.call("cuMemFree_v2", device)
        self.free(memory)
        return seconds


def measured(prepare):
    """The median of the seconds that calls of `prepare()` take, and their number. The first one is not counted."""
    prepare()()
    times, began = [], time.perf_counter()
    while len(times) < LEAST or (len(times) < MOST and time.perf_counter() - began < SECONDS):
        run = prepare()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times), len(times)


class Case:
    """A call: `image` as numpy array, `outputs` as (shape, dtype), and `run(call, arrays)` that makes one."""

    def __init__(self, name, image, outputs, run):
        self.name, self.image, self.outputs, self.run = name, image, outputs, run


class Call:
    """What runs need: the library, a context and the report."""

    def __init__(self, library, context):
        self.library, self.context = library, context
        self.report = library.made(Report, "report")

    def __call__(self, name, *arguments):
        self.library.call(name, *arguments)

    def describe(self, array):
        return byref(self.context.describe(array))

    def params(self, operation, **values):
        return byref(self.library.params(operation, **values))


def blobs(shape):
    """An image of smooth blobs with noise (uint8), made of one tile: soon made, and nowhere empty."""
    side = 128
    y, x = numpy.mgrid[:side, :side] / side
    tile = 110 + 90 * numpy.sin(2 * numpy.pi * x) * numpy.sin(2 * numpy.pi * y)
    tile += numpy.random.default_rng(1).integers(-20, 21, tile.shape)
    repeats = [-(-n // side) for n in shape[-2:]]
    plane = numpy.tile(tile.astype(numpy.uint8), repeats)[:shape[-2], :shape[-1]]
    return numpy.ascontiguousarray(numpy.broadcast_to(plane, shape))


def ball(shape):
    """A mask (uint8): a ball, or in a stack of few large slices a cylinder, in the middle."""
    grids = [numpy.linspace(-1, 1, n, dtype=numpy.float32)**2 for n in shape]
    inside = sum(grid.reshape([-1 if axis == i else 1 for i in range(len(shape))]) for axis, grid in enumerate(grids))
    return numpy.where(inside < 0.5, numpy.uint8(255), numpy.uint8(0))


def cases(quick):
    """All of them, small ones if `quick`."""
    def distance(shape):
        def run(call, image, outputs):
            call("distance", call.context.handle, call.describe(image), call.params("distance"), None,
                 call.describe(outputs[0]), byref(call.report))
        return Case(f"distance {label(shape)}", ball(shape), [(shape, numpy.float32)], run)

    def edge_strength(shape, iterations):
        def run(call, image, outputs):
            call("edge_strength", call.context.handle, call.describe(image),
                 call.params("edge_strength", iterations=iterations), None, call.describe(outputs[0]), byref(call.report))
        return Case(f"edge strength {label(shape)}, {iterations} iterations", blobs(shape), [(shape, numpy.float32)], run)

    def edge_drawing(shape, with_segments):
        def run(call, image, outputs):
            segments = c_void_p()
            call("edge_drawing", call.context.handle, call.describe(image), call.params("edge_drawing"), None,
                 call.describe(outputs[0]), byref(segments) if with_segments else None, byref(call.report))
            call.library.library.isoline_segments_free(segments)
        return Case(f"edge drawing {label(shape)}{', segments' if with_segments else ''}", blobs(shape),
                    [(shape, numpy.uint8)], run)

    yield from (distance(shape) for shape in ([(32,) * 3, (64,) * 3] if quick else
                                              [(32,) * 3, (128,) * 3, (256,) * 3, (512,) * 3, (300, 1024, 1024)]))
    yield from (edge_strength(*it) for it in ([((64, 64), 50)] if quick else
                [((64, 64), 50), ((4096, 4096), 200), ((64, 2048, 2048), 50), ((100, 1024, 1024), 50)]))
    yield from (edge_drawing(*it) for it in ([((64, 64), True)] if quick else
                [((64, 64), True), ((4096, 4096), False), ((4096, 4096), True), ((100, 1024, 1024), True)]))


def level_sets(quick):
    return [(32,) * 3] if quick else [(128,) * 3, (512,) * 3, (300, 1024, 1024)]


def label(shape):
    return " x ".join(str(n) for n in reversed(shape))


def images(driver, kind, case):
    """The input and a function that gives outputs of that kind of memory, with one that frees them."""
    sizes = [int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize for shape, dtype in case.outputs]

    def shaped(memory):
        return [numpy.frombuffer(m, dtype)[:int(numpy.prod(shape))].reshape(shape)
                for m, (shape, dtype) in zip(memory, case.outputs)]

    if kind == "pinned":
        memory = [driver.page_locked(size) for size in (case.image.nbytes, *sizes)]
        image = memory[0].view(case.image.dtype).reshape(case.image.shape)
        image[...] = case.image
        return image, lambda: shaped(memory[1:]), lambda: [driver.free(m) for m in memory]
    if kind == "used":
        outputs = [numpy.ones(shape, dtype) for shape, dtype in case.outputs]
        return case.image, lambda: outputs, lambda: None
    return case.image, lambda: shaped([mmap.mmap(-1, size) for size in sizes]), lambda: None


def measure_case(bench, driver, call, case):
    result = {"what": case.name, "device": bench.device}
    for kind in MEMORY if driver else MEMORY[:2]:
        image, outputs, free = images(driver, kind, case)

        def prepare(image=image, outputs=outputs):
            arrays = outputs()
            return lambda: case.run(call, image, arrays)

        result[kind], _ = measured(prepare)
        free()
    result["compute"] = call.report.seconds_compute
    if driver:
        result["up"], result["down"] = driver.link(
            case.image.nbytes, sum(int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize for shape, dtype in case.outputs))
    bench.add(result)


def measure_level_set(bench, driver, call, shape):
    """new, mask and phi of a level set, each by itself."""
    image, start, handle = blobs(shape), ball(shape), c_void_p()
    params = call.params("level_set", target=110.0, epsilon=40.0)
    free = call.library.library.isoline_level_set_free

    def new(image, start):
        free(handle)
        handle.value = None
        call("level_set_new", call.context.handle, call.describe(image), call.describe(start), params, byref(handle))

    def read(what):
        return lambda call, _, outputs: call(f"level_set_read_{what}", handle, call.describe(outputs[0]))

    result = {"what": f"level set {label(shape)}: new", "device": bench.device}
    result["used"], _ = measured(lambda: lambda: new(image, start))
    if driver:
        memory = [driver.page_locked(array.nbytes) for array in (image, start)]
        for to, array in zip(memory, (image, start)):
            to[...] = array.ravel()
        result["pinned"], _ = measured(lambda: lambda: new(*(m.reshape(shape) for m in memory)))
        new(image, start)
        for m in memory:
            driver.free(m)
        result["up"], result["down"] = driver.link(image.nbytes + start.nbytes, 0)
    bench.add(result)
    for what, kind in (("mask", numpy.uint8), ("phi", numpy.float32)):
        case = Case(f"level set {label(shape)}: {what}", image, [(shape, kind)], read(what))
        result = {"what": case.name, "device": bench.device}
        for kind in MEMORY if driver else MEMORY[:2]:
            _, outputs, release = images(driver, kind, case)

            def prepare(outputs=outputs, case=case):
                arrays = outputs()
                return lambda: case.run(call, None, arrays)

            result[kind], _ = measured(prepare)
            release()
        if driver:
            result["up"], result["down"] = driver.link(0, int(numpy.prod(shape)) * numpy.dtype(case.outputs[0][1]).itemsize)
        bench.add(result)
    free(handle)


class Bench:
    COLUMNS = ("used", "untouched", "pinned", "up", "down", "compute")

    def __init__(self):
        self.results, self.device = [], ""

    def begin(self, device):
        self.device = device
        print(f"\n{device}: ms; up and down: the bare link\n  {'':<44}" + "".join(f"{c:>11}" for c in self.COLUMNS))

    def add(self, result):
        self.results.append(result)
        numbers = (f"{1e3 * result[c]:>11.3f}" if c in result else f"{'-':>11}" for c in self.COLUMNS)
        print(f"  {result['what']:<44}" + "".join(numbers), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = next(p for p in (HERE.parent / "lib", HERE.parent / "target/release") if p.exists() or p.name == "release")
    parser.add_argument("library", nargs="?", default=default, help="the folder that libisoline.so is in")
    parser.add_argument("--quick", action="store_true", help="small images: a smoke test")
    parser.add_argument("--json", default=os.environ.get("ISOLINE_BENCH_JSON"), help="write the numbers to this file")
    parser.add_argument("--only", default="", help="only cases with these words in their names")
    parser.add_argument("--bench", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    library, bench = Library(arguments.library), Bench()
    wanted = os.environ.get("ISOLINE_BENCH_DEVICE", "auto")
    for device in ["cpu"] if wanted == "cpu" else ["cuda" if wanted == "auto" else wanted, "cpu"]:
        try:
            call = Call(library, library.context(device))
        except RuntimeError as error:
            if wanted != "auto":
                raise
            print(f"CUDA is skipped: {error}")
            continue
        driver = None if device == "cpu" else Driver()
        bench.begin(device)
        for case in cases(arguments.quick):
            if arguments.only in case.name:
                measure_case(bench, driver, call, case)
        for shape in level_sets(arguments.quick):
            if arguments.only in f"level set {label(shape)}":
                measure_level_set(bench, driver, call, shape)
    if arguments.json:
        text = json.dumps({"threads": os.cpu_count(), "results": bench.results}, indent=1)
        pathlib.Path(arguments.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
