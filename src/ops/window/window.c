/* window.c: how a kernel slides over an image: its attributes in all their forms, and the sizes that come of them. */
#include "window.h"

/* Elements of an image with its padding along an axis: their places in bytes, and a window behind, stay far from the
 * largest integer. */
static const int64_t MOST_PADDED = INT64_C(1) << 48;

void ox_window_place(ox_window *w, int spatial, int64_t *room) {
    int64_t **const lists[OX_WINDOW_LISTS] = {&w->in, &w->kernel, &w->stride, &w->dilation, &w->pad, &w->end, &w->out};
    w->spatial = spatial;
    for (int i = 0; i < OX_WINDOW_LISTS; i++)
        *lists[i] = room + i * spatial;
}

void *ox_window_state(ox_call *call, size_t size, int spatial) {
    size = (size + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
    char *state = ox_call_state(call, size + OX_WINDOW_LISTS * (size_t)spatial * sizeof(int64_t));
    if (state)
        ox_window_place((ox_window *)(void *)state, spatial, (int64_t *)(void *)(state + size));
    return state;
}

/* ---- Attributes --------------------------------------------------------------------------------------------- */

ox_status ox_window_list(ox_call *call, const char *name, int count, int64_t least, int64_t otherwise, int64_t *list) {
    size_t given;
    const int64_t *values = ox_call_ints(call, name, &given);
    for (int i = 0; i < count; i++)
        list[i] = otherwise;
    if (!given)
        return OX_OK;
    if (given != (size_t)count)
        return ox_call_fail(call, OX_ERROR_SHAPE, "attribute '%s' has %zu values, %d are expected", name, given, count);
    for (int i = 0; i < count; i++) {
        if (values[i] < least)
            return ox_call_fail(call, OX_ERROR_SHAPE, "attribute '%s' has the value %lld, at least %lld is expected",
                                name, (long long)values[i], (long long)least);
        if (!ox_window_fits(values[i]))
            return ox_call_fail(call, OX_ERROR_LIMIT,
                                "attribute '%s' has the value %lld, which is too large for this machine", name,
                                (long long)values[i]);
        list[i] = values[i];
    }
    return OX_OK;
}

static ox_status read_auto_pad(ox_call *call, ox_window *w) {
    static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    const ox_string given = ox_call_string(call, "auto_pad", names[0]);
    for (int i = OX_PAD_NOTSET; i <= OX_PAD_LOWER; i++)
        if (ox_says(given, names[i])) {
            w->auto_pad = (ox_auto_pad)i;
            return OX_OK;
        }
    return ox_call_fail(call, OX_ERROR_MODEL,
                        "attribute 'auto_pad' must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, not '%.*s'",
                        OX_SHORT(given));
}

ox_status ox_window_read(ox_call *call, ox_window *w) {
    int64_t pads[2 * OX_WINDOW_DIMS];
    OX_TRY(read_auto_pad(call, w));
    if (w->auto_pad != OX_PAD_NOTSET && ox_call_has(call, "pads"))
        return ox_call_fail(call, OX_ERROR_MODEL, "attributes 'auto_pad' (%.*s) and 'pads' exclude each other",
                            OX_SHORT(ox_call_string(call, "auto_pad", "NOTSET")));
    OX_TRY(ox_window_list(call, "strides", w->spatial, 1, 1, w->stride));
    OX_TRY(ox_window_list(call, "dilations", w->spatial, 1, 1, w->dilation));
    OX_TRY(ox_window_list(call, "pads", 2 * w->spatial, 0, 0, pads));
    for (int d = 0; d < w->spatial; d++) {
        w->pad[d] = pads[d];
        w->end[d] = pads[w->spatial + d];
    }
    return OX_OK;
}

ox_status ox_window_image(ox_call *call, ox_window *w) {
    const ox_tensor *x = call->in[0];
    if (x->rank < 3)
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "%s: dimensions for images, channels and at least one more are expected",
                            OX_INPUT(call, 0));
    for (int d = 0; d < x->rank; d++)
        if (!ox_window_fits(x->dims[d]))
            return ox_call_fail(call, OX_ERROR_LIMIT, "%s is too large for this machine", OX_INPUT(call, 0));
    for (int d = 0; d < w->spatial; d++)
        w->in[d] = x->dims[d + 2];
    return OX_OK;
}

ox_status ox_window_kernel(ox_call *call, ox_window *w) {
    return ox_window_list(call, "kernel_shape", w->spatial, 1, 0, w->kernel);
}

ox_status ox_window_weights(ox_call *call, ox_window *w, int weights) {
    int64_t shape[OX_WINDOW_DIMS];
    OX_TRY(ox_window_list(call, "kernel_shape", w->spatial, 0, -1, shape));
    for (int d = 0; d < w->spatial; d++) {
        w->kernel[d] = call->in[weights]->dims[d + 2];
        if (shape[d] >= 0 && shape[d] != w->kernel[d])
            return ox_call_fail(call, OX_ERROR_SHAPE, "kernel_shape %s does not fit %s", OX_DIMS(w->spatial, shape),
                                OX_INPUT(call, weights));
    }
    return OX_OK;
}

ox_status ox_window_groups(ox_call *call, int i, int64_t channels, int64_t *groups) {
    *groups = ox_call_int(call, "group", 1);
    if (*groups < 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'group' has the value %lld, at least 1 is expected",
                            (long long)*groups);
    if (!ox_window_fits(*groups) || ox_remainder(channels, *groups))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: %lld channels cannot be divided into %lld groups",
                            OX_INPUT(call, i), (long long)channels, (long long)*groups);
    return OX_OK;
}

/* ---- Sizes -------------------------------------------------------------------------------------------------- */

ox_status ox_window_reach(ox_call *call, const ox_window *w, int d, int64_t *reach) {
    if (w->kernel[d] < 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "spatial axis %d: the kernel has size %lld, at least 1 is expected",
                            d, (long long)w->kernel[d]);
    if (!ox_mul_i64(w->kernel[d] - 1, w->dilation[d], reach) || !ox_add_i64(*reach, 1, reach))
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "spatial axis %d: a kernel of size %lld is too long with dilation %lld", d,
                            (long long)w->kernel[d], (long long)w->dilation[d]);
    return OX_OK;
}

/* SAME_UPPER and SAME_LOWER. */
static ox_status slide_same(ox_call *call, ox_window *w, int d, int64_t reach) {
    int64_t last;
    w->out[d] = ox_quotient(w->in[d], w->stride[d]) + (ox_remainder(w->in[d], w->stride[d]) != 0);
    if (!w->out[d])
        return OX_OK;
    /* (out - 1) * stride < in, so that only adding the kernel can overflow. */
    if (!ox_add_i64((w->out[d] - 1) * w->stride[d], reach, &last) || !ox_window_fits(last))
        return ox_call_fail(call, OX_ERROR_LIMIT, "spatial axis %d: the padded size overflows", d);
    const int64_t pads = last > w->in[d] ? last - w->in[d] : 0;
    w->pad[d] = w->auto_pad == OX_PAD_UPPER ? pads / 2 : pads - pads / 2;
    w->end[d] = pads - w->pad[d];
    return OX_OK;
}

static ox_status slide_padded(ox_call *call, ox_window *w, int d, int64_t reach, bool ceil) {
    int64_t begin = w->pad[d], padded;
    if (!ox_add_i64(w->in[d], begin, &begin) || !ox_add_i64(begin, w->end[d], &padded) || !ox_window_fits(padded) ||
        padded > MOST_PADDED)
        return ox_call_fail(call, OX_ERROR_LIMIT, "spatial axis %d: the padded size overflows", d);
    if (padded < reach && !(ceil && reach - padded < w->stride[d] && begin > 0))
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "spatial axis %d: the kernel spans %lld elements, but the padded input has %lld", d,
                            (long long)reach, (long long)padded);
    w->out[d] = 1;
    if (padded < reach)
        return OX_OK;
    const int64_t more = padded - reach, left = ox_remainder(more, w->stride[d]);
    w->out[d] += ox_quotient(more, w->stride[d]);
    if (ceil && left)
        w->out[d] += w->stride[d] < begin - (more - left);
    else if (ceil)
        w->out[d] -= more >= begin;
    return OX_OK;
}

/* The stride of a lone window and the dilation of a lone tap lead nowhere, and may be as large as integers are: what
 * adds them to places must not overflow. */
static void limit_steps(ox_window *w, int d) {
    if (w->out[d] <= 1)
        w->stride[d] = ox_least(w->stride[d], w->in[d] + 1);
    if (w->kernel[d] == 1)
        w->dilation[d] = 1;
}

ox_status ox_window_slide(ox_call *call, ox_window *w, bool ceil) {
    for (int d = 0; d < w->spatial; d++) {
        int64_t reach;
        OX_TRY(ox_window_reach(call, w, d, &reach));
        OX_TRY(w->auto_pad >= OX_PAD_UPPER ? slide_same(call, w, d, reach)
                                           : slide_padded(call, w, d, reach, ceil && w->auto_pad == OX_PAD_NOTSET));
        limit_steps(w, d);
    }
    return ox_window_count(call, w);
}

ox_status ox_window_count(ox_call *call, ox_window *w) {
    int64_t bytes;
    w->taps = ox_count(w->spatial, w->kernel);
    w->in_count = ox_count(w->spatial, w->in);
    w->out_count = ox_count(w->spatial, w->out);
    if (w->taps < 0 || w->in_count < 0 || w->out_count < 0 ||
        !ox_mul_i64(w->in_count, (int64_t)sizeof(double), &bytes) ||
        !ox_mul_i64(w->out_count, (int64_t)sizeof(double), &bytes))
        return ox_call_fail(call, OX_ERROR_LIMIT,
                            "%s: the number of windows or of their elements overflows with a kernel of shape %s",
                            OX_INPUT(call, 0), OX_DIMS(w->spatial, w->kernel));
    return OX_OK;
}

/* ---- Places ------------------------------------------------------------------------------------------------- */

ox_taps ox_window_taps(const ox_window *w, int d, int64_t i) {
    const int64_t start = i * w->stride[d] - w->pad[d], step = w->dilation[d];
    ox_taps taps = {start < 0 ? ox_quotient(step - 1 - start, step) : 0, 0};
    if (start < w->in[d])
        taps.end = ox_least(w->kernel[d], ox_quotient(w->in[d] - 1 - start, step) + 1);
    taps.first = ox_least(taps.first, taps.end);
    return taps;
}
