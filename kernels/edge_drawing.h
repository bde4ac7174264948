// The constants and arguments of edge drawing's kernels that the crate shares.
#pragma once

#include "common.h"

// ------------------------------------------------------------------------------------------------ smoothing, words

// The Gaussian of sigma 1: its taps in units of 1/256.
constexpr u32 TAP_0 = 104, TAP_1 = 62, TAP_2 = 14;

// The two bits of a word of the working map that tracing uses, and the shift of the gradient above them; see
// edge_drawing_word.cuh.
constexpr u32 TRACED = 3;
constexpr u32 GRADIENT_SHIFT = 2;

// The arguments of the kernels. Smoothing, `tile` and `rest` process as many slices as the grid has blocks along z, and the
// slices of a map without a slice stride are contiguous; the other kernels process one slice. The address of an output that
// is not wanted is null.
struct isoline_ed_job {
    const unsigned char *pixels;   // rows row_stride bytes apart, slices slice_stride bytes
    u64 row_stride, slice_stride;
    void *map;                     // words of the working map, map_pitch words apart, a multiple of 32; base at 256 bytes
    u64 map_pitch;
    unsigned char *edges;          // 0 or 255, rows edge_pitch bytes apart, slices edge_slice_stride; may be null
    u64 edge_pitch, edge_slice_stride;
    u32 *bits;       // bit x % 32 of word x / 32 of a row of bit_pitch words: the edge map; may be null
    u32 *pending;    // the same layout: anchors whose traces `rest` has to finish
    u32 *next;       // with follow_turns: a word per pixel, width * height; else null
    u64 bit_pitch;   // ceil(width / 32)
    u32 width, height;
    u32 side, centre;   // the operator's weights
    u32 low;            // gradients below it become 0 in the map; 0 keeps all
    u32 threshold;      // T: an anchor's gradient is at least this
    u32 anchor;         // A
    u32 scan;
    u32 margin;                    // if not 0: anchors are at least this far from the border, the outermost pixels
                                   // have no gradient, and gradients below T are 0 in memory whatever `low` is
    u32 link;                      // 0: anchors only
    u32 follow_turns;
    float half_minimum, double_scale; // f32 images: q = (p / 2 - half_minimum) * double_scale
};

// ------------------------------------------------------------------------------------------------ tile

constexpr int ED_WARPS = 4;      // warps of a block
constexpr int TILE_BLOCKS = 5;   // per multiprocessor, which leaves 96 registers per thread
// Pixels of a lane: of u8 images, and of others.
constexpr int ED_LANE_NARROW = 8, ED_LANE_WIDE = 4;
constexpr int ED_STEPS = 3;
constexpr int ED_HALO_X = 8;
constexpr int ED_HALO_Y = ED_STEPS + 1;
constexpr int ED_GROUP = 8;      // pixels whose bits are a byte, and which are stored at once

// ------------------------------------------------------------------------------------------------ smooth

constexpr int SMOOTH_REACH = 30, SMOOTH_TAPS = SMOOTH_REACH + 1;   // the largest radius of a Gaussian, that of sigma 10
constexpr int SMOOTH_X = 32, SMOOTH_Y = 64;   // the pixels of a block
constexpr int SMOOTH_WARPS = 8;
constexpr int SMOOTH_RUN = 8;   // neighbouring pixels of a thread

// The output of `smooth`, and the Gaussian: its taps in units of 1/256, from the centre to one side. The sum of both
// sides is 256.
struct isoline_ed_smoothing {
    void *smoothed;   // rows smoothed_pitch bytes apart, slices follow each other
    u64 smoothed_pitch;
    double unit, origin;   // of float outputs: one unit of the working image, and its 0, in the image's own units
    u32 radius;
    u32 taps[SMOOTH_TAPS];
};

// ------------------------------------------------------------------------------------------------ rest

constexpr int REST_WARPS = 8;
constexpr int REST_LIST = WARP * 32;   // pixels of a warp: 32 words of bits

// ------------------------------------------------------------------------------------------------ intermediate maps

constexpr u32 MAPS_X = 32, MAPS_Y = 8;   // the block of `maps`
constexpr u32 HORIZONTAL_EDGE = 1, VERTICAL_EDGE = 2;   // the map of directions

// The outputs of `maps`; each may be null. Rows are *_pitch bytes apart.
struct isoline_ed_maps {
    float *gradient;
    u64 gradient_pitch;
    unsigned char *direction;
    u64 direction_pitch;
    unsigned char *anchors;
    u64 anchors_pitch;
    double unit;     // one unit of the working image in the image's own units
    double border;   // gradient of the outermost pixels in these units, if job.margin > 0
};

// ------------------------------------------------------------------------------------------------ segments

constexpr u32 SEGMENT_THREADS = 256;   // threads of a block
constexpr u32 LOOP_COUNT = 3;          // after the words for barriers of the grid: the word for the number of links of loops
constexpr u32 SEGMENT_VOTES = 4;
constexpr u32 MAX_ROUNDS = 16;         // of thinning: lines of up to twice as many pixels become one pixel wide
constexpr u32 SEGMENT_CLOSED = 1;      // the flag of a segment whose last point is linked to its first

// The memory and the results of the kernels for segments. Points, properties of segments and totals continue from slice to
// slice; everything else belongs to one slice.
struct isoline_ed_segments {
    u32 *thinned;        // the layout of job.bits
    u32 *pruned;         // the same: the map of which segments are made
    void *numbers;       // four u32 a word of the map: the number of its first link, and counts of links in binary digits
    u64 *sums;           // one a block
    u32 *votes;          // SEGMENT_VOTES
    u64 *link_count;     // one
    void *links;         // two u32 a link: its pixel, and which of its links this is
    void *states;        // two u32 a link: where it leads to
    u32 *loops;          // one a link: a list of those of loops
    u64 *gradients;      // one a segment: the sum over its points
    void *points;        // x and y of each point, u32
    u64 *offsets;        // the index of each segment's first point, and at the end the number of all; the first is 0
    u32 *flags;
    u32 *slices;
    float *mean_gradients;
    u64 *totals;         // the numbers of segments and of points
    double unit;         // one unit of the working image in the image's own units
    u32 slice;           // the number of the slice
    u32 min_length;      // chains of fewer points are dropped
    u32 wide;            // 1: the working map has words of 32 bits; 0: of 16
};
