/* pass_rows.c: the instructions of lane programs that take rows: what is one element for each of them. */
#include "pass_program.h"
#include "iterate/fold.h"

/* ---- Folding rows ------------------------------------------------------------------------------------------- */

/* n rows that lie packed one after the other. */
static int fold_lane(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const pass_rows *rows = attr;
    const ox_folder *folder = &rows->folder;
    const int64_t width = step[1], next = rows->row * width;
    for (int64_t i = 0; i < n; i += OX_FOLD_TILE) {
        int64_t count = ox_least(n - i, OX_FOLD_TILE);
        ox_fold_sums sums;
        ox_fold_start(folder, count, &sums);
        const char *from = arg[1] + i * next;
#if !OX_SMALL
        if (rows->short_rows)
            ox_fold_short_rows(rows->short_rows, folder, &rows->joins, &sums, count, from, width, next, rows->row);
        else
#endif
            folder->rows(&sums, count, from, next, rows->row, width);
        folder->end(count, &sums, rows->row, arg[0] + i * step[0]);
    }
    return 0;
}

/* An instruction on the rows of a register. */
static ox_reg apply_rows(ox_pass_builder *b, ox_lane *lane, pass_rows *rows, bool folds, ox_reg reg) {
    ox_dtype dtype = ox_pass_dtype(b, reg);
    rows->row = b->pass.row;
    reg = ox_pass_apply(b, lane, rows, dtype, 1, &reg);
    if (reg >= 0) {
        pass_instruction *in = &b->pass.code[b->pass.regs[reg].writer];
        in->takes_rows = true;
        in->folds = folds;
    }
    return reg;
}

ox_reg ox_pass_fold(ox_pass_builder *b, ox_fold fold, ox_reg reg) {
    reg = ox_pass_widen(b, reg);
    pass_rows *rows = reg < 0 ? NULL : ox_pile_get(b->pile, sizeof *rows);
    if (!rows || !OX_BUILD_OF(b->loops, fold)(ox_pass_dtype(b, reg), &rows->folder) ||
        !rows->folder.joins(rows->folder.sums, &rows->joins))
        return ox_pass_fail(b);
    if (ox_is_short_row(&rows->folder, b->pass.row))
        rows->short_rows = b->loops;
    return apply_rows(b, fold_lane, rows, true, reg);
}

/* ---- Softmax ------------------------------------------------------------------------------------------------ */

static int softmax_lane(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const pass_rows *rows = attr;
    (void)step; /* both are packed */
    rows->softmax(rows->row, 1, ox_quotient(n, rows->row), arg[1], arg[0]);
    return 0;
}

ox_reg ox_pass_softmax(ox_pass_builder *b, ox_reg reg) {
    reg = ox_pass_widen(b, reg);
    pass_rows *rows = reg < 0 ? NULL : ox_pile_get(b->pile, sizeof *rows);
    if (!rows)
        return ox_pass_fail(b);
    bool single = ox_pass_dtype(b, reg) == OX_FLOAT;
    rows->softmax = OX_BUILD_OF(b->loops, single ? ox_softmax_f32_builds : ox_softmax_f64_builds);
    return apply_rows(b, softmax_lane, rows, false, reg);
}

/* ---- Laying out rows ---------------------------------------------------------------------------------------- */

int ox_pass_spread_lane(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const pass_rows *rows = attr;
    rows->spread(rows->row, n / rows->row, arg[0], rows->row * step[0], arg[1], 0, step[1]);
    return 0;
}
