// Dense, volumes: a warp marches along z with two columns and ROWS rows a lane; planes stay in registers, neighbours along
// x come by shuffles.
#pragma once
#include "level_set_update.cuh"
#include <type_traits>

constexpr int DENSE_WARPS = 4;
constexpr int DENSE_COLUMNS = 62;   // of a warp's 64 the outer two are its neighbours'

template <typename PIXEL> struct Pair;
template <> struct Pair<unsigned char> { using Type = uchar2; };
template <> struct Pair<unsigned short> { using Type = ushort2; };
template <> struct Pair<float> { using Type = float2; };

// `bytes` beyond a pointer that all lanes share: an address of one register.
template <typename T>
__device__ __forceinline__ T *beyond(T *at, u32 bytes)
{
    using Byte = typename std::conditional<std::is_const<T>::value, const char, char>::type;
    return reinterpret_cast<T *>(reinterpret_cast<Byte *>(at) + bytes);
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
    u32 row[ROWS + 2];       // offsets of its rows within a plane, bytes of phi
    bool pair, first, second;   // which elements it writes: both at once, or one of them
    bool last_x, first_x;
    bool own0, own1;
    int skip;                // rows that the group above counts
    float low_z[ROWS][2];

    __device__ __forceinline__ void load(Plane<ROWS> &plane, const float *from) const
    {
#pragma unroll
        for (int i = 0; i < ROWS + 2; ++i) load_vector<2>(plane.v[i], beyond(from, row[i]));
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
            for (int c = 0; c < 2; ++c)
                low_z[i][c] = normal(four<UNIT>(here.v[i + 1][c], __fmul_rn(4.0f, below.v[i + 1][c]), field.step_z),
                                     __fadd_rn(b.x[i + 1][c], w.x[i + 1][c]), __fadd_rn(b.y[i][c], w.y[i][c]));
    }

    // One plane: `here`, whose wide differences are w; those of `above` are left in u.
    __device__ __forceinline__ void step(const Plane<ROWS> &below, const Plane<ROWS> &here, Plane<ROWS> &above,
                                         const Wide<ROWS> &w, Wide<ROWS> &u, const PIXEL *pixels, float *out)
    {
        using Two = typename Pair<PIXEL>::Type;
        Two pixel[ROWS];
#pragma unroll
        for (int i = 0; i < ROWS; ++i) pixel[i] = *reinterpret_cast<const Two *>(beyond(pixels, row[i + 1] / (sizeof(float) / sizeof(PIXEL))));
        float sz[ROWS + 2][2], four_[2], low_y[2];
#pragma unroll
        for (int i = 0; i < ROWS + 2; ++i)
#pragma unroll
            for (int c = 0; c < 2; ++c) sz[i][c] = per<UNIT>(__fsub_rn(above.v[i][c], below.v[i][c]), field.step_z);
        wide(u, above);
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            four_[c] = __fmul_rn(4.0f, here.v[1][c]);
            low_y[c] = normal(per<UNIT>(__fmaf_rn(-4.0f, here.v[0][c], four_[c]), field.step_y),
                              __fadd_rn(w.x[0][c], w.x[1][c]), __fadd_rn(sz[0][c], sz[1][c]));
        }
        float result[ROWS][2];
        bool near = false;
        u32 turned = 0;
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const float sy_after = per<UNIT>(__fsub_rn(here.right[i + 2], here.right[i]), field.step_y);
            const float sz_after = per<UNIT>(__fsub_rn(above.right[i + 1], below.right[i + 1]), field.step_z);
            if (i > 0) four_[0] = __fmul_rn(4.0f, here.v[i + 1][0]), four_[1] = __fmul_rn(4.0f, here.v[i + 1][1]);
            const float nx0 = normal(four<UNIT>(here.v[i + 1][1], four_[0], field.step_x),
                                     __fadd_rn(w.y[i][0], w.y[i][1]), __fadd_rn(sz[i + 1][0], sz[i + 1][1]));
            const float nx1 = normal(four<UNIT>(here.right[i + 1], four_[1], field.step_x), __fadd_rn(w.y[i][1], sy_after),
                                     __fadd_rn(sz[i + 1][1], sz_after));
            const float nx_ = __shfl_up_sync(ALL_LANES, nx1, 1);
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                const float old = here.v[i + 1][c];
                const float ny = normal(four<UNIT>(here.v[i + 2][c], four_[c], field.step_y),
                                        __fadd_rn(w.x[i + 1][c], w.x[i + 2][c]), __fadd_rn(sz[i + 1][c], sz[i + 2][c]));
                const float nz = normal(four<UNIT>(above.v[i + 1][c], four_[c], field.step_z),
                                        __fadd_rn(w.x[i + 1][c], u.x[i + 1][c]), __fadd_rn(w.y[i][c], u.y[i][c]));
                float curve = per<UNIT>(c ? __fsub_rn(nx1, nx0) : __fsub_rn(nx0, nx_), field.step_x);
                curve = __fadd_rn(curve, per<UNIT>(__fsub_rn(ny, low_y[c]), field.step_y));
                curve = __fadd_rn(curve, per<UNIT>(__fsub_rn(nz, low_z[i][c]), field.step_z));
                low_y[c] = ny, low_z[i][c] = nz;
                Motion<UNIT> motion(field, old, curve, image_term(field, c ? pixel[i].y : pixel[i].x));
                motion.axis(c ? here.v[i + 1][0] : w.left[i], c ? here.right[i + 1] : here.v[i + 1][1], field.step_x);
                motion.axis(here.v[i][c], here.v[i + 2][c], field.step_y);
                motion.axis(below.v[i + 1][c], above.v[i + 1][c], field.step_z);
                result[i][c] = motion.result();
                near = near || fabsf(old) <= field.near;
                turned |= __float_as_uint(old) ^ __float_as_uint(result[i][c]);
            }
        }
        if (near || static_cast<int>(turned) < 0) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                if (own0 && i >= skip) tally.add(field, here.v[i + 1][0], result[i][0]);
                if (own1 && i >= skip) tally.add(field, here.v[i + 1][1], result[i][1]);
            }
        }
        if (last_x) {
            // The copy of the last pixel: in its own pair, or first of the next.
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                const float beside = __shfl_up_sync(ALL_LANES, result[i][1], 1);
                if (own0 && !own1) result[i][1] = result[i][0];
                if (!own0 && first) result[i][0] = beside;
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            float *line = beyond(out, row[i + 1]);
            if (first_x) result[i][0] = result[i][1];
            if (pair) *reinterpret_cast<float2 *>(line) = make_float2(result[i][0], result[i][1]);
            if (first) line[0] = result[i][0];
            if (second) line[1] = result[i][1];
        }
    }
};

// Block (32, 4), grid (ceil(width / 62), ceil(height / (4 ROWS)), chunks of `planes` planes); height >= ROWS.
template <typename PIXEL, int ROWS, bool UNIT>
__device__ __forceinline__ void dense(const float *__restrict__ from, float *__restrict__ to,
                                      const PIXEL *__restrict__ image, const LevelSetField &field, u32 planes,
                                      Tally &tally)
{
    const int lane = threadIdx.x;
    const int width = static_cast<int>(field.width), height = static_cast<int>(field.height);
    const int depth = static_cast<int>(field.depth);
    const int x = static_cast<int>(blockIdx.x) * DENSE_COLUMNS - 1 + 2 * lane;   // odd: with LEAD pairs are aligned
    const int start = (static_cast<int>(blockIdx.y) * DENSE_WARPS + static_cast<int>(threadIdx.y)) * ROWS;
    const int z0 = static_cast<int>(blockIdx.z * planes), end = min(z0 + static_cast<int>(planes), depth);
    if (start >= height) return;
    const int y = min(start, height - ROWS);   // the last group overlaps the one above it: same values twice

    Dense<PIXEL, ROWS, UNIT> job{field, tally};
#pragma unroll
    for (int i = 0; i < ROWS + 2; ++i)
        job.row[i] = (static_cast<u32>(clamp_index(y + i - 1, height)) * field.pitch +
                      static_cast<u32>(min(x, (width - 1) | 1) + LEAD)) * static_cast<u32>(sizeof(float));
    // Elements -1 .. width are written, those of pixels counted.
    const bool write0 = x <= width && (lane > 0 || x < 0), write1 = x + 1 <= width && (lane < 31 || x + 1 == width);
    job.own0 = lane > 0 && x < width, job.own1 = lane < 31 && x + 1 < width;
    job.pair = write0 && write1, job.first = write0 && !write1, job.second = write1 && !write0;
    job.last_x = width - static_cast<int>(blockIdx.x) * DENSE_COLUMNS <= 62;
    job.first_x = x < 0;
    job.skip = start - y;

    const u64 stride = static_cast<u64>(field.height) * field.pitch;
    const float *at = from + stride * z0;
    Plane<ROWS> p[4];
    Wide<ROWS> w[2];
    job.load(p[0], z0 > 0 ? at - stride : at);
    job.load(p[1], at);
    job.load(p[2], z0 + 1 < depth ? at + stride : at);
    job.begin(p[0], p[1], w[0]);
    at += stride * (z0 + 1 < depth ? 1 : 0);
    const PIXEL *pixels = image + stride * z0;
    float *out = to + stride * z0;
    int z = z0;
    auto next = [&](const Plane<ROWS> &below, const Plane<ROWS> &here, Plane<ROWS> &above, Plane<ROWS> &ahead,
                    const Wide<ROWS> &now, Wide<ROWS> &then) {
        if (z + 2 < depth) at += stride;
        job.load(ahead, at);
        job.step(below, here, above, now, then, pixels, out);
        pixels += stride, out += stride;
        return ++z == end;
    };
#pragma unroll 1
    for (;;) {
        if (next(p[0], p[1], p[2], p[3], w[0], w[1])) break;
        if (next(p[1], p[2], p[3], p[0], w[1], w[0])) break;
        if (next(p[2], p[3], p[0], p[1], w[0], w[1])) break;
        if (next(p[3], p[0], p[1], p[2], w[1], w[0])) break;
    }
}
