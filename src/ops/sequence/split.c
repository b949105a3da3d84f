/* split.c: SplitToSequence: parts of a tensor along an axis. */
#include "iterate/bcast.h"
#include "ops/values.h"

#include <string.h>

typedef struct parts {
    int axis;
    bool squeezed;  /* each part is one element of the axis, which it loses */
    int64_t length; /* of all parts but the last; 0 if a list says */
    int64_t count;  /* of parts */
    const ox_tensor *list;
} parts;

/* What is known before the run. */
static ox_status read_parts(ox_call *call, parts *p) {
    const bool given = ox_call_given(call, 1);
    *p = (parts){.length = 1, .squeezed = !given && !ox_call_int(call, "keepdims", 1)};
    if (ox_is_value(call->in[0]->dtype))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a tensor", OX_INPUT(call, 0));
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), call->in[0]->rank, &p->axis));
    if (!given)
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT32) | OX_BIT(OX_INT64)));
    if (call->in[1]->rank > 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a scalar or a list", OX_INPUT(call, 1));
    p->list = call->in[1]->rank ? call->in[1] : NULL;
    return OX_OK;
}

ox_status ox_infer_split_to_sequence(ox_call *call) {
    parts p;
    OX_TRY(read_parts(call, &p));
    return ox_call_output(call, 0, ox_type_around(OX_KIND_SEQUENCE, OX_UNDEFINED, call->in[0]->dtype), 0, NULL);
}

static ox_status check_list(const ox_call *call, const parts *p) {
    const int64_t size = call->in[0]->dims[p->axis];
    int64_t sum = 0;
    for (int64_t i = 0; i < p->count; i++) {
        const int64_t part = ox_tensor_int(p->list, i);
        if (part < 0)
            return ox_call_fail(call, OX_ERROR_VALUE, "%s must hold no negative numbers, but has %lld",
                                OX_INPUT(call, 1), (long long)part);
        sum = ox_add_i64(sum, part, &sum) ? sum : INT64_MAX;
    }
    if (sum == size)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_VALUE, "the parts in %s must sum up to %lld, the size of axis %d",
                        OX_INPUT(call, 1), (long long)size, p->axis);
}

/* What the data says, and how many parts there are. */
static ox_status count_parts(const ox_call *call, parts *p) {
    const int64_t size = call->in[0]->dims[p->axis];
    if (ox_call_given(call, 1) && !p->list)
        p->length = ox_tensor_int(call->in[1], 0);
    if (p->length <= 0)
        return ox_call_fail(call, OX_ERROR_VALUE, "the size of the parts must be positive, not %lld",
                            (long long)p->length);
    p->count = p->list ? p->list->dims[0] : size / p->length + (size % p->length != 0);
    if ((uint64_t)p->count > OX_MAX_ITEMS)
        return ox_call_fail(call, OX_ERROR_LIMIT, "%lld parts are too many, a sequence has at most %zu items",
                            (long long)p->count, (size_t)OX_MAX_ITEMS);
    return p->list ? check_list(call, p) : OX_OK;
}

/* The size of part i, read again: the list may have changed since it was checked. */
static int64_t read_part(const parts *p, int64_t i, int64_t left) {
    const int64_t part = p->list ? ox_tensor_int(p->list, i) : p->length;
    return part < 0 ? 0 : ox_least(part, left);
}

/* The part from element `at` of the axis on. */
static const ox_value *make_part(ox_call *call, const parts *p, int64_t at, int64_t size) {
    const ox_tensor *x = call->in[0];
    int64_t dims[OX_MAX_RANK], strides[OX_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < x->rank; d++) {
        if (d == p->axis && p->squeezed)
            continue;
        dims[rank] = d == p->axis ? size : x->dims[d];
        strides[rank++] = ox_stride(x, d);
    }
    ox_value *made = ox_make_tensor(call->strings, x->dtype, rank, dims, NULL);
    const ox_tensor part = {x->dtype, rank, dims, strides, (char *)x->data + at * ox_stride(x, p->axis)};
    if (made && ox_tensor_count(&part))
        ox_pack(call->loops, call->pool, &part, made->tensor.data);
    return made;
}

ox_status ox_run_split_to_sequence(ox_call *call) {
    const ox_value **items;
    parts p;
    OX_TRY(read_parts(call, &p));
    OX_TRY(count_parts(call, &p));
    const ox_value *made = ox_make_list(call->strings, call->out[0]->dtype, (size_t)p.count, &items);
    const int64_t size = call->in[0]->dims[p.axis];
    for (int64_t i = 0, at = 0; made && i < p.count && !ox_pool_poll(call->pool); i++) {
        const int64_t part = read_part(&p, i, size - at);
        items[i] = make_part(call, &p, at, part);
        if (!items[i])
            return ox_fail_memory(call->error, "an item of a sequence", (size_t)part);
        at += part;
    }
    return ox_call_set_value(call, 0, made);
}
