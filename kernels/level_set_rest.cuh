// What stands around the iterations: which tiles are near the front, the stop rule, phi and the mask in and out.
#pragma once
#include "level_set_tile.cuh"

// Warp <-> tile: those within the band, and their neighbours, are put into the set of `step`. `copy`, if not null, becomes
// a copy of phi: before a reinitialisation both must agree where it does not work.
template <bool VOLUME>
__device__ __forceinline__ void mark(const float *phi, float *copy, const LevelSetField &field, const TileLists &lists,
                                     u32 step, u32 tile, u32 lane)
{
    constexpr u32 SIDE = VOLUME ? TILE : TILE_SLICE, DEEP = VOLUME ? TILE : 1;
    constexpr u32 ROWS = SIDE * DEEP / (WARP / SIDE);   // of a lane
    const TilePlace t = lists.place(tile);
    const u32 x = t.x * SIDE + lane % SIDE;
    // All at once: they come from far.
    float value[ROWS];
    u64 at[ROWS];
#pragma unroll
    for (u32 i = 0; i < ROWS; ++i) {
        const u32 row = lane / SIDE + i * (WARP / SIDE), y = t.y * SIDE + row % SIDE, z = t.z * DEEP + row / SIDE;
        at[i] = ~0ull;
        if (x < field.width && y < field.height && z < field.depth)
            at[i] = (static_cast<u64>(z) * field.height + y) * field.pitch + x + LEAD;
        value[i] = at[i] != ~0ull ? phi[at[i]] : __int_as_float(0x7F800000);
    }
    float nearest = __int_as_float(0x7F800000);
#pragma unroll
    for (u32 i = 0; i < ROWS; ++i) {
        nearest = fminf(nearest, fabsf(value[i]));
        if (copy == nullptr || at[i] == ~0ull) continue;
        copy[at[i]] = value[i];
        if (x == 0) copy[at[i] - 1] = value[i];
        if (x + 1 == field.width) copy[at[i] + 1] = value[i];
    }
    if (__any_sync(ALL_LANES, nearest <= field.reach)) lists.push_around<VOLUME>(step, t, lane);
}

// The stop rule, in the arithmetic of the host (src/level_set/course.rs): iterations first .. turn.iteration are added to
// the check interval, which ends here if `test`. One warp.
__device__ __forceinline__ void judge(const LevelSetTurn &turn, u64 first, bool test, double unit, double change_tolerance,
                                      double rms_tolerance, u32 lane)
{
    if (!turn.follows()) return;
    LevelSetCourse &course = *turn.course;
    auto sum = [](auto v) {
#pragma unroll
        for (int d = WARP / 2; d > 0; d /= 2) v += __shfl_xor_sync(ALL_LANES, v, d);
        return v;
    };
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
    near = sum(near), squares = sum(squares), added = sum(added), later = sum(later);
    if (lane != 0) return;
    // Voxels inside before the first of these iterations.
    const long long before = __ldcg(&course.inside[turn.iteration & 1]) + __ldcg(&turn.row(turn.iteration)->inside) - added;
    const u64 inside = course.inside_sum + static_cast<u64>(before * static_cast<long long>(turn.iteration + 1 - first) + later);
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
__device__ __forceinline__ void settle(float *phi, const LevelSetField &field, float far, bool strict, u64 *found, u64 row, u32 lane)
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
