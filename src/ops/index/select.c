/* select.c: NonZero and Compress, whose results are as large as the data says. */
#include "elements.h"
#include "ops/pick.h"

#include <stddef.h>
#include <string.h>

/* ---- Elements that are not zero ----------------------------------------------------------------------------- */

/* Lists the numbers of those of n elements, `step` bytes apart, that have a bit of the mask. Returns how many there
 * are. n <= OX_INDEX_PIECE. */
#define FIND(type)                                                                                                     \
    static int find_##type(int64_t n, const char *at, int64_t step, uint64_t mask, int16_t *found) {                   \
        int count = 0;                                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            found[count] = (int16_t)i;                                                                                 \
            count += (OX_GET(type, at + i * step) & mask) != 0;                                                        \
        }                                                                                                              \
        return count;                                                                                                  \
    }
FIND(ox_u8)
FIND(ox_u16)
FIND(ox_u32)
FIND(ox_u64)

/* The same for elements of two words. */
static int find_pairs(int64_t n, const char *at, int64_t step, uint64_t mask, int16_t *found) {
    int count = 0;
    for (int64_t i = 0; i < n; i++) {
        found[count] = (int16_t)i;
        count += ((OX_GET(ox_u64, at + i * step) | OX_GET(ox_u64, at + i * step + 8)) & mask) != 0;
    }
    return count;
}

/* How elements of a type are compared with zero, whose sign does not count. */
typedef struct zero_test {
    int (*find)(int64_t n, const char *at, int64_t step, uint64_t mask, int16_t *found);
    uint64_t mask;
    int64_t offset; /* of what is looked at */
} zero_test;

static zero_test test_of(ox_dtype dtype) {
    const bool real = (OX_BIT(dtype) & (OX_SET_FLOAT | OX_SET_COMPLEX)) != 0;
    if (dtype == OX_STRING)
        return (zero_test){sizeof(size_t) == 8 ? find_ox_u64 : find_ox_u32, ~(uint64_t)0, offsetof(ox_string, size)};
    switch (dtype == OX_COMPLEX64 ? 9 : ox_dtype_size(dtype)) {
    case 1:
        return (zero_test){find_ox_u8, 0xff, 0};
    case 2:
        return (zero_test){find_ox_u16, real ? 0x7fff : 0xffff, 0};
    case 4:
        return (zero_test){find_ox_u32, real ? 0x7fffffff : 0xffffffff, 0};
    case 8:
        return (zero_test){find_ox_u64, real ? INT64_MAX : UINT64_MAX, 0};
    case 9: /* two floats */
        return (zero_test){find_ox_u64, 0x7fffffff7fffffff, 0};
    default:
        return (zero_test){find_pairs, INT64_MAX, 0};
    }
}

/* ---- NonZero ------------------------------------------------------------------------------------------------ */

/* The place in a tensor whose last dimension is gone through by pieces. */
typedef struct row_walk {
    const ox_tensor *tensor;
    int64_t strides[OX_MAX_RANK], index[OX_MAX_RANK];
    int64_t length, step; /* of a row */
    const char *at;
} row_walk;

static row_walk begin_rows(const ox_tensor *tensor) {
    row_walk walk = {.tensor = tensor, .length = 1, .at = tensor->data};
    ox_tensor_strides(tensor, walk.strides);
    if (tensor->rank) {
        walk.length = tensor->dims[tensor->rank - 1];
        walk.step = walk.strides[tensor->rank - 1];
    }
    return walk;
}

static bool next_row(row_walk *walk) {
    for (int d = walk->tensor->rank - 1; d-- > 0;) {
        walk->at += walk->strides[d];
        if (++walk->index[d] < walk->tensor->dims[d])
            return true;
        walk->at -= walk->strides[d] * walk->tensor->dims[d];
        walk->index[d] = 0;
    }
    return false;
}

/* Lists the places of elements that are not zero, in order: `to` is NULL, or has room for `most` of them in each
 * dimension. Returns how many there are. */
static int64_t list_places(const ox_tensor *tensor, int64_t most, char *to) {
    const zero_test test = test_of(tensor->dtype);
    const int rank = tensor->rank;
    int16_t found[OX_INDEX_PIECE];
    row_walk walk = begin_rows(tensor);
    int64_t total = 0;
    if (ox_tensor_count(tensor) == 0)
        return 0;
    do
        for (int64_t at = 0; at < walk.length; at += OX_INDEX_PIECE) {
            const int64_t n = ox_least(walk.length - at, OX_INDEX_PIECE);
            int count = test.find(n, walk.at + at * walk.step + test.offset, walk.step, test.mask, found);
            if (to && count > most - total)
                count = (int)(most - total);
            for (int d = 0; d < rank && to; d++) {
                char *line = to + (d * most + total) * (int64_t)sizeof(int64_t);
                for (int i = 0; i < count; i++)
                    OX_AT(ox_i64, line + i * (int64_t)sizeof(int64_t)) = d < rank - 1 ? walk.index[d] : at + found[i];
            }
            total += count;
        }
    while (next_row(&walk));
    return total;
}

ox_status ox_infer_nonzero(ox_call *call) {
    const ox_tensor *in;
    OX_TRY(ox_call_data(call, 0, &in));
    return ox_call_output(call, 0, OX_INT64, 2, (const int64_t[]){in->rank, list_places(in, 0, NULL)});
}

ox_status ox_run_nonzero(ox_call *call) {
    const int64_t count = call->out[0]->dims[1];
    return list_places(call->in[0], count, call->out[0]->data) < count ? ox_call_changed(call, 0) : OX_OK;
}

/* ---- Compress ----------------------------------------------------------------------------------------------- */

/* The axis, or -1 where the data is taken as one row. */
static ox_status compressed_axis(ox_call *call, int *axis) {
    *axis = -1;
    if (!ox_call_has(call, "axis"))
        return OX_OK;
    return ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), call->in[0]->rank, axis);
}

/* How many of the conditions hold; fails if one does behind the last of `dim` elements. */
static ox_status count_true(ox_call *call, int64_t dim, int64_t *count) {
    const ox_tensor *condition;
    int16_t found[OX_INDEX_PIECE];
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_BOOL)));
    if (call->in[1]->rank != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have rank 1", OX_INPUT(call, 1));
    OX_TRY(ox_call_data(call, 1, &condition));
    const int64_t all = condition->dims[0], step = ox_stride(condition, 0);
    *count = 0;
    for (int64_t at = 0; at < all; at += OX_INDEX_PIECE) {
        const int n = find_ox_u8(ox_least(all - at, OX_INDEX_PIECE), (const char *)condition->data + at * step, step,
                                 0xff, found);
        if (n && at + found[n - 1] >= dim)
            return ox_call_fail(call, OX_ERROR_VALUE, "condition %lld holds, but there are only %lld elements",
                                (long long)(at + found[n - 1]), (long long)dim);
        *count += n;
    }
    return OX_OK;
}

ox_status ox_infer_compress(ox_call *call) {
    const ox_tensor *in = call->in[0];
    int64_t dims[OX_MAX_RANK], count = 0;
    int axis;
    OX_TRY(compressed_axis(call, &axis));
    OX_TRY(count_true(call, axis < 0 ? ox_tensor_count(in) : in->dims[axis], &count));
    for (int d = 0; d < in->rank; d++)
        dims[d] = in->dims[d];
    dims[axis < 0 ? 0 : axis] = count;
    return ox_call_output(call, 0, in->dtype, axis < 0 ? 1 : in->rank, dims);
}

/* Blocks that are kept of each of `outer` stretches. */
typedef struct compress_job {
    const ox_call *call;
    int64_t outer, dim, block, kept; /* block: bytes */
    int64_t *offsets;
} compress_job;

ox_status ox_prepare_compress(ox_call *call) {
    const ox_tensor *in = call->in[0], *out = call->out[0];
    compress_job *job = ox_call_state(call, sizeof *job);
    int axis;
    if (!job)
        return OX_ERROR_MEMORY;
    OX_TRY(compressed_axis(call, &axis));
    const int64_t width = (int64_t)ox_dtype_size(in->dtype);
    job->outer = axis < 0 ? 1 : ox_count(axis, in->dims);
    job->dim = axis < 0 ? ox_tensor_count(in) : in->dims[axis];
    job->block = axis < 0 ? width : ox_count(in->rank - axis - 1, in->dims + axis + 1) * width;
    job->kept = out->dims[axis < 0 ? 0 : axis];
    return ox_workspace_add(call, job->kept, sizeof *job->offsets);
}

static void compress_part(void *context, int part, int parts) {
    const compress_job *job = context;
    int64_t at, end;
    ox_pool_range(job->outer, part, parts, &at, &end);
    for (; at < end; at++)
        ox_pick_blocks(job->call->loops, (char *)job->call->out[0]->data + at * job->kept * job->block,
                       (const char *)job->call->in[0]->data + at * job->dim * job->block, job->block, job->kept,
                       job->offsets);
}

ox_status ox_run_compress(ox_call *call) {
    compress_job job = *(const compress_job *)call->state;
    const char *condition = call->in[1]->data;
    job.call = call;
    size_t used = 0;
    job.offsets = ox_workspace_take(call, &used, job.kept, sizeof *job.offsets);
    int64_t n = 0;
    /* Without a branch on what the condition says: each is listed, and written over unless it holds. */
    for (int64_t i = 0; n < job.kept && i < ox_least(job.dim, call->in[1]->dims[0]); i++) {
        job.offsets[n] = i * job.block;
        n += condition[i] != 0;
    }
    if (n < job.kept)
        return ox_call_changed(call, 1);
    ox_pool_run_pieces(call->pool, (double)job.outer * (double)job.kept * (double)job.block, compress_part, &job);
    return OX_OK;
}
