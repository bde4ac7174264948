// Distance, the passes along y and z: a column, the terms, the search for the least sum of one pixel, eight pixels of a
// column at once, and columns all of whose pixels are near a boundary.
#pragma once
#include "common.cuh"
#include "distance.h"

constexpr u32 DT_QUAD = 4;             // half an octet
// An octet with more than DT_WIDE quads to examine, or a point with more than DT_WIDE_POINT octets, is left to a warp,
// because its thread would keep the block waiting. Both numbers come from measurements on an H200.
constexpr u32 DT_WIDE = 48;
constexpr u32 DT_WIDE_POINT = 64;
// If no factor makes the weights whole, a block searches around each point, provided that near each octet, within
// DT_SMALL_WITHIN octets, there is a value of at most that of DT_SMALL_DISTANCE pixels; one in DT_STRAY_SHARE threads may
// find an octet without one. The three constants come from measurements (README.md, "Near, with others").
constexpr int DT_SMALL_DISTANCE = 90;
constexpr u32 DT_SMALL_WITHIN = 6;
constexpr u32 DT_STRAY_SHARE = 64;
constexpr float DT_FAR = cuda::std::numeric_limits<float>::infinity();

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

// A column in shared memory. Pixels beyond its end have the last pixel's class and an infinite value. least() returns, for
// an octet of one class, the least magnitude with the sign of that class; for a mixed octet 0.
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

// Returns dt_value_for() plus the term, rounded once, with one operation less.
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

// Returns the limit that a bound must be below. It is finite, so that an infinite bound never is.
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

// Finds the minimum over all octets, from `home` outwards, which is cheap if a small sum is near.
template <typename COLUMN, typename TERMS>
__device__ __forceinline__ void dt_search_around(const COLUMN &column, const TERMS &terms, u32 home, float sign, u32 octets,
                                                 Found &found)
{
    dt_examine(column, terms, home, sign, home, found);
    // The order is left, right, further left and so on, always away from `home`.
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

// Finds the minimum by a warp, pixel by pixel. It uses no bounds: they cost more than they save where many pixels give
// nearly the same sum.
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

// Compares the pixels of octet `home` with those of the quad `other`. MIXED: the octet has pixels of both classes (bit j of
// `signs` is set if pixel j is inside); otherwise all are of class `sign`.
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

// -------------------------------------------------------------------------------------------- eight pixels of a column

// Returns the root, rounded once, of a number of at least 1.
__device__ __forceinline__ float dt_sqrt(float square) { return square == DT_FAR ? DT_FAR : sqrt_rn(square); }

// Eight pixels of a column.
struct Octet {
    u32 home, first, last;   // its number, and the quads of its pixels' least sums if they are not in the octet itself
    u32 signs;               // bit j is set if pixel j is inside
    bool mixed;
    float sign;               // the class of an octet that is not mixed
    float best[DT_OCTET], largest;

    __device__ __forceinline__ void find_max()
    {
        largest = best[0];
#pragma unroll
        for (u32 j = 1; j + 1 < DT_OCTET; j += 2) largest = dt_max(largest, best[j], best[j + 1]);
        largest = fmaxf(largest, best[DT_OCTET - 1]);
    }

    template <typename COLUMN, typename WORD>
    __device__ __forceinline__ void prepare(const COLUMN &column, const WORD *results, const isoline_dt_columns &job,
                                            u32 octets, u32 intervals, u32 pitch)
    {
        using RESULTS = typename COLUMN::PointResults;
        const u32 p = home * DT_OCTET, k = home >> job.step_bits;
        first = RESULTS::low(results[k * pitch]), last = RESULTS::high(results[min(k + 1, intervals) * pitch]);
        signs = 0;
#pragma unroll
        for (u32 j = 0; j < DT_OCTET; ++j) {
            const float own = column.at(p + j);
            best[j] = fabsf(own);
            signs |= (__float_as_uint(own) & 1u << 31) >> (31 - j);
        }
        if (p + DT_OCTET > job.length) {   // pixels beyond the end never keep a thread busy
#pragma unroll
            for (u32 j = 0; j < DT_OCTET; ++j) best[j] = p + j < job.length ? best[j] : 0.0f;
        }
        find_max();
        mixed = signs != 0 && signs != (1u << DT_OCTET) - 1;
        sign = signs & 1 ? -1.0f : 1.0f;
        if (job.step_bits > 0) {    // a pixel more on either side, which may be in the next quad
            first = first > 0 ? first - 1 : 0, last = min(last + 1, 2 * octets - 1);
        } else if (signs >> (DT_OCTET - 1) != __float_as_uint(column.at(min(p + DT_OCTET, job.length - 1))) >> 31) {
            last = 2 * home + 2;    // the next point's: it is of the other class than the last pixel
        }
    }

    // Finds the least sums by a warp, all lanes of which have prepared the same octet. It examines the octet itself
    // too, if it is mixed.
    template <typename COLUMN, typename TERMS>
    __device__ __forceinline__ void examine_all(const COLUMN &column, const TERMS &terms)
    {
        const u32 begin = min(first, 2 * home) * DT_QUAD, end = (max(last, 2 * home + 1) + 1) * DT_QUAD;
        for (u32 q = begin + threadIdx.x % WARP; q < end; q += WARP) {
            const float value = column.at(q), outside = fmaxf(value, 0.0f), inside = fmaxf(-value, 0.0f);
            const int steps = static_cast<int>(q) - static_cast<int>(home * DT_OCTET);
#pragma unroll
            for (u32 j = 0; j < DT_OCTET; ++j)
                best[j] = fminf(best[j], __fadd_rn(signs >> j & 1 ? inside : outside, terms(steps - static_cast<int>(j))));
        }
#pragma unroll
        for (u32 j = 0; j < DT_OCTET; ++j) best[j] = dt_warp_min(best[j]);
    }

    // Writes value(j, is_inside) for each pixel.
    template <typename VALUE>
    __device__ __forceinline__ void write(float *target, u64 stride, u32 count, VALUE &&value) const
    {
        if (count == DT_OCTET) {
#pragma unroll
            for (u32 j = 0; j < DT_OCTET; ++j) *target = value(j, signs >> j & 1), target += stride;
        } else {
#pragma unroll
            for (u32 j = 0; j < DT_OCTET; ++j) {
                if (j < count) *target = value(j, signs >> j & 1);
                target += stride;
            }
        }
    }

    // Writes the squares, or in the last pass the distances.
    __device__ __forceinline__ void store(float *to, const isoline_dt_columns &job) const
    {
        const u32 p = home * DT_OCTET, count = min(job.length - p, DT_OCTET);
        const u64 stride = job.to_stride;
        const float outside = job.outside, inside = job.inside;
        float *target = to + p * stride;
        if (!job.last) {
            write(target, stride, count, [&](u32 j, u32 is_inside) {
                return __uint_as_float(__float_as_uint(best[j]) | is_inside << 31);
            });
        } else if (outside == -inside) {
            write(target, stride, count, [&](u32 j, u32 is_inside) {
                return __uint_as_float(__float_as_uint(__fmul_rn(dt_sqrt(best[j]), outside)) | is_inside << 31);
            });
        } else {
            write(target, stride, count, [&](u32 j, u32 is_inside) {
                const float factor = is_inside ? inside : outside;
                return factor == 0 ? 0.0f : __fmul_rn(dt_sqrt(best[j]), factor);
            });
        }
    }
};

// -------------------------------------------------------------------------- columns near a boundary, in 16-bit numbers

// If all weights are whole numbers, or a small power of two makes them so (`factor`, by which everything here is
// multiplied), all sums are whole numbers, and near a boundary they are small. Two of them fit a word, and one instruction
// adds and takes the minimum of both: a quarter of the instructions that floats need. That is so cheap that no points are
// searched: an octet examines the octets around itself, outwards, until no term is below the largest of its minima.
//
// An octet is packed in place: the memory of its pixels then holds four words of two pixels each (v outside, -1 - v inside)
// and a word with the lower bounds of the octet's values for pixels outside (low half) and inside (high half). Values and
// terms are clamped to DT_NEAR_CLAMP, which is too large to be part of a minimum.

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

// Makes the pairs of terms that columns of `octets` octets need. `zero` points to the pair of 0 steps.
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

// Compares the octet `there`, whose first pixel is a multiple of DT_OCTET pixels away, with the pixels of an octet. `pairs`
// begins seven terms before that of the pixel nearest to the octet's end. MIXED: the pixels are of both classes (`signs`
// has them as halves), otherwise all are of class `sign`.
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
            // It examines the octet itself, then the octets to the right and left. A mixed octet never reaches m = 2,
            // because each of its pixels is at most seven pixels from the other class.
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
        octet.store(to, job);
    }
}
