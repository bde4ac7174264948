// The best change of each node of a subset: part of `Searcher`, snake_search.cuh.
#pragma once

template <typename T, bool GROUP>
__device__ __forceinline__ typename Searcher<T, GROUP>::Outlook
Searcher<T, GROUP>::outlook(Subset subset, u32 item, int place, bool wanted) const
{
    Outlook it = {wanted && item < subset.size(), {0, 0, 0}, 0};
    const u32 i = subset.node(item);
    if (it.open) it.open = subset.removal ? place == 0 && target.count > 3 : in_bounds(moved(i, place));
    if (it.open) it.lost = edges_at(i), it.area = area_change(i, place, subset.removal);
    return it;
}

// Of each node the best change that improves and crosses nothing, if there is one: a warp a node, or two where there are many; a
// lane works out what a place does to one of the regions. Where there are very many, the group's blocks take a part each and
// tell each other. What needs no sums is worked out before all have come to the barrier.
template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::choose(Subset subset)
{
    const u32 size = subset.size(), lane = threadIdx.x % WARP;
    const bool tell = GROUP && size > SHARED_OUT, removal = subset.removal;
    const u32 warp = (tell ? block * WARPS : 0) + threadIdx.x / WARP, warps = tell ? blocks * WARPS : WARPS;
    const u32 half = lane / (2 * PLACE_COUNT), together = size > warps ? 2 : 1;
    const int place = static_cast<int>(lane % PLACE_COUNT);
    const Choices into = tell ? told : Choices{won, cost, choice};
    u32 first = warp * together;
    Outlook before = outlook(subset, first + half, place, half < together);
    wait_for_all(true);
    while (first < size) {
        const u32 item = first + half, i = subset.node(item);
        isoline_snake_sum arriving = {0, 0, 0}, leaving = {0, 0, 0};
        Change change = {{0, 0, 0}, before.area};
        if (before.open) {
            arriving = sum_at(removal ? item : 2 * item * PLACE_COUNT + place);
            if (!removal) leaving = sum_at((2 * item + 1) * PLACE_COUNT + place);
            change.sum = arriving + leaving - before.lost;
        }
        const double cost = cost_of<PLACE_COUNT>(target.inside + change.sum);
        const bool open = before.open && (removal ? __dadd_rn(cost, -target.node_cost) : cost) < target.cost &&
                          target.area + change.area > 0;
        const u32 all_open = __ballot_sync(ALL_LANES, open);
        for (u32 which = 0; which < together && first + which < size; which++) {
            const u32 from = which * 2 * PLACE_COUNT;
            u32 left = (all_open >> from) & ((1u << PLACE_COUNT) - 1u);
            int chosen = -1;
            while (left != 0) {
                const int best = cheapest(cost, left, from);
                if (!crosses_alone(subset.node(first + which), best, removal)) {
                    chosen = best;
                    break;
                }
                left &= ~(1u << best);
            }
            if (lane != from + static_cast<u32>(max(chosen, 0))) continue;
            into.choice[item] = static_cast<signed char>(chosen);
            if (chosen < 0) continue;
            into.cost[item] = cost;
            into.won[2 * item] = arriving, into.won[2 * item + 1] = leaving;
            if (!tell) take_up(item, i, change, chosen, removal);
        }
        __syncwarp();
        first += warps * together;
        if (first < size) before = outlook(subset, first + half, place, half < together);
    }
    if (tell) hear(subset);
}

template <typename T, bool GROUP>
__device__ __forceinline__ void Searcher<T, GROUP>::take_up(u32 item, u32 i, const Change &change, int place, bool removal)
{
    changes[item] = change;
    next_nodes[i] = changed_node(i, place, removal);
    atomicAdd(&winners, 1u);
}

// What the group's blocks have chosen.
template <typename T, bool GROUP>
__device__ __noinline__ void Searcher<T, GROUP>::hear(Subset subset)
{
    meet_all(false);
    for (u32 item = threadIdx.x; item < subset.size(); item += THREADS) {
        const signed char chosen = __ldcg(told.choice + item);
        choice[item] = chosen;
        if (chosen < 0) continue;
        const i64 *from = &told.won[2 * item].pixels;
        const isoline_snake_sum arriving = {__ldcg(from), __ldcg(from + 1), __ldcg(from + 2)};
        const isoline_snake_sum leaving = {__ldcg(from + 3), __ldcg(from + 4), __ldcg(from + 5)};
        const u32 i = subset.node(item);
        cost[item] = __ldcg(told.cost + item);
        won[2 * item] = arriving, won[2 * item + 1] = leaving;
        take_up(item, i, {arriving + leaving - edges_at(i), area_change(i, chosen, subset.removal)}, chosen, subset.removal);
    }
}

// Which of the eight places in `left`, each with the cost that lane `from` + its number has, costs least; of equal ones the
// first. All lanes get it.
template <typename T, bool GROUP>
__device__ __forceinline__ int Searcher<T, GROUP>::cheapest(double cost, u32 left, u32 from) const
{
    int best = static_cast<int>(threadIdx.x % PLACE_COUNT);
    i64 least = (left >> best) & 1u ? in_order(cost) : 0x7FFFFFFFFFFFFFFFll;
    #pragma unroll
    for (int step = 1; step < PLACE_COUNT; step *= 2) {
        const i64 theirs = __shfl_xor_sync(ALL_LANES, least, step);
        const int other = __shfl_xor_sync(ALL_LANES, best, step);
        if (theirs < least || (theirs == least && other < best)) least = theirs, best = other;
    }
    return __shfl_sync(ALL_LANES, best, static_cast<int>(from));
}
