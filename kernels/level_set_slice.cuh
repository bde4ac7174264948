// An iteration of half a slice's tile: 16 x 8 pixels per warp, a column of four rows per lane.
#pragma once
#include "level_set_tile.cuh"

constexpr int SLICE_HALF = TILE_SLICE / 2;   // rows of a warp
constexpr int SLICE_ROW = 20;                // floats of a row in shared memory, which begins at the tile's pixel -1
constexpr int SLICE_ROWS = 4;                // rows of a lane
constexpr int SLICE_SHARED = (SLICE_HALF + 2) * SLICE_ROW;   // floats of a warp

// Starts the copy of half a slice's tile with its halo from phi to shared memory; all lanes of a warp call it, and wait
// for it later.
__device__ __forceinline__ void load_slice_half(float *shared, const float *from, const LevelSetSetup &setup,
                                                TileIndex t, u32 half, u32 lane)
{
    const float *plane = from + static_cast<u64>(t.z) * setup.height * setup.pitch;
    const int y0 = static_cast<int>(t.y * TILE_SLICE + half * SLICE_HALF) - 1;
    constexpr u32 QUADS = SLICE_ROW / 4;
    for (u32 i = lane; i < (SLICE_HALF + 2) * QUADS; i += WARP) {
        const u32 row = i / QUADS, quad = i % QUADS;
        const u32 y = static_cast<u32>(clamp_index(y0 + static_cast<int>(row), static_cast<int>(setup.height)));
        // The last four elements may lie in the next row, or after the last row: that memory exists and is not used.
        __pipeline_memcpy_async(shared + row * SLICE_ROW + quad * 4,
                                plane + y * setup.pitch + t.x * TILE_SLICE + quad * 4, sizeof(float4));
    }
    __pipeline_commit();
}

// Does an iteration of half a slice's tile, from shared memory, phi `from` and the image to phi `to`; all lanes of a warp
// call it after load_slice_half().
template <typename PIXEL, bool UNIT>
__device__ __forceinline__ void update_slice_half(const float *shared, const float *from, float *to, const PIXEL *image,
                                                  const LevelSetSetup &setup, TileIndex t, u32 half, u32 lane,
                                                  PartialStatistics &stats, TileActivity &activity)
{
    const u32 column = lane % TILE_SLICE, first = lane / TILE_SLICE * SLICE_ROWS;
    const float *at = shared + (first + 1) * SLICE_ROW + column + 1;
    const u32 x = t.x * TILE_SLICE + column, y = t.y * TILE_SLICE + half * SLICE_HALF + first;
    const u64 place = (static_cast<u64>(t.z) * setup.height + y) * setup.pitch + x + LEAD;
    const int rows =
        x < setup.width ? min(max(static_cast<int>(setup.height) - static_cast<int>(y), 0), SLICE_ROWS) : 0;
    PIXEL pixel[SLICE_ROWS];
#pragma unroll
    for (int i = 0; i < SLICE_ROWS; ++i) pixel[i] = i < rows ? image[place + i * setup.pitch] : PIXEL(0);
    __pipeline_wait_prior(0);
    __syncwarp();

    auto wide_x = [&](const float *p) { return scaled<UNIT>(__fsub_rn(p[1], p[-1]), setup.inv_dx); };
    auto wide_y = [&](const float *p) { return scaled<UNIT>(__fsub_rn(p[SLICE_ROW], p[-SLICE_ROW]), setup.inv_dy); };
    float low_dy = difference4<UNIT>(at[0], __fmul_rn(4.0f, at[-SLICE_ROW]), setup.inv_dy);
    float low_y = face_normal(low_dy, __fadd_rn(wide_x(at - SLICE_ROW), wide_x(at)));
    float wide_x_here = wide_x(at);
    float *out = to + place;
#pragma unroll
    for (int i = 0; i < SLICE_ROWS; ++i) {
        const float *p = at + i * SLICE_ROW;
        const float old = p[0], here4 = __fmul_rn(4.0f, old);
        const float wide_x_after = wide_x(p + SLICE_ROW), wide_y_here = wide_y(p);
        const float low_dx = scaled<UNIT>(__fmaf_rn(-4.0f, p[-1], here4), setup.inv_dx);
        const float dx = difference4<UNIT>(p[1], here4, setup.inv_dx),
                    dy = difference4<UNIT>(p[SLICE_ROW], here4, setup.inv_dy);
        const float low_x = face_normal(low_dx, __fadd_rn(wide_y(p - 1), wide_y_here));
        const float nx = face_normal(dx, __fadd_rn(wide_y_here, wide_y(p + 1))),
                    ny = face_normal(dy, __fadd_rn(wide_x_here, wide_x_after));
        float divergence = scaled<UNIT>(__fsub_rn(nx, low_x), setup.inv_dx);
        divergence = __fadd_rn(divergence, scaled<UNIT>(__fsub_rn(ny, low_y), setup.inv_dy));
        VoxelUpdate update(setup, old, divergence, pixel[i]);
        const Farther<UNIT, const float *> farther{setup, from, static_cast<int>(x), static_cast<int>(y) + i, static_cast<int>(t.z),
                                    {{p[-1], p[1]}, {p[-SLICE_ROW], p[SLICE_ROW]}, {}}};
        update.add_axis(0, dx, -low_dx, farther);
        update.add_axis(1, dy, -low_dy, farther);
        low_y = ny, low_dy = dy, wide_x_here = wide_x_after;
        const float result = update.result(setup);
        if (i >= rows) continue;
        out[0] = result;
        if (x == 0) out[-1] = result;
        if (x + 1 == setup.width) out[1] = result;
        out += setup.pitch;
        const u32 row = half * SLICE_HALF + first + static_cast<u32>(i);
        const u32 in_plane =
            affected_in_plane(affected_along_axis<TILE_SLICE>(column), affected_along_axis<TILE_SLICE>(row));
        activity.record(setup, old, result, affected_tiles(in_plane, OWN_TILE));
        stats.add(setup, old, result);
    }
}

// Copies half a slice's tile from one phi to the other; all lanes of a warp call it.
__device__ __forceinline__ void copy_slice_half(const float *from, float *to, const LevelSetSetup &setup, TileIndex t,
                                                u32 half, u32 lane)
{
    const u32 x = t.x * TILE_SLICE + lane % TILE_SLICE, y0 = t.y * TILE_SLICE + half * SLICE_HALF + lane / TILE_SLICE;
    copy_elements<SLICE_ROWS>(from, to, setup, x, [&](u32 i) {
        const u32 y = y0 + i * (WARP / TILE_SLICE);
        if (x >= setup.width || y >= setup.height) return NO_ELEMENT;
        return static_cast<u64>(t.z * setup.height + y) * setup.pitch + x + LEAD;
    });
}
