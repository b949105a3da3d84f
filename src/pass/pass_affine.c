/* pass_affine.c: programs that products can do with their sums, before these leave the registers of the processor. */
#include "pass_program.h"

#include <math.h>

/* The operand that a step takes beside what the step before gives; -1 if that is no tensor of floats. */
static int operand_of(const pass_draft *pass, const pass_instruction *in, ox_reg before) {
    const pass_reg *reg = &pass->regs[in->reg[1] == before ? in->reg[2] : in->reg[1]];
    return reg->dtype == OX_FLOAT ? reg->operand : -1;
}

/* The same for a number; NaN if it is none. */
static float number_of(const pass_draft *pass, const pass_instruction *in, ox_reg before) {
    const pass_reg *reg = &pass->regs[in->reg[1] == before ? in->reg[2] : in->reg[1]];
    return reg->constant && reg->dtype == OX_FLOAT ? *(const ox_f32 *)reg->constant : NAN;
}

/* Whether an operand lies as the output does. */
static bool is_whole(const pass_draft *pass, int operand) {
    int64_t step = sizeof(float);
    for (int d = 0; d < pass->space.ndim; step *= pass->space.dim[d++])
        if (pass->operands[operand].steps[d] != step)
            return false;
    return true;
}

/* The operand as one that broadcasts, which it must do like the operand before it, if there is one: its values are
 * along one merged dimension, and repeat along all others. An operand of one element has no period. NULL for any other
 * one. */
static const ox_tensor *take_broadcast(const pass_draft *pass, int operand, ox_pass_period *period) {
    const ox_bcast *space = &pass->space;
    const int64_t *steps = pass->operands[operand].steps;
    ox_pass_period found = {.each = 1};
    int d = 0;
    for (; d < space->ndim && !steps[d]; d++)
        found.each *= space->dim[d];
    if (d == space->ndim || steps[d] != (int64_t)sizeof(float))
        return NULL;
    found.count = space->dim[d];
    while (++d < space->ndim)
        if (steps[d])
            return NULL;
    if (period->count && (period->each != found.each || period->count != found.count))
        return NULL;
    *period = found;
    return pass->operands[operand].tensor;
}

/* Takes a lower limit: as the loops of Max do, +0 makes +0 of -0, too. */
static bool take_low(ox_pass_affine *affine, float low) {
    affine->low = low;
    affine->behind = low == 0 && !signbit(low) ? 0.0F : -0.0F;
    return !isnan(low);
}

static bool take_high(ox_pass_affine *affine, float high) {
    affine->high = high;
    return !isnan(high) && (high != 0 || !signbit(high));
}

/* The steps in the order in which they may come. */
enum {
    STEP_SCALE,
    STEP_ADD,
    STEP_PLUS,
    STEP_LOW,
    STEP_HIGH
};

/* Takes an instruction that may be step *step or one behind it. */
static bool take_step(const ox_pass_builder *b, const pass_instruction *in, ox_reg before, int *step,
                      ox_pass_affine *affine) {
    static const int of_kind[] = {[OX_LINK_Mul] = STEP_SCALE + 1,
                                  [OX_LINK_Add] = STEP_ADD + 1,
                                  [OX_LINK_Max] = STEP_LOW + 1,
                                  [OX_LINK_Min] = STEP_HIGH + 1,
                                  [OX_LINK_Relu] = STEP_LOW + 1};
    const ox_link_kind kind = ox_pass_link_of(b, in);
    int which = kind < sizeof of_kind / sizeof *of_kind ? of_kind[kind] - 1 : -1;
    const int operand = which == STEP_SCALE || which == STEP_ADD ? operand_of(&b->pass, in, before) : -1;
    const bool whole = operand >= 0 && is_whole(&b->pass, operand);
    if (which == STEP_ADD && whole)
        which = STEP_PLUS;
    if (which < *step || (which == STEP_SCALE && whole) || (which <= STEP_PLUS && operand < 0))
        return false;
    *step = which + 1;
    switch (which) {
    case STEP_SCALE:
        return (affine->scale = take_broadcast(&b->pass, operand, &affine->period));
    case STEP_ADD:
        return (affine->add = take_broadcast(&b->pass, operand, &affine->period));
    case STEP_PLUS:
        affine->plus = b->pass.operands[operand].tensor;
        return true;
    case STEP_LOW:
        return take_low(affine, kind == OX_LINK_Relu ? 0 : number_of(&b->pass, in, before));
    default:
        return take_high(affine, number_of(&b->pass, in, before));
    }
}

bool ox_pass_is_affine(const ox_pass_builder *b, ox_pass_affine *affine) {
    const pass_draft *pass = &b->pass;
    ox_reg before = pass->given;
    int step = 0;
    if (before < 0 || pass->nstores != 1 || pass->stores->level != PASS_EACH)
        return false;
    *affine = (ox_pass_affine){.low = -INFINITY, .behind = -0.0F, .high = INFINITY, .out = pass->stores->out};
    for (int i = 0; i < pass->nwritten; i++) {
        const pass_instruction *in = &pass->written[i];
        const bool once =
            in->reg[1] == before ? in->nargs == 1 || in->reg[2] != before : in->nargs == 2 && in->reg[2] == before;
        if (!once || !take_step(b, in, before, &step, affine))
            return false;
        before = in->reg[0];
    }
    return pass->stores->reg == before && pass->regs[before].dtype == OX_FLOAT && pass->stores->out->dtype == OX_FLOAT;
}
