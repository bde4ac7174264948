"""Solvers: objects that keep an operation's state between calls."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ctypes import byref, c_size_t, c_uint32, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any

import numpy
from numpy import typing as npt

from ._arrays import ImageLike, Spacing, check_shape, describe, labelled, numeric, shape_of
from ._context import DeviceLike, context_of, filled
from ._native import AUTOMATIC, LevelSetState, Owned, PolygonArrays, Report, real, whole
from ._progress import ProgressLike, Watch
from ._results import STATISTICS, TARGET_STATISTICS, copied

if TYPE_CHECKING:  # The types of the keywords are in the stub alone, made from the library's tables.
    from typing_extensions import Unpack

    from ._operations import LevelSetParameters, SnakeParameters

ALL = 2 ** 64 - 1  # iterations
Polygons = npt.ArrayLike | Sequence[npt.ArrayLike] | None


class Solver(Owned):
    """The part that both solvers have."""

    kind = ""

    def __init__(self, device, image, spacing, *arrays, by_slices=True):
        self.context, self.turn = context_of(device, image, *arrays), threading.RLock()
        self.described, self.image = describe(image, spacing, by_slices=by_slices)
        self.shape = shape_of(image)

    def make(self, operation, middle, parameters):
        self.made_by("new", operation, middle, parameters, lambda handle: (handle,))

    def made_by(self, function, operation, middle, parameters, rest):
        """Makes the solver by a function of the C API, which has `rest` of the handle behind the parameters."""
        params, handle = self.context.library.params(operation, **parameters), c_void_p()
        with self.context.library.freed_after_errors(self.kind, handle):
            self.context.library.call(f"{self.kind}_{function}", self.context, byref(self.described), middle,
                                      byref(params), *rest(byref(handle)))
        # The library keeps a copy of the image, or nothing.
        del self.described, self.image
        self.own(self.context.library, self.kind, handle)

    def evolve(self, iterations, progress) -> Report:
        report, iterations = Report(), whole(iterations, "iterations")
        with Watch(progress) as watch:
            self.library.call(f"{self.kind}_step", self, c_uint64(iterations), watch.argument, byref(report))
        return report

    def read(self, what, out, *kinds):
        out = numpy.empty(self.shape, kinds[0]) if out is None else out
        output, _owner = describe(out, name="out", output=kinds)
        check_shape(out, self.shape, "out")
        self.library.call(f"{self.kind}_{what}", self, byref(output))
        return out

    def rows(self, first, count, dtype):
        """The statistics from `first` on."""
        entries, written = numpy.empty(count, dtype), c_size_t()
        self.library.call(f"{self.kind}_statistics", self, first, c_size_t(count),
                          c_void_p(entries.ctypes.data), byref(written))
        return entries[:written.value]


class LevelSet(Solver):
    """An evolving front, in 2D or 3D: isoline.level_set, step by step. A context manager: `with` frees it at the end.

    image: the image or volume, axes (y, x) or (z, y, x). initial_mask: the start, above 0 inside. spacing: the size of a
    voxel in the order of the axes. device: "auto", "cpu", "cuda:N" or a Context. Further keywords: the parameters of
    isoline.level_set, except `iterations`.
    """

    noun, kind = "level set", "level_set"

    def __init__(self, image: ImageLike, initial_mask: ImageLike, *, spacing: Spacing = None, device: DeviceLike = "auto",
                 **parameters: Unpack[LevelSetParameters]):
        if "iterations" in parameters:
            raise TypeError(f"LevelSet has no parameter 'iterations' (got {parameters['iterations']}); give them to step")
        super().__init__(device, image, spacing, initial_mask)
        start, initial_mask = describe(labelled(initial_mask, "initial_mask"), name="initial_mask")
        check_shape(initial_mask, self.shape, "initial_mask")
        self.make("level_set", byref(start), parameters)

    def __repr__(self) -> str:
        return "<a closed level set>" if self.closed else f"<a level set of the shape {self.shape}>"

    def step(self, iterations: int, *, progress: ProgressLike = None) -> Report:
        """Evolves by so many iterations, or fewer if the front comes to rest; the Report's `ended()` says how it ended.

        A cancelled step keeps its last complete iteration, and the next one continues from there.
        """
        return self.evolve(iterations, progress)

    def mask(self, out: Any = None) -> Any:
        """255 inside, 0 elsewhere (uint8)."""
        return self.read("read_mask", out, numpy.uint8)

    def phi(self, out: Any = None) -> Any:
        """The level set function (float32), negative inside; near the front close to the distance to it."""
        return self.read("read_phi", out, numpy.float32)

    def write_phi(self, phi: ImageLike) -> None:
        """Replaces the level set function, for example by one that was saved: finite, float32, negative inside, and near the
        front the distance to it in the unit of the spacing. With variant="band" one without a voxel in the narrow band, as
        it is saved where a front rests at sharp edges, becomes the distance to its front after the first iteration."""
        described, _phi = describe(phi, name="phi")
        check_shape(phi, self.shape, "phi")
        self.library.call("level_set_write_phi", self, byref(described))

    def state(self) -> LevelSetState:
        """The progress, and the parameters with every automatic one computed."""
        state = LevelSetState()
        self.library.call("level_set_info", self, byref(state))
        return state

    def statistics(self, first: int = 1) -> npt.NDArray:
        """A structured array: iteration, inside, changed, near_front and rms of each iteration from `first` on."""
        return self.rows(c_uint64(whole(first, "first")), self.state().iterations, STATISTICS)


class Snake(Solver):
    """Region snakes: isoline.snake, step by step. A context manager: `with` frees it at the end.

    image: axes (y, x). polygons: the starts, each a sequence of (x, y) corners of pixels, such as (0, 0) for the upper left
    one of the image, or such a sequence alone; None for the default rectangle. device: "auto", "cpu", "cuda:N" or a Context.
    Further keywords: the parameters of isoline.snake.
    """

    noun, kind = "snake", "snake"

    def __init__(self, image: ImageLike, polygons: Polygons = None, *, device: DeviceLike = "auto",
                 **parameters: Unpack[SnakeParameters]):
        super().__init__(device, image, None, by_slices=False)
        arrays, _kept = polygon_arrays(polygons)
        self.make("snake", arrays and byref(arrays), parameters)

    @classmethod
    def run(cls, image: ImageLike, polygons: Polygons = None, slices: npt.ArrayLike | None = None, *,
            device: DeviceLike = "auto", progress: ProgressLike = None, report: Report | None = None, **parameters) -> Snake:
        """A Snake whose targets have all ended, on one slice or several: isoline.snake."""
        found = cls.__new__(cls)
        Solver.__init__(found, device, image, None)
        arrays, _kept = polygon_arrays(polygons, slices)
        with Watch(progress) as watch:
            found.made_by("run", "snake", arrays and byref(arrays), parameters,
                          lambda handle: (watch.argument, None, handle, filled(report)))
        return found

    def __len__(self) -> int:
        with self.used() as handle:
            return self.library.library.isoline_snake_count(handle)

    def __repr__(self) -> str:
        if self.closed:
            return "<a closed snake>"
        return f"<a snake of {len(self)} targets, {(self.statistics()['status'] > 0).sum()} of them ended>"

    def restart(self, polygons: Polygons = None, **parameters: Unpack[SnakeParameters]) -> None:
        """Restarts on the same image; parameters that are not given have their defaults, not their last values."""
        (arrays, _kept), params = polygon_arrays(polygons), self.library.params("snake", **parameters)
        with self.turn:
            self.library.call("snake_restart", self, arrays and byref(arrays), byref(params))

    def step(self, iterations: int = ALL, *, progress: ProgressLike = None) -> Report:
        """Continues every target by so many iterations, without a number until all have ended.

        A cancelled step keeps the last complete iteration of each, and the next one continues from there.
        """
        with self.turn:
            return self.evolve(iterations, progress)

    @contextlib.contextmanager
    def borrowed(self) -> Iterator[PolygonArrays]:
        """The polygons in the library's memory, which the next step frees: that of another thread waits."""
        arrays = PolygonArrays()
        with self.turn, self.used() as handle:
            self.library.call("snake_polygons", handle, byref(arrays))
            yield arrays

    def polygons(self) -> list[npt.NDArray]:
        """An (n, 2) array of x and y for each target, clockwise, in corners of pixels."""
        with self.borrowed() as arrays:
            nodes = copied(arrays.nodes, numpy.int32, 2 * arrays.node_count).reshape(-1, 2)
            return divided(nodes, copied(arrays.offsets, numpy.uint64, arrays.count + 1))

    def slices(self) -> npt.NDArray:
        """The slice of each target, counted from 0."""
        with self.borrowed() as arrays:
            return copied(arrays.slices, numpy.uint32, arrays.count)

    def curves(self, longest_edge: float | None = None, points_per_edge: int = 8) -> list[npt.NDArray]:
        """A smooth curve along each polygon, an (n, 2) array of x and y; longest_edge in pixels, None: automatic."""
        points_per_edge = whole(points_per_edge, "points_per_edge", most=1024, least=1)
        longest = real(AUTOMATIC if longest_edge is None else longest_edge, "longest_edge")
        with self.borrowed() as arrays:
            offsets, points = numpy.zeros(arrays.count + 1, numpy.uint64), numpy.empty((0, 2))
            for _ in range(2):  # the first time only the offsets
                self.library.call("polygons_smooth", byref(arrays), longest, c_uint32(points_per_edge),
                                  c_size_t(len(points)), c_void_p(offsets.ctypes.data),
                                  c_void_p(points.ctypes.data if len(points) else None))
                points = points if len(points) else numpy.empty((int(offsets[-1]), 2))
        return divided(points, offsets)

    def statistics(self) -> npt.NDArray:
        """A structured array with an element for each target: status (0 running, 1 converged, 2 vanished, 3 left the image,
        4 iteration limit), flags, iterations, nodes, pixels, mean, deviation and so on, as in the C API. With Bernoulli
        noise pixels above 0 count as 1: the mean is their share."""
        return self.rows(c_size_t(0), len(self), TARGET_STATISTICS)

    def mask(self, out: Any = None) -> Any:
        """255 in any target, 0 elsewhere (uint8)."""
        return self.read("draw_mask", out, numpy.uint8)

    def labels(self, out: Any = None) -> Any:
        """The number of the target that a pixel lies in, from 1 on, or 0; uint16, float32 beyond 65535 targets."""
        kinds = numpy.uint16, numpy.float32
        return self.read("draw_labels", out, *(kinds if len(self) < 2 ** 16 else kinds[1:]))


def is_point(value) -> bool:
    try:
        return numpy.shape(value) == (2,)
    except ValueError:  # rows of several lengths
        return False


def polygon_parts(polygons) -> list[npt.NDArray]:
    """The nodes of each polygon, or of a single one, which are whole numbers of 32 bits."""
    if not isinstance(polygons, Iterable) or isinstance(polygons, (str, bytes, Mapping)):
        raise TypeError(f"cannot use polygons: they must be a sequence of polygons (got {polygons!r})")
    polygons, parts = list(polygons), []
    if polygons and is_point(polygons[0]):
        polygons = [polygons]
    for index, polygon in enumerate(polygons):
        try:
            part, shape = numpy.asarray(polygon), ""
        except ValueError:
            part, shape = numpy.empty(0), "rows of several lengths"
        if part.ndim != 2 or part.shape[1] != 2:
            raise ValueError(f"cannot use polygon {index}: it must be a sequence of (x, y) (got "
                             f"{shape or f'an array of shape {part.shape}'})")
        if part.dtype.kind not in "biuf":
            raise ValueError(f"cannot use polygon {index}: its nodes must be whole numbers of 32 bits (got {part.dtype})")
        parts.append(part)
    # All at once, because there may be thousands.
    nodes = numpy.concatenate(parts) if parts else numpy.empty((0, 2))
    wrong = ((nodes != numpy.floor(nodes)) | (nodes < -2 ** 31) | (nodes >= 2 ** 31)).any(axis=1)
    if wrong.any():
        first = wrong.argmax()
        index, (x, y) = numpy.searchsorted(numpy.cumsum([len(part) for part in parts]), first, side="right"), nodes[first]
        raise ValueError(f"cannot use polygon {index}: its nodes must be whole numbers of 32 bits, the corners of pixels "
                         f"(got ({x}, {y})); round them, and let them lie in the image")
    return parts


def polygon_arrays(polygons, slices=None) -> tuple[PolygonArrays | None, tuple]:
    """Polygons as the C API takes them, and the arrays that must live as long. `slices`: of each, None for 0."""
    if polygons is None:
        if slices is not None:
            raise ValueError("cannot use slices without polygons: the default rectangle is on each slice; give polygons")
        return None, ()
    parts = polygon_parts(polygons)
    nodes = numpy.ascontiguousarray(numpy.concatenate(parts) if parts else numpy.empty((0, 2)), numpy.int32)
    offsets = numpy.cumsum([0, *map(len, parts)]).astype(numpy.uint64)
    arrays = PolygonArrays(count=len(parts), node_count=len(nodes), nodes=nodes.ctypes.data, offsets=offsets.ctypes.data)
    if slices is None:
        return arrays, (nodes, offsets)
    given = numpy.atleast_1d(numeric(slices, "slices"))
    if given.shape != (len(parts),):
        raise ValueError(f"cannot use slices: there must be one for each of {len(parts)} polygons (got an array of shape "
                         f"{given.shape})")
    if ((given != numpy.floor(given)) | (given < 0) | (given >= 2 ** 32)).any():
        raise ValueError(f"cannot use slices: they must be whole numbers from 0 to 4294967295 (got {slices!r}); count "
                         "slices from 0")
    numbers = given.astype(numpy.uint32)
    arrays.slices = numbers.ctypes.data
    return arrays, (nodes, offsets, numbers)


def divided(rows, offsets) -> list[npt.NDArray]:
    return [rows[first:end] for first, end in zip(offsets.astype(int), offsets[1:].astype(int))]
