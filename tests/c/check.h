/*
 * A test runner in one header, for C11 and C++17.
 *
 * Every test runs in a child process with limits on time, memory and core dumps: a crash, an abort or an endless loop
 * in the library is one failed test, and no test finds threads or an error text that another one left behind. The
 * parent therefore never calls into the library; that also keeps fork safe (the library has threads, and a CUDA driver
 * does not survive a fork).
 *
 * A test is a function of the device it is to use. It ends with an exit status: 0 good, 1 a check failed, 77 skipped.
 */
#ifndef ISOLINE_TESTS_CHECK_H
#define ISOLINE_TESTS_CHECK_H

#include "isoline.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The number of failed checks of one test that are printed. */
enum { ENOUGH_FAILURES = 12 };
enum { EXIT_SKIPPED = 77, SECONDS_PER_TEST = 300, SLOW_SECONDS_PER_TEST = 300 };

typedef void (*test_function)(const char *device);

/* The results of the tests, in the parent. */
static int tests_passed, tests_failed, tests_skipped;
/* The result of this test, in the child. Several threads may make checks. */
static int checks_failed, test_skipped;

/* The runner sets the instrument of this run: "valgrind", "asan", "tsan", the emulator "wine" or "qemu", or nothing. */
static inline const char *instrument(void) {
    const char *name = getenv("ISOLINE_TESTS_UNDER");
    return name == NULL ? "" : name;
}

/* Under an instrument everything is many times slower: sizes are reduced, and times and memory are not checked. */
static inline int slow(void) {
    return instrument()[0] != '\0';
}

static inline size_t scaled(size_t normally, size_t under_an_instrument) {
    return slow() ? under_an_instrument : normally;
}

static inline double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline int check_that(int good, const char *file, int line, const char *what, ...) {
    if (!good) {
        const char *name = strrchr(file, '/');
        va_list arguments;
        char text[2048];
        va_start(arguments, what);
        vsnprintf(text, sizeof text, what, arguments);
        va_end(arguments);
        int before = __atomic_fetch_add(&checks_failed, 1, __ATOMIC_SEQ_CST);
        if (before < ENOUGH_FAILURES) {
            printf("       %s:%d: %s\n", name == NULL ? file : name + 1, line, text);
            fflush(stdout);
        }
    }
    return good;
}

static inline int check_number(double got, double wanted, const char *file, int line, const char *what) {
    return check_that(got == wanted, file, line, "%s is %.17g, not %.17g", what, got, wanted);
}

static inline int check_text(const char *got, const char *wanted, const char *file, int line, const char *what) {
    return check_that(strcmp(got, wanted) == 0, file, line, "%s is '%s', not '%s'", what, got, wanted);
}

static inline int check_has(const char *text, const char *part, const char *file, int line, const char *what) {
    return check_that(strstr(text, part) != NULL, file, line, "%s is '%s' and lacks '%s'", what, text, part);
}

static inline int check_status(isoline_status got, isoline_status wanted, const char *word, const char *file, int line,
                               const char *call) {
    const char *message = isoline_last_error();
    int good = check_that(got == wanted, file, line, "%s gave %s, not %s (last error: '%s')", call,
                          isoline_status_name(got), isoline_status_name(wanted), message);
    if (good && word != NULL) {
        good = check_that(strstr(message, word) != NULL, file, line, "%s: the message lacks '%s': '%s'", call, word,
                          message);
    }
    return good;
}

/* The value is 1 when the check holds, so that a test can leave early. */
#define CHECK(condition) check_that((condition) ? 1 : 0, __FILE__, __LINE__, "%s", #condition)
#define CHECK_NUMBER(got, wanted) check_number((double)(got), (double)(wanted), __FILE__, __LINE__, #got)
#define CHECK_TEXT(got, wanted) check_text((got), (wanted), __FILE__, __LINE__, #got)
#define CHECK_HAS(text, part) check_has((text), (part), __FILE__, __LINE__, #text)
#define GOOD(call) check_status((call), ISOLINE_OK, NULL, __FILE__, __LINE__, #call)
/* The call fails with `status`, and the message names `word`. */
#define REFUSED(call, status, word) check_status((call), (status), (word), __FILE__, __LINE__, #call)
/* `change` of a `job`, a copy of `good_job`, makes its `run` fail with `status` and a message that has `word`. The job stays as
   it is, and `unwritten` holds. */
#define SPOILT_JOB(change, status, word, unwritten)                                                                    \
    do {                                                                                                               \
        job work = good_job;                                                                                           \
        change;                                                                                                        \
        job before = work;                                                                                             \
        check_status(run(&work), (status), (word), __FILE__, __LINE__, #change);                                       \
        CHECK((unwritten) && memcmp(&before, &work, sizeof before) == 0);                                              \
    } while (0)

static inline void skip(const char *reason) {
    printf("       skipped: %s\n", reason);
    test_skipped = 1;
}

/* Runs a test and ends the process with its result. */
static inline void run_and_exit(test_function test, const char *device) {
    test(device);
    fflush(NULL);
    exit(checks_failed > 0 ? 1 : test_skipped ? EXIT_SKIPPED : 0);
}

/* Runs a test in a child process; returns its exit status, or minus the signal that ended it. */
static inline int in_child(test_function test, const char *device) {
    const unsigned seconds = slow() ? SLOW_SECONDS_PER_TEST : SECONDS_PER_TEST;
    fflush(NULL);
#ifdef _WIN32
    return run_in_process(test, device, run_and_exit, seconds);
#else
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        if (!slow() && strcmp(device, "cpu") == 0) {
            /* An allocation without bound must not exhaust the machine. CUDA and the instruments reserve far more. Each thread
               of a context, of which there are as many as processors, reserves 64 MiB for its own allocations, and several
               contexts live at once. */
            struct rlimit memory;
            getrlimit(RLIMIT_AS, &memory);
            memory.rlim_cur = ((rlim_t)8 << 30) + ((rlim_t)sysconf(_SC_NPROCESSORS_ONLN) << 29);
            setrlimit(RLIMIT_AS, &memory);
        }
        alarm(seconds);
        run_and_exit(test, device);
    }
    int state = 0;
    if (child < 0 || waitpid(child, &state, 0) != child) {
        perror("fork");
        return -1;
    }
    return WIFSIGNALED(state) ? -WTERMSIG(state) : WEXITSTATUS(state);
#endif
}

static inline void run_test(const char *name, test_function test, const char *device) {
    double started = seconds_now();
    int outcome = in_child(test, device);
#ifdef _WIN32
    if (test_of_this_process() != NULL) {
        return;
    }
#endif
    double seconds = seconds_now() - started;
    if (outcome == 0) {
        tests_passed++;
        printf("  ok   %s [%s] %.2f s\n", name, device, seconds);
    } else if (outcome == EXIT_SKIPPED) {
        tests_skipped++;
        printf("  skip %s [%s]\n", name, device);
    } else if (outcome < 0) {
        tests_failed++;
        printf("  FAIL %s [%s]: %s%s after %.1f s\n", name, device,
               outcome == -SIGALRM ? "took too long: " : "killed by the signal ", strsignal(-outcome), seconds);
    } else {
        tests_failed++;
        printf("  FAIL %s [%s]: exit status %d\n", name, device, outcome);
    }
    fflush(stdout);
}

/* Exits with 0 if a context can be created on cuda:0; else prints the reason. */
static inline void probe_cuda(const char *unused) {
    (void)unused;
    for (size_t index = 1; index < isoline_device_count(); index++) {
        isoline_device device;
        isoline_device_init(&device, sizeof device);
        isoline_device_info(index, &device);
        if (device.usable && strcmp(device.id, "cuda:0") == 0) {
            return;
        }
        printf("  no tests on cuda:0: %s\n", device.reason);
    }
    test_skipped = 1;
}

static inline int have_cuda(void) {
    static int known = -1;
    if (known < 0) {
        /* The instruments report the driver's mappings of memory as defects. */
        known = !slow() && in_child(probe_cuda, "cuda:0") == 0;
    }
    return known;
}

/* On the CPU only; on the CPU and, where there is one, on the first CUDA device. */
#define RUN(test) run_test(#test, test, "cpu")
#define RUN_ON_EACH(test)                                                                                              \
    do {                                                                                                               \
        run_test(#test, test, "cpu");                                                                                  \
        if (have_cuda()) {                                                                                             \
            run_test(#test, test, "cuda:0");                                                                           \
        }                                                                                                              \
    } while (0)
#define RUN_ON(test, device) run_test(#test, test, device)

static inline int summary(void) {
    if (tests_skipped > 0) {
        printf("  (%d skipped)\n", tests_skipped);
    }
    printf("%d passed, %d failed\n", tests_passed, tests_failed);
    return tests_failed > 0 ? 1 : 0;
}

#endif
