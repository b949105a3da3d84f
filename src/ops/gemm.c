/* gemm.c: Gemm, alpha * A * B + beta * C. */
#include "gemm.h"
#include "dense.h"

typedef struct gemm_shape {
    bool trans_a, trans_b;
    int64_t dims[2], k;
} gemm_shape;

typedef struct gemm {
    ox_gemm product;
    float alpha, beta;
    bool add;     /* C takes part: it is given, and beta is not 0 */
    int64_t c[2]; /* steps of C through the output, in bytes of the compute type */
} gemm;

static ox_status gemm_dims(ox_call *call, gemm_shape *s) {
    const ox_tensor *a = call->in[0], *b = call->in[1];
    if (a->rank != 2 || b->rank != 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must be matrices", OX_INPUT(call, 0), OX_INPUT(call, 1));
    s->trans_a = ox_call_int(call, "transA", 0) != 0;
    s->trans_b = ox_call_int(call, "transB", 0) != 0;
    s->dims[0] = a->dims[s->trans_a];
    s->dims[1] = b->dims[!s->trans_b];
    s->k = a->dims[!s->trans_a];
    if (b->dims[s->trans_b] != s->k)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s: inner dimensions %lld and %lld differ", OX_INPUT(call, 0),
                            OX_INPUT(call, 1), (long long)s->k, (long long)b->dims[s->trans_b]);
    return OX_OK;
}

/* C must have the output's shape, or be broadcast to it where the version and the node say so. */
static ox_status check_c(ox_call *call, const gemm_shape *s) {
    if (!ox_call_given(call, 2))
        return OX_OK;
    const ox_tensor *c = call->in[2];
    int rank = 2;
    int64_t dims[OX_MAX_RANK] = {s->dims[0], s->dims[1]};
    bool exact = call->op->since < 7 && ox_call_int(call, "broadcast", 0) == 0;
    bool fits = exact || ox_broadcast_dims(&rank, dims, c->rank, c->dims);
    if (fits && ox_same_dims(exact ? c->rank : rank, exact ? c->dims : dims, 2, s->dims))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s does not fit the output of shape %s%s", OX_INPUT(call, 2),
                        OX_DIMS(2, s->dims), exact ? " (attribute broadcast is 0)" : "");
}

ox_status ox_infer_gemm(ox_call *call) {
    gemm_shape s;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, 2));
    OX_TRY(gemm_dims(call, &s));
    OX_TRY(check_c(call, &s));
    return ox_call_output(call, 0, call->in[0]->dtype, 2, s.dims);
}

static void plan_c(const ox_tensor *c, const gemm_shape *s, gemm *state) {
    int64_t strides[OX_MAX_RANK];
    ox_dense_strides(c, strides);
    ox_tensor view = {ox_dtype_compute(c->dtype), c->rank, c->dims, strides, NULL};
    ox_broadcast_strides(&view, 2, s->dims, state->c);
}

ox_status ox_prepare_gemm(ox_call *call) {
    const ox_tensor *a = call->in[0], *b = call->in[1];
    gemm_shape s;
    OX_TRY(gemm_dims(call, &s));
    gemm *state = ox_call_state(call, sizeof *state);
    if (!state)
        return OX_ERROR_MEMORY;
    if (ox_tensor_count(call->out[0]) == 0)
        return OX_OK;
    int64_t sa[2], sb[2];
    ox_dense_strides(a, sa);
    ox_dense_strides(b, sb);
    state->alpha = ox_call_float(call, "alpha", 1);
    state->beta = ox_call_given(call, 2) ? ox_call_float(call, "beta", 1) : 0;
    state->add = state->beta != 0;
    ox_gemm *g = &state->product;
    g->dtype = ox_dtype_compute(a->dtype);
    g->m = s.dims[0], g->n = s.dims[1], g->k = s.k;
    g->a_row = sa[s.trans_a], g->a_col = sa[!s.trans_a];
    g->b_row = sb[s.trans_b], g->b_col = sb[!s.trans_b];
    g->c_row = g->n * (int64_t)ox_dtype_size(g->dtype);
    OX_TRY(ox_dense_plan(call, a));
    OX_TRY(ox_dense_plan(call, b));
    if (state->add) {
        plan_c(call->in[2], &s, state);
        OX_TRY(ox_dense_plan(call, call->in[2]));
    }
    OX_TRY(ox_dense_plan_out(call, call->out[0], ox_tensor_count(call->out[0])));
    return ox_gemm_plan(call, s.k);
}

/* Integers times a factor that is not whole: by way of double, cut toward zero, held inside the type. */
static int64_t scaled(double value, ox_dtype dtype) {
    const double low = dtype == OX_INT32 ? -0x1p31 : dtype == OX_INT64 ? -0x1p63 : 0;
    const double high = dtype == OX_INT32    ? 0x1p31 - 1
                        : dtype == OX_UINT32 ? 0x1p32 - 1
                        : dtype == OX_INT64  ? 0x1.fffffffffffffp62
                                             : 0x1.fffffffffffffp63;
    value = !(value > low) ? low : value > high ? high : value;
    return value < 0x1p63 ? (int64_t)value : (int64_t)(uint64_t)value;
}

static bool whole(float factor) {
    return factor > -0x1p24F && factor < 0x1p24F && factor == (float)(int32_t)factor;
}

/* One row of the output from the product in it and a row of C (of step 0 if there is none). */
#define FINISH_FLOAT(name, type, value)                                                                                \
    static void name(const gemm *s, int64_t n, char *row, const char *c) {                                             \
        const value alpha = (value)s->alpha, beta = (value)s->beta;                                                    \
        type *out = (type *)(void *)row;                                                                               \
        for (int64_t j = 0; !s->add && j < n; j++)                                                                     \
            out[j] = alpha * out[j];                                                                                   \
        for (int64_t j = 0; s->add && j < n; j++)                                                                      \
            out[j] = alpha * out[j] + beta * OX_GET(type, c + j * s->c[1]);                                            \
    }
#define FINISH_INT(name, type, value)                                                                                  \
    static void name(const gemm *s, int64_t n, char *row, const char *c) {                                             \
        const bool exact = whole(s->alpha) && whole(s->beta);                                                          \
        const uint64_t alpha = exact ? (uint64_t)(int64_t)s->alpha : 0;                                                \
        const uint64_t beta = exact ? (uint64_t)(int64_t)s->beta : 0;                                                  \
        type *out = (type *)(void *)row;                                                                               \
        for (int64_t j = 0; j < n; j++) {                                                                              \
            const value add = s->add ? OX_GET(type, c + j * s->c[1]) : 0;                                              \
            if (exact)                                                                                                 \
                out[j] = (value)(alpha * (uint64_t)out[j] + beta * (uint64_t)add);                                     \
            else                                                                                                       \
                out[j] = (value)scaled((double)s->alpha * (double)out[j] + (double)s->beta * (double)add,              \
                                       s->product.dtype);                                                              \
        }                                                                                                              \
    }
FINISH_FLOAT(finish_f32, ox_f32, float)
FINISH_FLOAT(finish_f64, ox_f64, double)
FINISH_INT(finish_i32, ox_i32, int32_t)
FINISH_INT(finish_u32, ox_u32, uint32_t)
FINISH_INT(finish_i64, ox_i64, int64_t)
FINISH_INT(finish_u64, ox_u64, uint64_t)

typedef void finish_fn(const gemm *s, int64_t n, char *row, const char *c);

static finish_fn *finish_for(ox_dtype dtype) {
    if (OX_HAS(OX_FLOAT) && dtype == OX_FLOAT)
        return finish_f32;
    if (OX_HAS(OX_DOUBLE) && dtype == OX_DOUBLE)
        return finish_f64;
    if (OX_HAS(OX_INT32) && dtype == OX_INT32)
        return finish_i32;
    if (OX_HAS(OX_UINT32) && dtype == OX_UINT32)
        return finish_u32;
    if (OX_HAS(OX_INT64) && dtype == OX_INT64)
        return finish_i64;
    return OX_HAS(OX_UINT64) ? finish_u64 : NULL;
}

/* An ox_gemm_end_fn: applies alpha, beta and C to the product. */
static void finish(const ox_gemm *g, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const gemm *s = g->context;
    finish_fn *finish_row = finish_for(g->dtype);
    char *out = (char *)g->c + column * (int64_t)ox_dtype_size(g->dtype);
    const char *c = s->add ? (const char *)g->extra + column * s->c[1] : NULL;
    for (int64_t i = row; i < row + rows; i++)
        finish_row(s, columns, out + i * g->c_row, s->add ? c + i * s->c[0] : NULL);
}

/* An ox_gemm_place_fn: there is one product, and it is in place. */
static void place(const void *places, int64_t i, ox_gemm *g) {
    (void)places, (void)i, (void)g;
}

ox_status ox_run_gemm(ox_call *call) {
    const gemm *state = call->state;
    const ox_tensor *out = call->out[0];
    int64_t count = ox_tensor_count(out);
    size_t used = 0;
    if (count == 0)
        return OX_OK;
    ox_tensor a = ox_dense_in(call, &used, call->in[0]), b = ox_dense_in(call, &used, call->in[1]), c = {0};
    if (state->add)
        c = ox_dense_in(call, &used, call->in[2]);
    ox_gemm g = state->product;
    g.context = state;
    g.end = state->add || state->alpha != 1 ? finish : NULL;
    g.a = a.data, g.b = b.data;
    g.c = ox_dense_out(call, &used, out, 0, count);
    g.extra = c.data;
    ox_gemm_run(&g, 1, place, NULL, call->pool, ox_gemm_take(call, &used, g.k));
    ox_dense_store(out, 0, count, g.c);
    return OX_OK;
}
