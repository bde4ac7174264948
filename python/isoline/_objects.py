"""Objects in the chunks of an image: those near a chunk are grown in it and its halo, and the labels of its voxels kept."""
from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import dask.array as da
import numpy

import isoline

from ._native import InvalidArgument, IsolineWarning
from ._results import OBJECT

AT_BORDER, TOUCHES, CUT = 1, 2, 4  # flags of an object; the last is of chunks alone
LARGEST_LABEL, LARGEST_U16 = 2 ** 32 - 1, 2 ** 16 - 1
FAR = 1e38  # a threshold beyond all levels
MOST_LOST = 0.05  # the share of an object's voxels by which chunks may disagree
# A row of an object in a chunk: its voxels in the chunk, and with the halo; `places` are the sums of the indices of those in
# the chunk along x, y and z.
ROW = numpy.dtype([("label", "u4"), ("flags", "u4"), ("voxels", "u8"), ("seen", "u8"), ("places", "f8", 3), ("mean", "f8"),
                   ("background", "f8")])


class Starts(NamedTuple):
    """The automatic starts that a chunk sees: their keys, which are in the chunk itself, and the places of their voxels in
    the chunk with its halo, one start after another, with their numbers.

    A key is the index of a start's first voxel in the whole image. It is the same in all chunks that see the whole start.
    """
    keys: numpy.ndarray
    is_own: numpy.ndarray
    voxels: numpy.ndarray
    counts: numpy.ndarray


class Grown(NamedTuple):
    """The labels of a chunk's voxels, and the rows of its objects."""
    labels: numpy.ndarray
    rows: numpy.ndarray


def results(function, *arrays: da.Array, **options) -> da.Array:
    """A result of each chunk, which is no array: an element of an array."""
    chunks, meta = tuple((1,) * count for count in arrays[0].numblocks), numpy.empty((0,) * arrays[0].ndim, object)
    return da.map_blocks(function, *arrays, chunks=chunks, dtype=object, meta=meta, **options)


def gathered(function, parts: da.Array, *others: da.Array, **options) -> da.Array:
    """The rows of all objects, which a function makes of the results of all chunks."""
    return parts.rechunk(-1).map_blocks(function, *others, drop_axis=list(range(1, parts.ndim)), chunks=((math.nan,),),
                                        dtype=OBJECT, meta=numpy.empty(0, OBJECT), **options)


class Place:
    """A chunk with its halo in the whole image."""

    def __init__(self, sizes, depths, block_id):
        self.shape = tuple(map(sum, sizes))
        self.first = [sum(side[:at]) for side, at in zip(sizes, block_id)]
        ends = [sum(side[:at + 1]) for side, at in zip(sizes, block_id)]
        self.begin = [max(0, first - depth) for first, depth in zip(self.first, depths)]
        self.core = tuple(slice(first - begin, end - begin) for first, end, begin in zip(self.first, ends, self.begin))
        # The outermost planes, and what an object in them is.
        self.planes = []
        for axis, (begin, end, depth, whole) in enumerate(zip(self.begin, ends, depths, self.shape)):
            if whole > 1 or axis >= len(depths) - 2:
                self.planes.append((axis, 0, CUT if begin > 0 else AT_BORDER))
                self.planes.append((axis, -1, CUT if end + depth < whole else AT_BORDER))


def single(value, axes):
    """The element of an array of chunks' results."""
    wrapped = numpy.empty((1,) * axes, object)
    wrapped[(0,) * axes] = value
    return wrapped


def scale(low, high):
    """The value of the first level of an image with these extremes, and the difference between two levels."""
    return (float(low), (float(high) - float(low)) / LARGEST_U16) if low <= high else (0.0, 0.0)


def automatic_range(image) -> list:
    """The library's automatic range: that of the finite pixels, without those farther from the range of neighbours than its
    own extent. That is from the smallest value that two pixels side by side along x or y are both at or below to the largest
    that two are both at or above; where it is empty all finite pixels count."""
    # Each pair of neighbours is in one block at least.
    depths = {axis: (0, 1) if axis >= image.ndim - 2 else 0 for axis in range(image.ndim)}
    parts = da.overlap.overlap(image, depths, "none")
    chunks = *((1,) * count for count in parts.numblocks[:-1]), (4,) * parts.numblocks[-1]
    ends = parts.map_blocks(block_ends, chunks=chunks, dtype=numpy.float64, meta=numpy.empty((0,) * image.ndim))
    low, high, lowest, highest = (least(ends[..., at::4]) for at, least in enumerate((da.min, da.max) * 2))
    return [da.where(low < high, da.maximum(lowest, low - (high - low)), lowest),
            da.where(low < high, da.minimum(highest, high + (high - low)), highest)]


def block_ends(block):
    """The range of neighbours in the slices of a block, and that of all its pixels; infinite where there are none."""
    low, high = [math.inf], [-math.inf]
    for axis in (-2, -1):
        along = numpy.moveaxis(block, axis, 0)
        both = numpy.isfinite(along[:-1]) & numpy.isfinite(along[1:])
        low.append(numpy.maximum(along[:-1], along[1:]).min(where=both, initial=math.inf))
        high.append(numpy.minimum(along[:-1], along[1:]).max(where=both, initial=-math.inf))
    finite = numpy.isfinite(block)
    ends = [min(low), max(high), block.min(where=finite, initial=math.inf), block.max(where=finite, initial=-math.inf)]
    return numpy.array(ends, numpy.float64).reshape((1,) * (block.ndim - 1) + (4,))


def levels(block, low, high, below):
    """The levels in which the library computes floats; NaN is background."""
    first, step = scale(low, high)
    with numpy.errstate(invalid="ignore"):
        # The scale is computed as the library computes it, so that the same pixels are rounded up.
        scaled = (block.astype(numpy.float64) - first) * (LARGEST_U16 / (float(high) - first) if step > 0 else 0)
    scaled = numpy.nan_to_num(scaled, nan=0, posinf=LARGEST_U16, neginf=0)
    found = (scaled.clip(0, LARGEST_U16) + 0.5).astype(numpy.uint16)
    return numpy.where(numpy.isnan(block), numpy.uint16(LARGEST_U16 if below else 0), found)


def found(block, *extremes, sizes, depths, spacing, device, parameters, below, block_id=None):
    place = Place(sizes, depths, block_id)
    parameters = {**parameters, "iterations": 0}
    if extremes:
        block = levels(block, *extremes, below)
        first, step = scale(*extremes)
        height = parameters["threshold"] - first
        parameters["threshold"] = max(-FAR, min(height / step if step > 0 else math.copysign(FAR, height), FAR))
    labels, _ = isoline.objects(block, out=numpy.empty(block.shape, numpy.float32), spacing=spacing, device=device,
                                **parameters)
    voxels = numpy.flatnonzero(labels).astype(numpy.uint32 if labels.size <= 2 ** 32 else numpy.int64)
    values = labels.ravel()[voxels]
    order = numpy.argsort(values, kind="stable")
    _, first, counts = numpy.unique(values[order], return_index=True, return_counts=True)
    voxels = voxels[order]
    at = numpy.unravel_index(voxels[first], block.shape)
    keys = numpy.ravel_multi_index([places + begin for places, begin in zip(at, place.begin)], place.shape)
    is_own = [(inside.start <= places) & (places < inside.stop) for places, inside in zip(at, place.core)]
    return single(Starts(keys, numpy.logical_and.reduce(is_own), voxels, counts), block.ndim)


def own_keys(part):
    starts = part.item()
    return single(starts.keys[starts.is_own], part.ndim)


def all_keys(parts):
    """The keys of the starts of all chunks, in ascending order."""
    return single(numpy.sort(numpy.concatenate(list(parts.ravel()))), parts.ndim)


def given_starts(starts):
    """The starts of a chunk with labels from 1 on, and their labels in the whole image."""
    values, local = numpy.unique(starts, return_inverse=True)
    wrong = values[~((values >= 0) & (values <= LARGEST_LABEL) & (values == numpy.floor(values)))]
    if wrong.size:
        raise InvalidArgument(f"cannot use starts: labels must be whole numbers from 0 to {LARGEST_LABEL} (got {wrong[0]})")
    return local.reshape(starts.shape) + int(values[0] > 0), values[values > 0]


def found_starts(starts, keys, shape, core):
    """The same of automatic starts. One that is nobody's own, because chunks see different parts of it, is left out."""
    is_known = numpy.isin(starts.keys, keys)
    numbers = numpy.repeat(numpy.where(is_known, numpy.cumsum(is_known), -1), starts.counts)
    local = numpy.zeros(shape, numpy.intp)
    local.ravel()[starts.voxels] = numbers
    if (local[core] < 0).any():
        warn("chunks see a start in different ways, and it is left out; give a larger reach")
    return local.clip(0), numpy.searchsorted(keys, starts.keys[is_known]) + 1


def grown(block, starts, keys, *extremes, sizes, depths, spacing, device, parameters, below, block_id=None):
    place = Place(sizes, depths, block_id)
    if extremes:
        block = levels(block, *extremes, below)
    if keys is None:
        local, labels = given_starts(starts)
    else:
        local, labels = found_starts(starts.item(), keys.item(), block.shape, place.core)
    labels = numpy.concatenate([[0], labels]).astype(numpy.uint32)
    rows, report = numpy.zeros(len(labels), ROW), isoline.Report()
    grid = local
    if len(labels) > 1:
        kind = numpy.uint16 if len(labels) <= LARGEST_U16 else numpy.float32
        grid, objects = isoline.objects(block, local.astype(kind), out=numpy.empty(block.shape, kind), spacing=spacing,
                                        device=device, report=report, **parameters)
        grid = grid.astype(numpy.intp)
        for name in ("flags", "mean", "background"):
            rows[name][1:] = objects[name]
    rows["label"] = labels
    rows["flags"] &= TOUCHES
    for axis, plane, flag in place.planes:
        rows["flags"][numpy.unique(numpy.take(grid, plane, axis))] |= flag
    core = grid[place.core]
    rows["voxels"] = numpy.bincount(core.ravel(), minlength=len(rows))
    for axis, (first, size) in enumerate(zip(place.first, core.shape)):
        at = (first + numpy.arange(size, dtype=float)).reshape(size, *(1,) * (core.ndim - 1 - axis))
        sums = numpy.bincount(core.ravel(), numpy.broadcast_to(at, core.shape).ravel(), len(rows))
        rows["places"][:, core.ndim - 1 - axis] = sums
    rows["seen"] = numpy.bincount(grid.ravel(), minlength=len(rows))
    starts_here = numpy.bincount(local[place.core].ravel(), minlength=len(rows))
    is_here = (rows["voxels"] > 0) | (starts_here > 0)
    is_here[0] = False
    # Another chunk may see the whole of an object that has no start here.
    if (rows["flags"][1:][starts_here[1:] > 0] & CUT).any():
        warn(f"an object reaches the end of a halo and may be cut there (flag {CUT} in the table); give a larger reach")
    if len(labels) > 1 and not report.converged and parameters.get("iterations") != 0:
        warn("fronts were not at rest after the last iteration; give more iterations")
    return single(Grown(labels[core], rows[is_here]), block.ndim)


def labels_of(part):
    return part.item().labels


def rows_of(part):
    return single(part.item().rows, part.ndim)


def table_of(parts, *extremes, spacing, shape):
    """The objects of all chunks. Flags and brightness are those of the chunk that has most of an object's voxels; one of
    which the chunks together have a share other than that chunk saw is cut, too."""
    rows = numpy.concatenate(list(parts.ravel()))
    rows = rows[numpy.lexsort((-rows["voxels"].astype(numpy.int64), rows["label"]))]
    labels, first = numpy.unique(rows["label"], return_index=True)
    table, steps = numpy.zeros(len(labels), OBJECT), ([1.0] + spacing)[:-4:-1]
    for name in ("label", "flags", "mean", "background"):
        table[name] = rows[name][first]
    if len(rows):
        table["voxels"] = numpy.add.reduceat(rows["voxels"], first)
        lost = abs(table["voxels"].astype(float) - rows["seen"][first]) > MOST_LOST * rows["seen"][first]
        table["flags"] |= numpy.where(lost, numpy.uint32(CUT), numpy.uint32(0))
        # Those of an image of one slice have areas.
        table["volume"] = table["voxels"] * numpy.prod(steps if len(shape) == 3 and shape[0] > 1 else steps[:2])
        with numpy.errstate(invalid="ignore"):
            centres = numpy.add.reduceat(rows["places"], first) / table["voxels"][:, None]
        table["centre"] = centres * steps
    if extremes:
        low, step = scale(*extremes)
        for name in ("mean", "background"):
            table[name] = low + table[name] * step
    return table


def warn(text):
    """A warning to the user, also from a worker."""
    try:
        from distributed.worker import warn as tell
    except ImportError:
        tell = warnings.warn
    tell(f"objects: {text}", IsolineWarning)
