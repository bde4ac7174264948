/* Deprecated functions, which work as before until they are removed. Without this line the compiler warns of each. */
#define ISOLINE_DEPRECATED(instead)
#include "edges.h"

static void the_gradient_of_a_segment_is_that_of_the_arrays(const char *device) {
    drawing_job work = new_drawing_job(device);
    GOOD(draw(&work));
    const isoline_segment_arrays all = all_of(work.segments);
    CHECK(all.count >= 4);
    for (size_t i = 0; i < all.count; i++) {
        double mean = -1;
        GOOD(isoline_segments_gradient(work.segments, i, &mean));
        CHECK(mean > 0);
        CHECK_NUMBER(mean, all.mean_gradients[i]);
    }
    end_drawing_job(&work);
}

static void its_misuse_is_refused(const char *device) {
    drawing_job work = new_drawing_job(device);
    GOOD(draw(&work));
    double mean = 77;
    REFUSED(isoline_segments_gradient(NULL, 0, &mean), ISOLINE_NULL_POINTER, "segments");
    REFUSED(isoline_segments_gradient(work.segments, 0, NULL), ISOLINE_NULL_POINTER, "mean_gradient");
    REFUSED(isoline_segments_gradient(work.segments, isoline_segments_count(work.segments), &mean),
            ISOLINE_INVALID_ARGUMENT, "less than");
    REFUSED(isoline_segments_gradient(work.segments, SIZE_MAX, &mean), ISOLINE_INVALID_ARGUMENT, "less than");
    CHECK_NUMBER(mean, 77);
    end_drawing_job(&work);
}

int main(void) {
    RUN(the_gradient_of_a_segment_is_that_of_the_arrays);
    RUN(its_misuse_is_refused);
    return summary();
}
