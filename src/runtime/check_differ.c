/* check_differ.c: comparing tensors element by element. */
#include "check_differ.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "half.h"

#if OX_WITH_SELF_CHECK

/* Whether elements are numbers that may be compared with a bound. */
static bool is_real(ox_dtype dtype) {
    return (OX_BIT(dtype) & (OX_SET_FLOAT | OX_SET_WIDENED | OX_SET_COMPLEX)) != 0;
}

static bool is_complex(ox_dtype dtype) {
    return (OX_BIT(dtype) & OX_SET_COMPLEX) != 0;
}

/* Numbers of an element: complex ones have two. */
static int parts_of(ox_dtype dtype) {
    return is_complex(dtype) ? 2 : 1;
}

static double read(const ox_tensor *tensor, int64_t i) {
    const size_t size = ox_dtype_size(tensor->dtype) / (size_t)parts_of(tensor->dtype);
    const char *at = (const char *)tensor->data + (size_t)i * size;
    float f;
    double d;
    switch (tensor->dtype) {
    case OX_FLOAT:
    case OX_COMPLEX64:
        memcpy(&f, at, sizeof f);
        return f;
    case OX_DOUBLE:
    case OX_COMPLEX128:
        memcpy(&d, at, sizeof d);
        return d;
    default:
        ox_widen(tensor->dtype, 1, at, &f);
        return f;
    }
}

static bool same_string(const ox_string *a, const ox_string *b) {
    return a->size == b->size && (!a->size || !memcmp(a->data, b->data, a->size));
}

static bool same_bits(const ox_tensor *a, const ox_tensor *b, int64_t i) {
    const size_t size = ox_dtype_size(a->dtype);
    const char *x = (const char *)a->data + (size_t)i * size, *y = (const char *)b->data + (size_t)i * size;
    if (a->dtype == OX_STRING)
        return same_string((const ox_string *)(const void *)x, (const ox_string *)(const void *)y);
    return !memcmp(x, y, size);
}

/* The distance of a number from the next one of its type. */
static double unit(ox_dtype dtype, double value) {
    const int digits = dtype == OX_DOUBLE || dtype == OX_COMPLEX128 ? 53
                       : dtype == OX_FLOAT || dtype == OX_COMPLEX64 ? 24
                       : dtype == OX_FLOAT16                        ? 11
                       : dtype == OX_BFLOAT16                       ? 8
                                                                    : 2;
    const int least = dtype == OX_DOUBLE || dtype == OX_COMPLEX128 ? -1021 : dtype == OX_FLOAT16 ? -13 : -125;
    int exponent;
    frexp(value, &exponent);
    return ldexp(1, (exponent > least ? exponent : least) - digits);
}

/* What a bound is a share of, in place of a smaller magnitude: below the smallest normal number roundings stay as large
 * as there, where products underflow to 0 as well. */
static double at_least_normal(ox_dtype dtype, double magnitude) {
    const double least = dtype == OX_DOUBLE || dtype == OX_COMPLEX128 ? DBL_MIN : (double)FLT_MIN;
    return magnitude < least ? least : magnitude; /* NaN stays */
}

static double allowed(const ox_tensor *a, int64_t i, double x, double y, const ox_tolerance *bound, double largest) {
    double most = 0;
    if (bound->share > 0)
        most += bound->share * at_least_normal(a->dtype, largest);
    if (bound->units > 0)
        most += bound->units * unit(a->dtype, fabs(x) > fabs(y) ? x : y);
    if (bound->scale) {
        const double scale = bound->largest > 0 ? bound->largest : fabs(read(bound->scale, i));
        most += bound->times * at_least_normal(a->dtype, scale);
    }
    return most;
}

/* Numbers i of both. A bound that is not finite allows everything: what overflows on one way may not on another. */
static bool is_near(const ox_tensor *a, const ox_tensor *b, int64_t i, const ox_tolerance *bound, double largest) {
    const double x = read(a, i), y = read(b, i), most = allowed(a, i, x, y, bound, largest);
    if (isnan(x) && isnan(y))
        return true;
    if (most == 0) /* bits count: -0 is not 0 */
        return false;
    return fabs(x - y) <= most || !isfinite(most);
}

double ox_differ_largest(const ox_tensor *tensor) {
    double largest = 0;
    const int64_t count = ox_tensor_count(tensor) * parts_of(tensor->dtype);
    for (int64_t i = 0; i < count; i++) {
        const double value = fabs(read(tensor, i));
        if (!isfinite(value))
            return INFINITY;
        largest = value > largest ? value : largest;
    }
    return largest;
}

static double largest_finite(const ox_tensor *a, const ox_tensor *b, const ox_tolerance *bound) {
    double largest = 0;
    const int64_t count = bound->share > 0 ? ox_tensor_count(a) * parts_of(a->dtype) : 0;
    for (int64_t i = 0; i < count; i++) {
        const double x = fabs(read(a, i)), y = fabs(read(b, i));
        largest = isfinite(x) && x > largest ? x : largest;
        largest = isfinite(y) && y > largest ? y : largest;
    }
    return largest;
}

/* Element i of both, whose bits differ, is the same number within the bound. */
static bool is_same(const ox_tensor *a, const ox_tensor *b, int64_t i, const ox_tolerance *bound, double largest) {
    const int parts = parts_of(a->dtype);
    bool same = is_real(a->dtype);
    for (int64_t p = i * parts; same && p < (i + 1) * parts; p++)
        same = is_near(a, b, p, bound, largest);
    return same;
}

int64_t ox_differ(const ox_tensor *a, const ox_tensor *b, const ox_tolerance *bound) {
    const int64_t count = ox_tensor_count(a);
    const size_t bytes = (size_t)count * ox_dtype_size(a->dtype);
    if (!bytes || !memcmp(a->data, b->data, bytes))
        return -1;
    const double largest = is_real(a->dtype) ? largest_finite(a, b, bound) : 0;
    for (int64_t i = 0; i < count; i++)
        if (!same_bits(a, b, i) && !is_same(a, b, i, bound, largest))
            return i;
    return -1;
}

/* ---- Texts -------------------------------------------------------------------------------------------------- */

static const char *real_text(ox_element_buffer *buffer, const ox_tensor *tensor, int64_t i) {
    const size_t size = ox_dtype_size(tensor->dtype);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)tensor->data + (size_t)i * size, size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bits >>= 64 - 8 * size;
#endif
    if (size > sizeof(uint32_t))
        ox_format(buffer->text, sizeof buffer->text, "%g (0x%08x%08x)", read(tensor, i), (unsigned)(bits >> 32),
                  (unsigned)bits);
    else
        ox_format(buffer->text, sizeof buffer->text, "%g (0x%x)", read(tensor, i), (unsigned)bits);
    return buffer->text;
}

const char *ox_differ_element(ox_element_buffer *buffer, const ox_tensor *tensor, int64_t i) {
    if (is_complex(tensor->dtype)) {
        ox_format(buffer->text, sizeof buffer->text, "%g + %gi", read(tensor, 2 * i), read(tensor, 2 * i + 1));
        return buffer->text;
    }
    if (is_real(tensor->dtype))
        return real_text(buffer, tensor, i);
    if (tensor->dtype == OX_STRING) {
        const ox_string *s = (const ox_string *)tensor->data + i;
        ox_format(buffer->text, sizeof buffer->text, "\"%.*s\"", s->size < 60 ? (int)s->size : 60,
                  s->size ? s->data : "");
    } else if (tensor->dtype == OX_UINT64) {
        ox_format(buffer->text, sizeof buffer->text, "%llu", (unsigned long long)((const uint64_t *)tensor->data)[i]);
    } else {
        ox_tensor whole = *tensor; /* integers of a few bits lie in bytes */
        if (OX_BIT(whole.dtype) & OX_SET_TINY)
            whole.dtype = whole.dtype == OX_INT4 || whole.dtype == OX_INT2 ? OX_INT8 : OX_UINT8;
        ox_format(buffer->text, sizeof buffer->text, "%lld", (long long)ox_tensor_int(&whole, i));
    }
    return buffer->text;
}

const char *ox_differ_index(ox_dims_buffer *buffer, const ox_tensor *tensor, int64_t i) {
    int64_t index[OX_MAX_RANK];
    for (int d = tensor->rank; d-- > 0; i /= tensor->dims[d])
        index[d] = i % tensor->dims[d];
    return ox_dims_text(buffer, tensor->rank, index);
}

#endif
