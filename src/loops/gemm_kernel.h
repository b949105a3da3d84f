/* gemm_kernel.h: what a build of the loops has for products: the layout of panels, and the tiles that multiply them.
 *
 * A block of A lies in rows of a fixed length, k along the row. A block of B lies in panels of `columns` columns: for
 * each k (or group of k) a row of the panel, so that a tile reads both from start to end. */
#ifndef OX_LOOPS_GEMM_KERNEL_H
#define OX_LOOPS_GEMM_KERNEL_H

#include "finish.h"

struct ox_loops; /* lanes.h */

/* Rows of tiles: six, or four in WebAssembly, where six would leave no register for products. OX_ROWS_5_6 is for what
 * tiles of more rows need. */
#if defined(__wasm_simd128__)
#define OX_GEMM_MOST_ROWS 4
#define OX_ROWS_5_6(...)
#else
#define OX_GEMM_MOST_ROWS 6
#define OX_ROWS_5_6(...) __VA_ARGS__
#endif

enum {
    OX_GEMM_DEPTH = 256, /* most groups of elements along k in a block */
    OX_GEMM_PAD = 64,    /* bytes between the rows of a block of A: neighbours fall into different cache sets */
    OX_GEMM_SAME_PLACES = 1 << 10, /* bytes between rows that share places in the caches, as do multiples of it */
    OX_GEMM_PANEL_ROW = 256,       /* most bytes that one k takes in a panel of B */
    OX_GEMM_TILE_ROWS = OX_GEMM_MOST_ROWS, /* most rows of a tile */
    OX_GEMM_WOVEN = 8,                     /* bytes of a row that lie together where rows are woven */
    OX_GEMM_WOVEN_ROWS = 5,                /* fewest rows of a tile of woven ones */
    OX_GEMM_STEPS = 4                      /* groups of k that a tile adds in a turn of its loop */
};

/* A matrix that somebody else owns: data, and bytes from row to row and from column to column. */
typedef struct ox_gemm_matrix {
    ox_dtype dtype;
    const void *data;
    int64_t row, col;
} ox_gemm_matrix;

/* C (rows x columns, c_row bytes between rows) = A * B over `depth` elements of k, or += if `add`. Rows of A are a_row
 * bytes apart, those of B b_row bytes. Columns beyond `columns`, up to the kernel's unit, are read in B and not written
 * in C. 1 <= rows <= kernel rows, 1 <= columns <= kernel columns, depth >= 1. Every OX_GEMM_STEPS groups of k prefetch
 * as many cache lines: from `ahead` on, ahead_stream bytes apart, the next ones ahead_step bytes further. */
typedef struct ox_gemm_tile {
    int64_t rows, columns, depth;
    const char *a, *b;
    int64_t a_row, b_row;
    char *c;
    int64_t c_row;
    bool add;
    const ox_finish *finish; /* of tiles of floats: NULL, or what is done last, for the tile's rows and columns */
    const char *ahead;
    int64_t ahead_stream, ahead_step;
} ox_gemm_tile;
typedef void ox_gemm_tile_fn(const ox_gemm_tile *tile);

/* Where groups of rows of B lie one after the other outside of panels: the columns of a tile lie side by side from an
 * address on. Those whose bit is not set are not there, and not read. */
typedef struct ox_gemm_place {
    uintptr_t from;
    uint64_t within;
    int64_t groups;
} ox_gemm_place;

/* All groups of a tile's rows of B, which are `step` bytes apart in a place; what is not there is made of `fill`. */
typedef struct ox_gemm_places {
    int64_t count;
    uintptr_t step;
    uint32_t fill;
    ox_gemm_place place[];
} ox_gemm_places;

/* Weaves rows for a tile: OX_GEMM_WOVEN bytes of each row, then the next ones of each, up to zeros behind the last.
 * Five rows lie as six do, and the last is there twice. */
typedef void ox_gemm_weave_fn(int64_t rows, int64_t bytes, const char *from, int64_t from_row, char *to);

/* c[n] += a[k] * B, a row vector of elements a_step bytes apart; B has packed rows, b_row bytes apart. */
typedef void ox_gemm_rows_fn(int64_t n, int64_t k, const char *a, int64_t a_step, const char *b, int64_t b_row,
                             char *c);

/* c[n] += a[k] * B, a packed row vector; B has packed columns, b_col bytes apart. */
typedef void ox_gemm_dots_fn(int64_t n, int64_t k, const char *a, const char *b, int64_t b_col, char *c);

/* Finishes sums that lie in memory: rows of packed columns, c_row bytes apart. */
typedef void ox_gemm_finish_fn(int64_t rows, int64_t columns, char *c, int64_t c_row, const ox_finish *finish);

typedef struct ox_gemm_kernel ox_gemm_kernel;

/* Bytes of all of a matrix B of k rows and n columns in panels; false if they overflow. */
typedef bool ox_gemm_packed_size_fn(const ox_gemm_kernel *kernel, int64_t k, int64_t n, size_t *size);

/* A block of a panel, which has some rows of the panel's columns: its first byte, counted from that of all panels, and
 * how many it has. Behind it lies the block of the same rows in the next panel, or that of the next rows in the first
 * one. Then the bytes from one k to the next, as tiles count them, from one group of them to the next, and from one
 * column to the next. */
typedef struct ox_gemm_span {
    int64_t start, bytes, row, group, column;
} ox_gemm_span;

/* Where rows [k, k + depth) of the panel that begins at a column lie in the panels of n columns. */
typedef ox_gemm_span ox_gemm_find_panel_fn(const ox_gemm_kernel *kernel, int64_t n, int64_t k, int64_t depth,
                                           int64_t column);

/* Lays out rows x columns elements of a matrix (which starts there) in the kernel's rows, to_row bytes apart: of A,
 * each filled up with zeros to whole groups; of B, groups of rows of a panel, to_row being its ox_gemm_span.row, each
 * filled up to that. `stage` has room for OX_GEMM_STAGE bytes. */
typedef void ox_gemm_pack_fn(const struct ox_loops *loops, const ox_gemm_matrix *from, int64_t rows, int64_t columns,
                             char *to, int64_t to_row, char *stage);
enum {
    OX_GEMM_STAGE = 2 * OX_GEMM_DEPTH * OX_GEMM_PANEL_ROW
};

/* `columns`, `unit` and `group` are powers of two. */
struct ox_gemm_kernel {
    ox_dtype a, b, c;  /* types of the elements in panels and of C */
    int rows, columns; /* of a full tile */
    int unit;          /* panels are as wide as a multiple of it */
    int depth;         /* most elements along k in a block */
    int group;         /* elements along k that lie together; blocks start at multiples */
    int64_t a_row;     /* bytes */
    ox_gemm_tile_fn *tile;
    ox_gemm_weave_fn *weave;     /* or NULL: for tiles of OX_GEMM_WOVEN_ROWS rows or more, ... */
    ox_gemm_tile_fn *woven_tile; /* ... whose rows of A are woven; a_row is not used. The sums are the same ones */
    ox_gemm_tile_fn *row_tile;   /* or NULL: for products of one row, whose sums it adds in another order. It takes all
                                  * columns of panels that lie behind each other, and does not look ahead. */
    ox_gemm_tile_fn *place_tile; /* or NULL: of which `b` has ox_gemm_places */
    ox_gemm_finish_fn *finish;   /* NULL if sums are not finished by these loops */
    ox_gemm_rows_fn *row_vector; /* NULL if there is neither this nor dots */
    ox_gemm_dots_fn *dots;
    ox_gemm_packed_size_fn *packed_size;
    ox_gemm_find_panel_fn *find_panel;
    ox_gemm_pack_fn *pack_a, *pack_b;
    uint32_t shift; /* what panels hold more than B has, of bytes; it wraps */
};

/* The kernel for products of matrices of these types. Those that are not of bytes are computed in the type of A. */
typedef const ox_gemm_kernel *ox_gemm_kernel_fn(ox_dtype a, ox_dtype b);

/* Copies `rows` rows of so many bytes; they do not overlap. */
typedef void ox_gemm_copy_fn(int64_t rows, size_t bytes, char *to, int64_t to_row, const char *from, int64_t from_row);

/* The layout of all kernels so far: panels that are a tile wide, but for the last one, block of k by block of k. Of
 * those that take single elements, the pack functions: any strides; 16-bit floats are widened. */
ox_gemm_packed_size_fn ox_gemm_size_of_panels;
ox_gemm_find_panel_fn ox_gemm_find_panel;
ox_gemm_pack_fn ox_gemm_pack_left, ox_gemm_pack_panel;
ox_gemm_weave_fn ox_gemm_weave; /* on aarch64 */

#endif
