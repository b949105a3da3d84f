/* group.h: nodes that run as one pass (fuse.c makes groups, group.c runs them). */
#ifndef OX_FRAME_GROUP_H
#define OX_FRAME_GROUP_H

#include "ops/elementwise.h"
#include "ops/epilogue.h"

typedef struct ox_frame ox_frame;

/* Lane programs that run as one pass, at the position of the last of them. One member may be a dense node: the pass is
 * then its epilogue, and runs with it. */
typedef struct ox_group {
    int head, tail; /* members by position, chained through ox_member.next */
    int count;
    int dense; /* position of the dense node, -1 if there is none */
    ox_epilogue epilogue;
    ox_space space;           /* what the pass goes over */
    ox_pass_builder *builder; /* the pass while it is written; NULL otherwise */
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

/* Runs the group that ends at node n. Errors say where they are. */
ox_status ox_group_run(ox_frame *frame, int n, unsigned char *workspace);

#endif
