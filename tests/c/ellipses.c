/* Circles and ellipses along segments: those of drawn ones, and every misuse. */
#include "edges.h"

enum { SIDE = 128 };

/* Returns a picture of a bright disc and a dark ellipse, to be freed; outlines are soft. */
static uint8_t *draw_shapes(void) {
    uint8_t *pixels = (uint8_t *)allocate(SIDE * SIDE);
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        const double x = (double)(i % SIDE), y = (double)(i / SIDE);
        const double disc = 20 - sqrt((x - 34.3) * (x - 34.3) + (y - 35.1) * (y - 35.1));
        /* The longer axis runs along the diagonal downwards to the right. */
        const double u = (x - 84 + y - 80) / sqrt(2.0), v = (y - 80 - x + 84) / sqrt(2.0);
        const double level = sqrt(u * u / (36 * 36) + v * v / (15 * 15));
        const double slope = sqrt(u * u / pow(36, 4) + v * v / pow(15, 4)) / fmax(level, 1e-9);
        const double ellipse = level > 0 ? (1 - level) / fmax(slope, 1e-9) : 15;
        pixels[i] = (uint8_t)(120 + 80 * fmax(0, fmin(1, disc / 2 + 0.5)) - 80 * fmax(0, fmin(1, ellipse / 2 + 0.5)));
    }
    return pixels;
}

static isoline_ellipses *untouched_ellipses(void) {
    static int place;
    return (isoline_ellipses *)(void *)&place;
}

static void a_disc_and_an_ellipse_are_found(const char *device) {
    drawing_job work = new_drawing_job(device);
    uint8_t *pixels = draw_shapes();
    const isoline_image image = describe(ISOLINE_U8, SIDE, SIDE, 1, pixels);
    isoline_edge_drawing_params params = edge_defaults();
    isoline_segments *segments = segments_of(work.context, pixels, SIDE, SIDE, 1, &params, NULL);
    isoline_ellipses *ellipses = NULL;
    GOOD(isoline_edge_drawing_ellipses(work.context, &image, segments, &params, NULL, &ellipses, &work.report));
    CHECK_NUMBER(work.report.slices_done, 1);
    const isoline_ellipse *found = NULL;
    size_t count = 0;
    GOOD(isoline_ellipses_all(ellipses, &found, &count));
    CHECK_NUMBER(count, 2);
    for (size_t i = 0; i < count; i++) {
        const isoline_ellipse one = found[i];
        const int is_disc = (one.flags & ISOLINE_ELLIPSE_CIRCLE) != 0;
        CHECK(is_disc == (i == 0) && ((one.flags & ISOLINE_ELLIPSE_BRIGHT) != 0) == is_disc);
        CHECK(fabs(one.x - (is_disc ? 34.3 : 84)) < 0.3 && fabs(one.y - (is_disc ? 35.1 : 80)) < 0.3);
        CHECK(fabs(one.semi_major - (is_disc ? 20 : 36)) < 0.4 && fabs(one.semi_minor - (is_disc ? 20 : 15)) < 0.4);
        CHECK(is_disc ? one.angle == 0 : fabs(one.angle - atan(1)) < 0.02);
        CHECK(one.rms < 0.6 && one.coverage > 0.9 && one.coverage <= 1 && one.log_false_alarms < -10);
        CHECK(one.slice == 0 && one.points > 80 && one.arcs >= 1 && one.segment < all_of(segments).count);
    }
    /* Circles alone; and none, of which the first one's address is NULL. */
    isoline_ellipses *others = NULL;
    params.ellipse_shapes = ISOLINE_EDGE_DRAWING_CIRCLES;
    GOOD(isoline_edge_drawing_ellipses(work.context, &image, segments, &params, NULL, &others, NULL));
    GOOD(isoline_ellipses_all(others, &found, &count));
    CHECK(count == 1 && found[0].flags == (ISOLINE_ELLIPSE_CIRCLE | ISOLINE_ELLIPSE_BRIGHT));
    isoline_ellipses_free(others);
    params.ellipse_min_radius = 100;
    GOOD(isoline_edge_drawing_ellipses(work.context, &image, segments, &params, NULL, &others, NULL));
    GOOD(isoline_ellipses_all(others, &found, &count));
    CHECK(found == NULL && count == 0);
    isoline_ellipses_free(others);
    /* Ellipses outlive their context and their segments. */
    isoline_segments_free(segments);
    end_drawing_job(&work);
    GOOD(isoline_ellipses_all(ellipses, &found, &count));
    CHECK(count == 2 && found[1].points > 80);
    isoline_ellipses_free(ellipses);
    isoline_ellipses_free(NULL);
    free(pixels);
}

static void misuse_is_refused(const char *device) {
    drawing_job work = new_drawing_job(device);
    isoline_segments *segments = segments_of(work.context, work.pixels, WIDTH, HEIGHT, 1, NULL, NULL);
    isoline_ellipses *ellipses = untouched_ellipses();
    const isoline_edge_drawing_params defaults = edge_defaults();
    isoline_edge_drawing_params params = defaults;
#define FIND(context, input, segments, params, ellipses, report)                                                       \
    isoline_edge_drawing_ellipses(context, input, segments, params, NULL, ellipses, report)
    REFUSED(FIND(NULL, &work.input, segments, &params, &ellipses, NULL), ISOLINE_NULL_POINTER, "context");
    REFUSED(FIND(work.context, NULL, segments, &params, &ellipses, NULL), ISOLINE_NULL_POINTER, "input");
    REFUSED(FIND(work.context, &work.input, NULL, &params, &ellipses, NULL), ISOLINE_NULL_POINTER, "segments");
    REFUSED(FIND(work.context, &work.input, segments, &params, NULL, NULL), ISOLINE_NULL_POINTER, "ellipses");
    const struct {
        const char *name;
        double tolerance, coverage, min_radius;
        uint32_t shapes, validation;
    } cases[] = {
        {"ellipse_tolerance", 0, 0.5, 3, 0, 1},    {"ellipse_tolerance", NAN, 0.5, 3, 0, 1},
        {"ellipse_coverage", 1.5, 0.09, 3, 0, 1},  {"ellipse_coverage", 1.5, 1.1, 3, 0, 1},
        {"ellipse_min_radius", 1.5, 0.5, 0, 0, 1}, {"ellipse_min_radius", 1.5, 0.5, INFINITY, 0, 1},
        {"ellipse_shapes", 1.5, 0.5, 3, 2, 1},     {"ellipse_validation", 1.5, 0.5, 3, 0, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        params = defaults;
        params.ellipse_tolerance = cases[i].tolerance;
        params.ellipse_coverage = cases[i].coverage;
        params.ellipse_min_radius = cases[i].min_radius;
        params.ellipse_shapes = cases[i].shapes;
        params.ellipse_validation = cases[i].validation;
        REFUSED(FIND(work.context, &work.input, segments, &params, &ellipses, NULL), ISOLINE_INVALID_ARGUMENT, cases[i].name);
    }
    params = defaults;
    params.struct_size = 4;
    REFUSED(FIND(work.context, &work.input, segments, &params, &ellipses, NULL), ISOLINE_INVALID_ARGUMENT, "struct_size");
    work.report.struct_size = 1;
    REFUSED(FIND(work.context, &work.input, segments, NULL, &ellipses, &work.report), ISOLINE_INVALID_ARGUMENT,
            "struct_size");
    /* Segments of a larger image, and of a later slice. */
    isoline_image small = describe(ISOLINE_U8, 8, 8, 1, work.pixels);
    REFUSED(FIND(work.context, &small, segments, NULL, &ellipses, NULL), ISOLINE_INVALID_ARGUMENT, "8 x 8");
    uint8_t *stack = drawing(WIDTH, HEIGHT, 3, 1);
    isoline_segments *of_stack = segments_of(work.context, stack, WIDTH, HEIGHT, 3, NULL, NULL);
    REFUSED(FIND(work.context, &work.input, of_stack, NULL, &ellipses, NULL), ISOLINE_INVALID_ARGUMENT, "slices");
    CHECK(ellipses == untouched_ellipses());
    const isoline_ellipse *found = NULL;
    size_t count = 0;
    REFUSED(isoline_ellipses_all(NULL, &found, &count), ISOLINE_NULL_POINTER, "ellipses");
    GOOD(FIND(work.context, &work.input, segments, NULL, &ellipses, NULL));
    REFUSED(isoline_ellipses_all(ellipses, NULL, &count), ISOLINE_NULL_POINTER, "all");
    REFUSED(isoline_ellipses_all(ellipses, &found, NULL), ISOLINE_NULL_POINTER, "count");
    isoline_ellipses_free(ellipses);
    isoline_segments_free(of_stack);
    isoline_segments_free(segments);
    free(stack);
    end_drawing_job(&work);
}

int main(void) {
    RUN_ON_EACH(a_disc_and_an_ellipse_are_found);
    RUN_ON_EACH(misuse_is_refused);
    return summary();
}
