/*
 * Axes and critical points of an edge strength: those of a rectangle, every misuse refused, and memory. tests/edge_strength has
 * the definition.
 */
#include "images.h"
#include "watch.h"

enum { WIDTH = 60, HEIGHT = 44, DEPTH = 2, COUNT = WIDTH * HEIGHT * DEPTH };

typedef struct {
    isoline_context *context;
    float *pixels;
    isoline_image strength;
    isoline_edge_strength_params params;
    isoline_polylines *made;
    isoline_report report;
} job;

/* The converged strength of the outline of a rectangle around (29, 21), which is empty in the second slice. */
static job new_job(const char *device) {
    job made;
    uint8_t *outline = (uint8_t *)allocate(COUNT);
    memset(&made, 0, sizeof made);
    memset(outline, 0, COUNT);
    for (int y = 5; y <= 37; y++) {
        for (int x = 5; x <= 53; x++) {
            outline[y * WIDTH + x] = y == 5 || y == 37 || x == 5 || x == 53;
        }
    }
    made.context = open_context(device);
    made.pixels = unwritten(COUNT);
    made.strength = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, made.pixels);
    made.params = defaults();
    made.params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    made.params.rho = 16;
    made.params.tolerance = 1e-6;
    const isoline_image input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, outline);
    GOOD(isoline_edge_strength(made.context, &input, &made.params, NULL, &made.strength, NULL));
    GOOD(isoline_report_init(&made.report, sizeof made.report));
    free(outline);
    return made;
}

static isoline_status run(job *work) {
    return isoline_edge_strength_axes(work->context, &work->strength, &work->params, NULL, &work->made, &work->report);
}

static void end(job *work) {
    free(work->pixels);
    isoline_context_free(work->context);
}

static void a_rectangle_has_a_centre_and_axes(const char *device) {
    job work = new_job(device);
    work.strength.spacing[0] = work.strength.spacing[1] = 0.5;
    GOOD(run(&work));
    CHECK_NUMBER(work.report.slices_done, DEPTH);
    CHECK(work.report.seconds_total > 0);
    /* Polylines do not need their context. */
    end(&work);
    const isoline_polyline_arrays all = polylines_of(work.made);
    CHECK(all.count > 5);
    uint64_t end_of_points = 0, from_corners = 0;
    for (uint64_t i = 0; i < all.count; i++) {
        const isoline_polyline line = all.polylines[i];
        const isoline_polyline_point *points = &all.points[line.first], last = points[line.count - 1];
        CHECK(line.first == end_of_points && line.slice == 0 && line.parent == -1 && line.area == 0);
        CHECK(line.level > 0 && line.level < 1);
        end_of_points += line.count;
        if (i == 0) {
            CHECK(line.flags == ISOLINE_POLYLINE_ELLIPTIC && line.count == 1 && line.length == 0);
            CHECK(fabs(points[0].x - 29) < 0.01 && fabs(points[0].y - 21) < 0.01);
            continue;
        }
        CHECK(line.flags == ISOLINE_POLYLINE_S_PLUS || line.flags == ISOLINE_POLYLINE_S_MINUS);
        double length = 0;
        for (uint64_t k = 1; k < line.count; k++) {
            length += 0.5 * sqrt(pow(points[k].x - points[k - 1].x, 2) + pow(points[k].y - points[k - 1].y, 2));
        }
        CHECK(fabs(line.length - length) < 1e-9 && length >= 2.5);
        /* An axis of symmetry leads from near a corner downwards, to the long midline. */
        const int is_corner = fabs(fabs(points[0].x - 29) - 22) < 1 && fabs(fabs(points[0].y - 21) - 14) < 1;
        CHECK(!is_corner || line.flags == ISOLINE_POLYLINE_S_PLUS);
        from_corners += is_corner && fabs(last.y - 21) < 3;
    }
    CHECK_NUMBER(from_corners, 4);
    CHECK_NUMBER(all.point_count, end_of_points);
    isoline_polylines_free(work.made);
}

static void parameters_choose_axes(const char *device) {
    job work = new_job(device);
    GOOD(run(&work));
    const uint64_t count = polylines_of(work.made).count;
    isoline_polylines_free(work.made);
    work.params.axis_min_length = 12;
    GOOD(run(&work));
    CHECK(polylines_of(work.made).count < count);
    isoline_polylines_free(work.made);
    /* Nothing is above the least strength. */
    work.params.axis_min_strength = 0.999;
    GOOD(run(&work));
    const isoline_polyline_arrays none = polylines_of(work.made);
    CHECK(none.count == 0 && none.point_count == 0 && none.polylines == NULL && none.points == NULL);
    isoline_polylines_free(work.made);
    GOOD(isoline_edge_strength_axes(work.context, &work.strength, NULL, NULL, &work.made, NULL));
    CHECK_NUMBER(polylines_of(work.made).count, count);
    isoline_polylines_free(work.made);
    end(&work);
}

/* `change` makes the call fail with `status` and a message that has `word`; nothing is written. */
#define SPOILT(change, status, word) SPOILT_JOB(change, status, word, 1)

static void what_does_not_fit_is_refused_by_name(const char *device) {
    job good_job = new_job(device);
    SPOILT(work.params.struct_size = sizeof work.params - 1, ISOLINE_INVALID_ARGUMENT, "params->struct_size");
    SPOILT(work.params.axis_min_strength = 0, ISOLINE_INVALID_ARGUMENT, "axis_min_strength");
    SPOILT(work.params.axis_min_strength = 1, ISOLINE_INVALID_ARGUMENT, "axis_min_strength");
    SPOILT(work.params.axis_min_length = -1, ISOLINE_INVALID_ARGUMENT, "axis_min_length");
    SPOILT(work.params.axis_min_length = (double)NAN, ISOLINE_INVALID_ARGUMENT, "axis_min_length");
    SPOILT(work.params.rho = 0, ISOLINE_INVALID_ARGUMENT, "rho");
    SPOILT(work.report.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "report->struct_size");
    SPOILT(work.strength.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "strength->struct_size");
    SPOILT(work.strength.height = 0, ISOLINE_INVALID_SIZE, "strength");
    SPOILT(work.strength.type = ISOLINE_U8, ISOLINE_INVALID_TYPE, "float32 (got uint8)");
    SPOILT(work.strength.type = 3, ISOLINE_INVALID_TYPE, "strength->type");
    SPOILT(work.strength.data = NULL, ISOLINE_NULL_POINTER, "strength->data");
    if (strncmp(device, "cpu", 3) == 0) {
        SPOILT(work.strength.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, "CUDA");
    }
    job w = good_job;
    REFUSED(isoline_edge_strength_axes(NULL, &w.strength, NULL, NULL, &w.made, NULL), ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_edge_strength_axes(w.context, NULL, NULL, NULL, &w.made, NULL), ISOLINE_NULL_POINTER, "strength");
    REFUSED(isoline_edge_strength_axes(w.context, &w.strength, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, "polylines");
    CHECK(w.made == NULL);
    end(&good_job);
}

static void a_cancel_returns_no_axes(const char *device) {
    job work = new_job(device);
    watch seen = {0, 1, 0, 0, 0};
    isoline_progress progress = watched_by(&seen);
    REFUSED(isoline_edge_strength_axes(work.context, &work.strength, NULL, &progress, &work.made, NULL), ISOLINE_CANCELLED,
            "cancelled");
    CHECK(work.made == NULL);
    seen.cancel_at = 0;
    seen.last = 0;
    GOOD(isoline_edge_strength_axes(work.context, &work.strength, NULL, &progress, &work.made, NULL));
    CHECK(seen.calls >= 2 && seen.bad == 0);
    isoline_polylines_free(work.made);
    end(&work);
}

int main(void) {
    RUN_ON_EACH(a_rectangle_has_a_centre_and_axes);
    RUN_ON_EACH(parameters_choose_axes);
    RUN_ON_EACH(what_does_not_fit_is_refused_by_name);
    RUN_ON_EACH(a_cancel_returns_no_axes);
    return summary();
}
