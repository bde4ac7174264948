/* Shapes into masks: balls, boxes and polygons against their definitions, and every misuse refused. */
#include "images.h"
#include "process.h"

#include <pthread.h>

enum { WIDTH = 37, HEIGHT = 29, DEPTH = 11, ROW = 48, COUNT = ROW * HEIGHT * DEPTH };
/* The value of a mask's pixels before a call; no test fills with it. */
enum { BEFORE = 9 };

/* Rows are longer than the mask is wide, so that the bytes between them can be checked. */
typedef struct {
    uint8_t *pixels;
    isoline_image mask;
} canvas;

static canvas new_canvas(void) {
    canvas made;
    made.pixels = (uint8_t *)allocate(COUNT);
    memset(made.pixels, BEFORE, COUNT);
    made.mask = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, made.pixels);
    made.mask.row_stride = ROW;
    return made;
}

static int is_untouched(const canvas *work) {
    for (size_t i = 0; i < COUNT; i++) {
        if (work->pixels[i] != BEFORE) {
            return 0;
        }
    }
    return 1;
}

/* Checks that the pixels for which `inside` holds, and no others, have been set to `value`. */
static void is_filled(const canvas *work, int (*inside)(const void *shape, const double at[3]), const void *shape,
                      uint8_t value, const char *what) {
    size_t wrong = 0, filled = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const size_t x = i % ROW, y = i / ROW % HEIGHT, z = i / ROW / HEIGHT;
        const double at[3] = {(double)x, (double)y, (double)z};
        const int in = x < WIDTH && inside(shape, at);
        filled += in != 0;
        wrong += work->pixels[i] != (in ? value : (uint8_t)BEFORE);
    }
    check_that(wrong == 0, __FILE__, __LINE__, "%s: %zu pixels are wrong, %zu should be filled", what, wrong, filled);
}

typedef struct {
    const isoline_sphere *spheres;
    size_t count;
    const double *spacing;
} balls;

static int in_a_ball(const void *shape, const double at[3]) {
    const balls *all = (const balls *)shape;
    for (size_t i = 0; i < all->count; i++) {
        double squares[3];
        for (int axis = 0; axis < 3; axis++) {
            const double away = (at[axis] - all->spheres[i].centre[axis]) * all->spacing[axis];
            squares[axis] = away * away;
        }
        if (squares[2] + squares[1] + squares[0] <= all->spheres[i].radius * all->spheres[i].radius) {
            return 1;
        }
    }
    return 0;
}

static void balls_are_the_pixels_within_their_radius(const char *device) {
    (void)device;
    const isoline_sphere spheres[] = {
        {{18, 14, 5}, 5}, {{3.3, 27.9, 0.2}, 6.7}, {{-4, 8, 12}, 9.5}, {{36, 0, 9}, 0}, {{36.5, 3, 9}, 0}, {{900, 3, 9}, 7},
    };
    const double spacings[][3] = {{1, 1, 1}, {0.3, 0.7, 2.1}, {1, 1, 3}};
    for (size_t i = 0; i < sizeof spacings / sizeof spacings[0]; i++) {
        canvas work = new_canvas();
        const balls all = {spheres, sizeof spheres / sizeof spheres[0], spacings[i]};
        memcpy(work.mask.spacing, spacings[i], sizeof work.mask.spacing);
        GOOD(isoline_mask_fill_spheres(&work.mask, spheres, all.count, 255));
        is_filled(&work, in_a_ball, &all, 255, "balls");
        free(work.pixels);
    }
}

static int in_a_box(const void *shape, const double at[3]) {
    const isoline_box *boxes = (const isoline_box *)shape;
    for (int i = 0; i < 3; i++) {
        int in = 1;
        for (int axis = 0; axis < 3; axis++) {
            in = in && at[axis] >= boxes[i].min[axis] && at[axis] <= boxes[i].max[axis];
        }
        if (in) {
            return 1;
        }
    }
    return 0;
}

static void boxes_hold_both_ends(const char *device) {
    (void)device;
    canvas work = new_canvas();
    const isoline_box boxes[] = {
        {{2, 3, 1}, {7, 3, 4}}, {{20.1, -50, 2.5}, {1e9, 8.9, 1e100}}, {{-9, 0, 0}, {-0.1, 9, 9}},
    };
    GOOD(isoline_mask_fill_boxes(&work.mask, boxes, 3, 0));
    is_filled(&work, in_a_box, boxes, 0, "boxes");
    free(work.pixels);
}

typedef struct {
    const double *xy;
    size_t count;
    double first, end;
} polygon;

static int in_the_polygon(const void *shape, const double at[3]) {
    const polygon *all = (const polygon *)shape;
    int crossed = 0;
    for (size_t i = 0; i < all->count; i++) {
        const double *a = all->xy + 2 * i, *b = all->xy + 2 * ((i + 1) % all->count);
        if ((a[1] <= at[1]) != (b[1] <= at[1])) {
            crossed += a[0] + (at[1] - a[1]) / (b[1] - a[1]) * (b[0] - a[0]) <= at[0];
        }
    }
    return crossed % 2 && at[2] >= all->first && at[2] < all->end;
}

static void polygons_are_filled_by_the_even_odd_rule(const char *device) {
    (void)device;
    /* A star that crosses itself, one that leaves the mask on every side, and two squares that share a side. */
    const double star[] = {18.3, 2.2, 25.1, 26.3, 4.7, 10.9, 33.2, 11.3, 9.6, 25.8};
    const double wide[] = {-30.2, 8.1, 18, -25.3, 70.7, 16.2, 17.1, 60.6};
    const double left[] = {3, 2, 10, 2, 10, 9, 3, 9}, right[] = {10, 2, 17, 2, 17, 9, 10, 9};
    const polygon all[] = {{star, 5, 2, 9}, {wide, 4, 0, DEPTH}, {left, 4, 10, 11}, {right, 4, 4, 4}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        canvas work = new_canvas();
        GOOD(isoline_mask_fill_polygon(&work.mask, all[i].xy, all[i].count, (uint64_t)all[i].first,
                                       (uint64_t)(all[i].end - all[i].first), 255));
        is_filled(&work, in_the_polygon, &all[i], 255, "a polygon");
        free(work.pixels);
    }
    canvas work = new_canvas();
    GOOD(isoline_mask_fill_polygon(&work.mask, left, 4, 0, 1, 1));
    GOOD(isoline_mask_fill_polygon(&work.mask, right, 4, 0, 1, 2));
    for (size_t x = 0; x < WIDTH; x++) {
        CHECK_NUMBER(work.pixels[5 * ROW + x], x < 3 || x >= 17 ? BEFORE : x < 10 ? 1 : 2);
    }
    free(work.pixels);
}

/* Numbers from 0 up to `limit`, the same in each run. */
static int64_t random_below(uint64_t *state, int64_t limit) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(*state >> 33) % limit;
}

/* Returns 1 for a pixel in a polygon, whose corners have twice their coordinates. Whole numbers are not rounded. Counts the
 * slanted edges on which the pixel's centre is. */
static int is_inside_exactly(const int64_t (*corners)[2], size_t count, size_t x, size_t y, size_t *on_edges) {
    const int64_t column = 2 * (int64_t)x, row = 2 * (int64_t)y;
    int crossed = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t *a = corners[i], *b = corners[(i + 1) % count];
        const int64_t *top = a[1] < b[1] ? a : b, *bottom = a[1] < b[1] ? b : a;
        if (top[1] <= row && row < bottom[1]) {
            /* The edge is at the centre if this is 0, and on its left if it is positive. */
            const int64_t side = (column - top[0]) * (bottom[1] - top[1]) - (row - top[1]) * (bottom[0] - top[0]);
            *on_edges += side == 0 && top[0] != bottom[0];
            crossed += side >= 0;
        }
    }
    return crossed % 2;
}

static void centres_beside_slanted_edges_are_on_the_exact_side(const char *device) {
    (void)device;
    enum { MOST_CORNERS = 8 };
    const int64_t reaches[] = {60, 500, 100000};
    uint64_t state = 1;
    size_t wrong = 0, on_edges = 0;
    for (size_t round = 0; round < scaled(3000, 300); round++) {
        canvas work = new_canvas();
        int64_t corners[MOST_CORNERS][2];
        double halves[MOST_CORNERS][2];
        const size_t count = 3 + (size_t)random_below(&state, MOST_CORNERS - 2);
        for (size_t i = 0; i < count; i++) {
            for (int axis = 0; axis < 2; axis++) {
                const int64_t reach = reaches[round % 3];
                corners[i][axis] = (axis == 0 ? WIDTH : HEIGHT) + random_below(&state, 2 * reach) - reach;
                halves[i][axis] = (double)corners[i][axis] / 2;
            }
        }
        GOOD(isoline_mask_fill_polygon(&work.mask, halves[0], count, 0, 1, 255));
        for (size_t y = 0; y < HEIGHT; y++) {
            for (size_t x = 0; x < WIDTH; x++) {
                const int inside = is_inside_exactly((const int64_t (*)[2])corners, count, x, y, &on_edges);
                wrong += work.pixels[y * ROW + x] != (inside ? 255 : BEFORE);
            }
        }
        free(work.pixels);
    }
    CHECK_NUMBER(wrong, 0);
    check_that(on_edges > 50, __FILE__, __LINE__, "only %zu centres are on slanted edges", on_edges);
}

/* ---- misuse -------------------------------------------------------------------------------------------------- */

static const isoline_sphere SPHERE = {{5, 5, 5}, 3};
static const isoline_box BOX = {{1, 1, 1}, {4, 4, 4}};
static const double TRIANGLE[] = {1, 1, 9, 1, 1, 9};

/* Each of the three functions fails with `status` and names `word` after `change` of the mask; nothing is written. */
#define SPOILT(change, status, word)                                                                                   \
    do {                                                                                                               \
        canvas work = new_canvas();                                                                                    \
        isoline_image *mask = &work.mask;                                                                              \
        change;                                                                                                        \
        const isoline_image before = work.mask;                                                                        \
        REFUSED(isoline_mask_fill_spheres(mask, &SPHERE, 1, 255), (status), (word));                                   \
        REFUSED(isoline_mask_fill_boxes(mask, &BOX, 1, 255), (status), (word));                                        \
        REFUSED(isoline_mask_fill_polygon(mask, TRIANGLE, 3, 0, 1, 255), (status), (word));                            \
        CHECK(is_untouched(&work) && memcmp(&before, &work.mask, sizeof before) == 0);                                 \
        free(work.pixels);                                                                                             \
    } while (0)

static void masks_that_cannot_be_are_refused(const char *device) {
    (void)device;
    const uint64_t huge = UINT64_MAX;
    SPOILT(mask = NULL, ISOLINE_NULL_POINTER, "mask");
    SPOILT(mask->data = NULL, ISOLINE_NULL_POINTER, "mask->data");
    SPOILT(mask->width = 0, ISOLINE_INVALID_SIZE, "mask");
    SPOILT(mask->height = 0, ISOLINE_INVALID_SIZE, "mask");
    SPOILT(mask->depth = 0, ISOLINE_INVALID_SIZE, "mask");
    SPOILT(mask->width = huge, ISOLINE_INVALID_SIZE, "mask");
    SPOILT(mask->depth = huge, ISOLINE_INVALID_SIZE, "mask");
    SPOILT(mask->row_stride = WIDTH - 1, ISOLINE_INVALID_SIZE, "row_stride");
    SPOILT(mask->slice_stride = 1, ISOLINE_OVERLAP, "slice");
    SPOILT((mask->type = ISOLINE_U16, mask->width = WIDTH / 2), ISOLINE_INVALID_TYPE, "ISOLINE_U8");
    SPOILT((mask->type = ISOLINE_F32, mask->row_stride = 0, mask->width = ROW / 4), ISOLINE_INVALID_TYPE, "ISOLINE_F32");
    SPOILT(mask->type = 3, ISOLINE_INVALID_TYPE, "mask->type");
    SPOILT(mask->memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, "CUDA");
    SPOILT(mask->memory = 3, ISOLINE_INVALID_ARGUMENT, "memory");
    SPOILT(mask->reserved = 1, ISOLINE_INVALID_ARGUMENT, "reserved");
    SPOILT(mask->spacing[2] = (double)NAN, ISOLINE_INVALID_ARGUMENT, "spacing");
    SPOILT(mask->spacing[0] = 0, ISOLINE_INVALID_ARGUMENT, "spacing");
    SPOILT(mask->struct_size = 0, ISOLINE_INVALID_ARGUMENT, "struct_size");
    SPOILT(mask->struct_size = sizeof *mask - 1, ISOLINE_INVALID_ARGUMENT, "struct_size");
}

static void lists_may_be_null_only_when_they_are_empty(const char *device) {
    (void)device;
    canvas work = new_canvas();
    REFUSED(isoline_mask_fill_spheres(&work.mask, NULL, 1, 255), ISOLINE_NULL_POINTER, "spheres");
    REFUSED(isoline_mask_fill_boxes(&work.mask, NULL, 1, 255), ISOLINE_NULL_POINTER, "boxes");
    REFUSED(isoline_mask_fill_polygon(&work.mask, NULL, 3, 0, 1, 255), ISOLINE_NULL_POINTER, "xy");
    GOOD(isoline_mask_fill_spheres(&work.mask, NULL, 0, 255));
    GOOD(isoline_mask_fill_boxes(&work.mask, NULL, 0, 255));
    REFUSED(isoline_mask_fill_polygon(&work.mask, NULL, 0, 0, 1, 255), ISOLINE_INVALID_ARGUMENT, "corners");
    REFUSED(isoline_mask_fill_polygon(&work.mask, TRIANGLE, 2, 0, 1, 255), ISOLINE_INVALID_ARGUMENT, "corners");
    const size_t many[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 16};
    for (size_t i = 0; i < 3; i++) {
        REFUSED(isoline_mask_fill_spheres(&work.mask, &SPHERE, many[i], 255), ISOLINE_INVALID_SIZE, "spheres");
        REFUSED(isoline_mask_fill_boxes(&work.mask, &BOX, many[i], 255), ISOLINE_INVALID_SIZE, "boxes");
        REFUSED(isoline_mask_fill_polygon(&work.mask, TRIANGLE, many[i], 0, 1, 255), ISOLINE_INVALID_SIZE, "xy");
    }
    CHECK(is_untouched(&work));
    free(work.pixels);
}

static void numbers_that_are_none_are_refused_by_name(const char *device) {
    (void)device;
    canvas work = new_canvas();
    const double wrong[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e101, -1e101};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        for (int axis = 0; axis < 3; axis++) {
            const char *const names[] = {"along x", "along y", "along z"};
            isoline_sphere spheres[] = {SPHERE, SPHERE};
            isoline_box boxes[] = {BOX, BOX};
            spheres[1].centre[axis] = wrong[i];
            REFUSED(isoline_mask_fill_spheres(&work.mask, spheres, 2, 255), ISOLINE_INVALID_ARGUMENT, names[axis]);
            CHECK_HAS(isoline_last_error(), "spheres[1].centre");
            boxes[1].max[axis] = wrong[i];
            REFUSED(isoline_mask_fill_boxes(&work.mask, boxes, 2, 255), ISOLINE_INVALID_ARGUMENT, names[axis]);
            CHECK_HAS(isoline_last_error(), "boxes[1].max");
            boxes[1].min[axis] = wrong[i];
            REFUSED(isoline_mask_fill_boxes(&work.mask, boxes, 2, 255), ISOLINE_INVALID_ARGUMENT, "boxes[1].min");
        }
        isoline_sphere sphere = SPHERE;
        sphere.radius = wrong[i];
        REFUSED(isoline_mask_fill_spheres(&work.mask, &sphere, 1, 255), ISOLINE_INVALID_ARGUMENT, "radius");
        double corners[] = {1, 1, 9, 1, 1, 9};
        corners[5] = wrong[i];
        REFUSED(isoline_mask_fill_polygon(&work.mask, corners, 3, 0, 1, 255), ISOLINE_INVALID_ARGUMENT, "corner 2");
    }
    isoline_sphere negative = SPHERE;
    negative.radius = -1e-9;
    REFUSED(isoline_mask_fill_spheres(&work.mask, &negative, 1, 255), ISOLINE_INVALID_ARGUMENT, "negative");
    isoline_box turned = BOX;
    turned.min[2] = 4.5;
    REFUSED(isoline_mask_fill_boxes(&work.mask, &turned, 1, 255), ISOLINE_INVALID_ARGUMENT, "along z");
    CHECK(is_untouched(&work));
    free(work.pixels);
}

static void slices_must_be_the_masks(const char *device) {
    (void)device;
    canvas work = new_canvas();
    const uint64_t wrong[][2] = {{0, DEPTH + 1}, {DEPTH, 1}, {1, DEPTH}, {UINT64_MAX, 1}, {UINT64_MAX, UINT64_MAX},
                                 {1, UINT64_MAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        REFUSED(isoline_mask_fill_polygon(&work.mask, TRIANGLE, 3, wrong[i][0], wrong[i][1], 255),
                ISOLINE_INVALID_ARGUMENT, "slices");
    }
    GOOD(isoline_mask_fill_polygon(&work.mask, TRIANGLE, 3, DEPTH, 0, 255));
    CHECK(is_untouched(&work));
    GOOD(isoline_mask_fill_polygon(&work.mask, TRIANGLE, 3, DEPTH - 1, 1, 255));
    CHECK(!is_untouched(&work));
    free(work.pixels);
}

/* ---- threads and memory -------------------------------------------------------------------------------------- */

static void fill_once(void *user) {
    canvas *work = (canvas *)user;
    GOOD(isoline_mask_fill_spheres(&work->mask, &SPHERE, 1, 255));
    GOOD(isoline_mask_fill_boxes(&work->mask, &BOX, 1, 255));
    GOOD(isoline_mask_fill_polygon(&work->mask, TRIANGLE, 3, 0, DEPTH, 255));
    REFUSED(isoline_mask_fill_polygon(&work->mask, TRIANGLE, 2, 0, DEPTH, 255), ISOLINE_INVALID_ARGUMENT, NULL);
}

static void calls_do_not_grow(const char *device) {
    (void)device;
    canvas work = new_canvas();
    must_not_grow(fill_once, &work, (int)scaled(50, 2), (int)scaled(1000, 20));
    free(work.pixels);
}

static void *fill_often(void *user) {
    for (size_t i = 0; i < scaled(1000, 20); i++) {
        fill_once(user);
    }
    return NULL;
}

static void two_threads_fill_two_masks(const char *device) {
    (void)device;
    canvas masks[2] = {new_canvas(), new_canvas()};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, fill_often, &masks[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(memcmp(masks[0].pixels, masks[1].pixels, COUNT) == 0 && !is_untouched(&masks[0]));
    free(masks[0].pixels);
    free(masks[1].pixels);
}

static void want_of_memory_is_a_status(const char *device) {
    (void)device;
    if (slow()) {
        skip("an instrument needs more memory than the test allows");
        return;
    }
    /* A polygon's sides need some 48 bytes a corner. */
    enum { CORNERS = 1000000 };
    canvas work = new_canvas();
    double *xy = (double *)allocate(2 * CORNERS * sizeof(double));
    for (size_t i = 0; i < CORNERS; i++) {
        xy[2 * i] = (double)(i % WIDTH);
        xy[2 * i + 1] = (double)(i % HEIGHT);
    }
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    allow_only(8 << 20);
    REFUSED(isoline_mask_fill_polygon(&work.mask, xy, CORNERS, 0, DEPTH, 255), ISOLINE_OUT_OF_MEMORY, "memory");
    CHECK(is_untouched(&work));
    GOOD(isoline_mask_fill_polygon(&work.mask, TRIANGLE, 3, 0, DEPTH, 255));
    setrlimit(RLIMIT_AS, &limit);
    GOOD(isoline_mask_fill_polygon(&work.mask, xy, CORNERS, 0, DEPTH, 255));
    free(xy);
    free(work.pixels);
}

int main(void) {
    RUN(balls_are_the_pixels_within_their_radius);
    RUN(boxes_hold_both_ends);
    RUN(polygons_are_filled_by_the_even_odd_rule);
    RUN(centres_beside_slanted_edges_are_on_the_exact_side);
    RUN(masks_that_cannot_be_are_refused);
    RUN(lists_may_be_null_only_when_they_are_empty);
    RUN(numbers_that_are_none_are_refused_by_name);
    RUN(slices_must_be_the_masks);
    RUN(calls_do_not_grow);
    RUN(two_threads_fill_two_masks);
    RUN(want_of_memory_is_a_status);
    return summary();
}
