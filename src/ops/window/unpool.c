/* unpool.c: MaxUnpool. It puts elements back where MaxPool found them, and zeros elsewhere. Indices count in the image
 * of the pool where the loader knows it (input 3), or in the smallest image that the pool can have come from; in an
 * output of another size, that image lies at the start. */
#include "loops/element.h"
#include "pool.h"
#include "window.h"

#include <string.h>

/* Inputs. */
enum {
    IMAGE = 3 /* the shape of the image that indices count in: src/rewrite/unpool.c */
};

/* The smallest image that the pool can have come from. */
static ox_status pooled_shape(ox_call *call, int64_t *dims) {
    int64_t room[OX_WINDOW_LISTS * OX_WINDOW_DIMS] = {0}, pads[2 * OX_WINDOW_DIMS];
    ox_window window = {0}, *w = &window;
    ox_window_place(w, ox_window_spatial(call->in[0]), room);
    OX_TRY(ox_window_image(call, w));
    OX_TRY(ox_window_kernel(call, w));
    OX_TRY(ox_window_list(call, "strides", w->spatial, 1, 1, w->stride));
    OX_TRY(ox_window_list(call, "pads", 2 * w->spatial, 0, 0, pads));
    for (int d = 0; d < w->spatial; d++) {
        int64_t size;
        if (!ox_mul_i64(w->in[d] - 1, w->stride[d], &size) || !ox_add_i64(size, w->kernel[d], &size) ||
            !ox_add_i64(size, -pads[d], &size) || !ox_add_i64(size, -pads[w->spatial + d], &size) || size < 0)
            return ox_call_fail(call, OX_ERROR_SHAPE,
                                "spatial axis %d: no image gives %lld windows of size %lld with a stride of %lld and "
                                "pads of %lld and %lld",
                                d, (long long)w->in[d], (long long)w->kernel[d], (long long)w->stride[d],
                                (long long)pads[d], (long long)pads[w->spatial + d]);
        dims[d + 2] = size;
    }
    dims[0] = call->in[0]->dims[0];
    dims[1] = call->in[0]->dims[1];
    return OX_OK;
}

static ox_status given_shape(ox_call *call, const int64_t *pooled, int64_t *dims) {
    const ox_tensor *x = call->in[0];
    int count;
    OX_TRY(ox_call_check_dtype(call, 2, OX_BIT(OX_INT64)));
    OX_TRY(ox_call_int_list(call, 2, dims, OX_MAX_RANK, &count));
    bool fits = count == x->rank && dims[0] == x->dims[0] && dims[1] == x->dims[1];
    for (int d = 2; fits && d < count; d++)
        fits = dims[d] >= (ox_call_given(call, IMAGE) ? 0 : pooled[d]);
    return fits
               ? OX_OK
               : ox_call_fail(call, OX_ERROR_SHAPE, "an output of shape %s does not fit the unpooled image of shape %s",
                              OX_DIMS(count, dims), OX_DIMS(x->rank, pooled));
}

/* The image that indices count in. */
static ox_status counted_shape(ox_call *call, const int64_t *pooled, int64_t *dims) {
    const ox_tensor *x = call->in[0];
    int count = x->rank;
    if (ox_call_given(call, IMAGE))
        OX_TRY(ox_call_int_list(call, IMAGE, dims, OX_MAX_RANK, &count));
    else
        memcpy(dims, pooled, (size_t)count * sizeof *dims);
    if (count == x->rank && dims[0] == x->dims[0] && dims[1] == x->dims[1])
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "the indices refer to an image of shape %s, which does not fit %s",
                        OX_DIMS(count, dims), OX_INPUT(call, 0));
}

ox_status ox_infer_max_unpool(ox_call *call) {
    const ox_tensor *x = call->in[0], *at = call->in[1];
    int64_t pooled[OX_MAX_RANK], counted[OX_MAX_RANK], dims[OX_MAX_RANK];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT64)));
    OX_TRY(pooled_shape(call, pooled));
    if (!ox_same_dims(x->rank, x->dims, at->rank, at->dims))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same shape", OX_INPUT(call, 0),
                            OX_INPUT(call, 1));
    OX_TRY(counted_shape(call, pooled, counted));
    if (ox_call_given(call, 2))
        OX_TRY(given_shape(call, pooled, dims));
    return ox_call_output(call, 0, x->dtype, x->rank, ox_call_given(call, 2) ? dims : pooled);
}

typedef struct unpool {
    int rank;
    bool moved;           /* the output has another shape, or another order */
    bool column_major;    /* the order that indices count in within a channel */
    int64_t count;        /* of places */
    int64_t *image, *out; /* dims */
} unpool;

ox_status ox_prepare_max_unpool(ox_call *call) {
    const ox_tensor *out = call->out[0];
    int64_t pooled[OX_MAX_RANK];
    unpool *u = ox_call_state(call, sizeof *u + 2 * OX_MAX_RANK * sizeof *u->image);
    if (!u)
        return OX_ERROR_MEMORY;
    u->rank = out->rank;
    u->image = (int64_t *)(void *)(u + 1);
    u->out = u->image + OX_MAX_RANK;
    memcpy(u->out, out->dims, (size_t)out->rank * sizeof *u->out);
    OX_TRY(pooled_shape(call, pooled));
    OX_TRY(counted_shape(call, pooled, u->image));
    u->column_major = ox_call_given(call, IMAGE) && ox_call_int(call, "storage_order", 0) == 1;
    u->moved = u->column_major || !ox_same_dims(u->rank, u->image, u->rank, u->out);
    u->count = ox_count(u->rank, u->image);
    return OX_OK;
}

/* The place in a channel of the image whose elements count along the first dimension first, in the usual order. */
static int64_t in_rows(const unpool *u, int64_t place) {
    const int64_t area = ox_count(u->rank - 2, u->image + 2);
    int64_t rest = place % area, at = 0, step = area;
    for (int d = 2; d < u->rank; d++) {
        step /= u->image[d];
        at += rest % u->image[d] * step;
        rest /= u->image[d];
    }
    return place - place % area + at;
}

/* Where an index is in the output; -1 where that has no place for it. */
static int64_t place_of(const unpool *u, int64_t place) {
    int64_t index[OX_MAX_RANK], at = 0;
    if (place < 0 || place >= u->count)
        return -1;
    if (!u->moved)
        return place;
    ox_index_of(u->rank, u->image, u->column_major ? in_rows(u, place) : place, index);
    for (int d = 0; d < u->rank; d++) {
        if (index[d] >= u->out[d])
            return -1;
        at = at * u->out[d] + index[d];
    }
    return at;
}

#define PUT(type)                                                                                                      \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        const int64_t place = place_of(u, places[i]);                                                                  \
        if (place < 0)                                                                                                 \
            return i;                                                                                                  \
        OX_AT(type, to + place * (int64_t)sizeof(type)) = OX_GET(type, from + i * (int64_t)sizeof(type));              \
    }

/* Puts n elements in their places; the number of the first that has none, n if all have. */
static int64_t put(const unpool *u, size_t width, int64_t n, const char *from, const ox_i64 *places, char *to) {
    if (width == sizeof(ox_u16)) {
        PUT(ox_u16)
    } else if (width == sizeof(ox_u32)) {
        PUT(ox_u32)
    } else {
        PUT(ox_u64)
    }
    return n;
}

static ox_status fail_place(const ox_call *call, const unpool *u, int64_t place) {
    if (place < 0 || place >= u->count)
        return ox_call_fail(call, OX_ERROR_VALUE,
                            "%s: index %lld is out of range for the %lld elements of an image of shape %s",
                            OX_INPUT(call, 1), (long long)place, (long long)u->count, OX_DIMS(u->rank, u->image));
    return ox_call_fail(call, OX_ERROR_VALUE,
                        "%s: index %lld into an image of shape %s lies outside of an output of shape %s",
                        OX_INPUT(call, 1), (long long)place, OX_DIMS(u->rank, u->image), OX_DIMS(u->rank, u->out));
}

ox_status ox_run_max_unpool(ox_call *call) {
    const unpool *u = call->state;
    const ox_tensor *x = call->in[0], *out = call->out[0];
    const int64_t n = ox_tensor_count(x), count = ox_tensor_count(out);
    const ox_i64 *places = call->in[1]->data;
    const size_t width = ox_dtype_size(x->dtype);
    const int64_t piece = ox_pool_piece(call->pool, n, (double)width);
    if (count)
        memset(out->data, 0, (size_t)count * width);
    /* One after the other: of two elements for one place, the last one stays. */
    for (int64_t i = 0; i < n && !ox_pool_poll(call->pool); i += piece) {
        const int64_t some = ox_least(piece, n - i);
        const int64_t done = put(u, width, some, (const char *)x->data + i * (int64_t)width, places + i, out->data);
        if (done < some)
            return fail_place(call, u, places[i + done]);
    }
    return OX_OK;
}
