/* fuse.c: runs of nodes that are lane programs become passes. Values between the nodes of a pass never reach memory. A
 * pass gives bit for bit the results of its nodes, run one by one. */
#include "fuse.h"

#include "ops/pass_parts.h"
#include "plan.h"

/* More nodes than this in one pass would not share the first-level cache well. */
enum {
    MOST_MEMBERS = 32
};

/* ---- Groups ------------------------------------------------------------------------------------------------- */

static bool is_program(const ox_step *step, const ox_call *call) {
    return !step->skip && ox_step_view(step, 0) == OX_VIEW_NONE && ox_elementwise_fits(call);
}

/* True if the shape has one element for each row of the space, and 1 where the rows were. */
static bool is_of_rows(const ox_space *space, int rank, const int64_t *dims) {
    int outer = space->rank - space->row_axes;
    bool same = rank == space->rank && ox_same_dims(outer, space->dims, outer, dims);
    for (int d = outer; same && d < rank; d++)
        same = dims[d] == 1;
    return same && space->row_axes > 0;
}

/* The space of a pass of both: the same elements, in one of them perhaps by rows; or the elements of one, whose rows
 * the other goes over. NULL if one pass cannot do both. */
static const ox_space *common_space(const ox_space *a, const ox_space *b) {
    if (a->row_axes < b->row_axes) {
        const ox_space *swapped = a;
        a = b;
        b = swapped;
    }
    bool same = ox_same_dims(a->rank, a->dims, b->rank, b->dims);
    if (b->row_axes)
        return same && a->row_axes == b->row_axes ? a : NULL;
    return same || is_of_rows(a, b->rank, b->dims) ? a : NULL;
}

/* True if what `from` gives to `to` can stay in registers: it has the shape of the elements, or of the rows. No member
 * of `to` stands behind node n, so that no more than its readers up to there are looked at. */
static bool fits_registers(const ox_frame *frame, const ox_space *space, const ox_group *from, const ox_group *to,
                           int n) {
    for (int m = from->head; m >= 0; m = frame->plan.members[m].next) {
        int v = frame->graph->nodes[m].out[0];
        const ox_tensor *t = &ox_frame_own(frame, v)->tensor;
        if (ox_same_dims(space->rank, space->dims, t->rank, t->dims) || is_of_rows(space, t->rank, t->dims))
            continue;
        for (int r = frame->planning.first_reader[v];
             r < frame->planning.first_reader[v + 1] && frame->planning.readers[r] <= n; r++)
            if (frame->plan.members[frame->planning.readers[r]].group == to)
                return false;
    }
    return true;
}

/* A group runs at the position of its last member. True if that may be n: no node before n reads a result of the group,
 * but for members of the group and of `other`, which is to run with it. */
static bool can_wait(const ox_frame *frame, const ox_group *group, const ox_group *other, int n) {
    for (int m = group->head; m >= 0; m = frame->plan.members[m].next) {
        int v = frame->graph->nodes[m].out[0];
        for (int r = frame->planning.first_reader[v];
             r < frame->planning.first_reader[v + 1] && frame->planning.readers[r] < n; r++) {
            const ox_group *reader = frame->plan.members[frame->planning.readers[r]].group;
            if (!reader || (reader != group && reader != other))
                return false;
        }
    }
    return true;
}

/* Joins two groups; members stay sorted by position. */
static void merge(ox_frame *frame, ox_group *into, ox_group *from) {
    into->space = *common_space(&into->space, &from->space);
    int a = into->head, b = from->head, *link = &into->head;
    while (a >= 0 || b >= 0) {
        int *taken = b < 0 || (a >= 0 && a < b) ? &a : &b;
        ox_member *member = &frame->plan.members[*taken];
        *link = into->tail = *taken;
        member->group = into;
        *taken = member->next;
        link = &member->next;
    }
    into->count += from->count;
    into->dense = into->dense >= 0 ? into->dense : from->dense;
    from->count = 0;
    from->head = from->tail = -1;
}

/* True if the dense node of a group reads what a member of another gives. */
static bool dense_reads(const ox_frame *frame, const ox_group *group, const ox_group *other) {
    const ox_node *node = group->dense < 0 ? NULL : &frame->graph->nodes[group->dense];
    for (int i = 0; node && i < node->nin; i++)
        for (int m = other->head; m >= 0; m = frame->plan.members[m].next)
            if (node->in[i] == frame->graph->nodes[m].out[0])
                return true;
    return false;
}

/* A dense node hands its result on part by part: nothing in its pass may take whole rows, or come before it. */
static bool dense_allows(const ox_frame *frame, const ox_group *a, const ox_group *b) {
    if (a->dense < 0 && b->dense < 0)
        return true;
    return (a->dense < 0 || b->dense < 0) && !a->space.row_axes && !b->space.row_axes && !dense_reads(frame, a, b) &&
           !dense_reads(frame, b, a);
}

/* True if both groups can run as one, at node n. can_wait() comes first: it scans fewer readers than
 * fits_registers(). */
static bool go_together(const ox_frame *frame, const ox_group *a, const ox_group *b, int n) {
    const ox_space *space = a->count + b->count > MOST_MEMBERS ? NULL : common_space(&a->space, &b->space);
    return space && dense_allows(frame, a, b) && can_wait(frame, a, b, n) && can_wait(frame, b, a, n) &&
           fits_registers(frame, space, a, b, n);
}

static void join(ox_frame *frame, const int *giver, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; i < node->nin; i++) {
        int m = node->in[i] < 0 ? -1 : giver[node->in[i]];
        ox_group *mine = frame->plan.members[n].group, *other = m < 0 ? NULL : frame->plan.members[m].group;
        if (other && other != mine && go_together(frame, other, mine, n))
            merge(frame, other, mine);
    }
}

/* Values that a group reads must live until the group runs. */
static void keep_inputs(ox_frame *frame, const ox_group *group) {
    for (int m = group->head; m >= 0; m = frame->plan.members[m].next) {
        const ox_node *node = &frame->graph->nodes[m];
        for (int i = 0; i < node->nin; i++) {
            ox_life *life = node->in[i] < 0 ? NULL : &frame->planning.lives[node->in[i]];
            if (!life)
                continue;
            if (life->read_until < group->tail)
                life->read_until = group->tail;
            const int owner = ox_life_owner(&frame->planning, node->in[i]);
            if (owner >= 0 && frame->planning.lives[owner].dies < group->tail)
                frame->planning.lives[owner].dies = group->tail;
        }
    }
}

int *ox_fuse_givers(ox_frame *frame, int first, int end) {
    int *giver = ox_pile_array(&frame->planning.scratch, (size_t)frame->graph->nvalues + 1, sizeof *giver);
    for (int v = 0; giver && v < frame->graph->nvalues; v++)
        giver[v] = -1;
    for (int n = first; giver && n < end; n++)
        for (int k = 0; k < frame->graph->nodes[n].nout; k++)
            if (frame->graph->nodes[n].out[k] >= 0)
                giver[frame->graph->nodes[n].out[k]] = n;
    return giver;
}

/* True if node n can hand its result to a pass. */
static bool is_dense(const ox_frame *frame, int n) {
    const ox_step *step = &frame->plan.steps[n];
    return OX_WITH_EPILOGUES && !frame->options->no_fuse && !step->skip && step->runs &&
           frame->graph->nodes[n].op->flags & OX_OP_EPILOGUE;
}

/* program: whether the node is a lane program. */
static ox_space space_of(const ox_call *call, bool program) {
    if (program)
        return ox_elementwise_space(call);
    return (ox_space){.rank = call->out[0]->rank, .dims = call->out[0]->dims};
}

/* A group of node n alone, if it may be a member of one. */
static ox_status single_group(ox_frame *frame, int n) {
    frame->plan.members[n].group = NULL;
    frame->plan.members[n].next = -1;
    const ox_call *call = ox_plan_call(frame, n, NULL);
    const bool dense = is_dense(frame, n), program = is_program(&frame->plan.steps[n], call);
    if (!dense && !program)
        return OX_OK;
    ox_group *group = ox_pile_get(&frame->planning.scratch, sizeof *group);
    if (!group)
        return ox_fail_memory(frame->error, "the plan of a session", sizeof *group);
    *group = (ox_group){.head = n, .tail = n, .count = 1, .dense = dense ? n : -1, .space = space_of(call, program)};
    frame->plan.members[n].group = group;
    return OX_OK;
}

/* True if the value has readers outside the group of the node that gives it, or is an output of the graph. */
static bool is_stored(const ox_frame *frame, int n) {
    int v = frame->graph->nodes[n].out[0];
    bool inside = false;
    for (int r = frame->planning.first_reader[v]; r < frame->planning.first_reader[v + 1]; r++) {
        int reader = frame->planning.readers[r];
        if (reader == frame->graph->nnodes || frame->plan.members[reader].group != frame->plan.members[n].group)
            return true;
        inside = true;
    }
    return !inside;
}

/* Groups that are left go into plan memory. */
static ox_status keep_group(ox_frame *frame, int n) {
    ox_group *group = ox_pile_get(&frame->plan.pile, sizeof *group);
    if (!group)
        return ox_fail_memory(frame->error, "the plan of a session", sizeof *group);
    *group = *frame->plan.members[n].group;
    for (int m = group->head; m >= 0; m = frame->plan.members[m].next)
        frame->plan.members[m].group = group;
    for (int m = group->head; m >= 0; m = frame->plan.members[m].next)
        frame->plan.members[m].stores = is_stored(frame, m);
    return OX_OK;
}

/* A dense node that nothing follows. */
static bool is_lonely(const ox_group *group, int n) {
    return group && group->dense == n && group->count == 1;
}

static ox_status join_groups(ox_frame *frame, int first, int end) {
    const int *giver = ox_fuse_givers(frame, first, end);
    if (!giver)
        return ox_fail_memory(frame->error, "the plan of a session", (size_t)frame->graph->nvalues * sizeof *giver);
    for (int n = first; n < end; n++)
        if (frame->plan.members[n].group)
            join(frame, giver, n);
    for (int n = first; n < end; n++) {
        const ox_group *group = frame->plan.members[n].group;
        if (is_lonely(group, n))
            frame->plan.members[n].group = NULL;
        else if (group && group->tail == n)
            keep_inputs(frame, group);
    }
    return OX_OK;
}

ox_status ox_fuse_stage(ox_frame *frame, int first, int end) {
    ox_pile_mark mark = ox_pile_save(&frame->planning.scratch);
    for (int n = first; n < end; n++)
        OX_TRY(single_group(frame, n));
    if (!frame->options->no_fuse)
        OX_TRY(join_groups(frame, first, end));
    for (int n = first; n < end; n++)
        if (frame->plan.members[n].group && frame->plan.members[n].group->tail == n)
            OX_TRY(keep_group(frame, n));
    ox_pile_restore(&frame->planning.scratch, mark);
    return OX_OK;
}

/* ---- Groups that stay --------------------------------------------------------------------------------------- */

#if OX_WITH_UPDATES
bool ox_fuse_takes(const ox_frame *frame, int n) {
    return frame->plan.members[n].group || is_dense(frame, n);
}

/* Groups of the nodes, as if they were in none. Members but the last are skipped in a run, not for that. */
static bool group_again(ox_frame *frame, const int *nodes, int count, const int *giver) {
    for (int i = 0; i < count; i++) {
        const ox_group *group = frame->plan.members[nodes[i]].group;
        frame->plan.steps[nodes[i]].skip &= !group || group->tail == nodes[i];
    }
    for (int i = 0; i < count; i++)
        if (single_group(frame, nodes[i]) != OX_OK)
            return false;
    for (int i = 0; i < count && !frame->options->no_fuse; i++)
        if (frame->plan.members[nodes[i]].group)
            join(frame, giver, nodes[i]);
    return true;
}

static bool same_group(const ox_frame *frame, const ox_member *was, int n) {
    const ox_member *now = &frame->plan.members[n];
    const ox_group *a = was->group, *b = is_lonely(now->group, n) && !frame->options->no_fuse ? NULL : now->group;
    return a && b ? a->head == b->head && a->tail == b->tail && a->dense == b->dense && was->next == now->next : a == b;
}

/* Puts the nodes back into the groups that they were in. */
static void return_members(ox_frame *frame, const int *nodes, int count, const ox_member *were, bool same) {
    for (int i = 0; i < count; i++) {
        const int n = nodes[i];
        ox_group *group = were[i].group;
        if (same && group && group->tail == n)
            group->space = frame->plan.members[n].group->space;
        frame->plan.members[n] = were[i];
        frame->plan.steps[n].skip |= group && group->tail != n;
    }
}

bool ox_fuse_holds(ox_frame *frame, const int *nodes, int count, const int *giver) {
    const ox_pile_mark mark = ox_pile_save(&frame->planning.scratch);
    ox_member *were = ox_pile_array(&frame->planning.scratch, (size_t)count, sizeof *were);
    if (!were)
        return false;
    for (int i = 0; i < count; i++)
        were[i] = frame->plan.members[nodes[i]];
    bool same = group_again(frame, nodes, count, giver);
    for (int i = 0; i < count && same; i++)
        same = same_group(frame, &were[i], nodes[i]);
    return_members(frame, nodes, count, were, same);
    ox_pile_restore(&frame->planning.scratch, mark);
    return same;
}
#endif

/* ---- Writing passes ----------------------------------------------------------------------------------------- */

/* Whether a node outside the group reads what node n gives. */
static bool read_again(const ox_frame *frame, int n) {
    int v = frame->graph->nodes[n].out[0];
    for (int r = frame->planning.first_reader[v]; r < frame->planning.first_reader[v + 1]; r++) {
        int reader = frame->planning.readers[r];
        if (reader < frame->graph->nnodes && frame->plan.members[reader].group != frame->plan.members[n].group)
            return true;
    }
    return false;
}

/* A large result in a buffer of its own would only push out of the caches what is needed sooner. */
static bool is_streamed(const ox_frame *frame, int n) {
    const int v = frame->graph->nodes[n].out[0];
    const ox_life *life = &frame->planning.lives[v];
    size_t least = read_again(frame, n) ? OX_STREAM_BYTES : OX_STREAM_RESULT_BYTES;
    return life->bytes >= least && life->owner == v;
}

void ox_fuse_stream(ox_frame *frame, int n) {
    const ox_group *group = frame->plan.members[n].group;
    for (int m = group->head; m >= 0; m = frame->plan.members[m].next)
        frame->plan.members[m].streams = frame->plan.members[m].stores && is_streamed(frame, m);
}

bool ox_fuse_reads_later(const ox_frame *frame, int m, int v) {
    const ox_tensor *out = &ox_frame_own(frame, frame->graph->nodes[m].out[0])->tensor;
    return ox_pass_reads_later(frame->plan.members[m].group->builder, &ox_frame_slot(frame, v)->tensor, out);
}

/* The registers of inputs that another member of the group, before n, gives; -1 for the others. regs lists those of the
 * members. */
static void find_registers(const ox_frame *frame, const ox_group *group, int n, const ox_reg *regs, ox_reg *in) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; i < node->nin; i++) {
        const ox_reg *reg = regs;
        in[i] = -1;
        for (int m = group->head; m != n && node->in[i] >= 0; m = frame->plan.members[m].next, reg++)
            if (node->in[i] == frame->graph->nodes[m].out[0])
                in[i] = *reg;
    }
}

/* The register of a lane program's result, -1 on failure. */
static ox_reg write_program(const ox_frame *frame, int n, ox_call *call, ox_pile *scratch, ox_pass_builder *builder,
                            const ox_reg *regs) {
    ox_reg *in = ox_pile_array(scratch, (size_t)call->nin, sizeof *in);
    if (!in)
        return -1;
    find_registers(frame, frame->plan.members[n].group, n, regs, in);
    return ox_elementwise_write(call, builder, in);
}

/* Writes one member; *reg is where its result is. */
static ox_status write_member(ox_frame *frame, int n, ox_pile *pile, ox_pile *scratch, ox_pass_builder *builder,
                              const ox_reg *regs, ox_reg *reg) {
    const ox_member *member = &frame->plan.members[n];
    ox_call *call = ox_plan_call(frame, n, pile);
    ox_pass_tag(builder, n);
    *reg = ox_frame_dense(frame, n) == n ? ox_epilogue_write(call, builder)
                                         : write_program(frame, n, call, scratch, builder, regs);
    OX_ASSERT(ox_frame_calls(frame, n));
    if (*reg < 0)
        return ox_frame_explain(frame, n, ox_elementwise_failed(call));
    if (member->stores)
        ox_pass_store(builder, *reg, call->out[0]);
    return OX_OK;
}

/* The pass runs by itself, split over threads. */
static void prepare_pass(ox_frame *frame, ox_group *group, int n) {
    const ox_space *space = &group->space;
    const ox_tensor *out = &ox_frame_own(frame, frame->graph->nodes[n].out[0])->tensor;
    size_t bytes = (size_t)ox_count(space->rank, space->dims) * ox_dtype_size(out->dtype);
    bool large = bytes >= OX_SPLIT_BYTES;
    *ox_frame_prepared(frame, n) = (ox_prepared){0};
    group->parts = large ? ox_pool_parts(frame->pool) : 1;
    frame->plan.steps[n].work = ox_pass_parts_scratch(group->pass, group->parts);
}

/* The pass runs on what the dense node hands over. */
static ox_status prepare_dense(ox_frame *frame, ox_group *group, int n, ox_pile *pile) {
    group->epilogue.pass = group->pass;
    ox_status status = ox_plan_prepare(frame, group->dense, false, pile);
    frame->plan.steps[n].work = frame->plan.steps[group->dense].work;
    return status == OX_OK ? OX_OK : ox_frame_explain(frame, group->dense, status);
}

static ox_status fail_pass(const ox_frame *frame, int n) {
    return ox_frame_explain(frame, n, ox_fail_memory(frame->error, "a pass", sizeof(ox_group)));
}

ox_status ox_fuse_write(ox_frame *frame, int n, ox_pile *pile, ox_pile *scratch) {
    ox_group *group = frame->plan.members[n].group;
    const ox_space *space = &group->space;
    ox_reg *regs = ox_pile_array(scratch, (size_t)group->count, sizeof *regs), *reg = regs;
    group->builder = ox_pass_begin(pile, scratch, frame->loops, space->rank, space->dims, space->row_axes);
    if (!group->builder || !regs)
        return fail_pass(frame, n);
    for (int m = group->head; m >= 0; m = frame->plan.members[m].next)
        OX_TRY(write_member(frame, m, pile, scratch, group->builder, regs, reg++));
    return OX_OK;
}

/* Marks the results that are streamed, and ends the program. */
static const ox_pass *end_pass(ox_frame *frame, ox_group *group) {
    ox_pass_builder *builder = group->builder;
    for (int m = group->head; m >= 0; m = frame->plan.members[m].next)
        if (frame->plan.members[m].streams)
            ox_pass_stream(builder, &ox_frame_own(frame, frame->graph->nodes[m].out[0])->tensor);
    group->builder = NULL;
    return group->pass = ox_pass_end(builder);
}

ox_status ox_fuse_prepare(ox_frame *frame, int n, ox_pile *pile) {
    ox_group *group = frame->plan.members[n].group;
    if (!group->builder)
        OX_TRY(ox_fuse_write(frame, n, pile, pile)); /* in a run, other memory is not to be had */
    if (!end_pass(frame, group))
        return fail_pass(frame, n);
    if (group->dense >= 0)
        return prepare_dense(frame, group, n, pile);
    prepare_pass(frame, group, n);
    return OX_OK;
}
