"""The isosurface of a volume in slabs: the part of each, and the whole with the bits of one call.

The library finds the triangles of a slab. Its vertices are those of the whole volume in single precision only if they are
computed from their places in it, and normals and sums of measures only if the whole surface is there, in the library's
order. src/isosurface/ has the definitions, which this module follows operation by operation.
"""
from __future__ import annotations

import itertools
import math

import numpy

from ._context import context_of
from ._native import InvalidSize
from ._results import Surface

LINES, MEANS = 4, 3  # of a row of voxels: its vertices on edges along x, y and z, and those at means of loops
LEAST_MEAN_EDGES = 8  # crossed edges of a cell that has such a mean
CELLS = 2 ** 20  # that are looked at together; a float32 counts three times as many slices
NONE = -1  # in place of a side: the edge has one triangle
BLOCK, MOST_FLAT, TERMS = 256, 64, 12
QUARTER_PI, EIGHTH_TANGENT = 0.7853981633974483, 0.41421356237309503
NEAR_TANGENT, FAR_TANGENT = 0.198912367379658, 0.6681786379192989
TOGETHER = 2 ** 10 * BLOCK  # triangles


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


def joined(parts, level):
    """The Surface of the parts of all slabs, in their order."""
    keys, own, places = numpy.unique(numpy.concatenate([keys for keys, _, _ in parts]), return_index=True,
                                     return_inverse=True)
    firsts = numpy.cumsum([0, *(len(keys) for keys, _, _ in parts)])
    vertices = numpy.concatenate([vertices for _, vertices, _ in parts])[own]
    triangles = numpy.concatenate([places.ravel()[first + triangles]
                                   for first, (_, _, triangles) in zip(firsts, parts)]).reshape(-1, 3)
    if max(len(keys), triangles.size) >= 2 ** 32 - 1:
        raise InvalidSize(f"cannot make the isosurface of level {level}: it must have fewer than {2 ** 32 - 1} vertices and "
                          f"a third as many triangles (got {len(keys)} and {len(triangles)}); cut the volume into parts")
    return measured(vertices, triangles, level)


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    return numpy.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def corners_of(vertices, triangles):
    """x, y and z, in double precision, of the three corners of triangles."""
    return [vertices[triangles[:, corner]].T.astype(numpy.float64) for corner in range(3)]


def normals_of(vertices, triangles):
    """The normals of triangles, of twice the length of their areas."""
    a, b, c = corners_of(vertices, triangles)
    return cross(b - a, c - a)


def measured(vertices, triangles, level) -> Surface:
    """The Surface of a mesh, with normals and measures."""
    found, sums = Surface.__new__(Surface), numpy.zeros((4, 0))
    found.vertices, found.triangles = vertices, triangles.astype(numpy.uint32)
    found.normals = numpy.zeros(vertices.shape, numpy.float32)
    across = numpy.concatenate([normals_of(vertices, triangles[first:first + TOGETHER])
                                for first in range(0, len(triangles), TOGETHER)] or [numpy.zeros((3, 0))], axis=1)
    # Added to each vertex in the order of the triangles.
    summed = numpy.stack([numpy.bincount(triangles.ravel(), numpy.repeat(row, 3), len(vertices)) for row in across])
    length = numpy.sqrt(dot(summed, summed))
    there = length > 0
    found.normals[there] = (summed[:, there] / length[there]).T
    sides = opposite_sides(triangles, len(vertices))
    for first in range(0, len(triangles), TOGETHER):
        some = numpy.arange(first, min(first + TOGETHER, len(triangles)))
        sums = numpy.concatenate([sums, sums_of_blocks(sums_of(vertices, triangles, across, sides, some))], axis=1)
    area, volume, curvature, borders = (float(row.cumsum()[-1]) if len(row) else 0.0 for row in sums)
    found.level, found.area, found.border_edges, found.closed = float(level), area, int(borders), borders == 0
    found.volume = volume if found.closed else math.nan
    found.mean_curvature = curvature / area if area > 0 else math.nan
    found.pieces = pieces(triangles, len(vertices))
    found.euler = len(vertices) - (3 * len(triangles) + found.border_edges) // 2 + len(triangles)
    return found


def opposite_sides(triangles, count):
    """The side that meets each: side k of triangle t, 3t + k, goes from its corner k to the next one."""
    one, other = triangles.ravel(), triangles[:, [1, 2, 0]].ravel()
    edges = numpy.minimum(one, other).astype(numpy.uint64) * numpy.uint64(max(count, 1))
    edges += numpy.maximum(one, other).astype(numpy.uint64)
    order = numpy.argsort(edges, kind="stable")
    sides = numpy.full(len(edges), NONE)
    meet = numpy.flatnonzero(edges[order[1:]] == edges[order[:-1]])
    sides[order[meet]], sides[order[meet + 1]] = order[meet + 1], order[meet]
    return sides


def beyond(vertices, triangles, across, sides, side):
    """The sides that meet sides, or NONE. Triangles without area, which have one side without length, are passed through
    their other one."""
    found, asked = numpy.full(len(side), NONE), numpy.arange(len(side))
    for _ in range(MOST_FLAT):
        side = sides[side]
        asked, side = asked[side != NONE], side[side != NONE]
        has_area = (across[:, side // 3] != 0).any(axis=0)
        found[asked[has_area]] = side[has_area]
        asked, side = asked[~has_area], side[~has_area]
        if len(side) == 0:
            break
        triangle, place = triangles[side // 3], side % 3
        others = numpy.stack([(place + by) % 3 for by in (1, 2)])
        rows = numpy.arange(len(side))
        lengths = (vertices[triangle[rows, others]] != vertices[triangle[rows, (others + 1) % 3]]).any(axis=2)
        passed = lengths.sum(axis=0) == 1
        side = (side // 3 * 3 + numpy.where(lengths[0], *others))[passed]
        asked = asked[passed]
    return found


def angle_of(sine, cosine):
    """The angles of vectors, as the library computes them."""
    a, b = numpy.abs(sine), numpy.abs(cosine)
    high = numpy.maximum(a, b)
    t = numpy.divide(numpy.minimum(a, b), high, out=numpy.zeros_like(high), where=high > 0)
    far, near = t > FAR_TANGENT, t > NEAR_TANGENT
    turned = numpy.where(far, QUARTER_PI, numpy.where(near, QUARTER_PI / 2, 0.0))
    t = numpy.where(far, (t - 1) / (t + 1), numpy.where(near, (t - EIGHTH_TANGENT) / (1 + t * EIGHTH_TANGENT), t))
    square, total = t * t, numpy.zeros_like(t)
    for term in reversed(range(TERMS)):
        total = 1 / (2 * term + 1) - square * total
    angle = turned + t * total
    angle = numpy.where(a > b, 2 * QUARTER_PI - angle, angle)
    angle = numpy.where(cosine < 0, 4 * QUARTER_PI - angle, angle)
    return numpy.where(high == 0, 0.0, numpy.copysign(angle, sine))


def sums_of(vertices, triangles, across, sides, some):
    """Area, volume, curvature and sides without another one of some triangles."""
    first, own = 3 * some, across[:, some]
    borders = (sides[first[:, None] + numpy.arange(3)] == NONE).sum(axis=1)
    twice = numpy.sqrt(dot(own, own))
    corners = corners_of(vertices, triangles[some])
    # The tetrahedron with the first vertex of the surface.
    a, b, c = (corner - vertices[0].astype(numpy.float64)[:, None] for corner in corners)
    volume, curvature = dot(a, cross(b, c)) / 6, numpy.zeros(len(some))
    for place in range(3):
        # The first of two sides that meet has the edge.
        other = beyond(vertices, triangles, across, sides, first + place)
        along = corners[(place + 1) % 3] - corners[place]
        length = numpy.sqrt(dot(along, along))
        has = (other != NONE) & (other >= first + place) & (length != 0) & (twice != 0)
        one, next_one, along, length = own[:, has], across[:, other[has] // 3], along[:, has], length[has]
        sine, cosine = dot(cross(one, next_one), along) / length, dot(one, next_one)
        flat = (sine == 0) & (cosine > 0)
        curvature[has] += length * numpy.where(flat, 0.0, angle_of(sine, cosine)) / 2
    return numpy.stack([twice / 2, numpy.where(twice == 0, 0.0, volume), curvature, borders])


def sums_of_blocks(rows):
    """The sums over blocks: each of the first half gets that of the other half added, until one is left."""
    blocks = numpy.pad(rows, [(0, 0), (0, -rows.shape[1] % BLOCK)]).reshape(len(rows), -1, BLOCK)
    while blocks.shape[2] > 1:
        half = blocks.shape[2] // 2
        blocks = blocks[..., :half] + blocks[..., half:]
    return blocks[..., 0]


def pieces(triangles, count) -> int:
    """The number of connected pieces: of the vertices that are the smallest of theirs."""
    parents = numpy.arange(count)
    ends = numpy.concatenate([triangles[:, :2], triangles[:, 1:]])
    while len(ends):
        ends = parents[ends]
        ends = ends[ends[:, 0] != ends[:, 1]]
        numpy.minimum.at(parents, ends.max(axis=1), ends.min(axis=1))
        while (parents[parents] != parents).any():
            parents = parents[parents]
    return int(numpy.count_nonzero(parents == numpy.arange(count)))
