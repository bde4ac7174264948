// Edge drawing: the intermediate maps.
#pragma once
#include "edge_drawing_tile.cuh"

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
            C::split(rows.read(), pixel, job.half_minimum, job.double_scale);
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
            line[x] = __double2float_rn(fmin(own, MAX_FLOAT));
        }
        if (maps.direction)
            maps.direction[y * maps.direction_pitch + x] =
                g < job.threshold ? 0 : word & Word<WORD>::VERTICAL ? VERTICAL_EDGE : HORIZONTAL_EDGE;
        if (maps.anchors) maps.anchors[y * maps.anchors_pitch + x] = (word & TRACED) == TRACED ? 255 : 0;
    }
}
