/* target.c: outputs of a graph that are computed where its placer wants them. */
#include "target.h"

/* The value that owns the buffer of output k, if the stage computes the output there and nothing else is in it; -1
 * otherwise: such an output is copied. */
static int find_owner(const ox_frame *frame, const ox_stage *stage, int k) {
    const int v = frame->graph->outputs[k].value;
    if (ox_graph_weight(frame->graph, v) || ox_frame_is_source(frame, v) || ox_frame_own(frame, v)->constant)
        return -1;
    const ox_life *life = &frame->planning.lives[v];
    const int at = ox_life_owner(&frame->planning, v);
    const ox_life *owner = at < 0 ? NULL : &frame->planning.lives[at];
    const bool whole = owner && owner->bytes && owner->bytes == life->bytes;
    return whole && owner->born >= stage->first && owner->born < stage->end && !owner->outside ? at : -1;
}

static ox_inside inside(const ox_frame *frame, ox_index v) {
    ox_inside result = {.value = v};
#if OX_WITH_PARTS
    result.at = ox_life_at(&frame->planning, v);
#else
    (void)frame;
#endif
    return result;
}

static void *address(const ox_inside *value, void *place) {
#if OX_WITH_PARTS
    return (char *)place + value->at;
#else
    (void)value;
    return place;
#endif
}

/* Lists the values that lie in the owner's buffer, or counts them where there is no list. */
static int list_values(const ox_frame *frame, const ox_stage *stage, int owner, ox_inside *values) {
    int count = 0;
    for (int n = stage->first; n < stage->end; n++) {
        const ox_node *node = &frame->graph->nodes[n];
        for (int k = 0; k < node->nout; k++) {
            const ox_index v = node->out[k];
            if (v < 0 || ox_life_owner(&frame->planning, v) != owner)
                continue;
            if (values)
                values[count] = inside(frame, v);
            count++;
        }
    }
    return count;
}

ox_status ox_target_choose(ox_frame *frame, ox_stage *stage) {
    for (int k = frame->placer.from; frame->placer.place && k < frame->graph->noutputs; k++) {
        const int owner = find_owner(frame, stage, k);
        if (owner < 0)
            continue;
        const int count = list_values(frame, stage, owner, NULL);
        ox_target *target = ox_pile_get(&frame->plan.pile, sizeof *target);
        ox_inside *values = target ? ox_pile_array(&frame->plan.pile, (size_t)count, sizeof *values) : NULL;
        if (!values)
            return ox_fail_memory(frame->error, "the plan of a session", (size_t)count * sizeof *values);
        list_values(frame, stage, owner, values);
        *target = (ox_target){k, count, values, stage->targets};
        stage->targets = target;
        frame->planning.lives[owner].outside = true;
    }
    return OX_OK;
}

ox_status ox_target_point(ox_frame *frame, const ox_stage *stage) {
    for (const ox_target *t = stage->targets; t; t = t->next) {
        void *place;
        OX_TRY(frame->placer.place(frame, t->output, frame->outputs[t->output], &place));
        for (int i = 0; i < t->count; i++)
            ox_frame_own(frame, t->values[i].value)->tensor.data = address(&t->values[i], place);
    }
    return OX_OK;
}
