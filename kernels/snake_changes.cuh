// Changes of a target's nodes: what each would give, which are the best, and making them together.
#pragma once
#include "snake_searcher.cuh"

// Sums of the edges that the changes of a subset would make.
template <typename T>
__device__ __noinline__ void Searcher<T>::sum_changes(const Subset &subset, i64 longest)
{
    const u32 size = subset.size();
    if (subset.removal) {
        sum_edges(
            size, 2 * longest,
            [&](u64 item, int2 &a, int2 &b) {
                const u32 i = subset.first + static_cast<u32>(item) * subset.stride;
                a = nodes[previous_of(i)], b = nodes[next_of(i)];
                return true;
            },
            [&](u64 item) {
                return scratch.sums + (subset.first + item * subset.stride) * PLACE_COUNT * 2;
            });
    } else {
        sum_edges(
            static_cast<u64>(size) * PLACE_COUNT * 2, longest + target.distance,
            [&](u64 item, int2 &a, int2 &b) {
                const u32 i = subset.first + static_cast<u32>(item / (PLACE_COUNT * 2)) * subset.stride;
                const int2 to = moved(i, static_cast<int>(item / 2) % PLACE_COUNT);
                if (!in_bounds(to)) return false;
                a = item % 2 == 0 ? nodes[previous_of(i)] : to;
                b = item % 2 == 0 ? to : nodes[next_of(i)];
                return true;
            },
            [&](u64 item) {
                const u64 i = subset.first + item / (PLACE_COUNT * 2) * subset.stride;
                return scratch.sums + i * PLACE_COUNT * 2 + item % (PLACE_COUNT * 2);
            });
    }
}

// The best change of each node of a subset, if one improves and crosses nothing: a warp a node.
template <typename T>
__device__ __noinline__ void Searcher<T>::choose(const Subset &subset)
{
    const u32 lane = threadIdx.x % WARP;
    signed char *choice = scratch.choice + static_cast<u64>(subset.slot) * job.capacity;
    double *best_cost = scratch.cost + static_cast<u64>(subset.slot) * job.capacity;
    const int choices = subset.removal ? 1 : PLACE_COUNT;
    for (u32 item = thread() / WARP; item < subset.size(); item += threads() / WARP) {
        const u32 i = subset.first + item * subset.stride;
        double cost = 0.0;
        bool open = false;
        if (static_cast<int>(lane) < choices) {
            const int place = subset.removal ? -1 : static_cast<int>(lane);
            if (subset.removal ? target.count > 3 : in_bounds(moved(i, place))) {
                cost = cost_of(target.inside + difference(i, place, subset.removal));
                open = (subset.removal ? __dadd_rn(cost, -target.node_cost) : cost) < target.cost &&
                       target.area + area_change(i, place) > 0;
            }
        }
        int chosen = -1;
        double chosen_cost = 0.0;
        while (true) {
            // The cheapest that is open, of equal ones the first.
            u32 best = WARP;
            double best_of_all = 0.0;
            for (int other = 0; other < choices; other++) {
                const double theirs = __shfl_sync(ALL_LANES, cost, other);
                if (__shfl_sync(ALL_LANES, open ? 1 : 0, other) && (best == WARP || theirs < best_of_all))
                    best = other, best_of_all = theirs;
            }
            if (best == WARP) break;
            const One one = {*this, i, subset.removal ? -1 : static_cast<int>(best)};
            const bool crosses = edge_crosses(one, previous_of(i)) ||
                                 (!subset.removal && edge_crosses(one, i));
            if (!crosses) {
                chosen = static_cast<int>(best), chosen_cost = best_of_all;
                break;
            }
            if (lane == best) open = false;
        }
        if (lane == 0) choice[i] = static_cast<signed char>(chosen), best_cost[i] = chosen_cost;
    }
}

// What the winners change together.
template <typename T>
__device__ Totals Searcher<T>::total_of(const Winners &winners) const
{
    Totals mine = {{0, 0, 0}, 0, 0};
    const Subset &subset = winners.subset;
    for (u32 item = threadIdx.x; item < subset.size(); item += SEARCH_THREADS) {
        const u32 i = subset.first + item * subset.stride;
        if (!winners.has(i)) continue;
        const int place = subset.removal ? -1 : scratch.choice[subset.slot * job.capacity + i];
        mine.sum = mine.sum + difference(i, place, subset.removal);
        mine.area += area_change(i, place);
        mine.count++;
    }
    return block_total(mine);
}

// Makes the best changes of a subset together if they are good together, else the better half, and so on; whether any.
template <typename T>
__device__ __noinline__ bool Searcher<T>::change(const Subset &subset, i64 longest)
{
    if (subset.size() == 0) return false;
    if (block == 0 && threadIdx.x < TRIES) scratch.control->crossing[subset.slot][threadIdx.x] = 0;
    sum_changes(subset, longest);
    meet_all();
    choose(subset);
    meet_all();
    Winners winners = {*this, subset, 0, false};
    Totals total = total_of(winners);
    if (total.count == 0) return false;
    u32 most = total.count;
    for (int attempt = 0;; attempt++) {
        const isoline_snake_sum inside = target.inside + total.sum;
        const double cost = cost_of(inside);
        const u32 removed = subset.removal ? most : 0;
        const double paid = removed > 0 ? __dadd_rn(cost, -__dmul_rn(target.node_cost, static_cast<double>(removed))) : cost;
        bool good = paid < target.cost && target.count - removed >= 3 && target.area + total.area > 0;
        if (good && most > 1) {
            u32 *crossing = &scratch.control->crossing[subset.slot][attempt];
            // An edge is new where a node at either end changes: at the winners and the nodes before them.
            for (u32 item = thread() / WARP; item < 2 * subset.size(); item += threads() / WARP) {
                const u32 i = subset.first + item / 2 * subset.stride;
                if (!winners.has(i)) continue;
                if (__any_sync(ALL_LANES, *static_cast<volatile u32 *>(crossing) != 0)) break;
                const bool first = item % 2 == 0;
                if (first || !subset.removal) {
                    if (edge_crosses(winners, first ? previous_of(i) : i) && threadIdx.x % WARP == 0)
                        *static_cast<volatile u32 *>(crossing) = 1;
                }
            }
            meet_all();
            good = *static_cast<volatile u32 *>(crossing) == 0;
        } else if (good) {
            // Every block has added up what the change is about to write over.
            meet_all();
        }
        if (good) {
            make(winners, total, inside, cost);
            return true;
        }
        if (!winners.ranked) {
            rank(subset);
            meet_all();
            winners.ranked = true;
        }
        most /= 2;
        if (most == 0) return false;
        winners.most = most;
        total = total_of(winners);
    }
}

// Each winner's place in the order of (cost, node), by counting.
template <typename T>
__device__ void Searcher<T>::rank(const Subset &subset)
{
    const signed char *choice = scratch.choice + static_cast<u64>(subset.slot) * job.capacity;
    const double *cost = scratch.cost + static_cast<u64>(subset.slot) * job.capacity;
    for (u32 item = thread(); item < subset.size(); item += threads()) {
        const u32 i = subset.first + item * subset.stride;
        if (choice[i] < 0) continue;
        u32 before = 0;
        for (u32 j = subset.first; j < subset.end; j += subset.stride)
            before += choice[j] >= 0 && (cost[j] < cost[i] || (cost[j] == cost[i] && j < i));
        scratch.rank[i] = before;
    }
}

template <typename T>
__device__ __noinline__ void Searcher<T>::make(const Winners &winners, const Totals &total,
                                               const isoline_snake_sum &inside, double cost)
{
    const Subset &subset = winners.subset;
    if (subset.removal) {
        // The nodes that stay, in order; where each goes is how many stay before it.
        if (block == 0) {
            u32 kept = 0;
            for (u32 first = 0; first < target.count; first += SEARCH_THREADS) {
                const u32 i = first + threadIdx.x;
                const bool stays = i < target.count && !winners.gone(i);
                const u32 at = block_rank(stays, kept);
                if (stays) scratch.next_nodes[at] = nodes[i];
            }
        }
        meet_all();
        target.count -= total.count;
        target.area += total.area;
        take_next_nodes();
        return;
    }
    for (u32 item = thread(); item < subset.size(); item += threads()) {
        const u32 i = subset.first + item * subset.stride;
        if (!winners.has(i)) continue;
        const int place = scratch.choice[subset.slot * job.capacity + i];
        const isoline_snake_sum *sums = scratch.sums + (static_cast<u64>(i) * PLACE_COUNT + place) * 2;
        edges[previous_of(i)] = sums[0];
        edges[i] = sums[1];
        nodes[i] = moved(i, place);
    }
    target.inside = inside;
    target.cost = cost;
    target.area += total.area;
    meet_all();
}
