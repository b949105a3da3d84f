/* jpeg2000.c: JPEG 2000, by OpenJPEG: gray, red-green-blue, and each with transparency, which is dropped. */
#include "image.h"

#include <string.h>

#include <openjpeg.h>

typedef struct stream {
    const unsigned char *data;
    size_t size, at;
} stream;

static OPJ_SIZE_T read_bytes(void *to, OPJ_SIZE_T size, void *context) {
    stream *s = context;
    const size_t left = s->size - s->at, count = size < left ? size : left;
    if (!count)
        return (OPJ_SIZE_T)-1;
    memcpy(to, s->data + s->at, count);
    s->at += count;
    return count;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T count, void *context) {
    stream *s = context;
    if (count < 0 || (uint64_t)count > s->size - s->at)
        return -1;
    s->at += (size_t)count;
    return count;
}

static OPJ_BOOL seek(OPJ_OFF_T to, void *context) {
    stream *s = context;
    if (to < 0 || (uint64_t)to > s->size)
        return OPJ_FALSE;
    s->at = (size_t)to;
    return OPJ_TRUE;
}

static opj_stream_t *open_stream(stream *s) {
    opj_stream_t *opened = opj_stream_default_create(OPJ_TRUE);
    if (!opened)
        return NULL;
    opj_stream_set_user_data(opened, s, NULL);
    opj_stream_set_user_data_length(opened, s->size);
    opj_stream_set_read_function(opened, read_bytes);
    opj_stream_set_skip_function(opened, skip_bytes);
    opj_stream_set_seek_function(opened, seek);
    return opened;
}

/* A sample of any number of bits, with or without sign, as a byte. */
static unsigned char byte_of(const opj_image_comp_t *c, int64_t i) {
    int64_t value = (int64_t)c->data[i] + (c->sgnd ? (int64_t)1 << (c->prec - 1) : 0);
    const int64_t most = ((int64_t)1 << c->prec) - 1;
    value = value < 0 ? 0 : value > most ? most : value;
    return (unsigned char)(c->prec == 8 ? value : value * 255 / most);
}

/* Planes of the same size, in colours that need no conversion. */
static bool is_plain(const opj_image_t *decoded) {
    if (decoded->numcomps < 1 || decoded->color_space == OPJ_CLRSPC_SYCC || decoded->color_space == OPJ_CLRSPC_CMYK ||
        decoded->color_space == OPJ_CLRSPC_EYCC)
        return false;
    for (uint32_t i = 0; i < decoded->numcomps && i < 3; i++) {
        const opj_image_comp_t *c = decoded->comps + i, *first = decoded->comps;
        if (!c->data || c->w != first->w || c->h != first->h || c->prec < 1 || c->prec > 31)
            return false;
    }
    return true;
}

static bool give(const opj_image_t *decoded, image *to) {
    const uint32_t colours = decoded->numcomps < 3 ? 1 : 3;
    if (!is_plain(decoded) || !image_room(to, decoded->comps->w, decoded->comps->h))
        return false;
    for (int64_t i = 0; i < to->height * to->width; i++)
        for (uint32_t k = 0; k < 3; k++)
            to->pixels[3 * i + k] = byte_of(decoded->comps + (colours == 3 ? k : 0), i);
    return true;
}

/* The header alone says how large it is: that is known before anything is decoded. */
static bool decode(opj_codec_t *codec, opj_stream_t *opened, opj_image_t **decoded, image *to) {
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    if (!opj_setup_decoder(codec, &parameters) || !opj_read_header(opened, codec, decoded))
        return false;
    const uint64_t width = (*decoded)->x1 - (*decoded)->x0, height = (*decoded)->y1 - (*decoded)->y0;
    to->is_large = width * height > IMAGE_MOST_PIXELS;
    return !to->is_large && opj_decode(codec, opened, *decoded) && opj_end_decompress(codec, opened);
}

bool image_jpeg2000(const unsigned char *data, size_t size, image *to) {
    stream s = {data, size, 0};
    opj_codec_t *codec = opj_create_decompress(data[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    opj_stream_t *opened = open_stream(&s);
    opj_image_t *decoded = NULL;
    const bool is_done = codec && opened && decode(codec, opened, &decoded, to) && give(decoded, to);
    opj_image_destroy(decoded);
    if (opened)
        opj_stream_destroy(opened);
    if (codec)
        opj_destroy_codec(codec);
    return is_done;
}
