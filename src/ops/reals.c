/* reals.c: numbers of any type to double and back. */
#include "reals.h"

#include <math.h>

#include "half.h"
#include "loops/element.h"

/* Rounds to odd, so that rounding once more, to 16 bits or less, is as if it were the only one. */
static float odd_of(double value) {
    float rounded = (float)value;
    if ((double)rounded == value || value != value)
        return rounded;
    uint32_t bits = ox_bits_of_float(rounded);
    bits -= fabs((double)rounded) > fabs(value);
    return ox_float_of_bits(bits | 1);
}

static float widened(ox_dtype dtype, const void *from) {
    float value = 0;
    ox_widen(dtype, 1, from, &value);
    return value;
}

#define LOAD_AS(kind, value)                                                                                           \
    case kind:                                                                                                         \
        for (int64_t i = 0; i < (OX_HAS(kind) ? n : 0); i++, x += step)                                                \
            to[i * to_step] = (double)(value);                                                                         \
        return;
#define LOAD(kind, type) LOAD_AS(kind, OX_GET(type, x))

void ox_reals_load(ox_dtype dtype, int64_t n, const void *from, int64_t step, double *to, int64_t to_step) {
    const char *x = from;
    switch ((int)dtype) {
        LOAD(OX_FLOAT, ox_f32)
        LOAD(OX_DOUBLE, ox_f64)
        LOAD_AS(OX_FLOAT16, ox_float_from_half(OX_GET(ox_u16, x)))
        LOAD_AS(OX_BFLOAT16, ox_float_from_bf16(OX_GET(ox_u16, x)))
        LOAD(OX_INT8, ox_i8)
        LOAD(OX_UINT8, ox_u8)
        LOAD(OX_BOOL, ox_u8)
        LOAD_AS(OX_INT16, (int16_t)OX_GET(ox_u16, x))
        LOAD(OX_UINT16, ox_u16)
        LOAD(OX_INT32, ox_i32)
        LOAD(OX_UINT32, ox_u32)
        LOAD(OX_INT64, ox_i64)
        LOAD(OX_UINT64, ox_u64)
    default:
        for (int64_t i = 0; i < n; i++, x += step)
            to[i * to_step] = (double)widened(dtype, x);
    }
}

/* What no int64 holds becomes the smallest. */
static int64_t whole(double value) {
    return value > -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

#define STORE(kind, type, value)                                                                                       \
    case kind:                                                                                                         \
        for (int64_t i = 0; i < (OX_HAS(kind) ? n : 0); i++, y += step) {                                              \
            const double v = from[i * from_step];                                                                      \
            OX_AT(type, y) = (type)(value);                                                                            \
        }                                                                                                              \
        return;

void ox_reals_store(ox_dtype dtype, int64_t n, const double *from, int64_t from_step, void *to, int64_t step) {
    char *y = to;
    switch ((int)dtype) {
        STORE(OX_FLOAT, ox_f32, v)
        STORE(OX_DOUBLE, ox_f64, v)
        STORE(OX_FLOAT16, ox_u16, ox_half_from_float(odd_of(v)))
        STORE(OX_BFLOAT16, ox_u16, ox_bf16_from_float(odd_of(v)))
        STORE(OX_INT8, ox_i8, whole(v))
        STORE(OX_UINT8, ox_u8, whole(v))
        STORE(OX_BOOL, ox_u8, v != 0)
        STORE(OX_INT16, ox_u16, whole(v))
        STORE(OX_UINT16, ox_u16, whole(v))
        STORE(OX_INT32, ox_i32, whole(v))
        STORE(OX_UINT32, ox_u32, whole(v))
        STORE(OX_INT64, ox_i64, whole(v))
        STORE(OX_UINT64, ox_u64, whole(v))
    default:
        for (int64_t i = 0; i < n; i++, y += step) {
            const float value = odd_of(from[i * from_step]);
            ox_narrow(&(ox_narrowing){.dtype = dtype}, 1, &value, y);
        }
    }
}
