/*
 * The edge strength of a stack that need not fit into memory: a raw file of 8-bit slices, one after the other, becomes a
 * raw file of 32-bit floats.
 *
 *     stream WIDTH HEIGHT DEPTH THRESHOLD IN.raw OUT.raw
 *
 * Exit status: 0 done; 1 wrong use or a file that cannot be opened; 2 the library said no, or a file could not be read or
 * written on the way.
 */
#include "isoline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An open file, and the bytes of a slice in it. */
typedef struct {
    FILE *file;
    size_t slice_bytes;
} stack;

/* Slices come in ascending order, so that the file is read from its beginning to its end. */
static const char *read_slice(void *user, uint64_t slice, void *pixels) {
    const stack *in = user;
    (void)slice;
    if (fread(pixels, 1, in->slice_bytes, in->file) == in->slice_bytes) {
        return NULL;
    }
    return feof(in->file) ? "the file ends before its last slice" : strerror(errno);
}

static const char *write_slice(void *user, uint64_t slice, const void *pixels) {
    const stack *out = user;
    (void)slice;
    return fwrite(pixels, 1, out->slice_bytes, out->file) == out->slice_bytes ? NULL : strerror(errno);
}

static isoline_status run(const isoline_image *in, const isoline_image *out, double threshold) {
    isoline_context *context = NULL;
    isoline_edge_strength_params params;
    isoline_status status = isoline_edge_strength_params_init(&params, sizeof params);
    params.threshold = threshold;
    if (status == ISOLINE_OK) {
        status = isoline_context_new("auto", &context);
    }
    if (status == ISOLINE_OK) {
        status = isoline_edge_strength(context, in, &params, NULL, out, NULL);
    }
    if (status != ISOLINE_OK) {
        fprintf(stderr, "stream: %s: %s\n", isoline_status_name(status), isoline_last_error());
    }
    isoline_context_free(context);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fputs("usage: stream WIDTH HEIGHT DEPTH THRESHOLD IN.raw OUT.raw\n", stderr);
        return 1;
    }
    isoline_image in, out;
    if (isoline_image_init(&in, sizeof in) != ISOLINE_OK) {
        return 2;
    }
    in.memory = ISOLINE_SLICES;
    in.width = strtoull(argv[1], NULL, 10);
    in.height = strtoull(argv[2], NULL, 10);
    in.depth = strtoull(argv[3], NULL, 10);
    out = in;
    out.type = ISOLINE_F32;
    stack from = {fopen(argv[5], "rb"), (size_t)(in.width * in.height)};
    stack to = {fopen(argv[6], "wb"), (size_t)(in.width * in.height) * sizeof(float)};
    if (from.file == NULL || to.file == NULL) {
        perror(from.file == NULL ? argv[5] : argv[6]);
        return 1;
    }
    in.user = &from;
    in.read_slice = read_slice;
    out.user = &to;
    out.write_slice = write_slice;
    isoline_status status = run(&in, &out, strtod(argv[4], NULL));
    fclose(from.file);
    if (fclose(to.file) != 0 && status == ISOLINE_OK) {
        perror(argv[6]);
        return 2;
    }
    return status == ISOLINE_OK ? 0 : 2;
}
