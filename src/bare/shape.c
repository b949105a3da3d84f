/* shape.c: the sizes of convolutions and bands. */
#include "shape.h"

#include "small_conv.h"

ox_shape ox_shape_of(const ox_conv *c) {
    const ox_window *w = &c->window;
    const int d = w->spatial - 1;
    ox_shape s = {.in_rows = 1, .out_rows = 1, .rows = 1, .row_stride = 1, .row_step = 1};
    s.in_columns = (ptrdiff_t)w->in[d], s.out_columns = (ptrdiff_t)w->out[d], s.columns = (ptrdiff_t)w->kernel[d];
    s.column_stride = (ptrdiff_t)w->stride[d], s.column_step = (ptrdiff_t)w->dilation[d], s.left = (ptrdiff_t)w->pad[d];
    if (d) {
        s.in_rows = (ptrdiff_t)w->in[0], s.out_rows = (ptrdiff_t)w->out[0], s.rows = (ptrdiff_t)w->kernel[0];
        s.row_stride = (ptrdiff_t)w->stride[0], s.row_step = (ptrdiff_t)w->dilation[0], s.top = (ptrdiff_t)w->pad[0];
    }
    s.channels = (ptrdiff_t)c->in_channels, s.outputs = (ptrdiff_t)c->out_channels;
    s.in_count = (ptrdiff_t)w->in_count, s.out_count = (ptrdiff_t)w->out_count;
    s.k = s.channels * s.rows * s.columns;
    return s;
}

bool ox_shape_fits(const ox_conv *c, size_t width) {
    const ox_window *w = &c->window;
    const int64_t most = OX_MOST_CONV_SIZE;
    for (int d = 0; d < w->spatial; d++)
        if (w->in[d] < 1 || w->in[d] > most || w->out[d] < 1 || w->out[d] > most || w->kernel[d] < 1 ||
            w->kernel[d] > most || w->stride[d] > most || w->dilation[d] > most || w->pad[d] > most)
            return false;
    if (w->spatial > 2)
        return false;
    const int d = w->spatial - 1;
    const int64_t row = ox_conv_band_row(w->out[d], w->stride[d], w->kernel[d], w->dilation[d]);
    return ox_conv_band_fits(row, d ? w->kernel[0] : 1, d ? w->dilation[0] : 1, width);
}

ptrdiff_t ox_band_results(const ox_shape *s, size_t width) {
    const ptrdiff_t row = ox_band_row(s) * (ptrdiff_t)width;
    ptrdiff_t results = 1;
    while (results < s->out_rows && ox_band_rows(s, results + 1) * row <= OX_BAND_BYTES)
        results++;
    return results;
}
