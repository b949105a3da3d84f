/* fuse.h: runs of nodes that are lane programs become groups, and groups become passes. */
#ifndef OX_PLAN_FUSE_H
#define OX_PLAN_FUSE_H

#include "frame/frame.h"

/* Puts the nodes of a stage that are lane programs, described already, into groups that run as one pass each. */
ox_status ox_fuse_stage(ox_frame *frame, int first, int end);
/* True if node n, which is as it was, may be a member of a group. */
bool ox_fuse_takes(const ox_frame *frame, int n);
/* Whether these nodes, in order, come into the groups that they are in: described anew, with all nodes that may be
 * members and give them something, or take something of theirs. `giver`: which node gives each value. Then spaces are
 * those of the new shapes. False without memory. */
bool ox_fuse_holds(ox_frame *frame, const int *nodes, int count, const int *giver);
/* Which node of [first, end) gives each value, -1 for none; NULL without memory. */
int *ox_fuse_givers(ox_frame *frame, int first, int end);
/* Writes the program of the group whose last member is node n, in `pile`; what is not needed once it is ended lies in
 * `scratch`. Errors say where they are. */
ox_status ox_fuse_write(ox_frame *frame, int n, ox_pile *pile, ox_pile *scratch);
/* True if the program that is being written may read value v behind what it stores of member m. */
bool ox_fuse_reads_later(const ox_frame *frame, int m, int v);
/* Decides which results of the group that ends at node n are streamed, once their buffers are known. */
void ox_fuse_stream(ox_frame *frame, int n);
/* Ends the program of the group whose last member is node n, in `pile`, which it is written in if it is not yet, and
 * prepares its dense node. Errors say where they are. */
ox_status ox_fuse_prepare(ox_frame *frame, int n, ox_pile *pile);

#endif
