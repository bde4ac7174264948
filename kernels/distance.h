// The constants and arguments of the distance's kernels that the crate shares.
#pragma once

#include "common.h"

constexpr u32 DT_OCTET = 8;          // pixels
constexpr u32 DT_MIN_THREADS = 64, DT_MAX_THREADS = 1024;   // threads of a block of columns
constexpr u32 DT_TABLE_COLUMNS = 8;  // the fewest columns of a block that has a table of its terms
constexpr u32 DT_FAR_COLUMNS = 8;    // columns of a block whose columns are in global memory
constexpr u32 DT_COUNT = 4;          // words of the counter, so that what follows stays aligned
constexpr u32 DT_FOUND_BYTES = 12;   // in which a thread keeps the result of its search
constexpr u32 DT_ROWS = 8;           // rows of a block: a warp each

// The most octets that an octet examines on either side in the search in 16-bit numbers. DT_NEAR_MAX is the smallest term
// beyond them, as weights are at least 1. The conditions isoline_dt_near ensure that no minimum exceeds it.
constexpr u32 DT_NEAR_REACH = 11;
constexpr u32 DT_NEAR_MAX = (2 * (DT_NEAR_REACH * DT_OCTET + 1) - 1) * (2 * (DT_NEAR_REACH * DT_OCTET + 1) - 1);

// The pass along x. Strides of the pixels are in bytes, those of the output in floats.
struct isoline_dt_rows {
    const unsigned char *pixels;
    u64 row_stride, slice_stride;
    float *to;
    u64 to_row, to_slice;
    u32 width, height;
    u64 rows;        // of all slices
    u32 below;       // inside is below `cut` instead of at or above it
    u32 cut;         // of f32 its bits
    double weight;   // of the axis: the square of its spacing
};

// The conditions for the search near a boundary: sums are whole numbers, and all pixels of a column are near a boundary.
struct isoline_dt_near {
    float factor, part;   // the power of two that makes sums whole numbers, or 0 if there is none, and 1 over it
    float small;          // each octet of a column has one whose least value is at most this
    u32 around;           // and that is at most this many octets away
};

// A pass along y or z. Strides are in floats.
struct isoline_dt_columns {
    const float *from;
    float *to;
    u64 from_stride, to_stride;   // from pixel to pixel along the column
    u64 from_line, to_line;       // from one sheet of columns to the next
    double weight;                // of the axis: the square of its spacing
    u32 width, lines;             // columns of a sheet, and sheets
    u32 length;                   // pixels of a column
    u32 step_bits;   // octets from point to point, as a power of two: 1 octet except for columns in global memory
    float outside, inside;        // the last pass: the factors of the distances
    u32 last;
    isoline_dt_near near;
};
