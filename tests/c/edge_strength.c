/* The edge strength: correct pixels for every option, a correct report, and every misuse refused. */
#include "images.h"
#include "process.h"

#include <sys/mman.h>

static isoline_report new_report(void) {
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    return report;
}

/* Returns the edge strength of packed 8-bit pixels; the caller frees it. */
static float *strength_of(isoline_context *context, uint8_t *pixels, size_t width, size_t height, size_t depth,
                          const isoline_edge_strength_params *params) {
    float *strength = unwritten(width * height * depth);
    isoline_image input = describe(ISOLINE_U8, width, height, depth, pixels);
    isoline_image output = describe(ISOLINE_F32, width, height, depth, strength);
    GOOD(isoline_edge_strength(context, &input, params, NULL, &output, NULL));
    return strength;
}

static void matches_the_definition(const char *device, size_t width, size_t height, size_t depth,
                                   const isoline_edge_strength_params *params) {
    isoline_context *context = open_context(device);
    uint8_t *pixels = drawing(width, height, depth, 7);
    float *strength = strength_of(context, pixels, width, height, depth, params);
    double *exact = exact_edge_strength(pixels, width, height, depth, params);
    double error = largest_error(strength, exact, width * height * depth);
    check_that(error <= TOLERANCE_EXACT, __FILE__, __LINE__,
               "%zux%zux%zu, %d dimensions, %d iterations, rho %g, step %g: off by %g", width, height, depth,
               (int)params->dimensions, (int)params->iterations, params->rho, params->time_step, error);
    free(exact);
    free(strength);
    free(pixels);
    isoline_context_free(context);
}

static void null_params_are_the_defaults(const char *device) {
    enum { W = 61, H = 47 };
    isoline_context *context = open_context(device);
    uint8_t *pixels = drawing(W, H, 1, 2);
    for (size_t i = 0; i < W * H; i++) {
        /* Every value above 0 belongs to the shape. */
        pixels[i] = pixels[i] == 255 ? 1 : 0;
    }
    isoline_edge_strength_params params = defaults();
    float *by_null = strength_of(context, pixels, W, H, 1, NULL);
    float *by_init = strength_of(context, pixels, W, H, 1, &params);
    double *exact = exact_edge_strength(pixels, W, H, 1, &params);
    CHECK(memcmp(by_null, by_init, W * H * sizeof(float)) == 0);
    CHECK(largest_error(by_null, exact, W * H) <= TOLERANCE_EXACT);
    free(exact);
    free(by_init);
    free(by_null);
    free(pixels);
    isoline_context_free(context);
}

static void sizes_of_every_shape_match_the_definition(const char *device) {
    const size_t sizes[][2] = {{1, 1}, {2, 1}, {1, 2}, {1, 77}, {77, 1}, {3, 3}, {31, 33}, {64, 64}, {129, 65}};
    const size_t large[2] = {1030, 70};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        isoline_edge_strength_params params = for_drawing(60);
        params.rho = 8;
        matches_the_definition(device, sizes[i][0], sizes[i][1], 1, &params);
    }
    if (!slow()) {
        isoline_edge_strength_params params = for_drawing(200);
        matches_the_definition(device, large[0], large[1], 1, &params);
        matches_the_definition(device, large[1], large[0], 1, &params);
    }
}

static void every_parameter_does_what_the_header_says(const char *device) {
    const size_t width = 70, height = 50;
    isoline_edge_strength_params params = for_drawing(0);
    matches_the_definition(device, width, height, 1, &params);
    params.iterations = 1;
    matches_the_definition(device, width, height, 1, &params);
    params.iterations = 33;
    matches_the_definition(device, width, height, 1, &params);
    params.rho = 0.5;
    matches_the_definition(device, width, height, 1, &params);
    params.rho = 1e-3;
    matches_the_definition(device, width, height, 1, &params);
    params.rho = 1e9;
    matches_the_definition(device, width, height, 1, &params);
    params.rho = 3;
    params.time_step = 0.05;
    matches_the_definition(device, width, height, 1, &params);
    /* The limit itself is allowed. */
    params.time_step = 1 / (4 + 1 / (params.rho * params.rho));
    matches_the_definition(device, width, height, 1, &params);
    params.time_step = ISOLINE_AUTOMATIC;
    params.threshold = 90;
    matches_the_definition(device, width, height, 1, &params);
    params.threshold = 254.5;
    matches_the_definition(device, width, height, 1, &params);
    params.foreground = ISOLINE_FOREGROUND_BELOW;
    params.threshold = 3;
    matches_the_definition(device, width, height, 1, &params);
    /* A pixel at the threshold belongs to the shape below. */
    params.threshold = 0;
    matches_the_definition(device, width, height, 1, &params);
    params.foreground = ISOLINE_FOREGROUND_ABOVE;
    params.dimensions = 3;
    params.threshold = 127;
    matches_the_definition(device, 30, 20, 9, &params);
    params.time_step = 1 / (6 + 1 / (params.rho * params.rho));
    matches_the_definition(device, 30, 20, 9, &params);
    params.time_step = ISOLINE_AUTOMATIC;
    matches_the_definition(device, 30, 20, 1, &params);
    matches_the_definition(device, 1, 1, 40, &params);
}

static void all_or_no_shape_is_all_1_or_all_0(const char *device) {
    enum { W = 40, H = 30 };
    isoline_context *context = open_context(device);
    uint8_t *pixels = drawing(W, H, 1, 4);
    for (int all = 0; all < 2; all++) {
        isoline_edge_strength_params params = for_drawing(100);
        params.threshold = all ? -1 : 1e300;
        float *strength = strength_of(context, pixels, W, H, 1, &params);
        size_t wrong = 0;
        for (size_t i = 0; i < W * H; i++) {
            wrong += strength[i] != (float)all;
        }
        CHECK_NUMBER(wrong, 0);
        free(strength);
    }
    free(pixels);
    isoline_context_free(context);
}

static void a_stack_is_its_slices(const char *device) {
    enum { W = 50, H = 37, D = 7 };
    isoline_context *context = open_context(device);
    isoline_edge_strength_params params = for_drawing(80);
    uint8_t *pixels = drawing(W, H, D, 9);
    float *stack = strength_of(context, pixels, W, H, D, &params);
    for (size_t z = 0; z < D; z++) {
        float *alone = strength_of(context, pixels + z * W * H, W, H, 1, &params);
        CHECK(memcmp(alone, stack + z * W * H, W * H * sizeof(float)) == 0);
        free(alone);
    }
    free(stack);
    free(pixels);
    isoline_context_free(context);
}

/* The start in double precision: the input scaled to 0..1, inverted for dark shapes; 1 on the shape. */
static double start_of(double pixel, double low, double high, int below) {
    double scaled = high > low ? (pixel - low) / (high - low) : 0;
    scaled = fmin(fmax(scaled, 0), 1);
    return below ? 1 - scaled : scaled;
}

static void a_start_from_the_input_scales_it(const char *device) {
    enum { W = 43, H = 29, N = W * H };
    isoline_context *context = open_context(device);
    uint8_t *drawn = drawing(W, H, 1, 6);
    uint16_t wide[N];
    float real[N];
    for (size_t i = 0; i < N; i++) {
        wide[i] = (uint16_t)(1000 + 150 * drawn[i]);
        real[i] = 0.01f * drawn[i] - 0.5f;
    }
    void *const data[] = {drawn, wide, real};
    for (uint32_t type = ISOLINE_U8; type <= ISOLINE_F32; type++) {
        for (int option = 0; option < 4; option++) {
            int below = option & 1, given = option & 2;
            isoline_edge_strength_params params = defaults();
            double values[N], low = INFINITY, high = -INFINITY;
            for (size_t i = 0; i < N; i++) {
                values[i] = type == ISOLINE_U8 ? drawn[i] : type == ISOLINE_U16 ? wide[i] : (double)real[i];
                low = fmin(low, values[i]);
                high = fmax(high, values[i]);
            }
            params.iterations = 12;
            params.start = ISOLINE_EDGE_STRENGTH_START_IMAGE;
            params.foreground = below ? ISOLINE_FOREGROUND_BELOW : ISOLINE_FOREGROUND_ABOVE;
            params.threshold = below ? low + 0.05 * (high - low) : low + 0.9 * (high - low);
            if (given) {
                params.start_min = low = low + 0.1 * (high - low);
                params.start_max = high = high - 0.3 * (high - low);
            } else if (type == ISOLINE_U8) {
                low = 0;
                high = 255;
            }
            double v[N];
            uint8_t shape[N];
            for (size_t i = 0; i < N; i++) {
                shape[i] = below ? values[i] <= params.threshold : values[i] > params.threshold;
                v[i] = shape[i] ? 1 : start_of(values[i], low, high, below);
            }
            exact_iterations(v, shape, W, H, 1, &params);
            float *strength = unwritten(N);
            isoline_image input = describe(type, W, H, 1, data[type]);
            isoline_image output = describe(ISOLINE_F32, W, H, 1, strength);
            GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL));
            double error = largest_error(strength, v, N);
            check_that(error <= TOLERANCE_EXACT, __FILE__, __LINE__, "type %u, %s, %s range: off by %g", type,
                       below ? "below" : "above", given ? "given" : "automatic", error);
            free(strength);
        }
    }
    free(drawn);
    isoline_context_free(context);
}

static void strange_pixels_are_background_or_shape_as_documented(const char *device) {
    enum { N = 9 };
    isoline_context *context = open_context(device);
    float pixels[N] = {NAN, 5, INFINITY, -INFINITY, NAN, 1, 0, NAN, -3};
    float strength[N];
    isoline_image input = describe(ISOLINE_F32, N, 1, 1, pixels);
    isoline_image output = describe(ISOLINE_F32, N, 1, 1, strength);
    isoline_edge_strength_params params = defaults();
    params.iterations = 0;
    params.threshold = 2;
    const float above[N] = {0, 1, 1, 0, 0, 0, 0, 0, 0};
    GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL));
    CHECK(memcmp(strength, above, sizeof above) == 0);
    params.foreground = ISOLINE_FOREGROUND_BELOW;
    params.threshold = 0;
    const float below[N] = {0, 0, 0, 1, 0, 0, 1, 0, 1};
    GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL));
    CHECK(memcmp(strength, below, sizeof below) == 0);
    /* The automatic range is that of the finite pixels, -3..5, and nothing that comes out is NaN. */
    params.foreground = ISOLINE_FOREGROUND_ABOVE;
    params.start = ISOLINE_EDGE_STRENGTH_START_IMAGE;
    params.threshold = 100;
    const float scaled_pixels[N] = {0, 1, 1, 0, 0, 0.5f, 0.375f, 0, 0};
    GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL));
    CHECK(memcmp(strength, scaled_pixels, sizeof scaled_pixels) == 0);
    params.iterations = 50;
    GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL));
    for (size_t i = 0; i < N; i++) {
        CHECK(strength[i] >= 0 && strength[i] <= 1);
    }
    isoline_context_free(context);
}

static void every_variant_gives_the_same_pixels(const char *device) {
    const size_t width = scaled(300, 80), height = scaled(211, 61);
    const int cuda = strcmp(device, "cpu") != 0;
    isoline_context *context = open_context(device);
    uint8_t *pixels = drawing(width, height, 1, 8);
    isoline_edge_strength_params params = for_drawing(200);
    float *usual = strength_of(context, pixels, width, height, 1, &params);
    for (uint32_t variant = ISOLINE_EDGE_STRENGTH_FUSED; variant <= ISOLINE_EDGE_STRENGTH_SCALAR; variant++) {
        float *strength = unwritten(width * height);
        isoline_image input = describe(ISOLINE_U8, width, height, 1, pixels);
        isoline_image output = describe(ISOLINE_F32, width, height, 1, strength);
        params.variant = variant;
        int only_cuda = variant == ISOLINE_EDGE_STRENGTH_SHARED || variant == ISOLINE_EDGE_STRENGTH_TEXTURE;
        int only_cpu = variant == ISOLINE_EDGE_STRENGTH_SCALAR;
        if (cuda ? only_cpu : only_cuda) {
            REFUSED(isoline_edge_strength(context, &input, &params, NULL, &output, NULL), ISOLINE_UNSUPPORTED,
                    only_cuda ? "CUDA" : "CPU");
            CHECK(is_unwritten(strength, width * height));
        } else {
            GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL));
            double difference = largest_difference(usual, strength, width * height);
            check_that(difference <= (only_cpu ? TOLERANCE_SCALAR : 0), __FILE__, __LINE__,
                       "variant %u differs from the default by %g", variant, difference);
        }
        free(strength);
    }
    free(usual);
    free(pixels);
    isoline_context_free(context);
}

static void cuda_and_cpu_give_the_same_bits(const char *device) {
    enum { W = 333, H = 222, D = 5 };
    uint8_t *pixels = drawing(W, H, D, 13);
    for (uint32_t dimensions = 2; dimensions <= 3; dimensions++) {
        isoline_context *here = open_context(device), *there = open_context("cpu");
        isoline_edge_strength_params params = for_drawing(120);
        params.dimensions = dimensions;
        float *a = strength_of(here, pixels, W, H, D, &params);
        float *b = strength_of(there, pixels, W, H, D, &params);
        CHECK_NUMBER(largest_difference(a, b, W * H * D), 0);
        free(b);
        free(a);
        isoline_context_free(there);
        isoline_context_free(here);
    }
    free(pixels);
}

/* One row with the shape at some pixels: the steady state is a tridiagonal system, solved by elimination. */
static void steady_row(const uint8_t *shape, double *v, size_t n, double lambda) {
    double *upper = (double *)allocate(n * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        int left = i > 0, right = i + 1 < n;
        double diagonal = shape[i] ? 1 : lambda + left + right;
        double value = shape[i] ? 1 : 0;
        double below = shape[i] || !left ? 0 : -1, above = shape[i] || !right ? 0 : -1;
        double pivot = diagonal - (left ? below * upper[i - 1] : 0);
        upper[i] = above / pivot;
        v[i] = (value - (left ? below * v[i - 1] : 0)) / pivot;
    }
    for (size_t i = n - 1; i-- > 0;) {
        v[i] -= upper[i] * v[i + 1];
    }
    free(upper);
}

static void converged_is_the_steady_state_of_a_row(const char *device) {
    enum { N = 500 };
    isoline_context *context = open_context(device);
    uint8_t pixels[N] = {0};
    pixels[0] = pixels[60] = pixels[61] = pixels[300] = 1;
    const double rhos[] = {1, 4, 16, 64, 500};
    for (size_t i = 0; i < sizeof rhos / sizeof rhos[0]; i++) {
        float strength[N];
        double exact[N];
        isoline_image input = describe(ISOLINE_U8, N, 1, 1, pixels);
        isoline_image output = describe(ISOLINE_F32, N, 1, 1, strength);
        isoline_edge_strength_params params = defaults();
        isoline_report report = new_report();
        params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
        params.rho = rhos[i];
        GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, &report));
        steady_row(pixels, exact, N, 1 / (params.rho * params.rho));
        double error = largest_error(strength, exact, N);
        check_that(error <= 1e-4, __FILE__, __LINE__, "rho %g: off by %g", params.rho, error);
        CHECK_NUMBER(report.converged, 1);
        CHECK(report.iterations >= 1 && report.iterations <= params.max_cycles);
        CHECK(report.residual >= 0 && report.residual <= params.tolerance);
    }
    isoline_context_free(context);
}

static isoline_image spaced(isoline_image image, double x, double y, double z) {
    image.spacing[0] = x;
    image.spacing[1] = y;
    image.spacing[2] = z;
    return image;
}

static void a_volume_has_the_spacing_of_its_input(const char *device) {
    enum { W = 23, H = 19, D = 8, N = W * H * D };
    isoline_context *context = open_context(device);
    uint8_t *pixels = drawing(W, H, D, 5);
    float *wanted = unwritten(N), *strength = unwritten(N);
    isoline_image input = describe(ISOLINE_U8, W, H, D, pixels);
    isoline_image output = describe(ISOLINE_F32, W, H, D, strength);
    isoline_image expected = describe(ISOLINE_F32, W, H, D, wanted);
    for (uint32_t mode = 0; mode < 2; mode++) {
        /* Equal spacings are another unit of rho; slices have rho in pixels; the output's spacing is not used. */
        for (uint32_t dimensions = 2; dimensions <= 3; dimensions++) {
            isoline_edge_strength_params params = for_drawing(20);
            params.mode = mode;
            params.dimensions = dimensions;
            params.rho = 4;
            GOOD(isoline_edge_strength(context, &input, &params, NULL, &expected, NULL));
            const isoline_image halves = spaced(input, 0.5, 0.5, 0.5), other = spaced(output, 9, 8, 7);
            params.rho = dimensions == 3 ? 2 : 4;
            GOOD(isoline_edge_strength(context, &halves, &params, NULL, &other, NULL));
            CHECK(memcmp(wanted, strength, N * sizeof(float)) == 0);
            const isoline_image flat = spaced(input, 1, 1, 3);
            GOOD(isoline_edge_strength(context, &flat, &params, NULL, &output, NULL));
            CHECK((memcmp(wanted, strength, N * sizeof(float)) == 0) == (dimensions == 2));
        }
    }
    /* A line along z has the steady state of a row whose pixels are as far apart. */
    uint8_t row[N] = {0};
    double exact[N];
    row[40] = 1;
    const isoline_image line = spaced(describe(ISOLINE_U8, 1, 1, N, row), 1, 2, 3);
    const isoline_image along = describe(ISOLINE_F32, 1, 1, N, strength);
    isoline_edge_strength_params params = defaults();
    params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    params.dimensions = 3;
    params.rho = 30;
    GOOD(isoline_edge_strength(context, &line, &params, NULL, &along, NULL));
    steady_row(row, exact, N, (3.0 / 30) * (3.0 / 30));
    CHECK(largest_error(strength, exact, N) <= 1e-4);
    /* Misuse. */
    const double bad[] = {0, -1, NAN, INFINITY, 101};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        float *untouched = unwritten(N);
        const isoline_image in = spaced(input, 1, 1, bad[i]), out = describe(ISOLINE_F32, W, H, D, untouched);
        REFUSED(isoline_edge_strength(context, &in, &params, NULL, &out, NULL), ISOLINE_INVALID_ARGUMENT, "spacing");
        CHECK(is_unwritten(untouched, N));
        free(untouched);
    }
    params.rho = 1e-5;
    const isoline_image large = spaced(input, 1e14, 1e14, 1e14);
    REFUSED(isoline_edge_strength(context, &large, &params, NULL, &output, NULL), ISOLINE_INVALID_ARGUMENT, "rho");
    params = for_drawing(1);
    params.dimensions = 3;
    params.rho = 4;
    params.time_step = 0.25;
    const isoline_image flat = spaced(input, 1, 1, 5);
    REFUSED(isoline_edge_strength(context, &flat, &params, NULL, &output, NULL), ISOLINE_INVALID_ARGUMENT, "0.241400");
    params.time_step = 0.24;
    GOOD(isoline_edge_strength(context, &flat, &params, NULL, &output, NULL));
    free(strength);
    free(wanted);
    free(pixels);
    isoline_context_free(context);
}

static void converged_solves_the_equation_in_2d_and_3d(const char *device) {
    isoline_context *context = open_context(device);
    for (uint32_t dimensions = 2; dimensions <= 3; dimensions++) {
        const size_t size[3] = {61, 40, dimensions == 2 ? 1u : 11u};
        const size_t count = size[0] * size[1] * size[2];
        uint8_t *pixels = drawing(size[0], size[1], size[2], 21);
        isoline_edge_strength_params params = for_drawing(0);
        params.dimensions = dimensions;
        params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
        params.rho = 16;
        params.tolerance = 1e-6;
        float *strength = strength_of(context, pixels, size[0], size[1], size[2], &params);
        double *v = (double *)allocate(count * sizeof(double));
        double worst = 0;
        for (size_t i = 0; i < count; i++) {
            v[i] = strength[i];
        }
        for (size_t i = 0; i < count; i++) {
            const size_t at[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
            double sum = 0;
            for (int axis = 0; axis < (int)dimensions; axis++) {
                sum += neighbour(v, size, at, axis, -1) + neighbour(v, size, at, axis, 1) - 2 * v[i];
            }
            double residual = pixels[i] > 127 ? v[i] - 1 : sum - v[i] / (params.rho * params.rho);
            worst = fmax(worst, fabs(residual));
        }
        /* f32 pixels alone leave about 4e-7 here. */
        check_that(worst <= 2e-5, __FILE__, __LINE__, "%uD: the equation is off by %g", dimensions, worst);
        free(v);
        free(strength);
        free(pixels);
    }
    isoline_context_free(context);
}

static void converged_says_when_the_cycles_did_not_suffice(const char *device) {
    enum { SIDE = 200 };
    isoline_context *context = open_context(device);
    uint8_t *pixels = (uint8_t *)calloc(SIDE * SIDE, 1);
    float *strength = unwritten(SIDE * SIDE);
    pixels[SIDE * SIDE / 2 + 7] = 255;
    isoline_image input = describe(ISOLINE_U8, SIDE, SIDE, 1, pixels);
    isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, 1, strength);
    isoline_edge_strength_params params = defaults();
    isoline_report report = new_report();
    params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    params.max_cycles = 1;
    params.tolerance = 1e-300;
    GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, &report));
    CHECK_NUMBER(report.converged, 0);
    CHECK_NUMBER(report.iterations, 1);
    CHECK(report.residual > 0);
    CHECK(!is_unwritten(strength, SIDE * SIDE));
    free(strength);
    free(pixels);
    isoline_context_free(context);
}

static void converged_ends_when_its_changes_no_longer_fall(const char *device) {
    enum { LENGTH = 829 };
    static const size_t shapes[][3] = {{LENGTH, 1, 1}, {1, 1, LENGTH}};
    isoline_context *context = open_context(device);
    uint8_t *pixels = (uint8_t *)calloc(LENGTH, 1);
    float *strength = unwritten(LENGTH);
    for (size_t i = 0; i < LENGTH; i += 7) {
        pixels[i] = 200;
    }
    for (int volume = 0; volume < 2; volume++) {
        isoline_image input = describe(ISOLINE_U8, shapes[volume][0], shapes[volume][1], shapes[volume][2], pixels);
        isoline_image output = describe(ISOLINE_F32, shapes[volume][0], shapes[volume][1], shapes[volume][2], strength);
        isoline_edge_strength_params params = defaults();
        isoline_report report = new_report();
        params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
        params.dimensions = volume ? 3 : 2;
        /* The smallest number above 0, which no 32-bit number comes close to, and the most cycles. */
        params.tolerance = 4.9e-324;
        params.max_cycles = 10000000;
        GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, &report));
        CHECK(report.converged == (report.residual == 0));
        check_that(report.iterations < 10000, __FILE__, __LINE__, "%uD: it took %.0f cycles", params.dimensions,
                   (double)report.iterations);
    }
    free(strength);
    free(pixels);
    isoline_context_free(context);
}

static void the_report_is_honest(const char *device) {
    enum { W = 128, H = 96, D = 4 };
    isoline_context *context = open_context(device);
    isoline_device entry;
    uint8_t *pixels = drawing(W, H, D, 17);
    float *strength = unwritten(W * H * D);
    isoline_image input = describe(ISOLINE_U8, W, H, D, pixels);
    isoline_image output = describe(ISOLINE_F32, W, H, D, strength);
    GOOD(isoline_device_init(&entry, sizeof entry));
    GOOD(isoline_context_device(context, &entry));
    for (uint32_t dimensions = 2; dimensions <= 3; dimensions++) {
        isoline_edge_strength_params params = for_drawing(77);
        isoline_report report = new_report();
        params.dimensions = dimensions;
        double started = seconds_now();
        GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, &report));
        double seconds = seconds_now() - started;
        CHECK_NUMBER(report.struct_size, sizeof report);
        CHECK_NUMBER(report.device_kind, entry.kind);
        CHECK_NUMBER(report.device_index, entry.index);
        CHECK_TEXT(report.device_name, entry.name);
        CHECK_NUMBER(report.device_count, 1);
        CHECK_NUMBER(report.part_count, 1);
        CHECK_NUMBER(report.converged, 0);
        CHECK_NUMBER(report.iterations, 77);
        CHECK_NUMBER(report.slices_done, D);
        CHECK(isnan(report.residual));
        CHECK(report.seconds_total > 0 && report.seconds_total <= seconds);
        CHECK(report.seconds_compute > 0 && report.seconds_compute <= report.seconds_total);
        if (entry.kind == ISOLINE_DEVICE_CPU) {
            CHECK(report.seconds_upload == 0 && report.seconds_download == 0 && report.peak_device_bytes == 0);
        } else {
            CHECK(report.seconds_upload > 0 && report.seconds_download > 0);
            CHECK(report.peak_device_bytes >= W * H * sizeof(float));
        }
    }
    free(strength);
    free(pixels);
    isoline_context_free(context);
}

static void auto_reports_where_it_ran(const char *device) {
    (void)device;
    isoline_context *context = open_context("auto");
    isoline_device entry;
    uint8_t pixel = 1;
    float strength = UNWRITTEN;
    isoline_image input = describe(ISOLINE_U8, 1, 1, 1, &pixel);
    isoline_image output = describe(ISOLINE_F32, 1, 1, 1, &strength);
    isoline_report report = new_report();
    GOOD(isoline_device_init(&entry, sizeof entry));
    GOOD(isoline_context_device(context, &entry));
    GOOD(isoline_edge_strength(context, &input, NULL, NULL, &output, &report));
    if (report.device_kind != entry.kind) { /* A call this small may be faster on the CPU. */
        CHECK_NUMBER(report.device_kind, ISOLINE_DEVICE_CPU);
        GOOD(isoline_device_info(0, &entry));
    }
    CHECK_TEXT(report.device_name, entry.name);
    CHECK_NUMBER(strength, 1);
    isoline_context_free(context);
}

/* ---- misuse -------------------------------------------------------------------------------------------------- */

enum { WIDTH = 32, HEIGHT = 16, COUNT = WIDTH * HEIGHT };

/* A valid call, of which each test makes one argument invalid. */
typedef struct {
    isoline_context *context;
    uint8_t *pixels;
    float *strength;
    isoline_image input, output;
    isoline_edge_strength_params params;
    isoline_report report;
} job;

static job new_job(const char *device) {
    job made;
    made.context = open_context(device);
    made.pixels = drawing(WIDTH, HEIGHT, 1, 1);
    made.strength = unwritten(COUNT);
    made.input = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, made.pixels);
    made.output = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, made.strength);
    made.params = for_drawing(10);
    made.report = new_report();
    return made;
}

static isoline_status run(job *work) {
    return isoline_edge_strength(work->context, &work->input, &work->params, NULL, &work->output, &work->report);
}

static void end(job *work) {
    free(work->strength);
    free(work->pixels);
    isoline_context_free(work->context);
}

/* `change` makes the call fail with `status` and a message that has `word`; output and report stay untouched. */
#define SPOILT(change, status, word)                                                                                   \
    do {                                                                                                               \
        job work = good_job;                                                                                           \
        isoline_edge_strength_params *params = &work.params;                                                           \
        (void)params; /* some changes are to other structs */                                                          \
        change;                                                                                                        \
        isoline_report before = work.report;                                                                           \
        isoline_edge_strength_params params_before = work.params;                                                      \
        check_status(run(&work), (status), (word), __FILE__, __LINE__, #change);                                       \
        CHECK(is_unwritten(work.strength, COUNT));                                                                     \
        CHECK(memcmp(&before, &work.report, sizeof before) == 0);                                                      \
        CHECK(memcmp(&params_before, &work.params, sizeof params_before) == 0);                                        \
    } while (0)

static void null_is_refused_only_where_it_must_not_be(const char *device) {
    job w = new_job(device);
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    REFUSED(isoline_edge_strength(NULL, &w.input, &w.params, &progress, &w.output, &w.report), ISOLINE_NULL_POINTER,
            "context");
    REFUSED(isoline_edge_strength(w.context, NULL, &w.params, &progress, &w.output, &w.report), ISOLINE_NULL_POINTER,
            "input");
    REFUSED(isoline_edge_strength(w.context, &w.input, &w.params, &progress, NULL, &w.report), ISOLINE_NULL_POINTER,
            "output");
    REFUSED(isoline_edge_strength(NULL, NULL, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, NULL);
    CHECK(is_unwritten(w.strength, COUNT));
    GOOD(isoline_edge_strength(w.context, &w.input, NULL, &progress, &w.output, &w.report));
    GOOD(isoline_edge_strength(w.context, &w.input, &w.params, NULL, &w.output, &w.report));
    GOOD(isoline_edge_strength(w.context, &w.input, &w.params, &progress, &w.output, NULL));
    GOOD(isoline_edge_strength(w.context, &w.input, NULL, NULL, &w.output, NULL));
    end(&w);
}

static void numbers_that_are_none_are_refused_by_name(const char *device) {
    job good_job = new_job(device);
    const double wrong[] = {(double)NAN, -(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        /* A NaN is an error even if the mode does not use the parameter. */
        for (uint32_t mode = 0; mode < 2; mode++) {
            for (uint32_t start = 0; start < 2; start++) {
                good_job.params.mode = mode;
                good_job.params.start = start;
                SPOILT(params->rho = wrong[i], ISOLINE_INVALID_ARGUMENT, "rho");
                SPOILT(params->time_step = wrong[i], ISOLINE_INVALID_ARGUMENT, "time_step");
                SPOILT(params->threshold = wrong[i], ISOLINE_INVALID_ARGUMENT, "threshold");
                SPOILT(params->start_min = wrong[i], ISOLINE_INVALID_ARGUMENT, "start_min");
                SPOILT(params->start_max = wrong[i], ISOLINE_INVALID_ARGUMENT, "start_max");
                SPOILT(params->tolerance = wrong[i], ISOLINE_INVALID_ARGUMENT, "tolerance");
            }
        }
    }
    end(&good_job);
}

static void numbers_out_of_range_are_refused_by_name(const char *device) {
    job good_job = new_job(device);
    SPOILT(params->rho = 0, ISOLINE_INVALID_ARGUMENT, "rho");
    SPOILT(params->rho = -64, ISOLINE_INVALID_ARGUMENT, "rho");
    SPOILT(params->rho = 1e-200, ISOLINE_INVALID_ARGUMENT, "rho");
    SPOILT(params->rho = 5e-324, ISOLINE_INVALID_ARGUMENT, "rho");
    const double small[] = {0.999e-18, 5e-20, 1e-100};
    for (uint32_t mode = 0; mode < 2; mode++) {
        for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
            SPOILT((params->rho = small[i], params->mode = mode), ISOLINE_INVALID_ARGUMENT, "rho must be at least 1e-18");
        }
    }
    SPOILT(params->time_step = -0.1, ISOLINE_INVALID_ARGUMENT, "time_step");
    SPOILT(params->time_step = 1e300, ISOLINE_INVALID_ARGUMENT, "time_step");
    SPOILT(params->iterations = 10000001, ISOLINE_INVALID_ARGUMENT, "iterations");
    SPOILT(params->iterations = UINT64_MAX, ISOLINE_INVALID_ARGUMENT, "iterations");
    SPOILT((params->start = ISOLINE_EDGE_STRENGTH_START_IMAGE, params->start_min = 10, params->start_max = 5),
           ISOLINE_INVALID_ARGUMENT, "start_m");
    SPOILT((params->start = ISOLINE_EDGE_STRENGTH_START_IMAGE, params->start_min = 7, params->start_max = 7),
           ISOLINE_INVALID_ARGUMENT, "start_m");
    good_job.params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    SPOILT(params->tolerance = 0, ISOLINE_INVALID_ARGUMENT, "tolerance");
    SPOILT(params->tolerance = 1, ISOLINE_INVALID_ARGUMENT, "tolerance");
    SPOILT(params->tolerance = -1e-5, ISOLINE_INVALID_ARGUMENT, "tolerance");
    SPOILT(params->max_cycles = 0, ISOLINE_INVALID_ARGUMENT, "max_cycles");
    SPOILT(params->max_cycles = 10000001, ISOLINE_INVALID_ARGUMENT, "max_cycles");
    SPOILT(params->max_cycles = UINT64_MAX, ISOLINE_INVALID_ARGUMENT, "max_cycles");
    end(&good_job);
}

static void a_time_step_over_the_limit_is_refused_with_the_limit(const char *device) {
    job good_job = new_job(device);
    const double rhos[] = {64, 2, 0.5};
    for (uint32_t dimensions = 2; dimensions <= 3; dimensions++) {
        for (size_t i = 0; i < sizeof rhos / sizeof rhos[0]; i++) {
            char limit[32];
            double exact = 1 / (2 * dimensions + 1 / (rhos[i] * rhos[i]));
            snprintf(limit, sizeof limit, "%.6f", exact);
            good_job.params.dimensions = dimensions;
            good_job.params.rho = rhos[i];
            SPOILT(params->time_step = exact * (1 + 1e-12), ISOLINE_INVALID_ARGUMENT, limit);
            CHECK_HAS(isoline_last_error(), "time_step");
            SPOILT(params->time_step = 0.26, ISOLINE_INVALID_ARGUMENT, limit);
        }
    }
    end(&good_job);
}

static void unknown_choices_are_refused_by_name(const char *device) {
    job good_job = new_job(device);
    const uint32_t dimensions[] = {0, 1, 4, UINT32_MAX};
    for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++) {
        SPOILT(params->dimensions = dimensions[i], ISOLINE_INVALID_ARGUMENT, "dimensions");
    }
    const uint32_t far[] = {0, 1, 250, UINT32_MAX - 10};
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        SPOILT(params->mode = ISOLINE_EDGE_STRENGTH_CONVERGED + 1 + far[i], ISOLINE_INVALID_ARGUMENT, "mode");
        SPOILT(params->foreground = ISOLINE_FOREGROUND_BELOW + 1 + far[i], ISOLINE_INVALID_ARGUMENT, "foreground");
        SPOILT(params->start = ISOLINE_EDGE_STRENGTH_START_IMAGE + 1 + far[i], ISOLINE_INVALID_ARGUMENT, "start");
        SPOILT(params->variant = ISOLINE_EDGE_STRENGTH_SCALAR + 1 + far[i], ISOLINE_INVALID_ARGUMENT, "variant");
    }
    end(&good_job);
}

static void structs_without_init_are_refused_before_any_work(const char *device) {
    job good_job = new_job(device);
    const uint32_t sizes[] = {0, 3, 4};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        SPOILT(params->struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "params->struct_size");
        SPOILT(work.report.struct_size = sizes[i], ISOLINE_INVALID_ARGUMENT, "report->struct_size");
    }
    SPOILT(params->struct_size = sizeof *params - 1, ISOLINE_INVALID_ARGUMENT, "params->struct_size");
    SPOILT(work.report.struct_size = sizeof work.report - 1, ISOLINE_INVALID_ARGUMENT, "report->struct_size");
    end(&good_job);
}

static void newer_params_are_accepted_while_the_rest_is_zero(const char *device) {
    job work = new_job(device);
    GOOD(run(&work));
    float *wanted = work.strength;
    work.strength = unwritten(COUNT);
    work.output.data = work.strength;
    struct {
        isoline_edge_strength_params known;
        double more[3];
    } newer = {work.params, {0, 0, 0}};
    newer.known.struct_size = sizeof newer;
    newer.more[2] = 1;
    REFUSED(isoline_edge_strength(work.context, &work.input, &newer.known, NULL, &work.output, NULL),
            ISOLINE_UNSUPPORTED, "params");
    CHECK_HAS(isoline_last_error(), "newer");
    CHECK(is_unwritten(work.strength, COUNT));
    newer.more[2] = 0;
    GOOD(isoline_edge_strength(work.context, &work.input, &newer.known, NULL, &work.output, NULL));
    CHECK(memcmp(wanted, work.strength, COUNT * sizeof(float)) == 0);
    free(wanted);
    end(&work);
}

static void the_rest_of_a_newer_report_is_left_alone(const char *device) {
    job work = new_job(device);
    struct {
        isoline_report known;
        unsigned char more[40];
        unsigned char guard[64];
    } newer, before;
    memset(&newer, 0xA5, sizeof newer);
    GOOD(isoline_report_init(&newer.known, sizeof newer.known + sizeof newer.more));
    before = newer;
    GOOD(isoline_edge_strength(work.context, &work.input, &work.params, NULL, &work.output, &newer.known));
    CHECK_NUMBER(newer.known.struct_size, sizeof newer.known + sizeof newer.more);
    CHECK_NUMBER(newer.known.iterations, 10);
    CHECK(memcmp(newer.more, before.more, sizeof newer.more + sizeof newer.guard) == 0);
    end(&work);
}

static void a_report_can_be_used_again(const char *device) {
    job work = new_job(device);
    GOOD(run(&work));
    CHECK_NUMBER(work.report.iterations, 10);
    work.params.iterations = 3;
    GOOD(run(&work));
    CHECK_NUMBER(work.report.iterations, 3);
    /* A failure leaves the report of the last success unchanged. */
    work.params.rho = 0;
    REFUSED(run(&work), ISOLINE_INVALID_ARGUMENT, "rho");
    CHECK_NUMBER(work.report.iterations, 3);
    end(&work);
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

static int cannot_limit_memory(const char *device) {
    (void)device;
    if (slow()) {
        skip("an instrument needs more memory than the test allows");
    }
    return slow();
}

static int go_on(void *user, double fraction, const char *stage) {
    (void)user, (void)fraction, (void)stage;
    return 0;
}

/* With it the CPU buffers the result until the callback can no longer cancel, and so needs a field. */
static isoline_progress that_goes_on(void) {
    isoline_progress progress;
    isoline_progress_init(&progress, sizeof progress);
    progress.callback = go_on;
    return progress;
}

static void want_of_memory_is_a_status(const char *device) {
    if (cannot_limit_memory(device)) {
        return;
    }
    enum { SIDE = 4096 };
    const uint64_t area = (uint64_t)SIDE * SIDE;
    isoline_context *context = open_context(device);
    uint8_t *pixels = (uint8_t *)allocate(area);
    float *strength = unwritten(area);
    memset(pixels, 0, area);
    /* The threads have run before, so that only the image needs memory. */
    isoline_image input = describe(ISOLINE_U8, 64, 64, 1, pixels);
    isoline_image output = describe(ISOLINE_F32, 64, 64, 1, strength);
    isoline_edge_strength_params params = for_drawing(5);
    GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL));
    /* Five iterations of an image are computed in the output. The field of the others needs 64 MiB, a mask 16. */
    allow_only(8 << 20);
    const isoline_progress progress = that_goes_on();
    const uint64_t sizes[][3] = {{SIDE, SIDE, 1}, {1024, 1024, 16}};
    for (size_t i = 0; i < 2; i++) {
        for (uint32_t option = 0; option < 8; option++) {
            input = describe(ISOLINE_U8, sizes[i][0], sizes[i][1], sizes[i][2], pixels);
            output = describe(ISOLINE_F32, sizes[i][0], sizes[i][1], sizes[i][2], strength);
            /* Six iterations of a volume are computed in the output, too, so that more are asked for. */
            params = for_drawing(i == 0 ? 5 : 9);
            params.dimensions = i == 0 ? 2 : 3;
            params.mode = option & 1;
            params.start = option >> 1 & 1;
            params.variant = option & 4 ? ISOLINE_EDGE_STRENGTH_SCALAR : ISOLINE_EDGE_STRENGTH_DEFAULT;
            isoline_report report = new_report(), before = report;
            if (i == 0 && !(option & 5)) {
                GOOD(isoline_edge_strength(context, &input, &params, &progress, &output, NULL));
                continue;
            }
            REFUSED(isoline_edge_strength(context, &input, &params, &progress, &output, &report),
                    ISOLINE_OUT_OF_MEMORY, "memory");
            CHECK(memcmp(&report, &before, sizeof report) == 0);
        }
    }
    /* A small call still fits. */
    input = describe(ISOLINE_U8, 64, 64, 1, pixels);
    output = describe(ISOLINE_F32, 64, 64, 1, strength);
    params = for_drawing(5);
    GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL));
    isoline_context_free(context);
    free(strength);
    free(pixels);
}

static void want_of_memory_on_the_way_is_a_status(const char *device) {
    /* The memory limit grows until the call succeeds: each allocation that fails before returns a status. */
    if (cannot_limit_memory(device)) {
        return;
    }
    /* The image is large because a thread's heap has up to 64 MiB of addresses that no limit reclaims. */
    enum { SIDE = 4096 };
    isoline_context *context = open_context(device);
    uint8_t *pixels = drawing(SIDE, SIDE, 1, 3);
    float *strength = unwritten(SIDE * SIDE);
    isoline_image input = describe(ISOLINE_U8, SIDE, SIDE, 1, pixels);
    isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, 1, strength);
    isoline_image small_input = describe(ISOLINE_U8, 64, 64, 1, pixels);
    isoline_image small_output = describe(ISOLINE_F32, 64, 64, 1, strength);
    isoline_edge_strength_params params = for_drawing(1);
    GOOD(isoline_edge_strength(context, &small_input, &params, NULL, &small_output, NULL));
    const isoline_progress progress = that_goes_on();
    const uint32_t ways[][2] = {{ISOLINE_EDGE_STRENGTH_ITERATIONS, ISOLINE_EDGE_STRENGTH_SCALAR},
                                {ISOLINE_EDGE_STRENGTH_CONVERGED, ISOLINE_EDGE_STRENGTH_DEFAULT}};
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        int refused = 0, done = 0;
        for (size_t mebibytes = 8; mebibytes <= 1024 && !done; mebibytes += 16) {
            struct rlimit limit;
            getrlimit(RLIMIT_AS, &limit);
            allow_only(mebibytes << 20);
            params.mode = ways[way][0];
            params.variant = ways[way][1];
            params.rho = 4;
            params.tolerance = 0.5;
            isoline_status status = isoline_edge_strength(context, &input, &params, &progress, &output, NULL);
            setrlimit(RLIMIT_AS, &limit);
            done = status == ISOLINE_OK;
            refused += status == ISOLINE_OUT_OF_MEMORY;
            if (!done) {
                REFUSED(status, ISOLINE_OUT_OF_MEMORY, "memory");
            }
        }
        CHECK(refused >= 1 && done);
    }
    free(strength);
    free(pixels);
    isoline_context_free(context);
}

static void want_of_memory_for_the_weights_is_a_status(const char *device) {
    /* The most iterations that are allowed need 40 MB for their centre weights. */
    if (cannot_limit_memory(device)) {
        return;
    }
    job work = new_job(device);
    GOOD(run(&work));
    allow_only(8 << 20);
    isoline_report before = work.report;
    work.params.iterations = 10000000;
    REFUSED(run(&work), ISOLINE_OUT_OF_MEMORY, "memory");
    CHECK(memcmp(&before, &work.report, sizeof before) == 0);
    work.params.iterations = 5;
    GOOD(run(&work));
    end(&work);
}

static void an_image_larger_than_memory_is_refused(const char *device) {
    /* Addresses for all pixels are reserved, so the description is true; memory for a field of that size is not. The output
     * must not be touched, and a program that does dies of it instead of filling the machine's memory. */
    if (cannot_limit_memory(device)) {
        return;
    }
    const uint64_t side = (uint64_t)1 << 17;
    struct rlimit all;
    getrlimit(RLIMIT_AS, &all);
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_AS, &all);
    const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *pixels = mmap(NULL, side * side, PROT_READ | PROT_WRITE, how, -1, 0);
    void *strength = mmap(NULL, side * side * sizeof(float), PROT_NONE, how, -1, 0);
    if (pixels == MAP_FAILED || strength == MAP_FAILED) {
        skip("the system does not give out addresses without memory");
        return;
    }
    isoline_context *context = open_context(device);
    isoline_image input = describe(ISOLINE_U8, side, side, 1, pixels);
    isoline_image output = describe(ISOLINE_F32, side, side, 1, strength);
    allow_only(64 << 20);
    const isoline_progress progress = that_goes_on();
    for (uint32_t mode = 0; mode < 2; mode++) {
        isoline_edge_strength_params params = for_drawing(5);
        params.mode = mode;
        REFUSED(isoline_edge_strength(context, &input, &params, NULL, &output, NULL), ISOLINE_OUT_OF_MEMORY, "memory");
        REFUSED(isoline_edge_strength(context, &input, &params, &progress, &output, NULL), ISOLINE_OUT_OF_MEMORY,
                "memory");
    }
    isoline_context_free(context);
}

static void a_memory_limit_refuses_or_moves_the_job(const char *device) {
    enum { SIDE = 1024 };
    uint8_t *pixels = drawing(SIDE, SIDE, 1, 3);
    float *strength = unwritten(SIDE * SIDE);
    isoline_image input = describe(ISOLINE_U8, SIDE, SIDE, 1, pixels);
    isoline_image output = describe(ISOLINE_F32, SIDE, SIDE, 1, strength);
    isoline_report report = new_report();
    isoline_context *named = open_context(device);
    GOOD(isoline_context_set_memory_limit(named, 1 << 20));
    REFUSED(isoline_edge_strength(named, &input, NULL, NULL, &output, NULL), ISOLINE_OUT_OF_MEMORY, "memory");
    CHECK(is_unwritten(strength, SIDE * SIDE));
    GOOD(isoline_context_set_memory_limit(named, 0));
    GOOD(isoline_edge_strength(named, &input, NULL, NULL, &output, &report));
    CHECK_NUMBER(report.device_kind, ISOLINE_DEVICE_CUDA);

    isoline_context *any = open_context("auto");
    GOOD(isoline_set_logger(note_warning, NULL, ISOLINE_LOG_WARN));
    GOOD(isoline_context_set_memory_limit(any, 1 << 20));
    GOOD(isoline_edge_strength(any, &input, NULL, NULL, &output, &report));
    CHECK_NUMBER(report.device_kind, ISOLINE_DEVICE_CPU);
    CHECK(warned >= 1);
    isoline_context_free(any);
    isoline_context_free(named);
    free(strength);
    free(pixels);
}

int main(void) {
    RUN_ON_EACH(null_params_are_the_defaults);
    RUN_ON_EACH(sizes_of_every_shape_match_the_definition);
    RUN_ON_EACH(every_parameter_does_what_the_header_says);
    RUN_ON_EACH(all_or_no_shape_is_all_1_or_all_0);
    RUN_ON_EACH(a_stack_is_its_slices);
    RUN_ON_EACH(a_start_from_the_input_scales_it);
    RUN_ON_EACH(strange_pixels_are_background_or_shape_as_documented);
    RUN_ON_EACH(every_variant_gives_the_same_pixels);
    RUN_ON_EACH(converged_is_the_steady_state_of_a_row);
    RUN_ON_EACH(a_volume_has_the_spacing_of_its_input);
    RUN_ON_EACH(converged_solves_the_equation_in_2d_and_3d);
    RUN_ON_EACH(converged_says_when_the_cycles_did_not_suffice);
    RUN_ON_EACH(converged_ends_when_its_changes_no_longer_fall);
    RUN_ON_EACH(the_report_is_honest);
    RUN_ON(auto_reports_where_it_ran, "auto");
    RUN_ON_EACH(null_is_refused_only_where_it_must_not_be);
    RUN_ON_EACH(numbers_that_are_none_are_refused_by_name);
    RUN_ON_EACH(numbers_out_of_range_are_refused_by_name);
    RUN_ON_EACH(a_time_step_over_the_limit_is_refused_with_the_limit);
    RUN_ON_EACH(unknown_choices_are_refused_by_name);
    RUN_ON_EACH(structs_without_init_are_refused_before_any_work);
    RUN_ON_EACH(newer_params_are_accepted_while_the_rest_is_zero);
    RUN_ON_EACH(the_rest_of_a_newer_report_is_left_alone);
    RUN_ON_EACH(a_report_can_be_used_again);
    RUN(want_of_memory_is_a_status);
    RUN(want_of_memory_on_the_way_is_a_status);
    RUN(want_of_memory_for_the_weights_is_a_status);
    RUN(an_image_larger_than_memory_is_refused);
    if (have_cuda()) {
        RUN_ON(cuda_and_cpu_give_the_same_bits, "cuda:0");
        RUN_ON(a_memory_limit_refuses_or_moves_the_job, "cuda:0");
    }
    return summary();
}
