/* resize_passes.c: Resize by weights: a pass along each axis, over a block of the tensor at a time. */
#include "resize.h"
#include "sums.h"
#include "loops/element.h"
#include "ops/dense.h"

#include <string.h>

/* ---- Sums of rows ------------------------------------------------------------------------------------------- */

/* A pass along one axis: output row (o, j) is a sum of input rows (o, first[j]) and the next ones. */
typedef struct pass_job {
    const ox_axis_map *map;
    int64_t inner; /* elements of a row */
    int64_t rows;  /* of the output */
    const void *from;
    void *to;
} pass_job;

/* add_rows: the sum of `taps` rows of n elements each, which lie behind each other from `from` on. add_elements: the
 * same of rows of one element, for places [at, end) of an axis. */
#define SUMS(type, loaded)                                                                                             \
    static void add_rows_##type(int64_t n, const double *weights, int64_t taps, const loaded *from, type *to) {        \
        int64_t k = taps % 2;                                                                                          \
        const type w = k ? (type)weights[0] : 0;                                                                       \
        for (int64_t i = 0; i < n && k; i++)                                                                           \
            to[i] = w * from[i];                                                                                       \
        for (int64_t i = 0; i < n && taps >= 2 && !k; i++)                                                             \
            to[i] = (type)weights[0] * from[i] + (type)weights[1] * from[n + i];                                       \
        for (k = k ? 1 : 2; k < taps; k += 2) {                                                                        \
            const type a = (type)weights[k], b = (type)weights[k + 1];                                                 \
            const loaded *left = from + k * n, *right = left + n;                                                      \
            for (int64_t i = 0; i < n; i++)                                                                            \
                to[i] += a * left[i] + b * right[i];                                                                   \
        }                                                                                                              \
    }                                                                                                                  \
    static void add_row_##type(const pass_job *job, int64_t row) {                                                     \
        const ox_axis_map *map = job->map;                                                                             \
        const int64_t j = row % map->out, first = row / map->out * map->in + map->first[j];                            \
        const loaded *from = (const loaded *)job->from + first * job->inner;                                           \
        type *to = (type *)job->to + row * job->inner;                                                                 \
        const double *weights = map->weights + j * map->taps;                                                          \
        if (map->counts[j] == 0)                                                                                       \
            memset(to, 0, (size_t)job->inner * sizeof *to);                                                            \
        else if (map->counts[j] == 1 && weights[0] == 1)                                                               \
            memcpy(to, from, (size_t)job->inner * sizeof *to);                                                         \
        else                                                                                                           \
            add_rows_##type(job->inner, weights, map->counts[j], from, to);                                            \
    }                                                                                                                  \
    static void add_elements_##type(const ox_axis_map *map, int64_t at, int64_t end, const loaded *from, type *to) {   \
        for (int64_t j = at; j < end; j++) {                                                                           \
            const double *weights = map->weights + j * map->taps;                                                      \
            const loaded *source = from + map->first[j];                                                               \
            type sum = 0;                                                                                              \
            for (int64_t k = 0; k < map->counts[j]; k++)                                                               \
                sum += (type)weights[k] * source[k];                                                                   \
            to[j] = sum;                                                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    static void pass_part_##type(void *context, int part, int parts) {                                                 \
        const pass_job *job = context;                                                                                 \
        const ox_axis_map *map = job->map;                                                                             \
        int64_t row, end;                                                                                              \
        ox_pool_range(job->rows, part, parts, &row, &end);                                                             \
        for (; job->inner > 1 && row < end; row++)                                                                     \
            add_row_##type(job, row);                                                                                  \
        while (row < end) {                                                                                            \
            const int64_t line = row / map->out, at = row % map->out, n = ox_least(map->out - at, end - row);          \
            add_elements_##type(map, at, at + n, (const loaded *)job->from + line * map->in,                           \
                                (type *)job->to + line * map->out);                                                    \
            row += n;                                                                                                  \
        }                                                                                                              \
    }
SUMS(float, ox_f32)
SUMS(double, ox_f64)

/* ---- Blocks ------------------------------------------------------------------------------------------------- */

/* Axes are done in the order in which they shrink. */
static void order_axes(ox_resize_plan *plan, int *count) {
    *count = 0;
    for (int d = plan->begin; d < plan->end; d++) {
        const ox_axis_map *map = &plan->maps[d];
        int at = *count;
        if (map->same)
            continue;
        for (; at > 0; at--) {
            const ox_axis_map *other = &plan->maps[plan->order[at - 1]];
            if ((double)other->out / (double)other->in <= (double)map->out / (double)map->in)
                break;
            plan->order[at] = plan->order[at - 1];
        }
        plan->order[at] = d;
        ++*count;
    }
    plan->order[*count] = -1;
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
        const ox_axis_map *map = &plan->maps[plan->order[i]];
        if (!ox_mul_i64(size / map->in, map->out, &size))
            return ox_call_fail(call, OX_ERROR_LIMIT, "%s is too large to be resized", OX_INPUT(call, 0));
        plan->most = size > plan->most ? size : plan->most;
    }
    for (int part = 0; part < 2 * (splits_blocks(call, plan) ? ox_pool_parts(call->pool) : 1); part++)
        OX_TRY(ox_workspace_add(call, plan->most, ox_sum_size(in->dtype)));
    return OX_OK;
}

/* What the threads do: blocks [first, end), with two buffers in turn. */
typedef struct block_job {
    ox_call *call;
    const ox_resize_plan *plan;
    const char *from;
    size_t used;   /* bytes of the workspace before the buffers */
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
        pass_job pass = {map, inner, count / inner, from,
                         d[1] < 0 && ox_sums_are_native(in->dtype) ? to : buffer[turn % 2]};
        ox_pool_run_pieces(job->pool, (double)count * (double)map->taps * (double)ox_sum_size(in->dtype),
                           ox_sums_are_wide(in->dtype) ? pass_part_double : pass_part_float, &pass);
        from = pass.to;
    }
    if (!ox_sums_are_native(in->dtype))
        ox_sums_to(call->loops, in->dtype, count, from, to);
}

static void blocks_part(void *context, int part, int parts) {
    const block_job *job = context;
    size_t used = job->used;
    int64_t at, end;
    char *buffer[2] = {NULL, NULL};
    for (int i = 0; i <= part; i++)
        for (int k = 0; k < 2; k++)
            buffer[k] = ox_workspace_take(job->call, &used, job->plan->most, ox_sum_size(job->call->in[0]->dtype));
    ox_pool_range(job->plan->outer, part, parts, &at, &end);
    for (; at < end && !ox_pool_poll(job->call->pool); at++)
        run_block(job, at, buffer);
}

void ox_passes_run(ox_call *call, const ox_resize_plan *plan, const char *from, size_t used) {
    const ox_tensor *in = call->in[0], *out = call->out[0];
    block_job job = {.call = call,
                     .plan = plan,
                     .from = from,
                     .used = used,
                     .in_count = ox_tensor_count(in) / plan->outer,
                     .out_count = ox_tensor_count(out) / plan->outer};
    const bool split = splits_blocks(call, plan);
    job.pool = split ? NULL : call->pool;
    const double bytes = (double)(ox_tensor_count(in) + ox_tensor_count(out)) * (double)ox_sum_size(in->dtype);
    ox_pool_run(split ? ox_pool_for(call->pool, bytes) : NULL, blocks_part, &job);
}
