/*
 * The distance: compared with its definition for every option, and every misuse refused. tests/distance/ has the values
 * for every size and spacing, image.c and operation.c what all operations refuse.
 */
#include "images.h"
#include "process.h"
#include "watch.h"

#include <pthread.h>

/* The tolerance of docs/distance.md for distances below 1000 pixels. */
static const double TOLERANCE = 1e-4;

static isoline_distance_params distance_defaults(void) {
    isoline_distance_params params;
    GOOD(isoline_distance_params_init(&params, sizeof params));
    return params;
}

/* Computes the definition for pixels with these values: the nearest box of the other class, searched in the image. */
static void exact_distance(const isoline_image *mask, const double *values, const isoline_distance_params *params,
                           double *distances) {
    const size_t width = mask->width, height = mask->height, count = width * height * mask->depth;
    uint8_t *inside = (uint8_t *)allocate(count);
    for (size_t i = 0; i < count; i++) {
        const int above = values[i] > params->threshold, below = values[i] <= params->threshold;
        inside[i] = (uint8_t)(params->foreground == ISOLINE_FOREGROUND_ABOVE ? above : below);
    }
    for (size_t i = 0; i < count; i++) {
        double nearest = INFINITY;
        for (size_t j = 0; j < count; j++) {
            double away[3] = {fabs((double)(i % width) - (double)(j % width)),
                              fabs((double)(i / width % height) - (double)(j / width % height)),
                              fabs((double)(i / width / height) - (double)(j / width / height))};
            if (inside[i] == inside[j] || (params->dimensions == 2 && away[2] != 0)) {
                continue;
            }
            double squared = 0;
            for (int axis = 0; axis < 3; axis++) {
                const double steps = away[axis] > 0 ? away[axis] - 0.5 : 0;
                squared += steps * mask->spacing[axis] * steps * mask->spacing[axis];
            }
            nearest = fmin(nearest, squared);
        }
        const double distance = sqrt(nearest);
        const int wanted = params->region == ISOLINE_DISTANCE_INSIDE ? inside[i] : !inside[i];
        distances[i] = params->region == ISOLINE_DISTANCE_SIGNED ? (inside[i] ? -distance : distance)
                                                                 : (wanted ? distance : 0);
    }
    free(inside);
}

/* Blobs: 0 outside, other values inside. */
static uint8_t *blobs(size_t width, size_t height, size_t depth, uint32_t seed) {
    const size_t count = width * height * depth;
    uint8_t *pixels = (uint8_t *)allocate(count);
    memset(pixels, 0, count);
    isoline_image mask = describe(ISOLINE_U8, width, height, depth, pixels);
    for (uint8_t i = 0; i < 6; i++) {
        const double side = (double)(next_random(&seed) % 100) / 20;
        isoline_sphere ball = {{next_random(&seed) % (width + 2) - 1.0, next_random(&seed) % (height + 2) - 1.0,
                                next_random(&seed) % (depth + 2) - 1.0}, side};
        GOOD(isoline_mask_fill_spheres(&mask, &ball, 1, i % 3 == 2 ? 0 : (uint8_t)(40 * i + 1)));
    }
    return pixels;
}

static void every_type_and_option_matches_the_definition(const char *device) {
    enum { W = 19, H = 14, D = 6, N = W * H * D };
    isoline_context *context = open_context(device);
    uint8_t *bytes = blobs(W, H, D, 5);
    uint16_t wide[N];
    float real[N], *got = unwritten(N);
    double values[3][N], exact[N];
    for (size_t i = 0; i < N; i++) {
        wide[i] = (uint16_t)(bytes[i] > 0 ? 65000 + bytes[i] : 64999);
        real[i] = i == 5 ? INFINITY : i == N - 5 ? -INFINITY : i % 57 == 3 ? NAN : 0.01f * bytes[i] - 1;
        values[0][i] = bytes[i], values[1][i] = wide[i], values[2][i] = (double)real[i];
    }
    void *const data[] = {bytes, wide, real};
    const double thresholds[] = {0, 65000, -0.5};
    isoline_image output = describe(ISOLINE_F32, W, H, D, got);
    for (uint32_t type = ISOLINE_U8; type <= ISOLINE_F32; type++) {
        /* The last option is that of NULL, the defaults. */
        for (uint32_t option = 0; option <= 12; option++) {
            const int null = option == 12;
            isoline_image mask = describe(type, W, H, D, data[type]);
            isoline_distance_params params = distance_defaults();
            mask.spacing[0] = 0.25, mask.spacing[2] = 2.7;
            if (!null) {
                params.foreground = option % 2;
                params.dimensions = 2 + option / 2 % 2;
                params.region = option / 4;
                params.threshold = thresholds[type];
            }
            GOOD(isoline_distance(context, &mask, null ? NULL : &params, NULL, &output, NULL));
            exact_distance(&mask, values[type], &params, exact);
            double worst = 0;
            for (size_t i = 0; i < N; i++) {
                const double error = isinf(exact[i]) ? (got[i] == exact[i] ? 0 : INFINITY) : fabs(got[i] - exact[i]);
                worst = error <= worst ? worst : isnan(error) ? INFINITY : error;
            }
            check_that(worst <= TOLERANCE, __FILE__, __LINE__, "type %u, option %u: off by %g", type, option, worst);
        }
    }
    free(got);
    free(bytes);
    isoline_context_free(context);
}

static void the_report_is_honest(const char *device) {
    isoline_context *context = open_context(device);
    uint8_t *pixels = blobs(30, 20, 4, 3);
    float *distances = unwritten(30 * 20 * 4);
    isoline_image mask = describe(ISOLINE_U8, 30, 20, 4, pixels), output = describe(ISOLINE_F32, 30, 20, 4, distances);
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    const double started = seconds_now();
    GOOD(isoline_distance(context, &mask, NULL, NULL, &output, &report));
    const double seconds = seconds_now() - started;
    CHECK(report.seconds_total > 0 && report.seconds_total <= seconds && report.seconds_compute > 0);
    CHECK_NUMBER(report.slices_done, 4);
    CHECK_NUMBER(report.iterations, 0);
    CHECK_NUMBER(report.converged, 0);
    CHECK(isnan(report.residual) && report.device_name[0] != '\0');
    CHECK_NUMBER(report.device_kind, strcmp(device, "cpu") == 0 ? ISOLINE_DEVICE_CPU : ISOLINE_DEVICE_CUDA);
    free(distances);
    free(pixels);
    isoline_context_free(context);
}

/* ---- passes -------------------------------------------------------------------------------------------------- */

/* A part of an image, from one of its columns, rows and slices on. */
static isoline_image part_of(const isoline_image *whole, const size_t first[3], const size_t sides[3]) {
    const size_t pixel = whole->type == ISOLINE_U8 ? 1 : whole->type == ISOLINE_U16 ? 2 : 4;
    const size_t row = whole->width * pixel, slice = row * whole->height;
    isoline_image part = *whole;
    part.data = (char *)whole->data + first[0] * pixel + first[1] * row + first[2] * slice;
    part.width = sides[0], part.height = sides[1], part.depth = sides[2];
    part.row_stride = row, part.slice_stride = slice;
    return part;
}

static void passes_of_parts_make_up_the_distance(const char *device) {
    enum { W = 61, H = 40, D = 13, N = W * H * D };
    isoline_context *context = open_context(device);
    uint8_t *bytes = blobs(W, H, D, 9);
    float *wanted = unwritten(N), *values[2] = {unwritten(N), unwritten(N)};
    const size_t whole[3] = {W, H, D};
    for (uint32_t option = 0; option < 12; option++) {
        isoline_image mask = describe(ISOLINE_U8, W, H, D, bytes), output = describe(ISOLINE_F32, W, H, D, wanted);
        isoline_distance_params params = distance_defaults();
        mask.spacing[0] = 1.5, mask.spacing[2] = 2.5;
        params.dimensions = 2 + option % 2, params.region = option / 2 % 3, params.foreground = option / 6;
        params.threshold = 41;
        GOOD(isoline_distance(context, &mask, &params, NULL, &output, NULL));
        for (uint32_t axis = 0; axis < params.dimensions; axis++) {
            const isoline_image from = axis == 0 ? mask : describe(ISOLINE_F32, W, H, D, values[(axis + 1) % 2]);
            const isoline_image to = describe(ISOLINE_F32, W, H, D, values[axis % 2]);
            /* Two parts beside each other along another axis. */
            const size_t cut = (axis + 1) % 3, split = whole[cut] / 3;
            for (int part = 0; part < 2; part++) {
                size_t first[3] = {0, 0, 0}, sides[3] = {W, H, D};
                first[cut] = part ? split : 0;
                sides[cut] = part ? whole[cut] - split : split;
                isoline_image input = part_of(&from, first, sides), result = part_of(&to, first, sides);
                memcpy(input.spacing, mask.spacing, sizeof mask.spacing);
                GOOD(isoline_distance_pass(context, &input, axis, &params, NULL, &result, NULL));
            }
        }
        check_that(memcmp(values[(params.dimensions - 1) % 2], wanted, N * sizeof(float)) == 0, __FILE__, __LINE__,
                   "option %u differs from one call", option);
    }
    free(wanted);
    free(values[0]);
    free(values[1]);
    free(bytes);
    isoline_context_free(context);
}

static void values_between_passes_are_those_of_the_header(const char *device) {
    const uint8_t pixels[] = {0, 0, 0, 9, 9, 0, 0, 0, 0, 0};
    const float along_x[] = {25, 9, 1, -1, -9, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    const float along_y[] = {25, 9, 1, -1, -4, 29, 13, 5, 4, 4};
    float values[10], next[10];
    isoline_context *context = open_context(device);
    isoline_image mask = describe(ISOLINE_U8, 5, 2, 1, (void *)(uintptr_t)pixels);
    isoline_image first = describe(ISOLINE_F32, 5, 2, 1, values), second = describe(ISOLINE_F32, 5, 2, 1, next);
    mask.spacing[0] = first.spacing[0] = 1, mask.spacing[1] = first.spacing[1] = 2;
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    GOOD(isoline_distance_pass(context, &mask, 0, NULL, NULL, &first, &report));
    CHECK(memcmp(values, along_x, sizeof values) == 0);
    GOOD(isoline_distance_pass(context, &first, 1, NULL, NULL, &second, &report));
    CHECK(memcmp(next, along_y, sizeof next) == 0);
    CHECK(report.slices_done == 1 && report.device_kind == ISOLINE_DEVICE_CPU && report.seconds_total > 0);
    isoline_context_free(context);
}

/* ---- misuse -------------------------------------------------------------------------------------------------- */

enum { WIDTH = 48, HEIGHT = 32, COUNT = WIDTH * HEIGHT };

typedef struct {
    isoline_context *context;
    uint8_t *pixels;
    float *distances;
    isoline_image mask, output;
    isoline_distance_params params;
    isoline_report report;
    uint32_t axis; /* of a pass */
} job;

static job new_job(const char *device) {
    job made;
    memset(&made, 0, sizeof made);
    made.context = open_context(device);
    made.pixels = blobs(WIDTH, HEIGHT, 1, 2);
    made.distances = unwritten(COUNT);
    made.mask = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, made.pixels);
    made.output = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, made.distances);
    made.params = distance_defaults();
    GOOD(isoline_report_init(&made.report, sizeof made.report));
    return made;
}

static isoline_status run(job *work) {
    return isoline_distance(work->context, &work->mask, &work->params, NULL, &work->output, &work->report);
}

static isoline_status run_pass(job *work) {
    return isoline_distance_pass(work->context, &work->mask, work->axis, &work->params, NULL, &work->output, &work->report);
}

static void end(job *work) {
    free(work->distances);
    free(work->pixels);
    isoline_context_free(work->context);
}

/* `change` makes the call fail with `status` and a message that has `word`; nothing is written. */
#define SPOILT(change, status, word) SPOILT_BY(run, change, status, word)
#define SPOILT_BY(run, change, status, word)                                                                           \
    do {                                                                                                               \
        job work = good_job;                                                                                           \
        change;                                                                                                        \
        job before = work;                                                                                             \
        check_status(run(&work), (status), (word), __FILE__, __LINE__, #change);                                       \
        CHECK(is_unwritten(work.distances, COUNT) && memcmp(&before, &work, sizeof before) == 0);                      \
    } while (0)

static void null_is_refused_only_where_it_must_not_be(const char *device) {
    job w = new_job(device);
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    REFUSED(isoline_distance(NULL, &w.mask, &w.params, &progress, &w.output, &w.report), ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_distance(w.context, NULL, &w.params, &progress, &w.output, &w.report), ISOLINE_NULL_POINTER, "mask");
    REFUSED(isoline_distance(w.context, &w.mask, &w.params, &progress, NULL, &w.report), ISOLINE_NULL_POINTER, "output");
    REFUSED(isoline_distance(NULL, NULL, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, NULL);
    REFUSED(isoline_distance_params_init(NULL, sizeof w.params), ISOLINE_NULL_POINTER, "params");
    CHECK(is_unwritten(w.distances, COUNT));
    GOOD(isoline_distance(w.context, &w.mask, NULL, NULL, &w.output, NULL));
    GOOD(isoline_distance(w.context, &w.mask, &w.params, &progress, &w.output, &w.report));
    end(&w);
}

static void what_does_not_fit_is_refused_by_name(const char *device) {
    job good_job = new_job(device);
    SPOILT(work.params.struct_size = sizeof work.params - 1, ISOLINE_INVALID_ARGUMENT, "params->struct_size");
    SPOILT(work.report.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "report->struct_size");
    SPOILT(work.mask.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "mask->struct_size");
    SPOILT(work.output.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "output->struct_size");
    SPOILT(work.params.threshold = (double)NAN, ISOLINE_INVALID_ARGUMENT, "threshold");
    SPOILT(work.mask.spacing[0] = 0, ISOLINE_INVALID_ARGUMENT, "mask->spacing");
    SPOILT(work.mask.spacing[0] = 5e-324, ISOLINE_INVALID_ARGUMENT, "spacing along x");
    SPOILT(work.output.spacing[0] = -1, ISOLINE_INVALID_ARGUMENT, "output->spacing");
    SPOILT((work.params.dimensions = 2, work.mask.spacing[2] = 0), ISOLINE_INVALID_ARGUMENT, "mask->spacing");
    SPOILT(work.output.width = WIDTH - 1, ISOLINE_INVALID_SIZE, "size");
    SPOILT((work.output.depth = 2, work.output.height = HEIGHT / 2), ISOLINE_INVALID_SIZE, "size");
    SPOILT(work.mask.width = 0, ISOLINE_INVALID_SIZE, "mask");
    SPOILT(work.output.height = 0, ISOLINE_INVALID_SIZE, "output");
    SPOILT(work.mask.data = NULL, ISOLINE_NULL_POINTER, "mask->data");
    SPOILT(work.output.data = NULL, ISOLINE_NULL_POINTER, "output->data");
    SPOILT(work.mask.type = 3, ISOLINE_INVALID_TYPE, "mask->type");
    SPOILT(work.output.type = ISOLINE_U8, ISOLINE_INVALID_TYPE, "ISOLINE_F32");
    SPOILT(work.output.type = ISOLINE_U16, ISOLINE_INVALID_TYPE, "ISOLINE_U16");
    SPOILT((work.mask.data = work.distances, work.mask.type = ISOLINE_F32), ISOLINE_OVERLAP, "mask");
    SPOILT(work.mask.data = (char *)work.distances + 4 * COUNT - 1, ISOLINE_OVERLAP, "output");
    end(&good_job);
}

static void a_wrong_pass_is_refused_by_name(const char *device) {
    job good_job = new_job(device);
    job *w = &good_job;
    REFUSED(isoline_distance_pass(NULL, &w->mask, 0, NULL, NULL, &w->output, NULL), ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_distance_pass(w->context, NULL, 0, NULL, NULL, &w->output, NULL), ISOLINE_NULL_POINTER, "input");
    REFUSED(isoline_distance_pass(w->context, &w->mask, 0, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, "output");
#define SPOILT_PASS(change, status, word) SPOILT_BY(run_pass, change, status, word)
    SPOILT_PASS(work.axis = 3, ISOLINE_INVALID_ARGUMENT, "axis must be 0, 1 or 2");
    SPOILT_PASS(work.axis = UINT32_MAX, ISOLINE_INVALID_ARGUMENT, "axis");
    SPOILT_PASS((work.axis = 2, work.params.dimensions = 2), ISOLINE_INVALID_ARGUMENT, "axis must be 0 or 1");
    SPOILT_PASS(work.axis = 1, ISOLINE_INVALID_TYPE, "f32 (got u8)");
    SPOILT_PASS(work.axis = 2, ISOLINE_INVALID_TYPE, "along z");
    SPOILT_PASS(work.params.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "params->struct_size");
    SPOILT_PASS(work.params.threshold = (double)NAN, ISOLINE_INVALID_ARGUMENT, "threshold");
    SPOILT_PASS(work.report.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "report->struct_size");
    SPOILT_PASS(work.mask.spacing[1] = 5e-324, ISOLINE_INVALID_ARGUMENT, "spacing along y");
    SPOILT_PASS(work.mask.spacing[1] = 1e10, ISOLINE_INVALID_ARGUMENT, "spacing");
    SPOILT_PASS(work.mask.width = 0, ISOLINE_INVALID_SIZE, "input");
    SPOILT_PASS(work.output.width = WIDTH - 1, ISOLINE_INVALID_SIZE, "size");
    SPOILT_PASS(work.output.type = ISOLINE_U16, ISOLINE_INVALID_TYPE, "ISOLINE_U16");
    SPOILT_PASS((work.mask.data = work.distances, work.mask.type = ISOLINE_F32), ISOLINE_OVERLAP, "input");
    SPOILT_PASS(work.mask.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, "input is in CUDA memory");
    SPOILT_PASS(work.output.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, "output is in CUDA memory");
    SPOILT_PASS((work.mask.memory = ISOLINE_SLICES, work.mask.data = NULL), ISOLINE_UNSUPPORTED, "ISOLINE_SLICES");
    SPOILT_PASS((work.output.memory = ISOLINE_SLICES, work.output.data = NULL), ISOLINE_UNSUPPORTED, "ISOLINE_SLICES");
    GOOD(run_pass(w));
    end(w);
}

static void cuda_pixels_need_a_cuda_context(const char *device) {
    job good_job = new_job(device);
    SPOILT(work.mask.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, "CUDA");
    SPOILT(work.output.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, "CUDA");
    end(&good_job);
}

/* ---- progress and cancel ------------------------------------------------------------------------------------- */

static void a_cancel_leaves_the_output_untouched(const char *device) {
    job work = new_job(device);
    watch seen = {0, 1, 0, 0, 0};
    isoline_progress progress = watched_by(&seen);
    const isoline_report before = work.report;
    REFUSED(isoline_distance(work.context, &work.mask, &work.params, &progress, &work.output, &work.report),
            ISOLINE_CANCELLED, "cancelled");
    CHECK(is_unwritten(work.distances, COUNT) && memcmp(&before, &work.report, sizeof before) == 0);
    seen.cancel_at = 0;
    seen.last = 0;
    GOOD(isoline_distance(work.context, &work.mask, &work.params, &progress, &work.output, &work.report));
    CHECK(seen.calls >= 2 && seen.bad == 0);
    end(&work);
}

static int call_again(void *user, double fraction, const char *stage) {
    job *work = (job *)user;
    (void)fraction;
    (void)stage;
    REFUSED(run(work), ISOLINE_BUSY, "context");
    return 0;
}

static void a_callback_may_not_use_its_context(const char *device) {
    job work = new_job(device);
    isoline_progress progress;
    float *distances = unwritten(COUNT);
    isoline_image output = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, distances);
    GOOD(isoline_progress_init(&progress, sizeof progress));
    progress.callback = call_again;
    progress.user = &work;
    GOOD(isoline_distance(work.context, &work.mask, NULL, &progress, &output, NULL));
    CHECK(is_unwritten(work.distances, COUNT));
    free(distances);
    end(&work);
}

/* ---- threads and memory -------------------------------------------------------------------------------------- */

typedef struct {
    pthread_t thread;
    job work;
    const float *wanted;
    int wrong;
} worker;

static void *run_often(void *user) {
    worker *me = (worker *)user;
    for (size_t i = 0; i < scaled(200, 5); i++) {
        float *distances = unwritten(COUNT);
        me->work.output.data = distances;
        me->wrong += !GOOD(run(&me->work)) || memcmp(distances, me->wanted, COUNT * sizeof(float)) != 0;
        free(distances);
    }
    return NULL;
}

static void threads_take_turns_and_contexts_work_at_once(const char *device) {
    enum { MOST = 4 };
    for (int contexts = 1; contexts <= MOST; contexts *= 2) {
        worker workers[MOST];
        isoline_context *own[MOST];
        for (int i = 0; i < MOST; i++) {
            memset(&workers[i], 0, sizeof workers[i]);
            workers[i].work = new_job(device);
            workers[i].work.mask.spacing[0] = 1 + i;
            GOOD(run(&workers[i].work));
            workers[i].wanted = workers[i].work.distances;
            own[i] = workers[i].work.context;
            workers[i].work.context = own[i % contexts];
        }
        for (int i = 0; i < MOST; i++) {
            pthread_create(&workers[i].thread, NULL, run_often, &workers[i]);
        }
        for (int i = 0; i < MOST; i++) {
            pthread_join(workers[i].thread, NULL);
            CHECK_NUMBER(workers[i].wrong, 0);
        }
        for (int i = 0; i < MOST; i++) {
            workers[i].work.context = own[i];
            end(&workers[i].work);
        }
    }
}

static void call_once(void *user) {
    job *work = (job *)user;
    watch seen = {0, 1, 0, 0, 0};
    isoline_progress progress = watched_by(&seen);
    GOOD(run(work));
    REFUSED(isoline_distance(work->context, &work->mask, NULL, &progress, &work->output, NULL), ISOLINE_CANCELLED, NULL);
    REFUSED(isoline_distance(work->context, &work->mask, NULL, NULL, &work->mask, NULL), ISOLINE_OVERLAP, NULL);
    GOOD(run_pass(work));
    REFUSED(isoline_distance_pass(work->context, &work->mask, 0, NULL, &progress, &work->output, NULL), ISOLINE_CANCELLED, NULL);
}

static void calls_do_not_grow(const char *device) {
    job work = new_job(device);
    must_not_grow(call_once, &work, (int)scaled(50, 2), (int)scaled(1000, 20));
    end(&work);
}

static void want_of_memory_on_the_way_is_a_status(const char *device) {
    /* The memory limit grows until the call succeeds: each allocation that fails before returns a status. */
    if (slow()) {
        skip("an instrument needs more memory than the test allows");
        return;
    }
    enum { SIDE = 256 };
    isoline_context *context = open_context(device);
    uint8_t *pixels = blobs(SIDE, SIDE, SIDE, 6);
    const size_t apart = SIDE + 1;
    float *distances = unwritten(apart * SIDE * SIDE);
    isoline_image small = describe(ISOLINE_U8, 64, 64, 4, pixels);
    isoline_image small_output = describe(ISOLINE_F32, 64, 64, 4, distances);
    isoline_image mask = describe(ISOLINE_U8, SIDE, SIDE, SIDE, pixels);
    isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, SIDE, distances);
    for (uint32_t way = 0; way < 4; way++) {
        const uint32_t dimensions = 2 + way % 2;
        const int buffered = way < 2;
        /* The 64 MiB of a volume are buffered where there are gaps between the rows of the output. */
        output.row_stride = buffered ? apart * sizeof(float) : 0;
        output.slice_stride = buffered ? apart * sizeof(float) * SIDE : 0;
        isoline_distance_params params = distance_defaults();
        int refused = 0, done = 0;
        params.dimensions = dimensions;
        GOOD(isoline_distance(context, &small, &params, NULL, &small_output, NULL));
        GOOD(isoline_context_trim(context));
        for (size_t kibibytes = 64; kibibytes <= 1 << 21 && !done; kibibytes = kibibytes * 3 / 2) {
            struct rlimit limit;
            getrlimit(RLIMIT_AS, &limit);
            allow_only(kibibytes << 10);
            isoline_status status = isoline_distance(context, &mask, &params, NULL, &output, NULL);
            setrlimit(RLIMIT_AS, &limit);
            done = status == ISOLINE_OK;
            refused += status == ISOLINE_OUT_OF_MEMORY;
            if (!done) {
                REFUSED(status, ISOLINE_OUT_OF_MEMORY, "memory");
            }
        }
        CHECK(done && (refused >= 1 || dimensions == 2 || !buffered));
    }
    free(distances);
    free(pixels);
    isoline_context_free(context);
}

int main(void) {
    RUN_ON_EACH(every_type_and_option_matches_the_definition);
    RUN_ON_EACH(the_report_is_honest);
    RUN_ON_EACH(passes_of_parts_make_up_the_distance);
    RUN_ON_EACH(values_between_passes_are_those_of_the_header);
    RUN_ON_EACH(null_is_refused_only_where_it_must_not_be);
    RUN_ON_EACH(what_does_not_fit_is_refused_by_name);
    RUN_ON_EACH(a_wrong_pass_is_refused_by_name);
    RUN(cuda_pixels_need_a_cuda_context);
    RUN_ON_EACH(a_cancel_leaves_the_output_untouched);
    RUN_ON_EACH(a_callback_may_not_use_its_context);
    RUN_ON_EACH(threads_take_turns_and_contexts_work_at_once);
    RUN_ON_EACH(calls_do_not_grow);
    RUN(want_of_memory_on_the_way_is_a_status);
    return summary();
}
