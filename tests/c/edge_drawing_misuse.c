/* Edge drawing: every misuse refused, progress and cancelling, threads, memory. */
#include "edges.h"
#include "in_time.h"
#include "process.h"
#include "watch.h"

#include <malloc.h>
#include <pthread.h>

/* ---- misuse -------------------------------------------------------------------------------------------------- */

/* `change` makes the call fail with `status` and a message that has `word`; outputs and report stay untouched. */
#define SPOILT(change, status, word)                                                                                   \
    do {                                                                                                               \
        drawing_job work = good_job;                                                                                   \
        isoline_edge_drawing_params *params = &work.params;                                                            \
        (void)params; /* some changes are to other structs */                                                          \
        change;                                                                                                        \
        drawing_job before = work;                                                                                     \
        check_status(draw(&work), (status), (word), __FILE__, __LINE__, #change);                                      \
        CHECK(is_not_written(work.map, COUNT));                                                                        \
        CHECK(work.segments == untouched());                                                                           \
        CHECK(memcmp(&before.report, &work.report, sizeof before.report) == 0);                                        \
        CHECK(memcmp(&before.params, &work.params, sizeof before.params) == 0);                                        \
        CHECK(memcmp(&before.input, &work.input, sizeof before.input) == 0);                                           \
        CHECK(memcmp(&before.edges, &work.edges, sizeof before.edges) == 0);                                           \
    } while (0)

static void null_is_refused_only_where_it_must_not_be(const char *device) {
    drawing_job w = new_drawing_job(device);
    isoline_progress progress;
    isoline_segments *segments = untouched();
    GOOD(isoline_progress_init(&progress, sizeof progress));
    REFUSED(isoline_edge_drawing(NULL, &w.input, &w.params, &progress, &w.edges, &segments, &w.report),
            ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_edge_drawing(w.context, NULL, &w.params, &progress, &w.edges, &segments, &w.report),
            ISOLINE_NULL_POINTER, "input");
    REFUSED(isoline_edge_drawing(w.context, &w.input, &w.params, &progress, NULL, NULL, &w.report),
            ISOLINE_NULL_POINTER, "edges and segments must not both be NULL; give");
    REFUSED(isoline_edge_drawing(NULL, NULL, NULL, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, NULL);
    REFUSED(isoline_edge_drawing_params_init(NULL, sizeof w.params), ISOLINE_NULL_POINTER, "params");
    CHECK(is_not_written(w.map, COUNT) && segments == untouched());
    GOOD(isoline_edge_drawing(w.context, &w.input, NULL, NULL, &w.edges, NULL, NULL));
    GOOD(isoline_edge_drawing(w.context, &w.input, NULL, &progress, NULL, &segments, NULL));
    isoline_segments_free(segments);
    GOOD(isoline_edge_drawing(w.context, &w.input, &w.params, &progress, &w.edges, &segments, &w.report));
    isoline_segments_free(segments);
    end_drawing_job(&w);
}

static void null_maps_are_refused_when_all_are_null(const char *device) {
    drawing_job w = new_drawing_job(device);
    REFUSED(isoline_edge_drawing_maps(NULL, &w.input, &w.params, NULL, NULL, NULL, &w.edges, NULL, &w.report),
            ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_edge_drawing_maps(w.context, NULL, &w.params, NULL, NULL, NULL, &w.edges, NULL, &w.report),
            ISOLINE_NULL_POINTER, "input");
    REFUSED(isoline_edge_drawing_maps(w.context, &w.input, &w.params, NULL, NULL, NULL, NULL, NULL, &w.report),
            ISOLINE_NULL_POINTER, "smoothed, gradient, direction and anchors must not all be NULL; give");
    REFUSED(isoline_edge_drawing_maps(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, NULL);
    CHECK(is_not_written(w.map, COUNT));
    GOOD(isoline_edge_drawing_maps(w.context, &w.input, NULL, NULL, NULL, NULL, &w.edges, NULL, NULL));
    CHECK(!is_not_written(w.map, COUNT));
    end_drawing_job(&w);
}

static void numbers_that_are_none_are_refused_by_name(const char *device) {
    drawing_job good_job = new_drawing_job(device);
    const double wrong[] = {(double)NAN, -(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        for (uint32_t profile = 0; profile < 2; profile++) {
            good_job.params.profile = profile;
            SPOILT(params->gradient_threshold = wrong[i], ISOLINE_INVALID_ARGUMENT, "gradient_threshold");
            SPOILT(params->anchor_threshold = wrong[i], ISOLINE_INVALID_ARGUMENT, "anchor_threshold");
            SPOILT(params->range_min = wrong[i], ISOLINE_INVALID_ARGUMENT, "range_min");
            SPOILT(params->range_max = wrong[i], ISOLINE_INVALID_ARGUMENT, "range_max");
        }
    }
    end_drawing_job(&good_job);
}

static void numbers_out_of_range_are_refused_by_name(const char *device) {
    drawing_job good_job = new_drawing_job(device);
    for (uint32_t profile = 0; profile < 2; profile++) {
        good_job.params.profile = profile;
        SPOILT(params->scan_interval = 0, ISOLINE_INVALID_ARGUMENT, "scan_interval");
        SPOILT(params->gradient_threshold = -1, ISOLINE_INVALID_ARGUMENT, "gradient_threshold");
        SPOILT(params->anchor_threshold = -1, ISOLINE_INVALID_ARGUMENT, "anchor_threshold");
        SPOILT(params->anchor_threshold = -1e-300, ISOLINE_INVALID_ARGUMENT, "anchor_threshold");
        /* A range scales floats only. */
        SPOILT((params->range_min = 0, params->range_max = 100), ISOLINE_INVALID_ARGUMENT, "range_m");
    }
    float real[COUNT] = {0};
    good_job.input = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, real);
    SPOILT((params->range_min = 10, params->range_max = 5), ISOLINE_INVALID_ARGUMENT, "range_m");
    SPOILT((params->range_min = 7, params->range_max = 7), ISOLINE_INVALID_ARGUMENT, "range_m");
    SPOILT(params->range_max = -1, ISOLINE_INVALID_ARGUMENT, "range_m");
    /* The smoothed image, in single precision, would be infinite. */
    SPOILT((params->range_min = -1e100, params->range_max = 1), ISOLINE_INVALID_ARGUMENT, "range_min");
    SPOILT((params->range_min = 0, params->range_max = 1e39), ISOLINE_INVALID_ARGUMENT, "range_max");
    end_drawing_job(&good_job);
}

static void unknown_choices_are_refused_by_name(const char *device) {
    drawing_job good_job = new_drawing_job(device);
    const uint32_t far[] = {0, 1, 250, UINT32_MAX - 10};
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        SPOILT(params->profile = ISOLINE_EDGE_DRAWING_REFERENCE + 1 + far[i], ISOLINE_INVALID_ARGUMENT, "profile");
        SPOILT(params->gradient_operator = ISOLINE_GRADIENT_SCHARR + 1 + far[i], ISOLINE_INVALID_ARGUMENT, "gradient_operator");
        SPOILT(params->variant = ISOLINE_EDGE_DRAWING_SCALAR + 1 + far[i], ISOLINE_INVALID_ARGUMENT, "variant");
        SPOILT(params->validation = ISOLINE_EDGE_DRAWING_FALSE_ALARMS + 1 + far[i], ISOLINE_INVALID_ARGUMENT, "validation");
        SPOILT(params->follow_turns = 2 + far[i], ISOLINE_INVALID_ARGUMENT, "follow_turns");
    }
    SPOILT((params->profile = ISOLINE_EDGE_DRAWING_REFERENCE, params->variant = ISOLINE_EDGE_DRAWING_SCALAR),
           ISOLINE_UNSUPPORTED, "variant");
    end_drawing_job(&good_job);
}

static void structs_without_init_are_refused_before_any_work(const char *device) {
    drawing_job good_job = new_drawing_job(device);
    const uint32_t sizes[] = {0, 3, 4};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        SPOILT(params->struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "params->struct_size");
        SPOILT(work.report.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "report->struct_size");
        SPOILT(work.input.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "input->struct_size");
        SPOILT(work.edges.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "edges->struct_size");
    }
    SPOILT(params->struct_size = sizeof *params - 1, ISOLINE_INVALID_ARGUMENT, "params->struct_size");
    SPOILT(work.report.struct_size = sizeof work.report - 1, ISOLINE_INVALID_ARGUMENT, "report->struct_size");
    end_drawing_job(&good_job);
}

static void newer_params_are_accepted_while_the_rest_is_zero(const char *device) {
    drawing_job work = new_drawing_job(device);
    uint8_t *wanted = not_written(COUNT);
    isoline_segments_free(segments_of(work.context, work.pixels, WIDTH, HEIGHT, 1, NULL, wanted));
    struct {
        isoline_edge_drawing_params known;
        double more[3];
    } newer = {work.params, {0, 0, 0}};
    newer.known.struct_size = sizeof newer;
    newer.more[2] = 1;
    REFUSED(isoline_edge_drawing(work.context, &work.input, &newer.known, NULL, &work.edges, &work.segments, NULL),
            ISOLINE_UNSUPPORTED, "params");
    CHECK(is_not_written(work.map, COUNT) && work.segments == untouched());
    newer.more[2] = 0;
    GOOD(isoline_edge_drawing(work.context, &work.input, &newer.known, NULL, &work.edges, NULL, NULL));
    CHECK_NUMBER(differing(wanted, work.map, COUNT), 0);
    free(wanted);
    end_drawing_job(&work);
}

static void images_that_do_not_fit_are_refused(const char *device) {
    drawing_job good_job = new_drawing_job(device);
    const uint64_t huge = UINT64_MAX;
    SPOILT(work.edges.width = WIDTH - 1, ISOLINE_INVALID_SIZE, "size");
    SPOILT(work.edges.height = HEIGHT - 1, ISOLINE_INVALID_SIZE, "size");
    SPOILT(work.input.width = 0, ISOLINE_INVALID_SIZE, "input");
    SPOILT(work.edges.height = 0, ISOLINE_INVALID_SIZE, "edges");
    SPOILT(work.input.depth = 0, ISOLINE_INVALID_SIZE, "input");
    SPOILT(work.input.width = huge, ISOLINE_INVALID_SIZE, "input");
    SPOILT((work.edges.width = (uint64_t)1 << 32, work.edges.height = (uint64_t)1 << 32), ISOLINE_INVALID_SIZE, "edges");
    SPOILT(work.input.row_stride = WIDTH - 1, ISOLINE_INVALID_SIZE, "row_stride");
    SPOILT(work.edges.row_stride = huge, ISOLINE_INVALID_SIZE, "edges");
    SPOILT(work.input.data = NULL, ISOLINE_NULL_POINTER, "input->data");
    SPOILT(work.edges.data = NULL, ISOLINE_NULL_POINTER, "edges->data");
    SPOILT((work.input.type = ISOLINE_U16, work.input.data = work.pixels + 1, work.input.width = WIDTH / 2 - 1),
           ISOLINE_INVALID_ARGUMENT, "aligned");
    SPOILT(work.input.type = 3, ISOLINE_INVALID_TYPE, "input->type");
    SPOILT(work.input.memory = 3, ISOLINE_INVALID_ARGUMENT, "memory");
    SPOILT(work.edges.reserved = 1, ISOLINE_INVALID_ARGUMENT, "reserved");
    SPOILT(work.input.spacing[1] = (double)NAN, ISOLINE_INVALID_ARGUMENT, "spacing");
    end_drawing_job(&good_job);
}

static void sides_that_points_cannot_count_are_refused(const char *device) {
    drawing_job work = new_drawing_job(device);
    const uint64_t far = (uint64_t)1 << 32;
    const uint64_t sizes[][3] = {{far, 1, 1}, {1, far, 1}, {1, 1, far}};
    for (size_t i = 0; i < 3; i++) {
        /* The description is wrong and must be refused before a pixel is read. */
        isoline_image input = describe(ISOLINE_U8, sizes[i][0], sizes[i][1], sizes[i][2], work.pixels);
        REFUSED(isoline_edge_drawing(work.context, &input, NULL, NULL, NULL, &work.segments, NULL),
                ISOLINE_INVALID_SIZE, "4294967295");
        CHECK(work.segments == untouched());
    }
    end_drawing_job(&work);
}

static void outputs_of_another_type_are_refused_by_name(const char *device) {
    drawing_job w = new_drawing_job(device);
    float *memory = unwritten(COUNT);
    const char *const names[] = {"ISOLINE_U8", "ISOLINE_U16", "ISOLINE_F32"};
    /* edges, smoothed, gradient, direction, anchors of an 8-bit input. */
    const uint32_t wanted[5] = {ISOLINE_U8, ISOLINE_U8, ISOLINE_F32, ISOLINE_U8, ISOLINE_U8};
    const char *const outputs[5] = {"edges", "smoothed", "gradient", "direction", "anchors"};
    for (int which = 0; which < 5; which++) {
        for (uint32_t type = ISOLINE_U8; type <= ISOLINE_F32; type++) {
            isoline_image output = describe(type, WIDTH, HEIGHT, 1, memory);
            const isoline_image *maps[5] = {NULL, NULL, NULL, NULL, NULL};
            maps[which] = &output;
            if (type == wanted[which]) {
                continue;
            }
            isoline_status status =
                which == 0 ? isoline_edge_drawing(w.context, &w.input, NULL, NULL, &output, NULL, NULL)
                           : isoline_edge_drawing_maps(w.context, &w.input, NULL, NULL, maps[1], maps[2], maps[3],
                                                       maps[4], NULL);
            REFUSED(status, ISOLINE_INVALID_TYPE, outputs[which]);
            CHECK_HAS(isoline_last_error(), names[wanted[which]]);
            CHECK_HAS(isoline_last_error(), names[type]);
            CHECK(is_unwritten(memory, COUNT));
        }
    }
    free(memory);
    end_drawing_job(&w);
}

static void images_that_share_memory_are_refused(const char *device) {
    drawing_job good_job = new_drawing_job(device);
    uint8_t *before = (uint8_t *)allocate(COUNT);
    memcpy(before, good_job.pixels, COUNT);
    SPOILT(work.edges.data = work.pixels, ISOLINE_OVERLAP, "edges");
    SPOILT((work.edges.data = work.pixels + COUNT - WIDTH, work.edges.height = work.input.height = 1,
            work.input.data = work.pixels + COUNT - WIDTH - 5),
           ISOLINE_OVERLAP, "input");
    SPOILT((work.edges.depth = 2, work.edges.slice_stride = 1, work.edges.height = work.input.height = HEIGHT / 2,
            work.input.depth = 2),
           ISOLINE_OVERLAP, "edges");
    CHECK(memcmp(before, good_job.pixels, COUNT) == 0);
    /* Every pair of outputs shares memory in turn. */
    isoline_context *context = good_job.context;
    float *memory = unwritten(COUNT * 2);
    const uint32_t types[4] = {ISOLINE_U8, ISOLINE_F32, ISOLINE_U8, ISOLINE_U8};
    const char *const names[4] = {"smoothed", "gradient", "direction", "anchors"};
    for (int a = 0; a < 4; a++) {
        for (int b = a + 1; b < 4; b++) {
            isoline_image first = describe(types[a], WIDTH, HEIGHT, 1, memory);
            isoline_image second = describe(types[b], WIDTH, HEIGHT, 1, (uint8_t *)memory + 4 * (COUNT / 4 - 1));
            const isoline_image *maps[4] = {NULL, NULL, NULL, NULL};
            maps[a] = &first;
            maps[b] = &second;
            REFUSED(isoline_edge_drawing_maps(context, &good_job.input, NULL, NULL, maps[0], maps[1], maps[2], maps[3],
                                              NULL),
                    ISOLINE_OVERLAP, names[a]);
            CHECK_HAS(isoline_last_error(), names[b]);
            CHECK(is_unwritten(memory, COUNT * 2));
        }
        isoline_image output = describe(types[a], WIDTH, HEIGHT / 4, 1, good_job.pixels);
        isoline_image input = describe(ISOLINE_U8, WIDTH, HEIGHT / 4, 1, good_job.pixels);
        const isoline_image *maps[4] = {NULL, NULL, NULL, NULL};
        maps[a] = &output;
        REFUSED(isoline_edge_drawing_maps(context, &input, NULL, NULL, maps[0], maps[1], maps[2], maps[3], NULL),
                ISOLINE_OVERLAP, names[a]);
    }
    CHECK(memcmp(before, good_job.pixels, COUNT) == 0);
    free(memory);
    free(before);
    end_drawing_job(&good_job);
}

static void cuda_pixels_need_a_cuda_context(const char *device) {
    drawing_job good_job = new_drawing_job(device);
    SPOILT(work.input.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, "CUDA");
    SPOILT(work.edges.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, "CUDA");
    end_drawing_job(&good_job);
}

static void the_scalar_variant_is_for_the_cpu(const char *device) {
    drawing_job good_job = new_drawing_job(device);
    SPOILT(params->variant = ISOLINE_EDGE_DRAWING_SCALAR, ISOLINE_UNSUPPORTED, "CPU");
    end_drawing_job(&good_job);
}

/* ---- cancel -------------------------------------------------------------------------------------------------- */

static void progress_changes_nothing(const char *device) {
    for (uint32_t profile = 0; profile < 2; profile++) {
        drawing_job work = new_drawing_job(device);
        uint8_t *told = not_written(COUNT);
        watch seen = {0, 0, 0, 0, 0};
        isoline_progress progress = watched_by(&seen);
        isoline_segments *segments = NULL;
        isoline_image edges = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, told);
        work.params.profile = profile;
        GOOD(draw(&work));
        GOOD(isoline_edge_drawing(work.context, &work.input, &work.params, &progress, &edges, &segments, NULL));
        CHECK(seen.calls >= 1 && seen.bad == 0);
        CHECK(same_segments(segments, work.segments));
        CHECK_NUMBER(differing(told, work.map, COUNT), 0);
        isoline_segments_free(segments);
        free(told);
        end_drawing_job(&work);
    }
}

static void a_cancel_at_once_leaves_outputs_untouched(const char *device) {
    drawing_job work = new_drawing_job(device);
    for (uint32_t profile = 0; profile < 2; profile++) {
        const watch anew = {0, 1, 0, 0, 0};
        watch seen = anew;
        isoline_progress progress = watched_by(&seen);
        work.params.profile = profile;
        REFUSED(isoline_edge_drawing(work.context, &work.input, &work.params, &progress, &work.edges, &work.segments,
                                     &work.report),
                ISOLINE_CANCELLED, "cancelled");
        CHECK(is_not_written(work.map, COUNT) && work.segments == untouched());
        CHECK_NUMBER(work.report.slices_done, 0);
        seen = anew;
        REFUSED(isoline_edge_drawing_maps(work.context, &work.input, &work.params, &progress, NULL, NULL, &work.edges,
                                          NULL, &work.report),
                ISOLINE_CANCELLED, "cancelled");
        CHECK(is_not_written(work.map, COUNT));
    }
    GOOD(draw(&work));
    end_drawing_job(&work);
}

static void a_cancelled_stack_has_no_segments(const char *device) {
    const size_t depth = scaled(200, 12), side = scaled(256, 48), area = side * side;
    isoline_context *context = open_context(device);
    uint8_t *pixels = drawing(side, side, depth, 4), *map = not_written(area * depth);
    isoline_image input = describe(ISOLINE_U8, side, side, depth, pixels);
    isoline_image edges = describe(ISOLINE_U8, side, side, depth, map);
    for (int cancel_at = 1; cancel_at < 6; cancel_at++) {
        watch seen = {0, cancel_at, 0, 0, 0};
        isoline_progress progress = watched_by(&seen);
        isoline_segments *segments = untouched();
        isoline_status status = isoline_edge_drawing(context, &input, NULL, &progress, &edges, &segments, NULL);
        if (status == ISOLINE_OK) {
            /* The call was finished before the callback could cancel it. */
            CHECK(seen.calls < cancel_at);
            isoline_segments_free(segments);
        } else {
            CHECK_NUMBER(status, ISOLINE_CANCELLED);
            CHECK(segments == untouched());
        }
    }
    free(map);
    free(pixels);
    isoline_context_free(context);
}

static void a_cancel_takes_effect_within_100_ms(const char *device) {
    /* Noise takes the most work. */
    const size_t side = scaled(6000, 128);
    isoline_context *context = open_context(device);
    uint8_t *pixels = (uint8_t *)allocate(side * side), *map = not_written(side * side);
    uint32_t seed = 5;
    for (size_t i = 0; i < side * side; i++) {
        pixels[i] = (uint8_t)next_random(&seed);
    }
    isoline_image input = describe(ISOLINE_U8, side, side, 1, pixels);
    isoline_image edges = describe(ISOLINE_U8, side, side, 1, map);
    for (uint32_t profile = 0; profile < 2; profile++) {
        for (int cancel_at = 1, attempts = 0; cancel_at <= 33;) {
            isoline_edge_drawing_params params = edge_defaults();
            params.profile = profile;
            params.gradient_threshold = 0;
            watch seen = {0, cancel_at, 0, 0, 0};
            isoline_progress progress = watched_by(&seen);
            isoline_segments *segments = untouched();
            isoline_status status = isoline_edge_drawing(context, &input, &params, &progress, &edges, &segments, NULL);
            double late = seconds_now() - seen.cancelled;
            if (status == ISOLINE_OK) {
                CHECK(seen.calls < cancel_at);
                isoline_segments_free(segments);
                memset(map, NOT_WRITTEN, side * side);
                break;
            }
            CHECK_NUMBER(status, ISOLINE_CANCELLED);
            CHECK(is_not_written(map, side * side) && segments == untouched());
            if (is_tried_again(late, &attempts)) {
                continue;
            }
            check_that(slow() || late <= PROMISED_SECONDS + slack_seconds, __FILE__, __LINE__,
                       "profile %u, cancelled at call %d: it took %.3f s", profile, cancel_at, late);
            cancel_at = 2 * cancel_at + 1;
        }
    }
    free(map);
    free(pixels);
    isoline_context_free(context);
}

/* ---- threads ------------------------------------------------------------------------------------------------- */

typedef struct {
    pthread_t thread;
    drawing_job job;
    const uint8_t *map;
    const isoline_segments *segments;
    int rounds, wrong, failed;
} worker;

static void *draw_often(void *user) {
    worker *me = (worker *)user;
    for (int i = 0; i < me->rounds; i++) {
        uint8_t *map = not_written(COUNT);
        isoline_segments *segments = NULL;
        isoline_image edges = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, map);
        isoline_status status = isoline_edge_drawing(me->job.context, &me->job.input, &me->job.params, NULL, &edges,
                                                     &segments, NULL);
        me->failed += !GOOD(status);
        me->wrong += differing(map, me->map, COUNT) != 0 || !same_segments(segments, me->segments);
        isoline_segments_free(segments);
        free(map);
    }
    return NULL;
}

/* `count` threads at once on the first `contexts` of as many jobs' contexts, each with parameters of its own. */
static void at_once(const char *device, int count, int contexts) {
    enum { MOST = 4 };
    worker workers[MOST];
    for (int i = 0; i < count; i++) {
        memset(&workers[i], 0, sizeof workers[i]);
        workers[i].job = new_drawing_job(device);
        workers[i].job.params.profile = (uint32_t)i % 2;
        workers[i].job.params.gradient_threshold = 10 + 20 * i;
        GOOD(draw(&workers[i].job));
        workers[i].map = workers[i].job.map;
        workers[i].segments = workers[i].job.segments;
        workers[i].rounds = (int)scaled(200, 5);
    }
    isoline_context *own[MOST];
    for (int i = 0; i < count; i++) {
        own[i] = workers[i].job.context;
        workers[i].job.context = own[i % contexts];
    }
    for (int i = 0; i < count; i++) {
        pthread_create(&workers[i].thread, NULL, draw_often, &workers[i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK(workers[i].failed == 0 && workers[i].wrong == 0);
    }
    for (int i = 0; i < count; i++) {
        workers[i].job.context = own[i];
        end_drawing_job(&workers[i].job);
    }
}

static void two_threads_take_turns_on_one_context(const char *device) {
    at_once(device, 2, 1);
    at_once(device, 4, 1);
}

static void two_contexts_work_at_once(const char *device) {
    at_once(device, 2, 2);
    at_once(device, 4, 4);
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

static void call_once(void *user) {
    drawing_job *work = (drawing_job *)user;
    work->segments = untouched();
    GOOD(draw(work));
    isoline_segments_free(work->segments);
    work->segments = untouched();
}

static void calls_on_one_context_do_not_grow(const char *device) {
    for (uint32_t profile = 0; profile < 2; profile++) {
        drawing_job work = new_drawing_job(device);
        work.params.profile = profile;
        must_not_grow(call_once, &work, (int)scaled(50, 2), (int)scaled(1000, 20));
        end_drawing_job(&work);
    }
}

static void want_of_memory_on_the_way_is_a_status(const char *device) {
    /* Ever more memory until the call succeeds: whichever allocation fails before, it fails as a status. All threads
     * share one heap, as each thread's own could have 64 MiB of addresses already, enough for the whole call where there
     * are many threads. */
    if (slow()) {
        skip("an instrument needs more memory than the test allows");
        return;
    }
    enum { SIDE = 3500 };
    const size_t area = (size_t)SIDE * SIDE;
    CHECK(mallopt(M_ARENA_MAX, 1) == 1);
    isoline_context *context = open_context(device);
    uint8_t *pixels = (uint8_t *)allocate(area), *map = not_written(area);
    uint32_t seed = 9;
    for (size_t i = 0; i < area; i++) {
        pixels[i] = (uint8_t)next_random(&seed);
    }
    isoline_image small = describe(ISOLINE_U8, 64, 64, 1, pixels);
    isoline_image input = describe(ISOLINE_U8, SIDE, SIDE, 1, pixels);
    isoline_image edges = describe(ISOLINE_U8, SIDE, SIDE, 1, map);
    for (uint32_t profile = 0; profile < 2; profile++) {
        isoline_edge_drawing_params params = edge_defaults();
        int refused = 0, done = 0;
        params.profile = profile;
        params.gradient_threshold = 0;
        params.min_length = 1;
        isoline_segments *segments = NULL;
        GOOD(isoline_edge_drawing(context, &small, &params, NULL, NULL, &segments, NULL));
        isoline_segments_free(segments);
        for (size_t mebibytes = 2; mebibytes <= 16384 && !done; mebibytes = mebibytes * 3 / 2 + 10) {
            struct rlimit limit;
            getrlimit(RLIMIT_AS, &limit);
            allow_only(mebibytes << 20);
            segments = untouched();
            isoline_status status = isoline_edge_drawing(context, &input, &params, NULL, &edges, &segments, NULL);
            setrlimit(RLIMIT_AS, &limit);
            done = status == ISOLINE_OK;
            refused += status == ISOLINE_OUT_OF_MEMORY;
            if (done) {
                isoline_segments_free(segments);
            } else {
                REFUSED(status, ISOLINE_OUT_OF_MEMORY, "memory");
                CHECK(segments == untouched());
                CHECK(is_not_written(map, area));
            }
        }
        CHECK(refused >= 1 && done);
        memset(map, NOT_WRITTEN, area);
        GOOD(isoline_context_trim(context));
    }
    free(map);
    free(pixels);
    isoline_context_free(context);
}

int main(void) {
    RUN_ON_EACH(null_is_refused_only_where_it_must_not_be);
    RUN_ON_EACH(null_maps_are_refused_when_all_are_null);
    RUN_ON_EACH(numbers_that_are_none_are_refused_by_name);
    RUN_ON_EACH(numbers_out_of_range_are_refused_by_name);
    RUN_ON_EACH(unknown_choices_are_refused_by_name);
    RUN_ON_EACH(structs_without_init_are_refused_before_any_work);
    RUN_ON_EACH(newer_params_are_accepted_while_the_rest_is_zero);
    RUN_ON_EACH(images_that_do_not_fit_are_refused);
    RUN_ON_EACH(sides_that_points_cannot_count_are_refused);
    RUN_ON_EACH(outputs_of_another_type_are_refused_by_name);
    RUN_ON_EACH(images_that_share_memory_are_refused);
    RUN(cuda_pixels_need_a_cuda_context);
    RUN_ON_EACH(progress_changes_nothing);
    RUN_ON_EACH(a_cancel_at_once_leaves_outputs_untouched);
    RUN_ON_EACH(a_cancelled_stack_has_no_segments);
    RUN_ON_EACH(a_cancel_takes_effect_within_100_ms);
    RUN_ON_EACH(two_threads_take_turns_on_one_context);
    RUN_ON_EACH(two_contexts_work_at_once);
    RUN_ON_EACH(calls_on_one_context_do_not_grow);
    RUN(want_of_memory_on_the_way_is_a_status);
    if (have_cuda()) {
        RUN_ON(the_scalar_variant_is_for_the_cpu, "cuda:0");
    }
    return summary();
}
