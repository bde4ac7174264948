// Edge strength's converged mode: the parts of a multigrid V-cycle (docs/edge_strength_converged.md describes the
// method).
//
//   coarsen   makes a coarser mask: a cell is fixed when any of its children is
//   smooth    2D: STEPS steps of a Chebyshev polynomial of the five-point update, in registers, and in the same pass
//             over memory the operation before (adding the coarse correction) and after (restricting the residual,
//             measuring the change)
//   3D        the same steps one launch at a time: step, restrict, correct; the neighbours along y and z have weights
//
// Operations and their order are the same as in src/edge_strength/multigrid/, so that the cycles give the same bits.
// Buffers are as in edge_strength.cu (pitch, bit mask), but pads of coarse masks are not filled and never read. All
// reductions are maxima of non-negative floats, compared as integers, so the order of blocks changes no bit. Fine f32
// arrays have shape (width, height), coarse ones (coarse_width, coarse_height), where a coarse side is half, rounded up or
// down; in 3D an axis of a weak coupling may keep its size. Rounded up, the last cell's second child is the mirror image of
// the first; rounded down, the last cell has a third child that only counts for the mask.
#pragma once

#include "edge_strength_tile.cuh"
#include "edge_strength_update.cuh"

__device__ __forceinline__ float mg_blend(float near, float far)
{
    return __fmaf_rn(near, MG_NEAR, __fmul_rn(MG_FAR, far));
}

// The coarse cells that fine cell i is interpolated from, along an axis that is halved.
__device__ __forceinline__ int mg_near(int i, int coarse) { return min(i / 2, coarse - 1); }
__device__ __forceinline__ int mg_far(int i, int coarse)
{
    return min(max(i % 2 == 0 ? i / 2 - 1 : i / 2 + 1, 0), coarse - 1);
}

// A cycle ends with this on the finest grid: the value clamped to 0..1. -0 becomes 0, and a NaN stays a NaN.
__device__ __forceinline__ float mg_clamp_0_to_1(float v) { return v <= 0.0f ? 0.0f : v >= 1.0f ? 1.0f : v; }

// ------------------------------------------------------------------------------------------------ coarsen

// Returns the first child of coarse cell i, and one past the last: there is one along an axis that is not halved.
__device__ __forceinline__ int mg_children_begin(int i, int coarse, int fine) { return coarse == fine ? i : 2 * i; }
__device__ __forceinline__ int mg_children_end(int i, int coarse, int fine)
{
    return coarse == fine ? i + 1 : i + 1 == coarse ? fine : 2 * i + 2;
}

// Moves bits 0, 2, 4, ... together.
__device__ __forceinline__ u32 mg_even_bits(u32 w)
{
    w &= 0x55555555u;
    w = (w | w >> 1) & 0x33333333u;
    w = (w | w >> 2) & 0x0F0F0F0Fu;
    w = (w | w >> 4) & 0x00FF00FFu;
    return (w | w >> 8) & 0x0000FFFFu;
}

// A thread has a word of 32 coarse cells. Block (128,1,1), grid x covers the words, grid y loops over the rows
// coarse_height*coarse_depth. `flags` collects MG_ANY_FREE and MG_ANY_FIXED of the coarse mask.
extern "C" __global__ void __launch_bounds__(MG_COARSEN_THREADS)
isoline_mg_coarsen(const u32 *__restrict__ fine, u32 fine_pitch, int width, int height, int depth,
                   u32 *__restrict__ coarse, u32 coarse_pitch, int coarse_width, int coarse_height, int coarse_depth,
                   u32 *flags)
{
    const int word = blockIdx.x * MG_COARSEN_THREADS + threadIdx.x;
    const int words = (coarse_width + MASK_WORD_BITS - 1) / MASK_WORD_BITS;
    if (word >= words) return;
    const int fine_words = (width + MASK_WORD_BITS - 1) / MASK_WORD_BITS;
    const int cells = min(coarse_width - word * MASK_WORD_BITS, MASK_WORD_BITS);
    const u32 all = cells == MASK_WORD_BITS ? ~0u : (1u << cells) - 1u;
    // Bits beyond the fine width do not belong to the image; a third child of the last cell does.
    const u32 last_bits = width % MASK_WORD_BITS == 0 ? ~0u : (1u << width % MASK_WORD_BITS) - 1u;
    const bool third = word + 1 == words && width > 2 * coarse_width;
    const bool halved = coarse_width != width;

    u32 found = 0;
    const u64 rows = static_cast<u64>(coarse_height) * coarse_depth;
    for (u64 row = blockIdx.y; row < rows; row += gridDim.y) {
        const int cy = static_cast<int>(row % coarse_height), cz = static_cast<int>(row / coarse_height);
        u32 low = 0, high = 0;
        bool extra = false;
        for (int z = mg_children_begin(cz, coarse_depth, depth); z < mg_children_end(cz, coarse_depth, depth); ++z)
            for (int y = mg_children_begin(cy, coarse_height, height); y < mg_children_end(cy, coarse_height, height);
                 ++y) {
                const u32 *line = fine + (static_cast<u64>(z) * height + y) * fine_pitch;
                const int first = halved ? 2 * word : word;
                low |= line[MASK_LEAD + first] & (first + 1 == fine_words ? last_bits : ~0u);
                if (halved && first + 1 < fine_words)
                    high |= line[MASK_LEAD + first + 1] & (first + 2 == fine_words ? last_bits : ~0u);
                if (third) extra |= mask_bit(line, width - 1);
            }
        u32 bits = halved ? mg_even_bits(low | low >> 1) | mg_even_bits(high | high >> 1) << 16 : low;
        if (extra) bits |= 1u << (cells - 1);
        bits &= all;
        coarse[row * coarse_pitch + MASK_LEAD + word] = bits;
        found |= (bits != 0 ? MG_ANY_FIXED : 0u) | (bits != all ? MG_ANY_FREE : 0u);
    }
    // Most threads find that others have set these flags already, and skip the atomic.
    if (found & ~*static_cast<volatile u32 *>(flags)) atomicOr(flags, found);
}

// ------------------------------------------------------------------------------------------------ smooth, 2D

constexpr int MG_WIDTH = TILE_COLUMNS * static_cast<int>(WARP);          // of a block's tile
constexpr int MG_THREADS = MG_WARPS * static_cast<int>(WARP);

enum MgStart { MG_ZERO, MG_VALUES, MG_GUESS, MG_CORRECTED };

// The options of a smoothing. START: it starts from zero, from `in`, from the values in `coarse` (null: zero) with 1 on the
// shape, or from `in` plus the correction in `coarse`. RIGHT: there is a right-hand side. RESTRICT: the residual goes to
// `coarse_right`. MEASURE, where `change` is not null: the result is that of a whole cycle on the finest grid, so it is
// clamped to 0..1, and the largest change of `out` goes to `change`. ROWS is the number of rows per thread: many for large
// grids (less halo), few for small grids (more blocks, which finish sooner).
template <int STEPS_, int ROWS_, MgStart START_, bool RIGHT_, bool RESTRICT_, bool MEASURE_>
struct MgPolicy {
    static constexpr int STEPS = STEPS_, ROWS = ROWS_;
    static constexpr MgStart START = START_;
    static constexpr bool RIGHT = RIGHT_, RESTRICT = RESTRICT_, MEASURE = MEASURE_;
    static constexpr int BLOCKS = RIGHT && ROWS > 2 ? 1 : 2;             // per multiprocessor; bounds the registers
    static constexpr int HEIGHT = MG_WARPS * ROWS;
    static constexpr int HALO_X = (STEPS + TILE_COLUMNS) / TILE_COLUMNS * TILE_COLUMNS;   // > STEPS, whole lanes
    static constexpr int HALO_Y = (STEPS + 2) / 2 * 2;                              // > STEPS, children together
    static constexpr int VALID_X = MG_WIDTH - 2 * HALO_X;                // pixels that a block writes
    static constexpr int VALID_Y = HEIGHT - 2 * HALO_Y;
    static_assert(HALO_X > STEPS && HALO_Y > STEPS, "the steps and the residual eat the halo");
    static_assert(STEPS <= MG_MAX_STEPS && ROWS % 2 == 0 && ROWS * TILE_COLUMNS <= 32, "mask bits fit a word");
    static_assert(VALID_Y > 0 && VALID_X % 2 == 0, "the halo must leave something");
    static constexpr bool FINE = STEPS == MG_FINE_STEPS;
    static_assert(VALID_X == (FINE ? MG_FINE_X : MG_COARSE_X), "the launches count with these");
    static_assert(VALID_Y == (ROWS == 2 ? FINE ? MG_FINE_SMALL_Y : MG_COARSE_SMALL_Y : FINE ? MG_FINE_Y : MG_COARSE_Y), "");
};

// The arrays and sizes of a smoothing.
struct MgGrids {
    const float *in;
    float *out;
    const float *right;
    const u32 *mask;
    int width, height;
    u32 pitch, mask_pitch;
    const float *coarse;
    float *coarse_right;
    int coarse_width, coarse_height;
    u32 coarse_pitch;
};

// A lane's part of a tile: ROWS rows of 4 columns, from pixel (x0, y0) on.
template <typename P>
struct MgTile {
    static constexpr int R = P::ROWS, C = TILE_COLUMNS;
    const MgGrids &grids;
    int x0, y0;
    bool inside;   // all columns are within the image
    float v[R][C] = {}, b[P::RIGHT ? R : 1][C] = {};   // the values and the right-hand side
    u32 fixed = 0;                                     // bit r*C + j: a pixel of the shape

    __device__ __forceinline__ explicit MgTile(const MgGrids &grids) : grids(grids)
    {
        const int lane_x = static_cast<int>(threadIdx.x) * C;
        const int tiles_x = (grids.width + P::VALID_X - 1) / P::VALID_X;
        x0 = static_cast<int>(blockIdx.x % tiles_x) * P::VALID_X - P::HALO_X + lane_x;
        y0 = static_cast<int>(blockIdx.x / tiles_x) * P::VALID_Y - P::HALO_Y + static_cast<int>(threadIdx.y) * R;
        inside = x0 >= 0 && x0 + C <= grids.width;
    }

    // Returns whether the lane's columns, which begin within the image, and row r are not halo.
    __device__ __forceinline__ bool writes(int r) const
    {
        const int lane_x = static_cast<int>(threadIdx.x) * C, tile_y = static_cast<int>(threadIdx.y) * R + r;
        return lane_x >= P::HALO_X && lane_x < MG_WIDTH - P::HALO_X && x0 < grids.width && tile_y >= P::HALO_Y &&
               tile_y < P::HEIGHT - P::HALO_Y;
    }

    // Loads the start, the right-hand side and the mask, mirrored into the image. Values beyond image and halo are
    // never used.
    __device__ __forceinline__ void load()
    {
        const bool needed = x0 < grids.width + P::HALO_X;
        int xs[C];
#pragma unroll
        for (int j = 0; j < C; ++j) xs[j] = inside ? x0 + j : needed ? mirror(x0 + j, grids.width) : 0;
#pragma unroll
        for (int r = 0; r < R; ++r) {
            if (!needed || y0 + r >= grids.height + P::HALO_Y) continue;
            const int y = mirror(y0 + r, grids.height);
            const u64 row = static_cast<u64>(y) * grids.pitch;
            const u32 *mask_row = grids.mask + static_cast<u64>(y) * grids.mask_pitch;
            u32 bits = 0;
            if (inside) {
                if (P::START == MG_VALUES || P::START == MG_CORRECTED) load_vector<C>(v[r], grids.in + row + x0);
                if (P::RIGHT) load_vector<C>(b[P::RIGHT ? r : 0], grids.right + row + x0);
                bits = mask_row[MASK_LEAD + x0 / MASK_WORD_BITS] >> (x0 % MASK_WORD_BITS) & ((1u << C) - 1u);
            } else {
#pragma unroll
                for (int j = 0; j < C; ++j) {
                    if (P::START == MG_VALUES || P::START == MG_CORRECTED) v[r][j] = grids.in[row + xs[j]];
                    if (P::RIGHT) b[P::RIGHT ? r : 0][j] = grids.right[row + xs[j]];
                    bits |= static_cast<u32>(mask_bit(mask_row, xs[j])) << j;
                }
            }
            fixed |= bits << (r * C);
            if (P::START == MG_GUESS)
#pragma unroll
                for (int j = 0; j < C; ++j) v[r][j] = bits >> j & 1u ? 1.0f : 0.0f;
            if (P::START == MG_CORRECTED || (P::START == MG_GUESS && grids.coarse)) add_correction(v[r], y, xs, bits);
        }
    }

    // Adds the interpolated coarse values to a row, off the shape.
    __device__ __forceinline__ void add_correction(float (&row)[C], int y, const int (&xs)[C], u32 bits) const
    {
        const int coarse_width = grids.coarse_width;
        const float *near = grids.coarse + static_cast<u64>(mg_near(y, grids.coarse_height)) * grids.coarse_pitch;
        const float *far = grids.coarse + static_cast<u64>(mg_far(y, grids.coarse_height)) * grids.coarse_pitch;
        auto line = [&](int x) { return mg_blend(near[x], far[x]); };
        float correction[C];
        if (inside) {
            // Four columns, from a multiple of four on, have the same four parents everywhere but at the border.
            const int first = x0 / 2;
            const float p = line(max(first - 1, 0)), q = line(first), s = line(min(first + 1, coarse_width - 1)),
                        t = line(min(first + 2, coarse_width - 1));
            correction[0] = mg_blend(q, p), correction[1] = mg_blend(q, s);
            correction[2] = mg_blend(s, q), correction[3] = mg_blend(s, t);
        } else {
#pragma unroll
            for (int j = 0; j < C; ++j)
                correction[j] = mg_blend(line(mg_near(xs[j], coarse_width)), line(mg_far(xs[j], coarse_width)));
        }
#pragma unroll
        for (int j = 0; j < C; ++j)
            if (!(bits >> j & 1u)) row[j] = __fadd_rn(correction[j], row[j]);
    }

    // Clamps the values to 0..1; returns the largest change of the values that store() overwrites. All old values are
    // requested before the first is needed.
    __device__ __forceinline__ float clamp_and_compare()
    {
        float old[R][C], largest = 0.0f;
#pragma unroll
        for (int r = 0; r < R; ++r) {
#pragma unroll
            for (int j = 0; j < C; ++j) old[r][j] = v[r][j] = mg_clamp_0_to_1(v[r][j]);
            if (!writes(r) || y0 + r >= grids.height) continue;
            const float *from = grids.out + static_cast<u64>(y0 + r) * grids.pitch + x0;
            if (inside) load_vector<C>(old[r], from);
            else
#pragma unroll
                for (int j = 0; j < C; ++j)
                    if (x0 + j < grids.width) old[r][j] = from[j];
        }
#pragma unroll
        for (int r = 0; r < R; ++r)
#pragma unroll
            for (int j = 0; j < C; ++j) largest = fmaxf(largest, fabsf(__fsub_rn(v[r][j], old[r][j])));
        return largest;
    }

    // Stores the inner part of the tile.
    __device__ __forceinline__ void store() const
    {
#pragma unroll
        for (int r = 0; r < R; ++r) {
            if (!writes(r) || y0 + r >= grids.height) continue;
            float *to = grids.out + static_cast<u64>(y0 + r) * grids.pitch + x0;
            if (inside) {
                store_vector<C>(to, v[r]);
            } else {
#pragma unroll
                for (int j = 0; j < C; ++j)
                    if (x0 + j < grids.width) to[j] = v[r][j];
            }
        }
    }

    // Stores the sums of four neighbouring values each to the coarse grid.
    __device__ __forceinline__ void store_coarse() const
    {
        const int cx = x0 / 2;
#pragma unroll
        for (int r = 0; r < R; r += 2) {
            const int cy = (y0 + r) / 2;
            if (!writes(r) || cy >= grids.coarse_height) continue;
            float *to = grids.coarse_right + static_cast<u64>(cy) * grids.coarse_pitch + cx;
            float sums[C / 2];
#pragma unroll
            for (int j = 0; j < C; j += 2)
                sums[j / 2] = __fadd_rn(__fadd_rn(v[r][j], v[r][j + 1]), __fadd_rn(v[r + 1][j], v[r + 1][j + 1]));
            if (cx + C / 2 <= grids.coarse_width) store_vector<C / 2>(to, sums);
            else if (cx < grids.coarse_width) to[0] = sums[0];
        }
    }
};

// A block has a tile of 128 x 16*ROWS pixels, whose inner VALID_X x VALID_Y it writes; a warp has ROWS rows, a lane 4
// columns. Beyond the image the tile holds the mirrored image, which is the Neumann border. Grid: tiles, x fastest. The
// rows at a warp's edge go through shared memory (32 KiB), with one barrier per step. Memory per pixel: reads 4 bytes
// (with RIGHT 8) and a mask bit, times 1.5 for the halo, mostly from the cache, plus 1 for the correction; writes 4,
// plus 1 when restricting; reads 4 more when measuring.
template <typename P>
__device__ __forceinline__ void mg_smooth(const MgGrids &grids, float lambda, const isoline_mg_weights &weights,
                                          u32 *change)
{
    constexpr int C = TILE_COLUMNS;
    __shared__ TileEdges<MG_WARPS> s_edges;
    MgTile<P> tile(grids);
    tile.load();
#pragma unroll 1
    for (int step = 0; step < P::STEPS; ++step) {
        const float weight = weights.w[step];
        auto update = [&](int r, int j, float c, float left, float right, float up, float down) {
            const float sum = __fadd_rn(__fadd_rn(left, right), __fadd_rn(up, down));
            float t = __fmaf_rn(-lambda, c, __fmaf_rn(-4.0f, c, sum));
            if (P::RIGHT) t = __fsub_rn(t, tile.b[P::RIGHT ? r : 0][j]);
            return __fmaf_rn(tile.fixed >> (r * C + j) & 1u ? 0.0f : weight, t, c);
        };
        tile_sweep<MG_WARPS>(tile.v, s_edges[step & 1], update);
    }
    float largest = 0.0f;
    if (P::MEASURE && change) largest = tile.clamp_and_compare();
    tile.store();
    if (P::MEASURE && change) {
#pragma unroll
        for (int lanes = WARP / 2; lanes > 0; lanes /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, lanes));
        if (threadIdx.x == 0 && largest > 0.0f) atomicMax(change, __float_as_uint(largest));
    }
    if (!P::RESTRICT) return;
    // The residual is computed from differences, so that lambda is not lost beside 4.
    auto residual = [&](int r, int j, float c, float left, float right, float up, float down) {
        const float sum = __fadd_rn(__fadd_rn(__fsub_rn(left, c), __fsub_rn(right, c)),
                                    __fadd_rn(__fsub_rn(up, c), __fsub_rn(down, c)));
        const float t = __fmaf_rn(-lambda, c, sum);
        const float value = P::RIGHT ? __fsub_rn(tile.b[P::RIGHT ? r : 0][j], t) : -t;
        return tile.fixed >> (r * C + j) & 1u ? 0.0f : value;
    };
    tile_sweep<MG_WARPS>(tile.v, s_edges[P::STEPS & 1], residual);
    tile.store_coarse();
}

// Arguments that a kernel's policy does not use may be null. Block (32, 16). May be launched early (common.cuh).
#define ISOLINE_MG_SMOOTH(NAME, ...)                                                                                 \
    extern "C" __global__ void __launch_bounds__(MG_THREADS, MgPolicy<__VA_ARGS__>::BLOCKS)                          \
    NAME(const float *in, float *out, const float *right, const u32 *mask, int width, int height, u32 pitch,         \
         u32 mask_pitch, float lambda, isoline_mg_weights weights, const float *coarse, float *coarse_right,         \
         int coarse_width, int coarse_height, u32 coarse_pitch, u32 *change)                                         \
    {                                                                                                                \
        wait_for_previous_launch();                                                                                  \
        const MgGrids grids{in,         out,    right,        mask,         width,         height,      pitch,        \
                            mask_pitch, coarse, coarse_right, coarse_width, coarse_height, coarse_pitch};            \
        mg_smooth<MgPolicy<__VA_ARGS__>>(grids, lambda, weights, change);                                            \
    }
//                                            steps       rows  start         right  restrict measure
ISOLINE_MG_SMOOTH(isoline_mg_fine_down,       MG_FINE_STEPS,   8, MG_VALUES,    false, true,    false)
ISOLINE_MG_SMOOTH(isoline_mg_fine_guess,      MG_FINE_STEPS,   8, MG_GUESS,     false, true,    false)
ISOLINE_MG_SMOOTH(isoline_mg_fine_up,         MG_FINE_STEPS,   8, MG_CORRECTED, false, false,   true)
ISOLINE_MG_SMOOTH(isoline_mg_fine_alone,      MG_FINE_STEPS,   8, MG_VALUES,    false, false,   true)
ISOLINE_MG_SMOOTH(isoline_mg_small_start,     MG_FINE_STEPS,   2, MG_VALUES,    false, true,    false)
ISOLINE_MG_SMOOTH(isoline_mg_small_guess,     MG_FINE_STEPS,   2, MG_GUESS,     false, true,    false)
ISOLINE_MG_SMOOTH(isoline_mg_small_finish,    MG_FINE_STEPS,   2, MG_CORRECTED, false, false,   true)
ISOLINE_MG_SMOOTH(isoline_mg_coarse_down,     MG_COARSE_STEPS, 8, MG_ZERO,      true,  true,    false)
ISOLINE_MG_SMOOTH(isoline_mg_coarse_up,       MG_COARSE_STEPS, 8, MG_CORRECTED, true,  false,   false)
ISOLINE_MG_SMOOTH(isoline_mg_small_down,      MG_COARSE_STEPS, 2, MG_ZERO,      true,  true,    false)
ISOLINE_MG_SMOOTH(isoline_mg_small_up,        MG_COARSE_STEPS, 2, MG_CORRECTED, true,  false,   false)
ISOLINE_MG_SMOOTH(isoline_mg_coarsest_zero,   MG_COARSE_STEPS, 2, MG_ZERO,      true,  false,   false)
ISOLINE_MG_SMOOTH(isoline_mg_coarsest_on,     MG_COARSE_STEPS, 2, MG_VALUES,    true,  false,   false)
#undef ISOLINE_MG_SMOOTH

// ------------------------------------------------------------------------------------------------ 3D

// One pixel per thread: block (32, 4, 2), grid (ceil(width/32), min(ceil(height/4), 65535), min(ceil(depth/2), 65535));
// blocks loop over what exceeds the grid. Sizes are those of the grid that is written; a launch writes its slices `first`
// to `end`. Arrays may hold only the slices needed for that; their pointers still refer to the place where slice 0 would
// be.

template <typename BODY>
__device__ __forceinline__ void mg_each_voxel(int width, int height, int first, int end, const BODY &body)
{
    const int x = blockIdx.x * MG_BLOCK_X + threadIdx.x;
    if (x >= width) return;
    for (int z = first + blockIdx.z * MG_BLOCK_Z + threadIdx.z; z < end; z += gridDim.z * MG_BLOCK_Z)
        for (int y = blockIdx.y * MG_BLOCK_Y + threadIdx.y; y < height; y += gridDim.y * MG_BLOCK_Y) body(x, y, z);
}

// The values and the geometry of a volume; neighbours beyond the border are the voxel itself.
struct MgVolume {
    const float *v;
    int width, height, depth;
    u32 pitch;

    __device__ __forceinline__ float at(int x, int y, int z) const
    {
        return v[(static_cast<u64>(z) * height + y) * pitch + x];
    }
    __device__ __forceinline__ float left(int x, int y, int z) const { return at(max(x - 1, 0), y, z); }
    __device__ __forceinline__ float right(int x, int y, int z) const { return at(min(x + 1, width - 1), y, z); }
    __device__ __forceinline__ float up(int x, int y, int z) const { return at(x, max(y - 1, 0), z); }
    __device__ __forceinline__ float down(int x, int y, int z) const { return at(x, min(y + 1, height - 1), z); }
    __device__ __forceinline__ float front(int x, int y, int z) const { return at(x, y, max(z - 1, 0)); }
    __device__ __forceinline__ float back(int x, int y, int z) const { return at(x, y, min(z + 1, depth - 1)); }
};

// One step of the smoother. `centre` is the sum of the neighbours' weights, and `rest` is lambda. A null `in` or `right`
// stands for zeros. If `change` is not null, the step ends a cycle on the finest grid: the new `out` is clamped to 0..1,
// and its largest difference from the old one goes to `change`.
extern "C" __global__ void __launch_bounds__(MG_BLOCK_X *MG_BLOCK_Y *MG_BLOCK_Z)
isoline_mg_step_3d(const float *__restrict__ in, float *out, const float *__restrict__ right,
                   const u32 *__restrict__ mask, int width, int height, int depth, u32 pitch, u32 mask_pitch,
                   float weight_y, float weight_z, float centre, float rest, float weight, u32 *change, int first,
                   int end)
{
    const AxisWeights axes{weight_y, weight_z};
    const MgVolume from{in, width, height, depth, pitch};
    float largest = 0.0f;
    mg_each_voxel(width, height, first, end, [&](int x, int y, int z) {
        const u64 row = static_cast<u64>(z) * height + y, at = row * pitch + x;
        float c = 0.0f, t = 0.0f;
        if (in) {
            c = from.at(x, y, z);
            const float sum = axes.sum(__fadd_rn(from.left(x, y, z), from.right(x, y, z)),
                                       __fadd_rn(from.up(x, y, z), from.down(x, y, z)),
                                       __fadd_rn(from.front(x, y, z), from.back(x, y, z)));
            t = __fmaf_rn(-rest, c, __fmaf_rn(-centre, c, sum));
        }
        if (right) t = __fsub_rn(t, right[at]);
        float next = __fmaf_rn(mask_bit(mask + row * mask_pitch, x) ? 0.0f : weight, t, c);
        if (change) {
            next = mg_clamp_0_to_1(next);
            largest = fmaxf(largest, fabsf(__fsub_rn(next, out[at])));
        }
        out[at] = next;
    });
    if (change && largest > 0.0f) atomicMax(change, __float_as_uint(largest));
}

// Computes the coarse right-hand side: the sum of the eight children's residuals, times `factor`. A thread has a coarse
// voxel. Along an axis that is not halved its two children are the same.
extern "C" __global__ void __launch_bounds__(MG_BLOCK_X *MG_BLOCK_Y *MG_BLOCK_Z)
isoline_mg_restrict_3d(const float *__restrict__ in, const float *__restrict__ right, const u32 *__restrict__ mask,
                       int width, int height, int depth, u32 pitch, u32 mask_pitch, float weight_y, float weight_z,
                       float lambda, float factor, float *__restrict__ coarse_right, int coarse_width,
                       int coarse_height, int coarse_depth, u32 coarse_pitch, int first, int end)
{
    const MgVolume from{in, width, height, depth, pitch};
    const AxisWeights axes{weight_y, weight_z};
    auto residual = [&](int x, int y, int z) {
        const u64 row = static_cast<u64>(z) * height + y;
        if (mask_bit(mask + row * mask_pitch, x)) return 0.0f;
        const float c = from.at(x, y, z);
        const float sum = axes.sum(__fadd_rn(__fsub_rn(from.left(x, y, z), c), __fsub_rn(from.right(x, y, z), c)),
                                   __fadd_rn(__fsub_rn(from.up(x, y, z), c), __fsub_rn(from.down(x, y, z), c)),
                                   __fadd_rn(__fsub_rn(from.front(x, y, z), c), __fsub_rn(from.back(x, y, z), c)));
        const float t = __fmaf_rn(-lambda, c, sum);
        return right ? __fsub_rn(right[row * pitch + x], t) : -t;
    };
    const int step_x = coarse_width == width ? 1 : 2, step_y = coarse_height == height ? 1 : 2;
    const int step_z = coarse_depth == depth ? 1 : 2;
    mg_each_voxel(coarse_width, coarse_height, first, end, [&](int x, int y, int z) {
        const int first_x = step_x * x, second_x = min(first_x + step_x - 1, width - 1);
        auto four = [&](int slice) {
            const int first_y = step_y * y, second_y = min(first_y + step_y - 1, height - 1);
            return __fadd_rn(__fadd_rn(residual(first_x, first_y, slice), residual(second_x, first_y, slice)),
                             __fadd_rn(residual(first_x, second_y, slice), residual(second_x, second_y, slice)));
        };
        coarse_right[(static_cast<u64>(z) * coarse_height + y) * coarse_pitch + x] = __fmul_rn(
            __fadd_rn(four(step_z * z), four(min(step_z * z + step_z - 1, depth - 1))), factor);
    });
}

// Returns the mean of the coarse cells from which fine cell i is interpolated along an axis; at(cell) gives their values.
template <typename AT>
__device__ __forceinline__ float mg_interpolate(int i, int coarse, int fine, const AT &at)
{
    return coarse == fine ? at(i) : mg_blend(at(mg_near(i, coarse)), at(mg_far(i, coarse)));
}

// Computes out = in + the interpolated coarse correction, off the shape, along z, then y, then x, as the CPU does it.
// `in` null: the coarse values (0 where `coarse` is null too), interpolated, and 1 on the shape.
extern "C" __global__ void __launch_bounds__(MG_BLOCK_X *MG_BLOCK_Y *MG_BLOCK_Z)
isoline_mg_correct_3d(const float *__restrict__ in, float *__restrict__ out, const u32 *__restrict__ mask, int width,
                      int height, int depth, u32 pitch, u32 mask_pitch, const float *__restrict__ coarse,
                      int coarse_width, int coarse_height, int coarse_depth, u32 coarse_pitch, int first, int end)
{
    mg_each_voxel(width, height, first, end, [&](int x, int y, int z) {
        const u64 row = static_cast<u64>(z) * height + y, at = row * pitch + x;
        const bool fixed = mask_bit(mask + row * mask_pitch, x);
        float value = in ? in[at] : fixed ? 1.0f : 0.0f;
        if (!fixed && coarse) {
            const float correction = mg_interpolate(x, coarse_width, width, [&](int cx) {
                return mg_interpolate(y, coarse_height, height, [&](int cy) {
                    return mg_interpolate(z, coarse_depth, depth, [&](int cz) {
                        return coarse[(static_cast<u64>(cz) * coarse_height + cy) * coarse_pitch + cx];
                    });
                });
            });
            value = __fadd_rn(correction, value);
        }
        out[at] = value;
    });
}
