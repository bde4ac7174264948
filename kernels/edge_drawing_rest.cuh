// Edge drawing: the traces that a tile could not finish, in global memory.
#pragma once
#include "edge_drawing_word.cuh"

constexpr int REST_SECTOR = 8;   // words of `pending` in one sector of memory

constexpr u32 REST_AHEAD = 8;   // pixels that are prefetched ahead of a trace

// A state: a pixel and a heading along its direction.
struct TracingState {
    u32 x, y;
    bool plus;
};

// Claims states of a pixel and marks it; returns which of them were free.
template <typename WORD>
__device__ __forceinline__ u32 claim_states(const isoline_ed_job &job, u32 x, u32 y, u32 states)
{
    const u64 at = y * job.map_pitch + x;
    const u32 shift = sizeof(WORD) == 2 ? at % 2 * 16 : 0;
    u32 *word = static_cast<u32 *>(job.map) + at * sizeof(WORD) / sizeof(u32);
    const u32 before = atomicOr(word, states << shift) >> shift;
    if (job.edges) job.edges[y * job.edge_pitch + x] = 255;
    if (job.bits) atomicOr(&job.bits[y * job.bit_pitch + x / 32], 1u << (x % 32));
    return states & ~before;
}

// Continues a trace from a state that is marked already. With FOLLOW, the states across a turn are claimed and traced, too;
// if both are free, one of them is kept for later on a linked list in job.next, where each pixel is put at most once.
// Without FOLLOW a trace cannot return to its own path, so it need not wait for the results of its claims: where two traces
// meet, both may go on. Marks are read through the L1 cache: a recent mark may be missed, which only costs another claim.
template <typename WORD, bool FOLLOW>
__device__ __forceinline__ void trace(const isoline_ed_job &job, TracingState state)
{
    using W = Word<WORD>;
    constexpr u32 NONE = 0xFFFFFFFFu;
    const WORD *map = static_cast<const WORD *>(job.map);
    const long long pitch = static_cast<long long>(job.map_pitch);
    u32 later = NONE;
    for (;;) {
        // Along the trace and across it: the position, the number of pixels, and the stride in memory.
        const WORD *at = map + static_cast<long long>(state.y) * pitch + state.x;
        const u32 direction = __ldca(at) & W::VERTICAL;
        u32 across = direction ? state.x : state.y;
        const u32 last_across = (direction ? job.width : job.height) - 1;
        u32 along = direction ? state.y : state.x;
        u32 left = state.plus ? (direction ? job.height : job.width) - 1 - along : along;
        const long long across_step = direction ? 1 : pitch, plus_step = direction ? pitch : 1;
        const long long step = state.plus ? plus_step : -plus_step;
        const u32 own = state.plus ? 2 : 1;

        bool turned = false;
        while (left > 0) {
            // 1. The three pixels ahead; beyond the image there is no gradient.
            at += step;
            along += state.plus ? 1u : 0xFFFFFFFFu;
            --left;
            const bool has_a = across > 0, has_b = across < last_across;
            const u32 a_word = __ldca(has_a ? at - across_step : at), s = __ldca(at);
            const u32 b_word = __ldca(has_b ? at + across_step : at);
            // No function of CUDA prefetches to the first-level cache.
            if (left > REST_AHEAD) asm volatile("prefetch.global.L1 [%0];" ::"l"(at + REST_AHEAD * step));
            const u32 ga = has_a ? a_word & W::GRADIENT : 0, gs = s & W::GRADIENT;
            const u32 gb = has_b ? b_word & W::GRADIENT : 0;
            u32 word = s;
            if (ga > gs && ga > gb) word = a_word, --across, at -= across_step;
            if (gb > gs && gb > ga) word = b_word, ++across, at += across_step;

            // 2. Go on to the strongest of the three, unless that state is traced already.
            if ((word & W::GRADIENT) == 0) break;
            const bool turns = (word & W::VERTICAL) != direction;
            if (!FOLLOW && turns) break;
            u32 states = (turns ? TRACED : own) & ~word;
            if (states == 0) break;
            const u32 x = direction ? across : along, y = direction ? along : across;
            const u32 free = claim_states<WORD>(job, x, y, states);
            if (FOLLOW) {
                if (free == 0) break;
                if (turns) {
                    if (free == TRACED) {
                        const u32 index = y * job.width + x;
                        job.next[index] = later;
                        later = index;
                    }
                    state = TracingState{x, y, (free & 2u) != 0};
                    turned = true;
                    break;
                }
            }
        }
        if (!FOLLOW) return;
        if (turned) continue;

        // 3. Take a state that was kept: the minus heading of a pixel.
        if (later == NONE) return;
        state = TracingState{later % job.width, later / job.width, false};
        later = job.next[later];
    }
}

// A lane has a word of `pending`; a warp has four sectors of 8 words, far from each other, so that the long traces that
// begin along an edge fall to different warps. Block (32, 8); grid (ceil(words / 256), 1, slices). Reads 1/8 byte per pixel, and the
// pixels that the traces pass.
template <typename WORD>
__device__ __forceinline__ void rest_kernel(const isoline_ed_job &job)
{
    __shared__ unsigned short lists[REST_WARPS][REST_LIST];
    wait_for_previous_launch();
    const u32 lane = threadIdx.x;
    unsigned short *list = lists[threadIdx.y];
    const u64 words = job.bit_pitch * job.height;
    const u64 warp = static_cast<u64>(blockIdx.x) * REST_WARPS + threadIdx.y;
    const u64 warps = (words + WARP - 1) / WARP;
    if (warp >= warps) return;

    auto word_of = [&](u32 l) { return (warp + l / REST_SECTOR * warps) * REST_SECTOR + l % REST_SECTOR; };
    u32 bits = word_of(lane) < words ? job.pending[word_of(lane)] : 0;
    if (!__any_sync(ALL_LANES, bits != 0)) return;

    // The anchors of all lanes go into one list, so that all lanes trace: two headings per anchor.
    const u32 own = __popc(bits);
    const u32 before = lanes_inclusive_sum(own, lane);
    const u32 count = __shfl_sync(ALL_LANES, before, WARP - 1);
    for (u32 to = before - own; bits; bits &= bits - 1)
        list[to++] = static_cast<unsigned short>(lane * 32 + __ffs(bits) - 1);
    __syncwarp();
    for (u32 i = lane / 2; i < count; i += WARP / 2) {
        const u64 word = word_of(list[i] / 32), y = word / job.bit_pitch;
        const u32 x = static_cast<u32>(word - y * job.bit_pitch) * 32 + list[i] % 32;
        const TracingState state{x, static_cast<u32>(y), lane % 2 != 0};
        if (job.follow_turns) trace<WORD, true>(job, state);
        else trace<WORD, false>(job, state);
    }
}
