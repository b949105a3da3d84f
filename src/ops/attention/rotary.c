/* rotary.c: RotaryEmbedding, of ONNX and of com.microsoft, and MRotaryEmbedding, whose steps have three positions each:
 * in time, height and width. Each of them gives angles to some of the pairs. */
#include "attention.h"
#include "loops/blend_loops.h"
#include "loops/lanes.h"
#include "ops/dense.h"

#include <string.h>

enum {
    X,
    STREAMS = 3 /* positions of a step */
};

typedef struct rotary {
    int64_t batch, sequence, heads, size;
    int64_t half;      /* pairs of elements that are rotated */
    int64_t places[3]; /* elements of X from one batch, step and head to the next */
    bool interleaved;
    int cos, sin, positions; /* inputs */
    bool is_first;           /* one position, of the first step */
    bool mixed;              /* each step has three positions; */
    bool woven;              /* pairs take turns, and do not lie in sections */
    int64_t sections[STREAMS];
} rotary;

/* com.microsoft has positions always, and in front of the angles. */
static bool is_contributed(const ox_call *call) {
    return *call->op->domain != '\0';
}

static void number_inputs(const ox_call *call, rotary *r) {
    *r = is_contributed(call) ? (rotary){.positions = 1, .cos = 2, .sin = 3}
                              : (rotary){.cos = 1, .sin = 2, .positions = 3};
}

/* How many pairs each of the positions has. */
static ox_status read_sections(ox_call *call, rotary *r) {
    const ox_attr *list = ox_call_attr(call, "mrope_section", OX_ATTR_INTS);
    const int64_t layout = ox_call_int(call, "mrope_layout", 0);
    int64_t sum = 0;
    bool fits = list && list->count == STREAMS;
    for (int k = 0; k < STREAMS && fits; k++) {
        r->sections[k] = list->u.ints[k];
        fits = r->sections[k] >= 0 && ox_add_i64(sum, r->sections[k], &sum);
    }
    if (!fits || sum != r->half)
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'mrope_section' must be 3 numbers of pairs, of which there are %lld",
                            (long long)r->half);
    if (layout != 0 && layout != 1)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'mrope_layout' must be 0 or 1, not %lld",
                            (long long)layout);
    r->mixed = true;
    r->woven = layout == 1;
    return OX_OK;
}

/* The heads of com.microsoft's operator are counted by the width of its angles, where nothing else says it. */
static int64_t count_heads(ox_call *call, const rotary *r) {
    const int64_t given = ox_call_int(call, "num_heads", 0);
    const ox_tensor *cos = call->in[r->cos];
    int64_t size;
    if (given || !is_contributed(call) || ox_call_int(call, "rotary_embedding_dim", 0) || cos->rank != 2 ||
        cos->dims[1] < 1 || !ox_mul_i64(cos->dims[1], 2, &size))
        return given;
    return call->in[X]->dims[2] / size;
}

static ox_status read_heads(ox_call *call, rotary *r) {
    const ox_tensor *x = call->in[X];
    if (x->rank != 3 && x->rank != 4)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have 3 or 4 dimensions", OX_INPUT(call, X));
    const bool flat = x->rank == 3;
    r->batch = x->dims[0];
    r->sequence = x->dims[flat ? 1 : 2];
    r->heads = flat ? count_heads(call, r) : x->dims[1];
    if (flat && (r->heads <= 0 || x->dims[2] % r->heads != 0))
        return ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'num_heads' is %lld, which does not divide %s",
                            (long long)r->heads, OX_INPUT(call, X));
    r->size = flat ? x->dims[2] / r->heads : x->dims[3];
    r->places[0] = ox_wrapping(ox_wrapping(r->sequence, r->heads), r->size);
    r->places[1] = flat ? x->dims[2] : r->size;
    r->places[2] = flat ? r->size : ox_wrapping(r->sequence, r->size);
    return OX_OK;
}

static ox_status check_cache(ox_call *call, const rotary *r, int i) {
    const ox_tensor *cache = call->in[i];
    const bool listed = ox_call_given(call, r->positions);
    const int64_t whole[] = {r->batch, r->sequence, r->half};
    bool fits =
        listed ? cache->rank == 2 && cache->dims[1] == r->half : ox_same_dims(cache->rank, cache->dims, 3, whole);
    if (fits && i == r->sin)
        fits = ox_same_dims(cache->rank, cache->dims, call->in[r->cos]->rank, call->in[r->cos]->dims);
    return fits ? OX_OK
                : ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape [%s%lld], for %lld pairs of a head of %s",
                               OX_INPUT(call, i), listed ? "positions," : "batch,sequence,", (long long)r->half,
                               (long long)r->half, OX_INPUT(call, X));
}

static ox_status read_node(ox_call *call, rotary *r) {
    number_inputs(call, r);
    const ox_tensor *positions = ox_call_given(call, r->positions) ? call->in[r->positions] : NULL;
    OX_TRY(read_heads(call, r));
    int64_t rotated = ox_call_int(call, "rotary_embedding_dim", 0);
    r->interleaved = ox_call_int(call, "interleaved", 0) != 0;
    if (rotated == 0)
        rotated = r->size;
    if (rotated < 0 || rotated > r->size || rotated % 2 != 0)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%lld elements of heads of %lld cannot be rotated in pairs",
                            (long long)rotated, (long long)r->size);
    r->half = rotated / 2;
    if (ox_op_has(call->op, OX_OP_MIXED))
        OX_TRY(read_sections(call, r));
    const int64_t dims[] = {STREAMS, r->batch, r->sequence}, first = r->mixed ? 0 : 1, rank = STREAMS - first;
    r->is_first =
        positions && is_contributed(call) && !r->mixed && positions->rank < 2 && ox_tensor_count(positions) == 1;
    if (positions && !r->is_first && !ox_same_dims(positions->rank, positions->dims, (int)rank, dims + first))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape %s", OX_INPUT(call, r->positions),
                            OX_DIMS((int)rank, dims + first));
    OX_TRY(check_cache(call, r, r->cos));
    return check_cache(call, r, r->sin);
}

ox_status ox_infer_rotary(ox_call *call) {
    rotary r;
    OX_TRY(ox_call_check_dtype(call, X, call->op->dtypes));
    number_inputs(call, &r);
    for (int i = r.cos; i <= r.sin; i++)
        if (call->in[i]->dtype != call->in[X]->dtype)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type: Cast one of them",
                                OX_INPUT(call, X), OX_INPUT(call, i));
    if (ox_call_given(call, r.positions))
        OX_TRY(ox_call_check_dtype(call, r.positions, OX_BIT(OX_INT64)));
    OX_TRY(read_node(call, &r));
    return ox_call_output(call, 0, call->in[X]->dtype, call->in[X]->rank, call->in[X]->dims);
}

ox_status ox_prepare_rotary(ox_call *call) {
    rotary *r = ox_call_state(call, sizeof *r);
    if (!r)
        return OX_ERROR_MEMORY;
    OX_TRY(read_node(call, r));
    const int dense[] = {X, r->cos, r->sin};
    OX_TRY(ox_list_plan(call, r->positions));
    for (int i = 0; i < 2 && r->mixed; i++)
        OX_TRY(ox_workspace_add(call, ox_count(3, (const int64_t[]){r->batch, r->sequence, r->half}), sizeof(ox_f32)));
    for (int i = 0; i < 3; i++)
        OX_TRY(ox_dense_plan(call, call->in[dense[i]]));
    return ox_dense_plan_out(call, ox_tensor_count(call->out[0]));
}

typedef struct rotary_job {
    const rotary *r;
    ox_rotate_fn *turn;
    const ox_f32 *x, *cos, *sin;
    const int64_t *positions;
    ox_f32 *to;
} rotary_job;

/* The pairs of one head, and what is not rotated. */
static void rotate(const rotary_job *job, int64_t at, int64_t angles) {
    const rotary *r = job->r;
    job->turn(r->half, !r->interleaved, job->x + at, job->cos + angles, job->sin + angles, job->to + at);
    memcpy(job->to + at + 2 * r->half, job->x + at + 2 * r->half, (size_t)(r->size - 2 * r->half) * sizeof *job->to);
}

static void rotary_part(void *context, int part, int parts) {
    const rotary_job *job = context;
    const rotary *r = job->r;
    int64_t i, end;
    ox_pool_range(r->batch * r->sequence, part, parts, &i, &end);
    for (; i < end; i++) {
        const int64_t angles = (r->is_first      ? job->positions[0] + i % r->sequence
                                : job->positions ? job->positions[i]
                                                 : i) *
                               r->half;
        const int64_t at = i / r->sequence * r->places[0] + i % r->sequence * r->places[1];
        for (int64_t h = 0; h < r->heads; h++)
            rotate(job, at + h * r->places[2], angles);
    }
}

/* Which of its positions a pair goes by: where they take turns, each has as many as its section, and time the rest. */
static int stream_of(const rotary *r, int64_t pair) {
    if (!r->woven)
        return pair < r->sections[0] ? 0 : pair < r->sections[0] + r->sections[1] ? 1 : 2;
    const int turn = (int)(pair % STREAMS);
    return pair / STREAMS < r->sections[turn] ? turn : 0;
}

/* The angles of each step, out of those of its positions. */
static const ox_f32 *mix(const rotary *r, const int64_t *positions, const ox_f32 *angles, ox_f32 *to) {
    const int64_t steps = r->batch * r->sequence;
    for (int64_t pair = 0; pair < r->half; pair++) {
        const int64_t *list = positions + stream_of(r, pair) * steps;
        for (int64_t i = 0; i < steps; i++)
            to[i * r->half + pair] = angles[list[i] * r->half + pair];
    }
    return to;
}

/* The last step of a sequence is the furthest from the one position that is given. */
static ox_status check_positions(const ox_call *call, const rotary *r, const int64_t *positions) {
    const int64_t most = call->in[r->cos]->dims[0], steps = r->is_first ? r->sequence : 1,
                  count = positions && steps ? ox_tensor_count(call->in[r->positions]) : 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t last = positions[i];
        if (last < 0 || !ox_add_i64(last, steps - 1, &last) || last >= most)
            return ox_call_fail(call, OX_ERROR_VALUE, "position %lld is out of range for the %lld rows of %s",
                                (long long)last, (long long)most, OX_INPUT(call, r->cos));
    }
    return OX_OK;
}

ox_status ox_run_rotary(ox_call *call) {
    const rotary *r = call->state;
    const int64_t count = ox_tensor_count(call->out[0]);
    size_t used = 0;
    const int64_t *positions = ox_list_take(call, &used, r->positions);
    const int64_t pairs = r->mixed ? r->batch * r->sequence * r->half : 0;
    ox_f32 *cos = r->mixed ? ox_workspace_take(call, &used, pairs, sizeof *cos) : NULL,
           *sin = r->mixed ? ox_workspace_take(call, &used, pairs, sizeof *sin) : NULL;
    OX_TRY(check_positions(call, r, positions));
    rotary_job job = {r, OX_BUILD_OF(call->loops, ox_rotate_builds), .positions = positions};
    job.x = ox_dense_in(call, &used, call->in[X]).data;
    job.cos = ox_dense_in(call, &used, call->in[r->cos]).data;
    job.sin = ox_dense_in(call, &used, call->in[r->sin]).data;
    job.to = ox_dense_out(call, &used, count);
    if (r->mixed) {
        job.cos = mix(r, positions, job.cos, cos);
        job.sin = mix(r, positions, job.sin, sin);
        job.positions = NULL;
    }
    ox_pool_run_pieces(call->pool, 8 * (double)count, rotary_part, &job);
    ox_dense_store(call, count, job.to);
    return OX_OK;
}
