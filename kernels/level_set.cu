// Level sets: phi' = phi + dt F |grad phi|, F = -alpha D(I) + (1 - alpha) H; the definition is src/level_set/scalar.rs.
//
//   dense   every voxel of a volume: planes in registers, marching along z (level_set_dense.cuh)
//   tile    tiles of 8^3 (slices: 16^2): those on a list that is made on the device, or all (level_set_tile.cuh,
//           level_set_slice.cuh); restep: a step of a reinitialisation of the same tiles (level_set_restep.cuh)
//   rest    which tiles are near the front, the stop rule, phi and the mask in and out (level_set_rest.cuh)
//   paper   the paper's own design, for comparison (level_set_paper.cuh)
//
// A chain of launches without the host: each iteration counts into its own row of statistics, `judge` looks at them at the
// end of a check interval, and every launch begins by asking whether iterations go on. All kernels wait for the launch
// ahead by themselves (programmatic dependent launch).
#include "level_set_dense.cuh"
#include "level_set_paper.cuh"
#include "level_set_rest.cuh"
#include "level_set_restep.cuh"

// Block (32, DENSE_WARPS); see dense().
#define ISOLINE_LS_DENSE(NAME, PIXEL, UNIT)                                                                          \
    extern "C" __global__ void __launch_bounds__(WARP *DENSE_WARPS, DENSE_BLOCKS)                                    \
    NAME(const float *from, float *to, const PIXEL *image, LevelSetField field, LevelSetTurn turn, u32 share,        \
         u32 longer)                                                                                                 \
    {                                                                                                                \
        wait_for_previous_launch();                                                                                  \
        Tally tally;                                                                                                 \
        const bool done = dense<PIXEL, DENSE_ROWS, UNIT>(from, to, image, field, turn, share, longer, tally);        \
        if (done) turn.add(tally, threadIdx.x);                                                                      \
    }
ISOLINE_LS_DENSE(isoline_ls_dense_u8_unit, unsigned char, true)
ISOLINE_LS_DENSE(isoline_ls_dense_u16_unit, unsigned short, true)
ISOLINE_LS_DENSE(isoline_ls_dense_f32_unit, float, true)
ISOLINE_LS_DENSE(isoline_ls_dense_u8, unsigned char, false)
ISOLINE_LS_DENSE(isoline_ls_dense_u16, unsigned short, false)
ISOLINE_LS_DENSE(isoline_ls_dense_f32, float, false)
#undef ISOLINE_LS_DENSE

// Tiles of this step's set, or all. `wake`: those that moved go into the next step's set with their neighbours.
template <typename PIXEL, bool VOLUME, bool UNIT>
__device__ __forceinline__ void tiles(const float *from, float *to, const PIXEL *image, const LevelSetField &field,
                                      const LevelSetTurn &turn, const TileLists &lists, u32 step, bool wake)
{
    __shared__ __align__(16) float all[TILE_WARPS][VOLUME ? TILE_SHARED : SLICE_SHARED];
    const u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, stride = gridDim.x * TILE_WARPS;
    const u64 *now = lists.list(step), *last = lists.list(step + RING - 1);
    wait_for_previous_launch();
    // One trip to memory for all that is to be known first; what is on a list beyond its count is not used.
    const u32 own = lists.all() ? lists.tiles : __ldcg(lists.counts + step % RING);
    const u32 before = lists.all() ? 0 : __ldcg(lists.counts + (step + RING - 1) % RING);
    const u32 mine = (blockIdx.x * TILE_WARPS + warp) / HALVES;
    u64 entry = lists.all() || mine >= lists.tiles ? 0 : __ldcg(now + mine);
    if (!turn.begin()) return;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (!lists.all()) lists.counts[(step + 2) % RING] = 0;
        turn.row(turn.iteration)->tiles = own;
    }
    Tally tally;
    // What fell out of the set. Trips to memory, while a tile is on its way.
    auto copy_fallen = [&]() {
        for (u64 i = blockIdx.x * TILE_WARPS + warp; i < static_cast<u64>(before) * HALVES; i += stride) {
            const TilePlace t = unpack_tile(__ldcg(last + i / HALVES));
            if (__ldcg(lists.stamp(step, t)) == step + 1) continue;
            if constexpr (VOLUME) copy_half(from, to, field, t, i % HALVES, lane);
            else copy_slice_half(from, to, field, t, i % HALVES, lane);
        }
    };
    bool copied = false;
    for (u64 i = blockIdx.x * TILE_WARPS + warp; !copied || i < static_cast<u64>(own) * HALVES; i += stride) {
        if (i >= static_cast<u64>(own) * HALVES) {
            copy_fallen();
            break;
        }
        const u32 half = i % HALVES, at = static_cast<u32>(i / HALVES);
        if (at != mine && !lists.all()) entry = __ldcg(now + at);
        const TilePlace t = lists.all() ? lists.place(at) : unpack_tile(entry);
        TileNews news;
        if constexpr (VOLUME) load_half(all[warp], from, field, t, half, lane);
        else load_slice_half(all[warp], from, field, t, half, lane);
        if (!copied) copy_fallen();
        copied = true;
        if constexpr (VOLUME) update_half<PIXEL, UNIT>(all[warp], to, image, field, t, half, lane, tally, news);
        else update_slice_half<PIXEL, UNIT>(all[warp], to, image, field, t, half, lane, tally, news);
        if (__any_sync(ALL_LANES, news.moved) && wake && !lists.all()) lists.push_around<VOLUME>(step + 1, t, lane);
        __syncwarp();
    }
    turn.add(tally, lane);
}

// Block 128, any grid.
#define ISOLINE_LS_TILES(NAME, PIXEL, VOLUME, UNIT)                                                                  \
    extern "C" __global__ void __launch_bounds__(WARP *TILE_WARPS, 5)                                                \
    NAME(const float *from, float *to, const PIXEL *image, LevelSetField field, LevelSetTurn turn, TileLists lists,  \
         u32 step, u32 wake)                                                                                         \
    {                                                                                                                \
        tiles<PIXEL, VOLUME, UNIT>(from, to, image, field, turn, lists, step, wake != 0);                            \
    }
#define ISOLINE_LS_TILES_OF(TYPE, PIXEL)                                                                             \
    ISOLINE_LS_TILES(isoline_ls_tiles_3d_##TYPE##_unit, PIXEL, true, true)                                           \
    ISOLINE_LS_TILES(isoline_ls_tiles_3d_##TYPE, PIXEL, true, false)                                                 \
    ISOLINE_LS_TILES(isoline_ls_tiles_2d_##TYPE##_unit, PIXEL, false, true)                                          \
    ISOLINE_LS_TILES(isoline_ls_tiles_2d_##TYPE, PIXEL, false, false)
ISOLINE_LS_TILES_OF(u8, unsigned char)
ISOLINE_LS_TILES_OF(u16, unsigned short)
ISOLINE_LS_TILES_OF(f32, float)
#undef ISOLINE_LS_TILES_OF
#undef ISOLINE_LS_TILES

// A step of the reinitialisation that follows turn.iteration: all its steps work on the set of one number. The first also
// copies what fell out of the set; the last, where iterations have sets, puts the tiles within the band into the next set with their neighbours.
template <bool VOLUME, bool UNIT>
__device__ __forceinline__ void resteps(const float *from, float *to, const LevelSetField &field, const LevelSetTurn &turn,
                                        const TileLists &lists, u32 step, bool first, bool last_)
{
    __shared__ __align__(16) float all[TILE_WARPS][RestepShape<VOLUME>::SHARED];
    const u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, stride = gridDim.x * TILE_WARPS;
    const u64 *now = lists.list(step), *last = lists.list(step + RING - 1);
    wait_for_previous_launch();
    const u32 own = __ldcg(lists.counts + step % RING);
    const u32 before = first ? __ldcg(lists.counts + (step + RING - 1) % RING) : 0;
    const u32 mine = (blockIdx.x * TILE_WARPS + warp) / HALVES;
    u64 entry = mine >= lists.tiles ? 0 : __ldcg(now + mine);
    if (!turn.follows()) return;
    if (first && blockIdx.x == 0 && threadIdx.x == 0) lists.counts[(step + 2) % RING] = 0;
    for (u64 i = blockIdx.x * TILE_WARPS + warp; i < static_cast<u64>(own) * HALVES; i += stride) {
        const u32 half = i % HALVES, at = static_cast<u32>(i / HALVES);
        if (at != mine) entry = __ldcg(now + at);
        const TilePlace t = unpack_tile(entry);
        load_restep<VOLUME>(all[warp], from, field, t, half, lane);
        bool near;
        if constexpr (VOLUME) near = restep_volume_half<UNIT>(all[warp], to, field, t, half, lane, first);
        else near = restep_half<VOLUME, UNIT>(all[warp], to, field, t, half, lane, first);
        if (last_ && __any_sync(ALL_LANES, near)) lists.push_around<VOLUME>(step + 1, t, lane);
        __syncwarp();
    }
    for (u64 i = blockIdx.x * TILE_WARPS + warp; i < static_cast<u64>(before) * HALVES; i += stride) {
        const TilePlace t = unpack_tile(__ldcg(last + i / HALVES));
        if (__ldcg(lists.stamp(step, t)) == step + 1) continue;
        if constexpr (VOLUME) copy_half(from, to, field, t, i % HALVES, lane);
        else copy_slice_half(from, to, field, t, i % HALVES, lane);
    }
}

#define ISOLINE_LS_RESTEP(NAME, VOLUME, UNIT)                                                                        \
    extern "C" __global__ void __launch_bounds__(WARP *TILE_WARPS)                                                   \
    NAME(const float *from, float *to, LevelSetField field, LevelSetTurn turn, TileLists lists, u32 step, u32 first, \
         u32 last)                                                                                                   \
    {                                                                                                                \
        resteps<VOLUME, UNIT>(from, to, field, turn, lists, step, first != 0, last != 0);                            \
    }
ISOLINE_LS_RESTEP(isoline_ls_restep_3d_unit, true, true)
ISOLINE_LS_RESTEP(isoline_ls_restep_3d, true, false)
ISOLINE_LS_RESTEP(isoline_ls_restep_2d_unit, false, true)
ISOLINE_LS_RESTEP(isoline_ls_restep_2d, false, false)
#undef ISOLINE_LS_RESTEP

// Block 128, any grid: a warp a tile. Of what follows turn.iteration.
#define ISOLINE_LS_MARK(NAME, VOLUME)                                                                                \
    extern "C" __global__ void __launch_bounds__(WARP *TILE_WARPS)                                                   \
    NAME(const float *phi, float *copy, LevelSetField field, LevelSetTurn turn, TileLists lists, u32 step)           \
    {                                                                                                                \
        wait_for_previous_launch();                                                                                  \
        if (!turn.follows()) return;                                                                                 \
        for (u64 i = blockIdx.x * TILE_WARPS + threadIdx.x / WARP; i < lists.tiles; i += gridDim.x * TILE_WARPS)     \
            mark<VOLUME>(phi, copy, field, lists, step, static_cast<u32>(i), threadIdx.x % WARP);                    \
    }
ISOLINE_LS_MARK(isoline_ls_mark_3d, true)
ISOLINE_LS_MARK(isoline_ls_mark_2d, false)
#undef ISOLINE_LS_MARK

// One warp.
extern "C" __global__ void __launch_bounds__(WARP) isoline_ls_judge(LevelSetTurn turn, u64 first, u32 test, double unit,
                                                                    double change_tolerance, double rms_tolerance)
{
    wait_for_previous_launch();
    judge(turn, first, test != 0, unit, change_tolerance, rms_tolerance, threadIdx.x);
}

// Block 128, any grid: a warp a row. Not launched early.
#define ISOLINE_LS_ROWS(CALL)                                                                                        \
    const u64 rows = static_cast<u64>(field.height) * field.depth;                                                   \
    for (u64 row = blockIdx.x * TILE_WARPS + threadIdx.x / WARP; row < rows; row += gridDim.x * TILE_WARPS) CALL;
extern "C" __global__ void __launch_bounds__(WARP *TILE_WARPS)
isoline_ls_settle(float *phi, LevelSetField field, float far, u32 strict, u64 *found)
{
    ISOLINE_LS_ROWS(settle(phi, field, far, strict != 0, found, row, threadIdx.x % WARP))
}
extern "C" __global__ void __launch_bounds__(WARP *TILE_WARPS)
isoline_ls_replace_missing(float *image, LevelSetField field, float missing)
{
    ISOLINE_LS_ROWS(replace_missing(image, field, missing, row, threadIdx.x % WARP))
}
extern "C" __global__ void __launch_bounds__(WARP *TILE_WARPS)
isoline_ls_mask(const float *phi, unsigned char *mask, u64 row_stride, u64 slice_stride, LevelSetField field)
{
    ISOLINE_LS_ROWS(read_mask(phi, mask, row_stride, slice_stride, field, row, threadIdx.x % WARP))
}
#undef ISOLINE_LS_ROWS

// See paper().
extern "C" __global__ void isoline_ls_paper_u8(const float *from, float *to, const unsigned char *image, LevelSetField field)
{
    paper(from, to, image, field);
}
