/*
 * Objects: two bodies whose shapes are known, and misuse refused. tests/objects has the definition; image.c, operation.c
 * and operation_calls.c have what holds for all operations.
 */
#include "images.h"

enum { WIDTH = 40, HEIGHT = 24, DEPTH = 20, COUNT = WIDTH * HEIGHT * DEPTH };

/* Returns 1 or 2 within one of two balls of radius 8, or of `radius`, that touch; 0 elsewhere. */
static int ball_at(size_t i, double radius) {
    const double x = (double)(i % WIDTH), y = (double)(i / WIDTH % HEIGHT) - 11.5, z = (double)(i / WIDTH / HEIGHT) - 9.5;
    for (int ball = 1; ball <= 2; ball++) {
        const double dx = x - (ball == 1 ? 11 : 26.5);
        if (dx * dx + y * y + z * z <= radius * radius) {
            return ball;
        }
    }
    return 0;
}

typedef struct {
    isoline_context *context;
    uint8_t *pixels, *starts;
    uint16_t *labels;
    isoline_image input, start, output;
    isoline_objects_params params;
    isoline_object_list *made;
    isoline_report report;
} job;

static job new_job(const char *device) {
    job made;
    memset(&made, 0, sizeof made);
    made.context = open_context(device);
    made.pixels = (uint8_t *)allocate(COUNT);
    made.starts = (uint8_t *)allocate(COUNT);
    made.labels = (uint16_t *)allocate(COUNT * sizeof(uint16_t));
    for (size_t i = 0; i < COUNT; i++) {
        made.pixels[i] = ball_at(i, 8) > 0 ? 180 : 20;
        made.starts[i] = (uint8_t)(10 * ball_at(i, 3.5));
        made.labels[i] = 7;
    }
    made.input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, made.pixels);
    made.start = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, made.starts);
    made.output = describe(ISOLINE_U16, WIDTH, HEIGHT, DEPTH, made.labels);
    GOOD(isoline_objects_params_init(&made.params, sizeof made.params));
    GOOD(isoline_report_init(&made.report, sizeof made.report));
    return made;
}

static isoline_status run(job *work) {
    return isoline_objects(work->context, &work->input, &work->start, &work->params, NULL, &work->output, &work->made,
                           &work->report);
}

static void end(job *work) {
    free(work->pixels);
    free(work->starts);
    free(work->labels);
    isoline_context_free(work->context);
}

static int is_untouched(const job *work) {
    for (size_t i = 0; i < COUNT; i++) {
        if (work->labels[i] != 7) {
            return 0;
        }
    }
    return work->made == NULL;
}

static void two_balls_stay_apart(const char *device) {
    job work = new_job(device);
    work.input.spacing[0] = work.input.spacing[1] = work.input.spacing[2] = 0.5;
    GOOD(run(&work));
    CHECK(work.report.converged == 1 && work.report.iterations > 0);
    CHECK_NUMBER(work.report.device_kind, strcmp(device, "cpu") == 0 ? ISOLINE_DEVICE_CPU : ISOLINE_DEVICE_CUDA);
    size_t wrong = 0, counts[2] = {0, 0};
    for (size_t i = 0; i < COUNT; i++) {
        wrong += work.labels[i] != 10 * ball_at(i, 8);
        counts[0] += work.labels[i] == 10;
        counts[1] += work.labels[i] == 20;
    }
    CHECK(wrong < COUNT / 100);
    /* The list does not need its context. */
    end(&work);
    const isoline_object *all = NULL;
    size_t count = 0;
    GOOD(isoline_object_list_all(work.made, &all, &count));
    CHECK_NUMBER(count, 2);
    for (size_t i = 0; i < count; i++) {
        CHECK_NUMBER(all[i].label, 10 * (i + 1));
        CHECK_NUMBER(all[i].voxels, counts[i]);
        CHECK(all[i].flags == ISOLINE_OBJECT_TOUCHES && all[i].volume == 0.125 * (double)counts[i]);
        CHECK(fabs(all[i].centre[0] - 0.5 * (i == 0 ? 11 : 26.5)) < 0.2 && fabs(all[i].centre[1] - 5.75) < 0.1);
        CHECK(fabs(all[i].mean - 180) < 2 && fabs(all[i].background - 20) < 2);
    }
    isoline_object_list_free(work.made);
}

static void starts_are_found(const char *device) {
    job work = new_job(device);
    GOOD(isoline_objects(work.context, &work.input, NULL, NULL, NULL, &work.output, NULL, NULL));
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT; i++) {
        wrong += work.labels[i] != ball_at(i, 8);
    }
    CHECK(wrong < COUNT / 100);
    /* There is no object if nothing stands out. */
    memset(work.pixels, 9, COUNT);
    GOOD(isoline_objects(work.context, &work.input, NULL, NULL, NULL, &work.output, &work.made, NULL));
    const isoline_object *all = (const isoline_object *)work.labels;
    size_t count = 9;
    GOOD(isoline_object_list_all(work.made, &all, &count));
    CHECK(all == NULL && count == 0 && work.labels[0] == 0 && work.labels[COUNT / 2] == 0);
    isoline_object_list_free(work.made);
    end(&work);
}

static void misuse_is_refused(const char *device) {
    job work = new_job(device);
    REFUSED(isoline_objects(work.context, NULL, NULL, NULL, NULL, &work.output, NULL, NULL), ISOLINE_NULL_POINTER, "input");
    REFUSED(isoline_objects(work.context, &work.input, NULL, NULL, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, "labels");
    work.params.alpha = 0;
    REFUSED(run(&work), ISOLINE_INVALID_ARGUMENT, "alpha must be");
    work.params.alpha = 0.5;
    work.params.reserved = 1;
    REFUSED(run(&work), ISOLINE_INVALID_ARGUMENT, "reserved");
    work.params.reserved = 0;
    work.start.depth = DEPTH - 1;
    REFUSED(run(&work), ISOLINE_INVALID_SIZE, "starts");
    work.start.depth = DEPTH;
    work.start.data = work.labels;
    REFUSED(run(&work), ISOLINE_OVERLAP, "labels");
    work.start.data = work.starts;
    work.output.data = work.pixels;
    work.output.type = ISOLINE_U8;
    REFUSED(run(&work), ISOLINE_OVERLAP, "labels");
    work.output.data = work.labels;
    work.output.type = ISOLINE_U16;
    memset(work.starts, 0, COUNT);
    REFUSED(run(&work), ISOLINE_INVALID_ARGUMENT, "the starts must have a voxel that is not 0");
    CHECK(is_untouched(&work));
    const isoline_object *all = NULL;
    size_t count = 0;
    REFUSED(isoline_object_list_all(NULL, &all, &count), ISOLINE_NULL_POINTER, "objects");
    REFUSED(isoline_objects_params_init(NULL, sizeof work.params), ISOLINE_NULL_POINTER, "params");
    isoline_object_list_free(NULL);
    end(&work);
}

int main(void) {
    RUN_ON_EACH(two_balls_stay_apart);
    RUN_ON_EACH(starts_are_found);
    RUN_ON_EACH(misuse_is_refused);
    return summary();
}
