/* The distance: compared with its definition for every option, and every misuse refused. */
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

/* Returns the value of a pixel of any type, counted row by row. */
static double value_at(const isoline_image *image, size_t x, size_t y, size_t z) {
    static const size_t bytes[] = {1, 2, 4};
    const size_t row = image->row_stride ? image->row_stride : image->width * bytes[image->type];
    const size_t slice = image->slice_stride ? image->slice_stride : image->height * row;
    const char *pixel = (const char *)image->data + z * slice + y * row + x * bytes[image->type];
    if (image->type == ISOLINE_U8) {
        return *(const uint8_t *)pixel;
    }
    if (image->type == ISOLINE_U16) {
        return *(const uint16_t *)(const void *)pixel;
    }
    return *(const float *)(const void *)pixel;
}

/* Computes the definition: the nearest box of the other class, searched in the whole image. */
static void exact_distance(const isoline_image *mask, const isoline_distance_params *params, double *distances) {
    const size_t width = mask->width, height = mask->height, depth = mask->depth, count = width * height * depth;
    uint8_t *inside = (uint8_t *)allocate(count);
    for (size_t i = 0; i < count; i++) {
        const double value = value_at(mask, i % width, i / width % height, i / width / height);
        const int above = value > params->threshold, below = value <= params->threshold;
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

static void matches_the_definition(isoline_context *context, const isoline_image *mask,
                                   const isoline_distance_params *params, const char *what) {
    const size_t count = mask->width * mask->height * mask->depth;
    float *got = unwritten(count);
    double *exact = (double *)allocate(count * sizeof(double));
    isoline_image output = describe(ISOLINE_F32, mask->width, mask->height, mask->depth, got);
    GOOD(isoline_distance(context, mask, params, NULL, &output, NULL));
    const isoline_distance_params usual = distance_defaults();
    exact_distance(mask, params == NULL ? &usual : params, exact);
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        /* Beyond 100 units the tolerance is relative. */
        const double error = isinf(exact[i]) ? (got[i] == exact[i] ? 0 : INFINITY)
                                             : fabs(got[i] - exact[i]) / fmax(1, fabs(exact[i]) / 100);
        worst = error <= worst ? worst : error;
        worst = isnan(error) ? INFINITY : worst;
    }
    check_that(worst <= TOLERANCE, __FILE__, __LINE__, "%s, %zu x %zu x %zu: off by %g", what, (size_t)mask->width,
               (size_t)mask->height, (size_t)mask->depth, worst);
    free(exact);
    free(got);
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

static void every_size_and_spacing_matches_the_definition(const char *device) {
    isoline_context *context = open_context(device);
    const size_t sizes[][3] = {{1, 1, 1}, {1, 7, 1}, {9, 1, 1}, {1, 1, 8}, {2, 2, 2},   {31, 33, 1},
                               {7, 5, 9}, {1, 9, 7}, {8, 1, 9}, {17, 13, 11}, {70, 3, 5}, {3, 70, 5}, {3, 5, 70}};
    const double spacings[][3] = {{1, 1, 1}, {0.25, 0.5, 2.7}, {3, 1, 1}, {0.01, 100, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t j = 0; j < (slow() ? 2 : sizeof spacings / sizeof spacings[0]); j++) {
            uint8_t *pixels = blobs(sizes[i][0], sizes[i][1], sizes[i][2], (uint32_t)(i + 31 * j));
            isoline_image mask = describe(ISOLINE_U8, sizes[i][0], sizes[i][1], sizes[i][2], pixels);
            memcpy(mask.spacing, spacings[j], sizeof mask.spacing);
            for (uint32_t dimensions = 2; dimensions <= 3; dimensions++) {
                isoline_distance_params params = distance_defaults();
                params.dimensions = dimensions;
                matches_the_definition(context, &mask, &params, dimensions == 2 ? "slices" : "a volume");
            }
            matches_the_definition(context, &mask, NULL, "defaults");
            free(pixels);
        }
    }
    isoline_context_free(context);
}

static void every_type_and_option_matches_the_definition(const char *device) {
    enum { W = 19, H = 14, D = 6, N = W * H * D };
    isoline_context *context = open_context(device);
    uint8_t *bytes = blobs(W, H, D, 5);
    uint16_t wide[N];
    float real[N];
    for (size_t i = 0; i < N; i++) {
        wide[i] = (uint16_t)(bytes[i] > 0 ? 65000 + bytes[i] : 64999);
        real[i] = i % 57 == 3 ? NAN : 0.01f * bytes[i] - 1;
    }
    real[5] = INFINITY;
    real[N - 5] = -INFINITY;
    void *const data[] = {bytes, wide, real};
    const double thresholds[] = {0, 65000, -0.5};
    for (uint32_t type = ISOLINE_U8; type <= ISOLINE_F32; type++) {
        for (uint32_t option = 0; option < 12; option++) {
            isoline_image mask = describe(type, W, H, D, data[type]);
            isoline_distance_params params = distance_defaults();
            params.foreground = option % 2;
            params.dimensions = 2 + option / 2 % 2;
            params.region = option / 4;
            params.threshold = thresholds[type];
            matches_the_definition(context, &mask, &params, "an option");
        }
    }
    free(bytes);
    isoline_context_free(context);
}

static void a_mask_of_one_class_is_infinitely_far(const char *device) {
    enum { N = 4 * 3 * 2 };
    isoline_context *context = open_context(device);
    float distances[N];
    for (int all = 0; all < 2; all++) {
        uint8_t pixels[N];
        memset(pixels, all, sizeof pixels);
        isoline_image mask = describe(ISOLINE_U8, 4, 3, 2, pixels);
        isoline_image output = describe(ISOLINE_F32, 4, 3, 2, distances);
        GOOD(isoline_distance(context, &mask, NULL, NULL, &output, NULL));
        for (size_t i = 0; i < N; i++) {
            CHECK_NUMBER(distances[i], all ? -INFINITY : INFINITY);
        }
    }
    isoline_context_free(context);
}

static void long_rows_are_exact(const char *device) {
    /* One inside pixel in a row of 20000: the distance is |x - at| - 1/2, and -1/2 on it. */
    enum { N = 20000, AT = 7001 };
    isoline_context *context = open_context(device);
    uint8_t *pixels = (uint8_t *)allocate(N);
    float *distances = unwritten(N);
    memset(pixels, 0, N);
    pixels[AT] = 1;
    for (int axis = 0; axis < 3; axis++) {
        const uint64_t w = axis == 0 ? N : 1, h = axis == 1 ? N : 1, d = axis == 2 ? N : 1;
        isoline_image mask = describe(ISOLINE_U8, w, h, d, pixels), output = describe(ISOLINE_F32, w, h, d, distances);
        GOOD(isoline_distance(context, &mask, NULL, NULL, &output, NULL));
        double worst = 0;
        for (int i = 0; i < N; i++) {
            const double exact = i == AT ? -0.5 : abs(i - AT) - 0.5;
            worst = fmax(worst, fabs(distances[i] - exact) / fmax(1000, exact));
        }
        check_that(worst <= 1e-6, __FILE__, __LINE__, "along axis %d: off by %g of the distance", axis, worst);
    }
    free(distances);
    free(pixels);
    isoline_context_free(context);
}

static void padded_rows_and_slices_give_the_same(const char *device) {
    enum { W = 23, H = 17, D = 5, N = W * H * D, ROW = 32, SLICE = ROW * (H + 2) };
    isoline_context *context = open_context(device);
    uint8_t *pixels = blobs(W, H, D, 8), *padded = (uint8_t *)allocate(SLICE * D);
    float *packed = unwritten(N), *spread = unwritten(SLICE * D);
    memset(padded, 255, SLICE * D);
    for (size_t i = 0; i < N; i++) {
        padded[i / (W * H) * SLICE + i / W % H * ROW + i % W] = pixels[i];
    }
    isoline_image mask = describe(ISOLINE_U8, W, H, D, pixels), output = describe(ISOLINE_F32, W, H, D, packed);
    GOOD(isoline_distance(context, &mask, NULL, NULL, &output, NULL));
    mask = describe(ISOLINE_U8, W, H, D, padded);
    mask.row_stride = ROW;
    mask.slice_stride = SLICE;
    output = describe(ISOLINE_F32, W, H, D, spread);
    output.row_stride = ROW * sizeof(float);
    output.slice_stride = SLICE * sizeof(float);
    GOOD(isoline_distance(context, &mask, NULL, NULL, &output, NULL));
    size_t wrong = 0;
    for (size_t i = 0; i < SLICE * D; i++) {
        const size_t x = i % ROW, y = i % SLICE / ROW, z = i / SLICE;
        wrong += spread[i] != (x < W && y < H ? packed[(z * H + y) * W + x] : UNWRITTEN);
    }
    CHECK_NUMBER(wrong, 0);
    free(spread);
    free(packed);
    free(padded);
    free(pixels);
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

static void slices_do_not_look_at_the_z_spacing(const char *device) {
    enum { W = 60, H = 41, D = 3, N = W * H * D };
    isoline_context *context = open_context(device);
    uint8_t *pixels = drawing(W, H, D, 13);
    float *a = unwritten(N), *b = unwritten(N);
    isoline_distance_params params = distance_defaults();
    params.threshold = 127;
    params.dimensions = 2;
    isoline_image mask = describe(ISOLINE_U8, W, H, D, pixels);
    isoline_image one = describe(ISOLINE_F32, W, H, D, a), other = describe(ISOLINE_F32, W, H, D, b);
    mask.spacing[0] = mask.spacing[1] = mask.spacing[2] = 1e-10;
    GOOD(isoline_distance(context, &mask, &params, NULL, &one, NULL));
    const double spacings[] = {1, 1e300, 5e-324};
    for (size_t i = 0; i < sizeof spacings / sizeof spacings[0]; i++) {
        mask.spacing[2] = spacings[i];
        GOOD(isoline_distance(context, &mask, &params, NULL, &other, NULL));
        CHECK(memcmp(a, b, N * sizeof *a) == 0);
    }
    /* The checks of an image do not depend on the function. */
    mask.spacing[2] = 0;
    REFUSED(isoline_distance(context, &mask, &params, NULL, &other, NULL), ISOLINE_INVALID_ARGUMENT, "mask->spacing");
    mask.spacing[2] = 1;
    params.dimensions = 3;
    REFUSED(isoline_distance(context, &mask, &params, NULL, &other, NULL), ISOLINE_INVALID_ARGUMENT, "spacing");
    free(b);
    free(a);
    free(pixels);
    isoline_context_free(context);
}

static void cuda_and_cpu_agree(const char *device) {
    const size_t sizes[][3] = {{333, 222, 5}, {1, 3000, 2}, {130, 120, 110}};
    isoline_context *here = open_context(device), *there = open_context("cpu");
    for (size_t i = 0; i < 3; i++) {
        const size_t w = sizes[i][0], h = sizes[i][1], d = sizes[i][2], n = w * h * d;
        uint8_t *pixels = drawing(w, h, d, 13);
        float *a = unwritten(n), *b = unwritten(n);
        isoline_distance_params params = distance_defaults();
        params.threshold = 127;
        params.dimensions = i == 0 ? 2 : 3;
        isoline_image mask = describe(ISOLINE_U8, w, h, d, pixels);
        isoline_image one = describe(ISOLINE_F32, w, h, d, a), other = describe(ISOLINE_F32, w, h, d, b);
        mask.spacing[2] = 2.5;
        GOOD(isoline_distance(here, &mask, &params, NULL, &one, NULL));
        GOOD(isoline_distance(there, &mask, &params, NULL, &other, NULL));
        CHECK(largest_difference(a, b, n) <= TOLERANCE);
        free(b);
        free(a);
        free(pixels);
    }
    isoline_context_free(there);
    isoline_context_free(here);
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

static void end(job *work) {
    free(work->distances);
    free(work->pixels);
    isoline_context_free(work->context);
}

/* `change` makes the call fail with `status` and a message that has `word`; nothing is written. */
#define SPOILT(change, status, word)                                                                                   \
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

static void wrong_parameters_are_refused_by_name(const char *device) {
    job good_job = new_job(device);
    const double wrong[] = {(double)NAN, -(double)NAN, (double)INFINITY, -(double)INFINITY};
    const uint32_t far[] = {0, 1, 250, UINT32_MAX - 10};
    for (size_t i = 0; i < 4; i++) {
        SPOILT(work.params.threshold = wrong[i], ISOLINE_INVALID_ARGUMENT, "threshold");
        SPOILT(work.mask.spacing[i % 3] = wrong[i], ISOLINE_INVALID_ARGUMENT, "mask->spacing");
        SPOILT(work.params.dimensions = 4 + far[i], ISOLINE_INVALID_ARGUMENT, "dimensions");
        SPOILT(work.params.foreground = 2 + far[i], ISOLINE_INVALID_ARGUMENT, "foreground");
        SPOILT(work.params.region = 3 + far[i], ISOLINE_INVALID_ARGUMENT, "region");
    }
    SPOILT(work.params.dimensions = 0, ISOLINE_INVALID_ARGUMENT, "dimensions");
    SPOILT(work.params.dimensions = 1, ISOLINE_INVALID_ARGUMENT, "dimensions");
    SPOILT(work.mask.spacing[0] = 0, ISOLINE_INVALID_ARGUMENT, "mask->spacing");
    SPOILT(work.output.spacing[0] = -1, ISOLINE_INVALID_ARGUMENT, "output->spacing");
    end(&good_job);
}

static void structs_of_other_sizes_are_judged_before_any_work(const char *device) {
    job good_job = new_job(device);
    const uint32_t sizes[] = {0, 3, 4};
    for (size_t i = 0; i < 3; i++) {
        SPOILT(work.params.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "params->struct_size");
        SPOILT(work.report.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "report->struct_size");
        SPOILT(work.mask.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "mask->struct_size");
        SPOILT(work.output.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "output->struct_size");
    }
    SPOILT(work.params.struct_size = sizeof work.params - 1, ISOLINE_INVALID_ARGUMENT, "params->struct_size");
    struct {
        isoline_distance_params known;
        double more[3];
    } newer = {good_job.params, {0, 0, 1}};
    newer.known.struct_size = sizeof newer;
    REFUSED(isoline_distance(good_job.context, &good_job.mask, &newer.known, NULL, &good_job.output, NULL),
            ISOLINE_UNSUPPORTED, "newer");
    CHECK(is_unwritten(good_job.distances, COUNT));
    newer.more[2] = 0;
    GOOD(isoline_distance(good_job.context, &good_job.mask, &newer.known, NULL, &good_job.output, NULL));
    end(&good_job);
}

static void images_that_do_not_fit_are_refused(const char *device) {
    job good_job = new_job(device);
    const uint64_t huge = UINT64_MAX, half = (uint64_t)1 << 32;
    SPOILT(work.output.width = WIDTH - 1, ISOLINE_INVALID_SIZE, "size");
    SPOILT((work.output.depth = 2, work.output.height = HEIGHT / 2), ISOLINE_INVALID_SIZE, "size");
    SPOILT(work.mask.width = 0, ISOLINE_INVALID_SIZE, "mask");
    SPOILT(work.output.height = 0, ISOLINE_INVALID_SIZE, "output");
    SPOILT(work.mask.depth = 0, ISOLINE_INVALID_SIZE, "mask");
    SPOILT(work.mask.height = huge, ISOLINE_INVALID_SIZE, "mask");
    SPOILT((work.output.width = half, work.output.height = half), ISOLINE_INVALID_SIZE, "output");
    SPOILT(work.mask.row_stride = WIDTH - 1, ISOLINE_INVALID_SIZE, "row_stride");
    SPOILT(work.output.row_stride = huge, ISOLINE_INVALID_SIZE, "output");
    SPOILT(work.mask.data = NULL, ISOLINE_NULL_POINTER, "mask->data");
    SPOILT(work.output.data = NULL, ISOLINE_NULL_POINTER, "output->data");
    SPOILT(work.output.data = (char *)work.distances + 1, ISOLINE_INVALID_ARGUMENT, "aligned");
    SPOILT(work.mask.type = 3, ISOLINE_INVALID_TYPE, "mask->type");
    SPOILT(work.output.type = ISOLINE_U8, ISOLINE_INVALID_TYPE, "ISOLINE_F32");
    SPOILT(work.output.type = ISOLINE_U16, ISOLINE_INVALID_TYPE, "ISOLINE_U16");
    SPOILT(work.mask.memory = 2, ISOLINE_INVALID_ARGUMENT, "memory");
    SPOILT(work.mask.reserved = 1, ISOLINE_INVALID_ARGUMENT, "reserved");
    SPOILT((work.mask.data = work.distances, work.mask.type = ISOLINE_F32), ISOLINE_OVERLAP, "mask");
    SPOILT(work.mask.data = (char *)work.distances + 4 * COUNT - 1, ISOLINE_OVERLAP, "output");
    SPOILT((work.output.depth = work.mask.depth = 2, work.output.height = work.mask.height = HEIGHT / 2,
            work.output.slice_stride = 4),
           ISOLINE_OVERLAP, "output");
    end(&good_job);
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

static void a_cancel_takes_effect_within_100_ms(const char *device) {
    /* Other work on the machine adds to the promised time. */
    const size_t side = scaled(300, 40), area = side * side, count = area * side;
    const double promised = 0.1, slack = 0.25;
    isoline_context *context = open_context(device);
    uint8_t *pixels = blobs(side, side, side, 4);
    float *distances = unwritten(count), *whole = unwritten(count);
    isoline_image mask = describe(ISOLINE_U8, side, side, side, pixels);
    isoline_image output = describe(ISOLINE_F32, side, side, side, distances);
    isoline_image all = describe(ISOLINE_F32, side, side, side, whole);
    for (uint32_t dimensions = 2; dimensions <= 3; dimensions++) {
        isoline_distance_params params = distance_defaults();
        params.dimensions = dimensions;
        GOOD(isoline_distance(context, &mask, &params, NULL, &all, NULL));
        for (int cancel_at = 1; cancel_at <= 33; cancel_at = 2 * cancel_at + 1) {
            watch seen = {0, cancel_at, 0, 0, 0};
            isoline_progress progress = watched_by(&seen);
            isoline_status status = isoline_distance(context, &mask, &params, &progress, &output, NULL);
            const double late = seconds_now() - seen.cancelled;
            if (status == ISOLINE_OK) {
                CHECK(seen.calls < cancel_at);
                CHECK(memcmp(distances, whole, count * sizeof(float)) == 0);
                for (size_t i = 0; i < count; i++) {
                    distances[i] = UNWRITTEN;
                }
                break;
            }
            CHECK_NUMBER(status, ISOLINE_CANCELLED);
            check_that(slow() || late <= promised + slack, __FILE__, __LINE__,
                       "%u dimensions, cancelled at call %d: it took %.3f s", dimensions, cancel_at, late);
            /* A volume is untouched, and each slice is either complete or untouched. */
            for (size_t z = 0; z < side; z++) {
                float *slice = distances + z * area;
                if (!is_unwritten(slice, area)) {
                    CHECK(dimensions == 2 && memcmp(slice, whole + z * area, area * sizeof(float)) == 0);
                }
                for (size_t i = 0; i < area; i++) {
                    slice[i] = UNWRITTEN;
                }
            }
        }
    }
    free(whole);
    free(distances);
    free(pixels);
    isoline_context_free(context);
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
    const size_t count = (size_t)SIDE * SIDE * SIDE;
    isoline_context *context = open_context(device);
    uint8_t *pixels = blobs(SIDE, SIDE, SIDE, 6);
    float *distances = unwritten(count);
    isoline_image small = describe(ISOLINE_U8, 64, 64, 4, pixels);
    isoline_image small_output = describe(ISOLINE_F32, 64, 64, 4, distances);
    isoline_image mask = describe(ISOLINE_U8, SIDE, SIDE, SIDE, pixels);
    isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, SIDE, distances);
    /* With a callback the 64 MiB of a volume are buffered until the call can no longer be cancelled. */
    watch seen = {0, 0, 0, 0, 0};
    isoline_progress progress = watched_by(&seen);
    for (uint32_t way = 0; way < 4; way++) {
        const uint32_t dimensions = 2 + way % 2;
        const isoline_progress *told = way < 2 ? &progress : NULL;
        isoline_distance_params params = distance_defaults();
        int refused = 0, done = 0;
        params.dimensions = dimensions;
        GOOD(isoline_distance(context, &small, &params, told, &small_output, NULL));
        GOOD(isoline_context_trim(context));
        for (size_t i = 0; i < count; i++) {
            distances[i] = UNWRITTEN;
        }
        for (size_t kibibytes = 64; kibibytes <= 1 << 21 && !done; kibibytes = kibibytes * 3 / 2) {
            struct rlimit limit;
            getrlimit(RLIMIT_AS, &limit);
            allow_only(kibibytes << 10);
            isoline_status status = isoline_distance(context, &mask, &params, told, &output, NULL);
            setrlimit(RLIMIT_AS, &limit);
            done = status == ISOLINE_OK;
            refused += status == ISOLINE_OUT_OF_MEMORY;
            if (!done) {
                REFUSED(status, ISOLINE_OUT_OF_MEMORY, "memory");
                CHECK(dimensions == 2 || is_unwritten(distances, count));
            }
        }
        CHECK(done && (refused >= 1 || dimensions == 2 || told == NULL));
    }
    free(distances);
    free(pixels);
    isoline_context_free(context);
}

int main(void) {
    RUN_ON_EACH(every_size_and_spacing_matches_the_definition);
    RUN_ON_EACH(every_type_and_option_matches_the_definition);
    RUN_ON_EACH(a_mask_of_one_class_is_infinitely_far);
    RUN_ON_EACH(long_rows_are_exact);
    RUN_ON_EACH(padded_rows_and_slices_give_the_same);
    RUN_ON_EACH(slices_do_not_look_at_the_z_spacing);
    RUN_ON_EACH(the_report_is_honest);
    RUN_ON_EACH(null_is_refused_only_where_it_must_not_be);
    RUN_ON_EACH(wrong_parameters_are_refused_by_name);
    RUN_ON_EACH(structs_of_other_sizes_are_judged_before_any_work);
    RUN_ON_EACH(images_that_do_not_fit_are_refused);
    RUN(cuda_pixels_need_a_cuda_context);
    RUN_ON_EACH(a_cancel_leaves_the_output_untouched);
    RUN_ON_EACH(a_cancel_takes_effect_within_100_ms);
    RUN_ON_EACH(a_callback_may_not_use_its_context);
    RUN_ON_EACH(threads_take_turns_and_contexts_work_at_once);
    RUN_ON_EACH(calls_do_not_grow);
    RUN(want_of_memory_on_the_way_is_a_status);
    if (have_cuda()) {
        RUN_ON(cuda_and_cpu_agree, "cuda:0");
    }
    return summary();
}
