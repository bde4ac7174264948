// Distance, the passes along y and z of columns all of whose pixels are near a boundary, in 16-bit numbers.
//
// If all weights are whole numbers, or a small power of two makes them so (`factor`, by which everything here is
// multiplied), all sums are whole numbers, and near a boundary they are small: with two to a word, an addition and a
// minimum of both are one instruction, a quarter of what floats take. This is so little that no points are searched: an
// octet examines the octets around itself, outwards, until no term is below the largest of its least sums.
//
// An octet is packed in place: its pixels' memory holds four words of two pixels each, outside v, inside -1 - v, and a
// word with a lower bound of what the octet adds to the sums of pixels outside (low half) and inside (high half).
// Values and terms are clamped to DT_NEAR_CLAMP, which is part of no least sum.
#pragma once
#include "distance_octet.cuh"
#include "distance_search.cuh"

constexpr u32 DT_NEAR_CLAMP = 0x7FFF;   // the sum of two fits into 16 bits
constexpr u32 DT_NEAR_TERMS = 2 * (DT_NEAR_REACH + 1) * DT_OCTET;    // pairs of neighbouring terms
constexpr u32 DT_NEAR_PAIRS = DT_OCTET / 2;
constexpr u32 DT_NEAR_BOUND = DT_NEAR_PAIRS;   // the row of an octet's lower bound
static_assert(DT_NEAR_MAX < DT_NEAR_CLAMP, "");

// Returns `factor` times the value.
__device__ __forceinline__ u32 dt_near_number(float value, const isoline_dt_columns &job)
{
    // The last bits of 2^23 + n are n.
    const float clamp = static_cast<float>(DT_NEAR_CLAMP) * job.near.part;
    return __float_as_uint(__fmaf_rn(fminf(fabsf(value), clamp), job.near.factor, 8388608.0f));
}

// Makes the pairs of terms, as many as columns of `octets` octets need. `zero` is the pair of 0 steps.
__device__ __forceinline__ void dt_near_terms(u32 *zero, const isoline_dt_columns &job, u32 octets)
{
    const auto number = [&](int steps) { return dt_near_number(dt_term(job.weight, steps), job); };
    const int reach = min(DT_NEAR_TERMS / 2, octets * DT_OCTET);
    for (int steps = static_cast<int>(threadIdx.x) - reach; steps < reach; steps += static_cast<int>(blockDim.x))
        zero[steps] = permute_bytes<0x5410>(number(steps), number(steps + 1));
}

template <u32 C>
__device__ __forceinline__ void dt_near_pack(float *values, float least, const isoline_dt_columns &job)
{
    u32 word[DT_NEAR_PAIRS];
#pragma unroll
    for (u32 i = 0; i < DT_NEAR_PAIRS; ++i) {
        const float a = values[2 * i * C], b = values[(2 * i + 1) * C];
        const u32 signs = permute_bytes<0xFFBB>(__float_as_uint(a), __float_as_uint(b));
        word[i] = permute_bytes<0x5410>(dt_near_number(a, job), dt_near_number(b, job)) ^ signs;
    }
    u32 *const to = reinterpret_cast<u32 *>(values);
#pragma unroll
    for (u32 i = 0; i < DT_NEAR_PAIRS; ++i) to[i * C] = word[i];
    const u32 number = dt_near_number(least, job) & 0xFFFF;
    to[DT_NEAR_BOUND * C] = __float_as_uint(least) >> 31 ? number << 16 : number;
}

// Compares the octet `there`, whose first pixel is a multiple of DT_OCTET pixels away, with the pixels of an octet.
// `pairs`: the terms from seven before that of the pixel nearest to the octet's end. MIXED: they are of either class
// (`signs`: as halves), else of class `sign`.
template <u32 C, bool MIXED>
__device__ __forceinline__ void dt_near_octet(const u32 *there, const u32 *pairs, u32 sign,
                                              const u32 (&signs)[DT_NEAR_PAIRS], u32 (&best)[DT_OCTET])
{
    u32 outside[DT_NEAR_PAIRS], inside[DT_NEAR_PAIRS], term[2 * DT_OCTET];
#pragma unroll
    for (u32 i = 0; i < 2 * DT_OCTET; i += 4) {
        const uint4 four = *reinterpret_cast<const uint4 *>(pairs + i);
        term[i] = four.x, term[i + 1] = four.y, term[i + 2] = four.z, term[i + 3] = four.w;
    }
#pragma unroll
    for (u32 i = 0; i < DT_NEAR_PAIRS; ++i) {
        const u32 word = there[i * C];
        outside[i] = __vmaxs2(MIXED ? word : word ^ sign, 0);
        if (MIXED) inside[i] = __vmaxs2(~word, 0);
    }
#pragma unroll
    for (u32 j = 0; j < DT_OCTET; ++j) {
        const u32 own = MIXED ? (j % 2 ? permute_bytes<0x3232>(signs[j / 2]) : permute_bytes<0x1010>(signs[j / 2])) : 0;
#pragma unroll
        for (u32 i = 0; i < DT_NEAR_PAIRS; ++i) {
            const u32 worth = MIXED ? (outside[i] & ~own) | (inside[i] & own) : outside[i];
            best[j] = __viaddmin_u16x2(worth, term[DT_OCTET + 2 * i - j], best[j]);
        }
    }
}

// Returns the least sums of two pixels, as a word.
__device__ __forceinline__ u32 dt_near_pair(const u32 (&best)[DT_OCTET], u32 i)
{
    return __vminu2(permute_bytes<0x5410>(best[2 * i], best[2 * i + 1]),
                    permute_bytes<0x7632>(best[2 * i], best[2 * i + 1]));
}

// Returns the largest of all pixels' least sums.
__device__ __forceinline__ u32 dt_near_max(const u32 (&best)[DT_OCTET])
{
    u32 most = dt_near_pair(best, 0);
#pragma unroll
    for (u32 i = 1; i < DT_NEAR_PAIRS; ++i) most = __vmaxu2(most, dt_near_pair(best, i));
    return max(most & 0xFFFF, most >> 16);
}

// Processes all octets of a column, packed. `pairs` is the pair of 0 steps.
template <u32 C>
__device__ __forceinline__ void dt_near_column(const u32 *words, const u32 *pairs, const isoline_dt_columns &job, u32 first,
                                               u32 threads, u32 octets, bool is_column, float *to)
{
    const u32 nearest = pairs[1] & 0xFFFF;
    for (u32 home = first; home < octets; home += threads) {
        const u32 *const own = words + home * DT_OCTET * C;
        const u32 p = home * DT_OCTET;
        u32 signs[DT_NEAR_PAIRS], best[DT_OCTET], all = ALL_LANES, any = 0;
#pragma unroll
        for (u32 i = 0; i < DT_NEAR_PAIRS; ++i) {
            const u32 word = own[i * C];
            signs[i] = permute_bytes<0xBB99>(word);
            all &= signs[i], any |= signs[i];
            best[2 * i] = permute_bytes<0x1010>(word ^ signs[i]),
                     best[2 * i + 1] = permute_bytes<0x3232>(word ^ signs[i]);
        }
        if (p + DT_OCTET > job.length) {   // pixels beyond the end never keep a thread busy
#pragma unroll
            for (u32 j = 0; j < DT_OCTET; ++j) best[j] = p + j < job.length ? best[j] : 0;
        }
        u32 most = dt_near_max(best);
        const bool mixed = any != 0 && all != ALL_LANES;
        const u32 sign = signs[0];   // where the octet is not mixed
        const bool any_mixed = __any_sync(__activemask(), mixed);
        if (most > nearest) {
            // The octet itself, then those to the right and left. A mixed octet's pixels are at most seven from the
            // other class.
#pragma unroll 1
            for (u32 m = 0; m < octets; ++m) {
                const u32 bound = m == 0 ? 0 : pairs[m * DT_OCTET - (DT_OCTET - 1)] & 0xFFFF;
                if (bound >= most) break;
                int away = m * DT_OCTET;   // in pixels
#pragma unroll 1
                for (u32 side = m == 0; side < 2; ++side, away = -away) {
                    if (side == 0 ? home + m >= octets : home < m) continue;
                    const u32 *const there = own + away * static_cast<int>(C);
                    const u32 worth = there[DT_NEAR_BOUND * C];
                    if (!mixed && (sign ? worth >> 16 : worth & 0xFFFF) + bound >= most) continue;
                    const u32 *const terms = pairs + away - static_cast<int>(DT_OCTET);
                    if (any_mixed && m <= 1) dt_near_octet<C, true>(there, terms, sign, signs, best);
                    else dt_near_octet<C, false>(there, terms, sign, signs, best);
                }
                most = dt_near_max(best);
            }
        }
        if (!is_column) continue;
        Octet octet;
        octet.home = home;
        const u32 bits = (signs[0] & 0x00020001) | (signs[1] & 0x00080004)
                       | (signs[2] & 0x00200010) | (signs[3] & 0x00800040);
        octet.signs = (bits | bits >> 16) & 0xFF;
#pragma unroll
        for (u32 i = 0; i < DT_NEAR_PAIRS; ++i) {
            // 2^23 + n, as above.
            const u32 least = dt_near_pair(best, i);
            const float part = job.near.part;
            const auto value = [&](u32 bits) { return __fmaf_rn(__uint_as_float(bits), part, -8388608.0f * part); };
            octet.best[2 * i] = value(permute_bytes<0x7610>(least, 0x4B000000));
            octet.best[2 * i + 1] = value(permute_bytes<0x7632>(least, 0x4B000000));
        }
        octet.template store<true>(to, job);
    }
}
