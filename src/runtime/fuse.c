/* fuse.c: runs of elementwise nodes become passes, so that what is between them never reaches memory. A pass gives bit
 * for bit what its nodes give one by one. */
#include "frame.h"

/* More nodes than this in one pass would not share the first-level cache well. */
enum {
    MOST_MEMBERS = 32
};

/* ---- Groups ------------------------------------------------------------------------------------------------- */

static bool is_elementwise(const ox_frame *frame, int n) {
    const ox_step *step = &frame->steps[n];
    return !step->skip && step->outputs[0].window == OX_WINDOW_NONE && ox_elementwise_fits(&step->call);
}

static const ox_slot *result_of(const ox_frame *frame, int n) {
    return &frame->slots[frame->graph->nodes[n].out[0]];
}

static bool same_shape(const ox_frame *frame, int n, int m) {
    const ox_tensor *a = &result_of(frame, n)->tensor, *b = &result_of(frame, m)->tensor;
    return ox_same_dims(a->rank, a->dims, b->rank, b->dims);
}

/* The group runs where its last member stands. True if that may be n: nobody else wants a result of it before. `other`
 * is a group that is to run with it. */
static bool can_wait(const ox_frame *frame, const ox_group *group, const ox_group *other, int n) {
    for (int m = group->head; m >= 0; m = frame->steps[m].next_member) {
        int v = frame->graph->nodes[m].out[0];
        for (int r = frame->first_reader[v]; r < frame->first_reader[v + 1] && frame->readers[r] < n; r++) {
            const ox_group *reader = frame->steps[frame->readers[r]].group;
            if (!reader || (reader != group && reader != other))
                return false;
        }
    }
    return true;
}

/* Joins two groups; members stay sorted by position. */
static void merge(ox_frame *frame, ox_group *into, ox_group *from) {
    int a = into->head, b = from->head, *link = &into->head;
    while (a >= 0 || b >= 0) {
        int *taken = b < 0 || (a >= 0 && a < b) ? &a : &b;
        ox_step *step = &frame->steps[*taken];
        *link = into->tail = *taken;
        step->group = into;
        *taken = step->next_member;
        link = &step->next_member;
    }
    into->count += from->count;
    from->count = 0;
    from->head = from->tail = -1;
}

/* The group of the node that gives value v, if it is one that node n can run with. */
static ox_group *neighbour(const ox_frame *frame, const int *giver, int v, int n) {
    int m = v < 0 ? -1 : giver[v];
    ox_group *group = m < 0 ? NULL : frame->steps[m].group;
    return group && same_shape(frame, n, m) ? group : NULL;
}

static void join(ox_frame *frame, const int *giver, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; i < node->nin; i++) {
        ox_group *mine = frame->steps[n].group, *other = neighbour(frame, giver, node->in[i], n);
        if (!other || other == mine || other->count + mine->count > MOST_MEMBERS)
            continue;
        if (can_wait(frame, other, mine, n) && can_wait(frame, mine, other, n))
            merge(frame, other, mine);
    }
}

/* What a group reads must live until the group runs. */
static void keep_inputs(ox_frame *frame, const ox_group *group) {
    for (int m = group->head; m >= 0; m = frame->steps[m].next_member) {
        const ox_node *node = &frame->graph->nodes[m];
        for (int i = 0; i < node->nin; i++) {
            ox_slot *slot = node->in[i] < 0 ? NULL : &frame->slots[node->in[i]];
            if (!slot)
                continue;
            if (slot->read_until < group->tail)
                slot->read_until = group->tail;
            if (slot->owner >= 0 && frame->slots[slot->owner].dies < group->tail)
                frame->slots[slot->owner].dies = group->tail;
        }
    }
}

/* Which node of the stage gives each value; -1 for none. */
static int *find_givers(ox_frame *frame, int first, int end) {
    int *giver = ox_pile_array(&frame->plan, (size_t)frame->graph->nvalues + 1, sizeof *giver);
    for (int v = 0; giver && v < frame->graph->nvalues; v++)
        giver[v] = -1;
    for (int n = first; giver && n < end; n++)
        for (int k = 0; k < frame->graph->nodes[n].nout; k++)
            if (frame->graph->nodes[n].out[k] >= 0)
                giver[frame->graph->nodes[n].out[k]] = n;
    return giver;
}

static ox_status single_groups(ox_frame *frame, int first, int end) {
    for (int n = first; n < end; n++) {
        frame->steps[n].group = NULL;
        frame->steps[n].next_member = -1;
        if (!is_elementwise(frame, n))
            continue;
        ox_group *group = ox_pile_get(&frame->plan, sizeof *group);
        if (!group)
            return ox_fail_memory(frame->error, "the plan of a session", sizeof *group);
        *group = (ox_group){.head = n, .tail = n, .count = 1};
        frame->steps[n].group = group;
    }
    return OX_OK;
}

ox_status ox_fuse_stage(ox_frame *frame, int first, int end) {
    OX_TRY(single_groups(frame, first, end));
    if (frame->options->no_fuse)
        return OX_OK;
    ox_pile_mark mark = ox_pile_save(&frame->plan);
    const int *giver = find_givers(frame, first, end);
    if (!giver)
        return ox_fail_memory(frame->error, "the plan of a session", (size_t)frame->graph->nvalues * sizeof *giver);
    for (int n = first; n < end; n++)
        if (frame->steps[n].group)
            join(frame, giver, n);
    ox_pile_restore(&frame->plan, mark);
    for (int n = first; n < end; n++)
        if (frame->steps[n].group && frame->steps[n].group->tail == n)
            keep_inputs(frame, frame->steps[n].group);
    return OX_OK;
}

/* ---- Writing passes ----------------------------------------------------------------------------------------- */

bool ox_fuse_stores(const ox_frame *frame, int n) {
    int v = frame->graph->nodes[n].out[0];
    bool inside = false;
    for (int r = frame->first_reader[v]; r < frame->first_reader[v + 1]; r++) {
        int reader = frame->readers[r];
        if (reader == frame->graph->nnodes || frame->steps[reader].group != frame->steps[n].group)
            return true;
        inside = true;
    }
    return !inside;
}

/* Inputs that another member of the group gives are in registers already. */
static void find_registers(const ox_frame *frame, const ox_group *group, int n, ox_reg *in) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; i < node->nin; i++) {
        in[i] = -1;
        for (int m = group->head; m != n; m = frame->steps[m].next_member)
            if (node->in[i] >= 0 && node->in[i] == frame->graph->nodes[m].out[0])
                in[i] = frame->steps[m].reg;
    }
}

/* A large result in a buffer of its own would only push out of the caches what is needed sooner. */
static bool is_streamed(const ox_frame *frame, int n) {
    int v = frame->graph->nodes[n].out[0];
    return frame->slots[v].bytes >= OX_STREAM_BYTES && frame->slots[v].owner == v;
}

static ox_status write_member(ox_frame *frame, const ox_group *group, int n, ox_pass_builder *builder) {
    ox_step *step = &frame->steps[n];
    ox_reg *in = ox_pile_array(&frame->plan, (size_t)step->call.nin, sizeof *in);
    if (!in)
        return ox_fail_memory(frame->error, "a pass", (size_t)step->call.nin * sizeof *in);
    find_registers(frame, group, n, in);
    step->call.error = frame->error;
    step->call.in = step->in;
    ox_pass_tag(builder, n);
    step->reg = ox_elementwise_write(&step->call, builder, in);
    if (step->reg < 0)
        return ox_elementwise_failed(&step->call);
    if (ox_fuse_stores(frame, n))
        ox_pass_store(builder, step->reg, step->out[0], is_streamed(frame, n));
    return OX_OK;
}

ox_status ox_fuse_prepare(ox_frame *frame, int n) {
    ox_step *step = &frame->steps[n];
    ox_group *group = step->group;
    const ox_tensor *shape = &result_of(frame, n)->tensor;
    ox_pass_builder *builder = ox_pass_begin(&frame->plan, frame->loops, shape->rank, shape->dims);
    for (int m = group->head; m >= 0 && builder; m = frame->steps[m].next_member)
        OX_TRY(write_member(frame, group, m, builder));
    group->pass = ox_pass_end(builder);
    if (!group->pass)
        return ox_fail_memory(frame->error, "a pass", sizeof *group);
    step->packings = NULL;
    bool large = result_of(frame, n)->bytes >= OX_SPLIT_BYTES;
    group->parts = large ? ox_pool_parts(frame->pool) : 1;
    step->work = (size_t)group->parts * ox_group_scratch(group);
    return OX_OK;
}
