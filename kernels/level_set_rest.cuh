// What stands around the iterations: which tiles are near the front, the stop rule, phi and the mask in and out.
#pragma once
#include "level_set_tile.cuh"

// Warp <-> so many tiles beside each other that a row of them is a request: those within the band, and their neighbours,
// are put into the set of `step`. `copy`, if not null, becomes a copy of phi: before a reinitialisation both must agree where
// it does not work.
template <bool VOLUME>
struct MarkShape {
    static constexpr u32 SIDE = VOLUME ? TILE : TILE_SLICE, TOGETHER = WARP / SIDE, DEEP = VOLUME ? TILE : 1;
};
template <bool VOLUME>
__device__ __forceinline__ void mark(const float *phi, float *copy, const LevelSetField &field, const TileLists &lists,
                                     u32 step, TilePlace t, u32 lane)
{
    using S = MarkShape<VOLUME>;
    constexpr u32 AT_ONCE = 16;   // rows: they come from far
    const u32 x = t.x * S::SIDE + lane;
    const bool exists = x < field.width;
    float nearest = __int_as_float(0x7F800000);
#pragma unroll 1
    for (u32 first = 0; first < S::SIDE * S::DEEP; first += AT_ONCE) {
        const u32 z = t.z * S::DEEP + first / S::SIDE, y = t.y * S::SIDE;
        const u64 corner = static_cast<u64>(z * field.height + y) * field.pitch + x + LEAD;
        auto place = [&](u32 i) {
            return corner + static_cast<u64>(i / S::SIDE * field.height + i % S::SIDE) * field.pitch;
        };
        auto is = [&](u32 i) { return exists && y + i % S::SIDE < field.height && z + i / S::SIDE < field.depth; };
        float value[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; ++i) value[i] = is(i) ? __ldcg(phi + place(i)) : __int_as_float(0x7F800000);
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; ++i) {
            nearest = fminf(nearest, fabsf(value[i]));
            if (copy == nullptr || !is(i)) continue;
            float *to = copy + place(i);
            to[0] = value[i];
            if (x == 0) to[-1] = value[i];
            if (x + 1 == field.width) to[1] = value[i];
        }
    }
    const u32 near = __ballot_sync(ALL_LANES, nearest <= field.reach);
#pragma unroll 1
    for (u32 k = 0; k < S::TOGETHER; ++k)
        if (near >> (k * S::SIDE) & ((1u << S::SIDE) - 1)) lists.push_reached<VOLUME>(step, {t.x + k, t.y, t.z}, ALL_NEIGHBOURS, lane);
}

// The stop rule, in the arithmetic of the host (src/level_set/course.rs): iterations first .. turn.iteration are added to
// the check interval, which ends here if `test`; it has `interval` iterations. One warp.
constexpr double SWING = 50.0;
__device__ __forceinline__ void judge(const LevelSetTurn &turn, u64 first, bool test, u32 interval, double unit,
                                      double change_tolerance, double rms_tolerance, u32 lane)
{
    if (!turn.follows()) return;
    LevelSetCourse &course = *turn.course;
    u64 near = 0, squares = 0;
    bool done = true;
    // From the last iteration backwards, 32 at once: the voxels inside after each are those after the last less what came later.
    long long inside = __ldcg(&course.inside[turn.iteration & 1]) + __ldcg(&turn.row(turn.iteration)->inside);
    long long inside_sum = 0, most = 0, fewest = 0x7FFFFFFFFFFFFFFFll;
    for (u64 last = turn.iteration; last + 1 > first; last -= min(last + 1 - first, static_cast<u64>(WARP))) {
        const bool is = last >= first + lane;
        const LevelSetRow *row = turn.row(is ? last - lane : last);
        const long long added = is ? __ldcg(&row->inside) : 0;
        if (is) {
            done = done && __ldcg(&row->done) != 0;
            near += __ldcg(&row->near), squares += __ldcg(&row->squares) >> SQUARES_SHIFT;
        }
        long long later = added;   // inclusive sums over the lanes up to this one
#pragma unroll
        for (u32 step = 1; step < WARP; step *= 2) {
            const long long other = __shfl_up_sync(ALL_LANES, later, step);
            if (lane >= step) later += other;
        }
        if (is) {
            const long long here = inside - (later - added);
            inside_sum += here, most = max(most, here), fewest = min(fewest, here);
        }
        inside -= __shfl_sync(ALL_LANES, later, WARP - 1);
    }
    if (!__all_sync(ALL_LANES, done)) return;
    near = lanes_total(near), squares = lanes_total(squares), inside_sum = lanes_total(inside_sum);
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        most = max(most, __shfl_xor_sync(ALL_LANES, most, step));
        fewest = min(fewest, __shfl_xor_sync(ALL_LANES, fewest, step));
    }
    if (lane != 0) return;
    const u64 sum = course.inside_sum + static_cast<u64>(inside_sum);
    near += course.near_sum, squares += course.squares_sum;
    const u64 of_most = max(course.most, static_cast<u64>(most)), of_fewest = max(course.fewest, ~static_cast<u64>(fewest));
    if (!test) {
        course.inside_sum = sum, course.near_sum = near, course.squares_sum = squares;
        course.most = of_most, course.fewest = of_fewest;
        return;
    }
    const u64 last = course.inside_before;
    const double share = static_cast<double>(max(near, static_cast<u64>(1)));
    const double drift = static_cast<double>(sum > last ? sum - last : last - sum) / share;
    const double swing = static_cast<double>(of_most - ~of_fewest) * static_cast<double>(interval) / share;
    const double rms = sqrt(static_cast<double>(squares) * (unit * static_cast<double>(1 << SQUARES_SHIFT)) / share);
    const bool never = change_tolerance == 0.0 && rms_tolerance == 0.0;
    const bool still = drift <= change_tolerance && swing <= SWING * change_tolerance;
    if (!never && last != 0 && still && rms <= rms_tolerance) course.stopped = turn.iteration + 1;
    course.inside_before = sum;
    course.inside_sum = 0, course.near_sum = 0, course.squares_sum = 0, course.most = 0, course.fewest = 0;
}

// After phi came in from outside: values beyond +-far are brought back, -0 becomes 0, the copies beside the
// borders are made, found[0] counts the voxels inside, found[1], if `strict`, becomes the smallest index of a
// value that is not finite, complemented, or stays 0. Warp <-> row.
__device__ __forceinline__ void settle(float *phi, const LevelSetField &field, float far, bool strict, u64 *found,
                                       u64 row, u32 lane)
{
    float *line = phi + row * field.pitch + LEAD;
    u32 inside = 0;
    for (u32 x = lane; x < field.width; x += WARP) {
        float value = line[x];
        if (strict && !(fabsf(value) <= 3.4028235e38f)) atomicMax(found + 1, ~(row * field.width + x));
        value = value == 0.0f ? 0.0f : fminf(fmaxf(value, -far), far);
        line[x] = value;
        if (x == 0) line[-1] = value;
        if (x + 1 == field.width) line[field.width] = value;
        inside += value < 0.0f;
    }
    inside = lanes_total(inside);
    if (lane == 0 && inside) atomicAdd(found, static_cast<u64>(inside));
}

// 255 where phi < 0. Warp <-> row.
__device__ __forceinline__ void read_mask(const float *phi, unsigned char *mask, u64 row_stride, u64 slice_stride,
                                          const LevelSetField &field, u64 row, u32 lane)
{
    const float *line = phi + row * field.pitch + LEAD;
    unsigned char *to = mask + row / field.height * slice_stride + row % field.height * row_stride;
    for (u32 x = lane; x < field.width; x += WARP) to[x] = line[x] < 0.0f ? 255 : 0;
}
