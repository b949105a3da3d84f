/* conv_depth.c: convolutions of floats whose groups have one input channel and few outputs, depthwise ones above all:
 * sums over the taps of windows in bands, in the order of the taps. */
#include "ops/dense.h"
#include "shape.h"

enum {
    AT_ONCE = 4, /* windows side by side */
    FEW = 4      /* outputs for which products of gathered columns cost less */
};

static bool can(const ox_call *call, const ox_conv *c) {
    return ox_dtype_compute(call->in[0]->dtype) == OX_FLOAT && c->in_channels == 1 && c->out_channels < FEW &&
           ox_shape_fits(c, sizeof(float));
}

static ox_status prepare(ox_call *call, ox_conv *c, bool *ready) {
    const ox_shape s = ox_shape_of(c);
    *ready = true;
    return ox_workspace_add(call, ox_band_count(&s, sizeof(float)), sizeof(float));
}

/* Rows [y, y + rows) of a channel between zeros. */
static void lay_band(const ox_shape *s, const ox_f32 *x, ptrdiff_t y, ptrdiff_t rows, float *to) {
    const ptrdiff_t width = ox_band_row(s);
    for (; rows; rows--, y++, to += width) {
        const ox_f32 *from = x + y * s->in_columns;
        const ptrdiff_t first = y < 0 || y >= s->in_rows || s->left > width ? width : s->left;
        const ptrdiff_t end = s->in_columns < width - first ? first + s->in_columns : width;
        for (ptrdiff_t i = 0; i < first; i++)
            to[i] = 0;
        for (ptrdiff_t i = first; i < end; i++)
            to[i] = *from++;
        for (ptrdiff_t i = end; i < width; i++)
            to[i] = 0;
    }
}

/* `count` windows side by side of a kernel of so many columns, constants where it is inlined. */
static inline __attribute__((always_inline)) void sum_windows(const ox_shape *s, const float *x, const ox_f32 *w,
                                                              float more, const int count, ptrdiff_t stride,
                                                              ptrdiff_t columns, ptrdiff_t step, ox_f32 *to) {
    const ptrdiff_t pitch = s->row_step * ox_band_row(s);
    float sums[AT_ONCE] = {0};
    for (ptrdiff_t r = s->rows; r; r--, x += pitch) {
        const float *at = x;
#pragma GCC unroll 3
        for (ptrdiff_t k = 0; k < columns; k++, at += step) {
            const float weight = *w++;
#pragma GCC unroll 4
            for (int j = 0; j < count; j++)
                sums[j] += weight * at[j * stride];
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < count; j++)
        to[j] = sums[j] + more;
}

/* A row of results, and one of kernels of 3 columns without stride and dilation, the most usual ones. */
static void run_row(const ox_shape *s, const float *x, const ox_f32 *w, float more, ox_f32 *to) {
    const ptrdiff_t stride = s->column_stride;
    ptrdiff_t left = s->out_columns;
    for (; left >= AT_ONCE; left -= AT_ONCE, x += AT_ONCE * stride, to += AT_ONCE)
        sum_windows(s, x, w, more, AT_ONCE, stride, s->columns, s->column_step, to);
    for (; left; left--, x += stride)
        sum_windows(s, x, w, more, 1, 1, s->columns, s->column_step, to++);
}
static void run_threes(const ox_shape *s, const float *x, const ox_f32 *w, float more, ox_f32 *to) {
    ptrdiff_t left = s->out_columns;
    for (; left >= AT_ONCE; left -= AT_ONCE, x += AT_ONCE, to += AT_ONCE)
        sum_windows(s, x, w, more, AT_ONCE, 1, 3, 1, to);
    for (; left; left--, x++)
        sum_windows(s, x, w, more, 1, 1, 3, 1, to++);
}

/* A channel, from the outputs' first weights and results on. */
static void run_channel(const ox_shape *s, const ox_f32 *x, const ox_f32 *w, const ox_f32 *more, ox_f32 *to,
                        float *room) {
    const ptrdiff_t results = ox_band_results(s, sizeof(float)), rows = ox_band_rows(s, results);
    const bool threes = s->columns == 3 && s->column_stride == 1 && s->column_step == 1;
    for (ptrdiff_t row = 0; row < s->out_rows; row++) {
        const ptrdiff_t within = row % results;
        if (!within)
            lay_band(s, x, row * s->row_stride - s->top, rows, room);
        for (ptrdiff_t o = 0; o < s->outputs; o++)
            (threes ? run_threes : run_row)(s, room + within * s->row_stride * ox_band_row(s), w + o * s->k,
                                            more ? more[o] : -0.0F, to + o * s->out_count + row * s->out_columns);
    }
}

static void run(const ox_call *call, const ox_conv *c, size_t *used, const ox_conv_operands *of) {
    const ox_shape s = ox_shape_of(c);
    const ptrdiff_t channels = (ptrdiff_t)c->groups * s.outputs, all = (ptrdiff_t)c->images * channels;
    float *room = ox_workspace_take(call, used, ox_band_count(&s, sizeof(float)), sizeof(float));
    const ox_f32 *x = of->x, *bias = of->bias;
    for (ptrdiff_t i = 0, first = 0; i < all; i += s.outputs, x += s.in_count) {
        run_channel(&s, x, (const ox_f32 *)of->weights + first * s.k, bias ? bias + first : NULL,
                    (ox_f32 *)of->to + i * s.out_count, room);
        first = first + s.outputs < channels ? first + s.outputs : 0;
    }
}

const ox_conv_way ox_conv_depth_way = {.name = "depth", .can = can, .prepare = prepare, .run = run};
