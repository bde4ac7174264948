/* Every operation behind one signature. The tests that include this call each operation that is listed here, and one of them
 * compares the list with the library's. */
#ifndef ISOLINE_TESTS_OPERATIONS_H
#define ISOLINE_TESTS_OPERATIONS_H

#include "check.h"

/* The operations in the library's order, and how many slices of 512 x 512 pixels take long enough to be cancelled. */
#define EVERY_OPERATION(X)                                                                                             \
    X(edge_strength, 64)                                                                                               \
    X(edge_drawing, 64)                                                                                                \
    X(level_set, 16)                                                                                                   \
    X(snake, 64)                                                                                                       \
    X(distance, 64)                                                                                                    \
    X(isolines, 64)                                                                                                    \
    X(isosurface, 80)                                                                                                  \
    X(objects, 8)

/* The memory that operations are called on: `start` is a mask, `bytes` (u8) and `floats` (f32) receive results. */
typedef struct {
    isoline_context *context;
    isoline_image input, start, bytes, floats;
    const isoline_progress *progress;
    isoline_report *report;
} arguments;

/* A params struct of any operation. */
#define PARAMS_FIELD(name, slices) isoline_##name##_params name;
typedef union {
    EVERY_OPERATION(PARAMS_FIELD)
    unsigned char bytes[512];
} any_params;

static isoline_status run_edge_strength(const arguments *a, const any_params *p) {
    return isoline_edge_strength(a->context, &a->input, &p->edge_strength, a->progress, &a->floats, a->report);
}

static isoline_status run_edge_drawing(const arguments *a, const any_params *p) {
    isoline_segments *segments = NULL;
    const isoline_status status =
        isoline_edge_drawing(a->context, &a->input, &p->edge_drawing, a->progress, NULL, &segments, a->report);
    CHECK((status == ISOLINE_OK) == (segments != NULL));
    isoline_segments_free(segments);
    return status;
}

/* A few iterations, so that the call ends soon. */
static isoline_status run_level_set(const arguments *a, const any_params *p) {
    isoline_level_set_params params = p->level_set;
    params.iterations = params.iterations > 5 ? 5 : params.iterations;
    return isoline_level_set_run(a->context, &a->input, &a->start, &params, a->progress, &a->bytes, a->report);
}

static isoline_status run_snake(const arguments *a, const any_params *p) {
    isoline_image slice = a->input;
    isoline_snake *snake = NULL;
    slice.depth = 1;
    const isoline_status status =
        isoline_snake_run(a->context, &slice, NULL, &p->snake, a->progress, NULL, &snake, a->report);
    CHECK((status == ISOLINE_OK) == (snake != NULL));
    isoline_snake_free(snake);
    return status;
}

static isoline_status run_distance(const arguments *a, const any_params *p) {
    return isoline_distance(a->context, &a->input, &p->distance, a->progress, &a->floats, a->report);
}

static isoline_status run_isolines(const arguments *a, const any_params *p) {
    isoline_polylines *polylines = NULL;
    const isoline_status status =
        isoline_isolines(a->context, &a->input, NULL, 0, &p->isolines, a->progress, &polylines, a->report);
    CHECK((status == ISOLINE_OK) == (polylines != NULL));
    isoline_polylines_free(polylines);
    return status;
}

static isoline_status run_isosurface(const arguments *a, const any_params *p) {
    isoline_surface *surface = NULL;
    const isoline_status status = isoline_isosurface(a->context, &a->input, &p->isosurface, a->progress, &surface, a->report);
    CHECK((status == ISOLINE_OK) == (surface != NULL));
    isoline_surface_free(surface);
    return status;
}

static isoline_status run_objects(const arguments *a, const any_params *p) {
    isoline_object_list *objects = NULL;
    const isoline_status status =
        isoline_objects(a->context, &a->input, &a->start, &p->objects, a->progress, &a->bytes, &objects, a->report);
    CHECK((status == ISOLINE_OK) == (objects != NULL));
    isoline_object_list_free(objects);
    return status;
}

#define INIT_FUNCTION(name, slices)                                                                                    \
    static isoline_status init_##name(any_params *p) {                                                                 \
        return isoline_##name##_params_init(&p->name, sizeof p->name);                                                 \
    }
EVERY_OPERATION(INIT_FUNCTION)

#define OPERATION_ROW(name, slices) {#name, sizeof(isoline_##name##_params), init_##name, run_##name},
static const struct {
    const char *name;
    size_t size;
    isoline_status (*init)(any_params *params);
    isoline_status (*run)(const arguments *given, const any_params *params);
} OPERATIONS[] = {EVERY_OPERATION(OPERATION_ROW)};
#define OPERATION_INDEX(name, slices) INDEX_OF_##name,
enum { EVERY_OPERATION(OPERATION_INDEX) COUNT };

#endif
