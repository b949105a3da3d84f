/* update.c: see update.h. The nodes are gone through in order; what a changed node gives is compared with what it gave
 * before, so that changes go no further than they have to. Lists of dims and strides are written again where they lie.
 * Other memory that is replaced stays in the plan's pile, since nodes that stay may point to it: the pile is limited,
 * and then a plan is made from the start. */
#include "update.h"

#if OX_WITH_UPDATES
#include <string.h>

#include "fold.h"
#include "fuse.h"
#include "kept.h"
#include "place.h"
#include "plan.h"
#include "repeat.h"
#include "stage.h"
#include "step_run.h"
#include "written.h"

enum {
    MOST_LEFT = 2,                   /* times the memory of a new plan, ... */
    LEAST_LEFT = 8 * OX_CHUNK_BYTES, /* ... but so many bytes for small ones */
    LATEST = 4                       /* nodes of a class that are compared with one that may repeat them */
};

/* The nodes of a class that have been described last, the latest first: one more than their numbers, 0 for none. */
typedef struct latest {
    int nodes[LATEST];
} latest;

/* A value as it was, an output of a node. */
typedef struct former {
    ox_slot slot; /* with lists of its own */
    ox_life life;
    ox_view view;
    int input;           /* that it was a view of */
    struct former *next; /* output of the node */
    int64_t lists[];
} former;

typedef struct update {
    ox_frame *frame;
    const former **former; /* of each value: NULL if it is as it was */
    const int *giver;      /* of each value: the node, -1 for none */
    bool *changed;         /* of each node: it is to be prepared anew */
    bool *hidden;          /* of each node: what it gives has no data, as in a new plan */
    int *marked;           /* of each node, for a while */
    latest *latest;        /* of each class of nodes, by its number */
    bool grown;            /* some buffer does not fit its place any more */
} update;

/* ---- What changes ------------------------------------------------------------------------------------------- */

static bool is_changed(const update *u, int n) {
    const ox_node *node = &u->frame->graph->nodes[n];
    for (int i = 0; i < node->nin; i++)
        if (node->in[i] >= 0 && u->former[node->in[i]])
            return true;
    return false;
}

static size_t bytes_before(const update *u, int v) {
    return u->former[v] ? u->former[v]->life.bytes : u->frame->planning.lives[v].bytes;
}

static const ox_tensor *tensor_before(const update *u, int v) {
    return u->former[v] ? &u->former[v]->slot.tensor : &ox_frame_slot(u->frame, v)->tensor;
}

/* Constants are the same if their elements are. */
static bool same_value(const former *was, const ox_slot *now) {
    const ox_tensor *a = &was->slot.tensor, *b = &now->tensor;
    if (!ox_repeat_same(a, b))
        return false;
    if (!now->constant || a->data == b->data)
        return true;
    const size_t bytes = (size_t)ox_tensor_count(b) * ox_dtype_size(b->dtype);
    return a->data && !b->strides && memcmp(a->data, b->data, bytes) == 0;
}

/* Constants that no later step reads have been freed. */
static bool has_inputs(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; i < node->nin; i++) {
        const ox_slot *slot = node->in[i] < 0 ? NULL : ox_frame_slot(frame, node->in[i]);
        if (slot && slot->constant && !slot->tensor.data)
            return false;
    }
    return true;
}

/* Whether inferring node n looked at data that another run may bring. */
static bool looked_at_data(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; frame->work.call.looked_at && i < node->nin && i < 64; i++)
        if (frame->work.call.looked_at >> i & 1 && node->in[i] >= 0 && !ox_frame_slot(frame, node->in[i])->constant)
            return true;
    return false;
}

/* Checks that output k of node n differs in its shape alone, and keeps it in its buffer. If its shape is the same, too,
 * the slot is as it was; other nodes may point to its lists, where the same numbers have been written again. */
static bool settle_output(update *u, int n, int k, const former *was) {
    ox_frame *frame = u->frame;
    const int v = frame->graph->nodes[n].out[k];
    ox_slot *slot = ox_frame_own(frame, v);
    const ox_life *life = &was->life;
    const size_t bytes = frame->planning.lives[v].bytes, held = ox_aligned(life->bytes);
    if (slot->constant != was->slot.constant || slot->fixed != was->slot.fixed || slot->weight != was->slot.weight ||
        slot->foreign != was->slot.foreign || frame->planning.lives[v].root != life->root || !bytes != !life->bytes)
        return false;
    frame->planning.lives[v] = *life;
    if (same_value(was, slot)) {
        const int64_t *dims = slot->tensor.dims, *strides = slot->tensor.strides;
        *slot = was->slot;
        slot->tensor.dims = dims;
        slot->tensor.strides = strides;
        return true;
    }
    u->former[v] = was;
    ox_life *now = &frame->planning.lives[v];
    now->bytes = bytes;
    now->room = now->room > held ? now->room : held;
    u->grown |= now->owner == v && !now->outside && ox_aligned(bytes) > now->room;
    return true;
}

/* True if step n does what it did before. All members of a group but the last are skipped, for that reason alone. */
static bool same_step(const ox_frame *frame, int n, const ox_step *was) {
    const ox_step *now = &frame->plan.steps[n];
    const ox_group *group = ox_frame_group(frame, n);
    const bool skip = was->skip && !(group && group->tail != n);
    return now->skip == skip && now->runs == was->runs && now->empty == was->empty && now->outputs == was->outputs;
}

static bool same_view(const ox_step *step, int k, const former *was) {
    return !step->outputs || (step->outputs[k].view == was->view && step->outputs[k].input == was->input);
}

/* Notes that node n has been described, for those that repeat it. */
static void note_latest(update *u, int n) {
    int *nodes = u->latest[u->frame->planning.classes[n]].nodes;
    memmove(nodes + 1, nodes, (LATEST - 1) * sizeof *nodes);
    nodes[0] = n + 1;
}

static bool infer(update *u, int n) {
    ox_frame *frame = u->frame;
    if (!has_inputs(frame, n) || ox_plan_infer(frame, n, false) != OX_OK || looked_at_data(frame, n))
        return false;
    const bool looked = frame->work.call.looked_at || frame->graph->nodes[n].nin > 64; /* later inputs have no bit */
    if (ox_stage_describe(frame, n) != OX_OK || ox_fold_again(frame, n) != OX_OK)
        return false;
    if (!looked && !ox_has_written(frame))
        note_latest(u, n);
    return true;
}

/* Describes node n as one that it repeats, or as its operator says. */
static bool describe(update *u, int n) {
    const int *nodes = u->latest[u->frame->planning.classes[n]].nodes;
    for (int i = 0; i < LATEST && nodes[i]; i++)
        if (ox_repeat_fits(u->frame, nodes[i] - 1, n)) {
            ox_repeat_describe(u->frame, nodes[i] - 1, n);
            return true;
        }
    return infer(u, n);
}

static void hide(update *u, int n) {
    if (!u->hidden[n])
        ox_place_hide(u->frame, n);
    u->hidden[n] = true;
}

/* Hides what node n reads, and what it gives. */
static void hide_around(update *u, int n) {
    const ox_node *node = &u->frame->graph->nodes[n];
    hide(u, n);
    for (int i = 0; i < node->nin; i++)
        if (node->in[i] >= 0 && u->giver[node->in[i]] >= 0)
            hide(u, u->giver[node->in[i]]);
}

/* Remembers output k of node n. */
static former *note_output(update *u, int n, int k, former *next) {
    ox_frame *frame = u->frame;
    const int v = frame->graph->nodes[n].out[k];
    const ox_slot *slot = ox_frame_own(frame, v);
    const ox_output *outputs = frame->plan.steps[n].outputs;
    const size_t rank = (size_t)slot->tensor.rank, bytes = rank * sizeof(int64_t);
    former *was = ox_pile_get(&frame->planning.scratch, sizeof *was + 2 * bytes);
    if (!was)
        return NULL;
    *was = (former){.slot = *slot, .life = frame->planning.lives[v], .next = next};
    if (outputs) {
        was->view = outputs[k].view;
        was->input = outputs[k].input;
    }
    memcpy(was->lists, slot->tensor.dims, bytes);
    was->slot.tensor.dims = was->lists;
    if (slot->tensor.strides) {
        memcpy(was->lists + rank, slot->tensor.strides, bytes);
        was->slot.tensor.strides = was->lists + rank;
    }
    return was;
}

/* Remembers the outputs of node n, the first one first. */
static bool note_outputs(update *u, int n, former **were) {
    const ox_node *node = &u->frame->graph->nodes[n];
    *were = NULL;
    for (int k = node->nout; k-- > 0;)
        if (node->out[k] >= 0 && !(*were = note_output(u, n, k, *were)))
            return false;
    return true;
}

/* Describes node n anew, and its outputs. */
static bool change_node(update *u, int n) {
    ox_frame *frame = u->frame;
    const ox_node *node = &frame->graph->nodes[n];
    ox_step *step = &frame->plan.steps[n];
    const ox_step was = *step;
    former *were;
    hide_around(u, n);
    if (!note_outputs(u, n, &were) || !describe(u, n) || !same_step(frame, n, &was))
        return false;
    step->room = was.room > was.work ? was.room : was.work;
    for (int k = 0; k < node->nout; k++) {
        if (node->out[k] < 0)
            continue;
        if (!same_view(step, k, were) || !settle_output(u, n, k, were))
            return false;
        were = were->next;
    }
    return u->changed[n] = true;
}

/* ---- Buffers that are shared -------------------------------------------------------------------------------- */

/* The conditions of share.c on two values: whether they have the same elements in the same places, ... */
static bool same_elements(const ox_tensor *in, const ox_tensor *out, size_t held, size_t bytes) {
    return held == bytes && ox_tensor_is_packed(in) && ox_dtype_size(in->dtype) == ox_dtype_size(out->dtype) &&
           ox_same_dims(in->rank, in->dims, out->rank, out->dims);
}

/* ... and whether it may lie in the other as it is. */
static bool lies_in_row(const ox_tensor *part, const ox_tensor *whole, size_t held, size_t bytes) {
    int d = 0;
    while (d < whole->rank && part->dims[d] == whole->dims[d] && whole->dims[d] == 1)
        d++;
    return held == bytes && ox_tensor_is_packed(part) &&
           (d == whole->rank || part->dims[d] != whole->dims[d] ||
            ox_same_dims(part->rank, part->dims, whole->rank, whole->dims));
}

/* Whether input i of node n may share its buffer with the output where it might before. Parts are given up: what lies
 * behind them moves. */
static bool shares_as_before(const update *u, int n, int i) {
    const ox_frame *frame = u->frame;
    const ox_node *node = &frame->graph->nodes[n];
    const int v = node->in[i], w = node->out[0], owner = v < 0 ? -1 : ox_life_owner(&frame->planning, v);
    if (owner < 0)
        return true;
    const ox_tensor *in = &ox_frame_slot(frame, v)->tensor, *out = &ox_frame_own(frame, w)->tensor;
    const ox_tensor *old_in = tensor_before(u, v), *old_out = tensor_before(u, w);
    const ox_life *lives = frame->planning.lives;
    if (ox_op_has(node->op, OX_OP_PARTS))
        return owner != ox_life_owner(&frame->planning, w) &&
               lies_in_row(in, out, lives[owner].bytes, lives[v].bytes) ==
                   lies_in_row(old_in, old_out, bytes_before(u, owner), bytes_before(u, v));
    return !(node->op->flags & OX_OP_IN_PLACE) ||
           same_elements(in, out, lives[owner].bytes, lives[w].bytes) ==
               same_elements(old_in, old_out, bytes_before(u, owner), bytes_before(u, w));
}

static bool shares_node(const update *u, int n) {
    const ox_node *node = &u->frame->graph->nodes[n];
    if (!node->nout || node->out[0] < 0 || ox_step_view(&u->frame->plan.steps[n], 0) != OX_VIEW_NONE ||
        ox_frame_own(u->frame, node->out[0])->constant)
        return true;
    for (int i = 0; i < node->nin; i++)
        if (!shares_as_before(u, n, i))
            return false;
    return true;
}

/* Outputs are computed where a placer says if they are all of their buffer. */
static bool places_outputs(const update *u) {
    const ox_frame *frame = u->frame;
    for (int k = 0; frame->placer.place && k < frame->graph->noutputs; k++) {
        const int v = frame->graph->outputs[k].value, owner = ox_life_owner(&frame->planning, v);
        const ox_life *lives = frame->planning.lives;
        if (owner >= 0 && (lives[owner].bytes == lives[v].bytes) != (bytes_before(u, owner) == bytes_before(u, v)))
            return false;
    }
    return true;
}

/* ---- Groups ------------------------------------------------------------------------------------------------- */

/* Adds node n to the list, if it may be a member of a group, once. */
static void mark(update *u, int n, bool *seen, int *count) {
    if (n < 0 || n >= u->frame->graph->nnodes || seen[n])
        return;
    seen[n] = true;
    hide_around(u, n);
    u->marked[(*count)++] = n;
}

/* Marks all nodes that may join the groups of marked ones: those that give them an input, or read a result. */
static void spread(update *u, bool *seen, int *count) {
    const ox_frame *frame = u->frame;
    const ox_planning *planning = &frame->planning;
    for (int at = 0; at < *count; at++) {
        const ox_node *node = &frame->graph->nodes[u->marked[at]];
        for (int i = 0; i < node->nin; i++) {
            const int m = node->in[i] < 0 ? -1 : u->giver[node->in[i]];
            if (m >= 0 && ox_fuse_takes(frame, m))
                mark(u, m, seen, count);
        }
        const int v = node->nout ? node->out[0] : -1;
        for (int r = v < 0 ? 0 : planning->first_reader[v]; v >= 0 && r < planning->first_reader[v + 1]; r++)
            if (planning->readers[r] < frame->graph->nnodes && ox_fuse_takes(frame, planning->readers[r]))
                mark(u, planning->readers[r], seen, count);
    }
}

/* The marked nodes, in order. */
static void sort(update *u, const bool *seen) {
    for (int n = 0, at = 0; n < u->frame->graph->nnodes; n++)
        if (seen[n])
            u->marked[at++] = n;
}

/* Whether what runs as one pass is what did. */
static bool groups_hold(update *u) {
    ox_frame *frame = u->frame;
    int count = 0;
    bool *seen = ox_pile_array(&frame->planning.scratch, (size_t)frame->graph->nnodes, sizeof *seen);
    if (!seen)
        return false;
    for (int n = 0; n < frame->graph->nnodes; n++)
        if (u->changed[n] && frame->graph->nodes[n].op->flags & (OX_OP_PASS | OX_OP_EPILOGUE))
            mark(u, n, seen, &count);
    spread(u, seen, &count);
    sort(u, seen);
    return ox_fuse_holds(frame, u->marked, count, u->giver);
}

/* ---- Preparing ---------------------------------------------------------------------------------------------- */

/* True if a member that stores over an input of the group still does so after the last read of that input. */
static bool reads_in_time(const ox_frame *frame, int n) {
    const ox_group *group = frame->plan.members[n].group;
    for (int m = group->head; m >= 0; m = frame->plan.members[m].next) {
        const ox_node *node = &frame->graph->nodes[m];
        const int owner = ox_life_owner(&frame->planning, node->out[0]);
        for (int i = 0; i < node->nin && frame->plan.members[m].stores && owner != node->out[0]; i++)
            if (node->in[i] >= 0 && ox_life_owner(&frame->planning, node->in[i]) == owner &&
                ox_fuse_reads_later(frame, m, node->in[i]))
                return false;
    }
    return true;
}

static bool write_group(ox_frame *frame, int n, ox_pile *pile) {
    if (ox_fuse_write(frame, n, pile, &frame->planning.scratch) != OX_OK || !reads_in_time(frame, n))
        return false;
    ox_fuse_stream(frame, n);
    return true;
}

static bool prepare_in(ox_frame *frame, int n, ox_pile *pile) {
    const ox_pile_mark scratch = ox_pile_save(&frame->planning.scratch);
    const bool done =
        (!ox_frame_group(frame, n) || write_group(frame, n, pile)) && ox_step_prepare(frame, n, pile) == OX_OK;
    ox_pile_restore(&frame->planning.scratch, scratch);
    return done;
}

/* Prepares in memory of the step alone, which it gets the second time that it changes. */
static bool prepare_again(ox_frame *frame, int n, ox_again *again) {
    ox_pile pile;
    if (!again->block && again->size) {
        again->size = ox_pile_size(ox_aligned(again->size + again->size / 4));
        again->block = ox_pile_get(&frame->plan.pile, again->size);
        frame->plan.fresh += again->block ? again->size : 0;
    }
    if (!again->block)
        return false;
    ox_pile_over(&pile, again->block, again->size);
    return prepare_in(frame, n, &pile);
}

/* Nothing shows data to step n, nor to the members of its group. */
static void assert_hidden(const update *u, int n) {
    const ox_group *group = ox_frame_group(u->frame, n);
    OX_ASSERT(u->hidden[n]);
    for (int m = group ? group->head : -1; m >= 0; m = u->frame->plan.members[m].next)
        OX_ASSERT(u->hidden[m]);
}

/* Prepares step n anew. */
static bool prepare(update *u, int n) {
    ox_frame *frame = u->frame;
    assert_hidden(u, n);
    ox_step *step = &frame->plan.steps[n];
    ox_again *again = &frame->plan.again[n];
    const size_t held = step->room > step->work ? step->room : step->work, given = frame->plan.pile.given;
    if (!prepare_again(frame, n, again)) {
        if (!prepare_in(frame, n, &frame->plan.pile))
            return false;
        frame->plan.fresh -= again->block ? again->size : 0;
        *again = (ox_again){.size = frame->plan.pile.given - given};
    }
    step->room = held;
    u->grown |= step->work > held;
    return true;
}

static bool prepare_changed(update *u) {
    ox_frame *frame = u->frame;
    for (int n = 0; n < frame->graph->nnodes; n++)
        if (u->changed[n] && ox_frame_group(frame, n) && ox_frame_group(frame, n)->tail != n) {
            u->changed[ox_frame_group(frame, n)->tail] = true;
            u->changed[n] = false;
        }
    for (int n = 0; n < frame->graph->nnodes; n++)
        if (u->changed[n] && !frame->plan.steps[n].skip && !prepare(u, n))
            return false;
    return true;
}

/* ---- Places ------------------------------------------------------------------------------------------------- */

/* A quarter more than it takes, for what has grown. */
static size_t with_room(size_t room, size_t bytes) {
    const size_t size = ox_aligned(bytes);
    return size <= room || size > SIZE_MAX / 4 ? room : ox_aligned(size + size / 4);
}

static bool place(update *u) {
    ox_frame *frame = u->frame;
    for (int n = 0; n < frame->graph->nnodes && !u->grown; n++)
        if (u->hidden[n])
            ox_place_show(frame, n);
    if (!u->grown)
        return true;
    for (int v = 0; v < frame->graph->nvalues; v++)
        if (u->former[v] && frame->planning.lives[v].bytes > u->former[v]->life.bytes)
            frame->planning.lives[v].room = with_room(0, frame->planning.lives[v].bytes);
    for (int n = 0; n < frame->graph->nnodes; n++)
        if (u->changed[n])
            frame->plan.steps[n].room = with_room(frame->plan.steps[n].room, frame->plan.steps[n].work);
    return ox_place_again(frame) == OX_OK;
}

/* ---- The plan ----------------------------------------------------------------------------------------------- */

static bool find_changes(update *u) {
    ox_frame *frame = u->frame;
    static const former source;
    for (int i = 0; i < frame->nsources; i++)
        if (frame->sources[i].differs)
            u->former[frame->sources[i].value] = &source;
    for (int n = 0; n < frame->graph->nnodes; n++) {
        if (ox_pool_poll(frame->pool))
            return false;
        if (is_changed(u, n) && !(change_node(u, n) && shares_node(u, n)))
            return false;
    }
    return places_outputs(u);
}

static bool make(update *u) {
    ox_frame *frame = u->frame;
    ox_pile *scratch = &frame->planning.scratch;
    const size_t nodes = (size_t)frame->graph->nnodes;
    u->former = ox_pile_array(scratch, (size_t)frame->graph->nvalues + 1, sizeof *u->former);
    u->changed = ox_pile_array(scratch, nodes, sizeof *u->changed);
    u->hidden = ox_pile_array(scratch, nodes, sizeof *u->hidden);
    u->marked = ox_pile_array(scratch, nodes, sizeof *u->marked);
    u->latest = ox_pile_array(scratch, nodes, sizeof *u->latest);
    u->giver = frame->planning.giver;
    if (!frame->plan.again)
        frame->plan.again = ox_pile_array(&frame->plan.pile, nodes, sizeof *frame->plan.again);
    return frame->plan.again && u->former && u->changed && u->hidden && u->marked && u->latest && u->giver &&
           frame->planning.classes && find_changes(u) && groups_hold(u) && prepare_changed(u) && place(u) &&
           ox_kept_renew(frame);
}

/* Whether the plan can be updated at all: it is one stage, and memory of its nodes is not left behind by too many. */
static bool may_update(ox_frame *frame) {
    const ox_plan *plan = &frame->plan;
    return plan->stages == plan->newest && plan->stages->end == frame->graph->nnodes && !plan->stages->premises &&
           (plan->pile.used - plan->fresh <= LEAST_LEFT || plan->pile.used / MOST_LEFT <= plan->fresh) &&
           ox_kept_differs(frame);
}

bool ox_update_plan(ox_frame *frame) {
    update u = {.frame = frame};
    if (!may_update(frame))
        return false;
    if (!frame->planning.giver)
        frame->planning.giver = ox_fuse_givers(frame, 0, frame->graph->nnodes);
    if (!frame->planning.classes)
        frame->planning.classes = ox_repeat_classes(frame);
    const ox_pile_mark scratch = ox_pile_save(&frame->planning.scratch);
    frame->planning.again = true;
    const bool made = make(&u);
    frame->planning.again = false;
    ox_pile_restore(&frame->planning.scratch, scratch);
    ox_error_clear(frame->error);
    frame->plan.forgotten++;
    return made;
}

void ox_update_begin(ox_frame *frame) {
    frame->plan.fresh = frame->plan.pile.used;
    frame->plan.again = NULL;
}
#endif
