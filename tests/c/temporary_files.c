/*
 * Volumes for which the memory does not suffice: calls on whole volumes keep their arrays in temporary files, and have the
 * results of calls in memory. If there is no room for the files either, the calls fail, and the objects stay usable.
 */
#include "images.h"

#include <string.h>
#ifdef _WIN32
int main(void) {
    return 0; /* A process cannot limit its own memory there. */
}
#else
#include "process.h"

#include <sched.h>
#include <sys/resource.h>

enum { SIDE = 256, DEPTH = 64, SLICE = SIDE * SIDE, COUNT = SLICE * DEPTH };

/* An array of floats takes 16 MiB. This is room for all that does not grow with the volume. */
enum { ROOM_KB = 24 * 1024 };

/* The number of arrays that were put into files, as the log says. */
static int files;

static void count_files(void *user, uint32_t level, const char *message) {
    (void)user;
    (void)level;
    files += strstr(message, "a temporary file in") != NULL;
}

static const char *read_slice(void *user, uint64_t slice, void *pixels) {
    memcpy(pixels, (const uint8_t *)user + slice * SLICE, SLICE);
    return NULL;
}

static const char *write_bytes(void *user, uint64_t slice, const void *pixels) {
    memcpy((uint8_t *)user + slice * SLICE, pixels, SLICE);
    return NULL;
}

static const char *write_floats(void *user, uint64_t slice, const void *pixels) {
    memcpy((float *)user + slice * SLICE, pixels, SLICE * sizeof(float));
    return NULL;
}

static isoline_image slices(uint32_t type, void *pixels) {
    isoline_image image = describe(type, SIDE, SIDE, DEPTH, NULL);
    image.memory = ISOLINE_SLICES;
    image.user = pixels;
    image.read_slice = read_slice;
    image.write_slice = type == ISOLINE_F32 ? write_floats : write_bytes;
    return image;
}

typedef struct {
    isoline_context *context;
    uint8_t *drawn, *starts, *mask, *labels;
    float *strength, *phi;
} job;

static job new_job(const char *device) {
    job made;
    made.context = open_context(device);
    made.drawn = drawing(SIDE, SIDE, DEPTH, 5);
    made.starts = (uint8_t *)allocate(COUNT);
    made.mask = (uint8_t *)allocate(COUNT);
    made.labels = (uint8_t *)allocate(COUNT);
    made.strength = (float *)allocate(COUNT * sizeof(float));
    made.phi = (float *)allocate(COUNT * sizeof(float));
    memset(made.starts, 0, COUNT);
    for (int z = 20; z < 40; z++) {
        memset(made.starts + z * SLICE + 100 * SIDE, 1, 20 * SIDE);
        memset(made.starts + z * SLICE + 180 * SIDE, 2, 20 * SIDE);
    }
    return made;
}

static void free_job(job *of) {
    isoline_context_free(of->context);
    free(of->drawn);
    free(of->starts);
    free(of->mask);
    free(of->labels);
    free(of->strength);
    free(of->phi);
}

static isoline_status converged(job *of) {
    const isoline_image input = slices(ISOLINE_U8, of->drawn), output = slices(ISOLINE_F32, of->strength);
    isoline_edge_strength_params params;
    GOOD(isoline_edge_strength_params_init(&params, sizeof params));
    params.dimensions = 3;
    params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    params.threshold = 127;
    return isoline_edge_strength(of->context, &input, &params, NULL, &output, NULL);
}

static isoline_status level_set(job *of) {
    const isoline_image input = slices(ISOLINE_U8, of->drawn), start = slices(ISOLINE_U8, of->starts);
    const isoline_image mask = slices(ISOLINE_U8, of->mask), phi = slices(ISOLINE_F32, of->phi);
    isoline_level_set_params params;
    GOOD(isoline_level_set_params_init(&params, sizeof params));
    params.target = 50;
    params.epsilon = 40;
    params.edge_weight = 0.5;
    isoline_level_set *surface = NULL;
    isoline_status status = isoline_level_set_new(of->context, &input, &start, &params, &surface);
    if (status == ISOLINE_OK) {
        status = isoline_level_set_step(surface, 4, NULL, NULL);
    }
    if (status == ISOLINE_OK) {
        GOOD(isoline_level_set_read_mask(surface, &mask));
        GOOD(isoline_level_set_read_phi(surface, &phi));
    }
    isoline_level_set_free(surface);
    return status;
}

static isoline_status objects(job *of) {
    const isoline_image input = slices(ISOLINE_U8, of->drawn), start = slices(ISOLINE_U8, of->starts);
    const isoline_image labels = slices(ISOLINE_U8, of->labels);
    isoline_objects_params params;
    GOOD(isoline_objects_params_init(&params, sizeof params));
    params.iterations = 10;
    isoline_object_list *found = NULL;
    const isoline_status status = isoline_objects(of->context, &input, &start, &params, NULL, &labels, &found, NULL);
    isoline_object_list_free(found);
    return status;
}

/* Bounds what the process may still allocate. Files that are mapped to memory do not count. */
static void limit_memory(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = (rlim_t)(status_number("VmData:") + ROOM_KB) * 1024;
    CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
    void *too_much = malloc(2 * COUNT * sizeof(float));
    CHECK(too_much == NULL);
    free(too_much);
}

static void unlimit_memory(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
}

static isoline_status (*const CALLS[])(job *of) = {converged, level_set, objects};

enum { CALL_COUNT = sizeof CALLS / sizeof CALLS[0] };

static void arrays_in_files_give_the_results_of_arrays_in_memory(const char *device) {
    if (slow()) {
        skip("the instrument needs memory itself");
        return;
    }
    job wanted = new_job(device), got = new_job(device);
    GOOD(isoline_set_logger(count_files, NULL, ISOLINE_LOG_WARN));
    limit_memory();
    for (int call = 0; call < CALL_COUNT; call++) {
        files = 0;
        GOOD(CALLS[call](&got));
        CHECK(files > 0);
    }
    unlimit_memory();
    files = 0;
    for (int call = 0; call < CALL_COUNT; call++) {
        GOOD(CALLS[call](&wanted));
    }
    CHECK_NUMBER(files, 0);
    CHECK(memcmp(got.strength, wanted.strength, COUNT * sizeof(float)) == 0);
    CHECK(memcmp(got.mask, wanted.mask, COUNT) == 0);
    CHECK(memcmp(got.phi, wanted.phi, COUNT * sizeof(float)) == 0);
    CHECK(memcmp(got.labels, wanted.labels, COUNT) == 0);
    GOOD(isoline_set_logger(NULL, NULL, ISOLINE_LOG_OFF));
    free_job(&wanted);
    free_job(&got);
}

static void without_room_for_files_the_calls_fail(const char *device) {
    if (slow()) {
        skip("the instrument needs memory itself");
        return;
    }
    job of = new_job(device);
    limit_memory();
    GOOD(level_set(&of));
    setenv("TMPDIR", "/no/such/folder", 1);
    for (int call = 0; call < CALL_COUNT; call++) {
        CHECK_NUMBER(CALLS[call](&of), ISOLINE_OUT_OF_MEMORY);
        CHECK_HAS(isoline_last_error(), "cannot allocate ");
        CHECK_HAS(isoline_last_error(), "cannot map a temporary file of ");
        CHECK_HAS(isoline_last_error(), "in /no/such/folder");
    }
    setenv("TMPDIR", "/dev/shm", 1);
    CHECK_NUMBER(level_set(&of), ISOLINE_OUT_OF_MEMORY);
    CHECK_HAS(isoline_last_error(), "the folder is in memory itself; set TMPDIR");
    unsetenv("TMPDIR");
    GOOD(level_set(&of));
    free_job(&of);
}

/* Worker threads have memory of their own, for more of which there is no room: the library starts one for each processor that
   the process may use. */
static void use_two_processors(void) {
#ifdef __linux__
    cpu_set_t own, two;
    CHECK(sched_getaffinity(0, sizeof own, &own) == 0);
    CPU_ZERO(&two);
    for (size_t at = 0; at < CPU_SETSIZE && CPU_COUNT(&two) < 2; at++) {
        if (CPU_ISSET(at, &own)) {
            CPU_SET(at, &two);
        }
    }
    CHECK(sched_setaffinity(0, sizeof two, &two) == 0);
#endif
}

int main(void) {
    use_two_processors();
    RUN(arrays_in_files_give_the_results_of_arrays_in_memory);
    RUN(without_room_for_files_the_calls_fail);
    return summary();
}
#endif
