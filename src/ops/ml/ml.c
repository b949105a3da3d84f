/* ml.c: what the operators of ai.onnx.ml share. */
#include "ml.h"
#include "half.h"

#include <math.h>

/* ---- Inputs ------------------------------------------------------------------------------------------------- */

ox_status ox_ml_rows(const ox_call *call, int i, int64_t *rows, int64_t *columns) {
    const ox_tensor *t = call->in[i];
    if (t->rank < 1 || t->rank > 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a row [C] or rows [N,C]", OX_INPUT(call, i));
    *rows = t->rank == 2 ? t->dims[0] : 1;
    *columns = t->dims[t->rank - 1];
    return OX_OK;
}

#define WIDEN(type)                                                                                                    \
    for (int64_t i = 0; i < n; i++)                                                                                    \
        to[i] = (double)((const type *)from)[i];                                                                       \
    return

void ox_ml_widen(ox_dtype dtype, int64_t n, const void *from, double *to) {
    switch (dtype) {
    case OX_FLOAT:
        WIDEN(ox_f32);
    case OX_INT32:
        WIDEN(ox_i32);
    case OX_INT64:
        WIDEN(ox_i64);
    default:
        WIDEN(ox_f64);
    }
}

ox_status ox_ml_plan_doubles(ox_call *call, const ox_tensor *tensor) {
    return tensor->dtype == OX_DOUBLE ? OX_OK : ox_workspace_add(call, ox_tensor_count(tensor), sizeof(double));
}

typedef struct widen_job {
    const ox_tensor *tensor;
    int64_t count;
    double *to;
} widen_job;

static void widen_part(void *context, int part, int parts) {
    const widen_job *job = context;
    int64_t first, end;
    ox_pool_range(job->count, part, parts, &first, &end);
    const char *from = (const char *)job->tensor->data + first * (int64_t)ox_dtype_size(job->tensor->dtype);
    ox_ml_widen(job->tensor->dtype, end - first, from, job->to + first);
}

const ox_f64 *ox_ml_doubles(const ox_call *call, size_t *used, const ox_tensor *tensor) {
    if (tensor->dtype == OX_DOUBLE)
        return tensor->data;
    widen_job job = {tensor, ox_tensor_count(tensor), NULL};
    job.to = ox_workspace_take(call, used, job.count, sizeof *job.to);
    ox_pool_run_pieces(call->pool, (double)job.count * sizeof *job.to, widen_part, &job);
    return job.to;
}

/* Several sums side by side, as an addition takes longer than a product. */
double ox_ml_dot(int64_t n, const ox_f64 *a, const float *b) {
    enum {
        SUMS = 8
    };
    double sum[SUMS] = {0}, rest = 0;
    int64_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (int k = 0; k < SUMS; k++)
            sum[k] += a[i + k] * (double)b[i + k];
    for (; i < n; i++)
        rest += a[i] * (double)b[i];
    for (int k = 0; k < SUMS; k++)
        rest += sum[k];
    return rest;
}

/* ---- Attributes --------------------------------------------------------------------------------------------- */

ox_status ox_ml_read_numbers(ox_call *call, const char *name, const char *tensor_name, ox_ml_numbers *numbers) {
    *numbers = (ox_ml_numbers){.name = name};
    numbers->floats = ox_call_floats(call, name, &numbers->count);
    const ox_tensor *tensor = ox_call_tensor(call, tensor_name);
    if (!tensor)
        return OX_OK;
    if (numbers->count)
        return ox_call_fail(call, OX_ERROR_MODEL, "attributes '%s' and '%s' are both given", name, tensor_name);
    const ox_dtypes types = OX_BIT(OX_FLOAT) | OX_BIT(OX_DOUBLE) | OX_BIT(OX_FLOAT16) | OX_BIT(OX_UINT8);
    if (!(OX_BIT(tensor->dtype) & types) || !ox_tensor_is_packed(tensor))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s': a tensor of type %s is not supported here",
                            tensor_name, ox_dtype_name(tensor->dtype));
    numbers->name = tensor_name;
    numbers->tensor = tensor;
    numbers->count = (size_t)ox_tensor_count(tensor);
    return OX_OK;
}

double ox_ml_number(const ox_ml_numbers *numbers, size_t i) {
    if (!numbers->tensor)
        return (double)numbers->floats[i];
    const char *data = numbers->tensor->data;
    switch (numbers->tensor->dtype) {
    case OX_FLOAT:
        return (double)OX_GET(ox_f32, data + i * 4);
    case OX_FLOAT16:
        return (double)ox_float_from_half(OX_GET(ox_u16, data + i * 2));
    case OX_UINT8:
        return OX_GET(ox_u8, data + i);
    default:
        return OX_GET(ox_f64, data + i * 8);
    }
}

ox_status ox_ml_read_labels(ox_call *call, const char *ints, const char *strings, ox_ml_labels *labels) {
    size_t count;
    *labels = (ox_ml_labels){.ints = ox_call_ints(call, ints, &count)};
    const ox_attr *attr = ox_call_attr(call, strings, OX_ATTR_STRINGS);
    labels->strings = attr && attr->count ? attr->u.strings : NULL;
    labels->count = labels->strings ? attr->count : count;
    if (labels->strings && count)
        return ox_call_fail(call, OX_ERROR_MODEL, "attributes '%s' and '%s' are both given", ints, strings);
    if (!labels->count)
        return ox_call_fail(call, OX_ERROR_MODEL, "neither attribute '%s' nor '%s' has elements", ints, strings);
    return OX_OK;
}

ox_dtype ox_ml_labels_dtype(const ox_ml_labels *labels) {
    return labels->strings ? OX_STRING : OX_INT64;
}

void ox_ml_put_label(const ox_ml_labels *labels, size_t k, void *data, int64_t i) {
    if (labels->strings)
        ((ox_string *)data)[i] = labels->strings[k];
    else
        ((int64_t *)data)[i] = labels->ints[k];
}

ox_status ox_ml_choice(ox_call *call, const char *attr, const char *const *names, int count, int *choice) {
    ox_string said = ox_call_string(call, attr, names[0]);
    for (*choice = 0; *choice < count; ++*choice)
        if (ox_says(said, names[*choice]))
            return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s': unknown value '%.*s'", attr, OX_SHORT(said));
}

ox_status ox_ml_check_count(const ox_call *call, const char *attr, size_t count, int64_t wanted, const char *why) {
    if (wanted >= 0 && count == (uint64_t)wanted)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' has %zu elements, expected %lld: %s", attr, count,
                        (long long)wanted, why);
}

/* ---- Scores ------------------------------------------------------------------------------------------------- */

ox_status ox_ml_read_transform(ox_call *call, ox_ml_transform *transform) {
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    int choice;
    OX_TRY(ox_ml_choice(call, "post_transform", names, 5, &choice));
    *transform = (ox_ml_transform)choice;
    return OX_OK;
}

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

/* The quantile of the normal distribution, by the approximation of the error function that other runtimes use. */
static double probit(double x) {
    const double a = 0.147, y = 2 * x - 1, log_rest = log((1 - y) * (1 + y));
    const double half = 2 / (3.14159 * a) + 0.5 * log_rest;
    return copysign(sqrt(2 * (sqrt(half * half - log_rest / a) - half)), y);
}

/* skip: scores of zero stay what they are. */
static void softmax(int64_t n, double *scores, bool skip) {
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = scores[i] > most ? scores[i] : most;
    for (int64_t i = 0; i < n; i++)
        if (!skip || fabs(scores[i]) > 1e-7)
            sum += scores[i] = exp(scores[i] - most);
        else
            scores[i] *= exp(-most);
    for (int64_t i = 0; i < n; i++)
        scores[i] /= sum;
}

void ox_ml_apply(ox_ml_transform transform, int64_t n, double *scores) {
    if (transform == OX_ML_SOFTMAX || transform == OX_ML_SOFTMAX_ZERO)
        softmax(n, scores, transform == OX_ML_SOFTMAX_ZERO);
    else if (transform != OX_ML_NONE)
        for (int64_t i = 0; i < n; i++)
            scores[i] = transform == OX_ML_LOGISTIC ? logistic(scores[i]) : probit(scores[i]);
}

void ox_ml_apply_to_pair(ox_ml_transform transform, bool is_share, double score, double scores[2]) {
    scores[0] = is_share && transform != OX_ML_LOGISTIC ? 1 - score : -score;
    scores[1] = score;
    if (transform == OX_ML_LOGISTIC || transform == OX_ML_PROBIT)
        ox_ml_apply(transform, 2, scores);
}

int64_t ox_ml_best(int64_t n, const double *scores) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

/* ---- Order -------------------------------------------------------------------------------------------------- */

static void sink(int64_t at, int64_t count, int64_t *indices, ox_ml_before *before, const void *context) {
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(context, indices[child], indices[child + 1]))
            child++;
        if (!before(context, indices[at], indices[child]))
            return;
        int64_t moved = indices[at];
        indices[at] = indices[child];
        indices[child] = moved;
    }
}

void ox_ml_sort(int64_t count, int64_t *indices, ox_ml_before *before, const void *context) {
    for (int64_t i = count / 2; i-- > 0;)
        sink(i, count, indices, before, context);
    for (int64_t end = count; end-- > 1;) {
        int64_t largest = indices[0];
        indices[0] = indices[end];
        indices[end] = largest;
        sink(0, end, indices, before, context);
    }
}
