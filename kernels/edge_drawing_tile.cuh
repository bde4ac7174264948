// Edge drawing, one tile: smoothing, gradient, anchors and the first steps of linking in one pass over memory.
//
// A block owns ROWS - 2 * HALO_Y rows of COLUMNS - 2 * HALO_X pixels and computes the working map of the whole tile, halo
// included, in shared memory. Every walk of at most STEPS pixels that touches the block's own pixels begins at an anchor
// within the tile, so the block can mark its own pixels without asking its neighbours; whose own anchors walk further is
// noted in `pending` for the next launch. With every pixel scanned and no anchor threshold nearly every pixel of a ridge
// is an anchor, and a walk ends where the next begins: few are left.
//
//   phase A  warps run down CHUNK rows each; a lane has PX neighbouring columns in registers. Sums down, then across.
//   phase B  anchors, a bit a pixel.
//   phase C  the anchors of 512 pixels are listed, so that all lanes of a warp walk; a lane has one anchor and heading.
//   phase D  the block's own part goes to memory.
#pragma once
#include "edge_drawing_word.cuh"
#include <cuda_fp16.h>

constexpr int ED_WARPS = 4;
constexpr int ED_STEPS = 3;
constexpr int ED_HALO_X = 8;
constexpr int ED_HALO_Y = ED_STEPS + 1;
constexpr int ED_GROUP = 8;    // pixels whose bits are a byte
constexpr int ED_BATCH = 512;  // pixels whose anchors are listed together, 16 a lane
constexpr int ED_FULL = WARP / 2;   // anchors that fill a warp: two headings each
constexpr int ED_LIST = ED_BATCH + ED_FULL;
constexpr int ED_SMOOTH = 2;   // the halo of smoothing
constexpr int ED_REACH = ED_SMOOTH + 1;   // and of smoothing and gradient
constexpr int ED_RING = 2 * ED_SMOOTH + 1;
constexpr int ED_AHEAD = 2;    // rows of pixels on the way
static_assert(ED_HALO_X >= ED_REACH + 1 + ED_STEPS, "gradients, the anchor's comparison and the steps need a halo each");
static_assert(ED_HALO_X == ED_GROUP, "the halo is a byte of bits");
static_assert(ED_AHEAD < ED_RING, "");

// The Gaussian of sigma 1: taps of 256 and the half that rounds two passes at once.
constexpr u32 TAP_0 = 104, TAP_1 = 62, TAP_2 = 14;
constexpr u32 SMOOTH_HALF = 1u << 15, SMOOTH_SHIFT = 16;

// What a kernel is made for. PIXEL: the image's type. ROWS: of the tile. SMALL: u8 with an operator whose gradients stay
// below 2^11, Sobel or Prewitt.
template <typename PIXEL_, int ROWS_, bool SMALL_>
struct Tile {
    using PIXEL = PIXEL_;
    using WORD = typename std::conditional<sizeof(PIXEL) == 1, unsigned short, u32>::type;
    static constexpr bool SMALL = SMALL_;
    static constexpr int ROWS = ROWS_, CHUNK = ROWS / ED_WARPS;
    static constexpr int PX = sizeof(PIXEL) == 1 ? 8 : 4;
    static constexpr int COLUMNS = WARP * PX;
    static constexpr int OWN_X = COLUMNS - 2 * ED_HALO_X;
    static constexpr int OWN_Y = ROWS - 2 * ED_HALO_Y;

    struct Shared {
        alignas(16) WORD map[ROWS][COLUMNS];
        u32 anchor[ROWS][COLUMNS / 32], edge[ROWS][COLUMNS / 32], pending[ROWS][COLUMNS / 32];
        union {
            alignas(16) u32 column[COLUMNS];            // phase A: the mirrored columns of border tiles
            unsigned short list[ED_WARPS][ED_LIST];     // phase C
        };
    };
    static_assert(ROWS % ED_WARPS == 0 && CHUNK > 1, "");
    static_assert(sizeof(Shared) <= 48 * 1024, "static shared memory");
};

// Pairs of 16 bits in a register: differences whose sign is needed have bit 15 of each half set before, so that nothing is
// borrowed from the other half. Values stay below 2^13.
constexpr u32 HALVES_SIGN = 0x80008000u;
constexpr u32 HALVES_GRADIENT = 0x1FFF1FFFu;
constexpr u32 LOW_OF_TWO = 0x5432;    // (high half of a, low half of b)
constexpr u32 HIGH_HALVES = 0x7632;   // (high half of a, high half of b)
constexpr u32 HALF_ONE = 0x3C00, HALF_TWO = 0x4000;   // 1 and 2 in half precision
constexpr u32 SIGNS = 0xBB99;         // all ones in the halves whose sign is set

__device__ __forceinline__ u32 both(u32 value) { return value | value << 16; }

__device__ __forceinline__ u32 difference_of_halves(u32 a, u32 b)
{
#if __CUDA_ARCH__ >= 900
    u32 most, least;
    asm("max.u16x2 %0, %2, %3; min.u16x2 %1, %2, %3;" : "=&r"(most), "=&r"(least) : "r"(a), "r"(b));
    return most - least;
#else
    return __vabsdiffu2(a, b);
#endif
}

// PX neighbouring pixels of a row as they come from memory.
template <typename PIXEL>
struct Raw;
template <>
struct Raw<unsigned char> {
    uint2 v;
};
template <>
struct Raw<unsigned short> {
    uint2 v;
};
template <>
struct Raw<float> {
    float4 v;
};

// The same, each from its own column.
__device__ __forceinline__ Raw<unsigned char> gather_row(const unsigned char *row, const u32 *column)
{
    uint2 v = make_uint2(0, 0);
#pragma unroll 1
    for (int i = 0; i < 8; i += 4) {
        v.x = v.y;
        v.y = row[column[i]] | row[column[i + 1]] << 8 | row[column[i + 2]] << 16 |
              static_cast<u32>(row[column[i + 3]]) << 24;
    }
    return Raw<unsigned char>{v};
}
__device__ __forceinline__ Raw<unsigned short> gather_row(const unsigned short *row, const u32 *column)
{
    return Raw<unsigned short>{make_uint2(row[column[0]] | static_cast<u32>(row[column[1]]) << 16,
                                          row[column[2]] | static_cast<u32>(row[column[3]]) << 16)};
}
__device__ __forceinline__ Raw<float> gather_row(const float *row, const u32 *column)
{
    return Raw<float>{make_float4(row[column[0]], row[column[1]], row[column[2]], row[column[3]])};
}

// What a lane keeps of its columns while it runs down the rows. u8: pairs of neighbouring columns share a register.
template <typename PIXEL, bool SMALL>
struct Columns {
    static constexpr int PX = 4;
    u32 pixel[ED_RING][PX];         // the last rows of pixels
    u32 smooth[ED_RING][PX + 2];    // of smoothed pixels, with the columns beside
    u32 across[ED_RING][PX];        // of the operator's weights across
    u32 inside[PX];                 // all ones where the column is in the image

    __device__ __forceinline__ void set_inside(int x, int width)
    {
#pragma unroll
        for (int j = 0; j < PX; ++j) inside[j] = x + j >= 0 && x + j < width ? 0xFFFFFFFFu : 0;
    }
    __device__ __forceinline__ void take(int k, const Raw<unsigned short> &raw, float, float)
    {
        pixel[k][0] = raw.v.x & 0xFFFFu, pixel[k][1] = raw.v.x >> 16;
        pixel[k][2] = raw.v.y & 0xFFFFu, pixel[k][3] = raw.v.y >> 16;
    }
    __device__ __forceinline__ void take(int k, const Raw<float> &raw, float minimum, float scale)
    {
        pixel[k][0] = quantise(raw.v.x, minimum, scale), pixel[k][1] = quantise(raw.v.y, minimum, scale);
        pixel[k][2] = quantise(raw.v.z, minimum, scale), pixel[k][3] = quantise(raw.v.w, minimum, scale);
    }
    // Row k is the last of five.
    __device__ __forceinline__ void smoothing(int k, u32 side, u32 centre)
    {
        u32 v[PX + 4];
#pragma unroll
        for (int j = 0; j < PX; ++j)
            v[j + 2] = TAP_2 * (pixel[(k + 1) % 5][j] + pixel[k][j]) +
                       TAP_1 * (pixel[(k + 2) % 5][j] + pixel[(k + 4) % 5][j]) + TAP_0 * pixel[(k + 3) % 5][j];
        v[0] = __shfl_up_sync(ALL_LANES, v[PX], 1), v[1] = __shfl_up_sync(ALL_LANES, v[PX + 1], 1);
        v[PX + 2] = __shfl_down_sync(ALL_LANES, v[2], 1), v[PX + 3] = __shfl_down_sync(ALL_LANES, v[3], 1);
        u32 *s = smooth[k];
#pragma unroll
        for (int j = 0; j < PX; ++j)
            s[j + 1] = (TAP_2 * (v[j] + v[j + 4]) + TAP_1 * (v[j + 1] + v[j + 3]) + TAP_0 * v[j + 2] + SMOOTH_HALF) >>
                       SMOOTH_SHIFT;
        s[0] = __shfl_up_sync(ALL_LANES, s[PX], 1);
        s[PX + 1] = __shfl_down_sync(ALL_LANES, s[1], 1);
#pragma unroll
        for (int j = 0; j < PX; ++j) across[k][j] = side * (s[j] + s[j + 2]) + centre * s[j + 1];
    }
    // The words of the row before k.
    __device__ __forceinline__ uint4 words(int k, u32 side, u32 centre, u32 low)
    {
        u32 down[PX + 2], w[PX];
        const u32 *s0 = smooth[(k + 3) % 5], *s1 = smooth[(k + 4) % 5], *s2 = smooth[k];
#pragma unroll
        for (int j = 0; j < PX + 2; ++j) down[j] = side * (s0[j] + s2[j]) + centre * s1[j];
#pragma unroll
        for (int j = 0; j < PX; ++j) {
            const u32 gx = abs(static_cast<int>(down[j + 2] - down[j]));
            const u32 gy = abs(static_cast<int>(across[k][j] - across[(k + 3) % 5][j]));
            const u32 g = gx + gy;
            w[j] = (g >= low ? g << GRADIENT_SHIFT : 0) | (gx >= gy ? Word<u32>::VERTICAL : 0);
            w[j] &= inside[j];
        }
        return make_uint4(w[0], w[1], w[2], w[3]);
    }
};

// SMALL: whole numbers up to 2^11 are the bits of half-precision numbers that many times the smallest one, 2^-24. Their
// sums are exact, the sign of a difference is a bit of its own, and both halves of a register are added at once.
template <bool SMALL>
struct Columns<unsigned char, SMALL> {
    static constexpr int PAIRS = 4;
    u32 pixel[ED_RING][PAIRS];
    u32 smooth[ED_RING][PAIRS + 2];
    u32 across[ED_RING][PAIRS];
    u32 inside[PAIRS];

    static __device__ __forceinline__ __half2 halves(u32 bits) { return *reinterpret_cast<const __half2 *>(&bits); }
    static __device__ __forceinline__ u32 bits_of(__half2 h) { return *reinterpret_cast<const u32 *>(&h); }
    // SMALL: side is 1, and centre a half-precision number in both halves.
    static __device__ __forceinline__ u32 weigh(u32 a, u32 b, u32 c, u32 side, u32 centre)
    {
        if (SMALL) return bits_of(__hfma2(halves(b), halves(centre), __hadd2(halves(a), halves(c))));
        return side * (a + c) + centre * b;
    }

    __device__ __forceinline__ void set_inside(int x, int width)
    {
#pragma unroll
        for (int j = 0; j < PAIRS; ++j) {
            const int at = x + 2 * j;
            inside[j] = (at >= 0 && at < width ? 0xFFFFu : 0) | (at + 1 >= 0 && at + 1 < width ? 0xFFFF0000u : 0);
        }
    }
    __device__ __forceinline__ void take(int k, const Raw<unsigned char> &raw, float, float)
    {
        constexpr u32 LOW_BYTES = 0x4140, HIGH_BYTES = 0x4342;   // bytes 0, 1 and 2, 3, each as 16 bits
        pixel[k][0] = permute<LOW_BYTES>(raw.v.x, 0), pixel[k][1] = permute<HIGH_BYTES>(raw.v.x, 0);
        pixel[k][2] = permute<LOW_BYTES>(raw.v.y, 0), pixel[k][3] = permute<HIGH_BYTES>(raw.v.y, 0);
    }
    __device__ __forceinline__ void smoothing(int k, u32 side, u32 centre)
    {
        // Down: at most 255 * 256, so both halves keep to themselves.
        u32 v[PAIRS + 2];
#pragma unroll
        for (int j = 0; j < PAIRS; ++j)
            v[j + 1] = TAP_2 * (pixel[(k + 1) % 5][j] + pixel[k][j]) +
                       TAP_1 * (pixel[(k + 2) % 5][j] + pixel[(k + 4) % 5][j]) + TAP_0 * pixel[(k + 3) % 5][j];
        v[0] = __shfl_up_sync(ALL_LANES, v[PAIRS], 1);
        v[PAIRS + 1] = __shfl_down_sync(ALL_LANES, v[1], 1);
        // Across: two taps an instruction, those of an even and of an odd column (the low byte weighs the low half).
        u32 *s = smooth[k];
#pragma unroll
        for (int j = 0; j < PAIRS; ++j) {
            u32 even = __dp2a_lo(v[j], TAP_2 | TAP_1 << 8, SMOOTH_HALF);
            even = __dp2a_lo(v[j + 1], TAP_0 | TAP_1 << 8, even);
            even = __dp2a_lo(v[j + 2], TAP_2, even);
            u32 odd = __dp2a_lo(v[j], TAP_2 << 8, SMOOTH_HALF);
            odd = __dp2a_lo(v[j + 1], TAP_1 | TAP_0 << 8, odd);
            odd = __dp2a_lo(v[j + 2], TAP_1 | TAP_2 << 8, odd);
            s[j + 1] = permute<HIGH_HALVES>(even, odd);
        }
        s[0] = __shfl_up_sync(ALL_LANES, s[PAIRS], 1);
        s[PAIRS + 1] = __shfl_down_sync(ALL_LANES, s[1], 1);
        u32 between[PAIRS + 1];   // columns 2j - 1 and 2j
#pragma unroll
        for (int j = 0; j <= PAIRS; ++j) between[j] = permute<LOW_OF_TWO>(s[j], s[j + 1]);
#pragma unroll
        for (int j = 0; j < PAIRS; ++j) across[k][j] = weigh(between[j], s[j + 1], between[j + 1], side, centre);
    }
    __device__ __forceinline__ uint4 words(int k, u32 side, u32 centre, u32 low)
    {
        u32 down[PAIRS + 2], w[PAIRS];
        const u32 *s0 = smooth[(k + 3) % 5], *s1 = smooth[(k + 4) % 5], *s2 = smooth[k];
#pragma unroll
        for (int j = 0; j < PAIRS + 2; ++j) down[j] = weigh(s0[j], s1[j], s2[j], side, centre);
        u32 between[PAIRS + 1];
#pragma unroll
        for (int j = 0; j <= PAIRS; ++j) between[j] = permute<LOW_OF_TWO>(down[j], down[j + 1]);
        const u32 low_2 = both(low);
#pragma unroll
        for (int j = 0; j < PAIRS; ++j) {
            u32 g, strong, vertical;
            if (SMALL) {
                const __half2 gx = __habs2(__hsub2(halves(between[j + 1]), halves(between[j])));
                const __half2 gy = __habs2(__hsub2(halves(across[k][j]), halves(across[(k + 3) % 5][j])));
                const __half2 sum = __hadd2(gx, gy);
                g = bits_of(sum);
                strong = __hge2_mask(sum, halves(low_2));
                vertical = __hge2_mask(gx, gy) & HALVES_SIGN;
            } else {
                const u32 gx = difference_of_halves(between[j], between[j + 1]);
                const u32 gy = difference_of_halves(across[k][j], across[(k + 3) % 5][j]);
                g = gx + gy;
                strong = permute<SIGNS>((g | HALVES_SIGN) - low_2, 0);
                vertical = ((gx | HALVES_SIGN) - gy) & HALVES_SIGN;
            }
            w[j] = ((g & strong) << GRADIENT_SHIFT | vertical) & inside[j];
        }
        return make_uint4(w[0], w[1], w[2], w[3]);
    }
};

// The row of the image that is mirrored to y. What is more than ED_REACH beyond a border is not used by anybody.
__device__ __forceinline__ u32 mirrored_row(int y, int height)
{
    if (height <= ED_REACH) return reflect(y, height);
    y = abs(max(y, -ED_REACH));
    y = min(y, height - 1 + ED_REACH);
    return min(y, 2 * height - 2 - y);
}

// Phase A. x0, y0: the tile's first column and row in the image, negative in border tiles.
template <typename T>
__device__ __forceinline__ void tile_gradients(const isoline_ed_job &job, typename T::Shared &shared, int x0, int y0)
{
    using PIXEL = typename T::PIXEL;
    constexpr int PX = T::PX, BYTES = PX * sizeof(PIXEL), ITERATIONS = T::CHUNK + 2 * ED_REACH;
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int width = job.width, height = job.height;

    // Lanes whose pixels are not whole and aligned in memory take them one by one, at columns from a table.
    const bool aligned = (reinterpret_cast<u64>(job.pixels) | job.row_stride) % BYTES == 0;
    const bool border = x0 < 0 || x0 + T::COLUMNS > width;
    if (border || !aligned) {
#pragma unroll 1
        for (int i = warp * WARP + lane; i < T::COLUMNS; i += ED_WARPS * WARP) shared.column[i] = reflect(x0 + i, width);
        __syncthreads();
    }
    const int x = x0 + lane * PX;
    const bool direct = aligned && x >= 0 && x + PX <= width;
    const int first = y0 + warp * T::CHUNK - ED_REACH;
    const unsigned char *from = job.pixels + (direct ? static_cast<u64>(x) * sizeof(PIXEL) : 0);
    const u32 *column = &shared.column[lane * PX];

    auto request = [&](int i) {
        const unsigned char *row = from + mirrored_row(first + i, height) * job.row_stride;
        if (!direct) return gather_row(reinterpret_cast<const PIXEL *>(row), column);
        Raw<PIXEL> raw;
        raw.v = *reinterpret_cast<const decltype(raw.v) *>(row);
        return raw;
    };

    Columns<PIXEL, T::SMALL> columns;
    columns.set_inside(x, width);
    const u32 side = job.side, centre = T::SMALL ? (job.centre == 1 ? both(HALF_ONE) : both(HALF_TWO)) : job.centre;
    Raw<PIXEL> raw[ED_RING];
#pragma unroll
    for (int i = 0; i < ED_AHEAD; ++i) raw[i] = request(i);
#pragma unroll 1
    for (int trip = 0; trip < ITERATIONS; trip += ED_RING) {
#pragma unroll
        for (int k = 0; k < ED_RING; ++k) {
            const int i = trip + k;
            if (i >= ITERATIONS) break;
            raw[(k + ED_AHEAD) % ED_RING] = request(min(i + ED_AHEAD, ITERATIONS - 1));
            columns.take(k, raw[k], job.minimum, job.scale);
            if (i < 2 * ED_SMOOTH) continue;
            columns.smoothing(k, side, centre);
            if (i < 2 * ED_REACH) continue;
            const int r = warp * T::CHUNK + i - 2 * ED_REACH, y = y0 + r;
            uint4 w = columns.words(k, side, centre, job.low);
            if (static_cast<u32>(y) >= job.height) w = make_uint4(0, 0, 0, 0);
            *reinterpret_cast<uint4 *>(&shared.map[r][lane * PX]) = w;
        }
    }
}

// Phase B, a row: sets WALKED in the words of anchors, and returns them as bits. `up`, `down`: the words beside; `allowed`:
// where anchors may be.
__device__ __forceinline__ u32 mark_anchors(const uint4 &up_, uint4 &here_, const uint4 &down_, u32 threshold, u32 anchor,
                                            u32 allowed, unsigned short)
{
    const u32 up[4] = {up_.x, up_.y, up_.z, up_.w}, down[4] = {down_.x, down_.y, down_.z, down_.w};
    u32 here[4] = {here_.x, here_.y, here_.z, here_.w};
    auto gradients = [](u32 word) { return word >> GRADIENT_SHIFT & HALVES_GRADIENT; };
    u32 g[6], between[5], bits = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) g[j + 1] = gradients(here[j]);
    g[0] = __shfl_up_sync(ALL_LANES, g[4], 1);
    g[5] = __shfl_down_sync(ALL_LANES, g[1], 1);
#pragma unroll
    for (int j = 0; j < 5; ++j) between[j] = permute<LOW_OF_TWO>(g[j], g[j + 1]);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const u32 vertical = permute<SIGNS>(here[j], 0);
        const u32 one = (vertical & between[j]) | (~vertical & gradients(up[j]));
        const u32 other = (vertical & between[j + 1]) | (~vertical & gradients(down[j]));
        const u32 own = g[j + 1] | HALVES_SIGN, less = own - anchor;
        u32 is = (less - one) & (less - other) & (own - threshold);
        is = is >> 15 & (allowed >> 2 * j & 1u | (allowed << 15 >> 2 * j & 0x10000u));
        here[j] |= is * WALKED;
        bits |= is << 2 * j;
    }
    here_ = make_uint4(here[0], here[1], here[2], here[3]);
    return (bits | bits >> 15) & 0xFFu;
}

__device__ __forceinline__ u32 mark_anchors(const uint4 &up_, uint4 &here_, const uint4 &down_, u32 threshold, u32 anchor,
                                            u32 allowed, u32)
{
    const u32 up[4] = {up_.x, up_.y, up_.z, up_.w}, down[4] = {down_.x, down_.y, down_.z, down_.w};
    u32 here[4] = {here_.x, here_.y, here_.z, here_.w};
    auto gradient = [](u32 word) { return (word & Word<u32>::GRADIENT) >> GRADIENT_SHIFT; };
    u32 g[6], bits = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) g[j + 1] = gradient(here[j]);
    g[0] = __shfl_up_sync(ALL_LANES, g[4], 1);
    g[5] = __shfl_down_sync(ALL_LANES, g[1], 1);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const bool vertical = here[j] & Word<u32>::VERTICAL;
        const u32 most = max(vertical ? g[j] : gradient(up[j]), vertical ? g[j + 2] : gradient(down[j]));
        const u32 is = g[j + 1] >= threshold && g[j + 1] >= most + anchor ? allowed >> j & 1u : 0;
        here[j] |= is * WALKED;
        bits |= is << j;
    }
    here_ = make_uint4(here[0], here[1], here[2], here[3]);
    return bits;
}

template <typename T>
__device__ __forceinline__ void tile_anchors(const isoline_ed_job &job, typename T::Shared &shared, int x0, int y0)
{
    using WORD = typename T::WORD;
    constexpr int PX = T::PX;
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int width = job.width, height = job.height, margin = job.margin;
    constexpr bool PAIRED = sizeof(WORD) == 2;
    const u32 threshold = PAIRED ? both(job.threshold) : job.threshold, anchor = PAIRED ? both(job.anchor) : job.anchor;

    // Columns where an anchor may be, on scanned rows and on the others.
    u32 allowed = 0, scanned = 0;
#pragma unroll
    for (int j = 0; j < PX; ++j) {
        const int c = lane * PX + j, x = x0 + c;
        if (c > ED_REACH && c < T::COLUMNS - 1 - ED_REACH && x >= margin && x < width - margin) allowed |= 1u << j;
    }
    if (job.scan == 1) scanned = allowed;
    else
#pragma unroll 1
        for (int j = 0; j < PX; ++j)
            if ((x0 + lane * PX + j) % static_cast<int>(job.scan) == 0) scanned |= allowed & 1u << j;

    const int begin = max(warp * T::CHUNK, 1), end = min((warp + 1) * T::CHUNK, T::ROWS - 1);
    auto row = [&](int r) -> uint4 & { return *reinterpret_cast<uint4 *>(&shared.map[r][lane * PX]); };
    auto write = [&](int r, u32 bits) {
        if (PX == ED_GROUP / 2) {
            bits |= __shfl_down_sync(ALL_LANES, bits, 1) << (ED_GROUP / 2);
            if (lane % 2) return;
        }
        const int at = r * (T::COLUMNS / ED_GROUP) + lane * PX / ED_GROUP;
        reinterpret_cast<unsigned char *>(shared.anchor)[at] = static_cast<unsigned char>(bits);
        reinterpret_cast<unsigned char *>(shared.edge)[at] = static_cast<unsigned char>(bits);
        reinterpret_cast<unsigned char *>(shared.pending)[at] = 0;
    };
    if (warp == 0) write(0, 0);
    if (warp == ED_WARPS - 1) write(T::ROWS - 1, 0);
    // Words change from here on, so those of the warps beside are taken before.
    uint4 up = row(begin - 1), here = row(begin);
    const uint4 last = row(end);
    __syncthreads();
#pragma unroll 1
    for (int r = begin; r < end; ++r) {
        const uint4 down = r + 1 < end ? row(r + 1) : last;
        const uint4 before = here;
        const int y = y0 + r;
        u32 columns = job.scan == 1 || y % static_cast<int>(job.scan) == 0 ? allowed : scanned;
        if (y < margin || y >= height - margin) columns = 0;
        const u32 bits = mark_anchors(up, here, down, threshold, anchor, columns, WORD());
        row(r) = here;
        write(r, bits);
        up = before, here = down;
    }
}

// With a margin, after phase B: what is no edge pixel to the walks on the host.
template <typename T>
__device__ __forceinline__ void tile_clear(const isoline_ed_job &job, typename T::Shared &shared, int x0, int y0)
{
    const int right = job.width - 1, bottom = job.height - 1;
    for (int r = threadIdx.y; r < T::ROWS; r += ED_WARPS)
        for (int c = threadIdx.x; c < T::COLUMNS; c += WARP) {
            const int x = x0 + c, y = y0 + r;
            const u32 gradient = (shared.map[r][c] & Word<typename T::WORD>::GRADIENT) >> GRADIENT_SHIFT;
            if (gradient < job.threshold || x == 0 || y == 0 || x == right || y == bottom) shared.map[r][c] = 0;
        }
}

// Phase C. Reads the map and the anchors, writes bits of edge and pending by atomics.
template <typename T>
__device__ __forceinline__ void tile_walks(const isoline_ed_job &job, typename T::Shared &shared)
{
    using W = Word<typename T::WORD>;
    constexpr int COLUMNS = T::COLUMNS, BATCHES = T::ROWS * COLUMNS / ED_BATCH, SHARE = ED_BATCH / WARP;
    static_assert(SHARE == 16, "a lane lists the bits of 16 pixels");
    const int lane = threadIdx.x, warp = threadIdx.y;
    const typename T::WORD *map = &shared.map[0][0];
    unsigned short *list = shared.list[warp];
    auto set = [](u32 *bits, int at) { atomicOr(&bits[at / 32], 1u << (at % 32)); };

    auto walk = [&](int start, bool plus) {
        const u32 direction = map[start] & W::VERTICAL;
        const int step = direction ? COLUMNS : 1, side = direction ? 1 : COLUMNS;
        const int ahead = plus ? step : -step;
        int at = start;
#pragma unroll 1
        for (int i = 0; i < ED_STEPS; ++i) {
            // Walks from the halo may leave the tile; what they mark there is nobody's.
            if (static_cast<u32>(at - COLUMNS - 1) >= static_cast<u32>((T::ROWS - 2) * COLUMNS - 2)) return;
            const int straight = at + ahead;
            const u32 a = map[straight - side], s = map[straight], b = map[straight + side];
            const u32 ga = a & W::GRADIENT, gs = s & W::GRADIENT, gb = b & W::GRADIENT;
            u32 word = s;
            at = straight;
            if (ga > gs && ga > gb) word = a, at = straight - side;
            if (gb > gs && gb > ga) word = b, at = straight + side;
            if ((word & W::GRADIENT) == 0 || word & WALKED) return;
            if ((word & W::VERTICAL) != direction) {
                if (job.follow_turns) break;
                return;
            }
            set(&shared.edge[0][0], at);
        }
        set(&shared.pending[0][0], start);
    };

    int count = 0;
    for (int batch = warp; batch < BATCHES; batch += ED_WARPS) {
        u32 bits = reinterpret_cast<const unsigned short *>(shared.anchor)[batch * WARP + lane];
        const int own = __popc(bits);
        int before = own;
#pragma unroll
        for (int step = 1; step < static_cast<int>(WARP); step *= 2) {
            const int other = __shfl_up_sync(ALL_LANES, before, step);
            if (lane >= step) before += other;
        }
        int to = count + before - own;
        count += __shfl_sync(ALL_LANES, before, WARP - 1);
        while (bits) {
            list[to++] = static_cast<unsigned short>(batch * ED_BATCH + lane * SHARE + __ffs(bits) - 1);
            bits &= bits - 1;
        }
        __syncwarp();
        while (count >= ED_FULL) {
            walk(list[count - ED_FULL + lane / 2], lane % 2);
            count -= ED_FULL;
        }
        __syncwarp();
    }
    if (lane / 2 < count) walk(list[lane / 2], lane % 2);
}

// Phase D.
template <typename T>
__device__ __forceinline__ void tile_store(const isoline_ed_job &job, const typename T::Shared &shared, int x0, int y0)
{
    using WORD = typename T::WORD;
    constexpr int GROUPS = T::COLUMNS / ED_GROUP, ROWS_A_WARP = WARP / GROUPS;
    const int group = threadIdx.x % GROUPS;
    const int x = x0 + group * ED_GROUP, width = job.width;
    if (group == 0 || group == GROUPS - 1 || x >= static_cast<int>(job.bit_pitch) * 32) return;
    const bool whole = x + ED_GROUP <= width && (reinterpret_cast<u64>(job.edges) | job.edge_pitch) % ED_GROUP == 0;

    for (int r = ED_HALO_Y + threadIdx.y * ROWS_A_WARP + threadIdx.x / GROUPS; r < T::ROWS - ED_HALO_Y;
         r += ED_WARPS * ROWS_A_WARP) {
        const u64 y = static_cast<u64>(y0 + r);
        if (y >= job.height) return;
        const int at = r * GROUPS + group;
        const u32 edge = reinterpret_cast<const unsigned char *>(shared.edge)[at];
        const u32 pending = reinterpret_cast<const unsigned char *>(shared.pending)[at];

        const uint4 *from = reinterpret_cast<const uint4 *>(&shared.map[r][group * ED_GROUP]);
        uint4 *to = reinterpret_cast<uint4 *>(static_cast<WORD *>(job.map) + y * job.map_pitch + x);
        to[0] = from[0];
        if (sizeof(WORD) == 4) to[1] = from[1];

        const u64 byte = y * job.bit_pitch * sizeof(u32) + x / ED_GROUP;
        if (job.pending) reinterpret_cast<unsigned char *>(job.pending)[byte] = static_cast<unsigned char>(pending);
        if (job.bits) reinterpret_cast<unsigned char *>(job.bits)[byte] = static_cast<unsigned char>(edge);
        if (job.edges && x < width) {
            // Bits 0 to 3 to the lowest bits of four bytes, then 0 or 255.
            auto bytes = [](u32 four) { return (four * 0x00204081u & 0x01010101u) * 0xFFu; };
            unsigned char *line = job.edges + y * job.edge_pitch + x;
            if (whole) *reinterpret_cast<uint2 *>(line) = make_uint2(bytes(edge & 15u), bytes(edge >> 4));
            else
                for (int j = 0; j < min(ED_GROUP, width - x); ++j) line[j] = edge >> j & 1u ? 255 : 0;
        }
    }
}

// Block (32, 4), grid (ceil(bit_pitch*32 / OWN_X), min(ceil(height / OWN_Y), 65535)); blocks loop over what exceeds the
// grid. Per pixel: reads the pixel (1.4 times with the halo, mostly from the cache), writes a word, and of the edge map
// a byte and 2/8.
template <typename T>
__device__ __forceinline__ void tile_kernel(const isoline_ed_job &job)
{
    __shared__ typename T::Shared shared;
    const u32 tile_rows = (job.height + T::OWN_Y - 1) / T::OWN_Y;
    const int x0 = static_cast<int>(blockIdx.x) * T::OWN_X - ED_HALO_X;
    for (u32 tile = blockIdx.y;;) {
        const int y0 = static_cast<int>(tile) * T::OWN_Y - ED_HALO_Y;
        tile_gradients<T>(job, shared, x0, y0);
        __syncthreads();
        tile_anchors<T>(job, shared, x0, y0);
        __syncthreads();
        if (job.margin > 0) {
            tile_clear<T>(job, shared, x0, y0);
            __syncthreads();
        }
        if (job.link) {
            tile_walks<T>(job, shared);
            __syncthreads();
        }
        tile_store<T>(job, shared, x0, y0);
        tile += gridDim.y;
        if (tile >= tile_rows) break;
        __syncthreads();   // the next tile of this block overwrites what this one stored from
    }
}
