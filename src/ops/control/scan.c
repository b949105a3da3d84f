/* scan.c: Scan, a body that runs over slices of inputs. Version 8 does so for each element of a batch. */
#include <string.h>

#include "iterate/bcast.h"
#include "rounds.h"

/* How the ends of a node are divided. */
typedef struct division {
    bool batched; /* version 8 */
    int first;    /* input of the node that is the first state, */
    int states;   /* ... of which there are so many, before ... */
    int scanned;  /* ... those that are scanned */
    int stacks;
} division;

static division divide(ox_call *call) {
    division d = {.batched = ox_call_version(call) < 9};
    const int64_t scanned = ox_call_int(call, "num_scan_inputs", 0);
    d.first = d.batched;
    d.scanned = scanned > 0 && scanned <= call->nin - d.first ? (int)scanned : 0;
    d.states = call->nin - d.first - d.scanned;
    d.stacks = call->nout - d.states;
    return d;
}

/* ---- Attributes --------------------------------------------------------------------------------------------- */

static ox_status check_list(ox_call *call, const char *name, int count, bool directions) {
    size_t given;
    const int64_t *list = ox_call_ints(call, name, &given);
    if (list && given != (size_t)count)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' has %zu elements, expected %d", name, given, count);
    for (size_t i = 0; directions && i < given; i++)
        if (list[i] != 0 && list[i] != 1)
            return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s': %lld is not a direction (0 or 1)", name,
                                (long long)list[i]);
    return OX_OK;
}

/* Element i of a list that has been checked; 0 where there is none. */
static int64_t element(ox_call *call, const char *name, int i) {
    const int64_t *list = ox_call_ints(call, name, NULL);
    return list ? list[i] : 0;
}

static const char *input_directions(const division *d) {
    return d->batched ? "directions" : "scan_input_directions";
}

/* The axis along which scanned input s is cut. */
static ox_status find_axis(ox_call *call, const division *d, int s, int *axis) {
    const int64_t wanted = d->batched ? 1 : element(call, "scan_input_axes", s);
    return ox_call_axis(call, "the scan axis", wanted, call->in[d->first + d->states + s]->rank, axis);
}

/* ---- Checks ------------------------------------------------------------------------------------------------- */

static ox_status check_ends(ox_call *call, const division *d) {
    int nin, nout;
    if (!d->scanned)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'num_scan_inputs' is %lld, with %d inputs to choose from",
                            (long long)ox_call_int(call, "num_scan_inputs", 0), call->nin - d->first);
    OX_TRY(ox_rounds_ends(call, &nin, &nout));
    if (nin != d->states + d->scanned || nout != call->nout || d->stacks < 0)
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "the body has %d inputs and %d outputs, the node %d and %d, with %d states among both", nin,
                            nout, d->states + d->scanned, call->nout, d->states);
    for (int i = d->first; i < call->nin; i++)
        if (!call->in[i])
            return ox_call_fail(call, OX_ERROR_MODEL, "input %d is required, but omitted", i);
    return OX_OK;
}

static ox_status check_lists(ox_call *call, const division *d) {
    OX_TRY(check_list(call, input_directions(d), d->scanned, true));
    OX_TRY(check_list(call, "scan_input_axes", d->scanned, false));
    OX_TRY(check_list(call, "scan_output_directions", d->stacks, true));
    return check_list(call, "scan_output_axes", d->stacks, false);
}

/* All scanned inputs are of one length. */
static ox_status check_lengths(ox_call *call, const division *d) {
    const int first = d->first + d->states;
    int axis, other;
    OX_TRY(find_axis(call, d, 0, &axis));
    for (int s = 1; s < d->scanned; s++) {
        OX_TRY(find_axis(call, d, s, &other));
        if (call->in[first]->dims[axis] != call->in[first + s]->dims[other])
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s, scanned along axes %d and %d, differ in length",
                                OX_INPUT(call, first), OX_INPUT(call, first + s), axis, other);
    }
    return OX_OK;
}

static ox_status check_batch(ox_call *call) {
    const ox_tensor *last = call->in[call->nin - 1], *lengths = call->in[0];
    for (int i = 1; i < call->nin; i++)
        if (call->in[i]->rank < 1 || call->in[i]->dims[0] != last->dims[0])
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have a batch of %lld as its first dimension",
                                OX_INPUT(call, i), (long long)last->dims[0]);
    if (!lengths)
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, 0, OX_BIT(OX_INT64)));
    if (lengths->rank != 1 || lengths->dims[0] != last->dims[0])
        return ox_call_fail(call, OX_ERROR_SHAPE, "the lengths, %s, must be a list of %lld", OX_INPUT(call, 0),
                            (long long)last->dims[0]);
    return OX_OK;
}

ox_status ox_infer_scan(ox_call *call) {
    const division d = divide(call);
    OX_TRY(check_ends(call, &d));
    OX_TRY(check_lists(call, &d));
    OX_TRY(check_lengths(call, &d));
    return d.batched ? check_batch(call) : OX_OK;
}

/* ---- Scanning ----------------------------------------------------------------------------------------------- */

/* A scanned input. */
typedef struct scanned {
    ox_tensor slice;
    int64_t dims[OX_MAX_RANK], strides[OX_MAX_RANK];
    unsigned char *start; /* of the element of the batch */
    int64_t step;         /* bytes from slice to slice */
    bool backward;
} scanned;

typedef struct scan {
    ox_rounds rounds;
    division d;
    int64_t batch, length;
    scanned *inputs;
} scan;

/* The tensor without `axis`, and without the batch. */
static void drop_axes(const ox_tensor *from, int axis, bool batched, scanned *to) {
    int64_t strides[OX_MAX_RANK];
    int rank = 0;
    ox_tensor_strides(from, strides);
    for (int d = batched; d < from->rank; d++) {
        if (d == axis)
            continue;
        to->dims[rank] = from->dims[d];
        to->strides[rank++] = strides[d];
    }
    to->slice = (ox_tensor){from->dtype, rank, to->dims, to->strides, from->data};
    to->step = axis < 0 ? 0 : strides[axis];
    if (ox_tensor_is_packed(&to->slice))
        to->slice.strides = NULL;
}

static ox_status describe_inputs(scan *s) {
    ox_call *call = s->rounds.call;
    for (int i = 0; i < s->d.scanned; i++) {
        const ox_tensor *input = call->in[s->d.first + s->d.states + i];
        int axis;
        OX_TRY(find_axis(call, &s->d, i, &axis));
        drop_axes(input, axis, s->d.batched, &s->inputs[i]);
        s->inputs[i].backward = element(call, input_directions(&s->d), i);
        s->length = input->dims[axis];
        OX_TRY(call->bodies->set(s->rounds.body, s->d.states + i, &s->inputs[i].slice));
    }
    return OX_OK;
}

/* The states of element b of the batch; where there is none, they are described alone. */
static ox_status start_states(scan *s, int64_t b) {
    for (int j = 0; j < s->d.states; j++) {
        const ox_tensor *initial = s->rounds.call->in[s->d.first + j];
        scanned state;
        if (!s->d.batched) {
            OX_TRY(ox_rounds_begin(&s->rounds, j, s->d.first + j));
            continue;
        }
        drop_axes(initial, -1, true, &state);
        if (s->batch)
            state.slice.data = (unsigned char *)initial->data + b * ox_stride(initial, 0);
        else
            state.slice.strides = NULL;
        OX_TRY(ox_rounds_carry(&s->rounds, j, &state.slice));
    }
    return OX_OK;
}

static ox_status run_round(scan *s, int64_t length) {
    ox_rounds *r = &s->rounds;
    for (int i = 0; i < s->d.scanned; i++) {
        scanned *input = &s->inputs[i];
        const int64_t at = input->backward ? length - 1 - r->done : r->done;
        input->slice.data = input->start + at * input->step;
        OX_TRY(r->call->bodies->set(r->body, s->d.states + i, &input->slice));
    }
    return ox_rounds_run(r);
}

/* Runs over element b of the batch. */
static ox_status run_element(scan *s, int64_t b, int64_t length) {
    ox_rounds *r = &s->rounds;
    r->done = 0;
    r->most = length;
    r->before = b * s->length;
    OX_TRY(start_states(s, b));
    for (int i = 0; i < s->d.scanned; i++) {
        const ox_tensor *input = r->call->in[s->d.first + s->d.states + i];
        s->inputs[i].start = (unsigned char *)input->data + (s->d.batched && length ? b * ox_stride(input, 0) : 0);
    }
    while (r->done < length)
        OX_TRY(run_round(s, length));
    return OX_OK;
}

static ox_status begin(scan *s, ox_call *call) {
    *s = (scan){.d = divide(call), .batch = 1};
    OX_TRY(ox_rounds_open(&s->rounds, call, 0, s->d.states, 0, (size_t)s->d.scanned * sizeof *s->inputs));
    s->inputs = s->rounds.own;
    s->rounds.fixed = true;
    if (s->d.batched)
        s->batch = call->in[call->nin - 1]->dims[0];
    OX_TRY(describe_inputs(s));
    if (!ox_mul_i64(s->batch, s->length, &s->rounds.total))
        return ox_call_fail(call, OX_ERROR_LIMIT, "a batch of %lld times %lld slices is too large", (long long)s->batch,
                            (long long)s->length);
    for (int k = 0; k < s->d.stacks; k++)
        s->rounds.stacks[k].backward = !s->d.batched && element(call, "scan_output_directions", k);
    return OX_OK;
}

/* ---- Version 9 and later ------------------------------------------------------------------------------------ */

/* Puts slices that lie one after the other along another axis. */
static ox_status give_moved(scan *s, int k, int axis) {
    ox_rounds *r = &s->rounds;
    const ox_stack *stack = &r->stacks[k - s->d.states];
    int64_t dims[OX_MAX_RANK], strides[OX_MAX_RANK], inner[OX_MAX_RANK];
    void *room;
    ox_packed_strides(stack->rank, stack->dims, ox_dtype_size(stack->dtype), inner);
    for (int d = 0; d <= stack->rank; d++) {
        const int from = d < axis ? d : d - 1;
        dims[d] = d == axis ? s->length : stack->dims[from];
        strides[d] = d == axis ? (int64_t)stack->bytes : inner[from];
    }
    const ox_tensor seen = {stack->dtype, stack->rank + 1, dims, strides, stack->slices};
    OX_TRY(ox_rounds_room(r, k, (size_t)s->length * stack->bytes, &room));
    ox_pack(r->call->loops, r->call->pool, &seen, room);
    return ox_call_give(r->call, k, &(ox_tensor){stack->dtype, stack->rank + 1, dims, NULL, room});
}

static ox_status give_stack(scan *s, int k) {
    ox_rounds *r = &s->rounds;
    const int number = k - s->d.states;
    const ox_stack *stack = &r->stacks[number];
    int64_t dims[OX_MAX_RANK];
    int axis;
    OX_TRY(ox_rounds_describe(r, number));
    OX_TRY(ox_call_axis(r->call, "the axis of a result", element(r->call, "scan_output_axes", number), stack->rank + 1,
                        &axis));
    if (axis)
        return give_moved(s, k, axis);
    dims[0] = s->length;
    for (int d = 0; d < stack->rank; d++)
        dims[d + 1] = stack->dims[d];
    return ox_rounds_give_stack(r, k, stack->rank + 1, dims);
}

static ox_status scan_all(scan *s) {
    OX_TRY(run_element(s, 0, s->length));
    for (int k = 0; k < s->d.states; k++)
        OX_TRY(ox_rounds_give_carried(&s->rounds, k));
    for (int k = s->d.states; k < s->rounds.call->nout; k++)
        OX_TRY(give_stack(s, k));
    return OX_OK;
}

/* ---- Version 8 ---------------------------------------------------------------------------------------------- */

static ox_status read_length(const scan *s, int64_t b, int64_t *length) {
    const ox_call *call = s->rounds.call;
    *length = call->in[0] ? ox_tensor_int(call->in[0], b) : s->length;
    if (*length >= 0 && *length <= s->length)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_VALUE, "element %lld of the batch is %lld long, out of range (0 to %lld)",
                        (long long)b, (long long)*length, (long long)s->length);
}

/* Puts the states of element b beside those of the others. */
static ox_status keep_states(scan *s, int64_t b) {
    ox_rounds *r = &s->rounds;
    for (int j = 0; j < s->d.states; j++) {
        const ox_tensor *now = &r->carried[j].now;
        const size_t bytes = (size_t)ox_tensor_count(now) * ox_dtype_size(now->dtype);
        size_t size;
        void *room;
        if (!ox_mul_size(bytes, (size_t)s->batch, &size))
            size = SIZE_MAX;
        OX_TRY(ox_rounds_room(r, j, size, &room));
        if (bytes)
            memcpy((unsigned char *)room + (size_t)b * bytes, now->data, bytes);
    }
    return OX_OK;
}

static ox_status give_states(scan *s) {
    ox_rounds *r = &s->rounds;
    for (int k = 0; k < s->d.states; k++) {
        const ox_tensor *now = &r->carried[k].now;
        ox_tensor all = {now->dtype, now->rank + 1, NULL, NULL, NULL};
        int64_t dims[OX_MAX_RANK];
        OX_TRY(ox_rounds_room(r, k, 0, &all.data));
        dims[0] = s->batch;
        for (int d = 0; d < now->rank; d++)
            dims[d + 1] = now->dims[d];
        all.dims = dims;
        OX_TRY(ox_call_give(r->call, k, &all));
    }
    return OX_OK;
}

/* Where nothing is scanned, the states stay what they are. */
static ox_status give_initial(scan *s) {
    ox_call *call = s->rounds.call;
    OX_TRY(start_states(s, 0));
    for (int k = 0; k < s->d.states; k++) {
        const ox_tensor *initial = call->in[s->d.first + k];
        ox_tensor copy = {initial->dtype, initial->rank, initial->dims, NULL, NULL};
        const size_t size = (size_t)ox_tensor_count(initial) * ox_dtype_size(initial->dtype);
        OX_TRY(ox_rounds_room(&s->rounds, k, size, &copy.data));
        ox_pack(call->loops, call->pool, initial, copy.data);
        OX_TRY(ox_call_give(call, k, &copy));
    }
    return OX_OK;
}

static ox_status run_batch(scan *s) {
    for (int64_t b = 0; b < s->batch; b++) {
        int64_t length;
        OX_TRY(read_length(s, b, &length));
        OX_TRY(run_element(s, b, length));
        OX_TRY(keep_states(s, b));
    }
    return give_states(s);
}

/* What is behind the end of a short sequence is 0. */
static ox_status give_padded(scan *s, int k) {
    ox_rounds *r = &s->rounds;
    const ox_stack *stack = &r->stacks[k - s->d.states];
    int64_t dims[OX_MAX_RANK + 1], length;
    OX_TRY(ox_rounds_describe(r, k - s->d.states));
    for (int64_t b = 0; r->call->in[0] && b < s->batch; b++) {
        OX_TRY(read_length(s, b, &length));
        if (stack->bytes)
            memset(stack->slices + (size_t)(b * s->length + length) * stack->bytes, 0,
                   (size_t)(s->length - length) * stack->bytes);
    }
    dims[0] = s->batch;
    dims[1] = s->length;
    for (int d = 0; d < stack->rank; d++)
        dims[d + 2] = stack->dims[d];
    return ox_rounds_give_stack(r, k, stack->rank + 2, dims);
}

static ox_status scan_batch(scan *s) {
    OX_TRY(s->batch && s->length ? run_batch(s) : give_initial(s));
    for (int k = s->d.states; k < s->rounds.call->nout; k++)
        OX_TRY(give_padded(s, k));
    return OX_OK;
}

/* Scan (8 ... 25). */
ox_status ox_control_scan(ox_call *call) {
    scan s;
    OX_TRY(begin(&s, call));
    return s.d.batched ? scan_batch(&s) : scan_all(&s);
}
