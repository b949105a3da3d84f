/* columns.c: operators on the numbers of rows, by column: Binarizer, Imputer, Normalizer and Scaler. */
#include "ml.h"

#include <math.h>

/* ---- Rows and columns --------------------------------------------------------------------------------------- */

/* The last dimension are columns; one number is one. */
static int64_t columns_of(const ox_tensor *t) {
    return t->rank ? t->dims[t->rank - 1] : 1;
}

typedef void rows_fn(const void *state, ox_dtype dtype, int64_t rows, int64_t columns, const void *from, void *to);

typedef struct rows_job {
    const ox_call *call;
    rows_fn *fn;
    int64_t rows, columns;
} rows_job;

static void rows_part(void *context, int part, int parts) {
    const rows_job *job = context;
    const ox_tensor *in = job->call->in[0], *out = job->call->out[0];
    int64_t first, end;
    ox_pool_range(job->rows, part, parts, &first, &end);
    const char *from = (const char *)in->data + first * job->columns * (int64_t)ox_dtype_size(in->dtype);
    char *to = (char *)out->data + first * job->columns * (int64_t)ox_dtype_size(out->dtype);
    job->fn(job->call->state, in->dtype, end - first, job->columns, from, to);
}

static ox_status run_rows(ox_call *call, rows_fn *fn) {
    const int64_t count = ox_tensor_count(call->in[0]), columns = columns_of(call->in[0]);
    if (!count)
        return OX_OK;
    rows_job job = {call, fn, count / columns, columns};
    ox_pool_run_pieces(call->pool, (double)count * 16, rows_part, &job);
    return OX_OK;
}

/* Does what LOOP(type) says for the type of the input. */
#define EACH_TYPE(dtype, LOOP)                                                                                         \
    switch (dtype) {                                                                                                   \
    case OX_FLOAT:                                                                                                     \
        LOOP(ox_f32);                                                                                                  \
        break;                                                                                                         \
    case OX_DOUBLE:                                                                                                    \
        LOOP(ox_f64);                                                                                                  \
        break;                                                                                                         \
    case OX_INT32:                                                                                                     \
        LOOP(ox_i32);                                                                                                  \
        break;                                                                                                         \
    default:                                                                                                           \
        LOOP(ox_i64);                                                                                                  \
    }

static ox_status infer_like(ox_call *call, ox_dtype dtype) {
    const ox_tensor *x = call->in[0];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    return ox_call_output(call, 0, dtype, x->rank, x->dims);
}

/* An attribute is for all columns, or has a number for each. */
static ox_status check_columns(const ox_call *call, const char *attr, size_t count) {
    const int64_t columns = columns_of(call->in[0]);
    if (count == 1 || (columns >= 0 && count == (uint64_t)columns))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "attribute '%s' has %zu elements, but %s has %lld columns", attr, count,
                        OX_INPUT(call, 0), (long long)columns);
}

static double *take_columns(ox_call *call, int64_t columns) {
    double *list = ox_pile_array(call->pile, (size_t)columns, sizeof *list);
    if (!list)
        ox_fail_memory(call->error, "the columns of an operator", (size_t)columns * sizeof *list);
    return list;
}

/* ---- Binarizer ---------------------------------------------------------------------------------------------- */

ox_status ox_infer_binarizer(ox_call *call) {
    (void)ox_call_float(call, "threshold", 0);
    return infer_like(call, call->in[0]->dtype);
}

ox_status ox_prepare_binarizer(ox_call *call) {
    double *threshold = ox_call_state(call, sizeof *threshold);
    if (!threshold)
        return OX_ERROR_MEMORY;
    *threshold = (double)ox_call_float(call, "threshold", 0);
    return OX_OK;
}

#define BINARIZE(type)                                                                                                 \
    for (int64_t i = 0; i < n; i++)                                                                                    \
    ((type *)to)[i] = (double)((const type *)from)[i] > threshold

static void binarize(const void *state, ox_dtype dtype, int64_t rows, int64_t columns, const void *from, void *to) {
    const double threshold = *(const double *)state;
    const int64_t n = rows * columns;
    EACH_TYPE(dtype, BINARIZE)
}

ox_status ox_run_binarizer(ox_call *call) {
    return run_rows(call, binarize);
}

/* ---- Scaler ------------------------------------------------------------------------------------------------- */

typedef struct scaler {
    const double *offset, *scale;
} scaler;

static ox_status check_list(ox_call *call, const char *attr) {
    size_t count;
    (void)ox_call_floats(call, attr, &count);
    return count ? check_columns(call, attr, count) : OX_OK;
}

ox_status ox_infer_scaler(ox_call *call) {
    OX_TRY(check_list(call, "offset"));
    OX_TRY(check_list(call, "scale"));
    return infer_like(call, OX_FLOAT);
}

/* A number for each column. */
static ox_status spread(ox_call *call, const char *attr, double otherwise, const double **list) {
    const int64_t columns = columns_of(call->in[0]);
    size_t count;
    const float *given = ox_call_floats(call, attr, &count);
    double *numbers = take_columns(call, columns);
    if (!numbers)
        return OX_ERROR_MEMORY;
    for (int64_t i = 0; i < columns; i++)
        numbers[i] = count ? (double)given[count > 1 ? i : 0] : otherwise;
    *list = numbers;
    return OX_OK;
}

ox_status ox_prepare_scaler(ox_call *call) {
    scaler *s = ox_call_state(call, sizeof *s);
    if (!s)
        return OX_ERROR_MEMORY;
    OX_TRY(spread(call, "offset", 0, &s->offset));
    return spread(call, "scale", 1, &s->scale);
}

#define SCALE(type)                                                                                                    \
    for (int64_t i = 0; i < rows * columns; i += columns)                                                              \
        for (int64_t c = 0; c < columns; c++)                                                                          \
    ((float *)to)[i + c] = (float)(((double)((const type *)from)[i + c] - s->offset[c]) * s->scale[c])

static void scale(const void *state, ox_dtype dtype, int64_t rows, int64_t columns, const void *from, void *to) {
    const scaler *s = state;
    EACH_TYPE(dtype, SCALE)
}

ox_status ox_run_scaler(ox_call *call) {
    return run_rows(call, scale);
}

/* ---- Imputer ------------------------------------------------------------------------------------------------ */

typedef struct imputer {
    bool replaces_nan;
    size_t count; /* of the values: 1, or one for each column */
    double replaced;
    const float *floats;
    int64_t replaced_int;
    const int64_t *ints;
} imputer;

static bool has_ints(const ox_call *call) {
    return call->in[0]->dtype == OX_INT64 || call->in[0]->dtype == OX_INT32;
}

static ox_status read_imputer(ox_call *call, imputer *m) {
    const char *name = has_ints(call) ? "imputed_value_int64s" : "imputed_value_floats";
    m->replaced = (double)ox_call_float(call, "replaced_value_float", 0);
    m->replaced_int = ox_call_int(call, "replaced_value_int64", 0);
    m->replaces_nan = isnan(m->replaced);
    if (has_ints(call))
        m->ints = ox_call_ints(call, name, &m->count);
    else
        m->floats = ox_call_floats(call, name, &m->count);
    if (!m->count)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' has no elements, but the input is of type %s", name,
                            ox_dtype_name(call->in[0]->dtype));
    return check_columns(call, name, m->count);
}

/* Values of int32 must be such. */
static ox_status check_values(const ox_call *call, const imputer *m) {
    for (size_t i = 0; i < m->count && call->in[0]->dtype == OX_INT32; i++)
        if (m->ints[i] != (int32_t)m->ints[i])
            return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'imputed_value_int64s': %lld does not fit int32",
                                (long long)m->ints[i]);
    return OX_OK;
}

ox_status ox_infer_imputer(ox_call *call) {
    imputer m = {0};
    OX_TRY(infer_like(call, call->in[0]->dtype));
    OX_TRY(read_imputer(call, &m));
    return check_values(call, &m);
}

ox_status ox_prepare_imputer(ox_call *call) {
    imputer *m = ox_call_state(call, sizeof *m);
    return m ? read_imputer(call, m) : OX_ERROR_MEMORY;
}

#define IMPUTE(type, is_replaced, values)                                                                              \
    for (int64_t i = 0; i < rows * columns; i += columns)                                                              \
        for (int64_t c = 0; c < columns; c++) {                                                                        \
            const type x = ((const type *)from)[i + c];                                                                \
            ((type *)to)[i + c] = (is_replaced) ? (type)m->values[m->count > 1 ? c : 0] : x;                           \
        }                                                                                                              \
    return

static void impute(const void *state, ox_dtype dtype, int64_t rows, int64_t columns, const void *from, void *to) {
    const imputer *m = state;
    switch (dtype) {
    case OX_FLOAT:
        IMPUTE(ox_f32, (double)x == m->replaced || (m->replaces_nan && x != x), floats);
    case OX_DOUBLE:
        IMPUTE(ox_f64, x == m->replaced || (m->replaces_nan && x != x), floats);
    case OX_INT32:
        IMPUTE(ox_i32, x == m->replaced_int, ints);
    default:
        IMPUTE(ox_i64, x == m->replaced_int, ints);
    }
}

ox_status ox_run_imputer(ox_call *call) {
    return run_rows(call, impute);
}

/* ---- Normalizer --------------------------------------------------------------------------------------------- */

typedef enum norm {
    NORM_MAX,
    NORM_L1,
    NORM_L2
} norm;

static ox_status read_norm(ox_call *call, int *how) {
    static const char *const names[] = {"MAX", "L1", "L2"};
    return ox_ml_choice(call, "norm", names, 3, how);
}

ox_status ox_infer_normalizer(ox_call *call) {
    int64_t rows, columns;
    int how;
    OX_TRY(read_norm(call, &how));
    OX_TRY(ox_ml_rows(call, 0, &rows, &columns));
    return infer_like(call, OX_FLOAT);
}

ox_status ox_prepare_normalizer(ox_call *call) {
    int *how = ox_call_state(call, sizeof *how);
    return how ? read_norm(call, how) : OX_ERROR_MEMORY;
}

/* What a row is divided by; 1 where that would be zero. */
#define NORM(type)                                                                                                     \
    for (int64_t c = 0; c < columns; c++) {                                                                            \
        const double x = (double)((const type *)row)[c];                                                               \
        sum += how == NORM_L1 ? fabs(x) : x * x;                                                                       \
        most = x > most ? x : most;                                                                                    \
    }

static double norm_of(int how, ox_dtype dtype, int64_t columns, const void *row) {
    double sum = 0, most = -INFINITY;
    EACH_TYPE(dtype, NORM)
    const double result = how == NORM_MAX ? most : how == NORM_L1 ? sum : sqrt(sum);
    return result == 0 ? 1 : result;
}

#define DIVIDE(type)                                                                                                   \
    for (int64_t c = 0; c < columns; c++)                                                                              \
    ((float *)to)[i * columns + c] = (float)((double)((const type *)row)[c] / divisor)

static void normalize(const void *state, ox_dtype dtype, int64_t rows, int64_t columns, const void *from, void *to) {
    for (int64_t i = 0; i < rows; i++) {
        const char *row = (const char *)from + i * columns * (int64_t)ox_dtype_size(dtype);
        const double divisor = norm_of(*(const int *)state, dtype, columns, row);
        EACH_TYPE(dtype, DIVIDE)
    }
}

ox_status ox_run_normalizer(ox_call *call) {
    return run_rows(call, normalize);
}
