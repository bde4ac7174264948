// Distance, the passes along y and z: of each pixel p of a column the least of value(q) + term(|p - q|) over the column's
// pixels q, where value(q) is the squared distance so far if q is of p's class, else 0.
//
// Because the terms are convex, where the least is found never moves back as p moves on. A block holds C neighbouring
// columns in shared memory, cut into octets of eight pixels, and knows the least value of each octet, a lower bound.
//
//   1. Points: the first pixels of the octets, coarse to fine, FAN times as many each time. A point looks through the
//      octets between those where its two neighbours found theirs, and skips those whose bound is no better.
//   2. Octets: a thread computes eight pixels at once in registers, from the octets between where this octet's point and
//      the next one found theirs.
//
// Only columns of one class are ordered so strictly. What lies beyond the nearest pixel of the other class never counts,
// so of mixed columns a pixel's least lies in its run of pixels of one class or at the first pixel beyond: an octet more on
// either side. The sums are rounded, but never out of order, so no bound is wrong; where several octets have the same
// least sum, a point remembers the first and the last. Thus who looks where does not show in the result.
#pragma once
#include "common.cuh"

constexpr u32 DT_OCTET = 8;
constexpr u32 DT_FAN = 4;
constexpr float DT_FAR = __builtin_huge_valf();

// Strides are in floats.
struct isoline_dt_columns {
    const float *from;
    float *to;
    u64 from_stride, to_stride;    // from pixel to pixel along the column
    u64 from_line, to_line;        // from one sheet of columns to the next
    double weight;                 // of the axis: the square of its spacing
    u32 width, lines;              // columns of a sheet, and sheets
    u32 length;                    // pixels of a column
    u32 step;                      // octets from point to point: 1 but for columns in global memory
    float outside, inside;         // the last pass: what distances are multiplied by
    u32 last;
    u32 unused;
};

// Four times the squared distance along the axis to the near side of the pixel `steps` away, as the CPU has it.
__device__ __forceinline__ float dt_term(double weight, int steps)
{
    const float halves = fabsf(__int2float_rn(2 * steps)) - 1.0f;
    float term = __fmul_rn(halves, halves);
    if (weight != 1.0) term = __double2float_rn(__dmul_rn(weight, __dmul_rn(halves, halves)));
    return steps == 0 ? 0.0f : term;
}

// Where a point's least sums are: the first and the last octet.
struct NearPlaces {
    typedef u32 Word;    // columns in shared memory have less than 2^16 octets
    static __device__ __forceinline__ Word pack(u32 low, u32 high) { return low << 16 | high; }
    static __device__ __forceinline__ u32 low(Word w) { return w >> 16; }
    static __device__ __forceinline__ u32 high(Word w) { return w & 0xFFFF; }
};
struct FarPlaces {
    typedef uint2 Word;
    static __device__ __forceinline__ Word pack(u32 low, u32 high) { return make_uint2(low, high); }
    static __device__ __forceinline__ u32 low(Word w) { return w.x; }
    static __device__ __forceinline__ u32 high(Word w) { return w.y; }
};

// A column. Beyond its end pixels are of the last one's class and infinitely far. least(): of an octet of one class the
// least magnitude with that class' sign, of a mixed one 0.
template <u32 C>
struct NearColumn {
    typedef NearPlaces Places;
    const float *values, *leasts;
    __device__ __forceinline__ float at(u32 q) const { return values[q * C]; }
    __device__ __forceinline__ float least(u32 octet) const { return leasts[octet * C]; }
};

__device__ __forceinline__ float dt_least(const float *value)
{
    float least = DT_FAR;
    u32 any = 0, all = ALL_LANES;
#pragma unroll
    for (u32 i = 0; i < DT_OCTET; ++i) {
        least = fminf(least, fabsf(value[i]));
        any |= __float_as_uint(value[i]), all &= __float_as_uint(value[i]);
    }
    return (any ^ all) >> 31 ? 0.0f : __uint_as_float(__float_as_uint(least) | (any & 1u << 31));
}

// A column too long for shared memory.
struct FarColumn {
    typedef FarPlaces Places;
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
        return dt_least(value);
    }
};

// term(|steps|), from a table that has one entry for each sign, or computed.
struct TermTable {
    const float *zero;
    __device__ __forceinline__ float operator()(int steps) const { return zero[steps]; }
};
struct TermFunction {
    double weight;
    __device__ __forceinline__ float operator()(int steps) const { return dt_term(weight, steps); }
};

// What a value is worth to a pixel of class `sign`.
__device__ __forceinline__ float dt_worth(float value, float sign) { return fmaxf(__fmul_rn(value, sign), 0.0f); }

struct Found {
    float best;
    u32 low, high;
};

// The least sum of the first pixel of octet `home`, and where it is, among the octets first..last and what is `found`.
template <typename COLUMN, typename TERMS>
__device__ __forceinline__ void dt_search(const COLUMN &column, const TERMS &terms, u32 home, float sign, u32 first,
                                          u32 last, Found &found)
{
    const u32 middle = first + (last - first) / 2;
    const auto look = [&](u32 octet) {
        const int steps = static_cast<int>(octet - home) * static_cast<int>(DT_OCTET);
        float least = DT_FAR;
#pragma unroll
        for (u32 i = 0; i < DT_OCTET; ++i) {
            const float worth = dt_worth(column.at(octet * DT_OCTET + i), sign);
            least = fminf(least, __fadd_rn(worth, terms(steps + static_cast<int>(i))));
        }
        if (least < found.best) found.low = found.high = octet;
        if (least == found.best) found.low = min(found.low, octet), found.high = max(found.high, octet);
        found.best = fminf(found.best, least);
    };
    if (first <= last) look(middle);
    for (u32 octet = first;; ++octet) {
        // Each lane skips to its next octet, then all look.
        for (; octet <= last; ++octet) {
            const int steps = static_cast<int>(octet - home) * static_cast<int>(DT_OCTET);
            const int nearest = max(steps, -steps - static_cast<int>(DT_OCTET - 1));
            const float bound = __fadd_rn(dt_worth(column.least(octet), sign), terms(nearest));
            if (octet != middle && bound <= found.best && bound < DT_FAR) break;
        }
        if (octet > last) break;
        look(octet);
    }
}

// The pixels of octet `home` against those of octet `other`. MIXED: of either class (`signs`: bit j set if pixel j is
// inside); else all of class `sign`.
template <bool MIXED, typename COLUMN, typename TERMS>
__device__ __forceinline__ void dt_octets(const COLUMN &column, const TERMS &terms, u32 home, u32 other, float sign,
                                          u32 signs, float (&best)[DT_OCTET])
{
    const int steps = static_cast<int>(other - home) * static_cast<int>(DT_OCTET);
    float outside[DT_OCTET], inside[DT_OCTET];
#pragma unroll
    for (u32 i = 0; i < DT_OCTET; ++i) {
        const float value = column.at(other * DT_OCTET + i);
        if (MIXED) outside[i] = fmaxf(value, 0.0f), inside[i] = fmaxf(-value, 0.0f);
        else outside[i] = dt_worth(value, sign);
    }
#pragma unroll
    for (int d = 1 - static_cast<int>(DT_OCTET); d < static_cast<int>(DT_OCTET); ++d) {
        const float term = terms(steps + d);
#pragma unroll
        for (int j = 0; j < static_cast<int>(DT_OCTET); ++j) {
            const int i = j + d;
            if (i < 0 || i >= static_cast<int>(DT_OCTET)) continue;
            const float worth = MIXED && (signs >> j & 1) ? inside[i] : outside[i];
            best[j] = fminf(best[j], __fadd_rn(worth, term));
        }
    }
}

template <u32 C, bool TABLE, bool FAR>
__device__ __forceinline__ void columns_kernel(const isoline_dt_columns &job)
{
    using COLUMN = typename std::conditional<FAR, FarColumn, NearColumn<C>>::type;
    using TERMS = typename std::conditional<TABLE, TermTable, TermFunction>::type;
    using PLACES = typename COLUMN::Places;
    using WORD = typename PLACES::Word;
    extern __shared__ float4 dt_shared[];
    const u32 length = job.length, step = job.step;
    const u32 octets = (length + DT_OCTET - 1) / DT_OCTET;
    const u32 intervals = (octets + step - 1) / step;    // points are 0 .. intervals, the last beyond the column's end
    const u32 c = threadIdx.x % C, r = threadIdx.x / C, threads = blockDim.x / C;
    const u32 x = blockIdx.x * C + c;
    const bool is_column = x < job.width;

    // Shared memory: partial results, a point's places, and unless FAR the terms, octets' least values and the columns.
    Found *const partial = reinterpret_cast<Found *>(dt_shared);
    WORD *const places = reinterpret_cast<WORD *>(partial + blockDim.x) + c;
    float *const table = reinterpret_cast<float *>(places - c + (intervals + 1) * C);
    const u32 reach = (octets + 1) * DT_OCTET;    // terms of -reach .. reach - 1
    float *const leasts = table + (TABLE ? 2 * reach : 0) + c;
    float *const values = leasts + octets * C;
    TERMS terms;
    if constexpr (TABLE) {
        for (u32 i = threadIdx.x; i < 2 * reach; i += blockDim.x)
            table[i] = dt_term(job.weight, static_cast<int>(i) - static_cast<int>(reach));
        terms.zero = table + reach;
    } else {
        terms.weight = job.weight;
    }
    const float nearest = dt_term(job.weight, 1);

    for (u64 line = blockIdx.y; line < job.lines; line += gridDim.y) {
        const float *const from = job.from + line * job.from_line + min(x, job.width - 1);
        float *const to = job.to + line * job.to_line + x;

        // 1. The columns. Those beyond the width get values that cost no time.
        bool all_outside = true, all_inside = true;
        for (u32 octet = r; octet < octets; octet += threads) {
            const u32 q = octet * DT_OCTET;
            const float *source = from + q * job.from_stride;
            float value[DT_OCTET];
#pragma unroll
            for (u32 i = 0; i < DT_OCTET; ++i) {
                if (q + i < length) value[i] = *source, source += job.from_stride;
                else value[i] = copysignf(DT_FAR, value[i == 0 ? 0 : i - 1]);
            }
#pragma unroll
            for (u32 i = 0; i < DT_OCTET; ++i) {
                all_outside &= value[i] == DT_FAR, all_inside &= value[i] == -DT_FAR;
                if (!FAR && !is_column) value[i] = nearest;
                if (!FAR) values[(q + i) * C] = value[i];
            }
            if (!FAR) leasts[octet * C] = dt_least(value);
        }
        const bool outside = __syncthreads_and(all_outside), inside = __syncthreads_and(all_inside);
        if (outside || inside) {
            const float factor = outside ? job.outside : job.inside;
            float value = outside ? DT_FAR : -DT_FAR;
            if (job.last) value = factor == 0 ? 0.0f : factor * DT_FAR;
            if (is_column && (job.last || job.from != job.to))
                for (u32 q = r; q < length; q += threads) to[q * job.to_stride] = value;
            continue;
        }
        COLUMN column;
        column.values = FAR ? from : values;
        if constexpr (FAR) column.stride = job.from_stride, column.length = length;
        else column.leasts = leasts;

        // 2. The points, level by level, `spacing` apart; first the two ends.
        u32 spacing = 1;
        while (spacing * DT_FAN < intervals) spacing *= DT_FAN;
        for (bool top = true;; top = false) {
            const u32 points = top ? 2 : (intervals - 1) / spacing;
            u32 parts = 1;    // threads that share a point
            while (points > 0 && points * parts * 2 <= threads) parts *= 2;
            for (u32 item = r; item < points * parts; item += threads) {
                const u32 which = item / parts, part = item % parts;
                const u32 k = top ? which * intervals : (which + 1) * spacing;
                const u32 wide = spacing * DT_FAN;
                if (!top && k % wide == 0) continue;    // of a level before
                const u32 home = min(k * step, octets);
                const float own = column.at(min(home * DT_OCTET, length - 1)), sign = copysignf(1.0f, own);
                const u32 here = min(home, octets - 1);
                Found found = {home < octets ? fabsf(own) : DT_FAR, here, here};
                u32 first = 0, last = octets - 1;
                if (!top) {
                    first = PLACES::low(places[k / wide * wide * C]);
                    last = PLACES::high(places[min(k / wide * wide + wide, intervals) * C]);
                    first = first > 0 ? first - 1 : 0, last = min(last + 1, octets - 1);
                }
                if (parts > 1) {
                    const u32 share = (last - first + parts) / parts;
                    first += part * share;
                    last = min(last, first + share - 1);
                }
                dt_search(column, terms, home, sign, first, last, found);
                if (parts > 1) partial[threadIdx.x] = found;
                else places[k * C] = PLACES::pack(found.low, found.high);
            }
            if (parts > 1) {
                __syncthreads();
                const u32 k = top ? r * intervals : (r + 1) * spacing;
                if (r < points && (top || k % (spacing * DT_FAN) != 0)) {
                    Found found = partial[r * parts * C + c];
                    for (u32 part = 1; part < parts; ++part) {
                        const Found other = partial[(r * parts + part) * C + c];
                        if (other.best < found.best) found = other;
                        if (other.best == found.best)
                            found.low = min(found.low, other.low), found.high = max(found.high, other.high);
                    }
                    places[k * C] = PLACES::pack(found.low, found.high);
                }
            }
            __syncthreads();
            if (top) continue;
            if (spacing == 1) break;
            spacing /= DT_FAN;
        }

        // 3. The octets.
        for (u32 home = r; home < octets; home += threads) {
            const u32 p = home * DT_OCTET, k = home / step;
            u32 first = PLACES::low(places[k * C]), last = PLACES::high(places[min(k + 1, intervals) * C]);
            float best[DT_OCTET], most = 0;
            u32 signs = 0;
#pragma unroll
            for (u32 j = 0; j < DT_OCTET; ++j) {
                const float own = column.at(p + j);
                best[j] = fabsf(own);
                signs |= __float_as_uint(own) >> 31 << j;
                if (p + j < length) most = fmaxf(most, best[j]);
            }
            const bool mixed = signs != 0 && signs != (1u << DT_OCTET) - 1;
            const float sign = signs & 1 ? -1.0f : 1.0f;
            const bool same = step == 1 && copysignf(1.0f, column.at(min(p + DT_OCTET, length - 1))) == sign;
            if (mixed || !same) first = first > 0 ? first - 1 : 0, last = min(last + 1, octets - 1);
            if (most > nearest) {
                const bool any_mixed = __any_sync(__activemask(), mixed);
                u32 done = mixed ? home : last;
                u32 other = done;
                for (bool begun = false;; begun = true) {
                    if (begun) {
                        // Each lane skips to its next octet, then all compute.
                        for (; other <= last; ++other) {
                            const int steps = static_cast<int>(other - home) * static_cast<int>(DT_OCTET);
                            float bound = terms(max(abs(steps) - static_cast<int>(DT_OCTET - 1), 0));
                            if (!mixed) bound = __fadd_rn(bound, dt_worth(column.least(other), sign));
                            if (other != done && bound < most) break;
                        }
                        if (other > last) break;
                    }
                    if (any_mixed) dt_octets<true>(column, terms, home, other, sign, signs, best);
                    else dt_octets<false>(column, terms, home, other, sign, signs, best);
                    most = 0;
#pragma unroll
                    for (u32 j = 0; j < DT_OCTET; ++j)
                        if (p + j < length) most = fmaxf(most, best[j]);
                    other = begun ? other + 1 : first;
                }
            }
            float *target = to + p * job.to_stride;
#pragma unroll
            for (u32 j = 0; j < DT_OCTET; ++j) {
                const bool is_inside = signs >> j & 1;
                float value = is_inside ? -best[j] : best[j];
                if (job.last) {
                    const float factor = is_inside ? job.inside : job.outside;
                    value = factor == 0 ? 0.0f : __fmul_rn(__fsqrt_rn(best[j]), factor);
                }
                if (is_column && p + j < length) *target = value;
                target += job.to_stride;
            }
        }
        __syncthreads();
    }
}
