/* elementwise.c: the elementwise operators: their shapes, and the lane programs that they are. */
#include "elementwise.h"
#include "iterate/bcast.h"

#include <float.h>
#include <string.h>

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

static ox_status fail_broadcast(ox_call *call, int a, int b) {
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s does not broadcast with %s", OX_INPUT(call, b), OX_INPUT(call, a));
}

/* Add and its kin before opset 7: with broadcast=1, the second input is aligned at `axis` of the first, or at its end.
 * Gives the second input's dims as they are to be broadcast. */
static ox_status legacy_dims(ox_call *call, int *rank, int64_t *dims) {
    const ox_tensor *a = call->in[0], *b = call->in[1];
    *rank = b->rank;
    if (b->rank)
        memcpy(dims, b->dims, (size_t)b->rank * sizeof *dims);
    if (!ox_call_int(call, "broadcast", 0)) {
        if (ox_same_dims(a->rank, a->dims, b->rank, b->dims))
            return OX_OK;
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same shape without broadcast=1",
                            OX_INPUT(call, 0), OX_INPUT(call, 1));
    }
    if (!ox_call_has(call, "axis") || ox_tensor_count(b) == 1)
        return OX_OK;
    int axis;
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), a->rank, &axis));
    if (axis + b->rank > a->rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s at axis %d does not fit %s", OX_INPUT(call, 1), axis,
                            OX_INPUT(call, 0));
    for (; *rank < a->rank - axis; ++*rank)
        dims[*rank] = 1;
    return OX_OK;
}

/* PRelu before opset 7: a slope of one dimension belongs to the channels, dimension 1. */
static void legacy_slope_dims(const ox_call *call, int *rank, int64_t *dims) {
    const ox_tensor *x = call->in[0], *slope = call->in[1];
    *rank = slope->rank;
    if (slope->rank)
        memcpy(dims, slope->dims, (size_t)slope->rank * sizeof *dims);
    if (slope->rank == 1 && x->rank >= 2 && slope->dims[0] != 1)
        for (; *rank < x->rank - 1; ++*rank)
            dims[*rank] = 1;
}

/* Scales and zero points of one dimension belong to dimension `axis`. */
static ox_status axis_dims(ox_call *call, int i, int *rank, int64_t *dims) {
    int axis;
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 1), call->in[0]->rank, &axis));
    dims[0] = call->in[i]->dims[0];
    for (*rank = 1; *rank < call->in[0]->rank - axis; ++*rank)
        dims[*rank] = 1;
    return OX_OK;
}

/* The shape that input i is broadcast with: mostly its own. */
static ox_status input_dims(ox_call *call, int i, int *rank, int64_t *dims) {
    const ox_tensor *t = call->in[i];
    if (i == 1 && ox_op_has(call->op, OX_OP_LEGACY))
        return legacy_dims(call, rank, dims);
    if (i == 1 && ox_op_has(call->op, OX_OP_LEGACY_SLOPE)) {
        legacy_slope_dims(call, rank, dims);
        return OX_OK;
    }
    if (i > 0 && ox_op_has(call->op, OX_OP_AXIS) && t->rank == 1 && t->dims[0] != 1)
        return axis_dims(call, i, rank, dims);
    *rank = t->rank;
    if (t->rank)
        memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
    return OX_OK;
}

static ox_status broadcast_to(ox_call *call, ox_dtype dtype) {
    int rank = call->in[0]->rank, other_rank;
    int64_t dims[OX_MAX_RANK], other[OX_MAX_RANK];
    if (rank)
        memcpy(dims, call->in[0]->dims, (size_t)rank * sizeof *dims);
    for (int i = 1; i < call->nin; i++) {
        OX_TRY(input_dims(call, i, &other_rank, other));
        if (!ox_broadcast_dims(&rank, dims, other_rank, other))
            return fail_broadcast(call, 0, i);
    }
    bool legacy = ox_op_has(call->op, OX_OP_LEGACY);
    if (legacy && !ox_same_dims(rank, dims, call->in[0]->rank, call->in[0]->dims))
        return fail_broadcast(call, 0, 1);
    return ox_call_output(call, 0, dtype, rank, dims);
}

/* All inputs of one type, broadcast; the result has their type. */
ox_status ox_infer_broadcast(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, call->nin - 1));
    return broadcast_to(call, call->in[0]->dtype);
}

ox_status ox_infer_compare(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, 1));
    return broadcast_to(call, OX_BOOL);
}

/* Base and exponent of different types; the result has the base's. */
ox_status ox_infer_pow(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, 1, OX_SET_NUM));
    return broadcast_to(call, call->in[0]->dtype);
}

ox_status ox_infer_where(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_BOOL));
    OX_TRY(ox_call_check_dtype(call, 1, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 1, 2));
    return broadcast_to(call, call->in[1]->dtype);
}

/* The result has the first input's shape: the slope broadcasts in one direction only. */
ox_status ox_infer_prelu(ox_call *call) {
    const ox_tensor *x = call->in[0], *slope = call->in[1];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, 1));
    if (ox_infer_broadcast(call) == OX_OK &&
        ox_same_dims(call->results[0].rank, call->results[0].dims, x->rank, x->dims))
        return OX_OK;
    bool by_channel = slope->rank == 1 && x->rank > 2 && slope->dims[0] == x->dims[1];
    return ox_call_fail(call, OX_ERROR_SHAPE, "the slope, %s, does not broadcast to the shape of %s%s",
                        OX_INPUT(call, 1), OX_INPUT(call, 0),
                        by_channel ? ": slopes per channel need a dimension of 1 for each axis after the channels"
                                   : "");
}

ox_status ox_infer_like(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    return ox_call_output(call, 0, call->in[0]->dtype, call->in[0]->rank, call->in[0]->dims);
}

ox_status ox_infer_clip(ox_call *call) {
    OX_TRY(ox_call_check_same(call, 0, call->nin - 1));
    for (int i = 1; i < call->nin; i++)
        if (call->in[i] && ox_tensor_count(call->in[i]) != 1)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a scalar", OX_INPUT(call, i));
    return ox_infer_like(call);
}

ox_status ox_infer_shift(ox_call *call) {
    ox_string direction = ox_call_string(call, "direction", "");
    if (!ox_says(direction, "LEFT") && !ox_says(direction, "RIGHT"))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'direction' must be LEFT or RIGHT, not '%.*s'",
                            OX_SHORT(direction));
    return ox_infer_broadcast(call);
}

/* Before version 28, floats have the remainder of C alone. */
ox_status ox_infer_mod(ox_call *call) {
    if ((OX_SET_FLOAT & OX_BIT(call->in[0]->dtype)) && !ox_call_int(call, "fmod", 0))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'fmod' must be 1 for %s", OX_INPUT(call, 0));
    return ox_infer_broadcast(call);
}

/* ---- Lane programs ------------------------------------------------------------------------------------------ */

static ox_lane *loop_of(const ox_pass_builder *b, ox_lane_set lanes, ox_dtype dtype) {
    const ox_lanes *set = OX_BUILD_OF(ox_pass_loops(b), lanes);
    return (size_t)dtype < sizeof set->fn / sizeof *set->fn ? set->fn[dtype] : NULL;
}

/* Says which other loops give the same results, and where they are faster. */
static void describe(ox_pass_builder *b, ox_reg reg, ox_lane_set lanes, ox_dtype dtype) {
    static const struct {
        ox_lane_set any, tiles, rows;
    } others[] = {
        {OX_LANES_Add, OX_LANES_AddTiles, OX_LANES_AddRows}, {OX_LANES_Sub, OX_LANES_SubTiles, OX_LANES_SubRows},
        {OX_LANES_Mul, OX_LANES_MulTiles, OX_LANES_MulRows}, {OX_LANES_Div, OX_LANES_none, OX_LANES_DivRows},
        {OX_LANES_PRelu, OX_LANES_none, OX_LANES_PReluRows}, {NULL, OX_LANES_none, OX_LANES_none}};
    size_t i = 0;
    while (others[i].any && others[i].any != lanes)
        i++;
    ox_pass_describe(b, reg, loop_of(b, others[i].tiles, dtype), loop_of(b, others[i].rows, dtype),
                     OX_BUILD_OF(ox_pass_loops(b), lanes)->slow);
}

ox_reg ox_elementwise_apply(ox_pass_builder *b, ox_lane_set lanes, const void *attr, ox_dtype result, int nargs,
                            const ox_reg *in) {
    ox_dtype dtype = ox_pass_dtype(b, in[0]);
    ox_reg args[OX_LANE_ARGS - 1];
    bool direct = loop_of(b, lanes, dtype) != NULL;
    for (int i = 1; i < nargs; i++)
        direct &= ox_pass_dtype(b, in[i]) == dtype;
    for (int i = 0; i < nargs; i++)
        args[i] = direct ? in[i] : ox_pass_widen(b, in[i]);
    dtype = ox_pass_dtype(b, args[0]);
    ox_reg reg = ox_pass_loop(b, loop_of(b, lanes, dtype), attr, result ? result : dtype, nargs, args);
    if (!OX_SMALL) /* devices run loop by loop */
        describe(b, reg, lanes, dtype);
    return reg;
}

ox_lane_set ox_elementwise_lanes(const ox_call *call) {
    return ((const ox_elementwise *)call->op->detail)->lanes;
}

ox_reg ox_emit_map(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    return ox_elementwise_apply(b, ox_elementwise_lanes(call), NULL, OX_UNDEFINED, call->nin, in);
}

ox_reg ox_emit_compare(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    return ox_elementwise_apply(b, ox_elementwise_lanes(call), NULL, OX_BOOL, call->nin, in);
}

/* n operands, two at a time; the small floating types are rounded once, at the end. */
ox_reg ox_emit_fold(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    ox_reg total = ox_pass_widen(b, in[0]);
    for (int i = 1; i < call->nin; i++)
        total =
            ox_elementwise_apply(b, ox_elementwise_lanes(call), NULL, OX_UNDEFINED, 2, (const ox_reg[]){total, in[i]});
    return total;
}

ox_reg ox_emit_mean(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    ox_reg total = ox_emit_fold(call, b, in);
    float n = (float)call->nin;
    ox_reg count = ox_pass_convert(b, ox_pass_constant(b, OX_FLOAT, &n), ox_pass_dtype(b, total));
    return ox_elementwise_apply(b, OX_LANES_Div, NULL, OX_UNDEFINED, 2, (const ox_reg[]){total, count});
}

ox_reg ox_emit_mod(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    ox_lane_set lanes = ox_call_int(call, "fmod", 0) ? OX_LANES_Fmod : OX_LANES_Mod;
    return ox_elementwise_apply(b, lanes, NULL, OX_UNDEFINED, 2, in);
}

ox_reg ox_emit_shift(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    bool left = ox_says(ox_call_string(call, "direction", ""), "LEFT");
    return ox_elementwise_apply(b, left ? OX_LANES_ShiftLeft : OX_LANES_ShiftRight, NULL, OX_UNDEFINED, 2, in);
}

/* Input 1 if it is known to be 2 or 3, and has the type that the power is computed in; 0 otherwise. No number is
 * converted: devices without doubles would need functions for that. */
#define POWER(e) ((e) == 2 ? 2 : (e) == 3 ? 3 : 0)
static int known_power(const ox_call *call, ox_dtype dtype) {
    const ox_tensor *t = call->in[1];
    if (!(call->constants & 2) || t->dtype != dtype || ox_tensor_count(t) != 1)
        return 0;
    return dtype == OX_FLOAT ? POWER(OX_GET(ox_f32, t->data)) : dtype == OX_DOUBLE ? POWER(OX_GET(ox_f64, t->data)) : 0;
}

/* Powers are computed in float, double or int64, whichever holds base and exponent exactly; the store rounds once. */
ox_reg ox_emit_pow(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    ox_reg base = ox_pass_widen(b, in[0]), exponent = ox_pass_widen(b, in[1]);
    ox_dtype x = ox_pass_dtype(b, base), y = ox_pass_dtype(b, exponent);
    bool small = y == OX_FLOAT || (OX_BIT(y) & OX_SET_INT && ox_dtype_size(y) <= 2);
    ox_dtype in_type = x == OX_FLOAT && small ? OX_FLOAT : OX_DOUBLE, exponent_type = in_type;
    ox_lane_set lanes = OX_LANES_Pow;
    if (OX_BIT(x) & OX_SET_INT && OX_BIT(y) & OX_SET_INT) {
        bool has_sign = OX_BIT(y) & OX_SET_SINT;
        in_type = OX_INT64;
        exponent_type = has_sign ? OX_INT64 : OX_UINT64;
        lanes = has_sign ? OX_LANES_Pow : OX_LANES_PowUnsigned;
    }
    base = ox_pass_convert(b, base, in_type);
    const int power = known_power(call, in_type);
    if (power) {
        ox_reg product = base;
        for (int k = 1; k < power && product >= 0; k++)
            product = ox_elementwise_apply(b, OX_LANES_Mul, NULL, OX_UNDEFINED, 2, (const ox_reg[]){product, base});
        return product;
    }
    exponent = ox_pass_convert(b, exponent, exponent_type);
    return ox_elementwise_apply(b, lanes, NULL, OX_UNDEFINED, 2, (const ox_reg[]){base, exponent});
}

ox_reg ox_emit_where(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    (void)call;
    ox_dtype dtype = ox_pass_dtype(b, in[1]);
    ox_lane *lane = OX_BUILD_OF(ox_pass_loops(b), ox_where_builds)(ox_dtype_size(dtype));
    return ox_pass_loop(b, lane, NULL, dtype, 3, in);
}

/* The largest number of a floating type, or the lowest, as a register; -1 of integers, beyond which nothing lies. */
static ox_reg farthest(ox_pass_builder *b, ox_dtype dtype, bool lowest) {
    const double wide = lowest ? -DBL_MAX : DBL_MAX;
    if (OX_HAS(OX_DOUBLE) && dtype == OX_DOUBLE)
        return ox_pass_constant(b, OX_DOUBLE, &wide);
    if (!(OX_BIT(dtype) & OX_SET_FLOAT))
        return -1;
    const float most = dtype == OX_FLOAT16    ? 65504.0F
                       : dtype == OX_BFLOAT16 ? 0x1.fep127F
                                              : FLT_MAX,
                number = lowest ? -most : most;
    return ox_pass_constant(b, OX_FLOAT, &number);
}

/* A bound out of input i, or an attribute before opset 11. Where there is none, numbers are limited to those of the
 * type: so no infinity is left. In opsets 6 to 10 the attributes' own defaults are the limits of float. */
static ox_reg bound(ox_call *call, ox_pass_builder *b, const ox_reg *in, int i, const char *name) {
    const bool lowest = i == 1;
    if (call->op->since < 11 && (call->version >= 6 || ox_call_has(call, name))) {
        const float value = ox_call_float(call, name, lowest ? -FLT_MAX : FLT_MAX);
        return ox_pass_constant(b, OX_FLOAT, &value);
    }
    return ox_call_given(call, i) ? in[i] : farthest(b, call->in[0]->dtype, lowest);
}

ox_reg ox_emit_clip(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    ox_reg x = ox_pass_widen(b, in[0]);
    ox_dtype dtype = ox_pass_dtype(b, x);
    ox_reg low = bound(call, b, in, 1, "min"), high = bound(call, b, in, 2, "max");
    if (low >= 0)
        x = ox_elementwise_apply(b, OX_LANES_Max, NULL, dtype, 2, (const ox_reg[]){x, ox_pass_convert(b, low, dtype)});
    if (high >= 0)
        x = ox_elementwise_apply(b, OX_LANES_Min, NULL, dtype, 2, (const ox_reg[]){x, ox_pass_convert(b, high, dtype)});
    return x;
}

/* ---- One node as a pass ------------------------------------------------------------------------------------- */

/* The shape that input i is broadcast with, as a tensor; NULL if it is its own. */
static ox_status other_shape(ox_call *call, int i, ox_tensor **shape) {
    *shape = NULL;
    if (i == 0 || !ox_op_has(call->op, OX_OP_LEGACY | OX_OP_LEGACY_SLOPE | OX_OP_AXIS))
        return OX_OK;
    int64_t dims[OX_MAX_RANK];
    int rank;
    OX_TRY(input_dims(call, i, &rank, dims));
    const ox_tensor *t = call->in[i];
    *shape = ox_pile_get(call->pile, sizeof **shape);
    int64_t *lists = ox_pile_array(call->pile, 2 * (size_t)rank + 1, sizeof *lists);
    if (!*shape || !lists)
        return ox_fail_memory(call->error, "a prepared operator", sizeof **shape);
    if (rank)
        memcpy(lists, dims, (size_t)rank * sizeof *dims);
    ox_tensor_strides(t, lists + rank); /* of the added dimensions: 0 */
    **shape = (ox_tensor){t->dtype, rank, lists, lists + rank, NULL};
    return OX_OK;
}

/* One constant element: what the program does with it may depend on which one it is. */
static bool is_number(const ox_call *call, int i) {
    const ox_tensor *t = call->in[i];
    return i < 64 && call->constants >> i & 1 && t->data && t->dtype != OX_STRING && ox_tensor_count(t) == 1;
}

ox_reg ox_elementwise_write(ox_call *call, ox_pass_builder *builder, ox_reg *in) {
    const ox_elementwise *how = call->op->detail;
    for (int i = 0; i < call->nin; i++) {
        ox_tensor *shape;
        if (!call->in[i] || in[i] >= 0 || (i == 1 && ox_op_has(call->op, OX_OP_LIKE | OX_OP_LIST)) ||
            (i > 0 && ox_op_has(call->op, OX_OP_LOADS)))
            continue;
        if (other_shape(call, i, &shape) != OX_OK)
            return -1;
        in[i] = is_number(call, i) ? ox_pass_constant(builder, call->in[i]->dtype, call->in[i]->data)
                                   : ox_pass_load(builder, call->in[i], shape);
    }
    ox_reg result = ox_pass_convert(builder, how->emit(call, builder, in), call->out[0]->dtype);
    ox_dtype lacking = ox_pass_lacking(builder);
    if (lacking)
        call->attr_status =
            (ox_call_fail)(call, OX_ERROR_UNSUPPORTED, "it needs loops for %s, which this build of the library lacks",
                           ox_dtype_name(lacking));
    return result;
}

ox_status ox_elementwise_failed(ox_call *call) {
    return call->attr_status ? call->attr_status : ox_fail_memory(call->error, "a pass", sizeof(ox_pass *));
}

bool ox_elementwise_fits(const ox_call *call) {
    const ox_elementwise *how = call->op->detail;
    return call->op->flags & OX_OP_PASS && (!how->fits || how->fits(call)) &&
           (!how->row_axes || how->row_axes(call) > 0);
}

ox_space ox_elementwise_space(const ox_call *call) {
    const ox_elementwise *how = call->op->detail;
    const ox_tensor *shape = how->row_axes ? call->in[0] : call->out[0];
    return (ox_space){shape->rank, how->row_axes ? how->row_axes(call) : 0, shape->dims};
}

int ox_row_axes(const ox_tensor *tensor, int axis) {
    int64_t row = ox_count(tensor->rank - axis, tensor->dims + axis);
    size_t width = ox_dtype_size(ox_dtype_compute(tensor->dtype));
    if (row < 2 || row > OX_ROW_BYTES / (int64_t)width || ox_tensor_count(tensor) == 0)
        return 0;
    while (tensor->dims[axis] == 1)
        axis++;
    return tensor->rank - axis;
}

ox_status ox_elementwise_fault(ox_error *error, int fault) {
    if (fault & OX_FAULT_DIVISOR)
        return ox_fail(error, OX_ERROR_VALUE, "integer division by zero");
    if (fault & OX_LANE_FAULT)
        return ox_fail(error, OX_ERROR_VALUE, "the operator has no result for an element of its inputs");
    return fault ? ox_fail(error, OX_ERROR_VALUE, "a string cannot be converted to a number of the output's type")
                 : OX_OK;
}

void ox_elementwise_note(ox_call *call, const ox_pass *pass) {
#if OX_SMALL
    (void)call, (void)pass;
#else
    call->types |= ox_pass_types(pass, 0);
#endif
}

/* A pass of this node alone. */
ox_status ox_prepare_elementwise(ox_call *call) {
    ox_space space = ox_elementwise_space(call);
    ox_pass_builder *builder =
        ox_pass_begin(call->pile, call->pile, call->loops, space.rank, space.dims, space.row_axes);
    ox_reg *in = ox_pile_array(call->pile, (size_t)call->nin, sizeof *in);
    if (!builder || !in)
        return ox_fail_memory(call->error, "a prepared operator", sizeof *in);
    for (int i = 0; i < call->nin; i++)
        in[i] = -1;
    ox_reg result = ox_elementwise_write(call, builder, in);
    if (result >= 0)
        ox_pass_store(builder, result, call->out[0]);
    ox_pass *pass = result >= 0 ? ox_pass_end(builder) : NULL;
    if (!pass)
        return ox_elementwise_failed(call);
    call->state = pass;
    ox_elementwise_note(call, pass);
    call->workspace_size = ox_pass_scratch(pass);
    return OX_OK;
}

ox_status ox_run_elementwise(ox_call *call) {
    int tag, fault = ox_pass_run(call->state, call->workspace, 0, ox_pass_tiles(call->state), &tag);
    return ox_elementwise_fault(call->error, fault);
}
