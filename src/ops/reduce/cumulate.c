/* cumulate.c: CumSum and CumProd. */
#include "reduce.h"

#include "loops/cumulate_loops.h"
#include "loops/lanes.h"
#include "ops/dense.h"

typedef struct cumulate_state {
    ox_lines lines;
    ox_cumulate_fn *run;
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

static ox_status prepare(ox_call *call, bool products) {
    const ox_tensor *x = call->in[0];
    cumulate_state *s = ox_call_state(call, sizeof *s);
    int axis;
    if (!s)
        return OX_ERROR_MEMORY;
    OX_TRY(read_axis(call, &axis));
    *s = (cumulate_state){ox_lines_of(x, axis),
                          OX_BUILD_OF(call->loops, ox_cumulate_builds)(ox_dtype_compute(x->dtype), products),
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
    ox_pool_range(ox_line_blocks(lines, OX_CUMULATE_LANES), part, parts, &first, &end);
    for (int64_t i = first; i < end; i++) {
        const ox_line_block block = ox_line_block_at(lines, OX_CUMULATE_LANES, i);
        const int64_t at = (block.first + last) * job->width;
        s->run(lines->n, step, block.lanes, lines->inner == 1 ? lines->n : 1, job->from + at, job->to + at,
               s->exclusive);
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
