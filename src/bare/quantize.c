/* quantize.c: QuantizeLinear and DequantizeLinear of floats of 32 bits, element by element, in place of lane programs.
 */
#include "ops/elementwise/quantize.h"

#include "iterate/walk.h"
#include "loops/element.h"

#include "mve.h"

#include <float.h>
#include <string.h>

#if !OX_WITH_SCALES
enum {
    X,
    SCALE,
    ZERO_POINT
};

/* Of scales that are not for all elements. */
typedef struct scaled {
    int axis;
    int64_t block;
} scaled;

/* An input, as it is read: where an element lies, and bytes to the next one along each dimension. */
typedef struct operand {
    ox_dtype dtype;
    const char *data;
    int64_t steps[OX_MAX_RANK];
} operand;

/* A scale, or a zero point, of all elements, of each entry of the axis, or of each block along it. */
static operand operand_of(const ox_call *call, const ox_tensor *t, int axis) {
    operand o = {.dtype = t->dtype, .data = t->data};
    if (ox_tensor_count(t) == 1)
        return o;
    if (ox_scale_is_blocked(call))
        ox_tensor_strides(t, o.steps);
    else
        ox_tensor_strides(t, &o.steps[axis]);
    return o;
}

/* Where a row along the last dimension begins, and its element j. */
static const char *row_at(const operand *o, int last, const int64_t *index, const scaled *s) {
    const char *at = o->data;
    for (int d = 0; d < last; d++)
        at += (ptrdiff_t)((d == s->axis ? ox_quotient(index[d], s->block) : index[d]) * o->steps[d]);
    return at;
}

static const char *element_at(const operand *o, const char *row, int last, ptrdiff_t j, const scaled *s) {
    const ptrdiff_t step = (ptrdiff_t)o->steps[last];
    return step ? row + (last == s->axis ? (ptrdiff_t)((size_t)j / (size_t)s->block) : j) * step : row;
}

/* Whether the library has that type. */
#define HAS(type) OX_HAS_ANY(OX_BIT(type))

static int32_t integer_at(ox_dtype dtype, const char *at) {
    if (HAS(OX_INT8) && dtype == OX_INT8)
        return OX_GET(ox_i8, at);
    if (HAS(OX_UINT8) && dtype == OX_UINT8)
        return OX_GET(ox_u8, at);
    if (HAS(OX_INT16) && dtype == OX_INT16)
        return (int16_t)OX_GET(ox_u16, at);
    if (HAS(OX_UINT16) && dtype == OX_UINT16)
        return OX_GET(ox_u16, at);
    return OX_GET(ox_i32, at);
}

/* ---- Elements --------------------------------------------------------------------------------------------------- */

/* x / scale, rounded to even, plus the zero point, within the limits of the type; of NaN the lower one. */
static void quantize(ox_dtype x, const char *from, float scale, int32_t zero, ox_dtype dtype, char *to) {
    const size_t size = HAS(OX_INT16) || HAS(OX_UINT16) ? ox_dtype_size(dtype) : 1;
    const int32_t least = dtype == OX_INT8 ? INT8_MIN : dtype == OX_INT16 ? INT16_MIN : 0;
    const float low = (float)(least - zero), high = (float)(least - zero + (1 << 8 * size) - 1);
    const float magic = 0x1.8p23F; /* leaves whole numbers in the lower bits of a sum */
    float value = (!HAS(OX_INT32) || x == OX_FLOAT ? OX_GET(ox_f32, from) : (float)OX_GET(ox_i32, from)) / scale;
    value = value > low ? value : low;
    value = (value < high ? value : high) + magic;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += (uint32_t)zero - 0x4b400000; /* what magic has */
    if (size == 1)
        OX_AT(ox_u8, to) = (uint8_t)bits;
    else
        OX_AT(ox_u16, to) = (uint16_t)bits;
}

/* The difference has 33 bits; the lowest of those is only one that makes a tie none. */
static void dequantize(ox_dtype x, const char *from, float scale, int32_t zero, char *to) {
    const int64_t difference = (int64_t)integer_at(x, from) - zero;
    const bool fits = difference == (int32_t)difference;
    const float half = (float)(int32_t)(fits ? difference : (difference >> 1 | (difference & 1)));
    OX_AT(ox_f32, to) = (fits ? half : half + half) * scale;
}

/* The same of `count` floats side by side, and of bytes; Helium has four at a time, but no division. */
static void quantize_floats(const ox_f32 *from, ptrdiff_t count, float scale, int32_t zero, ox_dtype dtype,
                            uint8_t *to) {
    const int32_t least = dtype == OX_INT8 ? INT8_MIN : 0;
    const float low = (float)(least - zero), high = (float)(least - zero + UINT8_MAX), magic = 0x1.8p23F;
    const uint8_t *end = to + count;
#if OX_MVE_FLOATS
    for (; end - to >= 4; from += 4, to += 4) {
        const float32x4_t some = {from[0] / scale, from[1] / scale, from[2] / scale, from[3] / scale};
        const float32x4_t upward = vmaxnmq_f32(some, vdupq_n_f32(low));
        const float32x4_t value = vaddq_n_f32(vminnmq_f32(upward, vdupq_n_f32(high)), magic);
        vstrbq_u32(to, vaddq_n_u32(vreinterpretq_u32_f32(value), (uint32_t)zero));
    }
#endif
    while (to < end) {
        float value = *from++ / scale;
        value = value > low ? value : low;
        value = (value < high ? value : high) + magic;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        *to++ = (uint8_t)(bits + (uint32_t)zero);
    }
}
static void dequantize_bytes(const uint8_t *from, ptrdiff_t count, float scale, int32_t zero, ox_dtype dtype,
                             ox_f32 *to) {
    const uint8_t flip = dtype == OX_INT8 ? 0x80 : 0;
    const int32_t off = zero + flip;
    const ox_f32 *end = to + count;
#if OX_MVE_FLOATS
    const bool is_normal = scale >= FLT_MIN && scale <= FLT_MAX; /* others are 0 to it, or not numbers */
    for (; is_normal && end - to >= 4; from += 4, to += 4) {
        const int32x4_t bytes = vreinterpretq_s32_u32(veorq_u32(vldrbq_u32(from), vdupq_n_u32(flip)));
        const float32x4_t value = vmulq_n_f32(vcvtq_f32_s32(vsubq_n_s32(bytes, off)), scale);
        vstrbq_u8((uint8_t *)to, vreinterpretq_u8_f32(value)); /* which may lie anywhere */
    }
#endif
    while (to < end)
        *to++ = (float)((*from++ ^ flip) - off) * scale;
}

/* Elements of a type, `step` bytes apart, that become those of another type by one scale and zero point. */
typedef struct some {
    ox_dtype x, y;
    ptrdiff_t step, count;
    float scale;
    int32_t zero;
} some;

static void run_some(const some *s, const char *from, char *to) {
    const size_t width = ox_dtype_size(s->x), size = ox_dtype_size(s->y);
    const bool beside = s->step == (ptrdiff_t)width;
    if (beside && s->x == OX_FLOAT && size == 1)
        quantize_floats((const void *)from, s->count, s->scale, s->zero, s->y, (void *)to);
    else if (beside && s->y == OX_FLOAT && width == 1)
        dequantize_bytes((const void *)from, s->count, s->scale, s->zero, s->x, (void *)to);
    else
        for (ptrdiff_t left = s->count; left; left--, from += s->step, to += size)
            if (s->y == OX_FLOAT)
                dequantize(s->x, from, s->scale, s->zero, to);
            else
                quantize(s->x, from, s->scale, s->zero, s->y, to);
}

/* ---- Prepare and run -------------------------------------------------------------------------------------------- */

static ox_status lack(ox_call *call, ox_dtype dtype) {
    return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "it needs loops for %s, which this build of the library lacks",
                        ox_dtype_name(dtype));
}

ox_status ox_prepare_quantize(ox_call *call) {
    scaled *s = ox_call_state(call, sizeof *s);
    const ox_dtype x = call->in[X]->dtype, y = call->out[0]->dtype, scale = call->in[SCALE]->dtype,
                   whole = y == OX_FLOAT ? x : y;
    const int64_t precision = ox_call_int(call, "precision", 0);
    if (!s)
        return OX_ERROR_MEMORY;
    if (scale != OX_FLOAT)
        return lack(call, scale);
    if (precision && precision != OX_FLOAT) /* infer has seen that it is a type */
        return lack(call, (ox_dtype)precision);
    if (!(OX_BIT(whole) & (OX_BIT(OX_INT8) | OX_BIT(OX_UINT8) | OX_BIT(OX_INT16) | OX_BIT(OX_UINT16) |
                           (y == OX_FLOAT ? OX_BIT(OX_INT32) : 0))) ||
        (y != OX_FLOAT && x != OX_FLOAT && x != OX_INT32))
        return lack(call, whole);
    s->block = 1;
    if (ox_tensor_count(call->in[SCALE]) == 1)
        return OX_OK;
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 1), call->in[X]->rank, &s->axis));
    if (ox_scale_is_blocked(call)) /* no longer than the axis, so that it has no more than 32 bits */
        s->block = ox_most(1, ox_least(ox_call_int(call, "block_size", 1), call->in[X]->dims[s->axis]));
    return OX_OK;
}

/* Elements along the last dimension, where scales and zero points are read again only if they change. */
static void run_row(const ox_call *call, const scaled *s, const operand in[3], const int64_t *index, char *to) {
    const ox_tensor *x = call->in[X], *y = call->out[0];
    const int last = x->rank ? x->rank - 1 : 0;
    const ptrdiff_t count = x->rank ? (ptrdiff_t)x->dims[last] : 1;
    const size_t size = ox_dtype_size(y->dtype);
    const char *at = row_at(&in[X], last, index, &(scaled){-1, 1});
    const char *scales = row_at(&in[SCALE], last, index, s), *zeros = row_at(&in[ZERO_POINT], last, index, s);
    some of = {.x = x->dtype, .y = y->dtype, .step = (ptrdiff_t)in[X].steps[last]};
    of.count = in[SCALE].steps[last] ? 1 : count;
    for (ptrdiff_t j = 0; j < count; j += of.count, at += of.count * of.step, to += (size_t)of.count * size) {
        of.scale = OX_GET(ox_f32, element_at(&in[SCALE], scales, last, j, s));
        of.zero = integer_at(in[ZERO_POINT].dtype, element_at(&in[ZERO_POINT], zeros, last, j, s));
        run_some(&of, at, to);
    }
}

ox_status ox_run_quantize(ox_call *call) {
    static const int32_t none = 0;
    const scaled *s = call->state;
    const ox_tensor *x = call->in[X], *y = call->out[0];
    const int last = x->rank ? x->rank - 1 : 0;
    const size_t row = (x->rank ? (size_t)x->dims[last] : 1) * ox_dtype_size(y->dtype);
    operand in[] = {{.data = x->data},
                    operand_of(call, call->in[SCALE], s->axis),
                    {.dtype = OX_INT32, .data = (const char *)&none}};
    int64_t index[OX_MAX_RANK] = {0};
    char *to = y->data;
    ox_tensor_strides(x, in[X].steps);
    if (ox_call_given(call, ZERO_POINT))
        in[ZERO_POINT] = operand_of(call, call->in[ZERO_POINT], s->axis);
    if (!ox_tensor_count(y))
        return OX_OK;
    do {
        run_row(call, s, in, index, to);
        to += row;
    } while (ox_index_next(last, x->dims, index));
    return OX_OK;
}
#endif
