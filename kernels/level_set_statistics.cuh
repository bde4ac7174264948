// The statistics of the image inside the initial mask, with the bits of measure_inside() in src/level_set/plan.rs: the
// sum of a row is made by one lane in the order of x, and the host adds the sums of the rows in their order.
#pragma once
#include "level_set.h"
#include "pixel_key.cuh"

// MaskedRowsArguments for a type of pixels.
template <typename PIXEL>
struct MaskedRows {
    const PIXEL *pixels;
    const unsigned char *marks;
    u64 rows;
    u32 width, pitch;
};
static_assert(sizeof(MaskedRows<float>) == sizeof(MaskedRowsArguments), "the crate passes one for the other");

// A warp's part of 32 rows in shared memory: 32 pixels of each with their marks. A row has four bytes of padding, an odd
// number of words in all, so that 32 lanes that each read their own row read different banks.
template <typename PIXEL>
struct MaskedTile {
    PIXEL pixels[WARP][WARP + 4 / sizeof(PIXEL)];
    unsigned char marks[WARP][WARP + 4];
};

// Calls body(pixel, is_inside) for every pixel of row `first` + lane in the order of x. The warp loads 32 pixels of a row
// in one request; all its lanes call this, also those whose row does not exist.
template <typename PIXEL, typename BODY>
__device__ __forceinline__ void for_each_pixel_in_order(MaskedTile<PIXEL> &tile, const MaskedRows<PIXEL> &at, u64 first,
                                                        u32 lane, const BODY &body)
{
    constexpr u32 AT_ONCE = 16;   // rows that are loaded together, because the latency of memory is long
    const u32 count = static_cast<u32>(min(at.rows - first, static_cast<u64>(WARP)));
#pragma unroll 1
    for (u32 left = 0; left < at.width; left += WARP) {
        const u32 columns = min(at.width - left, WARP);
#pragma unroll 1
        for (u32 above = 0; above < WARP; above += AT_ONCE) {
            const PIXEL *pixel = at.pixels + (first + above) * at.pitch + left + lane;
            const unsigned char *mark = at.marks + (first + above) * at.width + left + lane;
            PIXEL pixels[AT_ONCE];
            unsigned char marks[AT_ONCE];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) {
                const bool is = above + i < count && lane < columns;
                pixels[i] = is ? pixel[static_cast<u64>(i) * at.pitch] : PIXEL{};
                marks[i] = is ? mark[static_cast<u64>(i) * at.width] : 0;
            }
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) {
                tile.pixels[above + i][lane] = pixels[i];
                tile.marks[above + i][lane] = marks[i];
            }
        }
        __syncwarp();
        if (lane < count) {
#pragma unroll 4
            for (u32 i = 0; i < columns; ++i) body(tile.pixels[lane][i], tile.marks[lane][i] != 0);
        }
        __syncwarp();
    }
}

// Returns the first of the 32 rows of the calling warp.
__device__ __forceinline__ u64 first_row_of_warp()
{
    return (static_cast<u64>(blockIdx.x) * LOOP_WARPS + threadIdx.x / WARP) * WARP;
}

// Sums of integers are exact: in floats they would be the same.
__device__ __forceinline__ u64 add_pixel(u64 sum, u32 pixel) { return sum + pixel; }
__device__ __forceinline__ double add_pixel(double sum, float pixel) { return __dadd_rn(sum, pixel); }

// Writes the sum of each row's finite pixels inside to `sums`, and adds the warp's counts and its range to `totals`, which
// held {0, 0, {NO_MINIMUM, NO_MAXIMUM}} before the launch. Reads each pixel and mark once, shared memory as a transpose;
// four atomics per warp. The caller is an entry point with LOOP_WARPS warps a block.
template <typename PIXEL>
__device__ __forceinline__ void measure(const MaskedRows<PIXEL> &at, PixelTotals *totals, double *sums)
{
    __shared__ MaskedTile<PIXEL> tiles[LOOP_WARPS];
    const u32 lane = threadIdx.x % WARP;
    const u64 first = first_row_of_warp();
    if (first >= at.rows) return;
    u32 inside = 0, sample = 0, low = NO_MINIMUM, high = NO_MAXIMUM;
    cuda::std::conditional_t<cuda::std::is_same<PIXEL, float>::value, double, u64> sum = 0;
    for_each_pixel_in_order(tiles[threadIdx.x / WARP], at, first, lane, [&](PIXEL pixel, bool is_inside) {
        u32 key;
        const bool finite = sort_key(pixel, &key);
        inside += is_inside;
        if (!finite) return;
        low = min(low, key);
        high = max(high, key);
        if (!is_inside) return;
        ++sample;
        sum = add_pixel(sum, pixel);
    });
    if (first + lane < at.rows) sums[first + lane] = static_cast<double>(sum);
    // The sums of 32 rows may have more than 32 bits.
    const u64 all_inside = lanes_total(static_cast<u64>(inside)), all_sample = lanes_total(static_cast<u64>(sample));
    if (lane == 0 && all_inside > 0) {
        atomicAdd(&totals->inside, all_inside);
        atomicAdd(&totals->sample, all_sample);
    }
    extend_range(low, high, totals->range);
}

// Writes the sum of the squared differences from `mean` of each row's finite pixels inside to `sums`. Memory and caller are
// those of measure().
template <typename PIXEL>
__device__ __forceinline__ void measure_squares(const MaskedRows<PIXEL> &at, double mean, double *sums)
{
    __shared__ MaskedTile<PIXEL> tiles[LOOP_WARPS];
    const u32 lane = threadIdx.x % WARP;
    const u64 first = first_row_of_warp();
    if (first >= at.rows) return;
    double sum = 0;
    for_each_pixel_in_order(tiles[threadIdx.x / WARP], at, first, lane, [&](PIXEL pixel, bool is_inside) {
        u32 key;
        if (!is_inside || !sort_key(pixel, &key)) return;
        const double difference = __dsub_rn(static_cast<double>(pixel), mean);
        sum = __dadd_rn(sum, __dmul_rn(difference, difference));
    });
    if (first + lane < at.rows) sums[first + lane] = sum;
}

// Writes the initial mask, a caller's pixels in device memory, to `to` as a byte per pixel without gaps: 1 where the pixel
// is above 0, which NaN is not. A warp has a row; each pixel is read once. The caller is an entry point with LOOP_WARPS
// warps a block.
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
