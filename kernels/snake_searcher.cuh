// One target in the hands of a group of blocks: where they meet, sums over edges, crossings, nodes, a step of the search.
#pragma once
#include "snake_group.cuh"

template <typename T>
struct Searcher {
    const isoline_snake_job &job;
    Scratch scratch;
    u32 block, blocks;           // of the group
    u32 generation;              // barriers passed
    // The target, the same in every thread.
    isoline_snake_target target;
    int2 *nodes;
    isoline_snake_sum *edges;

    __device__ u32 thread() const { return block * SEARCH_THREADS + threadIdx.x; }
    __device__ u32 threads() const { return blocks * SEARCH_THREADS; }

    // All blocks of the group meet; what they wrote before, all see after.
    __device__ void meet_all()
    {
        __syncthreads();
        if (blocks == 1) return;
        generation++;
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&scratch.control->arrived, 1u);
            while (static_cast<int>(*static_cast<volatile u32 *>(&scratch.control->arrived) - generation * blocks) < 0) {
            }
            __threadfence();
        }
        __syncthreads();
    }

    __device__ u32 next_of(u32 i) const { return i + 1 == target.count ? 0 : i + 1; }
    __device__ u32 previous_of(u32 i) const { return i == 0 ? target.count - 1 : i - 1; }

    __device__ double cost_of(const isoline_snake_sum &inside) const
    {
        return __dadd_rn(region_cost(job.noise, job.looks, inside),
                         region_cost(job.noise, job.looks, target.whole - inside));
    }

    __device__ bool in_bounds(int2 p) const
    {
        return target.x0 <= p.x && p.x <= target.x1 && target.y0 <= p.y && p.y <= target.y1;
    }

    __device__ int2 moved(u32 node, int place) const
    {
        const int2 here = nodes[node], offset = place_offset(place);
        return make_int2(here.x + offset.x * target.distance, here.y + offset.y * target.distance);
    }

    // The rows of the longest edge.
    __device__ i64 longest_edge() const
    {
        i64 longest = 0;
        for (u32 i = threadIdx.x; i < target.count; i += SEARCH_THREADS)
            longest = max(longest, static_cast<i64>(abs(nodes[next_of(i)].y - nodes[i].y)));
        return block_largest(longest);
    }

    // Sums the edges that `edge_of(item, a, b)` names into `into(item)`. Every item's memory is written.
    template <int LANES, typename EdgeOf, typename Into>
    __device__ __noinline__ void sum_edges_by(u64 items, u64 chunks, EdgeOf edge_of, Into into)
    {
        const u64 workers = threads() / LANES, worker = thread() / LANES;
        if (chunks > 1) {
            for (u64 item = thread(); item < items; item += threads()) *into(item) = {0, 0, 0};
            meet_all();
        }
        const u64 pieces = items * chunks;
        // All lanes of a warp stay together: the last round may be empty for some.
        for (u64 round = 0; round * workers < pieces; round++) {
            const u64 piece = round * workers + worker;
            int2 a = make_int2(0, 0), b = a;
            const u64 item = piece / chunks;
            const i64 first = static_cast<i64>(piece % chunks) * CHUNK_ROWS;
            const bool wanted = piece < pieces && edge_of(item, a, b);
            const isoline_snake_sum sum =
                edge_sum<T, LANES>(job.image, a, b, wanted ? first : 0, wanted ? (chunks > 1 ? CHUNK_ROWS : 1ll << 40) : 0);
            if (threadIdx.x % LANES == 0 && piece < pieces) {
                isoline_snake_sum *to = into(item);
                if (chunks == 1) {
                    *to = sum;
                } else if (sum.pixels != 0 || sum.z != 0 || sum.zz != 0) {
                    atomicAdd(reinterpret_cast<u64 *>(&to->pixels), static_cast<u64>(sum.pixels));
                    atomicAdd(reinterpret_cast<u64 *>(&to->z), static_cast<u64>(sum.z));
                    atomicAdd(reinterpret_cast<u64 *>(&to->zz), static_cast<u64>(sum.zz));
                }
            }
        }
    }

    template <typename EdgeOf, typename Into>
    __device__ void sum_edges(u64 items, i64 longest, EdgeOf edge_of, Into into)
    {
        if (longest <= 64) {
            sum_edges_by<8>(items, 1, edge_of, into);
        } else if (longest <= CHUNK_ROWS) {
            sum_edges_by<32>(items, 1, edge_of, into);
        } else {
            sum_edges_by<32>(items, (longest + CHUNK_ROWS - 1) / CHUNK_ROWS, edge_of, into);
        }
    }

    // --- changes ----------------------------------------------------------------------------------------------------

    // The winners among a subset whose rank is less than `most`, as a changed polygon.
    struct Winners {
        const Searcher &s;
        Subset subset;
        u32 most;
        bool ranked;

        __device__ bool has(u32 i) const
        {
            if (i < subset.first || i >= subset.end || (i - subset.first) % subset.stride != 0) return false;
            return s.scratch.choice[subset.slot * s.job.capacity + i] >= 0 && (!ranked || s.scratch.rank[i] < most);
        }
        __device__ bool gone(u32 i) const { return subset.removal && has(i); }
        __device__ int2 at(u32 i) const
        {
            return !subset.removal && has(i) ? s.moved(i, s.scratch.choice[subset.slot * s.job.capacity + i]) : s.nodes[i];
        }
    };

    // One change alone.
    struct One {
        const Searcher &s;
        u32 node;
        int place;   // -1: it goes

        __device__ bool has(u32 i) const { return i == node; }
        __device__ bool gone(u32 i) const { return place < 0 && i == node; }
        __device__ int2 at(u32 i) const { return i == node && place >= 0 ? s.moved(node, place) : s.nodes[i]; }
    };

    // The node after i of the changed polygon. No two neighbours go.
    template <typename Changed>
    __device__ u32 after(const Changed &changed, u32 i) const
    {
        const u32 next = next_of(i);
        return changed.gone(next) ? next_of(next) : next;
    }

    // Whether the changed polygon's edge from node i touches another of its edges; the lanes of a warp share them.
    template <typename Changed>
    __device__ __noinline__ bool edge_crosses(const Changed &changed, u32 i) const
    {
        const u32 j = after(changed, i);
        const int2 a = changed.at(i), b = changed.at(j);
        bool crosses = false;
        for (u32 first = 0; first < target.count; first += WARP) {
            const u32 k = first + threadIdx.x % WARP;
            if (k < target.count && k != i && !changed.gone(k)) {
                const u32 l = after(changed, k);
                const int2 c = changed.at(k), d = changed.at(l);
                const bool follows = k == j, precedes = l == i;
                crosses |= follows && folds(a, b, d);
                crosses |= precedes && folds(c, a, b);
                crosses |= !follows && !precedes && meet(a, b, c, d);
            }
            if (__any_sync(ALL_LANES, crosses)) return true;
        }
        return false;
    }

    // Twice the area that a change of one node adds.
    __device__ i64 area_change(u32 i, int place) const
    {
        const int2 p = nodes[previous_of(i)], q = nodes[i], r = nodes[next_of(i)];
        const i64 before = cross_product(p, q) + cross_product(q, r);
        if (place < 0) return cross_product(p, r) - before;
        const int2 to = moved(i, place);
        return cross_product(p, to) + cross_product(to, r) - before;
    }

    // What a change adds to the sum.
    __device__ isoline_snake_sum difference(u32 i, int place, bool removal) const
    {
        const isoline_snake_sum *sums = scratch.sums + static_cast<u64>(i) * PLACE_COUNT * 2;
        const isoline_snake_sum without = isoline_snake_sum{0, 0, 0} - edges[previous_of(i)] - edges[i];
        return removal ? without + sums[0] : without + sums[2 * place] + sums[2 * place + 1];
    }

    // In snake_changes.cuh.
    __device__ __noinline__ void sum_changes(const Subset &subset, i64 longest);
    __device__ __noinline__ void choose(const Subset &subset);
    __device__ Totals total_of(const Winners &winners) const;
    __device__ __noinline__ bool change(const Subset &subset, i64 longest);
    __device__ void rank(const Subset &subset);
    __device__ __noinline__ void make(const Winners &winners, const Totals &total, const isoline_snake_sum &inside,
                                      double cost);

    // `kept` and how many threads before this one, in this block, have the flag; `kept` grows by all that have it.
    __device__ u32 block_rank(bool flag, u32 &kept)
    {
        __shared__ u32 counts[SEARCH_THREADS / WARP];
        const u32 votes = __ballot_sync(ALL_LANES, flag), lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
        __syncthreads();
        if (lane == 0) counts[warp] = __popc(votes);
        __syncthreads();
        u32 rank = kept + __popc(votes & ((1u << lane) - 1u));
        for (u32 other = 0; other < SEARCH_THREADS / WARP; other++) {
            if (other < warp) rank += counts[other];
            kept += counts[other];
        }
        return rank;
    }

    // `next_nodes` become the nodes; everything is measured anew.
    __device__ void take_next_nodes()
    {
        for (u32 i = thread(); i < target.count; i += threads()) nodes[i] = scratch.next_nodes[i];
        meet_all();
        measure();
    }

    __device__ __noinline__ void measure()
    {
        sum_edges(
            target.count, longest_edge(),
            [&](u64 item, int2 &a, int2 &b) {
                a = nodes[item], b = nodes[next_of(static_cast<u32>(item))];
                return true;
            },
            [&](u64 item) { return edges + item; });
        meet_all();
        Totals mine = {{0, 0, 0}, 0, 0};
        for (u32 i = threadIdx.x; i < target.count; i += SEARCH_THREADS) {
            mine.sum = mine.sum + edges[i];
            mine.area += cross_product(nodes[i], nodes[next_of(i)]);
        }
        const Totals total = block_total(mine);
        target.inside = total.sum;
        target.area = total.area;
        target.cost = cost_of(target.inside);
    }

    // --- nodes --------------------------------------------------------------------------------------------------------

    __device__ static int half_down(int sum) { return sum >> 1; }

    __device__ int2 middle_of(u32 i) const
    {
        const int2 a = nodes[i], b = nodes[next_of(i)];
        return make_int2(half_down(a.x + b.x), half_down(a.y + b.y));
    }

    __device__ bool is_long(u32 i) const
    {
        const int2 a = nodes[i], b = nodes[next_of(i)];
        const i64 dx = b.x - a.x, dy = b.y - a.y;
        return dx * dx + dy * dy > job.spacing_squared;
    }

    // Whether edge i, bent to its middle, touches another edge, straight or bent; the lanes of a warp share those.
    __device__ bool bend_touches(u32 i) const
    {
        const u32 j = next_of(i);
        const int2 a = nodes[i], m = middle_of(i), b = nodes[j];
        if (folds(a, m, b)) return true;
        bool touches = false;
        for (u32 first = 0; first < target.count; first += WARP) {
            const u32 k = first + threadIdx.x % WARP;
            if (k < target.count && k != i) {
                const u32 l = next_of(k);
                const int2 c = nodes[k], d = nodes[l];
                touches |= bends_meet(a, m, b, c, d, k == j, l == i);
                if (is_long(k)) {
                    const int2 n = middle_of(k);
                    touches |= bends_meet(a, m, b, c, n, k == j, false) || bends_meet(a, m, b, n, d, false, l == i);
                }
            }
            if (__any_sync(ALL_LANES, touches)) return true;
        }
        return false;
    }

    // Whether a-m-b and the edge c-d touch; `follows`: c is b, `precedes`: d is a.
    __device__ bool bends_meet(int2 a, int2 m, int2 b, int2 c, int2 d, bool follows, bool precedes) const
    {
        return (follows ? folds(m, b, d) : meet(m, b, c, d)) || (precedes ? folds(c, a, m) : meet(a, m, c, d));
    }

    // Puts a node into the middle of every long edge, while there may be more; whether any.
    __device__ __noinline__ bool add_nodes()
    {
        for (u32 i = thread() / WARP; i < target.count; i += threads() / WARP) {
            const bool add = is_long(i) && !bend_touches(i);
            if (threadIdx.x % WARP == 0) scratch.added[i] = add;
        }
        meet_all();
        const u32 room = job.max_nodes > target.count ? job.max_nodes - target.count : 0;
        // How many there are is for all blocks to know; where they go, for the first, which puts them there.
        u32 found = 0;
        for (u32 first = 0; first < target.count; first += SEARCH_THREADS) {
            const u32 i = first + threadIdx.x;
            const bool add = i < target.count && scratch.added[i] != 0;
            const u32 added_before = block_rank(add, found);
            if (block == 0 && i < target.count) {
                const u32 at = i + min(added_before, room);
                scratch.next_nodes[at] = nodes[i];
                if (add && added_before < room) scratch.next_nodes[at + 1] = middle_of(i);
            }
        }
        const u32 added = min(found, room);
        meet_all();
        if (added == 0) return false;
        target.count += added;
        take_next_nodes();
        return true;
    }

    __device__ bool move_nodes()
    {
        const i64 longest = longest_edge();
        const u32 even_count = target.count & ~1u;
        // Moves of the first nodes may lengthen the edges of the next.
        bool moved_any = change({0, 2, even_count, 0, false}, longest);
        moved_any |= change({1, 2, target.count, 1, false}, longest + target.distance);
        if (target.count % 2 == 1)
            moved_any |= change({target.count - 1, 1, target.count, 2, false}, longest + 2 * target.distance);
        return moved_any;
    }

    __device__ bool take_out_nodes()
    {
        const i64 longest = longest_edge();
        return change({0, 2, target.count & ~1u, 0, true}, longest) || change({1, 2, target.count, 1, true}, longest);
    }

    __device__ void step()
    {
        bool changed = move_nodes();
        target.steps++;
        if (target.inside.pixels == 0) {
            target.status = STATUS_VANISHED;
            return;
        }
        if (!changed) {
            if (target.phase == PHASE_EVOLVE) {
                const bool added = add_nodes();
                const bool halved = target.distance > 1;
                target.distance = max(target.distance / 2, 1);
                if (!added && !halved && target.node_cost > 0.0) {
                    target.phase = PHASE_PRUNE;
                    changed = take_out_nodes();
                } else {
                    changed = added || halved;
                }
            } else {
                changed = take_out_nodes();
            }
        }
        if (!changed) {
            target.status = STATUS_CONVERGED;
        } else if (target.steps >= job.max_steps) {
            target.status = STATUS_ITERATION_LIMIT;
        }
    }
};
