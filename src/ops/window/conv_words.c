/* conv_words.c: channels of bytes side by side, for products that take several along k together. */
#include "conv_words.h"
#include "ops/dense.h"
#include "store.h"

#include <string.h>

#if !OX_SMALL
enum {
    MOST_TAPS = 1024, /* of all dimensions, for places */
    MOST_COLUMNS = 64 /* of a tile: they have bits of a word */
};

/* Bytes along k: whole words for each tap. */
static int64_t depth_of(const ox_conv_words *w, const ox_conv *c) {
    return w->words * c->window.taps * w->group;
}

/* ---- Weights ------------------------------------------------------------------------------------------------ */

typedef struct words_weights {
    const ox_conv *conv;
    const ox_conv_words *words;
    const uint8_t *from;
} words_weights;

/* An ox_store_fn: word by word the weights of each tap, or tap by tap those of each word, for all output channels. */
static void lay_weights(const void *context, void *block) {
    const words_weights *made = context;
    const int64_t channels = made->conv->in_channels, taps = made->conv->window.taps, group = made->words->group;
    const int64_t all = made->conv->out_channels * made->conv->groups;
    const int64_t words = made->words->words, by_word = made->words->is_placed ? 1 : taps,
                  by_tap = made->words->is_placed ? words : 1;
    uint8_t *to = block;
    for (int64_t o = 0; o < all; o++, to += words * taps * group)
        for (int64_t word = 0; word < words; word++)
            for (int64_t tap = 0; tap < taps; tap++)
                for (int64_t i = 0, channel = word * group; i < group; i++, channel++)
                    to[(word * by_word + tap * by_tap) * group + i] =
                        channel < channels ? made->from[(o * channels + channel) * taps + tap] : 0;
}

/* The weights in their order; NULL if there is no room for them. */
static ox_status find_weights(ox_call *call, const ox_conv *c, const ox_tensor *t, ox_conv_words *w) {
    const words_weights made = {c, w, t->data};
    ox_store_key key = ox_packed_key(OX_LAYOUT_WORDS, NULL, t);
    int64_t size;
    if (!ox_mul_i64(c->out_channels * c->groups, depth_of(w, c), &size) || (uint64_t)size > SIZE_MAX / 4)
        return OX_OK;
    key.groups = c->groups;
    key.variant = w->is_placed ? -w->group : w->group;
    return ox_store_get(call->store, &key, (size_t)size, lay_weights, &made, &w->weights, call->error);
}

/* ---- Prepare ------------------------------------------------------------------------------------------------ */

static const ox_gemm_kernel *kernel_of(const ox_call *call, const ox_conv *c) {
    return ox_gemm_kernel_of(call->loops, call->in[c->weights]->dtype, call->in[0]->dtype);
}

bool ox_conv_words_can(const ox_call *call, const ox_conv *c) {
    const ox_tensor *t = call->in[c->weights];
    return call->store && (call->weights >> c->weights & 1) && kernel_of(call, c)->group > 1 &&
           t->rank <= OX_STORE_DIMS && ox_tensor_is_packed(t) && !c->pointwise && c->in_channels > 1 &&
           c->out_channels > 0 && c->images > 0 && c->window.taps > 0 && c->window.in_count > 0 &&
           c->window.out_count > 0;
}

/* Whether columns side by side see elements side by side, whatever the tap: lines of results are as long as those of
 * the image. */
static bool runs_on(const ox_window *w) {
    bool does = true;
    int64_t taps = 0;
    for (int d = 0; d < w->spatial && does; d++) {
        taps += ox_least(w->kernel[d], MOST_TAPS + 1);
        does = w->stride[d] == 1 && (!d || w->in[d] == w->out[d]) && taps <= MOST_TAPS;
    }
    return does;
}

ox_status ox_conv_words_weights(ox_call *call, const ox_conv *c, ox_conv_words *w) {
    const ox_gemm_kernel *kernel = kernel_of(call, c);
    w->group = kernel->group;
    w->words = ox_quotient(c->in_channels - 1, w->group) + 1;
    w->is_placed = kernel->place_tile && runs_on(&c->window);
    return find_weights(call, c, call->in[c->weights], w);
}

ox_status ox_conv_words_plan(ox_call *call, const ox_conv *c, ox_conv_words *w) {
    w->bytes = (size_t)(w->words * w->group * c->window.in_count);
    return ox_workspace_add(call, c->images * c->groups, w->bytes);
}

void ox_conv_words_product(const ox_conv_words *w, const ox_conv *c, ox_gemm *g) {
    g->k = depth_of(w, c);
    g->a.row = g->k;
    g->is_placed = w->is_placed;
}

/* ---- Images ------------------------------------------------------------------------------------------------- */

typedef struct words_job {
    const ox_call *call;
    const ox_conv *conv;
    const ox_conv_words *words;
    char *to;
} words_job;

/* Some of the words of all images and groups. */
static void image_part(void *context, int part, int parts) {
    const words_job *job = context;
    const ox_conv *c = job->conv;
    const ox_conv_words *w = job->words;
    const int64_t pixels = c->window.in_count;
    int64_t at, end;
    ox_pool_range(c->images * c->groups * w->words, part, parts, &at, &end);
    for (; at < end; at++) {
        const int64_t product = ox_quotient(at, w->words), first = (at - product * w->words) * w->group;
        const ox_tensor *x = job->call->in[0];
        const ox_gemm_matrix rows = {x->dtype, (const char *)x->data + (product * c->in_channels + first) * pixels,
                                     pixels, 1};
        c->plan.kernel->pack_b(job->call->loops, &rows, ox_least(w->group, c->in_channels - first), pixels,
                               job->to + at * w->group * pixels, pixels, NULL);
    }
}

char *ox_conv_words_take(const ox_call *call, const ox_conv *c, const ox_conv_words *w, size_t *used) {
    const int64_t count = c->images * c->groups;
    words_job job = {call, c, w, ox_workspace_take(call, used, count, w->bytes)};
    ox_pool_run_pieces(call->pool, 2 * (double)count * (double)w->bytes, image_part, &job);
    return job.to;
}

/* Columns side by side of one line of results: the first of them, counted from the first that is asked for, how many,
 * and their places in all dimensions. */
typedef struct line_part {
    int64_t at, count;
    int64_t index[OX_WINDOW_DIMS];
} line_part;

static int find_lines(const ox_window *w, int64_t column, int64_t columns, line_part *parts) {
    const int last = w->spatial - 1;
    int64_t index[OX_WINDOW_DIMS];
    int count = 0;
    ox_index_of(w->spatial, w->out, column, index);
    for (int64_t at = 0; at < columns; count++) {
        line_part *part = &parts[count];
        *part = (line_part){.at = at, .count = ox_least(columns - at, w->out[last] - index[last])};
        memcpy(part->index, index, sizeof index);
        at += part->count;
        index[last] = 0;
        ox_index_next(last, w->out, index);
    }
    return count;
}

/* By how much more the indices of what a tap sees are than those of the result, in dimension d. */
static int64_t find_more(const ox_window *w, int d, int64_t tap) {
    return tap * w->dilation[d] - w->pad[d];
}

/* The columns of lines of which a tap sees the image in dimension d. */
static uint64_t columns_within(const ox_window *w, int d, int64_t tap, int lines, const line_part *parts) {
    const int64_t more = find_more(w, d, tap), size = w->in[d];
    uint64_t within = 0;
    for (const line_part *part = parts; part < parts + lines; part++) {
        const int64_t x = part->index[d] + more;
        int64_t first = 0, end = x >= 0 && x < size ? part->count : 0;
        if (d == w->spatial - 1)
            first = ox_most(0, -x), end = ox_least(part->count, size - x);
        if (end > first)
            within |= (end - first < 64 ? ((uint64_t)1 << (end - first)) - 1 : ~(uint64_t)0) << (part->at + first);
    }
    return within;
}

/* What a tap of all dimensions but for the last one sees; `within` has the columns of each tap of each dimension. Gives
 * where the taps of the last one begin. */
static int64_t find_outer(const ox_window *w, const int64_t *tap, const uint64_t *within, ox_gemm_place *outer) {
    int64_t start = 0;
    *outer = (ox_gemm_place){.within = ~(uint64_t)0};
    for (int d = 0; d < w->spatial - 1; start += w->kernel[d++]) {
        outer->within &= within[start + tap[d]];
        outer->from = (outer->from + (uintptr_t)find_more(w, d, tap[d])) * (uintptr_t)w->in[d + 1];
    }
    return start;
}

/* The places of a tile's columns, for groups of k that are whole words: tap by tap. */
static void find_places(const ox_conv *c, const ox_conv_words *w, const ox_conv_source *from,
                        const ox_gemm_block *block) {
    const ox_window *window = &c->window;
    const int last = window->spatial - 1;
    const int64_t first = ox_quotient(block->row, w->group), end = first + ox_quotient(block->rows, w->group);
    ox_gemm_places *places = (void *)block->data;
    uint64_t *within = (void *)(block->data + OX_GEMM_STAGE / 2), *next = within;
    line_part parts[MOST_COLUMNS];
    int64_t tap[OX_WINDOW_DIMS], word = ox_remainder(first, w->words);
    OX_ASSERT(block->columns > 0 && block->columns <= MOST_COLUMNS && block->column < window->out_count);
    OX_ASSERT(first < end && end <= w->words * window->taps);
    OX_ASSERT(sizeof *places + (size_t)(end - first) * sizeof *places->place <= OX_GEMM_STAGE / 2);
    const int64_t columns = ox_least(block->columns, window->out_count - block->column);
    const int lines = find_lines(window, block->column, columns, parts);
    for (int d = 0; d < window->spatial; d++)
        for (int64_t i = 0; i < window->kernel[d]; i++)
            *next++ = columns_within(window, d, i, lines, parts);
    OX_ASSERT((char *)next <= block->data + OX_GEMM_STAGE);
    ox_index_of(window->spatial, window->kernel, ox_quotient(first, w->words), tap);
    *places =
        (ox_gemm_places){.step = (uintptr_t)(w->group * window->in_count), .fill = 0x01010101U * (uint32_t)from->fill};
    ox_gemm_place outer;
    int64_t start = find_outer(window, tap, within, &outer);
    for (int64_t at = first; at < end; word = 0) {
        ox_gemm_place *place = &places->place[places->count++];
        place->groups = ox_least(end - at, w->words - word);
        place->within = outer.within & within[start + tap[last]];
        const uintptr_t moved = outer.from + (uintptr_t)(find_more(window, last, tap[last]) + block->column);
        place->from = (uintptr_t)from->data + (uintptr_t)word * places->step +
                      (place->within ? moved * (uintptr_t)w->group : 0); /* or else nothing is read */
        at += place->groups;
        if (++tap[last] == window->kernel[last]) {
            tap[last] = 0;
            ox_index_next(last, window->kernel, tap);
            start = find_outer(window, tap, within, &outer);
        }
    }
}

void ox_conv_words_columns(const ox_conv *c, const ox_conv_words *w, const ox_gemm *g, const char *all, int fill,
                           const ox_gemm_block *panel) {
    const int64_t product = ox_quotient(g->start, g->m * g->n);
    const int seen = c->plan.kernel->shift ? fill ^ 0x80 : fill; /* as the kernel does */
    const ox_conv_source from = ox_conv_source_of(ox_gemm_loops(&c->plan), all + product * (int64_t)w->bytes,
                                                  w->group == sizeof(uint64_t)   ? OX_UINT64
                                                  : w->group == sizeof(uint32_t) ? OX_UINT32
                                                                                 : OX_UINT16,
                                                  seen);
    if (w->is_placed) {
        find_places(c, w, &from, panel);
        return;
    }
    ox_gemm_block words = *panel;
    words.row = ox_quotient(panel->row, w->group), words.rows = ox_quotient(panel->rows, w->group);
    words.data_row = panel->data_row * w->group;
    ox_conv_columns(c, &from, &words);
}
#endif
