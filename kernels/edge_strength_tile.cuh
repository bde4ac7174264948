// A tile of a 2D image in the registers of a block, for iterations without memory between them: the warps are one below
// the other, with ROWS rows per warp and 4 adjacent columns per lane. Beyond the image the tile holds the mirrored
// image, which is the Neumann border.
#pragma once

#include "common.cuh"
#include "edge_strength.h"

// The first and the last row of each warp, which the neighbouring warps need. There are two sets, one read while the other
// is written, so that a sweep needs only one barrier.
template <int WARPS>
using TileEdges = float4[2][WARPS][2][WARP];

// Replaces every pixel of the tile by update(row, column, pixel, left, right, up, down), computed from the old values.
// `edges` is the set of this sweep, s_edges[number of the sweep % 2]. The outermost pixels of the tile use their own values
// in place of neighbours outside: they are halo, and their results do not matter.
template <int WARPS, int ROWS, typename UPDATE>
__device__ __forceinline__ void tile_sweep(float (&v)[ROWS][TILE_COLUMNS], float4 (&edges)[WARPS][2][WARP],
                                           const UPDATE &update)
{
    constexpr int C = TILE_COLUMNS, R = ROWS;
    static_assert(C == 4, "rows are exchanged as float4");
    const int lane = threadIdx.x, warp = threadIdx.y;

    // Computes a row's new values from its old ones and the old rows above and below; `old` receives its old values,
    // for the row below.
    auto advance = [&](int r, const float(&above)[C], const float(&below)[C], float(&old)[C]) {
        float *row = v[r];
        const float before = __shfl_up_sync(ALL_LANES, row[C - 1], 1);
        const float after = __shfl_down_sync(ALL_LANES, row[0], 1);
        float next[C];
#pragma unroll
        for (int j = 0; j < C; ++j)
            next[j] = update(r, j, row[j], j > 0 ? row[j - 1] : before, j < C - 1 ? row[j + 1] : after, above[j], below[j]);
#pragma unroll
        for (int j = 0; j < C; ++j) old[j] = row[j], row[j] = next[j];
    };

    // 1. The rows that need only the warp's own rows, while the other warps arrive.
    edges[warp][0][lane] = make_float4(v[0][0], v[0][1], v[0][2], v[0][3]);
    edges[warp][1][lane] = make_float4(v[R - 1][0], v[R - 1][1], v[R - 1][2], v[R - 1][3]);
    float old_second[C], old[C], above[C];
#pragma unroll
    for (int j = 0; j < C; ++j) old_second[j] = v[1][j], above[j] = v[0][j];
#pragma unroll
    for (int r = 1; r < R - 1; ++r) {
        advance(r, above, v[r + 1], old);
#pragma unroll
        for (int j = 0; j < C; ++j) above[j] = old[j];
    }

    // 2. The first and the last row. One barrier per sweep suffices: all readers have passed the set that is written
    // next.
    __syncthreads();
    const float4 a = edges[max(warp - 1, 0)][1][lane];
    const float4 b = edges[min(warp + 1, WARPS - 1)][0][lane];
    const float top[C] = {a.x, a.y, a.z, a.w}, bottom[C] = {b.x, b.y, b.z, b.w};
    advance(R - 1, above, bottom, old);
    advance(0, top, old_second, old);
}
