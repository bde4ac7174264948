// Distance, the passes along y and z. Each pixel p of a column gets the minimum of value(q) + term(|p - q|) over the
// column's pixels q; value(q) is the squared distance so far if q has p's class (inside or outside), else 0.
//
// Because the terms are convex, the position of the minimum never moves back as p moves on. A block holds C neighbouring
// columns in shared memory, divided into octets of eight pixels, with the least value of each octet as a lower bound for
// its sums.
//
//   1. Points: the first pixels of the octets, coarse to fine, FAN times as many on each level. A point examines the
//      octets between those where its two neighbours found their least sums, and skips those whose bound is no better.
//   2. Octets: a thread computes eight pixels at once in registers, from the octets between those where this octet's
//      point and the next one found their least sums.
//
// A point or an octet with much to examine (the centre of a disc is equally far from all of its border) would keep its
// block waiting: it is left to a whole warp once the other threads are done.
//
// Near a boundary (each octet has an octet with a small value at most a few octets away) levels of points cost more than
// they save. If the weights, or their products with 2, 4, 8 or 16, are whole numbers, distance_search.cuh processes such
// columns without points. With other weights, and if only few octets of a block are too far from a small value, each point
// searches outwards from itself until no term is below its minimum; all points at once, independently of each other.
//
// This order holds only among pixels of one class. But a pixel's minimum never lies beyond the nearest pixel of the other
// class, so it lies within the pixel's run of one class or at the first pixel beyond the run, and within a run the order
// holds. A mixed octet therefore examines itself, and the range from the position of its first pixel's minimum to the
// position of the next point's minimum if that point is in the run of the octet's last pixel; if not, to that point's quad.
// Points examine one octet more on either side, and octets one quad more where points are more than an octet apart.
// Rounding is monotonic, so no bound becomes wrong; if several octets have the same minimum, a point remembers the first
// and the last. So the result does not depend on the division of work in columns of up to some 4000 pixels. In longer
// columns rounded terms may be not quite convex, and the last bit of a square may differ from that of a search over all
// pairs; it is the same in every run.
#pragma once
#include "distance_search.cuh"
#include <cuda/std/type_traits>

// A block's columns, its shared memory, and the phases of the pass over them. Phases 1 to 4 follow each other in
// process(); all end with a barrier.
template <u32 C, bool TABLE, bool FAR>
struct ColumnBlock {
    using COLUMN = typename cuda::std::conditional<FAR, FarColumn, NearColumn<C>>::type;
    using TERMS = typename cuda::std::conditional<TABLE, TermTable, TermFunction>::type;
    using RESULTS = typename COLUMN::PointResults;
    using WORD = typename RESULTS::Word;
    // One in FAN points of a level was on the previous level. Long columns have a smaller FAN.
    static constexpr u32 FAN_BITS = C <= 8 && !FAR ? 3 : 2, FAN = 1 << FAN_BITS;

    const isoline_dt_columns &job;
    const u32 length, step_bits;
    const u32 octets, intervals;   // the points are 0 .. intervals; the last is beyond the column's end
    const u32 c, r, threads;       // this thread's column, its number in the column, and the threads of a column
    const u32 x;
    const bool is_column;          // false beyond the width
    // Shared memory: the terms if there is a table, a counter, partial results, the points' results, and unless FAR the
    // octets' least values and the columns.
    u32 *count;
    Found *partial;
    WORD *results;
    float *minima, *values;
    // The list of wide points or octets, in the memory of the partial results. The counter is never reset: it counts the
    // items of all lists so far, and `begin` is its value at the start of this list.
    u32 *list;
    u32 begin = 0;
    TERMS terms;
    float nearest;
    // Near a boundary each octet has one with a small value, at most `within` octets away.
    bool whole;
    float small;
    u32 within;
    u64 line;             // the sheet of columns in work
    const float *from;    // this thread's column there; beyond the width the last one again
    COLUMN column;

    __device__ __forceinline__ explicit ColumnBlock(const isoline_dt_columns &job, float *shared)
        : job(job), length(job.length), step_bits(job.step_bits), octets((length + DT_OCTET - 1) / DT_OCTET),
          intervals((octets + (1u << step_bits) - 1) >> step_bits), c(threadIdx.x % C), r(threadIdx.x / C),
          threads(blockDim.x / C), x(blockIdx.x * C + c), is_column(x < job.width)
    {
        const u32 reach = (octets + 1) * DT_OCTET;    // terms of -reach .. reach - 1
        count = reinterpret_cast<u32 *>(shared + (TABLE ? 2 * reach : 0));
        partial = reinterpret_cast<Found *>(count + DT_COUNT);
        results = reinterpret_cast<WORD *>(partial + blockDim.x) + c;
        list = reinterpret_cast<u32 *>(partial);
        minima = reinterpret_cast<float *>(results - c + (intervals + 1) * C) + c;
        values = minima + octets * C;
        if constexpr (TABLE) {
            for (u32 i = threadIdx.x; i < 2 * reach; i += blockDim.x)
                shared[i] = dt_term(job.weight, static_cast<int>(i) - static_cast<int>(reach));
            terms.zero = shared + reach;
        } else {
            terms.weight = job.weight;
        }
        if (threadIdx.x == 0) *count = 0;
        nearest = dt_term(job.weight, 1);
        whole = TABLE && job.near.factor > 0;
        small = whole ? job.near.small : dt_term(job.weight, DT_SMALL_DISTANCE);
        within = whole ? job.near.around : DT_SMALL_WITHIN;
    }

    // Returns where this thread's column is written.
    __device__ __forceinline__ float *to() const { return job.to + line * job.to_line + x; }

    // Loads one octet of the column; pixels beyond the end have the last pixel's class and an infinite value.
    __device__ __forceinline__ void load(u32 octet, float (&value)[DT_OCTET]) const
    {
        const u32 q = octet * DT_OCTET, there = min(length - q, DT_OCTET);
        const float *source = from + q * job.from_stride;
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
    }

    // Phase 1: loads the columns of a sheet. Columns without a pixel of the other class are written at once; returns
    // whether there are others. `alone`: this thread has loaded an octet without a small value.
    __device__ __forceinline__ bool load_columns(bool &alone)
    {
        bool all_outside = true, all_inside = true;
        alone = false;
        const auto keep = [&](u32 octet, const float (&value)[DT_OCTET]) {
            const float least = dt_min(value);
            alone |= !(fabsf(least) <= small);
            all_outside &= least == DT_FAR, all_inside &= least == -DT_FAR;
            if (!FAR) {
#pragma unroll
                for (u32 i = 0; i < DT_OCTET; ++i) values[(octet * DT_OCTET + i) * C] = value[i];
                minima[octet * C] = least;
            }
        };
        // Two octets at a time, so that more loads are in flight.
        for (u32 octet = r; octet < octets; octet += 2 * threads) {
            float value[2][DT_OCTET];
            load(octet, value[0]);
            if (octet + threads < octets) load(octet + threads, value[1]);
            keep(octet, value[0]);
            if (octet + threads < octets) keep(octet + threads, value[1]);
        }
        bool outside = false, inside = false;
        if (!__syncthreads_or(!all_outside && !all_inside))
            outside = __syncthreads_and(all_outside), inside = __syncthreads_and(all_inside);
        if (outside || inside) {
            const float factor = outside ? job.outside : job.inside;
            float value = outside ? DT_FAR : -DT_FAR;
            if (job.last) value = factor == 0 ? 0.0f : factor * DT_FAR;
            if (is_column && (job.last || job.from != job.to))
                for (u32 q = r; q < length; q += threads) to()[q * job.to_stride] = value;
            return false;
        }
        return true;
    }

    // Phase 2: processes the columns in 16-bit numbers if all of their octets are near a boundary; returns whether it
    // did. `search_around`: nearly all are near, so points search around themselves.
    __device__ __forceinline__ bool process_near(bool alone, bool &search_around)
    {
        bool is_stray = false;
        for (u32 octet = r; alone && !is_stray && octet < octets; octet += threads) {
            float least = DT_FAR;
            for (u32 o = octet - min(octet, within); o <= min(octet + within, octets - 1); ++o)
                least = fminf(least, fabsf(minima[o * C]));
            is_stray = !(least <= small);
        }
        // The pairs of terms are in the memory of the partial results.
        static_assert(DT_NEAR_TERMS * sizeof(u32) <= DT_MIN_THREADS * sizeof(Found), "");
        u32 *const pairs = reinterpret_cast<u32 *>(partial) + DT_NEAR_TERMS / 2;
        if (whole) dt_near_terms(pairs, job, octets);
        const u32 strays = static_cast<u32>(__syncthreads_count(is_stray));
        if constexpr (TABLE) {
            if (whole && strays == 0) {
                for (u32 octet = r; octet < octets; octet += threads)
                    dt_near_pack<C>(values + octet * DT_OCTET * C, minima[octet * C], job);
                __syncthreads();
                const u32 *const words = reinterpret_cast<const u32 *>(values);
                dt_near_column<C>(words, pairs, job, r, threads, octets, is_column, to());
                __syncthreads();
                return true;
            }
        }
        search_around = strays * DT_STRAY_SHARE <= blockDim.x;
        return false;
    }

    // Returns another column of this block.
    __device__ __forceinline__ COLUMN at_column(u32 other) const
    {
        COLUMN there = column;
        if constexpr (FAR) there.values = from - min(x, job.width - 1) + min(x - c + other, job.width - 1);
        else there.values = values - c + other, there.minima = minima - c + other;
        return there;
    }

    // Finds the octets that a point between two others examines.
    __device__ __forceinline__ void between(const WORD *point_results, u32 before, u32 after, u32 &first,
                                            u32 &last) const
    {
        // It examines one pixel more on either side, which may be in the next octet.
        first = RESULTS::low(point_results[before * C]);
        last = RESULTS::high(point_results[min(after, intervals) * C]);
        first = (first > 0 ? first - 1 : 0) / 2, last = min((last + 1) / 2, octets - 1);
    }

    // Returns the initial minimum of a point's search, and the class of the point.
    __device__ __forceinline__ Found start(const COLUMN &of, u32 home, float &sign) const
    {
        const float own = of.at(min(home * DT_OCTET, length - 1));
        sign = copysignf(1.0f, own);
        const u32 here = min(home, octets - 1) * 2;
        return Found{home < octets ? fabsf(own) : DT_FAR, here, here};
    }

    // Leaves a point or an octet to a warp; returns false if the list is full.
    __device__ __forceinline__ bool leave(u32 item)
    {
        const u32 entry = atomicAdd(count, 1u) - begin;
        if (entry < room()) list[entry] = item * C + c;
        return entry < room();
    }

    static __device__ __forceinline__ u32 room() { return blockDim.x * (sizeof(Found) / sizeof(u32)); }

    // Returns the number of items in the list, and starts a new list.
    __device__ __forceinline__ u32 take_list()
    {
        const u32 all = *count, wide = min(all - begin, room());
        begin = all;
        return wide;
    }

    // The points of a level that were not on a previous level. The level's points are 1 << `bits` apart; the first level
    // also has both ends.
    struct Level {
        bool top;
        u32 bits, points, intervals;
        __device__ __forceinline__ u32 point(u32 which) const
        {
            if (top) return min(which << bits, intervals);
            return (which / (FAN - 1) * FAN + which % (FAN - 1) + 1) << bits;
        }
    };
    // Finds the octets that a point of a level examines.
    __device__ __forceinline__ void range(const Level &level, const WORD *point_results, u32 k, u32 &first,
                                          u32 &last) const
    {
        first = 0, last = octets - 1;
        const u32 before = k >> (level.bits + FAN_BITS) << (level.bits + FAN_BITS);
        if (!level.top) between(point_results, before, before + (FAN << level.bits), first, last);
    }

    // Finds the minima of a level's points; returns whether this thread left some points to a warp. If there are fewer
    // points than threads, several threads share a point.
    __device__ __forceinline__ bool search_level(const Level &level)
    {
        const u32 points = level.points, parts = max(threads / max(points, 1), 1);
        bool left = false;
        for (u32 item = r; item < points * parts; item += threads) {
            const u32 k = level.point(parts > 1 ? item % points : item), home = min(k << step_bits, octets);
            u32 first, last;
            range(level, results, k, first, last);
            if (parts > 1) {
                const u32 share = (last - first + parts) / parts;
                first += item / points * share;
                last = min(last, first + share - 1);
            } else if (last > first && last - first >= DT_WIDE_POINT && leave(k)) {
                left = true;
                continue;
            }
            float sign;
            Found found = start(column, home, sign);
            dt_search(column, terms, home, sign, first, last, found);
            if (parts > 1) partial[threadIdx.x] = found;
            else results[k * C] = RESULTS::pack(found.low, found.high);
        }
        if (parts > 1) {
            __syncthreads();
            if (r < points) {
                Found found = partial[r * C + c];
#pragma unroll 1
                for (u32 part = 1; part < parts; ++part) {
                    const Found other = partial[(part * points + r) * C + c];
                    found.consider(other.best, other.low, other.high);
                }
                results[level.point(r) * C] = RESULTS::pack(found.low, found.high);
            }
        }
        return left;
    }

    // Finds the minima of the points that have many octets to examine, a warp for each.
    __device__ __forceinline__ void search_wide_points(const Level &level)
    {
        const u32 wide = take_list();
        for (u32 i = threadIdx.x / WARP; i < wide; i += blockDim.x / WARP) {
            const u32 k = list[i] / C, home = min(k << step_bits, octets);
            const COLUMN of = at_column(list[i] % C);
            WORD *const point_results = results - c + list[i] % C;
            u32 first, last;
            range(level, point_results, k, first, last);
            float sign;
            Found found = start(of, home, sign);
            dt_search_all(of, terms, home, sign, first, last, found);
            if (threadIdx.x % WARP == 0) point_results[k * C] = RESULTS::pack(found.low, found.high);
        }
        __syncthreads();
    }

    // Phase 3: the points, level by level; first both ends and the points that are furthest apart.
    __device__ __forceinline__ void search_points()
    {
        u32 bits = 0;
        while (FAN << bits < intervals) bits += FAN_BITS;
        for (bool top = true;; top = false, bits -= FAN_BITS) {
            const u32 spans = (intervals - 1) >> bits;
            const Level level{top, bits, top ? spans + 2 : spans - (spans >> FAN_BITS), intervals};
            if (__syncthreads_or(search_level(level))) search_wide_points(level);
            if (bits == 0) break;
        }
    }

    // Instead of phase 3, near a boundary: each point searches around itself.
    __device__ __forceinline__ void search_points_around()
    {
        for (u32 k = r; k <= intervals; k += threads) {
            Found found{DT_FAR, 0, 2 * octets - 1};
            if (k < intervals) {
                float sign;
                found = start(column, k, sign);
                dt_search_around(column, terms, k, sign, octets, found);
            }
            results[k * C] = RESULTS::pack(found.low, found.high);
        }
        __syncthreads();
    }

    // Finds the least sums of an octet from its quads first..last.
    __device__ __forceinline__ void search_octet(Octet &octet) const
    {
        // The search starts at quads where small sums are likely: both quads of a mixed octet, else the last quad of the
        // range.
        const u32 home = octet.home, last = octet.last, more = octet.mixed, start_quad = more ? 2 * home : last;
        u32 other = start_quad;
        for (u32 pass = 0;; ++pass) {
            if (pass > more) {
                // Each lane skips to its next quad, then all compute.
                int steps = static_cast<int>(other) * static_cast<int>(DT_QUAD)
                          - static_cast<int>(home) * static_cast<int>(DT_OCTET);
                for (; other <= last; ++other, steps += DT_QUAD) {
                    const int away = max(steps - static_cast<int>(DT_OCTET - 1),
                                         -steps - static_cast<int>(DT_QUAD - 1));
                    float bound = terms(max(away, 0));
                    if (!octet.mixed) bound = dt_sum(column.least(other / 2), octet.sign, bound);
                    if (bound < octet.largest && other - start_quad > more) break;
                }
                if (other > last) break;
            }
            const auto look = [&](auto mixed) {
                dt_octet<mixed.value>(column, terms, home, other, octet.sign, octet.signs, octet.best);
            };
            if (__any_sync(__activemask(), octet.mixed)) look(cuda::std::true_type());
            else look(cuda::std::false_type());
            octet.find_max();
            other = pass == more ? octet.first : other + 1;
        }
    }

    // Phase 4: the octets, then those that have many quads to examine, a warp each.
    __device__ __forceinline__ void process_octets()
    {
        Octet octet;
        for (octet.home = r; octet.home < octets; octet.home += threads) {
            octet.prepare(column, results, job, octets, intervals, C);
            if (octet.largest > nearest) {
                if (octet.last - octet.first >= DT_WIDE && octet.last > octet.first && leave(octet.home)) continue;
                search_octet(octet);
            }
            if (is_column) octet.store(to(), job);
        }
        __syncthreads();
        const u32 wide = take_list();
        for (u32 i = threadIdx.x / WARP; i < wide; i += blockDim.x / WARP) {
            const u32 other = list[i] % C;
            const COLUMN of = at_column(other);
            octet.home = list[i] / C;
            octet.prepare(of, results - c + other, job, octets, intervals, C);
            octet.examine_all(of, terms);
            if (threadIdx.x % WARP == 0 && x - c + other < job.width) octet.store(to() - c + other, job);
        }
        __syncthreads();
    }

    // Processes the columns of one sheet, phase by phase.
    __device__ __forceinline__ void process(u64 sheet)
    {
        line = sheet;
        from = job.from + line * job.from_line + min(x, job.width - 1);
        bool alone, search_around = false;
        if (!load_columns(alone)) return;
        if constexpr (!FAR)
            if (process_near(alone, search_around)) return;
        column.values = FAR ? from : values;
        if constexpr (FAR) column.stride = job.from_stride, column.length = job.length;
        else column.minima = minima;
        if (search_around) search_points_around();
        else search_points();
        process_octets();
    }
};

template <u32 C, bool TABLE, bool FAR>
__device__ __forceinline__ void columns_kernel(const isoline_dt_columns &job)
{
    extern __shared__ float4 dt_shared[];
    ColumnBlock<C, TABLE, FAR> block(job, reinterpret_cast<float *>(dt_shared));
    for (u64 line = blockIdx.y; line < job.lines; line += gridDim.y) block.process(line);
}
