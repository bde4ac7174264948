/* The logger. */
#include "images.h"

typedef struct {
    int calls;
    int calls_at[5];
    int bad_levels;
    int line_ends;
    char last[512];
} record;

static void keep(void *user, uint32_t level, const char *message) {
    record *kept = (record *)user;
    kept->calls++;
    kept->bad_levels += level == ISOLINE_LOG_OFF || level > ISOLINE_LOG_DEBUG;
    kept->calls_at[level <= ISOLINE_LOG_DEBUG ? level : 0]++;
    kept->line_ends += strchr(message, '\n') != NULL;
    snprintf(kept->last, sizeof kept->last, "%s", message);
}

static void a_context_is_logged_at_info(const char *device) {
    record kept = {0};
    GOOD(isoline_set_logger(keep, &kept, ISOLINE_LOG_INFO));
    isoline_context_free(open_context(device));
    CHECK_NUMBER(kept.calls_at[ISOLINE_LOG_INFO], 1);
    CHECK_NUMBER(kept.calls, 1);
    CHECK_HAS(kept.last, device);
    CHECK_NUMBER(kept.line_ends, 0);
}

static void auto_logs_what_it_chose_and_why(const char *device) {
    (void)device;
    record kept = {0};
    GOOD(isoline_set_logger(keep, &kept, ISOLINE_LOG_INFO));
    isoline_context_free(open_context("auto"));
    CHECK_HAS(kept.last, "auto chose");
}

static void only_the_wanted_levels_arrive(const char *device) {
    const uint32_t levels[] = {ISOLINE_LOG_OFF, ISOLINE_LOG_ERROR, ISOLINE_LOG_WARN};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        record kept = {0};
        GOOD(isoline_set_logger(keep, &kept, levels[i]));
        isoline_context_free(open_context(device));
        CHECK_NUMBER(kept.calls, 0);
        GOOD(isoline_set_logger(NULL, NULL, ISOLINE_LOG_OFF));
    }
}

static void no_logger_means_silence(const char *device) {
    record kept = {0};
    isoline_context_free(open_context(device));
    GOOD(isoline_set_logger(keep, &kept, ISOLINE_LOG_DEBUG));
    GOOD(isoline_set_logger(NULL, NULL, ISOLINE_LOG_DEBUG));
    isoline_context_free(open_context(device));
    CHECK_NUMBER(kept.calls, 0);
}

static void an_unknown_level_is_refused_and_changes_nothing(const char *device) {
    record kept = {0};
    GOOD(isoline_set_logger(keep, &kept, ISOLINE_LOG_INFO));
    REFUSED(isoline_set_logger(NULL, NULL, ISOLINE_LOG_DEBUG + 1), ISOLINE_INVALID_ARGUMENT, "max");
    REFUSED(isoline_set_logger(NULL, NULL, UINT32_MAX), ISOLINE_INVALID_ARGUMENT, "max");
    isoline_context_free(open_context(device));
    CHECK_NUMBER(kept.calls, 1);
}

static void a_call_is_logged_at_debug(const char *device) {
    record kept = {0};
    uint8_t pixel = 255;
    float strength = UNWRITTEN;
    isoline_image input = describe(ISOLINE_U8, 1, 1, 1, &pixel);
    isoline_image output = describe(ISOLINE_F32, 1, 1, 1, &strength);
    isoline_context *context = open_context(device);
    GOOD(isoline_set_logger(keep, &kept, ISOLINE_LOG_DEBUG));
    if (GOOD(isoline_edge_strength(context, &input, NULL, NULL, &output, NULL))) {
        CHECK(kept.calls_at[ISOLINE_LOG_DEBUG] >= 1);
        CHECK(kept.calls_at[ISOLINE_LOG_ERROR] == 0 && kept.calls_at[ISOLINE_LOG_WARN] == 0);
        CHECK(kept.bad_levels == 0 && kept.line_ends == 0);
    }
    isoline_context_free(context);
}

static void a_result_that_has_not_converged_is_warned_of(const char *device) {
    record kept = {0};
    uint8_t pixels[30] = {255};
    float strengths[30];
    isoline_image input = describe(ISOLINE_U8, 30, 1, 1, pixels), output = describe(ISOLINE_F32, 30, 1, 1, strengths);
    isoline_edge_strength_params params = for_drawing(0);
    isoline_context *context = open_context(device);
    params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    for (params.max_cycles = 1; params.max_cycles <= 100; params.max_cycles += 99) {
        GOOD(isoline_set_logger(keep, &kept, ISOLINE_LOG_WARN));
        GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL));
        CHECK_NUMBER(kept.calls, 1);
    }
    CHECK_NUMBER(kept.calls_at[ISOLINE_LOG_WARN], 1);
    CHECK_HAS(kept.last, "not converged after 1 cycles");
    CHECK_HAS(kept.last, "tolerance 1.0e-5; raise max_cycles");
    isoline_context_free(context);
}

static void step_aside(void *user, uint32_t level, const char *message) {
    keep(user, level, message);
    GOOD(isoline_set_logger(NULL, NULL, ISOLINE_LOG_OFF));
}

static void a_logger_may_set_another(const char *device) {
    record kept = {0};
    GOOD(isoline_set_logger(step_aside, &kept, ISOLINE_LOG_DEBUG));
    isoline_context_free(open_context(device));
    isoline_context_free(open_context(device));
    CHECK_NUMBER(kept.calls, 1);
}

static void ask_back(void *user, uint32_t level, const char *message) {
    isoline_device entry;
    keep(user, level, message);
    GOOD(isoline_device_init(&entry, sizeof entry));
    GOOD(isoline_device_info(0, &entry));
    CHECK(isoline_last_error() != NULL);
}

static void a_logger_may_call_the_library(const char *device) {
    record kept = {0};
    GOOD(isoline_set_logger(ask_back, &kept, ISOLINE_LOG_INFO));
    isoline_context_free(open_context(device));
    CHECK(kept.calls >= 1);
}

int main(void) {
    RUN_ON_EACH(a_context_is_logged_at_info);
    RUN(auto_logs_what_it_chose_and_why);
    RUN(only_the_wanted_levels_arrive);
    RUN(no_logger_means_silence);
    RUN(an_unknown_level_is_refused_and_changes_nothing);
    RUN_ON_EACH(a_call_is_logged_at_debug);
    RUN_ON_EACH(a_result_that_has_not_converged_is_warned_of);
    RUN(a_logger_may_set_another);
    RUN(a_logger_may_call_the_library);
    return summary();
}
