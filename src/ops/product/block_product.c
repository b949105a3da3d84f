/* block_product.c: products with weights in blocks, row by row or by tiles. */
#include "block_product.h"

#include "ops/blocks.h"
#include "ops/dense.h"

#include <string.h>

#if !OX_SMALL

enum {
    COLUMNS = 256,          /* of C that are finished together; a multiple of OX_BLOCK_ROWS */
    TILED_COLUMNS = 64,     /* at most so many by tiles, as many as panels of PANELS_BYTES have, */
    PANELS_BYTES = 1 << 18, /* which stay in the second cache, */
    TILED_ROWS = 64,        /* and so many rows; a multiple of OX_BLOCK_TILE */
    LEAST_TILED = 4,        /* rows that pay for unpacking */
    LONGEST = 512           /* block whose sums of products of bytes are whole numbers as floats, too */
};

/* Sums of a lane's products come before the scale of its block: those of huge elements of A might overflow, and those
 * of tiny ones lose bits, though the result does not. So such rows are multiplied by a power of two first. */
#define HUGE_ELEMENT 0x1p100F
#define TINY_ELEMENT 0x1p-100F
#define OF_HUGE 0x1p-32F
#define OF_TINY 0x1p64F

/* Scales, or zero points: floats of some type, or packed. */
typedef struct entries {
    const char *data; /* NULL if there are none */
    ox_dtype dtype;
    int64_t bytes;  /* of those of a row of weights */
    int64_t direct; /* rows before this one are floats behind which some may be read */
} entries;

typedef struct product_job {
    const ox_call *call;
    const ox_block_product *product;
    const ox_gemm *g;
    const uint8_t *weights;
    entries scales, zeros;
    const ox_f32 *from; /* A, and */
    char *a;            /* its rows laid out; */
    float *factors;     /* of each, what it is multiplied by first; 0 if it is laid out as bytes */
    char *rooms;
} product_job;

/* A thread's memory. */
typedef struct thread_room {
    float *row, *lists;
    char *sums, *panels;
    void *scratch;
} thread_room;

/* Columns of C that threads share one of. */
static int64_t columns_each(const ox_block_product *product) {
    return product->tiles ? product->columns : OX_BLOCK_ROWS;
}

static int64_t list_length(const ox_block_product *product) {
    return product->row.blocks + OX_BLOCK_BEHIND;
}

/* ---- Planning ----------------------------------------------------------------------------------------------- */

bool ox_block_product_can(const ox_call *call, const ox_gemm *g, ox_block_product *product) {
    /* Zero points that are no integers would leave rounding errors of what cancels out. */
    const ox_tensor *zeros = ox_call_given(call, OX_BLOCKS_ZEROS) ? call->in[OX_BLOCKS_ZEROS] : NULL;
    product->by_bytes = product->rounds && product->loops->bytes_dots && (!zeros || zeros->dtype == OX_UINT8);
    product->tiles =
        product->by_bytes && g->m >= LEAST_TILED && product->row.block <= LONGEST ? product->loops->tiles : NULL;
    return g->m > 0 && (product->tiles || g->m <= OX_BLOCK_FEW);
}

/* So many that each thread has some, and that panels stay in a cache. */
static int64_t columns_together(const ox_block_product *product, int64_t n) {
    const ox_block_tiles *tiles = product->tiles;
    if (!tiles)
        return COLUMNS;
    const int64_t fit = PANELS_BYTES / (int64_t)tiles->size(&product->row),
                  each = n / ox_pool_parts(product->pool) / tiles->lanes,
                  panels = ox_least(ox_least(fit, each), TILED_COLUMNS / tiles->lanes);
    return panels > 1 ? panels * tiles->lanes : tiles->lanes;
}

static int64_t bytes_of(int64_t count, size_t size) {
    return (int64_t)ox_aligned((size_t)count * size);
}

static void plan_room(const ox_gemm *g, ox_block_product *product) {
    const ox_block_row *row = &product->row;
    const size_t floats = product->loops->size(row), bytes = (size_t)(row->k + row->blocks) * sizeof(float),
                 after = ox_epilogue_scratch(g->after.epilogue);
    ox_block_room *r = &product->room;
    r->row = bytes_of(1, product->rounds && bytes > floats ? bytes : floats);
    r->lists =
        bytes_of(list_length(product) * 2 * (product->tiles ? product->tiles->lanes : OX_BLOCK_ROWS), sizeof(float));
    r->sums = bytes_of((product->tiles ? ox_least(g->m, TILED_ROWS) : g->m) * product->columns, sizeof(float));
    r->panels = product->tiles ? bytes_of(product->columns / product->tiles->lanes, product->tiles->size(row)) : 0;
    r->scratch = bytes_of(1, after > g->after.scratch ? after : g->after.scratch);
    r->all = (int64_t)ox_pool_room(ox_pool_parts(product->pool),
                                   (size_t)(r->row + r->lists + r->sums + r->panels + r->scratch));
}

ox_status ox_block_product_prepare(ox_call *call, const ox_gemm *g, ox_block_product *product) {
    const ox_block_loops *loops = product->loops;
    const ox_block_row *row = &product->row;
    const size_t floats = loops->size(row), bytes = product->by_bytes ? loops->bytes_size(row) : 0;
    product->laid =
        product->tiles ? (int64_t)product->tiles->a_size(row) : bytes_of(1, floats > bytes ? floats : bytes);
    product->pool = ox_pool_for(call->pool, (double)g->n * (double)row->bytes * (double)g->m);
    product->columns = columns_together(product, g->n);
    plan_room(g, product);
    ox_call_name(call, product->tiles      ? "tiles of bytes by blocks of weights"
                       : product->by_bytes ? "bytes by blocks of weights"
                                           : "rows of blocks of weights");
    OX_TRY(ox_dense_plan(call, call->in[OX_BLOCKS_A]));
    OX_TRY(ox_workspace_add(call, g->m, (size_t)product->laid));
    OX_TRY(ox_workspace_add(call, g->m, sizeof(float)));
    return ox_workspace_add(call, ox_pool_parts(product->pool), (size_t)product->room.all);
}

static thread_room room_of(const product_job *job, int number) {
    const ox_block_room *r = &job->product->room;
    char *at = job->rooms + number * r->all;
    return (thread_room){(float *)(void *)at, (float *)(void *)(at + r->row), at + r->row + r->lists,
                         at + r->row + r->lists + r->sums, at + r->row + r->lists + r->sums + r->panels};
}

/* ---- Rows of A ---------------------------------------------------------------------------------------------- */

/* Rows of the tile that begins with row i. */
static int tile_at(int64_t i, int64_t m) {
    int count = OX_BLOCK_TILE;
    while (count > m - i)
        count /= 2;
    return count;
}

/* As floats, rounded or as they are: what has huge or infinite elements is not rounded. The row's factor. */
static float lay_floats(const product_job *job, const ox_f32 *a, float *rounded, char *to) {
    const ox_block_product *product = job->product;
    const ox_block_row *row = &product->row;
    const float most = product->loops->greatest(row->k, a), factor = most < TINY_ELEMENT   ? OF_TINY
                                                                     : most < HUGE_ELEMENT ? 1
                                                                                           : OF_HUGE;
    const bool rounds = product->rounds && product->loops->round(row->k, row->block, a, NULL, NULL, rounded);
    product->loops->lay(row, rounds ? rounded : a, factor, to);
    return factor;
}

/* Row i, of a tile of `count` rows that begins with row `first`. */
static void lay_row(const product_job *job, int64_t i, int64_t first, int count, float *room) {
    const ox_block_product *product = job->product;
    const ox_block_row *row = &product->row;
    const ox_f32 *a = job->from + i * row->k;
    float *scales = room + row->k;
    const bool as_bytes =
        product->by_bytes && product->loops->round(row->k, row->block, a, (int8_t *)room, scales, NULL);
    job->factors[i] = as_bytes ? 0 : OF_HUGE;
    if (product->tiles && !as_bytes)
        memset(room, 0, (size_t)(row->k + row->blocks) * sizeof *room);
    if (product->tiles)
        product->tiles->lay(row, (const int8_t *)room, scales, (int)(i - first), count, job->a + first * product->laid);
    else if (as_bytes)
        product->loops->lay_bytes(row, (const int8_t *)room, scales, job->a + i * product->laid);
    else
        job->factors[i] = lay_floats(job, a, room, job->a + i * product->laid);
}

static void lay_share(void *context, ox_share *share) {
    const product_job *job = context;
    const int64_t m = job->g->m;
    float *room = room_of(job, share->room).row;
    int64_t tile, end;
    while (ox_share_next(share, &tile, &end))
        for (int64_t first = tile * OX_BLOCK_TILE; first < m && first < end * OX_BLOCK_TILE;) {
            const int count = tile_at(first, m);
            for (int64_t i = first; i < first + count; i++)
                lay_row(job, i, first, count, room);
            first += count;
        }
}

/* ---- Rows of weights ---------------------------------------------------------------------------------------- */

static entries entries_in(const ox_tensor *t, const ox_block_row *row, int64_t rows) {
    entries e = {0};
    if (!t)
        return e;
    e.data = t->data, e.dtype = t->dtype;
    e.bytes =
        t->dtype == OX_UINT8 ? ox_bits_bytes(row->blocks, row->bits) : row->blocks * (int64_t)ox_dtype_size(t->dtype);
    if (t->dtype == OX_FLOAT)
        e.direct = rows - ox_quotient(OX_BLOCK_BEHIND + row->blocks - 1, row->blocks);
    return e;
}

/* As floats in a list. */
static __attribute__((noinline)) void widen_entries(const product_job *job, const entries *e, const char *data,
                                                    float *list) {
    const ox_block_row *row = &job->product->row;
    char *const arg[] = {(char *)list, (char *)(uintptr_t)data};
    if (e->dtype == OX_UINT8)
        job->product->loops->zeros(row->bits, row->blocks, (const uint8_t *)data, list);
    else if (e->dtype == OX_FLOAT)
        memcpy(list, data, (size_t)e->bytes);
    else
        job->call->loops->widen(row->blocks, arg, (const int64_t[]){sizeof(float), (int64_t)ox_dtype_size(e->dtype)},
                                &e->dtype);
}

/* The entries of a row of weights, as floats behind which some may be read; `list` has place for them. */
static inline const ox_f32 *entries_of(const product_job *job, const entries *e, int64_t n, float *list) {
    const char *data = e->data + n * e->bytes;
    if (n < e->direct)
        return (const ox_f32 *)(const void *)data;
    widen_entries(job, e, data, list);
    return list;
}

/* The entries of `count` rows of weights, as floats, which are *apart floats apart. */
static const ox_f32 *entries_of_rows(const product_job *job, const entries *e, int64_t n, int64_t count, float *list,
                                     int64_t *apart) {
    const int64_t blocks = job->product->row.blocks;
    *apart = blocks;
    if (e->dtype == OX_FLOAT)
        return (const ox_f32 *)(const void *)e->data + n * blocks;
    *apart = list_length(job->product);
    for (int64_t i = 0; i < count; i++)
        (void)entries_of(job, e, n + i, list + i * *apart);
    return list;
}

/* Rows from n, of those before `end`. Zero points of `rows` are NULL at first; `widens`: not only packed ones are read.
 */
static inline void find_rows(const product_job *job, int64_t n, int64_t end, bool widens, float *list,
                             ox_block_rows *rows) {
    const ox_block_row *row = rows->row;
    const int64_t length = list_length(job->product);
    const uint8_t *weights = job->weights + n * row->bytes;
    rows->count = end - n >= OX_BLOCK_ROWS ? OX_BLOCK_ROWS : 1;
    for (int i = 0; i < rows->count; i++, list += 2 * length, weights += row->bytes) {
        rows->weights[i] = weights;
        rows->scales[i] = entries_of(job, &job->scales, n + i, list);
        if (job->zeros.data && job->zeros.dtype == OX_UINT8)
            rows->packed_zeros[i] = (const uint8_t *)job->zeros.data + (n + i) * job->zeros.bytes;
        if (job->zeros.data && widens)
            rows->zeros[i] = entries_of(job, &job->zeros, n + i, list + length);
    }
}

/* ---- Columns of C ------------------------------------------------------------------------------------------- */

/* A block of C without its data: rows [row, row + rows) of some columns. It is made in the thread's memory if more
 * follows. */
static ox_gemm_block block_at(const product_job *job, const thread_room *room, int64_t row, int64_t rows,
                              int64_t column, int64_t columns) {
    const ox_gemm *g = job->g;
    const int64_t width = sizeof(float);
    ox_gemm_block block = {row, rows, column, columns, room->sums, columns * width, room->scratch};
    if (!ox_gemm_is_taken(g))
        block.data = (char *)g->c + row * g->c_row + column * width, block.data_row = g->c_row;
    return block;
}

/* Products of some rows of weights and a row of A that is laid out. */
static void compute_row(const product_job *job, const ox_block_rows *rows, float factor, const char *a, float *to) {
    if (factor <= 0) {
        job->product->loops->bytes_dots(rows, a, to);
        return;
    }
    job->product->loops->dots(rows, a, to);
    if (factor < 1 || factor > 1)
        for (int i = 0; i < rows->count; i++)
            to[i] /= factor;
}

/* Row by row, the weights of some columns in turn. */
static void compute_rows(const product_job *job, const thread_room *room, const ox_gemm_block *block) {
    const ox_block_product *product = job->product;
    const int64_t end = block->column + block->columns;
    ox_block_rows rows = {.row = &product->row};
    bool has_floats = false;
    for (int64_t i = 0; i < block->rows; i++)
        has_floats = has_floats || job->factors[i] > 0;
    for (int64_t n = block->column; n < end; n += rows.count) {
        find_rows(job, n, end, has_floats, room->lists, &rows);
        for (int64_t i = 0; i < block->rows; i++) {
            float *to = (float *)(void *)(block->data + i * block->data_row) + (n - block->column);
            compute_row(job, &rows, job->factors[i], job->a + i * product->laid, to);
        }
    }
}

/* One after the other, with scales and zero points as floats. */
static void unpack_panels(const product_job *job, const thread_room *room, int64_t column, int64_t columns) {
    const ox_block_product *product = job->product;
    const ox_block_tiles *tiles = product->tiles;
    const ox_block_row *row = &product->row;
    const int64_t length = list_length(product), size = (int64_t)tiles->size(row);
    char *panel = room->panels;
    for (int64_t n = column; n < column + columns; n += tiles->lanes, panel += size) {
        ox_block_columns from = {.row = row, .columns = ox_least(tiles->lanes, column + columns - n)};
        from.weights = job->weights + n * row->bytes;
        from.scales = entries_of_rows(job, &job->scales, n, from.columns, room->lists, &from.scales_apart);
        if (job->zeros.data)
            from.zeros = entries_of_rows(job, &job->zeros, n, from.columns, room->lists + tiles->lanes * length,
                                         &from.zeros_apart);
        tiles->unpack(&from, panel);
    }
}

/* Row i of a block, by floats: it has huge elements. */
static void compute_apart(const product_job *job, const thread_room *room, const ox_gemm_block *block, int64_t i) {
    const ox_block_product *product = job->product;
    const int64_t end = block->column + block->columns;
    float *to = (float *)(void *)(block->data + i * block->data_row);
    ox_block_rows rows = {.row = &product->row};
    product->loops->lay(&product->row, job->from + (block->row + i) * product->row.k, OF_HUGE, room->row);
    for (int64_t n = block->column; n < end; n += rows.count, to += rows.count) {
        find_rows(job, n, end, true, room->lists, &rows);
        compute_row(job, &rows, OF_HUGE, (const char *)room->row, to);
    }
}

static void compute_tiles(const product_job *job, const thread_room *room, const ox_gemm_block *block) {
    const ox_block_product *product = job->product;
    const ox_block_tiles *tiles = product->tiles;
    const int64_t size = (int64_t)tiles->size(&product->row), width = sizeof(float);
    ox_block_tile tile = {.row = &product->row};
    for (int64_t i = 0; i < block->rows; i += tile.count) {
        tile.count = tile_at(block->row + i, job->g->m);
        tile.a = job->a + (block->row + i) * product->laid;
        tile.panel = room->panels;
        for (int64_t n = 0; n < block->columns; n += tiles->lanes, tile.panel += size) {
            tile.columns = ox_least(tiles->lanes, block->columns - n);
            tiles->multiply(&tile, block->data + i * block->data_row + n * width, block->data_row);
        }
    }
    for (int64_t i = 0; i < block->rows; i++)
        if (job->factors[block->row + i] > 0)
            compute_apart(job, room, block, i);
}

/* Columns [column, end) of C. */
static void compute_columns(const product_job *job, const thread_room *room, int64_t column, int64_t end) {
    const bool tiled = job->product->tiles != NULL;
    const int64_t m = job->g->m, most = tiled ? TILED_ROWS : m;
    if (tiled)
        unpack_panels(job, room, column, end - column);
    for (int64_t i = 0; i < m; i += most) {
        const ox_gemm_block block = block_at(job, room, i, ox_least(most, m - i), column, end - column);
        (tiled ? compute_tiles : compute_rows)(job, room, &block);
        if (ox_gemm_is_taken(job->g))
            ox_gemm_take_block(job->g, &block);
    }
}

static void columns_share(void *context, ox_share *share) {
    const product_job *job = context;
    const ox_block_product *product = job->product;
    const thread_room room = room_of(job, share->room);
    const int64_t unit = columns_each(product);
    int64_t first, end;
    while (ox_share_next(share, &first, &end)) {
        const int64_t last = ox_least(job->g->n, end * unit);
        for (int64_t j = first * unit; j < last; j += product->columns) {
            if (ox_pool_poll(product->pool))
                return;
            compute_columns(job, &room, j, ox_least(last, j + product->columns));
        }
    }
}

void ox_block_product_run(const ox_call *call, size_t *used, const ox_block_product *product, const ox_gemm *g) {
    const ox_tensor *zeros = ox_call_given(call, OX_BLOCKS_ZEROS) ? call->in[OX_BLOCKS_ZEROS] : NULL;
    product_job job = {.call = call, .product = product, .g = g, .weights = call->in[OX_BLOCKS_B]->data};
    job.scales = entries_in(call->in[OX_BLOCKS_SCALES], &product->row, g->n);
    job.zeros = entries_in(zeros, &product->row, g->n);
    job.from = ox_dense_in(call, used, call->in[OX_BLOCKS_A]).data;
    job.a = ox_workspace_take(call, used, g->m, (size_t)product->laid);
    job.factors = ox_workspace_take(call, used, g->m, sizeof(float));
    job.rooms = ox_workspace_take(call, used, ox_pool_parts(product->pool), (size_t)product->room.all);
    ox_pool_share(product->pool, (g->m - 1) / OX_BLOCK_TILE + 1, 1, lay_share, &job);
    ox_pool_share(product->pool, (g->n - 1) / columns_each(product) + 1, 1, columns_share, &job);
}

#endif
