/* Segments as an object: the result of each function, every misuse refused, memory; and extreme images. */
#include "edges.h"
#include "process.h"

#include <pthread.h>

/* Returns the segments of a picture; the caller frees them. */
static isoline_segments *some_segments(const char *device) {
    drawing_job work = new_drawing_job(device);
    GOOD(draw(&work));
    isoline_segments *segments = work.segments;
    work.segments = untouched();
    /* The segments remain valid after the context and the images are freed. */
    end_drawing_job(&work);
    CHECK(isoline_segments_count(segments) >= 4);
    return segments;
}

static isoline_segments *no_segments(const char *device) {
    isoline_context *context = open_context(device);
    uint8_t pixels[COUNT] = {0};
    isoline_segments *segments = segments_of(context, pixels, WIDTH, HEIGHT, 1, NULL, NULL);
    isoline_context_free(context);
    return segments;
}

static void one_by_one_and_all_at_once_are_the_same(const char *device) {
    isoline_segments *segments = some_segments(device);
    isoline_segment_arrays all = all_of(segments);
    CHECK_NUMBER(all.struct_size, sizeof all);
    CHECK_NUMBER(all.reserved, 0);
    CHECK_NUMBER(all.count, isoline_segments_count(segments));
    CHECK_NUMBER(all.offsets[0], 0);
    CHECK_NUMBER(all.offsets[all.count], all.point_count);
    for (size_t i = 0; i < all.count; i++) {
        const isoline_point *points = NULL;
        size_t count = 0;
        uint32_t flags = 77;
        uint64_t slice = 77;
        GOOD(isoline_segments_points(segments, i, &points, &count));
        GOOD(isoline_segments_flags(segments, i, &flags));
        GOOD(isoline_segments_slice(segments, i, &slice));
        CHECK(points == all.points + all.offsets[i]);
        CHECK_NUMBER(count, all.offsets[i + 1] - all.offsets[i]);
        CHECK(count >= 10);
        CHECK_NUMBER(flags, all.flags[i]);
        CHECK_NUMBER(slice, all.slices[i]);
        CHECK(slice == 0 && (flags & ~(uint32_t)ISOLINE_SEGMENT_CLOSED) == 0);
    }
    isoline_segments_free(segments);
}

static void the_mean_gradient_is_that_of_the_points(const char *device) {
    for (uint32_t profile = 0; profile < 2; profile++) {
        drawing_job work = new_drawing_job(device);
        float *gradient = unwritten(COUNT);
        isoline_image slope = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, gradient);
        work.params.profile = profile;
        GOOD(draw(&work));
        GOOD(isoline_edge_drawing_maps(work.context, &work.input, &work.params, NULL, NULL, &slope, NULL, NULL, NULL));
        isoline_segment_arrays all = all_of(work.segments);
        CHECK(all.count > 0);
        for (size_t i = 0; i < all.count; i++) {
            double sum = 0;
            for (uint64_t p = all.offsets[i]; p < all.offsets[i + 1]; p++) {
                sum += gradient[all.points[p].y * WIDTH + all.points[p].x];
            }
            CHECK_NUMBER(all.mean_gradients[i], (float)(sum / (double)(all.offsets[i + 1] - all.offsets[i])));
        }
        free(gradient);
        end_drawing_job(&work);
    }
}

static void no_segments_are_an_object_too(const char *device) {
    isoline_segments *segments = no_segments(device);
    isoline_segment_arrays all = all_of(segments);
    const isoline_point *points = (const isoline_point *)(const void *)segments;
    size_t count = 77;
    CHECK(segments != NULL);
    CHECK_NUMBER(isoline_segments_count(segments), 0);
    CHECK(all.count == 0 && all.point_count == 0);
    CHECK(all.points == NULL && all.flags == NULL && all.slices == NULL && all.mean_gradients == NULL);
    CHECK(all.offsets != NULL && all.offsets[0] == 0);
    REFUSED(isoline_segments_points(segments, 0, &points, &count), ISOLINE_INVALID_ARGUMENT, "no segments");
    CHECK(count == 77 && points == (const isoline_point *)(const void *)segments);
    isoline_segments_free(segments);
}

static void null_is_refused_by_name(const char *device) {
    isoline_segments *segments = some_segments(device);
    const isoline_point *points = NULL;
    size_t count = 77;
    uint32_t flags = 77;
    uint64_t slice = 77;
    isoline_segment_arrays all;
    GOOD(isoline_segment_arrays_init(&all, sizeof all));
    CHECK_NUMBER(isoline_segments_count(NULL), 0);
    isoline_segments_free(NULL);
    REFUSED(isoline_segments_points(NULL, 0, &points, &count), ISOLINE_NULL_POINTER, "segments");
    REFUSED(isoline_segments_points(segments, 0, NULL, &count), ISOLINE_NULL_POINTER, "points");
    REFUSED(isoline_segments_points(segments, 0, &points, NULL), ISOLINE_NULL_POINTER, "count");
    REFUSED(isoline_segments_points(NULL, 0, NULL, NULL), ISOLINE_NULL_POINTER, NULL);
    CHECK(points == NULL && count == 77);
    REFUSED(isoline_segments_flags(NULL, 0, &flags), ISOLINE_NULL_POINTER, "segments");
    REFUSED(isoline_segments_flags(segments, 0, NULL), ISOLINE_NULL_POINTER, "flags");
    REFUSED(isoline_segments_slice(NULL, 0, &slice), ISOLINE_NULL_POINTER, "segments");
    REFUSED(isoline_segments_slice(segments, 0, NULL), ISOLINE_NULL_POINTER, "slice");
    REFUSED(isoline_segments_all(NULL, &all), ISOLINE_NULL_POINTER, "segments");
    REFUSED(isoline_segments_all(segments, NULL), ISOLINE_NULL_POINTER, "arrays");
    CHECK(flags == 77 && slice == 77 && all.offsets == NULL);
    isoline_segments_free(segments);
}

static void an_index_out_of_range_is_refused(const char *device) {
    isoline_segments *segments = some_segments(device);
    const size_t count = isoline_segments_count(segments);
    const size_t wrong[] = {count, count + 1, (size_t)1 << 32, SIZE_MAX / 2, SIZE_MAX};
    char limit[32];
    snprintf(limit, sizeof limit, "less than %zu", count);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const isoline_point *points = NULL;
        size_t length = 77;
        uint32_t flags = 77;
        uint64_t slice = 77;
        REFUSED(isoline_segments_points(segments, wrong[i], &points, &length), ISOLINE_INVALID_ARGUMENT, limit);
        REFUSED(isoline_segments_flags(segments, wrong[i], &flags), ISOLINE_INVALID_ARGUMENT, limit);
        REFUSED(isoline_segments_slice(segments, wrong[i], &slice), ISOLINE_INVALID_ARGUMENT, limit);
        CHECK(points == NULL && length == 77 && flags == 77 && slice == 77);
    }
    isoline_segments_free(segments);
}

static void arrays_without_init_are_refused(const char *device) {
    isoline_segments *segments = some_segments(device);
    const uint32_t sizes[] = {0, 4, sizeof(isoline_segment_arrays) - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        isoline_segment_arrays all, before;
        memset(&all, 0xA5, sizeof all);
        all.struct_size = sizes[i];
        before = all;
        REFUSED(isoline_segments_all(segments, &all), ISOLINE_INVALID_ARGUMENT, "arrays->struct_size");
        CHECK(memcmp(&all, &before, sizeof all) == 0);
    }
    /* The additional fields of a newer caller are unchanged. */
    struct {
        isoline_segment_arrays known;
        unsigned char more[40];
        unsigned char guard[64];
    } newer, before;
    memset(&newer, 0xA5, sizeof newer);
    GOOD(isoline_segment_arrays_init(&newer.known, sizeof newer.known + sizeof newer.more));
    before = newer;
    GOOD(isoline_segments_all(segments, &newer.known));
    CHECK_NUMBER(newer.known.struct_size, sizeof newer.known + sizeof newer.more);
    CHECK_NUMBER(newer.known.count, isoline_segments_count(segments));
    CHECK(memcmp(newer.more, before.more, sizeof newer.more + sizeof newer.guard) == 0);
    isoline_segments_free(segments);
}

static void *read_all(void *user) {
    const isoline_segments *segments = (const isoline_segments *)user;
    size_t points = 0;
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < isoline_segments_count(segments); i++) {
            const isoline_point *borrowed = NULL;
            size_t count = 0;
            GOOD(isoline_segments_points(segments, i, &borrowed, &count));
            points += count + borrowed[count - 1].x % 2;
        }
    }
    return points > 0 ? user : NULL;
}

static void several_threads_may_read_and_another_may_free(const char *device) {
    isoline_segments *segments = some_segments(device);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, read_all, segments);
    }
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        CHECK(result == segments);
    }
    isoline_segments_free(segments);
}

typedef struct {
    isoline_context *context;
    uint8_t *pixels;
} source;

static void make_and_free(void *user) {
    source *from = (source *)user;
    isoline_segments *segments = segments_of(from->context, from->pixels, WIDTH, HEIGHT, 1, NULL, NULL);
    CHECK(isoline_segments_count(segments) >= 4);
    isoline_segments_free(segments);
}

static void making_and_freeing_does_not_grow(const char *device) {
    source from = {open_context(device), drawing(WIDTH, HEIGHT, 1, 1)};
    must_not_grow(make_and_free, &from, (int)scaled(50, 2), (int)scaled(1000, 20));
    free(from.pixels);
    isoline_context_free(from.context);
}

/* ---- hostile images ------------------------------------------------------------------------------------------ */

/* Runs both profiles on `count` pixels of a type and counts edge pixels and segments. */
static void census(isoline_context *context, uint32_t type, size_t width, size_t height, void *pixels,
                   double threshold, size_t edge_pixels[2], size_t segments_found[2]) {
    for (uint32_t profile = 0; profile < 2; profile++) {
        uint8_t *map = not_written(width * height);
        isoline_segments *segments = NULL;
        isoline_image input = describe(type, width, height, 1, pixels);
        isoline_image edges = describe(ISOLINE_U8, width, height, 1, map);
        isoline_edge_drawing_params params = edge_defaults();
        params.profile = profile;
        params.gradient_threshold = threshold;
        params.min_length = 1;
        GOOD(isoline_edge_drawing(context, &input, &params, NULL, &edges, &segments, NULL));
        edge_pixels[profile] = segments_found[profile] = 0;
        for (size_t i = 0; i < width * height; i++) {
            edge_pixels[profile] += map[i] == 255;
            CHECK(map[i] == 0 || map[i] == 255);
        }
        segments_found[profile] = isoline_segments_count(segments);
        CHECK((edge_pixels[profile] == 0) == (segments_found[profile] == 0));
        isoline_segments_free(segments);
        free(map);
    }
}

static void flat_images_have_no_edges(const char *device) {
    const size_t sizes[][2] = {{1, 1}, {1, 40}, {40, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 3}, {40, 30}};
    isoline_context *context = open_context(device);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t count = sizes[i][0] * sizes[i][1];
        uint32_t *memory = (uint32_t *)allocate(count * 4);
        /* These are, as bytes, words and floats: black, grey, saturated, and NaN. */
        const uint32_t values[] = {0, 0x80808080u, 0x3f800000u, 0xffffffffu};
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            for (size_t k = 0; k < count; k++) {
                memory[k] = values[v];
            }
            for (uint32_t type = ISOLINE_U8; type <= ISOLINE_F32; type++) {
                if (values[v] == 0x3f800000u && type != ISOLINE_F32) {
                    continue;
                }
                for (int automatic = 0; automatic < 2; automatic++) {
                    size_t edges[2], segments[2];
                    census(context, type, sizes[i][0], sizes[i][1], memory, automatic ? ISOLINE_AUTOMATIC : 0, edges, segments);
                    CHECK(edges[0] == 0 && edges[1] == 0);
                }
            }
        }
        free(memory);
    }
    isoline_context_free(context);
}

static void thresholds_beyond_the_steepest_edge_find_none(const char *device) {
    isoline_context *context = open_context(device);
    uint8_t *pixels = drawing(64, 48, 1, 3);
    const double thresholds[] = {16 * 255 + 1, 65536, 4294967295.0, 4294967296.0, 1e300};
    for (size_t i = 0; i < sizeof thresholds / sizeof thresholds[0]; i++) {
        size_t edges[2], segments[2];
        census(context, ISOLINE_U8, 64, 48, pixels, thresholds[i], edges, segments);
        CHECK(edges[0] == 0 && edges[1] == 0);
    }
    /* 0 acts as 1: the most edges there can be. */
    size_t most[2], of_one[2], segments[2];
    census(context, ISOLINE_U8, 64, 48, pixels, 0, most, segments);
    census(context, ISOLINE_U8, 64, 48, pixels, 1, of_one, segments);
    CHECK(most[0] == of_one[0] && most[1] == of_one[1] && most[0] > 500 && most[1] > 500);
    free(pixels);
    isoline_context_free(context);
}

static void the_steepest_edges_of_16_bits_do_not_overflow(const char *device) {
    /* Blocks of 0 and 65535: the gradient reaches its largest, over 2^20 with Scharr. */
    enum { SIDE = 96 };
    isoline_context *context = open_context(device);
    uint32_t *integers = (uint32_t *)allocate(SIDE * SIDE * 4);
    uint16_t *pixels = (uint16_t *)allocate(SIDE * SIDE * 2);
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        pixels[i] = (i % SIDE / 12 + i / SIDE / 12) % 2 ? 65535 : 0;
        integers[i] = pixels[i];
    }
    for (uint32_t weights = ISOLINE_GRADIENT_SOBEL; weights <= ISOLINE_GRADIENT_SCHARR; weights++) {
        isoline_edge_drawing_params params = edge_defaults();
        params.gradient_operator = weights;
        params.gradient_threshold = 60000;
        definition wanted = define(integers, SIDE, SIDE, 60000, 0, &params);
        uint8_t *map = not_written(SIDE * SIDE);
        float *gradient = unwritten(SIDE * SIDE);
        isoline_image input = describe(ISOLINE_U16, SIDE, SIDE, 1, pixels);
        isoline_image edges = describe(ISOLINE_U8, SIDE, SIDE, 1, map);
        isoline_image slope = describe(ISOLINE_F32, SIDE, SIDE, 1, gradient);
        GOOD(isoline_edge_drawing(context, &input, &params, NULL, &edges, NULL, NULL));
        GOOD(isoline_edge_drawing_maps(context, &input, &params, NULL, NULL, &slope, NULL, NULL, NULL));
        CHECK_NUMBER(differing(map, wanted.edges, SIDE * SIDE), 0);
        uint32_t largest = 0;
        size_t wrong = 0;
        for (size_t i = 0; i < SIDE * SIDE; i++) {
            wrong += gradient[i] != (float)wanted.gradient[i];
            largest = wanted.gradient[i] > largest ? wanted.gradient[i] : largest;
        }
        CHECK_NUMBER(wrong, 0);
        CHECK(largest > 65535);
        params.profile = ISOLINE_EDGE_DRAWING_REFERENCE;
        isoline_segments *segments = NULL;
        GOOD(isoline_edge_drawing(context, &input, &params, NULL, &edges, &segments, NULL));
        check_segments(segments, map, SIDE, SIDE, 1, 0);
        CHECK(isoline_segments_count(segments) > 10);
        isoline_segments_free(segments);
        free(gradient);
        free(map);
        forget(&wanted);
    }
    free(pixels);
    free(integers);
    isoline_context_free(context);
}

static void a_million_segments_are_found(const char *device) {
    const size_t side = scaled(3000, 96);
    isoline_context *context = open_context(device);
    uint8_t *pixels = (uint8_t *)allocate(side * side), *map = not_written(side * side);
    uint32_t seed = 11;
    for (size_t i = 0; i < side * side; i++) {
        pixels[i] = (uint8_t)next_random(&seed);
    }
    isoline_edge_drawing_params params = edge_defaults();
    params.gradient_threshold = 0;
    params.min_length = 1;
    isoline_segments *segments = segments_of(context, pixels, side, side, 1, &params, map);
    const size_t count = isoline_segments_count(segments);
    check_that(slow() || count >= 1000000, __FILE__, __LINE__, "only %zu segments", count);
    check_segments(segments, map, side, side, 1, 1);
    isoline_segments_free(segments);
    params.profile = ISOLINE_EDGE_DRAWING_REFERENCE;
    segments = segments_of(context, pixels, side, side, 1, &params, map);
    check_segments(segments, map, side, side, 1, 0);
    isoline_segments_free(segments);
    free(map);
    free(pixels);
    isoline_context_free(context);
}

int main(void) {
    RUN_ON_EACH(one_by_one_and_all_at_once_are_the_same);
    RUN_ON_EACH(the_mean_gradient_is_that_of_the_points);
    RUN_ON_EACH(no_segments_are_an_object_too);
    RUN_ON_EACH(null_is_refused_by_name);
    RUN_ON_EACH(an_index_out_of_range_is_refused);
    RUN_ON_EACH(arrays_without_init_are_refused);
    RUN_ON_EACH(several_threads_may_read_and_another_may_free);
    RUN_ON_EACH(making_and_freeing_does_not_grow);
    RUN_ON_EACH(flat_images_have_no_edges);
    RUN_ON_EACH(thresholds_beyond_the_steepest_edge_find_none);
    RUN_ON_EACH(the_steepest_edges_of_16_bits_do_not_overflow);
    RUN_ON_EACH(a_million_segments_are_found);
    return summary();
}
