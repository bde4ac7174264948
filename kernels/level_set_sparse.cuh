// A sparse phi: only tiles near the front are stored, so that memory grows with the front and not with the volume.
//
// A tile becomes stored when it is imported or added to a set of active tiles, and stays so until `release_far_tiles` finds
// that it is in no set and far from the front. A tile that is not stored has |phi| = far everywhere, and a newly stored
// tile starts with the same values. The functions here are the counterparts of those in level_set_tile.cuh,
// level_set_reinit.cuh and level_set_support.cuh, which are for a phi in rows.
#pragma once
#include "level_set_reinit.cuh"

// A SparsePhi is one of both phi of a sparse level set.
struct SparsePhi : SparsePhiArguments {
    // Returns whether an entry of the table is that of a stored tile.
    __device__ __forceinline__ static bool is_stored(u32 entry) { return entry < FAR_INSIDE; }
    // Returns the index of a tile in the table.
    __device__ __forceinline__ u32 index(TileIndex t) const { return (t.z * tiles_y + t.y) * tiles_x + t.x; }
    // Returns the position of the tile with an index.
    __device__ __forceinline__ TileIndex tile_at(u32 i) const
    {
        return {i % tiles_x, i / tiles_x % tiles_y, i / tiles_x / tiles_y};
    }
    // Returns an entry of the table. Other warps may store tiles meanwhile: a thread that sees the entry also sees the
    // tile's values.
    __device__ __forceinline__ u32 entry(u32 index) const
    {
        return cuda::atomic_ref<u32, cuda::thread_scope_device>(table[index]).load(cuda::memory_order_acquire);
    }
    // Returns the phi of a tile that is not stored: `far`, with the sign that its entry gives.
    __device__ __forceinline__ float far_value(u32 entry) const { return entry == FAR_INSIDE ? -far : far; }
    // Returns the values of a stored tile, of this phi or of phi number `number`.
    __device__ __forceinline__ float *values_of(u32 entry, u32 number) const
    {
        return values + (static_cast<u64>(entry) * 2 + number) * TILE_VOXELS;
    }
    __device__ __forceinline__ float *values_of(u32 entry) const { return values_of(entry, which); }
    // Returns the position of a voxel within its tile.
    __device__ __forceinline__ static u32 place(u32 x, u32 y, u32 z) { return (z % TILE * TILE + y % TILE) * TILE + x % TILE; }

    // Gives a place to the tile with this index, whose `entry` says that it is not stored; all lanes of a warp call it.
    // Both phi start as `far` everywhere. Returns the new entry, or the old one if there is no free place.
    __device__ __forceinline__ u32 store_tile(u32 index, u32 entry, u32 lane) const
    {
        u32 free = 0;   // the number of free places before
        if (lane == 0) {
            free = atomicSub(counts, 1);
            // Kernels that take places never free any, so nobody else could have used the place that this lane did not get.
            if (static_cast<int>(free) <= 0) atomicAdd(counts, 1), counts[1] = 1;
        }
        free = __shfl_sync(ALL_LANES, free, 0);
        if (static_cast<int>(free) <= 0) return entry;
        const u32 stored = __ldcg(free_places + free - 1);
        const float value = far_value(entry);
        float4 *to = reinterpret_cast<float4 *>(values_of(stored, 0));
        for (u32 i = lane; i < 2 * TILE_VOXELS / 4; i += WARP) to[i] = make_float4(value, value, value, value);
        __syncwarp();
        if (lane == 0)
            cuda::atomic_ref<u32, cuda::thread_scope_device>(table[index]).store(stored, cuda::memory_order_release);
        return stored;
    }
};

// Starts the copy of a part of a tile with HALO voxels around it to shared memory, where rows have ROW elements and planes
// PLANE; all lanes of a warp call it, and wait for it later.
template <int HALO, int ROW, int PLANE>
__device__ __forceinline__ void load_sparse_part(float *shared, const SparsePhi &from, const LevelSetSetup &setup,
                                                 const TilePart &part, u32 lane)
{
    constexpr u32 SIDE = TILE + 2 * HALO, TILES = AFFECTED_SIDE * AFFECTED_SIDE * AFFECTED_SIDE;
    const TileIndex t = part.t, beside = TileLists::tile_of_lane(t, lane);
    const bool exists = lane < TILES && beside.x < from.tiles_x && beside.y < from.tiles_y && beside.z < from.tiles_z;
    const u32 entry = exists ? from.entry(from.index(beside)) : FAR_OUTSIDE;   // of the tile around t that the lane has
    __syncwarp();   // other lanes read the values of this lane's tile
    const int x0 = static_cast<int>(t.x * TILE) - HALO, y0 = static_cast<int>(t.y * TILE) - HALO;
    const int z0 = static_cast<int>(t.z * TILE + part.first) - HALO;
    const u32 count = (part.planes + 2 * HALO) * SIDE * SIDE;
    for (u32 first = 0; first < count; first += WARP) {
        const u32 i = first + lane;
        const u32 column = i % SIDE, row = i / SIDE % SIDE, plane = i / (SIDE * SIDE);
        const u32 x = clamp_index(x0 + static_cast<int>(column), static_cast<int>(setup.width));
        const u32 y = clamp_index(y0 + static_cast<int>(row), static_cast<int>(setup.height));
        const u32 z = clamp_index(z0 + static_cast<int>(plane), static_cast<int>(setup.depth));
        const u32 which = (x / TILE + 1 - t.x) + AFFECTED_SIDE * (y / TILE + 1 - t.y) +
                          AFFECTED_SIDE * AFFECTED_SIDE * (z / TILE + 1 - t.z);
        const u32 at = __shfl_sync(ALL_LANES, entry, static_cast<int>(which));
        if (i >= count) break;
        float *to = shared + plane * PLANE + row * ROW + column;
        if (SparsePhi::is_stored(at))
            __pipeline_memcpy_async(to, from.values_of(at) + SparsePhi::place(x, y, z), sizeof(float));
        else *to = from.far_value(at);
    }
    __pipeline_commit();
}
__device__ __forceinline__ void load_part(float *shared, const SparsePhi &from, const LevelSetSetup &setup,
                                          const TilePart &part, u32 lane)
{
    load_sparse_part<1, TILE_ROW, TILE_PLANE>(shared, from, setup, part, lane);
}
template <bool VOLUME>
__device__ __forceinline__ void load_reinit_part(float *shared, const SparsePhi &from, const LevelSetSetup &setup,
                                                 const TilePart &part, u32 lane)
{
    using S = ReinitTile<VOLUME>;
    load_sparse_part<REINIT_HALO, S::ROW, S::PLANE>(shared + REINIT_LEAD - REINIT_HALO, from, setup, part, lane);
    __pipeline_wait_prior(0);
    __syncwarp();
}

__device__ __forceinline__ PlaceInPhi place_in(const SparsePhi &phi, const LevelSetSetup &, TileIndex t, u32 x, u32 y,
                                               u32 z)
{
    return {phi.values_of(__ldcg(phi.table + phi.index(t))) + SparsePhi::place(x, y, z), TILE, TILE * TILE, false};
}

// Copies half a tile from one phi to the other, unless it is no longer stored; all lanes of a warp call it.
__device__ __forceinline__ void copy_half(const SparsePhi &from, const SparsePhi &to, const LevelSetSetup &, TileIndex t,
                                          u32 half, u32 lane)
{
    const u32 entry = from.entry(from.index(t));
    if (!SparsePhi::is_stored(entry)) return;
    constexpr u32 QUADS = TILE_VOXELS / HALVES / 4;
    const float4 *source = reinterpret_cast<const float4 *>(from.values_of(entry)) + half * QUADS;
    float4 *target = reinterpret_cast<float4 *>(to.values_of(entry)) + half * QUADS;
    for (u32 i = lane; i < QUADS; i += WARP) target[i] = __ldcg(source + i);
}

// Adds the affected tiles to a set, and gives a place to those that are not stored. If there is no place, iterations end
// before iteration `not_done`. During an iteration this is the next one, because other warps may only begin the current one
// later; after an iteration it is that same one, so that nothing follows it, or 1. All lanes of a warp call it.
template <bool VOLUME>
__device__ __forceinline__ void push_affected(const SparsePhi &phi, const TileLists &lists, const IterationContext &context,
                                              u64 not_done, u32 set, TileIndex t, u32 affected, u32 lane)
{
    const bool added = lists.push_affected<VOLUME>(set, t, affected, lane);
    const u32 index = added ? phi.index(TileLists::tile_of_lane(t, lane)) : 0, entry = added ? phi.entry(index) : 0;
    for (u32 missing = __ballot_sync(ALL_LANES, added && !SparsePhi::is_stored(entry)); missing != 0;
         missing &= missing - 1) {
        const int owner = __ffs(static_cast<int>(missing)) - 1;
        const u32 its_entry = __shfl_sync(ALL_LANES, entry, owner);
        const u32 stored = phi.store_tile(__shfl_sync(ALL_LANES, index, owner), its_entry, lane);
        if (stored == its_entry && lane == 0) context.convergence->stopped = not_done;
    }
}

// Calls body(index, entry, values) for the stored tiles of a phi for which wanted(index) is true; all lanes of a warp call the
// body. A lane has the values of its column of a tile, x = lane % TILE, from row lane / TILE on every fourth row, from plane
// to plane.
constexpr u32 COLUMN_ROWS = WARP / TILE, COLUMN_VALUES = TILE_VOXELS / WARP;
template <typename WANTED, typename BODY>
__device__ __forceinline__ void for_each_stored_tile(const SparsePhi &phi, const WANTED &wanted, const BODY &body)
{
    const u32 lane = threadIdx.x % WARP, tiles = phi.tiles_x * phi.tiles_y * phi.tiles_z;
    for (u64 first = (static_cast<u64>(blockIdx.x) * LOOP_WARPS + threadIdx.x / WARP) * WARP; first < tiles;
         first += static_cast<u64>(gridDim.x) * LOOP_WARPS * WARP) {
        const u32 own = static_cast<u32>(first) + lane, entry = own < tiles ? phi.entry(own) : FAR_OUTSIDE;
        for (u32 left = __ballot_sync(ALL_LANES, SparsePhi::is_stored(entry) && wanted(own)); left != 0; left &= left - 1) {
            const int owner = __ffs(static_cast<int>(left)) - 1;
            const u32 its_entry = __shfl_sync(ALL_LANES, entry, owner);
            float values[COLUMN_VALUES];
#pragma unroll
            for (u32 i = 0; i < COLUMN_VALUES; ++i) values[i] = __ldcg(phi.values_of(its_entry) + i * WARP + lane);
            body(static_cast<u32>(first) + static_cast<u32>(owner), its_entry, values);
        }
    }
}

// Adds the tiles that the voxels within the narrow band affect to a set; all threads of a grid call it.
__device__ __forceinline__ void activate_near_sparse_front(const SparsePhi &phi, const LevelSetSetup &setup,
                                                           const IterationContext &context, const TileLists &lists, u32 set)
{
    const u32 lane = threadIdx.x % WARP, along_x = affected_along_axis<TILE>(lane % TILE);
    auto body = [&](u32 index, u32, const float (&values)[COLUMN_VALUES]) {
        TileActivity activity;
#pragma unroll
        for (u32 i = 0; i < COLUMN_VALUES; ++i) {
            const u32 y = (i * COLUMN_ROWS + lane / TILE) % TILE, z = i * COLUMN_ROWS / TILE;
            if (fabsf(values[i]) <= setup.band_width)
                activity.affected |= affected_tiles(affected_in_plane(along_x, affected_along_axis<TILE>(y)),
                                                    affected_along_axis<TILE>(z));
        }
        const u32 affected = activity.warp_union();
        if (affected == 0) return;
        const u64 not_done = max(context.iteration, static_cast<u64>(1));
        push_affected<true>(phi, lists, context, not_done, set, phi.tile_at(index), affected, lane);
    };
    for_each_stored_tile(phi, [](u32) { return true; }, body);
}

// Sides are the sides of the front on which a lane's voxels of a tile are.
struct Sides {
    bool is_near = false, all_inside = true, all_outside = true;

    // Adds a voxel; |phi| up to `width` is near the front.
    __device__ __forceinline__ void add(float value, float width)
    {
        is_near = is_near || fabsf(value) <= width;
        all_inside = all_inside && value < 0.0f, all_outside = all_outside && !(value < 0.0f);
    }
    // For a tile whose voxels are distributed over the lanes: returns FAR_OUTSIDE or FAR_INSIDE if the tile is far from the
    // front, else 0, which is an entry of a stored tile. All lanes of a warp call it.
    __device__ __forceinline__ u32 far_entry() const
    {
        const bool inside = __all_sync(ALL_LANES, all_inside), outside = __all_sync(ALL_LANES, all_outside);
        if (__any_sync(ALL_LANES, is_near) || (!inside && !outside)) return 0;
        return inside ? FAR_INSIDE : FAR_OUTSIDE;
    }
};

// Releases the tiles that are not in `set`, the next set, and whose voxels are all on one side and far from the front; all
// threads of a grid call it. It only examines tiles that were in one of the `sets` previous sets, because others have not
// changed.
__device__ __forceinline__ void release_far_tiles(const SparsePhi &phi, const TileLists &lists, u32 set, u32 sets)
{
    auto has_left = [&](u32 index) {
        const u32 newer = set + 1 - __ldcg(lists.stamps + index), older = set + 1 - __ldcg(lists.stamps + lists.tiles + index);
        return newer != 0 && older != 0 && min(newer, older) <= sets;
    };
    auto body = [&](u32 index, u32 entry, const float (&values)[COLUMN_VALUES]) {
        Sides sides;
#pragma unroll
        for (u32 i = 0; i < COLUMN_VALUES; ++i) sides.add(values[i], phi.released_width);
        const u32 far = sides.far_entry();
        if (SparsePhi::is_stored(far) || threadIdx.x % WARP != 0) return;
        phi.free_places[atomicAdd(phi.counts, 1)] = entry;
        phi.table[index] = far;
    };
    for_each_stored_tile(phi, has_left, body);
}

// Imports whole tiles of a phi from `planes` planes, the first of which is phi.first_slice of the volume, packed: values are
// clamped to +-far, and -0 is replaced by 0. No tile may be stored before; those near the front are then. found[0], in device
// memory, counts the voxels inside. Without `stores` nothing is imported, and found[1] becomes the complement of the smallest
// index in the volume of a value that is not finite, or stays 0. All threads of a grid call it.
__device__ __forceinline__ void import_tiles(const SparsePhi &phi, const LevelSetSetup &setup, const float *from, u32 planes,
                                             bool stores, u64 *found)
{
    const u32 lane = threadIdx.x % WARP, tiles = phi.tiles_x * phi.tiles_y * ((planes + TILE - 1) / TILE);
    const u32 first_tile = phi.index({0, 0, phi.first_slice / TILE});
    u32 count = 0;
    for (u32 i = blockIdx.x * LOOP_WARPS + threadIdx.x / WARP; i < tiles; i += gridDim.x * LOOP_WARPS) {
        const TileIndex t = phi.tile_at(i);   // z from the first plane's on
        const u32 x = t.x * TILE + lane % TILE;
        float values[COLUMN_VALUES];
        Sides sides;
#pragma unroll
        for (u32 k = 0; k < COLUMN_VALUES; ++k) {
            const u32 y = t.y * TILE + (k * COLUMN_ROWS + lane / TILE) % TILE, z = t.z * TILE + k * COLUMN_ROWS / TILE;
            const bool is_voxel = x < setup.width && y < setup.height && z < planes;
            // Beyond the image a value is that of the nearest voxel, which nothing reads.
            const u64 row = static_cast<u64>(min(z, planes - 1)) * setup.height + min(y, setup.height - 1);
            const u64 at = row * setup.width + min(x, setup.width - 1);
            const float value = from[at];
            if (!stores && !(fabsf(value) <= cuda::std::numeric_limits<float>::max()))
                atomicMax(found + 1, ~(static_cast<u64>(phi.first_slice) * setup.height * setup.width + at));
            values[k] = value == 0.0f ? 0.0f : clamp_magnitude(value, phi.far);
            sides.add(values[k], phi.stored_width);
            count += is_voxel && values[k] < 0.0f;
        }
        if (!stores) continue;
        const u32 index = first_tile + i, far = sides.far_entry();
        if (SparsePhi::is_stored(far)) {
            const u32 entry = phi.store_tile(index, FAR_OUTSIDE, lane);
            if (!SparsePhi::is_stored(entry)) continue;
#pragma unroll
            for (u32 k = 0; k < COLUMN_VALUES; ++k) {
                phi.values_of(entry, 0)[k * WARP + lane] = values[k];
                phi.values_of(entry, 1)[k * WARP + lane] = values[k];
            }
        } else if (lane == 0) phi.table[index] = far;
    }
    count = lanes_total(count);
    if (lane == 0 && count) atomicAdd(found, static_cast<u64>(count));
}

// A SparseRow is a row of a sparse phi, whose operator returns phi of its pixel x.
struct SparseRow {
    const SparsePhi &phi;
    u32 first_tile, first_place;   // the index of its first tile, and the place of its pixels x = 0 in the tiles

    __device__ __forceinline__ float operator[](u32 x) const
    {
        const u32 entry = __ldcg(phi.table + first_tile + x / TILE);
        return SparsePhi::is_stored(entry) ? __ldcg(phi.values_of(entry) + first_place + x % TILE) : phi.far_value(entry);
    }
};
// Returns row y + z height of a phi, from its first slice on.
__device__ __forceinline__ SparseRow row_of(const SparsePhi &phi, const LevelSetSetup &setup, u64 row)
{
    const u32 y = static_cast<u32>(row % setup.height), z = phi.first_slice + static_cast<u32>(row / setup.height);
    return {phi, phi.index({0, y / TILE, z / TILE}), SparsePhi::place(0, y, z)};
}
