/* image_pnm.c: decoding PGM and PPM, plain (P2, P3) and binary (P5, P6). */
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "memory.h"
#include "tool.h"

typedef struct reader {
    const unsigned char *at;
    const unsigned char *end;
} reader;

static bool is_space(unsigned char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_space(reader *r) {
    while (r->at < r->end && (is_space(*r->at) || *r->at == '#'))
        if (*r->at++ == '#')
            while (r->at < r->end && *r->at != '\n')
                r->at++;
}

static bool take_number(reader *r, int64_t *number) {
    skip_space(r);
    const unsigned char *start = r->at;
    *number = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        *number = *number * 10 + (*r->at - '0');
        if (*number > OX_IMAGE_PIXELS)
            return false;
    }
    return r->at > start;
}

static bool take_sample(reader *r, bool is_plain, bool is_wide, int64_t *sample) {
    if (is_plain)
        return take_number(r, sample);
    if (r->end - r->at < 1 + is_wide)
        return false;
    *sample = *r->at++;
    if (is_wide)
        *sample = *sample << 8 | *r->at++;
    return true;
}

static ox_status invalid(ox_error *error, const char *what) {
    return ox_tool_fail(error, OX_ERROR_FILE, "not a valid PGM or PPM: %s", what);
}

/* Samples of 8 bits are taken as they are, even if the maximum is lower; wider ones are brought to 0..255. */
static ox_status read_samples(reader *r, bool is_plain, int64_t most, size_t count, ox_image *image, ox_error *error) {
    for (size_t i = 0; i < count; i++) {
        int64_t sample;
        if (!take_sample(r, is_plain, most > 255, &sample))
            return invalid(error, "samples are missing");
        if (sample > most)
            return invalid(error, "a sample exceeds the maximum in the header");
        image->samples[i] = (unsigned char)(most > 255 ? (sample * 255 + most / 2) / most : sample);
    }
    return OX_OK;
}

ox_status ox_image_pnm(const unsigned char *bytes, size_t size, ox_image *image, ox_error *error) {
    reader r = {bytes + 2, bytes + size};
    bool is_plain = bytes[1] < '5';
    int64_t most;
    *image = (ox_image){.channels = bytes[1] == '3' || bytes[1] == '6' ? 3 : 1};
    if (!take_number(&r, &image->width) || !take_number(&r, &image->height) || !take_number(&r, &most))
        return invalid(error, "width, height and maximum are missing");
    if (!image->width || !image->height || image->width > OX_IMAGE_PIXELS / image->height)
        return invalid(error, "its size is zero or too large");
    if (most < 1 || most > 65535)
        return invalid(error, "its maximum is not in 1 to 65535");
    if (!is_plain && (r.at == r.end || !is_space(*r.at++)))
        return invalid(error, "samples are missing");
    size_t count = (size_t)(image->width * image->height) * (size_t)image->channels;
    size_t least = is_plain ? (count - 1) * 2 + 1 : count;
    if (least > (size_t)(r.end - r.at))
        return invalid(error, "samples are missing");
    image->samples = ox_tool_alloc(count);
    ox_status status = read_samples(&r, is_plain, most, count, image, error);
    if (status) {
        free(image->samples);
        image->samples = NULL;
    }
    return status;
}
