/* frame.c: making and freeing frames, and describing their inputs. */
#include "frame.h"

#include <string.h>

#include "inner.h"
#include "ops/index/unpack_bits.h"

int ox_frame_most(const ox_graph *graph, bool outputs) {
    int most = 1;
    for (int n = 0; n < graph->nnodes; n++) {
        int count = outputs ? graph->nodes[n].nout : graph->nodes[n].nin;
        most = count > most ? count : most;
    }
    return most;
}

/* ---- Making frames ------------------------------------------------------------------------------------------ */

/* initial: its default, NULL if there is none. */
static void add_source(ox_frame *frame, int v, const ox_tensor *initial) {
    ox_slot *slot = ox_frame_own(frame, v);
    frame->sources[frame->nsources++] = (ox_source){.value = v, .slot = slot};
    slot->source = true;
    slot->constant = slot->fixed = slot->weight = initial != NULL;
    if (initial)
        slot->tensor = *initial;
}

static ox_status create_slots(ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    const size_t count = (size_t)(graph->nvalues - graph->nweights);
    const size_t nsources = (size_t)(graph->ninputs + graph->ncaptures);
    frame->own = ox_pile_array(&frame->fixed, count, sizeof *frame->own);
    frame->outputs = ox_pile_array(&frame->fixed, (size_t)graph->noutputs, sizeof *frame->outputs);
    frame->sources = ox_pile_array(&frame->fixed, nsources, sizeof *frame->sources);
    if (OX_WITH_CHECKS && frame->options->warn)
        frame->told = ox_pile_array(&frame->fixed, (size_t)graph->noutputs, sizeof *frame->told);
    if (!frame->own || !frame->outputs || !frame->sources || (OX_WITH_CHECKS && frame->options->warn && !frame->told))
        return ox_fail_memory(frame->error, "the values of a session", count * sizeof *frame->own);
    for (int i = 0; i < graph->ninputs; i++)
        add_source(frame, graph->inputs[i].value, graph->inputs[i].initial);
    for (int i = 0; i < graph->ncaptures; i++)
        add_source(frame, graph->captures[i].value, NULL);
    for (int i = 0; i < graph->noutputs; i++)
        frame->outputs[i] = &ox_frame_slot(frame, graph->outputs[i].value)->tensor;
    return OX_OK;
}

static int count_subgraphs(const ox_node *node) {
    size_t count = 0;
    for (int i = 0; i < node->nattrs && OX_WITH_SUBGRAPHS; i++)
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

/* The name of the integers that an UnpackBits gives of a value, and their type and shape; NULL if none does. */
static const char *show_unpacked(const ox_graph *graph, int v, ox_tensor *shown) {
#if OX_WITH_OWN_OPERATORS
    const ox_written *written = ox_graph_written(graph);
    const ox_graph *model = written ? &written->graph : graph;
    for (int n = 0; n < model->nnodes && ox_graph_weight(graph, v); n++) {
        const ox_node *node = &model->nodes[n];
        if (node->op != &ox_op_unpack_bits || node->in[0] != v)
            continue;
        *shown = ox_unpacked_tensor(node->attrs, node->nattrs);
        return ox_graph_name(model, node->out[0]);
    }
#else
    (void)graph, (void)v, (void)shown;
#endif
    return NULL;
}

static const char *show_input(const ox_call *call, int i, ox_tensor *shown) {
    const ox_work *work = (const void *)call;
    const ox_graph *graph = work->frame->graph;
    const int v = graph->nodes[work->node].in[i];
    const char *name = v < 0 ? NULL : show_unpacked(graph, v, shown);
    return name || v < 0 ? name : ox_graph_name(graph, v);
}

/* The call that shows one node after the other. */
static ox_status create_work(ox_frame *frame) {
    const size_t nin = (size_t)ox_frame_most(frame->graph, false), nout = (size_t)ox_frame_most(frame->graph, true);
    ox_work *work = &frame->work;
    work->frame = frame;
    work->in = ox_pile_array(&frame->fixed, nin, sizeof *work->in);
    work->out = ox_pile_array(&frame->fixed, nout, sizeof *work->out);
    if (!work->in || !work->out)
        return ox_fail_memory(frame->error, "the nodes of a session", (nin + nout) * sizeof *work->in);
    work->call = (ox_call){.in = work->in,
                           .out = work->out,
                           .strings = &main_frame(frame)->text,
                           .loops = frame->loops,
                           .pool = frame->pool,
                           .store = frame->model->store,
                           .show_input = show_input};
#if !OX_SMALL
    work->call.plain_products = frame->options->no_winograd;
    work->call.conv = frame->model->conv;
#endif
    return OX_OK;
}

ox_call *ox_frame_call(ox_frame *frame, int n, ox_pile *pile) {
    const ox_node *node = &frame->graph->nodes[n];
    ox_work *work = &frame->work;
    OX_ASSERT(n >= 0 && n < frame->graph->nnodes);
    ox_call *call = &work->call;
    work->node = n;
    for (int i = 0; i < node->nin; i++)
        work->in[i] = node->in[i] < 0 ? NULL : &ox_frame_slot(frame, node->in[i])->tensor;
    for (int k = 0; k < node->nout; k++)
        work->out[k] = node->out[k] < 0 ? NULL : &ox_frame_own(frame, node->out[k])->tensor;
    call->op = node->op;
    call->version = node->version;
    call->nin = node->nin;
    call->nout = node->nout;
    call->nattrs = (size_t)node->nattrs;
    call->attrs = node->attrs;
    call->state = ox_frame_prepared(frame, n)->state;
    call->epilogue = ox_frame_dense(frame, n) == n ? &frame->plan.members[n].group->epilogue : NULL;
    call->pile = pile;
#if OX_ASSERTIONS
    call->pieces = NULL;
#endif
    call->results = frame->planning.results;
    call->error = frame->error;
    call->attr_status = OX_OK;
    return call;
}

bool ox_frame_lists(const ox_frame *frame, ox_pile *pile, ox_plan *plan) {
    const size_t count = (size_t)frame->graph->nnodes, members = OX_WITH_FUSION ? count : 0;
    plan->steps = ox_pile_array(pile, count, sizeof *plan->steps);
    plan->members = ox_pile_array(pile, members, sizeof *plan->members);
    plan->prepared = ox_pile_array(pile, OX_KEEP_STATE ? count : 1, sizeof *plan->prepared);
    return plan->steps && plan->members && plan->prepared;
}

#if OX_WITH_WIDENING
/* Types as the model has them, where ox_options.float16_sums changed some: those that it states, of initializers, and
 * of what a subgraph reads. */
static ox_status create_written(ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    const size_t count = (size_t)graph->nvalues, nin = (size_t)ox_frame_most(graph, false);
    if (!graph->types_written)
        return OX_OK;
    frame->work.written = ox_pile_array(&frame->fixed, count, sizeof *frame->work.written);
    frame->work.as_written = ox_pile_array(&frame->fixed, nin, sizeof *frame->work.as_written);
    if (!frame->work.written || !frame->work.as_written)
        return ox_fail_memory(frame->error, "the types of a session", count * sizeof *frame->work.written);
    memcpy(frame->work.written, graph->types_written, count * sizeof *frame->work.written);
    for (int i = 0; i < graph->ncaptures; i++)
        frame->work.written[graph->captures[i].value] = frame->outer->work.written[graph->captures[i].outer];
    return OX_OK;
}
#endif

static ox_status create_steps(ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    if (!ox_frame_lists(frame, &frame->fixed, &frame->plan))
        return ox_fail_memory(frame->error, "the nodes of a session", (size_t)graph->nnodes * sizeof(ox_step));
    for (int n = 0; n < graph->nnodes; n++)
        if (!ox_op_is_known(graph->nodes[n].op))
            return ox_fail(frame->error, OX_ERROR_UNSUPPORTED, "%s: operator %s is not supported", frame->model->path,
                           graph->nodes[n].op->name);
    return OX_OK;
}

/* Room for the frames of subgraphs, which are made when they are first run. */
static ox_status create_inner(ox_frame *frame, int n, int count) {
    const size_t nodes = (size_t)frame->graph->nnodes;
    if (!frame->subframes)
        frame->subframes = ox_pile_array(&frame->fixed, nodes, sizeof *frame->subframes);
    ox_frame **frames = ox_pile_array(&frame->fixed, (size_t)count, sizeof *frames);
    if (!frame->subframes || !frames)
        return ox_fail_memory(frame->error, "the subgraphs of a session", nodes * sizeof *frame->subframes);
    frame->subframes[n] = (ox_subframes){count, frames};
    return OX_OK;
}

static ox_status create_subframes(ox_frame *frame) {
    for (int n = 0; OX_WITH_SUBGRAPHS && n < frame->graph->nnodes; n++) {
        const int count = count_subgraphs(&frame->graph->nodes[n]);
        if (count)
            OX_TRY(create_inner(frame, n, count));
    }
    return OX_OK;
}

ox_status ox_frame_create(const ox_means *means, const ox_graph *graph, ox_frame *outer, ox_frame **result,
                          ox_error *error) {
    const ox_allocator *allocator = means->allocator;
    ox_frame *frame = ox_alloc(allocator, sizeof *frame);
    *result = NULL;
    if (!frame)
        return ox_fail_memory(error, "a session", sizeof *frame);
    *frame = (ox_frame){.model = means->model,
                        .graph = ox_graph_for(graph, means->options),
                        .options = means->options,
                        .allocator = allocator,
                        .loops = ox_loops_find(means->options->isa),
                        .pool = means->pool,
                        .outer = outer,
                        .error = error};
    ox_pile_init(&frame->fixed, allocator);
    ox_pile_init(&frame->plan.pile, allocator);
#if OX_WITH_KEPT
    ox_pile_init(&frame->plan.lists, allocator);
#endif
    ox_pile_init(&frame->text, allocator);
    ox_pile_init(&frame->planning.scratch, means->temporary);
    ox_status status = create_slots(frame);
    if (status == OX_OK)
        status = create_steps(frame);
    if (status == OX_OK)
        status = create_subframes(frame);
#if OX_WITH_WIDENING
    if (status == OX_OK)
        status = create_written(frame);
#endif
    if (status == OX_OK)
        status = create_work(frame);
    if (status != OX_OK) {
        ox_frame_free(frame);
        return status;
    }
    *result = frame;
    return OX_OK;
}

static void free_checking(ox_frame *frame) {
#if OX_WITH_SELF_CHECK
    ox_checking *checking = &frame->checking;
    for (int v = 0; checking->copies && v < frame->graph->nvalues; v++)
        ox_release(frame->allocator, checking->copies[v].block, checking->copies[v].size);
    ox_frame_free(checking->second);
#else
    (void)frame;
#endif
}

static void free_kept(ox_frame *frame) {
#if OX_WITH_KEPT
    for (int i = 0; i < frame->keeping.most; i++) {
        ox_pile_free(&frame->keeping.plans[i].planning.scratch);
        ox_pile_free(&frame->keeping.plans[i].plan.pile);
        ox_pile_free(&frame->keeping.plans[i].plan.lists);
    }
    ox_pile_free(&frame->plan.lists);
#else
    (void)frame;
#endif
}

void ox_frame_free(ox_frame *frame) {
    if (!frame)
        return;
    free_checking(frame);
    for (int n = 0; OX_WITH_SUBGRAPHS && n < frame->graph->nnodes; n++) {
        const ox_subframes subframes = ox_frame_inner(frame, n);
        for (int i = 0; i < subframes.count; i++)
            ox_frame_free(subframes.frames[i]);
    }
    for (int i = 0; OX_WITH_SUBGRAPHS && frame->inner && i < frame->inner->nrooms; i++)
        ox_release(frame->allocator, frame->inner->rooms[i].block, frame->inner->rooms[i].size);
    ox_release(frame->allocator, frame->arena.block, frame->arena.block_size);
    ox_pile_free(&frame->planning.scratch);
    ox_pile_free(&frame->text);
    ox_pile_free(&frame->plan.pile);
    free_kept(frame);
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

/* What comes into a subgraph; the caller's inputs have been compared before. */
static ox_status check_stated(const ox_frame *frame, int v, const ox_tensor *tensor) {
    const ox_dtype stated = ox_graph_dtype(frame->graph, v);
    if (ox_type_fits(stated, tensor->dtype))
        return OX_OK;
    return ox_fail(frame->error, OX_ERROR_MODEL, "'%.*s' in a subgraph is of type %s, but the model states %s", 60,
                   ox_graph_name(frame->graph, v), OX_TYPE(tensor->dtype), OX_TYPE(stated));
}

ox_status ox_frame_set(ox_frame *frame, int source, const ox_tensor *tensor, const ox_slot *known) {
    const bool constant = known && known->constant;
    ox_source *from = &frame->sources[source];
    ox_slot *slot = from->slot;
    OX_TRY(check_stated(frame, from->value, tensor));
    from->given = tensor->data;
    if (from->shape && same_description(slot, tensor, constant))
        return OX_OK;
    frame->plan.stale = true;
    size_t rank = (size_t)tensor->rank;
    if (!from->shape || from->shape_room < tensor->rank) {
        const size_t room = OX_SMALL ? rank : 2 * rank + 1;
        int64_t *shape = ox_pile_array(&frame->fixed, 2 * room, sizeof *shape);
        if (!shape)
            return ox_fail_memory(frame->error, "the shape of an input", 2 * room * sizeof *shape);
        from->shape = shape; /* what was prepared for the shape before may point there */
        from->shape_room = (int)room;
    }
    int64_t *dims = from->shape, *strides = from->shape + from->shape_room;
    if (rank) {
        memcpy(dims, tensor->dims, rank * sizeof *dims);
        if (tensor->strides)
            memcpy(strides, tensor->strides, rank * sizeof *strides);
    }
    slot->tensor = (ox_tensor){tensor->dtype, tensor->rank, dims, tensor->strides ? strides : NULL,
                               constant ? tensor->data : NULL};
    slot->constant = constant;
    slot->fixed = known && known->fixed;
    slot->weight = known && known->weight;
    slot->foreign = !constant;
    return OX_OK;
}

void ox_frame_memory(const ox_frame *frame, size_t *arena, size_t *plan) {
    *arena += frame->arena.used;
    for (int i = 0; frame->inner && i < frame->inner->nrooms; i++)
        *arena += frame->inner->rooms[i].size;
    *plan += frame->fixed.used + frame->plan.pile.used + frame->text.used + frame->planning.scratch.used;
#if OX_WITH_KEPT
    *plan += frame->plan.lists.used;
    for (int i = 0; i < frame->keeping.most; i++)
        *plan += frame->keeping.plans[i].plan.pile.used + frame->keeping.plans[i].plan.lists.used +
                 frame->keeping.plans[i].planning.scratch.used;
#endif
    for (int n = 0; n < frame->graph->nnodes; n++) {
        const ox_subframes subframes = ox_frame_inner(frame, n);
        for (int i = 0; i < subframes.count; i++)
            if (subframes.frames[i])
                ox_frame_memory(subframes.frames[i], arena, plan);
    }
}

/* "node 'name'", or what else tells it from the others. */
static void name_node(const ox_frame *frame, int n, char *text, size_t size) {
    const ox_node *node = &frame->graph->nodes[n];
    const char *output = node->nout && node->out[0] >= 0 ? ox_graph_name(frame->graph, node->out[0]) : "";
    const char *name = ox_graph_node_name(frame->graph, n);
    if (*name)
        ox_format(text, size, "node '%.*s'", 60, name);
    else if (*output)
        ox_format(text, size, "node that gives '%.*s'", 60, output);
    else
        ox_format(text, size, "node %d", n);
}

#if OX_KEEP_WRITTEN
/* Whether node i of the model is the one that node n stands for: by its name, or else by what it gives. */
static bool stands_for(const ox_frame *frame, int n, const ox_graph *model, int i) {
    const ox_node *node = &frame->graph->nodes[n], *other = &model->nodes[i];
    const char *name = ox_graph_node_name(frame->graph, n);
    if (*name)
        return !ox_text_order(name, ox_graph_node_name(model, i));
    return node->nout && other->nout && node->out[0] == other->out[0];
}
#endif

/* The node as the model has it: integer operators took the place of some. */
static const ox_node *node_of_model(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
#if OX_KEEP_WRITTEN
    const ox_written *written = ox_graph_written(frame->graph);
    const ox_node *found = node;
    for (int i = 0; written && i < written->graph.nnodes; i++)
        if (stands_for(frame, n, &written->graph, i)) {
            found = &written->graph.nodes[i];
            if (found->op == node->op)
                break;
        }
    return found;
#else
    return node;
#endif
}

ox_status ox_frame_explain(const ox_frame *frame, int n, ox_status status) {
    const ox_node *node = node_of_model(frame, n);
    if (ox_pool_cancelled(frame->pool)) /* what a node says that was cut short is no reason */
        status = ox_fail(frame->error, OX_ERROR_CANCELLED, "cancelled");
    const char *path = frame->outer ? "" : frame->model->path, *separator = frame->outer ? "" : ": ";
    char name[96];
    name_node(frame, n, name, sizeof name);
    ox_error_prefix(frame->error, "%s%s%s (%.*s%s%.*s-%d): ", path, separator, name, 40, node->op->domain,
                    *node->op->domain ? "." : "", 40, node->op->name, ox_op_version(node->op, node->version));
    return status;
}

ox_status ox_frame_cancelled(const ox_frame *frame, int n) {
    OX_ASSERT(ox_pool_cancelled(frame->pool));
    return ox_frame_explain(frame, n, OX_ERROR_CANCELLED);
}
