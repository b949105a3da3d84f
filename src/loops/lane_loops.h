/* lane_loops.h: what the loops are made of: names that end in the build, types of elements, and the macros that make a
 * loop of an expression. Included by every file that is built per processor. */
#ifndef OX_LOOPS_LANE_LOOPS_H
#define OX_LOOPS_LANE_LOOPS_H

#include "asserts.h"
#include "loops/simd/intrinsics.h"
#include "lanes.h"
#include "moves.h"

#include <math.h>

/* The build that a file is compiled for (builds.h); what it defines has names that end in it. */
#ifndef OX_ISA
#define OX_ISA base
#endif
#define OX_JOIN_(a, b) a##_##b
#define OX_JOIN(a, b) OX_JOIN_(a, b)
#define OX_VARIANT(name) OX_JOIN(name, OX_ISA)
#define OX_LANES(name) OX_VARIANT(ox_lanes_##name)

#define LANE_SET(name) extern const ox_lanes OX_LANES(name);
#include "lanes.inc"
#undef LANE_SET

ox_lane *OX_VARIANT(ox_lane_where)(size_t width);
ox_lane *OX_VARIANT(ox_lane_copy)(size_t width);
ox_lane *OX_VARIANT(ox_lane_cast)(ox_dtype from, ox_dtype to);
ox_lane *OX_VARIANT(ox_lane_cast_odd)(ox_dtype from);
ox_lane OX_VARIANT(ox_lane_widen), OX_VARIANT(ox_lane_narrow), OX_VARIANT(ox_lane_wrap);
ox_move_fn *OX_VARIANT(ox_move_for)(size_t width);
ox_spread_fn *OX_VARIANT(ox_spread_for)(size_t width);
ox_repeat_fn OX_VARIANT(ox_repeat_rows);
ox_transpose_fn *OX_VARIANT(ox_transpose_for)(size_t width);
ox_copy_fn OX_VARIANT(ox_copy_bytes), OX_VARIANT(ox_stream);
#define OX_FOLD_HERE(name) OX_VARIANT(ox_fold_##name)
#define FOLD_FINDER(name) ox_folder_fn OX_FOLD_HERE(name);
OX_FOLDS(FOLD_FINDER)
#undef FOLD_FINDER
ox_softmax_fn OX_VARIANT(ox_softmax_f32), OX_VARIANT(ox_softmax_f64);
ox_gemm_kernel_fn OX_VARIANT(ox_gemm_kernel_for);
ox_gemm_copy_fn OX_VARIANT(ox_gemm_copy);
ox_gemm_kernel_fn OX_VARIANT(ox_gemm_int8_find);
extern const ox_integer_loops OX_VARIANT(ox_integer_loops);
ox_window_loops_fn OX_VARIANT(ox_window_most), OX_VARIANT(ox_window_sums);
ox_norm_loops_fn OX_VARIANT(ox_norm_find);
ox_add_apart_for_fn OX_VARIANT(ox_add_apart_find);
#if OX_WITH_OWN_OPERATORS
ox_add_times_for_fn OX_VARIANT(ox_add_times_find);
#endif

#if OX_UNALIGNED
#define MEMORY __attribute__((aligned(1), may_alias))
#else
#define MEMORY __attribute__((may_alias))
#endif

/* Elements as they lie in memory ... */
typedef uint8_t MEMORY u8, truth;
typedef int8_t MEMORY i8;
typedef uint16_t MEMORY u16;
typedef int16_t MEMORY i16;
typedef uint32_t MEMORY u32;
typedef int32_t MEMORY i32;
typedef uint64_t MEMORY u64;
typedef int64_t MEMORY i64;
typedef float MEMORY f32;
typedef double MEMORY f64;
typedef any128 b16;
typedef struct __attribute__((packed, may_alias)) str {
    const char *data;
    size_t size;
} str;

/* ... and as arithmetic sees them: unsigned where wrapping must not be undefined behaviour. */
typedef uint32_t c_u8, c_u16, c_u32;
typedef int32_t c_i8, c_i16, c_i32;
typedef uint64_t c_u64;
typedef int64_t c_i64;
typedef float c_f32;
typedef double c_f64;
typedef b16 c_b16;
typedef str c_str;

/* The result may be an operand's memory, element for element: no iteration depends on another one. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif

#define LESS_OF(a, b) ((a) < (b) ? (a) : (b))
#define MORE_OF(a, b) ((a) > (b) ? (a) : (b))
#define SUM_OF(a, b) ((a) + (b))
/* Steps of an operand: it repeats, or is packed, or packed and prefetched. */
#define OX_IS_STEP(step, element)                                                                                      \
    ((step) == 0 || (step) == (int64_t)sizeof(element) || (step) == -(int64_t)sizeof(element))
#define FOR_N INDEPENDENT for (int64_t i = 0; i < n; i++)

/* The upper half of 2 * width partial results goes into the lower one. */
#define FOLD_HALF(op, part, width)                                                                                     \
    for (int p = 0; p < (width); p++)                                                                                  \
    (part)[p] = op((part)[p], (part)[p + (width)])

/* Compiled into its callers: a loop that is given its operation becomes the loop of that operation. */
#define OX_INLINED static inline __attribute__((always_inline))

#if defined(__clang__)
#define ONE_BY_ONE _Pragma("clang loop unroll(disable)")
#else
#define ONE_BY_ONE _Pragma("GCC unroll 1")
#endif

/* A loop over elements TA (and TB) that gives TO, out of the operation on one element: an expression over a (and b).
 * The loop itself is that of lane_unary.inc (lane_binary.inc), which has to be expanded for these types before. The
 * operation may use attr, and may set *fault where it has two operands; BITS is the width of its result. */
#define LANE1(fn, TO, TA, expression)                                                                                  \
    OX_INLINED TO fn##_of(const c_##TA a, const void *attr) {                                                          \
        (void)attr;                                                                                                    \
        return (TO)(expression);                                                                                       \
    }                                                                                                                  \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        return unary_##TO##_##TA(n, arg, step, attr, fn##_of);                                                         \
    }
#define LANE2(fn, TO, TA, TB, expression)                                                                              \
    OX_INLINED TO fn##_of(const c_##TA a, const c_##TB b, const void *attr, int *fault) {                              \
        enum {                                                                                                         \
            BITS = 8 * sizeof(TO)                                                                                      \
        };                                                                                                             \
        (void)attr, (void)fault;                                                                                       \
        return (TO)(expression);                                                                                       \
    }                                                                                                                  \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        return binary_##TO##_##TA##_##TB(n, arg, step, attr, fn##_of);                                                 \
    }

/* ---- Sets of loops: of an operation, for a class of types ----------------------------------------------------- */

/* An entry of a set: NULL in a build without the type. */
#define ENTRY(dtype, fn) [dtype] = OX_HAS(dtype) ? (fn) : NULL

#define UINT_ROW(name)                                                                                                 \
    ENTRY(OX_UINT8, name##_u8), ENTRY(OX_UINT16, name##_u16), ENTRY(OX_UINT32, name##_u32), ENTRY(OX_UINT64, name##_u64)
#define SINT_ROW(name)                                                                                                 \
    ENTRY(OX_INT8, name##_i8), ENTRY(OX_INT16, name##_i16), ENTRY(OX_INT32, name##_i32), ENTRY(OX_INT64, name##_i64)
#define FLOAT_ROW(name) ENTRY(OX_FLOAT, name##_f32), ENTRY(OX_DOUBLE, name##_f64)
/* Signed integers by the loops of unsigned ones: the same bits. */
#define WRAP_ROW(name)                                                                                                 \
    ENTRY(OX_INT8, name##_u8), ENTRY(OX_INT16, name##_u16), ENTRY(OX_INT32, name##_u32), ENTRY(OX_INT64, name##_u64)

#define UNARY_FLOAT(name, e)                                                                                           \
    LANE1(name##_f32, f32, f32, e)                                                                                     \
    LANE1(name##_f64, f64, f64, e)                                                                                     \
    const ox_lanes OX_LANES(name) = {.fn = {FLOAT_ROW(name)}};
#define BINARY_FLOAT(name, e)                                                                                          \
    LANE2(name##_f32, f32, f32, f32, e)                                                                                \
    LANE2(name##_f64, f64, f64, f64, e)                                                                                \
    const ox_lanes OX_LANES(name) = {.fn = {FLOAT_ROW(name)}};

/* A constant in the type of a. */
#define REAL(number) _Generic(a, float : number##f, default : number)

/* ---- Math functions ------------------------------------------------------------------------------------------ */

/* The C library has some functions for whole vectors, within 4 units in the last place; loops of a fixed length find
 * them. What is left over at the end goes through the same loop, so that a result does not depend on its place. */
enum {
    OX_VECTOR = 16
};

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(__FAST_MATH__)
#if __GLIBC_PREREQ(2, 35)
#define HAS_VECTOR(fn)                                                                                                 \
    __attribute__((simd("notinbranch"))) double fn(double);                                                            \
    __attribute__((simd("notinbranch"))) float fn##f(float);
HAS_VECTOR(acos)
HAS_VECTOR(acosh)
HAS_VECTOR(asin)
HAS_VECTOR(asinh)
HAS_VECTOR(atan)
HAS_VECTOR(atanh)
HAS_VECTOR(cos)
HAS_VECTOR(cosh)
HAS_VECTOR(erf)
HAS_VECTOR(erfc)
HAS_VECTOR(exp)
HAS_VECTOR(expm1)
HAS_VECTOR(log)
HAS_VECTOR(log1p)
HAS_VECTOR(sin)
HAS_VECTOR(sinh)
HAS_VECTOR(tan)
HAS_VECTOR(tanh)
__attribute__((simd("notinbranch"))) double pow(double, double);
__attribute__((simd("notinbranch"))) float powf(float, float);
#endif
#endif

/* Long computations go over a block in two loops: a processor looks ahead over some hundred instructions, and what is
 * computed in it has to be several elements, or it waits. */
enum {
    OX_BLOCK = 16 * OX_VECTOR
};

/* VECTOR_LANE: the loop of fn_vectors, which is given a multiple of OX_VECTOR as n. MATH_LANE: that of an expression
 * over a. */
#if OX_SMALL
#define MATH_LANE(fn, T, expression) LANE1(fn, T, T, expression)
#else
#define VECTOR_LANE(fn, T)                                                                                             \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        return streamed_##T(n, arg, step, attr, fn##_vectors);                                                         \
    }
#define MATH_LANE(fn, T, expression)                                                                                   \
    OX_INLINED T fn##_of(const c_##T a, const void *attr) {                                                            \
        (void)attr;                                                                                                    \
        return (T)(expression);                                                                                        \
    }                                                                                                                  \
    static void fn##_vectors(int64_t n, T *o, const T *x, const void *attr) {                                          \
        n &= -(int64_t)OX_VECTOR;                                                                                      \
        FOR_N o[i] = fn##_of(x[i], attr);                                                                              \
    }                                                                                                                  \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        if (stream_unary_##T##_##T(n, arg, step, attr, fn##_of))                                                       \
            return 0;                                                                                                  \
        return whole_##T(n, arg, step, attr, fn##_vectors);                                                            \
    }
#endif

/* An operation of one floating-point operand that calls math functions. No call may stand behind a condition: such are
 * not made for whole vectors. */
#define MATH_UNARY(name, e)                                                                                            \
    MATH_LANE(name##_f32, f32, e)                                                                                      \
    MATH_LANE(name##_f64, f64, e)                                                                                      \
    const ox_lanes OX_LANES(name) = {.fn = {FLOAT_ROW(name)}, .slow = true};

/* The math function for double, the one that ends in f for float. */
#define MATH(fn, x) _Generic((x), float : fn##f, default : fn)(x)

#endif
