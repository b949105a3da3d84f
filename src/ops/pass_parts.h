/* pass_parts.h: running a pass in parts that threads share. */
#ifndef OX_OPS_PASS_PARTS_H
#define OX_OPS_PASS_PARTS_H

#include "pass/pass.h"
#include "pool.h"

/* Bytes of scratch memory for so many parts; a multiple of OX_ALIGN. */
size_t ox_pass_parts_scratch(const ox_pass *pass, int parts);

/* Runs a pass in that many threads, each with its part of the scratch memory. Gives the fault that one thread would
 * find first, and the tag of the instruction that found it; 0 if there is none. */
int ox_pass_parts_run(const ox_pass *pass, ox_pool *pool, int parts, void *scratch, int *tag);

#endif
