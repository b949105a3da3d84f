/* conv_columns.c: the columns of a convolution's product, gathered row by row out of the image. Devices take
 * src/bare/columns.c instead. */
#include "conv.h"

enum {
    COLUMNS = OX_CONV_COLUMNS,
    RUNS = 3 /* of a piece: padding, image, padding */
};

/* Columns side by side in a row of the result: the first of them, how many, and where the first tap sees the image. */
typedef struct piece {
    int64_t at, count;
    int64_t image; /* elements before it */
    int64_t corner[OX_WINDOW_DIMS];
} piece;

static int64_t find_pieces(const ox_conv *c, int64_t column, int64_t columns, piece *pieces) {
    const ox_window *w = &c->window;
    const int last = w->spatial - 1;
    const int64_t step = c->in_channels * c->groups * w->in_count;
    int64_t index[OX_WINDOW_DIMS], count = 0, image = ox_quotient(column, w->out_count) * step;
    ox_index_of(w->spatial, w->out, ox_remainder(column, w->out_count), index);
    for (int64_t at = 0; at < columns; index[last] += pieces[count - 1].count) {
        piece *p = &pieces[count++];
        if (index[last] == w->out[last]) {
            index[last] = 0;
            if (!ox_index_next(last, w->out, index))
                image += step;
        }
        p->at = at;
        p->image = image;
        p->count = ox_least(columns - at, w->out[last] - index[last]);
        for (int d = 0; d < w->spatial; d++)
            p->corner[d] = index[d] * w->stride[d] - w->pad[d];
        at += p->count;
    }
    return count;
}

/* The start of the row of a channel that one tap of a piece sees; false if it lies in the padding. */
static bool find_row(const ox_window *w, const piece *p, const int64_t *tap, int64_t *row) {
    *row = 0;
    for (int d = 0; d < w->spatial - 1; d++) {
        const int64_t i = p->corner[d] + tap[d] * w->dilation[d];
        if (i < 0 || i >= w->in[d])
            return false;
        *row = (*row + i) * w->in[d + 1];
    }
    return true;
}

/* One run more, or a longer one. */
static ox_run *add_run(ox_run *first, ox_run *end, int64_t to, int64_t count, int64_t from, int64_t stride) {
    if (count <= 0)
        return end;
    if (end > first) {
        ox_run *before = end - 1;
        const bool zeros = before->from < 0 && from < 0;
        if (zeros || (from >= 0 && before->from >= 0 && before->from + before->count * stride == from)) {
            before->count += count;
            return end;
        }
    }
    *end = (ox_run){to, count, from};
    return end + 1;
}

/* What one tap sees of a piece: elements of the padding, of the image, and of the padding again. */
static ox_run *find_runs(const ox_window *w, const piece *p, const int64_t *tap, ox_run *first, ox_run *end) {
    const int last = w->spatial - 1;
    const int64_t stride = w->stride[last], start = p->corner[last] + tap[last] * w->dilation[last];
    int64_t row, before = 0, inside = 0;
    if (find_row(w, p, tap, &row)) {
        before = start < 0 ? ox_least(p->count, ox_quotient(stride - 1 - start, stride)) : 0;
        if (start < w->in[last])
            inside = ox_least(p->count, ox_quotient(w->in[last] - 1 - start, stride) + 1) - before;
        inside = inside < 0 ? 0 : inside;
    }
    end = add_run(first, end, p->at, before, -1, stride);
    if (inside)
        end = add_run(first, end, p->at + before, inside, p->image + row + start + before * stride, stride);
    return add_run(first, end, p->at + before + inside, p->count - before - inside, -1, stride);
}

void ox_conv_columns(const ox_conv *c, const ox_conv_source *from, const ox_gemm_block *to) {
    const ox_window *w = &c->window;
    const int64_t rows = to->rows, columns = to->columns, to_row = to->data_row;
    const int64_t channel = w->in_count * from->width, stride = w->stride[w->spatial - 1];
    int64_t tap[OX_WINDOW_DIMS];
    piece pieces[COLUMNS];
    ox_run runs[RUNS * COLUMNS + 1];
    const int64_t count = find_pieces(c, to->column, columns, pieces);
    ox_index_of(w->spatial, w->kernel, ox_remainder(to->row, w->taps), tap);
    for (int64_t first = 0; first < rows && first < w->taps; first++, ox_index_next(w->spatial, w->kernel, tap)) {
        ox_run *end = runs;
        for (int64_t i = 0; i < count; i++)
            end = find_runs(w, &pieces[i], tap, runs, end);
        end = add_run(runs, end, columns, ox_quotient(to_row, from->width) - columns, -1, stride);
        from->gather(ox_quotient(rows - first - 1, w->taps) + 1, to->data + first * to_row, w->taps * to_row,
                     (const char *)from->data + ox_quotient(to->row + first, w->taps) * channel, channel, stride,
                     end - runs, runs, from->fill);
    }
}

ox_conv_source ox_conv_source_of(const ox_loops *loops, const void *data, ox_dtype dtype, int fill) {
    const size_t width = ox_dtype_size(dtype);
    return (ox_conv_source){data, (int64_t)width, fill, OX_BUILD_OF(loops, ox_gather_builds)(width)};
}
