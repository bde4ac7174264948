// Tiles of 8 x 8 x 8 voxels (16 x 16 pixels in slices): the list of active tiles, which the device makes, and an
// iteration of one tile.
//
// An iteration, or a reinitialisation with all its steps, works on one set of active tiles. Sets are numbered; the work on
// set s adds tiles to set s + 1. An iteration, or a step of a reinitialisation, reads one phi and writes the other. A tile
// that has left the set is copied, so that both phi agree outside the set. A stamp keeps a tile from being in a set twice.
// The order of a list is arbitrary, and no result depends on it. Each warp updates a part of a tile: one to four planes of
// a volume (see TileSplit), 16 x 8 pixels of a slice.
#pragma once
#include "level_set_update.cuh"
#include <cuda/atomic>

constexpr u32 HALVES = 2;        // halves of a tile: the parts of a slice's tile, and the unit of copying
constexpr int HALF = TILE / 2;   // planes of a part, at most

// A TileIndex is the position of a tile among the tiles.
struct TileIndex {
    u32 x, y, z;
};
// Returns a position as an entry of a list.
__device__ __forceinline__ u64 pack_tile(TileIndex t)
{
    return static_cast<u64>(t.z) << 2 * TILE_BITS | static_cast<u64>(t.y) << TILE_BITS | t.x;
}
// Returns the position that an entry of a list holds.
__device__ __forceinline__ TileIndex unpack_tile(u64 packed)
{
    constexpr u32 LOW_BITS = (1u << TILE_BITS) - 1;
    return {static_cast<u32>(packed) & LOW_BITS, static_cast<u32>(packed >> TILE_BITS) & LOW_BITS,
            static_cast<u32>(packed >> 2 * TILE_BITS)};
}

// A TilePart is the part of a tile that a warp updates: `planes` planes from plane `first` on in a volume, or the half tile
// from row `first` on in a slice.
struct TilePart {
    TileIndex t;
    u32 first, planes;
};

// A TileSplit is the number of parts into which each tile is split. A warp updates the planes of a part one after another.
// If there is a warp for each part, the planes per part determine the time; with more parts than warps, it is the total
// number of planes of a warp's parts, plus the cost of starting each part.
struct TileSplit {
    u32 parts, planes;   // of a tile; of a part, at most
    u32 reciprocal;   // 2^32 / parts, rounded up: exact for 3 up to 2^31 parts

    // Returns the split of a number of tiles that `warps` warps share.
    template <bool VOLUME>
    __device__ __forceinline__ static TileSplit of(u32 tiles, u32 warps)
    {
        if (!VOLUME) return {HALVES, 1, 1u << 31};
        if (tiles <= warps / 8) return {MAX_PARTS, 1, 1u << 29};
        if (tiles <= warps / 4 || (tiles > warps / 3 * 2 && tiles <= warps / 4 * 3)) return {4, 2, 1u << 30};
        if (tiles <= warps / 3 || (tiles > warps / 2 && tiles <= warps / 3 * 2)) return {3, 3, 0x55555556};
        return {2, 4, 1u << 31};
    }
    // Returns the number of the tile to which part i of all parts belongs.
    __device__ __forceinline__ u32 tile(u32 i) const { return __umulhi(i, reciprocal); }
    // Returns part i of all parts, which belongs to tile t.
    template <bool VOLUME>
    __device__ __forceinline__ TilePart part(TileIndex t, u32 i) const
    {
        const u32 which = i - tile(i) * parts;
        if (VOLUME) return {t, which * planes, min(planes, TILE - which * planes)};
        return {t, which * (TILE_SLICE / HALVES), 1};
    }
};

// A PrefetchedEntry is a warp's first list entry. It is loaded for every possible number of parts per tile before that
// number is known, so that all loads together cost one round trip to device memory.
struct PrefetchedEntry {
    u64 halves, thirds, quarters, eighths;

    // Loads the entries of a warp whose first part is number `first` by load_entry(number of the entry).
    template <typename LOAD>
    __device__ __forceinline__ PrefetchedEntry(u32 first, LOAD &&load_entry)
        : halves(load_entry(first / 2)), thirds(load_entry(first / 3)), quarters(load_entry(first / 4)),
          eighths(load_entry(first / MAX_PARTS))
    {
    }
    // Returns the entry of the first part once the split is known.
    __device__ __forceinline__ u64 for_split(const TileSplit &split) const
    {
        return split.parts == 2 ? halves : split.parts == 3 ? thirds : split.parts == 4 ? quarters : eighths;
    }
};

// Waits at a grid barrier; all threads of all blocks call it, and all blocks must be resident at once. No block passes
// before all have reached it, and writes to device memory before the barrier are visible to all after it. `arrivals`, in
// device memory, is 0 before the first barrier of a launch; `all` is the number of blocks times the number of barriers so
// far, including this one. (On Turing, copies to shared memory go through the L1 cache, which the fence invalidates. The
// grid.sync() of cooperative_groups would cost another round trip: it waits for the counter's old value before it first
// reads the new one.)
__device__ __forceinline__ void grid_barrier(u32 *arrivals, u32 all)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const cuda::atomic_ref<u32, cuda::thread_scope_device> counter(*arrivals);
        counter.fetch_add(1, cuda::memory_order_release);
        while (counter.load(cuda::memory_order_relaxed) < all) {
        }
        cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    }
    __syncthreads();
}

// TileLists are the lists of active tiles of LISTS successive sets, with their counts and stamps, in device memory.
// Without them (`all()`) every tile is active.
struct TileLists : TileListArguments {
    // Returns whether all tiles are active.
    __device__ __forceinline__ bool all() const { return entries == nullptr; }
    // Returns the address of a set's list.
    __device__ __forceinline__ u64 *list(u32 set) const { return entries + static_cast<u64>(set % LISTS) * tiles; }
    // Returns the address of the number of tiles in a set.
    __device__ __forceinline__ u32 *count(u32 set) const { return counts + set % LISTS; }
    // Returns the number of a tile, in the order of an image.
    __device__ __forceinline__ u32 index(TileIndex t) const { return (t.z * tiles_y + t.y) * tiles_x + t.x; }
    // Returns the position of the tile with a number.
    __device__ __forceinline__ TileIndex tile_at(u32 i) const
    {
        return {i % tiles_x, i / tiles_x % tiles_y, i / tiles_x / tiles_y};
    }
    // Returns the address of a tile's stamp for a set.
    __device__ __forceinline__ u32 *stamp(u32 set, TileIndex t) const
    {
        return stamps + static_cast<u64>(set & 1) * tiles + index(t);
    }

    // Adds a tile to a set, unless the set already has it; each thread that has a tile calls it. Returns whether the tile
    // was added.
    __device__ __forceinline__ bool push(u32 set, TileIndex t) const
    {
        if (atomicExch(stamp(set, t), set + 1) == set + 1) return false;
        // The active lanes reserve their entries by one atomic operation.
        const u32 here = __activemask(), leader = __ffs(here) - 1, lane = threadIdx.x % WARP;
        u32 first = 0;
        if (lane == leader) first = atomicAdd(count(set), static_cast<u32>(__popc(here)));
        first = __shfl_sync(here, first, leader);
        list(set)[first + __popc(here & ((1u << lane) - 1))] = pack_tile(t);
        return true;
    }

    // Returns the tile around t that has a lane's bit in a word of affected tiles. Its indices wrap around beyond 0.
    __device__ __forceinline__ static TileIndex tile_of_lane(TileIndex t, u32 lane)
    {
        return {t.x + lane % AFFECTED_SIDE - 1, t.y + lane / AFFECTED_SIDE % AFFECTED_SIDE - 1,
                t.z + lane / (AFFECTED_SIDE * AFFECTED_SIDE) - 1};
    }

    // Adds the tiles of a word of affected tiles, of which t is the one in the middle, to a set. All lanes of a warp
    // call it with the same arguments; each has a bit of the word. Returns whether the lane's tile was added.
    template <bool VOLUME>
    __device__ __forceinline__ bool push_affected(u32 set, TileIndex t, u32 affected, u32 lane) const
    {
        const auto [x, y, z] = tile_of_lane(t, lane);
        if ((affected >> lane & 1) == 0 || (!VOLUME && z != t.z)) return false;
        return x < tiles_x && y < tiles_y && z < tiles_z && push(set, {x, y, z});
    }
};

// Adds the affected tiles of a phi in rows to a set; all lanes of a warp call it. (The context and the u64 are unused here:
// level_set_sparse.cuh has a function of the same signature for a sparse phi, as for all functions below with a phi as an
// argument.)
template <bool VOLUME>
__device__ __forceinline__ void push_affected(const float *, const TileLists &lists, const IterationContext &, u64, u32 set,
                                              TileIndex t, u32 affected, u32 lane)
{
    lists.push_affected<VOLUME>(set, t, affected, lane);
}

// Returns the tiles along one axis (TILE_BEFORE, OWN_TILE, TILE_AFTER) that a change of voxel number `place` of a tile
// affects. level_set.h defines the words of affected tiles; src/level_set/cpu/tiles.rs computes the same ones.
template <int SIDE>
__device__ __forceinline__ u32 affected_along_axis(u32 place)
{
    return (place < BAND_REACH ? TILE_BEFORE : 0u) | OWN_TILE | (place + BAND_REACH >= SIDE ? TILE_AFTER : 0u);
}
// Returns `pattern` once for each tile of one axis' word, `stride` bits apart.
__device__ __forceinline__ u32 repeat_along_axis(u32 pattern, u32 axis, u32 stride)
{
    return (axis & TILE_BEFORE ? pattern : 0) | (axis & OWN_TILE ? pattern << stride : 0) |
           (axis & TILE_AFTER ? pattern << 2 * stride : 0);
}
// Returns the affected tiles of one plane of tiles from those along x and along y.
__device__ __forceinline__ u32 affected_in_plane(u32 along_x, u32 along_y)
{
    return repeat_along_axis(along_x, along_y, AFFECTED_SIDE);
}
// Returns the affected tiles from those of one plane and those along z. In slices, which do not affect each other, that
// is OWN_TILE.
__device__ __forceinline__ u32 affected_tiles(u32 in_plane, u32 along_z)
{
    return repeat_along_axis(in_plane, along_z, AFFECTED_SIDE * AFFECTED_SIDE);
}

// A TileActivity collects the tiles that a lane's changes of phi within the narrow band affect.
struct TileActivity {
    u32 affected = 0;

    // Adds the tiles that the change of a voxel affects, if it is within the narrow band and large enough.
    __device__ __forceinline__ void record(const LevelSetSetup &setup, float before, float after, u32 affected_by_voxel)
    {
        if (fabsf(before) <= setup.band_width && fabsf(__fsub_rn(after, before)) > setup.activity_threshold)
            affected |= affected_by_voxel;
    }
    // Returns the union over all lanes of a warp, in each of them; all lanes call it.
    __device__ __forceinline__ u32 warp_union() const
    {
        u32 all = affected;
        if (!__any_sync(ALL_LANES, all != 0)) return 0;
#pragma unroll
        for (u32 offset = WARP / 2; offset > 0; offset /= 2) all |= __shfl_xor_sync(ALL_LANES, all, offset);
        return all;
    }
};

// Does the work of TileActivity::record() and PartialStatistics::add() for a lane's two voxels, as far as the lane owns
// them. It is fast for the usual case that no voxel changes sides. phi is never -0, so the sign bit is the side. Changes
// are scaled by a power of two before they are squared, which gives the same squares.
__device__ __forceinline__ void count_two_voxels(const LevelSetSetup &setup, const bool (&own)[2],
                                                 const float (&before)[2], const float (&after)[2],
                                                 const u32 (&affected)[2], PartialStatistics &stats,
                                                 TileActivity &activity)
{
    constexpr float ROOT_ONE = 4096.0f;
    static_assert(SQUARE_ONE == ROOT_ONE * ROOT_ONE, "it is the root of SQUARE_ONE");
    u32 sign_change[2];   // the sign bit is set where the voxel changes sides
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float change = __fsub_rn(after[i], before[i]),
                    scaled = __fmul_rn(change, __fmul_rn(setup.rms_scale, ROOT_ONE));
        const u32 square = __float2uint_rz(fminf(__fmul_rn(scaled, scaled), SQUARE_MAX * SQUARE_ONE));
        if (own[i]) activity.record(setup, before[i], after[i], affected[i]);
        if (own[i] && fabsf(before[i]) <= setup.max_spacing) stats.near += 1, stats.squares += square;
        sign_change[i] = own[i] ? __float_as_uint(before[i]) ^ __float_as_uint(after[i]) : 0;
    }
    if (static_cast<int>(sign_change[0] | sign_change[1]) >= 0) return;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int crossed = static_cast<int>(sign_change[i] >> 31);
        stats.changed += crossed, stats.inside += before[i] < 0.0f ? -crossed : crossed;
    }
}

constexpr u64 NO_ELEMENT = ~0ull;   // the index of an element that is beyond the image

// Copies ROWS elements of column x, a lane's, from one phi to the other, and the repeated elements beside the borders.
// at(i) returns the index of the i-th, or NO_ELEMENT. All are loaded together, because the latency of memory is long.
template <u32 ROWS, typename AT>
__device__ __forceinline__ void copy_elements(const float *from, float *to, const LevelSetSetup &setup, u32 x, AT at)
{
    float value[ROWS];
#pragma unroll
    for (u32 i = 0; i < ROWS; ++i) value[i] = at(i) != NO_ELEMENT ? __ldcg(from + at(i)) : 0.0f;
#pragma unroll
    for (u32 i = 0; i < ROWS; ++i) {
        if (at(i) == NO_ELEMENT) continue;
        float *place = to + at(i);
        place[0] = value[i];
        if (x == 0) place[-1] = value[i];
        if (x + 1 == setup.width) place[1] = value[i];
    }
}

// Rows in shared memory begin at the tile's pixel -1, which LEAD aligns to 16 bytes. There are two planes and two rows
// more than a part has.
constexpr int TILE_ROW = 12;
constexpr int TILE_ROWS = TILE + 2;
constexpr int TILE_PLANE = TILE_ROWS * TILE_ROW;
constexpr int TILE_SHARED = (HALF + 2) * TILE_PLANE;   // floats of a warp

// Starts the copy of a part of a volume's tile with its halo from phi to shared memory; all lanes of a warp call it,
// and wait for it later. Three lanes copy a row, one instruction copies a plane, so that adjacent lanes make one
// request. The last lane of a row copies two elements that are not read.
__device__ __forceinline__ void load_part(float *shared, const float *from, const LevelSetSetup &setup,
                                          const TilePart &part, u32 lane)
{
    constexpr u32 QUADS = TILE_ROW / 4;
    static_assert(QUADS * TILE_ROWS <= WARP, "a lane copies one part of a plane");
    if (lane < QUADS * TILE_ROWS) {
        const int z0 = static_cast<int>(part.t.z * TILE + part.first) - 1, y0 = static_cast<int>(part.t.y * TILE) - 1;
        const u32 y = clamp_index(y0 + static_cast<int>(lane / QUADS), static_cast<int>(setup.height));
        const float *line = from + part.t.x * TILE + lane % QUADS * 4;
#pragma unroll
        for (u32 k = 0; k < HALF + 2; ++k) {
            if (k >= part.planes + 2) break;
            const u32 z = clamp_index(z0 + static_cast<int>(k), static_cast<int>(setup.depth));
            __pipeline_memcpy_async(shared + k * TILE_PLANE + lane * 4,
                                    line + static_cast<u64>(z * setup.height + y) * setup.pitch, sizeof(float4));
        }
    }
    __pipeline_commit();
}

// A WideDifferencesAt computes wide differences from the values in shared memory around the voxel `at`.
template <bool UNIT>
struct WideDifferencesAt {
    const LevelSetSetup &setup;
    __device__ __forceinline__ float x(const float *at) const
    {
        return scaled<UNIT>(__fsub_rn(at[1], at[-1]), setup.inv_dx);
    }
    __device__ __forceinline__ float y(const float *at) const
    {
        return scaled<UNIT>(__fsub_rn(at[TILE_ROW], at[-TILE_ROW]), setup.inv_dy);
    }
    __device__ __forceinline__ float z(const float *at) const
    {
        return scaled<UNIT>(__fsub_rn(at[TILE_PLANE], at[-TILE_PLANE]), setup.inv_dz);
    }
};

// ColumnValues are the values in a plane of rows -1 .. 2 of a lane's column, whose own rows are 0 and 1, and of the
// columns beside it; left[0] is not used.
struct ColumnValues {
    float left[4], here[4], right[4];

    // Reads them from shared memory; `from` is the voxel of row 0.
    __device__ __forceinline__ void load(const float *from)
    {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (i > 0) left[i] = from[(i - 1) * TILE_ROW - 1];
            here[i] = from[(i - 1) * TILE_ROW], right[i] = from[(i - 1) * TILE_ROW + 1];
        }
    }
};

// ColumnDifferences are the wide differences of ColumnValues: along x in rows 0 .. 2, along y in rows 0 and 1, these
// also in the column to the right.
template <bool UNIT>
struct ColumnDifferences {
    float x[3], y[2], y_right[2];

    // Computes them from the values of a plane.
    __device__ __forceinline__ void compute(const LevelSetSetup &setup, const ColumnValues &v)
    {
#pragma unroll
        for (int i = 0; i < 3; ++i) x[i] = scaled<UNIT>(__fsub_rn(v.right[i + 1], v.left[i + 1]), setup.inv_dx);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            y[i] = scaled<UNIT>(__fsub_rn(v.here[i + 2], v.here[i]), setup.inv_dy);
            y_right[i] = scaled<UNIT>(__fsub_rn(v.right[i + 2], v.right[i]), setup.inv_dy);
        }
    }
};

// Returns phi of a voxel.
__device__ __forceinline__ float phi_at(const float *phi, const LevelSetSetup &setup, u32 x, u32 y, u32 z)
{
    return __ldcg(phi + static_cast<u64>(z * setup.height + y) * setup.pitch + x + LEAD);
}

// Farther reads the values of phi two voxels away from a voxel from device memory, because shared memory does not hold
// them; beyond the image they repeat the border's values. `beside` are the voxel's neighbours: before and after it along x,
// y and z.
template <bool UNIT, typename PHI>
struct Farther {
    const LevelSetSetup &setup;
    const PHI &from;   // phi before the iteration
    int x, y, z;
    float beside[3][2];

    // Returns phi `steps` voxels after the voxel along an axis, or before it if that is negative.
    __device__ __forceinline__ float value(int axis, int steps) const
    {
        const u32 to_x = clamp_index(x + (axis == 0 ? steps : 0), static_cast<int>(setup.width));
        const u32 to_y = clamp_index(y + (axis == 1 ? steps : 0), static_cast<int>(setup.height));
        const u32 to_z = clamp_index(z + (axis == 2 ? steps : 0), static_cast<int>(setup.depth));
        return phi_at(from, setup, to_x, to_y, to_z);
    }
    // Makes the voxel's differences along an axis second-order. Each is a neighbour minus the voxel, times 4.
    __device__ __forceinline__ void make_second_order_along(int axis, float &after4, float &before4) const
    {
        const float inverse = axis == 0 ? setup.inv_dx : axis == 1 ? setup.inv_dy : setup.inv_dz;
        const auto [before, after] = beside[axis];
        float backward4 = -before4;
        make_second_order(after4, backward4, difference4<UNIT>(value(axis, 2), __fmul_rn(4.0f, after), inverse),
                          difference4<UNIT>(before, __fmul_rn(4.0f, value(axis, -2)), inverse));
        before4 = -backward4;
    }
};

// BorderNormals are the normals of a part's outermost faces towards -x and -y. There are 32 for each direction, one per
// lane: for (row, plane) and for (column, plane). Planes that the part does not have give values that are not read.
template <bool UNIT>
struct BorderNormals {
    float x, y;

    // Computes a lane's from the part in shared memory.
    __device__ __forceinline__ BorderNormals(const LevelSetSetup &setup, const float *shared, u32 lane)
    {
        const WideDifferencesAt<UNIT> wide{setup};
        const float *p = shared + TILE_PLANE * (1 + lane / TILE) + (lane % TILE + 1) * TILE_ROW + 1;
        x = face_normal(difference4<UNIT>(p[0], __fmul_rn(4.0f, p[-1]), setup.inv_dx),
                        __fadd_rn(wide.y(p - 1), wide.y(p)),
                        __fadd_rn(wide.z(p - 1), wide.z(p)));
        const float *q = shared + TILE_PLANE * (1 + lane / TILE) + TILE_ROW + lane % TILE + 1;
        y = face_normal(difference4<UNIT>(q[0], __fmul_rn(4.0f, q[-TILE_ROW]), setup.inv_dy),
                        __fadd_rn(wide.x(q - TILE_ROW), wide.x(q)),
                        __fadd_rn(wide.z(q - TILE_ROW), wide.z(q)));
    }
};

// Computes `result`, phi after the iteration of a lane's two voxels (column, two rows of row group `group`; `place` is the
// first) of the plane `here`, number k of the part, with the planes below and above; all lanes of a warp call it. `at`
// is the plane above in shared memory, which is read first. wide_here and wide_above are the wide differences of `here`
// and of `above`. low_z and low_dz are those of the faces below; those of the faces above replace them.
template <bool UNIT, typename PIXEL, typename PHI>
__device__ __forceinline__ void
update_plane(const LevelSetSetup &setup, const float *at, const BorderNormals<UNIT> &border, u32 column, u32 group,
             int k, const PHI &from, const int (&place)[3], const PIXEL (&pixel)[2], const ColumnValues &below,
             const ColumnValues &here, ColumnValues &above,
             const ColumnDifferences<UNIT> &wide_here, ColumnDifferences<UNIT> &wide_above, float (&low_z)[2],
             float (&low_dz)[2], float (&result)[2])
{
    // 1. The plane above is read; then the wide differences along z are known.
    above.load(at);
    wide_above.compute(setup, above);
    float wide_z[3];   // rows 0 .. 2
#pragma unroll
    for (int i = 0; i < 3; ++i)
        wide_z[i] = scaled<UNIT>(__fsub_rn(above.here[i + 1], below.here[i + 1]), setup.inv_dz);

    // 2. Each lane computes the differences across its faces towards +x and +y, and the normals there. ny[0] and dy[0]
    //    are of the face towards -y of the first voxel, the others of the faces towards +y.
    float nx[2], low_x[2], ny[3], here4[2], dx[2], dy[3];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float right_z = scaled<UNIT>(__fsub_rn(above.right[i + 1], below.right[i + 1]), setup.inv_dz);
        here4[i] = __fmul_rn(4.0f, here.here[i + 1]);
        dx[i] = difference4<UNIT>(here.right[i + 1], here4[i], setup.inv_dx);
        dy[i + 1] = difference4<UNIT>(here.here[i + 2], here4[i], setup.inv_dy);
        nx[i] = face_normal(dx[i], __fadd_rn(wide_here.y[i], wide_here.y_right[i]), __fadd_rn(wide_z[i], right_z));
        ny[i + 1] = face_normal(dy[i + 1], __fadd_rn(wide_here.x[i], wide_here.x[i + 1]),
                                __fadd_rn(wide_z[i], wide_z[i + 1]));
    }
    dy[0] = scaled<UNIT>(__fmaf_rn(-4.0f, here.here[0], here4[0]), setup.inv_dy);

    // 3. The normals of the faces towards -x and -y come from the lane there, or from the part's border.
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float beside = __shfl_up_sync(ALL_LANES, nx[i], 1);
        const float outside = __shfl_sync(ALL_LANES, border.x, k * TILE + group * 2 + i);
        low_x[i] = column == 0 ? outside : beside;
    }
    {
        const float beside = __shfl_up_sync(ALL_LANES, ny[2], TILE);
        const float outside = __shfl_sync(ALL_LANES, border.y, k * TILE + column);
        ny[0] = group == 0 ? outside : beside;
    }

    // 4. The normals of all six faces give the divergence, and with the differences phi after the iteration. The faces
    //    above become those below for the next plane.
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float old = here.here[i + 1];
        const float dz = difference4<UNIT>(above.here[i + 1], here4[i], setup.inv_dz);
        const float nz = face_normal(dz, __fadd_rn(wide_here.x[i], wide_above.x[i]),
                                     __fadd_rn(wide_here.y[i], wide_above.y[i]));
        float divergence = scaled<UNIT>(__fsub_rn(nx[i], low_x[i]), setup.inv_dx);
        divergence = __fadd_rn(divergence, scaled<UNIT>(__fsub_rn(ny[i + 1], ny[i]), setup.inv_dy));
        divergence = __fadd_rn(divergence, scaled<UNIT>(__fsub_rn(nz, low_z[i]), setup.inv_dz));
        VoxelUpdate update(setup, old, divergence, pixel[i]);
        const Farther<UNIT, PHI> farther{setup, from, place[0], place[1] + i, place[2] + k,
                                    {{here.left[i + 1], here.right[i + 1]},
                                     {here.here[i], here.here[i + 2]},
                                     {below.here[i + 1], above.here[i + 1]}}};
        update.add_axis(0, dx[i], difference4<UNIT>(here.left[i + 1], here4[i], setup.inv_dx), farther);
        update.add_axis(1, dy[i + 1], -dy[i], farther);
        update.add_axis(2, dz, -low_dz[i], farther);
        low_z[i] = nz, low_dz[i] = dz;
        result[i] = update.result(setup);
    }
}

// A PlaceInPhi is where a voxel of a tile is, with the elements from row to row and from plane to plane. `beside_x` is
// true if the tile is at a border along x, beside which elements are repeated.
struct PlaceInPhi {
    float *at;
    u32 pitch;
    u64 stride;
    bool beside_x;
};
__device__ __forceinline__ PlaceInPhi place_in(float *phi, const LevelSetSetup &setup, TileIndex t, u32 x, u32 y, u32 z)
{
    const u64 stride = static_cast<u64>(setup.height) * setup.pitch;
    return {phi + z * stride + static_cast<u64>(y) * setup.pitch + x + LEAD, setup.pitch, stride,
            t.x == 0 || (t.x + 1) * TILE >= setup.width};
}

// Stores a lane's two voxels in phi, and the repeated elements beside the borders.
__device__ __forceinline__ void store_two_voxels(const PlaceInPhi &place, const LevelSetSetup &setup, u32 x,
                                                 const bool (&own)[2], const float (&result)[2])
{
    float *out = place.at;
    if (own[0]) out[0] = result[0];
    if (own[1]) out[place.pitch] = result[1];
    if (place.beside_x) {
        const int copy = x == 0 ? -1 : 1;   // where the repeated element is
        if (own[0] && (x == 0 || x + 1 == setup.width)) out[copy] = result[0];
        if (own[1] && (x == 0 || x + 1 == setup.width)) out[static_cast<int>(place.pitch) + copy] = result[1];
        if (setup.width == 1 && own[0]) out[1] = result[0];
        if (setup.width == 1 && own[1]) out[place.pitch + 1] = result[1];
    }
}

// Does an iteration of a part of a volume's tile, from shared memory, phi `from` and the image to phi `to`; all lanes of a
// warp call it after load_part(). A lane has a column and two rows; the planes come one after another.
template <typename PIXEL, bool UNIT, typename PHI>
__device__ __forceinline__ void update_part(const float *shared, const PHI &from, const PHI &to, const PIXEL *image,
                                            const LevelSetSetup &setup, const TilePart &part, u32 lane,
                                            PartialStatistics &stats, TileActivity &activity)
{
    const TileIndex t = part.t;
    const u32 column = lane % TILE, group = lane / TILE;
    const float *at = shared + TILE_PLANE + (group * 2 + 1) * TILE_ROW + column + 1;
    const u32 x = t.x * TILE + column, y = t.y * TILE + group * 2, z = t.z * TILE + part.first;
    const u64 stride = static_cast<u64>(setup.height) * setup.pitch;
    const u64 place = z * stride + y * setup.pitch + x + LEAD;
    const int planes = min(static_cast<int>(setup.depth) - static_cast<int>(z), static_cast<int>(part.planes));
    const bool own[2] = {x < setup.width && y < setup.height && planes > 0,
                         x < setup.width && y + 1 < setup.height && planes > 0};
    const u32 in_plane[2] = {
        affected_in_plane(affected_along_axis<TILE>(column), affected_along_axis<TILE>(group * 2)),
        affected_in_plane(affected_along_axis<TILE>(column), affected_along_axis<TILE>(group * 2 + 1))};
    const int first_voxel[3] = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
    PlaceInPhi out = place_in(to, setup, t, x, y, z);
    const PIXEL *pixels[2] = {image + place, image + place + setup.pitch};
    // Pixels are loaded a plane ahead, because the latency of memory is long.
    PIXEL pixel[2] = {own[0] ? *pixels[0] : PIXEL(0), own[1] ? *pixels[1] : PIXEL(0)};
    __pipeline_wait_prior(0);
    __syncwarp();

    const BorderNormals<UNIT> border(setup, shared, lane);
    ColumnValues below, here, above;
    ColumnDifferences<UNIT> wide_here, wide_beside;   // of the plane here, and of the one below or above
    float low_z[2], low_dz[2];
    below.load(at - TILE_PLANE), here.load(at);
    wide_beside.compute(setup, below), wide_here.compute(setup, here);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        low_dz[i] = difference4<UNIT>(here.here[i + 1], __fmul_rn(4.0f, below.here[i + 1]), setup.inv_dz);
        low_z[i] = face_normal(low_dz[i], __fadd_rn(wide_beside.x[i], wide_here.x[i]),
                               __fadd_rn(wide_beside.y[i], wide_here.y[i]));
    }
#pragma unroll 1
    for (int k = 0; k < planes; ++k) {
        PIXEL next_pixel[2];
        const bool more = k + 1 < planes;
#pragma unroll
        for (int i = 0; i < 2; ++i) pixels[i] += stride, next_pixel[i] = own[i] && more ? *pixels[i] : PIXEL(0);
        at += TILE_PLANE;
        float result[2];
        update_plane(setup, at, border, column, group, k, from, first_voxel, pixel, below, here, above, wide_here,
                     wide_beside, low_z, low_dz, result);
        store_two_voxels(out, setup, x, own, result);

        // Far from the front nothing is counted unless a voxel changes sides, which may happen where phi is steep.
        const float before[2] = {here.here[1], here.here[2]};
        const u32 sign_changes = (__float_as_uint(before[0]) ^ __float_as_uint(result[0])) |
                                 (__float_as_uint(before[1]) ^ __float_as_uint(result[1]));
        if (fminf(fabsf(before[0]), fabsf(before[1])) <= setup.band_width || static_cast<int>(sign_changes) < 0) {
            const u32 along_z = affected_along_axis<TILE>(part.first + static_cast<u32>(k));
            const u32 affected[2] = {affected_tiles(in_plane[0], along_z), affected_tiles(in_plane[1], along_z)};
            count_two_voxels(setup, own, before, result, affected, stats, activity);
        }
        out.at += out.stride;
        below = here, here = above, wide_here = wide_beside;
        pixel[0] = next_pixel[0], pixel[1] = next_pixel[1];
    }
}

// Copies half a tile of a volume from one phi to the other; all lanes of a warp call it.
__device__ __forceinline__ void copy_half(const float *from, float *to, const LevelSetSetup &setup, TileIndex t,
                                          u32 half, u32 lane)
{
    const u32 x = t.x * TILE + lane % TILE, y0 = t.y * TILE + lane / TILE, z0 = t.z * TILE + half * HALF;
    copy_elements<HALF * 2>(from, to, setup, x, [&](u32 i) {
        const u32 z = z0 + i / 2, y = y0 + i % 2 * (TILE / 2);
        if (x >= setup.width || y >= setup.height || z >= setup.depth) return NO_ELEMENT;
        return static_cast<u64>(z * setup.height + y) * setup.pitch + x + LEAD;
    });
}
