// The initial mask in bytes.
#pragma once
#include "level_set.h"

// Converts the initial mask, the caller's pixels in device memory, to packed bytes at `to`: 1 where the pixel is above 0,
// else 0, also for NaN. A warp has a row; each pixel is read once. The caller is an entry point with LOOP_WARPS warps a
// block.
template <typename PIXEL>
__device__ __forceinline__ void marks(const unsigned char *mask, u64 row_stride, u64 slice_stride, u32 width, u32 height,
                                      u32 depth, unsigned char *to)
{
    const u64 rows = static_cast<u64>(height) * depth, warps = static_cast<u64>(gridDim.x) * LOOP_WARPS;
    for (u64 row = static_cast<u64>(blockIdx.x) * LOOP_WARPS + threadIdx.x / WARP; row < rows; row += warps) {
        const unsigned char *line = mask + row / height * slice_stride + row % height * row_stride;
        for (u32 x = threadIdx.x % WARP; x < width; x += WARP)
            to[row * width + x] = reinterpret_cast<const PIXEL *>(line)[x] > PIXEL{} ? 1 : 0;
    }
}
