// Tests whether a change of the polygon makes it touch itself, like src/snake/search.rs. A warp has a change, or a new
// edge. Edges that are far off are skipped 32 at a time.
#pragma once
#include "snake_state.cuh"

struct Crossings : State {
    // Stores the bounding boxes of the edges, 32 edges per box. Few edges are tested one by one instead.
    template <u32 WARPS>
    __device__ __noinline__ void note_boxes()
    {
        if (target.count <= 2 * BOX_EDGES) return;
        for (u32 box = threadIdx.x / WARP; box * BOX_EDGES < target.count; box += WARPS) {
            const u32 lane = threadIdx.x % WARP, i = min(box * BOX_EDGES + lane, target.count - 1);
            // The box holds its own edges, and the edges at their ends if one node goes.
            const int2 a = nodes[i], b = nodes[next_of(i)], c = nodes[next_of(next_of(i))];
            int x0 = min(a.x, min(b.x, c.x)), x1 = max(a.x, max(b.x, c.x));
            int y0 = min(a.y, min(b.y, c.y)), y1 = max(a.y, max(b.y, c.y));
            #pragma unroll
            for (int step = WARP / 2; step > 0; step /= 2) {
                x0 = min(x0, __shfl_xor_sync(ALL_LANES, x0, step)), x1 = max(x1, __shfl_xor_sync(ALL_LANES, x1, step));
                y0 = min(y0, __shfl_xor_sync(ALL_LANES, y0, step)), y1 = max(y1, __shfl_xor_sync(ALL_LANES, y1, step));
            }
            if (lane == 0) boxes[box] = {x0, y0, x1, y1};
        }
    }

    // Returns whether `touches(k)` for an edge k that could lie within `room` of the edges a to b and b to c; the lanes
    // of a warp share the edges.
    template <typename Touches>
    __device__ __forceinline__ bool any_edge(int2 a, int2 b, int2 c, int room, Touches touches) const
    {
        const u32 lane = threadIdx.x % WARP;
        const bool boxed = target.count > 2 * BOX_EDGES;
        const int x0 = min(a.x, min(b.x, c.x)) - room, x1 = max(a.x, max(b.x, c.x)) + room;
        const int y0 = min(a.y, min(b.y, c.y)) - room, y1 = max(a.y, max(b.y, c.y)) + room;
        for (u32 first = 0; first * BOX_EDGES < target.count; first += WARP) {
            const u32 box = first + lane;
            bool near = box * BOX_EDGES < target.count;
            if (near && boxed) {
                const Box it = boxes[box];
                near = it.x0 <= x1 && x0 <= it.x1 && it.y0 <= y1 && y0 <= it.y1;
            }
            for (u32 left = __ballot_sync(ALL_LANES, near); left != 0; left &= left - 1) {
                const u32 k = (first + static_cast<u32>(__ffs(static_cast<int>(left))) - 1) * BOX_EDGES + lane;
                if (__any_sync(ALL_LANES, k < target.count && touches(k))) return true;
            }
        }
        return false;
    }

    // Returns whether the polygon touches itself if only this node moves, or goes.
    __device__ __forceinline__ bool move_crosses(u32 node, int candidate, bool removal) const
    {
        const u32 lane = threadIdx.x % WARP, count = target.count, previous = previous_of(node), next = next_of(node);
        const int2 a = nodes[previous], b = nodes[next], m = removal ? b : moved(node, candidate);
        const int2 before = nodes[previous_of(previous)], after = nodes[next_of(next)];
        // At the three corners where edges follow each other a lane each tests for a fold: at a, at the moved node and
        // at b.
        const int2 p = lane == 0 ? before : lane == 1 ? a : m;
        const int2 q = lane == 0 ? a : lane == 1 ? m : b;
        const int2 r = lane == 0 ? m : lane == 1 && !removal ? b : after;
        const bool folded = lane < (removal ? 2 : 3) && folds(p, q, r);
        const auto touches = [&](u32 k) {
            if (k == previous || k == node) return false;
            const u32 l = next_of(k);
            const int2 c = nodes[k], d = nodes[l];
            const bool follows = k == next, precedes = l == previous;
            return (!precedes && !(removal && follows) && edges_touch(a, m, c, d)) ||
                   (!follows && !removal && edges_touch(m, b, c, d));
        };
        if (count <= WARP) return __any_sync(ALL_LANES, folded || (lane < count && touches(lane)));
        return __any_sync(ALL_LANES, folded) || any_edge(a, m, b, 0, touches);
    }

    // The polygon with the winners' changes is `next_nodes`, in which nodes that go have this x.
    static constexpr int GONE = -0x7FFFFFFF - 1;

    __device__ bool stays(u32 i) const { return next_nodes[i].x != GONE; }
    __device__ bool is_changed(u32 i) const { return !same(nodes[i], next_nodes[i]); }

    // The nodes beside i in the changed polygon. No two neighbours go.
    __device__ u32 changed_next(u32 i) const
    {
        const u32 next = next_of(i);
        return stays(next) ? next : next_of(next);
    }
    __device__ u32 changed_previous(u32 i) const
    {
        const u32 previous = previous_of(i);
        return stays(previous) ? previous : previous_of(previous);
    }

    // Returns whether this warp, one of `warps`, finds that the changed polygon touches itself where an edge is new.
    __device__ __forceinline__ bool changes_cross(u32 warp, u32 warps) const
    {
        const u32 lane = threadIdx.x % WARP, count = target.count;
        bool folded = false;
        for (u32 i = warp * WARP + lane; i < count; i += warps * WARP) {
            if (!stays(i)) continue;
            const u32 previous = changed_previous(i), next = changed_next(i);
            if (is_changed(i) || is_changed(previous_of(i)) || is_changed(next_of(i)))
                folded |= folds(next_nodes[previous], next_nodes[i], next_nodes[next]);
        }
        if (__any_sync(ALL_LANES, folded)) return true;
        for (u32 first = 0; first < count; first += warps * WARP) {
            // Few of many may have changed: each lane tests an edge for the warp. Successive edges go to different
            // warps.
            const u32 edge = first + lane * warps + warp;
            const bool is_new = edge < count && stays(edge) && (is_changed(edge) || is_changed(next_of(edge)));
            for (u32 left = __ballot_sync(ALL_LANES, is_new); left != 0; left &= left - 1) {
                const u32 i = first + (static_cast<u32>(__ffs(static_cast<int>(left))) - 1) * warps + warp;
                const u32 j = changed_next(i);
                const int2 a = next_nodes[i], b = next_nodes[j];
                // Nodes are at most the distance away from their positions when the boxes were stored.
                const bool touches = any_edge(a, b, b, target.distance, [&](u32 k) {
                    const int2 c = next_nodes[k];
                    if (k == i || k == j || c.x == GONE) return false;
                    const u32 l = changed_next(k);
                    return l != i && edges_touch(a, b, c, next_nodes[l]);
                });
                if (touches) return true;
            }
        }
        return false;
    }

    // Returns whether a-m-b and the edge c-d touch; `follows`: c is b, `precedes`: d is a.
    __device__ bool bends_touch(int2 a, int2 m, int2 b, int2 c, int2 d, bool follows, bool precedes) const
    {
        return (follows ? folds(m, b, d) : edges_touch(m, b, c, d)) ||
               (precedes ? folds(c, a, m) : edges_touch(a, m, c, d));
    }

    // Returns whether edge i, bent to its middle, touches another edge, straight or bent.
    __device__ __noinline__ bool bend_touches(u32 i) const
    {
        const u32 j = next_of(i);
        const int2 a = nodes[i], m = middle_of(i), b = nodes[j];
        if (folds(a, m, b)) return true;
        return any_edge(a, m, b, 0, [&](u32 k) {
            if (k == i) return false;
            const u32 l = next_of(k);
            const int2 c = nodes[k], d = nodes[l];
            const bool follows = k == j, precedes = l == i;
            if (bends_touch(a, m, b, c, d, follows, precedes)) return true;
            if (!is_long(k)) return false;
            const int2 n = middle_of(k);
            return bends_touch(a, m, b, c, n, follows, false) || bends_touch(a, m, b, n, d, false, precedes);
        });
    }
};
