// Keys of pixels: integers that sort as the finite pixels do, so that one pair of integer atomics serves all types.
#pragma once
#include "common.cuh"

constexpr u32 NO_MINIMUM = 0xFFFFFFFFu, NO_MAXIMUM = 0u;

// Returns whether the pixel is finite, and its key.
__device__ __forceinline__ bool sort_key(unsigned char pixel, u32 *key)
{
    *key = pixel;
    return true;
}
__device__ __forceinline__ bool sort_key(unsigned short pixel, u32 *key)
{
    *key = pixel;
    return true;
}
__device__ __forceinline__ bool sort_key(float pixel, u32 *key)
{
    const u32 bits = __float_as_uint(pixel);
    *key = bits ^ (bits & FLOAT_SIGN ? 0xFFFFFFFFu : FLOAT_SIGN);
    return isfinite(pixel);
}

// Extends the range in device memory, range[0] to range[1], by the ranges `low` to `high` of a warp's lanes; a lane without
// a pixel has NO_MINIMUM and NO_MAXIMUM. All lanes call it, and it costs one pair of atomics.
__device__ __forceinline__ void extend_range(u32 low, u32 high, u32 *range)
{
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        low = min(low, __shfl_xor_sync(ALL_LANES, low, step));
        high = max(high, __shfl_xor_sync(ALL_LANES, high, step));
    }
    if (threadIdx.x % WARP == 0 && low != NO_MINIMUM) {
        atomicMin(&range[0], low);
        atomicMax(&range[1], high);
    }
}
