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

void ox_conv_columns(const ox_conv *conv, const ox_conv_source *from, int64_t row, int64_t rows, int64_t column,
                     int64_t columns, char *to, int64_t to_row) {
    const ox_window *c = &conv->window;
    const size_t width = (size_t)from->width;
    int64_t index[OX_WINDOW_DIMS], tap[OX_WINDOW_DIMS];
    (void)columns;
    ox_index_of(c->spatial, c->out, column, index);
    ox_index_of(c->spatial, c->kernel, ox_remainder(row, c->taps), tap);
    memset(to, from->fill, (size_t)(rows * to_row));
    for (int64_t first = 0; first < rows && first < c->taps; first++, ox_index_next(c->spatial, c->kernel, tap)) {
        const int64_t at = seen(c, index, tap);
        for (int64_t r = first; r < rows && at >= 0; r += c->taps)
            memcpy(to + r * to_row,
                   (const char *)from->data + (ox_quotient(row + r, c->taps) * c->in_count + at) * from->width, width);
    }
}

ox_conv_source ox_conv_source_of(const ox_loops *loops, const void *data, ox_dtype dtype, int fill) {
    (void)loops;
    return (ox_conv_source){data, (int64_t)ox_dtype_size(dtype), fill, NULL};
}
