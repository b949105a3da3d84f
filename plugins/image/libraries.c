/* libraries.c: png, jpeg, webp and tiff. Transparency is dropped, 16 bits become 8. */
#include "image.h"

#include <stdlib.h>
#include <string.h>

#include <png.h>
#include <tiffio.h>
#include <turbojpeg.h>
#include <webp/decode.h>

/* Four bytes a pixel become three. `from` is malloced, and freed here. */
static bool drop_alpha(image *to, unsigned char *from) {
    for (int64_t i = 0; i < to->height * to->width; i++)
        memcpy(to->pixels + 3 * i, from + 4 * i, 3);
    free(from);
    return true;
}

bool image_png(const unsigned char *data, size_t size, image *to) {
    png_image png = {.version = PNG_IMAGE_VERSION};
    bool is_done = png_image_begin_read_from_memory(&png, data, size) != 0;
    if (is_done && image_room(to, png.width, png.height)) {
        unsigned char *all = malloc((size_t)(to->width * to->height) * 4);
        png.format = PNG_FORMAT_RGBA;
        png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
        to->no_memory = !all;
        is_done = all && png_image_finish_read(&png, NULL, all, 0, NULL) && drop_alpha(to, all);
        if (!is_done)
            free(all);
    } else
        is_done = false;
    png_image_free(&png);
    return is_done;
}

bool image_jpeg(const unsigned char *data, size_t size, image *to) {
    tjhandle jpeg = tjInitDecompress();
    int width = 0, height = 0, sampling, space; /* a file of tables alone has neither, and is no error to the library */
    bool is_done = jpeg && size <= UINT32_MAX &&
                   !tjDecompressHeader3(jpeg, data, (unsigned long)size, &width, &height, &sampling, &space) &&
                   width > 0 && height > 0 && image_room(to, width, height) &&
                   !tjDecompress2(jpeg, data, (unsigned long)size, to->pixels, width, 0, height, TJPF_RGB,
                                  TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS);
    if (jpeg)
        tjDestroy(jpeg);
    return is_done;
}

bool image_webp(const unsigned char *data, size_t size, image *to) {
    int width, height;
    return WebPGetInfo(data, size, &width, &height) && image_room(to, width, height) &&
           WebPDecodeRGBInto(data, size, to->pixels, (size_t)(width * height) * 3, width * 3) != NULL;
}

/* ---- TIFF ------------------------------------------------------------------------------------------------------- */

typedef struct stream {
    const unsigned char *data;
    uint64_t size, at;
} stream;

static tmsize_t read_bytes(thandle_t handle, void *to, tmsize_t size) {
    stream *s = handle;
    const uint64_t left = s->at < s->size ? s->size - s->at : 0;
    const uint64_t count = (uint64_t)size < left ? (uint64_t)size : left;
    memcpy(to, s->data + s->at, (size_t)count);
    s->at += count;
    return (tmsize_t)count;
}

static tmsize_t write_bytes(thandle_t handle, void *from, tmsize_t size) {
    (void)handle, (void)from, (void)size;
    return 0;
}

static toff_t seek(thandle_t handle, toff_t to, int whence) {
    stream *s = handle;
    s->at = whence == SEEK_SET ? to : whence == SEEK_CUR ? s->at + to : s->size + to;
    if (s->at > s->size)
        s->at = s->size;
    return s->at;
}

static int close_stream(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle) {
    return ((stream *)handle)->size;
}

/* The library prints nothing. */
static int hush(TIFF *tiff, void *context, const char *module, const char *format, va_list list) {
    (void)tiff, (void)context, (void)module, (void)format, (void)list;
    return 1;
}

static TIFF *open_tiff(stream *s) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    TIFF *tiff = NULL;
    if (!options)
        return NULL;
    TIFFOpenOptionsSetErrorHandlerExtR(options, hush, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(options, hush, NULL);
    tiff =
        TIFFClientOpenExt("image", "rm", s, read_bytes, write_bytes, seek, close_stream, size_of, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

bool image_tiff(const unsigned char *data, size_t size, image *to) {
    stream s = {data, size, 0};
    TIFF *tiff = open_tiff(&s);
    uint32_t width = 0, height = 0;
    bool is_done = tiff && TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width) &&
                   TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height) && image_room(to, width, height);
    if (is_done) {
        uint32_t *all = malloc((size_t)(to->width * to->height) * sizeof *all);
        to->no_memory = !all;
        is_done = all && TIFFReadRGBAImageOriented(tiff, width, height, all, ORIENTATION_TOPLEFT, 1);
        for (int64_t i = 0; is_done && i < to->width * to->height; i++) {
            to->pixels[3 * i] = (unsigned char)TIFFGetR(all[i]);
            to->pixels[3 * i + 1] = (unsigned char)TIFFGetG(all[i]);
            to->pixels[3 * i + 2] = (unsigned char)TIFFGetB(all[i]);
        }
        free(all);
    }
    if (tiff)
        TIFFClose(tiff);
    return is_done;
}
