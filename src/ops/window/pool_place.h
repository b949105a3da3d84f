/* pool_place.h: what the windows of a pool see of an image. */
#ifndef OX_OPS_WINDOW_POOL_PLACE_H
#define OX_OPS_WINDOW_POOL_PLACE_H

#include "pool.h"
#include "window.h"

/* What a window sees in one dimension: its first tap inside the image, how many there are, and how many count. */
typedef struct ox_pool_place {
    int64_t from, taps, counted;
} ox_pool_place;

/* A pool's geometry from its attributes. */
ox_status ox_pool_geometry(ox_call *call, ox_window *window);

/* Infer of pools: output 0 (and Indices) of these windows, `dtype` its type; out is NULL for one window. */
ox_status ox_pool_infer(ox_call *call, ox_dtype dtype, const int64_t *out);

/* Prepare: places for each window of each dimension, one dimension after the other. Padding counts if it is
 * `padded`. */
ox_status ox_pool_find_places(ox_call *call, const ox_window *window, bool padded, ox_pool_place **places);

/* The places of the last dimension. */
const ox_pool_place *ox_pool_last_places(const ox_window *window, const ox_pool_place *places);

/* How many elements count where one window sees all of an image, 0 where windows see parts. */
int64_t ox_pool_count_whole(const ox_window *window, const ox_pool_place *places);

/* The rows of an image that one row of windows sees: all dimensions but the last. */
typedef struct ox_pool_rows {
    ox_bcast plan; /* the innermost of those dimensions first */
    int64_t dim[OX_WINDOW_DIMS], step[OX_WINDOW_DIMS];
    const char *from; /* the start of the first of the rows */
    int64_t inside;   /* rows, ... */
    double counted;   /* ... and those that count */
} ox_pool_rows;

/* Those of the row of windows at an index, in a channel of elements of `width` bytes. The plan points into *rows. */
void ox_pool_find_rows(const ox_window *window, const ox_pool_place *places, int64_t width, const int64_t *index,
                       const char *channel, ox_pool_rows *rows);

/* How the rows of results of all channels are cut. */
typedef struct ox_pool_cut {
    int64_t channels;    /* of all images */
    int64_t rows, parts; /* of a channel of the result; and those that a row is cut into, of ... */
    int64_t some;        /* ... so many windows */
} ox_pool_cut;

/* The cut of these windows, `some` at a time. */
ox_pool_cut ox_pool_cut_of(const ox_window *window, int64_t channels, int64_t some);

/* Windows [first, first + count) of a row of results, the rows that they see, and the number of the first result. */
typedef struct ox_pool_stretch {
    ox_pool_rows rows;
    int64_t channel, first, count, result;
} ox_pool_stretch;

/* What takes all of them; elements have `width` bytes. */
typedef struct ox_pool_walk {
    const ox_window *window;
    const ox_pool_place *places;
    const ox_pool_cut *cut;
    int64_t width;
    const char *from; /* the images */
    void (*take)(const void *context, const ox_pool_stretch *windows);
    const void *context;
} ox_pool_walk;

/* Goes over a part of the pool's work: for ox_pool_run_pieces, `context` being an ox_pool_walk. */
void ox_pool_walk_part(void *context, int part, int parts);

#endif
