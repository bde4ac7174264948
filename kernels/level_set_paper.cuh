// The paper's kernel in 3D, for comparison: one thread a voxel, every neighbour from global memory, six normals a voxel,
// one iteration a launch. Two things are not the paper's: it writes to a second phi (in place it races), and the formulas
// are the right ones. Packed rows.
#pragma once
#include "level_set_update.cuh"

// Block (32, 4), grid (ceil(width/32), ceil(height/4), depth).
template <typename PIXEL>
__device__ __forceinline__ void paper(const float *from, float *to, const PIXEL *image, const LevelSetField &field)
{
    const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y), z = static_cast<int>(blockIdx.z);
    const int width = static_cast<int>(field.width), height = static_cast<int>(field.height);
    const int depth = static_cast<int>(field.depth);
    if (x >= width || y >= height) return;
    auto phi = [&](int dx, int dy, int dz) {
        const u64 row = static_cast<u64>(clamp_index(z + dz, depth)) * field.height + clamp_index(y + dy, height);
        return from[row * field.width + clamp_index(x + dx, width)];
    };
    const float old = phi(0, 0, 0);
    const float hx = field.step_x, hy = field.step_y, hz = field.step_z;
    const float dxp = (phi(1, 0, 0) - old) * hx, dxm = (old - phi(-1, 0, 0)) * hx, dx = (dxp + dxm) / 2.0f;
    const float dyp = (phi(0, 1, 0) - old) * hy, dym = (old - phi(0, -1, 0)) * hy, dy = (dyp + dym) / 2.0f;
    const float dzp = (phi(0, 0, 1) - old) * hz, dzm = (old - phi(0, 0, -1)) * hz, dz = (dzp + dzm) / 2.0f;
    // The derivative along b, one voxel away along a.
    auto along_x = [&](int ay, int az) { return (phi(1, ay, az) - phi(-1, ay, az)) * hx / 2.0f; };
    auto along_y = [&](int ax, int az) { return (phi(ax, 1, az) - phi(ax, -1, az)) * hy / 2.0f; };
    auto along_z = [&](int ax, int ay) { return (phi(ax, ay, 1) - phi(ax, ay, -1)) * hz / 2.0f; };
    auto unit = [](float d, float a, float b) { return d / sqrtf(d * d + a * a + b * b + 1e-20f); };
    const float nxp = unit(dxp, (along_y(1, 0) + dy) / 2.0f, (along_z(1, 0) + dz) / 2.0f);
    const float nxm = unit(dxm, (along_y(-1, 0) + dy) / 2.0f, (along_z(-1, 0) + dz) / 2.0f);
    const float nyp = unit(dyp, (along_x(1, 0) + dx) / 2.0f, (along_z(0, 1) + dz) / 2.0f);
    const float nym = unit(dym, (along_x(-1, 0) + dx) / 2.0f, (along_z(0, -1) + dz) / 2.0f);
    const float nzp = unit(dzp, (along_x(0, 1) + dx) / 2.0f, (along_y(0, 1) + dy) / 2.0f);
    const float nzm = unit(dzm, (along_x(0, -1) + dx) / 2.0f, (along_y(0, -1) + dy) / 2.0f);
    const float curve = (nxp - nxm) * hx + (nyp - nym) * hy + (nzp - nzm) * hz;
    const u64 at = (static_cast<u64>(z) * field.height + y) * field.width + x;
    const float speed = image_term(field, image[at]) + field.bend * within(curve, field.sharpest);
    float square = 0.0f;
    const float forward[3] = {dxp, dyp, dzp}, backward[3] = {dxm, dym, dzm};
    for (int a = 0; a < 3; ++a) {
        const float f = speed > 0.0f ? fmaxf(forward[a], 0.0f) : fminf(forward[a], 0.0f);
        const float b = speed > 0.0f ? fminf(backward[a], 0.0f) : fmaxf(backward[a], 0.0f);
        square += f * f + b * b;
    }
    to[at] = old + speed * sqrtf(square);
}
