/* box_tree.c: comparing a box with many: those far from it are skipped by blocks that bound them. */
#include "box_tree.h"
#include "tensor.h"

#include <string.h>

enum {
    FAN_BITS = 3,
    FAN = 1 << FAN_BITS, /* blocks of the level below that a block bounds */
    RUN = 64             /* boxes that are compared one by one before they are sorted */
};

/* Whether two boxes with an area share more than `limit` of what they cover together. */
static bool overlap(const ox_box *a, const ox_box *b, float limit) {
    const float width = ox_lower(a->x1, b->x1) - ox_upper(a->x0, b->x0),
                height = ox_lower(a->y1, b->y1) - ox_upper(a->y0, b->y0);
    if (!(width > 0) || !(height > 0))
        return false;
    const float both = width * height, either = a->area + b->area - both;
    return both > 0 && either > 0 && both / either > limit;
}

/* False if no box within one of them overlaps the other. */
static bool meets(const ox_box *a, const ox_box *b) {
    return (a->x0 < b->x1) & (b->x0 < a->x1) & (a->y0 < b->y1) & (b->y0 < a->y1);
}

static int64_t blocks_of(int64_t count, int level) {
    return count ? ((count - 1) >> (FAN_BITS * level)) + 1 : 0;
}

bool ox_box_tree_make(ox_pile *pile, int64_t most, ox_box_tree *tree) {
    bool made = true;
    for (int level = 0; level < OX_BOX_LEVELS && (level == 0 || blocks_of(most, level - 1) > 1); level++) {
        tree->levels[level] = ox_pile_array(pile, (size_t)blocks_of(most, level), sizeof(ox_box));
        tree->top = level;
        made = made && tree->levels[level];
    }
    tree->merged = tree->top ? ox_pile_array(pile, (size_t)(most / 2), sizeof(ox_box)) : NULL;
    return made && (!tree->top || tree->merged);
}

/* True if one of the first `count` boxes overlaps another one; they have bounds. */
static bool overlap_bounded(const ox_box_tree *tree, int64_t count, const ox_box *other, float limit) {
    int level = tree->top;
    for (int64_t i = 0; i < count;) {
        const ox_box *block = &tree->levels[level][i >> (FAN_BITS * level)];
        const bool met = meets(block, other);
        if (met && level > 0) {
            level--;
            continue;
        }
        if (met && overlap(block, other, limit))
            return true;
        i += (int64_t)1 << (FAN_BITS * level);
        while (level < tree->top && (i >> (FAN_BITS * level)) % FAN == 0)
            level++;
    }
    return false;
}

bool ox_box_tree_overlaps(const ox_box_tree *tree, const ox_box *other, float limit) {
    const int64_t bounded = OX_BOX_LEVELS > 1 ? tree->count - tree->count % RUN : 0;
    if (bounded && overlap_bounded(tree, bounded, other, limit))
        return true;
    for (int64_t i = bounded; i < tree->count; i++)
        if (meets(&tree->levels[0][i], other) && overlap(&tree->levels[0][i], other, limit))
            return true;
    return false;
}

/* Bits 0 to 15, each with a 0 behind it. */
static uint32_t spread_bits(uint32_t bits) {
    bits = (bits | bits << 8) & 0x00ff00ff;
    bits = (bits | bits << 4) & 0x0f0f0f0f;
    bits = (bits | bits << 2) & 0x33333333;
    return (bits | bits << 1) & 0x55555555;
}

/* Boxes that lie close to each other have numbers that are close, most of them: the bits of both coordinates by turns.
 */
static uint32_t code_of(const ox_box *b) {
    return spread_bits(ox_float_order(b->x0 + b->x1) >> 16) | spread_bits(ox_float_order(b->y0 + b->y1) >> 16) << 1;
}

/* Merges two runs of n boxes, one behind the other. */
static void merge_runs(ox_box *at, int64_t n, ox_box *left) {
    const ox_box *right = at + n, *end = right + n;
    memcpy(left, at, (size_t)n * sizeof *left);
    for (int64_t i = 0; i < n;)
        *at++ = right < end && right->code < left[i].code ? *right++ : left[i++];
}

static void widen(ox_box *bounds, const ox_box *b) {
    bounds->x0 = ox_lower(bounds->x0, b->x0);
    bounds->x1 = ox_upper(bounds->x1, b->x1);
    bounds->y0 = ox_lower(bounds->y0, b->y0);
    bounds->y1 = ox_upper(bounds->y1, b->y1);
}

/* Bounds the boxes from number `first` on anew. */
static void bound_boxes(ox_box_tree *tree, int64_t first) {
    for (int level = 1; level <= tree->top; level++) {
        const ox_box *below = tree->levels[level - 1];
        ox_box *bounds = tree->levels[level];
        const int64_t from = (first >> (FAN_BITS * level)) * FAN, end = blocks_of(tree->count, level - 1);
        for (int64_t i = from; i < end; i++)
            if (i % FAN)
                widen(&bounds[i >> FAN_BITS], &below[i]);
            else
                bounds[i >> FAN_BITS] = below[i];
    }
}

/* Sorts the last RUN boxes, and merges them with runs of their size. */
static void sort_last(ox_box_tree *tree) {
    ox_box *boxes = tree->levels[0];
    const int64_t count = tree->count;
    int64_t run = 1;
    for (int64_t i = count - RUN; i < count; i++)
        boxes[i].code = code_of(&boxes[i]);
    for (; run < RUN || !(count & run); run *= 2)
        for (int64_t at = count - ox_most(RUN, 2 * run); at < count; at += 2 * run)
            merge_runs(boxes + at, run, tree->merged);
    bound_boxes(tree, count - run);
}

void ox_box_tree_add(ox_box_tree *tree, const ox_box *added) {
    tree->levels[0][tree->count++] = *added;
    if (OX_BOX_LEVELS > 1 && tree->count % RUN == 0)
        sort_last(tree);
}
