/* rounds.h: what Loop and Scan share: a body that runs round after round, values that it carries from each round to the
 * next one, and results of all rounds that are stacked.
 *
 * A carried value lies in two places by turns: a round reads one and writes the other. One that the body gives back as
 * it is stays what the node was given. What a round gives to a stack it computes in its slice of the result. */
#ifndef OX_OPS_CONTROL_ROUNDS_H
#define OX_OPS_CONTROL_ROUNDS_H

#include "ops/control.h"
#include "value.h"

typedef struct ox_carried {
    ox_tensor now; /* as it was given, or as the last round left it */
    int64_t dims[OX_MAX_RANK];
    size_t bytes;           /* that the last round gave */
    ox_dtype type;          /* as it was given: rounds may give what an optional holds in its place, ... */
    const ox_value *around; /* ... which the next one reads in an optional */
    int place;              /* which of the two places it lies in, -1 for outside */
    bool stays;             /* it is an input of the node in every round */
    int given;              /* that input */
} ox_carried;

typedef struct ox_stack {
    ox_dtype dtype; /* OX_UNDEFINED before the first round */
    int rank;
    int64_t dims[OX_MAX_RANK]; /* of a slice */
    size_t bytes;              /* likewise */
    unsigned char *slices;
    bool backward; /* the first round gives the last slice */
} ox_stack;

typedef struct ox_rounds {
    ox_call *call;
    ox_body *body;
    int first; /* input of the body that the first carried value is */
    int ncarried, nstacks;
    int64_t done, most; /* rounds that have run, and that may */
    int64_t before;     /* slices of earlier runs, which stay */
    int64_t total;      /* slices that there will be, -1 if that is not known */
    bool fixed;         /* carried values keep their shapes */
    bool forgets;       /* nothing refers any more to what the last round made besides its results, ... */
    ox_pile_mark made;  /* ... which begins here in the pile of strings, sequences, optionals and maps */
    ox_carried *carried;
    ox_stack *stacks;
    void *own; /* of the operator: zeroed */
} ox_rounds;

/* Inputs and outputs of the node's body. */
ox_status ox_rounds_ends(ox_call *call, int *nin, int *nout);
/* Opens the body. Its outputs from `placed_from` on are the carried values, then the stacks. `own` bytes are for the
 * operator itself. The struct must not move. */
ox_status ox_rounds_open(ox_rounds *rounds, ox_call *call, int first, int ncarried, int placed_from, size_t own);
/* Starts to carry value j, which begins as input `given` of the node. */
ox_status ox_rounds_begin(ox_rounds *rounds, int j, int given);
/* Starts to carry value j anew, which is packed if it is not. */
ox_status ox_rounds_carry(ox_rounds *rounds, int j, const ox_tensor *initial);
/* Runs one round. */
ox_status ox_rounds_run(ox_rounds *rounds);
/* Output k of the node is carried value k, as it is now. */
ox_status ox_rounds_give_carried(ox_rounds *rounds, int k);
/* Describes the slices of stack s, also if no round has run. */
ox_status ox_rounds_describe(ox_rounds *rounds, int s);
/* Memory of output k of the node, besides places and slices. */
ox_status ox_rounds_room(ox_rounds *rounds, int k, size_t size, void **room);
/* Gives output k of that shape, whose slices are those of a stack. */
ox_status ox_rounds_give_stack(ox_rounds *rounds, int k, int rank, const int64_t *dims);

#endif
