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
        if (near >> (k * S::SIDE) & ((1u << S::SIDE) - 1)) lists.push_around<VOLUME>(step, {t.x + k, t.y, t.z}, lane);
}

// The stop rule, in the arithmetic of the host (src/level_set/course.rs): iterations first .. turn.iteration are added to
// the check interval, which ends here if `test`. One warp.
__device__ __forceinline__ void judge(const LevelSetTurn &turn, u64 first, bool test, double unit, double change_tolerance,
                                      double rms_tolerance, u32 lane)
{
    if (!turn.follows()) return;
    LevelSetCourse &course = *turn.course;
    u64 near = 0, squares = 0;
    bool done = true;
    long long added = 0, later = 0;   // voxels that came inside, and these times the iterations from then on
    for (u64 i = first + lane; i <= turn.iteration; i += WARP) {
        const LevelSetRow *row = turn.row(i);
        const long long inside = __ldcg(&row->inside);
        done = done && __ldcg(&row->done) != 0;
        near += __ldcg(&row->near), squares += __ldcg(&row->squares) >> SQUARES_SHIFT;
        added += inside, later += inside * static_cast<long long>(turn.iteration + 1 - i);
    }
    if (!__all_sync(ALL_LANES, done)) return;
    near = lanes_total(near), squares = lanes_total(squares), added = lanes_total(added), later = lanes_total(later);
    if (lane != 0) return;
    // Voxels inside before the first of these iterations.
    const long long before = __ldcg(&course.inside[turn.iteration & 1]) + __ldcg(&turn.row(turn.iteration)->inside) - added;
    const long long iterations = static_cast<long long>(turn.iteration + 1 - first);
    const u64 inside = course.inside_sum + static_cast<u64>(before * iterations + later);
    near += course.near_sum, squares += course.squares_sum;
    if (!test) {
        course.inside_sum = inside, course.near_sum = near, course.squares_sum = squares;
        return;
    }
    const u64 last = course.inside_before;
    const double share = static_cast<double>(max(near, static_cast<u64>(1)));
    const double drift = static_cast<double>(inside > last ? inside - last : last - inside) / share;
    const double rms = sqrt(static_cast<double>(squares) * (unit * static_cast<double>(1 << SQUARES_SHIFT)) / share);
    const bool never = change_tolerance == 0.0 && rms_tolerance == 0.0;
    if (!never && last != 0 && drift <= change_tolerance && rms <= rms_tolerance) course.stopped = turn.iteration + 1;
    course.inside_before = inside;
    course.inside_sum = 0, course.near_sum = 0, course.squares_sum = 0;
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

// Pixels that are not finite are taken for `missing`. Warp <-> row.
__device__ __forceinline__ void replace_missing(float *image, const LevelSetField &field, float missing, u64 row, u32 lane)
{
    float *line = image + row * field.pitch + LEAD;
    for (u32 x = lane; x < field.width; x += WARP)
        if (!(fabsf(line[x]) <= 3.4028235e38f)) line[x] = missing;
}

// 255 where phi < 0. Warp <-> row.
__device__ __forceinline__ void read_mask(const float *phi, unsigned char *mask, u64 row_stride, u64 slice_stride,
                                          const LevelSetField &field, u64 row, u32 lane)
{
    const float *line = phi + row * field.pitch + LEAD;
    unsigned char *to = mask + row / field.height * slice_stride + row % field.height * row_stride;
    for (u32 x = lane; x < field.width; x += WARP) to[x] = line[x] < 0.0f ? 255 : 0;
}
