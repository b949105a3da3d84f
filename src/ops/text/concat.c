/* concat.c: StringConcat. */
#include <string.h>

#include "iterate/walk.h"
#include "ops/dense.h"

ox_status ox_infer_string_concat(ox_call *call) {
    const ox_tensor *x = call->in[0], *y = call->in[1];
    int rank = x->rank;
    int64_t dims[OX_MAX_RANK];
    for (int i = 0; i < 2; i++)
        OX_TRY(ox_call_check_dtype(call, i, OX_BIT(OX_STRING)));
    for (int d = 0; d < rank; d++)
        dims[d] = x->dims[d];
    if (!ox_broadcast_dims(&rank, dims, y->rank, y->dims))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s do not broadcast", OX_INPUT(call, 0), OX_INPUT(call, 1));
    return ox_call_output(call, 0, OX_STRING, rank, dims);
}

ox_status ox_prepare_string_concat(ox_call *call) {
    const ox_tensor *out = call->out[0];
    ox_bcast *plan = ox_call_state(call, sizeof *plan);
    int64_t strides[2][OX_MAX_RANK];
    if (!plan)
        return OX_ERROR_MEMORY;
    for (int i = 0; i < 2; i++)
        ox_broadcast_strides(call->in[i], out->rank, out->dims, strides[i]);
    return ox_plan_space(call, plan, 2, out->rank, out->dims, (const int64_t *const[]){strides[0], strides[1]});
}

static ox_string read_string(const char *from) {
    ox_string s;
    memcpy(&s, from, sizeof s);
    return s;
}

/* Takes bytes for a result, and fills them. */
static bool join(ox_pile *pile, ox_string a, ox_string b, ox_string *result) {
    char *text = a.size <= SIZE_MAX - b.size ? ox_pile_get(pile, a.size + b.size) : NULL;
    if (!text)
        return false;
    if (a.size)
        memcpy(text, a.data, a.size);
    if (b.size)
        memcpy(text + a.size, b.data, b.size);
    *result = (ox_string){text, a.size + b.size};
    return true;
}

ox_status ox_run_string_concat(ox_call *call) {
    const ox_bcast *plan = call->state;
    const char *arg[] = {call->in[0]->data, call->in[1]->data};
    int64_t index[OX_MAX_RANK] = {0}, i = 0;
    ox_string *out = call->out[0]->data;
    do {
        const ox_string a = read_string(arg[0]), b = read_string(arg[1]);
        if (i % 1024 == 0 && ox_pool_poll(call->pool))
            break;
        if (!join(call->strings, a, b, &out[i]))
            return ox_fail_memory(call->error, "a string", a.size <= SIZE_MAX - b.size ? a.size + b.size : SIZE_MAX);
        i++;
    } while (ox_walk(plan, 0, index, arg));
    return OX_OK;
}
