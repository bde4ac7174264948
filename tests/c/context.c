/* Contexts: creation, description, freeing, and leaks. */
#include "images.h"
#include "process.h"

static isoline_device device_of(const isoline_context *context) {
    isoline_device entry;
    GOOD(isoline_device_init(&entry, sizeof entry));
    GOOD(isoline_context_device(context, &entry));
    return entry;
}

/* One small call, so that threads, kernels and memory are in use. */
static void use(isoline_context *context) {
    enum { SIDE = 64 };
    uint8_t *pixels = drawing(SIDE, SIDE, 1, 5);
    float *strength = unwritten(SIDE * SIDE);
    isoline_image input = describe(ISOLINE_U8, SIDE, SIDE, 1, pixels);
    isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, 1, strength);
    isoline_edge_strength_params params = for_drawing(3);
    GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL));
    free(strength);
    free(pixels);
}

static void a_named_device_is_taken(const char *device) {
    isoline_context *context = open_context(device);
    isoline_device entry = device_of(context);
    CHECK_TEXT(entry.id, device);
    CHECK_NUMBER(entry.usable, 1);
    CHECK_HAS(entry.reason, "name");
    CHECK(entry.name[0] != '\0' && entry.free_memory > 0);
    isoline_context_free(context);
}

static void auto_takes_the_first_that_works_and_says_why(const char *device) {
    (void)device;
    const char *const texts[] = {"auto", "", NULL};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        isoline_context *context = open_context(texts[i]);
        isoline_device entry = device_of(context);
        CHECK_TEXT(entry.id, have_cuda() ? "cuda:0" : "cpu");
        CHECK_HAS(entry.reason, "auto chose");
        isoline_context_free(context);
    }
}

static void null_is_refused(const char *device) {
    isoline_device entry;
    GOOD(isoline_device_init(&entry, sizeof entry));
    isoline_context *context = open_context(device);
    REFUSED(isoline_context_new(device, NULL), ISOLINE_NULL_POINTER, "out");
    REFUSED(isoline_context_new(NULL, NULL), ISOLINE_NULL_POINTER, "out");
    REFUSED(isoline_context_device(NULL, &entry), ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_context_device(context, NULL), ISOLINE_NULL_POINTER, "out");
    REFUSED(isoline_context_set_memory_limit(NULL, 0), ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_context_trim(NULL), ISOLINE_NULL_POINTER, "context");
    isoline_context_free(NULL);
    isoline_context_free(context);
}

static void an_unknown_text_is_refused_with_the_choices(const char *device) {
    (void)device;
    const char *const texts[] = {"gpu",      "CPU",     "cpu:0",    "cpux",     "cuda:",     "cuda:x",
                                 "cuda:-1",  "cuda:+0", "cuda: 0",  "cuda:0x1", "cuda:1.0",  "cuda:0,",
                                 "opencl:0", "auto,",   "\n\n%s%n", "cuda;0",   "cuda:99999999999999999999",
                                 "cuda:0\nx", "a\rb\x1b"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        isoline_context *untouched = (isoline_context *)(uintptr_t)0x1234;
        isoline_context *context = untouched;
        if (!REFUSED(isoline_context_new(texts[i], &context), ISOLINE_INVALID_ARGUMENT, "auto, cpu, cuda or cuda:N")) {
            printf("       the text was '%s'\n", texts[i]);
        }
        CHECK(strpbrk(isoline_last_error(), "\n\r\x1b") == NULL);
        CHECK(context == untouched);
    }
}

static void a_list_has_each_number_once(const char *device) {
    (void)device;
    const char *const unknown[] = {"cuda:,",     "cuda:0,x", "cuda:0, 1", "cuda:0,cuda:1",
                                   "cuda:all,0", "cuda:ALL", "cpu,cpu",   "cpu:2"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        isoline_context *context = NULL;
        REFUSED(isoline_context_new(unknown[i], &context), ISOLINE_INVALID_ARGUMENT, "a list such as cuda:0,2, or cuda:all");
        CHECK_HAS(isoline_last_error(), unknown[i]);
        CHECK(context == NULL);
    }
    isoline_context *context = NULL;
    REFUSED(isoline_context_new("cuda:0,0", &context), ISOLINE_INVALID_ARGUMENT, "got 0 twice");
    REFUSED(isoline_context_new("cuda:3,1,2,1", &context), ISOLINE_INVALID_ARGUMENT, "got 1 twice");
    REFUSED(isoline_context_new("cuda:99,98", &context), ISOLINE_DEVICE_UNAVAILABLE, "cuda:99");
    CHECK(context == NULL);
}

static void white_space_around_a_name_is_ignored(const char *device) {
    (void)device;
    const char *const texts[] = {" cpu", "cpu\n", "\t cpu \r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        isoline_context *context = open_context(texts[i]);
        CHECK_TEXT(device_of(context).id, "cpu");
        isoline_context_free(context);
    }
}

static void bytes_that_are_no_text_are_refused(const char *device) {
    (void)device;
    isoline_context *context = NULL;
    REFUSED(isoline_context_new("cuda:\xff\xfe", &context), ISOLINE_INVALID_ARGUMENT, "UTF-8");
    size_t length = 1 << 20;
    char *text = (char *)allocate(length + 1);
    memset(text, 'c', length);
    text[length] = '\0';
    REFUSED(isoline_context_new(text, &context), ISOLINE_INVALID_ARGUMENT, "auto, cpu, cuda or cuda:N");
    CHECK(context == NULL);
    free(text);
}

static void a_device_that_is_not_there_says_why(const char *device) {
    (void)device;
    const char *const texts[] = {"cuda:99", "cuda:4294967295"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        isoline_context *untouched = (isoline_context *)(uintptr_t)0x1234;
        isoline_context *context = untouched;
        REFUSED(isoline_context_new(texts[i], &context), ISOLINE_DEVICE_UNAVAILABLE, NULL);
        CHECK(strlen(isoline_last_error()) > 10);
        CHECK(context == untouched);
    }
}

static void cuda_by_name_never_falls_back(const char *device) {
    (void)device;
    isoline_context *context = NULL;
    isoline_status status = isoline_context_new("cuda", &context);
    if (have_cuda()) {
        CHECK_NUMBER(status, ISOLINE_OK);
        CHECK_TEXT(device_of(context).id, "cuda:0");
        isoline_context_free(context);
    } else {
        isoline_device entry;
        CHECK_NUMBER(status, ISOLINE_DEVICE_UNAVAILABLE);
        CHECK(context == NULL);
        isoline_device_init(&entry, sizeof entry);
        GOOD(isoline_device_info(1, &entry));
        /* The query and the error give the same reason. */
        CHECK_HAS(isoline_last_error(), entry.reason);
    }
}

static void the_device_of_a_context_obeys_the_laws_of_structs(const char *device) {
    isoline_context *context = open_context(device);
    const uint32_t sizes[] = {0, 3, sizeof(isoline_device) - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        isoline_device entry, before;
        memset(&entry, 0x5A, sizeof entry);
        entry.struct_size = sizes[i];
        before = entry;
        REFUSED(isoline_context_device(context, &entry), ISOLINE_INVALID_ARGUMENT, "struct_size");
        CHECK(memcmp(&entry, &before, sizeof entry) == 0);
    }
    struct {
        isoline_device known;
        unsigned char more[24];
        unsigned char guard[64];
    } newer, before;
    memset(&newer, 0xA5, sizeof newer);
    GOOD(isoline_device_init(&newer.known, sizeof newer.known + sizeof newer.more));
    before = newer;
    GOOD(isoline_context_device(context, &newer.known));
    CHECK_TEXT(newer.known.id, device);
    CHECK(memcmp(newer.more, before.more, sizeof newer.more + sizeof newer.guard) == 0);
    isoline_context_free(context);
}

static void limit_and_trim_take_any_number(const char *device) {
    isoline_context *context = open_context(device);
    const uint64_t limits[] = {UINT64_MAX, (uint64_t)1 << 33, 0};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        GOOD(isoline_context_set_memory_limit(context, limits[i]));
        GOOD(isoline_context_trim(context));
        use(context);
        GOOD(isoline_context_trim(context));
    }
    isoline_context_free(context);
}

static void a_memory_limit_means_nothing_on_the_cpu(const char *device) {
    isoline_context *context = open_context(device);
    GOOD(isoline_context_set_memory_limit(context, 1));
    use(context);
    isoline_context_free(context);
}

static void many_contexts_live_side_by_side(const char *device) {
    enum { MANY = 16 };
    isoline_context *contexts[MANY];
    for (int i = 0; i < MANY; i++) {
        contexts[i] = open_context(device);
    }
    use(contexts[0]);
    use(contexts[MANY - 1]);
    /* The contexts are freed in another order than they were created in. */
    for (int i = 0; i < MANY; i++) {
        isoline_context_free(contexts[(i * 7) % MANY]);
    }
}

static void the_last_context_ends_the_threads(const char *device) {
    (void)device;
    if (strcmp(instrument(), "asan") == 0 || strcmp(instrument(), "tsan") == 0) {
        skip("a sanitizer has a thread of its own");
        return;
    }
    long before = thread_count();
    isoline_context *one = open_context("cpu");
    isoline_context *two = open_context("cpu");
    use(one);
    CHECK(thread_count() > before);
    isoline_context_free(one);
    use(two);
    isoline_context_free(two);
    CHECK_NUMBER(threads_settled_to(before), before);
    /* The threads are started again. */
    one = open_context("cpu");
    use(one);
    isoline_context_free(one);
}

static void make_and_free(void *text) {
    isoline_context_free(open_context((const char *)text));
}

static void make_use_and_free(void *text) {
    isoline_context *context = open_context((const char *)text);
    use(context);
    isoline_context_free(context);
}

static void cycles_of_making_and_freeing_do_not_grow(const char *device) {
    char text[16];
    snprintf(text, sizeof text, "%s", device);
    /* One context stays, or the driver would spend a tenth of a second in each round on starting the GPU. "auto" may take
     * another GPU when a program has begun to use one. */
    const char *kept = strcmp(device, "auto") == 0 && have_cuda() ? "cuda:all" : device;
    isoline_context *stays = strcmp(device, "cpu") == 0 ? NULL : open_context(kept);
    must_not_grow(make_and_free, text, (int)scaled(50, 2), (int)scaled(1000, 20));
    isoline_context_free(stays);
}

static void cycles_of_making_using_and_freeing_do_not_grow(const char *device) {
    char text[16];
    snprintf(text, sizeof text, "%s", device);
    isoline_context *stays = strcmp(device, "cpu") == 0 ? NULL : open_context(device);
    must_not_grow(make_use_and_free, text, (int)scaled(50, 2), (int)scaled(400, 10));
    isoline_context_free(stays);
}

static void the_last_context_gives_the_gpu_its_memory_back(const char *device) {
    char text[16];
    snprintf(text, sizeof text, "%s", device);
    uint64_t free_memory[2];
    for (int i = 0; i < 2; i++) {
        for (int round = 0; round < 10; round++) {
            make_use_and_free(text);
        }
        isoline_device entry;
        GOOD(isoline_device_init(&entry, sizeof entry));
        GOOD(isoline_device_info(1, &entry));
        free_memory[i] = entry.free_memory;
    }
    /* Ten rounds that leak one allocation each (2 MiB at least) are detected; less may be other programs. */
    CHECK(free_memory[1] + ((uint64_t)16 << 20) >= free_memory[0]);
}

static void fail_to_make(void *unused) {
    (void)unused;
    isoline_context *context = NULL;
    REFUSED(isoline_context_new("cuda:99", &context), ISOLINE_DEVICE_UNAVAILABLE, NULL);
    REFUSED(isoline_context_new("nonsense", &context), ISOLINE_INVALID_ARGUMENT, NULL);
}

static void failures_do_not_grow(const char *device) {
    (void)device;
    must_not_grow(fail_to_make, NULL, (int)scaled(50, 2), (int)scaled(1000, 20));
}

static void without_memory_for_threads_a_context_is_refused(const char *device) {
    if (slow()) {
        skip("an instrument needs more memory than the test allows");
        return;
    }
    isoline_context *context = NULL;
    /* The limit is enough for small allocations and too little for a thread's stack. */
    allow_only(512 << 10);
    REFUSED(isoline_context_new(device, &context), ISOLINE_OUT_OF_MEMORY, "threads");
    CHECK(context == NULL);
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
    context = open_context(device);
    use(context);
    isoline_context_free(context);
}

int main(void) {
    RUN_ON_EACH(a_named_device_is_taken);
    RUN_ON(auto_takes_the_first_that_works_and_says_why, "auto");
    RUN_ON_EACH(null_is_refused);
    RUN(an_unknown_text_is_refused_with_the_choices);
    RUN(a_list_has_each_number_once);
    RUN(white_space_around_a_name_is_ignored);
    RUN(bytes_that_are_no_text_are_refused);
    RUN_ON(a_device_that_is_not_there_says_why, "cuda");
    RUN_ON(cuda_by_name_never_falls_back, "cuda");
    RUN_ON_EACH(the_device_of_a_context_obeys_the_laws_of_structs);
    RUN_ON_EACH(limit_and_trim_take_any_number);
    RUN(a_memory_limit_means_nothing_on_the_cpu);
    RUN_ON_EACH(many_contexts_live_side_by_side);
    RUN(the_last_context_ends_the_threads);
    RUN_ON_EACH(cycles_of_making_and_freeing_do_not_grow);
    RUN_ON(cycles_of_making_and_freeing_do_not_grow, "auto");
    RUN_ON_EACH(cycles_of_making_using_and_freeing_do_not_grow);
    if (have_cuda()) {
        RUN_ON(the_last_context_gives_the_gpu_its_memory_back, "cuda:0");
    }
    /* On a GPU's name where there is one: tests of the CPU run in so little address space that the driver cannot start
     * in it, and a driver that cannot start is asked again at every call, which takes it a while. */
    RUN_ON(failures_do_not_grow, have_cuda() ? "cuda:0" : "cpu");
    RUN(without_memory_for_threads_a_context_is_refused);
    return summary();
}
