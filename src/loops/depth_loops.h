/* depth_loops.h: convolutions of bytes whose groups have one input channel: what the taps of a kernel see of rows that
 * are laid out, summed and made bytes in registers. */
#ifndef OX_LOOPS_DEPTH_LOOPS_H
#define OX_LOOPS_DEPTH_LOOPS_H

#include "integer_loops.h"

enum {
    OX_DEPTH_MARGIN = 512, /* bytes behind what windows see that are read, too */
    OX_DEPTH_STEPS = 5,    /* the most of stride and dilation along a row together */
    OX_PICK_WINDOWS = 64,  /* the most of a block whose taps are picked, */
    OX_PICK_LANES = 16,    /* of those of a vector, */
    OX_PICK_BYTES = 128    /* and bytes that are picked from, the last of which is the zero point */
};

/* What becomes of the sums of one output channel: `more` is added, `zero` times the sum of what a column sees is taken
 * off, and the result is scaled. */
typedef struct ox_channel_end {
    double scale;
    uint32_t more, zero;
    ox_proven proven;
} ox_channel_end;

/* Where rows of a channel are laid out. */
typedef struct ox_depth_room {
    uint8_t *start; /* what windows see, ... */
    uint8_t *place; /* ... and where in it the image goes */
    int64_t pitch;  /* bytes between its rows, a multiple of 4 */
    int64_t step;   /* bytes to a second such room, for the next channel; 0 if there is none */
} ox_depth_room;

/* Windows whose results lie side by side. They see a few bytes of the image, which begin at `from`. */
typedef struct ox_pick_block {
    int64_t from, count;
    uint64_t inside[2]; /* a bit for each byte that they see */
} ox_pick_block;

/* Blocks of windows that are a channel. For each block, word of taps and vector of windows there are 64 places among
 * what the block sees, of the four taps of each window. */
typedef struct ox_picks {
    int64_t count, vectors; /* of blocks, and of the windows of each */
    const ox_pick_block *blocks;
    const uint8_t *places;
    bool is_one; /* all blocks see fewer than 64 bytes */
} ox_picks;

/* Windows of some rows of results of some channels. The rows of the image that these see are laid out, a channel at a
 * time, as unsigned bytes between padding that is there. A row of the kernel is cut into words of as many taps as a
 * word has, with zeros behind the last. */
typedef struct ox_depth_tile {
    int64_t channels;           /* of results, */
    int64_t sharing, shared;    /* so many of which see the same channel of the image, as did `shared` before them */
    const uint8_t *image;       /* the first row that is laid out of the first channel; packed rows */
    int64_t image_step;         /* bytes to the next channel */
    int64_t inside, wide, flip; /* rows and columns that are laid out, and bits of each byte that are turned */
    ox_depth_room room;
    int64_t rows, columns, high, stride, dilation; /* of windows; `high` and `stride` are the two strides */
    int64_t words;
    const int64_t *offsets;    /* of the first tap of each word, in bytes, */
    const uint32_t *weights;   /* and its weights: four bytes, or two integers of 16 bits; channel by channel */
    const ox_channel_end *end; /* of each channel */
    ox_dtype dtype;            /* of results, */
    double zero;               /* and their zero point */
    uint8_t *to;               /* packed rows, */
    int64_t to_step;           /* and bytes to the next channel */
    const ox_picks *picks;     /* of whole channels, of which no rows are laid out */
    uint8_t fill;              /* the zero point of the image, as an unsigned byte */
} ox_depth_tile;
typedef void ox_depth_fn(const ox_depth_tile *tile);

typedef struct ox_depth_loops {
    int taps; /* in a word: 4, of int8, or 2 */
    ox_depth_fn *run;
    ox_depth_fn *pick; /* the same by ox_picks, without rooms; NULL where the processor cannot */
} ox_depth_loops;

/* The best loops for weights, which are int8 or else fit 16 bits; NULL where vectors cannot be picked from. */
typedef const ox_depth_loops *ox_depth_find_fn(bool is_int8);
extern ox_depth_find_fn *const ox_depth_builds[];

#endif
