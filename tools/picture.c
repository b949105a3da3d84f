/* picture.c: options of pictures on the command line. */
#include "picture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "nearest.h"
#include "tool.h"

/* One option: its name, and its value up to the comma before the next one. */
typedef struct word {
    const char *name, *value;
    int name_length, length;
} word;

typedef ox_status take(const word *option, ox_picture *picture, ox_error *error);

static ox_status fail(const word *option, const char *wanted, ox_error *error) {
    return ox_tool_fail(error, OX_ERROR_ARGUMENT, "%.*s wants %s, not '%.*s'", option->name_length, option->name,
                        wanted, option->length, option->value);
}

/* A number of pixels at *at, which moves past it. */
static bool read_pixels(const char **at, const char *end, int64_t *pixels) {
    *pixels = 0;
    const char *start = *at;
    for (; *at < end && **at >= '0' && **at <= '9' && *pixels <= OX_IMAGE_PIXELS; ++*at)
        *pixels = *pixels * 10 + (**at - '0');
    return *at > start && *pixels > 0 && *pixels <= OX_IMAGE_PIXELS;
}

/* "224", which leaves the height 0, or "320x240". */
static bool read_size(const word *option, ox_picture_size *size) {
    const char *at = option->value, *end = at + option->length;
    size->height = 0;
    if (!read_pixels(&at, end, &size->width))
        return false;
    if (at == end)
        return true;
    return *at++ == 'x' && read_pixels(&at, end, &size->height) && at == end &&
           size->width <= OX_IMAGE_PIXELS / size->height;
}

static ox_status take_resize(const word *option, ox_picture *picture, ox_error *error) {
    ox_picture_size size;
    if (!read_size(option, &size))
        return fail(option, "a number of pixels for the shorter side, or a width and a height such as 320x240", error);
    picture->shorter = size.height ? 0 : size.width;
    picture->resize = size.height ? size : (ox_picture_size){0};
    return OX_OK;
}

static ox_status take_crop(const word *option, ox_picture *picture, ox_error *error) {
    if (!read_size(option, &picture->crop))
        return fail(option, "a number of pixels for both sides, or a width and a height such as 320x240", error);
    if (!picture->crop.height)
        picture->crop.height = picture->crop.width;
    return OX_OK;
}

/* How many characters come before one of `stops`. */
static size_t span(const char *at, const char *end, const char *stops) {
    size_t length = 0;
    while (at + length < end && (!at[length] || !strchr(stops, at[length])))
        length++;
    return length;
}

/* A number that ends where `end` is or with the character there. */
static bool read_number(const char **at, const char *end, double *number) {
    char text[32], *behind;
    const size_t length = span(*at, end, ",]");
    if (!length || length >= sizeof text)
        return false;
    memcpy(text, *at, length);
    text[length] = 0;
    errno = 0;
    *number = strtod(text, &behind);
    *at += length;
    return !errno && !*behind && isfinite(*number);
}

/* "0.5", "0.485,0.456,0.406", or that in brackets */
static bool read_values(const word *option, ox_picture_values *values) {
    const char *at = option->value, *end = at + option->length;
    if (option->length > 1 && *at == '[' && end[-1] == ']') {
        at++;
        end--;
    }
    for (values->count = 0; values->count < OX_PICTURE_CHANNELS; at++) {
        if (!read_number(&at, end, &values->at[values->count++]))
            return false;
        if (at == end)
            return true;
        if (*at != ',')
            return false;
    }
    return false;
}

static ox_status take_mean(const word *option, ox_picture *picture, ox_error *error) {
    return read_values(option, &picture->mean) ? OX_OK
                                               : fail(option, "a number, or one for each channel: [R,G,B]", error);
}

static ox_status take_std(const word *option, ox_picture *picture, ox_error *error) {
    bool good = read_values(option, &picture->std);
    for (int i = 0; i < picture->std.count; i++)
        good = good && picture->std.at[i] > 0;
    return good ? OX_OK : fail(option, "a number above 0, or one for each channel: [R,G,B]", error);
}

static bool is(const word *option, const char *value) {
    return strlen(value) == (size_t)option->length && ox_text_alike(option->value, value, (size_t)option->length);
}

static ox_status take_range(const word *option, ox_picture *picture, ox_error *error) {
    picture->range = is(option, "1") ? 1 : is(option, "255") ? 255 : 0;
    return picture->range > 0 ? OX_OK
                              : fail(option, "1 for samples from 0 to 1, or 255 for samples from 0 to 255", error);
}

static ox_status take_layout(const word *option, ox_picture *picture, ox_error *error) {
    static const char *const layouts[] = {"nchw", "nhwc", "chw", "hwc", "hw"};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (is(option, layouts[i]))
            picture->layout = layouts[i];
    return picture->layout ? OX_OK : fail(option, "nchw, nhwc, chw, hwc or hw", error);
}

static ox_status take_channels(const word *option, ox_picture *picture, ox_error *error) {
    picture->is_bgr = is(option, "bgr");
    return picture->is_bgr || is(option, "rgb") ? OX_OK : fail(option, "rgb or bgr", error);
}

static const struct option {
    const char *name;
    take *function;
} options[] = {{"resize", take_resize}, {"crop", take_crop},     {"mean", take_mean},        {"std", take_std},
               {"range", take_range},   {"layout", take_layout}, {"channels", take_channels}};

enum {
    OPTIONS = sizeof options / sizeof *options
};

static ox_status fail_unknown(const word *option, ox_error *error) {
    ox_text name = {0}, near = {0};
    ox_text_add(&name, option->name, (size_t)option->name_length);
    ox_nearest nearest = {.wanted = ox_text_get(&name)};
    for (size_t i = 0; i < OPTIONS; i++)
        ox_nearest_add(&nearest, options[i].name);
    ox_nearest_put(&nearest, &near);
    ox_tool_fail(error, OX_ERROR_ARGUMENT,
                 "a picture has no option '%.40s'%s (they are resize, crop, mean, std, range, layout and channels)",
                 ox_text_get(&name), ox_text_get(&near));
    ox_text_free(&name);
    ox_text_free(&near);
    return error->status;
}

/* The next option: the values of mean and std may have commas, so that a value ends before a comma and a letter. */
static word next_word(const char *at, const char *end) {
    word option = {.name = at};
    option.name_length = (int)span(at, end, "=,");
    option.value = at + option.name_length;
    if (option.value < end && *option.value == '=')
        option.value++;
    const char *behind = option.value;
    while (behind < end && (*behind != ',' || (behind + 1 < end && strchr("0123456789.+-", behind[1]))))
        behind++;
    option.length = (int)(behind - option.value);
    return option;
}

static ox_status take_word(const word *option, unsigned *seen, ox_picture *picture, ox_error *error) {
    for (unsigned i = 0; i < OPTIONS; i++) {
        if (strlen(options[i].name) != (size_t)option->name_length ||
            strncmp(options[i].name, option->name, (size_t)option->name_length) != 0)
            continue;
        if (*seen & 1u << i)
            return ox_tool_fail(error, OX_ERROR_ARGUMENT, "%s is given twice", options[i].name);
        *seen |= 1u << i;
        return options[i].function(option, picture, error);
    }
    return fail_unknown(option, error);
}

/* A mean above 1 is one of samples from 0 to 255. */
static ox_status check_range(const ox_picture *picture, ox_error *error) {
    for (int i = 0; i < picture->mean.count; i++)
        if (ox_picture_range(picture) < 2 && fabs(picture->mean.at[i]) > 1)
            return ox_tool_fail(error, OX_ERROR_ARGUMENT,
                                "mean %g does not suit samples from 0 to 1: with range=255 they are from 0 to 255",
                                picture->mean.at[i]);
    return OX_OK;
}

ox_status ox_picture_parse(const char *text, size_t length, ox_picture *picture, ox_error *error) {
    const char *end = text + length;
    unsigned seen = 0;
    *picture = (ox_picture){0};
    for (const char *at = text; at <= end;) {
        word option = next_word(at, end);
        ox_status status = take_word(&option, &seen, picture, error);
        if (status)
            return status;
        at = option.value + option.length + 1;
    }
    return check_range(picture, error);
}

double ox_picture_range(const ox_picture *picture) {
    if (picture->range > 0)
        return picture->range;
    return picture->mean.count || picture->std.count ? 1 : 255;
}
