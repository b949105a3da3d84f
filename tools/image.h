/* image.h: pictures as tensors. */
#ifndef OX_IMAGE_H
#define OX_IMAGE_H

#include "array.h"
#include "picture.h"

/* True if the bytes start as a PNG, a binary or plain PGM or PPM, or one of ox_image_foreign. */
bool ox_image_is(const unsigned char *bytes, size_t size);

/* Reads a picture as a tensor that fits the input `info`: its type; its layout [H,W], [C,H,W], [H,W,C], [N,C,H,W] or
 * [N,H,W,C] with N = 1; its number of channels (1 grey, 3 colour, 4 with alpha). The picture is resized, and its
 * samples are scaled, as `how` says; then it must have the input's size. */
ox_status ox_image_read(const unsigned char *bytes, size_t size, const ox_value_info *info, const ox_picture *how,
                        ox_array *array, ox_error *error);

/* ---- Decoders ------------------------------------------------------------------------------------------------- */

/* 8-bit samples, row by row, channels interleaved: 1 grey, 2 grey and alpha, 3 colour, 4 colour and alpha. */
typedef struct ox_image {
    int64_t width;
    int64_t height;
    int channels;
    unsigned char *samples;
} ox_image;

/* The most pixels that are decoded: 2 to the 28th. */
#define OX_IMAGE_PIXELS ((int64_t)1 << 28)

/* Resizes and crops as `how` says. (image_resize.c) */
ox_status ox_image_fit(ox_image *image, const ox_picture *how, ox_error *error);

/* The kind of a picture that the plug-in image.so reads, "a JPEG"; NULL for others. (image_plugin.c) */
const char *ox_image_foreign(const unsigned char *bytes, size_t size);

/* Reads such a picture in colour with the plug-in's operator ImageDecoder. Without the plug-in the error names the
 * libraries that building it needs. */
ox_status ox_image_decode(const unsigned char *bytes, size_t size, ox_image *image, ox_error *error);

ox_status ox_image_png(const unsigned char *bytes, size_t size, ox_image *image, ox_error *error);
ox_status ox_image_pnm(const unsigned char *bytes, size_t size, ox_image *image, ox_error *error);

#endif
