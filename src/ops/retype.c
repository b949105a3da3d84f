/* retype.c: inputs and pieces of outputs in other types. */
#include "retype.h"
#include "dense.h"
#include "loops/lanes.h"

#include <string.h>

ox_status ox_retype_plan(ox_call *call, const ox_tensor *tensor, ox_dtype dtype) {
    OX_TRY(ox_dense_plan(call, tensor));
    return ox_dtype_compute(tensor->dtype) == dtype
               ? OX_OK
               : ox_workspace_add(call, ox_tensor_count(tensor), ox_dtype_size(dtype));
}

char *ox_retype_in(const ox_call *call, size_t *used, const ox_tensor *tensor, ox_dtype dtype) {
    const ox_tensor wide = ox_dense_in(call, used, tensor);
    if (wide.dtype == dtype)
        return wide.data;
    const int64_t count = ox_tensor_count(tensor), size = (int64_t)ox_dtype_size(dtype);
    char *to = ox_workspace_take(call, used, count, (size_t)size);
    call->loops->cast(wide.dtype, dtype)(count, (char *const[]){to, wide.data},
                                         (const int64_t[]){size, (int64_t)ox_dtype_size(wide.dtype)}, NULL);
    return to;
}

void ox_store_row(const ox_call *call, const ox_tensor *out, int64_t at, int64_t n, const void *from) {
    if (!out || n == 0)
        return;
    const int64_t size = (int64_t)ox_dtype_size(out->dtype);
    char *to = (char *)out->data + at * size;
    if (ox_dtype_compute(out->dtype) == out->dtype)
        memcpy(to, from, (size_t)(n * size));
    else
        call->loops->narrow(n, (char *const[]){to, (char *)(uintptr_t)from},
                            (const int64_t[]){size, (int64_t)sizeof(float)}, &(ox_narrowing){.dtype = out->dtype});
}

typedef struct float_job {
    const ox_loops *loops;
    ox_dtype from_type, to_type;
    const char *from;
    char *to;
    int64_t count;
} float_job;

enum {
    FLOATS_EACH = 128 /* elements between two steps, on the stack */
};

static void convert(ox_lane *lane, int64_t n, void *to, int64_t to_size, const void *from, int64_t from_size,
                    const void *attr) {
    lane(n, (char *const[]){to, (char *)(uintptr_t)from}, (const int64_t[]){to_size, from_size}, attr);
}

/* Widens, brings to the type that the result is computed in (to the odd neighbour where that is rounded again), and
 * narrows: what is not needed is left out. */
static void convert_floats(const float_job *job, int64_t n, const char *from, char *to) {
    const ox_dtype wide = ox_dtype_compute(job->from_type), computed = ox_dtype_compute(job->to_type);
    const int64_t size = (int64_t)ox_dtype_size(wide), computed_size = (int64_t)ox_dtype_size(computed);
    ox_f64 widened[FLOATS_EACH], middle[FLOATS_EACH];
    const bool narrows = computed != job->to_type;
    const void *at = from;
    if (wide != job->from_type) {
        convert(job->loops->widen, n, widened, size, from, (int64_t)ox_dtype_size(job->from_type), &job->from_type);
        at = widened;
    }
    if (wide != computed) {
        void *result = narrows ? (void *)middle : to;
        const bool odd = narrows && job->loops->cast_odd;
        convert(odd ? job->loops->cast_odd(wide) : job->loops->cast(wide, computed), n, result, computed_size, at, size,
                NULL);
        at = result;
    }
    if (narrows)
        convert(job->loops->narrow, n, to, (int64_t)ox_dtype_size(job->to_type), at, computed_size,
                &(ox_narrowing){.dtype = job->to_type});
    else if (at != to)
        memcpy(to, at, (size_t)(n * computed_size));
}

static void float_part(void *context, int part, int parts) {
    const float_job *job = context;
    const int64_t from_size = (int64_t)ox_dtype_size(job->from_type), to_size = (int64_t)ox_dtype_size(job->to_type);
    int64_t i, end;
    ox_pool_range(job->count, part, parts, &i, &end);
    for (; i < end; i += FLOATS_EACH)
        convert_floats(job, ox_least(end - i, FLOATS_EACH), job->from + i * from_size, job->to + i * to_size);
}

void ox_retype_floats(const ox_call *call, ox_dtype from_type, const void *from, ox_dtype to_type, void *to,
                      int64_t n) {
    float_job job = {call->loops, from_type, to_type, from, to, n};
    ox_pool_run_pieces(call->pool, (double)n * (double)(ox_dtype_size(from_type) + ox_dtype_size(to_type)), float_part,
                       &job);
}
