// Edge strength in 3D, several iterations per pass over memory: see edge_strength_fused.cuh.
//
// A block marches along z with a column of 64x64 pixels; level t works t slices behind the one just read. Each level
// keeps two slices, in registers; the rows at the seams between the warps go through shared memory.
#pragma once

#include "edge_strength_update.cuh"

static_assert(F3_COLUMNS * F3_ROWS <= MASK_WORD_BITS, "a lane's mask bits of a slice are one word");

template <int T>
constexpr int F3_HALO = (T + F3_COLUMNS - 1) / F3_COLUMNS * F3_COLUMNS;   // T, rounded up to whole lanes

// Reads a lane's part of the slices, mirrored into the volume.
struct F3Reader {
    const float *in;
    const u32 *mask;   // of the lane's columns
    const int *rows;   // the mirrored rows of the volume that the warp has
    u64 pitch;
    u32 mask_pitch, mask_shift;
    int x0, mirrored_x0, mirrored_x1;   // the columns, and what they are within the volume
    bool inside;                        // they are the same

    // Loads the slice that begins at a row; returns its mask bits.
    __device__ __forceinline__ u32 load(u64 first_row, float (&v)[F3_ROWS][F3_COLUMNS]) const
    {
        const float *slice_v = in + first_row * pitch;
        const u32 *slice_mask = mask + first_row * mask_pitch;
        u32 bits = 0;
#pragma unroll
        for (int r = 0; r < F3_ROWS; ++r) {
            const u64 y = static_cast<u32>(rows[r]);
            const float *row = slice_v + y * static_cast<u32>(pitch);
            if (inside) {
                load_vector<F3_COLUMNS>(v[r], row + x0);
            } else {
                v[r][0] = row[mirrored_x0], v[r][1] = row[mirrored_x1];
            }
            bits |= (slice_mask[y * mask_pitch] >> mask_shift & 3u) << (r * F3_COLUMNS);
        }
        return bits;
    }
};

// The first and the last row of each warp in each level's newest slice. There are two sets: one is read while the other is
// written.
template <int T>
using F3Edges = float2[2][T][F3_WARPS][2][WARP];

// Takes a slice, the i-th of a trip, through all levels: level t computes its slice step - t. The neighbouring rows of
// other warps were stored at the previous step.
template <int T>
__device__ __forceinline__ void slice_levels(float (&kept)[T][2][F3_ROWS][F3_COLUMNS], const u32 (&bits)[T],
                                             float (&v)[F3_ROWS][F3_COLUMNS], F3Edges<T> &edges, int i,
                                             const AxisWeights &axes, float dt, const isoline_es_weights &weights)
{
    constexpr int C = F3_COLUMNS, R = F3_ROWS;
    const int lane = threadIdx.x, warp = threadIdx.y;
    // Clamped: those rows are halo and not used.
    const int warp_above = max(warp - 1, 0), warp_below = min(warp + 1, F3_WARPS - 1);
#pragma unroll
    for (int t = 1; t <= T; ++t) {
        float(&front)[R][C] = kept[t - 1][(i + t + 1) & 1];
        const float(&centre)[R][C] = kept[t - 1][(i + t) & 1];
        const u32 fixed = bits[(i + T - t) % T];
        edges[i & 1][t - 1][warp][0][lane] = make_float2(v[0][0], v[0][1]);
        edges[i & 1][t - 1][warp][1][lane] = make_float2(v[R - 1][0], v[R - 1][1]);
        const float2 top = edges[(i + 1) & 1][t - 1][warp_above][1][lane];
        const float2 bottom = edges[(i + 1) & 1][t - 1][warp_below][0][lane];
        const float above[C] = {top.x, top.y}, below[C] = {bottom.x, bottom.y};
#pragma unroll
        for (int r = 0; r < R; ++r) {
            const float left = __shfl_up_sync(ALL_LANES, centre[r][C - 1], 1);
            const float right = __shfl_down_sync(ALL_LANES, centre[r][0], 1);
#pragma unroll
            for (int j = 0; j < C; ++j) {
                const float m = (fixed >> (r * C + j)) & 1u ? 0.0f : dt;
                const float next =
                    update_3d(centre[r][j], j > 0 ? centre[r][j - 1] : left, j < C - 1 ? centre[r][j + 1] : right,
                              r > 0 ? centre[r - 1][j] : above[j], r < R - 1 ? centre[r + 1][j] : below[j],
                              front[r][j], v[r][j], axes, m, weights.k[t - 1]);
                front[r][j] = v[r][j];   // the newest slice takes the place of the oldest
                v[r][j] = next;
            }
        }
    }
}

// A block has (64 - 2*halo)^2 columns of voxels, chunk_slices deep; a lane has 2 columns x 8 rows. Block (32, 8), grid
// (ceil(width/inner), ceil(height/inner), ceil(depth/chunk_slices)), inner = 64 - 2*halo, y and z at most 65535. Shared
// memory T*8192 bytes. Per voxel and launch: reads 4 bytes and a mask bit, times (64/inner)^2 * (1 + 2*T/chunk_slices);
// writes 4. With FLUSH the last level's results are flushed.
template <int T, bool FLUSH>
__device__ __forceinline__ void fused_3d(const float *__restrict__ in, float *__restrict__ out,
                                         const u32 *__restrict__ mask, int width, int height, int depth, u64 pitch,
                                         u32 mask_pitch, int chunk_slices, const AxisWeights &axes, float dt,
                                         const isoline_es_weights &weights)
{
    constexpr int C = F3_COLUMNS, R = F3_ROWS, HALO = F3_HALO<T>;
    static_assert(T == 1 || T % 2 == 0, "the slices in turn are unrolled T or 2 at a time");
    constexpr int UNROLL = T < 2 ? 2 : T;
    __shared__ F3Edges<T> s_edge;
    __shared__ int s_row[F3_HEIGHT];
    static_assert(F3_HEIGHT % WARP == 0 && F3_HEIGHT <= WARP * F3_WARPS, "a thread a row");

    const int lane = threadIdx.x, warp = threadIdx.y;
    const int x0 = blockIdx.x * (F3_WIDTH - 2 * HALO) - HALO + lane * C;
    const int y0 = blockIdx.y * (F3_HEIGHT - 2 * HALO) - HALO + warp * R;
    const int z0 = blockIdx.z * chunk_slices;
    const int slices = min(chunk_slices, depth - z0);

    const bool inside = x0 >= 0 && x0 + C <= width;
    const int xa = mirror(min(x0, width + HALO - 1), width), xb = mirror(min(x0 + 1, width + HALO - 1), width);
    const u32 mask_at = min(static_cast<u32>(x0 + MASK_LEAD * MASK_WORD_BITS), mask_pitch * MASK_WORD_BITS - C);
    const F3Reader reader{in, mask + mask_at / MASK_WORD_BITS, s_row + warp * R, pitch, mask_pitch,
                          mask_at % MASK_WORD_BITS, x0, xa, xb, inside};
    // A table of the mirrored rows keeps the mirroring out of the loop. Rows beyond image and halo may have any value.
    if (warp < F3_HEIGHT / static_cast<int>(WARP)) {
        const int row = warp * WARP + lane;
        s_row[row] = mirror(min(y0 - warp * R + row, height + HALO - 1), height);
    }
    __syncthreads();

    auto load = [&](int step, float(&v)[R][C]) {
        return reader.load(static_cast<u64>(mirror(z0 - T + step, depth)) * height, v);
    };

    // kept[t][z & 1] is slice z of level t, for the two newest slices; bits[s % T] is the mask of input slice s.
    float kept[T][2][R][C] = {};
    u32 bits[T] = {};
#pragma unroll
    for (int t = 0; t < T; ++t)   // read at step 0
        s_edge[1][t][warp][0][lane] = s_edge[1][t][warp][1][lane] = make_float2(0.0f, 0.0f);
    __syncthreads();

    const bool lane_writes = lane >= HALO / C && lane < static_cast<int>(WARP) - HALO / C && x0 < width;
    u32 row_writes = 0;   // a bit for each row of the warp that is neither halo nor beyond the image
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const int tile_y = warp * R + r;
        if (tile_y >= HALO && tile_y < F3_HEIGHT - HALO && y0 + r < height) row_writes |= 1u << r;
    }

    float next_v[R][C];
    u32 next_bits = load(0, next_v);
    const int steps = slices + 2 * T;
    for (int start = 0; start < steps; start += UNROLL) {
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            const int step = start + i;
            // 1. Take the slice read ahead, and read the next while this one is processed.
            float v[R][C];
#pragma unroll
            for (int r = 0; r < R; ++r)
#pragma unroll
                for (int j = 0; j < C; ++j) v[r][j] = next_v[r][j];
            const u32 slice_bits = next_bits;
            next_bits = load(step + 1, next_v);

            // 2. Take it through the levels.
            slice_levels<T>(kept, bits, v, s_edge, i, axes, dt, weights);
            bits[i % T] = slice_bits;

            // 3. The last level's slice is z0 - T + (step - T); its inner part is valid and is stored.
            const int z = step - 2 * T;
            if (lane_writes && z >= 0 && z < slices) {
                if (FLUSH)
#pragma unroll
                    for (int r = 0; r < R; ++r)
#pragma unroll
                        for (int j = 0; j < C; ++j) v[r][j] = flush(v[r][j], FLUSH_THRESHOLD);
                float *to = out + (static_cast<u64>(z0 + z) * height + y0) * pitch + x0;
#pragma unroll
                for (int r = 0; r < R; ++r, to += pitch)
                    if (row_writes >> r & 1u) store_vector<C>(to, v[r]);   // beyond the width too, within the pitch
            }
            // One barrier per step suffices: the next step writes the set that was read before this barrier.
            __syncthreads();
        }
    }
}

// `_flush`: as in 2D. Launches of two levels and of one level come after all launches of four, and never reach an iteration
// whose results are flushed.
#define ISOLINE_ES_FUSED_3D(NAME, T, FLUSH, MIN_BLOCKS)                                                              \
    extern "C" __global__ void __launch_bounds__(WARP * F3_WARPS, MIN_BLOCKS)                                        \
    NAME(const float *__restrict__ in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width, u32 height, \
         u32 depth, u64 pitch, u32 mask_pitch, u32 chunk_slices, float weight_y, float weight_z, float dt,           \
         isoline_es_weights k)                                                                                       \
    {                                                                                                                \
        const AxisWeights axes{weight_y, weight_z};                                                                  \
        fused_3d<T, FLUSH>(in, out, mask, width, height, depth, pitch, mask_pitch, chunk_slices, axes, dt, k);       \
    }
ISOLINE_ES_FUSED_3D(isoline_es_fused_3d_4, 4, false, 1)
ISOLINE_ES_FUSED_3D(isoline_es_fused_3d_4_flush, 4, true, 1)
ISOLINE_ES_FUSED_3D(isoline_es_fused_3d_2, 2, false, 2)
ISOLINE_ES_FUSED_3D(isoline_es_fused_3d_1, 1, false, 2)
#undef ISOLINE_ES_FUSED_3D
