// The job of a search of region snakes as the host gives it, and one target's state within a block.
#pragma once
#include "snake_criterion.cuh"
#include "snake_polygon.cuh"
#include "snake_sums.cuh"

enum { PHASE_EVOLVE, PHASE_PRUNE };

// Returns the number of sums in a buffer: 16 for each node of a subset, which has at most half of all nodes and one.
__device__ __forceinline__ u64 sums_per_buffer(u32 count)
{
    return (static_cast<u64>(count) / 2 + 1) * CANDIDATE_COUNT * 2;
}

// The eight candidate positions around a node, in the order in which a tie is decided.
__device__ __forceinline__ int2 candidate_offset(int candidate)
{
    // x: 1 1 0 -1 -1 -1 0 1, y: 0 1 1 1 0 -1 -1 -1, as two bits each, plus one.
    return make_int2(static_cast<int>((0x901Au >> (2 * candidate)) & 3u) - 1, static_cast<int>((0x01A9u >> (2 * candidate)) & 3u) - 1);
}

// The nodes that are tried together: `first`, `first + stride` (1 or 2), ... below `end`.
struct Subset {
    u32 first, stride, end;
    bool removal;

    __device__ u32 size() const { return first < end ? (end - first + stride - 1) >> (stride - 1) : 0; }
    __device__ u32 node(u32 item) const { return first + item * stride; }
};

constexpr u32 NUMBERS_PER_SUM = sizeof(isoline_snake_sum) / sizeof(i64);

// The best changes of a subset's nodes.
struct Choices {
    isoline_snake_sum *new_edges;   // two per item: the edges of the changed polygon
    double *cost;
    signed char *choice;         // the candidate, 0 for a removal; -1: none
};

// A block's view of one target. It lies in shared memory; thread 0 writes it, between barriers.
//
// Every block of a group has its own copy of the polygon and makes every decision itself, all in the same way; only the
// sums over edges are shared.
struct State {
    isoline_snake_job job;       // a copy in shared memory
    Control *control;
    isoline_snake_sum *sums;   // the group's SUM_BUFFERS buffers
    u32 block, blocks;         // of the group
    u32 generation;            // the number of the group's barriers that are passed
    u32 sum_buffer;
    isoline_snake_target target;
    // These are indexed by node.
    isoline_snake_sum *edges;
    int2 *nodes, *next_nodes;   // next_nodes differs from nodes only while a change is tried
    Box *boxes;                 // by BOX_EDGES nodes
    // These are indexed by item of a subset.
    isoline_snake_sum *new_edges;
    Change *changes;
    double *cost;
    u32 *rank;
    signed char *choice;
    Choices shared_choices;   // the group's, in global memory
    u32 winners;              // items that have a change
    // The result of the changes that are tried.
    isoline_snake_sum tried_inside;
    i64 tried_area;
    double tried_cost;

    // Assigns the block's part of the memory. `state_bytes` on the host repeats this.
    __device__ void assign_memory(const isoline_snake_job &all, u32 group, u32 own, unsigned char *shared)
    {
        job = all;
        control = all.controls + group;
        block = own, blocks = all.blocks_per_group;
        generation = 0, sum_buffer = 0;
        unsigned char *at = all.workspace + group * all.workspace_bytes;
        sums = reinterpret_cast<isoline_snake_sum *>(at);
        at += SUM_BUFFERS * sums_per_buffer(all.capacity) * sizeof(isoline_snake_sum);
        const u64 n = all.capacity, items = n / 2 + 1;
        shared_choices.new_edges = reinterpret_cast<isoline_snake_sum *>(at),
        at += 2 * items * sizeof(isoline_snake_sum);
        shared_choices.cost = reinterpret_cast<double *>(at), at += (items + 1) / 2 * 2 * sizeof(double);
        shared_choices.choice = reinterpret_cast<signed char *>(at), at += (items + 15) / 16 * 16;
        at = all.state_in_shared_memory ? shared : at + static_cast<u64>(block) * all.state_bytes;
        boxes = reinterpret_cast<Box *>(at), at += (n / BOX_EDGES + 1) * sizeof(Box);
        edges = reinterpret_cast<isoline_snake_sum *>(at), at += n * sizeof(isoline_snake_sum);
        new_edges = reinterpret_cast<isoline_snake_sum *>(at), at += 2 * items * sizeof(isoline_snake_sum);
        changes = reinterpret_cast<Change *>(at), at += items * sizeof(Change);
        nodes = reinterpret_cast<int2 *>(at), at += n * sizeof(int2);
        next_nodes = reinterpret_cast<int2 *>(at), at += n * sizeof(int2);
        cost = reinterpret_cast<double *>(at), at += items * sizeof(double);
        rank = reinterpret_cast<u32 *>(at), at += items * sizeof(u32);
        choice = reinterpret_cast<signed char *>(at);
    }

    __device__ u32 next_of(u32 i) const { return i + 1 == target.count ? 0 : i + 1; }
    __device__ u32 previous_of(u32 i) const { return i == 0 ? target.count - 1 : i - 1; }

    __device__ bool in_bounds(int2 p) const
    {
        return target.x0 <= p.x && p.x <= target.x1 && target.y0 <= p.y && p.y <= target.y1;
    }

    __device__ int2 moved(u32 node, int candidate) const
    {
        const int2 here = nodes[node], offset = candidate_offset(candidate);
        return make_int2(here.x + offset.x * target.distance, here.y + offset.y * target.distance);
    }

    // Returns the cost of a split with this inside. The lanes whose numbers differ in bit BIT share the work and both
    // get the cost.
    template <u32 BIT>
    __device__ double cost_of(const isoline_snake_sum &inside) const
    {
        const isoline_snake_sum region = threadIdx.x & BIT ? target.whole - inside : inside;
        const double mine = region_cost(job.noise, job.looks, region);
        return __dadd_rn(mine, __shfl_xor_sync(ALL_LANES, mine, BIT));
    }

    // Returns the share of a node's edges in the sum.
    __device__ isoline_snake_sum edges_at(u32 i) const { return edges[previous_of(i)] + edges[i]; }

    // Returns twice the area that a change of one node adds.
    __device__ i64 area_change(u32 i, int candidate, bool removal) const
    {
        const int2 p = nodes[previous_of(i)], q = nodes[i], r = nodes[next_of(i)];
        const i64 before = cross_product(p, q) + cross_product(q, r);
        if (removal) return cross_product(p, r) - before;
        const int2 to = moved(i, candidate);
        return cross_product(p, to) + cross_product(to, r) - before;
    }

    __device__ bool is_long(u32 i) const
    {
        const int2 a = nodes[i], b = nodes[next_of(i)];
        const i64 dx = b.x - a.x, dy = b.y - a.y;
        return dx * dx + dy * dy > job.spacing_squared;
    }

    __device__ static int half_down(int sum) { return sum >> 1; }

    __device__ int2 middle_of(u32 i) const
    {
        const int2 a = nodes[i], b = nodes[next_of(i)];
        return make_int2(half_down(a.x + b.x), half_down(a.y + b.y));
    }
};
