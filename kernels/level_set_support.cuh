// The kernels around the iterations: the list of active tiles, the stopping criterion, import of phi and export of the
// mask.
#pragma once
#include "level_set_sparse.cuh"

// The work of a warp in activate_near_tiles(): TILES adjacent tiles of SIDE voxels along x and y and DEPTH along z. Together a
// row of them has as many voxels as a warp has lanes, so that the warp reads it in one memory request.
template <bool VOLUME>
struct NearTiles {
    static constexpr u32 SIDE = VOLUME ? TILE : TILE_SLICE, TILES = WARP / SIDE, DEPTH = VOLUME ? TILE : 1;
};
// Adds the tiles that the voxels within the narrow band affect to a set; all lanes of a warp call it for the tiles from
// t on. `copy`, if not null, becomes a copy of phi: a reinitialisation writes active tiles only, so both buffers of phi must be
// equal everywhere else.
template <bool VOLUME>
__device__ __forceinline__ void activate_near_tiles(const float *phi, float *copy, const LevelSetSetup &setup,
                                                    const TileLists &lists, u32 set, TileIndex t, u32 lane)
{
    using S = NearTiles<VOLUME>;
    constexpr u32 AT_ONCE = 16;   // rows that are loaded together, because the latency of memory is long
    const u32 x = t.x * S::SIDE + lane;
    const bool exists = x < setup.width;
    const u32 along_x = affected_along_axis<S::SIDE>(lane % S::SIDE);
    u32 affected = 0;   // by the voxels within the band of the lane's column
#pragma unroll 1
    for (u32 first = 0; first < S::SIDE * S::DEPTH; first += AT_ONCE) {
        const u32 z = t.z * S::DEPTH + first / S::SIDE, y = t.y * S::SIDE;
        const u64 corner = static_cast<u64>(z * setup.height + y) * setup.pitch + x + LEAD;
        auto place = [&](u32 i) {
            return corner + static_cast<u64>(i / S::SIDE * setup.height + i % S::SIDE) * setup.pitch;
        };
        auto is_pixel = [&](u32 i) {
            return exists && y + i % S::SIDE < setup.height && z + i / S::SIDE < setup.depth;
        };
        float value[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; ++i) value[i] = is_pixel(i) ? __ldcg(phi + place(i)) : __int_as_float(0x7F800000);
        u32 along_y[AT_ONCE / S::SIDE] = {};   // of one plane, or of two
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; ++i) {
            if (fabsf(value[i]) <= setup.band_width)
                along_y[i / S::SIDE] |= affected_along_axis<S::SIDE>(i % S::SIDE);
            if (copy == nullptr || !is_pixel(i)) continue;
            float *to = copy + place(i);
            to[0] = value[i];
            if (x == 0) to[-1] = value[i];
            if (x + 1 == setup.width) to[1] = value[i];
        }
#pragma unroll
        for (u32 i = 0; i < AT_ONCE / S::SIDE; ++i) {
            const u32 along_z = VOLUME ? affected_along_axis<TILE>(first / S::SIDE + i) : OWN_TILE;
            affected |= affected_tiles(affected_in_plane(along_x, along_y[i]), along_z);
        }
    }
#pragma unroll
    for (u32 i = S::SIDE / 2; i > 0; i /= 2) affected |= __shfl_xor_sync(ALL_LANES, affected, i);
#pragma unroll 1
    for (u32 k = 0; k < S::TILES; ++k) {
        const u32 of_tile = __shfl_sync(ALL_LANES, affected, k * S::SIDE);
        if (of_tile) lists.push_affected<VOLUME>(set, {t.x + k, t.y, t.z}, of_tile, lane);
    }
}

// Applies the stopping criterion, in the arithmetic of the host (src/level_set/convergence.rs): the statistics of
// iterations first .. context.iteration are added to the check interval, which ends here if `test`. Both are in device
// memory. The only warp of the grid calls it.
__device__ __forceinline__ void check_convergence(const IterationContext &context, u64 first, bool test,
                                                  const StoppingCriterion &criterion, u32 lane)
{
    if (!context.continues()) return;
    ConvergenceState &convergence = *context.convergence;
    u64 near = 0, squares = 0;
    bool done = true;
    // 1. The statistics are read from the last iteration backwards, one iteration per lane. The number of voxels inside
    //    after an iteration is the number after the last one, minus the later changes.
    long long inside =
        __ldcg(&convergence.inside[context.iteration & 1]) + __ldcg(&context.statistics_of(context.iteration)->inside);
    long long inside_sum = 0, most = 0, fewest = 0x7FFFFFFFFFFFFFFFll;
    for (u64 last = context.iteration; last + 1 > first; last -= min(last + 1 - first, static_cast<u64>(WARP))) {
        const bool is_added = last >= first + lane;
        const IterationStatistics *statistics = context.statistics_of(is_added ? last - lane : last);
        const long long added = is_added ? __ldcg(&statistics->inside) : 0;
        if (is_added) {
            done = done && __ldcg(&statistics->done) != 0;
            near += __ldcg(&statistics->near), squares += __ldcg(&statistics->squares) >> SQUARES_SHIFT;
        }
        const long long later = lanes_inclusive_sum(added, lane);
        if (is_added) {
            const long long here = inside - (later - added);
            inside_sum += here, most = max(most, here), fewest = min(fewest, here);
        }
        inside -= __shfl_sync(ALL_LANES, later, WARP - 1);
    }
    // 2. The sums and extremes over all lanes are computed. Nothing is counted unless all of these iterations were done.
    if (!__all_sync(ALL_LANES, done)) return;
    near = lanes_total(near), squares = lanes_total(squares), inside_sum = lanes_total(inside_sum);
#pragma unroll
    for (u32 offset = WARP / 2; offset > 0; offset /= 2) {
        most = max(most, __shfl_xor_sync(ALL_LANES, most, offset));
        fewest = min(fewest, __shfl_xor_sync(ALL_LANES, fewest, offset));
    }
    // 3. One lane adds them to those of the interval so far. If a batch ends within the interval, they are kept for the
    //    next launch.
    if (lane != 0) return;
    const u64 sum = convergence.inside_sum + static_cast<u64>(inside_sum);
    near += convergence.near_sum, squares += convergence.squares_sum;
    const u64 interval_most = max(convergence.most, static_cast<u64>(most)),
              interval_fewest = max(convergence.fewest, ~static_cast<u64>(fewest));
    if (!test) {
        convergence.inside_sum = sum, convergence.near_sum = near, convergence.squares_sum = squares;
        convergence.most = interval_most, convergence.fewest = interval_fewest;
        return;
    }
    // 4. The interval is over, and the criterion is tested. The front is at rest if the mean number of voxels inside has
    //    drifted little since the previous interval, the number oscillates little within this one, and phi changes little
    //    near the front. The first interval has no previous one and never ends the run.
    const u64 last = convergence.inside_before;
    const double near_total = static_cast<double>(max(near, static_cast<u64>(1)));
    const double drift = static_cast<double>(sum > last ? sum - last : last - sum) / near_total;
    const double oscillation =
        static_cast<double>(interval_most - ~interval_fewest) * static_cast<double>(criterion.check_interval) / near_total;
    constexpr double SQUARES_UNIT = (1 << SQUARES_SHIFT) / static_cast<double>(SQUARE_ONE);
    const double rms = sqrt(static_cast<double>(squares) * SQUARES_UNIT / near_total);
    const auto [change_tolerance, rms_tolerance, interval] = criterion;
    const bool never = change_tolerance == 0.0 && rms_tolerance == 0.0;
    const bool still = drift <= change_tolerance && oscillation <= MAX_OSCILLATION * change_tolerance;
    if (!never && last != 0 && still && rms <= rms_tolerance) convergence.stopped = context.iteration + 1;
    // 5. The next interval begins, with this one as the one before.
    convergence.inside_before = sum;
    convergence.inside_sum = 0, convergence.near_sum = 0, convergence.squares_sum = 0, convergence.most = 0,
    convergence.fewest = 0;
}

// Prepares a row of a phi that came from outside; all lanes of a warp call it. It clamps values to +-far, replaces -0
// by 0 and fills the repeated elements beside the borders. found[0], in device memory, counts the own voxels inside. If
// `report_nonfinite`, found[1] becomes the complement of the smallest index of a value that is not finite, or stays 0.
__device__ __forceinline__ void sanitize_phi(float *phi, const LevelSetSetup &setup, float far, bool report_nonfinite,
                                             u64 *found, u64 row, u32 lane)
{
    float *line = phi + row * setup.pitch + LEAD;
    u32 inside = 0;
    for (u32 x = lane; x < setup.width; x += WARP) {
        float value = line[x];
        if (report_nonfinite && !(fabsf(value) <= cuda::std::numeric_limits<float>::max()))
            atomicMax(found + 1, ~(row * setup.width + x));
        value = value == 0.0f ? 0.0f : fminf(fmaxf(value, -far), far);
        line[x] = value;
        if (x == 0) line[-1] = value;
        if (x + 1 == setup.width) line[setup.width] = value;
        inside += value < 0.0f;
    }
    inside = lanes_total(inside);
    const bool is_own = row / setup.height - setup.own_first < setup.own_depth;
    if (lane == 0 && is_own && inside) atomicAdd(found, static_cast<u64>(inside));
}

// Returns the pixels of row y + z height of phi.
__device__ __forceinline__ const float *row_of(const float *phi, const LevelSetSetup &setup, u64 row)
{
    return phi + row * setup.pitch + LEAD;
}

// Writes a row of the mask, 255 where phi < 0, else 0; all lanes of a warp call it.
template <typename PHI>
__device__ __forceinline__ void write_mask(const PHI &phi, unsigned char *mask, u64 row_stride, u64 slice_stride,
                                          const LevelSetSetup &setup, u64 row, u32 lane)
{
    const auto line = row_of(phi, setup, row);
    unsigned char *to = mask + row / setup.height * slice_stride + row % setup.height * row_stride;
    for (u32 x = lane; x < setup.width; x += WARP) to[x] = line[x] < 0.0f ? 255 : 0;
}

// Counts, in a row, the voxels in the middle of the object, in device memory: found[0] counts the voxels that are inside
// together with all their neighbours along the axes; found[1] counts those of them whose intensity is farther from T than
// `inner`. A neighbour beyond the border counts as inside. All lanes of a warp call it. src/level_set/outcome.rs says what
// for.
template <typename PIXEL, typename PHI>
__device__ __forceinline__ void count_fit(const PHI &phi, const PIXEL *image, const LevelSetSetup &setup, float inner,
                                          bool volume, u64 *found, u64 row, u32 lane)
{
    const u32 y = static_cast<u32>(row % setup.height), z = static_cast<u32>(row / setup.height);
    const u64 plane = setup.height;   // rows
    const PIXEL *pixels = image + row * setup.pitch + LEAD;
    const auto line = row_of(phi, setup, row);
    const auto row_before = row_of(phi, setup, y > 0 ? row - 1 : row);
    const auto row_after = row_of(phi, setup, y + 1 < setup.height ? row + 1 : row);
    const auto plane_before = row_of(phi, setup, volume && z > 0 ? row - plane : row);
    const auto plane_after = row_of(phi, setup, volume && z + 1 < setup.depth ? row + plane : row);
    u32 middle = 0, at_limits = 0;
    for (u32 x = lane; x < setup.width; x += WARP) {
        const u32 left = x > 0 ? x - 1 : x, right = x + 1 < setup.width ? x + 1 : x;
        const bool is_middle = line[x] < 0.0f && line[left] < 0.0f && line[right] < 0.0f && row_before[x] < 0.0f &&
                               row_after[x] < 0.0f && plane_before[x] < 0.0f && plane_after[x] < 0.0f;
        if (!is_middle) continue;
        const float difference = __fsub_rn(static_cast<float>(pixels[x]), setup.intensity_centre);
        const float apart = __fmul_rn(difference, setup.open_side) > 0.0f ? 0.0f : fabsf(difference);
        ++middle;
        at_limits += !(apart <= inner);   // NaN is outside of every range
    }
    middle = lanes_total(middle), at_limits = lanes_total(at_limits);
    if (lane != 0 || middle == 0) return;
    atomicAdd(found, static_cast<u64>(middle));
    if (at_limits) atomicAdd(found + 1, static_cast<u64>(at_limits));
}

// Returns the level of a finite pixel, as `level` in src/level_set/regions.rs does.
__device__ __forceinline__ u32 region_level(const RegionLevels &levels, float pixel)
{
    if (levels.binary != 0) return pixel > 0.0f;
    return __float2uint_rz(__fadd_rn(__fmul_rn(__fsub_rn(pixel, levels.low), levels.scale), 0.5f));
}

// Adds the pixels of the own rows that a warp takes to the sums of both sides: found[0] of the voxels inside, found[1] of the
// others, in device memory. All lanes of a warp call it.
template <typename PIXEL, typename PHI>
__device__ __forceinline__ void sum_regions(const PHI &phi, const PIXEL *image, const LevelSetSetup &setup,
                                            const RegionLevels &levels, RegionSums *found, u64 first_row, u64 row_step,
                                            u32 lane)
{
    // A lane's sums of squares fit 64 bits: it has at most 2^25 pixels of a row, of 38 bits each, and where rows are as
    // long as that a warp has one.
    u64 count[2] = {}, sum[2] = {}, squares[2] = {};
    const u64 rows = static_cast<u64>(setup.height) * setup.own_depth, skipped = static_cast<u64>(setup.height) * setup.own_first;
    for (u64 row = skipped + first_row; row < skipped + rows; row += row_step) {
        const auto line = row_of(phi, setup, row);
        const PIXEL *pixels = image + row * setup.pitch + LEAD;
        for (u32 x = lane; x < setup.width; x += WARP) {
            const float pixel = static_cast<float>(pixels[x]);
            const bool is_inside = line[x] < 0.0f;
            if (!(fabsf(pixel) <= cuda::std::numeric_limits<float>::max())) continue;
            const u64 level = region_level(levels, pixel);
#pragma unroll
            for (u32 side = 0; side < 2; ++side) {
                const u64 counted = is_inside == (side == 0) ? 1 : 0;
                count[side] += counted, sum[side] += counted * level, squares[side] += counted * level * level;
            }
        }
    }
#pragma unroll
    for (u32 side = 0; side < 2; ++side) {
        count[side] = lanes_total(count[side]), sum[side] = lanes_total(sum[side]);
        const u64 low = lanes_total(squares[side] & 0xFFFFFFFFu), high = lanes_total(squares[side] >> 32);
        if (lane != 0 || count[side] == 0) continue;
        atomicAdd(&found[side].count, count[side]), atomicAdd(&found[side].sum, sum[side]);
        atomicAdd(&found[side].squares_low, low), atomicAdd(&found[side].squares_high, high);
    }
}
