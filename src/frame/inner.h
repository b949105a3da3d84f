/* inner.h: a frame of a subgraph, as the operator that runs it sees it (body.c). */
#ifndef OX_FRAME_INNER_H
#define OX_FRAME_INNER_H

#include "ops/control.h"

typedef struct ox_frame ox_frame;

/* Memory that stays from run to run. */
typedef struct ox_room {
    unsigned char *block; /* what is aligned to OX_ALIGN in it is the operator's */
    size_t size;
} ox_room;

typedef struct ox_inner {
    ox_body body; /* first: it is found by it */
    ox_frame *frame;
    size_t forgotten; /* the outer plan's count when the frame was opened last, ... */
    bool renewed;     /* ... and whether it was another one before: a constant there may be another at its address */
    ox_tensor *results;
    bool *placed; /* of outputs: that they have been given a place in this run */
    ox_room *rooms;
    int nrooms;
} ox_inner;

#endif
