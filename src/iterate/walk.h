/* walk.h: stepping through the outer dimensions of an iteration plan, and through indices. */
#ifndef OX_ITERATE_WALK_H
#define OX_ITERATE_WALK_H

#include "bcast.h"

/* Moves arg[0..nargs) to the next element of dimensions from, from + 1, ... of the plan. index has an entry for each
 * dimension and starts as zeros. False, with everything back at the start, after the last element. */
static inline bool ox_walk(const ox_bcast *plan, int from, int64_t *index, const char **arg) {
    for (int d = from; d < plan->ndim; d++) {
        if (plan->dim[d] == 1)
            continue;
        const int64_t *step = plan->step + d * plan->nargs;
        if (++index[d] < plan->dim[d]) {
            for (int a = 0; a < plan->nargs; a++)
                arg[a] += step[a];
            return true;
        }
        index[d] = 0;
        for (int a = 0; a < plan->nargs; a++)
            arg[a] -= step[a] * (plan->dim[d] - 1);
    }
    return false;
}

/* Moves arg[0..nargs), from the start, to where `position` calls of ox_walk lead. The plan has elements. */
static inline void ox_walk_to(const ox_bcast *plan, int from, int64_t position, int64_t *index, const char **arg) {
    for (int d = from; d < plan->ndim; d++) {
        index[d] = position % plan->dim[d];
        position /= plan->dim[d];
        for (int a = 0; a < plan->nargs; a++)
            arg[a] += plan->step[d * plan->nargs + a] * index[d];
    }
}

/* Counts an index of `rank` dimensions up by one; false if it is back at the start. */
bool ox_index_next(int rank, const int64_t *dims, int64_t *index);

/* The index of element i. */
void ox_index_of(int rank, const int64_t *dims, int64_t i, int64_t *index);

#endif
