/* tree.h: ensembles of decision trees, as attributes describe them and as they are walked. */
#ifndef OX_OPS_ML_TREE_H
#define OX_OPS_ML_TREE_H

#include "ml.h"

/* ---- As described ------------------------------------------------------------------------------------------- */

/* Numbers of TreeEnsemble; the older operators have names for all but the last one. */
typedef enum ox_tree_mode {
    OX_TREE_LEQ,
    OX_TREE_LT,
    OX_TREE_GTE,
    OX_TREE_GT,
    OX_TREE_EQ,
    OX_TREE_NEQ,
    OX_TREE_MEMBER,
    OX_TREE_MODES,
    OX_TREE_LEAF = OX_TREE_MODES
} ox_tree_mode;

/* A branch, as the attributes say it. A child >= 0 is the index of a branch, others are ~leaf. */
typedef struct ox_tree_branch {
    double value;
    int32_t feature;
    uint8_t mode;
    bool missing_is_true;
    int32_t yes, no;
    const double *members; /* OX_TREE_MEMBER: sorted */
    int32_t member_count;
} ox_tree_branch;

typedef struct ox_tree_vote {
    double weight;
    int32_t target;
} ox_tree_vote;

typedef struct ox_tree_source {
    ox_pile *pile; /* for all but the votes, ... */
    ox_pile *kept; /* ... which are walked, as is what is laid out */
    int32_t branch_count, leaf_count, root_count;
    ox_tree_branch *branches;
    int32_t *roots; /* branches, or ~leaf */
    int32_t *first; /* leaf l has the votes from first[l] to first[l + 1] */
    ox_tree_vote *votes;
} ox_tree_source;

/* ---- As walked ---------------------------------------------------------------------------------------------- */

/* In `feature`: NaN leads to the second node. */
#define OX_TREE_NAN ((uint32_t)1 << 31)

/* One comparison. The walk goes to the node behind `next` if x <= limit, and to `next` otherwise. NaN goes to `next`,
 * unless OX_TREE_NAN is set. The limit of a leaf is NaN and its `next` the leaf itself, so that a walk stays there. */
typedef struct ox_tree_node {
    union {
        double f64;
        float f32; /* for rows of floats: what is at most this is at most the limit */
    } limit;
    uint32_t feature; /* with OX_TREE_NAN */
    int32_t next;
} ox_tree_node;

/* The votes of a leaf: where they are, or the weight of the only one. */
typedef union ox_tree_leaf {
    struct {
        int32_t first, count;
    } votes;
    double weight;
} ox_tree_leaf;

typedef struct ox_trees {
    int32_t root_count, node_count; /* the latter of trees that are laid out here */
    const ox_tree_node *nodes;      /* the roots come first */
    const ox_tree_leaf *leaves;     /* by node; empty for others */
    const ox_tree_vote *votes;
    int32_t single;   /* every leaf has one vote, for this target; -1: leaves have lists of votes */
    bool of_floats;   /* limits are floats */
    bool nan_matters; /* some node has OX_TREE_NAN */
} ox_trees;

/* Prepare: lays the trees out for walking rows of floats or doubles; the source has no cycles. */
ox_status ox_tree_lay_out(ox_call *call, ox_tree_source *source, bool of_floats, ox_trees *trees);

#if OX_KEEP_STATE
/* Prepare: the trees that some session of the model laid out for rows of that kind and so many columns; false if none
 * did. */
bool ox_tree_find_kept(const ox_call *call, int64_t columns, bool of_floats, ox_trees *trees);
/* Prepare: moves trees that were laid out into memory that all sessions share, or that of the plan. */
ox_status ox_tree_keep(ox_call *call, const ox_tree_source *source, int64_t columns, ox_trees *trees);
#endif

/* Prepare: reads and checks all attributes of TreeEnsemble, or of the older operators, whose votes have the prefix
 * "class" or "target". The source has its pile already. */
ox_status ox_tree_read(ox_call *call, int64_t features, int64_t targets, ox_tree_source *source);
ox_status ox_tree_read_classic(ox_call *call, const char *prefix, int64_t features, int64_t targets,
                               ox_tree_source *source);

/* ---- As ox embed lays them out ------------------------------------------------------------------------------ */

/* What is known of such trees besides. */
enum {
    OX_TREE_ONE_CLASS = 1,      /* all votes are for one class */
    OX_TREE_NEVER_NEGATIVE = 2, /* no vote is below 0 */
    OX_TREE_NAN_MATTERS = 4     /* as in ox_trees */
};

/* The tensor with trees that a classifier or a regressor has in place of its attributes; NULL if it has those. */
const ox_tensor *ox_tree_flat(ox_call *call);
int32_t ox_tree_flat_flags(const ox_tensor *flat);

/* Prepare: checks all of it; the trees lie there. */
ox_status ox_tree_take_flat(ox_call *call, const ox_tensor *flat, int64_t columns, int64_t targets, ox_trees *trees);

/* Makes it of the attributes of an older operator, in the call's pile; an error where some walk would go on to a node
 * that stands before. */
ox_status ox_tree_flatten(ox_call *call, const char *prefix, int64_t targets, int32_t flags, ox_tensor *flat);

/* Of the two that share it: lays the node's trees out (ox_tree_flatten). */
ox_status ox_tree_flatten_node(ox_call *call, ox_tensor *flat);

/* How many walks go on side by side. */
enum {
    OX_TREE_WALKS = 16
};

/* Finished walks: walk k ended at leaves[k] for row + k * step. */
typedef struct ox_tree_ends {
    int count, step;
    int64_t row;
    const ox_tree_leaf *leaves[OX_TREE_WALKS];
} ox_tree_ends;

/* Walks all trees for rows [first, end) of `columns` floats, or doubles; `take` gets the trees of a row in their order.
 */
typedef void ox_tree_take_fn(void *context, const ox_tree_ends *ends);
void ox_tree_walk(const ox_trees *trees, const void *x, int64_t columns, int64_t first, int64_t end,
                  ox_tree_take_fn *take, void *context);

#endif
