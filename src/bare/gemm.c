/* gemm.c: matrix products in little code and memory, in place of src/ops/gemm/. */
#include "ops/gemm/gemm.h"
#include "dots.h"
#include "half.h"
#include "ops/dense.h"

#include <string.h>

enum {
    DEPTH = 18,      /* of a panel of B, two channels of a kernel of 3x3, ... */
    PANEL = OX_DOTS, /* ... and its columns: what it takes of a small memory */
    COLUMNS = 8      /* that are finished together, where there are no panels */
};

/* Elements that are computed in another type. */
static float half_at(const char *at, ox_dtype dtype) {
    const uint16_t bits = OX_GET(ox_u16, at);
    return OX_HAS(OX_BFLOAT16) && dtype == OX_BFLOAT16 ? ox_float_from_bf16(bits) : ox_float_from_half(bits);
}
static uint32_t byte_at(const char *at, ox_dtype dtype) {
    return dtype == OX_INT8 ? (uint32_t)OX_GET(ox_i8, at) : OX_GET(ox_u8, at);
}
#define GET_f64(at, dtype) OX_GET(ox_f64, at)
#define GET_u32(at, dtype) OX_GET(ox_u32, at)
#define GET_u64(at, dtype) OX_GET(ox_u64, at)

/* c[rows x columns] += A * B over `depth` elements of k. */
typedef struct block {
    size_t rows, columns, depth;
    ox_gemm_matrix a, b;
    char *c;
    size_t c_row;
} block;

/* Steps in memory have the size of an address: devices take two registers for more. */
#define GEMM(name, type, value, get)                                                                                   \
    static void name(const block *p) {                                                                                 \
        const ptrdiff_t a_step = (ptrdiff_t)p->a.col, b_step = (ptrdiff_t)p->b.row;                                    \
        for (size_t i = 0; i < p->rows; i++)                                                                           \
            for (size_t j = 0; j < p->columns; j++) {                                                                  \
                const char *a = (const char *)p->a.data + (ptrdiff_t)i * (ptrdiff_t)p->a.row;                          \
                const char *b = (const char *)p->b.data + (ptrdiff_t)j * (ptrdiff_t)p->b.col;                          \
                char *c = p->c + i * p->c_row + j * sizeof(value);                                                     \
                value sum = OX_GET(type, c);                                                                           \
                for (size_t k = p->depth; k; k--, a += a_step, b += b_step)                                            \
                    sum += get(a, p->a.dtype) * get(b, p->b.dtype);                                                    \
                OX_AT(type, c) = sum;                                                                                  \
            }                                                                                                          \
    }
GEMM(gemm_f64, ox_f64, double, GET_f64)
GEMM(gemm_u32, ox_u32, uint32_t, GET_u32)
GEMM(gemm_u64, ox_u64, uint64_t, GET_u64)
GEMM(gemm_half, ox_f32, float, half_at)
GEMM(gemm_byte, ox_u32, uint32_t, byte_at)

/* The same of floats, several rows or columns at a time. */
static void gemm_f32(const block *p) {
    const ptrdiff_t a_row = (ptrdiff_t)p->a.row, b_col = (ptrdiff_t)p->b.col;
    const size_t squares = b_col == sizeof(float) ? OX_DOTS : SIZE_MAX; /* the columns that they take */
    for (size_t i = 0, rows; i < p->rows; i += rows) {
        rows = p->rows - i < OX_DOTS ? 1 : OX_DOTS;
        for (size_t j = 0, columns; j < p->columns; j += columns) {
            ox_dots d = {.a = (const char *)p->a.data + (ptrdiff_t)i * a_row,
                         .b = (const char *)p->b.data + (ptrdiff_t)j * b_col,
                         .c = p->c + i * p->c_row + j * sizeof(float),
                         .a_row = a_row,
                         .a_step = (ptrdiff_t)p->a.col,
                         .b_step = (ptrdiff_t)p->b.row,
                         .c_row = (ptrdiff_t)p->c_row,
                         .depth = p->depth};
            const size_t left = p->columns - j;
            columns = left >= (rows > 1 ? squares : OX_DOTS) ? OX_DOTS : 1;
            if (rows > 1 && columns > 1) {
                ox_dots_square(&d);
                continue;
            }
            if (rows == 1) { /* columns of B are rows of its transposed matrix, and one is as good as equal ones */
                d = (ox_dots){d.b, d.a, d.c, b_col, d.b_step, d.a_step, sizeof(float), d.depth};
                if (columns == 1)
                    d.a_row = d.c_row = 0;
            }
            ox_dots_column(&d);
        }
    }
}

typedef void gemm_fn(const block *part);

static gemm_fn *gemm_for(ox_dtype dtype) {
    const size_t size = ox_dtype_size(dtype);
    if (OX_HAS(OX_FLOAT) && dtype == OX_FLOAT)
        return gemm_f32;
    if (OX_HAS(OX_DOUBLE) && dtype == OX_DOUBLE)
        return gemm_f64;
    if (OX_HAS_ANY(OX_BIT(OX_FLOAT16) | OX_BIT(OX_BFLOAT16)) && size == 2)
        return gemm_half;
    if (OX_HAS_ANY(OX_BIT(OX_INT8) | OX_BIT(OX_UINT8)) && size == 1)
        return gemm_byte;
    if (OX_HAS_ANY(OX_BIT(OX_INT32) | OX_BIT(OX_UINT32)) && size == 4)
        return gemm_u32;
    return OX_HAS_ANY(OX_BIT(OX_INT64) | OX_BIT(OX_UINT64)) ? gemm_u64 : NULL;
}

/* Bytes of an element of C. */
static size_t sum_size(const ox_gemm *g) {
    const size_t size = ox_dtype_size(g->a.dtype);
    return size < sizeof(float) ? sizeof(float) : size;
}

/* Columns of a block of C, and its rows; each panel is made once. */
static size_t block_columns(const ox_gemm *g) {
    return g->panel ? PANEL : COLUMNS;
}
static size_t block_rows(const ox_gemm *g) {
    return g->panel || g->m < OX_DOTS ? (size_t)g->m : OX_DOTS;
}

/* Elements are multiplied as they lie. */
const ox_gemm_kernel *ox_gemm_kernel_for_base(ox_dtype a, ox_dtype b) {
    static const ox_gemm_kernel plain = {.rows = 1, .columns = 1, .unit = 1};
    (void)a, (void)b;
    return &plain;
}

ox_status ox_gemm_find_weights(ox_call *call, int input, int rank, const int64_t *dims, const int64_t *strides,
                               ox_gemm *g, size_t *each) {
    (void)call, (void)input, (void)rank, (void)dims, (void)strides, (void)g, (void)each;
    return OX_OK;
}

/* Rows of a block that is finished elsewhere than in C, otherwise 0. */
static size_t rows_apart(const ox_gemm *g) {
    return g->after.end && !g->after.in_place ? block_rows(g) : 0;
}

ox_status ox_gemm_prepare(ox_call *call, const ox_gemm *g, int64_t count, ox_gemm_plan *plan) {
    *plan = (ox_gemm_plan){0};
    if (g->m == 0 || g->n == 0 || count == 0)
        return OX_OK;
    plan->panel_bytes = g->panel ? DEPTH * PANEL * sum_size(g) : 0;
    plan->bytes = plan->panel_bytes + rows_apart(g) * block_columns(g) * sum_size(g) + g->after.scratch;
    return ox_workspace_add(call, 1, plan->bytes);
}

void *ox_gemm_take(const ox_call *call, size_t *used, const ox_gemm_plan *plan) {
    return ox_workspace_take(call, used, 1, plan->bytes);
}

/* What sums begin with. */
static void begin_block(const ox_gemm *g, size_t row, const block *p) {
    const ox_u32 *more = g->after.finish.is_used ? (const ox_u32 *)g->extra + row : NULL;
    const size_t words = p->columns * (sum_size(g) / sizeof *more);
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < words; j++)
            ((ox_u32 *)(void *)(p->c + i * p->c_row))[j] = more ? more[i] : 0;
}

/* Computes a block of C that starts at `row` and `column` of the product, panel by panel if there are any. */
static void run_block(const ox_gemm *g, gemm_fn *run, size_t row, size_t column, block p, char *panel) {
    const size_t width = ox_dtype_size(g->b.dtype), depth = (size_t)g->k;
    size_t k = 0;
    begin_block(g, row, &p);
    p.a = g->a;
    do {
        p.depth = g->panel && depth - k > DEPTH ? DEPTH : depth - k;
        p.a.data = (const char *)g->a.data + (ptrdiff_t)row * (ptrdiff_t)g->a.row + (ptrdiff_t)k * (ptrdiff_t)g->a.col;
        p.b = g->b;
        if (g->panel) {
            const ox_gemm_block rows = {
                (int64_t)k, (int64_t)p.depth, (int64_t)column, (int64_t)p.columns, panel, (int64_t)(PANEL * width),
                NULL};
            g->panel(g, &rows, NULL);
            p.b = (ox_gemm_matrix){g->b.dtype, panel, (int64_t)(PANEL * width), (int64_t)width};
        } else {
            p.b.data = (const char *)g->b.data + (ptrdiff_t)column * (ptrdiff_t)g->b.col;
        }
        run(&p);
        k += p.depth;
    } while (k < depth);
}

static void run_product(const ox_gemm_plan *plan, const ox_gemm *g, gemm_fn *run, char *workspace) {
    const size_t size = sum_size(g), m = (size_t)g->m, n = (size_t)g->n, high = block_rows(g), wide = block_columns(g);
    const bool is_apart = rows_apart(g);
    char *data = workspace + plan->panel_bytes, *scratch = data + rows_apart(g) * wide * size;
    for (size_t row = 0, rows; row < m; row += rows) {
        rows = m - row < high ? m - row : high;
        for (size_t column = 0, columns; column < n; column += columns) {
            columns = n - column < wide ? n - column : wide;
            block p = {.rows = rows, .columns = columns, .c_row = wide * size, .c = data};
            if (!is_apart) {
                p.c_row = (size_t)g->c_row;
                p.c = (char *)g->c + row * p.c_row + column * size;
            }
            run_block(g, run, row, column, p, workspace);
            if (g->after.end)
                g->after.end(g, &(ox_gemm_block){(int64_t)row, (int64_t)rows, (int64_t)column, (int64_t)columns, p.c,
                                                 (int64_t)p.c_row, scratch});
        }
    }
}

void ox_gemm_run(const ox_gemm_plan *plan, const ox_gemm *gemm, int64_t count, ox_gemm_place_fn *place,
                 const void *places, void *workspace) {
    for (int64_t i = 0; i < count && gemm->m && gemm->n; i++) {
        const ox_gemm g = ox_gemm_product(gemm, i, place, places);
        run_product(plan, &g, gemm_for(g.a.dtype), workspace);
    }
}
