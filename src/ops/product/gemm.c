/* gemm.c: Gemm, alpha * A * B + beta * C. */
#include "ops/gemm/gemm.h"
#include "ops/dense.h"
#include "ops/elementwise.h"

typedef struct gemm_shape {
    bool trans_a, trans_b;
    int64_t dims[2], k;
} gemm_shape;

/* Elements of a row of the output that are finished together. */
enum {
    PIECE = 512
};

/* An element of any type that is computed in. */
typedef union factor {
    float f32;
    double f64;
    uint32_t u32;
    uint64_t u64;
} factor;

typedef struct gemm gemm;

/* n elements of a row, from the product and C: integers times factors that are not whole. */
typedef void scale_fn(const gemm *s, int64_t n, const char *product, char *row, const char *c);

struct gemm {
    ox_gemm product;
    ox_gemm_plan plan;
    float alpha, beta;
    factor alpha_element, beta_element;
    bool add;       /* C takes part: it is given, and beta is not 0 */
    int64_t c[2];   /* steps of C through the output, in bytes of the compute type */
    int64_t width;  /* bytes of an element */
    ox_dtype dtype; /* that is computed in */
    const ox_lanes *mul, *sum;
    ox_move_fn *move;
    scale_fn *scale; /* NULL: mul and sum do */
};

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

static bool whole(float x) {
    return x > -0x1p24F && x < 0x1p24F && x == (float)(int32_t)x;
}

#define SCALE(name, type, dtype)                                                                                       \
    static void name(const gemm *s, int64_t n, const char *product, char *row, const char *c) {                        \
        for (int64_t j = 0; j < n; j++) {                                                                              \
            const double add = s->add ? (double)s->beta * (double)OX_GET(type, c + j * s->c[1]) : 0;                   \
            const double value = (double)s->alpha * (double)OX_GET(type, product + j * (int64_t)sizeof(type)) + add;   \
            OX_AT(type, row + j * (int64_t)sizeof(type)) = (type)scaled(value, dtype);                                 \
        }                                                                                                              \
    }
SCALE(scale_i32, ox_i32, OX_INT32)
SCALE(scale_u32, ox_u32, OX_UINT32)
SCALE(scale_i64, ox_i64, OX_INT64)
SCALE(scale_u64, ox_u64, OX_UINT64)

/* What brings factors that are not whole to integers; NULL if they are, and for floats: then loops do it. */
static scale_fn *scale_for(const gemm *s, ox_dtype dtype) {
    if (whole(s->alpha) && whole(s->beta))
        return NULL;
    if (OX_HAS(OX_INT32) && dtype == OX_INT32)
        return scale_i32;
    if (OX_HAS(OX_UINT32) && dtype == OX_UINT32)
        return scale_u32;
    if (OX_HAS(OX_INT64) && dtype == OX_INT64)
        return scale_i64;
    return OX_HAS(OX_UINT64) && dtype == OX_UINT64 ? scale_u64 : NULL;
}

/* A factor as an element that loops read. */
static void set_factor(factor *f, ox_dtype dtype, float value) {
    const uint32_t integers = OX_BIT(OX_INT64) | OX_BIT(OX_UINT64);
    if (OX_HAS(OX_FLOAT) && dtype == OX_FLOAT)
        f->f32 = value;
    else if (OX_HAS(OX_DOUBLE) && dtype == OX_DOUBLE)
        f->f64 = (double)value;
    else if (!OX_HAS_ANY(integers) || ox_dtype_size(dtype) == sizeof(uint32_t))
        f->u32 = whole(value) ? (uint32_t)(int32_t)value : 0;
    else
        f->u64 = whole(value) ? (uint64_t)(int64_t)value : 0;
}

static void read_factors(ox_call *call, gemm *s) {
    s->dtype = ox_dtype_compute(call->in[0]->dtype);
    s->alpha = ox_call_float(call, "alpha", 1);
    s->beta = ox_call_given(call, 2) ? ox_call_float(call, "beta", 1) : 0;
    s->add = s->beta != 0;
    s->scale = scale_for(s, s->dtype);
    set_factor(&s->alpha_element, s->dtype, s->alpha);
    set_factor(&s->beta_element, s->dtype, s->beta);
}

/* A register times a factor. */
static ox_reg multiply(ox_pass_builder *b, ox_reg reg, const gemm *s, float value, const factor *element) {
    const ox_reg args[] = {reg, value == 1 ? -1 : ox_pass_constant(b, s->dtype, element)};
    return value == 1 ? reg : ox_elementwise_apply(b, OX_LANES_Mul, NULL, OX_UNDEFINED, 2, args);
}

/* In an epilogue. Factors of integers that are not whole are left to `finish`. */
ox_reg ox_emit_gemm(ox_call *call, ox_pass_builder *b, ox_reg sums) {
    gemm s;
    read_factors(call, &s);
    if (s.scale)
        return sums;
    sums = multiply(b, sums, &s, s.alpha, &s.alpha_element);
    if (!s.add)
        return sums;
    ox_reg c = multiply(b, ox_pass_widen(b, ox_pass_load(b, call->in[2], NULL)), &s, s.beta, &s.beta_element);
    return ox_elementwise_apply(b, OX_LANES_Add, NULL, OX_UNDEFINED, 2, (const ox_reg[]){sums, c});
}

/* A loop of two operands. */
static void apply(ox_lane *lane, int64_t n, const void *x, int64_t x_step, const void *y, int64_t y_step, char *to,
                  int64_t width) {
    char *const arg[] = {to, (char *)(uintptr_t)x, (char *)(uintptr_t)y};
    lane(n, arg, (const int64_t[]){width, x_step, y_step}, NULL);
}

/* n elements of a row of the output: alpha * product + beta * C. */
static void finish_row(const gemm *s, int64_t n, const char *product, char *row, const char *c, char *room) {
    const int64_t width = s->width;
    int64_t step = s->c[1];
    if (s->scale) {
        s->scale(s, n, product, row, c);
        return;
    }
    if (s->alpha != 1) {
        apply(s->mul->fn[s->dtype], n, product, width, &s->alpha_element, 0, row, width);
        product = row;
    }
    if (!s->add)
        return;
    if (step != 0 && step != width) {
        s->move(n, room, width, c, step);
        c = room, step = width;
    }
    if (s->beta != 1) {
        apply(s->mul->fn[s->dtype], n, c, step, &s->beta_element, 0, room, width);
        c = room, step = width;
    }
    apply(s->sum->fn[s->dtype], n, product, width, c, step, row, width);
}

/* An ox_gemm_end_fn: applies alpha, beta and C to the product. */
static void finish(const ox_gemm *g, const ox_gemm_block *block) {
    const gemm *s = g->context;
    for (int64_t i = 0; i < block->rows; i++)
        for (int64_t j = 0; j < block->columns; j += PIECE) {
            int64_t row = block->row + i, column = block->column + j;
            const char *c = s->add ? (const char *)g->extra + row * s->c[0] + column * s->c[1] : NULL;
            finish_row(s, block->columns - j < PIECE ? block->columns - j : PIECE,
                       block->data + i * block->data_row + j * s->width,
                       ox_gemm_out(g, block, i, s->width) + j * s->width, c, block->scratch);
        }
}

/* How alpha, beta and C are applied. */
static void plan_finish(const ox_call *call, gemm *s) {
    const ox_loops *loops = call->loops;
    s->width = (int64_t)ox_dtype_size(s->dtype);
    s->mul = OX_BUILD_OF(loops, OX_LANES_Mul);
    s->sum = OX_BUILD_OF(loops, OX_LANES_Add);
    s->move = loops->move((size_t)s->width);
    if (s->add || s->alpha != 1) {
        s->product.after.end = finish;
        s->product.after.in_place = true;
        s->product.after.scratch = (size_t)(PIECE * s->width);
    }
}

ox_status ox_prepare_gemm(ox_call *call) {
    const ox_tensor *a = call->in[0], *b = call->in[1];
    gemm_shape s;
    OX_TRY(gemm_dims(call, &s));
    gemm *state = ox_call_state(call, sizeof *state);
    if (!state)
        return OX_ERROR_MEMORY;
    int64_t sa[2], sb[2];
    ox_tensor_strides(a, sa);
    ox_tensor_strides(b, sb);
    read_factors(call, state);
    if (call->epilogue && !state->scale) { /* ox_emit_gemm has done it */
        state->alpha = 1;
        state->add = false;
    }
    ox_gemm *g = &state->product;
    g->m = s.dims[0], g->n = s.dims[1], g->k = s.k;
    g->a = (ox_gemm_matrix){a->dtype, NULL, sa[s.trans_a], sa[!s.trans_a]};
    g->b = (ox_gemm_matrix){b->dtype, NULL, sb[s.trans_b], sb[!s.trans_b]};
    g->c_row = g->n * (int64_t)ox_dtype_size(ox_dtype_compute(a->dtype));
    g->context = state;
    g->after.epilogue = call->epilogue;
    plan_finish(call, state);
    if (state->add) {
        plan_c(call->in[2], &s, state);
        OX_TRY(ox_dense_plan(call, call->in[2]));
    }
    OX_TRY(ox_dense_plan_out(call, ox_tensor_count(call->out[0])));
    if (ox_gemm_wants_panels(g, g->m))
        OX_TRY(ox_gemm_find_weights(call, 1, 0, NULL, NULL, g, &(size_t){0}));
    OX_TRY(ox_gemm_prepare(call, g, 1, &state->plan));
    ox_gemm_name(call, g, &state->plan);
    return OX_OK;
}

/* An ox_gemm_place_fn: there is one product, whose operands are in place. */
static void place(const void *places, int64_t i, ox_gemm *g) {
    (void)places, (void)i, (void)g;
}

ox_status ox_run_gemm(ox_call *call) {
    const gemm *state = call->state;
    const ox_tensor *out = call->out[0];
    int64_t count = ox_tensor_count(out);
    size_t used = 0;
    ox_tensor c = state->add ? ox_dense_in(call, &used, call->in[2]) : (ox_tensor){0};
    ox_gemm g = state->product;
    g.a.data = call->in[0]->data, g.b.data = call->in[1]->data;
    g.c = ox_dense_out(call, &used, count);
    g.extra = c.data;
    ox_gemm_run(&state->plan, &g, 1, place, NULL, ox_gemm_take(call, &used, &state->plan));
    ox_dense_store(call, count, g.c);
    return OX_OK;
}
