/* lanes.h: the loops of elementwise operators. A loop knows a count and pointers, and nothing of ranks. */
#ifndef OX_LOOPS_LANES_H
#define OX_LOOPS_LANES_H

#include "builds.h"
#include "gemm_kernel.h"
#include "integer_loops.h"
#include "moves.h"
#include "reduce_loops.h"
#include "window_loops.h"

enum {
    OX_LANE_ARGS = OX_LANE_INPUTS + 1
};

/* What a loop (ox_lane) returns, besides OX_LANE_FAULT. */
enum {
    OX_FAULT_DIVISOR = 1, /* an integer division by zero */
    OX_FAULT_NUMBER = 2   /* a string that is no number, or none that the type holds */
};

/* Whether elementwise loops take a step[0] below 0: then the result is stored past the caches; it begins at a cache
 * line and has a multiple of OX_LINE elements. An operand with a step below 0 comes from memory, and is
 * prefetched. */
#if defined(__AVX__) && !OX_SMALL
#define OX_LANES_STREAM 1
#else
#define OX_LANES_STREAM 0
#endif

/* The loops of one operation by the type that is computed in; NULL where there is none. */
typedef struct ox_lanes {
    ox_lane *fn[OX_BFLOAT16 + 1]; /* nothing is computed in the types behind it */
    bool slow;                    /* takes far longer than loading and storing */
} ox_lanes;

/* What is built for several kinds of processors (builds.h) is an array with an entry for each; ox_loops.build says
 * which. Who uses one names it, so that a linker can leave out the rest. */
#define OX_BUILD_OF(loops, all) ((all)[(loops)->build])

/* The sets of loops: OX_LANES_Add, ... */
typedef const ox_lanes *const *ox_lane_set;
#define LANE_SET(name) extern const ox_lanes *const OX_LANES_##name[];
#include "lanes.inc"
#undef LANE_SET

/* `lanes` softmaxes, each over n elements that are `step` elements apart: side by side (at most OX_SOFTMAX_LANES), or,
 * where step is 1, one behind the other, any number. The input may be the output. */
enum {
    OX_SOFTMAX_LANES = 128
};
typedef void ox_softmax_fn(int64_t n, int64_t step, int64_t lanes, const void *from, void *to);

/* The loop of Where: condition (bool), x, y of `width` bytes -> condition ? x : y */
typedef ox_lane *ox_where_fn(size_t width);

extern ox_where_fn *const ox_where_builds[];
extern ox_softmax_fn *const ox_softmax_f32_builds[], *const ox_softmax_f64_builds[];
extern ox_gemm_kernel_fn *const ox_gemm_builds[];
extern const ox_integer_loops *const ox_integer_builds[];
extern ox_window_loops_fn *const ox_window_most_builds[], *const ox_window_sums_builds[];
extern ox_norm_loops_fn *const ox_norm_builds[];
extern ox_add_apart_for_fn *const ox_add_apart_builds[];
#if OX_WITH_OWN_OPERATORS
extern ox_add_times_for_fn *const ox_add_times_builds[];
#endif

/* The loops that every kind of operator may need, built for one kind of processor. */
typedef struct ox_loops {
    const char *name;
    ox_build build;
    bool streams; /* OX_LANES_STREAM */
    /* x -> x, of `width` bytes */
    ox_lane *(*copy)(size_t width);
    /* Conversion between types that are computed in (numbers and bool); a copy where the bits stay. NULL in a build
     * without one of the types. Integers wrap; floats truncate, those outside int64 (or NaN) give its minimum. */
    ox_lane *(*cast)(ox_dtype from, ox_dtype to);
    /* To float, for a result that is narrowed to 16 bits or less next: rounds to odd, so that the two roundings are
     * one. */
    ox_lane *(*cast_odd)(ox_dtype from);
    /* attr: an ox_dtype; small floating type -> float */
    ox_lane *widen;
    /* attr: an ox_narrowing; float -> small floating type */
    ox_lane *narrow;
    /* attr: an ox_dtype; int8 or uint8 -> integer of less than a byte */
    ox_lane *wrap;
    /* Strided copies. */
    ox_move_fn *(*move)(size_t width);
    ox_spread_fn *(*spread)(size_t width);
    ox_repeat_fn *repeat_rows;
    ox_transpose_fn *(*transpose)(size_t width);
    ox_copy_fn *copy_bytes, *stream;
    /* Rows of the operands of matrix products. */
    ox_gemm_copy_fn *gemm_copy;
} ox_loops;

/* The kernel of these loops for products of matrices of two types. */
static inline const ox_gemm_kernel *ox_gemm_kernel_of(const ox_loops *loops, ox_dtype a, ox_dtype b) {
    return OX_BUILD_OF(loops, ox_gemm_builds)(a, b);
}

/* The loops of that build (builds.h), or the best ones before it that this processor runs; NULL or an unknown name: the
 * best of all. */
const ox_loops *ox_loops_find(const char *name);

#endif
