/* pad.c: Pad and CenterCropPad. The part of the input that stays is moved into its place in the output; what lies
 * around it is filled, or copied from the output itself. */
#include "ops/axes.h"
#include "iterate/bcast.h"
#include "ops/scalar.h"

#include <string.h>

typedef enum pad_mode {
    PAD_CONSTANT,
    PAD_EDGE,
    PAD_REFLECT,
    PAD_WRAP
} pad_mode;

/* By axis: elements added in front of the first one and behind the last one, or taken away. */
typedef struct pad_widths {
    int64_t before[OX_MAX_RANK], after[OX_MAX_RANK];
} pad_widths;

/* By axis: the part [first, end) of the output that is the input's, from its element `from` on. */
typedef struct pad_plan {
    pad_mode mode;
    int64_t *first, *end, *from;
} pad_plan;

/* ---- Pad: infer --------------------------------------------------------------------------------------------- */

static ox_status read_mode(ox_call *call, pad_mode *mode) {
    static const char *const names[] = {"constant", "edge", "reflect", "wrap"};
    const int known = call->op->since >= 18 && call->version >= 19 ? 4 : 3;
    ox_string text = ox_call_string(call, "mode", "constant");
    for (int i = 0; i < known; i++)
        if (ox_says(text, names[i])) {
            *mode = (pad_mode)i;
            return OX_OK;
        }
    return ox_call_fail(call, OX_ERROR_MODEL, "mode '%.*s' is unknown", OX_SHORT(text));
}

enum {
    MOST_PADS = 2 * OX_MAX_RANK
};

static ox_status pads_attr(ox_call *call, int64_t *pads, int *count) {
    const char *name = call->op->since == 1 ? "paddings" : "pads";
    size_t given;
    const int64_t *values = ox_call_ints(call, name, &given);
    if (given > MOST_PADS)
        return ox_call_fail(call, OX_ERROR_LIMIT, "attribute '%s' has %zu values, at most %d are supported", name,
                            given, MOST_PADS);
    *count = (int)given;
    if (given)
        memcpy(pads, values, given * sizeof *values);
    return OX_OK;
}

/* The axes that pads are for: those of input 3, or all. */
static ox_status padded_axes(ox_call *call, ox_short_list *axes) {
    OX_TRY(ox_list_input(call, 3, OX_BIT(OX_INT32) | OX_BIT(OX_INT64), axes));
    return ox_axes_distinct(call, axes, call->in[0]->rank, "padded");
}

static ox_status pads_input(ox_call *call, int64_t *pads, int *count) {
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT64)));
    return ox_call_int_list(call, 1, pads, MOST_PADS, count);
}

static ox_status read_pads(ox_call *call, pad_widths *widths) {
    int64_t pads[MOST_PADS];
    int count;
    ox_short_list axes;
    OX_TRY(call->op->since < 11 ? pads_attr(call, pads, &count) : pads_input(call, pads, &count));
    OX_TRY(padded_axes(call, &axes));
    if (count != 2 * axes.count)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%d pads are given for %d axes, which need %d", count, axes.count,
                            2 * axes.count);
    memset(widths, 0, sizeof *widths);
    for (int i = 0; i < axes.count; i++) {
        widths->before[axes.value[i]] = pads[i];
        widths->after[axes.value[i]] = pads[axes.count + i];
    }
    return OX_OK;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* Where the input lies in a dimension of the output of size `dim`. */
static void place_input(int64_t dim, int64_t before, int64_t in, int64_t *first, int64_t *end) {
    *first = clamp(before, 0, dim);
    *end = clamp(in + before, *first, dim); /* in + before is in range: infer added both pads to `in` */
}

/* The output's size along axis d. */
static ox_status padded_dim(ox_call *call, const pad_widths *widths, int d, pad_mode mode, int64_t *dim) {
    const int64_t in = call->in[0]->dims[d], before = widths->before[d], after = widths->after[d];
    int64_t first, end;
    if (!ox_add_i64(in, before, dim) || !ox_add_i64(*dim, after, dim) || *dim < 0)
        return ox_call_fail(call, OX_ERROR_SHAPE, "pads %lld and %lld do not fit axis %d of %s", (long long)before,
                            (long long)after, d, OX_INPUT(call, 0));
    place_input(*dim, before, in, &first, &end);
    if (mode != PAD_CONSTANT && *dim > 0 && first == end)
        return ox_call_fail(call, OX_ERROR_SHAPE, "axis %d of %s has no elements left to repeat", d, OX_INPUT(call, 0));
    return OX_OK;
}

static ox_status check_constant(ox_call *call) {
    if (!ox_call_given(call, 2))
        return OX_OK;
    if (call->in[2]->dtype != call->in[0]->dtype)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type: Cast one of them",
                            OX_INPUT(call, 0), OX_INPUT(call, 2));
    if (ox_tensor_count(call->in[2]) != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have one element", OX_INPUT(call, 2));
    return OX_OK;
}

ox_status ox_infer_pad(ox_call *call) {
    const ox_tensor *in = call->in[0];
    pad_widths widths;
    pad_mode mode;
    int64_t dims[OX_MAX_RANK];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(read_mode(call, &mode));
    OX_TRY(check_constant(call));
    OX_TRY(read_pads(call, &widths));
    for (int d = 0; d < in->rank; d++)
        OX_TRY(padded_dim(call, &widths, d, mode, &dims[d]));
    return ox_call_output(call, 0, in->dtype, in->rank, dims);
}

/* ---- CenterCropPad: infer ----------------------------------------------------------------------------------- */

/* The output's dims. */
static ox_status centered_dims(ox_call *call, int64_t *dims) {
    ox_short_list axes, shape;
    const ox_tensor *in = call->in[0];
    OX_TRY(ox_list_attr(call, "axes", &axes));
    OX_TRY(ox_list_input(call, 1, OX_BIT(OX_INT32) | OX_BIT(OX_INT64), &shape));
    const int count = axes.given ? axes.count : in->rank;
    if (shape.count != count)
        return ox_call_fail(call, OX_ERROR_SHAPE, "shape %s has %d sizes for %d axes",
                            OX_DIMS(shape.count, shape.value), shape.count, count);
    for (int d = 0; d < in->rank; d++)
        dims[d] = in->dims[d];
    OX_TRY(ox_axes_distinct(call, &axes, in->rank, "listed"));
    for (int i = 0; i < count; i++) {
        if (shape.value[i] < 0)
            return ox_call_fail(call, OX_ERROR_SHAPE, "the size of axis %d is negative", (int)axes.value[i]);
        dims[axes.value[i]] = shape.value[i];
    }
    return OX_OK;
}

ox_status ox_infer_center_crop_pad(ox_call *call) {
    int64_t dims[OX_MAX_RANK];
    OX_TRY(centered_dims(call, dims));
    return ox_call_output(call, 0, call->in[0]->dtype, call->in[0]->rank, dims);
}

/* ---- Prepare ------------------------------------------------------------------------------------------------ */

static ox_status plan_pad(ox_call *call, pad_mode mode, const int64_t *before) {
    const ox_tensor *in = call->in[0], *out = call->out[0];
    const size_t rank = (size_t)in->rank;
    pad_plan *plan = ox_call_state(call, sizeof *plan);
    if (!plan)
        return OX_ERROR_MEMORY;
    plan->mode = mode;
    plan->first = ox_pile_array(call->pile, 3 * rank, sizeof *plan->first);
    if (!plan->first)
        return ox_fail_memory(call->error, "a prepared operator", 3 * rank * sizeof *plan->first);
    plan->end = plan->first + rank;
    plan->from = plan->end + rank;
    for (int d = 0; d < in->rank; d++) {
        place_input(out->dims[d], before[d], in->dims[d], &plan->first[d], &plan->end[d]);
        plan->from[d] = plan->first[d] == plan->end[d] ? 0 : plan->first[d] - before[d];
    }
    return OX_OK;
}

ox_status ox_prepare_pad(ox_call *call) {
    pad_widths widths;
    pad_mode mode;
    OX_TRY(read_mode(call, &mode));
    OX_TRY(read_pads(call, &widths));
    return plan_pad(call, mode, widths.before);
}

ox_status ox_prepare_center_crop_pad(ox_call *call) {
    int64_t before[OX_MAX_RANK];
    for (int d = 0; d < call->in[0]->rank; d++) {
        const int64_t more = call->out[0]->dims[d] - call->in[0]->dims[d];
        before[d] = more / 2; /* towards zero: half of what is taken away, or added, rounded down */
    }
    return plan_pad(call, PAD_CONSTANT, before);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* The output while its axes are padded from the last one to the first: what is there already. */
typedef struct pad_job {
    const ox_call *call;
    const pad_plan *plan;
    int rank;
    size_t width;
    int64_t size[OX_MAX_RANK], strides[OX_MAX_RANK];
    char *data; /* of what is there */
} pad_job;

/* Copies `count` slices across axis d to the place `to` from the place `from`, which goes on by `step` slices each. */
static void copy_slices(pad_job *job, int d, int64_t to, int64_t from, int64_t count, int64_t step) {
    int64_t source[OX_MAX_RANK], size[OX_MAX_RANK];
    memcpy(source, job->strides, sizeof source);
    memcpy(size, job->size, sizeof size);
    source[d] *= step;
    size[d] = count;
    ox_move(job->call->loops, job->call->pool, job->rank, size, job->width, job->data + to * job->strides[d],
            job->strides, job->data + from * job->strides[d], source);
}

/* Fills [0, first) of axis d with copies of [first, end), which repeats every `period` slices. Each copy is twice as
 * long as the one before. */
static void repeat_before(pad_job *job, int d, int64_t period, int64_t first, int64_t end) {
    while (first > 0) {
        const int64_t distance = (end - first) / period * period, count = ox_least(distance, first);
        copy_slices(job, d, first - count, first - count + distance, count, 1);
        first -= count;
    }
}

static void repeat_after(pad_job *job, int d, int64_t period, int64_t end, int64_t dim) {
    while (end < dim) {
        const int64_t distance = end / period * period, count = ox_least(distance, dim - end);
        copy_slices(job, d, end, end - distance, count, 1);
        end += count;
    }
}

/* Pads axis d on both sides by what is between first and end. */
static void pad_axis(pad_job *job, int d, int64_t first, int64_t end, int64_t dim) {
    const int64_t inside = end - first;
    int64_t period = inside;
    if (job->plan->mode == PAD_EDGE) {
        copy_slices(job, d, 0, first, first, 0);
        copy_slices(job, d, end, end - 1, dim - end, 0);
        return;
    }
    if (job->plan->mode == PAD_REFLECT && inside > 1) {
        const int64_t before = ox_least(first, inside - 1), after = ox_least(dim - end, inside - 1);
        copy_slices(job, d, first - before, first + before, before, -1);
        copy_slices(job, d, end, end - 2, after, -1);
        period = 2 * (inside - 1);
        first -= before;
        end += after;
    }
    repeat_before(job, d, period, first, end);
    repeat_after(job, d, period, end, dim);
}

static void pad_around(pad_job *job, const int64_t *dims) {
    const pad_plan *plan = job->plan;
    for (int d = job->rank; d-- > 0;) {
        job->data -= plan->first[d] * job->strides[d];
        pad_axis(job, d, plan->first[d], plan->end[d], dims[d]);
        job->size[d] = dims[d];
    }
}

/* The element that the output is filled with. */
static const void *fill_element(ox_call *call, void *room) {
    if (ox_call_given(call, 2))
        return call->in[2]->data;
    ox_make_element(call->out[0]->dtype, call->op->since < 11 ? ox_call_float(call, "value", 0) : 0, room);
    return room;
}

ox_status ox_run_pad(ox_call *call) {
    const ox_tensor *in = call->in[0], *out = call->out[0];
    const pad_plan *plan = call->state;
    pad_job job = {.call = call, .plan = plan, .rank = in->rank, .width = ox_dtype_size(in->dtype), .data = out->data};
    int64_t source[OX_MAX_RANK];
    const char *from = in->data;
    ox_tensor_strides(in, source);
    ox_packed_strides(out->rank, out->dims, job.width, job.strides);
    for (int d = 0; d < job.rank; d++) {
        job.size[d] = plan->end[d] - plan->first[d];
        job.data += plan->first[d] * job.strides[d];
    }
    if (ox_count(job.rank, job.size) > 0) {
        for (int d = 0; d < job.rank; d++)
            from += plan->from[d] * source[d];
        ox_move(call->loops, call->pool, job.rank, job.size, job.width, job.data, job.strides, from, source);
    }
    if (plan->mode != PAD_CONSTANT) {
        pad_around(&job, out->dims);
        return OX_OK;
    }
    _Alignas(OX_ELEMENT_MAX) char element[OX_ELEMENT_MAX];
    ox_fill_outside(call, out->rank, out->dims, plan->first, plan->end, job.width, out->data,
                    fill_element(call, element));
    return OX_OK;
}
