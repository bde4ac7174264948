// Exact sums over polygons from the prefix sums of rows: the sums that src/snake/sums.rs defines, computed in another way.
//
// The levels have 8 or 16 bits (T), and rows are `pitch` bytes apart, a multiple of a sector's 32. For each sector of a
// row, and for one that begins at or after the row's end, 16 bytes of prefix sums are stored: Σz and Σz² over all
// pixels of the row before the sector. All are integers, so that every order of additions gives the same sums.
//
// Every function here works for one thread by itself, unless it says that the lanes of a warp call it together.
#pragma once
#include "common.cuh"
#include "snake.h"

// Returns the sum over the pixels of both.
__device__ __forceinline__ RegionSum operator+(RegionSum a, RegionSum b)
{
    return {a.pixels + b.pixels, a.z + b.z, a.zz + b.zz};
}

// Returns the sum over the pixels of `a` without those of `b`.
__device__ __forceinline__ RegionSum operator-(RegionSum a, RegionSum b)
{
    return {a.pixels - b.pixels, a.z - b.z, a.zz - b.zz};
}

// WordSums are a thread's sums over the levels of one sector, 8 words of 32 bits, in registers.
struct WordSums {
    u32 z = 0;         // Σz
    u32 squares = 0;   // levels of 8 bits: Σz²; of 16 bits: Σ z · (z's lower byte)
    u32 high = 0;      // levels of 16 bits: Σ z · (z's upper byte)

    // Adds the levels in a word: four of 8 bits, or two of 16.
    template <typename T>
    __device__ __forceinline__ void add(u32 word)
    {
        if constexpr (sizeof(T) == 1) {
            z = __dp4a(word, 0x01010101u, z);
            squares = __dp4a(word, word, squares);
        } else {
            const u32 bytes = __byte_perm(word, 0, 0x3120);   // both lower bytes, both upper ones
            z = __dp2a_lo(word, 0x0101u, z);
            squares = __dp2a_lo(word, bytes, squares);
            high = __dp2a_hi(word, bytes, high);
        }
    }
};

// Adds Σz and Σz² over the levels of a sector, given as its two halves of 16 bytes.
template <typename T>
__device__ __forceinline__ void add_sector(const uint4 (&halves)[2], u64 &z, u64 &zz)
{
    WordSums sums;
    #pragma unroll
    for (int half = 0; half < 2; half++) {
        const uint4 words = halves[half];
        sums.add<T>(words.x), sums.add<T>(words.y), sums.add<T>(words.z), sums.add<T>(words.w);
    }
    z += sums.z;
    zz += sums.squares + wide_product(sums.high, 256u);
}

// A Corner holds the data for the sum over the pixels of a row left of a pixel corner, fetched to a thread's registers.
struct Corner {
    ulonglong2 prefix_sum;   // of the sector that holds the corner
    uint4 halves[2];         // that sector's levels
    u32 x;                   // pixels left of the corner
};

// Starts to fetch the data of corner x of row y, or, unless it is `wanted`, of corner 0 of row 0, whose sum is 0. A thread
// starts several fetches before it uses the first, to hide the latency of memory; for the same reason there are no
// branches.
template <typename T>
__device__ __forceinline__ Corner fetch_corner(const LevelImage &image, u32 x, u32 y, bool wanted)
{
    constexpr u32 PIXELS_PER_SECTOR = SECTOR_BYTES / sizeof(T);
    Corner corner;
    corner.x = wanted ? x : 0;
    const u64 row = wanted ? y : 0;
    const u32 sector = corner.x / PIXELS_PER_SECTOR;
    // A sector that begins at the row's end does not exist, and its levels are not needed.
    const u32 offset = corner.x % PIXELS_PER_SECTOR != 0 ? sector * SECTOR_BYTES : 0;
    const uint4 *levels = reinterpret_cast<const uint4 *>(image.levels + (row * image.pitch + offset));
    corner.prefix_sum = __ldg(image.prefix_sums + (row * image.sectors + sector));
    corner.halves[0] = __ldg(levels);
    corner.halves[1] = __ldg(levels + 1);
    return corner;
}

// Returns a word of a sector in which the sector's bits from number `bits` on are cleared; the word begins at the sector's
// bit `from`. This is one instruction; shifts and masks would take two or more.
__device__ __forceinline__ u32 first_bits(u32 word, int bits, int from)
{
    const u32 keep = static_cast<u32>(max(bits - from, 0));
    u32 kept;
    asm("szext.clamp.u32 %0, %1, %2;" : "=r"(kept) : "r"(word), "r"(keep));
    return kept;
}

// Returns the sum over the pixels of the row left of the corner.
template <typename T>
__device__ __forceinline__ RegionSum sum_left_of(Corner corner)
{
    constexpr u32 PIXELS_PER_SECTOR = SECTOR_BYTES / sizeof(T);
    const int bits = static_cast<int>(corner.x % PIXELS_PER_SECTOR * 8 * sizeof(T));
    #pragma unroll
    for (int half = 0; half < 2; half++) {
        uint4 &words = corner.halves[half];
        words.x = first_bits(words.x, bits, 128 * half);
        words.y = first_bits(words.y, bits, 128 * half + 32);
        words.z = first_bits(words.z, bits, 128 * half + 64);
        words.w = first_bits(words.w, bits, 128 * half + 96);
    }
    u64 z = corner.prefix_sum.x, zz = corner.prefix_sum.y;
    add_sector<T>(corner.halves, z, zz);
    return {static_cast<i64>(corner.x), static_cast<i64>(z), static_cast<i64>(zz)};
}

// Returns the sum over the pixels left of corner x in row y.
template <typename T>
__device__ __forceinline__ RegionSum left_of(const LevelImage &image, u32 x, u32 y)
{
    return sum_left_of<T>(fetch_corner<T>(image, x, y, true));
}

// Columns computes how many pixels are left of an edge in each of its rows: x0 + ceil(((2k + 1)·dx - dy) / (2·dy)) in
// row k of the edge, counted from its upper end.
//
// In floating point everything but the quotient is exact: sides have up to 2^25 pixels, so numerators are below 2^52. The
// quotient's error is far below 1, so its nearest integer is the ceiling or one less; the exact remainder decides which.
struct Columns {
    int x;
    double dx, dy, denominator, inverse;

    // Prepares the edge between two nodes, of which `upper` is not below `lower`.
    __device__ Columns(int2 upper, int2 lower) : x(upper.x), dx(lower.x - upper.x), dy(max(lower.y - upper.y, 1))
    {
        denominator = __dadd_rn(dy, dy);
        inverse = __drcp_rn(denominator);
    }

    // Returns the number of pixels left of the edge in its row k.
    __device__ __forceinline__ int of_row(int k) const
    {
        constexpr double NEAREST = 6755399441055744.0;   // 1.5 · 2^52: the sum's lower word is the nearest integer
        const double numerator = __fma_rn(static_cast<double>(2 * k + 1), dx, -dy);
        const double sum = __fma_rn(numerator, inverse, NEAREST);
        const double rest = __fma_rn(__dadd_rn(sum, -NEAREST), denominator, -numerator);
        return x + __double2loint(sum) + (rest < 0.0);
    }
};

// Returns the sum over the pixels left of the edge from `upper` to `lower` in its rows among y, y + STRIDE, ... below
// `end`. Of these, ROWS_IN_FLIGHT are fetched before the first is used.
template <typename T, int STRIDE, int ROWS_IN_FLIGHT>
__device__ __forceinline__ RegionSum rows_sum(const LevelImage &image, int2 upper, int2 lower, int y, int end)
{
    const Columns columns(upper, lower);
    RegionSum sum = {0, 0, 0};
    for (; y < end; y += ROWS_IN_FLIGHT * STRIDE) {
        Corner corners[ROWS_IN_FLIGHT];
        #pragma unroll
        for (int i = 0; i < ROWS_IN_FLIGHT; i++) {
            const int row = y + i * STRIDE;
            const bool wanted = row < end && upper.y <= row && row < lower.y;
            corners[i] =
                fetch_corner<T>(image, static_cast<u32>(columns.of_row(row - upper.y)), static_cast<u32>(row), wanted);
        }
        #pragma unroll
        for (int i = 0; i < ROWS_IN_FLIGHT; i++) sum = sum + sum_left_of<T>(corners[i]);
    }
    return sum;
}

// Returns the sum over the lanes whose numbers are the same modulo STRIDE, a power of two. All lanes of a warp call it.
template <int STRIDE>
__device__ __forceinline__ RegionSum lanes_sum(RegionSum sum)
{
    #pragma unroll
    for (int offset = WARP / 2; offset >= STRIDE; offset /= 2) {
        sum.pixels += __shfl_xor_sync(ALL_LANES, sum.pixels, offset);
        sum.z += __shfl_xor_sync(ALL_LANES, sum.z, offset);
        sum.zz += __shfl_xor_sync(ALL_LANES, sum.zz, offset);
    }
    return sum;
}

// Computes the prefix sums of all rows: a row per warp, a sector per lane. All threads of the grid call it.
template <typename T>
__device__ __forceinline__ void compute_prefix_sums(const LevelImage &image, ulonglong2 *prefix_sums)
{
    const u32 lane = threadIdx.x % WARP;
    const u64 warp = (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / WARP;
    const u64 warps = static_cast<u64>(gridDim.x) * blockDim.x / WARP;
    for (u64 y = warp; y < image.height; y += warps) {
        u64 z_before = 0, zz_before = 0;
        for (u32 first = 0; first < image.sectors; first += WARP) {
            const u32 sector = first + lane;
            u64 z = 0, zz = 0;
            // The last entry's own sector may be cut by the row's end; nothing comes after it.
            if (sector + 1 < image.sectors) {
                const u64 offset = y * image.pitch + static_cast<u64>(sector) * SECTOR_BYTES;
                const uint4 *levels = reinterpret_cast<const uint4 *>(image.levels + offset);
                const uint4 halves[2] = {__ldg(levels), __ldg(levels + 1)};
                add_sector<T>(halves, z, zz);
            }
            u64 z_sum = z, zz_sum = zz;
            #pragma unroll
            for (int offset = 1; offset < static_cast<int>(WARP); offset *= 2) {
                const u64 z_left = __shfl_up_sync(ALL_LANES, z_sum, offset);
                const u64 zz_left = __shfl_up_sync(ALL_LANES, zz_sum, offset);
                if (lane >= static_cast<u32>(offset)) z_sum += z_left, zz_sum += zz_left;
            }
            if (sector < image.sectors) {
                const u64 entry = y * image.sectors + sector;
                prefix_sums[entry] = make_ulonglong2(z_before + z_sum - z, zz_before + zz_sum - zz);
            }
            z_before += __shfl_sync(ALL_LANES, z_sum, WARP - 1);
            zz_before += __shfl_sync(ALL_LANES, zz_sum, WARP - 1);
        }
    }
}
