/* loss.c: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. The classes of a sample are those along axis 1. */
#include <math.h>

#include "loops/lanes.h"
#include "ops/dense.h"
#include "ops/reals.h"

enum {
    X,
    TARGET,
    WEIGHT
};

typedef enum reduction {
    NONE,
    SUM,
    MEAN
} reduction;

typedef struct loss {
    bool softmax; /* the input is scores, not logarithms of probabilities */
    reduction reduction;
    bool ignores;
    int64_t ignored; /* the class of samples that do not count */
    int64_t samples, classes;
    int64_t inner; /* samples that lie side by side */
} loss;

/* ---- Infer -------------------------------------------------------------------------------------------------- */

static ox_status read_reduction(ox_call *call, reduction *result) {
    ox_string text = ox_call_string(call, "reduction", "mean");
    *result = ox_says(text, "none") ? NONE : ox_says(text, "sum") ? SUM : MEAN;
    if (*result == MEAN && !ox_says(text, "mean"))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'reduction' must be none, sum or mean, not '%.*s'",
                            OX_SHORT(text));
    return OX_OK;
}

static ox_status check_types(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, X, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, TARGET, OX_BIT(OX_INT32) | OX_BIT(OX_INT64)));
    if (ox_call_given(call, WEIGHT) && call->in[WEIGHT]->dtype != call->in[X]->dtype)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have the type of %s", OX_INPUT(call, WEIGHT),
                            OX_INPUT(call, X));
    return OX_OK;
}

/* The targets have the shape of the input without its axis 1; the weights are a list for that axis. */
static ox_status check_shapes(ox_call *call) {
    const ox_tensor *x = call->in[X], *target = call->in[TARGET];
    if (x->rank < 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have at least two dimensions", OX_INPUT(call, X));
    if (target->rank != x->rank - 1 || target->dims[0] != x->dims[0] ||
        !ox_same_dims(target->rank - 1, target->dims + 1, x->rank - 2, x->dims + 2))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have the shape of %s without axis 1", OX_INPUT(call, TARGET),
                            OX_INPUT(call, X));
    if (ox_call_given(call, WEIGHT) && (call->in[WEIGHT]->rank != 1 || call->in[WEIGHT]->dims[0] != x->dims[1]))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a list of %lld weights, one for each class of %s",
                            OX_INPUT(call, WEIGHT), (long long)x->dims[1], OX_INPUT(call, X));
    return OX_OK;
}

ox_status ox_infer_loss(ox_call *call) {
    const ox_tensor *x = call->in[X];
    reduction how;
    OX_TRY(read_reduction(call, &how));
    OX_TRY(check_types(call));
    OX_TRY(check_shapes(call));
    if (call->nout > 1)
        OX_TRY(ox_call_output(call, 1, x->dtype, x->rank, x->dims));
    return ox_call_output(call, 0, x->dtype, how == NONE ? x->rank - 1 : 0, call->in[TARGET]->dims);
}

/* ---- Prepare ------------------------------------------------------------------------------------------------ */

/* What a block of samples gives. Blocks are the same for any number of threads, and so are the sums. */
enum {
    BLOCK = OX_REALS_PIECE
};
typedef struct block {
    double sum, weight;
    int64_t fault; /* the first sample without a class; -1 for none */
} block;

static int64_t block_count(const loss *l) {
    return l->samples / BLOCK + (l->samples % BLOCK != 0);
}

static ox_status prepare(ox_call *call, bool softmax) {
    const ox_tensor *x = call->in[X];
    loss *l = ox_call_state(call, sizeof *l);
    if (!l)
        return OX_ERROR_MEMORY;
    *l = (loss){.softmax = softmax, .classes = x->dims[1], .samples = ox_tensor_count(call->in[TARGET])};
    l->inner = l->samples ? l->samples / x->dims[0] : 0;
    l->ignores = ox_call_has(call, "ignore_index");
    l->ignored = ox_call_int(call, "ignore_index", 0);
    OX_TRY(read_reduction(call, &l->reduction));
    return ox_workspace_add(call, block_count(l), sizeof(block));
}

ox_status ox_prepare_nll_loss(ox_call *call) {
    return prepare(call, false);
}

ox_status ox_prepare_softmax_loss(ox_call *call) {
    return prepare(call, true);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* Samples that lie side by side; those of an input without further dimensions are alone. */
typedef struct strip {
    const char *x;
    char *log_prob; /* NULL if it is not wanted */
    int64_t count;
    int64_t width; /* bytes of an element */
    ox_lane *exp;  /* the loop for doubles; NULL in a build without them */
    ox_dtype dtype;
    double *max, *log_sum; /* for each sample: log(sum(exp(x - max))) */
} strip;

typedef struct loss_job {
    const loss *l;
    const ox_tensor *x, *target, *weight;
    char *out, *log_prob;
    block *blocks;
    ox_lane *exp;
} loss_job;

/* A piece of what is reduced: `classes` of `count` samples, class by class. */
static void load_piece(const strip *s, const loss *l, int64_t first, int64_t classes, double *piece) {
    const char *x = s->x + first * l->inner * s->width;
    ox_reals_load(s->dtype, classes * s->count, x, s->width, piece, 1);
}

/* How many classes are loaded at a time: many where they lie side by side. */
static int64_t classes_at_once(const strip *s, const loss *l, int64_t first) {
    return l->inner == 1 ? ox_least(OX_REALS_PIECE / s->count, l->classes - first) : 1;
}

static void find_max(const strip *s, const loss *l, double *piece) {
    for (int64_t i = 0; i < s->count; i++)
        s->max[i] = -INFINITY;
    for (int64_t c = 0, n; c < l->classes; c += n) {
        n = classes_at_once(s, l, c);
        load_piece(s, l, c, n, piece);
        for (int64_t k = 0; k < n; k++)
            for (int64_t i = 0; i < s->count; i++)
                s->max[i] = piece[k * s->count + i] > s->max[i] ? piece[k * s->count + i] : s->max[i];
    }
}

static void exp_all(const strip *s, int64_t n, double *values) {
    if (s->exp) {
        s->exp(n, (char *[]){(char *)values, (char *)values}, (const int64_t[]){sizeof *values, sizeof *values}, NULL);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        values[i] = exp(values[i]);
}

static void find_log_sum(const strip *s, const loss *l, double *piece) {
    for (int64_t i = 0; i < s->count; i++)
        s->log_sum[i] = 0;
    for (int64_t c = 0, n; c < l->classes; c += n) {
        n = classes_at_once(s, l, c);
        load_piece(s, l, c, n, piece);
        for (int64_t k = 0; k < n; k++)
            for (int64_t i = 0; i < s->count; i++)
                piece[k * s->count + i] -= s->max[i];
        exp_all(s, n * s->count, piece);
        for (int64_t k = 0; k < n; k++)
            for (int64_t i = 0; i < s->count; i++)
                s->log_sum[i] += piece[k * s->count + i];
    }
    for (int64_t i = 0; i < s->count; i++)
        s->log_sum[i] = log(s->log_sum[i]);
}

static void store_log_prob(const strip *s, const loss *l, double *piece) {
    for (int64_t c = 0, n; c < l->classes; c += n) {
        n = classes_at_once(s, l, c);
        load_piece(s, l, c, n, piece);
        for (int64_t k = 0; k < n; k++)
            for (int64_t i = 0; i < s->count; i++)
                piece[k * s->count + i] -= s->max[i] + s->log_sum[i];
        ox_reals_store(s->dtype, n * s->count, piece, 1, s->log_prob + c * l->inner * s->width, s->width);
    }
}

/* What is to be taken from the scores of a strip to make them logarithms of probabilities. */
static void normalize(const strip *s, const loss *l) {
    double piece[OX_REALS_PIECE];
    find_max(s, l, piece);
    find_log_sum(s, l, piece);
    if (s->log_prob)
        store_log_prob(s, l, piece);
}

/* Adds the losses of a strip, whose first sample is number `first`, to its block. */
static void add_strip(const loss_job *job, const strip *s, int64_t first, block *sums) {
    const loss *l = job->l;
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t class = ox_tensor_int(job->target, first + i);
        const bool counts = !l->ignores || class != l->ignored;
        double weight = counts ? 1 : 0, value = 0;
        if (counts && (class < 0 || class >= l->classes)) {
            sums->fault = first + i;
            return;
        }
        if (counts)
            value = ox_real_at(s->dtype, s->x + (class * l->inner + i) * s->width);
        if (counts && l->softmax)
            value -= s->max[i] + s->log_sum[i];
        if (counts && job->weight)
            weight = ox_real_at(s->dtype, (const char *)job->weight->data + class * s->width);
        value = counts ? -value * weight : 0;
        sums->sum += value;
        sums->weight += weight;
        if (l->reduction == NONE && job->out)
            ox_real_put(s->dtype, value, job->out + (first + i) * s->width);
    }
}

static void loss_block(const loss_job *job, int64_t index) {
    const loss *l = job->l;
    const int64_t end = ox_least((index + 1) * BLOCK, l->samples), width = (int64_t)ox_dtype_size(job->x->dtype);
    double max[BLOCK], log_sum[BLOCK];
    strip s = {.width = width, .dtype = job->x->dtype, .exp = job->exp, .max = max, .log_sum = log_sum};
    job->blocks[index] = (block){.fault = -1};
    for (int64_t i = index * BLOCK; i < end && job->blocks[index].fault < 0; i += s.count) {
        const int64_t row = i / l->inner, place = i % l->inner;
        const int64_t offset = (row * l->classes * l->inner + place) * width;
        s.count = ox_least(l->inner - place, end - i);
        s.x = (const char *)job->x->data + offset;
        s.log_prob = job->log_prob ? job->log_prob + offset : NULL;
        if (l->softmax)
            normalize(&s, l);
        add_strip(job, &s, i, &job->blocks[index]);
    }
}

static void loss_part(void *context, int part, int parts) {
    const loss_job *job = context;
    int64_t i, end;
    ox_pool_range(block_count(job->l), part, parts, &i, &end);
    for (; i < end; i++)
        loss_block(job, i);
}

static ox_status check_blocks(const ox_call *call, const loss *l, const block *blocks) {
    for (int64_t i = 0; i < block_count(l); i++)
        if (blocks[i].fault >= 0)
            return ox_call_fail(call, OX_ERROR_VALUE, "%s: class %lld is not one of the %lld of %s",
                                OX_INPUT(call, TARGET), (long long)ox_tensor_int(call->in[TARGET], blocks[i].fault),
                                (long long)l->classes, OX_INPUT(call, X));
    return OX_OK;
}

static double total_of(const loss *l, const block *blocks) {
    double sum = 0, weight = 0;
    for (int64_t i = 0; i < block_count(l); i++) {
        sum += blocks[i].sum;
        weight += blocks[i].weight;
    }
    return l->reduction == MEAN ? sum / weight : sum;
}

ox_status ox_run_loss(ox_call *call) {
    const loss *l = call->state;
    const ox_tensor *x = call->in[X];
    size_t used = 0;
    loss_job job = {.l = l, .x = x, .target = call->in[TARGET]};
    job.exp = OX_BUILD_OF(call->loops, OX_LANES_Exp)->fn[OX_DOUBLE];
    job.weight = ox_call_given(call, WEIGHT) ? call->in[WEIGHT] : NULL;
    job.blocks = ox_workspace_take(call, &used, block_count(l), sizeof *job.blocks);
    job.out = call->out[0] ? call->out[0]->data : NULL;
    job.log_prob = call->nout > 1 && call->out[1] ? call->out[1]->data : NULL;
    const double each = l->softmax ? 64 * (double)l->classes : 32;
    ox_pool_run_pieces(call->pool, each * (double)l->samples, loss_part, &job);
    if (ox_pool_cancelled(call->pool))
        return OX_OK;
    OX_TRY(check_blocks(call, l, job.blocks));
    if (l->reduction != NONE && job.out)
        ox_real_put(x->dtype, total_of(l, job.blocks), job.out);
    return OX_OK;
}
