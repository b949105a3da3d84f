/* tree_layout.c: lays trees out for walking. Every comparison becomes x <= limit: x < t is x <= the number before t,
 * the opposite of a comparison swaps the children, and a test for one of several values becomes a search among them.
 * The two children of a node lie side by side. A node with several parents is copied for each of them. */
#include "store.h"
#include "tree.h"

#include <math.h>
#include <string.h>

typedef struct layout {
    const ox_tree_source *source;
    ox_tree_node *nodes;
    ox_tree_leaf *leaves;
    int32_t *pairs; /* by branch: the node where the pairs behind it begin */
    int32_t single; /* as in ox_trees */
    bool of_floats, nan_matters;
} layout;

/* ---- Sets of values ----------------------------------------------------------------------------------------- */

/* x is one of `count` values; x == t is a set of one. */
typedef struct value_set {
    const double *values;
    int32_t count;
    bool nan_is_member;
    int32_t inside, outside, feature;
} value_set;

static bool is_set(const ox_tree_branch *b) {
    return b->mode == OX_TREE_EQ || b->mode == OX_TREE_NEQ || b->mode == OX_TREE_MEMBER;
}

/* NaN is not equal to any number, and so goes where the branch that holds leads. */
static value_set set_of(const ox_tree_branch *b) {
    if (b->mode == OX_TREE_MEMBER)
        return (value_set){b->members, b->member_count, b->missing_is_true, b->yes, b->no, b->feature};
    if (b->mode == OX_TREE_EQ)
        return (value_set){&b->value, 1, b->missing_is_true, b->yes, b->no, b->feature};
    return (value_set){&b->value, 1, false, b->no, b->yes, b->feature};
}

/* Two pairs for each value, and one for each choice between halves. */
static int64_t set_pairs(int64_t count) {
    return count ? 3 * count - 1 : 2;
}

static int64_t pairs_behind(const ox_tree_branch *b) {
    return b->mode == OX_TREE_LEAF ? 0 : is_set(b) ? set_pairs(set_of(b).count) : 1;
}

/* ---- Nodes -------------------------------------------------------------------------------------------------- */

/* The number before t, below which x < t holds; NaN where it never does. */
static double below(double t) {
    return t == -INFINITY ? NAN : nextafter(t, -INFINITY);
}

/* The largest float that is no more than a limit. */
static float float_below(double limit) {
    const float rounded = (float)limit;
    return (double)rounded > limit ? nextafterf(rounded, -INFINITY) : rounded;
}

static void put_node(layout *l, int32_t at, double limit, int32_t feature, bool nan_is_second, int32_t next) {
    ox_tree_node *node = &l->nodes[at];
    *node = (ox_tree_node){.feature = (uint32_t)feature | (nan_is_second ? OX_TREE_NAN : 0), .next = next};
    if (l->of_floats)
        node->limit.f32 = float_below(limit);
    else
        node->limit.f64 = limit;
    l->nan_matters |= nan_is_second;
}

/* The first comparison for values [first, first + count) of a set, whose pairs begin at `next`. */
static void put_set(layout *l, int32_t at, const value_set *set, int32_t first, int32_t count, int32_t next) {
    double limit = count ? set->values[first + (count > 1 ? count / 2 - 1 : 0)] : NAN;
    put_node(l, at, limit, set->feature, set->nan_is_member, next);
}

/* x < t or x <= t as x <= limit with the children in that order; their opposites with swapped ones. */
static void put_order(layout *l, int32_t at, const ox_tree_branch *b, int32_t next) {
    const bool swapped = b->mode == OX_TREE_GT || b->mode == OX_TREE_GTE;
    const bool open = b->mode == OX_TREE_LT || b->mode == OX_TREE_GTE;
    double limit = open ? below(b->value) : b->value;
    if (swapped && isnan(b->value)) /* holds for no x, as its opposite does */
        limit = INFINITY;
    put_node(l, at, limit, b->feature, b->missing_is_true != swapped, next);
}

static void put_leaf(layout *l, int32_t at, int32_t leaf) {
    const int32_t *first = l->source->first + leaf;
    put_node(l, at, NAN, 0, false, at);
    if (l->single >= 0)
        l->leaves[at].weight = l->source->votes[first[0]].weight;
    else
        l->leaves[at] = (ox_tree_leaf){.votes = {first[0], first[1] - first[0]}};
}

static void put_child(layout *l, int32_t at, int32_t child) {
    if (child < 0) {
        put_leaf(l, at, ~child);
        return;
    }
    const ox_tree_branch *b = &l->source->branches[child];
    value_set set = set_of(b);
    if (is_set(b))
        put_set(l, at, &set, 0, set.count, l->pairs[child]);
    else
        put_order(l, at, b, l->pairs[child]);
}

/* ---- Pairs -------------------------------------------------------------------------------------------------- */

/* One value: x <= t, and then not x < t. The depth of this is that of a search. */
static void put_set_pairs(layout *l, const value_set *set, int32_t first, int32_t count, int32_t pair) {
    if (count > 1) {
        const int32_t half = count / 2, left = pair + 2, right = left + 2 * (int32_t)set_pairs(half);
        put_set(l, pair, set, first + half, count - half, right);
        put_set(l, pair + 1, set, first, half, left);
        put_set_pairs(l, set, first + half, count - half, right);
        put_set_pairs(l, set, first, half, left);
        return;
    }
    put_child(l, pair, set->outside);
    put_node(l, pair + 1, count ? below(set->values[first]) : NAN, set->feature, false, pair + 2);
    put_child(l, pair + 2, set->inside);
    put_child(l, pair + 3, set->outside);
}

static void put_pairs(layout *l, int32_t branch) {
    const ox_tree_branch *b = &l->source->branches[branch];
    const int32_t pair = l->pairs[branch];
    const bool swapped = b->mode == OX_TREE_GT || b->mode == OX_TREE_GTE;
    value_set set = set_of(b);
    if (is_set(b)) {
        put_set_pairs(l, &set, 0, set.count, pair);
        return;
    }
    put_child(l, pair, swapped ? b->yes : b->no);
    put_child(l, pair + 1, swapped ? b->no : b->yes);
}

/* ---- All of it ---------------------------------------------------------------------------------------------- */

/* A branch, or a leaf with one vote that is for the same target as the first of all votes. */
static bool is_branch_or_single(const ox_tree_source *s, int32_t child) {
    const int32_t *first = child < 0 ? s->first + ~child : NULL;
    return !first || (first[1] == first[0] + 1 && s->votes[first[0]].target == s->votes[0].target);
}

/* The target of all votes, if every leaf has one; else -1. */
static int32_t single_target(const ox_tree_source *s) {
    for (int32_t i = 0; i < s->root_count; i++)
        if (!is_branch_or_single(s, s->roots[i]))
            return -1;
    for (int32_t i = 0; i < s->branch_count; i++) {
        const ox_tree_branch *b = &s->branches[i];
        if (b->mode != OX_TREE_LEAF && !(is_branch_or_single(s, b->yes) && is_branch_or_single(s, b->no)))
            return -1;
    }
    return s->votes[0].target;
}

/* Roots come first. Numbers of nodes must fit. */
static ox_status count_nodes(ox_call *call, const ox_tree_source *source, int32_t *pairs, int64_t *nodes) {
    *nodes = source->root_count;
    for (int32_t i = 0; i < source->branch_count; i++) {
        pairs[i] = (int32_t)*nodes;
        *nodes += 2 * pairs_behind(&source->branches[i]);
        if (*nodes > INT32_MAX)
            return ox_call_fail(call, OX_ERROR_LIMIT, "the trees have more nodes than %d", (int)INT32_MAX);
    }
    return OX_OK;
}

ox_status ox_tree_lay_out(ox_call *call, ox_tree_source *source, bool of_floats, ox_trees *trees) {
    layout l = {.source = source, .single = single_target(source), .of_floats = of_floats};
    int64_t count;
    l.pairs = ox_pile_array(source->pile, (size_t)source->branch_count, sizeof *l.pairs);
    if (!l.pairs)
        return ox_fail_memory(call->error, "trees", (size_t)source->branch_count * sizeof *l.pairs);
    OX_TRY(count_nodes(call, source, l.pairs, &count));
    l.nodes = ox_pile_array(source->kept, (size_t)count, sizeof *l.nodes);
    l.leaves = ox_pile_array(source->kept, (size_t)count, sizeof *l.leaves);
    if (!l.nodes || !l.leaves)
        return ox_fail_memory(call->error, "trees", (size_t)count * (sizeof *l.nodes + sizeof *l.leaves));
    for (int32_t i = 0; i < source->root_count; i++)
        put_child(&l, i, source->roots[i]);
    for (int32_t i = 0; i < source->branch_count; i++)
        if (source->branches[i].mode != OX_TREE_LEAF)
            put_pairs(&l, i);
    *trees = (ox_trees){.root_count = source->root_count,
                        .node_count = (int32_t)count,
                        .nodes = l.nodes,
                        .leaves = l.leaves,
                        .votes = source->votes,
                        .single = l.single,
                        .of_floats = l.of_floats,
                        .nan_matters = l.nan_matters};
    return OX_OK;
}

/* ---- For all sessions --------------------------------------------------------------------------------------- */

#if OX_KEEP_STATE
/* Trees, and how many votes there are. */
typedef struct laid_out {
    const ox_trees *trees;
    size_t nodes, votes;
} laid_out;

/* What is walked, or the head that says where that lies: of the same attributes. */
static ox_store_key key_of(const ox_call *call, int64_t columns, bool of_floats, bool head) {
    return (ox_store_key){
        .layout = OX_LAYOUT_TREES, .weights = call->attrs, .variant = of_floats + 2 * head, .dims = {columns}};
}

/* An ox_store_fn: nodes, leaves and votes, one after the other. */
static void copy_walked(const void *context, void *block) {
    const laid_out *l = context;
    ox_tree_node *nodes = block;
    ox_tree_leaf *leaves = (void *)(nodes + l->nodes);
    memcpy(nodes, l->trees->nodes, l->nodes * sizeof *nodes);
    memcpy(leaves, l->trees->leaves, l->nodes * sizeof *leaves);
    if (l->votes)
        memcpy(leaves + l->nodes, l->trees->votes, l->votes * sizeof *l->trees->votes);
}

/* An ox_store_fn. */
static void copy_head(const void *context, void *block) {
    memcpy(block, context, sizeof(ox_trees));
}

bool ox_tree_find_kept(const ox_call *call, int64_t columns, bool of_floats, ox_trees *trees) {
    const ox_store_key key = key_of(call, columns, of_floats, true);
    const void *head = NULL;
    if (!ox_store_takes(call->store) || ox_store_get(call->store, &key, sizeof *trees, NULL, NULL, &head, NULL) ||
        !head)
        return false;
    memcpy(trees, head, sizeof *trees);
    return true;
}

ox_status ox_tree_keep(ox_call *call, const ox_tree_source *source, int64_t columns, ox_trees *trees) {
    const laid_out l = {trees, (size_t)trees->node_count,
                        trees->single < 0 ? (size_t)source->first[source->leaf_count] : 0};
    const size_t size = l.nodes * (sizeof *trees->nodes + sizeof *trees->leaves) + l.votes * sizeof *trees->votes;
    ox_store_key key = key_of(call, columns, trees->of_floats, false);
    const void *block;
    OX_TRY(ox_store_get(call->store, &key, size, copy_walked, &l, &block, call->error));
    if (!block) {
        void *made = ox_pile_get(call->pile, size);
        if (!made)
            return ox_fail_memory(call->error, "trees", size);
        copy_walked(&l, made);
        block = made;
    }
    trees->nodes = block;
    trees->leaves = (const void *)(trees->nodes + l.nodes);
    trees->votes = (const void *)(trees->leaves + l.nodes);
    key = key_of(call, columns, trees->of_floats, true);
    const void *head;
    return ox_store_get(call->store, &key, sizeof *trees, copy_head, trees, &head, call->error);
}
#endif
