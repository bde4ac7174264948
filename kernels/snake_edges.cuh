// The sums over edges that a search needs, which the blocks of a group compute together, and the group's barrier: a
// part of `Searcher`, snake_search.cuh, which describes each function.
#pragma once

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
        // Volatile keeps the compiler from hoisting these loads, or merging them with loads of the values beside them,
        // which other threads may read while thread 0 writes these.
        volatile u32 &buffer = current_buffer, &passed = barriers_passed;
        const u32 next = buffer + 1, number = passed + 1;
        if (sums) buffer = next < SUM_BUFFERS ? next : 0;
        passed = number;
        const u32 wanted = number * blocks;
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

template <typename T, bool GROUP>
__device__ void Searcher<T, GROUP>::clear_sums(u32 which)
{
    i64 *at = &sum_buffer(which)->pixels;
    const u32 count = static_cast<u32>(sums_per_buffer(target.node_count)) * NUMBERS_PER_SUM;
    for (u32 i = block * THREADS + threadIdx.x; i < count; i += blocks * THREADS) at[i] = 0;
}

template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::add_number(u32 index, i64 number)
{
    // With a pointer that is known to be global, the atomic addition needs no return value and no code for shared memory.
    i64 *to = &sum_buffer(buffer_after(1))->pixels + index;
    __builtin_assume(__isGlobal(to));
    if (!GROUP) *to = number;
    else if (number != 0) atomicAdd(reinterpret_cast<u64 *>(to), static_cast<u64>(number));
}

template <typename T, bool GROUP>
__device__ __noinline__ int Searcher<T, GROUP>::longest_edge() const
{
    int longest = 0;
    for (u32 i = threadIdx.x % WARP; i < target.node_count; i += WARP)
        longest = max(longest, abs(nodes[next_of(i)].y - nodes[i].y));
    #pragma unroll
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        longest = max(longest, __shfl_xor_sync(ALL_LANES, longest, offset));
    return longest;
}

template <typename T, bool GROUP>
template <typename EdgeOf>
__device__ __forceinline__ typename Searcher<T, GROUP>::Partition
Searcher<T, GROUP>::partition(u32 bundles, int longest, EdgeOf edge_of) const
{
    const u32 warps = (GROUP ? blocks : 1u) * WARPS, lane = threadIdx.x % WARP;
    Partition partition;
    partition.by_rows = parts_by_rows(bundles);
    partition.parts_up_to = 0;
    // 1. Many bundles: each is divided into the same number of parts.
    if (!partition.by_rows) {
        const u32 most = max(warps / max(bundles, 1u), 1u), all = static_cast<u32>(max(longest, 1));
        partition.rows_per_part = ((all + most - 1) / most + 3) / 4 * 4;
        partition.parts_per_bundle = (all + partition.rows_per_part - 1) / partition.rows_per_part;
        partition.part_count = bundles * partition.parts_per_bundle;
        return partition;
    }
    // 2. Few bundles, a lane each: each is divided into parts of the same number of rows.
    int2 a, b;
    int y0 = 0, y1 = 0;
    if (lane < bundles) edge_of(lane, 0, a, b, y0, y1);
    const u32 mine = static_cast<u32>(y1 - y0), all = lanes_total(mine), spare = warps - bundles;
    // A rough estimate suffices: parts that are a little too long, or a few too many, do no harm; too few would.
    const u32 rows = (static_cast<u32>(__fdividef(static_cast<float>(all), static_cast<float>(spare))) / 4 + 1) * 4;
    u32 parts = static_cast<u32>(__fdividef(static_cast<float>(mine), static_cast<float>(rows)));
    while (parts * rows < mine) parts++;
    partition.rows_per_part = rows;
    partition.parts_per_bundle = lane < bundles ? max(parts, 1u) : 0;
    partition.parts_up_to = lanes_inclusive_sum(partition.parts_per_bundle, lane);
    partition.part_count = __shfl_sync(ALL_LANES, partition.parts_up_to, WARP - 1);
    return partition;
}

template <typename T, bool GROUP>
__device__ __forceinline__ typename Searcher<T, GROUP>::Part Searcher<T, GROUP>::part_of(const Partition &partition,
                                                                                         u32 index) const
{
    if (!partition.by_rows) {
        const u32 parts = partition.parts_per_bundle;
        return {index / parts, index % parts, parts};
    }
    const u32 bundle = static_cast<u32>(__popc(__ballot_sync(ALL_LANES, partition.parts_up_to <= index)));
    const int from = static_cast<int>(min(bundle, WARP - 1));
    const u32 parts = __shfl_sync(ALL_LANES, partition.parts_per_bundle, from);
    return {bundle, index - (__shfl_sync(ALL_LANES, partition.parts_up_to, from) - parts), parts};
}

template <typename T, bool GROUP>
template <u32 EDGES, typename EdgeOf>
__device__ __forceinline__ void Searcher<T, GROUP>::sum_edges(u32 bundles, int longest, EdgeOf edge_of)
{
    constexpr u32 NUMBERS = EDGES * NUMBERS_PER_SUM;
    __shared__ i64 sums_by_warp[WARPS][NUMBERS];
    __shared__ Part part_of_warp[WARPS];
    if (GROUP) clear_sums(buffer_after(2));
    // 1. Divide the bundles' rows into parts; in each round of the loop a warp takes one.
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, edge = lane % EDGES;
    const Partition partition = this->partition(bundles, longest, edge_of);
    const u32 warps = (GROUP ? blocks : 1u) * WARPS;
    for (u32 first = (GROUP ? block : 0u) * WARPS; first < partition.part_count; first += warps) {
        const u32 index = first + warp;
        const Part part = part_of(partition, index);
        // 2. Sum the part: EDGES lanes, an edge each, process one row, where they read the same memory or nearly the
        // same.
        int2 a, b;
        int y0, y1;
        RegionSum sum = {0, 0, 0};
        if (index < partition.part_count && edge_of(part.bundle, edge, a, b, y0, y1)) {
            const bool down = a.y <= b.y;
            const int from = y0 + static_cast<int>(part.number * partition.rows_per_part);
            const int y = from + static_cast<int>(lane / EDGES),
                      end = min(from + static_cast<int>(partition.rows_per_part), y1);
            const int2 upper = down ? a : b, lower = down ? b : a;
            if (target.territory < 0)
                sum = rows_sum<T, WARP / EDGES, ROWS_IN_FLIGHT>(job.image, upper, lower, y, end);
            else sum = rows_sum_within<T, WARP / EDGES, ROWS_IN_FLIGHT>(job.image, territory(), upper, lower, y, end);
            if (!down) sum = RegionSum{0, 0, 0} - sum;
        }
        sum = lanes_sum<EDGES>(sum);
        if (lane < EDGES) {
            i64 *const mine = sums_by_warp[warp] + NUMBERS_PER_SUM * edge;
            mine[0] = sum.pixels, mine[1] = sum.z, mine[2] = sum.zz;
        }
        if (lane == 0) part_of_warp[warp] = part;
        __syncthreads();
        // 3. Add up what the block's warps have of one bundle before it leaves the block.
        for (u32 i = threadIdx.x; i < WARPS * NUMBERS; i += THREADS) {
            // The parts of a bundle are adjacent: the threads that have the numbers of its first part in this block add
            // up those of all its parts.
            const u32 head = i / NUMBERS, number = i % NUMBERS;
            const Part from = part_of_warp[head];
            if (first + head >= partition.part_count || (head > 0 && from.number > 0)) continue;
            const u32 end = head + min(WARPS - head, from.of - from.number);
            i64 all = 0;
            #pragma unroll 4
            for (u32 other = head; other < end; other++) all += sums_by_warp[other][number];
            add_number(from.bundle * NUMBERS + number, all);
        }
        if (first + warps < partition.part_count) __syncthreads();
    }
}

template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::sum_moves(Subset subset, int longest)
{
    sum_edges<CANDIDATE_COUNT>(2 * subset.size(), longest + 2 * target.distance,
                               [&](u32 bundle, u32 edge, int2 &a, int2 &b, int &y0, int &y1) {
                                   const u32 i = subset.node(bundle / 2);
                                   const int2 here = nodes[i], to = moved(i, static_cast<int>(edge));
                                   const bool before = bundle % 2 == 0;
                                   const int2 other = nodes[before ? previous_of(i) : next_of(i)];
                                   y0 = min(other.y, here.y - target.distance);
                                   y1 = max(other.y, here.y + target.distance);
                                   a = before ? other : to, b = before ? to : other;
                                   return allows(to);
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
