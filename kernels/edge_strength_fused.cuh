// Edge strength in 2D, several iterations per pass over memory (temporal blocking): the default.
//
// One iteration moves 8 bytes per pixel and does five operations, so a launch per iteration is bound by memory. Both
// kernels keep T iterations ("levels") of a part of the image on the chip, and pay with a halo of T pixels that
// neighbouring parts compute too.
//   stream  large images. A warp runs down a strip of columns; level t works one row behind level t - 1, so that each
//           level keeps two rows, in registers. No barrier, no exchange between warps.
//   tile    small images, which have too few strips to fill the GPU. A block keeps a whole tile in registers.
//
// Image borders cost nothing in the inner loops: the halo is read mirrored, and because the sum of the neighbours is
// symmetric, a mirrored image stays mirrored, bit by bit. This is the Neumann boundary condition.
#pragma once

#include "edge_strength_tile.cuh"
#include "edge_strength_update.cuh"

// ------------------------------------------------------------------------------------------------ stream

constexpr int STREAM_RING = 8;       // input rows in shared memory: requested or in use
constexpr int STREAM_AHEAD = 4;      // rows requested before they are needed
constexpr int STREAM_NIBBLES = 16;   // entries of the tables indexed by four mask bits
constexpr int STREAM_SHARED_MEMORY = 64 * 1024;   // of a multiprocessor: Turing's, the smallest
// Mask bits are shifted and masked to become the byte offset of an entry.
constexpr int NIBBLE_SHIFT = 4;
constexpr u32 NIBBLE_MASK = (STREAM_NIBBLES - 1) << NIBBLE_SHIFT;
static_assert(sizeof(float4) == 1u << NIBBLE_SHIFT, "so it is");
static_assert(STREAM_HALO >= STREAM_STEPS && STREAM_HALO % STREAM_COLUMNS == 0, "a halo of whole lanes");
static_assert(STREAM_STEPS % 2 == 0 && STREAM_RING == STREAM_STEPS, "rows are unrolled STREAM_STEPS at a time");
static_assert(STREAM_AHEAD < STREAM_RING, "a row asked for does not overwrite one in use");
static_assert(STREAM_STEPS <= MAX_STEPS && STREAM_HALO <= MASK_WORD_BITS, "weights and mirrored mask bits reach that far");
static_assert(STREAM_MIN_SIDE >= STREAM_SPAN, "the lanes beyond the image's end mirror into it");
static_assert(STREAM_MIN_SIDE >= 4 * STREAM_STEPS + STREAM_AHEAD, "so do the rows asked for beyond it");

// The shared memory of a warp. Each lane reads only what it copied itself, so that no barrier is needed.
struct StreamShared {
    float4 steps[STREAM_NIBBLES];   // time steps (dt, or 0 on the shape) of four pixels by their mask bits
    union {
        float input[STREAM_RING][STREAM_SPAN];
        float4 starts[STREAM_NIBBLES];   // used in the first pass instead: 1 on the shape, 0 beside it
    };
    u32 mask[STREAM_RING][WARP];
};
static_assert(STREAM_BLOCKS * sizeof(StreamShared) <= STREAM_SHARED_MEMORY, "the blocks fit");

// The source of a pass's rows. Each source has a loop of its own, because one loop for all would not fit the instruction
//   cache. QUADS `in`, the width a multiple of 4: four pixels beyond a border are the mirrored four in reverse order
//   COLUMNWISE `in`, any width: groups of four that are not wholly inside are mirrored pixel by pixel SHAPE the mask, whose
//   pads are mirrored already: the first pass, where v is 1 on the shape and 0 beside it
enum class StreamSource { QUADS, COLUMNWISE, SHAPE };

// Takes a row, the i-th of a trip, through the levels. Level t computes a row one behind the newest row of level t - 1,
// from that level's three newest rows.
__device__ __forceinline__ void stream_levels(float (&kept)[STREAM_STEPS][2][STREAM_COLUMNS],
                                              const float (&m)[STREAM_STEPS][STREAM_COLUMNS],
                                              float (&row)[STREAM_COLUMNS], int i, const isoline_es_weights &weights)
{
    constexpr int T = STREAM_STEPS, C = STREAM_COLUMNS;
#pragma unroll
    for (int t = 1; t <= T; ++t) {
        float *up = kept[t - 1][(i + t + 1) & 1];
        const float *centre = kept[t - 1][(i + t) & 1];
        const float *step_m = m[(i + T - t) % T];
        const float left = __shfl_up_sync(ALL_LANES, centre[C - 1], 1);
        const float right = __shfl_down_sync(ALL_LANES, centre[0], 1);
#pragma unroll
        for (int j = 0; j < C; ++j) {
            const float next = update_2d(centre[j], j > 0 ? centre[j - 1] : left, j < C - 1 ? centre[j + 1] : right,
                                         up[j], row[j], step_m[j], weights.k[t - 1]);
            up[j] = row[j];   // the newest row takes the place of the oldest
            row[j] = next;
        }
    }
}

// A warp computes STREAM_VALID columns and chunk_rows rows; a lane has the STREAM_COLUMNS columns from strip*VALID - HALO +
// lane*COLUMNS on. The warp runs down the rows: when row r is read, level t computes its row r - t from the rows r-t-1, r-t
// and r-t+1 of level t-1. `in` is null with SHAPE. With FLUSH the last level's results are flushed.
template <StreamSource SOURCE, bool FLUSH>
__device__ __forceinline__ void stream_strip(const float *__restrict__ in, float *__restrict__ out,
                                             const u32 *__restrict__ mask, int width, int height, u32 pitch,
                                             u32 mask_pitch, int chunk_rows, float dt,
                                             const isoline_es_weights &weights, StreamShared &shared)
{
    constexpr int T = STREAM_STEPS, C = STREAM_COLUMNS;
    const int lane = threadIdx.x;
    const u32 strips = (width + STREAM_VALID - 1) / STREAM_VALID;
    const int y0 = blockIdx.x / strips * chunk_rows;
    const int rows = min(chunk_rows, height - y0);
    const int x0 = static_cast<int>(blockIdx.x % strips) * STREAM_VALID - STREAM_HALO + lane * C;
    const bool inside = x0 >= 0 && x0 + C <= width;
    const bool mirrored = SOURCE == StreamSource::QUADS && !inside;
    const bool writes = lane >= STREAM_HALO / C && lane < static_cast<int>(WARP) - STREAM_HALO / C && x0 < width;

    // The lane's first bit of a mask row; lanes beyond the halo read the last pad bits, which are not used.
    const u32 mask_at = min(static_cast<u32>(x0 + MASK_LEAD * MASK_WORD_BITS), mask_pitch * MASK_WORD_BITS - C);
    const u32 mask_shift = mask_at % MASK_WORD_BITS - NIBBLE_SHIFT;   // modulo 32: a rotation
    const u32 row_bytes = pitch * sizeof(float), mask_row_bytes = mask_pitch * sizeof(u32);
    const char *mask_lane = reinterpret_cast<const char *>(mask + mask_at / MASK_WORD_BITS);
    const int quad = !mirrored ? x0 : x0 < 0 ? -C - x0 : max(2 * width - C - x0, 0);
    const char *in_lane = reinterpret_cast<const char *>(in) + static_cast<u64>(quad) * sizeof(float);
    char *out_lane = reinterpret_cast<char *>(out + x0 + static_cast<u64>(y0) * pitch);
    u32 column[C];   // byte offsets of the mirrored columns
    if (SOURCE == StreamSource::COLUMNWISE)
#pragma unroll
        for (int j = 0; j < C; ++j) column[j] = sizeof(float) * mirror(min(x0 + j, width + STREAM_HALO), width);

    auto request = [&](u32 y, int slot) {
        float *to = shared.input[slot] + lane * C;
        const u64 row = wide_product(y, row_bytes);
        if (SOURCE == StreamSource::SHAPE) {
            // Only the mask is read.
        } else if (SOURCE == StreamSource::QUADS || inside) {
            __pipeline_memcpy_async(to, in_lane + row, sizeof(float4));
        } else {
            const char *line = reinterpret_cast<const char *>(in) + row;
#pragma unroll
            for (int j = 0; j < C; ++j) __pipeline_memcpy_async(to + j, line + column[j], sizeof(float));
        }
        __pipeline_memcpy_async(&shared.mask[slot][lane], mask_lane + wide_product(y, mask_row_bytes), sizeof(u32));
        __pipeline_commit();
    };

    // kept[t][r & 1] is row r of level t, for the two newest rows that level t + 1 still needs. m[r % T] holds the time
    // steps of input row r while any level works on that row. (r counts from the first row read.)
    float kept[T][2][C] = {}, m[T][C] = {};
#pragma unroll 1
    for (int r = 0; r < STREAM_AHEAD; ++r) request(mirror_once(y0 - T + r, height), r);

    // A trip moves T rows down.
#pragma unroll 1
    for (int start = 0; start < rows + 2 * T; start += T) {
#pragma unroll
        for (int i = 0; i < T; ++i) {
            // 1. Request a row, and take the one that was requested STREAM_AHEAD rows ago.
            request(mirror_once(y0 - T + start + STREAM_AHEAD + i, height), (i + STREAM_AHEAD) % STREAM_RING);
            __pipeline_wait_prior(STREAM_AHEAD);
            const u32 word = shared.mask[i][lane];
            const u32 at = __funnelshift_r(word, word, mask_shift) & NIBBLE_MASK;
            auto entry = [&](const float4 *table) {
                return reinterpret_cast<const float *>(reinterpret_cast<const char *>(table) + at);
            };
            float row[C];
            load_vector<4>(row, SOURCE == StreamSource::SHAPE ? entry(shared.starts) : shared.input[i] + lane * C);
            if (SOURCE == StreamSource::QUADS) {
                const float a = row[0], b = row[1], c = row[2], d = row[3];
                row[0] = mirrored ? d : a, row[1] = mirrored ? c : b, row[2] = mirrored ? b : c,
                row[3] = mirrored ? a : d;
            }

            // 2. Update the levels, each from the row that the previous level has just computed.
            stream_levels(kept, m, row, i, weights);
            load_vector<4>(m[i], entry(shared.steps));

            // 3. Store the last level's row. It is T rows behind the row read, and reading began T rows above the chunk.
            const u32 y = start + i - 2 * T;
            if (writes && y < static_cast<u32>(rows)) {
                if (FLUSH)
#pragma unroll
                    for (int j = 0; j < C; ++j) row[j] = flush(row[j], FLUSH_THRESHOLD);
                store_vector<4>(reinterpret_cast<float *>(out_lane + wide_product(y, row_bytes)), row);
            }
        }
    }
    __pipeline_wait_prior(0);   // no copy may be pending to shared memory that the next block gets
}

template <StreamSource SOURCE>
__device__ __forceinline__ void stream_tables(StreamShared &shared, float dt)
{
    const int bits = threadIdx.x;
    if (bits < STREAM_NIBBLES) {
        auto each = [&](float on, float off) {
            return make_float4(bits & 1 ? on : off, bits & 2 ? on : off, bits & 4 ? on : off, bits & 8 ? on : off);
        };
        shared.steps[bits] = each(0.0f, dt);
        if (SOURCE == StreamSource::SHAPE) shared.starts[bits] = each(1.0f, 0.0f);
    }
    __syncwarp();
}

// Block (32), one warp; grid strips*chunks, strips = ceil(width/112), chunks = ceil(height/chunk_rows); strips vary
// fastest, so that neighbours find their common columns in the cache. Shared memory 5376 bytes. Per
// pixel and launch: reads 4 bytes and a mask bit, times (128/112)*(1 + 16/chunk_rows), most of the excess from the
// cache; writes 4 (up to 3 columns beyond the width too, within the pitch). Preconditions: sides >= 128 and below 2^30.
//
// FLUSH (the `_flush` kernel): the last iteration's results are flushed. It is a separate kernel, so that other launches do
// not pay for it.
template <bool FLUSH>
__device__ __forceinline__ void stream_pass(const float *in, float *out, const u32 *mask, u32 width, u32 height,
                                            u64 pitch, u32 mask_pitch, u32 chunk_rows, float dt,
                                            const isoline_es_weights &k)
{
    __shared__ StreamShared shared;
    stream_tables<StreamSource::QUADS>(shared, dt);
    wait_for_previous_launch();
    const u32 row = static_cast<u32>(pitch);
    if (width % STREAM_COLUMNS == 0)
        stream_strip<StreamSource::QUADS, FLUSH>(in, out, mask, width, height, row, mask_pitch, chunk_rows, dt, k,
                                                 shared);
    else
        stream_strip<StreamSource::COLUMNWISE, FLUSH>(in, out, mask, width, height, row, mask_pitch, chunk_rows, dt, k,
                                                      shared);
}

#define ISOLINE_ES_FUSED_STREAM(NAME, FLUSH)                                                                         \
    extern "C" __global__ void __launch_bounds__(WARP, STREAM_BLOCKS)                                                \
    NAME(const float *__restrict__ in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width, u32 height, \
         u64 pitch, u32 mask_pitch, u32 chunk_rows, float dt, const __grid_constant__ isoline_es_weights k)          \
    {                                                                                                                \
        stream_pass<FLUSH>(in, out, mask, width, height, pitch, mask_pitch, chunk_rows, dt, k);                      \
    }
ISOLINE_ES_FUSED_STREAM(isoline_es_fused_2d_stream, false)
ISOLINE_ES_FUSED_STREAM(isoline_es_fused_2d_stream_flush, true)
#undef ISOLINE_ES_FUSED_STREAM

// The first pass, from v = 1 on the shape and 0 beside it, which the mask defines: `in` is not read.
extern "C" __global__ void __launch_bounds__(WARP, STREAM_BLOCKS)
isoline_es_fused_2d_stream_shape(const float *__restrict__ in, float *__restrict__ out, const u32 *__restrict__ mask,
                                 u32 width, u32 height, u64 pitch, u32 mask_pitch, u32 chunk_rows, float dt,
                                 const __grid_constant__ isoline_es_weights k)
{
    __shared__ StreamShared shared;
    stream_tables<StreamSource::SHAPE>(shared, dt);
    wait_for_previous_launch();
    stream_strip<StreamSource::SHAPE, false>(in, out, mask, width, height, static_cast<u32>(pitch), mask_pitch,
                                             chunk_rows, dt, k, shared);
}

// -------------------------------------------------------------------------------------------------- tile

static_assert(FTILE_WIDTH > 2 * MAX_STEPS && FTILE_HEIGHT > 2 * MAX_STEPS, "the halo must leave something");

// A block has a tile of 128x128 pixels, of which it writes the inner 128 - 2*halo, halo = levels rounded up to 4; a
// lane has 4 columns x 8 rows, in registers throughout. Block (32, 16), grid (ceil(width/inner), ceil(height/inner),
// slices) with at most 65535 tile rows; the slices follow each other. 34112 bytes of shared memory. Per pixel and launch: reads 4 bytes and a mask bit, times
// (128/inner)^2; writes 4. Where `in` is null v is 1 on the shape and 0 beside it. flushed_level, counted from 0, is
// the level whose results are flushed; from `levels` on, none's are.
extern "C" __global__ void __launch_bounds__(WARP * FTILE_WARPS, 1)
isoline_es_fused_2d_tile(const float *__restrict__ in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width_,
                         u32 height_, u64 pitch, u32 mask_pitch, u32 levels, float dt, isoline_es_weights k,
                         u32 flushed_level)
{
    constexpr int C = TILE_COLUMNS, R = FTILE_ROWS;
    constexpr int NIBBLES = 16;
    __shared__ TileEdges<FTILE_WARPS> s_edges;
    __shared__ __align__(16) int s_column[FTILE_WIDTH];   // mirrored columns of the image
    __shared__ int s_row[FTILE_HEIGHT];
    __shared__ float4 s_steps[NIBBLES];   // time steps (dt, or 0 on the shape) by four mask bits
    __shared__ float s_k[MAX_STEPS];      // a kernel parameter that is indexed at run time would become selects
    wait_for_previous_launch();
    const u64 slice_row = static_cast<u64>(blockIdx.z) * height_;
    if (in) in += slice_row * pitch;
    out += slice_row * pitch, mask += slice_row * mask_pitch;
    const int width = width_, height = height_;
    const int lane = threadIdx.x, warp = threadIdx.y, thread = warp * WARP + lane;
    const int halo = (levels + C - 1) / C * C;
    const int tile_x = blockIdx.x * (FTILE_WIDTH - 2 * halo) - halo;
    const int tile_y = blockIdx.y * (FTILE_HEIGHT - 2 * halo) - halo;
    const int x0 = tile_x + lane * C, y0 = tile_y + warp * R;

    // 1. Tables. Indices beyond image and halo are never used and may be any.
    static_assert(FTILE_WIDTH + FTILE_HEIGHT + NIBBLES + MAX_STEPS <= WARP * FTILE_WARPS, "a thread an entry");
    static_assert(FTILE_WIDTH % WARP == 0 && FTILE_HEIGHT % WARP == 0, "few warps take two branches");
    if (thread < FTILE_WIDTH) {
        s_column[thread] = mirror(min(tile_x + thread, width + halo - 1), width);
    } else if (thread < FTILE_WIDTH + FTILE_HEIGHT) {
        const int i = thread - FTILE_WIDTH;
        s_row[i] = mirror(min(tile_y + i, height + halo - 1), height);
    } else if (thread < FTILE_WIDTH + FTILE_HEIGHT + NIBBLES) {
        const int bits = lane;
        s_steps[bits] = make_float4(bits & 1 ? 0.0f : dt, bits & 2 ? 0.0f : dt, bits & 4 ? 0.0f : dt,
                                    bits & 8 ? 0.0f : dt);
    } else if (thread < FTILE_WIDTH + FTILE_HEIGHT + NIBBLES + MAX_STEPS) {
#pragma unroll
        for (int i = 0; i < MAX_STEPS; ++i)
            if (lane == NIBBLES + i) s_k[i] = k.k[i];
    }
    __syncthreads();

    // 2. Load.
    float v[R][C], m[R][C];
    const bool inside = x0 >= 0 && x0 + C <= width;
    const u32 mask_at = min(static_cast<u32>(x0 + MASK_LEAD * MASK_WORD_BITS), mask_pitch * MASK_WORD_BITS - C);
    const u32 mask_shift = mask_at % MASK_WORD_BITS;
    const u32 *mask_lane = mask + mask_at / MASK_WORD_BITS;
    u32 words[R];
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const u64 y = static_cast<u32>(s_row[warp * R + r]);
        const float *row = in + y * pitch;
        if (!in) {
            // v is made below.
        } else if (inside) {
            load_vector<C>(v[r], row + x0);
        } else {
#pragma unroll
            for (int j = 0; j < C; ++j) v[r][j] = row[s_column[lane * C + j]];
        }
        words[r] = mask_lane[y * mask_pitch];
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
        load_vector<C>(m[r], reinterpret_cast<const float *>(&s_steps[(words[r] >> mask_shift) % NIBBLES]));
        if (!in)
#pragma unroll
            for (int j = 0; j < C; ++j) v[r][j] = m[r][j] == 0.0f ? 1.0f : 0.0f;
    }

    // 3. Iterate.
    for (u32 level = 0; level < levels; ++level) {
        const float weight = s_k[level];
        tile_sweep<FTILE_WARPS>(v, s_edges[level & 1], [&](int r, int j, float c, float left, float right, float up,
                                                           float down) {
            return update_2d(c, left, right, up, down, m[r][j], weight);
        });
        if (level == flushed_level)   // for the whole block; within the update it would cost every level
#pragma unroll
            for (int r = 0; r < R; ++r)
#pragma unroll
                for (int j = 0; j < C; ++j) v[r][j] = flush(v[r][j], FLUSH_THRESHOLD);
    }

    // 4. Store the inner part.
    const int lane_x = lane * C;
    if (lane_x < halo || lane_x >= FTILE_WIDTH - halo || x0 >= width) return;
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const int row = warp * R + r;
        if (row < halo || row >= FTILE_HEIGHT - halo || y0 + r >= height) continue;
        store_vector<C>(out + (y0 + r) * pitch + x0, v[r]);   // beyond the width too, within the pitch
    }
}
