"""Edge strength, edge drawing, level sets, snakes, distance, isolines, isosurfaces, objects, on a GPU or on all CPU cores.

    import isoline
    field = isoline.edge_strength(image, threshold=127, mode="converged", rho=16)
    edges, segments = isoline.edge_drawing(image)
    distance = isoline.signed_distance(mask, spacing=(3, 1, 1))
    curves = isoline.isolines(image, [20, 40])
    area = isoline.isosurface(volume, level=100, spacing=(3, 1, 1)).area
    labels, table = isoline.objects(volume, spacing=(3, 1, 1))
    inside = isoline.level_set(volume, start, spacing=(3, 1, 1), target=120, epsilon=30, progress=True)
    outlines = isoline.snake(image, [[(10, 10), (90, 10), (90, 60), (10, 60)]], noise="poisson").polygons()

Axes of arrays are (z, y, x) or (y, x), as is spacing; points are (x, y). A stack (z, y, x) is processed slice by slice or
as one volume, which the parameter `dimensions` says. Keywords are the operation's parameters, as the library describes them:
choices by name, None for automatic; help(isoline.edge_drawing) lists them. The documentation is docs/python.md.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from . import _operations
from ._cancel import CancelFlag
from ._context import Context
from ._native import (
    Cancelled,
    Device,
    Error,
    InvalidArgument,
    InvalidSize,
    InvalidType,
    Library,
    OutOfMemory,
    Report,
    Status,
    default_library,
)
from ._results import Maps, Polylines, Segments, Surface
from ._solvers import LevelSet, Snake

if TYPE_CHECKING:
    from ._operations import *  # noqa: F403

    __version__: str

__all__ = ["CancelFlag", "Cancelled", "Context", "Device", "Error", "InvalidArgument", "InvalidSize", "InvalidType",
           "LevelSet", "Library", "Maps", "OutOfMemory", "Polylines", "Report", "Segments", "Snake", "Status", "Surface",
           "devices"]
__all__ += _operations.__all__


def devices() -> list[Device]:
    """A Device for each that there is; `usable` and `reason` say whether it can be used, and why not."""
    return default_library().devices()


def __getattr__(name: str):
    if name == "__version__":
        return default_library().version
    if name in _operations.__all__:
        return _operations.completed(name)
    raise AttributeError(f"module 'isoline' has no attribute '{name}'")


def __dir__():
    return [*globals(), *_operations.__all__]
