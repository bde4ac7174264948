// Objects: many fronts at once, with a label and a distance for each voxel. src/objects/scalar.rs and
// src/objects/statistics.rs have the definitions; the bits are the same.
//
//   clear the objects before anything is known of them begin the distances of the starts iterate one iteration sums the
//   sums over the voxels of each object means the means of each object and its background, and its score moved the voxels
//   that each object has gained or lost since the last check of the stopping criterion, and the path of its front in the
//   last iteration rest whether an object has moved by more than the tolerance; the labels for the next check
#include "block_scan.cuh"
#include "objects.h"

constexpr u32 SIDES = 6;   // voxels that share a face with a voxel: before it along x, behind it, then along y and z

// The place of a voxel, and of its row in memory.
struct Place {
    u32 x, y, z;
    u64 index;
};

__device__ __forceinline__ u64 index_of(const isoline_ob_job &job, u32 x, u32 y, u32 z)
{
    return (static_cast<u64>(z) * job.height + y) * job.width + x;
}

// Returns the voxels around one; beyond the border of the image they are the voxel itself.
__device__ __forceinline__ void indices_around(const isoline_ob_job &job, const Place &at, u64 (&around)[SIDES])
{
    const u64 row = job.width, slice = row * job.height;
    around[0] = at.x > 0 ? at.index - 1 : at.index;
    around[1] = at.x + 1 < job.width ? at.index + 1 : at.index;
    around[2] = at.y > 0 ? at.index - row : at.index;
    around[3] = at.y + 1 < job.height ? at.index + row : at.index;
    around[4] = at.z > 0 ? at.index - slice : at.index;
    around[5] = at.z + 1 < job.depth ? at.index + slice : at.index;
}

// Calls visit(place, is_inside) with the voxels of the block's tile, one after another in each thread, the same number of
// times in all threads of a block.
template <typename VISIT>
__device__ __forceinline__ void for_each_of_tile(const isoline_ob_job &job, VISIT visit)
{
    const u32 tile = blockIdx.x;
    const u32 x = tile % job.tiles[0] * OB_COLUMNS + threadIdx.x % OB_COLUMNS;
    const u32 y = tile / job.tiles[0] % job.tiles[1] * OB_ROWS + threadIdx.x / OB_COLUMNS;
    const u32 first = tile / job.tiles[0] / job.tiles[1] * OB_SLICES;
    #pragma unroll 1
    for (u32 z = first; z < min(first + OB_SLICES, job.depth); ++z) {
        visit(Place{x, y, z, index_of(job, x, y, z)}, x < job.width && y < job.height);
    }
}

// Resets the sums of an object to those of an empty object.
__device__ __forceinline__ void clear_sums(isoline_ob_object &object)
{
    object.sum_of_voxels = object.sum_of_levels = 0;
    for (u32 i = 0; i < 6; ++i) object.ends[i] = 0xFFFFFFFF;
}

// Block OB_THREADS, grid: labels.
extern "C" __global__ void __launch_bounds__(OB_THREADS) isoline_ob_clear(isoline_ob_job job)
{
    const u32 label = blockIdx.x * OB_THREADS + threadIdx.x;
    if (label >= job.label_count) return;
    const double unknown = cuda::std::numeric_limits<double>::quiet_NaN();
    isoline_ob_object object = {};
    clear_sums(object);
    object.background = object.used_mean = object.used_background = unknown;
    job.objects[label] = object;
    job.new_scores[label] = {0.0f, 0.0f};
}

// Block OB_THREADS, grid: tiles. Reads the labels of the starts, writes their distances, facts, and both copies
// of the two fields.
extern "C" __global__ void __launch_bounds__(OB_THREADS) isoline_ob_begin(isoline_ob_job job, float *distances)
{
    for_each_of_tile(job, [&](const Place &at, bool is_inside) {
        if (!is_inside) return;
        u64 around[SIDES];
        indices_around(job, at, around);
        const u32 own = job.labels[at.index];
        float distance = job.far;
        for (u32 axis = 0; axis < SIDES / 2; ++axis) {
            if (job.labels[around[2 * axis]] != own || job.labels[around[2 * axis + 1]] != own) {
                distance = fminf(distance, __fmul_rn(static_cast<float>(OB_START_DISTANCE), job.spacing[axis]));
            }
        }
        job.judged[at.index] = own;
        job.new_labels[at.index] = own;
        distances[at.index] = distance;
        job.new_distances[at.index] = distance;
        job.facts[at.index] = job.keep_starts && own != OB_BACKGROUND ? OB_STAYS : 0;
    });
}

// Returns how well a level fits an object rather than its background, -1 to 1.
__device__ __forceinline__ float score_at(const isoline_ob_score &line, u32 level)
{
    const float score = __fadd_rn(__fmul_rn(static_cast<float>(level), line.gain), line.offset);
    if (score > 1.0f) {
        const float falling = __fsub_rn(1.0f, __fmul_rn(__fsub_rn(score, 1.0f), static_cast<float>(OB_FALL)));
        return falling > 0.0f ? falling : 0.0f;
    }
    return score > -1.0f ? score : -1.0f;
}

// Returns the distance of a voxel that is not beside a front, from the distances around it: the upwind solution of |grad d|
// = 1, at most `far`.
__device__ __forceinline__ float distance_from(const isoline_ob_job &job, const float (&around)[SIDES])
{
    float near[3], spacing[3], weight[3];
    for (u32 axis = 0; axis < 3; ++axis) {
        weight[axis] = job.inverse_squares[axis];
        spacing[axis] = job.spacing[axis];
        const float before = around[2 * axis], behind = around[2 * axis + 1];
        near[axis] = weight[axis] > 0.0f ? (before < behind ? before : behind) : job.far;
    }
    // Sort by distance; equal distances stay in the order of the axes.
    const auto order = [&](u32 a, u32 b) {
        if (near[b] < near[a]) {
            cuda::std::swap(near[a], near[b]);
            cuda::std::swap(spacing[a], spacing[b]);
            cuda::std::swap(weight[a], weight[b]);
        }
    };
    order(0, 1);
    order(1, 2);
    order(0, 1);
    float distance = __fadd_rn(near[0], spacing[0]), squares = 0.0f, linear = 0.0f, constant = -1.0f;
    for (u32 i = 0; i < 3; ++i) {
        if (near[i] >= distance) break;
        squares = __fadd_rn(squares, weight[i]);
        linear = __fadd_rn(linear, __fmul_rn(near[i], weight[i]));
        constant = __fadd_rn(constant, __fmul_rn(__fmul_rn(near[i], near[i]), weight[i]));
        const float discriminant = __fsub_rn(__fmul_rn(linear, linear), __fmul_rn(squares, constant));
        if (discriminant < 0.0f) break;
        distance = __fdiv_rn(__fadd_rn(linear, __fsqrt_rn(discriminant)), squares);
    }
    return distance < job.far ? distance : job.far;
}

// A voxel: its label, and its distance from the nearest front.
struct Voxel {
    u32 label;
    float distance;
};

// Returns a voxel beside a front after an iteration: among the labels around it, the one with the smallest phi after the
// step, and as its distance half the gap to the second smallest phi.
__device__ __forceinline__ Voxel evolved(const isoline_ob_job &job, Voxel old, const u32 (&labels)[SIDES],
    const float (&distances)[SIDES], u32 level, u32 facts)
{
    const u32 changes = facts & OB_CHANGES;
    const u32 halvings = min(changes > OB_FREE_CHANGES ? changes - OB_FREE_CHANGES : 0, OB_MOST_CHANGES);
    const float share = __uint_as_float((127 - halvings) << 23);
    const float image_weight = __fmul_rn(job.image_weight, share);
    const float curvature_weight = __fmul_rn(job.curvature_weight, share);
    const auto q = [&](u32 label) {
        const auto phi_of = [&](u32 other, float distance) { return other == label ? -distance : distance; };
        const float phi = phi_of(old.label, old.distance);
        const auto along = [&](u32 axis) {
            const float before = __fsub_rn(phi_of(labels[2 * axis], distances[2 * axis]), phi);
            const float behind = __fsub_rn(phi_of(labels[2 * axis + 1], distances[2 * axis + 1]), phi);
            return __fmul_rn(__fadd_rn(before, behind), job.inverse_squares[axis]);
        };
        const float laplacian = __fadd_rn(__fadd_rn(along(0), along(1)), along(2));
        const float score = label == OB_BACKGROUND ? 0.0f : score_at(job.scores[label], level);
        return __fsub_rn(__fadd_rn(phi, __fmul_rn(curvature_weight, laplacian)), __fmul_rn(image_weight, score));
    };
    const float infinity = cuda::std::numeric_limits<float>::infinity();
    // The front is at most as far away as the neighbour on its other side.
    float least = q(old.label), second = infinity, most = infinity;
    u32 best = old.label;
    // The loop is not unrolled: most voxels have only two labels around them.
    #pragma unroll 1
    for (u32 place = 0; place < SIDES; ++place) {
        u32 label = 0;
        for (u32 other = 0; other < SIDES; ++other) label = other == place ? labels[other] : label;
        if (label == old.label) continue;
        const float spacing = job.spacing[place / 2];
        most = spacing < most ? spacing : most;
        bool is_known = false;
        for (u32 other = 0; other < SIDES; ++other) is_known |= other < place && labels[other] == label;
        if (is_known) continue;
        const float own = q(label);
        if (own < least || (own == least && best != old.label && label < best)) {
            second = least;
            least = own;
            best = label;
        } else if (own < second) {
            second = own;
        }
    }
    if (best != old.label && (facts & OB_STAYS) != 0) return Voxel{old.label, 0.0f};
    const float distance = __fmul_rn(0.5f, __fsub_rn(second, least));
    return Voxel{best, distance < most ? distance : most};
}

// Returns whether a voxel changed in the last iteration, in the block's tile or in a tile that shares a face with it.
__device__ __forceinline__ bool may_change(const isoline_ob_job &job)
{
    const u32 tile = blockIdx.x, row = job.tiles[0], slice = row * job.tiles[1], thread = threadIdx.x;
    const u32 x = tile % row, y = tile / row % job.tiles[1], z = tile / slice;
    bool changed = false;
    if (thread == 0) changed = job.changed[tile];
    if (thread == 1 && x > 0) changed = job.changed[tile - 1];
    if (thread == 2 && x + 1 < row) changed = job.changed[tile + 1];
    if (thread == 3 && y > 0) changed = job.changed[tile - row];
    if (thread == 4 && y + 1 < job.tiles[1]) changed = job.changed[tile + row];
    if (thread == 5 && z > 0) changed = job.changed[tile - slice];
    if (thread == 6 && z + 1 < job.tiles[2]) changed = job.changed[tile + slice];
    return __syncthreads_or(changed);
}

// Block OB_THREADS, grid: tiles. One iteration. A tile in which nothing can change has the same voxels in both
// copies of the fields already.
extern "C" __global__ void __launch_bounds__(OB_THREADS) isoline_ob_iterate(isoline_ob_job job)
{
    const bool is_first = threadIdx.x == 0;
    if (!may_change(job)) {
        if (is_first) job.new_changed[blockIdx.x] = 0;
        return;
    }
    bool changed = false;
    for_each_of_tile(job, [&](const Place &at, bool is_inside) {
        if (!is_inside) return;
        u64 around[SIDES];
        indices_around(job, at, around);
        const Voxel old = {job.labels[at.index], job.distances[at.index]};
        u32 labels[SIDES];
        float distances[SIDES];
        bool has_other = false, are_beyond = true;
        for (u32 place = 0; place < SIDES; ++place) {
            labels[place] = job.labels[around[place]];
            distances[place] = job.distances[around[place]];
            has_other |= labels[place] != old.label;
            are_beyond &= distances[place] >= job.far;
        }
        Voxel now = old;
        if (has_other) {
            const u32 facts = job.facts[at.index];
            now = evolved(job, old, labels, distances, job.levels[at.index], facts);
            if (now.label != old.label && (facts & OB_CHANGES) < OB_CHANGES) job.facts[at.index] = facts + 1;
        } else if (!(old.distance >= job.far && are_beyond)) {
            now.distance = distance_from(job, distances);
        }
        if (now.label == old.label
            && fabsf(__fsub_rn(now.distance, old.distance)) <= static_cast<float>(OB_SMALLEST_CHANGE)) {
            now.distance = old.distance;
        }
        changed |= now.label != old.label || now.distance != old.distance;
        job.new_labels[at.index] = now.label;
        job.new_distances[at.index] = now.distance;
    });
    changed = __syncthreads_or(changed);
    if (is_first) job.new_changed[blockIdx.x] = changed;
}

// Adds a run of an object's voxels in a row.
__device__ __forceinline__ void add_run(isoline_ob_object &object, const Place &start, u32 length, u32 levels)
{
    atomicAdd(&object.sum_of_voxels, length);
    atomicAdd(&object.sum_of_levels, levels);
    const u32 ends[6] = {start.x, start.y, start.z, ~(start.x + length - 1), ~start.y, ~start.z};
    for (u32 i = 0; i < 6; ++i) {
        // Most runs are within the bounding box so far: a plain read then saves the atomic.
        if (ends[i] < *const_cast<volatile u32 *>(&object.ends[i])) atomicMin(&object.ends[i], ends[i]);
    }
}

// Block OB_THREADS, grid: tiles. The sums of objects[].
extern "C" __global__ void __launch_bounds__(OB_THREADS) isoline_ob_sums(isoline_ob_job job)
{
    const u32 lane = threadIdx.x % WARP;
    for_each_of_tile(job, [&](const Place &at, bool is_inside) {
        const u32 label = is_inside ? job.labels[at.index] : OB_BACKGROUND;
        const u32 level = is_inside ? job.levels[at.index] : 0;
        if (__ballot_sync(ALL_LANES, label != OB_BACKGROUND) == 0) return;
        const u32 before = __shfl_up_sync(ALL_LANES, label, 1);
        const u32 starts = __ballot_sync(ALL_LANES, lane == 0 || before != label);
        const u32 later = lane + 1 < WARP ? starts >> (lane + 1) : 0;
        const u32 end = later != 0 ? lane + __ffs(later) : WARP;
        const u32 up_to_here = static_cast<u32>(lanes_inclusive_sum(level, lane));
        const u32 levels = __shfl_sync(ALL_LANES, up_to_here, end - 1) - (up_to_here - level);
        if ((starts >> lane & 1) != 0 && label != OB_BACKGROUND) add_run(job.objects[label], at, end - lane, levels);
    });
}

// The window around the bounding box of an object. Only the voxels on a grid in it are sampled.
struct Window {
    u32 first[3], steps[3], counts[3];
};

__device__ __forceinline__ u64 voxels_of(const Window &window)
{
    return static_cast<u64>(window.counts[0]) * window.counts[1] * window.counts[2];
}

// Returns the window with sampling steps that limit the number of voxels: the longest axis is thinned first.
__device__ __forceinline__ Window window_of(const isoline_ob_job &job, const u32 (&ends)[6])
{
    const u32 shape[3] = {job.width, job.height, job.depth};
    Window window;
    u32 lengths[3];
    for (u32 axis = 0; axis < 3; ++axis) {
        const u64 low = ends[axis], high = ~ends[axis + 3];
        window.first[axis] = static_cast<u32>(low > job.margin[axis] ? low - job.margin[axis] : 0);
        const u64 end = high + 1 + job.margin[axis];
        lengths[axis] = static_cast<u32>(end < shape[axis] ? end : shape[axis]) - window.first[axis];
        window.steps[axis] = 1;
        window.counts[axis] = lengths[axis];
    }
    while (voxels_of(window) > OB_SAMPLES) {
        u32 longest = 0;
        for (u32 axis = 1; axis < 3; ++axis) longest = window.counts[axis] > window.counts[longest] ? axis : longest;
        window.steps[longest] += 1;
        window.counts[longest] = (lengths[longest] - 1) / window.steps[longest] + 1;
    }
    return window;
}

// Returns the mean of the window's samples that belong to no object and are at most `limit`, or `otherwise` if there are
// none.
__device__ __forceinline__ double mean_below(const isoline_ob_job &job, const Window &window, double limit, double otherwise)
{
    // Levels are whole numbers.
    const u32 most = limit < OB_MOST_LEVEL ? static_cast<u32>(limit) : OB_MOST_LEVEL;
    u64 sum = 0, count = 0;
    for (u32 i = threadIdx.x; i < voxels_of(window); i += OB_THREADS) {
        const u32 x = window.first[0] + i % window.counts[0] * window.steps[0];
        const u32 y = window.first[1] + i / window.counts[0] % window.counts[1] * window.steps[1];
        const u32 z = window.first[2] + i / window.counts[0] / window.counts[1] * window.steps[2];
        const u64 at = index_of(job, x, y, z);
        const u32 level = job.levels[at];
        if (job.labels[at] == OB_BACKGROUND && level <= most) {
            sum += level;
            count += 1;
        }
    }
    u64 all, number;
    block_exclusive_sum<OB_THREADS>(sum, &all);
    block_exclusive_sum<OB_THREADS>(count, &number);
    return number > 0 ? __ddiv_rn(static_cast<double>(all), static_cast<double>(number)) : otherwise;
}

// Returns the score of an object and its background by their mean levels.
__device__ __forceinline__ isoline_ob_score score_between(double mean, double background)
{
    if (isnan(background)) return {0.0f, 0.0f};
    if (mean <= background) return {0.0f, -1.0f};
    const double gain = __ddiv_rn(2.0, __dsub_rn(mean, background));
    const double offset = __ddiv_rn(__dmul_rn(-gain, __dadd_rn(mean, background)), 2.0);
    return {static_cast<float>(gain), static_cast<float>(offset)};
}

// Block OB_THREADS, grid: objects. Computes the means of an object from its sums, resets the sums, and computes the score.
extern "C" __global__ void __launch_bounds__(OB_THREADS) isoline_ob_means(isoline_ob_job job)
{
    const u32 label = blockIdx.x + 1;
    isoline_ob_object &object = job.objects[label];
    const u64 voxels = object.sum_of_voxels, levels = object.sum_of_levels;
    u32 ends[6];
    for (u32 i = 0; i < 6; ++i) ends[i] = object.ends[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        object.voxels = voxels;
        clear_sums(object);
    }
    // The last means stay, for the table of results.
    if (voxels == 0) return;
    const double mean = __ddiv_rn(static_cast<double>(levels), static_cast<double>(voxels));
    const bool is_first = isnan(object.used_mean);
    const Window window = window_of(job, ends);
    double background = object.background;
    for (u32 round = 0; round < (is_first ? OB_FIRST_ROUNDS : 1); ++round) {
        const double limit = isnan(background) ? cuda::std::numeric_limits<double>::infinity()
                                               : __ddiv_rn(__dadd_rn(mean, background), 2.0);
        background = mean_below(job, window, limit, background);
    }
    const double shift = __dmul_rn(OB_SMALLEST_SHIFT, fabs(__dsub_rn(mean, background)));
    const auto stays = [&](double now, double used) { return fabs(__dsub_rn(now, used)) <= shift; };
    // If there is no background, it is NaN, and the score does not depend on the mean.
    const bool has_none = isnan(background) && isnan(object.used_background);
    const bool keeps =
        !is_first && (has_none || (stays(mean, object.used_mean) && stays(background, object.used_background)));
    __syncthreads();
    if (threadIdx.x != 0) return;
    object.mean = mean;
    object.background = background;
    if (keeps) return;
    object.used_mean = mean;
    object.used_background = background;
    job.new_scores[label] = score_between(mean, background);
    *job.answer = 1;
}

// Returns how far the front of a voxel's object has moved at the voxel in an iteration, in parts of the smallest spacing.
__device__ __forceinline__ u32 way_of(const Voxel &now, const Voxel &old)
{
    const float before = now.label == old.label ? old.distance : -old.distance;
    const float way = fminf(fabsf(__fsub_rn(now.distance, before)), 1.0f);
    return __float2uint_rz(__fmul_rn(way, static_cast<float>(OB_WAY_PARTS)));
}

// Block OB_THREADS, grid: tiles. Counts, for objects[], the voxels whose label differs from that at the last check; sets
// the answer if one of them is two voxels or more away from the nearest voxel that had its new label then; and adds up the
// paths of the last iteration.
extern "C" __global__ void __launch_bounds__(OB_THREADS) isoline_ob_moved(isoline_ob_job job)
{
    // With a tolerance of 0, the fronts are at rest only if the last iteration changed no voxel at all, beside a front or
    // elsewhere.
    if (job.change_tolerance == 0.0 && threadIdx.x == 0 && job.changed[blockIdx.x]) *job.answer = 1;
    for_each_of_tile(job, [&](const Place &at, bool is_inside) {
        if (!is_inside) return;
        const u32 label = job.labels[at.index], before = job.judged[at.index];
        const Voxel now = {label, job.distances[at.index]}, old = {job.new_labels[at.index], job.new_distances[at.index]};
        const u32 way = label == OB_BACKGROUND ? 0 : way_of(now, old);
        if (label == before && way == 0) return;
        u64 around[SIDES];
        indices_around(job, at, around);
        bool was_beside = false, has_other = false;
        for (u32 place = 0; place < SIDES; ++place) {
            was_beside |= job.judged[around[place]] == label;
            has_other |= job.labels[around[place]] != label;
        }
        if (has_other && way > 0) atomicAdd(&job.objects[label].way, u64{way});
        if (label == before) return;
        if (label != OB_BACKGROUND) atomicAdd(&job.objects[label].moved, u64{1});
        if (before != OB_BACKGROUND) atomicAdd(&job.objects[before].moved, u64{1});
        if (!was_beside) *job.answer = 1;
    });
}

// Returns whether an object has moved by more than the tolerance, or would move so far at its front's present speed.
__device__ __forceinline__ bool has_moved(const isoline_ob_job &job, const isoline_ob_object &object)
{
    const double way = __dmul_rn(static_cast<double>(object.way), job.interval);
    const double gone = fmax(static_cast<double>(object.moved), way), size = static_cast<double>(object.voxels);
    const double square = __dmul_rn(gone, gone), most = __dmul_rn(job.most_moved, size);
    return job.depth == 1 ? square > most : __dmul_rn(square, gone) > __dmul_rn(most, size);
}

// Block OB_THREADS, grid: tiles. Answers whether an object has moved, resets its sums, and copies the labels to judged[].
extern "C" __global__ void __launch_bounds__(OB_THREADS) isoline_ob_rest(isoline_ob_job job)
{
    const u64 threads = static_cast<u64>(gridDim.x) * OB_THREADS;
    for (u64 label = static_cast<u64>(blockIdx.x) * OB_THREADS + threadIdx.x; label < job.label_count; label += threads) {
        isoline_ob_object &object = job.objects[label];
        if (label != OB_BACKGROUND && has_moved(job, object)) *job.answer = 1;
        object.moved = object.way = 0;
    }
    for_each_of_tile(job, [&](const Place &at, bool is_inside) {
        if (is_inside) job.judged[at.index] = job.labels[at.index];
    });
}
