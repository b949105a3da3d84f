/* fold.c: computing constants, and keeping those that the run reads. */
#include "fold.h"

#include <string.h>

#include "store.h"
#include "frame/node.h"
#include "plan.h"

/* ---- What is folded ----------------------------------------------------------------------------------------- */

/* True if the node's outputs depend on constants and shapes only. */
static bool is_constant(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    if (node->op->flags & (OX_OP_CONTROL | OX_OP_RANDOM))
        return false;
    if (node->nout && node->out[0] >= 0 && ox_is_value(ox_frame_own(frame, node->out[0])->tensor.dtype))
        return false;
    if (ox_op_has(node->op, OX_OP_TEXT) && node->out[0] >= 0 &&
        ox_frame_own(frame, node->out[0])->tensor.dtype == OX_STRING)
        return false;
    const int nin = ox_node_reads(node);
    for (int i = 0; i < nin; i++)
        if (node->in[i] >= 0 && !ox_frame_slot(frame, node->in[i])->constant)
            return false;
    return true;
}

/* Bytes that the outputs of node n would take. */
static size_t result_bytes(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    size_t bytes = 0;
    for (int k = 0; k < node->nout; k++)
        if (node->out[k] >= 0 && !ox_frame_own(frame, node->out[k])->constant)
            bytes += frame->planning.lives[node->out[k]].bytes;
    return bytes;
}

/* True if so many bytes may be taken for constants beside those that are there. Weights may be made by nodes, and of
 * any size; but where a caller counts bytes, each lives no longer than it is read. */
static bool may_take(const ox_frame *frame, size_t bytes) {
    if (bytes <= OX_FOLD_BYTES || OX_SMALL || frame->options->limits.bytes != SIZE_MAX)
        return bytes <= OX_FOLD_BYTES;
    size_t used = frame->plan.pile.used;
#if OX_WITH_TEMPORARIES
    used += frame->planning.temporary_bytes;
#endif
    const size_t weights = (size_t)frame->model->info.weight_bytes;
    const size_t most = weights > OX_CONSTANT_BYTES ? weights : OX_CONSTANT_BYTES;
    return used < most && bytes <= most - used;
}

/* ---- Results that only nodes read which are folded too ------------------------------------------------------- */

#if OX_WITH_TEMPORARIES

/* A result in memory of its own. */
struct ox_folded {
    ox_folded *next, *before;
    void *block;
    size_t size;
    char *data, *kept; /* in the block, and where it has gone */
    int node, value;
};

static ox_folded *temporary_of(const ox_frame *frame, int v) {
    const int root = v < 0 ? -1 : frame->planning.lives[v].root;
    return root < 0 ? NULL : frame->planning.lives[root].temporary;
}

static int count_readers(const ox_frame *frame, int v) {
    return frame->planning.first_reader[v + 1] - frame->planning.first_reader[v];
}

/* Memory for value v, a result of node n. */
static ox_status add_temporary(ox_frame *frame, int n, int v) {
    ox_life *life = &frame->planning.lives[v];
    ox_folded *made = life->temporary;
    const size_t size = life->bytes + OX_ALIGN;
    made->block = life->bytes > SIZE_MAX - OX_ALIGN ? NULL : ox_alloc(frame->planning.scratch.allocator, size);
    if (!made->block)
        return ox_fail_memory(frame->error, "a constant", life->bytes);
    *made = (ox_folded){.next = frame->planning.temporaries, .block = made->block, .size = size, .node = n, .value = v};
    made->data = ox_align(made->block);
    if (made->next)
        made->next->before = made;
    frame->planning.temporaries = made;
    frame->planning.temporary_bytes += size;
    ox_frame_own(frame, v)->tensor.data = made->data;
    return OX_OK;
}

static void release(ox_frame *frame, ox_folded *gone) {
    ox_release(frame->planning.scratch.allocator, gone->block, gone->size);
    frame->planning.temporary_bytes -= gone->size;
    gone->block = NULL;
    *(gone->before ? &gone->before->next : &frame->planning.temporaries) = gone->next;
    if (gone->next)
        gone->next->before = gone->before;
}

/* The value whose memory value v shares has `readers` more of them. */
static void await(ox_frame *frame, int v, int readers) {
    ox_folded *shared = temporary_of(frame, v);
    if (!shared || !shared->block)
        return;
    int *waiting = &frame->planning.lives[shared->value].waiting;
    *waiting += readers;
    if (*waiting > 0)
        return;
    ox_frame_own(frame, shared->value)->tensor.data = NULL; /* a reader after all must not find what comes there */
    release(frame, shared);
}

/* Whether node n, which is skipped, will not read its inputs again. */
static bool is_folded(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    bool folded = frame->plan.steps[n].skip && !ox_op_has(node->op, OX_OP_CONTROL); /* that runs all the same */
    for (int k = 0; k < node->nout; k++)
        folded &= node->out[k] < 0 || ox_frame_own(frame, node->out[k])->constant;
    return folded;
}

/* Readers of a view that node n gives count as readers of its input, whether the node is folded or not. */
static void count_constants(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int k = 0; k < node->nout; k++)
        if (node->out[k] >= 0 && ox_frame_own(frame, node->out[k])->constant && count_readers(frame, node->out[k]))
            await(frame, node->out[k], count_readers(frame, node->out[k]));
    if (!is_folded(frame, n))
        return;
    for (int i = 0; i < node->nin && !(node->op->flags & OX_OP_SHAPE_ONLY); i++)
        await(frame, node->in[i], -1);
    for (int k = 0; k < node->nout; k++)
        await(frame, node->out[k], 0); /* it has no reader */
}

enum {
    MOST_LEFT = 1024 /* bytes: such constants stay where shapes change, for nodes that are folded again */
};

/* Notes of where the results of node n will be, in memory that stays until the stage is planned. */
static ox_status note_temporaries(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int k = 0; k < node->nout; k++) {
        ox_life *life = node->out[k] < 0 ? NULL : &frame->planning.lives[node->out[k]];
        const bool stays = life && (life->is_read || (frame->varies && life->bytes <= MOST_LEFT));
        if (!life || stays || ox_frame_own(frame, node->out[k])->constant)
            continue;
        life->temporary = ox_pile_get(&frame->planning.scratch, sizeof *life->temporary);
        if (!life->temporary)
            return ox_fail_memory(frame->error, "a constant", sizeof *life->temporary);
    }
    return OX_OK;
}

#endif

/* ---- Memory of the run --------------------------------------------------------------------------------------- */

enum {
    ALIGNED = OX_SMALL ? 1 : OX_ALIGN /* constants lie as values in the arena do */
};

/* Plan memory for value v. */
static ox_status take_plan_memory(ox_frame *frame, int v) {
    const size_t bytes = frame->planning.lives[v].bytes;
    const uintptr_t room = (uintptr_t)ox_pile_get(&frame->plan.pile, bytes + ALIGNED);
    if (!room)
        return ox_fail_memory(frame->error, "a constant", bytes);
    ox_frame_own(frame, v)->tensor.data = (void *)ox_round_up(room, ALIGNED);
    return OX_OK;
}

/* Memory for the outputs of node n. */
static ox_status make_outputs(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int k = 0; k < node->nout; k++) {
        const int v = node->out[k];
        if (v < 0 || ox_frame_own(frame, v)->constant)
            continue;
#if OX_WITH_TEMPORARIES
        if (frame->planning.lives[v].temporary) {
            OX_TRY(add_temporary(frame, n, v));
            continue;
        }
#endif
        OX_TRY(take_plan_memory(frame, v));
    }
    return OX_OK;
}

/* Computes node n, which is prepared, into its outputs' memory. */
static ox_status compute(ox_frame *frame, int n) {
    const size_t size = frame->plan.steps[n].work;
    unsigned char *work = ox_pile_aligned(&frame->planning.scratch, size + 1);
    if (!work)
        return ox_fail_memory(frame->error, "computing a constant", size);
    ox_status status = ox_node_run(frame, n, work);
    if (status == OX_OK && ox_pool_cancelled(frame->pool))
        status = ox_fail(frame->error, OX_ERROR_CANCELLED, "cancelled");
    return status;
}

#if !OX_SMALL
enum {
    LEAST_SHARED = 256 /* bytes: smaller constants are not worth a block of the store */
};

/* True if node n gives one tensor that is the same for all sessions of the model, and large. */
static bool is_of_model(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    const int v = node->nout == 1 ? node->out[0] : -1;
    if (v < 0 || !frame->model->store || frame->planning.lives[v].bytes < LEAST_SHARED ||
        ox_frame_own(frame, v)->tensor.dtype == OX_STRING)
        return false;
    return ox_node_is_fixed(frame, n);
}

/* How a constant is made for the store; its last byte says whether that succeeded. */
typedef struct shared_constant {
    ox_frame *frame;
    int node;
    size_t bytes;
    const void *from; /* it is copied from there; NULL: it is computed */
    ox_status *status;
} shared_constant;

/* Says of the weights that node n has read: what it gives lies in the store, and is read in their place. */
static void tell_read(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; i < ox_node_reads(node); i++) {
        const ox_slot *slot = node->in[i] < 0 ? NULL : ox_frame_slot(frame, node->in[i]);
        if (slot && slot->weight && ox_tensor_is_packed(&slot->tensor))
            ox_store_told(frame->model->store, slot->tensor.data,
                          (size_t)ox_tensor_count(&slot->tensor) * ox_dtype_size(slot->tensor.dtype));
    }
}

/* An ox_store_fn. */
static void make_constant(const void *context, void *block) {
    const shared_constant *made = context;
    const int v = made->frame->graph->nodes[made->node].out[0];
    ox_frame_own(made->frame, v)->tensor.data = block;
    if (made->from)
        memcpy(block, made->from, made->bytes);
    else
        *made->status = compute(made->frame, made->node);
    tell_read(made->frame, made->node);
    ((unsigned char *)block)[made->bytes] = *made->status == OX_OK;
}

/* Gives node n's output the memory that all sessions of the model share, filled by the first of them; *shared says
 * whether there is any. make: NULL if only what is there already is wanted. */
static ox_status share_constant(ox_frame *frame, int n, const void *from, ox_store_fn *make, bool *shared) {
    *shared = is_of_model(frame, n);
    if (!*shared)
        return OX_OK;
    const ox_node *node = &frame->graph->nodes[n];
    ox_slot *slot = ox_frame_own(frame, node->out[0]);
    const size_t bytes = frame->planning.lives[node->out[0]].bytes;
    const ox_store_key key = {.layout = OX_LAYOUT_CONSTANT,
                              .dtype = slot->tensor.dtype,
                              .weights = node,
                              .build = frame->loops,
                              .variant = frame->options->no_winograd};
    const void *block;
    ox_status status = OX_OK;
    OX_TRY(ox_store_get(frame->model->store, &key, bytes + 1, make, &(shared_constant){frame, n, bytes, from, &status},
                        &block, frame->error));
    *shared = block && ((const unsigned char *)block)[bytes];
    slot->tensor.data = *shared ? (void *)(uintptr_t)block : NULL; /* only read from */
    slot->weight = *shared;
    return status;
}

/* A constant that a run reads is computed where it stays. */
static ox_status find_shared(ox_frame *frame, int n, bool *shared) {
    const int v = frame->graph->nodes[n].out[0];
    const bool stays = !OX_WITH_TEMPORARIES || (v >= 0 && frame->planning.lives[v].is_read);
    return share_constant(frame, n, NULL, stays ? make_constant : NULL, shared);
}
#else
static ox_status find_shared(ox_frame *frame, int n, bool *shared) {
    (void)frame, (void)n;
    *shared = false;
    return OX_OK;
}
#endif

/* ---- Folding ------------------------------------------------------------------------------------------------- */

/* Computes node n, which is prepared, now. */
static ox_status fold(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    bool shared;
    OX_TRY(find_shared(frame, n, &shared));
    ox_status status = shared ? OX_OK : make_outputs(frame, n);
    if (!shared && status == OX_OK)
        status = compute(frame, n);
    for (int k = 0; k < node->nout; k++) {
        if (node->out[k] < 0)
            continue;
        ox_frame_own(frame, node->out[k])->constant = true;
        ox_frame_own(frame, node->out[k])->fixed = ox_node_is_fixed(frame, n);
        frame->planning.lives[node->out[k]].owner = -1;
    }
    frame->plan.steps[n].skip = true;
    return status;
}

/* The same for a node that is not prepared, if that does not take much. */
static ox_status try_fold(ox_frame *frame, int n) {
    ox_pile_mark mark = ox_pile_save(&frame->planning.scratch);
    ox_step *step = &frame->plan.steps[n];
    ox_status status = ox_plan_prepare(frame, n, true, &frame->planning.scratch);
    if (status == OX_OK && may_take(frame, step->work))
        status = fold(frame, n);
    *ox_frame_prepared(frame, n) = (ox_prepared){0};
    ox_pile_restore(&frame->planning.scratch, mark);
    return status == OX_OK ? OX_OK : ox_frame_explain(frame, n, status);
}

static bool can_fold(const ox_frame *frame, int n) {
    return !frame->plan.steps[n].skip && is_constant(frame, n) && may_take(frame, result_bytes(frame, n));
}

ox_status ox_fold_node(ox_frame *frame, int n) {
    if (can_fold(frame, n)) {
#if OX_WITH_TEMPORARIES
        OX_TRY(note_temporaries(frame, n));
#endif
        OX_TRY(try_fold(frame, n));
    }
#if OX_WITH_TEMPORARIES
    count_constants(frame, n);
#endif
    return OX_OK;
}

#if OX_WITH_UPDATES
ox_status ox_fold_again(ox_frame *frame, int n) {
    return can_fold(frame, n) ? try_fold(frame, n) : OX_OK;
}
#endif

#if OX_WITH_TEMPORARIES
/* Moves a result to where the run reads it. */
static ox_status keep(ox_frame *frame, ox_folded *t) {
    bool shared;
    OX_TRY(share_constant(frame, t->node, t->data, make_constant, &shared));
    ox_slot *slot = ox_frame_own(frame, t->value);
    if (!shared) {
        OX_TRY(take_plan_memory(frame, t->value));
        memcpy(slot->tensor.data, t->data, frame->planning.lives[t->value].bytes);
    }
    t->kept = slot->tensor.data;
    release(frame, t);
    return OX_OK;
}

/* Views of results have moved with them. */
static void move_view(ox_frame *frame, int v) {
    const ox_folded *t = temporary_of(frame, v);
    ox_slot *slot = ox_frame_own(frame, v);
    if (!t || t->value == v || !t->kept || !slot->constant)
        return;
    slot->tensor.data = t->kept + ((char *)slot->tensor.data - t->data);
    slot->weight = slot->fixed && ox_frame_own(frame, t->value)->weight;
}

ox_status ox_fold_keep(ox_frame *frame, int first, int end) {
    while (frame->planning.temporaries)
        OX_TRY(keep(frame, frame->planning.temporaries));
    const ox_node *nodes = frame->graph->nodes;
    for (int n = first; n < end; n++)
        for (int k = 0; k < nodes[n].nout; k++)
            if (nodes[n].out[k] >= 0)
                move_view(frame, nodes[n].out[k]);
    for (int n = first; n < end; n++)
        for (int k = 0; k < nodes[n].nout; k++)
            if (nodes[n].out[k] >= 0)
                frame->planning.lives[nodes[n].out[k]].temporary = NULL; /* the notes are about to go */
    return OX_OK;
}

void ox_fold_drop(ox_frame *frame) {
    while (frame->planning.temporaries)
        release(frame, frame->planning.temporaries);
}
#else
ox_status ox_fold_keep(ox_frame *frame, int first, int end) {
    (void)frame, (void)first, (void)end;
    return OX_OK;
}

void ox_fold_drop(ox_frame *frame) {
    (void)frame;
}
#endif
