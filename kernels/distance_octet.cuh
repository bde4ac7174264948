// Distance, the passes along y and z: eight pixels of a column, whose least sums a thread finds in registers.
#pragma once
#include "distance_search.cuh"

// Returns the root, rounded once, of a number of at least 1.
template <bool FINITE>
__device__ __forceinline__ float dt_sqrt(float square)
{
    const float better = sqrt_rn(square);
    return !FINITE && square == DT_FAR ? DT_FAR : better;
}

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

    // FINITE: no least sum is infinite.
    template <bool FINITE = false>
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
                return __uint_as_float(__float_as_uint(__fmul_rn(dt_sqrt<FINITE>(best[j]), outside)) | is_inside << 31);
            });
        } else {
            write(target, stride, count, [&](u32 j, u32 is_inside) {
                const float factor = is_inside ? inside : outside;
                return factor == 0 ? 0.0f : __fmul_rn(dt_sqrt<FINITE>(best[j]), factor);
            });
        }
    }
};
