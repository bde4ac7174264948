// The best change of each node of a subset: a part of `Searcher`, snake_search.cuh, which describes each function.
#pragma once

template <typename T, bool GROUP>
__device__ __forceinline__ typename Searcher<T, GROUP>::Prospect
Searcher<T, GROUP>::prospect(Subset subset, u32 item, int candidate, bool wanted) const
{
    Prospect known = {wanted && item < subset.size(), {0, 0, 0}, 0};
    const u32 i = subset.node(item);
    if (known.allowed)
        known.allowed = subset.removal ? candidate == 0 && target.node_count > 3 : allows(moved(i, candidate));
    if (known.allowed) known.lost = edges_at(i), known.area = area_change(i, candidate, subset.removal);
    return known;
}

template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::choose(Subset subset)
{
    // 1. Divide the items among the warps: each has one at a time, or two where there are many, and 16 lanes for an
    // item, one for each candidate position and region. Where there are very many (`split`), the blocks of the group
    // take a part each and exchange their choices.
    const u32 size = subset.size(), lane = threadIdx.x % WARP;
    const bool split = GROUP && size > LARGEST_UNSPLIT_SUBSET, removal = subset.removal;
    const u32 warp = (split ? block * WARPS : 0) + threadIdx.x / WARP, warps = split ? blocks * WARPS : WARPS;
    const u32 half = lane / (2 * CANDIDATE_COUNT), together = size > warps ? 2 : 1;
    const int candidate = static_cast<int>(lane % CANDIDATE_COUNT);
    const Choices into = split ? group_choices : Choices{new_edges, cost, choice};
    u32 first = warp * together;
    // 2. Compute what needs no sums, then wait for the sums.
    Prospect before = prospect(subset, first + half, candidate, half < together);
    wait_at_barrier(true);
    while (first < size) {
        // 3. Compute the cost of each change.
        const u32 item = first + half, i = subset.node(item);
        RegionSum arriving = {0, 0, 0}, leaving = {0, 0, 0};
        Change change = {{0, 0, 0}, before.area};
        if (before.allowed) {
            arriving = sum_at(removal ? item : 2 * item * CANDIDATE_COUNT + candidate);
            if (!removal) leaving = sum_at((2 * item + 1) * CANDIDATE_COUNT + candidate);
            change.sum = arriving + leaving - before.lost;
        }
        const double cost = cost_of<CANDIDATE_COUNT>(target.inside + change.sum);
        const bool allowed = before.allowed && (removal ? __dadd_rn(cost, -target.node_cost) : cost) < target.cost &&
                             target.area + change.area > 0;
        // 4. Find the cheapest change of each item that crosses nothing, all lanes together; one of them stores it.
        const u32 all_allowed = __ballot_sync(ALL_LANES, allowed);
        for (u32 which = 0; which < together && first + which < size; which++) {
            const u32 from = which * 2 * CANDIDATE_COUNT;
            u32 left = (all_allowed >> from) & ((1u << CANDIDATE_COUNT) - 1u);
            int chosen = -1;
            while (left != 0) {
                const int best = cheapest(cost, left, from);
                if (!move_crosses(subset.node(first + which), best, removal)) {
                    chosen = best;
                    break;
                }
                left &= ~(1u << best);
            }
            if (lane != from + static_cast<u32>(max(chosen, 0))) continue;
            into.choice[item] = static_cast<signed char>(chosen);
            if (chosen < 0) continue;
            into.cost[item] = cost;
            into.new_edges[2 * item] = arriving, into.new_edges[2 * item + 1] = leaving;
            if (!split) record_change(item, i, change, chosen, removal);
        }
        // 5. Go on to the next items.
        __syncwarp();
        first += warps * together;
        if (first < size) before = prospect(subset, first + half, candidate, half < together);
    }
    if (split) collect_choices(subset);
}

template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::record_change(u32 item, u32 i, const Change &change, int candidate,
                                                                  bool removal)
{
    changes[item] = change;
    next_nodes[i] = changed_node(i, candidate, removal);
    atomicAdd(&change_count, 1u);
}

template <typename T, bool GROUP>
__device__ __noinline__ void Searcher<T, GROUP>::collect_choices(Subset subset)
{
    group_barrier(false);
    for (u32 item = threadIdx.x; item < subset.size(); item += THREADS) {
        const signed char chosen = __ldcg(group_choices.choice + item);
        choice[item] = chosen;
        if (chosen < 0) continue;
        const i64 *from = &group_choices.new_edges[2 * item].pixels;
        const RegionSum arriving = {__ldcg(from), __ldcg(from + 1), __ldcg(from + 2)};
        const RegionSum leaving = {__ldcg(from + 3), __ldcg(from + 4), __ldcg(from + 5)};
        const u32 i = subset.node(item);
        cost[item] = __ldcg(group_choices.cost + item);
        new_edges[2 * item] = arriving, new_edges[2 * item + 1] = leaving;
        record_change(item, i, {arriving + leaving - edges_at(i), area_change(i, chosen, subset.removal)}, chosen,
                      subset.removal);
    }
}

template <typename T, bool GROUP>
__device__ __forceinline__ int Searcher<T, GROUP>::cheapest(double cost, u32 left, u32 from) const
{
    int best = static_cast<int>(threadIdx.x % CANDIDATE_COUNT);
    i64 least = (left >> best) & 1u ? sortable(cost) : 0x7FFFFFFFFFFFFFFFll;
    #pragma unroll
    for (int offset = 1; offset < CANDIDATE_COUNT; offset *= 2) {
        const i64 theirs = __shfl_xor_sync(ALL_LANES, least, offset);
        const int other = __shfl_xor_sync(ALL_LANES, best, offset);
        if (theirs < least || (theirs == least && other < best)) least = theirs, best = other;
    }
    return __shfl_sync(ALL_LANES, best, static_cast<int>(from));
}
