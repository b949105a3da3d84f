/* tree_flat.c: trees as `ox embed` lays them out when it writes a model: one tensor of words that are walked where they
 * lie, in place of a dozen lists of attributes. */
#include "tree.h"

#include <math.h>
#include <string.h>

/* Words of 64 bits: the counts, then the nodes, what lies at leaves, and the votes, as in ox_trees. */
enum {
    HEAD = 3, /* roots and nodes; votes and the single target; features and flags: two numbers of 32 bits each */
    NODE = sizeof(ox_tree_node) / sizeof(int64_t),
    VOTE = sizeof(ox_tree_vote) / sizeof(int64_t)
};
_Static_assert(sizeof(ox_tree_node) == 16 && sizeof(ox_tree_vote) == 16 && sizeof(ox_tree_leaf) == 8,
               "words are the same on all machines that count bytes from the least one");

const ox_tensor *ox_tree_flat(ox_call *call) {
    return ox_call_has(call, "nodes_nodeids") ? NULL : ox_call_tensor(call, "__trees");
}

static int32_t low(int64_t word) {
    return (int32_t)(uint32_t)(uint64_t)word;
}
static int32_t high(int64_t word) {
    return (int32_t)(uint32_t)((uint64_t)word >> 32);
}

int32_t ox_tree_flat_flags(const ox_tensor *flat) {
    int64_t word;
    if (flat->dtype != OX_INT64 || ox_tensor_count(flat) < HEAD)
        return 0;
    memcpy(&word, (const char *)flat->data + 2 * sizeof word, sizeof word);
    return high(word);
}

/* The words at an address that nodes may have: where they lie, or a copy of those that a file has at another one. */
static const int64_t *aligned_words(ox_call *call, const ox_tensor *flat, int64_t count) {
    if ((uintptr_t)flat->data % _Alignof(ox_tree_node) == 0)
        return flat->data;
    int64_t *copy = ox_pile_array(call->pile, (size_t)count, sizeof *copy);
    return copy ? memcpy(copy, flat->data, (size_t)count * sizeof *copy) : NULL;
}

static ox_status damaged(const ox_call *call, const char *what, int64_t at) {
    (void)what, (void)at;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute '__trees': %s %lld leads elsewhere", what, (long long)at);
}

/* Walks go on to nodes behind, and so come to an end: at a leaf, whose limit is NaN, they stay. */
static bool is_sound(const ox_trees *t, int32_t at, int32_t nodes, int32_t votes, int32_t features) {
    const ox_tree_node *node = &t->nodes[at];
    const uint32_t feature = t->nan_matters ? node->feature & ~OX_TREE_NAN : node->feature;
    if (node->next != at)
        return node->next > at && node->next < nodes - 1 && feature < (uint32_t)features;
    const ox_tree_leaf *leaf = &t->leaves[at];
    return isnan(node->limit.f64) && !node->feature &&
           (t->single >= 0 || (leaf->votes.first >= 0 && leaf->votes.first <= votes && leaf->votes.count >= 0 &&
                               leaf->votes.count <= votes - leaf->votes.first));
}

ox_status ox_tree_take_flat(ox_call *call, const ox_tensor *flat, int64_t columns, int64_t targets, ox_trees *trees) {
    const int64_t count = ox_tensor_count(flat);
    if (flat->dtype != OX_INT64 || !ox_tensor_is_packed(flat) || count < HEAD)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute '__trees': it is no list of int64");
    const int64_t *words = aligned_words(call, flat, count);
    if (!words)
        return ox_fail_memory(call->error, "trees", (size_t)count * sizeof *words);
    const int32_t nodes = high(words[0]), votes = low(words[1]), features = low(words[2]);
    *trees = (ox_trees){.root_count = low(words[0]),
                        .single = high(words[1]),
                        .nan_matters = (high(words[2]) & OX_TREE_NAN_MATTERS) != 0};
    if (trees->root_count < 1 || trees->root_count > nodes || votes < 0 || features < 1 ||
        (int64_t)nodes * (NODE + 1) + (int64_t)votes * VOTE != count - HEAD)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute '__trees': %lld words for %d trees, %d nodes and %d votes",
                            (long long)count, (int)trees->root_count, (int)nodes, (int)votes);
    if (features > columns || trees->single >= targets)
        return ox_call_fail(call, OX_ERROR_SHAPE, "the trees read %d features for %lld targets, but %s has %lld",
                            (int)features, (long long)targets, OX_INPUT(call, 0), (long long)columns);
    trees->nodes = (const void *)(words + HEAD);
    trees->leaves = (const void *)(trees->nodes + nodes);
    trees->votes = (const void *)(trees->leaves + nodes);
    for (int32_t at = 0; at < nodes; at++)
        if (!is_sound(trees, at, nodes, votes, features))
            return damaged(call, "node", at);
    for (int32_t at = 0; at < votes; at++)
        if (trees->votes[at].target < 0 || trees->votes[at].target >= targets)
            return damaged(call, "vote", at);
    return OX_OK;
}

#if !OX_SMALL
static int64_t pair(int64_t low_half, int64_t high_half) {
    return (int64_t)((uint64_t)(uint32_t)low_half | (uint64_t)high_half << 32);
}

/* How many features rows must have at least. */
static int64_t least_features(const ox_trees *trees, int64_t nodes) {
    int64_t most = 0;
    for (int64_t i = 0; i < nodes; i++)
        if ((trees->nodes[i].feature & ~OX_TREE_NAN) > most)
            most = trees->nodes[i].feature & ~OX_TREE_NAN;
    return most + 1;
}

ox_status ox_tree_flatten(ox_call *call, const char *prefix, int64_t targets, int32_t flags, ox_tensor *flat) {
    ox_tree_source source = {.pile = call->pile, .kept = call->pile};
    ox_trees trees;
    int64_t nodes, *words;
    OX_TRY(ox_tree_read_classic(call, prefix, INT32_MAX, targets, &source));
    OX_TRY(ox_tree_lay_out(call, &source, false, &trees));
    nodes = trees.node_count;
    const int64_t votes = trees.single < 0 ? source.first[source.leaf_count] : 0,
                  count = HEAD + nodes * (NODE + 1) + votes * VOTE;
    int64_t *dims = ox_pile_array(call->pile, 1, sizeof *dims);
    words = ox_pile_array(call->pile, (size_t)count, sizeof *words);
    if (!dims || !words)
        return ox_fail_memory(call->error, "trees", (size_t)count * sizeof *words);
    words[0] = pair(trees.root_count, nodes);
    words[1] = pair(votes, trees.single);
    words[2] = pair(least_features(&trees, nodes), flags | (trees.nan_matters ? OX_TREE_NAN_MATTERS : 0));
    memcpy(words + HEAD, trees.nodes, (size_t)nodes * sizeof *trees.nodes);
    memcpy(words + HEAD + nodes * NODE, trees.leaves, (size_t)nodes * sizeof *trees.leaves);
    if (votes)
        memcpy(words + HEAD + nodes * (NODE + 1), trees.votes, (size_t)votes * sizeof *trees.votes);
    *dims = count;
    *flat = (ox_tensor){.dtype = OX_INT64, .rank = 1, .dims = dims, .data = words};
    return ox_tree_take_flat(call, flat, INT32_MAX, targets, &trees);
}
#endif
