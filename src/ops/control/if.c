/* if.c: If, one of two subgraphs. */
#include "iterate/bcast.h"
#include "ops/control.h"

/* If (1 ... 25): the outputs are those of one branch; the branch sees the values around it. */
ox_status ox_infer_if(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_BOOL));
    if (ox_tensor_count(call->in[0]) != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "the condition, %s, must have one element", OX_INPUT(call, 0));
    return OX_OK;
}

/* Gives output k of the branch: a value around it that it hands on is copied, for it may not live as long. */
static ox_status give(ox_call *call, ox_body *body, int k) {
    const ox_tensor *result = &body->results[k];
    if (!call->bodies->borrows(body, k))
        return ox_call_give(call, k, result);
    const size_t bytes = (size_t)ox_tensor_count(result) * ox_dtype_size(result->dtype);
    ox_tensor copy = {result->dtype, result->rank, result->dims, NULL, NULL};
    OX_TRY(call->bodies->room(body, k, bytes, bytes, 0, &copy.data));
    ox_pack(call->loops, call->pool, result, copy.data);
    return ox_call_give(call, k, &copy);
}

ox_status ox_control_if(ox_call *call) {
    const bool taken = ox_tensor_int(call->in[0], 0) != 0;
    const char *name = taken ? "then_branch" : "else_branch";
    const ox_attr *branch = ox_call_attr(call, name, OX_ATTR_GRAPH);
    int nin, nout;
    ox_body *body;
    if (!branch)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' is missing", name);
    call->bodies->ends(branch->u.graph, &nin, &nout);
    if (nin || nout != call->nout)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' has %d inputs and %d outputs, the node has 0 and %d",
                            name, nin, nout, call->nout);
    OX_TRY(call->bodies->open(call, taken, branch->u.graph, nout, &body));
    OX_TRY(call->bodies->run(body));
    for (int k = 0; k < nout; k++)
        OX_TRY(give(call, body, k));
    return OX_OK;
}
