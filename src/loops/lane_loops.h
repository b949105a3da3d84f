/* lane_loops.h: the template that the elementwise loops are expanded from. Included by every file that is
 * built per processor. */
#ifndef OX_LOOPS_LANE_LOOPS_H
#define OX_LOOPS_LANE_LOOPS_H

#include "intrinsics.h"
#include "lanes.h"
#include "moves.h"

#include <math.h>

/* Files that include this are built once for each kind of processor, with names that end in it. */
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
ox_transpose_fn *OX_VARIANT(ox_transpose_for)(size_t width);
ox_copy_fn OX_VARIANT(ox_copy_bytes), OX_VARIANT(ox_stream);
ox_folder_fn OX_VARIANT(ox_folder_find);
ox_softmax_fn OX_VARIANT(ox_softmax_f32), OX_VARIANT(ox_softmax_f64);
const ox_gemm_kernel *OX_VARIANT(ox_gemm_kernel_for)(ox_dtype dtype);
ox_gemm_copy_fn OX_VARIANT(ox_gemm_copy);
const ox_gemm_kernel *OX_VARIANT(ox_gemm_int8_find)(void);
extern const ox_integer_loops OX_VARIANT(ox_integer_loops);
ox_window_loops_fn OX_VARIANT(ox_window_find);
ox_norm_loops_fn OX_VARIANT(ox_norm_find);
ox_add_apart_for_fn OX_VARIANT(ox_add_apart_find);

#if OX_UNALIGNED
#define MEMORY __attribute__((aligned(1), may_alias))
#else
#define MEMORY __attribute__((may_alias))
#endif

/* Elements as they lie in memory ... */
typedef uint8_t MEMORY u8;
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
#define FOR_N INDEPENDENT for (int64_t i = 0; i < n; i++)

/* The upper half of 2 * width partial results goes into the lower one. */
#define FOLD_HALF(op, part, width)                                                                                     \
    for (int p = 0; p < (width); p++)                                                                                  \
    (part)[p] = op((part)[p], (part)[p + (width)])

/* Results that go past the caches (step[0] is below 0), a block at a time: a cache line of the smallest of the types.
 * An operand that repeats fills a block too, which is read again and again: one body serves all kinds of steps. */
#if OX_LANES_STREAM
#if defined(__clang__)
#define ONE_BY_ONE _Pragma("clang loop unroll(disable)")
#else
#define ONE_BY_ONE _Pragma("GCC unroll 1")
#endif
#define STREAMED_OPERAND(T, x, k)                                                                                      \
    T x##_block[BLOCK];                                                                                                \
    const int64_t next_##x = step[k] ? BLOCK : 0;                                                                      \
    const bool prefetch_##x = step[k] < 0;                                                                             \
    for (int64_t i = next_##x; i < BLOCK; i++)                                                                         \
        x##_block[i] = x[0];                                                                                           \
    x = next_##x ? x : x##_block;
#define ASK(x)                                                                                                         \
    if (prefetch_##x)                                                                                                  \
        ox_prefetch_lines((uintptr_t)x, BLOCK * sizeof *x);
#define STREAM_BLOCKS(TO, prefetch, next, ...)                                                                         \
    ONE_BY_ONE for (; n > 0; n -= BLOCK, o += BLOCK, next) {                                                           \
        prefetch TO block[BLOCK] __attribute__((aligned(OX_LINE)));                                                    \
        INDEPENDENT for (int64_t i = 0; i < BLOCK; i++) {                                                              \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        ox_stream_lines(o, block, sizeof block);                                                                       \
    }
#define STREAM1(TO, TA, expression)                                                                                    \
    if (step[0] < 0) {                                                                                                 \
        enum {                                                                                                         \
            BLOCK = OX_LINE / LESS_OF(sizeof(TO), sizeof(TA))                                                          \
        };                                                                                                             \
        STREAMED_OPERAND(TA, x, 1)                                                                                     \
        STREAM_BLOCKS(TO, ASK(x), x += next_x, const c_##TA a = x[i]; block[i] = (TO)(expression))                     \
        return 0;                                                                                                      \
    }
#define STREAM2(TO, TA, TB, expression)                                                                                \
    if (step[0] < 0) {                                                                                                 \
        enum {                                                                                                         \
            BLOCK = OX_LINE / LESS_OF(sizeof(TO), LESS_OF(sizeof(TA), sizeof(TB)))                                     \
        };                                                                                                             \
        STREAMED_OPERAND(TA, x, 1)                                                                                     \
        STREAMED_OPERAND(TB, y, 2)                                                                                     \
        STREAM_BLOCKS(TO, ASK(x) ASK(y), (x += next_x, y += next_y), const c_##TA a = x[i]; const c_##TB b = y[i];     \
                      block[i] = (TO)(expression))                                                                     \
        return fault;                                                                                                  \
    }
/* Of one type, but for the first operand. */
#define STREAM3(TO, TA, expression)                                                                                    \
    if (step[0] < 0) {                                                                                                 \
        enum {                                                                                                         \
            BLOCK = OX_LINE / LESS_OF(sizeof(TO), sizeof(TA))                                                          \
        };                                                                                                             \
        STREAMED_OPERAND(TA, x, 1)                                                                                     \
        STREAMED_OPERAND(TO, y, 2)                                                                                     \
        STREAMED_OPERAND(TO, z, 3)                                                                                     \
        STREAM_BLOCKS(TO, ASK(x) ASK(y) ASK(z), (x += next_x, y += next_y, z += next_z), const c_##TA a = x[i];        \
                      const TO b = y[i], c = z[i]; block[i] = (expression))                                            \
        return 0;                                                                                                      \
    }
/* The same by another loop, which fills a block. */
#define STREAM_VECTORS(T, vectors)                                                                                     \
    if (step[0] < 0 && step[1]) {                                                                                      \
        for (int64_t count; n > 0; n -= count, o += count, x += count) {                                               \
            T block[OX_BLOCK] __attribute__((aligned(OX_LINE)));                                                       \
            count = LESS_OF(n, OX_BLOCK);                                                                              \
            vectors(count, block, x, attr);                                                                            \
            ox_stream_lines(o, block, (size_t)count * sizeof(T));                                                      \
        }                                                                                                              \
        return 0;                                                                                                      \
    }
#else
#define STREAM1(TO, TA, expression)
#define STREAM2(TO, TA, TB, expression)
#define STREAM3(TO, TA, expression)
#define STREAM_VECTORS(T, vectors)
#endif

#if OX_SMALL
/* On devices one body serves all kinds of steps. */
#define LANE1(fn, TO, TA, expression)                                                                                  \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        TO *o = (void *)arg[0], *const end = o + (size_t)n;                                                            \
        const TA *x = (const void *)arg[1];                                                                            \
        const size_t dx = step[1] != 0;                                                                                \
        int fault = 0;                                                                                                 \
        (void)attr;                                                                                                    \
        for (; o < end; o++, x += dx) {                                                                                \
            const c_##TA a = *x;                                                                                       \
            *o = (TO)(expression);                                                                                     \
        }                                                                                                              \
        return fault;                                                                                                  \
    }

#define LANE2(fn, TO, TA, TB, expression)                                                                              \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        TO *o = (void *)arg[0], *const end = o + (size_t)n;                                                            \
        const TA *x = (const void *)arg[1];                                                                            \
        const TB *y = (const void *)arg[2];                                                                            \
        const size_t dx = step[1] != 0, dy = step[2] != 0;                                                             \
        int fault = 0;                                                                                                 \
        (void)attr;                                                                                                    \
        for (; o < end; o++, x += dx, y += dy) {                                                                       \
            const c_##TA a = *x;                                                                                       \
            const c_##TB b = *y;                                                                                       \
            *o = (TO)(expression);                                                                                     \
        }                                                                                                              \
        return fault;                                                                                                  \
    }
#else
/* One body per kind of step, so that the compiler sees constant strides. */
#define LANE1(fn, TO, TA, expression)                                                                                  \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        TO *o = (void *)arg[0];                                                                                        \
        const TA *x = (const void *)arg[1];                                                                            \
        int fault = 0;                                                                                                 \
        (void)attr;                                                                                                    \
        STREAM1(TO, TA, expression)                                                                                    \
        if (step[1]) {                                                                                                 \
            FOR_N {                                                                                                    \
                const c_##TA a = x[i];                                                                                 \
                o[i] = (TO)(expression);                                                                               \
            }                                                                                                          \
        } else {                                                                                                       \
            const c_##TA a = x[0];                                                                                     \
            const TO once = (TO)(expression);                                                                          \
            FOR_N o[i] = once;                                                                                         \
        }                                                                                                              \
        return fault;                                                                                                  \
    }

#define LANE2(fn, TO, TA, TB, expression)                                                                              \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        TO *o = (void *)arg[0];                                                                                        \
        const TA *x = (const void *)arg[1];                                                                            \
        const TB *y = (const void *)arg[2];                                                                            \
        int fault = 0;                                                                                                 \
        (void)attr;                                                                                                    \
        STREAM2(TO, TA, TB, expression)                                                                                \
        if (step[1] && step[2]) {                                                                                      \
            FOR_N {                                                                                                    \
                const c_##TA a = x[i];                                                                                 \
                const c_##TB b = y[i];                                                                                 \
                o[i] = (TO)(expression);                                                                               \
            }                                                                                                          \
        } else if (step[1]) {                                                                                          \
            const c_##TB b = y[0];                                                                                     \
            FOR_N {                                                                                                    \
                const c_##TA a = x[i];                                                                                 \
                o[i] = (TO)(expression);                                                                               \
            }                                                                                                          \
        } else if (step[2]) {                                                                                          \
            const c_##TA a = x[0];                                                                                     \
            FOR_N {                                                                                                    \
                const c_##TB b = y[i];                                                                                 \
                o[i] = (TO)(expression);                                                                               \
            }                                                                                                          \
        } else {                                                                                                       \
            const c_##TA a = x[0];                                                                                     \
            const c_##TB b = y[0];                                                                                     \
            const TO once = (TO)(expression);                                                                          \
            FOR_N o[i] = once;                                                                                         \
        }                                                                                                              \
        return fault;                                                                                                  \
    }
#endif

/* ---- Lists of types: each names the loops to expand and the element types that they serve -------------------- */

#define UINT_LOOPS(M, name, e) M(name, u8, e) M(name, u16, e) M(name, u32, e) M(name, u64, e)
#define SINT_LOOPS(M, name, e) M(name, i8, e) M(name, i16, e) M(name, i32, e) M(name, i64, e)
#define FLOAT_LOOPS(M, name, e) M(name, f32, e) M(name, f64, e)

/* An entry of a set: NULL in a build without the type. */
#define ENTRY(dtype, fn) [dtype] = OX_HAS(dtype) ? (fn) : NULL

#define UINT_ROW(name)                                                                                                 \
    ENTRY(OX_UINT8, name##_u8), ENTRY(OX_UINT16, name##_u16), ENTRY(OX_UINT32, name##_u32), ENTRY(OX_UINT64, name##_u64)
#define SINT_ROW(name)                                                                                                 \
    ENTRY(OX_INT8, name##_i8), ENTRY(OX_INT16, name##_i16), ENTRY(OX_INT32, name##_i32), ENTRY(OX_INT64, name##_i64)
#define FLOAT_ROW(name) ENTRY(OX_FLOAT, name##_f32), ENTRY(OX_DOUBLE, name##_f64)
#define WRAP_ROW(name)                                                                                                 \
    UINT_ROW(name), ENTRY(OX_INT8, name##_u8), ENTRY(OX_INT16, name##_u16), ENTRY(OX_INT32, name##_u32),               \
        ENTRY(OX_INT64, name##_u64)

/* Integers of both signs through the unsigned loop: the same bits. */
#define RING_LOOPS(M, name, e) UINT_LOOPS(M, name, e) FLOAT_LOOPS(M, name, e)
#define RING_ROW(name) WRAP_ROW(name), FLOAT_ROW(name)
#define BITS_LOOPS UINT_LOOPS
#define BITS_ROW WRAP_ROW
#define NUM_LOOPS(M, name, e) UINT_LOOPS(M, name, e) SINT_LOOPS(M, name, e) FLOAT_LOOPS(M, name, e)
#define NUM_ROW(name) UINT_ROW(name), SINT_ROW(name), FLOAT_ROW(name)
#define BOOL_LOOPS(M, name, e) M(name, u8, e)
#define BOOL_ROW(name) ENTRY(OX_BOOL, name##_u8)

#define UNARY_(name, T, e) LANE1(name##_##T, T, T, e)
#define BINARY_(name, T, e) LANE2(name##_##T, T, T, T, e)
#define COMPARE_(name, T, e) LANE2(name##_##T, u8, T, T, e)

#define UNARY(name, SET, e) SET##_LOOPS(UNARY_, name, e) const ox_lanes OX_LANES(name) = {.fn = {SET##_ROW(name)}};
#define BINARY(name, SET, e) SET##_LOOPS(BINARY_, name, e) const ox_lanes OX_LANES(name) = {.fn = {SET##_ROW(name)}};
#define COMPARE(name, e) NUM_LOOPS(COMPARE_, name, e) const ox_lanes OX_LANES(name) = {.fn = {NUM_ROW(name)}};

/* Operations that mean something else for each class of types. */
#define UNARY3(name, uint_e, sint_e, float_e)                                                                          \
    UINT_LOOPS(UNARY_, name, uint_e)                                                                                   \
    SINT_LOOPS(UNARY_, name, sint_e)                                                                                   \
    FLOAT_LOOPS(UNARY_, name, float_e) const ox_lanes OX_LANES(name) = {.fn = {NUM_ROW(name)}};
#define BINARY3(name, uint_e, sint_e, float_e)                                                                         \
    UINT_LOOPS(BINARY_, name, uint_e)                                                                                  \
    SINT_LOOPS(BINARY_, name, sint_e)                                                                                  \
    FLOAT_LOOPS(BINARY_, name, float_e) const ox_lanes OX_LANES(name) = {.fn = {NUM_ROW(name)}};

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

#if OX_SMALL
#define MATH_LANE(fn, T, expression) LANE1(fn, T, T, expression)
#else
/* n is a multiple of OX_VECTOR. */
#define MATH_VECTORS(fn, T, expression)                                                                                \
    static void fn##_vectors(int64_t n, T *o, const T *x, const void *attr) {                                          \
        (void)attr;                                                                                                    \
        n &= -(int64_t)OX_VECTOR;                                                                                      \
        FOR_N {                                                                                                        \
            const c_##T a = x[i];                                                                                      \
            o[i] = (T)(expression);                                                                                    \
        }                                                                                                              \
    }

/* A loop out of one over whole vectors, and of how results go past the caches. */
#define MATH_WHOLE(fn, T, streamed)                                                                                    \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        T *o = (void *)arg[0];                                                                                         \
        const T *x = (const void *)arg[1];                                                                             \
        streamed;                                                                                                      \
        int64_t done = step[1] ? n & -(int64_t)OX_VECTOR : 0;                                                          \
        fn##_vectors(done, o, x, attr);                                                                                \
        if (done == n)                                                                                                 \
            return 0;                                                                                                  \
        T in[OX_VECTOR], out[OX_VECTOR];                                                                               \
        for (int k = 0; k < OX_VECTOR; k++)                                                                            \
            in[k] = x[step[1] && done + k < n ? done + k : 0];                                                         \
        fn##_vectors(OX_VECTOR, out, in, attr);                                                                        \
        for (int64_t i = done; i < n; i++)                                                                             \
            o[i] = out[step[1] ? i % OX_VECTOR : 0];                                                                   \
        return 0;                                                                                                      \
    }

#define MATH_LANE(fn, T, expression)                                                                                   \
    MATH_VECTORS(fn, T, expression)                                                                                    \
    MATH_WHOLE(fn, T, STREAM1(T, T, expression))
#endif

#define MATH_(name, T, e) MATH_LANE(name##_##T, T, e)
/* An operation of one floating-point operand that calls math functions. No call may stand behind a condition: such are
 * not made for whole vectors. */
#define MATH_UNARY(name, e)                                                                                            \
    FLOAT_LOOPS(MATH_, name, e) const ox_lanes OX_LANES(name) = {.fn = {FLOAT_ROW(name)}, .slow = true};

/* Long computations go over a block in two loops: a processor looks ahead over some hundred instructions, and what is
 * computed in it has to be several elements, or it waits. */
enum {
    OX_BLOCK = 16 * OX_VECTOR
};

/* The math function for double, the one that ends in f for float. */
#define MATH(fn, x) _Generic((x), float : fn##f, default : fn)(x)

#endif
