"""The isosurface of a volume in slabs: the part of each, and the whole with the bits of one call.

The library finds the triangles of a slab. Its vertices are those of the whole volume in single precision only if they are
computed from their places in it, and normals and sums of measures only if the whole surface is there, in the library's
order. src/isosurface/ has the definitions, which this module follows operation by operation; the library measures the whole.
"""
from __future__ import annotations

import itertools

import numpy

from ._context import context_of

LINES, MEANS = 4, 3  # of a row of voxels: its vertices on edges along x, y and z, and those at means of loops
LEAST_MEAN_EDGES = 8  # crossed edges of a cell that has such a mean
CELLS = 2 ** 20  # that are looked at together; a float32 counts three times as many slices


def part(planes, first, last, level, foreground, close, spacing, device):
    """The vertices in a slab, their keys, which ascend in the order of the whole surface, and the triangles.

    planes: those of the slab and, unless it is the last one, the first of the next. first: the number of planes before.
    spacing: along z, y, x. Returns keys, vertices, and triangles of places in these.
    """
    context, options = context_of(device, planes), dict(level=level, foreground=foreground, close=close)
    found = context.isosurface(planes, spacing=spacing, **options)
    triangles = found.triangles.astype(numpy.int64)
    # A number may be rounded to the type of the pixels before it is compared, an array is not.
    limit = numpy.array([level], numpy.float64)
    high = numpy.pad(planes <= limit if foreground == "below" else planes > limit, int(close))
    cells, marks = vertices_of(high, numpy.pad(numpy.isfinite(planes), int(close), constant_values=True))
    if numpy.count_nonzero(marks) < len(found.vertices):
        marks[:-1, :-1, MEANS, :-1] = has_mean(context, planes, cells, marks, **options)
    keys = numpy.flatnonzero(marks)
    if len(keys) != len(found.vertices):
        raise RuntimeError(f"cannot join the isosurfaces of chunks: one has {len(found.vertices)} vertices in place of "
                           f"{len(keys)} (this is a defect of isoline.dask)")
    z, y, line, x = numpy.unravel_index(keys, marks.shape)
    at = positions(planes, numpy.stack([z, y, x]) - int(close), line, level, first, spacing)
    fill_means(at, keys, line, triangles)
    # Cells in which the slab alone is closed: their triangles have a vertex on an edge along z, or at a mean, in them.
    added = numpy.zeros(len(keys), bool)
    if close:
        added = (line >= 2) & ((z == 0) & (first > 0) | (z == marks.shape[0] - 2) & (not last))
    triangles = triangles[~added[triangles].any(axis=1)]
    used = numpy.zeros(len(keys), bool)
    used[triangles] = True
    places = numpy.cumsum(used) - 1
    return keys[used] + first * marks[0].size, at[:, used].T[:, ::-1].astype(numpy.float32), places[triangles]


def vertices_of(high, finite):
    """The cells, by their first voxels, and which lines of voxels have vertices, axes (z, y, line, x), without means."""
    ends = [slice(None, -1), slice(1, None)]
    cells = numpy.logical_and.reduce([finite[place] for place in itertools.product(ends, repeat=3)])
    marks = numpy.zeros((*high.shape[:2], LINES, high.shape[2]), bool)
    for axis in range(3):
        used = numpy.zeros([size - (place == axis) for place, size in enumerate(high.shape)], bool)
        for place in itertools.product(*(ends if other != axis else [slice(None)] for other in range(3))):
            used[place] |= cells
        along = tuple(ends[0] if other == axis else slice(None) for other in range(3))
        behind = tuple(ends[1] if other == axis else slice(None) for other in range(3))
        numpy.moveaxis(marks, 2, 0)[2 - axis][along] = used & (high[along] != high[behind])
    return cells, marks


def has_mean(context, planes, cells, marks, level, foreground, close):
    """The cells that have a vertex at the mean of a loop: of each that may, the library is asked by itself."""
    crossed = numpy.zeros(cells.shape, numpy.uint8)
    for axis, place in itertools.product(range(3), itertools.product([0, 1], repeat=3)):
        if place[axis] == 0:
            corner = tuple(slice(by, by + size) for by, size in zip(place, cells.shape))
            crossed += numpy.moveaxis(marks, 2, 0)[2 - axis][corner]
    found = cells & (crossed >= LEAST_MEAN_EDGES)
    # Beyond the border all voxels are low.
    low = numpy.finfo(numpy.float32).max * (1 if foreground == "below" else -1)
    values = numpy.pad(planes.astype(numpy.float32, copy=False), int(close), constant_values=low)
    places = numpy.argwhere(found)
    counts = [numpy.empty(0, bool)]
    for some in (places[first:first + CELLS] for first in range(0, len(places), CELLS)):
        # Slices of NaN are between the cells.
        alone = numpy.full((len(some), 3, 2, 2), numpy.nan, numpy.float32)
        for corner in itertools.product([0, 1], repeat=3):
            alone[(slice(None), *corner)] = values[tuple((some + corner).T)]
        surface = context.isosurface(alone.reshape(-1, 2, 2), level=level, foreground=foreground, close=False)
        of_cells = numpy.bincount(surface.vertices[:, 2].astype(numpy.int64) // 3, minlength=len(some))
        counts.append(of_cells > crossed[tuple(some.T)])
    found[found] = numpy.concatenate(counts)
    return found


def positions(planes, voxels, line, level, first, spacing):
    """z, y and x, in the unit of the spacing, of the vertices on edges from voxels on; of means something else."""
    axis = 2 - numpy.minimum(line, 2)
    ends = voxels + (numpy.arange(3)[:, None] == axis)
    shape = numpy.array(planes.shape)[:, None]
    inside = ((voxels >= 0) & (ends < shape)).all(axis=0)
    a, b = (planes[tuple(numpy.clip(place, 0, shape - 1))].astype(numpy.float64) for place in (voxels, ends))
    with numpy.errstate(all="ignore"):
        # Half a voxel beyond the border.
        share = numpy.where(inside, (level - a) / (b - a), 0.5)
    at = voxels.astype(numpy.float64)
    at[0] += first
    at[axis, numpy.arange(len(line))] += share
    return at * numpy.array(spacing, numpy.float64)[:, None]


def fill_means(at, keys, line, triangles):
    """Replaces the positions of means by the means of their loops, whose triangles have them first."""
    fans = triangles[line[triangles[:, 0]] == MEANS]
    centres, edges = fans[:, 0], fans[:, 1]
    order = numpy.lexsort((keys[edges], line[edges], centres))
    centres, edges = centres[order], edges[order]
    counts = numpy.bincount(centres, minlength=len(keys))
    means = line == MEANS
    for row in at:
        row[means] = numpy.bincount(centres, row[edges], len(keys))[means] / counts[means]


def joined(parts, level, foreground, device):
    """The Surface of the parts of all slabs, in their order."""
    keys, own, places = numpy.unique(numpy.concatenate([keys for keys, _, _ in parts]), return_index=True,
                                     return_inverse=True)
    firsts = numpy.cumsum([0, *(len(keys) for keys, _, _ in parts)])
    vertices = numpy.concatenate([vertices for _, vertices, _ in parts])[own]
    triangles = numpy.concatenate([places.ravel()[first + triangles]
                                   for first, (_, _, triangles) in zip(firsts, parts)]).reshape(-1, 3)
    found = context_of(device).surface(vertices, triangles, foreground=foreground)
    found.level = float(level)
    return found
