/* own_pass.c: ending and running such programs. */
#include "own_pass.h"
#include "dense.h"
#include "pass_parts.h"

ox_status ox_own_pass_end(ox_call *call, ox_pass_builder *builder, ox_reg result, const ox_tensor *out,
                          ox_own_pass *own) {
    if (result >= 0)
        ox_pass_store(builder, result, out);
    own->pass = result >= 0 ? ox_pass_end(builder) : NULL;
    if (!own->pass)
        return ox_elementwise_failed(call);
    ox_elementwise_note(call, own->pass);
    const double bytes = (double)ox_tensor_count(out) * (double)ox_dtype_size(out->dtype);
    own->parts = ox_pool_parts(ox_pool_for(call->pool, bytes));
    return ox_workspace_add(call, 1, ox_pass_parts_scratch(own->pass, own->parts));
}

ox_status ox_own_pass_run(const ox_call *call, size_t *used, const ox_own_pass *own) {
    void *scratch = ox_workspace_take(call, used, 1, ox_pass_parts_scratch(own->pass, own->parts));
    int tag;
    const int fault = ox_pass_parts_run(own->pass, call->pool, own->parts, scratch, &tag);
    return fault ? ox_elementwise_fault(call->error, fault) : OX_OK;
}

ox_reg ox_own_pass_number(ox_pass_builder *builder, ox_reg like, float number) {
    return ox_pass_convert(builder, ox_pass_constant(builder, OX_FLOAT, &number), ox_pass_dtype(builder, like));
}
