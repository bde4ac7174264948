// The paper's two designs of edge strength, with one iteration per launch, for comparison. They give the same bits as
// `fused`.
//
//   shared   the paper's first design: a pixel per thread, a tile and its halo in shared memory. Two buffers instead of
//            the paper's in-place update, which has races between blocks.
//   texture  the paper's second design: neighbours through the texture unit, whose clamping is the Neumann border. The
//            texture is bound to the buffer itself, so without the paper's copy per iteration.
//
// `flush_threshold` holds the bits of FLUSH_THRESHOLD where the iteration is flushed (see edge_strength_update.cuh),
// else 0. They are bits because a float parameter costs the 3D kernel 12 registers.
#pragma once

#include "../edge_strength_update.cuh"

// ------------------------------------------------------------------------------------------------ shared

constexpr int HALO = 1;
static_assert(TILE_X == WARP, "a warp is one row of the tile, so that its mask bits are one word");

// One iteration. Thread (tx, ty) has pixel (bx*32 + tx, by*8 + ty). Block (32, 8), grid (ceil(width/32),
// min(ceil(height/8), 65535)); 1360 bytes of shared memory. Per pixel: reads 4 bytes (5.3 with the halo, which mostly
// hits the cache) and a mask bit, writes 4.
extern "C" __global__ void __launch_bounds__(TILE_X * TILE_Y)
isoline_es_shared_2d(const float *__restrict__ in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width,
                     u32 height, u64 pitch, u32 mask_pitch, float dt, float k, u32 flush_threshold)
{
    __shared__ float s_v[TILE_Y + 2 * HALO][TILE_X + 2 * HALO];
    const u32 tx = threadIdx.x, ty = threadIdx.y;
    const u32 x = blockIdx.x * TILE_X + tx, cx = min(x, width - 1);
    const u32 tile_rows = (height + TILE_Y - 1) / TILE_Y;

    for (u32 tile = blockIdx.y;;) {
        // 1. Load the tile; threads of its edges load the halo too. At the image border the neighbour is the pixel
        //    itself (Neumann); a thread beyond the image loads a copy of the border that is not used.
        const u32 y = tile * TILE_Y + ty, cy = min(y, height - 1);
        const float *pixel = in + cy * pitch + cx;
        s_v[ty + HALO][tx + HALO] = *pixel;
        if (tx == 0) s_v[ty + HALO][0] = pixel[x > 0 ? -1 : 0];
        if (tx == TILE_X - 1) s_v[ty + HALO][TILE_X + HALO] = pixel[x + 1 < width ? 1 : 0];
        if (ty == 0) s_v[0][tx + HALO] = *(y > 0 ? pixel - pitch : pixel);
        if (ty == TILE_Y - 1) s_v[TILE_Y + HALO][tx + HALO] = *(y + 1 < height ? pixel + pitch : pixel);
        __syncthreads();

        // 2. Update and store.
        if (x < width && y < height) {
            const u32 word = mask[y * static_cast<u64>(mask_pitch) + MASK_LEAD + blockIdx.x];
            const float m = (word >> tx) & 1u ? 0.0f : dt;
            const float v = update_2d(s_v[ty + HALO][tx + HALO], s_v[ty + HALO][tx], s_v[ty + HALO][tx + 2 * HALO],
                                      s_v[ty][tx + HALO], s_v[ty + 2 * HALO][tx + HALO], m, k);
            out[y * pitch + x] = flush(v, __uint_as_float(flush_threshold));
        }
        tile += gridDim.y;
        if (tile >= tile_rows) break;
        __syncthreads();   // the next tile of this block overwrites s_v
    }
}

static_assert(TILE3_X == WARP, "a warp is one row of the tile, so that its mask bits are one word");

// One iteration in 3D, a voxel per thread (tx, ty, tz). Block (32, 4, 4); grid (ceil(width/32), min(ceil(height/4),
// 65535), min(ceil(depth/4), 65535)); 4896 bytes of shared memory. Per voxel: reads 4 bytes (9.6 with the halo) and a
// mask bit, writes 4.
extern "C" __global__ void __launch_bounds__(TILE3_X * TILE3_Y * TILE3_Z)
isoline_es_shared_3d(const float *__restrict__ in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width,
                     u32 height, u32 depth, u64 pitch, u32 mask_pitch, float weight_y, float weight_z, float dt, float k,
                     u32 flush_threshold)
{
    __shared__ float s_v[TILE3_Z + 2 * HALO][TILE3_Y + 2 * HALO][TILE3_X + 2 * HALO];
    const int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
    const int x = blockIdx.x * TILE3_X + tx;
    const int tiles_y = (height + TILE3_Y - 1) / TILE3_Y, tiles_z = (depth + TILE3_Z - 1) / TILE3_Z;
    const u64 slice = pitch * height;
    const int cx = min(x, static_cast<int>(width) - 1);

    for (int tile_z = blockIdx.z; tile_z < tiles_z; tile_z += gridDim.z)
        for (int tile_y = blockIdx.y; tile_y < tiles_y; tile_y += gridDim.y) {
            const int y = tile_y * TILE3_Y + ty, z = tile_z * TILE3_Z + tz;
            const int cy = min(y, static_cast<int>(height) - 1), cz = min(z, static_cast<int>(depth) - 1);
            // 1. Load the tile and its halo (no corners: the stencil has none).
            const float *row = in + cz * slice + cy * pitch;
            float(*s)[TILE3_X + 2 * HALO] = s_v[tz + HALO];
            s[ty + HALO][tx + HALO] = row[cx];
            if (tx == 0) s[ty + HALO][0] = row[max(x - 1, 0)];
            if (tx == TILE3_X - 1) s[ty + HALO][TILE3_X + HALO] = row[clamp_index(x + 1, width)];
            if (ty == 0) s[0][tx + HALO] = in[cz * slice + max(y - 1, 0) * pitch + cx];
            if (ty == TILE3_Y - 1)
                s[TILE3_Y + HALO][tx + HALO] = in[cz * slice + clamp_index(y + 1, height) * pitch + cx];
            if (tz == 0) s_v[0][ty + HALO][tx + HALO] = in[max(z - 1, 0) * slice + cy * pitch + cx];
            if (tz == TILE3_Z - 1)
                s_v[TILE3_Z + HALO][ty + HALO][tx + HALO] = in[clamp_index(z + 1, depth) * slice + cy * pitch + cx];
            __syncthreads();

            // 2. Update and store.
            if (x < static_cast<int>(width) && y < static_cast<int>(height) && z < static_cast<int>(depth)) {
                const u64 line = static_cast<u64>(z) * height + y;
                const u32 word = mask[line * mask_pitch + MASK_LEAD + blockIdx.x];
                const float m = (word >> tx) & 1u ? 0.0f : dt;
                const float v = update_3d(s[ty + HALO][tx + HALO], s[ty + HALO][tx], s[ty + HALO][tx + 2 * HALO],
                                          s[ty][tx + HALO], s[ty + 2 * HALO][tx + HALO], s_v[tz][ty + HALO][tx + HALO],
                                          s_v[tz + 2 * HALO][ty + HALO][tx + HALO], {weight_y, weight_z}, m, k);
                out[line * pitch + x] = flush(v, __uint_as_float(flush_threshold));
            }
            __syncthreads();   // the next tile of this block overwrites s_v
        }
}

// ------------------------------------------------------------------------------------------------ texture

// One iteration. Thread mapping, block and grid are those of isoline_es_shared_2d; no shared memory. `in` is a texture
// object over the input buffer: pitch-linear f32, point filter, unnormalised, address mode clamp (the Neumann border).
// Width, height and pitch must be within the device's limits for linear 2D textures. Per pixel: five texture reads
// (4 bytes of memory traffic), a mask bit, writes 4.
extern "C" __global__ void __launch_bounds__(TILE_X * TILE_Y)
isoline_es_texture_2d(cudaTextureObject_t in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width,
                      u32 height, u64 pitch, u32 mask_pitch, float dt, float k, u32 flush_threshold)
{
    constexpr float CENTRE = 0.5f;   // texel centres; exact, as the texture limits keep x and y far below 2^23
    const int x = blockIdx.x * TILE_X + threadIdx.x;
    if (x >= static_cast<int>(width)) return;
    const int tile_rows = (height + TILE_Y - 1) / TILE_Y;

    for (int tile = blockIdx.y; tile < tile_rows; tile += gridDim.y) {
        const int y = tile * TILE_Y + threadIdx.y;
        if (y >= static_cast<int>(height)) return;
        const float u = x + CENTRE, w = y + CENTRE;
        const u32 word = mask[y * static_cast<u64>(mask_pitch) + MASK_LEAD + blockIdx.x];
        const float m = (word >> threadIdx.x) & 1u ? 0.0f : dt;
        const float v = update_2d(tex2D<float>(in, u, w), tex2D<float>(in, u - 1, w), tex2D<float>(in, u + 1, w),
                                  tex2D<float>(in, u, w - 1), tex2D<float>(in, u, w + 1), m, k);
        out[y * pitch + x] = flush(v, __uint_as_float(flush_threshold));
    }
}

// One iteration in 3D. Thread mapping, block and grid are those of isoline_es_shared_3d. `in` is a texture object over
// the linear input buffer (f32), at most 2^27 texels in all, so that an int can index it; linear textures do not clamp
// per axis, so the indices are clamped here. Per voxel: seven texture reads, a mask bit, writes 4.
extern "C" __global__ void __launch_bounds__(TILE3_X * TILE3_Y * TILE3_Z)
isoline_es_texture_3d(cudaTextureObject_t in, float *__restrict__ out, const u32 *__restrict__ mask, u32 width,
                      u32 height, u32 depth, u64 pitch, u32 mask_pitch, float weight_y, float weight_z, float dt, float k,
                      u32 flush_threshold)
{
    const int x = blockIdx.x * TILE3_X + threadIdx.x;
    if (x >= static_cast<int>(width)) return;
    const int tiles_y = (height + TILE3_Y - 1) / TILE3_Y, tiles_z = (depth + TILE3_Z - 1) / TILE3_Z;
    const int row = static_cast<int>(pitch), slice = row * static_cast<int>(height);

    for (int tile_z = blockIdx.z; tile_z < tiles_z; tile_z += gridDim.z)
        for (int tile_y = blockIdx.y; tile_y < tiles_y; tile_y += gridDim.y) {
            const int y = tile_y * TILE3_Y + threadIdx.y, z = tile_z * TILE3_Z + threadIdx.z;
            if (y >= static_cast<int>(height) || z >= static_cast<int>(depth)) continue;
            const int at = z * slice + y * row + x;
            const u64 line = static_cast<u64>(z) * height + y;
            const u32 word = mask[line * mask_pitch + MASK_LEAD + blockIdx.x];
            const float m = (word >> threadIdx.x) & 1u ? 0.0f : dt;
            const float v = update_3d(
                tex1Dfetch<float>(in, at), tex1Dfetch<float>(in, x > 0 ? at - 1 : at),
                tex1Dfetch<float>(in, x + 1 < static_cast<int>(width) ? at + 1 : at),
                tex1Dfetch<float>(in, y > 0 ? at - row : at),
                tex1Dfetch<float>(in, y + 1 < static_cast<int>(height) ? at + row : at),
                tex1Dfetch<float>(in, z > 0 ? at - slice : at),
                tex1Dfetch<float>(in, z + 1 < static_cast<int>(depth) ? at + slice : at), {weight_y, weight_z}, m, k);
            out[line * pitch + x] = flush(v, __uint_as_float(flush_threshold));
        }
}
