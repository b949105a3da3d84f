/* picture.h: the options of a picture on the command line: "cat.png,resize=256,crop=224,mean=[...],std=[...]". */
#ifndef OX_PICTURE_H
#define OX_PICTURE_H

#include "ox.h"

enum {
    OX_PICTURE_CHANNELS = 4
};

/* A width and a height; zeroed for none. */
typedef struct ox_picture_size {
    int64_t width, height;
} ox_picture_size;

/* Values for each channel, or one for all. */
typedef struct ox_picture_values {
    int count;
    double at[OX_PICTURE_CHANNELS];
} ox_picture_values;

/* Zeroed, it leaves pictures as they are, with samples from 0 to 255. */
typedef struct ox_picture {
    int64_t shorter;        /* what the shorter side is resized to, 0 for none */
    ox_picture_size resize; /* or both sides */
    ox_picture_size crop;   /* what is kept of the middle, after resizing */
    double range;           /* what the largest sample becomes, 0 where nothing says it */
    ox_picture_values mean, std;
    const char *layout; /* "nchw", "nhwc", "chw", "hwc", "hw" or NULL */
    bool is_bgr;        /* blue first */
} ox_picture;

/* Reads options without the comma before the first. Errors name the option and what it wants. */
ox_status ox_picture_parse(const char *text, size_t length, ox_picture *picture, ox_error *error);

/* What the largest sample becomes: 1 with a mean or a standard deviation, unless the range is stated, or else 255. */
double ox_picture_range(const ox_picture *picture);

#endif
