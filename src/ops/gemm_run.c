/* gemm_run.c: products and batches of them, split over threads. */
#include "dense.h"
#include "gemm.h"

#include <string.h>

enum {
    TILE_ROWS = 4,   /* of C, that the kernel computes together */
    BATCHES_EACH = 4 /* enough products for every thread, so that none waits for long */
};

ox_status ox_gemm_plan(ox_call *call, int64_t k) {
    return ox_workspace_add(call, ox_pool_parts(call->pool), ox_gemm_workspace(k));
}

void *ox_gemm_take(const ox_call *call, size_t *used, int64_t k) {
    return ox_workspace_take(call, used, ox_pool_parts(call->pool), ox_gemm_workspace(k));
}

/* A product as it is computed: turned on its side perhaps. */
typedef struct gemm_job {
    ox_gemm gemm, turned;
    bool is_turned, by_rows;
    char *workspace;
} gemm_job;

/* A product with a column vector, turned on its side so that the vectors run along the longer dimension. */
static ox_gemm turn(const ox_gemm *g) {
    ox_gemm t = *g;
    t.m = 1, t.n = g->m;
    t.a = g->b, t.a_row = g->b_col, t.a_col = g->b_row;
    t.b = g->a, t.b_row = g->a_col, t.b_col = g->a_row;
    return t;
}

static void clear(const ox_gemm *g) {
    for (int64_t i = 0; i < g->m; i++)
        memset((char *)g->c + i * g->c_row, 0, (size_t)g->n * ox_dtype_size(g->dtype));
}

static void run_slice(const gemm_job *job, int64_t row, int64_t rows, int64_t column, int64_t columns, void *panel) {
    ox_gemm s = job->turned;
    if (rows <= 0 || columns <= 0)
        return;
    s.m = rows, s.n = columns;
    s.c = (char *)s.c + row * s.c_row + column * (int64_t)ox_dtype_size(s.dtype);
    if (s.k) {
        s.a = (const char *)s.a + row * s.a_row;
        if (s.panel)
            s.column += column;
        else
            s.b = (const char *)s.b + column * s.b_col;
        ox_gemm_block(&s, panel);
    } else {
        clear(&s);
    }
    if (s.end && job->is_turned)
        s.end(&job->gemm, column, columns, row, rows);
    else if (s.end)
        s.end(&job->gemm, row, rows, column, columns);
}

static int64_t tile_columns(const ox_gemm *g) {
    return OX_GEMM_ROW / (int64_t)ox_dtype_size(g->dtype);
}

static int64_t tiles(int64_t count, int64_t size) {
    return count / size + (count % size != 0);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void run_part(void *context, int part, int parts) {
    const gemm_job *job = context;
    const ox_gemm *g = &job->turned;
    char *panel = job->workspace + (size_t)part * ox_gemm_workspace(g->k);
    int64_t size = job->by_rows ? TILE_ROWS : tile_columns(g), all = job->by_rows ? g->m : g->n, first, end;
    ox_pool_range(tiles(all, size), part, parts, &first, &end);
    first = first * size;
    int64_t count = least(end * size, all) - first;
    if (job->by_rows)
        run_slice(job, first, count, 0, g->n, panel);
    else
        run_slice(job, 0, g->m, first, count, panel);
}

static void run_one(const ox_gemm *gemm, ox_pool *pool, void *workspace) {
    gemm_job job = {.gemm = *gemm, .turned = *gemm, .workspace = workspace};
    job.is_turned = gemm->n == 1 && gemm->m > 1 && !gemm->panel && gemm->c_row == (int64_t)ox_dtype_size(gemm->dtype);
    if (job.is_turned)
        job.turned = turn(gemm);
    job.by_rows = tiles(job.turned.m, TILE_ROWS) > tiles(job.turned.n, tile_columns(gemm));
    ox_pool_run(pool, run_part, &job);
}

/* ---- Batches ------------------------------------------------------------------------------------------------ */

typedef struct batch_job {
    const ox_gemm *gemm;
    int64_t count;
    ox_gemm_place_fn *place;
    const void *places;
    char *workspace;
} batch_job;

static void run_batch_part(void *context, int part, int parts) {
    const batch_job *job = context;
    ox_gemm g = *job->gemm;
    int64_t first, end;
    ox_pool_range(job->count, part, parts, &first, &end);
    for (int64_t i = first; i < end; i++) {
        job->place(job->places, i, &g);
        run_one(&g, NULL, job->workspace + (size_t)part * ox_gemm_workspace(g.k));
    }
}

void ox_gemm_run(const ox_gemm *gemm, int64_t count, ox_gemm_place_fn *place, const void *places, ox_pool *pool,
                 void *workspace) {
    ox_gemm g = *gemm;
    if (g.m == 0 || g.n == 0)
        return;
    /* A multiplication takes about as long as moving a byte. */
    const double work = (double)g.m * (double)g.n * (double)(g.k ? g.k : 1);
    ox_pool *inside = ox_pool_for(pool, work), *across = ox_pool_for(pool, work * (double)count);
    int64_t parts = ox_pool_parts(across);
    if (!inside || count >= BATCHES_EACH * parts) {
        ox_pool_run(across, run_batch_part, &(batch_job){gemm, count, place, places, workspace});
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        place(places, i, &g);
        run_one(&g, inside, workspace);
    }
}
