/* check_bounds.c: the operators whose results differ in bits between algorithms or builds of the loops, and their
 * bounds. */
#include "check_bounds.h"

#include "check_node.h"

#if OX_WITH_SELF_CHECK
#include <float.h>
#include <math.h>

typedef enum check_kind {
    SUMS,      /* of products of its inputs: linear in each of them */
    BLOCKS,    /* likewise, with weights that have a scale and a zero point, input ZEROS */
    MEANS,     /* of windows of one input */
    FUNCTION,  /* of one element */
    GELU,      /* likewise */
    FUNCTIONS, /* of an element and sums of functions of others */
    COMPOSED   /* functions of sums of products, and the other way round */
} check_kind;

enum {
    ZEROS = 3 /* it stays as it is: it is taken off weights before they are made absolute */
};

typedef struct row {
    const char *domain, *op;
    check_kind kind;
} row;

#define ML "ai.onnx.ml"
#define MS "com.microsoft"

static const row rows[] = {{"", "Acos", FUNCTION},
                           {"", "Acosh", FUNCTION},
                           {"", "Asin", FUNCTION},
                           {"", "Asinh", FUNCTION},
                           {"", "Atan", FUNCTION},
                           {"", "Atanh", FUNCTION},
                           {"", "Celu", FUNCTION},
                           {"", "Cos", FUNCTION},
                           {"", "Cosh", FUNCTION},
                           {"", "Elu", FUNCTION},
                           {"", "Erf", FUNCTION},
                           {"", "Exp", FUNCTION},
                           {"", "Log", FUNCTION},
                           {"", "Pow", FUNCTION},
                           {"", "Selu", FUNCTION},
                           {"", "Sigmoid", FUNCTION},
                           {"", "Sin", FUNCTION},
                           {"", "Sinh", FUNCTION},
                           {"", "Softplus", FUNCTION},
                           {"", "Tan", FUNCTION},
                           {"", "Tanh", FUNCTION},
                           {"", "Gelu", GELU},
                           {"", "Mish", GELU},
                           {"", "SwiGLU", GELU},
                           {"", "Swish", GELU},
                           {"", "GlobalLpPool", FUNCTIONS},
                           {"", "LRN", FUNCTIONS},
                           {"", "LogSoftmax", FUNCTIONS},
                           {"", "LpPool", FUNCTIONS},
                           {"", "ReduceLogSum", FUNCTIONS},
                           {"", "ReduceLogSumExp", FUNCTIONS},
                           {"", "Softmax", FUNCTIONS},
                           {"", "SoftmaxCrossEntropyLoss", FUNCTIONS},
                           {"", "Conv", SUMS},
                           {"", "ConvTranspose", SUMS},
                           {"", "Einsum", SUMS},
                           {"", "Gemm", SUMS},
                           {"", "MatMul", SUMS},
                           {MS, "FusedMatMul", SUMS},
                           {MS, "MatMulBnb4", SUMS},
                           {MS, "MatMulNBits", BLOCKS},
                           {"", "AveragePool", MEANS},
                           {"", "Attention", COMPOSED},
                           {"", "CausalConvWithState", COMPOSED},
                           {"", "DeformConv", COMPOSED},
                           {"", "GRU", COMPOSED},
                           {"", "LSTM", COMPOSED},
                           {"", "LinearAttention", COMPOSED},
                           {"", "RNN", COMPOSED},
                           {"ai.onnx.preview", "FlexAttention", COMPOSED},
                           {MS, "CausalConvWithState", COMPOSED},
                           {MS, "GroupQueryAttention", COMPOSED},
                           {MS, "LinearAttention", COMPOSED},
                           {MS, "MoE", COMPOSED},
                           {MS, "MultiHeadAttention", COMPOSED},
                           {MS, "QMoE", COMPOSED},
                           {ML, "LinearClassifier", COMPOSED},
                           {ML, "LinearRegressor", COMPOSED},
                           {ML, "SVMClassifier", COMPOSED},
                           {ML, "SVMRegressor", COMPOSED}};

static const row *find_row(const ox_op *op) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!ox_text_order(op->domain, rows[i].domain) && !ox_text_order(op->name, rows[i].op))
            return &rows[i];
    return NULL;
}

/* Half a unit in the last place of 1, in the type that is computed in. */
static double half_unit(ox_dtype dtype) {
    return dtype == OX_DOUBLE || dtype == OX_COMPLEX128 ? 0x1p-53 : 0x1p-24;
}

/* Makes absolute means infinite whose sums may be: those of floats, and of wider types, are added up in their own. */
static void open_overflows(ox_tensor *means) {
    const int64_t count = ox_tensor_count(means);
    float *floats = means->data;
    double *doubles = means->data;
    for (int64_t i = 0; i < count && means->dtype == OX_FLOAT; i++)
        floats[i] = floats[i] > FLT_MAX / OX_CHECK_MEAN_MOST ? INFINITY : floats[i];
    for (int64_t i = 0; i < count && means->dtype == OX_DOUBLE; i++)
        doubles[i] = doubles[i] > DBL_MAX / OX_CHECK_MEAN_MOST ? (double)INFINITY : doubles[i];
}

/* A share of the absolute values that the elements sum up; of sums, as often as the most of them sum up numbers. */
static ox_status bound_sums(ox_frame *frame, int m, check_kind kind, ox_dtype dtype, ox_tolerance *bound) {
    ox_tensor ones, *sums = ox_pile_get(&frame->checking.second->plan.pile, sizeof *sums);
    if (!sums)
        return ox_fail_memory(frame->error, "the check of a run", sizeof *sums);
    const int kept = kind == BLOCKS ? ZEROS : -1;
    const bool transformed = ox_frame_prepared(frame->checking.second, m)->is_transformed;
    OX_TRY(ox_check_sums(frame, m, OX_CHECK_ABSOLUTE, kept, sums));
    bound->scale = sums;
    bound->largest = transformed ? ox_differ_largest(sums) : 0;
    bound->times = OX_CHECK_MEAN_ERRORS * half_unit(dtype);
    if (kind == MEANS) {
        open_overflows(sums);
        return OX_OK;
    }
    OX_TRY(ox_check_sums(frame, m, OX_CHECK_ONES, kept, &ones));
    const double roundings = ox_differ_largest(&ones) + (kind == BLOCKS ? OX_CHECK_BLOCK_ROUNDINGS : 0);
    bound->times = (transformed ? OX_CHECK_WINOGRAD_ERRORS : OX_CHECK_SUM_ERRORS) * half_unit(dtype) * roundings;
    return OX_OK;
}

/* The type of the outputs that are compared: of the first that the node has. */
static ox_dtype type_of(const ox_frame *frame, const ox_node *node) {
    for (int k = 0; k < node->nout; k++)
        if (node->out[k] >= 0)
            return ox_frame_own(frame->checking.second, node->out[k])->tensor.dtype;
    return OX_UNDEFINED;
}

ox_status ox_check_bound(ox_frame *frame, int m, ox_tolerance *bound) {
    const ox_node *node = &frame->graph->nodes[m];
    const row *found = find_row(node->op);
    const ox_dtype dtype = type_of(frame, node);
    *bound = (ox_tolerance){0};
    if (!found || !(OX_BIT(dtype) & (OX_SET_FLOAT | OX_SET_COMPLEX)))
        return OX_OK;
    const bool widened = ox_dtype_compute(dtype) != dtype;
    bound->units = widened;
    switch (found->kind) {
    case SUMS:
    case BLOCKS:
    case MEANS:
        return bound_sums(frame, m, found->kind, dtype, bound);
    case FUNCTION:
        bound->units = widened ? 1 : OX_CHECK_FUNCTION_UNITS;
        return OX_OK;
    case GELU:
        bound->units = widened ? 1 : OX_CHECK_GELU_UNITS;
        return OX_OK;
    case FUNCTIONS:
        bound->share = OX_CHECK_FUNCTIONS_UNITS * half_unit(dtype);
        return OX_OK;
    case COMPOSED:
        bound->share = OX_CHECK_COMPOSED_ERRORS * half_unit(dtype);
    }
    return OX_OK;
}

#endif
