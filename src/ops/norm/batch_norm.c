/* batch_norm.c: BatchNormalization. Where mean and variance are given, the operator is a lane program: a factor and an
 * offset for each channel. */
#include "norm.h"

#include "ops/dense.h"

#include <math.h>

enum {
    X,
    SCALE,
    BIAS,
    MEAN,
    VARIANCE,
    INPUTS
};

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

/* Versions 7 to 13 train where they are asked for more than one output. */
static bool trains(ox_call *call) {
    const int since = call->op->since;
    if (since < 7)
        return !ox_call_int(call, "is_test", 0);
    return since < 14 ? call->nout > 1 : ox_call_int(call, "training_mode", 0) != 0;
}

static float epsilon_of(ox_call *call) {
    return ox_call_float(call, "epsilon", 1e-5f);
}

/* One mean for each channel, or (spatial=0, before version 9) for each element of an image. */
static ox_status describe(ox_call *call, ox_norm *norm) {
    const bool spatial = call->op->since >= 9 || ox_call_int(call, "spatial", 1);
    ox_norm_start(call, OX_NORM_VARIANCE, norm);
    norm->epsilon = (double)epsilon_of(call);
    norm->scale = SCALE;
    norm->bias = BIAS;
    norm->at = norm->rank > 1;
    norm->spread = norm->rank < 2 ? 0 : spatial ? 1 : norm->rank - 1;
    for (int d = 0; d < norm->rank; d++)
        if (d == 0 || d > norm->spread)
            norm->set |= OX_AXIS(d);
    return OX_OK;
}

static ox_status check_operands(ox_call *call, const ox_norm *norm) {
    const int64_t one = 1;
    const int rank = norm->spread ? norm->spread : 1;
    const int64_t *dims = norm->spread ? norm->dims + 1 : &one; /* an input of one dimension has one channel */
    for (int i = SCALE; i < INPUTS; i++)
        if (!ox_same_dims(call->in[i]->rank, call->in[i]->dims, rank, dims))
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have one element for each channel of %s",
                                OX_INPUT(call, i), OX_INPUT(call, X));
    return OX_OK;
}

static ox_status check_types(ox_call *call) {
    for (int i = X; i < INPUTS; i++)
        OX_TRY(ox_call_check_dtype(call, i, call->op->dtypes));
    if (call->op->since < 14)
        return ox_call_check_same(call, X, VARIANCE);
    OX_TRY(ox_call_check_same(call, MEAN, VARIANCE));
    return ox_call_check_same(call, call->op->since < 15 ? X : SCALE, BIAS);
}

ox_status ox_infer_batch_norm(ox_call *call) {
    const ox_tensor *x = call->in[X], *mean = call->in[MEAN];
    ox_norm norm;
    OX_TRY(check_types(call));
    if (x->rank < 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: a dimension for images is expected", OX_INPUT(call, X));
    OX_TRY(describe(call, &norm));
    OX_TRY(check_operands(call, &norm));
    for (int k = 1; k < call->nout && trains(call); k++)
        OX_TRY(ox_call_output(call, k, mean->dtype, mean->rank, mean->dims));
    return ox_call_output(call, X, x->dtype, x->rank, x->dims);
}

/* ---- Two forms ---------------------------------------------------------------------------------------------- */

/* y = x * factor + offset, of a channel. */
typedef struct line {
    double factor, offset;
    bool is_near; /* to (x - mean) * factor + bias: few digits cancel, and nothing overflows on the way */
} line;

static bool is_within(double number, double most) {
    return number >= -most && number <= most;
}

static line find_line(const ox_call *call, double epsilon, int64_t i) {
    static const double far = 64, large = 0x1p100; /* deviations from 0 to the mean; far from overflow of any type */
    const double mean = ox_norm_get(call->in[MEAN], i);
    const double deviation = sqrt(ox_norm_get(call->in[VARIANCE], i) + epsilon);
    const double factor = ox_norm_get(call->in[SCALE], i) / deviation;
    const double offset = ox_norm_get(call->in[BIAS], i) - mean * factor;
    const bool is_near = is_within(mean, far * deviation) && is_within(factor, large) && is_within(offset, large);
    return (line){factor, offset, is_near};
}

/* Whether a factor and an offset for each channel, which are known, are all that the run needs. What planning computes
 * has the bits of a run that is given everything. Devices, which may have no instructions for double, do without. */
static bool is_line(const ox_call *call) {
    const uint64_t all = 1 << SCALE | 1 << BIAS | 1 << MEAN | 1 << VARIANCE;
    ox_call asked = *call;
    if (OX_SMALL || (call->constants & all) != all || call->constants & 1 << X)
        return false;
    const double epsilon = (double)epsilon_of(&asked);
    for (int64_t i = 0; i < ox_tensor_count(call->in[SCALE]); i++)
        if (!find_line(call, epsilon, i).is_near)
            return false;
    return true;
}

/* Whether the run computes a factor for each channel before: what many elements need, but no pass does so. */
static bool has_factors(const ox_call *call) {
    enum {
        MANY = 4 /* elements that a factor is for */
    };
    return !is_line(call) && ox_quotient(ox_tensor_count(call->in[X]), MANY) >= ox_tensor_count(call->in[SCALE]);
}

bool ox_fits_batch_norm(const ox_call *call) {
    ox_call asked = *call;
    return !trains(&asked) && !has_factors(call);
}

/* ---- A lane program ----------------------------------------------------------------------------------------- */

static ox_reg apply(ox_pass_builder *b, ox_lane_set lanes, ox_reg x, ox_reg y) {
    return ox_elementwise_apply(b, lanes, NULL, OX_UNDEFINED, 2, (const ox_reg[]){x, y});
}

static ox_reg apply_one(ox_pass_builder *b, ox_lane_set lanes, ox_reg x) {
    return ox_elementwise_apply(b, lanes, NULL, OX_UNDEFINED, 1, &x);
}

/* Operands of the program that stay as long as the plan, packed. */
static ox_tensor *new_operand(ox_call *call, ox_dtype dtype) {
    const ox_tensor *scale = call->in[SCALE];
    const int64_t count = ox_tensor_count(scale);
    ox_tensor *made = ox_pile_get(call->pile, sizeof *made);
    void *data = ox_pile_array(call->pile, (size_t)count + 1, ox_dtype_size(dtype));
    if (!made || !data)
        return NULL;
    *made = (ox_tensor){dtype, scale->rank, scale->dims, NULL, data};
    return made;
}

static ox_reg emit_line(ox_call *call, ox_pass_builder *b, const ox_norm *norm, ox_reg x, ox_dtype dtype) {
    const int64_t count = ox_tensor_count(call->in[SCALE]);
    const ox_tensor *const operands[INPUTS] = {NULL, new_operand(call, dtype), new_operand(call, dtype)};
    if (!operands[SCALE] || !operands[BIAS])
        return -1;
    for (int64_t i = 0; i < count; i++) {
        const line found = find_line(call, norm->epsilon, i);
        ox_norm_put(operands[SCALE], i, found.factor);
        ox_norm_put(operands[BIAS], i, found.offset);
    }
    ox_call of_operands = *call;
    of_operands.in = operands;
    const ox_reg in[] = {x, -1, -1};
    return ox_norm_scale(&of_operands, b, in, norm, x);
}

/* What the run of a program computes before, if it does. */
typedef struct batch_norm {
    void *program;
    ox_tensor *factors;
    float epsilon;
} batch_norm;

/* scale / root of (variance + epsilon), by the steps of a program. */
static ox_reg emit_factor(ox_call *call, ox_pass_builder *b, const ox_norm *norm, const ox_reg *reg, ox_dtype dtype) {
    const float epsilon = (float)norm->epsilon;
    if (has_factors(call)) {
        batch_norm *state = call->state;
        state->factors = new_operand(call, dtype);
        state->epsilon = epsilon;
        const ox_tensor *const operands[] = {NULL, state->factors};
        ox_call of_factors = *call;
        of_factors.in = operands;
        return state->factors ? ox_norm_load(&of_factors, b, (const ox_reg[]){-1, -1}, norm, SCALE) : -1;
    }
    const ox_reg constant = ox_pass_convert(b, ox_pass_constant(b, OX_FLOAT, &epsilon), dtype);
    const ox_reg deviation = apply_one(b, OX_LANES_Sqrt, apply(b, OX_LANES_Add, reg[VARIANCE], constant));
    return apply(b, OX_LANES_Div, reg[SCALE], deviation);
}

/* The same for a channel. */
#define FACTOR(T, root)                                                                                                \
    ((double)((T)ox_norm_get(call->in[SCALE], i) / root((T)ox_norm_get(call->in[VARIANCE], i) + (T)state->epsilon)))

static void find_factors(const ox_call *call, const batch_norm *state) {
    const ox_tensor *to = state->factors;
    for (int64_t i = 0; i < ox_tensor_count(to); i++)
        ox_norm_put(to, i, to->dtype == OX_DOUBLE ? FACTOR(double, sqrt) : FACTOR(float, sqrtf));
}

/* (x - mean) * factor + bias */
static ox_reg emit_steps(ox_call *call, ox_pass_builder *b, const ox_norm *norm, const ox_reg *in, ox_dtype dtype) {
    ox_reg reg[INPUTS];
    for (int i = X; i < INPUTS; i++) {
        reg[i] = i == X ? in[X] : ox_norm_load(call, b, in, norm, i);
        reg[i] = reg[i] < 0 ? -1 : ox_pass_convert(b, reg[i], dtype);
        if (reg[i] < 0)
            return -1;
    }
    const ox_reg factor = emit_factor(call, b, norm, reg, dtype);
    return apply(b, OX_LANES_Add, apply(b, OX_LANES_Mul, apply(b, OX_LANES_Sub, reg[X], reg[MEAN]), factor), reg[BIAS]);
}

ox_reg ox_emit_batch_norm(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    ox_dtype dtype = OX_FLOAT;
    ox_norm norm;
    for (int i = X; i < INPUTS; i++)
        dtype = call->in[i]->dtype == OX_DOUBLE ? OX_DOUBLE : dtype;
    if (describe(call, &norm) != OX_OK)
        return -1;
    if (!is_line(call))
        return emit_steps(call, b, &norm, in, dtype);
    return emit_line(call, b, &norm, ox_pass_convert(b, in[X], dtype), dtype);
}

/* ---- Training ----------------------------------------------------------------------------------------------- */

ox_status ox_prepare_batch_norm(ox_call *call) {
    if (trains(call))
        return ox_norm_prepare(call, describe);
    batch_norm *state = ox_call_state(call, sizeof *state);
    if (!state)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_prepare_elementwise(call));
    state->program = call->state;
    call->state = state;
    return OX_OK;
}

static ox_status run_program(ox_call *call) {
    const batch_norm *state = call->state;
    ox_call program = *call;
    if (state->factors)
        find_factors(call, state);
    program.state = state->program;
    return ox_run_elementwise(&program);
}

/* What an output has of a channel: the running statistics first, then those of this batch. */
static double running(double before, double now, double momentum) {
    return before * momentum + now * (1 - momentum);
}

ox_status ox_run_batch_norm(ox_call *call) {
    if (!trains(call))
        return run_program(call);
    const double momentum = (double)ox_call_float(call, "momentum", 0.9f);
    int64_t count;
    OX_TRY(ox_norm_run(call));
    const ox_norm_statistic *statistics = ox_norm_statistics(call, &count);
    for (int64_t i = 0; i < count && !ox_pool_cancelled(call->pool); i++) {
        const double mean = statistics[i].mean, variance = statistics[i].spread < 0 ? 0 : statistics[i].spread;
        const double of[] = {0, running(ox_norm_get(call->in[MEAN], i), mean, momentum),
                             running(ox_norm_get(call->in[VARIANCE], i), variance, momentum), mean, variance};
        for (int k = 1; k < call->nout; k++)
            if (call->out[k])
                ox_norm_put(call->out[k], i, of[k]);
    }
    return OX_OK;
}
