/* pass_join.c: two instructions of a lane program as one loop, where only the second one wants what the first one
 * gives: that then stays in registers of the processor. Every operation is rounded as before, and so the result is the
 * same. */
#include "pass_program.h"

/* Operations that have a loop together with another one. */
enum {
    ADD,
    SUB,
    MUL,
    MAX,
    MIN,
    RELU,
    SIGMOID,
    OPERATIONS
};

static const ox_lane_set single[OPERATIONS] = {OX_LANES_Add, OX_LANES_Sub,  OX_LANES_Mul,    OX_LANES_Max,
                                               OX_LANES_Min, OX_LANES_Relu, OX_LANES_Sigmoid};
#define ROW(first)                                                                                                     \
    [ADD] = OX_LANES_##first##Add, [SUB] = OX_LANES_##first##Sub, [MUL] = OX_LANES_##first##Mul,                       \
    [MAX] = OX_LANES_##first##Max, [MIN] = OX_LANES_##first##Min
static const ox_lane_set pairs[OPERATIONS][OPERATIONS] = {
    [ADD] = {ROW(Add), [RELU] = OX_LANES_AddRelu},
    [SUB] = {ROW(Sub), [RELU] = OX_LANES_SubRelu},
    [MUL] = {ROW(Mul), [RELU] = OX_LANES_MulRelu},
    [MAX] = {ROW(Max)},
    [MIN] = {ROW(Min)},
    [SIGMOID] = {[MUL] = OX_LANES_SigmoidMul},
};

/* Which operation on floats an instruction is; OPERATIONS if it is none of them. */
static int operation_of(const ox_pass_builder *b, const pass_instruction *in) {
    int op = 0;
    while (op < OPERATIONS && in->lane != OX_BUILD_OF(b->loops, single[op])->fn[OX_FLOAT])
        op++;
    return op;
}

/* A sum of squares: of rows that lie one behind the other. */
static bool join_square(ox_pass_builder *b, const pass_instruction *first, pass_instruction *in) {
    const pass_rows *rows = in->attr;
    if (!in->folds || !rows->folder.squares || operation_of(b, first) != MUL || first->reg[1] != first->reg[2] ||
        b->pass.regs[first->reg[1]].same_rows)
        return false;
    pass_rows *joined = ox_pile_get(b->pile, sizeof *joined);
    if (!joined)
        return false;
    *joined = *rows;
    joined->folder.rows = rows->folder.squares;
    in->attr = joined;
    in->reg[1] = first->reg[1];
    return true;
}

static bool join_pair(ox_pass_builder *b, const pass_instruction *first, pass_instruction *in) {
    const int one = operation_of(b, first), two = operation_of(b, in);
    const ox_lane_set both = one < OPERATIONS && two < OPERATIONS ? pairs[one][two] : NULL;
    const bool is_left = in->reg[1] == first->reg[0];
    if (!both || (two == SUB && !is_left))
        return false;
    const bool swaps = b->pass.regs[first->reg[1]].level != PASS_EACH;
    if (swaps && one == SUB)
        return false;
    const ox_reg other = in->reg[is_left ? 2 : 1];
    in->lane = OX_BUILD_OF(b->loops, both)->fn[OX_FLOAT];
    in->tile_lane = NULL;
    in->slow |= first->slow;
    for (int k = 1; k <= first->nargs; k++)
        in->reg[k] = first->reg[swaps ? first->nargs + 1 - k : k];
    if (in->nargs == 2)
        in->reg[first->nargs + 1] = other;
    in->nargs += first->nargs - 1;
    return true;
}

static bool reads(const pass_instruction *in, ox_reg reg) {
    for (int k = 1; k <= in->nargs; k++)
        if (in->reg[k] == reg)
            return true;
    return false;
}

void ox_pass_join(ox_pass_builder *b, pass_instruction *in) {
    const pass_instruction *first = b->pass.ncode ? &b->pass.code[b->pass.ncode - 1] : NULL;
    if (!first || !reads(in, first->reg[0]) || (in->level != PASS_EACH && !in->folds))
        return;
    const pass_reg *between = &b->pass.regs[first->reg[0]];
    if (between->readers > 1 || between->store >= 0 || between->level != PASS_EACH)
        return;
    if (join_square(b, first, in) || join_pair(b, first, in)) {
        in->joined = first->tag;
        b->pass.ncode--;
    }
}
