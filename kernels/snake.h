// The constants and arguments of the region snakes' kernels that the crate shares.
#pragma once

#include "common.h"

// ------------------------------------------------------------------------------------------------ sums

// The bytes of a sector: a part of a row before which the sums of the row are stored. Rows begin at multiples of it.
constexpr u32 SECTOR_BYTES = 32;

struct isoline_snake_sum {
    i64 pixels, z, zz;
};

struct isoline_snake_image {
    const unsigned char *levels;
    const ulonglong2 *before;   // Σz, Σz²
    u64 pitch;                  // bytes
    u32 width, height;
    u32 sectors;                // entries of `before` per row: width / pixels in a sector + 1
};

// ------------------------------------------------------------------------------------------------ criterion

constexpr u32 NOISE_GAUSSIAN = 0, NOISE_POISSON = 1, NOISE_GAMMA = 2, NOISE_RAYLEIGH = 3, NOISE_BERNOULLI = 4;

// The smallest variance that counts is that of the rounding of integer pixels: a flat region would cost -infinity. The
// smallest mean keeps a black one from that.
constexpr double MIN_VARIANCE = 1.0 / 12.0, MIN_MEAN = 1e-3;

// ------------------------------------------------------------------------------------------------ search

// Threads of a block that searches alone (or sums rows), and of one in a group.
constexpr int ALONE_THREADS = 256;
constexpr int GROUP_THREADS = 512;

constexpr int CANDIDATE_COUNT = 8;   // candidate positions around a node

constexpr u32 STATUS_RUNNING = 0, STATUS_CONVERGED = 1, STATUS_VANISHED = 2, STATUS_LEFT_IMAGE = 3;
constexpr u32 STATUS_ITERATION_LIMIT = 4;

struct isoline_snake_target {
    isoline_snake_sum whole, inside;
    double cost, node_cost;
    u64 steps;
    i64 area;   // twice the area
    int x0, y0, x1, y1;
    u32 count;
    int distance;
    u32 phase, status;
};

// The memory that the blocks of a group share; 64 bytes keep groups apart.
struct Control {
    u32 arrived;
    u32 target;
    u32 padding[14];
};

struct isoline_snake_job {
    isoline_snake_image image;
    isoline_snake_target *targets;
    int2 *nodes;                // of each target, `capacity` apart
    isoline_snake_sum *edges;   // of each target, `capacity` apart
    unsigned char *workspace;   // of each group, `workspace_bytes` apart
    u64 workspace_bytes;
    Control *controls;   // of each group, all 0
    u32 *queue;          // the next target, 0
    double looks;
    u64 max_steps, steps;        // of a target in all; in this launch
    i64 spacing_squared;
    u32 target_count, capacity, max_nodes, noise;
    u32 blocks_per_group, groups;
    u32 state_in_shared_memory;   // whether a block's own state is in its shared memory
    u32 state_bytes;              // a block's own state
};

// ------------------------------------------------------------------------------------------------ workspace

// The sums that a group makes together have three buffers: one is written, one may still be read, one is set to 0.
constexpr u32 SUM_BUFFERS = 3;

// The bounding box of edges k to k + 31, and of the two nodes after them.
constexpr u32 BOX_EDGES = 32;
struct Box {
    int x0, y0, x1, y1;
};

// The numbers that a change adds to the sum, and to twice the area.
struct Change {
    isoline_snake_sum sum;
    i64 area;
};
