/* tree_ensemble.c: TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier. */
#include "half.h"
#include "store.h"
#include "tree.h"

#include <math.h>

typedef enum aggregate {
    AVERAGE,
    SUM,
    MIN,
    MAX
} aggregate;

typedef struct ensemble {
    ox_trees trees;
    int64_t rows, columns, targets;
    aggregate how;
    ox_ml_transform transform;
    ox_ml_numbers base; /* of each target; a classifier of two classes may have one */
    /* of classifiers */
    ox_ml_labels labels;
    bool is_binary; /* two classes, but votes are for one of them alone: what it has decides */
    bool is_share;  /* the votes are no less than 0 */
} ensemble;

/* ---- Votes -------------------------------------------------------------------------------------------------- */

/* The scores of all rows. */
typedef struct tally {
    const ox_call *call;
    const ensemble *e;
    const void *x;
    double *scores;
    bool *voted;
} tally;

/* All votes are for one target. */
static void add_single(void *context, const ox_tree_ends *ends) {
    const tally *t = context;
    double *scores = t->scores + ends->row * t->e->targets + t->e->trees.single;
    const int64_t step = ends->step * t->e->targets;
    for (int k = 0; k < ends->count; k++)
        scores[k * step] += ends->leaves[k]->weight;
}

static void add_votes(void *context, const ox_tree_ends *ends) {
    const tally *t = context;
    for (int k = 0; k < ends->count; k++) {
        const int64_t at = (ends->row + k * ends->step) * t->e->targets;
        const ox_tree_vote *votes = t->e->trees.votes + ends->leaves[k]->votes.first;
        for (int32_t i = 0; i < ends->leaves[k]->votes.count; i++) {
            t->scores[at + votes[i].target] += votes[i].weight;
            t->voted[at + votes[i].target] = true;
        }
    }
}

static void pick_vote(const tally *t, int64_t at, double weight) {
    if (!t->voted[at] || (t->e->how == MIN ? weight < t->scores[at] : weight > t->scores[at]))
        t->scores[at] = weight;
    t->voted[at] = true;
}

static void pick_votes(void *context, const ox_tree_ends *ends) {
    const tally *t = context;
    const ox_trees *trees = &t->e->trees;
    for (int k = 0; k < ends->count; k++) {
        const ox_tree_leaf *leaf = ends->leaves[k];
        const int64_t at = (ends->row + k * ends->step) * t->e->targets;
        if (trees->single >= 0) {
            pick_vote(t, at + trees->single, leaf->weight);
            continue;
        }
        const ox_tree_vote *votes = trees->votes + leaf->votes.first;
        for (int32_t i = 0; i < leaf->votes.count; i++)
            pick_vote(t, at + votes[i].target, votes[i].weight);
    }
}

static void count_votes(const tally *t, int64_t first, int64_t end) {
    const ox_trees *trees = &t->e->trees;
    const int64_t targets = t->e->targets;
    const bool is_single = t->e->how < MIN && trees->single >= 0;
    ox_tree_take_fn *const take = is_single ? add_single : t->e->how < MIN ? add_votes : pick_votes;
    for (int64_t i = first * targets; i < end * targets; i++) {
        t->scores[i] = 0;
        t->voted[i] = is_single && i % targets == trees->single;
    }
    ox_tree_walk(trees, t->x, t->e->columns, first, end, take, (void *)t);
    if (t->e->how == AVERAGE)
        for (int64_t i = first * targets; i < end * targets; i++)
            t->scores[i] /= trees->root_count;
}

/* ---- Scores ------------------------------------------------------------------------------------------------- */

static void put_scores(const ox_tensor *out, int64_t row, int64_t n, const double *scores) {
    char *to = (char *)out->data + row * n * (int64_t)ox_dtype_size(out->dtype);
    for (int64_t k = 0; k < n; k++)
        if (out->dtype == OX_FLOAT)
            OX_AT(ox_f32, to + k * 4) = (float)scores[k];
        else if (out->dtype == OX_FLOAT16)
            OX_AT(ox_u16, to + k * 2) = ox_half_from_float((float)scores[k]);
        else
            OX_AT(ox_f64, to + k * 8) = scores[k];
}

static void add_base(const ensemble *e, double *scores) {
    for (size_t k = 0; k < e->base.count; k++)
        scores[k] += ox_ml_number(&e->base, k);
}

static void regress(const tally *t, int64_t row) {
    double *scores = t->scores + row * t->e->targets;
    add_base(t->e, scores);
    ox_ml_apply(t->e->transform, t->e->targets, scores);
    put_scores(t->call->out[0], row, t->e->targets, scores);
}

/* The best of the classes that got votes, or a base value; the first class where none did. */
static int64_t best_class(const ensemble *e, const double *scores, const bool *voted) {
    int64_t best = -1;
    if (e->base.count)
        return ox_ml_best(e->targets, scores);
    for (int64_t k = 0; k < e->targets; k++)
        if (voted[k] && (best < 0 || scores[k] > scores[best]))
            best = k;
    return best < 0 ? 0 : best;
}

static int64_t classify_many(const ensemble *e, double *scores, const bool *voted) {
    add_base(e, scores);
    const int64_t best = best_class(e, scores, voted);
    ox_ml_apply(e->transform, e->targets, scores);
    return best;
}

/* Votes for the first class alone are taken for what the second one has. */
static int64_t classify_two(const ensemble *e, double *scores, const bool *voted) {
    if (voted[1]) {
        const bool is_second = scores[1] > (e->is_share ? 0.5 : 0);
        ox_ml_apply(e->transform, 2, scores);
        return is_second;
    }
    add_base(e, scores);
    const bool is_second = scores[0] > (e->is_share ? 0.5 : 0);
    ox_ml_apply_to_pair(e->transform, e->is_share, scores[0], scores);
    return is_second;
}

static void classify(const tally *t, int64_t row) {
    const ensemble *e = t->e;
    double *scores = t->scores + row * e->targets;
    const bool *voted = t->voted + row * e->targets;
    const int64_t best = (e->is_binary ? classify_two : classify_many)(e, scores, voted);
    if (t->call->out[0])
        ox_ml_put_label(&e->labels, (size_t)best, t->call->out[0]->data, row);
    if (t->call->nout > 1 && t->call->out[1])
        put_scores(t->call->out[1], row, e->targets, scores);
}

/* ---- Attributes --------------------------------------------------------------------------------------------- */

static ox_status check_targets(ox_call *call, int64_t *targets) {
    if (!ox_call_has(call, "n_targets"))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'n_targets' is missing");
    *targets = ox_call_int(call, "n_targets", 0);
    if (*targets < 1 || *targets > INT32_MAX)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'n_targets' is %lld, expected 1 to %d",
                            (long long)*targets, (int)INT32_MAX);
    return OX_OK;
}

static ox_status read_number(ox_call *call, const char *name, int64_t otherwise, int count, int *choice) {
    const int64_t value = ox_call_int(call, name, otherwise);
    *choice = (int)value;
    if (value >= 0 && value < count)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' is %lld, expected 0 to %d", name, (long long)value,
                        count - 1);
}

static ox_status read_numbers(ox_call *call, ensemble *e) {
    int how, transform;
    OX_TRY(read_number(call, "aggregate_function", SUM, MAX + 1, &how));
    OX_TRY(read_number(call, "post_transform", OX_ML_NONE, OX_ML_PROBIT + 1, &transform));
    e->how = (aggregate)how;
    e->transform = (ox_ml_transform)transform;
    return check_targets(call, &e->targets);
}

static ox_status read_base(ox_call *call, ensemble *e, const char *why) {
    OX_TRY(ox_ml_read_transform(call, &e->transform));
    OX_TRY(ox_ml_read_numbers(call, "base_values", "base_values_as_tensor", &e->base));
    return e->base.count ? ox_ml_check_count(call, e->base.name, e->base.count, e->targets, why) : OX_OK;
}

static ox_status read_regressor(ox_call *call, ensemble *e) {
    static const char *const names[] = {"SUM", "AVERAGE", "MIN", "MAX"};
    static const aggregate hows[] = {SUM, AVERAGE, MIN, MAX};
    int how;
    OX_TRY(ox_ml_choice(call, "aggregate_function", names, 4, &how));
    e->how = hows[how];
    OX_TRY(check_targets(call, &e->targets));
    return read_base(call, e, "one for each of the targets");
}

/* True if all votes are for one class. */
static bool is_one_class(const int64_t *ids, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (ids[i] != ids[0])
            return false;
    return true;
}

static bool is_never_negative(const ox_ml_numbers *weights) {
    for (size_t i = 0; i < weights->count; i++)
        if (ox_ml_number(weights, i) < 0)
            return false;
    return true;
}

/* What all votes have in common. */
static ox_status read_common(ox_call *call, int32_t *flags) {
    ox_ml_numbers weights;
    size_t count;
    const ox_tensor *flat = ox_tree_flat(call);
    if (flat || !OX_WITH_TREES) {
        *flags = flat ? ox_tree_flat_flags(flat) : 0;
        return OX_OK;
    }
    OX_TRY(ox_ml_read_numbers(call, "class_weights", "class_weights_as_tensor", &weights));
    const int64_t *ids = ox_call_ints(call, "class_ids", &count);
    *flags =
        (is_one_class(ids, count) ? OX_TREE_ONE_CLASS : 0) | (is_never_negative(&weights) ? OX_TREE_NEVER_NEGATIVE : 0);
    return OX_OK;
}

static ox_status read_classifier(ox_call *call, ensemble *e) {
    int32_t flags;
    e->how = SUM;
    OX_TRY(ox_ml_read_labels(call, "classlabels_int64s", "classlabels_strings", &e->labels));
    OX_TRY(read_common(call, &flags));
    e->targets = (int64_t)ox_least((int64_t)e->labels.count, INT32_MAX);
    OX_TRY(ox_ml_read_numbers(call, "base_values", "base_values_as_tensor", &e->base));
    e->is_binary = e->targets == 2 && e->base.count < 2 && flags & OX_TREE_ONE_CLASS;
    e->is_share = flags & OX_TREE_NEVER_NEGATIVE;
    return e->is_binary ? ox_ml_read_transform(call, &e->transform) : read_base(call, e, "one for each of the classes");
}

/* ---- Infer -------------------------------------------------------------------------------------------------- */

static ox_status infer_scores(ox_call *call, int k, ox_dtype dtype, int64_t targets) {
    int64_t rows, columns;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_ml_rows(call, 0, &rows, &columns));
    return ox_call_output(call, k, dtype, 2, (int64_t[]){rows, targets});
}

ox_status ox_infer_tree_ensemble(ox_call *call) {
    ensemble e = {0};
    OX_TRY(read_numbers(call, &e));
    return infer_scores(call, 0, call->in[0]->dtype, e.targets);
}

ox_status ox_infer_tree_regressor(ox_call *call) {
    ensemble e = {0};
    OX_TRY(read_regressor(call, &e));
    return infer_scores(call, 0, OX_FLOAT, e.targets);
}

ox_status ox_infer_tree_classifier(ox_call *call) {
    ensemble e = {0};
    int64_t rows, columns;
    OX_TRY(read_classifier(call, &e));
    OX_TRY(ox_ml_rows(call, 0, &rows, &columns));
    OX_TRY(ox_call_output(call, 0, ox_ml_labels_dtype(&e.labels), 1, &rows));
    return call->nout > 1 ? infer_scores(call, 1, OX_FLOAT, e.targets) : OX_OK;
}

/* ---- Prepare ------------------------------------------------------------------------------------------------ */

/* The other types of rows are walked as doubles. */
static bool is_of_floats(const ox_tensor *x) {
    return x->dtype == OX_FLOAT || x->dtype == OX_FLOAT16;
}

static ox_status plan_scores(ox_call *call, ensemble *e) {
    int64_t count;
    if (!ox_mul_i64(e->rows, e->targets, &count))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%lld scores for each of %lld rows are too many",
                            (long long)e->targets, (long long)e->rows);
    OX_TRY(e->trees.of_floats ? ox_dense_plan(call, call->in[0]) : ox_ml_plan_doubles(call, call->in[0]));
    OX_TRY(ox_workspace_add(call, count, sizeof(double)));
    return ox_workspace_add(call, count, sizeof(bool));
}

/* prefix: of the attributes that hold the votes; NULL for TreeEnsemble. */
static ox_status plan_trees(ox_call *call, ensemble *e, const char *prefix, ox_pile *pile) {
    const bool of_floats = is_of_floats(call->in[0]);
    ox_tree_source source = {.pile = pile, .kept = call->pile};
    const ox_tensor *flat = prefix ? ox_tree_flat(call) : NULL;
    OX_TRY(ox_ml_rows(call, 0, &e->rows, &e->columns));
    if (flat || !OX_WITH_TREES) {
        if (!flat)
            return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "this build of the library has no trees of attributes");
        OX_TRY(ox_tree_take_flat(call, flat, e->columns, e->targets, &e->trees));
        return plan_scores(call, e);
    }
#if OX_KEEP_STATE
    if (ox_tree_find_kept(call, e->columns, of_floats, &e->trees))
        return plan_scores(call, e);
    if (ox_store_takes(call->store))
        source.kept = pile;
#endif
    if (prefix)
        OX_TRY(ox_tree_read_classic(call, prefix, e->columns, e->targets, &source));
    else
        OX_TRY(ox_tree_read(call, e->columns, e->targets, &source));
    OX_TRY(ox_tree_lay_out(call, &source, of_floats, &e->trees));
#if OX_KEEP_STATE
    if (source.kept == pile)
        OX_TRY(ox_tree_keep(call, &source, e->columns, &e->trees));
#endif
    return plan_scores(call, e);
}

/* What the attributes say is forgotten once the trees are laid out, if there is memory of that kind. */
static ox_status plan_ensemble(ox_call *call, ensemble *e, const char *prefix) {
    if (!OX_KEEP_STATE)
        return plan_trees(call, e, prefix, call->pile);
    const ox_allocator allocator = ox_temporary(call->pile->allocator);
    ox_pile pile;
    ox_pile_init(&pile, &allocator);
    const ox_status status = plan_trees(call, e, prefix, &pile);
    ox_pile_free(&pile);
    return status;
}

#define PREPARE(name, read, prefix)                                                                                    \
    ox_status ox_prepare_##name(ox_call *call) {                                                                       \
        ensemble *e = ox_call_state(call, sizeof *e);                                                                  \
        if (!e)                                                                                                        \
            return OX_ERROR_MEMORY;                                                                                    \
        OX_TRY(read(call, e));                                                                                         \
        return plan_ensemble(call, e, prefix);                                                                         \
    }
PREPARE(tree_ensemble, read_numbers, NULL)
PREPARE(tree_regressor, read_regressor, "target")
PREPARE(tree_classifier, read_classifier, "class")

/* ---- Run ---------------------------------------------------------------------------------------------------- */

static void tally_part(void *context, int part, int parts) {
    const tally *t = context;
    int64_t first, end;
    ox_pool_range(t->e->rows, part, parts, &first, &end);
    count_votes(t, first, end);
    for (; first < end; first++)
        (t->e->labels.count ? classify : regress)(t, first);
}

/* A walk looks at the first feature at a leaf, too: rows without any may have no memory. */
static const double no_feature = 0;

ox_status ox_run_tree_ensemble(ox_call *call) {
    const ensemble *e = call->state;
    size_t used = 0;
    tally t = {.call = call, .e = e};
    t.x = e->trees.of_floats ? ox_dense_in(call, &used, call->in[0]).data : ox_ml_doubles(call, &used, call->in[0]);
    if (!e->columns)
        t.x = &no_feature;
    t.scores = ox_workspace_take(call, &used, e->rows * e->targets, sizeof *t.scores);
    t.voted = ox_workspace_take(call, &used, e->rows * e->targets, sizeof *t.voted);
    /* A walk takes as long as some hundred bytes. */
    const double work = (double)e->trees.root_count * 256 + (double)e->targets * 32;
    ox_pool_run_pieces(call->pool, (double)e->rows * work, tally_part, &t);
    return OX_OK;
}

/* ---- As ox embed lays trees out ----------------------------------------------------------------------------- */

#if !OX_SMALL
ox_status ox_tree_flatten_node(ox_call *call, ox_tensor *flat) {
    ensemble e = {0};
    int32_t flags = 0;
    const bool classifies = call->op->prepare == ox_prepare_tree_classifier;
    if (!classifies && call->op->prepare != ox_prepare_tree_regressor)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "only trees of the older operators are laid out");
    OX_TRY(classifies ? read_classifier(call, &e) : read_regressor(call, &e));
    if (classifies)
        OX_TRY(read_common(call, &flags));
    return ox_tree_flatten(call, classifies ? "class" : "target", e.targets, flags, flat);
}
#endif
