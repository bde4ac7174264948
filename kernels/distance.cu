// The exact signed distance to the boundary of a mask.
//
//   rows_{u8,u16,f32}    along x: signed squared distances within each row, in this file
//   columns_{32..1}, columns_far   along y, then z: the minimum over each column, distance_columns.cuh; where the whole
//                                  column is near a boundary, distance_search.cuh
//
// Between the passes a pixel holds 4 d^2, in units of the smallest spacing, with the sign of the distance d (negative
// inside); infinity if there is no boundary.
#include "common.cuh"
#include "distance_columns.cuh"

// The pass along x.
//
// A warp has a row, 1024 pixels at a time: lane i holds pixels 32 i .. 32 i + 31 as the bits of a word. There is a boundary
// wherever a bit differs from the one before it. The nearest boundaries on either side of a pixel are in its own word, or
// two scans across the warp bring them from other words.

constexpr u32 DT_GROUP = 16;                 // words whose pixels are loaded together
constexpr u32 DT_RUN = 4;                    // pixels that a lane writes together
constexpr u32 DT_CHUNK = WARP * WARP;        // pixels of a row that a warp holds
constexpr int DT_NONE_BEFORE = -(1 << 30);   // no boundary before: further than any
constexpr int DT_NONE_AFTER = 0x7FFFFFFF;    // no boundary after
static_assert(WARP % DT_GROUP == 0, "");

// NaN is never inside.
template <typename PIXEL>
__device__ __forceinline__ bool dt_inside(PIXEL pixel, const isoline_dt_rows &job)
{
    return job.below ? pixel < job.cut : pixel >= job.cut;
}
template <>
__device__ __forceinline__ bool dt_inside<float>(float pixel, const isoline_dt_rows &job)
{
    const float cut = __uint_as_float(job.cut);
    return job.below ? pixel < cut : pixel >= cut;
}

// Makes some words of a row, a pixel per lane. WHOLE: all of their pixels are within the row; otherwise the pixels from
// `left` on are 0.
template <bool WHOLE, typename PIXEL>
__device__ __forceinline__ u32 dt_group(const isoline_dt_rows &job, const PIXEL *pixels, u32 left, u32 first, u32 word)
{
    const u32 lane = threadIdx.x;
    PIXEL pixel[DT_GROUP];
#pragma unroll
    for (u32 i = 0; i < DT_GROUP; ++i)
        pixel[i] = WHOLE || i * WARP + lane < left ? pixels[i * WARP] : PIXEL(0);
#pragma unroll
    for (u32 i = 0; i < DT_GROUP; ++i) {
        const bool inside = dt_inside(pixel[i], job);
        const u32 bits = __ballot_sync(ALL_LANES, WHOLE ? inside : inside && i * WARP + lane < left);
        if (lane == first + i) word = bits;
    }
    return word;
}

// Makes a warp's words of the pixels from `base` on; pixels beyond the row are 0.
template <typename PIXEL>
__device__ __forceinline__ u32 dt_words(const isoline_dt_rows &job, const PIXEL *row, u32 base)
{
    const u32 left = job.width - base;
    u32 word = 0;
#pragma unroll 1
    for (u32 first = 0; first < WARP && first * WARP < left; first += DT_GROUP) {
        const u32 start = first * WARP;
        const PIXEL *pixels = row + base + start + threadIdx.x;
        if (left - start >= DT_GROUP * WARP) word = dt_group<true>(job, pixels, left - start, first, word);
        else word = dt_group<false>(job, pixels, left - start, first, word);
    }
    return word;
}

// Returns the bits where a pixel's class differs from that of the pixel before it. `before` is the bit of the pixel
// before the chunk.
__device__ __forceinline__ u32 dt_boundaries(u32 word, u32 before, u32 left)
{
    const u32 lane = threadIdx.x;
    u32 carry = __shfl_up_sync(ALL_LANES, word, 1) >> 31;
    if (lane == 0) carry = before;
    const u32 bits = word ^ (word << 1 | carry);
    const u32 start = lane * WARP;
    if (start >= left) return 0;
    return left - start < WARP ? bits & ((1u << (left - start)) - 1) : bits;
}

template <typename PIXEL>
__device__ __forceinline__ void rows_kernel(const isoline_dt_rows &job)
{
    const u32 lane = threadIdx.x, width = job.width;
    const u64 step = static_cast<u64>(gridDim.x) * DT_ROWS;
    const bool weighted = job.weight != 1.0;
    for (u64 index = static_cast<u64>(blockIdx.x) * DT_ROWS + threadIdx.y; index < job.rows; index += step) {
        const u64 z = index / job.height, y = index - z * job.height;
        const PIXEL *row = reinterpret_cast<const PIXEL *>(job.pixels + z * job.slice_stride + y * job.row_stride);
        float *to = job.to + z * job.to_slice + y * job.to_row;
        const bool aligned = reinterpret_cast<u64>(to) % (DT_RUN * sizeof(float)) == 0;

        // 1. For each chunk from the last to the second, find the first boundary in it or after it, and keep it in the
        //    memory of the chunk's first output pixel, which step 2 overwrites.
        int next = DT_NONE_AFTER;
        for (u32 base = (width - 1) / DT_CHUNK * DT_CHUNK; base > 0; base -= DT_CHUNK) {
            const u32 before = dt_inside(row[base - 1], job);
            const u32 bits = dt_boundaries(dt_words(job, row, base), before, width - base);
            const u32 some = __ballot_sync(ALL_LANES, bits != 0);
            if (some != 0) {
                const u32 first = __ffs(some) - 1;
                next = base + first * WARP + __ffs(__shfl_sync(ALL_LANES, bits, first)) - 1;
            }
            if (lane == 0) to[base] = __int_as_float(next);
        }

        // 2. Compute each chunk, from the first to the last.
        int last = DT_NONE_BEFORE;
        u32 before = 0;
        for (u32 base = 0; base < width; base += DT_CHUNK) {
            const u32 left = width - base;
            const u32 word = dt_words(job, row, base);
            if (base == 0) before = __shfl_sync(ALL_LANES, word, 0) & 1;
            const u32 bits = dt_boundaries(word, before, left);
            before = __shfl_sync(ALL_LANES, word, WARP - 1) >> 31;
            int after = DT_NONE_AFTER;
            if (left > DT_CHUNK && lane == 0) after = __float_as_int(to[base + DT_CHUNK]);
            after = __shfl_sync(ALL_LANES, after, 0);

            // 2.1 Find the last boundary before each word, and the first one after it.
            const int start = base + lane * WARP;
            int most = bits != 0 ? start + 31 - __clz(bits) : DT_NONE_BEFORE;
            int least = bits != 0 ? start + __ffs(bits) - 1 : DT_NONE_AFTER;
#pragma unroll
            for (u32 d = 1; d < WARP; d *= 2) {
                const int up = __shfl_up_sync(ALL_LANES, most, d), down = __shfl_down_sync(ALL_LANES, least, d);
                most = lane >= d ? max(most, up) : most;
                least = lane + d < WARP ? min(least, down) : least;
            }
            int lower = __shfl_up_sync(ALL_LANES, most, 1), upper = __shfl_down_sync(ALL_LANES, least, 1);
            lower = lane == 0 ? last : max(lower, last);
            upper = lane == WARP - 1 ? after : min(upper, after);
            last = max(last, __shfl_sync(ALL_LANES, most, WARP - 1));

            // 2.2 Compute the distances, four words at a time, four pixels per lane.
            const u32 words = left < DT_CHUNK ? (left + WARP - 1) / WARP : WARP;
            const u32 bit = lane * DT_RUN % WARP;    // of the first of its pixels
#pragma unroll 2
            for (u32 i = 0; i < words; i += DT_RUN) {
                const u32 source = i + lane * DT_RUN / WARP;
                const u32 b = __shfl_sync(ALL_LANES, bits, source);
                const u32 inside = __shfl_sync(ALL_LANES, word, source) >> bit;
                const int before_word = __shfl_sync(ALL_LANES, lower, source);
                const int after_word = __shfl_sync(ALL_LANES, upper, source);
                const int origin = base + source * WARP, x = origin + bit;
                // The last boundary up to the first pixel, and the first one after the last pixel.
                const u32 low = b & ((2u << bit) - 1), high = b & ~((1u << DT_RUN << bit) - 1);
                int from = low != 0 ? origin + 31 - __clz(low) : before_word;
                int until[DT_RUN];
                until[DT_RUN - 1] = high != 0 ? origin + __ffs(high) - 1 : after_word;
#pragma unroll
                for (u32 k = DT_RUN - 1; k > 0; --k) until[k - 1] = b >> bit >> k & 1 ? x + static_cast<int>(k) : until[k];
                float squared[DT_RUN];
#pragma unroll
                for (u32 k = 0; k < DT_RUN; ++k) {
                    const int here = x + static_cast<int>(k);
                    if (k > 0 && (b >> bit >> k & 1)) from = here;
                    // The other class begins one pixel before `from` and at `until`.
                    const u32 n = min(static_cast<u32>(here - from) + 1, static_cast<u32>(until[k] - here));
                    const float halves = __uint2float_rn(2 * n - 1);
                    squared[k] = __fmul_rn(halves, halves);
                    if (weighted) squared[k] = __double2float_rn(__dmul_rn(job.weight, __dmul_rn(halves, halves)));
                    if (n >= 1u << 30) squared[k] = DT_FAR;
                    squared[k] = __uint_as_float(__float_as_uint(squared[k]) | (inside >> k) << 31);
                }
                if (aligned && x + DT_RUN <= width) {
                    store_vector<DT_RUN>(to + x, squared);
                } else {
#pragma unroll
                    for (u32 k = 0; k < DT_RUN; ++k)
                        if (x + k < width) to[x + k] = squared[k];
                }
            }
        }
    }
}

#define ISOLINE_DT_ROWS(NAME, PIXEL)                                                                                 \
    extern "C" __global__ void __launch_bounds__(DT_ROWS *WARP) NAME(const __grid_constant__ isoline_dt_rows job)    \
    {                                                                                                                \
        rows_kernel<PIXEL>(job);                                                                                     \
    }
ISOLINE_DT_ROWS(isoline_dt_rows_u8, unsigned char)
ISOLINE_DT_ROWS(isoline_dt_rows_u16, unsigned short)
ISOLINE_DT_ROWS(isoline_dt_rows_f32, float)
#undef ISOLINE_DT_ROWS

#define ISOLINE_DT_COLUMNS(NAME, COLUMNS, FAR)                                                                       \
    extern "C" __global__ void __launch_bounds__(DT_MAX_THREADS, 1)                                                  \
        NAME(const __grid_constant__ isoline_dt_columns job)                                                         \
    {                                                                                                                \
        columns_kernel<COLUMNS, !FAR && COLUMNS >= DT_TABLE_COLUMNS, FAR>(job);                                      \
    }
ISOLINE_DT_COLUMNS(isoline_dt_columns_32, 32, false)
ISOLINE_DT_COLUMNS(isoline_dt_columns_16, 16, false)
ISOLINE_DT_COLUMNS(isoline_dt_columns_8, 8, false)
ISOLINE_DT_COLUMNS(isoline_dt_columns_4, 4, false)
ISOLINE_DT_COLUMNS(isoline_dt_columns_2, 2, false)
ISOLINE_DT_COLUMNS(isoline_dt_columns_1, 1, false)
ISOLINE_DT_COLUMNS(isoline_dt_columns_far, DT_FAR_COLUMNS, true)
#undef ISOLINE_DT_COLUMNS
