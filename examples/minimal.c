/* Edge strength of a picture with dark lines: minimal < in.pgm > out.pgm */
#include "isoline.h"
#include <stdio.h>
static unsigned char picture[1 << 24];
static float field[1 << 24];
int main(void) {
    isoline_image in, out; isoline_image_init(&in, sizeof in);
    if (scanf("P5 %lu %lu 255%*c", &in.width, &in.height) != 2) return 1;
    size_t pixels = fread(in.data = picture, 1, sizeof picture, stdin);
    if (pixels != in.width * in.height) return fprintf(stderr, "not an 8-bit PGM of up to 16 megapixels\n");
    out = in; out.type = ISOLINE_F32; out.data = field;
    isoline_edge_strength_params params; isoline_edge_strength_params_init(&params, sizeof params);
    params.foreground = ISOLINE_FOREGROUND_BELOW; params.threshold = 127;
    isoline_context *context = NULL;
    if (isoline_context_new("auto", &context) || isoline_edge_strength(context, &in, &params, NULL, &out, NULL))
        return fprintf(stderr, "%s\n", isoline_last_error());
    printf("P5\n%lu %lu\n255\n", in.width, in.height);
    for (size_t i = 0; i < pixels; i++) putchar((int)(255 * field[i]));
    isoline_context_free(context);
}
