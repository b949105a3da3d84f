/* axes.c: lists of axes. */
#include "axes.h"

#include <string.h>

ox_status ox_list_attr(ox_call *call, const char *name, ox_short_list *list) {
    size_t count;
    const int64_t *values = ox_call_ints(call, name, &count);
    if (count > OX_MAX_RANK)
        return ox_call_fail(call, OX_ERROR_LIMIT, "attribute '%s' has %zu values, at most %d are supported", name,
                            count, OX_MAX_RANK);
    list->given = ox_call_has(call, name);
    list->count = (int)count;
    if (count)
        memcpy(list->value, values, count * sizeof *values);
    return OX_OK;
}

static ox_status read_input(ox_call *call, int i, ox_dtypes types, ox_short_list *list) {
    list->count = 0;
    list->given = ox_call_given(call, i);
    if (!list->given)
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, i, types));
    return ox_call_int_list(call, i, list->value, OX_MAX_RANK, &list->count);
}

ox_status ox_list_input(ox_call *call, int i, ox_dtypes types, ox_short_list *list) {
    if (ox_call_given(call, i) && call->in[i]->rank != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a list", OX_INPUT(call, i));
    return read_input(call, i, types, list);
}

ox_status ox_list_axes(ox_call *call, ox_short_list *list) {
    return ox_op_takes(call->op, 1) ? read_input(call, 1, OX_BIT(OX_INT64), list) : ox_list_attr(call, "axes", list);
}

ox_status ox_axes_set(ox_call *call, const ox_short_list *list, int rank, ox_axis_set *set) {
    *set = 0;
    for (int i = 0; i < list->count; i++) {
        int axis;
        OX_TRY(ox_call_axis(call, "axis", list->value[i], rank, &axis));
        *set |= OX_AXIS(axis);
    }
    return OX_OK;
}

ox_status ox_axes_distinct(ox_call *call, ox_short_list *list, int rank, const char *done) {
    ox_axis_set seen = 0;
    if (!list->given)
        for (list->count = 0; list->count < rank; list->count++)
            list->value[list->count] = list->count;
    for (int i = 0; i < list->count; i++) {
        int axis;
        OX_TRY(ox_call_axis(call, "axis", list->value[i], rank, &axis));
        if (seen & OX_AXIS(axis))
            return ox_call_fail(call, OX_ERROR_SHAPE, "axis %d is %s twice", axis, done);
        seen |= OX_AXIS(axis);
        list->value[i] = axis;
    }
    return OX_OK;
}
