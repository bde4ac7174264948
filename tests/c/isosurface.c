/*
 * The isosurface: bodies whose measures are known, and misuse refused. tests/isosurface has the definition for every size;
 * image.c, operation.c and operation_calls.c have what holds for all operations.
 */
#include "images.h"

enum { SIDE = 24, COUNT = SIDE * SIDE * SIDE };

/* A ball of radius 8, as whole numbers: 20 for each voxel of distance. */
static uint8_t *ball(void) {
    uint8_t *pixels = (uint8_t *)allocate(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const double x = (double)(i % SIDE) - 11.3, y = (double)(i / SIDE % SIDE) - 11.6, z = (double)(i / SIDE / SIDE) - 11.9;
        const double value = 100 + 10 * (8 - sqrt(x * x + y * y + z * z));
        pixels[i] = (uint8_t)(value < 0 ? 0 : value);
    }
    return pixels;
}

typedef struct {
    isoline_context *context;
    uint8_t *pixels;
    isoline_image input;
    isoline_isosurface_params params;
    isoline_surface *made;
    isoline_report report;
} job;

static job new_job(const char *device) {
    job made;
    memset(&made, 0, sizeof made);
    made.context = open_context(device);
    made.pixels = ball();
    made.input = describe(ISOLINE_U8, SIDE, SIDE, SIDE, made.pixels);
    GOOD(isoline_isosurface_params_init(&made.params, sizeof made.params));
    made.params.level = 99.5;
    GOOD(isoline_report_init(&made.report, sizeof made.report));
    return made;
}

static isoline_status run(job *work) {
    return isoline_isosurface(work->context, &work->input, &work->params, NULL, &work->made, &work->report);
}

static void end(job *work) {
    free(work->pixels);
    isoline_context_free(work->context);
}

static isoline_surface_arrays arrays_of(const isoline_surface *surface) {
    isoline_surface_arrays arrays;
    GOOD(isoline_surface_arrays_init(&arrays, sizeof arrays));
    GOOD(isoline_surface_all(surface, &arrays));
    return arrays;
}

static void a_ball_has_its_measures(const char *device) {
    job work = new_job(device);
    work.input.spacing[0] = work.input.spacing[1] = work.input.spacing[2] = 0.5;
    GOOD(run(&work));
    CHECK_NUMBER(work.report.slices_done, SIDE);
    CHECK(work.report.seconds_total > 0 && work.report.iterations == 0);
    CHECK_NUMBER(work.report.device_kind, strcmp(device, "cpu") == 0 ? ISOLINE_DEVICE_CPU : ISOLINE_DEVICE_CUDA);
    /* A surface does not need its context. */
    end(&work);
    const isoline_surface_arrays all = arrays_of(work.made);
    const double pi = 3.14159265358979, radius = 4;
    CHECK(all.closed == 1 && all.border_edge_count == 0 && all.piece_count == 1 && all.euler == 2 && all.level == 99.5);
    CHECK(fabs(all.area / (4 * pi * radius * radius) - 1) < 0.03);
    CHECK(fabs(all.volume / (4 * pi / 3 * radius * radius * radius) - 1) < 0.03);
    CHECK(fabs(all.mean_curvature * radius - 1) < 0.05);
    /* The sums of the area and of the volume again, from the arrays. */
    double area = 0, volume = 0;
    for (uint64_t i = 0; i < all.triangle_count; i++) {
        const float *a = &all.vertices[3 * all.triangles[3 * i]], *b = &all.vertices[3 * all.triangles[3 * i + 1]],
                    *c = &all.vertices[3 * all.triangles[3 * i + 2]];
        double u[3], v[3], n[3], dot = 0, towards = 0, squared = 0;
        for (size_t k = 0; k < 3; k++) {
            u[k] = (double)b[k] - (double)a[k], v[k] = (double)c[k] - (double)a[k];
        }
        for (size_t k = 0; k < 3; k++) {
            n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
            dot += n[k] * (double)a[k];
            squared += n[k] * n[k];
            towards += n[k] * (double)all.normals[3 * all.triangles[3 * i] + k];
        }
        area += sqrt(squared) / 2;
        volume += dot / 6;
        CHECK(towards >= 0);
    }
    CHECK(fabs(area / all.area - 1) < 1e-9 && fabs(volume / all.volume - 1) < 1e-9);
    isoline_surface_free(work.made);
}

static void the_border_is_closed_unless_it_shall_not(const char *device) {
    job work = new_job(device);
    /* A half of the ball. */
    work.input.depth = SIDE / 2;
    GOOD(run(&work));
    isoline_surface_arrays all = arrays_of(work.made);
    CHECK(all.closed == 1 && all.euler == 2 && all.volume > 900);
    const double area = all.area;
    isoline_surface_free(work.made);
    work.params.close = 0;
    GOOD(run(&work));
    all = arrays_of(work.made);
    CHECK(all.closed == 0 && all.border_edge_count > 20 && all.euler == 1 && all.volume != all.volume && all.area < area - 150);
    isoline_surface_free(work.made);
    memset(work.pixels, 9, COUNT);
    GOOD(isoline_isosurface(work.context, &work.input, NULL, NULL, &work.made, NULL));
    all = arrays_of(work.made);
    CHECK(all.vertex_count == 0 && all.triangle_count == 0 && all.vertices == NULL && all.normals == NULL && all.triangles == NULL);
    CHECK(all.level == 9 && all.area == 0 && all.volume == 0 && all.closed == 1);
    isoline_surface_free(work.made);
    end(&work);
}

/* `change` makes the call fail with `status` and a message that has `word`; nothing is written. */
#define SPOILT(change, status, word) SPOILT_JOB(change, status, word, 1)

static void what_does_not_fit_is_refused_by_name(const char *device) {
    job good_job = new_job(device);
    SPOILT(work.params.close = 2, ISOLINE_INVALID_ARGUMENT, "close");
    SPOILT(work.params.foreground = 2, ISOLINE_INVALID_ARGUMENT, "foreground");
    SPOILT(work.params.reserved = 1, ISOLINE_INVALID_ARGUMENT, "params->reserved");
    SPOILT(work.params.level = (double)INFINITY, ISOLINE_INVALID_ARGUMENT, "level");
    SPOILT(work.params.level = (double)NAN, ISOLINE_INVALID_ARGUMENT, "level");
    SPOILT(work.input.spacing[2] = 1e16, ISOLINE_INVALID_ARGUMENT, "spacing");
    SPOILT(work.report.struct_size = 4, ISOLINE_INVALID_ARGUMENT, "report->struct_size");
    end(&good_job);
}

static void null_is_refused_only_where_it_must_not_be(const char *device) {
    job w = new_job(device);
    isoline_surface_arrays arrays;
    GOOD(isoline_surface_arrays_init(&arrays, sizeof arrays));
    REFUSED(isoline_isosurface(w.context, NULL, NULL, NULL, &w.made, NULL), ISOLINE_NULL_POINTER, "input");
    REFUSED(isoline_isosurface(w.context, &w.input, NULL, NULL, NULL, NULL), ISOLINE_NULL_POINTER, "surface");
    REFUSED(isoline_isosurface_params_init(NULL, sizeof w.params), ISOLINE_NULL_POINTER, "params");
    REFUSED(isoline_surface_arrays_init(NULL, sizeof arrays), ISOLINE_NULL_POINTER, "arrays");
    REFUSED(isoline_surface_all(NULL, &arrays), ISOLINE_NULL_POINTER, "surface");
    CHECK(w.made == NULL);
    GOOD(run(&w));
    REFUSED(isoline_surface_all(w.made, NULL), ISOLINE_NULL_POINTER, "arrays");
    arrays.struct_size = 4;
    REFUSED(isoline_surface_all(w.made, &arrays), ISOLINE_INVALID_ARGUMENT, "arrays->struct_size");
    isoline_surface_free(w.made);
    isoline_surface_free(NULL);
    end(&w);
}

static void a_mesh_has_the_measures_of_its_isosurface(const char *device) {
    job work = new_job(device);
    GOOD(run(&work));
    const isoline_surface_arrays all = arrays_of(work.made);
    isoline_surface *made = NULL;
    GOOD(isoline_surface_new(work.context, all.vertices, all.vertex_count, all.triangles, all.triangle_count,
                             ISOLINE_FOREGROUND_ABOVE, NULL, &made, &work.report));
    CHECK_NUMBER(work.report.device_kind, ISOLINE_DEVICE_CPU);
    const isoline_surface_arrays other = arrays_of(made);
    CHECK(other.vertices != all.vertices && isnan(other.level));
    CHECK(memcmp(other.vertices, all.vertices, all.vertex_count * 3 * sizeof(float)) == 0);
    CHECK(memcmp(other.normals, all.normals, all.vertex_count * 3 * sizeof(float)) == 0);
    CHECK(memcmp(other.triangles, all.triangles, all.triangle_count * 3 * sizeof(uint32_t)) == 0);
    CHECK(other.area == all.area && other.volume == all.volume && other.mean_curvature == all.mean_curvature);
    CHECK(other.closed == 1 && other.piece_count == 1 && other.euler == 2);
    isoline_surface_free(made);
    isoline_surface_free(work.made);

    /* A tetrahedron, in an order and with a vertex that no isosurface has; then without one of its triangles. */
    const float corners[] = {0, 0, 0, 9, 9, 9, 2, 0, 0, 0, 3, 0, 0, 0, 4};
    uint32_t sides[] = {4, 3, 2, 0, 3, 4, 2, 3, 0, 4, 2, 0};
    GOOD(isoline_surface_new(work.context, corners, 5, sides, 4, ISOLINE_FOREGROUND_ABOVE, NULL, &made, NULL));
    isoline_surface_arrays found = arrays_of(made);
    CHECK(found.closed == 1 && fabs(found.volume + 4) < 1e-12 && fabs(found.area - (13 + sqrt(61))) < 1e-12);
    CHECK(found.piece_count == 2 && found.euler == 3 && found.normals[3] == 0 && found.normals[4] == 0);
    isoline_surface_free(made);
    GOOD(isoline_surface_new(work.context, corners, 5, sides, 3, ISOLINE_FOREGROUND_ABOVE, NULL, &made, NULL));
    found = arrays_of(made);
    CHECK(found.closed == 0 && found.border_edge_count == 3 && isnan(found.volume));
    isoline_surface_free(made);
    GOOD(isoline_surface_new(work.context, NULL, 0, NULL, 0, ISOLINE_FOREGROUND_ABOVE, NULL, &made, NULL));
    found = arrays_of(made);
    CHECK(found.vertices == NULL && found.triangles == NULL && found.area == 0 && found.piece_count == 0);
    isoline_surface_free(made);

    made = NULL;
    const float broken[] = {0, 0, 0, 1, 0, 0, 0, NAN, 0};
    REFUSED(isoline_surface_new(work.context, broken, 3, sides, 0, ISOLINE_FOREGROUND_ABOVE, NULL, &made, NULL),
            ISOLINE_INVALID_ARGUMENT, "vertex 2");
    REFUSED(isoline_surface_new(work.context, corners, 5, sides, 4, 9, NULL, &made, NULL), ISOLINE_INVALID_ARGUMENT,
            "foreground");
    sides[7] = 5;
    REFUSED(isoline_surface_new(work.context, corners, 5, sides, 4, ISOLINE_FOREGROUND_ABOVE, NULL, &made, NULL),
            ISOLINE_INVALID_ARGUMENT, "as triangle 2");
    REFUSED(isoline_surface_new(work.context, corners, 0, sides, 4, ISOLINE_FOREGROUND_ABOVE, NULL, &made, NULL),
            ISOLINE_INVALID_ARGUMENT, "less than the number of its vertices, 0");
    REFUSED(isoline_surface_new(work.context, NULL, 5, sides, 4, ISOLINE_FOREGROUND_ABOVE, NULL, &made, NULL),
            ISOLINE_NULL_POINTER, "vertices");
    REFUSED(isoline_surface_new(work.context, corners, 5, NULL, 4, ISOLINE_FOREGROUND_ABOVE, NULL, &made, NULL),
            ISOLINE_NULL_POINTER, "triangles");
    REFUSED(isoline_surface_new(work.context, corners, SIZE_MAX / 2, sides, 4, ISOLINE_FOREGROUND_ABOVE, NULL, &made, NULL),
            ISOLINE_INVALID_SIZE, "vertices");
    REFUSED(isoline_surface_new(work.context, corners, 5, sides, 4, ISOLINE_FOREGROUND_ABOVE, NULL, NULL, NULL),
            ISOLINE_NULL_POINTER, "surface");
    REFUSED(isoline_surface_new(NULL, corners, 5, sides, 4, ISOLINE_FOREGROUND_ABOVE, NULL, &made, NULL),
            ISOLINE_NULL_POINTER, "context");
    CHECK(made == NULL);
    end(&work);
}

int main(void) {
    RUN_ON_EACH(a_ball_has_its_measures);
    RUN_ON_EACH(a_mesh_has_the_measures_of_its_isosurface);
    RUN_ON_EACH(the_border_is_closed_unless_it_shall_not);
    RUN_ON_EACH(what_does_not_fit_is_refused_by_name);
    RUN_ON_EACH(null_is_refused_only_where_it_must_not_be);
    return summary();
}
