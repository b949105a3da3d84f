/* depth_loops.c: depthwise convolutions of bytes. A vector has as many windows of a row, each of which picks the taps
 * of a word out of what it sees. Built as gemm_int8.c is: once more for processors that add four products of bytes. */
#include "loops/depth_loops.h"
#include "asserts.h"
#include "loops/lane_loops.h"
#include "loops/requantize.h"
#include "loops/x86.h"

#ifdef OX_DOT_ISA
#define FIND OX_JOIN(ox_depth, OX_DOT_ISA)
#else
#define FIND OX_VARIANT(ox_depth_plain)
#endif
ox_depth_find_fn FIND;

#ifdef OX_SUMS_AT_ONCE
enum {
    VECTORS = 4, /* that are summed, and made bytes, together */
    LANES = OX_SUMS_LANES
};

/* Vectors of windows: of some rows each, where these are short. */
typedef struct shape {
    int64_t rows, wide; /* rows of a vector, and lanes of each */
    ox_picker picker;
} shape;

static shape shape_of(const ox_depth_tile *t) {
    const int64_t from_row = t->high * t->pitch / 4;
    shape s = {1, LANES, {{0}, {0}}};
    while (s.wide > 4 && t->columns <= s.wide / 2 &&
           (2 * s.rows - 1) * from_row + (s.wide / 8 - 1) * t->stride + 4 <= LANES)
        s.rows *= 2, s.wide /= 2;
    s.picker = ox_picker_of(s.wide, from_row, t->stride, t->dilation);
    return s;
}

/* Which vectors come next, and where they and their results lie. */
typedef struct place {
    const uint8_t *line; /* what the first window of a row sees */
    uint8_t *to;         /* and its result */
    int64_t left, column;
    const uint8_t *from[VECTORS];
    uint8_t *at[VECTORS];
    int64_t rows[VECTORS];
} place;

/* The next vectors; how many there are. The last one of a row goes over windows of the one before. */
OX_INLINED int next_vectors(const ox_depth_tile *t, const shape *s, const bool is_long, place *p) {
    const int64_t columns = t->columns, last = is_long ? columns - LANES : 0, stride = t->stride;
    const int64_t rows = is_long ? 1 : s->rows, step = rows * t->high * t->pitch;
    int count = 0;
    for (; count < VECTORS && p->left > 0; count++) {
        const int64_t column = is_long ? LESS_OF(p->column, last) : 0;
        p->from[count] = p->line + column * stride;
        p->at[count] = p->to + column;
        p->rows[count] = is_long ? 1 : LESS_OF(rows, p->left);
        p->column += LANES;
        if (is_long && p->column < columns)
            continue;
        p->line += step, p->to += rows * columns, p->left -= rows, p->column = 0;
    }
    for (int v = count; v < VECTORS; v++)
        p->from[v] = p->from[0];
    return count;
}

OX_INLINED void sum_words(const ox_depth_tile *t, const ox_picker picker, const uint32_t *weights, const place *p,
                          ox_dot_lanes *sums) {
    const int64_t words = t->words, *offsets = t->offsets;
    OX_UNROLLED for (int v = 0; v < VECTORS; v++) sums[v] = (ox_dot_lanes){0};
    for (int64_t i = 0; i < words; i++) {
        const ox_dot_lanes weight = (ox_dot_lanes){0} + weights[i];
        OX_UNROLLED for (int v = 0; v < VECTORS; v++) sums[v] =
            ox_dot(sums[v], ox_pick_taps(&picker, p->from[v] + offsets[i]), weight);
    }
}

/* Results up to `end`. Short rows are stored as vectors, over which the next ones go. */
static inline void store_short(const ox_depth_tile *t, const shape *s, const place *p, int count, const uint8_t *end,
                               const ox_dot_lanes *bytes) {
    const int64_t columns = t->columns, wide = s->wide;
    for (int v = 0; v < count; v++) {
        const char *from = (const char *)bytes + v * LANES;
        uint8_t *to = p->at[v];
        for (int64_t r = 0; r < p->rows[v]; r++, from += wide, to += columns)
            if (to + LANES <= end)
                memcpy(to, from, LANES);
            else
                ox_copy_run((char *)to, from, LESS_OF(columns, end - to));
    }
}

OX_INLINED void run_channel(const ox_depth_tile *t, const shape *s, const bool is_long, int64_t channel) {
    const float one = 1;
    const ox_requantization how = {t->dtype, t->end[channel].more, t->zero, t->end[channel].scale, &one, 0};
    const ox_quantizer q = ox_quantizer_of(&how);
    const ox_picker picker = s->picker;
    const ox_floats scale = q.scale - (ox_floats){0}, scales[VECTORS] = {scale, scale, scale, scale};
    const uint32_t *weights = t->weights + channel * t->words;
    place p = {.line = t->room, .to = t->to + channel * t->to_step, .left = t->rows};
    const uint8_t *end = p.to + t->rows * t->columns;
    for (int count; (count = next_vectors(t, s, is_long, &p)) > 0;) {
        ox_dot_lanes sums[VECTORS], bytes[2];
        sum_words(t, picker, weights, &p, sums);
        if (!ox_quantize_sums(&q, sums, scales, bytes) || !q.is_sure)
            ox_requantize_exactly(OX_SUMS_AT_ONCE, &how, (const ox_i32 *)(const void *)sums, (uint8_t *)bytes);
        if (!is_long)
            store_short(t, s, &p, count, end, bytes);
        else
            for (int v = 0; v < count; v++)
                memcpy(p.at[v], (const char *)bytes + v * LANES, LANES);
    }
}

/* The rows of a channel, in their places between the padding. */
static void lay(const ox_depth_tile *t, const uint8_t *image) {
    uint8_t *to = t->place;
    for (int64_t i = 0; i < t->inside; i++, to += t->pitch, image += t->wide)
        ox_turn_bytes(to, image, t->wide, (uint8_t)t->flip);
}

static void run(const ox_depth_tile *t) {
    OX_ASSERT(t->stride + t->dilation <= OX_DEPTH_STEPS && t->pitch % 4 == 0);
    const shape s = shape_of(t);
    const uint8_t *image = t->image;
    int64_t shared = t->shared;
    for (int64_t i = 0; i < t->channels; i++, shared++) {
        if (shared == t->sharing)
            image += t->image_step, shared = 0;
        if (shared == 0 || i == 0)
            lay(t, image);
        if (t->columns >= LANES)
            run_channel(t, &s, true, i);
        else
            run_channel(t, &s, false, i);
    }
}

static const ox_depth_loops loops = {OX_DOT_VALUES, run};
const ox_depth_loops *FIND(bool is_int8) {
    return is_int8 || OX_DOT_VALUES == 2 ? &loops : NULL;
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
