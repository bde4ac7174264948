/* Out of memory: each operation under limits of the address space, from far too little to nearly enough, as `ulimit -v` and
 * the queues of clusters set them. A call succeeds or returns ISOLINE_OUT_OF_MEMORY; no limit ends the process. */
#include "calls.h"
#include "process.h"

enum { LIMITS = 13 };

static void prepare(const char *device) {
#ifdef M_ARENA_MAX
    /* Otherwise each thread reserves 64 MiB of address space for its allocations, before any limit is set. */
    mallopt(M_ARENA_MAX, 1);
#endif
    given.context = open_context(device);
    prepare_images(700, 600, 3);
}

#ifdef _WIN32

/* A process cannot limit its own memory here. */
static void no_limit_ends(const char *device, const char *name, isoline_status (*run)(void)) {
    (void)device;
    (void)name;
    (void)run;
    (void)prepare;
    skip("a process cannot limit its own memory");
}

#else

static void limit_to(rlim_t bytes) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
}

/* Exit statuses of a child. */
enum { ENOUGH = 10, TOO_LITTLE, WRONG };

/* Runs an operation in a child with `more` bytes beside those that it has; how it ended. */
static int with_limit(const char *device, isoline_status (*run)(void), long more) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prepare(device);
        limit_to((rlim_t)address_space_kb() * 1024 + (rlim_t)more);
        isoline_status status = run();
        limit_to(RLIM_INFINITY);
        if (status != ISOLINE_OK && status != ISOLINE_OUT_OF_MEMORY) {
            printf("       %s: %s\n", isoline_status_name(status), isoline_last_error());
            fflush(NULL);
            _exit(WRONG);
        }
        /* The context is usable afterwards. */
        _exit(run() != ISOLINE_OK ? WRONG : status == ISOLINE_OK ? ENOUGH : TOO_LITTLE);
    }
    int state = 0;
    waitpid(child, &state, 0);
    return WIFSIGNALED(state) ? -WTERMSIG(state) : WEXITSTATUS(state);
}

/* The memory, in bytes, that an operation takes at most, as a child measures it. malloc reserves address space that it does
 * not need, and does without where there is a limit. */
static long need_of(const char *device, isoline_status (*run)(void)) {
    int ends[2];
    long need = 0;
    CHECK(pipe(ends) == 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prepare(device);
        long before = status_number("VmHWM:");
        GOOD(run());
        need = (status_number("VmHWM:") - before) * 1024;
        _exit(write(ends[1], &need, sizeof need) != (ssize_t)sizeof need || checks_failed > 0);
    }
    int state = 0;
    waitpid(child, &state, 0);
    CHECK(state == 0 && read(ends[0], &need, sizeof need) == (ssize_t)sizeof need);
    close(ends[0]);
    close(ends[1]);
    return need;
}

static void no_limit_ends(const char *device, const char *name, isoline_status (*run)(void)) {
    if (slow()) {
        skip("an instrument needs more memory than the test allows");
        return;
    }
    long need = need_of(device, run);
    int too_little = 0;
    for (int i = 0; i < LIMITS; i++) {
        long more = need / LIMITS * i + (16 << 10);
        int end = with_limit(device, run, more);
        check_that(end == ENOUGH || end == TOO_LITTLE, __FILE__, __LINE__, "%s with %ld of %ld KiB: %d (%s)", name, more >> 10,
                   need >> 10, end, end < 0 ? strsignal(-end) : "");
        too_little += end == TOO_LITTLE;
    }
    CHECK(too_little > 0);
}

#endif

/* A test for each operation. */
#define TEST(run)                                                                                                      \
    static void run##_under_limits(const char *device) { no_limit_ends(device, #run, run); }
EACH_CALL(TEST)

#define RUN_TEST(run) RUN(run##_under_limits);
int main(void) {
    EACH_CALL(RUN_TEST)
    return summary();
}
