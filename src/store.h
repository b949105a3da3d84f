/* store.h: what is made of a model's weights once, for all of its sessions: weights laid out for products. */
#ifndef OX_STORE_H
#define OX_STORE_H

#include "alloc.h"

typedef struct ox_store ox_store;

/* The layout of a block, one for each packing function and the kernels that read it. Every layout has its own name, so
 * that blocks of the same data, shape and build are never confused. */
typedef enum ox_layout {
    OX_LAYOUT_CONSTANT, /* what a node gives, packed; variant: which options change its bits */
    OX_LAYOUT_PACKED,   /* a weight with strides, packed */
    OX_LAYOUT_PANELS,   /* a product's B in panels, matrix by matrix: the outer dims and strides, then those of B */
    OX_LAYOUT_ROWS,     /* weights of a convolution in panels, tap by tap with all channels of a tap side by side */
    OX_LAYOUT_BESIDE,   /* the same, OX_BESIDE outputs side by side for each channel and tap */
    OX_LAYOUT_WORDS,    /* the same, by words of `variant` channels */
    OX_LAYOUT_WINOGRAD, /* the same, transformed for tiles of variant x variant results */
    OX_LAYOUT_TREES,    /* trees of the attributes `weights` for rows of dims[0]; variant: of floats, and their head */
    OX_LAYOUT_COLUMN_SUMS, /* sums of the columns of matrices of bytes, as kernels see them that add `variant` */
} ox_layout;

/* The source and layout of a block; two keys with equal members mean the same block. `bytes` is not compared: it is the
 * number of bytes read from `weights` on, 0 if `weights` is not memory. */
enum {
    OX_STORE_DIMS = 6
};
typedef struct ox_store_key {
    ox_layout layout;
    ox_dtype dtype;      /* of an element of the weights */
    const void *weights; /* the first of them, or the node of a constant */
    const void *build;   /* the loops that read the block, or the kernel among them */
    int64_t groups;      /* of a convolution, where the layout depends on them */
    int64_t variant;     /* of the layout */
    int64_t dims[OX_STORE_DIMS], strides[OX_STORE_DIMS];
    size_t bytes;
} ox_store_key;

/* Fills a block. */
typedef void ox_store_fn(const void *context, void *block);

/* Called with the bytes that a block was just made of, which are rarely read again. The store's lock is held. */
typedef void ox_store_read_fn(const void *context, const void *data, size_t bytes);

/* A store holds at most `limit` bytes, and frees them when it goes. */
ox_status ox_store_create(const ox_allocator *allocator, size_t limit, ox_store **store, ox_error *error);
void ox_store_free(ox_store *store);

/* Says that blocks of about so many bytes may come, before the first of them is there: memory is taken for several. */
void ox_store_expect(ox_store *store, size_t bytes);

/* Sets the function to call with bytes that have been read; call it before the first block is made. */
void ox_store_tell(ox_store *store, ox_store_read_fn *tell, const void *context);

/* In an ox_store_fn: calls that function with other bytes than the key's that the block is made of. */
void ox_store_told(const ox_store *store, const void *data, size_t bytes);

/* The block of that key, of `size` bytes aligned to OX_ALIGN; it is made if it does not exist. NULL if it would exceed
 * the limit, or does not exist and `make` is NULL. Sessions in several threads may call this at the same time. */
ox_status ox_store_get(ox_store *store, const ox_store_key *key, size_t size, ox_store_fn *make, const void *context,
                       const void **block, ox_error *error);

/* Whether it holds anything at all; false for NULL. */
bool ox_store_takes(const ox_store *store);

/* Bytes of all blocks. */
size_t ox_store_bytes(ox_store *store);

#endif
