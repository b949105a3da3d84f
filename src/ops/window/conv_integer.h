/* conv_integer.h: zero points and scales of convolutions of bytes, and the way in which devices compute these
 * (src/bare/conv_bytes.c). */
#ifndef OX_OPS_WINDOW_CONV_INTEGER_H
#define OX_OPS_WINDOW_CONV_INTEGER_H

#include "conv.h"
#include "loops/depth_loops.h"
#include "loops/element.h"

/* An input, NULL if it is omitted, or a number below 0. */
static inline const ox_tensor *ox_given_input(const ox_call *call, int i) {
    return ox_call_given(call, i) ? call->in[i] : NULL;
}

/* Infer: an input that is given has one value, or one for each output channel. */
static inline ox_status ox_check_entries(ox_call *call, int i, int64_t channels) {
    const ox_tensor *t = ox_given_input(call, i);
    if (!t || (t->rank <= 1 && (ox_tensor_count(t) == 1 || (t->rank == 1 && t->dims[0] == channels))))
        return OX_OK;
    if (channels == 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: one value is expected", OX_INPUT(call, i));
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s: one value is expected, or one for each of the %lld output channels",
                        OX_INPUT(call, i), (long long)channels);
}

/* Infer: a zero point has the type of what it belongs to. */
static inline ox_status ox_check_zero(ox_call *call, int of, int zero, int64_t channels) {
    OX_TRY(ox_call_check_dtype(call, of, call->op->dtypes));
    if (ox_given_input(call, zero) && call->in[zero]->dtype != call->in[of]->dtype)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type", OX_INPUT(call, of),
                            OX_INPUT(call, zero));
    return ox_check_entries(call, zero, channels);
}

/* The zero point of channel i, of one for all or one for each; 0 if there are none. */
static inline uint32_t ox_zero_entry(const ox_tensor *zeros, int64_t i) {
    return zeros ? (uint32_t)ox_tensor_int(zeros, ox_tensor_count(zeros) == 1 ? 0 : i) : 0;
}

/* Its scale. */
static inline double ox_scale_entry(const ox_tensor *t, int64_t i) {
    return (double)((const ox_f32 *)t->data)[ox_tensor_count(t) == 1 ? 0 : i];
}

/* Prepare: whether zero points may be other than 0. */
static inline bool ox_has_zero_points(const ox_call *call, int zero) {
    const ox_tensor *zeros = ox_given_input(call, zero);
    if (!zeros || !(call->constants >> zero & 1))
        return zeros;
    for (int64_t i = 0; i < ox_tensor_count(zeros); i++)
        if (ox_tensor_int(zeros, i))
            return true;
    return false;
}

#if OX_SMALL
/* A convolution of bytes with one or two spatial dimensions; the sums are of elements less their zero points. */
typedef struct ox_conv_bytes {
    const ox_conv *conv;
    ox_dtype x_dtype, w_dtype, y_dtype;
    int32_t x_zero, y_zero;
    const ox_tensor *w_zeros; /* NULL: all are 0 */
    const void *x, *w;
    float x_scale, y_scale;
    const ox_tensor *w_scales; /* one, or one for each channel */
    const ox_tensor *bias;     /* NULL: there is none */
    void *y;
} ox_conv_bytes;

/* Prepare: the bytes of workspace that it takes; 0: it is not for this convolution. */
size_t ox_conv_bytes_room(const ox_conv *conv);
/* Whether results may be written over the image, if that has their shape. */
bool ox_conv_bytes_overwrites(const ox_conv *conv);
void ox_conv_bytes_run(const ox_conv_bytes *c, void *room);
#endif

#endif
