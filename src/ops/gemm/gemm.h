/* gemm.h: the matrix product that MatMul, Gemm and Conv share: its operands, and how it is cut into blocks. */
#ifndef OX_OPS_GEMM_GEMM_H
#define OX_OPS_GEMM_GEMM_H

#include "pool.h"
#include "ops/epilogue.h"
#include "loops/lanes.h"
#include "ops/op.h"
#include "store.h"

typedef struct ox_gemm ox_gemm;

/* Rows [row, row + rows) of columns [column, column + columns) of a matrix: where they lie, and the bytes between rows,
 * of packed columns. */
typedef struct ox_gemm_block {
    int64_t row, rows, column, columns;
    char *data;
    int64_t data_row;
    void *scratch; /* of a finished block of C: the bytes that the product asked for, the same for all blocks of a part
                    * of the pool */
} ox_gemm_block;

/* Writes a block of a matrix B to a panel. What is beyond `columns` must stay finite. Where the kernel takes groups of
 * rows, `stage` has room for all of them side by side. Threads call it at the same time. */
typedef void ox_gemm_panel_fn(const ox_gemm *gemm, const ox_gemm_block *panel, char *stage);

/* Writes a block of a matrix B as packed rows of its columns, so that columns are data_row bytes apart. Threads call it
 * at the same time. */
typedef void ox_gemm_columns_fn(const ox_gemm *gemm, const ox_gemm_block *to);

/* Narrows rows [*k, *k + *depth) of a matrix B to those where columns [column, column + columns) may hold something
 * else than zeros. Threads call it at the same time. */
typedef void ox_gemm_seen_fn(const ox_gemm *gemm, int64_t column, int64_t columns, int64_t *k, int64_t *depth);

/* Takes a finished block of C, in the kernel's type, to bring it where ox_gemm_out says. It lies in a cache and may be
 * changed; every element comes once. Threads call it at the same
 * time. */
typedef void ox_gemm_end_fn(const ox_gemm *gemm, const ox_gemm_block *block);

/* Matrices whose columns are computed as those of one, but not transposed: how many each has, and the elements from one
 * result to the next, which are packed. */
typedef struct ox_gemm_sides {
    int64_t columns, step;
} ox_gemm_sides;

/* What becomes of the sums of a product, in this order; what is not there changes nothing. */
typedef struct ox_gemm_after {
    ox_finish finish;      /* if it is used, what tiles of floats do with them, */
    int64_t finish_count;  /* and if not 0, rows of all products after which scale and add begin again: a multiple of m,
                            * so that they do not within a product */
    ox_gemm_end_fn *end;   /* if not NULL, it takes C block by block; */
    bool in_place;         /* it may receive the memory of C itself, */
    size_t scratch;        /* and wants so many bytes */
    ox_epilogue *epilogue; /* if not NULL, it takes C after that; `c` is not used. Where tiles can do what it does, it
                            * becomes `finish` when the product is prepared */
} ox_gemm_after;

/* C[m,n] = A[m,k] * B[k,n]. Integers wrap; floats of 16 bits are widened and summed as floats. */
struct ox_gemm {
    int64_t m, n, k;
    ox_gemm_matrix a, b;
    bool left_is_weights;       /* and B is data, whose columns the next step shares out, too */
    const void *panels;         /* if not NULL, all of B as ox_gemm_pack left it */
    ox_gemm_panel_fn *panel;    /* if not NULL, it gives B panel by panel, */
    bool is_placed;             /* or the ox_gemm_places of its columns: the kernel has tiles that read it there */
    const void *left_panels;    /* if not NULL, all of A, transposed, as ox_gemm_pack left it: the transposed product
                                 * is computed, with the rows of B along the registers */
    ox_gemm_columns_fn *gather; /* of such a product: if not NULL, it gives B column by column */
    ox_gemm_seen_fn *seen;      /* if not NULL, zeros of gathered columns are left out; no element of A may be infinite
                                 * or NaN */
    void *c;                    /* without after.end: in the type that is computed in, packed columns, */
    int64_t c_row;              /* so many bytes between rows; one product of a batch behind the other */
    ox_gemm_after after;
    const void *context, *extra; /* for panel and after.end */
    int64_t start;               /* elements of C in the products before this one; ox_gemm_run adds to it */
    const ox_gemm_sides *sides;  /* if not NULL, C is several matrices side by side */
};

/* True if something follows the sums. */
static inline bool ox_gemm_is_ended(const ox_gemm *g) {
    return g->after.end || g->after.epilogue;
}

/* True if C is made block by block, and taken from there. */
static inline bool ox_gemm_is_taken(const ox_gemm *g) {
    return ox_gemm_is_ended(g) || g->sides || g->left_panels;
}

/* Where after.end writes row i of a block, of elements of `size` bytes: over the block itself if more follows. */
static inline char *ox_gemm_out(const ox_gemm *g, const ox_gemm_block *block, int64_t i, int64_t size) {
    return g->after.epilogue ? block->data + i * block->data_row
                             : (char *)g->c + (block->row + i) * g->c_row + block->column * size;
}

enum {
    OX_GEMM_VECTOR_COLUMNS = 2048, /* of C, the most that are finished at a time where it is one row */
    OX_GEMM_ROW_BYTES = 8 << 20    /* the most of weights that are laid out for one row */
};

/* How a product is computed. */
typedef enum ox_gemm_algorithm {
    OX_GEMM_PANELS = 0, /* panels of A and B, tiles of C */
    OX_GEMM_ROW_VECTOR, /* one row, along the rows of B */
    OX_GEMM_DOTS        /* one row, along the columns of B */
} ox_gemm_algorithm;

/* How products of one shape are cut. */
#if OX_SMALL
typedef struct ox_gemm_plan {
    size_t bytes, panel_bytes; /* the workspace, and its start: room for a panel */
} ox_gemm_plan;
#else
typedef struct ox_gemm_plan {
    const ox_loops *loops;
    const ox_gemm_kernel *kernel;
    ox_gemm_tile_fn *tile;
    ox_pool *pool;   /* NULL if the work is not worth it */
    bool batched;    /* threads take whole products */
    bool transposed; /* the transposed product is computed: of one column as one row, or with panels of A */
    bool direct;     /* tiles read B as it lies, not in panels, ... */
    const ox_pass_affine *affine; /* what tiles do of what the epilogue does, ... */
    bool by_column;               /* ... with a value for each column; NULL: nothing */
    int64_t finish_count;
    int64_t edge; /* ... but for so many columns, whose last vector is not full */
    bool strips;  /* threads take whole chunks of columns, and lay out panels of their own for them */
    ox_gemm_algorithm algorithm;
    int64_t depths;        /* blocks along k, of even size */
    int64_t rows, columns; /* the most of a block of C */
    bool whole;            /* shares of threads are too small to cut pieces off */
    int64_t taken;         /* rows that a thread takes at a time: panels that no cache keeps are read by blocks */
    int64_t strip;         /* columns of such a block that are transposed at a time */
    int64_t chunk;         /* the most columns of B that lie in panels at a time */
    size_t panel_bytes;    /* the workspace: room for panels, ... */
    size_t stage, a_bytes, c_bytes, back_bytes, side_bytes, scratch; /* ... and for each thread */
} ox_gemm_plan;

/* Bytes between the rows of a block of C beyond its columns: those of one that is transposed share no places in a
 * cache. */
static inline int64_t ox_gemm_block_pad(const ox_gemm_plan *plan) {
    return plan->transposed ? OX_GEMM_PAD : 0;
}
#endif

/* The loops of a plan; devices have one kind. */
static inline const ox_loops *ox_gemm_loops(const ox_gemm_plan *plan) {
#if OX_SMALL
    (void)plan;
    return NULL;
#else
    return plan->loops;
#endif
}

/* Prepare: plans `count` products of this shape, types and strides, and asks for their workspace. Data may be missing
 * from g; `panels` says whether there are any. */
ox_status ox_gemm_prepare(ox_call *call, const ox_gemm *g, int64_t count, ox_gemm_plan *plan);

/* Prepare: says how products of a plan are computed, as the algorithm of the node. Devices have one way. */
#if OX_SMALL
static inline void ox_gemm_name(ox_call *call, const ox_gemm *g, const ox_gemm_plan *plan) {
    (void)call, (void)g, (void)plan;
}
#else
void ox_gemm_name(ox_call *call, const ox_gemm *g, const ox_gemm_plan *plan);
#endif

/* Run: c[columns] = the row of A times `columns` columns of B from `column` on, for the algorithms of one row. `stage`
 * has plan->stage bytes. */
void ox_gemm_vector(const ox_gemm_plan *plan, const ox_gemm *g, int64_t column, int64_t columns, char *stage, char *c);

/* Has an element added to all sums of a row, where the product's loops do that: `count` elements, a multiple of m, for
 * the rows of all products, which begin again behind the last one, in the type that is computed in. False if the loops
 * do not. `add` may be NULL in prepare. On devices sums begin with it, which is
 * one of those that `extra` points to. */
#if OX_SMALL
static inline bool ox_gemm_add_to_rows(const ox_loops *loops, const void *add, int64_t count, ox_gemm *g) {
    (void)loops, (void)add, (void)count;
    g->after.finish.is_used = OX_HAS(OX_FLOAT) && (!OX_HAS(OX_DOUBLE) || g->b.dtype == OX_FLOAT);
    return g->after.finish.is_used;
}
#else
bool ox_gemm_add_to_rows(const ox_loops *loops, const void *add, int64_t count, ox_gemm *g);
#endif

/* The same products without an epilogue, where plan->affine is set. Data is NULL before it is known. */
ox_gemm ox_gemm_finished(const ox_gemm_plan *plan, const ox_gemm *g);

/* Moves what sums are finished with to the first row of a product of a batch. */
void ox_gemm_place_finish(ox_gemm *product);

/* The transposed product, which has the same elements. */
ox_gemm ox_gemm_transpose(const ox_gemm *g);

/* Bytes of workspace for one thread, and how many rooms for panels there are. */
size_t ox_gemm_part_bytes(const ox_gemm_plan *plan);
int ox_gemm_panel_copies(const ox_gemm_plan *plan);

/* Run: that workspace. */
void *ox_gemm_take(const ox_call *call, size_t *used, const ox_gemm_plan *plan);

/* Hands on a block of the product, whose rows are packed. */
void ox_gemm_take_block(const ox_gemm *g, const ox_gemm_block *block);

/* Where after.end has its scratch memory in part `part` of the pool. */
void *ox_gemm_scratch(const ox_gemm_plan *plan, void *workspace, int part);

/* Sets operands and extra of product i of a batch. */
typedef void ox_gemm_place_fn(const void *places, int64_t i, ox_gemm *gemm);

/* Product i of a batch, in place. */
static inline ox_gemm ox_gemm_product(const ox_gemm *gemm, int64_t i, ox_gemm_place_fn *place, const void *places) {
    ox_gemm g = *gemm;
    place(places, i, &g);
    g.start += i * g.m * (g.sides ? g.sides->columns : g.n);
    if (g.c)
        g.c = (char *)g.c + i * g.m * g.c_row;
    return g;
}

/* Computes `count` products that differ in place only. Each element of C is the same sum, in the same order, whatever
 * the number of threads is. */
void ox_gemm_run(const ox_gemm_plan *plan, const ox_gemm *gemm, int64_t count, ox_gemm_place_fn *place,
                 const void *places, void *workspace);

/* True if tiles can read B where it is. */
bool ox_gemm_reads_in_place(const ox_gemm_kernel *kernel, const ox_gemm *g);

/* Lays all of a product's B out in panels. `stage` has OX_GEMM_STAGE bytes. */
void ox_gemm_pack(const ox_loops *loops, const ox_gemm_kernel *kernel, const ox_gemm *g, char *panels, char *stage);

/* The matrices B of `count` products, of which `gemm` says n and k, and `place` the rest. */
typedef struct ox_gemm_weights {
    const ox_gemm_kernel *kernel;
    const ox_gemm *gemm;
    int64_t count;
    ox_gemm_place_fn *place;
    const void *places;
    const ox_store_key *key;
} ox_gemm_weights;

/* Prepare: their panels, laid out once for all sessions, *each bytes apart; if there is no room for them, *panels is
 * NULL, and *each what it was. */
ox_status ox_gemm_lay_once(ox_call *call, const ox_gemm_weights *weights, size_t *each, const void **panels);

/* Whether weights are worth panels for a product of so many rows. One row reads them once: what caches keep from run to
 * run is read faster from panels, but not where panels are wider, and the rest is not worth a copy. */
static inline bool ox_gemm_wants_panels(const ox_gemm *g, int64_t rows) {
    return rows > 1 || (ox_dtype_compute(g->b.dtype) == g->b.dtype &&
                        g->k * g->n <= OX_GEMM_ROW_BYTES / (int64_t)ox_dtype_size(g->b.dtype));
}

/* Prepare: operand B of a product laid out in panels, if it is input `input` and the model's own: then g->panels is
 * set, for the first of its matrices, which lies where g->b.data says (NULL: where the input begins). `rank` dims and
 * byte strides lead to the others, whose panels are *each bytes apart; *each stays where there are none. */
ox_status ox_gemm_find_weights(ox_call *call, int input, int rank, const int64_t *dims, const int64_t *strides,
                               ox_gemm *g, size_t *each);

#endif
