/* sequence_map.c: SequenceMap, a body that runs for each item of sequences. */
#include <string.h>

#include "iterate/bcast.h"
#include "ops/control.h"
#include "ops/values.h"

static const ox_attr *find_body(ox_call *call) {
    const ox_attr *body = ox_call_attr(call, "body", OX_ATTR_GRAPH);
    if (!body)
        (void)ox_call_fail(call, OX_ERROR_MODEL, "attribute 'body' is missing");
    return body;
}

static bool is_sequence(const ox_tensor *t) {
    return ox_type_kind(t->dtype) == OX_KIND_SEQUENCE;
}

ox_status ox_infer_sequence_map(ox_call *call) {
    int nin, nout;
    OX_TRY(ox_call_check_kind(call, 0, OX_KIND_SEQUENCE));
    for (int i = 0; i < call->nin; i++) {
        const ox_dtype item = is_sequence(call->in[i]) ? ox_type_item(call->in[i]->dtype) : call->in[i]->dtype;
        if (ox_is_value(item))
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a tensor or a sequence of tensors",
                                OX_INPUT(call, i));
    }
    const ox_attr *body = find_body(call);
    if (!body)
        return OX_ERROR_MODEL;
    call->bodies->ends(body->u.graph, &nin, &nout);
    if (nin != call->nin || nout != call->nout)
        return ox_call_fail(call, OX_ERROR_MODEL, "the body has %d inputs and %d outputs, the node %d and %d", nin,
                            nout, call->nin, call->nout);
    return OX_OK;
}

/* All sequences have as many items as the first one. */
static ox_status check_lengths(const ox_call *call, size_t count) {
    for (int i = 1; i < call->nin; i++)
        if (is_sequence(call->in[i]) && ox_call_held(call, i)->count != count)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s has %zu items, input 0 has %zu", OX_INPUT(call, i),
                                ox_call_held(call, i)->count, count);
    return OX_OK;
}

/* Item `at` of each sequence; where there are no items, what is known of them: their type. */
static ox_status set_inputs(ox_call *call, ox_body *body, size_t at) {
    for (int i = 0; i < call->nin; i++) {
        if (is_sequence(call->in[i])) {
            const ox_tensor none = {.dtype = ox_type_item(call->in[i]->dtype)};
            const ox_value *held = ox_call_held(call, i);
            OX_TRY(call->bodies->set(body, i, at < held->count ? &held->items[at]->tensor : &none));
        } else if (!at) {
            OX_TRY(call->bodies->hand_in(body, i, i));
        }
    }
    return OX_OK;
}

/* A result of the body as an item, which stays until the session runs again. */
static const ox_value *keep_result(ox_call *call, const ox_tensor *result) {
    ox_value *made = ox_make_tensor(call->strings, result->dtype, result->rank, result->dims, NULL);
    if (made && ox_tensor_count(result))
        ox_pack(call->loops, call->pool, result, made->tensor.data);
    return made;
}

static ox_status keep_results(ox_call *call, const ox_body *body, size_t at, const ox_value ***lists) {
    for (int k = 0; k < call->nout; k++) {
        const ox_tensor *result = &body->results[k];
        if (ox_is_value(result->dtype))
            return ox_call_fail(call, OX_ERROR_MODEL, "output %d of the body is of type %s, not a tensor", k,
                                OX_TYPE(result->dtype));
        if (at && lists[k][0]->type != result->dtype)
            return ox_call_fail(call, OX_ERROR_MODEL, "output %d of the body is of type %s, but was of type %s before",
                                k, OX_TYPE(result->dtype), OX_TYPE(lists[k][0]->type));
        lists[k][at] = keep_result(call, result);
        if (!lists[k][at])
            return ox_fail_memory(call->error, "an item of a sequence", sizeof *lists[k][at]);
    }
    return OX_OK;
}

static ox_status give(ox_call *call, ox_body *body, int k, ox_value *list, ox_dtype item) {
    void *room;
    list->type = ox_type_around(OX_KIND_SEQUENCE, OX_UNDEFINED, item);
    OX_TRY(call->bodies->room(body, k, sizeof list, sizeof list, 0, &room));
    memcpy(room, &list, sizeof list);
    return ox_call_give(call, k, &(ox_tensor){list->type, 0, NULL, NULL, room});
}

/* The sequences of results: the item type of an empty one is what the body would give. */
static ox_status give_lists(ox_call *call, ox_body *body, size_t count, ox_value **made, const ox_value ***lists) {
    if (!count)
        OX_TRY(set_inputs(call, body, 0));
    for (int k = 0; k < call->nout; k++) {
        ox_result seen = {0};
        if (!count)
            OX_TRY(call->bodies->foresee(body, k, &seen));
        OX_TRY(give(call, body, k, made[k], count ? lists[k][0]->type : seen.dtype));
    }
    return OX_OK;
}

/* SequenceMap (17). */
ox_status ox_control_sequence_map(ox_call *call) {
    const ox_attr *attr = find_body(call);
    const size_t count = ox_call_held(call, 0)->count, nout = (size_t)call->nout;
    ox_body *body;
    if (!attr)
        return OX_ERROR_MODEL;
    OX_TRY(check_lengths(call, count));
    OX_TRY(call->bodies->open(call, 0, attr->u.graph, call->nout, &body));
    ox_value **made = ox_pile_array(call->strings, nout, sizeof *made);
    const ox_value ***lists = ox_pile_array(call->strings, nout, sizeof *lists);
    for (size_t k = 0; k < nout; k++)
        if (!made || !lists || !(made[k] = ox_make_list(call->strings, OX_UNDEFINED, count, &lists[k])))
            return ox_fail_memory(call->error, "a sequence", count * sizeof(void *));
    for (size_t at = 0; at < count; at++) {
        OX_TRY(set_inputs(call, body, at));
        ox_status status = call->bodies->run(body);
        if (status == OX_OK)
            status = keep_results(call, body, at, lists);
        if (status != OX_OK) {
            ox_error_prefix(call->error, "item %zu: ", at);
            return status;
        }
    }
    return give_lists(call, body, count, made, lists);
}
