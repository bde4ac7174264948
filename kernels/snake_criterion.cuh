// The criterion of a split into inside and background, with the bits of src/snake/criterion.rs: the operations are the
// same but for divisions by the number of pixels, which `quotient` makes from one reciprocal and rounds correctly.
// Every function works for one thread by itself, in registers.
#pragma once
#include "snake_sums.cuh"

// Returns ln x of a normal x > 0, with the operations of `ln` in src/snake/criterion.rs.
__device__ inline double natural_logarithm(double x)
{
    const u64 bits = static_cast<u64>(__double_as_longlong(x));
    i64 exponent = static_cast<i64>((bits >> 52) & 0x7ff) - 1023;
    double m = __longlong_as_double(static_cast<i64>((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull));
    if (m > 1.41421356237309504880) {
        m = __dmul_rn(m, 0.5);
        exponent += 1;
    }
    const double s = __ddiv_rn(__dadd_rn(m, -1.0), __dadd_rn(m, 1.0));
    const double z = __dmul_rn(s, s);
    double series = 1.0 / 23.0;
    #pragma unroll
    for (int odd = 21; odd >= 3; odd -= 2) series = __dadd_rn(__dmul_rn(series, z), 1.0 / odd);
    const double small = __dmul_rn(s, __dmul_rn(z, series));
    return __dadd_rn(__dmul_rn(2.0, __dadd_rn(small, s)),
                     __dmul_rn(static_cast<double>(exponent), 0.69314718055994530942));
}

// Returns an integer that orders costs as Rust's `total_cmp` does: -0 before 0.
__device__ __forceinline__ i64 sortable(double cost)
{
    const i64 bits = __double_as_longlong(cost);
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFFll);
}

// Returns the larger one, and `least` for NaN.
__device__ __forceinline__ double clamp_below(double value, double least) { return value > least ? value : least; }

// Returns p ln p, which is 0 at 0.
__device__ __forceinline__ double entropy_part(double p)
{
    return p > 0.0 ? __dmul_rn(p, natural_logarithm(p)) : 0.0;
}

// Returns a / b, rounded as a division is, where `inverse` is 1 / b, rounded likewise, and nothing comes near the ends
// of the range. The first correction leaves an error of less than a unit in the last place; the second finds its exact
// remainder (Markstein's theorem).
__device__ __forceinline__ double quotient(double a, double b, double inverse)
{
    double q = __dmul_rn(a, inverse);
    q = __fma_rn(__fma_rn(-b, q, a), inverse, q);
    return __fma_rn(__fma_rn(-b, q, a), inverse, q);
}

// Returns the cost of n binary pixels of which the share `mean` is 1.
__device__ __noinline__ double bernoulli_cost(double n, double mean)
{
    return __dmul_rn(-n, __dadd_rn(entropy_part(mean), entropy_part(__dadd_rn(1.0, -mean))));
}

// Returns the cost of one region, target or background, under the noise model NOISE_...: `Noise::cost` in
// src/snake/criterion.rs. A region without pixels costs nothing.
__device__ __forceinline__ double region_cost(u32 noise, double looks, RegionSum region)
{
    if (region.pixels <= 0) return 0.0;
    const double n = static_cast<double>(region.pixels), z = static_cast<double>(region.z);
    const double inverse = __drcp_rn(n);
    const double mean = quotient(z, n, inverse), square = quotient(static_cast<double>(region.zz), n, inverse);
    // Except for one noise the cost is a number times a logarithm.
    double of = clamp_below(mean, MIN_MEAN), times = n;
    switch (noise) {
    case NOISE_GAUSSIAN:
        of = clamp_below(__dadd_rn(square, -__dmul_rn(mean, mean)), MIN_VARIANCE);
        times = __dmul_rn(0.5, n);
        break;
    case NOISE_POISSON: times = -z; break;
    case NOISE_GAMMA: times = __dmul_rn(looks, n); break;
    case NOISE_RAYLEIGH: of = clamp_below(square, MIN_MEAN); break;
    default: return bernoulli_cost(n, mean);
    }
    return __dmul_rn(times, natural_logarithm(of));
}
