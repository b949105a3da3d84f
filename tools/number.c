/* number.c: one element of any numeric type. */
#include "number.h"

#include <math.h>
#include <string.h>

/* What the small floating types look like in bits; the values themselves come from ox_float_from_bits. */
typedef struct small_float {
    unsigned width; /* bits */
    bool is_signed; /* the top bit is the sign */
    uint32_t nan;   /* the code of NaN and of infinity, 0 if there is none */
    uint32_t infinity;
} small_float;

static small_float small_format(ox_dtype dtype) {
    switch (dtype) {
    case OX_FLOAT16:
        return (small_float){16, true, 0x7E00, 0x7C00};
    case OX_BFLOAT16:
        return (small_float){16, true, 0x7FC0, 0x7F80};
    case OX_FLOAT8E4M3FN:
        return (small_float){8, true, 0x7F, 0};
    case OX_FLOAT8E4M3FNUZ:
        return (small_float){8, true, 0x80, 0};
    case OX_FLOAT8E5M2:
        return (small_float){8, true, 0x7F, 0x7C};
    case OX_FLOAT8E5M2FNUZ:
        return (small_float){8, true, 0x80, 0};
    case OX_FLOAT8E8M0:
        return (small_float){8, false, 0xFF, 0};
    case OX_FLOAT6E2M3:
        return (small_float){6, true, 0, 0};
    case OX_FLOAT6E3M2:
        return (small_float){6, true, 0, 0};
    case OX_FLOAT4E2M1:
        return (small_float){4, true, 0, 0};
    default:
        return (small_float){0};
    }
}

/* Bits of an integer type, negative if it is signed; 0 for other types. */
static int int_bits(ox_dtype dtype) {
    switch (dtype) {
    case OX_UINT2:
        return 2;
    case OX_INT2:
        return -2;
    case OX_UINT4:
        return 4;
    case OX_INT4:
        return -4;
    case OX_UINT8:
        return 8;
    case OX_INT8:
        return -8;
    case OX_UINT16:
        return 16;
    case OX_INT16:
        return -16;
    case OX_UINT32:
        return 32;
    case OX_INT32:
        return -32;
    case OX_UINT64:
        return 64;
    case OX_INT64:
        return -64;
    default:
        return 0;
    }
}

ox_number_kind ox_number_kind_of(ox_dtype dtype) {
    if (dtype == OX_BOOL)
        return OX_NUMBER_BOOL;
    if (int_bits(dtype))
        return OX_NUMBER_INT;
    if (dtype == OX_FLOAT || dtype == OX_DOUBLE || small_format(dtype).width)
        return OX_NUMBER_REAL;
    return dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128 ? OX_NUMBER_COMPLEX : OX_NUMBER_NONE;
}

ox_number ox_number_int(bool negative, uint64_t magnitude) {
    double real = negative ? -(double)magnitude : (double)magnitude;
    return (ox_number){OX_NUMBER_INT, negative && magnitude, magnitude, real, 0};
}

ox_number ox_number_real(double value) {
    return (ox_number){.kind = OX_NUMBER_REAL, .real = value};
}

/* Unsigned integer of 1, 2, 4 or 8 bytes at any address. */
static uint64_t load_bits(const void *element, size_t size) {
    uint8_t b1;
    uint16_t b2;
    uint32_t b4;
    uint64_t b8;
    switch (size) {
    case 1:
        memcpy(&b1, element, 1);
        return b1;
    case 2:
        memcpy(&b2, element, 2);
        return b2;
    case 4:
        memcpy(&b4, element, 4);
        return b4;
    default:
        memcpy(&b8, element, 8);
        return b8;
    }
}

static void store_bits(void *element, size_t size, uint64_t bits) {
    switch (size) {
    case 1:
        memcpy(element, &(uint8_t){(uint8_t)bits}, 1);
        break;
    case 2:
        memcpy(element, &(uint16_t){(uint16_t)bits}, 2);
        break;
    case 4:
        memcpy(element, &(uint32_t){(uint32_t)bits}, 4);
        break;
    default:
        memcpy(element, &bits, 8);
        break;
    }
}

static double load_float(const void *element, bool is_double) {
    float single;
    double wide;
    if (is_double) {
        memcpy(&wide, element, sizeof wide);
        return wide;
    }
    memcpy(&single, element, sizeof single);
    return (double)single;
}

static bool store_float(void *element, bool is_double, double value) {
    if (is_double) {
        memcpy(element, &value, sizeof value);
        return true;
    }
    float single = (float)value;
    memcpy(element, &single, sizeof single);
    return isinf(value) || !isinf(single);
}

static ox_number load_int(ox_dtype dtype, const void *element) {
    size_t size = ox_dtype_size(dtype);
    uint64_t bits = load_bits(element, size);
    uint64_t sign = (uint64_t)1 << (8 * size - 1);
    if (int_bits(dtype) > 0 || !(bits & sign))
        return ox_number_int(false, bits);
    return ox_number_int(true, (~bits & (sign - 1)) + 1);
}

ox_number ox_number_load(ox_dtype dtype, const void *element) {
    switch (ox_number_kind_of(dtype)) {
    case OX_NUMBER_BOOL: {
        ox_number truth = ox_number_int(false, load_bits(element, 1) != 0);
        truth.kind = OX_NUMBER_BOOL;
        return truth;
    }
    case OX_NUMBER_INT:
        return load_int(dtype, element);
    case OX_NUMBER_COMPLEX: {
        bool is_double = dtype == OX_COMPLEX128;
        ox_number number = {.kind = OX_NUMBER_COMPLEX, .real = load_float(element, is_double)};
        number.imaginary = load_float((const char *)element + (is_double ? 8 : 4), is_double);
        return number;
    }
    default:
        break;
    }
    if (dtype == OX_FLOAT || dtype == OX_DOUBLE)
        return ox_number_real(load_float(element, dtype == OX_DOUBLE));
    uint32_t bits = (uint32_t)load_bits(element, ox_dtype_size(dtype));
    return ox_number_real((double)ox_float_from_bits(dtype, bits));
}

/* The greatest code whose value is finite and at most `magnitude`; codes of positive values ascend. */
static uint32_t code_below(ox_dtype dtype, uint32_t last, double magnitude) {
    uint32_t low = 0;
    for (uint32_t high = last; low < high;) {
        uint32_t middle = low + (high - low + 1) / 2;
        double value = (double)ox_float_from_bits(dtype, middle);
        if (isfinite(value) && value <= magnitude)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Rounds to the nearest code, to the even one on a tie; false beyond the largest finite value. */
static bool nearest_code(ox_dtype dtype, const small_float *format, double magnitude, uint32_t *code) {
    uint32_t last = (1u << (format->width - format->is_signed)) - 1;
    uint32_t below = code_below(dtype, last, magnitude);
    double low = (double)ox_float_from_bits(dtype, below);
    *code = below;
    if (magnitude <= low)
        return magnitude == low;
    double high = below < last ? (double)ox_float_from_bits(dtype, below + 1) : INFINITY;
    bool is_largest = !isfinite(high);
    if (is_largest)
        high = low + (low - (double)ox_float_from_bits(dtype, below - 1));
    double twice = (magnitude - low) - (high - magnitude);
    if (twice > 0 || (twice == 0 && below & 1))
        *code = below + 1;
    return !is_largest || *code == below;
}

static bool small_code(ox_dtype dtype, double value, uint32_t *code) {
    small_float format = small_format(dtype);
    uint32_t sign = signbit(value) && format.is_signed ? 1u << (format.width - 1) : 0;
    if (isnan(value)) {
        *code = format.nan;
        return format.nan != 0;
    }
    if (isinf(value)) {
        *code = format.infinity | sign;
        return format.infinity != 0;
    }
    if (value < 0 && !format.is_signed)
        return false;
    if (!nearest_code(dtype, &format, fabs(value), code))
        return false;
    if (!isnan(ox_float_from_bits(dtype, *code | sign)))
        *code |= sign;
    return true;
}

static bool store_int(ox_dtype dtype, void *element, ox_number number) {
    int bits = int_bits(dtype);
    unsigned width = (unsigned)(bits < 0 ? -bits - 1 : bits);
    uint64_t most = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    if (number.negative ? bits > 0 || number.magnitude - 1 > most : number.magnitude > most)
        return false;
    store_bits(element, ox_dtype_size(dtype), number.negative ? 0 - number.magnitude : number.magnitude);
    return true;
}

static bool store_real(ox_dtype dtype, void *element, double value) {
    uint32_t code;
    if (dtype == OX_FLOAT || dtype == OX_DOUBLE)
        return store_float(element, dtype == OX_DOUBLE, value);
    if (!small_code(dtype, value, &code))
        return false;
    store_bits(element, ox_dtype_size(dtype), code);
    return true;
}

bool ox_number_store(ox_dtype dtype, void *element, ox_number number) {
    ox_number_kind kind = ox_number_kind_of(dtype);
    if (kind < number.kind && !(kind == OX_NUMBER_BOOL && number.kind == OX_NUMBER_INT))
        return false;
    bool is_double = dtype == OX_COMPLEX128;
    switch (kind) {
    case OX_NUMBER_BOOL:
        store_bits(element, 1, number.magnitude);
        return number.magnitude <= 1;
    case OX_NUMBER_INT:
        return store_int(dtype, element, number);
    case OX_NUMBER_REAL:
        return store_real(dtype, element, number.real);
    case OX_NUMBER_COMPLEX:
        return store_float(element, is_double, number.real) &&
               store_float((char *)element + (is_double ? 8 : 4), is_double, number.imaginary);
    default:
        return false;
    }
}

static bool cast_to_int(ox_number *number) {
    double whole = trunc(number->real);
    if (number->kind <= OX_NUMBER_INT)
        number->kind = OX_NUMBER_INT;
    else if (!(fabs(whole) < 0x1p64))
        return false;
    else
        *number = ox_number_int(whole < 0, (uint64_t)fabs(whole));
    return true;
}

/* An integer as a double that rounds to any shorter type as the integer itself does: what is cut off leaves a bit. */
static double sticky_real(const ox_number *number) {
    int drop = 0;
    uint64_t left = number->magnitude;
    for (; left >> 53; drop++)
        left = left >> 1 | (left & 1);
    double real = ldexp((double)left, drop);
    return number->negative ? -real : real;
}

bool ox_number_cast(ox_dtype dtype, ox_number *number) {
    ox_number_kind kind = ox_number_kind_of(dtype), from = number->kind;
    if (kind == OX_NUMBER_BOOL) {
        bool truth = number->real != 0 || number->imaginary != 0;
        *number = ox_number_int(false, truth);
        number->kind = OX_NUMBER_BOOL;
        return true;
    }
    if (from == OX_NUMBER_COMPLEX && kind != OX_NUMBER_COMPLEX && number->imaginary != 0)
        return false;
    if (kind == OX_NUMBER_INT)
        return cast_to_int(number);
    if (from <= OX_NUMBER_INT && dtype != OX_DOUBLE && dtype != OX_COMPLEX128)
        number->real = sticky_real(number);
    number->kind = kind;
    return true;
}
