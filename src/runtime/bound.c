/* bound.c: see bound.h. */
#include "bound.h"

#if OX_WITH_BOUND
#include <string.h>

#include "iterate/bcast.h"

static size_t bytes_of(const ox_tensor *output) {
    return (size_t)ox_tensor_count(output) * ox_dtype_size(output->dtype);
}

/* Bytes of strings, and values that are no tensors, live in the session. */
static bool can_move(const ox_tensor *output) {
    return !ox_is_value(output->dtype) && output->dtype != OX_STRING;
}

static void ask(ox_bound *bound, int k, const ox_tensor *output) {
    ox_tensor packed = *output;
    packed.strides = NULL;
    packed.data = NULL;
    bound->asked[k] = true;
    bound->given[k] = bound->callback(bound->context, (size_t)k, &packed, bytes_of(output));
}

static ox_status get_room(ox_frame *frame, ox_room *room, size_t size, void **data) {
    const size_t least = size + OX_ALIGN - 1;
    if (room->size < least) {
        ox_release(frame->allocator, room->block, room->size);
        *room = (ox_room){.block = ox_alloc(frame->allocator, least)};
        if (!room->block)
            return ox_fail_memory(frame->error, "an output", least);
        room->size = least;
    }
    *data = ox_align(room->block);
    return OX_OK;
}

/* Loops may need aligned memory: an output is computed in a room where the caller's is not, where there is none, or
 * where that is an input's. */
static ox_status place(ox_frame *frame, int k, const ox_tensor *output, void **memory) {
    ox_bound *bound = frame->placer.context;
    *memory = NULL;
    if (can_move(output)) {
        ask(bound, k, output);
        *memory = bound->given[k];
    }
    if (*memory && !bound->has_inputs) {
        ox_caches_look(frame, bound->inputs);
        bound->has_inputs = true;
    }
    if (*memory && ox_is_aligned(*memory) && ox_caches_fit(frame, bound->inputs, bound->caches[k], output, *memory))
        return OX_OK;
    return get_room(frame, &bound->rooms[k], bytes_of(output), memory);
}

ox_status ox_bound_set(ox_frame *frame, ox_bound *bound, ox_output_fn *callback, void *context) {
    const size_t nout = (size_t)frame->graph->noutputs;
    if (callback && !bound->results) {
        bound->given = ox_pile_array(&frame->fixed, nout, sizeof *bound->given);
        bound->asked = ox_pile_array(&frame->fixed, nout, sizeof *bound->asked);
        bound->rooms = ox_pile_array(&frame->fixed, nout, sizeof *bound->rooms);
        bound->caches = ox_pile_array(&frame->fixed, nout, sizeof *bound->caches);
        bound->inputs = ox_pile_array(&frame->fixed, (size_t)frame->graph->ninputs, sizeof *bound->inputs);
        ox_tensor *results = ox_pile_array(&frame->fixed, nout, sizeof *results);
        if (!bound->given || !bound->asked || !bound->rooms || !bound->caches || !bound->inputs || !results)
            return ox_fail_memory(frame->error, "the outputs of a session", nout * sizeof *results);
        OX_TRY(ox_caches_find(frame, bound->caches));
        bound->results = results;
    }
    frame->plan.stale |= !callback != !bound->callback;
    bound->callback = callback;
    bound->context = context;
    frame->placer = callback ? (ox_placer){place, bound, 0} : (ox_placer){0};
    return OX_OK;
}

void ox_bound_begin(const ox_frame *frame, ox_bound *bound) {
    for (int k = 0; k < frame->graph->noutputs; k++)
        bound->asked[k] = false;
    bound->has_inputs = false;
}

/* Copies an output that lies elsewhere into the caller's memory, which may have any address. */
static ox_status copy_output(ox_frame *frame, ox_bound *bound, int k, const ox_tensor *output) {
    const void *from = output->data;
    const size_t bytes = bytes_of(output);
    if (!bytes)
        return OX_OK;
    if (!ox_tensor_is_packed(output)) {
        void *to = bound->given[k];
        if (!ox_is_aligned(to))
            OX_TRY(get_room(frame, &bound->rooms[k], bytes, &to));
        ox_pack(frame->loops, frame->pool, output, to);
        from = to;
    }
    if (from != bound->given[k])
        memcpy(bound->given[k], from, bytes);
    return OX_OK;
}

ox_status ox_bound_finish(ox_frame *frame, ox_bound *bound) {
    for (int k = 0; k < frame->graph->noutputs; k++) {
        const ox_tensor *output = frame->outputs[k];
        bound->results[k] = *output;
        if (!can_move(output))
            continue;
        if (!bound->asked[k])
            ask(bound, k, output);
        if (!bound->given[k])
            continue;
        OX_TRY(copy_output(frame, bound, k, output));
        bound->results[k].data = bound->given[k];
        bound->results[k].strides = NULL;
    }
    return OX_OK;
}

void ox_bound_free(ox_frame *frame, ox_bound *bound) {
    for (int k = 0; bound->rooms && k < frame->graph->noutputs; k++)
        ox_release(frame->allocator, bound->rooms[k].block, bound->rooms[k].size);
}
#endif
