// The constants and arguments of the level set's kernels that the crate shares.
#pragma once

#include "common.h"

// ------------------------------------------------------------------------------------------------ update

// The elements of a row before its first pixel.
constexpr int LEAD = 1;

// The constants of the approximation of 1/sqrt(x) / RSQRT_SCALE; they minimise its largest relative error (1.7e-5).
// (RSQRT_START - bits(x)) / 2 are the bits of a first guess s, which is refined to s * ((x s^2 + RSQRT_SHIFT)^2 +
// RSQRT_REST). RSQRT_SCALE is the factor that normalises this polynomial's leading coefficient to 1, which saves a
// multiplication.
constexpr double RSQRT_SCALE = 0.68062353;
constexpr u32 RSQRT_START = 0xBE3E0000;
constexpr float RSQRT_SHIFT = -1.3139546, RSQRT_REST = 1.3784941;

// TINY is added to squared gradients, so that a flat phi has a normal of 0 and not of 0/0.
constexpr float TINY = 1.6e-19;

// A reinitialisation leaves phi beside the front as it is if 1 / |grad phi| is within these bounds, 0.98 and its
// reciprocal.
constexpr float MIN_INVERSE_GRADIENT = 0.98, MAX_INVERSE_GRADIENT = 1.0204082;

// The sizes and constants that all kernels of one solver share; src/level_set/cuda/launch.rs fills them. Sides have 1..2^30
// voxels, slices at most 2^30 elements. phi: row r = z*height + y begins at r*pitch, and its pixel x is at LEAD + x. The
// elements of pixels -1 and width repeat the border pixels; every kernel that writes a border pixel also writes its
// repetition. The image has the same layout, in its own pixel type.
struct LevelSetSetup {
    u32 width, height, depth;
    u32 pitch;                      // in elements, a multiple of 8
    u32 own_first, own_depth;       // the slices that dense iterations compute and that are counted: all, or a slab's own
    // The image term and the curvature term are a quarter of the speed's, because gradients are four times as large.
    float intensity_centre;                   // T
    float open_side;                          // 1: pixels above T count as T; -1: those below; 0: none
    float max_deviation;                      // |I - T| counts up to this
    float intensity_gain, intensity_offset;   // dt * -alpha * D(I) / 4 = fma(|I - T|, gain, offset)
    float max_inward_term;                    // upper bound of the image term where phi approaches 0
    float curvature_weight;                   // dt * (1 - alpha) / 8 * RSQRT_SCALE
    float edge_weight;                        // dt * beta * (1 - alpha) / 8
    float inv_dx, inv_dy, inv_dz;             // 1 / spacing
    float max_spacing;                        // a voxel with |phi| up to this is near the front
    float rms_scale;                          // 1 / the smallest spacing
    float band_width;                         // a voxel with |phi| up to this is within the narrow band
    float second_order_width;                 // |phi| up to which differences are of second order; negative: nowhere
    float activity_threshold;                 // a larger change of phi within the band keeps a tile active
    float reinit_time_step;                   // the time step of a reinitialisation
    float max_divergence;                     // the bound of the normals' divergence, over RSQRT_SCALE
};

// The elements of an EdgePixel, all f32: the pixel, the edge-stopping function g and its slope along x, y, z (without an
// edge term 1 and 0). The other elements are not used: they make it two aligned loads of 16 bytes.
constexpr int EDGE_PIXEL = 8;

// ------------------------------------------------------------------------------------------------ statistics, stop

// Squared changes are clamped to SQUARE_MAX and summed as fixed-point integers in units of 1/SQUARE_ONE. An iteration's sum
// is shifted right by SQUARES_SHIFT before it is added to that of the check interval, which therefore cannot overflow.
constexpr float SQUARE_ONE = 16777216.0, SQUARE_MAX = 64.0;
constexpr int SQUARES_SHIFT = 10;

// A front at rest may oscillate: within a check interval, the number of voxels inside may vary by this multiple of the
// tolerance for the drift between two check intervals (docs/level_set.md).
constexpr double MAX_OSCILLATION = 50.0;

// The parameters of the stopping criterion, with their names in the crate.
struct StoppingCriterion {
    double change_tolerance, rms_tolerance;
    u32 check_interval;   // in iterations
};

// One iteration's statistics.
struct IterationStatistics {
    u64 changed;   // the voxels whose sign changed
    u64 near;      // the voxels near the front before the iteration
    u64 squares;   // the sum of the squared changes of the latter
    i64 inside;    // the change of the number of voxels inside
    u32 tiles;     // the number of tiles updated
    u32 done;      // 1 if the iteration was done; 0 if the front had come to rest or vanished before it, or if a tile of a
                   // sparse phi had no place
};

// The state of the stopping criterion.
struct ConvergenceState {
    u64 stopped;     // the first iteration that is not done; 0: none yet
    i64 inside[2];   // the voxels inside before the iterations with even and odd numbers
    // Sums over the iterations of the current check interval: of the voxels inside after each, of the voxels near the
    // front, and of the squared changes >> SQUARES_SHIFT. inside_before is the inside_sum of the previous interval, or 0 if
    // there is none.
    u64 inside_sum, near_sum, squares_sum, inside_before;
    u64 most, fewest;   // of the current interval: the most voxels inside, and the complement of the fewest
};

// The number of an iteration and where its statistics go: into element `iteration & ring` of a ring.
struct IterationArguments {
    ConvergenceState *convergence;
    IterationStatistics *statistics;
    u64 iteration;   // counted from 1
    u64 voxels;      // of the whole image
    u32 ring;        // the length of the ring, a power of two, less one
};

// ------------------------------------------------------------------------------------------------ regions

// Pixels are summed as integer levels: integer pixels are their own levels, and float pixels are rounded to the nearest of
// this many.
constexpr u32 REGION_LEVELS = 1 << 19;

// The conversion of pixels to levels: (pixel - low) * scale, rounded. If `binary` is not 0, the level is 1 where the pixel
// is above 0, else 0.
struct RegionLevels {
    float low, scale;
    u32 binary;
};

// The sums over the finite pixels of one side of the front. The sum of the squares is squares_low + 2^32 squares_high.
struct RegionSums {
    u64 count, sum, squares_low, squares_high;
};

// ------------------------------------------------------------------------------------------------ tiles

constexpr int TILE = 8, TILE_SLICE = 16;   // sides of a tile of a volume and of a slice
constexpr u32 LISTS = 4;       // lists of tiles: of the set before, this one, the next one, and one that is emptied
constexpr u32 MAX_PARTS = 8;   // parts of a tile, at most
// The bits of a tile's position along an axis.
constexpr u32 TILE_BITS = 21;

// A change of a voxel affects the tiles that are within this many voxels of it along each axis.
constexpr u32 BAND_REACH = 2;
// The affected tiles are a word with one bit for each of AFFECTED_SIDE^3 tiles, x fastest, the voxel's own in the
// middle: the tile that is [dx, dy, dz] further, each -1, 0 or 1, has bit (dx + 1) + 3 (dy + 1) + 9 (dz + 1). The
// affected tiles along one axis are a word of AFFECTED_SIDE bits, for -1, 0 and 1.
constexpr u32 AFFECTED_SIDE = 3;
constexpr u32 TILE_BEFORE = 1, OWN_TILE = 2, TILE_AFTER = 4;

// The warps per block of the kernels around the iterations (LOOP_WARPS), of iterations, and of the steps of a
// reinitialisation. The latter two use few large blocks, because blocks wait for each other at grid barriers.
constexpr u32 LOOP_WARPS = 4, ITERATION_WARPS = 10, REINIT_WARPS = 6;
constexpr u32 ITERATION_BLOCKS = 2, MARK_BLOCKS = 8;   // per multiprocessor; bounds the registers

// The lists of active tiles. Without entries all tiles are active.
struct TileListArguments {
    u64 *entries;   // LISTS lists of `tiles` entries
    u32 *counts;    // LISTS numbers of entries
    u32 *stamps;    // twice `tiles`, of even and odd sets: the number plus 1 of the last set that holds the tile
    u32 tiles_x, tiles_y, tiles_z, tiles;   // numbers of tiles: along each axis, and of the whole image
};

// ------------------------------------------------------------------------------------------------ sparse phi

// A phi of a volume may be sparse: then only tiles near the front are stored; for the others only their side of the front
// is known. A stored tile has TILE_VOXELS values for each of the two phi, one phi after the other, x fastest.
constexpr u32 TILE_VOXELS = 512;
// The entries of the table for tiles that are not stored, whose voxels are all outside or all inside.
constexpr u32 FAR_OUTSIDE = 0xFFFFFFFF, FAR_INSIDE = 0xFFFFFFFE;

// A sparse phi. Its tables and its tiles are in device memory.
struct SparsePhiArguments {
    float *values;        // of the tiles that can be stored
    u32 *table;           // for each tile of the volume: the number of its place in `values`, FAR_OUTSIDE or FAR_INSIDE
    u32 *free_places;     // the numbers of places that no tile has
    u32 *counts;          // the number of free places; and not 0 if a tile found none
    u32 tiles_x, tiles_y, tiles_z;   // numbers of tiles along each axis
    u32 places;           // of tiles in `values`
    u32 which;            // which of both phi this is, 0 or 1
    u32 first_slice;      // of the volume, for kernels that work on some slices
    float far;            // |phi| of tiles that are not stored
    float stored_width;   // a tile with |phi| up to this is stored when phi is imported
    float released_width;   // a tile with |phi| up to this is not released
};

// ------------------------------------------------------------------------------------------------ dense

constexpr int DENSE_WARPS = 2, DENSE_BLOCKS = 10;   // warps of a block; blocks of a multiprocessor
constexpr int DENSE_ROWS = 2;       // rows of a warp
constexpr int DENSE_COLUMNS = 62;   // columns of a warp: the outer two of its 64 belong to its neighbours

// The chunks into which columns of planes are cut: the first `large_count` chunks have `large_planes` planes, those
// after them `small_planes`, the first `longer_count` of these one more.
struct DenseChunks {
    u32 large_count, large_planes, small_planes, longer_count;
};

// ------------------------------------------------------------------------------------------------ the paper's kernel

constexpr int PAPER_X = 32, PAPER_Y = 4;   // the block
