/* Straight lines along segments: those of a drawn square, and every misuse. */
#include "edges.h"

/* A bright rectangle from (x0, y0) to (x1, y1), both included, on a dark ground. */
static void draw_rectangle(uint8_t *pixels, size_t x0, size_t y0, size_t x1, size_t y1) {
    for (size_t i = 0; i < COUNT; i++) {
        const size_t x = i % WIDTH, y = i / WIDTH;
        pixels[i] = x >= x0 && x <= x1 && y >= y0 && y <= y1 ? 200 : 40;
    }
}

static isoline_lines *untouched_lines(void) {
    static int place;
    return (isoline_lines *)(void *)&place;
}

static void a_rectangle_has_four_lines(const char *device) {
    drawing_job work = new_drawing_job(device);
    draw_rectangle(work.pixels, 10, 6, 37, 25);
    isoline_edge_drawing_params params = edge_defaults();
    isoline_segments *segments = segments_of(work.context, work.pixels, WIDTH, HEIGHT, 1, &params, NULL);
    isoline_lines *lines = NULL;
    GOOD(isoline_edge_drawing_lines(work.context, &work.input, segments, &params, NULL, &lines, &work.report));
    CHECK_NUMBER(work.report.slices_done, 1);
    const isoline_segment_arrays all = all_of(segments);
    const isoline_line *found = NULL;
    size_t count = 0;
    GOOD(isoline_lines_all(lines, &found, &count));
    CHECK_NUMBER(count, 4);
    size_t sides[4] = {0, 0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        const isoline_line line = found[i];
        CHECK(line.slice == 0 && line.segment < all.count && line.points >= 10);
        CHECK(line.rms < 0.5 && line.log_false_alarms <= 0);
        /* The bright rectangle is to the right: the lines run around it clockwise. */
        const double dx = line.x1 - line.x0, dy = line.y1 - line.y0;
        CHECK(dx * (15.5 - line.y0) - dy * (23.5 - line.x0) > 0);
        if (fabs(dx) > fabs(dy)) {
            /* Both ends are within the tolerance of the rectangle's side. */
            CHECK(fabs(line.y0 - (dx > 0 ? 5.5 : 25.5)) <= 1 && fabs(line.y1 - (dx > 0 ? 5.5 : 25.5)) <= 1);
            sides[dx > 0 ? 0 : 1]++;
        } else {
            CHECK(fabs(line.x0 - (dy > 0 ? 37.5 : 9.5)) <= 1 && fabs(line.x1 - (dy > 0 ? 37.5 : 9.5)) <= 1);
            sides[dy > 0 ? 2 : 3]++;
        }
    }
    CHECK(sides[0] == 1 && sides[1] == 1 && sides[2] == 1 && sides[3] == 1);
    /* A minimum length above that of the sides leaves none, and the first line's address is NULL. */
    isoline_lines *none = NULL;
    params.line_min_length = 100;
    GOOD(isoline_edge_drawing_lines(work.context, &work.input, segments, &params, NULL, &none, NULL));
    GOOD(isoline_lines_all(none, &found, &count));
    CHECK(found == NULL && count == 0);
    isoline_lines_free(none);
    /* Lines outlive their context and their segments. */
    isoline_segments_free(segments);
    end_drawing_job(&work);
    GOOD(isoline_lines_all(lines, &found, &count));
    CHECK(count == 4 && found[3].points >= 10);
    isoline_lines_free(lines);
    isoline_lines_free(NULL);
}

static void misuse_is_refused(const char *device) {
    drawing_job work = new_drawing_job(device);
    isoline_segments *segments = segments_of(work.context, work.pixels, WIDTH, HEIGHT, 1, NULL, NULL);
    isoline_lines *lines = untouched_lines();
    const isoline_edge_drawing_params defaults = edge_defaults();
    isoline_edge_drawing_params params = defaults;
#define FIND(context, input, segments, params, lines, report)                                                          \
    isoline_edge_drawing_lines(context, input, segments, params, NULL, lines, report)
    REFUSED(FIND(NULL, &work.input, segments, &params, &lines, NULL), ISOLINE_NULL_POINTER, "context");
    REFUSED(FIND(work.context, NULL, segments, &params, &lines, NULL), ISOLINE_NULL_POINTER, "input");
    REFUSED(FIND(work.context, &work.input, NULL, &params, &lines, NULL), ISOLINE_NULL_POINTER, "segments");
    REFUSED(FIND(work.context, &work.input, segments, &params, NULL, NULL), ISOLINE_NULL_POINTER, "lines");
    const struct {
        const char *name;
        double tolerance, gap;
        uint32_t min_length, validation;
    } cases[] = {
        {"line_tolerance", 0, 6, 0, 1},     {"line_tolerance", NAN, 6, 0, 1}, {"line_gap", 1, -1, 0, 1},
        {"line_gap", 1, INFINITY, 0, 1},    {"line_min_length", 1, 6, 1, 1},  {"line_validation", 1, 6, 0, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        params = defaults;
        params.line_tolerance = cases[i].tolerance;
        params.line_gap = cases[i].gap;
        params.line_min_length = cases[i].min_length;
        params.line_validation = cases[i].validation;
        REFUSED(FIND(work.context, &work.input, segments, &params, &lines, NULL), ISOLINE_INVALID_ARGUMENT, cases[i].name);
    }
    params = defaults;
    params.struct_size = 4;
    REFUSED(FIND(work.context, &work.input, segments, &params, &lines, NULL), ISOLINE_INVALID_ARGUMENT, "struct_size");
    work.report.struct_size = 1;
    REFUSED(FIND(work.context, &work.input, segments, NULL, &lines, &work.report), ISOLINE_INVALID_ARGUMENT, "struct_size");
    /* Segments of a larger image, and of a later slice. */
    isoline_image small = describe(ISOLINE_U8, 8, 8, 1, work.pixels);
    REFUSED(FIND(work.context, &small, segments, NULL, &lines, NULL), ISOLINE_INVALID_ARGUMENT, "8 x 8");
    uint8_t *stack = drawing(WIDTH, HEIGHT, 3, 1);
    isoline_segments *of_stack = segments_of(work.context, stack, WIDTH, HEIGHT, 3, NULL, NULL);
    REFUSED(FIND(work.context, &work.input, of_stack, NULL, &lines, NULL), ISOLINE_INVALID_ARGUMENT, "slices");
    CHECK(lines == untouched_lines());
    const isoline_line *found = NULL;
    size_t count = 0;
    REFUSED(isoline_lines_all(NULL, &found, &count), ISOLINE_NULL_POINTER, "lines");
    GOOD(FIND(work.context, &work.input, segments, NULL, &lines, NULL));
    REFUSED(isoline_lines_all(lines, NULL, &count), ISOLINE_NULL_POINTER, "all");
    REFUSED(isoline_lines_all(lines, &found, NULL), ISOLINE_NULL_POINTER, "count");
    isoline_lines_free(lines);
    isoline_segments_free(of_stack);
    isoline_segments_free(segments);
    free(stack);
    end_drawing_job(&work);
}

int main(void) {
    RUN_ON_EACH(a_rectangle_has_four_lines);
    RUN_ON_EACH(misuse_is_refused);
    return summary();
}
