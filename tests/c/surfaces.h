/* A bright ball on a dark background, to be segmented by a level set from a small ball inside it. */
#ifndef ISOLINE_TESTS_SURFACES_H
#define ISOLINE_TESTS_SURFACES_H

#include "images.h"
#include "watch.h"

enum { WIDTH = 22, HEIGHT = 20, DEPTH = 18, COUNT = WIDTH * HEIGHT * DEPTH, BRIGHT = 150, DARK = 40 };
/* No mask of a level set has this value: an output that still holds it has not been written. */
enum { NOT_WRITTEN = 77 };

static const isoline_sphere BALL = {{10.5, 9.5, 8.5}, 6.2}, SEED = {{10.5, 9.5, 8.5}, 2.5};

static inline isoline_level_set_params surface_defaults(void) {
    isoline_level_set_params params;
    GOOD(isoline_level_set_params_init(&params, sizeof params));
    return params;
}

/* The range of the ball's pixels, and more of the image than the automatic weight, which rounds so small a ball. */
static inline isoline_level_set_params for_the_ball(void) {
    isoline_level_set_params params = surface_defaults();
    params.target = BRIGHT;
    params.epsilon = 30;
    params.alpha = 0.2;
    return params;
}

/* A stopping criterion that is never met. */
static inline void never_stop(isoline_level_set_params *params) {
    params->change_tolerance = params->rms_tolerance = 0;
}

/* `value` in a ball, `ground` elsewhere; packed. */
static inline uint8_t *ball_of(const isoline_sphere *ball, uint8_t value, uint8_t ground) {
    uint8_t *pixels = (uint8_t *)allocate(COUNT);
    memset(pixels, ground, COUNT);
    isoline_image image = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, pixels);
    GOOD(isoline_mask_fill_spheres(&image, ball, 1, value));
    return pixels;
}

typedef struct {
    isoline_context *context;
    uint8_t *pixels, *start, *result;
    isoline_image input, initial, mask;
    isoline_level_set_params params;
    isoline_report report;
} surface_job;

static inline surface_job new_surface_job(const char *device) {
    surface_job made;
    memset(&made, 0, sizeof made);
    made.context = open_context(device);
    made.pixels = ball_of(&BALL, BRIGHT, DARK);
    made.start = ball_of(&SEED, 255, 0);
    made.result = (uint8_t *)allocate(COUNT);
    memset(made.result, NOT_WRITTEN, COUNT);
    made.input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, made.pixels);
    made.initial = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, made.start);
    made.mask = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, made.result);
    made.params = for_the_ball();
    GOOD(isoline_report_init(&made.report, sizeof made.report));
    return made;
}

static inline void end_surface_job(surface_job *work) {
    free(work->result);
    free(work->start);
    free(work->pixels);
    isoline_context_free(work->context);
}

static inline isoline_level_set *surface_of(const surface_job *work) {
    isoline_level_set *made = NULL;
    if (!GOOD(isoline_level_set_new(work->context, &work->input, &work->initial, &work->params, &made))) {
        exit(1);
    }
    return made;
}

static inline isoline_level_set_state state_of(isoline_level_set *surface) {
    isoline_level_set_state state;
    GOOD(isoline_level_set_state_init(&state, sizeof state));
    GOOD(isoline_level_set_info(surface, &state));
    return state;
}

/* φ, packed; the caller frees it. */
static inline float *phi_of(isoline_level_set *surface) {
    float *phi = unwritten(COUNT);
    isoline_image image = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, phi);
    GOOD(isoline_level_set_read_phi(surface, &image));
    return phi;
}

static inline void mask_of(isoline_level_set *surface, uint8_t *mask) {
    isoline_image image = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, mask);
    GOOD(isoline_level_set_read_mask(surface, &image));
}

/* φ after some iterations of a level set of its own; the caller frees it. */
static inline float *phi_after(const surface_job *work, size_t iterations) {
    isoline_level_set *surface = surface_of(work);
    GOOD(isoline_level_set_step(surface, iterations, NULL, NULL));
    float *phi = phi_of(surface);
    isoline_level_set_free(surface);
    return phi;
}

static inline int holds_only(const uint8_t *pixels, size_t count, uint8_t value) {
    for (size_t i = 0; i < count; i++) {
        if (pixels[i] != value) {
            return 0;
        }
    }
    return 1;
}

#endif
