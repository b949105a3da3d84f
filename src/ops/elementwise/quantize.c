/* quantize.c: QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. */
#include "ops/dense.h"
#include "ops/own_pass.h"
#include "quantize.h"

#include "iterate/bcast.h"
#include "loops/integer_loops.h"
#include "loops/reduce_loops.h"

enum {
    X,
    SCALE,
    ZERO_POINT
};

static const ox_dtypes quantized = OX_BIT(OX_UINT8) | OX_BIT(OX_INT8) | OX_BIT(OX_UINT16) | OX_BIT(OX_INT16) |
                                   (OX_SET_TINY | (OX_SET_FLOAT8 & ~OX_BIT(OX_FLOAT8E8M0))),
                       real = OX_BIT(OX_FLOAT) | OX_BIT(OX_FLOAT16) | OX_BIT(OX_BFLOAT16);

/* ---- Scales ------------------------------------------------------------------------------------------------- */

/* A scale is for the whole tensor, for each entry of an axis, or for each block along an axis. */
bool ox_scale_is_blocked(const ox_call *call) {
    const ox_tensor *x = call->in[X], *scale = call->in[SCALE];
    return ox_tensor_count(scale) != 1 && scale->rank == x->rank && (scale->rank > 1 || scale->dims[0] != x->dims[0]);
}

static ox_status fail_scale(ox_call *call, const char *why) {
    return ox_call_fail(call, OX_ERROR_SHAPE, "the scale, %s, does not fit %s: %s", OX_INPUT(call, SCALE),
                        OX_INPUT(call, X), why);
}

static ox_status check_blocks(ox_call *call, int axis, int64_t block) {
    const ox_tensor *x = call->in[X], *scale = call->in[SCALE];
    if (block < 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'block_size' must be positive, not %lld",
                            (long long)block);
    if (scale->rank != x->rank)
        return fail_scale(call, "with blocks, both have the same rank");
    for (int d = 0; d < x->rank; d++) {
        int64_t n = x->dims[d];
        const int64_t blocks = n <= block ? n > 0 : ox_quotient(n, block) + (ox_remainder(n, block) != 0);
        if (scale->dims[d] != (d == axis ? blocks : n))
            return fail_scale(call, "it must have one entry for each block along the axis");
    }
    return OX_OK;
}

static ox_status check_scale(ox_call *call) {
    const ox_tensor *x = call->in[X], *scale = call->in[SCALE], *zero = ox_call_given(call, 2) ? call->in[2] : NULL;
    int64_t block = ox_call_int(call, "block_size", 0), count = ox_tensor_count(scale);
    int axis;
    if (zero && !ox_same_dims(zero->rank, zero->dims, scale->rank, scale->dims) &&
        (count != 1 || ox_tensor_count(zero) != 1))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have the shape of the scale, %s", OX_INPUT(call, ZERO_POINT),
                            OX_INPUT(call, SCALE));
    if (count == 1)
        return OX_OK;
    if (call->op->since < 13)
        return fail_scale(call, "before version 13 it is a scalar");
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 1), x->rank, &axis));
    if (block)
        return check_blocks(call, axis, block);
    return scale->rank == 1 && scale->dims[0] == x->dims[axis]
               ? OX_OK
               : fail_scale(call, "it must be a scalar, or a list for the axis");
}

#if OX_WITH_SCALES
/* Lays out entry `entry` and as many after it as there are, each `length` times along the axis. */
static void repeat_entries(const struct ox_loops *loops, const ox_tensor *from, const ox_tensor *to, int axis,
                           int64_t entry, int64_t block, int64_t count, int64_t length) {
    int64_t dims[OX_MAX_RANK + 1], in[OX_MAX_RANK + 1], out[OX_MAX_RANK + 1], from_strides[OX_MAX_RANK],
        to_strides[OX_MAX_RANK];
    ox_tensor_strides(from, from_strides);
    ox_tensor_strides(to, to_strides);
    for (int d = 0; d <= to->rank; d++) {
        int s = d > axis ? d - 1 : d; /* the axis is two dimensions: blocks, and places in a block */
        dims[d] = to->dims[s];
        in[d] = from_strides[s];
        out[d] = to_strides[s];
    }
    dims[axis] = count;
    dims[axis + 1] = length;
    in[axis + 1] = 0;
    out[axis] *= block;
    ox_move(loops, NULL, to->rank + 1, dims, ox_dtype_size(to->dtype), (char *)to->data + entry * out[axis], out,
            (const char *)from->data + entry * in[axis], in);
}

/* One scale for each element; the last block may be shorter. */
static void expand_blocks(const struct ox_loops *loops, const ox_tensor *from, const ox_tensor *to, int axis,
                          int64_t block) {
    int64_t length = to->dims[axis], whole = length / block, rest = length % block;
    if (whole)
        repeat_entries(loops, from, to, axis, 0, block, whole, block);
    if (rest)
        repeat_entries(loops, from, to, axis, whole, whole ? block : 1, 1, rest);
}

/* ---- Blocks: the pass reads scales that were laid out for each element -------------------------------------- */

typedef struct blocked_state {
    ox_own_pass pass;
    ox_tensor full[3]; /* in the workspace, in front of the pass's own */
    int axis;
    int64_t block;
} blocked_state;

static ox_status prepare_blocked(ox_call *call, ox_pass_builder *builder, blocked_state *state) {
    const ox_tensor *x = call->in[X];
    ox_reg in[3] = {-1, -1, -1};
    if (!builder)
        return ox_fail_memory(call->error, "a prepared operator", sizeof *state);
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 1), x->rank, &state->axis));
    state->block = ox_call_int(call, "block_size", 0);
    for (int i = SCALE; i < call->nin && call->in[i]; i++) {
        const ox_dtype dtype = call->in[i]->dtype;
        OX_TRY(ox_workspace_add(call, ox_tensor_count(x), ox_dtype_size(dtype)));
        state->full[i] = (ox_tensor){dtype, x->rank, x->dims, NULL, NULL};
        in[i] = ox_pass_load(builder, &state->full[i], NULL);
    }
    return ox_own_pass_end(call, builder, ox_elementwise_write(call, builder, in), call->out[0], &state->pass);
}

bool ox_fits_quantize(const ox_call *call) {
    return !ox_scale_is_blocked(call);
}

ox_status ox_prepare_quantize(ox_call *call) {
    if (!ox_scale_is_blocked(call))
        return ox_prepare_elementwise(call);
    blocked_state *state = ox_call_state(call, sizeof *state);
    const ox_space space = ox_elementwise_space(call);
    return state ? prepare_blocked(call, ox_pass_begin(call->pile, call->pile, call->loops, space.rank, space.dims, 0),
                                   state)
                 : OX_ERROR_MEMORY;
}

ox_status ox_run_quantize(ox_call *call) {
    if (!ox_scale_is_blocked(call))
        return ox_run_elementwise(call);
    blocked_state *state = call->state;
    const int64_t count = ox_tensor_count(call->in[X]);
    size_t used = 0;
    for (int i = SCALE; i < call->nin && call->in[i]; i++) {
        state->full[i].data = ox_workspace_take(call, &used, count, ox_dtype_size(call->in[i]->dtype));
        expand_blocks(call->loops, call->in[i], &state->full[i], state->axis, state->block);
    }
    return ox_own_pass_run(call, &used, &state->pass);
}
#endif

/* ---- QuantizeLinear ----------------------------------------------------------------------------------------- */

/* The type that an attribute names, `otherwise` if it is missing or 0. */
static ox_status read_dtype(ox_call *call, const char *name, ox_dtypes set, ox_dtype otherwise, ox_dtype *dtype) {
    int64_t number = ox_call_int(call, name, 0);
    *dtype = number > 0 && number < OX_DTYPE_COUNT ? (ox_dtype)number : otherwise;
    if (number >= 0 && number < OX_DTYPE_COUNT && OX_BIT(*dtype) & set)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' names a type (%s) that is not allowed here", name,
                        ox_dtype_name(*dtype));
}

/* What x / scale is rounded to. */
static ox_status read_precision(ox_call *call, ox_dtype *dtype) {
    ox_dtype scale = call->in[SCALE]->dtype;
    scale = scale == OX_INT32 ? OX_DOUBLE : scale == OX_FLOAT8E8M0 ? OX_FLOAT : scale;
    return read_dtype(call, "precision", real | OX_BIT(OX_DOUBLE), scale, dtype);
}

ox_status ox_infer_quantize(ox_call *call) {
    const ox_tensor *x = call->in[X], *zero = ox_call_given(call, ZERO_POINT) ? call->in[ZERO_POINT] : NULL;
    ox_dtype to, precision;
    OX_TRY(ox_call_check_dtype(call, X, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, SCALE, real | OX_BIT(OX_INT32) | OX_BIT(OX_FLOAT8E8M0)));
    if (zero)
        OX_TRY(ox_call_check_dtype(call, ZERO_POINT, quantized));
    OX_TRY(read_dtype(call, "output_dtype", quantized, zero ? zero->dtype : OX_UINT8, &to));
    if (zero && zero->dtype != to)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'output_dtype' is %s, but the zero point is %s",
                            ox_dtype_name(to), OX_INPUT(call, ZERO_POINT));
    OX_TRY(read_precision(call, &precision));
    OX_TRY(check_scale(call));
    return ox_call_output(call, 0, to, x->rank, x->dims);
}

#if OX_WITH_SCALES
/* The smallest and the largest integer of the type. */
static const float *limits_of(ox_dtype dtype) {
    static const float limits[OX_DTYPE_COUNT][2] = {
        [OX_UINT8] = {0, 255}, [OX_INT8] = {-128, 127}, [OX_UINT16] = {0, 65535}, [OX_INT16] = {-32768, 32767},
        [OX_UINT4] = {0, 15},  [OX_INT4] = {-8, 7},     [OX_UINT2] = {0, 3},      [OX_INT2] = {-2, 1}};
    return limits[dtype][1] > 0 ? limits[dtype] : NULL;
}

ox_reg ox_emit_quantize(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    ox_narrowing how = {.dtype = call->out[0]->dtype, .overflow = !ox_call_int(call, "saturate", 1)};
    ox_dtype precision;
    if (read_precision(call, &precision) != OX_OK)
        return -1;
    const bool has_zero = ox_call_given(call, ZERO_POINT);
    const ox_dtype wide = precision == OX_DOUBLE ? OX_DOUBLE : OX_FLOAT;
    /* What belongs to many elements comes before what is done to each: only neighbours become a chain. */
    const ox_reg zero =
        ox_pass_convert(b, has_zero ? in[ZERO_POINT] : ox_pass_constant(b, OX_FLOAT, &(const float){0}), wide);
    const ox_reg scale = ox_pass_convert(b, in[SCALE], precision);
    ox_reg x = ox_pass_convert(b, in[X], precision);
    x = ox_elementwise_apply(b, OX_LANES_Div, NULL, OX_UNDEFINED, 2, (const ox_reg[]){x, scale});
    x = ox_pass_widen(b, ox_pass_convert(b, x, precision));
    const ox_reg sum[] = {x, zero};
    const float *limits = limits_of(how.dtype);
    if (limits)
        x = ox_elementwise_apply(b, OX_LANES_Quantize, limits, OX_UNDEFINED, 2, sum);
    else if (has_zero)
        x = ox_elementwise_apply(b, OX_LANES_Offset, NULL, OX_UNDEFINED, 2, sum);
    return ox_pass_narrow(b, x, &how);
}
#endif

/* ---- DequantizeLinear --------------------------------------------------------------------------------------- */

ox_status ox_infer_dequantize(ox_call *call) {
    const ox_tensor *x = call->in[X];
    ox_dtype to;
    OX_TRY(ox_call_check_dtype(call, X, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, SCALE, real | OX_BIT(OX_FLOAT8E8M0)));
    if (ox_call_given(call, ZERO_POINT) && call->in[ZERO_POINT]->dtype != x->dtype)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have the type of %s", OX_INPUT(call, ZERO_POINT),
                            OX_INPUT(call, X));
    OX_TRY(read_dtype(call, "output_dtype", real, call->in[SCALE]->dtype, &to));
    OX_TRY(check_scale(call));
    return ox_call_output(call, 0, to, x->rank, x->dims);
}

#if OX_WITH_SCALES
/* The difference is exact, in double for int32; the product is rounded to float, and then to the output. */
ox_reg ox_emit_dequantize(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    const bool has_zero = ox_call_given(call, ZERO_POINT);
    ox_dtype wide = has_zero && call->in[X]->dtype == OX_INT32 ? OX_DOUBLE : OX_FLOAT;
    const ox_reg scale = ox_pass_convert(b, in[SCALE], OX_FLOAT);
    const ox_reg zero =
        has_zero ? ox_pass_convert(b, in[ZERO_POINT], wide) : -1; /* before x: only neighbours are joined */
    ox_reg x = ox_pass_convert(b, in[X], wide);
    if (has_zero)
        x = ox_elementwise_apply(b, OX_LANES_Sub, NULL, OX_UNDEFINED, 2, (const ox_reg[]){x, zero});
    const ox_reg product[] = {ox_pass_convert(b, x, OX_FLOAT), scale};
    return ox_elementwise_apply(b, OX_LANES_Mul, NULL, OX_UNDEFINED, 2, product);
}
#endif

/* ---- DynamicQuantizeLinear ---------------------------------------------------------------------------------- */

ox_status ox_infer_dynamic_quantize(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, X, call->op->dtypes));
    OX_TRY(ox_call_output(call, 0, OX_UINT8, call->in[X]->rank, call->in[X]->dims));
    OX_TRY(ox_call_output(call, 1, OX_FLOAT, 0, NULL));
    return ox_call_output(call, 2, OX_UINT8, 0, NULL);
}

typedef struct bytes_job {
    ox_quantize_fn *quantize;
    int64_t count;
    float scale, zero;
    const char *x;
    char *y;
} bytes_job;

static void bytes_part(void *context, int part, int parts) {
    const bytes_job *job = context;
    int64_t first, end;
    ox_pool_range(job->count, part, parts, &first, &end);
    job->quantize(end - first, job->scale, job->zero, job->x + first * (int64_t)sizeof(float), job->y + first);
}

/* The least or the greatest of x and 0. */
static float extreme_of(const ox_call *call, ox_fold fold) {
    const ox_tensor *x = call->in[X];
    const int64_t count = ox_tensor_count(x);
    ox_folder folder;
    float sum = 0, extreme = 0;
    if (!count || !OX_BUILD_OF(call->loops, fold)(OX_FLOAT, &folder))
        return 0;
    folder.rows(&sum, 1, x->data, 0, count, sizeof(float));
    folder.end(1, &sum, count, &extreme);
    return extreme;
}

/* The range of x, widened to hold 0, on 0 to 255. */
ox_status ox_run_dynamic_quantize(ox_call *call) {
    const float low = extreme_of(call, OX_FOLD_MIN), high = extreme_of(call, OX_FOLD_MAX);
    const float scale = (high == low ? 1 : high - low) / 255, from = -low;
    uint8_t zero;
    bytes_job job = {.quantize = OX_BUILD_OF(call->loops, ox_integer_builds)->quantize,
                     .count = ox_tensor_count(call->in[X]),
                     .scale = scale,
                     .x = call->in[X]->data};
    job.quantize(1, scale, 0, (const char *)&from, (char *)&zero);
    job.zero = zero;
    if (call->out[0]) {
        job.y = call->out[0]->data;
        ox_pool_run_pieces(call->pool, (double)job.count * sizeof(float), bytes_part, &job);
    }
    if (call->out[1])
        *(float *)call->out[1]->data = scale;
    if (call->out[2])
        *(uint8_t *)call->out[2]->data = zero;
    return OX_OK;
}
