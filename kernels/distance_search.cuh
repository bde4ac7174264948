// Distance, the passes along y and z: a column, the terms, and the search for the least sum of one pixel.
#pragma once
#include "common.cuh"
#include "distance.h"

constexpr u32 DT_QUAD = 4;             // half an octet
// An octet with more than DT_WIDE quads to examine, or a point with more than DT_WIDE_POINT octets, is left to a warp,
// because its thread would keep the block waiting. Both were found by measurement on an H200.
constexpr u32 DT_WIDE = 48;
constexpr u32 DT_WIDE_POINT = 64;
// If no factor makes the weights whole, a block searches around each point if all but one in DT_STRAY_SHARE
// threads find, within DT_SMALL_WITHIN octets of each of theirs, a value of at most that of DT_SMALL_DISTANCE pixels.
// The three were found by measurement (README.md, "Near, with others").
constexpr int DT_SMALL_DISTANCE = 90;
constexpr u32 DT_SMALL_WITHIN = 6;
constexpr u32 DT_STRAY_SHARE = 64;
constexpr float DT_FAR = __builtin_huge_valf();

// Returns four times the squared distance along the axis to the near side of the pixel `steps` away, as the CPU
// computes it.
__device__ __forceinline__ float dt_term(double weight, int steps)
{
    const float halves = fabsf(__int2float_rn(2 * steps)) - 1.0f;
    float term = __fmul_rn(halves, halves);
    if (weight != 1.0) term = __double2float_rn(__dmul_rn(weight, __dmul_rn(halves, halves)));
    return steps == 0 ? 0.0f : term;
}

// The position of a point's least sums: the first and the last quad.
struct NearResults {
    typedef u32 Word;    // columns in shared memory have less than 2^16 quads
    static __device__ __forceinline__ Word pack(u32 low, u32 high) { return low << 16 | high; }
    static __device__ __forceinline__ u32 low(Word w) { return w >> 16; }
    static __device__ __forceinline__ u32 high(Word w) { return w & 0xFFFF; }
};
struct FarResults {
    typedef uint2 Word;
    static __device__ __forceinline__ Word pack(u32 low, u32 high) { return make_uint2(low, high); }
    static __device__ __forceinline__ u32 low(Word w) { return w.x; }
    static __device__ __forceinline__ u32 high(Word w) { return w.y; }
};

// A column in shared memory. Beyond its end pixels are of the last one's class and infinitely far. least() returns, for
// an octet of one class, the least magnitude with that class' sign; for a mixed one 0.
template <u32 C>
struct NearColumn {
    typedef NearResults PointResults;
    const float *values, *minima;
    __device__ __forceinline__ float at(u32 q) const { return values[q * C]; }
    __device__ __forceinline__ float least(u32 octet) const { return minima[octet * C]; }
};

__device__ __forceinline__ float dt_min(const float *value)
{
    // Read as integers, floats of one sign are in the order of their magnitudes, and the negative ones come first.
    const auto bits = [&](u32 i) { return __float_as_int(value[i]); };
    int least = bits(0), all = bits(0);
#pragma unroll
    for (u32 i = 1; i + 1 < DT_OCTET; i += 2) least = __vimin3_s32(least, bits(i), bits(i + 1));
    least = min(least, bits(DT_OCTET - 1));
#pragma unroll
    for (u32 i = 1; i < DT_OCTET; ++i) all &= bits(i);
    return (least ^ all) < 0 ? 0.0f : __int_as_float(least);
}

// A column too long for shared memory.
struct FarColumn {
    typedef FarResults PointResults;
    const float *values;
    u64 stride;
    u32 length;
    __device__ __forceinline__ float at(u32 q) const
    {
        const float value = values[min(q, length - 1) * stride];
        return q < length ? value : copysignf(DT_FAR, value);
    }
    __device__ __forceinline__ float least(u32 octet) const
    {
        float value[DT_OCTET];
#pragma unroll
        for (u32 i = 0; i < DT_OCTET; ++i) value[i] = at(octet * DT_OCTET + i);
        return dt_min(value);
    }
};

// term(|steps|), from a table that has one entry for each sign, or computed. get() gives N of them, from a multiple of
// four on.
struct TermTable {
    const float *zero;
    __device__ __forceinline__ float operator()(int steps) const { return zero[steps]; }
    template <int N>
    __device__ __forceinline__ void get(int steps, float (&term)[N]) const
    {
#pragma unroll
        for (int i = 0; i < N; i += 4) load_vector<4>(term + i, zero + steps + i);
    }
};
struct TermFunction {
    double weight;
    __device__ __forceinline__ float operator()(int steps) const { return dt_term(weight, steps); }
    template <int N>
    __device__ __forceinline__ void get(int steps, float (&term)[N]) const
    {
#pragma unroll
        for (int i = 0; i < N; ++i) term[i] = dt_term(weight, steps + i);
    }
};

// Returns what a value adds to the sum of a pixel of class `sign`.
__device__ __forceinline__ float dt_value_for(float value, float sign) { return fmaxf(__fmul_rn(value, sign), 0.0f); }

// Returns that plus the term, rounded once, in one operation less.
__device__ __forceinline__ float dt_sum(float value, float sign, float term)
{
    return fmaxf(__fmaf_rn(value, sign, term), term);
}

// The least and the greatest of three numbers that are at least 0, in one operation: as integers they have the same
// order.
__device__ __forceinline__ float dt_min(float a, float b, float c)
{
    return __int_as_float(__vimin3_s32(__float_as_int(a), __float_as_int(b), __float_as_int(c)));
}
__device__ __forceinline__ float dt_max(float a, float b, float c)
{
    return __int_as_float(__vimax3_s32(__float_as_int(a), __float_as_int(b), __float_as_int(c)));
}

struct Found {
    float best;
    u32 low, high;    // the first and the last quad with this sum

    // Considers a sum, which the quads low..high have.
    __device__ __forceinline__ void consider(float sum, u32 sum_low, u32 sum_high)
    {
        if (!(sum <= best && sum < DT_FAR)) return;
        const bool same = sum == best;
        low = same ? min(low, sum_low) : sum_low;
        high = same ? max(high, sum_high) : sum_high;
        best = sum;
    }
};
static_assert(sizeof(Found) == DT_FOUND_BYTES, "");

// Compares the least sum of the first pixel of octet `home`, and its position, with those over the octet `octet`.
template <typename COLUMN, typename TERMS>
__device__ __forceinline__ void dt_examine(const COLUMN &column, const TERMS &terms, u32 home, float sign, u32 octet,
                                           Found &found)
{
    float term[DT_OCTET], least[2];
    terms.get(static_cast<int>(octet - home) * static_cast<int>(DT_OCTET), term);
#pragma unroll
    for (u32 quad = 0; quad < 2; ++quad) {
        const auto sum = [&](u32 i) {
            return dt_sum(column.at(octet * DT_OCTET + quad * DT_QUAD + i), sign, term[quad * DT_QUAD + i]);
        };
        least[quad] = fminf(dt_min(sum(0), sum(1), sum(2)), sum(3));
    }
    const float better = fminf(least[0], least[1]);
    found.consider(better, octet * 2 + (least[0] > better), octet * 2 + (least[1] == better));
}

// Returns the limit of a bound: an infinite value is never below it.
__device__ __forceinline__ float dt_limit(const Found &found) { return fminf(found.best, __uint_as_float(0x7F7FFFFF)); }

// Finds the least sum over the octets first..last.
template <typename COLUMN, typename TERMS>
__device__ __forceinline__ void dt_search(const COLUMN &column, const TERMS &terms, u32 home, float sign, u32 first,
                                          u32 last, Found &found)
{
    const u32 middle = first + (last - first) / 2;
    if (first <= last) dt_examine(column, terms, home, sign, middle, found);
    for (u32 octet = first;; ++octet) {
        // Each lane skips to its next octet, then all examine theirs.
        int steps = static_cast<int>(octet - home) * static_cast<int>(DT_OCTET);
        const float limit = dt_limit(found);
        for (; octet <= last; ++octet, steps += DT_OCTET) {
            const int nearest = max(steps, -steps - static_cast<int>(DT_OCTET - 1));
            const float bound = dt_sum(column.least(octet), sign, terms(nearest));
            if (bound <= limit && octet != middle) break;
        }
        if (octet > last) break;
        dt_examine(column, terms, home, sign, octet, found);
    }
}

// Finds the least sum over all octets, from `home` outwards: cheap where a small sum is near.
template <typename COLUMN, typename TERMS>
__device__ __forceinline__ void dt_search_around(const COLUMN &column, const TERMS &terms, u32 home, float sign, u32 octets,
                                                 Found &found)
{
    dt_examine(column, terms, home, sign, home, found);
    // Left, right, further left: ever further away.
    const int end = static_cast<int>(octets);
    const auto next = [](int away) { return (away < 0 ? 0 : -1) - away; };
    for (int away = -1;; away = next(away)) {
        // Each lane skips to its next octet, then all examine theirs.
        const float limit = dt_limit(found);
        bool looks = false;
        for (; away < end; away = next(away)) {
            const float term = terms(away * static_cast<int>(DT_OCTET) + ((away >> 31) & static_cast<int>(DT_OCTET - 1)));
            if (term > limit) break;
            const u32 octet = home + static_cast<u32>(away);
            looks = octet < octets && dt_sum(column.least(octet), sign, term) <= limit;
            if (looks) break;
        }
        if (!looks) break;
        dt_examine(column, terms, home, sign, home + static_cast<u32>(away), found);
    }
}

__device__ __forceinline__ float dt_warp_min(float value)
{
#pragma unroll
    for (u32 d = WARP / 2; d > 0; d /= 2) value = fminf(value, __shfl_xor_sync(ALL_LANES, value, d));
    return value;
}

// Finds the least sum by a warp, pixel by pixel: without bounds, which cost more where many pixels give nearly the same
// sum.
template <typename COLUMN, typename TERMS>
__device__ __forceinline__ void dt_search_all(const COLUMN &column, const TERMS &terms, u32 home, float sign, u32 first,
                                              u32 last, Found &found)
{
    float best = DT_FAR;
    u32 low = ALL_LANES, high = 0;
    for (u32 q = first * DT_OCTET + threadIdx.x % WARP; q < (last + 1) * DT_OCTET; q += WARP) {
        const int steps = static_cast<int>(q) - static_cast<int>(home * DT_OCTET);
        const float sum = __fadd_rn(dt_value_for(column.at(q), sign), terms(steps));
        if (sum <= best && sum < DT_FAR) {
            low = sum < best ? q / DT_QUAD : low, high = q / DT_QUAD;
            best = sum;
        }
    }
    const float least = dt_warp_min(best);
    if (best != least) low = ALL_LANES, high = 0;
#pragma unroll
    for (u32 d = WARP / 2; d > 0; d /= 2) {
        low = min(low, __shfl_xor_sync(ALL_LANES, low, d));
        high = max(high, __shfl_xor_sync(ALL_LANES, high, d));
    }
    found.consider(least, low, high);
}

// Compares the pixels of octet `home` with those of the quad `other`. MIXED: they are of either class (`signs`: bit j
// is set if pixel j is inside); else all are of class `sign`.
template <bool MIXED, typename COLUMN, typename TERMS>
__device__ __forceinline__ void dt_octet(const COLUMN &column, const TERMS &terms, u32 home, u32 other, float sign,
                                         u32 signs, float (&best)[DT_OCTET])
{
    constexpr int OCTET = DT_OCTET, QUAD = DT_QUAD;
    float outside[QUAD], inside[QUAD], term[OCTET + QUAD];
    terms.get(static_cast<int>(other) * QUAD - static_cast<int>(home) * OCTET - OCTET, term);
#pragma unroll
    for (int i = 0; i < QUAD; ++i) {
        const float value = column.at(other * QUAD + i);
        if (MIXED) outside[i] = fmaxf(value, 0.0f), inside[i] = fmaxf(-value, 0.0f);
        else outside[i] = dt_value_for(value, sign);
    }
#pragma unroll
    for (int i = 0; i < QUAD; i += 2) {
#pragma unroll
        for (int j = 0; j < OCTET; ++j) {
            const bool own = MIXED && (signs >> j & 1);
            best[j] = dt_min(best[j], __fadd_rn(own ? inside[i] : outside[i], term[OCTET + i - j]),
                             __fadd_rn(own ? inside[i + 1] : outside[i + 1], term[OCTET + i + 1 - j]));
        }
    }
}
