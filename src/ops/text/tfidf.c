/* tfidf.c: TfIdfVectorizer: counts n-grams of a pool in sequences of integers or strings. */
#include <string.h>

#include "loops/element.h"
#include "ops/dense.h"
#include "text.h"

/* ---- The pool ----------------------------------------------------------------------------------------------- */

/* An n-gram: items of the pool from `first` on. */
typedef struct gram {
    int64_t first, size;
    int64_t place; /* in the output */
} gram;

typedef enum mode {
    TF,
    IDF,
    TFIDF
} mode;

typedef struct tfidf {
    mode mode;
    int64_t least, most; /* of the sizes of n-grams */
    int64_t skips;
    int64_t places; /* of the output, in each row */
    const int64_t *ints;
    const ox_string *strings; /* the pool is one or the other */
    int64_t items;
    size_t count;
    gram *grams;     /* sorted: those that begin alike are neighbours, the shorter before the longer */
    double *weights; /* for each place */
} tfidf;

static int item_order(const tfidf *t, int64_t a, int64_t b) {
    if (t->strings)
        return ox_string_order(t->strings[a], t->strings[b]);
    return (t->ints[a] > t->ints[b]) - (t->ints[a] < t->ints[b]);
}

static int content_order(const tfidf *t, const gram *a, const gram *b) {
    for (int64_t i = 0; i < a->size && i < b->size; i++) {
        const int order = item_order(t, a->first + i, b->first + i);
        if (order)
            return order;
    }
    return (a->size > b->size) - (a->size < b->size);
}

/* Of two that are the same, the one that comes first in the pool comes first. */
static int gram_order(const tfidf *t, const gram *a, const gram *b) {
    const int order = content_order(t, a, b);
    return order ? order : (a->first > b->first) - (a->first < b->first);
}

static void sink(const tfidf *t, size_t root, size_t count) {
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && gram_order(t, &t->grams[child], &t->grams[child + 1]) < 0)
            child++;
        if (gram_order(t, &t->grams[root], &t->grams[child]) >= 0)
            return;
        const gram swapped = t->grams[root];
        t->grams[root] = t->grams[child];
        t->grams[child] = swapped;
    }
}

/* A heap sort: no recursion, no room, and never slow. */
static void sort_grams(const tfidf *t, size_t count) {
    for (size_t i = count / 2; i-- > 0;)
        sink(t, i, count);
    for (size_t end = count; end-- > 1;) {
        const gram swapped = t->grams[0];
        t->grams[0] = t->grams[end];
        t->grams[end] = swapped;
        sink(t, 0, end);
    }
}

/* Of several that are the same, the last one counts. Returns how many are left. */
static size_t drop_copies(const tfidf *t, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || content_order(t, &t->grams[i], &t->grams[i + 1]))
            t->grams[kept++] = t->grams[i];
    return kept;
}

/* ---- Infer -------------------------------------------------------------------------------------------------- */

static ox_status read_mode(ox_call *call, mode *result) {
    const ox_string text = ox_call_string(call, "mode", "");
    *result = ox_says(text, "TF") ? TF : ox_says(text, "IDF") ? IDF : TFIDF;
    if (*result == TFIDF && !ox_says(text, "TFIDF"))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'mode' must be TF, IDF or TFIDF, not '%.*s'",
                            OX_SHORT(text));
    return OX_OK;
}

static ox_status read_pool(ox_call *call, tfidf *t) {
    const ox_attr *ints = ox_call_attr(call, "pool_int64s", OX_ATTR_INTS);
    const ox_attr *strings = ox_call_attr(call, "pool_strings", OX_ATTR_STRINGS);
    if (!ints == !strings)
        return ox_call_fail(call, OX_ERROR_MODEL, "there must be one of 'pool_int64s' and 'pool_strings'");
    const ox_dtypes set = strings ? OX_BIT(OX_STRING) : OX_BIT(OX_INT32) | OX_BIT(OX_INT64);
    t->ints = ints ? ints->u.ints : NULL;
    t->strings = strings ? strings->u.strings : NULL;
    t->items = (int64_t)(ints ? ints->count : strings->count);
    return ox_call_check_dtype(call, 0, set);
}

static ox_status read_sizes(ox_call *call, tfidf *t) {
    t->least = ox_call_int(call, "min_gram_length", 1);
    t->most = ox_call_int(call, "max_gram_length", 1);
    t->skips = ox_call_int(call, "max_skip_count", 0);
    if (t->least < 1 || t->most < t->least || t->skips < 0)
        return ox_call_fail(call, OX_ERROR_MODEL, "n-grams of %lld to %lld items with %lld skipped are not possible",
                            (long long)t->least, (long long)t->most, (long long)t->skips);
    return OX_OK;
}

/* The places of the output are as many as the largest index says. */
static ox_status read_places(ox_call *call, tfidf *t) {
    size_t count;
    const int64_t *indexes = ox_call_ints(call, "ngram_indexes", &count);
    t->places = 0;
    for (size_t i = 0; i < count; i++) {
        if (indexes[i] < 0 || indexes[i] == INT64_MAX)
            return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'ngram_indexes' has %lld, which is no place",
                                (long long)indexes[i]);
        t->places = indexes[i] >= t->places ? indexes[i] + 1 : t->places;
    }
    return OX_OK;
}

/* N-grams of each size lie between one start and the next; *count is how many there are in all. */
static ox_status check_counts(ox_call *call, const tfidf *t, int64_t *count) {
    size_t sizes, indexes, weights;
    const int64_t *starts = ox_call_ints(call, "ngram_counts", &sizes);
    ox_call_ints(call, "ngram_indexes", &indexes);
    const bool has_weights = ox_call_floats(call, "weights", &weights) != NULL;
    *count = 0;
    for (size_t i = 0; i < sizes; i++) {
        const int64_t end = i + 1 < sizes ? starts[i + 1] : t->items, size = (int64_t)i + 1;
        if (starts[i] < 0 || starts[i] > end || end > t->items || (end - starts[i]) % size)
            return ox_call_fail(call, OX_ERROR_MODEL, "items %lld to %lld of a pool of %lld are no %lld-grams",
                                (long long)starts[i], (long long)end, (long long)t->items, (long long)size);
        *count += (end - starts[i]) / size;
    }
    if (*count != (int64_t)indexes)
        return ox_call_fail(call, OX_ERROR_MODEL, "'ngram_indexes' has %lld entries for %lld n-grams",
                            (long long)indexes, (long long)*count);
    if (has_weights && weights && weights != indexes)
        return ox_call_fail(call, OX_ERROR_MODEL, "'weights' has %lld entries for %lld n-grams", (long long)weights,
                            (long long)*count);
    return OX_OK;
}

static ox_status read_tfidf(ox_call *call, tfidf *t) {
    int64_t count;
    OX_TRY(read_mode(call, &t->mode));
    OX_TRY(read_pool(call, t));
    OX_TRY(read_sizes(call, t));
    OX_TRY(read_places(call, t));
    OX_TRY(check_counts(call, t, &count));
    t->count = (size_t)count;
    return OX_OK;
}

ox_status ox_infer_tfidf(ox_call *call) {
    const ox_tensor *x = call->in[0];
    tfidf t;
    OX_TRY(read_tfidf(call, &t));
    if (x->rank > 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be of shape [C] or [N,C]", OX_INPUT(call, 0));
    const int64_t dims[] = {x->rank == 2 ? x->dims[0] : 1, t.places};
    return x->rank == 2 ? ox_call_output(call, 0, OX_FLOAT, 2, dims) : ox_call_output(call, 0, OX_FLOAT, 1, dims + 1);
}

/* ---- Prepare ------------------------------------------------------------------------------------------------ */

/* N-grams of other sizes than those that are counted are left out. */
static void list_grams(ox_call *call, tfidf *t) {
    size_t sizes, kept = 0, number = 0;
    const int64_t *starts = ox_call_ints(call, "ngram_counts", &sizes),
                  *indexes = ox_call_ints(call, "ngram_indexes", NULL);
    for (size_t i = 0; i < sizes; i++) {
        const int64_t end = i + 1 < sizes ? starts[i + 1] : t->items, size = (int64_t)i + 1;
        for (int64_t first = starts[i]; first < end; first += size, number++)
            if (size >= t->least && size <= t->most)
                t->grams[kept++] = (gram){first, size, indexes[number]};
    }
    t->count = kept;
}

static void fill_weights(ox_call *call, const tfidf *t) {
    size_t count;
    const float *weights = ox_call_floats(call, "weights", &count);
    const int64_t *indexes = ox_call_ints(call, "ngram_indexes", NULL);
    for (int64_t i = 0; i < t->places; i++)
        t->weights[i] = 1;
    for (size_t i = 0; i < count && t->mode != TF; i++)
        t->weights[indexes[i]] = (double)weights[i];
}

ox_status ox_prepare_tfidf(ox_call *call) {
    tfidf *t = ox_call_state(call, sizeof *t);
    if (!t)
        return OX_ERROR_MEMORY;
    OX_TRY(read_tfidf(call, t));
    t->grams = ox_pile_array(call->pile, t->count, sizeof *t->grams);
    t->weights = ox_pile_array(call->pile, (size_t)t->places, sizeof *t->weights);
    if (!t->grams || !t->weights)
        return ox_fail_memory(call->error, "a pool of n-grams", t->count * sizeof *t->grams);
    list_grams(call, t);
    sort_grams(t, t->count);
    t->count = drop_copies(t, t->count);
    fill_weights(call, t);
    return OX_OK;
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* N-grams that begin alike: from `low` to before `high`. */
typedef struct range {
    size_t low, high;
} range;

typedef struct count_job {
    const tfidf *t;
    const ox_tensor *x;
    float *y;
    int64_t rows, columns;
    ox_pool *pool;
} count_job;

/* Orders item `depth` of a gram against an element. */
static int order_at(const count_job *job, const gram *g, int64_t depth, int64_t element) {
    const tfidf *t = job->t;
    if (t->strings)
        return ox_string_order(t->strings[g->first + depth], *ox_string_at(job->x, element));
    const int64_t item = t->ints[g->first + depth], value = ox_tensor_int(job->x, element);
    return (item > value) - (item < value);
}

/* The first of a range, all of whose grams have more than `depth` items, whose item there orders as `least` or more. */
static size_t bound(const count_job *job, range r, int64_t depth, int64_t element, int least) {
    while (r.low < r.high) {
        const size_t middle = r.low + (r.high - r.low) / 2;
        if (order_at(job, &job->t->grams[middle], depth, element) < least)
            r.low = middle + 1;
        else
            r.high = middle;
    }
    return r.low;
}

/* Counts the n-grams of at least `least` items that begin at column `first`. */
static void count_from(const count_job *job, int64_t row, int64_t first, int64_t distance, int64_t least) {
    const tfidf *t = job->t;
    range r = {0, t->count};
    for (int64_t depth = 0, at = first; at < job->columns && r.low < r.high; depth++, at += distance) {
        const int64_t element = row * job->columns + at;
        r.low = bound(job, r, depth, element, 0);
        r.high = bound(job, r, depth, element, 1);
        const bool ends = r.low < r.high && t->grams[r.low].size == depth + 1;
        if (ends && depth + 1 >= least)
            job->y[row * t->places + t->grams[r.low].place] += 1;
        r.low += ends;
    }
}

/* Single items are not skipped over: they count once. */
static void count_row(const count_job *job, int64_t row) {
    const tfidf *t = job->t;
    int64_t least = t->least;
    for (int64_t distance = 1; distance <= t->skips + 1 && least <= t->most && distance < job->columns + (least == 1);
         distance++) {
        for (int64_t first = 0; first < job->columns; first++) {
            if ((least - 1) > (job->columns - 1 - first) / distance || (first % 256 == 0 && ox_pool_poll(job->pool)))
                break;
            count_from(job, row, first, distance, least);
        }
        least += least == 1;
    }
}

static void weigh_row(const count_job *job, int64_t row) {
    const tfidf *t = job->t;
    float *y = job->y + row * t->places;
    for (int64_t i = 0; i < t->places; i++) {
        const double count = t->mode == IDF ? (double)(y[i] > 0) : (double)y[i];
        y[i] = (float)(count * t->weights[i]);
    }
}

static void count_part(void *context, int part, int parts) {
    const count_job *job = context;
    int64_t row, end;
    ox_pool_range(job->rows, part, parts, &row, &end);
    for (; row < end && !ox_pool_poll(job->pool); row++) {
        memset(job->y + row * job->t->places, 0, (size_t)job->t->places * sizeof *job->y);
        count_row(job, row);
        weigh_row(job, row);
    }
}

ox_status ox_run_tfidf(ox_call *call) {
    const ox_tensor *x = call->in[0];
    count_job job = {.t = call->state, .x = x, .y = call->out[0]->data, .rows = 1, .pool = call->pool};
    job.columns = x->rank ? x->dims[x->rank - 1] : 1;
    job.rows = x->rank == 2 ? x->dims[0] : 1;
    const double bytes = (double)job.rows * ((double)job.columns * 64 + (double)job.t->places * 4);
    ox_pool_run_pieces(call->pool, bytes, count_part, &job);
    return OX_OK;
}
