/* fuse.h: runs of nodes that are lane programs become groups, and groups become passes. */
#ifndef OX_RUNTIME_FUSE_H
#define OX_RUNTIME_FUSE_H

#include "frame.h"

/* Puts the nodes of a stage that are lane programs, described already, into groups that run as one pass each. */
ox_status ox_fuse_stage(ox_frame *frame, int first, int end);
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
