// Edge drawing, smoothing as a kernel of its own, with any Gaussian: for the map of the smoothed image, and ahead of
// `tile`, which can only smooth with a sigma of 1.
#pragma once
#include "edge_drawing_columns.cuh"

// Rows of the tile with its halo. Their lengths in words are odd, so that lanes in neighbouring rows use different banks of
// shared memory.
constexpr int SMOOTH_ROWS = SMOOTH_Y + 2 * SMOOTH_REACH;
constexpr int SMOOTH_LEVELS = SMOOTH_X + 2 * SMOOTH_REACH + 2;   // of 16 bits
constexpr int SMOOTH_SUMS = SMOOTH_X + 1;                        // of 32 bits
static_assert(SMOOTH_LEVELS % 4 == 2 && SMOOTH_SUMS % 2 == 1, "odd numbers of words");
static_assert(SMOOTH_X == WARP && SMOOTH_Y == SMOOTH_WARPS * SMOOTH_RUN, "a lane has a run of a column");
static_assert(SMOOTH_X % SMOOTH_RUN == 0, "a row is divided into runs");

__device__ __forceinline__ u32 level_of(unsigned char pixel, const isoline_ed_job &) { return pixel; }
__device__ __forceinline__ u32 level_of(unsigned short pixel, const isoline_ed_job &) { return pixel; }
__device__ __forceinline__ u32 level_of(float pixel, const isoline_ed_job &job)
{
    return quantise(pixel, job.half_minimum, job.double_scale);
}

// Stores a smoothed level: as it is, or in the own units of an image of floats.
__device__ __forceinline__ void store_level(unsigned char *to, u32 level, const isoline_ed_smoothing &)
{
    *to = static_cast<unsigned char>(level);
}
__device__ __forceinline__ void store_level(unsigned short *to, u32 level, const isoline_ed_smoothing &)
{
    *to = static_cast<unsigned short>(level);
}
__device__ __forceinline__ void store_level(float *to, u32 level, const isoline_ed_smoothing &smoothing)
{
    *to = __double2float_rn(__dadd_rn(__dmul_rn(level, smoothing.unit), smoothing.origin));
}

// Adds the weighted inputs of a run of neighbouring outputs to their sums; input(k) is the k-th one of the first output.
template <typename INPUT>
__device__ __forceinline__ void weigh_run(const isoline_ed_smoothing &smoothing, u32 (&sum)[SMOOTH_RUN], INPUT input)
{
    const int radius = smoothing.radius;
    u32 window[SMOOTH_RUN];
#pragma unroll
    for (int j = 0; j < SMOOTH_RUN - 1; ++j) window[j] = input(j);
#pragma unroll SMOOTH_RUN
    for (int k = 0; k <= 2 * radius; ++k) {
        window[SMOOTH_RUN - 1] = input(k + SMOOTH_RUN - 1);
        const u32 tap = smoothing.taps[abs(k - radius)];
#pragma unroll
        for (int j = 0; j < SMOOTH_RUN; ++j) sum[j] += tap * window[j];
#pragma unroll
        for (int j = 0; j < SMOOTH_RUN - 1; ++j) window[j] = window[j + 1];
    }
}

// Block (32, 8), grid (ceil(width/32), min(ceil(height/64), 65535), slices); blocks loop over what exceeds the grid. A block
// smooths a tile of 32 x 64 pixels, along x and then along y, in shared memory. Reads each pixel (1 + r/16) * (1 + r/32)
// times with a radius of r, mostly from the cache, and writes it once. Sums are exact: at most 256 * 65535, then
// 65536 * 65535 + SMOOTH_HALF.
template <typename PIXEL, typename OUTPUT>
__device__ __forceinline__ void smooth_kernel(const isoline_ed_job &job, const isoline_ed_smoothing &smoothing)
{
    __shared__ unsigned short levels[SMOOTH_ROWS][SMOOTH_LEVELS];
    __shared__ u32 sums[SMOOTH_ROWS][SMOOTH_SUMS];
    const int width = job.width, height = job.height, radius = smoothing.radius;
    const int columns = SMOOTH_X + 2 * radius, rows = SMOOTH_Y + 2 * radius;
    const int lane = threadIdx.x, warp = threadIdx.y, x0 = static_cast<int>(blockIdx.x) * SMOOTH_X;
    const u32 tiles = (job.height + SMOOTH_Y - 1) / SMOOTH_Y;
    const unsigned char *pixels = job.pixels + blockIdx.z * job.slice_stride;
    unsigned char *smoothed =
        static_cast<unsigned char *>(smoothing.smoothed) + blockIdx.z * smoothing.smoothed_pitch * job.height;
    for (u32 tile = blockIdx.y; tile < tiles; tile += gridDim.y) {
        const int y0 = static_cast<int>(tile) * SMOOTH_Y;
        // 1. Read the tile with its halo, mirrored beyond the image.
        for (int r = warp; r < rows; r += SMOOTH_WARPS) {
            const u64 y = reflect(y0 - radius + r, height);
            const PIXEL *line = reinterpret_cast<const PIXEL *>(pixels + y * job.row_stride);
            for (int c = lane; c < columns; c += WARP)
                levels[r][c] = static_cast<unsigned short>(level_of(line[reflect(x0 - radius + c, width)], job));
        }
        __syncthreads();
        // 2. Smooth along x. Lanes have neighbouring rows.
        for (int run = warp * WARP + lane; run < rows * (SMOOTH_X / SMOOTH_RUN); run += SMOOTH_WARPS * WARP) {
            const int r = run % rows, c = run / rows * SMOOTH_RUN;
            u32 sum[SMOOTH_RUN] = {};
            weigh_run(smoothing, sum, [&](int k) -> u32 { return levels[r][c + k]; });
#pragma unroll
            for (int j = 0; j < SMOOTH_RUN; ++j) sums[r][c + j] = sum[j];
        }
        __syncthreads();
        // 3. Smooth along y. Lanes have neighbouring columns. The next tile overwrites `sums` only after its first barrier.
        u32 sum[SMOOTH_RUN];
        const int x = x0 + lane, first = warp * SMOOTH_RUN;
#pragma unroll
        for (int j = 0; j < SMOOTH_RUN; ++j) sum[j] = SMOOTH_HALF;
        weigh_run(smoothing, sum, [&](int k) -> u32 { return sums[first + k][lane]; });
        if (x >= width) continue;
#pragma unroll
        for (int j = 0; j < SMOOTH_RUN; ++j) {
            const int y = y0 + first + j;
            if (y >= height) break;
            unsigned char *line = smoothed + y * smoothing.smoothed_pitch;
            store_level(reinterpret_cast<OUTPUT *>(line) + x, sum[j] >> SMOOTH_SHIFT, smoothing);
        }
    }
}
