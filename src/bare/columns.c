/* columns.c: the columns of a convolution's product one by one, in place of src/ops/window/conv_columns.c. */
#include "ops/window/conv.h"

#include <string.h>

/* The element of an input channel that one tap of the kernel sees from a corner, -1 in the padding. Sizes of windows
 * have the size of an address, and so have all steps between them. */
static ptrdiff_t seen(const ox_window *c, const int64_t *index, const int64_t *tap) {
    size_t at = 0;
    for (int d = 0; d < c->spatial; d++) {
        const size_t in = (size_t)c->in[d], i = (size_t)index[d] * (size_t)c->stride[d] - (size_t)c->pad[d] +
                                                (size_t)tap[d] * (size_t)c->dilation[d];
        if (i >= in)
            return -1;
        at = at * in + i;
    }
    return (ptrdiff_t)at;
}

/* What all columns of a panel have in common: the channel and the tap that its rows begin with. */
typedef struct panel_start {
    const char *x;
    ptrdiff_t start;
    int64_t tap[OX_WINDOW_DIMS];
} panel_start;

/* The column of the window at `index`. */
static void lay_column(const ox_window *c, const ox_conv_source *from, const panel_start *panel, const int64_t *index,
                       ptrdiff_t rows, char *to, ptrdiff_t to_row) {
    const ptrdiff_t taps = (ptrdiff_t)c->taps, width = (ptrdiff_t)from->width, x_step = (ptrdiff_t)c->in_count * width;
    int64_t tap[OX_WINDOW_DIMS];
    memcpy(tap, panel->tap, (size_t)c->spatial * sizeof *tap);
    for (ptrdiff_t first = 0; first < rows && first < taps; first++, ox_index_next(c->spatial, c->kernel, tap)) {
        const ptrdiff_t at = seen(c, index, tap);
        const char *element = panel->x + at * width;
        if (panel->start + first >= taps)
            element += x_step;
        for (ptrdiff_t r = first; r < rows; r += taps, element += x_step)
            if (width == sizeof(uint32_t))
                OX_AT(ox_u32, to + r * to_row) = at < 0 ? 0 : OX_GET(ox_u32, element);
            else if (at < 0)
                memset(to + r * to_row, from->fill, (size_t)width);
            else
                memcpy(to + r * to_row, element, (size_t)width);
    }
}

void ox_conv_columns(const ox_conv *conv, const ox_conv_source *from, const ox_gemm_block *to) {
    const ox_window *c = &conv->window;
    const int64_t channel = ox_quotient(to->row, c->taps);
    panel_start panel = {.start = (ptrdiff_t)(to->row - channel * c->taps)};
    int64_t index[OX_WINDOW_DIMS];
    panel.x = (const char *)from->data + (ptrdiff_t)channel * (ptrdiff_t)c->in_count * (ptrdiff_t)from->width;
    ox_index_of(c->spatial, c->kernel, panel.start, panel.tap);
    ox_index_of(c->spatial, c->out, to->column, index);
    for (int64_t j = 0; j < to->columns; j++, ox_index_next(c->spatial, c->out, index))
        lay_column(c, from, &panel, index, (ptrdiff_t)to->rows, to->data + j * from->width, (ptrdiff_t)to->data_row);
}

ox_conv_source ox_conv_source_of(const ox_loops *loops, const void *data, ox_dtype dtype, int fill) {
    (void)loops;
    return (ox_conv_source){data, (int64_t)ox_dtype_size(dtype), fill, NULL};
}
