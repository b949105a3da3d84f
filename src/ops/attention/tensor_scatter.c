/* tensor_scatter.c: TensorScatter, which writes new rows into a cache. */
#include "attention.h"
#include "ops/dense.h"
#include "loops/lanes.h"

typedef struct scatter {
    int64_t batch, each; /* caches, and sequences in each of them */
    int64_t most, count; /* rows of a sequence, and those that are written */
    int64_t row;         /* bytes */
    bool circular;
} scatter;

static ox_status check_shapes(ox_call *call, int axis) {
    const ox_tensor *cache = call->in[0], *update = call->in[1];
    bool fits = cache->rank == update->rank;
    for (int d = 0; d < cache->rank && fits; d++)
        fits = d == axis ? update->dims[d] <= cache->dims[d] : update->dims[d] == cache->dims[d];
    if (!fits)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s does not fit into %s along axis %d", OX_INPUT(call, 1),
                            OX_INPUT(call, 0), axis);
    if (!ox_call_given(call, 2))
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, 2, OX_BIT(OX_INT64)));
    if (call->in[2]->rank != 1 || call->in[2]->dims[0] != cache->dims[0])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have an index for each of the %lld rows of %s",
                            OX_INPUT(call, 2), (long long)cache->dims[0], OX_INPUT(call, 0));
    return OX_OK;
}

static ox_status read_node(ox_call *call, scatter *s) {
    const ox_tensor *cache = call->in[0];
    const ox_string mode = ox_call_string(call, "mode", "linear");
    int axis;
    s->circular = ox_says(mode, "circular");
    if (!s->circular && !ox_says(mode, "linear"))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'mode' must be linear or circular, not '%.*s'",
                            OX_SHORT(mode));
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", -2), cache->rank, &axis));
    if (axis == 0)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'axis' must not be 0, which is the batch");
    OX_TRY(check_shapes(call, axis));
    s->batch = cache->dims[0];
    s->each = ox_count(axis - 1, cache->dims + 1);
    s->most = cache->dims[axis];
    s->count = call->in[1]->dims[axis];
    s->row =
        ox_wrapping(ox_count(cache->rank - axis - 1, cache->dims + axis + 1), (int64_t)ox_dtype_size(cache->dtype));
    return OX_OK;
}

ox_status ox_infer_tensor_scatter(ox_call *call) {
    scatter s;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, 1));
    OX_TRY(read_node(call, &s));
    return ox_call_output(call, 0, call->in[0]->dtype, call->in[0]->rank, call->in[0]->dims);
}

ox_status ox_prepare_tensor_scatter(ox_call *call) {
    scatter *s = ox_call_state(call, sizeof *s);
    if (!s)
        return OX_ERROR_MEMORY;
    OX_TRY(read_node(call, s));
    return ox_list_plan(call, 2);
}

typedef struct write_job {
    const ox_call *call;
    const int64_t *indices; /* NULL: all are 0 */
} write_job;

static int64_t index_of(const write_job *job, int64_t cache) {
    return job->indices ? job->indices[cache] : 0;
}

static ox_status check_indices(const write_job *job) {
    const ox_call *call = job->call;
    const scatter *s = call->state;
    for (int64_t i = 0; i < s->batch && !s->circular; i++) {
        const int64_t index = index_of(job, i);
        if (index < 0 || index > s->most - s->count)
            return ox_call_fail(call, OX_ERROR_VALUE, "%lld rows at index %lld do not fit into the %lld of %s",
                                (long long)s->count, (long long)index, (long long)s->most, OX_INPUT(call, 0));
    }
    return OX_OK;
}

static void write_part(void *context, int part, int parts) {
    const write_job *job = context;
    const ox_call *call = job->call;
    const scatter *s = call->state;
    int64_t i, end;
    ox_pool_range(s->batch * s->each, part, parts, &i, &end);
    for (; i < end; i++) {
        const int64_t index = index_of(job, i / s->each) % s->most, at = index < 0 ? index + s->most : index;
        const int64_t before = ox_least(s->count, s->most - at);
        char *to = (char *)call->out[0]->data + i * s->most * s->row;
        const char *from = (const char *)call->in[1]->data + i * s->count * s->row;
        call->loops->copy_bytes(to + at * s->row, from, (size_t)(before * s->row));
        call->loops->copy_bytes(to, from + before * s->row, (size_t)((s->count - before) * s->row));
    }
}

ox_status ox_run_tensor_scatter(ox_call *call) {
    const scatter *s = call->state;
    size_t used = 0;
    write_job job = {call, ox_list_take(call, &used, 2)};
    OX_TRY(check_indices(&job));
    if (ox_tensor_count(call->out[0]) == 0)
        return OX_OK;
    if (call->in[0]->data != call->out[0]->data || !ox_tensor_is_packed(call->in[0]))
        ox_pack(call->loops, call->pool, call->in[0], call->out[0]->data);
    if (s->count > 0)
        ox_pool_run_pieces(call->pool, (double)ox_tensor_count(call->in[1]) * 8, write_part, &job);
    return OX_OK;
}
