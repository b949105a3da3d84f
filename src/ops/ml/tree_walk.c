/* tree_walk.c: from the roots of trees to the leaves of rows. Several walks go on side by side, as each step of one has
 * to wait for memory. */
#include "tree.h"

enum {
    WALKS = 8,
    BLOCK_BYTES = 256 << 10 /* of rows that stay in the cache while one tree after the other sees them */
};

/* One step of a walk. A walk that is at a leaf stays there. */
static inline __attribute__((always_inline)) int32_t step(const ox_tree_node *node, double x, bool nan_matters) {
    int32_t second = x <= node->limit;
    if (nan_matters)
        second |= (x != x) & (int32_t)node->nan_is_second;
    return node->next + second;
}

/* Walks side by side: where each is, and its row. */
typedef struct walks {
    int32_t at[WALKS];
    const void *x[WALKS];
} walks;

#define DESCEND(type, nan_matters)                                                                                     \
    for (int32_t moved = 1; moved;) {                                                                                  \
        moved = 0;                                                                                                     \
        for (int k = 0; k < WALKS; k++) {                                                                              \
            const ox_tree_node *node = &nodes[w->at[k]];                                                               \
            const int32_t next = step(node, (double)((const type *)w->x[k])[node->feature], nan_matters);              \
            moved |= next ^ w->at[k];                                                                                  \
            w->at[k] = next;                                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    return

static void descend(const ox_trees *trees, ox_dtype dtype, walks *w) {
    const ox_tree_node *nodes = trees->nodes;
    const bool nan_matters = trees->nan_matters;
    switch (dtype) {
    case OX_FLOAT:
        if (nan_matters) {
            DESCEND(ox_f32, true);
        }
        DESCEND(ox_f32, false);
    case OX_DOUBLE:
        if (nan_matters) {
            DESCEND(ox_f64, true);
        }
        DESCEND(ox_f64, false);
    case OX_INT32:
        DESCEND(ox_i32, false);
    default:
        DESCEND(ox_i64, false);
    }
}

/* Trees and rows are numbered through, the rows of a tree first; the last walks may be of no use. */
static void walk_block(const ox_trees *trees, const ox_tensor *x, int64_t first, int64_t rows, ox_tree_take_fn *take,
                       void *context) {
    const int64_t width = x->dims[x->rank - 1] * (int64_t)ox_dtype_size(x->dtype);
    const char *data = x->data;
    int64_t row = 0, tree = 0;
    while (tree < trees->root_count) {
        walks w;
        int64_t of[WALKS];
        int n = 0;
        for (; n < WALKS && tree < trees->root_count; n++) {
            w.at[n] = (int32_t)tree;
            w.x[n] = data + (first + row) * width;
            of[n] = first + row;
            if (++row == rows) {
                row = 0;
                tree++;
            }
        }
        for (int k = n; k < WALKS; k++) {
            w.at[k] = w.at[0];
            w.x[k] = w.x[0];
        }
        descend(trees, x->dtype, &w);
        for (int k = 0; k < n; k++)
            take(context, of[k], trees->votes + trees->leaves[w.at[k]].first, trees->leaves[w.at[k]].count);
    }
}

void ox_tree_walk(const ox_trees *trees, const ox_tensor *x, int64_t first, int64_t end, ox_tree_take_fn *take,
                  void *context) {
    const int64_t width = x->dims[x->rank - 1] * (int64_t)ox_dtype_size(x->dtype);
    const int64_t block = width < BLOCK_BYTES / 8 ? BLOCK_BYTES / (width > 32 ? width : 32) : 8;
    for (; first < end; first += block)
        walk_block(trees, x, first, ox_least(block, end - first), take, context);
}
