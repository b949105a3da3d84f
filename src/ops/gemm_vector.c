/* gemm_vector.c: products of one row, which read the matrix as it lies. 16-bit floats are widened a few lines at a
 * time, in the first-level cache, so that no more than their own bytes come from memory. */
#include "gemm.h"

#include <string.h>

/* A tile of widened lines, parts of rows or of columns, and behind it a part of the row vector. */
enum {
    LINES = 8,
    LENGTH = OX_GEMM_VECTOR_COLUMNS,
    PIECE = 256, /* elements of a line */
    TILE_BYTES = LINES * LENGTH * (int)sizeof(float),
    VECTOR_BYTES = LENGTH * (int)sizeof(float)
};
_Static_assert(TILE_BYTES + VECTOR_BYTES + LENGTH * sizeof(uint16_t) <= OX_GEMM_STAGE, "the stage is too small");

static const char *at(const ox_gemm_matrix *matrix, int64_t row, int64_t column) {
    return (const char *)matrix->data + row * matrix->row + column * matrix->col;
}

static void widen(const ox_gemm_plan *plan, ox_dtype dtype, int64_t count, const char *from, char *to) {
    static const int64_t step[] = {sizeof(float), sizeof(uint16_t)};
    plan->loops->widen(count, (char *[]){to, (char *)(uintptr_t)from}, step, &dtype);
}

/* `count` elements of the row vector from k on, as floats. */
static char *widen_vector(const ox_gemm_plan *plan, const ox_gemm *g, int64_t k, int64_t count, char *stage) {
    char *wide = stage + TILE_BYTES, *packed = wide + VECTOR_BYTES;
    plan->loops->move(sizeof(uint16_t))(count, packed, sizeof(uint16_t), at(&g->a, 0, k), g->a.col);
    widen(plan, g->a.dtype, count, packed, wide);
    return wide;
}

/* `count` lines of the matrix, `step` bytes apart, into the tile: a piece of each in turn, since memory serves several
 * streams at a time faster than one. */
static void widen_lines(const ox_gemm_plan *plan, const ox_gemm *g, int64_t count, int64_t length, const char *from,
                        int64_t step, char *tile) {
    for (int64_t j = 0; j < length; j += PIECE)
        for (int64_t i = 0; i < count; i++)
            widen(plan, g->b.dtype, ox_least(PIECE, length - j), from + i * step + j * (int64_t)sizeof(uint16_t),
                  tile + (i * LENGTH + j) * (int64_t)sizeof(float));
}

static void multiply_half(const ox_gemm_plan *plan, const ox_gemm *g, int64_t column, int64_t columns, char *stage,
                          char *c) {
    const int64_t width = sizeof(float), line = LENGTH * width;
    for (int64_t k = 0, depth; k < g->k; k += depth) {
        depth = ox_least(LENGTH, g->k - k);
        const char *a = widen_vector(plan, g, k, depth, stage);
        const bool along = plan->way == OX_GEMM_ROW_VECTOR;
        for (int64_t i = 0, lines; i < (along ? depth : columns); i += lines) {
            lines = ox_least(LINES, (along ? depth : columns) - i);
            if (along) {
                widen_lines(plan, g, lines, columns, at(&g->b, k + i, column), g->b.row, stage);
                plan->kernel->row_vector(columns, lines, a + i * width, width, stage, line, c);
            } else {
                widen_lines(plan, g, lines, depth, at(&g->b, k, column + i), g->b.col, stage);
                plan->kernel->dots(lines, depth, a, stage, line, c + i * width);
            }
        }
    }
}

void ox_gemm_vector(const ox_gemm_plan *plan, const ox_gemm *g, int64_t column, int64_t columns, char *stage, char *c) {
    memset(c, 0, (size_t)columns * ox_dtype_size(plan->kernel->c));
    if (ox_dtype_size(g->b.dtype) < ox_dtype_size(plan->kernel->b))
        multiply_half(plan, g, column, columns, stage, c);
    else if (plan->way == OX_GEMM_ROW_VECTOR)
        plan->kernel->row_vector(columns, g->k, g->a.data, g->a.col, at(&g->b, 0, column), g->b.row, c);
    else
        plan->kernel->dots(columns, g->k, g->a.data, at(&g->b, 0, column), g->b.col, c);
}
