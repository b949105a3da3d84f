/* scalar.c: single elements, and memory filled with one. */
#include "scalar.h"
#include "iterate/bcast.h"
#include "loops/element.h"

#include <string.h>

ox_status ox_call_scalar(ox_call *call, int i, ox_dtypes set, const ox_tensor **tensor) {
    OX_TRY(ox_call_check_dtype(call, i, set));
    if (ox_tensor_count(call->in[i]) != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have one element", OX_INPUT(call, i));
    return ox_call_data(call, i, tensor);
}

double ox_scalar_float(const ox_tensor *tensor) {
    float value;
    if (tensor->dtype == OX_DOUBLE)
        return OX_GET(ox_f64, tensor->data);
    if (tensor->dtype == OX_FLOAT)
        return (double)OX_GET(ox_f32, tensor->data);
    if (ox_dtype_compute(tensor->dtype) != OX_FLOAT)
        return (double)ox_tensor_int(tensor, 0);
    ox_widen(tensor->dtype, 1, tensor->data, &value);
    return (double)value;
}

/* As ox_scalar_int says. */
static int64_t truncated(double value) {
    if (value != value)
        return 0;
    return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

int64_t ox_scalar_int(const ox_tensor *tensor) {
    if (OX_BIT(tensor->dtype) & OX_SET_INT)
        return ox_tensor_int(tensor, 0);
    return truncated(ox_scalar_float(tensor));
}

/* Stores the low bytes of an integer. */
static void make_integer(size_t width, int64_t value, void *to) {
    switch (width) {
    case 1:
        OX_AT(ox_u8, to) = (uint8_t)value;
        return;
    case 2:
        OX_AT(ox_u16, to) = (uint16_t)value;
        return;
    case 4:
        OX_AT(ox_u32, to) = (uint32_t)value;
        return;
    default:
        OX_AT(ox_i64, to) = value;
    }
}

void ox_make_element(ox_dtype dtype, float value, void *to) {
    const double wide = (double)value;
    const size_t width = ox_dtype_size(dtype);
    memset(to, 0, width);
    if (dtype == OX_STRING)
        memcpy(to, &(ox_string){"", 0}, sizeof(ox_string));
    else if (dtype == OX_FLOAT || dtype == OX_COMPLEX64)
        memcpy(to, &value, sizeof value);
    else if (dtype == OX_DOUBLE || dtype == OX_COMPLEX128)
        memcpy(to, &wide, sizeof wide);
    else if (dtype == OX_BOOL)
        make_integer(1, value != 0, to);
    else if (ox_dtype_compute(dtype) == OX_FLOAT)
        ox_narrow(&(ox_narrowing){.dtype = dtype}, 1, &value, to);
    else
        make_integer(width, truncated(wide), to);
}

void ox_fill_outside(const ox_call *call, int rank, const int64_t *dims, const int64_t *first, const int64_t *end,
                     size_t width, void *data, const void *element) {
    int64_t strides[OX_MAX_RANK], size[OX_MAX_RANK], still[OX_MAX_RANK] = {0};
    char *at = data;
    if (ox_count(rank, dims) == 0)
        return;
    ox_packed_strides(rank, dims, width, strides);
    for (int d = 0; d < rank; d++)
        size[d] = dims[d];
    for (int d = 0; d < rank; d++) { /* below and above the box on axis d, within it on the axes before */
        size[d] = first[d];
        ox_move(call->loops, call->pool, rank, size, width, at, strides, element, still);
        size[d] = dims[d] - end[d];
        ox_move(call->loops, call->pool, rank, size, width, at + end[d] * strides[d], strides, element, still);
        size[d] = end[d] - first[d];
        at += first[d] * strides[d];
    }
}
