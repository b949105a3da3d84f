/* share.c: values that lie in the same buffer. A view lies in the buffer of the value that it shows; a result may take
 * over the buffer of an input that no later node reads, and be a part of what a later node puts together. */
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
    life->dies = life->read_until > n ? life->read_until : n; /* a result without readers is written all the same */
}

static int owner_of_input(const ox_frame *frame, const ox_node *node, int i) {
    return node->in[i] < 0 ? -1 : ox_life_owner(&frame->planning, node->in[i]);
}

/* True if value `from` is the whole of its buffer, element for element what value `to` will be. */
static bool same_elements(const ox_frame *frame, int from, int to) {
    const ox_tensor *in = &ox_frame_own(frame, from)->tensor, *out = &ox_frame_own(frame, to)->tensor;
    return frame->planning.lives[ox_life_owner(&frame->planning, from)].bytes == frame->planning.lives[to].bytes &&
           ox_tensor_is_packed(in) && ox_dtype_size(in->dtype) == ox_dtype_size(out->dtype) &&
           ox_same_dims(in->rank, in->dims, out->rank, out->dims);
}

/* True if node m reads the buffer in another way than as value v. */
static bool reads_otherwise(const ox_frame *frame, int m, int v) {
    const ox_node *node = &frame->graph->nodes[m];
    for (int i = 0; i < node->nin; i++)
        if (node->in[i] != v && owner_of_input(frame, node, i) == ox_life_owner(&frame->planning, v))
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

/* True if a member of the group has the buffer already: for a result without readers, which would not keep it. */
static bool is_taken(const ox_frame *frame, const ox_group *group, int owner) {
    for (int m = group->head; m >= 0; m = frame->plan.members[m].next)
        if (frame->plan.members[m].stores && ox_life_owner(&frame->planning, frame->graph->nodes[m].out[0]) == owner)
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
    return !(dense >= 0 && reads(frame, dense, v)) && !is_taken(frame, group, ox_life_owner(&frame->planning, v)) &&
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

#if OX_SMALL
/* True if node n says that it may write its output over input 0, which is none of its other inputs. */
static bool overwrites(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 1; i < node->nin; i++)
        if (node->in[i] == node->in[0])
            return false;
    return frame->plan.steps[n].overwrites && can_replace(frame, n, n, 0);
}
#endif

/* The buffer of what node m computes as output k. */
static void place_result(ox_frame *frame, int n, int m, int k) {
    const ox_node *node = &frame->graph->nodes[m];
    ox_life *life = &frame->planning.lives[node->out[k]];
    bool in_place = OX_WITH_RUNS && k == 0 && node->op->flags & OX_OP_IN_PLACE && life->bytes;
    for (int i = 0; in_place && i < node->nin; i++)
        if (can_replace(frame, n, m, i)) {
            OX_ASSERT(frame->planning.lives[owner_of_input(frame, node, i)].bytes == life->bytes);
            life->owner = owner_of_input(frame, node, i);
            live_until(frame, life->owner, life->read_until);
            return;
        }
#if OX_SMALL
    if (OX_WITH_RUNS && k == 0 && life->bytes && overwrites(frame, n)) {
        life->owner = owner_of_input(frame, node, 0);
        live_until(frame, life->owner, life->read_until);
        return;
    }
#endif
    own_buffer(frame, node->out[k], n);
}

/* True if the elements of a part with these dims, which differ from those of the whole on one axis, lie side by side in
 * the whole. */
static bool lies_in_row(const ox_tensor *part, const ox_tensor *whole) {
    for (int d = 0; d < whole->rank && part->dims[d] == whole->dims[d]; d++)
        if (whole->dims[d] != 1)
            return ox_same_dims(part->rank, part->dims, whole->rank, whole->dims);
    return true;
}

/* The value whose buffer is all of value v's, if the stage that is being planned computes it and it can lie in the
 * whole w as it is; -1 otherwise. */
static int find_part(const ox_frame *frame, int v, int w) {
    const int owner = v < 0 ? -1 : ox_life_owner(&frame->planning, v),
              first = frame->plan.newest ? frame->plan.newest->end : 0;
    if (owner < 0 || owner == w)
        return -1;
    const ox_life *life = &frame->planning.lives[owner];
    const ox_tensor *part = &ox_frame_own(frame, v)->tensor;
    const bool whole = life->bytes && frame->planning.lives[v].bytes == life->bytes && ox_tensor_is_packed(part);
    const bool placed = life->born < first || (OX_WITH_TARGETS && life->outside);
    return whole && !placed && lies_in_row(part, &ox_frame_own(frame, w)->tensor) ? owner : -1;
}

/* Nodes whose results node n puts together write them into its output, where they can. Later readers of such a part
 * read it there. Nothing is written over it, since it is no longer all of its buffer. */
static void take_parts(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    const int w = node->out[0];
    ox_life *lives = frame->planning.lives;
    size_t at = 0;
    for (int i = 0; i < node->nin && OX_WITH_PARTS; i++) {
        const ox_tensor *in = &ox_frame_slot(frame, node->in[i])->tensor;
        const int part = find_part(frame, node->in[i], w);
        if (part >= 0) {
#if OX_WITH_PARTS
            OX_ASSERT(lives[part].owner == part && at + lives[part].bytes <= lives[w].bytes);
            lives[part].owner = w;
            lives[part].at = at;
#endif
            lives[w].born = lives[part].born < lives[w].born ? lives[part].born : lives[w].born;
            live_until(frame, w, lives[part].dies);
        }
        at += (size_t)ox_tensor_count(in) * ox_dtype_size(in->dtype);
    }
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
            if (OX_WITH_PARTS && ox_op_has(node->op, OX_OP_PARTS))
                take_parts(frame, n);
            break;
        case OX_VIEW_COPIED:
            own_buffer(frame, node->out[k], n);
            break;
        default:
            life->owner = ox_life_owner(&frame->planning, life->root);
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
