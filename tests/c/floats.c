/* The floating-point environment of the calling thread: it changes no result, stops no call, and comes back after it. */
#include "images.h"
#include "operations.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif
#if defined(__SSE__) || defined(__aarch64__)
#define HAS_ENVIRONMENTS
#endif

enum { WIDTH = 48, HEIGHT = 40, DEPTH = 4, PIXELS = WIDTH * HEIGHT * DEPTH };

#ifdef __SSE__
/* Denormal numbers are 0, as with -ffast-math, rounding is upwards, and invalid operations, divisions by zero and overflows are
 * not masked, so that they end the process. */
enum { FLAGS = 0x3f, USUAL = 0x1f80, ODD = (0x1f80 & ~0x680) | 0xc040 };

static unsigned environment_now(void) {
    return _mm_getcsr();
}

static void set_environment(unsigned environment) {
    _mm_setcsr(environment);
}
#elif defined(__aarch64__)
/* Denormal numbers are 0, and rounding is upwards. Processors need not have traps. */
enum { FLAGS = 0, USUAL = 0, ODD = 1 << 24 | 1 << 22 };

static unsigned environment_now(void) {
    unsigned long long control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return (unsigned)control;
}

static void set_environment(unsigned environment) {
    const unsigned long long control = environment;
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
}
#endif

#ifdef HAS_ENVIRONMENTS

/* The results of an operation with its defaults. A context of its own has threads that no other environment has started. */
static void run_in(unsigned environment, const char *device, size_t operation, isoline_image input, isoline_image start,
                   uint8_t *bytes, float *floats) {
    any_params params;
    arguments given;
    memset(&given, 0, sizeof given);
    memset(bytes, 7, PIXELS);
    memset(floats, 0, PIXELS * sizeof *floats);
    GOOD(OPERATIONS[operation].init(&params));
    given.input = input;
    given.start = start;
    given.bytes = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, bytes);
    given.floats = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, floats);
    set_environment(environment);
    const isoline_status made = isoline_context_new(device, &given.context);
    const isoline_status status = made == ISOLINE_OK ? OPERATIONS[operation].run(&given, &params) : made;
    isoline_context_free(given.context);
    const unsigned after = environment_now() & ~(unsigned)FLAGS;
    set_environment(USUAL);
    CHECK_NUMBER(status, ISOLINE_OK);
    CHECK_NUMBER(after, environment);
}
#endif

static void the_environment_changes_no_result(const char *device) {
#ifdef HAS_ENVIRONMENTS
    if (strcmp(instrument(), "valgrind") == 0) {
        skip("valgrind has no such environments");
        return;
    }
    uint8_t *shape = drawing(WIDTH, HEIGHT, DEPTH, 3), *start = (uint8_t *)allocate(PIXELS), *bytes[2];
    float *pixels = (float *)allocate(PIXELS * sizeof *pixels), *floats[2];
    for (size_t i = 0; i < PIXELS; i++) {
        pixels[i] = (float)shape[i] / 3;
        start[i] = i % WIDTH / 8 == 2 && i / WIDTH % HEIGHT / 8 == 1;
    }
    for (int i = 0; i < 2; i++) {
        bytes[i] = (uint8_t *)allocate(PIXELS);
        floats[i] = (float *)allocate(PIXELS * sizeof(float));
    }
    const isoline_image inputs[] = {describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, pixels),
                                    describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, shape)};
    for (size_t operation = 0; operation < COUNT; operation++) {
        for (size_t type = 0; type < 2; type++) {
            const isoline_image initial = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, start);
            run_in(USUAL, device, operation, inputs[type], initial, bytes[0], floats[0]);
            run_in(ODD, device, operation, inputs[type], initial, bytes[1], floats[1]);
            check_that(memcmp(bytes[0], bytes[1], PIXELS) == 0 && memcmp(floats[0], floats[1], PIXELS * sizeof(float)) == 0,
                       __FILE__, __LINE__, "%s of type %zu has another result", OPERATIONS[operation].name, type);
        }
    }
    for (int i = 0; i < 2; i++) {
        free(bytes[i]);
        free(floats[i]);
    }
    free(pixels);
    free(start);
    free(shape);
#else
    (void)device;
    skip("written for x86-64 and Arm");
#endif
}

int main(void) {
    RUN_ON_EACH(the_environment_changes_no_result);
    return summary();
}
