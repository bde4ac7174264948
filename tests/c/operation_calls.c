/*
 * The context, the images, the callback and the report of every operation: misuse is refused, a cancel leaves the outputs, a
 * callback may not use its context, threads take turns, and calls leave nothing behind. image.c has every misuse of an image,
 * cancel.c the time that a cancel takes, and the tests of an operation what is its own.
 */
#include "images.h"
#include "operations.h"
#include "process.h"
#include "watch.h"

#include <pthread.h>

enum { WIDTH = 48, HEIGHT = 32, DEPTH = 4, PIXELS = WIDTH * HEIGHT * DEPTH, NOT_WRITTEN = 7 };

static arguments new_arguments(const char *device, uint32_t seed) {
    arguments made;
    uint8_t *start = (uint8_t *)allocate(PIXELS), *bytes = (uint8_t *)allocate(PIXELS);
    memset(bytes, NOT_WRITTEN, PIXELS);
    for (size_t i = 0; i < PIXELS; i++) {
        start[i] = i % WIDTH / 8 == 2 && i / WIDTH % HEIGHT / 8 == 1;
    }
    memset(&made, 0, sizeof made);
    made.context = open_context(device);
    made.input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, drawing(WIDTH, HEIGHT, DEPTH, seed));
    made.start = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, start);
    made.bytes = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, bytes);
    made.floats = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, unwritten(PIXELS));
    made.report = (isoline_report *)allocate(sizeof *made.report);
    GOOD(isoline_report_init(made.report, sizeof *made.report));
    return made;
}

static void end(arguments *given) {
    free(given->input.data);
    free(given->start.data);
    free(given->bytes.data);
    free(given->floats.data);
    free(given->report);
    isoline_context_free(given->context);
}

static int is_untouched(const arguments *given) {
    isoline_report none;
    GOOD(isoline_report_init(&none, sizeof none));
    none.struct_size = given->report->struct_size;
    if (memcmp(given->report, &none, sizeof none) != 0) {
        return 0;
    }
    for (size_t i = 0; i < PIXELS; i++) {
        if (((const uint8_t *)given->bytes.data)[i] != NOT_WRITTEN) {
            return 0;
        }
    }
    return is_unwritten((const float *)given->floats.data, PIXELS);
}

/* An operation with its defaults. */
static isoline_status run(size_t operation, const arguments *given) {
    any_params params;
    GOOD(OPERATIONS[operation].init(&params));
    return OPERATIONS[operation].run(given, &params);
}

/* `change` makes the call fail with `status` and a message that names the argument and has `word`; nothing is written. */
#define SPOILT(change, status, argument, word)                                                                         \
    do {                                                                                                               \
        arguments work = good;                                                                                         \
        any_params params;                                                                                             \
        GOOD(OPERATIONS[i].init(&params));                                                                             \
        change;                                                                                                        \
        check_status(OPERATIONS[i].run(&work, &params), (status), (word), __FILE__, __LINE__, #change);                \
        if (!CHECK_HAS(isoline_last_error(), argument) || !CHECK(is_untouched(&work))) {                               \
            printf("       that was %s\n", OPERATIONS[i].name);                                                        \
        }                                                                                                              \
    } while (0)

static void misuse_is_refused_by_name(const char *device) {
    arguments good = new_arguments(device, 1);
    for (size_t i = 0; i < COUNT; i++) {
        const char *input = i == INDEX_OF_distance ? "mask" : "input";
        SPOILT(work.context = NULL, ISOLINE_NULL_POINTER, "context", NULL);
        SPOILT(params.distance.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "params", "->struct_size");
        SPOILT(work.report->struct_size = 4, ISOLINE_INVALID_ARGUMENT, "report", "->struct_size");
        good.report->struct_size = sizeof *good.report;
        SPOILT(work.input.struct_size = 4, ISOLINE_INVALID_ARGUMENT, input, "->struct_size");
        SPOILT(work.input.spacing[0] = 0, ISOLINE_INVALID_ARGUMENT, input, "->spacing");
        SPOILT(work.input.width = 0, ISOLINE_INVALID_SIZE, input, NULL);
        SPOILT(work.input.type = 3, ISOLINE_INVALID_TYPE, input, "->type");
        SPOILT(work.input.data = NULL, ISOLINE_NULL_POINTER, input, "->data");
        if (strcmp(device, "cpu") == 0) {
            SPOILT(work.input.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, "CUDA", NULL);
        }
    }
    end(&good);
}

static void the_report_is_honest(const char *device) {
    for (size_t i = 0; i < COUNT; i++) {
        arguments given = new_arguments(device, 5);
        const isoline_report *report = given.report;
        const double started = seconds_now();
        GOOD(run(i, &given));
        const double seconds = seconds_now() - started;
        check_that(report->seconds_total > 0 && report->seconds_total <= seconds && report->seconds_compute > 0, __FILE__,
                   __LINE__, "%s: %g s, of them %g s computed, in %g s", OPERATIONS[i].name, report->seconds_total,
                   report->seconds_compute, seconds);
        check_number((double)report->slices_done, i == INDEX_OF_snake ? 1 : DEPTH, __FILE__, __LINE__, OPERATIONS[i].name);
        const int on_cpu = strcmp(device, "cpu") == 0 || i == INDEX_OF_isolines;
        CHECK_NUMBER(report->device_kind, on_cpu ? ISOLINE_DEVICE_CPU : ISOLINE_DEVICE_CUDA);
        CHECK(report->device_name[0] != '\0');
        end(&given);
    }
}

/* The seconds for which a callback has slept. */
typedef struct {
    int calls;
    double slept;
} sleeper;

static int sleep_at_first(void *user, double fraction, const char *stage) {
    sleeper *me = (sleeper *)user;
    (void)fraction;
    (void)stage;
    if (me->calls++ < 4) {
        const double before = seconds_now();
        usleep(20000);
        me->slept += seconds_now() - before;
    }
    return 0;
}

/* The first calls of a callback are made while an operation is still being prepared, such as the start of a level set. */
static void the_time_of_a_report_is_that_of_the_whole_call(const char *device) {
    for (size_t i = 0; i < COUNT; i++) {
        arguments given = new_arguments(device, 6);
        sleeper seen = {0, 0};
        isoline_progress progress;
        GOOD(isoline_progress_init(&progress, sizeof progress));
        progress.callback = sleep_at_first;
        progress.user = &seen;
        given.progress = &progress;
        GOOD(run(i, &given));
        check_that(seen.calls > 0 && given.report->seconds_total >= seen.slept, __FILE__, __LINE__,
                   "%s: %g s, of which %g s slept", OPERATIONS[i].name, given.report->seconds_total, seen.slept);
        end(&given);
    }
}

/* Rust gives the threads that it starts the stack that this variable says, unless the library chooses their size. */
static void run_all_with_stacks_of(const char *device, const char *bytes) {
    setenv("RUST_MIN_STACK", bytes, 1);
    for (size_t i = 0; i < COUNT; i++) {
        arguments given = new_arguments(device, 7);
        watch seen = {0, 0, 0, 0, 0};
        const isoline_progress progress = watched_by(&seen);
        given.progress = &progress;
        GOOD(run(i, &given));
        end(&given);
    }
}

static void a_small_stack_in_the_environment_ends_no_call(const char *device) {
    run_all_with_stacks_of(device, "1");
}

static void a_huge_stack_in_the_environment_ends_no_call(const char *device) {
    run_all_with_stacks_of(device, "1000000000000000");
}

static void a_cancel_leaves_the_outputs_untouched(const char *device) {
    for (size_t i = 0; i < COUNT; i++) {
        arguments given = new_arguments(device, 2);
        watch seen = {0, 1, 0, 0, 0};
        const isoline_progress progress = watched_by(&seen);
        given.progress = &progress;
        REFUSED(run(i, &given), ISOLINE_CANCELLED, "cancelled");
        CHECK(is_untouched(&given));
        seen.cancel_at = 0;
        seen.last = 0;
        GOOD(run(i, &given));
        check_that(seen.calls >= 2 && seen.bad == 0, __FILE__, __LINE__, "%s: %d calls, %d bad ones", OPERATIONS[i].name,
                   seen.calls, seen.bad);
        end(&given);
    }
}

/* A call of an operation, as a callback and a thread make it. */
typedef struct {
    size_t operation;
    arguments given;
    pthread_t thread;
    const void *bytes, *floats;
    int wrong;
} job;

static int call_again(void *user, double fraction, const char *stage) {
    const job *work = (const job *)user;
    (void)fraction;
    (void)stage;
    REFUSED(run(work->operation, &work->given), ISOLINE_BUSY, "context");
    CHECK(is_untouched(&work->given));
    return 0;
}

static void a_callback_may_not_use_its_context(const char *device) {
    for (size_t i = 0; i < COUNT; i++) {
        job inner;
        arguments outer = new_arguments(device, 3);
        isoline_context *const context = outer.context;
        isoline_progress progress;
        GOOD(isoline_progress_init(&progress, sizeof progress));
        progress.callback = call_again;
        progress.user = &inner;
        memset(&inner, 0, sizeof inner);
        inner.operation = i;
        inner.given = new_arguments(device, 3);
        isoline_context *const own = inner.given.context;
        inner.given.context = context;
        outer.progress = &progress;
        GOOD(run(i, &outer));
        inner.given.context = own;
        end(&inner.given);
        end(&outer);
    }
}

static void *run_often(void *user) {
    job *me = (job *)user;
    uint8_t *bytes = (uint8_t *)allocate(PIXELS);
    float *floats = unwritten(PIXELS);
    me->given.bytes.data = bytes;
    me->given.floats.data = floats;
    for (size_t round = 0; round < scaled(25, 3); round++) {
        for (size_t i = 0; i < PIXELS; i++) {
            bytes[i] = NOT_WRITTEN, floats[i] = UNWRITTEN;
        }
        me->wrong += !GOOD(run(me->operation, &me->given)) || memcmp(bytes, me->bytes, PIXELS) != 0 ||
                     memcmp(floats, me->floats, PIXELS * sizeof(float)) != 0;
    }
    free(bytes);
    free(floats);
    return NULL;
}

static void threads_take_turns_and_contexts_work_at_once(const char *device) {
    enum { MOST = 4 };
    for (size_t i = 0; i < COUNT; i++) {
        job jobs[MOST];
        arguments own[MOST];
        for (int k = 0; k < MOST; k++) {
            memset(&jobs[k], 0, sizeof jobs[k]);
            own[k] = new_arguments(device, 10 + (uint32_t)k);
            GOOD(run(i, &own[k]));
            jobs[k].operation = i;
            jobs[k].given = own[k];
            jobs[k].bytes = own[k].bytes.data, jobs[k].floats = own[k].floats.data;
        }
        for (int contexts = 1; contexts <= MOST; contexts *= 2) {
            for (int k = 0; k < MOST; k++) {
                jobs[k].given.context = own[k % contexts].context;
                pthread_create(&jobs[k].thread, NULL, run_often, &jobs[k]);
            }
            for (int k = 0; k < MOST; k++) {
                pthread_join(jobs[k].thread, NULL);
                check_number(jobs[k].wrong, 0, __FILE__, __LINE__, OPERATIONS[i].name);
            }
        }
        for (int k = 0; k < MOST; k++) {
            end(&own[k]);
        }
    }
}

static void call_once(void *user) {
    const job *work = (const job *)user;
    watch seen = {0, 1, 0, 0, 0};
    const isoline_progress progress = watched_by(&seen);
    arguments given = work->given;
    GOOD(run(work->operation, &given));
    given.progress = &progress;
    REFUSED(run(work->operation, &given), ISOLINE_CANCELLED, NULL);
    given.input.width = 0;
    REFUSED(run(work->operation, &given), ISOLINE_INVALID_SIZE, NULL);
}

static void calls_do_not_grow(const char *device, size_t operation) {
    job work;
    memset(&work, 0, sizeof work);
    work.operation = operation;
    work.given = new_arguments(device, 4);
    must_not_grow(call_once, &work, (int)scaled(50, 2), (int)scaled(500, 10));
    end(&work.given);
}

#define GROWTH_TEST(name, slices)                                                                                      \
    static void calls_of_##name##_do_not_grow(const char *device) { calls_do_not_grow(device, INDEX_OF_##name); }
EVERY_OPERATION(GROWTH_TEST)

#define RUN_GROWTH_TEST(name, slices) RUN_ON_EACH(calls_of_##name##_do_not_grow);
int main(void) {
    RUN_ON_EACH(misuse_is_refused_by_name);
    RUN_ON_EACH(the_report_is_honest);
    RUN_ON_EACH(the_time_of_a_report_is_that_of_the_whole_call);
    RUN_ON_EACH(a_small_stack_in_the_environment_ends_no_call);
    RUN_ON_EACH(a_huge_stack_in_the_environment_ends_no_call);
    RUN_ON_EACH(a_cancel_leaves_the_outputs_untouched);
    RUN_ON_EACH(a_callback_may_not_use_its_context);
    RUN_ON_EACH(threads_take_turns_and_contexts_work_at_once);
    EVERY_OPERATION(RUN_GROWTH_TEST)
    return summary();
}
