// Edge strength: v' = v + dt (sum of neighbours - (neighbours + 1/rho^2) v), v = 1 on the shape, Neumann borders.
//
// Three ways to iterate, all with the same bits as the CPU's plain loop:
//   fused    several iterations per pass over memory (edge_strength_fused.cuh, edge_strength_fused_3d.cuh): the default
//   shared   the paper's first design (paper/edge_strength.cuh)
//   texture  the paper's second design (paper/edge_strength.cuh)
// Before them: prepare (pixels to the bit mask of the shape and, where it is needed, v). The converged mode is in
// edge_strength_multigrid.cuh.
//
// Buffers: v is f32, row r = z*height + y begins at v + r*pitch; pitch (elements) is a multiple of 32, the base is aligned
// to 256 bytes, and values beyond a row's width are never used. mask: see common.cuh; mask_pitch = ceil(width/32) + 2.
// Sides are 1..2^30, so that a column or row index with its halo fits an int; products are 64-bit.
#include "common.cuh"
#include "edge_strength_fused.cuh"
#include "edge_strength_fused_3d.cuh"
#include "edge_strength_multigrid.cuh"
#include "edge_strength_update.cuh"
#include "paper/edge_strength.cuh"

// ------------------------------------------------------------------------------------------------------- prepare

constexpr u32 PREPARE_NARROW = 2 * MASK_WORD_BITS;   // from this width on a halo is mirrored at most once

// Returns the largest value of the pixel's type that does not exceed the threshold. A pixel exceeds that value exactly if
// it exceeds the threshold, so that pixels need no conversion to f64. For a threshold below the type's range it returns -1,
// which every pixel exceeds.
__device__ __forceinline__ int threshold_of(double threshold, unsigned char)
{
    return static_cast<int>(floor(fmin(fmax(threshold, -1.0), 255.0)));
}
__device__ __forceinline__ int threshold_of(double threshold, unsigned short)
{
    return static_cast<int>(floor(fmin(fmax(threshold, -1.0), 65535.0)));
}
__device__ __forceinline__ float threshold_of(double threshold, float) { return __double2float_rd(threshold); }

// The initial value of a pixel beside the shape.
struct InitialValue {
    float unit;        // of pixels; 0: all are 0
    float minimum, scale;
    bool inverted;     // 1 - value
};

__device__ __forceinline__ float initial_value(float pixel, const InitialValue &start)
{
    if (start.unit == 0.0f || pixel != pixel) return 0.0f;
    float value = __fmul_rn(__fsub_rn(__fmul_rn(pixel, start.unit), start.minimum), start.scale);
    // Comparisons instead of fmin and fmax: NaN (0 * infinity) and -0 must become +0 on every device.
    value = value > 0.0f ? value : 0.0f;
    value = value < 1.0f ? value : 1.0f;
    return start.inverted ? __fsub_rn(1.0f, value) : value;
}

// Makes at most 32 mask words of one row, from word `first` on, and with FIELD the row of v. Lane i reads pixel i of each
// word, and then stores word i. INSIDE: there are 32 words, and all their pixels are within the image.
template <bool INSIDE, bool FIELD, typename PIXEL>
__device__ __forceinline__ void prepare_row(const PIXEL *line, int width, u32 first, u32 words, double threshold_,
                                            bool below, const InitialValue &start, float *v_row, u32 *mask_row)
{
    constexpr u32 GROUP = FIELD ? 4 : INSIDE ? 16 : 8;   // words whose pixels are loaded together
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
                v_row[at] = above != below ? 1.0f : initial_value(static_cast<float>(pixel[i]), start);
        }
    }
    if (lane < words) mask_row[first + lane] = below ? ~own : own;
}

// A warp has 32 words of a mask row, a block 8 rows. Block (32, 8), grid (1 + ceil(width/1024), min(ceil(rows/8),
// 65535)); blocks loop over the height*depth rows. Column 0 of the grid makes the pads, which are the row's mirror
// image: the word before it and the word after it. Reads each pixel once (those of pads again), writes 1/8 byte per
// pixel and, unless v is null, 4.
template <typename PIXEL>
__device__ __forceinline__ void prepare(const unsigned char *pixels, u64 row_stride, u64 slice_stride, u32 width,
                                        u32 height, u32 depth, double threshold, bool below, const InitialValue &start,
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
            prepare_row<decltype(is_inside)::value, decltype(has_field)::value>(line, width, from, count, threshold, below,
                                                                                start, v_row, mask_row);
        };
        using Yes = cuda::std::true_type;
        using No = cuda::std::false_type;
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
         double threshold, u32 below, float start_unit, float start_min, float start_scale, float *v, u64 pitch,      \
         u32 *mask, u32 mask_pitch)                                                                                  \
    {                                                                                                                \
        const InitialValue start{start_unit, start_min, start_scale, below != 0};                                    \
        prepare<PIXEL>(pixels, row_stride, slice_stride, width, height, depth, threshold, below != 0, start, v,      \
                       pitch, mask, mask_pitch);                                                                     \
    }
ISOLINE_ES_PREPARE(isoline_es_prepare_u8, unsigned char)
ISOLINE_ES_PREPARE(isoline_es_prepare_u16, unsigned short)
ISOLINE_ES_PREPARE(isoline_es_prepare_f32, float)
#undef ISOLINE_ES_PREPARE

