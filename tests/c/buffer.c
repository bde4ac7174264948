/* Buffers: what they can be used for, reuse, misuse, threads, forks. driver.c has what a CUDA driver may refuse. */
#include "images.h"
#include "process.h"
#include "watch.h"

#include <inttypes.h>
#include <pthread.h>

static int ended_well(pid_t child) {
    int state = -1;
    return child > 0 && waitpid(child, &state, 0) == child && state == 0;
}

static const size_t MIB = (size_t)1 << 20;

static void *new_buffer(isoline_context *context, size_t bytes) {
    void *buffer = NULL;
    if (!GOOD(isoline_buffer_new(context, bytes, &buffer)) || !CHECK(buffer != NULL)) {
        exit(1);
    }
    return buffer;
}

static int is_filled(const void *memory, size_t bytes, int value) {
    const unsigned char *first = (const unsigned char *)memory;
    return bytes == 0 || (first[0] == (unsigned char)value && memcmp(first, first + 1, bytes - 1) == 0);
}

/* A call from one buffer to another: distances of a single pixel. */
static void use(isoline_context *context, uint8_t *mask, float *distances, size_t side) {
    isoline_distance_params params;
    GOOD(isoline_distance_params_init(&params, sizeof params));
    memset(mask, 0, side * side);
    mask[side + 1] = 255;
    isoline_image input = describe(ISOLINE_U8, side, side, 1, mask);
    isoline_image output = describe(ISOLINE_F32, side, side, 1, distances);
    GOOD(isoline_distance(context, &input, &params, NULL, &output, NULL));
    CHECK(distances[side + 1] == -0.5f && distances[side + 2] == 0.5f && distances[side + side - 1] == (float)side - 2.5f);
}

/* The warnings that were logged. */
static int warnings;
static char last_warning[512];

static void count_warnings(void *user, uint32_t level, const char *message) {
    (void)user;
    if (level == ISOLINE_LOG_WARN) {
        warnings++;
        snprintf(last_warning, sizeof last_warning, "%s", message);
    }
}

static void null_is_refused(const char *device) {
    isoline_context *context = open_context(device);
    void *untouched = &context, *out = untouched;
    REFUSED(isoline_buffer_new(NULL, 1, &out), ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_buffer_new(context, 1, NULL), ISOLINE_NULL_POINTER, "out");
    CHECK(out == untouched);
    isoline_buffer_free(NULL);
    isoline_context_free(context);
}

static void sizes_that_cannot_be_are_refused(const char *device) {
    isoline_context *context = open_context(device);
    void *untouched = &context, *out = untouched;
    const size_t sizes[] = {0, SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX - 4096, SIZE_MAX / 4 + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char got[32];
        snprintf(got, sizeof got, "(got %zu)", sizes[i]);
        REFUSED(isoline_buffer_new(context, sizes[i], &out), ISOLINE_INVALID_SIZE, got);
    }
    if (!slow()) {
        REFUSED(isoline_buffer_new(context, SIZE_MAX / 4, &out), ISOLINE_OUT_OF_MEMORY, "host memory");
        REFUSED(isoline_buffer_new(context, (size_t)1 << 47, &out), ISOLINE_OUT_OF_MEMORY, "128.0 TiB");
    }
    CHECK(out == untouched);
    isoline_context_free(context);
}

static void without_memory_a_buffer_is_refused(const char *device) {
    if (slow()) {
        skip("an instrument needs more memory than the test allows");
        return;
    }
    enum { SIDE = 200 };
    isoline_context *context = open_context(device);
    void *untouched = &context, *out = untouched, *kept[2];
    /* After a call the threads have what they need. */
    kept[0] = new_buffer(context, SIDE * SIDE);
    kept[1] = new_buffer(context, SIDE * SIDE * sizeof(float));
    use(context, (uint8_t *)kept[0], (float *)kept[1], SIDE);
    isoline_buffer_free(kept[0]);
    isoline_buffer_free(kept[1]);
    allow_only(1000 * MIB);
    REFUSED(isoline_buffer_new(context, 1100 * MIB, &out), ISOLINE_OUT_OF_MEMORY, "close other programs");
    CHECK(out == untouched);
    /* The memory of freed buffers is given up for one that needs it; that of others is not. */
    for (int i = 0; i < 2; i++) {
        kept[i] = new_buffer(context, 350 * MIB);
    }
    REFUSED(isoline_buffer_new(context, 700 * MIB, &out), ISOLINE_OUT_OF_MEMORY, "host memory");
    isoline_buffer_free(kept[0]);
    isoline_buffer_free(kept[1]);
    void *large = new_buffer(context, 800 * MIB);
    memset(large, 1, MIB);
    isoline_buffer_free(large);
    isoline_context_free(context);
}

static void all_bytes_can_be_used(const char *device) {
    isoline_context *context = open_context(device);
    const size_t sizes[] = {1, 3, 4095, 4096, 65536, 65537, 2 * MIB - 1, 2 * MIB, 5 * MIB + 1, 20 * MIB};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    void *buffers[SIZES];
    for (int i = 0; i < SIZES; i++) {
        buffers[i] = new_buffer(context, sizes[i]);
        CHECK_NUMBER((uintptr_t)buffers[i] % (sizes[i] < 2 * MIB ? 65536 : 2 * MIB), 0);
        memset(buffers[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < SIZES; i++) {
        CHECK(is_filled(buffers[i], sizes[i], i + 1));
        isoline_buffer_free(buffers[i]);
    }
    isoline_context_free(context);
}

static void a_freed_buffer_is_used_again_until_the_trim(const char *device) {
    isoline_context *context = open_context(device);
    const size_t bytes = 32 * MIB;
    char *first = (char *)new_buffer(context, bytes);
    memset(first, 1, bytes);
    isoline_buffer_free(first);
    char *again = (char *)new_buffer(context, bytes - 5 * MIB);
    CHECK(again == first);
    char *other = (char *)new_buffer(context, bytes);
    CHECK(other != first);
    isoline_buffer_free(again);
    char *small = (char *)new_buffer(context, MIB);
    CHECK(small < first || small >= first + bytes);
    isoline_buffer_free(other);
    isoline_buffer_free(small);
    /* Every size that takes the same memory is served from it. */
    void *byte = new_buffer(context, 1);
    isoline_buffer_free(byte);
    CHECK(new_buffer(context, 65536) == byte);
    isoline_buffer_free(byte);
    long before = resident_bytes();
    GOOD(isoline_context_trim(context));
    CHECK(slow() || before - resident_bytes() >= (long)(bytes - 4 * MIB));
    void *fresh = new_buffer(context, bytes);
    memset(fresh, 2, bytes);
    isoline_buffer_free(fresh);
    isoline_context_free(context);
}

/* The memory is never touched, so that this needs address space only. */
static void at_most_a_gibibyte_is_kept(const char *device) {
    enum { MANY = 6 };
    if (slow()) {
        skip("an instrument has an allocator of its own");
        return;
    }
    isoline_context *context = open_context(device);
    void *buffers[MANY];
    long before = address_space_kb();
    for (int i = 0; i < MANY; i++) {
        buffers[i] = new_buffer(context, 300 * MIB);
    }
    CHECK(address_space_kb() - before >= MANY * 300 * 1024);
    for (int i = 0; i < MANY; i++) {
        isoline_buffer_free(buffers[i]);
    }
    long kept = address_space_kb() - before;
    CHECK(kept >= 3 * 300 * 1024 && kept <= 1024 * 1024);
    void *huge = new_buffer(context, 1100 * MIB);
    isoline_buffer_free(huge);
    CHECK(address_space_kb() - before <= 1024 * 1024);
    isoline_context_free(context);
    CHECK(address_space_kb() - before <= 64 * 1024);
}

static void a_buffer_outlives_its_context(const char *device) {
    enum { SIDE = 600 };
    isoline_context *context = open_context(device);
    uint8_t *mask = (uint8_t *)new_buffer(context, SIDE * SIDE);
    float *distances = (float *)new_buffer(context, SIDE * SIDE * sizeof(float));
    isoline_context_free(context);
    const char *const devices[] = {"cpu", device};
    for (int i = 0; i < 2; i++) {
        memset(distances, 0, SIDE * SIDE * sizeof(float));
        context = open_context(devices[i]);
        use(context, mask, distances, SIDE);
        isoline_context_free(context);
    }
    isoline_buffer_free(mask);
    isoline_buffer_free(distances);
}

static void an_address_that_is_no_buffer_is_ignored(const char *device) {
    isoline_context *context = open_context(device);
    GOOD(isoline_set_logger(count_warnings, NULL, ISOLINE_LOG_WARN));
    char *buffer = (char *)new_buffer(context, 3 * MIB), *gone = (char *)new_buffer(context, 3 * MIB);
    memset(buffer, 7, 3 * MIB);
    isoline_buffer_free(gone);
    CHECK_NUMBER(warnings, 0);
    void *heap = allocate(100);
    char local = 0;
    void *const wrong[] = {gone, gone, buffer + 1, buffer - 4096, buffer + 3 * MIB, heap, &local, context,
                           (void *)(uintptr_t)1, (void *)UINTPTR_MAX};
    for (int i = 0; i < (int)(sizeof wrong / sizeof wrong[0]); i++) {
        isoline_buffer_free(wrong[i]);
        char address[32];
        snprintf(address, sizeof address, "0x%" PRIxPTR, (uintptr_t)wrong[i]);
        CHECK_NUMBER(warnings, i + 1);
        CHECK_HAS(last_warning, address);
        CHECK_HAS(last_warning, "isoline_buffer_free ignores");
    }
    CHECK(is_filled(buffer, 3 * MIB, 7));
    free(heap);
    isoline_context_free(context);
    isoline_buffer_free(buffer);
    isoline_buffer_free(buffer);
    CHECK_NUMBER(warnings, (int)(sizeof wrong / sizeof wrong[0]) + 1);
    GOOD(isoline_set_logger(NULL, NULL, ISOLINE_LOG_OFF));
}

/* Memory of one kind, and the results of all operations in it, one after the other. */
typedef struct {
    isoline_context *context;
    int in_buffers;
    void *taken[32];
    int count;
    uint8_t *results;
    size_t bytes;
} memory;

static void *take(memory *from, size_t bytes) {
    void *taken = from->in_buffers ? new_buffer(from->context, bytes) : allocate(bytes);
    memset(taken, 77, bytes);
    from->taken[from->count++] = taken;
    return taken;
}

static isoline_image image_in(memory *from, uint32_t type, size_t width, size_t height, size_t depth) {
    const size_t bytes = type == ISOLINE_F32 ? 4 : type == ISOLINE_U16 ? 2 : 1;
    return describe(type, width, height, depth, take(from, width * height * depth * bytes));
}

static void keep_result(memory *of, const isoline_image *image) {
    const size_t pixel = image->type == ISOLINE_F32 ? 4 : image->type == ISOLINE_U16 ? 2 : 1;
    const size_t bytes = image->width * image->height * image->depth * pixel;
    CHECK(!is_filled(image->data, bytes, 77));
    of->results = (uint8_t *)realloc(of->results, of->bytes + bytes);
    memcpy(of->results + of->bytes, image->data, bytes);
    of->bytes += bytes;
}

static memory all_operations(const char *device, int in_buffers) {
    enum { WIDTH = 71, HEIGHT = 60, DEPTH = 9 };
    memory made;
    memset(&made, 0, sizeof made);
    made.context = open_context(device);
    made.in_buffers = in_buffers;
    isoline_image input = image_in(&made, ISOLINE_U8, WIDTH, HEIGHT, DEPTH);
    uint8_t *pixels = drawing(WIDTH, HEIGHT, DEPTH, 3);
    memcpy(input.data, pixels, WIDTH * HEIGHT * DEPTH);
    free(pixels);

    isoline_image strength = image_in(&made, ISOLINE_F32, WIDTH, HEIGHT, DEPTH);
    isoline_edge_strength_params edge_strength = for_drawing(20);
    GOOD(isoline_edge_strength(made.context, &input, &edge_strength, NULL, &strength, NULL));
    keep_result(&made, &strength);

    isoline_edge_drawing_params edge_drawing;
    GOOD(isoline_edge_drawing_params_init(&edge_drawing, sizeof edge_drawing));
    isoline_image edges = image_in(&made, ISOLINE_U8, WIDTH, HEIGHT, DEPTH);
    isoline_segments *segments = NULL;
    GOOD(isoline_edge_drawing(made.context, &input, &edge_drawing, NULL, &edges, &segments, NULL));
    isoline_segments_free(segments);
    keep_result(&made, &edges);
    isoline_image maps[4] = {image_in(&made, ISOLINE_U8, WIDTH, HEIGHT, DEPTH), image_in(&made, ISOLINE_F32, WIDTH, HEIGHT, DEPTH),
                             image_in(&made, ISOLINE_U8, WIDTH, HEIGHT, DEPTH), image_in(&made, ISOLINE_U8, WIDTH, HEIGHT, DEPTH)};
    GOOD(isoline_edge_drawing_maps(made.context, &input, &edge_drawing, NULL, &maps[0], &maps[1], &maps[2], &maps[3], NULL));
    for (int i = 0; i < 4; i++) {
        keep_result(&made, &maps[i]);
    }

    isoline_distance_params distance;
    GOOD(isoline_distance_params_init(&distance, sizeof distance));
    distance.threshold = 127;
    isoline_image distances = image_in(&made, ISOLINE_F32, WIDTH, HEIGHT, DEPTH);
    GOOD(isoline_distance(made.context, &input, &distance, NULL, &distances, NULL));
    keep_result(&made, &distances);

    isoline_image start = image_in(&made, ISOLINE_U8, WIDTH, HEIGHT, DEPTH);
    memset(start.data, 0, WIDTH * HEIGHT * DEPTH);
    const isoline_sphere ball = {{35, 30, 4}, 9};
    GOOD(isoline_mask_fill_spheres(&start, &ball, 1, 255));
    keep_result(&made, &start);
    isoline_level_set_params level_set;
    GOOD(isoline_level_set_params_init(&level_set, sizeof level_set));
    isoline_level_set *surface = NULL;
    isoline_image phi = image_in(&made, ISOLINE_F32, WIDTH, HEIGHT, DEPTH), inside = image_in(&made, ISOLINE_U8, WIDTH, HEIGHT, DEPTH);
    if (GOOD(isoline_level_set_new(made.context, &input, &start, &level_set, &surface))) {
        GOOD(isoline_level_set_step(surface, 12, NULL, NULL));
        GOOD(isoline_level_set_read_phi(surface, &phi));
        GOOD(isoline_level_set_read_mask(surface, &inside));
        GOOD(isoline_level_set_write_phi(surface, &phi));
        isoline_level_set_free(surface);
    }
    keep_result(&made, &phi);
    keep_result(&made, &inside);

    isoline_image slice = input, labels = image_in(&made, ISOLINE_U16, WIDTH, HEIGHT, 1);
    slice.depth = 1;
    isoline_snake *snake = NULL;
    GOOD(isoline_snake_run(made.context, &slice, NULL, NULL, NULL, &labels, &snake, NULL));
    isoline_snake_free(snake);
    keep_result(&made, &labels);

    for (int i = 0; i < made.count; i++) {
        if (in_buffers) {
            isoline_buffer_free(made.taken[i]);
        } else {
            free(made.taken[i]);
        }
    }
    isoline_context_free(made.context);
    return made;
}

static void every_operation_takes_and_fills_buffers(const char *device) {
    memory plain = all_operations(device, 0), buffers = all_operations(device, 1);
    CHECK_NUMBER(buffers.bytes, plain.bytes);
    CHECK(memcmp(plain.results, buffers.results, plain.bytes) == 0);
    free(plain.results);
    free(buffers.results);
}

/* A stack with gaps between rows and slices, in a buffer: only the pixels are written. */
static void gaps_in_a_buffer_are_left_alone(const char *device) {
    enum { WIDTH = 50, HEIGHT = 40, DEPTH = 3, ROW = 64, SLICE = ROW * (HEIGHT + 2) };
    isoline_context *context = open_context(device);
    float *buffer = (float *)new_buffer(context, SLICE * DEPTH * sizeof(float));
    for (int i = 0; i < SLICE * DEPTH; i++) {
        buffer[i] = UNWRITTEN;
    }
    uint8_t *pixels = drawing(WIDTH, HEIGHT, DEPTH, 8);
    isoline_image input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, pixels);
    isoline_image output = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, buffer);
    output.row_stride = ROW * sizeof(float);
    output.slice_stride = SLICE * sizeof(float);
    isoline_edge_strength_params params = for_drawing(3);
    GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL));
    int wrong = 0;
    for (int i = 0; i < SLICE * DEPTH; i++) {
        const int is_pixel = i % ROW < WIDTH && i % SLICE / ROW < HEIGHT;
        wrong += (buffer[i] == UNWRITTEN) == is_pixel;
    }
    CHECK_NUMBER(wrong, 0);
    free(pixels);
    isoline_buffer_free(buffer);
    isoline_context_free(context);
}

typedef struct {
    pthread_t thread;
    isoline_context *context;
    int number, rounds, wrong;
} worker;

static void *make_fill_and_free(void *user) {
    worker *me = (worker *)user;
    uint32_t seed = (uint32_t)me->number;
    for (int i = 0; i < me->rounds; i++) {
        const size_t bytes = 1 + next_random(&seed) % (i % 8 == 0 ? 8 * MIB : 100000);
        void *buffer = NULL;
        me->wrong += isoline_buffer_new(me->context, bytes, &buffer) != ISOLINE_OK;
        if (buffer != NULL) {
            memset(buffer, me->number, bytes);
            me->wrong += !is_filled(buffer, bytes, me->number);
            isoline_buffer_free(buffer);
        }
    }
    return NULL;
}

static void many_threads_make_and_free(const char *device) {
    enum { THREADS = 12 };
    worker workers[THREADS];
    isoline_context *context = open_context(device);
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < THREADS; i++) {
        workers[i].context = context;
        workers[i].number = i + 1;
        workers[i].rounds = (int)scaled(400, 10);
        pthread_create(&workers[i].thread, NULL, make_fill_and_free, &workers[i]);
    }
    for (int i = 0; i < 20; i++) {
        GOOD(isoline_context_trim(context));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK_NUMBER(workers[i].wrong, 0);
    }
    isoline_context_free(context);
}

static int make_in_callback(void *user, double fraction, const char *stage) {
    worker *me = (worker *)user;
    (void)fraction;
    (void)stage;
    me->rounds = 2;
    make_fill_and_free(me);
    return 0;
}

static void a_callback_may_make_buffers(const char *device) {
    enum { SIDE = 200 };
    worker me;
    memset(&me, 0, sizeof me);
    me.context = open_context(device);
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    progress.callback = make_in_callback;
    progress.user = &me;
    uint8_t *pixels = drawing(SIDE, SIDE, 2, 1);
    float *strength = unwritten(SIDE * SIDE * 2);
    isoline_image input = describe(ISOLINE_U8, SIDE, SIDE, 2, pixels), output = describe(ISOLINE_F32, SIDE, SIDE, 2, strength);
    isoline_edge_strength_params params = for_drawing(50);
    GOOD(isoline_edge_strength(me.context, &input, &params, &progress, &output, NULL));
    CHECK(me.rounds == 2 && me.wrong == 0);
    free(strength);
    free(pixels);
    isoline_context_free(me.context);
}

static int skips_forks(void) {
    if (strcmp(instrument(), "wine") == 0) {
        skip("Windows has no fork");
        return 1;
    }
    if (strcmp(instrument(), "valgrind") != 0) {
        return 0;
    }
    skip("valgrind takes for lost what the threads own that a child does not have");
    return 1;
}

/* Ends a child of a test, which writes what its checks have found. The parent has flushed its own text before the fork. */
static void end_child(void) {
    fflush(stdout);
    _exit(checks_failed > 0);
}

/* The child has the buffer's memory as its own; it frees nothing of the parent's and the parent goes on. */
static void a_fork_leaves_the_parents_buffers_alone(const char *device) {
    enum { SIDE = 700 };
    if (skips_forks()) {
        return;
    }
    isoline_context *context = open_context(device);
    GOOD(isoline_set_logger(count_warnings, NULL, ISOLINE_LOG_WARN));
    uint8_t *mask = (uint8_t *)new_buffer(context, SIDE * SIDE);
    float *distances = (float *)new_buffer(context, SIDE * SIDE * sizeof(float));
    memset(mask, 5, SIDE * SIDE);
    const int page_locked = strcmp(device, "cpu") != 0;
    for (int round = 0; round < 3; round++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            CHECK(page_locked || is_filled(mask, SIDE * SIDE, 5));
            memset(mask, 9, SIDE * SIDE);
            isoline_buffer_free(mask);
            isoline_buffer_free(distances);
            CHECK_NUMBER(warnings, 2);
            CHECK(is_filled(mask, SIDE * SIDE, 9));
            end_child();
        }
        CHECK(ended_well(child));
        CHECK(is_filled(mask, SIDE * SIDE, 5));
        use(context, mask, distances, SIDE);
        memset(mask, 5, SIDE * SIDE);
    }
    CHECK_NUMBER(warnings, 0);
    isoline_buffer_free(mask);
    isoline_buffer_free(distances);
    CHECK_NUMBER(warnings, 0);
    isoline_context_free(context);
    GOOD(isoline_set_logger(NULL, NULL, ISOLINE_LOG_OFF));
}

/* The child has none of the threads of the parent's contexts; one that it makes has its own. */
static void the_child_of_a_fork_may_make_a_context(const char *device) {
    enum { SIDE = 700 };
    if (skips_forks()) {
        return;
    }
    if (strcmp(instrument(), "qemu") == 0) {
        skip("QEMU 7.2 ends with an assertion of its own when such a child starts threads");
        return;
    }
    isoline_context *context = open_context(device);
    uint8_t *mask = (uint8_t *)new_buffer(context, SIDE * SIDE);
    float *distances = (float *)new_buffer(context, SIDE * SIDE * sizeof(float));
    use(context, mask, distances, SIDE);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        isoline_context *own = open_context("cpu");
        uint8_t *input = (uint8_t *)new_buffer(own, SIDE * SIDE);
        float *output = (float *)new_buffer(own, SIDE * SIDE * sizeof(float));
        use(own, input, output, SIDE);
        isoline_buffer_free(input);
        isoline_buffer_free(output);
        isoline_context_free(own);
        end_child();
    }
    CHECK(ended_well(child));
    use(context, mask, distances, SIDE);
    isoline_buffer_free(mask);
    isoline_buffer_free(distances);
    isoline_context_free(context);
}

/* Objects of the parent are refused with a sentence, instead of waiting for threads that are not there. */
static void the_child_of_a_fork_is_refused_the_parents_objects(const char *device) {
    enum { SIDE = 64 };
    if (skips_forks()) {
        return;
    }
    static uint8_t pixels[SIDE * SIDE], start[SIDE * SIDE];
    static float distances[SIDE * SIDE];
    memset(start, 0, sizeof start);
    start[SIDE * SIDE / 2] = 1;
    isoline_context *context = open_context(device);
    isoline_image image = describe(ISOLINE_U8, SIDE, SIDE, 1, pixels), mask = describe(ISOLINE_U8, SIDE, SIDE, 1, start);
    isoline_level_set *surface = NULL;
    isoline_snake *snake = NULL;
    GOOD(isoline_level_set_new(context, &image, &mask, NULL, &surface));
    GOOD(isoline_snake_new(context, &image, NULL, NULL, &snake));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, 1, distances);
        CHECK(isoline_distance(context, &mask, NULL, NULL, &output, NULL) == ISOLINE_UNSUPPORTED);
        CHECK(strstr(isoline_last_error(), "make a context of its own") != NULL);
        CHECK(isoline_level_set_step(surface, 1, NULL, NULL) == ISOLINE_UNSUPPORTED);
        CHECK(isoline_snake_step(snake, 1, NULL, NULL) == ISOLINE_UNSUPPORTED);
        isoline_device info;
        void *buffer = NULL;
        GOOD(isoline_device_init(&info, sizeof info));
        CHECK(isoline_context_device(context, &info) == ISOLINE_UNSUPPORTED);
        CHECK(isoline_context_set_memory_limit(context, 0) == ISOLINE_UNSUPPORTED);
        CHECK(isoline_context_trim(context) == ISOLINE_UNSUPPORTED);
        CHECK(isoline_buffer_new(context, 100, &buffer) == ISOLINE_UNSUPPORTED && buffer == NULL);
        isoline_level_set_free(surface);
        isoline_snake_free(snake);
        isoline_context_free(context);
        end_child();
    }
    CHECK(ended_well(child));
    GOOD(isoline_level_set_step(surface, 1, NULL, NULL));
    isoline_snake_free(snake);
    isoline_level_set_free(surface);
    isoline_context_free(context);
}

/* A fork may come while another thread holds whatever the library locks. */
static void a_child_of_many_threads_can_free(const char *device) {
    enum { FORKS = 50 };
    if (skips_forks()) {
        return;
    }
    worker other;
    memset(&other, 0, sizeof other);
    other.context = open_context(device);
    other.number = 1;
    other.rounds = (int)scaled(20000, 300);
    void *buffer = new_buffer(other.context, 100);
    pthread_create(&other.thread, NULL, make_fill_and_free, &other);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            isoline_buffer_free(buffer);
            _exit(0);
        }
        CHECK(ended_well(child));
    }
    pthread_join(other.thread, NULL);
    CHECK_NUMBER(other.wrong, 0);
    isoline_buffer_free(buffer);
    isoline_context_free(other.context);
}

static void *make_contexts_and_loggers(void *user) {
    const int *is_over = (const int *)user;
    while (!__atomic_load_n(is_over, __ATOMIC_SEQ_CST)) {
        isoline_context *context = open_context("cpu");
        GOOD(isoline_set_logger(count_warnings, NULL, ISOLINE_LOG_DEBUG));
        isoline_context_free(context);
        GOOD(isoline_set_logger(NULL, NULL, ISOLINE_LOG_OFF));
    }
    return NULL;
}

static void a_child_of_many_threads_can_make_a_context(const char *device) {
    enum { SIDE = 64, FORKS = 300 };
    if (slow()) {
        skip("in such a child the instrument's own locks stay locked");
        return;
    }
    int is_over = 0;
    pthread_t other;
    fflush(stdout);
    pthread_create(&other, NULL, make_contexts_and_loggers, &is_over);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            isoline_context *own = open_context(device);
            uint8_t *input = (uint8_t *)new_buffer(own, SIDE * SIDE);
            float *output = (float *)new_buffer(own, SIDE * SIDE * sizeof(float));
            use(own, input, output, SIDE);
            GOOD(isoline_set_logger(count_warnings, NULL, ISOLINE_LOG_DEBUG));
            end_child();
        }
        CHECK(ended_well(child));
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    pthread_join(other, NULL);
}

static void *make_a_context(void *unused) {
    isoline_context_free(open_context("cpu"));
    return unused;
}

static void a_child_of_a_first_call_can_make_a_context(const char *device) {
    enum { ROUNDS = 400, DELAY = 20 };
    if (slow()) {
        skip("in such a child the instrument's own locks stay locked");
        return;
    }
    fflush(stdout);
    for (int round = 0; round < ROUNDS; round++) {
        /* This process has not called the library, so that each round has a first call. */
        pid_t fresh = fork();
        if (fresh == 0) {
            pthread_t other;
            pthread_create(&other, NULL, make_a_context, NULL);
            for (volatile int i = 0; i < round * DELAY; i++) {
            }
            pid_t child = fork();
            if (child == 0) {
                alarm(20);
                isoline_context_free(open_context(device));
                end_child();
            }
            CHECK(ended_well(child));
            pthread_join(other, NULL);
            end_child();
        }
        if (!CHECK(ended_well(fresh))) {
            return;
        }
    }
}

static void make_and_free(void *context) {
    const size_t sizes[] = {1, 70000, 3 * MIB};
    void *buffers[3];
    for (int i = 0; i < 3; i++) {
        buffers[i] = new_buffer((isoline_context *)context, sizes[i]);
    }
    for (int i = 0; i < 3; i++) {
        isoline_buffer_free(buffers[i]);
    }
    GOOD(isoline_context_trim((isoline_context *)context));
}

static void cycles_of_making_and_freeing_do_not_grow(const char *device) {
    isoline_context *context = open_context(device);
    must_not_grow(make_and_free, context, (int)scaled(20, 2), (int)scaled(400, 10));
    isoline_context_free(context);
}

int main(void) {
    RUN_ON_EACH(null_is_refused);
    RUN_ON_EACH(sizes_that_cannot_be_are_refused);
    RUN(without_memory_a_buffer_is_refused);
    RUN_ON_EACH(all_bytes_can_be_used);
    RUN_ON_EACH(a_freed_buffer_is_used_again_until_the_trim);
    RUN(at_most_a_gibibyte_is_kept);
    RUN_ON_EACH(a_buffer_outlives_its_context);
    RUN_ON_EACH(an_address_that_is_no_buffer_is_ignored);
    RUN_ON_EACH(every_operation_takes_and_fills_buffers);
    RUN_ON_EACH(gaps_in_a_buffer_are_left_alone);
    RUN_ON_EACH(many_threads_make_and_free);
    RUN_ON_EACH(a_callback_may_make_buffers);
    RUN_ON_EACH(a_fork_leaves_the_parents_buffers_alone);
    RUN_ON(the_child_of_a_fork_may_make_a_context, "cpu");
    RUN_ON_EACH(the_child_of_a_fork_is_refused_the_parents_objects);
    RUN_ON_EACH(a_child_of_many_threads_can_free);
    RUN_ON(a_child_of_many_threads_can_make_a_context, "cpu");
    RUN_ON(a_child_of_a_first_call_can_make_a_context, "cpu");
    RUN_ON_EACH(cycles_of_making_and_freeing_do_not_grow);
    return summary();
}
