/* conv_bytes.c: convolutions of bytes in little memory. What four output elements see is laid out once, in 16 bits less
 * the zero point, for all output channels of a group, and multiplied by weights where they lie in flash. Depthwise
 * kernels of 3x3 go over rows of their channel that are laid out with their padding. Helium multiplies bytes: there the
 * four columns stay bytes, and what the zero point contributes is taken off the sums. */
#include "ops/window/conv_integer.h"

#include "mve.h"
#include "mve_columns.h"
#include "requantize.h"
#include "shape.h"
#include "small_conv.h"

enum {
    AT_ONCE = 4,                  /* output elements */
    QUAD = 4,                     /* products that are laid out together */
    BEHIND = OX_MVE ? AT_ONCE : 0 /* a band, elements that are read for results that are not there */
};

/* Products of two numbers of 16 bits. */
#define PAIRS (OX_DSP && !OX_MVE)

static bool is_depthwise(const ox_shape *s) {
    return OX_WITH_DEPTH && s->channels == 1 && s->outputs == 1 && s->rows == 3 && s->columns == 3 &&
           s->column_step == 1 && (!OX_MVE || s->column_stride == 1 || ox_band_count(s, sizeof(int16_t)) <= UINT16_MAX);
}

/* Whether windows of a band are gathered by where they begin: with strides, and where rows leave a quarter of vectors.
 */
static bool is_gathered(const ox_shape *s) {
    const ptrdiff_t whole = (s->out_columns + AT_ONCE - 1) & -AT_ONCE;
    return OX_MVE && (s->column_stride != 1 ||
                      (4 * s->out_columns <= 3 * whole && ox_band_count(s, sizeof(int16_t)) <= UINT16_MAX));
}

/* Elements of a band, and the places of its windows behind it, of which vectors are read. */
static ptrdiff_t band_room(const ox_shape *s) {
    const ptrdiff_t windows = ox_band_results(s, sizeof(int16_t)) * s->out_columns, most = 2 * AT_ONCE;
    return ox_band_count(s, sizeof(int16_t)) + BEHIND + (is_gathered(s) ? (windows + most - 1) & -most : 0);
}

/* An element of a column, of which GROUP lie together: where Helium multiplies, bytes, of which a vector is read. */
#if OX_MVE
typedef int8_t laid;
enum {
    GROUP = OX_MVE_BYTES
};
#else
typedef int16_t laid;
enum {
    GROUP = QUAD
};
#endif

/* Elements of four columns. */
static ptrdiff_t columns_count(const ox_shape *s) {
    return (s->k + GROUP - 1) / GROUP * GROUP * AT_ONCE;
}

/* Whether windows that lie within the image are laid by the places of their elements, which fit 16 bits. */
static bool has_places(const ox_conv *conv, const ox_shape *s) {
    const int64_t rows = (int64_t)(s->rows - 1) * s->row_step, columns = (int64_t)(s->columns - 1) * s->column_step;
    return OX_MVE && !conv->pointwise && s->in_count <= UINT16_MAX && rows < s->in_rows && columns < s->in_columns &&
           (int64_t)s->channels * s->in_count <= UINT16_MAX;
}

/* Bytes of four columns, and of the places behind them. */
static size_t columns_room(const ox_conv *conv, const ox_shape *s) {
    const size_t places = has_places(conv, s) ? sizeof(uint16_t) * (size_t)s->k : 0;
    return sizeof(laid) * (size_t)columns_count(s) + places;
}

/* What becomes of the sums of an output channel. */
#if OX_MVE
typedef ox_mve_scale ending;
#else
typedef ox_factor ending;
#endif
typedef struct channel_end {
    ending by;
    uint32_t more;
} channel_end;

typedef struct job {
    const ox_conv_bytes *c;
    ox_shape s;
    ox_channel_scales scales;
    channel_end *ends; /* of all output channels, unless kernels are depthwise */
    bool has_zeros;    /* some zero point of weights, taken as signed ones, is not 0 */
    uint16_t *places;  /* of windows in a band, if they are gathered */
} job;

static size_t ends_room(const ox_conv *conv) {
    return sizeof(channel_end) * (size_t)(conv->groups * conv->out_channels);
}

size_t ox_conv_bytes_room(const ox_conv *conv) {
    if (!ox_shape_fits(conv, sizeof(int16_t)))
        return 0;
    const ox_shape s = ox_shape_of(conv);
    if (is_depthwise(&s))
        return sizeof(int16_t) * (size_t)band_room(&s);
    if (conv->in_channels > OX_MOST_CONV_PRODUCTS / (s.rows * s.columns) ||
        conv->out_channels > ox_quotient(OX_MOST_CONV_PRODUCTS, conv->groups))
        return 0;
    return columns_room(conv, &s) + ends_room(conv);
}

/* What results depend on is laid out before the first of them is written where it was: the same pixels of all channels,
 * or all of a channel. */
bool ox_conv_bytes_overwrites(const ox_conv *conv) {
    const ox_shape s = ox_shape_of(conv);
    return conv->pointwise || (is_depthwise(&s) && ox_band_results(&s, sizeof(int16_t)) == s.out_rows);
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

/* Where product i of a group is among those of its column: pairs lie in the order in which bytes are widened. */
#if PAIRS
#define PLACE(i) (((i)&1) << 1 | (i) >> 1)
#else
#define PLACE(i) (i)
#endif

/* One column: element i of column j lies at to[i / GROUP * GROUP * AT_ONCE + j * GROUP + PLACE(i % GROUP)]. The zero
 * point stands for what is beside the image; it is taken off here, or where bytes are multiplied, off the sums. */
static void lay_column(const ox_shape *s, const int8_t *x, reading how, ptrdiff_t out, laid *to) {
    const ptrdiff_t row = out / s->out_columns, column = out - row * s->out_columns;
    const ptrdiff_t top = row * s->row_stride - s->top, left = column * s->column_stride - s->left;
    const int8_t flip = (int8_t)how.flip;
    const int32_t off = OX_MVE ? 0 : how.zero, beside = OX_MVE ? how.zero : 0;
    const ptrdiff_t step = s->column_step, end = left + s->columns * step;
    ptrdiff_t i = 0;
    for (ptrdiff_t c = 0; c < s->channels; c++, x += s->in_count)
        for (ptrdiff_t r = 0, y = top; r < s->rows; r++, y += s->row_step) {
            const int8_t *from = x + y * s->in_columns;
            const size_t seen = (size_t)y < (size_t)s->in_rows ? (size_t)s->in_columns : 0; /* below 0 is far above */
            for (ptrdiff_t at = left; at < end; at += step) {
                to[PLACE(i)] = (laid)((size_t)at < seen ? (int8_t)(from[at] ^ flip) - off : beside);
                if (++i == GROUP) {
                    i = 0;
                    to += GROUP * AT_ONCE;
                }
            }
        }
    for (; !OX_MVE && i && i < GROUP; i++)
        to[PLACE(i)] = 0;
}

#if OX_MVE
/* One of four columns, by places or without. */
static void lay_one(const ox_shape *s, const int8_t *x, reading how, ptrdiff_t out, const uint16_t *places,
                    int8_t *to) {
    const ptrdiff_t row = out / s->out_columns, column = out - row * s->out_columns;
    const ptrdiff_t top = row * s->row_stride - s->top, left = column * s->column_stride - s->left;
    const int8_t *from = x + top * s->in_columns + left;
    if (places && top >= 0 && left >= 0 && top + (s->rows - 1) * s->row_step < s->in_rows &&
        left + (s->columns - 1) * s->column_step < s->in_columns)
        ox_mve_lay_window(s, from, (uint8_t)how.flip, places, to);
    else if (places && s->rows * s->columns <= OX_MVE_TAPS)
        ox_mve_lay_edge(s, from, (uint8_t)how.flip, (uint8_t)how.zero,
                        (ox_mve_taps){places, ox_mve_seen_taps(s, top, left)}, to);
    else
        lay_column(s, x, how, out, to);
}
#endif

#if PAIRS
/* Lays a quad out of four columns, of which each word has an element. */
static inline uint32_t *lay_words(const uint32_t *words, reading how, uint32_t *to) {
    const uint32_t zeros = ox_bottoms((uint32_t)how.zero, (uint32_t)how.zero);
    uint32_t even[QUAD], odd[QUAD];
#pragma GCC unroll 4
    for (int i = 0; i < QUAD; i++) {
        const uint32_t word = words[i] ^ how.flip;
        even[i] = ox_less(ox_even_bytes(word), zeros);
        odd[i] = ox_less(ox_odd_bytes(word), zeros);
    }
    *to++ = ox_bottoms(even[0], even[2]), *to++ = ox_bottoms(even[1], even[3]);
    *to++ = ox_bottoms(odd[0], odd[2]), *to++ = ox_bottoms(odd[1], odd[3]);
    *to++ = ox_tops(even[0], even[2]), *to++ = ox_tops(even[1], even[3]);
    *to++ = ox_tops(odd[0], odd[2]), *to++ = ox_tops(odd[1], odd[3]);
    return to;
}

/* Words of bytes that stand for 0. */
static uint32_t empty_word(reading how) {
    return (uint32_t)(uint8_t)how.zero * 0x01010101 ^ how.flip;
}

/* Four elements of each channel that lie side by side, channel by channel. */
static void lay_pixels(const ox_shape *s, const int8_t *x, reading how, int16_t *room) {
    uint32_t *to = (uint32_t *)(void *)room;
    ptrdiff_t left = s->channels;
    for (; left >= QUAD; left -= QUAD, x += QUAD * s->in_count) {
        const uint32_t words[] = {ox_word_at(x), ox_word_at(x + s->in_count), ox_word_at(x + 2 * s->in_count),
                                  ox_word_at(x + 3 * s->in_count)};
        to = lay_words(words, how, to);
    }
    if (left) {
        uint32_t words[QUAD];
        for (int i = 0; i < QUAD; i++)
            words[i] = i < left ? ox_word_at(x + i * s->in_count) : empty_word(how);
        lay_words(words, how, to);
    }
}

/* What one tap sees in a row of `seen` columns: four elements, `stride` apart from column `at` on. */
static inline uint32_t gather(const int8_t *from, ptrdiff_t at, ptrdiff_t seen, ptrdiff_t stride, uint32_t empty) {
    if (stride == 1 && at >= 0 && at <= seen - AT_ONCE)
        return ox_word_at(from + at);
    uint32_t word = empty;
    for (int j = 0; j < AT_ONCE; j++, at += stride)
        if ((size_t)at < (size_t)seen)
            word ^= (uint32_t)(uint8_t)(from[at] ^ (int8_t)empty) << (8 * j);
    return word;
}

/* Four columns side by side. */
static void lay_beside(const ox_shape *s, const int8_t *x, reading how, ptrdiff_t row, ptrdiff_t column,
                       int16_t *room) {
    const ptrdiff_t top = row * s->row_stride - s->top, left = column * s->column_stride - s->left;
    const ptrdiff_t step = s->column_step, end = left + s->columns * step;
    const uint32_t empty = empty_word(how);
    uint32_t words[QUAD], *to = (uint32_t *)(void *)room;
    int i = 0;
    for (ptrdiff_t c = 0; c < s->channels; c++, x += s->in_count)
        for (ptrdiff_t r = 0, y = top; r < s->rows; r++, y += s->row_step) {
            const ptrdiff_t seen = (size_t)y < (size_t)s->in_rows ? s->in_columns : 0; /* below 0 is far above */
            for (ptrdiff_t at = left; at < end; at += step) {
                words[i++] = gather(x + y * s->in_columns, at, seen, s->column_stride, empty);
                if (i == QUAD) {
                    to = lay_words(words, how, to);
                    i = 0;
                }
            }
        }
    if (!i)
        return;
    for (; i < QUAD; i++)
        words[i] = empty;
    lay_words(words, how, to);
}
#endif

/* ---- Products ---------------------------------------------------------------------------------------------------- */

#if PAIRS
/* The last weights of a row, of which there are less than a quad, with zeros behind. */
static inline uint32_t last_weights(const int8_t *w, ptrdiff_t count, uint32_t flip) {
    uint32_t word = flip;
    memcpy(&word, w, (size_t)count);
    return word ^ flip;
}

static inline const uint32_t *multiply(const uint32_t *x, uint32_t word, int32_t *sums) {
    const uint32_t even = ox_even_bytes(word), odd = ox_odd_bytes(word);
#pragma GCC unroll 4
    for (int j = 0; j < AT_ONCE; j++)
        sums[j] = ox_both(odd, x[2 * j + 1], ox_both(even, x[2 * j], sums[j]));
    return x + 2 * AT_ONCE;
}

#if defined(__ARM_FEATURE_SIMD32) && defined(__OPTIMIZE__)
/* Two quads at a time; compilers load no four words by one instruction. All registers are taken: not inlined. */
static __attribute__((noinline)) const uint32_t *multiply_pairs(const uint32_t *x, const int8_t *w, const int8_t *end,
                                                                int32_t *sums) {
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    uint32_t even, odd;
#define QUAD_OF_FOUR                                                                                                    \
    "ldr %[odd], [%[w]], #4\n ldmia %[x]!, {r0, r1, r2, r3}\n sxtb16 %[even], %[odd]\n sxtb16 %[odd], %[odd], ror #8\n" \
    "smlad %[a], %[even], r0, %[a]\n smlad %[b], %[even], r2, %[b]\n"                                                   \
    "smlad %[a], %[odd], r1, %[a]\n smlad %[b], %[odd], r3, %[b]\n ldmia %[x]!, {r0, r1, r2, r3}\n"                     \
    "smlad %[c], %[even], r0, %[c]\n smlad %[d], %[even], r2, %[d]\n"                                                   \
    "smlad %[c], %[odd], r1, %[c]\n smlad %[d], %[odd], r3, %[d]\n"
    __asm__("1:\n" QUAD_OF_FOUR QUAD_OF_FOUR "cmp %[w], %[end]\n bne 1b\n"
            : [x] "+r"(x), [w] "+r"(w), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [even] "=&r"(even),
              [odd] "=&r"(odd)
            : [end] "r"(end)
            : "r0", "r1", "r2", "r3", "cc", "memory");
#undef QUAD_OF_FOUR
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
    return x;
}
#else
static inline const uint32_t *multiply_pairs(const uint32_t *x, const int8_t *w, const int8_t *end, int32_t *sums) {
    for (; w < end; w += QUAD)
        x = multiply(x, ox_word_at(w), sums);
    return x;
}
#endif

static inline void multiply_row(const int16_t *columns, const int8_t *w, ptrdiff_t k, uint32_t flip, int32_t *sums) {
    const uint32_t *x = (const uint32_t *)(const void *)columns;
    const int8_t *end = w + (k & ~(QUAD - 1)), *pairs = w + (k & ~(2 * QUAD - 1));
    if (!flip && pairs > w) {
        x = multiply_pairs(x, w, pairs, sums);
        w = pairs;
    }
    for (; w < end; w += QUAD)
        x = multiply(x, ox_word_at(w) ^ flip, sums);
    if (k & (QUAD - 1))
        multiply(x, last_weights(w, k & (QUAD - 1), flip), sums);
}
#elif !OX_MVE
static inline void multiply(const int16_t *x, int32_t w, int32_t *sums) {
#pragma GCC unroll 4
    for (int j = 0; j < AT_ONCE; j++)
        sums[j] = ox_plus(sums[j], w * x[j * QUAD]);
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

static int32_t weight_zero(const ox_conv_bytes *c, ptrdiff_t channel) {
    const int32_t zero =
        c->w_zeros ? (int32_t)ox_tensor_int(c->w_zeros, ox_tensor_count(c->w_zeros) == 1 ? 0 : channel) : 0;
    return reading_of(c->w_dtype, zero).zero;
}

static uint32_t bias_of(const ox_conv_bytes *c, ptrdiff_t channel) {
    return c->bias ? (uint32_t)ox_tensor_int(c->bias, channel) : 0;
}

#if OX_MVE
static void sum_columns(const job *of, const void *columns, int32_t sums[AT_ONCE]) {
    const reading how = reading_of(of->c->x_dtype, of->c->x_zero);
    for (int j = 0; j < AT_ONCE; j++)
        sums[j] = ox_mve_sum((const int8_t *)columns + j * OX_MVE_BYTES, OX_MVE_BYTES * AT_ONCE, of->s.k, 0) -
                  (int32_t)of->s.k * how.zero;
}

/* Results of signed weights from four columns, all of which are there. */
static __attribute__((noinline)) void finish_four(const job *of, const int8_t *columns, ptrdiff_t first, uint8_t *to) {
    const ptrdiff_t k = of->s.k, step = of->s.out_count;
    const int8_t *w = (const int8_t *)of->c->w + first * k;
    const channel_end *by = &of->ends[first];
    const int32x4_t turn = ox_mve_flip(&of->scales);
    for (const channel_end *end = by + of->s.outputs; by < end; by++, w += k, to += step) {
        const int32x4_t sums = ox_mve_multiply(columns, w, k, (int32_t)by->more);
        vstrbq_s32((int8_t *)to, ox_mve_results(&by->by, &of->scales, by - of->ends, turn, sums));
    }
}

/* Results of the output channels of a group, from four columns of which `count` are there. */
static __attribute__((noinline)) void finish_columns(const job *of, const int8_t *columns, ptrdiff_t first,
                                                     ptrdiff_t count, uint8_t *to) {
    const ox_conv_bytes *c = of->c;
    const ptrdiff_t k = of->s.k, step = of->s.out_count, end = first + of->s.outputs;
    const int8_t *w = (const int8_t *)c->w + first * k, flip = (int8_t)reading_of(c->w_dtype, 0).flip;
    const bool has_zeros = of->has_zeros;
    int32_t seen[AT_ONCE] = {0};
    if (count == AT_ONCE && !flip && !has_zeros) {
        finish_four(of, columns, first, to);
        return;
    }
    if (has_zeros)
        sum_columns(of, columns, seen);
    for (ptrdiff_t o = first; o < end; o++, w += k, to += step) {
        int32x4_t sums = ox_mve_multiply_turned(columns, w, k, flip, (int32_t)of->ends[o].more);
        if (has_zeros)
            sums = vsubq_s32(sums, vmulq_n_s32(vldrwq_s32(seen), weight_zero(c, o)));
        ox_mve_store(ox_mve_results(&of->ends[o].by, &of->scales, o, ox_mve_flip(&of->scales), sums), count, to);
    }
}

/* What sums of a channel begin with: less the zero point of x times its weights. */
static uint32_t start_of(const job *of, ptrdiff_t channel) {
    const ox_conv_bytes *c = of->c;
    const int8_t *w = (const int8_t *)c->w + channel * of->s.k, flip = (int8_t)reading_of(c->w_dtype, 0).flip;
    const uint32_t zero = (uint32_t)reading_of(c->x_dtype, c->x_zero).zero;
    return bias_of(c, channel) - zero * (uint32_t)ox_mve_sum(w, OX_MVE_BYTES, of->s.k, flip);
}
#else
/* What each column sums up to, for zero points of weights. */
static void sum_columns(const job *of, const int16_t *columns, int32_t sums[AT_ONCE]) {
    for (int j = 0; j < AT_ONCE; j++) {
        const int16_t *x = columns + j * QUAD;
        sums[j] = 0;
        for (ptrdiff_t left = of->s.k; left > 0; left -= QUAD, x += QUAD * AT_ONCE)
            sums[j] = ox_plus(sums[j], x[0] + x[1] + x[2] + x[3]);
    }
}

/* Four results of a channel, of which `count` are there. */
static inline void store_four(const ox_channel_scales *scales, const ox_requantizer *q, ptrdiff_t channel,
                              const int32_t *sums, ptrdiff_t count, uint8_t *to) {
    int32_t y[AT_ONCE];
#pragma GCC unroll 4
    for (int j = 0; j < AT_ONCE; j++)
        y[j] = ox_requantize_one(q, scales, channel, sums[j]);
    const uint32_t word = ox_four_bytes(y[0], y[1], y[2], y[3]) ^ scales->flip;
    if (count == AT_ONCE)
        memcpy(to, &word, sizeof word);
    else
        memcpy(to, &word, (size_t)count);
}

/* Results of the output channels of a group, from four columns of which `count` are there. */
static void finish_columns(const job *of, const int16_t *columns, ptrdiff_t first, ptrdiff_t count, uint8_t *to) {
    const ox_conv_bytes *c = of->c;
    const uint32_t flip = reading_of(c->w_dtype, 0).flip;
    const ptrdiff_t k = of->s.k, step = of->s.out_count, end = first + of->s.outputs;
    int32_t seen[AT_ONCE];
    if (of->has_zeros)
        sum_columns(of, columns, seen);
    const int8_t *w = (const int8_t *)c->w + first * k;
    for (ptrdiff_t o = first; o < end; o++, w += k, to += step) {
        const int32_t more = (int32_t)of->ends[o].more;
        int32_t sums[AT_ONCE] = {more, more, more, more};
        if (of->has_zeros) {
            const uint32_t zero = (uint32_t)weight_zero(c, o);
            for (int j = 0; j < AT_ONCE; j++)
                sums[j] = (int32_t)((uint32_t)more - zero * (uint32_t)seen[j]);
        }
        multiply_row(columns, w, k, flip, sums);
        const ox_requantizer q = ox_requantizer_of(&of->scales, of->ends[o].by);
        store_four(&of->scales, &q, o, sums, count, to);
    }
}

static uint32_t start_of(const job *of, ptrdiff_t channel) {
    return bias_of(of->c, channel);
}
#endif

static void find_ends(job *of) {
    const ptrdiff_t channels = (ptrdiff_t)of->c->conv->groups * of->s.outputs;
    for (ptrdiff_t i = 0; i < channels; i++) {
        of->has_zeros |= weight_zero(of->c, i) != 0;
#if OX_MVE
        of->ends[i].by = ox_mve_scale_of(&of->scales, i);
#else
        of->ends[i].by = ox_factor_of(&of->scales, i);
#endif
        of->ends[i].more = start_of(of, i);
    }
}

static void lay_four(const ox_conv_bytes *c, const ox_shape *s, const int8_t *x, ptrdiff_t out, ptrdiff_t count,
                     void *room) {
    const reading how = reading_of(c->x_dtype, c->x_zero);
#if PAIRS
    const ptrdiff_t row = out / s->out_columns, column = out - row * s->out_columns;
    if (c->conv->pointwise && count == AT_ONCE) {
        lay_pixels(s, x + out, how, room);
        return;
    }
    if (column + AT_ONCE <= s->out_columns) {
        lay_beside(s, x, how, row, column, room);
        return;
    }
#elif OX_MVE
    if (c->conv->pointwise && s->in_count <= UINT16_MAX / 7) {
        ox_mve_lay_pixels(s, x + out, (uint8_t)how.flip, count, room);
        return;
    }
    const void *behind = (laid *)room + columns_count(s);
    const uint16_t *places = has_places(c->conv, s) ? behind : NULL;
#endif
    for (ptrdiff_t j = 0; j < AT_ONCE; j++) /* those that are not there are never stored */
#if OX_MVE
        lay_one(s, x, how, j < count ? out + j : out, places, (laid *)room + j * GROUP);
#else
        lay_column(s, x, how, j < count ? out + j : out, (laid *)room + j * GROUP);
#endif
}

static void run_columns(const job *of, const int8_t *x, ptrdiff_t group, uint8_t *to, int16_t *room) {
    const ox_shape *s = &of->s;
    for (ptrdiff_t out = 0; out < s->out_count; out += AT_ONCE) {
        const ptrdiff_t count = s->out_count - out < AT_ONCE ? s->out_count - out : AT_ONCE;
        lay_four(of->c, s, x, out, count, room);
        finish_columns(of, (const void *)room, group * s->outputs, count, to + out);
    }
}

/* ---- Depthwise kernels of 3x3 ------------------------------------------------------------------------------------ */

/* Rows [y, y + rows) of a channel, less the zero point, between zeros. */
static void lay_band(const ox_shape *s, const int8_t *x, reading how, ptrdiff_t y, ptrdiff_t rows, int16_t *to) {
    const ptrdiff_t width = ox_band_row(s), room = width - s->left;
    const ptrdiff_t columns = room < 0 ? 0 : s->in_columns < room ? s->in_columns : room;
#if OX_MVE
    ox_mve_clear(to, rows * width);
    for (; rows > 0; rows--, y++, to += width)
        if ((size_t)y < (size_t)s->in_rows && columns) /* below 0 is far above */
            ox_mve_widen(x + y * s->in_columns, columns, (uint8_t)(how.flip ^ 0x80), how.zero + 128, to + s->left);
#else
    const int8_t flip = (int8_t)how.flip;
    for (; rows > 0; rows--, y++) {
        const int8_t *from = x + y * s->in_columns, *end = from + columns;
        int16_t *last = to + width;
        if ((size_t)y < (size_t)s->in_rows && columns) { /* below 0 is far above */
            for (ptrdiff_t i = s->left; i; i--)
                *to++ = 0;
            while (from < end)
                *to++ = (int16_t)((int8_t)(*from++ ^ flip) - how.zero);
        }
        while (to < last)
            *to++ = 0;
    }
#endif
}

#if PAIRS
typedef struct taps {
    uint32_t first[3], last[3]; /* of each row: the first two, the last two */
} taps;

static taps taps_of(const int16_t w[9]) {
    taps t;
    for (int r = 0; r < 3; r++) {
        t.first[r] = ox_bottoms((uint32_t)w[3 * r], (uint32_t)w[3 * r + 1]);
        t.last[r] = ox_bottoms((uint32_t)w[3 * r + 1], (uint32_t)w[3 * r + 2]);
    }
    return t;
}

/* Two results side by side, with a stride of 1, and one. */
static inline void sum_two(const taps *t, const int16_t *x, ptrdiff_t step, int32_t *one, int32_t *other) {
#pragma GCC unroll 3
    for (int r = 0; r < 3; r++, x += step) {
        const uint32_t a = ox_word_at(x), b = ox_word_at(x + 2);
        *one = ox_top_bottom(t->last[r], b, ox_both(a, t->first[r], *one));
        *other = ox_both(b, t->last[r], ox_top_bottom(a, t->first[r], *other));
    }
}
static inline int32_t sum_one(const taps *t, const int16_t *x, ptrdiff_t step, int32_t sum) {
#pragma GCC unroll 3
    for (int r = 0; r < 3; r++, x += step)
        sum = ox_plus(ox_both(ox_word_at(x), t->first[r], sum), (int16_t)(t->last[r] >> 16) * x[2]);
    return sum;
}
#elif !OX_MVE
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
        sum = ox_plus(sum, x[0] * t->w[3 * r] + x[1] * t->w[3 * r + 1] + x[2] * t->w[3 * r + 2]);
    return sum;
}
static inline void sum_two(const taps *t, const int16_t *x, ptrdiff_t step, int32_t *one, int32_t *other) {
    *one = sum_one(t, x, step, *one);
    *other = sum_one(t, x + 1, step, *other);
}
#endif

#if OX_MVE
typedef struct depth_channel {
    const job *of;
    const int16_t *w; /* less their zero point */
    ox_mve_scale by;
    ptrdiff_t channel, columns; /* the second: results in a row */
    ptrdiff_t step, pitch;      /* in the band: to the next row of a window, and of results */
    int32_t more;
} depth_channel;

/* Results of four windows side by side in each of one or two rows, of which `count` are there; `both` is a constant. */
static inline __attribute__((always_inline)) void run_four(const depth_channel *d, const int16_t *x, int32x4_t flip,
                                                           const bool both, ptrdiff_t count, uint8_t *to) {
    const ptrdiff_t step = d->step, pitch = d->pitch;
    const int16_t *w = d->w;
    int32x4_t one = vdupq_n_s32(d->more), other = one;
#pragma GCC unroll 3
    for (int r = 0; r < 3; r++, x += step)
#pragma GCC unroll 3
        for (int k = 0; k < 3; k++) {
            const int32_t by = w[3 * r + k];
            one = vmlaq_n_s32(one, vldrhq_s32(x + k), by);
            if (both)
                other = vmlaq_n_s32(other, vldrhq_s32(x + pitch + k), by);
        }
    ox_mve_store(ox_mve_results(&d->by, &d->of->scales, d->channel, flip, one), count, to);
    if (both)
        ox_mve_store(ox_mve_results(&d->by, &d->of->scales, d->channel, flip, other), count, to + d->columns);
}

/* `rows` rows of results out of a band, with a stride of 1 along them. What is behind the last windows is read. */
static __attribute__((noinline)) void run_rows(const depth_channel *channel, const int16_t *band, ptrdiff_t rows,
                                               uint8_t *to) {
    const depth_channel d = *channel;
    const int32x4_t flip = ox_mve_flip(&d.of->scales);
    const ptrdiff_t columns = d.columns;
    for (ptrdiff_t n; rows; rows -= n, band += n * d.pitch, to += n * columns) {
        const int16_t *x = band;
        n = rows > 1 ? 2 : 1;
        for (ptrdiff_t at = 0; at < columns; at += AT_ONCE, x += AT_ONCE)
            if (n > 1)
                run_four(&d, x, flip, true, columns - at, to + at);
            else
                run_four(&d, x, flip, false, columns - at, to + at);
    }
}

/* Where the windows of `rows` rows of results begin in a band, and zeros up to two vectors. */
static void find_windows(const ox_shape *s, ptrdiff_t rows, uint16_t *to) {
    const ptrdiff_t pitch = s->row_stride * ox_band_row(s), most = 2 * AT_ONCE;
    uint16_t *end = to + ((rows * s->out_columns + most - 1) & -most);
    for (ptrdiff_t row = 0; row < rows; row++)
        for (ptrdiff_t column = 0; column < s->out_columns; column++)
            *to++ = (uint16_t)(row * pitch + column * s->column_stride);
    while (to < end)
        *to++ = 0;
}

/* Results of the eight windows that begin at these places, of which `count` are there, a constant where all are. */
static inline __attribute__((always_inline)) void run_eight(const depth_channel *d, const int16_t *x,
                                                            const uint16_t *places, int32x4_t flip, ptrdiff_t count,
                                                            uint8_t *to) {
    const uint32x4_t first = vldrhq_u32(places), second = vldrhq_u32(places + AT_ONCE);
    int32x4_t one = vdupq_n_s32(d->more), other = one;
#pragma GCC unroll 3
    for (int r = 0; r < 3; r++, x += d->step)
#pragma GCC unroll 3
        for (int k = 0; k < 3; k++) {
            const int32_t by = d->w[3 * r + k];
            one = vmlaq_n_s32(one, vldrhq_gather_shifted_offset_s32(x + k, first), by);
            other = vmlaq_n_s32(other, vldrhq_gather_shifted_offset_s32(x + k, second), by);
        }
    ox_mve_store(ox_mve_results(&d->by, &d->of->scales, d->channel, flip, one), count, to);
    if (count > AT_ONCE)
        ox_mve_store(ox_mve_results(&d->by, &d->of->scales, d->channel, flip, other), count - AT_ONCE, to + AT_ONCE);
}

/* The same of `count` windows. */
static __attribute__((noinline)) void run_windows(const depth_channel *channel, const int16_t *band,
                                                  const uint16_t *places, ptrdiff_t count, uint8_t *to) {
    const depth_channel d = *channel;
    const int32x4_t flip = ox_mve_flip(&d.of->scales);
    for (; count >= 2 * AT_ONCE; count -= 2 * AT_ONCE, to += 2 * AT_ONCE, places += 2 * AT_ONCE)
        run_eight(&d, band, places, flip, 2 * AT_ONCE, to);
    if (count)
        run_eight(&d, band, places, flip, count, to);
}
#else
static void run_row(const job *of, const taps *weights, const ox_requantizer *requantizer, ptrdiff_t channel,
                    int32_t more, const int16_t *x, uint8_t *to) {
    const ox_shape *s = &of->s;
    const ox_channel_scales *scales = &of->scales;
    const ptrdiff_t step = s->row_step * ox_band_row(s), stride = s->column_stride;
    const taps t = *weights;
    const ox_requantizer q = *requantizer;
    const uint8_t flip = (uint8_t)scales->flip;
    ptrdiff_t left = s->out_columns;
    for (; stride == 1 && left > 1; left -= 2, x += 2) {
        int32_t one = more, other = more;
        sum_two(&t, x, step, &one, &other);
        *to++ = (uint8_t)ox_requantize_one(&q, scales, channel, one) ^ flip;
        *to++ = (uint8_t)ox_requantize_one(&q, scales, channel, other) ^ flip;
    }
    for (; left; left--, x += stride)
        *to++ = (uint8_t)ox_requantize_one(&q, scales, channel, sum_one(&t, x, step, more)) ^ flip;
}

#endif

static void run_depthwise(const job *of, const int8_t *x, ptrdiff_t channel, uint8_t *to, int16_t *room,
                          ptrdiff_t results) {
    const ox_conv_bytes *c = of->c;
    const ox_shape *s = &of->s;
    const reading how = reading_of(c->x_dtype, c->x_zero);
    const int8_t *w = (const int8_t *)c->w + channel * 9, flip = (int8_t)reading_of(c->w_dtype, 0).flip;
    const int32_t zero = weight_zero(c, channel), more = (int32_t)bias_of(c, channel);
    const ptrdiff_t pitch = s->row_stride * ox_band_row(s);
    int16_t wide[9];
    for (int i = 0; i < 9; i++)
        wide[i] = (int16_t)((int8_t)(w[i] ^ flip) - zero);
#if OX_MVE
    const depth_channel d = {.of = of,
                             .w = wide,
                             .by = ox_mve_scale_of(&of->scales, channel),
                             .channel = channel,
                             .columns = s->out_columns,
                             .step = s->row_step * ox_band_row(s),
                             .pitch = pitch,
                             .more = more};
    for (ptrdiff_t row = 0, n; row < s->out_rows; row += n, to += n * s->out_columns) {
        n = s->out_rows - row < results ? s->out_rows - row : results;
        lay_band(s, x, how, row * s->row_stride - s->top, ox_band_rows(s, results), room);
        if (of->places)
            run_windows(&d, room, of->places, n * s->out_columns, to);
        else
            run_rows(&d, room, n, to);
    }
#else
    const taps t = taps_of(wide);
    const ox_requantizer q = ox_requantizer_of(&of->scales, ox_factor_of(&of->scales, channel));
    for (ptrdiff_t row = 0, within = 0; row < s->out_rows; row++, within++, to += s->out_columns) {
        if (within == results)
            within = 0;
        if (!within)
            lay_band(s, x, how, row * s->row_stride - s->top, ox_band_rows(s, results), room);
        run_row(of, &t, &q, channel, more, room + within * pitch, to);
    }
#endif
}

void ox_conv_bytes_run(const ox_conv_bytes *c, void *room) {
    job of = {.c = c,
              .s = ox_shape_of(c->conv),
              .scales = ox_channel_scales_of(c->x_scale, c->w_scales, c->y_scale, false, c->y_dtype, c->y_zero),
              .ends = room};
    const ox_shape *s = &of.s;
    const ptrdiff_t groups = (ptrdiff_t)c->conv->groups, count = (ptrdiff_t)c->conv->images * groups;
    const bool deep = is_depthwise(s);
    const ptrdiff_t results = deep ? ox_band_results(s, sizeof(int16_t)) : 0;
    int16_t *rest = (int16_t *)(void *)((char *)room + (deep ? 0 : ends_room(c->conv)));
    if (!deep)
        find_ends(&of);
#if OX_MVE
    if (deep && is_gathered(s)) {
        of.places = (uint16_t *)(void *)(rest + ox_band_count(s, sizeof(int16_t)) + BEHIND);
        find_windows(s, results, of.places);
    }
    if (!deep && has_places(c->conv, s))
        ox_mve_find_places(s, (uint16_t *)(void *)((laid *)(void *)rest + columns_count(s)));
#endif
    for (ptrdiff_t i = 0, group = 0; i < count && s->out_count; i++, group = group + 1 < groups ? group + 1 : 0) {
        const int8_t *x = (const int8_t *)c->x + i * s->channels * s->in_count;
        uint8_t *to = (uint8_t *)c->y + i * s->outputs * s->out_count;
        if (deep)
            run_depthwise(&of, x, group, to, rest, results);
        else
            run_columns(&of, x, group, to, rest);
    }
}
