// Edge drawing: the intermediate maps.
#pragma once
#include "edge_drawing_word.cuh"

// A thread has a pixel. Block (32, 8), grid (ceil(width/32), min(ceil(height/8), 65535)). Reads a word of the working
// map, writes 4, 1 and 1 bytes.
template <typename WORD>
__device__ __forceinline__ void maps_kernel(const isoline_ed_job &job, const isoline_ed_maps &maps)
{
    const u32 x = blockIdx.x * MAPS_X + threadIdx.x;
    if (x >= job.width) return;
    for (u64 y = static_cast<u64>(blockIdx.y) * MAPS_Y + threadIdx.y; y < job.height;
         y += static_cast<u64>(gridDim.y) * MAPS_Y) {
        const u32 word = static_cast<const WORD *>(job.map)[y * job.map_pitch + x];
        const u32 g = (word & Word<WORD>::GRADIENT) >> GRADIENT_SHIFT;
        const bool outermost = x == 0 || y == 0 || x == job.width - 1 || y == job.height - 1;
        if (maps.gradient) {
            const double own = job.margin > 0 && outermost ? maps.border : __dmul_rn(g, maps.unit);
            float *line = reinterpret_cast<float *>(reinterpret_cast<unsigned char *>(maps.gradient) +
                                                    y * maps.gradient_pitch);
            line[x] = __double2float_rn(fmin(own, MAX_FLOAT));
        }
        if (maps.direction)
            maps.direction[y * maps.direction_pitch + x] =
                g < job.threshold ? 0 : word & Word<WORD>::VERTICAL ? VERTICAL_EDGE : HORIZONTAL_EDGE;
        if (maps.anchors) maps.anchors[y * maps.anchors_pitch + x] = (word & TRACED) == TRACED ? 255 : 0;
    }
}
