"""The operations as functions. Their parameters, signatures and documentation come from the library's own tables.

The tables are read when `completed` is first asked for a function, so that a program can still choose the library after it
has imported the package. scripts/parameter_tables.py writes the stub.
"""
from __future__ import annotations

import functools
import inspect
import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, Literal

from numpy import typing as npt

from ._arrays import ImageLike, Spacing
from ._context import DeviceLike, context_of, doubt, doubt_front, doubt_threshold
from ._native import CHOICE, FLAG, FLOAT, INTEGER, Operation, Report, default_library
from ._progress import ProgressLike
from ._results import Maps, Polylines, Segments, Surface
from ._solvers import Polygons, Snake

COMMON = {
    "spacing": "The distance between pixels along the axes, (z, y, x) or (y, x), or one number for all; None for 1.",
    "out": "The array of the result's type that receives it; None makes one. It can be in the memory of a GPU.",
    "device": '"auto", "cpu", "cuda", "cuda:N", "cuda:all" or a Context; "auto" takes the GPU that the image is on, or what '
              "is fastest.",
    "progress": "True for a bar of tqdm, or a function of the share done, 1 at the end, and the name of the step; what it "
                "raises, or True, cancels the call.",
    "report": "A Report, which the call fills: device, times, iterations.",
}
IMAGE = "An array (y, x) or (z, y, x) of bool, uint8, uint16 or float32, in host memory or on a GPU."
WHOLE = "In host memory it may have whole numbers of any type, from -16777216 to 16777216."


def number(value) -> str:
    """A number as people write it: with an exponent only where the digits would be many."""
    plain = value == 0 or 1e-4 <= abs(value) < 1e8
    return f"{value:g}".replace("e+", "e") if not plain or value != int(value) else str(int(value))


def limits(parameter) -> str:
    """The range in words; a bound that only the field's size sets is none."""
    words = ["a power of two"] if parameter.power_of_two else []
    if math.isfinite(parameter.minimum):
        words.append(("> " if parameter.minimum_excluded else "≥ ") + number(parameter.minimum))
    if parameter.maximum < (math.inf if parameter.type == FLOAT else 2 ** 32 - 1):
        words.append(("< " if parameter.maximum_excluded else "≤ ") + number(parameter.maximum))
    return ", ".join(words)


def annotation(operation: Operation, name: str):
    """The type of a parameter, for signatures and type checkers."""
    parameter = operation.parameters[name]
    if parameter.type == CHOICE:
        return Literal[tuple(operation.choices[name])]
    kind = {FLOAT: float, INTEGER: int, FLAG: bool}[parameter.type]
    return kind if parameter.automatic is None else kind | None


def entry(operation: Operation, name: str) -> str:
    """The documentation of a parameter."""
    parameter, default = operation.parameters[name], operation.default(name)
    kind = ", ".join(map(repr, operation.choices[name])) or {FLOAT: "float", INTEGER: "int", FLAG: "bool"}[parameter.type]
    facts = [kind, limits(parameter) if parameter.type in (FLOAT, INTEGER) else "", parameter.unit.decode()]
    facts.append("None (default) for automatic" if default is None else f"default {default!r}")
    lines = [parameter.help.decode()]
    if parameter.automatic is not None:
        lines.append(f"Automatic: {parameter.automatic.decode()}")
    lines += [f"{word!r}: {text}" for word, text in operation.helps[name].items()]
    return described(f"{name} : {', '.join(filter(None, facts))}", *lines)


def described(title: str, *lines: str) -> str:
    return "\n".join([title, *(textwrap.fill(line, 110, initial_indent="    ", subsequent_indent="    ") for line in lines)])


__all__: list[str] = []  # the functions
OPERATIONS: dict[str, str] = {}  # of each function its operation


def from_table(name: str, *, omit: Sequence[str] = (), **arguments: str) -> Callable:
    """Makes a function one of the package: it has the parameters of the operation `name`, without those in `omit`;
    `arguments` are described."""
    def decorate(function):
        # Two threads may complete it at the same time, each from what is taken here.
        own, text = inspect.signature(function), inspect.cleandoc(function.__doc__ or "")
        function.complete = functools.cache(lambda: complete(
            function, own, text, default_library().operations[name], omit, arguments))
        __all__.append(function.__name__)
        OPERATIONS[function.__name__] = name
        return function

    return decorate


def complete(function: Callable, signature: inspect.Signature, text: str, operation: Operation, omit: Sequence[str],
             arguments: dict[str, str]) -> None:
    """Gives a function its signature and its documentation, from those that it is written with."""
    name = operation.info.name.decode()
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    parameters = [key for key in operation.parameters if key not in omit]
    table = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=operation.default(key),
                               annotation=annotation(operation, key)) for key in parameters]
    function.__signature__ = signature.replace(parameters=[*own, *table])
    told = {"image": IMAGE, **COMMON, **arguments}
    function.__doc__ = "\n".join([
        text.replace("{help}", operation.info.help.decode()), "", "Parameters", "----------",
        *(described(one.name, told[one.name]) for one in own), "", f"Parameters of {name}",
        "-" * len(f"Parameters of {name}"), *(entry(operation, key) for key in parameters)])


def completed(name: str) -> Callable:
    """The function of a name in `__all__`."""
    function = globals()[name]
    function.complete()
    return function


@from_table("edge_strength", spacing="The distance between voxels along the axes (z, y, x), or one number for all, in the "
                                     "unit of `rho`; None for 1. Slices do not use it.")
def edge_strength(image: ImageLike, *, spacing: Spacing = None, out: Any = None, device: DeviceLike = "auto",
                  progress: ProgressLike = None, report: Report | None = None, **parameters: Any) -> Any:
    """{help}

    Returns the edge strength function (float32): 1 on the shape, falling to 0 around it.
    """
    found = context_of(device, image).run("edge_strength", image, spacing=spacing, out=out, progress=progress, report=report,
                                          **parameters)
    doubt_threshold("edge_strength", found, parameters.get("threshold", 0))
    return found


@from_table("edge_strength", spacing="The distance between pixels along the axes, (z, y, x) or (y, x), or one number for "
                                     "all, in which lengths are measured, and `rho` of a volume; None for 1.",
            report="A Report of the strength, which the call fills.")
def edge_strength_axes(image: ImageLike, *, spacing: Spacing = None, device: DeviceLike = "auto",
                       progress: ProgressLike = None, report: Report | None = None,
                       **parameters: Any) -> tuple[Polylines, Any]:
    """The axes and the critical points of the edge strength of an image, slice by slice: the skeleton of a shape.

    Returns the Polylines, and the edge strength (float32). `lines` of the Polylines has flags: 2 for S+ axes, 4 for S- axes,
    8 for elliptic and 16 for hyperbolic points, which are polylines of one point; and level, the smallest strength on each.
    """
    axes, strength = context_of(device, image).edge_strength_axes(image, spacing=spacing, progress=progress, report=report,
                                                                  **parameters)
    doubt_threshold("edge_strength", strength, parameters.get("threshold", 0))
    return axes, strength


@from_table("edge_drawing", segments="False computes the map alone, which is faster; the second result is then None.")
def edge_drawing(image: ImageLike, *, segments: bool = True, out: Any = None, device: DeviceLike = "auto",
                 progress: ProgressLike = None, report: Report | None = None,
                 **parameters: Any) -> tuple[Any, Segments | None]:
    """{help}

    Returns the edge map (uint8, 255 on edges), and the Segments: a sequence of arrays (n, 2) of columns and rows.
    """
    return context_of(device, image).edge_drawing(image, segments=segments, out=out, progress=progress, report=report,
                                                  **parameters)


@from_table("edge_drawing", report="A Report of the drawing, which the call fills.")
def edge_drawing_lines(image: ImageLike, *, device: DeviceLike = "auto", progress: ProgressLike = None,
                       report: Report | None = None, **parameters: Any) -> tuple[npt.NDArray, Segments]:
    """Straight lines along the edges of an image, with the Segments that they are along.

    Returns a structured array with an element for each line: x0, y0, x1, y1 (its ends, in pixels, whole numbers at their
    centres; the brighter side is to the right), rms (the root mean square distance of its points), log_false_alarms (the
    decimal logarithm of how often chance would make it), segment (an index), points (their number) and slice.
    """
    return context_of(device, image).edge_drawing_lines(image, progress=progress, report=report, **parameters)


@from_table("edge_drawing", report="A Report of the drawing, which the call fills.")
def edge_drawing_ellipses(image: ImageLike, *, device: DeviceLike = "auto", progress: ProgressLike = None,
                          report: Report | None = None, **parameters: Any) -> tuple[npt.NDArray, Segments]:
    """Circles and ellipses along the edges of an image, with the Segments that they are along.

    Returns a structured array with an element for each: x, y (the centre, in pixels, whole numbers at their centres),
    semi_major, semi_minor, angle (of the longer axis, in radians from that of x towards that of y), rms (the root mean
    square distance of its points), coverage (the share of its outline that they are along), log_false_alarms (the decimal
    logarithm of how often chance would make it), segment (the index of that of its longest arc), points and arcs (their
    numbers), flags (1: a circle, 2: brighter inside) and slice.
    """
    return context_of(device, image).edge_drawing_ellipses(image, progress=progress, report=report, **parameters)



@from_table("edge_drawing")
def edge_drawing_maps(image: ImageLike, *, device: DeviceLike = "auto", progress: ProgressLike = None,
                      report: Report | None = None, **parameters: Any) -> Maps:
    """The intermediate images of edge drawing, to choose its parameters by.

    Returns smoothed (the image's type), gradient (float32), direction (uint8; 0 none, 1 horizontal, 2 vertical) and
    anchors (uint8, 255 on them).
    """
    return context_of(device, image).edge_drawing_maps(image, progress=progress, report=report, **parameters)


@from_table("edge_drawing", omit=["gradient_threshold"])
def edge_drawing_threshold(image: ImageLike, *, device: DeviceLike = "auto", **parameters: Any) -> float:
    """The gradient threshold that edge drawing takes for an image where it is automatic. A call is short, and has neither
    progress nor report."""
    if "gradient_threshold" in parameters:
        raise TypeError("edge_drawing_threshold has no parameter 'gradient_threshold' (got "
                        f"{parameters['gradient_threshold']!r}): it computes that; leave it out")
    _, *own = inspect.signature(completed("edge_drawing_threshold")).parameters
    for name in parameters.keys() - own:
        raise TypeError(f"edge_drawing_threshold has no parameter '{name}'; it has {', '.join(own)}")
    return context_of(device, image).edge_drawing_threshold(image, **parameters)


@from_table("distance", image=f"The mask. {IMAGE} {WHOLE}")
def distance(image: ImageLike, *, spacing: Spacing = None, out: Any = None, device: DeviceLike = "auto",
             progress: ProgressLike = None, report: Report | None = None, **parameters: Any) -> Any:
    """{help}

    Returns the distances (float32), in the unit of `spacing`; infinite without a boundary.
    """
    found = context_of(device, image).run("distance", image, spacing=spacing, out=out, progress=progress, report=report,
                                          **parameters)
    doubt_threshold("distance", found, parameters.get("threshold", 0))
    return found


@from_table("isolines", levels="The values of the isolines, one or several; None for equally spaced ones.")
def isolines(image: ImageLike, levels: npt.ArrayLike | None = None, *, spacing: Spacing = None, device: DeviceLike = "auto",
             progress: ProgressLike = None, report: Report | None = None, **parameters: Any) -> Polylines:
    """{help}

    Returns the Polylines: a sequence of arrays (n, 2) of x and y in pixels, and `lines` with level, length and area (in the
    unit of `spacing`) and parent of each.
    """
    return context_of(device, image).isolines(image, levels, spacing=spacing, progress=progress, report=report, **parameters)


@from_table("isosurface", image="An array (z, y, x) of bool, uint8, uint16 or float32, in host memory or on a GPU.")
def isosurface(image: ImageLike, *, spacing: Spacing = None, device: DeviceLike = "auto", progress: ProgressLike = None,
               report: Report | None = None, **parameters: Any) -> Surface:
    """{help}

    Returns the Surface: its vertices (x, y, z), normals and triangles as arrays, and area, volume, mean_curvature, pieces
    and more, in the unit of `spacing`.
    """
    return context_of(device, image).isosurface(image, spacing=spacing, progress=progress, report=report, **parameters)


@from_table("level_set", initial_mask=f"The start: an array of the image's shape, above 0 inside. {WHOLE}")
def level_set(image: ImageLike, initial_mask: ImageLike, *, spacing: Spacing = None, out: Any = None,
              device: DeviceLike = "auto", progress: ProgressLike = None, report: Report | None = None,
              **parameters: Any) -> Any:
    """{help}

    Returns the mask (uint8, 255 inside); `ended()` of the report says how it ended. LevelSet does it step by step.
    """
    context, report = context_of(device, image, initial_mask), Report() if report is None else report
    found = context.level_set(image, initial_mask, spacing=spacing, out=out, progress=progress, report=report, **parameters)
    doubt_front(report.ended())
    return found


@from_table("objects",
            starts="A label image of the image's shape: 0 is no start, pixels with the same label are the start of one "
                   "object. Balls of three pixels' radius are good starts; a single pixel does not grow with the default "
                   f"alpha. {WHOLE} None for automatic starts.",
            out="The array that receives the labels; None makes one, of the type of `starts` or, without, uint16.")
def objects(image: ImageLike, starts: ImageLike | None = None, *, spacing: Spacing = None, out: Any = None,
            device: DeviceLike = "auto", progress: ProgressLike = None, report: Report | None = None,
            **parameters: Any) -> tuple[Any, npt.NDArray]:
    """{help}

    Returns the label image, and a structured array with an element for each object: label, flags (1: at the border of the
    image, 2: beside another one), voxels, volume and centre (x, y, z; in the unit of `spacing`), mean (of its pixels) and
    background (the mean of those around it). `report.converged` is 0 if the iterations were too few.
    """
    context = context_of(device, image, starts)
    labels, table = context.objects(image, starts, spacing=spacing, out=out, progress=progress, report=report, **parameters)
    if not len(table):
        doubt("objects: no object was found, as there is no start; give another threshold, or starts")
    return labels, table


@from_table("snake",
            polygons="The starts, each a sequence of (x, y) corners of pixels, or one such sequence; None for the default "
                     "rectangle, one on each slice.",
            slices="The slice of each start, counted from 0, or a number for one start; None for slice 0.")
def snake(image: ImageLike, polygons: Polygons = None, slices: npt.ArrayLike | None = None, *,
          device: DeviceLike = "auto", progress: ProgressLike = None, report: Report | None = None,
          **parameters: Any) -> Snake:
    """{help}

    Each start is searched on its slice as if that were the whole image. Returns the Snake, with polygons(), slices(),
    labels(), statistics() and more, which keeps the image if it has one slice in memory; to step yourself, make a Snake.
    """
    return Snake.run(image, polygons, slices, device=device, progress=progress, report=report, **parameters)


signed_distance = distance  # the name of the command in ImageJ
__all__.append("signed_distance")
