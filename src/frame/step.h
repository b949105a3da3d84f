/* step.h: what a plan knows of a node. */
#ifndef OX_FRAME_STEP_H
#define OX_FRAME_STEP_H

#include "graph.h"

typedef struct ox_frame ox_frame;

/* What happens to an output that is a view of an input. */
typedef enum ox_view {
    OX_VIEW_NONE = 0, /* it is not one: the operator's run function computes it */
    OX_VIEW_SHOWN,    /* its data is the input's, at an offset */
    OX_VIEW_COPIED,   /* it is copied, packed */
    OX_VIEW_GIVEN     /* not on an input: infer came with the data */
} ox_view;

typedef struct ox_output {
    ox_view view;
    int input; /* of the node */
    int64_t offset;
    ox_tensor seen; /* the view; dims and strides in plan memory */
} ox_output;

/* An input that has to be packed before an operator that takes no strides. */
typedef struct ox_packing {
    int input; /* of the node */
    const ox_tensor *from;
    ox_tensor to;
    size_t offset;      /* in the workspace */
    const void *packed; /* not NULL: a weight, which lies there for all sessions */
    struct ox_packing *next;
} ox_packing;

/* What is prepared for the run of a node. */
typedef struct ox_prepared {
    void *state; /* by its operator */
    ox_packing *packings;
    bool is_program; /* a lane program of its own, as in the pass that the node would be alone */
#if OX_ASSERTIONS
    ox_piece *pieces; /* of the operator's workspace */
#endif
#if !OX_SMALL
    const char *algorithm; /* ox_call_name, NULL without */
    bool is_transformed;   /* as of ox_call */
#endif
} ox_prepared;

/* What a plan knows of a node. */
typedef struct ox_step {
    ox_output *outputs; /* as many as the node has; NULL if none is a view */
    size_t place;       /* in the arena: what is prepared for each run (OX_KEEP_STATE), and the workspace, ... */
    size_t work;        /* ... of so many bytes */
#if !OX_SMALL
    size_t room; /* as of ox_life */
#endif
    bool skip : 1;  /* nothing to do in a run: its outputs are constants */
    bool runs : 1;  /* the run function is called: some output is not a view, ... */
    bool empty : 1; /* ... unless no output has an element, and the operator then does nothing */
#if OX_SMALL
    bool overwrites : 1; /* as of ox_call */
#else
    uint32_t types; /* ox_call.types of when it was prepared, also to be folded */
#endif
} ox_step;

/* Whether a step calls the run function of its operator; a constant where all operators are views. */
static inline bool ox_step_runs(const ox_step *step) {
    return OX_WITH_RUNS && step->runs && !step->empty;
}
/* How output k of a node is made. */
static inline ox_view ox_step_view(const ox_step *step, int k) {
    return step->outputs ? step->outputs[k].view : OX_VIEW_NONE;
}

#endif
