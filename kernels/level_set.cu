// Level sets: phi' = phi + dt F |grad phi|, F = -alpha D(I) + (1 - alpha) H. src/level_set/scalar.rs is the definition.
//
//   dense every voxel of a volume: planes in registers, marching along z (level_set_dense.cuh) tiles tiles of 8^3 voxels
//   (16^2 in slices): the tiles of a list that the device makes, or all (level_set_tile.cuh, level_set_slice.cuh)
//   isoline_ls_reinitialise_* steps of a reinitialisation of the same tiles (level_set_reinit.cuh) activate_near_front,
//   check_convergence, sanitize_phi, write_mask the list of active tiles, the stopping criterion, import of phi and export
//   of the mask (level_set_support.cuh) marks the initial mask in bytes (level_set_marks.cuh) paper the paper's kernel, for
//   comparison (paper/level_set.cuh)
//
// A chain of launches runs without the host: each iteration begins by testing whether iterations go on, and adds to its own
// statistics, which `check_convergence` reads at the end of a check interval and of a batch. A launch of `tiles` or
// `isoline_ls_reinitialise_*` may do many iterations or steps with grid barriers between them. Kernels that may be launched
// early (programmatic dependent launch) wait for the previous launch themselves. The functions of this file are called by
// all threads of a grid, unless their comments say otherwise.
#include "level_set_dense.cuh"
#include "level_set_marks.cuh"
#include "level_set_reinit.cuh"
#include "level_set_support.cuh"
#include "paper/level_set.cuh"

// ------------------------------------------------------------------------------------------------ dense

// Does an iteration of every voxel of a volume, and adds its statistics.
template <typename PIXEL, bool UNIT>
__device__ __forceinline__ void dense_iteration(const float *from, float *to, const PIXEL *image,
                                                const LevelSetSetup &setup, const IterationContext &context,
                                                const DenseChunks &chunks)
{
    wait_for_previous_launch();
    PartialStatistics stats{};
    const bool done = dense<PIXEL, DENSE_ROWS, UNIT>(from, to, image, setup, context, chunks, stats);
    if (done) context.add(stats);
}

// Blocks of (32, DENSE_WARPS) threads, a chunk of planes each; the grid is that of dense().
#define ISOLINE_LS_DENSE(NAME, PIXEL, UNIT)                                                                          \
    extern "C" __global__ void __launch_bounds__(WARP *DENSE_WARPS, DENSE_BLOCKS)                                    \
    NAME(const float *from, float *to, const PIXEL *image, LevelSetSetup setup, IterationContext context,            \
         DenseChunks chunks)                                                                                         \
    {                                                                                                                \
        dense_iteration<PIXEL, UNIT>(from, to, image, setup, context, chunks);                                       \
    }
ISOLINE_LS_DENSE(isoline_ls_dense_u8_unit, unsigned char, true)
ISOLINE_LS_DENSE(isoline_ls_dense_u16_unit, unsigned short, true)
ISOLINE_LS_DENSE(isoline_ls_dense_f32_unit, float, true)
ISOLINE_LS_DENSE(isoline_ls_dense_u8, unsigned char, false)
ISOLINE_LS_DENSE(isoline_ls_dense_u16, unsigned short, false)
ISOLINE_LS_DENSE(isoline_ls_dense_f32, float, false)
#undef ISOLINE_LS_DENSE

// ------------------------------------------------------------------------------------------------ tiles

// Copies the tiles that were in the previous set (the list `last` with `before` entries) and are not in this set from one
// phi to the other; a warp copies half a tile. With PREFETCHED, `entry` is the warp's first entry, already loaded.
template <bool VOLUME, bool PREFETCHED, typename PHI>
__device__ __forceinline__ void copy_tiles_that_left(const PHI &from, const PHI &to, const LevelSetSetup &setup,
                                                     const TileLists &lists, const u64 *last, u32 set, u32 before,
                                                     u64 &entry, u32 first, u32 warps, u32 lane)
{
    for (u32 i = first; i < before * HALVES; i += warps) {
        if (!PREFETCHED || i != first) entry = __ldcg(last + i / HALVES);
        const TileIndex t = unpack_tile(entry);
        if (__ldcg(lists.stamp(set, t)) == set + 1) continue;
        if constexpr (VOLUME) copy_half(from, to, setup, t, i % HALVES, lane);
        else copy_slice_half(from, to, setup, t, i % HALVES, lane);
    }
}

// Does one iteration of the tiles in a set, or of all tiles. Returns false if iterations have ended, the same in all
// threads. With `activate`, the tiles affected by its changes are added to the next set.
template <typename PIXEL, bool VOLUME, bool UNIT, typename PHI>
__device__ __forceinline__ bool tile_iteration(float *shared, const PHI &from, const PHI &to, const PIXEL *image,
                                               const LevelSetSetup &setup, const IterationContext &context,
                                               const TileLists &lists, u32 set, bool activate)
{
    const u32 lane = threadIdx.x % WARP, first = blockIdx.x * ITERATION_WARPS + threadIdx.x / WARP;
    const u32 warps = gridDim.x * ITERATION_WARPS;
    const u64 *now = lists.list(set), *last = lists.list(set + LISTS - 1);   // of this set and of the one before

    // 1. Everything that must be known first is loaded in one round trip to memory. Entries of a list
    //    beyond its count are not used.
    const u32 active = lists.all() ? lists.tiles : __ldcg(lists.count(set));
    const u32 before = lists.all() ? 0 : __ldcg(lists.count(set + LISTS - 1));
    auto load_entry = [&](const u64 *list, u32 at) { return lists.all() || at >= lists.tiles ? 0 : __ldcg(list + at); };
    const PrefetchedEntry prefetched(first, [&](u32 at) { return load_entry(now, at); });
    u64 left = load_entry(last, first / HALVES);

    // 2. The iteration begins, unless iterations have ended. One thread empties the list of the set after the next one; it
    //    cannot be the next set's list, to which other blocks may already add tiles.
    if (!context.begin()) return false;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (!lists.all()) *lists.count(set + 2) = 0;
        context.statistics_of(context.iteration)->tiles = active;
    }

    // 3. The active tiles are split into parts, and each warp takes every `warps`-th part. A warp without a part goes
    //    through the loop once, because it copies tiles too.
    const TileSplit split = TileSplit::of<VOLUME>(active, warps);
    u64 entry = prefetched.for_split(split);
    PartialStatistics stats{};
    const u32 count = active * split.parts;
    for (u32 i = first; i == first || i < count; i += warps) {
        const bool works = i < count;
        const u32 at = split.tile(i);
        if (works && i != first && !lists.all()) entry = __ldcg(now + at);
        const TileIndex t = lists.all() ? lists.tile_at(at) : unpack_tile(entry);
        const TilePart part = split.part<VOLUME>(t, i);
        // 4. The copy of the part to shared memory starts. During the copy of the first part, the tiles that left the set
        //    are copied to the other phi, which does not have their latest values.
        if (works) {
            if constexpr (VOLUME) load_part(shared, from, setup, part, lane);
            else load_slice_half(shared, from, setup, t, i % HALVES, lane);
        }
        if (i == first)
            copy_tiles_that_left<VOLUME, true>(from, to, setup, lists, last, set, before, left, first, warps, lane);
        if (!works) break;
        // 5. The part is updated, and the tiles that its changes affect join the next set. The lanes wait for each other
        //    at the end, because the next part overwrites shared memory.
        TileActivity activity;
        if constexpr (VOLUME) update_part<PIXEL, UNIT>(shared, from, to, image, setup, part, lane, stats, activity);
        else update_slice_half<PIXEL, UNIT>(shared, from, to, image, setup, t, i % HALVES, lane, stats, activity);
        if (activate && !lists.all()) {
            const u32 affected = activity.warp_union();
            if (affected != 0)
                push_affected<VOLUME>(to, lists, context, context.iteration + 1, set + 1, t, affected, lane);
        }
        __syncwarp();
    }

    // 6. Each warp adds the sums of all its parts to the iteration's statistics.
    context.add(stats);
    return true;
}

// Does `count` iterations with a grid barrier between them. `activate` applies to the last iteration; the others always
// activate tiles. Each warp copies its tiles to its own part of shared memory.
template <typename PIXEL, bool VOLUME, bool UNIT, typename PHI>
__device__ __forceinline__ void
tile_iterations(PHI &from, PHI &to, const PIXEL *image, const LevelSetSetup &setup, IterationContext &context,
                const TileLists &lists, u32 &set, u32 activate, u32 count, u32 *arrivals)
{
    __shared__ __align__(16) float all[ITERATION_WARPS][VOLUME ? TILE_SHARED : SLICE_SHARED];
    float *shared = all[threadIdx.x / WARP];
    wait_for_previous_launch();
    for (u32 n = 1;; ++n) {
        const bool last = n == count;
        if (!tile_iteration<PIXEL, VOLUME, UNIT>(shared, from, to, image, setup, context, lists, set,
                                                 activate != 0 || !last))
            break;
        if (last) break;
        grid_barrier(arrivals, n * gridDim.x);
        const PHI old = from;
        from = to, to = old, ++set, ++context.iteration;
    }
}

// Blocks of 32 ITERATION_WARPS threads. If `count` is 1 the grid may have any size, otherwise all its blocks must be
// resident at once; `arrivals` is 0 before the launch.
#define ISOLINE_LS_TILES(NAME, PIXEL, VOLUME, UNIT)                                                                  \
    extern "C" __global__ void __launch_bounds__(WARP *ITERATION_WARPS, ITERATION_BLOCKS)                            \
    NAME(float *from, float *to, const PIXEL *image, LevelSetSetup setup, IterationContext context, TileLists lists, \
         u32 set, u32 activate, u32 count, u32 *arrivals)                                                           \
    {                                                                                                                \
        tile_iterations<PIXEL, VOLUME, UNIT>(from, to, image, setup, context, lists, set, activate, count,          \
                                             arrivals);                                                              \
    }
#define ISOLINE_LS_TILES_OF(TYPE, PIXEL)                                                                             \
    ISOLINE_LS_TILES(isoline_ls_tiles_3d_##TYPE##_unit, PIXEL, true, true)                                           \
    ISOLINE_LS_TILES(isoline_ls_tiles_3d_##TYPE, PIXEL, true, false)                                                 \
    ISOLINE_LS_TILES(isoline_ls_tiles_2d_##TYPE##_unit, PIXEL, false, true)                                          \
    ISOLINE_LS_TILES(isoline_ls_tiles_2d_##TYPE, PIXEL, false, false)
ISOLINE_LS_TILES_OF(u8, unsigned char)
ISOLINE_LS_TILES_OF(u16, unsigned short)
ISOLINE_LS_TILES_OF(f32, float)
ISOLINE_LS_TILES(isoline_ls_tiles_3d_edges, EdgePixel, true, false)
ISOLINE_LS_TILES(isoline_ls_tiles_2d_edges, EdgePixel, false, false)
#undef ISOLINE_LS_TILES_OF
#undef ISOLINE_LS_TILES

// ------------------------------------------------------------------------------------------------ reinitialisation

// Does the steps of the reinitialisation that follows context.iteration. All of them work on one set. The first step also
// copies the tiles that left the set; the last one, with `activate`, adds the tiles that the narrow band affects to the
// next set. Each warp copies its tiles to its own part of shared memory.
template <bool VOLUME, bool UNIT, typename PHI>
__device__ __forceinline__ void reinitialise(PHI from, PHI to, const LevelSetSetup &setup,
                                             const IterationContext &context, const TileLists &lists, u32 set,
                                             u32 steps, bool activate, u32 *arrivals)
{
    __shared__ __align__(16) float all[REINIT_WARPS][ReinitTile<VOLUME>::SHARED];
    float *shared = all[threadIdx.x / WARP];
    const u32 lane = threadIdx.x % WARP, first = blockIdx.x * REINIT_WARPS + threadIdx.x / WARP;
    const u32 warps = gridDim.x * REINIT_WARPS;
    const u64 *now = lists.list(set), *last = lists.list(set + LISTS - 1);   // of this set and of the one before
    wait_for_previous_launch();
    const u32 active = __ldcg(lists.count(set));
    const u32 before = __ldcg(lists.count(set + LISTS - 1));
    const PrefetchedEntry prefetched(first, [&](u32 at) { return at >= lists.tiles ? 0 : __ldcg(now + at); });
    if (!context.continues()) return;
    if (blockIdx.x == 0 && threadIdx.x == 0) *lists.count(set + 2) = 0;
    const u64 after_iteration = max(context.iteration, static_cast<u64>(1));
    const TileSplit split = TileSplit::of<VOLUME>(active, warps);
    const u64 first_entry = prefetched.for_split(split);
    const u32 count = active * split.parts;
#pragma unroll 1
    for (u32 k = 0;; ++k) {
        for (u32 i = first; i < count; i += warps) {
            const TileIndex t = unpack_tile(i == first ? first_entry : __ldcg(now + split.tile(i)));
            const TilePart part = split.part<VOLUME>(t, i);
            load_reinit_part<VOLUME>(shared, from, setup, part, lane);
            TileActivity activity;
            if constexpr (VOLUME) activity.affected = reinit_part<UNIT>(shared, to, setup, part, lane, k == 0);
            else activity.affected = reinit_slice_half<UNIT>(shared, to, setup, part, lane, k == 0);
            if (activate && k + 1 == steps) {
                const u32 affected = activity.warp_union();
                if (affected != 0) push_affected<VOLUME>(to, lists, context, after_iteration, set + 1, t, affected, lane);
            }
            __syncwarp();
        }
        if (k == 0) {
            u64 entry = 0;
            copy_tiles_that_left<VOLUME, false>(from, to, setup, lists, last, set, before, entry, first, warps, lane);
        }
        if (k + 1 == steps) break;
        grid_barrier(arrivals, (k + 1) * gridDim.x);
        const PHI old = from;
        from = to, to = old;
    }
}

// Blocks of 32 REINIT_WARPS threads; a grid and `arrivals` as for `tiles`.
#define ISOLINE_LS_REINITIALISE(NAME, VOLUME, UNIT)                                                                  \
    extern "C" __global__ void __launch_bounds__(WARP *REINIT_WARPS)                                                 \
    NAME(float *from, float *to, LevelSetSetup setup, IterationContext context, TileLists lists, u32 set,           \
         u32 steps, u32 activate, u32 *arrivals)                                                                     \
    {                                                                                                                \
        reinitialise<VOLUME, UNIT>(from, to, setup, context, lists, set, steps, activate != 0, arrivals);           \
    }
ISOLINE_LS_REINITIALISE(isoline_ls_reinitialise_3d_unit, true, true)
ISOLINE_LS_REINITIALISE(isoline_ls_reinitialise_3d, true, false)
ISOLINE_LS_REINITIALISE(isoline_ls_reinitialise_2d_unit, false, true)
ISOLINE_LS_REINITIALISE(isoline_ls_reinitialise_2d, false, false)
#undef ISOLINE_LS_REINITIALISE

// ------------------------------------------------------------------------------------------------ active tiles

// Adds the tiles that the narrow band affects to a set, for the reinitialisation that follows context.iteration or the
// first iteration. `copy`, if not null, becomes a copy of phi.
template <bool VOLUME>
__device__ __forceinline__ void activate_near_front(const float *phi, float *copy, const LevelSetSetup &setup,
                                                    const IterationContext &context, const TileLists &lists, u32 set)
{
    constexpr u32 TILES = NearTiles<VOLUME>::TILES;
    const u32 across = (lists.tiles_x + TILES - 1) / TILES, rows = lists.tiles_y * lists.tiles_z;
    wait_for_previous_launch();
    if (!context.continues()) return;
    for (u32 i = blockIdx.x * LOOP_WARPS + threadIdx.x / WARP; i < across * rows; i += gridDim.x * LOOP_WARPS) {
        const u32 row = i / across;
        activate_near_tiles<VOLUME>(phi, copy, setup, lists, set,
                                    {i % across * TILES, row % lists.tiles_y, row / lists.tiles_y}, threadIdx.x % WARP);
    }
}

// Blocks of 32 LOOP_WARPS threads, any grid. A warp has as many adjacent tiles as NearTiles says.
#define ISOLINE_LS_ACTIVATE(NAME, VOLUME)                                                                            \
    extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS, MARK_BLOCKS)                                      \
    NAME(const float *phi, float *copy, LevelSetSetup setup, IterationContext context, TileLists lists, u32 set)    \
    {                                                                                                                \
        activate_near_front<VOLUME>(phi, copy, setup, context, lists, set);                                         \
    }
ISOLINE_LS_ACTIVATE(isoline_ls_activate_near_front_3d, true)
ISOLINE_LS_ACTIVATE(isoline_ls_activate_near_front_2d, false)
#undef ISOLINE_LS_ACTIVATE

// ------------------------------------------------------------------------------------------------ stop, import, export

// One warp, which checks convergence.
extern "C" __global__ void __launch_bounds__(WARP)
    isoline_ls_check_convergence(IterationContext context, u64 first, u32 test, StoppingCriterion criterion)
{
    wait_for_previous_launch();
    check_convergence(context, first, test != 0, criterion, threadIdx.x);
}

// Calls body(row, lane) for the rows of some slices of phi; a warp has a row.
template <typename BODY>
__device__ __forceinline__ void for_each_row_of(const LevelSetSetup &setup, u32 first_slice, u32 slices, const BODY &body)
{
    const u64 first = static_cast<u64>(setup.height) * first_slice, rows = static_cast<u64>(setup.height) * slices;
    for (u64 row = blockIdx.x * LOOP_WARPS + threadIdx.x / WARP; row < rows; row += gridDim.x * LOOP_WARPS)
        body(first + row, threadIdx.x % WARP);
}
// Does the same for all rows.
template <typename BODY>
__device__ __forceinline__ void for_each_row(const LevelSetSetup &setup, const BODY &body)
{
    for_each_row_of(setup, 0, setup.depth, body);
}

// Blocks of 32 LOOP_WARPS threads, any grid. Not launched early.
extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)
isoline_ls_sanitize_phi(float *phi, LevelSetSetup setup, float far, u32 report_nonfinite, u64 *found)
{
    for_each_row(setup, [&](u64 row, u32 lane) {
        sanitize_phi(phi, setup, far, report_nonfinite != 0, found, row, lane);
    });
}

// Blocks of 32 LOOP_WARPS threads, any grid. Not launched early.
extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)
isoline_ls_write_mask(const float *phi, unsigned char *mask, u64 row_stride, u64 slice_stride, LevelSetSetup setup)
{
    for_each_row(setup, [&](u64 row, u32 lane) { write_mask(phi, mask, row_stride, slice_stride, setup, row, lane); });
}

// Blocks of 32 LOOP_WARPS threads, any grid. Not launched early. See count_fit().
#define ISOLINE_LS_FIT(NAME, PIXEL)                                                                                  \
    extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)                                                   \
    NAME(const float *phi, const PIXEL *image, LevelSetSetup setup, float inner, u32 volume, u64 *found)            \
    {                                                                                                                \
        for_each_row_of(setup, setup.own_first, setup.own_depth, [&](u64 row, u32 lane) {                            \
            count_fit(phi, image, setup, inner, volume != 0, found, row, lane);                                      \
        });                                                                                                          \
    }
ISOLINE_LS_FIT(isoline_ls_fit_u8, unsigned char)
ISOLINE_LS_FIT(isoline_ls_fit_u16, unsigned short)
ISOLINE_LS_FIT(isoline_ls_fit_f32, float)
ISOLINE_LS_FIT(isoline_ls_fit_edges, EdgePixel)
#undef ISOLINE_LS_FIT

// Blocks of 32 LOOP_WARPS threads, any grid. Not launched early. See sum_regions().
#define ISOLINE_LS_REGIONS(NAME, PIXEL)                                                                              \
    extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)                                                   \
    NAME(const float *phi, const PIXEL *image, LevelSetSetup setup, RegionLevels levels, RegionSums *found)         \
    {                                                                                                                \
        sum_regions(phi, image, setup, levels, found, blockIdx.x * LOOP_WARPS + threadIdx.x / WARP,                 \
                    gridDim.x * LOOP_WARPS, threadIdx.x % WARP);                                                     \
    }
ISOLINE_LS_REGIONS(isoline_ls_regions_u8, unsigned char)
ISOLINE_LS_REGIONS(isoline_ls_regions_u16, unsigned short)
ISOLINE_LS_REGIONS(isoline_ls_regions_f32, float)
ISOLINE_LS_REGIONS(isoline_ls_regions_edges, EdgePixel)
#undef ISOLINE_LS_REGIONS

// ------------------------------------------------------------------------------------------------ sparse phi

// The kernels above for a sparse phi of a volume, with any spacing.
#define ISOLINE_LS_SPARSE_OF(TYPE, PIXEL)                                                                            \
    extern "C" __global__ void __launch_bounds__(WARP *ITERATION_WARPS, ITERATION_BLOCKS)                            \
    isoline_ls_sparse_tiles_3d_##TYPE(SparsePhi from, SparsePhi to, const PIXEL *image, LevelSetSetup setup,           \
                                   IterationContext context, TileLists lists, u32 set, u32 activate, u32 count,     \
                                   u32 *arrivals)                                                                   \
    {                                                                                                                \
        tile_iterations<PIXEL, true, false>(from, to, image, setup, context, lists, set, activate, count, arrivals); \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)                                                   \
    isoline_ls_sparse_fit_##TYPE(SparsePhi phi, const PIXEL *image, LevelSetSetup setup, float inner, u32 volume,   \
                                 u64 *found)                                                                        \
    {                                                                                                                \
        for_each_row_of(setup, setup.own_first, setup.own_depth, [&](u64 row, u32 lane) {                            \
            count_fit(phi, image, setup, inner, volume != 0, found, row, lane);                                      \
        });                                                                                                          \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)                                                   \
    isoline_ls_sparse_regions_##TYPE(SparsePhi phi, const PIXEL *image, LevelSetSetup setup, RegionLevels levels,   \
                                     RegionSums *found)                                                             \
    {                                                                                                                \
        sum_regions(phi, image, setup, levels, found, blockIdx.x * LOOP_WARPS + threadIdx.x / WARP,                 \
                    gridDim.x * LOOP_WARPS, threadIdx.x % WARP);                                                     \
    }
ISOLINE_LS_SPARSE_OF(u8, unsigned char)
ISOLINE_LS_SPARSE_OF(u16, unsigned short)
ISOLINE_LS_SPARSE_OF(f32, float)
#undef ISOLINE_LS_SPARSE_OF

extern "C" __global__ void __launch_bounds__(WARP *REINIT_WARPS)
isoline_ls_sparse_reinitialise_3d(SparsePhi from, SparsePhi to, LevelSetSetup setup, IterationContext context,
                               TileLists lists, u32 set, u32 steps, u32 activate, u32 *arrivals)
{
    reinitialise<true, false>(from, to, setup, context, lists, set, steps, activate != 0, arrivals);
}

extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)
isoline_ls_sparse_activate_near_front_3d(SparsePhi phi, const float *, LevelSetSetup setup, IterationContext context,
                                         TileLists lists, u32 set)
{
    wait_for_previous_launch();
    if (context.continues()) activate_near_sparse_front(phi, setup, context, lists, set);
}

// Blocks of 32 LOOP_WARPS threads, any grid. See release_far_tiles().
extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)
isoline_ls_sparse_release(SparsePhi phi, IterationContext context, TileLists lists, u32 set, u32 sets)
{
    wait_for_previous_launch();
    if (context.continues()) release_far_tiles(phi, lists, set, sets);
}

// Blocks of 32 LOOP_WARPS threads, any grid. Not launched early. All places become free, and every tile is far outside.
extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS) isoline_ls_sparse_clear(SparsePhi phi)
{
    const u64 first = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x, step = static_cast<u64>(gridDim.x) * blockDim.x;
    for (u64 i = first; i < phi.places; i += step) phi.free_places[i] = phi.places - 1 - static_cast<u32>(i);
    const u64 tiles = static_cast<u64>(phi.tiles_x) * phi.tiles_y * phi.tiles_z;
    for (u64 i = first; i < tiles; i += step) phi.table[i] = FAR_OUTSIDE;
    if (first == 0) phi.counts[0] = phi.places, phi.counts[1] = 0;
}

// Blocks of 32 LOOP_WARPS threads, any grid. Not launched early. See import_tiles().
extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)
isoline_ls_sparse_import(SparsePhi phi, LevelSetSetup setup, const float *from, u32 planes, u32 stores, u64 *found)
{
    import_tiles(phi, setup, from, planes, stores != 0, found);
}

// Blocks of 32 LOOP_WARPS threads, any grid. Not launched early.
extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)
isoline_ls_sparse_write_mask(SparsePhi phi, unsigned char *mask, u64 row_stride, u64 slice_stride, LevelSetSetup setup)
{
    for_each_row(setup, [&](u64 row, u32 lane) { write_mask(phi, mask, row_stride, slice_stride, setup, row, lane); });
}

// Writes phi of setup.depth slices from phi.first_slice on, with strides in bytes. Blocks of 32 LOOP_WARPS threads, any grid.
// Not launched early.
extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)
isoline_ls_sparse_write_phi(SparsePhi phi, char *to, u64 row_stride, u64 slice_stride, LevelSetSetup setup)
{
    for_each_row(setup, [&](u64 row, u32 lane) {
        const auto line = row_of(phi, setup, row);
        float *out = reinterpret_cast<float *>(to + row / setup.height * slice_stride + row % setup.height * row_stride);
        for (u32 x = lane; x < setup.width; x += WARP) out[x] = line[x];
    });
}

// ------------------------------------------------------------------------------------------------ initial mask

// Block 32 LOOP_WARPS, any grid. Not launched early. See marks().
extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)
isoline_ls_marks_u16(const unsigned char *mask, u64 row_stride, u64 slice_stride, u32 width, u32 height, u32 depth,
                     unsigned char *to)
{
    marks<unsigned short>(mask, row_stride, slice_stride, width, height, depth, to);
}

extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)
isoline_ls_marks_f32(const unsigned char *mask, u64 row_stride, u64 slice_stride, u32 width, u32 height, u32 depth,
                     unsigned char *to)
{
    marks<float>(mask, row_stride, slice_stride, width, height, depth, to);
}

// See paper().
extern "C" __global__ void __launch_bounds__(PAPER_X *PAPER_Y)
isoline_ls_paper(const float *from, float *to, const float *image, LevelSetSetup setup)
{
    paper(from, to, image, setup);
}
