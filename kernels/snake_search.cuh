// The search of region snakes: src/snake/search.rs, schedule `parallel`, with the whole loop on the device.
//
// A group of blocks searches one target at a time: one block where there are many targets, many blocks where there are
// few. They share the sums over edges, which read the image, and meet at a barrier once they have them. Every block
// computes everything else itself from the same numbers, on its own copy of the polygon. All sums are integers, so the
// order of additions does not matter, and the criterion is computed operation by operation as on the CPU: the polygons
// are the same, bit for bit.
#pragma once
#include "snake_crossing.cuh"
#include <cuda/atomic>

// Subsets of more nodes than this are shared among a group's blocks; found by measurement (README.md).
constexpr u32 SHARED_SUBSET = 32;

template <typename T, bool GROUP>
struct Searcher : Crossings {
    static constexpr u32 THREADS = GROUP ? GROUP_THREADS : ALONE_THREADS;
    static constexpr u32 WARPS = THREADS / WARP;
    // Rows that a lane fetches together.
    static constexpr int TOGETHER = GROUP ? 3 : 2;

    // --- sums: snake_edges.cuh ----------------------------------------------------------------------------------------

    // Barrier of the group's blocks: what they wrote before it, all see after it. `sums`: they have made the sums of a
    // buffer.
    __device__ void arrive_at_barrier();
    __device__ void wait_at_barrier(bool sums);
    __device__ void group_barrier(bool sums);

    __device__ u32 buffer_after(u32 more) const
    {
        return sum_buffer + more < SUM_BUFFERS ? sum_buffer + more : sum_buffer + more - SUM_BUFFERS;
    }

    __device__ isoline_snake_sum *sums_of(u32 which) const
    {
        return GROUP ? sums + which * sums_per_buffer(job.capacity) : sums;
    }

    __device__ isoline_snake_sum sum_at(u32 index) const
    {
        const i64 *at = &sums_of(sum_buffer)[index].pixels;
        // These are sums of other blocks: they must not come from the first-level cache, which still has the buffer's
        // old sums.
        if (GROUP) return {__ldcg(at), __ldcg(at + 1), __ldcg(at + 2)};
        return {at[0], at[1], at[2]};
    }

    // Sets the sums of a buffer to 0; each block has a part.
    __device__ void clear_sums(u32 which);
    __device__ void add_number(u32 index, i64 number);

    // Returns the rows of the longest edge; every warp computes it.
    __device__ int longest_edge() const;

    // The partition of items among the group's warps: `units` parts of `rows` rows, `parts` per item. `by_rows`: items
    // are partitioned by their rows; then `parts` are those of the item with the lane's number, and `end` those of all
    // items up to it.
    struct Partition {
        bool by_rows;
        u32 rows, parts, end, units;
    };
    struct Part {
        u32 item, number, of;
    };
    __device__ bool parts_by_rows(u32 items) const
    {
        return items <= WARP && 2 * items <= (GROUP ? blocks : 1u) * WARPS;
    }
    template <typename EdgeOf>
    __device__ Partition partition(u32 items, int longest, EdgeOf edge_of) const;
    __device__ Part part_of(const Partition &partition, u32 unit) const;

    // Sums `items` of CANDIDATES edges each into item * CANDIDATES + candidate of the next buffer.
    template <u32 CANDIDATES, typename EdgeOf>
    __device__ void sum_edges(u32 items, int longest, EdgeOf edge_of);

    // Sums the edges that the changes of a subset would make: for a move those before the node and those after it.
    __device__ void sum_moves(Subset subset, int longest);
    __device__ void sum_removals(Subset subset, int longest);

    // Computes everything of the polygon anew.
    __device__ __noinline__ void measure()
    {
        sum_edges<1>(target.count, longest_edge(), [&](u32 item, u32, int2 &a, int2 &b, int &y0, int &y1) {
            a = nodes[item], b = nodes[next_of(item)];
            y0 = min(a.y, b.y), y1 = max(a.y, b.y);
            return true;
        });
        group_barrier(true);
        isoline_snake_sum inside = {0, 0, 0};
        i64 area = 0;
        for (u32 i = threadIdx.x % WARP; i < target.count; i += WARP) {
            const isoline_snake_sum sum = sum_at(i);
            if (threadIdx.x < WARP) edges[i] = sum;
            inside = inside + sum;
            area += cross_product(nodes[i], nodes[next_of(i)]);
        }
        inside = lanes_sum<1>(inside);
        area = lanes_total(area);
        const double cost = cost_of<1>(inside);
        note_boxes<WARPS>();
        __syncthreads();
        if (threadIdx.x == 0) target.inside = inside, target.area = area, target.cost = cost;
        __syncthreads();
    }

    // --- choices: snake_choice.cuh ------------------------------------------------------------------------------------

    // The part of a change that is known before the sums are.
    struct Prospect {
        bool allowed;
        isoline_snake_sum lost;   // the share of its node's edges in the sum
        i64 area;
    };
    __device__ Prospect prospect(Subset subset, u32 item, int candidate, bool wanted) const;

    // Waits for the sums and finds the best change of each node of a subset.
    __device__ void choose(Subset subset);
    __device__ void record_winner(u32 item, u32 i, const Change &change, int candidate, bool removal);
    __device__ void collect_choices(Subset subset);
    __device__ int cheapest(double cost, u32 left, u32 from) const;

    __device__ int2 changed_node(u32 i, int candidate, bool removal) const
    {
        return removal ? make_int2(GONE, GONE) : moved(i, candidate);
    }

    // --- changes ------------------------------------------------------------------------------------------------------

    // Returns whether an item has a change that is among the `most` best; they are ranked if those are not all.
    __device__ bool is_winner(u32 item, u32 most, bool ranked) const
    {
        return choice[item] >= 0 && (!ranked || rank[item] < most);
    }

    // Returns whether the changes improve the criterion together, apart from crossings, and stores the result. One
    // warp.
    __device__ __forceinline__ bool improves(Subset subset, u32 most, bool ranked)
    {
        // Four lanes per item, one for each number that it adds.
        const u32 lane = threadIdx.x % WARP, size = subset.size();
        const i64 *const parts = &changes->sum.pixels;
        static_assert(sizeof(Change) == 4 * sizeof(i64), "four numbers a change");
        i64 part = 0;
        double cost_of_one = -0.0;   // adds nothing, not even to -0
        for (u32 item = lane / 4; item < size; item += WARP / 4) {
            if (!is_winner(item, most, ranked)) continue;
            part += parts[4 * item + lane % 4];
            if (lane % 4 == 0) cost_of_one = cost[item];
        }
        #pragma unroll
        for (int step = 4; step < static_cast<int>(WARP); step *= 2) part += __shfl_xor_sync(ALL_LANES, part, step);
        const isoline_snake_sum inside = {target.inside.pixels + __shfl_sync(ALL_LANES, part, 0),
                                          target.inside.z + __shfl_sync(ALL_LANES, part, 1),
                                          target.inside.zz + __shfl_sync(ALL_LANES, part, 2)};
        const i64 area = target.area + __shfl_sync(ALL_LANES, part, 3);
        // A single change improves it, or it would not have been chosen.
        const double cost = most == 1 ? lanes_total(cost_of_one) : cost_of<1>(inside);
        if (lane == 0) tried_inside = inside, tried_area = area, tried_cost = cost;
        const u32 removed = subset.removal ? most : 0;
        const double paid = removed > 0 ? __dadd_rn(cost, -__dmul_rn(target.node_cost, static_cast<double>(removed))) : cost;
        return paid < target.cost && target.count - removed >= 3 && area > 0;
    }

    // Makes the best changes of a subset together if they improve the criterion together, else the better half, and so
    // on; returns whether any was made.
    __device__ __forceinline__ bool change(Subset subset, int longest)
    {
        const u32 size = subset.size(), warp = threadIdx.x / WARP;
        if (size == 0) return false;
        if (subset.removal) sum_removals(subset, longest);
        else sum_moves(subset, longest);
        arrive_at_barrier();
        // Between barriers: the last use of this counter is over, and the next has not begun.
        if (threadIdx.x == 0) winners = 0;
        choose(subset);
        __syncthreads();
        u32 most = winners;
        if (most == 0) return false;
        bool ranked = false;
        while (true) {
            // The last warp sums up, the others test for crossings.
            const bool bad = warp == WARPS - 1 ? !improves(subset, most, ranked)
                                               : most > 1 && changes_cross(warp, WARPS - 1);
            if (!__syncthreads_or(bad)) break;
            if (!ranked) rank_winners(subset);
            ranked = true;
            most /= 2;
            keep_best(subset, most);
            if (most == 0) return false;
        }
        if (subset.removal) remove_nodes();
        else move(subset, most, ranked);
        return true;
    }

    // Keeps only the best changed.
    __device__ __noinline__ void keep_best(Subset subset, u32 most)
    {
        __syncthreads();
        for (u32 item = threadIdx.x; item < subset.size(); item += THREADS) {
            const u32 i = subset.node(item);
            if (choice[item] >= 0 && rank[item] >= most) next_nodes[i] = nodes[i];
        }
        __syncthreads();
    }

    // Ranks each winner in the order of (cost, node), by counting.
    __device__ __noinline__ void rank_winners(Subset subset)
    {
        const u32 size = subset.size();
        for (u32 item = threadIdx.x; item < size; item += THREADS) {
            if (choice[item] < 0) continue;
            u32 before = 0;
            const i64 mine = sortable(cost[item]);
            for (u32 other = 0; other < size; other++) {
                if (choice[other] < 0) continue;
                const i64 theirs = sortable(cost[other]);
                before += theirs < mine || (theirs == mine && other < item);
            }
            rank[item] = before;
        }
    }

    // Adopts the moved nodes of the changed polygon.
    __device__ __forceinline__ void move(Subset subset, u32 most, bool ranked)
    {
        for (u32 item = threadIdx.x; item < subset.size(); item += THREADS) {
            if (!is_winner(item, most, ranked)) continue;
            const u32 i = subset.node(item);
            edges[previous_of(i)] = new_edges[2 * item];
            edges[i] = new_edges[2 * item + 1];
            nodes[i] = next_nodes[i];
        }
        if (threadIdx.x == 0) target.inside = tried_inside, target.cost = tried_cost, target.area = tried_area;
        __syncthreads();
        if (target.count > 2 * BOX_EDGES) {
            note_boxes<WARPS>();
            __syncthreads();
        }
    }

    // Adopts the nodes that stay in the changed polygon, in order; a node's new number is the number of those that stay
    // before it.
    __device__ __noinline__ void remove_nodes()
    {
        u32 kept = 0;
        for (u32 first = 0; first < target.count; first += THREADS) {
            const u32 i = first + threadIdx.x;
            const bool here = i < target.count && stays(i);
            const u32 at = block_rank(here, kept);
            if (here) nodes[at] = next_nodes[i];
        }
        adopt(kept, nodes, next_nodes);
    }

    // --- nodes --------------------------------------------------------------------------------------------------------

    // Returns the number of threads of the block before this one that have the flag, plus `kept`, to which this block's
    // number is added.
    __device__ u32 block_rank(bool flag, u32 &kept)
    {
        __shared__ u32 counts[WARPS];
        const u32 votes = __ballot_sync(ALL_LANES, flag), lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
        __syncthreads();
        if (lane == 0) counts[warp] = static_cast<u32>(__popc(votes));
        __syncthreads();
        u32 rank = kept + static_cast<u32>(__popc(votes & ((1u << lane) - 1u)));
        for (u32 other = 0; other < WARPS; other++) {
            if (other < warp) rank += counts[other];
            kept += counts[other];
        }
        return rank;
    }

    // Makes `count` nodes of one array the polygon, in both arrays, and measures everything anew.
    __device__ __noinline__ void adopt(u32 count, const int2 *from, int2 *to)
    {
        __syncthreads();
        if (threadIdx.x == 0) target.count = count;
        for (u32 i = threadIdx.x; i < count; i += THREADS) to[i] = from[i];
        __syncthreads();
        measure();
    }

    // Inserts a node in the middle of every long edge, while max_nodes allows it; returns whether any was inserted.
    __device__ __noinline__ bool add_nodes()
    {
        const u32 room = job.max_nodes > target.count ? job.max_nodes - target.count : 0;
        if (room == 0) return false;
        // Flags by node, in the memory of the ranks.
        unsigned char *added = reinterpret_cast<unsigned char *>(rank);
        for (u32 i = threadIdx.x / WARP; i < target.count; i += WARPS) {
            const bool add = is_long(i) && !bend_touches(i);
            if (threadIdx.x % WARP == 0) added[i] = add;
        }
        __syncthreads();
        u32 found = 0;
        for (u32 first = 0; first < target.count; first += THREADS) {
            const u32 i = first + threadIdx.x;
            const bool add = i < target.count && added[i] != 0;
            const u32 added_before = block_rank(add, found);
            if (i < target.count) {
                const u32 at = i + min(added_before, room);
                next_nodes[at] = nodes[i];
                if (add && added_before < room) next_nodes[at + 1] = middle_of(i);
            }
        }
        if (found == 0) return false;
        adopt(target.count + min(found, room), next_nodes, nodes);
        return true;
    }

    // --- steps --------------------------------------------------------------------------------------------------------

    // Returns the nodes that are tried together: of moves there are three subsets, of removals two.
    __device__ __forceinline__ Subset subset_of(u32 number, bool removal) const
    {
        const u32 count = target.count;
        if (number == 0) return {0, 2, count & ~1u, removal};
        if (number == 1) return {1, 2, count, removal};
        return {count - 1, 1, removal || count % 2 == 0 ? 0 : count, removal};
    }

    // Makes one iteration of the target: tries the moves of all nodes; where none improves the criterion, it inserts nodes
    // and halves the distance of moves; where that is over (PHASE_PRUNE), it tries to remove nodes. All threads of the
    // group call it.
    __device__ __forceinline__ void step()
    {
        const u64 steps = target.steps + 1;
        u32 phase = target.phase, status = STATUS_RUNNING;
        int distance = target.distance;
        bool changed = false, removal = false;
        // 1. Try the changes of each subset of nodes, first moves. Small polygons are partitioned without the longest edge.
        int longest = parts_by_rows(target.count + 1) ? 0 : longest_edge();
        for (u32 number = 0;; number++) {
            if (number < 3) {
                changed |= change(subset_of(number, removal), longest);
                // Moves of some nodes may lengthen the edges of the next.
                longest += distance;
                if (!removal || !changed) continue;
            }
            // 2. Here all moves are tried, or a removal improves the criterion, or none does.
            if (removal) break;
            if (target.inside.pixels == 0) {
                status = STATUS_VANISHED;
                break;
            }
            if (changed) break;
            // 3. No move improves it: refine the polygon and the moves, or go on to remove nodes.
            if (phase == PHASE_EVOLVE) {
                const bool added = add_nodes(), halved = distance > 1;
                distance = max(distance / 2, 1);
                changed = added || halved;
                if (changed || !(target.node_cost > 0.0)) break;
                phase = PHASE_PRUNE;
            }
            removal = true;
            longest = longest_edge();
            number = ~0u;
        }
        // 4. Store the target's new state.
        if (status == STATUS_RUNNING) {
            if (!changed) status = STATUS_CONVERGED;
            else if (steps >= job.max_steps) status = STATUS_ITERATION_LIMIT;
        }
        __syncthreads();
        if (threadIdx.x == 0) target.steps = steps, target.phase = phase, target.distance = distance, target.status = status;
        __syncthreads();
    }

    // Searches one target after another from the group's queue.
    __device__ __forceinline__ void run()
    {
        while (true) {
            if (block == 0 && threadIdx.x == 0) *static_cast<volatile u32 *>(&control->target) = atomicAdd(job.queue, 1u);
            group_barrier(false);
            const u32 index = *static_cast<volatile u32 *>(&control->target);
            if (index >= job.target_count) return;
            const u64 from = static_cast<u64>(index) * job.capacity;
            if (threadIdx.x == 0) target = job.targets[index];
            __syncthreads();
            const bool running = target.status == STATUS_RUNNING;
            if (running) {
                for (u32 i = threadIdx.x; i < target.count; i += THREADS) {
                    nodes[i] = next_nodes[i] = job.nodes[from + i];
                    // At the start they are measured.
                    if (target.steps > 0) edges[i] = job.edges[from + i];
                }
                if (GROUP) clear_sums(buffer_after(1));
                __syncthreads();
                note_boxes<WARPS>();
            }
            group_barrier(false);
            if (!running) continue;
            if (target.steps == 0) {
                measure();
                if (target.inside.pixels == 0 && threadIdx.x == 0) target.status = STATUS_VANISHED;
                __syncthreads();
            }
            for (u64 done = 0; done < job.steps && target.status == STATUS_RUNNING; done++) step();
            if (block == 0) {
                for (u32 i = threadIdx.x; i < target.count; i += THREADS) {
                    job.nodes[from + i] = nodes[i];
                    job.edges[from + i] = edges[i];
                }
                if (threadIdx.x == 0) job.targets[index] = target;
            }
        }
    }
};

#include "snake_edges.cuh"
#include "snake_choice.cuh"

template <typename T, bool GROUP>
__device__ __forceinline__ void search(const isoline_snake_job &job)
{
    extern __shared__ uint4 shared_memory[];
    __shared__ Searcher<T, GROUP> searcher;
    if (threadIdx.x == 0)
        searcher.assign_memory(job, blockIdx.x / job.blocks_per_group, blockIdx.x % job.blocks_per_group,
                               reinterpret_cast<unsigned char *>(shared_memory));
    __syncthreads();
    searcher.run();
}

// Sums over each target's window: a block per target, a thread per row.
template <typename T>
__device__ __forceinline__ void whole_sums(const isoline_snake_job &job)
{
    __shared__ isoline_snake_sum parts[ALONE_THREADS / WARP];
    for (u32 index = blockIdx.x; index < job.target_count; index += gridDim.x) {
        isoline_snake_target &target = job.targets[index];
        isoline_snake_sum sum = {0, 0, 0};
        if (target.status == STATUS_RUNNING) {
            for (i64 y = target.y0 + static_cast<i64>(threadIdx.x); y < target.y1; y += ALONE_THREADS)
                sum = sum + left_of<T>(job.image, static_cast<u32>(target.x1), static_cast<u32>(y)) -
                      left_of<T>(job.image, static_cast<u32>(target.x0), static_cast<u32>(y));
        }
        sum = lanes_sum<1>(sum);
        if (threadIdx.x % WARP == 0) parts[threadIdx.x / WARP] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (u32 warp = 1; warp < ALONE_THREADS / WARP; warp++) sum = sum + parts[warp];
            target.whole = sum;
        }
        __syncthreads();
    }
}
