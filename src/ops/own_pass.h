/* own_pass.h: a lane program that an operator runs by itself, next to other things that it does. */
#ifndef OX_OPS_OWN_PASS_H
#define OX_OPS_OWN_PASS_H

#include "elementwise.h"

typedef struct ox_own_pass {
    ox_pass *pass;
    int parts; /* that threads share */
} ox_own_pass;

/* Prepare: ends a program whose result is stored to `out`, and asks for workspace. */
ox_status ox_own_pass_end(ox_call *call, ox_pass_builder *builder, ox_reg result, const ox_tensor *out,
                          ox_own_pass *own);

/* Run: runs it, on workspace that is taken as of ox_workspace_take. */
ox_status ox_own_pass_run(const ox_call *call, size_t *used, const ox_own_pass *own);

/* One element that repeats, in the type of a register. */
ox_reg ox_own_pass_number(ox_pass_builder *builder, ox_reg like, float number);

#endif
