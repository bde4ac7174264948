/*
 * The distance and its passes: compared with the definition for every option, and misuse refused. tests/distance/ has the
 * values for every size and spacing; image.c, operation.c and operation_calls.c have what holds for all operations.
 */
#include "images.h"
#include "process.h"
#include "watch.h"

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
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
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
            GOOD(isoline_distance(context, &mask, null ? NULL : &params, NULL, &output, &report));
            CHECK(report.iterations == 0 && report.converged == 0 && isnan(report.residual));
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
    int is_pass; /* along `axis` */
    uint32_t axis;
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

static isoline_status run(job *w) {
    return w->is_pass ? isoline_distance_pass(w->context, &w->mask, w->axis, &w->params, NULL, &w->output, &w->report)
                      : isoline_distance(w->context, &w->mask, &w->params, NULL, &w->output, &w->report);
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
    isoline_context *const context = w.context;
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    REFUSED(isoline_distance(context, NULL, &w.params, &progress, &w.output, &w.report), ISOLINE_NULL_POINTER, "mask");
    REFUSED(isoline_distance(context, &w.mask, &w.params, &progress, NULL, &w.report), ISOLINE_NULL_POINTER, "output");
    REFUSED(isoline_distance(NULL, NULL, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, NULL);
    REFUSED(isoline_distance_params_init(NULL, sizeof w.params), ISOLINE_NULL_POINTER, "params");
    REFUSED(isoline_distance_pass(NULL, &w.mask, 0, NULL, NULL, &w.output, NULL), ISOLINE_NULL_POINTER, "context");
    REFUSED(isoline_distance_pass(context, NULL, 0, NULL, NULL, &w.output, NULL), ISOLINE_NULL_POINTER, "input");
    REFUSED(isoline_distance_pass(context, &w.mask, 0, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, "output");
    CHECK(is_unwritten(w.distances, COUNT));
    GOOD(isoline_distance(context, &w.mask, NULL, NULL, &w.output, NULL));
    GOOD(isoline_distance(context, &w.mask, &w.params, &progress, &w.output, &w.report));
    GOOD(isoline_distance_pass(context, &w.mask, 0, NULL, NULL, &w.output, NULL));
    end(&w);
}

static void what_does_not_fit_is_refused_by_name(const char *device) {
    job good_job = new_job(device);
    for (int is_pass = 0; is_pass < 2; is_pass++) {
        good_job.is_pass = is_pass;
        SPOILT(work.params.struct_size = sizeof work.params - 1, ISOLINE_INVALID_ARGUMENT, "params->struct_size");
        SPOILT(work.params.threshold = (double)NAN, ISOLINE_INVALID_ARGUMENT, "threshold");
        SPOILT(work.report.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "report->struct_size");
        SPOILT(work.mask.spacing[0] = 5e-324, ISOLINE_INVALID_ARGUMENT, "spacing along x");
        SPOILT(work.mask.spacing[1] = 1e10, ISOLINE_INVALID_ARGUMENT, "spacing");
        SPOILT(work.mask.width = 0, ISOLINE_INVALID_SIZE, is_pass ? "input" : "mask");
        SPOILT((work.params.dimensions = 2, work.mask.spacing[2] = 0), ISOLINE_INVALID_ARGUMENT, "->spacing");
        SPOILT(work.output.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "output->struct_size");
        SPOILT(work.output.spacing[0] = -1, ISOLINE_INVALID_ARGUMENT, "output->spacing");
        SPOILT(work.output.width = WIDTH - 1, ISOLINE_INVALID_SIZE, "size");
        SPOILT((work.output.depth = 2, work.output.height = HEIGHT / 2), ISOLINE_INVALID_SIZE, "size");
        SPOILT(work.output.height = 0, ISOLINE_INVALID_SIZE, "output");
        SPOILT(work.output.data = NULL, ISOLINE_NULL_POINTER, "output->data");
        SPOILT(work.output.type = ISOLINE_U8, ISOLINE_INVALID_TYPE, "ISOLINE_F32");
        SPOILT(work.output.type = ISOLINE_U16, ISOLINE_INVALID_TYPE, "ISOLINE_U16");
        SPOILT((work.mask.data = work.distances, work.mask.type = ISOLINE_F32), ISOLINE_OVERLAP, is_pass ? "input" : "mask");
        SPOILT(work.mask.data = (char *)work.distances + 4 * COUNT - 1, ISOLINE_OVERLAP, "output");
        if (is_pass || strcmp(device, "cpu") == 0) {
            SPOILT(work.mask.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, is_pass ? "input is in CUDA memory" : "CUDA");
            SPOILT(work.output.memory = ISOLINE_CUDA, ISOLINE_UNSUPPORTED, is_pass ? "output is in CUDA memory" : "CUDA");
        }
    }
    SPOILT(work.axis = 3, ISOLINE_INVALID_ARGUMENT, "axis must be 0, 1 or 2");
    SPOILT(work.axis = UINT32_MAX, ISOLINE_INVALID_ARGUMENT, "axis");
    SPOILT((work.axis = 2, work.params.dimensions = 2), ISOLINE_INVALID_ARGUMENT, "axis must be 0 or 1");
    SPOILT(work.axis = 1, ISOLINE_INVALID_TYPE, "float32 (got uint8)");
    SPOILT(work.axis = 2, ISOLINE_INVALID_TYPE, "along z");
    SPOILT((work.mask.memory = ISOLINE_SLICES, work.mask.data = NULL), ISOLINE_UNSUPPORTED, "ISOLINE_SLICES");
    SPOILT((work.output.memory = ISOLINE_SLICES, work.output.data = NULL), ISOLINE_UNSUPPORTED, "ISOLINE_SLICES");
    GOOD(run(&good_job));
    end(&good_job);
}

static void pass_once(void *user) {
    job *w = (job *)user;
    watch seen = {0, 1, 0, 0, 0};
    const isoline_progress progress = watched_by(&seen);
    GOOD(run(w));
    REFUSED(isoline_distance_pass(w->context, &w->mask, 0, NULL, &progress, &w->output, NULL), ISOLINE_CANCELLED, NULL);
}

static void passes_do_not_grow(const char *device) {
    job work = new_job(device);
    work.is_pass = 1;
    must_not_grow(pass_once, &work, (int)scaled(50, 2), (int)scaled(1000, 20));
    end(&work);
}

int main(void) {
    RUN_ON_EACH(every_type_and_option_matches_the_definition);
    RUN_ON_EACH(passes_of_parts_make_up_the_distance);
    RUN_ON_EACH(values_between_passes_are_those_of_the_header);
    RUN_ON_EACH(null_is_refused_only_where_it_must_not_be);
    RUN_ON_EACH(what_does_not_fit_is_refused_by_name);
    RUN_ON_EACH(passes_do_not_grow);
    return summary();
}
