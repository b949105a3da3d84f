/* attention.c: Attention. A block holds some queries of some heads. Its scores are computed, become weights row by row,
 * and are multiplied by the values while they lie in a cache. */
#include "attention.h"
#include "attention_lay.h"
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
    int64_t across;       /* places of a row of scores: all keys, and a sink */
    ox_attention_lay lay; /* of queries, keys and values */
    int64_t rows, blocks; /* of a block, and blocks for all queries of a head; the last may begin before it has to */
    int64_t units, round; /* all blocks, and those that are computed at a time */
    ox_gemm scores, sums; /* Q * K, and weights * V */
    ox_gemm_plan score_plan, sum_plan;
    ox_lane *mul, *add, *tanh;
    ox_softmax_fn *softmax;
    number scale, cap, uncap, hidden, unseen; /* hidden: what a mask of bools adds where it says no */
} attention;

typedef struct attention_run {
    const ox_call *call;
    const attention *a;
    ox_stretch laid[OX_LAID];
    const char *mask, *key_mask; /* in the type that is computed in, or NULL */
    const char *sinks;           /* the same */
    const int64_t *valid;        /* keys of each of the batch; NULL: all */
    int64_t *before;             /* steps before those of this call, of each of the batch, if it counts them */
    char *scores;
    int64_t first, count; /* blocks of this round */
} attention_run;

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
    a->unseen = number_of(a->dtype, s->unseen);
}

static void finish_sums(const ox_gemm *g, const ox_gemm_block *block);

static ox_status plan_blocks(ox_call *call, attention *a) {
    const ox_attention_shape *s = &a->shape;
    const int64_t keys = s->keys, row = a->across * a->width, fitting = BLOCK_BYTES / row;
    ox_stretch laid[OX_LAID];
    for (int i = 0; i < OX_LAID; i++)
        laid[i] = ox_attention_stretch(s, &a->lay, i);
    a->rows = ox_least(s->queries, fitting > FEWEST_ROWS ? fitting : FEWEST_ROWS);
    a->blocks = (s->queries - 1) / a->rows + 1;
    a->units = s->batch * s->heads * a->blocks;
    a->round = ox_least(a->units, (int64_t)BLOCKS_EACH * ox_pool_parts(call->pool));
    a->scores = (ox_gemm){.m = a->rows, .n = keys, .k = s->size, .c_row = row};
    a->scores.a = (ox_gemm_matrix){a->dtype, NULL, laid[OX_LAID_Q].step, a->width};
    a->scores.b = (ox_gemm_matrix){a->dtype, NULL, a->width, laid[OX_LAID_K].step};
    a->sums = (ox_gemm){.m = a->rows, .n = s->values, .k = keys, .after.end = finish_sums};
    a->sums.a = (ox_gemm_matrix){a->dtype, NULL, row, a->width};
    a->sums.b = (ox_gemm_matrix){a->dtype, NULL, laid[OX_LAID_V].step, a->width};
    OX_TRY(ox_workspace_add(call, ox_count(3, (const int64_t[]){a->round, a->rows, a->across}), (size_t)a->width));
    OX_TRY(ox_gemm_prepare(call, &a->scores, a->round, &a->score_plan));
    return ox_gemm_prepare(call, &a->sums, a->round, &a->sum_plan);
}

/* True if there are scores. */
static bool has_scores(const ox_attention_shape *s) {
    return s->batch && s->heads && s->queries && s->keys;
}

/* What is added to scores, in the order of run. */
static ox_status plan_masks(ox_call *call, const attention *a) {
    const ox_attention_shape *s = &a->shape;
    const int added[] = {OX_ATTENTION_MASK, OX_ATTENTION_SINK};
    for (int i = 0; i < 2; i++)
        if (ox_attention_has(call, s, added[i]))
            OX_TRY(ox_retype_plan(call, call->in[s->in[added[i]]], a->dtype));
    return ox_attention_has(call, s, OX_ATTENTION_KEY_MASK) ? ox_attention_plan_key_mask(call, s) : OX_OK;
}

/* Lists of integers, in the order of run. */
static ox_status plan_lists(ox_call *call, const ox_attention_shape *s) {
    OX_TRY(ox_list_plan(call, s->in[OX_ATTENTION_VALID]));
    OX_TRY(ox_list_plan(call, s->in[OX_ATTENTION_POSITIONS]));
    if (!s->counted)
        return OX_OK;
    OX_TRY(ox_workspace_add(call, s->batch, 2 * sizeof(int64_t)));
    return s->half ? ox_workspace_add(call, ox_count(2, (const int64_t[]){s->batch, s->queries}), sizeof(int64_t))
                   : OX_OK;
}

static ox_status prepare(ox_call *call, ox_attention_shape_fn *shape_of) {
    attention *a = ox_call_state(call, sizeof *a);
    if (!a)
        return OX_ERROR_MEMORY;
    ox_attention_shape *s = &a->shape;
    OX_TRY(shape_of(call, s));
    a->dtype = ox_dtype_compute(call->in[s->rows[OX_LAID_Q].input]->dtype);
    a->width = (int64_t)ox_dtype_size(a->dtype);
    if (!ox_add_i64(s->keys, s->sinks, &a->across) ||
        ox_count(4, (const int64_t[]){s->batch, s->heads, s->queries, a->across}) < 0)
        return ox_call_fail(call, OX_ERROR_LIMIT, "the scores of %lld queries and %lld keys are too many",
                            (long long)s->queries, (long long)s->keys);
    plan_loops(call, a);
    OX_TRY(plan_lists(call, s));
    OX_TRY(ox_attention_plan_lay(call, s, a->dtype, &a->lay));
    OX_TRY(plan_masks(call, a));
    return has_scores(s) ? plan_blocks(call, a) : OX_OK;
}

ox_status ox_prepare_attention(ox_call *call) {
    return prepare(call, ox_attention_shape_of);
}

ox_status ox_prepare_multi_head(ox_call *call) {
    return prepare(call, ox_multi_head_shape_of);
}

ox_status ox_prepare_group_query(ox_call *call) {
    return prepare(call, ox_group_query_shape_of);
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

static const char *at(const ox_stretch *s, int64_t batch, int64_t head, int64_t step) {
    return s->data + batch * s->batch + head * s->head + step * s->step;
}

/* An ox_gemm_place_fn of scores. */
static void place_scores(const void *places, int64_t i, ox_gemm *g) {
    const attention_run *run = places;
    const unit u = unit_of(run->a, run->first + i);
    g->a.data = at(&run->laid[OX_LAID_Q], u.batch, u.head, u.query);
    g->b.data = at(&run->laid[OX_LAID_K], u.batch, u.head / run->a->shape.shared, 0);
}

/* An ox_gemm_place_fn of sums. */
static void place_sums(const void *places, int64_t i, ox_gemm *g) {
    const attention_run *run = places;
    const unit u = unit_of(run->a, run->first + i);
    g->a.data = run->scores + i * run->a->rows * g->a.row;
    g->b.data = at(&run->laid[OX_LAID_V], u.batch, u.head / run->a->shape.shared, 0);
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
    const int64_t all = s->keys, most = all + s->queries;
    const int64_t own = query + (run->before  ? run->before[batch]
                                 : run->valid ? run->valid[batch] - s->queries
                                              : s->before);
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
    if (s->mode == mode && call->nout > s->scores && call->out[s->scores])
        ox_store_row(call, call->out[s->scores], ((u->batch * s->heads + u->head) * s->queries + query) * s->keys,
                     s->keys, row);
}

static void cap_scores(const attention *a, int64_t n, char *row) {
    if (!(a->shape.cap > 0))
        return;
    apply(a, a->mul, n, row, &a->uncap, 0);
    a->tanh(n, (char *const[]){row, row}, (const int64_t[]){a->width, a->width}, NULL);
    apply(a, a->mul, n, row, &a->cap, 0);
}

/* Adds the masks; false if one of them leaves no key. */
static bool add_mask(const attention_run *run, const unit *u, int64_t query, key_range k, char *row) {
    const attention *a = run->a;
    const ox_attention_shape *s = &a->shape;
    const int64_t *step = s->mask;
    if (run->key_mask) {
        const int64_t at = (u->batch * s->key_mask_rows + (s->key_mask_rows > 1 ? query : 0)) * s->keys + k.first;
        apply(a, a->add, k.end - k.first, row + k.first * a->width, run->key_mask + at * a->width, a->width);
    }
    if (!run->mask)
        return k.first < k.end;
    const char *mask =
        run->mask + (u->batch * step[0] + u->head * step[1] + query * step[2] + k.first * step[3]) * a->width;
    apply(a, a->add, k.end - k.first, row + k.first * a->width, mask, a->width);
    return any_seen(a, k.end - k.first, mask);
}

/* Softmax of the scores of keys that are seen; a sink stands behind them as one more. */
static void soften(const attention_run *run, const unit *u, key_range k, char *row) {
    const attention *a = run->a;
    const number zero = {0};
    char *seen = row + k.first * a->width, *end = row + k.end * a->width;
    if (a->shape.sinks)
        memcpy(end, run->sinks ? run->sinks + u->head * a->width : (const char *)&zero, (size_t)a->width);
    a->softmax(k.end - k.first + a->shape.sinks, 1, 1, seen, seen);
}

/* Scores of one query become its weights. */
static void weigh(const attention_run *run, const unit *u, int64_t query, char *row) {
    const attention *a = run->a;
    const number zero = {0};
    const int64_t all = a->shape.keys;
    const key_range k = keys_of(run, u->batch, query);
    char *seen = row + k.first * a->width;
    apply(a, a->mul, all, row, &a->scale, 0);
    show(run, u, query, OX_SCORES_RAW, row);
    cap_scores(a, all, row);
    show(run, u, query, OX_SCORES_CAPPED, row);
    fill(run, 0, k.first, row, &a->unseen);
    fill(run, k.end, all, row, &a->unseen);
    const bool any = add_mask(run, u, query, k, row) && any_seen(a, k.end - k.first, seen);
    show(run, u, query, OX_SCORES_BIASED, row);
    if (any)
        soften(run, u, k, row);
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
    const int input = s->in[OX_ATTENTION_VALID];
    const int64_t *given = ox_list_take(call, used, input);
    for (int64_t i = 0; given && !s->counted && i < s->batch; i++)
        if (given[i] < 0 || given[i] > s->keys)
            return ox_call_fail(call, OX_ERROR_VALUE, "element %lld of %s is %lld, but there are %lld keys",
                                (long long)i, OX_INPUT(call, input), (long long)given[i], (long long)s->keys);
    run->valid = given;
    return OX_OK;
}

/* Reads what says where steps are: how many keys there are, how many of them from before, and positions. */
static ox_status read_steps(const ox_call *call, size_t *used, attention_run *run, ox_attention_steps *steps) {
    const ox_attention_shape *s = &run->a->shape;
    OX_TRY(read_valid(call, used, run));
    steps->positions = ox_list_take(call, used, s->in[OX_ATTENTION_POSITIONS]);
    if (!s->counted)
        return OX_OK;
    int64_t *counts = ox_workspace_take(call, used, s->batch, 2 * sizeof *counts), *positions = NULL;
    if (s->half)
        positions = ox_workspace_take(call, used, s->batch * s->queries, sizeof *positions);
    OX_TRY(ox_group_query_count(call, s, run->valid, counts));
    run->valid = counts, run->before = counts + s->batch;
    steps->before = run->before;
    if (s->half)
        OX_TRY(ox_group_query_place(call, s, run->before, steps->positions, positions));
    steps->positions = positions;
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

/* What is added to scores. */
static void take_masks(const ox_call *call, size_t *used, attention_run *run) {
    const attention *a = run->a;
    const ox_attention_shape *s = &a->shape;
    const int i = s->in[OX_ATTENTION_MASK];
    if (ox_call_given(call, i)) {
        char *taken = ox_retype_in(call, used, call->in[i], a->dtype);
        if (call->in[i]->dtype == OX_BOOL)
            hide(a, ox_tensor_count(call->in[i]), taken);
        run->mask = taken;
    }
    if (ox_attention_has(call, s, OX_ATTENTION_SINK))
        run->sinks = ox_retype_in(call, used, call->in[s->in[OX_ATTENTION_SINK]], a->dtype);
    if (ox_attention_has(call, s, OX_ATTENTION_KEY_MASK))
        run->key_mask = ox_attention_take_key_mask(call, used, s);
}

static void run_blocks(const ox_call *call, size_t used, attention_run *run) {
    const attention *a = run->a;
    run->scores = ox_workspace_take(call, &used, a->round * a->rows * a->across, (size_t)a->width);
    void *score_room = ox_gemm_take(call, &used, &a->score_plan), *sum_room = ox_gemm_take(call, &used, &a->sum_plan);
    ox_gemm scores = a->scores, sums = a->sums;
    scores.c = run->scores;
    sums.context = run;
    for (run->first = 0; run->first < a->units && !ox_pool_poll(call->pool); run->first += a->round) {
        run->count = ox_least(a->round, a->units - run->first);
        ox_gemm_run(&a->score_plan, &scores, run->count, place_scores, run, score_room);
        ox_pool_run_pieces(call->pool, 16 * (double)run->count * (double)a->rows * (double)a->across, weigh_part, run);
        if (call->out[OX_ATTENTION_Y])
            ox_gemm_run(&a->sum_plan, &sums, run->count, place_sums, run, sum_room);
    }
}

ox_status ox_run_attention(ox_call *call) {
    attention_run run = {.call = call, .a = call->state};
    const ox_tensor *y = call->out[OX_ATTENTION_Y];
    ox_attention_steps steps = {NULL, NULL};
    size_t used = 0;
    OX_TRY(read_steps(call, &used, &run, &steps));
    ox_attention_lay_out(call, &used, &run.a->shape, &run.a->lay, &steps, run.laid);
    take_masks(call, &used, &run);
    if (has_scores(&run.a->shape))
        run_blocks(call, used, &run);
    else if (y && ox_tensor_count(y) > 0)
        memset(y->data, 0, (size_t)ox_tensor_count(y) * ox_dtype_size(y->dtype));
    return OX_OK;
}
