// The tests whether edges touch, with the answers of src/snake/polygon.rs by fewer comparisons. Points are pixel
// corners, whose coordinates have at most 26 bits. Every function works for one thread by itself, in registers.
#pragma once
#include "common.cuh"
#include "snake_sums.cuh"

// Returns whether two points are the same.
__device__ __forceinline__ bool same(int2 a, int2 b) { return a.x == b.x && a.y == b.y; }

// Returns the cross product of the vectors to two points, whose sum over the edges is twice the area of a polygon.
__device__ __forceinline__ i64 cross_product(int2 a, int2 b)
{
    return static_cast<i64>(a.x) * b.y - static_cast<i64>(b.x) * a.y;
}

// Returns twice the area of the triangle abc: positive where c lies to the right of the line from a to b on the screen.
__device__ __forceinline__ i64 orientation(int2 a, int2 b, int2 c)
{
    return static_cast<i64>(b.x - a.x) * (c.y - a.y) - static_cast<i64>(b.y - a.y) * (c.x - a.x);
}

// Returns whether two points, given by their orientations, lie strictly on the same side of a line.
__device__ __forceinline__ bool same_side(i64 c, i64 d) { return (c > 0 && d > 0) || (c < 0 && d < 0); }

// Returns whether the edges ab and cd have a point in common, ends included: their boxes have one, and neither edge
// lies on one side of the other's line. (Edges on one line, or of no length, have one if their boxes have.)
__device__ __forceinline__ bool edges_touch(int2 a, int2 b, int2 c, int2 d)
{
    if (max(a.x, b.x) < min(c.x, d.x) || max(c.x, d.x) < min(a.x, b.x) || max(a.y, b.y) < min(c.y, d.y) ||
        max(c.y, d.y) < min(a.y, b.y))
        return false;
    return !same_side(orientation(a, b, c), orientation(a, b, d)) &&
           !same_side(orientation(c, d, a), orientation(c, d, b));
}

// Returns whether two successive edges, a to b and b to c, lie on each other or have no length.
__device__ __forceinline__ bool folds(int2 a, int2 b, int2 c)
{
    if (same(a, b) || same(b, c)) return true;
    const i64 ux = b.x - a.x, uy = b.y - a.y, vx = c.x - b.x, vy = c.y - b.y;
    return ux * vy - uy * vx == 0 && ux * vx + uy * vy < 0;
}
