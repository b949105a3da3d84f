/* gemm_amx.h: products of bytes by the matrix registers of AMX, each of which holds 16 rows of 64 bytes. They read
 * blocks of A and panels of B as the tiles of gemm_int8.c do, whose layout is theirs. */
#ifndef OX_LOOPS_GEMM_AMX_H
#define OX_LOOPS_GEMM_AMX_H

#include "loops/gemm_kernel.h"
#include "loops/simd/x86.h"

/* Compilers that know the instructions. */
#if defined(OX_RUNS_AMX) && (defined(__clang__) || __GNUC__ >= 11)
#define OX_AMX 1
#include "loops/simd/simd_x86_header.h"

enum {
    OX_AMX_ROWS = 16,
    OX_AMX_LANES = 16,  /* sums, or words of B, in a row */
    OX_AMX_GROUPS = 16, /* words of A in a row */
    OX_AMX_FEWEST = 8   /* rows, and words of a row, that are worth it */
};

/* Sums of 32 rows and columns; two blocks of A, and two panels of B. */
#define OX_AMX_SUMS(M) M(0, 0, 0) M(1, 0, 1) M(2, 1, 0) M(3, 1, 1)

typedef struct ox_amx_shapes {
    uint8_t palette, start, unused[14];
    uint16_t bytes[16]; /* of a row of each register, */
    uint8_t rows[16];   /* and its rows */
} ox_amx_shapes;

/* So many rows of A, at most 32, and groups of a row of A: at most OX_AMX_GROUPS. What the compiler keeps in registers
 * of its own must be in memory before the instruction reads it. */
__attribute__((target("amx-tile"))) static inline void ox_amx_begin(int64_t rows, int64_t groups) {
    const uint8_t first = (uint8_t)(rows > OX_AMX_ROWS ? (rows + 1) / 2 : rows), second = (uint8_t)(rows - first);
    const uint8_t high[8] = {first, first, second, second, first, second, (uint8_t)groups, (uint8_t)groups};
    ox_amx_shapes shapes = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        shapes.bytes[i] = (uint16_t)(high[i] ? i == 4 || i == 5 ? groups * 4 : 64 : 0);
        shapes.rows[i] = high[i];
    }
    __asm__ volatile("" : : "r"(&shapes) : "memory");
    _tile_loadconfig(&shapes);
}

#define OX_AMX_LOAD(number, a, b)                                                                                      \
    if ((!(a) || two_rows) && (!(b) || two_columns))                                                                   \
        _tile_loadd(number, c + (a)*below * c_row + (b)*64, (size_t)c_row);
#define OX_AMX_ZERO(number, a, b)                                                                                      \
    if ((!(a) || two_rows) && (!(b) || two_columns))                                                                   \
        _tile_zero(number);
#define OX_AMX_STORE(number, a, b)                                                                                     \
    if ((!(a) || two_rows) && (!(b) || two_columns))                                                                   \
        _tile_stored(number, c + (a)*below * c_row + (b)*64, (size_t)c_row);

/* Sums of up to 32 columns, from the first on, over steps of so many groups. */
__attribute__((target("amx-tile,amx-int8"), always_inline)) static inline void
ox_amx_columns(const bool is_signed, const bool two_rows, const bool two_columns, const ox_gemm_tile *t, int64_t groups,
               int64_t steps, const char *b, char *c) {
    const int64_t below = (t->rows + 1) / 2, c_row = t->c_row, b_row = 4 * t->b_row;
    const char *a = t->a, *a_below = t->a + below * t->a_row;
    if (t->add) {
        OX_AMX_SUMS(OX_AMX_LOAD)
    } else {
        OX_AMX_SUMS(OX_AMX_ZERO)
    }
    for (int64_t i = 0; i < steps; i++, a += groups * 4, a_below += groups * 4, b += groups * b_row) {
        _tile_loadd(4, a, (size_t)t->a_row);
        _tile_loadd(6, b, (size_t)b_row);
        if (two_rows)
            _tile_loadd(5, a_below, (size_t)t->a_row);
        if (two_columns)
            _tile_loadd(7, b + 64, (size_t)b_row);
#define OX_AMX_MULTIPLY(number, left, right)                                                                           \
    if ((!(left) || two_rows) && (!(right) || two_columns)) {                                                          \
        if (is_signed)                                                                                                 \
            OX_AMX_DOT(_tile_dpbsud, number, left, right);                                                             \
        else                                                                                                           \
            OX_AMX_DOT(_tile_dpbusd, number, left, right);                                                             \
    }
#define OX_AMX_DOT(dot, number, left, right) OX_AMX_DOT_(dot, number, left, right)
#define OX_AMX_DOT_(dot, number, left, right) dot(number, OX_AMX_LEFT_##left, OX_AMX_RIGHT_##right)
#define OX_AMX_LEFT_0 4
#define OX_AMX_LEFT_1 5
#define OX_AMX_RIGHT_0 6
#define OX_AMX_RIGHT_1 7
        OX_AMX_SUMS(OX_AMX_MULTIPLY)
    }
    OX_AMX_SUMS(OX_AMX_STORE)
}

/* The product of a tile whose columns are whole vectors, over steps of so many groups of k. */
__attribute__((target("amx-tile,amx-int8"))) static inline void
ox_amx_multiply(const bool is_signed, const ox_gemm_tile *t, int64_t groups, int64_t steps) {
    ox_amx_begin(t->rows, groups);
    __asm__ volatile("" : : : "memory");
    for (int64_t j = 0; j < t->columns; j += 2 * OX_AMX_LANES) {
        const char *b = t->b + j * 4;
        char *c = t->c + j * 4;
        const bool two_rows = t->rows > OX_AMX_ROWS, two_columns = t->columns - j > OX_AMX_LANES;
        if (two_rows && two_columns)
            ox_amx_columns(is_signed, true, true, t, groups, steps, b, c);
        else if (two_rows)
            ox_amx_columns(is_signed, true, false, t, groups, steps, b, c);
        else if (two_columns)
            ox_amx_columns(is_signed, false, true, t, groups, steps, b, c);
        else
            ox_amx_columns(is_signed, false, false, t, groups, steps, b, c);
    }
    __asm__ volatile("" : : : "memory");
    _tile_release();
}

/* Groups of a step, by which as few as possible are left over. */
static inline int64_t ox_amx_step(int64_t groups) {
    int64_t best = groups < OX_AMX_GROUPS ? groups : OX_AMX_GROUPS;
    for (int64_t some = best; groups > OX_AMX_GROUPS && some >= OX_AMX_GROUPS / 2; some--)
        best = groups % some < groups % best ? some : best;
    return best;
}
#endif

#endif
