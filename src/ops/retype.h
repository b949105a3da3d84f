/* retype.h: whole inputs and pieces of outputs in another type than their own. */
#ifndef OX_OPS_RETYPE_H
#define OX_OPS_RETYPE_H

#include "op.h"

/* Prepare: workspace for ox_retype_in. */
ox_status ox_retype_plan(ox_call *call, const ox_tensor *tensor, ox_dtype dtype);

/* Run: the packed elements of a packed tensor in that type, which is computed in: its own memory or a copy. */
char *ox_retype_in(const ox_call *call, size_t *used, const ox_tensor *tensor, ox_dtype dtype);

/* Run: writes n elements, packed in the compute type of `out`, from its element `at` on. Nothing if `out` is NULL. */
void ox_store_row(const ox_call *call, const ox_tensor *out, int64_t at, int64_t n, const void *from);

/* Run: n packed elements of one floating type as those of another, each rounded once. `to` is not `from`. */
void ox_retype_floats(const ox_call *call, ox_dtype from_type, const void *from, ox_dtype to_type, void *to, int64_t n);

#endif
