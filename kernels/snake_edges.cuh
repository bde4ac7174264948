// The sums over edges that a search needs, shared out among the blocks of a group: part of `Searcher`, snake_search.cuh.
#pragma once

// Cheaper on Hopper than a relaxed load and a fence after the last one.
__device__ __forceinline__ u32 load_acquire(const u32 *counter)
{
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
    return value;
}

// Adds to a number in global memory and does not wait for what it was.
__device__ __forceinline__ void add_relaxed(i64 *to, i64 number)
{
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(to), "l"(number) : "memory");
}

// All blocks of the group meet; what they wrote before, all see after. `sums`: they have made a turn's. Between `arrive` and
// `wait_for_all` a block may do what needs nothing of the others.
template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::arrive()
{
    if (!GROUP) return;
    __syncthreads();
    if (threadIdx.x == 0) add_release(&control->arrived, 1u);
}

template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::wait_for_all(bool sums)
{
    if (GROUP && threadIdx.x == 0) {
        // Volatile, so that they are read here only: the others read what lies beside them while these are written.
        volatile u32 &now = turn, &met = generation;
        const u32 next = now + 1, meeting = met + 1;
        if (sums) now = next < TURNS ? next : 0;
        met = meeting;
        const u32 wanted = meeting * blocks;
        while (static_cast<int>(load_acquire(&control->arrived) - wanted) < 0) {
        }
    }
    __syncthreads();
}

template <typename T, bool GROUP>
__device__ __noinline__ void Searcher<T, GROUP>::meet_all(bool sums)
{
    arrive();
    wait_for_all(sums);
}

// Sets the sums of a turn to 0, the blocks a part each.
template <typename T, bool GROUP>
__device__ void Searcher<T, GROUP>::clear_sums(u32 which)
{
    i64 *at = &turns_sums(which)->pixels;
    const u32 count = static_cast<u32>(sums_a_turn(target.count)) * NUMBERS_A_SUM;
    for (u32 i = block * THREADS + threadIdx.x; i < count; i += blocks * THREADS) at[i] = 0;
}

// Adds to one number of the next turn's sums.
template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::add_number(u32 index, i64 number)
{
    i64 *to = &turns_sums(turn_after(1))->pixels + index;
    if (!GROUP) *to = number;
    else if (number != 0) add_relaxed(to, number);
}

// The rows of the longest edge; every warp by itself.
template <typename T, bool GROUP>
__device__ __noinline__ int Searcher<T, GROUP>::longest_edge() const
{
    int longest = 0;
    for (u32 i = threadIdx.x % WARP; i < target.count; i += WARP)
        longest = max(longest, abs(nodes[next_of(i)].y - nodes[i].y));
    #pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) longest = max(longest, __shfl_xor_sync(ALL_LANES, longest, step));
    return longest;
}

// How items are cut for the group's warps, in as many pieces as there are warps: into pieces of the same number of rows, or,
// where there are more items than a warp has lanes, into as many each. A block alone never cuts more pieces than it has warps,
// but where each item is a piece, so that each item is summed in one round.
template <typename T, bool GROUP>
template <typename EdgeOf>
__device__ __forceinline__ typename Searcher<T, GROUP>::Cut Searcher<T, GROUP>::cut(u32 items, int longest, EdgeOf edge_of) const
{
    const u32 warps = (GROUP ? blocks : 1u) * WARPS, lane = threadIdx.x % WARP;
    Cut cut;
    cut.even = cuts_evenly(items);
    cut.end = 0;
    if (!cut.even) {
        const u32 most = max(warps / max(items, 1u), 1u), all = static_cast<u32>(max(longest, 1));
        cut.rows = ((all + most - 1) / most + 3) / 4 * 4;
        cut.pieces = (all + cut.rows - 1) / cut.rows;
        cut.units = items * cut.pieces;
        return cut;
    }
    int2 a, b;
    int y0 = 0, y1 = 0;
    if (lane < items) edge_of(lane, 0, a, b, y0, y1);
    const u32 mine = static_cast<u32>(y1 - y0), all = lanes_total(mine), spare = warps - items;
    // Roughly: pieces that are a little too long or too many do no harm, too few would.
    cut.rows = (static_cast<u32>(__fdividef(static_cast<float>(all), static_cast<float>(spare))) / 4 + 1) * 4;
    cut.pieces = static_cast<u32>(__fdividef(static_cast<float>(mine), static_cast<float>(cut.rows)));
    while (cut.pieces * cut.rows < mine) cut.pieces++;
    cut.pieces = lane < items ? max(cut.pieces, 1u) : 0;
    cut.end = cut.pieces;
    #pragma unroll
    for (int step = 1; step < static_cast<int>(WARP); step *= 2) {
        const u32 before = __shfl_up_sync(ALL_LANES, cut.end, step);
        if (lane >= static_cast<u32>(step)) cut.end += before;
    }
    cut.units = __shfl_sync(ALL_LANES, cut.end, WARP - 1);
    return cut;
}

// The piece that a warp takes.
template <typename T, bool GROUP>
__device__ __forceinline__ typename Searcher<T, GROUP>::Piece Searcher<T, GROUP>::piece_of(const Cut &cut, u32 unit) const
{
    if (!cut.even) return {unit / cut.pieces, unit % cut.pieces, cut.pieces};
    const u32 item = static_cast<u32>(__popc(__ballot_sync(ALL_LANES, cut.end <= unit)));
    const int from = static_cast<int>(min(item, WARP - 1));
    const u32 pieces = __shfl_sync(ALL_LANES, cut.pieces, from);
    return {item, unit - (__shfl_sync(ALL_LANES, cut.end, from) - pieces), pieces};
}

// Sums `items` of PLACES edges each, which pass up to `longest` rows together, into item * PLACES + place of the
// next turn's; they have to meet then. `edge_of(item, place, a, b, y0, y1)` names an edge, if it is wanted, and, in any case, the
// rows of all the item's.
//
// A warp takes a piece of an item's rows: PLACES lanes, an edge each, work on one row, where they read the same memory or
// nearly. What a block's warps have of one item is added up before it leaves the block.
template <typename T, bool GROUP>
template <u32 PLACES, typename EdgeOf>
__device__ __forceinline__ void Searcher<T, GROUP>::sum_edges(u32 items, int longest, EdgeOf edge_of)
{
    constexpr u32 NUMBERS = PLACES * NUMBERS_A_SUM;
    __shared__ i64 parts[WARPS][NUMBERS];
    __shared__ Piece whose[WARPS];
    if (GROUP) clear_sums(turn_after(2));
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, place = lane % PLACES;
    const Cut cut = this->cut(items, longest, edge_of);
    const u32 warps = (GROUP ? blocks : 1u) * WARPS;
    for (u32 first = (GROUP ? block : 0u) * WARPS; first < cut.units; first += warps) {
        const u32 unit = first + warp;
        const Piece piece = piece_of(cut, unit);
        int2 a, b;
        int y0, y1;
        isoline_snake_sum sum = {0, 0, 0};
        if (unit < cut.units && edge_of(piece.item, place, a, b, y0, y1)) {
            const bool down = a.y <= b.y;
            const int from = y0 + static_cast<int>(piece.number * cut.rows);
            const int y = from + static_cast<int>(lane / PLACES), end = min(from + static_cast<int>(cut.rows), y1);
            sum = rows_sum<T, WARP / PLACES, TOGETHER>(job.image, down ? a : b, down ? b : a, y, end);
            if (!down) sum = isoline_snake_sum{0, 0, 0} - sum;
        }
        sum = lanes_sum<PLACES>(sum);
        if (lane < PLACES) {
            i64 *const mine = parts[warp] + NUMBERS_A_SUM * place;
            mine[0] = sum.pixels, mine[1] = sum.z, mine[2] = sum.zz;
        }
        if (lane == 0) whose[warp] = piece;
        __syncthreads();
        for (u32 i = threadIdx.x; i < WARPS * NUMBERS; i += THREADS) {
            // The pieces of an item follow each other: those who have a number of the block's first one add it up.
            const u32 head = i / NUMBERS, number = i % NUMBERS;
            const Piece it = whose[head];
            if (first + head >= cut.units || (head > 0 && it.number > 0)) continue;
            const u32 end = head + min(WARPS - head, it.of - it.number);
            i64 all = 0;
            #pragma unroll 4
            for (u32 other = head; other < end; other++) all += parts[other][number];
            add_number(it.item * NUMBERS + number, all);
        }
        if (first + warps < cut.units) __syncthreads();
    }
}

// Sums of the edges that the moves of a subset would make: those before the node and those after it.
template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::sum_moves(Subset subset, int longest)
{
    sum_edges<PLACE_COUNT>(2 * subset.size(), longest + 2 * target.distance,
                           [&](u32 item, u32 place, int2 &a, int2 &b, int &y0, int &y1) {
                               const u32 i = subset.node(item / 2);
                               const int2 here = nodes[i], to = moved(i, static_cast<int>(place));
                               const bool before = item % 2 == 0;
                               const int2 other = nodes[before ? previous_of(i) : next_of(i)];
                               y0 = min(other.y, here.y - target.distance);
                               y1 = max(other.y, here.y + target.distance);
                               a = before ? other : to, b = before ? to : other;
                               return in_bounds(to);
                           });
}

template <typename T, bool GROUP>
__device__ __noinline__ void Searcher<T, GROUP>::sum_removals(Subset subset, int longest)
{
    sum_edges<1>(subset.size(), 2 * longest, [&](u32 item, u32, int2 &a, int2 &b, int &y0, int &y1) {
        const u32 i = subset.node(item);
        a = nodes[previous_of(i)], b = nodes[next_of(i)];
        y0 = min(a.y, b.y), y1 = max(a.y, b.y);
        return true;
    });
}
