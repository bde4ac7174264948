"""libisoline.so from Python, by ctypes: what the scripts for pictures, oracles and peers need of it.

    library = Library("target/release")
    context = library.context("cpu")
    edges, segments = context.edge_drawing(image, profile="reference", gradient_threshold=20)
    distance = context.run("distance", mask, spacing=(1, 1, 3))
    curves = context.isolines(image, levels=[20, 40])
    surface = context.level_set(volume, start, spacing=(1, 1, 3), target=120, epsilon=30)
    surface.step(500)
    inside, phi, curve = surface.mask(), surface.phi(), surface.statistics()
    snake = context.snake(image, [[(10, 10), (90, 10), (90, 60), (10, 60)]], noise="poisson")
    snake.step()
    outlines, labels, told = snake.polygons(), snake.labels(), snake.statistics()
    fast = context.buffer((64, 512, 512), numpy.float32)
    with library.cancel_flag() as flag:         # calls of this thread can be cancelled,
        threading.Timer(5, flag.set).start()    # here after 5 s, with a RuntimeError
        surface = context.level_set(volume, start)

Keyword arguments are the operation's parameters, as the library describes them: choices by name, None for automatic.
Arrays are packed, indexed [z, y, x] or [y, x]; spacing is that of x, y, z.
"""
import ctypes
import math
import pathlib
import sys
import weakref
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)

import numpy

TYPES = {"uint8": 0, "uint16": 1, "float32": 2}
# The types of parameters in params structs, in the order of isoline_storage.
STORAGES = (c_uint32, c_uint64, c_double)
AUTOMATIC = -sys.float_info.max  # ISOLINE_AUTOMATIC


class Image(Structure):
    _fields_ = [("struct_size", c_uint32), ("type", c_uint32), ("memory", c_uint32), ("reserved", c_uint32),
                ("width", c_uint64), ("height", c_uint64), ("depth", c_uint64), ("row_stride", c_uint64),
                ("slice_stride", c_uint64), ("spacing", c_double * 3), ("data", c_void_p)]


class OperationInfo(Structure):
    _fields_ = [("struct_size", c_uint32), ("parameter_count", c_uint32), ("params_size", c_uint64), ("name", c_char_p),
                ("title", c_char_p), ("help", c_char_p)]


class ParameterInfo(Structure):
    _fields_ = [("struct_size", c_uint32), ("type", c_uint32), ("level", c_uint32), ("storage", c_uint32),
                ("offset", c_uint64), ("name", c_char_p), ("title", c_char_p), ("help", c_char_p), ("unit", c_char_p),
                ("automatic", c_char_p), ("automatic_value", c_double), ("default_value", c_double),
                ("minimum", c_double), ("maximum", c_double), ("minimum_excluded", c_uint32),
                ("maximum_excluded", c_uint32), ("power_of_two", c_uint32), ("choice_count", c_uint32)]


class ChoiceInfo(Structure):
    _fields_ = [("struct_size", c_uint32), ("value", c_uint32), ("name", c_char_p), ("title", c_char_p),
                ("help", c_char_p)]


# The ways in which a level set can end, in the order of isoline_level_set_outcome.
OUTCOMES = ("moving", "front", "at limit", "filled", "lost")


class LevelSetState(Structure):
    _fields_ = [("struct_size", c_uint32), ("converged", c_uint32), ("check_interval", c_uint32),
                ("side", c_uint32), ("iterations", c_uint64), ("inside", c_uint64), ("active_tiles", c_uint64),
                ("tiles", c_uint64), ("target", c_double), ("epsilon", c_double), ("alpha", c_double),
                ("time_step", c_double), ("time_step_limit", c_double), ("expected_iterations", c_uint64),
                ("limit_share", c_double), ("outcome", c_uint32), ("reserved", c_uint32)]

    def ended(self):
        """The end of the last step, one of OUTCOMES."""
        return OUTCOMES[self.outcome]


class Report(Structure):
    _fields_ = [("struct_size", c_uint32), ("device_kind", c_uint32), ("device_index", c_uint32),
                ("converged", c_uint32), ("iterations", c_uint64), ("slices_done", c_uint64),
                ("seconds_total", c_double), ("seconds_upload", c_double), ("seconds_compute", c_double),
                ("seconds_download", c_double), ("residual", c_double), ("peak_device_bytes", c_uint64),
                ("device_name", c_char * 128), ("outcome", c_uint32), ("reserved", c_uint32)]

    def ended(self):
        """The end of a level set, one of OUTCOMES."""
        return OUTCOMES[self.outcome]


# The fields that isoline_level_set_statistics writes.
STATISTICS = numpy.dtype([("iteration", "u8"), ("inside", "u8"), ("changed", "u8"), ("near_front", "u8"),
                          ("rms", "f8")])


class PolygonArrays(Structure):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("count", c_uint64), ("node_count", c_uint64),
                ("nodes", c_void_p), ("offsets", c_void_p)]


# The fields that isoline_snake_statistics writes; status: 0 running, 1 converged, 2 vanished, 3 left the image, 4 iteration
# limit.
TARGET_STATISTICS = numpy.dtype([("status", "u4"), ("flags", "u4"), ("iterations", "u8"), ("nodes", "u8"),
                                 ("pixels", "u8"), ("background_pixels", "u8"), ("mean", "f8"), ("deviation", "f8"),
                                 ("background_mean", "f8"), ("background_deviation", "f8"), ("criterion", "f8")])


class SegmentArrays(Structure):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("count", c_uint64), ("point_count", c_uint64),
                ("points", POINTER(c_uint32)), ("offsets", POINTER(c_uint64)), ("flags", POINTER(c_uint32)),
                ("slices", POINTER(c_uint32)), ("mean_gradients", POINTER(c_float))]


class Segments:
    """Flat arrays: `points` (n, 2) of x and y, `offsets`, `flags` (1: closed), `slices`, `mean_gradients`."""

    def __init__(self, arrays):
        def copy(pointer, count):
            return numpy.ctypeslib.as_array(pointer, (count,)).copy() if count else numpy.zeros(0, numpy.uint32)

        self.points = copy(arrays.points, 2 * arrays.point_count).reshape(-1, 2)
        self.offsets = copy(arrays.offsets, arrays.count + 1).astype(numpy.int64)
        self.flags = copy(arrays.flags, arrays.count)
        self.slices = copy(arrays.slices, arrays.count)
        self.mean_gradients = copy(arrays.mean_gradients, arrays.count)

    def __len__(self):
        return len(self.flags)

    def __iter__(self):
        for first, end in zip(self.offsets, self.offsets[1:]):
            yield self.points[first:end]


# One polyline: the index of its first point, their number, the polyline around it or -1, and so on; flags 1: closed.
POLYLINE = numpy.dtype([("first", "u8"), ("count", "u8"), ("parent", "i8"), ("level", "f8"), ("length", "f8"),
                        ("area", "f8"), ("slice", "u4"), ("flags", "u4")])


class PolylineArrays(Structure):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("count", c_uint64), ("point_count", c_uint64),
                ("polylines", c_void_p), ("points", c_void_p)]


class Polylines:
    """`lines`, a structured array (POLYLINE), and `points` (n, 2) of x and y; as a sequence, the points of each."""

    def __init__(self, arrays):
        def copied(address, kind, count):
            return numpy.frombuffer(ctypes.string_at(address, count * kind.itemsize) if count else b"", kind)

        self.lines = copied(arrays.polylines, POLYLINE, arrays.count)
        self.points = copied(arrays.points, numpy.dtype("f8"), 2 * arrays.point_count).reshape(-1, 2)

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        first, count = int(self.lines["first"][index]), int(self.lines["count"][index])
        return self.points[first:first + count]


class Library:
    def __init__(self, folder):
        self.library = ctypes.CDLL(str(pathlib.Path(folder).resolve() / "libisoline.so"))
        self.library.isoline_last_error.restype = c_char_p
        self.library.isoline_segments_free.argtypes = [c_void_p]
        self.library.isoline_polylines_free.argtypes = [c_void_p]
        self.library.isoline_context_free.argtypes = [c_void_p]
        self.library.isoline_buffer_free.argtypes = [c_void_p]
        self.library.isoline_level_set_free.argtypes = [c_void_p]
        self.library.isoline_snake_free.argtypes = [c_void_p]
        self.library.isoline_snake_count.argtypes = [c_void_p]
        self.library.isoline_snake_count.restype = c_size_t
        count = self.library.isoline_operation_count
        count.restype = c_size_t
        self.operations = {operation.name: operation for operation in (Operation(self, i) for i in range(count()))}

    def call(self, name, *arguments):
        if getattr(self.library, f"isoline_{name}")(*arguments) != 0:
            raise RuntimeError(self.library.isoline_last_error().decode())

    def told(self, struct, noun, *indices):
        value = self.made(struct, noun)
        self.call(f"{noun}_info", *(c_size_t(index) for index in indices), byref(value))
        return value

    def params(self, operation, **values):
        """The params struct of an operation; keywords are its parameters, choices by name, None for automatic."""
        operation = self.operations[operation]
        params = self.made(operation.struct, f"{operation.name}_params")
        for name, value in values.items():
            setattr(params, name, operation.encoded(name, value))
        return params

    def made(self, struct, name):
        value = struct()
        self.call(f"{name}_init", byref(value), c_size_t(ctypes.sizeof(value)))
        return value

    def context(self, device="auto"):
        return Context(self, device)

    def cancel_flag(self):
        return CancelFlag(self)


class CancelFlag:
    """The cancel flag of the thread that enters it: calls of this thread end once another thread calls `set`."""

    def __init__(self, library):
        self.library, self.flag = library, c_int(0)

    def __enter__(self):
        self.library.call("set_cancel_flag", byref(self.flag))
        return self

    def __exit__(self, *_):
        self.library.call("set_cancel_flag", None)

    def set(self):
        self.flag.value = 1

    def clear(self):
        self.flag.value = 0


class Operation:
    """An operation as the library describes it: `info`, and by name its `parameters`, their `choices` (numbers)
    and `helps`."""

    def __init__(self, library, index):
        self.info = library.told(OperationInfo, "operation", index)
        self.name = self.info.name.decode()
        self.parameters, self.choices, self.helps = {}, {}, {}
        for place in range(self.info.parameter_count):
            parameter = library.told(ParameterInfo, "parameter", index, place)
            told = [library.told(ChoiceInfo, "choice", index, place, choice) for choice in range(parameter.choice_count)]
            name = parameter.name.decode()
            self.parameters[name] = parameter
            self.choices[name] = {choice.name.decode(): choice.value for choice in told}
            self.helps[name] = {choice.name.decode(): choice.help.decode() for choice in told}
        fields, end = [("struct_size", c_uint32)], 4
        for name, parameter in sorted(self.parameters.items(), key=lambda item: item[1].offset):
            if parameter.offset > end:
                fields.append((f"reserved_{end}", c_uint8 * (parameter.offset - end)))
            fields.append((name, STORAGES[parameter.storage]))
            end = parameter.offset + ctypes.sizeof(STORAGES[parameter.storage])
        self.struct = type(f"{self.name}_params", (Structure,), {"_fields_": fields})

    def encoded(self, name, value):
        """A value as the params struct holds it: a choice by its word, None for automatic."""
        if name not in self.parameters:
            raise TypeError(f"{self.name} has no parameter '{name}'; it has {', '.join(self.parameters)}")
        if value is None and self.parameters[name].automatic is None:
            raise ValueError(f"{name} of {self.name} cannot be automatic")
        if isinstance(value, str) and value not in self.choices[name]:
            raise ValueError(f"{name} of {self.name} must be one of {', '.join(self.choices[name])}, but it is '{value}'")
        if value is None:
            value = self.parameters[name].automatic_value
        elif isinstance(value, str):
            value = self.choices[name][value]
        kind = STORAGES[self.parameters[name].storage]
        return kind(value if kind is c_double else int(value))


class Context:
    def __init__(self, library, device):
        self.library, self.handle = library, c_void_p()
        library.call("context_new", device.encode(), byref(self.handle))

    def __del__(self):
        self.library.library.isoline_context_free(self.handle)

    def buffer(self, shape, kind):
        """An array, not yet filled, in a buffer of the library, which is freed with its last view."""
        address, kind = c_void_p(), numpy.dtype(kind)
        count = math.prod(shape) * kind.itemsize
        self.library.call("buffer_new", self.handle, c_size_t(count), byref(address))
        memory = (c_uint8 * count).from_address(address.value)
        weakref.finalize(memory, self.library.library.isoline_buffer_free, address)
        return numpy.frombuffer(memory, kind).reshape(shape)

    def describe(self, array, spacing=(1, 1, 1)):
        image = self.library.made(Image, "image")
        image.spacing = tuple(spacing)
        image.type = TYPES[array.dtype.name]
        image.width, image.height = array.shape[-1], array.shape[-2]
        image.depth = array.shape[0] if array.ndim == 3 else 1
        image.data = array.ctypes.data
        return image

    def run(self, operation, image, **parameters):
        """The image (float32) that an operation makes of an image; parameters as in caller."""
        image = numpy.ascontiguousarray(image)
        output = numpy.empty(image.shape, numpy.float32)
        self.caller(operation, image, output, **parameters)()
        return output

    def caller(self, operation, image, output, *more, spacing=(1, 1, 1), report=None, **parameters):
        """A function that calls an operation from one packed image to another and returns `report`, a Report that the
        call fills; everything that Python costs is done before. `more`: what the C function has behind the output."""
        params = self.library.params(operation, **parameters)
        described = self.describe(image, spacing), self.describe(output)
        arguments = (self.handle, byref(described[0]), byref(params), None, byref(described[1]), *more,
                     report and byref(report))

        def run():
            self.library.call(operation, *arguments)
            return report

        # The images must live as long as the function.
        run.kept = image, output, described, params
        return run

    def drawing_caller(self, image, edges, want_segments, report=None, **parameters):
        """The caller of edge drawing, which also frees the segments that it gets."""
        handle, free = c_void_p(), self.library.library.isoline_segments_free
        call = self.caller("edge_drawing", image, edges, byref(handle) if want_segments else None, report=report,
                           **parameters)

        def run():
            call()
            free(handle)
            return report

        return run

    def edge_drawing(self, image, **parameters):
        """The edge map (uint8, 0 or 255) and the segments of a packed image or stack."""
        image = numpy.ascontiguousarray(image)
        edges, handle = numpy.empty(image.shape, numpy.uint8), c_void_p()
        self.caller("edge_drawing", image, edges, byref(handle), **parameters)()
        try:
            arrays = self.library.made(SegmentArrays, "segment_arrays")
            self.library.call("segments_all", handle, byref(arrays))
            return edges, Segments(arrays)
        finally:
            self.library.library.isoline_segments_free(handle)

    def isolines_caller(self, image, levels=(), spacing=(1, 1, 1), report=None, **parameters):
        """A function that computes isolines and returns the handle of the polylines, which it frees at the next call."""
        params, handle = self.library.params("isolines", **parameters), c_void_p()
        levels = numpy.ascontiguousarray(levels, numpy.float64)
        described, free = self.describe(image, spacing), self.library.library.isoline_polylines_free

        def run():
            free(handle)
            handle.value = None
            self.library.call("isolines", self.handle, byref(described), c_void_p(levels.ctypes.data),
                              c_size_t(len(levels)), byref(params), None, byref(handle), report and byref(report))
            return handle

        # The image must live as long as the function, and the last polylines no longer.
        run.kept = image
        weakref.finalize(run, lambda: free(handle))
        return run

    def isolines(self, image, levels=(), **parameters):
        """The Polylines of a packed image or stack at `levels`, or at the equally spaced ones of the parameters."""
        call = self.isolines_caller(numpy.ascontiguousarray(image), levels, **parameters)
        arrays = self.library.made(PolylineArrays, "polyline_arrays")
        self.library.call("polylines_all", call(), byref(arrays))
        return Polylines(arrays)

    def maps(self, image, **parameters):
        """Smoothed image, gradient, direction (0 none, 1 horizontal, 2 vertical) and anchors (0 or 255)."""
        image = numpy.ascontiguousarray(image)
        outputs = [numpy.empty(image.shape, kind) for kind in (image.dtype, numpy.float32, numpy.uint8, numpy.uint8)]
        described = [self.describe(output) for output in (image, *outputs)]
        params = self.library.params("edge_drawing", **parameters)
        self.library.call("edge_drawing_maps", self.handle, byref(described[0]), byref(params), None,
                          *(byref(output) for output in described[1:]), None)
        return outputs

    def level_set(self, image, start, spacing=(1, 1, 1), **parameters):
        """A LevelSet on `image` from the boundary of the mask `start`; parameters as in LevelSet."""
        return LevelSet(self, image, start, spacing, **parameters)

    def snake(self, image, starts=None, **parameters):
        """A Snake on `image` from polygons, each a sequence of (x, y) pixel corners, or from the default rectangle."""
        return Snake(self, image, starts, **parameters)


class LevelSet:
    """An evolving surface."""

    def __init__(self, context, image, start, spacing=(1, 1, 1), stops=True, **parameters):
        """Without `stops` the tolerances of the stopping criterion are 0, so that it is never met."""
        self.context, self.library, self.handle = context, context.library, c_void_p()
        image, start = numpy.ascontiguousarray(image), numpy.ascontiguousarray(start)
        self.shape = image.shape
        operation = self.library.operations["level_set"]
        tolerances = [] if stops else [name for name in operation.parameters if name.endswith("_tolerance")]
        params = self.library.params("level_set", **dict.fromkeys(tolerances, 0), **parameters)
        described = context.describe(image, spacing), context.describe(start)
        self.library.call("level_set_new", context.handle, byref(described[0]), byref(described[1]),
                          byref(params), byref(self.handle))

    def __del__(self):
        self.library.library.isoline_level_set_free(self.handle)

    def step(self, iterations):
        """Evolves; returns the Report, whose `ended()` says whether the result is one."""
        report = self.library.made(Report, "report")
        self.library.call("level_set_step", self.handle, c_uint64(iterations), None, byref(report))
        return report

    def read(self, what, kind):
        output = numpy.empty(self.shape, kind)
        self.library.call(f"level_set_read_{what}", self.handle, byref(self.context.describe(output)))
        return output

    def mask(self):
        """255 inside, 0 elsewhere."""
        return self.read("mask", numpy.uint8)

    def phi(self):
        """The level set function, negative inside."""
        return self.read("phi", numpy.float32)

    def write_phi(self, phi):
        phi = numpy.ascontiguousarray(phi, numpy.float32)
        self.library.call("level_set_write_phi", self.handle, byref(self.context.describe(phi)))

    def state(self):
        """The LevelSetState now."""
        state = self.library.made(LevelSetState, "level_set_state")
        self.library.call("level_set_info", self.handle, byref(state))
        return state

    def statistics(self, first=1):
        """A structured array (STATISTICS): what each iteration from `first` on did."""
        entries, written = numpy.empty(self.state().iterations, STATISTICS), c_size_t()
        self.library.call("level_set_statistics", self.handle, c_uint64(first), c_size_t(len(entries)),
                          c_void_p(entries.ctypes.data), byref(written))
        return entries[:written.value]


class Snake:
    """Region snakes."""

    def __init__(self, context, image, starts=None, **parameters):
        self.context, self.library, self.handle = context, context.library, c_void_p()
        image = numpy.ascontiguousarray(image)
        self.shape = image.shape
        params = self.library.params("snake", **parameters)
        initial = None
        if starts is not None:
            nodes = numpy.array([node for polygon in starts for node in polygon], numpy.int32).reshape(-1, 2)
            offsets = numpy.cumsum([0, *(len(polygon) for polygon in starts)]).astype(numpy.uint64)
            initial = self.library.made(PolygonArrays, "polygons")
            initial.count, initial.node_count = len(starts), len(nodes)
            initial.nodes, initial.offsets = nodes.ctypes.data, offsets.ctypes.data
        self.library.call("snake_new", context.handle, byref(context.describe(image)), initial and byref(initial),
                          byref(params), byref(self.handle))

    def __del__(self):
        self.library.library.isoline_snake_free(self.handle)

    def __len__(self):
        return self.library.library.isoline_snake_count(self.handle)

    def step(self, iterations=2 ** 64 - 1):
        """Goes on, without a number until every target has ended; returns the Report."""
        report = self.library.made(Report, "report")
        self.library.call("snake_step", self.handle, c_uint64(iterations), None, byref(report))
        return report

    def polygons(self):
        """An (n, 2) array of x and y for each target."""
        arrays = self.library.made(PolygonArrays, "polygons")
        self.library.call("snake_polygons", self.handle, byref(arrays))

        def copied(address, kind, count):
            return numpy.frombuffer(ctypes.string_at(address, count * numpy.dtype(kind).itemsize), kind)

        nodes = copied(arrays.nodes, numpy.int32, 2 * arrays.node_count).reshape(-1, 2)
        offsets = copied(arrays.offsets, numpy.uint64, arrays.count + 1).astype(int)
        return [nodes[first:end] for first, end in zip(offsets, offsets[1:])]

    def curves(self, longest_edge=None, points_per_edge=8):
        """A smooth curve along each polygon, an (n, 2) array of x and y; longest_edge None: automatic."""
        arrays = self.library.made(PolygonArrays, "polygons")
        self.library.call("snake_polygons", self.handle, byref(arrays))
        offsets, points = numpy.zeros(len(self) + 1, numpy.uint64), numpy.empty((0, 2))
        for _ in range(2):  # the first time only the offsets
            self.library.call("polygons_smooth", byref(arrays),
                              c_double(AUTOMATIC if longest_edge is None else longest_edge), c_uint32(points_per_edge),
                              c_size_t(len(points)), c_void_p(offsets.ctypes.data),
                              c_void_p(points.ctypes.data if len(points) else None))
            points = points if len(points) else numpy.empty((int(offsets[-1]), 2))
        return [points[first:end] for first, end in zip(offsets.astype(int), offsets[1:].astype(int))]

    def statistics(self):
        """A structured array (TARGET_STATISTICS), an entry a target."""
        entries, written = numpy.empty(len(self), TARGET_STATISTICS), c_size_t()
        self.library.call("snake_statistics", self.handle, c_size_t(0), c_size_t(len(entries)),
                          c_void_p(entries.ctypes.data), byref(written))
        return entries[:written.value]

    def mask(self):
        """255 in any target, 0 elsewhere."""
        return self.draw("mask", numpy.uint8)

    def labels(self):
        """The number of the target that a pixel lies in, from 1 on, or 0 (uint16)."""
        return self.draw("labels", numpy.uint16)

    def draw(self, what, kind):
        output = numpy.empty(self.shape, kind)
        self.library.call(f"snake_draw_{what}", self.handle, byref(self.context.describe(output)))
        return output
