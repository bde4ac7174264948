// The search of region snakes: src/snake/search.rs, schedule `parallel`, with the whole loop on the device.
//
// A group of blocks works on one target at a time: one block where there are many targets, many where there are few. Its
// blocks meet at barriers; what decides (winners, costs, whether a joint move crosses) is computed by every block from the
// same numbers, so that only the numbers travel. All sums are integers, so the order of adding does not matter, and the
// criterion is computed operation by operation as on the CPU: the polygons are the same, bit for bit.
#pragma once
#include "snake_changes.cuh"

template <typename T>
__device__ __forceinline__ void search(const isoline_snake_job &job)
{
    const u32 group = blockIdx.x / job.blocks_a_group;
    Searcher<T> s = {job, scratch_of(job, group), blockIdx.x % job.blocks_a_group, job.blocks_a_group, 0, {}, nullptr, nullptr};
    Control *control = s.scratch.control;
    while (true) {
        if (s.block == 0 && threadIdx.x == 0) control->target = atomicAdd(job.queue, 1u);
        s.meet_all();
        const u32 index = *static_cast<volatile u32 *>(&control->target);
        s.meet_all();
        if (index >= job.target_count) return;
        s.target = job.targets[index];
        s.nodes = job.nodes + static_cast<u64>(index) * job.capacity;
        s.edges = job.edges + static_cast<u64>(index) * job.capacity;
        if (s.target.status != STATUS_RUNNING) continue;
        if (s.target.steps == 0) {
            s.measure();
            if (s.target.inside.pixels == 0) s.target.status = STATUS_VANISHED;
        }
        for (u64 done = 0; done < job.steps && s.target.status == STATUS_RUNNING; done++) s.step();
        s.meet_all();
        if (s.block == 0 && threadIdx.x == 0) job.targets[index] = s.target;
    }
}

// Σ over each target's bounds: a block a target, a thread a row.
template <typename T>
__device__ __forceinline__ void whole_sums(const isoline_snake_job &job)
{
    for (u32 index = blockIdx.x; index < job.target_count; index += gridDim.x) {
        isoline_snake_target &target = job.targets[index];
        Totals mine = {{0, 0, 0}, 0, 0};
        if (target.status == STATUS_RUNNING) {
            for (i64 y = target.y0 + static_cast<i64>(threadIdx.x); y < target.y1; y += SEARCH_THREADS)
                mine.sum = mine.sum + left_of<T>(job.image, target.x1, static_cast<u32>(y)) -
                           left_of<T>(job.image, target.x0, static_cast<u32>(y));
        }
        const Totals total = block_total(mine);
        if (threadIdx.x == 0) target.whole = total.sum;
    }
}
