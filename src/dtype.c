/* dtype.c: the element types, and the small floating types' way to float and back. */
#include "tiny.h"

#include <string.h>

#include "status.h"

typedef struct dtype_row {
    const char *name;
    uint8_t size, bits;
} dtype_row;

static const dtype_row rows[OX_DTYPE_COUNT] = {
    [OX_UNDEFINED] = {"undefined", 0, 0},
    [OX_FLOAT] = {"float", 4, 32},
    [OX_UINT8] = {"uint8", 1, 8},
    [OX_INT8] = {"int8", 1, 8},
    [OX_UINT16] = {"uint16", 2, 16},
    [OX_INT16] = {"int16", 2, 16},
    [OX_INT32] = {"int32", 4, 32},
    [OX_INT64] = {"int64", 8, 64},
    [OX_STRING] = {"string", sizeof(ox_string), 0},
    [OX_BOOL] = {"bool", 1, 8},
    [OX_FLOAT16] = {"float16", 2, 16},
    [OX_DOUBLE] = {"double", 8, 64},
    [OX_UINT32] = {"uint32", 4, 32},
    [OX_UINT64] = {"uint64", 8, 64},
    [OX_COMPLEX64] = {"complex64", 8, 64},
    [OX_COMPLEX128] = {"complex128", 16, 128},
    [OX_BFLOAT16] = {"bfloat16", 2, 16},
    [OX_FLOAT8E4M3FN] = {"float8e4m3fn", 1, 8},
    [OX_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 1, 8},
    [OX_FLOAT8E5M2] = {"float8e5m2", 1, 8},
    [OX_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 1, 8},
    [OX_UINT4] = {"uint4", 1, 4},
    [OX_INT4] = {"int4", 1, 4},
    [OX_FLOAT4E2M1] = {"float4e2m1", 1, 4},
    [OX_FLOAT8E8M0] = {"float8e8m0", 1, 8},
    [OX_UINT2] = {"uint2", 1, 2},
    [OX_INT2] = {"int2", 1, 2},
    [OX_FLOAT6E2M3] = {"float6e2m3", 1, 6},
    [OX_FLOAT6E3M2] = {"float6e3m2", 1, 6},
};

static const dtype_row *row_of(ox_dtype dtype) {
    return &rows[(unsigned)dtype < OX_DTYPE_COUNT ? dtype : OX_UNDEFINED];
}

const char *ox_dtype_name(ox_dtype dtype) {
    return row_of(dtype)->name;
}
size_t ox_dtype_size(ox_dtype dtype) {
    return ox_is_value(dtype) ? sizeof(void *) : row_of(dtype)->size;
}
int ox_dtype_bits(ox_dtype dtype) {
    return row_of(dtype)->bits;
}

ox_dtype ox_dtype_from_name(const char *name) {
    for (int i = 1; name && i < OX_DTYPE_COUNT; i++)
        if (!ox_text_order(name, rows[i].name))
            return (ox_dtype)i;
    return OX_UNDEFINED;
}

/* ---- Formats of 8 bits and less ----------------------------------------------------------------------------- */

const ox_tiny *ox_tiny_of(ox_dtype dtype) {
    static const ox_tiny e4m3fn = {4, 3, 7, 0x7e, 0, 0x7f}, e4m3fnuz = {4, 3, 8, 0x7f, 0, 0x80},
                         e5m2 = {5, 2, 15, 0x7b, 0x7c, 0x7e}, e5m2fnuz = {5, 2, 16, 0x7f, 0, 0x80},
                         e2m1 = {2, 1, 1, 0x07, 0, 0}, e2m3 = {2, 3, 1, 0x1f, 0, 0}, e3m2 = {3, 2, 3, 0x1f, 0, 0};
    switch ((int)dtype) {
    case OX_FLOAT8E4M3FN:
        return &e4m3fn;
    case OX_FLOAT8E4M3FNUZ:
        return &e4m3fnuz;
    case OX_FLOAT8E5M2:
        return &e5m2;
    case OX_FLOAT8E5M2FNUZ:
        return &e5m2fnuz;
    case OX_FLOAT4E2M1:
        return &e2m1;
    case OX_FLOAT6E2M3:
        return &e2m3;
    case OX_FLOAT6E3M2:
        return &e3m2;
    default:
        return NULL;
    }
}

/* 2^(code - 127); 255 is NaN. */
static float float_from_e8m0(uint32_t code) {
    return code == 255 ? ox_float_of_bits(0x7fc00000u) : code ? ox_float_of_bits(code << 23) : 0x1p-127f;
}

/* 2^(code - 127) next to the magnitude; there is neither sign nor zero. */
static uint8_t e8m0_from_float(const ox_narrowing *how, float value) {
    uint32_t bits = ox_bits_of_float(value) & 0x7fffffff, code = bits >> 23, rest = bits & 0x7fffff, half = 0x400000;
    if (value != value)
        return 255;
    if (!code) { /* below 2^-126 the only power in reach is 2^-127, whose bits are `half` */
        rest = rest > half ? 2 * (rest - half) : 0;
        if (how->overflow && bits < half)
            return 255;
    }
    code += how->rounding == OX_ROUND_UP ? rest > 0 : how->rounding == OX_ROUND_NEAREST && rest >= half;
    if (code < 255)
        return (uint8_t)code;
    return how->overflow ? 255 : 254;
}

/* ---- All of them -------------------------------------------------------------------------------------------- */

float ox_float_from_bits(ox_dtype dtype, uint32_t bits) {
    const ox_tiny *f = ox_tiny_of(dtype);
    if (f)
        return ox_float_from_tiny(f, bits & 0xff);
    switch ((int)dtype) {
    case OX_FLOAT16:
        return ox_float_from_half((uint16_t)bits);
    case OX_BFLOAT16:
        return ox_float_from_bf16((uint16_t)bits);
    case OX_FLOAT8E8M0:
        return float_from_e8m0(bits & 0xff);
    default:
        return ox_float_of_bits(0x7fc00000u);
    }
}

ox_dtype ox_dtype_compute(ox_dtype dtype) {
    bool widened = dtype == OX_FLOAT16 || dtype == OX_BFLOAT16 || dtype == OX_FLOAT8E8M0 || ox_tiny_of(dtype);
    return widened ? OX_FLOAT : dtype;
}

typedef uint16_t __attribute__((aligned(1), may_alias)) any_u16;
typedef float __attribute__((aligned(1), may_alias)) any_float;

#define EACH(n, to, expression)                                                                                        \
    for (int64_t i = 0; i < (n); i++)                                                                                  \
    (to)[i] = (expression)

void ox_widen(ox_dtype dtype, int64_t n, const void *from, float *restrict to) {
    const any_u16 *restrict wide = from;
    const uint8_t *restrict narrow = from;
    if (!OX_HAS_ANY(OX_SET_WIDENED))
        return;
    if (dtype == OX_FLOAT16)
        EACH(n, to, ox_float_from_half(wide[i]));
    else if (dtype == OX_BFLOAT16)
        EACH(n, to, ox_float_from_bf16(wide[i]));
    else if (dtype == OX_FLOAT8E8M0)
        EACH(n, to, float_from_e8m0(narrow[i]));
    else {
        const ox_tiny *f = ox_tiny_of(dtype);
        EACH(n, to, ox_float_from_tiny(f, narrow[i]));
    }
}

void ox_narrow(const ox_narrowing *how, int64_t n, const float *restrict from, void *to) {
    any_u16 *restrict wide = to;
    uint8_t *restrict narrow = to;
    const any_float *restrict in = from;
    const ox_tiny *f = ox_tiny_of(how->dtype);
    if (!OX_HAS_ANY(OX_SET_WIDENED))
        return;
    if (how->dtype == OX_FLOAT16)
        EACH(n, wide, ox_half_from_float(in[i]));
    else if (how->dtype == OX_BFLOAT16)
        EACH(n, wide, ox_bf16_from_float(in[i]));
    else if (!f)
        EACH(n, narrow, e8m0_from_float(how, in[i]));
    else
        EACH(n, narrow, (uint8_t)ox_tiny_from_float(f, ox_tiny_beyond(f, how->overflow), in[i]));
}
