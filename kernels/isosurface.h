// The constants and arguments of the isosurface's kernels that the crate shares.
#pragma once

#include "common.h"

constexpr u32 IS_THREADS = 256;             // of a block of all kernels
constexpr u32 IS_TILE = 8 * IS_THREADS;     // numbers of a list that a block adds up
constexpr u32 IS_BLOCK = IS_THREADS;        // triangles whose measures are added up together
constexpr u32 IS_NONE = 0xFFFFFFFF;         // in place of a cell, and of a side: the edge has one triangle
constexpr u32 IS_MOST_FLAT = 64;            // triangles without area between two that have one: those around a voxel that
                                            // equals the level

// The groups of vertices of a row ("lines"), in their order: on edges along x, y and z, and the means of loops.
constexpr u32 IS_LINES = 4;

// The edges of a cell, 4 along x, 4 along y, 4 along z, and the number of the vertex at the mean of a loop.
constexpr u32 IS_EDGES = 12;

// The table of the triangles of a cell, in words. First, for each set of high corners, its first variant and, from bit 16
// on, the set of its ambiguous faces; then, for each face, its corners in order, a byte each; then the variants. The first
// word of a variant has the crossed edges, from bit 12 on the edges of the loop that has a mean, and from bit 24 on the
// number of triangles; each further word has two triangles of 16 bits, with 4 bits for each of three edges.
constexpr u32 IS_CASES = 256, IS_FACES = 6, IS_VARIANTS = 656, IS_MOST_TRIANGLES = 12;
constexpr u32 IS_VARIANT_WORDS = 1 + IS_MOST_TRIANGLES / 2;
constexpr u32 IS_FIRST_VARIANT = IS_CASES + IS_FACES;
constexpr u32 IS_TABLE_WORDS = IS_FIRST_VARIANT + IS_VARIANTS * IS_VARIANT_WORDS;

// The series of the arc tangent: the number of its terms, pi / 4, the tangent of pi / 8, and the tangents of pi / 16 and 3
// pi / 16, beyond which an angle is turned back by pi / 8 and by pi / 4.
constexpr u32 IS_TERMS = 12;
constexpr double IS_QUARTER_PI = 0.7853981633974483;
constexpr double IS_EIGHTH_TANGENT = 0.41421356237309503;
constexpr double IS_NEAR_TANGENT = 0.198912367379658;
constexpr double IS_FAR_TANGENT = 0.6681786379192989;

// The tangent below which an angle counts as a fold by half a turn. Folds on voxels that equal the level have 0 up to
// rounding errors; other angles of more than a quarter turn have far larger tangents.
constexpr double IS_FOLD_TANGENT = 1e-6;

// The measures of IS_BLOCK triangles. The number of borders is whole.
struct isoline_is_sums {
    double area, volume, curvature, borders;
};

// A list of numbers, or of words that count as their numbers of set bits, and the exclusive prefix sums over it, `before`,
// which may be `values`. `sums` has the sums of tiles.
struct isoline_is_list {
    const u32 *values;
    u32 *before;
    u64 *sums, *total;
    u64 count;
    u64 of_bits;
};

// The arguments of all other kernels. The size includes the border that closes the volume, and `pitch` is the number of
// words in a row of bits. Each list of words has one row for each row of voxels; `words` and `before` have IS_LINES rows
// for it.
struct isoline_is_job {
    const unsigned char *pixels;       // of slice `first_slice` of the image, and of the slices after it
    u64 row_stride, slice_stride;      // bytes
    const u32 *table;
    u32 *high, *finite;                // the classes of voxels
    u32 *cells;                        // the cells, by their first voxels, whose corners are all finite
    u32 *active;                       // the cells that the surface passes; may be `finite`
    u32 *cells_before;                 // their numbers before each word
    u32 *triangles_before;             // the triangles of the cells of each word, then those before it; may be `cells`
    u32 *words, *before;               // the vertices of each line, and their numbers before each word
    unsigned short *variants;          // of each cell that the surface passes
    u32 *firsts;                       // its first triangle, at first counted from that of its word
    u64 *places;                       // its bit: that of the first word's first voxel is 0
    float *vertices, *normals;         // x, y, z of each vertex
    u32 *triangles;                    // three vertices of each triangle
    u32 *sides;                        // for side k of triangle t, 3t + k, from its corner k to the next: the one that it meets
    u32 *parents;                      // of each vertex, a vertex of the same piece with a smaller number, or itself
    isoline_is_sums *sums;             // of each block of triangles
    u64 *pieces;                       // the number of vertices without a parent; 0 before
    double level, spacing[3];
    u32 width, height, depth, pitch;
    u32 border;                        // voxels that were added on each side: 1 or 0
    u32 below;                         // voxels at or below the level are high, instead of those above it
    u32 first_slice, pixel_bytes;      // of `pixels`; floats have four bytes
};
