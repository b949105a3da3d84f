/* random.c: RandomNormal, RandomUniform, their forms Like, Bernoulli and Multinomial. The numbers of a tensor come from
 * one generator, in the order of its elements. */
#include <math.h>

#include "ops/axes.h"
#include "ops/dense.h"
#include "ops/generator.h"
#include "ops/reals.h"

typedef struct random_state {
    ox_generator generator;
    double offset, scale; /* what the numbers are multiplied with, and what is added */
} random_state;

static ox_status prepare(ox_call *call, double offset, double scale) {
    random_state *state = ox_call_state(call, sizeof *state);
    if (!state)
        return OX_ERROR_MEMORY;
    state->offset = offset;
    state->scale = scale;
    ox_generator_prepare(call, OX_ATTR_FLOAT, &state->generator);
    return OX_OK;
}

/* The element type that the attribute "dtype" names. */
static ox_status read_dtype(ox_call *call, ox_dtypes set, ox_dtype otherwise, ox_dtype *dtype) {
    const int64_t number = ox_call_int(call, "dtype", otherwise);
    *dtype = number > OX_UNDEFINED && number < OX_DTYPE_COUNT ? (ox_dtype)number : OX_UNDEFINED;
    if (*dtype == OX_UNDEFINED || !(OX_BIT(*dtype) & set))
        return ox_call_fail(call, OX_ERROR_MODEL, "the output cannot be of element type %lld", (long long)number);
    return OX_OK;
}

/* ---- RandomNormal and RandomUniform ------------------------------------------------------------------------- */

ox_status ox_infer_random(ox_call *call) {
    ox_short_list shape;
    ox_dtype dtype;
    OX_TRY(ox_list_attr(call, "shape", &shape));
    OX_TRY(read_dtype(call, OX_SET_FLOAT, OX_FLOAT, &dtype));
    for (int d = 0; d < shape.count; d++)
        if (shape.value[d] < 0)
            return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'shape' is %s, with a size below 0",
                                OX_DIMS(shape.count, shape.value));
    return ox_call_output(call, 0, dtype, shape.count, shape.value);
}

ox_status ox_infer_random_like(ox_call *call) {
    const ox_tensor *x = call->in[0];
    ox_dtype dtype;
    OX_TRY(read_dtype(call, OX_SET_FLOAT, x->dtype, &dtype));
    return ox_call_output(call, 0, dtype, x->rank, x->dims);
}

ox_status ox_prepare_random_normal(ox_call *call) {
    return prepare(call, (double)ox_call_float(call, "mean", 0), (double)ox_call_float(call, "scale", 1));
}

ox_status ox_prepare_random_uniform(ox_call *call) {
    const double low = (double)ox_call_float(call, "low", 0);
    return prepare(call, low, (double)ox_call_float(call, "high", 1) - low);
}

static ox_status fill(ox_call *call, double (*number)(ox_generator *)) {
    random_state *state = call->state;
    const ox_tensor *out = call->out[0];
    const int64_t count = ox_tensor_count(out), width = (int64_t)ox_dtype_size(out->dtype);
    double piece[OX_REALS_PIECE];
    ox_generator_start(&state->generator);
    for (int64_t i = 0, n; i < count; i += n) {
        n = ox_least(OX_REALS_PIECE, count - i);
        for (int64_t k = 0; k < n; k++)
            piece[k] = number(&state->generator) * state->scale + state->offset;
        ox_reals_store(out->dtype, n, piece, 1, (char *)out->data + i * width, width);
        if (ox_pool_poll(call->pool))
            break;
    }
    return OX_OK;
}

ox_status ox_run_random_normal(ox_call *call) {
    return fill(call, ox_generator_normal);
}

ox_status ox_run_random_uniform(ox_call *call) {
    return fill(call, ox_generator_uniform);
}

/* ---- Bernoulli ---------------------------------------------------------------------------------------------- */

ox_status ox_infer_bernoulli(ox_call *call) {
    const ox_tensor *x = call->in[0];
    ox_dtype dtype;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(read_dtype(call, OX_SET_NUM | OX_SET_BOOL, x->dtype, &dtype));
    return ox_call_output(call, 0, dtype, x->rank, x->dims);
}

ox_status ox_prepare_random(ox_call *call) {
    return prepare(call, 0, 1);
}

/* 1 where a number of [0, 1) is below the probability. */
ox_status ox_run_bernoulli(ox_call *call) {
    random_state *state = call->state;
    const ox_tensor *x = call->in[0], *out = call->out[0];
    const int64_t count = ox_tensor_count(out), from = (int64_t)ox_dtype_size(x->dtype);
    const int64_t to = (int64_t)ox_dtype_size(out->dtype);
    double piece[OX_REALS_PIECE];
    ox_generator_start(&state->generator);
    for (int64_t i = 0, n; i < count; i += n) {
        n = ox_least(OX_REALS_PIECE, count - i);
        ox_reals_load(x->dtype, n, (const char *)x->data + i * from, from, piece, 1);
        for (int64_t k = 0; k < n; k++)
            piece[k] = ox_generator_uniform(&state->generator) < piece[k];
        ox_reals_store(out->dtype, n, piece, 1, (char *)out->data + i * to, to);
        if (ox_pool_poll(call->pool))
            break;
    }
    return OX_OK;
}

/* ---- Multinomial -------------------------------------------------------------------------------------------- */

ox_status ox_infer_multinomial(ox_call *call) {
    const ox_tensor *x = call->in[0];
    const int64_t samples = ox_call_int(call, "sample_size", 1);
    ox_dtype dtype;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(read_dtype(call, OX_BIT(OX_INT32) | OX_BIT(OX_INT64), OX_INT32, &dtype));
    if (x->rank != 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have two dimensions: batch and classes", OX_INPUT(call, 0));
    if (samples < 0)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'sample_size' is %lld, below 0", (long long)samples);
    if (x->dims[0] > 0 && x->dims[1] < 1 && samples > 0)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s has no class to choose", OX_INPUT(call, 0));
    return ox_call_output(call, 0, dtype, 2, (const int64_t[]){x->dims[0], samples});
}

ox_status ox_prepare_multinomial(ox_call *call) {
    OX_TRY(prepare(call, 0, 1));
    return ox_workspace_add(call, call->in[0]->dims[1], sizeof(double));
}

/* Turns logarithms of weights into sums of the weights up to each class. */
static void sum_up(int64_t classes, double *weights) {
    double max = -INFINITY, sum = 0;
    for (int64_t c = 0; c < classes; c++)
        max = weights[c] > max ? weights[c] : max;
    for (int64_t c = 0; c < classes; c++) {
        const double weight = weights[c] == max ? 1 : exp(weights[c] - max);
        sum += weight > 0 ? weight : 0;
        weights[c] = sum;
    }
}

/* The first class whose sum lies above the number. */
static int64_t class_above(int64_t classes, const double *sums, double number) {
    int64_t low = 0, high = classes - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (sums[middle] > number)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void put_class(const ox_tensor *out, int64_t i, int64_t class) {
    if (out->dtype == OX_INT64)
        OX_AT(ox_i64, (char *)out->data + i * 8) = class;
    else
        OX_AT(ox_i32, (char *)out->data + i * 4) = (int32_t) class;
}

ox_status ox_run_multinomial(ox_call *call) {
    random_state *state = call->state;
    const ox_tensor *x = call->in[0], *out = call->out[0];
    const int64_t classes = x->dims[1], samples = out->dims[1], width = (int64_t)ox_dtype_size(x->dtype);
    size_t used = 0;
    double *sums = ox_workspace_take(call, &used, classes, sizeof *sums);
    ox_generator_start(&state->generator);
    for (int64_t row = 0; row < out->dims[0] && samples > 0 && !ox_pool_poll(call->pool); row++) {
        ox_reals_load(x->dtype, classes, (const char *)x->data + row * classes * width, width, sums, 1);
        sum_up(classes, sums);
        for (int64_t i = 0; i < samples; i++) {
            const double number = ox_generator_uniform(&state->generator) * sums[classes - 1];
            put_class(out, row * samples + i, class_above(classes, sums, number));
            if (i % OX_REALS_PIECE == 0 && ox_pool_poll(call->pool))
                break;
        }
    }
    return OX_OK;
}
