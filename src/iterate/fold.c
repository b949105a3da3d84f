/* fold.c: reductions of transposed matrices, and of short rows. */
#include "fold.h"

#include <math.h>

/* ---- Columns that lie as rows ------------------------------------------------------------------------------- */

void ox_fold_columns_apart(const struct ox_loops *loops, const ox_folder *folder, void *sums, int64_t n,
                           const char *from, int64_t width, int64_t next, int64_t length, int64_t step) {
    /* So many columns and elements of each are transposed at a time. */
    enum {
        TILE = OX_SMALL ? 8 : 64
    };
    _Alignas(double) char tile[TILE * TILE * sizeof(double)];
    for (int64_t i = 0; i < n; i += TILE)
        for (int64_t k = 0; k < length; k += TILE) {
            const int64_t columns = n - i < TILE ? n - i : TILE, rows = length - k < TILE ? length - k : TILE;
            const int64_t dims[] = {rows, columns}, to[] = {columns * width, width}, at[] = {step, next};
            ox_move(loops, NULL, 2, dims, (size_t)width, tile, to, from + i * next + k * step, at);
            folder->columns((char *)sums + i * folder->width, columns, tile, width, rows, columns * width);
        }
}

/* ---- Rows that lie as columns ------------------------------------------------------------------------------- */

#if !OX_SMALL
enum {
    WIDE = OX_FOLD_WIDE,
    NARROW = OX_FOLD_NARROW,
    BESIDE = OX_FOLD_BESIDE,
    BLOCK = OX_FOLD_BLOCK,
    ROWS = 64 /* have their partial results on the stack at a time */
};

/* Rows [0, n), n <= ROWS, of a matrix whose columns are packed. */
typedef struct matrix {
    const ox_folder *folder, *joins; /* the elements', and the accumulators' */
    const char *from;
    int64_t n, width, length, step; /* width: bytes of an element */
} matrix;

typedef union parts {
    double f64[WIDE * ROWS];
    uint64_t u64[WIDE * ROWS];
    uint8_t u8[WIDE * ROWS * sizeof(double)];
} parts;

/* Element k of each row goes into partial result k % count. */
static void fold_parts(const matrix *m, ox_fold_fn *fold, int64_t count, int64_t first, int64_t turns, parts *part) {
    for (int64_t p = 0; turns && p < count; p++)
        fold(part->u8 + p * m->n * m->folder->width, m->n, m->from + (first + p) * m->step, m->width, turns,
             count * m->step);
}

/* Halves `from` partial results until `to` are left. */
static void halve_parts(const matrix *m, int64_t from, int64_t to, parts *part) {
    for (int64_t half = from / 2; half >= to; half /= 2)
        m->joins->columns(part, half * m->n, (char *)part + half * m->n * m->folder->width, m->folder->width, 1, 0);
}

/* Elements from `first` on. */
static void fold_rest(const matrix *m, int64_t first, void *sums, parts *part) {
    const int64_t wide = m->length - first >= WIDE ? WIDE : NARROW, turns = (m->length - first) / wide;
    if (turns) {
        ox_fold_start(m->folder, wide * m->n, part);
        fold_parts(m, m->folder->columns, wide, first, turns, part);
        first += turns * wide;
        halve_parts(m, wide, NARROW, part);
        const int64_t more = (m->length - first) / NARROW;
        fold_parts(m, m->folder->columns, NARROW, first, more, part);
        first += more * NARROW;
        halve_parts(m, NARROW, 1, part);
        m->joins->columns(sums, m->n, (char *)part, m->folder->width, 1, 0);
    }
    if (first < m->length)
        m->folder->columns(sums, m->n, m->from + first * m->step, m->width, m->length - first, m->step);
}

/* Floats, whole blocks of which are added eight by eight; where those sums overflow, all is done in double. */
static void sum_floats(const matrix *m, double *sums, parts *part) {
    const int64_t whole = m->length & -(int64_t)BLOCK;
    double again[ROWS];
    bool finite = true;
    memcpy(again, sums, (size_t)m->n * sizeof *sums);
    ox_fold_start(m->folder, BESIDE * m->n, part);
    fold_parts(m, m->folder->eights, BESIDE, 0, whole / BLOCK, part);
    halve_parts(m, BESIDE, 1, part);
    m->joins->columns(sums, m->n, (char *)part, m->folder->width, 1, 0);
    fold_rest(m, whole, sums, part);
    for (int64_t i = 0; i < m->n; i++)
        finite &= isfinite(sums[i]) != 0;
    if (finite)
        return;
    fold_rest(m, 0, again, part);
    for (int64_t i = 0; i < m->n; i++)
        if (!isfinite(sums[i]))
            sums[i] = again[i];
}

void ox_fold_rows_beside(const ox_folder *folder, const ox_folder *joins, void *sums, int64_t n, const char *from,
                         int64_t width, int64_t length, int64_t step) {
    parts part;
    for (int64_t i = 0; i < n; i += ROWS) {
        const matrix m = {folder, joins, from + i * width, n - i < ROWS ? n - i : ROWS, width, length, step};
        void *to = (char *)sums + i * folder->width;
        if (folder->eights && length >= BLOCK)
            sum_floats(&m, to, &part);
        else
            fold_rest(&m, 0, to, &part);
    }
}

/* ---- Short rows --------------------------------------------------------------------------------------------- */

void ox_fold_short_rows(const struct ox_loops *loops, const ox_folder *folder, const ox_folder *joins, void *sums,
                        int64_t n, const char *from, int64_t width, int64_t next, int64_t length) {
    _Alignas(double) char tile[ROWS * OX_LINE];
    for (int64_t i = 0; i < n; i += ROWS) {
        const int64_t rows = n - i < ROWS ? n - i : ROWS;
        const int64_t dims[] = {length, rows}, to[] = {rows * width, width}, at[] = {width, next};
        ox_move(loops, NULL, 2, dims, (size_t)width, tile, to, from + i * next, at);
        ox_fold_rows_beside(folder, joins, (char *)sums + i * folder->width, rows, tile, width, length, rows * width);
    }
}
#endif
