/* The library with CUDA drivers that are complete, old, broken or lack functions. They are fakes (drivers/cuda.c), so that
 * any machine can run the test; the results of a real driver are tested where there is a GPU. */
#include "fake_driver.h"
#include "in_time.h"
#include "surfaces.h"

#include <pthread.h>

/* CUDA is one entry whose reason contains `why`; by name it is refused, and auto selects the CPU. */
static void cuda_is_unusable(const char *why) {
    CHECK_NUMBER(isoline_device_count(), 2);
    isoline_device entry = told(1);
    CHECK_TEXT(entry.id, "cuda");
    CHECK_NUMBER(entry.usable, 0);
    CHECK_HAS(entry.reason, why);
    const char *const texts[] = {"cuda", "cuda:0", "cuda:7"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        isoline_context *context = NULL;
        REFUSED(isoline_context_new(texts[i], &context), ISOLINE_DEVICE_UNAVAILABLE, why);
    }
    isoline_context *context = NULL;
    GOOD(isoline_context_new("auto", &context));
    GOOD(isoline_context_device(context, &entry));
    CHECK_TEXT(entry.id, "cpu");
    CHECK_HAS(entry.reason, why);
    isoline_context_free(context);
    CHECK_NUMBER(*fake.opened, 0);
}

static void counting_and_refusing_open_no_device(const char *device) {
    (void)device;
    if (!with_driver("whole")) {
        return;
    }
    for (int round = 0; round < 100; round++) {
        isoline_device entry;
        isoline_context *context = NULL;
        CHECK_NUMBER(isoline_device_count(), 3);
        GOOD(isoline_device_init(&entry, sizeof entry));
        REFUSED(isoline_device_info(3, &entry), ISOLINE_INVALID_ARGUMENT, "less than 3");
        REFUSED(isoline_context_new("cuda:2", &context), ISOLINE_DEVICE_UNAVAILABLE, "cuda:0 to cuda:1");
        REFUSED(isoline_context_new("nonsense", &context), ISOLINE_INVALID_ARGUMENT, "nonsense");
    }
    CHECK_NUMBER(*fake.starts, 1);
    CHECK_NUMBER(*fake.opened, 0);
}

static void an_entry_opens_its_device_only_and_closes_it(const char *device) {
    (void)device;
    if (!with_driver("whole")) {
        return;
    }
    isoline_device entry = told(2);
    CHECK_TEXT(entry.id, "cuda:1");
    CHECK_TEXT(entry.name, "Fake 1");
    CHECK_NUMBER(entry.usable, 1);
    CHECK(entry.compute_major == 9 && entry.compute_minor == 0 && entry.multiprocessors == 132);
    CHECK_NUMBER(entry.driver_version, 13000);
    CHECK_NUMBER(entry.free_memory, (uint64_t)5 << 30);
    CHECK_NUMBER(entry.total_memory, (uint64_t)7 << 30);
    CHECK_NUMBER(*fake.opened, 1);
    CHECK_NUMBER(*fake.closed, 1);
}

static void a_context_opens_its_device_once(const char *device) {
    (void)device;
    if (!with_driver("whole")) {
        return;
    }
    const char *const texts[][2] = {{"cuda:1", "cuda:1"}, {"cuda", "cuda:0"}};
    for (int i = 0; i < 2; i++) {
        isoline_context *context = open_context(texts[i][0]);
        isoline_device entry = told(0);
        GOOD(isoline_context_device(context, &entry));
        CHECK_TEXT(entry.id, texts[i][1]);
        isoline_context_free(context);
        CHECK_NUMBER(*fake.opened, i + 1);
        CHECK_NUMBER(*fake.closed, i + 1);
    }
}

static void *buffer_of(isoline_context *context, size_t bytes) {
    void *buffer = NULL;
    if (!GOOD(isoline_buffer_new(context, bytes, &buffer))) {
        exit(1);
    }
    memset(buffer, 3, bytes);
    return buffer;
}

/* Returns the CUDA context that is current on this thread. */
static void *current_context(void) {
    void *current = NULL;
    CHECK_NUMBER(fake.get_current(&current), 0);
    return current;
}

static void a_call_leaves_the_current_context_as_it_was(const char *device) {
    (void)device;
    if (!with_driver("whole")) {
        return;
    }
    int places[2];
    /* The first call loads the driver, and the program may use it before. */
    CHECK_NUMBER(fake.set_current(&places[0]), 0);
    isoline_context *context = open_context("cuda:1");
    CHECK(current_context() == &places[0]);
    void *const callers[] = {&places[1], NULL};
    for (int i = 0; i < 2; i++) {
        CHECK_NUMBER(fake.set_current(callers[i]), 0);
        void *buffer = buffer_of(context, 1 << 20);
        CHECK(current_context() == callers[i]);
        isoline_buffer_free(buffer);
        (void)told(2);
        CHECK(current_context() == callers[i]);
    }
    CHECK_NUMBER(fake.set_current(&places[0]), 0);
    isoline_context_free(context);
    CHECK(current_context() == &places[0]);
}

typedef struct {
    void *other;
    int calls, kept;
} switching;

static int make_another_context_current(void *user, double fraction, const char *stage) {
    (void)fraction;
    (void)stage;
    switching *const me = (switching *)user;
    me->calls++;
    me->kept += current_context() == me->other;
    CHECK_NUMBER(fake.set_current(me->other), 0);
    return 0;
}

/* A callback that computes with another library does so. */
static void a_callback_may_make_another_context_current(const char *device) {
    enum { SIDE = 64, SLICES = 40 };
    (void)device;
    setenv("FAKE_WORKS", "1", 1);
    if (!with_driver("whole")) {
        return;
    }
    isoline_context *context = open_context("cuda:0");
    uint8_t *pixels = drawing(SIDE, SIDE, SLICES, 5);
    isoline_image input = describe(ISOLINE_U8, SIDE, SIDE, SLICES, pixels);
    int place;
    switching me = {&place, 0, 0};
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    progress.callback = make_another_context_current;
    progress.user = &me;
    /* The callback comes before a launch in about half of the runs. */
    isoline_surface *surface = NULL;
    GOOD(isoline_isosurface(context, &input, NULL, &progress, &surface, NULL));
    isoline_surface_free(surface);
    CHECK(me.calls > 0 && me.kept == 0 && current_context() != &place);
    isoline_context_free(context);
    free(pixels);
}

static void a_list_opens_each_of_its_devices_once(const char *device) {
    (void)device;
    if (!with_driver("whole")) {
        return;
    }
    const char *const texts[][3] = {{"cuda:0,1", "cuda:0", "cuda:0, cuda:1"},
                                    {" cuda:1,0\n", "cuda:1", "cuda:1, cuda:0"},
                                    {"cuda:all", "cuda:0", "cuda:0, cuda:1"}};
    for (int i = 0; i < 3; i++) {
        isoline_context *context = open_context(texts[i][0]);
        isoline_device entry = told(0);
        GOOD(isoline_context_device(context, &entry));
        CHECK_TEXT(entry.id, texts[i][1]);
        CHECK_HAS(entry.reason, texts[i][2]);
        GOOD(isoline_context_set_memory_limit(context, 1000));
        GOOD(isoline_context_trim(context));
        isoline_context_free(context);
        CHECK_NUMBER(*fake.opened, 2 * (i + 1));
        CHECK_NUMBER(*fake.closed, 2 * (i + 1));
    }
    isoline_context *context = NULL;
    REFUSED(isoline_context_new("cuda:0,2", &context), ISOLINE_DEVICE_UNAVAILABLE, "cuda:0 to cuda:1");
    CHECK_HAS(isoline_last_error(), "cannot open the devices cuda:0,2");
    CHECK_NUMBER(*fake.opened, *fake.closed);
}

static void a_list_needs_each_of_its_devices_and_all_takes_those_that_work(const char *device) {
    (void)device;
    setenv("FAKE_BROKEN", "0", 1);
    if (!with_driver("whole")) {
        return;
    }
    isoline_context *context = NULL;
    REFUSED(isoline_context_new("cuda:1,0", &context), ISOLINE_DEVICE_UNAVAILABLE, "cuda:0 is not (");
    CHECK_HAS(isoline_last_error(), "out of memory");
    CHECK_NUMBER(*fake.opened, *fake.closed);
    context = open_context("cuda:all");
    isoline_device entry = told(0);
    GOOD(isoline_context_device(context, &entry));
    CHECK_TEXT(entry.id, "cuda:1");
    CHECK_HAS(entry.reason, "the only CUDA device that works");
    isoline_context_free(context);
    CHECK_NUMBER(*fake.opened, *fake.closed);
    setenv("FAKE_RETAIN", "2", 1);
    REFUSED(isoline_context_new("cuda:all", &context), ISOLINE_DEVICE_UNAVAILABLE, "cannot use any CUDA device");
    CHECK_NUMBER(*fake.opened, *fake.closed);
}

/* A call that is divided between two devices, whose kernels are not there: both fail, and the first error is returned. The
 * child of a fork is refused before. */
static void a_divided_call_returns_the_error_of_a_device(const char *device) {
    (void)device;
    enum { SIDE = 32, SLICES = 7 };
    if (!with_driver("whole")) {
        return;
    }
    isoline_context *context = open_context("cuda:all");
    uint8_t *pixels = drawing(SIDE, SIDE, SLICES, 5);
    float *strength = unwritten(SIDE * SIDE * SLICES);
    isoline_image input = describe(ISOLINE_U8, SIDE, SIDE, SLICES, pixels);
    isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, SLICES, strength);
    isoline_edge_strength_params params = for_drawing(3);
    for (int round = 0; round < 100; round++) {
        REFUSED(isoline_edge_strength(context, &input, &params, NULL, &output, NULL), ISOLINE_DEVICE_FAILED, "FAKE_ERROR");
    }
#ifndef _WIN32
    /* valgrind takes for lost what the threads own that a child does not have. */
    if (strcmp(instrument(), "valgrind") != 0) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            isoline_status status = isoline_edge_strength(context, &input, &params, NULL, &output, NULL);
            int refused = strstr(isoline_last_error(), "make a context of its own") != NULL;
            isoline_context_free(context);
            _exit(status == ISOLINE_UNSUPPORTED && refused ? 0 : 1);
        }
        int state = -1;
        CHECK(child > 0 && waitpid(child, &state, 0) == child && state == 0);
    }
#endif
    CHECK(is_unwritten(strength, SIDE * SIDE * SLICES));
    isoline_context_free(context);
    free(strength);
    free(pixels);
}

/* `opened` is the number of devices that a context on "auto" opens. */
static void auto_takes_the_freest(int opened) {
    const char *const busy[][2] = {{"-1", "cuda:0"}, {"0", "cuda:1"}, {"1", "cuda:0"}};
    for (int i = 0; i < 3; i++) {
        setenv("FAKE_BUSY", busy[i][0], 1);
        int before = *fake.opened;
        isoline_context *context = open_context("auto");
        CHECK_NUMBER(*fake.opened - before, opened);
        isoline_device entry = told(0);
        GOOD(isoline_context_device(context, &entry));
        CHECK_TEXT(entry.id, busy[i][1]);
        isoline_context_free(context);
        CHECK_NUMBER(*fake.opened, *fake.closed);
    }
}

static void auto_takes_the_freest_device(const char *device) {
    (void)device;
    if (with_driver("whole")) {
        auto_takes_the_freest(3);
    }
}

static void with_nvml_auto_opens_no_other_device(const char *device) {
    (void)device;
    void *nvml = with_library("whole", NVML);
    if (nvml != NULL && with_driver("whole")) {
        auto_takes_the_freest(1);
        CHECK_NUMBER(*(int *)variable_of(nvml, "fake_nvml_starts"), 1);
    }
}

static void an_old_driver_is_named(const char *device) {
    (void)device;
    setenv("FAKE_VERSION", "11080", 1);
    if (with_driver("whole")) {
        cuda_is_unusable("supports CUDA 11.8");
        CHECK_NUMBER(*fake.starts, 0);
    }
}

/* The file that takes what the process writes to its standard error output. */
static FILE *errors;

static void keep_errors(void) {
    errors = tmpfile();
    CHECK(errors != NULL && dup2(fileno(errors), STDERR_FILENO) >= 0);
}

static void nothing_was_written_to_stderr(void) {
    CHECK_NUMBER(lseek(fileno(errors), 0, SEEK_END), 0);
}

static void a_driver_that_lacks_functions_is_survived(const char *device) {
    (void)device;
    if (with_driver("lacking")) {
        keep_errors();
        cuda_is_unusable("lacks the function cu");
        nothing_was_written_to_stderr();
    }
}

static void a_driver_that_lacks_one_function_is_not_usable(const char *device) {
    (void)device;
    if (with_driver("lacking-one")) {
        keep_errors();
        cuda_is_unusable("lacks the function cuStreamSynchronize");
        nothing_was_written_to_stderr();
    }
}

static void a_driver_without_devices_says_so(const char *device) {
    (void)device;
    setenv("FAKE_COUNT", "0", 1);
    if (with_driver("whole")) {
        cuda_is_unusable("finds no CUDA device");
    }
}

static void a_driver_that_cannot_start_may_later(const char *device) {
    (void)device;
    const char *const results[][2] = {{"100", "finds no CUDA device"}, {"802", "FAKE_ERROR"}};
    if (!with_driver("whole")) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        setenv("FAKE_INIT", results[i][0], 1);
        cuda_is_unusable(results[i][1]);
    }
    unsetenv("FAKE_INIT");
    CHECK_NUMBER(isoline_device_count(), 3);
    isoline_context_free(open_context("cuda:0"));
}

/* Both devices are listed, each with the reason; no context can be created on them. */
static void devices_are_unusable(const char *why) {
    CHECK_NUMBER(isoline_device_count(), 3);
    for (size_t index = 1; index < 3; index++) {
        isoline_device entry = told(index);
        CHECK_NUMBER(entry.usable, 0);
        CHECK_HAS(entry.reason, why);
        CHECK_HAS(entry.name, "Fake");
        CHECK_NUMBER(entry.total_memory, (uint64_t)8 << 30);
        CHECK_NUMBER(entry.free_memory, 0);
    }
    isoline_context *context = NULL;
    REFUSED(isoline_context_new("cuda:1", &context), ISOLINE_DEVICE_UNAVAILABLE, why);
    REFUSED(isoline_context_new("cuda", &context), ISOLINE_DEVICE_UNAVAILABLE, why);
    GOOD(isoline_context_new("auto", &context));
    isoline_device entry = told(0);
    GOOD(isoline_context_device(context, &entry));
    CHECK_TEXT(entry.id, "cpu");
    isoline_context_free(context);
    CHECK_NUMBER(*fake.opened, 0);
}

static void a_card_without_kernels_is_not_opened(const char *device) {
    (void)device;
    setenv("FAKE_MAJOR", "5", 1);
    if (with_driver("whole")) {
        devices_are_unusable("no kernel image for this GPU");
    }
}

static void a_device_that_cannot_be_opened_says_why(const char *device) {
    (void)device;
    setenv("FAKE_RETAIN", "2", 1);
    if (with_driver("whole")) {
        devices_are_unusable("out of memory");
    }
}

static void kernels_that_cannot_be_loaded_are_told(const char *device) {
    (void)device;
    setenv("FAKE_LOAD", "209", 1);
    if (!with_driver("whole")) {
        return;
    }
    isoline_context *context = NULL;
    REFUSED(isoline_context_new("cuda:0", &context), ISOLINE_DEVICE_UNAVAILABLE, "no kernel image");
    REFUSED(isoline_context_new("cuda", &context), ISOLINE_DEVICE_UNAVAILABLE, "no kernel image");
    CHECK_NUMBER(*fake.opened, *fake.closed);
    context = open_context("auto");
    isoline_device entry = told(0);
    GOOD(isoline_context_device(context, &entry));
    CHECK_TEXT(entry.id, "cpu");
    isoline_context_free(context);
}

static void keep_warnings(void *user, uint32_t level, const char *message) {
    if (level == ISOLINE_LOG_WARN) {
        snprintf((char *)user, 512, "%s", message);
    }
}

/* By name the GPU refuses what it has no room for, with what is needed and what there is; auto takes the CPU, and says so. */
static void a_volume_that_does_not_fit_is_refused_or_left_to_the_cpu(const char *device) {
    (void)device;
    setenv("FAKE_FREE", "64", 1);
    if (!with_driver("whole")) {
        return;
    }
    char warned[512] = "";
    GOOD(isoline_set_logger(keep_warnings, warned, ISOLINE_LOG_WARN));
    surface_job work = new_surface_job("cuda:0");
    isoline_level_set *surface = NULL;
    REFUSED(isoline_level_set_new(work.context, &work.input, &work.initial, &work.params, &surface),
            ISOLINE_OUT_OF_MEMORY, "the call needs ");
    CHECK(surface == NULL);
    /* 9 bytes for each of 7920 voxels are more than nine tenths of 65536 bytes. */
    const char *needs = strchr(isoline_last_error(), '('), *free_now = strrchr(isoline_last_error(), '(');
    CHECK(needs != NULL && strtoull(needs + 1, NULL, 10) >= 9 * (unsigned long long)COUNT);
    CHECK(free_now != NULL && free_now != needs && strtoull(free_now + 1, NULL, 10) == 65536);
    CHECK_HAS(isoline_last_error(), "cuda:0");
    CHECK_TEXT(warned, "");
    end_surface_job(&work);

    work = new_surface_job("auto");
    isoline_device entry = told(0);
    GOOD(isoline_context_device(work.context, &entry));
    CHECK_TEXT(entry.id, "cuda:0");
    GOOD(isoline_level_set_run(work.context, &work.input, &work.initial, &work.params, NULL, &work.mask, &work.report));
    CHECK_NUMBER(work.report.device_kind, ISOLINE_DEVICE_CPU);
    CHECK_HAS(warned, "computing on the CPU: the call needs ");
    end_surface_job(&work);
    GOOD(isoline_set_logger(NULL, NULL, ISOLINE_LOG_OFF));
}

/* The grid of the fused kernel has at most 65535 blocks along y, each of 120 rows. By name the GPU says so; auto takes the CPU. */
static void an_image_that_kernels_cannot_index_is_refused_or_left_to_the_cpu(const char *device) {
    enum { HEIGHT = 8000000, INSIDE = HEIGHT / 2 };
    (void)device;
    if (slow()) {
        skip("it takes minutes under an instrument");
        return;
    }
    setenv("FAKE_WORKS", "1", 1);
    if (!with_driver("whole")) {
        return;
    }
    uint8_t *pixels = (uint8_t *)allocate(HEIGHT);
    memset(pixels, 0, HEIGHT);
    pixels[INSIDE] = 255;
    float *strength = unwritten(HEIGHT);
    isoline_image input = describe(ISOLINE_U8, 1, HEIGHT, 1, pixels);
    isoline_image output = describe(ISOLINE_F32, 1, HEIGHT, 1, strength);
    isoline_edge_strength_params params;
    GOOD(isoline_edge_strength_params_init(&params, sizeof params));
    params.variant = ISOLINE_EDGE_STRENGTH_FUSED;
    params.iterations = 1;
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    isoline_context *context = open_context("cuda:0");
    REFUSED(isoline_edge_strength(context, &input, &params, NULL, &output, &report), ISOLINE_UNSUPPORTED, "too tall");
    isoline_context_free(context);
    context = open_context("auto");
    GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, &report));
    CHECK_NUMBER(report.device_kind, ISOLINE_DEVICE_CPU);
    CHECK(strength[INSIDE] > strength[0]);
    isoline_context_free(context);
    free(pixels);
    free(strength);
}

/* A volume whose result goes to host memory is cut until a slice, or a plane along x and z, does not fit. The kernels of the fake
 * do nothing, so that only the copies are made, of which the instruments see the bounds. */
static void a_distance_that_does_not_fit_is_cut(const char *device) {
    enum { WIDTH = 70, HEIGHT = 50, DEPTH = 40, VOXELS = WIDTH * HEIGHT * DEPTH, PLANE_BYTES = WIDTH * DEPTH * 8 };
    (void)device;
    setenv("FAKE_WORKS", "1", 1);
    if (!with_driver("whole")) {
        return;
    }
    isoline_context *context = open_context("cuda:0");
    uint8_t *pixels = drawing(WIDTH, HEIGHT, DEPTH, 3);
    isoline_image input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, pixels);
    float *packed = unwritten(VOXELS);
    float *locked = (float *)buffer_of(context, 2 * VOXELS * sizeof(float));
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    const struct {
        uint64_t limit, parts;
    } limits[] = {{5 * VOXELS, 1}, {5 * VOXELS - 1, 2 + 2}, {10 * PLANE_BYTES, 4 + 5}, {PLANE_BYTES, 40 + 50}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        GOOD(isoline_context_set_memory_limit(context, limits[i].limit));
        isoline_image outputs[] = {describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, packed),
                                   describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, locked)};
        /* Rows and slices with gaps. */
        outputs[1].row_stride = (WIDTH + 3) * sizeof(float);
        outputs[1].slice_stride = (HEIGHT + 2) * outputs[1].row_stride;
        for (int j = 0; j < 2; j++) {
            GOOD(isoline_distance(context, &input, NULL, NULL, &outputs[j], &report));
            CHECK_NUMBER(report.part_count, limits[i].parts);
            CHECK(report.slices_done == DEPTH && report.device_kind == ISOLINE_DEVICE_CUDA);
        }
    }
    GOOD(isoline_context_set_memory_limit(context, PLANE_BYTES - 1));
    isoline_image output = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, packed);
    REFUSED(isoline_distance(context, &input, NULL, NULL, &output, &report), ISOLINE_OUT_OF_MEMORY, "(22400 bytes)");
    isoline_buffer_free(locked);
    isoline_context_free(context);
    free(packed);
    free(pixels);
}

static void a_buffer_is_page_locked_until_its_memory_is_released(const char *device) {
    (void)device;
    if (!with_driver("whole")) {
        return;
    }
    isoline_context *context = open_context("cuda:0");
    const size_t sizes[] = {1, 100000, (size_t)5 << 20};
    void *buffers[3];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++) {
            buffers[i] = buffer_of(context, sizes[i]);
        }
        CHECK(*fake.locks == 3 && *fake.locked == 3);
        for (int i = 0; i < 3; i++) {
            isoline_buffer_free(buffers[i]);
        }
        /* Freed memory that is kept stays locked. */
        CHECK_NUMBER(*fake.locked, 3);
    }
    GOOD(isoline_context_trim(context));
    CHECK_NUMBER(*fake.locked, 0);
    isoline_buffer_free(buffer_of(context, 1));
    void *longer = buffer_of(context, 2);
    CHECK_NUMBER(*fake.locked, 1);
    isoline_context_free(context);
    /* The device stays open for the buffer. */
    CHECK(*fake.locked == 1 && *fake.closed == 0);
    isoline_buffer_free(longer);
    CHECK(*fake.locked == 0 && *fake.closed == 1);
}

/* Rust gives the threads that it starts the stack that this variable says, unless the library chooses their size. A buffer
 * that the driver locks has a thread for that call, and some that make its pages. */
static void stacks_in_the_environment_are_not_those_of_the_driver(const char *bytes) {
    int cancel = 0;
    setenv("RUST_MIN_STACK", bytes, 1);
    if (!with_driver("whole")) {
        return;
    }
    GOOD(isoline_set_cancel_flag(&cancel));
    isoline_context *context = open_context("cuda:0");
    isoline_buffer_free(buffer_of(context, (size_t)9 << 20));
    CHECK(*fake.locks == 1);
    isoline_context_free(context);
    GOOD(isoline_set_cancel_flag(NULL));
}

static void a_small_stack_in_the_environment_ends_no_call_of_the_driver(const char *device) {
    (void)device;
    stacks_in_the_environment_are_not_those_of_the_driver("1");
}

static void a_huge_stack_in_the_environment_ends_no_call_of_the_driver(const char *device) {
    (void)device;
    stacks_in_the_environment_are_not_those_of_the_driver("1000000000000000");
}

static void memory_that_cannot_be_page_locked_is_ordinary(const char *device) {
    (void)device;
    char warned[512] = "";
    setenv("FAKE_LOCK", "2", 1);
    if (!with_driver("whole")) {
        return;
    }
    GOOD(isoline_set_logger(keep_warnings, warned, ISOLINE_LOG_WARN));
    const char *const devices[] = {"cuda:0", "auto"};
    for (int i = 0; i < 2; i++) {
        isoline_context *context = open_context(devices[i]);
        warned[0] = '\0';
        void *buffer = buffer_of(context, (size_t)3 << 20);
        CHECK_HAS(warned, "not page-locked");
        CHECK_HAS(warned, "out of memory");
        isoline_buffer_free(buffer);
        CHECK_NUMBER(*fake.locked, 0);
        /* It is tried again with the kept memory. */
        unsetenv("FAKE_LOCK");
        CHECK(buffer_of(context, (size_t)3 << 20) == buffer);
        CHECK_NUMBER(*fake.locked, 1);
        isoline_buffer_free(buffer);
        isoline_context_free(context);
        CHECK_NUMBER(*fake.locked, 0);
        setenv("FAKE_LOCK", "2", 1);
    }
    GOOD(isoline_set_logger(NULL, NULL, ISOLINE_LOG_OFF));
}

static void more_than_half_of_the_free_memory_is_not_page_locked(const char *device) {
    (void)device;
    char warned[512] = "";
    /* The buffer's pages are made, which takes a minute where old files have to leave the memory. */
    if (slow() || (getenv("ISOLINE_TEST_EVERY") == NULL && told(0).free_memory > (uint64_t)4 << 30)) {
        skip("it would write to half of the memory");
        return;
    }
    if (!with_driver("whole")) {
        return;
    }
    GOOD(isoline_set_logger(keep_warnings, warned, ISOLINE_LOG_WARN));
    isoline_context *context = open_context("cuda:0");
    void *buffer = NULL;
    GOOD(isoline_buffer_new(context, (size_t)(0.6 * (double)told(0).free_memory), &buffer));
    CHECK_HAS(warned, "more than half of the free memory");
    CHECK_NUMBER(*fake.locks, 0);
    isoline_buffer_free(buffer);
    isoline_context_free(context);
    GOOD(isoline_set_logger(NULL, NULL, ISOLINE_LOG_OFF));
}

/* The driver takes the addresses for page-locked memory for ever, so no other memory may get them. */
static void memory_that_cannot_be_unlocked_is_not_freed(const char *device) {
    (void)device;
    if (!with_driver("whole")) {
        return;
    }
    isoline_context *context = open_context("cuda:0");
    char *buffer = (char *)buffer_of(context, (size_t)3 << 20);
    isoline_buffer_free(buffer);
    setenv("FAKE_UNLOCK", "700", 1);
    GOOD(isoline_context_trim(context));
    for (int i = 0; i < 3; i++) {
        CHECK(buffer[i << 20] == 3);
        CHECK(buffer_of(context, (size_t)3 << 20) != buffer);
    }
    isoline_context_free(context);
}

static int stop;
static double stopped;

/* Cancels the call of another thread while the driver is in its next slow call. */
static void *stop_in_a_slow_call(void *calls_before) {
    const struct timespec soon = {0, 20000000};
    do {
        nanosleep(&soon, NULL);
    } while (__atomic_load_n(fake.slow, __ATOMIC_SEQ_CST) == *(const int *)calls_before);
    stopped = moment();
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    return NULL;
}

typedef isoline_status slow_call(isoline_context *context, void **made);

static isoline_status open_a_device(isoline_context *context, void **made) {
    (void)context;
    return isoline_context_new("cuda:0", (isoline_context **)made);
}

static isoline_status open_a_list(isoline_context *context, void **made) {
    (void)context;
    return isoline_context_new("cuda:0,1", (isoline_context **)made);
}

static isoline_status describe_a_device(isoline_context *context, void **made) {
    isoline_device entry;
    (void)context;
    (void)made;
    GOOD(isoline_device_init(&entry, sizeof entry));
    return isoline_device_info(2, &entry);
}

static isoline_status page_lock(isoline_context *context, void **made) {
    return isoline_buffer_new(context, (size_t)3 << 20, made);
}

/* The call ends; what it began is undone when the driver has done it, for which the test waits. */
static void a_slow_call_is_cancelled(slow_call *call, isoline_context *context) {
    const int opened = *fake.opened, locks = *fake.locks, open = opened - *fake.closed;
    int slow_calls = *fake.slow;
    const struct timespec millisecond = {0, 1000000};
    void *made = NULL;
    pthread_t other;
    setenv("FAKE_SLOW", "2000", 1);
    GOOD(isoline_set_cancel_flag(&stop));
    stop = 0;
    if (!CHECK(pthread_create(&other, NULL, stop_in_a_slow_call, &slow_calls) == 0)) {
        return;
    }
    REFUSED(call(context, &made), ISOLINE_CANCELLED, "cancel flag");
    const double ended = moment();
    pthread_join(other, NULL);
    CHECK(slow() || ended - stopped < 1);
    CHECK(made == NULL);
    for (int waited = 0; waited < 30000; waited++) {
        const int begun = __atomic_load_n(fake.opened, __ATOMIC_SEQ_CST) > opened ||
                          __atomic_load_n(fake.locks, __ATOMIC_SEQ_CST) > locks;
        if (begun && __atomic_load_n(fake.locked, __ATOMIC_SEQ_CST) == 0 &&
            __atomic_load_n(fake.opened, __ATOMIC_SEQ_CST) - __atomic_load_n(fake.closed, __ATOMIC_SEQ_CST) == open) {
            break;
        }
        nanosleep(&millisecond, NULL);
    }
    CHECK(*fake.opened > opened || *fake.locks > locks);
    CHECK_NUMBER(*fake.opened - *fake.closed, open);
    GOOD(isoline_set_cancel_flag(NULL));
    unsetenv("FAKE_SLOW");
}

static void slow_calls_of_the_driver_can_be_cancelled(const char *device) {
    (void)device;
    if (!with_driver("whole")) {
        return;
    }
    a_slow_call_is_cancelled(open_a_device, NULL);
    a_slow_call_is_cancelled(open_a_list, NULL);
    a_slow_call_is_cancelled(describe_a_device, NULL);
    isoline_context *context = open_context("cuda:0");
    a_slow_call_is_cancelled(page_lock, context);
    /* Nothing remains of the calls; with a flag that is not set they are as before. */
    stop = 0;
    GOOD(isoline_set_cancel_flag(&stop));
    void *buffer = buffer_of(context, (size_t)3 << 20);
    CHECK_NUMBER(*fake.locked, 1);
    isoline_buffer_free(buffer);
    isoline_context_free(context);
    GOOD(isoline_set_cancel_flag(NULL));
    CHECK_NUMBER(*fake.locked, 0);
}

#ifndef _WIN32
static void *open_and_close(void *unused) {
    isoline_context_free(open_context("auto"));
    return unused;
}

/* The child does not have the thread that was loading the driver, and does not wait for it. */
static void the_child_of_a_fork_does_not_wait_for_the_driver(const char *device) {
    (void)device;
    const struct timespec millisecond = {0, 1000000};
    if (strcmp(instrument(), "valgrind") == 0) {
        skip("valgrind takes for lost what the threads own that a child does not have");
        return;
    }
    setenv("FAKE_LATE", "1000", 1);
    if (!with_driver("whole")) {
        return;
    }
    pthread_t other;
    fflush(stdout);
    CHECK(pthread_create(&other, NULL, open_and_close, NULL) == 0);
    while (__atomic_load_n(fake.slow, __ATOMIC_SEQ_CST) == 0) {
        nanosleep(&millisecond, NULL);
    }
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        isoline_context *context = open_context("auto");
        isoline_device entry = told(1);
        CHECK_HAS(entry.reason, "fork");
        CHECK_NUMBER(isoline_device_count(), 2);
        GOOD(isoline_context_device(context, &entry));
        CHECK_TEXT(entry.id, "cpu");
        isoline_context_free(context);
        REFUSED(isoline_context_new("cuda", &context), ISOLINE_DEVICE_UNAVAILABLE, "fork");
        fflush(stdout);
        _exit(checks_failed > 0);
    }
    int state = -1;
    CHECK(child > 0 && waitpid(child, &state, 0) == child && state == 0);
    pthread_join(other, NULL);
}
#endif

int main(void) {
    if (is_built_without_cuda()) {
        return summary();
    }
    RUN_ON(counting_and_refusing_open_no_device, "fake");
    RUN_ON(an_entry_opens_its_device_only_and_closes_it, "fake");
    RUN_ON(a_context_opens_its_device_once, "fake");
    RUN_ON(a_call_leaves_the_current_context_as_it_was, "fake");
    RUN_ON(a_callback_may_make_another_context_current, "fake");
    RUN_ON(a_list_opens_each_of_its_devices_once, "fake");
    RUN_ON(a_list_needs_each_of_its_devices_and_all_takes_those_that_work, "fake");
    RUN_ON(a_divided_call_returns_the_error_of_a_device, "fake");
    RUN_ON(auto_takes_the_freest_device, "fake");
    RUN_ON(with_nvml_auto_opens_no_other_device, "fake");
    RUN_ON(an_old_driver_is_named, "fake");
    RUN_ON(a_driver_that_lacks_functions_is_survived, "fake");
    RUN_ON(a_driver_that_lacks_one_function_is_not_usable, "fake");
    RUN_ON(a_driver_without_devices_says_so, "fake");
    RUN_ON(a_driver_that_cannot_start_may_later, "fake");
    RUN_ON(a_card_without_kernels_is_not_opened, "fake");
    RUN_ON(a_device_that_cannot_be_opened_says_why, "fake");
    RUN_ON(kernels_that_cannot_be_loaded_are_told, "fake");
    RUN_ON(a_volume_that_does_not_fit_is_refused_or_left_to_the_cpu, "fake");
    RUN_ON(an_image_that_kernels_cannot_index_is_refused_or_left_to_the_cpu, "fake");
    RUN_ON(a_distance_that_does_not_fit_is_cut, "fake");
    RUN_ON(a_buffer_is_page_locked_until_its_memory_is_released, "fake");
    RUN_ON(a_small_stack_in_the_environment_ends_no_call_of_the_driver, "fake");
    RUN_ON(a_huge_stack_in_the_environment_ends_no_call_of_the_driver, "fake");
    RUN_ON(memory_that_cannot_be_page_locked_is_ordinary, "fake");
    RUN_ON(more_than_half_of_the_free_memory_is_not_page_locked, "fake");
    RUN_ON(memory_that_cannot_be_unlocked_is_not_freed, "fake");
    RUN_ON(slow_calls_of_the_driver_can_be_cancelled, "fake");
#ifndef _WIN32
    RUN_ON(the_child_of_a_fork_does_not_wait_for_the_driver, "fake");
#endif
    return summary();
}
