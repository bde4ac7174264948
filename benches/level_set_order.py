#!/usr/bin/env python3
"""Orders in space of the level set's upwind gradient, by a prototype in NumPy: the tables of docs/level_set.md.

Usage: level_set_order.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; the library runs on the CPU. Without --quick it
fetches ch2 and a map of white matter (scripts/fetch_brain.py), and takes about five minutes on one core.

The prototype computes what src/level_set/scalar.rs does, on all voxels, with the reinitialisation and the stopping
criterion; only the one-sided differences of the upwind gradient have another order, within two voxels of the front
unless the table says otherwise. Tables: the first and the second order beside the library's variant scalar; the error of
moving fronts by the spacing; how far a front advances along thin vessels; masks at rest; cost.
"""
import itertools
import math
import pathlib
import sys
import time

import numpy
import scipy.ndimage
import scipy.spatial

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]
import level_set_oracle as oracle  # noqa: E402
import level_set_paper as paper  # noqa: E402
import level_set_peers as objects  # noqa: E402
import peers  # noqa: E402
from isoline import LevelSet  # noqa: E402

# The constants of kernels/level_set.h, plan.rs and convergence.rs.
TINY = 1.6e-19
RSQRT_SCALE, RSQRT_START, RSQRT_SHIFT, RSQRT_REST = 0.68062353, 0xBE3E0000, -1.3139546, 1.3784941
MAX_INVERSE_GRADIENT = 1.0204082
REINITIALISE_EVERY, REINITIALISATION_STEPS = 6, 4
BAND_WIDTH, BAND_REACH = 2.0, 2
TILE, TILE_SLICE = 8, 16
CHANGE_TOLERANCE, MAX_OSCILLATION = 0.002, 50.0

MOST = 4000  # iterations of the prototype
SLAB = 40_000  # voxels that the prototype updates at once, so that its arrays stay in the cache
STEP_SHARE = 2 / 3  # of the first order's limit, that of a higher order
WIDTH = 2.0  # voxels from the front, within which the prototype takes the higher order; those of the band
EVERYWHERE = math.inf
WENO_EPSILON = 1e-6  # of the smoothness indicators, whose differences of phi are about 1
UNIT = (1.0, 1.0, 1.0)
THIN_EDGE = 0.5  # voxels, the width of the edge of thin objects
END_OF_VESSEL = 30.0
WITHIN_BRAIN = (slice(60, 180), slice(55, 142))  # rows and columns of the MRI stack
PART_OF_CH2 = (slice(70, 110), slice(60, 140), slice(50, 130))


# ------------------------------------------------------------------------------------------------ one-sided differences

def minmod(a, b):
    return numpy.maximum(numpy.minimum(a, b), 0) + numpy.minimum(numpy.maximum(a, b), 0)


def first(d):
    """Backward and forward differences from two differences between neighbours, from the last voxel to the next one."""
    return d[0], d[1]


def second(d):
    """Second order with minmod (Osher and Shu 1991), from four differences between neighbours."""
    before, middle, after = d[1] - d[0], d[2] - d[1], d[3] - d[2]
    return d[1] + 0.5 * minmod(middle, before), d[2] - 0.5 * minmod(middle, after)


def weno3(d):
    """WENO of third order, from four differences (Jiang and Peng 2000)."""
    def side(far, near, beyond):
        smooth = [1 / (WENO_EPSILON + (near - far) ** 2) ** 2, 2 / (WENO_EPSILON + (beyond - near) ** 2) ** 2]
        outer, inner = 1.5 * near - 0.5 * far, 0.5 * (near + beyond)
        return (smooth[0] * outer + smooth[1] * inner) / (smooth[0] + smooth[1])

    return side(d[0], d[1], d[2]), side(d[3], d[2], d[1])


def weno5(d):
    """WENO of fifth order, from six differences (Jiang and Peng 2000)."""
    def side(a, b, c, d, e):
        parts = (a / 3 - 7 * b / 6 + 11 * c / 6, -b / 6 + 5 * c / 6 + d / 3, c / 3 + 5 * d / 6 - e / 6)
        rough = (13 / 12 * (a - 2 * b + c) ** 2 + (a - 4 * b + 3 * c) ** 2 / 4,
                 13 / 12 * (b - 2 * c + d) ** 2 + (b - d) ** 2 / 4,
                 13 / 12 * (c - 2 * d + e) ** 2 + (3 * c - 4 * d + e) ** 2 / 4)
        weights = [share / (WENO_EPSILON + value) ** 2 for share, value in zip((0.1, 0.6, 0.3), rough)]
        return sum(weight * part for weight, part in zip(weights, parts)) / sum(weights)

    return side(*d[:5]), side(*d[:0:-1])


# The name, how many voxels it reads on each side, and the differences.
ORDERS = {"first": (1, first), "second": (2, second), "WENO3": (2, weno3), "WENO5": (3, weno5)}


# ------------------------------------------------------------------------------------------------ the prototype

def cut(array, axis, begin, end):
    """The elements begin..end along an axis, of which `end` counts from the end."""
    return array[tuple(slice(begin, array.shape[i] - end) if i == axis else slice(None) for i in range(array.ndim))]


def inner(array, margins):
    """The array without so many elements at both ends of each axis."""
    return array[tuple(slice(margin, side - margin) for margin, side in zip(margins, array.shape))]


def scaled_rsqrt(x):
    """1 / sqrt(x) over RSQRT_SCALE; in f32 the library's approximation."""
    if x.dtype == numpy.float64:
        return 1 / (RSQRT_SCALE * numpy.sqrt(x))
    start = ((numpy.uint32(RSQRT_START) - x.view(numpy.uint32)) >> 1).view(numpy.float32)
    off = x * start * start + numpy.float32(RSQRT_SHIFT)
    return start * (off * off + numpy.float32(RSQRT_REST))


def divergence(phi, inverse):
    """The divergence of the normals, over RSQRT_SCALE, of phi with a margin of one voxel."""
    total = 0
    axes = range(phi.ndim)
    wide = [(cut(phi, axis, 2, 0) - cut(phi, axis, 0, 2)) * inverse[axis] for axis in axes]
    for axis in axes:
        d = inner(cut(phi, axis, 1, 0) - cut(phi, axis, 0, 1), [int(i != axis) for i in axes])
        d = 4 * inverse[axis] * d
        square = d * d + d.dtype.type(TINY)
        for other in axes:
            if other != axis:
                w = inner(wide[other], [int(i not in (axis, other)) for i in axes])
                w = cut(w, axis, 1, 0) + cut(w, axis, 0, 1)
                square += w * w
        normal = d * scaled_rsqrt(square)
        total = total + (cut(normal, axis, 1, 0) - cut(normal, axis, 0, 1)) * inverse[axis]
    return total


class Front:
    """A level set by the prototype, in the type of `phi`.

    `speed` is, if given, the speed at each voxel, in place of the image's. `bounded` limits |grad phi| where |phi|
    grows. The differences are those of the order where |phi| is at most `width` times the largest spacing, and of first
    order elsewhere. With `heun` the steps are of second order in time.
    """

    def __init__(self, phi, spacing, order, *, image=None, target=0.0, epsilon=0.0, alpha=1.0, time_step=0.0,
                 check_interval=0, reinitialise_every=REINITIALISE_EVERY, bounded=True, speed=None, heun=False,
                 width=WIDTH):
        real = phi.dtype.type
        self.phi, self.spacing, self.bounded, self.heun = phi, spacing, bounded, heun
        self.reach, self.differences = ORDERS[order]
        self.width = math.inf if self.reach == 1 else width * max(spacing)
        self.inverse = [real(1 / h) for h in spacing]
        self.time_step, self.every, self.check_interval = time_step, reinitialise_every, check_interval
        squares = sum(1 / h ** 2 for h in spacing)
        self.max_divergence = real(math.sqrt(2 * squares) / RSQRT_SCALE)
        self.curvature_weight = real(time_step * (1 - alpha) / 2 * RSQRT_SCALE)
        if speed is None:
            low, high = float(image.min()), float(image.max())
            largest = max(epsilon, max(abs(low - target), abs(high - target)) - epsilon)
            gain = time_step * alpha
            apart = numpy.minimum(numpy.abs(image.astype(phi.dtype) - real(target)), real(epsilon + largest))
            self.of_image = apart * real(gain) + real(-gain * epsilon)
            keeping = (1 - alpha) / alpha * math.sqrt(2 * squares) / 2 if alpha else math.inf
            self.max_inward = real(gain * min(largest, max(epsilon, keeping)))
        else:
            self.of_image = numpy.broadcast_to(real(time_step) * speed, phi.shape).astype(phi.dtype)
            self.max_inward = real(math.inf)
        # Slabs along the first axis; the whole array if that is small.
        layers = max(1, SLAB * len(phi) // phi.size)
        self.slabs = [(begin, min(begin + layers, len(phi))) for begin in range(0, len(phi), layers)]
        self.iterations = 0
        self.sums, self.extremes, self.before, self.converged = [0, 0], [], None, False

    def gradient_of_slab(self, padded, sign, near):
        """The squared upwind gradient for a speed of this sign, 1 or -1, and twice that of second order."""
        reach, ndim = self.reach, padded.ndim
        one_sided = both = padded.dtype.type(TINY)
        for axis in range(ndim):
            line = inner(padded, [0 if i == axis else reach for i in range(ndim)])
            d = (cut(line, axis, 1, 0) - cut(line, axis, 0, 1)) * self.inverse[axis]
            count = 2 * reach
            d = [cut(d, axis, i, count - 1 - i) for i in range(count)]
            backward, forward = self.differences(d)
            if near is not None:
                backward, forward = numpy.where(near, backward, d[reach - 1]), numpy.where(near, forward, d[reach])
            forward, backward = numpy.maximum(sign * forward, 0), numpy.minimum(sign * backward, 0)
            one_sided = one_sided + forward ** 2 + backward ** 2
            if self.curvature_weight:
                both = both + d[reach - 1] ** 2 + d[reach] ** 2
        return one_sided, both

    def updated(self, phi):
        """Phi after one step of Euler."""
        padded, one = numpy.pad(phi, self.reach, mode="edge"), phi.dtype.type(1)
        new = numpy.empty_like(phi)
        for begin, end in self.slabs:
            part, old, of_image = padded[begin:end + 2 * self.reach], phi[begin:end], self.of_image[begin:end]
            limited = numpy.minimum(of_image, self.max_inward)
            curvature = 0
            if self.curvature_weight:
                near = inner(part, [self.reach - 1] * phi.ndim)
                limit = self.max_divergence
                curvature = numpy.clip(divergence(near, self.inverse), -limit, limit) * self.curvature_weight
            speed = limited + curvature
            positive = speed > 0
            near = numpy.abs(old) <= self.width if self.width < math.inf else None
            gradient, both = self.gradient_of_slab(part, numpy.where(positive, one, -one), near)
            if self.curvature_weight:
                gradient = numpy.where(numpy.abs(curvature) > numpy.abs(limited), 0.5 * both, gradient)
            grows = positive != (old < 0)
            if self.bounded:
                gradient = numpy.where(grows, numpy.minimum(gradient, 1), gradient)
            speed = numpy.where(grows, of_image + curvature, speed)
            new[begin:end] = old + speed * numpy.sqrt(gradient)
        return new

    def reinitialise(self):
        tiles = self.reinitialised_tiles()
        for step in range(REINITIALISATION_STEPS):
            self.phi = numpy.where(tiles, self.reinitialised(step == 0, tiles), self.phi)

    def reinitialised_tiles(self):
        """The voxels of the tiles that a reinitialisation updates."""
        phi = self.phi
        tile = TILE if phi.ndim == 3 else TILE_SLICE
        near = numpy.nonzero(numpy.abs(phi) <= BAND_WIDTH * max(self.spacing))
        updated = numpy.zeros([-(-side // tile) for side in phi.shape], bool)
        for offsets in itertools.product((-BAND_REACH, BAND_REACH), repeat=phi.ndim):
            reached = zip(near, offsets, phi.shape)
            updated[tuple(numpy.clip(at + offset, 0, side - 1) // tile for at, offset, side in reached)] = True
        for axis, side in enumerate(phi.shape):
            updated = cut(updated.repeat(tile, axis=axis), axis, 0, len(range(side, updated.shape[axis] * tile)))
        return updated

    def reinitialised(self, is_first, tiles):
        """Phi after one step of a reinitialisation, in all slabs that hold one of the tiles."""
        phi, new = self.phi, numpy.empty_like(self.phi)
        padded = numpy.pad(phi, 2, mode="edge")
        time_step = phi.dtype.type(min(self.spacing) / 2)
        for begin, end in self.slabs:
            if not tiles[begin:end].any():
                continue
            part, old = padded[begin:end + 4], phi[begin:end]
            inside = old < 0
            side = numpy.where(inside, phi.dtype.type(-1), phi.dtype.type(1))
            beside = numpy.zeros(old.shape, bool)
            gradient, wide_square = phi.dtype.type(TINY), phi.dtype.type(TINY)
            for axis in range(phi.ndim):
                line = inner(part, [0 if i == axis else 2 for i in range(phi.ndim)])
                values = [cut(line, axis, i, 4 - i) for i in range(5)]
                beside |= ((values[1] < 0) != inside) | ((values[3] < 0) != inside)
                d = (cut(line, axis, 1, 0) - cut(line, axis, 0, 1)) * self.inverse[axis]
                backward, forward = second([cut(d, axis, i, 3 - i) for i in range(4)])
                gradient = gradient + numpy.maximum(numpy.maximum(side * backward, -side * forward), 0) ** 2
                if is_first:
                    wide_square = wide_square + ((values[3] - values[1]) * self.inverse[axis]) ** 2
            moved = old + side * ((1 - numpy.sqrt(gradient)) * time_step)
            moved = numpy.where((moved < 0) == inside, moved, old)
            held = old
            if is_first:
                length = 2 * phi.dtype.type(RSQRT_SCALE) * scaled_rsqrt(wide_square)
                low, high = phi.dtype.type(1 / MAX_INVERSE_GRADIENT), phi.dtype.type(MAX_INVERSE_GRADIENT)
                scale = numpy.where(length < low, length * high, numpy.where(length > high, length * low, 1))
                held = numpy.clip(old * scale, -max(self.spacing), max(self.spacing))
            new[begin:end] = numpy.where(beside, held, moved)
        return new

    def step(self, iterations):
        """Evolves by so many iterations, or until the stopping criterion is met."""
        for _ in range(iterations):
            if self.converged:
                return
            old = self.phi
            self.phi = self.updated(old)
            if self.heun:
                # Heun's method is the TVD Runge-Kutta method of second order (Shu and Osher 1988).
                self.phi = (old + self.updated(self.phi)) / 2
            self.iterations += 1
            if self.check_interval:
                self.record(numpy.count_nonzero(self.phi < 0), numpy.count_nonzero(numpy.abs(old) <= max(self.spacing)))
            if self.every and self.iterations % self.every == 0:
                self.reinitialise()

    def record(self, inside, near):
        self.sums[0] += inside
        self.sums[1] += near
        self.extremes.append(inside)
        if inside in (0, self.phi.size):
            self.converged = True
        if len(self.extremes) < self.check_interval:
            return
        (total, near), before = self.sums, self.before
        if before:
            drift = abs(total - before) / max(1, near)
            oscillation = (max(self.extremes) - min(self.extremes)) * self.check_interval / max(1, near)
            self.converged |= drift <= CHANGE_TOLERANCE and oscillation <= MAX_OSCILLATION * CHANGE_TOLERANCE
        self.sums, self.extremes, self.before = [0, 0], [], total

    def mask(self):
        return self.phi < 0

    def volume(self):
        return numpy.count_nonzero(self.mask())


def state_of(context, image, mask, spacing, given):
    """The library's level set at its start, and its state with every parameter. `spacing` is along x, y, z."""
    surface = LevelSet(image, numpy.uint8(mask), spacing=spacing[:image.ndim][::-1], device=context,
                       dimensions=image.ndim, variant="scalar", change_tolerance=0, rms_tolerance=0, **given)
    return surface, surface.state()


def start(context, image, mask, spacing, given, order, divided=1, **settings):
    """The prototype at the library's start, with the library's parameters. The time step is divided by `divided`; check
    intervals and those between reinitialisations have as many times more iterations."""
    surface, state = state_of(context, image, mask, spacing, {**given, "upwind_order": 1 if order == "first" else 2})
    settings = {"check_interval": divided * state.check_interval, "reinitialise_every": divided * REINITIALISE_EVERY,
                **settings}
    return Front(surface.phi(), spacing[:image.ndim][::-1], order, image=image, target=state.target,
                 epsilon=state.epsilon, alpha=state.alpha, time_step=state.time_step / divided, **settings)


# ------------------------------------------------------------------------------------------------ images

def drawn(distance, noise, seed=0, edge=objects.EDGE):
    """An object as in level_set_peers.py, with other noise and another width of the edge."""
    image = objects.LOW + (objects.HIGH - objects.LOW) / (1 + numpy.exp(numpy.clip(distance / edge, -50, 50)))
    image += numpy.random.default_rng(seed).normal(0, noise, distance.shape)
    return image.round().clip(0, 255).astype(numpy.uint8)


def ball(shape, spacing, radius):
    """The signed distance of a ball or disc that is not centred on a voxel, and a start of radius 8."""
    axes = numpy.meshgrid(*(numpy.arange(n) - n / 2 + 0.33 for n in shape), indexing="ij")
    distance = numpy.sqrt(sum((axis * h) ** 2 for axis, h in zip(axes, spacing[:len(shape)][::-1])))
    return distance - radius, distance < 8


def tube(shape, points, radius, begin):
    """The signed distance of a tube along these points, and the start in its first planes."""
    grid = numpy.stack(numpy.meshgrid(*map(numpy.arange, shape), indexing="ij"), -1)
    distance = scipy.spatial.cKDTree(numpy.stack(points, -1)).query(grid)[0]
    return distance - radius, (distance < radius) & (grid[..., 0] < begin)


def vessel(radius):
    """A winding vessel in a slice."""
    t = numpy.linspace(0, 1, 8000)
    return tube((96, 112), (12 + 72 * t, 56 + 34 * numpy.sin(3 * numpy.pi * t)), radius, 24)


def helix(radius):
    t = numpy.linspace(0, 1, 8000)
    angle = 3 * numpy.pi * t
    return tube((40, 56, 56), (6 + 28 * t, 28 + 18 * numpy.sin(angle), 28 + 18 * numpy.cos(angle)), radius, 10)


def sheet(half):
    """A wavy sheet in a volume, and the start in its middle."""
    z, y, x = numpy.meshgrid(*map(numpy.arange, (32, 56, 56)), indexing="ij")
    height = z - 16 - 5 * numpy.sin(x / 8) * numpy.cos(y / 9)
    slope = [5 / 8 * numpy.cos(x / 8) * numpy.cos(y / 9), 5 / 9 * numpy.sin(x / 8) * numpy.sin(y / 9)]
    distance = numpy.abs(height) / numpy.sqrt(1 + slope[0] ** 2 + slope[1] ** 2) - half
    return distance, (distance < 0) & ((x - 28) ** 2 + (y - 28) ** 2 < 64)


HALF_WAY = {"target": objects.HIGH, "epsilon": (objects.HIGH - objects.LOW) / 2}  # the limit is half way down the edge


def phantoms(quick):
    """Name, images with different noise, truth, start, spacing and parameters."""
    def phantom(name, shape, noise, seeds, given, edge=objects.EDGE, spacing=UNIT):
        distance, begin = shape
        images = [drawn(distance, noise, seed, edge) for seed in range(1 if quick else seeds)]
        return name, images, distance < 0, begin, spacing, {**HALF_WAY, **given}

    yield phantom("noisy disc, 112 x 112", ball((112, 112), UNIT, 40), 16, 4, {})
    if quick:
        yield phantom("vessel, 3 pixels", vessel(1.5), 8, 1, {"alpha": 0.2}, THIN_EDGE)
        return
    yield phantom("noisy disc, alpha 0.003", ball((112, 112), UNIT, 40), 16, 2, {"alpha": 0.003})
    yield phantom("noisy ball, 48 x 48 x 48", ball((48, 48, 48), UNIT, 16), 16, 2, {})
    flat = (1.0, 1.0, 3.0)
    yield phantom("noisy ball, voxels of 1 x 1 x 3", ball((18, 48, 48), flat, 16), 16, 2, {}, spacing=flat)
    for alpha in (None, 0.2):
        for radius in (1.25, 1.5, 2.0):
            name = f"vessel, {2 * radius:g} pixels" + (f", alpha {alpha}" if alpha else "")
            yield phantom(name, vessel(radius), 8, 2, {"alpha": alpha} if alpha else {}, THIN_EDGE)
    yield phantom("helix, 3 voxels, alpha 0.2", helix(1.5), 8, 1, {"alpha": 0.2}, THIN_EDGE)
    yield phantom("sheet, 2.5 voxels, alpha 0.2", sheet(1.25), 8, 1, {"alpha": 0.2}, THIN_EDGE)


def real_images():
    """The same of the paper's rooms, which are drawn, of the MRI slice and stack of the tests, and of a part of ch2."""
    import fetch_brain

    inside, room, begin = paper.rooms()
    yield ("two rooms, alpha 0.003", [paper.drawn(inside, 180)], room, begin, UNIT,
           {"target": 180, "epsilon": 45, "alpha": paper.ALPHA})
    fetch_brain.main()
    stack, white = oracle.stack(), oracle.stack_white_matter()
    begin = oracle.balls(oracle.STACK, oracle.STACK_SPACING, oracle.SLICE_SEEDS, oracle.RADIUS)
    for target, epsilon in ((210, 30), (215, 20)):
        yield (f"MRI slice, T {target}, epsilon {epsilon}", [stack[oracle.SLICE]], white[oracle.SLICE],
               begin[oracle.SLICE], UNIT, {"target": target, "epsilon": epsilon})
    place = (slice(None), *WITHIN_BRAIN)
    stack, white, begin = (numpy.ascontiguousarray(whole[place]) for whole in (stack, white, begin))
    yield "MRI stack, 87 x 120 x 20", [stack], white, begin, oracle.STACK_SPACING, {"target": 225, "epsilon": 30}
    head = fetch_brain.read("ch2.nii.gz")
    parts = (head, fetch_brain.white_matter_of_ch2(), fetch_brain.start_in_ch2(head))
    head, white, begin = (numpy.ascontiguousarray(whole[PART_OF_CH2]) for whole in parts)
    given = {"target": fetch_brain.CH2_TARGET, "epsilon": fetch_brain.CH2_EPSILON, "alpha": fetch_brain.CH2_ALPHA}
    yield "`ch2`, 80 x 80 x 40, alpha 0.2", [head], white, begin, UNIT, given


# ------------------------------------------------------------------------------------------------ measurements

def table(title, columns):
    print(f"\n{title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)


def row(*cells):
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def compare_with_library(context, quick):
    """The prototype of first and second order beside the library's variant scalar."""
    table("Prototype and library", ["image", "order", "reinitialised", "iterations", "phi near the front, anywhere",
                                    "to rest: both", "other voxels"])
    images = [("disc, 112 x 112", (112, 112), UNIT, 40)]
    if not quick:
        images += [("ball, 40 x 44 x 48", (40, 44, 48), UNIT, 14),
                   ("ball, voxels of 1 x 1 x 3", (18, 48, 48), (1.0, 1.0, 3.0), 16)]
    for name, shape, spacing, radius in images:
        distance, begin = ball(shape, spacing, radius)
        case = (context, drawn(distance, 16), begin, spacing, HALF_WAY)
        for every, (number, order) in itertools.product((0, REINITIALISE_EVERY), ((1, "first"), (2, "second"))):
            surface, _ = state_of(*case[:4], {**HALF_WAY, "reinitialise_every": every, "upwind_order": number})
            front = start(*case, order, check_interval=0, reinitialise_every=every)
            surface.step(60)
            front.step(60)
            phi = surface.phi()
            off = numpy.abs(front.phi - phi)
            near = numpy.abs(phi) <= 2 * max(spacing)
            rest = "–", "–"
            if every:
                whole = start(*case, order)
                whole.step(MOST)
                surface = LevelSet(case[1], numpy.uint8(begin), spacing=spacing[:len(shape)][::-1], device=context,
                                   dimensions=len(shape), variant="scalar", upwind_order=number, **HALF_WAY)
                report = surface.step(MOST)
                rest = (f"{whole.iterations}, {report.iterations}",
                        numpy.count_nonzero(whole.mask() != (surface.mask() > 0)))
            row(name, order, f"every {every}" if every else "never", 60, f"{off[near].max():.1e}, {off.max():.1e}", *rest)


SIDE = 64.0  # the side of the cube in which fronts move at a known speed
FROM, TO = 13.0, 22.0
SHIFT = (0.42, 0.67, 1.09)  # of the centre, so that it is not on a voxel


def positions(n, dimensions):
    axis = (numpy.arange(n) + 0.5) * SIDE / n - SIDE / 2
    return [each - shift for each, shift in zip(numpy.meshgrid(*[axis] * dimensions, indexing="ij"), SHIFT)]


def round_distance(place):
    return numpy.sqrt(sum(axis ** 2 for axis in place))


def cube_distance(place):
    """The distance to the centre as a cube that is turned has it: the signed distance of a cube is that to its faces
    inside, and that to its edges and corners outside."""
    turned = [sum(a * b for a, b in zip(line, place)) for line in TURN]
    outside = [numpy.abs(axis) for axis in turned]

    def of(half):
        beyond = [axis - half for axis in outside]
        return (numpy.sqrt(sum(numpy.maximum(axis, 0) ** 2 for axis in beyond))
                + numpy.minimum(numpy.maximum.reduce(beyond), 0))

    return of


# A rotation by Rodrigues' formula, by 0.6 about the axis (1, 2, 3).
AXIS = numpy.array((1, 2, 3)) / math.sqrt(14)
CROSS = numpy.array(((0, -AXIS[2], AXIS[1]), (AXIS[2], 0, -AXIS[0]), (-AXIS[1], AXIS[0], 0)))
TURN = numpy.eye(3) + math.sin(0.6) * CROSS + (1 - math.cos(0.6)) * CROSS @ CROSS


def moved(order, n, what, cfl=0.475, **settings):
    """The mean error of the place of a front near where it should be, in the unit in which the side is 64."""
    dimensions = 2 if what == "disc, speed as the radius" else 3
    place, h = positions(n, dimensions), SIDE / n
    duration, speed, slope = TO - FROM, 1.0, 1.0
    if what.startswith("plane"):
        level = sum(a * b for a, b in zip(TURN[0], place))
        begin, end = level, level - duration
        speed = -1.0
    elif what.startswith("cube"):
        of = cube_distance(place)
        if what.endswith("grows"):
            begin, end, speed = of(FROM), of(FROM) - duration, -1.0
        else:
            begin, end = of(TO), of(TO) + duration
    elif what.startswith("ball"):
        radius = round_distance(place)
        begin, end, speed = (radius - FROM, radius - TO, -1.0) if "grows" in what else (radius - TO, radius - FROM, 1.0)
    else:
        radius = round_distance(place)
        duration, slope = math.log(TO / FROM), FROM / TO
        begin, end, speed = radius - FROM, radius * slope - FROM, -radius
    largest = numpy.abs(speed).max()
    cfl *= 1 if order == "first" else STEP_SHARE
    count = math.ceil(duration * largest * math.sqrt(dimensions) / (cfl * h))
    front = Front(begin.astype(numpy.float64), (h,) * dimensions, order, time_step=duration / count, speed=speed,
                  **settings)
    front.step(count)
    near = numpy.abs(end) <= h * slope
    if what.startswith("plane"):
        near &= round_distance(place) < FROM
    return numpy.abs(front.phi - end)[near].mean() / slope


def converge(context, quick):
    """Errors of fronts that move at a known speed, by the spacing."""
    grids = (24, 32) if quick else (24, 32, 48, 64)
    exact = {"reinitialise_every": 0, "bounded": False, "width": EVERYWHERE}
    cases = [("ball grows", exact), ("ball shrinks", exact), ("ball grows, as in the library", {"cfl": 0.95})]
    if not quick:
        cases += [("ball shrinks, as in the library", {"cfl": 0.95}), ("plane", exact), ("cube grows", exact),
                  ("cube shrinks", exact)]
    cases += [("disc, speed as the radius", exact), ("disc, speed as the radius, Heun", {**exact, "heun": True})]
    records = []
    spacings = ", ".join(f"{SIDE / n:.3g}" for n in grids)
    table(f"Mean error of the place of a front with the spacings {spacings}; slope", ["front", *ORDERS])
    for name, settings in cases:
        what = name.removesuffix(", Heun").removesuffix(", as in the library")
        # A plane and a cube show their order on few grids.
        few = what.startswith(("plane", "cube"))
        sides = [2 * n if what.startswith("disc") else n for n in grids[:3 if few else None]]
        cells = []
        for order in ORDERS:
            errors = [moved(order, n, what, **settings) for n in sides]
            slope = -numpy.polyfit(numpy.log(sides), numpy.log(numpy.maximum(errors, 1e-300)), 1)[0]
            cells.append(", ".join(f"{error:.2g}" for error in errors)
                         + (f"; {slope:.1f}" if max(errors) > 1e-9 else ""))
            records.append({"front": name, "order": order, "sides": sides, "errors": errors, "slope": slope})
        row(name, *cells)
    errors = []
    for n in grids:
        place, h = positions(n, 3), SIDE / n
        radius = round_distance(place)
        phi = context.run("distance", numpy.uint8(radius < FROM), spacing=(h, h, h), dimensions=3)
        errors.append(numpy.abs(phi - (radius - FROM))[numpy.abs(radius - FROM) <= h].mean())
    row("the start: distance of a ball's mask", ", ".join(f"{error:.2g}" for error in errors), *["the same"] * 3)
    return records


def tip(h, order, half, dimensions, alpha=0.2, way=16.0, **settings):
    """The way that the front advances along a straight vessel while it would go `way` where all pixels are T."""
    sides = (20, 44) if dimensions == 2 else (18, 20, 40)
    axes = ((numpy.arange(round(side / h)) + 0.5) * h - 6 for side in sides)
    place = numpy.meshgrid(*axes, indexing="ij")
    direction = numpy.array((0.28, 0.96) if dimensions == 2 else (0.2, 0.28, math.sqrt(1 - 0.2 ** 2 - 0.28 ** 2)))
    along = sum(a * b for a, b in zip(direction, place))
    across = numpy.sqrt(numpy.maximum(sum(axis ** 2 for axis in place) - along ** 2, 0)) - half
    image = objects.LOW + (objects.HIGH - objects.LOW) / (1 + numpy.exp(numpy.clip(across / THIN_EDGE, -50, 50)))
    begin = 6.0
    ahead = along - begin
    phi = (numpy.hypot(numpy.maximum(across, 0), numpy.maximum(ahead, 0))
           + numpy.minimum(numpy.maximum(across, ahead), 0)).astype(numpy.float32)
    epsilon = HALF_WAY["epsilon"]
    # The limit of plan.rs where no |D| is larger than epsilon.
    share = 1 if order == "first" else STEP_SHARE
    limit = 1 / max(alpha * epsilon * math.sqrt(dimensions) / (share * h) + (1 - alpha) * (dimensions - 1) / h ** 2,
                    (1 - alpha) * dimensions / h ** 2)
    duration = way / (alpha * epsilon)
    count = math.ceil(duration / (0.95 * limit))
    front = Front(phi, (h,) * dimensions, order, image=image.astype(numpy.float32), alpha=alpha,
                  time_step=duration / count, **HALF_WAY, **settings)
    front.step(count)
    places = numpy.linspace(0, END_OF_VESSEL, 4000)
    on_axis = scipy.ndimage.map_coordinates(front.phi, [(6 + places * share) / h - 0.5 for share in direction], order=1,
                                            mode="nearest")
    inside = places[on_axis < 0]
    return max(inside.max() - begin, 0.0) if inside.size else 0.0


def advance(quick):
    """Fronts in thin vessels."""
    kinds = [("first", {}), ("second", {"width": 1}), ("second", {}), ("WENO5", {}), ("second", {"width": EVERYWHERE})]
    names = "first", "second, within 1 voxel", "second, within 2", "WENO5, within 2", "second, everywhere"
    table("How far a front advances along a vessel, in voxels: spacing 1, 0.5 and in 2D 0.25; "
          f"{END_OF_VESSEL - 6:g} is the end", ["vessel", *names])
    records = []
    for dimensions, half in ((2, 1.25), (2, 1.5), (2, 2.0), (3, 1.25), (3, 1.5), (3, 2.0))[:1 if quick else 6]:
        spacings = (1, 0.5, 0.25)[:2 if quick or dimensions == 3 else 3]
        cells = [[tip(h, order, half, dimensions, **settings) for h in spacings] for order, settings in kinds]
        row(f"{dimensions}D, {2 * half:g} wide", *(", ".join(f"{value:.1f}" for value in cell) for cell in cells))
        records.append({"dimensions": dimensions, "width": 2 * half, "spacings": spacings, "advance": cells})
    return records


AT_REST = ("first", "second", "WENO5")


def to_rest(front, most):
    """Evolves to rest, and returns the largest number of parts that the inside consisted of."""
    parts, whole = 0, numpy.ones((3,) * front.phi.ndim)
    while not front.converged and front.iterations < most:
        front.step(front.check_interval)
        parts = max(parts, scipy.ndimage.label(front.mask(), whole)[1])
    return parts


def rest(context, quick):
    """Fronts at rest."""
    table("Fronts at rest", ["image", *(f"{order}: iterations, Dice with the truth" for order in AT_REST),
                             "Dice with first: half the time step", *AT_REST[1:],
                             "most parts at once: first, second, WENO5"])
    records = []
    for name, images, truth, begin, spacing, given in itertools.chain(phantoms(quick), () if quick else real_images()):
        runs = []
        for image in images:
            case = (context, image, begin, spacing, given)
            fronts = [start(*case, order) for order in AT_REST] + [start(*case, "first", divided=2)]
            parts = [to_rest(front, MOST * (2 if front is fronts[-1] else 1)) for front in fronts]
            runs.append([(front.iterations, oracle.dice(front.mask(), truth),
                          oracle.dice(front.mask(), fronts[0].mask()), front.converged, most)
                         for front, most in zip(fronts, parts)])
        means = numpy.mean(runs, axis=0)
        moving = ["" if mean[3] == 1 else " (moving)" for mean in means]
        row(name, *(f"{mean[0]:.0f}{note}, {mean[1]:.4f}" for mean, note in zip(means[:3], moving)),
            f"{means[3][2]:.4f}", *(f"{mean[2]:.4f}" for mean in means[1:3]),
            ", ".join(str(max(int(run[i][4]) for run in runs)) for i in range(3)))
        records.append({"image": name, "runs": runs})
    return records


def cost(context, quick):
    """The prototype's time for an iteration, and the values of phi that a voxel and a tile read."""
    table("Cost in a volume", ["order", "values of phi for a voxel", "of a tile of 8 x 8 x 8, for each of its voxels",
                               "time of the prototype"])
    distance, begin = ball((32, 48, 48) if quick else (48, 48, 48), UNIT, 16)
    fronts = [start(context, drawn(distance, 16), begin, UNIT, HALF_WAY, order, check_interval=0, reinitialise_every=0)
              for order in ORDERS]
    times = [[] for _ in fronts]
    for _ in range(3 if quick else 15):
        for front, taken in zip(fronts, times):
            began = time.perf_counter()
            front.step(1)
            taken.append(time.perf_counter() - began)
    least = [min(taken) for taken in times]
    records = []
    for (order, (reach, _)), seconds in zip(ORDERS.items(), least):
        # Curvature reads the 18 neighbours along axes and diagonals of planes; a higher order more along the axes.
        voxel, tile = 19 + 6 * (reach - 1), (TILE + 2) ** 3 - 8 + 6 * TILE ** 2 * (reach - 1)
        row(order, voxel, f"{tile / TILE ** 3:.2f}", f"{seconds / least[0]:.2f}")
        records.append({"order": order, "time": seconds / least[0]})
    return records


def main():
    arguments = peers.parse(__doc__)
    context = arguments.library.context("cpu")
    compare_with_library(context, arguments.quick)
    records = {"convergence": converge(context, arguments.quick), "advance": advance(arguments.quick),
               "rest": rest(context, arguments.quick), "cost": cost(context, arguments.quick)}
    peers.write(arguments.json, records)


if __name__ == "__main__":
    main()
