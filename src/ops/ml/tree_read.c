/* tree_read.c: the attributes of tree ensembles, checked, as branches and leaves. */
#include "tree.h"

#include <math.h>

/* ---- Pieces ------------------------------------------------------------------------------------------------- */

static ox_status take(ox_call *call, ox_pile *pile, size_t count, size_t size, void *list) {
    void *memory = ox_pile_array(pile, count ? count : 1, size);
    *(void **)list = memory;
    return memory ? OX_OK : ox_fail_memory(call->error, "trees", count * size);
}

/* A list of integers of that length. */
static ox_status read_ints(ox_call *call, const char *name, int64_t wanted, const char *like, const int64_t **ints) {
    size_t count;
    *ints = ox_call_ints(call, name, &count);
    return ox_ml_check_count(call, name, count, wanted, like);
}

static ox_status read_missing(ox_call *call, int64_t wanted, const char *like, const int64_t **ints) {
    static const char name[] = "nodes_missing_value_tracks_true";
    size_t count;
    *ints = ox_call_ints(call, name, &count);
    return count ? ox_ml_check_count(call, name, count, wanted, like) : OX_OK;
}

static ox_status check_index(const ox_call *call, const char *attr, int64_t i, int64_t index, int64_t end) {
    if (index >= 0 && index < end)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s': element %lld is %lld, out of range (0 to %lld)", attr,
                        (long long)i, (long long)index, (long long)end - 1);
}

/* Numbers of nodes are int32_t, also where a set of values takes several. */
static ox_status check_length(const ox_call *call, const char *attr, size_t count) {
    if (count > 0 && count < INT32_MAX / 8)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' has %zu elements, expected 1 to %d", attr, count,
                        (int)(INT32_MAX / 8 - 1));
}

static ox_status check_feature(const ox_call *call, int64_t i, int64_t feature, int64_t features) {
    const int64_t most = features < INT32_MAX ? features : INT32_MAX;
    if (feature >= 0 && feature < most)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE,
                        "attribute 'nodes_featureids': element %lld is %lld, but %s has %lld features", (long long)i,
                        (long long)feature, OX_INPUT(call, 0), (long long)features);
}

/* ---- Cycles ------------------------------------------------------------------------------------------------- */

static void count_parents(const ox_tree_source *s, int32_t *parents) {
    for (int32_t i = 0; i < s->branch_count; i++) {
        if (s->branches[i].yes >= 0)
            parents[s->branches[i].yes]++;
        if (s->branches[i].no >= 0)
            parents[s->branches[i].no]++;
    }
}

/* Takes one parent away; a branch without any is ready. */
static int32_t release(int32_t child, int32_t *parents, int32_t *ready, int32_t count) {
    if (child >= 0 && !--parents[child])
        ready[count++] = child;
    return count;
}

/* Branches are taken away from those without parents on: what is left leads back to itself. */
static ox_status check_cycles(ox_call *call, ox_tree_source *s) {
    const size_t n = (size_t)s->branch_count;
    int32_t *parents, *ready, count = 0;
    OX_TRY(take(call, s->pile, n, sizeof *parents, &parents));
    OX_TRY(take(call, s->pile, n, sizeof *ready, &ready));
    count_parents(s, parents);
    for (int32_t i = 0; i < s->branch_count; i++)
        if (!parents[i])
            ready[count++] = i;
    for (int32_t k = 0; k < count; k++) {
        const ox_tree_branch *b = &s->branches[ready[k]];
        count = release(b->yes, parents, ready, count);
        count = release(b->no, parents, ready, count);
    }
    for (int32_t i = 0; i < s->branch_count && count < s->branch_count; i++)
        if (parents[i])
            return ox_call_fail(call, OX_ERROR_MODEL, "node %d of the trees is among its own descendants", (int)i);
    return OX_OK;
}

/* ---- TreeEnsemble ------------------------------------------------------------------------------------------- */

static bool less(const void *context, int64_t a, int64_t b) {
    const double *values = context;
    return values[a] < values[b];
}

/* The next of the sets, which NaN separates, sorted. */
static ox_status read_set(ox_call *call, ox_tree_source *s, const ox_ml_numbers *all, size_t *at, ox_tree_branch *b) {
    size_t end = *at;
    int64_t *order;
    double *values, *sorted;
    while (end < all->count && !isnan(ox_ml_number(all, end)))
        end++;
    const size_t count = end - *at;
    OX_TRY(take(call, s->pile, count, sizeof *values, &values));
    OX_TRY(take(call, s->pile, count, sizeof *sorted, &sorted));
    OX_TRY(take(call, s->pile, count, sizeof *order, &order));
    for (size_t i = 0; i < count; i++) {
        values[i] = ox_ml_number(all, *at + i);
        order[i] = (int64_t)i;
    }
    ox_ml_sort((int64_t)count, order, less, values);
    for (size_t i = 0; i < count; i++)
        sorted[i] = values[order[i]];
    b->members = sorted;
    b->member_count = (int32_t)count;
    *at = end + 1;
    return OX_OK;
}

static ox_status read_sets(ox_call *call, ox_tree_source *s) {
    ox_ml_numbers all;
    size_t at = 0;
    OX_TRY(ox_ml_read_numbers(call, "", "membership_values", &all));
    if (all.count > INT32_MAX / 8)
        return check_length(call, "membership_values", all.count);
    for (int32_t i = 0; i < s->branch_count; i++) {
        if (s->branches[i].mode != OX_TREE_MEMBER)
            continue;
        if (at >= all.count)
            return ox_call_fail(
                call, OX_ERROR_MODEL,
                "attribute 'membership_values' has no set of values for node %d, which is BRANCH_MEMBER", (int)i);
        OX_TRY(read_set(call, s, &all, &at, &s->branches[i]));
    }
    if (at < all.count)
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'membership_values' has more sets of values than there are BRANCH_MEMBER nodes");
    return OX_OK;
}

/* One side of the branches. */
static ox_status read_children(ox_call *call, const ox_tree_source *s, bool yes, const char *ids, const char *leafs) {
    static const char like[] = "one for each of 'nodes_featureids'";
    const int64_t *id, *is_leaf;
    OX_TRY(read_ints(call, ids, s->branch_count, like, &id));
    OX_TRY(read_ints(call, leafs, s->branch_count, like, &is_leaf));
    for (int32_t i = 0; i < s->branch_count; i++) {
        OX_TRY(check_index(call, ids, i, id[i], is_leaf[i] ? s->leaf_count : s->branch_count));
        const int32_t child = is_leaf[i] ? ~(int32_t)id[i] : (int32_t)id[i];
        *(yes ? &s->branches[i].yes : &s->branches[i].no) = child;
    }
    return OX_OK;
}

static ox_status read_branches(ox_call *call, int64_t features, ox_tree_source *s) {
    static const char like[] = "one for each of 'nodes_featureids'";
    const int64_t *feature, *missing;
    size_t count;
    ox_ml_numbers modes, splits;
    feature = ox_call_ints(call, "nodes_featureids", &count);
    OX_TRY(check_length(call, "nodes_featureids", count));
    s->branch_count = (int32_t)count;
    OX_TRY(take(call, s->pile, count, sizeof *s->branches, &s->branches));
    OX_TRY(ox_ml_read_numbers(call, "", "nodes_modes", &modes));
    OX_TRY(ox_ml_check_count(call, "nodes_modes", modes.count, s->branch_count, like));
    OX_TRY(ox_ml_read_numbers(call, "", "nodes_splits", &splits));
    OX_TRY(ox_ml_check_count(call, "nodes_splits", splits.count, s->branch_count, like));
    OX_TRY(read_missing(call, s->branch_count, like, &missing));
    for (size_t i = 0; i < count; i++) {
        const double mode = ox_ml_number(&modes, i);
        if (!(mode >= 0 && mode < OX_TREE_MODES))
            return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'nodes_modes': element %zu is not a mode (0 to %d)", i,
                                OX_TREE_MODES - 1);
        OX_TRY(check_feature(call, (int64_t)i, feature[i], features));
        s->branches[i] = (ox_tree_branch){.value = ox_ml_number(&splits, i),
                                          .feature = (int32_t)feature[i],
                                          .mode = (uint8_t)mode,
                                          .missing_is_true = missing && missing[i]};
    }
    return OX_OK;
}

static ox_status read_leaves(ox_call *call, int64_t targets, ox_tree_source *s) {
    ox_ml_numbers weights;
    size_t count;
    const int64_t *target = ox_call_ints(call, "leaf_targetids", &count);
    OX_TRY(check_length(call, "leaf_targetids", count));
    s->leaf_count = (int32_t)count;
    OX_TRY(ox_ml_read_numbers(call, "", "leaf_weights", &weights));
    OX_TRY(ox_ml_check_count(call, "leaf_weights", weights.count, s->leaf_count, "one for each of 'leaf_targetids'"));
    OX_TRY(take(call, s->pile, count + 1, sizeof *s->first, &s->first));
    OX_TRY(take(call, s->kept, count, sizeof *s->votes, &s->votes));
    for (int32_t i = 0; i < s->leaf_count; i++) {
        OX_TRY(check_index(call, "leaf_targetids", i, target[i], targets));
        s->votes[i] = (ox_tree_vote){ox_ml_number(&weights, (size_t)i), (int32_t)target[i]};
        s->first[i + 1] = i + 1;
    }
    return OX_OK;
}

ox_status ox_tree_read(ox_call *call, int64_t features, int64_t targets, ox_tree_source *s) {
    size_t count;
    const int64_t *roots = ox_call_ints(call, "tree_roots", &count);
    OX_TRY(check_length(call, "tree_roots", count));
    s->root_count = (int32_t)count;
    OX_TRY(read_branches(call, features, s));
    OX_TRY(read_leaves(call, targets, s));
    OX_TRY(read_children(call, s, true, "nodes_truenodeids", "nodes_trueleafs"));
    OX_TRY(read_children(call, s, false, "nodes_falsenodeids", "nodes_falseleafs"));
    OX_TRY(read_sets(call, s));
    OX_TRY(take(call, s->pile, count, sizeof *s->roots, &s->roots));
    for (int32_t i = 0; i < s->root_count; i++) {
        OX_TRY(check_index(call, "tree_roots", i, roots[i], s->branch_count));
        s->roots[i] = (int32_t)roots[i];
    }
    return check_cycles(call, s);
}

/* ---- The older operators: nodes are known by the numbers of their trees and their own ----------------------- */

typedef struct node_keys {
    const int64_t *trees, *ids;
    int64_t count;
    int64_t *order; /* by tree, then by node */
} node_keys;

static bool key_before(const void *context, int64_t a, int64_t b) {
    const node_keys *k = context;
    return k->trees[a] != k->trees[b] ? k->trees[a] < k->trees[b] : k->ids[a] < k->ids[b];
}

static ox_status sort_keys(ox_call *call, ox_pile *pile, node_keys *keys) {
    bool sorted = true;
    OX_TRY(take(call, pile, (size_t)keys->count, sizeof *keys->order, &keys->order));
    for (int64_t i = 0; i < keys->count; i++) {
        keys->order[i] = i;
        sorted = sorted && (!i || key_before(keys, i - 1, i));
    }
    if (sorted)
        return OX_OK;
    ox_ml_sort(keys->count, keys->order, key_before, keys);
    for (int64_t i = 1; i < keys->count; i++)
        if (!key_before(keys, keys->order[i - 1], keys->order[i]))
            return ox_call_fail(call, OX_ERROR_MODEL, "node %lld of tree %lld is described twice",
                                (long long)keys->ids[keys->order[i]], (long long)keys->trees[keys->order[i]]);
    return OX_OK;
}

/* The place of a node in the attributes. */
static ox_status find_node(const ox_call *call, const node_keys *keys, const char *attr, int64_t tree, int64_t id,
                           int32_t *found) {
    int64_t low = 0, high = keys->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2, at = keys->order[middle];
        if (keys->trees[at] < tree || (keys->trees[at] == tree && keys->ids[at] < id))
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < keys->count ? (int32_t)keys->order[low] : 0;
    if (low < keys->count && keys->trees[*found] == tree && keys->ids[*found] == id)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s': tree %lld has no node %lld", attr, (long long)tree,
                        (long long)id);
}

static ox_status read_mode(const ox_call *call, int32_t i, ox_string name, uint8_t *mode) {
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    for (*mode = 0; *mode < sizeof names / sizeof *names; ++*mode)
        if (ox_says(name, names[*mode]))
            return OX_OK;
    *mode = OX_TREE_LEAF;
    if (ox_says(name, "LEAF"))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'nodes_modes': element %d: unknown value '%.*s'", (int)i,
                        OX_SHORT(name));
}

static const char per_node[] = "one for each of 'nodes_nodeids'";

/* Leaves are numbered as the nodes are, so that each has a place in the list of branches. */
static ox_status read_nodes(ox_call *call, int64_t features, ox_tree_source *s) {
    const int32_t n = s->branch_count;
    const int64_t *feature, *missing;
    ox_ml_numbers values;
    const ox_attr *modes = ox_call_attr(call, "nodes_modes", OX_ATTR_STRINGS);
    OX_TRY(ox_ml_check_count(call, "nodes_modes", modes ? modes->count : 0, n, per_node));
    OX_TRY(read_ints(call, "nodes_featureids", n, per_node, &feature));
    OX_TRY(read_missing(call, n, per_node, &missing));
    OX_TRY(ox_ml_read_numbers(call, "nodes_values", "nodes_values_as_tensor", &values));
    OX_TRY(ox_ml_check_count(call, values.name, values.count, n, per_node));
    for (int32_t i = 0; i < n; i++) {
        ox_tree_branch *b = &s->branches[i];
        OX_TRY(read_mode(call, i, modes->u.strings[i], &b->mode));
        if (b->mode == OX_TREE_LEAF)
            continue;
        OX_TRY(check_feature(call, i, feature[i], features));
        b->feature = (int32_t)feature[i];
        b->value = ox_ml_number(&values, (size_t)i);
        b->missing_is_true = missing && missing[i];
    }
    return OX_OK;
}

static int32_t as_child(const ox_tree_source *s, int32_t node) {
    return s->branches[node].mode == OX_TREE_LEAF ? ~node : node;
}

static ox_status link_nodes(ox_call *call, const node_keys *keys, ox_tree_source *s) {
    const int64_t *yes, *no;
    int32_t found;
    OX_TRY(read_ints(call, "nodes_truenodeids", keys->count, per_node, &yes));
    OX_TRY(read_ints(call, "nodes_falsenodeids", keys->count, per_node, &no));
    for (int32_t i = 0; i < s->branch_count; i++) {
        ox_tree_branch *b = &s->branches[i];
        b->yes = b->no = ~i;
        if (b->mode == OX_TREE_LEAF)
            continue;
        OX_TRY(find_node(call, keys, "nodes_truenodeids", keys->trees[i], yes[i], &found));
        b->yes = as_child(s, found);
        OX_TRY(find_node(call, keys, "nodes_falsenodeids", keys->trees[i], no[i], &found));
        b->no = as_child(s, found);
    }
    return OX_OK;
}

/* The root of a tree is the first of its nodes. */
static ox_status find_roots(ox_call *call, const node_keys *keys, ox_tree_source *s) {
    OX_TRY(take(call, s->pile, (size_t)keys->count, sizeof *s->roots, &s->roots));
    for (int64_t i = 0; i < keys->count; i++) {
        const int32_t node = (int32_t)keys->order[i];
        if (!i || keys->trees[node] != keys->trees[keys->order[i - 1]])
            s->roots[s->root_count++] = node;
        else if (node < s->roots[s->root_count - 1])
            s->roots[s->root_count - 1] = node;
    }
    for (int32_t i = 0; i < s->root_count; i++)
        s->roots[i] = as_child(s, s->roots[i]);
    return OX_OK;
}

/* ---- Votes -------------------------------------------------------------------------------------------------- */

typedef struct vote_names {
    char trees[24], nodes[24], ids[24], weights[24], tensor[32];
} vote_names;

static vote_names names_of(const char *prefix) {
    vote_names n;
    ox_format(n.trees, sizeof n.trees, "%s_treeids", prefix);
    ox_format(n.nodes, sizeof n.nodes, "%s_nodeids", prefix);
    ox_format(n.ids, sizeof n.ids, "%s_ids", prefix);
    ox_format(n.weights, sizeof n.weights, "%s_weights", prefix);
    ox_format(n.tensor, sizeof n.tensor, "%s_weights_as_tensor", prefix);
    return n;
}

/* Votes come in the order of the attributes and are sorted by node. Those at nodes that are no leaves never count. */
static ox_status read_votes(ox_call *call, const char *prefix, const node_keys *keys, int64_t targets,
                            ox_tree_source *s) {
    const vote_names names = names_of(prefix);
    const int64_t *trees, *nodes, *ids;
    int32_t *leaf;
    size_t count;
    ox_ml_numbers weights;
    char like[48];
    ox_format(like, sizeof like, "one for each of '%s'", names.ids);
    ids = ox_call_ints(call, names.ids, &count);
    OX_TRY(check_length(call, names.ids, count));
    OX_TRY(read_ints(call, names.trees, (int64_t)count, like, &trees));
    OX_TRY(read_ints(call, names.nodes, (int64_t)count, like, &nodes));
    OX_TRY(ox_ml_read_numbers(call, names.weights, names.tensor, &weights));
    OX_TRY(ox_ml_check_count(call, weights.name, weights.count, (int64_t)count, like));
    OX_TRY(take(call, s->pile, count, sizeof *leaf, &leaf));
    OX_TRY(take(call, s->pile, (size_t)keys->count + 2, sizeof *s->first, &s->first));
    OX_TRY(take(call, s->kept, count, sizeof *s->votes, &s->votes));
    for (size_t i = 0; i < count; i++) {
        OX_TRY(check_index(call, names.ids, (int64_t)i, ids[i], targets));
        OX_TRY(find_node(call, keys, names.nodes, trees[i], nodes[i], &leaf[i]));
        s->first[leaf[i] + 2]++;
    }
    for (int64_t i = 2; i < keys->count + 2; i++)
        s->first[i] += s->first[i - 1];
    for (size_t i = 0; i < count; i++)
        s->votes[s->first[leaf[i] + 1]++] = (ox_tree_vote){ox_ml_number(&weights, i), (int32_t)ids[i]};
    return OX_OK;
}

ox_status ox_tree_read_classic(ox_call *call, const char *prefix, int64_t features, int64_t targets,
                               ox_tree_source *s) {
    size_t count;
    node_keys keys = {.ids = ox_call_ints(call, "nodes_nodeids", &count)};
    OX_TRY(check_length(call, "nodes_nodeids", count));
    keys.count = (int64_t)count;
    s->branch_count = s->leaf_count = (int32_t)count;
    OX_TRY(read_ints(call, "nodes_treeids", keys.count, per_node, &keys.trees));
    OX_TRY(sort_keys(call, s->pile, &keys));
    OX_TRY(take(call, s->pile, count, sizeof *s->branches, &s->branches));
    OX_TRY(read_nodes(call, features, s));
    OX_TRY(link_nodes(call, &keys, s));
    OX_TRY(find_roots(call, &keys, s));
    OX_TRY(read_votes(call, prefix, &keys, targets, s));
    return check_cycles(call, s);
}
