/* cumulate.c: CumSum and CumProd. Sums and products of floats are kept in double, and rounded for each result. */
#include "reduce.h"

#include "ops/dense.h"

/* Lines side by side that are done together. */
enum {
    LANES = OX_SMALL ? 16 : 128
};

/* `lanes` lines of n elements, `step` elements apart (backwards where that is below 0). exclusive: each result is of
 * the elements before. */
typedef void cumulate_fn(int64_t n, int64_t step, int64_t lanes, const void *from, void *to, bool exclusive);

#define CUMULATE(name, T, total, start, op)                                                                            \
    static void name(int64_t n, int64_t step, int64_t lanes, const void *from, void *to, bool exclusive) {             \
        const T *x = from;                                                                                             \
        T *o = to;                                                                                                     \
        total sum[LANES];                                                                                              \
        for (int64_t l = 0; l < lanes; l++)                                                                            \
            sum[l] = start;                                                                                            \
        for (int64_t k = 0; k < n; k++, x += step, o += step)                                                          \
            for (int64_t l = 0; l < lanes; l++) {                                                                      \
                const total before = sum[l];                                                                           \
                sum[l] = before op(total) x[l];                                                                        \
                o[l] = (T)(exclusive ? before : sum[l]);                                                               \
            }                                                                                                          \
    }
#define CUMULATES(T, total)                                                                                            \
    CUMULATE(sums_##T, T, total, 0, +)                                                                                 \
    CUMULATE(products_##T, T, total, 1, *)
CUMULATES(ox_f32, double)
CUMULATES(ox_f64, double)
CUMULATES(ox_u32, uint32_t)
CUMULATES(ox_u64, uint64_t)

typedef struct cumulate_state {
    ox_lines lines;
    cumulate_fn *run;
    bool exclusive, reverse;
} cumulate_state;

static ox_status read_axis(ox_call *call, int *axis) {
    int64_t value;
    int count;
    OX_TRY(ox_call_int_list(call, 1, &value, 1, &count));
    if (count != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a scalar", OX_INPUT(call, 1));
    return ox_call_axis(call, "axis", value, call->in[0]->rank, axis);
}

ox_status ox_infer_cumulate(ox_call *call) {
    const ox_tensor *x = call->in[0];
    int axis;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT32) | OX_BIT(OX_INT64)));
    OX_TRY(read_axis(call, &axis));
    return ox_call_output(call, 0, x->dtype, x->rank, x->dims);
}

static cumulate_fn *find(ox_dtype compute, bool products) {
    switch ((int)compute) {
    case OX_FLOAT:
        return products ? products_ox_f32 : sums_ox_f32;
    case OX_DOUBLE:
        return products ? products_ox_f64 : sums_ox_f64;
    case OX_INT32:
    case OX_UINT32:
        return products ? products_ox_u32 : sums_ox_u32;
    default:
        return products ? products_ox_u64 : sums_ox_u64;
    }
}

static ox_status prepare(ox_call *call, bool products) {
    const ox_tensor *x = call->in[0];
    cumulate_state *s = ox_call_state(call, sizeof *s);
    int axis;
    if (!s)
        return OX_ERROR_MEMORY;
    OX_TRY(read_axis(call, &axis));
    *s = (cumulate_state){ox_lines_of(x, axis), find(ox_dtype_compute(x->dtype), products),
                          ox_call_int(call, "exclusive", 0) != 0, ox_call_int(call, "reverse", 0) != 0};
    OX_TRY(ox_dense_plan(call, x));
    return ox_dense_plan_out(call, ox_tensor_count(x));
}

ox_status ox_prepare_cum_sum(ox_call *call) {
    return prepare(call, false);
}

ox_status ox_prepare_cum_prod(ox_call *call) {
    return prepare(call, true);
}

typedef struct cumulate_job {
    const cumulate_state *s;
    const char *from;
    char *to;
    int64_t width;
} cumulate_job;

static void cumulate_part(void *context, int part, int parts) {
    const cumulate_job *job = context;
    const cumulate_state *s = job->s;
    const ox_lines *lines = &s->lines;
    const int64_t last = s->reverse ? (lines->n - 1) * lines->inner : 0,
                  step = s->reverse ? -lines->inner : lines->inner;
    int64_t first, end;
    ox_pool_range(ox_line_blocks(lines, LANES), part, parts, &first, &end);
    for (int64_t i = first; i < end; i++) {
        const ox_line_block block = ox_line_block_at(lines, LANES, i);
        const int64_t at = (block.first + last) * job->width;
        s->run(lines->n, step, block.lanes, job->from + at, job->to + at, s->exclusive);
    }
}

ox_status ox_run_cumulate(ox_call *call) {
    const int64_t count = ox_tensor_count(call->out[0]);
    size_t used = 0;
    const ox_tensor x = ox_dense_in(call, &used, call->in[0]);
    void *result = ox_dense_out(call, &used, count);
    cumulate_job job = {call->state, x.data, result, (int64_t)ox_dtype_size(x.dtype)};
    ox_pool_run_pieces(call->pool, 2 * (double)count * (double)job.width, cumulate_part, &job);
    ox_dense_store(call, count, result);
    return OX_OK;
}
