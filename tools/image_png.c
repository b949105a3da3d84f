/* image_png.c: decoding PNG with libpng, but for builds without it (OX_WITHOUT_PNG). */
#ifndef OX_WITHOUT_PNG
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "tool.h"

typedef struct source {
    const unsigned char *bytes;
    size_t left;
    ox_error *error;
} source;

static void read_bytes(png_structp png, png_bytep to, size_t size) {
    source *from = png_get_io_ptr(png);
    if (size > from->left)
        png_error(png, "the file is cut off");
    memcpy(to, from->bytes, size);
    from->bytes += size;
    from->left -= size;
}

_Noreturn static void on_error(png_structp png, png_const_charp text) {
    source *from = png_get_error_ptr(png);
    ox_tool_fail(from->error, OX_ERROR_FILE, "not a valid PNG: %s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

/* Asks for 8-bit grey or colour, palettes and transparency resolved. */
static void set_transforms(png_structp png, png_infop info) {
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

/* The part that libpng may leave by longjmp: all that must be freed is reachable through the parameters. */
static void decode(png_structp png, png_infop info, ox_image *image) {
    png_set_user_limits(png, 1 << 20, 1 << 20);
    png_read_info(png, info);
    image->width = png_get_image_width(png, info);
    image->height = png_get_image_height(png, info);
    if (image->width * image->height > OX_IMAGE_PIXELS)
        png_error(png, "it has too many pixels");
    set_transforms(png, info);
    image->channels = png_get_channels(png, info);
    size_t row = (size_t)image->width * (size_t)image->channels;
    image->samples = calloc(row, (size_t)image->height);
    if (!image->samples || png_get_rowbytes(png, info) != row)
        png_error(png, "out of memory");
    for (int pass = png_get_interlace_type(png, info) == PNG_INTERLACE_ADAM7 ? 7 : 1; pass > 0; pass--)
        for (int64_t y = 0; y < image->height; y++)
            png_read_row(png, image->samples + (size_t)y * row, NULL);
}

ox_status ox_image_png(const unsigned char *bytes, size_t size, ox_image *image, ox_error *error) {
    source from = {bytes, size, error};
    *image = (ox_image){0};
    error->status = OX_OK;
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &from, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_read_struct(&png, NULL, NULL);
        return ox_tool_fail(error, OX_ERROR_MEMORY, "out of memory for a PNG");
    }
    png_set_read_fn(png, &from, read_bytes);
    if (!setjmp(png_jmpbuf(png)))
        decode(png, info, image);
    png_destroy_read_struct(&png, &info, NULL);
    if (error->status) {
        free(image->samples);
        image->samples = NULL;
    }
    return error->status;
}
#else
#include "image.h"
#include "tool.h"

ox_status ox_image_png(const unsigned char *bytes, size_t size, ox_image *image, ox_error *error) {
    (void)bytes, (void)size;
    *image = (ox_image){0};
    return ox_tool_fail(error, OX_ERROR_UNSUPPORTED, "this build of ox reads no PNG: give a .ppm, .pgm or .npy");
}
#endif
