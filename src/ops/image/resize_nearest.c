/* resize_nearest.c: Resize by the nearest element: copies, whatever the type. */
#include "resize.h"
#include "iterate/bcast.h"
#include "loops/lanes.h"
#include "ops/pick.h"

#include <string.h>

/* True if each element of the axis is repeated equally often. */
static bool is_repeated(const ox_axis_map *map) {
    bool repeated = map->out % map->in == 0;
    const int64_t times = repeated ? map->out / map->in : 1;
    for (int64_t i = 0, j = 0; i < map->in && repeated; i++)
        for (int64_t k = 0; k < times && repeated; k++)
            repeated = map->first[j++] == i;
    return repeated;
}

static ox_status make_offsets(ox_call *call, const ox_axis_map *map, int64_t step, int64_t **offsets) {
    *offsets = ox_pile_array(call->pile, (size_t)map->out, sizeof **offsets);
    if (!*offsets)
        return ox_fail_memory(call->error, "the places of an axis", (size_t)map->out * sizeof **offsets);
    for (int64_t j = 0; j < map->out; j++)
        (*offsets)[j] = (map->first ? map->first[j] : j) * step;
    return OX_OK;
}

ox_status ox_nearest_prepare(ox_call *call, ox_resize_plan *plan) {
    const ox_tensor *in = call->in[0];
    int64_t strides[OX_MAX_RANK];
    plan->repeats = true;
    for (int d = plan->begin; d < plan->end; d++)
        plan->repeats &= plan->maps[d].same || is_repeated(&plan->maps[d]);
    /* Twice as many dimensions as change, and the others. */
    plan->repeats &= 2 * (plan->end - plan->begin) + 2 <= OX_MAX_RANK;
    if (plan->repeats)
        return OX_OK;
    plan->offsets = ox_pile_array(call->pile, (size_t)in->rank, sizeof *plan->offsets);
    if (!plan->offsets)
        return ox_fail_memory(call->error, "a prepared operator", (size_t)in->rank * sizeof *plan->offsets);
    ox_packed_strides(in->rank, in->dims, ox_dtype_size(in->dtype), strides);
    for (int d = plan->begin; d < plan->end; d++)
        OX_TRY(make_offsets(call, &plan->maps[d], strides[d], &plan->offsets[d]));
    return OX_OK;
}

/* ---- Whole factors ------------------------------------------------------------------------------------------ */

static void run_repeats(ox_call *call, const ox_resize_plan *plan, const char *source) {
    const size_t width = ox_dtype_size(call->in[0]->dtype);
    int64_t dims[OX_MAX_RANK], to[OX_MAX_RANK], from[OX_MAX_RANK];
    int rank = 0;
    dims[rank++] = plan->outer;
    for (int d = plan->begin; d < plan->end; d++) {
        dims[rank++] = plan->maps[d].in;
        dims[rank++] = plan->maps[d].out / plan->maps[d].in;
    }
    dims[rank++] = plan->inner;
    ox_packed_strides(rank, dims, width, to);
    int64_t step = from[rank - 1] = (int64_t)width;
    step *= plan->inner;
    for (int k = rank - 2; k > 0; k -= 2) {
        from[k] = 0;
        from[k - 1] = step;
        step *= dims[k - 1];
    }
    from[0] = step;
    ox_move(call->loops, call->pool, rank, dims, width, call->out[0]->data, to, source, from);
}

enum {
    SHORT_ROW = 4 << 10 /* bytes of a row of the result, of which a call of a loop costs more than the copying */
};

/* The last two axes, repeated: rows of an input that lie behind each other. */
typedef struct row_job {
    const ox_loops *loops;
    const char *from;
    char *to;
    int64_t rows, times;     /* of the input, and how often each is repeated */
    int64_t n, count, width; /* elements of such a row, how often each is repeated, and their bytes */
} row_job;

static void repeat_part(void *context, int part, int parts) {
    const row_job *job = context;
    const int64_t row = job->n * job->width;
    int64_t at, end;
    ox_pool_range(job->rows, part, parts, &at, &end);
    job->loops->repeat_rows((size_t)job->width, job->n, job->count, end - at, job->times,
                            job->to + at * job->times * job->count * row, job->from + at * row);
}

/* True if the last two axes are all that changes, their rows are short, and what is behind them is as wide as an
 * element of some type: then those are repeated row by row. */
static bool run_rows(ox_call *call, const ox_resize_plan *plan, const char *source) {
    const ox_axis_map *high = &plan->maps[plan->end - 2], *wide = &plan->maps[plan->end - 1];
    const int64_t width = plan->inner * (int64_t)ox_dtype_size(call->in[0]->dtype);
    if (OX_SMALL || plan->end - plan->begin != 2 || width > (int64_t)sizeof(any128) || (width & (width - 1)) ||
        wide->out * width > SHORT_ROW)
        return false;
    row_job job = {call->loops, source, call->out[0]->data, .width = width};
    job.rows = plan->outer * high->in;
    job.times = high->out / high->in;
    job.n = wide->in;
    job.count = wide->out / wide->in;
    ox_pool_run_pieces(call->pool, (double)job.rows * (double)job.times * (double)(wide->out * width), repeat_part,
                       &job);
    return true;
}

/* ---- Other places ------------------------------------------------------------------------------------------- */

typedef struct nearest_job {
    const ox_call *call;
    const ox_resize_plan *plan;
    const char *from;
    int64_t rows, row_bytes, block; /* a row is the last of the axes that change */
    int64_t outer_step;
} nearest_job;

/* Where in the input the row comes from that is counted by `index`. */
static const char *row_source(const nearest_job *job, const int64_t *index) {
    const ox_resize_plan *plan = job->plan;
    const char *from = job->from + index[0] * job->outer_step;
    for (int d = plan->begin; d < plan->end - 1; d++)
        from += plan->offsets[d][index[d + 1]];
    return from;
}

/* index[d + 1] counts axis d of those that change, index[0] what is before them. */
static void seek_row(const nearest_job *job, int64_t row, int64_t *index) {
    for (int d = job->plan->end - 1; d-- > job->plan->begin;) {
        index[d + 1] = row % job->plan->maps[d].out;
        row /= job->plan->maps[d].out;
    }
    index[0] = row;
}

static void next_row(const nearest_job *job, int64_t *index) {
    for (int d = job->plan->end - 1; d-- > job->plan->begin;) {
        if (++index[d + 1] < job->plan->maps[d].out)
            return;
        index[d + 1] = 0;
    }
    index[0]++;
}

static void nearest_part(void *context, int part, int parts) {
    const nearest_job *job = context;
    const ox_resize_plan *plan = job->plan;
    const ox_axis_map *last = &plan->maps[plan->end - 1];
    const char *before = NULL;
    int64_t at, end, index[OX_MAX_RANK + 1] = {0};
    ox_pool_range(job->rows, part, parts, &at, &end);
    seek_row(job, at, index);
    for (; at < end; at++, next_row(job, index)) {
        const char *from = row_source(job, index);
        char *to = (char *)job->call->out[0]->data + at * job->row_bytes;
        if (from == before)
            memcpy(to, to - job->row_bytes, (size_t)job->row_bytes);
        else
            ox_pick_blocks(job->call->loops, to, from, job->block, last->out, plan->offsets[plan->end - 1]);
        before = from;
    }
}

void ox_nearest_run(ox_call *call, const ox_resize_plan *plan, const char *from) {
    const ox_tensor *in = call->in[0], *out = call->out[0];
    if (plan->repeats) {
        if (!run_rows(call, plan, from))
            run_repeats(call, plan, from);
        return;
    }
    nearest_job job = {
        .call = call, .plan = plan, .from = from, .block = plan->inner * (int64_t)ox_dtype_size(in->dtype)};
    job.row_bytes = job.block * plan->maps[plan->end - 1].out;
    job.rows = ox_tensor_count(out) * (int64_t)ox_dtype_size(out->dtype) / job.row_bytes;
    job.outer_step = ox_tensor_count(in) / plan->outer * (int64_t)ox_dtype_size(in->dtype);
    ox_pool_run_pieces(call->pool, (double)job.rows * (double)job.row_bytes, nearest_part, &job);
}
