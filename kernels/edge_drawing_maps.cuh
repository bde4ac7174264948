// Edge drawing: the intermediate maps, the gradients of edge pixels for the host's segments, and the range of the pixels.
// None of these is in the way of an edge map.
#pragma once
#include "edge_drawing_tile.cuh"

constexpr u32 MAPS_X = 32, MAPS_Y = 8;

// What `maps` writes; each may be null. Rows are *_pitch bytes apart.
struct isoline_ed_maps {
    void *smoothed;
    u64 smoothed_pitch;
    float *gradient;
    u64 gradient_pitch;
    unsigned char *direction;
    u64 direction_pitch;
    unsigned char *anchors;
    u64 anchors_pitch;
    double unit, origin;   // one unit of the working image, and its 0, in the image's own units
    double border;         // gradient of the outermost pixels in these units, if job.margin > 0
};

// A lane's smoothed pixels, as the image has them. u8: pairs of columns.
__device__ __forceinline__ Raw<unsigned char> own_units(const u32 *s, const isoline_ed_maps &, unsigned char)
{
    constexpr u32 EVEN_BYTES = 0x6420;
    return Raw<unsigned char>{make_uint2(permute<EVEN_BYTES>(s[0], s[1]), permute<EVEN_BYTES>(s[2], s[3]))};
}
__device__ __forceinline__ Raw<unsigned short> own_units(const u32 *s, const isoline_ed_maps &, unsigned short)
{
    return Raw<unsigned short>{make_uint2(s[0] | s[1] << 16, s[2] | s[3] << 16)};
}
__device__ __forceinline__ Raw<float> own_units(const u32 *s, const isoline_ed_maps &maps, float)
{
    auto own = [&](u32 value) { return __double2float_rn(__dadd_rn(__dmul_rn(value, maps.unit), maps.origin)); };
    return Raw<float>{make_float4(own(s[0]), own(s[1]), own(s[2]), own(s[3]))};
}

constexpr int SMOOTH_ROWS = 32;   // of a warp

// Block (32, 4), grid (ceil(width/own), min(ceil(height/128), 65535)), own = 240 columns of u8, else 112: phase A of
// `tile` as far as the smoothed rows. Reads each pixel 1.3 times, mostly from the cache, writes it once.
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
            C::split(rows.take(), pixel, job.minimum, job.scale);
            add_row(sum, pixel, five);
            if (i < 2 * ED_SMOOTH) continue;
            C::smooth(five, s);
            if (!writes) continue;
            const Raw<PIXEL> out = own_units(s + 1, maps, PIXEL());
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

// Thread <-> pixel, block (32, 8), grid (ceil(width/32), min(ceil(height/8), 65535)). Reads a word of the working map, writes 4, 1 and 1 bytes.
template <typename WORD>
__device__ __forceinline__ void maps_kernel(const isoline_ed_job &job, const isoline_ed_maps &maps)
{
    constexpr unsigned char HORIZONTAL_EDGE = 1, VERTICAL_EDGE = 2;
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
        if (maps.anchors) maps.anchors[y * maps.anchors_pitch + x] = (word & WALKED) == WALKED ? 255 : 0;
    }
}

// The gradients of all edge pixels in raster order. Block <-> GATHER_WORDS words of the edge map's bits, a word a thread;
// `count` writes how many pixels each block has, `offsets` turns that into where it begins, `gather` writes the gradients.
constexpr int GATHER_WORDS = 1024;

// Inclusive sums over a block of 1024 threads; every thread gets its own, and the total.
__device__ __forceinline__ u32 block_sums(u32 value, u32 *total)
{
    __shared__ u32 warps[GATHER_WORDS / WARP];
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    auto scan = [lane](u32 v) {
#pragma unroll
        for (u32 step = 1; step < WARP; step *= 2) {
            const u32 other = __shfl_up_sync(ALL_LANES, v, step);
            if (lane >= step) v += other;
        }
        return v;
    };
    value = scan(value);
    if (lane == WARP - 1) warps[warp] = value;
    __syncthreads();
    if (warp == 0) warps[lane] = scan(warps[lane]);
    __syncthreads();
    const u32 before = warp > 0 ? warps[warp - 1] : 0;
    *total = warps[GATHER_WORDS / WARP - 1];
    __syncthreads();   // the next use overwrites `warps`
    return before + value;
}

__device__ __forceinline__ u32 edge_word(const isoline_ed_job &job, u64 at)
{
    return at < job.bit_pitch * job.height ? job.bits[at] : 0;
}

// Grid ceil(words / 1024). Reads 1/8 byte a pixel.
__device__ __forceinline__ void count_kernel(const isoline_ed_job &job, u64 *counts)
{
    u32 total;
    block_sums(__popc(edge_word(job, static_cast<u64>(blockIdx.x) * GATHER_WORDS + threadIdx.x)), &total);
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
        const u32 sum = block_sums(own, &total);
        if (at < blocks) counts[at] = before + sum - own;
        before += total;
    }
    if (threadIdx.x == 0) counts[blocks] = before;
}

// Grid of count. Writes a gradient an edge pixel, of the word's type.
template <typename WORD>
__device__ __forceinline__ void gather_kernel(const isoline_ed_job &job, const u64 *counts, WORD *gradients)
{
    const u64 at = static_cast<u64>(blockIdx.x) * GATHER_WORDS + threadIdx.x;
    u32 bits = edge_word(job, at), total;
    const u32 own = __popc(bits);
    WORD *to = gradients + counts[blockIdx.x] + block_sums(own, &total) - own;
    const u64 y = at / job.bit_pitch;
    const WORD *from = static_cast<const WORD *>(job.map) + y * job.map_pitch + (at - y * job.bit_pitch) * 32;
    for (; bits; bits &= bits - 1)
        *to++ = static_cast<WORD>((from[__ffs(bits) - 1] & Word<WORD>::GRADIENT) >> GRADIENT_SHIFT);
}

// The range of the finite pixels, as integers that sort as the pixels do. range[0] is all ones and range[1] 0 before;
// still so after if no pixel is finite. Block 256, any grid: x loops over columns, y over the rows of all slices.
constexpr u32 RANGE_THREADS = 256;
constexpr u32 SIGN_BIT = 0x80000000u;

__device__ __forceinline__ bool range_key(unsigned short pixel, u32 *key) { *key = pixel; return true; }
__device__ __forceinline__ bool range_key(float pixel, u32 *key)
{
    const u32 bits = __float_as_uint(pixel);
    *key = bits ^ (bits & SIGN_BIT ? 0xFFFFFFFFu : SIGN_BIT);
    return isfinite(pixel);
}

template <typename PIXEL>
__device__ __forceinline__ void range_kernel(const unsigned char *pixels, u64 row_stride, u64 slice_stride, u32 width,
                                             u32 height, u32 depth, u32 *range)
{
    u32 low = 0xFFFFFFFFu, high = 0;
    const u64 rows = static_cast<u64>(height) * depth;
    for (u64 row = blockIdx.y; row < rows; row += gridDim.y) {
        const PIXEL *line =
            reinterpret_cast<const PIXEL *>(pixels + row / height * slice_stride + row % height * row_stride);
        for (u64 x = static_cast<u64>(blockIdx.x) * RANGE_THREADS + threadIdx.x; x < width;
             x += static_cast<u64>(gridDim.x) * RANGE_THREADS) {
            u32 key;
            if (range_key(line[x], &key)) low = min(low, key), high = max(high, key);
        }
    }
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        low = min(low, __shfl_xor_sync(ALL_LANES, low, step));
        high = max(high, __shfl_xor_sync(ALL_LANES, high, step));
    }
    if (threadIdx.x % WARP == 0 && low <= high) atomicMin(&range[0], low), atomicMax(&range[1], high);
}
