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

/* Whether sums become bytes, so that they lie in no image. */
static bool is_ended(const ox_scatter *s) {
#if OX_WITH_OWN_OPERATORS
    return s->end;
#else
    (void)s;
    return false;
#endif
}

/* Elements that the sums of a channel take, in planes or in the order of the image. */
static int64_t sums_count(const ox_window *w) {
    return has_planes(w) ? planes_count(w) : w->in_count;
}

/* Bytes of an element of the images. */
static int64_t image_width(const ox_scatter *s) {
    return is_ended(s) ? 1 : s->width;
}

static size_t planes_bytes(const ox_scatter *s) {
    return ox_pool_room(ox_pool_parts(s->pool), ox_aligned((size_t)(sums_count(s->window) * s->width)));
}

/* Adds rows of a column: `row` is that of all taps of all channels. */
static void add_rows(const ox_scatter *s, int64_t row, const int64_t *dim, const int64_t *step, char *to,
                     const char *from) {
#if OX_WITH_OWN_OPERATORS
    if (s->times) {
        s->times(&(ox_add_times){dim[1], dim[0], to, step[2], step[0], from, step[3], s->factors[row], s->take[row]});
        return;
    }
#else
    (void)row;
#endif
    s->add(dim[1], dim[0], to, step[2], step[0], from, step[3]);
}

/* Bytes of an element of a column. */
static int64_t column_width(const ox_scatter *s) {
#if OX_WITH_OWN_OPERATORS
    if (s->times)
        return 1;
#endif
    return s->width;
}

static const char *column_of(const ox_scatter *s, int64_t channel, int64_t t) {
#if OX_WITH_OWN_OPERATORS
    if (s->times)
        return s->columns + ox_quotient(channel, s->sharing) * s->window->out_count;
#endif
    return s->columns + (channel * s->window->taps + t) * s->window->out_count * s->width;
}

/* Adds the column of a channel's tap number t, along the rows that lie in the image, or in its planes. */
static void add_tap(const ox_scatter *s, int64_t channel, int64_t t, const int64_t *tap, char *image) {
    const ox_window *w = s->window;
    const int last = w->spatial - 1;
    int64_t dim[OX_WINDOW_DIMS], step[2 * OX_WINDOW_DIMS], index[OX_WINDOW_DIMS];
    int64_t in_step = s->width, out_step = column_width(s);
    const char *place[] = {image, column_of(s, channel, t)};
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
        add_rows(s, channel * w->taps + t, dim, step, image + (place[0] - image), place[1]);
    while (ox_walk(&rows, 2, index, place));
}

/* Whether there is one window, and it is the image: taps lie in the order of its elements. */
static bool is_whole(const ox_scatter *s) {
    const ox_window *w = s->window;
    bool whole = !OX_SMALL && w->out_count == 1 && !has_planes(w) && column_width(s) == s->width;
    for (int d = 0; d < w->spatial; d++)
        whole &= w->kernel[d] == w->in[d] && !w->pad[d] && (w->dilation[d] == 1 || w->kernel[d] == 1);
    return whole;
}

/* Brings the planes of a channel together. */
static void join_planes(const ox_scatter *s, const char *planes, char *image) {
    const ox_window *w = s->window;
    const int64_t row = w->in[w->spatial - 1], stride = w->stride[w->spatial - 1], rows = rows_of(w),
                  whole = ox_quotient(row, stride), left = row - whole * stride, width = image_width(s),
                  group = stride * width, from_row = plane_row(w) * width, plane = rows * from_row;
    if (!left) {
        s->join(stride, rows * whole, image, group, planes, plane, 0);
        return;
    }
    for (int64_t y = 0; y < rows; y++, planes += from_row, image += row * width) {
        s->join(stride, whole, image, group, planes, plane, 0);
        for (int64_t i = 0; i < left; i++)
            memcpy(image + whole * group + i * width, planes + i * plane + whole * width, (size_t)width);
    }
}

static void scatter_channel(const ox_scatter *s, int room, int64_t channel) {
    const ox_window *w = s->window;
    const bool split = has_planes(w), apart = split || is_ended(s);
    const int64_t count = sums_count(w);
    const uint64_t zero = 0;
    int64_t tap[OX_WINDOW_DIMS] = {0};
    char *image = s->to + channel * w->in_count * image_width(s);
    char *sums = apart ? s->planes + (size_t)room * planes_bytes(s) : image;
    OX_ASSERT(room >= 0 && room < ox_pool_parts(s->pool) && (!apart || ox_is_aligned(sums)));
#if OX_WITH_OWN_OPERATORS
    OX_ASSERT(!s->times || (s->end && s->sharing > 0 && s->factors && s->take));
#endif
    s->fill(count, sums, s->width, s->bias ? s->bias + channel * s->width : (const char *)&zero, 0);
    if (is_whole(s))
        s->add(1, w->taps, sums, 0, s->width, column_of(s, channel, 0), 0);
    for (int64_t t = 0; w->out_count && !is_whole(s) && t < w->taps; t++, ox_index_next(w->spatial, w->kernel, tap))
        add_tap(s, channel, t, tap, sums);
#if OX_WITH_OWN_OPERATORS
    if (s->end)
        s->end(s, channel, count, sums, split ? sums : image);
#endif
    if (split)
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

#if OX_WITH_OWN_OPERATORS
ox_status ox_scatter_plan_end(ox_call *call, ox_scatter *s, ox_scatter_end_fn *end) {
    s->end = end;
    s->join = call->loops->transpose(1);
    return has_planes(s->window) ? OX_OK : ox_workspace_add(call, ox_pool_parts(s->pool), planes_bytes(s));
}
#endif

void ox_scatter_take(const ox_call *call, size_t *used, ox_scatter *s) {
    if (has_planes(s->window) || is_ended(s))
        s->planes = ox_workspace_take(call, used, ox_pool_parts(s->pool), planes_bytes(s));
}

void ox_scatter_run(ox_scatter *scatter) {
    ox_pool_share(scatter->pool, scatter->channels, 1, scatter_share, scatter);
}
