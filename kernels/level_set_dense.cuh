// Dense iterations of volumes: a warp marches along z with two columns and ROWS rows per lane. Planes stay in registers
// and neighbours along x come by shuffles. The planes ahead are copied asynchronously to shared memory, where each lane
// reads only its own elements.
//
// All branches are uniform over a warp, and the compiler can see that: it keeps pointers and counts in uniform
// registers and moves instructions across shuffles. That saves a quarter of the registers.
#pragma once
#include "level_set_update.cuh"

constexpr int DENSE_AHEAD = 2;      // planes requested ahead of the one that a step needs
constexpr int DENSE_UNROLL = DENSE_AHEAD + 1;   // steps of the unrolled loop; with six it stalls for instructions

// Returns the address `bytes` after a pointer that all lanes share, which takes one register.
template <typename T>
__device__ __forceinline__ T *offset_bytes(T *at, u32 bytes)
{
    using Byte = typename cuda::std::conditional<cuda::std::is_const<T>::value, const char, char>::type;
    return reinterpret_cast<T *>(reinterpret_cast<Byte *>(at) + bytes);
}

// Returns its argument, through a shuffle; all lanes of a warp call it. The compiler cannot know that the value is the
// same, so it keeps it in a register instead of computing it again for every use.
template <typename T>
__device__ __forceinline__ T keep_in_register(T value)
{
    return __shfl_sync(ALL_LANES, value, static_cast<int>(threadIdx.x));
}
// Does the same for a pointer into shared memory.
__device__ __forceinline__ float *keep_shared_pointer(float *at)
{
#if defined(__CUDA_ARCH__)
    return static_cast<float *>(
        __cvta_shared_to_generic(keep_in_register(static_cast<u32>(__cvta_generic_to_shared(at)))));
#else
    return at;
#endif
}

// A Plane has the values of a lane's two columns in one plane, in the warp's rows and the rows above and below; `right` are
// the values of the column to the right, which wide_differences() fills in.
template <int ROWS>
struct Plane {
    float v[ROWS + 2][2], right[ROWS + 2];
};
// The WideDifferences of a Plane: along x, also in the rows above and below the warp's, and along y. `left` are the values
// of the column to the left.
template <int ROWS>
struct WideDifferences {
    float x[ROWS + 2][2], y[ROWS][2];
    float left[ROWS];
};

// A DenseMarch is a lane's state while its warp goes from plane to plane: its position, the memory in which the planes
// ahead arrive, and the values of the plane below that the next plane needs. All lanes of the warp call its functions
// together.
template <typename PIXEL, int ROWS, bool UNIT>
struct DenseMarch {
    const LevelSetSetup &setup;
    PartialStatistics &stats;
    // The lane's elements in shared memory: planes of phi, one per slot; the words that hold the planes' pixels; and the
    // lane's pairs of pixels in these words.
    float *slots, *words, *pairs;
    u32 row[ROWS + 2];   // offsets of its rows within a plane, in bytes of phi
    u32 flags;           // own_bit() of the voxels that the lane owns, and the bits below
    bool side;           // the strip has repeated elements beside the volume
    float low_z[ROWS][2], low_dz[ROWS][2];   // of the faces below: normals, and four times the differences
    // Returns the bit of `flags` for the voxel of row i and column c.
    static constexpr __device__ __forceinline__ u32 own_bit(int i, int c) { return (c ? 2u : 1u) << 2 * i; }
    // Returns whether the lane owns that voxel.
    __device__ __forceinline__ bool owns(int i, int c) const { return (flags >> (2 * i + c) & 1u) != 0; }
    // Tasks of a lane at the sides of the volume: it repeats the first or the last pixel within its pair, or takes the
    // last pixel from the lane before.
    static constexpr u32 COPIES_FIRST = 1u << 31, COPIES_LAST = 1u << 30, TAKES_LAST = 1u << 29;
    // The elements that the lane writes: both at once, or only one of them.
    static constexpr u32 WRITES_BOTH = 1u << 28, WRITES_LEFT = 1u << 27, WRITES_RIGHT = 1u << 26;
    static constexpr int PAIR = sizeof(PIXEL) == sizeof(float) ? 8 : 4;   // bytes that are copied for two pixels

    // Starts the copies of the lane's elements of a plane of phi to a slot.
    __device__ __forceinline__ void request(int slot, const float *from) const
    {
#pragma unroll
        for (int i = 0; i < ROWS + 2; ++i)
            __pipeline_memcpy_async(slots + (slot * (ROWS + 2) + i) * 2 * WARP, offset_bytes(from, row[i]),
                                    sizeof(float2));
    }
    // Reads the lane's elements of a plane from its slot.
    __device__ __forceinline__ void load_plane(Plane<ROWS> &plane, int slot) const
    {
#pragma unroll
        for (int i = 0; i < ROWS + 2; ++i) load_vector<2>(plane.v[i], slots + (slot * (ROWS + 2) + i) * 2 * WARP);
    }
    // Starts the copies of the lane's pixels of a plane of the image to a slot.
    __device__ __forceinline__ void request_pixels(int slot, const PIXEL *pixels) const
    {
        // A pair of bytes lies within a word.
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
            __pipeline_memcpy_async(words + (slot * ROWS + i) * 2 * WARP,
                                    offset_bytes(pixels, row[i + 1] / (sizeof(float) / sizeof(PIXEL)) & ~3u), PAIR);
    }
    // Returns the pixel of row i and column c from a slot.
    __device__ __forceinline__ float pixel(int slot, int i, int c) const
    {
        const PIXEL value = reinterpret_cast<const PIXEL *>(pairs + (slot * ROWS + i) * 2 * WARP)[c];
        if constexpr (sizeof(PIXEL) < sizeof(float)) return static_cast<float>(static_cast<u32>(value));
        else return value;
    }
    // Computes the wide differences w of a plane p, whose column to the right it fills.
    __device__ __forceinline__ void wide_differences(WideDifferences<ROWS> &w, Plane<ROWS> &p) const
    {
#pragma unroll
        for (int i = 0; i < ROWS + 2; ++i) {
            const float before = __shfl_up_sync(ALL_LANES, p.v[i][1], 1);
            const float after = __shfl_down_sync(ALL_LANES, p.v[i][0], 1);
            w.x[i][0] = scaled<UNIT>(__fsub_rn(p.v[i][1], before), setup.inv_dx);
            w.x[i][1] = scaled<UNIT>(__fsub_rn(after, p.v[i][0]), setup.inv_dx);
            p.right[i] = after;
            if (i > 0 && i <= ROWS) w.left[i - 1] = before;
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int c = 0; c < 2; ++c) w.y[i][c] = scaled<UNIT>(__fsub_rn(p.v[i + 2][c], p.v[i][c]), setup.inv_dy);
    }

    // Computes the wide differences w of the first plane, `here`, and its faces below.
    __device__ __forceinline__ void begin(Plane<ROWS> &below, Plane<ROWS> &here, WideDifferences<ROWS> &w)
    {
        WideDifferences<ROWS> w_below;
        wide_differences(w_below, below);
        wide_differences(w, here);
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                low_dz[i][c] = difference4<UNIT>(here.v[i + 1][c], __fmul_rn(4.0f, below.v[i + 1][c]), setup.inv_dz);
                low_z[i][c] =
                    face_normal(low_dz[i][c], __fadd_rn(w_below.x[i + 1][c], w.x[i + 1][c]),
                                __fadd_rn(w_below.y[i][c], w.y[i][c]));
            }
    }

    // Does an iteration of the plane `here`, whose pixels are in `slot` and whose wide differences are w, and leaves
    // those of `above` in w_above. `out` is the plane of the other phi, in device memory.
    __device__ __forceinline__ void update_plane(const Plane<ROWS> &below, const Plane<ROWS> &here, Plane<ROWS> &above,
                                                 const WideDifferences<ROWS> &w, WideDifferences<ROWS> &w_above,
                                                 int slot, float *out)
    {
        // 1. The loop over the rows needs the wide differences along z and those of the plane above, and begins with the
        //    faces towards -y of the first row.
        float wide_z[ROWS + 2][2], here4[2], low_y[2], low_dy[2];
#pragma unroll
        for (int i = 0; i < ROWS + 2; ++i)
#pragma unroll
            for (int c = 0; c < 2; ++c)
                wide_z[i][c] = scaled<UNIT>(__fsub_rn(above.v[i][c], below.v[i][c]), setup.inv_dz);
        wide_differences(w_above, above);
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            here4[c] = __fmul_rn(4.0f, here.v[1][c]);
            low_dy[c] = scaled<UNIT>(__fmaf_rn(-4.0f, here.v[0][c], here4[c]), setup.inv_dy);
            low_y[c] = face_normal(low_dy[c], __fadd_rn(w.x[0][c], w.x[1][c]), __fadd_rn(wide_z[0][c], wide_z[1][c]));
        }
        float result[ROWS][2];
        bool near = false;
        u32 sign_changes = 0;   // the sign bit is set where a voxel changes sides
        // 2. The voxels are updated row by row. The faces after a voxel become those before the next one along y and z.
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const float wide_y_right = scaled<UNIT>(__fsub_rn(here.right[i + 2], here.right[i]), setup.inv_dy);
            const float wide_z_right = scaled<UNIT>(__fsub_rn(above.right[i + 1], below.right[i + 1]), setup.inv_dz);
            if (i > 0) here4[0] = __fmul_rn(4.0f, here.v[i + 1][0]), here4[1] = __fmul_rn(4.0f, here.v[i + 1][1]);
            // Four times the differences across the faces before, between and after the lane's two voxels.
            const float dx[3] = {scaled<UNIT>(__fmaf_rn(-4.0f, w.left[i], here4[0]), setup.inv_dx),
                                 difference4<UNIT>(here.v[i + 1][1], here4[0], setup.inv_dx),
                                 difference4<UNIT>(here.right[i + 1], here4[1], setup.inv_dx)};
            const float nx_between =
                face_normal(dx[1], __fadd_rn(w.y[i][0], w.y[i][1]), __fadd_rn(wide_z[i + 1][0], wide_z[i + 1][1]));
            const float nx_after =
                face_normal(dx[2], __fadd_rn(w.y[i][1], wide_y_right), __fadd_rn(wide_z[i + 1][1], wide_z_right));
            const float nx_before = __shfl_up_sync(ALL_LANES, nx_after, 1);
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                const float old = here.v[i + 1][c];
                const float dy = difference4<UNIT>(here.v[i + 2][c], here4[c], setup.inv_dy);
                const float dz = difference4<UNIT>(above.v[i + 1][c], here4[c], setup.inv_dz);
                const float ny = face_normal(dy, __fadd_rn(w.x[i + 1][c], w.x[i + 2][c]),
                                             __fadd_rn(wide_z[i + 1][c], wide_z[i + 2][c]));
                const float nz = face_normal(dz, __fadd_rn(w.x[i + 1][c], w_above.x[i + 1][c]),
                                             __fadd_rn(w.y[i][c], w_above.y[i][c]));
                float divergence = scaled<UNIT>(
                    c ? __fsub_rn(nx_after, nx_between) : __fsub_rn(nx_between, nx_before), setup.inv_dx);
                divergence = __fadd_rn(divergence, scaled<UNIT>(__fsub_rn(ny, low_y[c]), setup.inv_dy));
                divergence = __fadd_rn(divergence, scaled<UNIT>(__fsub_rn(nz, low_z[i][c]), setup.inv_dz));
                const float intensity = pixel(slot, i, c);
                VoxelUpdate update(setup, old, divergence, intensity);
                update.add_axis(0, dx[c + 1], -dx[c], FirstOrder{});
                update.add_axis(1, dy, -low_dy[c], FirstOrder{});
                update.add_axis(2, dz, -low_dz[i][c], FirstOrder{});
                low_y[c] = ny, low_z[i][c] = nz, low_dy[c] = dy, low_dz[i][c] = dz;
                result[i][c] = update.result(setup);
                near = near || fabsf(old) <= setup.max_spacing;
                sign_changes |= __float_as_uint(old) ^ __float_as_uint(result[i][c]);
            }
        }
        // 3. Statistics are added only where the warp has a voxel near the front or one that changes sides.
        if (__any_sync(ALL_LANES, near || static_cast<int>(sign_changes) < 0)) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                const bool own[2] = {owns(i, 0), owns(i, 1)};
                stats.add_two_near<UNIT>(setup, here.v[i + 1], result[i], own);
            }
            if (__any_sync(ALL_LANES, static_cast<int>(sign_changes) < 0)) {
#pragma unroll
                for (int i = 0; i < ROWS; ++i)
#pragma unroll
                    for (int c = 0; c < 2; ++c)
                        stats.add_crossing(here.v[i + 1][c], result[i][c], owns(i, c));
            }
        }
        // 4. At the sides of the volume the repeated elements get the values of the pixels that they repeat.
        if (side) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                // The repeated last pixel is in the last pixel's pair, or the first of the next pair; the first pixel's
                // is in its own pair.
                const float beside = __shfl_up_sync(ALL_LANES, result[i][1], 1);
                if (flags & COPIES_LAST) result[i][1] = result[i][0];
                if (flags & TAKES_LAST) result[i][0] = beside;
                if (flags & COPIES_FIRST) result[i][0] = result[i][1];
            }
        }
        // 5. The rows are stored in the other phi, whole pairs at once.
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            float *line = offset_bytes(out, row[i + 1]);
            if (flags & WRITES_BOTH) *reinterpret_cast<float2 *>(line) = make_float2(result[i][0], result[i][1]);
            if (flags & WRITES_LEFT) line[0] = result[i][0];
            if (flags & WRITES_RIGHT) line[1] = result[i][1];
        }
    }
};

// Returns the first plane of a chunk.
__device__ __forceinline__ u32 first_plane(const DenseChunks &chunks, u32 chunk)
{
    const u32 after_large = chunk - min(chunk, chunks.large_count);
    return min(chunk, chunks.large_count) * chunks.large_planes + after_large * chunks.small_planes +
           min(after_large, chunks.longer_count);
}

// Does an iteration of a chunk of planes, from phi `from` to phi `to`, and adds a lane's statistics to `stats`. Returns
// whether the iteration was to be done. All threads of the grid call it: blocks of (32, DENSE_WARPS), grid (strips of
// DENSE_COLUMNS, groups of DENSE_WARPS * ROWS rows, chunks). height >= ROWS.
template <typename PIXEL, int ROWS, bool UNIT>
__device__ __forceinline__ bool dense(const float *__restrict__ from, float *__restrict__ to,
                                      const PIXEL *__restrict__ image, const LevelSetSetup &setup,
                                      const IterationContext &context, const DenseChunks &chunks,
                                      PartialStatistics &stats)
{
    constexpr int SLOTS = DENSE_AHEAD + 1;
    static_assert(DENSE_UNROLL == SLOTS && (SLOTS == 2 || SLOTS == 3), "a step's slot is a constant");
    constexpr int PLANE = (ROWS + 2) * 2 * WARP, PAIRS = ROWS * 2 * WARP;
    __shared__ __align__(16) float all[DENSE_WARPS][(SLOTS + 1) * PLANE + SLOTS * PAIRS];
    const int lane = threadIdx.x;
    const int width = static_cast<int>(setup.width), height = static_cast<int>(setup.height);
    const int depth = static_cast<int>(setup.depth);
    DenseMarch<PIXEL, ROWS, UNIT> march{setup, stats};
    march.slots = keep_shared_pointer(all[threadIdx.y] + 2 * lane);
    march.words = march.slots + (SLOTS + 1) * PLANE;

    const int strip = static_cast<int>(blockIdx.x);
    const int x = strip * DENSE_COLUMNS - 1 + 2 * lane;   // odd, so that pairs are aligned with LEAD
    const int start = (static_cast<int>(blockIdx.y) * DENSE_WARPS + static_cast<int>(threadIdx.y)) * ROWS;
    int z = static_cast<int>(setup.own_first + first_plane(chunks, blockIdx.z));
    const int end = static_cast<int>(setup.own_first + first_plane(chunks, blockIdx.z + 1));
    // The last group overlaps the group above it and writes the same values again. Warps below the image repeat that work
    // and count nothing. So all branches are uniform over a warp, and the compiler can see it.
    const int y = min(start, height - ROWS);

#pragma unroll
    for (int i = 0; i < ROWS + 2; ++i)
        march.row[i] = (static_cast<u32>(clamp_index(y + i - 1, height)) * setup.pitch +
                      static_cast<u32>(min(x, (width - 1) | 1) + LEAD)) * static_cast<u32>(sizeof(float));
    // Rows have a multiple of 8 elements, so a pair begins at the same position in its word everywhere.
    march.pairs = offset_bytes(march.words, march.row[1] / (sizeof(float) / sizeof(PIXEL)) & 3u);
    // Planes z - 1, z and as many above as there are slots.
    const u32 stride = setup.height * setup.pitch;
    const float *at = from + static_cast<u64>(stride) * z;
    const PIXEL *pixels = image + static_cast<u64>(stride) * z;
    int requested = z;   // planes up to this one are requested; those up to `end` will be read
    march.request(SLOTS - 1, z > 0 ? at - stride : at);
    march.request(SLOTS, at);
    auto request = [&](int slot) {
        if (++requested <= end) {
            at += requested < depth ? stride : 0;
            march.request(slot, at);
            march.request_pixels(slot, pixels);
            pixels += stride;
        }
        __pipeline_commit();
    };
#pragma unroll
    for (int i = 0; i < DENSE_AHEAD; ++i) request(i);
    // The wait for the previous launch's result overlaps with the copies.
    if (!__all_sync(ALL_LANES, context.begin())) {
        __pipeline_wait_prior(0);
        return false;
    }
    // Elements -1 .. width are written; those of pixels are counted.
    const bool write0 = x <= width && (lane > 0 || x < 0), write1 = x + 1 <= width && (lane < 31 || x + 1 == width);
    const bool own0 = lane > 0 && x < width, own1 = lane < 31 && x + 1 < width;
    const bool last_strip = width - strip * DENSE_COLUMNS <= DENSE_COLUMNS;
    march.side = strip == 0 || last_strip;
    u32 flags = (x < 0 ? march.COPIES_FIRST : 0) | (last_strip && own0 && !own1 ? march.COPIES_LAST : 0) |
                (last_strip && x == width ? march.TAKES_LAST : 0) | (write0 && write1 ? march.WRITES_BOTH : 0) |
                (write0 && !write1 ? march.WRITES_LEFT : 0) | (write1 && !write0 ? march.WRITES_RIGHT : 0);
#pragma unroll
    for (int i = 0; i < ROWS; ++i)   // the first `start - y` rows belong to the group above
        if (i >= start - y) flags |= (own0 ? march.own_bit(i, 0) : 0) | (own1 ? march.own_bit(i, 1) : 0);
    march.flags = keep_in_register(flags);

    Plane<ROWS> p[3];
    WideDifferences<ROWS> w[2];
    __pipeline_wait_prior(DENSE_AHEAD - 1);
    march.load_plane(p[0], SLOTS - 1);
    march.load_plane(p[1], SLOTS);
    march.begin(p[0], p[1], w[0]);
    float *out = to + static_cast<u64>(stride) * z;
    auto next = [&](auto constant) {
        constexpr int K = decltype(constant)::value;
        request((K + DENSE_AHEAD) % SLOTS);
        __pipeline_wait_prior(DENSE_AHEAD);
        march.load_plane(p[(K + 2) % 3], K % SLOTS);
        march.update_plane(p[K % 3], p[(K + 1) % 3], p[(K + 2) % 3], w[K % 2], w[(K + 1) % 2], K % SLOTS, out);
        out += stride;
        return ++z == end;
    };
#pragma unroll 1
    for (;;) {
        if (next(cuda::std::integral_constant<int, 0>())) break;
        if (next(cuda::std::integral_constant<int, 1>())) break;
        // Moves the values with which the next trip begins.
        if constexpr (DENSE_UNROLL == 3) {
            if (next(cuda::std::integral_constant<int, 2>())) break;
            w[0] = w[1];
        } else {
            p[1] = p[0], p[0] = p[2];
        }
    }
    __pipeline_wait_prior(0);
    return true;
}
