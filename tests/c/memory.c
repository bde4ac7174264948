/* Out of memory: each operation under limits of the address space, from far too little to nearly enough, as `ulimit -v` and
 * the queues of clusters set them. A call succeeds or returns ISOLINE_OUT_OF_MEMORY; no limit ends the process. */
#include "images.h"
#include "process.h"

enum { WIDTH = 700, HEIGHT = 600, DEPTH = 3, COUNT = WIDTH * HEIGHT * DEPTH, LIMITS = 13, TARGETS = 2500 };

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

static void prepare(const char *device) {
#ifdef M_ARENA_MAX
    /* Otherwise each thread reserves 64 MiB of address space for its allocations, before any limit is set. */
    mallopt(M_ARENA_MAX, 1);
#endif
    given.context = open_context(device);
    given.pixels = drawing(WIDTH, HEIGHT, DEPTH, 5);
    given.bytes = (uint8_t *)allocate(COUNT);
    given.floats = unwritten(COUNT);
    given.input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, given.pixels);
    given.byte_output = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, given.bytes);
    given.float_output = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, given.floats);
    given.nodes = (isoline_node *)allocate(4 * TARGETS * sizeof *given.nodes);
    given.offsets = (uint64_t *)allocate((TARGETS + 1) * sizeof *given.offsets);
    for (int i = 0; i < TARGETS; i++) {
        int x = i % 50 * 14, y = i / 50 * 12;
        isoline_node square[] = {{x, y}, {x + 9, y}, {x + 9, y + 9}, {x, y + 9}};
        memcpy(given.nodes + 4 * i, square, sizeof square);
        given.offsets[i] = 4 * (uint64_t)i;
    }
    given.offsets[TARGETS] = 4 * TARGETS;
    isoline_polygons_init(&given.squares, sizeof given.squares);
    given.squares.count = TARGETS;
    given.squares.node_count = 4 * TARGETS;
    given.squares.nodes = given.nodes;
    given.squares.offsets = given.offsets;
    /* Every page is there before memory is limited. */
    memset(given.bytes, 1, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        given.floats[i] = 0;
    }
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

static isoline_status paper(void) {
    return edges(ISOLINE_EDGE_DRAWING_PAPER);
}

static isoline_status reference(void) {
    return edges(ISOLINE_EDGE_DRAWING_REFERENCE);
}

static isoline_status distance(void) {
    return isoline_distance(given.context, &given.input, NULL, NULL, &given.float_output, NULL);
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

static isoline_status isosurface(void) {
    isoline_surface *surface = NULL;
    isoline_status status = isoline_isosurface(given.context, &given.input, NULL, NULL, &surface, NULL);
    CHECK((status == ISOLINE_OK) == (surface != NULL));
    isoline_surface_free(surface);
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

#ifdef _WIN32

/* A process cannot limit its own memory here. */
static void no_limit_ends(const char *device, const char *name, isoline_status (*run)(void)) {
    (void)device;
    (void)name;
    (void)run;
    (void)prepare;
    skip("a process cannot limit its own memory");
}

#else

static void limit_to(rlim_t bytes) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
}

/* Exit statuses of a child. */
enum { ENOUGH = 10, TOO_LITTLE, WRONG };

/* Runs an operation in a child with `more` bytes beside those that it has; how it ended. */
static int with_limit(const char *device, isoline_status (*run)(void), long more) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prepare(device);
        limit_to((rlim_t)address_space_kb() * 1024 + (rlim_t)more);
        isoline_status status = run();
        limit_to(RLIM_INFINITY);
        if (status != ISOLINE_OK && status != ISOLINE_OUT_OF_MEMORY) {
            printf("       %s: %s\n", isoline_status_name(status), isoline_last_error());
            fflush(NULL);
            _exit(WRONG);
        }
        /* The context is usable afterwards. */
        _exit(run() != ISOLINE_OK ? WRONG : status == ISOLINE_OK ? ENOUGH : TOO_LITTLE);
    }
    int state = 0;
    waitpid(child, &state, 0);
    return WIFSIGNALED(state) ? -WTERMSIG(state) : WEXITSTATUS(state);
}

/* The memory, in bytes, that an operation takes at most, as a child measures it. malloc reserves address space that it does
 * not need, and does without where there is a limit. */
static long need_of(const char *device, isoline_status (*run)(void)) {
    int ends[2];
    long need = 0;
    CHECK(pipe(ends) == 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prepare(device);
        long before = status_number("VmHWM:");
        GOOD(run());
        need = (status_number("VmHWM:") - before) * 1024;
        _exit(write(ends[1], &need, sizeof need) != (ssize_t)sizeof need || checks_failed > 0);
    }
    int state = 0;
    waitpid(child, &state, 0);
    CHECK(state == 0 && read(ends[0], &need, sizeof need) == (ssize_t)sizeof need);
    close(ends[0]);
    close(ends[1]);
    return need;
}

static void no_limit_ends(const char *device, const char *name, isoline_status (*run)(void)) {
    if (slow()) {
        skip("an instrument needs more memory than the test allows");
        return;
    }
    long need = need_of(device, run);
    int too_little = 0;
    for (int i = 0; i < LIMITS; i++) {
        long more = need / LIMITS * i + (16 << 10);
        int end = with_limit(device, run, more);
        check_that(end == ENOUGH || end == TOO_LITTLE, __FILE__, __LINE__, "%s with %ld of %ld KiB: %d (%s)", name, more >> 10,
                   need >> 10, end, end < 0 ? strsignal(-end) : "");
        too_little += end == TOO_LITTLE;
    }
    CHECK(too_little > 0);
}

#endif

/* A test for each operation. */
#define OPERATION(run)                                                                                                 \
    static void run##_under_limits(const char *device) { no_limit_ends(device, #run, run); }
OPERATION(iterations)
OPERATION(converged_slices)
OPERATION(converged_volume)
OPERATION(paper)
OPERATION(reference)
OPERATION(lines)
OPERATION(distance)
OPERATION(isolines)
OPERATION(isosurface)
OPERATION(level_set)
OPERATION(snakes)

int main(void) {
    RUN(iterations_under_limits);
    RUN(converged_slices_under_limits);
    RUN(converged_volume_under_limits);
    RUN(paper_under_limits);
    RUN(reference_under_limits);
    RUN(lines_under_limits);
    RUN(distance_under_limits);
    RUN(isolines_under_limits);
    RUN(isosurface_under_limits);
    RUN(level_set_under_limits);
    RUN(snakes_under_limits);
    return summary();
}
