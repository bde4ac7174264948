/* Every call that takes a progress callback asks it often enough, from its beginning to its end, and ends soon after it says
 * so: no step of a call may be long, also those before and after the loops. */
#include "images.h"

/* The header promises 100 ms; a shared machine adds to that. */
static const double PROMISED_SECONDS = 0.1, SLACK_SECONDS = 0.25;

/* The images and objects of all calls; each takes those that it needs. */
typedef struct {
    isoline_context *context;
    isoline_image bytes, floats, start, strengths, map;
    isoline_progress progress;
    double began, asked, longest_wait, cancel_after, cancelled;
} work;

static int ask(void *user, double fraction, const char *stage) {
    work *all = (work *)user;
    const double now = seconds_now(), wait = now - all->asked;
    (void)fraction;
    (void)stage;
    all->longest_wait = wait > all->longest_wait ? wait : all->longest_wait;
    all->asked = now;
    if (all->cancelled == 0 && now - all->began >= all->cancel_after) {
        all->cancelled = now;
    }
    return all->cancelled > 0;
}

static isoline_status iterations(work *all) {
    isoline_edge_strength_params params = for_drawing(50);
    return isoline_edge_strength(all->context, &all->bytes, &params, &all->progress, &all->strengths, NULL);
}

static isoline_status iterations_from_floats(work *all) {
    isoline_edge_strength_params params = for_drawing(10);
    params.dimensions = 3;
    params.start = ISOLINE_EDGE_STRENGTH_START_IMAGE;
    return isoline_edge_strength(all->context, &all->floats, &params, &all->progress, &all->strengths, NULL);
}

static isoline_status converged(work *all) {
    isoline_edge_strength_params params = for_drawing(0);
    params.dimensions = 3;
    params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    params.rho = 4;
    isoline_image input = all->bytes, output = all->strengths;
    input.width = output.width = input.width / 2;
    input.depth = output.depth = input.depth / 8;
    return isoline_edge_strength(all->context, &input, &params, &all->progress, &output, NULL);
}

static isoline_status distances(work *all) {
    return isoline_distance(all->context, &all->bytes, NULL, &all->progress, &all->strengths, NULL);
}

static isoline_status edges(work *all) {
    return isoline_edge_drawing(all->context, &all->floats, NULL, &all->progress, &all->map, NULL, NULL);
}

static isoline_status edge_maps(work *all) {
    return isoline_edge_drawing_maps(all->context, &all->bytes, NULL, &all->progress, NULL, &all->strengths, NULL, &all->map, NULL);
}

/* Its range, extremes and distances are made in the call. */
static isoline_status level_set(work *all) {
    isoline_level_set_params params;
    GOOD(isoline_level_set_params_init(&params, sizeof params));
    params.dimensions = 3;
    params.iterations = 5;
    return isoline_level_set_run(all->context, &all->floats, &all->start, &params, &all->progress, &all->map, NULL);
}

static isoline_status region_snake(work *all) {
    isoline_image slice = all->bytes, mask = all->map;
    isoline_snake_params params;
    isoline_snake *made = NULL;
    slice.depth = mask.depth = 1;
    GOOD(isoline_snake_params_init(&params, sizeof params));
    params.largest_step = 64;
    const isoline_status status = isoline_snake_run(all->context, &slice, NULL, &params, &all->progress, NULL, &made, NULL);
    isoline_snake_free(made);
    return status;
}

static isoline_status isolines(work *all) {
    isoline_polylines *made = NULL;
    const isoline_status status = isoline_isolines(all->context, &all->bytes, NULL, 0, NULL, &all->progress, &made, NULL);
    isoline_polylines_free(made);
    return status;
}

/* Runs a call to its end, and cancels it at several times between. */
static void in_time(const char *device, isoline_status (*call)(work *), size_t slices) {
    const size_t side = scaled(512, 24), depth = scaled(slices, 8), count = side * side * depth;
    work all;
    uint8_t *bytes = drawing(side, side, depth, 5), *start = (uint8_t *)allocate(count), *map = (uint8_t *)allocate(count);
    float *floats = (float *)allocate(count * sizeof *floats), *strengths = unwritten(count);
    const isoline_sphere ball = {{(double)side / 2, (double)side / 2, (double)depth / 2}, (double)depth / 3};
    memset(&all, 0, sizeof all);
    memset(start, 0, count);
    memset(map, 0, count);
    for (size_t i = 0; i < count; i++) {
        floats[i] = bytes[i];
    }
    all.context = open_context(device);
    all.bytes = describe(ISOLINE_U8, side, side, depth, bytes);
    all.floats = describe(ISOLINE_F32, side, side, depth, floats);
    all.start = describe(ISOLINE_U8, side, side, depth, start);
    all.map = describe(ISOLINE_U8, side, side, depth, map);
    all.strengths = describe(ISOLINE_F32, side, side, depth, strengths);
    GOOD(isoline_mask_fill_spheres(&all.start, &ball, 1, 255));
    GOOD(isoline_progress_init(&all.progress, sizeof all.progress));
    all.progress.callback = ask;
    all.progress.user = &all;
    /* The first call makes threads and workspaces. Other work on the machine may delay one call, but hardly three. */
    double total = 0, wait = INFINITY, late = 0;
    for (int attempt = 0; attempt < 4 && (attempt < 2 || wait > PROMISED_SECONDS); attempt++) {
        all.cancel_after = INFINITY;
        all.longest_wait = 0;
        all.began = all.asked = seconds_now();
        GOOD(call(&all));
        total = seconds_now() - all.began;
        wait = attempt == 0 ? INFINITY : fmin(wait, all.longest_wait);
    }
    check_that(slow() || wait <= PROMISED_SECONDS + SLACK_SECONDS, __FILE__, __LINE__,
               "of %.2f s the callback was not called for %.3f s", total, wait);
    for (int part = 0; part < 6; part++) {
        double soonest = INFINITY;
        for (int attempt = 0; attempt < 3 && (attempt == 0 || soonest > PROMISED_SECONDS); attempt++) {
            all.cancel_after = total * part / 6;
            all.cancelled = 0;
            all.began = all.asked = seconds_now();
            const isoline_status status = call(&all);
            const double now = seconds_now();
            /* A call that takes less time than the first one may end before. */
            CHECK(status == ISOLINE_CANCELLED || status == ISOLINE_OK);
            CHECK(part > 0 || status == ISOLINE_CANCELLED);
            soonest = fmin(soonest, status == ISOLINE_CANCELLED ? now - all.cancelled : 0);
        }
        late = fmax(late, soonest);
    }
    check_that(slow() || late <= PROMISED_SECONDS + SLACK_SECONDS, __FILE__, __LINE__, "a cancel took %.3f s", late);
    isoline_context_free(all.context);
    free(strengths);
    free(floats);
    free(map);
    free(start);
    free(bytes);
}

static void edge_strength_is_cancelled_in_time(const char *device) { in_time(device, iterations, 64); }
static void edge_strength_from_floats_is_cancelled_in_time(const char *device) { in_time(device, iterations_from_floats, 64); }
static void converged_edge_strength_is_cancelled_in_time(const char *device) { in_time(device, converged, 64); }
static void a_distance_is_cancelled_in_time(const char *device) { in_time(device, distances, 64); }
static void edge_drawing_is_cancelled_in_time(const char *device) { in_time(device, edges, 64); }
static void edge_maps_are_cancelled_in_time(const char *device) { in_time(device, edge_maps, 64); }
static void a_level_set_is_cancelled_in_time(const char *device) { in_time(device, level_set, 160); }
static void a_region_snake_is_cancelled_in_time(const char *device) { in_time(device, region_snake, 64); }
static void isolines_are_cancelled_in_time(const char *device) { in_time(device, isolines, 64); }

int main(void) {
    RUN_ON_EACH(edge_strength_is_cancelled_in_time);
    RUN_ON_EACH(edge_strength_from_floats_is_cancelled_in_time);
    RUN_ON_EACH(converged_edge_strength_is_cancelled_in_time);
    RUN_ON_EACH(a_distance_is_cancelled_in_time);
    RUN_ON_EACH(edge_drawing_is_cancelled_in_time);
    RUN_ON_EACH(edge_maps_are_cancelled_in_time);
    RUN_ON_EACH(a_level_set_is_cancelled_in_time);
    RUN_ON_EACH(a_region_snake_is_cancelled_in_time);
    RUN_ON_EACH(isolines_are_cancelled_in_time);
    return summary();
}
