// Edge drawing, the walks that a tile could not finish, in global memory.
#pragma once
#include "edge_drawing_word.cuh"

constexpr int REST_WARPS = 8;
constexpr int REST_WORDS = 4;   // words of `pending` a lane
constexpr int REST_FULL = WARP / 2;
constexpr int REST_LIST = WARP * 32 + REST_FULL;

// One state: a pixel and a heading along its direction.
struct RestState {
    u32 x, y;
    bool plus;
};

template <typename WORD>
__device__ __forceinline__ u32 rest_word(const isoline_ed_job &job, u32 x, u32 y)
{
    // Beyond the image a walk sees no gradient. Marks change while this runs, so the first-level cache is passed by.
    if (x >= job.width || y >= job.height) return 0;
    return __ldcg(static_cast<const WORD *>(job.map) + y * job.map_pitch + x);
}

// Claims states of a pixel; returns which of them were free.
template <typename WORD>
__device__ __forceinline__ u32 rest_claim(const isoline_ed_job &job, u32 x, u32 y, u32 states)
{
    const u64 at = y * job.map_pitch + x;
    u32 shift = 0;
    u32 *word;
    if (sizeof(WORD) == 2) {
        word = static_cast<u32 *>(job.map) + at / 2;
        shift = at % 2 * 16;
    } else {
        word = static_cast<u32 *>(job.map) + at;
    }
    const u32 before = atomicOr(word, states << shift) >> shift;
    if (job.edges) job.edges[y * job.edge_pitch + x] = 255;
    if (job.bits) atomicOr(&job.bits[y * job.bit_pitch + x / 32], 1u << (x % 32));
    return states & ~before;
}

// Walks on from a state that is walked already. FOLLOW: states across a turn are claimed and walked as well; of two, one
// is kept for later on a list that runs through job.next, where each pixel is put at most once. Without it a walk cannot
// come back to where it was, so it need not wait for the answer to its claims: where two meet, both may go on.
template <typename WORD, bool FOLLOW>
__device__ __forceinline__ void rest_walk(const isoline_ed_job &job, RestState state)
{
    using W = Word<WORD>;
    constexpr u32 NONE = 0xFFFFFFFFu;
    u32 later = NONE;
    u32 direction = rest_word<WORD>(job, state.x, state.y) & W::VERTICAL;
    for (;;) {
        // 1. The three pixels ahead; indices beyond the border wrap to huge ones.
        const u32 one = state.plus ? 1u : 0xFFFFFFFFu;
        u32 x = state.x, y = state.y, dx = 0, dy = 0;
        if (direction) y += one, dx = 1;
        else x += one, dy = 1;
        const u32 a = rest_word<WORD>(job, x - dx, y - dy), s = rest_word<WORD>(job, x, y);
        const u32 b = rest_word<WORD>(job, x + dx, y + dy);
        const u32 ga = a & W::GRADIENT, gs = s & W::GRADIENT, gb = b & W::GRADIENT;
        u32 word = s;
        if (ga > gs && ga > gb) word = a, x -= dx, y -= dy;
        if (gb > gs && gb > ga) word = b, x += dx, y += dy;

        // 2. On to it, unless that state is walked already.
        bool on = false;
        if (word & W::GRADIENT) {
            const bool turns = (word & W::VERTICAL) != direction;
            u32 states = turns ? (FOLLOW ? WALKED : 0) : state.plus ? 2 : 1;
            states &= ~word;
            if (states) {
                const u32 free = rest_claim<WORD>(job, x, y, states);
                if (FOLLOW) states = free;
            }
            if (states) {
                on = true;
                if (FOLLOW && states == WALKED) {
                    const u32 index = y * job.width + x;
                    job.next[index] = later;
                    later = index;
                }
                state = RestState{x, y, (states & 2u) != 0};
                direction = word & W::VERTICAL;
            }
        }

        // 3. Else one that was kept: the minus heading of a pixel.
        if (!on) {
            if (!FOLLOW || later == NONE) return;
            const u32 index = later;
            later = job.next[index];
            state = RestState{index % job.width, index / job.width, false};
            direction = rest_word<WORD>(job, state.x, state.y) & W::VERTICAL;
        }
    }
}

// Warp <-> 4 * 32 words of `pending`, in which a lane loads four neighbours; block 32, 8; grid ceil(words / 1024). Reads
// 1/8 byte a pixel, and what the walks touch.
template <typename WORD>
__device__ __forceinline__ void rest_kernel(const isoline_ed_job &job)
{
    __shared__ unsigned short lists[REST_WARPS][REST_LIST];
    wait_for_previous_launch();
    const int lane = threadIdx.x;
    unsigned short *list = lists[threadIdx.y];
    const u64 words = job.bit_pitch * job.height;
    const u64 first = (static_cast<u64>(blockIdx.x) * REST_WARPS + threadIdx.y) * (REST_WORDS * WARP);
    if (first >= words) return;

    u32 own[REST_WORDS];
    bool any = false;
#pragma unroll
    for (int i = 0; i < REST_WORDS; ++i) {
        const u64 at = first + i * WARP + lane;
        own[i] = at < words ? job.pending[at] : 0;
        any |= own[i] != 0;
    }
    if (!__any_sync(ALL_LANES, any)) return;

    auto walk = [&](u32 entry, bool plus) {
        const u64 word = first + entry / 32;
        const u64 y = word / job.bit_pitch;
        const u32 x = static_cast<u32>(word - y * job.bit_pitch) * 32 + entry % 32;
        const RestState state{x, static_cast<u32>(y), plus};
        if (job.follow_turns) rest_walk<WORD, true>(job, state);
        else rest_walk<WORD, false>(job, state);
    };
    int count = 0;
#pragma unroll
    for (int i = 0; i < REST_WORDS; ++i) {
        u32 bits = own[i];
        const int mine = __popc(bits);
        int before = mine;
#pragma unroll
        for (int step = 1; step < static_cast<int>(WARP); step *= 2) {
            const int other = __shfl_up_sync(ALL_LANES, before, step);
            if (lane >= step) before += other;
        }
        int to = count + before - mine;
        count += __shfl_sync(ALL_LANES, before, WARP - 1);
        while (bits) {
            list[to++] = static_cast<unsigned short>((i * WARP + lane) * 32 + __ffs(bits) - 1);
            bits &= bits - 1;
        }
        __syncwarp();
        while (count >= REST_FULL) {
            walk(list[count - REST_FULL + lane / 2], lane % 2);
            count -= REST_FULL;
        }
        __syncwarp();
    }
    if (lane / 2 < count) walk(list[lane / 2], lane % 2);
}
