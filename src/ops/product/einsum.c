/* einsum.c: Einsum. Operands are views with a stride for each label. Two operands at a time become one matrix product.
 * Labels of one operand that nothing else needs are summed up before. */
#include "einsum.h"
#include "ops/dense.h"
#include "ops/gemm/gemm.h"
#include "ops/retype.h"
#include "iterate/walk.h"
#include "loops/lanes.h"

#include <string.h>

enum {
    ONE = -1,     /* in place of an operand: the number 1 */
    ROWS_EACH = 8 /* rows to sum up, by dot products with as many ones as a row has: fewer are not worth these */
};

/* An operand: bytes from one element to the next along each label, 0 where it repeats. */
typedef struct view {
    int source; /* an input, or nin + the number of the step that makes it; ONE */
    ox_labels labels;
    int64_t strides[OX_EINSUM_LABELS];
} view;

/* Dimensions of a copy or a batch, outermost first. */
typedef struct space {
    int rank;
    int8_t label[OX_MAX_RANK];
    int64_t dims[OX_MAX_RANK];
} space;

/* An operand of a product, and how it is brought into the order batch, rows, columns where it does not lie so. */
typedef struct operand {
    int source;
    bool moved;
    space order;
    int64_t strides[OX_MAX_RANK];
} operand;

typedef struct step {
    operand operands[2];
    int64_t count; /* products */
    ox_bcast batch;
    ox_gemm gemm;
    ox_gemm_plan plan;
} step;

typedef struct einsum {
    ox_einsum equation;
    ox_dtype dtype; /* that is computed in */
    int64_t width;
    bool empty;
    int count; /* of steps */
    step *steps;
    char **results; /* run: what inputs and steps have made */
    union {
        uint64_t u64;
        float f32;
        double f64;
        uint32_t u32;
    } one;
    operand result;
} einsum;

/* ---- Infer -------------------------------------------------------------------------------------------------- */

static void output_dims(const ox_einsum *e, int64_t *dims) {
    for (int d = 0; d < e->output.rank; d++)
        dims[d] = e->sizes[e->output.label[d]];
}

ox_status ox_infer_einsum(ox_call *call) {
    ox_einsum e = {0};
    int64_t dims[OX_MAX_RANK];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, call->nin - 1));
    OX_TRY(ox_einsum_read(call, &e));
    output_dims(&e, dims);
    return ox_call_output(call, 0, call->in[0]->dtype, e.output.rank, dims);
}

/* ---- Plans -------------------------------------------------------------------------------------------------- */

/* Integers of fewer bits are computed in 32: what wraps in them has the same lowest bits. */
static ox_dtype dtype_of(ox_dtype dtype) {
    const uint32_t narrow = OX_BIT(OX_INT8) | OX_BIT(OX_INT16) | OX_BIT(OX_UINT8) | OX_BIT(OX_UINT16);
    return narrow & OX_BIT(dtype) ? OX_INT32 : ox_dtype_compute(dtype);
}

static void set_one(einsum *e) {
    if (e->dtype == OX_FLOAT)
        e->one.f32 = 1;
    else if (e->dtype == OX_DOUBLE)
        e->one.f64 = 1;
    else if (e->width == sizeof e->one.u32)
        e->one.u32 = 1;
    else
        e->one.u64 = 1;
}

/* Labels that an input has more than once are its diagonal; dimensions of 1 repeat. */
static view view_of(const ox_call *call, const einsum *e, int input) {
    const ox_einsum_term *term = &e->equation.terms[input];
    const int64_t *dims = call->in[input]->dims;
    view v = {.source = input, .labels = ox_einsum_labels(term)};
    int64_t strides[OX_MAX_RANK];
    ox_packed_strides(term->rank, dims, (size_t)e->width, strides);
    for (int d = 0; d < term->rank; d++)
        v.strides[term->label[d]] += dims[d] == 1 ? 0 : strides[d];
    return v;
}

/* Adds the labels of a set to the inner end of a space. */
static ox_status extend(ox_call *call, const einsum *e, ox_labels set, space *s) {
    for (int label = 0; label < OX_EINSUM_LABELS; label++) {
        if (!(set & OX_LABEL(label)))
            continue;
        if (s->rank == OX_MAX_RANK)
            return ox_call_fail(call, OX_ERROR_LIMIT, "a product of two operands would have more than %d dimensions",
                                OX_MAX_RANK);
        s->label[s->rank] = (int8_t)label;
        s->dims[s->rank++] = e->equation.sizes[label];
    }
    return OX_OK;
}

/* The product of the sizes of a set; -1 if it overflows. */
static int64_t size_of(const einsum *e, ox_labels set) {
    int64_t size = 1;
    for (int label = 0; label < OX_EINSUM_LABELS; label++)
        if ((set & OX_LABEL(label)) && !ox_mul_i64(size, e->equation.sizes[label], &size))
            return -1;
    return size;
}

/* True if the labels of a set, in order, are one dimension with `step` bytes from an element to the next. */
static bool is_one_dimension(const einsum *e, const view *v, ox_labels set, int64_t *stride) {
    int64_t size = 1;
    *stride = e->width;
    for (int label = OX_EINSUM_LABELS - 1; label >= 0; label--) {
        const int64_t dim = set & OX_LABEL(label) ? e->equation.sizes[label] : 1;
        if (dim == 1)
            continue;
        if (size == 1)
            *stride = v->strides[label];
        else if (v->strides[label] != *stride * size)
            return false;
        size *= dim;
    }
    return true;
}

/* Brings an operand into the form of a product: rows and columns of one step each. What does not lie so is copied. */
static ox_status plan_operand(ox_call *call, const einsum *e, ox_labels batch, ox_labels rows, ox_labels columns,
                              view *v, operand *o, ox_gemm_matrix *matrix) {
    o->source = v->source;
    *matrix = (ox_gemm_matrix){e->dtype, NULL, 0, 0};
    if (v->source != ONE && is_one_dimension(e, v, rows, &matrix->row) && is_one_dimension(e, v, columns, &matrix->col))
        return OX_OK;
    o->moved = true;
    OX_TRY(extend(call, e, batch, &o->order));
    OX_TRY(extend(call, e, rows, &o->order));
    OX_TRY(extend(call, e, columns, &o->order));
    for (int d = 0; d < o->order.rank; d++)
        o->strides[d] = v->strides[o->order.label[d]];
    OX_TRY(ox_workspace_add(call, ox_count(o->order.rank, o->order.dims), (size_t)e->width));
    int64_t packed[OX_MAX_RANK];
    ox_packed_strides(o->order.rank, o->order.dims, (size_t)e->width, packed);
    for (int d = 0; d < o->order.rank; d++)
        v->strides[o->order.label[d]] = packed[d];
    matrix->col = e->width;
    matrix->row = e->width * size_of(e, columns);
    return OX_OK;
}

static ox_status plan_product(ox_call *call, const einsum *e, const space *batch, view *a, view *b, step *s) {
    int64_t steps[2][OX_MAX_RANK] = {{0}};
    for (int d = 0; d < batch->rank; d++) {
        steps[0][d] = a->strides[batch->label[d]];
        steps[1][d] = b->strides[batch->label[d]];
    }
    OX_TRY(ox_plan_space(call, &s->batch, 2, batch->rank, batch->dims, (const int64_t *const[]){steps[0], steps[1]}));
    s->count = ox_count(batch->rank, batch->dims);
    s->gemm.c_row = s->gemm.n * e->width;
    OX_TRY(ox_workspace_add(call, ox_count(3, (const int64_t[]){s->count, s->gemm.m, s->gemm.n}), (size_t)e->width));
    return ox_gemm_prepare(call, &s->gemm, s->count, &s->plan);
}

/* The next step: a times b, summed over what is in both and not kept; a becomes the result. */
static ox_status plan_step(ox_call *call, einsum *e, view *a, view *b, ox_labels kept) {
    const ox_labels both = a->labels & b->labels, alone = b->source == ONE ? a->labels & ~kept : 0;
    const ox_labels batch = both & kept, sums = (both & ~kept) | alone;
    const ox_labels rows = a->labels & ~batch & ~sums, columns = b->labels & ~batch & ~sums;
    step *s = &e->steps[e->count];
    space order = {0};
    s->gemm.m = size_of(e, rows), s->gemm.n = size_of(e, columns), s->gemm.k = size_of(e, sums);
    if (s->gemm.m < 0 || s->gemm.n < 0 || s->gemm.k < 0 || size_of(e, batch | rows | columns) < 0)
        return ox_call_fail(call, OX_ERROR_LIMIT, "a product of two operands is too large for this machine");
    OX_TRY(plan_operand(call, e, batch, rows, sums, a, &s->operands[0], &s->gemm.a));
    if (b->source != ONE || s->gemm.m >= ROWS_EACH)
        OX_TRY(plan_operand(call, e, batch, sums, columns, b, &s->operands[1], &s->gemm.b));
    else
        s->operands[1].source = ONE, s->gemm.b.dtype = e->dtype;
    if (b->source == ONE)
        s->gemm.b.col = 0;
    OX_TRY(extend(call, e, batch, &order));
    OX_TRY(plan_product(call, e, &order, a, b, s));
    OX_TRY(extend(call, e, rows, &order));
    OX_TRY(extend(call, e, columns, &order));
    *a = (view){.source = call->nin + e->count++, .labels = batch | rows | columns};
    int64_t packed[OX_MAX_RANK];
    ox_packed_strides(order.rank, order.dims, (size_t)e->width, packed);
    for (int d = 0; d < order.rank; d++)
        a->strides[order.label[d]] = packed[d];
    return OX_OK;
}

/* Sums up the labels of one operand that are not kept. */
static ox_status plan_sum(ox_call *call, einsum *e, view *v, ox_labels kept) {
    view one = {.source = ONE};
    return v->labels & ~kept ? plan_step(call, e, v, &one, kept) : OX_OK;
}

/* For each input, the labels that the output or later inputs have. */
static ox_labels *labels_kept(const ox_call *call, const einsum *e) {
    ox_labels *kept = ox_pile_array(call->pile, (size_t)call->nin, sizeof *kept);
    if (!kept)
        return NULL;
    ox_labels set = ox_einsum_labels(&e->equation.output);
    for (int i = call->nin - 1; i >= 0; i--) {
        kept[i] = set;
        set |= ox_einsum_labels(&e->equation.terms[i]);
    }
    return kept;
}

static ox_status plan_steps(ox_call *call, einsum *e) {
    const ox_labels *kept = labels_kept(call, e);
    if (!kept)
        return ox_fail_memory(call->error, "an equation", (size_t)call->nin * sizeof *kept);
    view a = view_of(call, e, 0);
    for (int i = 1; i < call->nin; i++) {
        view b = view_of(call, e, i);
        OX_TRY(plan_sum(call, e, &a, kept[i] | b.labels));
        OX_TRY(plan_sum(call, e, &b, kept[i] | a.labels));
        OX_TRY(plan_step(call, e, &a, &b, kept[i]));
    }
    OX_TRY(plan_sum(call, e, &a, kept[call->nin - 1]));
    const ox_einsum_term *output = &e->equation.output;
    e->result = (operand){.source = a.source, .moved = true, .order = {.rank = output->rank}};
    output_dims(&e->equation, e->result.order.dims);
    for (int d = 0; d < output->rank; d++)
        e->result.strides[d] = a.strides[output->label[d]];
    return OX_OK;
}

static bool any_empty(const ox_einsum *e) {
    for (int label = 0; label < OX_EINSUM_LABELS; label++)
        if (e->sizes[label] == 0)
            return true;
    return false;
}

ox_status ox_prepare_einsum(ox_call *call) {
    einsum *e = ox_call_state(call, sizeof *e);
    if (!e)
        return OX_ERROR_MEMORY;
    e->equation.terms = ox_pile_array(call->pile, (size_t)call->nin, sizeof *e->equation.terms);
    e->steps = ox_pile_array(call->pile, (size_t)call->nin, 3 * sizeof *e->steps);
    e->results = ox_pile_array(call->pile, (size_t)call->nin, 4 * sizeof *e->results);
    if (!e->equation.terms || !e->steps || !e->results)
        return ox_fail_memory(call->error, "an equation", (size_t)call->nin * 3 * sizeof *e->steps);
    OX_TRY(ox_einsum_read(call, &e->equation));
    e->dtype = dtype_of(call->in[0]->dtype);
    e->width = (int64_t)ox_dtype_size(e->dtype);
    e->empty = any_empty(&e->equation);
    set_one(e);
    if (e->empty)
        return OX_OK;
    for (int i = 0; i < call->nin; i++)
        OX_TRY(ox_retype_plan(call, call->in[i], e->dtype));
    OX_TRY(plan_steps(call, e));
    return call->out[0]->dtype == e->dtype ? OX_OK
                                           : ox_workspace_add(call, ox_tensor_count(call->out[0]), (size_t)e->width);
}

/* ---- Runs --------------------------------------------------------------------------------------------------- */

typedef struct einsum_places {
    const step *s;
    const char *operands[2];
} einsum_places;

/* An ox_gemm_place_fn. */
static void place(const void *places, int64_t i, ox_gemm *g) {
    const einsum_places *p = places;
    const char *operands[2] = {p->operands[0], p->operands[1]};
    int64_t index[OX_MAX_RANK];
    ox_walk_to(&p->s->batch, 0, i, index, operands);
    g->a.data = operands[0], g->b.data = operands[1];
}

/* The elements of an operand in its order, packed, at `to`. */
static void move(const ox_call *call, const operand *o, int64_t width, char *to, const char *from) {
    int64_t packed[OX_MAX_RANK];
    ox_packed_strides(o->order.rank, o->order.dims, (size_t)width, packed);
    ox_move(call->loops, call->pool, o->order.rank, o->order.dims, (size_t)width, to, packed, from, o->strides);
}

/* `results` are the operands that inputs and steps have made. */
static const char *take_operand(const ox_call *call, size_t *used, const einsum *e, const operand *o,
                                char *const *results) {
    const char *from = o->source == ONE ? (const char *)&e->one : results[o->source];
    if (!o->moved)
        return from;
    char *to = ox_workspace_take(call, used, ox_count(o->order.rank, o->order.dims), (size_t)e->width);
    move(call, o, e->width, to, from);
    return to;
}

static char *run_step(const ox_call *call, size_t *used, const einsum *e, const step *s, char *const *results) {
    einsum_places places = {.s = s};
    places.operands[0] = take_operand(call, used, e, &s->operands[0], results);
    places.operands[1] = take_operand(call, used, e, &s->operands[1], results);
    ox_gemm g = s->gemm;
    g.c = ox_workspace_take(call, used, s->count * g.m * g.n, (size_t)e->width);
    ox_gemm_run(&s->plan, &g, s->count, place, &places, ox_gemm_take(call, used, &s->plan));
    return g.c;
}

/* The result, in the order and type of the output. */
static void store(const ox_call *call, size_t *used, const einsum *e, const char *from) {
    const ox_tensor *out = call->out[0];
    const int64_t count = ox_tensor_count(out), size = (int64_t)ox_dtype_size(out->dtype);
    if (out->dtype == e->dtype) {
        move(call, &e->result, e->width, out->data, from);
        return;
    }
    char *to = ox_workspace_take(call, used, count, (size_t)e->width);
    move(call, &e->result, e->width, to, from);
    if (ox_dtype_compute(out->dtype) == e->dtype)
        ox_store_row(call, out, 0, count, to);
    else
        call->loops->cast(e->dtype, out->dtype)(count, (char *const[]){out->data, to},
                                                (const int64_t[]){size, e->width}, NULL);
}

ox_status ox_run_einsum(ox_call *call) {
    const einsum *e = call->state;
    const ox_tensor *out = call->out[0];
    const size_t bytes = (size_t)ox_tensor_count(out) * ox_dtype_size(out->dtype);
    size_t used = 0;
    if (e->empty) {
        if (bytes)
            memset(out->data, 0, bytes);
        return OX_OK;
    }
    char **results = e->results;
    for (int i = 0; i < call->nin; i++)
        results[i] = ox_retype_in(call, &used, call->in[i], e->dtype);
    for (int i = 0; i < e->count; i++)
        results[call->nin + i] = run_step(call, &used, e, &e->steps[i], results);
    store(call, &used, e, results[e->result.source]);
    return OX_OK;
}
