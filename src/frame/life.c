/* life.c: liveness analysis: the readers of the values of a graph, and the last of them. */
#include "life.h"

#include "frame.h"

/* ---- Buffers ------------------------------------------------------------------------------------------------- */

#if OX_WITH_PARTS

/* Buffers in buffers are trees, whose paths are halved whenever they are followed. */
static void shorten_path(ox_life *lives, int v) {
    for (int parent = lives[v].owner; lives[parent].owner != parent; parent = lives[v].owner) {
        lives[v].at += lives[parent].at;
        lives[v].owner = lives[parent].owner;
        v = lives[v].owner;
    }
}

int ox_life_owner(const ox_planning *planning, int v) {
    ox_life *lives = planning->lives;
    while (lives[v].owner >= 0 && lives[lives[v].owner].owner != lives[v].owner)
        shorten_path(lives, v);
    return lives[v].owner;
}

size_t ox_life_at(const ox_planning *planning, int v) {
    return ox_life_owner(planning, v) < 0 ? 0 : planning->lives[v].at;
}

#endif

/* ---- Readers ------------------------------------------------------------------------------------------------- */

/* Notes that node `reader` (nnodes: the caller) reads value v. */
static void note_use(ox_frame *frame, int v, int reader, bool takes_strides) {
    if (v < 0)
        return;
    ox_life *life = &frame->planning.lives[v];
    if (reader > life->last_use)
        life->last_use = reader;
    if (!takes_strides)
        life->packed_only = true;
}

static void note_uses(ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    for (int n = 0; n < graph->nnodes; n++) {
        const ox_node *node = &graph->nodes[n];
        for (int i = 0; i < ox_node_named(node); i++)
            note_use(frame, ox_node_value(node, i), n, i < node->nin && node->op->flags & OX_OP_STRIDED);
    }
    for (int i = 0; i < graph->noutputs; i++) {
        note_use(frame, graph->outputs[i].value, graph->nnodes, false);
        frame->planning.lives[graph->outputs[i].value].is_output = true;
    }
}

/* Lists the readers of every value: counts, then positions, node by node. */
static ox_status list_readers(ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    size_t total = (size_t)graph->noutputs;
    for (int n = 0; n < graph->nnodes; n++)
        total += (size_t)ox_node_reads_in_all(&graph->nodes[n]);
    frame->planning.first_reader =
        ox_pile_array(&frame->planning.scratch, (size_t)graph->nvalues + 2, sizeof *frame->planning.first_reader);
    frame->planning.readers = ox_pile_array(&frame->planning.scratch, total, sizeof *frame->planning.readers);
    if (!frame->planning.readers || !frame->planning.first_reader)
        return ox_fail_memory(frame->error, "the values of a session", total * sizeof *frame->planning.readers);
    /* first_reader[v + 2] counts, then [v + 1] is where the next reader of v goes, and ends where v + 1 begins. */
    for (int fill = 0; fill < 2; fill++) {
        for (int v = 0; fill && v < graph->nvalues; v++)
            frame->planning.first_reader[v + 2] += frame->planning.first_reader[v + 1];
        for (int n = 0; n < graph->nnodes; n++) {
            const ox_node *node = &graph->nodes[n];
            for (int i = 0; i < ox_node_reads_in_all(node); i++) {
                int v = ox_node_value(node, i);
                if (v >= 0 && fill)
                    frame->planning.readers[frame->planning.first_reader[v + 1]++] = n;
                else if (v >= 0)
                    frame->planning.first_reader[v + 2]++;
            }
        }
        for (int i = 0; i < graph->noutputs; i++) {
            if (fill)
                frame->planning.readers[frame->planning.first_reader[graph->outputs[i].value + 1]++] = graph->nnodes;
            else
                frame->planning.first_reader[graph->outputs[i].value + 2]++;
        }
    }
    return OX_OK;
}

#if OX_WITH_TEMPORARIES

/* True if what node n gives is known to change from one run to the next. `varies`: the same of each value. */
static bool node_varies(const ox_node *node, const bool *varies) {
    bool found = node->op->flags & (OX_OP_CONTROL | OX_OP_RANDOM);
    for (int i = 0; i < ox_node_reads(node) && !found; i++)
        found = node->in[i] >= 0 && varies[node->in[i]];
    return found;
}

static void note_reads(ox_frame *frame, const ox_node *node, const bool *varies) {
    ox_life *lives = frame->planning.lives;
    bool runs = node_varies(node, varies);
    for (int k = 0; k < node->nout && !runs && !node->op->run; k++) /* a view */
        runs = node->out[k] >= 0 && lives[node->out[k]].is_read;
    for (int i = 0; i < node->nin && runs && !(node->op->flags & OX_OP_SHAPE_ONLY); i++)
        if (node->in[i] >= 0)
            lives[node->in[i]].is_read = true;
    for (int i = node->nin; i < ox_node_named(node); i++)
        lives[ox_node_value(node, i)].is_read = true;
}

/* Finds the values that runs will read, and those that are certainly not constants. A wrong guess costs an extra copy
 * of a constant, or keeps an unused one. */
static ox_status foresee_reads(ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    const ox_pile_mark mark = ox_pile_save(&frame->planning.scratch);
    bool *varies = ox_pile_array(&frame->planning.scratch, (size_t)graph->nvalues, sizeof *varies);
    if (!varies)
        return ox_fail_memory(frame->error, "planning", (size_t)graph->nvalues);
    for (int i = 0; i < frame->nsources; i++)
        varies[frame->sources[i].value] = !frame->sources[i].slot->constant;
    for (int n = 0; n < graph->nnodes; n++)
        for (int k = 0; k < graph->nodes[n].nout; k++)
            if (graph->nodes[n].out[k] >= 0)
                varies[graph->nodes[n].out[k]] = node_varies(&graph->nodes[n], varies);
    for (int i = 0; i < graph->noutputs; i++)
        frame->planning.lives[graph->outputs[i].value].is_read = true;
    for (int n = graph->nnodes; n-- > 0;)
        note_reads(frame, &graph->nodes[n], varies);
    ox_pile_restore(&frame->planning.scratch, mark);
    return OX_OK;
}

#endif

ox_status ox_life_study(ox_frame *frame) {
    const size_t count = (size_t)frame->graph->nvalues, most = (size_t)ox_frame_most(frame->graph, true);
    ox_life_forget(frame);
    frame->planning.lives = ox_pile_array(&frame->planning.scratch, count, sizeof *frame->planning.lives);
    frame->planning.results = ox_pile_array(&frame->planning.scratch, most, sizeof *frame->planning.results);
    if (!frame->planning.lives || !frame->planning.results)
        return ox_fail_memory(frame->error, "planning", count * sizeof *frame->planning.lives);
    for (size_t v = 0; v < count; v++)
        frame->planning.lives[v].root = frame->planning.lives[v].owner = frame->planning.lives[v].last_use = -1;
    note_uses(frame);
    if (OX_WITH_FUSION)
        OX_TRY(list_readers(frame));
#if OX_WITH_TEMPORARIES
    OX_TRY(foresee_reads(frame));
#endif
    return OX_OK;
}

void ox_life_forget(ox_frame *frame) {
    ox_pile_free(&frame->planning.scratch);
    frame->planning.lives = NULL;
    frame->planning.results = NULL;
    frame->planning.readers = frame->planning.first_reader = NULL;
#if !OX_SMALL
    frame->planning.giver = frame->planning.classes = NULL;
#endif
}
