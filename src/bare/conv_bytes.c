/* conv_bytes.c: convolutions of bytes in little memory. What four output elements see is laid out once, in 16 bits less
 * the zero point, for all output channels of a group, and multiplied by weights where they lie in flash. Depthwise
 * kernels of 3x3 go over rows of their channel that are laid out with their padding. */
#include "ops/window/conv_integer.h"

#include "requantize.h"
#include "shape.h"

enum {
    AT_ONCE = 4, /* output elements */
    QUAD = 4     /* products that are laid out together */
};

static bool is_depthwise(const ox_shape *s) {
    return OX_WITH_DEPTH && s->channels == 1 && s->outputs == 1 && s->rows == 3 && s->columns == 3 &&
           s->column_step == 1;
}

static ptrdiff_t quads(const ox_shape *s) {
    return (s->k + QUAD - 1) / QUAD;
}

size_t ox_conv_bytes_room(const ox_conv *conv) {
    if (!ox_shape_fits(conv, sizeof(int16_t)))
        return 0;
    const ox_shape s = ox_shape_of(conv);
    if (!is_depthwise(&s) && conv->in_channels > (1 << 24) / (s.rows * s.columns))
        return 0;
    return sizeof(int16_t) *
           (size_t)(is_depthwise(&s) ? ox_band_count(&s, sizeof(int16_t)) : quads(&s) * QUAD * AT_ONCE);
}

/* ---- Four columns ------------------------------------------------------------------------------------------------ */

/* Bytes are taken as signed ones: unsigned ones move by 128, as their zero points do. */
typedef struct reading {
    uint32_t flip; /* 0x80808080 to move them */
    int32_t zero;
} reading;

static reading reading_of(ox_dtype dtype, int32_t zero) {
    return dtype == OX_INT8 ? (reading){0, zero} : (reading){0x80808080, zero - 128};
}

/* Where product i of a quad is among those of its column: the order in which bytes are widened. */
#if OX_DSP
#define PLACE(i) (((i)&1) << 1 | (i) >> 1)
#else
#define PLACE(i) (i)
#endif

/* Element i of column j lies at to[i / QUAD * QUAD * AT_ONCE + j * QUAD + PLACE(i % QUAD)]. */
static void lay_column(const ox_shape *s, const int8_t *x, reading how, ptrdiff_t out, int16_t *to) {
    const ptrdiff_t row = out / s->out_columns, column = out - row * s->out_columns;
    const ptrdiff_t top = row * s->row_stride - s->top, left = column * s->column_stride - s->left;
    const int8_t flip = (int8_t)how.flip;
    const int32_t zero = how.zero;
    const ptrdiff_t step = s->column_step, end = left + s->columns * step;
    ptrdiff_t i = 0;
    for (ptrdiff_t c = 0; c < s->channels; c++, x += s->in_count)
        for (ptrdiff_t r = 0, y = top; r < s->rows; r++, y += s->row_step) {
            const int8_t *from = x + y * s->in_columns;
            const size_t seen = (size_t)y < (size_t)s->in_rows ? (size_t)s->in_columns : 0; /* below 0 is far above */
            for (ptrdiff_t at = left; at < end; at += step) {
                to[PLACE(i)] = (size_t)at < seen ? (int16_t)((int8_t)(from[at] ^ flip) - zero) : 0;
                if (++i == QUAD) {
                    i = 0;
                    to += QUAD * AT_ONCE;
                }
            }
        }
    for (; i && i < QUAD; i++)
        to[PLACE(i)] = 0;
}

#if OX_DSP
static inline uint32_t load_word(const void *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

/* Bytes 0 and 2 of a word as numbers of 16 bits, and bytes 1 and 3. */
static inline uint32_t even_bytes(uint32_t word) {
    return (uint32_t)__builtin_arm_sxtb16((int32_t)word);
}
static inline uint32_t odd_bytes(uint32_t word) {
    uint32_t odd;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(word));
    return odd;
}
static inline uint32_t less(uint32_t a, uint32_t b) {
    return (uint32_t)__builtin_arm_ssub16((int32_t)a, (int32_t)b);
}
/* The lower, or the upper, halves of two words. */
static inline uint32_t bottoms(uint32_t a, uint32_t b) {
    uint32_t both;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(both) : "r"(a), "r"(b));
    return both;
}
static inline uint32_t tops(uint32_t a, uint32_t b) {
    uint32_t both;
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(both) : "r"(b), "r"(a));
    return both;
}

/* The same of four elements of each channel that lie side by side, channel by channel. */
static void lay_pixels(const ox_shape *s, const int8_t *x, reading how, int16_t *room) {
    const uint32_t zeros = bottoms((uint32_t)how.zero, (uint32_t)how.zero);
    uint32_t *to = (uint32_t *)(void *)room;
    for (ptrdiff_t left = s->channels; left > 0; left -= QUAD) {
        uint32_t even[QUAD] = {0}, odd[QUAD] = {0};
#pragma GCC unroll 4
        for (int i = 0; i < QUAD; i++)
            if (i < left) {
                const uint32_t word = load_word(x) ^ how.flip;
                even[i] = less(even_bytes(word), zeros);
                odd[i] = less(odd_bytes(word), zeros);
                x += s->in_count;
            }
        *to++ = bottoms(even[0], even[2]), *to++ = bottoms(even[1], even[3]);
        *to++ = bottoms(odd[0], odd[2]), *to++ = bottoms(odd[1], odd[3]);
        *to++ = tops(even[0], even[2]), *to++ = tops(even[1], even[3]);
        *to++ = tops(odd[0], odd[2]), *to++ = tops(odd[1], odd[3]);
    }
}
#endif

/* Sums wrap. */
static inline int32_t plus(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

#if OX_DSP
/* The last weights of a row, of which there are less than a quad, with zeros behind. */
static inline uint32_t last_weights(const int8_t *w, ptrdiff_t count, uint32_t flip) {
    uint32_t word = flip;
    memcpy(&word, w, (size_t)count);
    return word ^ flip;
}

static inline const uint32_t *multiply(const uint32_t *x, uint32_t word, int32_t *sums) {
    const uint32_t even = even_bytes(word), odd = odd_bytes(word);
#pragma GCC unroll 4
    for (int j = 0; j < AT_ONCE; j++) {
        sums[j] = __builtin_arm_smlad((int32_t)even, (int32_t)x[2 * j], sums[j]);
        sums[j] = __builtin_arm_smlad((int32_t)odd, (int32_t)x[2 * j + 1], sums[j]);
    }
    return x + 2 * AT_ONCE;
}

static void multiply_row(const int16_t *columns, const int8_t *w, ptrdiff_t k, uint32_t flip, int32_t sums[AT_ONCE]) {
    const uint32_t *x = (const uint32_t *)(const void *)columns;
    int32_t of[AT_ONCE] = {sums[0], sums[1], sums[2], sums[3]};
    const int8_t *end = w + (k & ~(QUAD - 1));
    if (flip)
        for (; w < end; w += QUAD)
            x = multiply(x, load_word(w) ^ flip, of);
    else
        for (; w < end; w += QUAD)
            x = multiply(x, load_word(w), of);
    if (k & (QUAD - 1))
        multiply(x, last_weights(w, k & (QUAD - 1), flip), of);
    memcpy(sums, of, sizeof of);
}
#else
static inline void multiply(const int16_t *x, int32_t w, int32_t *sums) {
#pragma GCC unroll 4
    for (int j = 0; j < AT_ONCE; j++)
        sums[j] = plus(sums[j], w * x[j * QUAD]);
}

static void multiply_row(const int16_t *x, const int8_t *w, ptrdiff_t k, uint32_t flip, int32_t sums[AT_ONCE]) {
    int32_t of[AT_ONCE] = {sums[0], sums[1], sums[2], sums[3]};
    const int8_t *end = w + (k & ~(QUAD - 1));
    for (; w < end; w += QUAD, x += QUAD * AT_ONCE)
#pragma GCC unroll 4
        for (int i = 0; i < QUAD; i++)
            multiply(x + i, (int8_t)(w[i] ^ (int8_t)flip), of);
    for (ptrdiff_t i = 0; i < (k & (QUAD - 1)); i++)
        multiply(x + i, (int8_t)(w[i] ^ (int8_t)flip), of);
    memcpy(sums, of, sizeof of);
}
#endif

/* What each column sums up to, for zero points of weights. */
static void sum_columns(const int16_t *columns, ptrdiff_t k, int32_t sums[AT_ONCE]) {
    for (int j = 0; j < AT_ONCE; j++) {
        const int16_t *x = columns + j * QUAD;
        sums[j] = 0;
        for (ptrdiff_t left = k; left > 0; left -= QUAD, x += QUAD * AT_ONCE)
            sums[j] = plus(sums[j], x[0] + x[1] + x[2] + x[3]);
    }
}

static int32_t weight_zero(const ox_conv_bytes *c, ptrdiff_t channel) {
    const int32_t zero =
        c->w_zeros ? (int32_t)ox_tensor_int(c->w_zeros, ox_tensor_count(c->w_zeros) == 1 ? 0 : channel) : 0;
    return reading_of(c->w_dtype, zero).zero;
}

/* Results of the first output channel `first` on, from four columns of which `count` are there. */
static void finish_columns(const ox_conv_bytes *c, const ox_shape *s, const int16_t *columns, ptrdiff_t first,
                           ptrdiff_t count, uint8_t *to) {
    const uint32_t flip = reading_of(c->w_dtype, 0).flip;
    const bool zeros = c->w_zeros || flip;
    ox_requantizer q = ox_requantizer_of(c->y_dtype, c->y_zero);
    int32_t seen[AT_ONCE];
    if (zeros)
        sum_columns(columns, s->k, seen);
    const int8_t *w = (const int8_t *)c->w + first * s->k;
    for (ptrdiff_t o = first; o < first + s->outputs; o++, w += s->k, to += s->out_count) {
        const uint32_t more = c->ends[o].more;
        int32_t sums[AT_ONCE] = {(int32_t)more, (int32_t)more, (int32_t)more, (int32_t)more};
        if (zeros) {
            const uint32_t zero = (uint32_t)weight_zero(c, o);
            for (int j = 0; j < AT_ONCE; j++)
                sums[j] = (int32_t)(more - zero * (uint32_t)seen[j]);
        }
        multiply_row(columns, w, s->k, flip, sums);
        ox_requantizer_scale(&q, c->ends[o].scale);
        for (ptrdiff_t j = 0; j < count; j++)
            to[j] = ox_requantize_one(&q, sums[j]);
    }
}

static void run_columns(const ox_conv_bytes *c, const ox_shape *s, const int8_t *x, ptrdiff_t group, uint8_t *to,
                        int16_t *room) {
    const reading how = reading_of(c->x_dtype, c->x_zero);
    for (ptrdiff_t out = 0; out < s->out_count; out += AT_ONCE) {
        const ptrdiff_t count = s->out_count - out < AT_ONCE ? s->out_count - out : AT_ONCE;
#if OX_DSP
        if (c->conv->pointwise && count == AT_ONCE)
            lay_pixels(s, x + out, how, room);
        else
#endif
            for (ptrdiff_t j = 0; j < AT_ONCE; j++) /* those that are not there are never stored */
                lay_column(s, x, how, j < count ? out + j : out, room + j * QUAD);
        finish_columns(c, s, room, group * s->outputs, count, to + out);
    }
}

/* ---- Depthwise kernels of 3x3 ------------------------------------------------------------------------------------ */

/* Rows [y, y + rows) of a channel, less the zero point, between zeros. */
static void lay_band(const ox_shape *s, const int8_t *x, reading how, ptrdiff_t y, ptrdiff_t rows, int16_t *to) {
    const ptrdiff_t width = ox_band_row(s);
    const ptrdiff_t columns = s->in_columns < width - s->left ? s->in_columns : width - s->left;
    const int8_t flip = (int8_t)how.flip;
    for (; rows > 0; rows--, y++, to += width) {
        memset(to, 0, (size_t)width * sizeof *to);
        if (y < 0 || y >= s->in_rows)
            continue;
        const int8_t *from = x + y * s->in_columns, *end = from + columns;
        for (int16_t *at = to + s->left; from < end; from++)
            *at++ = (int16_t)((int8_t)(*from ^ flip) - how.zero);
    }
}

#if OX_DSP
typedef struct taps {
    uint32_t first[3], last[3]; /* of each row: the first two, the last two */
} taps;

static taps taps_of(const int16_t w[9]) {
    taps t;
    for (int r = 0; r < 3; r++) {
        t.first[r] = bottoms((uint32_t)w[3 * r], (uint32_t)w[3 * r + 1]);
        t.last[r] = bottoms((uint32_t)w[3 * r + 1], (uint32_t)w[3 * r + 2]);
    }
    return t;
}

/* Two results side by side, with a stride of 1, and one. */
static inline void sum_two(const taps *t, const int16_t *x, ptrdiff_t step, int32_t *one, int32_t *other) {
#pragma GCC unroll 3
    for (int r = 0; r < 3; r++, x += step) {
        const int32_t a = (int32_t)load_word(x), b = (int32_t)load_word(x + 2);
        *one = __builtin_arm_smlatb((int32_t)t->last[r], b, __builtin_arm_smlad(a, (int32_t)t->first[r], *one));
        *other = __builtin_arm_smlad(b, (int32_t)t->last[r], __builtin_arm_smlatb(a, (int32_t)t->first[r], *other));
    }
}
static inline int32_t sum_one(const taps *t, const int16_t *x, ptrdiff_t step, int32_t sum) {
#pragma GCC unroll 3
    for (int r = 0; r < 3; r++, x += step)
        sum = __builtin_arm_smlatb((int32_t)t->last[r], x[2],
                                   __builtin_arm_smlad((int32_t)load_word(x), (int32_t)t->first[r], sum));
    return sum;
}
#else
typedef struct taps {
    int16_t w[9];
} taps;

static taps taps_of(const int16_t w[9]) {
    taps t;
    memcpy(t.w, w, sizeof t.w);
    return t;
}
static inline int32_t sum_one(const taps *t, const int16_t *x, ptrdiff_t step, int32_t sum) {
#pragma GCC unroll 3
    for (int r = 0; r < 3; r++, x += step)
        sum = plus(sum, x[0] * t->w[3 * r] + x[1] * t->w[3 * r + 1] + x[2] * t->w[3 * r + 2]);
    return sum;
}
static inline void sum_two(const taps *t, const int16_t *x, ptrdiff_t step, int32_t *one, int32_t *other) {
    *one = sum_one(t, x, step, *one);
    *other = sum_one(t, x + 1, step, *other);
}
#endif

static void run_row(const ox_shape *s, const taps *weights, const int16_t *x, int32_t more,
                    const ox_requantizer *requantizer, uint8_t *to) {
    const ptrdiff_t step = s->row_step * ox_band_row(s), stride = s->column_stride;
    const taps t = *weights;
    const ox_requantizer q = *requantizer;
    ptrdiff_t left = s->out_columns;
    for (; stride == 1 && left > 1; left -= 2, x += 2) {
        int32_t one = more, other = more;
        sum_two(&t, x, step, &one, &other);
        *to++ = ox_requantize_one(&q, one);
        *to++ = ox_requantize_one(&q, other);
    }
    for (; left; left--, x += stride)
        *to++ = ox_requantize_one(&q, sum_one(&t, x, step, more));
}

static void run_depthwise(const ox_conv_bytes *c, const ox_shape *s, const int8_t *x, ptrdiff_t channel, uint8_t *to,
                          int16_t *room) {
    const reading how = reading_of(c->x_dtype, c->x_zero);
    const ptrdiff_t results = ox_band_results(s, sizeof(int16_t));
    const int8_t *w = (const int8_t *)c->w + channel * 9, flip = (int8_t)reading_of(c->w_dtype, 0).flip;
    int16_t wide[9];
    ox_requantizer q = ox_requantizer_of(c->y_dtype, c->y_zero);
    ox_requantizer_scale(&q, c->ends[channel].scale);
    for (int i = 0; i < 9; i++)
        wide[i] = (int16_t)((int8_t)(w[i] ^ flip) - weight_zero(c, channel));
    const taps t = taps_of(wide);
    for (ptrdiff_t row = 0; row < s->out_rows; row++) {
        const ptrdiff_t within = row % results;
        if (!within)
            lay_band(s, x, how, row * s->row_stride - s->top, ox_band_rows(s, results), room);
        run_row(s, &t, room + within * s->row_stride * ox_band_row(s), (int32_t)c->ends[channel].more, &q, to);
        to += s->out_columns;
    }
}

void ox_conv_bytes_run(const ox_conv_bytes *c, void *room) {
    const ox_shape s = ox_shape_of(c->conv);
    const ptrdiff_t groups = (ptrdiff_t)c->conv->groups, count = (ptrdiff_t)c->conv->images * groups;
    for (ptrdiff_t i = 0; i < count && s.out_count; i++) {
        const int8_t *x = (const int8_t *)c->x + i * s.channels * s.in_count;
        uint8_t *to = (uint8_t *)c->y + i * s.outputs * s.out_count;
        if (is_depthwise(&s))
            run_depthwise(c, &s, x, i % groups, to, room);
        else
            run_columns(c, &s, x, i % groups, to, room);
    }
}
