/* Region snakes: results, reports, and the state that they keep. */
#include "cells.h"

static const uint64_t TO_THE_END = UINT64_MAX;

static size_t wrong_labels(const snake_job *work, const isoline_polygons *polygons) {
    size_t wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        wrong += work->result[i] != label_at(polygons, i % WIDTH, i / WIDTH);
    }
    return wrong;
}

static void every_cell_is_outlined(const char *device) {
    snake_job work = new_snake_job(device);
    isoline_snake *snake = NULL;
    GOOD(isoline_snake_run(work.context, &work.input, &work.initial, &work.params, NULL, &work.labels, &snake,
                           &work.report));
    isoline_polygons found = borrowed_by(snake);
    CHECK_NUMBER(isoline_snake_count(snake), CELLS);
    CHECK_NUMBER(found.count, CELLS);
    CHECK_NUMBER(wrong_labels(&work, &found), 0);
    for (int c = 0; c < CELLS; c++) {
        int both = 0, any = 0;
        for (int i = 0; i < COUNT; i++) {
            const int in = work.result[i] == c + 1, truth = cell_holds(&THE_CELLS[c], i % WIDTH, i / WIDTH);
            both += in && truth;
            any += in || truth;
        }
        check_that(both >= 0.9 * any, __FILE__, __LINE__, "cell %d: overlap %d of %d", c, both, any);
        CHECK_NUMBER(statistics_of(snake, (size_t)c).status, ISOLINE_TARGET_CONVERGED);
    }
    CHECK(work.report.converged == 1 && work.report.slices_done == 1);
    CHECK(work.report.iterations >= 5 && work.report.iterations < work.params.max_iterations);
    CHECK(work.report.device_kind == (strcmp(device, "cpu") == 0 ? ISOLINE_DEVICE_CPU : ISOLINE_DEVICE_CUDA));
    CHECK(work.report.seconds_total > 0 && work.report.device_name[0] != '\0');
    isoline_snake_free(snake);
    end_snake_job(&work);
}

static void steps_add_up_to_the_one_call(const char *device) {
    snake_job work = new_snake_job(device);
    isoline_snake *at_once = NULL, *by_steps = snake_of(&work);
    GOOD(isoline_snake_run(work.context, &work.input, &work.initial, &work.params, NULL, NULL, &at_once, NULL));
    /* At the start the polygons are the initial ones. */
    isoline_polygons start = borrowed_by(by_steps), wanted = borrowed_by(at_once);
    CHECK(same_polygons(&start, &work.initial));
    CHECK_NUMBER(statistics_of(by_steps, 0).status, ISOLINE_TARGET_RUNNING);
    GOOD(isoline_snake_step(by_steps, 0, NULL, &work.report));
    CHECK(work.report.iterations == 0 && work.report.converged == 0);
    start = borrowed_by(by_steps);
    CHECK(same_polygons(&start, &work.initial));
    uint64_t steps = 0;
    do {
        GOOD(isoline_snake_step(by_steps, 3, NULL, &work.report));
        CHECK(work.report.iterations > steps && work.report.iterations <= steps + 3);
        steps = work.report.iterations;
    } while (!work.report.converged && checks_failed == 0);
    isoline_polygons got = borrowed_by(by_steps);
    CHECK(same_polygons(&got, &wanted));
    for (size_t c = 0; c < CELLS; c++) {
        isoline_target_statistics a = statistics_of(at_once, c), b = statistics_of(by_steps, c);
        CHECK(memcmp(&a, &b, sizeof a) == 0);
        CHECK(a.iterations <= steps);
    }
    /* All targets have ended. */
    GOOD(isoline_snake_step(by_steps, TO_THE_END, NULL, &work.report));
    CHECK(work.report.iterations == steps && work.report.converged == 1);
    isoline_snake_free(at_once);
    isoline_snake_free(by_steps);
    end_snake_job(&work);
}

static void polygons_are_borrowed_until_the_snake_goes_on(const char *device) {
    snake_job work = new_snake_job(device);
    isoline_snake *snake = snake_of(&work);
    GOOD(isoline_snake_step(snake, 6, NULL, NULL));
    isoline_polygons borrowed = borrowed_by(snake), again = borrowed_by(snake);
    CHECK(borrowed.nodes == again.nodes && borrowed.offsets == again.offsets);
    CHECK(borrowed.offsets[0] == 0 && borrowed.offsets[borrowed.count] == borrowed.node_count);
    for (size_t c = 0; c < CELLS; c++) {
        const isoline_node *nodes = NULL;
        size_t count = 0;
        GOOD(isoline_snake_polygon(snake, c, &nodes, &count));
        CHECK(nodes == borrowed.nodes + borrowed.offsets[c] && count == borrowed.offsets[c + 1] - borrowed.offsets[c]);
        CHECK_NUMBER(statistics_of(snake, c).nodes, count);
        int64_t twice = 0;
        for (size_t i = 0; i < count; i++) {
            const isoline_node a = nodes[i], b = nodes[(i + 1) % count];
            twice += (int64_t)a.x * b.y - (int64_t)a.y * b.x;
            CHECK(a.x >= 0 && a.x <= WIDTH && a.y >= 0 && a.y <= HEIGHT);
        }
        CHECK(count >= 3 && twice > 0); /* clockwise on the screen */
    }
    /* Calls that only read, or that fail, keep them. */
    GOOD(isoline_snake_draw_labels(snake, &work.labels));
    isoline_polygons none;
    GOOD(isoline_polygons_init(&none, sizeof none));
    none.count = 1;
    REFUSED(isoline_snake_restart(snake, &none, NULL), ISOLINE_NULL_POINTER, "initial->offsets");
    again = borrowed_by(snake);
    CHECK(borrowed.nodes == again.nodes && wrong_labels(&work, &borrowed) == 0);
    isoline_snake_free(snake);
    end_snake_job(&work);
}

/* A polygon round (x, y): corners in the order of their angles, at random distances. */
static size_t random_star(isoline_node *nodes, uint32_t *seed, int x, int y, int radius) {
    const size_t count = 3 + next_random(seed) % 10;
    for (size_t i = 0; i < count; i++) {
        const double angle = 6.283185307179586 * (double)i / (double)count;
        const double distance = 1 + next_random(seed) % (uint32_t)radius;
        nodes[i] = corner(x + (int)lround(distance * cos(angle)), y + (int)lround(distance * sin(angle)));
    }
    return count;
}

static void sums_are_exact(const char *device) {
    snake_job work = new_snake_job(device);
    const size_t rounds = scaled(500, 20);
    uint8_t *bytes = (uint8_t *)allocate(COUNT);
    float *real = (float *)allocate(COUNT * sizeof(float));
    for (int i = 0; i < COUNT; i++) {
        bytes[i] = (uint8_t)(work.pixels[i] / 5);
        /* Values of 16 bits to the full: no smaller sum may overflow. */
        work.pixels[i] = (uint16_t)(65535 - work.pixels[i]);
        real[i] = (float)work.pixels[i] / 4 - 3;
    }
    for (uint32_t type = ISOLINE_U8; type <= ISOLINE_F32; type++) {
        void *const data[] = {bytes, work.pixels, real};
        work.input.type = type;
        work.input.data = data[type];
        work.params.range_min = type == ISOLINE_F32 ? -3 : ISOLINE_AUTOMATIC;
        work.params.range_max = type == ISOLINE_F32 ? 65535.0 / 4 - 3 : ISOLINE_AUTOMATIC;
        isoline_snake *snake = snake_of(&work);
        uint32_t seed = 5 + type;
        size_t simple = 0, wrong = 0;
        for (size_t round = 0; round < rounds; round++) {
            isoline_node nodes[16];
            /* Some polygons extend beyond the image, some are outside. */
            const int x = (int)(next_random(&seed) % (2 * WIDTH)) - WIDTH / 2;
            const int y = (int)(next_random(&seed) % (2 * HEIGHT)) - HEIGHT / 2;
            const size_t count = random_star(nodes, &seed, x, y, 50);
            const uint64_t offsets[] = {0, count};
            const isoline_polygons one = polygons_of(nodes, offsets, 1);
            isoline_region_sum sum;
            if (isoline_snake_region_sums(snake, &one, &sum) != ISOLINE_OK) {
                CHECK_HAS(isoline_last_error(), "polygon 0");
                continue;
            }
            simple++;
            uint64_t pixels = 0, z = 0, zz = 0;
            for (int i = 0; i < COUNT; i++) {
                if (polygon_holds(nodes, count, i % WIDTH, i / WIDTH)) {
                    const uint64_t level = type == ISOLINE_U8 ? bytes[i] : work.pixels[i];
                    pixels++;
                    z += level;
                    zz += level * level;
                }
            }
            wrong += sum.pixels != pixels || sum.sum != z || sum.sum_of_squares != zz;
            const double unit = type == ISOLINE_F32 ? 0.25 : 1, origin = type == ISOLINE_F32 ? -3 : 0;
            const double mean = (double)z / (double)pixels;
            const double variance = (double)zz / (double)pixels - mean * mean;
            if (pixels == 0) {
                wrong += !isnan(sum.mean) || !isnan(sum.deviation);
            } else {
                wrong += !(fabs(sum.mean - (origin + unit * mean)) < 1e-6);
                wrong += !(fabs(sum.deviation * sum.deviation - unit * unit * variance) < 1e-2);
            }
        }
        CHECK_NUMBER(wrong, 0);
        CHECK(simple > rounds / 2);
        /* Several at once, and the whole image. */
        const isoline_node corners[] = {{0, 0}, {WIDTH, 0}, {WIDTH, HEIGHT}, {0, HEIGHT}, {-9, -9}, {-1, -9}, {-5, -1}};
        const uint64_t offsets[] = {0, 4, 7};
        const isoline_polygons both = polygons_of(corners, offsets, 2);
        isoline_region_sum sums[3];
        memset(sums, 0xA5, sizeof sums);
        const isoline_region_sum before = sums[2];
        GOOD(isoline_snake_region_sums(snake, &both, sums));
        CHECK(sums[0].pixels == COUNT && sums[1].pixels == 0 && memcmp(&sums[2], &before, sizeof before) == 0);
        isoline_snake_free(snake);
    }
    free(real);
    free(bytes);
    end_snake_job(&work);
}

/* Mean and variance of the pixels with a label, or without. */
static void moments(const snake_job *work, int label, int inside, double *count, double *mean, double *variance) {
    double z = 0, zz = 0;
    *count = 0;
    for (int i = 0; i < COUNT; i++) {
        if ((work->result[i] == label) == inside) {
            *count += 1;
            z += work->pixels[i];
            zz += (double)work->pixels[i] * work->pixels[i];
        }
    }
    *mean = z / *count;
    *variance = zz / *count - *mean * *mean;
}

static void statistics_tell_of_each_target(const char *device) {
    snake_job work = new_snake_job(device);
    isoline_target_statistics all[CELLS + 2], before[CELLS + 2];
    size_t written = 99;
    isoline_snake *snake = snake_of(&work);
    GOOD(isoline_snake_step(snake, TO_THE_END, NULL, NULL));
    GOOD(isoline_snake_draw_labels(snake, &work.labels));
    memset(all, 0xA5, sizeof all);
    memcpy(before, all, sizeof before);
    GOOD(isoline_snake_statistics(snake, 0, CELLS + 2, all, &written));
    CHECK_NUMBER(written, CELLS);
    CHECK(memcmp(all + CELLS, before + CELLS, 2 * sizeof all[0]) == 0);
    for (int c = 0; c < CELLS; c++) {
        double count, mean, variance;
        moments(&work, c + 1, 1, &count, &mean, &variance);
        CHECK_NUMBER(all[c].pixels, count);
        CHECK(fabs(all[c].mean - mean) < 1e-9 * mean && fabs(all[c].deviation - sqrt(variance)) < 1e-6);
        CHECK(fabs(all[c].mean - THE_CELLS[c].level) < 30 && fabs(all[c].background_mean - GROUND) < 40);
        /* In a window there is less background than in the image. */
        CHECK(all[c].background_pixels > 0 && all[c].pixels + all[c].background_pixels < COUNT);
        CHECK(all[c].flags == 0 && all[c].nodes >= 3 && all[c].iterations >= 1);
    }
    GOOD(isoline_snake_statistics(snake, 1, 1, all, &written));
    CHECK(written == 1);
    GOOD(isoline_snake_statistics(snake, CELLS, 5, all, &written));
    CHECK_NUMBER(written, 0);
    GOOD(isoline_snake_statistics(snake, SIZE_MAX, 5, all, &written));
    CHECK_NUMBER(written, 0);
    GOOD(isoline_snake_statistics(snake, 0, 0, NULL, &written));
    CHECK_NUMBER(written, 0);
    /* Against the whole image, with the criterion: half the sum of the counts times the logarithms of the variances. */
    work.params.background = ISOLINE_SNAKE_BACKGROUND_IMAGE;
    GOOD(isoline_snake_restart(snake, &work.initial, &work.params));
    GOOD(isoline_snake_step(snake, TO_THE_END, NULL, NULL));
    for (int c = 0; c < CELLS; c++) {
        const isoline_node *nodes;
        size_t count;
        double n[2], mean[2], variance[2];
        GOOD(isoline_snake_polygon(snake, (size_t)c, &nodes, &count));
        for (int i = 0; i < COUNT; i++) {
            work.result[i] = (uint16_t)polygon_holds(nodes, count, i % WIDTH, i / WIDTH);
        }
        for (int in = 0; in < 2; in++) {
            moments(&work, 1, in, &n[in], &mean[in], &variance[in]);
        }
        const isoline_target_statistics one = statistics_of(snake, (size_t)c);
        const double criterion = 0.5 * (n[0] * log(variance[0]) + n[1] * log(variance[1]));
        CHECK(one.pixels == n[1] && one.background_pixels == n[0]);
        CHECK(fabs(one.background_mean - mean[0]) < 1e-6);
        CHECK(fabs(one.background_deviation - sqrt(variance[0])) < 1e-6);
        CHECK(fabs(one.criterion - criterion) < 1e-9 * criterion);
    }
    isoline_snake_free(snake);
    end_snake_job(&work);
}

static void labels_and_mask_are_the_polygons(const char *device) {
    enum { ROW = 150, ALL = ROW * HEIGHT };
    snake_job work = new_snake_job(device);
    /* The second one overlaps the first. */
    for (int i = 0; i < CORNERS; i++) {
        work.room->nodes[CORNERS + i] = corner(work.room->nodes[i].x + 4, work.room->nodes[i].y + 3);
    }
    isoline_snake *snake = snake_of(&work);
    uint8_t *mask = (uint8_t *)allocate(ALL);
    uint16_t *labels = (uint16_t *)allocate(ALL * sizeof(uint16_t));
    float *real = unwritten(ALL);
    memset(mask, NOT_WRITTEN, ALL);
    for (int i = 0; i < ALL; i++) {
        labels[i] = NOT_WRITTEN;
    }
    for (uint64_t step = 0; step < 8; step += 7) {
        GOOD(isoline_snake_step(snake, step, NULL, NULL));
        isoline_image image = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, mask);
        image.row_stride = ROW;
        GOOD(isoline_snake_draw_mask(snake, &image));
        image = describe(ISOLINE_U16, WIDTH, HEIGHT, 1, labels);
        image.row_stride = ROW * sizeof(uint16_t);
        GOOD(isoline_snake_draw_labels(snake, &image));
        image = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, real);
        image.row_stride = ROW * sizeof(float);
        GOOD(isoline_snake_draw_labels(snake, &image));
        const isoline_polygons found = borrowed_by(snake);
        size_t wrong = 0;
        for (int i = 0; i < ALL; i++) {
            const int in = i % ROW < WIDTH;
            const uint32_t label = in ? label_at(&found, i % ROW, i / ROW) : (uint32_t)NOT_WRITTEN;
            wrong += labels[i] != label || mask[i] != (!in ? (uint8_t)NOT_WRITTEN : label > 0 ? 255 : 0);
            wrong += real[i] != (in ? (float)label : UNWRITTEN);
        }
        CHECK_NUMBER(wrong, 0);
    }
    free(real);
    free(labels);
    free(mask);
    isoline_snake_free(snake);
    end_snake_job(&work);
}

static void flags_tell_of_neighbours_and_borders(const char *device) {
    snake_job work = new_snake_job(device);
    enum { SIDE = 20, COUNTED = 4 };
    /* At the border of the image, alone, and two with pixels in common. */
    const int left[COUNTED] = {0, 3 * SIDE, SIDE, SIDE + SIDE / 2}, top[COUNTED] = {SIDE, SIDE, 3 * SIDE, 3 * SIDE};
    const uint32_t wanted[COUNTED] = {ISOLINE_TARGET_TOUCHES_IMAGE, 0, ISOLINE_TARGET_OVERLAPS, ISOLINE_TARGET_OVERLAPS};
    isoline_node nodes[COUNTED * CORNERS];
    uint64_t offsets[COUNTED + 1] = {0};
    for (int target = 0; target < COUNTED; target++) {
        isoline_node *at = nodes + CORNERS * target;
        for (int i = 0; i < CORNERS; i++) {
            at[i] = corner(left[target] + (i == 1 || i == 2 ? SIDE : 0), top[target] + (i >= 2 ? SIDE : 0));
        }
        offsets[target + 1] = (uint64_t)CORNERS * (uint64_t)(target + 1);
    }
    work.initial = polygons_of(nodes, offsets, COUNTED);
    isoline_snake *snake = snake_of(&work);
    for (size_t target = 0; target < COUNTED; target++) {
        CHECK_NUMBER(statistics_of(snake, target).flags, wanted[target]);
    }
    isoline_snake_free(snake);

    /* A ground that rises steadily has no end within the window. */
    for (int i = 0; i < COUNT; i++) {
        work.pixels[i] = (uint16_t)((i % WIDTH) * (i % WIDTH) + i / WIDTH);
    }
    work.initial = polygons_of(nodes + CORNERS, offsets, 1);
    work.params.margin = 0.5;
    snake = snake_of(&work);
    CHECK_NUMBER(statistics_of(snake, 0).flags, 0);
    GOOD(isoline_snake_step(snake, TO_THE_END, NULL, NULL));
    CHECK_NUMBER(statistics_of(snake, 0).flags, ISOLINE_TARGET_TOUCHES_WINDOW);
    isoline_snake_free(snake);
    end_snake_job(&work);
}

static void the_default_start_and_the_default_parameters(const char *device) {
    snake_job work = new_snake_job(device);
    isoline_snake *by_null = NULL, *by_init = NULL;
    const int w = WIDTH / 4, h = HEIGHT / 4;
    const isoline_node nodes[] = {{w, h}, {WIDTH - w, h}, {WIDTH - w, HEIGHT - h}, {w, HEIGHT - h}};
    const uint64_t offsets[] = {0, 4};
    const isoline_polygons middle = polygons_of(nodes, offsets, 1);
    work.params = snake_defaults();
    /* The automatic step of the default rectangle, whose size it does not depend on. */
    work.params.largest_step = 32;
    GOOD(isoline_snake_new(work.context, &work.input, NULL, NULL, &by_null));
    GOOD(isoline_snake_new(work.context, &work.input, &middle, &work.params, &by_init));
    CHECK_NUMBER(isoline_snake_count(by_null), 1);
    for (uint64_t step = 0; step < 12; step += 11) {
        GOOD(isoline_snake_step(by_null, step, NULL, NULL));
        GOOD(isoline_snake_step(by_init, step, NULL, NULL));
        isoline_polygons a = borrowed_by(by_null), b = borrowed_by(by_init);
        CHECK(same_polygons(&a, &b) && (step > 0 || same_polygons(&a, &middle)));
    }
    isoline_snake_free(by_null);
    isoline_snake_free(by_init);
    end_snake_job(&work);
}

/* Both directions, from each of the nodes on. */
static void a_start_gives_one_result_however_it_is_written(const char *device) {
    enum { NODES = CORNERS };
    snake_job work = new_snake_job(device);
    isoline_snake *first = NULL;
    for (int writing = 0; writing < 2 * NODES; writing++) {
        work.initial = squares_in(work.room, writing < NODES);
        for (size_t i = 0; i < work.initial.node_count; i += NODES) {
            for (int turn = 0; turn < writing % NODES; turn++) {
                const isoline_node moved = work.room->nodes[i];
                memmove(work.room->nodes + i, work.room->nodes + i + 1, (NODES - 1) * sizeof moved);
                work.room->nodes[i + NODES - 1] = moved;
            }
        }
        isoline_snake *snake = snake_of(&work);
        GOOD(isoline_snake_step(snake, TO_THE_END, NULL, NULL));
        if (first == NULL) {
            first = snake;
            continue;
        }
        const isoline_polygons got = borrowed_by(snake), wanted = borrowed_by(first);
        CHECK(same_polygons(&got, &wanted));
        isoline_snake_free(snake);
    }
    isoline_snake_free(first);
    end_snake_job(&work);
}

static void every_pixel_type_gives_the_same(const char *device) {
    snake_job work = new_snake_job(device);
    isoline_snake *by_words = snake_of(&work);
    GOOD(isoline_snake_step(by_words, TO_THE_END, NULL, NULL));
    const isoline_polygons wanted = borrowed_by(by_words);
    float *real = (float *)allocate(COUNT * sizeof(float));
    for (int scaled_down = 0; scaled_down < 2; scaled_down++) {
        /* Steps of 1, so that no value is rounded; then the same in other units. */
        const double unit = scaled_down ? 1.0 / 1024 : 1, origin = scaled_down ? -3 : 0;
        for (int i = 0; i < COUNT; i++) {
            real[i] = (float)(work.pixels[i] * unit + origin);
        }
        work.input = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, real);
        work.params.range_min = origin;
        work.params.range_max = origin + 65535 * unit;
        isoline_snake *by_floats = snake_of(&work);
        GOOD(isoline_snake_step(by_floats, TO_THE_END, NULL, NULL));
        const isoline_polygons got = borrowed_by(by_floats);
        CHECK(same_polygons(&got, &wanted));
        const isoline_target_statistics a = statistics_of(by_words, 1), b = statistics_of(by_floats, 1);
        CHECK(fabs(b.mean - (origin + unit * a.mean)) < 1e-9 && fabs(b.deviation - unit * a.deviation) < 1e-9);
        isoline_snake_free(by_floats);
    }
    /* The automatic range has finer steps; NaN and infinity are no obstacle. */
    work.params.range_min = work.params.range_max = ISOLINE_AUTOMATIC;
    real[0] = NAN;
    real[1] = INFINITY;
    real[2] = -INFINITY;
    isoline_snake *by_floats = snake_of(&work);
    GOOD(isoline_snake_step(by_floats, TO_THE_END, NULL, NULL));
    const isoline_target_statistics a = statistics_of(by_words, 1), b = statistics_of(by_floats, 1);
    CHECK(b.status == ISOLINE_TARGET_CONVERGED && fabs(b.mean - (a.mean / 1024 - 3)) < 0.02);
    isoline_snake_free(by_floats);
    /* Bernoulli: above 0 or not, for every type. */
    uint8_t *bytes = (uint8_t *)allocate(COUNT);
    for (int i = 0; i < COUNT; i++) {
        bytes[i] = work.pixels[i] > 600 ? 200 : 0;
        work.pixels[i] = bytes[i] > 0 ? 40000 : 0;
        real[i] = bytes[i] > 0 ? 1e-30f : -1.0f;
    }
    work.params.noise = ISOLINE_SNAKE_NOISE_BERNOULLI;
    isoline_snake *binary[3];
    void *const data[] = {bytes, work.pixels, real};
    for (uint32_t type = ISOLINE_U8; type <= ISOLINE_F32; type++) {
        work.input = describe(type, WIDTH, HEIGHT, 1, data[type]);
        binary[type] = snake_of(&work);
        GOOD(isoline_snake_step(binary[type], TO_THE_END, NULL, NULL));
        const isoline_polygons first = borrowed_by(binary[0]), same = borrowed_by(binary[type]);
        CHECK(same_polygons(&first, &same));
        CHECK(statistics_of(binary[type], 0).mean > 0.9 && statistics_of(binary[type], 0).background_mean < 0.3);
    }
    for (int type = 0; type < 3; type++) {
        isoline_snake_free(binary[type]);
    }
    free(bytes);
    free(real);
    isoline_snake_free(by_words);
    end_snake_job(&work);
}

static void a_restart_is_a_new_snake_without_its_image(const char *device) {
    snake_job work = new_snake_job(device);
    const isoline_polygons squares_in_cells = work.initial;
    isoline_snake *fresh[3];
    for (int i = 0; i < 3; i++) {
        work.params.noise = i == 1 ? ISOLINE_SNAKE_NOISE_POISSON : ISOLINE_SNAKE_NOISE_GAUSSIAN;
        work.params.node_cost = i == 1 ? 0.5 : 0;
        work.initial.count = i == 2 ? 1 : CELLS;
        work.initial.node_count = work.initial.offsets[work.initial.count];
        fresh[i] = snake_of(&work);
        GOOD(isoline_snake_step(fresh[i], TO_THE_END, NULL, NULL));
    }
    work.initial = squares_in_cells;
    isoline_snake *snake = snake_of(&work);
    /* The snake has its own copy of the image. */
    memset(work.pixels, 0, COUNT * sizeof(uint16_t));
    for (int i = 0; i < 3; i++) {
        work.params.noise = i == 1 ? ISOLINE_SNAKE_NOISE_POISSON : ISOLINE_SNAKE_NOISE_GAUSSIAN;
        work.params.node_cost = i == 1 ? 0.5 : 0;
        work.initial.count = i == 2 ? 1 : CELLS;
        work.initial.node_count = work.initial.offsets[work.initial.count];
        GOOD(isoline_snake_restart(snake, &work.initial, &work.params));
        CHECK_NUMBER(isoline_snake_count(snake), i == 2 ? 1 : CELLS);
        CHECK_NUMBER(statistics_of(snake, 0).iterations, 0);
        GOOD(isoline_snake_step(snake, TO_THE_END, NULL, NULL));
        const isoline_polygons got = borrowed_by(snake), wanted = borrowed_by(fresh[i]);
        CHECK(same_polygons(&got, &wanted));
        isoline_snake_free(fresh[i]);
    }
    /* From its own polygons, which the restart ends: the same rings, of which another node may be the first. */
    const uint64_t nodes = statistics_of(snake, 0).nodes, pixels = statistics_of(snake, 0).pixels;
    const isoline_polygons borrowed = borrowed_by(snake);
    GOOD(isoline_snake_restart(snake, &borrowed, &work.params));
    CHECK_NUMBER(statistics_of(snake, 0).nodes, nodes);
    CHECK_NUMBER(statistics_of(snake, 0).pixels, pixels);
    copied start = copy_of(snake);
    const isoline_polygons again = borrowed_by(snake);
    GOOD(isoline_snake_restart(snake, &again, &work.params));
    const isoline_polygons same = borrowed_by(snake);
    CHECK(same_polygons(&same, &start.polygons));
    /* NULL: the default rectangle and parameters. */
    GOOD(isoline_snake_restart(snake, NULL, NULL));
    CHECK_NUMBER(isoline_snake_count(snake), 1);
    /* A restart that fails changes nothing. */
    const isoline_polygons whole = borrowed_by(snake);
    isoline_snake_params binary = snake_defaults();
    binary.noise = ISOLINE_SNAKE_NOISE_BERNOULLI;
    REFUSED(isoline_snake_restart(snake, &work.initial, &binary), ISOLINE_INVALID_ARGUMENT, "bernoulli");
    work.room->nodes[1] = work.room->nodes[2];
    work.room->nodes[2] = corner(work.room->nodes[0].x + 10, work.room->nodes[0].y);
    REFUSED(isoline_snake_restart(snake, &work.initial, NULL), ISOLINE_INVALID_ARGUMENT, "crosses itself");
    const isoline_polygons still = borrowed_by(snake);
    CHECK(still.nodes == whole.nodes && isoline_snake_count(snake) == 1);
    free(start.memory);
    isoline_snake_free(snake);
    end_snake_job(&work);
}

static void coarse_levels_come_first(const char *device) {
    snake_job work = new_snake_job(device);
    work.params.pyramid_levels = 2;
    isoline_snake *snake = snake_of(&work);
    uint64_t before[CELLS];
    for (int i = 0; i < CELLS; i++) {
        before[i] = statistics_of(snake, i).pixels;
    }
    /* One iteration on the image cannot come so far. */
    GOOD(isoline_snake_step(snake, 1, NULL, NULL));
    for (int i = 0; i < CELLS; i++) {
        const isoline_target_statistics found = statistics_of(snake, i);
        CHECK(found.iterations == 1 && found.pixels > 3 * before[i]);
    }
    GOOD(isoline_snake_step(snake, TO_THE_END, NULL, NULL));
    const copied wanted = copy_of(snake);
    /* A restart begins on the coarse level again, and may leave it out, but there is no coarser one. */
    GOOD(isoline_snake_restart(snake, &work.initial, &work.params));
    GOOD(isoline_snake_step(snake, TO_THE_END, NULL, NULL));
    isoline_polygons again = borrowed_by(snake);
    CHECK(same_polygons(&again, &wanted.polygons));
    GOOD(isoline_snake_restart(snake, &work.initial, NULL));
    work.params.pyramid_levels = 3;
    REFUSED(isoline_snake_restart(snake, &work.initial, &work.params), ISOLINE_INVALID_ARGUMENT, "pyramid_levels 3");
    free(wanted.memory);
    isoline_snake_free(snake);
    end_snake_job(&work);
}

static void every_end_is_told(const char *device) {
    snake_job work = new_snake_job(device);
    /* Outside the image; without a pixel; one that converges. */
    const isoline_node nodes[] = {{200, 10}, {240, 10}, {240, 40}, {3, 3}, {4, 3}, {3, 4},
                                  {25, 23},  {35, 23},  {35, 33},  {25, 33}};
    const uint64_t offsets[] = {0, 3, 6, 10};
    work.initial = polygons_of(nodes, offsets, 3);
    isoline_snake *snake = snake_of(&work);
    GOOD(isoline_snake_step(snake, TO_THE_END, NULL, &work.report));
    CHECK_NUMBER(work.report.converged, 1);
    const isoline_target_statistics left = statistics_of(snake, 0), gone = statistics_of(snake, 1);
    CHECK_NUMBER(left.status, ISOLINE_TARGET_LEFT_IMAGE);
    CHECK(left.pixels == 0 && isnan(left.mean) && isnan(left.deviation) && left.iterations == 0);
    const isoline_polygons found = borrowed_by(snake);
    CHECK(found.offsets[1] == 3 && memcmp(found.nodes, nodes, 3 * sizeof nodes[0]) == 0);
    CHECK_NUMBER(gone.status, ISOLINE_TARGET_VANISHED);
    CHECK(gone.pixels == 0 && isnan(gone.mean));
    CHECK_NUMBER(statistics_of(snake, 2).status, ISOLINE_TARGET_CONVERGED);
    work.params.max_iterations = 2;
    GOOD(isoline_snake_restart(snake, &work.initial, &work.params));
    GOOD(isoline_snake_step(snake, TO_THE_END, NULL, &work.report));
    CHECK_NUMBER(statistics_of(snake, 2).status, ISOLINE_TARGET_ITERATION_LIMIT);
    CHECK(work.report.iterations == 2 && work.report.converged == 1);
    isoline_snake_free(snake);
    end_snake_job(&work);
}

static void no_polygons_are_a_snake_without_targets(const char *device) {
    snake_job work = new_snake_job(device);
    const uint64_t nothing[] = {0};
    isoline_snake *snake = NULL;
    for (int with_offsets = 0; with_offsets < 2; with_offsets++) {
        GOOD(isoline_polygons_init(&work.initial, sizeof work.initial));
        work.initial.offsets = with_offsets ? nothing : NULL;
        GOOD(isoline_snake_run(work.context, &work.input, &work.initial, &work.params, NULL, &work.labels, &snake,
                               &work.report));
        CHECK(isoline_snake_count(snake) == 0 && work.report.converged == 1);
        const isoline_polygons found = borrowed_by(snake);
        CHECK(found.count == 0 && found.nodes == NULL && found.offsets != NULL && found.offsets[0] == 0);
        CHECK_NUMBER(wrong_labels(&work, &found), 0);
        GOOD(isoline_snake_region_sums(snake, &work.initial, NULL));
        /* A restart with targets works too. */
        work.initial = squares_in(work.room, 1);
        GOOD(isoline_snake_restart(snake, &work.initial, &work.params));
        GOOD(isoline_snake_step(snake, TO_THE_END, NULL, NULL));
        CHECK_NUMBER(statistics_of(snake, CELLS - 1).status, ISOLINE_TARGET_CONVERGED);
        isoline_snake_free(snake);
    }
    end_snake_job(&work);
}

static void sequential_schedule_runs_on_the_cpu_only(const char *device) {
    snake_job work = new_snake_job(device);
    isoline_snake *snake = NULL;
    work.params.schedule = ISOLINE_SNAKE_SEQUENTIAL;
    if (strcmp(device, "cpu") != 0) {
        REFUSED(isoline_snake_new(work.context, &work.input, &work.initial, &work.params, &snake), ISOLINE_UNSUPPORTED,
                "sequential");
        CHECK(snake == NULL);
        isoline_context_free(work.context);
        work.context = open_context("auto");
    }
    snake = snake_of(&work);
    GOOD(isoline_snake_step(snake, TO_THE_END, NULL, &work.report));
    CHECK_NUMBER(work.report.device_kind, ISOLINE_DEVICE_CPU);
    for (size_t c = 0; c < CELLS; c++) {
        const isoline_target_statistics one = statistics_of(snake, c);
        CHECK(one.status == ISOLINE_TARGET_CONVERGED && fabs(one.mean - THE_CELLS[c].level) < 30);
    }
    isoline_snake_free(snake);
    end_snake_job(&work);
}

static void nothing_of_the_callers_is_needed_afterwards(const char *device) {
    snake_job work = new_snake_job(device);
    isoline_snake *alone = snake_of(&work), *snake = snake_of(&work);
    GOOD(isoline_snake_step(alone, TO_THE_END, NULL, NULL));
    copied wanted = copy_of(alone);
    isoline_snake_free(alone);
    /* Image, polygons, parameters and the context itself are gone; the device stays until the snake is freed. */
    memset(work.pixels, 0, COUNT * sizeof(uint16_t));
    memset(work.room, 0, sizeof *work.room);
    memset(&work.params, 0, sizeof work.params);
    end_snake_job(&work);
    GOOD(isoline_snake_step(snake, TO_THE_END, NULL, NULL));
    const isoline_polygons got = borrowed_by(snake);
    CHECK(same_polygons(&got, &wanted.polygons));
    free(wanted.memory);
    isoline_snake_free(snake);
    isoline_snake_free(NULL);
    CHECK_NUMBER(isoline_snake_count(NULL), 0);
}

static void cuda_and_cpu_agree(const char *device) {
    snake_job here = new_snake_job("cpu"), there = new_snake_job(device);
    for (uint32_t noise = ISOLINE_SNAKE_NOISE_GAUSSIAN; noise <= ISOLINE_SNAKE_NOISE_RAYLEIGH; noise++) {
        here.params.noise = there.params.noise = noise;
        isoline_snake *a = snake_of(&here), *b = snake_of(&there);
        GOOD(isoline_snake_step(a, TO_THE_END, NULL, NULL));
        GOOD(isoline_snake_step(b, TO_THE_END, NULL, NULL));
        const isoline_polygons found = borrowed_by(a), theirs = borrowed_by(b);
        CHECK(same_polygons(&found, &theirs));
        isoline_target_statistics ours[CELLS], told[CELLS];
        isoline_region_sum sums[CELLS], same[CELLS];
        size_t written = 0;
        GOOD(isoline_snake_statistics(a, 0, CELLS, ours, &written));
        GOOD(isoline_snake_statistics(b, 0, CELLS, told, &written));
        GOOD(isoline_snake_region_sums(a, &found, sums));
        GOOD(isoline_snake_region_sums(b, &found, same));
        CHECK(memcmp(ours, told, sizeof ours) == 0 && memcmp(sums, same, sizeof sums) == 0);
        isoline_snake_free(a);
        isoline_snake_free(b);
    }
    end_snake_job(&there);
    end_snake_job(&here);
}

/* ---- smooth curves ------------------------------------------------------------------------------------------- */

static void smooth_curves_keep_length_and_area(const char *device) {
    (void)device; /* Curves are made without one. */
    /* An octagon of a circle's area, radius 1000, and a triangle. */
    const double around = 2 * acos(-1.0);
    isoline_node nodes[11];
    const uint64_t ends[3] = {0, 8, 11};
    const double radius = 1000 * sqrt(around / 8 / sin(around / 8));
    for (int i = 0; i < 8; i++) {
        nodes[i].x = (int32_t)lround(radius * cos(around * i / 8));
        nodes[i].y = (int32_t)lround(radius * sin(around * i / 8));
        nodes[8 + i % 3].x = i % 3 == 1 ? 9 : 0;
        nodes[8 + i % 3].y = i % 3 == 2 ? 9 : 0;
    }
    const isoline_polygons both = polygons_of(nodes, ends, 2);
    uint64_t offsets[3] = {7, 7, 7};
    GOOD(isoline_polygons_smooth(&both, 1e6, 8, 0, offsets, NULL));
    CHECK(offsets[0] == 0 && offsets[1] == 64 && offsets[2] == 88);
    isoline_curve_point points[89];
    points[88].x = -77;
    GOOD(isoline_polygons_smooth(&both, 1e6, 8, 88, offsets, points));
    CHECK_NUMBER(points[88].x, -77);
    double area = 0, length = 0;
    for (int i = 0; i < 64; i++) {
        const isoline_curve_point a = points[i], b = points[(i + 1) % 64];
        area += (a.x * b.y - a.y * b.x) / 2;
        length += hypot(b.x - a.x, b.y - a.y);
    }
    CHECK(fabs(area / (around / 2 * 1e6) - 1) < 0.005 && fabs(length / (around * 1e3) - 1) < 0.005);
    /* The automatic edge of a large polygon is 16 pixels, of a small one 6. */
    uint64_t automatic[3], given[3];
    GOOD(isoline_polygons_smooth(&both, ISOLINE_AUTOMATIC, 1, 0, automatic, NULL));
    GOOD(isoline_polygons_smooth(&both, 16, 1, 0, given, NULL));
    CHECK(automatic[1] == given[1] && automatic[1] > 300);
    GOOD(isoline_polygons_smooth(&both, 6, 1, 0, given, NULL));
    CHECK(automatic[2] - automatic[1] == given[2] - given[1]);
    /* No polygons have no points. */
    isoline_polygons none;
    GOOD(isoline_polygons_init(&none, sizeof none));
    GOOD(isoline_polygons_smooth(&none, 16, 8, 0, offsets, NULL));
    CHECK(offsets[0] == 0 && offsets[1] == 64);
    /* Misuse, which writes nothing. */
    isoline_polygons line = polygons_of(nodes, ends, 1);
    const uint64_t two[2] = {0, 2};
    line.offsets = two;
    line.node_count = 2;
    REFUSED(isoline_polygons_smooth(NULL, 16, 8, 0, offsets, NULL), ISOLINE_NULL_POINTER, "polygons");
    REFUSED(isoline_polygons_smooth(&both, 16, 8, 88, NULL, points), ISOLINE_NULL_POINTER, "offsets");
    REFUSED(isoline_polygons_smooth(&both, 16, 8, 88, offsets, NULL), ISOLINE_NULL_POINTER, "points");
    REFUSED(isoline_polygons_smooth(&both, 1e6, 8, 87, offsets, points), ISOLINE_INVALID_ARGUMENT, "capacity");
    /* A capacity that is too small is refused before the points are computed: here they would take gigabytes. */
    REFUSED(isoline_polygons_smooth(&both, 1e-2, 1024, 88, offsets, points), ISOLINE_INVALID_ARGUMENT, "capacity");
    /* More points than a call may make. */
    REFUSED(isoline_polygons_smooth(&both, 1e-300, 8, 0, offsets, NULL), ISOLINE_INVALID_SIZE, "longest_edge");
    REFUSED(isoline_polygons_smooth(&both, 0, 8, 88, offsets, points), ISOLINE_INVALID_ARGUMENT, "longest_edge");
    REFUSED(isoline_polygons_smooth(&both, NAN, 8, 88, offsets, points), ISOLINE_INVALID_ARGUMENT, "longest_edge");
    REFUSED(isoline_polygons_smooth(&both, 16, 0, 88, offsets, points), ISOLINE_INVALID_ARGUMENT, "points_per_edge");
    REFUSED(isoline_polygons_smooth(&both, 16, 1025, 88, offsets, points), ISOLINE_INVALID_ARGUMENT, "points_per_edge");
    REFUSED(isoline_polygons_smooth(&line, 16, 8, 88, offsets, points), ISOLINE_INVALID_ARGUMENT, "at least 3 nodes");
    CHECK(offsets[0] == 0 && offsets[1] == 64);
    CHECK_NUMBER(points[88].x, -77);
}

int main(void) {
    RUN(smooth_curves_keep_length_and_area);
    RUN_ON_EACH(every_cell_is_outlined);
    RUN_ON_EACH(steps_add_up_to_the_one_call);
    RUN_ON_EACH(polygons_are_borrowed_until_the_snake_goes_on);
    RUN_ON_EACH(sums_are_exact);
    RUN_ON_EACH(statistics_tell_of_each_target);
    RUN_ON_EACH(labels_and_mask_are_the_polygons);
    RUN_ON_EACH(flags_tell_of_neighbours_and_borders);
    RUN_ON_EACH(the_default_start_and_the_default_parameters);
    RUN_ON_EACH(a_start_gives_one_result_however_it_is_written);
    RUN_ON_EACH(every_pixel_type_gives_the_same);
    RUN_ON_EACH(a_restart_is_a_new_snake_without_its_image);
    RUN_ON_EACH(coarse_levels_come_first);
    RUN_ON_EACH(every_end_is_told);
    RUN_ON_EACH(no_polygons_are_a_snake_without_targets);
    RUN_ON_EACH(sequential_schedule_runs_on_the_cpu_only);
    RUN_ON_EACH(nothing_of_the_callers_is_needed_afterwards);
    if (have_cuda()) {
        RUN_ON(cuda_and_cpu_agree, "cuda:0");
    }
    return summary();
}
