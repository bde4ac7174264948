// The constants and arguments of the region snakes' kernels that the crate shares.
#pragma once

#include "common.h"

// ------------------------------------------------------------------------------------------------ sums

// A row is divided into sectors of this many bytes, the unit in which the GPU reads memory; rows begin at a sector.
constexpr u32 SECTOR_BYTES = 32;

// A RegionSum is a sum over pixels of level z: their number, Σz and Σz². It is signed: the sum of an edge is over the
// pixels left of it, and is negative if the edge runs upwards.
struct RegionSum {
    i64 pixels, z, zz;
};

// A LevelImage is the image in device memory, in levels of 8 or 16 bits, with the prefix sums of its rows.
struct LevelImage {
    const unsigned char *levels;
    const ulonglong2 *prefix_sums;   // for each sector of each row, Σz and Σz² over all pixels of the row before it
    u64 pitch;                       // bytes from row to row
    u32 width, height;               // pixels
    u32 sectors;                     // entries of `prefix_sums` per row: width / pixels in a sector + 1
};

// ------------------------------------------------------------------------------------------------ criterion

constexpr u32 NOISE_GAUSSIAN = 0, NOISE_POISSON = 1, NOISE_GAMMA = 2, NOISE_RAYLEIGH = 3, NOISE_BERNOULLI = 4;

// The variance is bounded below by the variance of rounding to integers, because a flat region would cost -infinity. The
// lower bound of the mean does the same for a black region.
constexpr double MIN_VARIANCE = 1.0 / 12.0, MIN_MEAN = 1e-3;

// ------------------------------------------------------------------------------------------------ search

// The threads of a block that searches a target alone, or that sums rows; the threads of each block of a group.
constexpr int ALONE_THREADS = 256;
constexpr int GROUP_THREADS = 512;

// The number of candidate positions around a node.
constexpr int CANDIDATE_COUNT = 8;

constexpr u32 STATUS_RUNNING = 0, STATUS_CONVERGED = 1, STATUS_VANISHED = 2, STATUS_START_OUTSIDE = 3;
constexpr u32 STATUS_ITERATION_LIMIT = 4;

// A DeviceTarget is the state of one target's search between launches, apart from its nodes and edges.
struct DeviceTarget {
    RegionSum whole, inside;   // over all pixels of the window, over those inside the polygon
    double cost, node_cost;    // the criterion without the cost of the nodes; the cost of a node in the criterion
    u64 iterations;            // done so far; at 0 the polygon is still to be measured
    i64 area;                  // twice the polygon's area, in pixels
    i64 territory;             // the entry of the window's first row in `first_runs`; -1: all pixels may be its own
    i64 spacing_squared;       // an edge whose squared length is greater gets another node
    int x0, y0, x1, y1;        // the window, in pixel corners; nodes stay in it
    u32 node_count;
    int distance;              // from a node to its candidate positions along an axis, in pixels
    u32 phase, status;         // PHASE_..., STATUS_...
};

// A GroupControl holds what the blocks of a group communicate, in device memory; 0 before a launch. Its 64 bytes keep the
// counters of different groups in different sectors.
struct GroupControl {
    u32 arrived;        // how often a block of the group has arrived at a barrier in this launch
    u32 target_index;   // the target that the group searches
    u32 padding[14];
};

// A SearchJob holds the arguments of a launch. A group, one or more thread blocks, searches one target at a time.
// Arrays are in device memory.
struct SearchJob {
    LevelImage image;
    DeviceTarget *targets;
    int2 *nodes;                  // of each target, `capacity` apart
    RegionSum *edges;             // of each target, `capacity` apart; of the edge from each node to the next
    unsigned char *workspace;     // of each group, `workspace_bytes` apart
    u64 workspace_bytes;
    GroupControl *controls;       // of each group
    u32 *queue;                   // the index of the first target that no group has taken; 0 before a launch
    u32 *first_runs;              // of each row of each territory the entry in `runs`; one more after the last row
    int2 *runs;                   // runs of pixels of a row: the first pixel, and the one after the last
    double looks;                 // of NOISE_GAMMA
    u64 max_iterations;           // the most iterations of a target in all
    u64 launch_iterations;        // the most iterations of a target in this launch; 0 only measures new targets
    u32 target_count;
    u32 capacity;                 // the number of nodes that the arrays of a target have memory for
    u32 max_nodes;                // the most nodes that a target is given; up to `capacity`
    u32 noise;                    // NOISE_...
    u32 blocks_per_target;        // the thread blocks of a group
    u32 groups;
    u32 state_in_shared_memory;   // 1 if a block's arrays are in its dynamic shared memory, 0 if in the workspace
    u32 state_bytes;              // the size of a block's arrays
};

// ------------------------------------------------------------------------------------------------ workspace

// The blocks of a group add up edge sums in three buffers: sums are added to one, one may still be read, and one is set to
// 0.
constexpr u32 SUM_BUFFERS = 3;

// An EdgesBox is the bounding box of edges k to k + 31 and of the two nodes after them, in pixel corners.
constexpr u32 BOX_EDGES = 32;
struct EdgesBox {
    int x0, y0, x1, y1;
};

// A Change is what the move or removal of a node adds to the sum inside the polygon, and to twice the polygon's area.
struct Change {
    RegionSum sum;
    i64 area;
};
