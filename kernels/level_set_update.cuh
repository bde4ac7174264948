// The level set's arithmetic, the same for every kernel; src/level_set/scalar.rs defines it.
#pragma once
#include "common.cuh"

// What the kernels of one solver have in common. Sizes are 1..2^30 a side, planes at most 2^30 elements. phi: row
// r = z*height + y at r*pitch, its pixel x at LEAD + x; the elements of pixels -1 and width repeat the pixels beside them,
// and whoever writes those writes these. The image has the same layout in its own type.
struct LevelSetField {
    u32 width, height, depth;
    u32 pitch;                      // elements, a multiple of 8
    // A quarter of both terms of the speed, as gradients are four times as large:
    float target, farthest;         // |I - target| counts up to `farthest`
    float gain, offset;             // dt * -alpha * D(I) / 4 = fma(|I - target|, gain, offset)
    float bound;                    // of that, towards the front
    float bend;                     // dt * (1 - alpha) / 8 * ROOT_UNIT
    float step_x, step_y, step_z;   // 1 / spacing
    float near;                     // the largest spacing
    float rms_scale;                // 1 / the smallest spacing
    float reach;                    // |phi| up to this is within the band
    float tiny;                     // a larger change near the front keeps a tile awake
    float restep;                   // the step of a reinitialisation
    float sharpest;                 // the bound of the normals' divergence, over ROOT_UNIT
};
static_assert(sizeof(LevelSetField) == 76, "src/level_set/cuda/launch.rs repeats it");

constexpr int LEAD = 1;

// 1/sqrt(x) over ROOT_UNIT, see src/level_set/scalar.rs: the same bits on every device.
constexpr double ROOT_UNIT = 0.68062353;
constexpr u32 ROOT_START = 0xBE3E0000u;
constexpr float ROOT_SHIFT = -1.3139546f, ROOT_REST = 1.3784941f;
__device__ __forceinline__ float inverse_root(float x)
{
    const float start = __uint_as_float((ROOT_START - __float_as_uint(x)) >> 1);
    const float off = __fmaf_rn(__fmul_rn(x, start), start, ROOT_SHIFT);
    return __fmul_rn(start, __fmaf_rn(off, off, ROOT_REST));
}

// sqrt(x), correctly rounded, for 4e-31 <= x < infinity.
__device__ __forceinline__ float root(float x)
{
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    const float near = __fmul_rn(x, inverse);
    return __fmaf_rn(__fmaf_rn(-near, near, x), __fmul_rn(0.5f, inverse), near);
}

// v / h, where 1/h is `step`; at unit spacing nothing is left of it.
template <bool UNIT>
__device__ __forceinline__ float per(float v, float step)
{
    return UNIT ? v : __fmul_rn(v, step);
}

// The component of the normal, 1/ROOT_UNIT long, across a face: d4 is four times the first difference there, a and b the
// sums of both sides' wide differences (twice the central ones) along the other axes. All is four times as large as in the
// definition.
constexpr float TINY = 1.6e-19f;
__device__ __forceinline__ float normal(float d4, float a, float b)
{
    return __fmul_rn(d4, inverse_root(__fmaf_rn(d4, d4, __fmaf_rn(a, a, __fmaf_rn(b, b, TINY)))));
}
__device__ __forceinline__ float normal(float d4, float a)
{
    return __fmul_rn(d4, inverse_root(__fmaf_rn(d4, d4, __fmaf_rn(a, a, TINY))));
}

// 4 (after - here) / h
template <bool UNIT>
__device__ __forceinline__ float four(float after, float here4, float step)
{
    return per<UNIT>(__fmaf_rn(4.0f, after, -here4), step);
}

__device__ __forceinline__ float within(float value, float limit) { return fmaxf(fminf(value, limit), -limit); }

template <typename PIXEL>
__device__ __forceinline__ float image_term(const LevelSetField &field, PIXEL pixel)
{
    // fminf() takes `farthest` where the pixel is NaN.
    const float apart = fminf(fabsf(__fsub_rn(static_cast<float>(pixel), field.target)), field.farthest);
    return __fmaf_rn(apart, field.gain, field.offset);
}

// A voxel's step: a quarter of the speed, and the square of four times the gradient as it gathers side after side.
// Powers of two change no digit unless a result is subnormal; src/level_set/plan.rs keeps field.gain from being so.
struct Motion {
    float old, speed;
    float away;    // the speed where phi moves away from 0, without the bound
    bool curves;   // curvature's part of the speed is the larger one: both sides of an axis count, whatever their sign
    bool falls;    // else, as phi falls: only sides with a difference not above 0 do (0 adds nothing); or those above
    float least;
    float square = 16.0f * TINY;

    __device__ __forceinline__ Motion(const LevelSetField &field, float old, float curve, float of_image) : old(old)
    {
        curve = within(curve, field.sharpest);
        const float bounded = fminf(of_image, field.bound);
        speed = __fmaf_rn(curve, field.bend, bounded);
        away = __fmaf_rn(curve, field.bend, of_image);
        curves = fabsf(__fmul_rn(curve, field.bend)) > fabsf(bounded);
        least = curves ? __uint_as_float(0xFF800000u) : 0.0f;
        falls = !curves && speed < 0.0f;   // where the speed is 0, either will do
    }
    // d4: four times the difference to the voxel on one side, over the spacing.
    __device__ __forceinline__ void side(float d4)
    {
        if ((d4 > least) != falls) square = __fmaf_rn(d4, d4, square);
    }
    __device__ __forceinline__ float result() const
    {
        float counted = curves ? __fmul_rn(0.5f, square) : square;
        // Away from the front |grad phi| is at most 1, see src/level_set/scalar.rs.
        const bool leaves = (speed > 0.0f) != (old < 0.0f);
        if (leaves) counted = fminf(counted, 16.0f);
        return __fmaf_rn(leaves ? away : speed, root(counted), old);
    }
};

// What an iteration adds up.
constexpr float SQUARE_ONE = 16777216.0f, SQUARE_MOST = 64.0f;   // fixed point
constexpr int SQUARES_SHIFT = 10;
struct Tally {
    u32 changed = 0, near = 0;
    int inside = 0;
    u64 squares = 0;

    __device__ __forceinline__ void add(const LevelSetField &field, float before, float after)
    {
        const bool was = before < 0.0f, is = after < 0.0f;
        changed += was != is;
        inside += static_cast<int>(is) - static_cast<int>(was);
        if (fabsf(before) <= field.near) {
            const float change = __fmul_rn(__fsub_rn(after, before), field.rms_scale);
            near += 1;
            squares += __float2uint_rz(__fmul_rn(fminf(__fmul_rn(change, change), SQUARE_MOST), SQUARE_ONE));
        }
    }
    // The same where it is `mine`, without a branch: what is near the front, of two voxels; and who changed sides.
    template <bool UNIT>
    __device__ __forceinline__ void add_pair(const LevelSetField &field, const float *before, const float *after,
                                             const bool *mine)
    {
        constexpr float ROOT_ONE = 4096.0f;   // of SQUARE_ONE; what is lost of a subnormal square is far below 1
        u32 sum = 0;
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            const float change = __fmul_rn(__fsub_rn(after[c], before[c]), UNIT ? ROOT_ONE : __fmul_rn(field.rms_scale, ROOT_ONE));
            const u32 square = __float2uint_rz(fminf(__fmul_rn(change, change), SQUARE_MOST * SQUARE_ONE));
            if (mine[c] && fabsf(before[c]) <= field.near) sum += square, near += 1;
        }
        squares += sum;
    }
    __device__ __forceinline__ void add_side(float before, float after, bool mine)
    {
        const bool was = before < 0.0f, is = after < 0.0f;
        changed += mine && was != is ? 1u : 0u;
        inside += mine ? static_cast<int>(is) - static_cast<int>(was) : 0;
    }
};

// One iteration's statistics, as the host reads them.
struct LevelSetRow {
    u64 changed, near, squares;
    long long inside;   // what it added
    u32 tiles;          // updated
    u32 done;
};
static_assert(sizeof(LevelSetRow) == 40, "src/level_set/cuda/tables.rs repeats it");

// What decides whether iterations go on.
struct LevelSetCourse {
    u64 stopped;            // the first iteration that is not done; 0: none yet
    long long inside[2];    // voxels inside before the iterations with even and odd numbers
    // Of the check interval under way, sums over its iterations: of the voxels inside after each, near the front, and of
    // the squares >> SQUARES_SHIFT; of the interval before: the first of these, or 0 where there is none.
    u64 inside_sum, near_sum, squares_sum, inside_before;
    u64 most, fewest;       // of the interval under way: the most voxels inside, and the complement of the fewest
};
static_assert(sizeof(LevelSetCourse) == 72, "src/level_set/cuda/tables.rs repeats it");

// Where an iteration stands. Rows are a ring.
struct LevelSetTurn {
    LevelSetCourse *course;
    LevelSetRow *rows;
    u64 iteration;          // counted from 1
    u64 voxels;
    u32 ring;               // rows less one; a power of two less one

    __device__ __forceinline__ LevelSetRow *row(u64 of) const { return rows + (of & ring); }

    // Whether this iteration is to be done; all threads ask, after the launch ahead is over.
    __device__ __forceinline__ bool begin() const
    {
        const u64 stopped = __ldcg(&course->stopped);
        const long long inside = __ldcg(&course->inside[(iteration - 1) & 1]) + __ldcg(&row(iteration - 1)->inside);
        const bool over = (stopped != 0 && iteration >= stopped) || inside == 0 || inside == static_cast<long long>(voxels);
        if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y == 0) {
            if (!over) course->inside[iteration & 1] = inside, row(iteration)->done = 1;
            else if (stopped == 0) course->stopped = iteration;
        }
        return !over;
    }
    // Whether what follows this iteration is to be done.
    __device__ __forceinline__ bool follows() const
    {
        const u64 stopped = __ldcg(&course->stopped);
        return stopped == 0 || iteration < stopped;
    }
    // A warp's sums.
    __device__ __forceinline__ void add(const Tally &tally, u32 lane) const
    {
        if (!__any_sync(ALL_LANES, tally.near != 0 || tally.changed != 0)) return;
        const u32 changed = lanes_total(tally.changed), near = lanes_total(tally.near);
        const int inside = static_cast<int>(lanes_total(static_cast<u32>(tally.inside)));
        // In two parts: a lane has less than 2^51.
        const u32 low = lanes_total(static_cast<u32>(tally.squares) & 0xFFFFFF);
        const u32 high = lanes_total(static_cast<u32>(tally.squares >> 24));
        const u64 squares = (static_cast<u64>(high) << 24) + low;
        if (lane != 0) return;
        LevelSetRow *to = row(iteration);
        if (changed) atomicAdd(&to->changed, static_cast<u64>(changed));
        if (near) atomicAdd(&to->near, static_cast<u64>(near));
        if (squares) atomicAdd(&to->squares, squares);
        if (inside) atomicAdd(reinterpret_cast<u64 *>(&to->inside), static_cast<u64>(static_cast<long long>(inside)));
    }
};
static_assert(sizeof(LevelSetTurn) == 40, "src/level_set/cuda/launch.rs repeats it");
