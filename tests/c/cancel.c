/* Every call that takes a progress callback asks it often enough, from its beginning to its end, and ends soon after it says
 * so: no step of a call may be long, also those before and after the loops. The cancel flag of the thread ends every call
 * as soon, also those without a callback. */
#include "images.h"
#include "in_time.h"
#include "operations.h"

#include <pthread.h>

/* The images and objects of all calls; each takes those that it needs. */
typedef struct {
    isoline_context *context;
    isoline_image bytes, floats, start, strengths, map;
    isoline_polygons squares;
    isoline_level_set *level_set;
    isoline_snake *snake;
    isoline_segments *segments;
    void *results;
    isoline_progress progress;
    double began, asked, longest_wait, cancel_after, cancelled;
    int flag, ended, inside;
    size_t operation; /* the index of the one that of_table calls */
} work;

static int ask(void *user, double fraction, const char *stage) {
    work *all = (work *)user;
    const double now = moment(), wait = now - all->asked;
    (void)fraction;
    (void)stage;
    all->longest_wait = wait > all->longest_wait ? wait : all->longest_wait;
    all->asked = now;
    if (all->cancelled == 0 && now - all->began >= all->cancel_after) {
        all->cancelled = now;
    }
    return all->cancelled > 0;
}

/* An operation of the table, with its defaults. */
static isoline_status of_table(work *all) {
    any_params params;
    const arguments given = {all->context, all->bytes, all->start, all->map, all->strengths, &all->progress, NULL};
    GOOD(OPERATIONS[all->operation].init(&params));
    return OPERATIONS[all->operation].run(&given, &params);
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

static isoline_status edges(work *all) {
    return isoline_edge_drawing(all->context, &all->floats, NULL, &all->progress, &all->map, NULL, NULL);
}

static isoline_status edge_maps(work *all) {
    return isoline_edge_drawing_maps(all->context, &all->bytes, NULL, &all->progress, NULL, &all->strengths, NULL, &all->map, NULL);
}

static isoline_status lines(work *all) {
    isoline_lines *found = NULL;
    const isoline_status status = isoline_edge_drawing_lines(all->context, &all->bytes, all->segments, NULL, &all->progress, &found, NULL);
    isoline_lines_free(found);
    return status;
}

static isoline_status ellipses(work *all) {
    isoline_ellipses *found = NULL;
    const isoline_status status =
        isoline_edge_drawing_ellipses(all->context, &all->bytes, all->segments, NULL, &all->progress, &found, NULL);
    isoline_ellipses_free(found);
    return status;
}

/* The strengths, which the first call makes, are no solution of the equation, and have the more axes. */
static isoline_status axes(work *all) {
    isoline_polylines *found = NULL;
    float *strengths = (float *)all->strengths.data;
    const float *from = (const float *)all->floats.data;
    const size_t count = all->floats.width * all->floats.height * all->floats.depth;
    for (size_t i = 0; i < count && strengths[count - 1] == UNWRITTEN; i++) {
        strengths[i] = from[i] / 256;
    }
    const isoline_status status =
        isoline_edge_strength_axes(all->context, &all->strengths, NULL, &all->progress, &found, NULL);
    isoline_polylines_free(found);
    return status;
}

/* The isolines of a comb: one curve, which has almost as many points as all slices have pixels. Each tooth is a column. */
static isoline_status one_long_curve(work *all) {
    isoline_isolines_params params;
    isoline_polylines *found = NULL;
    isoline_image comb = all->map;
    uint8_t *pixels = (uint8_t *)comb.data;
    comb.width *= 8;
    comb.height = comb.height * comb.depth / 8;
    comb.depth = 1;
    for (size_t y = comb.height - 2; y > 0 && pixels[comb.width + 2] == 0; y--) {
        for (size_t x = 2; x + 1 < comb.width; x += y == 1 ? 1 : 2) {
            pixels[y * comb.width + x] = 255;
        }
    }
    const double level = 100;
    GOOD(isoline_isolines_params_init(&params, sizeof params));
    const isoline_status status = isoline_isolines(all->context, &comb, &level, 1, &params, &all->progress, &found, NULL);
    isoline_polylines_free(found);
    return status;
}

/* The last pass. The floats stand for values of the pass before. */
static isoline_status distance_pass(work *all) {
    return isoline_distance_pass(all->context, &all->floats, 2, NULL, &all->progress, &all->strengths, NULL);
}

/* A target starts from each of the squares. */
static isoline_status snakes(work *all) {
    isoline_image slice = all->bytes;
    isoline_snake *made = NULL;
    slice.depth = 1;
    const isoline_status status =
        isoline_snake_run(all->context, &slice, &all->squares, NULL, &all->progress, NULL, &made, NULL);
    isoline_snake_free(made);
    return status;
}

/* Its range, extremes and distances are made in the call. */
static isoline_status level_set(work *all) {
    isoline_level_set_params params;
    GOOD(isoline_level_set_params_init(&params, sizeof params));
    params.dimensions = 3;
    params.iterations = 5;
    return isoline_level_set_run(all->context, &all->floats, &all->start, &params, &all->progress, &all->map, NULL);
}

/* Functions without a callback. */

static isoline_status threshold(work *all) {
    isoline_edge_drawing_params params;
    double found;
    GOOD(isoline_edge_drawing_params_init(&params, sizeof params));
    return isoline_edge_drawing_threshold(all->context, &all->floats, &params, &found);
}

static isoline_status new_level_set(work *all) {
    isoline_level_set *made = NULL;
    isoline_level_set_params params;
    GOOD(isoline_level_set_params_init(&params, sizeof params));
    params.dimensions = 3;
    const isoline_status status = isoline_level_set_new(all->context, &all->floats, &all->start, &params, &made);
    isoline_level_set_free(made);
    return status;
}

static isoline_status read_mask(work *all) {
    return isoline_level_set_read_mask(all->level_set, &all->map);
}

static isoline_status read_phi(work *all) {
    return isoline_level_set_read_phi(all->level_set, &all->strengths);
}

/* The pixels are finite values of φ. */
static isoline_status write_phi(work *all) {
    return isoline_level_set_write_phi(all->level_set, &all->floats);
}

static isoline_status level_set_statistics(work *all) {
    size_t written;
    isoline_iteration_statistics *out = (isoline_iteration_statistics *)all->results;
    return isoline_level_set_statistics(all->level_set, 0, 1, out, &written);
}

static isoline_status new_snake(work *all) {
    isoline_image slice = all->bytes;
    isoline_snake *made = NULL;
    slice.depth = 1;
    const isoline_status status = isoline_snake_new(all->context, &slice, &all->squares, NULL, &made);
    isoline_snake_free(made);
    return status;
}

static isoline_status restart(work *all) {
    return isoline_snake_restart(all->snake, &all->squares, NULL);
}

static isoline_status target_statistics(work *all) {
    size_t written;
    isoline_target_statistics *out = (isoline_target_statistics *)all->results;
    return isoline_snake_statistics(all->snake, 0, all->squares.count, out, &written);
}

static isoline_status region_sums(work *all) {
    return isoline_snake_region_sums(all->snake, &all->squares, (isoline_region_sum *)all->results);
}

static isoline_status draw_mask(work *all) {
    isoline_image mask = all->map;
    mask.depth = 1;
    return isoline_snake_draw_mask(all->snake, &mask);
}

static isoline_status draw_labels(work *all) {
    isoline_image labels = all->strengths;
    labels.depth = 1;
    return isoline_snake_draw_labels(all->snake, &labels);
}

/* After a restart the polygons are copied. */
static isoline_status polygons(work *all) {
    isoline_polygons found;
    GOOD(isoline_polygons_init(&found, sizeof found));
    return isoline_snake_polygons(all->snake, &found);
}

static isoline_status smooth(work *all) {
    isoline_curve_point *points = (isoline_curve_point *)all->strengths.data;
    uint64_t *offsets = (uint64_t *)all->results;
    return isoline_polygons_smooth(&all->squares, ISOLINE_AUTOMATIC, 1, 16 * all->squares.count, offsets, points);
}

/* Each ball has more pixels than a square. */
static isoline_status spheres(work *all) {
    const size_t count = all->squares.count / 20;
    isoline_sphere *balls = (isoline_sphere *)all->results;
    for (size_t i = 0; i < count; i++) {
        const isoline_sphere ball = {{(double)(i % 500), (double)(i / 500 % 500), (double)(i % 60)}, 20};
        balls[i] = ball;
    }
    return isoline_mask_fill_spheres(&all->map, balls, count, 255);
}

static isoline_status boxes(work *all) {
    const size_t count = all->squares.count / 4;
    isoline_box *made = (isoline_box *)all->results;
    for (size_t i = 0; i < count; i++) {
        const isoline_box box = {{(double)(i % 500), (double)(i / 500 % 500), 0}, {(double)(i % 500 + 60), (double)(i / 500 % 500 + 60), 3}};
        made[i] = box;
    }
    return isoline_mask_fill_boxes(&all->map, made, count, 255);
}

/* A polygon of very many corners, all edges of which pass all rows. */
static isoline_status polygon(work *all) {
    const size_t count = all->squares.count / 20;
    double *xy = (double *)all->results;
    for (size_t i = 0; i < count; i++) {
        xy[2 * i] = (double)(i * 7919 % 512);
        xy[2 * i + 1] = i % 2 == 0 ? -1 : (double)all->map.height;
    }
    return isoline_mask_fill_polygon(&all->map, xy, count, 0, all->map.depth, 255);
}

/* Makes the images and objects. */
static work prepared(const char *device, size_t slices, size_t targets) {
    const size_t side = scaled(512, 24), depth = scaled(slices, 8), count = side * side * depth, squares = scaled(targets, 100);
    work all;
    uint8_t *bytes = drawing(side, side, depth, 5), *start = (uint8_t *)allocate(count), *map = (uint8_t *)allocate(count);
    float *floats = (float *)allocate(count * sizeof *floats), *strengths = unwritten(count);
    isoline_node *nodes = (isoline_node *)allocate(4 * squares * sizeof *nodes);
    uint64_t *offsets = (uint64_t *)allocate((squares + 1) * sizeof *offsets);
    const isoline_sphere ball = {{(double)side / 2, (double)side / 2, (double)depth / 2}, (double)depth / 3};
    memset(&all, 0, sizeof all);
    memset(start, 0, count);
    memset(map, 0, count);
    for (size_t i = 0; i < count; i++) {
        floats[i] = bytes[i];
    }
    for (size_t i = 0; i < squares; i++) {
        const int x = (int)(i % (side - 9)), y = (int)(i / (side - 9) % (side - 9));
        const isoline_node square[] = {{x, y}, {x + 9, y}, {x + 9, y + 9}, {x, y + 9}};
        memcpy(nodes + 4 * i, square, sizeof square);
        offsets[i] = 4 * i;
    }
    offsets[squares] = 4 * squares;
    all.context = open_context(device);
    all.bytes = describe(ISOLINE_U8, side, side, depth, bytes);
    all.floats = describe(ISOLINE_F32, side, side, depth, floats);
    all.start = describe(ISOLINE_U8, side, side, depth, start);
    all.map = describe(ISOLINE_U8, side, side, depth, map);
    all.strengths = describe(ISOLINE_F32, side, side, depth, strengths);
    all.results = allocate(squares * sizeof(isoline_target_statistics));
    GOOD(isoline_polygons_init(&all.squares, sizeof all.squares));
    all.squares.count = squares;
    all.squares.node_count = 4 * squares;
    all.squares.nodes = nodes;
    all.squares.offsets = offsets;
    GOOD(isoline_mask_fill_spheres(&all.start, &ball, 1, 255));
    GOOD(isoline_edge_drawing(all.context, &all.bytes, NULL, NULL, NULL, &all.segments, NULL));
    GOOD(isoline_progress_init(&all.progress, sizeof all.progress));
    return all;
}

static void give_back(work *all) {
    isoline_level_set_free(all->level_set);
    isoline_snake_free(all->snake);
    isoline_segments_free(all->segments);
    isoline_context_free(all->context);
    free((void *)all->squares.nodes);
    free((void *)all->squares.offsets);
    free(all->results);
    free(all->strengths.data);
    free(all->floats.data);
    free(all->map.data);
    free(all->start.data);
    free(all->bytes.data);
}

/* Makes the solvers that calls read. */
static void start_solvers(work *all) {
    isoline_level_set_params params;
    isoline_image slice = all->bytes;
    GOOD(isoline_level_set_params_init(&params, sizeof params));
    params.dimensions = 3;
    GOOD(isoline_level_set_new(all->context, &all->floats, &all->start, &params, &all->level_set));
    GOOD(isoline_level_set_step(all->level_set, 1, NULL, NULL));
    slice.depth = 1;
    GOOD(isoline_snake_new(all->context, &slice, NULL, NULL, &all->snake));
}

/* Runs a call to its end, and cancels it at several times between; `name` is that of what is called. */
static void in_time_of(const char *device, const char *name, isoline_status (*call)(work *), size_t slices, size_t targets,
                       size_t operation) {
    work all = prepared(opened(device), slices, targets);
    all.operation = operation;
    all.progress.callback = ask;
    all.progress.user = &all;
    /* The first call makes threads and workspaces. Other work on the machine may delay one call, but hardly three. */
    double total = 0, wait = INFINITY, late = 0;
    for (int attempt = 0; attempt < 4 && (attempt < 2 || wait > PROMISED_SECONDS); attempt++) {
        all.cancel_after = INFINITY;
        all.longest_wait = 0;
        all.began = all.asked = moment();
        GOOD(call(&all));
        total = moment() - all.began;
        wait = attempt == 0 ? INFINITY : fmin(wait, all.longest_wait);
    }
    check_that(slow() || wait <= PROMISED_SECONDS + slack_seconds, __FILE__, __LINE__,
               "%s: of %.2f s the callback was not called for %.3f s", name, total, wait);
    for (int part = 0; part < 4; part++) {
        double soonest = INFINITY;
        for (int attempt = 0; attempt < 10 && (attempt == 0 || soonest > PROMISED_SECONDS); attempt++) {
            all.cancel_after = total * part / 4;
            all.cancelled = 0;
            all.began = all.asked = moment();
            const isoline_status status = call(&all);
            const double now = moment();
            /* A call that takes less time than the first one may end before. */
            CHECK(status == ISOLINE_CANCELLED || status == ISOLINE_OK);
            CHECK(part > 0 || status == ISOLINE_CANCELLED);
            soonest = fmin(soonest, status == ISOLINE_CANCELLED ? now - all.cancelled : 0);
        }
        late = fmax(late, soonest);
    }
    check_that(slow() || late <= PROMISED_SECONDS + slack_seconds, __FILE__, __LINE__, "%s: a cancel took %.3f s", name, late);
    printf("       %s, %.2f s: at most %.0f ms between two calls of the callback, %.0f ms from a cancel to the end\n", name, total,
           1e3 * wait, 1e3 * late);
    give_back(&all);
}

#define in_time(device, call, slices) in_time_of(device, #call, call, slices, 50, 0)

/* Writes to the flag when the time has come, unless the call has ended. */
static void *set_flag(void *user) {
    work *all = (work *)user;
    const struct timespec millisecond = {0, 1000000};
    while (!__atomic_load_n(&all->ended, __ATOMIC_ACQUIRE)) {
        if (moment() - all->began >= all->cancel_after) {
            all->cancelled = moment();
            __atomic_store_n(&all->flag, 1, __ATOMIC_RELAXED);
            break;
        }
        nanosleep(&millisecond, NULL);
    }
    return NULL;
}

/* Runs a call without a callback to its end, and lets another thread set the flag at several times between. */
static void by_flag_in_time(const char *device, isoline_status (*call)(work *), size_t slices, size_t targets) {
    device = opened(device);
    const int judged = !slow() && strcmp(device, "cpu") == 0;
    const double least = PROMISED_SECONDS + slack_seconds;
    work all;
    double total;
    /* Only a call that takes longer than is allowed after a cancel shows anything: a fast computer gets more to do. */
    for (size_t more = 1;; more *= 2) {
        all = prepared(device, more * slices, more * targets);
        start_solvers(&all);
        GOOD(isoline_set_cancel_flag(&all.flag));
        GOOD(call(&all));
        all.began = moment();
        GOOD(call(&all));
        total = moment() - all.began;
        if (!judged || total > least || more == 64) {
            break;
        }
        GOOD(isoline_set_cancel_flag(NULL));
        give_back(&all);
    }
    check_that(!judged || total > least, __FILE__, __LINE__, "the whole call takes %.3f s only", total);
    double late = 0;
    int cancelled = 0;
    for (int part = 0; part < 3; part++) {
        double soonest = INFINITY;
        for (int attempt = 0; attempt < 10 && (attempt == 0 || soonest > PROMISED_SECONDS); attempt++) {
            pthread_t other;
            all.cancel_after = total * part / 3;
            all.flag = all.ended = 0;
            all.began = moment();
            if (!CHECK(pthread_create(&other, NULL, set_flag, &all) == 0)) {
                break;
            }
            const isoline_status status = call(&all);
            const double now = moment();
            __atomic_store_n(&all.ended, 1, __ATOMIC_RELEASE);
            pthread_join(other, NULL);
            CHECK(status == ISOLINE_CANCELLED || status == ISOLINE_OK);
            CHECK(status != ISOLINE_CANCELLED || all.flag == 1);
            cancelled += status == ISOLINE_CANCELLED;
            /* A call that ends as usual has not heeded a flag that was set long before. */
            soonest = fmin(soonest, all.flag == 1 ? now - all.cancelled : 0);
        }
        late = fmax(late, soonest);
    }
    check_that(slow() || late <= PROMISED_SECONDS + slack_seconds, __FILE__, __LINE__, "of %.2f s a cancel by the flag took %.3f s",
               total, late);
    printf("       of %.2f s a cancel by the flag took at most %.0f ms\n", total, 1e3 * late);
    CHECK(slow() || cancelled > 0 || total < PROMISED_SECONDS);
    all.flag = 0;
    GOOD(call(&all));
    GOOD(isoline_set_cancel_flag(NULL));
    give_back(&all);
}

static isoline_status distances_of_a_volume(work *all) {
    isoline_distance_params params;
    GOOD(isoline_distance_params_init(&params, sizeof params));
    params.dimensions = 3;
    return isoline_distance(all->context, &all->bytes, &params, &all->progress, &all->strengths, NULL);
}

static void a_set_flag_ends(work *all, const char *name, isoline_status (*call)(work *), int flag) {
    all->flag = flag;
    const isoline_status status = call(all);
    check_that(status == ISOLINE_CANCELLED, __FILE__, __LINE__, "%s gave %s", name, isoline_status_name(status));
    CHECK_HAS(isoline_last_error(), "cancel flag");
    all->flag = 0;
    const isoline_status after = call(all);
    check_that(after == ISOLINE_OK, __FILE__, __LINE__, "%s gave %s afterwards: %s", name, isoline_status_name(after),
               isoline_last_error());
}

/* A flag that is set ends every call, and no other call. */
static void a_set_flag_ends_every_call(const char *device) {
    static const struct {
        const char *name;
        isoline_status (*run)(work *);
    } calls[] = {{"iterations_from_floats", iterations_from_floats},
                 {"converged", converged},
                 {"edges", edges},
                 {"edge_maps", edge_maps},
                 {"lines", lines},
                 {"ellipses", ellipses},
                 {"axes", axes},
                 {"distance_pass", distance_pass},
                 {"threshold", threshold},
                 {"level_set", level_set},
                 {"new_level_set", new_level_set},
                 {"read_mask", read_mask},
                 {"read_phi", read_phi},
                 {"write_phi", write_phi},
                 {"level_set_statistics", level_set_statistics},
                 {"new_snake", new_snake},
                 {"polygons", polygons},
                 {"restart", restart},
                 {"target_statistics", target_statistics},
                 {"region_sums", region_sums},
                 {"draw_mask", draw_mask},
                 {"draw_labels", draw_labels},
                 {"smooth", smooth},
                 {"spheres", spheres},
                 {"boxes", boxes},
                 {"polygon", polygon}};
    work all = prepared(device, 8, 2000);
    start_solvers(&all);
    GOOD(isoline_set_cancel_flag(&all.flag));
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        a_set_flag_ends(&all, calls[i].name, calls[i].run, i % 2 == 0 ? 1 : -1);
    }
    for (all.operation = 0; all.operation < COUNT; all.operation++) {
        a_set_flag_ends(&all, OPERATIONS[all.operation].name, of_table, 1);
    }
    all.flag = 1;
    GOOD(isoline_set_cancel_flag(NULL));
    GOOD(spheres(&all));
    give_back(&all);
}

static void *fill_elsewhere(void *user) {
    GOOD(spheres((work *)user));
    return NULL;
}

static void the_flag_is_that_of_one_thread(const char *device) {
    work all = prepared(device, 8, 2000);
    pthread_t other;
    int second = 0;
    all.flag = 1;
    GOOD(isoline_set_cancel_flag(&all.flag));
    CHECK(pthread_create(&other, NULL, fill_elsewhere, &all) == 0);
    pthread_join(other, NULL);
    REFUSED(spheres(&all), ISOLINE_CANCELLED, "cancel flag");
    GOOD(isoline_set_cancel_flag(&second));
    GOOD(spheres(&all));
    GOOD(isoline_set_cancel_flag(NULL));
    REFUSED(isoline_set_cancel_flag((const int *)((const char *)&second + 1)), ISOLINE_INVALID_ARGUMENT, "multiple of");
    GOOD(spheres(&all));
    give_back(&all);
}

static int set_flag_inside(void *user, double fraction, const char *stage) {
    work *all = (work *)user;
    (void)fraction;
    (void)stage;
    REFUSED(isoline_set_cancel_flag(&all->flag), ISOLINE_BUSY, "callback");
    all->flag = 1;
    return 0;
}

/* A callback writes to the flag and goes on: the call ends, as does a level set, which keeps its last whole iteration. */
static void a_callback_may_write_to_the_flag(const char *device) {
    work all = prepared(device, 8, 50);
    isoline_level_set_state state;
    start_solvers(&all);
    GOOD(isoline_set_cancel_flag(&all.flag));
    all.progress.callback = set_flag_inside;
    all.progress.user = &all;
    REFUSED(distances_of_a_volume(&all), ISOLINE_CANCELLED, "cancel flag");
    CHECK(is_unwritten((const float *)all.strengths.data, all.strengths.width * all.strengths.height * all.strengths.depth));
    all.flag = 0;
    REFUSED(isoline_level_set_step(all.level_set, 100000, &all.progress, NULL), ISOLINE_CANCELLED, "cancel flag");
    all.flag = 0;
    GOOD(isoline_level_set_state_init(&state, sizeof state));
    GOOD(isoline_level_set_info(all.level_set, &state));
    CHECK(state.iterations >= 1 && state.iterations < 100000);
    GOOD(isoline_level_set_step(all.level_set, 1, NULL, NULL));
    GOOD(isoline_set_cancel_flag(NULL));
    give_back(&all);
}

/* A call that is refused by the flag leaves a solver as it was. */
static void a_cancelled_write_leaves_the_level_set(const char *device) {
    work all = prepared(device, 8, 50);
    const size_t count = all.map.width * all.map.height * all.map.depth;
    start_solvers(&all);
    float *before = (float *)allocate(count * sizeof *before);
    GOOD(read_phi(&all));
    memcpy(before, all.strengths.data, count * sizeof *before);
    all.flag = 1;
    GOOD(isoline_set_cancel_flag(&all.flag));
    REFUSED(write_phi(&all), ISOLINE_CANCELLED, "cancel flag");
    all.flag = 0;
    GOOD(read_phi(&all));
    CHECK(memcmp(before, all.strengths.data, count * sizeof *before) == 0);
    GOOD(isoline_level_set_step(all.level_set, 3, NULL, NULL));
    GOOD(isoline_set_cancel_flag(NULL));
    free(before);
    give_back(&all);
}

/* Waits up to 20 s until another thread has written to a variable. */
static int is_written(const int *place) {
    const struct timespec millisecond = {0, 1000000};
    for (int waited = 0; waited < 20000 && !__atomic_load_n(place, __ATOMIC_ACQUIRE); waited++) {
        nanosleep(&millisecond, NULL);
    }
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

/* A call that does not end before the other thread's one has. */
static int wait_for_the_other(void *user, double fraction, const char *stage) {
    work *all = (work *)user;
    (void)fraction;
    (void)stage;
    __atomic_store_n(&all->inside, 1, __ATOMIC_RELEASE);
    CHECK(is_written(&all->ended));
    return 0;
}

static void *distances_elsewhere(void *user) {
    GOOD(distances_of_a_volume((work *)user));
    return NULL;
}

static void the_flag_ends_a_call_that_waits_for_another(const char *device) {
    static isoline_status (*const calls[])(work *) = {threshold, read_mask, new_snake};
    work all = prepared(device, 8, 50);
    start_solvers(&all);
    all.progress.callback = wait_for_the_other;
    all.progress.user = &all;
    int attempts = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0];) {
        pthread_t working, setting;
        work setter = all;
        all.ended = all.flag = all.inside = 0;
        if (!CHECK(pthread_create(&working, NULL, distances_elsewhere, &all) == 0)) {
            break;
        }
        CHECK(is_written(&all.inside));
        setter.ended = setter.flag = 0;
        setter.began = moment();
        setter.cancel_after = 0.05;
        GOOD(isoline_set_cancel_flag(&setter.flag));
        CHECK(pthread_create(&setting, NULL, set_flag, &setter) == 0);
        REFUSED(calls[i](&all), ISOLINE_CANCELLED, "cancel flag");
        const double now = moment();
        pthread_join(setting, NULL);
        const double late = now - setter.cancelled;
        __atomic_store_n(&all.ended, 1, __ATOMIC_RELEASE);
        pthread_join(working, NULL);
        GOOD(isoline_set_cancel_flag(NULL));
        if (is_tried_again(late, &attempts)) {
            continue;
        }
        check_that(slow() || late <= PROMISED_SECONDS + slack_seconds, __FILE__, __LINE__, "a cancel of call %zu took %.3f s", i, late);
        GOOD(calls[i](&all));
        i++;
    }
    GOOD(isoline_set_cancel_flag(NULL));
    give_back(&all);
}

#define IN_TIME(name, slices)                                                                                          \
    static void name##_is_cancelled_in_time(const char *device) {                                                      \
        in_time_of(device, #name, of_table, slices, 50, INDEX_OF_##name);                                              \
    }
#define RUN_IN_TIME(name, slices) RUN_BY_BOTH(name##_is_cancelled_in_time);
EVERY_OPERATION(IN_TIME)

static void edge_strength_from_floats_is_cancelled_in_time(const char *device) { in_time(device, iterations_from_floats, 64); }
static void converged_edge_strength_is_cancelled_in_time(const char *device) { in_time(device, converged, 64); }
static void edge_drawing_of_floats_is_cancelled_in_time(const char *device) { in_time(device, edges, 64); }
static void edge_maps_are_cancelled_in_time(const char *device) { in_time(device, edge_maps, 64); }
static void lines_are_cancelled_in_time(const char *device) { in_time(device, lines, 64); }
static void ellipses_are_cancelled_in_time(const char *device) { in_time(device, ellipses, 64); }
static void the_isolines_of_a_comb_are_cancelled_in_time(const char *device) { in_time(device, one_long_curve, 64); }
static void axes_are_cancelled_in_time(const char *device) { in_time(device, axes, 6); }
static void a_pass_of_the_distance_is_cancelled_in_time(const char *device) { in_time(device, distance_pass, 160); }
static void a_level_set_of_a_volume_is_cancelled_in_time(const char *device) { in_time(device, level_set, 160); }
static void many_snakes_are_cancelled_in_time(const char *device) { in_time_of(device, "snakes", snakes, 1, 100, 0); }
static void the_flag_ends_a_converged_mode_in_time(const char *device) { by_flag_in_time(device, converged, 64, 50); }
static void the_flag_ends_a_new_level_set_in_time(const char *device) { by_flag_in_time(device, new_level_set, 160, 50); }
static void the_flag_ends_a_new_snake_in_time(const char *device) { by_flag_in_time(device, new_snake, 8, 200000); }
static void the_flag_ends_region_sums_in_time(const char *device) { by_flag_in_time(device, region_sums, 8, 2000000); }
static void the_flag_ends_the_filling_of_balls_in_time(const char *device) { by_flag_in_time(device, spheres, 64, 200000); }
static void the_flag_ends_the_filling_of_a_polygon_in_time(const char *device) { by_flag_in_time(device, polygon, 8, 200000); }

int main(void) {
    EVERY_OPERATION(RUN_IN_TIME)
    RUN_BY_BOTH(edge_strength_from_floats_is_cancelled_in_time);
    RUN_BY_BOTH(converged_edge_strength_is_cancelled_in_time);
    RUN_BY_BOTH(edge_drawing_of_floats_is_cancelled_in_time);
    RUN_BY_BOTH(edge_maps_are_cancelled_in_time);
    RUN_BY_BOTH(lines_are_cancelled_in_time);
    RUN_BY_BOTH(ellipses_are_cancelled_in_time);
    RUN_BY_BOTH(the_isolines_of_a_comb_are_cancelled_in_time);
    RUN_BY_BOTH(axes_are_cancelled_in_time);
    RUN_BY_BOTH(a_pass_of_the_distance_is_cancelled_in_time);
    RUN_BY_BOTH(many_snakes_are_cancelled_in_time);
    RUN_BY_BOTH(a_level_set_of_a_volume_is_cancelled_in_time);
    RUN_ON_EACH(a_set_flag_ends_every_call);
    RUN_ON_EACH(the_flag_is_that_of_one_thread);
    RUN_ON_EACH(a_callback_may_write_to_the_flag);
    RUN_ON_EACH(the_flag_ends_a_call_that_waits_for_another);
    RUN_ON_EACH(a_cancelled_write_leaves_the_level_set);
    RUN_BY_BOTH(the_flag_ends_a_converged_mode_in_time);
    RUN_BY_BOTH(the_flag_ends_a_new_level_set_in_time);
    RUN_BY_BOTH(the_flag_ends_a_new_snake_in_time);
    RUN_BY_BOTH(the_flag_ends_region_sums_in_time);
    RUN_BY_BOTH(the_flag_ends_the_filling_of_balls_in_time);
    RUN_BY_BOTH(the_flag_ends_the_filling_of_a_polygon_in_time);
    return summary();
}
