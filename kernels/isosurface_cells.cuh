// The words of bits and the cells of the isosurface's kernels.
//
// A word has the bits of 32 voxels of a row. A warp that works on words reads 32 of them at once, and then processes the
// words that are not 0 one after another, a lane for each bit.
#pragma once

#include "common.cuh"
#include "isosurface.h"

// A voxel of the volume with its border, or the cell that begins there. Coordinates before the first voxel wrap around.
struct Voxel {
    u32 x, y, z;
};

__device__ __forceinline__ u64 row_of(const isoline_is_job &job, u32 y, u32 z)
{
    return static_cast<u64>(z) * job.height + y;
}

// Returns the voxel of a bit of word `w` of a row.
__device__ __forceinline__ Voxel voxel_at(const isoline_is_job &job, u64 row, u32 w, u32 bit)
{
    return {w * WARP + bit, static_cast<u32>(row % job.height), static_cast<u32>(row / job.height)};
}

// Returns the number of words from a row to that of corner `corner` of its cells.
__device__ __forceinline__ u64 words_to_corner(const isoline_is_job &job, u32 corner)
{
    return ((corner >> 1 & 1) + static_cast<u64>(corner >> 2) * job.height) * job.pitch;
}

// Returns a word of a row of bits, shifted so that a voxel has the bit of its right neighbour.
__device__ __forceinline__ u32 right_bits(const isoline_is_job &job, const u32 *bits, u64 at)
{
    return at % job.pitch + 1 < job.pitch ? __funnelshift_r(bits[at], bits[at + 1], 1) : bits[at] >> 1;
}

// Calls `visit(word, bits)` for each word that is not 0, of `count` words from `first` on, by a whole warp.
template <typename VISIT>
__device__ __forceinline__ void for_each_word(const u32 *words, u64 first, u64 count, VISIT visit)
{
    const u32 lane = threadIdx.x % WARP;
    const u64 step = static_cast<u64>(gridDim.x) * IS_THREADS;
    for (u64 from = static_cast<u64>(blockIdx.x) * IS_THREADS + threadIdx.x - lane; from < count; from += step) {
        const u32 own = from + lane < count ? words[first + from + lane] : 0;
        for (u32 left = __ballot_sync(ALL_LANES, own != 0); left != 0; left &= left - 1) {
            const u32 source = __ffs(left) - 1;
            visit(first + from + source, __shfl_sync(ALL_LANES, own, source));
        }
    }
}

// Returns the number of bits of a word below that of a lane.
__device__ __forceinline__ u32 bits_below(u32 word, u32 lane) { return __popc(word & ((1u << lane) - 1)); }

// Returns the number of a cell among the cells that the surface passes; IS_NONE for any other cell, and beyond the volume.
__device__ __forceinline__ u32 number_of_cell(const isoline_is_job &job, Voxel cell)
{
    if (cell.x >= job.width || cell.y >= job.height || cell.z >= job.depth) return IS_NONE;
    const u64 at = row_of(job, cell.y, cell.z) * job.pitch + cell.x / WARP;
    const u32 bit = cell.x % WARP;
    return (job.active[at] >> bit & 1) == 0 ? IS_NONE : job.cells_before[at] + bits_below(job.active[at], bit);
}

// Returns the number of the vertex on a line of a voxel.
__device__ __forceinline__ u32 number_of_vertex(const isoline_is_job &job, Voxel voxel, u32 line)
{
    const u64 at = (IS_LINES * row_of(job, voxel.y, voxel.z) + line) * job.pitch + voxel.x / WARP;
    return job.before[at] + bits_below(job.words[at], voxel.x % WARP);
}

// An edge of a cell: its first corner and its axis.
struct Edge {
    u32 corner, axis;
};

__device__ __forceinline__ Edge edge_of(u32 index)
{
    const u32 axis = index / 4, place = index % 4, low = place & ((1u << axis) - 1);
    return {low | (place >> axis) << (axis + 1), axis};
}

__device__ __forceinline__ u32 index_of(Edge edge)
{
    return 4 * edge.axis + (edge.corner & ((1u << edge.axis) - 1) | edge.corner >> (edge.axis + 1) << edge.axis);
}

__device__ __forceinline__ Voxel corner_of(Voxel cell, u32 corner)
{
    return {cell.x + (corner & 1), cell.y + (corner >> 1 & 1), cell.z + (corner >> 2)};
}

// Returns the number of the vertex on an edge of a cell, or, for IS_EDGES, of its mean.
__device__ __forceinline__ u32 vertex_of_edge(const isoline_is_job &job, Voxel cell, u32 index)
{
    if (index == IS_EDGES) return number_of_vertex(job, cell, IS_LINES - 1);
    const Edge edge = edge_of(index);
    return number_of_vertex(job, corner_of(cell, edge.corner), edge.axis);
}

// The triangles of a cell, by its edges: a variant of the table.
struct Variant {
    const u32 *words;

    __device__ __forceinline__ Variant(const isoline_is_job &job, u32 number)
        : words(job.table + IS_FIRST_VARIANT + number * IS_VARIANT_WORDS)
    {
    }

    __device__ __forceinline__ u32 count() const { return words[0] >> 24; }
    __device__ __forceinline__ u32 mean() const { return words[0] >> 12 & 0xFFF; }

    // Returns corner `place` of a triangle; 3 is the first one again.
    __device__ __forceinline__ u32 edge(u32 triangle, u32 place) const
    {
        return words[1 + triangle / 2] >> (16 * (triangle % 2) + 4 * (place % 3)) & 0xF;
    }

    // Returns the side from one edge to another, three times the triangle and the place, or IS_NONE.
    __device__ __forceinline__ u32 side(u32 from, u32 to) const
    {
        for (u32 triangle = 0; triangle < count(); ++triangle)
            for (u32 place = 0; place < 3; ++place)
                if (edge(triangle, place) == from && edge(triangle, place + 1) == to) return 3 * triangle + place;
        return IS_NONE;
    }
};

// Reads a voxel. Returns whether it is in the image, rather than in the border.
__device__ __forceinline__ bool value_at(const isoline_is_job &job, Voxel voxel, double *value)
{
    const u32 x = voxel.x - job.border, y = voxel.y - job.border, z = voxel.z - job.border;
    const u32 added = 2 * job.border;
    if (x >= job.width - added || y >= job.height - added || z >= job.depth - added) return false;
    const unsigned char *row = job.pixels + (z - job.first_slice) * job.slice_stride + y * job.row_stride;
    if (job.pixel_bytes == 1) *value = row[x];
    else if (job.pixel_bytes == 2) *value = reinterpret_cast<const unsigned short *>(row)[x];
    else *value = reinterpret_cast<const float *>(row)[x];
    return true;
}

// Returns the variant of a cell with these bits of its high corners. Only corners of ambiguous faces are read. Such faces
// do not touch the border, whose voxels are all low, so these corners are in the image.
__device__ __forceinline__ u32 variant_of(const isoline_is_job &job, Voxel cell, u32 high)
{
    u32 variant = job.table[high] & 0xFFFF, bit = 0;
    for (u32 faces = job.table[high] >> 16; faces != 0; faces &= faces - 1, ++bit) {
        const u32 corners = job.table[IS_CASES + __ffs(faces) - 1];
        double inside[4] = {};
        for (u32 place = 0; place < 4; ++place) {
            value_at(job, corner_of(cell, corners >> 8 * place & 7), &inside[place]);
            inside[place] = __dsub_rn(inside[place], job.level);
            if (job.below) inside[place] = -inside[place];
        }
        const double first = __dmul_rn(inside[0], inside[2]), second = __dmul_rn(inside[1], inside[3]);
        const bool joined = (high >> (corners & 7) & 1) ? first > second : second > first;
        variant += (joined ? 1u : 0u) << bit;
    }
    return variant;
}

// Returns the position of the vertex on the edge that goes from a voxel along an axis, in double precision.
__device__ __forceinline__ void position_of(const isoline_is_job &job, Voxel voxel, u32 axis, double position[3])
{
    const Voxel end = {voxel.x + (axis == 0), voxel.y + (axis == 1), voxel.z + (axis == 2)};
    double a, b, share = 0.5;   // Half a voxel beyond the border.
    if (value_at(job, voxel, &a) && value_at(job, end, &b))
        share = __ddiv_rn(__dsub_rn(job.level, a), __dsub_rn(b, a));
    const u32 at[3] = {voxel.x, voxel.y, voxel.z};
    for (u32 i = 0; i < 3; ++i) {
        const double whole = __dsub_rn(at[i], job.border), moved = __dadd_rn(whole, share);
        position[i] = __dmul_rn(i == axis ? moved : whole, job.spacing[i]);
    }
}
