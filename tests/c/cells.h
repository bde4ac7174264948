/* Three bright discs on a dark, noisy background, and a square in each as the initial polygon of a region snake. */
#ifndef ISOLINE_TESTS_CELLS_H
#define ISOLINE_TESTS_CELLS_H

#include "images.h"
#include "watch.h"

enum { WIDTH = 120, HEIGHT = 90, COUNT = WIDTH * HEIGHT, CELLS = 3, CORNERS = 4, GROUND = 400 };
/* No label has this value here: an output that still holds it has not been written. */
enum { NOT_WRITTEN = 77 };

typedef struct {
    int x, y, radius, level;
} cell;

static const cell THE_CELLS[CELLS] = {{30, 28, 14, 900}, {84, 30, 16, 1000}, {60, 68, 13, 700}};

static inline int cell_holds(const cell *one, int x, int y) {
    const int dx = 2 * (x - one->x) + 1, dy = 2 * (y - one->y) + 1;
    return dx * dx + dy * dy < 4 * one->radius * one->radius;
}

static inline uint16_t *image_of_cells(void) {
    uint16_t *pixels = (uint16_t *)allocate(COUNT * sizeof(uint16_t));
    uint32_t seed = 11;
    for (int i = 0; i < COUNT; i++) {
        int level = GROUND;
        for (int c = 0; c < CELLS; c++) {
            level = cell_holds(&THE_CELLS[c], i % WIDTH, i / WIDTH) ? THE_CELLS[c].level : level;
        }
        const int noise = (int)(next_random(&seed) % 160 + next_random(&seed) % 160) - 160;
        pixels[i] = (uint16_t)(level + noise);
    }
    return pixels;
}

/* Polygons and the arrays that hold them. */
typedef struct {
    isoline_node nodes[CELLS * CORNERS];
    uint64_t offsets[CELLS + 1];
} squares;

static inline isoline_node corner(int x, int y) {
    isoline_node made;
    made.x = x;
    made.y = y;
    return made;
}

static inline isoline_polygons polygons_of(const isoline_node *nodes, const uint64_t *offsets, uint64_t count) {
    isoline_polygons polygons;
    GOOD(isoline_polygons_init(&polygons, sizeof polygons));
    polygons.count = count;
    polygons.node_count = offsets[count];
    polygons.nodes = nodes;
    polygons.offsets = offsets;
    return polygons;
}

/* A square around the centre of each cell; clockwise, or anticlockwise with the same first node. */
static inline isoline_polygons squares_in(squares *room, int clockwise) {
    const int half = 5;
    for (int c = 0; c < CELLS; c++) {
        isoline_node *at = room->nodes + CORNERS * c;
        const int x = THE_CELLS[c].x, y = THE_CELLS[c].y;
        at[0] = corner(x - half, y - half);
        at[clockwise ? 1 : 3] = corner(x + half, y - half);
        at[2] = corner(x + half, y + half);
        at[clockwise ? 3 : 1] = corner(x - half, y + half);
        room->offsets[c] = (uint64_t)(CORNERS * c);
    }
    room->offsets[CELLS] = CELLS * CORNERS;
    return polygons_of(room->nodes, room->offsets, CELLS);
}

static inline isoline_snake_params snake_defaults(void) {
    isoline_snake_params params;
    GOOD(isoline_snake_params_init(&params, sizeof params));
    return params;
}

/* Small cells, near one another. */
static inline isoline_snake_params for_cells(void) {
    isoline_snake_params params = snake_defaults();
    params.background = ISOLINE_SNAKE_BACKGROUND_WINDOW;
    params.margin = 1;
    params.node_spacing = 5;
    return params;
}

typedef struct {
    isoline_context *context;
    uint16_t *pixels, *result;
    squares *room;
    isoline_image input, labels;
    isoline_polygons initial;
    isoline_snake_params params;
    isoline_report report;
} snake_job;

static inline snake_job new_snake_job(const char *device) {
    snake_job made;
    memset(&made, 0, sizeof made);
    made.context = open_context(device);
    made.pixels = image_of_cells();
    made.result = (uint16_t *)allocate(COUNT * sizeof(uint16_t));
    for (int i = 0; i < COUNT; i++) {
        made.result[i] = NOT_WRITTEN;
    }
    made.room = (squares *)allocate(sizeof(squares));
    made.input = describe(ISOLINE_U16, WIDTH, HEIGHT, 1, made.pixels);
    made.labels = describe(ISOLINE_U16, WIDTH, HEIGHT, 1, made.result);
    made.initial = squares_in(made.room, 1);
    made.params = for_cells();
    GOOD(isoline_report_init(&made.report, sizeof made.report));
    return made;
}

static inline void end_snake_job(snake_job *work) {
    free(work->room);
    free(work->result);
    free(work->pixels);
    isoline_context_free(work->context);
}

static inline isoline_snake *snake_of(const snake_job *work) {
    isoline_snake *made = NULL;
    if (!GOOD(isoline_snake_new(work->context, &work->input, &work->initial, &work->params, &made))) {
        exit(1);
    }
    return made;
}

static inline int labels_untouched(const snake_job *work) {
    for (int i = 0; i < COUNT; i++) {
        if (work->result[i] != NOT_WRITTEN) {
            return 0;
        }
    }
    return 1;
}

static inline isoline_polygons borrowed_by(isoline_snake *snake) {
    isoline_polygons polygons;
    GOOD(isoline_polygons_init(&polygons, sizeof polygons));
    GOOD(isoline_snake_polygons(snake, &polygons));
    return polygons;
}

static inline int same_polygons(const isoline_polygons *a, const isoline_polygons *b) {
    return a->count == b->count && a->node_count == b->node_count &&
           memcmp(a->offsets, b->offsets, (a->count + 1) * sizeof *a->offsets) == 0 &&
           (a->node_count == 0 || memcmp(a->nodes, b->nodes, a->node_count * sizeof *a->nodes) == 0);
}

/* Returns a copy of polygons that are borrowed from a snake, in one block of memory that the caller frees. */
typedef struct {
    isoline_polygons polygons;
    void *memory;
} copied;

static inline copied copy_of(isoline_snake *snake) {
    copied made;
    made.polygons = borrowed_by(snake);
    const size_t offsets = (made.polygons.count + 1) * sizeof(uint64_t);
    const size_t nodes = made.polygons.node_count * sizeof(isoline_node);
    made.memory = allocate(offsets + nodes);
    memcpy(made.memory, made.polygons.offsets, offsets);
    if (nodes > 0) {
        memcpy((char *)made.memory + offsets, made.polygons.nodes, nodes);
    }
    made.polygons.slices = NULL;
    made.polygons.offsets = (const uint64_t *)made.memory;
    made.polygons.nodes = (const isoline_node *)(const void *)((char *)made.memory + offsets);
    return made;
}

/* Returns 1 if the pixel's centre is inside the polygon, by the definition; a centre on an edge belongs to its right. */
static inline int polygon_holds(const isoline_node *nodes, size_t count, int64_t x, int64_t y) {
    int inside = 0;
    for (size_t i = 0; i < count; i++) {
        const isoline_node a = nodes[i], b = nodes[(i + 1) % count];
        const isoline_node upper = a.y <= b.y ? a : b, lower = a.y <= b.y ? b : a;
        if (upper.y <= y && y < lower.y) {
            const int64_t dx = (int64_t)lower.x - upper.x, dy = (int64_t)lower.y - upper.y;
            inside ^= (2 * (x - upper.x) + 1) * dy >= (2 * (y - upper.y) + 1) * dx;
        }
    }
    return inside;
}

/* Returns the number of the first polygon that contains the pixel, counted from 1, or 0. */
static inline uint32_t label_at(const isoline_polygons *polygons, int x, int y) {
    for (uint64_t p = 0; p < polygons->count; p++) {
        const uint64_t first = polygons->offsets[p];
        if (polygon_holds(polygons->nodes + first, (size_t)(polygons->offsets[p + 1] - first), x, y)) {
            return (uint32_t)p + 1;
        }
    }
    return 0;
}

static inline isoline_target_statistics statistics_of(isoline_snake *snake, size_t target) {
    isoline_target_statistics one;
    size_t written = 0;
    memset(&one, 0, sizeof one);
    GOOD(isoline_snake_statistics(snake, target, 1, &one, &written));
    CHECK_NUMBER(written, 1);
    return one;
}

#endif
