// Edge drawing: the working map's words, and what its kernels share.
#pragma once
#include "common.cuh"
#include <type_traits>

// A word of the working map holds what linking needs of a pixel:
//   top bit                VERTICAL: a vertical edge passes (|gx| >= |gy|)
//   bits 2 .. top-1        the gradient |gx| + |gy|, 0 below the threshold
//   bits 0 and 1           WALKED: the states (pixel, minus heading) and (pixel, plus heading) are walked already, or by
//                          somebody else. A heading along the other direction is never walked here, so two bits do for
//                          four headings: minus is left on a horizontal edge and up on a vertical one, plus right and down.
//                          Anchors have both set from the start: each has walkers of its own.
// u8 images have words of 16 bits (a gradient of at most 2 * 16 * 255 = 8160), others of 32 (at most 2 * 16 * 65535).
constexpr u32 WALKED = 3;
constexpr u32 GRADIENT_SHIFT = 2;

template <typename WORD>
struct Word;
template <>
struct Word<unsigned short> {
    static constexpr u32 VERTICAL = 0x8000u, GRADIENT = 0x7FFCu;
};
template <>
struct Word<u32> {
    static constexpr u32 VERTICAL = 0x80000000u, GRADIENT = 0x7FFFFFFCu;
};

// What one slice's kernels are told; `Job` in src/edge_drawing/cuda/launch.rs repeats it.
struct isoline_ed_job {
    const unsigned char *pixels;   // the slice, rows row_stride bytes apart
    u64 row_stride;
    void *map;                     // words of the working map, map_pitch words apart, a multiple of 32; base at 256 bytes
    u64 map_pitch;
    unsigned char *edges;          // 0 or 255, rows edge_pitch bytes apart; may be null
    u64 edge_pitch;
    u32 *bits;                     // bit x % 32 of word x / 32 of a row of bit_pitch words: the edge map; may be null
    u32 *pending;                  // the same layout: anchors whose walks `rest` has to finish
    u32 *next;                     // with follow_turns: a word a pixel, width * height; else null
    u64 bit_pitch;                 // ceil(width / 32)
    u32 width, height;
    u32 side, centre;              // the operator's weights
    u32 low;                       // gradients below it become 0 in the map; 0 keeps all
    u32 threshold;                 // T: an anchor's gradient is at least this
    u32 anchor;                    // A
    u32 scan;
    u32 margin;                    // 0, or: anchors stay this far from the border, the outermost pixels have no gradient,
                                   // and gradients below T are 0 in memory whatever `low` is
    u32 link;                      // 0: anchors only
    u32 follow_turns;
    float minimum, scale;          // f32 images: q = (p - minimum) * scale
};

// Index of the pixel that the image, mirrored at the centre of its border pixels (reflect-101), has at i. Any i.
__device__ __forceinline__ int reflect(int i, int n)
{
    i = abs(i);
    if (i >= n) {
        const u32 period = max(2u * n - 2u, 1u);
        const int at = static_cast<u32>(i) % period;
        i = min(at, static_cast<int>(period) - at);   // n == 1: at is 0
    }
    return i;
}

// A float pixel as the CPU makes it an integer: NaN, and 0 times infinity, are 0.
__device__ __forceinline__ u32 quantise(float pixel, float minimum, float scale)
{
    constexpr float TOP = 65535.0f, HALF = 0.5f;
    float scaled = __fmul_rn(__fsub_rn(pixel, minimum), scale);
    scaled = scaled > 0.0f ? fminf(scaled, TOP) : 0.0f;
    return static_cast<u32>(__fadd_rn(scaled, HALF));
}

// Halves of two words in the order that `SELECT` names (as the hardware's permute; 8 added to a byte's number repeats its
// sign bit).
template <u32 SELECT>
__device__ __forceinline__ u32 permute(u32 a, u32 b)
{
    u32 result;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "n"(SELECT));
    return result;
}
