// Exact sums over polygons from cumulated rows: src/snake/sums.rs has the definition, this is the same in CUDA.
//
// Layout: levels of 8 or 16 bits, rows `pitch` bytes apart (a multiple of 32); for each block of 32 bytes of a row, and for
// one that begins at or after the row's end, the sums of all before it (16 bytes). Integers: every order of adding gives the
// same sums.
#pragma once
#include "common.cuh"

typedef long long i64;

constexpr u32 BLOCK_BYTES = 32;

// As `Sum` in src/snake/sums.rs.
struct isoline_snake_sum {
    i64 pixels, z, zz;
};

__device__ __forceinline__ isoline_snake_sum operator+(isoline_snake_sum a, isoline_snake_sum b)
{
    return {a.pixels + b.pixels, a.z + b.z, a.zz + b.zz};
}

__device__ __forceinline__ isoline_snake_sum operator-(isoline_snake_sum a, isoline_snake_sum b)
{
    return {a.pixels - b.pixels, a.z - b.z, a.zz - b.zz};
}

struct isoline_snake_image {
    const unsigned char *levels;
    const ulonglong2 *before;   // Σz, Σz²
    u64 pitch;                  // bytes
    u32 width, height;
    u32 blocks;                 // entries of `before` a row: width / pixels in a block + 1
};

// Σz and Σz² of the first `count` levels in a word.
template <typename T>
__device__ __forceinline__ void add_word(u32 word, int count, u64 &z, u64 &zz)
{
    constexpr int IN_WORD = 4 / sizeof(T);
    constexpr u32 MASK = sizeof(T) == 1 ? 0xFFu : 0xFFFFu;
    #pragma unroll
    for (int i = 0; i < IN_WORD; i++) {
        const u32 level = i < count ? (word >> (i * 8 * sizeof(T))) & MASK : 0u;
        z += level;
        zz += wide_product(level, level);
    }
}

// Of the first `count` levels in a block of 32 bytes.
template <typename T>
__device__ __forceinline__ void add_block(const unsigned char *block, int count, u64 &z, u64 &zz)
{
    constexpr int IN_WORD = 4 / sizeof(T);
    const uint4 *halves = reinterpret_cast<const uint4 *>(block);
    #pragma unroll
    for (int half = 0; half < 2; half++) {
        const int left = count - half * 4 * IN_WORD;
        if (left <= 0) break;
        const uint4 words = __ldg(halves + half);
        add_word<T>(words.x, left, z, zz);
        add_word<T>(words.y, left - IN_WORD, z, zz);
        add_word<T>(words.z, left - 2 * IN_WORD, z, zz);
        add_word<T>(words.w, left - 3 * IN_WORD, z, zz);
    }
}

// Σ over the pixels left of corner x in row y.
template <typename T>
__device__ __forceinline__ isoline_snake_sum left_of(const isoline_snake_image &image, u32 x, u32 y)
{
    constexpr u32 IN_BLOCK = BLOCK_BYTES / sizeof(T);
    const u32 block = x / IN_BLOCK;
    const ulonglong2 before = __ldg(image.before + (static_cast<u64>(y) * image.blocks + block));
    u64 z = before.x, zz = before.y;
    add_block<T>(image.levels + (y * image.pitch + static_cast<u64>(block) * BLOCK_BYTES), x % IN_BLOCK, z, zz);
    return {static_cast<i64>(x), static_cast<i64>(z), static_cast<i64>(zz)};
}

// How many pixels lie left of the edge from `upper` to `lower` in its row k: x0 + ceil(((2k + 1)·dx - dy) / (2·dy)).
// The quotient of two integers below 2^52 is rounded to a whole number only if it is one, for sides of up to 2^25.
__device__ __forceinline__ i64 column_of(int2 upper, int2 lower, i64 k)
{
    const i64 dx = static_cast<i64>(lower.x) - upper.x, dy = static_cast<i64>(lower.y) - upper.y;
    const double quotient = __ddiv_rn(static_cast<double>((2 * k + 1) * dx - dy), static_cast<double>(2 * dy));
    return upper.x + static_cast<i64>(ceil(quotient));
}

// The part of the edge from a to b in the sum over a clockwise polygon, rows `first` to `first + count` of it, one row a
// lane of the LANES that work on it. Every lane gets the sum.
template <typename T, int LANES>
__device__ __forceinline__ isoline_snake_sum edge_sum(const isoline_snake_image &image, int2 a, int2 b, i64 first,
                                                      i64 count)
{
    const bool down = a.y <= b.y;
    const int2 upper = down ? a : b, lower = down ? b : a;
    const i64 rows = min(static_cast<i64>(lower.y) - upper.y, first + count);
    isoline_snake_sum sum = {0, 0, 0};
    // Several rows at a time: each waits for memory.
    #pragma unroll 4
    for (i64 k = first + threadIdx.x % LANES; k < rows; k += LANES) {
        const i64 x = column_of(upper, lower, k);
        sum = sum + left_of<T>(image, static_cast<u32>(x), static_cast<u32>(upper.y + k));
    }
    #pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) {
        sum.pixels += __shfl_xor_sync(ALL_LANES, sum.pixels, step);
        sum.z += __shfl_xor_sync(ALL_LANES, sum.z, step);
        sum.zz += __shfl_xor_sync(ALL_LANES, sum.zz, step);
    }
    return down ? sum : isoline_snake_sum{0, 0, 0} - sum;
}

// Cumulates rows: a warp a row, a block of 32 bytes a lane.
template <typename T>
__device__ __forceinline__ void cumulate(const isoline_snake_image &image, ulonglong2 *before)
{
    constexpr u32 IN_BLOCK = BLOCK_BYTES / sizeof(T);
    const u32 lane = threadIdx.x % WARP;
    const u64 warp = (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / WARP;
    const u64 warps = static_cast<u64>(gridDim.x) * blockDim.x / WARP;
    for (u64 y = warp; y < image.height; y += warps) {
        u64 z_before = 0, zz_before = 0;
        for (u32 first = 0; first < image.blocks; first += WARP) {
            const u32 block = first + lane;
            u64 z = 0, zz = 0;
            // The last entry's own block may be cut by the row's end; nothing is after it.
            if (block + 1 < image.blocks)
                add_block<T>(image.levels + (y * image.pitch + static_cast<u64>(block) * BLOCK_BYTES), IN_BLOCK, z, zz);
            u64 z_sum = z, zz_sum = zz;
            #pragma unroll
            for (int step = 1; step < static_cast<int>(WARP); step *= 2) {
                const u64 z_left = __shfl_up_sync(ALL_LANES, z_sum, step);
                const u64 zz_left = __shfl_up_sync(ALL_LANES, zz_sum, step);
                if (lane >= static_cast<u32>(step)) z_sum += z_left, zz_sum += zz_left;
            }
            if (block < image.blocks)
                before[y * image.blocks + block] = make_ulonglong2(z_before + z_sum - z, zz_before + zz_sum - zz);
            z_before += __shfl_sync(ALL_LANES, z_sum, WARP - 1);
            zz_before += __shfl_sync(ALL_LANES, zz_sum, WARP - 1);
        }
    }
}
