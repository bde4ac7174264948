/* 8-bit binary PGM files for the examples: one picture, or several one after the other as the slices of a stack. */
#ifndef ISOLINE_EXAMPLES_PGM_H
#define ISOLINE_EXAMPLES_PGM_H

#include "isoline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Reads up to `most` pictures of one size into `image`, whose pixels the caller frees, also on failure. Returns NULL, or
 * what is wrong.
 */
static inline const char *read_pgm(const char *path, uint64_t most, isoline_image *image) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return "cannot be opened";
    }
    const char *wrong = NULL;
    uint64_t width = 0, height = 0, depth = 0;
    image->type = ISOLINE_U8;
    image->data = NULL;
    do {
        uint64_t w = 0, h = 0;
        void *grown;
        if (fscanf(file, "P5 %" SCNu64 " %" SCNu64 " 255%*1[ \t\r\n]", &w, &h) != 2 || w == 0 || h == 0) {
            wrong = "is not an 8-bit binary PGM (P5, maximum 255)";
        } else if (depth > 0 && (w != width || h != height)) {
            wrong = "has pictures of different sizes";
        } else if (w > SIZE_MAX / (depth + 1) / h || (grown = realloc(image->data, w * h * (depth + 1))) == NULL) {
            wrong = "does not fit in memory";
        } else {
            image->data = grown;
            wrong = fread((char *)grown + w * h * depth, w, h, file) == h ? NULL : "ends too early";
            width = w;
            height = h;
            depth++;
        }
        const int next = getc(file);
        if (next == EOF) {
            break;
        }
        ungetc(next, file);
    } while (wrong == NULL && depth < most);
    fclose(file);
    image->width = width;
    image->height = height;
    image->depth = depth;
    return wrong;
}

/* Writes packed pixels, a picture for each slice. Returns NULL, or what is wrong. */
static inline const char *write_pgm(const char *path, const isoline_image *image) {
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return "cannot be made";
    }
    int good = 1;
    for (uint64_t z = 0; z < image->depth && good; z++) {
        const char *slice = (const char *)image->data + z * image->width * image->height;
        good = fprintf(file, "P5\n%" PRIu64 " %" PRIu64 "\n255\n", image->width, image->height) > 0 &&
               fwrite(slice, image->width, image->height, file) == image->height;
    }
    good = fclose(file) == 0 && good;
    return good ? NULL : "cannot be written";
}

#endif
