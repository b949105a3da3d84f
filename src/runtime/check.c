/* check.c: the self-check of a run, step by step. */
#include "check.h"

#include "type.h"
#include "plan/step_run.h"
#include "check_bounds.h"
#include "check_copy.h"
#include "check_node.h"

#if OX_WITH_SELF_CHECK

/* ---- Members of a step -------------------------------------------------------------------------------------- */

static int first_member(const ox_frame *frame, int n) {
    const ox_group *group = ox_frame_group(frame, n);
    return group ? group->head : n;
}

static int next_member(const ox_frame *frame, int m) {
    return ox_frame_group(frame, m) ? frame->plan.members[m].next : -1;
}

/* Whether output k of member m is in memory after the step. */
static bool is_stored(const ox_frame *frame, int m, int k) {
    const int v = frame->graph->nodes[m].out[k];
    if (v < 0 || ox_frame_own(frame, v)->constant || ox_step_view(&frame->plan.steps[m], k) == OX_VIEW_GIVEN)
        return false;
    return !ox_frame_group(frame, m) || frame->plan.members[m].stores;
}

/* Whether a node can be computed twice, with the same results. */
static bool has_second_way(const ox_frame *frame, int m) {
    const ox_node *node = &frame->graph->nodes[m];
    bool tensors = !(node->op->flags & (OX_OP_RANDOM | OX_OP_CONTROL));
    for (int k = 0; k < node->nout; k++)
        tensors &= node->out[k] < 0 || !ox_is_value(ox_frame_own(frame, node->out[k])->tensor.dtype);
    return tensors;
}

/* ---- Errors ------------------------------------------------------------------------------------------------- */

/* "; step 7 is Conv 'c', Add 'a'"; -1 is the end of the run. */
static void name_step(ox_frame *frame, int n) {
    char text[160];
    if (n < 0)
        return;
    size_t used = ox_format(text, sizeof text, "; step %d is", n);
    for (int m = first_member(frame, n); m >= 0 && used + 1 < sizeof text; m = next_member(frame, m)) {
        const char *name = ox_graph_node_name(frame->graph, m);
        used += ox_format(text + used, sizeof text - used, *name ? " %.*s '%.*s'" : " %.*s%.*s", 20,
                          frame->graph->nodes[m].op->name, 20, name);
    }
    ox_error *error = frame->error;
    if (error) {
        const size_t size = ox_text_size(error->text, OX_ERROR_TEXT);
        ox_format(error->text + size, OX_ERROR_TEXT - size, "%s", text);
    }
}

/* Two tensors at odds; `way` says how the second one came to be. */
static ox_status fail_differing(ox_frame *frame, int n, int m, const char *what, int v, const ox_tensor *got,
                                const ox_tensor *wanted, int64_t i, const char *way) {
    ox_status status =
        ox_fail(frame->error, OX_ERROR_CHECK, "check failed: %s '%.*s', element %s is %s, but %s %s", what, 60,
                ox_graph_name(frame->graph, v), ox_differ_index(&(ox_dims_buffer){{0}}, got, i),
                ox_differ_element(&(ox_element_buffer){{0}}, got, i),
                ox_differ_element(&(ox_element_buffer){{0}}, wanted, i), way);
    name_step(frame, n);
    return m < 0 ? status : ox_frame_explain(frame, m, status);
}

/* Compares value v, a result of member m of step n, with what another way gave. */
static ox_status compare(ox_frame *frame, int n, int m, int v, const ox_tensor *got, const ox_tensor *wanted,
                         const ox_tolerance *bound, const char *way) {
    if (got->dtype != wanted->dtype || !ox_same_dims(got->rank, got->dims, wanted->rank, wanted->dims)) {
        ox_status status =
            ox_fail(frame->error, OX_ERROR_CHECK, "check failed: output '%.*s' is %s %s, but %s %s %s", 60,
                    ox_graph_name(frame->graph, v), ox_dtype_name(got->dtype), OX_DIMS(got->rank, got->dims),
                    ox_dtype_name(wanted->dtype), OX_DIMS(wanted->rank, wanted->dims), way);
        name_step(frame, n);
        return ox_frame_explain(frame, m, status);
    }
    ox_pile *pile = &frame->checking.second->plan.pile;
    const ox_tensor a = ox_copy_packed(frame, pile, got), b = ox_copy_packed(frame, pile, wanted);
    if (!a.data || !b.data)
        return ox_fail_memory(frame->error, "the check of a run", (size_t)ox_tensor_count(got));
    const int64_t i = ox_differ(&a, &b, bound);
    return i < 0 ? OX_OK : fail_differing(frame, n, m, "output", v, &a, &b, i, way);
}

/* A second way failed where the first one did not: so do they differ. */
static ox_status fail_way(ox_frame *frame, ox_status status, const char *way) {
    if (status == OX_ERROR_MEMORY || status == OX_ERROR_LIMIT || status == OX_ERROR_CANCELLED || status == OX_OK)
        return status;
    ox_error_prefix(frame->error, "check failed: a node that succeeded fails when computed again %s: ", way);
    if (frame->error)
        frame->error->status = OX_ERROR_CHECK;
    return OX_ERROR_CHECK;
}

/* ---- Inputs ------------------------------------------------------------------------------------------------- */

/* Whether step n reads value v, input of member m, from memory that may change. */
static bool is_read(const ox_frame *frame, int m, int v) {
    return v >= 0 && !ox_graph_weight(frame->graph, v) && !ox_frame_own(frame, v)->constant &&
           !(frame->graph->nodes[m].op->flags & OX_OP_SHAPE_ONLY) && !frame->checking.copies[v].is_fresh;
}

/* Value v is as it was when it was written; what comes from outside is copied where it is read first. */
static ox_status check_value(ox_frame *frame, int n, int m, int v) {
    ox_copy *copy = &frame->checking.copies[v];
    const ox_tensor *tensor = &ox_frame_own(frame, v)->tensor;
    if (!copy->block)
        return ox_copy_take(frame, v);
    ox_pile *pile = &frame->checking.second->plan.pile;
    const ox_pile_mark mark = ox_pile_save(pile);
    const ox_tensor now = ox_copy_packed(frame, pile, tensor), then = ox_copy_packed(frame, pile, &copy->tensor);
    ox_status status = now.data && then.data ? OX_OK : ox_fail_memory(frame->error, "the check of a run", 0);
    const int64_t i = status == OX_OK ? ox_differ(&now, &then, &(ox_tolerance){0}) : -1;
    if (i >= 0)
        status = fail_differing(frame, n, m, "value", v, &now, &then, i, "when it was written");
    ox_pile_restore(pile, mark);
    return status;
}

static ox_status check_inputs(ox_frame *frame, int n) {
    ox_status status = OX_OK;
    int m = first_member(frame, n);
    for (; m >= 0 && status == OX_OK; m = next_member(frame, m)) {
        const ox_node *node = &frame->graph->nodes[m];
        for (int i = 0; i < node->nin && status == OX_OK; i++)
            if (is_read(frame, m, node->in[i]))
                status = check_value(frame, n, m, node->in[i]);
        for (int k = 0; k < node->nout; k++)
            if (node->out[k] >= 0)
                frame->checking.copies[node->out[k]].is_fresh = true;
    }
    return status;
}

ox_status ox_check_reads(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    ox_status status = OX_OK;
    for (int i = 0; i < ox_node_named(node) && status == OX_OK; i++) {
        const int v = ox_node_value(node, i);
        if (v >= 0 && !ox_graph_weight(frame->graph, v) && !ox_frame_own(frame, v)->constant &&
            frame->checking.copies[v].block)
            status = check_value(frame, n, n, v);
    }
    return status;
}

/* ---- Outputs ------------------------------------------------------------------------------------------------ */

/* Compares the results of node m by the plain algorithms with those of the node alone, which the slots of its outputs
 * have before and after this. */
static ox_status check_plain(ox_frame *frame, int n, int m) {
    const ox_node *node = &frame->graph->nodes[m];
    ox_frame *second = frame->checking.second;
    ox_tensor *alone = ox_pile_array(&second->plan.pile, (size_t)node->nout + 1, sizeof *alone);
    ox_tolerance bound;
    if (!alone)
        return ox_fail_memory(frame->error, "the check of a run", (size_t)node->nout * sizeof *alone);
    for (int k = 0; k < node->nout; k++)
        if (node->out[k] >= 0)
            alone[k] = ox_frame_own(second, node->out[k])->tensor;
    OX_TRY(ox_check_bound(frame, m, &bound));
    OX_TRY(fail_way(frame, ox_check_plain(frame, m), "by the plain way"));
    for (int k = 0; k < node->nout; k++) {
        const ox_tensor plain = node->out[k] < 0 ? *alone : ox_frame_own(second, node->out[k])->tensor;
        if (node->out[k] < 0)
            continue;
        ox_frame_own(second, node->out[k])->tensor = alone[k];
        OX_TRY(compare(frame, n, m, node->out[k], &alone[k], &plain, &bound, "by the plain way"));
    }
    return OX_OK;
}

/* Member m of step n, by itself. */
static ox_status check_member(ox_frame *frame, int n, int m) {
    const ox_node *node = &frame->graph->nodes[m];
    ox_check_inputs(frame, m);
    OX_TRY(fail_way(frame, ox_check_alone(frame, m), "by itself"));
    for (int k = 0; k < node->nout; k++)
        if (is_stored(frame, m, k))
            OX_TRY(compare(frame, n, m, node->out[k], &ox_frame_own(frame, node->out[k])->tensor,
                           &ox_frame_own(frame->checking.second, node->out[k])->tensor, &(ox_tolerance){0},
                           "by the node alone"));
    return check_plain(frame, n, m);
}

static ox_status check_outputs(ox_frame *frame, int n) {
    for (int m = first_member(frame, n); m >= 0; m = next_member(frame, m)) {
        if (ox_pool_poll(frame->pool))
            return ox_frame_cancelled(frame, m);
        if (has_second_way(frame, m))
            OX_TRY(check_member(frame, n, m));
    }
    return OX_OK;
}

/* ---- Steps -------------------------------------------------------------------------------------------------- */

/* After a step: copies its results, and drops copies of values without further readers. */
static ox_status renew_copies(ox_frame *frame, int n) {
    ox_copy *copies = frame->checking.copies;
    for (int m = first_member(frame, n); m >= 0; m = next_member(frame, m)) {
        const ox_node *node = &frame->graph->nodes[m];
        for (int k = 0; k < node->nout; k++)
            if (is_stored(frame, m, k))
                OX_TRY(ox_copy_take(frame, node->out[k]));
        for (int i = 0; i < node->nin; i++)
            if (node->in[i] >= 0 && !--copies[node->in[i]].unread)
                ox_copy_drop(frame, node->in[i]);
    }
    return OX_OK;
}

static void end_step(ox_frame *frame, int n) {
    for (int m = first_member(frame, n); m >= 0; m = next_member(frame, m))
        for (int k = 0; k < frame->graph->nodes[m].nout; k++)
            if (frame->graph->nodes[m].out[k] >= 0)
                frame->checking.copies[frame->graph->nodes[m].out[k]].is_fresh = false;
    ox_pile_free(&frame->checking.second->plan.pile);
}

ox_status ox_check_step(ox_frame *frame, int n) {
    ox_status status = check_inputs(frame, n);
    if (status == OX_OK)
        status = ox_step_run(frame, n);
    if (status == OX_OK)
        status = check_outputs(frame, n);
    if (status == OX_OK)
        status = renew_copies(frame, n);
    end_step(frame, n);
    return status;
}

static int giver_of(const ox_graph *graph, int v) {
    for (int n = 0; n < graph->nnodes; n++)
        for (int k = 0; k < graph->nodes[n].nout; k++)
            if (graph->nodes[n].out[k] == v)
                return n;
    return -1;
}

/* ---- Runs --------------------------------------------------------------------------------------------------- */

ox_status ox_check_begin(ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    if (!frame->checking.second)
        OX_TRY(ox_check_create(frame));
    ox_pile_free(&frame->checking.second->text);
    for (int v = 0; v < graph->nvalues; v++) {
        ox_copy_drop(frame, v);
        frame->checking.copies[v].unread = 0;
    }
    for (int n = 0; n < graph->nnodes; n++)
        for (int i = 0; i < ox_node_named(&graph->nodes[n]); i++)
            if (ox_node_value(&graph->nodes[n], i) >= 0)
                frame->checking.copies[ox_node_value(&graph->nodes[n], i)].unread++;
    for (int i = 0; i < graph->noutputs; i++)
        frame->checking.copies[graph->outputs[i].value].unread++;
    return OX_OK;
}

ox_status ox_check_end(ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    ox_status status = OX_OK;
    for (int i = 0; i < graph->noutputs && status == OX_OK; i++)
        if (frame->checking.copies[graph->outputs[i].value].block)
            status = check_value(frame, -1, giver_of(graph, graph->outputs[i].value), graph->outputs[i].value);
    for (int v = 0; v < graph->nvalues; v++)
        ox_copy_drop(frame, v);
    return status;
}

#endif
