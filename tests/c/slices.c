/*
 * Images that callbacks read and write slice by slice (ISOLINE_SLICES): the results of the call on memory, a file that does
 * not fit into the address space, callbacks that fail, cancel or call the library, and every misuse. tests/streams has
 * the bits of all operations, and how many slices are held at a time.
 */
#include "process.h"
#include "slices.h"

static isoline_status run(job *work) {
    isoline_edge_strength_params params = for_drawing(10);
    return isoline_edge_strength(work->context, &work->input, &params, NULL, &work->output, NULL);
}

static void surfaces_are_those_from_memory(const char *device) {
    job work;
    begin(&work, device);
    const isoline_image input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, work.drawn);
    isoline_surface *made[2] = {NULL, NULL};
    isoline_surface_arrays all[2];
    isoline_isosurface_params at;
    GOOD(isoline_isosurface_params_init(&at, sizeof at));
    at.level = 100;
    /* No call does something, but their order is checked. */
    work.from.when = UINT64_MAX - 1;
    for (int i = 0; i < 2; i++) {
        GOOD(isoline_isosurface(work.context, i == 0 ? &input : &work.input, &at, NULL, &made[i], NULL));
        GOOD(isoline_surface_arrays_init(&all[i], sizeof all[i]));
        GOOD(isoline_surface_all(made[i], &all[i]));
    }
    CHECK_NUMBER(work.from.calls, DEPTH);
    CHECK(all[0].triangle_count > 0 && all[0].area == all[1].area);
    if (CHECK(all[0].triangle_count == all[1].triangle_count)) {
        CHECK(memcmp(all[0].triangles, all[1].triangles, all[0].triangle_count * 3 * sizeof(uint32_t)) == 0);
    }
    isoline_surface_free(made[0]);
    isoline_surface_free(made[1]);
    end(&work);
}

static void results_are_those_from_memory(const char *device) {
    job work;
    begin(&work, device);
    const isoline_image input = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, work.drawn);
    float *expected = unwritten(COUNT);
    const isoline_image floats = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, expected);
    isoline_edge_strength_params params = for_drawing(10);
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    GOOD(isoline_edge_strength(work.context, &input, &params, NULL, &floats, NULL));
    GOOD(isoline_edge_strength(work.context, &work.input, &params, NULL, &work.output, &report));
    CHECK(memcmp(expected, work.strength, COUNT * sizeof(float)) == 0);
    CHECK_NUMBER(report.slices_done, DEPTH);

    params.dimensions = 3;
    GOOD(isoline_edge_strength(work.context, &input, &params, NULL, &floats, NULL));
    work.from.calls = work.to.calls = 0;
    work.from.when = work.to.when = UINT64_MAX - 1;
    GOOD(isoline_edge_strength(work.context, &work.input, &params, NULL, &work.output, NULL));
    CHECK(memcmp(expected, work.strength, COUNT * sizeof(float)) == 0);
    CHECK(work.from.calls == DEPTH && work.to.calls == DEPTH);
    rewind_tapes(&work);

    isoline_distance_params by;
    GOOD(isoline_distance_params_init(&by, sizeof by));
    by.dimensions = 2;
    by.threshold = 127;
    GOOD(isoline_distance(work.context, &input, &by, NULL, &floats, NULL));
    work.from.calls = work.to.calls = 0;
    GOOD(isoline_distance(work.context, &work.input, &by, NULL, &work.output, NULL));
    CHECK(memcmp(expected, work.strength, COUNT * sizeof(float)) == 0);

    uint8_t *edges[] = {(uint8_t *)allocate(COUNT), (uint8_t *)allocate(COUNT)};
    const isoline_image map = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, edges[0]);
    tape map_tape = new_tape(edges[1], 1);
    const isoline_image map_slices = streamed(ISOLINE_U8, &map_tape);
    isoline_segments *segments[2] = {NULL, NULL};
    double thresholds[2] = {-1, -2};
    GOOD(isoline_edge_drawing(work.context, &input, NULL, NULL, &map, &segments[0], NULL));
    GOOD(isoline_edge_drawing(work.context, &work.input, NULL, NULL, &map_slices, &segments[1], NULL));
    CHECK(memcmp(edges[0], edges[1], COUNT) == 0);
    CHECK(isoline_segments_count(segments[0]) > 0);
    CHECK_NUMBER(isoline_segments_count(segments[1]), isoline_segments_count(segments[0]));
    const isoline_line *all_lines[2] = {NULL, NULL};
    isoline_lines *lines[2] = {NULL, NULL};
    isoline_ellipses *ellipses[2] = {NULL, NULL};
    size_t line_count[2] = {0, 0}, ellipse_count[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        const isoline_image *image = i == 0 ? &input : &work.input;
        const isoline_ellipse *all_ellipses;
        GOOD(isoline_edge_drawing_lines(work.context, image, segments[0], NULL, NULL, &lines[i], NULL));
        GOOD(isoline_lines_all(lines[i], &all_lines[i], &line_count[i]));
        GOOD(isoline_edge_drawing_ellipses(work.context, image, segments[0], NULL, NULL, &ellipses[i], NULL));
        GOOD(isoline_ellipses_all(ellipses[i], &all_ellipses, &ellipse_count[i]));
    }
    CHECK(line_count[0] > 0);
    CHECK_NUMBER(ellipse_count[1], ellipse_count[0]);
    if (CHECK(line_count[1] == line_count[0])) {
        CHECK(memcmp(all_lines[1], all_lines[0], line_count[0] * sizeof *all_lines[0]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        isoline_lines_free(lines[i]);
        isoline_ellipses_free(ellipses[i]);
    }
    GOOD(isoline_edge_drawing_threshold(work.context, &input, NULL, &thresholds[0]));
    GOOD(isoline_edge_drawing_threshold(work.context, &work.input, NULL, &thresholds[1]));
    CHECK_NUMBER(thresholds[1], thresholds[0]);
    isoline_segments_free(segments[0]);
    isoline_segments_free(segments[1]);

    map_tape.calls = work.to.calls = 0;
    GOOD(isoline_edge_drawing_maps(work.context, &input, NULL, NULL, NULL, &floats, NULL, &map, NULL));
    GOOD(isoline_edge_drawing_maps(work.context, &work.input, NULL, NULL, NULL, &work.output, NULL, &map_slices, NULL));
    CHECK(memcmp(expected, work.strength, COUNT * sizeof(float)) == 0);
    CHECK(memcmp(edges[0], edges[1], COUNT) == 0);

    isoline_polylines *polylines[2] = {NULL, NULL};
    isoline_polyline_arrays arrays[2];
    for (int i = 0; i < 2; i++) {
        GOOD(isoline_isolines(work.context, i == 0 ? &input : &work.input, NULL, 0, NULL, NULL, &polylines[i], NULL));
        GOOD(isoline_polyline_arrays_init(&arrays[i], sizeof arrays[i]));
        GOOD(isoline_polylines_all(polylines[i], &arrays[i]));
    }
    CHECK(arrays[0].count > 0);
    if (CHECK(arrays[0].count == arrays[1].count && arrays[0].point_count == arrays[1].point_count)) {
        CHECK(memcmp(arrays[0].polylines, arrays[1].polylines, arrays[0].count * sizeof *arrays[0].polylines) == 0);
        CHECK(memcmp(arrays[0].points, arrays[1].points, arrays[0].point_count * sizeof *arrays[0].points) == 0);
    }
    isoline_polylines_free(polylines[0]);
    isoline_polylines_free(polylines[1]);
    free(edges[0]);
    free(edges[1]);
    free(expected);
    end(&work);
}

/* ---- region snakes ------------------------------------------------------------------------------------------- */

enum { TARGETS = 4, CORNERS = 4 };

/* A square on each of the first slices, not in their order. */
typedef struct {
    isoline_node nodes[TARGETS * CORNERS];
    uint64_t offsets[TARGETS + 1];
    uint32_t slices[TARGETS];
    isoline_polygons all;
    /* The results of a run. */
    uint16_t *labels;
    tape to;
    isoline_image handed_on;
    isoline_snake *snake;
    isoline_report report;
} snakes;

static void begin_snakes(snakes *made) {
    static const uint32_t slices[TARGETS] = {3, 1, 0, 2};
    for (int i = 0; i < TARGETS; i++) {
        const int x = 10 + 4 * i, y = 8 + 2 * i, side = 20;
        const isoline_node corners[CORNERS] = {{x, y}, {x + side, y}, {x + side, y + side}, {x, y + side}};
        memcpy(made->nodes + CORNERS * i, corners, sizeof corners);
        made->offsets[i] = (uint64_t)(CORNERS * i);
        made->slices[i] = slices[i];
    }
    made->offsets[TARGETS] = TARGETS * CORNERS;
    GOOD(isoline_polygons_init(&made->all, sizeof made->all));
    made->all.count = TARGETS;
    made->all.node_count = TARGETS * CORNERS;
    made->all.nodes = made->nodes;
    made->all.offsets = made->offsets;
    made->all.slices = made->slices;
    made->labels = (uint16_t *)allocate(COUNT * sizeof(uint16_t));
    memset(made->labels, 77, COUNT * sizeof(uint16_t));
    made->to = new_tape(made->labels, sizeof(uint16_t));
    made->handed_on = streamed(ISOLINE_U16, &made->to);
    made->snake = NULL;
    GOOD(isoline_report_init(&made->report, sizeof made->report));
}

static void end_snakes(snakes *made) {
    isoline_snake_free(made->snake);
    free(made->labels);
}

static isoline_status run_snakes(const job *work, snakes *of, const isoline_image *input, const isoline_image *labels) {
    return isoline_snake_run(work->context, input, &of->all, NULL, NULL, labels, &of->snake, &of->report);
}

static void region_snakes_are_those_from_memory(const char *device) {
    job work;
    snakes kept, by_slices;
    begin(&work, device);
    begin_snakes(&kept);
    begin_snakes(&by_slices);
    const isoline_image memory = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, work.drawn);
    const isoline_image labels = describe(ISOLINE_U16, WIDTH, HEIGHT, DEPTH, kept.labels);
    GOOD(run_snakes(&work, &kept, &memory, &labels));
    GOOD(run_snakes(&work, &by_slices, &work.input, &by_slices.handed_on));
    CHECK(work.from.calls == TARGETS && by_slices.to.calls == DEPTH);
    CHECK(memcmp(kept.labels, by_slices.labels, COUNT * sizeof(uint16_t)) == 0);
    CHECK(kept.report.slices_done == DEPTH && by_slices.report.slices_done == DEPTH && by_slices.report.converged == 1);
    CHECK_NUMBER(by_slices.report.iterations, kept.report.iterations);
    isoline_polygons a, b;
    GOOD(isoline_polygons_init(&a, sizeof a));
    GOOD(isoline_polygons_init(&b, sizeof b));
    GOOD(isoline_snake_polygons(kept.snake, &a));
    GOOD(isoline_snake_polygons(by_slices.snake, &b));
    CHECK(memcmp(b.slices, by_slices.slices, sizeof by_slices.slices) == 0);
    if (CHECK(a.count == TARGETS && b.count == TARGETS && a.node_count == b.node_count)) {
        CHECK(memcmp(a.nodes, b.nodes, a.node_count * sizeof *a.nodes) == 0);
        CHECK(memcmp(a.offsets, b.offsets, (TARGETS + 1) * sizeof *a.offsets) == 0);
    }
    isoline_target_statistics told[2][TARGETS];
    size_t written = 0;
    GOOD(isoline_snake_statistics(kept.snake, 0, TARGETS, told[0], &written));
    GOOD(isoline_snake_statistics(by_slices.snake, 0, TARGETS, told[1], &written));
    CHECK(memcmp(told[0], told[1], sizeof told[0]) == 0);
    for (int i = 0; i < TARGETS; i++) {
        const uint16_t *slice = kept.labels + (size_t)kept.slices[i] * SLICE;
        uint64_t pixels = 0;
        for (int at = 0; at < SLICE; at++) {
            pixels += slice[at] == i + 1;
        }
        CHECK_NUMBER(pixels, told[0][i].pixels);
    }

    uint8_t *masks[] = {(uint8_t *)allocate(COUNT), (uint8_t *)allocate(COUNT)};
    const isoline_image mask = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, masks[0]);
    tape mask_tape = new_tape(masks[1], 1);
    const isoline_image mask_slices = streamed(ISOLINE_U8, &mask_tape);
    GOOD(isoline_snake_draw_mask(by_slices.snake, &mask));
    GOOD(isoline_snake_draw_mask(by_slices.snake, &mask_slices));
    CHECK(memcmp(masks[0], masks[1], COUNT) == 0);
    free(masks[0]);
    free(masks[1]);

    /* It keeps no pixels. */
    isoline_region_sum sums[TARGETS];
    REFUSED(isoline_snake_restart(by_slices.snake, &by_slices.all, NULL), ISOLINE_UNSUPPORTED, "keeps none");
    REFUSED(isoline_snake_region_sums(by_slices.snake, &b, sums), ISOLINE_UNSUPPORTED, "keeps none");
    GOOD(isoline_snake_step(by_slices.snake, 5, NULL, &by_slices.report));
    CHECK(by_slices.report.converged == 1 && by_slices.report.iterations == kept.report.iterations);
    end_snakes(&kept);
    end_snakes(&by_slices);
    end(&work);
}

static void callbacks_end_region_snakes(const char *device) {
    job work;
    snakes of;
    begin(&work, device);
    begin_snakes(&of);
    /* 1. Sentences. */
    work.from.when = 2;
    work.from.sentence = "disk 7 is on fire";
    REFUSED(run_snakes(&work, &of, &work.input, &of.handed_on), ISOLINE_CALLBACK_FAILED,
            "cannot read slice 2: disk 7 is on fire");
    CHECK(work.from.calls == 3 && of.to.calls == 0 && of.snake == NULL);
    rewind_tapes(&work);
    of.to.when = 2;
    of.to.sentence = "no space left on device";
    REFUSED(run_snakes(&work, &of, &work.input, &of.handed_on), ISOLINE_CALLBACK_FAILED,
            "cannot write slice 2: no space left on device");
    CHECK(of.to.calls == 3 && of.snake == NULL);
    /* 2. The cancel flag. */
    rewind_tapes(&work);
    work.from.when = 1;
    of.to = new_tape(of.labels, sizeof(uint16_t));
    GOOD(isoline_set_cancel_flag(&work.from.flag));
    REFUSED(run_snakes(&work, &of, &work.input, &of.handed_on), ISOLINE_CANCELLED, "cancelled");
    GOOD(isoline_set_cancel_flag(NULL));
    CHECK(work.from.calls == 2 && of.to.calls == 0 && of.snake == NULL);
    /* 3. Calls of the library. */
    rewind_tapes(&work);
    work.from.when = of.to.when = 1;
    work.from.context = of.to.context = work.context;
    GOOD(run_snakes(&work, &of, &work.input, &of.handed_on));
    CHECK(work.from.again == ISOLINE_BUSY && work.from.other == ISOLINE_OK);
    CHECK(of.to.again == ISOLINE_BUSY && of.to.other == ISOLINE_OK);
    end_snakes(&of);
    /* 4. Nothing is left behind. */
    long before = 0;
    for (int i = 0, times = (int)scaled(40, 4); i < times; i++) {
        begin_snakes(&of);
        rewind_tapes(&work);
        work.from.when = i % 2 == 0 ? UINT64_MAX : 2;
        work.from.sentence = "torn";
        CHECK_NUMBER(run_snakes(&work, &of, &work.input, NULL), i % 2 == 0 ? ISOLINE_OK : ISOLINE_CALLBACK_FAILED);
        end_snakes(&of);
        if (i == 9) {
            before = heap_bytes();
        }
    }
    CHECK(slow() || heap_bytes() < before + (1 << 20));
    end(&work);
}

static void misuse_of_region_snakes_is_refused(const char *device) {
    job work;
    snakes of;
    begin(&work, device);
    begin_snakes(&of);
    of.slices[1] = DEPTH;
    REFUSED(run_snakes(&work, &of, &work.input, &of.handed_on), ISOLINE_INVALID_ARGUMENT, "the image has 9 (got slice 9)");
    of.slices[1] = 1;
    of.handed_on.depth = DEPTH - 1;
    REFUSED(run_snakes(&work, &of, &work.input, &of.handed_on), ISOLINE_INVALID_SIZE, "size");
    of.handed_on = streamed(ISOLINE_U16, &of.to);
    of.handed_on.write_slice = NULL;
    REFUSED(run_snakes(&work, &of, &work.input, &of.handed_on), ISOLINE_NULL_POINTER, "labels->write_slice");
    isoline_image unread = work.input;
    unread.read_slice = NULL;
    REFUSED(run_snakes(&work, &of, &unread, NULL), ISOLINE_NULL_POINTER, "input->read_slice");
    /* Steps need one slice in memory. */
    const isoline_image memory = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, work.drawn);
    isoline_image one = memory;
    one.depth = 1;
    REFUSED(isoline_snake_new(work.context, &memory, &of.all, NULL, &of.snake), ISOLINE_INVALID_SIZE, "one slice");
    REFUSED(isoline_snake_new(work.context, &one, &of.all, NULL, &of.snake), ISOLINE_INVALID_ARGUMENT, "polygon 0");
    CHECK(of.snake == NULL && work.from.calls == 0 && of.to.calls == 0);
    end_snakes(&of);
    end(&work);
}

static void sentences_of_callbacks_are_passed_on(const char *device) {
    job work;
    begin(&work, device);
    work.from.when = 3;
    work.from.sentence = "disk 7 is on fire";
    REFUSED(run(&work), ISOLINE_CALLBACK_FAILED, "cannot read slice 3: disk 7 is on fire");
    CHECK_NUMBER(work.from.calls, 4);
    CHECK(is_unwritten(work.strength, COUNT));
    work.from = new_tape(work.drawn, 1);
    work.to.when = 2;
    work.to.sentence = "no space left on device";
    REFUSED(run(&work), ISOLINE_CALLBACK_FAILED, "cannot write slice 2: no space left on device");
    CHECK_NUMBER(work.to.calls, 3);
    /* Not UTF-8, and empty. */
    work.to = new_tape(work.strength, sizeof(float));
    work.to.when = 0;
    work.from.calls = 0;
    work.to.sentence = "\xff";
    REFUSED(run(&work), ISOLINE_CALLBACK_FAILED, "cannot write slice 0: ");
    work.to.calls = work.from.calls = 0;
    work.to.sentence = "";
    REFUSED(run(&work), ISOLINE_CALLBACK_FAILED, "cannot write slice 0: ");
    /* The context works afterwards. */
    work.to = new_tape(work.strength, sizeof(float));
    work.from.calls = 0;
    GOOD(run(&work));
    end(&work);
}

static void callbacks_cancel_by_the_flag(const char *device) {
    job work;
    begin(&work, device);
    tape *tapes[] = {&work.from, &work.to};
    for (int i = 0; i < 2; i++) {
        rewind_tapes(&work);
        tapes[i]->when = 4;
        GOOD(isoline_set_cancel_flag(&tapes[i]->flag));
        REFUSED(run(&work), ISOLINE_CANCELLED, "cancelled");
        CHECK_NUMBER(tapes[i]->calls, 5);
        GOOD(isoline_set_cancel_flag(NULL));
    }
    end(&work);
}

static void callbacks_may_use_other_contexts(const char *device) {
    job work;
    begin(&work, device);
    tape *tapes[] = {&work.from, &work.to};
    for (int i = 0; i < 2; i++) {
        rewind_tapes(&work);
        tapes[i]->when = 1;
        tapes[i]->context = work.context;
        GOOD(run(&work));
        CHECK_NUMBER(tapes[i]->again, ISOLINE_BUSY);
        CHECK_NUMBER(tapes[i]->other, ISOLINE_OK);
    }
    end(&work);
}

static void calls_leave_nothing_behind(const char *device) {
    job work;
    begin(&work, device);
    long before = 0;
    for (int i = 0; i < 40; i++) {
        rewind_tapes(&work);
        work.from.when = i % 2 == 0 ? UINT64_MAX : 5;
        work.from.sentence = "torn";
        CHECK_NUMBER(run(&work), i % 2 == 0 ? ISOLINE_OK : ISOLINE_CALLBACK_FAILED);
        if (i == 9) {
            before = heap_bytes();
        }
    }
    CHECK(slow() || heap_bytes() < before + (1 << 20));
    end(&work);
}

#define REFUSED_IF(change, status, word)                                                                               \
    do {                                                                                                               \
        job work;                                                                                                      \
        begin(&work, device);                                                                                          \
        change;                                                                                                        \
        REFUSED(run(&work), status, word);                                                                             \
        CHECK(work.from.calls == 0 && work.to.calls == 0);                                                             \
        end(&work);                                                                                                    \
    } while (0)

static void misuse_is_refused(const char *device) {
    uint8_t byte = 0;
    REFUSED_IF(work.input.read_slice = NULL, ISOLINE_NULL_POINTER, "input->read_slice");
    REFUSED_IF(work.output.write_slice = NULL, ISOLINE_NULL_POINTER, "output->write_slice");
    REFUSED_IF(work.input.data = &byte, ISOLINE_INVALID_ARGUMENT, "data must be NULL");
    REFUSED_IF(work.output.data = &byte, ISOLINE_INVALID_ARGUMENT, "data must be NULL");
    REFUSED_IF(work.input.row_stride = WIDTH, ISOLINE_INVALID_ARGUMENT, "row_stride and slice_stride 0");
    REFUSED_IF(work.input.slice_stride = SLICE, ISOLINE_INVALID_ARGUMENT, "row_stride and slice_stride 0");
    REFUSED_IF(work.input.memory = ISOLINE_SLICES + 1, ISOLINE_INVALID_ARGUMENT, "ISOLINE_SLICES, but it is 3");
    REFUSED_IF(work.output.type = ISOLINE_U8, ISOLINE_INVALID_TYPE, "ISOLINE_F32");
    REFUSED_IF(work.output.depth = DEPTH - 1, ISOLINE_INVALID_SIZE, "size");
    REFUSED_IF(work.input.depth = 0, ISOLINE_INVALID_SIZE, "at least one pixel");
    REFUSED_IF(work.input.depth = UINT64_MAX, ISOLINE_INVALID_SIZE, "too large");
    REFUSED_IF(work.input.type = 9, ISOLINE_INVALID_TYPE, "input->type");

    job work;
    begin(&work, device);
    isoline_snake *snake = NULL;
    REFUSED(isoline_snake_new(work.context, &work.input, NULL, NULL, &snake), ISOLINE_UNSUPPORTED, "in memory");
    const isoline_sphere ball = {{1, 1, 1}, 2};
    REFUSED(isoline_mask_fill_spheres(&work.input, &ball, 1, 255), ISOLINE_UNSUPPORTED, "in memory");
    CHECK(snake == NULL && work.from.calls == 0 && work.to.calls == 0);
    end(&work);
}

/* ---- a file that does not fit into memory -------------------------------------------------------------------- */

enum { FILE_SIDE = 1024 };

static const char *read_from_file(void *user, uint64_t slice, void *pixels) {
    FILE *file = (FILE *)user;
    (void)slice;
    return fread(pixels, FILE_SIDE, FILE_SIDE, file) == FILE_SIDE ? NULL : "the file is too short";
}

/* Adds up the distances, which are not kept. */
static const char *add_slice(void *user, uint64_t slice, const void *pixels) {
    double *sum = (double *)user;
    const float *distances = (const float *)pixels;
    (void)slice;
    *sum += (double)distances[FILE_SIDE + 7];
    return NULL;
}

static void a_file_larger_than_the_address_space_streams(const char *device) {
    const uint64_t depth = scaled(1200, 20);
    FILE *file = tmpfile();
    if (file == NULL) {
        perror("tmpfile");
        exit(1);
    }
    uint8_t *row = (uint8_t *)allocate(FILE_SIDE);
    memset(row, 255, FILE_SIDE);
    for (uint64_t slice = 0; slice < depth; slice++) {
        /* The first row of each slice is inside, all else a hole in the file. */
        fseek(file, (long)(slice * FILE_SIDE * FILE_SIDE), SEEK_SET);
        CHECK(fwrite(row, 1, FILE_SIDE, file) == FILE_SIDE);
    }
    fseek(file, (long)(depth * FILE_SIDE * FILE_SIDE - 1), SEEK_SET);
    CHECK(fputc(0, file) == 0);
    rewind(file);
    isoline_context *context = open_context(device);
#ifndef _WIN32 /* where a process cannot limit its own memory */
    if (!slow() && strcmp(device, "cpu") == 0) {
        /* 1200 MiB are read and 4800 MiB written, in 512 MiB. */
        struct rlimit limit;
        getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = (rlim_t)(address_space_kb() + 512 * 1024) * 1024;
        setrlimit(RLIMIT_AS, &limit);
        void *too_much = malloc((size_t)depth * FILE_SIDE * FILE_SIDE);
        CHECK(too_much == NULL);
        free(too_much);
    }
#endif
    double sum = 0;
    isoline_image input = describe(ISOLINE_U8, FILE_SIDE, FILE_SIDE, depth, NULL);
    input.memory = ISOLINE_SLICES;
    input.user = file;
    input.read_slice = read_from_file;
    isoline_image output = input;
    output.type = ISOLINE_F32;
    output.user = &sum;
    output.write_slice = add_slice;
    isoline_distance_params params;
    GOOD(isoline_distance_params_init(&params, sizeof params));
    params.dimensions = 2;
    GOOD(isoline_distance(context, &input, &params, NULL, &output, NULL));
    CHECK_NUMBER(sum, 0.5 * (double)depth);
    isoline_context_free(context);
    free(row);
    fclose(file);
}

int main(void) {
    RUN_ON_EACH(results_are_those_from_memory);
    RUN_ON_EACH(surfaces_are_those_from_memory);
    RUN_ON_EACH(region_snakes_are_those_from_memory);
    RUN_ON_EACH(callbacks_end_region_snakes);
    RUN_ON_EACH(misuse_of_region_snakes_is_refused);
    RUN_ON_EACH(sentences_of_callbacks_are_passed_on);
    RUN_ON_EACH(callbacks_cancel_by_the_flag);
    RUN_ON_EACH(callbacks_may_use_other_contexts);
    RUN_ON_EACH(calls_leave_nothing_behind);
    RUN_ON_EACH(misuse_is_refused);
    RUN_ON_EACH(a_file_larger_than_the_address_space_streams);
    return summary();
}
