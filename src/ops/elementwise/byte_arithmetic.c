/* byte_arithmetic.c: QLinearAdd, QLinearSub, QLinearMul, QLinearDiv. */
#include "byte_arithmetic.h"

#include "iterate/walk.h"
#include "loops/lanes.h"
#include "ops/byte_scales.h"
#include "ops/dense.h"

#if OX_WITH_BYTE_ARITHMETIC
enum {
    A = 0,
    B = 3,
    Y_SCALE = 6,
    Y_ZERO,
    ARGS = 3 /* of the iteration: a, b, y */
};

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

static ox_status infer(ox_call *call) {
    int64_t dims[OX_MAX_RANK];
    OX_TRY(ox_check_bytes(call, A));
    OX_TRY(ox_check_bytes(call, B));
    OX_TRY(ox_check_bytes_out(call, Y_SCALE));
    const ox_tensor *a = call->in[A], *b = call->in[B];
    int rank = a->rank;
    for (int d = 0; d < rank; d++)
        dims[d] = a->dims[d];
    if (!ox_broadcast_dims(&rank, dims, b->rank, b->dims))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s does not broadcast with %s", OX_INPUT(call, B),
                            OX_INPUT(call, A));
    return ox_call_output(call, 0, call->in[Y_ZERO]->dtype, rank, dims);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

static ox_status prepare(ox_call *call) {
    const ox_tensor *y = call->out[0];
    ox_bcast *plan = ox_call_state(call, sizeof *plan);
    int64_t a[OX_MAX_RANK], b[OX_MAX_RANK], to[OX_MAX_RANK];
    if (!plan)
        return OX_ERROR_MEMORY;
    ox_broadcast_strides(call->in[A], y->rank, y->dims, a);
    ox_broadcast_strides(call->in[B], y->rank, y->dims, b);
    ox_tensor_strides(y, to);
    return ox_plan_space(call, plan, ARGS, y->rank, y->dims, (const int64_t *const[]){a, b, to});
}

static ox_byte_operation operation_of(const ox_call *call) {
    return call->op == &ox_op_qlinear_add   ? OX_BYTES_ADD
           : call->op == &ox_op_qlinear_sub ? OX_BYTES_SUB
           : call->op == &ox_op_qlinear_mul ? OX_BYTES_MUL
                                            : OX_BYTES_DIV;
}

typedef struct arithmetic_job {
    const ox_call *call;
    const ox_bcast *plan;
    ox_byte_arithmetic how;
    ox_byte_arithmetic_fn *loop;
    int64_t outer; /* elements of all dimensions but the innermost */
} arithmetic_job;

static void run_inner(const arithmetic_job *job, int64_t first, int64_t n, const char *const *arg) {
    const int64_t *step = job->plan->step;
    job->loop(n, &job->how, arg[0] + first * step[0], step[0], arg[1] + first * step[1], step[1],
              (char *)(uintptr_t)arg[2] + first);
}

/* One dimension is cut into parts; else the outer ones are. */
static void arithmetic_part(void *context, int part, int parts) {
    const arithmetic_job *job = context;
    const ox_bcast *plan = job->plan;
    const char *arg[ARGS] = {job->call->in[A]->data, job->call->in[B]->data, job->call->out[0]->data};
    int64_t at, end, index[OX_MAX_RANK] = {0};
    ox_pool_range(plan->ndim == 1 ? plan->dim[0] : job->outer, part, parts, &at, &end);
    if (at == end)
        return;
    if (plan->ndim == 1) {
        run_inner(job, at, end - at, arg);
        return;
    }
    ox_walk_to(plan, 1, at, index, arg);
    for (; at < end; at++) {
        run_inner(job, 0, plan->dim[0], arg);
        ox_walk(plan, 1, index, arg);
    }
}

#if OX_SMALL
#define LOOP_OF(call) ox_byte_arithmetic_small
#else
#define LOOP_OF(call) OX_BUILD_OF(call->loops, ox_byte_builds)->arithmetic
#endif

static ox_status run(ox_call *call) {
    const ox_bcast *plan = call->state;
    const ox_tensor *y = call->out[0];
    arithmetic_job job = {call,
                          plan,
                          {operation_of(call), ox_byte_scale_of(call, call->in[A]->dtype, A + 1),
                           ox_byte_scale_of(call, call->in[B]->dtype, B + 1),
                           ox_byte_scale_of(call, y->dtype, Y_SCALE)},
                          LOOP_OF(call),
                          1};
    for (int d = 1; d < plan->ndim; d++)
        job.outer *= plan->dim[d];
    if (ox_tensor_count(y))
        ox_pool_run_pieces(call->pool, 3 * (double)ox_tensor_count(y), arithmetic_part, &job);
    return OX_OK;
}

#define ROW(text)                                                                                                      \
    {                                                                                                                  \
        .domain = "", .name = text, .since = 1, .versions = 2, .min_in = 8, .max_in = 8, .min_out = 1, .max_out = 1,   \
        .dtypes = OX_BYTE_TYPES, .infer = infer, .prepare = prepare, .run = run, .flags = OX_OP_NO_ATTRS | OX_OP_GAPS  \
    }

const ox_op ox_op_qlinear_add = ROW("QLinearAdd"), ox_op_qlinear_sub = ROW("QLinearSub"),
            ox_op_qlinear_mul = ROW("QLinearMul"), ox_op_qlinear_div = ROW("QLinearDiv");
#endif
