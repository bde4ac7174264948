// The constants that the kernels of all operations share with the crate.
//
// build.rs translates kernels/*.h to Rust, line by line: constants, and structs of arguments with one type a line. A
// change here is a change on both sides.
#pragma once

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

constexpr u32 WARP = 32;

// The bits of a mask row are stored 32 to a word. One pad word before the row and one after it hold the row's mirror
// image. MASK_LEAD + x/32 is the word of pixel x, for x from -32 on.
constexpr int MASK_WORD_BITS = 32;
constexpr int MASK_LEAD = 1;

// The largest integer level to which float pixels are scaled.
constexpr double MAX_LEVEL = 65535.0;

// The largest number of single precision.
constexpr double MAX_FLOAT = 3.4028234663852886e38;

// The threads of a block of the kernels that find the range of an image's pixels, and the sign bit of their pixels' keys.
constexpr u32 RANGE_THREADS = 256;
constexpr u32 FLOAT_SIGN = 0x80000000;
