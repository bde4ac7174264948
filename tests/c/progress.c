/* Progress, cancelling, and the calls that a callback may make. */
#include "images.h"
#include "process.h"

#include <pthread.h>

enum { SIDE = 96, COUNT = SIDE * SIDE };

/* The header promises 100 ms of work; a shared machine adds to that. */
static const double CANCEL_SECONDS = 0.1;
static const double SLACK_SECONDS = 0.25;

/* The observations of the callback below, and the call at which it cancels. */
typedef struct {
    int calls;
    int cancel_at; /* which call answers nonzero, from 1; 0: none */
    int answer;
    int cancelled;
    int fell;
    int out_of_range;
    int bad_stage;
    int wrong_thread;
    double last_fraction;
    double called;
    double longest_gap;
    pthread_t thread;
} watch;

static watch new_watch(int cancel_at) {
    watch made;
    memset(&made, 0, sizeof made);
    made.cancel_at = cancel_at;
    made.answer = 1;
    made.thread = pthread_self();
    return made;
}

static int look(void *user, double fraction, const char *stage) {
    watch *seen = (watch *)user;
    double now = seconds_now();
    double gap = seen->calls > 0 ? now - seen->called : 0;
    seen->longest_gap = gap > seen->longest_gap ? gap : seen->longest_gap;
    seen->called = now;
    seen->calls++;
    seen->out_of_range += !(fraction >= 0 && fraction <= 1);
    seen->fell += fraction < seen->last_fraction;
    seen->last_fraction = fraction;
    seen->bad_stage += stage == NULL || stage[0] == '\0';
    seen->wrong_thread += !pthread_equal(pthread_self(), seen->thread);
    if (seen->cancel_at > 0 && seen->calls >= seen->cancel_at) {
        seen->cancelled = 1;
        return seen->answer;
    }
    return 0;
}

static isoline_progress told_by(isoline_progress_fn callback, void *user) {
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    progress.callback = callback;
    progress.user = user;
    return progress;
}

/* A call of any size, with its pixels. */
typedef struct {
    isoline_context *context;
    size_t width, height, depth, count;
    uint8_t *pixels;
    float *strength;
    isoline_image input, output;
    isoline_edge_strength_params params;
} job;

static job new_job(const char *device, size_t width, size_t height, size_t depth, uint64_t iterations) {
    job made;
    made.context = open_context(device);
    made.width = width;
    made.height = height;
    made.depth = depth;
    made.count = width * height * depth;
    made.pixels = drawing(width, height, depth, 3);
    made.strength = unwritten(made.count);
    made.input = describe(ISOLINE_U8, width, height, depth, made.pixels);
    made.output = describe(ISOLINE_F32, width, height, depth, made.strength);
    made.params = for_drawing(iterations);
    return made;
}

static isoline_status run(job *work, const isoline_progress *progress) {
    return isoline_edge_strength(work->context, &work->input, &work->params, progress, &work->output, NULL);
}

static void end(job *work) {
    free(work->strength);
    free(work->pixels);
    isoline_context_free(work->context);
}

/* Enough that no device finishes before the test cancels, and few enough that a cancel without effect ends. */
static job long_job(const char *device) {
    int cuda = strcmp(device, "cpu") != 0;
    size_t side = slow() ? 64 : cuda ? 4096 : 2048;
    return new_job(device, side, side, 1, slow() || cuda ? 1000000 : 20000);
}

static void looks_right(const watch *seen) {
    CHECK(seen->calls >= 1);
    CHECK_NUMBER(seen->fell, 0);
    CHECK_NUMBER(seen->out_of_range, 0);
    CHECK_NUMBER(seen->bad_stage, 0);
    CHECK_NUMBER(seen->wrong_thread, 0);
}

static void progress_rises_on_the_calling_thread(const char *device) {
    size_t side = scaled(1024, 128);
    job work = new_job(device, side, side, 1, scaled(600, 50));
    /* Called about every 30 ms, to near the end: judged only where the call took a while. Other work on the machine may hold up
     * one call, but hardly each of three. */
    int good = 0;
    for (int attempt = 0; attempt < 3 && !good; attempt++) {
        watch seen = new_watch(0);
        isoline_progress progress = told_by(look, &seen);
        double started = seconds_now();
        GOOD(run(&work, &progress));
        double seconds = seconds_now() - started;
        looks_right(&seen);
        good = slow() || seconds <= 0.3 || (seen.calls >= 3 && seen.longest_gap < 0.5 && seen.last_fraction > 0.2);
    }
    CHECK(good);
    end(&work);
}

static void progress_of_a_stack_rises(const char *device) {
    /* Many small slices: a fraction could decrease at the borders between them. */
    job work = new_job(device, 64, 64, scaled(3000, 30), 40);
    watch seen = new_watch(0);
    isoline_progress progress = told_by(look, &seen);
    GOOD(run(&work, &progress));
    looks_right(&seen);
    end(&work);
}

static void progress_of_a_volume_rises(const char *device) {
    job work = new_job(device, 64, 64, scaled(64, 8), scaled(300, 20));
    work.params.dimensions = 3;
    watch seen = new_watch(0);
    isoline_progress progress = told_by(look, &seen);
    GOOD(run(&work, &progress));
    looks_right(&seen);
    end(&work);
}

static void progress_of_the_converged_mode_rises(const char *device) {
    size_t side = scaled(512, 64);
    job work = new_job(device, side, side, 2, 0);
    work.params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    work.params.rho = 16;
    watch seen = new_watch(0);
    isoline_progress progress = told_by(look, &seen);
    GOOD(run(&work, &progress));
    looks_right(&seen);
    end(&work);
}

static void progress_changes_no_pixel(const char *device) {
    job work = new_job(device, SIDE, SIDE, 3, 100);
    GOOD(run(&work, NULL));
    float *without = work.strength;
    work.strength = unwritten(work.count);
    work.output.data = work.strength;
    watch seen = new_watch(0);
    isoline_progress progress = told_by(look, &seen);
    GOOD(run(&work, &progress));
    CHECK(memcmp(without, work.strength, work.count * sizeof(float)) == 0);
    /* Without a callback the struct has no effect. */
    progress = told_by(NULL, &seen);
    GOOD(run(&work, &progress));
    CHECK(memcmp(without, work.strength, work.count * sizeof(float)) == 0);
    free(without);
    end(&work);
}

static int count_without_user(void *user, double fraction, const char *stage) {
    (void)fraction;
    (void)stage;
    CHECK(user == NULL);
    return 0;
}

static void user_may_be_null(const char *device) {
    job work = new_job(device, SIDE, SIDE, 1, 20);
    isoline_progress progress = told_by(count_without_user, NULL);
    GOOD(run(&work, &progress));
    end(&work);
}

static void a_bad_progress_struct_is_refused_before_any_work(const char *device) {
    job work = new_job(device, SIDE, SIDE, 1, 20);
    const uint32_t sizes[] = {0, 3, sizeof(isoline_progress) - 1};
    watch seen = new_watch(0);
    isoline_progress progress = told_by(look, &seen);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        progress.struct_size = sizes[i];
        REFUSED(run(&work, &progress), ISOLINE_INVALID_ARGUMENT, "progress->struct_size");
    }
    progress = told_by(look, &seen);
    progress.reserved = 1;
    REFUSED(run(&work, &progress), ISOLINE_INVALID_ARGUMENT, "progress->reserved");

    struct {
        isoline_progress known;
        uint64_t more[2];
    } newer = {told_by(look, &seen), {0, 1}};
    newer.known.struct_size = sizeof newer;
    REFUSED(run(&work, &newer.known), ISOLINE_UNSUPPORTED, "progress");
    CHECK_NUMBER(seen.calls, 0);
    CHECK(is_unwritten(work.strength, work.count));
    newer.more[1] = 0;
    GOOD(run(&work, &newer.known));
    CHECK(seen.calls > 0);
    end(&work);
}

static void a_refused_call_tells_no_progress(const char *device) {
    job work = new_job(device, SIDE, SIDE, 1, 20);
    watch seen = new_watch(0);
    isoline_progress progress = told_by(look, &seen);
    work.params.rho = -1;
    REFUSED(run(&work, &progress), ISOLINE_INVALID_ARGUMENT, "rho");
    work.params = for_drawing(20);
    work.output.type = ISOLINE_U8;
    REFUSED(run(&work, &progress), ISOLINE_INVALID_TYPE, "output");
    CHECK_NUMBER(seen.calls, 0);
    end(&work);
}

static void any_nonzero_answer_cancels_at_once(const char *device) {
    job work = long_job(device);
    const int answers[] = {1, -1, 256, 1 << 16, -2147483647 - 1};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        watch seen = new_watch(1);
        seen.answer = answers[i];
        isoline_progress progress = told_by(look, &seen);
        REFUSED(run(&work, &progress), ISOLINE_CANCELLED, "cancel");
        CHECK(is_unwritten(work.strength, work.count));
    }
    end(&work);
}

/* Cancels a long call at its third callback; returns the time until it returned. */
static double cancel_in_the_middle(job *work) {
    watch seen = new_watch(3);
    isoline_progress progress = told_by(look, &seen);
    isoline_report report, before;
    GOOD(isoline_report_init(&report, sizeof report));
    before = report;
    REFUSED(isoline_edge_strength(work->context, &work->input, &work->params, &progress, &work->output, &report),
            ISOLINE_CANCELLED, "cancel");
    double seconds = seconds_now() - seen.called;
    looks_right(&seen);
    CHECK(memcmp(&report, &before, sizeof report) == 0);
    return seconds;
}

/* Other work on the machine may delay one cancel, but hardly ten in a row. */
static void comes_back_in_time(const char *device, job *work) {
    double best = INFINITY;
    for (int attempt = 0; attempt < 10 && (attempt == 0 || best > CANCEL_SECONDS); attempt++) {
        best = fmin(best, cancel_in_the_middle(work));
    }
    check_that(slow() || best <= CANCEL_SECONDS + SLACK_SECONDS, __FILE__, __LINE__, "cancelling took %.0f ms",
               1e3 * best);
    /* The context still works. */
    isoline_context *fresh = open_context(device);
    work->input.width = work->input.height = work->output.width = work->output.height = 40;
    work->input.depth = work->output.depth = 1;
    work->params = for_drawing(30);
    GOOD(run(work, NULL));
    float *wanted = unwritten(40 * 40);
    isoline_image output = describe(ISOLINE_F32, 40, 40, 1, wanted);
    GOOD(isoline_edge_strength(fresh, &work->input, &work->params, NULL, &output, NULL));
    CHECK(memcmp(wanted, work->strength, 40 * 40 * sizeof(float)) == 0);
    free(wanted);
    isoline_context_free(fresh);
}

static void a_cancel_in_the_middle_comes_back_in_time(const char *device) {
    job work = long_job(device);
    comes_back_in_time(device, &work);
    end(&work);
}

static void a_cancel_of_the_scalar_variant_comes_back_in_time(const char *device) {
    job work = long_job(device);
    work.params.variant = ISOLINE_EDGE_STRENGTH_SCALAR;
    comes_back_in_time(device, &work);
    end(&work);
}

static void a_cancel_of_a_volume_comes_back_in_time(const char *device) {
    size_t side = scaled(256, 24);
    job work = new_job(device, side, side, side / 2, !slow() && strcmp(device, "cpu") == 0 ? 10000 : 500000);
    work.params.dimensions = 3;
    comes_back_in_time(device, &work);
    end(&work);
}

static void a_cancel_of_a_grey_start_comes_back_in_time(const char *device) {
    job work = long_job(device);
    work.params.start = ISOLINE_EDGE_STRENGTH_START_IMAGE;
    comes_back_in_time(device, &work);
    end(&work);
}

static void a_cancel_of_the_converged_mode_comes_back_in_time(const char *device) {
    /* The tolerance cannot be met, so that the call runs at least 100 cycles, or until it is cancelled. */
    size_t side = scaled(2048, 256);
    job work = new_job(device, side, side, 1, 0);
    work.params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    work.params.tolerance = 1e-300;
    work.params.max_cycles = 1000000;
    comes_back_in_time(device, &work);
    end(&work);
}

/* A call that is cancelled, however late, returns ISOLINE_CANCELLED. */
static void a_late_cancel_is_not_ignored(const char *device) {
    size_t side = scaled(6000, 100);
    job work = new_job(device, side, side, 1, 2);
    int ended = 0;
    for (int at = 1; at < 200 && !ended; at++) {
        watch seen = new_watch(at);
        isoline_progress progress = told_by(look, &seen);
        isoline_status status = run(&work, &progress);
        if (seen.cancelled) {
            CHECK_NUMBER(status, ISOLINE_CANCELLED);
        } else {
            CHECK_NUMBER(status, ISOLINE_OK);
            ended = 1;
        }
    }
    CHECK(ended);
    end(&work);
}

/* A callback that calls functions with a given context. */
typedef struct {
    int calls;
    isoline_context *context;
    isoline_status status;
    float strength[COUNT];
    char message[256];
    char error[512];
} inner;

static isoline_status run_inside(inner *nested) {
    uint8_t *pixels = drawing(SIDE, SIDE, 1, 11);
    isoline_image input = describe(ISOLINE_U8, SIDE, SIDE, 1, pixels);
    isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, 1, nested->strength);
    isoline_edge_strength_params params = for_drawing(25);
    isoline_status status = isoline_edge_strength(nested->context, &input, &params, NULL, &output, NULL);
    free(pixels);
    return status;
}

static int call_inside(void *user, double fraction, const char *stage) {
    inner *nested = (inner *)user;
    (void)fraction;
    snprintf(nested->message, sizeof nested->message, "%s", stage);
    if (nested->calls++ == 0) {
        nested->status = run_inside(nested);
        snprintf(nested->error, sizeof nested->error, "%s", isoline_last_error());
        /* The stage stays valid during the whole callback. */
        CHECK_TEXT(stage, nested->message);
    }
    return 0;
}

static void the_calling_context_is_busy(const char *device) {
    job work = new_job(device, SIDE, SIDE, 1, 200);
    GOOD(run(&work, NULL));
    float *wanted = work.strength;
    work.strength = unwritten(work.count);
    work.output.data = work.strength;
    static inner nested;
    nested.context = work.context;
    isoline_progress progress = told_by(call_inside, &nested);
    GOOD(run(&work, &progress));
    CHECK(nested.calls >= 1);
    CHECK_NUMBER(nested.status, ISOLINE_BUSY);
    CHECK_HAS(nested.error, "another context");
    CHECK(memcmp(wanted, work.strength, work.count * sizeof(float)) == 0);
    GOOD(run(&work, NULL));
    free(wanted);
    end(&work);
}

static void another_context_is_free(const char *device) {
    job work = new_job(device, SIDE, SIDE, 1, 200);
    GOOD(run(&work, NULL));
    float *wanted = work.strength;
    work.strength = unwritten(work.count);
    work.output.data = work.strength;
    static inner nested, reference;
    nested.context = open_context(device);
    reference.context = nested.context;
    GOOD(run_inside(&reference));
    isoline_progress progress = told_by(call_inside, &nested);
    GOOD(run(&work, &progress));
    CHECK(nested.calls >= 1);
    CHECK_NUMBER(nested.status, ISOLINE_OK);
    CHECK(memcmp(reference.strength, nested.strength, sizeof nested.strength) == 0);
    CHECK(memcmp(wanted, work.strength, work.count * sizeof(float)) == 0);
    isoline_context_free(nested.context);
    free(wanted);
    end(&work);
}

static int make_and_free(void *user, double fraction, const char *stage) {
    (void)fraction;
    (void)stage;
    if ((*(int *)user)++ < 5) {
        isoline_context_free(open_context("cpu"));
        isoline_context_free(open_context("auto"));
    }
    return 0;
}

static void a_callback_may_make_and_free_contexts(const char *device) {
    size_t side = scaled(1024, 96);
    job work = new_job(device, side, side, 1, scaled(300, 20));
    int calls = 0;
    isoline_progress progress = told_by(make_and_free, &calls);
    GOOD(run(&work, &progress));
    CHECK(calls >= 1);
    end(&work);
}

static int ask(void *user, double fraction, const char *stage) {
    isoline_context *context = (isoline_context *)user;
    isoline_device entry;
    (void)fraction;
    (void)stage;
    GOOD(isoline_device_init(&entry, sizeof entry));
    isoline_status status = isoline_context_device(context, &entry);
    CHECK(status == ISOLINE_OK || status == ISOLINE_BUSY);
    status = isoline_context_trim(context);
    CHECK(status == ISOLINE_OK || status == ISOLINE_BUSY);
    status = isoline_context_set_memory_limit(context, 0);
    CHECK(status == ISOLINE_OK || status == ISOLINE_BUSY);
    return 0;
}

static void asking_the_calling_context_does_not_hang(const char *device) {
    job work = new_job(device, SIDE, SIDE, 2, 200);
    GOOD(run(&work, NULL));
    float *wanted = work.strength;
    work.strength = unwritten(work.count);
    work.output.data = work.strength;
    isoline_progress progress = told_by(ask, work.context);
    GOOD(run(&work, &progress));
    CHECK(memcmp(wanted, work.strength, work.count * sizeof(float)) == 0);
    free(wanted);
    end(&work);
}

static void cancel_once(void *user) {
    job *work = (job *)user;
    watch seen = new_watch(1 + (int)(seconds_now() * 1e6) % 2);
    isoline_progress progress = told_by(look, &seen);
    isoline_status status = run(work, &progress);
    CHECK(status == ISOLINE_CANCELLED || (status == ISOLINE_OK && !seen.cancelled));
}

static void cancelling_often_does_not_grow(const char *device) {
    job work = new_job(device, SIDE, SIDE, 2, 50);
    must_not_grow(cancel_once, &work, (int)scaled(50, 2), (int)scaled(500, 10));
    end(&work);
}

int main(void) {
    RUN_ON_EACH(progress_rises_on_the_calling_thread);
    RUN_ON_EACH(progress_of_a_stack_rises);
    RUN_ON_EACH(progress_of_a_volume_rises);
    RUN_ON_EACH(progress_of_the_converged_mode_rises);
    RUN_ON_EACH(progress_changes_no_pixel);
    RUN_ON_EACH(user_may_be_null);
    RUN_ON_EACH(a_bad_progress_struct_is_refused_before_any_work);
    RUN_ON_EACH(a_refused_call_tells_no_progress);
    RUN_ON_EACH(any_nonzero_answer_cancels_at_once);
    RUN_ON_EACH(a_cancel_in_the_middle_comes_back_in_time);
    RUN(a_cancel_of_the_scalar_variant_comes_back_in_time);
    RUN_ON_EACH(a_cancel_of_a_volume_comes_back_in_time);
    RUN_ON_EACH(a_cancel_of_a_grey_start_comes_back_in_time);
    RUN_ON_EACH(a_cancel_of_the_converged_mode_comes_back_in_time);
    RUN_ON_EACH(a_late_cancel_is_not_ignored);
    RUN_ON_EACH(the_calling_context_is_busy);
    RUN_ON_EACH(another_context_is_free);
    RUN_ON_EACH(a_callback_may_make_and_free_contexts);
    RUN_ON_EACH(asking_the_calling_context_does_not_hang);
    RUN_ON_EACH(cancelling_often_does_not_grow);
    return summary();
}
