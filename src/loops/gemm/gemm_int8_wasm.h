/* gemm_int8_wasm.h: a tile of bytes in WebAssembly: pairs of 16 bits whose products are added in one instruction. As in
 * gemm_wasm.h, addresses have 32 bits. */
#ifndef OX_LOOPS_GEMM_INT8_WASM_H
#define OX_LOOPS_GEMM_INT8_WASM_H

OX_INLINED void multiply(const bool is_signed, const int rows, const int vectors, const ox_gemm_tile *t) {
    const char *a = t->a, *b = t->b;
    const int b_row = (int)t->b_row * GROUP;
    const char *const end = a + (t->depth + GROUP - 1) / GROUP * 4;
    ox_dot_lanes sum[OX_GEMM_TILE_ROWS][VECTORS];
    (void)is_signed;
    OX_UNROLLED for (int i = 0; i < rows * vectors; i++) sum[i / vectors][i % vectors] = (ox_dot_lanes){0};
    _Pragma("clang loop unroll(disable)") for (; a < end; a += 4, b += b_row) {
        ox_dot_lanes right[VECTORS];
        OX_UNROLLED for (int j = 0; j < vectors; j++) right[j] = ox_dot_load(b + j * B_VECTOR);
        OX_UNROLLED for (int i = 0; i < rows; i++) {
            const ox_dot_lanes both = (ox_dot_lanes)wasm_v128_load32_splat(a + i * A_ROW);
            OX_UNROLLED for (int j = 0; j < vectors; j++) sum[i][j] = ox_dot(sum[i][j], both, right[j]);
        }
    }
    char *c = t->c;
    const int c_row = (int)t->c_row;
    OX_UNROLLED for (int i = 0; i < rows; i++, c += c_row) OX_UNROLLED for (int j = 0; j < vectors; j++) {
        loose_lanes *to = (void *)(c + j * OX_DOT_BYTES);
        *to = t->add ? *to + sum[i][j] : sum[i][j];
    }
}

#endif
