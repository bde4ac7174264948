/* Stacks that callbacks read and write slice by slice (ISOLINE_SLICES). */
#ifndef ISOLINE_TESTS_SLICES_H
#define ISOLINE_TESTS_SLICES_H

#include "images.h"

enum { WIDTH = 64, HEIGHT = 48, DEPTH = 9, SLICE = WIDTH * HEIGHT, COUNT = SLICE * DEPTH };

/* A stack that callbacks read and write, and what they are to do. */
typedef struct {
    isoline_context *context;
    unsigned char *pixels;
    size_t slice_bytes;
    uint64_t calls;
    /* The call that fails, cancels, or uses the library; from 0. */
    uint64_t when;
    int flag;
    const char *sentence;
    isoline_status again, other;
} tape;

static inline const char *act(tape *of, uint64_t slice) {
    const uint64_t call = of->calls++;
    if (of->when != UINT64_MAX) {
        CHECK_NUMBER(slice, call);
    }
    if (call != of->when) {
        return NULL;
    }
    of->flag = 1;
    if (of->context != NULL) {
        const isoline_image one = describe(ISOLINE_U8, 1, 1, 1, of->pixels);
        isoline_context *context = open_context("cpu");
        double threshold;
        of->again = isoline_edge_drawing_threshold(of->context, &one, NULL, &threshold);
        of->other = isoline_edge_drawing_threshold(context, &one, NULL, &threshold);
        isoline_context_free(context);
    }
    return of->sentence;
}

static inline const char *read_slice(void *user, uint64_t slice, void *pixels) {
    tape *from = (tape *)user;
    memcpy(pixels, from->pixels + slice * from->slice_bytes, from->slice_bytes);
    return act(from, slice);
}

static inline const char *write_slice(void *user, uint64_t slice, const void *pixels) {
    tape *to = (tape *)user;
    memcpy(to->pixels + slice * to->slice_bytes, pixels, to->slice_bytes);
    return act(to, slice);
}

static inline tape new_tape(void *pixels, size_t pixel_bytes) {
    tape made;
    memset(&made, 0, sizeof made);
    made.pixels = (unsigned char *)pixels;
    made.slice_bytes = SLICE * pixel_bytes;
    made.when = UINT64_MAX;
    return made;
}

static inline isoline_image streamed(uint32_t type, tape *user) {
    isoline_image image = describe(type, WIDTH, HEIGHT, DEPTH, NULL);
    image.memory = ISOLINE_SLICES;
    image.user = user;
    image.read_slice = read_slice;
    image.write_slice = write_slice;
    return image;
}

/* A valid call, of which each test makes one argument invalid, or one callback do something. */
typedef struct {
    isoline_context *context;
    uint8_t *drawn;
    float *strength;
    tape from, to;
    isoline_image input, output;
} job;

/* Lets the callbacks read and write again from the first slice on, and do nothing else. */
static inline void rewind_tapes(job *work) {
    work->from = new_tape(work->drawn, 1);
    work->to = new_tape(work->strength, sizeof(float));
}

/* The tapes are in the struct: it stays where it is. */
static inline void begin(job *made, const char *device) {
    made->context = open_context(device);
    made->drawn = drawing(WIDTH, HEIGHT, DEPTH, 1);
    made->strength = unwritten(COUNT);
    rewind_tapes(made);
    made->input = streamed(ISOLINE_U8, &made->from);
    made->output = streamed(ISOLINE_F32, &made->to);
}

static inline void end(job *work) {
    free(work->strength);
    free(work->drawn);
    isoline_context_free(work->context);
}

#endif
