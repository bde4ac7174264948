#!/usr/bin/env python3
"""Times whole calls of the C API in milliseconds, from images in host memory to results in host memory.

Usage: whole.py [FOLDER-OF-LIBISOLINE] [--quick]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda, cuda:N) chooses where the calls
run besides the CPU, and ISOLINE_BENCH_JSON names a file for the numbers, which are in seconds there.

Shapes are width x height x depth. The columns:
  used       all images in ordinary memory that was written before
  untouched  the results in memory fresh from the system for each call, whose pages the call is the first to write
  pinned     all images in buffers of the library, which are page-locked
  up, down   the bare link: as many bytes as the images and the results have, copied by the driver between page-locked
             memory and the device, one after the other
  compute    the device's work, as the report of the last call says
The first line is the cold start: a context, and the first and the second distance of 64 x 64 x 64 in it.
Each time is the median of 3 to 40 calls after one that is not counted. Arguments are made, and the level set of the call
before is freed, outside of it; segments and region snakes are made and freed in it.
"""
import argparse
import ctypes
import functools
import json
import math
import mmap
import os
import pathlib
import statistics
import sys
import time
import weakref
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
from typing import NamedTuple

import numpy

# In a checkout isoline/ is in python/, and in a bundle of tests beside bench/.
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "python")]
from isoline import Error, LevelSet, Library, Report, Snake  # noqa: E402
from isoline._arrays import describe  # noqa: E402

LEAST, MOST, SECONDS = 3, 40, 0.25  # calls of one measurement, and the time after which no more begin
COLUMNS = ("used", "untouched", "pinned", "up", "down", "compute")
# A level set does not stop earlier with these.
ALL_ITERATIONS = {"change_tolerance": 0, "rms_tolerance": 0}
TILE = 128  # pixels: the period of the images along x and y


class Driver:
    """Bare copies through the CUDA driver, from and to its own page-locked memory; `device` as in cuda:N."""

    def __init__(self, device):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        number, context = c_int(), c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", byref(number), int(device.partition(":")[2] or 0))
        self.call("cuDevicePrimaryCtxRetain", byref(context), number)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} failed with {status}")

    def link(self, name, count):
        """Returns the seconds that cuMemcpyHtoD_v2 or cuMemcpyDtoH_v2 takes for so many bytes."""
        device, host = c_uint64(), c_void_p()
        self.call("cuMemHostAlloc", byref(host), c_size_t(count), 0)
        self.call("cuMemAlloc_v2", byref(device), c_size_t(count))
        places = (device, host) if "HtoD" in name else (host, device)
        seconds, _ = measured(lambda: lambda: self.call(name, *places, c_size_t(count)))
        self.call("cuMemFree_v2", device)
        self.call("cuMemFreeHost", host)
        return seconds


    def copy_rate(self):
        """Returns the bytes per second that a copy on the device reads and writes."""
        count, places = 1 << 30, (c_uint64(), c_uint64())
        for place in places:
            self.call("cuMemAlloc_v2", byref(place), c_size_t(count))

        def copy():
            self.call("cuMemcpyDtoD_v2", *places, c_size_t(count))
            self.call("cuCtxSynchronize")

        seconds, _ = measured(lambda: copy)
        for place in places:
            self.call("cuMemFree_v2", place)
        return 2 * count / seconds


class Case(NamedTuple):
    """A call. `bind(context, inputs, results)` takes arrays of `inputs` and of the (shape, dtype) of `results`, and returns
    a function that makes the call and returns its report, if it has one."""

    name: str
    inputs: list
    results: list
    bind: object


def measured(prepare):
    """Returns the median of the seconds that `prepare()()` takes without `prepare()`, and what the last one returned."""
    prepare()()
    times, began = [], time.perf_counter()
    while len(times) < LEAST or (len(times) < MOST and time.perf_counter() - began < SECONDS):
        run = prepare()
        start = time.perf_counter()
        returned = run()
        times.append(time.perf_counter() - start)
    return statistics.median(times), returned


def measure(case, context, driver):
    """Returns what the columns have for this case, in seconds; `driver` is None on the CPU."""
    sizes = [math.prod(shape) * numpy.dtype(dtype).itemsize for shape, dtype in case.results]

    def results(allocate):
        return [allocate(size).view(dtype).reshape(shape) for size, (shape, dtype) in zip(sizes, case.results)]

    def timed(inputs, results):
        def prepare():
            arrays = results()
            run = case.bind(context, inputs, arrays)
            # The arrays live as long as the function.
            return lambda: (run(), arrays)[0]
        return measured(prepare)

    seconds, used = {}, results(lambda count: numpy.ones(count, numpy.uint8))
    seconds["used"], report = timed(case.inputs, lambda: used)
    if sizes:
        fresh = functools.partial(results, untouched)
        seconds["untouched"], report = timed(case.inputs, fresh)
    if driver and case.inputs + sizes:
        inputs = [context.buffer(array.shape, array.dtype) for array in case.inputs]
        for array, values in zip(inputs, case.inputs):
            array[...] = values
        locked = results(lambda count: context.buffer((count,), numpy.uint8))
        seconds["pinned"], report = timed(inputs, lambda: locked)
    if driver and case.inputs:
        seconds["up"] = driver.link("cuMemcpyHtoD_v2", sum(array.nbytes for array in case.inputs))
    if driver and sizes:
        seconds["down"] = driver.link("cuMemcpyDtoH_v2", sum(sizes))
    if report:
        seconds["compute"] = report.seconds_compute
    return seconds


def untouched(count):
    """Returns bytes whose pages the system has not made yet, as malloc returns for a large image."""
    return numpy.frombuffer(mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), numpy.uint8)


def blobs(shape):
    """Returns an image (uint8) of smooth blobs with noise: one tile again and again, the same in all slices."""
    y, x = 2 * numpy.pi * numpy.mgrid[:TILE, :TILE] / TILE
    tile = 110 + 90 * numpy.sin(x) * numpy.sin(y) + numpy.random.default_rng(1).integers(-20, 21, (TILE, TILE))
    plane = numpy.tile(tile.astype(numpy.uint8), [-(-n // TILE) for n in shape[-2:]])[:shape[-2], :shape[-1]]
    return numpy.ascontiguousarray(numpy.broadcast_to(plane, shape))


def ball(shape):
    """Returns a mask (uint8) of a ball that is as wide, high and deep as 0.7 of the image."""
    squares = numpy.ix_(*(numpy.linspace(-1, 1, n, dtype=numpy.float32)**2 for n in shape))
    return numpy.where(sum(squares) < 0.5, numpy.uint8(255), numpy.uint8(0))


def image_case(name, operation, image, kind, segments=False, **parameters):
    """A call from one image to another of that type, with `segments` beside it for edge drawing."""
    def bind(context, inputs, results):
        report = Report()
        if operation == "edge_drawing":
            return context.drawing_caller(inputs[0], results[0], segments, report, **parameters)
        return context.caller(operation, inputs[0], results[0], report=report, **parameters)
    return Case(f"{operation.replace('_', ' ')} {label(image.shape)}{name}", [image], [(image.shape, kind)], bind)


def along_caller(context, noun, image, report=None, **parameters):
    """A function that finds the lines or ellipses along an image's segments, which are drawn before and freed with it."""
    handle, find = c_void_p(), context.along_caller(noun, image, report, **parameters)
    context.caller("edge_drawing", image, None, byref(handle), **parameters)()

    def run():
        find(handle)
        return report
    weakref.finalize(run, context.library.free("segments"), handle)
    return run


def along_case(noun, image, **parameters):
    """The lines or ellipses along the segments of an image, without the drawing."""
    return Case(f"edge drawing {label(image.shape)}, {noun}", [image], [],
                lambda context, inputs, results: along_caller(context, noun, inputs[0], Report(), **parameters))


def object_case(name, operation, image, **parameters):
    """A call from an image to an object with arrays, as isolines; its memory is freed at the next call."""
    def bind(context, inputs, results):
        report = Report()
        call = getattr(context, f"{operation}_caller")(inputs[0], report=report, **parameters)
        return lambda: (call(), report)[1]
    return Case(f"{operation} {label(image.shape)}{name}", [image], [], bind)


def level_set_cases(shape):
    """The calls of a level set's life: new, the first 50 iterations, the mask and phi after these."""
    image, start, surface = blobs(shape), ball(shape), []

    def evolve(context, image, start):
        # Only one is in memory.
        surface.clear()
        surface.append(LevelSet(image, start, device=context, target=110, epsilon=40, **ALL_ITERATIONS))

    def step(context, inputs, results):
        evolve(context, image, start)
        return lambda: surface[0].step(50)

    def read(what):
        def bind(context, inputs, results):
            described, _ = describe(results[0])
            return lambda: context.library.call(f"level_set_read_{what}", surface[0], byref(described))
        return bind

    def new(context, inputs, results):
        surface.clear()
        return lambda: evolve(context, *inputs)

    name = f"level set {label(shape)}"
    yield Case(f"{name}: new", [image, start], [], new)
    yield Case(f"{name}: 50 iterations", [], [], step)
    yield Case(f"{name}: mask", [], [(shape, numpy.uint8)], read("mask"))
    yield Case(f"{name}: phi", [], [(shape, numpy.float32)], read("phi"))
    surface.clear()


def squares(shape):
    """Returns a start of a region snake in a bright blob of each tile."""
    return [numpy.array([(x, y), (x + 16, y), (x + 16, y + 16), (x, y + 16)], numpy.int32)
            for y in range(24, shape[0], TILE) for x in range(24, shape[1], TILE)]


def snake_case(image, starts, iterations=None, **parameters):
    """Region snakes: new, some iterations or all until they rest, the labels."""
    def bind(context, inputs, results):
        described, _ = describe(results[0])

        def run():
            # The spacing is fixed, so that the work does not depend on the starts.
            snake = Snake(inputs[0], starts, device=context, node_spacing=16, **parameters)
            report = snake.step() if iterations is None else snake.step(iterations)
            context.library.call("snake_draw_labels", snake, byref(described))
            return report
        return run
    name = f"{len(starts)} region snakes {label(image.shape)}, {iterations} steps"
    return Case(name, [image], [(image.shape, numpy.uint16)], bind)


def cases(quick):
    """Returns all cases, those with small images if `quick`; an image is made when its turn comes."""
    for shape in [(32,) * 3, (64,) * 3] if quick else [(32,) * 3, (128,) * 3, (256,) * 3, (512,) * 3, (300, 1024, 1024)]:
        yield image_case("", "distance", ball(shape), numpy.float32)
    for shape, n in [((64, 64), 50)] + (
            [] if quick else [((4096, 4096), 200), ((64, 2048, 2048), 50), ((100, 1024, 1024), 50)]):
        yield image_case(f", {n} iterations", "edge_strength", blobs(shape), numpy.float32, iterations=n)
    for shape, segments in [((64, 64), True)] + (
            [] if quick else [((4096, 4096), False), ((4096, 4096), True), ((100, 1024, 1024), True)]):
        yield image_case(", segments" * segments, "edge_drawing", blobs(shape), numpy.uint8, segments)
    for noun in ("lines", "ellipses"):
        yield along_case(noun, blobs((64, 64) if quick else (4096, 4096)))
    for shape in [(64, 64)] if quick else [(4096, 4096), (100, 1024, 1024)]:
        yield object_case(", 1 levels", "isolines", blobs(shape), levels=[110.5])
    for shape in [(32,) * 3] if quick else [(128,) * 3, (512,) * 3]:
        yield object_case("", "isosurface", ball(shape))
    for shape in [(32,) * 3] if quick else [(128,) * 3, (512,) * 3, (300, 1024, 1024)]:
        yield from level_set_cases(shape)
    shape = (256, 256) if quick else (4096, 4096)
    yield snake_case(blobs(shape), squares(shape), 4)


def cold_start(context, began):
    """Returns the seconds of the context of a process, and of its first and second small call."""
    seconds = {"context": time.perf_counter() - began}
    case = image_case("", "distance", ball((64,) * 3), numpy.float32)
    run = case.bind(context, case.inputs, [numpy.zeros(shape, dtype) for shape, dtype in case.results])
    for name in ("first", "second"):
        start = time.perf_counter()
        run()
        seconds[name] = time.perf_counter() - start
    print("  cold start: " + ", ".join(f"{name} {1e3 * value:.1f} ms" for name, value in seconds.items()))
    return seconds


def label(shape):
    return " x ".join(str(n) for n in reversed(shape))


def parse(description, *flags):
    """Parses the arguments of a bench of whole calls; `flags` are further ones, each with its help."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(sys.argv[0]).resolve().parent.parent
    default = str(root / "lib" if (root / "lib").exists() else root / "target/release")
    parser.add_argument("library", nargs="?", default=default, type=Library, help="the folder that libisoline.so is in")
    parser.add_argument("--quick", action="store_true", help="small images: a smoke test")
    for flag, meaning in flags:
        parser.add_argument(flag, action="store_true", help=meaning)
    parser.add_argument("--bench", action="store_true", help=argparse.SUPPRESS)  # which benches of Rust are given
    return parser.parse_args()


def write(**numbers):
    """Writes the numbers to the file that is asked for, if there is one."""
    if "ISOLINE_BENCH_JSON" in os.environ:
        text = json.dumps(numbers, indent=1) + "\n"
        pathlib.Path(os.environ["ISOLINE_BENCH_JSON"]).write_text(text, encoding="utf-8")


def main():
    arguments = parse(__doc__)
    wanted, records, cold = os.environ.get("ISOLINE_BENCH_DEVICE", "auto"), [], {}
    for device in dict.fromkeys(["cuda" if wanted == "auto" else wanted, "cpu"]):
        began = time.perf_counter()
        try:
            context = arguments.library.context(device)
        except Error as error:
            if wanted != "auto":
                raise
            print(f"CUDA is skipped: {error}")
            continue
        if not cold:
            # Later contexts start in a process that has loaded everything.
            cold[device] = cold_start(context, began)
        driver = None if device == "cpu" else Driver(device)
        print(f"\n{device}: ms\n  {'':<50}" + "".join(f"{column:>11}" for column in COLUMNS))
        for case in cases(arguments.quick):
            seconds = measure(case, context, driver)
            records.append({"what": case.name, "device": device, **seconds})
            numbers = (f"{1e3 * seconds[c]:>11.3f}" if c in seconds else f"{'-':>11}" for c in COLUMNS)
            print(f"  {case.name:<50}" + "".join(numbers), flush=True)
    write(threads=os.cpu_count(), cold_start=cold, results=records)


if __name__ == "__main__":
    main()
