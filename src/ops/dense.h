/* dense.h: what operators that compute on whole tensors share: workspace, iteration plans in plan memory, and tensors
 * in the type that arithmetic is done in. */
#ifndef OX_OPS_DENSE_H
#define OX_OPS_DENSE_H

#include "iterate/bcast.h"
#include "loops/element.h"
#include "op.h"
#include "store.h"

/* Prepare: asks for count elements of `size` bytes of workspace. */
ox_status ox_workspace_add(ox_call *call, int64_t count, size_t size);

/* Run: the next piece of the workspace; taken in the order and the sizes of prepare, all of them, which builds with
 * assertions check. *used starts at 0. */
void *ox_workspace_take(const ox_call *call, size_t *used, int64_t count, size_t size);

/* Prepare: workspace for ox_list_take of input i; none if it is omitted. */
ox_status ox_list_plan(ox_call *call, int i);

/* Run: the integers of input i, each read once, so that those that are checked are those that are used; NULL if it is
 * omitted. */
const int64_t *ox_list_take(const ox_call *call, size_t *used, int i);

/* The pool for work that moves this many bytes, or takes as long as that; NULL if it is too small to be split. */
static inline ox_pool *ox_pool_for(ox_pool *pool, double bytes) {
    return OX_SMALL || bytes < (double)OX_SPLIT_BYTES ? NULL : pool;
}

/* Prepare: a plan as of ox_bcast_plan, in plan memory. */
ox_status ox_plan_space(ox_call *call, ox_bcast *plan, int nargs, int rank, const int64_t *dims,
                        const int64_t *const *strides);

#if !OX_SMALL
/* The key of a layout of packed weights of up to OX_STORE_DIMS dimensions. */
ox_store_key ox_packed_key(ox_layout layout, const void *build, const ox_tensor *weight);
#endif

/* Prepare: a weight with strides, packed once for all sessions; NULL if `store` is, or has no room for it. */
ox_status ox_packed_once(struct ox_store *store, const struct ox_loops *loops, const ox_tensor *weight,
                         const void **packed, ox_error *error);

#if !OX_SMALL
/* What is laid out once for all sessions. */
typedef struct ox_laying {
    const ox_store_key *key;
    size_t size;
    ox_status (*begin)(ox_call *call, void *context); /* before `make`: takes what that works with from call->pile,
                                                       * which gets it back behind it */
    ox_store_fn *make;
    void *context; /* of both */
} ox_laying;

/* Prepare: that block, which is made if it is not there; NULL if there is no room for it. */
ox_status ox_lay_once(ox_call *call, const ox_laying *laying, const void **block);

/* A packed weight, whose elements lie at `from` in the type that is computed in: where they are, or widened. */
typedef struct ox_wide_weight {
    const ox_tensor *weight;
    const void *from;
} ox_wide_weight;

/* A `begin` whose context begins with an ox_wide_weight: sets its `from`. */
ox_status ox_widen_weight(ox_call *call, void *context);
#endif

/* Prepare: workspace for ox_dense_in. */
ox_status ox_dense_plan(ox_call *call, const ox_tensor *tensor);

/* Run: the tensor in its compute type: itself, or a packed copy widened to float. */
ox_tensor ox_dense_in(const ox_call *call, size_t *used, const ox_tensor *tensor);

/* The strides of what ox_dense_in will give. */
void ox_dense_strides(const ox_tensor *tensor, int64_t *strides);

/* Prepare: workspace for ox_dense_out. */
ox_status ox_dense_plan_out(ox_call *call, int64_t count);

/* Run: where to compute the `count` elements of output 0: in place, or as floats in the workspace. NULL if an epilogue
 * takes them. */
void *ox_dense_out(const ox_call *call, size_t *used, int64_t count);

/* Run: brings the computed elements into output 0, rounding once, unless they were computed in place or taken. */
void ox_dense_store(const ox_call *call, int64_t count, void *computed);

#endif
