/* resize_read.c: what a node of Resize or Upsample asks for. */
#include "resize.h"
#include "ops/axes.h"
#include "ops/scalar.h"

#include <math.h>
#include <string.h>

/* ---- Attributes --------------------------------------------------------------------------------------------- */

/* The place of an attribute's text in a list. */
static ox_status read_choice(ox_call *call, const char *name, const char *otherwise, const char *const *texts,
                             int count, int *choice) {
    ox_string text = ox_call_string(call, name, otherwise);
    for (*choice = 0; *choice < count; ++*choice)
        if (ox_says(text, texts[*choice]))
            return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s': '%.*s' is unknown here", name, OX_SHORT(text));
}

/* Upsample and the first version of Resize have no attributes that say how places correspond. */
static bool is_plain(const ox_call *call) {
    return call->op->since < 11;
}

static ox_status read_plain(ox_call *call, ox_resize *resize) {
    static const char *const modes[] = {"nearest", "linear"}, *const first_modes[] = {"nearest", "bilinear"};
    int mode;
    OX_TRY(read_choice(call, "mode", "nearest", call->op->since == 1 ? first_modes : modes, 2, &mode));
    resize->mode = (ox_resize_mode)mode;
    resize->place = OX_PLACE_ASYMMETRIC;
    resize->round = OX_NEAREST_OUTER;
    return OX_OK;
}

static ox_status read_attributes(ox_call *call, ox_resize *resize) {
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const places[] = {"half_pixel",          "pytorch_half_pixel", "align_corners",
                                         "asymmetric",          "tf_crop_and_resize", "tf_half_pixel_for_nn",
                                         "half_pixel_symmetric"};
    static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    int mode, place, round;
    OX_TRY(read_choice(call, "mode", "nearest", modes, 3, &mode));
    OX_TRY(
        read_choice(call, "coordinate_transformation_mode", "half_pixel", places, call->version < 19 ? 6 : 7, &place));
    OX_TRY(read_choice(call, "nearest_mode", "round_prefer_floor", rounds, 4, &round));
    resize->mode = (ox_resize_mode)mode;
    resize->place = (ox_resize_place)place;
    resize->round = (ox_resize_round)round;
    resize->cubic_a = (double)ox_call_float(call, "cubic_coeff_a", -0.75f);
    resize->exclude_outside = ox_call_int(call, "exclude_outside", 0) != 0;
    resize->antialias = call->op->since >= 18 && ox_call_int(call, "antialias", 0) != 0;
    if (resize->antialias && resize->mode == OX_RESIZE_NEAREST)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'antialias' does not go with the mode 'nearest'");
    return OX_OK;
}

/* ---- Lists of numbers --------------------------------------------------------------------------------------- */

typedef struct number_list {
    int count; /* 0 if it is not given */
    double value[2 * OX_MAX_RANK];
} number_list;

static ox_status read_numbers(ox_call *call, int i, ox_dtypes set, int most, number_list *list) {
    const ox_tensor *tensor;
    list->count = 0;
    if (!ox_call_given(call, i) || ox_tensor_count(call->in[i]) == 0)
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, i, set));
    if (call->in[i]->rank != 1 || call->in[i]->dims[0] > most)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a list of at most %d numbers", OX_INPUT(call, i), most);
    OX_TRY(ox_call_data(call, i, &tensor));
    const int64_t step = ox_stride(tensor, 0);
    list->count = (int)tensor->dims[0];
    for (int k = 0; k < list->count; k++)
        list->value[k] = ox_scalar_float(&(ox_tensor){.dtype = tensor->dtype, .data = (char *)tensor->data + k * step});
    return OX_OK;
}

/* The scales of an attribute, or of the two attributes of Upsample-1. */
static ox_status scales_attr(ox_call *call, number_list *list) {
    size_t count = 0;
    const float *scales = ox_call_floats(call, "scales", &count);
    if (call->op->since == 1) {
        if (call->in[0]->rank != 4)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have rank 4", OX_INPUT(call, 0));
        *list = (number_list){4, {1, 1}};
        list->value[2] = (double)ox_call_float(call, "height_scale", 1);
        list->value[3] = (double)ox_call_float(call, "width_scale", 1);
        return OX_OK;
    }
    if (count > OX_MAX_RANK)
        return ox_call_fail(call, OX_ERROR_LIMIT, "attribute 'scales' has %zu values, at most %d are supported", count,
                            OX_MAX_RANK);
    list->count = (int)count;
    for (size_t i = 0; i < count; i++)
        list->value[i] = (double)scales[i];
    return OX_OK;
}

static ox_status read_scales(ox_call *call, number_list *list) {
    if (!ox_op_takes(call->op, 1))
        return scales_attr(call, list);
    return read_numbers(call, is_plain(call) ? 1 : 2, OX_BIT(OX_FLOAT), OX_MAX_RANK, list);
}

/* ---- Sizes -------------------------------------------------------------------------------------------------- */

/* The axes that the lists are for: the listed ones, or all. */
static ox_status resized_axes(ox_call *call, ox_short_list *axes) {
    axes->given = false;
    if (call->op->since >= 18)
        OX_TRY(ox_list_attr(call, "axes", axes));
    return ox_axes_distinct(call, axes, call->in[0]->rank, "listed");
}

/* The size of an axis: as ONNX computes it, in float, where a float holds the old size. */
static double scaled_size(int64_t dim, double scale) {
    return dim <= 1 << 24 ? (double)floorf((float)dim * (float)scale) : floor((double)dim * scale);
}

static ox_status apply_scales(ox_call *call, const ox_short_list *axes, const number_list *scales, ox_resize *resize) {
    for (int i = 0; i < axes->count; i++) {
        ox_resize_axis *axis = &resize->axis[axes->value[i]];
        const double size = scaled_size(axis->in, scales->value[i]);
        if (!(scales->value[i] > 0) || !(size < 0x1p62))
            return ox_call_fail(call, OX_ERROR_VALUE, "scale %d is %g, which cannot be applied to axis %d of %s", i,
                                scales->value[i], (int)axes->value[i], OX_INPUT(call, 0));
        axis->scale = scales->value[i];
        axis->exact = axis->scale * (double)axis->in;
        axis->out = (int64_t)size;
    }
    return OX_OK;
}

static ox_status apply_sizes(ox_call *call, const ox_short_list *axes, const int64_t *sizes, ox_resize *resize) {
    for (int i = 0; i < axes->count; i++) {
        ox_resize_axis *axis = &resize->axis[axes->value[i]];
        if (sizes[i] < 0 || (axis->in == 0 && sizes[i] > 0))
            return ox_call_fail(call, OX_ERROR_SHAPE, "size %lld does not fit axis %d of %s", (long long)sizes[i],
                                (int)axes->value[i], OX_INPUT(call, 0));
        axis->out = sizes[i];
        axis->by_size = true;
        axis->exact = (double)axis->out;
        axis->scale = axis->in ? axis->exact / (double)axis->in : 1;
    }
    return OX_OK;
}

/* Gives all axes one scale, the smallest or the largest of theirs. */
static ox_status keep_ratio(ox_call *call, const ox_short_list *axes, ox_resize *resize) {
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};
    int policy;
    OX_TRY(read_choice(call, "keep_aspect_ratio_policy", "stretch", policies, 3, &policy));
    if (policy == 0 || axes->count == 0)
        return OX_OK;
    double scale = resize->axis[axes->value[0]].scale;
    for (int i = 1; i < axes->count; i++) {
        const double other = resize->axis[axes->value[i]].scale;
        scale = (policy == 1) == (other < scale) ? other : scale;
    }
    for (int i = 0; i < axes->count; i++) {
        ox_resize_axis *axis = &resize->axis[axes->value[i]];
        const double size = floor(scale * (double)axis->in + 0.5);
        if (!(size < 0x1p62))
            return ox_call_fail(call, OX_ERROR_LIMIT, "axis %d of %s would be too large", (int)axes->value[i],
                                OX_INPUT(call, 0));
        axis->by_size = false;
        axis->scale = scale;
        axis->exact = scale * (double)axis->in;
        axis->out = (int64_t)size;
    }
    return OX_OK;
}

static ox_status read_sizes(ox_call *call, const ox_short_list *axes, ox_resize *resize) {
    ox_short_list sizes = {.count = 0};
    number_list scales;
    OX_TRY(read_scales(call, &scales));
    if (!is_plain(call) && ox_call_given(call, 3) && ox_tensor_count(call->in[3]) > 0)
        OX_TRY(ox_list_input(call, 3, OX_BIT(OX_INT64), &sizes));
    const int count = sizes.count;
    if (axes->count && (scales.count > 0) == (count > 0))
        return ox_call_fail(call, OX_ERROR_MODEL, "one of scales and sizes must be given, and not both");
    if (scales.count + count != axes->count)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%d %s are given for %d axes of %s", scales.count + count,
                            count ? "sizes" : "scales", axes->count, OX_INPUT(call, 0));
    if (!count)
        return apply_scales(call, axes, &scales, resize);
    OX_TRY(apply_sizes(call, axes, sizes.value, resize));
    return call->op->since < 18 ? OX_OK : keep_ratio(call, axes, resize);
}

static ox_status read_crop(ox_call *call, const ox_short_list *axes, ox_resize *resize) {
    number_list roi;
    if (resize->place != OX_PLACE_CROP)
        return OX_OK;
    OX_TRY(read_numbers(call, 1, OX_SET_FLOAT, 2 * OX_MAX_RANK, &roi));
    if (roi.count != 2 * axes->count)
        return ox_call_fail(call, OX_ERROR_SHAPE, "the roi has %d numbers for %d axes, which need %d", roi.count,
                            axes->count, 2 * axes->count);
    for (int i = 0; i < axes->count; i++) {
        resize->axis[axes->value[i]].start = roi.value[i];
        resize->axis[axes->value[i]].end = roi.value[axes->count + i];
    }
    return OX_OK;
}

ox_status ox_resize_read(ox_call *call, ox_resize *resize) {
    const ox_tensor *in = call->in[0];
    ox_short_list axes;
    *resize = (ox_resize){.rank = in->rank};
    OX_TRY(is_plain(call) ? read_plain(call, resize) : read_attributes(call, resize));
    OX_TRY(resized_axes(call, &axes));
    for (int d = 0; d < in->rank; d++)
        resize->axis[d] = (ox_resize_axis){in->dims[d], in->dims[d], true, 1, (double)in->dims[d], 0, 1};
    OX_TRY(read_sizes(call, &axes, resize));
    return read_crop(call, &axes, resize);
}
