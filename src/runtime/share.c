/* share.c: which values lie in the same buffer: views in that of what they show, results in that of an input that
 * nobody reads any more. */
#include "frame.h"

static void live_until(ox_frame *frame, int owner, int position) {
    if (owner >= 0 && frame->slots[owner].dies < position)
        frame->slots[owner].dies = position;
}

static void own_buffer(ox_frame *frame, int v, int n) {
    ox_slot *slot = &frame->slots[v];
    slot->owner = v;
    slot->born = n;
    slot->dies = slot->read_until > n ? slot->read_until : n; /* a result that nobody reads is written all the same */
}

static int owner_of_input(const ox_frame *frame, const ox_node *node, int i) {
    return node->in[i] < 0 ? -1 : frame->slots[node->in[i]].owner;
}

/* True if slot `in` is the whole of its buffer, element for element what `out` will be. */
static bool same_elements(const ox_frame *frame, const ox_slot *in, const ox_slot *out) {
    return frame->slots[in->owner].bytes == out->bytes && ox_tensor_is_packed(&in->tensor) &&
           ox_dtype_size(in->tensor.dtype) == ox_dtype_size(out->tensor.dtype) &&
           ox_same_dims(in->tensor.rank, in->tensor.dims, out->tensor.rank, out->tensor.dims);
}

/* True if node m reads the buffer in another way than as value v. */
static bool reads_otherwise(const ox_frame *frame, int m, int v) {
    const ox_node *node = &frame->graph->nodes[m];
    for (int i = 0; i < node->nin; i++)
        if (node->in[i] != v && owner_of_input(frame, node, i) == frame->slots[v].owner)
            return true;
    return false;
}

static bool reads(const ox_frame *frame, int m, int v) {
    const ox_node *node = &frame->graph->nodes[m];
    for (int i = 0; i < node->nin; i++)
        if (node->in[i] == v)
            return true;
    return false;
}

/* True if node m, run in the place of node n, may write its output over input i. Within a group all members go over the
 * same tile in turn: those before may read the buffer only element for element, those after not at all, and neither may
 * a dense node. */
static bool can_replace(const ox_frame *frame, int n, int m, int i) {
    const ox_node *node = &frame->graph->nodes[m];
    int v = node->in[i], owner = owner_of_input(frame, node, i);
    if (owner < 0 || frame->slots[owner].dies != n ||
        !same_elements(frame, &frame->slots[v], &frame->slots[node->out[0]]))
        return false;
    const ox_group *group = ox_step_group(&frame->steps[m]);
    const ox_step *dense = ox_step_dense(&frame->steps[m]);
    for (int o = group ? group->head : m; o >= 0; o = group ? frame->steps[o].next_member : -1)
        if (reads_otherwise(frame, o, v) || ((o > m || &frame->steps[o] == dense) && reads(frame, o, v)))
            return false;
    return true;
}

/* The buffer of what node m computes as output k. */
static void place_result(ox_frame *frame, int n, int m, int k) {
    const ox_node *node = &frame->graph->nodes[m];
    ox_slot *slot = &frame->slots[node->out[k]];
    bool in_place = k == 0 && node->op->flags & OX_OP_IN_PLACE && slot->bytes;
    for (int i = 0; in_place && i < node->nin; i++)
        if (can_replace(frame, n, m, i)) {
            slot->owner = owner_of_input(frame, node, i);
            live_until(frame, slot->owner, slot->read_until);
            return;
        }
    own_buffer(frame, node->out[k], n);
}

static void share_node(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int k = 0; k < node->nout; k++) {
        ox_slot *slot = node->out[k] < 0 ? NULL : &frame->slots[node->out[k]];
        if (!slot || slot->constant || slot->root < 0)
            continue;
        switch (frame->steps[n].outputs[k].window) {
        case OX_WINDOW_NONE:
            place_result(frame, n, n, k);
            break;
        case OX_WINDOW_COPY:
            own_buffer(frame, node->out[k], n);
            break;
        default:
            slot->owner = frame->slots[slot->root].owner;
            live_until(frame, slot->owner, slot->read_until);
        }
    }
}

void ox_share_outputs(ox_frame *frame, int n) {
    const ox_group *group = ox_step_group(&frame->steps[n]);
    if (!group) {
        share_node(frame, n);
        return;
    }
    for (int m = group->tail == n ? group->head : -1; m >= 0; m = frame->steps[m].next_member)
        if (ox_fuse_stores(frame, m))
            place_result(frame, n, m, 0);
}
