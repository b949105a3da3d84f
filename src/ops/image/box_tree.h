/* box_tree.h: boxes of an image, and whether another one overlaps them. */
#ifndef OX_OPS_IMAGE_BOX_TREE_H
#define OX_OPS_IMAGE_BOX_TREE_H

#include "alloc.h"

#include <string.h>

/* The corners of a box, its area, and the number that boxes in a tree are sorted by. */
typedef struct ox_box {
    float x0, x1, y0, y1, area;
    uint32_t code;
} ox_box;

enum {
    OX_BOX_LEVELS = OX_SMALL ? 1 : 16
};

/* Boxes with an area, and bounds: levels[k][i] bounds the boxes from i * 8^k to (i + 1) * 8^k, and level 0 has the
 * boxes themselves, up to levels[top]. Most blocks are small: all boxes but the last few lie in runs that are sorted by
 * code, whose sizes are the powers of two that make up their count. The last ones have no bounds yet. */
typedef struct ox_box_tree {
    int64_t count;
    int top;
    ox_box *levels[OX_BOX_LEVELS];
    ox_box *merged; /* room for half of the boxes */
} ox_box_tree;

/* An empty tree with room for `most` boxes; false if there is no memory. */
bool ox_box_tree_make(ox_pile *pile, int64_t most, ox_box_tree *tree);

void ox_box_tree_add(ox_box_tree *tree, const ox_box *added);

/* True if one of the boxes and another one with an area share more than `limit` of what they cover together. */
bool ox_box_tree_overlaps(const ox_box_tree *tree, const ox_box *other, float limit);

/* Integers in the order of floats: NaN comes first, and zeros are equal. */
static inline uint32_t ox_float_order(float value) {
    const float sum = value + 0.0F; /* no -0 */
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return value != value ? 0 : bits >> 31 ? ~bits : bits | 0x80000000;
}

static inline float ox_lower(float a, float b) {
    return a < b ? a : b;
}

static inline float ox_upper(float a, float b) {
    return a > b ? a : b;
}

#endif
