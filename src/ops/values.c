/* values.c: operators' inputs and outputs that are no tensors. */
#include "values.h"

#include <string.h>

#include "iterate/bcast.h"

ox_status ox_call_check_kind(ox_call *call, int i, ox_kind kind) {
    if (ox_type_kind(call->in[i]->dtype) == kind)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be %s", OX_INPUT(call, i), ox_kind_text(kind));
}

ox_status ox_call_check_position(ox_call *call, int i) {
    OX_TRY(ox_call_check_dtype(call, i, OX_BIT(OX_INT32) | OX_BIT(OX_INT64)));
    if (call->in[i]->rank > 1 || ox_tensor_count(call->in[i]) != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "the position, %s, must have one element", OX_INPUT(call, i));
    return OX_OK;
}

ox_status ox_call_value(ox_call *call, int i, const ox_value **value) {
    if (!call->live)
        return OX_DEFER;
    *value = ox_value_in(call->in[i]);
    return OX_OK;
}

ox_status ox_call_position(const ox_call *call, int i, size_t count, size_t most, size_t *position) {
    int64_t at = ox_call_given(call, i) ? ox_tensor_int(call->in[i], 0) : (int64_t)most;
    if (at < -(int64_t)count || at > (int64_t)most)
        return ox_call_fail(call, OX_ERROR_VALUE, "position %lld is out of range for a sequence of %zu (%lld to %lld)",
                            (long long)at, count, -(long long)count, (long long)most);
    *position = (size_t)(at < 0 ? at + (int64_t)count : at);
    return OX_OK;
}

ox_status ox_prepare_keep(ox_call *call) {
    uint64_t *weights = ox_call_state(call, sizeof *weights);
    if (!weights)
        return OX_ERROR_MEMORY;
    *weights = call->weights;
    return OX_OK;
}

const ox_value *ox_call_keep(ox_call *call, int i) {
    const ox_tensor *from = call->in[i];
    const uint64_t *weights = call->state;
    const bool stays = i < 64 && *weights >> i & 1 && ox_tensor_is_packed(from) && from->data;
    ox_value *made = ox_make_tensor(call->strings, from->dtype, from->rank, from->dims, stays ? from->data : NULL);
    if (!made)
        ox_fail_memory(call->error, "an item of a sequence",
                       (size_t)ox_tensor_count(from) * ox_dtype_size(from->dtype));
    else if (!stays && ox_tensor_count(from))
        ox_pack(call->loops, call->pool, from, made->tensor.data);
    return made;
}

const ox_value *ox_call_held(const ox_call *call, int i) {
    return ox_value_in(call->in[i]);
}

ox_status ox_call_set_value(ox_call *call, int k, const ox_value *value) {
    if (!value)
        return ox_fail_memory(call->error, "a sequence", sizeof *value);
    memcpy(call->out[k]->data, &value, sizeof value);
    return OX_OK;
}
