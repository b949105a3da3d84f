/* pass_convert.c: registers of lane programs as other types. */
#include "pass.h"

/* An instruction whose attribute is kept with the pass. */
static ox_reg apply_kept(ox_pass_builder *b, ox_lane *lane, const void *attr, size_t size, ox_dtype result,
                         ox_reg reg) {
    const void *kept = ox_pass_keep(b, attr, size);
    return kept ? ox_pass_loop(b, lane, kept, result, 1, &reg) : -1;
}

ox_reg ox_pass_widen(ox_pass_builder *b, ox_reg reg) {
    ox_dtype dtype = ox_pass_dtype(b, reg), wide = ox_dtype_compute(dtype);
    return reg < 0 || wide == dtype ? reg : apply_kept(b, ox_pass_loops(b)->widen, &dtype, sizeof dtype, wide, reg);
}

ox_reg ox_pass_narrow(ox_pass_builder *b, ox_reg reg, const ox_narrowing *how) {
    ox_dtype dtype = how->dtype, wide = ox_dtype_compute(dtype);
    if (reg < 0 || ox_pass_dtype(b, reg) == dtype)
        return reg;
    reg = ox_pass_widen(b, reg);
    ox_dtype from = ox_pass_dtype(b, reg);
    if (from != wide && reg >= 0) {
        ox_lane *lane = wide == dtype                ? ox_pass_loops(b)->cast(from, wide)
                        : ox_pass_loops(b)->cast_odd ? ox_pass_loops(b)->cast_odd(from)
                                                     : NULL;
        reg = ox_pass_loop(b, lane, NULL, wide, 1, &reg);
    }
    if (reg < 0)
        return -1;
    if (wide != dtype)
        return apply_kept(b, ox_pass_loops(b)->narrow, how, sizeof *how, dtype, reg);
    bool wraps = ox_dtype_bits(dtype) > 0 && ox_dtype_bits(dtype) < 8;
    return wraps ? apply_kept(b, ox_pass_loops(b)->wrap, &dtype, sizeof dtype, dtype, reg) : reg;
}

ox_reg ox_pass_convert(ox_pass_builder *b, ox_reg reg, ox_dtype dtype) {
    return ox_pass_narrow(b, reg, &(ox_narrowing){.dtype = dtype});
}
