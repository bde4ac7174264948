/* The paper profile of edge drawing by its definition, and a valid call for tests of misuse. */
#ifndef ISOLINE_TESTS_EDGES_H
#define ISOLINE_TESTS_EDGES_H

#include "images.h"

/* No map of edges, directions or anchors has this value: an output that still holds it has not been written. */
enum { NOT_WRITTEN = 77 };
/* The values of the edge direction that isoline_edge_drawing_maps writes. */
enum { NO_EDGE = 0, HORIZONTAL = 1, VERTICAL = 2 };

static inline uint8_t *not_written(size_t count) {
    uint8_t *pixels = (uint8_t *)allocate(count);
    memset(pixels, NOT_WRITTEN, count);
    return pixels;
}

static inline int is_not_written(const uint8_t *pixels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (pixels[i] != NOT_WRITTEN) {
            return 0;
        }
    }
    return 1;
}

static inline isoline_edge_drawing_params edge_defaults(void) {
    isoline_edge_drawing_params params;
    isoline_edge_drawing_params_init(&params, sizeof params);
    return params;
}

/* The results of the definition for one slice. */
typedef struct {
    size_t width, height;
    uint32_t *smoothed;
    uint32_t *gradient; /* before the threshold */
    uint8_t *direction; /* of every pixel, thresholded in `gradient_at` only */
    uint8_t *anchors, *edges;
    uint32_t threshold;
} definition;

/* Returns position i of n pixels, mirrored at the centre of the border pixels. */
static inline size_t mirrored(long i, size_t n) {
    long period = 2 * ((long)n - 1);
    if (n == 1) {
        return 0;
    }
    i = (i % period + period) % period;
    return (size_t)(i < (long)n ? i : period - i);
}

static inline uint32_t pixel_at(const definition *d, const uint32_t *pixels, long x, long y) {
    return pixels[mirrored(y, d->height) * d->width + mirrored(x, d->width)];
}

/* Returns the gradient magnitude; 0 below the threshold and outside. */
static inline uint32_t gradient_at(const definition *d, long x, long y) {
    if (x < 0 || y < 0 || x >= (long)d->width || y >= (long)d->height) {
        return 0;
    }
    uint32_t g = d->gradient[(size_t)y * d->width + (size_t)x];
    return g >= d->threshold ? g : 0;
}

static inline int stands_out(const definition *d, long x, long y, long dx, long dy, uint32_t above) {
    return (int64_t)gradient_at(d, x, y) - (int64_t)gradient_at(d, x + dx, y + dy) >= (int64_t)above;
}

/* Traces Table II from (x, y) in each of the headings of its pixel, and marks every pixel and heading. */
static inline void walk(const definition *d, uint8_t *marks, long x, long y, int heading, int follow_turns) {
    /* The headings left, right, up and down, with the pixels ahead and to the side of each. */
    static const int ahead[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    for (;;) {
        uint32_t g = gradient_at(d, x, y);
        const int wanted = heading < 2 ? HORIZONTAL : VERTICAL;
        const size_t i = g > 0 ? (size_t)y * d->width + (size_t)x : 0;
        if (g == 0) {
            return;
        }
        if (d->direction[i] != wanted) {
            if (follow_turns) {
                const int first = heading < 2 ? 2 : 0;
                for (int turned = first; turned < first + 2; turned++) {
                    /* A trace that was made before ends where it begins, so that this loop ends. */
                    if (!(marks[i] & 1 << turned)) {
                        walk(d, marks, x, y, turned, follow_turns);
                    }
                }
            }
            return;
        }
        if (marks[i] & 1 << heading) {
            return;
        }
        marks[i] |= (uint8_t)(1 << heading);
        const int dx = ahead[heading][0], dy = ahead[heading][1], sx = dy != 0, sy = dx != 0;
        const uint32_t minus = gradient_at(d, x + dx - sx, y + dy - sy);
        const uint32_t straight = gradient_at(d, x + dx, y + dy);
        const uint32_t plus = gradient_at(d, x + dx + sx, y + dy + sy);
        const int side = minus > straight && minus > plus ? -1 : plus > straight && plus > minus ? 1 : 0;
        x += dx + side * sx;
        y += dy + side * sy;
    }
}

/* `pixels`: one slice of integers. `threshold`, `anchor_threshold`: as integers. Of `params` the rest is read. */
static inline definition define(const uint32_t *pixels, size_t width, size_t height, uint32_t threshold,
                                uint32_t anchor_threshold, const isoline_edge_drawing_params *params) {
    static const uint32_t taps[5] = {14, 62, 104, 62, 14};
    static const int operators[3][3] = {{1, 2, 1}, {1, 1, 1}, {3, 10, 3}};
    const int *weights = operators[params->gradient_operator];
    const size_t count = width * height;
    definition d = {width, height, NULL, NULL, NULL, NULL, NULL, threshold};
    d.smoothed = (uint32_t *)allocate(count * sizeof(uint32_t));
    d.gradient = (uint32_t *)allocate(count * sizeof(uint32_t));
    d.direction = (uint8_t *)allocate(count);
    d.anchors = (uint8_t *)allocate(count);
    d.edges = (uint8_t *)allocate(count);
    for (size_t i = 0; i < count; i++) {
        const long x = (long)(i % width), y = (long)(i / width);
        uint64_t sum = (uint64_t)1 << 15;
        for (int row = -2; row <= 2; row++) {
            for (int column = -2; column <= 2; column++) {
                sum += (uint64_t)taps[row + 2] * taps[column + 2] * pixel_at(&d, pixels, x + column, y + row);
            }
        }
        d.smoothed[i] = (uint32_t)(sum >> 16);
    }
    for (size_t i = 0; i < count; i++) {
        const long x = (long)(i % width), y = (long)(i / width);
        long gx = 0, gy = 0;
        for (int k = -1; k <= 1; k++) {
            gx += weights[k + 1] *
                  ((long)pixel_at(&d, d.smoothed, x + 1, y + k) - (long)pixel_at(&d, d.smoothed, x - 1, y + k));
            gy += weights[k + 1] *
                  ((long)pixel_at(&d, d.smoothed, x + k, y + 1) - (long)pixel_at(&d, d.smoothed, x + k, y - 1));
        }
        d.gradient[i] = (uint32_t)(labs(gx) + labs(gy));
        d.direction[i] = labs(gx) >= labs(gy) ? VERTICAL : HORIZONTAL;
    }
    uint8_t *marks = (uint8_t *)allocate(count);
    memset(marks, 0, count);
    for (size_t i = 0; i < count; i++) {
        const long x = (long)(i % width), y = (long)(i / width);
        const uint32_t scan = params->scan_interval;
        const long dx = d.direction[i] == VERTICAL, dy = d.direction[i] == HORIZONTAL;
        const int scanned = (size_t)y % scan == 0 || (size_t)x % scan == 0;
        const int anchor = gradient_at(&d, x, y) > 0 && scanned && stands_out(&d, x, y, dx, dy, anchor_threshold) &&
                           stands_out(&d, x, y, -dx, -dy, anchor_threshold);
        d.anchors[i] = anchor ? 255 : 0;
        if (anchor) {
            const int first = d.direction[i] == HORIZONTAL ? 0 : 2;
            walk(&d, marks, x, y, first, (int)params->follow_turns);
            walk(&d, marks, x, y, first + 1, (int)params->follow_turns);
        }
    }
    for (size_t i = 0; i < count; i++) {
        d.edges[i] = marks[i] ? 255 : 0;
    }
    free(marks);
    return d;
}

static inline void forget(definition *d) {
    free(d->smoothed);
    free(d->gradient);
    free(d->direction);
    free(d->anchors);
    free(d->edges);
}

/* Returns the number of bytes that differ. */
static inline size_t differing(const uint8_t *a, const uint8_t *b, size_t count) {
    size_t different = 0;
    for (size_t i = 0; i < count; i++) {
        different += a[i] != b[i];
    }
    return different;
}

/* Edge map and segments of packed 8-bit pixels. */
static inline isoline_segments *segments_of(isoline_context *context, uint8_t *pixels, size_t width, size_t height,
                                            size_t depth, const isoline_edge_drawing_params *params, uint8_t *map) {
    isoline_segments *segments = NULL;
    isoline_image input = describe(ISOLINE_U8, width, height, depth, pixels);
    isoline_image edges = describe(ISOLINE_U8, width, height, depth, map);
    GOOD(isoline_edge_drawing(context, &input, params, NULL, map == NULL ? NULL : &edges, &segments, NULL));
    return segments;
}

/* The arrays of segments that may be looked at until they are freed. */
static inline isoline_segment_arrays all_of(const isoline_segments *segments) {
    isoline_segment_arrays arrays;
    GOOD(isoline_segment_arrays_init(&arrays, sizeof arrays));
    GOOD(isoline_segments_all(segments, &arrays));
    return arrays;
}

static inline int same_segments(const isoline_segments *a, const isoline_segments *b) {
    isoline_segment_arrays left = all_of(a), right = all_of(b);
    const size_t count = (size_t)left.count, points = (size_t)left.point_count;
    return left.count == right.count && left.point_count == right.point_count &&
           memcmp(left.offsets, right.offsets, (count + 1) * sizeof *left.offsets) == 0 &&
           (count == 0 || (memcmp(left.points, right.points, points * sizeof *left.points) == 0 &&
                           memcmp(left.flags, right.flags, count * sizeof *left.flags) == 0 &&
                           memcmp(left.slices, right.slices, count * sizeof *left.slices) == 0 &&
                           memcmp(left.mean_gradients, right.mean_gradients, count * sizeof(float)) == 0));
}

/* Returns 1 if (x, y) is an edge of a slice; there are none outside it. */
static inline int is_edge(const uint8_t *edges, size_t width, size_t height, long x, long y) {
    return x >= 0 && y >= 0 && x < (long)width && y < (long)height && edges[(size_t)y * width + (size_t)x] != 0;
}

/* The eight neighbours of a pixel, clockwise from the one above. */
static const int ring[8][2] = {{0, -1}, {1, -1}, {1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}};

/* The links of an edge pixel, bit k for neighbour k: those beside it, and diagonal ones with no edge beside both. */
static inline unsigned links_of(const uint8_t *edges, size_t width, size_t height, long x, long y) {
    unsigned links = 0;
    for (int k = 0; k < 8; k++) {
        const int *before = ring[(k + 7) % 8], *after = ring[(k + 1) % 8];
        const int covered = k % 2 == 1 && (is_edge(edges, width, height, x + before[0], y + before[1]) ||
                                           is_edge(edges, width, height, x + after[0], y + after[1]));
        links |= (unsigned)(is_edge(edges, width, height, x + ring[k][0], y + ring[k][1]) && !covered) << k;
    }
    return links;
}

static inline int bits_in(unsigned bits) {
    int count = 0;
    for (; bits != 0; bits &= bits - 1) {
        count++;
    }
    return count;
}

/* Removes pixels of one side (0 the top, 1 the right, 2 the bottom, 3 the left); returns 1 if it removed any. */
static inline int take_side_off(uint8_t *edges, uint8_t *before, size_t width, size_t height, int side) {
    int changed = 0;
    memcpy(before, edges, width * height);
    for (size_t i = 0; i < width * height; i++) {
        const long x = (long)(i % width), y = (long)(i / width);
        const long ahead_x = x + ring[2 * side][0], ahead_y = y + ring[2 * side][1];
        if (before[i] == 0 || ahead_x < 0 || ahead_y < 0 || ahead_x >= (long)width || ahead_y >= (long)height) {
            continue;
        }
        int on[8], pieces = 0;
        for (int k = 0; k < 8; k++) {
            const int *step = ring[(k + 2 * side) % 8];
            on[k] = is_edge(before, width, height, x + step[0], y + step[1]);
        }
        for (int k = 0; k < 8; k += 2) {
            pieces += !on[k] && (on[k + 1] || on[(k + 2) % 8]);
        }
        if (!on[0] && on[4] && ((on[5] && on[6]) || (on[3] && on[2])) && pieces == 1) {
            edges[i] = 0;
            changed = 1;
        }
    }
    return changed;
}

/* The copy of one slice's edge map that segments are traced on. */
static inline uint8_t *thinned(const uint8_t *edges, size_t width, size_t height) {
    static const int order[4] = {0, 2, 3, 1};
    uint8_t *now = (uint8_t *)allocate(width * height), *before = (uint8_t *)allocate(width * height);
    memcpy(now, edges, width * height);
    for (int round = 0, changed = 1; round < 16 && changed; round++) {
        changed = 0;
        for (int k = 0; k < 4; k++) {
            changed |= take_side_off(now, before, width, height, order[k]);
        }
    }
    memcpy(before, now, width * height);
    for (size_t i = 0; i < width * height; i++) {
        const long x = (long)(i % width), y = (long)(i / width);
        for (int k = 0; k < 8; k++) {
            /* The pixel is an end that is linked to a junction. */
            if (before[i] && links_of(before, width, height, x, y) == 1u << k &&
                bits_in(links_of(before, width, height, x + ring[k][0], y + ring[k][1])) > 2) {
                now[i] = 0;
            }
        }
    }
    free(before);
    return now;
}

/*
 * Checks all segments: each is a chain of neighbouring edge pixels. `canonical`: they are of the paper profile with a
 * minimum length of 1, which together are the whole thinned map and come in their canonical order.
 */
static inline void check_segments(const isoline_segments *segments, const uint8_t *edges, size_t width, size_t height,
                                  size_t depth, int canonical) {
    const size_t count = width * height * depth;
    isoline_segment_arrays all = all_of(segments);
    uint8_t *covered = (uint8_t *)allocate(count);
    memset(covered, 0, count);
    size_t outside = 0, apart = 0, empty = 0, out_of_order = 0, turned = 0, open_loops = 0;
    uint64_t last[3] = {0, 0, 0};
    for (size_t s = 0; s < all.count; s++) {
        const isoline_point *points = all.points + all.offsets[s];
        const size_t length = (size_t)(all.offsets[s + 1] - all.offsets[s]);
        empty += length == 0;
        outside += all.slices[s] >= depth;
        if (length == 0 || all.slices[s] >= depth) {
            continue;
        }
        for (size_t i = 0; i < length; i++) {
            if (points[i].x >= width || points[i].y >= height) {
                outside++;
                continue;
            }
            covered[((size_t)all.slices[s] * height + points[i].y) * width + points[i].x] = 255;
            if (i > 0) {
                const int dx = abs((int)points[i].x - (int)points[i - 1].x);
                const int dy = abs((int)points[i].y - (int)points[i - 1].y);
                apart += dx > 1 || dy > 1 || dx + dy == 0;
            }
        }
        const isoline_point first = points[0], end = points[length - 1];
        const int closed = (all.flags[s] & ISOLINE_SEGMENT_CLOSED) != 0;
        open_loops += closed && (abs((int)first.x - (int)end.x) > 1 || abs((int)first.y - (int)end.y) > 1);
        const uint64_t key[3] = {all.slices[s], first.y * (uint64_t)width + first.x,
                                 length > 1 ? points[1].y * (uint64_t)width + points[1].x : 0};
        for (int k = 0; s > 0 && k < 3; k++) {
            if (key[k] != last[k]) {
                out_of_order += key[k] < last[k];
                break;
            }
        }
        memcpy(last, key, sizeof last);
        turned += !closed && end.y * (uint64_t)width + end.x < key[1];
    }
    CHECK_NUMBER(empty, 0);
    CHECK_NUMBER(outside, 0);
    CHECK_NUMBER(apart, 0);
    CHECK_NUMBER(open_loops, 0);
    size_t off_the_map = 0;
    for (size_t i = 0; i < count; i++) {
        off_the_map += covered[i] && !edges[i];
    }
    CHECK_NUMBER(off_the_map, 0);
    if (canonical) {
        for (size_t z = 0; z < depth; z++) {
            uint8_t *traced = thinned(edges + z * width * height, width, height);
            CHECK_NUMBER(differing(covered + z * width * height, traced, width * height), 0);
            free(traced);
        }
        CHECK_NUMBER(out_of_order, 0);
        CHECK_NUMBER(turned, 0);
    }
    free(covered);
}

/* A valid call on a small picture, of which each test makes one argument invalid. */
enum { WIDTH = 48, HEIGHT = 32, COUNT = WIDTH * HEIGHT };

typedef struct {
    isoline_context *context;
    uint8_t *pixels;
    uint8_t *map;
    isoline_image input, edges;
    isoline_edge_drawing_params params;
    isoline_segments *segments;
    isoline_report report;
} drawing_job;

/* Returns the value of `segments` before a call: an address that must not be dereferenced. */
static inline isoline_segments *untouched(void) {
    static int place;
    return (isoline_segments *)(void *)&place;
}

static inline drawing_job new_drawing_job(const char *device) {
    drawing_job made;
    made.context = open_context(device);
    made.pixels = drawing(WIDTH, HEIGHT, 1, 1);
    made.map = not_written(COUNT);
    made.input = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, made.pixels);
    made.edges = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, made.map);
    made.params = edge_defaults();
    made.segments = untouched();
    GOOD(isoline_report_init(&made.report, sizeof made.report));
    return made;
}

static inline isoline_status draw(drawing_job *work) {
    return isoline_edge_drawing(work->context, &work->input, &work->params, NULL, &work->edges, &work->segments,
                                &work->report);
}

static inline void end_drawing_job(drawing_job *work) {
    if (work->segments != untouched()) {
        isoline_segments_free(work->segments);
    }
    free(work->map);
    free(work->pixels);
    isoline_context_free(work->context);
}

#endif
