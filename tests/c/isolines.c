/*
 * Isolines: shapes whose curves are known, and misuse refused. tests/isolines.rs has the definition for every size; image.c,
 * operation.c and operation_calls.c have what holds for all operations.
 */
#include "images.h"

enum { WIDTH = 40, HEIGHT = 30, DEPTH = 2, COUNT = WIDTH * HEIGHT * DEPTH };

/* A disc with a hole in each slice, 200 on 0, and a bar that ends at the border. */
static uint8_t *shapes(void) {
    uint8_t *pixels = (uint8_t *)allocate(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const double x = (double)(i % WIDTH) - 15, y = (double)(i / WIDTH % HEIGHT) - 14;
        const double squared = x * x + y * y;
        pixels[i] = (squared < 121 && squared > 16) || (x > 18 && fabs(y) < 3) ? 200 : 0;
    }
    return pixels;
}

typedef struct {
    isoline_context *context;
    uint8_t *pixels;
    isoline_image input;
    double levels[2];
    size_t level_count;
    isoline_isolines_params params;
    isoline_polylines *made;
    isoline_report report;
} job;

static job new_job(const char *device) {
    job made;
    memset(&made, 0, sizeof made);
    made.context = open_context(device);
    made.pixels = shapes();
    made.input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, made.pixels);
    made.levels[0] = 100, made.levels[1] = 30;
    made.level_count = 2;
    GOOD(isoline_isolines_params_init(&made.params, sizeof made.params));
    GOOD(isoline_report_init(&made.report, sizeof made.report));
    return made;
}

static isoline_status run(job *work) {
    return isoline_isolines(work->context, &work->input, work->levels, work->level_count, &work->params, NULL, &work->made,
                            &work->report);
}

static void end(job *work) {
    free(work->pixels);
    isoline_context_free(work->context);
}

static void a_ring_and_a_bar_have_their_curves(const char *device) {
    job work = new_job(device);
    work.input.spacing[0] = 0.5, work.input.spacing[1] = 2;
    GOOD(run(&work));
    CHECK_NUMBER(work.report.slices_done, DEPTH);
    CHECK(work.report.seconds_total > 0 && work.report.iterations == 0);
    /* Polylines do not need their context. */
    end(&work);
    const isoline_polyline_arrays all = polylines_of(work.made);
    CHECK_NUMBER(all.count, 3 * 2 * DEPTH);
    uint64_t first = 0;
    for (uint64_t i = 0; i < all.count; i++) {
        const isoline_polyline *line = &all.polylines[i];
        CHECK(line->first == first && line->slice == i / 6 && line->level == work.levels[i / 3 % 2]);
        first += line->count;
        const isoline_polyline_point *from = &all.points[line->first];
        double twice = 0;
        for (uint64_t k = 0; k < line->count; k++) {
            const isoline_polyline_point *a = &from[k], *b = &from[(k + 1) % line->count];
            twice += a->x * b->y - b->x * a->y;
        }
        if (i % 3 == 0) {
            /* The disc of 373 pixels, larger at the lower level; this spacing does not change its area. */
            CHECK(line->flags == ISOLINE_POLYLINE_CLOSED && line->parent == -1);
            CHECK(fabs(line->area - twice / 2) < 1e-9 && fabs(line->area - (i % 6 == 0 ? 373 : 400)) < 10);
        } else if (line->flags == ISOLINE_POLYLINE_CLOSED) {
            CHECK(line->area < 0 && fabs(line->area - twice / 2) < 1e-9 && (uint64_t)line->parent == i / 3 * 3);
        } else {
            CHECK(line->area == 0 && line->parent == -1 && line->length > 4);
            CHECK(from[0].x == WIDTH - 1 && from[line->count - 1].x == WIDTH - 1);
        }
    }
    CHECK_NUMBER(all.point_count, first);
    isoline_polylines_free(work.made);
}

static void levels_are_spaced_unless_given(const char *device) {
    job work = new_job(device);
    GOOD(isoline_isolines(work.context, &work.input, NULL, 0, NULL, NULL, &work.made, NULL));
    CHECK_NUMBER(polylines_of(work.made).polylines[0].level, 100);
    isoline_polylines_free(work.made);
    work.params.level_count = 4;
    work.params.range_min = 10, work.params.range_max = 60;
    work.level_count = 0;
    GOOD(run(&work));
    const isoline_polyline_arrays all = polylines_of(work.made);
    CHECK_NUMBER(all.count, 3 * 4 * DEPTH);
    for (uint64_t i = 0; i < all.count; i++) {
        CHECK_NUMBER(all.polylines[i].level, 20 + 10.0 * (double)(i / 3 % 4));
    }
    isoline_polylines_free(work.made);
    memset(work.pixels, 9, COUNT);
    GOOD(run(&work));
    const isoline_polyline_arrays none = polylines_of(work.made);
    CHECK(none.count == 0 && none.point_count == 0 && none.polylines == NULL && none.points == NULL);
    isoline_polylines_free(work.made);
    end(&work);
}

/* `change` makes the call fail with `status` and a message that has `word`; nothing is written. */
#define SPOILT(change, status, word) SPOILT_JOB(change, status, word, 1)

static void what_does_not_fit_is_refused_by_name(const char *device) {
    job good_job = new_job(device);
    SPOILT(work.params.reserved = 1, ISOLINE_INVALID_ARGUMENT, "reserved");
    SPOILT(work.params.connect = 2, ISOLINE_INVALID_ARGUMENT, "connect");
    SPOILT(work.params.level_count = 0, ISOLINE_INVALID_ARGUMENT, "level_count");
    SPOILT(work.params.level_count = 65536, ISOLINE_INVALID_ARGUMENT, "level_count");
    SPOILT(work.params.range_min = 3, ISOLINE_INVALID_ARGUMENT, "range_max");
    SPOILT((work.params.range_min = 3, work.params.range_max = 3), ISOLINE_INVALID_ARGUMENT, "range_min");
    SPOILT(work.level_count = (size_t)1 << 40, ISOLINE_INVALID_ARGUMENT, "at most 65535 levels (got 1099511627776)");
    SPOILT(work.levels[1] = (double)INFINITY, ISOLINE_INVALID_ARGUMENT, "levels[1]");
    SPOILT(work.levels[1] = ISOLINE_AUTOMATIC, ISOLINE_INVALID_ARGUMENT, "levels[1]");
    SPOILT(work.input.spacing[1] = 1e-170, ISOLINE_INVALID_ARGUMENT, "spacing along y");
    SPOILT(work.report.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "report->struct_size");
    end(&good_job);
}

static void null_is_refused_only_where_it_must_not_be(const char *device) {
    job w = new_job(device);
    isoline_polyline_arrays arrays;
    GOOD(isoline_polyline_arrays_init(&arrays, sizeof arrays));
    REFUSED(isoline_isolines(w.context, NULL, NULL, 0, NULL, NULL, &w.made, NULL), ISOLINE_NULL_POINTER, "input");
    REFUSED(isoline_isolines(w.context, &w.input, NULL, 1, NULL, NULL, &w.made, NULL), ISOLINE_NULL_POINTER, "levels");
    REFUSED(isoline_isolines(w.context, &w.input, NULL, 0, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, "polylines");
    REFUSED(isoline_isolines_params_init(NULL, sizeof w.params), ISOLINE_NULL_POINTER, "params");
    REFUSED(isoline_polyline_arrays_init(NULL, sizeof arrays), ISOLINE_NULL_POINTER, "arrays");
    REFUSED(isoline_polylines_all(NULL, &arrays), ISOLINE_NULL_POINTER, "polylines");
    CHECK(w.made == NULL);
    GOOD(run(&w));
    REFUSED(isoline_polylines_all(w.made, NULL), ISOLINE_NULL_POINTER, "arrays");
    arrays.struct_size = 4;
    REFUSED(isoline_polylines_all(w.made, &arrays), ISOLINE_INVALID_ARGUMENT, "arrays->struct_size");
    isoline_polylines_free(w.made);
    isoline_polylines_free(NULL);
    end(&w);
}

int main(void) {
    RUN_ON_EACH(a_ring_and_a_bar_have_their_curves);
    RUN_ON_EACH(levels_are_spaced_unless_given);
    RUN_ON_EACH(what_does_not_fit_is_refused_by_name);
    RUN_ON_EACH(null_is_refused_only_where_it_must_not_be);
    return summary();
}
