// Edge strength: v' = v + dt (sum of neighbours - (neighbours + 1/rho^2) v), v = 1 on the shape, Neumann borders.
//
// Three ways to iterate, all with the same bits as the CPU's plain loop:
//   shared   the paper's first design: one pixel a thread, a tile and its rim in shared memory, one iteration a
//            launch. Two buffers instead of the paper's in-place update, which races between blocks.
//   texture  the paper's second design: neighbours through the texture unit, whose clamping is the Neumann border.
//            Bound to the buffer itself, so without the paper's copy per iteration.
//   fused    several iterations for each pass over memory (edge_strength_fused.cuh, edge_strength_fused_3d.cuh).
// `least` of the first two: LEAST where the iteration is flushed (see edge_strength_update.cuh), else 0; its bits, because
// a number costs the 3D kernel 12 registers.
// Before them: prepare (pixels -> the bit mask of the shape and, where it is needed, v) and minmax (range of the finite
// pixels).
//
// Buffers: v is f32, row r = z*height + y at v + r*pitch, pitch (elements) a multiple of 32, base aligned to 256
// bytes; what lies beyond a row's width is never used. mask: see common.cuh; mask_pitch = ceil(width/32) + 2.
// Sizes are 1..2^30 a side, so that a column or row index with its halo fits an int; products are 64-bit.
#include "common.cuh"
#include "edge_strength_update.cuh"

// ------------------------------------------------------------------------------------------------ prepare, range

constexpr u32 PREPARE_WARPS = 8;                            // warps of a block: rows at a time
constexpr u32 PREPARE_WORDS = WARP;                         // words of a warp: each lane stores one
constexpr u32 PREPARE_NARROW = 2 * MASK_WORD_BITS;          // from this width on a halo is mirrored once

// The largest value of the pixel's type at or below the threshold: a pixel exceeds either both or none, and needs no
// conversion to f64. Below the type's range -1, so that every pixel exceeds it.
__device__ __forceinline__ int threshold_of(double threshold, unsigned char)
{
    return static_cast<int>(floor(fmin(fmax(threshold, -1.0), 255.0)));
}
__device__ __forceinline__ int threshold_of(double threshold, unsigned short)
{
    return static_cast<int>(floor(fmin(fmax(threshold, -1.0), 65535.0)));
}
__device__ __forceinline__ float threshold_of(double threshold, float) { return __double2float_rd(threshold); }

// How a pixel beside the shape starts.
struct PrepareStart {
    bool from_input;   // else 0
    bool turned;       // 1 - value
    float minimum, scale;
};

__device__ __forceinline__ float prepare_start(float pixel, const PrepareStart &start)
{
    if (!start.from_input || pixel != pixel) return 0.0f;
    float value = __fmul_rn(__fsub_rn(pixel, start.minimum), start.scale);
    // Written as comparisons, not fmin/fmax: NaN (0 * infinity) and -0 must become +0 everywhere.
    value = value > 0.0f ? value : 0.0f;
    value = value < 1.0f ? value : 1.0f;
    return start.turned ? __fsub_rn(1.0f, value) : value;
}

// Mask words first.. of one row, at most 32 of them, and with FIELD the row of v; lane <-> pixel of a word, then the word
// of its number. INSIDE: 32 words whose pixels are all within the image.
template <bool INSIDE, bool FIELD, typename PIXEL>
__device__ __forceinline__ void prepare_row(const PIXEL *line, int width, u32 first, u32 words, double threshold_,
                                            bool below, const PrepareStart &start, float *v_row, u32 *mask_row)
{
    constexpr u32 GROUP = FIELD ? 4 : INSIDE ? 16 : 8;   // words whose pixels are asked for together
    const u32 lane = threadIdx.x;
    const auto threshold = threshold_of(threshold_, PIXEL());
    const bool narrow = width < PREPARE_NARROW;
    u32 own = 0;
    int x = static_cast<int>(first * MASK_WORD_BITS + lane) - MASK_LEAD * MASK_WORD_BITS;
#pragma unroll 1
    for (u32 group = 0; group < words; group += GROUP, x += GROUP * MASK_WORD_BITS) {
        PIXEL pixel[GROUP];
#pragma unroll
        for (u32 i = 0; i < GROUP; ++i) {
            const int at = x + static_cast<int>(i) * MASK_WORD_BITS;
            if (INSIDE) pixel[i] = line[at];
            else if (group + i < words) pixel[i] = line[narrow ? mirror(at, width) : mirror_once(at, width)];
            else pixel[i] = 0;
        }
#pragma unroll
        for (u32 i = 0; i < GROUP; ++i) {
            // NaN is background: not above the threshold, and not below it either.
            const bool above = pixel[i] > threshold || (below && pixel[i] != pixel[i]);
            const u32 bits = __ballot_sync(ALL_LANES, above);
            if (lane - group == i) own = bits;
            const int at = x + static_cast<int>(i) * MASK_WORD_BITS;
            if (FIELD && (INSIDE || (at >= 0 && at < width && group + i < words)))
                v_row[at] = above != below ? 1.0f : prepare_start(static_cast<float>(pixel[i]), start);
        }
    }
    if (lane < words) mask_row[first + lane] = below ? ~own : own;
}

// Warp <-> 32 words of a mask row, block <-> 8 rows. Block (32, 8), grid (1 + ceil(width/1024), min(ceil(rows/8), 65535));
// blocks loop over the height*depth rows. Column 0 of the grid makes the pads, which are the row's mirror image: the word
// before it and the word after it. Reads each pixel once (pads again), writes 1/8 byte per pixel and, unless v is null, 4.
template <typename PIXEL>
__device__ __forceinline__ void prepare(const unsigned char *pixels, u64 row_stride, u64 slice_stride, u32 width,
                                        u32 height, u32 depth, double threshold, bool below, const PrepareStart &start,
                                        float *v, u64 pitch, u32 *mask, u32 mask_pitch)
{
    next_launch_may_start();
    const bool pads = blockIdx.x == 0;
    const u32 first = MASK_LEAD + (blockIdx.x - 1) * PREPARE_WORDS;
    const u32 words = min(mask_pitch - 1 - first, PREPARE_WORDS);
    const bool inside = (first - MASK_LEAD + PREPARE_WORDS) * MASK_WORD_BITS <= width;

    const u64 rows = static_cast<u64>(height) * depth;
    for (u64 row = static_cast<u64>(blockIdx.y) * PREPARE_WARPS + threadIdx.y; row < rows;
         row += static_cast<u64>(gridDim.y) * PREPARE_WARPS) {
        const u64 at = depth == 1 ? row * row_stride : row / height * slice_stride + row % height * row_stride;
        const PIXEL *line = reinterpret_cast<const PIXEL *>(pixels + at);
        float *v_row = v + row * pitch;
        u32 *mask_row = mask + row * mask_pitch;
        auto make = [&](auto is_inside, auto has_field, u32 from, u32 count) {
            prepare_row<decltype(is_inside)::VALUE, decltype(has_field)::VALUE>(line, width, from, count, threshold, below,
                                                                                start, v_row, mask_row);
        };
        using Yes = Constant<bool, true>;
        using No = Constant<bool, false>;
        if (pads) {
            for (u32 side = 0; side < 2; ++side) make(No{}, No{}, side * (mask_pitch - 1), 1);
        } else if (v) {
            inside ? make(Yes{}, Yes{}, first, PREPARE_WORDS) : make(No{}, Yes{}, first, words);
        } else {
            inside ? make(Yes{}, No{}, first, PREPARE_WORDS) : make(No{}, No{}, first, words);
        }
    }
}

// v may be null: then only the mask is made.
#define ISOLINE_ES_PREPARE(NAME, PIXEL)                                                                              \
    extern "C" __global__ void __launch_bounds__(WARP *PREPARE_WARPS)                                                \
    NAME(const unsigned char *pixels, u64 row_stride, u64 slice_stride, u32 width, u32 height, u32 depth,            \
         double threshold, u32 below, u32 start_input, float start_min, float start_scale, float *v, u64 pitch,      \
         u32 *mask, u32 mask_pitch)                                                                                  \
    {                                                                                                                \
        const PrepareStart start{start_input != 0, below != 0, start_min, start_scale};                              \
        prepare<PIXEL>(pixels, row_stride, slice_stride, width, height, depth, threshold, below != 0, start, v,      \
                       pitch, mask, mask_pitch);                                                                     \
    }
ISOLINE_ES_PREPARE(isoline_es_prepare_u8, unsigned char)
ISOLINE_ES_PREPARE(isoline_es_prepare_u16, unsigned short)
ISOLINE_ES_PREPARE(isoline_es_prepare_f32, float)
#undef ISOLINE_ES_PREPARE

constexpr u32 MINMAX_THREADS = 256;
constexpr u32 NO_MINIMUM = 0xFFFFFFFFu, NO_MAXIMUM = 0u;
constexpr u32 FLOAT_SIGN = 0x80000000u;

// Integers that sort as the pixels do, so that one pair of integer atomics serves both types. Not finite: neutral.
__device__ __forceinline__ bool sort_key(unsigned short pixel, u32 *key) { *key = pixel; return true; }
__device__ __forceinline__ bool sort_key(float pixel, u32 *key)
{
    const u32 bits = __float_as_uint(pixel);
    *key = bits ^ (bits & FLOAT_SIGN ? 0xFFFFFFFFu : FLOAT_SIGN);
    return isfinite(pixel);
}

// Any grid: threads loop over columns and rows. range[0] and range[1] hold NO_MINIMUM and NO_MAXIMUM before, the
// smallest and largest key after. Reads each pixel once; one atomic pair a warp.
template <typename PIXEL>
__device__ __forceinline__ void minmax(const unsigned char *pixels, u64 row_stride, u64 slice_stride, u32 width,
                                       u32 height, u32 depth, u32 *range)
{
    u32 low = NO_MINIMUM, high = NO_MAXIMUM;
    const u64 rows = static_cast<u64>(height) * depth;
    for (u64 row = blockIdx.y; row < rows; row += gridDim.y) {
        const unsigned char *line = pixels + row / height * slice_stride + row % height * row_stride;
        for (u64 x = static_cast<u64>(blockIdx.x) * MINMAX_THREADS + threadIdx.x; x < width;
             x += static_cast<u64>(gridDim.x) * MINMAX_THREADS) {
            u32 key;
            if (sort_key(reinterpret_cast<const PIXEL *>(line)[x], &key)) {
                low = min(low, key);
                high = max(high, key);
            }
        }
    }
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        low = min(low, __shfl_xor_sync(ALL_LANES, low, step));
        high = max(high, __shfl_xor_sync(ALL_LANES, high, step));
    }
    if (threadIdx.x % WARP == 0 && low <= high) {
        atomicMin(&range[0], low);
        atomicMax(&range[1], high);
    }
}

#define ISOLINE_ES_MINMAX(NAME, PIXEL)                                                                               \
    extern "C" __global__ void __launch_bounds__(MINMAX_THREADS)                                                     \
    NAME(const unsigned char *pixels, u64 row_stride, u64 slice_stride, u32 width, u32 height, u32 depth,            \
         u32 *range)                                                                                                 \
    {                                                                                                                \
        minmax<PIXEL>(pixels, row_stride, slice_stride, width, height, depth, range);                                \
    }
ISOLINE_ES_MINMAX(isoline_es_minmax_u16, unsigned short)
ISOLINE_ES_MINMAX(isoline_es_minmax_f32, float)
#undef ISOLINE_ES_MINMAX

// -------------------------------------------------------------------------------------------------------- shared

constexpr int TILE_X = 32, TILE_Y = 8, RIM = 1;
static_assert(TILE_X == WARP, "a warp is one row of the tile, so that its mask bits are one word");

// One iteration. Thread (tx, ty) <-> pixel (bx*32 + tx, by*8 + ty). Block (32, 8), grid (ceil(width/32),
// min(ceil(height/8), 65535)); 1360 bytes of shared memory. Per pixel: reads 4 bytes (5.3 with the rim, which
// mostly hits the cache) and a mask bit, writes 4.
extern "C" __global__ void __launch_bounds__(TILE_X * TILE_Y)
isoline_es_shared_2d(const float *__restrict__ in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width,
                     u32 height, u64 pitch, u32 mask_pitch, float dt, float k, u32 least)
{
    __shared__ float s_v[TILE_Y + 2 * RIM][TILE_X + 2 * RIM];
    const u32 tx = threadIdx.x, ty = threadIdx.y;
    const u32 x = blockIdx.x * TILE_X + tx, cx = min(x, width - 1);
    const u32 tile_rows = (height + TILE_Y - 1) / TILE_Y;

    for (u32 tile = blockIdx.y;;) {
        // 1. Load the tile; threads of its edges load the rim too. At the image border the neighbour is the pixel
        //    itself (Neumann); a thread beyond the image loads a copy of the border that nobody keeps.
        const u32 y = tile * TILE_Y + ty, cy = min(y, height - 1);
        const float *pixel = in + cy * pitch + cx;
        s_v[ty + RIM][tx + RIM] = *pixel;
        if (tx == 0) s_v[ty + RIM][0] = pixel[x > 0 ? -1 : 0];
        if (tx == TILE_X - 1) s_v[ty + RIM][TILE_X + RIM] = pixel[x + 1 < width ? 1 : 0];
        if (ty == 0) s_v[0][tx + RIM] = *(y > 0 ? pixel - pitch : pixel);
        if (ty == TILE_Y - 1) s_v[TILE_Y + RIM][tx + RIM] = *(y + 1 < height ? pixel + pitch : pixel);
        __syncthreads();

        // 2. Update and store.
        if (x < width && y < height) {
            const u32 word = mask[y * static_cast<u64>(mask_pitch) + MASK_LEAD + blockIdx.x];
            const float m = (word >> tx) & 1u ? 0.0f : dt;
            const float v = update_2d(s_v[ty + RIM][tx + RIM], s_v[ty + RIM][tx], s_v[ty + RIM][tx + 2 * RIM],
                                      s_v[ty][tx + RIM], s_v[ty + 2 * RIM][tx + RIM], m, k);
            out[y * pitch + x] = flush(v, __uint_as_float(least));
        }
        tile += gridDim.y;
        if (tile >= tile_rows) break;
        __syncthreads();   // the next tile of this block overwrites s_v
    }
}

constexpr int TILE3_X = 32, TILE3_Y = 4, TILE3_Z = 4;
static_assert(TILE3_X == WARP, "a warp is one row of the tile, so that its mask bits are one word");

// One iteration in 3D. Thread (tx, ty, tz) <-> voxel. Block (32, 4, 4); grid (ceil(width/32),
// min(ceil(height/4), 65535), min(ceil(depth/4), 65535)); 4896 bytes of shared memory. Per voxel: reads 4 bytes
// (9.6 with the rim) and a mask bit, writes 4.
extern "C" __global__ void __launch_bounds__(TILE3_X * TILE3_Y * TILE3_Z)
isoline_es_shared_3d(const float *__restrict__ in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width,
                     u32 height, u32 depth, u64 pitch, u32 mask_pitch, float dt, float k, u32 least)
{
    __shared__ float s_v[TILE3_Z + 2 * RIM][TILE3_Y + 2 * RIM][TILE3_X + 2 * RIM];
    const int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
    const int x = blockIdx.x * TILE3_X + tx;
    const int tiles_y = (height + TILE3_Y - 1) / TILE3_Y, tiles_z = (depth + TILE3_Z - 1) / TILE3_Z;
    const u64 slice = pitch * height;
    const int cx = min(x, static_cast<int>(width) - 1);

    for (int tile_z = blockIdx.z; tile_z < tiles_z; tile_z += gridDim.z)
        for (int tile_y = blockIdx.y; tile_y < tiles_y; tile_y += gridDim.y) {
            const int y = tile_y * TILE3_Y + ty, z = tile_z * TILE3_Z + tz;
            const int cy = min(y, static_cast<int>(height) - 1), cz = min(z, static_cast<int>(depth) - 1);
            // 1. Load the tile and its rim (no corners: the stencil has none).
            const float *row = in + cz * slice + cy * pitch;
            float(*s)[TILE3_X + 2 * RIM] = s_v[tz + RIM];
            s[ty + RIM][tx + RIM] = row[cx];
            if (tx == 0) s[ty + RIM][0] = row[max(x - 1, 0)];
            if (tx == TILE3_X - 1) s[ty + RIM][TILE3_X + RIM] = row[clamp_index(x + 1, width)];
            if (ty == 0) s[0][tx + RIM] = in[cz * slice + max(y - 1, 0) * pitch + cx];
            if (ty == TILE3_Y - 1)
                s[TILE3_Y + RIM][tx + RIM] = in[cz * slice + clamp_index(y + 1, height) * pitch + cx];
            if (tz == 0) s_v[0][ty + RIM][tx + RIM] = in[max(z - 1, 0) * slice + cy * pitch + cx];
            if (tz == TILE3_Z - 1)
                s_v[TILE3_Z + RIM][ty + RIM][tx + RIM] = in[clamp_index(z + 1, depth) * slice + cy * pitch + cx];
            __syncthreads();

            // 2. Update and store.
            if (x < static_cast<int>(width) && y < static_cast<int>(height) && z < static_cast<int>(depth)) {
                const u64 line = static_cast<u64>(z) * height + y;
                const u32 word = mask[line * mask_pitch + MASK_LEAD + blockIdx.x];
                const float m = (word >> tx) & 1u ? 0.0f : dt;
                const float v =
                    update_3d(s[ty + RIM][tx + RIM], s[ty + RIM][tx], s[ty + RIM][tx + 2 * RIM], s[ty][tx + RIM],
                              s[ty + 2 * RIM][tx + RIM], s_v[tz][ty + RIM][tx + RIM],
                              s_v[tz + 2 * RIM][ty + RIM][tx + RIM], m, k);
                out[line * pitch + x] = flush(v, __uint_as_float(least));
            }
            __syncthreads();   // the next tile of this block overwrites s_v
        }
}

// ------------------------------------------------------------------------------------------------------- texture

// One iteration. Thread mapping, block and grid of isoline_es_shared_2d; no shared memory. `in` is a texture object
// over the input buffer: pitch-linear f32, point filter, unnormalised, address mode clamp (the Neumann border).
// Width, height and pitch must be within the device's limits for linear 2D textures. Per pixel: five texture reads
// (4 bytes of memory traffic), a mask bit, writes 4.
extern "C" __global__ void __launch_bounds__(TILE_X * TILE_Y)
isoline_es_texture_2d(cudaTextureObject_t in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width,
                      u32 height, u64 pitch, u32 mask_pitch, float dt, float k, u32 least)
{
    constexpr float CENTRE = 0.5f;   // texel centres; exact, as the texture limits keep x and y far below 2^23
    const int x = blockIdx.x * TILE_X + threadIdx.x;
    if (x >= static_cast<int>(width)) return;
    const int tile_rows = (height + TILE_Y - 1) / TILE_Y;

    for (int tile = blockIdx.y; tile < tile_rows; tile += gridDim.y) {
        const int y = tile * TILE_Y + threadIdx.y;
        if (y >= static_cast<int>(height)) return;
        const float u = x + CENTRE, w = y + CENTRE;
        const u32 word = mask[y * static_cast<u64>(mask_pitch) + MASK_LEAD + blockIdx.x];
        const float m = (word >> threadIdx.x) & 1u ? 0.0f : dt;
        const float v = update_2d(tex2D<float>(in, u, w), tex2D<float>(in, u - 1, w), tex2D<float>(in, u + 1, w),
                                  tex2D<float>(in, u, w - 1), tex2D<float>(in, u, w + 1), m, k);
        out[y * pitch + x] = flush(v, __uint_as_float(least));
    }
}

// One iteration in 3D. Thread mapping, block and grid of isoline_es_shared_3d. `in` is a texture object over the
// linear input buffer (f32), at most 2^27 texels in all, so that an int can index it; linear textures do not clamp
// per axis, so the indices are clamped here. Per voxel: seven texture reads, a mask bit, writes 4.
extern "C" __global__ void __launch_bounds__(TILE3_X * TILE3_Y * TILE3_Z)
isoline_es_texture_3d(cudaTextureObject_t in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width,
                      u32 height, u32 depth, u64 pitch, u32 mask_pitch, float dt, float k, u32 least)
{
    const int x = blockIdx.x * TILE3_X + threadIdx.x;
    if (x >= static_cast<int>(width)) return;
    const int tiles_y = (height + TILE3_Y - 1) / TILE3_Y, tiles_z = (depth + TILE3_Z - 1) / TILE3_Z;
    const int row = static_cast<int>(pitch), slice = row * static_cast<int>(height);

    for (int tile_z = blockIdx.z; tile_z < tiles_z; tile_z += gridDim.z)
        for (int tile_y = blockIdx.y; tile_y < tiles_y; tile_y += gridDim.y) {
            const int y = tile_y * TILE3_Y + threadIdx.y, z = tile_z * TILE3_Z + threadIdx.z;
            if (y >= static_cast<int>(height) || z >= static_cast<int>(depth)) continue;
            const int at = z * slice + y * row + x;
            const u64 line = static_cast<u64>(z) * height + y;
            const u32 word = mask[line * mask_pitch + MASK_LEAD + blockIdx.x];
            const float m = (word >> threadIdx.x) & 1u ? 0.0f : dt;
            const float v = update_3d(
                tex1Dfetch<float>(in, at), tex1Dfetch<float>(in, x > 0 ? at - 1 : at),
                tex1Dfetch<float>(in, x + 1 < static_cast<int>(width) ? at + 1 : at),
                tex1Dfetch<float>(in, y > 0 ? at - row : at),
                tex1Dfetch<float>(in, y + 1 < static_cast<int>(height) ? at + row : at),
                tex1Dfetch<float>(in, z > 0 ? at - slice : at),
                tex1Dfetch<float>(in, z + 1 < static_cast<int>(depth) ? at + slice : at), m, k);
            out[line * pitch + x] = flush(v, __uint_as_float(least));
        }
}

#include "edge_strength_fused.cuh"
#include "edge_strength_fused_3d.cuh"

#if __has_include("edge_strength_multigrid.cuh")
#include "edge_strength_multigrid.cuh"
#endif
