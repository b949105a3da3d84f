/* frame.h: a graph being run: its values, its plan and its arena. A session has one for the main graph; a node with
 * subgraphs has one for each of them.
 *
 * A plan is made in stages. Nodes are inferred in order until one needs data that is known only in the run; that node
 * starts the next stage, which is planned when the run gets there, and kept while its shapes stay the same.
 *
 * Files call each other in one direction: runtime/run.c runs stages and lets plan/stage.c plan them; that uses plan.c,
 * fuse.c, share.c and place.c, then step_run.c, which prepares and runs steps by node.c and group.c of this folder. */
#ifndef OX_FRAME_FRAME_H
#define OX_FRAME_FRAME_H

#include "pool.h"
#include "group.h"
#include "life.h"
#include "step.h"

/* Outputs may go elsewhere than into the arena: those of subgraphs, and where a caller wants them (bound.h). */
#define OX_WITH_TARGETS (OX_WITH_SUBGRAPHS || !OX_SMALL)

/* Plans for other shapes than the present ones stay: kept.h. */
#define OX_WITH_KEPT (!OX_SMALL)

/* A plan becomes one for other shapes, where little changes: update.h. */
#define OX_WITH_UPDATES (OX_WITH_KEPT && OX_WITH_FUSION && OX_WITH_RUNS && OX_KEEP_STATE)

typedef struct ox_profile ox_profile; /* profile.h */
typedef struct ox_inner ox_inner;     /* inner.h: only frames of subgraphs have one */

/* What comes from outside: an input or a capture. */
typedef struct ox_source {
    int value;
    ox_slot *slot;  /* the value's */
    int shape_room; /* of `shape`: so many dims, and as many strides */
    int64_t *shape;
    void *given; /* the data: shown to operators when the run starts */
#if !OX_SMALL
    bool differs; /* from what the plan was made for that is being updated */
    char *copy;   /* what a run works on instead: given.h */
    size_t copy_room;
#endif
} ox_source;

/* The node that a frame is at work on, as its operator sees it. */
typedef struct ox_work {
    ox_call call; /* first: it is found by its call */
    ox_frame *frame;
    int node;
    const ox_tensor **in;
    ox_tensor **out;
#if OX_WITH_WIDENING
    ox_dtype *written;     /* by value: the type that it has in the model (plan/written.h); NULL without float16_sums */
    ox_tensor *as_written; /* the inputs so */
#endif
} ox_work;

/* Data that planning looked at: the plan holds while a value that is no constant has these elements, packed. */
typedef struct ox_premise {
    int value;
    const void *elements;
    struct ox_premise *next;
} ox_premise;

/* A value in the memory of another, at an offset in bytes. */
typedef struct ox_inside {
    ox_index value;
#if OX_WITH_PARTS
    size_t at;
#endif
} ox_inside;

/* Where outputs of the graph go: asked in each run, before an output is computed, or copied. */
typedef struct ox_placer {
    ox_status (*place)(ox_frame *frame, int k, const ox_tensor *output, void **memory); /* NULL: outputs stay */
    void *context;
    int from; /* the first output that it places */
} ox_placer;

/* An output that is computed where the placer says, with the values that share its memory. */
typedef struct ox_target {
    int output, count;
    const ox_inside *values;
    struct ox_target *next;
} ox_target;

typedef struct ox_stage {
    int first, end; /* positions of nodes */
    ox_premise *premises;
    ox_target *targets;
    ox_pile_mark mark; /* plan memory below this stage */
    struct ox_stage *before, *after;
} ox_stage;

#if OX_WITH_UPDATES
/* Memory in which a step is prepared again and again. */
typedef struct ox_again {
    void *block; /* NULL: none yet; size is what preparing took the last time, 0 if it was not prepared again */
    size_t size;
} ox_again;
#endif

#if OX_WITH_KEPT
/* Of the key of a plan: how many words, and the hash of them. */
typedef struct ox_key_about {
    size_t size;
    uint64_t hash;
} ox_key_about;
#endif

/* A plan, valid until a source gets another shape. The lists of steps, members and prepared operators are reused by the
 * next plan; the objects that they point to are in the pile. */
typedef struct ox_plan {
    ox_pile pile; /* descriptors, prepared operators, folded constants */
    ox_step *steps;
    ox_member *members;    /* of each node, where nodes are fused */
    ox_prepared *prepared; /* of each node, or of the one that is at work (OX_KEEP_STATE) */
    ox_stage *stages, *newest;
    size_t forgotten; /* how often stages were: where a constant was, another one may be since */
    bool stale; /* a source has another shape than the stages were planned for, which the last outputs still need */
#if OX_WITH_KEPT
    ox_pile lists; /* where the lists lie that are not the first of the frame */
    int64_t *key;  /* in `pile`: what the sources were when the plan was made */
    ox_key_about key_about;
    bool is_spare;     /* it has been updated, and its shapes were never there again */
    ox_again *again;   /* in `pile`: of each step, once the plan has been updated */
    size_t fresh;      /* bytes of `pile` that are in use: updates do not free what they replace */
    ox_slot *slots;    /* of the values that are no weights, while another plan is in force, ... */
    uintptr_t arena;   /* ... in an arena that began there, of which ... */
    size_t arena_used; /* ... so many bytes were used */
#endif
} ox_plan;

#if OX_WITH_KEPT
/* A plan that is not in force, and what planning knew when it was. */
typedef struct ox_kept {
    ox_plan plan;
    ox_planning planning;
} ox_kept;

enum {
    OX_GONE = 8 /* so many plans that became others are remembered */
};

/* Plans for shapes that the sources had before (kept.h). */
typedef struct ox_keeping {
    ox_kept *plans; /* `most` of them, the last one first; those without stages are free */
    int most;
    ox_key_about asked;     /* the key of the sources as they are, where a plan is to become another one */
    uint64_t gone[OX_GONE]; /* hashes of the keys of those that became others, the last one first */
} ox_keeping;
#endif

/* The memory that the values and workspaces of a frame lie in. */
typedef struct ox_arena {
    unsigned char *start; /* aligned to OX_ALIGN, inside ... */
    unsigned char *block; /* ... this block, of ... */
    size_t block_size;
    size_t size; /* bytes from `start` on */
    size_t used; /* bytes of them that the plan uses */
} ox_arena;

/* The frames of a node's subgraphs, by number; NULL for those that never ran. */
typedef struct ox_subframes {
    int count;
    ox_frame **frames;
} ox_subframes;

/* What a frame is made with. `temporary` is for what only planning needs. */
typedef struct ox_means {
    const ox_model *model;
    const ox_options *options;
    const ox_allocator *allocator, *temporary;
    ox_pool *pool;
} ox_means;

#if OX_WITH_SELF_CHECK
/* A value as it was when a step had written it. */
typedef struct ox_copy {
    unsigned char *block; /* NULL if there is no copy */
    size_t size;
    ox_tensor tensor; /* with the strides of the value; dims and strides are the slot's */
    int unread;       /* nodes that are still to read the value in this run */
    bool is_fresh;    /* the second frame has the value, from an earlier node of the step at work */
} ox_copy;

/* What a frame has where runs are checked (check.h). */
typedef struct ox_checking {
    ox_frame *second; /* of the same graph, in which each node runs by itself on copies; NULL if runs are not checked */
    ox_copy *copies;  /* of each value */
} ox_checking;
#endif

struct ox_frame {
    /* Given when the frame is made: */
    const ox_model *model;
    const ox_graph *graph;
    const ox_options *options;
    const ox_allocator *allocator;
    const ox_loops *loops;
    ox_pool *pool;   /* the session's */
    ox_frame *outer; /* NULL for the main graph */
    ox_inner *inner; /* as the operator sees the frame that runs it; NULL for the main graph */
    ox_placer placer;
    /* Given for each call: */
    const ox_profile *profile; /* NULL without a callback */
    ox_error *error;
    /* As long as the frame lives: */
    ox_pile fixed;      /* memory for the following */
    ox_slot *own;       /* of the values that are no weights: ox_frame_own */
    ox_source *sources; /* the graph's inputs, then what it captures */
    int nsources;
    const ox_tensor **outputs; /* of the graph */
    bool *told;                /* of outputs: whether a wrong shape has been reported; NULL without a warn function */
    ox_subframes *subframes;   /* of each node; NULL if none has any */
    ox_work work;
#if OX_WITH_SELF_CHECK
    ox_checking checking;
#endif
    /* As long as the shapes of its sources stay, and while it is made: */
    ox_plan plan;
    ox_planning planning;
#if OX_WITH_KEPT
    ox_keeping keeping;
    bool varies; /* shapes have changed: what planning knows stays, for plans that become others */
#endif
    /* The run: */
    ox_arena arena;
    ox_pile text; /* of the main graph: bytes of the strings that this run made, in all frames */
};

/* A frame without a plan; outer: NULL for the main graph. */
ox_status ox_frame_create(const ox_means *means, const ox_graph *graph, ox_frame *outer, ox_frame **frame,
                          ox_error *error);
void ox_frame_free(ox_frame *frame);
/* The lists of a plan, in `pile`; false without memory. */
bool ox_frame_lists(const ox_frame *frame, ox_pile *pile, ox_plan *plan);
/* Sets the shape of a source. If it differs from the shape before, the plan becomes stale. known: the tensor as a
 * constant, if its data is already known; otherwise NULL. */
ox_status ox_frame_set(ox_frame *frame, int source, const ox_tensor *tensor, const ox_slot *known);
/* The call of node n for planning; prepare allocates from `pile`. The call is valid until this function is called
 * again. */
ox_call *ox_frame_call(ox_frame *frame, int n, ox_pile *pile);
/* Whether the plan may become one for other shapes: what planning knows is kept for that, and no two values share a
 * list of dims, so that lists can be written again. */
static inline bool ox_frame_varies(const ox_frame *frame) {
#if OX_WITH_UPDATES
    return frame->varies;
#else
    (void)frame;
    return false;
#endif
}
/* Whether the call is that of node n, still. */
static inline bool ox_frame_calls(const ox_frame *frame, int n) {
    return frame->work.node == n;
}
/* The slot of a value of the frame's own, which is no weight, and that of any value. */
static inline ox_slot *ox_frame_own(const ox_frame *frame, int v) {
    return &frame->own[v < frame->graph->first_weight ? v : v - frame->graph->nweights];
}
static inline const ox_slot *ox_frame_slot(const ox_frame *frame, int v) {
    const ox_slot *weight = ox_graph_weight(frame->graph, v);
    return weight ? weight : ox_frame_own(frame, v);
}
/* Whether a value comes from outside. */
static inline bool ox_frame_is_source(const ox_frame *frame, int v) {
    return ox_frame_slot(frame, v)->source;
}
/* The group of a node; a constant where each runs by itself, so that nothing of groups is linked. */
static inline ox_group *ox_frame_group(const ox_frame *frame, int n) {
    return OX_WITH_FUSION ? frame->plan.members[n].group : NULL;
}
/* Position of the dense node in the group of a node; -1 if it is in none, or in one that is a pass by itself. */
static inline int ox_frame_dense(const ox_frame *frame, int n) {
    const ox_group *group = OX_WITH_EPILOGUES ? frame->plan.members[n].group : NULL;
    return group ? group->dense : -1;
}
/* The frames of the subgraphs of a node. */
static inline ox_subframes ox_frame_inner(const ox_frame *frame, int n) {
    return OX_WITH_SUBGRAPHS && frame->subframes ? frame->subframes[n] : (ox_subframes){0};
}
/* What is prepared for the run of a node. */
static inline ox_prepared *ox_frame_prepared(const ox_frame *frame, int n) {
    return &frame->plan.prepared[OX_KEEP_STATE ? n : 0];
}
/* The most outputs that a node of the graph has, or inputs. */
int ox_frame_most(const ox_graph *graph, bool outputs);
/* Bytes held, subframes included. */
void ox_frame_memory(const ox_frame *frame, size_t *arena, size_t *plan);
/* Adds where it happened to the error: "model: node 'name' (Add-14): ". */
ox_status ox_frame_explain(const ox_frame *frame, int n, ox_status status);
/* OX_ERROR_CANCELLED at node n. */
ox_status ox_frame_cancelled(const ox_frame *frame, int n);

#endif
