/* band.h: loops over windows without a matrix product. A band is some rows of a channel with their padding, laid out in
 * the first-level cache. Columns a stride apart lie side by side there, so that what a tap of the kernel sees from
 * neighbouring windows lies side by side, too. */
#ifndef OX_OPS_WINDOW_BAND_H
#define OX_OPS_WINDOW_BAND_H

#include "loops/conv_loops.h"
#include "loops/moves.h"
#include "window.h"

enum {
    OX_BAND_STRIDE = 16 /* of columns, at most */
};

typedef struct ox_band {
    const ox_window *window;
    ox_gather_fn *gather;
    ox_move_fn *fill;
    int64_t rows, columns; /* of the result in a band, at most; all outer dimensions have one */
    int64_t down, across;  /* bands of a plane of the last two dimensions */
    int64_t count;         /* of a channel */
    int64_t high, wide;    /* the last two dimensions of the result */
    int64_t phase, pitch;  /* elements of the columns that are a stride apart, and of a row of them all */
    int64_t reach;         /* rows that are laid out for each tap of the outer dimensions */
    int64_t outer;         /* taps of the outer dimensions */
    int64_t *offsets;      /* of each tap, in elements */
    int64_t width;         /* bytes of an element */
    size_t bytes;          /* of a laid out band */
    size_t room;           /* bytes that it needs: loops read rows behind it, for sums that are not used */
} ox_band;

/* A band by its number: the windows that it has, where they are in a channel of the result, and what they see. */
typedef struct ox_band_place {
    int64_t index[OX_WINDOW_DIMS]; /* of the first window */
    int64_t rows, columns, start;
    int64_t row, first,
        inside;   /* the first row of the image, which of those laid out that is, and how many there are */
    int64_t runs; /* of each row: the columns inside that are a stride apart */
    ox_run run[OX_BAND_STRIDE];
} ox_band_place;

/* True if windows over elements of `width` bytes are small enough to be laid out. */
bool ox_band_fits(const ox_window *window, size_t width);

/* Prepare: windows that fit. */
ox_status ox_band_plan(ox_call *call, const ox_window *window, size_t width, ox_band *band);

/* Prepare: bands of images of two dimensions reach over all rows, where none is laid out. */
void ox_band_join(ox_band *band);

/* Which blocks of channels of a band are units [first, behind) of all work: [return value, *end). All bands of a block
 * are units behind each other, so that shares of threads are written far from each other. */
int64_t ox_band_share(const ox_band *band, int64_t number, int64_t first, int64_t behind, int64_t *end);

/* Lays out what the windows of a place see of `count` channels from one on, in as many rooms, which are `next` elements
 * apart. Padding is left as it is: see ox_band_enter. */
void ox_band_lay(const ox_band *band, const ox_band_place *place, int64_t count, const void *channel, void *room,
                 int64_t next);

/* Finds a band, and fills rooms, as above, with the value of padding, if that lies in other elements than for the band
 * before: the one at *place, whose rows are 0 if there is none. */
void ox_band_enter(const ox_band *band, int64_t number, const void *value, int64_t rooms, void *room, int64_t next,
                   ox_band_place *place);

/* The taps of a band, from what is laid out in a room. */
ox_direct_tile ox_band_tile(const ox_band *band, const ox_band_place *place, const void *room);

/* The same of an image of two dimensions that is read where it lies, instead of what was laid out; a row of padding is
 * in the room. */
void ox_band_in_place(const ox_band *band, const ox_band_place *place, ox_direct_tile *tile);

#endif
