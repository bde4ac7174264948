// Region snakes (src/snake/cuda.rs launches these kernels).
//
//   levels_* converts pixels that are not levels yet: f32 to 65536 levels, binary images, strided device memory
//                   prefix_sums_* sums over all pixels of a row before each of its sectors, snake_sums.cuh whole_* sums
//                   over each target's window, snake_search.cuh search_* searches targets with a thread block each,
//                   search_group_* with several blocks each; targets that compete in their territories, snake_territory.cuh
#include "common.cuh"
#include "snake_search.cuh"

// Defines the kernels for levels of one type.
#define ISOLINE_SNAKE(TYPE, PIXEL)                                                                                   \
    extern "C" __global__ void __launch_bounds__(ALONE_THREADS)                                                      \
    isoline_snake_prefix_sums_##TYPE(const __grid_constant__ LevelImage image, ulonglong2 *prefix_sums)              \
    {                                                                                                                \
        compute_prefix_sums<PIXEL>(image, prefix_sums);                                                              \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(ALONE_THREADS)                                                      \
    isoline_snake_whole_##TYPE(const __grid_constant__ SearchJob job)                                                \
    {                                                                                                                \
        whole_sums<PIXEL>(job);                                                                                      \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(ALONE_THREADS)                                                      \
    isoline_snake_search_##TYPE(const __grid_constant__ SearchJob job)                                               \
    {                                                                                                                \
        search<PIXEL, false>(job);                                                                                   \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(GROUP_THREADS, 1)                                                   \
    isoline_snake_search_group_##TYPE(const __grid_constant__ SearchJob job)                                         \
    {                                                                                                                \
        search<PIXEL, true>(job);                                                                                    \
    }
ISOLINE_SNAKE(u8, unsigned char)
ISOLINE_SNAKE(u16, unsigned short)
#undef ISOLINE_SNAKE

// Converts a pixel to a level like `QuantiseF64` in src/levels.rs: in double precision, rounded once per pixel.
__device__ __forceinline__ u32 quantised(float pixel, double minimum, double scale)
{
    const double scaled = __dmul_rn(__dadd_rn(static_cast<double>(pixel), -minimum), scale);
    const double clamped = scaled > 0.0 ? fmin(scaled, MAX_LEVEL) : 0.0;
    return static_cast<u32>(__dadd_rn(clamped, 0.5));
}

// Converts an image to levels, a pixel per thread and row of the grid: `binary` images to 1 where they are above 0,
// else to 0, and floats by (pixel - minimum) * scale. `stride` and `pitch` are the bytes from row to row of `pixels`
// and of `to`, device memory both. All threads of the grid call it; its blocks have 32 x 8.
template <typename IN, typename OUT>
__device__ __forceinline__ void levels(const unsigned char *pixels, u64 stride, u32 width, u32 height, u32 binary,
                                       double minimum, double scale, unsigned char *to, u64 pitch)
{
    const u64 x = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (x >= width) return;
    for (u64 y = static_cast<u64>(blockIdx.y) * blockDim.y + threadIdx.y; y < height;
         y += static_cast<u64>(gridDim.y) * blockDim.y) {
        const IN pixel = reinterpret_cast<const IN *>(pixels + y * stride)[x];
        u32 level;
        if (binary) {
            level = pixel > IN(0);
        } else if constexpr (sizeof(IN) == 4) {
            level = quantised(pixel, minimum, scale);
        } else {
            level = pixel;
        }
        reinterpret_cast<OUT *>(to + y * pitch)[x] = static_cast<OUT>(level);
    }
}

// Defines the kernel that converts one type of pixels to one type of levels.
#define ISOLINE_SNAKE_LEVELS(NAME, IN, OUT)                                                                          \
    extern "C" __global__ void NAME(const unsigned char *pixels, u64 stride, u32 width, u32 height, u32 binary,      \
                                    double minimum, double scale, unsigned char *to, u64 pitch)                      \
    {                                                                                                                \
        levels<IN, OUT>(pixels, stride, width, height, binary, minimum, scale, to, pitch);                           \
    }
ISOLINE_SNAKE_LEVELS(isoline_snake_levels_u8_u8, unsigned char, unsigned char)
ISOLINE_SNAKE_LEVELS(isoline_snake_levels_u16_u8, unsigned short, unsigned char)
ISOLINE_SNAKE_LEVELS(isoline_snake_levels_u16_u16, unsigned short, unsigned short)
ISOLINE_SNAKE_LEVELS(isoline_snake_levels_f32_u8, float, unsigned char)
ISOLINE_SNAKE_LEVELS(isoline_snake_levels_f32_u16, float, unsigned short)
#undef ISOLINE_SNAKE_LEVELS
