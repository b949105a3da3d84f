/* gemm_neon.h: the sums of a tile of floats by instructions that multiply by one lane of a vector, so that a row of A
 * is loaded once for OX_GEMM_STEPS steps of k. Compilers give each element of A a load and a register of its own.
 *
 * Streams are left to the processor, which fetches what lies behind by itself. */
#ifndef OX_LOOPS_GEMM_NEON_H
#define OX_LOOPS_GEMM_NEON_H

#include <arm_neon.h>

_Static_assert(OX_GEMM_STEPS == 4, "a vector of A has as many floats");

/* ---- The full tile ------------------------------------------------------------------------------------------- */

/* 24 sums, 6 vectors of A and two of B are all registers there are. Compilers load more of B early, and then store and
 * load sums in the loop: this is assembly, and the same for all of them. */
#define ZERO(sum) "movi v" #sum ".4s, #0\n"
#define LOAD_A(to, row) "ldr q" #to ", [%[" #row "]], #16\n"
#define FMLA(sum, b, a, lane) "fmla v" #sum ".4s, v" #b ".4s, v" #a ".s[" #lane "]\n"
#define PAIR(lane, s0, t0, s1, t1, s2, t2, s3, t3, s4, t4, s5, t5)                                                     \
    FMLA(s0, 6, 0, lane)                                                                                               \
    FMLA(s1, 6, 1, lane)                                                                                               \
    FMLA(s2, 6, 2, lane)                                                                                               \
    FMLA(s3, 6, 3, lane)                                                                                               \
    FMLA(s4, 6, 4, lane)                                                                                               \
    FMLA(s5, 6, 5, lane)                                                                                               \
    FMLA(t0, 7, 0, lane)                                                                                               \
    FMLA(t1, 7, 1, lane)                                                                                               \
    FMLA(t2, 7, 2, lane)                                                                                               \
    FMLA(t3, 7, 3, lane)                                                                                               \
    FMLA(t4, 7, 4, lane)                                                                                               \
    FMLA(t5, 7, 5, lane)
#define STEP(lane)                                                                                                     \
    "ld1 {v6.4s, v7.4s}, [%[b]], #32\n" PAIR(                                                                          \
        lane, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28,                                                                \
        29) "ld1 {v6.4s, v7.4s}, [%[b]], %[rest]\n" PAIR(lane, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31)
#define TURN                                                                                                           \
    LOAD_A(0, a0) LOAD_A(1, a1) LOAD_A(2, a2) LOAD_A(3, a3) LOAD_A(4, a4) LOAD_A(5, a5) STEP(0) STEP(1) STEP(2) STEP(3)
#define STORE(first, second, at) "stp q" #first ", q" #second ", [%[sum], #" #at "]\n"

static inline void full_sums(int64_t turns, const char *a, int64_t a_row, const char *b, int64_t b_row,
                             ox_floats sum[OX_GEMM_TILE_ROWS][GEMM_VECTORS]) {
    const char *a0 = a, *a1 = a0 + a_row, *a2 = a1 + a_row, *a3 = a2 + a_row, *a4 = a3 + a_row, *a5 = a4 + a_row;
    typedef ox_floats sums[OX_GEMM_TILE_ROWS][GEMM_VECTORS];
    /* clang-format off */
    __asm__ volatile(
        ZERO(8) ZERO(9) ZERO(10) ZERO(11) ZERO(12) ZERO(13) ZERO(14) ZERO(15)
        ZERO(16) ZERO(17) ZERO(18) ZERO(19) ZERO(20) ZERO(21) ZERO(22) ZERO(23)
        ZERO(24) ZERO(25) ZERO(26) ZERO(27) ZERO(28) ZERO(29) ZERO(30) ZERO(31)
        "cbz %[turns], 3f\n"
        "tbnz %[turns], #0, 2f\n"
        "1:\n" TURN
        "2:\n" TURN
        "subs %[turns], %[turns], #2\n"
        "b.gt 1b\n"
        "3:\n"
        STORE(8, 9, 0) STORE(10, 11, 32) STORE(12, 13, 64) STORE(14, 15, 96)
        STORE(16, 17, 128) STORE(18, 19, 160) STORE(20, 21, 192) STORE(22, 23, 224)
        STORE(24, 25, 256) STORE(26, 27, 288) STORE(28, 29, 320) STORE(30, 31, 352)
        /* clang-format on */
        : [turns] "+r"(turns), [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [a4] "+r"(a4), [a5] "+r"(a5),
          [b] "+r"(b), "=m"(*(sums *)sum)
        : [rest] "r"(b_row - 32), [sum] "r"(sum)
        : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
          "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
          "v30", "v31");
}
#undef ZERO
#undef LOAD_A
#undef FMLA
#undef PAIR
#undef STEP
#undef TURN
#undef STORE

/* ---- Smaller ones -------------------------------------------------------------------------------------------- */

/* sum[rows][vectors] += a[rows][lane] * b[vectors]. */
#define NEON_LANE(lane)                                                                                                \
    UNROLL for (int j = 0; j < vectors; j++) {                                                                         \
        const float32x4_t right = vld1q_f32((const float *)(const void *)b + 4 * j);                                   \
        UNROLL for (int i = 0; i < rows; i++) sum[i][j] =                                                              \
            (ox_floats)vfmaq_laneq_f32((float32x4_t)sum[i][j], right, left[i], lane);                                  \
    }                                                                                                                  \
    b += b_row;

/* Adds the products of OX_GEMM_STEPS k. */
static inline __attribute__((always_inline)) void add_steps(const int rows, const int vectors, const char *a,
                                                            int64_t a_row, const char *b, int64_t b_row,
                                                            ox_floats sum[][GEMM_VECTORS]) {
    float32x4_t left[OX_GEMM_TILE_ROWS];
    UNROLL for (int i = 0; i < rows; i++) left[i] = vld1q_f32((const float *)(const void *)(a + i * a_row));
    NEON_LANE(0)
    NEON_LANE(1)
    NEON_LANE(2)
    NEON_LANE(3)
}
#undef NEON_LANE

/* The sums of a tile, which are zeros before, over all of its k but less than OX_GEMM_STEPS. */
static inline __attribute__((always_inline)) void add_steps_f32(const int rows, const int vectors,
                                                                const ox_gemm_tile *t, ox_floats sum[][GEMM_VECTORS]) {
    const int64_t whole = t->depth & -(int64_t)OX_GEMM_STEPS;
    if (rows == OX_GEMM_TILE_ROWS && vectors == GEMM_VECTORS) {
        ox_floats all[OX_GEMM_TILE_ROWS][GEMM_VECTORS];
        full_sums(whole / OX_GEMM_STEPS, t->a, t->a_row, t->b, t->b_row, all);
        UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < vectors; j++) sum[i][j] = all[i][j];
        return;
    }
    const char *a = t->a, *b = t->b;
    for (int64_t k = 0; k < whole;
         k += OX_GEMM_STEPS, a += OX_GEMM_STEPS * sizeof(float), b += OX_GEMM_STEPS * t->b_row)
        add_steps(rows, vectors, a, t->a_row, b, t->b_row, sum);
}

#endif
