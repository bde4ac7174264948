// A block's state of the target that it searches, and the subsets of nodes that are tried together.
#pragma once
#include "snake_criterion.cuh"
#include "snake_polygon.cuh"
#include "snake_sums.cuh"
#include "snake_territory.cuh"

// The phases of a search. In PHASE_EVOLVE nodes move and are added; in PHASE_PRUNE they move by one pixel and are
// removed.
enum { PHASE_EVOLVE, PHASE_PRUNE };

// Returns the number of sums in a buffer: two edges for each candidate position of each node of a subset, which has at most
// half of all nodes plus one.
__device__ __forceinline__ u64 sums_per_buffer(u32 count)
{
    return (static_cast<u64>(count) / 2 + 1) * CANDIDATE_COUNT * 2;
}

// Returns the direction from a node to one of its eight candidate positions: `CANDIDATES` of src/snake/search.rs. In a
// tie the smaller number wins.
__device__ __forceinline__ int2 candidate_offset(int candidate)
{
    // x: 1 1 0 -1 -1 -1 0 1, y: 0 1 1 1 0 -1 -1 -1, as two bits each, plus one.
    return make_int2(static_cast<int>((0x901Au >> (2 * candidate)) & 3u) - 1,
                     static_cast<int>((0x01A9u >> (2 * candidate)) & 3u) - 1);
}

// A Subset is the nodes whose changes, moves or removals, are sought on the same polygon: `first`, `first + stride` (1 or
// 2), ... below `end`. An *item* is the number of a node within its subset.
struct Subset {
    u32 first, stride, end;
    bool removal;

    // Returns the number of items.
    __device__ u32 size() const { return first < end ? (end - first + stride - 1) >> (stride - 1) : 0; }

    // Returns the index of an item's node.
    __device__ u32 node(u32 item) const { return first + item * stride; }
};

constexpr u32 NUMBERS_PER_SUM = sizeof(RegionSum) / sizeof(i64);

// Choices are the best change of each item of a subset.
struct Choices {
    RegionSum *new_edges;   // two per item: the edges before and after the node once it is changed
    double *cost;           // the criterion after this change alone
    signed char *choice;    // the candidate position, 0 for a removal; -1: the item has no change
};

// A BlockState is a thread block's view of the target that it searches. The struct lies in static shared memory; the
// arrays that it points to lie in dynamic shared memory where they fit, else in the group's workspace in device memory.
// Thread 0 writes the struct between two barriers of the block, except `change_count`, to which all may add, and the
// result of tried changes.
//
// Every block of a group has its own copy of the polygon and makes every decision itself, all in the same way; only the
// sums over edges, and the choices of large subsets, are computed by the group together.
struct BlockState {
    SearchJob job;
    GroupControl *control;
    RegionSum *sum_buffers;   // the group's SUM_BUFFERS buffers, in device memory
    u32 block, blocks;        // the block's number in its group; the blocks of the group
    u32 barriers_passed;      // of the group's, in this launch
    u32 current_buffer;       // the buffer whose sums are complete
    DeviceTarget target;
    // Arrays by node. The edge of a node is the one from it to the next node.
    RegionSum *edges;
    int2 *nodes, *next_nodes;   // `next_nodes` differs from `nodes` only while a change is tried
    EdgesBox *boxes;            // by BOX_EDGES nodes
    // Arrays by item of the current subset: Choices, and what follows from them.
    RegionSum *new_edges;
    Change *changes;
    double *cost;
    u32 *rank;   // the number of changes that are better
    signed char *choice;
    Choices group_choices;   // of a subset that is split among the group's blocks, in device memory
    u32 change_count;        // the items that have a change
    // The result of the changes that are tried together.
    RegionSum tried_inside;
    i64 tried_area;
    double tried_cost;

    // Fills the struct for block `own` of a group, and divides the group's workspace and `shared`, the dynamic shared
    // memory, into arrays. `Geometry` in src/snake/cuda/launch.rs adds up the same sizes. Thread 0 calls it.
    __device__ void assign_memory(const SearchJob &all, u32 group, u32 own, unsigned char *shared)
    {
        job = all;
        control = all.controls + group;
        block = own, blocks = all.blocks_per_target;
        barriers_passed = 0, current_buffer = 0;
        // 1. Memory that the blocks of the group share.
        unsigned char *at = all.workspace + group * all.workspace_bytes;
        sum_buffers = reinterpret_cast<RegionSum *>(at);
        at += SUM_BUFFERS * sums_per_buffer(all.capacity) * sizeof(RegionSum);
        const u64 n = all.capacity, items = n / 2 + 1;
        group_choices.new_edges = reinterpret_cast<RegionSum *>(at), at += 2 * items * sizeof(RegionSum);
        group_choices.cost = reinterpret_cast<double *>(at), at += (items + 1) / 2 * 2 * sizeof(double);
        group_choices.choice = reinterpret_cast<signed char *>(at), at += (items + 15) / 16 * 16;
        // 2. The block's own arrays.
        at = all.state_in_shared_memory ? shared : at + static_cast<u64>(block) * all.state_bytes;
        boxes = reinterpret_cast<EdgesBox *>(at), at += (n / BOX_EDGES + 1) * sizeof(EdgesBox);
        edges = reinterpret_cast<RegionSum *>(at), at += n * sizeof(RegionSum);
        new_edges = reinterpret_cast<RegionSum *>(at), at += 2 * items * sizeof(RegionSum);
        changes = reinterpret_cast<Change *>(at), at += items * sizeof(Change);
        nodes = reinterpret_cast<int2 *>(at), at += n * sizeof(int2);
        next_nodes = reinterpret_cast<int2 *>(at), at += n * sizeof(int2);
        cost = reinterpret_cast<double *>(at), at += items * sizeof(double);
        rank = reinterpret_cast<u32 *>(at), at += items * sizeof(u32);
        choice = reinterpret_cast<signed char *>(at);
    }

    // The following functions work for one thread by itself, except `cost_of`.

    // Return the nodes after and before node i.
    __device__ u32 next_of(u32 i) const { return i + 1 == target.node_count ? 0 : i + 1; }
    __device__ u32 previous_of(u32 i) const { return i == 0 ? target.node_count - 1 : i - 1; }

    // Returns whether p lies within the target's window or on its border.
    __device__ bool in_bounds(int2 p) const
    {
        return target.x0 <= p.x && p.x <= target.x1 && target.y0 <= p.y && p.y <= target.y1;
    }

    // Returns a candidate position of a node.
    __device__ int2 moved(u32 node, int candidate) const
    {
        const int2 here = nodes[node], offset = candidate_offset(candidate);
        return make_int2(here.x + offset.x * target.distance, here.y + offset.y * target.distance);
    }

    // Returns the criterion of a polygon with this sum inside, without the cost of the nodes. All lanes of a warp call
    // it: each computes the cost of one region, and lanes whose numbers differ only in the bit BIT, which have the same
    // `inside`, add theirs.
    template <u32 BIT>
    __device__ double cost_of(const RegionSum &inside) const
    {
        const RegionSum region = threadIdx.x & BIT ? target.whole - inside : inside;
        const double mine = region_cost(job.noise, job.looks, region);
        return __dadd_rn(mine, __shfl_xor_sync(ALL_LANES, mine, BIT));
    }

    // Returns the sum of the two edges at node i.
    __device__ RegionSum edges_at(u32 i) const { return edges[previous_of(i)] + edges[i]; }

    // Returns by how much twice the polygon's area grows when node i moves to a candidate position, or goes.
    __device__ i64 area_change(u32 i, int candidate, bool removal) const
    {
        const int2 p = nodes[previous_of(i)], q = nodes[i], r = nodes[next_of(i)];
        const i64 before = cross_product(p, q) + cross_product(q, r);
        if (removal) return cross_product(p, r) - before;
        const int2 to = moved(i, candidate);
        return cross_product(p, to) + cross_product(to, r) - before;
    }

    // Returns whether edge i is so long that it gets another node.
    __device__ bool is_long(u32 i) const
    {
        const int2 a = nodes[i], b = nodes[next_of(i)];
        const i64 dx = b.x - a.x, dy = b.y - a.y;
        return dx * dx + dy * dy > target.spacing_squared;
    }

    // Returns half of a sum of coordinates, rounded down.
    __device__ static int half_down(int sum) { return sum >> 1; }

    // Returns the middle of edge i, rounded to a pixel corner.
    __device__ int2 middle_of(u32 i) const
    {
        const int2 a = nodes[i], b = nodes[next_of(i)];
        return make_int2(half_down(a.x + b.x), half_down(a.y + b.y));
    }
};
