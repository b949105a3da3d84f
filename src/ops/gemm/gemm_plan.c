/* gemm_plan.c: how products are cut into blocks that fit the caches. */
#include "gemm.h"
#include "host.h"
#include "ops/dense.h"

#include <math.h>

enum {
    DIRECT_BYTES = 32 << 10, /* of the first-level cache, for a second matrix that is not laid out */
    SHALLOW = 256,           /* rows of B, and of C, that a panel is read for: laying it out takes longer */
    ONE_WAY = 4 << 10,       /* bytes behind which addresses share places in that cache, ... */
    PLACES = ONE_WAY / 64,   /* of its lines, */
    WAYS = 8,                /* each of which holds so many */
    SELDOM = 128,            /* rows of C that read vectors across cache lines, if B has no whole ones in its rows */
    BATCHES_EACH = 4,        /* enough products for every thread, so that none waits for long */
    PANELS_EACH = 4,         /* the same for panels */
    LONG_WORK = 4 << 20,     /* multiplications of which a thread can give some away: they take 50 microseconds */
    FEW_ROWS = 64,           /* with fewer rows of C, panels are read too seldom to come from far away */
    STRIP_COLUMNS = 512,     /* make up for laying rows out anew for each block of columns */
    STRIP_BYTES = 16 << 10   /* of a block that are transposed at a time: they stay in the first-level cache */
};

static int64_t round_up(int64_t count, int64_t unit) {
    return (count + unit - 1) / unit * unit;
}

/* The most multiples of `unit`, at least one, that fit into `bytes` and are needed for `count`. */
static int64_t fitting(size_t bytes, size_t each, int64_t unit, int64_t count) {
    size_t units = bytes / (each ? each : 1) / (size_t)unit, needed = (size_t)((count - 1) / unit + 1);
    return (int64_t)(units == 0 ? 1 : units < needed ? units : needed) * unit;
}

/* The same, but so that all pieces are about equal. */
static int64_t even(int64_t count, int64_t most, int64_t unit) {
    int64_t pieces = (count + most - 1) / most;
    return round_up((count + pieces - 1) / pieces, unit);
}

static bool is_native(const ox_gemm_matrix *matrix) {
    return ox_dtype_compute(matrix->dtype) == matrix->dtype;
}

/* How a product of one row is computed, if it reads B as it lies. */
static ox_gemm_algorithm vector_algorithm(const ox_gemm_kernel *kernel, const ox_gemm *g) {
    const int64_t size = (int64_t)ox_dtype_size(g->b.dtype);
    if (g->m != 1 || g->panels || g->panel || g->a.dtype != g->b.dtype || !kernel->row_vector || !g->k)
        return OX_GEMM_PANELS;
    if (g->b.col == size)
        return OX_GEMM_ROW_VECTOR;
    return g->b.row == size && (g->a.col == size || !is_native(&g->a)) ? OX_GEMM_DOTS : OX_GEMM_PANELS;
}

ox_gemm ox_gemm_transpose(const ox_gemm *g) {
    ox_gemm t = *g;
    t.m = g->n, t.n = g->m;
    t.a = (ox_gemm_matrix){g->b.dtype, g->b.data, g->b.col, g->b.row};
    t.b = (ox_gemm_matrix){g->a.dtype, g->a.data, g->a.col, g->a.row};
    t.panels = g->left_panels;
    t.left_is_weights = !g->left_is_weights;
    t.after.finish.by_column = !g->after.finish.by_column;
    return t;
}

/* Elements of a row of the result: of one of matrices that are computed side by side. */
static int64_t row_of_result(const ox_gemm *g) {
    return g->sides ? g->sides->columns : g->n;
}

/* Whether each element of C is written once, by a tile, which may read what is added from that very place before. */
static bool is_added_in_place(const ox_gemm *g) {
    return g->k > 0 && g->k <= OX_GEMM_DEPTH && g->m > 1 && g->n > 1 && !g->sides && !g->left_panels;
}

/* Whether each row of the result has one value. The values must not begin again within the rows of a product, and
 * matrices side by side must have the same ones, as a tile may have columns of several. */
static bool has_value_for_row(const ox_gemm *g, const ox_pass_period *period) {
    if (!period->count || period->each != row_of_result(g) || period->count % g->m)
        return false;
    return !g->sides || g->n == g->sides->columns || g->sides->step / g->sides->columns % period->count == 0;
}

/* Whether each column has one value, the same in all rows of all products. */
static bool has_value_for_column(const ox_gemm *g, const ox_pass_period *period) {
    return period->each == 1 && period->count == g->n && !g->sides;
}

/* What the epilogue does, if tiles can do that with their sums. */
static const ox_pass_affine *find_finish(const ox_gemm *g, ox_gemm_plan *plan) {
    const ox_pass_affine *affine = ox_epilogue_affine(g->after.epilogue);
    if (!plan->kernel->finish || g->after.end || !affine)
        return NULL;
    const bool by_row = has_value_for_row(g, &affine->period);
    plan->by_column = !by_row && has_value_for_column(g, &affine->period);
    plan->finish_count = by_row ? affine->period.count : 0;
    if (affine->period.count && !by_row && !plan->by_column)
        return NULL;
    return !affine->plus || is_added_in_place(g) ? affine : NULL;
}

ox_gemm ox_gemm_finished(const ox_gemm_plan *plan, const ox_gemm *g) {
    const ox_pass_affine *affine = plan->affine;
    ox_gemm finished = *g;
    OX_ASSERT(!g->after.end);
    finished.c = affine->out->data ? (char *)affine->out->data + g->start * (int64_t)sizeof(float) : NULL;
    finished.c_row = row_of_result(g) * (int64_t)sizeof(float);
    finished.after = (ox_gemm_after){.finish = ox_epilogue_finish(affine), .finish_count = plan->finish_count};
    finished.after.finish.by_column = plan->by_column;
    finished.after.finish.plus_row = finished.c_row;
    return finished;
}

bool ox_gemm_add_to_rows(const ox_loops *loops, const void *add, int64_t count, ox_gemm *g) {
    if (!ox_gemm_kernel_of(loops, g->a.dtype, g->b.dtype)->finish)
        return false;
    g->after.finish = (ox_finish){.is_used = true, .add = add, .low = -INFINITY, .behind = -0.0F, .high = INFINITY};
    g->after.finish_count = count;
    return true;
}

void ox_gemm_place_finish(ox_gemm *g) {
    const char *plus = g->after.finish.plus ? g->after.finish.plus + g->start * (int64_t)sizeof(float) : NULL;
    if (g->after.finish_count)
        g->after.finish = ox_finish_from(&g->after.finish, g->start / row_of_result(g) % g->after.finish_count, 0);
    g->after.finish.plus = plus;
}

static void choose_way(const ox_call *call, const ox_gemm *g, ox_gemm_plan *plan) {
    if (g->left_panels) {
        plan->transposed = true;
        return;
    }
    if (call->plain)
        return;
    plan->algorithm = vector_algorithm(plan->kernel, g);
    bool packed = ox_gemm_is_taken(g) || g->c_row == (int64_t)ox_dtype_size(plan->kernel->c);
    if (plan->algorithm != OX_GEMM_PANELS || g->n != 1 || g->panels || g->panel || !packed)
        return;
    const ox_gemm transposed = ox_gemm_transpose(g);
    plan->algorithm = vector_algorithm(plan->kernel, &transposed);
    plan->transposed = plan->algorithm != OX_GEMM_PANELS;
}

/* Rows that are `row` bytes apart begin in so many different places of the first-level cache, in turn. */
static int64_t places_of(int64_t row) {
    int64_t places = 1;
    while (places < PLACES && places * row % ONE_WAY)
        places *= 2;
    return places;
}

/* All of B, or what tiles read before they are done with some columns, stays in the caches; laying it out would take
 * longer than it gains. */
bool ox_gemm_reads_in_place(const ox_gemm_kernel *kernel, const ox_gemm *g) {
    const int64_t size = (int64_t)ox_dtype_size(kernel->b);
    return !g->panels && !g->panel && g->b.dtype == kernel->b && kernel->group == 1 && g->b.col == size &&
           (g->n % kernel->unit == 0 || (g->n >= kernel->columns && g->m <= SELDOM)) &&
           ((g->n * size <= DIRECT_BYTES && g->k * g->n * size <= DIRECT_BYTES) ||
            (g->k <= SHALLOW && g->m <= SHALLOW &&
             (g->b.row % OX_GEMM_SAME_PLACES || g->k <= WAYS * places_of(g->b.row))));
}

/* True if panels are worth keeping in the second-level cache. Gathered ones cost much to lay out, and are laid out into
 * that cache where as many columns fit as make up for reading A anew for them. */
static bool is_read_soon(const ox_gemm *g, size_t bytes, size_t column, int64_t unit) {
    return g->m < FEW_ROWS || (g->panel && fitting(bytes, column, unit, g->n) >= g->m / 2);
}

/* Bytes that a column of B takes in whole panels. */
static size_t column_bytes(const ox_gemm_kernel *kernel, int64_t k) {
    size_t bytes = SIZE_MAX;
    kernel->packed_size(kernel, k, kernel->columns, &bytes);
    return bytes / (size_t)kernel->columns;
}

/* The columns that lie in panels at a time. Panels in the second-level cache are read by the thread that lays them out,
 * as the other one's cache is far away: each thread has chunks of its own then, where there are enough for all. */
static void plan_chunks(const ox_gemm *g, ox_gemm_plan *plan) {
    const ox_gemm_kernel *kernel = plan->kernel;
    const size_t cache = ox_host_cache(2) ? ox_host_cache(2) : OX_CACHE_BYTES;
    const size_t column = column_bytes(kernel, g->k);
    const bool alone = plan->batched || !plan->pool, soon = is_read_soon(g, cache / 2, column, kernel->columns);
    const int64_t parts = ox_pool_parts(plan->pool), units = (g->n - 1) / kernel->columns + 1;
    plan->strips = soon && !alone && !g->panels && !plan->direct && units >= PANELS_EACH * parts;
    const size_t budget = soon && (alone || plan->strips) ? cache / 2 : OX_PANEL_BYTES;
    plan->chunk = g->panels ? g->n : fitting(budget, column, kernel->columns, g->n);
    plan->chunk = even(g->n, plan->chunk, kernel->columns);
    if (plan->strips)
        plan->chunk = even(g->n, (g->n - 1) / round_up((g->n - 1) / plan->chunk + 1, parts) + 1, kernel->columns);
}

/* The rows and columns of a block. Rows of a transposed product become columns when it is handed on, so that they
 * should be many. */
static void plan_block(const ox_gemm *g, ox_gemm_plan *plan) {
    const ox_gemm_kernel *kernel = plan->kernel;
    const size_t cache = ox_host_cache(2) ? ox_host_cache(2) : OX_CACHE_BYTES, c_size = ox_dtype_size(kernel->c);
    int64_t rows = fitting(cache / 6, (size_t)kernel->a_row, kernel->rows, g->m);
    size_t c_bytes = cache * 3 / 8;
    if (plan->transposed) {
        const size_t depth = (size_t)ox_least(g->k, kernel->depth);
        c_bytes = cache * 7 / 16;
        rows = ox_least(fitting(c_bytes, depth * ox_dtype_size(kernel->a) + OX_GEMM_PAD, kernel->rows, g->m),
                        fitting(c_bytes, (size_t)ox_least(g->n, STRIP_COLUMNS) * c_size, kernel->rows, g->m));
    }
    plan->rows = even(g->m, rows, kernel->rows);
    const bool kept = (double)column_bytes(kernel, g->k) * (double)plan->chunk <= (double)(cache / 2);
    plan->whole = (double)g->m * (double)plan->chunk * (double)g->k < (double)LONG_WORK;
    plan->taken = plan->whole ? g->m : kept ? kernel->rows : plan->rows;
    plan->columns = plan->chunk;
    if (ox_gemm_is_taken(g))
        plan->columns = fitting(c_bytes, (size_t)plan->rows * c_size, kernel->columns, plan->chunk);
    plan->strip = ox_least(plan->columns, (int64_t)(STRIP_BYTES / c_size) / plan->rows + 1);
}

/* One row with weights in panels. The transposed products of convolutions have as many rows as their callers cut them
 * into, for threads, and so may not sum single rows in another order. */
static bool is_row_of_panels(const ox_gemm *g, const ox_gemm_plan *plan) {
    return g->m == 1 && g->panels && !plan->transposed && plan->kernel->row_tile;
}

static ox_status plan_panels(ox_call *call, const ox_gemm *g, ox_gemm_plan *plan) {
    const ox_gemm_kernel *kernel = plan->kernel;
    const size_t c_size = ox_dtype_size(kernel->c);
    plan->tile = is_row_of_panels(g, plan) ? kernel->row_tile : g->is_placed ? kernel->place_tile : kernel->tile;
    plan->direct = g->is_placed || (!call->plain && ox_gemm_reads_in_place(kernel, g));
    plan->edge = plan->direct && !g->is_placed && g->n % kernel->unit ? g->n % kernel->columns : 0;
    plan->depths = (g->k + kernel->depth - 1) / kernel->depth;
    plan_chunks(g, plan);
    plan_block(g, plan);
    plan->a_bytes = (size_t)(plan->rows + (kernel->weave ? kernel->rows : 0)) * (size_t)kernel->a_row;
    if (ox_gemm_is_taken(g))
        plan->c_bytes = (size_t)plan->rows * ((size_t)plan->columns * c_size + (size_t)ox_gemm_block_pad(plan));
    if (plan->transposed)
        plan->back_bytes = (size_t)plan->rows * (size_t)plan->strip * c_size;
    if (g->sides)
        plan->side_bytes = (size_t)plan->rows * (size_t)ox_least(g->sides->columns, plan->columns) * c_size;
    const int64_t laid = plan->direct ? plan->edge : plan->chunk;
    if (!g->panels && laid && !kernel->packed_size(kernel, g->k, laid, &plan->panel_bytes))
        return ox_call_fail(call, OX_ERROR_LIMIT,
                            "a packed matrix of %lld rows and %lld columns is too large for this machine",
                            (long long)g->k, (long long)laid);
    return OX_OK;
}

size_t ox_gemm_part_bytes(const ox_gemm_plan *plan) {
    return ox_pool_room(ox_pool_parts(plan->pool), plan->stage + plan->a_bytes + plan->c_bytes + plan->back_bytes +
                                                       plan->side_bytes + plan->scratch);
}

int ox_gemm_panel_copies(const ox_gemm_plan *plan) {
    return plan->batched || plan->strips ? ox_pool_parts(plan->pool) : 1;
}

ox_status ox_gemm_prepare(ox_call *call, const ox_gemm *g, int64_t count, ox_gemm_plan *plan) {
    ox_gemm finished;
    const size_t after = ox_epilogue_scratch(g->after.epilogue);
    const ox_dtype a = g->left_panels ? g->b.dtype : g->a.dtype, b = g->left_panels ? g->a.dtype : g->b.dtype;
    *plan = (ox_gemm_plan){.loops = call->loops,
                           .kernel = ox_gemm_kernel_of(call->loops, a, b),
                           .scratch = after > g->after.scratch ? after : g->after.scratch};
    if (g->m == 0 || g->n == 0 || count == 0) {
        plan->scratch = 0;
        return OX_OK;
    }
    /* A multiplication takes about as long as moving a byte. */
    const double work = (double)g->m * (double)g->n * (double)(g->k ? g->k : 1);
    plan->pool = ox_pool_for(call->pool, work * (double)count);
    plan->batched = !ox_pool_for(call->pool, work) || count >= BATCHES_EACH * ox_pool_parts(plan->pool);
    plan->affine = find_finish(g, plan);
    if (plan->affine) {
        finished = ox_gemm_finished(plan, g);
        g = &finished;
    }
    choose_way(call, g, plan);
    if (plan->algorithm == OX_GEMM_PANELS && plan->transposed) {
        const ox_gemm transposed = ox_gemm_transpose(g);
        OX_TRY(plan_panels(call, &transposed, plan));
    } else if (plan->algorithm == OX_GEMM_PANELS) {
        OX_TRY(plan_panels(call, g, plan));
    } else {
        plan->columns = OX_GEMM_VECTOR_COLUMNS;
        plan->c_bytes = ox_gemm_is_taken(g) ? OX_GEMM_VECTOR_COLUMNS * ox_dtype_size(plan->kernel->c) : 0;
    }
    const bool groups = g->panel && plan->kernel->group > 1;
    plan->stage = is_native(&g->a) && is_native(&g->b) && !groups ? 0 : OX_GEMM_STAGE;
    plan->a_bytes = ox_aligned(plan->a_bytes), plan->c_bytes = ox_aligned(plan->c_bytes);
    plan->back_bytes = ox_aligned(plan->back_bytes), plan->side_bytes = ox_aligned(plan->side_bytes);
    plan->scratch = ox_aligned(plan->scratch);
    plan->panel_bytes = ox_pool_room(ox_gemm_panel_copies(plan), ox_aligned(plan->panel_bytes));
    OX_ASSERT(plan->stage % OX_ALIGN == 0 && plan->panel_bytes % OX_ALIGN == 0);
    OX_ASSERT(ox_gemm_part_bytes(plan) % OX_ALIGN == 0);
    OX_ASSERT(plan->algorithm != OX_GEMM_PANELS ||
              (plan->rows > 0 && plan->columns > 0 && (plan->depths > 0 || !g->k)));
    OX_TRY(ox_workspace_add(call, ox_gemm_panel_copies(plan), plan->panel_bytes));
    return ox_workspace_add(call, ox_pool_parts(plan->pool), ox_gemm_part_bytes(plan));
}

static const char *name_of_panels(const ox_gemm *g, const ox_gemm_plan *plan) {
    if (plan->transposed)
        return "product with A in panels kept";
    if (plan->direct)
        return plan->edge ? "product with B as it lies, but for an edge" : "product with B as it lies";
    if (!g->panels)
        return "product with panels of B";
    return is_row_of_panels(g, plan) ? "one row with B in panels kept" : "product with B in panels kept";
}

void ox_gemm_name(ox_call *call, const ox_gemm *g, const ox_gemm_plan *plan) {
    static const char *const
        rows[] = {[OX_GEMM_ROW_VECTOR] = "one row along rows of B", [OX_GEMM_DOTS] = "one row of dot products"},
        *const columns[] = {
            [OX_GEMM_ROW_VECTOR] = "one column along columns of A", [OX_GEMM_DOTS] = "one column of dot products"};
    if (!plan->columns)
        return; /* without elements */
    ox_call_name(call, plan->algorithm == OX_GEMM_PANELS ? name_of_panels(g, plan)
                       : plan->transposed                ? columns[plan->algorithm]
                                                         : rows[plan->algorithm]);
}

void *ox_gemm_take(const ox_call *call, size_t *used, const ox_gemm_plan *plan) {
    void *start = ox_workspace_take(call, used, ox_gemm_panel_copies(plan), plan->panel_bytes);
    ox_workspace_take(call, used, ox_pool_parts(plan->pool), ox_gemm_part_bytes(plan));
    return start;
}
