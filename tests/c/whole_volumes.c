/*
 * Calls that need all slices of a volume at a time, with images that callbacks read and write (ISOLINE_SLICES): the results
 * of the call on memory, and callbacks that fail, cancel or call the library.
 */
#include "slices.h"

/* Calls on whole volumes read all slices of the input first, and write those of the output at the end. */
static void whole_volumes_are_those_from_memory(const char *device) {
    job work;
    begin(&work, device);
    const isoline_image input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, work.drawn);
    uint8_t *masks[2] = {(uint8_t *)allocate(COUNT), (uint8_t *)allocate(COUNT)};
    float *fields[4] = {unwritten(COUNT), work.strength, unwritten(COUNT), unwritten(COUNT)};
    isoline_edge_strength_params volume = for_drawing(10);
    volume.dimensions = 3;
    volume.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    isoline_level_set_params band;
    GOOD(isoline_level_set_params_init(&band, sizeof band));
    band.iterations = 5;
    for (int i = 0; i < 2; i++) {
        tape to_mask = new_tape(masks[i], 1);
        const isoline_image mask =
            i == 0 ? describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, masks[i]) : streamed(ISOLINE_U8, &to_mask);
        tape to_phi = new_tape(fields[2 + i], sizeof(float));
        const isoline_image phi =
            i == 0 ? describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, fields[2]) : streamed(ISOLINE_F32, &to_phi);
        const isoline_image field = i == 0 ? describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, fields[i]) : work.output;
        const isoline_image *from = i == 0 ? &input : &work.input;
        GOOD(isoline_edge_strength(work.context, from, &volume, NULL, &field, NULL));
        isoline_level_set *surface = NULL;
        rewind_tapes(&work);
        GOOD(isoline_level_set_new(work.context, from, &input, NULL, &surface));
        GOOD(isoline_level_set_read_phi(surface, &phi));
        GOOD(isoline_level_set_read_mask(surface, &mask));
        isoline_level_set_free(surface);
        rewind_tapes(&work);
        to_mask.calls = 0;
        GOOD(isoline_level_set_run(work.context, from, &input, &band, NULL, &mask, NULL));
        CHECK(i == 0 || (to_mask.calls == DEPTH && work.from.calls == DEPTH));
        rewind_tapes(&work);
        to_mask.calls = 0;
        isoline_object_list *found = NULL;
        GOOD(isoline_objects(work.context, &input, from, NULL, NULL, &mask, &found, NULL));
        isoline_object_list_free(found);
    }
    CHECK(memcmp(masks[0], masks[1], COUNT) == 0);
    CHECK(memcmp(fields[0], fields[1], COUNT * sizeof(float)) == 0);
    CHECK(memcmp(fields[2], fields[3], COUNT * sizeof(float)) == 0);
    for (int i = 0; i < 2; i++) {
        free(masks[i]);
        free(fields[2 * i]);
    }
    free(fields[3]);
    end(&work);
}

/* A call with one image of slices, whose tape `slices` is. */
typedef struct {
    job work;
    isoline_level_set *surface;
    isoline_image input, mask, field;
    tape slices;
    isoline_level_set *made;
    isoline_object_list *found;
} volume_job;

static isoline_status new_with_input(volume_job *all) {
    const isoline_image from = streamed(ISOLINE_U8, &all->slices);
    return isoline_level_set_new(all->work.context, &from, &all->input, NULL, &all->made);
}

static isoline_status new_with_mask(volume_job *all) {
    const isoline_image from = streamed(ISOLINE_U8, &all->slices);
    return isoline_level_set_new(all->work.context, &all->input, &from, NULL, &all->made);
}

static isoline_status write_phi(volume_job *all) {
    const isoline_image from = streamed(ISOLINE_F32, &all->slices);
    return isoline_level_set_write_phi(all->surface, &from);
}

static isoline_status read_phi(volume_job *all) {
    const isoline_image to = streamed(ISOLINE_F32, &all->slices);
    return isoline_level_set_read_phi(all->surface, &to);
}

static isoline_status read_mask(volume_job *all) {
    const isoline_image to = streamed(ISOLINE_U8, &all->slices);
    return isoline_level_set_read_mask(all->surface, &to);
}

static isoline_status objects_of_input(volume_job *all) {
    const isoline_image from = streamed(ISOLINE_U8, &all->slices);
    return isoline_objects(all->work.context, &from, &all->input, NULL, NULL, &all->mask, &all->found, NULL);
}

static isoline_status objects_from_starts(volume_job *all) {
    const isoline_image from = streamed(ISOLINE_U8, &all->slices);
    return isoline_objects(all->work.context, &all->input, &from, NULL, NULL, &all->mask, &all->found, NULL);
}

static isoline_status labels_of_objects(volume_job *all) {
    const isoline_image to = streamed(ISOLINE_U8, &all->slices);
    return isoline_objects(all->work.context, &all->input, &all->input, NULL, NULL, &to, &all->found, NULL);
}

static isoline_status converged(volume_job *all) {
    const isoline_image from = streamed(ISOLINE_U8, &all->slices);
    isoline_edge_strength_params params = for_drawing(10);
    params.dimensions = 3;
    params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    return isoline_edge_strength(all->work.context, &from, &params, NULL, &all->field, NULL);
}

static const struct {
    const char *name;
    isoline_status (*run)(volume_job *all);
    uint64_t pixel_bytes;
    /* The slices are those of an output, which a callback writes. */
    int writes;
} CALLS[] = {
    {"new, input", new_with_input, 1, 0},  {"new, mask", new_with_mask, 1, 0},       {"write phi", write_phi, 4, 0},
    {"read phi", read_phi, 4, 1},          {"read mask", read_mask, 1, 1},           {"objects", objects_of_input, 1, 0},
    {"starts", objects_from_starts, 1, 0}, {"labels", labels_of_objects, 1, 1},      {"converged", converged, 1, 0},
};

/* Runs a call whose callback does something at the slice `when`, and frees what it has made. */
static isoline_status run_call(volume_job *all, size_t call, uint64_t when, const char *sentence, isoline_context *context) {
    void *pixels = CALLS[call].pixel_bytes == 4 ? (void *)all->work.strength : (void *)all->work.drawn;
    void *out = allocate(COUNT * sizeof(float));
    all->slices = new_tape(CALLS[call].writes ? out : pixels, CALLS[call].pixel_bytes);
    all->slices.when = when;
    all->slices.sentence = sentence;
    all->slices.context = context;
    const isoline_status status = CALLS[call].run(all);
    isoline_level_set_free(all->made);
    isoline_object_list_free(all->found);
    all->made = NULL;
    all->found = NULL;
    free(out);
    return status;
}

static void callbacks_end_calls_on_whole_volumes(const char *device) {
    volume_job all;
    memset(&all, 0, sizeof all);
    begin(&all.work, device);
    uint8_t *mask = (uint8_t *)allocate(COUNT);
    float *field = unwritten(COUNT), *phi = unwritten(COUNT), *before = unwritten(COUNT);
    all.input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, all.work.drawn);
    all.mask = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, mask);
    all.field = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, field);
    const isoline_image to_phi = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, phi);
    const isoline_image to_before = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, before);
    for (int i = 0; i < COUNT; i++) {
        all.work.strength[i] = (float)(i % WIDTH) - 20;
    }
    GOOD(isoline_level_set_new(all.work.context, &all.input, &all.input, NULL, &all.surface));
    GOOD(isoline_level_set_read_phi(all.surface, &to_before));
    const float *kept = before;
    for (size_t call = 0; call < sizeof CALLS / sizeof *CALLS; call++) {
        printf("       %s\n", CALLS[call].name);
        for (uint64_t slice = 0; slice < DEPTH; slice += DEPTH - 1) {
            char message[64];
            snprintf(message, sizeof message, "cannot %s slice %d: torn", CALLS[call].writes ? "write" : "read", (int)slice);
            REFUSED(run_call(&all, call, slice, "torn", NULL), ISOLINE_CALLBACK_FAILED, message);
            CHECK_NUMBER(all.slices.calls, slice + 1);
            GOOD(isoline_set_cancel_flag(&all.slices.flag));
            /* The last slice of an output may be written before the flag is read. */
            const isoline_status status = run_call(&all, call, slice, NULL, NULL);
            CHECK(status == ISOLINE_CANCELLED || (status == ISOLINE_OK && CALLS[call].writes && slice > 0));
            GOOD(isoline_set_cancel_flag(NULL));
        }
        GOOD(isoline_level_set_read_phi(all.surface, &to_phi));
        CHECK(memcmp(phi, kept, COUNT * sizeof(float)) == 0);
        GOOD(run_call(&all, call, 1, NULL, all.work.context));
        CHECK(all.slices.again == ISOLINE_BUSY && all.slices.other == ISOLINE_OK);
        CHECK_NUMBER(all.slices.calls, DEPTH);
        kept = CALLS[call].run == write_phi ? all.work.strength : kept;
    }
    isoline_level_set_free(all.surface);
    free(before);
    free(phi);
    free(field);
    free(mask);
    end(&all.work);
}

int main(void) {
    RUN_ON_EACH(whole_volumes_are_those_from_memory);
    RUN_ON_EACH(callbacks_end_calls_on_whole_volumes);
    return summary();
}
