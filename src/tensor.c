/* tensor.c: shapes and strides. */
#include "tensor.h"

#include <string.h>

int64_t ox_count(int rank, const int64_t *dims) {
    int64_t count = 1;
    bool zero = false, large = false;
    for (int d = 0; d < rank; d++) {
        if (dims[d] < 0)
            return -1;
        zero |= dims[d] == 0;
        large |= !ox_mul_i64(count, dims[d], &count);
    }
    return zero ? 0 : large ? -1 : count;
}

/* Whether it says what a tensor has to say of its dims. The program of a device is taken at its word. */
static bool has_shape(const ox_tensor *tensor) {
    return OX_SMALL ||
           (tensor && tensor->rank >= 0 && tensor->rank <= OX_TENSOR_RANK && (!tensor->rank || tensor->dims));
}

int64_t ox_tensor_count(const ox_tensor *tensor) {
    if (!has_shape(tensor))
        return -1;
    return ox_count(tensor->rank, tensor->dims);
}

bool ox_can_hold(int64_t count, ox_dtype dtype) {
    size_t bytes;
    return (uint64_t)count <= SIZE_MAX / 2 && ox_mul_size((size_t)count, ox_dtype_size(dtype), &bytes) &&
           bytes <= SIZE_MAX / 2;
}

/* Unsigned: the strides of an empty tensor may overflow, and mean nothing. */
void ox_packed_strides(int rank, const int64_t *dims, size_t width, int64_t *strides) {
    uint64_t step = width;
    for (int d = rank; d-- > 0;) {
        strides[d] = (int64_t)step;
        step *= dims[d] > 0 ? (uint64_t)dims[d] : 1;
    }
}

void ox_tensor_strides(const ox_tensor *tensor, int64_t *strides) {
    if (!strides || !has_shape(tensor))
        return;
    if (tensor->strides)
        memcpy(strides, tensor->strides, (size_t)tensor->rank * sizeof *strides);
    else
        ox_packed_strides(tensor->rank, tensor->dims, ox_dtype_size(tensor->dtype), strides);
}

int64_t ox_stride(const ox_tensor *tensor, int d) {
    if (tensor->strides)
        return tensor->strides[d];
    uint64_t step = ox_dtype_size(tensor->dtype);
    for (int i = d + 1; i < tensor->rank; i++)
        step *= tensor->dims[i] > 0 ? (uint64_t)tensor->dims[i] : 1;
    return (int64_t)step;
}

size_t ox_tensor_span(const ox_tensor *tensor) {
    const int64_t count = ox_tensor_count(tensor), width = (int64_t)ox_dtype_size(tensor->dtype);
    int64_t bytes = tensor->strides ? width : count * width;
    if (count < 1)
        return 0;
    for (int d = 0; d < tensor->rank && tensor->strides; d++) {
        if (tensor->dims[d] > 1 && tensor->strides[d] < 0)
            return 0;
        bytes += (tensor->dims[d] - 1) * tensor->strides[d];
    }
    return (size_t)bytes;
}

bool ox_tensor_is_packed(const ox_tensor *tensor) {
    if (!has_shape(tensor))
        return false;
    if (!tensor->strides || ox_tensor_count(tensor) == 0)
        return true;
    uint64_t step = ox_dtype_size(tensor->dtype); /* this may be a part of a tensor without elements: see above */
    for (int d = tensor->rank; d-- > 0;) {
        if (tensor->dims[d] == 1)
            continue;
        if (tensor->strides[d] != (int64_t)step)
            return false;
        step *= (uint64_t)tensor->dims[d];
    }
    return true;
}

bool ox_same_dims(int rank_a, const int64_t *a, int rank_b, const int64_t *b) {
    int d = 0;
    while (rank_a == rank_b && d < rank_a && a[d] == b[d])
        d++;
    return rank_a == rank_b && d == rank_a;
}

/* The address of element i in row-major order. */
static const char *element(const ox_tensor *tensor, int64_t i) {
    const char *at = tensor->data;
    if (!tensor->strides)
        return at + i * (int64_t)ox_dtype_size(tensor->dtype);
    size_t rest = (size_t)i; /* there are no more elements than fit in memory */
    for (int d = tensor->rank; d-- > 0;) {
        at += (int64_t)(rest % (size_t)tensor->dims[d]) * tensor->strides[d];
        rest /= (size_t)tensor->dims[d];
    }
    return at;
}

int64_t ox_tensor_int(const ox_tensor *tensor, int64_t i) {
    const char *at = element(tensor, i);
#define READ(type)                                                                                                     \
    {                                                                                                                  \
        type value;                                                                                                    \
        memcpy(&value, at, sizeof value);                                                                              \
        return (int64_t)value;                                                                                         \
    }
    switch ((int)tensor->dtype) {
    case OX_INT64:
        READ(int64_t)
    case OX_INT32:
        READ(int32_t)
    case OX_INT16:
        READ(int16_t)
    case OX_INT8:
        READ(int8_t)
    case OX_UINT64:
        READ(uint64_t)
    case OX_UINT32:
        READ(uint32_t)
    case OX_UINT16:
        READ(uint16_t)
    case OX_UINT8:
    case OX_BOOL:
        READ(uint8_t)
    default:
        return 0;
    }
#undef READ
}
