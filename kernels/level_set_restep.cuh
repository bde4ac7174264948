// One step of a reinitialisation, a piece of a tile a warp: second-order differences, so two voxels of halo.
#pragma once
#include "level_set_slice.cuh"

// Shared rows begin five pixels before the tile, which LEAD puts on 16 bytes.
constexpr int RESTEP_LEAD = 5, RESTEP_HALO = 2;

// 1 / |grad phi| beside the front is left alone within these.
constexpr float FLAT_LEAST = 0.95f, FLAT_MOST = 1.0526316f;

// A volume: up to 8 x 8 x 4 voxels, two rows a lane. A slice: 16 x 8, four rows a lane.
template <bool VOLUME>
struct RestepShape {
    static constexpr int SIDE = VOLUME ? TILE : TILE_SLICE;
    static constexpr int COLUMNS = SIDE + RESTEP_LEAD + 3;              // loaded
    static constexpr int ROW = VOLUME ? 20 : 28;                        // free of bank conflicts
    static constexpr int OWN_ROWS = VOLUME ? TILE : SLICE_HALF;
    static constexpr int ROWS = OWN_ROWS + 2 * RESTEP_HALO;
    static constexpr int PLANES = VOLUME ? HALF + 2 * RESTEP_HALO : 1;
    static constexpr int PLANE = ROWS * ROW;
    static constexpr int SHARED = PLANES * PLANE;
    static constexpr int LANE_ROWS = VOLUME ? 2 : SLICE_ROWS;
};

template <bool VOLUME>
__device__ __forceinline__ void load_restep(float *shared, const float *from, const LevelSetField &field, const Piece &of,
                                            u32 lane)
{
    using S = RestepShape<VOLUME>;
    // Lanes beside each other copy pieces of one row, which is one request. Of a volume a warp takes 8 rows at once, two
    // planes in three turns.
    constexpr u32 QUADS = S::COLUMNS / 4, AT_ONCE = WARP / QUADS, TOGETHER = VOLUME ? 2 : 1, TURNS = 3;
    static_assert(AT_ONCE * TURNS >= S::ROWS * TOGETHER && S::PLANES % TOGETHER == 0, "all rows are copied");
    const TilePlace t = of.t;
    const int z0 = VOLUME ? static_cast<int>(t.z * TILE + of.first) - RESTEP_HALO : static_cast<int>(t.z);
    const int y0 = static_cast<int>(t.y * S::SIDE + (VOLUME ? 0 : of.first)) - RESTEP_HALO;
    // Four elements before the first row there is room; what is not a pixel's is replaced below.
    const float *column = from + t.x * S::SIDE + lane % QUADS * 4 - 4;
#pragma unroll
    for (u32 turn = 0; turn < TURNS; ++turn) {
        const u32 row = lane / QUADS + turn * AT_ONCE;
        if (lane >= QUADS * AT_ONCE || row >= S::ROWS * TOGETHER) continue;
        const u32 y = clamp_index(y0 + static_cast<int>(row % S::ROWS), static_cast<int>(field.height));
#pragma unroll
        for (u32 k = 0; k < S::PLANES; k += TOGETHER) {
            if (VOLUME && k >= of.planes + 2 * RESTEP_HALO) break;
            const u32 z = clamp_index(z0 + static_cast<int>(k + row / S::ROWS), static_cast<int>(field.depth));
            copy_async<16>(shared + (k * S::ROWS + row) * S::ROW + lane % QUADS * 4,
                           column + static_cast<u64>(z * field.height + y) * field.pitch);
        }
    }
    copy_async_commit();
    copy_async_wait<0>();
    __syncwarp();
    // Of the two columns beyond a border the copies beside it fill one.
    const int last = static_cast<int>(field.width - t.x * S::SIDE) + RESTEP_LEAD;   // the copy of the last pixel
    if (t.x == 0 || last + 1 < S::COLUMNS) {
        for (u32 i = lane; i < S::PLANES * S::ROWS; i += WARP) {
            float *row = shared + i * S::ROW;
            if (t.x == 0) row[RESTEP_LEAD - 2] = row[RESTEP_LEAD - 1];
            if (last + 1 < S::COLUMNS) row[last + 1] = row[last];
        }
        __syncwarp();
    }
}

__device__ __forceinline__ float minmod(float a, float b)
{
    return __fmul_rn(a, b) > 0.0f ? (fabsf(a) < fabsf(b) ? a : b) : 0.0f;
}

// The larger square of the second-order one-sided differences towards the front along one axis: its five values.
template <bool UNIT>
__device__ __forceinline__ float outwards(bool inside, float b2, float b1, float here, float a1, float a2, float step)
{
    const float forward = per<UNIT>(__fsub_rn(a1, here), step), backward = per<UNIT>(__fsub_rn(here, b1), step);
    const float middle = __fsub_rn(forward, backward);
    const float after = __fsub_rn(per<UNIT>(__fsub_rn(a2, a1), step), forward);
    const float before = __fsub_rn(backward, per<UNIT>(__fsub_rn(b1, b2), step));
    const float f = __fmaf_rn(minmod(middle, after), -0.5f, forward);
    const float b = __fmaf_rn(minmod(middle, before), 0.5f, backward);
    const float back = fmaxf(inside ? -b : b, 0.0f), fore = fminf(inside ? -f : f, 0.0f);
    return fmaxf(__fmul_rn(back, back), __fmul_rn(fore, fore));
}

// phi beside the front, scaled to a gradient within a twentieth of 1; `square`: of the wide gradient.
__device__ __forceinline__ float recentred(float square, float old, const LevelSetField &field)
{
    const float flatness = __fmul_rn(static_cast<float>(2.0 * ROOT_UNIT), inverse_root(square));
    const float scale = flatness < FLAT_LEAST  ? __fmul_rn(flatness, FLAT_MOST)
                        : flatness > FLAT_MOST ? __fmul_rn(flatness, FLAT_LEAST)
                                               : 1.0f;
    return within(__fmul_rn(old, scale), field.near);
}

// Half a tile of a slice. `first`: pixels beside the front are scaled to a gradient within a twentieth of 1; later they
// stay. Returns whether a pixel is within the band.
template <bool UNIT>
__device__ __forceinline__ bool restep_slice_half(const float *shared, float *to, const LevelSetField &field, const Piece &of,
                                                  u32 lane, bool first)
{
    using S = RestepShape<false>;
    const u32 column = lane % S::SIDE, first_row = lane / S::SIDE * S::LANE_ROWS;
    const u32 x = of.t.x * S::SIDE + column, y = of.t.y * S::SIDE + of.first + first_row;
    const int rows = x < field.width ? min(max(static_cast<int>(field.height) - static_cast<int>(y), 0), S::LANE_ROWS) : 0;
    const float *at = shared + (RESTEP_HALO + first_row) * S::ROW + RESTEP_LEAD + column;
    float *out = to + (static_cast<u64>(of.t.z) * field.height + y) * field.pitch + x + LEAD;
    bool near = false;
#pragma unroll
    for (int i = 0; i < S::LANE_ROWS; ++i) {
        if (i >= rows) break;
        const float *p = at + i * S::ROW;
        const float old = p[0], left = p[-1], right = p[1], up = p[-S::ROW], down = p[S::ROW];
        const bool inside = old < 0.0f;
        const bool beside = (left < 0.0f) != inside || (right < 0.0f) != inside || (up < 0.0f) != inside ||
                            (down < 0.0f) != inside;
        float result = old;
        if (!beside) {
            float square = __fadd_rn(TINY, outwards<UNIT>(inside, p[-2], left, old, right, p[2], field.step_x));
            square = __fadd_rn(square, outwards<UNIT>(inside, p[-2 * S::ROW], up, old, down, p[2 * S::ROW], field.step_y));
            const float slope = root(square);
            const float change = __fmul_rn(__fsub_rn(1.0f, slope), field.restep);
            const float next = inside ? __fsub_rn(old, change) : __fadd_rn(old, change);
            if ((next < 0.0f) == inside) result = next;
        } else if (first) {
            const float wx = per<UNIT>(__fsub_rn(right, left), field.step_x);
            const float wy = per<UNIT>(__fsub_rn(down, up), field.step_y);
            result = recentred(__fmaf_rn(wy, wy, __fmaf_rn(wx, wx, TINY)), old, field);
        }
        float *line = out + i * field.pitch;
        line[0] = result;
        if (x == 0) line[-1] = result;
        if (x + 1 == field.width) line[1] = result;
        near = near || fabsf(result) <= field.reach;
    }
    return near;
}

// Across a face: the first difference, and the lesser of the second differences on its two sides.
struct Face {
    float slope, curve;
};

// As outwards(): from the faces before and after a voxel; `sign` is its own.
__device__ __forceinline__ float outwards(float sign, Face before, Face after)
{
    const float back = __fmul_rn(sign, __fmaf_rn(before.curve, 0.5f, before.slope));
    const float fore = __fmul_rn(sign, __fmaf_rn(after.curve, -0.5f, after.slope));
    const float larger = fmaxf(fmaxf(back, -fore), 0.0f);
    return __fmul_rn(larger, larger);
}

// The inner N - 3 faces of N voxels in a row.
template <bool UNIT, int N>
__device__ __forceinline__ void faces(const float (&value)[N], float step, Face (&face)[N - 3])
{
    float slope[N - 1], curve[N - 2];
#pragma unroll
    for (int i = 0; i < N - 1; ++i) slope[i] = per<UNIT>(__fsub_rn(value[i + 1], value[i]), step);
#pragma unroll
    for (int i = 0; i < N - 2; ++i) curve[i] = __fsub_rn(slope[i + 1], slope[i]);
#pragma unroll
    for (int i = 0; i < N - 3; ++i) face[i] = {slope[i + 1], minmod(curve[i + 1], curve[i])};
}

// The same of a piece of a volume: what two voxels of a lane share, along y and from plane to plane, is computed
// once. phi is never -0, so that signs are bits.
template <bool UNIT>
__device__ __forceinline__ bool restep_piece(const float *shared, float *to, const LevelSetField &field, const Piece &of,
                                             u32 lane, bool first)
{
    using S = RestepShape<true>;
    const TilePlace t = of.t;
    constexpr int ROW = S::ROW, PLANE = S::PLANE;
    const u32 column = lane % TILE, first_row = lane / TILE * 2;
    const u32 x = t.x * TILE + column, y = t.y * TILE + first_row, z = t.z * TILE + of.first;
    const int rows = x < field.width ? min(max(static_cast<int>(field.height) - static_cast<int>(y), 0), 2) : 0;
    const int planes = min(static_cast<int>(field.depth) - static_cast<int>(z), static_cast<int>(of.planes));
    const float *at = shared + RESTEP_HALO * PLANE + (RESTEP_HALO + first_row) * ROW + RESTEP_LEAD + column;
    const u64 stride = static_cast<u64>(field.height) * field.pitch;
    float *out = to + z * stride + y * static_cast<u64>(field.pitch) + x + LEAD;
    const bool edge = x == 0 || x + 1 == field.width;
    float below[2], here[2], above[2], rise[2], bend[2];   // rise, bend: slope and curve of the face above
    Face under[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float *p = at + i * ROW;
        below[i] = p[-PLANE], here[i] = p[0], above[i] = p[PLANE];
        const float first_slope = per<UNIT>(__fsub_rn(below[i], p[-2 * PLANE]), field.step_z);
        under[i].slope = per<UNIT>(__fsub_rn(here[i], below[i]), field.step_z);
        rise[i] = per<UNIT>(__fsub_rn(above[i], here[i]), field.step_z);
        bend[i] = __fsub_rn(rise[i], under[i].slope);
        under[i].curve = minmod(bend[i], __fsub_rn(under[i].slope, first_slope));
    }
    bool near = false;
#pragma unroll 1
    for (int k = 0; k < planes; ++k, at += PLANE, out += stride) {
        const float column_values[6] = {at[-2 * ROW], at[-ROW], here[0], here[1], at[2 * ROW], at[3 * ROW]};
        Face along_y[3];
        faces<UNIT>(column_values, field.step_y, along_y);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const float *p = at + i * ROW;
            const float row_values[5] = {p[-2], p[-1], here[i], p[1], p[2]}, old = here[i];
            Face along_x[2];
            faces<UNIT>(row_values, field.step_x, along_x);
            const float two_above = p[2 * PLANE];
            const float next_rise = per<UNIT>(__fsub_rn(two_above, above[i]), field.step_z);
            const float next_bend = __fsub_rn(next_rise, rise[i]);
            const Face over = {rise[i], minmod(bend[i], next_bend)};
            const float left = row_values[1], right = row_values[3], up = column_values[i + 1], down = column_values[i + 3];

            const u32 bits = __float_as_uint(old);
            u32 other = (__float_as_uint(left) ^ bits) | (__float_as_uint(right) ^ bits);
            other |= (__float_as_uint(up) ^ bits) | (__float_as_uint(down) ^ bits);
            other |= (__float_as_uint(below[i]) ^ bits) | (__float_as_uint(above[i]) ^ bits);
            const bool beside = static_cast<int>(other) < 0;
            const float sign = static_cast<int>(bits) < 0 ? -1.0f : 1.0f;
            float square = __fadd_rn(TINY, outwards(sign, along_x[0], along_x[1]));
            square = __fadd_rn(square, outwards(sign, along_y[i], along_y[i + 1]));
            square = __fadd_rn(square, outwards(sign, under[i], over));
            const float change = __fmul_rn(__fsub_rn(1.0f, root(square)), field.restep);
            const float next = __fmaf_rn(sign, change, old);
            float result = beside || static_cast<int>(__float_as_uint(next) ^ bits) < 0 ? old : next;
            if (first && beside) {
                const float wx = per<UNIT>(__fsub_rn(right, left), field.step_x);
                const float wy = per<UNIT>(__fsub_rn(down, up), field.step_y);
                const float wz = per<UNIT>(__fsub_rn(above[i], below[i]), field.step_z);
                result = recentred(__fmaf_rn(wz, wz, __fmaf_rn(wy, wy, __fmaf_rn(wx, wx, TINY))), old, field);
            }
            if (i < rows) {
                float *line = out + i * field.pitch;
                line[0] = result;
                if (edge) {
                    if (x == 0) line[-1] = result;
                    if (x + 1 == field.width) line[1] = result;
                }
                near = near || fabsf(result) <= field.reach;
            }
            below[i] = old, here[i] = above[i], above[i] = two_above;
            under[i] = over, rise[i] = next_rise, bend[i] = next_bend;
        }
    }
    return near;
}
