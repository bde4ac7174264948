// Dense, volumes: a warp marches along z with two columns and ROWS rows a lane; planes stay in registers, neighbours along
// x come by shuffles. Planes ahead are on their way to shared memory, where each lane keeps its own elements.
//
// All that decides where a warp goes is the same for its lanes, and the compiler sees it: so it keeps pointers and counts
// once a warp, and moves instructions across shuffles. That is worth a quarter of the registers.
#pragma once
#include "level_set_update.cuh"
#include <type_traits>

// src/level_set/cuda/marching.rs repeats what a grid is made from.
constexpr int DENSE_WARPS = 2, DENSE_BLOCKS = 10;   // of a block; of a multiprocessor
constexpr int DENSE_ROWS = 2;       // of a warp
constexpr int DENSE_COLUMNS = 62;   // of a warp's 64 the outer two are its neighbours'
constexpr int DENSE_AHEAD = 2;      // planes on their way, beyond the one that a step needs
constexpr int DENSE_TURN = DENSE_AHEAD + 1;   // steps of the loop; with six it stalls for instructions

// `bytes` beyond a pointer that all lanes share: an address of one register.
template <typename T>
__device__ __forceinline__ T *beyond(T *at, u32 bytes)
{
    using Byte = typename std::conditional<std::is_const<T>::value, const char, char>::type;
    return reinterpret_cast<T *>(reinterpret_cast<Byte *>(at) + bytes);
}

// The same value, or pointer into shared memory. The compiler cannot see that, and so keeps it in a register instead of
// computing it anew for every use.
template <typename T>
__device__ __forceinline__ T kept(T value)
{
    return __shfl_sync(ALL_LANES, value, static_cast<int>(threadIdx.x));
}
__device__ __forceinline__ float *kept_shared(float *at)
{
#if defined(__CUDA_ARCH__)
    return static_cast<float *>(__cvta_shared_to_generic(kept(static_cast<u32>(__cvta_generic_to_shared(at)))));
#else
    return at;
#endif
}

// A plane's values, those of the column to the right too; its wide differences along x (of the rows beside ours too) and y.
template <int ROWS>
struct Plane {
    float v[ROWS + 2][2], right[ROWS + 2];
};
template <int ROWS>
struct Wide {
    float x[ROWS + 2][2], y[ROWS][2];
    float left[ROWS];
};

// A warp's place, and the planes that it is at.
template <typename PIXEL, int ROWS, bool UNIT>
struct Dense {
    const LevelSetField &field;
    Tally &tally;
    float *slots, *words, *pairs;   // in shared memory: planes, the words that hold their pixels, pairs in those
    u32 row[ROWS + 2];       // offsets of its rows within a plane, bytes of phi
    u32 what;                // which of its voxels it counts: bit 2 * row + column; and the bits below
    bool side;               // of a strip with copies beside the volume
    float low_z[ROWS][2], low_dz[ROWS][2];   // of the faces below: normals, and four times the differences
    // What a lane has to do at the volume's sides.
    static constexpr u32 FIRST = 1u << 31, REPEATS = 1u << 30, TAKES = 1u << 29;
    // Which elements it writes: both at once, or one of them.
    static constexpr u32 BOTH = 1u << 28, LEFT = 1u << 27, RIGHT = 1u << 26;
    static constexpr int PAIR = sizeof(PIXEL) == sizeof(float) ? 8 : 4;   // bytes that are copied for two pixels

    // Of this lane's own elements: the plane at `from`, and pixels, on their way to a slot, and a slot's into registers.
    __device__ __forceinline__ void fetch(int slot, const float *from) const
    {
#pragma unroll
        for (int i = 0; i < ROWS + 2; ++i) copy_async<8>(slots + (slot * (ROWS + 2) + i) * 2 * WARP, beyond(from, row[i]));
    }
    __device__ __forceinline__ void take(Plane<ROWS> &plane, int slot) const
    {
#pragma unroll
        for (int i = 0; i < ROWS + 2; ++i) load_vector<2>(plane.v[i], slots + (slot * (ROWS + 2) + i) * 2 * WARP);
    }
    __device__ __forceinline__ void fetch_pixels(int slot, const PIXEL *pixels) const
    {
        // A pair of bytes lies within a word.
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
            copy_async<PAIR>(
                words + (slot * ROWS + i) * 2 * WARP,
                reinterpret_cast<const float *>(beyond(pixels, row[i + 1] / (sizeof(float) / sizeof(PIXEL)) & ~3u)));
    }
    __device__ __forceinline__ float pixel(int slot, int i, int c) const
    {
        const PIXEL value = reinterpret_cast<const PIXEL *>(pairs + (slot * ROWS + i) * 2 * WARP)[c];
        if constexpr (sizeof(PIXEL) < sizeof(float)) return static_cast<float>(static_cast<u32>(value));
        else return value;
    }
    __device__ __forceinline__ void wide(Wide<ROWS> &w, Plane<ROWS> &p) const
    {
#pragma unroll
        for (int i = 0; i < ROWS + 2; ++i) {
            const float before = __shfl_up_sync(ALL_LANES, p.v[i][1], 1);
            const float after = __shfl_down_sync(ALL_LANES, p.v[i][0], 1);
            w.x[i][0] = per<UNIT>(__fsub_rn(p.v[i][1], before), field.step_x);
            w.x[i][1] = per<UNIT>(__fsub_rn(after, p.v[i][0]), field.step_x);
            p.right[i] = after;
            if (i > 0 && i <= ROWS) w.left[i - 1] = before;
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int c = 0; c < 2; ++c) w.y[i][c] = per<UNIT>(__fsub_rn(p.v[i + 2][c], p.v[i][c]), field.step_y);
    }

    __device__ __forceinline__ void begin(Plane<ROWS> &below, Plane<ROWS> &here, Wide<ROWS> &w)
    {
        Wide<ROWS> b;
        wide(b, below);
        wide(w, here);
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                low_dz[i][c] = four<UNIT>(here.v[i + 1][c], __fmul_rn(4.0f, below.v[i + 1][c]), field.step_z);
                low_z[i][c] = normal(low_dz[i][c], __fadd_rn(b.x[i + 1][c], w.x[i + 1][c]), __fadd_rn(b.y[i][c], w.y[i][c]));
            }
    }

    // One plane: `here`, whose wide differences are w; those of `above` are left in u.
    __device__ __forceinline__ void step(const Plane<ROWS> &below, const Plane<ROWS> &here, Plane<ROWS> &above,
                                         const Wide<ROWS> &w, Wide<ROWS> &u, int slot, float *out)
    {
        float sz[ROWS + 2][2], four_[2], low_y[2], low_dy[2];
#pragma unroll
        for (int i = 0; i < ROWS + 2; ++i)
#pragma unroll
            for (int c = 0; c < 2; ++c) sz[i][c] = per<UNIT>(__fsub_rn(above.v[i][c], below.v[i][c]), field.step_z);
        wide(u, above);
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            four_[c] = __fmul_rn(4.0f, here.v[1][c]);
            low_dy[c] = per<UNIT>(__fmaf_rn(-4.0f, here.v[0][c], four_[c]), field.step_y);
            low_y[c] = normal(low_dy[c], __fadd_rn(w.x[0][c], w.x[1][c]), __fadd_rn(sz[0][c], sz[1][c]));
        }
        float result[ROWS][2];
        bool near = false;
        u32 turned = 0;   // its sign: a voxel changes sides
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const float sy_after = per<UNIT>(__fsub_rn(here.right[i + 2], here.right[i]), field.step_y);
            const float sz_after = per<UNIT>(__fsub_rn(above.right[i + 1], below.right[i + 1]), field.step_z);
            if (i > 0) four_[0] = __fmul_rn(4.0f, here.v[i + 1][0]), four_[1] = __fmul_rn(4.0f, here.v[i + 1][1]);
            // Four times the differences across the faces before, between and after the lane's two voxels.
            const float dx[3] = {per<UNIT>(__fmaf_rn(-4.0f, w.left[i], four_[0]), field.step_x),
                                 four<UNIT>(here.v[i + 1][1], four_[0], field.step_x),
                                 four<UNIT>(here.right[i + 1], four_[1], field.step_x)};
            const float nx0 =
                normal(dx[1], __fadd_rn(w.y[i][0], w.y[i][1]), __fadd_rn(sz[i + 1][0], sz[i + 1][1]));
            const float nx1 = normal(dx[2], __fadd_rn(w.y[i][1], sy_after), __fadd_rn(sz[i + 1][1], sz_after));
            const float nx_ = __shfl_up_sync(ALL_LANES, nx1, 1);
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                const float old = here.v[i + 1][c];
                const float dy = four<UNIT>(here.v[i + 2][c], four_[c], field.step_y);
                const float dz = four<UNIT>(above.v[i + 1][c], four_[c], field.step_z);
                const float ny =
                    normal(dy, __fadd_rn(w.x[i + 1][c], w.x[i + 2][c]), __fadd_rn(sz[i + 1][c], sz[i + 2][c]));
                const float nz = normal(dz, __fadd_rn(w.x[i + 1][c], u.x[i + 1][c]), __fadd_rn(w.y[i][c], u.y[i][c]));
                float curve = per<UNIT>(c ? __fsub_rn(nx1, nx0) : __fsub_rn(nx0, nx_), field.step_x);
                curve = __fadd_rn(curve, per<UNIT>(__fsub_rn(ny, low_y[c]), field.step_y));
                curve = __fadd_rn(curve, per<UNIT>(__fsub_rn(nz, low_z[i][c]), field.step_z));
                Motion motion(field, old, curve, image_term(field, pixel(slot, i, c)));
                motion.side(dx[c + 1]);
                motion.side(-dx[c]);
                motion.side(dy);
                motion.side(-low_dy[c]);
                motion.side(dz);
                motion.side(-low_dz[i][c]);
                low_y[c] = ny, low_z[i][c] = nz, low_dy[c] = dy, low_dz[i][c] = dz;
                result[i][c] = motion.result();
                near = near || fabsf(old) <= field.near;
                turned |= __float_as_uint(old) ^ __float_as_uint(result[i][c]);
            }
        }
        if (__any_sync(ALL_LANES, near || static_cast<int>(turned) < 0)) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                const bool mine[2] = {(what >> 2 * i & 1u) != 0, (what >> 2 * i & 2u) != 0};
                tally.add_pair<UNIT>(field, here.v[i + 1], result[i], mine);
            }
            if (__any_sync(ALL_LANES, static_cast<int>(turned) < 0)) {
#pragma unroll
                for (int i = 0; i < ROWS; ++i)
#pragma unroll
                    for (int c = 0; c < 2; ++c) tally.add_side(here.v[i + 1][c], result[i][c], (what >> (2 * i + c) & 1u) != 0);
            }
        }
        if (side) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                // The copy of the last pixel: in its own pair, or first of the next; that of the first.
                const float beside = __shfl_up_sync(ALL_LANES, result[i][1], 1);
                if (what & REPEATS) result[i][1] = result[i][0];
                if (what & TAKES) result[i][0] = beside;
                if (what & FIRST) result[i][0] = result[i][1];
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            float *line = beyond(out, row[i + 1]);
            if (what & BOTH) *reinterpret_cast<float2 *>(line) = make_float2(result[i][0], result[i][1]);
            if (what & LEFT) line[0] = result[i][0];
            if (what & RIGHT) line[1] = result[i][1];
        }
    }
};

// How columns of planes are cut: the first `large` chunks have `share` planes, those after them `small`, the first `longer`
// of these one more.
struct DenseShares {
    u32 large, share, small, longer;

    __device__ __forceinline__ u32 begin(u32 chunk) const
    {
        const u32 of_small = chunk - min(chunk, large);
        return min(chunk, large) * share + of_small * small + min(of_small, longer);
    }
};
static_assert(sizeof(DenseShares) == 16, "src/level_set/cuda/marching.rs repeats it");

// Block (32, DENSE_WARPS), grid (strips of DENSE_COLUMNS, groups of DENSE_WARPS ROWS rows, chunks). height >= ROWS. Returns
// whether iterations go on.
template <typename PIXEL, int ROWS, bool UNIT>
__device__ __forceinline__ bool dense(const float *__restrict__ from, float *__restrict__ to,
                                      const PIXEL *__restrict__ image, const LevelSetField &field, const LevelSetTurn &turn,
                                      const DenseShares &shares, Tally &tally)
{
    constexpr int SLOTS = DENSE_AHEAD + 1;
    static_assert(DENSE_TURN == SLOTS && (SLOTS == 2 || SLOTS == 3), "a step's slot is a constant");
    constexpr int PLANE = (ROWS + 2) * 2 * WARP, PAIRS = ROWS * 2 * WARP;
    __shared__ __align__(16) float all[DENSE_WARPS][(SLOTS + 1) * PLANE + SLOTS * PAIRS];
    const int lane = threadIdx.x;
    const int width = static_cast<int>(field.width), height = static_cast<int>(field.height);
    const int depth = static_cast<int>(field.depth);
    Dense<PIXEL, ROWS, UNIT> job{field, tally};
    job.slots = kept_shared(all[threadIdx.y] + 2 * lane);
    job.words = job.slots + (SLOTS + 1) * PLANE;

    const int strip = static_cast<int>(blockIdx.x);
    const int x = strip * DENSE_COLUMNS - 1 + 2 * lane;   // odd: with LEAD pairs are aligned
    const int start = (static_cast<int>(blockIdx.y) * DENSE_WARPS + static_cast<int>(threadIdx.y)) * ROWS;
    int z = static_cast<int>(shares.begin(blockIdx.z));
    const int end = static_cast<int>(shares.begin(blockIdx.z + 1));
    // The last group overlaps the one above it: same values twice. Warps below the image do the same work once more
    // and count nothing: with them all that decides where a warp goes is the same for all threads, as the compiler
    // sees.
    const int y = min(start, height - ROWS);

#pragma unroll
    for (int i = 0; i < ROWS + 2; ++i)
        job.row[i] = (static_cast<u32>(clamp_index(y + i - 1, height)) * field.pitch +
                      static_cast<u32>(min(x, (width - 1) | 1) + LEAD)) * static_cast<u32>(sizeof(float));
    // Rows have a multiple of 8 elements: a pair begins at the same place in its word everywhere.
    job.pairs = beyond(job.words, job.row[1] / (sizeof(float) / sizeof(PIXEL)) & 3u);
    // Planes z - 1, z and those above, as far as there are slots.
    const u32 stride = field.height * field.pitch;
    const float *at = from + static_cast<u64>(stride) * z;
    const PIXEL *pixels = image + static_cast<u64>(stride) * z;
    int wanted = z;   // planes up to this one are on their way; those up to `end` will be read
    job.fetch(SLOTS - 1, z > 0 ? at - stride : at);
    job.fetch(SLOTS, at);
    auto fetch = [&](int slot) {
        if (++wanted <= end) {
            at += wanted < depth ? stride : 0;
            job.fetch(slot, at);
            job.fetch_pixels(slot, pixels);
            pixels += stride;
        }
        copy_async_commit();
    };
#pragma unroll
    for (int i = 0; i < DENSE_AHEAD; ++i) fetch(i);
    // What the launch ahead says, while that is on its way.
    if (!__all_sync(ALL_LANES, turn.begin())) {
        copy_async_wait<0>();
        return false;
    }
    // Elements -1 .. width are written, those of pixels counted.
    const bool write0 = x <= width && (lane > 0 || x < 0), write1 = x + 1 <= width && (lane < 31 || x + 1 == width);
    const bool own0 = lane > 0 && x < width, own1 = lane < 31 && x + 1 < width;
    const bool last_strip = width - strip * DENSE_COLUMNS <= DENSE_COLUMNS;
    job.side = strip == 0 || last_strip;
    u32 what = (x < 0 ? job.FIRST : 0) |
               (last_strip && own0 && !own1 ? job.REPEATS : 0) | (last_strip && x == width ? job.TAKES : 0) |
               (write0 && write1 ? job.BOTH : 0) | (write0 && !write1 ? job.LEFT : 0) |
               (write1 && !write0 ? job.RIGHT : 0);
#pragma unroll
    for (int i = 0; i < ROWS; ++i)   // the first `start - y` rows are the group's above
        if (i >= start - y) what |= (own0 ? 1u << 2 * i : 0) | (own1 ? 2u << 2 * i : 0);
    job.what = kept(what);

    Plane<ROWS> p[3];
    Wide<ROWS> w[2];
    copy_async_wait<DENSE_AHEAD - 1>();
    job.take(p[0], SLOTS - 1);
    job.take(p[1], SLOTS);
    job.begin(p[0], p[1], w[0]);
    float *out = to + static_cast<u64>(stride) * z;
    auto next = [&](auto of_turn) {
        constexpr int K = decltype(of_turn)::VALUE;
        fetch((K + DENSE_AHEAD) % SLOTS);
        copy_async_wait<DENSE_AHEAD>();
        job.take(p[(K + 2) % 3], K % SLOTS);
        job.step(p[K % 3], p[(K + 1) % 3], p[(K + 2) % 3], w[K % 2], w[(K + 1) % 2], K % SLOTS, out);
        out += stride;
        return ++z == end;
    };
#pragma unroll 1
    for (;;) {
        if (next(Constant<int, 0>())) break;
        if (next(Constant<int, 1>())) break;
        // What the next turn begins with.
        if constexpr (DENSE_TURN == 3) {
            if (next(Constant<int, 2>())) break;
            w[0] = w[1];
        } else {
            p[1] = p[0], p[0] = p[2];
        }
    }
    copy_async_wait<0>();
    return true;
}
