/* linear.c: LinearRegressor and LinearClassifier. */
#include "ml.h"

typedef struct linear {
    int64_t rows, columns, count; /* of the targets or classes that are computed */
    const float *coefficients;
    const float *intercepts; /* NULL for none */
    ox_ml_transform transform;
    ox_ml_labels labels; /* of classifiers */
} linear;

static ox_status read_linear(ox_call *call, linear *l) {
    size_t coefficients, intercepts;
    OX_TRY(ox_ml_rows(call, 0, &l->rows, &l->columns));
    OX_TRY(ox_ml_read_transform(call, &l->transform));
    l->coefficients = ox_call_floats(call, "coefficients", &coefficients);
    l->intercepts = ox_call_floats(call, "intercepts", &intercepts);
    if (!intercepts)
        l->intercepts = NULL;
    else
        OX_TRY(ox_ml_check_count(call, "intercepts", intercepts, l->count, "one for each row of the coefficients"));
    int64_t wanted;
    if (!ox_mul_i64(l->count, l->columns, &wanted))
        wanted = INT64_MAX;
    return ox_ml_check_count(call, "coefficients", coefficients, wanted, "one for each feature and each score");
}

/* ---- LinearRegressor ---------------------------------------------------------------------------------------- */

static ox_status read_regressor(ox_call *call, linear *l) {
    l->count = ox_call_int(call, "targets", 1);
    if (l->count < 1)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'targets' is %lld, expected at least 1",
                            (long long)l->count);
    return read_linear(call, l);
}

ox_status ox_infer_linear_regressor(ox_call *call) {
    linear l = {0};
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(read_regressor(call, &l));
    return ox_call_output(call, 0, OX_FLOAT, 2, (int64_t[]){l.rows, l.count});
}

/* ---- LinearClassifier --------------------------------------------------------------------------------------- */

/* One score may decide between two classes: their number is that of the intercepts. */
static ox_status read_classifier(ox_call *call, linear *l) {
    size_t intercepts, coefficients;
    OX_TRY(ox_ml_read_labels(call, "classlabels_ints", "classlabels_strings", &l->labels));
    OX_TRY(ox_ml_rows(call, 0, &l->rows, &l->columns));
    (void)ox_call_floats(call, "intercepts", &intercepts);
    (void)ox_call_floats(call, "coefficients", &coefficients);
    l->count = (int64_t)l->labels.count;
    if (l->count == 2 && (intercepts == 1 || (!intercepts && coefficients == (uint64_t)l->columns)))
        l->count = 1;
    return read_linear(call, l);
}

ox_status ox_infer_linear_classifier(ox_call *call) {
    linear l = {0};
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(read_classifier(call, &l));
    OX_TRY(ox_call_output(call, 0, ox_ml_labels_dtype(&l.labels), 1, &l.rows));
    return ox_call_output(call, 1, OX_FLOAT, 2, (int64_t[]){l.rows, (int64_t)l.labels.count});
}

/* ---- Both --------------------------------------------------------------------------------------------------- */

#define PREPARE(name, read)                                                                                            \
    ox_status ox_prepare_##name(ox_call *call) {                                                                       \
        linear *l = ox_call_state(call, sizeof *l);                                                                    \
        if (!l)                                                                                                        \
            return OX_ERROR_MEMORY;                                                                                    \
        OX_TRY(read(call, l));                                                                                         \
        return plan_linear(call, l);                                                                                   \
    }

static int64_t scores_of(const linear *l) {
    return l->labels.count ? (int64_t)l->labels.count : l->count;
}

static ox_status plan_linear(ox_call *call, const linear *l) {
    int64_t count;
    if (!ox_mul_i64(l->rows, scores_of(l), &count))
        count = INT64_MAX;
    OX_TRY(ox_ml_plan_doubles(call, call->in[0]));
    return ox_workspace_add(call, count, sizeof(double));
}
PREPARE(linear_regressor, read_regressor)
PREPARE(linear_classifier, read_classifier)

typedef struct linear_job {
    const ox_call *call;
    const ox_f64 *x;
    double *scores;
} linear_job;

static void compute_scores(const linear *l, const ox_f64 *x, double *scores) {
    for (int64_t k = 0; k < l->count; k++)
        scores[k] =
            ox_ml_dot(l->columns, x, l->coefficients + k * l->columns) + (l->intercepts ? (double)l->intercepts[k] : 0);
}

/* Returns the class. */
static size_t finish(const linear *l, double *scores) {
    const bool is_pair = l->count < scores_of(l);
    const size_t best = is_pair ? scores[0] > 0 : (size_t)ox_ml_best(l->count, scores);
    if (is_pair)
        ox_ml_apply_to_pair(l->transform, true, scores[0], scores);
    else
        ox_ml_apply(l->transform, l->count, scores);
    return best;
}

static void linear_part(void *context, int part, int parts) {
    const linear_job *job = context;
    const linear *l = job->call->state;
    const bool classifies = l->labels.count > 0;
    const int64_t n = scores_of(l);
    ox_tensor *const *out = job->call->out;
    const ox_tensor *to = out[classifies];
    int64_t row, end;
    ox_pool_range(l->rows, part, parts, &row, &end);
    for (; row < end; row++) {
        double *scores = job->scores + row * n;
        compute_scores(l, job->x + row * l->columns, scores);
        const size_t best = finish(l, scores);
        if (classifies && out[0])
            ox_ml_put_label(&l->labels, best, out[0]->data, row);
        for (int64_t k = 0; k < n && to; k++)
            ((float *)to->data)[row * n + k] = (float)scores[k];
    }
}

ox_status ox_run_linear(ox_call *call) {
    const linear *l = call->state;
    size_t used = 0;
    linear_job job = {.call = call, .x = ox_ml_doubles(call, &used, call->in[0])};
    job.scores = ox_workspace_take(call, &used, l->rows * scores_of(l), sizeof *job.scores);
    ox_pool_run_pieces(call->pool, (double)l->rows * (double)l->count * ((double)l->columns * 4 + 128), linear_part,
                       &job);
    return OX_OK;
}
