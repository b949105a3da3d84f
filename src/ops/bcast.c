/* bcast.c: planning iteration spaces, and the copy that runs on them. */
#include "lanes.h"

#include <string.h>

bool ox_broadcast_dims(int *rank, int64_t dims[OX_MAX_RANK], int other_rank, const int64_t *other) {
    int added = other_rank - *rank;
    if (added > 0) {
        memmove(dims + added, dims, (size_t)*rank * sizeof *dims);
        for (int d = 0; d < added; d++)
            dims[d] = 1;
        *rank = other_rank;
    }
    for (int d = 0; d < other_rank; d++) {
        int64_t *mine = &dims[*rank - other_rank + d];
        if (*mine == 1)
            *mine = other[d];
        else if (other[d] != 1 && other[d] != *mine)
            return false;
    }
    return true;
}

void ox_broadcast_strides(const ox_tensor *tensor, int rank, const int64_t *dims, int64_t *strides) {
    int missing = rank - tensor->rank;
    for (int d = 0; d < missing; d++)
        strides[d] = 0;
    ox_strides(tensor, strides + missing);
    for (int d = missing; d < rank; d++)
        if (tensor->dims[d - missing] == 1 && dims[d] != 1)
            strides[d] = 0;
}

/* True if dimension `outer` of all operands continues dimension `inner` of the plan. */
static bool continues(const ox_bcast *plan, int inner, const int64_t *const *strides, int outer) {
    int64_t length;
    for (int a = 0; a < plan->nargs; a++)
        if (!ox_mul_i64(plan->step[inner * plan->nargs + a], plan->dim[inner], &length) || strides[a][outer] != length)
            return false;
    return true;
}

void ox_bcast_plan(ox_bcast *plan, int nargs, int rank, const int64_t *dims, const int64_t *const *strides) {
    plan->nargs = nargs;
    plan->ndim = 0;
    for (int d = rank; d-- > 0;) {
        if (dims[d] == 0) {
            plan->ndim = 0;
            break;
        }
        if (dims[d] == 1)
            continue;
        if (plan->ndim && continues(plan, plan->ndim - 1, strides, d)) {
            plan->dim[plan->ndim - 1] *= dims[d];
            continue;
        }
        for (int a = 0; a < nargs; a++)
            plan->step[plan->ndim * nargs + a] = strides[a][d];
        plan->dim[plan->ndim++] = dims[d];
    }
    if (plan->ndim)
        return;
    plan->ndim = 1;
    plan->dim[0] = ox_count(rank, dims); /* 1 or 0 */
    for (int a = 0; a < nargs; a++)
        plan->step[a] = 0;
}

/* ---- Moves -------------------------------------------------------------------------------------------------- */

/* The two innermost dimensions: rows of moves, or memcpy where both sides are dense. */
static void move_rows(const int64_t n[2], const int64_t step[2][2], size_t width, char *dst, const char *src) {
    int64_t w = (int64_t)width;
    if (step[0][0] == w && step[0][1] == w) {
        for (int64_t j = 0; j < n[1]; j++)
            memcpy(dst + j * step[1][0], src + j * step[1][1], (size_t)(n[0] * w));
        return;
    }
    ox_move_fn *move = ox_loops_find(NULL)->move(width);
    /* A long outer and a short inner dimension: the longer one makes the loop. */
    int inner = n[0] >= n[1] || n[0] >= 8 ? 0 : 1, outer = 1 - inner;
    for (int64_t j = 0; j < n[outer]; j++)
        move(n[inner], dst + j * step[outer][0], step[inner][0], src + j * step[outer][1], step[inner][1]);
}

void ox_move(int rank, const int64_t *dims, size_t width, void *dst, const int64_t *dst_strides, const void *src,
             const int64_t *src_strides) {
    int64_t dim[OX_MAX_RANK + 1], step[2 * (OX_MAX_RANK + 1)], index[OX_MAX_RANK + 1] = {0};
    ox_bcast plan = {.dim = dim, .step = step};
    ox_bcast_plan(&plan, 2, rank, dims, (const int64_t *const[]){dst_strides, src_strides});
    if (!dim[0])
        return;
    if (plan.ndim == 1) { /* the rows want two dimensions */
        dim[1] = 1;
        step[2] = step[3] = 0;
        plan.ndim = 2;
    }
    const int64_t rows[2][2] = {{step[0], step[1]}, {step[2], step[3]}};
    char *to = dst;
    const char *from = src;
    for (;;) {
        move_rows(dim, rows, width, to, from);
        int d = 2;
        for (; d < plan.ndim; d++) {
            to += step[2 * d];
            from += step[2 * d + 1];
            if (++index[d] < dim[d])
                break;
            to -= step[2 * d] * dim[d];
            from -= step[2 * d + 1] * dim[d];
            index[d] = 0;
        }
        if (d >= plan.ndim)
            return;
    }
}

void ox_pack(const ox_tensor *tensor, void *dst) {
    int64_t packed[OX_MAX_RANK + 1], strides[OX_MAX_RANK + 1];
    size_t width = ox_dtype_size(tensor->dtype);
    ox_packed_strides(tensor->rank, tensor->dims, width, packed);
    ox_strides(tensor, strides);
    ox_move(tensor->rank, tensor->dims, width, dst, packed, tensor->data, strides);
}
