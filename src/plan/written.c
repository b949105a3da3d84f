/* written.c: types as the model has them (written.h). OX_UNDEFINED is a type that is not known: of results of a node
 * that runs subgraphs, and of what is computed from those. */
#include "written.h"

#if OX_WITH_WIDENING

/* A node that has taken the place of others, of which a session without integer operators runs those of the model. */
static bool is_integer(const ox_frame *frame, const ox_call *call) {
    return ox_graph_written(frame->graph) && call->nin && call->in[0] &&
           (call->in[0]->dtype == OX_UINT8 || call->in[0]->dtype == OX_INT8);
}

static const ox_attr *find_widened(const ox_call *call) {
    for (size_t i = 0; i < call->nattrs; i++)
        if (!ox_text_order(call->attrs[i].name, OX_ATTR_WIDENED))
            return &call->attrs[i];
    return NULL;
}

/* Shows the call its inputs with the types of the model; false if one is not known. The elements have other types, and
 * are not shown. */
static bool show_inputs(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; i < node->nin; i++) {
        const ox_tensor *given = frame->work.in[i];
        const ox_dtype type = given ? frame->work.written[node->in[i]] : OX_UNDEFINED;
        if (!given || type == given->dtype || (type == OX_UNDEFINED && given->dtype != OX_FLOAT))
            continue;
        if (type == OX_UNDEFINED)
            return false;
        frame->work.as_written[i] = (ox_tensor){type, given->rank, given->dims, NULL, NULL};
        frame->work.in[i] = &frame->work.as_written[i];
    }
    return true;
}

static ox_status note_result(ox_frame *frame, int n, int k) {
    const int v = frame->graph->nodes[n].out[k];
    const ox_dtype stated = frame->graph->types_written[v], given = frame->planning.results[k].dtype;
    if (!ox_type_fits(stated, given))
        return ox_fail(frame->error, OX_ERROR_MODEL, "output %d, '%.*s', is of type %s, but the model states %s", k, 60,
                       ox_graph_name(frame->graph, v), OX_TYPE(given), OX_TYPE(stated));
    frame->work.written[v] = given;
    return OX_OK;
}

/* Notes the types that the model states of the results, for those that are not inferred. */
static void note_stated(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int k = 0; k < node->nout; k++)
        if (node->out[k] >= 0)
            frame->work.written[node->out[k]] = frame->graph->types_written[node->out[k]];
}

ox_status ox_written_infer(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    ox_call *call = &frame->work.call;
    const ox_attr *widened = find_widened(call);
    note_stated(frame, n);
    if (widened && node->nout && node->out[0] >= 0)
        frame->work.written[node->out[0]] = (ox_dtype)widened->u.i;
    if (widened || ox_op_has(call->op, OX_OP_CONTROL) || is_integer(frame, call) || !show_inputs(frame, n))
        return OX_OK;
    call->live = false;
    ox_status status = call->op->infer(call);
    if (status == OX_OK)
        status = call->attr_status;
    for (int k = 0; k < node->nout && status == OX_OK; k++)
        if (node->out[k] >= 0 && frame->planning.results[k].dtype != OX_UNDEFINED)
            status = note_result(frame, n, k);
    return status == OX_DEFER ? OX_OK : status;
}

#else

ox_status ox_written_infer(ox_frame *frame, int n) {
    (void)frame, (void)n;
    return OX_OK;
}

#endif
