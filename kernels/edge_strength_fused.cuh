// Edge strength in 2D, several iterations for each pass over memory (temporal blocking): the default.
//
// One iteration moves 8 bytes per pixel and does five operations, so a launch per iteration is bound by memory. Both
// kernels here keep T iterations ("levels") of a piece of the image on the chip, and pay with a halo of T pixels
// that neighbouring pieces compute too.
//   stream  large images. Warps run down a strip of columns, one behind the other; each makes a few levels of every
//           row, level t one row behind level t - 1, so that a level keeps two rows, in registers.
//   tile    small images, where strips are too few to fill the chip. A block keeps a whole tile in registers.
//
// Image borders cost nothing in the inner loops: the halo is read mirrored, and because the sum of the neighbours is
// symmetric a mirrored image stays mirrored, bit by bit, which is the Neumann border.
#pragma once

#include "edge_strength_update.cuh"

// ------------------------------------------------------------------------------------------------ stream

// Tuning of the stream kernel.
template <int STAGE_STEPS_, int STAGES_, int COLUMNS_, int MIN_BLOCKS_>
struct StreamPolicy {
    static constexpr int STAGE_STEPS = STAGE_STEPS_;   // iterations of one warp
    static constexpr int STAGES = STAGES_;             // warps of a block, one behind the other
    static constexpr int COLUMNS = COLUMNS_;           // adjacent columns of a lane
    static constexpr int MIN_BLOCKS = MIN_BLOCKS_;     // blocks per multiprocessor, which bounds the registers

    static constexpr int STEPS = STAGE_STEPS * STAGES; // iterations per launch
    static constexpr int BATCH = STAGE_STEPS;          // rows between two barriers; see the mask's age below
    static constexpr int PHASES = BATCH % 2 ? 2 : 1;   // batches unrolled, so that rows unrolled are even
    static constexpr int AHEAD = 2;                    // batches asked for before they are needed
    static constexpr int RING = AHEAD + 1;             // batches of input: the one in use is not overwritten
    static_assert(BATCH <= STAGES, "each stage asks for at most one row of a batch");
    static constexpr int MASK_RING = 16;               // batches of mask words: the last stage is 2*(STAGES-1) behind
    static constexpr int SPAN = COLUMNS * static_cast<int>(WARP);
    static constexpr int HALO = (STEPS + COLUMNS - 1) / COLUMNS * COLUMNS;   // whole lanes
    static constexpr int VALID = SPAN - 2 * HALO;                            // columns a block writes

    static_assert(COLUMNS == 4 || COLUMNS == 8, "one or two float4; mask bits within one word");
    static_assert(STEPS <= MAX_STEPS && STEPS <= MASK_WORD_BITS, "weights and mirrored mask bits reach that far");
    static_assert(AHEAD + 2 * (STAGES - 1) < MASK_RING, "a mask word is read before it is overwritten");
    static_assert(VALID > 0, "the halo must leave something");
};

// Both sides of an image for the stream kernel are at least this, so that rows are mirrored once, without a loop.
constexpr int STREAM_MIN_SIDE = 128;

// Mirror index without a branch, for -n <= i < 2n.
__device__ __forceinline__ int mirror_once(int i, int n)
{
    i ^= i >> 31;   // -1 - i where i < 0
    return min(i, n - 1 - (i - n));
}

// What a block works on, and its shared memory.
template <typename P>
struct StreamJob {
    const float *in;
    float *out;
    const u32 *mask;
    int width, height;
    u32 pitch, mask_pitch;
    int y0, rows;   // the chunk
    int x0;         // the lane's first column
};

template <typename P>
struct StreamShared {
    static constexpr int NIBBLES = 16;
    float4 steps[NIBBLES];   // steps (dt, or 0 on the shape) of four pixels by their mask bits; first, so aligned
    float input[P::RING][P::BATCH][P::SPAN];
    float passed[P::STAGES - 1][2][P::BATCH][P::SPAN];   // to the next stage; while one is read, the other is made
    u32 mask[P::MASK_RING][P::BATCH][WARP];
};

// One stage of a block: see fused_2d_stream. All stages run the same code: a copy for each, without branches and with
// the weights as constants, has fewer instructions but overflows the instruction cache (8.0 instead of 5.9 ms).
template <typename P>
__device__ __forceinline__ void stream_stage(const StreamJob<P> &job, int stage, StreamShared<P> &shared,
                                             const isoline_es_weights &weights)
{
    constexpr int T = P::STAGE_STEPS, C = P::COLUMNS, B = P::BATCH;
    const bool first = stage == 0, last = stage == P::STAGES - 1;
    constexpr int VECTORS = C / 4;                // float4 of a lane's row; kept 32 lanes apart: no bank conflicts
    constexpr int VECTOR_PITCH = 4 * WARP;
    constexpr u32 NIBBLE_MASK = (StreamShared<P>::NIBBLES - 1) * sizeof(float4);
    constexpr int NIBBLE_SHIFT = 4;               // log2 of sizeof(float4)
    static_assert(sizeof(float4) == 1 << NIBBLE_SHIFT, "mask bits are shifted to a table offset");

    const int lane = threadIdx.x;
    const int x0 = job.x0, width = job.width, y0 = job.y0;
    const bool inside = x0 >= 0 && x0 + C <= width;
    const bool needed = x0 < width + P::HALO;     // beyond, no lane that is written depends on it
    const bool writes = lane >= P::HALO / C && lane < static_cast<int>(WARP) - P::HALO / C && x0 < width;
    // Bits of the lane's columns within a mask row; lanes that are not needed read the last pad bits.
    const u32 mask_at = min(static_cast<u32>(x0 + MASK_LEAD * MASK_WORD_BITS), job.mask_pitch * MASK_WORD_BITS - C);
    const u32 mask_shift = mask_at % MASK_WORD_BITS;
    const char *mask_lane = reinterpret_cast<const char *>(job.mask + mask_at / MASK_WORD_BITS);
    const char *in_lane = reinterpret_cast<const char *>(job.in + x0);
    const u32 mask_stride = job.mask_pitch * sizeof(u32), stride = job.pitch * sizeof(float);
    u32 steps_at = shared_address(shared.steps);
    asm volatile("" : "+r"(steps_at));            // in a register of the lane: bit operations take no uniform one
    float *input_lane = shared.input[0][stage] + lane * 4;
    u32 *mask_words = shared.mask[0][stage] + lane;

    // Asks for this stage's row of a batch of input rows and mask words, mirrored into the image.
    auto request = [&](int batch, int slot) {
        if (stage < B) {
            const u32 y = mirror_once(y0 - P::STEPS + batch * B + stage, job.height);
            const u64 row = static_cast<u64>(y) * stride;
            float *to = input_lane + slot * (B * P::SPAN);
            if (inside) {
#pragma unroll
                for (int j = 0; j < VECTORS; ++j)
                    copy_async<16>(to + j * VECTOR_PITCH, reinterpret_cast<const float *>(in_lane + row) + 4 * j);
            } else if (needed) {
#pragma unroll 1
                for (int j = 0; j < C; ++j)
                    copy_async<4>(to + j / 4 * VECTOR_PITCH + j % 4,
                                  reinterpret_cast<const float *>(in_lane + row) + (mirror_once(x0 + j, width) - x0));
            }
            copy_async<4>(reinterpret_cast<float *>(mask_words + (batch & (P::MASK_RING - 1)) * (B * WARP)),
                          reinterpret_cast<const float *>(mask_lane + static_cast<u64>(y) * mask_stride));
        }
        copy_async_commit();
    };

    // kept[t][r & 1] is row r of the stage's level t, for the two newest rows that level t + 1 has not finished with.
    // m[r % T] holds the steps of input row r for as long as a level works on that row. (r counts from any origin.)
    float kept[T][2][C];
    float m[T][C];
#pragma unroll
    for (int t = 0; t < T; ++t)
#pragma unroll
        for (int j = 0; j < C; ++j) kept[t][0][j] = kept[t][1][j] = m[t][j] = 0.0f;
    float k[T];   // selected, as an index known only at run time would put the parameter into memory
#pragma unroll
    for (int t = 0; t < T; ++t) {
        k[t] = weights.k[t];
#pragma unroll
        for (int s = 1; s < P::STAGES; ++s) k[t] = stage == s ? weights.k[s * T + t] : k[t];
    }

    int slot = 0, slot_ahead = P::AHEAD;   // of the batches in use and asked for, in the ring of input
#pragma unroll
    for (int batch = 0; batch < P::AHEAD; ++batch) request(batch, batch);

    // Stage s takes batch b - s of the stage before, whose rows lag s batches (BATCH = STAGE_STEPS): their masks are
    // 2s batches old, and what the last stage makes lags one batch more. In the first batches a stage works on what
    // happens to be in shared memory; no row that is written depends on it.
    constexpr int LAST_LAG = 2 * P::STAGES - 1;
    const int batches = (job.rows + P::STEPS + B - 1) / B + LAST_LAG;
    int y = -LAST_LAG * B - P::STEPS;      // row of the last stage within the chunk
    float *line = job.out + x0 + static_cast<long long>(y0 + y) * static_cast<long long>(job.pitch);
    for (int start = 0; start < batches; start += P::PHASES) {
#pragma unroll
        for (int phase = 0; phase < P::PHASES; ++phase) {
            const int b = start + phase;
            // One barrier a batch: what a stage reads now was made, or has come, before it, and what it overwrites
            // was read.
            copy_async_wait<P::AHEAD - 1>();
            __syncthreads();
            request(b + P::AHEAD, slot_ahead);

            const float *from = (first ? shared.input[slot][0] : shared.passed[stage - 1][(b + 1) & 1][0]) + lane * 4;
            float *to = shared.passed[stage][b & 1][0] + lane * 4;   // not used by the last
            const u32 *words = shared.mask[(b - 2 * stage) & (P::MASK_RING - 1)][0] + lane;
#pragma unroll
            for (int u = 0; u < B; ++u) {
                const int i = phase * B + u;
                float row[C];
#pragma unroll
                for (int j = 0; j < VECTORS; ++j) load_vector<4>(row + 4 * j, from + u * P::SPAN + j * VECTOR_PITCH);
                const u32 word = words[u * WARP];

                // Level t makes its row r - t from rows r-t-1, r-t and r-t+1 (just made) of level t-1.
#pragma unroll
                for (int t = 1; t <= T; ++t) {
                    float *up = kept[t - 1][(i + t + 1) & 1];
                    const float *centre = kept[t - 1][(i + t) & 1];
                    const float *step_m = m[(i + T - t) % T];
                    const float left = __shfl_up_sync(ALL_LANES, centre[C - 1], 1);
                    const float right = __shfl_down_sync(ALL_LANES, centre[0], 1);
#pragma unroll
                    for (int j = 0; j < C; ++j) {
                        const float next = update_2d(centre[j], j > 0 ? centre[j - 1] : left,
                                                     j < C - 1 ? centre[j + 1] : right, up[j], row[j], step_m[j],
                                                     k[t - 1]);
                        up[j] = row[j];   // the newest row takes the place of the oldest
                        row[j] = next;
                    }
                }
#pragma unroll
                for (int j = 0; j < VECTORS; ++j) {
                    const u32 at = __funnelshift_r(word, word, mask_shift + 4 * j - NIBBLE_SHIFT) & NIBBLE_MASK;
                    load_shared_vector(m[i % T] + 4 * j, steps_at | at);
                }

                if (!last) {
#pragma unroll
                    for (int j = 0; j < VECTORS; ++j) store_vector<4>(to + u * P::SPAN + j * VECTOR_PITCH, row + 4 * j);
                } else {
                    if (writes && y >= 0 && y < job.rows) {
#pragma unroll
                        for (int j = 0; j < VECTORS; ++j) store_vector<4>(line + 4 * j, row + 4 * j);
                    }
                    ++y;
                    line += job.pitch;
                }
            }
            slot = slot == P::RING - 1 ? 0 : slot + 1;
            slot_ahead = slot_ahead == P::RING - 1 ? 0 : slot_ahead + 1;
        }
    }
    copy_async_wait<0>();   // nothing may still be on its way to shared memory that the next block gets
}

// Block <-> strip of VALID columns x chunk of chunk_rows rows. Warp ("stage") s makes iterations s*STAGE_STEPS + 1 to
// (s + 1)*STAGE_STEPS of every row; lane l owns COLUMNS columns from strip*VALID - HALO + l*COLUMNS. Block
// (32, STAGES), grid strips*chunks, strips = ceil(width/VALID), chunks = ceil(height/chunk_rows); strips vary
// fastest, so that neighbours find their common columns in the cache. Shared memory sizeof(StreamShared). Per pixel
// and launch: reads 4 bytes and a mask bit, times (SPAN/VALID)*(1 + 2*STEPS/chunk_rows), most of the excess from the
// cache; writes 4 (up to COLUMNS - 1 columns beyond the width too, within the pitch). Preconditions: sides >=
// STREAM_MIN_SIDE, fewer than 2^30 columns.
template <typename P>
__device__ __forceinline__ void fused_2d_stream(const float *__restrict__ in, float *__restrict__ out,
                                                const u32 *__restrict__ mask, int width, int height, u32 pitch,
                                                u32 mask_pitch, int chunk_rows, float dt,
                                                const isoline_es_weights &weights)
{
    static_assert((P::AHEAD + P::PHASES + 2) * P::BATCH + 2 * P::STEPS < STREAM_MIN_SIDE, "rows are mirrored once");
    __shared__ __align__(256) StreamShared<P> shared;   // its table's offsets are or-ed to its address

    const int lane = threadIdx.x;
    // Broadcast, so that the compiler knows it for the same in all lanes and keeps what follows in uniform registers.
    const int stage = __shfl_sync(ALL_LANES, threadIdx.y, 0);
    const u32 strips = (width + P::VALID - 1) / P::VALID;
    StreamJob<P> job{in, out, mask, width, height, pitch, mask_pitch};
    job.y0 = blockIdx.x / strips * chunk_rows;
    job.rows = min(chunk_rows, height - job.y0);
    job.x0 = static_cast<int>(blockIdx.x % strips) * P::VALID - P::HALO + lane * P::COLUMNS;
    if (stage == 0 && lane < StreamShared<P>::NIBBLES)
        shared.steps[lane] = make_float4(lane & 1 ? 0.0f : dt, lane & 2 ? 0.0f : dt, lane & 4 ? 0.0f : dt,
                                         lane & 8 ? 0.0f : dt);
    stream_stage(job, stage, shared, weights);
}

#define ISOLINE_ES_FUSED_2D(NAME, POLICY)                                                                            \
    extern "C" __global__ void __launch_bounds__(WARP * POLICY::STAGES, POLICY::MIN_BLOCKS)                          \
    NAME(const float *__restrict__ in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width, u32 height, \
         u64 pitch, u32 mask_pitch, u32 chunk_rows, float dt, isoline_es_weights k)                                  \
    {                                                                                                                \
        fused_2d_stream<POLICY>(in, out, mask, width, height, static_cast<u32>(pitch), mask_pitch, chunk_rows, dt,   \
                                k);                                                                                  \
    }
#ifndef ISOLINE_ES_TUNE
// Iterations of a stage, stages, columns of a lane, blocks per multiprocessor.
using Stream12 = StreamPolicy<3, 4, 8, 4>;
using Stream8 = StreamPolicy<2, 4, 8, 4>;
ISOLINE_ES_FUSED_2D(isoline_es_fused_2d_12, Stream12)
ISOLINE_ES_FUSED_2D(isoline_es_fused_2d_8, Stream8)
#endif

// -------------------------------------------------------------------------------------------------- tile

constexpr int FTILE_COLUMNS = 4;                       // adjacent columns of a lane: one float4
constexpr int FTILE_ROWS = 8;                          // rows of a warp
constexpr int FTILE_WARPS = 16;                        // warps of a block, one below the other
constexpr int FTILE_WIDTH = FTILE_COLUMNS * WARP;      // 128
constexpr int FTILE_HEIGHT = FTILE_ROWS * FTILE_WARPS; // 128
static_assert(FTILE_COLUMNS == 4, "rows are loaded, stored and exchanged as float4");
static_assert(FTILE_WIDTH > 2 * MAX_STEPS && FTILE_HEIGHT > 2 * MAX_STEPS, "the halo must leave something");

// Block <-> tile of 128x128 pixels, of which the inner 128 - 2*halo, halo = levels rounded up to 4, are written; lane
// <-> 4 columns x 8 rows, in registers throughout. Block (32, 16), grid (ceil(width/inner), ceil(height/inner)) with
// at most 65535 tile rows. 34112 bytes of shared memory. Per pixel and launch: reads 4 bytes and a mask bit, times
// (128/inner)^2; writes 4.
extern "C" __global__ void __launch_bounds__(WARP * FTILE_WARPS, 1)
isoline_es_fused_2d_tile(const float *__restrict__ in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width_,
                         u32 height_, u64 pitch, u32 mask_pitch, u32 levels, float dt, isoline_es_weights k)
{
    constexpr int C = FTILE_COLUMNS, R = FTILE_ROWS;
    constexpr int NIBBLES = 16;
    // Of each warp its first and last row, twice: while one set is read, the next is written.
    __shared__ float4 s_edge[2][FTILE_WARPS][2][WARP];
    __shared__ __align__(16) int s_column[FTILE_WIDTH];   // of the image, mirrored
    __shared__ int s_row[FTILE_HEIGHT];
    __shared__ float4 s_steps[NIBBLES];                   // time steps (dt, or 0 on the shape) by four mask bits
    __shared__ float s_k[MAX_STEPS];                      // a parameter indexed at run time would be selects
    const int width = width_, height = height_;
    const int lane = threadIdx.x, warp = threadIdx.y, thread = warp * WARP + lane;
    const int halo = (levels + C - 1) / C * C;
    const int tile_x = blockIdx.x * (FTILE_WIDTH - 2 * halo) - halo;
    const int tile_y = blockIdx.y * (FTILE_HEIGHT - 2 * halo) - halo;
    const int x0 = tile_x + lane * C, y0 = tile_y + warp * R;

    // 1. Tables. What lies beyond image and halo is never used, so that its index may be any.
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
        if (inside) {
            load_vector<C>(v[r], row + x0);
        } else {
#pragma unroll
            for (int j = 0; j < C; ++j) v[r][j] = row[s_column[lane * C + j]];
        }
        words[r] = mask_lane[y * mask_pitch];
    }
#pragma unroll
    for (int r = 0; r < R; ++r)
        load_vector<C>(m[r], reinterpret_cast<const float *>(&s_steps[(words[r] >> mask_shift) % NIBBLES]));

    // A row's new values from its old ones and the old rows above and below; `row` is replaced, `old` gets its old
    // values for the row below.
    auto advance = [&](float(&row)[C], const float(&row_m)[C], const float(&above)[C], const float(&below)[C],
                       float(&old)[C], float weight) {
        const float left = __shfl_up_sync(ALL_LANES, row[C - 1], 1);
        const float right = __shfl_down_sync(ALL_LANES, row[0], 1);
        float next[C];
#pragma unroll
        for (int j = 0; j < C; ++j)
            next[j] = update_2d(row[j], j > 0 ? row[j - 1] : left, j < C - 1 ? row[j + 1] : right, above[j], below[j],
                                row_m[j], weight);
#pragma unroll
        for (int j = 0; j < C; ++j) old[j] = row[j], row[j] = next[j];
    };

    // 3. Iterate. Rows 1..R-2 need only the warp's own rows and are done while the other warps arrive.
    for (u32 level = 0; level < levels; ++level) {
        const float weight = s_k[level];
        float4(*edge)[2][WARP] = s_edge[level & 1];
        edge[warp][0][lane] = make_float4(v[0][0], v[0][1], v[0][2], v[0][3]);
        edge[warp][1][lane] = make_float4(v[R - 1][0], v[R - 1][1], v[R - 1][2], v[R - 1][3]);

        float old_second[C], old[C], above[C];
#pragma unroll
        for (int j = 0; j < C; ++j) old_second[j] = v[1][j], above[j] = v[0][j];
#pragma unroll
        for (int r = 1; r < R - 1; ++r) {
            advance(v[r], m[r], above, v[r + 1], old, weight);
#pragma unroll
            for (int j = 0; j < C; ++j) above[j] = old[j];
        }

        // One barrier a level: the set written at the next level is the one whose readers passed this barrier.
        __syncthreads();
        // The tile's own first and last row have no neighbour here; they are halo and their values do not matter.
        const float4 a = edge[max(warp - 1, 0)][1][lane];
        const float4 b = edge[min(warp + 1, FTILE_WARPS - 1)][0][lane];
        const float top[C] = {a.x, a.y, a.z, a.w}, bottom[C] = {b.x, b.y, b.z, b.w};
        advance(v[R - 1], m[R - 1], above, bottom, old, weight);
        advance(v[0], m[0], top, old_second, old, weight);
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
