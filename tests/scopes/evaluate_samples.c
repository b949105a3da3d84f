/* evaluate_samples.c: ConvTranspose and DeformConv as their definitions say. */
#include <string.h>

#include "scopes.h"

/* Of a list of integers of an attribute; missing dimensions come first. */
static int64_t entry_of(const scope_node *node, const char *name, int d, int spatial, int64_t otherwise) {
    const scope_attribute *a = scope_find(node, name);
    return d < 3 - spatial || !a ? otherwise : a->ints[d - 3 + spatial];
}

/* ---- ConvTranspose ---------------------------------------------------------------------------------------------- */

typedef struct scattered {
    const scope_value *x, *w;
    int64_t groups, in[3], kernel[3], out[3], stride[3], pad[3], dilation[3];
} scattered;

static scattered read_scattered(const scope_graph *g, const scope_node *node, scope_value *out) {
    scattered s = {.x = &g->values[node->in[0]], .w = &g->values[node->in[1]]};
    const int spatial = s.x->rank - 2;
    const scope_attribute *pads = scope_find(node, "pads");
    s.groups = scope_find_int(node, "group", 1);
    out->rank = s.x->rank;
    out->dims[0] = s.x->dims[0];
    out->dims[1] = s.w->dims[1] * s.groups;
    for (int d = 0; d < 3; d++) {
        const int own = d - 3 + spatial;
        s.in[d] = own < 0 ? 1 : s.x->dims[2 + own];
        s.kernel[d] = own < 0 ? 1 : s.w->dims[2 + own];
        s.stride[d] = entry_of(node, "strides", d, spatial, 1);
        s.dilation[d] = entry_of(node, "dilations", d, spatial, 1);
        s.pad[d] = entry_of(node, "pads", d, spatial, 0);
        s.out[d] = s.stride[d] * (s.in[d] - 1) + entry_of(node, "output_padding", d, spatial, 0) +
                   (s.kernel[d] - 1) * s.dilation[d] + 1 - s.pad[d] -
                   (own < 0 || !pads ? 0 : pads->ints[own + spatial]);
        if (own >= 0)
            out->dims[2 + own] = s.out[d];
    }
    return s;
}

/* Adds a channel of an image, times the weights for a channel of the result, to that. */
static void scatter(const scattered *s, const double *x, const double *w, double *to) {
    const int64_t pixels = scope_count(3, s->in), taps = scope_count(3, s->kernel);
    for (int64_t i = 0; i < pixels; i++)
        for (int64_t t = 0; t < taps; t++) {
            const int64_t from[] = {i / s->in[2] / s->in[1], i / s->in[2] % s->in[1], i % s->in[2]},
                          tap[] = {t / s->kernel[2] / s->kernel[1], t / s->kernel[2] % s->kernel[1], t % s->kernel[2]};
            int64_t at = 0;
            bool inside = true;
            for (int d = 0; d < 3; d++) {
                const int64_t place = from[d] * s->stride[d] - s->pad[d] + tap[d] * s->dilation[d];
                inside &= place >= 0 && place < s->out[d];
                at = at * s->out[d] + place;
            }
            if (inside)
                to[at] += x[i] * w[t];
        }
}

static bool evaluate_transposed(scope_graph *g, const scope_node *node) {
    scope_value *out = &g->values[node->outs[0]];
    if (scope_find(node, "auto_pad") || scope_find(node, "output_shape"))
        return false;
    const scattered s = read_scattered(g, node, out);
    const int64_t each = s.w->dims[1], channels = s.x->dims[1], of_group = channels / s.groups;
    const int64_t plane = scope_count(3, s.out), pixels = scope_count(3, s.in), taps = scope_count(3, s.kernel);
    out->dtype = s.x->dtype;
    if (!scope_room(g, out))
        return false;
    for (int64_t i = 0; i < scope_count(out->rank, out->dims); i++)
        out->numbers[i] = node->nin > 2 ? g->values[node->in[2]].numbers[i / plane % out->dims[1]] : 0;
    for (int64_t n = 0; n < s.x->dims[0]; n++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t m = 0; m < each; m++)
                scatter(&s, s.x->numbers + (n * channels + c) * pixels, s.w->numbers + (c * each + m) * taps,
                        out->numbers + (n * out->dims[1] + c / of_group * each + m) * plane);
    for (int64_t i = 0; i < scope_count(out->rank, out->dims); i++)
        out->numbers[i] = scope_round(out->dtype, out->numbers[i]);
    return true;
}

/* ---- DeformConv ------------------------------------------------------------------------------------------------- */

/* Of whole offsets, so that nothing lies between pixels; one group, no mask, no attributes. */
static double deformed(const scope_value *x, const scope_value *w, const scope_value *offset, const int64_t out[2],
                       const int64_t at[4]) {
    const int64_t height = x->dims[2], width = x->dims[3], taps = w->dims[2] * w->dims[3], plane = out[0] * out[1];
    double sum = 0;
    for (int64_t t = 0; t < taps; t++) {
        const double *moved = offset->numbers + (at[0] * offset->dims[1] + 2 * t) * plane + at[2] * out[1] + at[3];
        const int64_t y = at[2] + t / w->dims[3] + (int64_t)moved[0],
                      u = at[3] + t % w->dims[3] + (int64_t)moved[plane];
        for (int64_t c = 0; c < x->dims[1] && y >= 0 && y < height && u >= 0 && u < width; c++)
            sum += x->numbers[((at[0] * x->dims[1] + c) * height + y) * width + u] *
                   w->numbers[(at[1] * x->dims[1] + c) * taps + t];
    }
    return sum;
}

static bool evaluate_deformed(scope_graph *g, const scope_node *node) {
    const scope_value *x = &g->values[node->in[0]], *w = &g->values[node->in[1]], *offset = &g->values[node->in[2]];
    scope_value *out = &g->values[node->outs[0]];
    if (node->nin != 3 || node->nattrs)
        return false;
    out->dtype = x->dtype;
    out->rank = 4;
    out->dims[0] = x->dims[0], out->dims[1] = w->dims[0];
    out->dims[2] = x->dims[2] - w->dims[2] + 1, out->dims[3] = x->dims[3] - w->dims[3] + 1;
    if (!scope_room(g, out))
        return false;
    for (int64_t i = 0; i < scope_count(4, out->dims); i++) {
        int64_t at[4], left = i;
        for (int d = 3; d >= 0; left /= out->dims[d--])
            at[d] = left % out->dims[d];
        out->numbers[i] = scope_round(out->dtype, deformed(x, w, offset, out->dims + 2, at));
    }
    return true;
}

bool scope_evaluate_sample(scope_graph *g, const scope_node *node) {
    if (!strcmp(node->op, "ConvTranspose"))
        return evaluate_transposed(g, node);
    return !strcmp(node->op, "DeformConv") && evaluate_deformed(g, node);
}
