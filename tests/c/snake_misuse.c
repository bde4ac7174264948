/* Region snakes: every misuse refused, progress and cancelling, threads, memory. */
#include "cells.h"
#include "in_time.h"
#include "process.h"

#include <pthread.h>

static const uint64_t TO_THE_END = UINT64_MAX;

/* Returns the value of `out` before a call: an address that must not be dereferenced. */
static isoline_snake *untouched(void) {
    static int place;
    return (isoline_snake *)(void *)&place;
}

/* A failed isoline_snake_new or _run leaves everything unchanged. */
static void refused(snake_job *work, isoline_status status, const char *word, const char *what) {
    const snake_job before = *work;
    isoline_snake *made = untouched();
    check_status(isoline_snake_new(work->context, &work->input, &work->initial, &work->params, &made), status, word,
                 __FILE__, __LINE__, what);
    check_status(isoline_snake_run(work->context, &work->input, &work->initial, &work->params, NULL, &work->labels, &made,
                                   &work->report),
                 status, word, __FILE__, __LINE__, what);
    CHECK(made == untouched() && labels_untouched(work));
    CHECK(memcmp(&before, work, sizeof before) == 0);
}

/* `change` makes both calls fail with `status` and a message that has `word`. */
#define SPOILT(change, status, word)                                                                                   \
    do {                                                                                                               \
        snake_job work = good_job;                                                                                     \
        change;                                                                                                        \
        refused(&work, (status), (word), #change);                                                                     \
    } while (0)

/* ---- misuse -------------------------------------------------------------------------------------------------- */

static void null_is_refused_only_where_it_must_not_be(const char *device) {
    snake_job w = new_snake_job(device);
    isoline_snake *made = untouched();
    isoline_polygons borrowed;
    REFUSED(isoline_snake_params_init(NULL, sizeof w.params), ISOLINE_NULL_POINTER, "params");
    REFUSED(isoline_polygons_init(NULL, sizeof borrowed), ISOLINE_NULL_POINTER, "polygons");
    GOOD(isoline_polygons_init(&borrowed, sizeof borrowed));
    REFUSED(isoline_snake_new(NULL, &w.input, &w.initial, &w.params, &made), ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_snake_new(w.context, NULL, &w.initial, &w.params, &made), ISOLINE_NULL_POINTER, "input");
    REFUSED(isoline_snake_new(w.context, &w.input, &w.initial, &w.params, NULL), ISOLINE_NULL_POINTER, "out");
    REFUSED(isoline_snake_run(NULL, &w.input, NULL, NULL, NULL, &w.labels, &made, NULL), ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_snake_run(w.context, NULL, NULL, NULL, NULL, &w.labels, &made, NULL), ISOLINE_NULL_POINTER, "input");
    REFUSED(isoline_snake_run(w.context, &w.input, NULL, NULL, NULL, NULL, NULL, &w.report), ISOLINE_NULL_POINTER,
            "give at least one of them");
    CHECK(made == untouched() && labels_untouched(&w));
    isoline_snake *snake = snake_of(&w);
    isoline_target_statistics one;
    isoline_region_sum sum;
    const isoline_node *nodes = NULL;
    size_t number = 99;
    REFUSED(isoline_snake_step(NULL, 1, NULL, &w.report), ISOLINE_NULL_POINTER, "snake");
    REFUSED(isoline_snake_restart(NULL, &w.initial, &w.params), ISOLINE_NULL_POINTER, "snake");
    REFUSED(isoline_snake_polygons(NULL, &borrowed), ISOLINE_NULL_POINTER, "snake");
    REFUSED(isoline_snake_polygons(snake, NULL), ISOLINE_NULL_POINTER, "out");
    REFUSED(isoline_snake_polygon(NULL, 0, &nodes, &number), ISOLINE_NULL_POINTER, "snake");
    REFUSED(isoline_snake_polygon(snake, 0, NULL, &number), ISOLINE_NULL_POINTER, "nodes");
    REFUSED(isoline_snake_polygon(snake, 0, &nodes, NULL), ISOLINE_NULL_POINTER, "count");
    REFUSED(isoline_snake_polygon(snake, CELLS, &nodes, &number), ISOLINE_INVALID_ARGUMENT, "less than 3");
    REFUSED(isoline_snake_polygon(snake, SIZE_MAX, &nodes, &number), ISOLINE_INVALID_ARGUMENT, "index");
    REFUSED(isoline_snake_statistics(NULL, 0, 1, &one, &number), ISOLINE_NULL_POINTER, "snake");
    REFUSED(isoline_snake_statistics(snake, 0, 1, NULL, &number), ISOLINE_NULL_POINTER, "out");
    REFUSED(isoline_snake_statistics(snake, 0, 1, &one, NULL), ISOLINE_NULL_POINTER, "written");
    REFUSED(isoline_snake_statistics(snake, 0, SIZE_MAX, &one, &number), ISOLINE_INVALID_SIZE, "out");
    REFUSED(isoline_snake_region_sums(NULL, &w.initial, &sum), ISOLINE_NULL_POINTER, "snake");
    REFUSED(isoline_snake_region_sums(snake, NULL, &sum), ISOLINE_NULL_POINTER, "polygons");
    REFUSED(isoline_snake_region_sums(snake, &w.initial, NULL), ISOLINE_NULL_POINTER, "out");
    REFUSED(isoline_snake_draw_mask(NULL, &w.labels), ISOLINE_NULL_POINTER, "snake");
    REFUSED(isoline_snake_draw_mask(snake, NULL), ISOLINE_NULL_POINTER, "mask");
    REFUSED(isoline_snake_draw_labels(NULL, &w.labels), ISOLINE_NULL_POINTER, "snake");
    REFUSED(isoline_snake_draw_labels(snake, NULL), ISOLINE_NULL_POINTER, "labels");
    CHECK(nodes == NULL && number == 99 && borrowed.count == 0 && labels_untouched(&w));
    isoline_snake_free(snake);
    end_snake_job(&w);
}

static void wrong_parameters_are_refused_by_name(const char *device) {
    snake_job good_job = new_snake_job(device);
    const double none[] = {(double)NAN, -(double)NAN, (double)INFINITY, -(double)INFINITY};
    const uint32_t far[] = {0, 1, 250, UINT32_MAX - 10};
    for (size_t i = 0; i < 4; i++) {
        /* The values are errors even if they are not used. */
        SPOILT(work.params.looks = none[i], ISOLINE_INVALID_ARGUMENT, "looks");
        SPOILT(work.params.margin = none[i], ISOLINE_INVALID_ARGUMENT, "margin");
        SPOILT(work.params.node_spacing = none[i], ISOLINE_INVALID_ARGUMENT, "node_spacing");
        SPOILT(work.params.node_cost = none[i], ISOLINE_INVALID_ARGUMENT, "node_cost");
        SPOILT(work.params.range_min = none[i], ISOLINE_INVALID_ARGUMENT, "range_min");
        SPOILT(work.params.range_max = none[i], ISOLINE_INVALID_ARGUMENT, "range_max");
        SPOILT(work.params.noise = ISOLINE_SNAKE_NOISE_BERNOULLI + 1 + far[i], ISOLINE_INVALID_ARGUMENT, "noise");
        SPOILT(work.params.schedule = ISOLINE_SNAKE_SEQUENTIAL + 1 + far[i], ISOLINE_INVALID_ARGUMENT, "schedule");
        SPOILT(work.params.background = ISOLINE_SNAKE_BACKGROUND_WINDOW + 1 + far[i], ISOLINE_INVALID_ARGUMENT,
               "background");
    }
    SPOILT(work.params.pyramid_levels = 0, ISOLINE_INVALID_ARGUMENT, "pyramid_levels");
    SPOILT(work.params.pyramid_levels = 5, ISOLINE_INVALID_ARGUMENT, "pyramid_levels");
    SPOILT(work.params.noise = ISOLINE_SNAKE_NOISE_GAMMA; work.params.looks = 0.9, ISOLINE_INVALID_ARGUMENT, "looks");
    SPOILT(work.params.noise = ISOLINE_SNAKE_NOISE_GAMMA; work.params.looks = 1e7, ISOLINE_INVALID_ARGUMENT, "looks");
    SPOILT(work.params.margin = 0, ISOLINE_INVALID_ARGUMENT, "margin");
    SPOILT(work.params.largest_step = 3, ISOLINE_INVALID_ARGUMENT, "largest_step");
    SPOILT(work.params.largest_step = 24, ISOLINE_INVALID_ARGUMENT, "largest_step");
    SPOILT(work.params.largest_step = 8192, ISOLINE_INVALID_ARGUMENT, "largest_step");
    SPOILT(work.params.node_spacing = 0, ISOLINE_INVALID_ARGUMENT, "node_spacing");
    SPOILT(work.params.node_spacing = 1.9, ISOLINE_INVALID_ARGUMENT, "node_spacing");
    SPOILT(work.params.node_cost = -1e-9, ISOLINE_INVALID_ARGUMENT, "node_cost");
    SPOILT(work.params.node_cost = 1e300, ISOLINE_INVALID_ARGUMENT, "node_cost");
    SPOILT(work.params.max_nodes = 2, ISOLINE_INVALID_ARGUMENT, "max_nodes");
    SPOILT(work.params.max_nodes = 65537, ISOLINE_INVALID_ARGUMENT, "max_nodes");
    SPOILT(work.params.max_iterations = 0, ISOLINE_INVALID_ARGUMENT, "max_iterations");
    SPOILT(work.params.range_max = 1000, ISOLINE_INVALID_ARGUMENT, "range_min");
    SPOILT(work.params.range_min = 0; work.params.range_max = 1000, ISOLINE_INVALID_ARGUMENT, "float32");
    float *real = (float *)allocate(COUNT * sizeof(float));
    memset(real, 0, COUNT * sizeof(float));
    good_job.input = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, real);
    SPOILT(work.params.range_min = 5; work.params.range_max = 5, ISOLINE_INVALID_ARGUMENT, "range_min");
    /* The ends of what is allowed, on a flat image. */
    good_job.params.noise = ISOLINE_SNAKE_NOISE_GAMMA;
    good_job.params.looks = good_job.params.node_cost = 1e6;
    good_job.params.margin = good_job.params.node_spacing = 1e300;
    good_job.params.largest_step = 4096;
    good_job.params.max_nodes = 65536;
    good_job.params.max_iterations = UINT64_MAX;
    isoline_snake *snake = snake_of(&good_job);
    GOOD(isoline_snake_step(snake, TO_THE_END, NULL, &good_job.report));
    CHECK_NUMBER(good_job.report.converged, 1);
    isoline_snake_free(snake);
    good_job.params = for_cells();
    SPOILT(work.params.looks = -1, ISOLINE_INVALID_ARGUMENT, "looks");
    free(real);
    end_snake_job(&good_job);
}

static void structs_of_other_sizes_are_judged_before_any_work(const char *device) {
    snake_job good_job = new_snake_job(device);
    const uint32_t sizes[] = {0, 3, 4, 39};
    isoline_snake *snake = snake_of(&good_job), *made = untouched();
    for (size_t i = 0; i < 4; i++) {
        SPOILT(work.params.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "params->struct_size");
        SPOILT(work.input.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "input->struct_size");
        SPOILT(work.initial.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "initial->struct_size");
        isoline_polygons borrowed, before;
        isoline_region_sum sums[CELLS];
        memset(&borrowed, 0xA5, sizeof borrowed);
        borrowed.struct_size = sizes[i];
        before = borrowed;
        REFUSED(isoline_snake_polygons(snake, &borrowed), ISOLINE_INVALID_ARGUMENT, "out->struct_size");
        REFUSED(isoline_snake_region_sums(snake, &borrowed, sums), ISOLINE_INVALID_ARGUMENT, "polygons->struct_size");
        CHECK(memcmp(&borrowed, &before, sizeof borrowed) == 0);
        isoline_report report = good_job.report;
        report.struct_size = sizes[i];
        REFUSED(isoline_snake_step(snake, 3, NULL, &report), ISOLINE_INVALID_ARGUMENT, "report->struct_size");
        CHECK_NUMBER(statistics_of(snake, 0).iterations, 0);
        isoline_snake *out = untouched();
        REFUSED(isoline_snake_run(good_job.context, &good_job.input, NULL, NULL, NULL, NULL, &out, &report),
                ISOLINE_INVALID_ARGUMENT, "report->struct_size");
        CHECK(out == untouched());
    }
    struct {
        isoline_snake_params known;
        double more[3];
    } newer = {good_job.params, {0, 0, 1}};
    newer.known.struct_size = sizeof newer;
    REFUSED(isoline_snake_new(good_job.context, &good_job.input, NULL, &newer.known, &made), ISOLINE_UNSUPPORTED, "newer");
    CHECK(made == untouched());
    newer.more[2] = 0;
    GOOD(isoline_snake_new(good_job.context, &good_job.input, NULL, &newer.known, &made));
    isoline_snake_free(made);
    /* The additional fields of a newer caller's polygons are unchanged. */
    struct {
        isoline_polygons known;
        unsigned char more[24];
    } borrowed, before;
    memset(&borrowed, 0xA5, sizeof borrowed);
    GOOD(isoline_polygons_init(&borrowed.known, sizeof borrowed.known));
    borrowed.known.struct_size = sizeof borrowed;
    before = borrowed;
    GOOD(isoline_snake_polygons(snake, &borrowed.known));
    CHECK(memcmp(borrowed.more, before.more, sizeof borrowed.more) == 0 && borrowed.known.struct_size == sizeof borrowed);
    CHECK_NUMBER(borrowed.known.count, CELLS);
    isoline_snake_free(snake);
    end_snake_job(&good_job);
}

static void arrays_that_are_no_polygons_are_refused(const char *device) {
    snake_job good_job = new_snake_job(device);
    uint64_t *offsets = good_job.room->offsets;
    isoline_snake *snake = snake_of(&good_job);
    isoline_region_sum sums[CELLS];
    SPOILT(work.initial.reserved = 1, ISOLINE_INVALID_ARGUMENT, "initial->reserved");
    SPOILT(work.initial.nodes = NULL, ISOLINE_NULL_POINTER, "initial->nodes");
    SPOILT(work.initial.offsets = NULL, ISOLINE_NULL_POINTER, "initial->offsets");
    SPOILT(work.initial.count = UINT64_MAX, ISOLINE_INVALID_SIZE, "initial->offsets");
    SPOILT(work.initial.count = UINT64_MAX / 8, ISOLINE_INVALID_SIZE, "initial->offsets");
    SPOILT(work.initial.node_count = UINT64_MAX, ISOLINE_INVALID_SIZE, "initial->nodes");
    SPOILT(work.initial.node_count = UINT64_MAX / 8, ISOLINE_INVALID_SIZE, "initial->nodes");
    SPOILT(work.initial.node_count--, ISOLINE_INVALID_ARGUMENT, "the number of nodes, 11, but it is 12");
    SPOILT(work.initial.count--, ISOLINE_INVALID_ARGUMENT, "the number of nodes, 12, but it is 8");
    SPOILT(work.initial.count = 0, ISOLINE_INVALID_ARGUMENT, "the number of nodes");
    for (int fault = 0; fault < 3; fault++) {
        uint64_t before[CELLS + 1];
        memcpy(before, offsets, sizeof before);
        offsets[0] = fault == 0 ? 1 : 0;
        offsets[1] = fault == 1 ? 9 : 4;
        offsets[2] = fault == 2 ? UINT64_MAX : 8;
        const char *const words[] = {"must be 0, but it is 1", "offset 2 is 8 after 9", "offset 3 is 12 after"};
        refused(&good_job, ISOLINE_INVALID_ARGUMENT, words[fault], "offsets");
        REFUSED(isoline_snake_restart(snake, &good_job.initial, NULL), ISOLINE_INVALID_ARGUMENT, words[fault]);
        REFUSED(isoline_snake_region_sums(snake, &good_job.initial, sums), ISOLINE_INVALID_ARGUMENT, words[fault]);
        memcpy(offsets, before, sizeof before);
    }
    CHECK_NUMBER(isoline_snake_count(snake), CELLS);
    isoline_snake_free(snake);
    end_snake_job(&good_job);
}

/* One polygon, for every call that takes polygons. */
static void polygon_refused(snake_job *work, isoline_snake *snake, const isoline_node *nodes, uint64_t count,
                            const char *word) {
    const isoline_polygons good = work->initial;
    const uint64_t offsets[] = {0, CORNERS, CORNERS + count};
    isoline_node all[CORNERS + 8];
    isoline_region_sum sums[2], before[2];
    memset(sums, 0xA5, sizeof sums);
    memcpy(before, sums, sizeof before);
    /* After a good one: the message counts from 0. */
    memcpy(all, work->room->nodes, CORNERS * sizeof all[0]);
    memcpy(all + CORNERS, nodes, count * sizeof all[0]);
    work->initial = polygons_of(all, offsets, 2);
    refused(work, ISOLINE_INVALID_ARGUMENT, "polygon 1", word);
    CHECK_HAS(isoline_last_error(), word);
    REFUSED(isoline_snake_restart(snake, &work->initial, &work->params), ISOLINE_INVALID_ARGUMENT, word);
    REFUSED(isoline_snake_region_sums(snake, &work->initial, sums), ISOLINE_INVALID_ARGUMENT, word);
    CHECK(memcmp(sums, before, sizeof sums) == 0);
    work->initial = good;
}

static void polygons_that_touch_themselves_are_refused_with_the_place(const char *device) {
    snake_job work = new_snake_job(device);
    isoline_snake *snake = snake_of(&work);
    const isoline_node two[] = {{1, 1}, {9, 9}, {9, 9}, {1, 1}};
    const isoline_node bow[] = {{10, 10}, {30, 30}, {30, 10}, {10, 30}};
    const isoline_node eight[] = {{0, 0}, {20, 0}, {10, 10}, {20, 20}, {0, 20}, {10, 10}};
    const isoline_node spike[] = {{0, 0}, {20, 0}, {20, 10}, {40, 10}, {20, 10}, {20, 20}, {0, 20}};
    const isoline_node notch[] = {{0, 0}, {20, 0}, {20, 20}, {12, 20}, {10, 0}, {8, 20}, {0, 20}};
    const isoline_node line[] = {{0, 0}, {20, 0}, {40, 0}};
    const isoline_node far[] = {{INT32_MIN, INT32_MIN}, {INT32_MAX, INT32_MIN}, {INT32_MAX, INT32_MAX}};
    const isoline_node beyond[] = {{0, 0}, {268435457, 0}, {0, 9}};
    polygon_refused(&work, snake, two, 0, "at least 3 nodes");
    polygon_refused(&work, snake, two, 2, "at least 3 nodes");
    polygon_refused(&work, snake, two, 4, "at least 3 nodes at different places, but it has 2");
    polygon_refused(&work, snake, bow, 4, "its edges 0 (10, 10)-(30, 30) and 2 (30, 10)-(10, 30) meet");
    polygon_refused(&work, snake, eight, 6, "(20, 0)-(10, 10)");
    polygon_refused(&work, snake, spike, 7, "its edges 1 (20, 0)-(20, 10) and 3 (40, 10)-(20, 10) meet");
    polygon_refused(&work, snake, notch, 7, "0 (0, 0)-(20, 0)");
    polygon_refused(&work, snake, line, 3, "crosses itself");
    polygon_refused(&work, snake, far, 3, "coordinates must be from -268435456 to 268435456");
    polygon_refused(&work, snake, beyond, 3, "(268435457, 0)");
    /* These bounds themselves are allowed, and the polygon contains the whole image. */
    const isoline_node widest[] = {
        {-268435456, -268435456}, {268435456, -268435456}, {268435456, 268435456}, {-268435456, 268435456}};
    const uint64_t offsets[] = {0, 4};
    const isoline_polygons one = polygons_of(widest, offsets, 1);
    isoline_region_sum sum;
    GOOD(isoline_snake_region_sums(snake, &one, &sum));
    CHECK_NUMBER(sum.pixels, COUNT);
    /* More nodes than are allowed. */
    work.params.max_nodes = 3;
    refused(&work, ISOLINE_INVALID_ARGUMENT, "polygon 0 has 4 nodes, but max_nodes is 3", "max_nodes");
    const size_t many = 65537;
    isoline_node *nodes = (isoline_node *)allocate(many * sizeof *nodes);
    memset(nodes, 0, many * sizeof *nodes);
    const uint64_t until[] = {0, many};
    const isoline_polygons long_one = polygons_of(nodes, until, 1);
    REFUSED(isoline_snake_region_sums(snake, &long_one, &sum), ISOLINE_INVALID_ARGUMENT, "polygon 0 has 65537 nodes");
    free(nodes);
    isoline_snake_free(snake);
    end_snake_job(&work);
}

static void images_that_do_not_fit_are_refused(const char *device) {
    snake_job good_job = new_snake_job(device);
    const uint64_t huge = UINT64_MAX, side = ((uint64_t)1 << 25) + 1;
    uint8_t *wide = (uint8_t *)calloc((size_t)side, 1);
    SPOILT(work.input.width = 0, ISOLINE_INVALID_SIZE, "input");
    SPOILT(work.input.height = huge, ISOLINE_INVALID_SIZE, "input");
    SPOILT(work.input.row_stride = huge, ISOLINE_INVALID_SIZE, "input");
    SPOILT(work.input.row_stride = 2 * WIDTH - 2, ISOLINE_INVALID_SIZE, "row_stride");
    SPOILT(work.input = describe(ISOLINE_U8, side, 1, 1, wide), ISOLINE_INVALID_SIZE, "33554432 pixels a side");
    SPOILT(work.input = describe(ISOLINE_U8, 1, side, 1, wide), ISOLINE_INVALID_SIZE, "cut it into parts");
    SPOILT(work.input.data = NULL, ISOLINE_NULL_POINTER, "input->data");
    SPOILT(work.input.type = 3, ISOLINE_INVALID_TYPE, "input->type");
    SPOILT(work.input.memory = 3, ISOLINE_INVALID_ARGUMENT, "memory");
    SPOILT(work.input.reserved = 1, ISOLINE_INVALID_ARGUMENT, "reserved");
    free(wide);
    end_snake_job(&good_job);
}

static void cuda_pixels_need_a_cuda_context(const char *device) {
    snake_job good_job = new_snake_job(device);
    SPOILT(work.input.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, "CUDA");
    SPOILT(work.input.memory = ISOLINE_CUDA; work.input.type = ISOLINE_F32, ISOLINE_UNSUPPORTED, "CUDA");
    end_snake_job(&good_job);
}

static void outputs_that_do_not_fit_are_refused(const char *device) {
    snake_job work = new_snake_job(device);
    isoline_snake *snake = snake_of(&work), *made = untouched();
    uint16_t *before = (uint16_t *)allocate(COUNT * sizeof *before);
    memcpy(before, work.pixels, COUNT * sizeof *before);
    for (int which = 0; which < 3; which++) {
        /* Spoilt in turn: the mask, the labels, the labels of the one call. */
        isoline_image good = work.labels;
        good.type = which == 0 ? ISOLINE_U8 : ISOLINE_U16;
        for (int fault = 0; fault < 8; fault++) {
            isoline_image image = good;
            const isoline_status wanted[] = {ISOLINE_INVALID_SIZE,     ISOLINE_INVALID_SIZE,  ISOLINE_INVALID_TYPE,
                                             ISOLINE_INVALID_TYPE,     ISOLINE_OVERLAP,       ISOLINE_NULL_POINTER,
                                             ISOLINE_INVALID_ARGUMENT, ISOLINE_UNSUPPORTED};
            image.width -= fault == 0;
            image.depth = fault == 1 ? 0 : image.depth;
            image.type = fault == 2 ? (which == 0 ? ISOLINE_U16 : ISOLINE_U8) : fault == 3 ? 3 : image.type;
            image.depth = fault == 4 ? 2 : image.depth;
            image.height /= fault == 4 ? 2 : 1;
            image.slice_stride = fault == 4 ? image.width * 2 : 0;
            image.data = fault == 5 ? NULL : image.data;
            image.struct_size -= fault == 6;
            image.memory = fault == 7 ? ISOLINE_CUDA : ISOLINE_HOST;
            isoline_status status =
                which == 0   ? isoline_snake_draw_mask(snake, &image)
                : which == 1 ? isoline_snake_draw_labels(snake, &image)
                             : isoline_snake_run(work.context, &work.input, &work.initial, &work.params, NULL, &image,
                                                 &made, &work.report);
            check_that(status == wanted[fault], __FILE__, __LINE__, "output %d, fault %d: %s (%s)", which, fault,
                       isoline_status_name(status), isoline_last_error());
        }
    }
    isoline_image shared = work.labels;
    shared.data = work.pixels;
    REFUSED(isoline_snake_run(work.context, &work.input, NULL, NULL, NULL, &shared, NULL, NULL), ISOLINE_OVERLAP, "input");
    CHECK(made == untouched() && labels_untouched(&work));
    CHECK(memcmp(before, work.pixels, COUNT * sizeof *before) == 0);
    free(before);
    isoline_snake_free(snake);
    end_snake_job(&work);
}

static void more_labels_than_16_bits_can_count_are_refused(const char *device) {
    enum { MANY = 65536 };
    snake_job work = new_snake_job(device);
    isoline_node *nodes = (isoline_node *)allocate(3 * MANY * sizeof *nodes);
    uint64_t *offsets = (uint64_t *)allocate((MANY + 1) * sizeof *offsets);
    /* All but the last outside the image: they cost nothing. */
    for (int i = 0; i < MANY; i++) {
        const int x = i == MANY - 1 ? 20 : -500;
        nodes[3 * i] = corner(x, 20);
        nodes[3 * i + 1] = corner(x + 20, 25);
        nodes[3 * i + 2] = corner(x + 5, 40);
        offsets[i] = 3 * (uint64_t)i;
    }
    offsets[MANY] = 3 * MANY;
    work.initial = polygons_of(nodes, offsets, MANY);
    isoline_snake *snake = snake_of(&work), *made = untouched();
    CHECK_NUMBER(isoline_snake_count(snake), MANY);
    REFUSED(isoline_snake_draw_labels(snake, &work.labels), ISOLINE_INVALID_ARGUMENT, "use float32");
    watch seen = {0, 0, 0, 0, 0};
    isoline_progress progress = watched_by(&seen);
    REFUSED(isoline_snake_run(work.context, &work.input, &work.initial, &work.params, &progress, &work.labels, &made, NULL),
            ISOLINE_INVALID_ARGUMENT, "counts to 65535, but there are 65536 targets");
    /* Before the search. */
    CHECK(seen.calls == 0 && made == untouched() && labels_untouched(&work));
    float *real = unwritten(COUNT);
    isoline_image image = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, real);
    GOOD(isoline_snake_draw_labels(snake, &image));
    CHECK(real[30 * WIDTH + 25] == MANY && real[0] == 0);
    GOOD(isoline_snake_restart(snake, NULL, NULL));
    GOOD(isoline_snake_draw_labels(snake, &work.labels));
    free(real);
    free(offsets);
    free(nodes);
    isoline_snake_free(snake);
    end_snake_job(&work);
}

static void what_the_image_is_kept_as_cannot_change(const char *device) {
    snake_job work = new_snake_job(device);
    for (int binary = 0; binary < 2; binary++) {
        work.params.noise = binary ? ISOLINE_SNAKE_NOISE_BERNOULLI : ISOLINE_SNAKE_NOISE_RAYLEIGH;
        isoline_snake *snake = snake_of(&work);
        GOOD(isoline_snake_step(snake, 2, NULL, NULL));
        const isoline_polygons borrowed = borrowed_by(snake);
        isoline_snake_params other = work.params;
        other.noise = binary ? ISOLINE_SNAKE_NOISE_GAUSSIAN : ISOLINE_SNAKE_NOISE_BERNOULLI;
        REFUSED(isoline_snake_restart(snake, NULL, &other), ISOLINE_INVALID_ARGUMENT, "make a new snake");
        other = work.params;
        other.range_max = 5;
        REFUSED(isoline_snake_restart(snake, NULL, &other), ISOLINE_INVALID_ARGUMENT, "range");
        other = work.params;
        other.node_spacing = NAN;
        REFUSED(isoline_snake_restart(snake, NULL, &other), ISOLINE_INVALID_ARGUMENT, "node_spacing");
        const isoline_polygons still = borrowed_by(snake);
        CHECK(still.nodes == borrowed.nodes && statistics_of(snake, 0).iterations == 2);
        isoline_snake_free(snake);
    }
    float *real = unwritten(COUNT);
    work.input = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, real);
    work.params.noise = ISOLINE_SNAKE_NOISE_GAUSSIAN;
    isoline_snake *snake = snake_of(&work);
    work.params.range_max = 5;
    REFUSED(isoline_snake_restart(snake, NULL, &work.params), ISOLINE_INVALID_ARGUMENT, "range");
    /* The automatic range of a model that counts from 0 is another one. */
    work.params.range_max = ISOLINE_AUTOMATIC;
    work.params.noise = ISOLINE_SNAKE_NOISE_POISSON;
    REFUSED(isoline_snake_restart(snake, NULL, &work.params), ISOLINE_INVALID_ARGUMENT, "gaussian");
    isoline_snake_free(snake);
    free(real);
    end_snake_job(&work);
}

/* ---- progress and cancel ------------------------------------------------------------------------------------- */

/* A noisy image with nothing in it, and parameters with which a search goes on for long. */
static uint8_t *endless_image(snake_job *work, size_t side) {
    uint8_t *pixels = (uint8_t *)allocate(side * side);
    uint32_t seed = 3;
    for (size_t i = 0; i < side * side; i++) {
        pixels[i] = (uint8_t)next_random(&seed);
    }
    work->input = describe(ISOLINE_U8, side, side, 1, pixels);
    work->params = snake_defaults();
    work->params.largest_step = 1;
    work->params.node_spacing = 2;
    /* The more nodes, the longer a step: no fast machine must come to the end before a third call of a callback. */
    work->params.max_nodes = 4096;
    return pixels;
}

static void a_cancel_keeps_the_last_whole_step(const char *device) {
    snake_job work = new_snake_job(device);
    uint8_t *pixels = endless_image(&work, scaled(2000, 400));
    isoline_snake *snake = NULL, *other = NULL, *made = untouched();
    GOOD(isoline_snake_new(work.context, &work.input, NULL, &work.params, &snake));
    GOOD(isoline_snake_new(work.context, &work.input, NULL, &work.params, &other));
    uint64_t done = 0;
    for (int cancel_at = 1, attempts = 0; done == 0 && cancel_at < 200;) {
        watch seen = {0, cancel_at, 0, 0, 0};
        isoline_progress progress = watched_by(&seen);
        const isoline_report before = work.report;
        REFUSED(isoline_snake_step(snake, TO_THE_END, &progress, &work.report), ISOLINE_CANCELLED, "cancelled");
        const double late = seconds_now() - seen.cancelled;
        if (!is_tried_again(late, &attempts)) {
            check_that(slow() || late <= PROMISED_SECONDS + slack_seconds, __FILE__, __LINE__,
                       "cancelled at call %d: it took %.3f s", cancel_at, late);
            cancel_at++;
        }
        CHECK(seen.bad == 0 && memcmp(&before, &work.report, sizeof before) == 0);
        const isoline_target_statistics now = statistics_of(snake, 0);
        CHECK(now.status == ISOLINE_TARGET_RUNNING && now.iterations >= done);
        done = now.iterations;
    }
    CHECK(done >= 1);
    /* The state is that after as many iterations, and the next step continues from there. */
    for (int more = 0; more < 2; more++) {
        GOOD(isoline_snake_step(other, more ? 2 : done, NULL, NULL));
        if (more) {
            GOOD(isoline_snake_step(snake, 2, NULL, NULL));
        }
        const isoline_polygons a = borrowed_by(snake), b = borrowed_by(other);
        CHECK(same_polygons(&a, &b));
    }
    isoline_snake_free(other);
    isoline_snake_free(snake);
    watch seen = {0, 2, 0, 0, 0};
    isoline_progress progress = watched_by(&seen);
    REFUSED(isoline_snake_run(work.context, &work.input, NULL, &work.params, &progress, NULL, &made, &work.report),
            ISOLINE_CANCELLED, "cancelled");
    CHECK(made == untouched() && work.report.iterations == 0);
    free(pixels);
    end_snake_job(&work);
}

/* An iteration of a polygon of 60,000 nodes takes a second. A cancel does not wait for its end. */
static void a_cancel_of_very_many_nodes_takes_effect_within_100_ms(const char *device) {
    /* CUDA tests all edges for a crossing, so that an iteration takes as long with fewer nodes. */
    const size_t count = scaled(strcmp(device, "cpu") == 0 ? 60000 : 12000, 200), width = 2 * count + 8, height = 100;
    snake_job work = new_snake_job(device);
    uint8_t *pixels = (uint8_t *)allocate(width * height);
    uint32_t seed = 5;
    for (size_t i = 0; i < width * height; i++) {
        pixels[i] = (uint8_t)(150 + next_random(&seed) % 100);
    }
    isoline_node *nodes = (isoline_node *)allocate(count * sizeof *nodes);
    nodes[0] = corner(4, 6);
    nodes[1] = corner(2 * (int)count, 6);
    for (size_t i = 2; i < count; i++) {
        nodes[i] = corner(2 * (int)(count - i) + 2, i % 2 ? 20 : 94);
    }
    const uint64_t offsets[] = {0, count};
    const isoline_polygons comb = polygons_of(nodes, offsets, 1);
    work.input = describe(ISOLINE_U8, width, height, 1, pixels);
    work.params = snake_defaults();
    work.params.largest_step = 1;
    work.params.max_nodes = (uint32_t)count;
    isoline_snake *snake = NULL, *other = NULL;
    GOOD(isoline_snake_new(work.context, &work.input, &comb, &work.params, &snake));
    GOOD(isoline_snake_new(work.context, &work.input, &comb, &work.params, &other));
    for (int cancel_at = 1, attempts = 0; cancel_at <= 16;) {
        watch seen = {0, cancel_at, 0, 0, 0};
        isoline_progress progress = watched_by(&seen);
        const isoline_status status = isoline_snake_step(snake, TO_THE_END, &progress, NULL);
        const double late = seconds_now() - seen.cancelled;
        if (status == ISOLINE_OK) {
            /* The call was finished before the callback could cancel it. */
            CHECK(seen.calls < cancel_at);
            break;
        }
        CHECK_NUMBER(status, ISOLINE_CANCELLED);
        if (is_tried_again(late, &attempts)) {
            continue;
        }
        check_that(slow() || late <= PROMISED_SECONDS + slack_seconds, __FILE__, __LINE__,
                   "cancelled at call %d: it took %.3f s", cancel_at, late);
        cancel_at *= 2;
    }
    /* Complete iterations are kept, and the next step continues as if nothing had been cancelled. */
    const uint64_t done = statistics_of(snake, 0).iterations;
    GOOD(isoline_snake_step(snake, 1, NULL, NULL));
    GOOD(isoline_snake_step(other, done + 1, NULL, NULL));
    const isoline_polygons a = borrowed_by(snake), b = borrowed_by(other);
    CHECK(same_polygons(&a, &b));
    isoline_snake_free(other);
    isoline_snake_free(snake);
    free(nodes);
    free(pixels);
    end_snake_job(&work);
}

typedef struct {
    snake_job *work;
    isoline_snake *own, *other;
    int calls;
} called_from;

static int use_everything(void *user, double fraction, const char *stage) {
    called_from *from = (called_from *)user;
    snake_job *work = from->work;
    isoline_snake *const snakes[] = {from->own, from->other}, *made = untouched();
    isoline_polygons borrowed;
    isoline_target_statistics one;
    isoline_region_sum sums[CELLS];
    const isoline_node *nodes = NULL;
    size_t number = 99;
    (void)fraction;
    (void)stage;
    from->calls++;
    GOOD(isoline_polygons_init(&borrowed, sizeof borrowed));
    for (int i = 0; i < 2; i++) {
        REFUSED(isoline_snake_step(snakes[i], 1, NULL, NULL), ISOLINE_BUSY, "snake");
        REFUSED(isoline_snake_restart(snakes[i], NULL, NULL), ISOLINE_BUSY, "snake");
        REFUSED(isoline_snake_polygons(snakes[i], &borrowed), ISOLINE_BUSY, "snake");
        REFUSED(isoline_snake_polygon(snakes[i], 0, &nodes, &number), ISOLINE_BUSY, "snake");
        REFUSED(isoline_snake_statistics(snakes[i], 0, 1, &one, &number), ISOLINE_BUSY, "snake");
        REFUSED(isoline_snake_region_sums(snakes[i], &work->initial, sums), ISOLINE_BUSY, "snake");
        REFUSED(isoline_snake_draw_mask(snakes[i], &work->labels), ISOLINE_BUSY, "snake");
        REFUSED(isoline_snake_draw_labels(snakes[i], &work->labels), ISOLINE_BUSY, "snake");
        CHECK_NUMBER(isoline_snake_count(snakes[i]), 1);
    }
    REFUSED(isoline_snake_new(work->context, &work->input, NULL, NULL, (isoline_snake **)&made), ISOLINE_BUSY, "context");
    REFUSED(isoline_snake_run(work->context, &work->input, NULL, NULL, NULL, NULL, (isoline_snake **)&made, NULL),
            ISOLINE_BUSY, "context");
    CHECK(made == untouched() && nodes == NULL && number == 99 && labels_untouched(work));
    return 1;
}

static void a_callback_may_not_use_snakes_of_its_context(const char *device) {
    snake_job work = new_snake_job(device);
    uint8_t *pixels = endless_image(&work, scaled(2000, 400));
    called_from from = {&work, NULL, NULL, 0};
    GOOD(isoline_snake_new(work.context, &work.input, NULL, &work.params, &from.own));
    GOOD(isoline_snake_new(work.context, &work.input, NULL, &work.params, &from.other));
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    progress.callback = use_everything;
    progress.user = &from;
    REFUSED(isoline_snake_step(from.own, TO_THE_END, &progress, NULL), ISOLINE_CANCELLED, NULL);
    CHECK_NUMBER(from.calls, 1);
    isoline_snake_free(from.own);
    isoline_snake_free(from.other);
    free(pixels);
    end_snake_job(&work);
}

static int use_another_context(void *user, double fraction, const char *stage) {
    (void)fraction;
    (void)stage;
    GOOD(isoline_snake_step((isoline_snake *)user, 1, NULL, NULL));
    return 0;
}

static void a_callback_may_use_another_contexts_snake(const char *device) {
    snake_job work = new_snake_job(device), other = new_snake_job(device);
    isoline_snake *own = snake_of(&work), *others = snake_of(&other);
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    progress.callback = use_another_context;
    progress.user = others;
    GOOD(isoline_snake_step(own, 5, &progress, NULL));
    CHECK(statistics_of(others, 0).iterations >= 1);
    isoline_snake_free(others);
    isoline_snake_free(own);
    end_snake_job(&other);
    end_snake_job(&work);
}

/* ---- threads ------------------------------------------------------------------------------------------------- */

enum { STEPS = 4, MOST = 4 };

typedef struct {
    pthread_t thread;
    snake_job *work;
    isoline_snake *snake;
    const copied *wanted;
    int wrong;
} worker;

static void *step_often(void *user) {
    worker *me = (worker *)user;
    for (int i = 0; i < STEPS; i++) {
        me->wrong += !GOOD(isoline_snake_step(me->snake, 1, NULL, NULL));
    }
    return NULL;
}

static void *ask_often(void *user) {
    worker *me = (worker *)user;
    uint16_t *labels = (uint16_t *)allocate(COUNT * sizeof *labels);
    isoline_image image = describe(ISOLINE_U16, WIDTH, HEIGHT, 1, labels);
    uint64_t last = 0;
    for (int i = 0; i < 5 * STEPS; i++) {
        isoline_target_statistics all[CELLS];
        isoline_region_sum sums[CELLS];
        size_t written = 0;
        GOOD(isoline_snake_statistics(me->snake, 0, CELLS, all, &written));
        me->wrong += written != CELLS || all[0].iterations < last;
        last = all[0].iterations;
        GOOD(isoline_snake_draw_labels(me->snake, &image));
        GOOD(isoline_snake_region_sums(me->snake, &me->work->initial, sums));
        me->wrong += sums[0].pixels != 100;
    }
    free(labels);
    return NULL;
}

static void threads_take_turns_on_one_snake(const char *device) {
    snake_job work = new_snake_job(device);
    isoline_snake *snake = snake_of(&work), *alone = snake_of(&work);
    worker workers[MOST];
    for (int i = 0; i < MOST; i++) {
        worker one = {0, &work, snake, NULL, 0};
        workers[i] = one;
        pthread_create(&workers[i].thread, NULL, i < MOST - 1 ? step_often : ask_often, &workers[i]);
    }
    for (int i = 0; i < MOST; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK_NUMBER(workers[i].wrong, 0);
    }
    GOOD(isoline_snake_step(alone, (MOST - 1) * STEPS, NULL, NULL));
    const isoline_polygons a = borrowed_by(snake), b = borrowed_by(alone);
    CHECK(same_polygons(&a, &b));
    isoline_snake_free(alone);
    isoline_snake_free(snake);
    end_snake_job(&work);
}

static void *make_step_free(void *user) {
    worker *me = (worker *)user;
    for (size_t i = 0; i < scaled(5, 1); i++) {
        isoline_snake *snake = snake_of(me->work);
        GOOD(isoline_snake_step(snake, TO_THE_END, NULL, NULL));
        const isoline_polygons got = borrowed_by(snake);
        me->wrong += !same_polygons(&got, &me->wanted->polygons);
        isoline_snake_free(snake);
    }
    return NULL;
}

static void snakes_of_one_and_of_two_contexts_work_at_once(const char *device) {
    for (int contexts = 1; contexts <= 2; contexts++) {
        snake_job works[2] = {new_snake_job(device), new_snake_job(device)};
        isoline_context *own = works[1].context;
        copied wanted[2];
        works[1].params.noise = ISOLINE_SNAKE_NOISE_POISSON;
        works[1].context = works[contexts - 1].context;
        worker workers[2];
        for (int i = 0; i < 2; i++) {
            isoline_snake *alone = snake_of(&works[i]);
            GOOD(isoline_snake_step(alone, TO_THE_END, NULL, NULL));
            wanted[i] = copy_of(alone);
            isoline_snake_free(alone);
            worker one = {0, &works[i], NULL, &wanted[i], 0};
            workers[i] = one;
        }
        for (int i = 0; i < 2; i++) {
            pthread_create(&workers[i].thread, NULL, make_step_free, &workers[i]);
        }
        for (int i = 0; i < 2; i++) {
            pthread_join(workers[i].thread, NULL);
            CHECK_NUMBER(workers[i].wrong, 0);
            free(wanted[i].memory);
        }
        works[1].context = own;
        end_snake_job(&works[1]);
        end_snake_job(&works[0]);
    }
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

static void live_once(void *user) {
    snake_job *work = (snake_job *)user;
    watch seen = {0, 1, 0, 0, 0};
    isoline_progress progress = watched_by(&seen);
    isoline_snake *snake = snake_of(work);
    isoline_region_sum sums[CELLS];
    GOOD(isoline_snake_step(snake, 1, NULL, NULL));
    const isoline_polygons borrowed = borrowed_by(snake);
    GOOD(isoline_snake_region_sums(snake, &borrowed, sums));
    REFUSED(isoline_snake_step(snake, 100, &progress, NULL), ISOLINE_CANCELLED, NULL);
    GOOD(isoline_snake_draw_labels(snake, &work->labels));
    borrowed_by(snake);
    GOOD(isoline_snake_restart(snake, NULL, NULL));
    REFUSED(isoline_snake_polygons(snake, NULL), ISOLINE_NULL_POINTER, NULL);
    isoline_snake_free(snake);
}

static void lives_do_not_grow(const char *device) {
    snake_job work = new_snake_job(device);
    must_not_grow(live_once, &work, (int)scaled(50, 2), (int)scaled(1000, 20));
    end_snake_job(&work);
}

/* The memory limit grows until a snake can be created: each allocation that fails before returns a status. */
static void begins_with_enough_memory(const snake_job *work) {
    int refused_times = 0, done = 0;
    for (size_t mebibytes = 1; mebibytes <= 4096 && !done; mebibytes = mebibytes * 3 / 2 + 1) {
        struct rlimit limit;
        isoline_snake *made = untouched();
        getrlimit(RLIMIT_AS, &limit);
        allow_only(mebibytes << 20);
        isoline_status status = isoline_snake_new(work->context, &work->input, &work->initial, &work->params, &made);
        setrlimit(RLIMIT_AS, &limit);
        done = status == ISOLINE_OK;
        refused_times += status == ISOLINE_OUT_OF_MEMORY;
        if (done) {
            isoline_snake_free(made);
        } else {
            REFUSED(status, ISOLINE_OUT_OF_MEMORY, "memory");
            CHECK(made == untouched());
        }
    }
    CHECK(refused_times >= 1 && done);
}

static void want_of_memory_for_the_image_is_a_status(const char *device) {
    if (slow()) {
        skip("an instrument needs more memory than the test allows");
        return;
    }
    /* More than a thread of the library may have set aside. */
    enum { SIDE = 7000 };
    snake_job work = new_snake_job(device);
    isoline_snake_free(snake_of(&work));
    uint16_t *pixels = (uint16_t *)calloc((size_t)SIDE * SIDE, sizeof *pixels);
    work.input = describe(ISOLINE_U16, SIDE, SIDE, 1, pixels);
    begins_with_enough_memory(&work);
    free(pixels);
    end_snake_job(&work);
}

static void want_of_memory_for_targets_is_a_status(const char *device) {
    if (slow()) {
        skip("an instrument needs more memory than the test allows");
        return;
    }
    enum { MANY = 100000 };
    snake_job work = new_snake_job(device);
    isoline_snake_free(snake_of(&work));
    isoline_node *nodes = (isoline_node *)allocate(3 * MANY * sizeof *nodes);
    uint64_t *offsets = (uint64_t *)allocate((MANY + 1) * sizeof *offsets);
    for (int i = 0; i < MANY; i++) {
        const int x = i % 100, y = i % 70;
        nodes[3 * i] = corner(x, y);
        nodes[3 * i + 1] = corner(x + 20, y);
        nodes[3 * i + 2] = corner(x, y + 20);
        offsets[i] = 3 * (uint64_t)i;
    }
    offsets[MANY] = 3 * MANY;
    work.initial = polygons_of(nodes, offsets, MANY);
    begins_with_enough_memory(&work);
    free(offsets);
    free(nodes);
    end_snake_job(&work);
}

static void a_memory_limit_refuses_or_moves_the_job(const char *device) {
    snake_job named = new_snake_job(device), any = new_snake_job("auto");
    isoline_snake *made = untouched();
    GOOD(isoline_context_set_memory_limit(named.context, 4096));
    REFUSED(isoline_snake_new(named.context, &named.input, &named.initial, &named.params, &made), ISOLINE_OUT_OF_MEMORY,
            "bytes");
    CHECK(made == untouched());
    GOOD(isoline_context_set_memory_limit(named.context, 0));
    isoline_snake_free(snake_of(&named));
    GOOD(isoline_set_logger(note_warning, NULL, ISOLINE_LOG_WARN));
    GOOD(isoline_context_set_memory_limit(any.context, 4096));
    made = snake_of(&any);
    GOOD(isoline_snake_step(made, 5, NULL, &any.report));
    CHECK_NUMBER(any.report.device_kind, ISOLINE_DEVICE_CPU);
    CHECK(warned >= 1);
    isoline_snake_free(made);
    end_snake_job(&any);
    end_snake_job(&named);
}

int main(void) {
    RUN_ON_EACH(null_is_refused_only_where_it_must_not_be);
    RUN_ON_EACH(wrong_parameters_are_refused_by_name);
    RUN_ON_EACH(structs_of_other_sizes_are_judged_before_any_work);
    RUN_ON_EACH(arrays_that_are_no_polygons_are_refused);
    RUN_ON_EACH(polygons_that_touch_themselves_are_refused_with_the_place);
    RUN_ON_EACH(images_that_do_not_fit_are_refused);
    RUN(cuda_pixels_need_a_cuda_context);
    RUN_ON_EACH(outputs_that_do_not_fit_are_refused);
    RUN_ON_EACH(more_labels_than_16_bits_can_count_are_refused);
    RUN_ON_EACH(what_the_image_is_kept_as_cannot_change);
    RUN_ON_EACH(a_cancel_keeps_the_last_whole_step);
    RUN_ON_EACH(a_cancel_of_very_many_nodes_takes_effect_within_100_ms);
    RUN_ON_EACH(a_callback_may_not_use_snakes_of_its_context);
    RUN_ON_EACH(a_callback_may_use_another_contexts_snake);
    RUN_ON_EACH(threads_take_turns_on_one_snake);
    RUN_ON_EACH(snakes_of_one_and_of_two_contexts_work_at_once);
    RUN_ON_EACH(lives_do_not_grow);
    RUN(want_of_memory_for_the_image_is_a_status);
    RUN(want_of_memory_for_targets_is_a_status);
    if (have_cuda()) {
        RUN_ON(a_memory_limit_refuses_or_moves_the_job, "cuda:0");
    }
    return summary();
}
