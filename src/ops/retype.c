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
