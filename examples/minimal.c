/* Edge strength of a picture with dark lines: minimal < in.pgm > out.pgm */
#include "isoline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned char pixels[1 << 24];
static float strength[1 << 24];

/* Ends the program with the library's message if a call has failed. */
static void check(isoline_status status) {
    if (status != ISOLINE_OK) {
        fprintf(stderr, "minimal: %s\n", isoline_last_error());
        exit(1);
    }
}

int main(void) {
    isoline_image in;
    check(isoline_image_init(&in, sizeof in));
    in.data = pixels;
    if (scanf("P5 %" SCNu64 " %" SCNu64 " 255%*c", &in.width, &in.height) != 2 || in.width == 0 ||
        in.height > sizeof pixels / in.width || fread(pixels, in.width, in.height, stdin) != in.height) {
        fprintf(stderr, "minimal: the input is not an 8-bit PGM of up to 16 megapixels\n");
        return 1;
    }
    isoline_image out = in;
    out.type = ISOLINE_F32;
    out.data = strength;

    isoline_edge_strength_params params;
    check(isoline_edge_strength_params_init(&params, sizeof params));
    params.foreground = ISOLINE_FOREGROUND_BELOW;
    params.threshold = 127;

    isoline_context *context = NULL;
    check(isoline_context_new("auto", &context));
    check(isoline_edge_strength(context, &in, &params, NULL, &out, NULL));
    isoline_context_free(context);

    printf("P5\n%" PRIu64 " %" PRIu64 "\n255\n", in.width, in.height);
    for (size_t i = 0; i < in.width * in.height; i++) {
        putchar((int)(255 * strength[i]));
    }
    return fflush(stdout) != 0 || ferror(stdout);
}
