/* scatter.c: columns added back into the image that they were seen in. */
#include "scatter.h"
#include "iterate/walk.h"
#include "ops/dense.h"

#include <string.h>

/* The windows [first, end) of dimension d that see the image with tap t. */
static void find_windows(const ox_window *w, int d, int64_t t, int64_t *first, int64_t *end) {
    const int64_t ahead = w->pad[d] - t * w->dilation[d], stride = w->stride[d];
    *end = w->in[d] - 1 + ahead < 0 ? 0 : ox_least(w->out[d], ox_quotient(w->in[d] - 1 + ahead, stride) + 1);
    *first = ahead > 0 ? ox_least(*end, ox_quotient(ahead + stride - 1, stride)) : 0;
}

/* Elements of a row of a plane. */
static int64_t plane_row(const ox_window *w) {
    const int last = w->spatial - 1;
    return ox_quotient(w->in[last] - 1, w->stride[last]) + 1;
}

static int64_t rows_of(const ox_window *w) {
    return ox_quotient(w->in_count, w->in[w->spatial - 1]);
}

/* Whether columns are added to planes first: columns of the image that are a stride apart lie side by side there, so
 * that whole vectors are added. They have less than twice the elements of the image. */
static bool has_planes(const ox_window *w) {
    const int last = w->spatial - 1;
    return !OX_SMALL && w->in_count && w->stride[last] > 1 && w->stride[last] <= w->in[last];
}

/* Elements of the planes of a channel, or -1 if they are too many. */
static int64_t planes_count(const ox_window *w) {
    return ox_count(3, (const int64_t[]){w->stride[w->spatial - 1], rows_of(w), plane_row(w)});
}

static size_t planes_bytes(const ox_scatter *s) {
    return ox_pool_room(ox_pool_parts(s->pool), ox_aligned((size_t)(planes_count(s->window) * s->width)));
}

/* Adds one tap's column of elements, along the rows that lie in the image, or in its planes. */
static void add_tap(const ox_scatter *s, const int64_t *tap, const char *column, char *image) {
    const ox_window *w = s->window;
    const int last = w->spatial - 1;
    int64_t dim[OX_WINDOW_DIMS], step[2 * OX_WINDOW_DIMS], index[OX_WINDOW_DIMS];
    int64_t in_step = s->width, out_step = in_step;
    const char *place[] = {image, column};
    dim[1] = 1, step[2] = step[3] = 0; /* of images of one dimension */
    for (int d = last; d >= 0; out_step *= w->out[d], d--) {
        const bool split = d == last && has_planes(w);
        int64_t first, end;
        find_windows(w, d, tap[d], &first, &end);
        if (first == end)
            return;
        int64_t at = first * w->stride[d] - w->pad[d] + tap[d] * w->dilation[d];
        if (split) {
            place[0] += ox_remainder(at, w->stride[d]) * rows_of(w) * plane_row(w) * s->width;
            at = ox_quotient(at, w->stride[d]);
        }
        place[0] += at * in_step;
        place[1] += first * out_step;
        dim[last - d] = end - first;
        /* The stride of one element is not taken, and may be as large as it likes. */
        step[2 * (last - d)] = end - first == 1 ? 0 : split ? in_step : in_step * w->stride[d];
        step[2 * (last - d) + 1] = out_step;
        index[last - d] = 0;
        in_step *= split ? plane_row(w) : w->in[d];
    }
    const ox_bcast rows = {2, w->spatial, dim, step};
    do
        s->add(dim[1], dim[0], image + (place[0] - image), step[2], step[0], place[1], step[3]);
    while (ox_walk(&rows, 2, index, place));
}

/* Brings the planes of a channel together. */
static void join_planes(const ox_scatter *s, const char *planes, char *image) {
    const ox_window *w = s->window;
    const int64_t row = w->in[w->spatial - 1], stride = w->stride[w->spatial - 1], rows = rows_of(w),
                  whole = ox_quotient(row, stride), left = row - whole * stride, group = stride * s->width,
                  from_row = plane_row(w) * s->width, plane = rows * from_row;
    if (!left) {
        s->join(stride, rows * whole, image, group, planes, plane, 0);
        return;
    }
    for (int64_t y = 0; y < rows; y++, planes += from_row, image += row * s->width) {
        s->join(stride, whole, image, group, planes, plane, 0);
        for (int64_t i = 0; i < left; i++)
            memcpy(image + whole * group + i * s->width, planes + i * plane + whole * s->width, (size_t)s->width);
    }
}

static void scatter_channel(const ox_scatter *s, int room, int64_t channel) {
    const ox_window *w = s->window;
    const bool apart = has_planes(w);
    const int64_t column = w->out_count * s->width, count = apart ? planes_count(w) : w->in_count;
    const uint64_t zero = 0;
    int64_t tap[OX_WINDOW_DIMS] = {0};
    char *image = s->to + channel * w->in_count * s->width;
    char *sums = apart ? s->planes + (size_t)room * planes_bytes(s) : image;
    OX_ASSERT(room >= 0 && room < ox_pool_parts(s->pool) && (!apart || ox_is_aligned(sums)));
    const char *from = s->columns + channel * w->taps * column;
    s->fill(count, sums, s->width, s->bias ? s->bias + channel * s->width : (const char *)&zero, 0);
    for (int64_t t = 0; column && t < w->taps; t++, from += column, ox_index_next(w->spatial, w->kernel, tap))
        add_tap(s, tap, from, sums);
    if (apart)
        join_planes(s, sums, image);
}

static void scatter_share(void *context, ox_share *share) {
    const ox_scatter *s = context;
    int64_t channel, end;
    while (ox_share_next(share, &channel, &end))
        for (; channel < end && !ox_pool_poll(s->pool); channel++)
            scatter_channel(s, share->room, channel);
}

ox_status ox_scatter_plan(ox_call *call, ox_scatter *s, const ox_window *window, ox_dtype dtype, int64_t channels) {
    const double each = (double)window->taps * (double)window->out_count + (double)window->in_count;
    *s = (ox_scatter){.window = window, .width = (int64_t)ox_dtype_size(dtype), .channels = channels};
    s->add = OX_BUILD_OF(call->loops, ox_add_apart_builds)(dtype);
    s->fill = call->loops->move((size_t)s->width);
    s->pool = ox_pool_for(call->pool, each * (double)channels * (double)s->width);
    if (!has_planes(window))
        return OX_OK;
#if !OX_SMALL
    s->join = call->loops->transpose((size_t)s->width);
#endif
    if (planes_count(window) < 0 || (uint64_t)planes_count(window) > SIZE_MAX / 4 / (size_t)s->width)
        return ox_call_fail(call, OX_ERROR_LIMIT, "the planes of %lld elements are too large for this machine",
                            (long long)window->in_count);
    return ox_workspace_add(call, ox_pool_parts(s->pool), planes_bytes(s));
}

void ox_scatter_take(const ox_call *call, size_t *used, ox_scatter *s) {
    if (has_planes(s->window))
        s->planes = ox_workspace_take(call, used, ox_pool_parts(s->pool), planes_bytes(s));
}

void ox_scatter_run(ox_scatter *scatter) {
    ox_pool_share(scatter->pool, scatter->channels, 1, scatter_share, scatter);
}
