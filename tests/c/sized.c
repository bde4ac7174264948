/*
 * The conventions of structs that begin with their size: init, older and newer callers, and the bytes after a struct.
 * The structs of an operation are tested with the operation.
 */
#include "check.h"

#include <math.h>

typedef isoline_status (*init_function)(void *, size_t);

/* init_structs.h, which run.sh makes from the header, has INIT(struct, argument) of each init function. */
#define INIT(type, argument)                                                                                           \
    static isoline_status init_##type(void *pointer, size_t size) { return type##_init((type *)pointer, size); }
#include "init_structs.h"
#undef INIT

typedef struct {
    const char *name;
    const char *argument;
    size_t size;
    init_function init;
} kind;

static const kind KINDS[] = {
#define INIT(type, argument) {#type, #argument, sizeof(type), init_##type},
#include "init_structs.h"
#undef INIT
};
enum { COUNT = sizeof KINDS / sizeof KINDS[0], GUARD = 64, FILL = 0xA5 };

/* Memory of exactly `size` bytes and a guard, all FILL: exact, so that the instruments see one byte too many. */
static unsigned char *filled(size_t size) {
    unsigned char *memory = (unsigned char *)malloc(size);
    if (memory == NULL) {
        exit(1);
    }
    memset(memory, FILL, size);
    return memory;
}

static int all(const unsigned char *bytes, size_t count, unsigned char value) {
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != value) {
            return 0;
        }
    }
    return 1;
}

static uint32_t size_in(const unsigned char *memory) {
    uint32_t size;
    memcpy(&size, memory, sizeof size);
    return size;
}

static void null_is_refused_by_name(const char *device) {
    (void)device;
    for (size_t i = 0; i < COUNT; i++) {
        REFUSED(KINDS[i].init(NULL, KINDS[i].size), ISOLINE_NULL_POINTER, KINDS[i].argument);
        REFUSED(KINDS[i].init(NULL, 0), ISOLINE_NULL_POINTER, KINDS[i].argument);
    }
}

static void a_size_that_is_too_small_is_refused_and_writes_nothing(const char *device) {
    (void)device;
    for (size_t i = 0; i < COUNT; i++) {
        const size_t sizes[] = {0, 1, 3, 4, KINDS[i].size - 1};
        for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
            unsigned char *memory = filled(sizes[j] + 1);
            REFUSED(KINDS[i].init(memory, sizes[j]), ISOLINE_INVALID_ARGUMENT, "struct_size");
            CHECK_HAS(isoline_last_error(), KINDS[i].name);
            CHECK(all(memory, sizes[j] + 1, FILL));
            free(memory);
        }
    }
}

static void a_size_that_does_not_fit_its_field_is_refused(const char *device) {
    (void)device;
    const size_t sizes[] = {(size_t)UINT32_MAX + 1, ((size_t)1 << 32) + 4096, SIZE_MAX};
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
            unsigned char *memory = filled(KINDS[i].size);
            REFUSED(KINDS[i].init(memory, sizes[j]), ISOLINE_INVALID_ARGUMENT, "struct_size");
            CHECK(all(memory, KINDS[i].size, FILL));
            free(memory);
        }
    }
}

static void init_writes_the_struct_and_not_a_byte_more(const char *device) {
    (void)device;
    for (size_t i = 0; i < COUNT; i++) {
        unsigned char *memory = filled(KINDS[i].size + GUARD);
        GOOD(KINDS[i].init(memory, KINDS[i].size));
        CHECK_NUMBER(size_in(memory), KINDS[i].size);
        CHECK(all(memory + KINDS[i].size, GUARD, FILL));
        /* The same again in memory that ends with the struct. */
        unsigned char *exact = filled(KINDS[i].size);
        GOOD(KINDS[i].init(exact, KINDS[i].size));
        CHECK(memcmp(memory, exact, KINDS[i].size) == 0);
        free(exact);
        free(memory);
    }
}

static void init_zeroes_what_a_newer_caller_has_more(const char *device) {
    (void)device;
    const size_t more[] = {1, 8, 1000};
    for (size_t i = 0; i < COUNT; i++) {
        unsigned char *usual = filled(KINDS[i].size);
        GOOD(KINDS[i].init(usual, KINDS[i].size));
        for (size_t j = 0; j < sizeof more / sizeof more[0]; j++) {
            size_t size = KINDS[i].size + more[j];
            unsigned char *memory = filled(size + GUARD);
            GOOD(KINDS[i].init(memory, size));
            CHECK_NUMBER(size_in(memory), size);
            CHECK(memcmp(memory + 4, usual + 4, KINDS[i].size - 4) == 0);
            CHECK(all(memory + KINDS[i].size, more[j], 0));
            CHECK(all(memory + size, GUARD, FILL));
            free(memory);
        }
        free(usual);
    }
}

static void the_defaults_are_those_of_the_header(const char *device) {
    (void)device;
    isoline_image image;
    GOOD(isoline_image_init(&image, sizeof image));
    CHECK_NUMBER(image.type, ISOLINE_U8);
    CHECK_NUMBER(image.memory, ISOLINE_HOST);
    CHECK_NUMBER(image.reserved, 0);
    CHECK(image.width == 0 && image.height == 0 && image.depth == 1);
    CHECK(image.row_stride == 0 && image.slice_stride == 0);
    CHECK(image.spacing[0] == 1 && image.spacing[1] == 1 && image.spacing[2] == 1);
    CHECK(image.data == NULL);

    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    CHECK(progress.reserved == 0 && progress.callback == NULL && progress.user == NULL);

    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    CHECK(report.device_kind == 0 && report.device_index == 0 && report.converged == 0);
    CHECK(report.iterations == 0 && report.slices_done == 0 && report.peak_device_bytes == 0);
    CHECK(report.seconds_total == 0 && report.seconds_upload == 0);
    CHECK(report.seconds_compute == 0 && report.seconds_download == 0);
    CHECK(isnan(report.residual));
    CHECK_TEXT(report.device_name, "");
    CHECK_NUMBER(report.device_count, 0);
    CHECK_NUMBER(report.part_count, 0);

    /* The params structs: operation.c walks their parameters. */
    isoline_level_set_params surface;
    GOOD(isoline_level_set_params_init(&surface, sizeof surface));
    CHECK_NUMBER(surface.side, ISOLINE_LEVEL_SET_AUTO_SIDE);

    isoline_segment_arrays arrays;
    GOOD(isoline_segment_arrays_init(&arrays, sizeof arrays));
    CHECK(arrays.reserved == 0 && arrays.count == 0 && arrays.point_count == 0);
    CHECK(arrays.points == NULL && arrays.offsets == NULL && arrays.flags == NULL);
    CHECK(arrays.slices == NULL && arrays.mean_gradients == NULL);

    isoline_polygons polygons;
    GOOD(isoline_polygons_init(&polygons, sizeof polygons));
    CHECK(polygons.reserved == 0 && polygons.count == 0 && polygons.node_count == 0);
    CHECK(polygons.nodes == NULL && polygons.offsets == NULL);

    const unsigned char zeros[sizeof(isoline_device)] = {0};
    isoline_level_set_state state;
    GOOD(isoline_level_set_state_init(&state, sizeof state));
    CHECK(memcmp((unsigned char *)&state + 4, zeros + 4, sizeof state - 4) == 0);
    isoline_device entry;
    GOOD(isoline_device_init(&entry, sizeof entry));
    CHECK(memcmp((unsigned char *)&entry + 4, zeros + 4, sizeof entry - 4) == 0);
}

int main(void) {
    RUN(null_is_refused_by_name);
    RUN(a_size_that_is_too_small_is_refused_and_writes_nothing);
    RUN(a_size_that_does_not_fit_its_field_is_refused);
    RUN(init_writes_the_struct_and_not_a_byte_more);
    RUN(init_zeroes_what_a_newer_caller_has_more);
    RUN(the_defaults_are_those_of_the_header);
    return summary();
}
