/* pass_store.c: the results of lane programs: which registers are stored, and which operands are read behind that. */
#include "pass_program.h"

void ox_pass_store(ox_pass_builder *b, ox_reg reg, const ox_tensor *out) {
    reg = ox_pass_convert(b, reg, out->dtype);
    /* Only the result of an instruction can be written where it is wanted, and only to one place. */
    if (reg >= 0 && (b->pass.regs[reg].writer < 0 || b->pass.regs[reg].store >= 0))
        reg = ox_pass_loop(b, b->loops->copy(ox_dtype_size(out->dtype)), NULL, out->dtype, 1, &reg);
    pass_store *store = reg >= 0 ? ox_pass_new_store(b) : NULL;
    if (!store)
        return;
    bool whole = ox_tensor_count(out) == ox_count(b->rank, b->dims);
    *store = (pass_store){reg, (int64_t)ox_dtype_size(out->dtype), out, whole ? PASS_EACH : PASS_ROW, false};
    b->pass.regs[reg].store = b->pass.nstores - 1;
}

/* The store to a tensor; NULL if there is none. */
static pass_store *store_of(const ox_pass_builder *b, const ox_tensor *out) {
    for (int s = 0; s < b->pass.nstores; s++)
        if (b->pass.stores[s].out == out)
            return &b->pass.stores[s];
    return NULL;
}

void ox_pass_stream(ox_pass_builder *b, const ox_tensor *out) {
    pass_store *store = store_of(b, out);
    if (store)
        store->streamed = true;
}

/* True if an instruction after the writer of register `written` reads `reg`. */
static bool reads_behind(const pass_draft *pass, ox_reg reg, ox_reg written) {
    for (int i = pass->regs[written].writer + 1; i < pass->ncode; i++)
        for (int k = 1; k <= pass->code[i].nargs; k++)
            if (pass->code[i].reg[k] == reg)
                return true;
    return false;
}

bool ox_pass_reads_later(const ox_pass_builder *b, const ox_tensor *in, const ox_tensor *out) {
    const pass_store *store = store_of(b, out);
    for (int a = 0; store && a < b->pass.noperands; a++)
        if (b->pass.operands[a].tensor == in && reads_behind(&b->pass, b->pass.operands[a].reg, store->reg))
            return true;
    return false;
}
