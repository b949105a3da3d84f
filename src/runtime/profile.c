/* profile.c: reports the steps of a run to callbacks. */
#include "profile.h"

#include "host.h"

/* ---- Bytes -------------------------------------------------------------------------------------------------- */

static uint64_t packed_bytes(const ox_tensor *tensor) {
    return (uint64_t)ox_tensor_count(tensor) * ox_dtype_size(tensor->dtype);
}

/* Bytes of the elements that lie in memory: those that strides of 0 repeat count once. */
static uint64_t seen_bytes(const ox_tensor *tensor) {
    uint64_t bytes = packed_bytes(tensor);
    for (int d = 0; tensor->strides && d < tensor->rank && bytes; d++)
        if (tensor->strides[d] == 0)
            bytes /= (uint64_t)tensor->dims[d];
    return bytes;
}

static bool is_among(const ox_index *list, int count, int v) {
    for (int i = 0; i < count; i++)
        if (list[i] == v)
            return true;
    return false;
}

static void count_views(const ox_frame *frame, int n, ox_profile_event *event) {
    const ox_step *step = &frame->plan.steps[n];
    for (int k = 0; k < frame->graph->nodes[n].nout; k++)
        if (ox_step_view(step, k) == OX_VIEW_COPIED) {
            event->bytes_read += seen_bytes(&step->outputs[k].seen);
            event->bytes_written += packed_bytes(&step->outputs[k].seen);
        }
}

static void count_packings(const ox_frame *frame, int n, ox_profile_event *event) {
    for (const ox_packing *p = ox_frame_prepared(frame, n)->packings; p; p = p->next) {
        if (p->packed)
            continue;
        event->bytes_read += seen_bytes(p->from);
        event->bytes_written += packed_bytes(&p->to);
    }
}

/* True if the operator looks at the elements of input i. */
static bool reads_data(const ox_op *op, int i) {
    return !(op->flags & OX_OP_SHAPE_ONLY) && !(op->flags & (OX_OP_LIKE | OX_OP_LIST) && i == 1);
}

/* Bytes of input i, as it is packed for the run. */
static uint64_t read_bytes(const ox_frame *frame, int n, const ox_call *call, int i) {
    uint64_t bytes = seen_bytes(call->in[i]);
    for (const ox_packing *p = ox_frame_prepared(frame, n)->packings; p; p = p->next)
        if (p->input == i)
            bytes = packed_bytes(&p->to);
    if (i > 0 || !(call->op->flags & OX_OP_PICKS) || !call->out[0])
        return bytes;
    uint64_t given = packed_bytes(call->out[0]);
    return given < bytes ? given : bytes;
}

static void count_kernel(ox_frame *frame, int n, ox_profile_event *event) {
    const ox_node *node = &frame->graph->nodes[n];
    const ox_step *step = &frame->plan.steps[n];
    const ox_call *call = ox_frame_call(frame, n, NULL);
    for (int i = 0; i < node->nin; i++)
        if (call->in[i] && reads_data(node->op, i) && !is_among(node->in, i, node->in[i]))
            event->bytes_read += read_bytes(frame, n, call, i);
    for (int k = 0; k < node->nout; k++)
        if (call->out[k] && ox_step_view(step, k) == OX_VIEW_NONE)
            event->bytes_written += packed_bytes(call->out[k]);
}

/* True if a member of the group up to m gives value v or, in one of its inputs before number `nin` of m, reads it. */
static bool is_known(const ox_frame *frame, const ox_group *group, int m, int nin, int v) {
    for (int o = group->head; o >= 0 && o <= m; o = frame->plan.members[o].next) {
        const ox_node *node = &frame->graph->nodes[o];
        if ((o < m && node->out[0] == v) || is_among(node->in, o < m ? node->nin : nin, v))
            return true;
    }
    return false;
}

static void count_pass(const ox_frame *frame, const ox_group *group, ox_profile_event *event) {
    for (int m = group->head; m >= 0; m = frame->plan.members[m].next) {
        const ox_node *node = &frame->graph->nodes[m];
        for (int i = 0; i < node->nin; i++)
            if (node->in[i] >= 0 && reads_data(node->op, i) && !is_known(frame, group, m, i, node->in[i]))
                event->bytes_read += seen_bytes(&ox_frame_slot(frame, node->in[i])->tensor);
        if (frame->plan.members[m].stores)
            event->bytes_written += packed_bytes(&ox_frame_own(frame, node->out[0])->tensor);
    }
}

/* ---- Events ------------------------------------------------------------------------------------------------- */

const char *ox_step_kind_name(ox_step_kind kind) {
    static const char *const names[] = {"kernel", "pass", "view", "copy", "control"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static ox_step_kind kind_of(const ox_frame *frame, int n) {
    const ox_step *step = &frame->plan.steps[n];
    const ox_node *node = &frame->graph->nodes[n];
    const ox_group *group = ox_frame_group(frame, n);
    if (node->op->flags & OX_OP_CONTROL)
        return OX_STEP_CONTROL;
    if (group && group->dense < 0)
        return group->count > 1 ? OX_STEP_PASS : OX_STEP_KERNEL;
    if (group || step->runs)
        return OX_STEP_KERNEL;
    for (int k = 0; k < node->nout; k++)
        if (ox_step_view(step, k) == OX_VIEW_COPIED)
            return OX_STEP_COPY;
    return OX_STEP_VIEW;
}

static void count_bytes(ox_frame *frame, int n, ox_profile_event *event) {
    const ox_step *step = &frame->plan.steps[n];
    const ox_group *group = ox_frame_group(frame, n);
    if (group) {
        if (group->dense >= 0)
            count_packings(frame, group->dense, event);
        count_pass(frame, group, event);
    } else if (event->kind != OX_STEP_CONTROL) {
        count_packings(frame, n, event);
        count_views(frame, n, event);
        if (step->runs)
            count_kernel(frame, n, event);
    }
}

static int depth_of(const ox_frame *frame) {
    int depth = 0;
    while ((frame = frame->outer) != NULL)
        depth++;
    return depth;
}

static ox_profile_node describe_node(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    bool named = node->nout && node->out[0] >= 0;
    return (ox_profile_node){.name = ox_graph_node_name(frame->graph, n),
                             .output = named ? ox_graph_name(frame->graph, node->out[0]) : "",
                             .domain = node->op->domain,
                             .op = node->op->name};
}

static void announce(const ox_frame *frame, int n) {
    ox_progress progress = {.depth = depth_of(frame),
                            .done = (size_t)n,
                            .total = (size_t)frame->graph->nnodes,
                            .node = describe_node(frame, n)};
    frame->profile->progress(frame->profile->progress_context, &progress);
}

ox_status ox_profile_step(ox_frame *frame, int n, ox_status (*run)(ox_frame *frame, int n)) {
    const ox_step *step = &frame->plan.steps[n];
    const ox_group *group = ox_frame_group(frame, n);
    if (frame->profile->progress)
        announce(frame, n);
    if (!frame->profile->callback)
        return run(frame, n);
    uint64_t start = ox_host_now();
    OX_TRY(run(frame, n));
    uint64_t end = ox_host_now();
    ox_profile_event event = {.kind = kind_of(frame, n),
                              .depth = depth_of(frame),
                              .node_count = group ? (size_t)group->count : 1,
                              .start_ns = start,
                              .duration_ns = end - start,
                              .step = step,
                              .frame = frame};
    count_bytes(frame, n, &event);
    frame->profile->callback(frame->profile->context, &event);
    return OX_OK;
}

ox_status ox_profile_event_node(const ox_profile_event *event, size_t index, ox_profile_node *result) {
    if (!event || !event->step || !event->frame || !result || index >= event->node_count)
        return OX_ERROR_ARGUMENT;
    const ox_step *step = event->step;
    const ox_frame *frame = event->frame;
    int n = (int)(step - frame->plan.steps);
    const ox_group *group = ox_frame_group(frame, n);
    n = group ? group->head : n;
    for (size_t i = 0; i < index && n >= 0; i++)
        n = group ? frame->plan.members[n].next : -1;
    if (n < 0) /* the event says that it has more nodes than there are */
        return OX_ERROR_ARGUMENT;
    *result = describe_node(frame, n);
    return OX_OK;
}
