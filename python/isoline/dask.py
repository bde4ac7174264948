"""Operations on Dask arrays: lazily, chunk by chunk, with the bits (of objects nearly) that one call on the whole gives.

A chunk is computed with a halo: as many voxels of its neighbours as its result depends on. After the iterations between two
exchanges the halo is dropped, and taken anew from the neighbours. The exact distance is computed by passes along whole lines
of voxels instead. Parameters that the library would measure in the whole array, such as an automatic gradient threshold,
must be given: a chunk would measure its own.

Functions need the packages dask and numpy alone; a distributed scheduler is used where there is a client.
"""
from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy
from dask._task_spec import GraphNode
from dask.blockwise import Blockwise
from dask.graph_manipulation import clone

import isoline

from . import _objects, _surface
from ._arrays import Spacing, as_floats, check_kind, numeric, per_axis, shape_of
from ._context import context_of, doubt_colours
from ._native import InvalidArgument, InvalidSize, InvalidType, default_library
from ._results import TARGET_STATISTICS, Polylines, Segments, offset
from ._solvers import LevelSet, Snake, polygon_parts
from ._targets import Targets

SHAPE = 2.0  # marks pixels of the shape in the state of an edge strength, whose values are from 0 to 1
FLUSHED_EVERY = 16  # iterations after which tiny values are set to 0
# A reinitialisation looks this many voxels away, beside the side of a tile: four steps of two, and the reach of the band.
REINITIALISATION_REACH, BAND_REACH = 8, 2
TILE, TILE_SLICE = 8, 16  # sides of the tiles that a reinitialisation works on, in a volume and in a slice
SENTINELS = 3  # planes
EDGE_REACH = 3  # standard deviations of the Gaussian before edges are measured, by two differences between neighbours
DEVICE = re.compile(r"auto|cpu|cuda(:all|:\d+(,\d+)*)?")
OVERLAPS = 1  # the flag of a region snake that has pixels in common with another one


def edge_drawing(image: da.Array, *, device: str = "auto", **parameters: Any) -> da.Array:
    """The edge map (uint8, 255 on edges) of each slice. Chunks are joined to whole slices.

    image: a Dask array (y, x) or (z, y, x). device: "auto", "cpu", "cuda" or "cuda:N". Further keywords: the parameters of
    isoline.edge_drawing; `gradient_threshold`, and for float32 `range_min` and `range_max`, must be given, as the automatic
    ones are those of a whole stack.
    """
    image = check_drawing(image, device, parameters)
    return whole_slices(image).map_blocks(drawn, device=device, parameters=parameters, dtype=numpy.uint8,
                                          meta=empty(image, numpy.uint8))


def drawn(block, device, parameters):
    return isoline.edge_drawing(block, segments=False, device=device, **parameters)[0]


def check_drawing(image, device, parameters):
    image, values = checked(image, "edge_drawing", device, parameters)
    given(values, "gradient_threshold", "isoline.edge_drawing_threshold measures it in a part of the image")
    if image.dtype == numpy.float32:
        given(values, "range_min", "it scales the whole image")
    return image


def edge_drawing_segments(image: da.Array, *, device: str = "auto", **parameters: Any) -> Any:
    """A delayed value: the Segments of all slices, in the order of isoline.edge_drawing. Arguments as for edge_drawing."""
    image = check_drawing(image, device, parameters)
    return by_slices(drawn_segments, Segments.joined, image, device=device, **parameters)


def drawn_segments(block, **options):
    return isoline.edge_drawing(block, **options)[1]


def edge_drawing_lines(image: da.Array, *, device: str = "auto", **parameters: Any) -> Any:
    """A delayed value: what isoline.edge_drawing_lines returns, the lines of all slices and the Segments.

    Arguments as for edge_drawing.
    """
    image = check_drawing(image, device, parameters)
    return by_slices(isoline.edge_drawing_lines, joined_along, image, device=device, **parameters)


def edge_drawing_ellipses(image: da.Array, *, device: str = "auto", **parameters: Any) -> Any:
    """A delayed value: what isoline.edge_drawing_ellipses returns, the circles and ellipses of all slices and the Segments.

    Arguments as for edge_drawing.
    """
    image = check_drawing(image, device, parameters)
    return by_slices(isoline.edge_drawing_ellipses, joined_along, image, device=device, **parameters)


def joined_along(parts, first_slices):
    firsts = numpy.cumsum([0, *(len(segments) for _, segments in parts)])
    found = [offset(rows, segment=first, slice=z) for (rows, _), first, z in zip(parts, firsts, first_slices)]
    return numpy.concatenate(found), Segments.joined([segments for _, segments in parts], first_slices)


def isolines(image: da.Array, levels: Any = None, *, spacing: Spacing = None, device: str = "auto",
             **parameters: Any) -> Any:
    """A delayed value: the Polylines of all slices, in the order of isoline.isolines.

    levels: one or several, which must be given: equally spaced ones would be those of a part of the image. spacing: in the
    order of the axes.
    image, device: as for edge_drawing. Further keywords: the parameters of isoline.isolines.
    """
    image, _ = checked(image, "isolines", device, parameters)
    levels = numeric([] if levels is None else levels, "levels")
    if levels.size == 0:
        raise InvalidArgument("cannot leave levels automatic in chunks: they are spaced over the whole image; give them")
    steps = per_axis(spacing, image.ndim)
    # The library's checks come before any chunk.
    isoline.isolines(numpy.zeros((2, 2), image.dtype), levels, spacing=steps[-2:], device="cpu", **parameters)
    return by_slices(isoline.isolines, Polylines.joined, image, levels=levels, spacing=steps, device=device, **parameters)


def isosurface(image: da.Array, *, spacing: Spacing = None, device: str = "auto", **parameters: Any) -> Any:
    """A delayed value: the Surface of a volume, as isoline.isosurface returns it.

    Each slab of whole slices, and the slice behind it, gives its triangles; a last task joins them, and computes the normals
    and measures of the whole surface. The slabs are as thick as the chunks of the image. spacing: in the order of the axes.
    image, device: as for edge_drawing. Further keywords: the parameters of isoline.isosurface; `level` must be given.
    """
    image, values = checked(image, "isosurface", device, parameters)
    steps = per_axis(spacing, image.ndim)
    given(values, "level", "it lies between the extremes of the whole volume")
    if image.ndim == 2 or image.numblocks[0] == 1:
        return dask.delayed(isoline.isosurface)(image, spacing=steps, device=device, **parameters)
    image, ends = whole_slices(image), [int(end) for end in numpy.cumsum(image.chunks[0])]
    options = dict(spacing=steps, device=device, **{name: values[name] for name in ("level", "foreground", "close")})
    parts = [dask.delayed(_surface.part)(image[first:end + 1], first, end == ends[-1], **options)
             for first, end in zip([0, *ends], ends)]
    return dask.delayed(_surface.joined)(parts, values["level"], values["foreground"], device)


def by_slices(function, join, image, **options):
    """A delayed value: the results of a function of parts of a stack, in whole slices, joined with their first slices."""
    parts = whole_slices(image).to_delayed().ravel()
    sizes = image.chunks[0] if image.ndim == 3 else (1,)
    first_slices = [0, *map(int, numpy.cumsum(sizes[:-1]))]
    return dask.delayed(join)([dask.delayed(function)(part, **options) for part in parts], first_slices)


def snake(image: da.Array, polygons: Any, *, device: str = "auto", **parameters: Any) -> Any:
    """A delayed value: the polygons and the statistics of region snakes, in the order of their starts.

    A target is compared with a window around its start (`background="window"`, which must be given, and `margin`), and is
    searched in a task with others of its chunk; the pixels that a task gets are those of its windows. Targets that compete
    (`overlap="excluded"`) are searched beside those that their territories depend on, which other tasks search, too. The
    results are those of isoline.snake: polygons(), a list of arrays (n, 2), and statistics(), without the flag for overlaps
    (1), which targets of other tasks may have. polygons: the starts, as of isoline.snake; those that compete may not be
    partly outside the image. image: (y, x); float32 needs `range_min` and `range_max`. device: as for edge_drawing. Further
    keywords: the parameters of isoline.snake, without a pyramid, which sees the whole image.
    """
    image, values = checked(image, "snake", device, parameters)
    if image.ndim != 2:
        raise InvalidSize(f"cannot use image: region snakes need the axes (y, x) (got the shape {image.shape})")
    for name, wanted in dict(background="window", pyramid_levels=1).items():
        if values[name] != wanted:
            raise InvalidArgument(f"cannot search targets in chunks: {name} must be {wanted!r} (got {values[name]!r}), as a "
                                  "target depends on all of the image otherwise")
    if image.dtype == numpy.float32:
        given(values, "range_min", "it scales the whole image")
    if polygons is None:
        raise InvalidArgument("cannot search targets in chunks without starts; give polygons")
    starts = polygon_parts(polygons)
    targets, tasks, found = Targets(starts, values["margin"], image.shape), {}, []
    competing = values["overlap"] == "excluded"
    if competing:
        targets.check_competition()
    for index in range(len(starts)):
        tasks.setdefault(targets.place(index, image.chunks), []).append(index)
    for indices in tasks.values():
        members = sorted(set().union(*map(targets.rivals, indices))) if competing else indices
        (top, left), (bottom, right) = targets.around(members)
        found.append(dask.delayed(searched)(image[top:bottom, left:right], [starts[index] for index in members], (left, top),
                                            numpy.isin(members, indices), device, parameters))
    return dask.delayed(reordered)(found, list(tasks.values()), len(starts))


def searched(pixels, starts, corner, own, device, parameters):
    """The polygons and the statistics of a task's own targets, from a part of the image whose upper left corner is given."""
    with Snake(pixels, [start - corner for start in starts], device=device, **parameters) as found:
        found.step()
        statistics = found.statistics()
        statistics["flags"] &= ~numpy.uint32(OVERLAPS)
        return [polygon + numpy.int32(corner) for polygon, is_own in zip(found.polygons(), own) if is_own], statistics[own]


def reordered(found, places, count):
    """The results of all tasks, whose targets have these places."""
    polygons, statistics = [None] * count, numpy.empty(count, TARGET_STATISTICS)
    for (some, rows), indices in zip(found, places):
        statistics[indices] = rows
        for index, polygon in zip(indices, some):
            polygons[index] = polygon
    return polygons, statistics


def objects(image: da.Array, starts: da.Array | None = None, *, reach: float, spacing: Spacing = None, device: str = "auto",
            **parameters: Any) -> tuple[da.Array, da.Array]:
    """The labels (uint32) of many objects at once, and an array with a row for each, as isoline.objects returns them.

    A chunk is computed with a halo of `reach`, in the unit of the spacing: all objects near it are grown there, and its own
    voxels get their labels. Give as much as the largest object is long, and `margin` more. Where that is not enough there is
    a warning: an object may be cut, which then has the flag 4, or have no start. The iterations end chunk by chunk, so that
    single voxels may differ from one call on the whole image; the same chunks have the same results on every device.
    Compute both together (`dask.compute(labels, table)`): each by itself grows all objects.

    image: (y, x) or (z, y, x); of float32 the range of the whole image is found first, unless `range_min` and `range_max`
    are given. starts: a label image of the same shape, whose labels the result has, from 0 to 4294967295; without a label
    the result has no object. Left out, they are found, and labels are 1, 2, ... in the order of their first voxels.
    spacing: in the order of the axes. device: as for edge_drawing. Further keywords: the parameters of isoline.objects;
    `margin`, without starts `threshold`, must be given.
    """
    image, values = checked(image, "objects", device, parameters)
    ranges = {name: values[name] for name in ("range_min", "range_max") if values[name] is not None}
    if ranges:
        # The library checks them together: chunks get the levels.
        isoline.objects(numpy.zeros((2, 2), image.dtype), device="cpu", **ranges)
        parameters = {name: value for name, value in parameters.items() if name not in ranges}
    given(values, "margin", "it depends on the mean distance of all starts")
    if starts is None:
        given(values, "threshold", "it separates the brightness of the whole image")
    if not (isinstance(reach, numbers.Real) and 0 < reach < math.inf):
        raise InvalidArgument(f"reach must be a finite number greater than 0, but it is {reach!r}")
    steps = per_axis(spacing, image.ndim)
    halos = {axis: int(numpy.ceil(reach / step)) for axis, step in enumerate(steps)}
    given_image, image = image, image.rechunk({axis: aligned(image.chunks[axis], 1, halo) for axis, halo in halos.items()})
    depths = {axis: halo if image.numblocks[axis] > 1 else 0 for axis, halo in halos.items()}
    options = dict(sizes=image.chunks, depths=list(depths.values()), spacing=steps, device=device, parameters=parameters,
                   below=values["foreground"] == "below")
    if starts is not None:
        starts, keys = in_order(starts, "starts"), None
        if starts.shape != image.shape:
            raise InvalidSize(f"cannot use starts: they must have the shape of the image, {image.shape} (got "
                              f"{starts.shape})")
        starts = da.overlap.overlap(starts.rechunk(image.chunks), depths, "none")
    extremes = []
    if image.dtype == numpy.float32:
        extremes = [da.asarray(end) for end in ranges.values()] or _objects.automatic_range(read_again(given_image, "range"))
    if starts is None:
        again = da.overlap.overlap(read_again(given_image, "starts").rechunk(image.chunks), depths, "none")
        starts = _objects.results(_objects.found, again, *extremes, **options)
        own = _objects.results(_objects.own_keys, starts)
        keys = _objects.results(_objects.all_keys, own.rechunk(-1))
    parts = _objects.results(_objects.grown, da.overlap.overlap(image, depths, "none"), starts, keys, *extremes, **options)
    labels = parts.map_blocks(_objects.labels_of, chunks=image.chunks, dtype=numpy.uint32, meta=empty(image, numpy.uint32))
    rows = _objects.results(_objects.rows_of, parts)
    return labels, _objects.gathered(_objects.table_of, rows, *extremes, spacing=steps, shape=image.shape)


def edge_strength(image: da.Array, *, spacing: Spacing = None, exchange_every: int | None = None, device: str = "auto",
                  **parameters: Any) -> da.Array:
    """The edge strength (float32) of each slice, or of a volume (`dimensions="volume"`).

    A halo has as many voxels as there are iterations between two exchanges; chunks are joined where they are smaller than
    that. exchange_every: a multiple of 16; None for one exchange, before all iterations. Several exchanges have the same
    bits only where 4 + 1/rho² (in a volume 6 + 1/rho²) is a 32-bit number, as for rho = 64 and every other power of two up
    to 1024; else they are refused. spacing: of a volume, in the order of the axes, as of isoline.edge_strength; with unequal
    ones the number is 2 + 2 (x/y)² + 2 (x/z)² + (x/rho)². The converged mode computes whole slices, or a volume of one
    chunk. image, device: as for edge_drawing. Further keywords: the parameters of isoline.edge_strength; start="image" needs
    `start_min` and `start_max` for other types than uint8.
    """
    image, values = checked(image, "edge_strength", device, parameters)
    volume = is_volume(values)
    if values["start"] == "image" and image.dtype.itemsize > 1:
        given(values, "start_min", "it scales the whole image")
    if values["mode"] == "converged":
        if volume and image.npartitions > 1:
            raise InvalidArgument("cannot compute the converged edge strength of a volume in chunks: every voxel depends on "
                                  f"all others (got {image.npartitions} chunks); rechunk it to one, or use iterations")
        image = whole_slices(image)
    lengths = exchanges(values["iterations"], exchange_every, FLUSHED_EVERY)
    image = with_room(image, volume, 1, max(lengths, default=0))
    split = split_axes(image, volume)
    steps = per_axis(spacing, image.ndim)
    parameters = {**parameters, "spacing": steps}
    if not split:
        return image.map_blocks(strength, device=device, parameters=parameters, dtype=numpy.float32,
                                meta=empty(image, numpy.float32))
    axes = [1.0] * (3 - image.ndim) + steps if volume else [1.0, 1.0]
    weights = [float(numpy.float32((axes[-1] / step) ** 2)) for step in axes]
    exact = 2 * sum(weights) + (float(values["rho"]) / axes[-1]) ** -2
    if len(lengths) > 1 and float(numpy.float32(exact)) != exact:
        raise InvalidArgument(f"cannot exchange halos every {exchange_every} iterations with the same bits: rho must be a "
                              f"power of two up to 1024 times an equal spacing (got {values['rho']} and {axes}); leave "
                              "exchange_every out")
    options = dict(device=device, parameters=parameters, dtype=numpy.float32, meta=empty(image, numpy.float32))
    depths = [{axis: length if axis in split else 0 for axis in range(image.ndim)} for length in lengths]
    if len(lengths) == 1:
        return da.map_overlap(strength, image, depth=depths[0], boundary="none", **options)
    state = image.map_blocks(strength_state, **options)
    for length, depth in zip(lengths, depths):
        state = da.map_overlap(strength_steps, state, depth=depth, boundary="none", iterations=length, **options)
    return state.map_blocks(numpy.minimum, numpy.float32(1), dtype=numpy.float32, meta=empty(image, numpy.float32))


def edge_strength_axes(image: da.Array, *, spacing: Spacing = None, exchange_every: int | None = None, device: str = "auto",
                       **parameters: Any) -> tuple[Any, da.Array]:
    """The axes and the critical points of all slices, a delayed value, in the order of isoline.edge_strength_axes, and the
    edge strength, a Dask array. Arguments as for edge_strength."""
    field = edge_strength(image, spacing=spacing, exchange_every=exchange_every, device=device, **parameters)
    steps = per_axis(spacing, image.ndim)
    return by_slices(axes_of_strength, Polylines.joined, field, spacing=steps, device=device, **parameters), field


def axes_of_strength(block, device, **options):
    return context_of(device, block).axes_of_strength(block, **options)


def strength(block, device, parameters):
    return context_of(device, block).run("edge_strength", block, **parameters)


def strength_state(block, device, parameters):
    """The values before the first iteration, and SHAPE on the shape."""
    state = strength(block, device, {**parameters, "iterations": 0})
    parameters = {name: value for name, value in parameters.items() if not name.startswith("start")}
    shape = strength(block, device, {**parameters, "iterations": 0}) == 1
    return numpy.where(shape, numpy.float32(SHAPE), state)


def strength_steps(block, device, parameters, iterations):
    """The state after more iterations."""
    started = dict(start="image", start_min=0, start_max=1, threshold=(1 + SHAPE) / 2, foreground="above")
    state = strength(block, device, {**parameters, **started, "iterations": iterations})
    return numpy.where(block == SHAPE, block, state)


def distance(image: da.Array, *, largest: float | None = None, spacing: Spacing = None, device: str = "auto",
             kept: Callable[[da.Array], da.Array] | None = None, **parameters: Any) -> da.Array:
    """The signed distance (float32): exact, or with `largest` clamped to ±`largest` and exact where it is smaller.

    largest: None, or more than 0, in the unit of the spacing; a halo is as wide as this. An exact distance depends on pixels
    arbitrarily far away. It is computed by a pass along each axis, for which the array is rechunked to whole lines of
    pixels, in chunks of no more pixels than the largest of the image's, or of one line. Between two passes the workers hold
    4 bytes a pixel of the whole array. kept: None, or a function that gets the array after a pass, stores it, and returns it
    as it is to be read by the next pass. The CPU computes passes: `device` must be "auto" or "cpu" then, unless no chunk
    depends on another one. The bits are those of the whole array where single precision holds the squares of distances
    (docs/distance.md), else within 1e-6 of the distance. image, device: as for edge_drawing. spacing: in the order of the
    axes. Further keywords: the parameters of isoline.distance.
    """
    image, values = checked(as_floats(in_order(image, "image"), "image"), "distance", device, parameters)
    if largest is not None and not (isinstance(largest, numbers.Real) and 0 < largest < math.inf):
        raise InvalidArgument(f"largest must be None or a finite number greater than 0, but it is {largest!r}")
    volume, steps = is_volume(values), per_axis(spacing, image.ndim)
    options = dict(dtype=numpy.float32, meta=empty(image, numpy.float32))
    if largest is None and split_axes(image, volume):
        if device not in ("auto", "cpu"):
            raise InvalidArgument(f"cannot compute the exact distance of several chunks on {device!r}: the CPU computes its "
                                  "passes; leave device out, give largest, or rechunk to one chunk")
        return by_passes(image, volume, steps, parameters, options, kept)
    if largest is None:
        return image.map_blocks(measured, spacing=steps, device=device, parameters=parameters, **options)
    # One more: the boundary is where boxes of pixels touch, half a pixel beside their centres.
    halos = {axis: int(numpy.ceil(largest / steps[axis])) + 1 for axis in axes_of(image, volume)}
    image = image.rechunk({axis: aligned(image.chunks[axis], 1, halo) for axis, halo in halos.items()})
    split = split_axes(image, volume)
    depth = {axis: halos[axis] if axis in split else 0 for axis in range(image.ndim)}
    return da.map_overlap(clamped, image, depth=depth, boundary="none", largest=numpy.float32(largest), spacing=spacing,
                          device=device, parameters=parameters, **options)


def by_passes(image, volume, steps, parameters, options, kept) -> da.Array:
    """The exact distance by a pass along x, y and, in a volume, z, in the chunks of the image."""
    axes = axes_of(image, volume)
    used = [steps[axis] for axis in axes if image.shape[axis] > 1]
    # The library ignores the spacing along an axis of one pixel, which the pixels of a chunk do not show.
    steps = [step if length > 1 else min(used) for step, length in zip(steps, image.shape)]
    parameters = {**parameters, "dimensions": "volume" if len(axes) == 3 else "slices"}
    values, pixels, before = image, math.prod(image.chunksize), image.ndim - 2
    for axis in reversed(axes):
        if kept is not None and values is not image:
            values = kept(values)
        values = in_lines(values, axis, before, pixels).map_blocks(
            one_pass, axis=image.ndim - 1 - axis, spacing=steps, parameters=parameters, **options)
        before = axis
    return values.rechunk(image.chunks)


def in_lines(values, axis, before, pixels) -> da.Array:
    """The values in chunks of about so many pixels with whole lines along an axis. Of the other axes, that whose lines were
    whole `before` is divided. The third one is left as it is; the first of the passes makes both sides equal."""
    if values.numblocks[axis] == 1:
        return values
    lines, sides = max(1, pixels // values.shape[axis]), {axis: -1}
    if values.ndim == 3:
        third = 3 - axis - before
        sides[third] = min(lines, math.isqrt(lines) if axis == 2 else values.chunksize[third], values.shape[third])
        lines //= sides[third]
    sides[before] = min(lines, values.shape[before])
    return values.rechunk(sides)


def one_pass(block, axis, spacing, parameters):
    return context_of("cpu", block).distance_pass(block, axis, spacing=spacing, **parameters)


def measured(block, spacing, device, parameters):
    """The distance of a chunk, which has no warning: there may be no boundary in it."""
    return context_of(device, block).run("distance", block, spacing=spacing, **parameters)


def clamped(block, largest, spacing, device, parameters):
    distances = measured(block, spacing, device, parameters)
    return numpy.clip(distances, -largest, largest, out=distances)


def level_set(image: da.Array, phi: da.Array, *, iterations: int, spacing: Spacing = None, exchange_every: int | None = None,
              device: str = "cpu", **parameters: Any) -> da.Array:
    """The level set function φ (float32) after some iterations of the variant "dense"; φ < 0 is the mask.

    image, phi: Dask arrays (y, x) or (z, y, x) of one shape; phi is the start (float32), such as the signed distance to a
    mask, within ±65536 times the spacing. exchange_every: the number of iterations between two exchanges, a multiple of
    `reinitialise_every`, which is the default (where that is 0: 10). A halo has a voxel for each (two with
    `upwind_order` 2), 17 more for each reinitialisation (25 in slices), three, and with `edge_weight` three `edge_sigma`
    and two voxels more, rounded up to a multiple of 8 (16); chunks are joined where they are smaller than that. spacing: in
    the order of the axes. device: the bits are those of the whole array on the CPU. Further keywords: the parameters of
    isoline.level_set, without `regions`. `target` and `epsilon`, and with `edge_weight` also `edge_contrast`, must be
    given, and there is no stopping criterion: all iterations are done, also where no front is left, while one call ends
    there.
    """
    image, values = checked(image, "level_set", device, parameters)
    phi = in_order(phi, "phi")
    if image.shape != phi.shape:
        raise InvalidSize(f"cannot use phi: it must have the shape of the image, {image.shape} (got {phi.shape})")
    if phi.dtype != numpy.float32:
        raise InvalidType(f"cannot use phi: it must be float32, negative inside (got {phi.dtype}); make it of a mask by "
                          "isoline.dask.distance, or convert it with phi.astype(numpy.float32)")
    if "target" not in parameters:
        raise InvalidArgument("cannot leave target automatic in chunks: it is measured around the whole start; give target "
                              "and epsilon")
    given(values, "epsilon", "it is measured around the whole start")
    if values["regions"] != "off":
        raise InvalidArgument(f"cannot use regions {values['regions']!r} in chunks: they are measured in the whole image; "
                              "give target and epsilon")
    for name in ("variant", "change_tolerance", "rms_tolerance", "check_interval"):
        if name in parameters:
            raise InvalidArgument(f"cannot use {name}: every voxel is updated in all iterations; leave it out")
    if values["pyramid_levels"] != 1:
        raise InvalidArgument("cannot use a pyramid in chunks: coarse levels move the front beyond a halo (got "
                              f"pyramid_levels {values['pyramid_levels']}); leave it out")
    steps = per_axis(spacing, image.ndim)
    # A volume of a single slice is that slice.
    volume, every = is_volume(values) and image.ndim == 3 and image.shape[0] > 1, values["reinitialise_every"]
    edges = 0
    if values["edge_weight"] > 0:
        given(values, "edge_contrast", "it is measured in the whole image")
        steps = steps if volume else steps[-2:]
        sigma = min(steps) if values["edge_sigma"] is None else values["edge_sigma"]
        edges = int(numpy.ceil(EDGE_REACH * (sigma / min(steps)))) + 2  # rounded as in src/level_set/cpu/edges.rs
    lengths = exchanges(iterations, (every or 10) if exchange_every is None else exchange_every, every or 1)
    tile = TILE if volume else TILE_SLICE
    reach = REINITIALISATION_REACH + tile - 1 + BAND_REACH
    longest = max(lengths, default=0)
    least = values["upwind_order"] * longest + (longest // every if every else 0) * reach + SENTINELS + edges
    depth = -(-least // tile) * tile
    # Every chunk must see the extremes of the whole image, on which the time step depends.
    extremes = finite_extremes(read_again(image, "extremes"))
    image = with_room(image, volume, tile, depth)
    phi = phi.rechunk(image.chunks)
    split = split_axes(image, volume)
    depths = {axis: depth if axis in split else 0 for axis in range(image.ndim)}
    images = da.overlap.overlap(image, depths, "none")
    settings = {**parameters, "dimensions": "volume" if volume else "slices", "variant": "dense", "change_tolerance": 0,
                "rms_tolerance": 0}
    for length in lengths:
        evolved = da.map_blocks(evolve, images, da.overlap.overlap(phi, depths, "none"), *extremes, iterations=length,
                                split=split, whole=image.npartitions == 1, spacing=spacing, device=device,
                                parameters=settings, dtype=numpy.float32, meta=empty(image, numpy.float32))
        phi = da.overlap.trim_internal(evolved, depths, "none")
    return phi


def evolve(image, phi, low, high, iterations, split, whole, spacing, device, parameters, block_id=None):
    """φ of a chunk with its halo after some iterations."""
    size, spacing = phi.shape, per_axis(spacing, image.ndim)
    if image.ndim == 2:
        image, phi, spacing = image[None], phi[None], [1.0, *spacing]
        split, block_id = [axis + 1 for axis in split], (0, *block_id)
    step = numpy.float32(max(spacing[-2:] if parameters["dimensions"] == "slices" else spacing))
    if parameters["dimensions"] == "slices" and not whole:
        # Two more slices. The front of neither moves, so that the chunk is never without one.
        image = numpy.concatenate([image, full(image, low), full(image, high)])
        phi = numpy.concatenate([phi, full(phi, -1000 * step), full(phi, 1000 * step)])
        split = ()
    elif not whole:
        # The outermost planes of a halo; their axis comes first.
        image, phi = image.copy(), phi.copy()
        first = block_id[split[0]] > 0
        planes = slice(0, SENTINELS) if first else slice(None, -SENTINELS - 1, -1)
        view = numpy.moveaxis(image, split[0], 0)[planes]
        inside = 2 * numpy.count_nonzero(phi < 0) > phi.size
        target = min(max(parameters["target"], low), high)
        farthest = low if abs(low - parameters["target"]) > abs(high - parameters["target"]) else high
        for plane, value in zip(view, (farthest if inside else target, low, high)):
            plane[...] = value
    with LevelSet(image, phi < 0, spacing=spacing, device=device, **parameters) as surface:
        done = 0
        while True:
            if split and not whole:
                view = numpy.moveaxis(phi, split[0], 0)[planes]
                view[0], view[1:] = (step, -step) if 2 * numpy.count_nonzero(phi < 0) > phi.size else (-step, step)
            surface.write_phi(phi)
            report = surface.step(iterations - done)
            done, phi = done + report.iterations, surface.phi()
            # It ends early where no front is left, which may be one farther away.
            if done == iterations or whole:
                return phi[:1].reshape(size) if len(size) == 2 else phi[:size[0]]
            if report.iterations == 0:
                raise RuntimeError("cannot evolve a chunk: it has no front (this is a defect of isoline.dask)")


def finite_extremes(image) -> tuple[da.Array, da.Array]:
    """The smallest and the largest finite pixel; infinite where there is none."""
    finite = da.isfinite(image)
    return da.where(finite, image, numpy.inf).min(), da.where(finite, image, -numpy.inf).max()


def read_again(image, purpose) -> da.Array:
    """The image, whose chunks are read once more for a purpose, so that none is kept until something of all is known. Dask
    cannot clone what it has cut or joined: those chunks are kept."""
    def can_be_cloned(layer):
        return isinstance(layer, Blockwise) or not any(isinstance(task, GraphNode) for task in layer.values())

    layers = image.__dask_graph__().layers.values()
    return clone(image, seed=purpose) if all(map(can_be_cloned, layers)) else image


def full(image, value):
    return numpy.full((1, *image.shape[1:]), value, image.dtype)


def in_order(array, name) -> da.Array:
    """A Dask array with the bytes of its pixels in the machine's order, and without chunks of no pixels. Others and masked
    ones are refused."""
    if not isinstance(array, da.Array):
        raise TypeError(f"{name} must be a Dask array, but it is a {type(array).__name__}; make one by "
                        "dask.array.from_array")
    if numpy.ma.isMaskedArray(array._meta):
        raise InvalidArgument(f"cannot use {name}: the masked pixels of its chunks have no value (got a masked array); fill "
                              "it first, as by dask.array.ma.filled(array, 0)")
    if 0 in shape_of(array):
        raise InvalidSize(f"cannot use {name}: each side must have a pixel (got the shape {array.shape})")
    # A selection may leave no pixels of a chunk, on which no operation can be called.
    array = array.rechunk(tuple(tuple(size for size in sizes if size) for sizes in array.chunks))
    return array.astype(array.dtype.newbyteorder("="))


def checked(image, operation, device, parameters) -> tuple[da.Array, dict]:
    """The image in the machine's order of bytes, and all parameters of an operation, with the defaults of those that are not
    given, after the library's checks."""
    image = in_order(image, "image")
    check_kind(image.shape, image.dtype, "image")
    doubt_colours(image)
    if not isinstance(device, str):
        raise TypeError("device must be the name of a device: a context cannot be sent to a worker")
    if not DEVICE.fullmatch(device):
        raise InvalidArgument(f"device must be auto, cpu, cuda, cuda:N, several as cuda:0,1 or cuda:all (got {device!r})")
    table = default_library().operations[operation]
    for name, value in parameters.items():
        table.encoded(name, value)
    if operation != "level_set":  # In chunks it needs other parameters together.
        default_library().params(operation, **parameters)
    words = {name: {code: word for word, code in choices.items()} for name, choices in table.choices.items()}
    chosen = {name: words.get(name, {}).get(value, value) for name, value in parameters.items()}
    return image, {**{name: table.default(name) for name in table.parameters}, **chosen}


def given(values, name, reason):
    if values[name] is None:
        raise InvalidArgument(f"cannot leave {name} automatic in chunks: {reason}; give it")


def is_volume(values) -> bool:
    return values["dimensions"] == "volume"


def split_axes(image, volume) -> tuple:
    """The axes along which a pixel depends on others, and there are several chunks."""
    return tuple(axis for axis in axes_of(image, volume) if image.numblocks[axis] > 1)


def axes_of(image, volume) -> range:
    return range(image.ndim) if volume else range(image.ndim - 2, image.ndim)


def with_room(image, volume, tile, depth) -> da.Array:
    """The image in chunks that hold a halo of their neighbours, and begin at multiples of a tile's side."""
    return image.rechunk({axis: aligned(image.chunks[axis], tile, depth) for axis in axes_of(image, volume)})


def whole_slices(image) -> da.Array:
    return image.rechunk({image.ndim - 2: -1, image.ndim - 1: -1})


def empty(image, dtype):
    return numpy.empty((0,) * image.ndim, dtype)


def exchanges(iterations, every, multiple) -> list:
    """The numbers of iterations between exchanges."""
    iterations = counted(iterations, "iterations")
    every = iterations if every is None else counted(every, "exchange_every")
    if every < iterations and (every < 1 or every % multiple):
        raise InvalidArgument(f"exchange_every must be a multiple of {multiple}, but it is {every}")
    return [min(every, iterations - done) for done in range(0, iterations, every)] if iterations else []


def counted(value, name) -> int:
    """A whole number, which may be a float."""
    if not (isinstance(value, numbers.Real) and 0 <= value < math.inf and value == int(value)):
        raise InvalidArgument(f"{name} must be a whole number of at least 0, but it is {value!r}")
    return int(value)


def aligned(sizes, tile, least) -> tuple:
    """Sizes, of at least that many, of chunks that begin at multiples of a tile's side, near to the given ones."""
    bounds, total = [0], sum(sizes)
    for position in numpy.cumsum(sizes[:-1]):
        bound = int(position + tile // 2) // tile * tile
        if bound - bounds[-1] >= least and total - bound >= least:
            bounds.append(bound)
    return tuple(int(size) for size in numpy.diff([*bounds, total]))
