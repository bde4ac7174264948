/* Version, names of statuses, and the last error of a thread. */
#include "check.h"

#include <pthread.h>

static const char *const NAMES[] = {
    "ISOLINE_OK",          "ISOLINE_NULL_POINTER", "ISOLINE_INVALID_ARGUMENT",   "ISOLINE_INVALID_SIZE",
    "ISOLINE_INVALID_TYPE", "ISOLINE_OVERLAP",      "ISOLINE_DEVICE_UNAVAILABLE", "ISOLINE_OUT_OF_MEMORY",
    "ISOLINE_DEVICE_FAILED", "ISOLINE_CANCELLED",    "ISOLINE_UNSUPPORTED",        "ISOLINE_BUSY",
    "ISOLINE_PANIC",
};
enum { STATUSES = sizeof NAMES / sizeof NAMES[0] };

static void the_number_and_the_text_of_the_version_agree(const char *device) {
    (void)device;
    unsigned major, minor, patch;
    CHECK_NUMBER(sscanf(isoline_version_string(), "%u.%u.%u", &major, &minor, &patch), 3);
    CHECK_NUMBER(isoline_version(), major << 16 | minor << 8 | patch);
}

static void every_status_has_its_name(const char *device) {
    (void)device;
    for (uint32_t status = 0; status < STATUSES; status++) {
        CHECK_TEXT(isoline_status_name(status), NAMES[status]);
    }
    CHECK_NUMBER(ISOLINE_PANIC, STATUSES - 1);
    const uint32_t unknown[] = {STATUSES, 255, INT32_MAX, UINT32_MAX};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        CHECK_TEXT(isoline_status_name(unknown[i]), "unknown status");
    }
}

static void there_is_no_error_at_first(const char *device) {
    (void)device;
    if (CHECK(isoline_last_error() != NULL)) {
        CHECK_TEXT(isoline_last_error(), "");
    }
}

static void an_error_stays_until_the_next(const char *device) {
    (void)device;
    isoline_device entry;
    isoline_image image;
    REFUSED(isoline_device_init(NULL, sizeof entry), ISOLINE_NULL_POINTER, "device");
    const char *message = isoline_last_error();
    char copy[256];
    snprintf(copy, sizeof copy, "%s", message);
    GOOD(isoline_device_init(&entry, sizeof entry));
    GOOD(isoline_image_init(&image, sizeof image));
    isoline_device_count();
    isoline_status_name(99);
    isoline_context_free(NULL);
    CHECK(isoline_last_error() == message);
    CHECK_TEXT(message, copy);
    REFUSED(isoline_image_init(NULL, sizeof image), ISOLINE_NULL_POINTER, "image");
}

static void *fail_elsewhere(void *at_first) {
    isoline_progress progress;
    *(int *)at_first = isoline_last_error()[0] == '\0';
    REFUSED(isoline_progress_init(&progress, 1), ISOLINE_INVALID_ARGUMENT, "isoline_progress");
    return NULL;
}

static void each_thread_has_its_own_error(const char *device) {
    (void)device;
    REFUSED(isoline_image_init(NULL, sizeof(isoline_image)), ISOLINE_NULL_POINTER, "image");
    int empty_at_first = 0;
    pthread_t other;
    pthread_create(&other, NULL, fail_elsewhere, &empty_at_first);
    pthread_join(other, NULL);
    CHECK(empty_at_first);
    CHECK_HAS(isoline_last_error(), "image");
}

int main(void) {
    RUN(the_number_and_the_text_of_the_version_agree);
    RUN(every_status_has_its_name);
    RUN(there_is_no_error_at_first);
    RUN(an_error_stays_until_the_next);
    RUN(each_thread_has_its_own_error);
    return summary();
}
