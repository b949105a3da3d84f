/* gemm_pack.c: laying out the operands of a product in panels. */
#include "alloc.h"
#include "asserts.h"
#include "loops/lanes.h"
#include "loops/simd/intrinsics.h"

#include <string.h>

/* To a multiple of a unit of a kernel, which are powers of two: divisions would take longer than small tiles. */
static int64_t round_up(int64_t count, int64_t unit) {
    return (count + unit - 1) & -unit;
}

bool ox_gemm_size_of_panels(const ox_gemm_kernel *kernel, int64_t k, int64_t n, size_t *size) {
    int64_t depth, width, bytes;
    if (!ox_add_i64(k, kernel->group - 1, &depth) || !ox_add_i64(n, kernel->unit - 1, &width) ||
        !ox_mul_i64(width & -(int64_t)kernel->unit, (int64_t)ox_dtype_size(kernel->b), &width) ||
        !ox_mul_i64(depth & -(int64_t)kernel->group, width, &bytes) || (uint64_t)bytes > SIZE_MAX / 4)
        return false;
    *size = (size_t)bytes;
    return true;
}

ox_gemm_span ox_gemm_find_panel(const ox_gemm_kernel *kernel, int64_t n, int64_t k, int64_t depth, int64_t column) {
    const int64_t size = (int64_t)ox_dtype_size(kernel->b), whole = round_up(depth, kernel->group),
                  columns = n - column < kernel->columns ? n - column : kernel->columns,
                  row = round_up(columns, kernel->unit) * size;
    return (ox_gemm_span){.start = k * round_up(n, kernel->unit) * size + whole * column * size,
                          .bytes = whole * row,
                          .row = row,
                          .group = row * kernel->group,
                          .column = kernel->group * size};
}

/* Rows of `columns` elements, each filled up with zeros to `width` bytes. */
static void lay_out(const ox_loops *loops, const ox_gemm_matrix *from, int64_t rows, int64_t columns, int64_t width,
                    char *to, int64_t to_row) {
    const int64_t size = (int64_t)ox_dtype_size(from->dtype), bytes = columns * size;
    const char *data = from->data;
    if (from->col == size)
        loops->gemm_copy(rows, (size_t)bytes, to, to_row, data, from->row);
    else if (from->row == size)
        loops->transpose((size_t)size)(columns, rows, to, to_row, data, from->col, 0);
    else
        for (int64_t i = 0; i < rows; i++)
            loops->move((size_t)size)(columns, to + i * to_row, size, data + i * from->row, from->col);
    for (int64_t i = 0; i < rows && bytes < width; i++)
        memset(to + i * to_row + bytes, 0, (size_t)(width - bytes));
}

#if defined(__aarch64__)
/* What is left of the rows from a byte on, a word of each. */
static void weave_word(const char *const at[OX_GEMM_TILE_ROWS], int64_t byte, int64_t left, char *to) {
    memset(to, 0, OX_GEMM_WOVEN * OX_GEMM_TILE_ROWS);
    for (int r = 0; r < OX_GEMM_TILE_ROWS; r++)
        memcpy(to + r * OX_GEMM_WOVEN, at[r] + byte, (size_t)(left < OX_GEMM_WOVEN ? left : OX_GEMM_WOVEN));
}

void ox_gemm_weave(int64_t rows, int64_t bytes, const char *from, int64_t from_row, char *to) {
    enum {
        VECTOR = 2 * OX_GEMM_WOVEN,
        BOTH = OX_GEMM_WOVEN * OX_GEMM_TILE_ROWS /* from the first words of vectors to the second ones */
    };
    const char *at[OX_GEMM_TILE_ROWS];
    int64_t byte = 0;
    OX_ASSERT(rows >= OX_GEMM_WOVEN_ROWS && rows <= OX_GEMM_TILE_ROWS);
    for (int r = 0; r < OX_GEMM_TILE_ROWS; r++)
        at[r] = from + (r < rows ? r : rows - 1) * from_row;
    for (; byte + VECTOR <= bytes; byte += VECTOR, to += 2 * BOTH)
        OX_UNROLLED for (int r = 0; r < OX_GEMM_TILE_ROWS; r += 2) {
            const uint64x2_t first = (uint64x2_t)vld1q_u8((const uint8_t *)at[r] + byte),
                             second = (uint64x2_t)vld1q_u8((const uint8_t *)at[r + 1] + byte);
            vst1q_u8((uint8_t *)to + r * OX_GEMM_WOVEN, (uint8x16_t)vzip1q_u64(first, second));
            vst1q_u8((uint8_t *)to + BOTH + r * OX_GEMM_WOVEN, (uint8x16_t)vzip2q_u64(first, second));
        }
    for (; byte < bytes; byte += OX_GEMM_WOVEN, to += BOTH)
        weave_word(at, byte, bytes - byte, to);
}
#endif

static void widen(const ox_loops *loops, ox_dtype dtype, int64_t count, char *to, char *from) {
    static const int64_t step[] = {sizeof(float), sizeof(uint16_t)};
    loops->widen(count, (char *[]){to, from}, step, &dtype);
}

/* By way of the stage: rows of `width` elements. */
static void widen_rows(const ox_loops *loops, const ox_gemm_matrix *from, int64_t rows, int64_t columns, int64_t width,
                       char *to, int64_t to_row, char *stage) {
    const int64_t narrow_row = width * (int64_t)sizeof(uint16_t), most = OX_GEMM_STAGE / narrow_row;
    ox_gemm_matrix part = *from;
    for (int64_t first = 0; first < rows; first += most) {
        int64_t count = rows - first < most ? rows - first : most;
        part.data = (const char *)from->data + first * from->row;
        lay_out(loops, &part, count, columns, narrow_row, stage, narrow_row);
        for (int64_t i = 0; i < count; i++)
            widen(loops, from->dtype, width, to + (first + i) * to_row, stage + i * narrow_row);
    }
}

void ox_gemm_pack_left(const ox_loops *loops, const ox_gemm_matrix *from, int64_t rows, int64_t columns, char *to,
                       int64_t to_row, char *stage) {
    if (ox_dtype_compute(from->dtype) == from->dtype)
        lay_out(loops, from, rows, columns, 0, to, to_row);
    else
        widen_rows(loops, from, rows, columns, columns, to, to_row, stage);
}

void ox_gemm_pack_panel(const ox_loops *loops, const ox_gemm_matrix *from, int64_t rows, int64_t columns, char *to,
                        int64_t to_row, char *stage) {
    if (ox_dtype_compute(from->dtype) == from->dtype)
        lay_out(loops, from, rows, columns, to_row, to, to_row);
    else
        widen_rows(loops, from, rows, columns, to_row / (int64_t)sizeof(float), to, to_row, stage);
}
