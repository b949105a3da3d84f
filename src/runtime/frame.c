/* frame.c: making and freeing frames, and describing their inputs. */
#include "frame.h"

#include <string.h>

/* Notes that node `reader` (nnodes: the caller) reads value v. */
static void note_use(ox_frame *frame, int v, int reader, bool takes_strides) {
    if (v < 0)
        return;
    ox_slot *slot = &frame->slots[v];
    if (reader > slot->last_use)
        slot->last_use = reader;
    if (!takes_strides)
        slot->packed_only = true;
}

static void note_uses(ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    for (int n = 0; n < graph->nnodes; n++) {
        const ox_node *node = &graph->nodes[n];
        for (int i = 0; i < node->nin; i++)
            note_use(frame, node->in[i], n, node->op->flags & OX_OP_STRIDED);
        for (int i = 0; i < node->ncaptures; i++)
            note_use(frame, node->captures[i], n, false);
    }
    for (int i = 0; i < graph->noutputs; i++) {
        note_use(frame, graph->outputs[i], graph->nnodes, false);
        frame->slots[graph->outputs[i]].is_output = true;
        frame->outputs[i] = &frame->slots[graph->outputs[i]].tensor;
    }
}

static ox_status create_slots(ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    size_t count = (size_t)graph->nvalues;
    frame->slots = ox_pile_array(&frame->fixed, count, sizeof *frame->slots);
    frame->outputs = ox_pile_array(&frame->fixed, (size_t)graph->noutputs, sizeof *frame->outputs);
    frame->sources = ox_pile_array(&frame->fixed, count + (size_t)graph->ninputs, sizeof *frame->sources);
    if (!frame->slots || !frame->outputs || !frame->sources)
        return ox_fail_memory(frame->error, "the values of a session", count * sizeof *frame->slots);
    for (int i = 0; i < graph->ninputs; i++)
        frame->sources[frame->nsources++] = graph->inputs[i];
    for (size_t v = 0; v < count; v++) {
        if (graph->values[v].outer >= 0)
            frame->sources[frame->nsources++] = (int)v;
        ox_slot *slot = &frame->slots[v];
        slot->root = slot->owner = slot->last_use = -1;
        if (graph->values[v].initializer) {
            slot->tensor = *graph->values[v].initializer;
            slot->constant = slot->weight = true;
        }
    }
    return OX_OK;
}

/* Lists the readers of every value: counts, then positions, node by node. */
static ox_status list_readers(ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    size_t total = (size_t)graph->noutputs;
    for (int n = 0; n < graph->nnodes; n++)
        total += (size_t)graph->nodes[n].nin + (size_t)graph->nodes[n].ncaptures;
    frame->first_reader = ox_pile_array(&frame->fixed, (size_t)graph->nvalues + 2, sizeof *frame->first_reader);
    frame->readers = ox_pile_array(&frame->fixed, total, sizeof *frame->readers);
    if (!frame->readers || !frame->first_reader)
        return ox_fail_memory(frame->error, "the values of a session", total * sizeof *frame->readers);
    /* first_reader[v + 2] counts, then [v + 1] is where the next reader of v goes, and ends where v + 1 begins. */
    for (int fill = 0; fill < 2; fill++) {
        for (int v = 0; fill && v < graph->nvalues; v++)
            frame->first_reader[v + 2] += frame->first_reader[v + 1];
        for (int n = 0; n < graph->nnodes; n++) {
            const ox_node *node = &graph->nodes[n];
            for (int i = 0; i < node->nin + node->ncaptures; i++) {
                int v = i < node->nin ? node->in[i] : node->captures[i - node->nin];
                if (v >= 0 && fill)
                    frame->readers[frame->first_reader[v + 1]++] = n;
                else if (v >= 0)
                    frame->first_reader[v + 2]++;
            }
        }
        for (int i = 0; i < graph->noutputs; i++) {
            if (fill)
                frame->readers[frame->first_reader[graph->outputs[i] + 1]++] = graph->nnodes;
            else
                frame->first_reader[graph->outputs[i] + 2]++;
        }
    }
    return OX_OK;
}

static int count_subgraphs(const ox_node *node) {
    size_t count = 0;
    for (size_t i = 0; i < node->nattrs && OX_WITH_SUBGRAPHS; i++)
        if (node->attrs[i].kind == OX_ATTR_GRAPH)
            count++;
        else if (node->attrs[i].kind == OX_ATTR_GRAPHS)
            count += node->attrs[i].count;
    return (int)count;
}

/* What a subgraph computes may outlive its next run: its strings are kept with those of the main graph. */
static ox_frame *main_frame(ox_frame *frame) {
    while (frame->outer)
        frame = frame->outer;
    return frame;
}

static const char *input_name(const ox_call *call, int i) {
    const ox_step *step = (const void *)call;
    const ox_graph *graph = step->frame->graph;
    int v = graph->nodes[step - step->frame->steps].in[i];
    return v < 0 ? NULL : graph->values[v].name;
}

static ox_status create_step(ox_frame *frame, ox_step *step, const ox_node *node) {
    size_t nin = (size_t)node->nin, nout = (size_t)node->nout;
    step->frame = frame;
    step->in = ox_pile_array(&frame->fixed, 2 * nin + 1, sizeof *step->in);
    step->out = ox_pile_array(&frame->fixed, nout + 1, sizeof *step->out);
    step->outputs = ox_pile_array(&frame->fixed, nout + 1, sizeof *step->outputs);
    step->nsubframes = count_subgraphs(node);
    if (step->nsubframes)
        step->subframes = ox_pile_array(&frame->fixed, (size_t)step->nsubframes, sizeof *step->subframes);
    if (!step->in || !step->out || !step->outputs || (step->nsubframes && !step->subframes))
        return ox_fail_memory(frame->error, "the nodes of a session", (nin + nout) * sizeof *step->outputs);
    step->run_in = step->in + nin;
    for (size_t i = 0; i < nin; i++)
        step->in[i] = node->in[i] < 0 ? NULL : &frame->slots[node->in[i]].tensor;
    for (size_t k = 0; k < nout; k++)
        step->out[k] = node->out[k] < 0 ? NULL : &frame->slots[node->out[k]].tensor;
    step->call = (ox_call){.op = node->op,
                           .version = node->version,
                           .nin = node->nin,
                           .nout = node->nout,
                           .in = step->in,
                           .out = step->out,
                           .nattrs = node->nattrs,
                           .attrs = node->attrs,
                           .pile = &frame->plan,
                           .strings = &main_frame(frame)->text,
                           .loops = frame->loops,
                           .pool = frame->pool,
                           .store = frame->model->store,
                           .results = frame->results,
                           .input_name = input_name,
                           .run_graph = OX_WITH_SUBGRAPHS ? ox_frame_run_graph : NULL};
    return OX_OK;
}

static ox_status create_steps(ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    int most = 1;
    for (int n = 0; n < graph->nnodes; n++) {
        if (!graph->nodes[n].op)
            return ox_fail(frame->error, OX_ERROR_UNSUPPORTED, "%s: operator %s is not supported", frame->model->path,
                           graph->nodes[n].op_type);
        most = graph->nodes[n].nout > most ? graph->nodes[n].nout : most;
    }
    frame->results = ox_pile_array(&frame->fixed, (size_t)most, sizeof *frame->results);
    frame->steps = ox_pile_array(&frame->fixed, (size_t)graph->nnodes, sizeof *frame->steps);
    if (!frame->results || !frame->steps)
        return ox_fail_memory(frame->error, "the nodes of a session", (size_t)most * sizeof *frame->results);
    for (int n = 0; n < graph->nnodes; n++)
        OX_TRY(create_step(frame, &frame->steps[n], &graph->nodes[n]));
    return OX_OK;
}

ox_status ox_frame_create(const ox_model *model, const ox_graph *graph, const ox_options *options, ox_pool *pool,
                          ox_frame *outer, ox_frame **result, ox_error *error) {
    const ox_allocator *allocator = options->allocator;
    ox_frame *frame = ox_alloc(allocator, sizeof *frame);
    *result = NULL;
    if (!frame)
        return ox_fail_memory(error, "a session", sizeof *frame);
    *frame = (ox_frame){.model = model,
                        .graph = graph,
                        .options = options,
                        .allocator = allocator,
                        .loops = ox_loops_find(options->isa),
                        .pool = pool,
                        .outer = outer,
                        .error = error};
    ox_pile_init(&frame->fixed, allocator, SIZE_MAX);
    ox_pile_init(&frame->plan, allocator, SIZE_MAX);
    ox_pile_init(&frame->text, allocator, SIZE_MAX);
    ox_status status = create_slots(frame);
    if (status == OX_OK)
        status = create_steps(frame);
    if (status == OX_OK && OX_WITH_FUSION)
        status = list_readers(frame);
    if (status != OX_OK) {
        ox_frame_free(frame);
        return status;
    }
    note_uses(frame);
    *result = frame;
    return OX_OK;
}

void ox_frame_free(ox_frame *frame) {
    if (!frame)
        return;
    for (int n = 0; frame->steps && n < frame->graph->nnodes; n++)
        for (int i = 0; OX_WITH_SUBGRAPHS && frame->steps[n].subframes && i < frame->steps[n].nsubframes; i++)
            ox_frame_free(frame->steps[n].subframes[i]);
    ox_release(frame->allocator, frame->arena_block, frame->arena_block_size);
    ox_pile_free(&frame->text);
    ox_pile_free(&frame->plan);
    ox_pile_free(&frame->fixed);
    ox_release(frame->allocator, frame, sizeof *frame);
}

static bool same_description(const ox_slot *slot, const ox_tensor *tensor, bool constant) {
    const ox_tensor *old = &slot->tensor;
    if (slot->constant != constant || (constant && old->data != tensor->data) || old->dtype != tensor->dtype ||
        !ox_same_dims(old->rank, old->dims, tensor->rank, tensor->dims) || !old->strides != !tensor->strides)
        return false;
    return !old->strides || ox_same_dims(old->rank, old->strides, tensor->rank, tensor->strides);
}

ox_status ox_frame_set(ox_frame *frame, int v, const ox_tensor *tensor, bool constant) {
    ox_slot *slot = &frame->slots[v];
    slot->given = tensor->data;
    if (slot->shape && same_description(slot, tensor, constant))
        return OX_OK;
    ox_stage_forget(frame, frame->stages);
    size_t rank = (size_t)tensor->rank;
    if (!slot->shape || slot->shape_room < tensor->rank) {
        int64_t *shape = ox_pile_array(&frame->fixed, 4 * rank + 2, sizeof *shape);
        if (!shape)
            return ox_fail_memory(frame->error, "the shape of an input", 4 * rank * sizeof *shape);
        slot->shape = shape;
        slot->shape_room = 2 * tensor->rank + 1;
    }
    int64_t *dims = slot->shape, *strides = slot->shape + slot->shape_room;
    if (rank) {
        memcpy(dims, tensor->dims, rank * sizeof *dims);
        if (tensor->strides)
            memcpy(strides, tensor->strides, rank * sizeof *strides);
    }
    slot->tensor = (ox_tensor){tensor->dtype, tensor->rank, dims, tensor->strides ? strides : NULL,
                               constant ? tensor->data : NULL};
    int outer = frame->graph->values[v].outer;
    slot->constant = constant;
    slot->weight = outer < 0 ? constant : frame->outer->slots[outer].weight;
    slot->foreign = !constant;
    return OX_OK;
}

void ox_frame_memory(const ox_frame *frame, size_t *arena, size_t *plan) {
    *arena += frame->high_water;
    *plan += frame->fixed.used + frame->plan.used + frame->text.used;
    for (int n = 0; n < frame->graph->nnodes; n++)
        for (int i = 0; i < frame->steps[n].nsubframes; i++)
            if (frame->steps[n].subframes[i])
                ox_frame_memory(frame->steps[n].subframes[i], arena, plan);
}

ox_status ox_frame_explain(const ox_frame *frame, int n, ox_status status) {
    const ox_node *node = &frame->graph->nodes[n];
    const char *path = frame->outer ? "" : frame->model->path, *separator = frame->outer ? "" : ": ";
    const char *output = node->nout && node->out[0] >= 0 ? frame->graph->values[node->out[0]].name : "";
    bool named = *node->name;
    ox_error_prefix(frame->error, "%s%snode %s'%.*s' (%.*s%s%.*s-%d): ", path, separator, named ? "" : "that gives ",
                    60, named ? node->name : output, 40, node->domain, *node->domain ? "." : "", 40, node->op_type,
                    ox_op_version(node->op, node->version));
    return status;
}
