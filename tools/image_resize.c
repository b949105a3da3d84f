/* image_resize.c: pictures of another size. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "memory.h"
#include "tool.h"

/* One sample of a result out of a line of samples, `step` apart. */
typedef struct taps {
    int64_t first;
    int64_t count;
    const double *weights;
} taps;

/* Linear interpolation between samples; in downscaling, a mean of all samples that fall into one, weighted by distance
 * (antialiasing), as is usual for training pictures. */
static taps find_taps(int64_t i, int64_t from, int64_t to, double *weights) {
    const double scale = (double)from / (double)to, reach = scale > 1 ? scale : 1;
    const double center = ((double)i + 0.5) * scale;
    int64_t first = (int64_t)floor(center - reach + 0.5), end = (int64_t)floor(center + reach + 0.5);
    first = first < 0 ? 0 : first;
    end = end > from ? from : end;
    double sum = 0;
    for (int64_t k = first; k < end; k++) {
        double distance = fabs((double)k + 0.5 - center) / reach;
        weights[k - first] = distance < 1 ? 1 - distance : 0;
        sum += weights[k - first];
    }
    for (int64_t k = first; k < end; k++)
        weights[k - first] /= sum;
    return (taps){first, end - first, weights};
}

static unsigned char blend(const taps *use, const unsigned char *line, int64_t step) {
    double sum = 0;
    for (int64_t k = 0; k < use->count; k++)
        sum += use->weights[k] * line[(use->first + k) * step];
    return (unsigned char)(sum + 0.5);
}

/* Resizes one dimension of [outer, from, inner] samples. */
static unsigned char *resample(const unsigned char *samples, int64_t outer, int64_t from, int64_t to, int64_t inner) {
    unsigned char *result = ox_tool_alloc((size_t)(outer * to * inner));
    double *weights = ox_tool_alloc(((size_t)(2 * from / to) + 4) * sizeof *weights);
    for (int64_t i = 0; i < to; i++) {
        taps use = find_taps(i, from, to, weights);
        for (int64_t o = 0; o < outer; o++)
            for (int64_t c = 0; c < inner; c++)
                result[(o * to + i) * inner + c] = blend(&use, samples + o * from * inner + c, inner);
    }
    free(weights);
    return result;
}

static ox_status resize(ox_image *image, int64_t width, int64_t height, ox_error *error) {
    if (width < 1 || height < 1 || width > OX_IMAGE_PIXELS / height || width > OX_IMAGE_PIXELS / image->height)
        return ox_tool_fail(error, OX_ERROR_LIMIT,
                            "the image is %lld wide and %lld high, and would be %lld wide and %lld high: more than "
                            "%lld pixels",
                            (long long)image->width, (long long)image->height, (long long)width, (long long)height,
                            (long long)OX_IMAGE_PIXELS);
    unsigned char *wide = resample(image->samples, image->height, image->width, width, image->channels);
    unsigned char *whole = resample(wide, 1, image->height, height, width * image->channels);
    free(wide);
    free(image->samples);
    image->samples = whole;
    image->width = width;
    image->height = height;
    return OX_OK;
}

/* Half of what is left over is before the part that is kept, rounded to even. */
static int64_t margin(int64_t whole, int64_t part) {
    return (int64_t)nearbyint((double)(whole - part) / 2);
}

static ox_status crop(ox_image *image, ox_picture_size size, ox_error *error) {
    if (size.width > image->width || size.height > image->height)
        return ox_tool_fail(
            error, OX_ERROR_ARGUMENT, "%lldx%lld cannot be cropped out of an image that is %lld wide and %lld high",
            (long long)size.width, (long long)size.height, (long long)image->width, (long long)image->height);
    const int64_t left = margin(image->width, size.width), top = margin(image->height, size.height);
    const size_t row = (size_t)(size.width * image->channels);
    for (int64_t y = 0; y < size.height; y++)
        memmove(image->samples + (size_t)y * row, image->samples + ((y + top) * image->width + left) * image->channels,
                row);
    image->width = size.width;
    image->height = size.height;
    return OX_OK;
}

/* A shorter side alone also says what is kept, a square of the middle. */
ox_status ox_image_fit(ox_image *image, const ox_picture *how, ox_error *error) {
    const int64_t side = how->shorter;
    ox_picture_size wanted = how->resize, kept = how->crop;
    if (side) {
        const int64_t shorter = image->width < image->height ? image->width : image->height;
        wanted = (ox_picture_size){side * image->width / shorter, side * image->height / shorter};
        kept = kept.width ? kept : (ox_picture_size){side, side};
    }
    ox_status status = wanted.width ? resize(image, wanted.width, wanted.height, error) : OX_OK;
    return !status && kept.width ? crop(image, kept, error) : status;
}
