// Exact sums over polygons from cumulated rows: those that src/snake/sums.rs defines, by other steps.
//
// Layout: levels of 8 or 16 bits, rows `pitch` bytes apart (a multiple of 32); for each sector of 32 bytes of a row, and
// for one that begins at or after the row's end, the sums of all pixels before it (16 bytes). These are integers: every
// order of additions gives the same sums.
#pragma once
#include "common.cuh"
#include "snake.h"

__device__ __forceinline__ isoline_snake_sum operator+(isoline_snake_sum a, isoline_snake_sum b)
{
    return {a.pixels + b.pixels, a.z + b.z, a.zz + b.zz};
}

__device__ __forceinline__ isoline_snake_sum operator-(isoline_snake_sum a, isoline_snake_sum b)
{
    return {a.pixels - b.pixels, a.z - b.z, a.zz - b.zz};
}

// Sums over levels in words of 32 bits: at most 8 words.
struct WordSums {
    u32 z = 0, squares = 0;
    u32 high = 0;   // levels of 16 bits: Σ z · (z's upper byte); `squares` has the products with the lower byte

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

// Adds the levels in a sector of 32 bytes.
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

// The stored sums and levels that give the sum over the pixels left of a corner.
struct Corner {
    ulonglong2 before;
    uint4 halves[2];   // of the sector that holds the corner
    u32 x;
};

// Starts to fetch them for corner x of row y, or for the first corner, left of which there is nothing. Several are
// started before the first is used, because each waits for memory; so there are no branches.
template <typename T>
__device__ __forceinline__ Corner fetch_corner(const isoline_snake_image &image, u32 x, u32 y, bool wanted)
{
    constexpr u32 IN_SECTOR = SECTOR_BYTES / sizeof(T);
    Corner corner;
    corner.x = wanted ? x : 0;
    const u64 row = wanted ? y : 0;
    const u32 sector = corner.x / IN_SECTOR;
    // A sector that begins at the row's end does not exist, nor are its levels needed.
    const u32 offset = corner.x % IN_SECTOR != 0 ? sector * SECTOR_BYTES : 0;
    const uint4 *levels = reinterpret_cast<const uint4 *>(image.levels + (row * image.pitch + offset));
    corner.before = __ldg(image.before + (row * image.sectors + sector));
    corner.halves[0] = __ldg(levels);
    corner.halves[1] = __ldg(levels + 1);
    return corner;
}

// Returns the word without the bits at or beyond `bits`, counted from the sector's begin; the word begins at bit `from`.
// This is one instruction; shifts and masks are two or more.
__device__ __forceinline__ u32 first_bits(u32 word, int bits, int from)
{
    const u32 keep = static_cast<u32>(max(bits - from, 0));
    u32 kept;
    asm("szext.clamp.u32 %0, %1, %2;" : "=r"(kept) : "r"(word), "r"(keep));
    return kept;
}

// Σ over the pixels left of the corner.
template <typename T>
__device__ __forceinline__ isoline_snake_sum sum_left_of(Corner corner)
{
    constexpr u32 IN_SECTOR = SECTOR_BYTES / sizeof(T);
    const int bits = static_cast<int>(corner.x % IN_SECTOR * 8 * sizeof(T));
    #pragma unroll
    for (int half = 0; half < 2; half++) {
        uint4 &words = corner.halves[half];
        words.x = first_bits(words.x, bits, 128 * half);
        words.y = first_bits(words.y, bits, 128 * half + 32);
        words.z = first_bits(words.z, bits, 128 * half + 64);
        words.w = first_bits(words.w, bits, 128 * half + 96);
    }
    u64 z = corner.before.x, zz = corner.before.y;
    add_sector<T>(corner.halves, z, zz);
    return {static_cast<i64>(corner.x), static_cast<i64>(z), static_cast<i64>(zz)};
}

// Σ over the pixels left of corner x in row y.
template <typename T>
__device__ __forceinline__ isoline_snake_sum left_of(const isoline_snake_image &image, u32 x, u32 y)
{
    return sum_left_of<T>(fetch_corner<T>(image, x, y, true));
}

// Computes the number of pixels left of an edge in each of its rows: x0 + ceil(((2k + 1)·dx - dy) / (2·dy)) in row k.
//
// In floating point everything but the quotient is exact: sides have up to 2^25 pixels, so numerators are below 2^52.
// The quotient's error is far below 1: its nearest integer is the ceiling or the one before, which the exact remainder
// decides.
struct Columns {
    int x;
    double dx, dy, denominator, inverse;

    __device__ Columns(int2 upper, int2 lower) : x(upper.x), dx(lower.x - upper.x), dy(max(lower.y - upper.y, 1))
    {
        denominator = __dadd_rn(dy, dy);
        inverse = __drcp_rn(denominator);
    }
    __device__ __forceinline__ int of_row(int k) const
    {
        constexpr double NEAREST = 6755399441055744.0;   // 1.5 · 2^52: the sum's lower word is the nearest integer
        const double numerator = __fma_rn(static_cast<double>(2 * k + 1), dx, -dy);
        const double sum = __fma_rn(numerator, inverse, NEAREST);
        const double rest = __fma_rn(__dadd_rn(sum, -NEAREST), denominator, -numerator);
        return x + __double2loint(sum) + (rest < 0.0);
    }
};

// Σ over the pixels left of the edge from `upper` to `lower` in its rows among y, y + STRIDE, ... below `end`. TOGETHER
// of them are fetched before the first is used.
template <typename T, int STRIDE, int TOGETHER>
__device__ __forceinline__ isoline_snake_sum rows_sum(const isoline_snake_image &image, int2 upper, int2 lower, int y, int end)
{
    const Columns columns(upper, lower);
    isoline_snake_sum sum = {0, 0, 0};
    for (; y < end; y += TOGETHER * STRIDE) {
        Corner corners[TOGETHER];
        #pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            const int row = y + i * STRIDE;
            const bool wanted = row < end && upper.y <= row && row < lower.y;
            corners[i] =
                fetch_corner<T>(image, static_cast<u32>(columns.of_row(row - upper.y)), static_cast<u32>(row), wanted);
        }
        #pragma unroll
        for (int i = 0; i < TOGETHER; i++) sum = sum + sum_left_of<T>(corners[i]);
    }
    return sum;
}

// The sum over lanes that differ in the bits of their numbers from STEP on.
template <int STEP>
__device__ __forceinline__ isoline_snake_sum lanes_sum(isoline_snake_sum sum)
{
    #pragma unroll
    for (int step = WARP / 2; step >= STEP; step /= 2) {
        sum.pixels += __shfl_xor_sync(ALL_LANES, sum.pixels, step);
        sum.z += __shfl_xor_sync(ALL_LANES, sum.z, step);
        sum.zz += __shfl_xor_sync(ALL_LANES, sum.zz, step);
    }
    return sum;
}

// Cumulates rows: a row per warp, a sector of 32 bytes per lane.
template <typename T>
__device__ __forceinline__ void cumulate(const isoline_snake_image &image, ulonglong2 *before)
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
                const uint4 *levels =
                    reinterpret_cast<const uint4 *>(image.levels + (y * image.pitch + static_cast<u64>(sector) * SECTOR_BYTES));
                const uint4 halves[2] = {__ldg(levels), __ldg(levels + 1)};
                add_sector<T>(halves, z, zz);
            }
            u64 z_sum = z, zz_sum = zz;
            #pragma unroll
            for (int step = 1; step < static_cast<int>(WARP); step *= 2) {
                const u64 z_left = __shfl_up_sync(ALL_LANES, z_sum, step);
                const u64 zz_left = __shfl_up_sync(ALL_LANES, zz_sum, step);
                if (lane >= static_cast<u32>(step)) z_sum += z_left, zz_sum += zz_left;
            }
            if (sector < image.sectors)
                before[y * image.sectors + sector] = make_ulonglong2(z_before + z_sum - z, zz_before + zz_sum - zz);
            z_before += __shfl_sync(ALL_LANES, z_sum, WARP - 1);
            zz_before += __shfl_sync(ALL_LANES, zz_sum, WARP - 1);
        }
    }
}
