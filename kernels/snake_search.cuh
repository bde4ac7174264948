// The search of region snakes: src/snake/search.rs, schedule `parallel`, with the whole loop on the device.
//
// A group of blocks works on one target at a time: one block where there are many targets, many where there are few. Its
// blocks meet at barriers; what decides (winners, costs, whether a joint move crosses) is computed by every block from the
// same numbers, so that only the numbers travel. All sums are integers, so the order of adding does not matter, and the
// criterion is computed operation by operation as on the CPU: the polygons are the same, bit for bit.
#pragma once
#include "snake_criterion.cuh"
#include "snake_polygon.cuh"
#include "snake_sums.cuh"

constexpr int SEARCH_THREADS = 256;
constexpr int PLACE_COUNT = 8;
// Rows of an edge that a warp sums at a time; longer edges are shared by several warps.
constexpr i64 CHUNK_ROWS = 128;
// Halvings of a set of winners.
constexpr int TRIES = 20;

enum { STATUS_RUNNING, STATUS_CONVERGED, STATUS_VANISHED, STATUS_LEFT_IMAGE, STATUS_ITERATION_LIMIT };
enum { PHASE_EVOLVE, PHASE_PRUNE };

// As `DeviceTarget` in src/snake/cuda.rs.
struct isoline_snake_target {
    isoline_snake_sum whole, inside;
    double cost, node_cost;
    u64 steps;
    i64 area;   // twice
    int x0, y0, x1, y1;
    u32 count;
    int distance;
    u32 phase, status;
};

// What the blocks of a group share.
struct Control {
    u32 arrived;
    u32 target;
    u32 crossing[3][TRIES];
};

// As `Job` in src/snake/cuda.rs.
struct isoline_snake_job {
    isoline_snake_image image;
    isoline_snake_target *targets;
    int2 *nodes;                 // of each target, `capacity` apart
    isoline_snake_sum *edges;    // likewise
    unsigned char *scratch;      // of each group, `scratch_bytes` apart
    u64 scratch_bytes;
    Control *controls;    // of each group, all 0
    u32 *queue;                  // the next target, 0
    double looks;
    u64 max_steps, steps;        // of a target in all; in this launch
    i64 spacing_squared;
    u32 target_count, capacity, max_nodes, noise;
    u32 blocks_a_group, groups;
};


struct Scratch {
    Control *control;
    isoline_snake_sum *sums;     // [node][place][edge]
    double *cost;                // [slot][node], of the node's best change
    signed char *choice;         // [slot][node]: the place of a winner, or -1
    u32 *rank;                   // [node]
    int2 *next_nodes;            // [node]
    u32 *added;                  // [node]
};

__device__ __forceinline__ Scratch scratch_of(const isoline_snake_job &job, u32 group)
{
    unsigned char *at = job.scratch + group * job.scratch_bytes;
    const u64 n = job.capacity;
    Scratch s;
    s.control = job.controls + group;
    s.sums = reinterpret_cast<isoline_snake_sum *>(at), at += n * PLACE_COUNT * 2 * sizeof(isoline_snake_sum);
    s.cost = reinterpret_cast<double *>(at), at += 3 * n * sizeof(double);
    s.next_nodes = reinterpret_cast<int2 *>(at), at += n * sizeof(int2);
    s.rank = reinterpret_cast<u32 *>(at), at += n * sizeof(u32);
    s.added = reinterpret_cast<u32 *>(at), at += n * sizeof(u32);
    s.choice = reinterpret_cast<signed char *>(at);
    return s;
}

// The eight places round a node, in the order in which a tie is decided.
__device__ __forceinline__ int2 place_offset(int place)
{
    // x: 1 1 0 -1 -1 -1 0 1, y: 0 1 1 1 0 -1 -1 -1, as two bits each, plus one.
    return make_int2(static_cast<int>((0x901Au >> (2 * place)) & 3u) - 1, static_cast<int>((0x01A9u >> (2 * place)) & 3u) - 1);
}

// Sums of a few numbers over a block; every thread gets them.
struct Totals {
    isoline_snake_sum sum;
    i64 area;
    u32 count;
};

__device__ __noinline__ Totals block_total(Totals mine)
{
    __shared__ Totals parts[SEARCH_THREADS / WARP];
    __syncthreads();
    #pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) {
        mine.sum.pixels += __shfl_xor_sync(ALL_LANES, mine.sum.pixels, step);
        mine.sum.z += __shfl_xor_sync(ALL_LANES, mine.sum.z, step);
        mine.sum.zz += __shfl_xor_sync(ALL_LANES, mine.sum.zz, step);
        mine.area += __shfl_xor_sync(ALL_LANES, mine.area, step);
        mine.count += __shfl_xor_sync(ALL_LANES, mine.count, step);
    }
    if (threadIdx.x % WARP == 0) parts[threadIdx.x / WARP] = mine;
    __syncthreads();
    Totals all = parts[0];
    for (int warp = 1; warp < SEARCH_THREADS / static_cast<int>(WARP); warp++) {
        all.sum = all.sum + parts[warp].sum;
        all.area += parts[warp].area;
        all.count += parts[warp].count;
    }
    return all;
}

__device__ __noinline__ i64 block_largest(i64 mine)
{
    __shared__ i64 parts[SEARCH_THREADS / WARP];
    __syncthreads();
    #pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) mine = max(mine, __shfl_xor_sync(ALL_LANES, mine, step));
    if (threadIdx.x % WARP == 0) parts[threadIdx.x / WARP] = mine;
    __syncthreads();
    i64 all = parts[0];
    for (int warp = 1; warp < SEARCH_THREADS / static_cast<int>(WARP); warp++) all = max(all, parts[warp]);
    return all;
}

// Which nodes are tried together: `first`, `first + stride`, ... below `end`; `slot` keeps their choices apart from those of
// the nodes before, which other blocks may still be reading.
struct Subset {
    u32 first, stride, end;
    int slot;
    bool removal;

    __device__ u32 size() const { return first < end ? (end - first + stride - 1) / stride : 0; }
};

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

    // Sums of the edges that the changes of a subset would make.
    __device__ __noinline__ void sum_changes(const Subset &subset, i64 longest)
    {
        const u32 size = subset.size();
        if (subset.removal) {
            sum_edges(
                size, 2 * longest,
                [&](u64 item, int2 &a, int2 &b) {
                    const u32 i = subset.first + static_cast<u32>(item) * subset.stride;
                    a = nodes[previous_of(i)], b = nodes[next_of(i)];
                    return true;
                },
                [&](u64 item) {
                    return scratch.sums + (subset.first + item * subset.stride) * PLACE_COUNT * 2;
                });
        } else {
            sum_edges(
                static_cast<u64>(size) * PLACE_COUNT * 2, longest + target.distance,
                [&](u64 item, int2 &a, int2 &b) {
                    const u32 i = subset.first + static_cast<u32>(item / (PLACE_COUNT * 2)) * subset.stride;
                    const int2 to = moved(i, static_cast<int>(item / 2) % PLACE_COUNT);
                    if (!in_bounds(to)) return false;
                    a = item % 2 == 0 ? nodes[previous_of(i)] : to;
                    b = item % 2 == 0 ? to : nodes[next_of(i)];
                    return true;
                },
                [&](u64 item) {
                    const u64 i = subset.first + item / (PLACE_COUNT * 2) * subset.stride;
                    return scratch.sums + i * PLACE_COUNT * 2 + item % (PLACE_COUNT * 2);
                });
        }
    }

    // The best change of each node of a subset, if one improves and crosses nothing: a warp a node.
    __device__ __noinline__ void choose(const Subset &subset)
    {
        const u32 lane = threadIdx.x % WARP;
        signed char *choice = scratch.choice + static_cast<u64>(subset.slot) * job.capacity;
        double *best_cost = scratch.cost + static_cast<u64>(subset.slot) * job.capacity;
        const int choices = subset.removal ? 1 : PLACE_COUNT;
        for (u32 item = thread() / WARP; item < subset.size(); item += threads() / WARP) {
            const u32 i = subset.first + item * subset.stride;
            double cost = 0.0;
            bool open = false;
            if (static_cast<int>(lane) < choices) {
                const int place = subset.removal ? -1 : static_cast<int>(lane);
                if (subset.removal ? target.count > 3 : in_bounds(moved(i, place))) {
                    cost = cost_of(target.inside + difference(i, place, subset.removal));
                    open = (subset.removal ? __dadd_rn(cost, -target.node_cost) : cost) < target.cost &&
                           target.area + area_change(i, place) > 0;
                }
            }
            int chosen = -1;
            double chosen_cost = 0.0;
            while (true) {
                // The cheapest that is open, of equal ones the first.
                u32 best = WARP;
                double best_of_all = 0.0;
                for (int other = 0; other < choices; other++) {
                    const double theirs = __shfl_sync(ALL_LANES, cost, other);
                    if (__shfl_sync(ALL_LANES, open ? 1 : 0, other) && (best == WARP || theirs < best_of_all))
                        best = other, best_of_all = theirs;
                }
                if (best == WARP) break;
                const One one = {*this, i, subset.removal ? -1 : static_cast<int>(best)};
                const bool crosses = edge_crosses(one, previous_of(i)) ||
                                     (!subset.removal && edge_crosses(one, i));
                if (!crosses) {
                    chosen = static_cast<int>(best), chosen_cost = best_of_all;
                    break;
                }
                if (lane == best) open = false;
            }
            if (lane == 0) choice[i] = static_cast<signed char>(chosen), best_cost[i] = chosen_cost;
        }
    }

    // What the winners change together.
    __device__ Totals total_of(const Winners &winners) const
    {
        Totals mine = {{0, 0, 0}, 0, 0};
        const Subset &subset = winners.subset;
        for (u32 item = threadIdx.x; item < subset.size(); item += SEARCH_THREADS) {
            const u32 i = subset.first + item * subset.stride;
            if (!winners.has(i)) continue;
            const int place = subset.removal ? -1 : scratch.choice[subset.slot * job.capacity + i];
            mine.sum = mine.sum + difference(i, place, subset.removal);
            mine.area += area_change(i, place);
            mine.count++;
        }
        return block_total(mine);
    }

    // Makes the best changes of a subset together if they are good together, else the better half, and so on; whether any.
    __device__ __noinline__ bool change(const Subset &subset, i64 longest)
    {
        if (subset.size() == 0) return false;
        if (block == 0 && threadIdx.x < TRIES) scratch.control->crossing[subset.slot][threadIdx.x] = 0;
        sum_changes(subset, longest);
        meet_all();
        choose(subset);
        meet_all();
        Winners winners = {*this, subset, 0, false};
        Totals total = total_of(winners);
        if (total.count == 0) return false;
        u32 most = total.count;
        for (int attempt = 0;; attempt++) {
            const isoline_snake_sum inside = target.inside + total.sum;
            const double cost = cost_of(inside);
            const u32 removed = subset.removal ? most : 0;
            const double paid = removed > 0 ? __dadd_rn(cost, -__dmul_rn(target.node_cost, static_cast<double>(removed))) : cost;
            bool good = paid < target.cost && target.count - removed >= 3 && target.area + total.area > 0;
            if (good && most > 1) {
                u32 *crossing = &scratch.control->crossing[subset.slot][attempt];
                // An edge is new where a node at either end changes: at the winners and the nodes before them.
                for (u32 item = thread() / WARP; item < 2 * subset.size(); item += threads() / WARP) {
                    const u32 i = subset.first + item / 2 * subset.stride;
                    if (!winners.has(i)) continue;
                    if (*static_cast<volatile u32 *>(crossing) != 0) break;
                    const bool first = item % 2 == 0;
                    if (first || !subset.removal) {
                        if (edge_crosses(winners, first ? previous_of(i) : i) && threadIdx.x % WARP == 0)
                            *static_cast<volatile u32 *>(crossing) = 1;
                    }
                }
                meet_all();
                good = *static_cast<volatile u32 *>(crossing) == 0;
            }
            if (good) {
                make(winners, total, inside, cost);
                return true;
            }
            if (!winners.ranked) {
                rank(subset);
                meet_all();
                winners.ranked = true;
            }
            most /= 2;
            if (most == 0) return false;
            winners.most = most;
            total = total_of(winners);
        }
    }

    // Each winner's place in the order of (cost, node), by counting.
    __device__ void rank(const Subset &subset)
    {
        const signed char *choice = scratch.choice + static_cast<u64>(subset.slot) * job.capacity;
        const double *cost = scratch.cost + static_cast<u64>(subset.slot) * job.capacity;
        for (u32 item = thread(); item < subset.size(); item += threads()) {
            const u32 i = subset.first + item * subset.stride;
            if (choice[i] < 0) continue;
            u32 before = 0;
            for (u32 j = subset.first; j < subset.end; j += subset.stride)
                before += choice[j] >= 0 && (cost[j] < cost[i] || (cost[j] == cost[i] && j < i));
            scratch.rank[i] = before;
        }
    }

    __device__ __noinline__ void make(const Winners &winners, const Totals &total, const isoline_snake_sum &inside, double cost)
    {
        const Subset &subset = winners.subset;
        if (subset.removal) {
            // The nodes that stay, in order; where each goes is how many stay before it.
            if (block == 0) {
                u32 kept = 0;
                for (u32 first = 0; first < target.count; first += SEARCH_THREADS) {
                    const u32 i = first + threadIdx.x;
                    const bool stays = i < target.count && !winners.gone(i);
                    const u32 at = block_rank(stays, kept);
                    if (stays) scratch.next_nodes[at] = nodes[i];
                }
            }
            meet_all();
            target.count -= total.count;
            target.area += total.area;
            take_next_nodes();
            return;
        }
        for (u32 item = thread(); item < subset.size(); item += threads()) {
            const u32 i = subset.first + item * subset.stride;
            if (!winners.has(i)) continue;
            const int place = scratch.choice[subset.slot * job.capacity + i];
            const isoline_snake_sum *sums = scratch.sums + (static_cast<u64>(i) * PLACE_COUNT + place) * 2;
            edges[previous_of(i)] = sums[0];
            edges[i] = sums[1];
            nodes[i] = moved(i, place);
        }
        target.inside = inside;
        target.cost = cost;
        target.area += total.area;
        meet_all();
    }

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

template <typename T>
__device__ __forceinline__ void search(const isoline_snake_job &job)
{
    const u32 group = blockIdx.x / job.blocks_a_group;
    Searcher<T> s = {job, scratch_of(job, group), blockIdx.x % job.blocks_a_group, job.blocks_a_group, 0, {}, nullptr, nullptr};
    Control *control = s.scratch.control;
    while (true) {
        if (s.block == 0 && threadIdx.x == 0) control->target = atomicAdd(job.queue, 1u);
        s.meet_all();
        const u32 index = *static_cast<volatile u32 *>(&control->target);
        s.meet_all();
        if (index >= job.target_count) return;
        s.target = job.targets[index];
        s.nodes = job.nodes + static_cast<u64>(index) * job.capacity;
        s.edges = job.edges + static_cast<u64>(index) * job.capacity;
        if (s.target.status != STATUS_RUNNING) continue;
        if (s.target.steps == 0) {
            s.measure();
            if (s.target.inside.pixels == 0) s.target.status = STATUS_VANISHED;
        }
        for (u64 done = 0; done < job.steps && s.target.status == STATUS_RUNNING; done++) s.step();
        s.meet_all();
        if (s.block == 0 && threadIdx.x == 0) job.targets[index] = s.target;
    }
}

// Σ over each target's bounds: a block a target, a thread a row.
template <typename T>
__device__ __forceinline__ void whole_sums(const isoline_snake_job &job)
{
    for (u32 index = blockIdx.x; index < job.target_count; index += gridDim.x) {
        isoline_snake_target &target = job.targets[index];
        Totals mine = {{0, 0, 0}, 0, 0};
        if (target.status == STATUS_RUNNING) {
            for (i64 y = target.y0 + static_cast<i64>(threadIdx.x); y < target.y1; y += SEARCH_THREADS)
                mine.sum = mine.sum + left_of<T>(job.image, target.x1, static_cast<u32>(y)) -
                           left_of<T>(job.image, target.x0, static_cast<u32>(y));
        }
        const Totals total = block_total(mine);
        if (threadIdx.x == 0) target.whole = total.sum;
    }
}
