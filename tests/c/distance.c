/*
 * The distance and its passes: every field and type, volumes that callbacks read and write, and misuse refused.
 * tests/distance/ has the values for every size and spacing, tests/streams the bits of volumes by slices; image.c,
 * operation.c and operation_calls.c have what holds for all operations.
 */
#include "images.h"
#include "process.h"
#include "watch.h"
#ifdef __linux__
#include <fcntl.h>
#endif

static isoline_distance_params distance_defaults(void) {
    isoline_distance_params params;
    GOOD(isoline_distance_params_init(&params, sizeof params));
    return params;
}

static void every_field_and_type_has_its_effect(const char *device) {
    enum { N = 6 };
    static uint8_t bytes[N] = {0, 9, 20};
    static uint16_t wide[N] = {0, 9, 20};
    static float real[N] = {0, 9, 20};
    static void *const data[] = {bytes, wide, real};
    /* Two slices of one row of three pixels, which are 2 wide and 10 deep. */
    static const struct {
        uint32_t foreground, dimensions, region;
        double threshold;
        float distances[N];
    } cases[] = {
        {ISOLINE_FOREGROUND_ABOVE, 2, ISOLINE_DISTANCE_SIGNED, 0, {1, -1, -3, INFINITY, INFINITY, INFINITY}},
        {ISOLINE_FOREGROUND_ABOVE, 3, ISOLINE_DISTANCE_SIGNED, 0, {1, -1, -3, 5.0990195F, 5, 5}},
        {ISOLINE_FOREGROUND_ABOVE, 2, ISOLINE_DISTANCE_SIGNED, 10, {3, 1, -1, INFINITY, INFINITY, INFINITY}},
        {ISOLINE_FOREGROUND_ABOVE, 2, ISOLINE_DISTANCE_INSIDE, 0, {0, 1, 3, 0, 0, 0}},
        {ISOLINE_FOREGROUND_ABOVE, 2, ISOLINE_DISTANCE_OUTSIDE, 0, {1, 0, 0, INFINITY, INFINITY, INFINITY}},
        {ISOLINE_FOREGROUND_BELOW, 2, ISOLINE_DISTANCE_SIGNED, 0, {-1, 1, 3, -INFINITY, -INFINITY, -INFINITY}},
    };
    isoline_context *context = open_context(device);
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    for (uint32_t type = ISOLINE_U8; type <= ISOLINE_F32; type++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            float got[N];
            isoline_image mask = describe(type, 3, 1, 2, data[type]);
            const isoline_image output = describe(ISOLINE_F32, 3, 1, 2, got);
            isoline_distance_params params = distance_defaults();
            mask.spacing[0] = 2, mask.spacing[2] = 10;
            params.foreground = cases[i].foreground, params.dimensions = cases[i].dimensions;
            params.region = cases[i].region, params.threshold = cases[i].threshold;
            GOOD(isoline_distance(context, &mask, &params, NULL, &output, &report));
            CHECK(report.iterations == 0 && report.converged == 0 && isnan(report.residual));
            check_that(memcmp(got, cases[i].distances, sizeof got) == 0, __FILE__, __LINE__, "type %u, case %zu", type, i);
            if (i == 1) {
                /* NULL gives the defaults. */
                GOOD(isoline_distance(context, &mask, NULL, NULL, &output, NULL));
                check_that(memcmp(got, cases[i].distances, sizeof got) == 0, __FILE__, __LINE__, "type %u, NULL", type);
            }
        }
    }
    isoline_context_free(context);
}

/* ---- passes -------------------------------------------------------------------------------------------------- */

static void values_between_passes_are_those_of_the_header(const char *device) {
    const uint8_t pixels[] = {0, 0, 0, 9, 9, 0, 0, 0, 0, 0};
    const float along_x[] = {25, 9, 1, -1, -9, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    const float along_y[] = {25, 9, 1, -1, -4, 29, 13, 5, 4, 4};
    float values[10], next[10];
    isoline_context *context = open_context(device);
    isoline_image mask = describe(ISOLINE_U8, 5, 2, 1, (void *)(uintptr_t)pixels);
    isoline_image first = describe(ISOLINE_F32, 5, 2, 1, values), second = describe(ISOLINE_F32, 5, 2, 1, next);
    mask.spacing[0] = first.spacing[0] = 1, mask.spacing[1] = first.spacing[1] = 2;
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    GOOD(isoline_distance_pass(context, &mask, 0, NULL, NULL, &first, &report));
    CHECK(memcmp(values, along_x, sizeof values) == 0);
    GOOD(isoline_distance_pass(context, &first, 1, NULL, NULL, &second, &report));
    CHECK(memcmp(next, along_y, sizeof next) == 0);
    CHECK(report.slices_done == 1 && report.device_kind == ISOLINE_DEVICE_CPU && report.seconds_total > 0);
    isoline_context_free(context);
}

/* ---- volumes that callbacks read and write ------------------------------------------------------------------- */

enum { SLICE_WIDTH = 1024, SLICE_HEIGHT = 512, SLICE_PIXELS = SLICE_WIDTH * SLICE_HEIGHT };

/* A volume whose middle slice is inside; the folder of temporary files, which is to look empty; the slices so far. */
typedef struct {
    uint64_t middle, read, written;
    const char *folder;
} volume;

/* The number of files in a folder; 0 if there is no folder. */
static int files_in(const char *folder) {
    int count = 0;
    DIR *files = folder == NULL ? NULL : opendir(folder);
    while (files != NULL && readdir(files) != NULL) {
        count++;
    }
    if (files != NULL) {
        closedir(files);
    }
    return count < 2 ? 0 : count - 2; /* without . and .. */
}

static const char *read_slice(void *user, uint64_t slice, void *pixels) {
    volume *all = (volume *)user;
    CHECK_NUMBER(slice, all->read++);
    memset(pixels, slice == all->middle, SLICE_PIXELS);
    return NULL;
}

static const char *write_slice(void *user, uint64_t slice, const void *pixels) {
    volume *all = (volume *)user;
    const float *distances = (const float *)pixels;
    const float expected = slice == all->middle ? -0.5F : fabsf((float)slice - (float)all->middle) - 0.5F;
    CHECK_NUMBER(slice, all->written++);
    CHECK(distances[0] == expected && distances[SLICE_PIXELS - 1] == expected);
    CHECK_NUMBER(files_in(all->folder), 0);
    return NULL;
}

static isoline_status distance_of(isoline_context *context, volume *all, uint64_t depth) {
    isoline_image mask = describe(ISOLINE_U8, SLICE_WIDTH, SLICE_HEIGHT, depth, NULL);
    mask.memory = ISOLINE_SLICES;
    mask.user = all;
    mask.read_slice = read_slice;
    mask.write_slice = write_slice;
    isoline_image output = mask;
    output.type = ISOLINE_F32;
    all->middle = depth / 2, all->read = all->written = 0;
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    const isoline_status status = isoline_distance(context, &mask, NULL, NULL, &output, &report);
    if (status == ISOLINE_OK) {
        CHECK(all->read == depth && all->written == depth && report.slices_done == depth);
        CHECK(report.device_kind == ISOLINE_DEVICE_CPU && report.device_count == 1);
    }
    return status;
}

static void a_volume_larger_than_the_address_space_streams(const char *device) {
    const uint64_t depth = scaled(400, 12);
    volume all = {0, 0, 0, NULL};
#ifndef _WIN32 /* where a process cannot limit its own memory */
    char folder[4096];
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/isoline-distance-XXXXXX", parent == NULL || *parent == '\0' ? "/var/tmp" : parent);
    CHECK((all.folder = mkdtemp(folder)) != NULL);
    setenv("TMPDIR", folder, 1);
#endif
    isoline_context *context = open_context(device);
    if (!slow() && strcmp(device, "cpu") == 0) {
        /* 200 MiB are read and 800 MiB written, in 600 MiB. */
        allow_only((size_t)600 << 20);
    }
    GOOD(distance_of(context, &all, depth));
    isoline_context_free(context);
#ifndef _WIN32
    CHECK(rmdir(folder) == 0);
#endif
}

#ifndef _WIN32
static void a_temporary_file_without_room_is_an_error(const char *device) {
    const int files = open_files();
    volume all = {0, 0, 0, NULL};
    isoline_context *context = open_context(device);
    GOOD(distance_of(context, &all, 2));
    const int files_of_the_context = open_files();
    /* 1. No file may have more than a MiB. */
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 1 << 20;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    REFUSED(distance_of(context, &all, 4), ISOLINE_OUT_OF_MEMORY,
            "cannot write a temporary file of 8.0 MiB (8388608 bytes) in ");
    CHECK(strstr(isoline_last_error(), "set TMPDIR to a folder with as much room") != NULL && all.written == 0);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_FSIZE, &limit);
    GOOD(distance_of(context, &all, 4));
    CHECK_NUMBER(open_files(), files_of_the_context);
#ifdef __linux__
    /* 2. A folder without a name is no folder, and not the current one, in which no file can be made. */
    const int here = open(".", O_RDONLY);
    CHECK(here >= 0 && chdir("/proc") == 0);
    setenv("TMPDIR", "", 1);
    GOOD(distance_of(context, &all, 4));
    CHECK(fchdir(here) == 0 && close(here) == 0);
#endif
    /* 3. There is no such folder. */
    setenv("TMPDIR", "/no/such/folder", 1);
    REFUSED(distance_of(context, &all, 4), ISOLINE_OUT_OF_MEMORY, "bytes) in /no/such/folder: ");
    CHECK(all.read == 0);
#ifdef __linux__
    /* 4. The folder is in memory. */
    setenv("TMPDIR", "/dev/shm", 1);
    REFUSED(distance_of(context, &all, 4), ISOLINE_OUT_OF_MEMORY, "bytes) in /dev/shm: the folder is in memory itself");
#endif
    isoline_context_free(context);
    CHECK(strcmp(device, "cpu") != 0 || open_files() <= files);
}
#endif

/* ---- misuse -------------------------------------------------------------------------------------------------- */

enum { WIDTH = 48, HEIGHT = 32, COUNT = WIDTH * HEIGHT };

typedef struct {
    isoline_context *context;
    uint8_t *pixels;
    float *distances;
    isoline_image mask, output;
    isoline_distance_params params;
    isoline_report report;
    int is_pass; /* along `axis` */
    uint32_t axis;
} job;

static job new_job(const char *device) {
    job made;
    memset(&made, 0, sizeof made);
    made.context = open_context(device);
    made.pixels = drawing(WIDTH, HEIGHT, 1, 2);
    made.distances = unwritten(COUNT);
    made.mask = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, made.pixels);
    made.output = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, made.distances);
    made.params = distance_defaults();
    GOOD(isoline_report_init(&made.report, sizeof made.report));
    return made;
}

static isoline_status run(job *w) {
    return w->is_pass ? isoline_distance_pass(w->context, &w->mask, w->axis, &w->params, NULL, &w->output, &w->report)
                      : isoline_distance(w->context, &w->mask, &w->params, NULL, &w->output, &w->report);
}

static void end(job *work) {
    free(work->distances);
    free(work->pixels);
    isoline_context_free(work->context);
}

/* `change` makes the call fail with `status` and a message that has `word`; nothing is written. */
#define SPOILT(change, status, word) SPOILT_JOB(change, status, word, is_unwritten(work.distances, COUNT))

static void null_is_refused_only_where_it_must_not_be(const char *device) {
    job w = new_job(device);
    isoline_context *const context = w.context;
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    REFUSED(isoline_distance(context, NULL, &w.params, &progress, &w.output, &w.report), ISOLINE_NULL_POINTER, "mask");
    REFUSED(isoline_distance(context, &w.mask, &w.params, &progress, NULL, &w.report), ISOLINE_NULL_POINTER, "output");
    REFUSED(isoline_distance(NULL, NULL, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, NULL);
    REFUSED(isoline_distance_params_init(NULL, sizeof w.params), ISOLINE_NULL_POINTER, "params");
    REFUSED(isoline_distance_pass(NULL, &w.mask, 0, NULL, NULL, &w.output, NULL), ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_distance_pass(context, NULL, 0, NULL, NULL, &w.output, NULL), ISOLINE_NULL_POINTER, "input");
    REFUSED(isoline_distance_pass(context, &w.mask, 0, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, "output");
    CHECK(is_unwritten(w.distances, COUNT));
    GOOD(isoline_distance(context, &w.mask, NULL, NULL, &w.output, NULL));
    GOOD(isoline_distance(context, &w.mask, &w.params, &progress, &w.output, &w.report));
    GOOD(isoline_distance_pass(context, &w.mask, 0, NULL, NULL, &w.output, NULL));
    end(&w);
}

static void what_does_not_fit_is_refused_by_name(const char *device) {
    job good_job = new_job(device);
    for (int is_pass = 0; is_pass < 2; is_pass++) {
        good_job.is_pass = is_pass;
        SPOILT(work.params.struct_size = sizeof work.params - 1, ISOLINE_INVALID_ARGUMENT, "params->struct_size");
        SPOILT(work.params.threshold = (double)NAN, ISOLINE_INVALID_ARGUMENT, "threshold");
        SPOILT(work.report.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "report->struct_size");
        SPOILT(work.mask.spacing[0] = 5e-324, ISOLINE_INVALID_ARGUMENT, "spacing along x");
        SPOILT(work.mask.spacing[1] = 1e10, ISOLINE_INVALID_ARGUMENT, "spacing");
        SPOILT(work.mask.width = 0, ISOLINE_INVALID_SIZE, is_pass ? "input" : "mask");
        SPOILT((work.params.dimensions = 2, work.mask.spacing[2] = 0), ISOLINE_INVALID_ARGUMENT, "->spacing");
        SPOILT(work.output.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "output->struct_size");
        SPOILT(work.output.spacing[0] = -1, ISOLINE_INVALID_ARGUMENT, "output->spacing");
        SPOILT(work.output.width = WIDTH - 1, ISOLINE_INVALID_SIZE, "size");
        SPOILT((work.output.depth = 2, work.output.height = HEIGHT / 2), ISOLINE_INVALID_SIZE, "size");
        SPOILT(work.output.height = 0, ISOLINE_INVALID_SIZE, "output");
        SPOILT(work.output.data = NULL, ISOLINE_NULL_POINTER, "output->data");
        SPOILT(work.output.type = ISOLINE_U8, ISOLINE_INVALID_TYPE, "ISOLINE_F32");
        SPOILT(work.output.type = ISOLINE_U16, ISOLINE_INVALID_TYPE, "ISOLINE_U16");
        SPOILT((work.mask.data = work.distances, work.mask.type = ISOLINE_F32), ISOLINE_OVERLAP, is_pass ? "input" : "mask");
        SPOILT(work.mask.data = (char *)work.distances + 4 * COUNT - 1, ISOLINE_OVERLAP, "output");
        if (is_pass || strcmp(device, "cpu") == 0) {
            SPOILT(work.mask.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, is_pass ? "input is in CUDA memory" : "CUDA");
            SPOILT(work.output.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, is_pass ? "output is in CUDA memory" : "CUDA");
        }
    }
    SPOILT(work.axis = 3, ISOLINE_INVALID_ARGUMENT, "axis must be 0, 1 or 2");
    SPOILT(work.axis = UINT32_MAX, ISOLINE_INVALID_ARGUMENT, "axis");
    SPOILT((work.axis = 2, work.params.dimensions = 2), ISOLINE_INVALID_ARGUMENT, "axis must be 0 or 1");
    SPOILT(work.axis = 1, ISOLINE_INVALID_TYPE, "float32 (got uint8)");
    SPOILT(work.axis = 2, ISOLINE_INVALID_TYPE, "along z");
    SPOILT((work.mask.memory = ISOLINE_SLICES, work.mask.data = NULL), ISOLINE_UNSUPPORTED, "ISOLINE_SLICES");
    SPOILT((work.output.memory = ISOLINE_SLICES, work.output.data = NULL), ISOLINE_UNSUPPORTED, "ISOLINE_SLICES");
    GOOD(run(&good_job));
    end(&good_job);
}

static void pass_once(void *user) {
    job *w = (job *)user;
    watch seen = {0, 1, 0, 0, 0};
    const isoline_progress progress = watched_by(&seen);
    GOOD(run(w));
    REFUSED(isoline_distance_pass(w->context, &w->mask, 0, NULL, &progress, &w->output, NULL), ISOLINE_CANCELLED, NULL);
}

static void passes_do_not_grow(const char *device) {
    job work = new_job(device);
    work.is_pass = 1;
    must_not_grow(pass_once, &work, (int)scaled(50, 2), (int)scaled(1000, 20));
    end(&work);
}

int main(void) {
    RUN_ON_EACH(every_field_and_type_has_its_effect);
    RUN_ON_EACH(values_between_passes_are_those_of_the_header);
    RUN_ON_EACH(a_volume_larger_than_the_address_space_streams);
#ifndef _WIN32
    RUN_ON_EACH(a_temporary_file_without_room_is_an_error);
#endif
    RUN_ON_EACH(null_is_refused_only_where_it_must_not_be);
    RUN_ON_EACH(what_does_not_fit_is_refused_by_name);
    RUN_ON_EACH(passes_do_not_grow);
    return summary();
}
