/* scatter.c: columns added back into the image that they were seen in. */
#include "scatter.h"
#include "iterate/walk.h"

#include <string.h>

/* The windows [first, end) of dimension d that see the image with tap t. */
static void find_windows(const ox_window *w, int d, int64_t t, int64_t *first, int64_t *end) {
    const int64_t ahead = w->pad[d] - t * w->dilation[d], stride = w->stride[d];
    *end = w->in[d] - 1 + ahead < 0 ? 0 : ox_least(w->out[d], ox_quotient(w->in[d] - 1 + ahead, stride) + 1);
    *first = ahead > 0 ? ox_least(*end, ox_quotient(ahead + stride - 1, stride)) : 0;
}

/* Adds one tap's column of elements, along the rows that lie in the image. */
static void add_tap(const ox_scatter *s, const int64_t *tap, const char *column, char *image) {
    const ox_window *w = s->window;
    const int last = w->spatial - 1;
    int64_t dim[OX_WINDOW_DIMS], step[2 * OX_WINDOW_DIMS], index[OX_WINDOW_DIMS];
    int64_t in_step = s->width, out_step = in_step;
    const char *place[] = {image, column};
    for (int d = last; d >= 0; in_step *= w->in[d], out_step *= w->out[d], d--) {
        int64_t first, end;
        find_windows(w, d, tap[d], &first, &end);
        if (first == end)
            return;
        place[0] += (first * w->stride[d] - w->pad[d] + tap[d] * w->dilation[d]) * in_step;
        place[1] += first * out_step;
        dim[last - d] = end - first;
        step[2 * (last - d)] = in_step * w->stride[d];
        step[2 * (last - d) + 1] = out_step;
        index[last - d] = 0;
    }
    const ox_bcast rows = {2, w->spatial, dim, step};
    do
        s->add(dim[0], image + (place[0] - image), step[0], place[1]);
    while (ox_walk(&rows, 1, index, place));
}

/* Some of the channels. */
static void scatter_part(void *context, int part, int parts) {
    const ox_scatter *s = context;
    const ox_window *w = s->window;
    const int64_t column = w->out_count * s->width;
    int64_t channel, end, tap[OX_WINDOW_DIMS];
    ox_pool_range(s->channels, part, parts, &channel, &end);
    for (; channel < end; channel++) {
        const uint64_t zero = 0;
        char *image = s->to + channel * w->in_count * s->width;
        const char *from = s->columns + channel * w->taps * column;
        s->fill(w->in_count, image, s->width, s->bias ? s->bias + channel * s->width : (const char *)&zero, 0);
        memset(tap, 0, (size_t)w->spatial * sizeof *tap);
        for (int64_t t = 0; column && t < w->taps; t++, from += column, ox_index_next(w->spatial, w->kernel, tap))
            add_tap(s, tap, from, image);
    }
}

void ox_scatter_run(ox_pool *pool, const ox_scatter *scatter) {
    const ox_window *w = scatter->window;
    const double each = (double)w->taps * (double)w->out_count + (double)w->in_count;
    ox_scatter job = *scatter;
    ox_pool_run_pieces(pool, each * (double)scatter->channels * (double)scatter->width, scatter_part, &job);
}
