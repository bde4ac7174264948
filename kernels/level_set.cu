// Level sets: phi' = phi + dt F |grad phi|, F = -alpha D(I) + (1 - alpha) H; the definition is src/level_set/scalar.rs.
//
//   dense   every voxel of a volume: planes in registers, marching along z (level_set_dense.cuh)
//   tiles   of 8^3 (slices: 16^2): those on a list that is made on the device, or all (level_set_tile.cuh,
//           level_set_slice.cuh); restep: steps of a reinitialisation of the same tiles (level_set_restep.cuh)
//   rest    which tiles are near the front, the stop rule, phi and the mask in and out (level_set_rest.cuh)
//   paper   the paper's kernel, for comparison (level_set_paper.cuh)
//
// A chain of launches without the host: each iteration begins by asking whether iterations go on, and counts into its own
// row of statistics, at which `judge` looks at the end of a check interval. A launch of `tiles` or `restep` may do many
// iterations or steps, between which its blocks meet. Kernels that may be launched early (programmatic dependent launch)
// wait for the launch ahead by themselves.
#include "level_set_dense.cuh"
#include "level_set_paper.cuh"
#include "level_set_rest.cuh"
#include "level_set_restep.cuh"

// Block (32, DENSE_WARPS), a column of planes' chunk; see dense().
#define ISOLINE_LS_DENSE(NAME, PIXEL, UNIT)                                                                          \
    extern "C" __global__ void __launch_bounds__(WARP *DENSE_WARPS, DENSE_BLOCKS)                                    \
    NAME(const float *from, float *to, const PIXEL *image, LevelSetField field, LevelSetTurn turn,                   \
         DenseShares shares)                                                                                         \
    {                                                                                                                \
        wait_for_previous_launch();                                                                                  \
        Tally tally;                                                                                                 \
        const bool done = dense<PIXEL, DENSE_ROWS, UNIT>(from, to, image, field, turn, shares, tally);               \
        if (done) turn.add(tally, threadIdx.x);                                                                      \
    }
ISOLINE_LS_DENSE(isoline_ls_dense_u8_unit, unsigned char, true)
ISOLINE_LS_DENSE(isoline_ls_dense_u16_unit, unsigned short, true)
ISOLINE_LS_DENSE(isoline_ls_dense_f32_unit, float, true)
ISOLINE_LS_DENSE(isoline_ls_dense_u8, unsigned char, false)
ISOLINE_LS_DENSE(isoline_ls_dense_u16, unsigned short, false)
ISOLINE_LS_DENSE(isoline_ls_dense_f32, float, false)
#undef ISOLINE_LS_DENSE

// An iteration of the tiles in the set of `step`, or of all; whether iterations go on, which is the same in all threads.
// `wake`: tiles that moved go into the next step's set with their neighbours. `shared`: the warp's.
template <typename PIXEL, bool VOLUME, bool UNIT>
__device__ __forceinline__ bool tiles(float *shared, const float *from, float *to, const PIXEL *image,
                                      const LevelSetField &field, const LevelSetTurn &turn, const TileLists &lists,
                                      u32 step, bool wake)
{
    const u32 lane = threadIdx.x % WARP, first = blockIdx.x * ITERATION_WARPS + threadIdx.x / WARP;
    const u32 warps = gridDim.x * ITERATION_WARPS;
    const u64 *now = lists.list(step), *last = lists.list(step + RING - 1);
    // One trip to memory for all that is to be known first; what is on a list beyond its count is not used.
    const u32 own = lists.all() ? lists.tiles : __ldcg(lists.counts + step % RING);
    const u32 before = lists.all() ? 0 : __ldcg(lists.counts + (step + RING - 1) % RING);
    auto peek = [&](const u64 *list, u32 at) { return lists.all() || at >= lists.tiles ? 0 : __ldcg(list + at); };
    const FirstEntry peeked(first, [&](u32 at) { return peek(now, at); });
    u64 fallen = peek(last, first / HALVES);
    if (!turn.begin()) return false;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (!lists.all()) lists.counts[(step + 2) % RING] = 0;
        turn.row(turn.iteration)->tiles = own;
    }
    const Split split = Split::of<VOLUME>(own, warps);
    u64 entry = peeked.in(split);
    Tally tally;
    // What fell out of the set. Trips to memory, while a tile is on its way.
    auto copy_fallen = [&]() {
        for (u32 i = first; i < before * HALVES; i += warps) {
            if (i != first) fallen = __ldcg(last + i / HALVES);
            const TilePlace t = unpack_tile(fallen);
            if (__ldcg(lists.stamp(step, t)) == step + 1) continue;
            if constexpr (VOLUME) copy_half(from, to, field, t, i % HALVES, lane);
            else copy_slice_half(from, to, field, t, i % HALVES, lane);
        }
    };
    const u32 count = own * split.pieces;
    for (u32 i = first; i == first || i < count; i += warps) {
        const bool works = i < count;
        const u32 at = split.tile(i);
        if (works && i != first && !lists.all()) entry = __ldcg(now + at);
        const TilePlace t = lists.all() ? lists.place(at) : unpack_tile(entry);
        const Piece piece = split.piece<VOLUME>(t, i);
        if (works) {
            if constexpr (VOLUME) load_piece(shared, from, field, piece, lane);
            else load_slice_half(shared, from, field, t, i % HALVES, lane);
        }
        if (i == first) copy_fallen();
        if (!works) break;
        TileNews news;
        if constexpr (VOLUME) update_piece<PIXEL, UNIT>(shared, to, image, field, piece, lane, tally, news);
        else update_slice_half<PIXEL, UNIT>(shared, to, image, field, t, i % HALVES, lane, tally, news);
        if (wake && !lists.all()) {
            const u32 reached = news.of_warp();
            if (reached != 0) lists.push_reached<VOLUME>(step + 1, t, reached, lane);
        }
        __syncwarp();
    }
    add_of_block<ITERATION_WARPS>(turn, tally);
    return true;
}

// Block 32 ITERATION_WARPS; any grid where `count` is 1, else one whose blocks are on the device together: `count`
// iterations, between which all blocks meet at `arrived`, which is 0 at the beginning. `wake`: of the last; the others do.
#define ISOLINE_LS_TILES(NAME, PIXEL, VOLUME, UNIT)                                                                  \
    extern "C" __global__ void __launch_bounds__(WARP *ITERATION_WARPS, ITERATION_BLOCKS)                            \
    NAME(float *from, float *to, const PIXEL *image, LevelSetField field, LevelSetTurn turn, TileLists lists,        \
         u32 step, u32 wake, u32 count, u32 *arrived)                                                                \
    {                                                                                                                \
        __shared__ __align__(16) float all[ITERATION_WARPS][VOLUME ? TILE_SHARED : SLICE_SHARED];                    \
        float *shared = all[threadIdx.x / WARP];                                                                     \
        wait_for_previous_launch();                                                                                  \
        for (u32 n = 1;; ++n) {                                                                                      \
            const bool last = n == count;                                                                            \
            if (!tiles<PIXEL, VOLUME, UNIT>(shared, from, to, image, field, turn, lists, step, wake != 0 || !last))  \
                break;                                                                                               \
            if (last) break;                                                                                         \
            meet(arrived, n * gridDim.x);                                                                            \
            float *old = from;                                                                                       \
            from = to, to = old, ++step, ++turn.iteration;                                                           \
        }                                                                                                            \
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

// Steps begin .. end - 1 of the reinitialisation that follows turn.iteration: all work on the set of one number. Step 0 also
// copies what fell out of the set; the last, with `wakes`, puts the tiles within the band into the next set with their
// neighbours.
template <bool VOLUME, bool UNIT>
__device__ __forceinline__ void resteps(float *from, float *to, const LevelSetField &field, const LevelSetTurn &turn,
                                        const TileLists &lists, u32 step, u32 begin, u32 end, bool wakes, u32 *arrived)
{
    __shared__ __align__(16) float all[RESTEP_WARPS][RestepShape<VOLUME>::SHARED];
    float *shared = all[threadIdx.x / WARP];
    const u32 lane = threadIdx.x % WARP, first = blockIdx.x * RESTEP_WARPS + threadIdx.x / WARP;
    const u32 warps = gridDim.x * RESTEP_WARPS;
    const u64 *now = lists.list(step), *last = lists.list(step + RING - 1);
    wait_for_previous_launch();
    const u32 own = __ldcg(lists.counts + step % RING);
    const u32 before = begin == 0 ? __ldcg(lists.counts + (step + RING - 1) % RING) : 0;
    const FirstEntry peeked(first, [&](u32 at) { return at >= lists.tiles ? 0 : __ldcg(now + at); });
    if (!turn.follows()) return;
    if (begin == 0 && blockIdx.x == 0 && threadIdx.x == 0) lists.counts[(step + 2) % RING] = 0;
    const Split split = Split::of<VOLUME>(own, warps);
    const u64 mine = peeked.in(split);
    const u32 count = own * split.pieces;
#pragma unroll 1
    for (u32 k = begin;; ++k) {
        for (u32 i = first; i < count; i += warps) {
            const TilePlace t = unpack_tile(i == first ? mine : __ldcg(now + split.tile(i)));
            const Piece of = split.piece<VOLUME>(t, i);
            load_restep<VOLUME>(shared, from, field, of, lane);
            bool near;
            if constexpr (VOLUME) near = restep_piece<UNIT>(shared, to, field, of, lane, k == 0);
            else near = restep_slice_half<UNIT>(shared, to, field, of, lane, k == 0);
            if (wakes && k + 1 == end && __any_sync(ALL_LANES, near)) lists.push_reached<VOLUME>(step + 1, t, ALL_NEIGHBOURS, lane);
            __syncwarp();
        }
        if (k == 0) {
            for (u32 i = first; i < before * HALVES; i += warps) {
                const TilePlace t = unpack_tile(__ldcg(last + i / HALVES));
                if (__ldcg(lists.stamp(step, t)) == step + 1) continue;
                if constexpr (VOLUME) copy_half(from, to, field, t, i % HALVES, lane);
                else copy_slice_half(from, to, field, t, i % HALVES, lane);
            }
        }
        if (k + 1 == end) break;
        meet(arrived, (k + 1 - begin) * gridDim.x);
        float *old = from;
        from = to, to = old;
    }
}

// Block 32 RESTEP_WARPS; where there are several steps, a grid and `arrived` as above.
#define ISOLINE_LS_RESTEP(NAME, VOLUME, UNIT)                                                                        \
    extern "C" __global__ void __launch_bounds__(WARP *RESTEP_WARPS)                                                 \
    NAME(float *from, float *to, LevelSetField field, LevelSetTurn turn, TileLists lists, u32 step, u32 begin,       \
         u32 end, u32 wakes, u32 *arrived)                                                                           \
    {                                                                                                                \
        resteps<VOLUME, UNIT>(from, to, field, turn, lists, step, begin, end, wakes != 0, arrived);                  \
    }
ISOLINE_LS_RESTEP(isoline_ls_restep_3d_unit, true, true)
ISOLINE_LS_RESTEP(isoline_ls_restep_3d, true, false)
ISOLINE_LS_RESTEP(isoline_ls_restep_2d_unit, false, true)
ISOLINE_LS_RESTEP(isoline_ls_restep_2d, false, false)
#undef ISOLINE_LS_RESTEP

// Block 32 LOOP_WARPS, any grid: a warp so many tiles beside each other. Of what follows turn.iteration.
#define ISOLINE_LS_MARK(NAME, VOLUME)                                                                                \
    extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS, MARK_BLOCKS)                                      \
    NAME(const float *phi, float *copy, LevelSetField field, LevelSetTurn turn, TileLists lists, u32 step)           \
    {                                                                                                                \
        constexpr u32 TOGETHER = MarkShape<VOLUME>::TOGETHER;                                                        \
        const u32 across = (lists.tiles_x + TOGETHER - 1) / TOGETHER, rows = lists.tiles_y * lists.tiles_z;          \
        wait_for_previous_launch();                                                                                  \
        if (!turn.follows()) return;                                                                                 \
        for (u32 i = blockIdx.x * LOOP_WARPS + threadIdx.x / WARP; i < across * rows; i += gridDim.x * LOOP_WARPS) { \
            const u32 row = i / across;                                                                              \
            mark<VOLUME>(phi, copy, field, lists, step,                                                              \
                         {i % across * TOGETHER, row % lists.tiles_y, row / lists.tiles_y}, threadIdx.x % WARP);     \
        }                                                                                                            \
    }
ISOLINE_LS_MARK(isoline_ls_mark_3d, true)
ISOLINE_LS_MARK(isoline_ls_mark_2d, false)
#undef ISOLINE_LS_MARK

// One warp.
extern "C" __global__ void __launch_bounds__(WARP) isoline_ls_judge(LevelSetTurn turn, u64 first, u32 test, u32 interval,
                                                                    double unit, double change_tolerance,
                                                                    double rms_tolerance)
{
    wait_for_previous_launch();
    judge(turn, first, test != 0, interval, unit, change_tolerance, rms_tolerance, threadIdx.x);
}

// Block 32 LOOP_WARPS, any grid: a warp a row. Not launched early.
#define ISOLINE_LS_ROWS(CALL)                                                                                        \
    const u64 rows = static_cast<u64>(field.height) * field.depth;                                                   \
    for (u64 row = blockIdx.x * LOOP_WARPS + threadIdx.x / WARP; row < rows; row += gridDim.x * LOOP_WARPS) CALL;
extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)
isoline_ls_settle(float *phi, LevelSetField field, float far, u32 strict, u64 *found)
{
    ISOLINE_LS_ROWS(settle(phi, field, far, strict != 0, found, row, threadIdx.x % WARP))
}
extern "C" __global__ void __launch_bounds__(WARP *LOOP_WARPS)
isoline_ls_mask(const float *phi, unsigned char *mask, u64 row_stride, u64 slice_stride, LevelSetField field)
{
    ISOLINE_LS_ROWS(read_mask(phi, mask, row_stride, slice_stride, field, row, threadIdx.x % WARP))
}
#undef ISOLINE_LS_ROWS

// See paper().
extern "C" __global__ void __launch_bounds__(PAPER_X *PAPER_Y)
isoline_ls_paper(const float *from, float *to, const float *image, LevelSetField field)
{
    paper(from, to, image, field);
}
