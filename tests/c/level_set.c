/* Level sets: results, reports, and the state that they keep. */
#include "surfaces.h"

/* Returns the Dice coefficient of two masks: 1 where they are the same, 0 where they have no pixel in common. */
static double dice(const uint8_t *a, const uint8_t *b, size_t count) {
    size_t both = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        both += a[i] != 0 && b[i] != 0;
        all += (a[i] != 0) + (b[i] != 0);
    }
    return all == 0 ? 1 : 2.0 * (double)both / (double)all;
}

static void a_ball_is_found_from_a_seed_in_it(const char *device) {
    surface_job work = new_surface_job(device);
    uint8_t *ball = ball_of(&BALL, 255, 0), *by_steps = (uint8_t *)allocate(COUNT);
    GOOD(isoline_level_set_run(work.context, &work.input, &work.initial, &work.params, NULL, &work.mask, &work.report));
    CHECK(dice(work.result, ball, COUNT) >= 0.99);
    CHECK_NUMBER(work.report.converged, 1);
    CHECK_NUMBER(work.report.outcome, ISOLINE_LEVEL_SET_FRONT);
    CHECK(work.report.iterations >= 10 && work.report.iterations < work.params.iterations);
    /* The single call gives the result of new, step and read. */
    isoline_level_set *surface = surface_of(&work);
    isoline_report report = work.report;
    report.iterations = 0;
    GOOD(isoline_level_set_step(surface, work.params.iterations, NULL, &report));
    mask_of(surface, by_steps);
    CHECK(memcmp(by_steps, work.result, COUNT) == 0);
    CHECK_NUMBER(report.iterations, work.report.iterations);
    CHECK_NUMBER(report.converged, 1);
    CHECK_NUMBER(report.outcome, ISOLINE_LEVEL_SET_FRONT);
    const isoline_level_set_state ended = state_of(surface);
    CHECK_NUMBER(ended.outcome, ISOLINE_LEVEL_SET_FRONT);
    CHECK_NUMBER(ended.expected_iterations, ended.iterations);
    CHECK(ended.limit_share >= 0 && ended.limit_share <= 0.1);
    CHECK(report.device_kind == (strcmp(device, "cpu") == 0 ? ISOLINE_DEVICE_CPU : ISOLINE_DEVICE_CUDA));
    CHECK(report.seconds_total > 0 && report.device_name[0] != '\0');
    isoline_level_set_free(surface);
    free(by_steps);
    free(ball);
    end_surface_job(&work);
}

static void the_state_tells_every_parameter(const char *device) {
    surface_job work = new_surface_job(device);
    work.params.alpha = ISOLINE_AUTOMATIC;
    isoline_level_set *surface = surface_of(&work);
    isoline_level_set_state state = state_of(surface);
    const double alpha = 1 / (1 + work.params.epsilon);
    /* The limit is 1 / (|alpha D| sqrt(sum h^-2) + (1 - alpha) (sum h^-2 - 1)): curvature acts along the front, along two
     * of three axes. |D| is the largest in the dark ground, where it counts up to what curvature can hold against it. */
    const double most = fmax(work.params.epsilon, (1 - alpha) / alpha * sqrt(2.0 * 3) / 2);
    const double speed = alpha * fmin(fabs(work.params.epsilon - (BRIGHT - DARK)), most);
    const double limit = 1 / (speed * sqrt(3.0) + (1 - alpha) * 2);
    CHECK_NUMBER(state.target, BRIGHT);
    CHECK_NUMBER(state.epsilon, 30);
    CHECK(fabs(state.alpha - alpha) < 1e-12);
    CHECK(fabs(state.time_step_limit - limit) < 1e-6 * limit && fabs(state.time_step - 0.95 * limit) < 1e-6 * limit);
    CHECK(state.outcome == ISOLINE_LEVEL_SET_MOVING && isnan(state.limit_share) && state.expected_iterations > 0);
    CHECK(state.iterations == 0 && state.converged == 0 && state.side == ISOLINE_LEVEL_SET_WITHIN);
    CHECK(state.check_interval >= 10 && state.check_interval <= 1000);
    size_t inside = 0;
    for (size_t i = 0; i < COUNT; i++) {
        inside += work.start[i] != 0;
    }
    CHECK_NUMBER(state.inside, inside);
    CHECK(state.tiles >= 1 && state.active_tiles <= state.tiles);
    GOOD(isoline_level_set_step(surface, 7, NULL, NULL));
    CHECK_NUMBER(state_of(surface).iterations, 7);
    isoline_level_set_free(surface);
    /* Given parameters are returned. The automatic range of a bright object has its limit half way to the ground. */
    work.params.alpha = 0.25;
    work.params.time_step = 1e-3;
    work.params.check_interval = 33;
    work.params.epsilon = ISOLINE_AUTOMATIC;
    for (size_t i = 0; i < COUNT; i++) {
        work.pixels[i] = (uint8_t)(work.start[i] != 0 ? BRIGHT + (i % 2 ? 4 : -4) : DARK);
    }
    surface = surface_of(&work);
    state = state_of(surface);
    CHECK(fabs(state.target - BRIGHT) <= 4 && fabs(state.target - state.epsilon - (BRIGHT + DARK) / 2.0) <= 4);
    CHECK_NUMBER(state.side, ISOLINE_LEVEL_SET_ABOVE);
    CHECK_NUMBER(state.alpha, 0.25);
    CHECK(fabs(state.time_step - 1e-3) < 1e-9);
    CHECK_NUMBER(state.check_interval, 33);
    isoline_level_set_free(surface);
    end_surface_job(&work);
}

static void coarse_levels_come_first(const char *device) {
    surface_job work = new_surface_job(device);
    work.params.pyramid_levels = 2;
    uint8_t *ball = ball_of(&BALL, 255, 0), *by_steps = (uint8_t *)allocate(COUNT);
    GOOD(isoline_level_set_run(work.context, &work.input, &work.initial, &work.params, NULL, &work.mask, &work.report));
    CHECK(dice(work.result, ball, COUNT) >= 0.98);
    CHECK_NUMBER(work.report.outcome, ISOLINE_LEVEL_SET_FRONT);
    /* The first iteration needs the coarse level, which counts by itself. */
    isoline_level_set *surface = surface_of(&work);
    GOOD(isoline_level_set_step(surface, 0, NULL, NULL));
    CHECK_NUMBER(state_of(surface).coarse_iterations, 0);
    const uint64_t before = state_of(surface).inside;
    GOOD(isoline_level_set_step(surface, 1, NULL, NULL));
    isoline_level_set_state state = state_of(surface);
    CHECK(state.coarse_iterations > 10 && state.iterations == 1 && state.inside > 5 * before);
    GOOD(isoline_level_set_step(surface, work.params.iterations, NULL, NULL));
    mask_of(surface, by_steps);
    CHECK(memcmp(by_steps, work.result, COUNT) == 0);
    CHECK_NUMBER(state_of(surface).coarse_iterations, state.coarse_iterations);
    isoline_level_set_free(surface);
    free(by_steps);
    free(ball);
    end_surface_job(&work);
}

static void null_params_are_the_defaults(const char *device) {
    surface_job work = new_surface_job(device);
    isoline_level_set *by_null = NULL, *by_init;
    for (size_t i = 0; i < COUNT; i += 2) {
        work.pixels[i] = (uint8_t)(work.pixels[i] + 9);
    }
    work.params = surface_defaults();
    by_init = surface_of(&work);
    GOOD(isoline_level_set_new(work.context, &work.input, &work.initial, NULL, &by_null));
    isoline_level_set_state a = state_of(by_null), b = state_of(by_init);
    CHECK(memcmp(&a, &b, sizeof a) == 0 && a.epsilon > 0);
    GOOD(isoline_level_set_run(work.context, &work.input, &work.initial, NULL, NULL, &work.mask, NULL));
    CHECK(!holds_only(work.result, COUNT, NOT_WRITTEN));
    isoline_level_set_free(by_null);
    isoline_level_set_free(by_init);
    end_surface_job(&work);
}

static void steps_add_up(const char *device) {
    surface_job work = new_surface_job(device);
    isoline_level_set *surface = surface_of(&work);
    work.params.reinitialise_every = 0;
    for (int i = 0; i < 2; i++) {
        isoline_level_set_free(surface);
        surface = surface_of(&work);
        GOOD(isoline_level_set_step(surface, 5, NULL, NULL));
        GOOD(isoline_level_set_step(surface, 0, NULL, &work.report));
        CHECK_NUMBER(work.report.iterations, 0);
        GOOD(isoline_level_set_step(surface, 1, NULL, &work.report));
        CHECK_NUMBER(work.report.iterations, 1);
        GOOD(isoline_level_set_step(surface, 6, NULL, &work.report));
        CHECK_NUMBER(work.report.iterations, 6);
        CHECK_NUMBER(state_of(surface).iterations, 12);
        float *in_parts = phi_of(surface), *at_once = phi_after(&work, 12);
        CHECK(memcmp(in_parts, at_once, COUNT * sizeof(float)) == 0);
        free(at_once);
        free(in_parts);
        /* Again with a reinitialisation within a step and one at its end. */
        work.params.reinitialise_every = 4;
    }
    isoline_level_set_free(surface);
    end_surface_job(&work);
}

static void the_mask_is_where_phi_is_negative(const char *device) {
    surface_job work = new_surface_job(device);
    isoline_level_set *surface = surface_of(&work);
    for (int round = 0; round < 2; round++) {
        float *phi = phi_of(surface);
        size_t wrong = 0, inside = 0;
        mask_of(surface, work.result);
        for (size_t i = 0; i < COUNT; i++) {
            wrong += work.result[i] != (phi[i] < 0 ? 255 : 0);
            wrong += round == 0 && (work.start[i] != 0) != (phi[i] < 0);
            inside += work.result[i] != 0;
        }
        CHECK_NUMBER(wrong, 0);
        CHECK_NUMBER(state_of(surface).inside, inside);
        if (round == 0) {
            /* It starts as the signed distance. */
            float *distance = unwritten(COUNT);
            isoline_image output = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, distance);
            GOOD(isoline_distance(work.context, &work.initial, NULL, NULL, &output, NULL));
            CHECK(largest_difference(phi, distance, COUNT) <= 1e-4);
            free(distance);
        }
        free(phi);
        GOOD(isoline_level_set_step(surface, 15, NULL, NULL));
    }
    isoline_level_set_free(surface);
    end_surface_job(&work);
}

static void padded_outputs_keep_what_lies_between(const char *device) {
    enum { ROW = 32, SLICE = ROW * (HEIGHT + 1), ALL = SLICE * DEPTH };
    surface_job work = new_surface_job(device);
    isoline_level_set *surface = surface_of(&work);
    GOOD(isoline_level_set_step(surface, 5, NULL, NULL));
    float *phi = phi_of(surface), *spread = unwritten(ALL);
    uint8_t *mask = (uint8_t *)allocate(ALL);
    memset(mask, NOT_WRITTEN, ALL);
    mask_of(surface, work.result);
    isoline_image image = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, spread);
    image.row_stride = ROW * sizeof(float);
    image.slice_stride = SLICE * sizeof(float);
    GOOD(isoline_level_set_read_phi(surface, &image));
    image = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, mask);
    image.row_stride = ROW;
    image.slice_stride = SLICE;
    GOOD(isoline_level_set_read_mask(surface, &image));
    size_t wrong = 0;
    for (size_t i = 0; i < ALL; i++) {
        const size_t x = i % ROW, y = i % SLICE / ROW, z = i / SLICE, at = (z * HEIGHT + y) * WIDTH + x;
        const int in = x < WIDTH && y < HEIGHT;
        wrong += spread[i] != (in ? phi[at] : UNWRITTEN);
        wrong += mask[i] != (in ? work.result[at] : (uint8_t)NOT_WRITTEN);
    }
    CHECK_NUMBER(wrong, 0);
    free(mask);
    free(spread);
    free(phi);
    isoline_level_set_free(surface);
    end_surface_job(&work);
}

static void a_saved_phi_goes_on_elsewhere(const char *device) {
    surface_job work = new_surface_job(device);
    work.params.variant = ISOLINE_LEVEL_SET_DENSE;
    work.params.reinitialise_every = 0;
    never_stop(&work.params);
    float *wanted = phi_after(&work, 20), *saved = phi_after(&work, 8);
    isoline_image image = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, saved);
    isoline_level_set *other = surface_of(&work);
    GOOD(isoline_level_set_write_phi(other, &image));
    float *written = phi_of(other);
    CHECK(memcmp(written, saved, COUNT * sizeof(float)) == 0);
    CHECK_NUMBER(state_of(other).iterations, 0);
    GOOD(isoline_level_set_step(other, 12, NULL, NULL));
    float *got = phi_of(other);
    CHECK(memcmp(got, wanted, COUNT * sizeof(float)) == 0);
    CHECK_NUMBER(state_of(other).iterations, 12);
    isoline_level_set_free(other);
    free(got);
    free(written);
    free(saved);
    free(wanted);
    end_surface_job(&work);
}

static void statistics_tell_of_each_iteration(const char *device) {
    enum { ROOM = 40, DONE = 25 };
    surface_job work = new_surface_job(device);
    never_stop(&work.params);
    isoline_level_set *surface = surface_of(&work);
    isoline_iteration_statistics all[ROOM], part[ROOM], before[ROOM];
    size_t written = 99;
    memset(all, 0xA5, sizeof all);
    memcpy(before, all, sizeof before);
    GOOD(isoline_level_set_statistics(surface, 1, ROOM, all, &written));
    CHECK(written == 0 && memcmp(all, before, sizeof all) == 0);
    for (int i = 0; i < DONE; i++) {
        GOOD(isoline_level_set_step(surface, 1, NULL, NULL));
        GOOD(isoline_level_set_statistics(surface, (uint64_t)i + 1, 1, &part[i], &written));
        CHECK_NUMBER(written, 1);
        CHECK_NUMBER(part[i].inside, state_of(surface).inside);
    }
    GOOD(isoline_level_set_statistics(surface, 0, ROOM, all, &written));
    CHECK_NUMBER(written, DONE);
    CHECK(memcmp(all, part, DONE * sizeof all[0]) == 0);
    CHECK(memcmp(all + DONE, before + DONE, (ROOM - DONE) * sizeof all[0]) == 0);
    for (size_t i = 0; i < DONE; i++) {
        CHECK_NUMBER(all[i].iteration, i + 1);
        CHECK(all[i].changed <= all[i].near_front && all[i].near_front <= COUNT && all[i].rms >= 0);
        if (i > 0) {
            const uint64_t moved = all[i].inside > all[i - 1].inside ? all[i].inside - all[i - 1].inside
                                                                     : all[i - 1].inside - all[i].inside;
            CHECK(moved <= all[i].changed);
        }
    }
    GOOD(isoline_level_set_statistics(surface, 11, 5, part, &written));
    CHECK_NUMBER(written, 5);
    CHECK(memcmp(part, all + 10, 5 * sizeof all[0]) == 0);
    GOOD(isoline_level_set_statistics(surface, DONE + 1, 5, part, &written));
    CHECK_NUMBER(written, 0);
    GOOD(isoline_level_set_statistics(surface, UINT64_MAX, 5, part, &written));
    CHECK_NUMBER(written, 0);
    GOOD(isoline_level_set_statistics(surface, 1, 0, NULL, &written));
    CHECK_NUMBER(written, 0);
    isoline_level_set_free(surface);
    end_surface_job(&work);
}

static void every_pixel_type_gives_the_same(const char *device) {
    surface_job work = new_surface_job(device);
    float *by_bytes = phi_after(&work, 15);
    uint16_t *wide = (uint16_t *)allocate(COUNT * sizeof(uint16_t));
    float *real = (float *)allocate(COUNT * sizeof(float));
    for (size_t i = 0; i < COUNT; i++) {
        /* Up to 65535, where 16 bits would overflow. */
        wide[i] = (uint16_t)(65535 - BRIGHT + work.pixels[i]);
        real[i] = work.pixels[i];
    }
    work.input = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, real);
    float *by_floats = phi_after(&work, 15);
    work.input = describe(ISOLINE_U16, WIDTH, HEIGHT, DEPTH, wide);
    work.params.target = 65535;
    float *by_words = phi_after(&work, 15);
    CHECK_NUMBER(largest_difference(by_bytes, by_floats, COUNT), 0);
    CHECK_NUMBER(largest_difference(by_bytes, by_words, COUNT), 0);
    /* NaN and infinity are never within the intensity range. */
    for (size_t i = 0; i < COUNT; i++) {
        real[i] = work.pixels[i] == BRIGHT ? (float)BRIGHT : i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
    }
    real[0] = DARK;
    work.params = for_the_ball();
    work.input = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, real);
    float *by_nothing = phi_after(&work, 15);
    CHECK_NUMBER(largest_difference(by_bytes, by_nothing, COUNT), 0);
    free(by_nothing);
    free(by_words);
    free(by_floats);
    free(by_bytes);
    free(real);
    free(wide);
    end_surface_job(&work);
}

static void slices_are_each_by_themselves(const char *device) {
    surface_job work = new_surface_job(device);
    const size_t area = WIDTH * HEIGHT;
    work.params.dimensions = 2;
    never_stop(&work.params);
    float *stack = phi_after(&work, 12);
    for (size_t z = DEPTH / 2 - 1; z < DEPTH / 2 + 1; z++) {
        float *alone = unwritten(area);
        isoline_image input = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, work.pixels + z * area);
        isoline_image initial = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, work.start + z * area);
        isoline_image phi = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, alone);
        isoline_level_set *surface = NULL;
        GOOD(isoline_level_set_new(work.context, &input, &initial, &work.params, &surface));
        GOOD(isoline_level_set_step(surface, 12, NULL, NULL));
        GOOD(isoline_level_set_read_phi(surface, &phi));
        CHECK_NUMBER(largest_difference(alone, stack + z * area, area), 0);
        isoline_level_set_free(surface);
        free(alone);
    }
    free(stack);
    end_surface_job(&work);
}

static void a_mask_of_one_class_never_moves(const char *device) {
    surface_job work = new_surface_job(device);
    const double diagonal = sqrt((double)(WIDTH * WIDTH + HEIGHT * HEIGHT + DEPTH * DEPTH));
    for (int full = 0; full < 2; full++) {
        memset(work.start, full, COUNT);
        isoline_level_set *surface = surface_of(&work);
        GOOD(isoline_level_set_step(surface, 30, NULL, &work.report));
        CHECK_NUMBER(work.report.converged, 1);
        CHECK_NUMBER(state_of(surface).inside, full ? COUNT : 0);
        mask_of(surface, work.result);
        CHECK(holds_only(work.result, COUNT, full ? 255 : 0));
        float *phi = phi_of(surface);
        for (size_t i = 0; i < COUNT; i += 101) {
            CHECK(fabs(phi[i] - (full ? -diagonal : diagonal)) < 1e-3);
        }
        free(phi);
        isoline_level_set_free(surface);
    }
    /* Without pixels the intensity range cannot be computed. */
    isoline_level_set *none = NULL;
    memset(work.start, 0, COUNT);
    work.params.epsilon = ISOLINE_AUTOMATIC;
    REFUSED(isoline_level_set_new(work.context, &work.input, &work.initial, &work.params, &none),
            ISOLINE_INVALID_ARGUMENT, "mask");
    CHECK(none == NULL);
    end_surface_job(&work);
}

static void a_front_may_vanish_or_fill_the_image(const char *device) {
    surface_job work = new_surface_job(device);
    work.params.alpha = 1;
    for (int fills = 0; fills < 2; fills++) {
        work.params.target = fills ? DARK + (BRIGHT - DARK) / 2.0 : BRIGHT + 200.0;
        work.params.epsilon = fills ? 100 : 1;
        GOOD(isoline_level_set_run(work.context, &work.input, &work.initial, &work.params, NULL, &work.mask,
                                   &work.report));
        CHECK_NUMBER(work.report.converged, 1);
        CHECK(holds_only(work.result, COUNT, fills ? 255 : 0));
    }
    end_surface_job(&work);
}

static void variants_agree(const char *device) {
    surface_job work = new_surface_job(device);
    const int cuda = strcmp(device, "cpu") != 0;
    /* The test ends before the voxels beyond the narrow band, which the band leaves as they are, affect the front. */
    float *usual = phi_after(&work, 3);
    for (uint32_t variant = ISOLINE_LEVEL_SET_BAND; variant <= ISOLINE_LEVEL_SET_SCALAR; variant++) {
        work.params.variant = variant;
        if (cuda && variant == ISOLINE_LEVEL_SET_SCALAR) {
            isoline_level_set *none = NULL;
            REFUSED(isoline_level_set_new(work.context, &work.input, &work.initial, &work.params, &none),
                    ISOLINE_UNSUPPORTED, "CPU");
            continue;
        }
        float *phi = phi_after(&work, 3);
        double worst = 0;
        for (size_t i = 0; i < COUNT; i++) {
            worst = fabs(usual[i]) <= 1 ? fmax(worst, fabs((double)usual[i] - (double)phi[i])) : worst;
        }
        check_that(worst <= 1e-3, __FILE__, __LINE__, "variant %u differs near the front by %g", variant, worst);
        free(phi);
    }
    free(usual);
    end_surface_job(&work);
}

static void cuda_and_cpu_agree(const char *device) {
    surface_job here = new_surface_job(device), there = new_surface_job("cpu");
    float *a = phi_after(&here, 200), *b = phi_after(&there, 200);
    double worst = 0;
    for (size_t i = 0; i < COUNT; i++) {
        worst = fabs(b[i]) <= 1 ? fmax(worst, fabs((double)a[i] - (double)b[i])) : worst;
    }
    CHECK(worst <= 1e-3);
    free(b);
    free(a);
    end_surface_job(&there);
    end_surface_job(&here);
}

static void nothing_of_the_callers_is_needed_afterwards(const char *device) {
    surface_job work = new_surface_job(device);
    float *wanted = phi_after(&work, 10);
    isoline_level_set *surface = surface_of(&work);
    /* Images, parameters and the context are freed; the device is kept until the level set is freed. */
    memset(work.pixels, 0, COUNT);
    memset(work.start, 0, COUNT);
    memset(&work.params, 0, sizeof work.params);
    end_surface_job(&work);
    GOOD(isoline_level_set_step(surface, 10, NULL, NULL));
    float *got = phi_of(surface);
    CHECK(memcmp(got, wanted, COUNT * sizeof(float)) == 0);
    isoline_level_set_free(surface);
    isoline_level_set_free(NULL);
    free(got);
    free(wanted);
}

int main(void) {
    RUN_ON_EACH(a_ball_is_found_from_a_seed_in_it);
    RUN_ON_EACH(the_state_tells_every_parameter);
    RUN_ON_EACH(coarse_levels_come_first);
    RUN_ON_EACH(null_params_are_the_defaults);
    RUN_ON_EACH(steps_add_up);
    RUN_ON_EACH(the_mask_is_where_phi_is_negative);
    RUN_ON_EACH(padded_outputs_keep_what_lies_between);
    RUN_ON_EACH(a_saved_phi_goes_on_elsewhere);
    RUN_ON_EACH(statistics_tell_of_each_iteration);
    RUN_ON_EACH(every_pixel_type_gives_the_same);
    RUN_ON_EACH(slices_are_each_by_themselves);
    RUN_ON_EACH(a_mask_of_one_class_never_moves);
    RUN_ON_EACH(a_front_may_vanish_or_fill_the_image);
    RUN_ON_EACH(variants_agree);
    RUN_ON_EACH(nothing_of_the_callers_is_needed_afterwards);
    if (have_cuda()) {
        RUN_ON(cuda_and_cpu_agree, "cuda:0");
    }
    return summary();
}
