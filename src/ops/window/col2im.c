/* col2im.c: Col2Im, which adds the columns of blocks back into an image. */
#include "ops/dense.h"
#include "scatter.h"

#include <string.h>

typedef struct col2im {
    ox_window window;
    ox_scatter scatter;
} col2im;

/* What the attributes and the two lists say. */
static ox_status read_lists(ox_call *call, ox_window *w, int64_t *room) {
    int64_t image[OX_WINDOW_DIMS], block[OX_WINDOW_DIMS];
    int count, blocks;
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT64)));
    OX_TRY(ox_call_check_dtype(call, 2, OX_BIT(OX_INT64)));
    OX_TRY(ox_call_int_list(call, 1, image, OX_WINDOW_DIMS, &count));
    OX_TRY(ox_call_int_list(call, 2, block, OX_WINDOW_DIMS, &blocks));
    if (count < 1 || count != blocks)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same length, at least 1", OX_INPUT(call, 1),
                            OX_INPUT(call, 2));
    ox_window_place(w, count, room);
    OX_TRY(ox_window_read(call, w));
    for (int d = 0; d < count; d++) {
        if (image[d] < 0 || !ox_window_fits(image[d]) || !ox_window_fits(block[d]))
            return ox_call_fail(call, OX_ERROR_SHAPE, "an image of shape %s cannot be made of blocks of shape %s",
                                OX_DIMS(count, image), OX_DIMS(count, block));
        w->in[d] = image[d];
        w->kernel[d] = block[d];
    }
    return ox_window_slide(call, w, false);
}

ox_status ox_infer_col2im(ox_call *call) {
    const ox_tensor *x = call->in[0];
    ox_window w = {0};
    int64_t room[OX_WINDOW_LISTS * OX_WINDOW_DIMS] = {0}, dims[OX_MAX_RANK];
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_NUM));
    OX_TRY(read_lists(call, &w, room));
    if (x->rank != 3 || !ox_window_fits(x->dims[1]) || ox_remainder(x->dims[1], w.taps) || x->dims[2] != w.out_count)
        return ox_call_fail(
            call, OX_ERROR_SHAPE,
            "%s: shape [images,channels*%lld,%lld] is expected for blocks of shape %s in an image of shape %s",
            OX_INPUT(call, 0), (long long)w.taps, (long long)w.out_count, OX_DIMS(w.spatial, w.kernel),
            OX_DIMS(w.spatial, w.in));
    dims[0] = x->dims[0];
    dims[1] = ox_quotient(x->dims[1], w.taps);
    memcpy(dims + 2, w.in, (size_t)w.spatial * sizeof *dims);
    return ox_call_output(call, 0, x->dtype, w.spatial + 2, dims);
}

ox_status ox_prepare_col2im(ox_call *call) {
    const ox_tensor *out = call->out[0];
    col2im *c = ox_window_state(call, sizeof *c, out->rank - 2);
    if (!c)
        return OX_ERROR_MEMORY;
    OX_TRY(read_lists(call, &c->window, c->window.in));
    OX_TRY(ox_dense_plan(call, call->in[0]));
    OX_TRY(ox_dense_plan_out(call, ox_tensor_count(out)));
    return ox_scatter_plan(call, &c->scatter, &c->window, ox_dtype_compute(out->dtype), out->dims[0] * out->dims[1]);
}

ox_status ox_run_col2im(ox_call *call) {
    ox_scatter s = ((const col2im *)call->state)->scatter;
    const int64_t count = ox_tensor_count(call->out[0]);
    size_t used = 0;
    const ox_tensor x = ox_dense_in(call, &used, call->in[0]);
    s.columns = x.data;
    s.to = ox_dense_out(call, &used, count);
    ox_scatter_take(call, &used, &s);
    ox_scatter_run(&s);
    ox_dense_store(call, count, s.to);
    return OX_OK;
}
