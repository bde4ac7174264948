// Shared by all kernels of the library: fixed-width names, image borders, bit masks, vector accesses, early launches.
//
// Rounding is part of the contract: the CPU path must give the same bits. Arithmetic that reaches a result is therefore
// written with the _rn intrinsics, and the files are compiled with -fmad=false.
#pragma once

#include "common.h"

// Asynchronous copies from global to shared memory need no register, and complete in the order of their groups. A thread
// that reads only its own copies needs no barrier, only __pipeline_wait_prior(). Copies of 16 bytes bypass the L1 cache,
// which saves its data path a write and a read. Volta and Turing have no asynchronous copies and copy synchronously.
#include <cuda_pipeline_primitives.h>
#include <cuda/std/limits>
#include <cuda/std/type_traits>

constexpr u32 ALL_LANES = 0xFFFFFFFFu;

// Returns the mirrored index: ... 2 1 0 | 0 1 2 ... n-1 | n-1 n-2 ... The loop runs more than once only where the halo
// is wider than the image.
__device__ __forceinline__ int mirror(int i, int n)
{
    while (i < 0 || i >= n) i = i < 0 ? -1 - i : n - 1 - (i - n);
    return i;
}

// Does the same without a branch, for -n <= i < 2n.
__device__ __forceinline__ int mirror_once(int i, int n)
{
    i ^= i >> 31;   // -1 - i where i < 0
    return min(i, n - 1 - (i - n));
}

__device__ __forceinline__ int clamp_index(int i, int n) { return min(max(i, 0), n - 1); }

// Returns the bit of pixel x, x >= -32, in a padded mask row.
__device__ __forceinline__ bool mask_bit(const u32 *row, int x)
{
    const u32 bit = static_cast<u32>(x + MASK_LEAD * MASK_WORD_BITS);
    return (row[bit / MASK_WORD_BITS] >> (bit % MASK_WORD_BITS)) & 1u;
}

// Returns the 64-bit product of two 32-bit numbers in one instruction. (If the compiler hoists the widening of a factor out
// of a loop, it no longer knows that the upper half is zero, and multiplies the upper half, too.)
__device__ __forceinline__ u64 wide_product(u32 a, u32 b)
{
    u64 product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
    return product;
}

// Picks four bytes from `a` (bytes 0 to 3) and `b` (bytes 4 to 7) by the hexadecimal digits of SELECT, the lowest digit for
// the lowest byte, as the PRMT instruction does: a digit + 8 repeats that byte's sign bit eight times, which __byte_perm()
// cannot.
template <u32 SELECT>
__device__ __forceinline__ u32 permute_bytes(u32 a, u32 b = 0)
{
    u32 result;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "n"(SELECT));
    return result;
}

// Computes sqrt(x), correctly rounded, for 4e-31 <= x < infinity: one Newton step from the hardware's approximation of
// 1/sqrt(x). It omits the library's checks for numbers that do not occur here. (rsqrtf() would also handle subnormal
// numbers.)
__device__ __forceinline__ float sqrt_rn(float x)
{
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    const float near = __fmul_rn(x, inverse);
    return __fmaf_rn(__fmaf_rn(-near, near, x), __fmul_rn(0.5f, inverse), near);
}

// Aligned vector accesses of N floats.
template <int N>
__device__ __forceinline__ void load_vector(float *to, const float *from)
{
    static_assert(N == 2 || N == 4, "float2 or float4");
    if constexpr (N == 4) {
        const float4 v = *reinterpret_cast<const float4 *>(from);
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    } else {
        const float2 v = *reinterpret_cast<const float2 *>(from);
        to[0] = v.x, to[1] = v.y;
    }
}

template <int N>
__device__ __forceinline__ void store_vector(float *to, const float *from)
{
    static_assert(N == 2 || N == 4, "float2 or float4");
    if constexpr (N == 4) *reinterpret_cast<float4 *>(to) = make_float4(from[0], from[1], from[2], from[3]);
    else *reinterpret_cast<float2 *>(to) = make_float2(from[0], from[1]);
}

// Programmatic dependent launch: a kernel may be started before the previous kernel in the stream has finished, so that its
// blocks are already resident when that one ends. Until this function returns, a kernel must not read what the previous one
// writes, nor write what it reads. Before Hopper, and in ordinary launches, it does nothing.
__device__ __forceinline__ void wait_for_previous_launch()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next launch start early; for kernels that are not started early themselves.
__device__ __forceinline__ void next_launch_may_start()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Returns, in all lanes, the sum of a value over the warp.
__device__ __forceinline__ u32 lanes_total(u32 value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL_LANES, value);
#else
    #pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) value += __shfl_xor_sync(ALL_LANES, value, step);
    return value;
#endif
}

template <typename T>
__device__ __forceinline__ T lanes_total(T value)
{
    #pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) value += __shfl_xor_sync(ALL_LANES, value, step);
    return value;
}

// Returns the inclusive prefix sum of a value over the lanes.
template <typename T>
__device__ __forceinline__ T lanes_inclusive_sum(T value, u32 lane)
{
    #pragma unroll
    for (u32 step = 1; step < WARP; step *= 2) {
        const T before = __shfl_up_sync(ALL_LANES, value, step);
        if (lane >= step) value += before;
    }
    return value;
}
