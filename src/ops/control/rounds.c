/* rounds.c: see rounds.h. */
#include "rounds.h"

#include "type.h"

#include <string.h>

#include "iterate/bcast.h"
#include "type.h"

/* Rooms of each output of the body: two places of a carried value, or the slices of a stack; another one. */
enum {
    SLICES = 0,
    OTHER = 2,
    ROOMS = 3
};

static ox_status take_room(ox_rounds *r, int k, int which, size_t size, size_t wish, size_t keep, void **room) {
    const int number = ROOMS * (r->body->placed_from + k) + which;
    return r->call->bodies->room(r->body, number, size, wish, keep, room);
}

/* ---- Where results go --------------------------------------------------------------------------------------- */

static size_t bytes_of(const ox_tensor *t) {
    return (size_t)ox_tensor_count(t) * ox_dtype_size(t->dtype);
}

/* Where an optional is carried, a round may give what would be in it. */
static bool is_inside(const ox_carried *c, ox_dtype type) {
    return ox_type_kind(c->type) == OX_KIND_OPTIONAL &&
           ox_type_fits(ox_type_around(OX_KIND_OPTIONAL, OX_UNDEFINED, type), c->type);
}

/* A value that grows will grow again. */
static ox_status place_carried(ox_rounds *r, int j, const ox_tensor *output, void **place) {
    ox_carried *c = &r->carried[j];
    const size_t size = bytes_of(output);
    if (c->stays) {
        *place = output->data;
        return OX_OK;
    }
    if (output->dtype != c->now.dtype && !is_inside(c, output->dtype))
        return ox_call_fail(r->call, ox_is_value(c->now.dtype) ? OX_ERROR_UNSUPPORTED : OX_ERROR_MODEL,
                            "output %d of the body is of type %s, the value carried is of %s", r->body->placed_from + j,
                            OX_TYPE(output->dtype), OX_TYPE(c->now.dtype));
    if (r->fixed && !ox_same_dims(output->rank, output->dims, c->now.rank, c->now.dims))
        return ox_call_fail(r->call, OX_ERROR_SHAPE, "output %d of the body has shape %s, the state before has %s",
                            r->body->placed_from + j, OX_DIMS(output->rank, output->dims),
                            OX_DIMS(c->now.rank, c->now.dims));
    const bool grows = r->done && size > c->bytes && size < SIZE_MAX / 2;
    c->bytes = size;
    return take_room(r, j, c->place == 0, size, grows ? size + size / 2 : size, 0, place);
}

static ox_status describe_slice(const ox_rounds *r, ox_stack *stack, ox_dtype dtype, int rank, const int64_t *dims) {
    if (ox_is_value(dtype))
        return ox_call_fail(r->call, OX_ERROR_MODEL, "results of type %s are not tensors, and cannot be stacked",
                            OX_TYPE(dtype));
    if (rank >= OX_MAX_RANK)
        return ox_call_fail(r->call, OX_ERROR_LIMIT, "a stack of results of rank %d: at most %d is supported", rank,
                            OX_MAX_RANK - 1);
    stack->dtype = dtype;
    stack->rank = rank;
    stack->bytes = (size_t)ox_count(rank, dims) * ox_dtype_size(dtype);
    for (int d = 0; d < rank; d++)
        stack->dims[d] = dims[d];
    return OX_OK;
}

static ox_status check_slice(const ox_rounds *r, int s, const ox_tensor *output) {
    const ox_stack *stack = &r->stacks[s];
    if (stack->dtype == output->dtype && ox_same_dims(stack->rank, stack->dims, output->rank, output->dims))
        return OX_OK;
    return ox_call_fail(r->call, OX_ERROR_SHAPE, "output %d of the body is %s %s, but was %s %s in the round before",
                        r->body->placed_from + r->ncarried + s, ox_dtype_name(output->dtype),
                        OX_DIMS(output->rank, output->dims), ox_dtype_name(stack->dtype),
                        OX_DIMS(stack->rank, stack->dims));
}

/* Room for `count` slices, and for twice as many where their number is not known. */
static ox_status need_slices(ox_rounds *r, int s, int64_t count) {
    ox_stack *stack = &r->stacks[s];
    const int64_t likely = r->total >= 0 ? r->total : count < r->most / 2 ? 2 * count : r->most;
    size_t size, wish;
    void *room;
    if (!ox_mul_size((size_t)count, stack->bytes, &size))
        size = SIZE_MAX;
    if (!ox_mul_size((size_t)likely, stack->bytes, &wish))
        wish = size;
    const size_t keep = (size_t)(r->before + r->done) * stack->bytes;
    OX_TRY(take_room(r, r->ncarried + s, SLICES, size, wish, stack->slices ? keep : 0, &room));
    stack->slices = room;
    return OX_OK;
}

static ox_status place_slice(ox_rounds *r, int s, const ox_tensor *output, void **place) {
    ox_stack *stack = &r->stacks[s];
    const int64_t at = r->before + (stack->backward ? r->most - 1 - r->done : r->done);
    if (stack->dtype == OX_UNDEFINED)
        OX_TRY(describe_slice(r, stack, output->dtype, output->rank, output->dims));
    OX_TRY(check_slice(r, s, output));
    OX_TRY(need_slices(r, s, r->total >= 0 ? r->total : at + 1));
    *place = stack->slices + (size_t)at * stack->bytes;
    return OX_OK;
}

static ox_status place_output(void *context, int k, const ox_tensor *output, void **place) {
    ox_rounds *r = context;
    const int j = k - r->body->placed_from;
    return j < r->ncarried ? place_carried(r, j, output, place) : place_slice(r, j - r->ncarried, output, place);
}

/* ---- Rounds ------------------------------------------------------------------------------------------------- */

static const ox_attr *find_body(ox_call *call) {
    const ox_attr *body = ox_call_attr(call, "body", OX_ATTR_GRAPH);
    if (!body)
        (void)ox_call_fail(call, OX_ERROR_MODEL, "attribute 'body' is missing");
    return body;
}

ox_status ox_rounds_ends(ox_call *call, int *nin, int *nout) {
    const ox_attr *body = find_body(call);
    if (!body)
        return OX_ERROR_MODEL;
    call->bodies->ends(body->u.graph, nin, nout);
    return OX_OK;
}

ox_status ox_rounds_open(ox_rounds *r, ox_call *call, int first, int ncarried, int placed_from, size_t own) {
    const ox_attr *body = find_body(call);
    if (!body)
        return OX_ERROR_MODEL;
    *r = (ox_rounds){.call = call, .first = first, .ncarried = ncarried, .most = INT64_MAX, .total = -1};
    OX_TRY(call->bodies->open(call, 0, body->u.graph, placed_from, &r->body));
    r->nstacks = r->body->nout - placed_from - ncarried;
    r->body->place = place_output;
    r->body->context = r;
    size_t values, stacks, size;
    void *room;
    if (!ox_mul_size((size_t)ncarried, sizeof *r->carried, &values) ||
        !ox_mul_size((size_t)r->nstacks, sizeof *r->stacks, &stacks) || __builtin_add_overflow(values, stacks, &size) ||
        __builtin_add_overflow(size, own, &size))
        return ox_fail_memory(call->error, "the values of a loop", SIZE_MAX);
    OX_TRY(call->bodies->room(r->body, ROOMS * r->body->nout, size, size, 0, &room));
    memset(room, 0, size);
    r->carried = room;
    r->stacks = (void *)((unsigned char *)room + values);
    r->own = (unsigned char *)room + values + stacks;
    return OX_OK;
}

/* The value is what lies there now, of that shape. */
static void take_value(ox_carried *c, const ox_tensor *value, void *data) {
    for (int d = 0; d < value->rank; d++)
        c->dims[d] = value->dims[d];
    c->now = (ox_tensor){value->dtype, value->rank, c->dims, NULL, data};
}

/* Packs a value into one of its two places. */
static ox_status pack_value(ox_rounds *r, int j, const ox_tensor *value) {
    ox_carried *c = &r->carried[j];
    const size_t size = bytes_of(value);
    void *room;
    OX_TRY(take_room(r, j, 0, size, size, 0, &room));
    ox_pack(r->call->loops, r->call->pool, value, room);
    take_value(c, value, room);
    c->place = 0;
    return OX_OK;
}

/* A value as an item of another. */
static const ox_value *item_of(const ox_rounds *r, const ox_tensor *value) {
    if (ox_is_value(value->dtype))
        return ox_value_in(value);
    ox_value *made = ox_make_tensor(r->call->strings, value->dtype, value->rank, value->dims, NULL);
    if (made)
        ox_pack(r->call->loops, r->call->pool, value, made->tensor.data);
    return made;
}

/* Shows a value to the next round. */
static ox_status set_carried(ox_rounds *r, int j) {
    ox_carried *c = &r->carried[j];
    const ox_value **items;
    if (c->stays)
        return OX_OK;
    if (c->now.dtype == c->type)
        return r->call->bodies->set(r->body, r->first + j, &c->now);
    c->around = ox_make_list(r->call->strings, c->type, 1, &items);
    if (!c->around || !(items[0] = item_of(r, &c->now)))
        return ox_fail_memory(r->call->error, "an optional", bytes_of(&c->now));
    return r->call->bodies->set(r->body, r->first + j, &(const ox_tensor){.dtype = c->type, .data = &c->around});
}

ox_status ox_rounds_begin(ox_rounds *r, int j, int given) {
    const ox_bodies *bodies = r->call->bodies;
    ox_carried *c = &r->carried[j];
    c->stays = bodies->gives_back(r->body, r->first + j, r->body->placed_from + j);
    c->given = given;
    return c->stays ? bodies->hand_in(r->body, r->first + j, given) : ox_rounds_carry(r, j, r->call->in[given]);
}

ox_status ox_rounds_carry(ox_rounds *r, int j, const ox_tensor *initial) {
    ox_carried *c = &r->carried[j];
    if (ox_tensor_is_packed(initial)) {
        take_value(c, initial, initial->data);
        c->place = -1;
    } else {
        OX_TRY(pack_value(r, j, initial));
    }
    c->type = initial->dtype;
    return set_carried(r, j);
}

/* True if no result of a round is made of strings or is no tensor: all of it lies in places of its own. */
static bool forgets(const ox_rounds *r) {
    for (int k = 0; k < r->body->nout; k++) {
        const ox_dtype dtype = r->body->results[k].dtype;
        if (dtype == OX_STRING || ox_is_value(dtype))
            return false;
    }
    return true;
}

/* Gives back what the round before made for itself: rounds, however many, then take the memory of one. What it gave
 * besides carried values and slices, Loop's condition, has been read. */
static void forget_round(ox_rounds *r) {
    if (r->forgets)
        ox_pile_restore(r->call->strings, r->made);
    r->made = ox_pile_save(r->call->strings);
    r->forgets = false;
}

ox_status ox_rounds_run(ox_rounds *r) {
    const ox_bodies *bodies = r->call->bodies;
    forget_round(r);
    for (int j = 0; r->done && j < r->ncarried; j++)
        OX_TRY(set_carried(r, j));
    ox_status status = bodies->run(r->body);
    if (status != OX_OK) {
        ox_error_prefix(r->call->error, "round %lld: ", (long long)r->done);
        return status;
    }
    for (int j = 0; j < r->ncarried; j++) {
        ox_carried *c = &r->carried[j];
        const ox_tensor *result = &r->body->results[r->body->placed_from + j];
        if (c->stays)
            continue;
        take_value(c, result, result->data);
        c->place = c->place == 0;
    }
    r->forgets = forgets(r);
    r->done++;
    return OX_OK;
}

/* ---- Results ------------------------------------------------------------------------------------------------ */

/* Output k of the node is its input i. */
static ox_status give_input(ox_call *call, int k, int i) {
    const ox_tensor *input = call->in[i];
    int64_t strides[OX_MAX_RANK];
    ox_tensor_strides(input, strides);
    return ox_call_view(call, k, i, 0, input->rank, input->dims, strides);
}

ox_status ox_rounds_give_carried(ox_rounds *r, int k) {
    ox_carried *c = &r->carried[k];
    if (c->stays)
        return give_input(r->call, k, c->given);
    if (c->place < 0) { /* it lies in memory of others */
        const ox_tensor initial = c->now;
        OX_TRY(pack_value(r, k, &initial));
    }
    return ox_call_give(r->call, k, &c->now);
}

ox_status ox_rounds_describe(ox_rounds *r, int s) {
    ox_stack *stack = &r->stacks[s];
    ox_result seen;
    if (stack->dtype == OX_UNDEFINED) {
        OX_TRY(r->call->bodies->foresee(r->body, r->body->placed_from + r->ncarried + s, &seen));
        OX_TRY(describe_slice(r, stack, seen.dtype, seen.rank, seen.dims));
    }
    return stack->slices ? OX_OK : need_slices(r, s, r->total >= 0 ? r->total : 0);
}

ox_status ox_rounds_room(ox_rounds *r, int k, size_t size, void **room) {
    return take_room(r, k, OTHER, size, size, 0, room);
}

ox_status ox_rounds_give_stack(ox_rounds *r, int k, int rank, const int64_t *dims) {
    const ox_stack *stack = &r->stacks[k - r->ncarried];
    return ox_call_give(r->call, k, &(ox_tensor){stack->dtype, rank, dims, NULL, stack->slices});
}
