// The kernels of no operation of its own: the range of an image's finite pixels.
#include "pixel_key.cuh"

// Block 256, any grid: x loops over the columns, y over the rows of all slices. range[0] and range[1] hold NO_MINIMUM
// and NO_MAXIMUM before, the smallest and the largest key after; they are unchanged if no pixel is finite. Reads each
// pixel once; one pair of atomics per warp.
template <typename PIXEL>
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
            if (sort_key(reinterpret_cast<const PIXEL *>(line)[x], &key)) {
                low = min(low, key);
                high = max(high, key);
            }
        }
    }
    extend_range(low, high, range);
}

extern "C" __global__ void __launch_bounds__(RANGE_THREADS)
isoline_range_u8(const unsigned char *pixels, u64 row_stride, u64 slice_stride, u32 width, u32 height, u32 depth,
                 u32 *range)
{
    pixel_range<unsigned char>(pixels, row_stride, slice_stride, width, height, depth, range);
}

extern "C" __global__ void __launch_bounds__(RANGE_THREADS)
isoline_range_u16(const unsigned char *pixels, u64 row_stride, u64 slice_stride, u32 width, u32 height, u32 depth,
                  u32 *range)
{
    pixel_range<unsigned short>(pixels, row_stride, slice_stride, width, height, depth, range);
}

extern "C" __global__ void __launch_bounds__(RANGE_THREADS)
isoline_range_f32(const unsigned char *pixels, u64 row_stride, u64 slice_stride, u32 width, u32 height, u32 depth,
                  u32 *range)
{
    pixel_range<float>(pixels, row_stride, slice_stride, width, height, depth, range);
}
