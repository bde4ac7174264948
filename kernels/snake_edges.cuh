// The sums over edges that a search needs, shared among the blocks of a group: part of `Searcher`, snake_search.cuh.
#pragma once

// Barrier of the group's blocks: what they wrote before it, all see after it. `sums`: they have made the sums of a
// buffer. Between `arrive_at_barrier` and `wait_at_barrier` a block may do what needs nothing of the others.
template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::arrive_at_barrier()
{
    if (!GROUP) return;
    __syncthreads();
    if (threadIdx.x != 0) return;
    const cuda::atomic_ref<u32, cuda::thread_scope_device> arrived(control->arrived);
    arrived.fetch_add(1, cuda::memory_order_release);
}

template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::wait_at_barrier(bool sums)
{
    if (GROUP && threadIdx.x == 0) {
        // Volatile, so that they are read here only: the other threads read the values beside them while these are
        // written.
        volatile u32 &now = sum_buffer, &met = generation;
        const u32 next = now + 1, meeting = met + 1;
        if (sums) now = next < SUM_BUFFERS ? next : 0;
        met = meeting;
        const u32 wanted = meeting * blocks;
        // On Hopper acquire loads are cheaper than relaxed loads and a fence after the last one.
        const cuda::atomic_ref<u32, cuda::thread_scope_device> arrived(control->arrived);
        while (static_cast<int>(arrived.load(cuda::memory_order_acquire) - wanted) < 0) {
        }
    }
    __syncthreads();
}

template <typename T, bool GROUP>
__device__ __noinline__ void Searcher<T, GROUP>::group_barrier(bool sums)
{
    arrive_at_barrier();
    wait_at_barrier(sums);
}

// Sets the sums of a buffer to 0; each block has a part.
template <typename T, bool GROUP>
__device__ void Searcher<T, GROUP>::clear_sums(u32 which)
{
    i64 *at = &sums_of(which)->pixels;
    const u32 count = static_cast<u32>(sums_per_buffer(target.count)) * NUMBERS_PER_SUM;
    for (u32 i = block * THREADS + threadIdx.x; i < count; i += blocks * THREADS) at[i] = 0;
}

// Adds to one number of the next buffer's sums. A pointer that is known to be global lets the addition go without an
// answer, and without code for shared memory.
template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::add_number(u32 index, i64 number)
{
    i64 *to = &sums_of(buffer_after(1))->pixels + index;
    __builtin_assume(__isGlobal(to));
    if (!GROUP) *to = number;
    else if (number != 0) atomicAdd(reinterpret_cast<u64 *>(to), static_cast<u64>(number));
}

// Returns the rows of the longest edge; every warp computes it.
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

// Partitions items among the group's warps, into about as many parts as there are warps: into parts of the same number
// of rows where `parts_by_rows` says so, else into the same number of parts per item. A single block never makes more
// parts than it has warps, except where each item is one part. So all parts of an item fall into one round of
// `sum_edges`, and `add_number` can store a single block's sum instead of adding to it.
template <typename T, bool GROUP>
template <typename EdgeOf>
__device__ __forceinline__ typename Searcher<T, GROUP>::Partition Searcher<T, GROUP>::partition(u32 items, int longest,
                                                                                                EdgeOf edge_of) const
{
    const u32 warps = (GROUP ? blocks : 1u) * WARPS, lane = threadIdx.x % WARP;
    Partition partition;
    partition.by_rows = parts_by_rows(items);
    partition.end = 0;
    if (!partition.by_rows) {
        const u32 most = max(warps / max(items, 1u), 1u), all = static_cast<u32>(max(longest, 1));
        partition.rows = ((all + most - 1) / most + 3) / 4 * 4;
        partition.parts = (all + partition.rows - 1) / partition.rows;
        partition.units = items * partition.parts;
        return partition;
    }
    int2 a, b;
    int y0 = 0, y1 = 0;
    if (lane < items) edge_of(lane, 0, a, b, y0, y1);
    const u32 mine = static_cast<u32>(y1 - y0), all = lanes_total(mine), spare = warps - items;
    // A rough estimate: parts that are a little too long or too many do no harm, too few would.
    partition.rows = (static_cast<u32>(__fdividef(static_cast<float>(all), static_cast<float>(spare))) / 4 + 1) * 4;
    partition.parts = static_cast<u32>(__fdividef(static_cast<float>(mine), static_cast<float>(partition.rows)));
    while (partition.parts * partition.rows < mine) partition.parts++;
    partition.parts = lane < items ? max(partition.parts, 1u) : 0;
    partition.end = lanes_inclusive_sum(partition.parts, lane);
    partition.units = __shfl_sync(ALL_LANES, partition.end, WARP - 1);
    return partition;
}

// Returns the part that a warp takes.
template <typename T, bool GROUP>
__device__ __forceinline__ typename Searcher<T, GROUP>::Part Searcher<T, GROUP>::part_of(const Partition &partition,
                                                                                         u32 unit) const
{
    if (!partition.by_rows) return {unit / partition.parts, unit % partition.parts, partition.parts};
    const u32 item = static_cast<u32>(__popc(__ballot_sync(ALL_LANES, partition.end <= unit)));
    const int from = static_cast<int>(min(item, WARP - 1));
    const u32 parts = __shfl_sync(ALL_LANES, partition.parts, from);
    return {item, unit - (__shfl_sync(ALL_LANES, partition.end, from) - parts), parts};
}

// Sums `items` of CANDIDATES edges each, which pass up to `longest` rows together, into item * CANDIDATES + candidate of the next
// buffer; a barrier has to follow. `edge_of(item, candidate, a, b, y0, y1)` gives an edge and returns whether it is wanted;
// it gives the rows of all the item's edges in any case.
//
// A warp takes a part of an item's rows: CANDIDATES lanes, an edge each, process one row, where they read the same memory
// or nearly the same. The sums of one item by a block's warps are added before they leave the block.
template <typename T, bool GROUP>
template <u32 CANDIDATES, typename EdgeOf>
__device__ __forceinline__ void Searcher<T, GROUP>::sum_edges(u32 items, int longest, EdgeOf edge_of)
{
    constexpr u32 NUMBERS = CANDIDATES * NUMBERS_PER_SUM;
    __shared__ i64 parts[WARPS][NUMBERS];
    __shared__ Part whose[WARPS];
    if (GROUP) clear_sums(buffer_after(2));
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, candidate = lane % CANDIDATES;
    const Partition partition = this->partition(items, longest, edge_of);
    const u32 warps = (GROUP ? blocks : 1u) * WARPS;
    for (u32 first = (GROUP ? block : 0u) * WARPS; first < partition.units; first += warps) {
        const u32 unit = first + warp;
        const Part part = part_of(partition, unit);
        int2 a, b;
        int y0, y1;
        isoline_snake_sum sum = {0, 0, 0};
        if (unit < partition.units && edge_of(part.item, candidate, a, b, y0, y1)) {
            const bool down = a.y <= b.y;
            const int from = y0 + static_cast<int>(part.number * partition.rows);
            const int y = from + static_cast<int>(lane / CANDIDATES),
                      end = min(from + static_cast<int>(partition.rows), y1);
            sum = rows_sum<T, WARP / CANDIDATES, TOGETHER>(job.image, down ? a : b, down ? b : a, y, end);
            if (!down) sum = isoline_snake_sum{0, 0, 0} - sum;
        }
        sum = lanes_sum<CANDIDATES>(sum);
        if (lane < CANDIDATES) {
            i64 *const mine = parts[warp] + NUMBERS_PER_SUM * candidate;
            mine[0] = sum.pixels, mine[1] = sum.z, mine[2] = sum.zz;
        }
        if (lane == 0) whose[warp] = part;
        __syncthreads();
        for (u32 i = threadIdx.x; i < WARPS * NUMBERS; i += THREADS) {
            // The parts of an item are adjacent: the threads that have a number of an item's first part in this block
            // add up all of them.
            const u32 head = i / NUMBERS, number = i % NUMBERS;
            const Part it = whose[head];
            if (first + head >= partition.units || (head > 0 && it.number > 0)) continue;
            const u32 end = head + min(WARPS - head, it.of - it.number);
            i64 all = 0;
            #pragma unroll 4
            for (u32 other = head; other < end; other++) all += parts[other][number];
            add_number(it.item * NUMBERS + number, all);
        }
        if (first + warps < partition.units) __syncthreads();
    }
}

// Sums the edges that the moves of a subset would make: those before the node and those after it.
template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::sum_moves(Subset subset, int longest)
{
    sum_edges<CANDIDATE_COUNT>(2 * subset.size(), longest + 2 * target.distance,
                           [&](u32 item, u32 candidate, int2 &a, int2 &b, int &y0, int &y1) {
                               const u32 i = subset.node(item / 2);
                               const int2 here = nodes[i], to = moved(i, static_cast<int>(candidate));
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
