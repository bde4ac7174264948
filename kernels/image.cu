// The kernels that belong to no single operation: the range of an image's finite pixels, and of neighbours.
#include "pixel_key.cuh"

// Block 256, any grid: x loops over the columns, y over the rows of all slices. The words of `range` are keys, initially
// NO_MINIMUM and NO_MAXIMUM twice. The first pair becomes the smallest and the largest finite pixel. With NEIGHBOURS, the
// second pair becomes the smallest value that both pixels of some pair do not exceed, and the largest that both pixels of
// some pair reach; a pair is two finite pixels side by side along x or y. Words without any pixel or pair stay unchanged. A
// warp needs one pair of atomics, or two.
template <typename PIXEL, bool NEIGHBOURS>
__device__ __forceinline__ void pixel_range(const unsigned char *pixels, u64 row_stride, u64 slice_stride, u32 width,
                                            u32 height, u32 depth, u32 *range)
{
    u32 low = NO_MINIMUM, high = NO_MAXIMUM, low_pair = NO_MINIMUM, high_pair = NO_MAXIMUM;
    const u64 rows = static_cast<u64>(height) * depth;
    for (u64 row = blockIdx.y; row < rows; row += gridDim.y) {
        const unsigned char *line = pixels + row / height * slice_stride + row % height * row_stride;
        for (u64 x = static_cast<u64>(blockIdx.x) * RANGE_THREADS + threadIdx.x; x < width;
             x += static_cast<u64>(gridDim.x) * RANGE_THREADS) {
            u32 key;
            const PIXEL *pixel = reinterpret_cast<const PIXEL *>(line) + x;
            if (!sort_key(*pixel, &key)) continue;
            low = min(low, key);
            high = max(high, key);
            const auto pair_with = [&](const PIXEL *other) {
                u32 other_key;
                if (!sort_key(*other, &other_key)) return;
                low_pair = min(low_pair, max(key, other_key));
                high_pair = max(high_pair, min(key, other_key));
            };
            if (NEIGHBOURS && x + 1 < width) pair_with(pixel + 1);
            if (NEIGHBOURS && row % height + 1 < height)
                pair_with(reinterpret_cast<const PIXEL *>(line + row_stride) + x);
        }
    }
    extend_range(low, high, range);
    if (NEIGHBOURS) extend_range(low_pair, high_pair, range + 2);
}

#define ISOLINE_RANGE(NAME, PIXEL, NEIGHBOURS)                                                                        \
    extern "C" __global__ void __launch_bounds__(RANGE_THREADS)                                                       \
    NAME(const unsigned char *pixels, u64 row_stride, u64 slice_stride, u32 width, u32 height, u32 depth, u32 *range) \
    {                                                                                                                 \
        pixel_range<PIXEL, NEIGHBOURS>(pixels, row_stride, slice_stride, width, height, depth, range);                \
    }
ISOLINE_RANGE(isoline_range_u8, unsigned char, false)
ISOLINE_RANGE(isoline_range_u16, unsigned short, false)
ISOLINE_RANGE(isoline_range_f32, float, false)
ISOLINE_RANGE(isoline_neighbour_range_u8, unsigned char, true)
ISOLINE_RANGE(isoline_neighbour_range_u16, unsigned short, true)
ISOLINE_RANGE(isoline_neighbour_range_f32, float, true)
#undef ISOLINE_RANGE
