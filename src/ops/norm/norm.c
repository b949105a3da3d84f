/* norm.c: what normalisations share: programs over rows, and statistics of other elements. */
#include "norm.h"

#include "half.h"
#include "iterate/walk.h"
#include "loops/statistics_loops.h"
#include "ops/dense.h"
#include "ops/own_pass.h"

#include <float.h>
#include <math.h>

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

void ox_norm_start(const ox_call *call, ox_norm_kind kind, ox_norm *norm) {
    const ox_tensor *x = call->in[0];
    *norm = (ox_norm){.kind = kind, .rank = x->rank};
    if (x->rank)
        memcpy(norm->dims, x->dims, (size_t)x->rank * sizeof *norm->dims);
}

ox_status ox_norm_check_channels(ox_call *call, int first, int last, int64_t count, const char *of) {
    for (int i = first; i <= last; i++) {
        OX_TRY(ox_call_check_dtype(call, i, call->op->dtypes));
        if (call->in[i]->rank != 1 || call->in[i]->dims[0] != count)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have one element for each of the %lld %s of %s",
                                OX_INPUT(call, i), (long long)count, of, OX_INPUT(call, 0));
    }
    return OX_OK;
}

/* ---- Scale and bias ----------------------------------------------------------------------------------------- */

/* The dims and strides that an input is broadcast with. */
static ox_tensor *spread_shape(ox_call *call, const ox_norm *norm, const ox_tensor *t) {
    const int rank = norm->rank - norm->at;
    ox_tensor *shape = ox_pile_get(call->pile, sizeof *shape);
    int64_t *dims = ox_pile_array(call->pile, 2 * (size_t)rank + 1, sizeof *dims);
    if (!shape || !dims)
        return NULL;
    int64_t *strides = dims + rank;
    for (int d = 0; d < rank; d++)
        dims[d] = d < norm->spread ? norm->dims[norm->at + d] : 1;
    if (t->rank == norm->spread)
        ox_tensor_strides(t, strides);
    else
        ox_packed_strides(norm->spread, dims, ox_dtype_size(t->dtype), strides);
    *shape = (ox_tensor){t->dtype, rank, dims, strides, NULL};
    return shape;
}

ox_reg ox_norm_load(ox_call *call, ox_pass_builder *b, const ox_reg *in, const ox_norm *norm, int i) {
    if (in[i] >= 0)
        return in[i];
    const ox_tensor *shape = norm->spread ? spread_shape(call, norm, call->in[i]) : NULL;
    return norm->spread && !shape ? -1 : ox_pass_load(b, call->in[i], shape);
}

static ox_reg apply(ox_pass_builder *b, ox_lane_set lanes, ox_reg x, ox_reg y) {
    return ox_elementwise_apply(b, lanes, NULL, OX_UNDEFINED, 2, (const ox_reg[]){x, y});
}

static ox_reg apply_one(ox_pass_builder *b, ox_lane_set lanes, ox_reg x) {
    return ox_elementwise_apply(b, lanes, NULL, OX_UNDEFINED, 1, &x);
}

/* In double if one of the operands is. */
ox_reg ox_norm_scale(ox_call *call, ox_pass_builder *b, const ox_reg *in, const ox_norm *norm, ox_reg x) {
    const int operands[] = {norm->scale, norm->bias};
    ox_dtype dtype = ox_dtype_compute(call->out[0]->dtype);
    for (int k = 0; k < 2; k++)
        if (operands[k] && call->in[operands[k]]->dtype == OX_DOUBLE)
            dtype = OX_DOUBLE;
    for (int k = 0; k < 2; k++)
        if (operands[k]) {
            const ox_reg y = ox_norm_load(call, b, in, norm, operands[k]);
            if (y < 0)
                return -1;
            x = apply(b, k ? OX_LANES_Add : OX_LANES_Mul, ox_pass_convert(b, x, dtype), ox_pass_convert(b, y, dtype));
        }
    return x;
}

/* ---- Programs over rows ------------------------------------------------------------------------------------- */

static bool centres(const ox_norm *norm) {
    return norm->kind <= OX_NORM_DEVIATION;
}

static bool divides(const ox_norm *norm) {
    return norm->kind >= OX_NORM_L1;
}

int ox_norm_rows(const ox_call *call, ox_norm_fn *describe) {
    const ox_tensor *x = call->in[0];
    ox_call asked = *call;
    ox_norm norm;
    for (int k = 0; k < call->nout; k++)
        if ((k == 0) != (call->out[k] != NULL))
            return 0;
    if (describe(&asked, &norm) != OX_OK)
        return 0;
    int axis = x->rank;
    while (axis > 0 && norm.set & OX_AXIS(axis - 1))
        axis--;
    return norm.set >> axis << axis == norm.set && axis < x->rank ? ox_row_axes(x, axis) : 0;
}

/* The least number above 0. */
static ox_reg least(ox_pass_builder *b, ox_dtype dtype) {
    const float single = FLT_TRUE_MIN;
    const double wide = DBL_TRUE_MIN;
    return dtype == OX_DOUBLE ? ox_pass_constant(b, OX_DOUBLE, &wide) : ox_pass_constant(b, OX_FLOAT, &single);
}

/* What the differences, or elements, of a row are multiplied with, or divided by. */
static ox_reg row_factor(ox_pass_builder *b, const ox_norm *norm, ox_reg x) {
    const ox_reg epsilon = ox_own_pass_number(b, x, (float)norm->epsilon);
    if (divides(norm))
        return apply(b, OX_LANES_Max, ox_pass_fold(b, norm->kind == OX_NORM_L1 ? OX_FOLD_L1 : OX_FOLD_L2, x),
                     least(b, ox_pass_dtype(b, x)));
    ox_reg spread = ox_pass_fold(b, OX_FOLD_MEAN, apply(b, OX_LANES_Mul, x, x));
    if (norm->kind == OX_NORM_DEVIATION)
        spread = apply(b, OX_LANES_Add, apply_one(b, OX_LANES_Sqrt, spread), epsilon);
    else
        spread = apply_one(b, OX_LANES_Sqrt, apply(b, OX_LANES_Add, spread, epsilon));
    return apply_one(b, OX_LANES_Reciprocal, spread);
}

ox_reg ox_norm_emit(ox_call *call, ox_pass_builder *b, const ox_reg *in, ox_norm_fn *describe) {
    ox_norm norm;
    if (describe(call, &norm) != OX_OK)
        return -1;
    ox_reg x = ox_pass_widen(b, in[0]);
    if (x >= 0 && centres(&norm))
        x = apply(b, OX_LANES_Sub, x, ox_pass_fold(b, OX_FOLD_MEAN, x));
    const ox_reg factor = x < 0 ? -1 : row_factor(b, &norm, x);
    if (factor < 0)
        return -1;
    return ox_norm_scale(call, b, in, &norm, apply(b, divides(&norm) ? OX_LANES_Div : OX_LANES_Mul, x, factor));
}

/* ---- Plans -------------------------------------------------------------------------------------------------- */

/* Results side by side that are kept on the stack. */
enum {
    TILE = OX_SMALL ? 16 : 128
};

typedef struct norm_state {
    ox_norm norm;
    ox_tensor seen, mean, factor;     /* of the pass */
    int64_t stat_dims[OX_MAX_RANK];   /* of the latter two */
    int64_t kept_count, count, width; /* count: elements that go into each */
    ox_bcast kept, reduced;
    bool rows;
    const ox_moments_loops *moments;
    ox_folder folder;
    ox_norm_statistic *statistics; /* in the workspace */
    ox_own_pass pass;
} norm_state;

static ox_status plan_axes(ox_call *call, const ox_norm *norm, bool inside, int64_t width, ox_bcast *plan,
                           int64_t *count) {
    int64_t strides[OX_MAX_RANK], dims[OX_MAX_RANK], steps[OX_MAX_RANK];
    int rank = 0;
    ox_packed_strides(norm->rank, norm->dims, (size_t)width, strides);
    for (int d = 0; d < norm->rank; d++)
        if (((norm->set & OX_AXIS(d)) != 0) == inside) {
            dims[rank] = norm->dims[d];
            steps[rank++] = strides[d];
        }
    *count = ox_count(rank, dims);
    return ox_plan_space(call, plan, 1, rank, dims, (const int64_t *const[]){steps});
}

static ox_status plan_statistics(ox_call *call, norm_state *s) {
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    const ox_statistics_loops *loops = OX_BUILD_OF(call->loops, ox_statistics_builds);
    const ox_fold fold = s->norm.kind == OX_NORM_L1 ? OX_FOLD_L1 : OX_FOLD_SQUARES;
    s->width = (int64_t)ox_dtype_size(dtype);
    s->moments = dtype == OX_DOUBLE ? &loops->f64 : &loops->f32;
    if (!OX_BUILD_OF(call->loops, fold)(dtype, &s->folder))
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: normalisation does not support this type",
                            OX_INPUT(call, 0));
    OX_TRY(plan_axes(call, &s->norm, false, s->width, &s->kept, &s->kept_count));
    OX_TRY(plan_axes(call, &s->norm, true, s->width, &s->reduced, &s->count));
    s->rows = s->reduced.dim[0] == 1 || s->reduced.step[0] == s->width;
    return OX_OK;
}

/* The elements as the pass sees them, and the statistics that are the same for many. */
static void describe_operands(const ox_call *call, norm_state *s) {
    const ox_tensor *x = call->in[0];
    const ox_norm *norm = &s->norm;
    const ox_dtype dtype = ox_dtype_compute(x->dtype);
    const bool same = ox_same_dims(x->rank, x->dims, norm->rank, norm->dims);
    for (int d = 0; d < norm->rank; d++)
        s->stat_dims[d] = norm->set & OX_AXIS(d) ? 1 : norm->dims[d];
    s->seen = (ox_tensor){x->dtype, norm->rank, norm->dims, same ? x->strides : NULL, NULL};
    s->mean = (ox_tensor){dtype, norm->rank, s->stat_dims, NULL, NULL};
    s->factor = s->mean;
}

static ox_status plan_pass(ox_call *call, norm_state *s) {
    const ox_norm *norm = &s->norm;
    ox_reg in[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    ox_pass_builder *b = ox_pass_begin(call->pile, call->pile, call->loops, norm->rank, norm->dims, 0);
    if (!b)
        return ox_fail_memory(call->error, "a prepared operator", sizeof b);
    describe_operands(call, s);
    ox_reg x = ox_pass_load(b, &s->seen, NULL);
    if (x >= 0)
        x = ox_pass_widen(b, x);
    if (x >= 0 && centres(norm))
        x = apply(b, OX_LANES_Sub, x, ox_pass_load(b, &s->mean, NULL));
    if (x >= 0)
        x = apply(b, divides(norm) ? OX_LANES_Div : OX_LANES_Mul, x, ox_pass_load(b, &s->factor, NULL));
    if (x >= 0)
        x = ox_norm_scale(call, b, in, norm, x);
    return ox_own_pass_end(call, b, x, call->out[0], &s->pass);
}

ox_status ox_norm_prepare(ox_call *call, ox_norm_fn *describe) {
    norm_state *s = ox_call_state(call, sizeof *s);
    if (!s)
        return OX_ERROR_MEMORY;
    OX_TRY(describe(call, &s->norm));
    OX_TRY(plan_statistics(call, s));
    OX_TRY(ox_dense_plan(call, call->in[0]));
    if (!ox_tensor_is_packed(call->in[0]))
        OX_TRY(ox_workspace_add(call, ox_tensor_count(call->in[0]), (size_t)s->width));
    OX_TRY(ox_workspace_add(call, s->kept_count, sizeof *s->statistics));
    OX_TRY(ox_workspace_add(call, s->kept_count, 2 * (size_t)s->width));
    return call->out[0] ? plan_pass(call, s) : OX_OK;
}

/* ---- Statistics --------------------------------------------------------------------------------------------- */

typedef struct norm_job {
    const norm_state *s;
    const char *from;
} norm_job;

static double element(const norm_state *s, const char *at) {
    return s->width == sizeof(float) ? (double)OX_GET(ox_f32, at) : OX_GET(ox_f64, at);
}

static double root(double x) {
    return sqrt(x < 0 ? 0 : x); /* what rounding leaves of a variance may be below 0 */
}

/* Means and variances of n neighbours along the innermost dimension that is kept. */
static void take_moments(const norm_state *s, int64_t n, const char *from, ox_norm_statistic *to) {
    ox_moments moments[TILE];
    int64_t index[OX_MAX_RANK] = {0};
    const double count = (double)s->count;
    for (int64_t i = 0; i < n; i++) {
        const double first = s->count ? element(s, from + i * s->kept.step[0]) : 0;
        moments[i] = (ox_moments){.shift = isfinite(first) ? first : 0};
    }
    if (s->count)
        do {
            if (s->rows)
                s->moments->rows(moments, n, from, s->kept.step[0], s->reduced.dim[0]);
            else
                s->moments->columns(moments, n, from, s->reduced.dim[0], s->reduced.step[0]);
        } while (ox_walk(&s->reduced, 1, index, &from));
    for (int64_t i = 0; i < n; i++) {
        const double off = moments[i].sum / count;
        to[i] = (ox_norm_statistic){moments[i].shift + off, moments[i].squares / count - off * off};
    }
}

/* The same for sums of squares, or of absolute values. */
static void take_sums(const norm_state *s, int64_t n, const char *from, ox_norm_statistic *to) {
    double sums[TILE] = {0};
    int64_t index[OX_MAX_RANK] = {0};
    const bool mean = s->norm.kind == OX_NORM_SQUARES;
    if (s->count)
        do
            (s->rows ? s->folder.rows : s->folder.columns)(sums, n, from, s->kept.step[0], s->reduced.dim[0],
                                                           s->rows ? s->width : s->reduced.step[0]);
        while (ox_walk(&s->reduced, 1, index, &from));
    for (int64_t i = 0; i < n; i++)
        to[i] = (ox_norm_statistic){0, mean ? sums[i] / (double)s->count : sums[i]};
}

static void statistics_part(void *context, int part, int parts) {
    const norm_job *job = context;
    const norm_state *s = job->s;
    const ox_bcast *kept = &s->kept;
    const char *from = job->from;
    int64_t at, end, index[OX_MAX_RANK] = {0};
    ox_pool_range(s->kept_count, part, parts, &at, &end);
    ox_walk_to(kept, 1, at / kept->dim[0], index, &from);
    for (int64_t i = at % kept->dim[0]; at < end;) {
        const int64_t n = ox_least(ox_least(kept->dim[0] - i, TILE), end - at);
        (centres(&s->norm) ? take_moments : take_sums)(s, n, from + i * kept->step[0], s->statistics + at);
        at += n;
        i += n;
        if (i == kept->dim[0]) {
            i = 0;
            ox_walk(kept, 1, index, &from);
        }
    }
}

double ox_norm_inverse(double variance, double epsilon) {
    return 1 / sqrt((variance < 0 ? 0 : variance) + epsilon);
}

static double factor_of(const norm_state *s, double spread) {
    const double epsilon = s->norm.epsilon;
    switch (s->norm.kind) {
    case OX_NORM_DEVIATION:
        return 1 / (root(spread) + epsilon);
    case OX_NORM_L1:
        return spread;
    case OX_NORM_L2:
        return sqrt(spread);
    default:
        return ox_norm_inverse(spread, epsilon);
    }
}

/* The operands of the pass out of the statistics. */
static void fill_operands(const norm_state *s) {
    const bool single = s->width == sizeof(float);
    const double zero = single ? (double)FLT_TRUE_MIN : DBL_TRUE_MIN;
    for (int64_t i = 0; i < s->kept_count; i++) {
        const double factor = factor_of(s, s->statistics[i].spread);
        ox_norm_put(&s->mean, i, s->statistics[i].mean);
        ox_norm_put(&s->factor, i, divides(&s->norm) && factor < zero ? zero : factor);
    }
}

ox_status ox_norm_run(ox_call *call) {
    norm_state *s = call->state;
    size_t used = 0;
    ox_tensor x = ox_dense_in(call, &used, call->in[0]);
    if (!ox_tensor_is_packed(call->in[0])) {
        void *packed = ox_workspace_take(call, &used, ox_tensor_count(&x), (size_t)s->width);
        if (!ox_tensor_is_packed(&x)) {
            ox_pack(call->loops, call->pool, &x, packed);
            x = (ox_tensor){x.dtype, x.rank, x.dims, NULL, packed};
        }
    }
    s->statistics = ox_workspace_take(call, &used, s->kept_count, sizeof *s->statistics);
    s->mean.data = ox_workspace_take(call, &used, s->kept_count, 2 * (size_t)s->width);
    s->factor.data = (char *)s->mean.data + s->kept_count * s->width;
    s->seen.data = call->in[0]->data;
    norm_job job = {s, x.data};
    if (s->kept_count)
        ox_pool_run_pieces(call->pool, (double)s->kept_count * (double)s->count * (double)s->width, statistics_part,
                           &job);
    if (ox_pool_cancelled(call->pool) || !call->out[0])
        return OX_OK;
    fill_operands(s);
    return ox_own_pass_run(call, &used, &s->pass);
}

const ox_norm_statistic *ox_norm_statistics(const ox_call *call, int64_t *count) {
    const norm_state *s = call->state;
    *count = s->kept_count;
    return s->statistics;
}

/* ---- Elements ----------------------------------------------------------------------------------------------- */

double ox_norm_get(const ox_tensor *tensor, int64_t i) {
    const char *at = tensor->data;
    int64_t rest = i;
    for (int d = tensor->rank; d-- > 0; rest /= tensor->dims[d])
        at += rest % tensor->dims[d] * ox_stride(tensor, d);
    switch ((int)tensor->dtype) {
    case OX_DOUBLE:
        return OX_GET(ox_f64, at);
    case OX_FLOAT16:
        return (double)ox_float_from_half(OX_GET(ox_u16, at));
    case OX_BFLOAT16:
        return (double)ox_float_from_bf16(OX_GET(ox_u16, at));
    default:
        return (double)OX_GET(ox_f32, at);
    }
}

void ox_norm_put(const ox_tensor *tensor, int64_t i, double value) {
    char *data = tensor->data;
    switch ((int)tensor->dtype) {
    case OX_DOUBLE:
        OX_AT(ox_f64, data + i * (int64_t)sizeof value) = value;
        break;
    case OX_FLOAT16:
        OX_AT(ox_u16, data + i * 2) = ox_half_from_float((float)value);
        break;
    case OX_BFLOAT16:
        OX_AT(ox_u16, data + i * 2) = ox_bf16_from_float((float)value);
        break;
    default:
        OX_AT(ox_f32, data + i * (int64_t)sizeof(float)) = (float)value;
    }
}
