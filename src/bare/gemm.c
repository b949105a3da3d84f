/* gemm.c: matrix products in little code, in place of gemm_kernel.c and gemm_run.c. */
#include "../ops/dense.h"
#include "../ops/gemm.h"

#include <string.h>

/* Rows of B at a time: what a panel takes of a small memory. */
enum {
    DEPTH = 16
};

/* Columns [column, column + columns) of C from the rows of B that are in reach of the panel. */
#define GEMM(name, type, value)                                                                                        \
    static void name(const ox_gemm *g, int64_t row, int64_t rows, int64_t column, int64_t columns, const char *b,      \
                     int64_t b_row, int64_t b_col) {                                                                   \
        for (int64_t i = 0; i < g->m; i++)                                                                             \
            for (int64_t j = 0; j < columns; j++) {                                                                    \
                char *c = (char *)g->c + i * g->c_row + (column + j) * (int64_t)sizeof(value);                         \
                const char *left = (const char *)g->a + i * g->a_row + row * g->a_col, *right = b + j * b_col;         \
                value sum = row ? OX_GET(type, c) : (value)0;                                                          \
                for (int64_t k = rows; k; k--, left += g->a_col, right += b_row)                                       \
                    sum += OX_GET(type, left) * OX_GET(type, right);                                                   \
                OX_AT(type, c) = sum;                                                                                  \
            }                                                                                                          \
    }
GEMM(gemm_f32, ox_f32, float)
GEMM(gemm_f64, ox_f64, double)
GEMM(gemm_u32, ox_u32, uint32_t)
GEMM(gemm_u64, ox_u64, uint64_t)

typedef void gemm_fn(const ox_gemm *g, int64_t row, int64_t rows, int64_t column, int64_t columns, const char *b,
                     int64_t b_row, int64_t b_col);

static gemm_fn *gemm_for(ox_dtype dtype) {
    if (OX_HAS(OX_FLOAT) && dtype == OX_FLOAT)
        return gemm_f32;
    if (OX_HAS(OX_DOUBLE) && dtype == OX_DOUBLE)
        return gemm_f64;
    if (OX_HAS_ANY(OX_BIT(OX_INT32) | OX_BIT(OX_UINT32)) && ox_dtype_size(dtype) == 4)
        return gemm_u32;
    return OX_HAS_ANY(OX_BIT(OX_INT64) | OX_BIT(OX_UINT64)) ? gemm_u64 : NULL;
}

size_t ox_gemm_workspace(int64_t k) {
    return (size_t)(k < DEPTH ? k : DEPTH) * OX_GEMM_ROW;
}

ox_status ox_gemm_plan(ox_call *call, int64_t k) {
    return ox_workspace_add(call, 1, ox_gemm_workspace(k));
}

void *ox_gemm_take(const ox_call *call, size_t *used, int64_t k) {
    return ox_workspace_take(call, used, 1, ox_gemm_workspace(k));
}

/* B panel by panel. */
static void run_panels(const ox_gemm *g, gemm_fn *run, void *panel) {
    const int width = (int)ox_dtype_size(g->dtype), most = OX_GEMM_ROW / width;
    for (int64_t column = 0; column < g->n; column += most)
        for (int64_t row = 0; row < g->k; row += DEPTH) {
            int64_t rows = g->k - row < DEPTH ? g->k - row : DEPTH;
            int64_t columns = g->n - column < most ? g->n - column : most;
            memset(panel, 0, (size_t)(rows * OX_GEMM_ROW));
            g->panel(g, row, rows, column, columns, panel);
            run(g, row, rows, column, columns, panel, OX_GEMM_ROW, width);
        }
}

void ox_gemm_run(const ox_gemm *gemm, int64_t count, ox_gemm_place_fn *place, const void *places, ox_pool *pool,
                 void *workspace) {
    ox_gemm g = *gemm;
    gemm_fn *run = gemm_for(g.dtype);
    (void)pool;
    for (int64_t i = 0; i < count && g.m && g.n; i++) {
        place(places, i, &g);
        if (g.panel && g.k)
            run_panels(&g, run, workspace);
        else
            run(&g, 0, g.k, 0, g.n, g.b, g.b_row, g.b_col);
        if (g.end)
            g.end(&g, 0, g.m, 0, g.n);
    }
}
