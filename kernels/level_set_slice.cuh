// An iteration of half a tile of a slice: 16 x 8 pixels a warp, a column of four rows a lane.
#pragma once
#include "level_set_tile.cuh"

constexpr int SLICE_HALF = TILE_SLICE / 2;   // rows of a warp
constexpr int SLICE_ROW = 20;                // shared rows begin at the tile's pixel -1
constexpr int SLICE_ROWS = 4;                // of a lane
constexpr int SLICE_SHARED = (SLICE_HALF + 2) * SLICE_ROW;

__device__ __forceinline__ void load_slice_half(float *shared, const float *from, const LevelSetField &field, TilePlace t,
                                                u32 half, u32 lane)
{
    const float *plane = from + static_cast<u64>(t.z) * field.height * field.pitch;
    const int y0 = static_cast<int>(t.y * TILE_SLICE + half * SLICE_HALF) - 1;
    constexpr u32 QUADS = SLICE_ROW / 4;
    for (u32 i = lane; i < (SLICE_HALF + 2) * QUADS; i += WARP) {
        const u32 row = i / QUADS, quad = i % QUADS;
        const u32 y = static_cast<u32>(clamp_index(y0 + static_cast<int>(row), static_cast<int>(field.height)));
        // The last quad may lie in the next row, or behind the last one: it is there, and not used.
        copy_async<16>(shared + row * SLICE_ROW + quad * 4, plane + y * field.pitch + t.x * TILE_SLICE + quad * 4);
    }
    copy_async_commit();
}

template <typename PIXEL, bool UNIT>
__device__ __forceinline__ void update_slice_half(const float *shared, float *to, const PIXEL *image,
                                                  const LevelSetField &field, TilePlace t, u32 half, u32 lane, Tally &tally,
                                                  TileNews &news)
{
    const u32 column = lane % TILE_SLICE, first = lane / TILE_SLICE * SLICE_ROWS;
    const float *at = shared + (first + 1) * SLICE_ROW + column + 1;
    const u32 x = t.x * TILE_SLICE + column, y = t.y * TILE_SLICE + half * SLICE_HALF + first;
    const u64 place = (static_cast<u64>(t.z) * field.height + y) * field.pitch + x + LEAD;
    const int rows = x < field.width ? min(max(static_cast<int>(field.height) - static_cast<int>(y), 0), SLICE_ROWS) : 0;
    PIXEL pixel[SLICE_ROWS];
#pragma unroll
    for (int i = 0; i < SLICE_ROWS; ++i) pixel[i] = i < rows ? image[place + i * field.pitch] : PIXEL(0);
    copy_async_wait<0>();
    __syncwarp();

    auto wide_x = [&](const float *p) { return per<UNIT>(__fsub_rn(p[1], p[-1]), field.step_x); };
    auto wide_y = [&](const float *p) { return per<UNIT>(__fsub_rn(p[SLICE_ROW], p[-SLICE_ROW]), field.step_y); };
    float low_dy = four<UNIT>(at[0], __fmul_rn(4.0f, at[-SLICE_ROW]), field.step_y);
    float low_y = normal(low_dy, __fadd_rn(wide_x(at - SLICE_ROW), wide_x(at)));
    float here_x = wide_x(at);
    float *out = to + place;
#pragma unroll
    for (int i = 0; i < SLICE_ROWS; ++i) {
        const float *p = at + i * SLICE_ROW;
        const float old = p[0], four_ = __fmul_rn(4.0f, old), after_x = wide_x(p + SLICE_ROW), here_y = wide_y(p);
        const float low_dx = per<UNIT>(__fmaf_rn(-4.0f, p[-1], four_), field.step_x);
        const float dx = four<UNIT>(p[1], four_, field.step_x), dy = four<UNIT>(p[SLICE_ROW], four_, field.step_y);
        const float low_x = normal(low_dx, __fadd_rn(wide_y(p - 1), here_y));
        const float nx = normal(dx, __fadd_rn(here_y, wide_y(p + 1))), ny = normal(dy, __fadd_rn(here_x, after_x));
        float curve = per<UNIT>(__fsub_rn(nx, low_x), field.step_x);
        curve = __fadd_rn(curve, per<UNIT>(__fsub_rn(ny, low_y), field.step_y));
        Motion motion(field, old, curve, image_term(field, pixel[i]));
        motion.side(dx);
        motion.side(-low_dx);
        motion.side(dy);
        motion.side(-low_dy);
        low_y = ny, low_dy = dy, here_x = after_x;
        const float result = motion.result();
        if (i >= rows) continue;
        out[0] = result;
        if (x == 0) out[-1] = result;
        if (x + 1 == field.width) out[1] = result;
        out += field.pitch;
        const u32 row = half * SLICE_HALF + first + static_cast<u32>(i);
        news.see(field, old, result, spread(reached_along<TILE_SLICE>(column), reached_along<TILE_SLICE>(row), 3) << 9);
        tally.add(field, old, result);
    }
}

// The elements of half a tile from one phi to the other.
__device__ __forceinline__ void copy_slice_half(const float *from, float *to, const LevelSetField &field, TilePlace t,
                                                u32 half, u32 lane)
{
    const u32 x = t.x * TILE_SLICE + lane % TILE_SLICE, y0 = t.y * TILE_SLICE + half * SLICE_HALF + lane / TILE_SLICE;
    copy_elements<SLICE_ROWS>(from, to, field, x, [&](u32 i) {
        const u32 y = y0 + i * (WARP / TILE_SLICE);
        if (x >= field.width || y >= field.height) return NOWHERE;
        return static_cast<u64>(t.z * field.height + y) * field.pitch + x + LEAD;
    });
}
