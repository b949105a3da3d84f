/* conv_words.c: channels of bytes side by side, for products that take several along k together. */
#include "conv_words.h"
#include "ops/dense.h"
#include "store.h"

#if !OX_SMALL
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

/* An ox_store_fn: word by word the weights of each tap, for all output channels. */
static void lay_weights(const void *context, void *block) {
    const words_weights *made = context;
    const int64_t channels = made->conv->in_channels, taps = made->conv->window.taps, group = made->words->group;
    const int64_t all = made->conv->out_channels * made->conv->groups;
    uint8_t *to = block;
    for (int64_t o = 0; o < all; o++)
        for (int64_t first = 0; first < channels; first += group)
            for (int64_t tap = 0; tap < taps; tap++)
                for (int64_t i = first; i < first + group; i++)
                    *to++ = i < channels ? made->from[(o * channels + i) * taps + tap] : 0;
}

/* The weights in their order; NULL if there is no room for them. */
static ox_status find_weights(ox_call *call, const ox_conv *c, const ox_tensor *t, ox_conv_words *w) {
    const words_weights made = {c, w, t->data};
    ox_store_key key = ox_packed_key(OX_LAYOUT_WORDS, NULL, t);
    int64_t size;
    if (!ox_mul_i64(c->out_channels * c->groups, depth_of(w, c), &size) || (uint64_t)size > SIZE_MAX / 4)
        return OX_OK;
    key.groups = c->groups;
    key.variant = w->group;
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

ox_status ox_conv_words_weights(ox_call *call, const ox_conv *c, ox_conv_words *w) {
    w->group = kernel_of(call, c)->group;
    w->words = ox_quotient(c->in_channels - 1, w->group) + 1;
    return find_weights(call, c, call->in[c->weights], w);
}

ox_status ox_conv_words_plan(ox_call *call, const ox_conv *c, ox_conv_words *w) {
    w->bytes = (size_t)(w->words * w->group * c->window.in_count);
    return ox_workspace_add(call, c->images * c->groups, w->bytes);
}

void ox_conv_words_product(const ox_conv_words *w, const ox_conv *c, ox_gemm *g) {
    g->k = depth_of(w, c);
    g->a.row = g->k;
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

void ox_conv_words_columns(const ox_conv *c, const ox_conv_words *w, const ox_gemm *g, const char *all, int fill,
                           const ox_gemm_block *panel) {
    const int64_t product = ox_quotient(g->start, g->m * g->n);
    const int seen = c->plan.kernel->shift ? fill ^ 0x80 : fill; /* as the kernel does */
    const ox_conv_source from = ox_conv_source_of(ox_gemm_loops(&c->plan), all + product * (int64_t)w->bytes,
                                                  w->group == sizeof(uint64_t)   ? OX_UINT64
                                                  : w->group == sizeof(uint32_t) ? OX_UINT32
                                                                                 : OX_UINT16,
                                                  seen);
    ox_gemm_block words = *panel;
    words.row = ox_quotient(panel->row, w->group), words.rows = ox_quotient(panel->rows, w->group);
    words.data_row = panel->data_row * w->group;
    ox_conv_columns(c, &from, &words);
}
#endif
