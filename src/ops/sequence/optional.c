/* optional.c: optionals: values that may be missing. */
#include "ops/values.h"

/* Optional (15, 28): of the input, or empty and of the type that the attribute says. */
ox_status ox_infer_optional(ox_call *call) {
    const ox_attr *attr = ox_call_attr(call, "type", OX_ATTR_TYPE);
    const bool given = ox_call_given(call, 0);
    if (!given && !attr)
        return ox_call_fail(call, OX_ERROR_MODEL, "without an input, attribute 'type' must be given");
    const ox_dtype stated = attr ? attr->u.type : OX_UNDEFINED, item = given ? call->in[0]->dtype : stated;
    const ox_kind kind = ox_type_kind(item);
    if (kind != OX_KIND_TENSOR && kind != OX_KIND_SEQUENCE)
        return ox_call_fail(call, OX_ERROR_MODEL, "an optional holds a tensor or a sequence, not %s", OX_TYPE(item));
    if (given && attr && !ox_type_fits(item, stated))
        return ox_call_fail(call, OX_ERROR_MODEL, "%s is not of the type that attribute 'type' says, %s",
                            OX_INPUT(call, 0), OX_TYPE(stated));
    return ox_call_output(call, 0, ox_type_around(OX_KIND_OPTIONAL, OX_UNDEFINED, item), 0, NULL);
}

ox_status ox_run_optional(ox_call *call) {
    const bool given = ox_call_given(call, 0);
    const ox_value **items, *made = ox_make_list(call->strings, call->out[0]->dtype, given, &items);
    if (made && given) {
        items[0] = ox_is_value(call->in[0]->dtype) ? ox_call_held(call, 0) : ox_call_keep(call, 0);
        if (!items[0])
            return OX_ERROR_MEMORY;
    }
    return ox_call_set_value(call, 0, made);
}

/* From version 18 on tensors and sequences count as what is in an optional. */
static ox_status check_optional(ox_call *call, bool *is_optional) {
    const ox_kind kind = ox_type_kind(call->in[0]->dtype);
    *is_optional = kind == OX_KIND_OPTIONAL;
    if (*is_optional || (call->op->since >= 18 && kind != OX_KIND_MAP))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be an optional%s", OX_INPUT(call, 0),
                        call->op->since >= 18 ? ", a tensor or a sequence" : "");
}

ox_status ox_infer_optional_has_element(ox_call *call) {
    bool is_optional;
    if (ox_call_given(call, 0))
        OX_TRY(check_optional(call, &is_optional));
    return ox_call_output(call, 0, OX_BOOL, 0, NULL);
}

ox_status ox_run_optional_has_element(ox_call *call) {
    const bool given = ox_call_given(call, 0);
    const bool is_optional = given && ox_type_kind(call->in[0]->dtype) == OX_KIND_OPTIONAL;
    *(bool *)call->out[0]->data = is_optional ? ox_call_held(call, 0)->count != 0 : given;
    return OX_OK;
}

/* A tensor in an optional is shown where it lies; a sequence in it becomes known in the run. */
ox_status ox_infer_optional_get_element(ox_call *call) {
    const ox_tensor *in = call->in[0];
    const ox_value *value;
    bool is_optional;
    OX_TRY(check_optional(call, &is_optional));
    if (!is_optional) {
        int64_t strides[OX_MAX_RANK];
        ox_tensor_strides(in, strides);
        return ox_call_view(call, 0, 0, 0, in->rank, in->dims, strides);
    }
    const ox_dtype item = ox_type_item(in->dtype);
    if (ox_is_value(item))
        return ox_call_output(call, 0, item, 0, NULL);
    OX_TRY(ox_call_value(call, 0, &value));
    if (!value->count)
        return ox_call_fail(call, OX_ERROR_VALUE, "%s is empty", OX_INPUT(call, 0));
    return ox_call_give(call, 0, &value->items[0]->tensor);
}

ox_status ox_run_optional_get_element(ox_call *call) {
    const ox_value *value = ox_call_held(call, 0);
    if (!value->count)
        return ox_call_fail(call, OX_ERROR_VALUE, "%s is empty", OX_INPUT(call, 0));
    return ox_call_set_value(call, 0, value->items[0]);
}
