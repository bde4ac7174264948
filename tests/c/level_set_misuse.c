/* Level sets: every misuse refused, progress and cancelling, threads, memory. */
#include "surfaces.h"
#include "in_time.h"
#include "process.h"

#include <pthread.h>

/* Returns the value of `out` before a call: an address that must not be dereferenced. */
static isoline_level_set *untouched(void) {
    static int place;
    return (isoline_level_set *)(void *)&place;
}

/* A failed isoline_level_set_new or _run leaves everything unchanged. */
static void refused(surface_job *work, isoline_status status, const char *word, const char *what) {
    const surface_job before = *work;
    isoline_level_set *made = untouched();
    check_status(isoline_level_set_new(work->context, &work->input, &work->initial, &work->params, &made), status, word,
                 __FILE__, __LINE__, what);
    check_status(isoline_level_set_run(work->context, &work->input, &work->initial, &work->params, NULL, &work->mask,
                                       &work->report),
                 status, word, __FILE__, __LINE__, what);
    CHECK(made == untouched() && holds_only(work->result, COUNT, NOT_WRITTEN));
    CHECK(memcmp(&before, work, sizeof before) == 0);
}

/* `change` makes both calls fail with `status` and a message that has `word`. */
#define SPOILT(change, status, word)                                                                                   \
    do {                                                                                                               \
        surface_job work = good_job;                                                                                   \
        change;                                                                                                        \
        refused(&work, (status), (word), #change);                                                                     \
    } while (0)

/* ---- misuse -------------------------------------------------------------------------------------------------- */

static void null_is_refused_only_where_it_must_not_be(const char *device) {
    surface_job w = new_surface_job(device);
    isoline_level_set *made = untouched();
    isoline_level_set_state state;
    REFUSED(isoline_level_set_params_init(NULL, sizeof w.params), ISOLINE_NULL_POINTER, "params");
    REFUSED(isoline_level_set_state_init(NULL, sizeof state), ISOLINE_NULL_POINTER, "state");
    REFUSED(isoline_level_set_new(NULL, &w.input, &w.initial, &w.params, &made), ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_level_set_new(w.context, NULL, &w.initial, &w.params, &made), ISOLINE_NULL_POINTER, "input");
    REFUSED(isoline_level_set_new(w.context, &w.input, NULL, &w.params, &made), ISOLINE_NULL_POINTER, "initial_mask");
    REFUSED(isoline_level_set_new(w.context, &w.input, &w.initial, &w.params, NULL), ISOLINE_NULL_POINTER, "out");
    CHECK(made == untouched());
    REFUSED(isoline_level_set_run(NULL, &w.input, &w.initial, NULL, NULL, &w.mask, NULL), ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_level_set_run(w.context, NULL, &w.initial, NULL, NULL, &w.mask, NULL), ISOLINE_NULL_POINTER, "input");
    REFUSED(isoline_level_set_run(w.context, &w.input, NULL, NULL, NULL, &w.mask, NULL), ISOLINE_NULL_POINTER,
            "initial_mask");
    REFUSED(isoline_level_set_run(w.context, &w.input, &w.initial, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, "mask");
    CHECK(holds_only(w.result, COUNT, NOT_WRITTEN));
    isoline_level_set *surface = surface_of(&w);
    isoline_iteration_statistics one;
    size_t written = 99;
    GOOD(isoline_level_set_state_init(&state, sizeof state));
    GOOD(isoline_level_set_step(surface, 2, NULL, NULL));
    REFUSED(isoline_level_set_step(NULL, 1, NULL, &w.report), ISOLINE_NULL_POINTER, "level_set");
    REFUSED(isoline_level_set_read_mask(NULL, &w.mask), ISOLINE_NULL_POINTER, "level_set");
    REFUSED(isoline_level_set_read_mask(surface, NULL), ISOLINE_NULL_POINTER, "mask");
    REFUSED(isoline_level_set_read_phi(NULL, &w.mask), ISOLINE_NULL_POINTER, "level_set");
    REFUSED(isoline_level_set_read_phi(surface, NULL), ISOLINE_NULL_POINTER, "phi");
    REFUSED(isoline_level_set_write_phi(NULL, &w.mask), ISOLINE_NULL_POINTER, "level_set");
    REFUSED(isoline_level_set_write_phi(surface, NULL), ISOLINE_NULL_POINTER, "phi");
    REFUSED(isoline_level_set_info(NULL, &state), ISOLINE_NULL_POINTER, "level_set");
    REFUSED(isoline_level_set_info(surface, NULL), ISOLINE_NULL_POINTER, "out");
    REFUSED(isoline_level_set_statistics(NULL, 1, 1, &one, &written), ISOLINE_NULL_POINTER, "level_set");
    REFUSED(isoline_level_set_statistics(surface, 1, 1, NULL, &written), ISOLINE_NULL_POINTER, "out");
    REFUSED(isoline_level_set_statistics(surface, 1, 1, &one, NULL), ISOLINE_NULL_POINTER, "written");
    REFUSED(isoline_level_set_statistics(surface, 1, SIZE_MAX, &one, &written), ISOLINE_INVALID_SIZE, "out");
    CHECK(written == 99 && state.iterations == 0);
    isoline_level_set_free(surface);
    end_surface_job(&w);
}

static void wrong_parameters_are_refused_by_name(const char *device) {
    surface_job good_job = new_surface_job(device);
    const double none[] = {(double)NAN, -(double)NAN, (double)INFINITY, -(double)INFINITY};
    const uint32_t far[] = {0, 1, 250, UINT32_MAX - 10};
    for (size_t i = 0; i < 4; i++) {
        SPOILT(work.input.spacing[i % 3] = none[i], ISOLINE_INVALID_ARGUMENT, "input->spacing");
        SPOILT(work.input.spacing[i % 3] = i % 2 ? 1e-10 : 1e10, ISOLINE_INVALID_ARGUMENT, "spacing");
        SPOILT(work.params.dimensions = 4 + far[i], ISOLINE_INVALID_ARGUMENT, "dimensions");
        SPOILT(work.params.variant = ISOLINE_LEVEL_SET_SCALAR + 1 + far[i], ISOLINE_INVALID_ARGUMENT, "variant");
        SPOILT(work.params.side = ISOLINE_LEVEL_SET_BELOW + 1 + far[i], ISOLINE_INVALID_ARGUMENT, "side");
    }
    SPOILT(work.input.spacing[2] = 1001, ISOLINE_INVALID_ARGUMENT, "1000 times");
    SPOILT(work.params.edge_weight = -1, ISOLINE_INVALID_ARGUMENT, "edge_weight");
    SPOILT(work.params.edge_weight = 1001, ISOLINE_INVALID_ARGUMENT, "edge_weight");
    SPOILT(work.params.edge_sigma = -1, ISOLINE_INVALID_ARGUMENT, "edge_sigma");
    SPOILT(work.params.edge_sigma = 1e6, ISOLINE_INVALID_ARGUMENT, "edge_sigma");
    SPOILT(work.params.edge_contrast = 0, ISOLINE_INVALID_ARGUMENT, "edge_contrast");
    SPOILT(work.params.upwind_order = 0, ISOLINE_INVALID_ARGUMENT, "upwind_order");
    SPOILT(work.params.upwind_order = 3, ISOLINE_INVALID_ARGUMENT, "upwind_order");
    SPOILT(work.params.reserved = 1, ISOLINE_INVALID_ARGUMENT, "reserved");
    SPOILT(work.params.pyramid_levels = 0, ISOLINE_INVALID_ARGUMENT, "pyramid_levels");
    SPOILT(work.params.pyramid_levels = 5, ISOLINE_INVALID_ARGUMENT, "pyramid_levels");
    SPOILT(work.params.dimensions = 1, ISOLINE_INVALID_ARGUMENT, "dimensions");
    SPOILT(work.params.epsilon = -1, ISOLINE_INVALID_ARGUMENT, "epsilon");
    SPOILT(work.params.epsilon = 0, ISOLINE_INVALID_ARGUMENT, "epsilon");
    SPOILT(work.params.alpha = -1, ISOLINE_INVALID_ARGUMENT, "alpha");
    SPOILT(work.params.alpha = 1.01, ISOLINE_INVALID_ARGUMENT, "alpha");
    SPOILT(work.params.time_step = 0, ISOLINE_INVALID_ARGUMENT, "time_step");
    SPOILT(work.params.time_step = -0.1, ISOLINE_INVALID_ARGUMENT, "time_step");
    SPOILT(work.params.time_step = 1e-40, ISOLINE_INVALID_ARGUMENT, "alpha times time_step must be 0 or from");
    /* The stable limit itself is allowed; above it the message names it. */
    isoline_level_set *surface = surface_of(&good_job);
    const double limit = state_of(surface).time_step_limit;
    static const char before[] = "time_step must be at most ";
    isoline_level_set_free(surface);
    SPOILT(work.params.time_step = limit * 1.001, ISOLINE_INVALID_ARGUMENT, before);
    const char *told = strstr(isoline_last_error(), before);
    CHECK(told != NULL && fabs(strtod(told + strlen(before), NULL) - limit) <= 1e-9 * limit);
    good_job.params.time_step = limit;
    isoline_level_set_free(surface_of(&good_job));
    end_surface_job(&good_job);
}

static void structs_of_other_sizes_are_judged_before_any_work(const char *device) {
    surface_job good_job = new_surface_job(device);
    const uint32_t sizes[] = {0, 3, 4, 87};
    isoline_level_set *surface = surface_of(&good_job), *made = untouched();
    for (size_t i = 0; i < 4; i++) {
        SPOILT(work.params.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "params->struct_size");
        SPOILT(work.input.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "input->struct_size");
        SPOILT(work.initial.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "initial_mask->struct_size");
        isoline_level_set_state state, before;
        memset(&state, 0xA5, sizeof state);
        state.struct_size = sizes[i];
        before = state;
        REFUSED(isoline_level_set_info(surface, &state), ISOLINE_INVALID_ARGUMENT, "out->struct_size");
        CHECK(memcmp(&state, &before, sizeof state) == 0);
        isoline_report report = good_job.report;
        report.struct_size = sizes[i];
        REFUSED(isoline_level_set_step(surface, 3, NULL, &report), ISOLINE_INVALID_ARGUMENT, "report->struct_size");
        CHECK_NUMBER(state_of(surface).iterations, 0);
    }
    struct {
        isoline_level_set_params known;
        double more[3];
    } newer = {good_job.params, {0, 0, 1}};
    newer.known.struct_size = sizeof newer;
    REFUSED(isoline_level_set_new(good_job.context, &good_job.input, &good_job.initial, &newer.known, &made),
            ISOLINE_UNSUPPORTED, "newer");
    CHECK(made == untouched());
    newer.more[2] = 0;
    GOOD(isoline_level_set_new(good_job.context, &good_job.input, &good_job.initial, &newer.known, &made));
    isoline_level_set_free(made);
    /* The additional fields of a newer caller's state are unchanged. */
    struct {
        isoline_level_set_state known;
        unsigned char more[24];
    } state, before;
    memset(&state, 0xA5, sizeof state);
    GOOD(isoline_level_set_state_init(&state.known, sizeof state.known));
    state.known.struct_size = sizeof state;
    before = state;
    GOOD(isoline_level_set_info(surface, &state.known));
    CHECK(memcmp(state.more, before.more, sizeof state.more) == 0);
    CHECK_NUMBER(state.known.struct_size, sizeof state);
    CHECK_NUMBER(state.known.target, BRIGHT);
    isoline_level_set_free(surface);
    end_surface_job(&good_job);
}

static void images_that_do_not_fit_are_refused(const char *device) {
    surface_job good_job = new_surface_job(device);
    const uint64_t huge = UINT64_MAX;
    SPOILT(work.initial.width = WIDTH - 1, ISOLINE_INVALID_SIZE, "size");
    SPOILT(work.initial.depth = DEPTH - 1, ISOLINE_INVALID_SIZE, "size");
    SPOILT(work.input.width = 0, ISOLINE_INVALID_SIZE, "input");
    SPOILT(work.initial.height = 0, ISOLINE_INVALID_SIZE, "initial_mask");
    SPOILT(work.input.depth = huge, ISOLINE_INVALID_SIZE, "input");
    SPOILT(work.initial.row_stride = huge, ISOLINE_INVALID_SIZE, "initial_mask");
    SPOILT(work.input.row_stride = WIDTH - 1, ISOLINE_INVALID_SIZE, "row_stride");
    SPOILT(work.input.data = NULL, ISOLINE_NULL_POINTER, "input->data");
    SPOILT(work.initial.data = NULL, ISOLINE_NULL_POINTER, "initial_mask->data");
    SPOILT(work.input.type = 3, ISOLINE_INVALID_TYPE, "input->type");
    SPOILT(work.initial.memory = 3, ISOLINE_INVALID_ARGUMENT, "memory");
    SPOILT(work.initial.reserved = 1, ISOLINE_INVALID_ARGUMENT, "reserved");
    end_surface_job(&good_job);
}

static void cuda_pixels_need_a_cuda_context(const char *device) {
    surface_job good_job = new_surface_job(device);
    SPOILT(work.input.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, "CUDA");
    SPOILT(work.initial.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, "CUDA");
    isoline_level_set *surface = surface_of(&good_job);
    isoline_image mask = good_job.mask, phi = good_job.mask;
    float *pixels = unwritten(COUNT);
    mask.memory = phi.memory = ISOLINE_CUDA;
    phi.type = ISOLINE_F32;
    phi.data = pixels;
    REFUSED(isoline_level_set_read_mask(surface, &mask), ISOLINE_UNSUPPORTED, "CUDA");
    REFUSED(isoline_level_set_read_phi(surface, &phi), ISOLINE_UNSUPPORTED, "CUDA");
    REFUSED(isoline_level_set_write_phi(surface, &phi), ISOLINE_UNSUPPORTED, "CUDA");
    REFUSED(isoline_level_set_run(good_job.context, &good_job.input, &good_job.initial, NULL, NULL, &mask, NULL),
            ISOLINE_UNSUPPORTED, "CUDA");
    CHECK(holds_only(good_job.result, COUNT, NOT_WRITTEN) && is_unwritten(pixels, COUNT));
    free(pixels);
    isoline_level_set_free(surface);
    end_surface_job(&good_job);
}

static void outputs_that_do_not_fit_are_refused(const char *device) {
    surface_job work = new_surface_job(device);
    isoline_level_set *surface = surface_of(&work);
    float *pixels = unwritten(COUNT);
    uint8_t *before = (uint8_t *)allocate(COUNT);
    memcpy(before, work.pixels, COUNT);
    isoline_image phi = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, pixels);
    for (int which = 0; which < 3; which++) {
        /* Spoilt in turn: the mask that is read, phi that is read, the mask of the one call. */
        isoline_image good = which == 1 ? phi : work.mask;
        for (int fault = 0; fault < 7; fault++) {
            isoline_image image = good;
            const isoline_status wanted[] = {ISOLINE_INVALID_SIZE,    ISOLINE_INVALID_SIZE, ISOLINE_INVALID_TYPE,
                                             ISOLINE_INVALID_TYPE,    ISOLINE_OVERLAP,      ISOLINE_NULL_POINTER,
                                             ISOLINE_INVALID_ARGUMENT};
            image.width -= fault == 0;
            image.depth = fault == 1 ? 0 : image.depth;
            image.type = fault == 2 ? ISOLINE_U16 : fault == 3 ? (which == 1 ? ISOLINE_U8 : ISOLINE_F32) : image.type;
            image.data = fault == 2 || fault == 3 ? pixels : fault == 5 ? NULL : image.data;
            image.slice_stride = fault == 4 ? 4 : 0;
            image.struct_size -= fault == 6;
            isoline_status status =
                which == 0   ? isoline_level_set_read_mask(surface, &image)
                : which == 1 ? isoline_level_set_read_phi(surface, &image)
                             : isoline_level_set_run(work.context, &work.input, &work.initial, &work.params, NULL, &image,
                                                     &work.report);
            check_that(status == wanted[fault], __FILE__, __LINE__, "output %d, fault %d: %s (%s)", which, fault,
                       isoline_status_name(status), isoline_last_error());
        }
    }
    isoline_image shared = work.mask;
    shared.data = work.pixels;
    REFUSED(isoline_level_set_run(work.context, &work.input, &work.initial, NULL, NULL, &shared, NULL), ISOLINE_OVERLAP,
            "input");
    shared.data = work.start;
    REFUSED(isoline_level_set_run(work.context, &work.input, &work.initial, NULL, NULL, &shared, NULL), ISOLINE_OVERLAP,
            "initial_mask");
    CHECK(holds_only(work.result, COUNT, NOT_WRITTEN) && is_unwritten(pixels, COUNT));
    CHECK(memcmp(before, work.pixels, COUNT) == 0);
    free(before);
    free(pixels);
    isoline_level_set_free(surface);
    end_surface_job(&work);
}

static void a_phi_that_is_none_is_refused(const char *device) {
    surface_job work = new_surface_job(device);
    isoline_level_set *surface = surface_of(&work);
    GOOD(isoline_level_set_step(surface, 3, NULL, NULL));
    float *phi = phi_of(surface), *wrong = (float *)allocate(COUNT * sizeof(float));
    const float none[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        isoline_image image = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, wrong);
        for (size_t j = 0; j < COUNT; j++) {
            wrong[j] = 1 + (float)j;
        }
        wrong[COUNT - 1 - i * (COUNT / 2 - 1)] = none[i];
        REFUSED(isoline_level_set_write_phi(surface, &image), ISOLINE_INVALID_ARGUMENT, "phi");
        image.height--;
        REFUSED(isoline_level_set_write_phi(surface, &image), ISOLINE_INVALID_SIZE, "phi");
        image = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, wrong);
        REFUSED(isoline_level_set_write_phi(surface, &image), ISOLINE_INVALID_TYPE, "ISOLINE_F32");
        float *after = phi_of(surface);
        CHECK(memcmp(after, phi, COUNT * sizeof(float)) == 0);
        free(after);
    }
    free(wrong);
    free(phi);
    isoline_level_set_free(surface);
    end_surface_job(&work);
}

/* ---- progress and cancel ------------------------------------------------------------------------------------- */

static void a_cancel_keeps_the_last_whole_iteration(const char *device) {
    surface_job work = new_surface_job(device);
    never_stop(&work.params);
    /* A front at rest takes almost no time: even a fast machine must not finish these iterations. */
    const uint64_t endless = 1000000000000;
    isoline_level_set *surface = surface_of(&work);
    uint64_t done = 0;
    for (int cancel_at = 1; cancel_at <= 4 || (done == 0 && cancel_at < 200); cancel_at++) {
        watch seen = {0, cancel_at, 0, 0, 0};
        isoline_progress progress = watched_by(&seen);
        const isoline_report before = work.report;
        REFUSED(isoline_level_set_step(surface, (size_t)endless, &progress, &work.report), ISOLINE_CANCELLED, "cancelled");
        CHECK(seen.bad == 0 && memcmp(&before, &work.report, sizeof before) == 0);
        CHECK(state_of(surface).iterations >= done);
        done = state_of(surface).iterations;
    }
    isoline_iteration_statistics last;
    size_t written = 0;
    CHECK(done >= 1 && done < endless);
    GOOD(isoline_level_set_statistics(surface, done, 1, &last, &written));
    CHECK(written == 1 && last.iteration == done);
    /* The call may have been cancelled during a reinitialisation: the signs of phi are final then. */
    float *cancelled = phi_of(surface), *whole = phi_after(&work, done);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK((cancelled[i] < 0) == (whole[i] < 0));
    }
    free(whole);
    free(cancelled);
    GOOD(isoline_level_set_step(surface, 0, NULL, NULL));
    CHECK(state_of(surface).iterations == done);
    /* The state is that after as many iterations, and the next step continues from there. */
    for (int more = 0; more < 2; more++) {
        float *got = phi_of(surface), *wanted = phi_after(&work, done + (more ? 3 : 0));
        CHECK(memcmp(got, wanted, COUNT * sizeof(float)) == 0);
        free(wanted);
        free(got);
        if (!more) {
            GOOD(isoline_level_set_step(surface, 3, NULL, NULL));
        }
    }
    isoline_level_set_free(surface);
    watch seen = {0, 1, 0, 0, 0};
    isoline_progress progress = watched_by(&seen);
    work.params.iterations = endless;
    REFUSED(isoline_level_set_run(work.context, &work.input, &work.initial, &work.params, &progress, &work.mask, NULL),
            ISOLINE_CANCELLED, "cancelled");
    CHECK(holds_only(work.result, COUNT, NOT_WRITTEN));
    end_surface_job(&work);
}

static void a_cancel_takes_effect_within_100_ms(const char *device) {
    const size_t side = scaled(200, 24), count = side * side * side;
    isoline_context *context = open_context(device);
    uint8_t *pixels = (uint8_t *)allocate(count), *start = (uint8_t *)allocate(count);
    uint32_t seed = 3;
    for (size_t i = 0; i < count; i++) {
        pixels[i] = (uint8_t)next_random(&seed);
        start[i] = i / side % 8 < 4;
    }
    isoline_image input = describe(ISOLINE_U8, side, side, side, pixels);
    isoline_image initial = describe(ISOLINE_U8, side, side, side, start);
    for (uint32_t variant = ISOLINE_LEVEL_SET_BAND; variant <= ISOLINE_LEVEL_SET_DENSE; variant++) {
        isoline_level_set_params params = surface_defaults();
        isoline_level_set *surface = NULL;
        params.variant = variant;
        params.reinitialise_every = 2;
        never_stop(&params);
        GOOD(isoline_level_set_new(context, &input, &initial, &params, &surface));
        for (int cancel_at = 1, attempts = 0; cancel_at <= 15;) {
            watch seen = {0, cancel_at, 0, 0, 0};
            isoline_progress progress = watched_by(&seen);
            isoline_status status = isoline_level_set_step(surface, 1000000000, &progress, NULL);
            const double late = seconds_now() - seen.cancelled;
            if (status == ISOLINE_OK && state_of(surface).converged) {
                CHECK(seen.calls <= cancel_at); /* no front is left; a cancel at the last call comes too late */
                break;
            }
            CHECK_NUMBER(status, ISOLINE_CANCELLED);
            if (is_tried_again(late, &attempts)) {
                continue;
            }
            check_that(slow() || late <= PROMISED_SECONDS + slack_seconds, __FILE__, __LINE__,
                       "cancelled at call %d: it took %.3f s", cancel_at, late);
            cancel_at = 2 * cancel_at + 1;
        }
        isoline_level_set_free(surface);
    }
    free(start);
    free(pixels);
    isoline_context_free(context);
}

typedef struct {
    surface_job *work;
    isoline_level_set *own, *other;
    float *phi;
    int calls;
} called_from;

static int use_everything(void *user, double fraction, const char *stage) {
    called_from *from = (called_from *)user;
    surface_job *work = from->work;
    isoline_level_set *const surfaces[] = {from->own, from->other};
    isoline_image phi = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, from->phi);
    isoline_level_set_state state;
    isoline_iteration_statistics one;
    isoline_level_set *made = untouched();
    size_t written = 99;
    (void)fraction;
    (void)stage;
    from->calls++;
    GOOD(isoline_level_set_state_init(&state, sizeof state));
    for (int i = 0; i < 2; i++) {
        REFUSED(isoline_level_set_step(surfaces[i], 1, NULL, NULL), ISOLINE_BUSY, "level set");
        REFUSED(isoline_level_set_read_mask(surfaces[i], &work->mask), ISOLINE_BUSY, "level set");
        REFUSED(isoline_level_set_read_phi(surfaces[i], &phi), ISOLINE_BUSY, "level set");
        REFUSED(isoline_level_set_write_phi(surfaces[i], &phi), ISOLINE_BUSY, "level set");
        REFUSED(isoline_level_set_info(surfaces[i], &state), ISOLINE_BUSY, "level set");
        REFUSED(isoline_level_set_statistics(surfaces[i], 1, 1, &one, &written), ISOLINE_BUSY, "level set");
    }
    REFUSED(isoline_level_set_new(work->context, &work->input, &work->initial, NULL, &made), ISOLINE_BUSY, "context");
    REFUSED(isoline_level_set_run(work->context, &work->input, &work->initial, NULL, NULL, &work->mask, NULL),
            ISOLINE_BUSY, "context");
    CHECK(made == untouched() && holds_only(work->result, COUNT, NOT_WRITTEN) && is_unwritten(from->phi, COUNT));
    return 1;
}

static void a_callback_may_not_use_level_sets_of_its_context(const char *device) {
    surface_job work = new_surface_job(device);
    never_stop(&work.params);
    called_from from = {&work, surface_of(&work), surface_of(&work), unwritten(COUNT), 0};
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    progress.callback = use_everything;
    progress.user = &from;
    REFUSED(isoline_level_set_step(from.own, 1000000, &progress, NULL), ISOLINE_CANCELLED, NULL);
    CHECK_NUMBER(from.calls, 1);
    isoline_level_set_free(from.own);
    isoline_level_set_free(from.other);
    free(from.phi);
    end_surface_job(&work);
}

static int use_another_context(void *user, double fraction, const char *stage) {
    (void)fraction;
    (void)stage;
    GOOD(isoline_level_set_step((isoline_level_set *)user, 1, NULL, NULL));
    return 0;
}

static void a_callback_may_use_another_contexts_level_set(const char *device) {
    surface_job work = new_surface_job(device), other = new_surface_job(device);
    isoline_level_set *own = surface_of(&work), *others = surface_of(&other);
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    progress.callback = use_another_context;
    progress.user = others;
    GOOD(isoline_level_set_step(own, 5, &progress, NULL));
    CHECK(state_of(others).iterations >= 1);
    isoline_level_set_free(others);
    isoline_level_set_free(own);
    end_surface_job(&other);
    end_surface_job(&work);
}

/* ---- threads ------------------------------------------------------------------------------------------------- */

enum { STEPS = 10, MOST = 4 };

typedef struct {
    pthread_t thread;
    surface_job *work;
    isoline_level_set *surface;
    float *wanted;
    int wrong;
} worker;

static void *step_often(void *user) {
    worker *me = (worker *)user;
    for (int i = 0; i < STEPS; i++) {
        me->wrong += !GOOD(isoline_level_set_step(me->surface, 1, NULL, NULL));
    }
    return NULL;
}

static void *ask_often(void *user) {
    worker *me = (worker *)user;
    uint64_t last = 0;
    for (int i = 0; i < 3 * STEPS; i++) {
        isoline_level_set_state state = state_of(me->surface);
        isoline_iteration_statistics all[MOST * STEPS];
        size_t written = 0;
        me->wrong += state.iterations < last;
        last = state.iterations;
        GOOD(isoline_level_set_statistics(me->surface, 1, MOST * STEPS, all, &written));
        me->wrong += written < last || (written > 0 && all[written - 1].iteration != written);
        free(phi_of(me->surface));
    }
    return NULL;
}

static void threads_take_turns_on_one_level_set(const char *device) {
    surface_job work = new_surface_job(device);
    never_stop(&work.params);
    isoline_level_set *surface = surface_of(&work);
    worker workers[MOST];
    for (int i = 0; i < MOST; i++) {
        worker one = {0, &work, surface, NULL, 0};
        workers[i] = one;
        pthread_create(&workers[i].thread, NULL, i < MOST - 1 ? step_often : ask_often, &workers[i]);
    }
    for (int i = 0; i < MOST; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK_NUMBER(workers[i].wrong, 0);
    }
    const size_t all = (MOST - 1) * STEPS;
    CHECK_NUMBER(state_of(surface).iterations, all);
    float *got = phi_of(surface), *wanted = phi_after(&work, all);
    CHECK(memcmp(got, wanted, COUNT * sizeof(float)) == 0);
    free(wanted);
    free(got);
    isoline_level_set_free(surface);
    end_surface_job(&work);
}

static void *make_step_free(void *user) {
    worker *me = (worker *)user;
    for (size_t i = 0; i < scaled(5, 1); i++) {
        float *phi = phi_after(me->work, STEPS);
        me->wrong += memcmp(phi, me->wanted, COUNT * sizeof(float)) != 0;
        free(phi);
    }
    return NULL;
}

static void level_sets_of_one_and_of_two_contexts_work_at_once(const char *device) {
    for (int contexts = 1; contexts <= 2; contexts++) {
        surface_job works[2] = {new_surface_job(device), new_surface_job(device)};
        isoline_context *own = works[1].context;
        works[1].params.alpha = 0.7;
        works[1].context = works[contexts - 1].context;
        worker workers[2];
        for (int i = 0; i < 2; i++) {
            worker one = {0, &works[i], NULL, phi_after(&works[i], STEPS), 0};
            workers[i] = one;
        }
        for (int i = 0; i < 2; i++) {
            pthread_create(&workers[i].thread, NULL, make_step_free, &workers[i]);
        }
        for (int i = 0; i < 2; i++) {
            pthread_join(workers[i].thread, NULL);
            CHECK_NUMBER(workers[i].wrong, 0);
            free(workers[i].wanted);
        }
        works[1].context = own;
        end_surface_job(&works[1]);
        end_surface_job(&works[0]);
    }
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

static void live_once(void *user) {
    surface_job *work = (surface_job *)user;
    watch seen = {0, 1, 0, 0, 0};
    isoline_progress progress = watched_by(&seen);
    isoline_level_set *surface = surface_of(work);
    GOOD(isoline_level_set_step(surface, 1, NULL, NULL));
    REFUSED(isoline_level_set_step(surface, 100, &progress, NULL), ISOLINE_CANCELLED, NULL);
    GOOD(isoline_level_set_read_mask(surface, &work->mask));
    REFUSED(isoline_level_set_read_mask(surface, NULL), ISOLINE_NULL_POINTER, NULL);
    isoline_level_set_free(surface);
}

static void lives_do_not_grow(const char *device) {
    surface_job work = new_surface_job(device);
    /* Small, so that a thousand are made in a while. */
    work.input.depth = work.initial.depth = work.mask.depth = 1;
    work.input.data = work.pixels + WIDTH * HEIGHT * (DEPTH / 2);
    work.initial.data = work.start + WIDTH * HEIGHT * (DEPTH / 2);
    must_not_grow(live_once, &work, (int)scaled(50, 2), (int)scaled(1000, 20));
    end_surface_job(&work);
}

static void want_of_memory_on_the_way_is_a_status(const char *device) {
    /* The memory limit grows until the call succeeds: each allocation that fails before returns a status. */
    if (slow()) {
        skip("an instrument needs more memory than the test allows");
        return;
    }
    enum { SIDE = 256 };
    const size_t count = (size_t)SIDE * SIDE * SIDE;
    surface_job small = new_surface_job(device);
    isoline_level_set_free(surface_of(&small));
    uint8_t *pixels = (uint8_t *)allocate(count), *start = (uint8_t *)allocate(count), *mask = (uint8_t *)allocate(count);
    memset(pixels, DARK, count);
    memset(start, 0, count);
    memset(mask, NOT_WRITTEN, count);
    isoline_image input = describe(ISOLINE_U8, SIDE, SIDE, SIDE, pixels);
    isoline_image initial = describe(ISOLINE_U8, SIDE, SIDE, SIDE, start);
    isoline_image output = describe(ISOLINE_U8, SIDE, SIDE, SIDE, mask);
    const isoline_sphere seed = {{100, 100, 100}, 20};
    GOOD(isoline_mask_fill_spheres(&initial, &seed, 1, 1));
    for (uint32_t variant = ISOLINE_LEVEL_SET_BAND; variant <= ISOLINE_LEVEL_SET_DENSE; variant++) {
        int refused_times = 0, done = 0;
        small.params.variant = variant;
        small.params.iterations = 1;
        for (size_t mebibytes = 2; mebibytes <= 4096 && !done; mebibytes = mebibytes * 3 / 2 + 2) {
            struct rlimit limit;
            getrlimit(RLIMIT_AS, &limit);
            allow_only(mebibytes << 20);
            isoline_status status =
                isoline_level_set_run(small.context, &input, &initial, &small.params, NULL, &output, NULL);
            setrlimit(RLIMIT_AS, &limit);
            done = status == ISOLINE_OK;
            refused_times += status == ISOLINE_OUT_OF_MEMORY;
            if (!done) {
                REFUSED(status, ISOLINE_OUT_OF_MEMORY, "memory");
                CHECK(holds_only(mask, count, NOT_WRITTEN));
            }
        }
        CHECK(refused_times >= 1 && done);
        memset(mask, NOT_WRITTEN, count);
        GOOD(isoline_context_trim(small.context));
    }
    free(mask);
    free(start);
    free(pixels);
    end_surface_job(&small);
}

static void a_memory_limit_refuses_or_moves_the_job(const char *device) {
    surface_job named = new_surface_job(device), any = new_surface_job("auto");
    isoline_level_set *made = untouched();
    GOOD(isoline_context_set_memory_limit(named.context, 4096));
    REFUSED(isoline_level_set_new(named.context, &named.input, &named.initial, &named.params, &made),
            ISOLINE_OUT_OF_MEMORY, "bytes");
    CHECK(made == untouched());
    GOOD(isoline_context_set_memory_limit(named.context, 0));
    isoline_level_set_free(surface_of(&named));
    GOOD(isoline_set_logger(note_warning, NULL, ISOLINE_LOG_WARN));
    GOOD(isoline_context_set_memory_limit(any.context, 4096));
    made = surface_of(&any);
    GOOD(isoline_level_set_step(made, 5, NULL, &any.report));
    CHECK_NUMBER(any.report.device_kind, ISOLINE_DEVICE_CPU);
    CHECK(warned >= 1);
    isoline_level_set_free(made);
    end_surface_job(&any);
    end_surface_job(&named);
}

int main(void) {
    RUN_ON_EACH(null_is_refused_only_where_it_must_not_be);
    RUN_ON_EACH(wrong_parameters_are_refused_by_name);
    RUN_ON_EACH(structs_of_other_sizes_are_judged_before_any_work);
    RUN_ON_EACH(images_that_do_not_fit_are_refused);
    RUN(cuda_pixels_need_a_cuda_context);
    RUN_ON_EACH(outputs_that_do_not_fit_are_refused);
    RUN_ON_EACH(a_phi_that_is_none_is_refused);
    RUN_ON_EACH(a_cancel_keeps_the_last_whole_iteration);
    RUN_ON_EACH(a_cancel_takes_effect_within_100_ms);
    RUN_ON_EACH(a_callback_may_not_use_level_sets_of_its_context);
    RUN_ON_EACH(a_callback_may_use_another_contexts_level_set);
    RUN_ON_EACH(threads_take_turns_on_one_level_set);
    RUN_ON_EACH(level_sets_of_one_and_of_two_contexts_work_at_once);
    RUN_ON_EACH(lives_do_not_grow);
    RUN(want_of_memory_on_the_way_is_a_status);
    if (have_cuda()) {
        RUN_ON(a_memory_limit_refuses_or_moves_the_job, "cuda:0");
    }
    return summary();
}
