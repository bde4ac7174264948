/* Descriptions of images: layouts that must work, and every description that must be refused, for input and output. */
#include "images.h"

#include <dlfcn.h>
#include <sys/mman.h>

enum { WIDTH = 24, HEIGHT = 10, DEPTH = 3, COUNT = WIDTH * HEIGHT * DEPTH };

/* A valid call, of which each test makes one argument invalid. */
typedef struct {
    isoline_context *context;
    uint8_t *pixels;
    float *strength;
    isoline_image input;
    isoline_image output;
} job;

static job new_job(const char *device) {
    job made;
    made.context = open_context(device);
    made.pixels = drawing(WIDTH, HEIGHT, DEPTH, 1);
    made.strength = unwritten(COUNT);
    made.input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, made.pixels);
    made.output = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, made.strength);
    return made;
}

static isoline_status run(job *work) {
    isoline_edge_strength_params params = for_drawing(10);
    return isoline_edge_strength(work->context, &work->input, &params, NULL, &work->output, NULL);
}

static void end(job *work) {
    free(work->strength);
    free(work->pixels);
    isoline_context_free(work->context);
}

/* The call of `work` is refused with `status`, naming the image and `word`; nothing is written. */
static void refused(job *work, const isoline_image *spoilt, isoline_status status, const char *word, const char *what) {
    const char *name = spoilt == &work->input ? "input" : "output";
    isoline_image input = work->input, output = work->output;
    int good = check_status(run(work), status, word, __FILE__, __LINE__, what);
    good = good && CHECK_HAS(isoline_last_error(), name);
    good = CHECK(is_unwritten(work->strength, COUNT)) && good;
    good = CHECK(memcmp(&input, &work->input, sizeof input) == 0) && good;
    good = CHECK(memcmp(&output, &work->output, sizeof output) == 0) && good;
    if (!good) {
        printf("       that was the %s with %s\n", name, what);
    }
}

/* Makes one field of the input invalid, then of the output. */
#define SPOILT(change, status, word)                                                                                   \
    do {                                                                                                               \
        for (int which = 0; which < 2; which++) {                                                                      \
            job work = good_job;                                                                                       \
            isoline_image *image = which == 0 ? &work.input : &work.output;                                            \
            change;                                                                                                    \
            refused(&work, image, (status), (word), #change);                                                          \
        }                                                                                                              \
    } while (0)

static void null_pixels_are_refused(const char *device) {
    job good_job = new_job(device);
    SPOILT(image->data = NULL, ISOLINE_NULL_POINTER, "data");
    end(&good_job);
}

static void zero_sizes_are_refused(const char *device) {
    job good_job = new_job(device);
    SPOILT(image->width = 0, ISOLINE_INVALID_SIZE, "one pixel");
    SPOILT(image->height = 0, ISOLINE_INVALID_SIZE, "one pixel");
    SPOILT(image->depth = 0, ISOLINE_INVALID_SIZE, "one pixel");
    end(&good_job);
}

static void sizes_that_overflow_are_refused(const char *device) {
    job good_job = new_job(device);
    const uint64_t huge = UINT64_MAX, half = (uint64_t)1 << 32, quarter = (uint64_t)1 << 62;
    SPOILT(image->width = huge, ISOLINE_INVALID_SIZE, "too large");
    SPOILT(image->height = huge, ISOLINE_INVALID_SIZE, "too large");
    SPOILT(image->depth = huge, ISOLINE_INVALID_SIZE, "too large");
    SPOILT((image->width = huge, image->height = huge, image->depth = huge), ISOLINE_INVALID_SIZE, "too large");
    /* Products that wrap round to 0 or to something small. */
    SPOILT((image->width = half, image->height = half), ISOLINE_INVALID_SIZE, "too large");
    SPOILT((image->height = half, image->depth = half), ISOLINE_INVALID_SIZE, "too large");
    SPOILT((image->width = half, image->depth = half), ISOLINE_INVALID_SIZE, "too large");
    SPOILT((image->width = half + 1, image->height = half - 1, image->depth = 1), ISOLINE_INVALID_SIZE, "too large");
    SPOILT((image->type = ISOLINE_F32, image->width = quarter), ISOLINE_INVALID_SIZE, "too large");
    SPOILT((image->type = ISOLINE_F32, image->width = quarter + 1, image->height = 1, image->depth = 1),
           ISOLINE_INVALID_SIZE, "too large");
    SPOILT((image->width = 1 << 21, image->height = 1 << 21, image->depth = (uint64_t)1 << 22), ISOLINE_INVALID_SIZE,
           "too large");
    /* Sizes that fit, at an address where they do not. */
    SPOILT(image->data = (void *)(UINTPTR_MAX - 63), ISOLINE_INVALID_SIZE, "too large");
    end(&good_job);
}

static void strides_that_do_not_fit_are_refused(const char *device) {
    job good_job = new_job(device);
    for (int which = 0; which < 2; which++) {
        job work = good_job;
        isoline_image *image = which == 0 ? &work.input : &work.output;
        const uint64_t row = WIDTH * (which == 0 ? 1 : sizeof(float));
        image->row_stride = row - (which == 0 ? 1 : sizeof(float));
        refused(&work, image, ISOLINE_INVALID_SIZE, "row_stride", "a row_stride one pixel too small");
        image->row_stride = which == 0 ? 1 : sizeof(float);
        refused(&work, image, ISOLINE_INVALID_SIZE, "row_stride", "a row_stride of one pixel");
    }
    const uint64_t huge = UINT64_MAX - 3;
    SPOILT(image->row_stride = huge, ISOLINE_INVALID_SIZE, "negative");
    SPOILT(image->slice_stride = huge, ISOLINE_INVALID_SIZE, "negative");
    SPOILT(image->row_stride = (uint64_t)1 << 63, ISOLINE_INVALID_SIZE, "negative");
    SPOILT(image->slice_stride = (uint64_t)1 << 63, ISOLINE_INVALID_SIZE, "negative");
    SPOILT((image->row_stride = (uint64_t)1 << 61, image->slice_stride = 4096), ISOLINE_INVALID_SIZE, "too large");
    SPOILT((image->row_stride = 4096, image->slice_stride = (uint64_t)1 << 62), ISOLINE_INVALID_SIZE, "too large");
    /* A caller with negative strides might pass these. */
    SPOILT(image->row_stride = (uint64_t)-4096, ISOLINE_INVALID_SIZE, "negative");
    SPOILT(image->slice_stride = (uint64_t)-4096, ISOLINE_INVALID_SIZE, "negative");
    end(&good_job);
}

static void strides_between_pixels_are_refused(const char *device) {
    job good_job = new_job(device);
    uint8_t *bytes = (uint8_t *)allocate(COUNT * 8);
    memset(bytes, 0, COUNT * 8);
    for (uint32_t type = ISOLINE_U16; type <= ISOLINE_F32; type++) {
        job work = good_job;
        const uint64_t pixel = type == ISOLINE_U16 ? 2 : 4;
        work.input.type = (uint32_t)type;
        work.input.data = bytes;
        work.input.row_stride = WIDTH * pixel + 1;
        refused(&work, &work.input, ISOLINE_INVALID_SIZE, "row_stride", "a row_stride between pixels");
        work.input.row_stride = 0;
        work.input.slice_stride = WIDTH * HEIGHT * pixel + 1;
        refused(&work, &work.input, ISOLINE_INVALID_SIZE, "slice_stride", "a slice_stride between pixels");
    }
    for (uint64_t odd = 1; odd < 4; odd++) {
        job work = good_job;
        work.output.row_stride = WIDTH * sizeof(float) + odd;
        refused(&work, &work.output, ISOLINE_INVALID_SIZE, "row_stride", "a row_stride between pixels");
        work.output.row_stride = 0;
        work.output.slice_stride = WIDTH * HEIGHT * sizeof(float) + odd;
        refused(&work, &work.output, ISOLINE_INVALID_SIZE, "slice_stride", "a slice_stride between pixels");
    }
    free(bytes);
    end(&good_job);
}

static void misaligned_pixels_are_refused(const char *device) {
    job good_job = new_job(device);
    uint8_t *bytes = (uint8_t *)allocate(COUNT * 8);
    memset(bytes, 0, COUNT * 8);
    for (int off = 1; off < 4; off++) {
        job work = good_job;
        work.input.data = bytes + off;
        work.input.type = ISOLINE_F32;
        refused(&work, &work.input, ISOLINE_INVALID_ARGUMENT, "aligned", "f32 off its alignment");
        if (off % 2 == 1) {
            work.input.type = ISOLINE_U16;
            refused(&work, &work.input, ISOLINE_INVALID_ARGUMENT, "aligned", "u16 off its alignment");
        }
        work = good_job;
        work.output.data = (uint8_t *)work.strength + off;
        refused(&work, &work.output, ISOLINE_INVALID_ARGUMENT, "aligned", "f32 off its alignment");
    }
    free(bytes);
    end(&good_job);
}

static void unknown_types_are_refused(const char *device) {
    job good_job = new_job(device);
    SPOILT(image->type = 3, ISOLINE_INVALID_TYPE, "type");
    SPOILT(image->type = 7, ISOLINE_INVALID_TYPE, "7");
    SPOILT(image->type = UINT32_MAX, ISOLINE_INVALID_TYPE, "type");
    end(&good_job);
}

static void an_output_must_be_f32(const char *device) {
    job work = new_job(device);
    work.output.type = ISOLINE_U8;
    refused(&work, &work.output, ISOLINE_INVALID_TYPE, "ISOLINE_F32", "type u8");
    work.output.type = ISOLINE_U16;
    refused(&work, &work.output, ISOLINE_INVALID_TYPE, "ISOLINE_F32", "type u16");
    end(&work);
}

static void unknown_memory_is_refused(const char *device) {
    job good_job = new_job(device);
    SPOILT(image->memory = 3, ISOLINE_INVALID_ARGUMENT, "memory");
    SPOILT(image->memory = UINT32_MAX, ISOLINE_INVALID_ARGUMENT, "memory");
    end(&good_job);
}

static void reserved_must_be_zero(const char *device) {
    job good_job = new_job(device);
    SPOILT(image->reserved = 1, ISOLINE_INVALID_ARGUMENT, "reserved");
    SPOILT(image->reserved = (uint32_t)1 << 31, ISOLINE_INVALID_ARGUMENT, "reserved");
    end(&good_job);
}

static void spacing_must_be_positive_and_finite(const char *device) {
    job good_job = new_job(device);
    const double wrong[] = {0, -0.0, -1, (double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int axis = 0; axis < 3; axis++) {
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            SPOILT(image->spacing[axis] = wrong[i], ISOLINE_INVALID_ARGUMENT, "spacing");
        }
    }
    SPOILT(image->spacing[0] = -1e300, ISOLINE_INVALID_ARGUMENT, "it is -1e300");
    end(&good_job);
}

static void spacing_does_not_change_the_result(const char *device) {
    job work = new_job(device);
    GOOD(run(&work));
    float *plain = work.strength;
    work.strength = unwritten(COUNT);
    work.output.data = work.strength;
    work.input.spacing[0] = 0.25;
    work.input.spacing[1] = 1e-9;
    work.input.spacing[2] = 1e9;
    GOOD(run(&work));
    CHECK(memcmp(plain, work.strength, COUNT * sizeof(float)) == 0);
    free(plain);
    end(&work);
}

static void a_description_that_is_too_small_is_refused(const char *device) {
    job good_job = new_job(device);
    SPOILT(image->struct_size = 0, ISOLINE_INVALID_ARGUMENT, "struct_size");
    SPOILT(image->struct_size = 3, ISOLINE_INVALID_ARGUMENT, "struct_size");
    SPOILT(image->struct_size = sizeof(isoline_image) - 1, ISOLINE_INVALID_ARGUMENT, "struct_size");
    end(&good_job);
}

/* A description as a newer header might have it. */
typedef struct {
    isoline_image known;
    uint64_t more[3];
} newer_image;

static void a_newer_description_is_accepted_while_the_rest_is_zero(const char *device) {
    job work = new_job(device);
    isoline_edge_strength_params params = for_drawing(10);
    newer_image newer[2] = {{work.input, {0, 0, 0}}, {work.output, {0, 0, 0}}};
    newer[0].known.struct_size = newer[1].known.struct_size = sizeof newer[0];
    GOOD(isoline_edge_strength(work.context, &newer[0].known, &params, NULL, &newer[1].known, NULL));
    CHECK(!is_unwritten(work.strength, COUNT));
    for (int which = 0; which < 2; which++) {
        float *again = unwritten(COUNT);
        newer[1].known.data = again;
        /* The very last byte counts too. */
        ((unsigned char *)&newer[which])[sizeof newer[which] - 1] = 1;
        REFUSED(isoline_edge_strength(work.context, &newer[0].known, &params, NULL, &newer[1].known, NULL),
                ISOLINE_UNSUPPORTED, which == 0 ? "input" : "output");
        CHECK_HAS(isoline_last_error(), "newer");
        CHECK(is_unwritten(again, COUNT));
        newer[which].more[2] = 0;
        free(again);
    }
    end(&work);
}

static void sizes_must_match(const char *device) {
    job good_job = new_job(device);
    for (int axis = 0; axis < 3; axis++) {
        job work = good_job;
        uint64_t *size = axis == 0 ? &work.output.width : axis == 1 ? &work.output.height : &work.output.depth;
        *size -= 1;
        refused(&work, &work.output, ISOLINE_INVALID_SIZE, "size", "another size");
    }
    end(&good_job);
}

static void shared_memory_is_refused(const char *device) {
    isoline_context *context = open_context(device);
    isoline_edge_strength_params params = for_drawing(5);
    float *pixels = unwritten(4 * COUNT);
    float *middle = pixels + COUNT;
    /* The offsets of the input before the output, in pixels: the same pixels, partial overlaps, the last pixel only. */
    const long shifts[] = {0, 1, -1, WIDTH, -WIDTH, COUNT - 1, -(COUNT - 1)};
    for (size_t i = 0; i < sizeof shifts / sizeof shifts[0]; i++) {
        isoline_image input = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, middle + shifts[i]);
        isoline_image output = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, middle);
        REFUSED(isoline_edge_strength(context, &input, &params, NULL, &output, NULL), ISOLINE_OVERLAP, "input");
        CHECK(is_unwritten(pixels, 4 * COUNT));
    }
    /* 8-bit pixels in the first, in a middle and in the last byte of the output. */
    const long bytes[] = {-(COUNT - 1), 0, 77, COUNT * (long)sizeof(float) - 1};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        isoline_image input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, (uint8_t *)middle + bytes[i]);
        isoline_image output = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, middle);
        REFUSED(isoline_edge_strength(context, &input, &params, NULL, &output, NULL), ISOLINE_OVERLAP, "input");
        CHECK(is_unwritten(pixels, 4 * COUNT));
    }
    free(pixels);
    isoline_context_free(context);
}

static void an_output_that_overlaps_itself_is_refused(const char *device) {
    job work = new_job(device);
    work.output.slice_stride = WIDTH * (HEIGHT - 1) * sizeof(float);
    refused(&work, &work.output, ISOLINE_OVERLAP, "overlap", "slices that overlap by a row");
    work.output.slice_stride = sizeof(float);
    refused(&work, &work.output, ISOLINE_OVERLAP, "overlap", "slices that overlap but for a pixel");
    end(&work);
}

static void neighbours_in_memory_do_not_overlap(const char *device) {
    isoline_context *context = open_context(device);
    isoline_edge_strength_params params = for_drawing(5);
    float *pixels = unwritten(3 * COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        pixels[i] = pixels[2 * COUNT + i] = i % 17 == 0 ? 255 : 0;
    }
    isoline_image output = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, pixels + COUNT);
    for (int behind = 0; behind < 2; behind++) {
        isoline_image input = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, pixels + (behind ? 2 * COUNT : 0));
        GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL));
        CHECK(!is_unwritten(pixels + COUNT, COUNT));
    }
    CHECK(memcmp(pixels, pixels + 2 * COUNT, COUNT * sizeof(float)) == 0);
    free(pixels);
    isoline_context_free(context);
}

static void slices_in_turns_do_not_overlap(const char *device) {
    /* Input and output are two channels of a film: their slices alternate. */
    isoline_context *context = open_context(device);
    isoline_edge_strength_params params = for_drawing(5);
    const size_t slice = COUNT / DEPTH;
    float *film = unwritten(2 * COUNT), *packed = unwritten(COUNT), *wanted = unwritten(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        packed[i] = i % 23 == 0 ? 255 : 0;
        film[i / slice * 2 * slice + i % slice] = packed[i];
    }
    isoline_image plain = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, packed);
    isoline_image result = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, wanted);
    GOOD(isoline_edge_strength(context, &plain, &params, NULL, &result, NULL));
    isoline_image input = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, film);
    isoline_image output = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, film + slice);
    input.slice_stride = output.slice_stride = 2 * slice * sizeof(float);
    if (GOOD(isoline_edge_strength(context, &input, &params, NULL, &output, NULL))) {
        for (size_t z = 0; z < DEPTH; z++) {
            CHECK(memcmp(film + 2 * z * slice, packed + z * slice, slice * sizeof(float)) == 0);
            CHECK(memcmp(film + (2 * z + 1) * slice, wanted + z * slice, slice * sizeof(float)) == 0);
        }
        /* A pixel before, and each slice shares the input's last one. */
        output.data = film + slice - 1;
        REFUSED(isoline_edge_strength(context, &input, &params, NULL, &output, NULL), ISOLINE_OVERLAP, "input");
        /* A pixel behind, and each but the last shares the next one's first. */
        output.data = film + slice + 1;
        output.depth = input.depth = DEPTH - 1;
        REFUSED(isoline_edge_strength(context, &input, &params, NULL, &output, NULL), ISOLINE_OVERLAP, "input");
    }
    free(wanted);
    free(packed);
    free(film);
    isoline_context_free(context);
}

static void crops_side_by_side_do_not_overlap(const char *device) {
    /* Input and output are the left and the right half of one canvas: their rows alternate, no pixel is shared. */
    isoline_context *context = open_context(device);
    isoline_edge_strength_params params = for_drawing(20);
    float *canvas = unwritten(2 * COUNT), *packed = unwritten(COUNT), *wanted = unwritten(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        packed[i] = i % 23 == 0 ? 255 : 0;
        canvas[i / WIDTH * 2 * WIDTH + i % WIDTH] = packed[i];
    }
    isoline_image plain = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, packed);
    isoline_image result = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, wanted);
    GOOD(isoline_edge_strength(context, &plain, &params, NULL, &result, NULL));
    isoline_image left = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, canvas);
    isoline_image right = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, canvas + WIDTH);
    left.row_stride = right.row_stride = 2 * WIDTH * sizeof(float);
    if (GOOD(isoline_edge_strength(context, &left, &params, NULL, &right, NULL))) {
        for (size_t row = 0; row < HEIGHT * DEPTH; row++) {
            CHECK(memcmp(canvas + 2 * row * WIDTH, packed + row * WIDTH, WIDTH * sizeof(float)) == 0);
            CHECK(memcmp(canvas + (2 * row + 1) * WIDTH, wanted + row * WIDTH, WIDTH * sizeof(float)) == 0);
        }
        /* One pixel further to the left and each row shares one with the input's. */
        right.data = canvas + WIDTH - 1;
        REFUSED(isoline_edge_strength(context, &left, &params, NULL, &right, NULL), ISOLINE_OVERLAP, "input");
        /* One further to the right and the end of each row is the start of the input's next. */
        right.data = canvas + WIDTH + 1;
        left.height = right.height = HEIGHT * DEPTH - 1;
        left.depth = right.depth = 1;
        REFUSED(isoline_edge_strength(context, &left, &params, NULL, &right, NULL), ISOLINE_OVERLAP, "input");
    }
    free(wanted);
    free(packed);
    free(canvas);
    isoline_context_free(context);
}

/* One pixel of each type from one 8-bit value. */
static void store(void *at, uint32_t type, uint8_t value) {
    if (type == ISOLINE_U8) {
        *(uint8_t *)at = value;
    } else if (type == ISOLINE_U16) {
        *(uint16_t *)at = value;
    } else {
        *(float *)at = value;
    }
}

static void any_layout_of_any_type_gives_the_same_pixels(const char *device) {
    job work = new_job(device);
    GOOD(run(&work));
    /* Rows and slices apart, and a crop that starts inside: what lies between is never set, so that the instruments
     * see a read of it, and the guard of the output shows a write. */
    const size_t outer_width = WIDTH + 7, outer_height = HEIGHT + 3, left = 5, top = 2;
    const size_t outer = outer_width * outer_height * DEPTH;
    const size_t pixel_bytes[] = {1, 2, 4};
    for (uint32_t type = ISOLINE_U8; type <= ISOLINE_F32; type++) {
        const size_t bytes = pixel_bytes[type];
        uint8_t *memory = (uint8_t *)allocate(outer * bytes);
        uint8_t *first = memory + (top * outer_width + left) * bytes;
        float *strength = unwritten(outer);
        for (size_t i = 0; i < COUNT; i++) {
            size_t at = (i / WIDTH / HEIGHT * outer_height + i / WIDTH % HEIGHT) * outer_width + i % WIDTH;
            store(first + at * bytes, type, work.pixels[i]);
        }
        isoline_edge_strength_params params = for_drawing(10);
        isoline_image input = describe(type, WIDTH, HEIGHT, DEPTH, first);
        isoline_image output = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, strength + top * outer_width + left);
        input.row_stride = outer_width * bytes;
        input.slice_stride = outer_width * outer_height * bytes;
        output.row_stride = outer_width * sizeof(float);
        output.slice_stride = outer_width * outer_height * sizeof(float);
        GOOD(isoline_edge_strength(work.context, &input, &params, NULL, &output, NULL));
        size_t wrong = 0;
        for (size_t i = 0; i < outer; i++) {
            size_t x = i % outer_width - left, y = i / outer_width % outer_height - top;
            size_t z = i / outer_width / outer_height;
            int inside = x < WIDTH && y < HEIGHT;
            wrong += strength[i] != (inside ? work.strength[(z * HEIGHT + y) * WIDTH + x] : UNWRITTEN);
        }
        CHECK_NUMBER(wrong, 0);
        free(strength);
        free(memory);
    }
    end(&work);
}

static void slices_of_an_input_may_lie_in_any_order(const char *device) {
    /* Interleaved slices (row 0 of every slice, then row 1, ...) and a sliding window: reading shares nothing badly. */
    job work = new_job(device);
    GOOD(run(&work));
    uint8_t *interleaved = (uint8_t *)allocate(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        size_t x = i % WIDTH, y = i / WIDTH % HEIGHT, z = i / WIDTH / HEIGHT;
        interleaved[(y * DEPTH + z) * WIDTH + x] = work.pixels[i];
    }
    isoline_edge_strength_params params = for_drawing(10);
    float *strength = unwritten(COUNT);
    isoline_image input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, interleaved);
    isoline_image output = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, strength);
    input.row_stride = WIDTH * DEPTH;
    input.slice_stride = WIDTH;
    GOOD(isoline_edge_strength(work.context, &input, &params, NULL, &output, NULL));
    CHECK(memcmp(strength, work.strength, COUNT * sizeof(float)) == 0);

    /* The slice z starts at row z. */
    input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, work.pixels);
    input.slice_stride = WIDTH;
    GOOD(isoline_edge_strength(work.context, &input, &params, NULL, &output, NULL));
    for (size_t z = 0; z < DEPTH; z++) {
        float *alone = unwritten(WIDTH * HEIGHT);
        isoline_image one = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, work.pixels + z * WIDTH);
        isoline_image result = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, alone);
        GOOD(isoline_edge_strength(work.context, &one, &params, NULL, &result, NULL));
        CHECK(memcmp(alone, strength + z * WIDTH * HEIGHT, WIDTH * HEIGHT * sizeof(float)) == 0);
        free(alone);
    }
    free(strength);
    free(interleaved);
    end(&work);
}

static void strides_of_single_rows_and_slices_do_not_matter(const char *device) {
    job work = new_job(device);
    isoline_edge_strength_params params = for_drawing(10);
    float *wanted = unwritten(COUNT);
    isoline_image plain = describe(ISOLINE_F32, COUNT, 1, 1, wanted);
    work.input = describe(ISOLINE_U8, COUNT, 1, 1, work.pixels);
    GOOD(isoline_edge_strength(work.context, &work.input, &params, NULL, &plain, NULL));
    work.output = describe(ISOLINE_F32, COUNT, 1, 1, work.strength);
    work.input.row_stride = work.output.row_stride = 4;
    work.input.slice_stride = work.output.slice_stride = 8;
    GOOD(isoline_edge_strength(work.context, &work.input, &params, NULL, &work.output, NULL));
    CHECK(memcmp(wanted, work.strength, COUNT * sizeof(float)) == 0);
    free(wanted);
    end(&work);
}

static void descriptions_and_input_are_only_read(const char *device) {
    /* The memory cannot be written: a write crashes, which fails the test. */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages = (uint8_t *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!CHECK((void *)pages != MAP_FAILED)) {
        return;
    }
    job work = new_job(device);
    typedef struct {
        isoline_image input, output;
        isoline_edge_strength_params params;
        isoline_progress progress;
    } descriptions;
    descriptions *described = (descriptions *)(void *)pages;
    uint8_t *pixels = pages + page;
    memcpy(pixels, work.pixels, COUNT);
    described->input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, pixels);
    described->output = work.output;
    described->params = for_drawing(10);
    GOOD(isoline_progress_init(&described->progress, sizeof described->progress));
    mprotect(pages, 2 * page, PROT_READ);
    GOOD(isoline_edge_strength(work.context, &described->input, &described->params, &described->progress,
                               &described->output, NULL));
    munmap(pages, 2 * page);
    end(&work);
}

static void cuda_pixels_need_a_cuda_context(const char *device) {
    job good_job = new_job(device);
    for (int which = 0; which < 2; which++) {
        job work = good_job;
        (which == 0 ? &work.input : &work.output)->memory = ISOLINE_CUDA;
        REFUSED(run(&work), ISOLINE_UNSUPPORTED, "CUDA memory");
        CHECK(is_unwritten(work.strength, COUNT));
    }
    good_job.input.memory = good_job.output.memory = ISOLINE_CUDA;
    REFUSED(run(&good_job), ISOLINE_UNSUPPORTED, "CUDA memory");
    end(&good_job);
}

/* The functions of the driver that the test of device memory needs, loaded at run time so that it runs without one. */
typedef struct {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*use)(void *);
    int (*allocate)(uint64_t *, size_t);
    int (*to_device)(uint64_t, const void *, size_t);
    int (*to_host)(void *, uint64_t, size_t);
    int (*release)(uint64_t);
} driver;

static int load_driver(driver *cuda) {
    const char *const names[] = {"cuInit",          "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemAlloc_v2",
                                 "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",          "cuMemFree_v2"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; library != NULL && i < sizeof names / sizeof names[0]; i++) {
        /* POSIX lets a function's address travel as void *; C alone does not, hence the copy. */
        void *address = dlsym(library, names[i]);
        if (address == NULL) {
            return 0;
        }
        memcpy((char *)cuda + i * sizeof address, &address, sizeof address);
    }
    return library != NULL;
}

static void pixels_may_be_in_cuda_memory(const char *device) {
    driver cuda;
    void *context = NULL;
    job work = new_job(device);
    uint64_t d_pixels = 0, d_strength = 0;
    if (!CHECK(load_driver(&cuda)) || !CHECK(cuda.init(0) == 0) || !CHECK(cuda.retain(&context, 0) == 0) ||
        !CHECK(cuda.use(context) == 0) || !CHECK(cuda.allocate(&d_pixels, COUNT) == 0) ||
        !CHECK(cuda.allocate(&d_strength, COUNT * sizeof(float)) == 0)) {
        return;
    }
    GOOD(run(&work));
    float *wanted = work.strength;
    for (int places = 1; places < 4; places++) {
        work.strength = unwritten(COUNT);
        CHECK_NUMBER(cuda.to_device(d_pixels, work.pixels, COUNT), 0);
        CHECK_NUMBER(cuda.to_device(d_strength, work.strength, COUNT * sizeof(float)), 0);
        work.input.memory = places & 1 ? ISOLINE_CUDA : ISOLINE_HOST;
        work.input.data = places & 1 ? (void *)(uintptr_t)d_pixels : work.pixels;
        work.output.memory = places & 2 ? ISOLINE_CUDA : ISOLINE_HOST;
        work.output.data = places & 2 ? (void *)(uintptr_t)d_strength : work.strength;
        GOOD(run(&work));
        if (places & 2) {
            CHECK_NUMBER(cuda.to_host(work.strength, d_strength, COUNT * sizeof(float)), 0);
        }
        CHECK(memcmp(wanted, work.strength, COUNT * sizeof(float)) == 0);
        free(work.strength);
    }
    work.strength = wanted;
    /* An output that is the input is refused on the device too. */
    work.input = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, (void *)(uintptr_t)d_strength);
    work.input.memory = ISOLINE_CUDA;
    REFUSED(run(&work), ISOLINE_OVERLAP, "input");
    CHECK_NUMBER(cuda.release(d_pixels), 0);
    CHECK_NUMBER(cuda.release(d_strength), 0);
    end(&work);
}

int main(void) {
    RUN_ON_EACH(any_layout_of_any_type_gives_the_same_pixels);
    RUN_ON_EACH(slices_of_an_input_may_lie_in_any_order);
    RUN_ON_EACH(strides_of_single_rows_and_slices_do_not_matter);
    RUN_ON_EACH(neighbours_in_memory_do_not_overlap);
    RUN_ON_EACH(crops_side_by_side_do_not_overlap);
    RUN_ON_EACH(slices_in_turns_do_not_overlap);
    RUN_ON_EACH(spacing_does_not_change_the_result);
    RUN_ON_EACH(descriptions_and_input_are_only_read);
    RUN_ON_EACH(a_newer_description_is_accepted_while_the_rest_is_zero);
    RUN_ON_EACH(null_pixels_are_refused);
    RUN_ON_EACH(zero_sizes_are_refused);
    RUN_ON_EACH(sizes_that_overflow_are_refused);
    RUN_ON_EACH(strides_that_do_not_fit_are_refused);
    RUN_ON_EACH(strides_between_pixels_are_refused);
    RUN_ON_EACH(misaligned_pixels_are_refused);
    RUN_ON_EACH(unknown_types_are_refused);
    RUN_ON_EACH(an_output_must_be_f32);
    RUN_ON_EACH(unknown_memory_is_refused);
    RUN_ON_EACH(reserved_must_be_zero);
    RUN_ON_EACH(spacing_must_be_positive_and_finite);
    RUN_ON_EACH(a_description_that_is_too_small_is_refused);
    RUN_ON_EACH(sizes_must_match);
    RUN_ON_EACH(shared_memory_is_refused);
    RUN_ON_EACH(an_output_that_overlaps_itself_is_refused);
    RUN(cuda_pixels_need_a_cuda_context);
    if (have_cuda()) {
        RUN_ON(pixels_may_be_in_cuda_memory, "cuda:0");
    }
    return summary();
}
