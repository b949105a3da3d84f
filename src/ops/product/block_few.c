/* block_few.c: products of a few rows with weights in blocks. */
#include "block_few.h"

#include "ops/blocks.h"
#include "ops/dense.h"

#include <string.h>

#if !OX_SMALL

enum {
    COLUMNS = 256 /* of C that are finished together; a multiple of OX_BLOCK_ROWS */
};

/* Scales, or zero points: floats of some type, or packed. */
typedef struct entries {
    const ox_tensor *tensor; /* NULL if there are none */
    int64_t rows;
} entries;

typedef struct few_job {
    const ox_call *call;
    const ox_block_few *few;
    const ox_gemm *g;
    entries scales, zeros;
    char *a; /* laid out */
    bool as_bytes[OX_BLOCK_FEW];
    char *rooms;
} few_job;

static int64_t list_length(const ox_block_few *few) {
    return few->row.blocks + OX_BLOCK_BEHIND;
}

/* A thread's room: scales and zero points of some rows of weights, sums of some columns, and scratch. */
static size_t lists_bytes(const ox_block_few *few) {
    return ox_aligned((size_t)list_length(few) * 2 * OX_BLOCK_ROWS * sizeof(float));
}

static size_t columns_bytes(const ox_gemm *g) {
    return ox_aligned((size_t)g->m * COLUMNS * sizeof(float));
}

ox_status ox_block_few_prepare(ox_call *call, const ox_gemm *g, ox_block_few *few) {
    const ox_block_loops *loops = few->loops;
    const size_t after = ox_epilogue_scratch(g->after.epilogue);
    /* Zero points that are no integers would leave rounding errors of what cancels out. */
    const ox_tensor *zeros = ox_call_given(call, OX_BLOCKS_ZEROS) ? call->in[OX_BLOCKS_ZEROS] : NULL;
    few->by_bytes = few->rounds && loops->bytes_dots && (!zeros || zeros->dtype == OX_UINT8);
    const size_t floats = loops->size(&few->row), bytes = few->by_bytes ? loops->bytes_size(&few->row) : 0;
    few->laid = (int64_t)ox_aligned(floats > bytes ? floats : bytes);
    few->scratch = ox_aligned(after > g->after.scratch ? after : g->after.scratch);
    few->pool = ox_pool_for(call->pool, (double)g->n * (double)few->row.bytes * (double)g->m);
    few->room = (int64_t)ox_pool_room(ox_pool_parts(few->pool), lists_bytes(few) + columns_bytes(g) + few->scratch);
    ox_call_name(call, few->by_bytes ? "bytes by blocks of weights" : "rows of blocks of weights");
    OX_TRY(ox_dense_plan(call, call->in[OX_BLOCKS_A]));
    OX_TRY(ox_workspace_add(call, g->m, (size_t)few->laid));
    OX_TRY(ox_workspace_add(call, few->rounds ? few->row.k + few->row.blocks : 0, sizeof(float)));
    return ox_workspace_add(call, ox_pool_parts(few->pool), (size_t)few->room);
}

/* ---- Rows of A ---------------------------------------------------------------------------------------------- */

/* Row i, as bytes, rounded or as it is: what has infinite elements is not rounded. */
static void lay_row(few_job *job, int64_t i, const ox_f32 *a, float *room) {
    const ox_block_few *few = job->few;
    const ox_block_loops *loops = few->loops;
    const ox_block_row *row = &few->row;
    char *to = job->a + i * few->laid;
    job->as_bytes[i] = few->by_bytes && loops->round(row->k, row->block, a, (int8_t *)room, room + row->k, NULL);
    if (job->as_bytes[i])
        loops->lay_bytes(row, (const int8_t *)room, room + row->k, to);
    else if (few->rounds && loops->round(row->k, row->block, a, NULL, NULL, room))
        loops->lay(row, room, to);
    else
        loops->lay(row, a, to);
}

/* ---- Rows of weights ---------------------------------------------------------------------------------------- */

/* The entries of a row of weights, as floats behind which some may be read; `room` has place for them. */
static const ox_f32 *entries_of(const few_job *job, const entries *e, int64_t n, float *room) {
    const ox_block_row *row = &job->few->row;
    const ox_tensor *t = e->tensor;
    const char *data = t->data;
    const int64_t size = (int64_t)ox_dtype_size(t->dtype);
    if (t->dtype == OX_UINT8) {
        const int64_t bytes = ox_bits_bytes(row->blocks, row->bits);
        job->few->loops->zeros(row->bits, row->blocks, (const uint8_t *)data + n * bytes, room);
        return room;
    }
    data += n * row->blocks * size;
    if (t->dtype != OX_FLOAT) {
        char *const arg[] = {(char *)room, (char *)(uintptr_t)data};
        job->call->loops->widen(row->blocks, arg, (const int64_t[]){sizeof(float), size}, &t->dtype);
        return room;
    }
    if ((e->rows - 1 - n) * row->blocks >= OX_BLOCK_BEHIND)
        return (const ox_f32 *)(const void *)data;
    memcpy(room, data, (size_t)row->blocks * sizeof(float));
    return room;
}

static void find_rows(const few_job *job, int64_t n, int count, float *room, ox_block_rows *rows) {
    const ox_block_row *row = &job->few->row;
    const int64_t length = list_length(job->few);
    *rows = (ox_block_rows){.row = row, .count = count};
    for (int i = 0; i < count; i++, room += 2 * length) {
        rows->weights[i] = (const uint8_t *)job->call->in[OX_BLOCKS_B]->data + (n + i) * row->bytes;
        rows->scales[i] = entries_of(job, &job->scales, n + i, room);
        if (job->zeros.tensor)
            rows->zeros[i] = entries_of(job, &job->zeros, n + i, room + length);
    }
}

/* Columns [column, end) of C, at most COLUMNS. */
static void compute_columns(const few_job *job, char *room, int64_t column, int64_t end) {
    const ox_block_few *few = job->few;
    const ox_gemm *g = job->g;
    const bool taken = ox_gemm_is_taken(g);
    char *data = taken ? room + lists_bytes(few) : (char *)g->c + column * (int64_t)sizeof(float);
    const int64_t data_row = taken ? (end - column) * (int64_t)sizeof(float) : g->c_row;
    ox_block_rows rows;
    for (int64_t n = column; n < end; n += rows.count) {
        find_rows(job, n, end - n >= OX_BLOCK_ROWS ? OX_BLOCK_ROWS : 1, (float *)(void *)room, &rows);
        for (int64_t i = 0; i < g->m; i++) {
            float *to = (float *)(void *)(data + i * data_row) + (n - column);
            (job->as_bytes[i] ? few->loops->bytes_dots : few->loops->dots)(&rows, job->a + i * few->laid, to);
        }
    }
    char *scratch = room + lists_bytes(few) + columns_bytes(g);
    if (taken)
        ox_gemm_take_block(g, &(const ox_gemm_block){0, g->m, column, end - column, data, data_row, scratch});
}

static void few_share(void *context, ox_share *share) {
    const few_job *job = context;
    const int64_t n = job->g->n;
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        for (int64_t j = first * OX_BLOCK_ROWS; j < n && j < end * OX_BLOCK_ROWS; j += COLUMNS) {
            if (ox_pool_poll(job->few->pool))
                return;
            compute_columns(job, job->rooms + share->room * job->few->room, j,
                            ox_least(ox_least(n, end * OX_BLOCK_ROWS), j + COLUMNS));
        }
}

void ox_block_few_run(const ox_call *call, size_t *used, const ox_block_few *few, const ox_gemm *g) {
    const ox_tensor *zeros = ox_call_given(call, OX_BLOCKS_ZEROS) ? call->in[OX_BLOCKS_ZEROS] : NULL;
    few_job job = {
        .call = call, .few = few, .g = g, .scales = {call->in[OX_BLOCKS_SCALES], g->n}, .zeros = {zeros, g->n}};
    const ox_f32 *a = ox_dense_in(call, used, call->in[OX_BLOCKS_A]).data;
    job.a = ox_workspace_take(call, used, g->m, (size_t)few->laid);
    float *room = ox_workspace_take(call, used, few->rounds ? few->row.k + few->row.blocks : 0, sizeof *room);
    job.rooms = ox_workspace_take(call, used, ox_pool_parts(few->pool), (size_t)few->room);
    for (int64_t i = 0; i < g->m; i++)
        lay_row(&job, i, a + i * few->row.k, room);
    ox_pool_share(few->pool, (g->n - 1) / OX_BLOCK_ROWS + 1, 1, few_share, &job);
}

#endif
