/* top_k.c: TopK. Elements become keys, integers in the same order, so that one heap serves all types. NaN is the
 * greatest element, and both zeros are equal. */
#include "reduce.h"

#include "loops/statistics_loops.h"
#include "ops/dense.h"

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

typedef struct top_k {
    ox_lines lines;
    int axis;
    int64_t k;
    uint64_t flip; /* ~0 where the least elements are wanted: keys are then the other way round */
    ox_keys_fn *keys;
} top_k;

static ox_status read_k(ox_call *call, int64_t *k) {
    int count = 1;
    if (call->op->since >= 10)
        OX_TRY(ox_call_int_list(call, 1, k, 1, &count));
    else
        *k = ox_call_int(call, "k", 0);
    return count == 1 ? OX_OK : ox_call_fail(call, OX_ERROR_SHAPE, "%s must have one element", OX_INPUT(call, 1));
}

static ox_status describe(ox_call *call, top_k *t) {
    const ox_tensor *x = call->in[0];
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", -1), x->rank, &t->axis));
    OX_TRY(read_k(call, &t->k));
    t->lines = ox_lines_of(x, t->axis);
    t->flip = ox_call_int(call, "largest", 1) ? 0 : UINT64_MAX;
    t->keys = OX_BUILD_OF(call->loops, ox_statistics_builds)->keys(ox_dtype_compute(x->dtype));
    if (t->k < 0 || t->k > t->lines.n)
        return ox_call_fail(call, OX_ERROR_VALUE, "k is %lld, but %s has %lld elements along axis %d", (long long)t->k,
                            OX_INPUT(call, 0), (long long)t->lines.n, t->axis);
    return OX_OK;
}

ox_status ox_infer_top_k(ox_call *call) {
    const ox_tensor *x = call->in[0];
    int64_t dims[OX_MAX_RANK];
    top_k t;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    if (call->op->since >= 10)
        OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT64)));
    OX_TRY(describe(call, &t));
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[t.axis] = t.k;
    OX_TRY(ox_call_output(call, 0, x->dtype, x->rank, dims));
    return call->nout > 1 ? ox_call_output(call, 1, OX_INT64, x->rank, dims) : OX_OK;
}

/* ---- Selection ---------------------------------------------------------------------------------------------- */

typedef struct entry {
    uint64_t key;
    int64_t index;
} entry;

/* True if a comes behind b: its key is less, or the same at a higher index. */
static inline bool is_behind(entry a, entry b) {
    return a.key < b.key || (a.key == b.key && a.index > b.index);
}

/* Lets entry i of a heap of n sink: what is behind its children stays above them. */
static void sink(entry *heap, int64_t i, int64_t n) {
    const entry moved = heap[i];
    for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && is_behind(heap[child + 1], heap[child]))
            child++;
        if (!is_behind(heap[child], moved))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

/* The last of the heap becomes the last of the list, and so on. */
static void sort(entry *heap, int64_t n) {
    while (n-- > 1) {
        const entry last = heap[0];
        heap[0] = heap[n];
        sink(heap, 0, n);
        heap[n] = last;
    }
}

/* Finds the first k >= 1 of a line, in order. Elements enter the heap in order of index, so that none of those that are
 * equal to its last one goes before it. */
static void select_line(const top_k *t, const char *from, int64_t width, entry *heap) {
    enum {
        BLOCK = 64
    };
    const ox_lines *lines = &t->lines;
    uint64_t keys[BLOCK];
    for (int64_t i = 0; i < lines->n; i += BLOCK) {
        const int64_t n = ox_least(lines->n - i, BLOCK);
        const uint64_t most = t->keys(n, lines->inner, from + i * lines->inner * width, t->flip, keys);
        if (i >= t->k && most <= heap[0].key)
            continue;
        for (int64_t j = 0; j < n; j++) {
            const entry now = {keys[j], i + j};
            if (now.index < t->k) {
                heap[now.index] = now;
                for (int64_t at = t->k / 2; now.index == t->k - 1 && at-- > 0;)
                    sink(heap, at, t->k);
            } else if (now.key > heap[0].key) {
                heap[0] = now;
                sink(heap, 0, t->k);
            }
        }
    }
    sort(heap, t->k);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

ox_status ox_prepare_top_k(ox_call *call) {
    const ox_tensor *x = call->in[0];
    top_k *t = ox_call_state(call, sizeof *t);
    if (!t)
        return OX_ERROR_MEMORY;
    OX_TRY(describe(call, t));
    OX_TRY(ox_dense_plan(call, x));
    return ox_workspace_add(call, t->lines.outer * t->lines.inner * t->k, sizeof(entry));
}

typedef struct top_k_job {
    const top_k *t;
    const char *keys_of, *from; /* as keys are made of them, and as they are */
    int64_t width, size;
    char *values;
    int64_t *indices;
    entry *heaps; /* k entries for each line */
} top_k_job;

/* Line `inner` of block `outer`. */
static void top_k_line(const top_k_job *job, int64_t outer, int64_t inner) {
    const top_k *t = job->t;
    const ox_lines *lines = &t->lines;
    const int64_t first = outer * lines->n * lines->inner + inner, to = outer * t->k * lines->inner + inner;
    entry *heap = job->heaps + (outer * lines->inner + inner) * t->k;
    select_line(t, job->keys_of + first * job->width, job->width, heap);
    for (int64_t j = 0; j < t->k; j++) {
        const int64_t at = to + j * lines->inner;
        if (job->values)
            memcpy(job->values + at * job->size, job->from + (first + heap[j].index * lines->inner) * job->size,
                   (size_t)job->size);
        if (job->indices)
            job->indices[at] = heap[j].index;
    }
}

static void top_k_part(void *context, int part, int parts) {
    const top_k_job *job = context;
    const ox_lines *lines = &job->t->lines;
    int64_t first, end;
    ox_pool_range(lines->outer * lines->inner, part, parts, &first, &end);
    for (int64_t i = first; i < end; i++)
        top_k_line(job, i / lines->inner, i % lines->inner);
}

ox_status ox_run_top_k(ox_call *call) {
    const top_k *t = call->state;
    const int64_t heaps = t->lines.outer * t->lines.inner * t->k;
    size_t used = 0;
    if (!heaps)
        return OX_OK;
    const ox_tensor x = ox_dense_in(call, &used, call->in[0]);
    top_k_job job = {.t = t,
                     .keys_of = x.data,
                     .from = call->in[0]->data,
                     .width = (int64_t)ox_dtype_size(x.dtype),
                     .size = (int64_t)ox_dtype_size(call->in[0]->dtype),
                     .values = call->out[0] ? call->out[0]->data : NULL,
                     .indices = call->nout > 1 && call->out[1] ? call->out[1]->data : NULL,
                     .heaps = ox_workspace_take(call, &used, heaps, sizeof(entry))};
    /* An element takes as long as moving this many bytes. */
    const double work = 8;
    ox_pool_run_pieces(call->pool, work * (double)ox_tensor_count(&x), top_k_part, &job);
    return OX_OK;
}
