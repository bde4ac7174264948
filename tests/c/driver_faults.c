/* Faults of a CUDA driver: in each operation, each call of the driver fails in turn, once by itself and once with all calls after
 * it, as after a fault of the device. The operation returns the status of a device that failed or of too little memory, or,
 * where the fault does not matter, its result; nothing hangs, nothing is lost, and after a single fault the context works on.
 * The driver is a fake whose kernels do nothing (drivers/cuda.c), so that any machine can run the test. */
#include "calls.h"
#include "fake_driver.h"

/* CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_UNKNOWN. */
enum { OUT_OF_MEMORY = 2, ILLEGAL_ADDRESS = 700, UNKNOWN = 999 };
enum { UNWRITTEN_BYTE = 77 };

/* The results of an operation if nothing fails. */
static size_t image_bytes;
static uint8_t *good_bytes, *good_floats;

/* The calls that make the result: an operation whose call of these failed has none. All but one allocation: it is tried again. */
static int makes_the_result(const char *function, int lasting) {
    const char *const names[] = {"Launch", "Memcpy", "Memset", "Module", "TexObjectCreate", "EventCreate", "EventRecord", "StreamCreate",
                                 "StreamWaitEvent", "FuncSetAttribute"};
    if (strstr(function, "Unload") != NULL) {
        return 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strstr(function, names[i]) != NULL) {
            return 1;
        }
    }
    return lasting && strstr(function, "MemAlloc") != NULL;
}

static int gives_back(const char *function) {
    return strstr(function, "Free") != NULL || strstr(function, "Destroy") != NULL || strstr(function, "Unload") != NULL ||
           strstr(function, "Unregister") != NULL || strstr(function, "Release") != NULL;
}

static isoline_status run_into_unwritten(isoline_status (*run)(void)) {
    memset(given.bytes, UNWRITTEN_BYTE, image_bytes);
    memset(given.floats, UNWRITTEN_BYTE, 4 * image_bytes);
    return run();
}

/* Runs an operation on a new context, the driver's call `at` failing, and says what was wrong. 0 if there are fewer calls. */
static int with_fault(const char *name, isoline_status (*run)(void), int at, int with, int lasting) {
    char call[200];
    *fake.fail_at = 0;
    given.context = open_context("cuda:0");
    *fake.calls = 0;
    *fake.failed = NULL;
    *fake.fail_on = lasting;
    *fake.fail_with = with;
    *fake.fail_at = at;
    isoline_status status = run_into_unwritten(run);
    const char *function = *fake.failed;
    snprintf(call, sizeof call, "%s, call %d (%s) fails with %d%s", name, at, function == NULL ? "none" : function, with,
             lasting ? ", as all after it" : "");
    if (status == ISOLINE_OK) {
        check_that(function == NULL || !makes_the_result(function, lasting), __FILE__, __LINE__, "%s, and nobody noticed", call);
        check_that(memcmp(given.bytes, good_bytes, image_bytes) == 0 && memcmp(given.floats, good_floats, 4 * image_bytes) == 0,
                   __FILE__, __LINE__, "%s, and the result is another", call);
    } else {
        check_that(function != NULL && (status == ISOLINE_DEVICE_FAILED || status == ISOLINE_OUT_OF_MEMORY), __FILE__, __LINE__,
                   "%s: %s (%s)", call, isoline_status_name(status), isoline_last_error());
    }
    if (!lasting) {
        *fake.fail_at = 0;
        /* A fault while something was given back is reported by the next call. */
        if (status == ISOLINE_OK && run() != ISOLINE_OK) {
            CHECK_HAS(isoline_last_error(), "FAKE_ERROR");
        }
        GOOD(run());
    }
    isoline_context_free(given.context);
    *fake.fail_at = 0;
    if (function != NULL && !lasting && !gives_back(function)) {
        check_that(*fake.held == 0, __FILE__, __LINE__, "%s: %d objects are lost", call, *fake.held);
        check_that(*fake.opened == *fake.closed, __FILE__, __LINE__, "%s: the device stays open", call);
    }
    fake.forget();
    return function != NULL;
}

static void each_call_may_fail(const char *name, isoline_status (*run)(void), int width, int height, int depth) {
    setenv("FAKE_WORKS", "1", 1);
    if (!with_driver("whole")) {
        return;
    }
    prepare_images(width, height, depth);
    image_bytes = (size_t)width * (size_t)height * (size_t)depth;
    good_bytes = (uint8_t *)allocate(image_bytes);
    good_floats = (uint8_t *)allocate(4 * image_bytes);
    given.context = open_context("cuda:0");
    GOOD(run_into_unwritten(run));
    isoline_context_free(given.context);
    memcpy(good_bytes, given.bytes, image_bytes);
    memcpy(good_floats, given.floats, 4 * image_bytes);
    CHECK_NUMBER(*fake.held, 0);
    const int statuses[] = {OUT_OF_MEMORY, ILLEGAL_ADDRESS, UNKNOWN};
    int calls = 0;
    /* Loops make the same calls again and again. */
    const int rarely = slow() || image_bytes > 1 << 20;
    for (int at = 1; with_fault(name, run, at, statuses[at % 3], 0); at += rarely ? 11 : 1 + at / 100) {
        with_fault(name, run, at, ILLEGAL_ADDRESS, 1);
        calls = at;
    }
    printf("       %s: %d calls of the driver\n", name, calls);
    /* Isolines are computed on the CPU. */
    CHECK(calls > 100 || run == isolines);
    free_images();
    free(good_bytes);
    free(good_floats);
}

#define TEST(run)                                                                                                      \
    static void each_fault_in_##run##_is_a_status(const char *device) {                                                \
        (void)device;                                                                                                  \
        each_call_may_fail(#run, run, 60, 52, 3);                                                                      \
    }
EACH_CALL(TEST)

/* All but the last of the slices fit, so that the volume is cut. */
static isoline_status distance_in_parts(void) {
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    const uint64_t fits = given.input.width * given.input.height * (given.input.depth - 1) * (1 + sizeof(float));
    GOOD(isoline_context_set_memory_limit(given.context, fits));
    isoline_status status = isoline_distance(given.context, &given.input, NULL, NULL, &given.float_output, &report);
    CHECK(status != ISOLINE_OK || report.part_count > 2);
    return status;
}

/* A slab of four slices, each of 60 x 52 pixels, of which two are a halo, fits. */
static isoline_status iterations_in_parts(void) {
    enum { MOST_BYTES = 130000 };
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    isoline_edge_strength_params params = defaults();
    params.dimensions = 3;
    params.iterations = 1;
    GOOD(isoline_context_set_memory_limit(given.context, MOST_BYTES));
    isoline_status status = isoline_edge_strength(given.context, &given.input, &params, NULL, &given.float_output, &report);
    CHECK(status != ISOLINE_OK || report.part_count > 1);
    return status;
}

static void each_fault_in_a_cut_volume_is_a_status(const char *device) {
    (void)device;
    each_call_may_fail("iterations in parts", iterations_in_parts, 60, 52, 5);
    each_call_may_fail("distance in parts", distance_in_parts, 60, 52, 3);
}

/* Large images are copied by several threads. */
static void each_fault_in_a_large_image_is_a_status(const char *device) {
    (void)device;
    if (slow()) {
        skip("it takes minutes under an instrument");
        return;
    }
    each_call_may_fail("distance", distance, 1200, 1000, 5);
}

static void each_fault_in_a_large_cut_volume_is_a_status(const char *device) {
    (void)device;
    if (slow()) {
        skip("it takes minutes under an instrument");
        return;
    }
    each_call_may_fail("distance in parts", distance_in_parts, 1200, 1000, 5);
}

#define RUN_TEST(run) RUN_ON(each_fault_in_##run##_is_a_status, "fake");
int main(void) {
    if (is_built_without_cuda()) {
        return summary();
    }
    EACH_CALL(RUN_TEST)
    RUN_ON(each_fault_in_a_cut_volume_is_a_status, "fake");
    RUN_ON(each_fault_in_a_large_image_is_a_status, "fake");
    RUN_ON(each_fault_in_a_large_cut_volume_is_a_status, "fake");
    return summary();
}
