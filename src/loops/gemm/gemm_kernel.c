/* gemm_kernel.c: the loops of matrix products, expanded for each type that is computed in. Unlike all others they may
 * round a product and a sum together (the Makefile says so): that is faster, and more precise. */
#include "asserts.h"
#include "half.h"
#include "loops/copy_run.h"
#include "loops/gemm_kernel.h"
#include "loops/simd/intrinsics.h"
#include "loops/lane_loops.h"

#include <string.h>

/* Tiles that leave few registers unused. */
#define GEMM_VECTOR OX_WIDEST
#if defined(__AVX512F__) || defined(__aarch64__)
#define GEMM_VECTORS 4
#else
#define GEMM_VECTORS 2
#endif

#if GEMM_VECTORS == 4
#define EACH_WIDTH(M) M(1) M(2) M(3) M(4)
#define FULL_WIDTH(M) M(4)
#else
#define EACH_WIDTH(M) M(1) M(2)
#define FULL_WIDTH(M) M(2)
#endif

enum {
    GEMM_BAND = 8192, /* bytes of a row of C that stay in the first-level cache */
    GEMM_ROWS = 8,    /* rows of B that are read together, */
    GEMM_DOTS = 4     /* and columns */
};

/* Vectors of C for which a cache line is prefetched. */
#if defined(__aarch64__)
#define GEMM_FETCHED 4
#else
#define GEMM_FETCHED 1
#endif

#if defined(__clang__) && OX_ASSERTIONS /* all that sanitizers look at, in each turn, takes clang minutes */
#define UNROLL
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Where a product and a sum are one instruction, there is nothing between them. But gcc 13 and later takes apart what a
 * loop adds to one vector, for a product and a sum wait less for each other, unless something else sees the sum: then
 * sums of a narrow tile would have other bits than those of a wide one, and so those of two threads than those of one.
 */
#if !defined(__clang__) && __GNUC__ >= 13 && (defined(__FMA__) || defined(__aarch64__))
#define KEEP_REAL OX_ROUND_NOW
#elif defined(__FMA__)
#define KEEP_REAL(sum) (void)(sum)
#else
#define KEEP_REAL OX_KEEP
#endif

/* ---- What finished sums become ------------------------------------------------------------------------------- */

enum {
    FLOATS = OX_WIDEST / (int)sizeof(float)
};
#if OX_UNALIGNED
typedef float loose_floats __attribute__((vector_size(OX_WIDEST), may_alias, aligned(1)));
#else
typedef float loose_floats __attribute__((vector_size(OX_WIDEST), may_alias, aligned(sizeof(float))));
#endif

/* Factors or terms of a vector of columns, and of a row. */
static inline ox_floats of_columns(const ox_f32 *from, int64_t column) {
    return OX_GET(loose_floats, from + column);
}
static inline ox_floats of_row(const ox_f32 *from, int64_t row) {
    return from[row] - (ox_floats){0};
}

/* The sums of a tile: step by step, each for all of them, as few steps are there. The product is rounded before
 * something is added. */
#define EACH_ROW UNROLL for (int i = 0; i < rows; i++)
#define EACH_SUM EACH_ROW UNROLL for (int j = 0; j < vectors; j++)
static inline __attribute__((always_inline)) void scale_sums(const int rows, const int vectors, const bool by_column,
                                                             const ox_f32 *scale, ox_floats sum[][GEMM_VECTORS]) {
    const ox_floats none = {0};
    EACH_ROW {
        const ox_floats row = by_column ? none : of_row(scale, i);
        UNROLL for (int j = 0; j < vectors; j++) {
            sum[i][j] *= by_column ? of_columns(scale, j * FLOATS) : row;
            OX_ROUND_NOW(sum[i][j]);
        }
    }
}
static inline __attribute__((always_inline)) void add_to_sums(const int rows, const int vectors, const bool by_column,
                                                              const ox_f32 *add, ox_floats sum[][GEMM_VECTORS]) {
    const ox_floats none = {0};
    EACH_ROW {
        const ox_floats row = by_column ? none : of_row(add, i);
        UNROLL for (int j = 0; j < vectors; j++) sum[i][j] += by_column ? of_columns(add, j * FLOATS) : row;
    }
}
static inline __attribute__((always_inline)) void finish_sums(const int rows, const int vectors, const ox_finish *f,
                                                              ox_floats sum[][GEMM_VECTORS]) {
    if (f->scale && f->by_column)
        scale_sums(rows, vectors, true, f->scale, sum);
    else if (f->scale)
        scale_sums(rows, vectors, false, f->scale, sum);
    if (f->add && f->by_column)
        add_to_sums(rows, vectors, true, f->add, sum);
    else if (f->add)
        add_to_sums(rows, vectors, false, f->add, sum);
    if (f->plus)
        EACH_SUM sum[i][j] += OX_GET(loose_floats, f->plus + i * f->plus_row + j * OX_WIDEST);
    if (f->low > -INFINITY) {
        const ox_floats low = f->low - (ox_floats){0}, behind = f->behind - (ox_floats){0};
        EACH_SUM sum[i][j] = ox_greater_floats(low, sum[i][j]) + behind;
    }
    if (f->high < INFINITY) {
        const ox_floats high = f->high - (ox_floats){0};
        EACH_SUM sum[i][j] = ox_lesser_floats(high, sum[i][j]);
    }
}

/* The same for a tile that is computed beside C, whose columns are read in whole vectors. */
typedef struct finish_room {
    ox_finish finish;
    float scale[GEMM_VECTORS * FLOATS], add[GEMM_VECTORS * FLOATS];
    float plus[OX_GEMM_TILE_ROWS][GEMM_VECTORS * FLOATS];
} finish_room;
static const ox_finish *finish_beside(const ox_finish *f, int64_t rows, int64_t columns, finish_room *room) {
    const size_t row = (size_t)columns * sizeof(float);
    room->finish = *f;
    if (f->by_column && f->scale)
        room->finish.scale = memcpy(room->scale, f->scale, row);
    if (f->by_column && f->add)
        room->finish.add = memcpy(room->add, f->add, row);
    for (int64_t i = 0; i < rows && f->plus; i++)
        memcpy(room->plus[i], f->plus + i * f->plus_row, row);
    if (f->plus) {
        room->finish.plus = (const char *)room->plus;
        room->finish.plus_row = sizeof *room->plus;
    }
    return &room->finish;
}

/* An ox_gemm_finish_fn. */
static void finish_floats(int64_t rows, int64_t columns, char *c, int64_t c_row, const ox_finish *all) {
    finish_room room;
    for (int64_t i = 0; i < rows; i++, c += c_row)
        for (int64_t j = 0; j < columns; j += FLOATS) {
            const int64_t count = LESS_OF(columns - j, FLOATS);
            char *at = c + j * (int64_t)sizeof(float);
            const ox_finish here = ox_finish_from(all, i, j);
            ox_floats sum[1][GEMM_VECTORS] = {0};
            memcpy(sum, at, (size_t)count * sizeof(float));
            finish_sums(1, 1, count < FLOATS ? finish_beside(&here, 1, count, &room) : &here, sum);
            memcpy(at, sum, (size_t)count * sizeof(float));
        }
}

/* Sums of other types stay what they are. */
#define KEEP_SUMS(...) (void)0

#define GEMM_TYPE f32
#define GEMM_VALUE float
#define GEMM_KEEP KEEP_REAL
#define GEMM_KEEP_ONE KEEP_REAL
#define GEMM_FINISH finish_sums
#define GEMM_WIDTHS EACH_WIDTH
#define GEMM(name) name##_f32
#if defined(__aarch64__)
#include "gemm_neon.h"
#define GEMM_ADD_STEPS add_steps_f32
#elif defined(__wasm_simd128__)
#include "gemm_wasm.h"
#define GEMM_ADD_STEPS add_steps_f32
#endif
#include "gemm_types.inc"
#if defined(__aarch64__)
#include "gemm_woven_neon.h"
#define WOVEN_f32 .weave = ox_gemm_weave, .woven_tile = woven_tile,
#else
#define WOVEN_f32
#endif
#define WOVEN_f64
#define WOVEN_u32
#define WOVEN_u64

#define GEMM_TYPE f64
#define GEMM_VALUE double
#define GEMM_KEEP KEEP_REAL
#define GEMM_KEEP_ONE KEEP_REAL
#define GEMM_FINISH KEEP_SUMS
#define GEMM_WIDTHS EACH_WIDTH
#define GEMM(name) name##_f64
#include "gemm_types.inc"

#define GEMM_TYPE u32
#define GEMM_VALUE uint32_t
#define GEMM_KEEP OX_KEEP
#define GEMM_KEEP_ONE KEEP_SUMS
#define GEMM_FINISH KEEP_SUMS
#define GEMM_WIDTHS FULL_WIDTH
#define GEMM(name) name##_u32
#include "gemm_types.inc"

#define GEMM_TYPE u64
#define GEMM_VALUE uint64_t
#define GEMM_KEEP OX_KEEP
#define GEMM_KEEP_ONE KEEP_SUMS
#define GEMM_FINISH KEEP_SUMS
#define GEMM_WIDTHS FULL_WIDTH
#define GEMM(name) name##_u64
#include "gemm_types.inc"

/* ---- Vectors times 16-bit floats ----------------------------------------------------------------------------- */

/* These are widened as they are loaded, so that no more than their own bytes come from memory. */
#define GEMM_TYPE f32
#define GEMM_VALUE float
#define GEMM_KEEP_ONE KEEP_REAL
#define GEMM(name) name##_f32

static inline float one_half(const char *from) {
    return ox_float_from_half(OX_GET(u16, from));
}
static inline float one_bf16(const char *from) {
    return ox_float_from_bf16(OX_GET(u16, from));
}

/* As ox_float_from_half. */
static inline vector_f32 load_half(const char *from) {
#ifdef OX_HALF_WIDEST
    vector_f32 wide;
    _Static_assert(OX_HALF_WIDEST == lanes_f32, "one conversion fills a vector");
    ox_widen_widest(&wide, from);
    return wide;
#else
    const ox_words bits = ox_load_words(from), magnitude = (bits & 0x7fff) << 13;
    const ox_words scaled = (ox_words)((vector_f32)magnitude * 0x1p112f);
    const ox_words special = (ox_words)((bits & 0x7c00) == 0x7c00);
    return (vector_f32)((bits & 0x8000) << 16 | (special & (magnitude | 0x7f800000)) | (~special & scaled));
#endif
}

static inline vector_f32 load_bf16(const char *from) {
    return (vector_f32)(ox_load_words(from) << 16);
}

#define GEMM_STORED u16
#define GEMM_B(name) name##_half
#define GEMM_LOAD(from) load_half(from)
#define GEMM_ONE(from) one_half(from)
#include "gemm_vector.inc"

#define GEMM_STORED u16
#define GEMM_B(name) name##_bf16
#define GEMM_LOAD(from) load_bf16(from)
#define GEMM_ONE(from) one_bf16(from)
#include "gemm_vector.inc"

/* ---- Kernels ------------------------------------------------------------------------------------------------- */

/* By the type of the operands, and what it is computed in. */
#define KERNEL(stored, dtype, type, finishes)                                                                          \
    static const ox_gemm_kernel kernel_##stored = {                                                                    \
        .a = dtype,                                                                                                    \
        .b = dtype,                                                                                                    \
        .c = dtype,                                                                                                    \
        .rows = OX_GEMM_TILE_ROWS,                                                                                     \
        .columns = columns_##type,                                                                                     \
        .unit = unit_##type,                                                                                           \
        .depth = OX_GEMM_DEPTH,                                                                                        \
        .group = 1,                                                                                                    \
        .a_row = a_row_##type,                                                                                         \
        .tile = tile_##type,                                                                                           \
        WOVEN_##type.row_tile = row_tile_##type,                                                                       \
        .finish = finishes,                                                                                            \
        .row_vector = row_vector_##stored,                                                                             \
        .dots = dots_##stored,                                                                                         \
        .packed_size = ox_gemm_size_of_panels,                                                                         \
        .find_panel = ox_gemm_find_panel,                                                                              \
        .pack_a = ox_gemm_pack_left,                                                                                   \
        .pack_b = ox_gemm_pack_panel,                                                                                  \
    };
KERNEL(f32, OX_FLOAT, f32, finish_floats)
KERNEL(half, OX_FLOAT, f32, finish_floats)
KERNEL(bf16, OX_FLOAT, f32, finish_floats)
KERNEL(f64, OX_DOUBLE, f64, NULL)
KERNEL(u32, OX_UINT32, u32, NULL)
KERNEL(u64, OX_UINT64, u64, NULL)

const ox_gemm_kernel *OX_VARIANT(ox_gemm_kernel_for)(ox_dtype a, ox_dtype b) {
    if (a == OX_FLOAT16)
        return &kernel_half;
    if (a == OX_BFLOAT16)
        return &kernel_bf16;
    switch ((int)ox_dtype_compute(a)) {
    case OX_FLOAT:
        return &kernel_f32;
    case OX_DOUBLE:
        return &kernel_f64;
    case OX_INT32:
    case OX_UINT32:
        return &kernel_u32;
    case OX_INT8:
    case OX_UINT8:
        return OX_VARIANT(ox_gemm_int8_find)(a, b);
    default:
        return &kernel_u64;
    }
}

void OX_VARIANT(ox_gemm_copy)(int64_t rows, size_t bytes, char *to, int64_t to_row, const char *from,
                              int64_t from_row) {
    for (int64_t i = 0; i < rows; i++, to += to_row, from += from_row)
        ox_copy_run(to, from, (int64_t)bytes);
}
