// The level set's arithmetic, the same for every kernel. src/level_set/scalar.rs defines it.
#pragma once
#include "common.cuh"

// The sizes and constants that all kernels of one solver share. Sides have 1..2^30 voxels, slices at most 2^30
// elements. phi: row r = z*height + y begins at r*pitch, and its pixel x is at LEAD + x. The elements of pixels -1 and
// width repeat the pixels beside them; whoever writes those pixels also writes these elements. The image has the same
// layout in its own type.
struct LevelSetSetup {
    u32 width, height, depth;
    u32 pitch;                      // in elements, a multiple of 8
    // The image term and the curvature term are a quarter of the speed's, because gradients are four times as large.
    float intensity_centre;                   // T
    float max_deviation;                      // |I - T| counts up to this
    float intensity_gain, intensity_offset;   // dt * -alpha * D(I) / 4 = fma(|I - T|, gain, offset)
    float max_inward_term;                    // upper bound of the image term where phi approaches 0
    float curvature_weight;                   // dt * (1 - alpha) / 8 * ROOT_UNIT
    float inv_dx, inv_dy, inv_dz;             // 1 / spacing
    float max_spacing;                        // a voxel with |phi| up to this is near the front
    float rms_scale;                          // 1 / the smallest spacing
    float band_width;                         // a voxel with |phi| up to this is within the narrow band
    float activity_threshold;                 // a larger change of phi within the band keeps a tile active
    float reinit_step;                        // the step of a reinitialisation
    float max_divergence;                     // the bound of the normals' divergence, over ROOT_UNIT
};
static_assert(sizeof(LevelSetSetup) == 76, "src/level_set/cuda/launch.rs repeats it");

constexpr int LEAD = 1;

// Computes 1/sqrt(x) over ROOT_UNIT with the same bits on every device; src/level_set/scalar.rs describes the method.
// The constants minimise the largest relative error (1.7e-5): ROOT_START - bits(x), halved, are the bits of a first
// guess s, which is refined by s * ((x s^2 + ROOT_SHIFT)^2 + ROOT_REST). ROOT_UNIT is the factor that normalises this
// polynomial's leading coefficient to 1, which saves a multiplication.
constexpr double ROOT_UNIT = 0.68062353;
constexpr u32 ROOT_START = 0xBE3E0000u;
constexpr float ROOT_SHIFT = -1.3139546f, ROOT_REST = 1.3784941f;
__device__ __forceinline__ float scaled_rsqrt(float x)
{
    const float start = __uint_as_float((ROOT_START - __float_as_uint(x)) >> 1);
    const float off = __fmaf_rn(__fmul_rn(x, start), start, ROOT_SHIFT);
    return __fmul_rn(start, __fmaf_rn(off, off, ROOT_REST));
}

// Divides v by the spacing, whose reciprocal is `step`. With unit spacing nothing is computed.
template <bool UNIT>
__device__ __forceinline__ float scaled(float v, float step)
{
    return UNIT ? v : __fmul_rn(v, step);
}

// Returns the component of the normal across a face, 1/ROOT_UNIT long: d4 is four times the first difference across the
// face, a and b are the sums of both sides' wide differences (twice the central ones) along the other axes. Everything
// is four times as large as in the definition. TINY is added to the squared length, so that a flat phi has a normal of
// 0 and not of 0/0.
constexpr float TINY = 1.6e-19f;
__device__ __forceinline__ float face_normal(float d4, float a, float b)
{
    return __fmul_rn(d4, scaled_rsqrt(__fmaf_rn(d4, d4, __fmaf_rn(a, a, __fmaf_rn(b, b, TINY)))));
}
__device__ __forceinline__ float face_normal(float d4, float a)
{
    return __fmul_rn(d4, scaled_rsqrt(__fmaf_rn(d4, d4, __fmaf_rn(a, a, TINY))));
}

// Returns 4 (after - here) / h.
template <bool UNIT>
__device__ __forceinline__ float difference4(float after, float here4, float step)
{
    return scaled<UNIT>(__fmaf_rn(4.0f, after, -here4), step);
}

__device__ __forceinline__ float clamp_magnitude(float value, float limit)
{
    return fmaxf(fminf(value, limit), -limit);
}

template <typename PIXEL>
__device__ __forceinline__ float image_term(const LevelSetSetup &setup, PIXEL pixel)
{
    // fminf() takes `max_deviation` where the pixel is NaN.
    const float apart = fminf(fabsf(__fsub_rn(static_cast<float>(pixel), setup.intensity_centre)), setup.max_deviation);
    return __fmaf_rn(apart, setup.intensity_gain, setup.intensity_offset);
}

// The update of one voxel: a quarter of the speed, and the square of four times the gradient, which is summed one side
// after another. Powers of two change no digit unless a result is subnormal; src/level_set/plan.rs keeps
// setup.intensity_gain from being so.
struct VoxelUpdate {
    float old, speed;
    float speed_away;   // the speed where phi moves away from 0, without the bound
    // If the curvature term is the larger one (`both_sides`), the differences on both sides of an axis count,
    // whatever their sign. Elsewhere the gradient is upwind: where phi moves `downwards` only sides with a difference
    // not above 0 count (0 adds nothing), else only those above 0.
    bool both_sides, downwards;
    float min_difference;
    float square = 16.0f * TINY;

    __device__ __forceinline__ VoxelUpdate(const LevelSetSetup &setup, float old, float curvature, float image)
        : old(old)
    {
        curvature = clamp_magnitude(curvature, setup.max_divergence);
        const float bounded = fminf(image, setup.max_inward_term);
        speed = __fmaf_rn(curvature, setup.curvature_weight, bounded);
        speed_away = __fmaf_rn(curvature, setup.curvature_weight, image);
        both_sides = fabsf(__fmul_rn(curvature, setup.curvature_weight)) > fabsf(bounded);
        min_difference = both_sides ? __uint_as_float(0xFF800000u) : 0.0f;
        downwards = !both_sides && speed < 0.0f;   // where the speed is 0, either is right
    }
    // Adds the side whose difference to the voxel, times four and over the spacing, is d4.
    __device__ __forceinline__ void add_difference(float d4)
    {
        if ((d4 > min_difference) != downwards) square = __fmaf_rn(d4, d4, square);
    }
    __device__ __forceinline__ float result() const
    {
        float counted = both_sides ? __fmul_rn(0.5f, square) : square;
        // Away from the front |grad phi| is at most 1, see src/level_set/scalar.rs.
        const bool leaves = (speed > 0.0f) != (old < 0.0f);
        if (leaves) counted = fminf(counted, 16.0f);
        return __fmaf_rn(leaves ? speed_away : speed, sqrt_rn(counted), old);
    }
};

// The statistics that an iteration sums. Squared changes are summed as fixed-point integers with the unit 1/SQUARE_ONE,
// clamped to SQUARE_MAX. SQUARES_SHIFT is the right shift applied to their sums before those are added over a check
// interval, so that the interval's sum cannot overflow.
constexpr float SQUARE_ONE = 16777216.0f, SQUARE_MAX = 64.0f;
constexpr int SQUARES_SHIFT = 10;
struct StepStatistics {
    u32 changed = 0, near = 0;
    int inside = 0;
    u64 squares = 0;

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
    // Adds the voxels near the front of two, where they are `mine`, without a branch. add_crossing() counts sign
    // changes the same way.
    template <bool UNIT>
    __device__ __forceinline__ void add_two_near(const LevelSetSetup &setup, const float *before, const float *after,
                                                 const bool *mine)
    {
        constexpr float ROOT_ONE = 4096.0f;   // the root of SQUARE_ONE; what a subnormal square loses is far below 1
        u32 sum = 0;
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            const float change =
                __fmul_rn(__fsub_rn(after[c], before[c]), UNIT ? ROOT_ONE : __fmul_rn(setup.rms_scale, ROOT_ONE));
            const u32 square = __float2uint_rz(fminf(__fmul_rn(change, change), SQUARE_MAX * SQUARE_ONE));
            if (mine[c] && fabsf(before[c]) <= setup.max_spacing) sum += square, near += 1;
        }
        squares += sum;
    }
    __device__ __forceinline__ void add_crossing(float before, float after, bool mine)
    {
        const bool was = before < 0.0f, is = after < 0.0f;
        changed += mine && was != is ? 1u : 0u;
        inside += mine ? static_cast<int>(is) - static_cast<int>(was) : 0;
    }
};

// One iteration's statistics, as the host reads them.
struct IterationStatistics {
    u64 changed, near, squares;
    long long inside;   // the change of the number of voxels inside
    u32 tiles;          // the number of tiles updated
    u32 done;
};
static_assert(sizeof(IterationStatistics) == 40, "src/level_set/cuda/tables.rs repeats it");

// The state of the stopping criterion.
struct ConvergenceState {
    u64 stopped;           // the first iteration that is not done; 0: none yet
    long long inside[2];   // the voxels inside before the iterations with even and odd numbers
    // Sums over the iterations of the current check interval: of the voxels inside after each, of the voxels near the
    // front, and of the squared changes >> SQUARES_SHIFT. inside_before is the first of these sums of the interval
    // before, or 0 where there is none.
    u64 inside_sum, near_sum, squares_sum, inside_before;
    u64 most, fewest;       // of the current interval: the most voxels inside, and the complement of the fewest
};
static_assert(sizeof(ConvergenceState) == 72, "src/level_set/cuda/tables.rs repeats it");

// The number of an iteration and where its statistics go. The rows of statistics are a ring.
struct IterationContext {
    ConvergenceState *convergence;
    IterationStatistics *rows;
    u64 iteration;          // counted from 1
    u64 voxels;
    u32 ring;               // the number of rows less one; a power of two less one

    __device__ __forceinline__ IterationStatistics *row(u64 of) const { return rows + (of & ring); }

    // Returns whether this iteration is to be done. All threads call it, after the launch ahead is over.
    __device__ __forceinline__ bool begin() const
    {
        const u64 stopped = __ldcg(&convergence->stopped);
        const long long inside =
            __ldcg(&convergence->inside[(iteration - 1) & 1]) + __ldcg(&row(iteration - 1)->inside);
        const bool over = (stopped != 0 && iteration >= stopped) || inside == 0 || inside == static_cast<long long>(voxels);
        if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y == 0) {
            if (!over) convergence->inside[iteration & 1] = inside, row(iteration)->done = 1;
            else if (stopped == 0) convergence->stopped = iteration;
        }
        return !over;
    }
    // Returns whether what follows this iteration is to be done.
    __device__ __forceinline__ bool continues() const
    {
        const u64 stopped = __ldcg(&convergence->stopped);
        return stopped == 0 || iteration < stopped;
    }
    // Adds a warp's sums.
    __device__ __forceinline__ void add(const StepStatistics &stats, u32 lane) const
    {
        if (!__any_sync(ALL_LANES, stats.near != 0 || stats.changed != 0)) return;
        const u32 changed = lanes_total(stats.changed), near = lanes_total(stats.near);
        const int inside = static_cast<int>(lanes_total(static_cast<u32>(stats.inside)));
        // The sum is made in two parts: a lane has less than 2^51.
        const u32 low = lanes_total(static_cast<u32>(stats.squares) & 0xFFFFFF);
        const u32 high = lanes_total(static_cast<u32>(stats.squares >> 24));
        const u64 squares = (static_cast<u64>(high) << 24) + low;
        if (lane != 0) return;
        IterationStatistics *to = row(iteration);
        if (changed) atomicAdd(&to->changed, static_cast<u64>(changed));
        if (near) atomicAdd(&to->near, static_cast<u64>(near));
        if (squares) atomicAdd(&to->squares, squares);
        if (inside) atomicAdd(reinterpret_cast<u64 *>(&to->inside), static_cast<u64>(static_cast<long long>(inside)));
    }
};
static_assert(sizeof(IterationContext) == 40, "src/level_set/cuda/launch.rs repeats it");
