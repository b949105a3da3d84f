/* reduce_loops.c: the loops of the reductions, expanded for each element type. */
#include "asserts.h"
#include "loops/simd/intrinsics.h"
#include "lane_loops.h"

#include <string.h>

enum {
    WIDE = OX_FOLD_WIDE,
    NARROW = OX_FOLD_NARROW,
    BESIDE = OX_FOLD_BESIDE,
    BLOCK = OX_FOLD_BLOCK,
    DEPTH = 4,
    LANES = OX_WIDEST / (int)sizeof(float)
};

/* Partial results wider than the elements stay in registers only where the compiler does not see a loop over them;
 * comparisons become whole vectors only where it does. */
#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define UNROLLED _Pragma("GCC unroll 32")
#else
#define UNROLLED
#endif
#define ROLLED
#if OX_SMALL
#undef UNROLLED
#define UNROLLED
#endif

#define LOAD_PARTS(LOOP, type, sum, of, width)                                                                         \
    LOOP for (int p = 0; p < width; p++) part[p] = (sum)of(OX_GET(type, from + p * step))
#define FOLD_PARTS(LOOP, type, sum, of, op, width)                                                                     \
    LOOP for (int p = 0; p < width; p++) part[p] = op(part[p], (sum)of(OX_GET(type, from + (i + p) * step)))

/* The same of DEPTH elements for each partial result, which is loaded and stored once for all of them: one after the
 * other, or as pairs, for operations whose result does not depend on that. */
enum {
    SHALLOW,
    IN_TURN,
    IN_PAIRS
};
#define FOLD_DEEP(type, sum, of, op, deep)                                                                             \
    for (int p = 0; p < WIDE; p++) {                                                                                   \
        sum x[DEPTH], s = part[p];                                                                                     \
        UNROLLED for (int d = 0; d < DEPTH; d++) x[d] = (sum)of(OX_GET(type, from + (i + d * WIDE + p) * step));       \
        if (deep == IN_PAIRS)                                                                                          \
            s = op(s, op(op(x[0], x[1]), op(x[2], x[3])));                                                             \
        else                                                                                                           \
            UNROLLED for (int d = 0; d < DEPTH; d++) s = op(s, x[d]);                                                  \
        part[p] = s;                                                                                                   \
    }

/* One row into one accumulator, of its elements or of their squares. */
#define ITSELF(a) a
#define SQUARE(a) ((a) * (a))
#define FOLD_ROW(name, type, sum, of, op, LOOP, deep)                                                                  \
    static inline sum name(sum first, const char *from, int64_t length, int64_t step) {                                \
        _Alignas(OX_WIDEST) sum part[WIDE];                                                                            \
        int64_t i = 0;                                                                                                 \
        if (length >= WIDE) {                                                                                          \
            LOAD_PARTS(LOOP, type, sum, of, WIDE);                                                                     \
            for (i = WIDE; deep != SHALLOW && i + DEPTH * WIDE <= length; i += DEPTH * WIDE)                           \
                FOLD_DEEP(type, sum, of, op, deep);                                                                    \
            for (; i + WIDE <= length; i += WIDE)                                                                      \
                FOLD_PARTS(LOOP, type, sum, of, op, WIDE);                                                             \
            FOLD_HALF(op, part, WIDE / 2);                                                                             \
            FOLD_HALF(op, part, WIDE / 4);                                                                             \
        } else if (length >= NARROW) {                                                                                 \
            LOAD_PARTS(ROLLED, type, sum, of, NARROW);                                                                 \
            i = NARROW;                                                                                                \
        }                                                                                                              \
        if (i) {                                                                                                       \
            for (; i + NARROW <= length; i += NARROW)                                                                  \
                FOLD_PARTS(ROLLED, type, sum, of, op, NARROW);                                                         \
            FOLD_HALF(op, part, NARROW / 2);                                                                           \
            FOLD_HALF(op, part, NARROW / 4);                                                                           \
            const sum rest = op(part[0], part[1]);                                                                     \
            first = op(first, rest);                                                                                   \
        }                                                                                                              \
        for (; i < length; i++)                                                                                        \
            first = op(first, (sum)of(OX_GET(type, from + i * step)));                                                 \
        return first;                                                                                                  \
    }

/* Devices have one loop for rows that lie packed and for others. */
#define FOLD(name, type, sum, op, LOOP, deep)                                                                          \
    FOLD_ROW(packed_##name, type, sum, ITSELF, op, LOOP, deep)                                                         \
    FOLD_ROW(strided_##name, type, sum, ITSELF, op, ROLLED, SHALLOW)                                                   \
    FOLD_ROWS(name, type, sum)                                                                                         \
    FOLD_COLUMNS(name, type, sum, ITSELF, op)

/* The same of what `of` makes of each element, in the type of the accumulator. */
#define FOLD_OF(name, type, sum, of)                                                                                   \
    FOLD_ROW(packed_##name, type, sum, of, SUM_OF, ROLLED, IN_TURN)                                                    \
    FOLD_ROW(strided_##name, type, sum, of, SUM_OF, ROLLED, SHALLOW)                                                   \
    FOLD_ROWS(name, type, sum)                                                                                         \
    FOLD_COLUMNS(name, type, sum, of, SUM_OF)

#define FOLD_ROWS(name, type, sum)                                                                                     \
    static void rows_##name(void *sums, int64_t n, const char *from, int64_t next, int64_t length, int64_t step) {     \
        const int64_t width = (int64_t)sizeof(type);                                                                   \
        sum *to = sums;                                                                                                \
        OX_ASSERT(n >= 0 && length > 0 && (uintptr_t)sums % sizeof(sum) == 0);                                         \
        for (int64_t i = 0; !OX_SMALL && step == width && i < n; i++, from += next)                                    \
            to[i] = packed_##name(to[i], from, length, width);                                                         \
        for (int64_t i = 0; (OX_SMALL || step != width) && i < n; i++, from += next)                                   \
            to[i] = strided_##name(to[i], from, length, step);                                                         \
    }

#define FOLD_COLUMNS(name, type, sum, of, op)                                                                          \
    static void columns_##name(void *sums, int64_t n, const char *from, int64_t next, int64_t length, int64_t step) {  \
        const int64_t width = (int64_t)sizeof(type);                                                                   \
        sum *to = sums;                                                                                                \
        int64_t k = 0;                                                                                                 \
        OX_ASSERT(n >= 0 && length > 0 && (uintptr_t)sums % sizeof(sum) == 0 && (n <= 1 || next == width));            \
        (void)next;                                                                                                    \
        for (; k + 4 <= length; k += 4, from += 4 * step)                                                              \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                sum s = op(to[i], (sum)of(OX_GET(type, from + i * width)));                                            \
                s = op(s, (sum)of(OX_GET(type, from + step + i * width)));                                             \
                s = op(s, (sum)of(OX_GET(type, from + 2 * step + i * width)));                                         \
                to[i] = op(s, (sum)of(OX_GET(type, from + 3 * step + i * width)));                                     \
            }                                                                                                          \
        for (; k < length; k++, from += step)                                                                          \
            for (int64_t i = 0; i < n; i++)                                                                            \
                to[i] = op(to[i], (sum)of(OX_GET(type, from + i * width)));                                            \
    }

#define MULTIPLY(a, b) ((a) * (b))
/* The greater and the lesser; a NaN, once taken, stays. Compilers would jump on a condition that holds both
 * comparisons, which random elements make them guess wrong. */
#define OR_NAN(name, type, choice)                                                                                     \
    static inline type name(type a, type b) {                                                                          \
        const type chosen = choice(b, a);                                                                              \
        return b != b ? b : chosen;                                                                                    \
    }
OR_NAN(greater_f32, float, MORE_OF)
OR_NAN(lesser_f32, float, LESS_OF)
OR_NAN(greater_f64, double, MORE_OF)
OR_NAN(lesser_f64, double, LESS_OF)

#define FOLD_WIDE(name, type, sum)                                                                                     \
    FOLD(sum_##name, type, sum, SUM_OF, UNROLLED, SHALLOW)                                                             \
    FOLD(prod_##name, type, sum, MULTIPLY, UNROLLED, SHALLOW)
#if OX_SMALL
#define SQUARES_F32 NULL
#define EIGHTS_F32 NULL
FOLD_WIDE(f32, ox_f32, double)
#else
/* The first element last: compilers load the operands of a sum from the last one on, and memory is read nearly twice as
 * fast upwards. */
#define AT(of, first, k, step) of(OX_GET(ox_f32, (first) + (k) * (step)))
#define SUM_OF_FOUR(of, first, k, step)                                                                                \
    ((AT(of, first, k + 3, step) + AT(of, first, k + 2, step)) + (AT(of, first, k + 1, step) + AT(of, first, k, step)))
#define SUM_OF_EIGHT(of, first, step) (double)(SUM_OF_FOUR(of, first, 4, step) + SUM_OF_FOUR(of, first, 0, step))
/* A vector of partial results at a time: compilers would keep those of a loop over several vectors in memory. */
#define SUM_BLOCKS(name, of)                                                                                           \
    static inline double name(const char *from, int64_t length, int64_t step) {                                        \
        double part[BESIDE] = {0};                                                                                     \
        int64_t i = 0;                                                                                                 \
        do                                                                                                             \
            UNROLLED for (int first = 0; first < BESIDE; first += LANES) for (int p = first; p < first + LANES; p++)   \
                part[p] += SUM_OF_EIGHT(of, from + (i + p) * step, BESIDE * step);                                     \
        while ((i += BLOCK) < length);                                                                                 \
        FOLD_HALF(SUM_OF, part, BESIDE / 2);                                                                           \
        FOLD_HALF(SUM_OF, part, BESIDE / 4);                                                                           \
        FOLD_HALF(SUM_OF, part, BESIDE / 8);                                                                           \
        return part[0] + part[1];                                                                                      \
    }
/* Whole blocks, then the rest. Where sums of floats overflow, all is done in double. */
#define SUM_ROW(name, of, LOOP)                                                                                        \
    FOLD_ROW(wide_##name, ox_f32, double, of, SUM_OF, LOOP, SHALLOW)                                                   \
    SUM_BLOCKS(blocks_##name, of)                                                                                      \
    static inline double name(double first, const char *from, int64_t length, int64_t step) {                          \
        const int64_t whole = length & -(int64_t)BLOCK;                                                                \
        const double start = whole ? first + blocks_##name(from, whole, step) : first;                                 \
        const double total = whole < length ? wide_##name(start, from + whole * step, length - whole, step) : start;   \
        return whole && !isfinite(total) ? wide_##name(first, from, length, step) : total;                             \
    }
#define SUM_FLOATS(name, of)                                                                                           \
    SUM_ROW(packed_##name, of, UNROLLED)                                                                               \
    SUM_ROW(strided_##name, of, ROLLED)                                                                                \
    FOLD_ROWS(name, ox_f32, double)
SUM_FLOATS(sum_f32, ITSELF)
SUM_FLOATS(squares_f32, SQUARE)
#define SQUARES_F32 rows_squares_f32
static void eights_f32(void *sums, int64_t n, const char *from, int64_t next, int64_t length, int64_t step) {
    double *to = sums;
    OX_ASSERT(n >= 0 && length > 0 && (uintptr_t)sums % sizeof *to == 0);
    (void)next;
    for (int64_t k = 0; k < length; k++, from += 8 * step)
        for (int64_t i = 0; i < n; i++)
            to[i] += SUM_OF_EIGHT(ITSELF, from + i * (int64_t)sizeof(ox_f32), step);
}
#define EIGHTS_F32 eights_f32
FOLD_COLUMNS(sum_f32, ox_f32, double, ITSELF, SUM_OF)

FOLD(prod_f32, ox_f32, double, MULTIPLY, UNROLLED, SHALLOW)
#endif
FOLD_WIDE(f64, ox_f64, double)
/* Where the last 32 bits of a result are all that is taken, signed integers are like unsigned ones. */
FOLD_WIDE(i32, ox_i32, uint64_t)
FOLD(sum_u32, ox_u32, uint64_t, SUM_OF, UNROLLED, SHALLOW)
FOLD_WIDE(i64, ox_u64, uint64_t)

/* Absolute values and squares as they are summed up; integers for the roots and logarithms of their sums as reals. */
#define ABSOLUTE(a) fabs((double)(a))
#define ABSOLUTE_64(a) ((a) < 0 ? 0 - (uint64_t)(a) : (uint64_t)(a))
#define SQUARE_REAL(a) ((double)(a) * (double)(a))
#define SQUARE_64(a) ((uint64_t)(a) * (uint64_t)(a))
#define AS_REAL(a) ((double)(a))
FOLD_OF(absolute_f32, ox_f32, double, ABSOLUTE)
FOLD_OF(absolute_f64, ox_f64, double, ABSOLUTE)
FOLD_OF(absolute_i32, ox_i32, uint64_t, ABSOLUTE_64)
FOLD_OF(absolute_i64, ox_i64, uint64_t, ABSOLUTE_64)
FOLD_OF(square_i32, ox_i32, uint64_t, SQUARE_64)
FOLD_OF(square_i64, ox_u64, uint64_t, SQUARE_64)
#define FOLD_REAL(name, type) FOLD_OF(square_real_##name, type, double, SQUARE_REAL)
FOLD_REAL(f32, ox_f32)
FOLD_REAL(f64, ox_f64)
#define FOLD_INTEGER_REAL(name, type)                                                                                  \
    FOLD_REAL(name, type)                                                                                              \
    FOLD_OF(real_##name, type, double, AS_REAL)
FOLD_INTEGER_REAL(i32, ox_i32)
FOLD_INTEGER_REAL(u32, ox_u32)
FOLD_INTEGER_REAL(i64, ox_i64)
FOLD_INTEGER_REAL(u64, ox_u64)

FOLD(max_f32, ox_f32, float, greater_f32, ROLLED, IN_PAIRS)
FOLD(min_f32, ox_f32, float, lesser_f32, ROLLED, IN_PAIRS)
FOLD(max_f64, ox_f64, double, greater_f64, ROLLED, IN_PAIRS)
FOLD(min_f64, ox_f64, double, lesser_f64, ROLLED, IN_PAIRS)

#define FOLD_ORDER(name, type, value)                                                                                  \
    FOLD(max_##name, type, value, MORE_OF, ROLLED, IN_PAIRS)                                                           \
    FOLD(min_##name, type, value, LESS_OF, ROLLED, IN_PAIRS)
FOLD_ORDER(i8, ox_i8, int8_t)
FOLD_ORDER(u8, ox_u8, uint8_t)
FOLD_ORDER(i32, ox_i32, int32_t)
FOLD_ORDER(u32, ox_u32, uint32_t)
FOLD_ORDER(i64, ox_i64, int64_t)
FOLD_ORDER(u64, ox_u64, uint64_t)

/* ---- Ends --------------------------------------------------------------------------------------------------- */

/* Accumulators of type `sum` become elements of type `type`, by an expression of s and count. */
#define END(name, type, sum, expression)                                                                               \
    static void end_##name(int64_t n, const void *sums, int64_t count, void *to) {                                     \
        (void)count;                                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const sum s = ((const sum *)sums)[i];                                                                      \
            ((type *)to)[i] = expression;                                                                              \
        }                                                                                                              \
    }
END(f32, ox_f32, double, (float)s)
END(f64, ox_f64, double, s)
END(32, ox_u32, uint64_t, (uint32_t)s)
END(64, ox_u64, uint64_t, s)
END(mean_f32, ox_f32, double, (float)(s / (double)count))
END(mean_f64, ox_f64, double, s / (double)count)
END(mean_i32, ox_i32, int64_t, (int32_t)(s / count))
END(mean_u32, ox_u32, uint64_t, (uint32_t)(s / (uint64_t)count))
END(mean_i64, ox_i64, int64_t, s / count)
END(mean_u64, ox_u64, uint64_t, s / (uint64_t)count)

/* A real as an integer of 64 bits: cut off, and the least one where it does not fit. */
static inline uint64_t cut(double s) {
    const bool fits = s > -0x1p63 && s < 0x1p63;
    return fits ? (uint64_t)(int64_t)s : s >= 0x1p63 && s < 0x1p64 ? (uint64_t)s : (uint64_t)INT64_MIN;
}
#define END_REAL(name, function)                                                                                       \
    END(name##_f32, ox_f32, double, (float)function(s))                                                                \
    END(name##_f64, ox_f64, double, function(s))                                                                       \
    END(name##_32, ox_u32, double, (uint32_t)cut(function(s)))                                                         \
    END(name##_64, ox_u64, double, cut(function(s)))
/* By itself, for what an element gives must not depend on whether others lie beside it: vectors have another one. */
static __attribute__((noinline)) double log_of(double s) {
    return log(s);
}
END_REAL(root, sqrt)
END_REAL(log, log_of)

/* Accumulators that are elements already. */
#define END_COPY(bytes)                                                                                                \
    static void copy_##bytes(int64_t n, const void *sums, int64_t count, void *to) {                                   \
        (void)count;                                                                                                   \
        memcpy(to, sums, (size_t)n *bytes);                                                                            \
    }
END_COPY(1)
END_COPY(4)
END_COPY(8)

/* ---- Choice ------------------------------------------------------------------------------------------------- */

/* Whether a build needs the loops of a type: its types have them, and so have the accumulators of what is added up and
 * multiplied. */
#define HAS_SUMS(type)                                                                                                 \
    ((type) == OX_DOUBLE ? OX_REDUCES_ANY(OX_SET_FLOAT)                                                                \
     : (type) == OX_INT64                                                                                              \
         ? OX_REDUCES_ANY(OX_BIT(OX_INT32) | OX_BIT(OX_UINT32) | OX_BIT(OX_INT64) | OX_BIT(OX_UINT64))                 \
         : OX_REDUCES(type))

#define LOOPS(type, has, what, name, finish)                                                                           \
    case type:                                                                                                         \
        if (!has(type))                                                                                                \
            return false;                                                                                              \
        f->rows = rows_##what##_##name, f->columns = columns_##what##_##name, f->end = finish;                         \
        return true;
#define SUMS(type, what, name, finish) LOOPS(type, OX_REDUCES, what, name, end_##finish)

/* Integers of both signs and 64 bits have the same sums. */
static bool find_sum(ox_dtype type, ox_folder *f, bool mean) {
    if (type == OX_FLOAT)
        f->squares = SQUARES_F32, f->eights = EIGHTS_F32;
    switch ((int)type) {
        LOOPS(OX_FLOAT, OX_REDUCES, sum, f32, mean ? end_mean_f32 : end_f32)
        LOOPS(OX_DOUBLE, HAS_SUMS, sum, f64, mean ? end_mean_f64 : end_f64)
        LOOPS(OX_INT32, OX_REDUCES, sum, i32, mean ? end_mean_i32 : end_32)
        LOOPS(OX_UINT32, OX_REDUCES, sum, u32, mean ? end_mean_u32 : end_32)
        LOOPS(OX_INT64, HAS_SUMS, sum, i64, mean ? end_mean_i64 : end_64)
        LOOPS(OX_UINT64, OX_REDUCES, sum, i64, mean ? end_mean_u64 : end_64)
    default:
        return false;
    }
}

static bool find_prod(ox_dtype type, ox_folder *f) {
    const double one = 1;
    f->identity = 1;
    if (type == OX_FLOAT || type == OX_DOUBLE)
        memcpy(&f->identity, &one, sizeof one);
    switch ((int)type) {
        SUMS(OX_FLOAT, prod, f32, f32)
        LOOPS(OX_DOUBLE, HAS_SUMS, prod, f64, end_f64)
        SUMS(OX_INT32, prod, i32, 32)
        SUMS(OX_UINT32, prod, i32, 32)
        LOOPS(OX_INT64, HAS_SUMS, prod, i64, end_64)
        SUMS(OX_UINT64, prod, i64, 64)
    default:
        return false;
    }
}

static bool find_absolute(ox_dtype type, ox_folder *f) {
    switch ((int)type) {
        SUMS(OX_FLOAT, absolute, f32, f32)
        SUMS(OX_DOUBLE, absolute, f64, f64)
        SUMS(OX_INT32, absolute, i32, 32)
        SUMS(OX_UINT32, sum, u32, 32)
        SUMS(OX_INT64, absolute, i64, 64)
        SUMS(OX_UINT64, sum, i64, 64)
    default:
        return false;
    }
}

static bool find_squares(ox_dtype type, ox_folder *f) {
    switch ((int)type) {
        SUMS(OX_FLOAT, square_real, f32, f32)
        SUMS(OX_DOUBLE, square_real, f64, f64)
        SUMS(OX_INT32, square, i32, 32)
        SUMS(OX_UINT32, square, i32, 32)
        SUMS(OX_INT64, square, i64, 64)
        SUMS(OX_UINT64, square, i64, 64)
    default:
        return false;
    }
}

static bool find_root(ox_dtype type, ox_folder *f) {
    switch ((int)type) {
        SUMS(OX_FLOAT, square_real, f32, root_f32)
        SUMS(OX_DOUBLE, square_real, f64, root_f64)
        SUMS(OX_INT32, square_real, i32, root_32)
        SUMS(OX_UINT32, square_real, u32, root_32)
        SUMS(OX_INT64, square_real, i64, root_64)
        SUMS(OX_UINT64, square_real, u64, root_64)
    default:
        return false;
    }
}

static bool find_log(ox_dtype type, ox_folder *f) {
    if (type == OX_FLOAT)
        f->eights = EIGHTS_F32;
    switch ((int)type) {
        SUMS(OX_FLOAT, sum, f32, log_f32)
        SUMS(OX_DOUBLE, sum, f64, log_f64)
        SUMS(OX_INT32, real, i32, log_32)
        SUMS(OX_UINT32, real, u32, log_32)
        SUMS(OX_INT64, real, i64, log_64)
        SUMS(OX_UINT64, real, u64, log_64)
    default:
        return false;
    }
}

/* The greatest is found from the least value of the type on, and the other way round. */
#define ORDER(dtype, name, value, lowest, highest)                                                                     \
    case dtype: {                                                                                                      \
        if (!OX_REDUCES(dtype))                                                                                        \
            return false;                                                                                              \
        const value start = max ? (lowest) : (highest);                                                                \
        memcpy(&f->identity, &start, sizeof start);                                                                    \
        f->rows = max ? rows_max_##name : rows_min_##name;                                                             \
        f->columns = max ? columns_max_##name : columns_min_##name;                                                    \
        f->width = (int64_t)sizeof start;                                                                              \
        f->end = sizeof start == 1 ? copy_1 : sizeof start == 4 ? copy_4 : copy_8;                                     \
        return true;                                                                                                   \
    }

static bool find_order(bool max, ox_dtype type, ox_folder *f) {
    switch ((int)type) {
        ORDER(OX_FLOAT, f32, float, -INFINITY, INFINITY)
        ORDER(OX_DOUBLE, f64, double, (double)-INFINITY, (double)INFINITY)
        ORDER(OX_INT8, i8, int8_t, INT8_MIN, INT8_MAX)
        ORDER(OX_UINT8, u8, uint8_t, 0, UINT8_MAX)
        ORDER(OX_BOOL, u8, uint8_t, 0, 1)
        ORDER(OX_INT32, i32, int32_t, INT32_MIN, INT32_MAX)
        ORDER(OX_UINT32, u32, uint32_t, 0, UINT32_MAX)
        ORDER(OX_INT64, i64, int64_t, INT64_MIN, INT64_MAX)
        ORDER(OX_UINT64, u64, uint64_t, 0, UINT64_MAX)
    default:
        return false;
    }
}

/* Accumulators of what is added up as reals, whatever the elements are. */
static bool find_reals(ox_dtype type, ox_folder *f) {
    *f = (ox_folder){.rows = rows_sum_f64,
                     .columns = columns_sum_f64,
                     .end = end_f64,
                     .joins = find_reals,
                     .width = 8,
                     .sums = OX_DOUBLE};
    return type == OX_DOUBLE;
}

/* A finder of a reduction: what the folder has besides, then its loops. Accumulators are folded by `joined`. */
#define FINDER(name, joined, ordered, type_of_sums, loops)                                                             \
    bool OX_FOLD_HERE(name)(ox_dtype type, ox_folder * f) {                                                            \
        *f = (ox_folder){.joins = joined, .ends = ordered, .width = 8, .sums = type_of_sums};                          \
        return loops;                                                                                                  \
    }
#define SUMMED (type == OX_FLOAT || type == OX_DOUBLE ? OX_DOUBLE : OX_INT64)
FINDER(SUM, OX_FOLD_HERE(SUM), false, SUMMED, find_sum(type, f, false))
FINDER(MEAN, OX_FOLD_HERE(SUM), false, SUMMED, find_sum(type, f, true))
FINDER(PROD, OX_FOLD_HERE(PROD), false, SUMMED, find_prod(type, f))
FINDER(MAX, OX_FOLD_HERE(MAX), true, type, find_order(true, type, f))
FINDER(MIN, OX_FOLD_HERE(MIN), true, type, find_order(false, type, f))
FINDER(L1, OX_FOLD_HERE(SUM), false, SUMMED, find_absolute(type, f))
FINDER(SQUARES, OX_FOLD_HERE(SUM), false, SUMMED, find_squares(type, f))
FINDER(L2, find_reals, false, OX_DOUBLE, find_root(type, f))
FINDER(LOG, find_reals, false, OX_DOUBLE, find_log(type, f))
