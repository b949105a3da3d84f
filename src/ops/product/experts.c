/* experts.c: MoE and QMoE. Each token goes through the experts that the router chooses. The tokens of an expert go
 * through its products in blocks, which Gemm or MatMulNBits compute as they would for a node of their own. */
#include "experts.h"
#include "loops/lanes.h"
#include "ops/blocks.h"
#include "ops/dense.h"
#include "ops/retype.h"

#include <math.h>
#include <string.h>

enum {
    X,
    ROUTER,
    MOST_ATTRS = 5
};

typedef struct experts {
    ox_experts x;
    ox_attr attrs[OX_EXPERT_PRODUCTS][MOST_ATTRS];
    int64_t sizes[OX_EXPERT_SIZES]; /* tokens of blocks, ascending */
    int nsizes;
    void *states[OX_EXPERT_PRODUCTS][OX_EXPERT_SIZES];
    size_t room;    /* the workspace of a product */
    int64_t widest; /* of the widest rows between products */
    int64_t scales; /* the most scales of an expert that are widened */
    const ox_lanes *sigmoid, *gelu;
} experts;

ox_call_fn ox_prepare_gemm, ox_run_gemm, ox_prepare_matmul_blocks, ox_run_matmul_blocks;

#define ROW(of, text, version, most, X)                                                                                \
    {                                                                                                                  \
        .domain = of, .name = text, .since = version, .versions = (uint64_t)1 << version, .min_in = 2, .max_in = most, \
        .min_out = 1, .max_out = 1, .dtypes = OX_BIT(OX_FLOAT) | OX_BIT(OX_FLOAT16) | OX_BIT(OX_BFLOAT16),             \
        .prepare = ox_prepare_##X, .run = ox_run_##X                                                                   \
    }

/* What computes products of floats, and of packed weights. */
static const ox_op computing[] = {ROW("", "Gemm", 13, 3, gemm),
                                  ROW("com.microsoft", "MatMulNBits", 1, 6, matmul_blocks)};

static const ox_op *row_of(const ox_expert_product *p) {
    return &computing[p->bits > 0];
}

/* A product as a node of its own. */
typedef struct inner {
    ox_call call;
    const ox_tensor *in[4];
    ox_tensor *out[1];
    ox_tensor tensors[4], result;
    int64_t dims[4][3], result_dims[2];
} inner;

static void put(inner *node, int i, ox_dtype dtype, int rank, const int64_t *dims) {
    memcpy(node->dims[i], dims, (size_t)rank * sizeof *dims);
    node->tensors[i] = (ox_tensor){dtype, rank, node->dims[i], NULL, NULL};
    node->in[i] = &node->tensors[i];
}

/* The node of a product for so many rows, without data. */
static void open_product(const ox_call *call, const experts *e, int which, int64_t rows, inner *node) {
    const ox_expert_product *p = &e->x.products[which];
    *node = (inner){.call = *call};
    put(node, 0, e->x.dtype, 2, (const int64_t[]){rows, p->k});
    if (!p->bits) {
        put(node, 1, e->x.dtype, 2, (const int64_t[]){p->n, p->k});
    } else {
        put(node, 1, OX_UINT8, 3, (const int64_t[]){p->n, p->blocks, p->block / 8 * p->bits});
        put(node, 2, e->x.dtype, 2, (const int64_t[]){p->n, p->blocks});
        if (ox_call_given(call, p->zeros))
            put(node, 3, p->whole ? e->x.dtype : OX_UINT8, 2,
                (const int64_t[]){p->n, p->whole ? p->blocks : ox_bits_bytes(p->blocks, p->bits)});
    }
    memcpy(node->result_dims, (const int64_t[]){rows, p->n}, sizeof node->result_dims);
    node->result = (ox_tensor){e->x.dtype, 2, node->result_dims, NULL, NULL};
    node->out[0] = &node->result;
    ox_call *c = &node->call;
    c->op = row_of(p), c->version = c->op->since;
    c->in = node->in, c->nin = p->bits ? (ox_call_given(call, p->zeros) ? 4 : 3) : 2;
    c->out = node->out, c->nout = 1;
    c->attrs = e->attrs[which], c->nattrs = p->bits ? 5 : 1;
    c->weights = c->constants = 0; /* one state serves all experts */
    c->epilogue = NULL;
    c->workspace_size = 0;
#if OX_ASSERTIONS
    c->pieces = NULL;
#endif
}

/* ---- Prepare ----------------------------------------------------------------------------------------------------- */

static ox_attr attr_of(const char *name, int64_t value) {
    return (ox_attr){.name = name, .kind = OX_ATTR_INT, .u.i = value};
}

static void write_attrs(experts *e) {
    for (int i = 0; i < OX_EXPERT_PRODUCTS; i++) {
        const ox_expert_product *p = &e->x.products[i];
        const ox_attr packed[MOST_ATTRS] = {attr_of("N", p->n), attr_of("K", p->k), attr_of("bits", p->bits),
                                            attr_of("block_size", p->block), attr_of("accuracy_level", e->x.level)};
        memcpy(e->attrs[i], packed, sizeof packed);
        if (!p->bits)
            e->attrs[i][0] = attr_of("transB", 1);
    }
}

static ox_status prepare_product(ox_call *call, experts *e, int which, int size) {
    inner node;
    open_product(call, e, which, e->sizes[size], &node);
    OX_TRY(node.call.op->prepare(&node.call));
    e->states[which][size] = node.call.state;
    if (node.call.workspace_size > e->room)
        e->room = node.call.workspace_size;
    return OX_OK;
}

/* Blocks of 1, 8 and 32 tokens, as far as there are so many. */
static void choose_sizes(experts *e) {
    static const int64_t sizes[OX_EXPERT_SIZES] = {1, 8, OX_EXPERT_MOST};
    for (int i = 0; i < OX_EXPERT_SIZES && (!i || e->sizes[i - 1] < e->x.tokens); i++)
        e->sizes[e->nsizes++] = ox_least(sizes[i], e->x.tokens);
}

static ox_status prepare_products(ox_call *call, experts *e) {
    e->widest = e->x.hidden;
    for (int i = 0; i < OX_EXPERT_PRODUCTS; i++) {
        const ox_expert_product *p = &e->x.products[i];
        int64_t count;
        if (!ox_expert_has(call, p))
            continue;
        if (!ox_mul_i64(p->n, p->blocks, &count))
            return ox_call_fail(call, OX_ERROR_LIMIT, "%s has too many blocks", OX_INPUT(call, p->weights));
        e->widest = p->n > e->widest ? p->n : e->widest;
        if (ox_expert_widens(call, &e->x, p) && count > e->scales)
            e->scales = count;
        for (int k = 0; k < e->nsizes; k++)
            OX_TRY(prepare_product(call, e, i, k));
    }
    return OX_OK;
}

/* Rows of a block: those that products take and give, and the same as floats, twice. */
static ox_status plan_rows(ox_call *call, const experts *e) {
    const int64_t count = ox_count(2, (const int64_t[]){e->sizes[e->nsizes - 1], e->widest});
    for (int i = 0; i < 2; i++)
        OX_TRY(ox_workspace_add(call, count, ox_dtype_size(e->x.dtype)));
    for (int i = 0; i < 2; i++)
        OX_TRY(ox_workspace_add(call, count, sizeof(float)));
    OX_TRY(ox_workspace_add(call, e->scales, 2 * ox_dtype_size(e->x.dtype)));
    OX_TRY(ox_workspace_add(call, e->widest, sizeof(float)));
    return ox_workspace_add(call, 1, e->room);
}

ox_status ox_prepare_experts(ox_call *call) {
    experts *e = ox_pile_get(call->pile, sizeof *e);
    if (!e)
        return ox_fail_memory(call->error, "a prepared operator", sizeof *e);
    OX_TRY(ox_experts_of(call, &e->x));
    call->state = e;
    if (!e->x.tokens || !e->x.hidden)
        return OX_OK;
    e->sigmoid = OX_BUILD_OF(call->loops, OX_LANES_Sigmoid);
    e->gelu = OX_BUILD_OF(call->loops, OX_LANES_GeluTanh);
    choose_sizes(e);
    write_attrs(e);
    OX_TRY(prepare_products(call, e));
    OX_TRY(ox_dense_plan(call, call->in[ROUTER]));
    if (e->x.mixing >= 0)
        OX_TRY(ox_dense_plan(call, call->in[e->x.mixing]));
    const int64_t chosen = ox_count(2, (const int64_t[]){e->x.tokens, e->x.top});
    OX_TRY(ox_workspace_add(call, chosen, sizeof(int64_t)));
    OX_TRY(ox_workspace_add(call, e->x.experts + 1, sizeof(int64_t)));
    OX_TRY(ox_workspace_add(call, chosen, sizeof(int64_t)));
    OX_TRY(ox_workspace_add(call, chosen, sizeof(float)));
    OX_TRY(ox_workspace_add(call, ox_count(2, (const int64_t[]){e->x.tokens, e->x.hidden}), sizeof(float)));
    return plan_rows(call, e);
}

/* ---- The router -------------------------------------------------------------------------------------------------- */

typedef struct experts_run {
    const ox_call *call;
    const experts *e;
    int64_t *chosen; /* of each token, `top` experts */
    int64_t *ends;   /* of each expert: where its part of `places` ends; the next one's begins there */
    int64_t *places; /* in `chosen`, expert by expert */
    float *shares;   /* and how much each of them counts */
    float *sums;
    char *given, *made;   /* rows in the type of products */
    float *rows, *others; /* rows of floats */
    char *scales;         /* of an expert, and its zero points behind them, in the type of products */
    float *bias;
    char *room;
} experts_run;

/* Whether an expert is chosen before another one: that of the larger score, or the first of equal ones. NaN is the
 * least, so that all experts have an order. */
static bool is_before(const ox_f32 *scores, int64_t a, int64_t b) {
    const float x = scores[a] != scores[a] ? -INFINITY : scores[a], y = scores[b] != scores[b] ? -INFINITY : scores[b];
    return x > y || (x == y && a < b);
}

static void choose(const ox_experts *x, const ox_f32 *scores, int64_t *chosen) {
    for (int64_t i = 0; i < x->top; i++) {
        int64_t best = -1;
        for (int64_t k = 0; k < x->experts; k++)
            if ((!i || is_before(scores, chosen[i - 1], k)) && (best < 0 || is_before(scores, k, best)))
                best = k;
        chosen[i] = best < 0 ? i : best; /* none is left if scores change meanwhile */
    }
}

/* Softmax over all experts, of those that are chosen; or what the model says of them. */
static void share(const ox_experts *x, const ox_f32 *scores, const ox_f32 *mixing, const int64_t *chosen,
                  float *shares) {
    float all = 0, sum = 0;
    for (int64_t k = 0; k < x->experts && !mixing; k++)
        all += expf(scores[k] - scores[chosen[0]]);
    for (int64_t i = 0; i < x->top; i++) {
        shares[i] = mixing ? mixing[chosen[i]] : expf(scores[chosen[i]] - scores[chosen[0]]) / all;
        sum += shares[i];
    }
    for (int64_t i = 0; i < x->top && x->normalizes && sum != 0; i++)
        shares[i] /= sum;
}

static void route(experts_run *run, const ox_f32 *scores, const ox_f32 *mixing) {
    const ox_experts *x = &run->e->x;
    for (int64_t t = 0; t < x->tokens && !ox_pool_poll(run->call->pool); t++) {
        choose(x, scores + t * x->experts, run->chosen + t * x->top);
        share(x, scores + t * x->experts, mixing ? mixing + t * x->experts : NULL, run->chosen + t * x->top,
              run->shares + t * x->top);
    }
}

/* Lists the places in `chosen` of each expert. */
static void sort_places(experts_run *run) {
    const ox_experts *x = &run->e->x;
    const int64_t chosen = x->tokens * x->top;
    memset(run->ends, 0, (size_t)(x->experts + 1) * sizeof *run->ends);
    for (int64_t i = 0; i < chosen; i++)
        run->ends[run->chosen[i] + 1]++;
    for (int64_t e = 0; e < x->experts; e++)
        run->ends[e + 1] += run->ends[e];
    for (int64_t i = 0; i < chosen; i++)
        run->places[run->ends[run->chosen[i]]++] = i;
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* Scales and zero points of an expert for each block of its rows. */
static void widen_scales(const experts_run *run, const ox_expert_product *p, int64_t expert) {
    const ox_call *call = run->call;
    const ox_tensor *scales = call->in[p->scales], *zeros = ox_call_given(call, p->zeros) ? call->in[p->zeros] : NULL;
    const int64_t each = p->whole ? 1 : p->blocks, size = (int64_t)ox_dtype_size(scales->dtype),
                  width = (int64_t)ox_dtype_size(run->e->x.dtype);
    const char *from = (const char *)scales->data + expert * p->n * each * size;
    char *to = run->scales, *behind = to + p->n * p->blocks * width;
    if (!p->whole) {
        ox_retype_floats(call, scales->dtype, from, run->e->x.dtype, to, p->n * p->blocks);
        return;
    }
    for (int64_t n = 0; n < p->n; n++) {
        ox_retype_floats(call, scales->dtype, from + n * size, run->e->x.dtype, to + n * p->blocks * width, 1);
        if (zeros) {
            const uint8_t *row =
                (const uint8_t *)zeros->data + expert * (p->n / 8 * p->bits + (p->n % 8 * p->bits + 7) / 8);
            const float zero = (float)ox_bits_at(row, n, p->bits);
            ox_retype_floats(call, OX_FLOAT, &zero, run->e->x.dtype, behind + n * p->blocks * width, 1);
        }
        for (int64_t b = 1; b < p->blocks; b++) {
            memcpy(to + (n * p->blocks + b) * width, to + n * p->blocks * width, (size_t)width);
            if (zeros)
                memcpy(behind + (n * p->blocks + b) * width, behind + n * p->blocks * width, (size_t)width);
        }
    }
}

/* Where an expert's part of an input begins. */
static char *part_of(const ox_call *call, int input, int64_t parts, int64_t expert) {
    const ox_tensor *t = call->in[input];
    const size_t bytes = (size_t)(ox_tensor_count(t) / parts) * ox_dtype_size(t->dtype);
    return (char *)t->data + (size_t)expert * bytes;
}

/* Rows times the weights of an expert, as floats, with its bias. `size` says which block, `rows` how many count. */
static ox_status multiply(const experts_run *run, int which, int64_t expert, int size, int64_t rows, float *to) {
    const experts *e = run->e;
    const ox_call *call = run->call;
    const ox_expert_product *p = &e->x.products[which];
    inner node;
    open_product(call, e, which, e->sizes[size], &node);
    node.tensors[0].data = run->given;
    node.tensors[1].data = part_of(call, p->weights, e->x.experts, expert);
    if (ox_expert_widens(call, &e->x, p))
        widen_scales(run, p, expert);
    if (p->bits)
        node.tensors[2].data =
            ox_expert_widens(call, &e->x, p) ? run->scales : part_of(call, p->scales, e->x.experts, expert);
    if (ox_call_given(call, p->zeros))
        node.tensors[3].data = p->whole ? run->scales + p->n * p->blocks * (int64_t)ox_dtype_size(e->x.dtype)
                                        : part_of(call, p->zeros, e->x.experts, expert);
    node.result.data = run->made;
    node.call.state = e->states[which][size];
    node.call.workspace = run->room;
    OX_TRY(node.call.op->run(&node.call));
    ox_retype_floats(call, e->x.dtype, run->made, OX_FLOAT, to, rows * p->n);
    if (!ox_call_given(call, p->bias))
        return OX_OK;
    ox_retype_floats(call, call->in[p->bias]->dtype, part_of(call, p->bias, e->x.experts, expert), OX_FLOAT, run->bias,
                     p->n);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t n = 0; n < p->n; n++)
            to[i * p->n + n] += run->bias[n];
    return OX_OK;
}

/* ---- Activations ------------------------------------------------------------------------------------------------- */

static float between(float value, float low, float high) {
    return value < low ? low : value > high ? high : value;
}

/* The two operands of SwiGLU of one row, which `row` has both of, or another one the second. */
static void part_row(const ox_experts *x, float *row, float *other) {
    for (int64_t i = 0; i < x->inner; i++) {
        const float g = x->fusion == 1 ? row[2 * i] : row[i], l = x->fusion == 1   ? row[2 * i + 1]
                                                                  : x->fusion == 2 ? row[x->inner + i]
                                                                                   : other[i];
        const float limit = (float)x->limit;
        row[i] = g > limit ? limit : g;
        other[i] = between(l, -limit, limit) + (float)x->beta;
    }
}

static void apply(const ox_lanes *lanes, int64_t n, float *to, const float *from) {
    lanes->fn[OX_FLOAT](n, (char *const[]){(char *)to, (char *)(uintptr_t)from},
                        (const int64_t[]){sizeof(float), sizeof(float)}, NULL);
}

/* x * sigmoid(alpha * x); `room` has place for n elements. */
static void swish(const experts_run *run, int64_t n, float alpha, float *row, float *room) {
    for (int64_t i = 0; i < n; i++)
        room[i] = alpha * row[i];
    apply(run->e->sigmoid, n, room, room);
    for (int64_t i = 0; i < n; i++)
        row[i] *= room[i];
}

/* Activates a row of the first product, whose first `inner` elements are what comes of it; `gate` is the row of the
 * third product, or room. */
static void activate(const experts_run *run, float *row, float *gate, bool has_gate) {
    const ox_experts *x = &run->e->x;
    float *room = run->bias;
    if (x->activation == OX_EXPERT_SWIGLU) {
        part_row(x, row, gate);
        swish(run, x->inner, (float)x->alpha, row, room);
    } else if (x->activation == OX_EXPERT_SILU) {
        swish(run, x->inner, 1, row, room);
    } else if (x->activation == OX_EXPERT_GELU) {
        apply(run->e->gelu, x->inner, row, row);
    }
    for (int64_t i = 0; i < x->inner && x->activation == OX_EXPERT_RELU; i++)
        row[i] = row[i] > 0 || row[i] != row[i] ? row[i] : 0;
    for (int64_t i = 0; i < x->inner && (has_gate || x->activation == OX_EXPERT_SWIGLU); i++)
        row[i] *= gate[i];
}

/* ---- Blocks of tokens -------------------------------------------------------------------------------------------- */

/* A block: places in `chosen`, which tell tokens. */
typedef struct block {
    int64_t expert, count, at[OX_EXPERT_MOST];
    int size;
} block;

static ox_status compute_block(const experts_run *run, const block *b) {
    const experts *e = run->e;
    const ox_experts *x = &e->x;
    const ox_tensor *in = run->call->in[X];
    const int64_t up = x->products[OX_EXPERT_UP].n, size = (int64_t)ox_dtype_size(in->dtype),
                  width = (int64_t)ox_dtype_size(x->dtype), rows = e->sizes[b->size];
    const bool has_gate = ox_expert_has(run->call, &x->products[OX_EXPERT_GATE]);
    memset(run->given, 0, (size_t)(rows * e->widest * width));
    for (int64_t i = 0; i < b->count; i++)
        ox_retype_floats(run->call, in->dtype, (const char *)in->data + b->at[i] / x->top * x->hidden * size, x->dtype,
                         run->given + i * x->hidden * width, x->hidden);
    OX_TRY(multiply(run, OX_EXPERT_UP, b->expert, b->size, b->count, run->rows));
    if (has_gate)
        OX_TRY(multiply(run, OX_EXPERT_GATE, b->expert, b->size, b->count, run->others));
    memset(run->given, 0, (size_t)(rows * e->widest * width));
    for (int64_t i = 0; i < b->count; i++) {
        activate(run, run->rows + i * up, run->others + i * x->inner, has_gate);
        ox_retype_floats(run->call, OX_FLOAT, run->rows + i * up, x->dtype, run->given + i * x->inner * width,
                         x->inner);
    }
    OX_TRY(multiply(run, OX_EXPERT_DOWN, b->expert, b->size, b->count, run->rows));
    for (int64_t i = 0; i < b->count; i++) {
        float *sums = run->sums + b->at[i] / x->top * x->hidden;
        for (int64_t k = 0; k < x->hidden; k++)
            sums[k] += run->shares[b->at[i]] * run->rows[i * x->hidden + k];
    }
    return OX_OK;
}

static ox_status finish_block(const experts_run *run, block *b) {
    b->size = 0;
    while (run->e->sizes[b->size] < b->count)
        b->size++;
    const ox_status status = b->count ? compute_block(run, b) : OX_OK;
    b->count = 0;
    return status;
}

static ox_status run_expert(const experts_run *run, int64_t expert) {
    const int64_t most = run->e->sizes[run->e->nsizes - 1];
    block b = {.expert = expert};
    for (int64_t i = expert ? run->ends[expert - 1] : 0; i < run->ends[expert]; i++) {
        b.at[b.count++] = run->places[i];
        if (b.count == most)
            OX_TRY(finish_block(run, &b));
        if (ox_pool_poll(run->call->pool))
            return OX_OK;
    }
    return finish_block(run, &b);
}

static void take_rows(const ox_call *call, size_t *used, experts_run *run) {
    const experts *e = run->e;
    const int64_t count = e->sizes[e->nsizes - 1] * e->widest;
    const size_t width = ox_dtype_size(e->x.dtype);
    run->given = ox_workspace_take(call, used, count, width);
    run->made = ox_workspace_take(call, used, count, width);
    run->rows = ox_workspace_take(call, used, count, sizeof(float));
    run->others = ox_workspace_take(call, used, count, sizeof(float));
    run->scales = ox_workspace_take(call, used, e->scales, 2 * width);
    run->bias = ox_workspace_take(call, used, e->widest, sizeof(float));
    run->room = ox_workspace_take(call, used, 1, e->room);
}

ox_status ox_run_experts(ox_call *call) {
    experts_run run = {.call = call, .e = call->state};
    const ox_experts *x = &run.e->x;
    const int64_t chosen = x->tokens * x->top, count = x->tokens * x->hidden;
    size_t used = 0;
    if (!count)
        return OX_OK;
    const ox_f32 *scores = ox_dense_in(call, &used, call->in[ROUTER]).data, *mixing = NULL;
    if (x->mixing >= 0)
        mixing = ox_dense_in(call, &used, call->in[x->mixing]).data;
    run.chosen = ox_workspace_take(call, &used, chosen, sizeof *run.chosen);
    run.ends = ox_workspace_take(call, &used, x->experts + 1, sizeof *run.ends);
    run.places = ox_workspace_take(call, &used, chosen, sizeof *run.places);
    run.shares = ox_workspace_take(call, &used, chosen, sizeof *run.shares);
    run.sums = ox_workspace_take(call, &used, count, sizeof *run.sums);
    take_rows(call, &used, &run);
    route(&run, scores, mixing);
    if (ox_pool_poll(call->pool))
        return OX_OK;
    sort_places(&run);
    memset(run.sums, 0, (size_t)count * sizeof *run.sums);
    for (int64_t e = 0; e < x->experts && !ox_pool_poll(call->pool); e++)
        OX_TRY(run_expert(&run, e));
    ox_store_row(call, call->out[0], 0, count, run.sums);
    return OX_OK;
}
