#!/usr/bin/env python3
"""Times whole calls of the C API against size, threads, depth of a stack and number of targets, beside other programs.

Usage: sizes.py [FOLDER-OF-LIBISOLINE] [--quick] [--only-size]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda, cuda:N) chooses where
Isoline runs besides the CPU, and ISOLINE_BENCH_JSON names a file for the numbers, which are in seconds there.

All programs get the same images, in ordinary memory that was used before ("resident": on the GPU), and all processors,
except where threads are varied. Peers are called as benches/*_peers.py call them; those that are not installed are listed.
A time is the median of up to 40 calls within a tenth of a second, at least one, after one that is not counted. A row ends
before a call that should take more than a second, to judge by the one before and the number of pixels, and says so.
"""
import contextlib
import os
import pathlib
import statistics
import sys
import time
from typing import NamedTuple

import numpy

# In a checkout the modules are in these folders, and in a bundle of tests in the one above bench/.
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), *(str(ROOT / folder) for folder in ("python", "benches", "tests"))]
import distance_peers  # noqa: E402
import edge_drawing_peers  # noqa: E402
import edge_strength_peers  # noqa: E402
import isolines_peers  # noqa: E402
import isosurface_peers  # noqa: E402
import peers  # noqa: E402
import whole  # noqa: E402

MOST, SECONDS, LONGEST = 40, 0.1, 1.0  # calls of one time, and their seconds together; of the longest call
SIDES = {2: (64, 128, 256, 512, 1024, 2048, 4096, 8192), 3: (32, 64, 128, 256, 512)}
QUICK_SIDES = {2: (64, 128), 3: (16, 32)}
THREADS, SIDE_OF_THREADS = (1, 2, 4, 8, 16), {2: 2048, 3: 128}
DEPTHS, SIDE_OF_STACK = (1, 4, 16, 64), 1024
TARGETS, SIDE_OF_TARGETS = (1, 10, 100, 1000), 4096
ITERATIONS, TARGET, EPSILON = 50, 110, 40  # of level sets
NOISE, NOISE_SIDE = "Gaussian, SNR 1", 1024  # of the image of a region snake, as tests/snake_oracle.py names it


class Operation(NamedTuple):
    """`case(shape)` is Isoline's call; of each peer (name, module, calls), `calls(case)` yields names and calls on the same
    image. A call may return its own seconds."""

    name: str
    dimensions: int
    case: object
    peers: tuple = ()


def image_case(operation, picture, kind, segments=False, **parameters):
    return lambda shape: whole.image_case("", operation, picture(shape), kind, segments, **parameters)


def level_set(shape):
    """A level set from image and start to the mask after some iterations."""
    def bind(context, inputs, results):
        described, _ = whole.describe(results[0])

        def run():
            surface = whole.LevelSet(*inputs, device=context, target=TARGET, epsilon=EPSILON, **whole.ALL_ITERATIONS)
            surface.step(ITERATIONS)
            context.library.call("level_set_read_mask", surface, whole.byref(described))
        return run
    name = f"level set {whole.label(shape)}, {ITERATIONS} iterations"
    return whole.Case(name, [whole.blobs(shape), whole.ball(shape)], [(shape, numpy.uint8)], bind)


def itk_level_set(case):
    import SimpleITK

    import level_set_oracle

    image, start = case.inputs
    cpu = arguments.library.context("cpu")
    yield (f"SimpleITK {SimpleITK.__version__} ThresholdSegmentationLevelSet, {ITERATIONS} iterations",
           lambda: level_set_oracle.with_itk(cpu, image, start, (1.0, 1.0, 1.0), TARGET, EPSILON, 1 / (1 + EPSILON),
                                             ITERATIONS, rms=0)[2])


def square(side):
    """Returns the start around the disc that `ball` makes."""
    low, high = side // 10, side - side // 10
    return (low, low), (high, low), (high, high), (low, high)


def snake(shape):
    """A region snake around a disc in noise as strong as its contrast, until it rests."""
    random, tiles = numpy.random.default_rng(0), -(-shape[0] // NOISE_SIDE)
    noise = numpy.tile(random.normal(1000, 100, (NOISE_SIDE, NOISE_SIDE)), (tiles, tiles))[:shape[0], :shape[1]]
    image = (noise + 100 * (whole.ball(shape) > 0)).round().clip(0, 65535).astype(numpy.uint16)
    return whole.snake_case(image, [square(shape[0])], largest_step=max(1, min(4096, shape[0] // 8)))


def contours(case):
    import skimage

    import snake_oracle

    image = case.inputs[0]
    for (name, method), chosen in zip(snake_oracle.METHODS.items(), snake_oracle.PEERS[NOISE]):
        def run(method=method, chosen=chosen):
            snake_oracle.ITERATIONS = 200 * len(image) // snake_oracle.SIDE  # the front has to cross the image
            method(image, [square(len(image))], "grey", **chosen)
        yield f"scikit-image {skimage.__version__} {name}, 1 thread", run


def targets(count):
    """Region snakes in bright blobs, each with a background of its own, until they rest."""
    shape = (SIDE_OF_TARGETS,) * 2
    starts = whole.squares(shape)
    return whole.snake_case(whole.blobs(shape), starts[::len(starts) // count][:count], background="window")


def chosen(table, prepare, *words):
    """Returns peers from the table of a file *_peers.py: those calls on `prepare(image)` whose name has one of the words."""
    def of(calls):
        return lambda case: (call for call in calls(*prepare(case.inputs[0])) if any(word in call[0] for word in words))
    return tuple((name, module, of(calls)) for name, module, calls in table)


def without_spacing(inside):
    plane = inside.squeeze()
    return plane, (1,) * plane.ndim


def operations():
    f32, u8 = numpy.float32, numpy.uint8
    ours = dict(iterations=edge_strength_peers.ITERATIONS, threshold=edge_strength_peers.THRESHOLD)
    drawing = dict(gradient_threshold=edge_drawing_peers.THRESHOLD)
    every = f", {os.cpu_count()} threads"
    for n, stack in ((2, "slices"), (3, "volume")):
        yield Operation(f"distance, {n}D", n, image_case("distance", whole.ball, f32),
                        chosen(distance_peers.PEERS, without_spacing, "one class", "signed"))
        yield Operation(f"edge strength, {n}D", n, image_case("edge_strength", whole.blobs, f32, dimensions=stack, **ours),
                        chosen(edge_strength_peers.PEERS, lambda image: (image,), ""))
        yield Operation(f"edge strength converged, {n}D", n, image_case(
            "edge_strength", whole.blobs, f32, dimensions=stack, mode="converged", threshold=ours["threshold"]))
        yield Operation(f"level set, {n}D", n, level_set, (("SimpleITK", "SimpleITK", itk_level_set),))
    yield Operation("edge drawing, map", 2, image_case("edge_drawing", whole.blobs, u8, **drawing), chosen(
        edge_drawing_peers.PEERS, lambda image: (image,), f"GaussianBlur + Canny{every}", "canny"))
    yield Operation("edge drawing, segments", 2, image_case("edge_drawing", whole.blobs, u8, True, **drawing), chosen(
        edge_drawing_peers.PEERS, lambda image: (image,), "EdgeDrawing"))
    yield Operation("edge drawing, lines", 2,
                    lambda shape: whole.along_case("lines", whole.blobs(shape), **edge_drawing_peers.LINES),
                    chosen(edge_drawing_peers.PEERS, lambda image: (image,), "detectLines"))
    yield Operation("edge drawing, ellipses", 2,
                    lambda shape: whole.along_case("ellipses", whole.blobs(shape), **edge_drawing_peers.ELLIPSES),
                    chosen(edge_drawing_peers.PEERS, lambda image: (image,), "detectEllipses"))
    yield Operation("isolines", 2, lambda shape: whole.object_case("", "isolines", whole.blobs(shape), levels=[110.5]),
                    chosen(isolines_peers.PEERS, lambda image: (image, 110.5), ""))
    yield Operation("isosurface, 3D", 3, lambda shape: whole.object_case("", "isosurface", whole.ball(shape)),
                    chosen(isosurface_peers.PEERS, lambda image: (image, 127.5), ""))
    yield Operation("region snake", 2, snake, (("scikit-image", "skimage", contours),))


def versions(operations):
    """Returns the version of each peer, or None where it is not installed."""
    return {name: peers.version(module) for operation in operations for name, module, _ in operation.peers}


def workers():
    """Returns the number of Isoline's threads."""
    count = 0
    for task in pathlib.Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            count += task.read_text().startswith("isoline-")
    return count


@contextlib.contextmanager
def cpu_context(count):
    """A context on so many processors, first one of each core. All contexts share the workers of the first, which are as
    many as the processors that its thread is bound to, and end a little after the last context."""
    def core(number):
        folder = pathlib.Path(f"/sys/devices/system/cpu/cpu{number}/topology")
        names = [folder / "physical_package_id", folder / "core_id"]
        return tuple(name.read_text() for name in names) if all(name.exists() for name in names) else number

    every, cores, later = os.sched_getaffinity(0), {}, []
    for number in sorted(every):
        if cores.setdefault(core(number), number) != number:
            later.append(number)
    deadline = time.perf_counter() + 5
    while workers() > 0 and time.perf_counter() < deadline:
        time.sleep(0.001)
    os.sched_setaffinity(0, [*cores.values(), *later][:count])
    try:
        context = arguments.library.context("cpu")
        if workers() != count:
            raise RuntimeError(f"the context should have {count} workers, but there are {workers()}")
        yield context
    finally:
        os.sched_setaffinity(0, every)


def timed(run):
    """Returns the median of the seconds of a call."""
    times = []
    while len(times) < 2 or (len(times) <= MOST and sum(times[1:]) < SECONDS):
        began = time.perf_counter()
        own = run()
        times.append(own if isinstance(own, float) else time.perf_counter() - began)
    return statistics.median(times[1:])


class Sweep:
    """The times of a row, whose calls are made larger and larger."""

    def __init__(self, kind, operation, records):
        self.records, self.same, self.last = records, {"sweep": kind, "operation": operation}, {}
        print(f"\n{operation}, by {kind}: ms", flush=True)

    def measure(self, at, work, calls):
        """Measures (name, call) at a point of the row whose calls work on so many pixels; 0 never ends the row."""
        for who, run in calls:
            seconds, before = self.last.get(who, (0, 1))
            if seconds * work / before > LONGEST:
                # The call at hand is not made, nor are larger ones.
                if seconds < float("inf"):
                    print(f"  {at:>6}  {who} ends here: the next call should take {seconds * work / before:.1f} s")
                    self.records.append({**self.same, "who": who, "at": at, "ends": True})
                self.last[who] = float("inf"), 1
                continue
            seconds = timed(run)
            self.last[who] = seconds, work or 1
            print(f"  {at:>6}  {who:<70} {1e3 * seconds:>11.3f}", flush=True)
            self.records.append({**self.same, "who": who, "at": at, "seconds": seconds})


def calls_of(case, contexts):
    """Yields the name of each context and Isoline's call in it, with results in memory that was used before."""
    results = [numpy.ones(shape, kind) for shape, kind in case.results]
    for name, context in contexts.items():
        yield name, case.bind(context, case.inputs, results)


def by_size(contexts, installed, quick, records):
    for operation in operations():
        row = Sweep("size", operation.name, records)
        for side in (QUICK_SIDES if quick else SIDES)[operation.dimensions]:
            case = operation.case((side,) * operation.dimensions)
            row.measure(side, side**operation.dimensions, calls_of(case, contexts))
            for name, _, calls in operation.peers:
                if name in installed:
                    row.measure(side, side**operation.dimensions, calls(case))


def by_depth_and_targets(contexts, quick, records):
    for operation in operations():
        if operation.name in ("edge strength, 2D", "edge drawing, map", "edge drawing, segments"):
            row = Sweep("depth", operation.name, records)
            for depth in DEPTHS[:2] if quick else DEPTHS:
                case = operation.case((depth, *(128 if quick else SIDE_OF_STACK,) * 2))
                row.measure(depth, 0, calls_of(case, contexts))
    row = Sweep("targets", "region snakes", records)
    for count in TARGETS[:2] if quick else TARGETS:
        row.measure(count, 0, calls_of(targets(count), contexts))


def by_threads(quick, records):
    cores = os.cpu_count()
    for operation in operations():
        side = QUICK_SIDES[operation.dimensions][-1] if quick else SIDE_OF_THREADS[operation.dimensions]
        row, case = Sweep("threads", operation.name, records), operation.case((side,) * operation.dimensions)
        for count in [count for count in THREADS if count < cores] + [cores]:
            with cpu_context(count) as context:
                row.measure(count, 0, calls_of(case, {"cpu": context}))
            del context


def main():
    wanted, records = peers.devices(arguments.library), []
    found = versions(operations())
    for name, version in found.items():
        print(f"{name}: {version or 'not installed'}")
    images = {"threads": f"{SIDE_OF_THREADS[2]}² and {SIDE_OF_THREADS[3]}³", "depth": f"{SIDE_OF_STACK}²",
              "targets": f"{SIDE_OF_TARGETS}²"}
    iterations = {"strength": edge_strength_peers.ITERATIONS, "level_set": ITERATIONS}
    head = {"threads": os.cpu_count(), "longest": LONGEST, "images": images, "iterations": iterations, "peers": found}
    if len(wanted) > 1:
        head["copy_bytes_per_second"] = whole.Driver(wanted[-1]).copy_rate()
        print(f"copies on the GPU: {1e-12 * head['copy_bytes_per_second']:.2f} TB/s")
    contexts = {device.partition(":")[0]: arguments.library.context(device) for device in wanted}
    by_size(contexts, {name for name, version in found.items() if version}, arguments.quick, records)
    whole.write(**head, results=records)
    if arguments.only_size:
        return
    by_depth_and_targets(contexts, arguments.quick, records)
    contexts.clear()
    by_threads(arguments.quick, records)
    whole.write(**head, results=records)


if __name__ == "__main__":
    arguments = whole.parse(__doc__, ("--only-size", "only the rows by size"))
    main()
