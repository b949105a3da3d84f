/* plain.c: formats without compression, which need no library: bmp and pnm. */
#include "image.h"

#include <string.h>

/* ---- BMP -------------------------------------------------------------------------------------------------------- */

enum {
    BMP_HEADER = 14, /* of the file; that of the image follows */
    BMP_INFO = 40
};

static uint32_t little(const unsigned char *p, int bytes) {
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint32_t)p[i] << 8 * i;
    return value;
}

typedef struct bmp {
    const unsigned char *data, *palette;
    uint64_t size, first, row; /* where pixels begin, and bytes of a row */
    uint32_t bits, colours;
} bmp;

static bool put_pixel(const bmp *b, const unsigned char *row, int64_t x, unsigned char *to) {
    const unsigned char *p = row + x * b->bits / 8;
    if (b->bits <= 8) {
        const uint32_t shift = 8 - b->bits - (uint32_t)(x * b->bits % 8);
        const uint32_t colour = (uint32_t)*p >> shift & ((1u << b->bits) - 1);
        if (colour >= b->colours)
            return false;
        p = b->palette + 4 * colour;
    }
    if (b->bits == 16) { /* five bits each */
        const uint32_t value = little(p, 2);
        for (int k = 0; k < 3; k++)
            to[k] = (unsigned char)((value >> (10 - 5 * k) & 31) * 255 / 31);
        return true;
    }
    for (int k = 0; k < 3; k++)
        to[k] = p[2 - k];
    return true;
}

/* Rows come from the bottom up, unless the height is negative. */
bool image_bmp(const unsigned char *data, size_t size, image *to) {
    if (size < BMP_HEADER + BMP_INFO || little(data + 14, 4) < BMP_INFO)
        return false;
    const int64_t width = (int32_t)little(data + 18, 4), height = (int32_t)little(data + 22, 4);
    const uint64_t info = little(data + 14, 4), used = little(data + 46, 4);
    bmp b = {.data = data, .size = size, .first = little(data + 10, 4), .bits = little(data + 28, 2)};
    const bool is_known = b.bits == 1 || b.bits == 4 || b.bits == 8 || b.bits == 16 || b.bits == 24 || b.bits == 32;
    if (!is_known || little(data + 30, 4) != 0 || !image_room(to, width, height < 0 ? -height : height))
        return false;
    b.row = ((uint64_t)width * b.bits + 31) / 32 * 4;
    if (b.first > size || b.row * (uint64_t)to->height > size - b.first)
        return false;
    if (b.bits <= 8) {
        b.colours = used && used < 1u << b.bits ? (uint32_t)used : 1u << b.bits;
        if (info > size - BMP_HEADER || 4 * (uint64_t)b.colours > size - BMP_HEADER - info)
            return false;
        b.palette = data + BMP_HEADER + info;
    }
    for (int64_t y = 0; y < to->height; y++) {
        const unsigned char *row = data + b.first + b.row * (uint64_t)(height < 0 ? y : to->height - 1 - y);
        for (int64_t x = 0; x < width; x++)
            if (!put_pixel(&b, row, x, to->pixels + 3 * (y * width + x)))
                return false;
    }
    return true;
}

/* ---- PNM -------------------------------------------------------------------------------------------------------- */

typedef struct pnm {
    const unsigned char *at, *end;
    uint32_t most;
    char kind; /* '1' to '6' */
} pnm;

static bool is_space(unsigned char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_space(pnm *p) {
    while (p->at < p->end && (is_space(*p->at) || *p->at == '#')) {
        if (*p->at == '#')
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        else
            p->at++;
    }
}

static bool take_number(pnm *p, uint32_t *value) {
    skip_space(p);
    const unsigned char *first = p->at;
    *value = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9' && *value < 1u << 27; p->at++)
        *value = *value * 10 + (uint32_t)(*p->at - '0');
    return p->at > first && (p->at == p->end || *p->at < '0' || *p->at > '9');
}

/* A sample of 1 bit as text is one digit: they may follow each other without space. */
static bool take_sample(pnm *p, uint32_t *value) {
    const int bytes = p->most > 255 ? 2 : 1;
    if (p->kind == '1') {
        skip_space(p);
        if (p->at == p->end || (*p->at != '0' && *p->at != '1'))
            return false;
        *value = *p->at++ == '0';
        return true;
    }
    if (p->kind <= '3')
        return take_number(p, value);
    if (p->end - p->at < bytes)
        return false;
    *value = bytes == 2 ? (uint32_t)(p->at[0] << 8 | p->at[1]) : p->at[0];
    p->at += bytes;
    return true;
}

static bool put_samples(pnm *p, image *to) {
    const int samples = p->kind == '3' || p->kind == '6' ? 3 : 1;
    for (int64_t i = 0; i < to->height * to->width; i++) {
        uint32_t value = 0;
        for (int k = 0; k < 3; k++) {
            if (k < samples && (!take_sample(p, &value) || value > p->most))
                return false;
            to->pixels[3 * i + k] = (unsigned char)((value * 255 + p->most / 2) / p->most);
        }
    }
    return true;
}

/* Packed bits: 1 is black. Each row begins with a byte of its own. */
static bool put_bits(const pnm *p, image *to) {
    const int64_t row = (to->width + 7) / 8;
    if (p->end - p->at < row * to->height)
        return false;
    for (int64_t y = 0; y < to->height; y++)
        for (int64_t x = 0; x < to->width; x++)
            memset(to->pixels + 3 * (y * to->width + x), p->at[y * row + x / 8] >> (7 - x % 8) & 1 ? 0 : 255, 3);
    return true;
}

bool image_pnm(const unsigned char *data, size_t size, image *to) {
    pnm p = {.at = data + 2, .end = data + size, .most = 1, .kind = size > 2 ? (char)data[1] : '0'};
    uint32_t width, height;
    if (p.kind < '1' || p.kind > '6' || !take_number(&p, &width) || !take_number(&p, &height))
        return false;
    if (p.kind != '1' && p.kind != '4' && (!take_number(&p, &p.most) || p.most < 1 || p.most > 65535))
        return false;
    /* One space ends the header. */
    if (p.kind >= '4' && (p.at == p.end || !is_space(*p.at++)))
        return false;
    return image_room(to, width, height) && (p.kind == '4' ? put_bits(&p, to) : put_samples(&p, to));
}
