/* attention.c: Attention. A block holds some queries of some heads. Its scores are computed, become weights row by row,
 * and are multiplied by the values while they lie in a cache. */
#include "attention.h"
#include "ops/dense.h"
#include "ops/gemm/gemm.h"
#include "ops/retype.h"
#include "loops/lanes.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK_BYTES = 256 << 10, /* of scores that a product makes */
    FEWEST_ROWS = 16,        /* of such a block, where there are as many queries */
    BLOCKS_EACH = 4          /* blocks for each thread at a time */
};

/* A number as an element of the type that is computed in. */
typedef union number {
    float f32;
    double f64;
} number;

typedef struct attention {
    ox_attention_shape shape;
    ox_dtype dtype; /* that is computed in */
    int64_t width;
    int64_t rows, blocks; /* of a block, and blocks for all queries of a head; the last may begin before it has to */
    int64_t units, round; /* all blocks, and those that are computed at a time */
    ox_gemm scores, sums; /* Q * K, and weights * V */
    ox_gemm_plan score_plan, sum_plan;
    ox_lane *mul, *add, *tanh;
    ox_softmax_fn *softmax;
    number scale, cap, uncap, hidden; /* hidden: what a key that is not seen adds */
} attention;

/* Keys or values: bytes from one batch, head and step to the next. */
typedef struct stretch {
    const char *data;
    int64_t batch, head, step;
} stretch;

typedef struct attention_run {
    const ox_call *call;
    const attention *a;
    stretch q, k, v;
    const char *mask; /* in the type that is computed in, or NULL */
    const int64_t *valid;
    char *scores;
    int64_t first, count; /* blocks of this round */
} attention_run;

/* ---- Operands ----------------------------------------------------------------------------------------------- */

/* A past and what is added to it, as one tensor of the cache's shape; without a past, the input itself. */
static ox_tensor joined(const ox_attention_shape *s, const ox_tensor *input, int64_t *dims, int64_t size) {
    dims[0] = s->batch, dims[1] = ox_attention_key_heads(s), dims[2] = ox_attention_keys(s), dims[3] = size;
    return s->past ? (ox_tensor){input->dtype, 4, dims, NULL, NULL} : *input;
}

static ox_status plan_joined(ox_call *call, const attention *a, int input, int64_t size) {
    int64_t dims[4];
    const ox_tensor t = joined(&a->shape, call->in[input], dims, size);
    if (a->shape.past)
        OX_TRY(ox_workspace_add(call, ox_tensor_count(&t), ox_dtype_size(t.dtype)));
    return ox_retype_plan(call, &t, a->dtype);
}

/* Steps of an input with heads x steps x size, or steps x heads x size, in bytes. */
static stretch stretch_of(bool flat, int64_t heads, int64_t steps, int64_t size, int64_t width) {
    const int64_t element = ox_wrapping(size, width);
    return (stretch){.batch = ox_wrapping(ox_wrapping(heads, steps), element),
                     .head = ox_wrapping(flat ? 1 : steps, element),
                     .step = ox_wrapping(flat ? heads : 1, element)};
}

/* Copies the steps of an input to where they belong in a cache, `at` steps from its start. */
static void move_steps(const ox_call *call, const attention *a, const ox_tensor *from, bool flat, int64_t steps,
                       int64_t size, int64_t at, char *to) {
    const ox_attention_shape *s = &a->shape;
    const int64_t heads = ox_attention_key_heads(s), width = (int64_t)ox_dtype_size(from->dtype);
    const int64_t dims[] = {s->batch, heads, steps, size};
    const stretch in = stretch_of(flat, heads, steps, size, width),
                  out = stretch_of(false, heads, ox_attention_keys(s), size, width);
    if (ox_count(4, dims) > 0)
        ox_move(call->loops, call->pool, 4, dims, (size_t)width, to + ox_wrapping(at, out.step),
                (const int64_t[]){out.batch, out.head, out.step, width}, from->data,
                (const int64_t[]){in.batch, in.head, in.step, width});
}

static void join(const ox_call *call, const attention *a, int input, int past, int64_t size, char *to) {
    const ox_attention_shape *s = &a->shape;
    if (s->past)
        move_steps(call, a, call->in[past], false, s->past, size, 0, to);
    move_steps(call, a, call->in[input], s->flat, s->added, size, s->past, to);
}

/* Keys or values in the type that is computed in, and the cache if somebody asked for it. */
static stretch take_joined(const ox_call *call, size_t *used, const attention *a, int input, int past, int output,
                           int64_t size) {
    const ox_attention_shape *s = &a->shape;
    int64_t dims[4];
    ox_tensor t = joined(s, call->in[input], dims, size);
    ox_tensor *present = output < call->nout ? call->out[output] : NULL;
    if (s->past) {
        t.data = ox_workspace_take(call, used, ox_tensor_count(&t), ox_dtype_size(t.dtype));
        if (present)
            t.data = present->data;
        join(call, a, input, past, size, t.data);
    } else if (present) {
        join(call, a, input, past, size, present->data);
    }
    stretch result = stretch_of(s->flat && !s->past, ox_attention_key_heads(s), ox_attention_keys(s), size, a->width);
    result.data = ox_retype_in(call, used, &t, a->dtype);
    return result;
}

/* ---- Plans -------------------------------------------------------------------------------------------------- */

static number number_of(ox_dtype dtype, double value) {
    number n = {0};
    if (dtype == OX_DOUBLE)
        n.f64 = value;
    else
        n.f32 = (float)value;
    return n;
}

static void plan_loops(const ox_call *call, attention *a) {
    const ox_attention_shape *s = &a->shape;
    a->mul = OX_BUILD_OF(call->loops, OX_LANES_Mul)->fn[a->dtype];
    a->add = OX_BUILD_OF(call->loops, OX_LANES_Add)->fn[a->dtype];
    a->tanh = OX_BUILD_OF(call->loops, OX_LANES_Tanh)->fn[a->dtype];
    const bool single = !OX_HAS(OX_DOUBLE) || a->dtype == OX_FLOAT;
    a->softmax = OX_BUILD_OF(call->loops, single ? ox_softmax_f32_builds : ox_softmax_f64_builds);
    a->scale = number_of(a->dtype, s->scale);
    a->cap = number_of(a->dtype, s->cap);
    a->uncap = number_of(a->dtype, 1 / s->cap);
    a->hidden = number_of(a->dtype, -(double)INFINITY);
}

static void finish_sums(const ox_gemm *g, const ox_gemm_block *block);

static ox_status plan_blocks(ox_call *call, attention *a) {
    const ox_attention_shape *s = &a->shape;
    const int64_t keys = ox_attention_keys(s), fitting = BLOCK_BYTES / a->width / keys;
    const stretch q = stretch_of(s->flat, s->heads, s->queries, s->size, a->width),
                  k = stretch_of(s->flat && !s->past, ox_attention_key_heads(s), keys, s->size, a->width),
                  v = stretch_of(s->flat && !s->past, ox_attention_key_heads(s), keys, s->values, a->width);
    a->rows = ox_least(s->queries, fitting > FEWEST_ROWS ? fitting : FEWEST_ROWS);
    a->blocks = (s->queries - 1) / a->rows + 1;
    a->units = s->batch * s->heads * a->blocks;
    a->round = ox_least(a->units, (int64_t)BLOCKS_EACH * ox_pool_parts(call->pool));
    a->scores = (ox_gemm){.m = a->rows, .n = keys, .k = s->size, .c_row = keys * a->width};
    a->scores.a = (ox_gemm_matrix){a->dtype, NULL, q.step, a->width};
    a->scores.b = (ox_gemm_matrix){a->dtype, NULL, a->width, k.step};
    a->sums = (ox_gemm){.m = a->rows, .n = s->values, .k = keys, .after.end = finish_sums};
    a->sums.a = (ox_gemm_matrix){a->dtype, NULL, keys * a->width, a->width};
    a->sums.b = (ox_gemm_matrix){a->dtype, NULL, v.step, a->width};
    OX_TRY(ox_workspace_add(call, ox_count(3, (const int64_t[]){a->round, a->rows, keys}), (size_t)a->width));
    OX_TRY(ox_gemm_prepare(call, &a->scores, a->round, &a->score_plan));
    return ox_gemm_prepare(call, &a->sums, a->round, &a->sum_plan);
}

/* True if there are scores. */
static bool has_scores(const ox_attention_shape *s) {
    return s->batch && s->heads && s->queries && ox_attention_keys(s);
}

ox_status ox_prepare_attention(ox_call *call) {
    attention *a = ox_call_state(call, sizeof *a);
    if (!a)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_attention_shape_of(call, &a->shape));
    a->dtype = ox_dtype_compute(call->in[OX_ATTENTION_Q]->dtype);
    a->width = (int64_t)ox_dtype_size(a->dtype);
    plan_loops(call, a);
    OX_TRY(ox_list_plan(call, OX_ATTENTION_VALID));
    OX_TRY(ox_retype_plan(call, call->in[OX_ATTENTION_Q], a->dtype));
    OX_TRY(plan_joined(call, a, OX_ATTENTION_K, a->shape.size));
    OX_TRY(plan_joined(call, a, OX_ATTENTION_V, a->shape.values));
    if (ox_call_given(call, OX_ATTENTION_MASK))
        OX_TRY(ox_retype_plan(call, call->in[OX_ATTENTION_MASK], a->dtype));
    if (!has_scores(&a->shape))
        return OX_OK;
    const ox_attention_shape *s = &a->shape;
    if (ox_count(4, (const int64_t[]){s->batch, s->heads, s->queries, ox_attention_keys(s)}) < 0)
        return ox_call_fail(call, OX_ERROR_LIMIT, "the scores of %lld queries and %lld keys are too many",
                            (long long)s->queries, (long long)ox_attention_keys(s));
    return plan_blocks(call, a);
}

/* ---- Products ----------------------------------------------------------------------------------------------- */

/* Where a block is: its batch, head and first query, and how many of its rows another one has already. */
typedef struct unit {
    int64_t batch, head, query, skip;
} unit;

static unit unit_of(const attention *a, int64_t i) {
    const int64_t block = i % a->blocks, head = i / a->blocks;
    const int64_t start = ox_least(block * a->rows, a->shape.queries - a->rows);
    return (unit){head / a->shape.heads, head % a->shape.heads, start, block * a->rows - start};
}

static const char *at(const stretch *s, int64_t batch, int64_t head, int64_t step) {
    return s->data + batch * s->batch + head * s->head + step * s->step;
}

/* An ox_gemm_place_fn of scores. */
static void place_scores(const void *places, int64_t i, ox_gemm *g) {
    const attention_run *run = places;
    const unit u = unit_of(run->a, run->first + i);
    g->a.data = at(&run->q, u.batch, u.head, u.query);
    g->b.data = at(&run->k, u.batch, u.head / run->a->shape.shared, 0);
}

/* An ox_gemm_place_fn of sums. */
static void place_sums(const void *places, int64_t i, ox_gemm *g) {
    const attention_run *run = places;
    const unit u = unit_of(run->a, run->first + i);
    g->a.data = run->scores + i * run->a->rows * g->a.row;
    g->b.data = at(&run->v, u.batch, u.head / run->a->shape.shared, 0);
    g->extra = g->a.data;
}

/* An ox_gemm_end_fn: `extra` is where the block's scores are, which tells its number. */
static void finish_sums(const ox_gemm *g, const ox_gemm_block *block) {
    const attention_run *run = g->context;
    const attention *a = run->a;
    const ox_attention_shape *s = &a->shape;
    const unit u = unit_of(a, run->first + ((const char *)g->extra - run->scores) / (a->rows * g->a.row));
    for (int64_t i = 0; i < block->rows; i++) {
        const int64_t row = block->row + i, query = u.query + row;
        const int64_t place = s->flat ? (u.batch * s->queries + query) * s->heads + u.head
                                      : (u.batch * s->heads + u.head) * s->queries + query;
        if (row >= u.skip)
            ox_store_row(run->call, run->call->out[OX_ATTENTION_Y], place * s->values + block->column, block->columns,
                         block->data + i * block->data_row);
    }
}

/* ---- Weights ------------------------------------------------------------------------------------------------ */

/* The keys [first, end) that a query may see. */
typedef struct key_range {
    int64_t first, end;
} key_range;

static key_range keys_of(const attention_run *run, int64_t batch, int64_t query) {
    const ox_attention_shape *s = &run->a->shape;
    const int64_t all = ox_attention_keys(s), most = all + s->queries;
    const int64_t own = query + (run->valid ? run->valid[batch] - s->queries : s->past);
    key_range k = {0, run->valid ? run->valid[batch] : all};
    if (run->mask)
        k.end = ox_least(k.end, s->mask_row);
    if (s->causal)
        k.end = ox_least(k.end, own + 1);
    if (s->right >= 0)
        k.end = ox_least(k.end, own + 1 + ox_least(s->right, most));
    if (s->left >= 0)
        k.first = own - ox_least(s->left, most);
    k.end = k.end < 0 ? 0 : k.end;
    k.first = k.first < 0 ? 0 : ox_least(k.first, k.end);
    return k;
}

/* x = x * y, or x + y, of n elements. */
static void apply(const attention *a, ox_lane *lane, int64_t n, char *x, const void *y, int64_t step) {
    lane(n, (char *const[]){x, x, (char *)(uintptr_t)y}, (const int64_t[]){a->width, a->width, step}, NULL);
}

static void fill(const attention_run *run, int64_t first, int64_t end, char *row, const number *value) {
    const int64_t width = run->a->width;
    run->call->loops->move((size_t)width)(end - first, row + first * width, width, (const char *)value, 0);
}

/* True if one of n elements is not minus infinity: nearly always the first one. */
static bool any_seen(const attention *a, int64_t n, const char *x) {
    for (int64_t i = 0; i < n; i++)
        if (a->dtype == OX_DOUBLE ? OX_GET(ox_f64, x + i * 8) != -(double)INFINITY
                                  : OX_GET(ox_f32, x + i * 4) != -INFINITY)
            return true;
    return false;
}

static void show(const attention_run *run, const unit *u, int64_t query, int mode, const char *row) {
    const ox_attention_shape *s = &run->a->shape;
    const ox_call *call = run->call;
    if (s->mode == mode && call->nout > OX_ATTENTION_SCORES && call->out[OX_ATTENTION_SCORES])
        ox_store_row(call, call->out[OX_ATTENTION_SCORES],
                     ((u->batch * s->heads + u->head) * s->queries + query) * ox_attention_keys(s),
                     ox_attention_keys(s), row);
}

static void cap_scores(const attention *a, int64_t n, char *row) {
    if (!(a->shape.cap > 0))
        return;
    apply(a, a->mul, n, row, &a->uncap, 0);
    a->tanh(n, (char *const[]){row, row}, (const int64_t[]){a->width, a->width}, NULL);
    apply(a, a->mul, n, row, &a->cap, 0);
}

/* Adds the mask; false if it leaves no key. */
static bool add_mask(const attention_run *run, const unit *u, int64_t query, key_range k, char *row) {
    const attention *a = run->a;
    const int64_t *step = a->shape.mask;
    if (!run->mask)
        return k.first < k.end;
    const char *mask =
        run->mask + (u->batch * step[0] + u->head * step[1] + query * step[2] + k.first * step[3]) * a->width;
    apply(a, a->add, k.end - k.first, row + k.first * a->width, mask, a->width);
    return any_seen(a, k.end - k.first, mask);
}

/* Scores of one query become its weights. */
static void weigh(const attention_run *run, const unit *u, int64_t query, char *row) {
    const attention *a = run->a;
    const number zero = {0};
    const int64_t all = ox_attention_keys(&a->shape);
    const key_range k = keys_of(run, u->batch, query);
    char *seen = row + k.first * a->width;
    apply(a, a->mul, all, row, &a->scale, 0);
    show(run, u, query, OX_SCORES_RAW, row);
    cap_scores(a, all, row);
    show(run, u, query, OX_SCORES_CAPPED, row);
    fill(run, 0, k.first, row, &a->hidden);
    fill(run, k.end, all, row, &a->hidden);
    const bool any = add_mask(run, u, query, k, row) && any_seen(a, k.end - k.first, seen);
    show(run, u, query, OX_SCORES_BIASED, row);
    if (any)
        a->softmax(k.end - k.first, 1, 1, seen, seen);
    fill(run, 0, any ? k.first : all, row, &zero);
    fill(run, k.end, all, row, &zero);
    show(run, u, query, OX_SCORES_SOFTMAX, row);
}

static void weigh_part(void *context, int part, int parts) {
    const attention_run *run = context;
    const attention *a = run->a;
    int64_t i, end;
    ox_pool_range(run->count * a->rows, part, parts, &i, &end);
    for (; i < end; i++) {
        const unit u = unit_of(a, run->first + i / a->rows);
        if (i % a->rows >= u.skip)
            weigh(run, &u, u.query + i % a->rows, run->scores + i * a->scores.c_row);
    }
}

/* ---- Runs --------------------------------------------------------------------------------------------------- */

static ox_status read_valid(const ox_call *call, size_t *used, attention_run *run) {
    const ox_attention_shape *s = &run->a->shape;
    run->valid = ox_list_take(call, used, OX_ATTENTION_VALID);
    for (int64_t i = 0; run->valid && i < s->batch; i++)
        if (run->valid[i] < 0 || run->valid[i] > ox_attention_keys(s))
            return ox_call_fail(call, OX_ERROR_VALUE, "element %lld of %s is %lld, but there are %lld keys",
                                (long long)i, OX_INPUT(call, OX_ATTENTION_VALID), (long long)run->valid[i],
                                (long long)ox_attention_keys(s));
    return OX_OK;
}

/* Where a mask of bools says no, minus infinity is added. */
static void hide(const attention *a, int64_t n, char *mask) {
    for (int64_t i = 0; i < n; i++)
        if (a->dtype == OX_DOUBLE)
            OX_AT(ox_f64, mask + i * 8) = OX_GET(ox_f64, mask + i * 8) != 0 ? 0 : a->hidden.f64;
        else
            OX_AT(ox_f32, mask + i * 4) = OX_GET(ox_f32, mask + i * 4) != 0 ? 0 : a->hidden.f32;
}

static void take_operands(const ox_call *call, size_t *used, attention_run *run) {
    const attention *a = run->a;
    const ox_attention_shape *s = &a->shape;
    const ox_tensor *mask = ox_call_given(call, OX_ATTENTION_MASK) ? call->in[OX_ATTENTION_MASK] : NULL;
    run->q = stretch_of(s->flat, s->heads, s->queries, s->size, a->width);
    run->q.data = ox_retype_in(call, used, call->in[OX_ATTENTION_Q], a->dtype);
    run->k = take_joined(call, used, a, OX_ATTENTION_K, OX_ATTENTION_PAST_KEY, OX_ATTENTION_PRESENT_KEY, s->size);
    run->v = take_joined(call, used, a, OX_ATTENTION_V, OX_ATTENTION_PAST_VALUE, OX_ATTENTION_PRESENT_VALUE, s->values);
    char *taken = mask ? ox_retype_in(call, used, mask, a->dtype) : NULL;
    if (mask && mask->dtype == OX_BOOL)
        hide(a, ox_tensor_count(mask), taken);
    run->mask = taken;
}

static void run_blocks(const ox_call *call, size_t used, attention_run *run) {
    const attention *a = run->a;
    const int64_t keys = ox_attention_keys(&a->shape);
    run->scores = ox_workspace_take(call, &used, a->round * a->rows * keys, (size_t)a->width);
    void *score_room = ox_gemm_take(call, &used, &a->score_plan), *sum_room = ox_gemm_take(call, &used, &a->sum_plan);
    ox_gemm scores = a->scores, sums = a->sums;
    scores.c = run->scores;
    sums.context = run;
    for (run->first = 0; run->first < a->units && !ox_pool_poll(call->pool); run->first += a->round) {
        run->count = ox_least(a->round, a->units - run->first);
        ox_gemm_run(&a->score_plan, &scores, run->count, place_scores, run, score_room);
        ox_pool_run_pieces(call->pool, 16 * (double)run->count * (double)a->rows * (double)keys, weigh_part, run);
        if (call->out[OX_ATTENTION_Y])
            ox_gemm_run(&a->sum_plan, &sums, run->count, place_sums, run, sum_room);
    }
}

ox_status ox_run_attention(ox_call *call) {
    attention_run run = {.call = call, .a = call->state};
    const ox_tensor *y = call->out[OX_ATTENTION_Y];
    size_t used = 0;
    OX_TRY(read_valid(call, &used, &run));
    take_operands(call, &used, &run);
    if (has_scores(&run.a->shape))
        run_blocks(call, used, &run);
    else if (y && ox_tensor_count(y) > 0)
        memset(y->data, 0, (size_t)ox_tensor_count(y) * ox_dtype_size(y->dtype));
    return OX_OK;
}
