// Edge drawing, columns of pixels: a warp runs down the rows of a strip, and each lane keeps, for its few columns, the
// partial sums of smoothing and gradient to which later rows are added. It sums down the columns first, then across them,
// by shuffles.
#pragma once
#include "edge_drawing_word.cuh"
#include <cuda_fp16.h>

constexpr int ED_SMOOTH = 2;              // the halo of smoothing
constexpr int ED_REACH = ED_SMOOTH + 1;   // the halo of smoothing and gradient

// One half in the units of both passes of the Gaussian, which are rounded together.
constexpr u32 SMOOTH_HALF = 1u << 15, SMOOTH_SHIFT = 16;

// Pairs of 16-bit numbers in a register: before a subtraction whose sign is needed, bit 15 of each half is set, so that the
// low half does not borrow from the high half. Values stay below 2^13.
constexpr u32 HALVES_SIGN = 0x80008000u;
constexpr u32 HALVES_GRADIENT = 0x1FFF1FFFu;
constexpr u32 LOW_OF_TWO = 0x5432;                    // (high half of a, low half of b)
constexpr u32 HIGH_HALVES = 0x7632;                   // (high half of a, high half of b)
constexpr u32 HALF_ONE = 0x3C00, HALF_TWO = 0x4000;   // 1 and 2 in half precision
constexpr u32 SIGNS = 0xBB99;                         // all ones in the halves whose sign bit is set

__device__ __forceinline__ u32 both(u32 value) { return value | value << 16; }

__device__ __forceinline__ u32 difference_of_halves(u32 a, u32 b)
{
#if __CUDA_ARCH__ >= 900
    return __vmaxu2(a, b) - __vminu2(a, b);   // an instruction each
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

// Loads the same pixels, each from its own column.
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

// A lane's own values are s[1] to s[N]: sets s[0] and s[N + 1] from the neighbouring lanes.
template <int N>
__device__ __forceinline__ void share_ends(u32 *s)
{
    s[0] = __shfl_up_sync(ALL_LANES, s[N], 1);
    s[N + 1] = __shfl_down_sync(ALL_LANES, s[1], 1);
}

// The state of a lane's columns while the lane runs down the rows: sums to which further rows are added. Rows are added in
// place, and `last` and `across` have two alternating places (`slot`), so that registers need not be moved from row to row.
template <typename PIXEL, bool SMALL>
struct Columns {
    static constexpr int N = 4, BESIDE = 2;   // values; neighbours on either side that smoothing needs
    u32 sum[4][N] = {};                       // sums of one to four rows of pixels, weighted by the Gaussian's taps
    u32 last[2][N + 2];                       // side * the last smoothed row, with the columns beside it
    u32 down[N + 2];                          // side * the row before it + centre * the last row
    u32 across[2][N];                         // the operator's weights along the last two smoothed rows
    u32 inside[N];                            // all ones where the column is in the image

    __device__ __forceinline__ void set_inside(int x, int width)
    {
#pragma unroll
        for (int j = 0; j < N; ++j) inside[j] = x + j >= 0 && x + j < width ? 0xFFFFFFFFu : 0;
    }
    static __device__ __forceinline__ void split(const Raw<unsigned short> &raw, u32 *pixel, float, float)
    {
        pixel[0] = raw.v.x & 0xFFFFu, pixel[1] = raw.v.x >> 16, pixel[2] = raw.v.y & 0xFFFFu, pixel[3] = raw.v.y >> 16;
    }
    static __device__ __forceinline__ void split(const Raw<float> &raw, u32 *pixel, float half_minimum, float double_scale)
    {
        pixel[0] = quantise(raw.v.x, half_minimum, double_scale), pixel[1] = quantise(raw.v.y, half_minimum, double_scale);
        pixel[2] = quantise(raw.v.z, half_minimum, double_scale), pixel[3] = quantise(raw.v.w, half_minimum, double_scale);
    }
    // Computes smoothed pixels from sums of five rows; s has room for one more at either end.
    static __device__ __forceinline__ void smooth(const u32 *five, u32 *s)
    {
        u32 v[N + 4];
#pragma unroll
        for (int j = 0; j < N; ++j) v[j + 2] = five[j];
        v[0] = __shfl_up_sync(ALL_LANES, v[N], 1), v[1] = __shfl_up_sync(ALL_LANES, v[N + 1], 1);
        v[N + 2] = __shfl_down_sync(ALL_LANES, v[2], 1), v[N + 3] = __shfl_down_sync(ALL_LANES, v[3], 1);
#pragma unroll
        for (int j = 0; j < N; ++j)
            s[j + 1] = (TAP_2 * (v[j] + v[j + 4]) + TAP_1 * (v[j + 1] + v[j + 3]) + TAP_0 * v[j + 2] + SMOOTH_HALF) >>
                       SMOOTH_SHIFT;
        share_ends<N>(s);
    }
    static __device__ __forceinline__ u32 add(u32 a, u32 b) { return a + b; }
    static __device__ __forceinline__ u32 weigh(u32 value, u32 weight, u32 sum) { return value * weight + sum; }
    static __device__ __forceinline__ u32 times_side(u32 value, u32 side) { return value * side; }
    // values[j] is column j - 1. The pairs of columns one apart are single columns here.
    static __device__ __forceinline__ void columns_beside(const u32 *values, u32 *left, u32 *right)
    {
#pragma unroll
        for (int j = 0; j < N; ++j) left[j] = values[j], right[j] = values[j + 2];
    }
    static __device__ __forceinline__ u32 word(u32 left, u32 right, u32 above, u32 below, u32 low)
    {
        const u32 gx = abs(static_cast<int>(right - left)), gy = abs(static_cast<int>(below - above));
        const u32 g = gx + gy;
        return (g >= low ? g << GRADIENT_SHIFT : 0) | (gx >= gy ? Word<u32>::VERTICAL : 0);
    }
};

// u8: a value is a pair of columns. SMALL: integers n up to 2^11 are held as the half-precision numbers n * 2^-24, whose
// bits are those of n. Their sums are exact, a difference has a sign bit of its own, and one instruction adds both halves
// of a register.
template <bool SMALL>
struct Columns<unsigned char, SMALL> {
    static constexpr int N = 4;
    u32 sum[4][N] = {};
    u32 last[2][N + 2];
    u32 down[N + 2];
    u32 across[2][N];
    u32 inside[N];

    static __device__ __forceinline__ __half2 halves(u32 bits) { return *reinterpret_cast<const __half2 *>(&bits); }
    static __device__ __forceinline__ u32 bits_of(__half2 h) { return *reinterpret_cast<const u32 *>(&h); }

    __device__ __forceinline__ void set_inside(int x, int width)
    {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const int at = x + 2 * j;
            inside[j] = (at >= 0 && at < width ? 0xFFFFu : 0) | (at + 1 >= 0 && at + 1 < width ? 0xFFFF0000u : 0);
        }
    }
    static __device__ __forceinline__ void split(const Raw<unsigned char> &raw, u32 *pixel, float, float)
    {
        constexpr u32 LOW_BYTES = 0x4140, HIGH_BYTES = 0x4342;   // bytes 0, 1 and 2, 3, each as 16 bits
        pixel[0] = permute_bytes<LOW_BYTES>(raw.v.x, 0), pixel[1] = permute_bytes<HIGH_BYTES>(raw.v.x, 0);
        pixel[2] = permute_bytes<LOW_BYTES>(raw.v.y, 0), pixel[3] = permute_bytes<HIGH_BYTES>(raw.v.y, 0);
    }
    // Sums of five rows are at most 255 * 256, so the halves do not interfere. Along the row one instruction applies two
    // taps, for an even and an odd column (the low byte is the weight of the low half).
    static __device__ __forceinline__ void smooth(const u32 *five, u32 *s)
    {
        u32 v[N + 2];
#pragma unroll
        for (int j = 0; j < N; ++j) v[j + 1] = five[j];
        v[0] = __shfl_up_sync(ALL_LANES, v[N], 1);
        v[N + 1] = __shfl_down_sync(ALL_LANES, v[1], 1);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            u32 even = __dp2a_lo(v[j], TAP_2 | TAP_1 << 8, SMOOTH_HALF);
            even = __dp2a_lo(v[j + 1], TAP_0 | TAP_1 << 8, even);
            even = __dp2a_lo(v[j + 2], TAP_2, even);
            u32 odd = __dp2a_lo(v[j], TAP_2 << 8, SMOOTH_HALF);
            odd = __dp2a_lo(v[j + 1], TAP_1 | TAP_0 << 8, odd);
            odd = __dp2a_lo(v[j + 2], TAP_1 | TAP_2 << 8, odd);
            s[j + 1] = permute_bytes<HIGH_HALVES>(even, odd);
        }
        share_ends<N>(s);
    }
    static __device__ __forceinline__ u32 add(u32 a, u32 b)
    {
        return SMALL ? bits_of(__hadd2(halves(a), halves(b))) : a + b;
    }
    // SMALL: the weight is a half-precision number in both halves, and side is 1.
    static __device__ __forceinline__ u32 weigh(u32 value, u32 weight, u32 sum)
    {
        return SMALL ? bits_of(__hfma2(halves(value), halves(weight), halves(sum))) : value * weight + sum;
    }
    static __device__ __forceinline__ u32 times_side(u32 value, u32 side) { return SMALL ? value : value * side; }
    static __device__ __forceinline__ void columns_beside(const u32 *values, u32 *left, u32 *right)
    {
        u32 between[N + 1];   // columns 2j - 1 and 2j
#pragma unroll
        for (int j = 0; j <= N; ++j) between[j] = permute_bytes<LOW_OF_TWO>(values[j], values[j + 1]);
#pragma unroll
        for (int j = 0; j < N; ++j) left[j] = between[j], right[j] = between[j + 1];
    }
    static __device__ __forceinline__ u32 word(u32 left, u32 right, u32 above, u32 below, u32 low)
    {
        u32 g, strong, vertical;
        if (SMALL) {
            const __half2 gx = __habs2(__hsub2(halves(right), halves(left)));
            const __half2 gy = __habs2(__hsub2(halves(below), halves(above)));
            const __half2 sum = __hadd2(gx, gy);
            g = bits_of(sum);
            strong = __hge2_mask(sum, halves(low));
            vertical = __hge2_mask(gx, gy) & HALVES_SIGN;
        } else {
            const u32 gx = difference_of_halves(left, right), gy = difference_of_halves(above, below);
            g = gx + gy;
            strong = permute_bytes<SIGNS>((g | HALVES_SIGN) - low, 0);
            vertical = ((gx | HALVES_SIGN) - gy) & HALVES_SIGN;
        }
        return (g & strong) << GRADIENT_SHIFT | vertical;
    }
};

// Adds a row of pixels to the sums of the one to four rows before it; `five` receives the sums of five rows.
template <int N>
__device__ __forceinline__ void add_row(u32 (&sum)[4][N], const u32 (&pixel)[N], u32 (&five)[N])
{
#pragma unroll
    for (int j = 0; j < N; ++j) {
        const u32 outer = TAP_2 * pixel[j];
        five[j] = sum[3][j] + outer;
        sum[3][j] = sum[2][j] + TAP_1 * pixel[j];
        sum[2][j] = sum[1][j] + TAP_0 * pixel[j];
        sum[1][j] = sum[0][j] + TAP_1 * pixel[j];
        sum[0][j] = outer;
    }
}

// Returns the row of the image that is mirrored to y. Rows more than ED_REACH beyond a border are not used.
__device__ __forceinline__ u32 mirrored_row(int y, int height)
{
    if (height <= ED_REACH) return reflect(y, height);
    y = abs(max(y, -ED_REACH));
    y = min(y, height - 1 + ED_REACH);
    return min(y, 2 * height - 2 - y);
}

// Reads the rows of pixels of a strip, one after the other: `count` rows from row `first` on, mirrored beyond the
// image.
template <typename PIXEL>
struct Rows {
    const isoline_ed_job &job;
    const unsigned char *from, *next;
    const u32 *column;   // unless direct: the columns of a lane's pixels
    int row, end;
    bool direct, plain;

    __device__ __forceinline__ Rows(const isoline_ed_job &job_, int x, bool direct_, const u32 *column_, int first, int count)
        : job(job_), from(job_.pixels + (direct_ ? static_cast<u64>(x) * sizeof(PIXEL) : 0)), column(column_), row(first),
          end(first + count), direct(direct_), plain(first >= 0 && first + count <= static_cast<int>(job_.height))
    {
        next = from + mirrored_row(first, job.height) * job.row_stride;
    }
    __device__ __forceinline__ Raw<PIXEL> read()
    {
        Raw<PIXEL> raw;
        if (direct) raw.v = *reinterpret_cast<const decltype(raw.v) *>(next);
        else raw = gather_row(reinterpret_cast<const PIXEL *>(next), column);
        // Inside the image a row is one stride after the previous one. Rows after the end are read but not used.
        ++row;
        if (plain) next += row < end ? job.row_stride : 0;
        else next = from + mirrored_row(row, job.height) * job.row_stride;
        return raw;
    }
};

// Returns whether rows can be loaded in groups of BYTES, and makes the mirrored columns of a tile for lanes that
// cannot. All threads of the block call it.
template <int BYTES, int COLUMNS>
__device__ __forceinline__ bool prepare_columns(const isoline_ed_job &job, u32 *column, int x0)
{
    const bool aligned = (reinterpret_cast<u64>(job.pixels) | job.row_stride) % BYTES == 0;
    const bool border = x0 < 0 || x0 + COLUMNS > static_cast<int>(job.width);
    if (border || !aligned) {
#pragma unroll 1
        for (int i = threadIdx.y * WARP + threadIdx.x; i < COLUMNS; i += ED_WARPS * WARP)
            column[i] = reflect(x0 + i, job.width);
        __syncthreads();
    }
    return aligned;
}
