/* A call of each operation, on images that are shared. Each returns the status of what it called, or of the first that failed. */
#ifndef ISOLINE_TESTS_CALLS_H
#define ISOLINE_TESTS_CALLS_H

#include "images.h"

/* The memory that the operations read and write. */
static struct {
    isoline_context *context;
    uint8_t *pixels, *bytes;
    float *floats;
    isoline_image input, byte_output, float_output;
    isoline_node *nodes;
    uint64_t *offsets;
    isoline_polygons squares;
} given;

/* Makes all but the context. There is a target on every 14 x 12 pixels. */
static void prepare_images(int width, int height, int depth) {
    const int columns = width / 14, targets = columns * (height / 12);
    const size_t count = (size_t)width * (size_t)height * (size_t)depth;
    given.pixels = drawing(width, height, depth, 5);
    given.bytes = (uint8_t *)allocate(count);
    given.floats = unwritten(count);
    given.input = describe(ISOLINE_U8, width, height, depth, given.pixels);
    given.byte_output = describe(ISOLINE_U8, width, height, depth, given.bytes);
    given.float_output = describe(ISOLINE_F32, width, height, depth, given.floats);
    given.nodes = (isoline_node *)allocate(4 * (size_t)targets * sizeof *given.nodes);
    given.offsets = (uint64_t *)allocate(((size_t)targets + 1) * sizeof *given.offsets);
    for (int i = 0; i < targets; i++) {
        int x = i % columns * 14, y = i / columns * 12;
        isoline_node square[] = {{x, y}, {x + 9, y}, {x + 9, y + 9}, {x, y + 9}};
        memcpy(given.nodes + 4 * i, square, sizeof square);
        given.offsets[i] = 4 * (uint64_t)i;
    }
    given.offsets[targets] = 4 * (uint64_t)targets;
    isoline_polygons_init(&given.squares, sizeof given.squares);
    given.squares.count = (size_t)targets;
    given.squares.node_count = 4 * (size_t)targets;
    given.squares.nodes = given.nodes;
    given.squares.offsets = given.offsets;
    /* Every page is there before memory is limited. */
    memset(given.bytes, 1, count);
    for (size_t i = 0; i < count; i++) {
        given.floats[i] = 0;
    }
}

static inline void free_images(void) {
    free(given.offsets);
    free(given.nodes);
    free(given.floats);
    free(given.bytes);
    free(given.pixels);
}

static isoline_status iterations(void) {
    return isoline_edge_strength(given.context, &given.input, NULL, NULL, &given.float_output, NULL);
}

static isoline_status converged(uint32_t dimensions) {
    isoline_edge_strength_params params = defaults();
    params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    params.dimensions = dimensions;
    params.max_cycles = 2;
    return isoline_edge_strength(given.context, &given.input, &params, NULL, &given.float_output, NULL);
}

static isoline_status converged_slices(void) {
    return converged(2);
}

static isoline_status converged_volume(void) {
    return converged(3);
}

static isoline_status edges(uint32_t profile) {
    isoline_edge_drawing_params params;
    isoline_edge_drawing_params_init(&params, sizeof params);
    params.profile = profile;
    isoline_segments *segments = NULL;
    isoline_status status =
        isoline_edge_drawing(given.context, &given.input, &params, NULL, &given.byte_output, &segments, NULL);
    CHECK((status == ISOLINE_OK) == (segments != NULL));
    isoline_segments_free(segments);
    return status;
}

static isoline_status lines(void) {
    isoline_segments *segments = NULL;
    isoline_lines *lines = NULL;
    isoline_status status =
        isoline_edge_drawing(given.context, &given.input, NULL, NULL, NULL, &segments, NULL);
    if (status == ISOLINE_OK) {
        status = isoline_edge_drawing_lines(given.context, &given.input, segments, NULL, NULL, &lines, NULL);
    }
    CHECK((status == ISOLINE_OK) == (lines != NULL));
    isoline_lines_free(lines);
    isoline_segments_free(segments);
    return status;
}

static isoline_status ellipses(void) {
    isoline_segments *segments = NULL;
    isoline_ellipses *ellipses = NULL;
    isoline_status status =
        isoline_edge_drawing(given.context, &given.input, NULL, NULL, NULL, &segments, NULL);
    if (status == ISOLINE_OK) {
        status = isoline_edge_drawing_ellipses(given.context, &given.input, segments, NULL, NULL, &ellipses, NULL);
    }
    CHECK((status == ISOLINE_OK) == (ellipses != NULL));
    isoline_ellipses_free(ellipses);
    isoline_segments_free(segments);
    return status;
}

static isoline_status paper(void) {
    return edges(ISOLINE_EDGE_DRAWING_PAPER);
}

static isoline_status reference(void) {
    return edges(ISOLINE_EDGE_DRAWING_REFERENCE);
}

static isoline_status distance(void) {
    return isoline_distance(given.context, &given.input, NULL, NULL, &given.float_output, NULL);
}

/* Runs on slices, then on the volume. Distances are buffered, since there are gaps between the rows of the output. */
static isoline_status distance_with_gaps(void) {
    isoline_distance_params params;
    isoline_image input = given.input, output = given.float_output;
    isoline_status status = isoline_distance_params_init(&params, sizeof params);
    input.row_stride = input.width, input.slice_stride = input.width * input.height;
    output.row_stride = sizeof(float) * input.row_stride, output.slice_stride = sizeof(float) * input.slice_stride;
    input.width = output.width = input.width - 1;
    for (params.dimensions = 2; params.dimensions <= 3 && status == ISOLINE_OK; params.dimensions++) {
        status = isoline_distance(given.context, &input, &params, NULL, &output, NULL);
    }
    return status;
}

static isoline_status isolines(void) {
    isoline_isolines_params params;
    isoline_isolines_params_init(&params, sizeof params);
    params.level_count = 5;
    isoline_polylines *polylines = NULL;
    isoline_status status = isoline_isolines(given.context, &given.input, NULL, 0, &params, NULL, &polylines, NULL);
    CHECK((status == ISOLINE_OK) == (polylines != NULL));
    isoline_polylines_free(polylines);
    return status;
}

static isoline_status axes(void) {
    const isoline_edge_strength_params params = for_drawing(50);
    isoline_polylines *polylines = NULL;
    isoline_status status =
        isoline_edge_strength(given.context, &given.input, &params, NULL, &given.float_output, NULL);
    if (status == ISOLINE_OK) {
        status = isoline_edge_strength_axes(given.context, &given.float_output, NULL, NULL, &polylines, NULL);
    }
    CHECK((status == ISOLINE_OK) == (polylines != NULL));
    isoline_polylines_free(polylines);
    return status;
}

static isoline_status isosurface(void) {
    isoline_surface *surface = NULL;
    isoline_status status = isoline_isosurface(given.context, &given.input, NULL, NULL, &surface, NULL);
    CHECK((status == ISOLINE_OK) == (surface != NULL));
    isoline_surface_free(surface);
    return status;
}

static isoline_status objects(void) {
    isoline_objects_params params;
    isoline_objects_params_init(&params, sizeof params);
    params.iterations = 20;
    isoline_object_list *list = NULL;
    isoline_status status =
        isoline_objects(given.context, &given.input, NULL, &params, NULL, &given.float_output, &list, NULL);
    CHECK((status == ISOLINE_OK) == (list != NULL));
    isoline_object_list_free(list);
    return status;
}

static isoline_status level_set(void) {
    isoline_level_set_params params;
    isoline_level_set_params_init(&params, sizeof params);
    isoline_level_set *level_set = NULL;
    isoline_status status = isoline_level_set_new(given.context, &given.input, &given.input, &params, &level_set);
    if (status == ISOLINE_OK) {
        status = isoline_level_set_step(level_set, 12, NULL, NULL);
    }
    if (status == ISOLINE_OK) {
        status = isoline_level_set_read_mask(level_set, &given.byte_output);
    }
    isoline_level_set_free(level_set);
    return status;
}

static isoline_status snakes(void) {
    isoline_snake_params params;
    isoline_snake_params_init(&params, sizeof params);
    params.overlap = ISOLINE_SNAKE_OVERLAP_EXCLUDED;
    params.largest_step = 2;
    isoline_image slice = given.input, labels = given.float_output;
    slice.depth = labels.depth = 1;
    isoline_snake *snake = NULL;
    isoline_region_sum *sums = (isoline_region_sum *)given.floats;
    isoline_status status = isoline_snake_new(given.context, &slice, &given.squares, &params, &snake);
    if (status == ISOLINE_OK) {
        status = isoline_snake_step(snake, 3, NULL, NULL);
    }
    if (status == ISOLINE_OK) {
        status = isoline_snake_region_sums(snake, &given.squares, sums);
    }
    if (status == ISOLINE_OK) {
        status = isoline_snake_draw_labels(snake, &labels);
    }
    isoline_snake_free(snake);
    return status;
}

static const char *read_given(void *user, uint64_t slice, void *pixels) {
    const size_t bytes = given.input.width * given.input.height;
    (void)user;
    memcpy(pixels, given.pixels + slice * bytes, bytes);
    return NULL;
}

static const char *write_given(void *user, uint64_t slice, const void *pixels) {
    const size_t count = given.input.width * given.input.height;
    (void)user;
    memcpy(given.floats + slice * count, pixels, count * sizeof(float));
    return NULL;
}

static isoline_status slices(void) {
    isoline_image input = given.input, output = given.float_output;
    input.memory = output.memory = ISOLINE_SLICES;
    input.data = output.data = NULL;
    input.read_slice = read_given;
    output.write_slice = write_given;
    return isoline_edge_strength(given.context, &input, NULL, NULL, &output, NULL);
}

/* DO(call) for every call. */
#define EACH_CALL(DO)                                                                                                  \
    DO(iterations)                                                                                                     \
    DO(slices)                                                                                                         \
    DO(converged_slices)                                                                                               \
    DO(converged_volume)                                                                                               \
    DO(paper)                                                                                                          \
    DO(reference)                                                                                                      \
    DO(lines)                                                                                                          \
    DO(ellipses)                                                                                                       \
    DO(distance)                                                                                                       \
    DO(distance_with_gaps)                                                                                             \
    DO(isolines)                                                                                                       \
    DO(axes)                                                                                                           \
    DO(isosurface)                                                                                                     \
    DO(objects)                                                                                                        \
    DO(level_set)                                                                                                      \
    DO(snakes)

#endif
