/* convs.c: Conv by every algorithm: by the one that it takes, and by all others that can compute it. */
#include <string.h>

#include "scopes.h"

typedef struct conv {
    int64_t groups, in, out; /* channels of a group */
    int spatial;
    int64_t size[3], kernel[3], stride, pad, dilation;
    int64_t images;
    bool bias;
} conv;

/* Configurations, each for batches of 1, 2 and 3. No algorithm is left out: see the counts at the end. */
static const conv convs[] = {
    /* the image as it lies */
    {1, 5, 2, 1, {3}, {1}, 1, 0, 1, 0, false},
    {1, 5, 3, 2, {3, 3}, {1, 1}, 1, 0, 1, 0, true},
    {1, 6, 32, 2, {9, 9}, {1, 1}, 1, 0, 1, 0, false},
    {1, 16, 8, 2, {7, 7}, {1, 1}, 1, 0, 1, 0, true},
    {2, 5, 3, 2, {3, 3}, {1, 1}, 1, 0, 1, 0, false},
    {1, 5, 2, 3, {2, 3, 3}, {1, 1, 1}, 1, 0, 1, 0, false},
    {1, 1, 1, 2, {1, 1}, {1, 1}, 1, 0, 1, 0, false},
    {1, 2, 3, 2, {2, 3}, {1, 1}, 1, 0, 1, 0, true},
    {1, 17, 2, 2, {1, 1}, {1, 1}, 1, 0, 1, 0, false},
    {1, 17, 20, 2, {1, 2}, {1, 1}, 1, 0, 1, 0, true},
    {1, 40, 3, 1, {33}, {1}, 1, 0, 1, 0, false},
    /* gathered columns, and pixels as rows */
    {1, 5, 2, 1, {9}, {3}, 1, 1, 1, 0, true},
    {1, 18, 2, 2, {3, 3}, {2, 2}, 1, 0, 1, 0, false},
    {1, 18, 33, 2, {7, 7}, {3, 3}, 2, 1, 1, 0, false},
    {1, 18, 40, 2, {3, 3}, {3, 3}, 1, 1, 1, 0, true},
    {1, 20, 3, 2, {9, 9}, {3, 3}, 1, 2, 2, 0, false},
    {2, 18, 33, 2, {3, 5}, {3, 2}, 1, 1, 1, 0, false},
    {1, 18, 3, 3, {3, 3, 3}, {2, 2, 2}, 1, 1, 1, 0, false},
    {1, 33, 48, 2, {4, 4}, {3, 3}, 1, 1, 1, 0, true},
    /* direct sums */
    {1, 1, 2, 1, {7}, {3}, 1, 1, 1, 0, false},
    {3, 1, 1, 1, {9}, {3}, 1, 1, 1, 0, true},
    {3, 1, 1, 2, {7, 7}, {3, 3}, 1, 1, 1, 0, false},
    {2, 1, 1, 2, {9, 9}, {3, 3}, 2, 1, 1, 0, true},
    {17, 1, 1, 2, {5, 5}, {5, 5}, 1, 2, 1, 0, false},
    {2, 1, 2, 2, {3, 3}, {2, 2}, 1, 0, 1, 0, false},
    {1, 3, 5, 2, {7, 7}, {3, 3}, 2, 1, 1, 0, true},
    {1, 4, 4, 3, {3, 3, 3}, {3, 3, 3}, 1, 1, 1, 0, false},
    {1, 3, 2, 2, {1, 3}, {1, 1}, 1, 0, 1, 0, false},
    {1, 12, 3, 2, {5, 7}, {3, 3}, 1, 1, 1, 0, false},
    {3, 1, 1, 2, {9, 9}, {3, 3}, 1, 2, 2, 0, false},
    /* outputs side by side */
    {1, 3, 16, 2, {9, 9}, {3, 3}, 1, 1, 1, 0, true},
    {1, 3, 32, 2, {7, 7}, {3, 3}, 2, 1, 1, 0, false},
    {2, 16, 16, 2, {7, 7}, {3, 3}, 1, 1, 1, 0, false},
    {1, 3, 16, 2, {16, 16}, {3, 3}, 1, 1, 1, 0, false},
    /* Winograd's algorithm */
    {1, 16, 16, 2, {9, 9}, {3, 3}, 1, 1, 1, 0, false},
    {1, 16, 17, 2, {7, 7}, {3, 3}, 1, 0, 1, 0, true},
    {1, 40, 40, 2, {9, 9}, {3, 3}, 1, 1, 1, 0, false},
    {2, 12, 12, 2, {8, 10}, {3, 3}, 1, 1, 1, 0, false},
    /* what threads share */
    {1, 18, 33, 2, {17, 17}, {3, 3}, 1, 1, 1, 0, false},
    {1, 32, 20, 2, {15, 15}, {1, 1}, 1, 0, 1, 0, true},
    {16, 1, 1, 2, {20, 20}, {5, 5}, 1, 2, 1, 0, false},
};

static int add_conv(scope *s, const void *context, ox_dtype dtype) {
    const conv *c = context;
    int64_t x[SCOPE_RANK] = {c->images, c->groups * c->in}, w[SCOPE_RANK] = {c->groups * c->out, c->in}, pads[6];
    for (int d = 0; d < c->spatial; d++) {
        x[2 + d] = c->size[d];
        w[2 + d] = c->kernel[d];
        pads[d] = pads[d + c->spatial] = c->pad;
    }
    const int rank = c->spatial + 2;
    int in[3];
    in[0] = scope_give(s, dtype, rank, x, scope_any_place(s));
    in[1] = scope_give(s, dtype, rank, w, scope_draw(s, 3) ? SCOPE_CONSTANT : scope_any_place(s));
    if (c->bias)
        in[2] = scope_give(s, dtype, 1, w, scope_draw(s, 3) ? SCOPE_CONSTANT : scope_any_place(s));
    scope_any_way(s);
    s->graph.rounds = s->graph.values[in[1]].place == SCOPE_CONSTANT && c->spatial == 2 &&
                      (c->in >= 8 || (s->graph.conv && !strcmp(s->graph.conv, "winograd")));
    const int out = scope_node_of(s, "Conv", c->bias ? 3 : 2, in);
    scope_ints(s, "pads", 2 * c->spatial, pads);
    scope_ints(s, "strides", c->spatial, (const int64_t[]){c->stride, c->stride, c->stride});
    scope_ints(s, "dilations", c->spatial, (const int64_t[]){c->dilation, c->dilation, c->dilation});
    scope_int(s, "group", c->groups);
    return out;
}

static void behind_conv(scope *s, const conv *c) {
    int64_t dims[SCOPE_RANK] = {c->images, c->groups * c->out};
    for (int d = 0; d < c->spatial; d++)
        dims[2 + d] = (c->size[d] + 2 * c->pad - (c->kernel[d] - 1) * c->dilation - 1) / c->stride + 1;
    scope_behind(s, &(scope_dense){add_conv, c, c->spatial + 2, dims, 4, scope_floats});
}

void scope_convs(scope *s) {
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
        conv c = convs[i];
        for (c.images = 1; c.images <= 3; c.images++)
            behind_conv(s, &c);
    }
}
