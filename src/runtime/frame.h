/* frame.h: a graph being run: its values, its plan and its arena. A session has one for the main graph; a node with
 * subgraphs has one for each of them.
 *
 * A plan is made in stages. Nodes are inferred in order until one needs data that only the run can give; that node
 * starts the next stage, planned when the run gets there, and kept as long as its shapes come out the same. */
#ifndef OX_RUNTIME_FRAME_H
#define OX_RUNTIME_FRAME_H

#include "../ops/elementwise.h"
#include "../ops/epilogue.h"
#include "graph.h"

typedef struct ox_frame ox_frame;

/* Who is told of each step. */
typedef struct ox_profile {
    ox_profile_fn *callback;
    void *context;
    ox_status (*step)(ox_frame *frame, int n, ox_status (*run)(ox_frame *frame, int n)); /* ox_profile_step */
} ox_profile;

/* What comes from outside: an input or a capture. */
typedef struct ox_source {
    int value;
    int shape_room; /* of `shape`: so many dims, and as many strides */
    int64_t *shape;
    void *given; /* the data: shown to operators when the run starts */
} ox_source;

/* What planning alone knows of a value: it is forgotten when the whole graph is planned. */
typedef struct ox_life {
    bool packed_only; /* some reader takes no strides, or the value is an output of the graph */
    bool is_output;
    int root;       /* the value in whose buffer this one lies: itself, or what it is a view of; -1 if in none */
    int owner;      /* the root, or the value whose buffer the root took over; -1 until that is decided */
    int last_use;   /* position of the last node that reads the value; nnodes for outputs of the graph, -1 unread */
    int read_until; /* the same, or the position of the pass that reads it for a node before */
    /* of owners: */
    int born, dies; /* positions of the nodes that the buffer must live through */
    size_t bytes, place;
} ox_life;

/* What happens to an output that is a window on an input. */
typedef enum ox_window {
    OX_WINDOW_NONE = 0, /* it is not one: the operator's run function computes it */
    OX_WINDOW_VIEW,     /* its data is the input's, at an offset */
    OX_WINDOW_COPY,     /* it is copied, packed */
    OX_WINDOW_GIVEN     /* not on an input: infer came with the data */
} ox_window;

typedef struct ox_output {
    ox_window window;
    int input; /* of the node */
    int64_t offset;
    ox_tensor seen; /* the window; dims and strides in plan memory */
} ox_output;

/* An input that has to be packed before an operator that takes no strides. */
typedef struct ox_packing {
    int input; /* of the node */
    const ox_tensor *from;
    ox_tensor to;
    size_t offset; /* in the workspace */
    struct ox_packing *next;
} ox_packing;

/* Nodes that are lane programs and run as one pass, in the place of the last of them. One member may be a dense node:
 * then the pass is its epilogue, and runs when it does. */
typedef struct ox_group {
    int head, tail; /* members by position, chained through ox_member.next */
    int count;
    int dense; /* position of the dense node, -1 if there is none */
    ox_epilogue epilogue;
    ox_space space; /* what the pass goes over */
    ox_pass *pass;
    int parts; /* threads that it is split over */
} ox_group;

/* A node as a member of a group. */
typedef struct ox_member {
    ox_group *group; /* NULL if it is neither a lane program nor a dense node with an epilogue */
    int next;        /* -1 at the end */
    bool stores;     /* its result goes to memory, ... */
    bool streams;    /* ... past the caches */
} ox_member;

/* What is prepared for the run of a node. */
typedef struct ox_prepared {
    void *state; /* by its operator */
    ox_packing *packings;
} ox_prepared;

/* What a plan knows of a node. */
typedef struct ox_step {
    ox_frame *frame;
    ox_output *outputs;   /* as many as the node has; NULL if none is a window */
    ox_frame **subframes; /* by number of the subgraph */
    size_t place;         /* in the arena: what is prepared for each run (OX_KEEP_STATE), and the workspace, ... */
    size_t work;          /* ... of so many bytes */
    ox_index nsubframes;
    bool skip; /* nothing to do in a run: its outputs are constants */
    bool runs; /* the run function is called: some output is not a window */
} ox_step;

/* The node that a frame is at work on, as its operator sees it. */
typedef struct ox_work {
    ox_call call; /* first: it is found by its call */
    ox_frame *frame;
    int node;
    const ox_tensor **in;
    ox_tensor **out;
} ox_work;

/* Data that planning looked at: the plan holds while a value that is no constant has these elements, packed. */
typedef struct ox_premise {
    int value;
    const void *elements;
    struct ox_premise *next;
} ox_premise;

typedef struct ox_stage {
    int first, end; /* positions of nodes */
    ox_premise *premises;
    ox_pile_mark mark; /* plan memory below this stage */
    struct ox_stage *before, *after;
} ox_stage;

struct ox_frame {
    const ox_model *model;
    const ox_graph *graph;
    const ox_options *options;
    const ox_allocator *allocator;
    const ox_loops *loops;
    ox_pool *pool;             /* the session's */
    const ox_profile *profile; /* NULL if nobody wants to know */
    ox_error *error;           /* of the call that is under way */
    ox_frame *outer;           /* NULL for the main graph */
    ox_pile fixed;             /* lives as long as the frame */
    ox_pile plan;              /* descriptors, prepared kernels, folded constants */
    ox_pile text;              /* of the main graph: bytes of the strings that this run made, in all frames */
    ox_slot *own;              /* of the values that are no weights: ox_frame_own */
    ox_step *steps;
    ox_member *members;    /* of each node, where nodes are fused */
    ox_prepared *prepared; /* of each node, or of the one that is at work (OX_KEEP_STATE) */
    ox_source *sources;    /* the graph's inputs, then what it captures */
    int nsources;
    ox_work work;
    const ox_tensor **outputs; /* of the graph */
    /* While not all of the graph is planned, or data decides how: */
    ox_pile scratch; /* the following, and memory for a while */
    ox_life *lives;
    int *readers;       /* positions of the nodes that read value v, ascending: ... */
    int *first_reader;  /* ... readers[first_reader[v]] up to readers[first_reader[v + 1]]; nnodes for outputs */
    ox_result *results; /* of the node that is being inferred */
    ox_stage *stages, *newest;
    unsigned char *arena;       /* aligned to OX_ALIGN, inside ... */
    unsigned char *arena_block; /* ... this block, of ... */
    size_t arena_block_size;
    size_t arena_size; /* bytes behind `arena` */
    size_t high_water; /* bytes of them that the plan uses */
};

/* frame.c */
/* A frame without a plan. `temporary` is for what only planning needs. */
ox_status ox_frame_create(const ox_model *model, const ox_graph *graph, const ox_options *options,
                          const ox_allocator *temporary, ox_pool *pool, ox_frame *outer, ox_frame **frame,
                          ox_error *error);
void ox_frame_free(ox_frame *frame);
/* Describes a source as of this shape: forgets the plan if that is new. constant: its data never changes. */
ox_status ox_frame_set(ox_frame *frame, int source, const ox_tensor *tensor, bool constant);
/* The call of node n, as it is planned; `pile` is where prepare keeps things. It is there until the next is asked for.
 */
ox_call *ox_frame_call(ox_frame *frame, int n, ox_pile *pile);
/* The slot of any value, and that of a value of the frame's own, which is no weight. */
const ox_slot *ox_frame_slot(const ox_frame *frame, int v);
ox_slot *ox_frame_own(const ox_frame *frame, int v);
/* Makes what planning knows of values, or forgets it. */
ox_status ox_frame_study(ox_frame *frame);
void ox_frame_forget(ox_frame *frame);
/* Bytes held, subframes included. */
void ox_frame_memory(const ox_frame *frame, size_t *arena, size_t *plan);

/* plan.c: one node */
/* Infers node n into frame->results. live: the data of all its inputs is there. OX_DEFER if some is wanted. */
ox_status ox_plan_infer(ox_frame *frame, int n, bool live);
/* Describes output k of node n from frame->results. */
ox_status ox_plan_describe(ox_frame *frame, int n, int k);
/* The group of a node; a constant where each runs by itself, so that nothing of groups is linked. */
static inline ox_group *ox_frame_group(const ox_frame *frame, int n) {
    return OX_WITH_FUSION ? frame->members[n].group : NULL;
}
/* Position of the dense node in the group of a node; -1 if it is in none, or in one that is a pass by itself. */
static inline int ox_frame_dense(const ox_frame *frame, int n) {
    const ox_group *group = OX_WITH_EPILOGUES ? frame->members[n].group : NULL;
    return group ? group->dense : -1;
}
/* Whether a step calls the run function of its operator; a constant where all operators are views. */
static inline bool ox_step_runs(const ox_step *step) {
    return OX_WITH_RUNS && step->runs;
}
/* What is prepared for the run of a node. */
static inline ox_prepared *ox_frame_prepared(const ox_frame *frame, int n) {
    return &frame->prepared[OX_KEEP_STATE ? n : 0];
}
/* How output k of a node is made. */
static inline ox_window ox_step_window(const ox_step *step, int k) {
    return step->outputs ? step->outputs[k].window : OX_WINDOW_NONE;
}
/* Lets the operator of node n prepare its run, in `pile`; step->work are the bytes that the run wants. */
ox_status ox_plan_prepare(ox_frame *frame, int n, ox_pile *pile);

/* fuse.c: passes */
/* Puts the nodes of a stage that are lane programs, described already, into groups that run as one pass each. */
ox_status ox_fuse_stage(ox_frame *frame, int first, int end);
/* Decides which results of the group that ends at node n are streamed, once their buffers are known. */
void ox_fuse_stream(ox_frame *frame, int n);
/* Writes the pass of a group whose last member is node n, in `pile`, and prepares its dense node. Errors say where they
 * are. */
ox_status ox_fuse_prepare(ox_frame *frame, int n, ox_pile *pile);

/* share.c: buffers */
/* Decides which buffers the outputs of node n, or of the group that it ends, lie in. */
void ox_share_outputs(ox_frame *frame, int n);

/* stage.c: many nodes */
/* Plans the stage that starts at node `first`; inferred: its results are in frame->results already. */
ox_status ox_stage_plan(ox_frame *frame, int first, bool inferred);
/* True if frame->results are what the first node of the stage was planned with, and what planning looked at is what it
 * was; takes over data that the results came with. */
bool ox_stage_holds(ox_frame *frame, const ox_stage *stage);
/* Forgets a stage and all after it. NULL is allowed. */
void ox_stage_forget(ox_frame *frame, ox_stage *stage);

/* place.c: the arena */
/* Places what a stage added, growing the arena. */
ox_status ox_place_stage(ox_frame *frame, const ox_stage *stage);
static inline size_t ox_aligned(size_t size) {
    return (size + OX_ALIGN - 1) / OX_ALIGN * OX_ALIGN;
}

/* run.c */
/* OX_ERROR_CANCELLED at node n. */
ox_status ox_frame_cancelled(const ox_frame *frame, int n);
/* Prepares a step, or the group that ends there. Errors say where they are. */
ox_status ox_step_prepare(ox_frame *frame, int n, ox_pile *pile);
/* Runs one step in a workspace of step->work bytes: packs inputs, calls the operator, shows or copies windows. */
ox_status ox_step_run(ox_frame *frame, int n, unsigned char *workspace);
/* Bytes of scratch memory for one part of a group's pass. */
size_t ox_group_scratch(const ox_group *group);
/* Plans the first stage, if there is none. */
ox_status ox_frame_plan(ox_frame *frame);
/* Runs the graph on the inputs that are set; plans what is not planned. */
ox_status ox_frame_run(ox_frame *frame);
ox_status ox_frame_run_graph(ox_call *call, int number, const ox_graph *graph, int nin, const ox_tensor *const *in,
                             const ox_tensor *const **out, int *nout);

/* profile.c */
/* Does something with node n by way of `run`, and reports it as a step. */
ox_status ox_profile_step(ox_frame *frame, int n, ox_status (*run)(ox_frame *frame, int n));

/* Adds where it happened to the error: "model: node 'name' (Add-14): ". */
ox_status ox_frame_explain(const ox_frame *frame, int n, ox_status status);

#endif
