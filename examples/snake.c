/*
 * Outlines objects in a noisy picture, each from a rectangle round or in it, and prints what is in them.
 *
 *     snake [-d DEVICE] [-m MODEL] [-s SPACING] [-c COST] [-w MARGIN] IN.pgm MASK.pgm [X0,Y0,X1,Y1 ...]
 *
 *     -d auto | cpu | cuda | cuda:N   where to run; auto takes a GPU when one is usable (default)
 *     -m gaussian | poisson | gamma | rayleigh | bernoulli   how the pixels scatter (default gaussian)
 *     -s SPACING                      edges longer than this get another node, in pixels (default 16)
 *     -c COST                         what a node costs (default 0.5); more leaves out those that only follow noise
 *     -w MARGIN                       the background is a window round each rectangle, wider on each side by this times its
 *                                     longer side (default: all of the picture)
 *     X0,Y0,X1,Y1                     a rectangle: its left, upper, right and lower side, in pixels from the upper left
 *                                     corner (default: one that leaves a quarter of each side free around it)
 *
 * IN.pgm is 8-bit; MASK.pgm is like it: 255 in the objects, else 0. Outlines go to the standard output, an object a line,
 * as the path of an SVG.
 * Exit status: 0 done; 1 wrong use or a file that cannot be read or written; 2 the library said no.
 */
#include "isoline.h"
#include "pgm.h"

#include <string.h>

enum { EXIT_DONE = 0, EXIT_USAGE = 1, EXIT_LIBRARY = 2 };
enum { CORNERS = 4 };

static const char USAGE[] = "usage: snake [-d DEVICE] [-m MODEL] [-s SPACING] [-c COST] [-w MARGIN] IN.pgm MASK.pgm\n"
                            "             [X0,Y0,X1,Y1 ...]\n";
static const char *const STATUSES[] = {"running", "converged", "vanished", "outside the picture", "iteration limit"};

/* Prints one target: what is known of it, and its outline. */
static isoline_status print_target(isoline_snake *snake, size_t index) {
    isoline_target_statistics statistics;
    const isoline_node *nodes = NULL;
    size_t count = 0;
    isoline_status status = isoline_snake_statistics(snake, index, 1, &statistics, &count);
    if (status == ISOLINE_OK) {
        status = isoline_snake_polygon(snake, index, &nodes, &count);
    }
    if (status == ISOLINE_OK) {
        fprintf(stderr, "%zu: %s after %" PRIu64 " steps, %" PRIu64 " pixels of %.1f +- %.1f, background %.1f +- %.1f\n",
                index + 1, STATUSES[statistics.status], statistics.iterations, statistics.pixels, statistics.mean, statistics.deviation,
                statistics.background_mean, statistics.background_deviation);
        for (size_t i = 0; i < count; i++) {
            printf("%s%" PRId32 " %" PRId32, i == 0 ? "M " : " L ", nodes[i].x, nodes[i].y);
        }
        puts(" Z");
    }
    return status;
}

/* Searches from the polygons, or from the default rectangle; draws what it finds into `mask`. */
static int run(const char *device, const isoline_snake_params *params, const isoline_image *in,
               const isoline_polygons *initial, const isoline_image *mask) {
    isoline_context *context = NULL;
    isoline_snake *snake = NULL;
    isoline_status status = isoline_context_new(device, &context);
    if (status == ISOLINE_OK) {
        status = isoline_snake_run(context, in, initial, params, NULL, NULL, &snake, NULL);
    }
    for (size_t i = 0; status == ISOLINE_OK && i < isoline_snake_count(snake); i++) {
        status = print_target(snake, i);
    }
    if (status == ISOLINE_OK) {
        status = isoline_snake_draw_mask(snake, mask);
    }
    if (status != ISOLINE_OK) {
        fprintf(stderr, "snake: %s: %s\n", isoline_status_name(status), isoline_last_error());
    }
    isoline_snake_free(snake);
    isoline_context_free(context);
    return status == ISOLINE_OK ? EXIT_DONE : EXIT_LIBRARY;
}

/* The number of a model's name, or one that the library refuses. */
static uint32_t noise_named(const char *name) {
    static const char *const names[] = {"gaussian", "poisson", "gamma", "rayleigh", "bernoulli"};
    uint32_t number = ISOLINE_SNAKE_NOISE_GAUSSIAN;
    while (number <= ISOLINE_SNAKE_NOISE_BERNOULLI && strcmp(names[number], name) != 0) {
        number++;
    }
    return number;
}

/* Reads rectangles into nodes and offsets, which the caller frees; whether all are some. */
static int read_rectangles(char **texts, size_t count, isoline_polygons *rectangles) {
    isoline_node *nodes = malloc(count * CORNERS * sizeof *nodes);
    uint64_t *offsets = malloc((count + 1) * sizeof *offsets);
    int good = nodes != NULL && offsets != NULL;
    for (size_t i = 0; i < count && good; i++) {
        int32_t x0, y0, x1, y1;
        good = sscanf(texts[i], "%" SCNd32 ",%" SCNd32 ",%" SCNd32 ",%" SCNd32, &x0, &y0, &x1, &y1) == 4;
        if (good) {
            const isoline_node corners[CORNERS] = {{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}};
            memcpy(nodes + i * CORNERS, corners, sizeof corners);
            offsets[i] = i * CORNERS;
            offsets[i + 1] = (i + 1) * CORNERS;
        }
    }
    rectangles->count = count;
    rectangles->node_count = count * CORNERS;
    rectangles->nodes = nodes;
    rectangles->offsets = offsets;
    return good;
}

int main(int argc, char **argv) {
    const char *device = "auto";
    isoline_image in, mask;
    isoline_snake_params params;
    isoline_polygons rectangles;
    isoline_image_init(&in, sizeof in);
    isoline_snake_params_init(&params, sizeof params);
    isoline_polygons_init(&rectangles, sizeof rectangles);

    int at = 1, good = 1;
    for (; at + 1 < argc && argv[at][0] == '-'; at++) {
        switch (argv[at][1]) {
        case 'd': device = argv[++at]; break;
        case 'm': params.noise = noise_named(argv[++at]); break;
        case 's': params.node_spacing = atof(argv[++at]); break;
        case 'c': params.node_cost = atof(argv[++at]); break;
        case 'w':
            params.background = ISOLINE_SNAKE_BACKGROUND_WINDOW;
            params.margin = atof(argv[++at]);
            break;
        default: good = 0; break;
        }
    }
    if (!good || argc - at < 2) {
        fputs(USAGE, stderr);
        return EXIT_USAGE;
    }
    const char *wrong = read_pgm(argv[at], 1, &in);
    if (wrong != NULL) {
        fprintf(stderr, "snake: %s %s\n", argv[at], wrong);
        free(in.data);
        return EXIT_USAGE;
    }
    mask = in;
    mask.data = malloc(in.width * in.height);
    const size_t count = (size_t)(argc - at - 2);
    int code = EXIT_USAGE;
    if (mask.data == NULL) {
        fputs("snake: not enough memory for the mask\n", stderr);
    } else if (count > 0 && !read_rectangles(argv + at + 2, count, &rectangles)) {
        fputs(USAGE, stderr);
    } else {
        code = run(device, &params, &in, count > 0 ? &rectangles : NULL, &mask);
    }
    if (code == EXIT_DONE && (wrong = write_pgm(argv[at + 1], &mask)) != NULL) {
        fprintf(stderr, "snake: %s %s\n", argv[at + 1], wrong);
        code = EXIT_USAGE;
    }
    if (code == EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout))) {
        fputs("snake: the outlines could not be written to the standard output\n", stderr);
        code = EXIT_USAGE;
    }
    free((void *)rectangles.nodes);
    free((void *)rectangles.offsets);
    free(in.data);
    free(mask.data);
    return code;
}
