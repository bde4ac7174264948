// Whether a change of the polygon makes it touch itself: as src/snake/search.rs, a warp an edge. Edges far off are passed
// over 32 at a time.
#pragma once
#include "snake_state.cuh"

struct Crossings : State {
    // The winners among a subset whose rank is less than `most`, as a changed polygon.
    struct Winners {
        const State &s;
        Subset subset;
        u32 most;
        bool ranked;

        __device__ bool has(u32 i) const
        {
            if (!subset.has(i)) return false;
            const u32 item = subset.item(i);
            return s.choice[item] >= 0 && (!ranked || s.rank[item] < most);
        }
        __device__ bool gone(u32 i) const { return subset.removal && has(i); }
        __device__ int2 at(u32 i) const
        {
            return !subset.removal && has(i) ? s.moved(i, s.choice[subset.item(i)]) : s.nodes[i];
        }
    };

    // One change alone.
    struct One {
        const State &s;
        u32 node;
        int place;
        bool removal;

        __device__ bool gone(u32 i) const { return removal && i == node; }
        __device__ int2 at(u32 i) const { return !removal && i == node ? s.moved(node, place) : s.nodes[i]; }
    };

    // The node after i of the changed polygon. No two neighbours go.
    template <typename Changed>
    __device__ u32 after(const Changed &changed, u32 i) const
    {
        const u32 next = next_of(i);
        return changed.gone(next) ? next_of(next) : next;
    }

    // Notes where the edges lie, 32 at a time. Few are looked at one by one.
    template <u32 WARPS>
    __device__ __noinline__ void note_boxes()
    {
        if (target.count <= 2 * BOX_EDGES) return;
        for (u32 box = threadIdx.x / WARP; box * BOX_EDGES < target.count; box += WARPS) {
            const u32 lane = threadIdx.x % WARP, i = min(box * BOX_EDGES + lane, target.count - 1);
            // Its own, and those at its edge's ends when one node goes.
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

    // Whether `touches(k)` for an edge k that could lie within `room` of the edges a to b and b to c; the lanes of a warp
    // share them.
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

    // Whether the changed polygon's edge from node i touches another of its edges.
    template <typename Changed>
    __device__ __noinline__ bool edge_crosses(const Changed &changed, u32 i) const
    {
        const u32 j = after(changed, i);
        const int2 a = changed.at(i), b = changed.at(j);
        // Nodes are at most the distance away from where they were when the boxes were noted.
        return any_edge(a, b, b, target.distance, [&](u32 k) {
            if (k == i || changed.gone(k)) return false;
            const u32 l = after(changed, k);
            const int2 c = changed.at(k), d = changed.at(l);
            const bool follows = k == j, precedes = l == i;
            return (follows && folds(a, b, d)) || (precedes && folds(c, a, b)) || (!follows && !precedes && meet(a, b, c, d));
        });
    }

    // Whether a-m-b and the edge c-d touch; `follows`: c is b, `precedes`: d is a.
    __device__ bool bends_meet(int2 a, int2 m, int2 b, int2 c, int2 d, bool follows, bool precedes) const
    {
        return (follows ? folds(m, b, d) : meet(m, b, c, d)) || (precedes ? folds(c, a, m) : meet(a, m, c, d));
    }

    // Whether edge i, bent to its middle, touches another edge, straight or bent.
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
            if (bends_meet(a, m, b, c, d, follows, precedes)) return true;
            if (!is_long(k)) return false;
            const int2 n = middle_of(k);
            return bends_meet(a, m, b, c, n, follows, false) || bends_meet(a, m, b, n, d, false, precedes);
        });
    }
};
