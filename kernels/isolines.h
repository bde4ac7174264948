// The constants and arguments of the isolines' kernels that the crate shares.
#pragma once

#include "common.h"

constexpr u32 IL_ROWS = 8;           // rows of a block of `classes`: a warp each
constexpr u32 IL_THREADS = 256;      // of a block of the other kernels
constexpr u32 IL_TILE = 8 * IL_THREADS;   // words whose crossings a block numbers
constexpr u32 IL_NONE = 0xFFFFFFFF;  // in place of the crossing that follows

// The arguments of all kernels, for one slice and level. `pitch` is the number of words of a row of bits. The words of
// crossings are in the order of their list: of each row of pixels those between left and right pixels, then those between
// upper and lower ones.
struct isoline_il_job {
    const unsigned char *pixels;
    u64 row_stride;        // bytes
    u32 *high, *finite;    // pitch * height words: the classes of pixels
    u32 *words, *before;   // 2 * pitch * height words: the crossings, and their number before each word
    u64 *sums;             // of each tile of words: its crossings, then those before it; behind them all crossings
    u32 *rows;             // 2 * height + 1: the crossings before each row of words, and all of them
    double *points;        // x and y of each crossing
    u32 *next;             // the crossing that follows, or IL_NONE
    double level;
    u32 width, height, pitch;
    u32 high_belong_together;   // in saddles
};
