/* body.c: what control operators see of the frames of their subgraphs. */
#include "body.h"

#include <string.h>

#include "iterate/bcast.h"

void ox_body_ends(const ox_graph *graph, int *nin, int *nout) {
    *nin = graph->ninputs;
    *nout = graph->noutputs;
}

static ox_status place_result(ox_frame *sub, int k, const ox_tensor *output, void **memory) {
    return ox_body_place(sub->inner, k, output, memory);
}

/* ---- Opening ------------------------------------------------------------------------------------------------ */

static ox_status create_inner(ox_frame *sub, int placed_from) {
    const ox_graph *graph = sub->graph;
    const size_t nout = (size_t)graph->noutputs, nrooms = 3 * nout + 1;
    ox_inner *inner = ox_pile_get(&sub->fixed, sizeof *inner);
    if (!inner)
        return ox_fail_memory(sub->error, "a subgraph", sizeof *inner);
    sub->inner = inner;
    sub->placer = (ox_placer){place_result, NULL, placed_from};
    *inner = (ox_inner){.body = {.nin = graph->ninputs, .nout = graph->noutputs, .placed_from = placed_from},
                        .frame = sub,
                        .results = ox_pile_array(&sub->fixed, nout, sizeof *inner->results),
                        .placed = ox_pile_array(&sub->fixed, nout, sizeof *inner->placed),
                        .rooms = ox_pile_array(&sub->fixed, nrooms, sizeof *inner->rooms)};
    inner->body.results = inner->results;
    if (!inner->results || !inner->placed || !inner->rooms)
        return ox_fail_memory(sub->error, "a subgraph", nrooms * sizeof *inner->rooms);
    inner->nrooms = (int)nrooms;
    return OX_OK;
}

/* The frame of a subgraph, made when it is first run. */
static ox_status make_frame(ox_frame *frame, const ox_graph *graph, int placed_from, ox_frame **sub) {
    ox_frame *made;
    const ox_means means = {frame->model, frame->options, frame->allocator, frame->planning.scratch.allocator,
                            frame->pool};
    OX_TRY(ox_frame_create(&means, graph, frame, &made, frame->error));
    ox_status status = create_inner(made, placed_from);
    if (status == OX_OK)
        *sub = made;
    else
        ox_frame_free(made);
    return status;
}

/* A source is value v of the graph around. */
static ox_status take_outer(ox_frame *sub, int source, int v) {
    const ox_slot *outer = ox_frame_slot(sub->outer, v);
    OX_TRY(ox_frame_set(sub, source, &outer->tensor, outer));
    sub->plan.stale |= outer->constant && !outer->fixed && sub->inner->renewed;
    return OX_OK;
}

ox_status ox_body_open(ox_call *call, int number, const ox_graph *graph, int placed_from, ox_body **body) {
    const ox_work *work = (const void *)call;
    ox_frame *frame = work->frame;
    const ox_subframes subframes = ox_frame_inner(frame, work->node);
    if (number >= subframes.count)
        return ox_call_fail(call, OX_ERROR_MODEL, "the node has %d subgraphs, not %d", subframes.count, number + 1);
    if (!subframes.frames[number])
        OX_TRY(make_frame(frame, graph, placed_from, &subframes.frames[number]));
    ox_frame *sub = subframes.frames[number];
    sub->error = frame->error;
    sub->profile = frame->profile;
    sub->inner->renewed = sub->inner->forgotten != frame->plan.forgotten;
    sub->inner->forgotten = frame->plan.forgotten;
    for (int i = graph->ninputs; i < sub->nsources; i++)
        OX_TRY(take_outer(sub, i, graph->captures[i - graph->ninputs].outer));
    *body = &sub->inner->body;
    return OX_OK;
}

/* ---- Inputs ------------------------------------------------------------------------------------------------- */

int ox_body_input_rank(const ox_body *body, int i) {
    const ox_inner *inner = (const void *)body;
    const ox_shape *shape = inner->frame->graph->inputs[i].shape;
    return shape ? shape->rank : -1;
}

ox_status ox_body_set(ox_body *body, int i, const ox_tensor *tensor) {
    ox_inner *inner = (void *)body;
    return ox_frame_set(inner->frame, i, tensor, NULL);
}

ox_status ox_body_hand_in(ox_body *body, int i, int given) {
    ox_frame *sub = ((ox_inner *)(void *)body)->frame;
    const ox_frame *frame = sub->outer;
    return take_outer(sub, i, frame->graph->nodes[frame->work.node].in[given]);
}

bool ox_body_gives_back(const ox_body *body, int i, int k) {
    const ox_graph *graph = ((const ox_inner *)(const void *)body)->frame->graph;
    return graph->inputs[i].value == graph->outputs[k].value;
}

/* ---- Outputs ------------------------------------------------------------------------------------------------ */

void ox_body_begin(ox_inner *inner) {
    for (int k = inner->body.placed_from; k < inner->body.nout; k++)
        inner->placed[k] = false;
}

ox_status ox_body_place(ox_inner *inner, int k, const ox_tensor *output, void **place) {
    OX_TRY(inner->body.place(inner->body.context, k, output, place));
    inner->results[k].data = *place;
    inner->placed[k] = true;
    return OX_OK;
}

/* Copies output k, which lies elsewhere, to its place. */
static ox_status copy_output(ox_inner *inner, int k) {
    const ox_frame *frame = inner->frame;
    const ox_tensor *output = frame->outputs[k];
    void *place;
    OX_TRY(ox_body_place(inner, k, output, &place));
    if (place == output->data)
        return OX_OK;
    ox_pack(frame->loops, frame->pool, output, place);
    inner->results[k].strides = NULL;
    return OX_OK;
}

ox_status ox_body_finish(ox_inner *inner) {
    for (int k = 0; k < inner->body.nout; k++) {
        inner->results[k] = *inner->frame->outputs[k];
        if (k >= inner->body.placed_from && !inner->placed[k])
            OX_TRY(copy_output(inner, k));
    }
    return OX_OK;
}

bool ox_body_borrows(const ox_body *body, int k) {
    const ox_frame *frame = ((const ox_inner *)(const void *)body)->frame;
    const ox_slot *slot = ox_frame_slot(frame, frame->graph->outputs[k].value);
    return slot->source && !slot->constant;
}

/* True if the plan describes value v, whatever ran before: later stages are those of the last run. */
static bool is_planned(const ox_frame *frame, int v) {
    if (ox_graph_weight(frame->graph, v) || ox_frame_is_source(frame, v))
        return true;
    for (int n = 0; n < frame->plan.stages->end; n++)
        for (int k = 0; k < frame->graph->nodes[n].nout; k++)
            if (frame->graph->nodes[n].out[k] == v)
                return true;
    return false;
}

ox_status ox_body_foresee(const ox_inner *inner, int k, bool planned, ox_result *result) {
    const ox_frame *frame = inner->frame;
    const ox_port *port = &frame->graph->outputs[k];
    const ox_tensor *tensor = &ox_frame_slot(frame, port->value)->tensor;
    /* an input that nothing was given to is not known */
    const bool known = planned && is_planned(frame, port->value) && tensor->dtype != OX_UNDEFINED;
    const int64_t *dims = known ? tensor->dims : port->shape ? port->shape->dims : NULL;
    *result = (ox_result){.dtype = known ? tensor->dtype : port->dtype,
                          .rank = known         ? tensor->rank
                                  : port->shape ? port->shape->rank
                                                : 0};
    for (int d = 0; d < result->rank; d++)
        result->dims[d] = dims[d] < 0 ? 0 : dims[d];
    if (result->dtype != OX_UNDEFINED)
        return OX_OK;
    return ox_fail(frame->error, OX_ERROR_MODEL,
                   "output %d of the subgraph, '%.*s', is of no known type before it runs", k, 60, port->name);
}

/* ---- Rooms -------------------------------------------------------------------------------------------------- */

ox_status ox_body_room(ox_body *body, int number, size_t size, size_t wish, size_t keep, void **result) {
    ox_inner *inner = (void *)body;
    ox_room *room = &inner->rooms[number];
    OX_ASSERT(number >= 0 && number < inner->nrooms && keep <= room->size);
    const ox_allocator *allocator = inner->frame->allocator;
    const size_t limit = inner->frame->options->limits.tensor_bytes;
    if (size > limit && number < inner->nrooms - 1)
        return ox_fail(inner->frame->error, OX_ERROR_LIMIT,
                       "the results of a subgraph take %zu bytes, the limit for a tensor is %zu", size, limit);
    const size_t least = size <= SIZE_MAX - OX_ALIGN ? size + OX_ALIGN : SIZE_MAX;
    if (!room->block || room->size < least) {
        size_t got = wish > size && wish <= SIZE_MAX - OX_ALIGN ? wish + OX_ALIGN : least;
        unsigned char *block = ox_alloc(allocator, got);
        if (!block && got > least)
            block = ox_alloc(allocator, got = least);
        if (!block)
            return ox_fail_memory(inner->frame->error, "the results of a subgraph", size);
        if (keep)
            memcpy(ox_align(block), ox_align(room->block), keep);
        ox_release(allocator, room->block, room->size);
        *room = (ox_room){block, got};
    }
    *result = ox_align(room->block);
    return OX_OK;
}
