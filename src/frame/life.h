/* life.h: liveness of the values of a frame, for planning only: their readers, and how long their buffers live. */
#ifndef OX_FRAME_LIFE_H
#define OX_FRAME_LIFE_H

#include "ops/op.h"

/* Values are computed in their part of what is put together from them. That keeps memory for longer: devices copy. */
#define OX_WITH_PARTS (!OX_SMALL)

/* Constants that no run reads do not stay. */
#define OX_WITH_TEMPORARIES (OX_WITH_FUSION && !OX_SMALL)

typedef struct ox_frame ox_frame;
typedef struct ox_folded ox_folded; /* fold.c */

/* Of one value. */
typedef struct ox_life {
    bool packed_only; /* some reader takes no strides, or the value is an output of the graph */
    bool is_output;
    bool outside;   /* of owners: the buffer is not in the arena: ox_target */
    int root;       /* the value in whose buffer this one lies: itself, or what it is a view of; -1 if in none */
    int owner;      /* where the root's buffer is: ox_life_owner; -1 until that is decided */
    int last_use;   /* position of the last node that reads the value; nnodes for outputs of the graph, -1 unread */
    int read_until; /* the same, or the position of the pass that reads it for a node before */
    /* of owners: */
    int born, dies; /* positions of the nodes that the buffer must live through */
    size_t bytes, place;
#if !OX_SMALL
    size_t room; /* bytes that it has at its place, if that is more than it takes: update.h */
#endif
#if OX_WITH_PARTS
    size_t at; /* byte offset in the buffer of `owner` */
#endif
#if OX_WITH_TEMPORARIES
    bool is_read;         /* as far as the graph tells: a run reads it, or a view of it, should it be a constant */
    int waiting;          /* of constants: how often nodes that are not folded yet read it, or a view of it */
    ox_folded *temporary; /* of constants: the memory that it has for a while; NULL if it has none */
#endif
} ox_life;

/* Is there while not all of the graph is planned, or data decides how. */
typedef struct ox_planning {
    ox_pile scratch;    /* the following, and memory for a while */
    ox_life *lives;     /* of each value */
    int *readers;       /* positions of the nodes that read value v, ascending: ... */
    int *first_reader;  /* ... readers[first_reader[v]] up to readers[first_reader[v + 1]]; nnodes for outputs */
    ox_result *results; /* of the node that is being inferred */
#if !OX_SMALL
    int *giver;   /* of each value, once a plan is updated: the node that gives it, -1 for none */
    int *classes; /* of each node, once a plan is updated: the first of those that it repeats (repeat.h) */
    bool again;   /* the plan is being updated: nodes are described in the lists that they have */
#endif
#if OX_WITH_TEMPORARIES
    ox_folded *temporaries; /* those that are there, and their bytes */
    size_t temporary_bytes;
#endif
} ox_planning;

/* The value that owns the buffer of v; -1 while undecided, and for values without a buffer. An owner's buffer may
 * become a part of another's: then it is not an owner any more. */
#if OX_WITH_PARTS
int ox_life_owner(const ox_planning *planning, int v);
/* Byte offset of value v in the buffer of its owner. */
size_t ox_life_at(const ox_planning *planning, int v);
#else
static inline int ox_life_owner(const ox_planning *planning, int v) {
    return planning->lives[v].owner;
}
static inline size_t ox_life_at(const ox_planning *planning, int v) {
    (void)planning, (void)v;
    return 0;
}
#endif

/* Finds the readers of each value. */
ox_status ox_life_study(ox_frame *frame);
/* Forgets all of ox_planning. */
void ox_life_forget(ox_frame *frame);

#endif
