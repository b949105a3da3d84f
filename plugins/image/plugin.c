/* plugin.c: ImageDecoder. What shape the result has is known when the image is decoded, for a damaged one gives an
 * empty tensor: so infer decodes, too. */
#include "image.h"

#include <stdlib.h>
#include <string.h>

#include "ox.h"

bool image_room(image *to, int64_t width, int64_t height) {
    if (width < 1 || height < 1)
        return false;
    to->is_large = width > IMAGE_MOST_PIXELS / height;
    if (to->is_large)
        return false;
    to->width = width;
    to->height = height;
    to->pixels = malloc((size_t)(width * height) * 3);
    to->no_memory = !to->pixels;
    return to->pixels != NULL;
}

/* How files of a format begin. */
typedef struct signature {
    size_t at, size;
    const char *bytes;
    image_fn *decode;
} signature;

static const signature signatures[] = {
    {0, 8, "\x89PNG\r\n\x1a\n", image_png},
    {0, 3, "\xff\xd8\xff", image_jpeg},
    {0, 4, "II*\0", image_tiff},
    {0, 4, "MM\0*", image_tiff},
    {8, 4, "WEBP", image_webp},
    {4, 8, "jP  \r\n\x87\n", image_jpeg2000},
    {0, 4, "\xff\x4f\xff\x51", image_jpeg2000},
    {0, 2, "BM", image_bmp},
    {0, 1, "P", image_pnm},
};

/* An image without pixels if it cannot be decoded. */
static ox_status decode(ox_call *call, const ox_tensor *stream, image *to) {
    const unsigned char *data = stream->data;
    const size_t size = (size_t)stream->dims[0];
    *to = (image){0};
    for (size_t i = 0; data && i < sizeof signatures / sizeof *signatures; i++) {
        const signature *s = signatures + i;
        if (size < s->at + s->size || memcmp(data + s->at, s->bytes, s->size) != 0)
            continue;
        if (!s->decode(data, size, to)) {
            free(to->pixels);
            *to = (image){.is_large = to->is_large, .no_memory = to->no_memory};
        }
        break;
    }
    if (to->is_large)
        return ox_call_fail(call, OX_ERROR_LIMIT, "the image has more than %d pixels", (int)IMAGE_MOST_PIXELS);
    return to->no_memory ? ox_call_fail(call, OX_ERROR_MEMORY, "no memory for the image") : OX_OK;
}

static bool says(ox_string s, const char *text) {
    return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

static ox_status infer(ox_call *call) {
    const ox_string format = ox_call_string(call, "pixel_format", "RGB");
    const ox_tensor *stream = ox_call_input(call, 0);
    const bool is_gray = says(format, "Grayscale");
    ox_status status = ox_call_check_dtype(call, 0, 1u << OX_UINT8);
    image decoded;
    if (status)
        return status;
    if (!is_gray && !says(format, "RGB") && !says(format, "BGR"))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'pixel_format' must be RGB, BGR or Grayscale, not '%.*s'",
                            (int)(format.size < 32 ? format.size : 32), format.data);
    if (stream->rank != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "input 0 has rank %d, a list of bytes is expected", stream->rank);
    status = ox_call_data(call, 0, &stream);
    if (!status)
        status = decode(call, stream, &decoded);
    if (status)
        return status;
    free(decoded.pixels);
    return ox_call_output(call, 0, OX_UINT8, 3, (const int64_t[]){decoded.height, decoded.width, is_gray ? 1 : 3});
}

static ox_status run(ox_call *call) {
    const ox_string format = ox_call_string(call, "pixel_format", "RGB");
    const bool is_gray = says(format, "Grayscale"), is_turned = says(format, "BGR");
    const ox_tensor *out = ox_call_result(call, 0);
    unsigned char *to = out->data;
    image decoded;
    ox_status status = decode(call, ox_call_input(call, 0), &decoded);
    if (status)
        return status;
    /* It was the same image when infer saw it. */
    if (decoded.height != out->dims[0] || decoded.width != out->dims[1]) {
        free(decoded.pixels);
        return ox_call_fail(call, OX_ERROR_VALUE, "the image has another size now");
    }
    for (int64_t i = 0; i < decoded.height * decoded.width; i++) {
        const unsigned char *p = decoded.pixels + 3 * i;
        if (is_gray) /* the luma of ITU-R 601, in units of 2^-16 */
            *to++ = (unsigned char)((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 0x8000u) >> 16);
        for (int k = 0; !is_gray && k < 3; k++)
            *to++ = p[is_turned ? 2 - k : k];
    }
    free(decoded.pixels);
    return OX_OK;
}

static const ox_operator operators[] = {
    {.domain = "",
     .name = "ImageDecoder",
     .since = 20,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .dtypes = 1u << OX_UINT8,
     .infer = infer,
     .run = run},
};

const ox_plugin *ox_plugin_entry(void) {
    static const ox_plugin plugin = {OX_PLUGIN_ABI, "image", operators, 1};
    return &plugin;
}
