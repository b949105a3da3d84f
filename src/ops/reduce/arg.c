/* arg.c: ArgMax, ArgMin and Hardmax: where the greatest or the least element of each line is. */
#include "reduce.h"

#include "loops/statistics_loops.h"
#include "ops/dense.h"

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

ox_status ox_infer_arg(ox_call *call) {
    const ox_tensor *x = call->in[0];
    const bool keep = ox_call_int(call, "keepdims", 1) != 0;
    int64_t dims[OX_MAX_RANK];
    int axis, rank = 0;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), x->rank, &axis));
    for (int d = 0; d < x->rank; d++)
        if (d != axis || keep)
            dims[rank++] = d == axis ? 1 : x->dims[d];
    if (x->dims[axis] == 0 && ox_count(rank, dims) != 0)
        return ox_call_fail(call, OX_ERROR_VALUE, "%s has no elements along axis %d", OX_INPUT(call, 0), axis);
    return ox_call_output(call, 0, OX_INT64, rank, dims);
}

/* ---- Plans -------------------------------------------------------------------------------------------------- */

typedef struct arg_state {
    ox_lines lines;
    ox_arg_fn *find;
} arg_state;

static ox_status prepare(ox_call *call, bool least, bool last, arg_state **state) {
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    arg_state *s = *state = ox_call_state(call, sizeof *s);
    if (!s)
        return OX_ERROR_MEMORY;
    s->find = OX_BUILD_OF(call->loops, ox_statistics_builds)->arg(dtype, least, last);
    if (!s->find)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: elements of this type have no order", OX_INPUT(call, 0));
    return ox_dense_plan(call, call->in[0]);
}

static ox_status prepare_arg(ox_call *call, bool least) {
    arg_state *s;
    int axis;
    OX_TRY(prepare(call, least, ox_call_int(call, "select_last_index", 0) != 0, &s));
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), call->in[0]->rank, &axis));
    s->lines = ox_lines_of(call->in[0], axis);
    return OX_OK;
}

ox_status ox_prepare_arg_max(ox_call *call) {
    return prepare_arg(call, false);
}

ox_status ox_prepare_arg_min(ox_call *call) {
    return prepare_arg(call, true);
}

ox_status ox_prepare_hardmax(ox_call *call) {
    arg_state *s;
    OX_TRY(prepare(call, false, false, &s));
    return ox_softmax_lines(call, &s->lines);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

typedef struct arg_job {
    const arg_state *s;
    const char *from;
    char *to;
    int64_t width;   /* of an element that is looked at */
    int64_t size;    /* Hardmax: of one that is written, ... */
    const char *one; /* ... and the number 1 */
} arg_job;

static void arg_part(void *context, int part, int parts) {
    const arg_job *job = context;
    const ox_lines *lines = &job->s->lines;
    int64_t first, end;
    ox_pool_range(ox_line_blocks(lines, OX_ARG_LANES), part, parts, &first, &end);
    for (int64_t i = first; i < end; i++) {
        const ox_line_block block = ox_line_block_at(lines, OX_ARG_LANES, i);
        job->s->find(lines->n, lines->inner, block.lanes, job->from + block.first * job->width,
                     (int64_t *)(void *)job->to + block.line);
    }
}

static void run(const ox_call *call, arg_job *job, ox_pool_fn *part) {
    size_t used = 0;
    const ox_tensor x = ox_dense_in(call, &used, call->in[0]);
    job->s = call->state;
    job->from = x.data;
    job->to = call->out[0]->data;
    job->width = (int64_t)ox_dtype_size(x.dtype);
    ox_pool_run_pieces(call->pool, (double)ox_tensor_count(&x) * (double)job->width, part, job);
}

ox_status ox_run_arg(ox_call *call) {
    arg_job job = {.s = NULL};
    if (ox_tensor_count(call->out[0]))
        run(call, &job, arg_part);
    return OX_OK;
}

static void hardmax_part(void *context, int part, int parts) {
    const arg_job *job = context;
    const ox_lines *lines = &job->s->lines;
    const int64_t next = lines->inner * job->size, beside = lines->inner == 1 ? lines->n * job->size : job->size;
    int64_t first, end, index[OX_ARG_LANES];
    ox_pool_range(ox_line_blocks(lines, OX_ARG_LANES), part, parts, &first, &end);
    for (int64_t i = first; i < end; i++) {
        const ox_line_block block = ox_line_block_at(lines, OX_ARG_LANES, i);
        char *to = job->to + block.first * job->size;
        job->s->find(lines->n, lines->inner, block.lanes, job->from + block.first * job->width, index);
        if (lines->inner == 1)
            memset(to, 0, (size_t)(block.lanes * lines->n * job->size));
        else
            for (int64_t k = 0; k < lines->n; k++)
                memset(to + k * next, 0, (size_t)(block.lanes * job->size));
        for (int64_t l = 0; l < block.lanes; l++)
            memcpy(to + index[l] * next + l * beside, job->one, (size_t)job->size);
    }
}

ox_status ox_run_hardmax(ox_call *call) {
    const ox_dtype dtype = call->out[0]->dtype;
    const float single = 1;
    const double wide = 1;
    char one[sizeof wide];
    memcpy(one, &wide, sizeof wide);
    if (dtype == OX_FLOAT)
        memcpy(one, &single, sizeof single);
    else if (dtype != OX_DOUBLE)
        ox_narrow(&(ox_narrowing){.dtype = dtype}, 1, &single, one);
    arg_job job = {.size = (int64_t)ox_dtype_size(dtype), .one = one};
    if (ox_tensor_count(call->out[0]))
        run(call, &job, hardmax_part);
    return OX_OK;
}
