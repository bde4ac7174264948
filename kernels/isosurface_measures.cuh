// The arithmetic of normals and measures, in double precision, operation by operation as in src/isosurface/measure.rs.
#pragma once

#include "common.cuh"
#include "isosurface.h"

struct Vector {
    double x, y, z;
};

__device__ __forceinline__ double dot(Vector a, Vector b)
{
    return __dadd_rn(__dadd_rn(__dmul_rn(a.x, b.x), __dmul_rn(a.y, b.y)), __dmul_rn(a.z, b.z));
}

__device__ __forceinline__ double product_difference(double a, double b, double c, double d)
{
    return __dsub_rn(__dmul_rn(a, b), __dmul_rn(c, d));
}

__device__ __forceinline__ Vector cross(Vector a, Vector b)
{
    return {product_difference(a.y, b.z, a.z, b.y), product_difference(a.z, b.x, a.x, b.z),
            product_difference(a.x, b.y, a.y, b.x)};
}

// Returns the vector to vertex `to` from vertex `from`.
__device__ __forceinline__ Vector vector_to(const isoline_is_job &job, u32 to, u32 from)
{
    const float *a = job.vertices + 3 * static_cast<u64>(to), *b = job.vertices + 3 * static_cast<u64>(from);
    return {__dsub_rn(a[0], b[0]), __dsub_rn(a[1], b[1]), __dsub_rn(a[2], b[2])};
}

// Returns the normal of a triangle; its length is twice the triangle's area.
__device__ __forceinline__ Vector normal_of(const isoline_is_job &job, u32 triangle)
{
    const u32 *own = job.triangles + 3 * static_cast<u64>(triangle);
    return cross(vector_to(job, own[1], own[0]), vector_to(job, own[2], own[0]));
}

// Returns whether a side's two vertices differ in place.
__device__ __forceinline__ bool has_length(const isoline_is_job &job, u32 triangle, u32 place)
{
    const u32 *own = job.triangles + 3 * static_cast<u64>(triangle);
    const Vector along = vector_to(job, own[(place + 1) % 3], own[place]);
    return along.x != 0.0 || along.y != 0.0 || along.z != 0.0;
}

// Returns the side that meets a side, and the normal of its triangle. A triangle without area has one side without length
// and two coincident ones; the walk goes in through one of these and out through the other. IS_NONE where the surface ends.
__device__ __forceinline__ u32 side_beyond(const isoline_is_job &job, u32 side, Vector *normal)
{
    for (u32 flat = 0; flat < IS_MOST_FLAT; ++flat) {
        side = job.sides[side];
        if (side == IS_NONE) return IS_NONE;
        const u32 triangle = side / 3, place = side % 3;
        *normal = normal_of(job, triangle);
        if (normal->x != 0.0 || normal->y != 0.0 || normal->z != 0.0) return side;
        const u32 next = (place + 1) % 3, last = (place + 2) % 3;
        const bool by_next = has_length(job, triangle, next);
        if (by_next == has_length(job, triangle, last)) return IS_NONE;
        side = 3 * triangle + (by_next ? next : last);
    }
    return IS_NONE;
}

// Returns the angle of the vector (cosine, sine), whose length may be any.
__device__ __forceinline__ double angle_of(double sine, double cosine)
{
    const double a = fabs(sine), b = fabs(cosine), high = fmax(a, b);
    if (high == 0.0) return 0.0;
    // 1. Turn the angle back by an eighth or a quarter of pi, so that the series needs few terms.
    double t = __ddiv_rn(fmin(a, b), high), turned = 0.0;
    if (t > IS_FAR_TANGENT) {
        t = __ddiv_rn(__dsub_rn(t, 1.0), __dadd_rn(t, 1.0));
        turned = IS_QUARTER_PI;
    } else if (t > IS_NEAR_TANGENT) {
        t = __ddiv_rn(__dsub_rn(t, IS_EIGHTH_TANGENT), __dadd_rn(1.0, __dmul_rn(t, IS_EIGHTH_TANGENT)));
        turned = IS_QUARTER_PI / 2.0;
    }
    // 2. Sum the series of the arc tangent.
    const double square = __dmul_rn(t, t);
    double sum = 0.0;
    #pragma unroll
    for (int term = IS_TERMS - 1; term >= 0; --term)
        sum = __dsub_rn(1.0 / (2 * term + 1), __dmul_rn(square, sum));
    // 3. Mirror it to its octant.
    double angle = __dadd_rn(turned, __dmul_rn(t, sum));
    if (a > b) angle = __dsub_rn(2.0 * IS_QUARTER_PI, angle);
    if (cosine < 0.0) angle = __dsub_rn(4.0 * IS_QUARTER_PI, angle);
    return copysign(angle, sine);
}

// Returns the measures of a triangle.
__device__ __forceinline__ isoline_is_sums measures_of(const isoline_is_job &job, u32 triangle)
{
    isoline_is_sums found = {};
    const u32 *own = job.triangles + 3 * static_cast<u64>(triangle);
    for (u32 place = 0; place < 3; ++place)
        if (job.sides[3 * triangle + place] == IS_NONE) found.borders += 1.0;
    const Vector normal = normal_of(job, triangle);
    const double twice = __dsqrt_rn(dot(normal, normal));
    if (twice == 0.0) return found;
    found.area = __dmul_rn(twice, 0.5);
    // The tetrahedron of the triangle and the first vertex of the surface.
    found.volume = __ddiv_rn(dot(vector_to(job, own[0], 0), cross(vector_to(job, own[1], 0), vector_to(job, own[2], 0))), 6.0);
    for (u32 place = 0; place < 3; ++place) {
        const u32 side = 3 * triangle + place;
        Vector other_normal;
        const u32 other = side_beyond(job, side, &other_normal);
        // The edge is counted once, with the first of the two sides that meet.
        if (other == IS_NONE || other < side) continue;
        const Vector along = vector_to(job, own[(place + 1) % 3], own[place]);
        const double length = __dsqrt_rn(dot(along, along));
        if (length == 0.0) continue;
        const double sine = __ddiv_rn(dot(cross(normal, other_normal), along), length), cosine = dot(normal, other_normal);
        // The normals of a fold do not give the sign of its angle. Most edges of a mask's surface are flat and need no arc
        // tangent.
        const bool is_fold = fabs(sine) < __dmul_rn(-cosine, IS_FOLD_TANGENT);
        const double fold = job.below ? 4.0 * IS_QUARTER_PI : -4.0 * IS_QUARTER_PI;
        const double angle = is_fold ? fold : sine == 0.0 && cosine > 0.0 ? 0.0 : angle_of(sine, cosine);
        found.curvature = __dadd_rn(found.curvature, __dmul_rn(__dmul_rn(length, angle), 0.5));
    }
    return found;
}
