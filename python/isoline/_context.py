"""Contexts: a device, what is kept for it between calls, and the operations on it."""
from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Sequence
from ctypes import byref, c_double, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

import numpy
from numpy import typing as npt

from ._arrays import (
    KINDS,
    ImageLike,
    Spacing,
    check_shape,
    describe,
    describe_both,
    device_of,
    in_numpy,
    is_lazy,
    labelled,
    numeric,
    on_device,
    shape_of,
)
from ._cancel import HERE, interruptible
from ._native import (
    UNCONVERGED,
    Device,
    InvalidArgument,
    IsolineWarning,
    Library,
    Owned,
    Report,
    default_library,
    freed_with,
    whole,
)
from ._progress import ProgressLike, Watch
from ._results import ELLIPSE, LINE, OBJECT, Maps, Polylines, Segments, Surface, copied

# The elements of what is found along segments, by its noun.
ALONG = {"lines": LINE, "ellipses": ELLIPSE}
COLOURS, MOST_OF_A_STRIP = (3, 4), 16  # sizes of a last axis of colours, and of sides of stacks that are as narrow


def outside() -> int:
    """The `stacklevel` of the line that calls the package, for a warning of the caller of this function."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and os.path.dirname(frame.f_code.co_filename) == os.path.dirname(__file__):
        frame, level = frame.f_back, level + 1
    return level


def doubt(text: str) -> None:
    """Warns the user of what may not have been wanted."""
    warnings.warn(text, IsolineWarning, stacklevel=outside())


def looks_coloured(array) -> bool:
    """True for what is taken for a stack, but is more likely an image with its colours side by side in memory. Columns cut
    out of a stack are not side by side there."""
    shape, strides = getattr(array, "shape", ()), getattr(array, "strides", None)
    return (len(shape) == 3 and shape[2] in COLOURS and min(shape[:2]) > MOST_OF_A_STRIP
            and getattr(array, "dtype", None) == numpy.uint8
            and (not isinstance(array, numpy.ndarray) or strides[1] in COLOURS and strides[2] == 1))


def doubt_colours(image) -> None:
    if looks_coloured(image):
        doubt(f"image: the shape {tuple(image.shape)} is taken for (z, y, x), {image.shape[0]} slices; if the last axis is "
              "colours, pass image[..., :3].mean(axis=-1, dtype=numpy.float32), or a channel, such as image[..., 0]")


def doubt_threshold(name: str, found, threshold) -> None:
    """Warns of a distance or an edge strength that is the same everywhere, as all pixels are on one side of the threshold.
    One pixel of a slice says it of a distance; of an edge strength all are read only if a few do not deny it."""
    if not isinstance(found, numpy.ndarray):
        return
    if name == "distance" and numpy.isinf(found[..., :1, :1]).all():
        doubt(f"distance: the result is infinite, as all pixels are on one side of the threshold {threshold:g}, and there "
              "is no boundary; give another threshold")
    few = found[(..., *(slice(None, None, max(1, side // 16)) for side in found.shape[-2:]))]
    whole = name == "edge_strength" and (few == 1).all() and (found == 1).all()
    if whole or name == "edge_strength" and not few.any() and not found.any():
        pixels = "all pixels are" if whole else "no pixel is"
        doubt(f"edge_strength: the result is {whole:d} everywhere, as {pixels} the shape at the threshold {threshold:g}; "
              "give another threshold")


def doubt_front(ended: str) -> None:
    """Warns of a level set without a front."""
    if ended in ("lost", "filled"):
        doubt(f"level_set: no front is left, and the mask is {'empty' if ended == 'lost' else 'the whole image'}; check the "
              "range of intensities and the start")


class Context(Owned):
    """A device and what is kept for it between calls: threads, kernels and memory.

    `device` is "auto", "cpu", "cuda", "cuda:N", a list such as "cuda:0,2" or "cuda:all"; a device that is named never falls
    back to another. The devices of a list share the slices of stacks and the targets of snakes. The functions of the
    package make a context for each device and keep it. Make one where threads of yours are to compute at the same
    time, each with its own: calls on one context run one after the other.
    """

    noun = "context"

    def __init__(self, device: str = "auto", *, library: Library | None = None):
        library, handle = library or default_library(), c_void_p()
        # A device may take seconds to open.
        with library.freed_after_errors("context", handle), interruptible(HERE.state):
            library.call("context_new", named(device).encode(), byref(handle))
        self.own(library, "context", handle)

    @property
    def device(self) -> Device:
        """The device: `id`, `name`, and the `reason` why it was selected."""
        device = Device()
        self.library.call("context_device", self, byref(device))
        return device

    def set_memory_limit(self, limit: int) -> None:
        """Sets the bytes of device memory that calls may use; 0 (the default) for 90 % of what is free.
        The distance, the edge strength and the isosurface of a volume that need more are computed in parts; of the
        band of a level set phi is stored near the front only; other calls are out of memory, or run on the CPU (`auto`)."""
        self.library.call("context_set_memory_limit", self, c_uint64(whole(limit, "limit")))

    def trim(self) -> None:
        """Releases the memory that is kept between calls."""
        self.library.call("context_trim", self)

    def buffer(self, shape: int | Sequence[int], dtype: npt.DTypeLike) -> npt.NDArray:
        """An array, not yet filled, from and to which calls are fastest: page-locked on a GPU. Its last view frees it."""
        address, kind = c_void_p(), numpy.dtype(dtype)
        sides = [shape] if numpy.ndim(shape) == 0 else shape
        count = whole(math.prod(whole(side, "a side of shape") for side in sides) * kind.itemsize, "the bytes of the buffer")
        with self.library.freed_after_errors("buffer", address):
            self.library.call("buffer_new", self, c_size_t(count), byref(address))
        memory: Any = (c_uint8 * count).from_address(address.value or 0)
        freed_with(memory, self.library.free("buffer"), address)
        return numpy.frombuffer(memory, kind).reshape(shape)

    def caller(self, operation, image, out, *more, spacing=None, report=None, **parameters):
        """A function that calls an operation from one image to another and returns `report`, a Report that the
        call fills; everything that Python costs is done before. `more`: what the C function has behind the output.
        `progress`, an argument of the function, is what the C function takes."""
        params = self.library.params(operation, **parameters)
        by_slices = True
        if operation == "distance":
            image = labelled(image, "image")
            if (1, 1, 1, *shape_of(image))[-3] == 1:
                params.dimensions = 2  # a volume of one slice is that slice
            # The CPU computes other volumes by slices: for distances in memory the image is read as a whole, for any device.
            by_slices = params.dimensions == 2 or is_lazy(out)
        own = Report() if report is None else report
        kinds = numpy.uint8 if operation == "edge_drawing" else numpy.float32,
        (described, image), (output, out) = describe_both(image, out, kinds, spacing, by_slices)
        before = (self, byref(described), byref(params))
        after = (output and byref(output), *more, filled(own))

        def run(progress=None):
            self.library.call(operation, *before, progress, *after)
            if operation == "edge_strength" and params.mode and not own.converged:
                # In a worker of Dask, that of distributed warns the user, too.
                sys.modules.get("distributed.worker", warnings).warn(
                    f"{UNCONVERGED} after {own.iterations} cycles: the estimated largest error is {own.residual:.1e}, the "
                    f"tolerance {params.tolerance:.1e}; raise max_cycles, or tolerance where that was not reached",
                    RuntimeWarning, stacklevel=outside())
            return report

        # The images must live as long as the function.
        run.kept = image, out, described, output, params
        return run

    def run(self, operation: str, image: ImageLike, *, out: Any = None, progress: ProgressLike = None, **options) -> Any:
        """The image (float32) that an operation makes of an image; further keywords as for the operation's function."""
        out = numpy.empty(shape_of(image), numpy.float32) if out is None else out
        call = self.caller(operation, image, out, **options)
        with Watch(progress) as watch:
            call(watch.argument)
        return out

    def distance_pass(self, image: ImageLike, axis: int, *, spacing: Spacing = None, progress: ProgressLike = None,
                      report: Report | None = None, **parameters) -> npt.NDArray:
        """One pass of the distance of a larger image along x (axis 0), y (1) or z (2), from a mask or the values of the pass
        before, in host memory; see isoline_distance_pass in isoline.h."""
        values, params = numpy.empty(shape_of(image), numpy.float32), self.library.params("distance", **parameters)
        described, _kept = describe(image, spacing, by_slices=False)
        output, _ = describe(values, output=(numpy.float32,))
        number = c_uint32(whole(axis, "axis", most=2))
        with Watch(progress) as watch:
            self.library.call("distance_pass", self, byref(described), number, byref(params), watch.argument,
                              byref(output), filled(report))
        return values

    def drawing_caller(self, image, edges, want_segments, report=None, **parameters):
        """The caller of edge drawing, which also frees the segments that it gets."""
        handle, free = c_void_p(), self.library.free("segments")
        call = self.caller("edge_drawing", image, edges, byref(handle) if want_segments else None, report=report,
                           **parameters)

        def run():
            call()
            free(handle)
            return report

        return run

    def edge_drawing(self, image: ImageLike, *, out: Any = None, segments: bool = True, progress: ProgressLike = None,
                     **options) -> tuple[Any, Segments | None]:
        """The edge map and the Segments of an image or stack; see isoline.edge_drawing."""
        out, handle = numpy.empty(shape_of(image), numpy.uint8) if out is None else out, c_void_p()
        call = self.caller("edge_drawing", image, out, byref(handle) if segments else None, **options)
        try:
            with Watch(progress) as watch:
                call(watch.argument)
            return out, self._copied(Segments, handle) if segments else None
        finally:
            self.library.free("segments")(handle)

    def _copied(self, kind, handle):
        """The object that a handle stands for, as one of the classes of results."""
        arrays = kind.Arrays()
        self.library.call(f"{kind.NOUN}_all", handle, byref(arrays))
        return kind(arrays)

    def along_caller(self, noun, image, report=None, **parameters):
        """A function that finds lines or ellipses along segments, whose handle it takes, and returns them as an array."""
        (described, image), params = describe(image), self.library.params("edge_drawing", **parameters)

        def run(segments, progress=None):
            found, first, count = c_void_p(), c_void_p(), c_size_t()
            try:
                self.library.call(f"edge_drawing_{noun}", self, byref(described), segments, byref(params), progress,
                                  byref(found), filled(report))
                self.library.call(f"{noun}_all", found, byref(first), byref(count))
                return copied(first, ALONG[noun], count.value)
            finally:
                self.library.free(noun)(found)

        # The image must live as long as the function.
        run.kept = image
        return run

    def _along(self, noun, image, progress, report, parameters):
        """The lines or ellipses along the segments of an image or stack, and the Segments."""
        handle = c_void_p()
        draw = self.caller("edge_drawing", image, None, byref(handle), report=report, **parameters)
        find = self.along_caller(noun, image, **parameters)
        with Watch(progress, calls=2) as watch:
            draw(watch.argument)
            watch.done += 1
            try:
                return find(handle, watch.argument), self._copied(Segments, handle)
            finally:
                self.library.free("segments")(handle)

    def edge_drawing_lines(self, image: ImageLike, *, progress: ProgressLike = None, report: Report | None = None,
                           **parameters) -> tuple[npt.NDArray, Segments]:
        """The lines along the segments of an image or stack, and the Segments; see isoline.edge_drawing_lines."""
        return self._along("lines", image, progress, report, parameters)

    def edge_drawing_ellipses(self, image: ImageLike, *, progress: ProgressLike = None, report: Report | None = None,
                              **parameters) -> tuple[npt.NDArray, Segments]:
        """The circles and ellipses along the segments of an image or stack, and the Segments; see
        isoline.edge_drawing_ellipses."""
        return self._along("ellipses", image, progress, report, parameters)

    def edge_drawing_maps(self, image: ImageLike, *, progress: ProgressLike = None, report: Report | None = None,
                          **parameters) -> Maps:
        """The intermediate images of edge drawing; see isoline.edge_drawing_maps."""
        described, _kept = describe(image)
        kinds = (KINDS[described.type], numpy.float32, numpy.uint8, numpy.uint8)
        maps = Maps(*(numpy.empty(shape_of(image), kind) for kind in kinds))
        outputs = [describe(output, output=KINDS)[0] for output in maps]
        params = self.library.params("edge_drawing", **parameters)
        with Watch(progress) as watch:
            self.library.call("edge_drawing_maps", self, byref(described), byref(params), watch.argument,
                              *(byref(output) for output in outputs), filled(report))
        return maps

    def edge_drawing_threshold(self, image: ImageLike, **parameters) -> float:
        """The automatic gradient threshold of an image; see isoline.edge_drawing_threshold."""
        described, _kept = describe(image)
        params = self.library.params("edge_drawing", **parameters)
        threshold = c_double()
        self.library.call("edge_drawing_threshold", self, byref(described), byref(params), byref(threshold))
        return threshold.value

    def _caller(self, kind, image, call):
        """A function that makes an object by `call` and returns its handle, which it frees at the next call."""
        handle, free = c_void_p(), self.library.free(kind.NOUN)

        def run(progress=None):
            free(handle)
            handle.value = None
            call(progress, byref(handle))
            return handle

        # The image must live as long as the function, and the last object no longer.
        run.kept = image
        freed_with(run, lambda: free(handle))
        return run

    def _found(self, kind, call, progress):
        """The object that a function of `_caller` makes."""
        with Watch(progress) as watch:
            handle = call(watch.argument)
        return self._copied(kind, handle)

    def isolines_caller(self, image, levels=None, spacing=None, report=None, **parameters):
        """A function that computes isolines and returns the handle of the polylines, which it frees at the next call."""
        params = self.library.params("isolines", **parameters)
        given = numeric([] if levels is None else levels, "levels")
        if levels is not None and given.size == 0:
            raise InvalidArgument("levels must be None for automatic ones, or one number or several (got none); give some")
        if given.ndim > 1:
            raise InvalidArgument("levels must be one number or a list of numbers (got an array of shape "
                                  f"{given.shape}); flatten it")
        # The array of a Dask worker may be unaligned.
        levels = numpy.require(given, numpy.float64, "CA").ravel()
        described, image = describe(image, spacing)
        return self._caller(Polylines, image, lambda progress, handle: self.library.call(
            "isolines", self, byref(described), c_void_p(levels.ctypes.data), c_size_t(len(levels)), byref(params),
            progress, handle, filled(report)))

    def isolines(self, image: ImageLike, levels: npt.ArrayLike | None = None, *, progress: ProgressLike = None,
                 **options) -> Polylines:
        """The Polylines of an image or stack; see isoline.isolines."""
        call = self.isolines_caller(image, levels, **options)
        return self._found(Polylines, call, progress)

    def edge_strength_axes(self, image: ImageLike, *, spacing: Any = None, progress: ProgressLike = None,
                           report: Report | None = None, **parameters) -> tuple[Polylines, npt.NDArray]:
        """The axes and critical points of the edge strength of an image or stack, and the strength; see
        isoline.edge_strength_axes."""
        strength = numpy.empty(shape_of(image), numpy.float32)
        compute = self.caller("edge_strength", image, strength, spacing=spacing, report=report, **parameters)
        find = self._axes_caller(strength, spacing, parameters)
        with Watch(progress, calls=2) as watch:
            compute(watch.argument)
            watch.done += 1
            return self._copied(Polylines, find(watch.argument)), strength

    def _axes_caller(self, strength, spacing, parameters):
        (described, strength), params = describe(strength, spacing), self.library.params("edge_strength", **parameters)
        return self._caller(Polylines, strength, lambda progress, handle: self.library.call(
            "edge_strength_axes", self, byref(described), byref(params), progress, handle, None))

    def axes_of_strength(self, strength: ImageLike, *, spacing: Any = None, progress: ProgressLike = None,
                         **parameters) -> Polylines:
        """The axes and critical points of an edge strength that is known; further keywords as for edge_strength_axes."""
        return self._found(Polylines, self._axes_caller(strength, spacing, parameters), progress)

    def isosurface_caller(self, image, spacing=None, report=None, **parameters):
        """A function that computes an isosurface and returns the handle of the surface, which it frees at the next call."""
        params = self.library.params("isosurface", **parameters)
        described, image = describe(image, spacing)
        return self._caller(Surface, image, lambda progress, handle: self.library.call(
            "isosurface", self, byref(described), byref(params), progress, handle, filled(report)))

    def isosurface(self, image: ImageLike, *, progress: ProgressLike = None, **options) -> Surface:
        """The Surface of a volume at a level; see isoline.isosurface."""
        call = self.isosurface_caller(image, **options)
        return self._found(Surface, call, progress)

    def surface(self, vertices: npt.ArrayLike, triangles: npt.ArrayLike, *, foreground: str = "above",
                progress: ProgressLike = None, report: Report | None = None) -> Surface:
        """The Surface of a mesh, with its normals and measures; see Surface.of_mesh."""
        arrays = [in_numpy(array) for array in (vertices, triangles)]
        for name, array, kinds in zip(("vertices", "triangles"), arrays, ("fiu", "iu")):
            if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in kinds:
                raise InvalidArgument(f"cannot use {name}: they must be an array (n, 3) of numbers, of triangles whole ones "
                                      f"(got shape {array.shape} of {array.dtype})")
        kinds = numpy.float32, numpy.uint32
        with numpy.errstate(over="ignore"):
            points, corners = (numpy.require(array, kind, "CA") for array, kind in zip(arrays, kinds))
        if (beyond := numpy.isinf(points) & numpy.isfinite(arrays[0])).any():
            raise InvalidArgument("cannot use vertices: they must be within the range of float32, -3.4e38 to 3.4e38 (got "
                                  f"{arrays[0][beyond][0]}); choose a larger unit")
        if not numpy.array_equal(corners, arrays[1]):
            raise InvalidArgument("cannot use triangles: their indices must be from 0 to 4294967295; count vertices from 0")
        side = c_uint32(self.library.params("isosurface", foreground=foreground).foreground)
        call = self._caller(Surface, (points, corners), lambda progress, handle: self.library.call(
            "surface_new", self, c_void_p(points.ctypes.data), c_size_t(len(points)), c_void_p(corners.ctypes.data),
            c_size_t(len(corners)), side, progress, handle, filled(report)))
        return self._found(Surface, call, progress)

    def objects_caller(self, image, starts=None, out=None, spacing=None, report=None, **parameters):
        """A function that grows objects into `out`, which None makes, and returns it and them as an array."""
        params = self.library.params("objects", **parameters)
        given = None if starts is None else labelled(starts, "starts")
        # Labels in floats have the type back that they were given in.
        own = None if given is starts or out is not None else numpy.asarray(starts).dtype.newbyteorder("=")
        (start, starts) = (None, None) if given is None else describe(given, name="starts")
        kind = numpy.uint16 if start is None else KINDS[start.type]
        result = numpy.empty(shape_of(image), kind) if out is None else out
        (described, image), (output, out) = describe_both(image, result, tuple(dict.fromkeys((kind, *KINDS))), spacing)
        if starts is not None:
            check_shape(starts, shape_of(image), "starts")

        def run(progress=None):
            found, first, count = c_void_p(), c_void_p(), c_size_t()
            try:
                self.library.call("objects", self, byref(described), start and byref(start), byref(params), progress,
                                  byref(output), byref(found), filled(report))
                self.library.call("object_list_all", found, byref(first), byref(count))
                return result if own is None else result.astype(own), copied(first, OBJECT, count.value)
            finally:
                self.library.free("object_list")(found)

        # The images must live as long as the function.
        run.kept = image, starts, out, described, start, output
        return run

    def objects(self, image: ImageLike, starts: ImageLike | None = None, *, out: Any = None, progress: ProgressLike = None,
                **options) -> tuple[Any, npt.NDArray]:
        """The labels of many objects at once, and a table of them; see isoline.objects."""
        call = self.objects_caller(image, starts, out, **options)
        with Watch(progress) as watch:
            return call(watch.argument)

    def level_set(self, image: ImageLike, initial_mask: ImageLike, *, spacing: Spacing = None, out: Any = None,
                  progress: ProgressLike = None, report: Report | None = None, **parameters) -> Any:
        """The mask that a level set comes to from an initial mask; see isoline.level_set."""
        params = self.library.params("level_set", **parameters)
        out = numpy.empty(shape_of(image), numpy.uint8) if out is None else out
        (described, _image), (output, _) = describe_both(image, out, (numpy.uint8,), spacing)
        start, _mask = describe(labelled(initial_mask, "initial_mask"), name="initial_mask")
        check_shape(initial_mask, shape_of(image), "initial_mask")
        with Watch(progress) as watch:
            self.library.call("level_set_run", self, byref(described), byref(start), byref(params), watch.argument,
                              byref(output), filled(report))
        return out


def named(device) -> str:
    """The name of a device."""
    if not isinstance(device, str):
        raise TypeError(f"device must be a name, such as \"cpu\" or \"cuda:0\", or a Context, but it is {device!r}")
    if "\0" in device:
        raise InvalidArgument(f"device must be a name without a NUL character, which would end it for C (got {device!r}); "
                              "leave it out")
    return device


def filled(report: Report | None):
    """The argument of a call that fills a report."""
    if report is not None and not isinstance(report, Report):
        raise TypeError(f"report must be an isoline.Report or None, but it is {report!r}")
    return report and byref(report)


DeviceLike = str | Context
kept: dict[tuple[int, str], Context] = {}


def context_of(device: DeviceLike, *arrays) -> Context:
    """The context that is kept for a device, or the one that is given. "auto" is the GPU that one of the arrays is on. The
    first of them is the image."""
    if arrays:
        doubt_colours(arrays[0])
    if isinstance(device, Context):
        return device
    if device == "auto":
        device = next((f"cuda:{device_of(array)}" for array in arrays if on_device(array)), device)
    # The child of a fork cannot use the contexts of its parent.
    key = os.getpid(), named(device)
    if key not in kept:
        kept[key] = Context(device)
    return kept[key]
