/* pass.c: lane programs in little code and memory, in place of src/pass/. A program is a list of registers in
 * the order in which they get their elements, and runs over stretches of the innermost dimension. Here every node is a
 * program of its own (OX_WITH_FUSION), so one result is stored. */
#include "iterate/bcast.h"
#include "pass/pass.h"

#include <string.h>

enum {
    FIRST_ROOM = 4,
    SHORTEST = 16 /* elements of a stretch; tiles of as many are aligned */
};

typedef struct pass_reg {
    ox_dtype dtype;
    bool repeats;  /* one element for all of a stretch */
    bool has_tile; /* its elements are laid out in scratch memory */
    int8_t nargs;
    ox_reg args[OX_LANE_INPUTS];
    ox_reg last;             /* the last one that reads this one */
    int operand;             /* its number in the space; -1 if it is not an operand */
    ox_lane *lane;           /* what gives its elements, NULL for operands and constants; ... */
    const void *attr;        /* ... and what that is given; the element of a constant */
    const ox_tensor *tensor; /* of an operand; of the output if the register is stored; NULL otherwise */
    const int64_t *strides;  /* of an operand */
    size_t tile;             /* the place of its tile */
} pass_reg;

struct ox_pass {
    const ox_loops *loops;
    ox_bcast space;
    pass_reg *regs;
    int nregs, noperands;
    size_t stretch; /* the most elements at a time */
    size_t tile_bytes;
};

struct ox_pass_builder {
    ox_pile *pile;
    bool failed;
    ox_dtype lacking;
    int room; /* for registers */
    int rank;
    const int64_t *dims;
    ox_pass pass;
};

/* What a run changes of a register. */
typedef struct pass_place {
    const char *row; /* of an operand: where it is in the outer dimensions */
    char *at;        /* its elements of this stretch */
} pass_place;

/* ---- Writing ------------------------------------------------------------------------------------------------ */

ox_pass_builder *ox_pass_begin(ox_pile *pile, ox_pile *scratch, const ox_loops *loops, int rank, const int64_t *dims,
                               int row_axes) {
    ox_pass_builder *b = ox_pile_get(pile, sizeof *b);
    (void)scratch;
    (void)row_axes;
    if (b)
        *b = (ox_pass_builder){.pile = pile, .rank = rank, .dims = dims, .pass = {.loops = loops}};
    return b;
}

const ox_loops *ox_pass_loops(const ox_pass_builder *b) {
    return b->pass.loops;
}

ox_dtype ox_pass_lacking(const ox_pass_builder *b) {
    return b->lacking;
}

ox_dtype ox_pass_dtype(const ox_pass_builder *b, ox_reg reg) {
    return reg < 0 ? OX_UNDEFINED : b->pass.regs[reg].dtype;
}

static ox_reg add(ox_pass_builder *b, pass_reg reg) {
    ox_pass *pass = &b->pass;
    if (pass->nregs == b->room) {
        const int room = b->room ? 2 * b->room : FIRST_ROOM;
        pass_reg *more = ox_pile_array(b->pile, (size_t)room, sizeof *more);
        if (!more) { /* callers still ask for the types of registers that there are */
            b->failed = true;
            return -1;
        }
        if (pass->nregs)
            memcpy(more, pass->regs, (size_t)pass->nregs * sizeof *more);
        pass->regs = more;
        b->room = room;
    }
    if (b->failed)
        return -1;
    for (int k = 0; k < reg.nargs; k++)
        pass->regs[reg.args[k]].last = pass->nregs;
    pass->regs[pass->nregs] = reg;
    return pass->nregs++;
}

const void *ox_pass_keep(ox_pass_builder *b, const void *bytes, size_t size) {
    void *kept = b->failed ? NULL : ox_pile_get(b->pile, size);
    b->failed |= !kept;
    return kept ? memcpy(kept, bytes, size) : NULL;
}

ox_reg ox_pass_load(ox_pass_builder *b, const ox_tensor *tensor, const ox_tensor *shape) {
    int64_t *strides = b->failed ? NULL : ox_pile_array(b->pile, (size_t)b->rank + 1, sizeof *strides);
    b->failed |= !strides;
    if (b->failed)
        return -1;
    if (!shape)
        shape = tensor;
    if (ox_tensor_count(shape) != 1) /* one element repeats everywhere: strides 0 */
        ox_broadcast_strides(shape, b->rank, b->dims, strides);
    return add(b, (pass_reg){tensor->dtype, .operand = b->pass.noperands++, .tensor = tensor, .strides = strides});
}

ox_reg ox_pass_constant(ox_pass_builder *b, ox_dtype dtype, const void *element) {
    const void *kept = ox_pass_keep(b, element, ox_dtype_size(dtype));
    return kept ? add(b, (pass_reg){dtype, .repeats = true, .operand = -1, .attr = kept}) : -1;
}

ox_reg ox_pass_apply(ox_pass_builder *b, ox_lane *lane, const void *attr, ox_dtype result, int nargs,
                     const ox_reg *args) {
    if (!lane && !b->failed)
        b->lacking = nargs ? ox_pass_dtype(b, args[0]) : result;
    b->failed |= !lane;
    if (b->failed)
        return -1;
    pass_reg reg = {result, .nargs = (int8_t)nargs, .operand = -1, .lane = lane, .attr = attr};
    memcpy(reg.args, args, (size_t)nargs * sizeof *args);
    return add(b, reg);
}

ox_reg ox_pass_loop(ox_pass_builder *b, ox_lane *lane, const void *attr, ox_dtype result, int nargs,
                    const ox_reg *args) {
    return ox_pass_apply(b, lane, attr, result, nargs, args);
}

/* Here there is one loop for each operation. */
void ox_pass_describe(ox_pass_builder *b, ox_reg reg, ox_lane *tile_lane, ox_lane *row_lane, bool slow) {
    (void)b, (void)reg, (void)tile_lane, (void)row_lane, (void)slow;
}

/* Operators on rows run by themselves in small builds: src/ops/table.c. */
ox_reg ox_pass_fold(ox_pass_builder *b, ox_fold fold, ox_reg reg) {
    (void)fold, (void)reg;
    b->failed = true;
    return -1;
}

ox_reg ox_pass_softmax(ox_pass_builder *b, ox_reg reg) {
    (void)reg;
    b->failed = true;
    return -1;
}

void ox_pass_store(ox_pass_builder *b, ox_reg reg, const ox_tensor *out) {
    reg = ox_pass_convert(b, reg, out->dtype);
    /* Only the result of an instruction can be written where it is wanted. */
    if (reg >= 0 && !b->pass.regs[reg].lane)
        reg = ox_pass_apply(b, b->pass.loops->copy(ox_dtype_size(out->dtype)), NULL, out->dtype, 1, &reg);
    if (reg >= 0)
        b->pass.regs[reg].tensor = out;
}

/* ---- Planning ----------------------------------------------------------------------------------------------- */

static int64_t width_of(const pass_reg *reg) {
    return (int64_t)ox_dtype_size(reg->dtype);
}

/* Merged dimensions, and the steps of the operands through them. */
static bool plan_space(ox_pass_builder *b) {
    ox_pass *pass = &b->pass;
    size_t room = (size_t)b->rank + 1, n = (size_t)pass->noperands;
    const int64_t **strides = ox_pile_array(b->pile, n, sizeof *strides);
    pass->space.dim = ox_pile_array(b->pile, room, sizeof(int64_t));
    pass->space.step = ox_pile_array(b->pile, room * n, sizeof(int64_t));
    if (!strides || !pass->space.dim || !pass->space.step)
        return false;
    for (int r = 0; r < pass->nregs; r++)
        if (pass->regs[r].operand >= 0)
            strides[pass->regs[r].operand] = pass->regs[r].strides;
    ox_bcast_plan(&pass->space, (int)n, b->rank, b->dims, strides);
    return true;
}

/* Whether a register repeats, and whether it has a tile. */
static void plan_reg(const ox_pass *pass, pass_reg *reg) {
    if (reg->operand >= 0) {
        int64_t step = pass->space.step[reg->operand];
        reg->repeats = step == 0;
        reg->has_tile = step && step != width_of(reg);
    } else if (reg->lane) {
        reg->repeats = reg->has_tile = !reg->tensor;
        for (int k = 0; k < reg->nargs; k++)
            reg->repeats &= pass->regs[reg->args[k]].repeats;
    }
}

/* A result may lie where an operand of it did, if that is read for the last time. */
static bool takes_tile(const ox_pass *pass, ox_reg r, pass_reg *reg) {
    for (int k = 0; k < reg->nargs; k++) {
        const pass_reg *arg = &pass->regs[reg->args[k]];
        if (arg->has_tile && arg->last == r && width_of(arg) == width_of(reg) && arg->repeats == reg->repeats) {
            reg->tile = arg->tile;
            return true;
        }
    }
    return false;
}

static void plan_tiles(ox_pass *pass) {
    size_t each = 0, length = (size_t)pass->space.dim[0];
    for (int r = 0; r < pass->nregs; r++) {
        pass_reg *reg = &pass->regs[r];
        plan_reg(pass, reg);
        if (!reg->has_tile || takes_tile(pass, r, reg))
            continue;
        reg->tile = each;
        each += (size_t)width_of(reg);
    }
    pass->stretch = each ? OX_TILE_BYTES / each / SHORTEST * SHORTEST : length;
    if (each && pass->stretch < SHORTEST)
        pass->stretch = SHORTEST;
    for (int r = 0; r < pass->nregs; r++)
        pass->regs[r].tile *= pass->stretch;
    pass->tile_bytes = each * pass->stretch;
}

ox_pass *ox_pass_end(ox_pass_builder *b) {
    if (b->failed || !plan_space(b))
        return NULL;
    plan_tiles(&b->pass);
    return &b->pass;
}

size_t ox_pass_scratch(const ox_pass *pass) {
    return pass->tile_bytes + (size_t)pass->nregs * sizeof(pass_place);
}

/* One tile, as its callers see it: no thread shares the work. */
int64_t ox_pass_tiles(const ox_pass *pass) {
    return pass->space.dim[0] != 0;
}

int64_t ox_pass_tile_size(const ox_pass *pass) {
    return ox_count(pass->space.ndim, pass->space.dim);
}

/* ---- Running ------------------------------------------------------------------------------------------------ */

/* The elements of an operand, `first` from the start of the row on. */
static char *fetch(const ox_pass *pass, const pass_reg *reg, const char *row, size_t first, size_t n, char *tile) {
    const ptrdiff_t step = (ptrdiff_t)pass->space.step[reg->operand];
    const char *at = row + (ptrdiff_t)first * step;
    if (!reg->has_tile)
        return (char *)(uintptr_t)at;
    pass->loops->move((size_t)width_of(reg))((int64_t)n, tile, width_of(reg), at, step);
    return tile;
}

/* Computes a register; `done` elements of the output were before. */
static int compute(const ox_pass *pass, const pass_reg *reg, pass_place *places, size_t done, size_t n, char **to) {
    char *arg[OX_LANE_ARGS];
    int64_t step[OX_LANE_ARGS];
    step[0] = width_of(reg);
    if (reg->tensor)
        *to = (char *)reg->tensor->data + done * (size_t)step[0];
    arg[0] = *to;
    for (int k = 0; k < reg->nargs; k++) {
        const pass_reg *from = &pass->regs[reg->args[k]];
        arg[k + 1] = places[reg->args[k]].at;
        step[k + 1] = from->repeats ? 0 : width_of(from);
    }
    return reg->lane(reg->repeats ? 1 : (int64_t)n, arg, step, reg->attr);
}

/* All registers for `n` elements, `first` from the start of the row on. */
static int run_stretch(const ox_pass *pass, char *scratch, size_t first, size_t n, size_t done) {
    pass_place *places = (pass_place *)(void *)(scratch + pass->tile_bytes);
    int fault = 0;
    for (int r = 0; r < pass->nregs; r++) {
        const pass_reg *reg = &pass->regs[r];
        char *at = scratch + reg->tile;
        if (reg->operand >= 0)
            at = fetch(pass, reg, places[r].row, first, n, at);
        else if (reg->lane)
            fault |= compute(pass, reg, places, done, n, &at);
        else
            at = (char *)(uintptr_t)reg->attr;
        places[r].at = at;
    }
    return fault;
}

/* Moves the operands along dimension d, `count` entries. */
static void step_rows(const ox_pass *pass, pass_place *places, int d, ptrdiff_t count) {
    for (int r = 0; r < pass->nregs; r++)
        if (pass->regs[r].operand >= 0)
            places[r].row += count * (ptrdiff_t)pass->space.step[d * pass->space.nargs + pass->regs[r].operand];
}

int ox_pass_run(const ox_pass *pass, void *scratch, int64_t first, int64_t end, int *tag) {
    pass_place *places = (pass_place *)(void *)((char *)scratch + pass->tile_bytes);
    size_t index[OX_MAX_RANK + 1] = {0}, length = (size_t)pass->space.dim[0], done = 0;
    int fault = 0, d = first < end ? 0 : pass->space.ndim;
    *tag = 0;
    for (int r = 0; r < pass->nregs; r++)
        if (pass->regs[r].operand >= 0)
            places[r].row = pass->regs[r].tensor->data;
    while (d < pass->space.ndim) {
        for (size_t i = 0, n; i < length; i += n, done += n) {
            n = length - i < pass->stretch ? length - i : pass->stretch;
            fault |= run_stretch(pass, scratch, i, n, done);
        }
        for (d = 1; d < pass->space.ndim; d++) {
            const size_t dim = (size_t)pass->space.dim[d];
            step_rows(pass, places, d, 1);
            if (++index[d] < dim)
                break;
            step_rows(pass, places, d, -(ptrdiff_t)dim);
            index[d] = 0;
        }
    }
    return fault;
}
