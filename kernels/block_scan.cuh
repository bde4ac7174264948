// An exclusive prefix sum over the threads of a block, for kernels that give numbers to their results.
#pragma once

#include "common.cuh"

// Returns the sum of `value` over the block's threads before this one, and the sum over all THREADS threads.
template <u32 THREADS>
__device__ __forceinline__ u64 block_exclusive_sum(u64 value, u64 *total)
{
    __shared__ u64 of_warps[THREADS / WARP];
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const u64 up_to_here = lanes_inclusive_sum(value, lane);
    if (lane == WARP - 1) of_warps[warp] = up_to_here;
    __syncthreads();
    u64 before = up_to_here - value;
    *total = 0;
    for (u32 other = 0; other < THREADS / WARP; ++other) {
        if (other < warp) before += of_warps[other];
        *total += of_warps[other];
    }
    __syncthreads();   // The next use overwrites the sums.
    return before;
}
