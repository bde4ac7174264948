/* Edge drawing: correct pixels and segments for every option, and a correct report. */
#include "edges.h"

/* The picture as integers of any of the three types, and their values in the caller's units. */
typedef struct {
    void *data;
    uint32_t *integers;
    double unit;
} typed_pixels;

/* The range of f32 pixels. */
#define LOW -3.5f
#define HIGH 9.25f

static typed_pixels as_type(uint32_t type, const uint8_t *drawn, size_t count) {
    typed_pixels made = {allocate(count * 4), (uint32_t *)allocate(count * 4), 1};
    const float low = LOW, high = HIGH;
    const float scale = (float)(65535.0 / ((double)high - (double)low));
    for (size_t i = 0; i < count; i++) {
        if (type == ISOLINE_U8) {
            ((uint8_t *)made.data)[i] = drawn[i];
            made.integers[i] = drawn[i];
        } else if (type == ISOLINE_U16) {
            ((uint16_t *)made.data)[i] = (uint16_t)(drawn[i] * 257u);
            made.integers[i] = drawn[i] * 257u;
        } else {
            const float p = low + (high - low) * ((float)drawn[i] / 255.0f);
            float t = (p - low) * scale;
            t = t < 0 ? 0 : t > 65535 ? 65535 : t;
            ((float *)made.data)[i] = p;
            made.integers[i] = (uint32_t)(t + 0.5f);
            made.unit = ((double)high - (double)low) / 65535.0;
        }
    }
    return made;
}

/* `threshold` and `anchor`: in steps of the integer picture. */
static void matches_the_definition(isoline_context *context, uint32_t type, size_t width, size_t height,
                                   isoline_edge_drawing_params params, uint32_t threshold, uint32_t anchor) {
    const size_t count = width * height;
    uint8_t *drawn = drawing(width, height, 1, 5);
    typed_pixels pixels = as_type(type, drawn, count);
    if (type == ISOLINE_F32) {
        params.range_min = LOW;
        params.range_max = HIGH;
    }
    /* A little less than the whole number, so that rounding cannot exceed it. */
    params.gradient_threshold = (threshold - 0.25) * pixels.unit;
    params.anchor_threshold = anchor == 0 ? 0 : (anchor - 0.25) * pixels.unit;
    params.min_length = 1;
    definition wanted = define(pixels.integers, width, height, threshold, anchor, &params);
    uint8_t *map = not_written(count), *direction = not_written(count), *anchors = not_written(count);
    float *gradient = unwritten(count);
    const size_t bytes = type == ISOLINE_U8 ? 1 : type == ISOLINE_U16 ? 2 : 4;
    void *smoothed = allocate(count * bytes);
    isoline_segments *segments = NULL;
    isoline_image input = describe(type, width, height, 1, pixels.data);
    isoline_image edges = describe(ISOLINE_U8, width, height, 1, map);
    isoline_image outputs[4] = {describe(type, width, height, 1, smoothed),
                                describe(ISOLINE_F32, width, height, 1, gradient),
                                describe(ISOLINE_U8, width, height, 1, direction),
                                describe(ISOLINE_U8, width, height, 1, anchors)};
    GOOD(isoline_edge_drawing(context, &input, &params, NULL, &edges, &segments, NULL));
    GOOD(isoline_edge_drawing_maps(context, &input, &params, NULL, &outputs[0], &outputs[1], &outputs[2], &outputs[3],
                                   NULL));
    size_t wrong_smoothed = 0, wrong_gradient = 0, wrong_direction = 0;
    for (size_t i = 0; i < count; i++) {
        const double s = type == ISOLINE_U8    ? ((uint8_t *)smoothed)[i]
                         : type == ISOLINE_U16 ? ((uint16_t *)smoothed)[i]
                                               : (((float *)smoothed)[i] + 3.5) / pixels.unit;
        const int flat = type == ISOLINE_F32 && count < 2;
        wrong_smoothed += !flat && fabs(s - wanted.smoothed[i]) > (type == ISOLINE_F32 ? 0.02 : 0);
        wrong_gradient += !flat && fabs(gradient[i] / pixels.unit - wanted.gradient[i]) > 1e-6 * wanted.gradient[i];
        wrong_direction += direction[i] != (wanted.gradient[i] < threshold ? (uint8_t)NO_EDGE : wanted.direction[i]);
    }
    const size_t wrong_anchors = differing(anchors, wanted.anchors, count);
    const size_t wrong_edges = differing(map, wanted.edges, count);
    check_that(wrong_smoothed + wrong_gradient + wrong_direction + wrong_anchors + wrong_edges == 0, __FILE__, __LINE__,
               "type %u, %zux%zu, operator %u, threshold %u, anchor %u, scan %u, turns %u, variant %u: wrong are %zu "
               "smoothed, %zu gradients, %zu directions, %zu anchors, %zu edges",
               type, width, height, params.gradient_operator, threshold, anchor, params.scan_interval, params.follow_turns,
               params.variant, wrong_smoothed, wrong_gradient, wrong_direction, wrong_anchors, wrong_edges);
    if (segments != NULL) {
        check_segments(segments, map, width, height, 1, 1);
    }
    isoline_segments_free(segments);
    free(smoothed);
    free(gradient);
    free(anchors);
    free(direction);
    free(map);
    forget(&wanted);
    free(pixels.integers);
    free(pixels.data);
    free(drawn);
}

static void every_size_matches_the_definition(const char *device) {
    const size_t sizes[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2},   {3, 2},   {3, 3},  {4, 4},
                               {5, 5}, {1, 9}, {9, 1}, {31, 33}, {64, 64}, {130, 7}, {67, 129}};
    isoline_context *context = open_context(device);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (uint32_t type = ISOLINE_U8; type <= ISOLINE_F32; type++) {
            const uint32_t threshold = type == ISOLINE_U8 ? 20 : 5140;
            matches_the_definition(context, type, sizes[i][0], sizes[i][1], edge_defaults(), threshold, 0);
        }
    }
    if (!slow()) {
        matches_the_definition(context, ISOLINE_U8, 1100, 300, edge_defaults(), 20, 0);
        matches_the_definition(context, ISOLINE_U16, 70, 1500, edge_defaults(), 5000, 0);
    }
    isoline_context_free(context);
}

static void every_parameter_does_what_the_header_says(const char *device) {
    const size_t width = scaled(121, 41), height = scaled(90, 30);
    const int cuda = strcmp(device, "cpu") != 0;
    isoline_context *context = open_context(device);
    for (uint32_t type = ISOLINE_U8; type <= ISOLINE_F32; type++) {
        const uint32_t step = type == ISOLINE_U8 ? 1 : 257;
        for (uint32_t weights = ISOLINE_GRADIENT_SOBEL; weights <= ISOLINE_GRADIENT_SCHARR; weights++) {
            for (uint32_t turns = 0; turns < 2; turns++) {
                for (uint32_t scan = 1; scan <= 4; scan++) {
                    isoline_edge_drawing_params params = edge_defaults();
                    params.gradient_operator = weights;
                    params.follow_turns = turns;
                    params.scan_interval = scan;
                    params.variant = !cuda && scan == 4 ? ISOLINE_EDGE_DRAWING_SCALAR : ISOLINE_EDGE_DRAWING_DEFAULT;
                    matches_the_definition(context, type, width, height, params, 30 * step, 0);
                    matches_the_definition(context, type, width, height, params, 1, 8 * step);
                    matches_the_definition(context, type, width, height, params, 100 * step, 3 * step);
                }
            }
        }
        isoline_edge_drawing_params params = edge_defaults();
        params.scan_interval = UINT32_MAX;
        matches_the_definition(context, type, width, height, params, 30 * step, 0);
    }
    isoline_context_free(context);
}

static void null_params_are_the_defaults(const char *device) {
    drawing_job work = new_drawing_job(device);
    uint8_t *by_null = not_written(COUNT);
    isoline_segments *segments = segments_of(work.context, work.pixels, WIDTH, HEIGHT, 1, NULL, by_null);
    GOOD(draw(&work));
    CHECK_NUMBER(differing(by_null, work.map, COUNT), 0);
    CHECK(same_segments(segments, work.segments));
    CHECK(isoline_segments_count(segments) > 3);
    isoline_segments_free(segments);
    free(by_null);
    end_drawing_job(&work);
}

static void the_automatic_threshold_follows_the_noise(const char *device) {
    drawing_job work = new_drawing_job(device);
    uint32_t random = 1;
    double thresholds[2];
    for (int loud = 0; loud < 2; loud++) {
        for (size_t i = 0; i < COUNT; i++) {
            random = random * 1664525 + 1013904223;
            work.pixels[i] = (uint8_t)(100 + (random >> 8) % (loud ? 60 : 20));
        }
        GOOD(isoline_edge_drawing_threshold(work.context, &work.input, NULL, &thresholds[loud]));
        uint8_t *given = not_written(COUNT);
        isoline_image map = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, given);
        work.params.gradient_threshold = thresholds[loud];
        GOOD(isoline_edge_drawing(work.context, &work.input, NULL, NULL, &work.edges, NULL, NULL));
        GOOD(isoline_edge_drawing(work.context, &work.input, &work.params, NULL, &map, NULL, NULL));
        CHECK_NUMBER(differing(given, work.map, COUNT), 0);
        free(given);
    }
    CHECK(thresholds[0] > 10 && thresholds[1] > 2 * thresholds[0] && thresholds[1] < 4 * thresholds[0]);
    REFUSED(isoline_edge_drawing_threshold(work.context, &work.input, NULL, NULL), ISOLINE_NULL_POINTER, "threshold");
    end_drawing_job(&work);
}

static void sigma_is_of_the_smoothing(const char *device) {
    drawing_job work = new_drawing_job(device);
    uint8_t *smoothed = not_written(COUNT);
    isoline_image map = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, smoothed);
    for (int sigma = 0; sigma < 2; sigma++) {
        work.params.sigma = 4 * sigma;
        GOOD(isoline_edge_drawing_maps(work.context, &work.input, &work.params, NULL, &map, NULL, NULL, NULL, NULL));
        CHECK((differing(smoothed, work.pixels, COUNT) == 0) == (sigma == 0));
    }
    work.params.sigma = 11;
    REFUSED(isoline_edge_drawing_maps(work.context, &work.input, &work.params, NULL, &map, NULL, NULL, NULL, NULL),
            ISOLINE_INVALID_ARGUMENT, "sigma must be from 0 to 10 (pixels), but it is 11");
    free(smoothed);
    end_drawing_job(&work);
}

static void the_automatic_threshold_without_noise_follows_the_range(const char *device) {
    /* 20 of 255: for u16 and f32 of what the whole input spans. */
    drawing_job work = new_drawing_job(device);
    uint16_t wide[COUNT];
    float real[COUNT];
    void *const data[] = {work.pixels, wide, real};
    const double thresholds[] = {20, 20.0 / 255 * (255 * 100), 20.0 / 255 * (255 * 0.01)};
    for (size_t i = 0; i < COUNT; i++) {
        work.pixels[i] = i % WIDTH < WIDTH / 2 ? 0 : 255;
    }
    for (size_t i = 0; i < COUNT; i++) {
        wide[i] = (uint16_t)(300 + 100 * work.pixels[i]);
        real[i] = 0.01f * work.pixels[i] - 1;
    }
    for (uint32_t type = ISOLINE_U8; type <= ISOLINE_F32; type++) {
        uint8_t *given = not_written(COUNT);
        isoline_image map = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, given);
        work.input = describe(type, WIDTH, HEIGHT, 1, data[type]);
        work.params.gradient_threshold = type == ISOLINE_F32 ? thresholds[type] * (1 - 1e-6) : thresholds[type];
        GOOD(isoline_edge_drawing(work.context, &work.input, NULL, NULL, &work.edges, NULL, NULL));
        GOOD(isoline_edge_drawing(work.context, &work.input, &work.params, NULL, &map, NULL, NULL));
        CHECK_NUMBER(differing(given, work.map, COUNT), 0);
        free(given);
    }
    end_drawing_job(&work);
}

static void a_range_scales_and_clips_floats(const char *device) {
    drawing_job work = new_drawing_job(device);
    float real[COUNT], clipped[COUNT];
    uint8_t *wanted = not_written(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        real[i] = work.pixels[i];
        clipped[i] = fminf(fmaxf(real[i], 20), 90);
    }
    /* An infinite pixel counts as the nearer end of the range, and NaN as the smallest. */
    real[7] = INFINITY;
    clipped[7] = 90;
    real[COUNT / 2] = -INFINITY;
    real[COUNT / 2 + 9] = NAN;
    clipped[COUNT / 2] = clipped[COUNT / 2 + 9] = 20;
    clipped[0] = real[0] = 20;
    clipped[1] = real[1] = 90;
    isoline_image map = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, wanted);
    work.input = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, clipped);
    GOOD(isoline_edge_drawing(work.context, &work.input, &work.params, NULL, &map, NULL, NULL));
    work.input.data = real;
    work.params.range_min = 20;
    work.params.range_max = 90;
    GOOD(draw(&work));
    CHECK_NUMBER(differing(wanted, work.map, COUNT), 0);
    free(wanted);
    end_drawing_job(&work);
}

static void map_and_segments_can_be_asked_for_alone(const char *device) {
    for (uint32_t kind = 0; kind < 4; kind++) {
        drawing_job work = new_drawing_job(device);
        uint8_t *alone = not_written(COUNT);
        work.params.profile = kind % 2;
        work.params.validation = kind / 2;
        GOOD(draw(&work));
        isoline_segments *segments = segments_of(work.context, work.pixels, WIDTH, HEIGHT, 1, &work.params, NULL);
        CHECK(same_segments(segments, work.segments));
        isoline_image map = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, alone);
        GOOD(isoline_edge_drawing(work.context, &work.input, &work.params, NULL, &map, NULL, NULL));
        CHECK_NUMBER(differing(alone, work.map, COUNT), 0);
        isoline_segments_free(segments);
        free(alone);
        end_drawing_job(&work);
    }
}

static void each_map_can_be_asked_for_alone(const char *device) {
    for (uint32_t profile = 0; profile < 2; profile++) {
        drawing_job work = new_drawing_job(device);
        work.params.profile = profile;
        uint8_t *together[4], *alone[4];
        const uint32_t types[4] = {ISOLINE_U8, ISOLINE_F32, ISOLINE_U8, ISOLINE_U8};
        isoline_image maps[4], ones[4];
        for (int i = 0; i < 4; i++) {
            together[i] = not_written(COUNT * 4);
            alone[i] = not_written(COUNT * 4);
            maps[i] = describe(types[i], WIDTH, HEIGHT, 1, together[i]);
            ones[i] = describe(types[i], WIDTH, HEIGHT, 1, alone[i]);
        }
        GOOD(isoline_edge_drawing_maps(work.context, &work.input, &work.params, NULL, &maps[0], &maps[1], &maps[2],
                                       &maps[3], &work.report));
        for (int i = 0; i < 4; i++) {
            GOOD(isoline_edge_drawing_maps(work.context, &work.input, &work.params, NULL, i == 0 ? &ones[0] : NULL,
                                           i == 1 ? &ones[1] : NULL, i == 2 ? &ones[2] : NULL,
                                           i == 3 ? &ones[3] : NULL, NULL));
            CHECK_NUMBER(differing(alone[i], together[i], COUNT * 4), 0);
            CHECK(!is_not_written(alone[i], COUNT));
            free(alone[i]);
            free(together[i]);
        }
        end_drawing_job(&work);
    }
}

static void a_stack_is_its_slices(const char *device) {
    enum { DEPTH = 5 };
    for (uint32_t profile = 0; profile < 2; profile++) {
        isoline_context *context = open_context(device);
        isoline_edge_drawing_params params = edge_defaults();
        params.profile = profile;
        /* The automatic threshold is that of the whole stack. */
        params.gradient_threshold = 20;
        uint8_t *pixels = drawing(WIDTH, HEIGHT, DEPTH, 9), *stack = not_written(COUNT * DEPTH);
        isoline_segments *segments = segments_of(context, pixels, WIDTH, HEIGHT, DEPTH, &params, stack);
        isoline_segment_arrays all = all_of(segments);
        size_t at = 0, wrong = 0;
        for (size_t z = 0; z < DEPTH; z++) {
            uint8_t *alone = not_written(COUNT);
            isoline_segments *slice = segments_of(context, pixels + z * COUNT, WIDTH, HEIGHT, 1, &params, alone);
            CHECK_NUMBER(differing(alone, stack + z * COUNT, COUNT), 0);
            isoline_segment_arrays one = all_of(slice);
            CHECK(one.count > 3);
            for (size_t s = 0; s < one.count; s++, at++) {
                if (at >= all.count) {
                    wrong++;
                    continue;
                }
                const size_t length = (size_t)(one.offsets[s + 1] - one.offsets[s]);
                wrong += all.slices[at] != z || all.flags[at] != one.flags[s];
                wrong += all.mean_gradients[at] != one.mean_gradients[s];
                wrong += all.offsets[at + 1] - all.offsets[at] != length ||
                         memcmp(all.points + all.offsets[at], one.points + one.offsets[s], length * sizeof *one.points);
            }
            isoline_segments_free(slice);
            free(alone);
        }
        CHECK_NUMBER(wrong, 0);
        CHECK_NUMBER(at, all.count);
        isoline_segments_free(segments);
        free(stack);
        free(pixels);
        isoline_context_free(context);
    }
}

static void crops_of_a_larger_image_are_read_and_written_in_place(const char *device) {
    enum { LARGE_WIDTH = 70, LARGE_HEIGHT = 50, LEFT = 9, TOP = 6 };
    drawing_job work = new_drawing_job(device);
    uint8_t *large = not_written(LARGE_WIDTH * LARGE_HEIGHT), *written = not_written(LARGE_WIDTH * LARGE_HEIGHT);
    GOOD(draw(&work));
    for (size_t y = 0; y < HEIGHT; y++) {
        memcpy(large + (TOP + y) * LARGE_WIDTH + LEFT, work.pixels + y * WIDTH, WIDTH);
    }
    isoline_image input = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, large + TOP * LARGE_WIDTH + LEFT);
    isoline_image edges = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, written + TOP * LARGE_WIDTH + LEFT);
    isoline_segments *segments = NULL;
    input.row_stride = edges.row_stride = LARGE_WIDTH;
    GOOD(isoline_edge_drawing(work.context, &input, &work.params, NULL, &edges, &segments, NULL));
    CHECK(same_segments(segments, work.segments));
    size_t wrong = 0;
    for (size_t y = 0; y < LARGE_HEIGHT; y++) {
        for (size_t x = 0; x < LARGE_WIDTH; x++) {
            const int inside = x >= LEFT && x < LEFT + WIDTH && y >= TOP && y < TOP + HEIGHT;
            const uint8_t wanted = inside ? work.map[(y - TOP) * WIDTH + x - LEFT] : (uint8_t)NOT_WRITTEN;
            wrong += written[y * LARGE_WIDTH + x] != wanted;
        }
    }
    CHECK_NUMBER(wrong, 0);
    isoline_segments_free(segments);
    free(written);
    free(large);
    end_drawing_job(&work);
}

static void the_reference_profile_draws_its_segments(const char *device) {
    enum { W = 150, H = 110, N = W * H };
    isoline_context *context = open_context(device);
    uint8_t *pixels = drawing(W, H, 1, 31), *map = not_written(N);
    for (uint32_t weights = ISOLINE_GRADIENT_SOBEL; weights <= ISOLINE_GRADIENT_SCHARR; weights++) {
        isoline_edge_drawing_params params = edge_defaults();
        params.profile = ISOLINE_EDGE_DRAWING_REFERENCE;
        params.gradient_operator = weights;
        isoline_segments *segments = segments_of(context, pixels, W, H, 1, &params, map);
        check_segments(segments, map, W, H, 1, 0);
        isoline_segment_arrays all = all_of(segments);
        CHECK(all.count > 10);
        /* The outermost pixels are no edges, and no segment is shorter than the minimum. */
        size_t on_border = 0;
        for (size_t i = 0; i < N; i++) {
            on_border += map[i] && (i % W == 0 || i % W == W - 1 || i / W == 0 || i / W == H - 1);
        }
        CHECK_NUMBER(on_border, 0);
        isoline_segments_free(segments);
    }
    free(map);
    free(pixels);
    isoline_context_free(context);
}

static void validation_drops_what_chance_makes(const char *device) {
    enum { W = 150, H = 110, N = W * H };
    isoline_context *context = open_context(device);
    uint8_t *noise = (uint8_t *)allocate(N), *map = not_written(N), *every = not_written(N);
    uint32_t random = 7;
    for (uint32_t profile = ISOLINE_EDGE_DRAWING_PAPER; profile <= ISOLINE_EDGE_DRAWING_REFERENCE; profile++) {
        isoline_edge_drawing_params params = edge_defaults();
        CHECK_NUMBER(params.validation, ISOLINE_EDGE_DRAWING_NO_VALIDATION);
        params.profile = profile;
        params.gradient_threshold = 15;
        /* A bright square in noise: its sides pass, and nothing in the noise does. */
        for (size_t i = 0; i < N; i++) {
            random = random * 1664525 + 1013904223;
            const size_t x = i % W, y = i / W;
            noise[i] = (uint8_t)((random >> 27) + (x > 40 && x < 100 && y > 30 && y < 90 ? 120 : 40));
        }
        isoline_segments *all = segments_of(context, noise, W, H, 1, &params, every);
        params.validation = ISOLINE_EDGE_DRAWING_FALSE_ALARMS;
        isoline_segments *valid = segments_of(context, noise, W, H, 1, &params, map);
        isoline_segment_arrays found = all_of(valid);
        CHECK(found.count > 0 && found.count < isoline_segments_count(all) && found.point_count > 200);
        size_t off_sides = 0, off_map = 0, new_pixels = 0;
        for (uint64_t i = 0; i < found.point_count; i++) {
            const isoline_point p = found.points[i];
            const int beside_x = p.x + 2 >= 40 && p.x <= 102, beside_y = p.y + 2 >= 30 && p.y <= 92;
            const int inside = p.x >= 44 && p.x <= 97 && p.y >= 34 && p.y <= 87;
            off_sides += !beside_x || !beside_y || inside;
            off_map += map[p.y * W + p.x] != 255;
        }
        for (size_t i = 0; i < N; i++) {
            new_pixels += map[i] != 0 && every[i] == 0;
        }
        CHECK_NUMBER(off_sides + off_map + new_pixels, 0);
        isoline_segments_free(all);
        isoline_segments_free(valid);
    }
    free(every);
    free(map);
    free(noise);
    isoline_context_free(context);
}

static void the_minimum_length_drops_short_segments(const char *device) {
    drawing_job work = new_drawing_job(device);
    const uint32_t lengths[] = {0, 1, 2, 10, 25, COUNT, UINT32_MAX};
    work.params.min_length = 1;
    GOOD(draw(&work));
    isoline_segment_arrays every = all_of(work.segments);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t *map = not_written(COUNT);
        isoline_edge_drawing_params params = work.params;
        params.min_length = lengths[i];
        isoline_segments *segments = segments_of(work.context, work.pixels, WIDTH, HEIGHT, 1, &params, map);
        uint64_t wanted = 0;
        for (size_t s = 0; s < every.count; s++) {
            wanted += every.offsets[s + 1] - every.offsets[s] >= lengths[i];
        }
        CHECK_NUMBER(isoline_segments_count(segments), wanted);
        /* The map of the paper profile contains all edges. */
        CHECK_NUMBER(differing(map, work.map, COUNT), 0);
        isoline_segments_free(segments);
        free(map);
    }
    end_drawing_job(&work);
}

static void the_report_is_honest(const char *device) {
    enum { DEPTH = 3 };
    isoline_context *context = open_context(device);
    isoline_device entry;
    GOOD(isoline_device_init(&entry, sizeof entry));
    GOOD(isoline_context_device(context, &entry));
    uint8_t *pixels = drawing(256, 200, DEPTH, 17), *map = not_written(256 * 200 * DEPTH);
    isoline_image input = describe(ISOLINE_U8, 256, 200, DEPTH, pixels);
    isoline_image edges = describe(ISOLINE_U8, 256, 200, DEPTH, map);
    for (uint32_t profile = 0; profile < 2; profile++) {
        isoline_edge_drawing_params params = edge_defaults();
        isoline_segments *segments = NULL;
        isoline_report report;
        params.profile = profile;
        GOOD(isoline_report_init(&report, sizeof report));
        double started = seconds_now();
        GOOD(isoline_edge_drawing(context, &input, &params, NULL, &edges, &segments, &report));
        double seconds = seconds_now() - started;
        CHECK_NUMBER(report.device_kind, entry.kind);
        CHECK_NUMBER(report.device_index, entry.index);
        CHECK_TEXT(report.device_name, entry.name);
        CHECK_NUMBER(report.slices_done, DEPTH);
        CHECK_NUMBER(report.converged, 0);
        CHECK(isnan(report.residual));
        CHECK(report.seconds_total > 0 && report.seconds_total <= seconds);
        CHECK(report.seconds_compute > 0);
        CHECK((report.peak_device_bytes > 0) == (entry.kind == ISOLINE_DEVICE_CUDA));
        isoline_segments_free(segments);
    }
    free(map);
    free(pixels);
    isoline_context_free(context);
}

static void cuda_and_cpu_give_the_same_bits(const char *device) {
    enum { W = 333, H = 222, DEPTH = 3 };
    uint8_t *pixels = drawing(W, H, DEPTH, 13);
    isoline_context *here = open_context(device), *there = open_context("cpu");
    for (uint32_t profile = 0; profile < 2; profile++) {
        for (uint32_t kind = 0; kind < 4; kind++) {
            uint8_t *a = not_written(W * H * DEPTH), *b = not_written(W * H * DEPTH);
            isoline_edge_drawing_params params = edge_defaults();
            params.profile = profile;
            params.follow_turns = kind % 2;
            params.validation = kind / 2;
            isoline_segments *on_cuda = segments_of(here, pixels, W, H, DEPTH, &params, a);
            isoline_segments *on_cpu = segments_of(there, pixels, W, H, DEPTH, &params, b);
            CHECK_NUMBER(differing(a, b, W * H * DEPTH), 0);
            CHECK(same_segments(on_cuda, on_cpu));
            isoline_segments_free(on_cuda);
            isoline_segments_free(on_cpu);
            free(b);
            free(a);
        }
    }
    isoline_context_free(there);
    isoline_context_free(here);
    free(pixels);
}

int main(void) {
    RUN_ON_EACH(every_size_matches_the_definition);
    RUN_ON_EACH(every_parameter_does_what_the_header_says);
    RUN_ON_EACH(null_params_are_the_defaults);
    RUN_ON_EACH(the_automatic_threshold_follows_the_noise);
    RUN_ON_EACH(sigma_is_of_the_smoothing);
    RUN_ON_EACH(the_automatic_threshold_without_noise_follows_the_range);
    RUN_ON_EACH(a_range_scales_and_clips_floats);
    RUN_ON_EACH(map_and_segments_can_be_asked_for_alone);
    RUN_ON_EACH(each_map_can_be_asked_for_alone);
    RUN_ON_EACH(a_stack_is_its_slices);
    RUN_ON_EACH(crops_of_a_larger_image_are_read_and_written_in_place);
    RUN_ON_EACH(the_reference_profile_draws_its_segments);
    RUN_ON_EACH(validation_drops_what_chance_makes);
    RUN_ON_EACH(the_minimum_length_drops_short_segments);
    RUN_ON_EACH(the_report_is_honest);
    if (have_cuda()) {
        RUN_ON(cuda_and_cpu_give_the_same_bits, "cuda:0");
    }
    return summary();
}
