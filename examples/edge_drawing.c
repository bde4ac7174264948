/*
 * Edges of a PGM picture: a map of them as PGM, and their segments as CSV.
 *
 *     edge_drawing [-d DEVICE] [-R] [-o OPERATOR] [-t THRESHOLD] [-a ANCHOR] [-s SCAN] [-l LENGTH] [-f]
 *                  IN.pgm EDGES.pgm [SEGMENTS.csv]
 *
 *     -d auto | cpu | cuda | cuda:N   where to run; auto takes a GPU when one is usable (default)
 *     -R                              the reference profile: what OpenCV's EdgeDrawing finds
 *     -o sobel | prewitt | scharr     how the gradient is measured (default sobel)
 *     -t THRESHOLD                    the smallest gradient of an edge (default: automatic, 20 here)
 *     -a ANCHOR                       how far anchors stand out from their neighbours (default 0)
 *     -s SCAN                         anchors on every SCANth row and column (default 1)
 *     -l LENGTH                       drop segments of fewer points (default 10)
 *     -f                              follow edges round turns (paper profile)
 *
 * SEGMENTS.csv has a line for every point: segment,closed,mean gradient,x,y.
 * Exit status: 0 done; 1 wrong use or a file that cannot be read or written; 2 the library said no.
 */
#include "isoline.h"
#include "pgm.h"

#include <string.h>

enum { EXIT_DONE = 0, EXIT_USAGE = 1, EXIT_LIBRARY = 2 };

static const char USAGE[] = "usage: edge_drawing [-d DEVICE] [-R] [-o OPERATOR] [-t THRESHOLD] [-a ANCHOR] [-s SCAN]\n"
                            "                    [-l LENGTH] [-f] IN.pgm EDGES.pgm [SEGMENTS.csv]\n";

/* The arrays are the library's: they are read in place, and are gone with the segments. */
static const char *write_csv(const char *path, const isoline_segment_arrays *all) {
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return "cannot be made";
    }
    int good = fputs("segment,closed,mean gradient,x,y\n", file) >= 0;
    for (uint64_t segment = 0; segment < all->count; segment++) {
        const int closed = (all->flags[segment] & ISOLINE_SEGMENT_CLOSED) != 0;
        for (uint64_t i = all->offsets[segment]; i < all->offsets[segment + 1] && good; i++) {
            good = fprintf(file, "%" PRIu64 ",%d,%g,%" PRIu32 ",%" PRIu32 "\n", segment, closed,
                           (double)all->mean_gradients[segment], all->points[i].x, all->points[i].y) > 0;
        }
    }
    good = fclose(file) == 0 && good;
    return good ? NULL : "cannot be written";
}

/* Draws the edges; `csv` may be NULL. */
static int run(const char *device, const isoline_edge_drawing_params *params, const isoline_image *in,
               const isoline_image *edges, const char *csv) {
    isoline_context *context = NULL;
    isoline_segments *segments = NULL;
    isoline_segment_arrays all;
    isoline_report report;
    isoline_segment_arrays_init(&all, sizeof all);
    isoline_report_init(&report, sizeof report);
    isoline_status status = isoline_context_new(device, &context);
    if (status == ISOLINE_OK) {
        status = isoline_edge_drawing(context, in, params, NULL, edges, &segments, &report);
    }
    if (status == ISOLINE_OK) {
        status = isoline_segments_all(segments, &all);
    }
    int code = status == ISOLINE_OK ? EXIT_DONE : EXIT_LIBRARY;
    if (status == ISOLINE_OK) {
        printf("%s: %" PRIu64 " segments of %" PRIu64 " points in %.1f ms\n", report.device_name, all.count,
               all.point_count, report.seconds_total * 1e3);
        const char *wrong = csv == NULL ? NULL : write_csv(csv, &all);
        if (wrong != NULL) {
            fprintf(stderr, "edge_drawing: %s %s\n", csv, wrong);
            code = EXIT_USAGE;
        }
    } else {
        fprintf(stderr, "edge_drawing: %s: %s\n", isoline_status_name(status), isoline_last_error());
    }
    isoline_segments_free(segments);
    isoline_context_free(context);
    return code;
}

/* The number of an operator's name, or one that the library refuses. */
static uint32_t operator_named(const char *name) {
    static const char *const names[] = {"sobel", "prewitt", "scharr"};
    uint32_t number = ISOLINE_GRADIENT_SOBEL;
    while (number <= ISOLINE_GRADIENT_SCHARR && strcmp(names[number], name) != 0) {
        number++;
    }
    return number;
}

int main(int argc, char **argv) {
    const char *device = "auto";
    isoline_image in, edges;
    isoline_edge_drawing_params params;
    isoline_image_init(&in, sizeof in);
    isoline_edge_drawing_params_init(&params, sizeof params);

    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        const char option = argv[at][1];
        const int takes_value = option != '\0' && strchr("dotasl", option) != NULL;
        if (takes_value && at + 1 == argc) {
            break;
        }
        switch (option) {
        case 'd': device = argv[++at]; break;
        case 'R': params.profile = ISOLINE_EDGE_DRAWING_REFERENCE; break;
        case 'o': params.gradient_operator = operator_named(argv[++at]); break;
        case 't': params.gradient_threshold = atof(argv[++at]); break;
        case 'a': params.anchor_threshold = atof(argv[++at]); break;
        case 's': params.scan_interval = (uint32_t)strtoul(argv[++at], NULL, 10); break;
        case 'l': params.min_length = (uint32_t)strtoul(argv[++at], NULL, 10); break;
        case 'f': params.follow_turns = 1; break;
        default: at = argc; break;
        }
    }
    if (argc - at != 2 && argc - at != 3) {
        fputs(USAGE, stderr);
        return EXIT_USAGE;
    }

    const char *wrong = read_pgm(argv[at], 1, &in);
    if (wrong != NULL) {
        fprintf(stderr, "edge_drawing: %s %s\n", argv[at], wrong);
        free(in.data);
        return EXIT_USAGE;
    }
    edges = in;
    edges.data = malloc(in.width * in.height);
    int code = EXIT_USAGE;
    if (edges.data == NULL) {
        fputs("edge_drawing: not enough memory for the result\n", stderr);
    } else {
        code = run(device, &params, &in, &edges, argc - at == 3 ? argv[at + 2] : NULL);
    }
    if (code == EXIT_DONE && (wrong = write_pgm(argv[at + 1], &edges)) != NULL) {
        fprintf(stderr, "edge_drawing: %s %s\n", argv[at + 1], wrong);
        code = EXIT_USAGE;
    }
    free(in.data);
    free(edges.data);
    return code;
}
