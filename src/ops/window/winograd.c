/* winograd.c: convolutions by Winograd's algorithm. Each panel of tiles goes through three steps:
 *   enter     the input transform of what its tiles see, channel by channel
 *   multiply  for each point, a matrix product of weights and transformed tiles, for a block of output channels whose
 *             sums stay in a cache
 *   leave     the output transform of these sums into results, which are stored or handed to the epilogue */
#include "conv.h"
#include "ops/dense.h"

#include <string.h>

typedef struct winograd_job {
    const ox_winograd *plan;
    ox_epilogue *epilogue;
    const ox_f32 *x, *bias;
    float *to;
    char *values, *workspace; /* of all threads */
    int64_t panel, group;     /* that threads share */
} winograd_job;

/* What a thread works on. */
typedef struct winograd_room {
    float *values; /* what the products read */
    float *line, *lines, *sums, *results, *woven;
    char *scratch;
} winograd_room;

/* A panel: the first of its tiles, and how many there are. */
typedef struct winograd_panel {
    int64_t image, images, row, rows, column, columns;
} winograd_panel;

static winograd_room room_of(const winograd_job *job, int part) {
    const ox_winograd *p = job->plan;
    char *at = job->workspace + (size_t)part * ox_winograd_room(p);
    winograd_room room = {.values = (float *)(void *)(job->values + (p->apart ? (size_t)part * p->values : 0))};
    room.line = (float *)(void *)at;
    room.lines = room.line + p->size * p->phase;
    room.sums = (float *)(void *)(at + p->lines);
    room.woven = (float *)(void *)(at + p->lines + p->sums);
    room.results = room.woven + p->size * p->size * p->phase;
    room.scratch = at + p->lines + p->sums + p->results;
    OX_ASSERT(part >= 0 && part < ox_pool_parts(p->pool));
    OX_ASSERT(ox_is_aligned(room.values) && ox_is_aligned(room.line) && ox_is_aligned(room.sums));
    OX_ASSERT(ox_is_aligned(room.woven) && ox_is_aligned(room.scratch));
    return room;
}

static winograd_panel find_panel(const ox_winograd *p, int64_t number) {
    const int64_t across = ox_quotient(p->across + p->columns - 1, p->columns);
    winograd_panel panel;
    panel.column = ox_remainder(number, across) * p->columns;
    number = ox_quotient(number, across);
    const int64_t stretch = ox_remainder(number, p->stretches);
    panel.row = ox_quotient(stretch * p->down, p->stretches);
    panel.rows = ox_quotient((stretch + 1) * p->down, p->stretches) - panel.row;
    panel.image = ox_quotient(number, p->stretches) * p->images;
    panel.columns = ox_least(p->columns, p->across - panel.column);
    panel.images = ox_least(p->images, p->shape.images - panel.image);
    OX_ASSERT(panel.rows > 0 && panel.columns > 0 && panel.images > 0);
    OX_ASSERT(panel.row + panel.rows <= p->down && panel.column + panel.columns <= p->across);
    return panel;
}

/* ---- Input transform ---------------------------------------------------------------------------------------- */

/* The rows of a channel that tiles see, in phases, with their padding. */
static void lay_lines(const ox_winograd *p, const winograd_panel *panel, const ox_f32 *channel,
                      const winograd_room *room) {
    const ox_window *w = p->shape.window;
    const int64_t length = p->size * p->phase, rows = panel->rows * p->size + 2, wanted = panel->columns * p->size + 2,
                  top = panel->row * p->size - w->pad[0], left = panel->column * p->size - w->pad[1];
    const int64_t first = left < 0 ? -left : 0, end = ox_least(wanted, w->in[1] - left);
    const int64_t seen = (int64_t)ox_round_up((size_t)panel->columns + 2, OX_WINOGRAD_MARGIN);
    memset(room->line, 0, (size_t)length * sizeof(float));
    for (int64_t r = 0; r < rows; r++) {
        float *to = room->lines + r * length;
        const int64_t y = top + r;
        if (y < 0 || y >= w->in[0] || first >= end) {
            memset(to, 0, (size_t)length * sizeof(float));
            continue;
        }
        OX_ASSERT(end <= length && left + first >= 0 && left + end <= w->in[1]);
        memcpy(room->line + first, channel + y * w->in[1] + left + first, (size_t)(end - first) * sizeof(float));
        p->loops->part(p->size, seen, room->line, to, p->phase);
    }
}

/* Some of the input channels of a panel. */
static void enter_channels(const winograd_job *job, const winograd_room *room, const winograd_panel *panel,
                           int64_t group, int64_t first, int64_t end) {
    const ox_winograd *p = job->plan;
    const ox_winograd_shape *shape = &p->shape;
    const int64_t length = p->size * p->phase, step = p->value_step;
    const int64_t tiles = panel->images * panel->rows * panel->columns;
    OX_ASSERT(first >= 0 && end <= shape->in_channels && tiles <= p->pitch);
    for (int64_t c = first; c < end; c++) {
        float *to = room->values + c * p->pitch;
        for (int64_t i = 0; i < p->points; i++) /* products are as wide as vectors */
            memset(to + i * step + tiles, 0, OX_WINOGRAD_MARGIN * sizeof(float));
        for (int64_t i = 0; i < panel->images; i++) {
            const int64_t channel = ((panel->image + i) * shape->groups + group) * shape->in_channels + c;
            lay_lines(p, panel, job->x + channel * shape->window->in_count, room);
            for (int64_t r = 0; r < panel->rows; r++, to += panel->columns)
                p->transforms->enter(panel->columns, room->lines + r * p->size * length, length, p->phase, to, step);
        }
    }
}

/* ---- Products ----------------------------------------------------------------------------------------------- */

/* The sums of `count` output channels of a group, from `first` on. */
static void multiply(const ox_winograd *p, const winograd_room *room, int64_t tiles, int64_t group, int64_t first,
                     int64_t count) {
    const ox_winograd_shape *shape = &p->shape;
    const ox_gemm_kernel *kernel = p->kernel;
    const int64_t all = shape->groups * shape->out_channels, size = (int64_t)sizeof(float), lanes = kernel->unit,
                  width = ox_quotient(tiles + lanes - 1, lanes) * lanes,
                  height = ox_quotient(count - 1, ox_quotient(count - 1, kernel->rows) + 1) + 1;
    ox_gemm_tile tile = {.a_row = p->a_row, .b_row = p->pitch * size, .c_row = p->pitch * size};
    for (int64_t i = 0; i < p->points; i++)
        for (int64_t d = 0; d < p->depths; d++) {
            const int64_t channel = d * p->depth;
            const char *a =
                (const char *)p->weights + ((i * p->depths + d) * all + group * shape->out_channels + first) * p->a_row;
            tile.depth = ox_least(p->depth, shape->in_channels - channel);
            tile.add = d > 0;
            tile.ahead_stream = ox_quotient(height * p->a_row, tile.depth);
            tile.ahead_step = OX_GEMM_STEPS * tile.ahead_stream;
            for (int64_t j = 0; j < width; j += kernel->columns) {
                tile.columns = ox_least(kernel->columns, width - j);
                tile.b = (const char *)(room->values + i * p->value_step + channel * p->pitch + j);
                for (int64_t k = 0; k < count; k += height) {
                    tile.rows = ox_least(height, count - k);
                    tile.a = a + k * p->a_row;
                    tile.ahead = tile.a + height * p->a_row;
                    tile.c = (char *)(room->sums + i * p->sum_step + k * p->pitch + j);
                    OX_ASSERT(tile.rows >= 1 && tile.rows <= kernel->rows && tile.depth > 0);
                    OX_ASSERT(tile.columns >= 1 && tile.columns <= kernel->columns && j + tile.columns <= p->pitch);
                    kernel->tile(&tile);
                }
            }
        }
}

/* ---- Output transform --------------------------------------------------------------------------------------- */

/* The results of a channel and an image, from its first tile on: rows `to_row` elements apart. */
static void leave_image(const ox_winograd *p, const winograd_room *room, const winograd_panel *panel, const float *sums,
                        float bias, float *to, int64_t to_row) {
    const ox_window *w = p->shape.window;
    const int64_t size = p->size, step = p->sum_step;
    const int64_t columns = ox_least(panel->columns * size, w->out[1] - panel->column * size);
    for (int64_t r = 0; r < panel->rows; r++, sums += panel->columns) {
        const int64_t rows = ox_least(size, w->out[0] - (panel->row + r) * size);
        p->transforms->leave(panel->columns, sums, step, bias, room->woven, p->phase);
        for (int64_t i = 0; i < rows; i++, to += to_row)
            p->loops->weave(size, columns, room->woven + i * size * p->phase, p->phase, to);
    }
}

/* What a panel has of a channel: rows and columns of results, and the first of them. */
static ox_pass_part stretch_of(const ox_winograd *p, const winograd_panel *panel, int64_t image, int64_t channel) {
    const ox_window *w = p->shape.window;
    const int64_t size = p->size, all = p->shape.groups * p->shape.out_channels;
    ox_pass_part part = {.step = w->out[1]};
    part.rows = ox_least(panel->rows * size, w->out[0] - panel->row * size);
    part.count = ox_least(panel->columns * size, w->out[1] - panel->column * size);
    part.first = (image * all + channel) * w->out_count + panel->row * size * w->out[1] + panel->column * size;
    return part;
}

/* Hands on results that lie packed: of whole images, those of several channels are one stretch. */
static void hand_on(const winograd_job *job, const winograd_room *room, ox_pass_part part, int64_t channels) {
    if (part.count == part.step) {
        part.count *= part.rows * channels;
        part.step = part.count;
        part.rows = 1;
    }
    ox_epilogue_take(job->epilogue, &part, room->results, room->scratch);
}

/* Output channels whose sums are there. */
static void leave_channels(const winograd_job *job, const winograd_room *room, const winograd_panel *panel,
                           int64_t group, int64_t first, int64_t count) {
    const ox_winograd *p = job->plan;
    const int64_t tiles = panel->rows * panel->columns;
    const bool whole = panel->rows == p->down && panel->columns == p->across;
    for (int64_t i = 0; i < panel->images; i++)
        for (int64_t k = 0; k < count; k++) {
            const int64_t channel = group * p->shape.out_channels + first + k;
            const ox_pass_part part = stretch_of(p, panel, panel->image + i, channel);
            const float *sums = room->sums + k * p->pitch + i * tiles, bias = job->bias ? job->bias[channel] : 0;
            if (!job->epilogue) {
                leave_image(p, room, panel, sums, bias, job->to + part.first, part.step);
                continue;
            }
            leave_image(p, room, panel, sums, bias, room->results + (whole ? k * part.rows * part.count : 0),
                        part.count);
            if (!whole)
                hand_on(job, room, part, 1);
            else if (k == count - 1)
                hand_on(job, room, stretch_of(p, panel, panel->image + i, channel - k), count);
        }
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* Some of the output channels, block by block. */
static void compute_channels(const winograd_job *job, const winograd_room *room, const winograd_panel *panel,
                             int64_t group, int64_t first, int64_t end) {
    const ox_winograd *p = job->plan;
    const int64_t tiles = panel->images * panel->rows * panel->columns;
    for (int64_t k = first; k < end && !ox_pool_poll(p->pool); k += p->block) {
        const int64_t count = ox_least(p->block, end - k);
        multiply(p, room, tiles, group, k, count);
        leave_channels(job, room, panel, group, k, count);
    }
}

/* Some of the panels, each by one thread. */
static void panels_share(void *context, ox_share *share) {
    const winograd_job *job = context;
    const ox_winograd *p = job->plan;
    const winograd_room room = room_of(job, share->room);
    int64_t at, end;
    while (ox_share_next(share, &at, &end))
        for (; at < end && !ox_pool_poll(p->pool); at++) {
            const int64_t group = ox_quotient(at, p->panels);
            const winograd_panel panel = find_panel(p, ox_remainder(at, p->panels));
            enter_channels(job, &room, &panel, group, 0, p->shape.in_channels);
            compute_channels(job, &room, &panel, group, 0, p->shape.out_channels);
        }
}

/* A panel that threads share. */
static void enter_share(void *context, ox_share *share) {
    const winograd_job *job = context;
    const winograd_room room = room_of(job, share->room);
    const winograd_panel panel = find_panel(job->plan, job->panel);
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        enter_channels(job, &room, &panel, job->group, first, end);
}

static void compute_share(void *context, ox_share *share) {
    const winograd_job *job = context;
    const winograd_room room = room_of(job, share->room);
    const winograd_panel panel = find_panel(job->plan, job->panel);
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        compute_channels(job, &room, &panel, job->group, first, end);
}

static void run(const ox_call *call, const ox_conv *conv, size_t *used, const ox_conv_operands *of) {
    const ox_winograd *plan = &conv->winograd;
    const int parts = ox_pool_parts(plan->pool);
    winograd_job job = {.plan = plan, .epilogue = call->epilogue, .x = of->x, .bias = of->bias, .to = of->to};
    job.values = ox_workspace_take(call, used, plan->apart ? parts : 1, plan->values);
    job.workspace = ox_workspace_take(call, used, parts, ox_winograd_room(plan));
    if (plan->apart) {
        ox_pool_share(plan->pool, plan->panels * plan->shape.groups, 1, panels_share, &job);
        return;
    }
    for (job.group = 0; job.group < plan->shape.groups; job.group++)
        for (job.panel = 0; job.panel < plan->panels; job.panel++) {
            ox_pool_share(plan->pool, plan->shape.in_channels, 1, enter_share, &job);
            ox_pool_share(plan->pool, plan->shape.out_channels, plan->kernel->rows, compute_share, &job);
        }
}

/* ---- The way ------------------------------------------------------------------------------------------------ */

static const char *algorithm(const ox_conv *c) {
    return c->winograd.size > 2 ? "Winograd 4x4, channels first" : "Winograd 2x2, channels first";
}

const ox_conv_way ox_conv_winograd_way = {.name = "winograd",
                                          .sums = OX_CONV_TRANSFORMS,
                                          .lays_weights = true,
                                          .algorithm = algorithm,
                                          .can = ox_winograd_can,
                                          .cost = ox_winograd_cost,
                                          .prepare = ox_winograd_prepare,
                                          .run = run};
