/* gemm_pack.c: laying out the operands of a product in panels. */
#include "loops/lanes.h"

#include <string.h>

/* Rows of `width` elements, of which the matrix gives `columns`; the rest become zeros. */
static void lay_out(const ox_loops *loops, const ox_gemm_matrix *from, int64_t rows, int64_t columns, int64_t width,
                    char *to, int64_t to_row) {
    const int64_t size = (int64_t)ox_dtype_size(from->dtype);
    const char *data = from->data;
    if (from->col == size)
        loops->gemm_copy(rows, (size_t)(columns * size), to, to_row, data, from->row);
    else if (from->row == size)
        loops->transpose((size_t)size)(columns, rows, to, to_row, data, from->col, 0);
    else
        for (int64_t i = 0; i < rows; i++)
            loops->move((size_t)size)(columns, to + i * to_row, size, data + i * from->row, from->col);
    for (int64_t i = 0; i < rows && columns < width; i++)
        memset(to + i * to_row + columns * size, 0, (size_t)((width - columns) * size));
}

static void widen(const ox_loops *loops, ox_dtype dtype, int64_t count, char *to, char *from) {
    static const int64_t step[] = {sizeof(float), sizeof(uint16_t)};
    loops->widen(count, (char *[]){to, from}, step, &dtype);
}

void ox_gemm_pack_rows(const ox_loops *loops, const ox_gemm_matrix *from, int64_t rows, int64_t columns, int64_t width,
                       char *to, int64_t to_row, char *stage) {
    if (ox_dtype_compute(from->dtype) == from->dtype) {
        lay_out(loops, from, rows, columns, width, to, to_row);
        return;
    }
    const int64_t narrow_row = width * (int64_t)ox_dtype_size(from->dtype), most = OX_GEMM_STAGE / narrow_row;
    ox_gemm_matrix part = *from;
    for (int64_t first = 0; first < rows; first += most) {
        int64_t count = rows - first < most ? rows - first : most;
        part.data = (const char *)from->data + first * from->row;
        lay_out(loops, &part, count, columns, width, stage, narrow_row);
        for (int64_t i = 0; i < count; i++)
            widen(loops, from->dtype, width, to + (first + i) * to_row, stage + i * narrow_row);
    }
}
