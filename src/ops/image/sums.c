/* sums.c: conversions between elements and sums of them. */
#include "sums.h"
#include "loops/element.h"

#include <math.h>
#include <string.h>

void ox_sums_from(const ox_loops *loops, ox_dtype dtype, int64_t n, const void *from, void *to) {
    const bool wide = ox_sums_are_wide(dtype);
    const int64_t step[] = {wide ? (int64_t)sizeof(double) : (int64_t)sizeof(float), (int64_t)ox_dtype_size(dtype)};
    char *const arg[] = {to, (char *)(uintptr_t)from};
    if (ox_sums_are_native(dtype))
        memcpy(to, from, (size_t)n * ox_dtype_size(dtype));
    else if (wide)
        loops->cast(dtype, OX_DOUBLE)(n, arg, step, NULL);
    else
        loops->widen(n, arg, step, &dtype);
}

typedef int16_t OX_ANYWHERE any_i16;

/* Sums become integers: the nearest one that the type has. */
#define STORE_INTEGERS(type, element, least, most)                                                                     \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        const double value = nearbyint(from[i]);                                                                       \
        const type whole = value >= (most) ? (type)(most) : value > (least) ? (type)value : (type)(least);             \
        OX_AT(element, to + i * (int64_t)sizeof(type)) = whole;                                                        \
    }                                                                                                                  \
    return;

static void store_integers(ox_dtype dtype, int64_t n, const double *from, char *to) {
    switch ((int)dtype) {
    case OX_INT8:
        STORE_INTEGERS(int8_t, ox_i8, INT8_MIN, INT8_MAX)
    case OX_UINT8:
        STORE_INTEGERS(uint8_t, ox_u8, 0, UINT8_MAX)
    case OX_INT16:
        STORE_INTEGERS(int16_t, any_i16, INT16_MIN, INT16_MAX)
    case OX_UINT16:
        STORE_INTEGERS(uint16_t, ox_u16, 0, UINT16_MAX)
    case OX_INT32:
        STORE_INTEGERS(int32_t, ox_i32, INT32_MIN, INT32_MAX)
    case OX_UINT32:
        STORE_INTEGERS(uint32_t, ox_u32, 0, UINT32_MAX)
    case OX_INT64:
        for (int64_t i = 0; i < n; i++) {
            const double value = nearbyint(from[i]);
            OX_AT(ox_i64, to + i * 8) = value >= 0x1p63 ? INT64_MAX : value > -0x1p63 ? (int64_t)value : INT64_MIN;
        }
        return;
    default:
        for (int64_t i = 0; i < n; i++) {
            const double value = nearbyint(from[i]);
            OX_AT(ox_u64, to + i * 8) = value >= 0x1p64 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0;
        }
    }
}

void ox_sums_to(const ox_loops *loops, ox_dtype dtype, int64_t n, const void *from, void *to) {
    const int64_t step[] = {(int64_t)ox_dtype_size(dtype), sizeof(float)};
    char *const arg[] = {to, (char *)(uintptr_t)from};
    if (ox_sums_are_native(dtype))
        memcpy(to, from, (size_t)n * ox_dtype_size(dtype));
    else if (ox_sums_are_wide(dtype))
        store_integers(dtype, n, from, to);
    else
        loops->narrow(n, arg, step, &(ox_narrowing){.dtype = dtype});
}
