// The constants and arguments of the objects' kernels that the crate shares.
#pragma once

#include "common.h"

// A tile of voxels, which a block computes: a warp for each row of a slice, slice by slice.
constexpr u32 OB_COLUMNS = WARP, OB_ROWS = 4, OB_SLICES = 8;
constexpr u32 OB_THREADS = OB_COLUMNS * OB_ROWS;

constexpr u32 OB_BACKGROUND = 0;   // the label of voxels without an object

// The distance of voxels beside a front of the starts, as a share of the spacing across it.
constexpr double OB_START_DISTANCE = 0.5;

// Smaller changes of a distance are dropped, so that voxels at rest keep their bits.
constexpr double OB_SMALLEST_CHANGE = 5e-3;

// The slope at which the score falls where a voxel is brighter than its object's mean, as a share of the slope at which it
// grows below. Without this fall a dim object would take over bright neighbours, because all their voxels are more than
// bright enough for it.
constexpr double OB_FALL = 0.5;

// The number of label changes that a voxel makes with full steps. Each further change halves its steps, so that a voxel
// that alternates between two equally fitting labels comes to rest. After OB_MOST_CHANGES the steps stay as they are.
constexpr u32 OB_FREE_CHANGES = 3, OB_MOST_CHANGES = 30;

// A byte of each voxel on the device: the changes of its label, and whether it is of a start that stays.
constexpr u32 OB_CHANGES = 0x7F, OB_STAYS = 0x80;

// The most samples of a window: more would not make a mean better.
constexpr u32 OB_SAMPLES = 8192;

// The number of times that the background is measured before the first iteration, each time without the voxels that are
// nearer to the object's mean than to the last background.
constexpr u32 OB_FIRST_ROUNDS = 6;

// The score is updated only when one of the two means has changed by this share of the difference between object and
// background, so that fronts come to rest.
constexpr double OB_SMALLEST_SHIFT = 0.015625;

// Paths of fronts are added as integers in units of the smallest spacing divided by this, so that the order of additions
// does not matter.
constexpr double OB_WAY_PARTS = 65536.0;

// The largest level.
constexpr u32 OB_MOST_LEVEL = 0xFFFF;

// The score of an object at a level is level * gain + offset, before it is bounded.
struct isoline_ob_score {
    float gain, offset;
};

// An object. The sums are over its voxels, and `ends` the smallest x, y and z, and the negated largest ones.
struct isoline_ob_object {
    u64 sum_of_voxels, sum_of_levels;
    u64 moved;                           // voxels that it has gained or lost since the fronts were judged last
    u64 way;                             // of its front in the last iteration, the sum over the voxels beside it
    u32 ends[6];
    u64 voxels;
    double mean, background;             // levels; NaN where there is none
    double used_mean, used_background;   // those that the score is made of
};

// The arguments of all kernels. Voxels are packed, x fastest. Lengths are in units of the smallest spacing; inverse squares
// are 0 along z of an image of one slice.
struct isoline_ob_job {
    const u32 *labels;                     // before an iteration, or at a check
    const float *distances;
    u32 *new_labels;                       // after an iteration; at a check those before the last iteration
    float *new_distances;
    unsigned char *facts;                  // OB_CHANGES and OB_STAYS
    const unsigned short *levels;
    u32 *judged;                           // the labels when the fronts were judged last
    const isoline_ob_score *scores;        // of each label
    isoline_ob_score *new_scores;          // the same
    isoline_ob_object *objects;            // of each label
    u32 *answer;                           // 1 if a score has changed, or a front has moved
    const unsigned char *changed;          // of each tile: a voxel changed in the last iteration
    unsigned char *new_changed;
    double change_tolerance;
    double most_moved;                     // see Plan::has_moved
    double interval;                       // the iterations since the fronts were judged last, divided by OB_WAY_PARTS
    u32 width, height, depth;
    u32 tiles[3];
    u32 margin[3];                         // of a window, in voxels
    u32 keep_starts;
    float spacing[3];
    float inverse_squares[3];
    float far;
    float image_weight, curvature_weight;
    u32 label_count;                       // of the objects and the background
};
