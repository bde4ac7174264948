// The kernels of no operation of its own: the range of an image's finite pixels, and of neighbours.
#include "pixel_key.cuh"

// Block 256, any grid: x loops over the columns, y over the rows of all slices. range[0] and range[1] hold NO_MINIMUM
// and NO_MAXIMUM before, after that keys: with NEIGHBOURS the smallest that two finite pixels beside each other in a slice are
// both at or below, and the largest that two are both at or above, else those of the smallest and the largest finite pixel; they
// are unchanged if there is none. One pair of atomics per warp.
template <typename PIXEL, bool NEIGHBOURS>
__device__ __forceinline__ void pixel_range(const unsigned char *pixels, u64 row_stride, u64 slice_stride, u32 width,
                                            u32 height, u32 depth, u32 *range)
{
    u32 low = NO_MINIMUM, high = NO_MAXIMUM;
    const u64 rows = static_cast<u64>(height) * depth;
    for (u64 row = blockIdx.y; row < rows; row += gridDim.y) {
        const unsigned char *line = pixels + row / height * slice_stride + row % height * row_stride;
        for (u64 x = static_cast<u64>(blockIdx.x) * RANGE_THREADS + threadIdx.x; x < width;
             x += static_cast<u64>(gridDim.x) * RANGE_THREADS) {
            u32 key;
            const PIXEL *pixel = reinterpret_cast<const PIXEL *>(line) + x;
            if (!sort_key(*pixel, &key)) continue;
            const auto extend = [&](const PIXEL *other) {
                u32 other_key;
                if (!sort_key(*other, &other_key)) return;
                low = min(low, max(key, other_key));
                high = max(high, min(key, other_key));
            };
            if (!NEIGHBOURS) extend(pixel);
            if (NEIGHBOURS && x + 1 < width) extend(pixel + 1);
            if (NEIGHBOURS && row % height + 1 < height)
                extend(reinterpret_cast<const PIXEL *>(line + row_stride) + x);
        }
    }
    extend_range(low, high, range);
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
