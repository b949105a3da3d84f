/* epilogue.c: what follows a dense operator, part by part. */
#include "epilogue.h"
#include "op.h"

/* A fault and the tag of its instruction are kept in one number, which is less where the tag is. */
enum {
    FAULTS = 2 * OX_LANE_FAULT
};

size_t ox_epilogue_scratch(const ox_epilogue *epilogue) {
    return epilogue ? ox_pass_scratch(epilogue->pass) : 0;
}

const ox_pass_affine *ox_epilogue_affine(const ox_epilogue *epilogue) {
    return epilogue ? ox_pass_get_affine(epilogue->pass) : NULL;
}

ox_finish ox_epilogue_finish(const ox_pass_affine *affine) {
    return (ox_finish){.is_used = true,
                       .scale = affine->scale ? affine->scale->data : NULL,
                       .add = affine->add ? affine->add->data : NULL,
                       .plus = affine->plus ? affine->plus->data : NULL,
                       .low = affine->low,
                       .behind = affine->behind,
                       .high = affine->high};
}

void ox_epilogue_take(ox_epilogue *epilogue, const ox_pass_part *part, const void *sums, void *scratch) {
    OX_ASSERT(part->rows > 0 && part->count > 0 && ox_is_aligned(scratch));
    OX_ASSERT(part->rows == 1 || part->step >= part->count);
    int tag, fault = ox_pass_run_given(epilogue->pass, scratch, sums, part, &tag);
    if (!fault)
        return;
    fault &= FAULTS - 1;
    int found = tag * FAULTS + (fault ? fault : OX_LANE_FAULT), before = atomic_load(&epilogue->fault);
    while ((!before || found < before) && !atomic_compare_exchange_weak(&epilogue->fault, &before, found))
        continue;
}

int ox_epilogue_fault(ox_epilogue *epilogue, int *tag) {
    int found = atomic_exchange(&epilogue->fault, 0);
    *tag = found / FAULTS;
    return found % FAULTS;
}

ox_reg ox_epilogue_load(ox_call *call, ox_pass_builder *builder, int input, const ox_tensor *shape) {
    OX_ASSERT(call->epilogue && input < call->nin);
    call->epilogue->reads |= 1U << input;
    return ox_pass_load(builder, call->in[input], shape);
}

ox_reg ox_epilogue_write(ox_call *call, ox_pass_builder *builder) {
    const ox_dense *dense = call->op->detail;
    const ox_dtype dtype = call->out[0]->dtype;
    call->epilogue->reads = 0;
    ox_reg sums = ox_pass_given(builder, ox_dtype_compute(dtype));
    return ox_pass_convert(builder, dense->emit(call, builder, sums), dtype);
}

/* MatMul: the sums are the result. */
ox_reg ox_emit_product(ox_call *call, ox_pass_builder *builder, ox_reg sums) {
    (void)call, (void)builder;
    return sums;
}
