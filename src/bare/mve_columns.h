/* mve_columns.h: what four output elements of a convolution of bytes see, as columns of bytes that lie vector by vector
 * in turns, laid by gathers of Helium. */
#ifndef OX_BARE_MVE_COLUMNS_H
#define OX_BARE_MVE_COLUMNS_H

#include "mve.h"
#include "shape.h"

#if OX_MVE
enum {
    OX_MVE_COLUMNS = 4,
    OX_MVE_TAPS = 56 /* the most of a window whose edges are laid by bits, of which there are eight more */
};

/* Where the elements of a window lie, from its first one on. */
static inline void ox_mve_find_places(const ox_shape *s, uint16_t *to) {
    for (ptrdiff_t c = 0; c < s->channels; c++)
        for (ptrdiff_t r = 0; r < s->rows; r++)
            for (ptrdiff_t k = 0; k < s->columns; k++)
                *to++ = (uint16_t)(c * s->in_count + r * s->row_step * s->in_columns + k * s->column_step);
}

/* A column of a window that lies within the image and begins at x. */
static inline void ox_mve_lay_window(const ox_shape *s, const int8_t *x, uint8_t flip, const uint16_t *places,
                                     int8_t *to) {
    const uint16x8_t turn = vdupq_n_u16(flip);
    ptrdiff_t more = OX_MVE_PAIRS; /* to the other half of a vector, or to the next one */
#if defined(__OPTIMIZE__)
    __asm__ volatile("wlstp.16 lr, %[k], 2f\n"
                     "1:\n"
                     "vldrh.u16 q0, [%[places]], #16\n vldrb.u16 q1, [%[x], q0]\n veor q1, q1, %q[turn]\n"
                     "vstrb.16 q1, [%[to]]\n add %[to], %[more]\n rsb %[more], %[more], %[vectors]\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [places] "+r"(places), [to] "+r"(to), [more] "+r"(more)
                     : [x] "r"(x), [k] "r"(s->k), [turn] "w"(turn), [vectors] "n"(OX_MVE_COLUMNS * OX_MVE_BYTES)
                     : "q0", "q1", "lr", "cc", "memory");
#else
    for (ptrdiff_t left = s->k; left > 0; left -= OX_MVE_PAIRS, places += OX_MVE_PAIRS) {
        const mve_pred16_t there = vctp16q((uint32_t)left);
        const uint16x8_t of = vldrbq_gather_offset_z_u16((const uint8_t *)x, vldrhq_z_u16(places, there), there);
        vstrbq_u16((uint8_t *)to, veorq_u16(of, turn));
        to += more;
        more = OX_MVE_COLUMNS * OX_MVE_BYTES - more;
    }
#endif
}

/* Which taps of a window lie within the image, of which one bit each is set, again and again. */
static inline uint64_t ox_mve_seen_taps(const ox_shape *s, ptrdiff_t top, ptrdiff_t left) {
    const int taps = (int)(s->rows * s->columns);
    uint64_t row = 0, all = 0;
    for (ptrdiff_t k = 0, at = left; k < s->columns; k++, at += s->column_step)
        row |= (uint64_t)((size_t)at < (size_t)s->in_columns) << k; /* below 0 is far above */
    for (ptrdiff_t r = 0, y = top; r < s->rows; r++, y += s->row_step)
        if ((size_t)y < (size_t)s->in_rows)
            all |= row << (r * s->columns);
    for (int n = taps; n < taps + OX_MVE_PAIRS; n *= 2)
        all |= all << n;
    return all;
}

/* The places of elements, and which taps are seen. */
typedef struct ox_mve_taps {
    const uint16_t *places;
    uint64_t seen;
} ox_mve_taps;

/* A column of a window of which only those taps lie within the image. */
static inline void ox_mve_lay_edge(const ox_shape *s, const int8_t *x, uint8_t flip, uint8_t beside,
                                   ox_mve_taps of_taps, int8_t *to) {
    const uint16_t *places = of_taps.places;
    const uint16x8_t turn = vdupq_n_u16(flip), zero = vdupq_n_u16(beside);
    const uint16x8_t bits = vshlq_u16(vdupq_n_u16(1), vreinterpretq_s16_u16(vidupq_n_u16(0, 1)));
    const int taps = (int)(s->rows * s->columns);
    ptrdiff_t more = OX_MVE_PAIRS;
    int first = 0;
    for (ptrdiff_t left = s->k; left > 0; left -= OX_MVE_PAIRS, places += OX_MVE_PAIRS) {
        const uint16x8_t which = vandq_u16(bits, vdupq_n_u16((uint16_t)(of_taps.seen >> first)));
        const mve_pred16_t there = vctp16q((uint32_t)left);
        const mve_pred16_t within = vcmpneq_m_u16(which, vdupq_n_u16(0), there);
        const uint16x8_t of = vldrbq_gather_offset_z_u16((const uint8_t *)x, vldrhq_z_u16(places, there), within);
        vstrbq_u16((uint8_t *)to, vpselq_u16(veorq_u16(of, turn), zero, within));
        to += more;
        more = OX_MVE_COLUMNS * OX_MVE_BYTES - more;
        for (first += OX_MVE_PAIRS; first >= taps;)
            first -= taps;
    }
}

/* Four elements of each channel that lie side by side, of which `count` are there: eight channels at a time, if their
 * places fit 16 bits. */
static inline void ox_mve_lay_pixels(const ox_shape *s, const int8_t *x, uint8_t flip, ptrdiff_t count, int8_t *to) {
    const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)s->in_count);
    const uint16x8_t turn = vdupq_n_u16(flip);
    const uint8_t *first = (const uint8_t *)x, *second = first + (count > 1), *third = first + (count > 2 ? 2 : 0),
                  *last = first + (count > 3 ? 3 : 0);
    const ptrdiff_t step = 8 * s->in_count;
    uint8_t *at = (uint8_t *)to;
    for (ptrdiff_t left = s->channels, more = OX_MVE_PAIRS; left > 0; left -= OX_MVE_PAIRS) {
        const mve_pred16_t there = vctp16q((uint32_t)left);
#define LAY(j, from)                                                                                                   \
    vstrbq_u16(at + (j)*OX_MVE_BYTES, veorq_u16(vldrbq_gather_offset_z_u16(from, places, there), turn)), from += step
        LAY(0, first);
        LAY(1, second);
        LAY(2, third);
        LAY(3, last);
#undef LAY
        at += more; /* the other half of the vectors, or the next four */
        more = OX_MVE_COLUMNS * OX_MVE_BYTES - more;
    }
}
#endif

#endif
