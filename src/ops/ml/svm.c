/* svm.c: SVMRegressor and SVMClassifier. Both compare a row with support vectors by a kernel function. Without support
 * vectors they are linear. */
#include "ml.h"

#include <math.h>

typedef enum kernel {
    LINEAR,
    POLY,
    RBF,
    SIGMOID
} kernel;

typedef struct svm {
    int64_t rows, columns, scores; /* columns of the input; scores that a row gets */
    int kernel;
    double gamma, coef0, degree;
    ox_ml_transform transform;
    size_t coefficient_count, rho_count;
    const float *coefficients, *rho;
    int64_t vectors;
    const float *support;
    bool one_class;
    /* of the classifier */
    ox_ml_labels labels;
    int64_t classes, pairs;
    const int64_t *per_class; /* vectors of each class; NULL where it is linear */
    const float *prob_a, *prob_b;
} svm;

/* ---- Attributes --------------------------------------------------------------------------------------------- */

static ox_status read_kernel(ox_call *call, svm *s) {
    static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    size_t count;
    const float *p = ox_call_floats(call, "kernel_params", &count);
    OX_TRY(ox_ml_choice(call, "kernel_type", names, 4, &s->kernel));
    if (count)
        OX_TRY(ox_ml_check_count(call, "kernel_params", count, 3, "gamma, coef0 and degree"));
    else if (s->kernel != LINEAR && s->vectors)
        return ox_ml_check_count(call, "kernel_params", count, 3, "gamma, coef0 and degree");
    if (count) {
        s->gamma = (double)p[0];
        s->coef0 = (double)p[1];
        s->degree = (double)p[2];
    }
    if (!s->vectors)
        s->kernel = LINEAR;
    return OX_OK;
}

static int64_t times(int64_t a, int64_t b) {
    int64_t product;
    return ox_mul_i64(a, b, &product) ? product : INT64_MAX;
}

/* What both have. s->vectors is known. */
static ox_status read_svm(ox_call *call, svm *s) {
    size_t support;
    OX_TRY(ox_ml_rows(call, 0, &s->rows, &s->columns));
    OX_TRY(ox_ml_read_transform(call, &s->transform));
    OX_TRY(read_kernel(call, s));
    s->coefficients = ox_call_floats(call, "coefficients", &s->coefficient_count);
    s->rho = ox_call_floats(call, "rho", &s->rho_count);
    s->support = ox_call_floats(call, "support_vectors", &support);
    if (!s->rho_count)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'rho' has no elements");
    if (!s->vectors)
        return OX_OK;
    return ox_ml_check_count(call, "support_vectors", support, times(s->vectors, s->columns),
                             "the features of each support vector");
}

static ox_status read_regressor(ox_call *call, svm *s) {
    s->vectors = ox_call_int(call, "n_supports", 0);
    s->one_class = ox_call_int(call, "one_class", 0) != 0;
    s->scores = 1;
    if (s->vectors < 0)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'n_supports' is %lld, expected at least 0",
                            (long long)s->vectors);
    OX_TRY(read_svm(call, s));
    return ox_ml_check_count(call, "coefficients", s->coefficient_count, s->vectors ? s->vectors : s->columns,
                             s->vectors ? "one for each support vector" : "one for each feature");
}

/* How many support vectors each class has. */
static ox_status read_vectors(ox_call *call, svm *s) {
    size_t count;
    const int64_t *per_class = ox_call_ints(call, "vectors_per_class", &count);
    for (size_t i = 0; i < count; i++)
        if (per_class[i] < 0 || !ox_add_i64(s->vectors, per_class[i], &s->vectors))
            return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'vectors_per_class': %lld is out of range",
                                (long long)per_class[i]);
    if (!s->vectors)
        return OX_OK;
    s->per_class = per_class;
    return ox_ml_check_count(call, "vectors_per_class", count, s->classes, "one for each class");
}

static ox_status read_probabilities(ox_call *call, svm *s) {
    static const char why[] = "one for each pair of classes";
    size_t a, b;
    s->prob_a = ox_call_floats(call, "prob_a", &a);
    s->prob_b = ox_call_floats(call, "prob_b", &b);
    if (a != b)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'prob_a' has %zu elements, but 'prob_b' has %zu", a, b);
    if (!a || !s->vectors) {
        s->prob_a = s->prob_b = NULL;
        return OX_OK;
    }
    return ox_ml_check_count(call, "prob_a", a, s->pairs, why);
}

static ox_status read_classifier(ox_call *call, svm *s) {
    OX_TRY(ox_ml_read_labels(call, "classlabels_ints", "classlabels_strings", &s->labels));
    if (s->labels.count > UINT16_MAX)
        return ox_call_fail(call, OX_ERROR_LIMIT, "%zu classes are more than %d", s->labels.count, UINT16_MAX);
    s->classes = (int64_t)s->labels.count;
    s->pairs = s->classes * (s->classes - 1) / 2;
    OX_TRY(read_vectors(call, s));
    OX_TRY(read_svm(call, s));
    OX_TRY(read_probabilities(call, s));
    s->scores = s->vectors && !s->prob_a && s->classes > 2 ? s->pairs : s->classes;
    if (!s->vectors)
        return ox_ml_check_count(call, "coefficients", s->coefficient_count, times(s->classes, s->columns),
                                 "one for each class and each feature");
    OX_TRY(ox_ml_check_count(call, "rho", s->rho_count, s->pairs, "one for each pair of classes"));
    return ox_ml_check_count(call, "coefficients", s->coefficient_count, times(s->classes - 1, s->vectors),
                             "for each support vector, one for each other class");
}

/* ---- Infer and prepare -------------------------------------------------------------------------------------- */

ox_status ox_infer_svm_regressor(ox_call *call) {
    svm s = {0};
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(read_regressor(call, &s));
    return ox_call_output(call, 0, OX_FLOAT, 2, (int64_t[]){s.rows, 1});
}

ox_status ox_infer_svm_classifier(ox_call *call) {
    svm s = {0};
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(read_classifier(call, &s));
    OX_TRY(ox_call_output(call, 0, ox_ml_labels_dtype(&s.labels), 1, &s.rows));
    return ox_call_output(call, 1, OX_FLOAT, 2, (int64_t[]){s.rows, s.scores});
}

/* Numbers of workspace that a row of the classifier takes: scores of pairs, or of classes where it is linear; votes;
 * and for probabilities the result, a matrix of them by pairs, Q, and Q p. */
static int64_t room_of(const svm *s) {
    const int64_t scores = s->pairs > s->classes ? s->pairs : s->classes;
    return scores + s->classes + (s->prob_a ? 2 * s->classes + 2 * s->classes * s->classes : 0) + 2;
}

static ox_status plan_svm(ox_call *call, const svm *s) {
    OX_TRY(ox_ml_plan_doubles(call, call->in[0]));
    return ox_workspace_add(call, times(s->rows, room_of(s)), sizeof(double));
}

#define PREPARE(name, read)                                                                                            \
    ox_status ox_prepare_##name(ox_call *call) {                                                                       \
        svm *s = ox_call_state(call, sizeof *s);                                                                       \
        if (!s)                                                                                                        \
            return OX_ERROR_MEMORY;                                                                                    \
        OX_TRY(read(call, s));                                                                                         \
        return plan_svm(call, s);                                                                                      \
    }
PREPARE(svm_regressor, read_regressor)
PREPARE(svm_classifier, read_classifier)

/* ---- Kernels ------------------------------------------------------------------------------------------------ */

static double distance(int64_t n, const ox_f64 *x, const float *y) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = x[i] - (double)y[i];
        sum += d * d;
    }
    return sum;
}

static double kernel_of(const svm *s, const ox_f64 *x, const float *y) {
    switch (s->kernel) {
    case RBF:
        return exp(-s->gamma * distance(s->columns, x, y));
    case POLY:
        return pow(s->gamma * ox_ml_dot(s->columns, x, y) + s->coef0, s->degree);
    case SIGMOID:
        return tanh(s->gamma * ox_ml_dot(s->columns, x, y) + s->coef0);
    default:
        return ox_ml_dot(s->columns, x, y);
    }
}

/* ---- Regression --------------------------------------------------------------------------------------------- */

typedef struct svm_job {
    const ox_call *call;
    const ox_f64 *x;
    double *room;
} svm_job;

static double regress(const svm *s, const ox_f64 *x) {
    double sum = (double)s->rho[0];
    if (!s->vectors)
        sum += kernel_of(s, x, s->coefficients);
    for (int64_t v = 0; v < s->vectors; v++)
        sum += (double)s->coefficients[v] * kernel_of(s, x, s->support + v * s->columns);
    if (s->one_class)
        sum = sum > 0 ? 1 : -1;
    ox_ml_apply(s->transform, 1, &sum);
    return sum;
}

/* ---- Classification ----------------------------------------------------------------------------------------- */

/* The place of classes i < j among the pairs. */
static int64_t pair_of(const svm *s, int64_t i, int64_t j) {
    return i * (2 * s->classes - i - 1) / 2 + j - i - 1;
}

/* Every vector of a class has a coefficient for each other class, in rows that leave its own class out. */
static void score_pairs(const svm *s, const ox_f64 *x, double *scores) {
    for (int64_t p = 0; p < s->pairs; p++)
        scores[p] = (double)s->rho[p];
    int64_t v = 0;
    for (int64_t own = 0; own < s->classes; own++)
        for (int64_t end = v + s->per_class[own]; v < end; v++) {
            const double k = kernel_of(s, x, s->support + v * s->columns);
            for (int64_t other = 0; other < s->classes; other++)
                if (other < own)
                    scores[pair_of(s, other, own)] += k * (double)s->coefficients[other * s->vectors + v];
                else if (other > own)
                    scores[pair_of(s, own, other)] += k * (double)s->coefficients[(other - 1) * s->vectors + v];
        }
}

/* A pair votes for its first class if its score is above zero. */
static int64_t most_votes(const svm *s, const double *scores, double *votes) {
    for (int64_t i = 0; i < s->classes; i++)
        votes[i] = 0;
    for (int64_t i = 0; i < s->classes; i++)
        for (int64_t j = i + 1; j < s->classes; j++)
            votes[*scores++ > 0 ? i : j]++;
    return ox_ml_best(s->classes, votes);
}

/* By pairs, the probability of the first class against the second one, at [i][j], and the opposite. */
static void pair_probabilities(const svm *s, const double *scores, double *r) {
    const double least = 1e-7;
    for (int64_t i = 0, p = 0; i < s->classes; i++)
        for (int64_t j = i + 1; j < s->classes; j++, p++) {
            double value = 1 / (1 + exp(scores[p] * (double)s->prob_a[p] + (double)s->prob_b[p]));
            value = value < least ? least : value > 1 - least ? 1 - least : value;
            r[i * s->classes + j] = value;
            r[j * s->classes + i] = 1 - value;
        }
}

/* Q of the quadratic form that the probabilities minimize: Wu, Lin and Weng, Probability Estimates for Multi-class
 * Classification by Pairwise Coupling, 2004, the second method. */
static void couple(int64_t n, const double *r, double *q) {
    for (int64_t i = 0; i < n; i++) {
        q[i * n + i] = 0;
        for (int64_t j = 0; j < n; j++)
            if (j != i) {
                q[i * n + i] += r[j * n + i] * r[j * n + i];
                q[i * n + j] = -r[j * n + i] * r[i * n + j];
            }
    }
}

static double form(int64_t n, const double *q, const double *p, double *qp) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        qp[i] = 0;
        for (int64_t j = 0; j < n; j++)
            qp[i] += q[i * n + j] * p[j];
        sum += p[i] * qp[i];
    }
    return sum;
}

static double largest_error(int64_t n, const double *qp, double pqp) {
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fabs(qp[i] - pqp) > most ? fabs(qp[i] - pqp) : most;
    return most;
}

/* At most a hundred rounds, as in libsvm. */
static void minimize(int64_t n, const double *q, double *p, double *qp) {
    for (int64_t i = 0; i < n; i++)
        p[i] = 1 / (double)n;
    for (int round = 0; round < 100; round++) {
        double pqp = form(n, q, p, qp);
        if (largest_error(n, qp, pqp) < 0.005 / (double)n)
            return;
        for (int64_t i = 0; i < n; i++) {
            const double d = (pqp - qp[i]) / q[i * n + i];
            p[i] += d;
            pqp = (pqp + d * (d * q[i * n + i] + 2 * qp[i])) / (1 + d) / (1 + d);
            for (int64_t j = 0; j < n; j++) {
                qp[j] = (qp[j] + d * q[i * n + j]) / (1 + d);
                p[j] /= 1 + d;
            }
        }
    }
}

/* The class; *result are the scores. */
static int64_t classify(const svm *s, const ox_f64 *x, double *room, const double **result) {
    const int64_t n = s->classes;
    double *scores = room, *votes = room + (s->pairs > n ? s->pairs : n), *p = votes + n + 2;
    *result = scores;
    if (!s->vectors) {
        for (int64_t k = 0; k < n; k++)
            scores[k] = ox_ml_dot(s->columns, x, s->coefficients + k * s->columns) + (double)s->rho[0];
        const int64_t best = ox_ml_best(n, scores);
        ox_ml_apply(s->transform, n, scores);
        return best;
    }
    score_pairs(s, x, scores);
    const int64_t best = most_votes(s, scores, votes);
    if (s->prob_a) {
        double *qp = p + n, *r = qp + n, *q = r + n * n;
        pair_probabilities(s, scores, r);
        couple(n, r, q);
        minimize(n, q, p, qp);
        ox_ml_apply(s->transform, n, p);
        *result = p;
    } else if (n == 2) {
        ox_ml_apply_to_pair(s->transform, s->transform != OX_ML_NONE, scores[0], scores);
    } else {
        ox_ml_apply(s->transform, s->pairs, scores);
    }
    return best;
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

static void svm_part(void *context, int part, int parts) {
    const svm_job *job = context;
    const svm *s = job->call->state;
    ox_tensor *const *out = job->call->out;
    const ox_tensor *to = out[s->classes > 0];
    int64_t row, end;
    ox_pool_range(s->rows, part, parts, &row, &end);
    for (; row < end; row++) {
        const ox_f64 *x = job->x + row * s->columns;
        const double *scores = job->room + row * room_of(s);
        if (!s->classes) {
            *(double *)(job->room + row * room_of(s)) = regress(s, x);
        } else {
            const int64_t best = classify(s, x, job->room + row * room_of(s), &scores);
            if (out[0])
                ox_ml_put_label(&s->labels, (size_t)best, out[0]->data, row);
        }
        for (int64_t k = 0; k < s->scores && to; k++)
            ((float *)to->data)[row * s->scores + k] = (float)scores[k];
    }
}

ox_status ox_run_svm(ox_call *call) {
    const svm *s = call->state;
    size_t used = 0;
    svm_job job = {.call = call, .x = ox_ml_doubles(call, &used, call->in[0])};
    job.room = ox_workspace_take(call, &used, s->rows * room_of(s), sizeof *job.room);
    const double vectors = (double)s->vectors + (double)s->classes + 1;
    const double work = vectors * ((double)s->columns * 8 + (double)s->classes * 8 + 256);
    ox_pool_run_pieces(call->pool, (double)s->rows * work, svm_part, &job);
    return OX_OK;
}
