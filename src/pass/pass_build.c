/* pass_build.c: writing lane programs. */
#include "pass_program.h"

#include <string.h>

/* ---- Growing lists ------------------------------------------------------------------------------------------ */

/* Entries of a list that has any. Instructions are large, and most programs have one or two. */
enum {
    FIRST_ROOM = 8,
    FIRST_CODE = 2,
    FIRST_STORES = 2
};

/* first: the entries of a list that had none. */
static void *grown(ox_pass_builder *b, void *list, int count, int *room, int first, size_t size) {
    if (count < *room)
        return list;
    int more = *room ? *room * 2 : first;
    void *moved = ox_pile_array(b->scratch, (size_t)more, size);
    if (!moved) {
        b->failed = true;
        return NULL;
    }
    if (count)
        memcpy(moved, list, (size_t)count * size);
    *room = more;
    return moved;
}

/* PUSH(b, regs, nregs) appends an entry to a list of the pass and returns a pointer to it; NULL once memory has run
 * out. */
#define PUSH(b, list, count) (push_##list(b) ? &(b)->pass.list[(b)->pass.count++] : NULL)
#define DEFINE_PUSH(list, count, room, first)                                                                          \
    static bool push_##list(ox_pass_builder *b) {                                                                      \
        void *moved = b->failed ? NULL : grown(b, b->pass.list, b->pass.count, &b->room, first, sizeof *b->pass.list); \
        if (moved)                                                                                                     \
            b->pass.list = moved;                                                                                      \
        return moved != NULL;                                                                                          \
    }
DEFINE_PUSH(regs, nregs, reg_room, FIRST_ROOM)
DEFINE_PUSH(code, ncode, code_room, FIRST_CODE)
DEFINE_PUSH(stores, nstores, store_room, FIRST_STORES)

static pass_operand *push_operand(ox_pass_builder *b) {
    int room = b->operand_room; /* operands and strides grow together */
    const int64_t **strides = grown(b, b->strides, b->pass.noperands, &room, FIRST_ROOM, sizeof *strides);
    pass_operand *operands =
        strides ? grown(b, b->pass.operands, b->pass.noperands, &b->operand_room, FIRST_ROOM, sizeof *operands) : NULL;
    if (!operands)
        return NULL;
    b->strides = strides;
    b->pass.operands = operands;
    return &operands[b->pass.noperands++];
}

ox_reg ox_pass_fail(ox_pass_builder *b) {
    if (b)
        b->failed = true;
    return -1;
}

ox_reg ox_pass_new_reg(ox_pass_builder *b, ox_dtype dtype) {
    pass_reg *reg = PUSH(b, regs, nregs);
    if (!reg)
        return -1;
    *reg = (pass_reg){.dtype = dtype, .operand = -1, .writer = -1, .last = -1, .store = -1, .spread = -1};
    return b->pass.nregs - 1;
}

pass_instruction *ox_pass_new_instruction(ox_pass_builder *b) {
    return PUSH(b, code, ncode);
}

pass_store *ox_pass_new_store(ox_pass_builder *b) {
    return PUSH(b, stores, nstores);
}

/* ---- The program -------------------------------------------------------------------------------------------- */

ox_pass_builder *ox_pass_begin(ox_pile *pile, ox_pile *scratch, const ox_loops *loops, int rank, const int64_t *dims,
                               int row_axes) {
    ox_pass_builder *b = ox_pile_get(scratch, sizeof *b);
    int64_t *copy = ox_pile_array(scratch, (size_t)rank, sizeof *copy);
    if (!b || !copy)
        return NULL;
    if (rank)
        memcpy(copy, dims, (size_t)rank * sizeof *copy);
    *b = (ox_pass_builder){
        .pile = pile, .scratch = scratch, .loops = loops, .rank = rank, .row_axes = row_axes, .dims = copy};
    b->pass.row = ox_count(row_axes, copy + rank - row_axes);
    b->pass.given = -1;
    return b;
}

const ox_loops *ox_pass_loops(const ox_pass_builder *b) {
    return b->loops;
}

void ox_pass_tag(ox_pass_builder *b, int tag) {
    b->tag = tag;
}

ox_dtype ox_pass_lacking(const ox_pass_builder *b) {
    return b ? b->lacking : OX_UNDEFINED;
}

ox_dtype ox_pass_dtype(const ox_pass_builder *b, ox_reg reg) {
    return reg < 0 ? OX_UNDEFINED : b->pass.regs[reg].dtype;
}

/* Two readers of the same tensor share an operand. Only the latest are looked at: a sum may have thousands. */
static ox_reg loaded(const ox_pass_builder *b, const ox_tensor *tensor, const int64_t *strides) {
    enum {
        LATEST = 16
    };
    for (int a = b->pass.noperands; a-- > 0 && a >= b->pass.noperands - LATEST;)
        if (b->pass.operands[a].tensor == tensor && ox_same_dims(b->rank, b->strides[a], b->rank, strides))
            return b->pass.operands[a].reg;
    return -1;
}

ox_reg ox_pass_load(ox_pass_builder *b, const ox_tensor *tensor, const ox_tensor *shape) {
    if (!b || b->failed)
        return -1;
    int64_t *strides = ox_pile_array(b->scratch, (size_t)b->rank + 1, sizeof *strides);
    if (!strides)
        return ox_pass_fail(b);
    if (!shape)
        shape = tensor;
    if (ox_tensor_count(shape) != 1) /* one element repeats everywhere: strides 0 */
        ox_broadcast_strides(shape, b->rank, b->dims, strides);
    ox_reg known = loaded(b, tensor, strides);
    if (known >= 0)
        return known;
    pass_operand *operand = push_operand(b);
    if (!operand)
        return -1;
    int index = b->pass.noperands - 1;
    b->strides[index] = strides;
    size_t width = ox_dtype_size(tensor->dtype);
    *operand = (pass_operand){
        .tensor = tensor, .width = (int64_t)width, .move = b->loops->move(width), .spread = b->loops->spread(width)};
    operand->reg = ox_pass_new_reg(b, tensor->dtype);
    if (operand->reg >= 0)
        b->pass.regs[operand->reg].operand = index;
    return operand->reg;
}

const void *ox_pass_keep(ox_pass_builder *b, const void *bytes, size_t size) {
    void *kept = b && !b->failed ? ox_pile_get(b->pile, size) : NULL;
    if (!kept) {
        ox_pass_fail(b);
        return NULL;
    }
    return memcpy(kept, bytes, size);
}

ox_reg ox_pass_given(ox_pass_builder *b, ox_dtype dtype) {
    ox_reg reg = b ? ox_pass_new_reg(b, dtype) : -1;
    if (reg >= 0) {
        b->pass.regs[reg].level = PASS_EACH;
        b->pass.given = reg;
    }
    return reg;
}

ox_reg ox_pass_constant(ox_pass_builder *b, ox_dtype dtype, const void *element) {
    const void *kept = ox_pass_keep(b, element, ox_dtype_size(dtype));
    ox_reg reg = kept ? ox_pass_new_reg(b, dtype) : -1;
    if (reg >= 0)
        b->pass.regs[reg].constant = kept;
    return reg;
}

ox_reg ox_pass_apply(ox_pass_builder *b, ox_lane *lane, const void *attr, ox_dtype result, int nargs,
                     const ox_reg *args) {
    if (!b || b->failed)
        return -1;
    if (!lane) {
        b->lacking = nargs ? ox_pass_dtype(b, args[0]) : result;
        b->failed = true;
        return -1;
    }
    pass_instruction *in = PUSH(b, code, ncode);
    if (!in)
        return -1;
    *in = (pass_instruction){.lane = lane, .attr = attr, .tag = b->tag, .nargs = nargs};
    for (int k = 0; k < nargs; k++) {
        in->reg[k + 1] = args[k];
        b->pass.regs[args[k]].readers++;
    }
    in->reg[0] = ox_pass_new_reg(b, result);
    if (in->reg[0] >= 0)
        b->pass.regs[in->reg[0]].writer = b->pass.ncode - 1;
    return in->reg[0];
}

ox_reg ox_pass_loop(ox_pass_builder *b, ox_lane *lane, const void *attr, ox_dtype result, int nargs,
                    const ox_reg *args) {
    ox_reg reg = ox_pass_apply(b, lane, attr, result, nargs, args);
    if (reg >= 0)
        b->pass.code[b->pass.ncode - 1].streams = b->loops->streams;
    return reg;
}

void ox_pass_describe(ox_pass_builder *b, ox_reg reg, ox_lane *tile_lane, ox_lane *row_lane, bool slow) {
    if (reg < 0)
        return;
    pass_instruction *in = &b->pass.code[b->pass.regs[reg].writer];
    in->tile_lane = tile_lane;
    in->row_lane = row_lane;
    in->slow = slow;
}
