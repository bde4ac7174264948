// What the blocks that search a target together share, and what a block adds up.
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

// As `DeviceTarget` in src/snake/cuda/launch.rs.
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

// As `Job` in src/snake/cuda/launch.rs.
struct isoline_snake_job {
    isoline_snake_image image;
    isoline_snake_target *targets;
    int2 *nodes;                 // of each target, `capacity` apart
    isoline_snake_sum *edges;    // likewise
    unsigned char *scratch;      // of each group, `scratch_bytes` apart
    u64 scratch_bytes;
    Control *controls;           // of each group, all 0
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
