// Tiles of 8 x 8 x 8 voxels (of slices 16 x 16): the list of those to work on, made on the device, and an iteration of one.
//
// Step s reads one phi and writes the other. Its set is what step s - 1 pushed; a tile that fell out of the set is copied,
// so that both phi agree wherever no step works. A tile is in a set once, by its stamp; the order of a list is chance,
// but no result depends on it. A warp does a piece of a tile by itself: of a volume one to four planes (see Split), of a
// slice 16 x 8 pixels.
#pragma once
#include "level_set_update.cuh"

constexpr int TILE = 8, TILE_SLICE = 16;
constexpr u32 RING = 4;              // lists: of the last step, this one, the next, and one that is emptied
constexpr u32 HALVES = 2;            // of a tile: the pieces of a slice's, and what a warp copies at once
constexpr int HALF = TILE / 2;       // planes of a piece, at most
constexpr u32 MOST_PIECES = 8;       // of a tile
// Warps of a block: of the kernels round the iterations; of iterations, and of steps of a reinitialisation, where few
// blocks are better, since they meet.
constexpr u32 LOOP_WARPS = 4, ITERATION_WARPS = 10, RESTEP_WARPS = 6;
constexpr u32 ITERATION_BLOCKS = 2, MARK_BLOCKS = 8;   // a multiprocessor, for which their registers are bounded

// A tile's place among the tiles, 21 bits an axis.
struct TilePlace {
    u32 x, y, z;
};
__device__ __forceinline__ u64 pack_tile(TilePlace t)
{
    return static_cast<u64>(t.z) << 42 | static_cast<u64>(t.y) << 21 | t.x;
}
__device__ __forceinline__ TilePlace unpack_tile(u64 packed)
{
    constexpr u32 MASK = (1u << 21) - 1;
    return {static_cast<u32>(packed) & MASK, static_cast<u32>(packed >> 21) & MASK, static_cast<u32>(packed >> 42)};
}

// What a warp does of a tile: of a volume so many of its planes, from `first` on; of a slice a half, from row `first` on.
struct Piece {
    TilePlace t;
    u32 first, planes;
};

// How tiles are split into pieces. A warp's planes come one after another, which takes longer than all else while there is
// a warp for each piece; with more pieces than warps it is the planes of all its pieces that count, and beginning each.
struct Split {
    u32 pieces, planes;
    u32 reciprocal;   // 2^32 / pieces, not below it: exact for 3 up to 2^31 pieces

    // `warps`: that share so many tiles.
    template <bool VOLUME>
    __device__ __forceinline__ static Split of(u32 tiles, u32 warps)
    {
        if (!VOLUME) return {HALVES, 1, 1u << 31};
        if (tiles <= warps / 8) return {MOST_PIECES, 1, 1u << 29};
        if (tiles <= warps / 4 || (tiles > warps / 3 * 2 && tiles <= warps / 4 * 3)) return {4, 2, 1u << 30};
        if (tiles <= warps / 3 || (tiles > warps / 2 && tiles <= warps / 3 * 2)) return {3, 3, 0x55555556};
        return {2, 4, 1u << 31};
    }
    // The tile of a piece.
    __device__ __forceinline__ u32 tile(u32 i) const { return __umulhi(i, reciprocal); }
    template <bool VOLUME>
    __device__ __forceinline__ Piece piece(TilePlace t, u32 i) const
    {
        const u32 which = i - tile(i) * pieces;
        if (VOLUME) return {t, which * planes, min(planes, TILE - which * planes)};
        return {t, which * (TILE_SLICE / HALVES), 1};
    }
};

// What a warp's first piece is of, asked for before it is known how many pieces a tile has: one trip to memory for all.
struct FirstEntry {
    u64 of_2, of_3, of_4, of_8;

    template <typename PEEK>
    __device__ __forceinline__ FirstEntry(u32 first, PEEK &&peek)
        : of_2(peek(first / 2)), of_3(peek(first / 3)), of_4(peek(first / 4)), of_8(peek(first / MOST_PIECES))
    {
    }
    __device__ __forceinline__ u64 in(const Split &split) const
    {
        return split.pieces == 2 ? of_2 : split.pieces == 3 ? of_3 : split.pieces == 4 ? of_4 : of_8;
    }
};

// All blocks, which are on the device together, meet: what they wrote before, all see after. `arrived` was 0 before they
// first met; `all`: the blocks, times how often they have met with this. (Turing's copies to shared memory go through the
// first-level cache; the fence empties it.)
__device__ __forceinline__ void meet(u32 *arrived, u32 all)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        add_release(arrived, 1);
        while (load_relaxed(arrived) < all) {
        }
        fence_acquire();
    }
    __syncthreads();
}

struct TileLists {
    u64 *entries;        // RING lists of `tiles` entries
    u32 *counts;         // RING
    u32 *stamps;         // twice `tiles`, of even and odd steps: step + 1 of the last set that holds the tile
    u32 tiles_x, tiles_y, tiles_z, tiles;

    // Without lists every tile is worked on.
    __device__ __forceinline__ bool all() const { return entries == nullptr; }
    __device__ __forceinline__ u64 *list(u32 step) const { return entries + static_cast<u64>(step % RING) * tiles; }
    __device__ __forceinline__ u32 index(TilePlace t) const { return (t.z * tiles_y + t.y) * tiles_x + t.x; }
    __device__ __forceinline__ TilePlace place(u32 i) const
    {
        return {i % tiles_x, i / tiles_x % tiles_y, i / tiles_x / tiles_y};
    }
    __device__ __forceinline__ u32 *stamp(u32 step, TilePlace t) const
    {
        return stamps + static_cast<u64>(step & 1) * tiles + index(t);
    }

    // Puts a tile into the set of `step`.
    __device__ __forceinline__ void push(u32 step, TilePlace t) const
    {
        if (atomicExch(stamp(step, t), step + 1) == step + 1) return;
        // One place for all lanes that are here.
        const u32 here = __activemask(), leader = __ffs(here) - 1, lane = threadIdx.x % WARP;
        u32 first = 0;
        if (lane == leader) first = atomicAdd(counts + step % RING, static_cast<u32>(__popc(here)));
        first = __shfl_sync(here, first, leader);
        list(step)[first + __popc(here & ((1u << lane) - 1))] = pack_tile(t);
    }

    // A warp: the tiles among this one and those around it that `reached` names, see reached_from().
    template <bool VOLUME>
    __device__ __forceinline__ void push_reached(u32 step, TilePlace t, u32 reached, u32 lane) const
    {
        const u32 x = t.x + lane % 3 - 1, y = t.y + lane / 3 % 3 - 1, z = t.z + lane / 9 - 1;
        if ((reached >> lane & 1) == 0 || (!VOLUME && z != t.z)) return;
        if (x < tiles_x && y < tiles_y && z < tiles_z) push(step, {x, y, z});
    }
};
static_assert(sizeof(TileLists) == 40, "src/level_set/cuda/launch.rs repeats it");

// The tiles that a change of a voxel may concern, of its own and the 26 around it, as bits: `reached_from` in
// src/level_set/on_cpu/tiles.rs says which. Along one axis: bit 0, 1 or 2.
constexpr u32 REACH = 2, ALL_NEIGHBOURS = (1u << 27) - 1;
template <int SIDE>
__device__ __forceinline__ u32 reached_along(u32 place)
{
    return (place < REACH ? 1u : 0u) | 2u | (place + REACH >= SIDE ? 4u : 0u);
}
// `pattern` once for each bit of an axis, `stride` bits apart.
__device__ __forceinline__ u32 spread(u32 pattern, u32 axis, u32 stride)
{
    return (axis & 1 ? pattern : 0) | pattern << stride | (axis & 4 ? pattern << 2 * stride : 0);
}

// The tiles that changes of phi within the band may concern.
struct TileNews {
    u32 reached = 0;

    __device__ __forceinline__ void see(const LevelSetField &field, float before, float after, u32 from_here)
    {
        if (fabsf(before) <= field.reach && fabsf(__fsub_rn(after, before)) > field.tiny) reached |= from_here;
    }
    // Of a warp.
    __device__ __forceinline__ u32 of_warp() const
    {
        u32 all = reached;
        if (!__any_sync(ALL_LANES, all != 0)) return 0;
#pragma unroll
        for (u32 step = WARP / 2; step > 0; step /= 2) all |= __shfl_xor_sync(ALL_LANES, all, step);
        return all;
    }
};

// As TileNews::see() and Tally::add() of a lane's two voxels, of which it owns some: few change their sides. phi is never
// -0, so that signs are bits; squares are scaled by a power of two before they are squares, which are the same then.
__device__ __forceinline__ void count_two(const LevelSetField &field, const bool (&own)[2], const float (&before)[2],
                                          const float (&after)[2], const u32 (&from_here)[2], Tally &tally, TileNews &news)
{
    static_assert(SQUARE_ONE == 4096.0f * 4096.0f, "");
    u32 other[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float change = __fsub_rn(after[i], before[i]), scaled = __fmul_rn(change, __fmul_rn(field.rms_scale, 4096.0f));
        const u32 square = __float2uint_rz(fminf(__fmul_rn(scaled, scaled), SQUARE_MOST * SQUARE_ONE));
        if (own[i]) news.see(field, before[i], after[i], from_here[i]);
        if (own[i] && fabsf(before[i]) <= field.near) tally.near += 1, tally.squares += square;
        other[i] = own[i] ? __float_as_uint(before[i]) ^ __float_as_uint(after[i]) : 0;
    }
    if (static_cast<int>(other[0] | other[1]) >= 0) return;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int crossed = static_cast<int>(other[i] >> 31);
        tally.changed += crossed, tally.inside += before[i] < 0.0f ? -crossed : crossed;
    }
}

// A block's sums, of a block of WARPS warps; all its threads are here. One sum a block, since all go to one place, where
// they are added one after another.
template <u32 WARPS>
__device__ __forceinline__ void add_of_block(const LevelSetTurn &turn, const Tally &tally)
{
    __shared__ struct {
        u64 squares;
        u32 changed, near;
        int inside;
    } of[WARPS];
    const u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const bool any = __any_sync(ALL_LANES, tally.near != 0 || tally.changed != 0);
    u32 changed = 0, near = 0, low = 0, high = 0;
    int inside = 0;
    if (any) {
        changed = lanes_total(tally.changed), near = lanes_total(tally.near);
        inside = static_cast<int>(lanes_total(static_cast<u32>(tally.inside)));
        // In two parts: a lane has less than 2^51.
        low = lanes_total(static_cast<u32>(tally.squares) & 0xFFFFFF), high = lanes_total(static_cast<u32>(tally.squares >> 24));
    }
    if (lane == 0) of[warp] = {(static_cast<u64>(high) << 24) + low, changed, near, inside};
    __syncthreads();
    if (threadIdx.x != 0) return;
    u64 squares = 0, all_changed = 0, all_near = 0;
    long long all_inside = 0;
#pragma unroll
    for (u32 i = 0; i < WARPS; ++i)
        squares += of[i].squares, all_changed += of[i].changed, all_near += of[i].near, all_inside += of[i].inside;
    LevelSetRow *to = turn.row(turn.iteration);
    if (all_changed) atomicAdd(&to->changed, all_changed);
    if (all_near) atomicAdd(&to->near, all_near);
    if (squares) atomicAdd(&to->squares, squares);
    if (all_inside) atomicAdd(reinterpret_cast<u64 *>(&to->inside), static_cast<u64>(all_inside));
}

// ROWS elements of a lane from one phi to the other, with the copies beside the borders; `at` gives the place of the i-th,
// or NOWHERE. All are loaded at once: they come from far.
constexpr u64 NOWHERE = ~0ull;
template <u32 ROWS, typename AT>
__device__ __forceinline__ void copy_elements(const float *from, float *to, const LevelSetField &field, u32 x, AT at)
{
    float value[ROWS];
#pragma unroll
    for (u32 i = 0; i < ROWS; ++i) value[i] = at(i) != NOWHERE ? __ldcg(from + at(i)) : 0.0f;
#pragma unroll
    for (u32 i = 0; i < ROWS; ++i) {
        if (at(i) == NOWHERE) continue;
        float *place = to + at(i);
        place[0] = value[i];
        if (x == 0) place[-1] = value[i];
        if (x + 1 == field.width) place[1] = value[i];
    }
}

// Shared rows begin at the tile's pixel -1, which LEAD puts on 16 bytes; two planes and two rows more than a piece has.
constexpr int TILE_ROW = 12;
constexpr int TILE_ROWS = TILE + 2;
constexpr int TILE_PLANE = TILE_ROWS * TILE_ROW;
constexpr int TILE_SHARED = (HALF + 2) * TILE_PLANE;   // floats of a warp

// A row is three lanes', a plane one copy's: what lanes beside each other copy is one request. The last lane of a row
// copies two elements that nobody reads.
__device__ __forceinline__ void load_piece(float *shared, const float *from, const LevelSetField &field, const Piece &of,
                                           u32 lane)
{
    constexpr u32 QUADS = TILE_ROW / 4;
    static_assert(QUADS * TILE_ROWS <= WARP, "a lane copies one part of a plane");
    if (lane < QUADS * TILE_ROWS) {
        const int z0 = static_cast<int>(of.t.z * TILE + of.first) - 1, y0 = static_cast<int>(of.t.y * TILE) - 1;
        const u32 y = clamp_index(y0 + static_cast<int>(lane / QUADS), static_cast<int>(field.height));
        const float *line = from + of.t.x * TILE + lane % QUADS * 4;
#pragma unroll
        for (u32 k = 0; k < HALF + 2; ++k) {
            if (k >= of.planes + 2) break;
            const u32 z = clamp_index(z0 + static_cast<int>(k), static_cast<int>(field.depth));
            copy_async<16>(shared + k * TILE_PLANE + lane * 4, line + static_cast<u64>(z * field.height + y) * field.pitch);
        }
    }
    copy_async_commit();
}

// Differences of shared values; `at` is a voxel. Wide ones are twice the central ones.
template <bool UNIT>
struct Around {
    const LevelSetField &field;
    __device__ __forceinline__ float x(const float *at) const { return per<UNIT>(__fsub_rn(at[1], at[-1]), field.step_x); }
    __device__ __forceinline__ float y(const float *at) const
    {
        return per<UNIT>(__fsub_rn(at[TILE_ROW], at[-TILE_ROW]), field.step_y);
    }
    __device__ __forceinline__ float z(const float *at) const
    {
        return per<UNIT>(__fsub_rn(at[TILE_PLANE], at[-TILE_PLANE]), field.step_z);
    }
};

// Lane <-> column and two rows; planes one after another.
template <typename PIXEL, bool UNIT>
__device__ __forceinline__ void update_piece(const float *shared, float *to, const PIXEL *image, const LevelSetField &field,
                                             const Piece &of, u32 lane, Tally &tally, TileNews &news)
{
    const TilePlace t = of.t;
    const u32 column = lane % TILE, group = lane / TILE;
    const float *at = shared + TILE_PLANE + (group * 2 + 1) * TILE_ROW + column + 1;
    const u32 x = t.x * TILE + column, y = t.y * TILE + group * 2, z = t.z * TILE + of.first;
    const u64 stride = static_cast<u64>(field.height) * field.pitch;
    const u64 place = z * stride + y * field.pitch + x + LEAD;
    const int planes = min(static_cast<int>(field.depth) - static_cast<int>(z), static_cast<int>(of.planes));
    const bool own[2] = {x < field.width && y < field.height && planes > 0,
                         x < field.width && y + 1 < field.height && planes > 0};
    const bool beside_x = t.x == 0 || (t.x + 1) * TILE >= field.width;
    const u32 reached_xy[2] = {spread(reached_along<TILE>(column), reached_along<TILE>(group * 2), 3),
                               spread(reached_along<TILE>(column), reached_along<TILE>(group * 2 + 1), 3)};
    float *out = to + place;
    const PIXEL *pixels[2] = {image + place, image + place + field.pitch};
    // A plane ahead: they come from far.
    PIXEL pixel[2] = {own[0] ? *pixels[0] : PIXEL(0), own[1] ? *pixels[1] : PIXEL(0)};
    copy_async_wait<0>();
    __syncwarp();

    const Around<UNIT> around{field};
    // The faces of the piece's border towards -x and -y: each lane one of 32, (row, plane) and (column, plane). Planes that
    // the piece does not have give what nobody reads.
    float border_x, border_y;
    {
        const float *p = shared + TILE_PLANE * (1 + lane / TILE) + (lane % TILE + 1) * TILE_ROW + 1;
        border_x = normal(four<UNIT>(p[0], __fmul_rn(4.0f, p[-1]), field.step_x), __fadd_rn(around.y(p - 1), around.y(p)),
                          __fadd_rn(around.z(p - 1), around.z(p)));
        const float *q = shared + TILE_PLANE * (1 + lane / TILE) + TILE_ROW + lane % TILE + 1;
        border_y = normal(four<UNIT>(q[0], __fmul_rn(4.0f, q[-TILE_ROW]), field.step_y),
                          __fadd_rn(around.x(q - TILE_ROW), around.x(q)), __fadd_rn(around.z(q - TILE_ROW), around.z(q)));
    }
    // Rows -1 .. 2 of the column and of those beside it.
    struct Values {
        float left[4], here[4], right[4];
    };
    struct Wide {
        float x[3], y[2], y_right[2];   // x of rows 0 .. 2
    };
    auto load = [&](Values &v, const float *from) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (i > 0) v.left[i] = from[(i - 1) * TILE_ROW - 1];
            v.here[i] = from[(i - 1) * TILE_ROW], v.right[i] = from[(i - 1) * TILE_ROW + 1];
        }
    };
    auto widen = [&](Wide &w, const Values &v) {
#pragma unroll
        for (int i = 0; i < 3; ++i) w.x[i] = per<UNIT>(__fsub_rn(v.right[i + 1], v.left[i + 1]), field.step_x);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            w.y[i] = per<UNIT>(__fsub_rn(v.here[i + 2], v.here[i]), field.step_y);
            w.y_right[i] = per<UNIT>(__fsub_rn(v.right[i + 2], v.right[i]), field.step_y);
        }
    };
    Values below, here, above;
    Wide now, then;
    float low_z[2], low_dz[2];
    load(below, at - TILE_PLANE), load(here, at);
    widen(then, below), widen(now, here);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        low_dz[i] = four<UNIT>(here.here[i + 1], __fmul_rn(4.0f, below.here[i + 1]), field.step_z);
        low_z[i] = normal(low_dz[i], __fadd_rn(then.x[i], now.x[i]), __fadd_rn(then.y[i], now.y[i]));
    }
#pragma unroll 1
    for (int k = 0; k < planes; ++k) {
        PIXEL ahead[2];
        const bool more = k + 1 < planes;
#pragma unroll
        for (int i = 0; i < 2; ++i) pixels[i] += stride, ahead[i] = own[i] && more ? *pixels[i] : PIXEL(0);
        at += TILE_PLANE;
        load(above, at);
        widen(then, above);
        float wide_z[3];   // rows 0 .. 2
#pragma unroll
        for (int i = 0; i < 3; ++i) wide_z[i] = per<UNIT>(__fsub_rn(above.here[i + 1], below.here[i + 1]), field.step_z);
        float nx[2], low_x[2], ny[3], four_[2], dx[2], dy[3];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const float right_z = per<UNIT>(__fsub_rn(above.right[i + 1], below.right[i + 1]), field.step_z);
            four_[i] = __fmul_rn(4.0f, here.here[i + 1]);
            dx[i] = four<UNIT>(here.right[i + 1], four_[i], field.step_x);
            dy[i + 1] = four<UNIT>(here.here[i + 2], four_[i], field.step_y);
            nx[i] = normal(dx[i], __fadd_rn(now.y[i], now.y_right[i]), __fadd_rn(wide_z[i], right_z));
            ny[i + 1] = normal(dy[i + 1], __fadd_rn(now.x[i], now.x[i + 1]), __fadd_rn(wide_z[i], wide_z[i + 1]));
        }
        dy[0] = per<UNIT>(__fmaf_rn(-4.0f, here.here[0], four_[0]), field.step_y);
        // Normals of the faces towards -x and -y: of the lane there, or of the border.
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const float beside = __shfl_up_sync(ALL_LANES, nx[i], 1);
            const float border = __shfl_sync(ALL_LANES, border_x, k * TILE + group * 2 + i);
            low_x[i] = column == 0 ? border : beside;
        }
        {
            const float beside = __shfl_up_sync(ALL_LANES, ny[2], TILE);
            const float border = __shfl_sync(ALL_LANES, border_y, k * TILE + column);
            ny[0] = group == 0 ? border : beside;
        }
        float result[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const float old = here.here[i + 1];
            const float dz = four<UNIT>(above.here[i + 1], four_[i], field.step_z);
            const float nz = normal(dz, __fadd_rn(now.x[i], then.x[i]), __fadd_rn(now.y[i], then.y[i]));
            float curve = per<UNIT>(__fsub_rn(nx[i], low_x[i]), field.step_x);
            curve = __fadd_rn(curve, per<UNIT>(__fsub_rn(ny[i + 1], ny[i]), field.step_y));
            curve = __fadd_rn(curve, per<UNIT>(__fsub_rn(nz, low_z[i]), field.step_z));
            Motion motion(field, old, curve, image_term(field, pixel[i]));
            motion.side(dx[i]);
            motion.side(per<UNIT>(__fmaf_rn(4.0f, here.left[i + 1], -four_[i]), field.step_x));
            motion.side(dy[i + 1]);
            motion.side(-dy[i]);
            motion.side(dz);
            motion.side(-low_dz[i]);
            low_z[i] = nz, low_dz[i] = dz;
            result[i] = motion.result();
        }
        if (own[0]) out[0] = result[0];
        if (own[1]) out[field.pitch] = result[1];
        if (beside_x) {
            const int copy = x == 0 ? -1 : 1;
            if (own[0] && (x == 0 || x + 1 == field.width)) out[copy] = result[0];
            if (own[1] && (x == 0 || x + 1 == field.width)) out[static_cast<int>(field.pitch) + copy] = result[1];
            if (field.width == 1 && own[0]) out[1] = result[0];
            if (field.width == 1 && own[1]) out[field.pitch + 1] = result[1];
        }
        // Far from the front nothing is counted unless a voxel changes sides, as it may where phi is steep.
        const float before[2] = {here.here[1], here.here[2]};
        const u32 turned = (__float_as_uint(before[0]) ^ __float_as_uint(result[0])) |
                           (__float_as_uint(before[1]) ^ __float_as_uint(result[1]));
        if (fminf(fabsf(before[0]), fabsf(before[1])) <= field.reach || static_cast<int>(turned) < 0) {
            const u32 along_z = reached_along<TILE>(of.first + static_cast<u32>(k));
            const u32 from_here[2] = {spread(reached_xy[0], along_z, 9), spread(reached_xy[1], along_z, 9)};
            count_two(field, own, before, result, from_here, tally, news);
        }
        out += stride;
        below = here, here = above, now = then;
        pixel[0] = ahead[0], pixel[1] = ahead[1];
    }
}

// The elements of half a tile from one phi to the other.
__device__ __forceinline__ void copy_half(const float *from, float *to, const LevelSetField &field, TilePlace t, u32 half,
                                          u32 lane)
{
    const u32 x = t.x * TILE + lane % TILE, y0 = t.y * TILE + lane / TILE, z0 = t.z * TILE + half * HALF;
    copy_elements<HALF * 2>(from, to, field, x, [&](u32 i) {
        const u32 z = z0 + i / 2, y = y0 + i % 2 * (TILE / 2);
        if (x >= field.width || y >= field.height || z >= field.depth) return NOWHERE;
        return static_cast<u64>(z * field.height + y) * field.pitch + x + LEAD;
    });
}
