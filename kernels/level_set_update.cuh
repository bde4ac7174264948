// The level set's arithmetic, the same for every kernel. src/level_set/scalar.rs defines it.
//
// A function of kernels/level_set*.cuh is called by one thread for itself and computes in registers, unless its comment
// says more: that all lanes of a warp or all threads of a block call it, or which memory it reads and writes. phi, the
// image, statistics and lists are in device memory; `shared` is a warp's own part of a block's shared memory, where
// phi is copied to. `lane` is the thread's number within its warp.
//
// Differences are over the spacing. Their names: dx, dy, dz are four times the first differences across the faces
// towards +x, +y, +z, and nx, ny, nz the normals there; low_dx ... low_z are those of the faces towards -x, -y, -z.
// Wide differences, twice the central ones, are called by their axis (wide_x, or w.x). `own` voxels are those that a
// lane has to write and to count: lanes beyond the image's borders compute too.
#pragma once
#include "common.cuh"
#include "level_set.h"

// Returns 1/sqrt(x) over RSQRT_SCALE, with the same bits on every device; src/level_set/scalar.rs describes the method.
__device__ __forceinline__ float scaled_rsqrt(float x)
{
    const float start = __uint_as_float((RSQRT_START - __float_as_uint(x)) >> 1);
    const float off = __fmaf_rn(__fmul_rn(x, start), start, RSQRT_SHIFT);
    return __fmul_rn(start, __fmaf_rn(off, off, RSQRT_REST));
}

// Returns v over the spacing, whose reciprocal is given. UNIT is true for a spacing of 1: nothing is computed then.
template <bool UNIT>
__device__ __forceinline__ float scaled(float v, float inverse_spacing)
{
    return UNIT ? v : __fmul_rn(v, inverse_spacing);
}

// Returns the component of the normal across a face, 1/RSQRT_SCALE long: d4 is four times the first difference across
// the face, a and b (in slices only a) are the sums of both sides' wide differences along the other axes. These are
// four times as large as in the formula, as in src/level_set/scalar.rs.
__device__ __forceinline__ float face_normal(float d4, float a, float b)
{
    return __fmul_rn(d4, scaled_rsqrt(__fmaf_rn(d4, d4, __fmaf_rn(a, a, __fmaf_rn(b, b, TINY)))));
}
__device__ __forceinline__ float face_normal(float d4, float a)
{
    return __fmul_rn(d4, scaled_rsqrt(__fmaf_rn(d4, d4, __fmaf_rn(a, a, TINY))));
}

// Returns 4 (after - here) / h, given here4 = 4 here.
template <bool UNIT>
__device__ __forceinline__ float difference4(float after, float here4, float inverse_spacing)
{
    return scaled<UNIT>(__fmaf_rn(4.0f, after, -here4), inverse_spacing);
}

// Returns the argument nearer to 0 if both have the same sign, else 0.
__device__ __forceinline__ float minmod(float a, float b)
{
    return __fmul_rn(a, b) > 0.0f ? (fabsf(a) < fabsf(b) ? a : b) : 0.0f;
}

// Makes the differences across the faces after and before a voxel along an axis of second order (Osher and Shu 1991).
// `beyond_after` and `beyond_before` are those across the next faces on the two sides.
__device__ __forceinline__ void make_second_order(float &after, float &before, float beyond_after, float beyond_before)
{
    const float second = __fsub_rn(after, before);
    const float second_after = __fsub_rn(beyond_after, after), second_before = __fsub_rn(before, beyond_before);
    after = __fmaf_rn(minmod(second, second_after), -0.5f, after);
    before = __fmaf_rn(minmod(second, second_before), 0.5f, before);
}

// Returns the value clamped to +-limit.
__device__ __forceinline__ float clamp_magnitude(float value, float limit)
{
    return fmaxf(fminf(value, limit), -limit);
}

// Returns the image term of a quarter of the speed, dt included.
template <typename PIXEL>
__device__ __forceinline__ float image_term(const LevelSetSetup &setup, PIXEL pixel)
{
    const float difference = __fsub_rn(static_cast<float>(pixel), setup.intensity_centre);
    const float apart = __fmul_rn(difference, setup.open_side) > 0.0f ? 0.0f : fabsf(difference);
    // fminf() takes `max_deviation` where the pixel is NaN.
    return __fmaf_rn(fminf(apart, setup.max_deviation), setup.intensity_gain, setup.intensity_offset);
}

// An EdgePixel is a pixel with the edge-stopping function g and its slope there. The image of a level set with an edge
// term, or with differences of second order, consists of them; src/level_set/cpu/edges.rs measures g.
struct alignas(16) EdgePixel {
    float intensity, stopping, slope[3], unused[EDGE_PIXEL - 5];

    EdgePixel() = default;
    // Makes a pixel for a voxel beyond the image.
    explicit __device__ __forceinline__ EdgePixel(int) : intensity(0.0f), stopping(0.0f), slope{}, unused{} {}
    explicit __device__ __forceinline__ operator float() const { return intensity; }
};
template <typename PIXEL>
constexpr bool HAS_EDGES = cuda::std::is_same<PIXEL, EdgePixel>::value;

// A FirstOrder takes the place of `farther` if the image has no EdgePixels: differences stay first-order.
struct FirstOrder {};

// A VoxelUpdate is the update of one voxel under way: a quarter of the speed, and the square of four times the gradient,
// which is summed one side after another. Powers of two change no digit unless a result is subnormal; src/level_set/plan.rs
// keeps setup.intensity_gain from becoming subnormal.
template <typename PIXEL>
struct VoxelUpdate {
    float old, speed;
    float unbounded_speed;   // the speed without the bound of the image term, for where |phi| grows
    // If the curvature term is the larger one (`both_sides`), the differences on both sides of an axis count,
    // whatever their sign. Elsewhere the gradient is upwind: where phi moves `downwards` only sides with a difference
    // not above 0 count (0 adds nothing), else only those above 0.
    bool both_sides, downwards;
    float min_difference;
    float square = 16.0f * TINY;   // differences have the factor 4 here, and not in scalar.rs
    const PIXEL &pixel;
    float second_order_width;
    float carried = 0.0f;   // four times the slope of g times that of phi, with an edge term

    // Begins the update of a voxel with the value `old`, the divergence of its normals and its pixel.
    __device__ __forceinline__ VoxelUpdate(const LevelSetSetup &setup, float old, float divergence, const PIXEL &pixel)
        : old(old), pixel(pixel), second_order_width(setup.second_order_width)
    {
        const float image = image_term(setup, pixel);
        divergence = clamp_magnitude(divergence, setup.max_divergence);
        const float bounded = fminf(image, setup.max_inward_term);
        speed = __fmaf_rn(divergence, setup.curvature_weight, bounded);
        unbounded_speed = __fmaf_rn(divergence, setup.curvature_weight, image);
        both_sides = fabsf(__fmul_rn(divergence, setup.curvature_weight)) > fabsf(bounded);
        min_difference = both_sides ? __uint_as_float(0xFF800000u) : 0.0f;
        downwards = !both_sides && speed < 0.0f;   // where the speed is 0, either is right
    }
    // Adds the sides after and before the voxel along an axis; after4 and before4 are their differences to the voxel, times
    // four and divided by the spacing. If the image has EdgePixels, `farther` makes the differences of the upwind gradient
    // and of the edge term second-order near the front.
    template <typename FARTHER>
    __device__ __forceinline__ void add_axis(int axis, float after4, float before4, const FARTHER &farther)
    {
        float upwind_after4 = after4, upwind_before4 = before4;
        if constexpr (HAS_EDGES<PIXEL>) {
            if (fabsf(old) <= second_order_width) farther.make_second_order_along(axis, upwind_after4, upwind_before4);
            if (pixel.slope[axis] > 0.0f)
                carried = __fmaf_rn(pixel.slope[axis], clamp_magnitude(upwind_after4, 4.0f), carried);
            else carried = __fmaf_rn(pixel.slope[axis], -clamp_magnitude(upwind_before4, 4.0f), carried);
            if (!both_sides) after4 = upwind_after4, before4 = upwind_before4;
        }
        if ((after4 > min_difference) != downwards) square = __fmaf_rn(after4, after4, square);
        if ((before4 > min_difference) != downwards) square = __fmaf_rn(before4, before4, square);
    }
    // Returns phi after the iteration, once all sides are added.
    __device__ __forceinline__ float result(const LevelSetSetup &setup) const
    {
        float counted = both_sides ? __fmul_rn(0.5f, square) : square;
        // The gradient counts at most 1 where |phi| grows, see src/level_set/scalar.rs.
        const bool grows = (speed > 0.0f) != (old < 0.0f);
        if (grows) counted = fminf(counted, 16.0f);
        const float counted_speed = grows ? unbounded_speed : speed;
        if constexpr (HAS_EDGES<PIXEL>)
            return __fmaf_rn(__fmul_rn(counted_speed, pixel.stopping), sqrt_rn(counted),
                             __fmaf_rn(carried, setup.edge_weight, old));
        else return __fmaf_rn(counted_speed, sqrt_rn(counted), old);
    }
};

// PartialStatistics are a lane's, a warp's or a block's share of IterationStatistics, in registers.
struct PartialStatistics {
    u32 changed, near;
    int inside;
    u64 squares;

    // Adds a voxel by its values before and after the iteration.
    __device__ __forceinline__ void add(const LevelSetSetup &setup, float before, float after)
    {
        const bool was = before < 0.0f, is = after < 0.0f;
        changed += was != is;
        inside += static_cast<int>(is) - static_cast<int>(was);
        if (fabsf(before) <= setup.max_spacing) {
            const float change = __fmul_rn(__fsub_rn(after, before), setup.rms_scale);
            near += 1;
            squares += __float2uint_rz(__fmul_rn(fminf(__fmul_rn(change, change), SQUARE_MAX), SQUARE_ONE));
        }
    }
    // Adds two voxels to `near` and `squares`, of which the lane owns some, without a branch.
    template <bool UNIT>
    __device__ __forceinline__ void add_two_near(const LevelSetSetup &setup, const float *before, const float *after,
                                                 const bool *own)
    {
        constexpr float ROOT_ONE = 4096.0f;   // the root of SQUARE_ONE; what a subnormal square loses is far below 1
        u32 sum = 0;
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            const float change =
                __fmul_rn(__fsub_rn(after[c], before[c]), UNIT ? ROOT_ONE : __fmul_rn(setup.rms_scale, ROOT_ONE));
            const u32 square = __float2uint_rz(fminf(__fmul_rn(change, change), SQUARE_MAX * SQUARE_ONE));
            if (own[c] && fabsf(before[c]) <= setup.max_spacing) sum += square, near += 1;
        }
        squares += sum;
    }
    // Adds a voxel, if the lane owns it, to `changed` and `inside`, without a branch.
    __device__ __forceinline__ void add_crossing(float before, float after, bool own)
    {
        const bool was = before < 0.0f, is = after < 0.0f;
        changed += own && was != is ? 1u : 0u;
        inside += own ? static_cast<int>(is) - static_cast<int>(was) : 0;
    }
    // Returns the sums over a warp, whose lanes all call it and all get them.
    __device__ __forceinline__ PartialStatistics warp_sum() const
    {
        if (!__any_sync(ALL_LANES, near != 0 || changed != 0)) return {};
        // The sum of the squares is made in two parts: a lane has less than 2^51.
        constexpr u32 LOW_BITS = 24;
        const u32 low = lanes_total(static_cast<u32>(squares) & ((1u << LOW_BITS) - 1));
        const u32 high = lanes_total(static_cast<u32>(squares >> LOW_BITS));
        return {lanes_total(changed), lanes_total(near), static_cast<int>(lanes_total(static_cast<u32>(inside))),
                (static_cast<u64>(high) << LOW_BITS) + low};
    }
};

// An IterationContext knows where the iteration's statistics and the state of the stopping criterion are in device
// memory.
struct IterationContext : IterationArguments {
    // Returns the address of the statistics of an iteration.
    __device__ __forceinline__ IterationStatistics *statistics_of(u64 number) const
    {
        return statistics + (number & ring);
    }

    // Returns whether this iteration is to be done, the same in all threads of the grid. All of them call it, after the
    // previous launch has ended. One thread of the grid records that the iteration is done and how many voxels were inside
    // before it, or that iterations end here.
    __device__ __forceinline__ bool begin() const
    {
        const u64 stopped = __ldcg(&convergence->stopped);
        const long long inside =
            __ldcg(&convergence->inside[(iteration - 1) & 1]) + __ldcg(&statistics_of(iteration - 1)->inside);
        const bool over =
            (stopped != 0 && iteration >= stopped) || inside == 0 || inside == static_cast<long long>(voxels);
        if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y == 0) {
            if (!over) convergence->inside[iteration & 1] = inside, statistics_of(iteration)->done = 1;
            else if (stopped == 0) convergence->stopped = iteration;
        }
        return !over;
    }
    // Returns whether the work that follows this iteration (a reinitialisation, or the stopping criterion) is to be done.
    __device__ __forceinline__ bool continues() const
    {
        const u64 stopped = __ldcg(&convergence->stopped);
        return stopped == 0 || iteration < stopped;
    }
    // Adds the sums of a warp, whose lanes all call it, to the iteration's statistics.
    __device__ __forceinline__ void add(const PartialStatistics &of_lane) const
    {
        const PartialStatistics sums = of_lane.warp_sum();
        if (threadIdx.x % WARP != 0) return;
        IterationStatistics *to = statistics_of(iteration);
        if (sums.changed) atomicAdd(&to->changed, static_cast<u64>(sums.changed));
        if (sums.near) atomicAdd(&to->near, static_cast<u64>(sums.near));
        if (sums.squares) atomicAdd(&to->squares, sums.squares);
        if (sums.inside)
            atomicAdd(reinterpret_cast<u64 *>(&to->inside), static_cast<u64>(static_cast<long long>(sums.inside)));
    }
};
