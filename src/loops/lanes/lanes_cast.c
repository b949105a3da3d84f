/* lanes_cast.c: loops that convert between element types. */
#include "tiny.h"
#include "loops/simd/intrinsics.h"
#include "lane_maps.h"

#include <math.h>
#include <string.h>

/* C leaves conversions out of range undefined; here they give the lowest value of the wider integer. */
static inline int64_t int64_of(double a) {
    return a >= -9223372036854775808.0 && a < 9223372036854775808.0 ? (int64_t)a : INT64_MIN;
}
static inline uint64_t uint64_of(double a) {
    return a >= 9223372036854775808.0 && a < 18446744073709551616.0 ? (uint64_t)a : (uint64_t)int64_of(a);
}

#define T u8
#include "lane_casts.inc"
#define T i8
#include "lane_casts.inc"
#define T u16
#include "lane_casts.inc"
#define T i16
#include "lane_casts.inc"
#define T u32
#include "lane_casts.inc"
#define T i32
#include "lane_casts.inc"
#define T u64
#include "lane_casts.inc"
#define T i64
#include "lane_casts.inc"
#define T f32
#include "lane_casts.inc"
#define T f64
#include "lane_casts.inc"

/* A conversion `name` for results that may go past the caches, too, a block of whole lines at a time. */
#define CONVERT(name, TA, TO)                                                                                          \
    static void all_##name(int64_t n, const TA *x, TO *o, bool streams, bool prefetches) {                             \
        TO block[OX_LINE] __attribute__((aligned(OX_LINE)));                                                           \
        for (; streams && n > 0; n -= OX_LINE, x += OX_LINE, o += OX_LINE) {                                           \
            if (prefetches)                                                                                            \
                ox_prefetch_lines((uintptr_t)x, sizeof(TA) * OX_LINE);                                                 \
            name(OX_LINE, x, block);                                                                                   \
            ox_stream_lines(o, block, sizeof block);                                                                   \
        }                                                                                                              \
        name(n, x, o);                                                                                                 \
    }

/* From an integer type: by width only, for narrowing wraps and widening is C's. */
#define FROM_INT(T)                                                                                                    \
    LANE1(T##_to_8, u8, T, a)                                                                                          \
    LANE1(T##_to_16, u16, T, a)                                                                                        \
    LANE1(T##_to_32, u32, T, a)                                                                                        \
    LANE1(T##_to_64, u64, T, a)                                                                                        \
    LANE1(T##_to_float, f32, T, a)                                                                                     \
    LANE1(T##_to_double, f64, T, a)                                                                                    \
    LANE1(T##_to_bool, truth, T, a != 0)
FROM_INT(u8)
FROM_INT(i8)
FROM_INT(u16)
FROM_INT(i16)
FROM_INT(u32)
FROM_INT(i32)
FROM_INT(u64)
FROM_INT(i64)

/* From a floating type: through int32 where that holds the narrow types, so that -1.0 to uint8 is 255. */
#define FROM_FLOAT(T, to_8, to_16, to_32, to_64)                                                                       \
    LANE1(T##_##to_8, u8, T, INT32_OF(a))                                                                              \
    LANE1(T##_##to_16, u16, T, INT32_OF(a))                                                                            \
    LANE1(T##_##to_32, u32, T, INT32_OF(a))                                                                            \
    LANE1(T##_to_u32, u32, T, int64_of(a))                                                                             \
    LANE1(T##_##to_64, u64, T, int64_of(a))                                                                            \
    LANE1(T##_to_u64, u64, T, uint64_of(a))                                                                            \
    LANE1(T##_to_bool, truth, T, a != 0)
FROM_FLOAT(f64, to_8, to_16, to_32, to_64)
#if defined(OX_CUT_VECTOR) && !OX_SMALL
FROM_FLOAT(f32, once_to_8, once_to_16, once_to_32, once_to_64)
/* The processor's own conversion gives the lowest integer where this one does. */
#define CUT(bits, vector, one)                                                                                         \
    static void cut_##bits(int64_t n, const f32 *x, u##bits *o) {                                                      \
        for (; n >= OX_CUT_VECTOR; n -= OX_CUT_VECTOR, x += OX_CUT_VECTOR, o += OX_CUT_VECTOR)                         \
            vector(o, x);                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                                                \
            o[i] = (u##bits)one(x[i]);                                                                                 \
    }                                                                                                                  \
    CONVERT(cut_##bits, f32, u##bits)                                                                                  \
    static int f32_to_##bits(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                   \
        if (!step[1])                                                                                                  \
            return f32_once_to_##bits(n, arg, step, attr);                                                             \
        all_cut_##bits(n, (const void *)arg[1], (void *)arg[0], step[0] < 0, step[1] < 0);                             \
        return 0;                                                                                                      \
    }
CUT(8, ox_cut_8, INT32_OF)
CUT(16, ox_cut_16, INT32_OF)
CUT(32, ox_cut_32, INT32_OF)
#ifdef OX_CUT_64
CUT(64, ox_cut_64, int64_of)
#else
/* Through integers of 32 bits where none of these is the lowest, as of what has none. */
static inline void cut_by_words(u64 *o, const f32 *x) {
    int32_t whole[OX_CUT_VECTOR];
    int lowest = 0;
    ox_cut_32(whole, x);
    for (int i = 0; i < OX_CUT_VECTOR; i++)
        lowest |= whole[i] == INT32_MIN;
    for (int i = 0; i < OX_CUT_VECTOR; i++)
        o[i] = (u64)(int64_t)whole[i];
    for (int i = 0; i < OX_CUT_VECTOR && lowest; i++)
        o[i] = (u64)int64_of((double)x[i]);
}
CUT(64, cut_by_words, int64_of)
#endif
#else
FROM_FLOAT(f32, to_8, to_16, to_32, to_64)
#endif
LANE1(f32_to_double, f64, f32, a)
LANE1(f64_to_float, f32, f64, a)

typedef struct cast_row {
    ox_lane *to_8, *to_16, *to_32, *to_64, *to_u32, *to_u64, *to_float, *to_double, *to_bool;
} cast_row;

/* Loops from and to types that the library is built for. */
#define TO(dtypes, lane) OX_HAS_ANY(dtypes) ? (lane) : NULL
#define TO_8 (OX_SET_TINY | OX_BIT(OX_UINT8) | OX_BIT(OX_INT8))
#define TO_16 (OX_BIT(OX_UINT16) | OX_BIT(OX_INT16))
#define TO_32 (OX_BIT(OX_UINT32) | OX_BIT(OX_INT32))
#define TO_64 (OX_BIT(OX_UINT64) | OX_BIT(OX_INT64))
#define TO_FLOAT (OX_BIT(OX_FLOAT) | OX_SET_WIDENED)
#define CASTS(T, to_u32, to_u64, to_float, to_double)                                                                  \
    static const cast_row from_##T = {                                                                                 \
        TO(TO_8, T##_to_8),          TO(TO_16, T##_to_16), TO(TO_32, T##_to_32),   TO(TO_64, T##_to_64),               \
        TO(TO_32, to_u32),           TO(TO_64, to_u64),    TO(TO_FLOAT, to_float), TO(OX_BIT(OX_DOUBLE), to_double),   \
        TO(OX_SET_BOOL, T##_to_bool)};
#define INT_CASTS(T) CASTS(T, T##_to_32, T##_to_64, T##_to_float, T##_to_double)
INT_CASTS(u8)
INT_CASTS(i8)
INT_CASTS(u16)
INT_CASTS(i16)
INT_CASTS(u32)
INT_CASTS(i32)
INT_CASTS(u64)
INT_CASTS(i64)
CASTS(f32, f32_to_u32, f32_to_u64, NULL, f32_to_double)
CASTS(f64, f64_to_u32, f64_to_u64, f64_to_float, NULL)

static const cast_row *const casts[OX_DTYPE_COUNT] = {
    ENTRY(OX_BOOL, &from_u8),   ENTRY(OX_UINT2, &from_u8),   ENTRY(OX_INT2, &from_i8),    ENTRY(OX_UINT4, &from_u8),
    ENTRY(OX_INT4, &from_i8),   ENTRY(OX_UINT8, &from_u8),   ENTRY(OX_INT8, &from_i8),    ENTRY(OX_UINT16, &from_u16),
    ENTRY(OX_INT16, &from_i16), ENTRY(OX_UINT32, &from_u32), ENTRY(OX_INT32, &from_i32),  ENTRY(OX_UINT64, &from_u64),
    ENTRY(OX_INT64, &from_i64), ENTRY(OX_FLOAT, &from_f32),  ENTRY(OX_DOUBLE, &from_f64),
};

ox_lane *OX_VARIANT(ox_lane_cast)(ox_dtype from, ox_dtype to) {
    const cast_row *row = casts[from];
    bool integers = from != OX_FLOAT && from != OX_DOUBLE && to != OX_FLOAT && to != OX_DOUBLE && to != OX_BOOL;
    if (from == to || (integers && ox_dtype_size(from) == ox_dtype_size(to)))
        return OX_VARIANT(ox_lane_copy)(ox_dtype_size(from));
    if (!row)
        return NULL;
    switch ((int)to) {
    case OX_BOOL:
        return row->to_bool;
    case OX_UINT8:
    case OX_INT8:
    case OX_UINT4:
    case OX_INT4:
    case OX_UINT2:
    case OX_INT2:
        return row->to_8;
    case OX_UINT16:
    case OX_INT16:
        return row->to_16;
    case OX_UINT32:
        return row->to_u32;
    case OX_INT32:
        return row->to_32;
    case OX_UINT64:
        return row->to_u64;
    case OX_INT64:
        return row->to_64;
    case OX_FLOAT:
        return row->to_float;
    default:
        return row->to_double;
    }
}

/* ---- To 16 bits and less ------------------------------------------------------------------------------------- */

/* The float towards zero from the value, with its last bit set if that was not exact: a later rounding to fewer bits
 * then sees on which side of a tie the value lies. */
static inline float odd(float rounded, bool exact, bool away) {
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    bits = exact || isinf(rounded) ? bits : (bits - away) | 1;
    memcpy(&rounded, &bits, sizeof bits);
    return rounded;
}

static inline float odd_of_double(double a) {
    float rounded = (float)a;
    return odd(rounded, rounded == a || a != a, fabs((double)rounded) > fabs(a));
}

/* Of a number that no double holds exactly, the last 12 bits only matter as "not zero". */
static inline float odd_of_uint64(uint64_t a) {
    const uint64_t cut = (a & ~(uint64_t)0xfff) | (uint64_t)((a & 0xfff) != 0) << 11;
    return odd_of_double((double)(a >> 53 ? cut : a));
}

static inline float odd_of_int64(int64_t a) {
    const float magnitude = odd_of_uint64(a < 0 ? 0 - (uint64_t)a : (uint64_t)a);
    return a < 0 ? -magnitude : magnitude;
}

LANE1(odd_f64, f32, f64, odd_of_double(a))
LANE1(odd_i32, f32, i32, odd_of_double(a))
LANE1(odd_u32, f32, u32, odd_of_double(a))
LANE1(odd_i64, f32, i64, odd_of_int64(a))
LANE1(odd_u64, f32, u64, odd_of_uint64(a))

ox_lane *OX_VARIANT(ox_lane_cast_odd)(ox_dtype from) {
    static ox_lane *const lanes[OX_DTYPE_COUNT] = {ENTRY(OX_DOUBLE, odd_f64), ENTRY(OX_INT32, odd_i32),
                                                   ENTRY(OX_UINT32, odd_u32), ENTRY(OX_INT64, odd_i64),
                                                   ENTRY(OX_UINT64, odd_u64)};
    return lanes[from] ? lanes[from] : OX_VARIANT(ox_lane_cast)(from, OX_FLOAT);
}

/* ---- Types that are not computed in -------------------------------------------------------------------------- */

/* Repeats the first result, for loops that saw one operand only. */
static void repeat(int64_t n, char *const arg[], size_t width) {
    if (n > 1)
        OX_VARIANT(ox_lane_copy)
    (width)(n - 1, (char *[]){arg[0] + width, arg[0]}, (const int64_t[]){(int64_t)width, 0}, NULL);
}

/* The processor's own conversions, eight at a time; what is left over goes the same way. */
static void widen_half(int64_t n, const u16 *x, f32 *o) {
#ifdef OX_HALF_VECTOR
    int64_t i = 0;
    for (; n - i >= OX_HALF_VECTOR; i += OX_HALF_VECTOR)
        ox_widen_vector(o + i, x + i);
    if (i < n) {
        uint16_t in[OX_HALF_VECTOR] = {0};
        float out[OX_HALF_VECTOR];
        memcpy(in, x + i, (size_t)(n - i) * sizeof *in);
        ox_widen_vector(out, in);
        memcpy(o + i, out, (size_t)(n - i) * sizeof *out);
    }
#else
    FOR_N o[i] = ox_float_from_half(x[i]);
#endif
}

static void narrow_half(int64_t n, const f32 *x, u16 *o) {
#ifdef OX_HALF_VECTOR
    int64_t i = 0;
    for (; n - i >= OX_HALF_VECTOR; i += OX_HALF_VECTOR)
        ox_narrow_vector(o + i, x + i);
    if (i < n) {
        float in[OX_HALF_VECTOR] = {0};
        uint16_t out[OX_HALF_VECTOR];
        memcpy(in, x + i, (size_t)(n - i) * sizeof *in);
        ox_narrow_vector(out, in);
        memcpy(o + i, out, (size_t)(n - i) * sizeof *out);
    }
#else
    FOR_N o[i] = ox_half_from_float(x[i]);
#endif
}

static void widen_bf16(int64_t n, const u16 *x, f32 *o) {
    FOR_N o[i] = ox_float_from_bf16(x[i]);
}
static void narrow_bf16(int64_t n, const f32 *x, u16 *o) {
    FOR_N o[i] = ox_bf16_from_float(x[i]);
}

/* Formats of a byte: what is known of one is not read again after each byte that is stored. */
static void widen_tiny(const ox_tiny *tiny, int64_t n, const u8 *x, f32 *o) {
    const ox_tiny format = *tiny;
    FOR_N o[i] = ox_float_from_tiny(&format, x[i]);
}
static void narrow_tiny(const ox_tiny *tiny, bool overflow, int64_t count, const f32 *x, u8 *o) {
    const ox_tiny format = *tiny;
    const uint32_t beyond = ox_tiny_beyond(tiny, overflow);
    uint32_t codes[OX_BLOCK]; /* gcc makes no vectors of choices between bytes */
    for (int64_t n = 0; count > 0; count -= n, x += n, o += n) {
        n = LESS_OF(count, OX_BLOCK);
        FOR_N codes[i] = ox_tiny_from_float(&format, beyond, x[i]);
        FOR_N o[i] = (u8)codes[i];
    }
}

CONVERT(widen_half, u16, f32)
CONVERT(widen_bf16, u16, f32)
CONVERT(narrow_half, f32, u16)
CONVERT(narrow_bf16, f32, u16)

int OX_VARIANT(ox_lane_widen)(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const ox_dtype dtype = *(const ox_dtype *)attr;
    const int64_t count = step[1] ? n : 1;
    const bool streams = step[0] < 0 && step[1];
    if (dtype == OX_FLOAT16)
        all_widen_half(count, (const void *)arg[1], (void *)arg[0], streams, step[1] < 0);
    else if (dtype == OX_BFLOAT16)
        all_widen_bf16(count, (const void *)arg[1], (void *)arg[0], streams, step[1] < 0);
    else if (dtype == OX_FLOAT8E8M0)
        ox_widen(dtype, count, arg[1], (float *)(void *)arg[0]);
    else
        widen_tiny(ox_tiny_of(dtype), count, (const void *)arg[1], (void *)arg[0]);
    if (!step[1])
        repeat(n, arg, sizeof(float));
    return 0;
}

int OX_VARIANT(ox_lane_narrow)(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const ox_narrowing *how = attr;
    const int64_t count = step[1] ? n : 1;
    const bool streams = step[0] < 0 && step[1];
    if (how->dtype == OX_FLOAT16)
        all_narrow_half(count, (const void *)arg[1], (void *)arg[0], streams, step[1] < 0);
    else if (how->dtype == OX_BFLOAT16)
        all_narrow_bf16(count, (const void *)arg[1], (void *)arg[0], streams, step[1] < 0);
    else if (how->dtype == OX_FLOAT8E8M0)
        ox_narrow(how, count, (const float *)(const void *)arg[1], arg[0]);
    else
        narrow_tiny(ox_tiny_of(how->dtype), how->overflow, count, (const void *)arg[1], (void *)arg[0]);
    if (!step[1])
        repeat(n, arg, ox_dtype_size(how->dtype));
    return 0;
}

int OX_VARIANT(ox_lane_wrap)(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const ox_dtype dtype = *(const ox_dtype *)attr;
    const int bits = ox_dtype_bits(dtype), mask = (1 << bits) - 1;
    const int sign = dtype == OX_INT4 || dtype == OX_INT2 ? 1 << (bits - 1) : 0;
    i8 *o = (void *)arg[0];
    const i8 *x = (const void *)arg[1];
    for (int64_t i = 0; i < n; i++)
        o[i] = (int8_t)(((x[step[1] ? i : 0] & mask) ^ sign) - sign);
    return 0;
}
