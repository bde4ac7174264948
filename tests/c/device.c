/* The list of devices. */
#include "process.h"

static isoline_device told(size_t index) {
    isoline_device entry;
    GOOD(isoline_device_init(&entry, sizeof entry));
    GOOD(isoline_device_info(index, &entry));
    return entry;
}

static int terminated(const char *text, size_t size) {
    return memchr(text, '\0', size) != NULL;
}

static void the_first_is_the_cpu(const char *device) {
    (void)device;
    CHECK(isoline_device_count() >= 1);
    isoline_device cpu = told(0);
    CHECK_NUMBER(cpu.struct_size, sizeof cpu);
    CHECK_NUMBER(cpu.kind, ISOLINE_DEVICE_CPU);
    CHECK_NUMBER(cpu.index, 0);
    CHECK_NUMBER(cpu.usable, 1);
    CHECK(cpu.compute_major == 0 && cpu.compute_minor == 0 && cpu.driver_version == 0);
    CHECK(cpu.multiprocessors >= 1 && cpu.multiprocessors <= (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
    CHECK(cpu.total_memory > 0 && cpu.free_memory > 0 && cpu.free_memory <= cpu.total_memory);
    CHECK_TEXT(cpu.id, "cpu");
    CHECK(cpu.name[0] != '\0' && cpu.reason[0] != '\0');
}

static void every_entry_says_whether_it_is_usable_and_why(const char *device) {
    (void)device;
    size_t count = isoline_device_count();
    for (size_t index = 0; index < count; index++) {
        isoline_device entry = told(index);
        CHECK(terminated(entry.id, sizeof entry.id) && terminated(entry.name, sizeof entry.name));
        CHECK(terminated(entry.reason, sizeof entry.reason));
        CHECK(entry.reason[0] != '\0' && entry.id[0] != '\0');
        CHECK(entry.usable <= 1);
        isoline_context *context = NULL;
        isoline_status status = isoline_context_new(entry.id, &context);
        if (entry.usable) {
            CHECK_NUMBER(status, ISOLINE_OK);
            isoline_context_free(context);
        } else {
            CHECK_NUMBER(status, ISOLINE_DEVICE_UNAVAILABLE);
            CHECK(isoline_last_error()[0] != '\0');
        }
        if (index > 0) {
            CHECK_NUMBER(entry.kind, ISOLINE_DEVICE_CUDA);
        }
        if (index > 0 && entry.usable) {
            char id[16];
            snprintf(id, sizeof id, "cuda:%u", entry.index);
            CHECK_TEXT(entry.id, id);
            CHECK(entry.compute_major >= 7 && entry.multiprocessors > 0 && entry.driver_version >= 12000);
            CHECK(entry.total_memory > 0 && entry.free_memory <= entry.total_memory);
            CHECK(entry.name[0] != '\0');
        }
    }
}

static void cuda_is_listed_even_where_there_is_none(const char *device) {
    (void)device;
    if (CHECK(isoline_device_count() >= 2)) {
        isoline_device first = told(1);
        CHECK(strncmp(first.id, "cuda", 4) == 0);
    }
}

static void an_index_out_of_range_is_refused(const char *device) {
    (void)device;
    const size_t indices[] = {isoline_device_count(), isoline_device_count() + 1, UINT32_MAX, SIZE_MAX};
    isoline_device entry;
    GOOD(isoline_device_init(&entry, sizeof entry));
    for (size_t i = 0; i < sizeof indices / sizeof indices[0]; i++) {
        isoline_device before = entry;
        REFUSED(isoline_device_info(indices[i], &entry), ISOLINE_INVALID_ARGUMENT, "index");
        CHECK(memcmp(&entry, &before, sizeof entry) == 0);
    }
}

static void null_is_refused(const char *device) {
    (void)device;
    REFUSED(isoline_device_info(0, NULL), ISOLINE_NULL_POINTER, "out");
    REFUSED(isoline_device_info(SIZE_MAX, NULL), ISOLINE_NULL_POINTER, "out");
}

static void a_struct_without_init_is_refused_and_untouched(const char *device) {
    (void)device;
    const uint32_t sizes[] = {0, 3, 4, sizeof(isoline_device) - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        isoline_device entry, before;
        memset(&entry, 0x5A, sizeof entry);
        entry.struct_size = sizes[i];
        before = entry;
        REFUSED(isoline_device_info(0, &entry), ISOLINE_INVALID_ARGUMENT, "struct_size");
        CHECK(memcmp(&entry, &before, sizeof entry) == 0);
    }
}

static void what_a_newer_caller_has_more_is_left_alone(const char *device) {
    (void)device;
    struct {
        isoline_device known;
        unsigned char more[24];
        unsigned char guard[64];
    } newer, before;
    memset(&newer, 0xA5, sizeof newer);
    GOOD(isoline_device_init(&newer.known, sizeof newer.known + sizeof newer.more));
    before = newer;
    GOOD(isoline_device_info(0, &newer.known));
    CHECK_NUMBER(newer.known.struct_size, sizeof newer.known + sizeof newer.more);
    CHECK_TEXT(newer.known.id, "cpu");
    CHECK(memcmp(newer.more, before.more, sizeof newer.more) == 0);
    CHECK(memcmp(newer.guard, before.guard, sizeof newer.guard) == 0);
}

static void ask_all(void *unused) {
    (void)unused;
    size_t count = isoline_device_count();
    for (size_t index = 0; index < count; index++) {
        told(index);
    }
}

static void asking_often_costs_nothing(const char *device) {
    (void)device;
    /* The query of a GPU takes a large part of a second. */
    int cuda = told(isoline_device_count() - 1).usable && isoline_device_count() > 1;
    must_not_grow(ask_all, NULL, cuda ? 2 : (int)scaled(20, 2), cuda ? 5 : (int)scaled(300, 10));
}

static void counting_and_refusing_open_no_device(const char *device) {
    (void)device;
    isoline_device entry;
    GOOD(isoline_device_init(&entry, sizeof entry));
    /* The first call may load the driver and start it. */
    size_t count = isoline_device_count();
    double started = seconds_now();
    for (size_t round = 0; round < scaled(1000, 20); round++) {
        isoline_context *context = NULL;
        CHECK_NUMBER(isoline_device_count(), count);
        REFUSED(isoline_device_info(count, &entry), ISOLINE_INVALID_ARGUMENT, "index");
        REFUSED(isoline_context_new("cuda:99", &context), ISOLINE_DEVICE_UNAVAILABLE, NULL);
    }
    /* The rounds take a few milliseconds. Loading the driver in each would take a second, opening a GPU minutes. */
    double seconds = seconds_now() - started;
    check_that(slow() || seconds < 10, __FILE__, __LINE__, "1000 rounds took %.3f s, not less than 10 s", seconds);
}

int main(void) {
    RUN(the_first_is_the_cpu);
    RUN_ON(every_entry_says_whether_it_is_usable_and_why, "all");
    RUN_ON(cuda_is_listed_even_where_there_is_none, "all");
    RUN(an_index_out_of_range_is_refused);
    RUN(null_is_refused);
    RUN(a_struct_without_init_is_refused_and_untouched);
    RUN(what_a_newer_caller_has_more_is_left_alone);
    RUN_ON(counting_and_refusing_open_no_device, "all");
    RUN_ON(asking_often_costs_nothing, "all");
    return summary();
}
