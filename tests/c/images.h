/* Test images, and the edge strength in double precision by its definition. */
#ifndef ISOLINE_TESTS_IMAGES_H
#define ISOLINE_TESTS_IMAGES_H

#include "check.h"

#include <math.h>

/* No edge strength has this value: an output that still holds it has not been written. */
static const float UNWRITTEN = -7.0f;

/* The tolerances of the documents: against exact arithmetic, and between scalar and fast code. */
static const double TOLERANCE_EXACT = 1e-5;
static const double TOLERANCE_SCALAR = 1e-6;

static inline uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static inline void *allocate(size_t bytes) {
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        printf("       the test itself has no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

/* Some grey noise under 100 with lines, dots and a filled box of 255: shapes at a threshold of 127. */
static inline uint8_t *drawing(size_t width, size_t height, size_t depth, uint32_t seed) {
    uint8_t *pixels = (uint8_t *)allocate(width * height * depth);
    for (size_t z = 0; z < depth; z++) {
        for (size_t y = 0; y < height; y++) {
            for (size_t x = 0; x < width; x++) {
                uint32_t noise = next_random(&seed);
                int line = (x + 2 * y + 3 * z + seed % 2) % 41 == 7;
                int box = x > width / 3 && x < width / 2 && y > height / 4 && y < height / 3 && z % 2 == 0;
                int dot = noise % 211 == 0;
                pixels[(z * height + y) * width + x] = (uint8_t)(line || box || dot ? 255 : noise % 100);
            }
        }
    }
    return pixels;
}

static inline float *unwritten(size_t count) {
    float *pixels = (float *)allocate(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        pixels[i] = UNWRITTEN;
    }
    return pixels;
}

static inline int is_unwritten(const float *pixels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (pixels[i] != UNWRITTEN) {
            return 0;
        }
    }
    return 1;
}

static inline isoline_image describe(uint32_t type, uint64_t width, uint64_t height, uint64_t depth, void *data) {
    isoline_image image;
    isoline_image_init(&image, sizeof image);
    image.type = type;
    image.width = width;
    image.height = height;
    image.depth = depth;
    image.data = data;
    return image;
}

static inline isoline_edge_strength_params defaults(void) {
    isoline_edge_strength_params params;
    isoline_edge_strength_params_init(&params, sizeof params);
    return params;
}

/* The defaults, and the shapes of drawing(). */
static inline isoline_edge_strength_params for_drawing(uint64_t iterations) {
    isoline_edge_strength_params params = defaults();
    params.threshold = 127;
    params.iterations = iterations;
    return params;
}

static inline isoline_context *open_context(const char *device) {
    isoline_context *context = NULL;
    isoline_status status = isoline_context_new(device, &context);
    if (status != ISOLINE_OK || context == NULL) {
        printf("       no context on %s: %s\n", device, isoline_last_error());
        exit(1);
    }
    return context;
}

static inline isoline_polyline_arrays polylines_of(const isoline_polylines *polylines) {
    isoline_polyline_arrays arrays;
    GOOD(isoline_polyline_arrays_init(&arrays, sizeof arrays));
    GOOD(isoline_polylines_all(polylines, &arrays));
    return arrays;
}

/* The number of warnings that a logger has had. */
static int warned;

static inline void note_warning(void *user, uint32_t level, const char *message) {
    (void)user;
    (void)message;
    warned += level == ISOLINE_LOG_WARN;
}

static inline double largest_difference(const float *a, const float *b, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        /* A NaN must not count as no difference. */
        largest = difference <= largest ? largest : difference;
        if (isnan(difference)) {
            return INFINITY;
        }
    }
    return largest;
}

static inline double largest_error(const float *a, const double *exact, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        double error = fabs((double)a[i] - exact[i]);
        if (isnan(error)) {
            return INFINITY;
        }
        largest = error > largest ? error : largest;
    }
    return largest;
}

/* Returns the value of a neighbour; beyond the border that of the pixel itself. */
static inline double neighbour(const double *v, const size_t size[3], const size_t at[3], int axis, int step) {
    size_t to[3] = {at[0], at[1], at[2]};
    if (step < 0 ? to[axis] > 0 : to[axis] + 1 < size[axis]) {
        to[axis] = step < 0 ? to[axis] - 1 : to[axis] + 1;
    }
    return v[(to[2] * size[1] + to[1]) * size[0] + to[0]];
}

/*
 * Eq. 3 of the paper: v' = v + dt (sum of the neighbours - (4 + 1/rho^2) v), in 3D 6 neighbours and 6 + 1/rho^2.
 * `v`: the start, 1 on shape pixels; replaced by the result. `shape`: not 0 where v stays as it is.
 */
static inline void exact_iterations(double *v, const uint8_t *shape, size_t width, size_t height, size_t depth,
                                    const isoline_edge_strength_params *params) {
    const size_t size[3] = {width, height, depth};
    const int axes = (int)params->dimensions;
    const double lambda = 1 / (params->rho * params->rho);
    const double limit = 1 / (2 * axes + lambda);
    const double automatic = fmin(axes == 2 ? 0.2 : 0.15, 0.9 * limit);
    const double step = params->time_step == ISOLINE_AUTOMATIC ? automatic : params->time_step;
    const size_t count = width * height * depth;
    double *next = (double *)allocate(count * sizeof(double));
    for (uint64_t iteration = 0; iteration < params->iterations; iteration++) {
        for (size_t i = 0; i < count; i++) {
            const size_t at[3] = {i % width, i / width % height, i / width / height};
            double sum = 0;
            for (int axis = 0; axis < axes; axis++) {
                sum += neighbour(v, size, at, axis, -1) + neighbour(v, size, at, axis, 1);
            }
            next[i] = shape[i] ? v[i] : v[i] + step * (sum - (2 * axes + lambda) * v[i]);
        }
        memcpy(v, next, count * sizeof(double));
    }
    free(next);
}

/* Returns the exact result of isoline_edge_strength for a packed 8-bit image whose non-shape pixels start at 0. */
static inline double *exact_edge_strength(const uint8_t *pixels, size_t width, size_t height, size_t depth,
                                          const isoline_edge_strength_params *params) {
    const size_t count = width * height * depth;
    double *v = (double *)allocate(count * sizeof(double));
    uint8_t *shape = (uint8_t *)allocate(count);
    for (size_t i = 0; i < count; i++) {
        int above = pixels[i] > params->threshold;
        shape[i] = (uint8_t)(params->foreground == ISOLINE_FOREGROUND_ABOVE ? above : !above);
        v[i] = shape[i] ? 1 : 0;
    }
    exact_iterations(v, shape, width, height, depth, params);
    free(shape);
    return v;
}

#endif
