/* pick.c: operators that choose and join columns: ArrayFeatureExtractor and FeatureVectorizer. */
#include "ml.h"

#include <string.h>

/* ---- ArrayFeatureExtractor ---------------------------------------------------------------------------------- */

ox_status ox_infer_array_feature_extractor(ox_call *call) {
    const ox_tensor *x = call->in[0], *y = call->in[1];
    int64_t dims[OX_MAX_RANK];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT64)));
    if (x->rank < 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have columns to choose from", OX_INPUT(call, 0));
    const int rank = x->rank > 1 ? x->rank : 2;
    dims[0] = 1;
    for (int d = 0; d < x->rank - 1; d++)
        dims[d] = x->dims[d];
    dims[rank - 1] = ox_tensor_count(y);
    return ox_call_output(call, 0, x->dtype, rank, dims);
}

typedef struct pick_job {
    const int64_t *indices;
    int64_t rows, count, columns;
    size_t width;
    const char *from;
    char *to;
} pick_job;

static void pick_part(void *context, int part, int parts) {
    const pick_job *job = context;
    int64_t row, end;
    ox_pool_range(job->rows, part, parts, &row, &end);
    for (; row < end; row++) {
        const char *from = job->from + row * job->columns * (int64_t)job->width;
        char *to = job->to + row * job->count * (int64_t)job->width;
        for (int64_t k = 0; k < job->count; k++)
            memcpy(to + k * (int64_t)job->width, from + job->indices[k] * (int64_t)job->width, job->width);
    }
}

ox_status ox_prepare_array_feature_extractor(ox_call *call) {
    return ox_list_plan(call, 1);
}

ox_status ox_run_array_feature_extractor(ox_call *call) {
    const ox_tensor *x = call->in[0], *y = call->in[1];
    size_t used = 0;
    pick_job job = {.count = ox_tensor_count(y), .columns = x->dims[x->rank - 1]};
    job.indices = ox_list_take(call, &used, 1);
    for (int64_t k = 0; k < job.count; k++)
        if (job.indices[k] < 0 || job.indices[k] >= job.columns)
            return ox_call_fail(call, OX_ERROR_VALUE, "index %lld is out of range for the %lld columns of %s",
                                (long long)job.indices[k], (long long)job.columns, OX_INPUT(call, 0));
    job.rows = ox_count(x->rank - 1, x->dims);
    job.width = ox_dtype_size(x->dtype);
    job.from = x->data;
    job.to = call->out[0]->data;
    ox_pool_run_pieces(call->pool, (double)job.rows * (double)job.count * (double)job.width * 2, pick_part, &job);
    return OX_OK;
}

/* ---- FeatureVectorizer -------------------------------------------------------------------------------------- */

/* All inputs have the rows of the first one; inputdimensions says how many columns each has. */
ox_status ox_infer_feature_vectorizer(ox_call *call) {
    int64_t rows, columns, first_rows = 0, total = 0;
    size_t count;
    const int64_t *given = ox_call_ints(call, "inputdimensions", &count);
    if (count)
        OX_TRY(ox_ml_check_count(call, "inputdimensions", count, call->nin, "one for each input"));
    for (int i = 0; i < call->nin; i++) {
        OX_TRY(ox_call_check_dtype(call, i, call->op->dtypes));
        OX_TRY(ox_ml_rows(call, i, &rows, &columns));
        first_rows = i ? first_rows : rows;
        if (rows != first_rows)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have as many rows", OX_INPUT(call, 0),
                                OX_INPUT(call, i));
        if (count && given[i] != columns)
            return ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'inputdimensions' says %lld columns for %s",
                                (long long)given[i], OX_INPUT(call, i));
        if (!ox_add_i64(total, columns, &total))
            return ox_call_fail(call, OX_ERROR_LIMIT, "the inputs have too many columns");
    }
    return ox_call_output(call, 0, OX_FLOAT, 2, (int64_t[]){first_rows, total});
}

#define TAKE_ROW(type)                                                                                                 \
    for (int64_t c = 0; c < columns; c++)                                                                              \
        to[c] = (float)((const type *)in->data)[row * columns + c];                                                    \
    return

static void take_row(const ox_tensor *in, int64_t row, int64_t columns, float *to) {
    switch (in->dtype) {
    case OX_FLOAT:
        TAKE_ROW(ox_f32);
    case OX_DOUBLE:
        TAKE_ROW(ox_f64);
    case OX_INT32:
        TAKE_ROW(ox_i32);
    default:
        TAKE_ROW(ox_i64);
    }
}

static void join_part(void *context, int part, int parts) {
    const ox_call *call = context;
    const ox_tensor *out = call->out[0];
    int64_t row, end;
    ox_pool_range(out->dims[0], part, parts, &row, &end);
    for (; row < end; row++) {
        float *to = (float *)out->data + row * out->dims[1];
        for (int i = 0; i < call->nin; i++) {
            const int64_t columns = call->in[i]->dims[call->in[i]->rank - 1];
            take_row(call->in[i], row, columns, to);
            to += columns;
        }
    }
}

ox_status ox_run_feature_vectorizer(ox_call *call) {
    ox_pool_run_pieces(call->pool, (double)ox_tensor_count(call->out[0]) * 8, join_part, call);
    return OX_OK;
}
