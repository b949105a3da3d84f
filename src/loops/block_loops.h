/* block_loops.h: products with weights of 2, 4 and 8 bits in blocks, which have a scale and a zero point each; built
 * for each kind of processor.
 *
 * Weights are read by words of 32 bits, a vector of them at a time: word l of a vector holds 32 / bits weights that lie
 * behind each other along k. A row of A is laid out so that what is multiplied by the first weights of all words lies
 * together, then what is multiplied by the second ones, and so on. */
#ifndef OX_LOOPS_BLOCK_LOOPS_H
#define OX_LOOPS_BLOCK_LOOPS_H

#include "element.h"

enum {
    OX_BLOCK_ROWS = 4,    /* rows of weights that are read together */
    OX_BLOCK_BEHIND = 16, /* floats behind scales and zero points that may be read */
    OX_BLOCK_TILE = 8     /* rows of A of a tile, a power of two */
};

/* How rows of weights are packed. */
typedef struct ox_block_row {
    int bits;
    int64_t k, block, blocks;
    int64_t bytes;  /* of a row */
    bool has_zeros; /* else they are 2^(bits - 1) */
} ox_block_row;

/* Rows of weights: a power of two up to OX_BLOCK_ROWS. Scales are floats; zero points are floats where rows of A are,
 * and packed where these are bytes. */
typedef struct ox_block_rows {
    const ox_block_row *row;
    int count;
    const uint8_t *weights[OX_BLOCK_ROWS];
    const ox_f32 *scales[OX_BLOCK_ROWS];
    const ox_f32 *zeros[OX_BLOCK_ROWS];         /* all NULL if there are none, */
    const uint8_t *packed_zeros[OX_BLOCK_ROWS]; /* and so are these */
} ox_block_rows;

/* Bytes of a row of A that is laid out. */
typedef size_t ox_block_size_fn(const ox_block_row *row);

/* Lays out a row of A: k floats times a factor, or as bytes with a scale for each block. */
typedef void ox_block_lay_fn(const ox_block_row *row, const ox_f32 *a, float factor, void *to);
typedef void ox_block_lay_bytes_fn(const ox_block_row *row, const int8_t *a, const float *scales, void *to);

/* to[i] = the sum of A's row, which is laid out, times row i of the weights. */
typedef void ox_block_dots_fn(const ox_block_rows *rows, const void *a, float *to);

/* Rounds k floats to bytes, by the greatest of each block, which becomes 127 or -127, to the nearest, even ones of two;
 * false if one of them is 2^100 or more, or NaN. Either bytes and the scale of each block, or what they stand for. */
typedef bool ox_block_round_fn(int64_t k, int64_t block, const ox_f32 *a, int8_t *bytes, float *scales, float *floats);

/* The greatest absolute value of k floats; NaN if one is NaN. */
typedef float ox_block_greatest_fn(int64_t k, const ox_f32 *a);

/* Writes `count` weights of some rows, which are packed one behind the other, as floats: each row is a column, elements
 * of a column are to_row bytes apart. They begin with whole words at `weights`, `phase` weights behind the start of the
 * first block, whose scale and zero point are the first ones; those of the next row are so many floats behind. Zeros
 * may be NULL. */
typedef struct ox_block_columns {
    const ox_block_row *row;
    int64_t columns, phase;
    const uint8_t *weights;
    const ox_f32 *scales, *zeros;
    int64_t scales_apart, zeros_apart;
} ox_block_columns;
typedef void ox_block_widen_fn(const ox_block_columns *from, int64_t count, char *to, int64_t to_row);

/* Widens packed zero points of a row. */
typedef void ox_block_zeros_fn(int bits, int64_t count, const uint8_t *packed, float *to);

/* A tile of `count` rows of A, and a panel of which the first `columns` lanes are wanted. */
typedef struct ox_block_tile {
    const ox_block_row *row;
    int count;
    const char *a, *panel;
    int64_t columns;
} ox_block_tile;

/* Tiles: rows of A as bytes times a panel of `lanes` rows of weights, which are unpacked once for all rows of A. Rows
 * of A are laid out by tiles of OX_BLOCK_TILE, and the rest by tiles of smaller powers of two. */
typedef struct ox_block_tiles {
    int64_t lanes;            /* a multiple of OX_BLOCK_ROWS */
    ox_block_size_fn *a_size; /* bytes of a row of A in a tile, */
    ox_block_size_fn *size;   /* and of a panel */

    /* Writes row `i` of a tile of `count` rows. */
    void (*lay)(const ox_block_row *row, const int8_t *a, const float *scales, int i, int count, char *tile);

    /* Writes at most `lanes` rows of weights as lanes of a panel. */
    void (*unpack)(const ox_block_columns *from, char *panel);

    /* Writes the products; rows of C are to_row bytes apart. */
    void (*multiply)(const ox_block_tile *tile, char *to, int64_t to_row);
} ox_block_tiles;

typedef struct ox_block_loops {
    ox_block_round_fn *round;
    ox_block_greatest_fn *greatest;
    ox_block_zeros_fn *zeros;
    ox_block_size_fn *size;
    ox_block_lay_fn *lay;
    ox_block_dots_fn *dots;
    ox_block_widen_fn *widen;
    ox_block_size_fn *bytes_size; /* these: NULL where no instruction adds four products of bytes */
    ox_block_lay_bytes_fn *lay_bytes;
    ox_block_dots_fn *bytes_dots;
    const ox_block_tiles *tiles;
} ox_block_loops;

/* NULL on machines whose words begin with the highest byte. */
typedef const ox_block_loops *ox_block_find_fn(void);
extern ox_block_find_fn *const ox_block_builds[];

#endif
