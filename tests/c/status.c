/* Version, names of statuses, and the last error of a thread. */
#include "check.h"

#include <pthread.h>

static const char *const NAMES[] = {
    "ISOLINE_OK",          "ISOLINE_NULL_POINTER", "ISOLINE_INVALID_ARGUMENT",   "ISOLINE_INVALID_SIZE",
    "ISOLINE_INVALID_TYPE", "ISOLINE_OVERLAP",      "ISOLINE_DEVICE_UNAVAILABLE", "ISOLINE_OUT_OF_MEMORY",
    "ISOLINE_DEVICE_FAILED", "ISOLINE_CANCELLED",    "ISOLINE_UNSUPPORTED",        "ISOLINE_BUSY",
    "ISOLINE_PANIC",        "ISOLINE_CALLBACK_FAILED",
};
enum { STATUSES = sizeof NAMES / sizeof NAMES[0] };

static void the_number_and_the_text_of_the_version_agree(const char *device) {
    (void)device;
    unsigned major, minor, patch;
    CHECK_NUMBER(sscanf(isoline_version_string(), "%u.%u.%u", &major, &minor, &patch), 3);
    CHECK_NUMBER(isoline_version(), major << 16 | minor << 8 | patch);
}

static void the_header_is_of_the_library_s_version(const char *device) {
    (void)device;
    CHECK_NUMBER(isoline_version(), ISOLINE_VERSION);
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", ISOLINE_VERSION_MAJOR, ISOLINE_VERSION_MINOR, ISOLINE_VERSION_PATCH);
    CHECK_TEXT(isoline_version_string(), text);
#if ISOLINE_VERSION < 256 || !defined(ISOLINE_DEPRECATED)
#error "the preprocessor can neither compare the version nor deprecate"
#endif
}

static void every_status_has_its_name(const char *device) {
    (void)device;
    for (uint32_t status = 0; status < STATUSES; status++) {
        CHECK_TEXT(isoline_status_name(status), NAMES[status]);
    }
    CHECK_NUMBER(ISOLINE_CALLBACK_FAILED, STATUSES - 1);
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

static void a_pointer_once_got_stays_good(const char *device) {
    (void)device;
    const char *at_first = isoline_last_error();
    CHECK_TEXT(at_first, "");
    for (int round = 0; round < 100; round++) {
        REFUSED(isoline_image_init(NULL, sizeof(isoline_image)), ISOLINE_NULL_POINTER, "image");
        CHECK(isoline_last_error() == at_first);
        CHECK_HAS(at_first, "image");
        isoline_context *context;
        REFUSED(isoline_context_new("nonsense", &context), ISOLINE_INVALID_ARGUMENT, "nonsense");
        CHECK(isoline_last_error() == at_first);
        CHECK_HAS(at_first, "nonsense");
    }
}

static void status_and_sentence_may_be_asked_for_in_one_expression(const char *device) {
    (void)device;
    char text[512];
    /* C may evaluate the arguments in any order; both give the sentence of this call. */
    REFUSED(isoline_image_init(NULL, sizeof(isoline_image)), ISOLINE_NULL_POINTER, "image");
    snprintf(text, sizeof text, "%s: %s", isoline_status_name(isoline_context_trim(NULL)), isoline_last_error());
    CHECK_TEXT(text, "ISOLINE_NULL_POINTER: context must not be NULL");
    snprintf(text, sizeof text, "%s (%s)", isoline_last_error(), isoline_status_name(isoline_device_info(0, NULL)));
    CHECK_TEXT(text, "out must not be NULL (ISOLINE_NULL_POINTER)");
}

/* The number of bytes of a character of UTF-8, 0 if there is none at `text`. */
static size_t character(const char *text) {
    const unsigned char first = (unsigned char)text[0];
    size_t bytes = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
    for (size_t i = 1; i < bytes; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return bytes;
}

static void an_overlong_sentence_is_cut_after_a_character(const char *device) {
    (void)device;
    enum { LONGEST = 2047, GIVEN = 1 << 16 };
    const char *const end = "\xE2\x80\xA6"; /* an ellipsis */
    char *given = (char *)malloc(GIVEN + 8);
    if (!CHECK(given != NULL)) {
        return;
    }
    /* Characters of two bytes after none or one of one: the cut cannot fall between characters in both. */
    for (size_t shift = 0; shift < 2; shift++) {
        memset(given, 'x', shift);
        for (size_t at = shift; at < GIVEN; at += 2) {
            memcpy(given + at, "\xC3\xA9", 3);
        }
        isoline_context *context;
        REFUSED(isoline_context_new(given, &context), ISOLINE_INVALID_ARGUMENT, "auto, cpu, cuda or cuda:N");
        const char *message = isoline_last_error();
        size_t length = strlen(message), at = 0;
        CHECK(length <= LONGEST && length >= LONGEST - 1);
        CHECK_TEXT(message + length - strlen(end), end);
        while (at < length && CHECK(character(message + at) > 0)) {
            at += character(message + at);
        }
        CHECK_NUMBER(at, length);
    }
    free(given);
    REFUSED(isoline_context_trim(NULL), ISOLINE_NULL_POINTER, "context");
    CHECK_TEXT(isoline_last_error(), "context must not be NULL");
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
    RUN(the_header_is_of_the_library_s_version);
    RUN(every_status_has_its_name);
    RUN(there_is_no_error_at_first);
    RUN(an_error_stays_until_the_next);
    RUN(a_pointer_once_got_stays_good);
    RUN(status_and_sentence_may_be_asked_for_in_one_expression);
    RUN(an_overlong_sentence_is_cut_after_a_character);
    RUN(each_thread_has_its_own_error);
    return summary();
}
