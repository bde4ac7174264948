#!/usr/bin/env python3
"""Draws a Seljuk-style strapwork pattern: interlaced eight-pointed stars and crosses, as outlines.

The construction is Hankin's "polygons in contact" on the tiling by octagons and squares: from the middle of
every tile edge two strands leave at a fixed angle into each of the two tiles, and turn where they meet the strand
of the next edge. Strands cross at edge middles only. There the one that leaves counter-clockwise of the edge goes
over; that makes every strand go over and under in turn.

The picture repeats every PERIOD pixels in x and y, so a size that is a multiple of it tiles without a seam.
Pixels are 0 or 255, nothing between. Usage: draw_pattern.py OUT.png [--size 512] [--height H] [--period 128] [--invert]
"""
import argparse
import math

from PIL import Image, ImageDraw

SUPERSAMPLE = 8  # drawn larger by this, then averaged and thresholded: smooth binary lines
ANGLE = math.radians(67.5)  # between strand and edge; 67.5 degrees makes regular eight-pointed stars
STRAP_WIDTH = 0.072  # of the period, outer edge to outer edge
LINE_WIDTH = 0.016  # of the period; about 2 pixels at the default period


def tiles():
    """The octagon round (0, 0) and the square round (1/2, 1/2), in units of the period, corners in order."""
    half_edge = (math.sqrt(2) - 1) / 2
    octagon = [(0.5, -half_edge), (0.5, half_edge), (half_edge, 0.5), (-half_edge, 0.5),
               (-0.5, half_edge), (-0.5, -half_edge), (-half_edge, -0.5), (half_edge, -0.5)]
    square = [(0.5, half_edge), (1 - half_edge, 0.5), (0.5, 1 - half_edge), (half_edge, 0.5)]
    return [octagon, square]


def edges(tile):
    """Each edge of a tile as (middle, unit direction)."""
    for (ax, ay), (bx, by) in zip(tile, tile[1:] + tile[:1]):
        length = math.hypot(bx - ax, by - ay)
        yield ((ax + bx) / 2, (ay + by) / 2), ((bx - ax) / length, (by - ay) / length)


def rotate(vector, angle):
    return (vector[0] * math.cos(angle) - vector[1] * math.sin(angle),
            vector[0] * math.sin(angle) + vector[1] * math.cos(angle))


def meet(p, u, q, v):
    """Returns the point at which the rays p + s u and q + t v meet."""
    det = u[1] * v[0] - u[0] * v[1]
    s = (v[0] * (q[1] - p[1]) - v[1] * (q[0] - p[0])) / det
    return p[0] + s * u[0], p[1] + s * u[1]


def strands():
    """(corners, crossings): bent strands [middle, turn, middle] and, per edge middle, the direction that goes over."""
    bent, over = [], []
    for tile in tiles():
        around = list(edges(tile))
        for (p, d), (q, e) in zip(around, around[1:] + around[:1]):
            # Corners run counter-clockwise in this frame, so turning left by ANGLE points into the tile.
            turn = meet(p, rotate(d, ANGLE), q, rotate(e, math.pi - ANGLE))
            bent.append([p, turn, q])
        over += [(p, rotate(d, ANGLE)) for p, d in around]
    return bent, over


def draw_cell(period):
    """One period of the pattern; its neighbours are drawn too, so that strands run on across the border."""
    unit = period * SUPERSAMPLE
    big = Image.new("L", (unit, unit), 255)
    pen = ImageDraw.Draw(big)
    outer = STRAP_WIDTH * unit
    inner = outer - 2 * LINE_WIDTH * unit
    bent, over = strands()
    origins = [(x, y) for y in (-1, 0, 1) for x in (-1, 0, 1)]

    def stroke(points, origin, thickness, shade, round_ends):
        at = [((x + origin[0] + 0.5) * unit, (y + origin[1] + 0.5) * unit) for x, y in points]
        pen.line(at, fill=shade, width=round(thickness), joint="curve")
        if round_ends:
            r = thickness / 2
            for x, y in at:
                pen.ellipse((x - r, y - r, x + r, y + r), fill=shade)

    for thickness, shade in ((outer, 0), (inner, 255)):
        for origin in origins:
            for strand in bent:
                stroke(strand, origin, thickness, shade, True)
    # Once more over each crossing, long enough to cover the strand below.
    reach = 0.62 * STRAP_WIDTH / math.sin(math.pi - 2 * ANGLE)
    for origin in origins:
        for (px, py), (dx, dy) in over:
            piece = [(px - reach * dx, py - reach * dy), (px + reach * dx, py + reach * dy)]
            stroke(piece, origin, outer, 0, False)
            stroke(piece, origin, inner, 255, False)
    return big.resize((period, period), Image.Resampling.BOX).point(lambda shade: 255 if shade > 127 else 0)


def draw(width, height, period):
    cell = draw_cell(period)
    picture = Image.new("L", (width, height))
    for y in range(0, height, period):
        for x in range(0, width, period):
            picture.paste(cell, (x, y))
    return picture


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--size", type=int, default=512, help="width in pixels (default 512)")
    parser.add_argument("--height", type=int, help="height in pixels (default: the width)")
    parser.add_argument("--period", type=int, default=128, help="pixels between two stars (default 128)")
    parser.add_argument("--invert", action="store_true", help="white lines on black instead of black on white")
    options = parser.parse_args()
    picture = draw(options.size, options.height or options.size, options.period)
    if options.invert:
        picture = picture.point(lambda shade: 255 - shade)
    picture.save(options.out)


if __name__ == "__main__":
    main()
