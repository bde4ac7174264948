"""Results that are no images: copies of objects of the C API, each with the struct of its arrays and the object's noun."""
from __future__ import annotations

import ctypes
import operator
from collections.abc import Iterator
from ctypes import c_double, c_int64, c_uint32, c_uint64, c_void_p
from typing import NamedTuple, overload

import numpy
from numpy import typing as npt

from ._native import Sized

# The fields that isoline_level_set_statistics writes.
STATISTICS = numpy.dtype([("iteration", "u8"), ("inside", "u8"), ("changed", "u8"), ("near_front", "u8"), ("rms", "f8")])
# The fields that isoline_snake_statistics writes; status: 0 running, 1 converged, 2 vanished, 3 left the image, 4 iteration
# limit.
TARGET_STATISTICS = numpy.dtype([("status", "u4"), ("flags", "u4"), ("iterations", "u8"), ("nodes", "u8"),
                                 ("pixels", "u8"), ("background_pixels", "u8"), ("mean", "f8"), ("deviation", "f8"),
                                 ("background_mean", "f8"), ("background_deviation", "f8"), ("criterion", "f8")])
# One polyline: the index of its first point, their number, the polyline around it or -1, and so on; flags 1: closed; of axes
# 2: S+, 4: S-, 8: elliptic point, 16: hyperbolic point.
POLYLINE = numpy.dtype([("first", "u8"), ("count", "u8"), ("parent", "i8"), ("level", "f8"), ("length", "f8"),
                        ("area", "f8"), ("slice", "u4"), ("flags", "u4")])

# One object: its flags (1: at the border of the image, 2: beside another one); centre is x, y and z.
OBJECT = numpy.dtype([("label", "u4"), ("flags", "u4"), ("voxels", "u8"), ("volume", "f8"), ("centre", "f8", 3),
                      ("mean", "f8"), ("background", "f8")])

# One straight line: both ends, the root mean square distance of its points, the decimal logarithm of its number of false
# alarms, the index of its segment, the number of its points, and its slice.
LINE = numpy.dtype([("x0", "f8"), ("y0", "f8"), ("x1", "f8"), ("y1", "f8"), ("rms", "f8"), ("log_false_alarms", "f8"),
                    ("segment", "u8"), ("points", "u4"), ("slice", "u4")])

# One circle or ellipse: its centre, semi-axes and angle in radians, the root mean square distance of its points, the share
# of its outline that they are along, the decimal logarithm of its number of false alarms, the index of the segment of its
# longest arc, the numbers of its points and arcs, its flags (1: a circle, 2: brighter inside), and its slice.
ELLIPSE = numpy.dtype([("x", "f8"), ("y", "f8"), ("semi_major", "f8"), ("semi_minor", "f8"), ("angle", "f8"),
                       ("rms", "f8"), ("coverage", "f8"), ("log_false_alarms", "f8"), ("segment", "u8"), ("points", "u4"),
                       ("arcs", "u4"), ("flags", "u4"), ("slice", "u4")])


def copied(address, dtype, count) -> npt.NDArray:
    """A copy of so many elements of the library's memory; `address` may be a pointer, and NULL where there are none."""
    copy = numpy.empty(count, dtype)
    if copy.nbytes:
        ctypes.memmove(copy.ctypes.data, address, copy.nbytes)
    return copy


def offset(rows, **amounts) -> npt.NDArray:
    """A copy of structured rows with a number added to some fields; -1, which stands for none, stays."""
    rows = rows.copy()
    for name, amount in amounts.items():
        field = rows[name]
        field[field >= 0] += field.dtype.type(amount)
    return rows


class Curves:
    """A sequence of the points of each curve."""

    def points_of(self, index: int) -> npt.NDArray:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> npt.NDArray: ...

    @overload
    def __getitem__(self, index: slice) -> list[npt.NDArray]: ...

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self.points_of(one) for one in range(len(self))[index]]
        return self.points_of(range(len(self))[operator.index(index)])

    def __iter__(self) -> Iterator[npt.NDArray]:
        return map(self.points_of, range(len(self)))


class Segments(Curves):
    """The segments of edge drawing: as a sequence the points of each, arrays (n, 2) of columns x and rows y.

    The same as flat arrays: segment i has the rows `offsets[i]` to `offsets[i + 1]` of `points`; `flags` (1: closed),
    `slices` and `mean_gradients` have an element for each.
    """

    NOUN = "segments"

    class Arrays(Sized):
        _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("count", c_uint64), ("point_count", c_uint64),
                    ("points", c_void_p), ("offsets", c_void_p), ("flags", c_void_p), ("slices", c_void_p),
                    ("mean_gradients", c_void_p)]

    def __init__(self, arrays):
        self.points: npt.NDArray = copied(arrays.points, numpy.uint32, 2 * arrays.point_count).reshape(-1, 2)
        self.offsets: npt.NDArray = copied(arrays.offsets, numpy.uint64, arrays.count + 1).astype(numpy.int64)
        self.flags: npt.NDArray = copied(arrays.flags, numpy.uint32, arrays.count)
        self.slices: npt.NDArray = copied(arrays.slices, numpy.uint32, arrays.count)
        self.mean_gradients: npt.NDArray = copied(arrays.mean_gradients, numpy.float32, arrays.count)

    @classmethod
    def joined(cls, parts, first_slices) -> Segments:
        """The segments of a stack, from those of its parts, which begin with these slices."""
        whole = cls.__new__(cls)
        whole.points = numpy.concatenate([part.points for part in parts])
        sizes = numpy.concatenate([numpy.diff(part.offsets) for part in parts])
        whole.offsets = numpy.concatenate([[0], numpy.cumsum(sizes)]).astype(numpy.int64)
        whole.flags = numpy.concatenate([part.flags for part in parts])
        whole.slices = numpy.concatenate([part.slices + numpy.uint32(z) for part, z in zip(parts, first_slices)])
        whole.mean_gradients = numpy.concatenate([part.mean_gradients for part in parts])
        return whole

    def __len__(self) -> int:
        return len(self.flags)

    def points_of(self, index: int) -> npt.NDArray:
        return self.points[self.offsets[index]:self.offsets[index + 1]]

    def __repr__(self) -> str:
        return f"<{len(self)} segments of {len(self.points)} points>"


class Polylines(Curves):
    """Isolines, or axes and critical points: as a sequence the points of each, arrays (n, 2) of x and y in pixels, whole
    numbers at their centres.

    `lines` is a structured array with an element for each: first (the index in `points`), count, parent (the closed one
    around it, -1 for none), level, length and area (in the unit of the spacing), slice and flags (1: closed; 2: S+ axis,
    4: S- axis, 8: elliptic, 16: hyperbolic point).
    """

    NOUN = "polylines"

    class Arrays(Sized):
        _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("count", c_uint64), ("point_count", c_uint64),
                    ("polylines", c_void_p), ("points", c_void_p)]

    def __init__(self, arrays):
        self.lines: npt.NDArray = copied(arrays.polylines, POLYLINE, arrays.count)
        self.points: npt.NDArray = copied(arrays.points, numpy.float64, 2 * arrays.point_count).reshape(-1, 2)

    @classmethod
    def joined(cls, parts, first_slices) -> Polylines:
        """The polylines of a stack, from those of its parts, which begin with these slices."""
        whole = cls.__new__(cls)
        whole.points = numpy.concatenate([part.points for part in parts])
        points = numpy.cumsum([0, *(len(part.points) for part in parts)])
        lines = numpy.cumsum([0, *(len(part) for part in parts)])
        whole.lines = numpy.concatenate([offset(part.lines, first=point, parent=line, slice=z)
                                         for part, point, line, z in zip(parts, points, lines, first_slices)])
        return whole

    def __len__(self) -> int:
        return len(self.lines)

    def points_of(self, index: int) -> npt.NDArray:
        first, count = int(self.lines["first"][index]), int(self.lines["count"][index])
        return self.points[first:first + count]

    def __repr__(self) -> str:
        return f"<{len(self)} polylines of {len(self.points)} points>"


class Surface:
    """An isosurface: `vertices` and `normals`, arrays (n, 3) of x, y and z, and `triangles`, an array (m, 3) of indices.

    Vertices are in the unit of the spacing, from the centre of the first voxel; normals point outwards. Measured are
    level, area, volume (NaN unless closed), mean_curvature, border_edges (with one triangle), pieces, euler and closed.
    """

    NOUN = "surface"

    class Arrays(Sized):
        _fields_ = [("struct_size", c_uint32), ("closed", c_uint32), ("vertex_count", c_uint64),
                    ("triangle_count", c_uint64), ("vertices", c_void_p), ("normals", c_void_p), ("triangles", c_void_p),
                    ("level", c_double), ("area", c_double), ("volume", c_double), ("mean_curvature", c_double),
                    ("border_edge_count", c_uint64), ("piece_count", c_uint64), ("euler", c_int64)]

    def __init__(self, arrays):
        self.vertices: npt.NDArray = copied(arrays.vertices, numpy.float32, 3 * arrays.vertex_count).reshape(-1, 3)
        self.normals: npt.NDArray = copied(arrays.normals, numpy.float32, 3 * arrays.vertex_count).reshape(-1, 3)
        self.triangles: npt.NDArray = copied(arrays.triangles, numpy.uint32, 3 * arrays.triangle_count).reshape(-1, 3)
        self.level: float = arrays.level
        self.area: float = arrays.area
        self.volume: float = arrays.volume
        self.mean_curvature: float = arrays.mean_curvature
        self.border_edges: int = arrays.border_edge_count
        self.pieces: int = arrays.piece_count
        self.euler: int = arrays.euler
        self.closed: bool = bool(arrays.closed)

    @classmethod
    def of_mesh(cls, vertices: npt.ArrayLike, triangles: npt.ArrayLike, *, foreground="above", device="auto",
                progress=None, report=None) -> Surface:
        """The Surface of a mesh, such as one that was joined of parts or smoothed, with its normals and measures. Its level
        is NaN.

        vertices: an array (n, 3) of x, y and z, finite, which are rounded to float32: move a mesh far from the origin there
        first. triangles: an array (m, 3) of indices of vertices, counterclockwise for who looks from outside. Each edge is
        to have one or two triangles, of opposite directions: else volume and mean_curvature mean nothing, and closed may be
        true. A vertex without triangles counts as a piece. foreground: the side of the level on which voxels were inside;
        where the surface folds onto itself, "above" measures the curvature of a slit, "below" that of a sheet. The CPU
        computes, whatever the device.
        """
        from ._context import context_of
        return context_of(device).surface(vertices, triangles, foreground=foreground, progress=progress,
                                          report=report)

    def __repr__(self) -> str:
        return f"<a surface of {len(self.triangles)} triangles, area {self.area:g}>"


class Maps(NamedTuple):
    """The intermediate images of edge drawing, each of the image's shape."""

    smoothed: npt.NDArray
    gradient: npt.NDArray
    direction: npt.NDArray
    anchors: npt.NDArray
