/* depth_neon.h: kernels of three rows, of up to four taps each, by four rows of results at a time: what is picked out
 * of a row of the image is multiplied for all rows of results that see it. */
#ifndef OX_LOOPS_WINDOW_DEPTH_NEON_H
#define OX_LOOPS_WINDOW_DEPTH_NEON_H

enum {
    TOGETHER = 4, /* rows of results */
    SEEN = 3      /* rows that a window sees */
};

typedef uint32x4_t row_sums[TOGETHER][VECTORS];

/* Columns that are gone over in all rows by as many vectors: the last vectors go over columns of those before. */
typedef struct strip {
    int64_t from[VECTORS]; /* bytes from what the first window of a row sees to what vectors do */
    int64_t columns;
    uint8x16_t order; /* brings results to the places of their columns */
} strip;

/* Of all vectors, and of half as many. */
typedef struct strips {
    strip whole, half;
} strips;

static strip strip_of(const ox_depth_tile *t, int64_t vectors) {
    const int64_t size = vectors * LANES, columns = LESS_OF(size, t->columns), last = columns - LANES;
    strip s = {{0}, columns, vdupq_n_u8(0)};
    for (int64_t v = 0; v < vectors; v++)
        s.from[v] = LESS_OF(v * LANES, last) * t->stride;
    for (int64_t i = 0; i < OX_SUMS_AT_ONCE; i++) {
        const int64_t vector = i % size / LANES * LANES; /* its first column, but for the last ones */
        s.order[i] = (uint8_t)(i + vector - LESS_OF(vector, last));
    }
    return s;
}

static strips strips_of(const ox_depth_tile *t) {
    return t->columns > LANES ? (strips){strip_of(t, VECTORS), strip_of(t, VECTORS / 2)} : (strips){0};
}

/* What is in registers while rows are summed. */
typedef struct held {
    int64_t from[VECTORS], below; /* below: bytes to the next row that a window sees */
    ox_dot_lanes weights[SEEN];
    ox_picker picker;
    uint32x4_t start;
} held;

OX_INLINED held held_of(const taps *k, const strip *s) {
    held h = {.below = k->usual_offsets[1] - k->usual_offsets[0], .picker = k->picker, .start = vdupq_n_u32(k->start)};
    OX_UNROLLED for (int v = 0; v < VECTORS; v++) h.from[v] = s->from[v];
    OX_UNROLLED for (int i = 0; i < SEEN; i++) h.weights[i] = k->usual[i];
    return h;
}

/* `high` rows of those that a window sees are between the first ones of neighbouring results. Loads stay in turn, for
 * there are no registers for more of them. */
OX_INLINED void sum_rows(const int high, const int vectors, const held h, const uint8_t *from, row_sums sums) {
    OX_UNROLLED for (int i = 0; i < TOGETHER * vectors; i++) sums[i / vectors][i % vectors] = h.start;
    OX_UNROLLED for (int i = 0; i < (TOGETHER - 1) * high + SEEN; i++, from += h.below) {
        OX_UNROLLED for (int v = 0; v < vectors; v++) {
            const ox_dot_lanes seen = ox_pick_taps(&h.picker, from + h.from[v]);
            OX_UNROLLED for (int r = 0; r < TOGETHER; r++) if (i >= r * high && i < r * high + SEEN) sums[r][v] =
                (uint32x4_t)ox_dot((ox_dot_lanes)sums[r][v], seen, h.weights[i - r * high]);
        }
        __asm__ volatile("" : : : "memory");
    }
}

/* Where results of some rows go. */
typedef struct row_ends {
    uint8_t *to;
    int64_t to_row;
    bool is_last; /* nothing may be written behind the last row; else the next one is written later */
} row_ends;

static __attribute__((noinline)) void store_some(uint8_t *to, int64_t count, uint8x16_t bytes) {
    memcpy(to, &bytes, (size_t)count);
}

/* A vector of bytes: a row, or two of half the length. */
OX_INLINED void store_rows(const int vectors, const strip *s, uint8x16_t order, const row_ends *o, int row,
                           uint8x16_t bytes) {
    uint8_t *to = o->to + row * o->to_row;
    bytes = vqtbl1q_u8(bytes, order);
    if (o->is_last) {
        store_some(to, s->columns, bytes);
        if (vectors < VECTORS)
            store_some(to + o->to_row, s->columns, vextq_u8(bytes, bytes, OX_SUMS_AT_ONCE / 2));
    } else if (vectors == VECTORS) {
        vst1q_u8(to, bytes);
    } else {
        vst1_u8(to, vget_low_u8(bytes));
        vst1_u8(to + o->to_row, vget_high_u8(bytes));
    }
}

/* The same rows, each result by doubles. Kept out of the loops that call it seldom. */
static __attribute__((noinline)) void end_rows_exactly(int high, int vectors, const channel *c, const strip *s,
                                                       const uint8_t *from, const row_ends *o) {
    const ox_requantization *how = &c->end->how;
    row_sums sums;
    sum_rows(high, vectors, held_of(c->taps, s), from, sums);
    for (int r = 0; r < TOGETHER; r += VECTORS / vectors) {
        uint32x4_t some[VECTORS];
        for (int v = 0; v < VECTORS; v++)
            some[v] = sums[r + v / vectors][v % vectors];
        const uint8x16_t bytes = ox_end_exactly((int32_t)how->zero, how->dtype == OX_INT8, how->row_scale, some);
        if (vectors == VECTORS)
            store_rows(VECTORS, s, s->order, o, r, bytes);
        else
            store_rows(VECTORS / 2, s, s->order, o, r, bytes);
    }
}

/* All rows of a strip from a column on; the last ones go over rows of those before. */
OX_INLINED void run_strip(const int high, const int vectors, const channel *c, const strip *s, int64_t column) {
    const ox_depth_tile *t = c->tile;
    const taps *k = c->taps;
    const channel_end *end = c->end;
    const uint8_t *line = (const uint8_t *)t->room.start + k->usual_offsets[0] + column * t->stride;
    const int64_t step = t->high * t->room.pitch;
    const float32x4_t scale = (float32x4_t)end->scales[0], scales[] = {scale, scale, scale, scale};
    const bool may_pass = s->columns < vectors * LANES;
    const held h = held_of(k, s);
    const uint8x16_t order = s->order;
    const ox_ending begin = ox_ending_of((float)end->how.zero, end->quantizer.is_signed);
    for (int64_t row = 0; row < t->rows; row += TOGETHER) {
        const int64_t r = LESS_OF(row, t->rows - TOGETHER);
        const row_ends o = {c->to + r * t->columns + column, t->columns, may_pass && r + TOGETHER == t->rows};
        ox_ending e = begin;
        row_sums sums;
        sum_rows(high, vectors, h, line + r * step, sums);
        OX_UNROLLED for (int i = 0; i < TOGETHER; i += VECTORS / vectors) {
            uint32x4_t some[VECTORS];
            OX_UNROLLED for (int v = 0; v < VECTORS; v++) some[v] = sums[i + v / vectors][v % vectors];
            store_rows(vectors, s, order, &o, i, ox_end_sums(&e, some, scales));
        }
        if (!ox_is_sure(&e))
            end_rows_exactly(high, vectors, c, s, line + r * step, &o);
    }
}

OX_INLINED void run_strips(const int high, const channel *c, const strips *all) {
    const int64_t columns = c->tile->columns;
    int64_t column = 0;
    for (; columns - column > COLUMNS / 2; column += COLUMNS)
        run_strip(high, VECTORS, c, &all->whole, LESS_OF(column, columns - all->whole.columns));
    if (column < columns)
        run_strip(high, VECTORS / 2, c, &all->half, columns - all->half.columns);
}

/* False where a channel is left to other loops. */
static bool run_together(const channel *c, const strips *all) {
    const int64_t *offsets = c->taps->usual_offsets, below = offsets[1] - offsets[0];
    const int64_t step = c->tile->high * c->tile->room.pitch;
    if (c->tile->rows < TOGETHER || c->tile->columns <= LANES || offsets[2] - offsets[1] != below ||
        !c->end->quantizer.is_sure || (step != below && step != 2 * below))
        return false;
    if (step == below)
        run_strips(1, c, all);
    else
        run_strips(2, c, all);
    return true;
}

#endif
