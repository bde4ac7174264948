// The paper's kernel in 3D (its tiling is M. Giles'), for comparison. A block marches along z over its columns, with
// three planes of phi and a halo of one pixel in shared memory, which its first threads load; there is one iteration
// per launch. D(I) is computed once, as floats. The gradients for both signs of the speed and six normals are computed
// for every voxel.
//
// Differences from the paper: this kernel writes to a second phi and waits for a whole plane before it computes, because
// the paper's kernel has races; the formulas are corrected and include spacings; pixels are repeated beyond the borders.
// The paper's roots of squares of roots are left out.
#pragma once
#include "../level_set_update.cuh"

constexpr int PAPER_ROW = PAPER_X + 2, PAPER_PLANE = PAPER_ROW * (PAPER_Y + 2);

// Block (PAPER_X, PAPER_Y), grid (ceil(width / PAPER_X), ceil(height / PAPER_Y)). Rows of phi and of `image` (-D(I))
// begin at multiples of setup.pitch, with the first pixel.
__device__ __forceinline__ void paper(const float *from, float *to, const float *image, const LevelSetSetup &setup)
{
    __shared__ float planes[3 * PAPER_PLANE];
    const int width = static_cast<int>(setup.width), height = static_cast<int>(setup.height);
    const int depth = static_cast<int>(setup.depth), i = static_cast<int>(threadIdx.x),
              j = static_cast<int>(threadIdx.y);
    const auto place = [&](int x, int y) {
        const int left = static_cast<int>(blockIdx.x) * PAPER_X, top = static_cast<int>(blockIdx.y) * PAPER_Y;
        return static_cast<u64>(clamp_index(top + y, height)) * setup.pitch + clamp_index(left + x, width);
    };
    const auto slot = [](int x, int y) { return PAPER_PLANE + (y + 1) * PAPER_ROW + x + 1; };    // of the middle plane

    // The halo: two rows of threads load the rows above and below, then the other threads both sides with the corners.
    const int k = j * PAPER_X + i;
    const bool halo = k < 2 * (PAPER_X + PAPER_Y + 2);
    const int halo_x = j < 2 ? i : k % 2 * (PAPER_X + 1) - 1;
    const int halo_y = j < 2 ? j * (PAPER_Y + 1) - 1 : k / 2 - PAPER_X - 1;
    const u64 plane = static_cast<u64>(setup.pitch) * setup.height;
    u64 at = place(i, j), halo_at = halo ? place(halo_x, halo_y) : 0;
    float *const mine = planes + slot(i, j), *const halo_mine = planes + (halo ? slot(halo_x, halo_y) : 0);
    const bool active =
        static_cast<int>(blockIdx.x) * PAPER_X + i < width && static_cast<int>(blockIdx.y) * PAPER_Y + j < height;

    const auto shift = [&](float *to_plane, u64 next, bool more) {
        to_plane[-PAPER_PLANE] = to_plane[0];
        to_plane[0] = to_plane[PAPER_PLANE];
        if (more) to_plane[PAPER_PLANE] = from[next];
    };
    mine[0] = mine[PAPER_PLANE] = from[at];
    if (halo) halo_mine[0] = halo_mine[PAPER_PLANE] = from[halo_at];
    for (int z = 0; z < depth; ++z) {
        const u64 here = at;
        at += plane, halo_at += plane;
        shift(mine, at, z + 1 < depth);
        if (halo) shift(halo_mine, halo_at, z + 1 < depth);
        __syncthreads();
        if (active) {
            const auto phi = [&](int dx, int dy, int dz) { return mine[dz * PAPER_PLANE + dy * PAPER_ROW + dx]; };
            const float old = phi(0, 0, 0);
            const float hx = setup.inv_dx, hy = setup.inv_dy, hz = setup.inv_dz;
            const float dxp = (phi(1, 0, 0) - old) * hx, dxm = (old - phi(-1, 0, 0)) * hx, dx = (dxp + dxm) / 2.0f;
            const float dyp = (phi(0, 1, 0) - old) * hy, dym = (old - phi(0, -1, 0)) * hy, dy = (dyp + dym) / 2.0f;
            const float dzp = (phi(0, 0, 1) - old) * hz, dzm = (old - phi(0, 0, -1)) * hz, dz = (dzp + dzm) / 2.0f;
            // The derivative along one axis, one voxel away along another.
            const auto along_x = [&](int ay, int az) { return (phi(1, ay, az) - phi(-1, ay, az)) * hx / 2.0f; };
            const auto along_y = [&](int ax, int az) { return (phi(ax, 1, az) - phi(ax, -1, az)) * hy / 2.0f; };
            const auto along_z = [&](int ax, int ay) { return (phi(ax, ay, 1) - phi(ax, ay, -1)) * hz / 2.0f; };
            const auto unit = [](float d, float a, float b) { return d / sqrtf(d * d + a * a + b * b + 1e-20f); };
            const float nxp = unit(dxp, (along_y(1, 0) + dy) / 2.0f, (along_z(1, 0) + dz) / 2.0f);
            const float nxm = unit(dxm, (along_y(-1, 0) + dy) / 2.0f, (along_z(-1, 0) + dz) / 2.0f);
            const float nyp = unit(dyp, (along_x(1, 0) + dx) / 2.0f, (along_z(0, 1) + dz) / 2.0f);
            const float nym = unit(dym, (along_x(-1, 0) + dx) / 2.0f, (along_z(0, -1) + dz) / 2.0f);
            const float nzp = unit(dzp, (along_x(0, 1) + dx) / 2.0f, (along_y(0, 1) + dy) / 2.0f);
            const float nzm = unit(dzm, (along_x(0, -1) + dx) / 2.0f, (along_y(0, -1) + dy) / 2.0f);
            const float curvature = (nxp - nxm) * hx + (nyp - nym) * hy + (nzp - nzm) * hz;
            const float speed = setup.curvature_weight * clamp_magnitude(curvature, setup.max_divergence) +
                                setup.intensity_gain * image[here];
            float rising = 0.0f, falling = 0.0f;
            const float forward[3] = {dxp, dyp, dzp}, backward[3] = {dxm, dym, dzm};
            for (int a = 0; a < 3; ++a) {
                const float f = fmaxf(forward[a], 0.0f), b = fmaxf(-backward[a], 0.0f);
                rising += f * f + b * b;
                const float g = fminf(forward[a], 0.0f), c = fminf(-backward[a], 0.0f);
                falling += g * g + c * c;
            }
            to[here] = old + speed * (speed > 0.0f ? sqrtf(rising) : sqrtf(falling));
        }
        __syncthreads();
    }
}
