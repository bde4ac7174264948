/*
 * Edge strength of a PGM picture, written as PFM (32-bit float).
 *
 *     edge_strength [-d DEVICE] [-r RHO] [-n ITERATIONS | -c] [-t THRESHOLD] [-b] IN.pgm OUT.pfm
 *
 *     -d auto | cpu | cuda | cuda:N   where to run; auto takes a GPU when one is usable (default)
 *     -r RHO                          how far the field reaches, in pixels (default 64)
 *     -n ITERATIONS                   steps of the iteration (default 50)
 *     -c                              the converged field instead of a number of steps
 *     -t THRESHOLD -b                 shape is what is above the threshold (default 0), or with -b at or below it
 *
 * Exit status: 0 done; 1 wrong use or a file that cannot be read or written; 2 the library said no.
 */
#include "isoline.h"
#include "pgm.h"

#include <string.h>

enum { EXIT_DONE = 0, EXIT_USAGE = 1, EXIT_LIBRARY = 2 };

static const char USAGE[] =
    "usage: edge_strength [-d DEVICE] [-r RHO] [-n ITERATIONS | -c] [-t THRESHOLD] [-b] IN.pgm OUT.pfm\n";

/* PFM keeps the bottom row first. Returns NULL, or what is wrong. */
static const char *write_pfm(const char *path, const isoline_image *image) {
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return "cannot be made";
    }
    const float *pixels = image->data;
    int good = fprintf(file, "Pf\n%" PRIu64 " %" PRIu64 "\n-1.0\n", image->width, image->height) > 0;
    for (uint64_t row = image->height; row > 0 && good; row--) {
        good = fwrite(pixels + (row - 1) * image->width, sizeof(float), image->width, file) == image->width;
    }
    good = fclose(file) == 0 && good;
    return good ? NULL : "cannot be written";
}

static int run(const char *device, const isoline_edge_strength_params *params, const isoline_image *in,
               const isoline_image *out) {
    isoline_context *context = NULL;
    isoline_report report;
    isoline_status status = isoline_report_init(&report, sizeof report);
    if (status == ISOLINE_OK) {
        status = isoline_context_new(device, &context);
    }
    if (status == ISOLINE_OK) {
        status = isoline_edge_strength(context, in, params, NULL, out, &report);
    }
    if (status == ISOLINE_OK) {
        printf("%s: %" PRIu64 " iterations in %.1f ms\n", report.device_name, report.iterations,
               report.seconds_total * 1e3);
    } else {
        fprintf(stderr, "edge_strength: %s: %s\n", isoline_status_name(status), isoline_last_error());
    }
    isoline_context_free(context);
    return status == ISOLINE_OK ? EXIT_DONE : EXIT_LIBRARY;
}

int main(int argc, char **argv) {
    const char *device = "auto";
    isoline_image in, out;
    isoline_edge_strength_params params;
    isoline_image_init(&in, sizeof in);
    isoline_edge_strength_params_init(&params, sizeof params);

    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        const char option = argv[at][1];
        const int takes_value = option != '\0' && strchr("drnt", option) != NULL;
        if (takes_value && at + 1 == argc) {
            break;
        }
        switch (option) {
        case 'd': device = argv[++at]; break;
        case 'r': params.rho = atof(argv[++at]); break;
        case 'n': params.iterations = strtoull(argv[++at], NULL, 10); break;
        case 't': params.threshold = atof(argv[++at]); break;
        case 'c': params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED; break;
        case 'b': params.foreground = ISOLINE_FOREGROUND_BELOW; break;
        default: at = argc; break;
        }
    }
    if (argc - at != 2) {
        fputs(USAGE, stderr);
        return EXIT_USAGE;
    }

    const char *wrong = read_pgm(argv[at], 1, &in);
    if (wrong != NULL) {
        fprintf(stderr, "edge_strength: %s %s\n", argv[at], wrong);
        free(in.data);
        return EXIT_USAGE;
    }
    out = in;
    out.type = ISOLINE_F32;
    out.data = calloc(in.width * in.height, sizeof(float));
    int code = EXIT_USAGE;
    if (out.data == NULL) {
        fputs("edge_strength: not enough memory for the result\n", stderr);
    } else {
        code = run(device, &params, &in, &out);
    }
    if (code == EXIT_DONE && (wrong = write_pfm(argv[at + 1], &out)) != NULL) {
        fprintf(stderr, "edge_strength: %s %s\n", argv[at + 1], wrong);
        code = EXIT_USAGE;
    }
    free(in.data);
    free(out.data);
    return code;
}
