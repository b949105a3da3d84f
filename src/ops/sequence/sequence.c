/* sequence.c: making sequences, and taking them apart by position. */
#include "ops/values.h"

static ox_status sequence_output(ox_call *call, ox_dtype item) {
    return ox_call_output(call, 0, ox_type_around(OX_KIND_SEQUENCE, OX_UNDEFINED, item), 0, NULL);
}

ox_status ox_infer_sequence_empty(ox_call *call) {
    const int64_t dtype = ox_call_int(call, "dtype", OX_FLOAT);
    if (dtype <= OX_UNDEFINED || dtype >= OX_DTYPE_COUNT)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "attribute 'dtype': element type %lld is not known",
                            (long long)dtype);
    return sequence_output(call, (ox_dtype)dtype);
}

ox_status ox_run_sequence_empty(ox_call *call) {
    const ox_value **items;
    return ox_call_set_value(call, 0, ox_make_list(call->strings, call->out[0]->dtype, 0, &items));
}

ox_status ox_infer_sequence_construct(ox_call *call) {
    for (int i = 0; i < call->nin; i++)
        if (ox_is_value(call->in[i]->dtype))
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a tensor", OX_INPUT(call, i));
    OX_TRY(ox_call_check_same(call, 0, call->nin - 1));
    return sequence_output(call, call->in[0]->dtype);
}

ox_status ox_run_sequence_construct(ox_call *call) {
    const ox_value **items, *made = ox_make_list(call->strings, call->out[0]->dtype, (size_t)call->nin, &items);
    for (int i = 0; made && i < call->nin; i++) {
        items[i] = ox_call_keep(call, i);
        if (!items[i])
            return OX_ERROR_MEMORY;
    }
    return ox_call_set_value(call, 0, made);
}

ox_status ox_infer_sequence_insert(ox_call *call) {
    OX_TRY(ox_call_check_kind(call, 0, OX_KIND_SEQUENCE));
    const ox_dtype given = call->in[1]->dtype, item = ox_type_item(call->in[0]->dtype);
    if (ox_is_value(given) || !ox_type_fits(item, given))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s does not belong into %s", OX_INPUT(call, 1), OX_INPUT(call, 0));
    if (ox_call_given(call, 2))
        OX_TRY(ox_call_check_position(call, 2));
    return sequence_output(call, given);
}

ox_status ox_run_sequence_insert(ox_call *call) {
    const ox_value *list = ox_call_held(call, 0), *item;
    size_t at;
    OX_TRY(ox_call_position(call, 2, list->count, list->count, &at));
    if (list->count >= OX_MAX_ITEMS)
        return ox_call_fail(call, OX_ERROR_LIMIT, "a sequence has at most %zu items", (size_t)OX_MAX_ITEMS);
    item = ox_call_keep(call, 1);
    return item ? ox_call_set_value(call, 0, ox_list_insert(call->strings, list, at, item)) : OX_ERROR_MEMORY;
}

ox_status ox_infer_sequence_erase(ox_call *call) {
    OX_TRY(ox_call_check_kind(call, 0, OX_KIND_SEQUENCE));
    if (ox_call_given(call, 1))
        OX_TRY(ox_call_check_position(call, 1));
    return ox_call_output(call, 0, call->in[0]->dtype, 0, NULL);
}

/* Position of an item that is there. */
static ox_status item_position(const ox_call *call, const ox_value *list, size_t *at) {
    if (!list->count)
        return ox_call_fail(call, OX_ERROR_VALUE, "%s is empty", OX_INPUT(call, 0));
    return ox_call_position(call, 1, list->count, list->count - 1, at);
}

ox_status ox_run_sequence_erase(ox_call *call) {
    const ox_value *list = ox_call_held(call, 0);
    size_t at;
    OX_TRY(item_position(call, list, &at));
    return ox_call_set_value(call, 0, ox_list_erase(call->strings, list, at));
}

ox_status ox_infer_sequence_at(ox_call *call) {
    const ox_value *list;
    size_t at;
    OX_TRY(ox_call_check_kind(call, 0, OX_KIND_SEQUENCE));
    OX_TRY(ox_call_check_position(call, 1));
    OX_TRY(ox_call_value(call, 0, &list));
    OX_TRY(item_position(call, list, &at));
    return ox_call_give(call, 0, &list->items[at]->tensor);
}

ox_status ox_infer_sequence_length(ox_call *call) {
    OX_TRY(ox_call_check_kind(call, 0, OX_KIND_SEQUENCE));
    return ox_call_output(call, 0, OX_INT64, 0, NULL);
}

ox_status ox_run_sequence_length(ox_call *call) {
    *(int64_t *)call->out[0]->data = (int64_t)ox_call_held(call, 0)->count;
    return OX_OK;
}
