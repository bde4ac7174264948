#!/usr/bin/env python3
"""Compares edge drawing's reference profile with OpenCV's ximgproc.EdgeDrawing, through Isoline's C API: the same
segments, point by point and in the same order, the same edge map, the same gradients; without validation and with it,
which OpenCV calls PFmode.

Usage: edge_drawing_oracle.py LIBISOLINE [--device cpu|cuda|auto]     compare; stops after a few differences
       edge_drawing_oracle.py LIBISOLINE --time [--device ...]        time both, one after the other, in turns
       edge_drawing_oracle.py --golden FILE                           write what OpenCV gives, for tests/edge_drawing

Pictures: tests/data (its README.md has their licences), pictures of scikit-image's package (read where it is installed,
not copied), noise, and images smaller than the filters.
"""
import argparse
import itertools
import pathlib
import sys
import time

import cv2
import numpy
import skimage
import skimage.io

import oracles

OPERATORS = ("prewitt", "sobel", "scharr")  # as OpenCV numbers them
# Thresholds below 1 act as 1; no gradient of 8 bits is above 8160. Interval 0 crashes OpenCV. Lengths below 3 act as 3.
THRESHOLDS = (0, 1, 8, 20, 36, 100, 300, 9000)
ANCHORS = (0, 2, 8, 30)
INTERVALS = (1, 2, 3, 5)
LENGTHS = (0, 1, 5, 10, 25)
VALIDATION = ("none", "false_alarms")
CONFIGURATIONS = tuple(itertools.product(OPERATORS, THRESHOLDS, ANCHORS, INTERVALS, LENGTHS, (1,), VALIDATION))
# OpenCV does not smooth below 1. Kernels have 5 taps at 1, up to 61 at 10; 2.25 and 3.75 are ties of their length.
SIGMAS = (0, 0.3, 0.5, 0.8, 0.99, 1.01, 1.4, 2, 2.25, 3, 3.75, 5, 7.3, 10)
# A picture takes every so many configurations, each picture others: prime to their number, so that as many pictures
# have taken all of them.
EVERY = 7
EVERY_GOLDEN = 61
EVERY_SIGMA = 479
MOST_DIFFERENCES = 5

DATA_PICTURES = ("camera", "cell", "coins", "horse", "microaneurysms", "page", "pattern")
PACKAGE_PICTURES = ("brick", "clock_motion", "grass", "gravel", "moon", "text")


# Pictures.

def noise(width, height):
    """Pixels that tests/edge_drawing/reference.rs makes in the same way."""
    state = 1
    values = numpy.empty(width * height, numpy.uint8)
    for index in range(values.size):
        state = (state * 1664525 + 1013904223) % 2**32
        values[index] = state >> 24
    return values.reshape(height, width)


def golden_pictures():
    for name in DATA_PICTURES:
        yield name, oracles.photograph(name)
    for width, height in ((131, 97), (40, 64), (5, 60)):
        yield f"noise:{width}x{height}", noise(width, height)


def pictures():
    yield from golden_pictures()
    folder = pathlib.Path(skimage.__file__).parent / "data"
    for name in PACKAGE_PICTURES:
        picture = skimage.io.imread(folder / f"{name}.png", as_gray=False)
        yield name, picture if picture.ndim == 2 else cv2.cvtColor(picture[..., :3], cv2.COLOR_RGB2GRAY)
    for z in (4, 15):
        yield f"brain slice {z}", oracles.brain()[z]
    camera = oracles.photograph("camera")
    yield "camera, 301 x 207 of it", camera[101:308, 57:358]
    yield "camera, upside down", camera[::-1]
    yield "camera, saturated", numpy.where(camera > 100, 255, 0).astype(numpy.uint8)
    yield "coins, blurred and enlarged", cv2.resize(oracles.photograph("coins"), (777, 633), interpolation=cv2.INTER_CUBIC)
    yield "constant", numpy.full((50, 60), 77, numpy.uint8)
    random = numpy.random.default_rng(3)
    yield "white noise", random.integers(0, 256, (233, 157), dtype=numpy.uint8)
    yield "two levels of noise", random.integers(0, 2, (90, 211), dtype=numpy.uint8) * 255
    yield "steps of 1", random.integers(100, 103, (120, 99), dtype=numpy.uint8)


def tiny_pictures():
    random = numpy.random.default_rng(4)
    for height, width in itertools.chain(itertools.product(range(1, 9), repeat=2), ((1, 70), (70, 1), (5, 70), (70, 5))):
        yield f"{width} x {height} of noise", random.integers(0, 256, (height, width), dtype=numpy.uint8)


def with_sigmas(index, every=EVERY_SIGMA):
    """Some configurations with each sigma, for a picture of this number."""
    for k, sigma in enumerate(SIGMAS):
        for configuration in CONFIGURATIONS[(11 * index + 17 * k) % every::every]:
            yield *configuration[:-2], sigma, configuration[-1]


# Both programs.

class Drawn:
    """Segments as offsets and points, an edge map, and each segment's mean gradient."""

    def __init__(self, offsets, points, edges, means):
        self.offsets, self.points, self.edges, self.means = offsets, points, edges, means

    def difference(self, other):
        """Returns the first difference in words, or None."""
        if len(self.offsets) != len(other.offsets):
            return f"{len(self.offsets) - 1} and {len(other.offsets) - 1} segments"
        for name in ("offsets", "points", "means"):
            a, b = getattr(self, name), getattr(other, name)
            if not numpy.array_equal(a, b):
                where = numpy.argwhere(a != b)[0].tolist() if a.shape == b.shape else [0]
                return f"{name} from {where} on"
        differing = numpy.count_nonzero(self.edges != other.edges)
        return f"{differing} pixels of the edge map" if differing else None

    def summary(self):
        """Segments, points, edge pixels, and a number for all of it: a polynomial of 64 bits."""
        on = numpy.flatnonzero(self.edges)
        numbers = numpy.concatenate([self.offsets, self.points.ravel(), on]).astype(numpy.uint64)
        powers = numpy.full(numbers.size, 0x9E3779B97F4A7C15, numpy.uint64)
        powers[:1] = 1
        powers = numpy.multiply.accumulate(powers)[::-1]
        return f"{len(self.offsets) - 1} {len(self.points)} {on.size} {int((numbers * powers).sum()):016x}"


def opencv_detector(operator, threshold, anchor, interval, length, sigma, validation):
    params = cv2.ximgproc.EdgeDrawing.Params()
    params.EdgeDetectionOperator = OPERATORS.index(operator)
    params.GradientThresholdValue = threshold
    params.AnchorThresholdValue = anchor
    params.ScanInterval = interval
    params.MinPathLength = length
    params.Sigma = sigma
    params.PFmode = validation == "false_alarms"
    detector = cv2.ximgproc.createEdgeDrawing()
    detector.setParams(params)
    return detector


def with_opencv(picture, configuration):
    detector = opencv_detector(*configuration)
    detector.detectEdges(picture.copy(order="C"))  # PFmode writes to the picture where it does not smooth
    segments = [numpy.asarray(segment).reshape(-1, 2) for segment in detector.getSegments()]
    offsets = numpy.cumsum([0] + [len(segment) for segment in segments]).astype(numpy.uint64)
    points = numpy.concatenate([numpy.empty((0, 2), numpy.int32)] + segments).astype(numpy.uint32)
    gradient = detector.getGradientImage()
    sums = numpy.concatenate([[0], numpy.cumsum(gradient[points[:, 1], points[:, 0]], dtype=numpy.int64)])
    bounds = offsets.astype(numpy.int64)
    means = numpy.diff(sums[bounds]) / numpy.maximum(numpy.diff(bounds), 1)
    return Drawn(offsets, points, detector.getEdgeImage(), means.astype(numpy.float32)), gradient


class Isoline:
    """Edge drawing of one library on one device."""

    def __init__(self, path, device):
        self.context = oracles.Library(path).context(device)

    @staticmethod
    def params(configuration):
        operator, threshold, anchor, interval, length, sigma, validation = configuration
        return {"profile": "reference", "gradient_operator": operator, "gradient_threshold": threshold,
                "anchor_threshold": anchor, "scan_interval": interval, "min_length": length, "sigma": sigma,
                "validation": validation}

    def draw(self, pixels, configuration, **more):
        """Returns the results of one call, as one Drawn for each slice."""
        edges = numpy.full(pixels.shape, 7, numpy.uint8)
        _, found = self.context.edge_drawing(pixels, out=edges, **self.params(configuration), **more)
        self.check_flags(found)
        drawn = []
        for z, edge_map in enumerate(edges if edges.ndim == 3 else edges[None]):
            first, end = numpy.searchsorted(found.slices, [z, z + 1])
            bounds = found.offsets[first:end + 1]
            drawn.append(Drawn(bounds - bounds[0], found.points[bounds[0]:bounds[-1]], edge_map,
                               found.mean_gradients[first:end]))
        return drawn

    @staticmethod
    def check_flags(found):
        """Closed, 1, are segments of at least four points whose ends touch."""
        points, bounds = found.points.astype(int), found.offsets
        apart = numpy.abs(points[bounds[1:] - 1] - points[bounds[:-1]]).max(axis=1, initial=0)
        if not numpy.array_equal(found.flags, (numpy.diff(bounds) >= 4) & (apart <= 1)):
            raise AssertionError("flags do not say which segments are closed")

    def gradient(self, picture, configuration):
        return self.context.edge_drawing_maps(picture, **self.params(configuration)).gradient


# Comparisons.

class Tally:
    def __init__(self):
        self.configurations, self.pictures, self.differences = 0, set(), 0

    def compare(self, name, configuration, ours, theirs):
        self.configurations += 1
        self.pictures.add(name.partition(",")[0])
        difference = ours.difference(theirs)
        if difference:
            self.differences += 1
            operator, threshold, anchor, interval, length, sigma, validation = configuration
            print(f"DIFFERENT: {name}, {operator}, gradient threshold {threshold}, anchor threshold {anchor}, "
                  f"scan interval {interval}, minimum length {length}, sigma {sigma}, validation {validation}: "
                  f"{difference}", file=sys.stderr)
            if self.differences >= MOST_DIFFERENCES:
                sys.exit("oracle: stopped after the first differences")


def compare_all(isoline):
    tally = Tally()
    for index, (name, picture) in enumerate(pictures()):
        if min(picture.strides) < 0:
            picture = numpy.ascontiguousarray(picture)
        for configuration in (*CONFIGURATIONS[index % EVERY::EVERY], *with_sigmas(index)):
            theirs, _ = with_opencv(picture, configuration)
            tally.compare(name, configuration, isoline.draw(picture, configuration)[0], theirs)
        # The gradients, up to the border; OpenCV's are below the threshold there as well.
        configuration = (*configuration[:-1], "none")
        _, gradient = with_opencv(picture, configuration)
        if not numpy.array_equal(isoline.gradient(picture, configuration), gradient):
            sys.exit(f"DIFFERENT: {name}, gradients of {configuration}")
    for index, (name, picture) in enumerate(tiny_pictures()):
        for configuration in (*CONFIGURATIONS[index % 61::61], *with_sigmas(index)):
            tally.compare(name, configuration, isoline.draw(picture, configuration)[0],
                          with_opencv(picture, configuration)[0])
    # The same numbers in other types, and as slices of one stack.
    for name in ("camera", "cell", "page"):
        picture = oracles.photograph(name)
        for configuration in (*CONFIGURATIONS[::97], *with_sigmas(0, 983)):
            theirs, _ = with_opencv(picture, configuration)
            wide = isoline.draw(picture.astype(numpy.uint16), configuration)[0]
            tally.compare(f"{name}, 16 bits", configuration, wide, theirs)
            scaled = isoline.draw(picture.astype(numpy.float32), configuration, range_min=0, range_max=65535)[0]
            tally.compare(f"{name}, float", configuration, scaled, theirs)
    stack = oracles.brain()
    for configuration in CONFIGURATIONS[5::389]:
        for z, ours in enumerate(isoline.draw(stack, configuration)):
            tally.compare(f"brain slice {z}, in the stack", configuration, ours, with_opencv(stack[z], configuration)[0])
    if tally.differences:
        sys.exit(f"oracle: {tally.differences} of {tally.configurations} configurations differ")
    print(f"oracle: {tally.configurations} configurations identical to OpenCV {cv2.__version__} "
          f"on {len(tally.pictures)} pictures")


def write_golden(path):
    with open(path, "w", encoding="ascii") as out:
        out.write(f"# What OpenCV {cv2.__version__}'s ximgproc.EdgeDrawing gives; made by tests/edge_drawing_oracle.py.\n"
                  "# picture operator gradient_threshold anchor_threshold scan_interval min_length sigma validation: "
                  "segments points edge_pixels all\n")
        for index, (name, picture) in enumerate(golden_pictures()):
            for configuration in (*CONFIGURATIONS[index % EVERY_GOLDEN::EVERY_GOLDEN], *with_sigmas(index, 1913)):
                drawn, _ = with_opencv(picture, configuration)
                out.write(f"{name} {' '.join(map(str, configuration))}: {drawn.summary()}\n")


def measure(isoline):
    """Smallest times of both, taken in turns, in milliseconds; OpenCV on one thread, as its linking is."""
    cv2.setNumThreads(1)
    camera = oracles.photograph("camera")
    for side, rounds in ((512, 60), (4096, 8)):
        picture = camera if side == 512 else cv2.resize(camera, (side, side), interpolation=cv2.INTER_CUBIC)
        edges = numpy.empty_like(picture)
        for operator, validation in itertools.product(("prewitt", "sobel"), VALIDATION):
            configuration = (operator, 20, 0, 1, 10, 1, validation)
            detector = opencv_detector(*configuration)
            ours, theirs = [], []
            call = isoline.context.drawing_caller(picture, edges, True, **isoline.params(configuration))
            for _ in range(rounds):
                began = time.perf_counter()
                call()
                ours.append(time.perf_counter() - began)
                began = time.perf_counter()
                detector.detectEdges(picture)
                theirs.append(time.perf_counter() - began)
            print(f"{side} x {side}, {operator}, validation {validation}: {min(ours) * 1e3:.2f} ms, "
                  f"OpenCV {cv2.__version__} {min(theirs) * 1e3:.2f} ms, ratio {min(ours) / min(theirs):.2f}")


def main():
    parser = argparse.ArgumentParser(description="Compares edge drawing's reference profile with OpenCV.")
    parser.add_argument("library", nargs="?", help="libisoline.so, or the folder that it is in")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--golden", metavar="FILE")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    if options.golden:
        write_golden(options.golden)
        return
    if options.library is None:
        parser.error("which libisoline.so?")
    isoline = Isoline(options.library, options.device)
    if options.time:
        measure(isoline)
    else:
        compare_all(isoline)


if __name__ == "__main__":
    main()
