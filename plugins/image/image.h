/* image.h: encoded images, decoded by the libraries that keep their formats. Each decoder gives false for what is no
 * image of its format, or damaged. */
#ifndef OX_PLUGIN_IMAGE_H
#define OX_PLUGIN_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Three bytes for each pixel: red, green, blue. Starts zeroed; pixels are malloced. */
typedef struct image {
    int64_t height, width;
    unsigned char *pixels;
    bool is_large; /* it has more pixels than IMAGE_MOST_PIXELS, and was not decoded */
    bool no_memory;
} image;

enum {
    IMAGE_MOST_PIXELS = 1 << 26
};

typedef bool image_fn(const unsigned char *data, size_t size, image *to);
image_fn image_png, image_jpeg, image_tiff, image_webp, image_jpeg2000, image_bmp, image_pnm;

/* Takes memory for the pixels of an image; false if it has none, too many, or there is no memory. */
bool image_room(image *to, int64_t width, int64_t height);

#endif
