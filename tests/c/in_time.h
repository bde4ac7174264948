/* The 100 ms within which the header promises that a call ends. Other work on the machine adds to the time by the clock. So each
 * test runs twice: by the clock, with an allowance, and as the device ONE_CORE, on the CPU with a single core, by the processor
 * time of the process, to which other work adds little. ISOLINE_NO_ONE_CORE=1 leaves the latter out. */
#ifndef ISOLINE_TESTS_IN_TIME_H
#define ISOLINE_TESTS_IN_TIME_H

#include "check.h"

#include <time.h>
#ifdef __linux__
#include <sched.h>
#endif

/* The time that a cancel may take. */
static const double PROMISED_SECONDS = 0.1;

static double slack_seconds = 0.4;
static clockid_t measured_by = CLOCK_MONOTONIC;

static inline double moment(void) {
    struct timespec now;
    clock_gettime(measured_by, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#ifdef __linux__
static const char ONE_CORE[] = "cpu, one core";
#endif

/* Returns whether a cancel that was late is to be tried again, twice at most: other work on the machine may have held it up. */
static inline int is_tried_again(double late, int *attempts) {
    *attempts = slow() || late <= PROMISED_SECONDS + slack_seconds || *attempts == 2 ? 0 : *attempts + 1;
    return *attempts > 0;
}

/* Returns the device to open. The library has as many worker threads as the process may use cores. */
static inline const char *opened(const char *device) {
#ifdef __linux__
    if (strcmp(device, ONE_CORE) == 0) {
        cpu_set_t core;
        CPU_ZERO(&core);
        CPU_SET((size_t)sched_getcpu(), &core);
        CHECK(sched_setaffinity(0, sizeof core, &core) == 0);
        measured_by = CLOCK_PROCESS_CPUTIME_ID;
        slack_seconds = 0.15;
        return "cpu";
    }
#endif
    return device;
}

#ifdef __linux__
#define RUN_BY_BOTH(test)                                                                                              \
    do {                                                                                                               \
        RUN_ON_EACH(test);                                                                                             \
        if (!slow() && getenv("ISOLINE_NO_ONE_CORE") == NULL) {                                                        \
            RUN_ON(test, ONE_CORE);                                                                                    \
        }                                                                                                              \
    } while (0)
#else
#define RUN_BY_BOTH(test) RUN_ON_EACH(test)
#endif

#endif
