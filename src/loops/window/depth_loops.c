/* depth_loops.c: depthwise convolutions of bytes. A vector has as many windows of a row, each of which picks the taps
 * of a word out of what it sees. Built as gemm_int8.c is: once more for processors that add four products of bytes. */
#include "loops/depth_loops.h"
#include "asserts.h"
#include "loops/lane_loops.h"
#include "loops/requantize.h"
#include "loops/simd/x86.h"

#ifdef OX_DOT_ISA
#define FIND OX_JOIN(ox_depth, OX_DOT_ISA)
#else
#define FIND OX_VARIANT(ox_depth_plain)
#endif
ox_depth_find_fn FIND;

#ifdef OX_SUMS_AT_ONCE
enum {
    VECTORS = 4, /* that are summed, and made bytes, together */
    LANES = OX_SUMS_LANES,
    COLUMNS = VECTORS * LANES,
    ROWS = 4,                                    /* the most that are gone over together */
    USUAL_WORDS = OX_DOT_VALUES == 4 ? 3 : 2 * 3 /* of a kernel of 3x3 */
};

/* Rows of a vector, and lanes of each: several rows where these are short; and where in what they see the vectors begin
 * that are summed together, and the last ones of those, of which some may be more than there are rows. */
typedef struct shape {
    int64_t rows, wide;
    ox_picker picker;
    int64_t whole[VECTORS], last[VECTORS];
} shape;

static shape shape_of(const ox_depth_tile *t) {
    const int64_t from_row = t->high * t->room.pitch / 4;
    shape s = {.rows = 1, .wide = LANES};
    while (s.wide > 4 && t->columns <= s.wide / 2 &&
           (2 * s.rows - 1) * from_row + (s.wide / 8 - 1) * t->stride + 4 <= LANES)
        s.rows *= 2, s.wide /= 2;
    s.picker = ox_picker_of(s.wide, from_row, t->stride, t->dilation);
    const int64_t step = s.rows * t->high * t->room.pitch, left = (t->rows - 1) % (VECTORS * s.rows) + 1;
    for (int v = 0; v < VECTORS; v++) {
        s.whole[v] = v * step;
        s.last[v] = v * s.rows < left ? v * step : 0;
    }
    return s;
}

/* Where vectors begin, from the first window of a row on: in what they see, and among results. */
typedef struct places {
    int64_t from[ROWS * VECTORS], to[ROWS * VECTORS];
} places;

/* How rows of LANES columns and more are gone over: `whole` columns by as many vectors as are summed together, and what
 * is behind them by `count` vectors of some rows. The last vectors go over windows of those before. */
typedef struct layout {
    int64_t whole, rows, count;
    places across, behind;
} layout;

static layout layout_of(const ox_depth_tile *t) {
    const int64_t columns = t->columns, left = columns % COLUMNS, each = (left + LANES - 1) / LANES;
    layout l = {.whole = columns - left};
    for (int v = 0; v < VECTORS; v++)
        l.across.from[v] = v * LANES * t->stride, l.across.to[v] = v * LANES;
    if (l.whole && each == VECTORS)
        l.whole = columns;
    if (l.whole == columns)
        return l;
    /* rows whose vectors come in fours, or all rows and the last vector again */
    l.rows = LESS_OF(each % 2 ? ROWS : VECTORS / each, t->rows);
    for (int64_t last = l.rows * each; l.count < last || l.count % VECTORS; l.count++) {
        const int64_t at = LESS_OF(l.count, last - 1), row = at / each;
        const int64_t column = LESS_OF(l.whole + at % each * LANES, columns - LANES);
        l.behind.from[l.count] = row * t->high * t->room.pitch + column * t->stride;
        l.behind.to[l.count] = row * columns + column;
    }
    return l;
}

/* What becomes of the sums of a channel, which begin with what is added to them. */
typedef struct channel_end {
    ox_requantization how;
    ox_quantizer quantizer;
    ox_floats scales[VECTORS];
} channel_end;

OX_INLINED void finish(const channel_end *end, const ox_dot_lanes *sums, ox_dot_lanes *bytes) {
    if (OX_PROVING && end->how.proven.factor > 0) {
        *bytes = ox_quantize_proven(&end->quantizer, sums);
        OX_ASSERT(ox_are_bytes_of(&end->how, OX_SUMS_AT_ONCE, sums, bytes));
    } else if (!ox_quantize_sums(&end->quantizer, sums, end->scales, bytes) || !end->quantizer.is_sure)
        ox_requantize_exactly(OX_SUMS_AT_ONCE, &end->how, (const ox_i32 *)(const void *)sums, (uint8_t *)bytes);
}

/* The words of a channel, USUAL_WORDS of which are in registers. */
typedef struct taps {
    ox_picker picker;
    int64_t words;
    const int64_t *offsets;
    const uint32_t *weights;
    uint32_t start; /* of sums */
    ox_dot_lanes usual[USUAL_WORDS];
    int64_t usual_offsets[USUAL_WORDS];
} taps;

OX_INLINED void sum_words(const bool is_usual, const taps *k, const uint8_t *from, const int64_t *at,
                          ox_dot_lanes *sums) {
    OX_UNROLLED for (int v = 0; v < VECTORS; v++) sums[v] = (ox_dot_lanes){0} + k->start;
    if (is_usual) {
        OX_UNROLLED for (int i = 0; i < USUAL_WORDS; i++) OX_UNROLLED for (int v = 0; v < VECTORS; v++) sums[v] =
            ox_dot(sums[v], ox_pick_taps(&k->picker, from + k->usual_offsets[i] + at[v]), k->usual[i]);
        return;
    }
    for (int64_t i = 0; i < k->words; i++) {
        const ox_dot_lanes weight = (ox_dot_lanes){0} + k->weights[i];
        OX_UNROLLED for (int v = 0; v < VECTORS; v++) sums[v] =
            ox_dot(sums[v], ox_pick_taps(&k->picker, from + k->offsets[i] + at[v]), weight);
    }
}

/* Results up to `end`, as vectors over which the next ones go. */
static inline void store_short(const ox_depth_tile *t, const shape *s, uint8_t *to, int64_t rows, const uint8_t *end,
                               const ox_dot_lanes *bytes) {
    const int64_t columns = t->columns, wide = s->wide;
    const char *from = (const char *)bytes;
    for (int64_t r = 0; r < rows; r++, from += wide, to += columns)
        if (to + LANES <= end)
            memcpy(to, from, LANES);
        else
            ox_copy_run((char *)to, from, LESS_OF(columns, end - to));
}

/* Rows of fewer columns than lanes. */
OX_INLINED void run_short(const bool is_usual, const ox_depth_tile *t, const shape *s, const taps *k,
                          const channel_end *end, uint8_t *to) {
    const int64_t step = VECTORS * s->rows * t->high * t->room.pitch, all = t->rows * t->columns;
    const uint8_t *line = t->room.start;
    for (int64_t left = t->rows; left > 0; line += step) {
        ox_dot_lanes sums[VECTORS], bytes[2];
        sum_words(is_usual, k, line, left > VECTORS * s->rows ? s->whole : s->last, sums);
        finish(end, sums, bytes);
        for (int v = 0; v < VECTORS && left > 0; v++, left -= s->rows) {
            uint8_t *at = to + (t->rows - left) * t->columns;
            const int64_t rows = LESS_OF(s->rows, left);
            store_short(t, s, at, rows, to + all, (const void *)((const char *)bytes + v * LANES));
        }
    }
}

OX_INLINED void run_long(const bool is_usual, const ox_depth_tile *t, const layout *l, const taps *k,
                         const channel_end *end, uint8_t *to) {
    const int64_t step = t->high * t->room.pitch, columns = t->columns;
    ox_dot_lanes sums[VECTORS], bytes[2];
    for (int64_t r = 0; l->whole && r < t->rows; r++)
        for (int64_t c = 0; c < l->whole; c += COLUMNS) {
            const int64_t column = LESS_OF(c, columns - COLUMNS);
            sum_words(is_usual, k, t->room.start + r * step + column * t->stride, l->across.from, sums);
            finish(end, sums, bytes);
            memcpy(to + r * columns + column, bytes, COLUMNS);
        }
    for (int64_t r = 0; l->count && r < t->rows; r += l->rows) {
        const int64_t row = LESS_OF(r, t->rows - l->rows);
        for (int64_t i = 0; i < l->count; i += VECTORS) {
            sum_words(is_usual, k, t->room.start + row * step, l->behind.from + i, sums);
            finish(end, sums, bytes);
            OX_UNROLLED for (int v = 0; v < VECTORS; v++)
                memcpy(to + row * columns + l->behind.to[i + v], (const char *)bytes + v * LANES, LANES);
        }
    }
}

/* A channel: what its windows see, what is summed, and what becomes of that. */
typedef struct channel {
    const ox_depth_tile *tile;
    const taps *taps;
    const channel_end *end;
    uint8_t *to;
} channel;

#if defined(__aarch64__) && OX_DOT_VALUES == 4
#include "depth_neon.h"
#else
typedef struct strips {
    bool none;
} strips;
static strips strips_of(const ox_depth_tile *t) {
    (void)t;
    return (strips){true};
}
static bool run_together(const channel *c, const strips *all) {
    (void)c, (void)all;
    return false;
}
#endif

OX_INLINED channel_end end_of(const ox_depth_tile *t, int64_t number) {
    static const float one = 1;
    channel_end end = {.how = {.dtype = t->dtype,
                               .zero = t->zero,
                               .row_scale = t->end[number].scale,
                               .column_scales = &one,
                               .proven = t->end[number].proven}};
    end.quantizer = ox_quantizer_of(&end.how);
    for (int v = 0; v < VECTORS; v++)
        end.scales[v] = end.quantizer.scale - (ox_floats){0};
    return end;
}

/* What the sums of a channel begin with. */
static uint32_t start_of(const ox_channel_end *end) {
    return end->more - (OX_PROVING ? end->proven.less : 0);
}

OX_INLINED void run_channel(const bool is_usual, const ox_depth_tile *t, const shape *s, const layout *l,
                            const strips *all, int64_t number) {
    const channel_end end = end_of(t, number);
    taps k = {s->picker, t->words, t->offsets, t->weights + number * t->words, start_of(&t->end[number]), {{0}}, {0}};
    uint8_t *to = t->to + number * t->to_step;
    if (is_usual)
        OX_UNROLLED for (int i = 0; i < USUAL_WORDS; i++) k.usual[i] = (ox_dot_lanes){0} + k.weights[i],
                                                          k.usual_offsets[i] = k.offsets[i];
    if (is_usual && run_together(&(channel){t, &k, &end, to}, all))
        return;
    if (t->columns >= LANES)
        run_long(is_usual, t, l, &k, &end, to);
    else
        run_short(is_usual, t, s, &k, &end, to);
}

/* The rows of a channel, in their places between the padding. */
static void lay(const ox_depth_tile *t, const uint8_t *image, uint8_t *to) {
    if (!t->flip)
        ox_copy_rows(t->inside, (char *)to, t->room.pitch, (const char *)image, t->wide, t->wide);
    else
        for (int64_t i = 0; i < t->inside; i++, to += t->room.pitch, image += t->wide)
            ox_turn_bytes(to, image, t->wide, (uint8_t)t->flip);
}

static void run(const ox_depth_tile *t) {
    OX_ASSERT(t->stride + t->dilation <= OX_DEPTH_STEPS && t->room.pitch % 4 == 0);
    const shape s = shape_of(t);
    const layout l = t->columns >= LANES ? layout_of(t) : (layout){0};
    const strips all = strips_of(t);
    ox_depth_tile now = *t;
    const uint8_t *image = t->image;
    int64_t shared = t->shared, turn = 1;
    lay(t, image, t->room.place);
    for (int64_t i = 0; i < t->channels; i++) {
        now.room.start = t->room.start + (turn ^ 1) * t->room.step;
        if (++shared == t->sharing && i + 1 < t->channels) {
            image += t->image_step, shared = 0;
            if (t->room.step)
                lay(t, image, t->room.place + turn * t->room.step);
            turn ^= 1;
        }
        if (t->words == USUAL_WORDS)
            run_channel(true, &now, &s, &l, &all, i);
        else
            run_channel(false, &now, &s, &l, &all, i);
        if (shared == 0 && !t->room.step && i + 1 < t->channels)
            lay(t, image, t->room.place);
    }
}

/* ---- Windows that pick their taps out of registers -------------------------------------------------------------- */

#if defined(OX_PICKING) && defined(OX_DOT_ISA)
#define PICKS
_Static_assert((int)LANES == (int)OX_PICK_LANES, "a block is as many vectors as are summed");

/* The sums of a block of a channel, whose places begin at `picks`. Vectors that it lacks have the start of sums. */
OX_PICKING OX_INLINED void sum_picks(const int vectors, const bool is_one, const taps *k, const ox_seen *seen,
                                     const uint8_t *picks, ox_dot_lanes *sums) {
    OX_UNROLLED for (int v = 0; v < VECTORS; v++) sums[v] = (ox_dot_lanes){0} + k->start;
    for (int64_t i = 0; i < k->words; i++, picks += vectors * (int64_t)sizeof *sums) {
        const ox_dot_lanes weight = (ox_dot_lanes){0} + k->weights[i];
        OX_UNROLLED for (int v = 0; v < VECTORS; v++) if (v < vectors) sums[v] =
            ox_dot(sums[v], ox_pick_seen(seen, is_one, picks + v * (int64_t)sizeof *sums), weight);
    }
}

OX_PICKING OX_INLINED void pick_channel(const int vectors, const bool is_one, const ox_depth_tile *t,
                                        const uint8_t *image, int64_t number) {
    const ox_picks *p = t->picks;
    const channel_end end = end_of(t, number);
    const taps k = {.words = t->words, .weights = t->weights + number * t->words, .start = start_of(&t->end[number])};
    const uint8_t *picks = p->places, *last = t->to + t->channels * t->to_step;
    uint8_t *to = t->to + number * t->to_step;
    for (int64_t b = 0; b < p->count; b++, picks += k.words * vectors * (int64_t)sizeof(ox_dot_lanes)) {
        const ox_pick_block *block = p->blocks + b;
        ox_dot_lanes sums[VECTORS], bytes[2];
        const ox_seen seen = ox_see(image + block->from, block->inside, is_one, t->fill, (uint8_t)t->flip);
        sum_picks(vectors, is_one, &k, &seen, picks, sums);
        finish(&end, sums, bytes);
        /* the next block goes over what a whole vector has more */
        ox_bytes_store(to, last - to >= OX_PICK_WINDOWS ? OX_PICK_WINDOWS : block->count, *bytes);
        to += block->count;
    }
    OX_ASSERT(to == t->to + (number + 1) * t->to_step);
}

OX_PICKING static void pick(const ox_depth_tile *t) {
    const ox_picks *p = t->picks;
    const uint8_t *image = t->image;
    OX_ASSERT(p->vectors > 0 && p->vectors <= VECTORS);
    int64_t shared = t->shared;
    for (int64_t i = 0; i < t->channels; i++) {
        if (p->vectors == VECTORS)
            pick_channel(VECTORS, p->is_one, t, image, i);
        else
            pick_channel((int)p->vectors, p->is_one, t, image, i);
        if (++shared == t->sharing)
            image += t->image_step, shared = 0;
    }
}

static const ox_depth_loops picking = {OX_DOT_VALUES, run, pick};
#endif

static const ox_depth_loops loops = {OX_DOT_VALUES, run, NULL};
const ox_depth_loops *FIND(bool is_int8) {
    if (!is_int8 && OX_DOT_VALUES == 4)
        return NULL;
#ifdef PICKS
    if (OX_CPU_HAS(AVX512_VBMI))
        return &picking;
#endif
    return &loops;
}
#else
const ox_depth_loops *FIND(bool is_int8) {
    (void)is_int8;
    return NULL;
}
#endif

#ifndef OX_DOT_ISA
#define DECLARE(name, machine, flags, build, runs, ...) extern ox_depth_find_fn ox_depth_##name;
OX_DOTS(DECLARE, )
OX_SHARING(DECLARE, )
ox_depth_find_fn OX_VARIANT(ox_depth_find);

const ox_depth_loops *OX_VARIANT(ox_depth_find)(bool is_int8) {
#define CHOOSE(name, machine, flags, build, runs, ...)                                                                 \
    if (OX_BUILD_##build == OX_JOIN(OX_BUILD, OX_ISA) && is_int8 && runs)                                              \
        return ox_depth_##name(is_int8);
    OX_DOTS(CHOOSE, )
    return FIND(is_int8);
}

#define SHARING(name, machine, flags, build, runs, ...)                                                                \
    extern ox_depth_find_fn ox_depth_find_##name;                                                                      \
    const ox_depth_loops *ox_depth_find_##name(bool is_int8) {                                                         \
        return is_int8 ? ox_depth_##name(is_int8) : FIND(is_int8);                                                     \
    }
OX_SHARING(SHARING, )
#endif
