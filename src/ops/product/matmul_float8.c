/* matmul_float8.c: what MatMulInteger and QLinearMatMul do with float8, element by element. */
#include "loops/element.h"
#include "matmul_integer.h"

#include <math.h>
#include <string.h>

void ox_integer_widen(const ox_tensor *t, float *to) {
    const int64_t n = ox_tensor_count(t);
    const int8_t *s = t->data;
    const uint8_t *u = t->data;
    if (t->dtype == OX_FLOAT)
        memcpy(to, t->data, (size_t)n * sizeof *to);
    else if (ox_dtype_compute(t->dtype) == OX_FLOAT)
        ox_widen(t->dtype, n, t->data, to);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = t->dtype == OX_INT8 ? s[i] : u[i];
}

/* Moves to the next row of a matrix with batches: returns by how many elements of the zero points. */
static int64_t next_row(const ox_tensor *matrix, const int64_t *strides, int64_t *index) {
    int64_t moved = 0;
    for (int d = matrix->rank - 2; d >= 0; d--) {
        moved += strides[d];
        if (++index[d] < matrix->dims[d])
            break;
        moved -= strides[d] * matrix->dims[d];
        index[d] = 0;
    }
    return moved;
}

void ox_integer_subtract(const ox_tensor *matrix, const ox_tensor *zero, bool by_row, float *to, float *zeros) {
    const int last = matrix->rank - 1;
    int64_t strides[OX_MAX_RANK], index[OX_MAX_RANK] = {0};
    const int64_t n = matrix->dims[last], rows = n ? ox_tensor_count(matrix) / n : 0;
    ox_integer_widen(matrix, to);
    if (!zero)
        return;
    ox_integer_widen(zero, zeros);
    const ox_entries e = ox_entries_of(zero, by_row);
    ox_broadcast_strides(&(const ox_tensor){OX_UINT8, e.rank, e.dims, NULL, NULL}, matrix->rank, matrix->dims, strides);
    for (int64_t i = 0; i < rows; i++, to += n) {
        for (int64_t j = 0; j < n; j++)
            to[j] -= zeros[j * strides[last]];
        zeros += next_row(matrix, strides, index);
    }
}

static void requantize(const ox_requantization *how, double value, char *to) {
    if (ox_dtype_compute(how->dtype) == OX_FLOAT) {
        const float shifted = (float)(value + how->zero);
        ox_narrow(&(ox_narrowing){.dtype = how->dtype}, 1, &shifted, to);
        return;
    }
    const double low = how->dtype == OX_INT8 ? -128 : 0;
    value = rint(value) + how->zero;
    value = !(value > low) ? low : value < low + 255 ? value : low + 255;
    OX_AT(ox_u8, to) = (uint8_t)(int)value;
}

void ox_integer_requantize(int64_t n, const ox_requantization *how, bool is_float, const char *sums, char *to) {
    const float *floats = (const float *)(const void *)sums;
    const int32_t *integers = (const int32_t *)(const void *)sums;
    for (int64_t j = 0; j < n; j++)
        requantize(how,
                   (is_float ? (double)floats[j] : integers[j]) * how->row_scale *
                       (double)how->column_scales[j * how->step],
                   to + j);
}
