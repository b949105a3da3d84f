/* gemm_int8_neon.h: the sums of a tile of bytes by NEON's instructions: those that add eight products to each sum of a
 * square of two rows and two columns (I8MM), those that add four, times one lane of A (dotprod), and elsewhere products
 * of 16 bits, which are added in pairs. Bytes stay bytes on both sides.
 *
 * Streams are left to the processor, which fetches what lies behind by itself. */
#ifndef OX_LOOPS_GEMM_INT8_NEON_H
#define OX_LOOPS_GEMM_INT8_NEON_H

#include <arm_neon.h>

#include "loops/gemm_kernel.h"
#include "loops/simd/intrinsics.h"

#define UNROLL OX_UNROLLED

/* Keeps compilers from loading more of B early: there are no registers for it. */
#define IN_TURN __asm__ volatile("" : : : "memory")

#if defined(__ARM_FEATURE_MATMUL_INT8)
#define OX_INT8_GROUP 8
#define OX_INT8_VECTORS 4
#define OX_INT8_MIXED 1 /* unsigned bytes times signed ones */
#elif defined(__ARM_FEATURE_DOTPROD)
#define OX_INT8_GROUP 4
#define OX_INT8_VECTORS 4
#else
#define OX_INT8_GROUP 4
#define OX_INT8_VECTORS 2
#endif

/* Sums of rows as they are stored. */
typedef uint32x4_t ox_tile_sums[OX_GEMM_TILE_ROWS][OX_INT8_VECTORS];

static inline uint8x16_t neon_load(const char *from) {
    return vld1q_u8((const uint8_t *)from);
}

#if defined(__ARM_FEATURE_MATMUL_INT8)

/* ---- Squares -------------------------------------------------------------------------------------------------- */

enum {
    PAIRS = OX_GEMM_TILE_ROWS / 2
};

OX_INLINED uint32x4_t add_square(const bool is_signed, uint32x4_t sum, uint8x16_t a, uint8x16_t b) {
    if (is_signed)
        return (uint32x4_t)vmmlaq_s32((int32x4_t)sum, (int8x16_t)a, (int8x16_t)b);
    return (uint32x4_t)vusmmlaq_s32((int32x4_t)sum, a, (int8x16_t)b);
}

/* One group of all rows, by vectors of two columns. */
OX_INLINED void add_squares(const bool is_signed, const int pairs, const int vectors, const uint8x16_t *left,
                            const char *b, uint32x4_t sum[][2 * OX_INT8_VECTORS]) {
    UNROLL for (int j = 0; j < 2 * vectors; j++) {
        const uint8x16_t right = neon_load(b + j * 16);
        UNROLL for (int p = 0; p < pairs; p++) sum[p][j] = add_square(is_signed, sum[p][j], left[p], right);
        IN_TURN;
    }
}

/* The full tile. 24 sums, 3 pairs of rows and 4 vectors of B: compilers load more of B early, and store and load sums
 * in the loop, so that this is assembly, and the same for all of them. */
#define ZERO(sum) "movi v" #sum ".4s, #0\n"
#define LOAD_PAIR(to, first, second) "ldr d" #to ", [%[" #first "]], #8\nld1 {v" #to ".d}[1], [%[" #second "]], #8\n"
#define SQUARES(name, s0, s1, s2, b)                                                                                   \
    name " v" #s0 ".4s, v0.16b, v" #b ".16b\n" name " v" #s1 ".4s, v1.16b, v" #b ".16b\n" name " v" #s2                \
         ".4s, v2.16b, v" #b ".16b\n"
#define TURN(name)                                                                                                     \
    LOAD_PAIR(0, a0, a1)                                                                                               \
    LOAD_PAIR(1, a2, a3)                                                                                               \
    LOAD_PAIR(2, a4, a5)                                                                                               \
    "ld1 {v4.16b, v5.16b, v6.16b, v7.16b}, [%[b]], #64\n" SQUARES(name, 8, 16, 24, 4) SQUARES(name, 9, 17, 25, 5)      \
        SQUARES(name, 10, 18, 26, 6)                                                                                   \
            SQUARES(name, 11, 19, 27, 7) "ld1 {v4.16b, v5.16b, v6.16b, v7.16b}, [%[b]], %[rest]\n" SQUARES(name, 12,   \
                                                                                                           20, 28, 4)  \
                SQUARES(name, 13, 21, 29, 5) SQUARES(name, 14, 22, 30, 6) SQUARES(name, 15, 23, 31, 7)
/* The same of woven rows, whose groups of two rows are a vector. */
#define SQUARES_OF_FOUR(name, s0, t0, u0, s1, t1, u1, s2, t2, u2, s3, t3, u3)                                          \
    SQUARES(name, s0, t0, u0, 4) SQUARES(name, s1, t1, u1, 5) SQUARES(name, s2, t2, u2, 6) SQUARES(name, s3, t3, u3, 7)
#define WOVEN_TURN(name)                                                                                               \
    "ld1 {v0.16b, v1.16b, v2.16b}, [%[a]], #48\n"                                                                      \
    "ld1 {v4.16b, v5.16b, v6.16b, v7.16b}, [%[b]], #64\n" SQUARES_OF_FOUR(                                             \
        name, 8, 16, 24, 9, 17, 25, 10, 18, 26, 11, 19,                                                                \
        27) "ld1 {v4.16b, v5.16b, v6.16b, v7.16b}, [%[b]], %[rest]\n" SQUARES_OF_FOUR(name, 12, 20, 28, 13, 21, 29,    \
                                                                                      14, 22, 30, 15, 23, 31)
/* Two rows: the first, and the second vector of each two sums side by side. */
#define STORE_ROW(zip, s0, s1, s2, s3, s4, s5, s6, s7)                                                                 \
    zip " v0.2d, v" #s0 ".2d, v" #s1 ".2d\n" zip " v1.2d, v" #s2 ".2d, v" #s3 ".2d\n" zip " v2.2d, v" #s4 ".2d, v" #s5 \
        ".2d\n" zip " v3.2d, v" #s6 ".2d, v" #s7                                                                       \
        ".2d\nstp q0, q1, [%[c]]\nstp q2, q3, [%[c], #32]\nadd %[c], %[c], %[c_row]\n"
#define STORE(...) STORE_ROW("zip1", __VA_ARGS__) STORE_ROW("zip2", __VA_ARGS__)
#define FULL_SUMS(name)                                                                                                \
    __asm__ volatile(                                                                                                  \
        ZERO(8) ZERO(9) ZERO(10) ZERO(11) ZERO(12) ZERO(13) ZERO(14) ZERO(15) ZERO(16) ZERO(17) ZERO(18) ZERO(19)      \
            ZERO(20) ZERO(21) ZERO(22) ZERO(23) ZERO(24) ZERO(25) ZERO(26) ZERO(27) ZERO(28) ZERO(29) ZERO(30)         \
                ZERO(31) "tbnz %[turns], #0, 2f\n"                                                                     \
                         "1:\n" TURN(name) "2:\n" TURN(name) "subs %[turns], %[turns], #2\n"                           \
                                                             "b.gt 1b\n" STORE(8, 9, 10, 11, 12, 13, 14, 15)           \
                                                                 STORE(16, 17, 18, 19, 20, 21, 22, 23)                 \
                                                                     STORE(24, 25, 26, 27, 28, 29, 30, 31)             \
        : [turns] "+r"(turns), [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [a4] "+r"(a4),              \
          [a5] "+r"(a5), [b] "+r"(b), [c] "+r"(c)                                                                      \
        : [rest] "r"(OX_INT8_GROUP * t->b_row - 64), [c_row] "r"(c_row)                                                \
        : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",      \
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",     \
          "v29", "v30", "v31")

#define WOVEN_SUMS(name)                                                                                               \
    __asm__ volatile(                                                                                                  \
        ZERO(8) ZERO(9) ZERO(10) ZERO(11) ZERO(12) ZERO(13) ZERO(14) ZERO(15) ZERO(16) ZERO(17) ZERO(18) ZERO(19)      \
            ZERO(20) ZERO(21) ZERO(22) ZERO(23) ZERO(24) ZERO(25) ZERO(26) ZERO(27) ZERO(28) ZERO(29) ZERO(30)         \
                ZERO(31) "cbz %[odd], 2f\n"                                                                            \
                         "1:\n" WOVEN_TURN(name) "subs %[odd], %[odd], #1\n"                                           \
                                                 "b.ne 1b\n"                                                           \
                                                 "2:\n"                                                                \
                                                 "cbz %[turns], 4f\n"                                                  \
                                                 "3:\n" WOVEN_TURN(name) WOVEN_TURN(name) WOVEN_TURN(name)             \
                                                     WOVEN_TURN(name) "subs %[turns], %[turns], #1\n"                  \
                                                                      "b.ne 3b\n"                                      \
                                                                      "4:\n" STORE(8, 9, 10, 11, 12, 13, 14, 15)       \
                                                                          STORE(16, 17, 18, 19, 20, 21, 22, 23)        \
                                                                              STORE(24, 25, 26, 27, 28, 29, 30, 31)    \
        : [turns] "+r"(turns), [odd] "+r"(odd), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c)                                  \
        : [rest] "r"(OX_INT8_GROUP * t->b_row - 64), [c_row] "r"(c_row)                                                \
        : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",      \
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",     \
          "v29", "v30", "v31")

OX_INLINED void woven_full_tile(const bool is_signed, const ox_gemm_tile *t, char *c, int64_t c_row) {
    const char *a = t->a, *b = t->b;
    const uint64_t groups = (uint64_t)(t->depth + OX_INT8_GROUP - 1) / OX_INT8_GROUP;
    uint64_t turns = groups / 4, odd = groups % 4;
    if (is_signed)
        WOVEN_SUMS("smmla");
    else
        WOVEN_SUMS("usmmla");
}

OX_INLINED void full_tile(const bool is_signed, const int rows, const ox_gemm_tile *t, char *c, int64_t c_row) {
    const int64_t a_row = t->a_row;
    const char *a0 = t->a, *a1 = a0 + a_row, *a2 = a1 + a_row, *a3 = a2 + a_row, *a4 = a3 + a_row,
               *a5 = rows > 5 ? a4 + a_row : a4;
    const char *b = t->b;
    int64_t turns = (t->depth + OX_INT8_GROUP - 1) / OX_INT8_GROUP;
    if (is_signed)
        FULL_SUMS("smmla");
    else
        FULL_SUMS("usmmla");
}
#undef ZERO
#undef LOAD_PAIR
#undef SQUARES
#undef SQUARES_OF_FOUR
#undef WOVEN_TURN
#undef WOVEN_SUMS
#undef TURN
#undef STORE
#undef STORE_ROW
#undef FULL_SUMS

OX_INLINED void leave_squares(const int rows, const int vectors, uint32x4_t sum[][2 * OX_INT8_VECTORS],
                              ox_tile_sums to) {
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < vectors; j++) {
        const uint64x2_t first = (uint64x2_t)sum[i / 2][2 * j], second = (uint64x2_t)sum[i / 2][2 * j + 1];
        to[i][j] = (uint32x4_t)(i % 2 ? vzip2q_u64(first, second) : vzip1q_u64(first, second));
    }
}

/* Rows beyond the last repeat it; their sums are never stored. */
OX_INLINED void tile_sums(const bool is_signed, const int rows, const int vectors, const ox_gemm_tile *t,
                          ox_tile_sums to) {
    const int pairs = (rows + 1) / 2;
    const int64_t b_step = OX_INT8_GROUP * t->b_row, a_row = t->a_row, depth = t->depth;
    const char *b = t->b, *start = t->a;
    uint32x4_t sum[PAIRS][2 * OX_INT8_VECTORS];
    uint8x16_t left[PAIRS], next[PAIRS];
    int64_t k = 0;
    if (pairs == PAIRS && vectors == OX_INT8_VECTORS && depth > 0) {
        full_tile(is_signed, rows, t, (char *)to, sizeof *to);
        return;
    }
    UNROLL for (int i = 0; i < pairs * 2 * vectors; i++) sum[i / (2 * vectors)][i % (2 * vectors)] = vdupq_n_u32(0);
    for (; k + OX_INT8_GROUP < depth; k += 2 * OX_INT8_GROUP, b += 2 * b_step) {
        UNROLL for (int p = 0; p < pairs; p++) {
            const char *a = start + k + 2 * p * a_row;
            const uint64x2_t first = (uint64x2_t)neon_load(a),
                             second = 2 * p + 1 < rows ? (uint64x2_t)neon_load(a + a_row) : first;
            left[p] = (uint8x16_t)vzip1q_u64(first, second), next[p] = (uint8x16_t)vzip2q_u64(first, second);
        }
        add_squares(is_signed, pairs, vectors, left, b, sum);
        add_squares(is_signed, pairs, vectors, next, b + b_step, sum);
    }
    if (k < depth) {
        UNROLL for (int p = 0; p < pairs; p++) {
            const uint8_t *a = (const uint8_t *)start + k + 2 * p * a_row;
            left[p] = vcombine_u8(vld1_u8(a), vld1_u8(2 * p + 1 < rows ? a + a_row : a));
        }
        add_squares(is_signed, pairs, vectors, left, b, sum);
    }
    leave_squares(rows, vectors, sum, to);
}

/* The same of woven rows. */
OX_INLINED void woven_sums(const bool is_signed, const int rows, const int vectors, const ox_gemm_tile *t,
                           ox_tile_sums to) {
    const char *a = t->a, *b = t->b;
    uint32x4_t sum[PAIRS][2 * OX_INT8_VECTORS];
    if (vectors == OX_INT8_VECTORS) {
        woven_full_tile(is_signed, t, (char *)to, sizeof *to);
        return;
    }
    UNROLL for (int i = 0; i < PAIRS * 2 * vectors; i++) sum[i / (2 * vectors)][i % (2 * vectors)] = vdupq_n_u32(0);
    for (int64_t left = t->depth; left > 0; left -= OX_INT8_GROUP, a += 16 * PAIRS, b += OX_INT8_GROUP * t->b_row) {
        uint8x16_t pairs[PAIRS];
        UNROLL for (int p = 0; p < PAIRS; p++) pairs[p] = neon_load(a + 16 * p);
        add_squares(is_signed, PAIRS, vectors, pairs, b, sum);
    }
    leave_squares(rows, vectors, sum, to);
}

#elif defined(__ARM_FEATURE_DOTPROD)

/* ---- Lanes ---------------------------------------------------------------------------------------------------- */

/* sum[rows][vectors] += a[rows][lane] * b[vectors], of four products each. */
#define NEON_LANE(lane)                                                                                                \
    UNROLL for (int j = 0; j < vectors; j++) {                                                                         \
        const uint8x16_t right = neon_load(b + j * 16);                                                                \
        UNROLL for (int i = 0; i < rows; i++) to[i][j] =                                                               \
            is_signed ? (uint32x4_t)vdotq_laneq_s32((int32x4_t)to[i][j], (int8x16_t)right, (int8x16_t)left[i], lane)   \
                      : vdotq_laneq_u32(to[i][j], right, left[i], lane);                                               \
        IN_TURN;                                                                                                       \
    }                                                                                                                  \
    b += b_step;

OX_INLINED void tile_sums(const bool is_signed, const int rows, const int vectors, const ox_gemm_tile *t,
                          ox_tile_sums to) {
    const int64_t b_step = OX_INT8_GROUP * t->b_row, a_row = t->a_row, depth = t->depth;
    const char *b = t->b, *a = t->a;
    uint8x16_t left[OX_GEMM_TILE_ROWS];
    int64_t k = 0;
    UNROLL for (int i = 0; i < rows * vectors; i++) to[i / vectors][i % vectors] = vdupq_n_u32(0);
    for (; k + 3 * OX_INT8_GROUP < depth; k += 4 * OX_INT8_GROUP) {
        UNROLL for (int i = 0; i < rows; i++) left[i] = neon_load(a + k + i * a_row);
        NEON_LANE(0)
        NEON_LANE(1)
        NEON_LANE(2)
        NEON_LANE(3)
    }
    for (; k < depth; k += OX_INT8_GROUP) {
        UNROLL for (int i = 0; i < rows; i++) left[i] =
            (uint8x16_t)vld1q_dup_u32((const uint32_t *)(const void *)(a + k + i * a_row));
        NEON_LANE(0)
    }
}
#undef NEON_LANE

#else

/* ---- Pairs ----------------------------------------------------------------------------------------------------- */

/* Two sums of each of two columns += products of four bytes of a row, by two of 16 bits. */
OX_INLINED uint32x4_t add_pairs(const bool is_signed, uint32x4_t sum, uint8x8_t a, uint8x8_t b) {
    if (is_signed)
        return (uint32x4_t)vpadalq_s16((int32x4_t)sum, vmull_s8((int8x8_t)a, (int8x8_t)b));
    return vpadalq_u16(sum, vmull_u8(a, b));
}
OX_INLINED uint32x4_t add_high_pairs(const bool is_signed, uint32x4_t sum, uint8x16_t a, uint8x16_t b) {
    if (is_signed)
        return (uint32x4_t)vpadalq_s16((int32x4_t)sum, vmull_high_s8((int8x16_t)a, (int8x16_t)b));
    return vpadalq_u16(sum, vmull_high_u8(a, b));
}

OX_INLINED void tile_sums(const bool is_signed, const int rows, const int vectors, const ox_gemm_tile *t,
                          ox_tile_sums to) {
    const int64_t b_step = OX_INT8_GROUP * t->b_row, a_row = t->a_row, depth = t->depth;
    const char *b = t->b, *a = t->a;
    uint32x4_t low[OX_GEMM_TILE_ROWS][OX_INT8_VECTORS], high[OX_GEMM_TILE_ROWS][OX_INT8_VECTORS];
    UNROLL for (int i = 0; i < rows * vectors; i++) low[i / vectors][i % vectors] = high[i / vectors][i % vectors] =
        vdupq_n_u32(0);
    for (int64_t k = 0; k < depth; k += OX_INT8_GROUP, b += b_step) {
        uint8x16_t right[OX_INT8_VECTORS];
        UNROLL for (int j = 0; j < vectors; j++) right[j] = neon_load(b + j * 16);
        UNROLL for (int i = 0; i < rows; i++) {
            const uint8x16_t left = (uint8x16_t)vld1q_dup_u32((const uint32_t *)(const void *)(a + k + i * a_row));
            UNROLL for (int j = 0; j < vectors; j++) {
                low[i][j] = add_pairs(is_signed, low[i][j], vget_low_u8(left), vget_low_u8(right[j]));
                high[i][j] = add_high_pairs(is_signed, high[i][j], left, right[j]);
            }
            IN_TURN;
        }
    }
    UNROLL for (int i = 0; i < rows * vectors; i++) to[i / vectors][i % vectors] =
        vpaddq_u32(low[i / vectors][i % vectors], high[i / vectors][i % vectors]);
}
#endif

/* ---- Tiles and panels ------------------------------------------------------------------------------------------- */

OX_INLINED void neon_store(const int rows, const int vectors, const ox_gemm_tile *t, ox_tile_sums sum) {
    uint8_t *const c = (uint8_t *)t->c;
    const int64_t c_row = t->c_row;
    if (t->add)
        UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < vectors; j++) sum[i][j] =
            vaddq_u32(sum[i][j], (uint32x4_t)vld1q_u8(c + i * c_row + j * 16));
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < vectors; j++)
        vst1q_u8(c + i * c_row + j * 16, (uint8x16_t)sum[i][j]);
}

OX_INLINED void neon_multiply(const bool is_signed, const int rows, const int vectors, const ox_gemm_tile *t) {
    ox_tile_sums sum;
#ifdef OX_INT8_MIXED
    if (rows == OX_GEMM_TILE_ROWS && vectors == OX_INT8_VECTORS && t->depth > 0 && !t->add) {
        full_tile(is_signed, rows, t, t->c, t->c_row);
        return;
    }
#endif
    tile_sums(is_signed, rows, vectors, t, sum);
    neon_store(rows, vectors, t, sum);
}

#ifdef OX_INT8_MIXED
OX_INLINED void neon_multiply_woven(const bool is_signed, const int rows, const int vectors, const ox_gemm_tile *t) {
    ox_tile_sums sum;
    if (rows == OX_GEMM_TILE_ROWS && vectors == OX_INT8_VECTORS && !t->add) {
        woven_full_tile(is_signed, t, t->c, t->c_row);
        return;
    }
    woven_sums(is_signed, rows, vectors, t, sum);
    neon_store(rows, vectors, t, sum);
}
#endif

/* OX_WOVEN columns of a group of rows side by side, with bits of each byte turned. */
#define OX_WOVEN 16
OX_INLINED void neon_weave(const uint8_t *const *at, int64_t column, uint8_t flip, void *to) {
    const uint8x16_t flips = vdupq_n_u8(flip);
#if OX_INT8_GROUP == 8
    uint16x8x4_t low, high;
    UNROLL for (int r = 0; r < 4; r++) {
        const uint8x16_t first = veorq_u8(vld1q_u8(at[2 * r] + column), flips),
                         second = veorq_u8(vld1q_u8(at[2 * r + 1] + column), flips);
        low.val[r] = (uint16x8_t)vzip1q_u8(first, second), high.val[r] = (uint16x8_t)vzip2q_u8(first, second);
    }
    vst4q_u16(to, low);
    vst4q_u16((uint16_t *)to + 32, high);
#else
    uint8x16x4_t rows;
    UNROLL for (int r = 0; r < 4; r++) rows.val[r] = veorq_u8(vld1q_u8(at[r] + column), flips);
    vst4q_u8(to, rows);
#endif
}

#undef UNROLL
#undef IN_TURN

#endif
