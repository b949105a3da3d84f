/* resize_passes.c: Resize by weights: a pass along each axis, over a block of the tensor at a time. */
#include "resize.h"
#include "sums.h"
#include "loops/blend_loops.h"
#include "ops/dense.h"

#include <string.h>

/* ---- Sums of rows ------------------------------------------------------------------------------------------- */

/* A pass along one axis: output row (o, j) is a sum of input rows (o, first[j]) and the next ones. */
typedef struct pass_job {
    const ox_blend_lines *sums;
    const ox_axis_map *map;
    int64_t inner; /* elements of a row */
    int64_t rows;  /* of the output */
    int64_t width; /* bytes of an element */
    const char *from;
    char *to;
} pass_job;

/* Row j of block o, of more than one element. */
static void add_row(const pass_job *job, int64_t o, int64_t j) {
    const ox_axis_map *map = job->map;
    const int64_t bytes = job->inner * job->width;
    const char *from = job->from + (o * map->in + map->first[j]) * bytes;
    char *to = job->to + (o * map->out + j) * bytes;
    const double *weights = map->weights + j * map->taps;
    if (map->counts[j] == 0)
        memset(to, 0, (size_t)bytes);
    else if (map->counts[j] == 1 && weights[0] == 1)
        memcpy(to, from, (size_t)bytes);
    else
        job->sums->rows(job->inner, weights, map->counts[j], from, to);
}

/* Elements [j, j + n) of line o: rows of one element. */
static void add_line(const pass_job *job, int64_t o, int64_t j, int64_t n) {
    const ox_axis_map *map = job->map;
    job->sums->line(n, map->first + j, map->counts + j, (const char *)map->sum_weights + j * map->taps * job->width,
                    map->taps, job->from + o * map->in * job->width, job->to + (o * map->out + j) * job->width);
}

static void pass_part(void *context, int part, int parts) {
    const pass_job *job = context;
    int64_t row, end;
    ox_pool_range(job->rows, part, parts, &row, &end);
    int64_t o = ox_quotient(row, job->map->out), j = ox_remainder(row, job->map->out);
    for (int64_t n; row < end; row += n, o++, j = 0) {
        n = ox_least(job->map->out - j, end - row);
        if (job->inner == 1)
            add_line(job, o, j, n);
        for (int64_t i = j; job->inner != 1 && i < j + n; i++)
            add_row(job, o, i);
    }
}

/* ---- Blocks ------------------------------------------------------------------------------------------------- */

/* Axes are done in the order in which they shrink; of those that are alike the last one comes where there are fewer
 * elements, as sums along a line take longer than those of rows: first if they grow, last if they shrink. */
static void order_axes(ox_resize_plan *plan, int *count) {
    *count = 0;
    for (int d = plan->begin; d < plan->end; d++) {
        const ox_axis_map *map = &plan->maps[d];
        int at = *count;
        if (map->same)
            continue;
        for (; at > 0; at--) {
            const ox_axis_map *other = &plan->maps[plan->order[at - 1]];
            const double before = (double)other->out / (double)other->in, growth = (double)map->out / (double)map->in;
            if (before < growth || (before == growth && growth < 1))
                break;
            plan->order[at] = plan->order[at - 1];
        }
        plan->order[at] = d;
        ++*count;
    }
    plan->order[*count] = -1;
}

/* The weights in the type of sums. */
static ox_status make_sum_weights(ox_call *call, ox_axis_map *map) {
    const int64_t count = map->out * map->taps;
    map->sum_weights = map->weights;
    if (ox_sums_are_wide(call->in[0]->dtype))
        return OX_OK;
    float *weights = ox_pile_array(call->pile, (size_t)count, sizeof *weights);
    if (!weights)
        return ox_fail_memory(call->error, "weights of a resized axis", (size_t)count * sizeof *weights);
    for (int64_t j = 0; j < map->out; j++)
        for (int64_t k = 0; k < map->counts[j]; k++)
            weights[j * map->taps + k] = (float)map->weights[j * map->taps + k];
    map->sum_weights = weights;
    return OX_OK;
}

/* Whether each thread takes whole blocks, or all share each pass. */
static bool splits_blocks(const ox_call *call, const ox_resize_plan *plan) {
    return plan->outer >= ox_pool_parts(call->pool);
}

ox_status ox_passes_prepare(ox_call *call, ox_resize_plan *plan) {
    const ox_tensor *in = call->in[0];
    int count;
    plan->order = ox_pile_array(call->pile, (size_t)in->rank + 1, sizeof *plan->order);
    if (!plan->order)
        return ox_fail_memory(call->error, "a prepared operator", (size_t)in->rank * sizeof *plan->order);
    order_axes(plan, &count);
    int64_t size = ox_tensor_count(in) / plan->outer;
    plan->most = size;
    for (int i = 0; i < count; i++) {
        ox_axis_map *map = &plan->maps[plan->order[i]];
        OX_TRY(make_sum_weights(call, map));
        if (!ox_mul_i64(size / map->in, map->out, &size))
            return ox_call_fail(call, OX_ERROR_LIMIT, "%s is too large to be resized", OX_INPUT(call, 0));
        plan->most = size > plan->most ? size : plan->most;
    }
    const int parts = splits_blocks(call, plan) ? ox_pool_parts(call->pool) : 1;
    size_t bytes;
    if (!ox_mul_size((size_t)plan->most, ox_sum_size(in->dtype), &bytes) || bytes > SIZE_MAX / 4)
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s is too large to be resized", OX_INPUT(call, 0));
    plan->buffer = ox_aligned(bytes);
    plan->room = ox_pool_room(parts, 2 * plan->buffer);
    return ox_workspace_add(call, parts, plan->room);
}

/* What the threads do: blocks [first, end), with two buffers in turn. */
typedef struct block_job {
    ox_call *call;
    const ox_resize_plan *plan;
    const char *from;
    char *rooms;   /* two buffers for each thread */
    ox_pool *pool; /* that a block is split over; NULL if blocks are */
    int64_t in_count, out_count;
} block_job;

/* All passes over one block. */
static void run_block(const block_job *job, int64_t block, char *const buffer[2]) {
    const ox_call *call = job->call;
    const ox_resize_plan *plan = job->plan;
    const ox_tensor *in = call->in[0], *out = call->out[0];
    const int64_t width = (int64_t)ox_dtype_size(in->dtype);
    char *to = (char *)out->data + block * job->out_count * width;
    const void *from = job->from + block * job->in_count * width;
    const ox_blend_lines *sums = ox_sums_are_wide(in->dtype) ? OX_BUILD_OF(call->loops, ox_blend_lines_f64_builds)
                                                             : OX_BUILD_OF(call->loops, ox_blend_lines_f32_builds);
    int64_t count = job->in_count, turn = 0;
    if (!ox_sums_are_native(in->dtype)) {
        ox_sums_from(call->loops, in->dtype, count, from, buffer[1]);
        from = buffer[1];
    }
    for (const int *d = plan->order; *d >= 0; d++, turn++) {
        const ox_axis_map *map = &plan->maps[*d];
        int64_t inner = plan->inner;
        for (int i = *d + 1; i < plan->end; i++) { /* axes that come later have their old size */
            bool later = false;
            for (const int *other = d; *other >= 0; other++)
                later |= *other == i;
            inner *= later ? plan->maps[i].in : plan->maps[i].out;
        }
        count = count / map->in * map->out;
        pass_job pass = {sums,
                         map,
                         inner,
                         count / inner,
                         (int64_t)ox_sum_size(in->dtype),
                         from,
                         d[1] < 0 && ox_sums_are_native(in->dtype) ? to : buffer[turn % 2]};
        ox_pool_run_pieces(job->pool, (double)count * (double)map->taps * (double)ox_sum_size(in->dtype), pass_part,
                           &pass);
        from = pass.to;
    }
    if (!ox_sums_are_native(in->dtype))
        ox_sums_to(call->loops, in->dtype, count, from, to);
}

static void blocks_share(void *context, ox_share *share) {
    const block_job *job = context;
    char *room = job->rooms + (size_t)share->room * job->plan->room;
    char *buffer[2] = {room, room + job->plan->buffer};
    int64_t at, end;
    while (ox_share_next(share, &at, &end))
        for (; at < end && !ox_pool_poll(job->call->pool); at++)
            run_block(job, at, buffer);
}

void ox_passes_run(ox_call *call, const ox_resize_plan *plan, const char *from, size_t used) {
    const ox_tensor *in = call->in[0], *out = call->out[0];
    block_job job = {.call = call,
                     .plan = plan,
                     .from = from,
                     .in_count = ox_tensor_count(in) / plan->outer,
                     .out_count = ox_tensor_count(out) / plan->outer};
    const bool split = splits_blocks(call, plan);
    job.rooms = ox_workspace_take(call, &used, split ? ox_pool_parts(call->pool) : 1, plan->room);
    job.pool = split ? NULL : call->pool;
    const double bytes = (double)(ox_tensor_count(in) + ox_tensor_count(out)) * (double)ox_sum_size(in->dtype);
    ox_pool_share(split ? ox_pool_for(call->pool, bytes) : NULL, plan->outer, 1, blocks_share, &job);
}
