// One step of a reinitialisation, a part of a tile per warp. Second-order differences need two voxels of halo. In this
// file a `slope` is the first difference across a face, over the spacing, and a `second` is the second difference at a
// voxel, the difference of the slopes on its two sides.
#pragma once
#include "level_set_slice.cuh"

// Rows in shared memory begin five pixels before the tile, which LEAD aligns to 16 bytes.
constexpr int REINIT_LEAD = 5, REINIT_HALO = 2;

// A ReinitTile has the sizes of a warp's part and of its copy in shared memory: of a volume up to 8 x 8 x 4 voxels, two
// rows per lane; of a slice 16 x 8 pixels, four rows per lane.
template <bool VOLUME>
struct ReinitTile {
    static constexpr int SIDE = VOLUME ? TILE : TILE_SLICE;
    static constexpr int COLUMNS = SIDE + REINIT_LEAD + 3;   // columns that are loaded
    static constexpr int ROW = VOLUME ? 20 : 28;   // floats of a row, chosen so that there are no bank conflicts
    static constexpr int OWN_ROWS = VOLUME ? TILE : SLICE_HALF;
    static constexpr int ROWS = OWN_ROWS + 2 * REINIT_HALO;
    static constexpr int PLANES = VOLUME ? HALF + 2 * REINIT_HALO : 1;
    static constexpr int PLANE = ROWS * ROW;        // floats of a plane
    static constexpr int SHARED = PLANES * PLANE;   // floats of a warp
    static constexpr int LANE_ROWS = VOLUME ? 2 : SLICE_ROWS;
};

// Copies a part of a tile with its halo from phi to shared memory, and fills what is beyond the image's borders along
// x; all lanes of a warp call it. The copy is complete when it returns.
template <bool VOLUME>
__device__ __forceinline__ void load_reinit_part(float *shared, const float *from, const LevelSetSetup &setup,
                                                 const TilePart &part, u32 lane)
{
    using S = ReinitTile<VOLUME>;
    // Adjacent lanes copy parts of one row, which makes one request. Of a volume a warp copies 8 rows at a time, two
    // planes in three rounds.
    constexpr u32 QUADS = S::COLUMNS / 4, AT_ONCE = WARP / QUADS, PLANES_AT_ONCE = VOLUME ? 2 : 1, ROUNDS = 3;
    static_assert(AT_ONCE * ROUNDS >= S::ROWS * PLANES_AT_ONCE && S::PLANES % PLANES_AT_ONCE == 0,
                  "all rows are copied");
    const TileIndex t = part.t;
    const int z0 = VOLUME ? static_cast<int>(t.z * TILE + part.first) - REINIT_HALO : static_cast<int>(t.z);
    const int y0 = static_cast<int>(t.y * S::SIDE + (VOLUME ? 0 : part.first)) - REINIT_HALO;
    // Memory has room for four elements before the first row. Elements that belong to no pixel are replaced below.
    const float *column = from + t.x * S::SIDE + lane % QUADS * 4 - 4;
#pragma unroll
    for (u32 round = 0; round < ROUNDS; ++round) {
        const u32 row = lane / QUADS + round * AT_ONCE;
        if (lane >= QUADS * AT_ONCE || row >= S::ROWS * PLANES_AT_ONCE) continue;
        const u32 y = clamp_index(y0 + static_cast<int>(row % S::ROWS), static_cast<int>(setup.height));
#pragma unroll
        for (u32 k = 0; k < S::PLANES; k += PLANES_AT_ONCE) {
            if (VOLUME && k >= part.planes + 2 * REINIT_HALO) break;
            const u32 z = clamp_index(z0 + static_cast<int>(k + row / S::ROWS), static_cast<int>(setup.depth));
            __pipeline_memcpy_async(shared + (k * S::ROWS + row) * S::ROW + lane % QUADS * 4,
                                    column + static_cast<u64>(z * setup.height + y) * setup.pitch, sizeof(float4));
        }
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    // The repeated elements fill one of the two columns beyond a border; this fills the other.
    const int last = static_cast<int>(setup.width - t.x * S::SIDE) + REINIT_LEAD;   // the repeated last pixel
    if (t.x == 0 || last + 1 < S::COLUMNS) {
        for (u32 i = lane; i < S::PLANES * S::ROWS; i += WARP) {
            float *row = shared + i * S::ROW;
            if (t.x == 0) row[REINIT_LEAD - 2] = row[REINIT_LEAD - 1];
            if (last + 1 < S::COLUMNS) row[last + 1] = row[last];
        }
        __syncwarp();
    }
}

// Returns Godunov's squared gradient along one axis: among the second-order one-sided differences that point towards the
// front, the larger square. The values are those of two voxels before the voxel, of the voxel itself, and of two after it.
template <bool UNIT>
__device__ __forceinline__ float upwind_square(bool inside, float before2, float before1, float here, float after1,
                                               float after2, float inverse_spacing)
{
    float forward = scaled<UNIT>(__fsub_rn(after1, here), inverse_spacing);
    float backward = scaled<UNIT>(__fsub_rn(here, before1), inverse_spacing);
    make_second_order(forward, backward, scaled<UNIT>(__fsub_rn(after2, after1), inverse_spacing),
                      scaled<UNIT>(__fsub_rn(before1, before2), inverse_spacing));
    // Inside, everything is mirrored.
    const float from_before = fmaxf(inside ? -backward : backward, 0.0f),
                from_after = fminf(inside ? -forward : forward, 0.0f);
    return fmaxf(__fmul_rn(from_before, from_before), __fmul_rn(from_after, from_after));
}

// Returns phi of a voxel beside the front, scaled to a gradient within 2 % of 1, and at most the largest spacing. `old`
// is its phi, `square` the sum of its squared wide differences.
__device__ __forceinline__ float scale_to_unit_gradient(float square, float old, const LevelSetSetup &setup)
{
    const float inverse_gradient = __fmul_rn(static_cast<float>(2.0 * RSQRT_SCALE), scaled_rsqrt(square));
    const float scale = inverse_gradient < MIN_INVERSE_GRADIENT   ? __fmul_rn(inverse_gradient, MAX_INVERSE_GRADIENT)
                        : inverse_gradient > MAX_INVERSE_GRADIENT ? __fmul_rn(inverse_gradient, MIN_INVERSE_GRADIENT)
                                                                  : 1.0f;
    return clamp_magnitude(__fmul_rn(old, scale), setup.max_spacing);
}

// Does a step of a reinitialisation of half a slice's tile, from shared memory to phi `to`; all lanes of a warp call it
// after load_reinit_part(). In the first step (`first`) pixels beside the front are scaled to a gradient within 2 % of
// 1; later they do not change. Returns the tiles that the lane's pixels within the narrow band affect.
template <bool UNIT>
__device__ __forceinline__ u32 reinit_slice_half(const float *shared, float *to, const LevelSetSetup &setup,
                                                  const TilePart &part, u32 lane, bool first)
{
    using S = ReinitTile<false>;
    const u32 column = lane % S::SIDE, first_row = lane / S::SIDE * S::LANE_ROWS;
    const u32 x = part.t.x * S::SIDE + column, y = part.t.y * S::SIDE + part.first + first_row;
    const int rows =
        x < setup.width ? min(max(static_cast<int>(setup.height) - static_cast<int>(y), 0), S::LANE_ROWS) : 0;
    const float *at = shared + (REINIT_HALO + first_row) * S::ROW + REINIT_LEAD + column;
    float *out = to + (static_cast<u64>(part.t.z) * setup.height + y) * setup.pitch + x + LEAD;
    u32 along_y = 0;   // the affected tiles along y
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
            float square = __fadd_rn(TINY, upwind_square<UNIT>(inside, p[-2], left, old, right, p[2], setup.inv_dx));
            square = __fadd_rn(square,
                               upwind_square<UNIT>(inside, p[-2 * S::ROW], up, old, down, p[2 * S::ROW], setup.inv_dy));
            const float gradient = sqrt_rn(square);
            const float change = __fmul_rn(__fsub_rn(1.0f, gradient), setup.reinit_time_step);
            const float next = inside ? __fsub_rn(old, change) : __fadd_rn(old, change);
            if ((next < 0.0f) == inside) result = next;
        } else if (first) {
            const float wide_x = scaled<UNIT>(__fsub_rn(right, left), setup.inv_dx);
            const float wide_y = scaled<UNIT>(__fsub_rn(down, up), setup.inv_dy);
            result = scale_to_unit_gradient(__fmaf_rn(wide_y, wide_y, __fmaf_rn(wide_x, wide_x, TINY)), old, setup);
        }
        float *line = out + i * setup.pitch;
        line[0] = result;
        if (x == 0) line[-1] = result;
        if (x + 1 == setup.width) line[1] = result;
        if (fabsf(result) <= setup.band_width)
            along_y |= affected_along_axis<TILE_SLICE>(part.first + first_row + static_cast<u32>(i));
    }
    return affected_tiles(affected_in_plane(affected_along_axis<TILE_SLICE>(column), along_y), OWN_TILE);
}

// A Face is described by the slope across it and the minmod() of the second differences of the voxels on its two sides.
struct Face {
    float slope, second;
};

// Returns the same as the other upwind_square(), from the faces before and after a voxel. `sign` is the voxel's, 1 or
// -1.
__device__ __forceinline__ float upwind_square(float sign, Face before, Face after)
{
    const float backward = __fmul_rn(sign, __fmaf_rn(before.second, 0.5f, before.slope));
    const float forward = __fmul_rn(sign, __fmaf_rn(after.second, -0.5f, after.slope));
    const float larger = fmaxf(fmaxf(backward, -forward), 0.0f);
    return __fmul_rn(larger, larger);
}

// Computes the inner N - 3 faces between N voxels along an axis.
template <bool UNIT, int N>
__device__ __forceinline__ void faces(const float (&value)[N], float inverse_spacing, Face (&face)[N - 3])
{
    float slope[N - 1], second[N - 2];
#pragma unroll
    for (int i = 0; i < N - 1; ++i) slope[i] = scaled<UNIT>(__fsub_rn(value[i + 1], value[i]), inverse_spacing);
#pragma unroll
    for (int i = 0; i < N - 2; ++i) second[i] = __fsub_rn(slope[i + 1], slope[i]);
#pragma unroll
    for (int i = 0; i < N - 3; ++i) face[i] = {slope[i + 1], minmod(second[i + 1], second[i])};
}

// Does the same as reinit_slice_half() for a part of a volume's tile. Values shared by a lane's two voxels along y, or by
// successive planes, are computed once. phi is never -0, so the sign is a bit.
template <bool UNIT, typename PHI>
__device__ __forceinline__ u32 reinit_part(const float *shared, const PHI &to, const LevelSetSetup &setup,
                                            const TilePart &part, u32 lane, bool first)
{
    using S = ReinitTile<true>;
    const TileIndex t = part.t;
    constexpr int ROW = S::ROW, PLANE = S::PLANE;
    const u32 column = lane % TILE, first_row = lane / TILE * 2;
    const u32 x = t.x * TILE + column, y = t.y * TILE + first_row, z = t.z * TILE + part.first;
    const int rows = x < setup.width ? min(max(static_cast<int>(setup.height) - static_cast<int>(y), 0), 2) : 0;
    const int planes = min(static_cast<int>(setup.depth) - static_cast<int>(z), static_cast<int>(part.planes));
    const float *at = shared + REINIT_HALO * PLANE + (REINIT_HALO + first_row) * ROW + REINIT_LEAD + column;
    PlaceInPhi out = place_in(to, setup, t, x, y, z);
    const bool at_border = out.beside_x && (x == 0 || x + 1 == setup.width);
    float below[2], here[2], above[2];
    float slope_above[2], second[2];   // the slope of the face above, and the second difference along z of the voxel
    Face face_below[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float *p = at + i * ROW;
        below[i] = p[-PLANE], here[i] = p[0], above[i] = p[PLANE];
        const float first_slope = scaled<UNIT>(__fsub_rn(below[i], p[-2 * PLANE]), setup.inv_dz);
        face_below[i].slope = scaled<UNIT>(__fsub_rn(here[i], below[i]), setup.inv_dz);
        slope_above[i] = scaled<UNIT>(__fsub_rn(above[i], here[i]), setup.inv_dz);
        second[i] = __fsub_rn(slope_above[i], face_below[i].slope);
        face_below[i].second = minmod(second[i], __fsub_rn(face_below[i].slope, first_slope));
    }
    u32 along_z[2] = {};   // the affected tiles along z, of the lane's two rows
#pragma unroll 1
    for (int k = 0; k < planes; ++k, at += PLANE, out.at += out.stride) {
        const float column_values[6] = {at[-2 * ROW], at[-ROW], here[0], here[1], at[2 * ROW], at[3 * ROW]};
        Face along_y[3];
        faces<UNIT>(column_values, setup.inv_dy, along_y);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const float *p = at + i * ROW;
            const float row_values[5] = {p[-2], p[-1], here[i], p[1], p[2]}, old = here[i];
            Face along_x[2];
            faces<UNIT>(row_values, setup.inv_dx, along_x);
            const float two_above = p[2 * PLANE];
            const float next_slope = scaled<UNIT>(__fsub_rn(two_above, above[i]), setup.inv_dz);
            const float next_second = __fsub_rn(next_slope, slope_above[i]);
            const Face face_above = {slope_above[i], minmod(second[i], next_second)};
            const float left = row_values[1], right = row_values[3];
            const float up = column_values[i + 1], down = column_values[i + 3];

            const u32 bits = __float_as_uint(old);
            u32 sign_changes = (__float_as_uint(left) ^ bits) | (__float_as_uint(right) ^ bits);
            sign_changes |= (__float_as_uint(up) ^ bits) | (__float_as_uint(down) ^ bits);
            sign_changes |= (__float_as_uint(below[i]) ^ bits) | (__float_as_uint(above[i]) ^ bits);
            const bool beside = static_cast<int>(sign_changes) < 0;
            const float sign = static_cast<int>(bits) < 0 ? -1.0f : 1.0f;
            float square = __fadd_rn(TINY, upwind_square(sign, along_x[0], along_x[1]));
            square = __fadd_rn(square, upwind_square(sign, along_y[i], along_y[i + 1]));
            square = __fadd_rn(square, upwind_square(sign, face_below[i], face_above));
            const float change = __fmul_rn(__fsub_rn(1.0f, sqrt_rn(square)), setup.reinit_time_step);
            const float next = __fmaf_rn(sign, change, old);
            float result = beside || static_cast<int>(__float_as_uint(next) ^ bits) < 0 ? old : next;
            if (first && beside) {
                const float wide_x = scaled<UNIT>(__fsub_rn(right, left), setup.inv_dx);
                const float wide_y = scaled<UNIT>(__fsub_rn(down, up), setup.inv_dy);
                const float wide_z = scaled<UNIT>(__fsub_rn(above[i], below[i]), setup.inv_dz);
                const float wide_xy = __fmaf_rn(wide_y, wide_y, __fmaf_rn(wide_x, wide_x, TINY));
                result = scale_to_unit_gradient(__fmaf_rn(wide_z, wide_z, wide_xy), old, setup);
            }
            if (i < rows) {
                float *line = out.at + i * out.pitch;
                line[0] = result;
                if (at_border) {
                    if (x == 0) line[-1] = result;
                    if (x + 1 == setup.width) line[1] = result;
                }
                if (fabsf(result) <= setup.band_width)
                    along_z[i] |= affected_along_axis<TILE>(part.first + static_cast<u32>(k));
            }
            below[i] = old, here[i] = above[i], above[i] = two_above;
            face_below[i] = face_above, slope_above[i] = next_slope, second[i] = next_second;
        }
    }
    u32 affected = 0;
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
        const u32 along_y = affected_along_axis<TILE>(first_row + i);
        affected |= affected_tiles(affected_in_plane(affected_along_axis<TILE>(column), along_y), along_z[i]);
    }
    return affected;
}
