/* gradient.c: Gradient, when the loader has written the nodes that compute it: they give its inputs. */
#include "ops/op.h"

/* Gradient (1): what it reads are the gradients, one for each output. */
ox_status ox_infer_gradient(ox_call *call) {
    int64_t strides[OX_MAX_RANK];
    for (int k = 0; k < call->nout; k++) {
        const ox_tensor *in = call->in[k];
        OX_TRY(ox_call_check_dtype(call, k, call->op->dtypes));
        ox_tensor_strides(in, strides);
        OX_TRY(ox_call_view(call, k, k, 0, in->rank, in->dims, strides));
    }
    return OX_OK;
}
