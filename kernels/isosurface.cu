// The isosurface: vertices and triangles in the same order as on the CPU, normals, measures and pieces.
//
//   classes                  two bits a voxel: is it high, is it finite
//   cells                    a bit a cell: are its corners finite
//   marks                    a bit an edge: has it a vertex; a bit a cell: does the surface pass it
//   tiles, sums_before,      the sum of the numbers before each in a list, or of the bits before each word
//   places
//   variants                 the triangles of each cell, by its corners, and their number in each word
//   vertices                 the position of each vertex
//   triangles                the vertices of each triangle
//   normals                  the normal of each vertex
//   sides                    the side that each side of a triangle meets
//   measures                 area, volume, curvature and borders of each block of triangles
//   join, roots              pieces: each vertex gets one of its piece as a parent; the number without one
//
// All blocks have IS_THREADS threads. All kernels except those that number a list take a range of words, triangles or
// vertices, so that the host can check for a cancellation between launches. Arithmetic is in double precision.
#include "block_scan.cuh"
#include "isosurface_cells.cuh"
#include "isosurface_measures.cuh"

// Calls `visit(item)` for each of `count` items from `first` on, by a thread each.
template <typename VISIT>
__device__ __forceinline__ void for_each_item(u64 first, u64 count, VISIT visit)
{
    const u64 step = static_cast<u64>(gridDim.x) * IS_THREADS;
    for (u64 i = static_cast<u64>(blockIdx.x) * IS_THREADS + threadIdx.x; i < count; i += step) visit(first + i);
}

// A warp makes a word: one voxel per lane. Reads each voxel once, writes two bits.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_classes(isoline_is_job job, u64 first, u64 count)
{
    const u32 lane = threadIdx.x % WARP;
    const u64 step = static_cast<u64>(gridDim.x) * (IS_THREADS / WARP);
    for (u64 i = (static_cast<u64>(blockIdx.x) * IS_THREADS + threadIdx.x) / WARP; i < count; i += step) {
        const u64 at = first + i;
        const Voxel voxel = voxel_at(job, at / job.pitch, at % job.pitch, lane);
        double value = 0.0;
        const bool in_image = value_at(job, voxel, &value);
        // The border is low.
        const bool is_high = in_image && (job.below ? value <= job.level : value > job.level);
        const u32 high = __ballot_sync(ALL_LANES, is_high);
        const u32 finite = __ballot_sync(ALL_LANES, voxel.x < job.width && isfinite(value));
        if (lane == 0) {
            job.high[at] = high;
            job.finite[at] = finite;
        }
    }
}

// A thread makes a word from eight.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_cells(isoline_is_job job, u64 first, u64 count)
{
    for_each_item(first, count, [&](u64 at) {
        const Voxel voxel = voxel_at(job, at / job.pitch, 0, 0);
        u32 cells = 0;
        if (voxel.y + 1 < job.height && voxel.z + 1 < job.depth) {
            cells = ALL_LANES;
            for (u32 corner = 0; corner < 8; corner += 2) {
                const u64 row = at + words_to_corner(job, corner);
                cells &= job.finite[row] & right_bits(job, job.finite, row);
            }
        }
        job.cells[at] = cells;
    });
}

// Returns the cells that share an edge along `axis` within one row of cells: for edges along x the cells of the word,
// otherwise also the cells before them.
__device__ __forceinline__ u32 cells_beside(const isoline_is_job &job, u64 at, u32 axis)
{
    const u32 own = job.cells[at];
    if (axis == 0) return own;
    return own | __funnelshift_l(at % job.pitch > 0 ? job.cells[at - 1] : 0, own, 1);
}

// A thread makes the words of the three axes, the word of means (still 0, because they are not known yet) and the word of
// active cells.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_marks(isoline_is_job job, u64 first, u64 count)
{
    for_each_item(first, count, [&](u64 at) {
        const u64 row = at / job.pitch, slice = static_cast<u64>(job.height) * job.pitch;
        const u32 w = at % job.pitch, high = job.high[at];
        const Voxel voxel = voxel_at(job, row, 0, 0);
        for (u32 axis = 0; axis < IS_LINES; ++axis) {
            u32 ends = 0;
            if (axis == 0) ends = high ^ right_bits(job, job.high, at);
            else if (axis == 1 && voxel.y + 1 < job.height) ends = high ^ job.high[at + job.pitch];
            else if (axis == 2 && voxel.z + 1 < job.depth) ends = high ^ job.high[at + slice];
            if (ends != 0) {
                // Four cells share the edge: before and after its voxel along each of the two other axes.
                const bool above = axis != 1 && voxel.y > 0, before = axis != 2 && voxel.z > 0;
                u32 cells = cells_beside(job, at, axis);
                if (above) cells |= cells_beside(job, at - job.pitch, axis);
                if (before) cells |= cells_beside(job, at - slice, axis);
                if (above && before) cells |= cells_beside(job, at - slice - job.pitch, axis);
                ends &= cells;
            }
            job.words[(IS_LINES * row + axis) * job.pitch + w] = ends;
        }
        u32 active = job.cells[at];
        if (active != 0) {
            u32 all = ALL_LANES, any = 0;
            for (u32 corner = 0; corner < 8; corner += 2) {
                const u64 beside = at + words_to_corner(job, corner);
                const u32 own = job.high[beside], right = right_bits(job, job.high, beside);
                all &= own & right;
                any |= own | right;
            }
            active &= any & ~all;
        }
        job.active[at] = active;
    });
}

__device__ __forceinline__ u32 number_in(const isoline_is_list &list, u64 i)
{
    if (i >= list.count) return 0;
    return list.of_bits ? __popc(list.values[i]) : list.values[i];
}

// Grid: tiles of IS_TILE numbers.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_tiles(isoline_is_list list)
{
    const u64 first = static_cast<u64>(blockIdx.x) * IS_TILE;
    u64 own = 0, total;
    for (u32 i = threadIdx.x; i < IS_TILE; i += IS_THREADS) own += number_in(list, first + i);
    block_exclusive_sum<IS_THREADS>(own, &total);
    if (threadIdx.x == 0) list.sums[blockIdx.x] = total;
}

// One block. `tiles` is the number of tiles.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_sums_before(isoline_is_list list, u32 tiles)
{
    u64 before = 0, total;
    for (u32 first = 0; first < tiles; first += IS_THREADS) {
        const u32 tile = first + threadIdx.x;
        const u64 sum = block_exclusive_sum<IS_THREADS>(tile < tiles ? list.sums[tile] : 0, &total);
        if (tile < tiles) list.sums[tile] = before + sum;
        before += total;
    }
    if (threadIdx.x == 0) *list.total = before;
}

// Grid: tiles of IS_TILE numbers, in runs of IS_THREADS.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_places(isoline_is_list list)
{
    const u64 first = static_cast<u64>(blockIdx.x) * IS_TILE;
    u64 before = list.sums[blockIdx.x], total;
    for (u32 run = 0; run < IS_TILE; run += IS_THREADS) {
        const u64 i = first + run + threadIdx.x;
        const u64 sum = before + block_exclusive_sum<IS_THREADS>(number_in(list, i), &total);
        if (i < list.count) list.before[i] = sum;
        before += total;
    }
}

// A warp takes the cells of a word, a lane each.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_variants(isoline_is_job job, u64 first, u64 count)
{
    for_each_word(job.active, first, count, [&](u64 at, u32 cells) {
        const u32 lane = threadIdx.x % WARP;
        const u64 row = at / job.pitch;
        const u32 w = at % job.pitch, own = job.cells_before[at] + bits_below(cells, lane);
        const bool is_cell = cells >> lane & 1;
        u32 triangles = 0;
        bool has_mean = false;
        if (is_cell) {
            u32 high = 0;
            for (u32 corner = 0; corner < 8; corner += 2) {
                const u64 beside = at + words_to_corner(job, corner);
                const u32 right = w + 1 < job.pitch ? job.high[beside + 1] : 0;
                high |= (__funnelshift_r(job.high[beside], right, lane) & 3) << corner;
            }
            const u32 number = variant_of(job, voxel_at(job, row, w, lane), high);
            const Variant variant(job, number);
            job.variants[own] = number;
            job.places[own] = at * WARP + lane;
            triangles = variant.count();
            has_mean = variant.mean() != 0;
        }
        const u32 means = __ballot_sync(ALL_LANES, has_mean), up_to_here = lanes_inclusive_sum(triangles, lane);
        if (is_cell) job.firsts[own] = up_to_here - triangles;
        if (lane == WARP - 1) {
            job.words[(IS_LINES * row + IS_LINES - 1) * job.pitch + w] = means;
            job.triangles_before[at] = up_to_here;
        }
    });
}

// A warp takes the vertices of a word of a line, one per lane. For each vertex it reads two voxels, or, for a mean, the
// voxels of its loop. In place of the normal it writes the number of the vertex's bit, with which `normals` finds the
// voxel.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_vertices(isoline_is_job job, u64 first, u64 count)
{
    for_each_word(job.words, first, count, [&](u64 at, u32 word) {
        const u32 lane = threadIdx.x % WARP;
        if ((word >> lane & 1) == 0) return;
        const u64 line = at / job.pitch;
        const u32 axis = line % IS_LINES, number = job.before[at] + bits_below(word, lane);
        const Voxel voxel = voxel_at(job, line / IS_LINES, at % job.pitch, lane);
        double position[3] = {};
        if (axis < 3) {
            position_of(job, voxel, axis, position);
        } else {
            const u32 edges = Variant(job, job.variants[number_of_cell(job, voxel)]).mean();
            for (u32 left = edges; left != 0; left &= left - 1) {
                const Edge edge = edge_of(__ffs(left) - 1);
                double own[3];
                position_of(job, corner_of(voxel, edge.corner), edge.axis, own);
                for (u32 i = 0; i < 3; ++i) position[i] = __dadd_rn(position[i], own[i]);
            }
            for (u32 i = 0; i < 3; ++i) position[i] = __ddiv_rn(position[i], __popc(edges));
        }
        for (u32 i = 0; i < 3; ++i) job.vertices[3 * static_cast<u64>(number) + i] = __double2float_rn(position[i]);
        job.parents[number] = number;
        // The normal comes later.
        const u64 place = at * WARP + lane;
        u32 *normal = reinterpret_cast<u32 *>(job.normals) + 3 * static_cast<u64>(number);
        normal[0] = static_cast<u32>(place);
        normal[1] = static_cast<u32>(place >> 32);
    });
}

// A thread takes a cell.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_triangles(isoline_is_job job, u64 first, u64 count)
{
    for_each_item(first, count, [&](u64 number) {
        const Variant variant(job, job.variants[number]);
        const u64 at = job.places[number] / WARP;
        const u32 before = job.firsts[number] + job.triangles_before[at];
        job.firsts[number] = before;
        const Voxel cell = voxel_at(job, at / job.pitch, at % job.pitch, job.places[number] % WARP);
        for (u32 corner = 0; corner < 3 * variant.count(); ++corner)
            job.triangles[3 * static_cast<u64>(before) + corner] =
                vertex_of_edge(job, cell, variant.edge(corner / 3, corner));
    });
}

// A thread takes a vertex and sums the normals of the triangles around it, in the order of the triangles. They belong to
// the cells around the vertex's edge, or to the cell of a mean.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_normals(isoline_is_job job, u64 first, u64 count)
{
    for_each_item(first, count, [&](u64 vertex) {
        float *normal = job.normals + 3 * vertex;
        const u32 *own = reinterpret_cast<const u32 *>(normal);
        const u64 place = own[0] | static_cast<u64>(own[1]) << 32, line = place / WARP / job.pitch;
        const u32 axis = line % IS_LINES;
        const Voxel voxel = voxel_at(job, line / IS_LINES, place / WARP % job.pitch, place % WARP);
        Vector sum = {};
        for (u32 around = axis < 3 ? 4 : 1; around-- > 0;) {
            // The edge's cells are numbered by two bits. The first cell, with both bits 0, is before the voxel along both
            // other axes.
            const u32 along = around & 1, across = around >> 1;
            Voxel cell = voxel;
            u32 index = IS_EDGES;
            if (axis < 3) {
                (axis == 0 ? cell.y : cell.x) -= along;
                (axis == 2 ? cell.y : cell.z) -= across;
                index = 4 * axis + around;
            }
            const u32 number = number_of_cell(job, cell);
            if (number == IS_NONE) continue;
            const Variant variant(job, job.variants[number]);
            for (u32 triangle = 0; triangle < variant.count(); ++triangle) {
                const bool has_vertex = variant.edge(triangle, 0) == index || variant.edge(triangle, 1) == index
                    || variant.edge(triangle, 2) == index;
                if (!has_vertex) continue;
                const Vector more = normal_of(job, job.firsts[number] + triangle);
                sum = {__dadd_rn(sum.x, more.x), __dadd_rn(sum.y, more.y), __dadd_rn(sum.z, more.z)};
            }
        }
        const double length = __dsqrt_rn(dot(sum, sum));
        const bool has_length = length > 0.0;
        normal[0] = has_length ? __double2float_rn(__ddiv_rn(sum.x, length)) : 0.0f;
        normal[1] = has_length ? __double2float_rn(__ddiv_rn(sum.y, length)) : 0.0f;
        normal[2] = has_length ? __double2float_rn(__ddiv_rn(sum.z, length)) : 0.0f;
    });
}

// Takes a side that goes from edge `from` to edge `to` of a cell, both on one face. Returns the side that it meets in the
// cell beyond that face.
__device__ __forceinline__ u32 side_in_neighbour(const isoline_is_job &job, Voxel cell, u32 from, u32 to)
{
    Edge a = edge_of(from), b = edge_of(to);
    // 1. Find the face: all ends of the two edges have its coordinate.
    const u32 ones = a.corner & b.corner, zeros = 7 & ~(a.corner | b.corner | 1u << a.axis | 1u << b.axis);
    const u32 axis = __ffs(ones | zeros) - 1, step = ones != 0 ? 1 : 0xFFFFFFFF;
    (axis == 0 ? cell.x : axis == 1 ? cell.y : cell.z) += step;
    const u32 number = number_of_cell(job, cell);
    if (number == IS_NONE) return IS_NONE;
    // 2. In the cell beyond, the edges are on the opposite face.
    a.corner ^= 1u << axis, b.corner ^= 1u << axis;
    const u32 side = Variant(job, job.variants[number]).side(index_of(b), index_of(a));
    return side == IS_NONE ? IS_NONE : 3 * job.firsts[number] + side;
}

// A thread takes a cell. A side meets a side of the same cell, or of the cell beyond a face.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_sides(isoline_is_job job, u64 first, u64 count)
{
    for_each_item(first, count, [&](u64 number) {
        const Variant variant(job, job.variants[number]);
        const u64 place = job.places[number], at = place / WARP;
        const Voxel cell = voxel_at(job, at / job.pitch, at % job.pitch, place % WARP);
        const u32 own = 3 * job.firsts[number];
        for (u32 side = 0; side < 3 * variant.count(); ++side) {
            const u32 from = variant.edge(side / 3, side), to = variant.edge(side / 3, side + 1);
            const u32 inside = variant.side(to, from);
            job.sides[own + side] = inside != IS_NONE ? own + inside : side_in_neighbour(job, cell, from, to);
        }
    });
}

// A thread measures a triangle, and the block of IS_BLOCK threads sums the measures by a tree: the second half is added to
// the first, until one is left. `first` is the first triangle of a block.
extern "C" __global__ void __launch_bounds__(IS_BLOCK) isoline_is_measures(isoline_is_job job, u64 first, u64 count)
{
    __shared__ isoline_is_sums sums[IS_BLOCK];
    const u64 item = static_cast<u64>(blockIdx.x) * IS_BLOCK + threadIdx.x;
    sums[threadIdx.x] = item < count ? measures_of(job, first + item) : isoline_is_sums{};
    for (u32 half = IS_BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x >= half) continue;
        isoline_is_sums &own = sums[threadIdx.x];
        const isoline_is_sums other = sums[threadIdx.x + half];
        own.area = __dadd_rn(own.area, other.area);
        own.volume = __dadd_rn(own.volume, other.volume);
        own.curvature = __dadd_rn(own.curvature, other.curvature);
        own.borders = __dadd_rn(own.borders, other.borders);
    }
    if (threadIdx.x == 0) job.sums[(first + item) / IS_BLOCK] = sums[0];
}

// Returns the vertex of the same piece that has no parent, and shortens the way to it.
__device__ __forceinline__ u32 root_of(volatile u32 *parents, u32 vertex)
{
    while (true) {
        const u32 parent = parents[vertex];
        if (parent == vertex) return vertex;
        const u32 beyond = parents[parent];
        // Another thread may have set a parent nearer to the root meanwhile; this one is in the same piece, so the result
        // stays right.
        if (beyond != parent) parents[vertex] = beyond;
        vertex = parent;
    }
}

// A thread joins the vertices of a triangle.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_join(isoline_is_job job, u64 first, u64 count)
{
    for_each_item(first, count, [&](u64 triangle) {
        for (u32 place = 1; place < 3; ++place) {
            u32 a = job.triangles[3 * triangle], b = job.triangles[3 * triangle + place];
            while ((a = root_of(job.parents, a)) != (b = root_of(job.parents, b))) {
                const u32 low = min(a, b), high = max(a, b);
                if (atomicCAS(&job.parents[high], high, low) == high) break;
            }
        }
    });
}

// A thread looks at a vertex.
extern "C" __global__ void __launch_bounds__(IS_THREADS) isoline_is_roots(isoline_is_job job, u64 first, u64 count)
{
    u32 own = 0;
    for_each_item(first, count, [&](u64 vertex) { own += job.parents[vertex] == vertex; });
    own = lanes_total(own);
    if (threadIdx.x % WARP == 0 && own > 0) atomicAdd(job.pieces, static_cast<u64>(own));
}
