/* A progress callback that records its calls, and cancels at a given one. */
#ifndef ISOLINE_TESTS_WATCH_H
#define ISOLINE_TESTS_WATCH_H

#include "check.h"

/* The observations: the number of calls, and of those with a fraction that decreased or left 0..1, or without a stage. */
typedef struct {
    int calls, cancel_at, bad;
    double last, cancelled;
} watch;

static inline int look(void *user, double fraction, const char *stage) {
    watch *seen = (watch *)user;
    seen->calls++;
    seen->bad += !(fraction >= seen->last && fraction <= 1) || stage == NULL || stage[0] == '\0';
    seen->last = fraction;
    seen->cancelled = seconds_now();
    return seen->cancel_at > 0 && seen->calls >= seen->cancel_at;
}

static inline isoline_progress watched_by(watch *seen) {
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    progress.callback = look;
    progress.user = seen;
    return progress;
}

#endif
