/* flex_attention.c: FlexAttention with graphs that change its scores or its weights. They see them as a whole, and so
 * all of them are computed before a graph runs. Without graphs it is Attention. */
#include "attention.h"
#include "ops/control.h"
#include "ops/dense.h"
#include "ops/gemm/gemm.h"
#include "ops/retype.h"
#include "type.h"

#include <string.h>

/* Memory of a body that the operator uses: scores or weights in the type that graphs see, by turns what one is given
 * and what it gave; the result; and the workspace. */
enum {
    ROOM_RESULT = 2,
    ROOM_WORK = 3
};

typedef struct flex {
    ox_call *call;
    ox_attention_shape shape;
    ox_dtype shown, wide;       /* the type that graphs see, and the one that is computed in */
    int64_t width, rows, count; /* bytes of a computed element; rows of scores; all scores */
    int64_t products;
    ox_body *mods[OX_ATTENTION_MODS]; /* NULL where the node has none */
    char *rooms[2], *result;
    int at;       /* the room that scores or weights were last brought to */
    char *scores; /* scores, then weights, as they are computed: in a room where that is the type that graphs see */
    ox_gemm score_product, sum_product;
    ox_gemm_plan score_plan, sum_plan;
} flex;

/* ---- Plans -------------------------------------------------------------------------------------------------- */

static ox_dtype type_of_scores(ox_call *call) {
    const ox_dtype usual = call->in[OX_ATTENTION_Q]->dtype == OX_DOUBLE ? OX_DOUBLE : OX_FLOAT;
    return (ox_dtype)ox_call_int(call, "softmax_precision", usual);
}

static ox_status plan_operand(ox_call *call, int i, ox_dtype wide) {
    const ox_tensor *t = call->in[i];
    OX_TRY(ox_workspace_add(call, ox_tensor_is_packed(t) ? 0 : ox_tensor_count(t), ox_dtype_size(t->dtype)));
    return ox_workspace_add(call, t->dtype == wide ? 0 : ox_tensor_count(t), ox_dtype_size(wide));
}

/* Heads of queries that share keys lie behind each other, and so are one matrix. */
static ox_status plan_products(flex *f) {
    const ox_attention_shape *s = &f->shape;
    const int64_t rows = s->shared * s->queries, keys = s->keys;
    f->products = s->batch * ox_attention_key_heads(s);
    f->score_product = (ox_gemm){.m = rows, .n = keys, .k = s->size, .c_row = keys * f->width};
    f->score_product.a = (ox_gemm_matrix){f->wide, NULL, s->size * f->width, f->width};
    f->score_product.b = (ox_gemm_matrix){f->wide, NULL, f->width, s->size * f->width};
    f->sum_product = (ox_gemm){.m = rows, .n = s->values, .k = keys, .c_row = s->values * f->width};
    f->sum_product.a = (ox_gemm_matrix){f->wide, NULL, keys * f->width, f->width};
    f->sum_product.b = (ox_gemm_matrix){f->wide, NULL, s->values * f->width, f->width};
    OX_TRY(ox_gemm_prepare(f->call, &f->score_product, f->products, &f->score_plan));
    return s->values ? ox_gemm_prepare(f->call, &f->sum_product, f->products, &f->sum_plan) : OX_OK;
}

/* Elements that are converted are computed in the workspace. */
static int64_t work_count(const flex *f, ox_dtype type, int64_t count) {
    return type == f->wide ? 0 : count;
}

static int64_t result_count(const flex *f) {
    const ox_attention_shape *s = &f->shape;
    return ox_count(4, (const int64_t[]){s->batch, s->heads, s->queries, s->values});
}

static ox_status plan(flex *f) {
    ox_call *call = f->call;
    const ox_attention_shape *s = &f->shape;
    f->count = ox_count(4, (const int64_t[]){s->batch, s->heads, s->queries, s->keys});
    if (f->count < 0)
        return ox_call_fail(call, OX_ERROR_LIMIT, "the scores of %lld queries and %lld keys are too many",
                            (long long)s->queries, (long long)s->keys);
    call->workspace_size = 0;
    if (!f->count)
        return OX_OK;
    f->rows = f->count / s->keys;
    for (int i = OX_ATTENTION_Q; i <= OX_ATTENTION_V; i++)
        OX_TRY(plan_operand(call, i, f->wide));
    OX_TRY(ox_workspace_add(call, work_count(f, f->shown, f->count), (size_t)f->width));
    OX_TRY(ox_workspace_add(call, work_count(f, call->in[OX_ATTENTION_Q]->dtype, result_count(f)), (size_t)f->width));
    return plan_products(f);
}

static ox_status open_mods(flex *f) {
    for (int i = 0, number = 0; i < OX_ATTENTION_MODS; i++) {
        const ox_attr *mod = ox_attention_mod(f->call, i);
        if (!mod)
            continue;
        OX_TRY(f->call->bodies->open(f->call, number++, mod->u.graph, 0, &f->mods[i]));
        const int rank = f->call->bodies->input_rank(f->mods[i], 0);
        if (rank != 4 && rank != -1)
            return ox_call_fail(f->call, OX_ERROR_MODEL, "the input of attribute '%s' is of rank %d, not 4", mod->name,
                                rank);
    }
    return OX_OK;
}

static ox_status take_rooms(flex *f) {
    ox_body *body = f->mods[OX_SCORE_MOD] ? f->mods[OX_SCORE_MOD] : f->mods[OX_PROB_MOD];
    const size_t size = (size_t)f->count * ox_dtype_size(f->shown),
                 result = (size_t)result_count(f) * ox_dtype_size(f->call->in[OX_ATTENTION_Q]->dtype),
                 work = f->call->workspace_size;
    void *room;
    for (int i = 0; i < 2; i++) {
        OX_TRY(f->call->bodies->room(body, i, size, size, 0, &room));
        f->rooms[i] = room;
    }
    OX_TRY(f->call->bodies->room(body, ROOM_RESULT, result, result, 0, &room));
    f->result = room;
    return f->call->bodies->room(body, ROOM_WORK, work, work, 0, &f->call->workspace);
}

/* ---- Products and weights ----------------------------------------------------------------------------------- */

/* Operands of a batch of products, packed, and bytes of an element. */
typedef struct places {
    const char *a, *b;
    int64_t width;
} places;

/* An ox_gemm_place_fn: one matrix lies behind the other. */
static void place_product(const void *context, int64_t i, ox_gemm *g) {
    const places *p = context;
    g->a.data = p->a + i * g->m * g->k * p->width;
    g->b.data = p->b + i * g->k * g->n * p->width;
}

/* The packed elements of input i in the type that is computed in. */
static const char *take_operand(flex *f, size_t *used, int i) {
    const ox_tensor *t = f->call->in[i];
    const bool packed = ox_tensor_is_packed(t);
    const int64_t count = ox_tensor_count(t);
    char *copy = ox_workspace_take(f->call, used, packed ? 0 : count, ox_dtype_size(t->dtype));
    char *wide = ox_workspace_take(f->call, used, t->dtype == f->wide ? 0 : count, (size_t)f->width);
    const char *from = packed ? t->data : copy;
    if (!packed)
        ox_pack(f->call->loops, f->call->pool, t, copy);
    if (t->dtype == f->wide)
        return from;
    ox_retype_floats(f->call, t->dtype, from, f->wide, wide, count);
    return wide;
}

static void scale_part(void *context, int part, int parts) {
    const flex *f = context;
    const float single = (float)f->shape.scale;
    const void *scale = f->wide == OX_DOUBLE ? (const void *)&f->shape.scale : &single;
    int64_t i, end;
    ox_pool_range(f->count, part, parts, &i, &end);
    char *at = f->scores + i * f->width;
    OX_BUILD_OF(f->call->loops, OX_LANES_Mul)
        ->fn[f->wide](end - i, (char *const[]){at, at, (char *)(uintptr_t)scale},
                      (const int64_t[]){f->width, f->width, 0}, NULL);
}

static void weigh_part(void *context, int part, int parts) {
    const flex *f = context;
    const bool single = !OX_HAS(OX_DOUBLE) || f->wide == OX_FLOAT;
    ox_softmax_fn *softmax = OX_BUILD_OF(f->call->loops, single ? ox_softmax_f32_builds : ox_softmax_f64_builds);
    const int64_t keys = f->shape.keys;
    int64_t i, end;
    ox_pool_range(f->rows, part, parts, &i, &end);
    for (; i < end; i++) {
        char *row = f->scores + i * keys * f->width;
        softmax(keys, 1, 1, row, row);
    }
}

/* ---- Graphs ------------------------------------------------------------------------------------------------- */

/* A graph that runs. */
typedef struct run {
    flex *f;
    const char *name;
    int64_t dims[4];
} run;

/* An ox_place_fn, which refuses what is not like the graph's input. */
static ox_status place_result(void *context, int k, const ox_tensor *output, void **place) {
    const run *r = context;
    flex *f = r->f;
    (void)k;
    if (output->dtype != f->shown || !ox_same_dims(output->rank, output->dims, 4, r->dims))
        return ox_call_fail(f->call, OX_ERROR_MODEL, "attribute '%s' gives %s %s for %s %s: they must be alike",
                            r->name, OX_TYPE(output->dtype), OX_DIMS(output->rank, output->dims),
                            ox_dtype_name(f->shown), OX_DIMS(4, r->dims));
    *place = f->rooms[!f->at];
    return OX_OK;
}

/* Lets a graph change scores or weights. */
static ox_status modify(flex *f, int which) {
    const ox_attention_shape *s = &f->shape;
    ox_body *body = f->mods[which];
    if (!body)
        return OX_OK;
    run r = {f, ox_attention_mod(f->call, which)->name, {s->batch, s->heads, s->queries, s->keys}};
    const bool same = f->shown == f->wide;
    if (!same)
        ox_retype_floats(f->call, f->wide, f->scores, f->shown, f->rooms[f->at], f->count);
    body->place = place_result;
    body->context = &r;
    OX_TRY(f->call->bodies->set(body, 0, &(ox_tensor){f->shown, 4, r.dims, NULL, f->rooms[f->at]}));
    OX_TRY(f->call->bodies->run(body));
    f->at = !f->at;
    if (same)
        f->scores = f->rooms[f->at];
    else
        ox_retype_floats(f->call, f->shown, f->rooms[f->at], f->wide, f->scores, f->count);
    return OX_OK;
}

/* ---- Runs --------------------------------------------------------------------------------------------------- */

static ox_status compute(flex *f) {
    ox_call *call = f->call;
    const ox_dtype type = call->in[OX_ATTENTION_Q]->dtype;
    const int64_t count = result_count(f);
    size_t used = 0;
    const char *q = take_operand(f, &used, OX_ATTENTION_Q), *k = take_operand(f, &used, OX_ATTENTION_K),
               *v = take_operand(f, &used, OX_ATTENTION_V);
    char *scores = ox_workspace_take(call, &used, work_count(f, f->shown, f->count), (size_t)f->width),
         *sums = ox_workspace_take(call, &used, work_count(f, type, count), (size_t)f->width);
    void *score_work = ox_gemm_take(call, &used, &f->score_plan);
    f->scores = f->shown == f->wide ? f->rooms[0] : scores;
    f->score_product.c = f->scores;
    ox_gemm_run(&f->score_plan, &f->score_product, f->products, place_product, &(places){q, k, f->width}, score_work);
    ox_pool_run_pieces(call->pool, 2 * (double)f->count * (double)f->width, scale_part, f);
    OX_TRY(modify(f, OX_SCORE_MOD));
    ox_pool_run_pieces(call->pool, 16 * (double)f->count, weigh_part, f);
    OX_TRY(modify(f, OX_PROB_MOD));
    if (!count)
        return OX_OK;
    f->sum_product.c = type == f->wide ? f->result : sums;
    ox_gemm_run(&f->sum_plan, &f->sum_product, f->products, place_product, &(places){f->scores, v, f->width},
                ox_gemm_take(call, &used, &f->sum_plan));
    if (type != f->wide)
        ox_retype_floats(call, f->wide, sums, type, f->result, count);
    return OX_OK;
}

/* Without scores the graphs run all the same, on nothing. */
static ox_status compute_nothing(flex *f) {
    const size_t bytes = (size_t)result_count(f) * ox_dtype_size(f->call->in[OX_ATTENTION_Q]->dtype);
    memset(f->result, 0, bytes);
    OX_TRY(modify(f, OX_SCORE_MOD));
    return modify(f, OX_PROB_MOD);
}

static ox_status run_flex(flex *f) {
    const ox_attention_shape *s = &f->shape;
    const int64_t dims[] = {s->batch, s->heads, s->queries, s->values};
    OX_TRY(open_mods(f));
    OX_TRY(plan(f));
    OX_TRY(take_rooms(f));
    OX_TRY(f->count ? compute(f) : compute_nothing(f));
    return ox_call_give(f->call, 0, &(ox_tensor){f->call->in[OX_ATTENTION_Q]->dtype, 4, dims, NULL, f->result});
}

/* FlexAttention (1) with graphs. Scores reach them unrounded where Q has fewer bits than they. */
ox_status ox_control_flex_attention(ox_call *call) {
    flex f = {.call = call, .shown = type_of_scores(call)};
    OX_TRY(ox_attention_shape_of(call, &f.shape));
    f.wide = call->in[OX_ATTENTION_Q]->dtype == OX_DOUBLE ? OX_DOUBLE : ox_dtype_compute(f.shown);
    f.width = (int64_t)ox_dtype_size(f.wide);
    return run_flex(&f);
}
