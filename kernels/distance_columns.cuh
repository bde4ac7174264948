// Distance, the passes along y and z: of each pixel p of a column the least of value(q) + term(|p - q|) over the column's
// pixels q, where value(q) is the squared distance so far if q is of p's class, else 0.
//
// Because the terms are convex, where the least is found never moves back as p moves on. A block holds C neighbouring
// columns in shared memory, cut into octets of eight pixels, and knows the least value of each octet, a lower bound.
//
//   1. Points: the first pixels of the octets, coarse to fine, FAN times as many each time. A point looks through the
//      octets between those where its two neighbours found theirs, and skips those whose bound is no better.
//      Where almost all pixels know a boundary within DT_REACH pixels, points cost more than they save: octets look around
//      themselves, as far as a term is below the largest of their values.
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
constexpr u32 DT_QUAD = 4;    // half of one
constexpr u32 DT_FAN_BITS = 2, DT_FAN = 1 << DT_FAN_BITS;
constexpr u32 DT_WIDE = 48;    // quads that are too many for one thread
constexpr u32 DT_TEAMS = 4;    // of a column's threads, for wide octets
constexpr u32 DT_TEAM = 16;    // threads of a team at least
constexpr int DT_REACH = 48;   // pixels that an octet looks around itself without points
constexpr int DT_RARE = 64;    // of so many threads one may have further to look
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
    u32 step_bits;                 // octets from point to point, as a power of two: 1 but for columns in global memory
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

// Where a point's least sums are: the first and the last quad.
struct NearPlaces {
    typedef u32 Word;    // columns in shared memory have less than 2^16 quads
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

// term(|steps|), from a table that has one entry for each sign, or computed. get(): N of them, from a multiple of four on.
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

// What a value is worth to a pixel of class `sign`.
__device__ __forceinline__ float dt_worth(float value, float sign) { return fmaxf(__fmul_rn(value, sign), 0.0f); }

struct Found {
    float best;
    u32 low, high;    // quads
};

// The least sum of the first pixel of octet `home`, and where it is, among the octets first..last and what is `found`.
template <typename COLUMN, typename TERMS>
__device__ __forceinline__ void dt_search(const COLUMN &column, const TERMS &terms, u32 home, float sign, u32 first,
                                          u32 last, Found &found)
{
    const auto look = [&](u32 octet) {
        float term[DT_OCTET], least[2] = {DT_FAR, DT_FAR};
        terms.get(static_cast<int>(octet - home) * static_cast<int>(DT_OCTET), term);
#pragma unroll
        for (u32 i = 0; i < DT_OCTET; ++i) {
            const float worth = dt_worth(column.at(octet * DT_OCTET + i), sign);
            least[i / DT_QUAD] = fminf(least[i / DT_QUAD], __fadd_rn(worth, term[i]));
        }
        const float better = fminf(least[0], least[1]);
        if (better <= found.best && better < DT_FAR) {
            const u32 low = octet * 2 + (least[0] > better), high = octet * 2 + (least[1] == better);
            const bool same = better == found.best;
            found.low = same ? min(found.low, low) : low;
            found.high = same ? max(found.high, high) : high;
            found.best = better;
        }
    };
    const u32 middle = first + (last - first) / 2;
    if (first <= last) look(middle);
    for (u32 octet = first;; ++octet) {
        // Each lane skips to its next octet, then all look.
        int steps = static_cast<int>(octet - home) * static_cast<int>(DT_OCTET);
        const float limit = fminf(found.best, __uint_as_float(0x7F7FFFFF));    // never what is infinite
        for (; octet <= last; ++octet, steps += DT_OCTET) {
            const int nearest = max(steps, -steps - static_cast<int>(DT_OCTET - 1));
            const float bound = __fadd_rn(dt_worth(column.least(octet), sign), terms(nearest));
            if (bound <= limit && octet != middle) break;
        }
        if (octet > last) break;
        look(octet);
    }
}

// The pixels of octet `home` against those of the quad `other`. MIXED: of either class (`signs`: bit j set if pixel j is
// inside); else all of class `sign`.
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
        else outside[i] = dt_worth(value, sign);
    }
#pragma unroll
    for (int i = 0; i < QUAD; ++i) {
#pragma unroll
        for (int j = 0; j < OCTET; ++j) {
            const float worth = MIXED && (signs >> j & 1) ? inside[i] : outside[i];
            best[j] = fminf(best[j], __fadd_rn(worth, term[OCTET + i - j]));
        }
    }
}

// The root, rounded once, of a number of at least 1. (The library's checks for numbers that do not occur here.)
__device__ __forceinline__ float dt_root(float square)
{
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(square));
    const float root = __fmul_rn(square, inverse);
    const float better = __fmaf_rn(__fmaf_rn(-root, root, square), __fmul_rn(0.5f, inverse), root);
    return square == DT_FAR ? DT_FAR : better;
}

// Eight pixels of a column.
struct Octet {
    u32 home, first, last;    // which, and the quads where its pixels' least sums are
    u32 signs;                // bit j is set if pixel j is inside
    bool mixed;
    float sign;               // of a uniform one
    float best[DT_OCTET], most;

    __device__ __forceinline__ void find_most()
    {
        most = 0;
#pragma unroll
        for (u32 j = 0; j < DT_OCTET; ++j) most = fmaxf(most, best[j]);
    }

    // Beyond these quads all terms are at least `most`.
    __device__ __forceinline__ void look_around(const isoline_dt_columns &job, u32 octets)
    {
        const float square = fmaxf(__fdividef(most, static_cast<float>(job.weight)), 1.0f);
        float inverse;
        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(square));
        // term(n) = weight (2 n - 1)^2; the factor is for roundings.
        const float pixels = square == DT_FAR ? DT_FAR : __fmaf_rn(__fmul_rn(square, inverse), 0.50001f, 1.5f);
        const u32 p = home * DT_OCTET, reach = static_cast<u32>(fminf(pixels, 1e9f));
        first = (p > reach ? p - reach : 0) / DT_QUAD;
        last = min((p + DT_OCTET - 1 + reach) / DT_QUAD, 2 * octets - 1);
    }

    template <typename COLUMN, typename WORD>
    __device__ __forceinline__ void prepare(const COLUMN &column, const WORD *places, const isoline_dt_columns &job,
                                            u32 octets, u32 intervals, u32 pitch, bool direct)
    {
        using PLACES = typename COLUMN::Places;
        const u32 p = home * DT_OCTET, k = home >> job.step_bits;
        if (!direct) first = PLACES::low(places[k * pitch]), last = PLACES::high(places[min(k + 1, intervals) * pitch]);
        signs = 0;
#pragma unroll
        for (u32 j = 0; j < DT_OCTET; ++j) {
            const float own = column.at(p + j);
            best[j] = fabsf(own);
            signs |= (__float_as_uint(own) & 1u << 31) >> (31 - j);
        }
        if (p + DT_OCTET > job.length) {    // what is beyond the end never keeps a thread busy
#pragma unroll
            for (u32 j = 0; j < DT_OCTET; ++j) best[j] = p + j < job.length ? best[j] : 0.0f;
        }
        find_most();
        mixed = signs != 0 && signs != (1u << DT_OCTET) - 1;
        sign = signs & 1 ? -1.0f : 1.0f;
        if (direct) {
            look_around(job, octets);
            return;
        }
        // A pixel more on either side unless all up to the next point are of one class; it may be in the next quad.
        const bool same = job.step_bits == 0 && copysignf(1.0f, column.at(min(p + DT_OCTET, job.length - 1))) == sign;
        if (mixed || !same) first = first > 0 ? first - 1 : 0, last = min(last + 1, 2 * octets - 1);
    }

    // Writes what `value(j, is_inside)` gives of each pixel.
    template <typename VALUE>
    __device__ __forceinline__ void write(float *target, u64 stride, u32 count, VALUE &&value) const
    {
#pragma unroll
        for (u32 j = 0; j < DT_OCTET; ++j) {
            if (j < count) *target = value(j, signs >> j & 1);
            target += stride;
        }
    }

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
                return __uint_as_float(__float_as_uint(__fmul_rn(dt_root(best[j]), outside)) | is_inside << 31);
            });
        } else {
            write(target, stride, count, [&](u32 j, u32 is_inside) {
                const float factor = is_inside ? inside : outside;
                return factor == 0 ? 0.0f : __fmul_rn(dt_root(best[j]), factor);
            });
        }
    }
};

template <u32 C, bool TABLE, bool FAR>
__device__ __forceinline__ void columns_kernel(const isoline_dt_columns &job)
{
    using COLUMN = typename std::conditional<FAR, FarColumn, NearColumn<C>>::type;
    using TERMS = typename std::conditional<TABLE, TermTable, TermFunction>::type;
    using PLACES = typename COLUMN::Places;
    using WORD = typename PLACES::Word;
    extern __shared__ float4 dt_shared[];
    const u32 length = job.length, step_bits = job.step_bits;
    const u32 octets = (length + DT_OCTET - 1) / DT_OCTET;
    const u32 intervals = (octets + (1u << step_bits) - 1) >> step_bits;    // points are 0 .. intervals, the last beyond the column's end
    const u32 c = threadIdx.x % C, r = threadIdx.x / C, threads = blockDim.x / C;
    const u32 x = blockIdx.x * C + c;
    const bool is_column = x < job.width;

    // Shared memory: the terms if there is a table, partial results, points' places, and unless FAR octets' least values
    // and the columns.
    const u32 reach = (octets + 1) * DT_OCTET;    // terms of -reach .. reach - 1
    float *const table = reinterpret_cast<float *>(dt_shared);
    Found *const partial = reinterpret_cast<Found *>(table + (TABLE ? 2 * reach : 0));
    WORD *const places = reinterpret_cast<WORD *>(partial + blockDim.x) + c;
    // In place of the partial results: how many wide octets there are, a result of each team, and which they are.
    u32 *const list = reinterpret_cast<u32 *>(partial) + c;
    const u32 teams = threads >= DT_TEAMS * DT_TEAM ? DT_TEAMS : 1, entries = 1 + teams * DT_OCTET;
    const u32 words = threads * (sizeof(Found) / sizeof(u32)), room = words > entries ? words - entries : 0;
    float *const leasts = reinterpret_cast<float *>(places - c + (intervals + 1) * C) + c;
    float *const values = leasts + octets * C;
    TERMS terms;
    if constexpr (TABLE) {
        for (u32 i = threadIdx.x; i < 2 * reach; i += blockDim.x)
            table[i] = dt_term(job.weight, static_cast<int>(i) - static_cast<int>(reach));
        terms.zero = table + reach;
    } else {
        terms.weight = job.weight;
    }
    const float nearest = dt_term(job.weight, 1), reach_term = dt_term(job.weight, DT_REACH);

    for (u64 line = blockIdx.y; line < job.lines; line += gridDim.y) {
        const float *const from = job.from + line * job.from_line + min(x, job.width - 1);
        float *const to = job.to + line * job.to_line + x;

        // 1. The columns. Those beyond the width get values that cost no time.
        bool all_outside = true, all_inside = true, far = false;
        for (u32 octet = r; octet < octets; octet += threads) {
            const u32 q = octet * DT_OCTET, there = min(length - q, DT_OCTET);
            const float *source = from + q * job.from_stride;
            float value[DT_OCTET];
            if (there == DT_OCTET) {
#pragma unroll
                for (u32 i = 0; i < DT_OCTET; ++i) value[i] = *source, source += job.from_stride;
            } else {
#pragma unroll
                for (u32 i = 0; i < DT_OCTET; ++i) {
                    value[i] = i < there ? *source : copysignf(DT_FAR, value[i == 0 ? 0 : i - 1]);
                    source += i + 1 < there ? job.from_stride : 0;
                }
            }
            float least = dt_least(value);
            float most = 0.0f;
#pragma unroll
            for (u32 i = 0; i < DT_OCTET; ++i) most = fmaxf(most, i < there ? fabsf(value[i]) : 0.0f);
            far |= is_column && !(most <= reach_term);
            all_outside &= least == DT_FAR, all_inside &= least == -DT_FAR;
            if (!FAR) {
#pragma unroll
                for (u32 i = 0; i < DT_OCTET; ++i) values[(q + i) * C] = is_column ? value[i] : nearest;
                leasts[octet * C] = is_column ? least : nearest;
            }
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

        const bool direct = !FAR && static_cast<u32>(__syncthreads_count(far)) * DT_RARE <= blockDim.x;

        // 2. The points, level by level, 1 << `bits` apart; first the two ends.
        u32 bits = 0;
        while (DT_FAN << bits < intervals) bits += DT_FAN_BITS;
        for (bool top = true; !direct; top = false) {
            // Those that are not of a level before: of every DT_FAN one is.
            const u32 points = top ? 2 : ((intervals - 1) >> bits) - ((intervals - 1) >> (bits + DT_FAN_BITS));
            const auto point = [&](u32 which) {
                return top ? which * intervals : (which / (DT_FAN - 1) * DT_FAN + which % (DT_FAN - 1) + 1) << bits;
            };
            u32 part_bits = 0;    // how many threads share a point, as a power of two
            while (points > 0 && points << (part_bits + 1) <= threads) ++part_bits;
            const u32 parts = 1 << part_bits;
            for (u32 item = r; item < points << part_bits; item += threads) {
                const u32 k = point(item >> part_bits), home = min(k << step_bits, octets);
                const float own = column.at(min(home * DT_OCTET, length - 1)), sign = copysignf(1.0f, own);
                const u32 here = min(home, octets - 1) * 2;
                Found found = {home < octets ? fabsf(own) : DT_FAR, here, here};
                u32 first = 0, last = octets - 1;
                if (!top) {
                    // One pixel more on either side, which may be an octet.
                    const u32 before = k >> (bits + DT_FAN_BITS) << (bits + DT_FAN_BITS);
                    first = PLACES::low(places[before * C]);
                    last = PLACES::high(places[min(before + (DT_FAN << bits), intervals) * C]);
                    first = (first > 0 ? first - 1 : 0) / 2, last = min((last + 1) / 2, octets - 1);
                }
                if (part_bits > 0) {
                    const u32 share = (last - first + parts) >> part_bits;
                    first += (item & (parts - 1)) * share;
                    last = min(last, first + share - 1);
                }
                dt_search(column, terms, home, sign, first, last, found);
                if (part_bits > 0) partial[threadIdx.x] = found;
                else places[k * C] = PLACES::pack(found.low, found.high);
            }
            if (part_bits > 0) {
                __syncthreads();
                if (r < points) {
                    Found found = partial[(r << part_bits) * C + c];
#pragma unroll 1
                    for (u32 part = 1; part < parts; ++part) {
                        const Found other = partial[((r << part_bits) + part) * C + c];
                        if (other.best < found.best) found = other;
                        if (other.best == found.best)
                            found.low = min(found.low, other.low), found.high = max(found.high, other.high);
                    }
                    places[point(r) * C] = PLACES::pack(found.low, found.high);
                }
            }
            __syncthreads();
            if (top) continue;
            if (bits == 0) break;
            bits -= DT_FAN_BITS;
        }
        if (r == 0) list[0] = 0;
        __syncthreads();

        // 3. The octets.
        Octet octet;
        for (octet.home = r; octet.home < octets; octet.home += threads) {
            octet.prepare(column, places, job, octets, intervals, C, direct);
            if (octet.most > nearest) {
                if (octet.last - octet.first >= DT_WIDE && octet.last > octet.first) {
                    const u32 entry = atomicAdd(list, 1u);
                    if (entry < room) {
                        list[(entries + entry) * C] = octet.home;
                        continue;
                    }
                }
                const u32 home = octet.home, last = octet.last;
                const bool any_mixed = __any_sync(__activemask(), octet.mixed);
                const u32 done = octet.mixed || direct ? 2 * home : last;
                u32 other = done, turn = 0;
                for (bool begun = false;; begun = true) {
                    if (begun && direct) {
                        // From home outwards, right and left by turns, until no term is below the most.
                        for (;;) {
                            ++turn;
                            const u32 m = (turn + 1) / 2;
                            const bool right = turn & 1;
                            other = right ? 2 * home + m : 2 * home - m;
                            const int away = static_cast<int>(DT_QUAD * m) - static_cast<int>(right ? DT_OCTET - 1 : DT_QUAD - 1);
                            float bound = terms(max(away, 0));
                            if (bound >= octet.most || m > 2 * octets) {
                                other = last + 1;
                                break;
                            }
                            if (other >= 2 * octets) continue;    // also what is left of 0
                            if (!octet.mixed) bound = __fadd_rn(bound, dt_worth(column.least(other / 2), octet.sign));
                            if (bound < octet.most) break;
                        }
                        if (other > last) break;
                    } else if (begun) {
                        // Each lane skips to its next quad, then all compute.
                        int steps = static_cast<int>(other) * static_cast<int>(DT_QUAD)
                                  - static_cast<int>(home) * static_cast<int>(DT_OCTET);
                        for (; other <= last; ++other, steps += DT_QUAD) {
                            const int away = max(steps - static_cast<int>(DT_OCTET - 1), -steps - static_cast<int>(DT_QUAD - 1));
                            float bound = terms(max(away, 0));
                            if (!octet.mixed) bound = __fadd_rn(bound, dt_worth(column.least(other / 2), octet.sign));
                            if (bound < octet.most && other != done) break;
                        }
                        if (other > last) break;
                    }
                    if (any_mixed) dt_octet<true>(column, terms, home, other, octet.sign, octet.signs, octet.best);
                    else dt_octet<false>(column, terms, home, other, octet.sign, octet.signs, octet.best);
                    octet.find_most();
                    if (!direct) other = begun ? other + 1 : octet.first;
                }
            }
            if (is_column) octet.store(to, job);
        }

        // 4. Octets that have many places to look at, by a team of their column's threads each.
        __syncthreads();
        const u32 wide = min(list[0], room), members = threads / teams, team = r / members, member = r % members;
        u32 *const result = list + (1 + team * DT_OCTET) * C;
        for (u32 i = team; __syncthreads_or(i < wide); i += teams) {
            if (i < wide) {
                for (u32 j = member; j < DT_OCTET; j += members) result[j * C] = __float_as_uint(DT_FAR);
                octet.home = list[(entries + i) * C];
                octet.prepare(column, places, job, octets, intervals, C, direct);
                for (u32 other = octet.first + member; other <= octet.last; other += members)
                    dt_octet<true>(column, terms, octet.home, other, octet.sign, octet.signs, octet.best);
            }
            __syncthreads();
            if (i < wide) {
#pragma unroll
                for (u32 j = 0; j < DT_OCTET; ++j) atomicMin(&result[j * C], __float_as_uint(octet.best[j]));
            }
            __syncthreads();
            if (i < wide && member == 0 && is_column) {
#pragma unroll
                for (u32 j = 0; j < DT_OCTET; ++j) octet.best[j] = __uint_as_float(result[j * C]);
                octet.store(to, job);
            }
        }
        __syncthreads();
    }
}
