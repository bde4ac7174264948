// Isolines: the crossings of a level with the edges between neighbouring pixels, and the crossing that follows each.
//
//   classes_{u8,u16,f32}     a bit a pixel: is it above the level, is it finite
//   marks                    a bit an edge: is there a crossing; the number of crossings of each tile of words
//   sums                     the number of crossings before each tile, in one block
//   places                   the number of crossings before each word
//   crossings_{u8,u16,f32}   position and follower of each crossing, at its place in the list
//
// The arithmetic of a position is that of src/isolines/cpu.rs, in double precision.
#include "block_scan.cuh"
#include "isolines.h"

template <typename PIXEL>
__device__ __forceinline__ double pixel_at(const isoline_il_job &job, u32 x, u32 y)
{
    return reinterpret_cast<const PIXEL *>(job.pixels + y * job.row_stride)[x];
}

// Block (32, IL_ROWS), grid (words of a row, rows / IL_ROWS), looping over the rest: a warp makes a word of the 32 pixels
// of its lanes. Reads each pixel once, writes two bits.
template <typename PIXEL>
__device__ __forceinline__ void classes_kernel(const isoline_il_job &job)
{
    for (u32 y = blockIdx.y * IL_ROWS + threadIdx.y; y < job.height; y += gridDim.y * IL_ROWS) {
        for (u32 w = blockIdx.x; w < job.pitch; w += gridDim.x) {
            const u32 x = w * WARP + threadIdx.x;
            const double pixel = x < job.width ? pixel_at<PIXEL>(job, x, y) : cuda::std::numeric_limits<double>::quiet_NaN();
            const u32 high = __ballot_sync(ALL_LANES, pixel > job.level);
            const u32 finite = __ballot_sync(ALL_LANES, isfinite(pixel));
            if (threadIdx.x == 0) {
                const u64 at = static_cast<u64>(y) * job.pitch + w;
                job.high[at] = high;
                job.finite[at] = finite;
            }
        }
    }
}

// Returns a word of a row of bits, shifted so that a pixel has the bit of its right neighbour.
__device__ __forceinline__ u32 right_bits(const isoline_il_job &job, const u32 *bits, u32 y, u32 w)
{
    const u32 *word = bits + static_cast<u64>(y) * job.pitch + w;
    return w + 1 < job.pitch ? __funnelshift_r(word[0], word[1], 1) : word[0] >> 1;
}

// Returns the bits of the cells, by their upper left pixels, whose four pixels are finite.
__device__ __forceinline__ u32 cells(const isoline_il_job &job, u32 y, u32 w)
{
    if (y + 1 >= job.height) return 0;
    const u64 at = static_cast<u64>(y) * job.pitch + w;
    return job.finite[at] & right_bits(job, job.finite, y, w) & job.finite[at + job.pitch]
        & right_bits(job, job.finite, y + 1, w);
}

// Returns the crossings between the pixels of a word and their right neighbours.
__device__ __forceinline__ u32 marks_across(const isoline_il_job &job, u32 y, u32 w)
{
    const u32 high = job.high[static_cast<u64>(y) * job.pitch + w];
    return (high ^ right_bits(job, job.high, y, w)) & (cells(job, y, w) | (y > 0 ? cells(job, y - 1, w) : 0));
}

// Returns the crossings between the pixels of a word and the ones below.
__device__ __forceinline__ u32 marks_down(const isoline_il_job &job, u32 y, u32 w)
{
    if (y + 1 >= job.height) return 0;
    const u64 at = static_cast<u64>(y) * job.pitch + w;
    const u32 own = cells(job, y, w), before = w > 0 ? cells(job, y, w - 1) : 0;
    return (job.high[at] ^ job.high[at + job.pitch]) & (own | __funnelshift_l(before, own, 1));
}

__device__ __forceinline__ u64 word_count(const isoline_il_job &job)
{
    return 2 * static_cast<u64>(job.pitch) * job.height;
}

// Block IL_THREADS, grid: tiles of words. A thread makes every IL_THREADS-th word of the tile.
extern "C" __global__ void __launch_bounds__(IL_THREADS) isoline_il_marks(isoline_il_job job)
{
    const u64 first = static_cast<u64>(blockIdx.x) * IL_TILE, words = word_count(job);
    u32 own = 0;
    for (u64 i = first + threadIdx.x; i < words && i < first + IL_TILE; i += IL_THREADS) {
        const u64 row = i / job.pitch;
        const u32 y = row / 2, w = i % job.pitch;
        const u32 marks = row % 2 == 0 ? marks_across(job, y, w) : marks_down(job, y, w);
        job.words[i] = marks;
        own += __popc(marks);
    }
    u64 total;
    block_exclusive_sum<IL_THREADS>(own, &total);
    if (threadIdx.x == 0) job.sums[blockIdx.x] = total;
}

// One block. `tiles` is the number of tiles.
extern "C" __global__ void __launch_bounds__(IL_THREADS) isoline_il_sums(isoline_il_job job, u32 tiles)
{
    u64 before = 0, total;
    for (u32 first = 0; first < tiles; first += IL_THREADS) {
        const u32 tile = first + threadIdx.x;
        const u64 sum = block_exclusive_sum<IL_THREADS>(tile < tiles ? job.sums[tile] : 0, &total);
        if (tile < tiles) job.sums[tile] = before + sum;
        before += total;
    }
    if (threadIdx.x == 0) {
        job.sums[tiles] = before;
        job.rows[2 * static_cast<u64>(job.height)] = before;
    }
}

// Block IL_THREADS, grid: tiles of words, in runs of IL_THREADS words.
extern "C" __global__ void __launch_bounds__(IL_THREADS) isoline_il_places(isoline_il_job job)
{
    const u64 first = static_cast<u64>(blockIdx.x) * IL_TILE, words = word_count(job);
    u64 before = job.sums[blockIdx.x], total;
    for (u64 run = first; run < words && run < first + IL_TILE; run += IL_THREADS) {
        const u64 i = run + threadIdx.x;
        const u64 sum = before + block_exclusive_sum<IL_THREADS>(i < words ? __popc(job.words[i]) : 0, &total);
        if (i < words) {
            job.before[i] = sum;
            if (i % job.pitch == 0) job.rows[i / job.pitch] = sum;
        }
        before += total;
    }
}

// A pixel, or the edge between it and its right or lower neighbour.
struct Place {
    u32 x, y;
};

__device__ __forceinline__ u32 bit_at(const isoline_il_job &job, const u32 *bits, Place at)
{
    return bits[static_cast<u64>(at.y) * job.pitch + at.x / WARP] >> (at.x % WARP) & 1;
}

// Returns the number of the crossing between a pixel and the right (0) or the lower (1) one.
__device__ __forceinline__ u32 number_of(const isoline_il_job &job, Place at, u32 line)
{
    const u64 word = (2 * static_cast<u64>(at.y) + line) * job.pitch + at.x / WARP;
    return job.before[word] + __popc(job.words[word] & ((1u << (at.x % WARP)) - 1));
}

// Returns the crossing that follows that between a pixel and the right (0) or the lower (1) one.
//
// The corners of a cell, and the edges that begin with them, are numbered clockwise from the upper left one. A curve enters
// a cell through an edge whose first corner is high, and leaves it through one whose first corner is low.
__device__ __forceinline__ u32 follower(const isoline_il_job &job, Place at, u32 line)
{
    const bool first_is_high = bit_at(job, job.high, at);
    Place cell = at;
    u32 edge;
    if (line == 0 && first_is_high) edge = 0;
    else if (line == 0) edge = 2, cell.y -= 1;
    else if (first_is_high) edge = 1, cell.x -= 1;
    else edge = 3;
    // Coordinates before the first row or column wrap around.
    if (cell.x >= job.width || cell.y >= job.height) return IL_NONE;
    if ((cells(job, cell.y, cell.x / WARP) >> (cell.x % WARP) & 1) == 0) return IL_NONE;
    const u32 high = bit_at(job, job.high, cell) | bit_at(job, job.high, {cell.x + 1, cell.y}) << 1
        | bit_at(job, job.high, {cell.x + 1, cell.y + 1}) << 2 | bit_at(job, job.high, {cell.x, cell.y + 1}) << 3;
    const u32 exits = ~high & (high >> 1 | high << 3);
    const u32 turn = job.high_belong_together ? 1 : 3;
    u32 exit = (edge + turn) % 4;
    while ((exits >> exit & 1) == 0) exit = (exit + turn) % 4;
    const Place edges[4] = {cell, {cell.x + 1, cell.y}, {cell.x, cell.y + 1}, cell};
    return number_of(job, edges[exit], exit % 2);
}

// Block IL_THREADS, any grid: a thread makes the crossings of a word, one after the other. For each it reads two pixels and
// a few words around it, and writes 20 bytes.
template <typename PIXEL>
__device__ __forceinline__ void crossings_kernel(const isoline_il_job &job)
{
    const u64 words = word_count(job), step = static_cast<u64>(gridDim.x) * IL_THREADS;
    for (u64 i = static_cast<u64>(blockIdx.x) * IL_THREADS + threadIdx.x; i < words; i += step) {
        const u64 row = i / job.pitch;
        const u32 line = row % 2, y = row / 2;
        u64 place = job.before[i];
        for (u32 left = job.words[i]; left != 0; left &= left - 1, ++place) {
            const u32 x = static_cast<u32>(i % job.pitch) * WARP + __ffs(left) - 1;
            const double a = pixel_at<PIXEL>(job, x, y);
            const double b = line == 0 ? pixel_at<PIXEL>(job, x + 1, y) : pixel_at<PIXEL>(job, x, y + 1);
            const double share = __ddiv_rn(__dsub_rn(job.level, a), __dsub_rn(b, a));
            job.points[2 * place] = line == 0 ? __dadd_rn(x, share) : x;
            job.points[2 * place + 1] = line == 0 ? y : __dadd_rn(y, share);
            job.next[place] = follower(job, {x, y}, line);
        }
    }
}

#define OF_PIXEL(NAME, PIXEL)                                                                                             \
    extern "C" __global__ void __launch_bounds__(WARP * IL_ROWS) isoline_il_classes_##NAME(isoline_il_job job)            \
    {                                                                                                                     \
        classes_kernel<PIXEL>(job);                                                                                       \
    }                                                                                                                     \
    extern "C" __global__ void __launch_bounds__(IL_THREADS) isoline_il_crossings_##NAME(isoline_il_job job)              \
    {                                                                                                                     \
        crossings_kernel<PIXEL>(job);                                                                                     \
    }
OF_PIXEL(u8, unsigned char)
OF_PIXEL(u16, unsigned short)
OF_PIXEL(f32, float)
