/* log_sum_exp.c: ReduceLogSumExp and LogSoftmax. The greatest element is subtracted before exp, so that nothing
 * overflows. The greatest float stands for an infinity there. */
#include "reduce.h"

#include "ops/dense.h"
#include "ops/own_pass.h"

#include <float.h>

/* ---- Instructions ------------------------------------------------------------------------------------------- */

static ox_reg apply(ox_pass_builder *b, ox_lane_set lanes, ox_reg x, ox_reg y) {
    return ox_elementwise_apply(b, lanes, NULL, OX_UNDEFINED, 2, (const ox_reg[]){x, y});
}

static ox_reg apply_one(ox_pass_builder *b, ox_lane_set lanes, ox_reg x) {
    return ox_elementwise_apply(b, lanes, NULL, OX_UNDEFINED, 1, &x);
}

/* What integers and floats are computed in. */
static ox_dtype real_of(ox_dtype dtype) {
    return OX_BIT(dtype) & OX_SET_INT ? OX_DOUBLE : ox_dtype_compute(dtype);
}

static ox_reg to_finite(ox_pass_builder *b, ox_reg x) {
    x = apply(b, OX_LANES_Max, x, ox_own_pass_number(b, x, -FLT_MAX));
    return x < 0 ? -1 : apply(b, OX_LANES_Min, x, ox_own_pass_number(b, x, FLT_MAX));
}

/* A pass over rows. */
static ox_reg emit(ox_pass_builder *b, ox_reg x, bool softmax) {
    x = x < 0 ? -1 : ox_pass_convert(b, x, real_of(ox_pass_dtype(b, x)));
    const ox_reg most = x < 0 ? -1 : to_finite(b, ox_pass_fold(b, OX_FOLD_MAX, x));
    const ox_reg less = most < 0 ? -1 : apply(b, OX_LANES_Sub, x, most);
    const ox_reg log = less < 0 ? -1 : ox_pass_fold(b, OX_FOLD_LOG, apply_one(b, OX_LANES_Exp, less));
    return log < 0 ? -1 : softmax ? apply(b, OX_LANES_Sub, less, log) : apply(b, OX_LANES_Add, log, most);
}

ox_reg ox_emit_log_softmax(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    (void)call;
    return emit(b, in[0], true);
}

ox_reg ox_emit_reduce_log_sum_exp(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    (void)call;
    return emit(b, in[0], false);
}

int ox_rows_softmax(const ox_call *call);
int ox_rows_log_softmax(const ox_call *call) {
    return ox_rows_softmax(call);
}

int ox_rows_reduce(const ox_call *call);
int ox_rows_log_sum_exp(const ox_call *call) {
    return ox_rows_reduce(call);
}

/* ---- By itself ---------------------------------------------------------------------------------------------- */

/* The greatest elements, the powers, the logarithms of their sums, and the result: two reductions and two passes. */
typedef struct log_state {
    int64_t dims[OX_MAX_RANK]; /* 1 where the input is reduced */
    ox_tensor most, powers, logs, result;
    void *find_most, *sum_up; /* states of the reductions */
    size_t most_space, sum_space;
    ox_own_pass raise, finish;
} log_state;

/* A reduction from one tensor to another, prepared and run as if it were a node. */
static ox_call part_of(const ox_call *call, const ox_tensor *const *from, ox_tensor *const *to) {
    ox_call part = *call;
    part.nin = part.nout = 1;
    part.in = from;
    part.out = to;
    part.workspace_size = 0;
#if OX_ASSERTIONS
    part.pieces = NULL; /* they are counted from the part's own start */
#endif
    return part;
}

static ox_status prepare_part(ox_call *call, const ox_tensor *from, ox_tensor *to, ox_fold fold, ox_axis_set set,
                              void **state, size_t *space) {
    ox_call part = part_of(call, &from, &to);
    OX_TRY(ox_reduce_prepare(&part, fold, set));
    *state = part.state;
    *space = part.workspace_size;
    return ox_workspace_add(call, (int64_t)part.workspace_size, 1);
}

static ox_status run_part(const ox_call *call, size_t *used, const ox_tensor *from, ox_tensor *to, void *state,
                          size_t space) {
    ox_call part = part_of(call, &from, &to);
    part.state = state;
    part.workspace = ox_workspace_take(call, used, (int64_t)space, 1);
    return ox_run_reduce(&part);
}

static void describe(const ox_call *call, ox_axis_set set, bool softmax, log_state *s) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    const ox_dtype real = real_of(x->dtype);
    for (int d = 0; d < x->rank; d++)
        s->dims[d] = set & OX_AXIS(d) ? 1 : x->dims[d];
    s->most = (ox_tensor){ox_dtype_compute(x->dtype), x->rank, s->dims, NULL, NULL};
    s->powers = (ox_tensor){real, x->rank, x->dims, NULL, NULL};
    s->logs = (ox_tensor){real, x->rank, s->dims, NULL, NULL};
    s->result = (ox_tensor){out->dtype, x->rank, softmax ? x->dims : s->dims, NULL, NULL};
}

static ox_reg load(ox_pass_builder *b, const ox_tensor *tensor, ox_dtype real) {
    const ox_reg reg = ox_pass_load(b, tensor, NULL);
    return reg < 0 ? -1 : ox_pass_convert(b, reg, real);
}

/* Elements less the greatest. */
static ox_reg load_less(const ox_call *call, ox_pass_builder *b, const log_state *s) {
    const ox_reg x = load(b, call->in[0], s->logs.dtype), most = x < 0 ? -1 : load(b, &s->most, s->logs.dtype);
    return most < 0 ? -1 : apply(b, OX_LANES_Sub, x, to_finite(b, most));
}

static ox_status plan_powers(ox_call *call, log_state *s) {
    ox_pass_builder *b = ox_pass_begin(call->pile, call->pile, call->loops, s->powers.rank, s->powers.dims, 0);
    if (!b)
        return ox_fail_memory(call->error, "a prepared operator", sizeof b);
    const ox_reg less = load_less(call, b, s);
    return ox_own_pass_end(call, b, less < 0 ? -1 : apply_one(b, OX_LANES_Exp, less), &s->powers, &s->raise);
}

static ox_status plan_result(ox_call *call, log_state *s, bool softmax) {
    ox_pass_builder *b = ox_pass_begin(call->pile, call->pile, call->loops, s->result.rank, s->result.dims, 0);
    if (!b)
        return ox_fail_memory(call->error, "a prepared operator", sizeof b);
    const ox_reg logs = load(b, &s->logs, s->logs.dtype);
    const ox_reg other = logs < 0 ? -1 : softmax ? load_less(call, b, s) : load(b, &s->most, s->logs.dtype);
    ox_reg result = -1;
    if (other >= 0)
        result = softmax ? apply(b, OX_LANES_Sub, other, logs) : apply(b, OX_LANES_Add, logs, to_finite(b, other));
    return ox_own_pass_end(call, b, result, &s->result, &s->finish);
}

static ox_status prepare(ox_call *call, ox_axis_set set, bool softmax) {
    log_state *s = ox_call_state(call, sizeof *s);
    if (!s)
        return OX_ERROR_MEMORY;
    describe(call, set, softmax, s);
    OX_TRY(ox_workspace_add(call, ox_tensor_count(&s->most), ox_dtype_size(s->most.dtype)));
    OX_TRY(ox_workspace_add(call, ox_tensor_count(&s->powers), ox_dtype_size(s->powers.dtype)));
    OX_TRY(ox_workspace_add(call, ox_tensor_count(&s->logs), ox_dtype_size(s->logs.dtype)));
    OX_TRY(prepare_part(call, call->in[0], &s->most, OX_FOLD_MAX, set, &s->find_most, &s->most_space));
    OX_TRY(plan_powers(call, s));
    OX_TRY(prepare_part(call, &s->powers, &s->logs, OX_FOLD_LOG, set, &s->sum_up, &s->sum_space));
    return plan_result(call, s, softmax);
}

ox_status ox_prepare_reduce_log_sum_exp(ox_call *call) {
    ox_axis_set set = 0;
    OX_TRY(ox_reduced_axes(call, &set));
    return prepare(call, set, false);
}

ox_status ox_prepare_log_softmax(ox_call *call) {
    ox_axis_set set = 0;
    OX_TRY(ox_softmax_axes(call, &set));
    return prepare(call, set, true);
}

static void place(const ox_call *call, size_t *used, ox_tensor *tensor) {
    tensor->data = ox_workspace_take(call, used, ox_tensor_count(tensor), ox_dtype_size(tensor->dtype));
}

ox_status ox_run_log_sum_exp(ox_call *call) {
    log_state *s = call->state;
    size_t used = 0;
    place(call, &used, &s->most);
    place(call, &used, &s->powers);
    place(call, &used, &s->logs);
    s->result.data = call->out[0]->data;
    OX_TRY(run_part(call, &used, call->in[0], &s->most, s->find_most, s->most_space));
    OX_TRY(ox_own_pass_run(call, &used, &s->raise));
    OX_TRY(run_part(call, &used, &s->powers, &s->logs, s->sum_up, s->sum_space));
    return ox_own_pass_run(call, &used, &s->finish);
}

ox_status ox_run_log_softmax(ox_call *call) {
    return ox_run_log_sum_exp(call);
}
