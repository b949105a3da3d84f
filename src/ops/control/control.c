/* control.c: operators that run subgraphs. */
#include "ops/op.h"

/* If (1 ... 25): the outputs are those of one branch; the branch sees the values around it. */
ox_status ox_infer_if(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_BOOL));
    const ox_tensor *condition = call->in[0];
    if (ox_tensor_count(condition) != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "the condition, %s, must have one element", OX_INPUT(call, 0));
    bool taken = ox_tensor_int(condition, 0) != 0;
    const char *name = taken ? "then_branch" : "else_branch";
    const ox_attr *branch = ox_call_attr(call, name, OX_ATTR_GRAPH);
    if (!branch)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' is missing", name);
    const ox_tensor *const *results;
    int count;
    OX_TRY(call->run_graph(call, taken, branch->u.graph, 0, NULL, &results, &count));
    if (count != call->nout)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' has %d outputs, the node has %d", name, count,
                            call->nout);
    for (int k = 0; k < count; k++)
        OX_TRY(ox_call_give(call, k, results[k]));
    return OX_OK;
}
