/* gemm_run.c: products and batches of them, split over threads. */
#include "gemm.h"

#include <string.h>

enum {
    DIRECT_PANELS = 2,
    TILES_EACH = 4,   /* enough rows of tiles for every thread */
    WHOLE = 4,        /* a share of all steps that handing on parts of rows takes */
    FAR = 8,          /* a share of all steps that reading what another thread wrote takes */
    PACKED_ROWS = 16, /* of B that are laid out together: so many streams memory serves well */
    FEW_TILES = 2     /* read a panel faster than memory brings the next one, unless it comes in streams */
};

static int64_t pieces(int64_t count, int64_t size) {
    return count / size + (count % size != 0);
}

/* To a multiple of a unit of a kernel, which are powers of two: divisions would take longer than small tiles. */
static int64_t round_up(int64_t count, int64_t unit) {
    return (count + unit - 1) & -unit;
}

static const void *offset(const ox_gemm_matrix *matrix, int64_t row, int64_t column) {
    return (const char *)matrix->data + row * matrix->row + column * matrix->col;
}

/* ---- Rooms -------------------------------------------------------------------------------------------------- */

/* What a thread works in. */
typedef struct gemm_room {
    char *stage, *a, *c, *back, *side;
    void *scratch;
} gemm_room;

static gemm_room room_of(const ox_gemm_plan *plan, char *workspace, int part) {
    char *at = workspace + (size_t)ox_gemm_panel_copies(plan) * plan->panel_bytes;
    at += (size_t)part * ox_gemm_part_bytes(plan);
    gemm_room room = {.stage = at, .a = at + plan->stage};
    room.c = room.a + plan->a_bytes;
    room.back = room.c + plan->c_bytes;
    room.side = room.back + plan->back_bytes;
    room.scratch = room.side + plan->side_bytes;
    OX_ASSERT(part >= 0 && part < ox_pool_parts(plan->pool));
    OX_ASSERT(ox_is_aligned(room.stage) && ox_is_aligned(room.c) && ox_is_aligned(room.back));
    OX_ASSERT(ox_is_aligned(room.side) && ox_is_aligned(room.scratch));
    OX_ASSERT((char *)room.scratch + plan->scratch <= at + ox_gemm_part_bytes(plan));
    return room;
}

void *ox_gemm_scratch(const ox_gemm_plan *plan, void *workspace, int part) {
    return room_of(plan, workspace, part).scratch;
}

/* A product, or the columns of one whose panels are there. */
typedef struct gemm_job {
    const ox_gemm_plan *plan;
    const ox_gemm *gemm;
    const ox_gemm *transposed; /* as it is computed */
    int64_t column, columns;   /* the columns that lie in panels */
    char *panels;
    char *workspace;
    char *laid; /* all rows of A, which threads laid out for each other; NULL if none did */
    int part;   /* of the pool that does all of it, -1 if it is split */
} gemm_job;

static gemm_room job_room(const gemm_job *job, int part) {
    return room_of(job->plan, job->workspace, job->part < 0 ? part : job->part);
}

/* The range of k that block i of `depths` covers. */
static int64_t depth_range(const ox_gemm_kernel *kernel, int64_t k, int64_t i, int64_t depths, int64_t *first) {
    const int64_t groups = pieces(k, kernel->group), each = groups / depths, longer = groups % depths;
    *first = (each * i + ox_least(i, longer)) * kernel->group;
    OX_ASSERT(i >= 0 && i < depths && *first <= k);
    return ox_least((each + (i < longer)) * kernel->group, k - *first);
}

/* ---- Panels ------------------------------------------------------------------------------------------------- */

/* Some rows of B, where a panel has them. */
static void pack_rows(const gemm_job *job, const ox_gemm_block *to, char *stage) {
    const ox_gemm *g = job->transposed;
    if (g->panel) {
        g->panel(g, to, stage);
        return;
    }
    const ox_gemm_matrix b = {g->b.dtype, offset(&g->b, to->row, to->column), g->b.row, g->b.col};
    job->plan->kernel->pack_b(job->plan->loops, &b, to->rows, to->columns, to->data, to->data_row, stage);
}

/* Panels [first, end) of the columns of a job. Where B has packed rows, a few of them are read from start to end.
 * Blocks of the same rows of k lie behind each other; the last one may be narrower. */
static void pack_panels(const gemm_job *job, int64_t first, int64_t end, char *stage) {
    const ox_gemm_plan *plan = job->plan;
    const ox_gemm_kernel *kernel = plan->kernel;
    const ox_gemm *g = job->transposed;
    const bool flat = !g->panel && g->b.col == (int64_t)ox_dtype_size(g->b.dtype);
    for (int64_t d = 0; d < plan->depths && first < end; d++) {
        int64_t k, depth = depth_range(kernel, g->k, d, plan->depths, &k), step = flat ? PACKED_ROWS : depth;
        const ox_gemm_span start = kernel->find_panel(kernel, job->columns, k, depth, first * kernel->columns),
                           last = kernel->find_panel(kernel, job->columns, k, depth, (end - 1) * kernel->columns);
        OX_ASSERT(last.start == start.start + (end - 1 - first) * start.bytes);
        for (int64_t r = 0; r < depth; r += step)
            for (int64_t p = first; p < end; p++) {
                const int64_t column = p * kernel->columns, row = p + 1 < end ? start.row : last.row;
                const ox_gemm_block rows = {.row = k + r,
                                            .rows = ox_least(step, depth - r),
                                            .column = job->column + column,
                                            .columns = ox_least(kernel->columns, job->columns - column),
                                            .data = job->panels + start.start + (p - first) * start.bytes + r * row,
                                            .data_row = row};
                pack_rows(job, &rows, stage);
            }
    }
}

static void pack_share(void *context, ox_share *share) {
    const gemm_job *job = context;
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        pack_panels(job, first, end, job_room(job, share->room).stage);
}

static void pack_all(gemm_job *job, ox_pool *pool) {
    ox_pool_share(pool, pieces(job->columns, job->plan->kernel->columns), 1, pack_share, job);
}

void ox_gemm_pack(const ox_loops *loops, const ox_gemm_kernel *kernel, const ox_gemm *g, char *panels, char *stage) {
    const ox_gemm_plan plan = {.loops = loops, .kernel = kernel, .depths = pieces(g->k, kernel->depth)};
    const gemm_job job = {.plan = &plan, .transposed = g, .columns = g->n, .panels = panels};
    pack_panels(&job, 0, pieces(g->n, kernel->columns), stage);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------- */

/* Whether elements of A lie in rows as tiles read them. */
static bool is_packed(const ox_gemm_kernel *kernel, const ox_gemm_matrix *a) {
    return a->dtype == kernel->a && a->col == (int64_t)ox_dtype_size(a->dtype);
}

/* A block of A that tiles can read where it is, since so few of them do, or so few rows are there, that laying it out
 * would cost more; or NULL. */
static const char *as_it_lies(const ox_gemm_kernel *kernel, const ox_gemm_matrix *a, int64_t depth,
                              const ox_gemm_block *block) {
    const bool fits = depth % kernel->group == 0 && is_packed(kernel, a);
    return fits && (block->rows == 1 || block->columns <= DIRECT_PANELS * kernel->columns) ? a->data : NULL;
}

/* A from a row and from k on. */
static ox_gemm_matrix rows_from(const ox_gemm *g, int64_t row, int64_t k) {
    return (ox_gemm_matrix){g->a.dtype, offset(&g->a, row, k), g->a.row, g->a.col};
}

/* Lays rows of A out, from k on. */
static void lay_rows(const gemm_job *job, const gemm_room *room, int64_t k, int64_t depth, int64_t row, int64_t rows,
                     char *to) {
    const ox_gemm_kernel *kernel = job->plan->kernel;
    const ox_gemm *g = job->transposed;
    const ox_gemm_matrix from = rows_from(g, row, k);
    if (g->gather)
        g->gather(job->gemm, &(const ox_gemm_block){k, depth, row, rows, to, kernel->a_row, NULL});
    else
        kernel->pack_a(job->plan->loops, &from, rows, depth, to, kernel->a_row, room->stage);
}

/* Rows of the tiles of a block, but for the last one. */
static int64_t tile_height(const ox_gemm_kernel *kernel, int64_t rows) {
    return pieces(rows, pieces(rows, kernel->rows));
}

/* Whether rows of such tiles are woven. */
static bool is_woven(const gemm_job *job, int64_t height) {
    const ox_gemm_kernel *kernel = job->plan->kernel;
    return kernel->weave && height >= OX_GEMM_WOVEN_ROWS && job->plan->tile == kernel->tile;
}

/* The same, woven for tiles of a height that lie kernel->rows rows apart; fewer rows than are woven stay rows. Where
 * they have to be laid out first, that is at the end of the room, which has one tile more than a block. */
static void weave_rows(const gemm_job *job, const gemm_room *room, const ox_gemm_block *block, int64_t height,
                       char *to) {
    const ox_gemm_kernel *kernel = job->plan->kernel;
    const ox_gemm *g = job->transposed;
    const int64_t k = block->column, depth = block->columns, bytes = depth * (int64_t)ox_dtype_size(kernel->a);
    ox_gemm_matrix from = rows_from(g, block->row, k);
    OX_ASSERT(kernel->rows % 2 == 0 && round_up(bytes, OX_GEMM_WOVEN) <= kernel->a_row);
    if (g->gather || !is_packed(kernel, &from)) {
        char *stage = room->a + (job->plan->rows + kernel->rows - block->rows) * kernel->a_row;
        OX_ASSERT(block->rows <= job->plan->rows);
        lay_rows(job, room, k, depth, block->row, block->rows, stage);
        from = (ox_gemm_matrix){kernel->a, stage, kernel->a_row, (int64_t)ox_dtype_size(kernel->a)};
    }
    for (int64_t i = 0; i < block->rows; i += height, to += kernel->rows * kernel->a_row) {
        const int64_t rows = ox_least(height, block->rows - i);
        if (rows >= OX_GEMM_WOVEN_ROWS)
            kernel->weave(rows, bytes, offset(&from, i, 0), from.row, to);
        else
            kernel->pack_a(job->plan->loops,
                           &(const ox_gemm_matrix){from.dtype, offset(&from, i, 0), from.row, from.col}, rows, depth,
                           to, kernel->a_row, room->stage);
    }
}

/* Where a block of rows of A lies, and the bytes from row to row and from tile to tile. */
typedef struct gemm_left {
    const char *data;
    int64_t row, tile;
    bool is_woven; /* but for tiles of fewer than OX_GEMM_WOVEN_ROWS rows */
} gemm_left;

/* The same, from k on, for tiles of a height. */
static gemm_left find_rows(const gemm_job *job, const gemm_room *room, int64_t k, int64_t depth,
                           const ox_gemm_block *block, int64_t height) {
    const ox_gemm_kernel *kernel = job->plan->kernel;
    const ox_gemm *g = job->transposed;
    const ox_gemm_matrix from = rows_from(g, block->row, k);
    const char *left = g->gather || job->laid ? NULL : as_it_lies(kernel, &from, depth, block);
    if (left)
        return (gemm_left){left, from.row, height * from.row, false};
    const bool woven = is_woven(job, height);
    const int64_t tile = (woven ? kernel->rows : height) * kernel->a_row;
    OX_ASSERT(!job->laid || block->row == 0);
    if (woven && !job->laid)
        weave_rows(job, room,
                   &(const ox_gemm_block){.row = block->row, .rows = block->rows, .column = k, .columns = depth},
                   height, room->a);
    else if (!job->laid)
        lay_rows(job, room, k, depth, block->row, block->rows, room->a);
    return (gemm_left){job->laid ? job->laid : room->a, kernel->a_row, tile, woven};
}

/* Columns of the panel in which a column of the job lies, `within` columns from its start. */
static int64_t panel_columns(const gemm_job *job, int64_t column, int64_t within) {
    return ox_least(job->plan->kernel->columns, job->columns - column + within);
}

/* Where a tile reads B as it lies, from a column of the job on, or the panel of the last columns. */
static void find_direct(const gemm_job *job, int64_t k, int64_t column, int64_t within, ox_gemm_tile *tile) {
    const ox_gemm *g = job->transposed;
    const ox_gemm_kernel *kernel = job->plan->kernel;
    const int64_t all = panel_columns(job, column, within);
    tile->b = tile->ahead = offset(&g->b, k, column);
    tile->b_row = g->b.row;
    if (column - within + all == job->columns && job->plan->edge) {
        const ox_gemm_span panel = kernel->find_panel(kernel, all, k, tile->depth, 0);
        tile->b = tile->ahead = job->panels + panel.start + within * panel.column;
        tile->b_row = panel.row;
    }
}

/* The places of what a tile reads, which other threads need not have. */
static void find_places(const gemm_job *job, const gemm_room *room, int64_t k, int64_t column, ox_gemm_tile *tile) {
    const ox_gemm_block block = {
        .row = k, .rows = tile->depth, .column = column, .columns = tile->columns, .data = room->stage};
    OX_ASSERT(job->transposed->is_placed && job->plan->tile == job->plan->kernel->place_tile);
    OX_ASSERT(job->plan->stage && tile->columns > 0 &&
              column + tile->columns <= round_up(job->columns, job->plan->kernel->unit));
    job->transposed->panel(job->transposed, &block, NULL);
    tile->b = tile->ahead = room->stage;
}

/* Where a tile reads its panel, and the one that is read next, which it gives: behind the last one that is the first
 * again. What lies behind the panels may be no memory, and prefetching that takes long. */
static ox_gemm_span find_panel(const gemm_job *job, int64_t k, int64_t column, int64_t within, ox_gemm_tile *tile) {
    const ox_gemm_kernel *kernel = job->plan->kernel;
    const int64_t first = column - within, next = first + panel_columns(job, column, within);
    const ox_gemm_span panel = kernel->find_panel(kernel, job->columns, k, tile->depth, first);
    const bool is_last = next == job->columns;
    tile->b = job->panels + panel.start + within * panel.column;
    tile->b_row = panel.row;
    tile->ahead = job->panels + (is_last && k + tile->depth == job->transposed->k ? 0 : panel.start + panel.bytes);
    return kernel->find_panel(kernel, job->columns, k, tile->depth, is_last ? 0 : next);
}

/* The lines of the next panel, evenly spread over the tiles that read this one; where tiles wait for memory, in several
 * streams, in each of which the processor fetches more by itself. */
static void look_ahead(int64_t tiles, const ox_gemm_span *next, ox_gemm_tile *tile) {
    tile->ahead_stream = pieces(next->group, tiles);
    tile->ahead_step = OX_GEMM_STEPS * tile->ahead_stream;
    if (tiles <= FEW_TILES) {
        tile->ahead_step = tile->ahead_stream;
        tile->ahead_stream = next->bytes / OX_GEMM_STEPS;
    }
}

/* Finishes sums that no tile has finished. */
static void finish_block(const gemm_job *job, const ox_gemm_block *block) {
    const ox_gemm *g = job->transposed;
    if (!g->after.finish.is_used)
        return;
    const ox_finish finish = ox_finish_from(&g->after.finish, block->row, block->column);
    job->plan->kernel->finish(block->rows, block->columns, block->data, block->data_row, &finish);
}

/* One tile of a block of k, without what the product knows to be zeros. */
static void run_tile(const gemm_job *job, int64_t k, int64_t row, const ox_gemm_tile *tile, bool is_woven) {
    const ox_gemm_kernel *kernel = job->plan->kernel;
    const ox_gemm *g = job->gemm;
    ox_gemm_tile_fn *run = is_woven ? kernel->woven_tile : job->plan->tile;
    if (!g->seen) {
        run(tile);
        return;
    }
    OX_ASSERT(tile->rows > 0 && tile->columns > 0 && tile->depth > 0);
    ox_gemm_tile part = *tile;
    int64_t first = k;
    g->seen(g, row, part.rows, &first, &part.depth);
    const int64_t size = (int64_t)ox_dtype_size(kernel->a), odd = is_woven ? (first - k) % (OX_GEMM_WOVEN / size) : 0;
    if (part.depth)
        part.depth += odd, first -= odd;
    part.a += (first - k) * size * (is_woven ? kernel->rows : 1);
    part.b += (first - k) * part.b_row;
    if (part.depth || !part.add || part.finish)
        run(&part);
}

/* Columns of a block that tiles write: whole vectors, where the block is not C itself and its rows need not be packed.
 * What is done last with sums is for the columns of C alone. */
static int64_t block_width(const gemm_job *job, const ox_gemm_block *block) {
    const ox_gemm *g = job->gemm;
    const bool handed_on = job->plan->transposed || g->sides || (g->after.end && !g->after.epilogue);
    return handed_on && !g->after.finish.is_used ? round_up(block->columns, job->plan->kernel->unit) : block->columns;
}

/* Columns from `column` of the job on, in a panel of `all`, that a tile of the block takes: a tile of one row takes all
 * whole panels that lie behind each other, and the last one, if the block ends with that. */
static int64_t columns_at_once(const gemm_job *job, const ox_gemm_block *block, int64_t column, int64_t all) {
    const ox_gemm_kernel *kernel = job->plan->kernel;
    const int64_t within = column & (kernel->columns - 1), most = round_up(all - within, kernel->unit);
    if (within || job->plan->direct || job->plan->tile != kernel->row_tile)
        return most;
    const int64_t end = block->column + block->columns - job->column, left = end - column,
                  whole = left & -(int64_t)kernel->columns;
    return end == job->columns ? round_up(left, kernel->unit) : whole > most ? whole : most;
}

/* A block of C; a block of its rows of A for each block of k. */
static void add_depth(const gemm_job *job, const gemm_room *room, int64_t d, ox_gemm_block *block) {
    const ox_gemm_kernel *kernel = job->plan->kernel;
    const ox_gemm *g = job->transposed;
    int64_t k, depth = depth_range(kernel, g->k, d, job->plan->depths, &k);
    const int64_t tiles = pieces(block->rows, kernel->rows), height = tile_height(kernel, block->rows),
                  c_size = (int64_t)ox_dtype_size(kernel->c);
    ox_gemm_tile tile = {.depth = depth, .c_row = block->data_row, .add = d > 0};
    ox_finish finish = g->after.finish;
    if (finish.is_used && d + 1 == job->plan->depths)
        tile.finish = &finish;
    const gemm_left left = find_rows(job, room, k, depth, block, height);
    tile.a_row = left.row;
    const int64_t width = block_width(job, block);
    for (int64_t j = 0; j < width; j += tile.columns) {
        const int64_t at = block->column + j - job->column, within = at & (kernel->columns - 1),
                      all = panel_columns(job, at, within);
        ox_gemm_span panel = {0}; /* the next one */
        if (g->is_placed)
            tile.b = NULL;
        else if (job->plan->direct)
            find_direct(job, k, at, within, &tile);
        else
            panel = find_panel(job, k, at, within, &tile);
        look_ahead(tiles, &panel, &tile);
        tile.columns = ox_least(columns_at_once(job, block, at, all), width - j);
        if (g->is_placed)
            find_places(job, room, k, at, &tile);
        const char *next = tile.ahead, *last = next + panel.bytes;
        const int64_t fetched = depth / kernel->group / OX_GEMM_STEPS * tile.ahead_step;
        tile.a = left.data;
        for (int64_t i = 0; i < block->rows; i += height, tile.a += left.tile) {
            OX_ASSERT(within + tile.columns <= round_up(all, kernel->unit) || job->plan->tile == kernel->row_tile);
            OX_ASSERT(height <= kernel->rows && tile.columns > 0 && j + tile.columns <= width);
            tile.rows = ox_least(height, block->rows - i);
            tile.c = block->data + j * c_size + i * block->data_row;
            if (tile.finish)
                finish = ox_finish_from(&g->after.finish, block->row + i, block->column + j);
            run_tile(job, k, block->row + i, &tile, left.is_woven && tile.rows >= OX_GEMM_WOVEN_ROWS);
            tile.ahead += fetched;
            if (tile.ahead + fetched > last) /* more tiles than bytes of a row */
                tile.ahead = next;
        }
    }
}

/* As it was asked for, not as it is computed. */
void ox_gemm_take_block(const ox_gemm *g, const ox_gemm_block *block) {
    OX_ASSERT(block->row >= 0 && block->rows > 0 && block->row + block->rows <= g->m);
    OX_ASSERT(block->column >= 0 && block->columns > 0 && block->column + block->columns <= g->n);
    ox_pass_part part = {g->start + block->row * g->n + block->column, block->columns, block->rows, g->n};
    if (g->after.end)
        g->after.end(g, block);
    if (!g->after.epilogue)
        return;
    if (part.count == part.step) { /* whole rows are one stretch */
        part.count *= part.rows;
        part.rows = 1;
    }
    ox_epilogue_take(g->after.epilogue, &part, block->data, block->scratch);
}

/* The same for a block of matrices side by side, each of which takes its columns. */
static void take_sides(const gemm_job *job, const gemm_room *room, const ox_gemm_block *block) {
    const int64_t size = (int64_t)ox_dtype_size(job->plan->kernel->c);
    const ox_gemm_sides *sides = job->gemm->sides;
    for (int64_t column = 0; column < block->columns;) {
        const int64_t at = (block->column + column) / sides->columns;
        ox_gemm g = *job->gemm;
        ox_gemm_block own = *block;
        g.n = sides->columns;
        g.start += at * sides->step;
        g.c = g.c ? (char *)g.c + at * sides->step * size : NULL;
        own.column = block->column + column - at * sides->columns;
        own.columns = ox_least(sides->columns - own.column, block->columns - column);
        own.data_row = own.columns * size;
        own.data = ox_gemm_is_ended(&g) ? room->side : (char *)g.c + own.row * g.c_row + own.column * size;
        job->plan->loops->gemm_copy(own.rows, (size_t)own.data_row, own.data,
                                    ox_gemm_is_ended(&g) ? own.data_row : g.c_row, block->data + column * size,
                                    block->data_row);
        ox_gemm_take_block(&g, &own);
        column += own.columns;
    }
}

/* A block of a product that is computed transposed, as it was asked for: some rows of that at a time, which are written
 * into C itself if nothing else takes them. */
static void take_transposed(const gemm_job *job, const gemm_room *room, const ox_gemm_block *from) {
    const ox_gemm *g = job->gemm;
    const int64_t size = (int64_t)ox_dtype_size(job->plan->kernel->c);
    for (int64_t i = 0; i < from->columns; i += job->plan->strip) {
        ox_gemm_block block = {from->column + i, ox_least(job->plan->strip, from->columns - i),
                               from->row,        from->rows,
                               room->back,       from->rows * size,
                               from->scratch};
        if (!ox_gemm_is_ended(g)) {
            block.data = (char *)g->c + block.row * g->c_row + block.column * size;
            block.data_row = g->c_row;
        }
        job->plan->loops->transpose((size_t)size)(block.columns, block.rows, block.data, block.data_row,
                                                  from->data + i * size, from->data_row, 0);
        ox_gemm_take_block(g, &block);
    }
}

static void compute_block(const gemm_job *job, const gemm_room *room, ox_gemm_block *block) {
    const ox_gemm *g = job->transposed;
    const int64_t size = (int64_t)ox_dtype_size(job->plan->kernel->c);
    const bool taken = ox_gemm_is_taken(g);
    OX_ASSERT(block->row + block->rows <= g->m && block->rows <= job->plan->rows);
    OX_ASSERT(block->column >= job->column && block->column + block->columns <= job->column + job->columns);
    OX_ASSERT(taken || g->c);
    block->data = taken ? room->c : (char *)g->c + block->row * g->c_row + block->column * size;
    block->data_row = taken ? block_width(job, block) * size + ox_gemm_block_pad(job->plan) : g->c_row;
    block->scratch = room->scratch;
    for (int64_t i = 0; i < block->rows && !g->k; i++)
        memset(block->data + i * block->data_row, 0, (size_t)(block->columns * size));
    for (int64_t d = 0; d < job->plan->depths; d++) {
        if (ox_pool_poll(job->plan->pool))
            return;
        add_depth(job, room, d, block);
    }
    if (!g->k)
        finish_block(job, block);
    if (job->plan->transposed)
        take_transposed(job, room, block);
    else if (g->sides)
        take_sides(job, room, block);
    else
        ox_gemm_take_block(job->gemm, block);
}

/* Rows are cut into blocks of about one size, where tiles end; columns where panels end. */
static void compute_blocks(const gemm_job *job, const gemm_room *room, int64_t row, int64_t row_end, int64_t column,
                           int64_t column_end) {
    const ox_gemm_plan *plan = job->plan;
    const int64_t rows = row_end - row, blocks = pieces(rows, plan->rows), height = plan->kernel->rows,
                  each = blocks ? ox_least(pieces(pieces(rows, blocks), height) * height, plan->rows) : 0;
    for (int64_t j = column, end; j < column_end; j = end) {
        const int64_t behind = j - job->column + plan->columns;
        end = ox_least(column_end, job->column + behind - behind % plan->kernel->columns);
        for (int64_t i = row; i < row_end; i += each) {
            ox_gemm_block block = {.row = i, .rows = ox_least(each, row_end - i), .column = j, .columns = end - j};
            compute_block(job, room, &block);
        }
    }
}

/* Steps of tiles: vectors of a column each, and as many as one more row has to begin and to end it. */
static int64_t tile_steps(const ox_gemm_kernel *kernel, int64_t rows, int64_t vectors) {
    return (rows + pieces(rows, kernel->rows)) * vectors;
}

/* Whether threads share rows, else vectors of columns; both can be cut anywhere. Where there is more data than weights,
 * they share the data, unless one of them had much more to do then: what a thread computes of an image it reads again
 * in the next step, and what another one wrote may lie far away. Else with many rows each lays out its own of A, or
 * they share what lets the slowest be done first. What is handed on of a transposed product should be whole rows of
 * that. */
static bool shares_rows(const gemm_job *job, int parts) {
    const ox_gemm_kernel *kernel = job->plan->kernel;
    const ox_gemm *g = job->transposed;
    const int64_t vectors = pieces(job->columns, kernel->unit),
                  by_rows = tile_steps(kernel, pieces(g->m, parts), vectors),
                  by_vectors = tile_steps(kernel, g->m, pieces(vectors, parts));
    const bool ended = ox_gemm_is_ended(job->gemm);
    if (!ended && (g->left_is_weights ? g->n > g->m : g->m > g->n))
        return g->left_is_weights ? by_rows + by_rows / FAR < by_vectors : by_rows <= by_vectors + by_vectors / FAR;
    if (ended && job->plan->transposed)
        return by_rows + by_rows / WHOLE < by_vectors;
    return pieces(g->m, kernel->rows) >= TILES_EACH * parts || by_rows < by_vectors;
}

static void rows_share(void *context, ox_share *share) {
    const gemm_job *job = context;
    const gemm_room room = job_room(job, share->room);
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        compute_blocks(job, &room, first, end, job->column, job->column + job->columns);
}

static void columns_share(void *context, ox_share *share) {
    const gemm_job *job = context;
    const gemm_room room = job_room(job, share->room);
    const int64_t unit = job->plan->kernel->unit;
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        compute_blocks(job, &room, 0, job->transposed->m, job->column + first * unit,
                       job->column + ox_least(end * unit, job->columns));
}

/* Tiles of rows. */
static void lay_share(void *context, ox_share *share) {
    const gemm_job *job = context;
    const gemm_room room = job_room(job, share->room);
    const ox_gemm *g = job->transposed;
    const int64_t a_row = job->plan->kernel->a_row, height = tile_height(job->plan->kernel, g->m),
                  apart = (is_woven(job, height) ? job->plan->kernel->rows : height) * a_row;
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        for (; first < end; first++) {
            const int64_t row = first * height, rows = ox_least(height, g->m - row);
            char *to = job_room(job, 0).a + first * apart;
            if (is_woven(job, height))
                weave_rows(job, &room, &(const ox_gemm_block){.row = row, .rows = rows, .columns = g->k}, height, to);
            else
                lay_rows(job, &room, 0, g->k, row, rows, to);
        }
}

/* Threads that share columns read the same rows of A. They lay them out together, or else each does all of them for
 * every piece of its share, which then is one. */
static void share_columns(gemm_job *job, ox_pool *pool) {
    const ox_gemm_plan *plan = job->plan;
    const ox_gemm_kernel *kernel = plan->kernel;
    const ox_gemm *g = job->transposed;
    const ox_gemm_block each = {.rows = g->m, .columns = job->columns / ox_pool_parts(pool)};
    const bool lays = g->gather || !as_it_lies(kernel, &g->a, g->k, &each),
               at_once = lays && pool && plan->depths == 1 && g->m <= plan->rows;
    const int64_t vectors = pieces(job->columns, kernel->unit), panel = kernel->columns / kernel->unit;
    if (at_once) {
        ox_pool_share(pool, pieces(g->m, kernel->rows), 1, lay_share, job);
        job->laid = job_room(job, 0).a;
    }
    ox_pool_share(pool, vectors, plan->whole || (lays && !at_once) ? vectors : panel, columns_share, job);
    job->laid = NULL;
}

static void compute_all(gemm_job *job, ox_pool *pool) {
    if (shares_rows(job, ox_pool_parts(pool)))
        ox_pool_share(pool, job->transposed->m, job->plan->taken, rows_share, job);
    else
        share_columns(job, pool);
}

/* Some of the chunks of columns, one after the other. */
static void run_chunks(gemm_job *job, ox_pool *pool, int64_t first, int64_t end) {
    const int64_t n = job->transposed->n, chunk = job->plan->chunk;
    for (int64_t i = first; i < end; i++) {
        job->column = i * chunk;
        job->columns = ox_least(chunk, n - job->column);
        OX_ASSERT(job->columns > 0 && job->panels);
        pack_all(job, pool);
        compute_all(job, pool);
    }
}

/* Chunks of one thread, in panels of its own. */
static void strip_share(void *context, ox_share *share) {
    gemm_job job = *(const gemm_job *)context;
    int64_t first, end;
    job.part = share->room;
    job.panels += (size_t)share->room * job.plan->panel_bytes;
    while (ox_share_next(share, &first, &end))
        run_chunks(&job, NULL, first, end);
}

static void run_panels(gemm_job *job, ox_pool *pool) {
    const ox_gemm *g = job->transposed;
    if (g->panels || job->plan->direct) {
        if (g->panels)
            job->panels = (char *)(uintptr_t)g->panels;
        job->column = g->n - job->plan->edge;
        job->columns = job->plan->edge;
        if (job->plan->edge)
            pack_all(job, pool);
        job->column = 0;
        job->columns = g->n;
        compute_all(job, pool);
        return;
    }
    if (job->plan->strips)
        ox_pool_share(pool, pieces(g->n, job->plan->chunk), 1, strip_share, job);
    else
        run_chunks(job, pool, 0, pieces(g->n, job->plan->chunk));
}

/* ---- Vectors ------------------------------------------------------------------------------------------------ */

/* Columns [first, end) of a product of one row. */
static void compute_vector(const gemm_job *job, const gemm_room *room, int64_t first, int64_t end) {
    const ox_gemm_plan *plan = job->plan;
    const ox_gemm *g = job->transposed;
    const int64_t size = (int64_t)ox_dtype_size(plan->kernel->c);
    for (int64_t j = first; j < end; j += plan->columns) {
        if (ox_pool_poll(plan->pool))
            return;
        int64_t columns = ox_least(plan->columns, end - j);
        char *c = ox_gemm_is_taken(g) ? room->c : (char *)g->c + j * size;
        ox_gemm_vector(plan, g, j, columns, room->stage, c);
        ox_gemm_block block = {0, 1, j, columns, c, columns * size, room->scratch};
        finish_block(job, &block);
        if (plan->transposed)
            block = (ox_gemm_block){j, columns, 0, 1, c, size, room->scratch};
        ox_gemm_take_block(job->gemm, &block);
    }
}

static void vector_share(void *context, ox_share *share) {
    const gemm_job *job = context;
    const gemm_room room = job_room(job, share->room);
    const int64_t unit = job->plan->kernel->columns;
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        compute_vector(job, &room, first * unit, ox_least(end * unit, job->transposed->n));
}

/* ---- Products ----------------------------------------------------------------------------------------------- */

/* One product, computed as `transposed` says; part: of the pool that computes it alone, -1 if the pool shares it. */
static void run_as(const ox_gemm_plan *plan, const ox_gemm *gemm, const ox_gemm *transposed, char *workspace,
                   int part) {
    gemm_job job = {.plan = plan, .gemm = gemm, .transposed = transposed, .workspace = workspace, .part = part};
    OX_ASSERT(gemm->m > 0 && gemm->n > 0 && gemm->k >= 0);
    OX_ASSERT(ox_is_aligned(workspace));
    OX_ASSERT(!gemm->panels || ox_is_aligned(gemm->panels));
    OX_ASSERT(part < ox_pool_parts(plan->pool));
    job.panels = workspace + (part < 0 ? 0 : (size_t)part * plan->panel_bytes);
    ox_pool *pool = part < 0 ? plan->pool : NULL;
    if (plan->algorithm == OX_GEMM_PANELS)
        run_panels(&job, pool);
    else
        ox_pool_share(pool, pieces(transposed->n, plan->kernel->columns), pieces(plan->columns, plan->kernel->columns),
                      vector_share, &job);
}

static void run_one(const ox_gemm_plan *plan, ox_gemm *gemm, char *workspace, int part) {
    ox_gemm_place_finish(gemm);
    if (plan->transposed) {
        const ox_gemm transposed = ox_gemm_transpose(gemm);
        run_as(plan, gemm, &transposed, workspace, part);
    } else {
        run_as(plan, gemm, gemm, workspace, part);
    }
}

typedef struct batch_job {
    const ox_gemm_plan *plan;
    const ox_gemm *gemm;
    ox_gemm_place_fn *place;
    const void *places;
    char *workspace;
} batch_job;

static void batch_share(void *context, ox_share *share) {
    const batch_job *job = context;
    int64_t i, end;
    while (ox_share_next(share, &i, &end))
        for (; i < end && !ox_pool_cancelled(job->plan->pool); i++) {
            ox_gemm g = ox_gemm_product(job->gemm, i, job->place, job->places);
            run_one(job->plan, &g, job->workspace, share->room);
        }
}

void ox_gemm_run(const ox_gemm_plan *plan, const ox_gemm *gemm, int64_t count, ox_gemm_place_fn *place,
                 const void *places, void *workspace) {
    OX_ASSERT(count >= 0 && gemm->m >= 0 && gemm->n >= 0);
    ox_gemm finished;
    if (gemm->m == 0 || gemm->n == 0)
        return;
    if (plan->affine) {
        finished = ox_gemm_finished(plan, gemm);
        gemm = &finished;
    }
    if (plan->batched) {
        ox_pool_share(plan->pool, count, 1, batch_share, &(batch_job){plan, gemm, place, places, workspace});
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        ox_gemm g = ox_gemm_product(gemm, i, place, places);
        run_one(plan, &g, workspace, -1);
    }
}
