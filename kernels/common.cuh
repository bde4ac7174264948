// Shared by every kernel of the library: fixed-width names, image borders, bit masks, asynchronous copies.
//
// Rounding is part of the contract: the CPU path must give the same bits. Arithmetic that reaches a result is
// therefore written with the _rn intrinsics and the files are compiled with -fmad=false.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 WARP = 32;
constexpr u32 ALL_LANES = 0xFFFFFFFFu;

// Bits of a mask row are stored 32 to a word, after one pad word that holds the row's mirror image; one more
// pad word follows the row. MASK_LEAD + x/32 is the word of pixel x, for x from -32 on.
constexpr int MASK_WORD_BITS = 32;
constexpr int MASK_LEAD = 1;

// Mirror index: ... 2 1 0 | 0 1 2 ... n-1 | n-1 n-2 ... The loop runs more than once only where the halo is wider
// than the image.
__device__ __forceinline__ int mirror(int i, int n)
{
    while (i < 0 || i >= n) i = i < 0 ? -1 - i : n - 1 - (i - n);
    return i;
}

// The same without a branch, for -n <= i < 2n.
__device__ __forceinline__ int mirror_once(int i, int n)
{
    i ^= i >> 31;   // -1 - i where i < 0
    return min(i, n - 1 - (i - n));
}

__device__ __forceinline__ int clamp_index(int i, int n) { return min(max(i, 0), n - 1); }

// A value that a generic function gets as a type, so that it is a constant there.
template <typename T, T VALUE_>
struct Constant {
    static constexpr T VALUE = VALUE_;
};

// The bit of pixel x, x >= -32, in a padded mask row.
__device__ __forceinline__ bool mask_bit(const u32 *row, int x)
{
    const u32 bit = static_cast<u32>(x + MASK_LEAD * MASK_WORD_BITS);
    return (row[bit / MASK_WORD_BITS] >> (bit % MASK_WORD_BITS)) & 1u;
}

// The product of two 32-bit numbers in 64 bits, one instruction. (Of a factor that it widened outside a loop the compiler
// no longer knows that its upper half is zero, and multiplies that too.)
__device__ __forceinline__ u64 wide_product(u32 a, u32 b)
{
    u64 product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
    return product;
}

// A counter in global memory that blocks meet at. What a thread wrote, or saw of others through a barrier, before it adds is
// seen by who has read the new value and then passed the fence.
__device__ __forceinline__ void add_release(u32 *counter, u32 value)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}

__device__ __forceinline__ u32 load_relaxed(const u32 *counter)
{
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
    return value;
}

__device__ __forceinline__ void fence_acquire() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// Copies from global to shared memory that need no register and complete in the order of their groups. A thread
// that reads only what it copied itself needs no barrier, only the wait. Sixteen bytes go past the first-level cache,
// which spares its data path a write and a read. Turing has no such copy and does it at once.
template <int BYTES>
__device__ __forceinline__ void copy_async(float *shared, const float *global)
{
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "the hardware copies 4, 8 or 16 bytes");
#if __CUDA_ARCH__ >= 800
    const u32 to = static_cast<u32>(__cvta_generic_to_shared(shared));
    if constexpr (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(BYTES) : "memory");
#else
    if constexpr (BYTES == 16) *reinterpret_cast<float4 *>(shared) = *reinterpret_cast<const float4 *>(global);
    else if constexpr (BYTES == 8) *reinterpret_cast<float2 *>(shared) = *reinterpret_cast<const float2 *>(global);
    else *shared = *global;
#endif
}

__device__ __forceinline__ void copy_async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int PENDING>
__device__ __forceinline__ void copy_async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
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

// Shared memory by its 32-bit address, for tables whose entry is found by bit operations.
__device__ __forceinline__ u32 shared_address(const void *shared)
{
    return static_cast<u32>(__cvta_generic_to_shared(shared));
}

__device__ __forceinline__ void load_shared_vector(float *to, u32 address)
{
    asm("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "r"(address));
}

// The host may start a launch before the one ahead of it in the stream is over (programmatic dependent launch), so
// that its blocks are in place when it ends. Nothing that the launch ahead wrote may be read before this returns, and
// nothing that it reads be written. Without that kind of launch, and before Hopper, it does nothing.
__device__ __forceinline__ void wait_for_previous_launch()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// For a kernel that is not started early itself, but whose successor may be.
__device__ __forceinline__ void next_launch_may_start()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// A value's sum over a warp, in all its lanes.
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
