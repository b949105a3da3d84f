/* pass_space.c: the space that a lane program goes over: its dimensions, the dimensions that are rows, and the
 * dimension in which tiles end. */
#include "loops/simd/intrinsics.h"
#include "pass_program.h"

#include <string.h>

/* Short rows are combined into tiles of about SHORT_TILE elements. Rows whose ends share cache lines are laid out up to
 * LONG_BYTES. */
enum {
    SHORT_TILE = 512,
    LONG_BYTES = 3072
};

/* Strides that are 0 along a row and never outside: as one more operand, they keep the dimensions of rows apart. */
static const int64_t *row_strides(ox_pass_builder *b) {
    int outer = b->rank - b->row_axes;
    int64_t *strides = ox_pile_array(b->scratch, (size_t)b->rank + 1, sizeof *strides);
    if (strides)
        ox_packed_strides(outer, b->dims, 1, strides);
    return strides;
}

/* Merged dimensions, and the steps of the operands and of the rows through them. */
static bool merge_space(ox_pass_builder *b) {
    ox_bcast *space = &b->pass.space;
    size_t room = (size_t)b->rank + 2, n = (size_t)b->pass.noperands;
    const int64_t **strides = ox_pile_array(b->scratch, n + 1, sizeof *strides);
    space->dim = ox_pile_array(b->scratch, room, sizeof(int64_t));
    space->step = ox_pile_array(b->scratch, room * (n + 1), sizeof(int64_t));
    if (!strides || !space->dim || !space->step)
        return false;
    if (n)
        memcpy(strides, b->strides, n * sizeof *strides);
    strides[n] = row_strides(b);
    if (!strides[n])
        return false;
    ox_bcast_plan(space, (int)n + 1, b->rank, b->dims, strides);
    return true;
}

size_t ox_pass_widest(const ox_pass_builder *b) {
    const pass_draft *pass = &b->pass;
    const int64_t count = ox_count(b->rank, b->dims);
    int64_t widest = 1;
    for (int a = 0; a < pass->noperands; a++)
        if (ox_tensor_count(pass->operands[a].tensor) == count && pass->operands[a].width > widest)
            widest = pass->operands[a].width;
    for (int i = 0; i < pass->nstores; i++)
        if (pass->stores[i].level == PASS_EACH && pass->stores[i].width > widest)
            widest = pass->stores[i].width;
    return (size_t)widest;
}

/* Rows of fewer elements are laid out, because a loop would be called for each of them; longer rows only if two rows
 * would share a cache line that is stored non-temporally, which costs far more. */
static int64_t least_row(const ox_pass_builder *b, bool is_chain) {
    const pass_draft *pass = &b->pass;
    if (b->row_axes || is_chain)
        return OX_ROW_MIN;
    for (int i = 0; i < pass->nstores; i++)
        if (pass->stores[i].streamed && pass->space.dim[0] * pass->stores[i].width % OX_LINE)
            return LONG_BYTES / (int64_t)ox_pass_widest(b);
    return OX_ROW_MIN;
}

/* Whether an operand is one element for each row of dimension 0, which takes at least a line, or the same in each, so
 * long a one that it is not laid out. */
static bool is_of_rows(const ox_pass_builder *b, int a) {
    const ox_bcast *space = &b->pass.space;
    int64_t steps = 0;
    for (int d = 1; d < space->ndim; d++)
        steps |= space->step[d * space->nargs + a];
    return space->step[a] == 0 ? steps != 0 && space->dim[0] * b->pass.operands[a].width >= OX_LINE
                               : steps == 0 && space->dim[0] >= b->least_row;
}

/* Whether dimension 0 is made rows of a pass that has none by itself: not too long ones, so that tiles are not. */
static bool has_rows(const ox_pass_builder *b, bool is_chain) {
    const pass_draft *pass = &b->pass;
    const ox_bcast *space = &pass->space;
    const int64_t row = space->dim[0];
    if (b->row_axes || pass->given >= 0 || space->ndim < 2)
        return false;
    const bool is_loop = is_chain || (pass->ncode == 1 && pass->code->row_lane);
    if (row > (is_loop ? OX_LONGEST_TILE / 2 : SHORT_TILE) && row >= b->least_row)
        return false;
    for (int a = 0; a < pass->noperands; a++)
        if (is_of_rows(b, a))
            return true;
    return false;
}

static void choose_block(ox_pass_builder *b) {
    pass_draft *pass = &b->pass;
    ox_bcast *space = &pass->space;
    const bool is_chain = ox_pass_is_chain(b);
    pass->inner = 1;
    b->least_row = least_row(b, is_chain);
    while (b->row_axes && pass->row_dims < space->ndim &&
           space->step[pass->row_dims * space->nargs + pass->noperands] == 0)
        pass->inner *= space->dim[pass->row_dims++];
    if (has_rows(b, is_chain)) {
        pass->inner = pass->row = space->dim[0];
        pass->row_dims = 1;
    }
    if (pass->row_dims == space->ndim)
        space->dim[space->ndim++] = 1; /* all is one row */
    pass->block = pass->row_dims;
    if (space->dim[0] >= b->least_row)
        return;
    const int64_t most = space->dim[0] > SHORT_TILE ? space->dim[0] : SHORT_TILE;
    while (pass->block + 1 < space->ndim && pass->inner * space->dim[pass->block] <= most)
        pass->inner *= space->dim[pass->block++];
}

bool ox_pass_cut(ox_pass_builder *b) {
    if (!merge_space(b))
        return false;
    choose_block(b);
    return true;
}
