/* share.c: values that lie in the same buffer. A view lies in the buffer of the value that it shows; a result may take
 * over the buffer of an input that no later node reads. */
#include "share.h"

#include "fuse.h"

static void live_until(ox_frame *frame, int owner, int position) {
    if (owner >= 0 && frame->planning.lives[owner].dies < position)
        frame->planning.lives[owner].dies = position;
}

static void own_buffer(ox_frame *frame, int v, int n) {
    ox_life *life = &frame->planning.lives[v];
    life->owner = v;
    life->born = n;
    life->dies = life->read_until > n ? life->read_until : n; /* a result that nobody reads is written all the same */
}

static int owner_of_input(const ox_frame *frame, const ox_node *node, int i) {
    return node->in[i] < 0 ? -1 : frame->planning.lives[node->in[i]].owner;
}

/* True if value `from` is the whole of its buffer, element for element what value `to` will be. */
static bool same_elements(const ox_frame *frame, int from, int to) {
    const ox_tensor *in = &ox_frame_own(frame, from)->tensor, *out = &ox_frame_own(frame, to)->tensor;
    return frame->planning.lives[frame->planning.lives[from].owner].bytes == frame->planning.lives[to].bytes &&
           ox_tensor_is_packed(in) && ox_dtype_size(in->dtype) == ox_dtype_size(out->dtype) &&
           ox_same_dims(in->rank, in->dims, out->rank, out->dims);
}

/* True if node m reads the buffer in another way than as value v. */
static bool reads_otherwise(const ox_frame *frame, int m, int v) {
    const ox_node *node = &frame->graph->nodes[m];
    for (int i = 0; i < node->nin; i++)
        if (node->in[i] != v && owner_of_input(frame, node, i) == frame->planning.lives[v].owner)
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

/* True if a member of the group has the buffer already: for a result that nobody reads, which would not keep it. */
static bool is_taken(const ox_frame *frame, const ox_group *group, int owner) {
    for (int m = group->head; m >= 0; m = frame->plan.members[m].next)
        if (frame->plan.members[m].stores && frame->planning.lives[frame->graph->nodes[m].out[0]].owner == owner)
            return true;
    return false;
}

/* True if the group of node m allows that its output is written over value v. All members go over the same tile in
 * turn: what has been stored must not be loaded as v, by whatever name a member knows v, and a dense node reads no tile
 * at all. */
static bool group_allows(const ox_frame *frame, const ox_group *group, int m, int v) {
    const int dense = ox_frame_dense(frame, m);
    for (int o = group->head; o >= 0; o = frame->plan.members[o].next)
        if (reads_otherwise(frame, o, v))
            return false;
    return !(dense >= 0 && reads(frame, dense, v)) && !is_taken(frame, group, frame->planning.lives[v].owner) &&
           !ox_fuse_reads_later(frame, m, v);
}

/* True if node m, run in the place of node n, may write its output over input i. */
static bool can_replace(const ox_frame *frame, int n, int m, int i) {
    const ox_node *node = &frame->graph->nodes[m];
    int v = node->in[i], owner = owner_of_input(frame, node, i);
    if (owner < 0 || frame->planning.lives[owner].dies != n || !same_elements(frame, v, node->out[0]))
        return false;
    const ox_group *group = ox_frame_group(frame, m);
    return group ? group_allows(frame, group, m, v) : !reads_otherwise(frame, m, v);
}

/* The buffer of what node m computes as output k. */
static void place_result(ox_frame *frame, int n, int m, int k) {
    const ox_node *node = &frame->graph->nodes[m];
    ox_life *life = &frame->planning.lives[node->out[k]];
    bool in_place = OX_WITH_RUNS && k == 0 && node->op->flags & OX_OP_IN_PLACE && life->bytes;
    for (int i = 0; in_place && i < node->nin; i++)
        if (can_replace(frame, n, m, i)) {
            life->owner = owner_of_input(frame, node, i);
            live_until(frame, life->owner, life->read_until);
            return;
        }
    own_buffer(frame, node->out[k], n);
}

static void share_node(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int k = 0; k < node->nout; k++) {
        ox_life *life = node->out[k] < 0 ? NULL : &frame->planning.lives[node->out[k]];
        if (!life || ox_frame_own(frame, node->out[k])->constant || life->root < 0)
            continue;
        switch (ox_step_view(&frame->plan.steps[n], k)) {
        case OX_VIEW_NONE:
            place_result(frame, n, n, k);
            break;
        case OX_VIEW_COPIED:
            own_buffer(frame, node->out[k], n);
            break;
        default:
            life->owner = frame->planning.lives[life->root].owner;
            live_until(frame, life->owner, life->read_until);
        }
    }
}

void ox_share_outputs(ox_frame *frame, int n) {
    const ox_group *group = ox_frame_group(frame, n);
    if (!group) {
        share_node(frame, n);
        return;
    }
    for (int m = group->tail == n ? group->head : -1; m >= 0; m = frame->plan.members[m].next)
        if (frame->plan.members[m].stores)
            place_result(frame, n, m, 0);
}
