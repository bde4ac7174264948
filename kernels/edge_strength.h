// The constants and arguments of edge strength's kernels that the crate shares.
#pragma once

#include "common.h"

// ------------------------------------------------------------------------------------------------ prepare

constexpr u32 PREPARE_WARPS = 8;                                  // warps of a block: rows that it processes at a time
constexpr u32 PREPARE_WORDS = WARP;                               // words of a warp: each lane stores one
constexpr u32 PREPARE_PIXELS = PREPARE_WORDS * MASK_WORD_BITS;    // pixels of those

// ------------------------------------------------------------------------------------------------ updates

constexpr float FLUSH_THRESHOLD = 8.271806e-25;   // 2^-80; see edge_strength_update.cuh

// The centre weights of the iterations that one fused launch makes, first to last.
constexpr int MAX_STEPS = 16;
struct isoline_es_weights {
    float k[MAX_STEPS];
};

constexpr int TILE_COLUMNS = 4;   // columns of a lane of a 2D tile: one float4

// ------------------------------------------------------------------------------------------------ fused, stream

constexpr int STREAM_STEPS = 8;                               // iterations of one launch: the levels
constexpr int STREAM_COLUMNS = 4;                             // adjacent columns of a lane: one float4
constexpr int STREAM_SPAN = STREAM_COLUMNS * WARP;            // 128 columns of a warp
constexpr int STREAM_HALO = 8;                                // STREAM_STEPS, rounded up to whole lanes
constexpr int STREAM_VALID = STREAM_SPAN - 2 * STREAM_HALO;   // 112 columns that a warp writes
constexpr int STREAM_BLOCKS = 12;                             // per multiprocessor, which leaves 168 registers

// Both sides of an image for the stream kernel are at least this, so that rows and lanes are mirrored at most once.
constexpr int STREAM_MIN_SIDE = 128;

// ------------------------------------------------------------------------------------------------ fused, tile

constexpr int FTILE_ROWS = 8;                            // rows of a warp
constexpr int FTILE_WARPS = 16;                          // warps of a block, one below the other
constexpr int FTILE_WIDTH = TILE_COLUMNS * WARP;         // 128
constexpr int FTILE_HEIGHT = FTILE_ROWS * FTILE_WARPS;   // 128

// ------------------------------------------------------------------------------------------------ fused, 3D

constexpr int F3_COLUMNS = 2;                   // adjacent columns of a lane: one float2
constexpr int F3_ROWS = 8;                      // rows of a warp
constexpr int F3_WARPS = 8;                     // warps of a block, one below the other
constexpr int F3_WIDTH = F3_COLUMNS * WARP;     // 64
constexpr int F3_HEIGHT = F3_ROWS * F3_WARPS;   // 64

// ------------------------------------------------------------------------------------------------ the paper's designs

// The block, a thread a pixel, in 2D and 3D.
constexpr int TILE_X = 32, TILE_Y = 8;
constexpr int TILE3_X = 32, TILE3_Y = 4, TILE3_Z = 4;

// ------------------------------------------------------------------------------------------------ multigrid

constexpr u32 MG_COARSEN_THREADS = 128;
constexpr u32 MG_ANY_FREE = 1, MG_ANY_FIXED = 2;   // flags of a coarse mask

constexpr int MG_FINE_STEPS = 6;      // on the finest grid, where steps are dearest, and for the first guess
constexpr int MG_COARSE_STEPS = 8;
constexpr int MG_MAX_STEPS = 8;

// Interpolation: 3/4 of the nearest coarse value and 1/4 of the next.
constexpr float MG_NEAR = 0.75, MG_FAR = 0.25;

// The step widths of one smoothing, first to last.
struct isoline_mg_weights {
    float w[MG_MAX_STEPS];
};

// The pixels that a block of a 2D smoothing writes: its tile without the halo. A lane of a small grid has fewer rows.
constexpr int MG_WARPS = 16;
constexpr int MG_FINE_X = 112, MG_FINE_Y = 112, MG_FINE_SMALL_Y = 16;
constexpr int MG_COARSE_X = 104, MG_COARSE_Y = 108, MG_COARSE_SMALL_Y = 12;

// The block of the 3D kernels, a thread a pixel.
constexpr int MG_BLOCK_X = 32, MG_BLOCK_Y = 4, MG_BLOCK_Z = 2;
