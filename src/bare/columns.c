/* columns.c: the columns of a convolution's product one by one, in place of src/ops/window/conv_columns.c. */
#include "ops/window/conv.h"

#include <string.h>

/* The element of an input channel that one tap of the kernel sees from a corner, -1 in the padding. */
static int64_t seen(const ox_window *c, const int64_t *index, const int64_t *tap) {
    int64_t at = 0;
    for (int d = 0; d < c->spatial; d++) {
        int64_t i = index[d] * c->stride[d] - c->pad[d] + tap[d] * c->dilation[d];
        if (i < 0 || i >= c->in[d])
            return -1;
        at = at * c->in[d] + i;
    }
    return at;
}

/* One of the columns. */
static void lay_column(const ox_window *c, const ox_conv_source *from, int64_t row, int64_t rows, int64_t column,
                       char *to, ptrdiff_t to_row) {
    const ptrdiff_t taps = (ptrdiff_t)c->taps, width = (ptrdiff_t)from->width, x_step = (ptrdiff_t)c->in_count * width;
    const ptrdiff_t start = (ptrdiff_t)ox_remainder(row, taps);
    const char *x = (const char *)from->data + (ptrdiff_t)ox_quotient(row, taps) * x_step;
    int64_t index[OX_WINDOW_DIMS], tap[OX_WINDOW_DIMS];
    ox_index_of(c->spatial, c->out, column, index);
    ox_index_of(c->spatial, c->kernel, start, tap);
    for (ptrdiff_t first = 0; first < (ptrdiff_t)rows && first < taps;
         first++, ox_index_next(c->spatial, c->kernel, tap)) {
        const ptrdiff_t at = (ptrdiff_t)seen(c, index, tap);
        const char *element = x + at * width;
        if (start + first >= taps)
            element += x_step;
        for (ptrdiff_t r = first; r < (ptrdiff_t)rows; r += taps, element += x_step)
            if (width == sizeof(uint32_t))
                OX_AT(ox_u32, to + r * to_row) = at < 0 ? 0 : OX_GET(ox_u32, element);
            else if (at < 0)
                memset(to + r * to_row, from->fill, (size_t)width);
            else
                memcpy(to + r * to_row, element, (size_t)width);
    }
}

void ox_conv_columns(const ox_conv *conv, const ox_conv_source *from, int64_t row, int64_t rows, int64_t column,
                     int64_t columns, char *to, int64_t to_row) {
    for (int64_t j = 0; j < columns; j++)
        lay_column(&conv->window, from, row, rows, column + j, to + j * from->width, (ptrdiff_t)to_row);
}

ox_conv_source ox_conv_source_of(const ox_loops *loops, const void *data, ox_dtype dtype, int fill) {
    (void)loops;
    return (ox_conv_source){data, (int64_t)ox_dtype_size(dtype), fill, NULL};
}
