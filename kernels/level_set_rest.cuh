// What stands around the iterations: which tiles are near the front, the stop rule, phi and the mask in and out.
#pragma once
#include "level_set_tile.cuh"

// Warp <-> tile: those within the band, and their neighbours, are put into the set of `step`.
template <bool VOLUME>
__device__ __forceinline__ void mark(const float *phi, const LevelSetField &field, const TileLists &lists, u32 step, u32 tile,
                                     u32 lane)
{
    constexpr u32 SIDE = VOLUME ? TILE : TILE_SLICE, DEEP = VOLUME ? TILE : 1;
    const TilePlace t = lists.place(tile);
    const u32 x = t.x * SIDE + lane % SIDE;
    bool near = false;
    for (u32 row = lane / SIDE; row < SIDE * DEEP; row += WARP / SIDE) {
        const u32 y = t.y * SIDE + row % SIDE, z = t.z * DEEP + row / SIDE;
        if (x < field.width && y < field.height && z < field.depth)
            near = near || fabsf(phi[(static_cast<u64>(z) * field.height + y) * field.pitch + x + LEAD]) <= field.reach;
    }
    if (__any_sync(ALL_LANES, near)) lists.push_around<VOLUME>(step, t, lane);
}

// The stop rule, in the arithmetic of the host: iterations first .. turn.iteration are added to the check interval, which
// ends here if `test`. One warp.
__device__ __forceinline__ void judge(const LevelSetTurn &turn, u64 first, bool test, double unit, u32 interval,
                                      double change_tolerance, double rms_tolerance, u32 lane)
{
    if (!turn.follows()) return;
    LevelSetCourse &course = *turn.course;
    auto over_lanes = [&](auto v, auto &&join) {
#pragma unroll
        for (int d = WARP / 2; d > 0; d /= 2) v = join(v, __shfl_xor_sync(ALL_LANES, v, d));
        return v;
    };
    auto sum = [](long long a, long long b) { return a + b; };
    auto larger = [](u64 a, u64 b) { return max(a, b); };
    u64 near = 0;
    double rms = 0.0;
    bool done = true;
    long long added = 0;
    for (u64 i = first + lane; i <= turn.iteration; i += WARP) {
        const LevelSetRow *row = turn.row(i);
        const u64 row_near = __ldcg(&row->near);
        done = done && __ldcg(&row->done) != 0;
        near = max(near, row_near), added += __ldcg(&row->inside);
        if (row_near)
            rms = fmax(rms, sqrt(static_cast<double>(__ldcg(&row->squares)) * unit / static_cast<double>(row_near)));
    }
    if (!__all_sync(ALL_LANES, done)) return;
    // Voxels inside after each iteration, from what there were before the first.
    long long inside = __ldcg(&course.inside[turn.iteration & 1]) + __ldcg(&turn.row(turn.iteration)->inside);
    inside -= over_lanes(added, sum);
    u64 not_fewest = 0, most = 0;
    for (u64 base = first; base <= turn.iteration; base += WARP) {
        const bool there = base + lane <= turn.iteration;
        long long after = there ? __ldcg(&turn.row(base + lane)->inside) : 0;
#pragma unroll
        for (u32 d = 1; d < WARP; d *= 2) {
            const long long before = __shfl_up_sync(ALL_LANES, after, d);
            if (lane >= d) after += before;
        }
        after += inside;
        if (there) not_fewest = max(not_fewest, ~static_cast<u64>(after)), most = max(most, static_cast<u64>(after));
        inside = __shfl_sync(ALL_LANES, after, WARP - 1);
    }
    not_fewest = max(over_lanes(not_fewest, larger), course.not_fewest);
    most = max(over_lanes(most, larger), course.most);
    near = max(over_lanes(near, larger), course.near);
    rms = fmax(over_lanes(rms, [](double a, double b) { return fmax(a, b); }), course.rms);
    if (lane != 0) return;
    if (test) {
        const double spread = static_cast<double>(most - ~not_fewest);
        const double share = spread / static_cast<double>(max(near, static_cast<u64>(1))) / static_cast<double>(min(interval, 50u));
        const bool never = change_tolerance == 0.0 && rms_tolerance == 0.0;
        if (!never && share <= change_tolerance && rms <= rms_tolerance) course.stopped = turn.iteration + 1;
        not_fewest = 0, most = 0, near = 0, rms = 0.0;
    }
    course.not_fewest = not_fewest, course.most = most, course.near = near, course.rms = rms;
}

// After phi came in from outside: values beyond +-far are brought back (far = infinity: none), the copies beside the
// borders are made, found[0] counts the voxels inside, found[1] becomes the smallest index + 1 of a value that is not
// finite, complemented, or stays 0. Warp <-> row.
__device__ __forceinline__ void settle(float *phi, const LevelSetField &field, float far, u64 *found, u64 row, u32 lane)
{
    float *line = phi + row * field.pitch + LEAD;
    u32 inside = 0;
    for (u32 x = lane; x < field.width; x += WARP) {
        float value = line[x];
        if (!(fabsf(value) <= 3.4028235e38f)) {
            if (value != value || far > 3.4028235e38f) atomicMax(found + 1, ~(row * field.width + x));
        }
        value = fminf(fmaxf(value, -far), far);
        line[x] = value;
        if (x == 0) line[-1] = value;
        if (x + 1 == field.width) line[field.width] = value;
        inside += value < 0.0f;
    }
    for (int d = WARP / 2; d > 0; d /= 2) inside += __shfl_xor_sync(ALL_LANES, inside, d);
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
