/* image.c: pictures as tensors of an input's type and layout. */
#include "image.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "text.h"
#include "tool.h"

/* Where the dimensions of an input's shape are; -1 for none. */
typedef struct layout {
    int batch;
    int channel;
    int height;
    int width;
    int channels;
} layout;

static const unsigned char png_magic[] = {0x89, 'P', 'N', 'G'};

static bool is_png(const unsigned char *bytes, size_t size) {
    return size >= sizeof png_magic && memcmp(bytes, png_magic, sizeof png_magic) == 0;
}

static bool is_pnm(const unsigned char *bytes, size_t size) {
    return (size > 2 && bytes[0] == 'P' && bytes[1] && strchr("2356", bytes[1]) &&
            (bytes[2] == '#' || (bytes[2] >= '\t' && bytes[2] <= ' ')));
}

bool ox_image_is(const unsigned char *bytes, size_t size) {
    return is_png(bytes, size) || is_pnm(bytes, size) || ox_image_foreign(bytes, size);
}

static bool is_channels(int64_t dim) {
    return dim == 1 || dim == 3 || dim == 4;
}

static ox_status fail_layout(const ox_value_info *info, ox_error *error) {
    ox_text text = {0};
    ox_text_value(&text, info);
    ox_status status = ox_tool_fail(error, OX_ERROR_SHAPE,
                                    "an image does not fit %s: it needs [H,W], [N,C,H,W] or [N,H,W,C] with 1, 3 or 4 "
                                    "channels",
                                    ox_text_get(&text));
    ox_text_free(&text);
    return status;
}

static int rank_of(const ox_value_info *info, const ox_picture *how) {
    return info->rank >= 0 ? info->rank : how->layout ? (int)strlen(how->layout) : 4;
}

/* Channels come first unless only the last dimension can be channels, or the command line says where. */
static ox_status find_layout(const ox_value_info *info, const ox_image *image, const ox_picture *how, layout *out,
                             ox_error *error) {
    int rank = rank_of(info, how);
    if (rank < 2 || rank > 4)
        return fail_layout(info, error);
    if (how->layout && (int)strlen(how->layout) != rank)
        return ox_tool_fail(error, OX_ERROR_SHAPE, "layout=%s has %d dimensions but the model wants %d", how->layout,
                            (int)strlen(how->layout), rank);
    int first = rank == 4;
    *out = (layout){rank == 4 ? 0 : -1, -1, 0, 1, 1};
    if (rank == 2)
        return OX_OK;
    int64_t front = info->rank < 0 ? -1 : info->dims[first];
    int64_t back = info->rank < 0 ? -1 : info->dims[rank - 1];
    bool is_last = how->layout ? how->layout[rank - 1] == 'c' : !is_channels(front) && is_channels(back);
    int64_t channels = is_last ? back : front;
    out->channel = is_last ? rank - 1 : first;
    out->height = is_last ? first : first + 1;
    out->width = out->height + 1;
    out->channels = channels >= 0 ? (int)channels : image->channels == 2 ? 1 : image->channels;
    return channels < 0 || is_channels(channels) ? OX_OK : fail_layout(info, error);
}

static bool differs(const ox_value_info *info, int d, int64_t size) {
    return info->rank >= 0 && info->dims[d] >= 0 && info->dims[d] != size;
}

/* Says how a picture gets the size that the model states. */
static void suggest_size(const ox_value_info *info, const layout *where, ox_error *error) {
    ox_text remedy = {0};
    const int64_t height = info->dims[where->height], width = info->dims[where->width];
    if (height < 1 || width < 1)
        return;
    ox_text_format(&remedy, "behind a comma, resize=%" PRId64 "x%" PRId64 " resizes it", width, height);
    if (height == width)
        ox_text_format(&remedy, ", and resize=%" PRId64 " its shorter side, of which the middle is kept", width);
    ox_tool_remedy(error, ox_text_get(&remedy));
    ox_text_free(&remedy);
}

static ox_status check_size(const ox_value_info *info, const layout *where, const ox_image *image, ox_error *error) {
    if (where->batch >= 0 && differs(info, where->batch, 1))
        return ox_tool_fail(error, OX_ERROR_SHAPE, "an image is a batch of 1 but the model wants %" PRId64,
                            info->dims[where->batch]);
    if (!differs(info, where->height, image->height) && !differs(info, where->width, image->width))
        return OX_OK;
    ox_text text = {0};
    ox_text_value(&text, info);
    ox_tool_fail(error, OX_ERROR_SHAPE, "the image is %" PRId64 " wide and %" PRId64 " high but the model wants %s",
                 image->width, image->height, ox_text_get(&text));
    ox_text_free(&text);
    suggest_size(info, where, error);
    return error->status;
}

/* Sample c of a pixel when `wanted` channels are asked for: grey from colour by the weights of ITU-R 601. */
static unsigned sample(const unsigned char *pixel, int channels, int wanted, int c) {
    bool is_grey = channels < 3;
    if (c == 3)
        return channels == 4 ? pixel[3] : channels == 2 ? pixel[1] : 255;
    if (is_grey)
        return pixel[0];
    if (wanted == 1)
        return (pixel[0] * 19595u + pixel[1] * 38470u + pixel[2] * 7471u + 32768u) >> 16;
    return pixel[c];
}

static double value_of(const ox_picture_values *values, int c, double otherwise) {
    return values->count ? values->at[values->count > 1 ? c : 0] : otherwise;
}

/* A sample as the model wants it: in its range, less the mean, over the standard deviation. */
static ox_number scaled(unsigned value, const ox_picture *how, int c) {
    double range = ox_picture_range(how);
    if (range > 254 && !how->mean.count && !how->std.count)
        return ox_number_int(false, value);
    double mean = value_of(&how->mean, c, 0), std = value_of(&how->std, c, 1);
    return ox_number_real((value * (range / 255) - mean) / std);
}

/* Values for each channel are as many as there are channels. */
static ox_status check_values(const ox_picture *how, const layout *where, ox_error *error) {
    const ox_picture_values *both[] = {&how->mean, &how->std};
    for (int i = 0; i < 2; i++)
        if (both[i]->count > 1 && both[i]->count != where->channels)
            return ox_tool_fail(error, OX_ERROR_ARGUMENT, "%s has %d values but the input has %d channel%s",
                                i ? "std" : "mean", both[i]->count, where->channels, where->channels > 1 ? "s" : "");
    if (how->is_bgr && where->channels < 3)
        return ox_tool_fail(error, OX_ERROR_ARGUMENT, "channels=bgr needs 3 or 4 channels but the input has %d",
                            where->channels);
    return OX_OK;
}

static ox_status store_samples(const ox_image *image, const layout *where, const ox_picture *how, ox_array *array,
                               ox_error *error) {
    ox_dtype dtype = array->tensor.dtype;
    size_t size = ox_dtype_size(dtype);
    char *element = array->data;
    for (ox_walk walk = ox_walk_start(&array->tensor); walk.element; ox_walk_next(&walk), element += size) {
        int64_t at = walk.index[where->height] * image->width + walk.index[where->width];
        int c = where->channel < 0 ? 0 : (int)walk.index[where->channel];
        int from = how->is_bgr && c < 3 ? 2 - c : c;
        unsigned value = sample(image->samples + at * image->channels, image->channels, where->channels, from);
        ox_number number = scaled(value, how, c);
        if (!ox_number_store(dtype, element, number))
            return ox_tool_fail(error, OX_ERROR_SHAPE, "the image's value %g does not fit the model's type %s",
                                number.real, ox_dtype_name(dtype));
    }
    return OX_OK;
}

static ox_status to_array(const ox_image *image, const ox_value_info *info, const ox_picture *how, ox_array *array,
                          ox_error *error) {
    layout where;
    int64_t dims[4] = {1, 1, 1, 1};
    ox_status status = find_layout(info, image, how, &where, error);
    if (!status)
        status = check_size(info, &where, image, error);
    if (!status)
        status = check_values(how, &where, error);
    if (status)
        return status;
    dims[where.height] = image->height;
    dims[where.width] = image->width;
    if (where.channel >= 0)
        dims[where.channel] = where.channels;
    status = ox_array_create(array, info->dtype, rank_of(info, how), dims, error);
    if (!status)
        status = store_samples(image, &where, how, array, error);
    if (status)
        ox_array_free(array);
    return status;
}

ox_status ox_image_read(const unsigned char *bytes, size_t size, const ox_value_info *info, const ox_picture *how,
                        ox_array *array, ox_error *error) {
    ox_image image;
    *array = (ox_array){0};
    ox_status status = is_png(bytes, size)   ? ox_image_png(bytes, size, &image, error)
                       : is_pnm(bytes, size) ? ox_image_pnm(bytes, size, &image, error)
                                             : ox_image_decode(bytes, size, &image, error);
    if (!status)
        status = ox_image_fit(&image, how, error);
    if (!status)
        status = to_array(&image, info, how, array, error);
    free(image.samples);
    return status;
}
