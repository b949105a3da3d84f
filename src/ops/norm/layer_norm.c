/* layer_norm.c: LayerNormalization, RMSNormalization, InstanceNormalization, GroupNormalization, LpNormalization and
 * MeanVarianceNormalization. */
#include "norm.h"

/* ---- LayerNormalization and RMSNormalization ---------------------------------------------------------------- */

/* All dimensions from the axis on are normalised together. */
static ox_status describe_last(ox_call *call, ox_norm_kind kind, ox_norm *norm) {
    int axis;
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", -1), call->in[0]->rank, &axis));
    ox_norm_start(call, kind, norm);
    norm->epsilon = (double)ox_call_float(call, "epsilon", 1e-5f);
    norm->scale = 1;
    for (int d = axis; d < norm->rank; d++)
        norm->set |= OX_AXIS(d);
    return OX_OK;
}

static ox_status describe_layer(ox_call *call, ox_norm *norm) {
    OX_TRY(describe_last(call, OX_NORM_VARIANCE, norm));
    norm->bias = ox_call_given(call, 2) ? 2 : 0;
    return OX_OK;
}

static ox_status describe_rms(ox_call *call, ox_norm *norm) {
    return describe_last(call, OX_NORM_SQUARES, norm);
}

/* Scale and bias broadcast in one direction only. */
static ox_status check_broadcast(ox_call *call, int i) {
    const ox_tensor *x = call->in[0], *t = call->in[i];
    int rank = x->rank;
    int64_t dims[OX_MAX_RANK];
    if (rank)
        memcpy(dims, x->dims, (size_t)rank * sizeof *dims);
    if (ox_broadcast_dims(&rank, dims, t->rank, t->dims) && ox_same_dims(rank, dims, x->rank, x->dims))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s does not broadcast to the shape of %s", OX_INPUT(call, i),
                        OX_INPUT(call, 0));
}

/* The type that the attribute stash_type names; only that statistics are at least as precise matters. */
static ox_status read_stash(ox_call *call, ox_dtypes allowed, ox_dtype *dtype) {
    const int64_t number = ox_call_int(call, "stash_type", OX_FLOAT);
    *dtype = number > 0 && number < OX_DTYPE_COUNT ? (ox_dtype)number : OX_UNDEFINED;
    if (OX_BIT(*dtype) & allowed)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'stash_type' names a type (%lld) that is not allowed here",
                        (long long)number);
}

/* Before opset 17, it is what optimisers write into models of any opset: the scale may have another type than x, which
 * is the result's. */
ox_status ox_infer_layer_norm(ox_call *call) {
    const ox_tensor *x = call->in[0];
    const bool is_early = call->op->since < 17;
    ox_norm norm;
    ox_dtype stash;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, 1, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, is_early ? 1 : 0, call->nin - 1));
    OX_TRY(describe_layer(call, &norm));
    OX_TRY(read_stash(call, OX_BIT(OX_FLOAT) | OX_BIT(is_early ? OX_DOUBLE : OX_BFLOAT16), &stash));
    for (int i = 1; i < call->nin; i++)
        if (call->in[i])
            OX_TRY(check_broadcast(call, i));
    for (int d = 0; d < norm.rank; d++)
        norm.dims[d] = norm.set & OX_AXIS(d) ? 1 : norm.dims[d];
    for (int k = 1; k < call->nout; k++)
        OX_TRY(ox_call_output(call, k, stash, norm.rank, norm.dims));
    return ox_call_output(call, 0, call->in[1]->dtype, x->rank, x->dims);
}

ox_status ox_infer_rms_norm(ox_call *call) {
    const ox_tensor *x = call->in[0];
    ox_norm norm;
    ox_dtype stash;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, 1, call->op->dtypes));
    OX_TRY(describe_rms(call, &norm));
    OX_TRY(read_stash(call, OX_SET_FLOAT, &stash));
    OX_TRY(check_broadcast(call, 1));
    return ox_call_output(call, 0, call->in[1]->dtype, x->rank, x->dims);
}

OX_NORM(layer_norm, describe_layer)
OX_NORM(rms_norm, describe_rms)

/* Mean and inverse deviation, where somebody asks for them. */
ox_status ox_run_layer_norm(ox_call *call) {
    int64_t count;
    ox_norm norm;
    OX_TRY(ox_norm_run(call));
    OX_TRY(describe_layer(call, &norm));
    const ox_norm_statistic *statistics = ox_norm_statistics(call, &count);
    for (int64_t i = 0; i < count; i++) {
        if (call->nout > 1 && call->out[1])
            ox_norm_put(call->out[1], i, statistics[i].mean);
        if (call->nout > 2 && call->out[2])
            ox_norm_put(call->out[2], i, ox_norm_inverse(statistics[i].spread, norm.epsilon));
    }
    return OX_OK;
}

ox_status ox_run_rms_norm(ox_call *call) {
    return ox_norm_run(call);
}

/* ---- InstanceNormalization and GroupNormalization ----------------------------------------------------------- */

static ox_status check_channels(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, 2));
    if (call->in[0]->rank < 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: dimensions for images and channels are expected",
                            OX_INPUT(call, 0));
    return OX_OK;
}

static ox_status describe_instance(ox_call *call, ox_norm *norm) {
    ox_norm_start(call, OX_NORM_VARIANCE, norm);
    norm->epsilon = (double)ox_call_float(call, "epsilon", 1e-5f);
    norm->scale = norm->at = norm->spread = 1;
    norm->bias = 2;
    for (int d = 2; d < norm->rank; d++)
        norm->set |= OX_AXIS(d);
    return OX_OK;
}

ox_status ox_infer_instance_norm(ox_call *call) {
    const ox_tensor *x = call->in[0];
    OX_TRY(check_channels(call));
    OX_TRY(ox_norm_check_channels(call, 1, 2, x->dims[1], "channels"));
    return ox_call_output(call, 0, x->dtype, x->rank, x->dims);
}

OX_NORM(instance_norm, describe_instance)

ox_status ox_run_instance_norm(ox_call *call) {
    return ox_norm_run(call);
}

/* Images, groups, channels of a group, and what lies in a channel. Scales belong to groups before version 21. */
static ox_status describe_group(ox_call *call, ox_norm *norm) {
    const ox_tensor *x = call->in[0];
    const int64_t groups = ox_call_int(call, "num_groups", 0);
    if (groups < 1 || x->dims[1] % groups)
        return ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'num_groups' (%lld) does not divide the channels of %s",
                            (long long)groups, OX_INPUT(call, 0));
    const int64_t inner = ox_count(x->rank - 2, x->dims + 2);
    if (inner < 0)
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s has too large channels", OX_INPUT(call, 0));
    *norm = (ox_norm){.kind = OX_NORM_VARIANCE,
                      .rank = 4,
                      .dims = {x->dims[0], groups, x->dims[1] / groups, inner},
                      .set = OX_AXIS(2) | OX_AXIS(3),
                      .epsilon = (double)ox_call_float(call, "epsilon", 1e-5f),
                      .scale = 1,
                      .bias = 2,
                      .at = 1,
                      .spread = call->op->since < 21 ? 1 : 2};
    return OX_OK;
}

ox_status ox_infer_group_norm(ox_call *call) {
    const ox_tensor *x = call->in[0];
    ox_norm norm;
    ox_dtype stash;
    OX_TRY(check_channels(call));
    OX_TRY(describe_group(call, &norm));
    if (call->op->since >= 21)
        OX_TRY(read_stash(call, OX_SET_FLOAT, &stash));
    if (call->op->since < 21)
        OX_TRY(ox_norm_check_channels(call, 1, 2, norm.dims[1], "groups"));
    else
        OX_TRY(ox_norm_check_channels(call, 1, 2, x->dims[1], "channels"));
    return ox_call_output(call, 0, x->dtype, x->rank, x->dims);
}

ox_status ox_prepare_group_norm(ox_call *call) {
    return ox_norm_prepare(call, describe_group);
}

ox_status ox_run_group_norm(ox_call *call) {
    return ox_norm_run(call);
}

/* ---- LpNormalization and MeanVarianceNormalization ---------------------------------------------------------- */

static ox_status describe_lp(ox_call *call, ox_norm *norm) {
    const int64_t p = ox_call_int(call, "p", 2);
    int axis;
    if (p != 1 && p != 2)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'p' must be 1 or 2, not %lld", (long long)p);
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", -1), call->in[0]->rank, &axis));
    ox_norm_start(call, p == 1 ? OX_NORM_L1 : OX_NORM_L2, norm);
    norm->set = OX_AXIS(axis);
    return OX_OK;
}

static ox_status describe_mean_variance(ox_call *call, ox_norm *norm) {
    ox_short_list axes;
    OX_TRY(ox_list_attr(call, "axes", &axes));
    if (!axes.given)
        axes = (ox_short_list){true, 3, {0, 2, 3}};
    ox_norm_start(call, OX_NORM_DEVIATION, norm);
    norm->epsilon = 1e-9;
    OX_TRY(ox_axes_set(call, &axes, norm->rank, &norm->set));
    if (!axes.count) /* as in the reductions that it is a function of */
        for (int d = 0; d < norm->rank; d++)
            norm->set |= OX_AXIS(d);
    return OX_OK;
}

static ox_status infer(ox_call *call, ox_norm_fn *describe) {
    const ox_tensor *x = call->in[0];
    ox_norm norm;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(describe(call, &norm));
    return ox_call_output(call, 0, x->dtype, x->rank, x->dims);
}

ox_status ox_infer_lp_norm(ox_call *call) {
    return infer(call, describe_lp);
}

ox_status ox_infer_mean_variance_norm(ox_call *call) {
    return infer(call, describe_mean_variance);
}

OX_NORM(lp_norm, describe_lp)
OX_NORM(mean_variance_norm, describe_mean_variance)

ox_status ox_run_lp_norm(ox_call *call) {
    return ox_norm_run(call);
}

ox_status ox_run_mean_variance_norm(ox_call *call) {
    return ox_norm_run(call);
}
