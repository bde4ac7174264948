/* Threads: one context shared, contexts side by side, and what belongs to each thread alone. */
#include "images.h"
#include "process.h"

#include <pthread.h>

enum { SIDE = 90, COUNT = SIDE * SIDE, MOST_THREADS = 8 };

/* The work of one thread: the same call repeatedly on its own pixels, each result compared with the first one. */
typedef struct {
    pthread_t thread;
    isoline_context *context;
    const char *device; /* for threads that make their own contexts */
    const isoline_image *input;
    const isoline_edge_strength_params *params;
    const float *wanted;
    int rounds;
    int wrong;
    int failed;
} worker;

static void call_once(worker *me) {
    float *strength = unwritten(COUNT);
    isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, 1, strength);
    isoline_report report;
    isoline_report_init(&report, sizeof report);
    isoline_status status = isoline_edge_strength(me->context, me->input, me->params, NULL, &output, &report);
    me->failed += !GOOD(status);
    me->wrong += memcmp(strength, me->wanted, COUNT * sizeof(float)) != 0;
    me->wrong += report.iterations != me->params->iterations;
    free(strength);
}

static void *call_often(void *user) {
    worker *me = (worker *)user;
    for (int i = 0; i < me->rounds; i++) {
        call_once(me);
    }
    return NULL;
}

static void *make_call_free_often(void *user) {
    worker *me = (worker *)user;
    for (int i = 0; i < me->rounds; i++) {
        me->context = open_context(me->device);
        call_once(me);
        isoline_context_free(me->context);
    }
    return NULL;
}

/* Different pixels for each thread, and their expected results. */
static struct {
    uint8_t *pixels[MOST_THREADS];
    isoline_image input[MOST_THREADS];
    isoline_edge_strength_params params[MOST_THREADS];
    float *wanted[MOST_THREADS];
} jobs;

static void prepare(const char *device) {
    isoline_context *context = open_context(device);
    for (int i = 0; i < MOST_THREADS; i++) {
        jobs.pixels[i] = drawing(SIDE, SIDE, 1, 100 + (uint32_t)i);
        jobs.input[i] = describe(ISOLINE_U8, SIDE, SIDE, 1, jobs.pixels[i]);
        jobs.params[i] = for_drawing(40 + (uint64_t)i);
        jobs.wanted[i] = unwritten(COUNT);
        isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, 1, jobs.wanted[i]);
        GOOD(isoline_edge_strength(context, &jobs.input[i], &jobs.params[i], NULL, &output, NULL));
        /* Only the run without an instrument checks the pixels; with one this would take too long. */
        if (!slow()) {
            double *exact = exact_edge_strength(jobs.pixels[i], SIDE, SIDE, 1, &jobs.params[i]);
            CHECK(largest_error(jobs.wanted[i], exact, COUNT) <= TOLERANCE_EXACT);
            free(exact);
        }
    }
    isoline_context_free(context);
}

static void clean_up(void) {
    for (int i = 0; i < MOST_THREADS; i++) {
        free(jobs.wanted[i]);
        free(jobs.pixels[i]);
    }
}

/* Runs `work` on `count` threads at once, thread i on context i % contexts. */
static void at_once(const char *device, int count, int contexts, int rounds, void *(*work)(void *)) {
    isoline_context *made[MOST_THREADS];
    worker workers[MOST_THREADS];
    for (int i = 0; i < contexts; i++) {
        made[i] = open_context(device);
    }
    for (int i = 0; i < count; i++) {
        isoline_context *context = contexts > 0 ? made[i % contexts] : NULL;
        worker one = {0, context, device, &jobs.input[i], &jobs.params[i], jobs.wanted[i], rounds, 0, 0};
        workers[i] = one;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK_NUMBER(workers[i].failed, 0);
        CHECK_NUMBER(workers[i].wrong, 0);
    }
    for (int i = 0; i < contexts; i++) {
        isoline_context_free(made[i]);
    }
}

static void two_threads_take_turns_on_one_context(const char *device) {
    prepare(device);
    at_once(device, 2, 1, (int)scaled(200, 5), call_often);
    clean_up();
}

static void many_threads_take_turns_on_one_context(const char *device) {
    prepare(device);
    at_once(device, MOST_THREADS, 1, (int)scaled(50, 2), call_often);
    clean_up();
}

static void two_contexts_work_at_once(const char *device) {
    prepare(device);
    at_once(device, 2, 2, (int)scaled(200, 5), call_often);
    clean_up();
}

static void many_contexts_work_at_once(const char *device) {
    prepare(device);
    at_once(device, MOST_THREADS, MOST_THREADS, (int)scaled(50, 2), call_often);
    clean_up();
}

static void contexts_are_made_and_freed_on_many_threads(const char *device) {
    prepare(device);
    at_once(device, MOST_THREADS, 0, (int)scaled(strcmp(device, "cpu") == 0 ? 50 : 5, 2), make_call_free_often);
    clean_up();
}

static void one_description_serves_many_threads(const char *device) {
    prepare(device);
    worker workers[4];
    int rounds = (int)scaled(50, 2);
    isoline_context *contexts[2] = {open_context(device), open_context(device)};
    for (int i = 0; i < 4; i++) {
        worker one = {0, contexts[i % 2], device, &jobs.input[0], &jobs.params[0], jobs.wanted[0], rounds, 0, 0};
        workers[i] = one;
        pthread_create(&workers[i].thread, NULL, call_often, &workers[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK(workers[i].failed == 0 && workers[i].wrong == 0);
    }
    isoline_context_free(contexts[0]);
    isoline_context_free(contexts[1]);
    clean_up();
}

static void *free_it(void *context) {
    isoline_context_free((isoline_context *)context);
    return NULL;
}

static void a_context_may_move_between_threads(const char *device) {
    prepare(device);
    pthread_t last;
    worker one = {0, open_context(device), device, &jobs.input[0], &jobs.params[0], jobs.wanted[0], 3, 0, 0};
    pthread_create(&one.thread, NULL, call_often, &one);
    pthread_join(one.thread, NULL);
    call_often(&one);
    CHECK(one.failed == 0 && one.wrong == 0);
    pthread_create(&last, NULL, free_it, one.context);
    pthread_join(last, NULL);
    clean_up();
}

/* Waits inside a callback until another thread has started its call on the same context. */
static int others_started;

static int hold(void *user, double fraction, const char *stage) {
    (void)user;
    (void)fraction;
    (void)stage;
    for (int waited = 0; waited < 500 && !__atomic_load_n(&others_started, __ATOMIC_SEQ_CST); waited++) {
        sleep_ms(1);
    }
    sleep_ms(20);
    return 0;
}

static void *start_and_call(void *user) {
    __atomic_store_n(&others_started, 1, __ATOMIC_SEQ_CST);
    return call_often(user);
}

static int stop(void *user, double fraction, const char *stage) {
    hold(user, fraction, stage);
    return 1;
}

static void another_thread_waits_while_a_callback_runs(const char *device) {
    prepare(device);
    isoline_context *context = open_context(device);
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        float *strength = unwritten(COUNT);
        isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, 1, strength);
        isoline_progress progress;
        GOOD(isoline_progress_init(&progress, sizeof progress));
        progress.callback = cancelled ? stop : hold;
        others_started = 0;
        /* The other thread's call does not return ISOLINE_BUSY: it waits, also if the first call is cancelled. */
        worker other = {0, context, device, &jobs.input[1], &jobs.params[1], jobs.wanted[1], 2, 0, 0};
        pthread_create(&other.thread, NULL, start_and_call, &other);
        isoline_status status =
            isoline_edge_strength(context, &jobs.input[0], &jobs.params[0], &progress, &output, NULL);
        pthread_join(other.thread, NULL);
        CHECK_NUMBER(status, cancelled ? ISOLINE_CANCELLED : ISOLINE_OK);
        CHECK(other.failed == 0 && other.wrong == 0);
        CHECK(cancelled ? is_unwritten(strength, COUNT) : memcmp(strength, jobs.wanted[0], COUNT * sizeof(float)) == 0);
        free(strength);
    }
    isoline_context_free(context);
    clean_up();
}

/* Each thread is inside a call on its own context, and its callback uses the context, or the solver, of the next thread. */
enum { CIRCLE = 3 };
typedef struct {
    pthread_t thread;
    isoline_context *context, *next;
    isoline_snake *snake, *next_snake;
    int met;
    isoline_status nested;
    char message[512];
} member;
static pthread_barrier_t all_inside;

static isoline_status call_on(isoline_context *context, isoline_snake *snake, const isoline_progress *progress) {
    if (snake != NULL) {
        return isoline_snake_step(snake, 1, progress, NULL);
    }
    uint8_t pixels[64 * 64] = {1};
    float distances[64 * 64];
    isoline_image input = describe(ISOLINE_U8, 64, 64, 1, pixels), output = describe(ISOLINE_F32, 64, 64, 1, distances);
    return isoline_distance(context, &input, NULL, progress, &output, NULL);
}

static int call_the_next(void *user, double fraction, const char *stage) {
    member *me = (member *)user;
    (void)fraction;
    (void)stage;
    if (!me->met) {
        me->met = 1;
        pthread_barrier_wait(&all_inside);
        me->nested = call_on(me->next, me->next_snake, NULL);
        snprintf(me->message, sizeof me->message, "%s", isoline_last_error());
    }
    return 0;
}

static void *call_and_call_the_next(void *user) {
    member *me = (member *)user;
    isoline_progress progress;
    isoline_progress_init(&progress, sizeof progress);
    progress.callback = call_the_next;
    progress.user = me;
    GOOD(call_on(me->context, me->snake, &progress));
    return NULL;
}

/* A circle of `count` threads; every `stride`-th member calls a solver, or none. */
static void a_circle_of(const char *device, int count, int stride) {
    member members[CIRCLE];
    memset(members, 0, sizeof members);
    pthread_barrier_init(&all_inside, NULL, (unsigned)count);
    static uint8_t pixels[64 * 64];
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (uint8_t)(i % 64 > 20 && i / 64 > 30 ? 200 : i % 7);
    }
    isoline_image input = describe(ISOLINE_U8, 64, 64, 1, pixels);
    for (int i = 0; i < count; i++) {
        members[i].context = open_context(device);
        if (stride != 0 && i % stride == 0) {
            GOOD(isoline_snake_new(members[i].context, &input, NULL, NULL, &members[i].snake));
        }
    }
    for (int i = 0; i < count; i++) {
        members[i].next = members[(i + 1) % count].context;
        members[i].next_snake = members[(i + 1) % count].snake;
        pthread_create(&members[i].thread, NULL, call_and_call_the_next, &members[i]);
    }
    int refused = 0;
    for (int i = 0; i < count; i++) {
        pthread_join(members[i].thread, NULL);
        CHECK(members[i].met);
        if (members[i].nested != ISOLINE_OK) {
            CHECK_NUMBER(members[i].nested, ISOLINE_BUSY);
            CHECK_HAS(members[i].message, "wait for ever");
            refused++;
        }
    }
    CHECK_NUMBER(refused, 1);
    for (int i = 0; i < count; i++) {
        GOOD(call_on(members[i].context, members[i].snake, NULL));
        isoline_snake_free(members[i].snake);
        isoline_context_free(members[i].context);
    }
    pthread_barrier_destroy(&all_inside);
}

static void contexts_that_call_each_other_do_not_hang(const char *device) {
    a_circle_of(device, 2, 0);
    a_circle_of(device, CIRCLE, 0);
}

static void solvers_that_call_each_other_do_not_hang(const char *device) {
    a_circle_of(device, 2, 1);
    a_circle_of(device, CIRCLE, 1);
    a_circle_of(device, CIRCLE, 2);
}

static void *ask_often(void *user) {
    worker *me = (worker *)user;
    for (int i = 0; i < me->rounds; i++) {
        isoline_device entry;
        GOOD(isoline_device_init(&entry, sizeof entry));
        GOOD(isoline_context_device(me->context, &entry));
        me->wrong += strcmp(entry.id, me->device) != 0;
        GOOD(isoline_context_trim(me->context));
        GOOD(isoline_context_set_memory_limit(me->context, 0));
    }
    return NULL;
}

static void a_context_may_be_asked_while_it_works(const char *device) {
    prepare(device);
    isoline_context *context = open_context(device);
    int rounds = (int)scaled(300, 5);
    worker caller = {0, context, device, &jobs.input[0], &jobs.params[0], jobs.wanted[0], rounds, 0, 0};
    worker asker = caller;
    pthread_create(&caller.thread, NULL, call_often, &caller);
    pthread_create(&asker.thread, NULL, ask_often, &asker);
    pthread_join(caller.thread, NULL);
    pthread_join(asker.thread, NULL);
    CHECK(caller.failed == 0 && caller.wrong == 0 && asker.wrong == 0);
    isoline_context_free(context);
    clean_up();
}

/* Each thread fails in its own way, many times, and must read its own message every time. */
static void *fail_often(void *user) {
    worker *me = (worker *)user;
    char word[32];
    for (int i = 0; i < me->rounds; i++) {
        isoline_edge_strength_params params = *me->params;
        params.rho = -1000.0 - (double)(me->params->iterations * 1000) - i;
        snprintf(word, sizeof word, "%g", params.rho);
        float *strength = unwritten(COUNT);
        isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, 1, strength);
        REFUSED(isoline_edge_strength(me->context, me->input, &params, NULL, &output, NULL), ISOLINE_INVALID_ARGUMENT,
                word);
        me->wrong += !is_unwritten(strength, COUNT);
        free(strength);
    }
    return NULL;
}

static void errors_of_threads_do_not_mix(const char *device) {
    prepare(device);
    at_once(device, MOST_THREADS, 1, (int)scaled(200, 5), fail_often);
    CHECK_TEXT(isoline_last_error(), "");
    clean_up();
}

static int logged;

static void count_messages(void *user, uint32_t level, const char *message) {
    (void)user;
    (void)level;
    (void)message;
    __atomic_fetch_add(&logged, 1, __ATOMIC_SEQ_CST);
}

static void *log_and_call(void *user) {
    worker *me = (worker *)user;
    for (int i = 0; i < me->rounds; i++) {
        GOOD(isoline_set_logger(i % 3 == 0 ? NULL : count_messages, NULL, ISOLINE_LOG_DEBUG));
        call_once(me);
    }
    return NULL;
}

static void loggers_may_change_while_others_log(const char *device) {
    prepare(device);
    at_once(device, 4, 4, (int)scaled(50, 5), log_and_call);
    CHECK(logged > 0);
    clean_up();
}

static void cpu_and_cuda_work_at_once(const char *device) {
    prepare(device);
    worker workers[2];
    const char *const devices[2] = {"cpu", device};
    for (int i = 0; i < 2; i++) {
        worker one = {0, open_context(devices[i]), devices[i], &jobs.input[i], &jobs.params[i], jobs.wanted[i], 100, 0, 0};
        workers[i] = one;
        pthread_create(&workers[i].thread, NULL, call_often, &workers[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK(workers[i].failed == 0 && workers[i].wrong == 0);
        isoline_context_free(workers[i].context);
    }
    clean_up();
}

int main(void) {
    RUN_ON_EACH(two_threads_take_turns_on_one_context);
    RUN_ON_EACH(many_threads_take_turns_on_one_context);
    RUN_ON_EACH(two_contexts_work_at_once);
    RUN_ON_EACH(many_contexts_work_at_once);
    RUN_ON_EACH(contexts_are_made_and_freed_on_many_threads);
    RUN_ON_EACH(one_description_serves_many_threads);
    RUN_ON_EACH(a_context_may_move_between_threads);
    RUN_ON_EACH(another_thread_waits_while_a_callback_runs);
    RUN_ON_EACH(contexts_that_call_each_other_do_not_hang);
    RUN_ON_EACH(solvers_that_call_each_other_do_not_hang);
    RUN_ON_EACH(a_context_may_be_asked_while_it_works);
    RUN_ON_EACH(errors_of_threads_do_not_mix);
    RUN_ON_EACH(loggers_may_change_while_others_log);
    if (have_cuda()) {
        RUN_ON(cpu_and_cuda_work_at_once, "cuda:0");
    }
    return summary();
}
