"""The targets of region snakes in an image of chunks: the pixels that each needs, and the others that it competes with.

Targets whose windows overlap, directly or through others, are a group, and a pixel is that of the nearest start of its group
(src/snake/territory.rs). A window's pixels are never farther from its own start than its diagonal, so that only starts that
are that near matter, and those by which they are in the same group.
"""
from __future__ import annotations

import functools
import math

import numpy

from ._native import InvalidArgument

LEAST_WIDTH = 16  # pixels of a window around its start


class Targets:
    """The starts with their windows, each as first and end, (y, x)."""

    def __init__(self, starts, margin, shape):
        boxes = [[start[:, ::-1].min(axis=0), start[:, ::-1].max(axis=0)] for start in starts]
        self.boxes = numpy.array(boxes, numpy.int64).reshape(-1, 2, 2)
        longest = (self.boxes[:, 1] - self.boxes[:, 0]).max(axis=1)
        width = numpy.maximum(LEAST_WIDTH, numpy.ceil(margin * longest)).astype(numpy.int64)[:, None]
        self.shape, self.known = numpy.array(shape), {}
        self.windows = self.clipped(width)
        # With one more, none ends where they do. A start outside of the image has a pixel of it all the same.
        self.pixels = self.clipped(width + 1, least=1)

    def clipped(self, width, least=0):
        first, end = self.boxes[:, 0] - width, numpy.maximum(self.boxes[:, 1] + width, least)
        return numpy.stack([numpy.clip(first, 0, self.shape - least), numpy.clip(end, 0, self.shape)], axis=1)

    def place(self, index, chunks) -> tuple:
        """The chunk in the middle of a target."""
        middle = self.pixels[index].sum(axis=0) // 2
        return tuple(int(numpy.searchsorted(numpy.cumsum(sizes), at, "right")) for sizes, at in zip(chunks, middle))

    def around(self, indices):
        """The pixels that some targets need: first and end."""
        return self.pixels[indices, 0].min(axis=0), self.pixels[indices, 1].max(axis=0)

    def check_competition(self):
        """Refuses starts whose windows in the image are not those of their corners."""
        inside = ((self.boxes[:, 0] >= 0) & (self.boxes[:, 1] <= self.shape)).all(axis=1)
        wrong = numpy.flatnonzero(~inside & ~self.outside)
        if len(wrong):
            (top, left), (bottom, right) = self.boxes[wrong[0]]
            raise InvalidArgument(f"cannot let targets compete in chunks: polygon {wrong[0]} must lie in the image, or "
                                  f"outside of it (got x from {left} to {right}, y from {top} to {bottom}); clip it to the "
                                  "image")

    @functools.cached_property
    def outside(self):
        """True for a start of which nothing is in the image: it is not searched."""
        return ((self.boxes[:, 1] <= 0) | (self.boxes[:, 0] >= self.shape)).any(axis=1)

    @functools.cached_property
    def groups(self):
        """A number for each target, the same in a group."""
        groups, count = numpy.where(self.outside, -1, 0), 0
        for index in range(len(groups)):
            if groups[index] == 0:
                count += 1
                waiting = [index]
                groups[index] = count
                while waiting:
                    found = self.neighbours(waiting.pop())
                    found = found[groups[found] == 0]
                    groups[found] = count
                    waiting.extend(found)
        return groups

    def neighbours(self, index):
        """The targets whose windows overlap that of one."""
        if index not in self.known:
            (top, left), (bottom, right) = self.windows[index]
            (y0, x0), (y1, x1) = self.windows.transpose(1, 2, 0)
            self.known[index] = numpy.flatnonzero(~self.outside & (y0 < bottom) & (y1 > top) & (x0 < right) & (x1 > left))
        return self.known[index]

    def rivals(self, index) -> set:
        """The targets without which a target would have another territory, and itself."""
        if self.outside[index]:
            return {index}
        first, end = self.windows[index]
        gaps = numpy.maximum(0, numpy.maximum(self.boxes[:, 0] - end, first - self.boxes[:, 1]))
        near = numpy.hypot(*gaps.T) <= math.hypot(*(end - first))
        wanted = set(numpy.flatnonzero(near & (self.groups == self.groups[index])).tolist()) - {index}
        before, waiting, found = {index: index}, [index], {index}
        for one in waiting:
            if wanted <= before.keys():
                break
            for other in self.neighbours(one).tolist():
                if other not in before:
                    before[other] = one
                    waiting.append(other)
        for one in wanted:
            while one not in found:
                found.add(one)
                one = before[one]
        return found
