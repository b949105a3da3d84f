/* early.c: experimental operators of ONNX's first opsets, which the loader writes as others (src/rewrite/function.c):
 * what their types, shapes and attributes must be. */
#include "ops/axes.h"

static ox_status need_attr(ox_call *call, const char *name) {
    return ox_call_has(call, name)
               ? OX_OK
               : ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' is missing, and has no default", name);
}

static ox_status check_image(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    if (call->in[0]->rank == 4)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have four dimensions", OX_INPUT(call, 0));
}

/* ParametricSoftplus and ScaledTanh. */
ox_status ox_infer_two_factors(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(need_attr(call, "alpha"));
    return need_attr(call, "beta");
}

ox_status ox_infer_early_image(ox_call *call) {
    return check_image(call);
}

ox_status ox_infer_image_scaler(ox_call *call) {
    OX_TRY(check_image(call));
    OX_TRY(need_attr(call, "bias"));
    const ox_attr *bias = ox_call_attr(call, "bias", OX_ATTR_FLOATS);
    const int64_t channels = call->in[0]->dims[1];
    if (!bias || (int64_t)bias->count == channels)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'bias' has %zu numbers, but %s has %lld channels", bias->count,
                        OX_INPUT(call, 0), (long long)channels);
}

/* border: left, top, right, bottom; scale: height and width. */
ox_status ox_infer_crop(ox_call *call) {
    ox_short_list border, scale;
    OX_TRY(check_image(call));
    OX_TRY(need_attr(call, "border"));
    OX_TRY(ox_list_attr(call, "border", &border));
    OX_TRY(ox_list_attr(call, "scale", &scale));
    if (border.count != 4 || (scale.given && scale.count != 2))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attributes 'border' and 'scale' must have 4 and 2 numbers, not %d and %d", border.count,
                            scale.count);
    for (int d = 0; d < 2; d++) {
        const int64_t start = border.value[1 - d], rest = scale.given ? scale.value[d] : border.value[3 - d],
                      size = call->in[0]->dims[2 + d];
        if (start < 0 || rest < 0 || start > size || rest > size - start)
            return ox_call_fail(call, OX_ERROR_SHAPE, "dimension %d of %s has no room for %lld elements behind %lld",
                                2 + d, OX_INPUT(call, 0), (long long)rest, (long long)start);
    }
    return OX_OK;
}
