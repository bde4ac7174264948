// Tests whether polygons touch themselves, with the answers of src/snake/polygon.rs by fewer comparisons. Coordinates
// have at most 26 bits.
#pragma once
#include "common.cuh"
#include "snake_sums.cuh"

__device__ __forceinline__ bool same(int2 a, int2 b) { return a.x == b.x && a.y == b.y; }

__device__ __forceinline__ i64 cross_product(int2 a, int2 b)
{
    return static_cast<i64>(a.x) * b.y - static_cast<i64>(b.x) * a.y;
}

__device__ __forceinline__ i64 orientation(int2 a, int2 b, int2 c)
{
    return static_cast<i64>(b.x - a.x) * (c.y - a.y) - static_cast<i64>(b.y - a.y) * (c.x - a.x);
}

// Returns whether both lie strictly on one side.
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
