// The tests whether a change of the polygon makes it touch itself, like src/snake/search.rs. A warp tests one change,
// or one new edge, against all edges: all its lanes call a test with the same arguments, test an edge each, and get the
// same answer. Edges that are far away are skipped 32 at a time.
#pragma once
#include "snake_state.cuh"

// Crossings adds these tests to a block's state.
struct Crossings : BlockState {
    // Stores the bounding boxes of the edges, 32 edges per box, a warp per box. Few edges are tested one by one
    // instead. All threads of the block, its WARPS warps, call it; a barrier has to follow.
    template <u32 WARPS>
    __device__ __noinline__ void store_boxes()
    {
        if (target.node_count <= 2 * BOX_EDGES) return;
        for (u32 box = threadIdx.x / WARP; box * BOX_EDGES < target.node_count; box += WARPS) {
            const u32 lane = threadIdx.x % WARP, i = min(box * BOX_EDGES + lane, target.node_count - 1);
            // The box holds its own edges, and the edges at their ends if one node goes.
            const int2 a = nodes[i], b = nodes[next_of(i)], c = nodes[next_of(next_of(i))];
            int x0 = min(a.x, min(b.x, c.x)), x1 = max(a.x, max(b.x, c.x));
            int y0 = min(a.y, min(b.y, c.y)), y1 = max(a.y, max(b.y, c.y));
            #pragma unroll
            for (int offset = WARP / 2; offset > 0; offset /= 2) {
                x0 = min(x0, __shfl_xor_sync(ALL_LANES, x0, offset));
                x1 = max(x1, __shfl_xor_sync(ALL_LANES, x1, offset));
                y0 = min(y0, __shfl_xor_sync(ALL_LANES, y0, offset));
                y1 = max(y1, __shfl_xor_sync(ALL_LANES, y1, offset));
            }
            if (lane == 0) boxes[box] = {x0, y0, x1, y1};
        }
    }

    // Returns whether `touches(k)` for any edge k whose box is within `margin` pixels of the box around a, b and c. The
    // lanes of a warp call it together.
    template <typename Touches>
    __device__ __forceinline__ bool any_edge(int2 a, int2 b, int2 c, int margin, Touches touches) const
    {
        const u32 lane = threadIdx.x % WARP;
        const bool boxed = target.node_count > 2 * BOX_EDGES;
        const int x0 = min(a.x, min(b.x, c.x)) - margin, x1 = max(a.x, max(b.x, c.x)) + margin;
        const int y0 = min(a.y, min(b.y, c.y)) - margin, y1 = max(a.y, max(b.y, c.y)) + margin;
        for (u32 first = 0; first * BOX_EDGES < target.node_count; first += WARP) {
            const u32 box = first + lane;
            bool near = box * BOX_EDGES < target.node_count;
            if (near && boxed) {
                const EdgesBox other = boxes[box];
                near = other.x0 <= x1 && x0 <= other.x1 && other.y0 <= y1 && y0 <= other.y1;
            }
            for (u32 left = __ballot_sync(ALL_LANES, near); left != 0; left &= left - 1) {
                const u32 k = (first + static_cast<u32>(__ffs(static_cast<int>(left))) - 1) * BOX_EDGES + lane;
                if (__any_sync(ALL_LANES, k < target.node_count && touches(k))) return true;
            }
        }
        return false;
    }

    // Returns whether the polygon touches itself if only this node moves to a candidate position, or goes. The lanes of
    // a warp call it together.
    __device__ __forceinline__ bool move_crosses(u32 node, int candidate, bool removal) const
    {
        const u32 lane = threadIdx.x % WARP, count = target.node_count;
        const u32 previous = previous_of(node), next = next_of(node);
        const int2 a = nodes[previous], b = nodes[next], m = removal ? b : moved(node, candidate);
        const int2 before = nodes[previous_of(previous)], after = nodes[next_of(next)];
        // 1. Three lanes test for a fold where the new edges join others or each other: at a, at the moved node, and at b.
        const int2 p = lane == 0 ? before : lane == 1 ? a : m;
        const int2 q = lane == 0 ? a : lane == 1 ? m : b;
        const int2 r = lane == 0 ? m : lane == 1 && !removal ? b : after;
        const bool folded = lane < (removal ? 2 : 3) && folds(p, q, r);
        // 2. The lanes test the new edges against the others, from c to d.
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

    // The changed polygon, with all changes that are tried together, is `next_nodes`; a node to be removed has this x.
    static constexpr int GONE = -0x7FFFFFFF - 1;

    // Return whether node i stays in the changed polygon, and whether it differs there.
    __device__ bool stays(u32 i) const { return next_nodes[i].x != GONE; }
    __device__ bool is_changed(u32 i) const { return !same(nodes[i], next_nodes[i]); }

    // Return the nodes after and before node i in the changed polygon. No two neighbours go.
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

    // Returns whether the changed polygon touches itself where an edge is new, among the folds and new edges that warp
    // `warp` of `warps` tests. The lanes of a warp call it together.
    __device__ __forceinline__ bool changes_cross(u32 warp, u32 warps) const
    {
        const u32 lane = threadIdx.x % WARP, count = target.node_count;
        // 1. A lane each tests for folds at the ends of new edges.
        bool folded = false;
        for (u32 i = warp * WARP + lane; i < count; i += warps * WARP) {
            if (!stays(i)) continue;
            const u32 previous = changed_previous(i), next = changed_next(i);
            if (is_changed(i) || is_changed(previous_of(i)) || is_changed(next_of(i)))
                folded |= folds(next_nodes[previous], next_nodes[i], next_nodes[next]);
        }
        if (__any_sync(ALL_LANES, folded)) return true;
        for (u32 first = 0; first < count; first += warps * WARP) {
            // 2. Each lane checks whether one edge is new, since there may be only a few among many. Successive edges go to
            //    different warps.
            const u32 edge = first + lane * warps + warp;
            const bool is_new = edge < count && stays(edge) && (is_changed(edge) || is_changed(next_of(edge)));
            // 3. The lanes test each new edge, from a to b, against the others.
            for (u32 left = __ballot_sync(ALL_LANES, is_new); left != 0; left &= left - 1) {
                const u32 i = first + (static_cast<u32>(__ffs(static_cast<int>(left))) - 1) * warps + warp;
                const u32 j = changed_next(i);
                const int2 a = next_nodes[i], b = next_nodes[j];
                // The boxes are those of the old polygon; new nodes are up to `distance` away from the old ones.
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

    // Returns whether the bent edge a-m-b touches the edge c-d, other than at the node that they share where c is b
    // (`follows`) or d is a (`precedes`). It works for one thread by itself.
    __device__ bool bends_touch(int2 a, int2 m, int2 b, int2 c, int2 d, bool follows, bool precedes) const
    {
        return (follows ? folds(m, b, d) : edges_touch(m, b, c, d)) ||
               (precedes ? folds(c, a, m) : edges_touch(a, m, c, d));
    }

    // Returns whether edge i with a node in its middle, which rounding may have moved, touches another edge, straight
    // or bent likewise. The lanes of a warp call it together.
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
