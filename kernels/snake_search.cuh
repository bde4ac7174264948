// The search of region snakes: src/snake/search.rs, schedule `parallel`, with the whole loop on the device.
//
// A *group* of thread blocks searches one target at a time: one block where there are many targets, many blocks where
// there are few. The blocks share the sums over edges, which read the image, and wait at a barrier until all have added
// theirs. Every block computes everything else itself from the same numbers, on its own copy of the polygon. All sums
// are integers, so the order of additions does not matter, and the criterion is computed operation by operation as on
// the CPU: the polygons are the same, bit for bit.
#pragma once
#include "snake_crossing.cuh"
#include <cuda/atomic>

// A subset of up to this many nodes is not split among a group's blocks: each makes all choices. Found by measurement
// (README.md).
constexpr u32 LARGEST_UNSPLIT_SUBSET = 32;

// A Searcher is one block's part in the search, in static shared memory. T is the type of a level. With GROUP several
// blocks search a target together; without it a block searches alone, and barriers are those of the block. All threads
// of the block, and so of the group, call a function together with the same arguments, unless its comment says
// otherwise.
template <typename T, bool GROUP>
struct Searcher : Crossings {
    static constexpr u32 THREADS = GROUP ? GROUP_THREADS : ALONE_THREADS;
    static constexpr u32 WARPS = THREADS / WARP;
    // The rows that a lane fetches before it uses the first.
    static constexpr int ROWS_IN_FLIGHT = GROUP ? 3 : 2;

    // Returns the target's territory. One thread calls it.
    __device__ Territory territory() const
    {
        const u32 *const first_runs = target.territory < 0 ? nullptr : job.first_runs + target.territory;
        return {first_runs, job.runs, target.y0, target.y1};
    }

    // Returns whether a node may lie at p: within the window and the territory. One thread calls it.
    __device__ bool allows(int2 p) const
    {
        return in_bounds(p) && has_corner(territory(), p);
    }

    // --- sums: snake_edges.cuh ---------------------------------------------------------------------------------------

    // The barrier of the group's blocks, in two parts or as one: writes before it are visible to all after it. Between the
    // two parts a block may do work that does not depend on the others. `sums` says that sums were added to the next buffer
    // before the barrier; that buffer becomes the current one.
    __device__ void arrive_at_barrier();
    __device__ void wait_at_barrier(bool sums);
    __device__ void group_barrier(bool sums);

    // Returns the number of the buffer that is `more` (0 to 2) after the current one. One thread calls it.
    __device__ u32 buffer_after(u32 more) const
    {
        return current_buffer + more < SUM_BUFFERS ? current_buffer + more : current_buffer + more - SUM_BUFFERS;
    }

    // Returns the address of a buffer; a block that is alone has only one. One thread calls it.
    __device__ RegionSum *sum_buffer(u32 which) const
    {
        return GROUP ? sum_buffers + which * sums_per_buffer(job.capacity) : sum_buffers;
    }

    // Returns a sum of the current buffer. One thread calls it.
    __device__ RegionSum sum_at(u32 index) const
    {
        const i64 *at = &sum_buffer(current_buffer)[index].pixels;
        // Other blocks added to these sums, so the loads must bypass the L1 cache, which may still have the buffer's old
        // sums.
        if (GROUP) return {__ldcg(at), __ldcg(at + 1), __ldcg(at + 2)};
        return {at[0], at[1], at[2]};
    }

    // Sets the sums of a buffer to 0; each block of the group has a part.
    __device__ void clear_sums(u32 which);

    // Adds to one number in the next buffer, where each sum has NUMBERS_PER_SUM numbers. A block that searches alone stores
    // it instead. One thread calls it.
    __device__ void add_number(u32 index, i64 number);

    // Returns the number of rows of the polygon's longest edge. Every warp computes it.
    __device__ int longest_edge() const;

    // A *bundle* is a few edges that pass nearly the same rows: those between one neighbour of a node and the node's
    // eight candidate positions, or a single edge. A *part* is some of a bundle's rows, which one warp sums.

    // A Partition is how the rows of all bundles are divided into parts. With `by_rows` all parts have the same number of
    // rows, a bundle has one or more parts, and each lane holds the number of parts of the bundle with the lane's number;
    // otherwise all bundles have the same number of parts. It is in registers.
    struct Partition {
        bool by_rows;
        u32 rows_per_part;
        u32 parts_per_bundle;   // by_rows: of the lane's bundle
        u32 parts_up_to;        // by_rows: of all bundles up to the lane's, which it includes
        u32 part_count;
    };

    // A Part is part `number` of the `of` parts of a bundle.
    struct Part {
        u32 bundle, number, of;
    };

    // Returns whether so few bundles are partitioned by rows.
    __device__ bool parts_by_rows(u32 bundles) const
    {
        return bundles <= WARP && 2 * bundles <= (GROUP ? blocks : 1u) * WARPS;
    }

    // Divides bundles, of which none passes more than `longest` rows, into about as many parts as the group has warps.
    // A block that is alone never makes more parts than it has warps, except where each bundle is one part. So all
    // parts of a bundle fall into one round of `sum_edges`, and `add_number` can store a sum instead of adding to it.
    template <typename EdgeOf>
    __device__ Partition partition(u32 bundles, int longest, EdgeOf edge_of) const;

    // Returns the part with this index among all parts. The lanes of a warp call it together.
    __device__ Part part_of(const Partition &partition, u32 index) const;

    // Adds the sums of bundles of EDGES edges each to the next buffer, at bundle * EDGES + edge; a barrier has to
    // follow. No bundle passes more than `longest` rows. `edge_of(bundle, edge, a, b, y0, y1)` gives an edge, from a to
    // b, and the rows of its bundle, y0 <= y < y1, and returns whether the edge is wanted; it gives the rows in any
    // case.
    template <u32 EDGES, typename EdgeOf>
    __device__ void sum_edges(u32 bundles, int longest, EdgeOf edge_of);

    // Sum the edges that the changes of a subset would make. A move has two bundles of eight edges, those before the
    // node and those after it; a removal has one edge. `longest` is the most rows of an edge of the polygon.
    __device__ void sum_moves(Subset subset, int longest);
    __device__ void sum_removals(Subset subset, int longest);

    // Computes the edges' sums, the sum inside, the area, the criterion and the boxes of the polygon anew.
    __device__ __noinline__ void measure()
    {
        sum_edges<1>(target.node_count, longest_edge(), [&](u32 i, u32, int2 &a, int2 &b, int &y0, int &y1) {
            a = nodes[i], b = nodes[next_of(i)];
            y0 = min(a.y, b.y), y1 = max(a.y, b.y);
            return true;
        });
        group_barrier(true);
        RegionSum inside = {0, 0, 0};
        i64 area = 0;
        for (u32 i = threadIdx.x % WARP; i < target.node_count; i += WARP) {
            const RegionSum sum = sum_at(i);
            if (threadIdx.x < WARP) edges[i] = sum;
            inside = inside + sum;
            area += cross_product(nodes[i], nodes[next_of(i)]);
        }
        inside = lanes_sum<1>(inside);
        area = lanes_total(area);
        const double cost = cost_of<1>(inside);
        store_boxes<WARPS>();
        __syncthreads();
        if (threadIdx.x == 0) target.inside = inside, target.area = area, target.cost = cost;
        __syncthreads();
    }

    // --- choices: snake_choice.cuh -----------------------------------------------------------------------------------

    // A Prospect holds what is known of a change before its sums are known, in registers.
    struct Prospect {
        bool allowed;     // the change may be tried: a node may lie there, or three nodes are left
        RegionSum lost;   // the sum of the node's two edges, which the change replaces
        i64 area;         // what the change adds to twice the area
    };

    // Returns the prospect of an item's move to a candidate position, or of its removal. One thread calls it.
    __device__ Prospect prospect(Subset subset, u32 item, int candidate, bool wanted) const;

    // Waits for the sums and finds for each node of a subset the best change that improves the criterion and crosses
    // nothing, if there is one. A barrier has to follow.
    __device__ void choose(Subset subset);

    // Stores the change of an item, which moves node i or removes it. One thread calls it.
    __device__ void record_change(u32 item, u32 i, const Change &change, int candidate, bool removal);

    // Copies the choices that the group's blocks have made of a split subset to the block's own arrays.
    __device__ void collect_choices(Subset subset);

    // Returns the cheapest of the candidate positions whose bits are set in `left`; among equal costs, the first. The costs
    // are in the lanes from `from` on. The lanes of a warp call it together, and all get it.
    __device__ int cheapest(double cost, u32 left, u32 from) const;

    // Returns where a change puts node i. One thread calls it.
    __device__ int2 changed_node(u32 i, int candidate, bool removal) const
    {
        return removal ? make_int2(GONE, GONE) : moved(i, candidate);
    }

    // --- changes -----------------------------------------------------------------------------------------------------

    // Returns whether an item has a change among the `best` best ones. Changes are ranked unless `best` includes all of
    // them. One thread calls it.
    __device__ bool is_tried(u32 item, u32 best, bool ranked) const
    {
        return choice[item] >= 0 && (!ranked || rank[item] < best);
    }

    // Returns whether the `best` best changes improve the criterion together, apart from crossings, and stores the sum
    // inside, the area and the criterion that they give. The lanes of one warp call it together.
    __device__ __forceinline__ bool improves(Subset subset, u32 best, bool ranked)
    {
        // 1. Add up the changes: four lanes per item, one for each number of its Change.
        const u32 lane = threadIdx.x % WARP, size = subset.size();
        const i64 *const parts = &changes->sum.pixels;
        static_assert(sizeof(Change) == 4 * sizeof(i64), "four numbers a change");
        i64 part = 0;
        double cost_of_one = -0.0;   // adds nothing, not even to -0
        for (u32 item = lane / 4; item < size; item += WARP / 4) {
            if (!is_tried(item, best, ranked)) continue;
            part += parts[4 * item + lane % 4];
            if (lane % 4 == 0) cost_of_one = cost[item];
        }
        #pragma unroll
        for (int offset = 4; offset < static_cast<int>(WARP); offset *= 2)
            part += __shfl_xor_sync(ALL_LANES, part, offset);
        const RegionSum inside = {target.inside.pixels + __shfl_sync(ALL_LANES, part, 0),
                                  target.inside.z + __shfl_sync(ALL_LANES, part, 1),
                                  target.inside.zz + __shfl_sync(ALL_LANES, part, 2)};
        const i64 area = target.area + __shfl_sync(ALL_LANES, part, 3);
        // 2. Compute the criterion. A single change improves it, or it would not have been chosen.
        const double cost = best == 1 ? lanes_total(cost_of_one) : cost_of<1>(inside);
        if (lane == 0) tried_inside = inside, tried_area = area, tried_cost = cost;
        const u32 removed = subset.removal ? best : 0;
        const double paid =
            removed > 0 ? __dadd_rn(cost, -__dmul_rn(target.node_cost, static_cast<double>(removed))) : cost;
        return paid < target.cost && target.node_count - removed >= 3 && area > 0;
    }

    // Applies the best changes of a subset together if they improve the criterion together; if not, it tries the better
    // half of them, and so on. Returns whether any change was made. `longest` is the most rows of an edge of the polygon.
    __device__ __forceinline__ bool change(Subset subset, int longest)
    {
        // 1. Sum the edges that the changes would make.
        const u32 size = subset.size(), warp = threadIdx.x / WARP;
        if (size == 0) return false;
        if (subset.removal) sum_removals(subset, longest);
        else sum_moves(subset, longest);
        arrive_at_barrier();
        // Here, between barriers, the last use of this counter is over, and the next one has not begun.
        if (threadIdx.x == 0) change_count = 0;
        // 2. Choose the best change of each node.
        choose(subset);
        __syncthreads();
        u32 best = change_count;
        if (best == 0) return false;
        // 3. Try all changes together, then the better half of them, and so on.
        bool ranked = false;
        while (true) {
            // The last warp sums up, the others test for crossings.
            const bool bad = warp == WARPS - 1 ? !improves(subset, best, ranked)
                                               : best > 1 && changes_cross(warp, WARPS - 1);
            if (!__syncthreads_or(bad)) break;
            if (!ranked) rank_changes(subset);
            ranked = true;
            best /= 2;
            keep_best(subset, best);
            if (best == 0) return false;
        }
        // 4. Adopt the changes.
        if (subset.removal) remove_nodes();
        else move(subset, best, ranked);
        return true;
    }

    // Undoes all but the `best` best changes in `next_nodes`. It contains barriers of the block.
    __device__ __noinline__ void keep_best(Subset subset, u32 best)
    {
        __syncthreads();
        for (u32 item = threadIdx.x; item < subset.size(); item += THREADS) {
            const u32 i = subset.node(item);
            if (choice[item] >= 0 && rank[item] >= best) next_nodes[i] = nodes[i];
        }
        __syncthreads();
    }

    // Ranks each change in the order of (cost, node), by counting the better ones. A barrier has to follow.
    __device__ __noinline__ void rank_changes(Subset subset)
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

    // Adopts the moved nodes of the changed polygon, with the sums of their edges and the result that `improves`
    // stored.
    __device__ __forceinline__ void move(Subset subset, u32 best, bool ranked)
    {
        for (u32 item = threadIdx.x; item < subset.size(); item += THREADS) {
            if (!is_tried(item, best, ranked)) continue;
            const u32 i = subset.node(item);
            edges[previous_of(i)] = new_edges[2 * item];
            edges[i] = new_edges[2 * item + 1];
            nodes[i] = next_nodes[i];
        }
        if (threadIdx.x == 0) target.inside = tried_inside, target.cost = tried_cost, target.area = tried_area;
        __syncthreads();
        if (target.node_count > 2 * BOX_EDGES) {
            store_boxes<WARPS>();
            __syncthreads();
        }
    }

    // Adopts the nodes that stay in the changed polygon, in order; a node's new index is the number of those that stay
    // before it.
    __device__ __noinline__ void remove_nodes()
    {
        u32 kept = 0;
        for (u32 first = 0; first < target.node_count; first += THREADS) {
            const u32 i = first + threadIdx.x;
            const bool here = i < target.node_count && stays(i);
            const u32 at = block_rank(here, kept);
            if (here) nodes[at] = next_nodes[i];
        }
        adopt(kept, nodes, next_nodes);
    }

    // --- nodes -------------------------------------------------------------------------------------------------------

    // Returns `before` plus the number of previous threads of the block whose flag is set, and adds the number of all
    // threads whose flag is set to `before`. It contains barriers of the block.
    __device__ u32 block_rank(bool flag, u32 &before)
    {
        __shared__ u32 counts[WARPS];
        const u32 votes = __ballot_sync(ALL_LANES, flag), lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
        __syncthreads();
        if (lane == 0) counts[warp] = static_cast<u32>(__popc(votes));
        __syncthreads();
        u32 rank = before + static_cast<u32>(__popc(votes & ((1u << lane) - 1u)));
        for (u32 other = 0; other < WARPS; other++) {
            if (other < warp) rank += counts[other];
            before += counts[other];
        }
        return rank;
    }

    // Makes the `count` nodes of the array `from` the polygon, copies them to `to` (of `nodes` and `next_nodes`, the other
    // array), and measures everything anew.
    __device__ __noinline__ void adopt(u32 count, const int2 *from, int2 *to)
    {
        __syncthreads();
        if (threadIdx.x == 0) target.node_count = count;
        for (u32 i = threadIdx.x; i < count; i += THREADS) to[i] = from[i];
        __syncthreads();
        measure();
    }

    // Inserts a node in the middle of every long edge, while max_nodes allows it; returns whether any was inserted.
    __device__ __noinline__ bool add_nodes()
    {
        const u32 allowed = job.max_nodes > target.node_count ? job.max_nodes - target.node_count : 0;
        if (allowed == 0) return false;
        // 1. Find the edges that get a node, a warp per edge. The flags by node are in the memory of the ranks.
        unsigned char *added = reinterpret_cast<unsigned char *>(rank);
        for (u32 i = threadIdx.x / WARP; i < target.node_count; i += WARPS) {
            const bool add = is_long(i) && !bend_touches(i);
            if (threadIdx.x % WARP == 0) added[i] = add;
        }
        __syncthreads();
        // 2. Write the new polygon to `next_nodes`.
        u32 found = 0;
        for (u32 first = 0; first < target.node_count; first += THREADS) {
            const u32 i = first + threadIdx.x;
            const bool add = i < target.node_count && added[i] != 0;
            const u32 added_before = block_rank(add, found);
            if (i < target.node_count) {
                const u32 at = i + min(added_before, allowed);
                next_nodes[at] = nodes[i];
                if (add && added_before < allowed) next_nodes[at + 1] = middle_of(i);
            }
        }
        // 3. Adopt it.
        if (found == 0) return false;
        adopt(target.node_count + min(found, allowed), next_nodes, nodes);
        return true;
    }

    // --- iterations --------------------------------------------------------------------------------------------------

    // Returns subset 0, 1 or 2 of the nodes: the even ones, the odd ones, and, of an odd number of nodes, the last one,
    // whose neighbour 0 is even too. One thread calls it.
    __device__ __forceinline__ Subset subset_of(u32 number, bool removal) const
    {
        const u32 count = target.node_count;
        if (number == 0) return {0, 2, count & ~1u, removal};
        if (number == 1) return {1, 2, count, removal};
        return {count - 1, 1, count % 2 == 0 ? 0 : count, removal};
    }

    // Makes one iteration: the nodes of each subset move; if none moves, nodes are added and the distance is halved; if
    // that changes nothing, nodes are removed. `change` is inlined at one place for moves and removals, so that there
    // is one copy of it; the loop therefore goes over the subsets of both.
    __device__ __forceinline__ void iterate()
    {
        const u64 iterations = target.iterations + 1;
        u32 phase = target.phase, status = STATUS_RUNNING;
        int distance = target.distance;
        bool changed = false, removal = false;
        // Small polygons are partitioned without it.
        int longest = parts_by_rows(target.node_count + 1) ? 0 : longest_edge();
        for (u32 number = 0;; number++) {
            // 1. Change the nodes of a subset. All subsets move; removals end with the first subset that has one.
            if (number < 3) {
                changed |= change(subset_of(number, removal), longest);
                // Moves of some nodes may lengthen the edges of the next.
                longest += distance;
                if (!removal || !changed) continue;
            }
            // 2. At this point all moves have been tried, or a removal has improved the criterion, or no removal does. The
            //    iteration is over if removals were tried, if no pixel is left inside, or if a node has moved.
            if (removal) break;
            if (target.inside.pixels == 0) {
                status = STATUS_VANISHED;
                break;
            }
            if (changed) break;
            // 3. No node has moved: add nodes and halve the distance.
            if (phase == PHASE_EVOLVE) {
                const bool added = add_nodes(), halved = distance > 1;
                distance = max(distance / 2, 1);
                changed = added || halved;
                if (changed || !(target.node_cost > 0.0)) break;
                phase = PHASE_PRUNE;
            }
            // 4. Nothing has changed: try removals, from the first subset on.
            removal = true;
            longest = longest_edge();
            number = ~0u;
        }
        // 5. The search ends when nothing has changed, or at the limit.
        if (status == STATUS_RUNNING) {
            if (!changed) status = STATUS_CONVERGED;
            else if (iterations >= job.max_iterations) status = STATUS_ITERATION_LIMIT;
        }
        __syncthreads();
        if (threadIdx.x == 0)
            target.iterations = iterations, target.phase = phase, target.distance = distance, target.status = status;
        __syncthreads();
    }

    // Searches one target after another from the queue until there is none.
    __device__ __forceinline__ void run()
    {
        while (true) {
            // 1. Take the next target from the queue, for the group.
            if (block == 0 && threadIdx.x == 0)
                *static_cast<volatile u32 *>(&control->target_index) = atomicAdd(job.queue, 1u);
            group_barrier(false);
            const u32 index = *static_cast<volatile u32 *>(&control->target_index);
            if (index >= job.target_count) return;
            // 2. Copy it to the block's state.
            const u64 from = static_cast<u64>(index) * job.capacity;
            if (threadIdx.x == 0) target = job.targets[index];
            __syncthreads();
            const bool running = target.status == STATUS_RUNNING;
            if (running) {
                for (u32 i = threadIdx.x; i < target.node_count; i += THREADS) {
                    nodes[i] = next_nodes[i] = job.nodes[from + i];
                    // At the start they are measured.
                    if (target.iterations > 0) edges[i] = job.edges[from + i];
                }
                if (GROUP) clear_sums(buffer_after(1));
                __syncthreads();
                store_boxes<WARPS>();
            }
            group_barrier(false);
            if (!running) continue;
            // 3. Measure a new target, and make the iterations of this launch.
            if (target.iterations == 0) {
                measure();
                if (target.inside.pixels == 0 && threadIdx.x == 0) target.status = STATUS_VANISHED;
                __syncthreads();
            }
            for (u64 done = 0; done < job.launch_iterations && target.status == STATUS_RUNNING; done++) iterate();
            // 4. The first block copies the target back.
            if (block == 0) {
                for (u32 i = threadIdx.x; i < target.node_count; i += THREADS) {
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

// Searches the job's targets. All threads of the grid call it.
template <typename T, bool GROUP>
__device__ __forceinline__ void search(const SearchJob &job)
{
    extern __shared__ uint4 state_memory[];
    __shared__ Searcher<T, GROUP> searcher;
    if (threadIdx.x == 0)
        searcher.assign_memory(job, blockIdx.x / job.blocks_per_target, blockIdx.x % job.blocks_per_target,
                               reinterpret_cast<unsigned char *>(state_memory));
    __syncthreads();
    searcher.run();
}

// Sums over all pixels of each running target's window: a block per target, a thread per row. All threads of the grid
// call it.
template <typename T>
__device__ __forceinline__ void whole_sums(const SearchJob &job)
{
    __shared__ RegionSum parts[ALONE_THREADS / WARP];
    for (u32 index = blockIdx.x; index < job.target_count; index += gridDim.x) {
        DeviceTarget &target = job.targets[index];
        RegionSum sum = {0, 0, 0};
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
