// The update of one pixel, the same in every kernel: operations, their order and rounding are part of the contract with
// the CPU path. m is the time step, or 0 on the shape. k is the iteration's centre weight 4 + 1/rho^2 (6 in 3D), whose
// rounding error the host adds to the next iteration's. In 3D the neighbours along y and z have weights relative to those
// along x, (h_x/h_y)^2 and (h_x/h_z)^2; weights of 1, equal spacings, give the bits of plain sums.
//
// After every 16th iteration (number 16, 32, ... of all), values below FLUSH_THRESHOLD are set to 0. The reason is that
// some CPUs are slow with subnormal numbers: with the automatic time step and rho >= 0.62 (3D: 1.29) none occur, and with
// other parameters only few. The GPU does the same to get the same bits.
#pragma once

#include "common.cuh"
#include "edge_strength.h"

static_assert(FLUSH_THRESHOLD == 0x1p-80f, "exactly 2^-80");

// Returns the value after a flush: `flush_threshold` is FLUSH_THRESHOLD; 0 leaves all values as they are.
__device__ __forceinline__ float flush(float v, float flush_threshold) { return v < flush_threshold ? 0.0f : v; }

__device__ __forceinline__ float update_2d(float c, float left, float right, float up, float down, float m, float k)
{
    const float sum = __fadd_rn(__fadd_rn(left, right), __fadd_rn(up, down));
    return __fmaf_rn(m, __fmaf_rn(-k, c, sum), c);
}

// The weights of the neighbours along y and z.
struct AxisWeights {
    float y, z;

    // Returns the weighted sum of three sums of two neighbours. The multiplications take no instruction of their own.
    __device__ __forceinline__ float sum(float along_x, float along_y, float along_z) const
    {
        return __fmaf_rn(z, along_z, __fmaf_rn(y, along_y, along_x));
    }
};

// With weights that are not whole numbers the rounded sum may slightly exceed the centre's weight: hence the bound of 1,
// which is a modifier of the last instruction and costs nothing.
__device__ __forceinline__ float update_3d(float c, float left, float right, float up, float down, float front,
                                           float back, const AxisWeights &weights, float m, float k)
{
    const float sum = weights.sum(__fadd_rn(left, right), __fadd_rn(up, down), __fadd_rn(front, back));
    return __saturatef(__fmaf_rn(m, __fmaf_rn(-k, c, sum), c));
}
