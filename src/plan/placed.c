/* placed.c: looks at places and lives as the run will rely on them, apart from how they came about. */
#include "placed.h"

#if OX_ASSERTIONS
#include "fuse.h"

enum {
    MOST_COMPARED = 2048 /* of more buffers in a stage not all are compared with each other */
};

/* A buffer and the steps that it lives through: of value v, or the workspace of step n where v is -1. */
typedef struct span {
    size_t at, size;
    int born, dies;
} span;

static bool is_in_arena(const ox_frame *frame, int v) {
    const ox_life *life = &frame->planning.lives[v];
    return life->owner == v && life->bytes && !life->outside;
}

static span value_span(const ox_frame *frame, int v) {
    const ox_life *life = &frame->planning.lives[v];
    return (span){life->place, life->bytes, life->born, life->dies};
}

static span work_span(const ox_frame *frame, int n) {
    const ox_step *step = &frame->plan.steps[n];
    return (span){step->place, step->skip ? 0 : step->work, n, n};
}

static void assert_apart(const span *a, const span *b) {
    OX_ASSERT(!a->size || !b->size || a->dies < b->born || b->dies < a->born || a->at + a->size <= b->at ||
              b->at + b->size <= a->at);
}

/* One buffer against all that nodes [m, end) give and take. */
static void assert_alone(const ox_frame *frame, const span *a, int m, int k, int end) {
    for (; m < end; m++, k = 0) {
        const ox_node *node = &frame->graph->nodes[m];
        for (; k < node->nout; k++) {
            if (node->out[k] < 0 || !is_in_arena(frame, node->out[k]))
                continue;
            const span b = value_span(frame, node->out[k]);
            assert_apart(a, &b);
        }
        const span b = work_span(frame, m);
        assert_apart(a, &b);
    }
}

static void assert_inside(const span *a, size_t size) {
    OX_ASSERT(a->at % OX_ALIGN == 0);
    OX_ASSERT(a->size <= size && a->at <= size - a->size);
    OX_ASSERT(a->born <= a->dies);
}

/* A part or a view lies within the buffer that it is in, which lives at least as long. */
static void assert_part(const ox_frame *frame, int v) {
    const int owner = ox_life_owner(&frame->planning, v);
    if (owner < 0 || frame->planning.lives[v].root != v)
        return;
    const ox_life *life = &frame->planning.lives[v], *whole = &frame->planning.lives[owner];
    const size_t at = ox_life_at(&frame->planning, v);
    OX_ASSERT(at <= whole->bytes && life->bytes <= whole->bytes - at);
    OX_ASSERT(whole->dies >= life->read_until || whole->outside);
}

/* The step at which node n runs. */
static int step_of(const ox_frame *frame, int n) {
    const ox_group *group = ox_frame_group(frame, n);
    return group ? group->tail : n;
}

/* The inputs of node n are written before it runs, and live until it has run. */
static void assert_inputs_live(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    const int step = step_of(frame, n);
    for (int i = 0; i < node->nin; i++) {
        const int v = node->in[i];
        if (v < 0 || ox_graph_weight(frame->graph, v) || ox_frame_is_source(frame, v))
            continue;
        const int owner = ox_life_owner(&frame->planning, v);
        if (owner < 0 || frame->planning.lives[owner].outside)
            continue; /* a constant, in registers, or in an operator's memory */
        OX_ASSERT(frame->planning.lives[owner].born <= step);
        OX_ASSERT(frame->planning.lives[owner].dies >= step);
    }
}

void ox_placed_assert(const ox_frame *frame, const ox_stage *stage, size_t size) {
    int compared = 0;
    for (int n = stage->first; n < stage->end; n++) {
        const ox_node *node = &frame->graph->nodes[n];
        if (!frame->plan.steps[step_of(frame, n)].skip)
            assert_inputs_live(frame, n);
        for (int k = 0; k < node->nout; k++) {
            const int v = node->out[k];
            if (v < 0)
                continue;
            assert_part(frame, v);
            if (!is_in_arena(frame, v))
                continue;
            const span a = value_span(frame, v);
            assert_inside(&a, size);
            if (compared++ < MOST_COMPARED)
                assert_alone(frame, &a, n, k + 1, stage->end);
        }
        const span work = work_span(frame, n);
        if (work.size) {
            assert_inside(&work, size);
            assert_alone(frame, &work, n + 1, 0, stage->end);
        }
    }
}
#endif
