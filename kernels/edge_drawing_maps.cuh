// Edge drawing: the intermediate maps, and the gradient magnitudes of edge pixels for the host's segments. An edge map
// needs neither.
#pragma once
#include "edge_drawing_tile.cuh"
#include <cub/block/block_scan.cuh>

// Converts a lane's smoothed pixels to the image's type. u8: pairs of columns.
__device__ __forceinline__ Raw<unsigned char> image_units(const u32 *s, const isoline_ed_maps &, unsigned char)
{
    constexpr u32 EVEN_BYTES = 0x6420;
    return Raw<unsigned char>{make_uint2(permute_bytes<EVEN_BYTES>(s[0], s[1]), permute_bytes<EVEN_BYTES>(s[2], s[3]))};
}
__device__ __forceinline__ Raw<unsigned short> image_units(const u32 *s, const isoline_ed_maps &, unsigned short)
{
    return Raw<unsigned short>{make_uint2(s[0] | s[1] << 16, s[2] | s[3] << 16)};
}
__device__ __forceinline__ Raw<float> image_units(const u32 *s, const isoline_ed_maps &maps, float)
{
    auto own = [&](u32 value) { return __double2float_rn(__dadd_rn(__dmul_rn(value, maps.unit), maps.origin)); };
    return Raw<float>{make_float4(own(s[0]), own(s[1]), own(s[2]), own(s[3]))};
}

// Block (32, 4), grid (ceil(width/own), min(ceil(height/128), 65535)), own = 240 columns of u8, else 112. It does phase
// A of `tile` as far as the smoothed rows. Reads each pixel 1.3 times, mostly from the cache, writes it once.
template <typename PIXEL>
__device__ __forceinline__ void smooth_kernel(const isoline_ed_job &job, const isoline_ed_maps &maps)
{
    using T = Tile<PIXEL, 32, false>;
    using C = Columns<PIXEL, false>;
    constexpr int PX = T::PX, N = 4, OUT = PX * sizeof(PIXEL);
    __shared__ u32 column[T::COLUMNS];
    const int x0 = static_cast<int>(blockIdx.x) * T::OWN_X - ED_HALO_X, x = x0 + static_cast<int>(threadIdx.x) * PX;
    const int width = job.width, height = job.height, c = threadIdx.x * PX;
    const bool aligned = prepare_columns<PX * sizeof(PIXEL), T::COLUMNS>(job, column, x0);
    const bool writes = c >= ED_HALO_X && c < T::COLUMNS - ED_HALO_X && x < width;
    const bool whole = (reinterpret_cast<u64>(maps.smoothed) | maps.smoothed_pitch) % OUT == 0 && x + PX <= width;
    for (u64 begin = (static_cast<u64>(blockIdx.y) * ED_WARPS + threadIdx.y) * SMOOTH_ROWS; begin < job.height;
         begin += static_cast<u64>(gridDim.y) * ED_WARPS * SMOOTH_ROWS) {
        const int first = static_cast<int>(begin), count = min(SMOOTH_ROWS, height - first);
        Rows<PIXEL> rows(job, x, aligned && x >= 0 && x + PX <= width, &column[c], first - ED_SMOOTH,
                         count + 2 * ED_SMOOTH);
        u32 sum[4][N] = {};
#pragma unroll 1
        for (int i = 0; i < count + 2 * ED_SMOOTH; ++i) {
            u32 pixel[N], five[N], s[N + 2];
            C::split(rows.read(), pixel, job.minimum, job.scale);
            add_row(sum, pixel, five);
            if (i < 2 * ED_SMOOTH) continue;
            C::smooth(five, s);
            if (!writes) continue;
            const Raw<PIXEL> out = image_units(s + 1, maps, PIXEL());
            unsigned char *line = static_cast<unsigned char *>(maps.smoothed) +
                                  static_cast<u64>(first + i - 2 * ED_SMOOTH) * maps.smoothed_pitch;
            PIXEL *to = reinterpret_cast<PIXEL *>(line) + x;
            if (whole) {
                *reinterpret_cast<decltype(out.v) *>(to) = out.v;
            } else {
                const PIXEL *each = reinterpret_cast<const PIXEL *>(&out.v);
                for (int j = 0; j < min(PX, width - x); ++j) to[j] = each[j];
            }
        }
    }
}

// A thread has a pixel. Block (32, 8), grid (ceil(width/32), min(ceil(height/8), 65535)). Reads a word of the working
// map, writes 4, 1 and 1 bytes.
template <typename WORD>
__device__ __forceinline__ void maps_kernel(const isoline_ed_job &job, const isoline_ed_maps &maps)
{
    const u32 x = blockIdx.x * MAPS_X + threadIdx.x;
    if (x >= job.width) return;
    for (u64 y = static_cast<u64>(blockIdx.y) * MAPS_Y + threadIdx.y; y < job.height;
         y += static_cast<u64>(gridDim.y) * MAPS_Y) {
        const u32 word = static_cast<const WORD *>(job.map)[y * job.map_pitch + x];
        const u32 g = (word & Word<WORD>::GRADIENT) >> GRADIENT_SHIFT;
        const bool outermost = x == 0 || y == 0 || x == job.width - 1 || y == job.height - 1;
        if (maps.gradient) {
            const double own = job.margin > 0 && outermost ? maps.border : __dmul_rn(g, maps.unit);
            float *line = reinterpret_cast<float *>(reinterpret_cast<unsigned char *>(maps.gradient) +
                                                    y * maps.gradient_pitch);
            line[x] = __double2float_rn(own);
        }
        if (maps.direction)
            maps.direction[y * maps.direction_pitch + x] =
                g < job.threshold ? 0 : word & Word<WORD>::VERTICAL ? VERTICAL_EDGE : HORIZONTAL_EDGE;
        if (maps.anchors) maps.anchors[y * maps.anchors_pitch + x] = (word & TRACED) == TRACED ? 255 : 0;
    }
}

// The gradient magnitudes of all edge pixels in raster order. A block has GATHER_WORDS words of the edge map's bits, a
// word per thread; `count` writes the number of edge pixels of each block, `offsets` turns these into the block's first
// position, `gather` writes the magnitudes.

// Returns the sum of the values of a block's threads before this one, and the sum of all.
__device__ __forceinline__ u32 block_exclusive_sum(u32 value, u32 *total)
{
    using Scan = cub::BlockScan<u32, GATHER_WORDS, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ Scan::TempStorage storage;
    Scan(storage).ExclusiveSum(value, value, *total);
    __syncthreads();   // the next use overwrites `storage`
    return value;
}

__device__ __forceinline__ u32 edge_word(const isoline_ed_job &job, u64 at)
{
    return at < job.bit_pitch * job.height ? job.bits[at] : 0;
}

// Grid ceil(words / 1024). Reads 1/8 byte per pixel.
__device__ __forceinline__ void count_kernel(const isoline_ed_job &job, u64 *counts)
{
    u32 total;
    block_exclusive_sum(__popc(edge_word(job, static_cast<u64>(blockIdx.x) * GATHER_WORDS + threadIdx.x)), &total);
    if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// One block. counts[i] becomes the sum of those before it, and counts[blocks] the sum of all.
__device__ __forceinline__ void offsets_kernel(u64 *counts, u32 blocks)
{
    u64 before = 0;
    for (u64 first = 0; first < blocks; first += GATHER_WORDS) {
        const u64 at = first + threadIdx.x;
        const u32 own = at < blocks ? static_cast<u32>(counts[at]) : 0;
        u32 total;
        const u32 sum = block_exclusive_sum(own, &total);
        if (at < blocks) counts[at] = before + sum;
        before += total;
    }
    if (threadIdx.x == 0) counts[blocks] = before;
}

// Grid of `count`. Writes the gradient magnitude of each edge pixel in the word's type.
template <typename WORD>
__device__ __forceinline__ void gather_kernel(const isoline_ed_job &job, const u64 *counts, WORD *gradients)
{
    const u64 at = static_cast<u64>(blockIdx.x) * GATHER_WORDS + threadIdx.x;
    u32 bits = edge_word(job, at), total;
    WORD *to = gradients + counts[blockIdx.x] + block_exclusive_sum(__popc(bits), &total);
    const u64 y = at / job.bit_pitch;
    const WORD *from = static_cast<const WORD *>(job.map) + y * job.map_pitch + (at - y * job.bit_pitch) * 32;
    for (; bits; bits &= bits - 1)
        *to++ = static_cast<WORD>((from[__ffs(bits) - 1] & Word<WORD>::GRADIENT) >> GRADIENT_SHIFT);
}
