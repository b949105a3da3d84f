/* gemm_wasm.h: the sums of a tile of floats in WebAssembly, whose addresses have 32 bits: with strides of 64, each load
 * would need an instruction that cuts one off. Engines give loops that are not unrolled fewer registers to spill. */
#ifndef OX_LOOPS_GEMM_WASM_H
#define OX_LOOPS_GEMM_WASM_H

/* The sums of a tile, which are zeros before, over all of its k but less than OX_GEMM_STEPS. They are in variables of
 * their own here: those that other functions see would be stored for each k. */
static inline __attribute__((always_inline)) void add_steps_f32(const int rows, const int vectors,
                                                                const ox_gemm_tile *t, ox_floats sum[][GEMM_VECTORS]) {
    const char *a = t->a, *b = t->b, *const end = a + (t->depth & -(int64_t)OX_GEMM_STEPS) * (int64_t)sizeof(float);
    const int a_row = (int)t->a_row, b_row = (int)t->b_row;
    v128_t own[OX_GEMM_TILE_ROWS][GEMM_VECTORS];
    UNROLL for (int i = 0; i < rows * vectors; i++) own[i / vectors][i % vectors] = wasm_f32x4_const_splat(0);
    _Pragma("clang loop unroll(disable)") for (; a < end; a += sizeof(float), b += b_row) {
        v128_t right[GEMM_VECTORS];
        UNROLL for (int j = 0; j < vectors; j++) right[j] = wasm_v128_load(b + j * GEMM_VECTOR);
        UNROLL for (int i = 0; i < rows; i++) {
            const v128_t left = wasm_v128_load32_splat(a + i * a_row);
            UNROLL for (int j = 0; j < vectors; j++) own[i][j] =
                wasm_f32x4_add(own[i][j], wasm_f32x4_mul(left, right[j]));
        }
    }
    UNROLL for (int i = 0; i < rows * vectors; i++) sum[i / vectors][i % vectors] =
        (ox_floats)own[i / vectors][i % vectors];
}

#endif
