/* gemm_woven_neon.h: tiles of floats whose rows of A are woven (gemm_kernel.h), by instructions that multiply by one
 * lane of a vector: two k of all rows are three vectors, which one instruction loads. That leaves four registers for B,
 * so that one more loads all columns of a k. */
#ifndef OX_LOOPS_GEMM_WOVEN_NEON_H
#define OX_LOOPS_GEMM_WOVEN_NEON_H

enum {
    WOVEN_STEPS = OX_GEMM_WOVEN / (int)sizeof(float),     /* k that lie together */
    WOVEN_BYTES = OX_GEMM_WOVEN * OX_GEMM_TILE_ROWS,      /* of all rows */
    WOVEN_VECTORS = WOVEN_BYTES / (int)sizeof(ox_floats), /* which lie there in pairs */
    WOVEN_TURN = 8                                        /* times so many k in a turn of the loop */
};

/* ---- Full tiles ---------------------------------------------------------------------------------------------- */

/* clang-format off */

/* 24 sums, three vectors of A and four of B: compilers load more of B early, and then store and load sums in the loop,
 * so that this is assembly, and the same for all of them. Five rows leave the last sums alone. */
#define ZERO(sum) "movi v" #sum ".4s, #0\n"
#define FMLA(sum, b, a, lane) "fmla v" #sum ".4s, v" #b ".4s, v" #a ".s[" #lane "]\n"
#define ROW(s0, s1, s2, s3, a, lane) FMLA(s0, 4, a, lane) FMLA(s1, 5, a, lane) FMLA(s2, 6, a, lane) FMLA(s3, 7, a, lane)
#define LAST_5(lane)
#define LAST_6(lane) ROW(28, 29, 30, 31, 2, lane)
#define STEP(last, even, odd)                                                                                          \
    "ld1 {v4.4s, v5.4s, v6.4s, v7.4s}, [%[b]], %[b_row]\n" ROW(8, 9, 10, 11, 0, even) ROW(12, 13, 14, 15, 0, odd)      \
        ROW(16, 17, 18, 19, 1, even) ROW(20, 21, 22, 23, 1, odd) ROW(24, 25, 26, 27, 2, even) last(odd)
#define STEPS(last) "ld1 {v0.4s, v1.4s, v2.4s}, [%[a]], #48\n" STEP(last, 0, 2) STEP(last, 1, 3)
#define ADD(s0, s1) "fadd v" #s0 ".4s, v" #s0 ".4s, v0.4s\nfadd v" #s1 ".4s, v" #s1 ".4s, v1.4s\n"
#define ADD_ROW(s0, s1, s2, s3)                                                                                        \
    "ldp q0, q1, [%[b]]\n" ADD(s0, s1) "ldp q0, q1, [%[b], #32]\n" ADD(s2, s3) "add %[b], %[b], %[c_row]\n"
#define STORE_ROW(s0, s1, s2, s3)                                                                                      \
    "stp q" #s0 ", q" #s1 ", [%[c]]\nstp q" #s2 ", q" #s3 ", [%[c], #32]\nadd %[c], %[c], %[c_row]\n"
#define EACH_ROW_5(M) M(8, 9, 10, 11) M(12, 13, 14, 15) M(16, 17, 18, 19) M(20, 21, 22, 23) M(24, 25, 26, 27)
#define EACH_ROW_6(M) EACH_ROW_5(M) M(28, 29, 30, 31)
#define ZERO_ROW(s0, s1, s2, s3) ZERO(s0) ZERO(s1) ZERO(s2) ZERO(s3)
#define SUMS(rows, steps)                                                                                              \
    __asm__ volatile(                                                                                                  \
        EACH_ROW_##rows(ZERO_ROW)                                                                                      \
        "cbz %[rest], 2f\n"                                                                                            \
        "1:\n" steps                                                                                                   \
        "subs %[rest], %[rest], #1\n"                                                                                  \
        "b.ne 1b\n"                                                                                                    \
        "2:\n"                                                                                                         \
        "cbz %[turns], 4f\n"                                                                                           \
        "3:\n" steps steps steps steps steps steps steps steps                                                         \
        "subs %[turns], %[turns], #1\n"                                                                                \
        "b.ne 3b\n"                                                                                                    \
        "4:\n"                                                                                                         \
        "cbz %[add], 5f\n"                                                                                             \
        "mov %[b], %[c]\n" EACH_ROW_##rows(ADD_ROW)                                                                    \
        "5:\n" EACH_ROW_##rows(STORE_ROW)                                                                              \
        : [turns] "+r"(turns), [rest] "+r"(rest), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c)                                \
        : [b_row] "r"(t->b_row), [c_row] "r"(c_row), [add] "r"((int64_t)add)                                           \
        : "cc", "memory", "v0", "v1", "v2", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",     \
          "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",     \
          "v30", "v31")

/* The sums over all k but an odd last one, or += if `add`. */
#define FULL_SUMS(rows, steps)                                                                                         \
    static __attribute__((noinline)) void full_woven_sums_##rows(const ox_gemm_tile *t, char *c, int64_t c_row,        \
                                                                 bool add) {                                           \
        const char *a = t->a, *b = t->b;                                                                               \
        const uint64_t all = (uint64_t)t->depth / WOVEN_STEPS;                                                         \
        uint64_t turns = all / WOVEN_TURN, rest = all % WOVEN_TURN;                                                    \
        SUMS(rows, steps);                                                                                             \
    }
FULL_SUMS(5, STEPS(LAST_5))
FULL_SUMS(6, STEPS(LAST_6))
#undef FULL_SUMS
/* clang-format on */
#undef ZERO
#undef FMLA
#undef ROW
#undef LAST_5
#undef LAST_6
#undef STEP
#undef STEPS
#undef ADD
#undef ADD_ROW
#undef STORE_ROW
#undef EACH_ROW_5
#undef EACH_ROW_6
#undef ZERO_ROW
#undef SUMS

/* ---- Others -------------------------------------------------------------------------------------------------- */

/* The same sums of fewer columns. */
OX_INLINED void woven_sums(const int rows, const int vectors, const ox_gemm_tile *t, vector_f32 sum[][GEMM_VECTORS]) {
    const char *a = t->a, *b = t->b;
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < vectors; j++) sum[i][j] = (vector_f32){0};
    for (int64_t left = t->depth; left >= WOVEN_STEPS; left -= WOVEN_STEPS, a += WOVEN_BYTES) {
        float32x4_t pairs[WOVEN_VECTORS];
        UNROLL for (int p = 0; p < WOVEN_VECTORS; p++) pairs[p] = vld1q_f32((const float *)(const void *)a + 4 * p);
        UNROLL for (int j = 0; j < vectors; j++) {
            const float32x4_t right = vld1q_f32((const float *)(const void *)b + 4 * j);
            UNROLL for (int i = 0; i < rows; i += 2) sum[i][j] =
                (vector_f32)vfmaq_laneq_f32((float32x4_t)sum[i][j], right, pairs[i / 2], 0);
            UNROLL for (int i = 1; i < rows; i += 2) sum[i][j] =
                (vector_f32)vfmaq_laneq_f32((float32x4_t)sum[i][j], right, pairs[i / 2], 2);
        }
        b += t->b_row;
        UNROLL for (int j = 0; j < vectors; j++) {
            const float32x4_t right = vld1q_f32((const float *)(const void *)b + 4 * j);
            UNROLL for (int i = 0; i < rows; i += 2) sum[i][j] =
                (vector_f32)vfmaq_laneq_f32((float32x4_t)sum[i][j], right, pairs[i / 2], 1);
            UNROLL for (int i = 1; i < rows; i += 2) sum[i][j] =
                (vector_f32)vfmaq_laneq_f32((float32x4_t)sum[i][j], right, pairs[i / 2], 3);
        }
        b += t->b_row;
    }
}

OX_INLINED void woven_tile_of(const int rows, const int vectors, const ox_gemm_tile *t) {
    const int64_t steps = (int64_t)((uint64_t)t->depth / WOVEN_STEPS);
    const bool is_odd = (uint64_t)t->depth % WOVEN_STEPS;
    UNROLL for (int i = 0; i < rows; i++) __builtin_prefetch(t->c + i * t->c_row, 1);
    void (*const full)(const ox_gemm_tile *, char *, int64_t, bool) =
        rows == OX_GEMM_TILE_ROWS ? full_woven_sums_6 : full_woven_sums_5;
    if (vectors == GEMM_VECTORS && !is_odd && !t->finish) {
        full(t, t->c, t->c_row, t->add);
        return;
    }
    vector_f32 sum[OX_GEMM_TILE_ROWS][GEMM_VECTORS];
    if (vectors == GEMM_VECTORS) {
        vector_f32 all[OX_GEMM_TILE_ROWS][GEMM_VECTORS];
        full(t, (char *)all, sizeof *all, false);
        UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < vectors; j++) sum[i][j] = all[i][j];
    } else {
        woven_sums(rows, vectors, t, sum);
    }
    if (is_odd)
        add_k_f32(rows, vectors, t->a + steps * WOVEN_BYTES, OX_GEMM_WOVEN, t->b + steps * WOVEN_STEPS * t->b_row, sum);
    leave_f32(rows, vectors, t, sum);
}

#define WOVEN_TILE(rows, vectors)                                                                                      \
    static void woven_tile_##rows##_##vectors(const ox_gemm_tile *t) {                                                 \
        woven_tile_of(rows, vectors, t);                                                                               \
    }
#define WOVEN_TILES(vectors) WOVEN_TILE(5, vectors) WOVEN_TILE(6, vectors)
#define WOVEN_NAMES(vectors) {woven_tile_5_##vectors, woven_tile_6_##vectors},
EACH_WIDTH(WOVEN_TILES)

/* Kept out of what has whole vectors. */
static __attribute__((noinline)) void woven_edge(const ox_gemm_tile *t, ox_gemm_tile_fn *tile) {
    run_tile_f32(t, tile);
}

/* An ox_gemm_tile_fn. */
static void woven_tile(const ox_gemm_tile *t) {
    static ox_gemm_tile_fn *const tiles[][OX_GEMM_TILE_ROWS - OX_GEMM_WOVEN_ROWS + 1] = {EACH_WIDTH(WOVEN_NAMES)};
    OX_ASSERT(t->rows >= OX_GEMM_WOVEN_ROWS && t->rows <= OX_GEMM_TILE_ROWS && t->depth >= 0);
    OX_ASSERT(t->columns >= 1 && t->columns <= columns_f32);
    const uint64_t columns = (uint64_t)t->columns;
    ox_gemm_tile_fn *tile = tiles[(columns - 1) / unit_f32][t->rows - OX_GEMM_WOVEN_ROWS];
    if (columns % unit_f32)
        woven_edge(t, tile);
    else
        tile(t);
}
#undef WOVEN_TILE
#undef WOVEN_TILES
#undef WOVEN_NAMES

#endif
