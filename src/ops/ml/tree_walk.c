/* tree_walk.c: walks trees from the root to a leaf for each row. Several walks go on side by side, for each step of a
 * walk waits for memory. */
#include "tree.h"

#include <string.h>

enum {
    WALKS = OX_TREE_WALKS,
    BLOCK_BYTES = 256 << 10 /* of rows that stay in the cache while one tree after the other sees them */
};

/* Walks side by side: where each is, and its row. */
typedef struct walks {
    int32_t at[WALKS];
    const void *x[WALKS];
} walks;

#define INLINE static inline __attribute__((always_inline))

/* One step of a walk. A walk that is at a leaf stays there. */
#define STEP(type, field, node, row, nan_matters)                                                                      \
    const uint32_t feature = (node)->feature;                                                                          \
    const type x = ((const type *)(row))[(nan_matters) ? feature & ~OX_TREE_NAN : feature];                            \
    return (node)->next + (x <= (node)->limit.field) + ((nan_matters) && ((x != x) & (feature >= OX_TREE_NAN)))

INLINE int32_t step_f32(const ox_tree_node *node, const void *row, bool nan_matters) {
    STEP(ox_f32, f32, node, row, nan_matters);
}

INLINE int32_t step_f64(const ox_tree_node *node, const void *row, bool nan_matters) {
    STEP(ox_f64, f64, node, row, nan_matters);
}

/* The places of all walks are in registers on the way. */
INLINE void descend(const ox_tree_node *nodes, walks *w, bool of_floats, bool nan_matters) {
    int32_t at[WALKS];
    memcpy(at, w->at, sizeof at);
    for (int32_t moved = 1; moved;) {
        moved = 0;
#pragma GCC unroll 16
        for (int k = 0; k < WALKS; k++) {
            const int32_t next = (of_floats ? step_f32 : step_f64)(&nodes[at[k]], w->x[k], nan_matters);
            moved |= next ^ at[k];
            at[k] = next;
        }
    }
    memcpy(w->at, at, sizeof at);
}

static void descend_all(const ox_trees *trees, walks *w) {
    if (trees->of_floats && trees->nan_matters)
        descend(trees->nodes, w, true, true);
    else if (trees->of_floats)
        descend(trees->nodes, w, true, false);
    else if (trees->nan_matters)
        descend(trees->nodes, w, false, true);
    else
        descend(trees->nodes, w, false, false);
}

/* Some walks to their ends; those that are too few walk as the first one does. */
static void finish(const ox_trees *trees, walks *w, ox_tree_ends *ends) {
    for (int k = ends->count; k < WALKS; k++) {
        w->at[k] = w->at[0];
        w->x[k] = w->x[0];
    }
    descend_all(trees, w);
    for (int k = 0; k < WALKS; k++)
        ends->leaves[k] = &trees->leaves[w->at[k]];
}

/* Several trees side by side. */
static void walk_row(const ox_trees *trees, const char *x, int64_t row, ox_tree_take_fn *take, void *context) {
    walks w;
    ox_tree_ends ends = {.step = 0, .row = row};
    for (int32_t tree = 0; tree < trees->root_count; tree += ends.count) {
        ends.count = (int)ox_least(WALKS, trees->root_count - tree);
        for (int k = 0; k < ends.count; k++) {
            w.at[k] = tree + k;
            w.x[k] = x;
        }
        finish(trees, &w, &ends);
        take(context, &ends);
    }
}

/* Several rows side by side, one tree after the other. */
static void walk_rows(const ox_trees *trees, const char *x, int64_t width, int64_t first, int64_t count,
                      ox_tree_take_fn *take, void *context) {
    walks w;
    ox_tree_ends ends = {.step = 1};
    for (int32_t tree = 0; tree < trees->root_count; tree++)
        for (int64_t i = 0; i < count; i += ends.count) {
            ends.row = first + i;
            ends.count = (int)ox_least(WALKS, count - i);
            for (int k = 0; k < ends.count; k++) {
                w.at[k] = tree;
                w.x[k] = x + (i + k) * width;
            }
            finish(trees, &w, &ends);
            take(context, &ends);
        }
}

void ox_tree_walk(const ox_trees *trees, const void *x, int64_t columns, int64_t first, int64_t end,
                  ox_tree_take_fn *take, void *context) {
    const int64_t width = columns * (int64_t)(trees->of_floats ? sizeof(float) : sizeof(double));
    const int64_t block = width < BLOCK_BYTES / WALKS ? BLOCK_BYTES / (width > 32 ? width : 32) : WALKS;
    const char *rows = x;
    for (; end - first >= WALKS; first += ox_least(block, end - first))
        walk_rows(trees, rows + first * width, width, first, ox_least(block, end - first), take, context);
    for (; first < end; first++)
        walk_row(trees, rows + first * width, first, take, context);
}
