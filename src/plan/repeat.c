/* repeat.c: see repeat.h. */
#include "repeat.h"

#if OX_WITH_UPDATES
#include <string.h>

/* ---- Classes ------------------------------------------------------------------------------------------------ */

static bool same_strings(const ox_string *a, const ox_string *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (a[i].size != b[i].size || (a[i].size && memcmp(a[i].data, b[i].data, a[i].size) != 0))
            return false;
    return true;
}

static bool same_bytes(const void *a, const void *b, size_t count, size_t size) {
    return count == 0 || memcmp(a, b, count * size) == 0;
}

/* Attributes of other kinds than numbers and strings are not compared, and count as different. */
static bool same_attribute(const ox_attr *a, const ox_attr *b) {
    if (a->kind != b->kind || a->count != b->count || ox_text_order(a->name, b->name))
        return false;
    switch (a->kind) {
    case OX_ATTR_FLOAT:
        return same_bytes(&a->u.f, &b->u.f, 1, sizeof a->u.f);
    case OX_ATTR_INT:
        return a->u.i == b->u.i;
    case OX_ATTR_STRING:
        return same_strings(&a->u.s, &b->u.s, 1);
    case OX_ATTR_FLOATS:
        return same_bytes(a->u.floats, b->u.floats, a->count, sizeof *a->u.floats);
    case OX_ATTR_INTS:
        return same_bytes(a->u.ints, b->u.ints, a->count, sizeof *a->u.ints);
    case OX_ATTR_STRINGS:
        return same_strings(a->u.strings, b->u.strings, a->count);
    default:
        return false;
    }
}

static bool same_node(const ox_node *a, const ox_node *b) {
    bool same =
        a->op == b->op && a->version == b->version && a->nin == b->nin && a->nout == b->nout && a->nattrs == b->nattrs;
    for (int i = 0; i < a->nattrs && same; i++)
        same = same_attribute(&a->attrs[i], &b->attrs[i]);
    return same;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

static uint64_t hash_node(const ox_node *node) {
    uint64_t hash = mix((uint64_t)(uintptr_t)node->op, (uint64_t)node->version);
    hash = mix(mix(hash, (uint64_t)node->nin), (uint64_t)node->nout);
    for (int i = 0; i < node->nattrs; i++) {
        const ox_attr *attr = &node->attrs[i];
        hash = mix(hash, attr->kind == OX_ATTR_INT ? (uint64_t)attr->u.i : attr->count);
        for (size_t k = 0; attr->kind == OX_ATTR_INTS && k < attr->count; k++)
            hash = mix(hash, (uint64_t)attr->u.ints[k]);
    }
    return hash;
}

/* Nodes whose hashes meet in one place of the table are compared with the first of them alone. */
static void find_classes(const ox_graph *graph, int *table, size_t mask, int *classes) {
    for (int n = 0; n < graph->nnodes; n++) {
        const ox_node *node = &graph->nodes[n];
        classes[n] = n;
        if (ox_op_has(node->op, OX_OP_CONTROL | OX_OP_VALUES | OX_OP_ANY_VALUE))
            continue;
        int *place = &table[hash_node(node) & mask];
        if (!*place)
            *place = n + 1;
        else if (same_node(&graph->nodes[*place - 1], node))
            classes[n] = *place - 1;
    }
}

int *ox_repeat_classes(ox_frame *frame) {
    const size_t nodes = (size_t)frame->graph->nnodes;
    size_t room = 16;
    while (room < 2 * nodes)
        room *= 2;
    int *classes = ox_pile_array(&frame->planning.scratch, nodes, sizeof *classes);
    const ox_pile_mark mark = ox_pile_save(&frame->planning.scratch);
    int *table = classes ? ox_pile_array(&frame->planning.scratch, room, sizeof *table) : NULL;
    if (table)
        find_classes(frame->graph, table, room - 1, classes);
    ox_pile_restore(&frame->planning.scratch, mark);
    return table ? classes : NULL;
}

/* ---- Repeating ---------------------------------------------------------------------------------------------- */

static bool same_input(const ox_frame *frame, int v, int w) {
    if (v < 0 || w < 0)
        return v < 0 && w < 0;
    const ox_slot *a = ox_frame_slot(frame, v), *b = ox_frame_slot(frame, w);
    return a->constant == b->constant && a->fixed == b->fixed && a->weight == b->weight && a->foreign == b->foreign &&
           ox_repeat_same(&a->tensor, &b->tensor);
}

/* Output k of node m, as it has been described, and that of node n, as it was: of one type and rank, no constants, and
 * read in the same way. */
static bool same_output(const ox_frame *frame, int m, int n, int k) {
    const int v = frame->graph->nodes[n].out[k], w = frame->graph->nodes[m].out[k];
    if (v < 0 || w < 0)
        return v < 0 && w < 0;
    const ox_slot *a = ox_frame_own(frame, v), *b = ox_frame_own(frame, w);
    const ox_life *lives = frame->planning.lives;
    const ox_step *step = &frame->plan.steps[n], *other = &frame->plan.steps[m];
    if (a->constant || b->constant || a->tensor.dtype != b->tensor.dtype || a->tensor.rank != b->tensor.rank ||
        lives[v].packed_only != lives[w].packed_only || lives[v].is_output != lives[w].is_output)
        return false;
    const ox_view view = ox_step_view(step, k);
    return view == ox_step_view(other, k) && view != OX_VIEW_GIVEN &&
           (view == OX_VIEW_NONE || step->outputs[k].input == other->outputs[k].input);
}

bool ox_repeat_fits(const ox_frame *frame, int m, int n) {
    const ox_node *node = &frame->graph->nodes[n], *other = &frame->graph->nodes[m];
    for (int i = 0; i < node->nin; i++)
        if (!same_input(frame, node->in[i], other->in[i]))
            return false;
    for (int k = 0; k < node->nout; k++)
        if (!same_output(frame, m, n, k))
            return false;
    return true;
}

static void write_again(const int64_t *list, const int64_t *from, int rank) {
    if (rank)
        memcpy((int64_t *)(uintptr_t)list, from, (size_t)rank * sizeof *list);
}

static void describe_output(ox_frame *frame, int m, int n, int k) {
    const int v = frame->graph->nodes[n].out[k], w = frame->graph->nodes[m].out[k];
    ox_slot *slot = ox_frame_own(frame, v);
    const ox_slot *other = ox_frame_own(frame, w);
    const int rank = slot->tensor.rank;
    frame->planning.lives[v].bytes = frame->planning.lives[w].bytes;
    write_again(slot->tensor.dims, other->tensor.dims, rank);
    if (ox_step_view(&frame->plan.steps[n], k) == OX_VIEW_NONE)
        return;
    ox_output *output = &frame->plan.steps[n].outputs[k];
    const ox_output *from = &frame->plan.steps[m].outputs[k];
    OX_ASSERT(output->seen.rank == rank && output->seen.dims == slot->tensor.dims);
    output->offset = from->offset;
    write_again(output->seen.strides, from->seen.strides, rank);
    slot->tensor.strides = other->tensor.strides ? output->seen.strides : NULL;
}

void ox_repeat_describe(ox_frame *frame, int m, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    ox_step *step = &frame->plan.steps[n];
    const ox_step *other = &frame->plan.steps[m];
    step->skip = other->skip;
    step->runs = other->runs;
    step->empty = other->empty;
    step->types = 0;
    step->room = 0;
    *ox_frame_prepared(frame, n) = (ox_prepared){0};
    for (int k = 0; k < node->nout; k++)
        if (node->out[k] >= 0)
            describe_output(frame, m, n, k);
}
#endif
