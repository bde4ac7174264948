/*
 * Segments a volume, or a picture, from a ball inside the object, and prints the volume found in units of the spacing.
 *
 *     level_set [-d DEVICE] [-s DX,DY,DZ] [-t TARGET -e EPSILON] [-a ALPHA] [-n ITERATIONS] [-2]
 *               IN.pgm X,Y,Z,RADIUS MASK.pgm
 *
 *     -d auto | cpu | cuda | cuda:N   where to run; auto takes a GPU when one is usable (default)
 *     -s DX,DY,DZ                     the size of a voxel, in a unit of yours (default 1,1,1)
 *     -t TARGET -e EPSILON            the intensities to take in: TARGET - EPSILON to TARGET + EPSILON
 *                                     (default: measured in the ball and around it)
 *     -a ALPHA                        the weight of the image against smoothness, 0 to 1 (default: automatic)
 *     -n ITERATIONS                   the most iterations (default 10000)
 *     -2                              every slice by itself
 *     X,Y,Z,RADIUS                    the ball: column, row and slice of its centre, counted from 0, and its radius in
 *                                     the unit
 *
 * IN.pgm is 8-bit; a file with several pictures one after the other is a volume. MASK.pgm is like it: 255 inside, else 0.
 * Exit status: 0 done; 1 wrong use or a file that cannot be read or written; 2 the library said no.
 */
#include "isoline.h"
#include "pgm.h"

#include <string.h>

enum { EXIT_DONE = 0, EXIT_USAGE = 1, EXIT_LIBRARY = 2 };
/* The front is looked at every so many iterations. */
enum { ITERATIONS_A_LOOK = 100 };

static const char USAGE[] =
    "usage: level_set [-d DEVICE] [-s DX,DY,DZ] [-t TARGET -e EPSILON] [-a ALPHA] [-n ITERATIONS] [-2]\n"
    "                 IN.pgm X,Y,Z,RADIUS MASK.pgm\n";

/* Returns a sentence on how the level set ended. One that has converged may still have found nothing. */
static const char *text_of_outcome(uint32_t outcome) {
    switch (outcome) {
    case ISOLINE_LEVEL_SET_FRONT: return "converged";
    case ISOLINE_LEVEL_SET_AT_LIMIT:
        return "converged, but many intensities inside are at the limits, which cut into the object: raise EPSILON";
    case ISOLINE_LEVEL_SET_FILLED: return "all is inside, no front is left: lower EPSILON, or choose another TARGET";
    case ISOLINE_LEVEL_SET_LOST: return "nothing is left inside: raise EPSILON, or choose another TARGET";
    default: return "not converged yet";
    }
}

/* Evolves until the front rests or the iterations are done, telling of it as it goes. */
static isoline_status evolve(isoline_level_set *surface, uint64_t iterations, double voxel) {
    isoline_level_set_state now;
    isoline_status status = isoline_level_set_state_init(&now, sizeof now);
    while (status == ISOLINE_OK && now.iterations < iterations && !now.converged) {
        const uint64_t left = iterations - now.iterations;
        status = isoline_level_set_step(surface, left < ITERATIONS_A_LOOK ? left : ITERATIONS_A_LOOK, NULL, NULL);
        if (status == ISOLINE_OK) {
            status = isoline_level_set_info(surface, &now);
        }
        if (status == ISOLINE_OK) {
            printf("%6" PRIu64 " iterations: %" PRIu64 " voxels, %g cubic units\n", now.iterations, now.inside,
                   (double)now.inside * voxel);
        }
    }
    if (status == ISOLINE_OK) {
        printf("%s; intensities %g to %g, alpha %g\n", text_of_outcome(now.outcome),
               now.target - now.epsilon, now.target + now.epsilon, now.alpha);
    }
    return status;
}

/* Segments `in` from the ball; `mask` holds the ball at first and the object in the end. */
static int run(const char *device, const isoline_level_set_params *params, const isoline_image *in,
               const isoline_sphere *ball, const isoline_image *mask) {
    isoline_context *context = NULL;
    isoline_level_set *surface = NULL;
    isoline_status status = isoline_mask_fill_spheres(mask, ball, 1, 255);
    if (status == ISOLINE_OK) {
        status = isoline_context_new(device, &context);
    }
    if (status == ISOLINE_OK) {
        status = isoline_level_set_new(context, in, mask, params, &surface);
    }
    if (status == ISOLINE_OK) {
        status = evolve(surface, params->iterations, in->spacing[0] * in->spacing[1] * in->spacing[2]);
    }
    if (status == ISOLINE_OK) {
        status = isoline_level_set_read_mask(surface, mask);
    }
    if (status != ISOLINE_OK) {
        fprintf(stderr, "level_set: %s: %s\n", isoline_status_name(status), isoline_last_error());
    }
    isoline_level_set_free(surface);
    isoline_context_free(context);
    return status == ISOLINE_OK ? EXIT_DONE : EXIT_LIBRARY;
}

int main(int argc, char **argv) {
    const char *device = "auto";
    isoline_image in, mask;
    isoline_level_set_params params;
    isoline_sphere ball;
    isoline_image_init(&in, sizeof in);
    isoline_level_set_params_init(&params, sizeof params);

    int at = 1, good = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        const char option = argv[at][1];
        const int takes_value = option != '\0' && strchr("dstean", option) != NULL;
        if (takes_value && at + 1 == argc) {
            break;
        }
        switch (option) {
        case 'd': device = argv[++at]; break;
        case 's': good &= sscanf(argv[++at], "%lf,%lf,%lf", &in.spacing[0], &in.spacing[1], &in.spacing[2]) == 3; break;
        case 't': params.target = atof(argv[++at]); break;
        case 'e': params.epsilon = atof(argv[++at]); break;
        case 'a': params.alpha = atof(argv[++at]); break;
        case 'n': params.iterations = strtoull(argv[++at], NULL, 10); break;
        case '2': params.dimensions = 2; break;
        default: good = 0; break;
        }
    }
    double *const centre = ball.centre;
    if (!good || argc - at != 3 ||
        sscanf(argv[at + 1], "%lf,%lf,%lf,%lf", &centre[0], &centre[1], &centre[2], &ball.radius) != 4) {
        fputs(USAGE, stderr);
        return EXIT_USAGE;
    }

    const char *wrong = read_pgm(argv[at], UINT64_MAX, &in);
    if (wrong != NULL) {
        fprintf(stderr, "level_set: %s %s\n", argv[at], wrong);
        free(in.data);
        return EXIT_USAGE;
    }
    mask = in;
    mask.data = calloc(in.width * in.height, in.depth);
    int code = EXIT_USAGE;
    if (mask.data == NULL) {
        fputs("level_set: not enough memory for the mask\n", stderr);
    } else {
        code = run(device, &params, &in, &ball, &mask);
    }
    if (code == EXIT_DONE && (wrong = write_pgm(argv[at + 2], &mask)) != NULL) {
        fprintf(stderr, "level_set: %s %s\n", argv[at + 2], wrong);
        code = EXIT_USAGE;
    }
    free(in.data);
    free(mask.data);
    return code;
}
