// Edge drawing, one tile: smoothing, gradient, anchors and the first steps of tracing in one pass over memory.
//
// A block owns ROWS - 2 * HALO_Y rows of COLUMNS - 2 * HALO_X pixels and computes the working map of the whole tile, halo
// included, in shared memory. Every trace of at most STEPS pixels that touches the block's own pixels begins at an anchor
// within the tile, so blocks mark their own pixels independently of each other; a block's own anchors with longer traces
// are noted in `pending` for the next launch. If every pixel is scanned without an anchor threshold, nearly every pixel of
// a ridge is an anchor and a trace ends where the next one begins, so few traces are left.
//
//   phase A gradients: warps run down CHUNK rows each; a lane has PX neighbouring columns in registers
//            (edge_drawing_columns.cuh). phase B anchors, a bit per pixel. phase C tracing: the anchors of 512 pixels are
//            listed, so that all lanes of a warp trace, each one anchor and heading. phase D the block's own part goes to
//            memory.
#pragma once
#include "edge_drawing_columns.cuh"

constexpr int ED_BATCH = 512;       // pixels whose anchors are listed together, 16 per lane
constexpr int ED_FULL = WARP / 2;   // anchors that occupy a whole warp: two headings each
constexpr int ED_LIST = ED_BATCH + ED_FULL;
constexpr int ED_AHEAD = 2;   // rows of pixels requested ahead
static_assert(ED_HALO_X >= ED_REACH + 1 + ED_STEPS, "gradients, the anchor's comparison and the steps need a halo each");
static_assert(ED_HALO_X == ED_GROUP, "the halo is a byte of bits");
static_assert(ED_AHEAD == 2, "rows read turns in two places");

// The template arguments of a kernel. PIXEL: the image's type. ROWS: the rows of the tile. SMALL: u8 with an operator
// whose gradients stay below 2^11, Sobel or Prewitt. SMOOTHED: the pixels are smoothed already.
template <typename PIXEL_, int ROWS_, bool SMALL_, bool SMOOTHED_ = false>
struct Tile {
    using PIXEL = PIXEL_;
    using WORD = typename cuda::std::conditional<sizeof(PIXEL) == 1, unsigned short, u32>::type;
    static constexpr bool SMALL = SMALL_, SMOOTHED = SMOOTHED_;
    static constexpr int ROWS = ROWS_, CHUNK = ROWS / ED_WARPS;
    static constexpr int REACH = SMOOTHED ? ED_REACH - ED_SMOOTH : ED_REACH;
    static constexpr int PX = sizeof(PIXEL) == 1 ? ED_LANE_NARROW : ED_LANE_WIDE;
    static constexpr int COLUMNS = WARP * PX;
    static constexpr int OWN_X = COLUMNS - 2 * ED_HALO_X;
    static constexpr int OWN_Y = ROWS - 2 * ED_HALO_Y;

    struct Shared {
        alignas(16) WORD map[ROWS][COLUMNS];
        u32 anchor[ROWS][COLUMNS / 32], edge[ROWS][COLUMNS / 32], pending[ROWS][COLUMNS / 32];
        union {
            alignas(16) u32 column[COLUMNS];          // phase A: the mirrored columns of border tiles
            unsigned short list[ED_WARPS][ED_LIST];   // phase C
        };
    };
    static_assert(ROWS % ED_WARPS == 0 && CHUNK > 1, "");
    static_assert(sizeof(Shared) <= 48 * 1024, "static shared memory");
};

// Phase A: gradients. x0, y0: the tile's first column and row in the image, negative in border tiles.
template <typename T>
__device__ __forceinline__ void tile_gradients(const isoline_ed_job &job, typename T::Shared &shared, int x0, int y0)
{
    using PIXEL = typename T::PIXEL;
    constexpr int PX = T::PX, ITERATIONS = T::CHUNK + 2 * T::REACH;
    const int lane = threadIdx.x, warp = threadIdx.y, width = job.width;
    const bool aligned = prepare_columns<PX * sizeof(PIXEL), T::COLUMNS>(job, shared.column, x0);
    const int x = x0 + lane * PX;
    Rows<PIXEL> rows(job, x, aligned && x >= 0 && x + PX <= width, &shared.column[lane * PX],
                     y0 + warp * T::CHUNK - T::REACH, ITERATIONS);

    Columns<PIXEL, T::SMALL> c;
    constexpr int N = 4;
    c.set_inside(x, width);
    const u32 side = job.side, centre = T::SMALL ? (job.centre == 1 ? both(HALF_ONE) : both(HALF_TWO)) : job.centre;
    const u32 low = sizeof(typename T::WORD) == 2 ? both(job.low) : job.low;
    Raw<PIXEL> raw[ED_AHEAD];
#pragma unroll
    for (int i = 0; i < ED_AHEAD; ++i) raw[i] = rows.read();
#pragma unroll 1
    for (int trip = 0; trip < ITERATIONS; trip += 2) {
#pragma unroll
        for (int slot = 0; slot < 2; ++slot) {
            const int i = trip + slot;
            if (ITERATIONS % 2 != 0 && i >= ITERATIONS) break;

            // 1. Add a row of pixels, which completes one sum of five rows, and is part of four others.
            u32 pixel[N], five[N], s[N + 2], left[N], right[N];
            c.split(raw[slot], pixel, job.half_minimum, job.double_scale);
            raw[slot] = rows.read();
            if (T::SMOOTHED) {
#pragma unroll
                for (int j = 0; j < N; ++j) s[j + 1] = pixel[j];
                share_ends<N>(s);
            } else {
                add_row(c.sum, pixel, five);
                if (i < 2 * ED_SMOOTH) continue;
                c.smooth(five, s);
            }

            // 2. A smoothed row completes the differences of the row before it.
            u32 ended[N + 2], across[N];
#pragma unroll
            for (int j = 0; j < N + 2; ++j) {
                const u32 weighed = c.times_side(s[j], side);
                ended[j] = c.add(c.down[j], weighed);
                c.down[j] = c.weigh(s[j], centre, c.last[slot][j]);
                c.last[1 - slot][j] = weighed;
            }
            c.columns_beside(s, left, right);
#pragma unroll
            for (int j = 0; j < N; ++j) across[j] = c.weigh(s[j + 1], centre, c.times_side(c.add(left[j], right[j]), side));

            // 3. The words of that row.
            if (i >= 2 * T::REACH) {
                c.columns_beside(ended, left, right);
                const int r = warp * T::CHUNK + i - 2 * T::REACH, y = y0 + r;
                const u32 is_row = static_cast<u32>(y) < job.height ? 0xFFFFFFFFu : 0;
                u32 w[N];
#pragma unroll
                for (int j = 0; j < N; ++j)
                    w[j] = c.word(left[j], right[j], c.across[slot][j], across[j], low) & c.inside[j] & is_row;
                *reinterpret_cast<uint4 *>(&shared.map[r][lane * PX]) = make_uint4(w[0], w[1], w[2], w[3]);
            }
#pragma unroll
            for (int j = 0; j < N; ++j) c.across[slot][j] = across[j];
        }
    }
}

// Phase B: the values of three rows that a lane needs. set(k, words) stores a row's gradients; mark(...) finds the anchors
// of the middle row, sets TRACED in its words and returns the anchors as bits. `allowed` has the columns where anchors may
// be, see allow().
template <typename WORD>
struct AnchorFinder;

template <>
struct AnchorFinder<unsigned short> {
    static constexpr int N = 4;
    u32 g[3][N];
    static __device__ __forceinline__ u32 all(u32 value) { return both(value); }
    // Moves the bits of columns to the sign bits of pairs.
    static __device__ __forceinline__ u32 allow(u32 bits, int j)
    {
        return (bits << (15 - 2 * j) & 0x8000u) | (bits << (30 - 2 * j) & 0x80000000u);
    }
    __device__ __forceinline__ void set(int k, const uint4 &w_)
    {
        const u32 w[N] = {w_.x, w_.y, w_.z, w_.w};
#pragma unroll
        for (int j = 0; j < N; ++j) g[k][j] = w[j] >> GRADIENT_SHIFT & HALVES_GRADIENT;
    }
    __device__ __forceinline__ u32 mark(int up, int middle, int down, uint4 &w_, const u32 *allowed, u32 threshold,
                                        u32 anchor) const
    {
        u32 w[N] = {w_.x, w_.y, w_.z, w_.w}, between[N + 1], bits = 0;
        const u32 before = __shfl_up_sync(ALL_LANES, g[middle][N - 1], 1);
        const u32 after = __shfl_down_sync(ALL_LANES, g[middle][0], 1);
#pragma unroll
        for (int j = 0; j <= N; ++j)
            between[j] = permute_bytes<LOW_OF_TWO>(j == 0 ? before : g[middle][j - 1], j == N ? after : g[middle][j]);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const u32 vertical = permute_bytes<SIGNS>(w[j], 0);
            const u32 one = (vertical & between[j]) | (~vertical & g[up][j]);
            const u32 other = (vertical & between[j + 1]) | (~vertical & g[down][j]);
            const u32 own = g[middle][j] | HALVES_SIGN, less = own - anchor;
            const u32 is = (less - one) & (less - other) & (own - threshold) & allowed[j];
            w[j] |= is >> 15 | is >> 14;
            bits |= is >> (15 - 2 * j);
        }
        w_ = make_uint4(w[0], w[1], w[2], w[3]);
        return (bits | bits >> 15) & 0xFFu;
    }
};

template <>
struct AnchorFinder<u32> {
    static constexpr int N = 4;
    u32 g[3][N];
    static __device__ __forceinline__ u32 all(u32 value) { return value; }
    static __device__ __forceinline__ u32 allow(u32 bits, int j) { return bits >> j & 1u; }
    __device__ __forceinline__ void set(int k, const uint4 &w_)
    {
        const u32 w[N] = {w_.x, w_.y, w_.z, w_.w};
#pragma unroll
        for (int j = 0; j < N; ++j) g[k][j] = (w[j] & Word<u32>::GRADIENT) >> GRADIENT_SHIFT;
    }
    __device__ __forceinline__ u32 mark(int up, int middle, int down, uint4 &w_, const u32 *allowed, u32 threshold,
                                        u32 anchor) const
    {
        u32 w[N] = {w_.x, w_.y, w_.z, w_.w}, bits = 0;
        const u32 before = __shfl_up_sync(ALL_LANES, g[middle][N - 1], 1);
        const u32 after = __shfl_down_sync(ALL_LANES, g[middle][0], 1);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const bool vertical = w[j] & Word<u32>::VERTICAL;
            const u32 one = vertical ? (j == 0 ? before : g[middle][j - 1]) : g[up][j];
            const u32 other = vertical ? (j == N - 1 ? after : g[middle][j + 1]) : g[down][j];
            const u32 own = g[middle][j];
            const u32 is = own >= threshold && own >= max(one, other) + anchor ? allowed[j] : 0;
            w[j] |= is * TRACED;
            bits |= is << j;
        }
        w_ = make_uint4(w[0], w[1], w[2], w[3]);
        return bits;
    }
};

template <typename T>
__device__ __forceinline__ void tile_anchors(const isoline_ed_job &job, typename T::Shared &shared, int x0, int y0)
{
    using P = AnchorFinder<typename T::WORD>;
    constexpr int PX = T::PX;
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int width = job.width, height = job.height, margin = job.margin, scan = job.scan;
    const u32 threshold = P::all(job.threshold), anchor = P::all(job.anchor);

    // The columns where an anchor may be.
    u32 columns = 0;
#pragma unroll
    for (int j = 0; j < PX; ++j) {
        const int c = lane * PX + j, x = x0 + c;
        if (c > ED_REACH && c < T::COLUMNS - 1 - ED_REACH && x >= margin && x < width - margin) columns |= 1u << j;
    }
    u32 allowed[P::N];
#pragma unroll
    for (int j = 0; j < P::N; ++j) allowed[j] = P::allow(columns, j);

    const int begin = max(warp * T::CHUNK, 1), end = min((warp + 1) * T::CHUNK, T::ROWS - 1);
    uint4 *here = reinterpret_cast<uint4 *>(&shared.map[begin][lane * PX]);
    constexpr int ROW = T::COLUMNS / PX;
    unsigned char *bytes = reinterpret_cast<unsigned char *>(shared.anchor) + lane * PX / ED_GROUP;
    constexpr int ROW_BYTES = T::COLUMNS / ED_GROUP, EDGE = sizeof(shared.anchor), PENDING = 2 * sizeof(shared.anchor);
    auto write = [&](int r, u32 bits) {
        if (PX == ED_GROUP / 2) {
            bits |= __shfl_down_sync(ALL_LANES, bits, 1) << (ED_GROUP / 2);
            if (lane % 2) return;
        }
        unsigned char *to = bytes + r * ROW_BYTES;
        to[0] = to[EDGE] = static_cast<unsigned char>(bits);
        to[PENDING] = 0;
    };
    if (warp == 0) write(0, 0);
    if (warp == ED_WARPS - 1) write(T::ROWS - 1, 0);
    // Words change from here on, so the words of the neighbouring warps are read first.
    P finder;
    finder.set(0, here[-ROW]);
    uint4 w = *here;
    const uint4 last = here[(end - begin) * ROW];
    finder.set(1, w);
    __syncthreads();
    const bool inside = y0 + begin >= margin && y0 + end <= height - margin;
#pragma unroll 1
    for (int r = begin; r < end; r += 3) {
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            if (r + k >= end) break;
            const int y = y0 + r + k;
            const uint4 below = r + k + 1 < end ? here[ROW] : last;
            finder.set((k + 2) % 3, below);
            u32 now[P::N];
#pragma unroll
            for (int j = 0; j < P::N; ++j) now[j] = allowed[j];
            if ((!inside && (y < margin || y >= height - margin)) || (scan != 1 && y % scan != 0)) {
                // Few columns are scanned in this row, or none.
                u32 scanned = 0;
                if (y >= margin && y < height - margin)
#pragma unroll 1
                    for (int j = 0; j < PX; ++j)
                        if ((x0 + lane * PX + j) % scan == 0) scanned |= columns & 1u << j;
#pragma unroll
                for (int j = 0; j < P::N; ++j) now[j] = P::allow(scanned, j);
            }
            write(r + k, finder.mark(k, (k + 1) % 3, (k + 2) % 3, w, now, threshold, anchor));
            *here = w;
            here += ROW;
            w = below;
        }
    }
}

// With a margin, after phase B: removes the pixels that the tracing on the host does not count as edge pixels.
template <typename T>
__device__ __forceinline__ void tile_clear(const isoline_ed_job &job, typename T::Shared &shared, int x0, int y0)
{
    const int right = job.width - 1, bottom = job.height - 1;
    for (int r = threadIdx.y; r < T::ROWS; r += ED_WARPS)
        for (int c = threadIdx.x; c < T::COLUMNS; c += WARP) {
            const int x = x0 + c, y = y0 + r;
            const u32 gradient = (shared.map[r][c] & Word<typename T::WORD>::GRADIENT) >> GRADIENT_SHIFT;
            if (gradient < job.threshold || x == 0 || y == 0 || x == right || y == bottom) shared.map[r][c] = 0;
        }
}

// Phase C: tracing. Reads the map and the anchors, writes bits of edge and pending by atomics.
template <typename T>
__device__ __forceinline__ void tile_tracing(const isoline_ed_job &job, typename T::Shared &shared)
{
    using W = Word<typename T::WORD>;
    constexpr int COLUMNS = T::COLUMNS, BATCHES = T::ROWS * COLUMNS / ED_BATCH, SHARE = ED_BATCH / WARP;
    static_assert(SHARE == 16, "a lane lists the bits of 16 pixels");
    const int lane = threadIdx.x, warp = threadIdx.y;
    using WORD = typename T::WORD;
    constexpr int BYTES = sizeof(WORD), ROW = COLUMNS * BYTES;
    const char *map = reinterpret_cast<const char *>(&shared.map[0][0]);
    unsigned short *list = shared.list[warp];
    // A pixel is given by the byte offset of its word.
    auto word_at = [map](int at) -> u32 { return *reinterpret_cast<const WORD *>(map + at); };
    auto set = [](u32 *bits, int at) { atomicOr(&bits[at / (32 * BYTES)], 1u << (at / BYTES % 32)); };

    auto trace = [&](int start, bool plus) {
        int at = start * BYTES;
        const u32 direction = word_at(at) & W::VERTICAL;
        const int step = direction ? ROW : BYTES, side = direction ? BYTES : ROW;
        const int ahead = plus ? step : -step;
#pragma unroll 1
        for (int i = 0; i < ED_STEPS; ++i) {
            // Traces from the halo may leave the tile; their marks there belong to no block.
            if (static_cast<u32>(at - ROW - BYTES) >= static_cast<u32>((T::ROWS - 2) * ROW - 2 * BYTES)) return;
            at += ahead;
            const u32 a = word_at(at - side), s = word_at(at), b = word_at(at + side);
            const u32 ga = a & W::GRADIENT, gs = s & W::GRADIENT, gb = b & W::GRADIENT;
            u32 word = s;
            if (ga > max(gs, gb)) word = a, at -= side;
            if (gb > max(gs, ga)) word = b, at += side;
            if ((word & W::GRADIENT) == 0 || word & TRACED) return;
            if ((word & W::VERTICAL) != direction) {
                if (job.follow_turns) break;
                return;
            }
            set(&shared.edge[0][0], at);
        }
        set(&shared.pending[0][0], start * BYTES);
    };

    int count = 0;
    for (int batch = warp; batch < BATCHES; batch += ED_WARPS) {
        u32 bits = reinterpret_cast<const unsigned short *>(shared.anchor)[batch * WARP + lane];
        const int own = __popc(bits);
        const int before = lanes_inclusive_sum(own, lane);
        int to = count + before - own;
        count += __shfl_sync(ALL_LANES, before, WARP - 1);
        while (bits) {
            list[to++] = static_cast<unsigned short>(batch * ED_BATCH + lane * SHARE + __ffs(bits) - 1);
            bits &= bits - 1;
        }
        __syncwarp();
        while (count >= ED_FULL) {
            trace(list[count - ED_FULL + lane / 2], lane % 2);
            count -= ED_FULL;
        }
        __syncwarp();
    }
    if (lane / 2 < count) trace(list[lane / 2], lane % 2);
}

// Phase D: stores the part of the tile that the block owns.
template <typename T>
__device__ __forceinline__ void tile_store(const isoline_ed_job &job, const typename T::Shared &shared, int x0, int y0)
{
    using WORD = typename T::WORD;
    constexpr int GROUPS = T::COLUMNS / ED_GROUP, ROWS_A_WARP = WARP / GROUPS;
    const int group = threadIdx.x % GROUPS;
    const int x = x0 + group * ED_GROUP, width = job.width;
    if (group == 0 || group == GROUPS - 1 || x >= static_cast<int>(job.bit_pitch) * 32) return;
    const bool whole = x + ED_GROUP <= width && (reinterpret_cast<u64>(job.edges) | job.edge_pitch) % ED_GROUP == 0;

    // The group's row in this thread's first line, and the distances to the next one.
    constexpr int STEP = ED_WARPS * ROWS_A_WARP;
    const int first = ED_HALO_Y + threadIdx.y * ROWS_A_WARP + threadIdx.x / GROUPS;
    const u64 y = static_cast<u64>(y0 + first), height = job.height;
    const u64 byte = y * job.bit_pitch * sizeof(u32) + x / ED_GROUP, byte_step = STEP * job.bit_pitch * sizeof(u32);
    unsigned char *pending = reinterpret_cast<unsigned char *>(job.pending) + byte;
    unsigned char *bits = reinterpret_cast<unsigned char *>(job.bits) + byte;
    unsigned char *line = job.edges + y * job.edge_pitch + x;
    uint4 *to = reinterpret_cast<uint4 *>(static_cast<WORD *>(job.map) + y * job.map_pitch + x);
    const u64 map_step = STEP * job.map_pitch * sizeof(WORD) / sizeof(uint4), edge_step = STEP * job.edge_pitch;
    const uint4 *from = reinterpret_cast<const uint4 *>(&shared.map[first][group * ED_GROUP]);
    constexpr int FROM_STEP = STEP * T::COLUMNS * sizeof(WORD) / sizeof(uint4);
    const unsigned char *edges = reinterpret_cast<const unsigned char *>(shared.edge) + first * GROUPS + group;
    constexpr int PENDING = sizeof(shared.edge);
    const bool in_width = x < width;
    const int rows = static_cast<int>(min(height - min(y, height), static_cast<u64>(T::ROWS - ED_HALO_Y - first)));
    for (int r = 0; r < rows; r += STEP) {
        to[0] = from[0];
        if (sizeof(WORD) == 4) to[1] = from[1];
        const u32 edge = *edges;
        if (job.pending) *pending = edges[PENDING];
        if (job.bits) *bits = static_cast<unsigned char>(edge);
        if (job.edges && in_width) {
            // Moves bits 0 to 3 to the lowest bits of four bytes, then makes 0 or 255 of them.
            auto bytes = [](u32 four) { return (four * 0x00204081u & 0x01010101u) * 0xFFu; };
            if (whole) *reinterpret_cast<uint2 *>(line) = make_uint2(bytes(edge & 15u), bytes(edge >> 4));
            else
#pragma unroll 1
                for (int j = 0; j < min(ED_GROUP, width - x); ++j) line[j] = edge >> j & 1u ? 255 : 0;
        }
        to += map_step, from += FROM_STEP, edges += STEP * GROUPS;
        pending += byte_step, bits += byte_step, line += edge_step;
    }
}

// Block (32, 4), grid (ceil(bit_pitch*32 / OWN_X), min(ceil(height / OWN_Y), 65535), slices); blocks loop over what exceeds
// the grid. Per pixel: reads the pixel (1.4 times with the halo, mostly from the cache); writes a word of the working map,
// a byte of the edge map, and 2/8 bytes of the two bit maps.
template <typename T>
__device__ __forceinline__ void tile_kernel(const isoline_ed_job &job)
{
    __shared__ typename T::Shared shared;
    const u32 tile_rows = (job.height + T::OWN_Y - 1) / T::OWN_Y;
    const int x0 = static_cast<int>(blockIdx.x) * T::OWN_X - ED_HALO_X;
    for (u32 tile = blockIdx.y;;) {
        const int y0 = static_cast<int>(tile) * T::OWN_Y - ED_HALO_Y;
        tile_gradients<T>(job_of_slice<typename T::WORD>(job, blockIdx.z), shared, x0, y0);
        __syncthreads();
        tile_anchors<T>(job, shared, x0, y0);
        __syncthreads();
        if (job.margin > 0) {
            tile_clear<T>(job, shared, x0, y0);
            __syncthreads();
        }
        if (job.link) {
            tile_tracing<T>(job, shared);
            __syncthreads();
        }
        tile_store<T>(job_of_slice<typename T::WORD>(job, blockIdx.z), shared, x0, y0);
        tile += gridDim.y;
        if (tile >= tile_rows) break;
        __syncthreads();   // the next tile of this block overwrites the memory that this one was stored from
    }
}
