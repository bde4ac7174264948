// Edge drawing: smoothing, gradient and edge direction, anchors, edge tracing (paper: sections 2.2.1 to 2.2.4).
//
//   tile_*              all four steps of a tile, edge_drawing_tile.cuh
//   rest_{16,32}        the traces that are longer than a tile's halo, edge_drawing_rest.cuh
//   smooth_, levels_    smoothing by any Gaussian, ahead of tile_*_smoothed, edge_drawing_smooth.cuh
//   maps_               the intermediate maps, if they are requested, edge_drawing_maps.cuh
//   thin, chain         the segments of an edge map, edge_drawing_segments.cuh
//
// All arithmetic is on integers: every device gives the same bits. Sides are 1..2^30; products are 64-bit.
#include "common.cuh"
#include "edge_drawing_maps.cuh"
#include "edge_drawing_rest.cuh"
#include "edge_drawing_segments.cuh"
#include "edge_drawing_smooth.cuh"
#include "edge_drawing_tile.cuh"

// Tiles of many rows are for images that fill the device; tiles of 32 rows are for smaller images and for smoothed pixels.
#define ISOLINE_ED_TILE(NAME, PIXEL, ROWS, ...)                                                                      \
    extern "C" __global__ void __launch_bounds__(ED_WARPS *WARP, TILE_BLOCKS)                                        \
    NAME(const __grid_constant__ isoline_ed_job job)                                                                 \
    {                                                                                                                \
        tile_kernel<Tile<PIXEL, ROWS, __VA_ARGS__>>(job);                                                            \
    }
ISOLINE_ED_TILE(isoline_ed_tile_u8_48, unsigned char, 48, true)
ISOLINE_ED_TILE(isoline_ed_tile_u8_32, unsigned char, 32, true)
ISOLINE_ED_TILE(isoline_ed_tile_u8_scharr_48, unsigned char, 48, false)
ISOLINE_ED_TILE(isoline_ed_tile_u8_scharr_32, unsigned char, 32, false)
ISOLINE_ED_TILE(isoline_ed_tile_u16_64, unsigned short, 64, false)
ISOLINE_ED_TILE(isoline_ed_tile_u16_32, unsigned short, 32, false)
ISOLINE_ED_TILE(isoline_ed_tile_f32_64, float, 64, false)
ISOLINE_ED_TILE(isoline_ed_tile_f32_32, float, 32, false)
ISOLINE_ED_TILE(isoline_ed_tile_u8_smoothed, unsigned char, 32, true, true)
ISOLINE_ED_TILE(isoline_ed_tile_u8_scharr_smoothed, unsigned char, 32, false, true)
ISOLINE_ED_TILE(isoline_ed_tile_u16_smoothed, unsigned short, 32, false, true)
#undef ISOLINE_ED_TILE

#define ISOLINE_ED_REST(NAME, WORD)                                                                                  \
    extern "C" __global__ void __launch_bounds__(REST_WARPS *WARP)                                                   \
    NAME(const __grid_constant__ isoline_ed_job job)                                                                 \
    {                                                                                                                \
        rest_kernel<WORD>(job_of_slice<WORD>(job, blockIdx.z));                                                                                      \
    }
ISOLINE_ED_REST(isoline_ed_rest_16, unsigned short)
ISOLINE_ED_REST(isoline_ed_rest_32, u32)
#undef ISOLINE_ED_REST

#define ISOLINE_ED_SMOOTH(NAME, PIXEL, OUTPUT)                                                                       \
    extern "C" __global__ void __launch_bounds__(SMOOTH_WARPS *WARP)                                                 \
    NAME(const __grid_constant__ isoline_ed_job job, const __grid_constant__ isoline_ed_smoothing smoothing)         \
    {                                                                                                                \
        smooth_kernel<PIXEL, OUTPUT>(job, smoothing);                                                                \
    }
ISOLINE_ED_SMOOTH(isoline_ed_smooth_u8, unsigned char, unsigned char)
ISOLINE_ED_SMOOTH(isoline_ed_smooth_u16, unsigned short, unsigned short)
ISOLINE_ED_SMOOTH(isoline_ed_smooth_f32, float, float)
ISOLINE_ED_SMOOTH(isoline_ed_levels_f32, float, unsigned short)
#undef ISOLINE_ED_SMOOTH

#define ISOLINE_ED_MAPS(NAME, WORD)                                                                                  \
    extern "C" __global__ void                                                                                       \
    NAME(const __grid_constant__ isoline_ed_job job, const __grid_constant__ isoline_ed_maps maps)                   \
    {                                                                                                                \
        maps_kernel<WORD>(job, maps);                                                                                \
    }
ISOLINE_ED_MAPS(isoline_ed_maps_16, unsigned short)
ISOLINE_ED_MAPS(isoline_ed_maps_32, u32)
#undef ISOLINE_ED_MAPS

extern "C" __global__ void __launch_bounds__(SEGMENT_THREADS)
isoline_ed_thin(const __grid_constant__ isoline_ed_job job, const __grid_constant__ isoline_ed_segments out)
{
    thin_kernel(job, out);
}

extern "C" __global__ void __launch_bounds__(SEGMENT_THREADS)
isoline_ed_chain(const __grid_constant__ isoline_ed_job job, const __grid_constant__ isoline_ed_segments out)
{
    chain_kernel(job, out);
}
