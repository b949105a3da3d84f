/* values.h: what operators on values that are no tensors ask of their call. */
#ifndef OX_OPS_VALUES_H
#define OX_OPS_VALUES_H

#include "op.h"
#include "value.h"

/* Infer: fails unless input i is of that kind. */
ox_status ox_call_check_kind(ox_call *call, int i, ox_kind kind);
/* Infer: fails unless input i is one integer, a position. */
ox_status ox_call_check_position(ox_call *call, int i);
/* Infer: the value of input i; OX_DEFER before the run, for what it holds is known to no plan: the node is inferred
 * anew in each run, and then the data of its other inputs is there, too. */
ox_status ox_call_value(ox_call *call, int i, const ox_value **value);
/* Infer or run: the position that input i says, in a list of `count`; the last one if it is omitted. `most` is the
 * largest that it may be. */
ox_status ox_call_position(const ox_call *call, int i, size_t count, size_t most, size_t *position);
/* Prepare: notes which inputs lie in the model, and need not be copied. */
ox_call_fn ox_prepare_keep;
/* Run: input i as a value of its own; NULL where memory is out, with the error. */
const ox_value *ox_call_keep(ox_call *call, int i);
/* Run: the value of input i, and output k. */
const ox_value *ox_call_held(const ox_call *call, int i);
ox_status ox_call_set_value(ox_call *call, int k, const ox_value *value);

#endif
