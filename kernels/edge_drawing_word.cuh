// Edge drawing: the words of the working map, and what its kernels share.
#pragma once
#include "common.cuh"
#include "edge_drawing.h"

// A word of the working map holds what edge tracing needs of a pixel: top bit VERTICAL: a vertical edge passes (|gx| >=
//   |gy|) bits 2 .. top-1 the gradient magnitude |gx| + |gy|, 0 below the threshold bits 0 and 1 TRACED: the states (pixel,
//   minus heading) and (pixel, plus heading) have been traced, or another thread traces them. A pixel is only traced along
//   its edge direction, so two bits suffice for four headings: minus is left on a horizontal edge and up on a vertical one,
//   plus is right and down. Anchors have both bits set from the start: each has traces of its own. u8 images have words of
//   16 bits (a gradient magnitude of at most 2 * 16 * 255 = 8160), others of 32 (at most 2 * 16 * 65535).
template <typename WORD>
struct Word;
template <>
struct Word<unsigned short> {
    static constexpr u32 VERTICAL = 0x8000u, GRADIENT = 0x7FFCu;
};
template <>
struct Word<u32> {
    static constexpr u32 VERTICAL = 0x80000000u, GRADIENT = 0x7FFFFFFCu;
};

// Returns the arguments of one of the slices of a launch.
template <typename WORD>
__device__ __forceinline__ isoline_ed_job job_of_slice(isoline_ed_job job, u64 slice)
{
    job.pixels += slice * job.slice_stride;
    job.map = static_cast<WORD *>(job.map) + slice * job.map_pitch * job.height;
    const u64 words = slice * job.bit_pitch * job.height;
    if (job.edges) job.edges += slice * job.edge_slice_stride;
    if (job.bits) job.bits += words;
    if (job.pending) job.pending += words;
    if (job.next) job.next += slice * job.width * job.height;
    return job;
}

// Returns the index of the pixel at i of the image mirrored at the centres of its border pixels (reflect-101), for any i.
__device__ __forceinline__ int reflect(int i, int n)
{
    i = abs(i);
    if (i >= n) {
        const u32 period = max(2u * n - 2u, 1u);
        const int at = static_cast<u32>(i) % period;
        i = min(at, static_cast<int>(period) - at);   // n == 1: at is 0
    }
    return i;
}

// Converts a float pixel to an integer as the CPU does: NaN, and 0 times infinity, become 0.
__device__ __forceinline__ u32 quantise(float pixel, float half_minimum, float double_scale)
{
    constexpr float TOP = MAX_LEVEL, HALF = 0.5f;
    float scaled = __fmul_rn(__fsub_rn(__fmul_rn(HALF, pixel), half_minimum), double_scale);
    scaled = scaled > 0.0f ? fminf(scaled, TOP) : 0.0f;
    return static_cast<u32>(__fadd_rn(scaled, HALF));
}
