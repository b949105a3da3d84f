/* scatter.c: Scatter, ScatterElements and ScatterND. The data is copied, and updates are written where indices say. One
 * thread does so in order, for two indices may name one place. */
#include "elements.h"
#include "iterate/walk.h"
#include "loops/lanes.h"

#include <string.h>

/* ---- Reductions --------------------------------------------------------------------------------------------- */

typedef enum reduction {
    REPLACE,
    ADD,
    MULTIPLY,
    MAXIMUM,
    MINIMUM
} reduction;

static ox_status read_reduction(ox_call *call, reduction *how) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    const int known = call->op->since < 16 ? 1 : call->version < 18 ? 3 : 5;
    ox_string text = ox_call_string(call, "reduction", "none");
    for (int i = 0; i < known; i++)
        if (ox_says(text, names[i])) {
            *how = (reduction)i;
            return OX_OK;
        }
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'reduction': '%.*s' is unknown here", OX_SHORT(text));
}

/* The loop that puts elements of a type together, and whether it takes them as floats. */
typedef struct combination {
    ox_lane *lane;
    ox_dtype dtype; /* that is widened; OX_UNDEFINED for none */
    int64_t width;
} combination;

static const ox_lanes *loops_of(const ox_call *call, reduction how, ox_dtype dtype) {
    const ox_lane_set sets[] = {OX_LANES_Add, OX_LANES_Mul, OX_LANES_Max, OX_LANES_Min};
    const ox_lane_set bool_sets[] = {OX_LANES_Or, OX_LANES_And, OX_LANES_Or, OX_LANES_And};
    return OX_BUILD_OF(call->loops, (dtype == OX_BOOL ? bool_sets : sets)[how - ADD]);
}

/* False if there is no such loop. */
static bool find_combination(const ox_call *call, reduction how, combination *c) {
    const ox_dtype dtype = call->in[0]->dtype;
    *c = (combination){NULL, OX_UNDEFINED, (int64_t)ox_dtype_size(dtype)};
    if (how == REPLACE)
        return true;
    c->lane = dtype > OX_BFLOAT16 ? NULL : loops_of(call, how, dtype)->fn[dtype];
    if (!c->lane && ox_dtype_compute(dtype) == OX_FLOAT) {
        c->lane = loops_of(call, how, OX_FLOAT)->fn[OX_FLOAT];
        c->dtype = dtype;
    }
    return c->lane != NULL;
}

/* The same with elements that are widened, and rounded again. */
static void combine_small(const combination *c, int64_t n, char *to, const char *from) {
    enum {
        PIECE = 128
    };
    float left[PIECE], right[PIECE];
    const int64_t step[] = {sizeof(float), sizeof(float), sizeof(float)};
    const ox_narrowing how = {.dtype = c->dtype};
    for (; n > 0; n -= PIECE, to += PIECE * c->width, from += PIECE * c->width) {
        const int64_t count = ox_least(n, PIECE);
        ox_widen(c->dtype, count, to, left);
        ox_widen(c->dtype, count, from, right);
        c->lane(count, (char *const[]){(char *)left, (char *)left, (char *)right}, step, NULL);
        ox_narrow(&how, count, left, to);
    }
}

/* Brings n packed elements to a place. */
static void combine(const combination *c, int64_t n, char *to, const char *from) {
    const int64_t step[] = {c->width, c->width, c->width};
    if (c->dtype != OX_UNDEFINED)
        combine_small(c, n, to, from);
    else
        c->lane(n, (char *const[]){to, to, (char *)(uintptr_t)from}, step, NULL);
}

/* Single elements, `from_step` apart. */
#define PLACE_ELEMENTS(type)                                                                                           \
    for (int64_t i = 0; i < n; i++)                                                                                    \
        OX_AT(type, to + offsets[i]) = OX_GET(type, from + i * from_step);                                             \
    return

static void place_elements(const combination *c, int64_t n, char *to, const int64_t *offsets, const char *from,
                           int64_t from_step) {
    if (c->lane) {
        for (int64_t i = 0; i < n; i++)
            combine(c, 1, to + offsets[i], from + i * from_step);
        return;
    }
    switch (c->width) {
    case 1:
        PLACE_ELEMENTS(ox_u8);
    case 2:
        PLACE_ELEMENTS(ox_u16);
    case 4:
        PLACE_ELEMENTS(ox_u32);
    case 8:
        PLACE_ELEMENTS(ox_u64);
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(to + offsets[i], from + i * from_step, (size_t)c->width);
    }
}

static ox_status check_updates(ox_call *call) {
    reduction how;
    combination c;
    if (call->in[2]->dtype != call->in[0]->dtype)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type: Cast one of them",
                            OX_INPUT(call, 0), OX_INPUT(call, 2));
    OX_TRY(read_reduction(call, &how));
    if (!find_combination(call, how, &c))
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "elements of %s cannot be reduced", OX_INPUT(call, 0));
    return OX_OK;
}

/* ---- ScatterElements ---------------------------------------------------------------------------------------- */

typedef struct scatter_elements {
    int axis;
    combination how;
    ox_bcast plan; /* over the indices: their steps, those of the output along all axes but one, of the updates */
} scatter_elements;

ox_status ox_infer_scatter_elements(ox_call *call) {
    const ox_tensor *data = call->in[0], *indices = call->in[1], *updates = call->in[2];
    int axis;
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT32) | OX_BIT(OX_INT64)));
    OX_TRY(check_updates(call));
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), data->rank, &axis));
    bool fits = data->rank == indices->rank;
    for (int d = 0; d < data->rank && fits; d++)
        fits = d == axis || indices->dims[d] <= data->dims[d];
    if (!fits)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have the rank of %s, and be no larger except on axis %d",
                            OX_INPUT(call, 1), OX_INPUT(call, 0), axis);
    if (!ox_same_dims(indices->rank, indices->dims, updates->rank, updates->dims))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same shape", OX_INPUT(call, 1),
                            OX_INPUT(call, 2));
    return ox_call_output(call, 0, data->dtype, data->rank, data->dims);
}

ox_status ox_prepare_scatter_elements(ox_call *call) {
    const ox_tensor *indices = call->in[1], *out = call->out[0];
    int64_t along[OX_MAX_RANK], places[OX_MAX_RANK], sources[OX_MAX_RANK];
    reduction how;
    scatter_elements *s = ox_call_state(call, sizeof *s);
    if (!s)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), out->rank, &s->axis));
    OX_TRY(read_reduction(call, &how));
    find_combination(call, how, &s->how);
    ox_tensor_strides(indices, along);
    ox_tensor_strides(out, places);
    ox_tensor_strides(call->in[2], sources);
    places[s->axis] = 0;
    return ox_plan_space(call, &s->plan, 3, indices->rank, indices->dims,
                         (const int64_t *const[]){along, places, sources});
}

/* Brings one row of updates to its places. */
static ox_status scatter_row(ox_call *call, const scatter_elements *s, ox_index_axis axis, const char *const *arg) {
    const bool wide = call->in[1]->dtype == OX_INT64;
    const int64_t count = s->plan.dim[0], *step = s->plan.step;
    int64_t offsets[OX_INDEX_PIECE];
    for (int64_t at = 0; at < count; at += OX_INDEX_PIECE) {
        const int64_t n = ox_least(count - at, OX_INDEX_PIECE);
        const char *indices = arg[0] + at * step[0];
        for (int64_t i = 0; i < n; i++)
            offsets[i] = (at + i) * step[1];
        const int64_t right = ox_index_offsets(wide, n, indices, step[0], axis, offsets);
        if (right < n)
            return ox_index_fail(call, ox_index_at(wide, indices, step[0], right), s->axis);
        place_elements(&s->how, n, (char *)(uintptr_t)arg[1], offsets, arg[2] + at * step[2], step[2]);
    }
    return OX_OK;
}

ox_status ox_run_scatter_elements(ox_call *call) {
    const scatter_elements *s = call->state;
    const ox_tensor *out = call->out[0];
    const char *arg[] = {call->in[1]->data, out->data, call->in[2]->data};
    int64_t index[OX_MAX_RANK + 1] = {0};
    ox_pack(call->loops, call->pool, call->in[0], out->data);
    if (ox_tensor_count(call->in[1]) == 0)
        return OX_OK;
    const ox_index_axis axis = {out->dims[s->axis], ox_stride(out, s->axis)};
    do
        OX_TRY(scatter_row(call, s, axis, arg));
    while (!ox_pool_poll(call->pool) && ox_walk(&s->plan, 1, index, arg));
    return OX_OK;
}

/* ---- ScatterND ---------------------------------------------------------------------------------------------- */

ox_status ox_infer_scatter_nd(ox_call *call) {
    const ox_tensor *data = call->in[0], *updates = call->in[2];
    int rank;
    int64_t dims[OX_MAX_RANK];
    OX_TRY(check_updates(call));
    OX_TRY(ox_tuples_infer(call, 0, &rank, dims));
    if (!ox_same_dims(rank, dims, updates->rank, updates->dims))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape %s", OX_INPUT(call, 2), OX_DIMS(rank, dims));
    return ox_call_output(call, 0, data->dtype, data->rank, data->dims);
}

/* Brings one block of updates to its place. */
static void place_block(const ox_call *call, const combination *c, int64_t block, char *to, const char *from) {
    if (c->lane)
        combine(c, block / c->width, to, from);
    else
        call->loops->copy_bytes(to, from, (size_t)block);
}

ox_status ox_run_scatter_nd(ox_call *call) {
    reduction how;
    combination c;
    int64_t offsets[OX_INDEX_PIECE];
    OX_TRY(read_reduction(call, &how));
    find_combination(call, how, &c);
    const ox_tuples tuples = ox_tuples_of(call, 0);
    char *to = call->out[0]->data;
    const char *from = call->in[2]->data;
    ox_pack(call->loops, call->pool, call->in[0], to);
    const int64_t count = ox_tensor_count(call->in[2]) ? tuples.tuples : 0;
    for (int64_t at = 0; at < count && !ox_pool_poll(call->pool); at += OX_INDEX_PIECE) {
        const int64_t n = ox_least(count - at, OX_INDEX_PIECE);
        OX_TRY(ox_tuples_offsets(call, &tuples, at, n, offsets));
        if (tuples.block == c.width)
            place_elements(&c, n, to, offsets, from + at * c.width, c.width);
        for (int64_t i = 0; i < n && tuples.block != c.width; i++)
            place_block(call, &c, tuples.block, to + offsets[i], from + (at + i) * tuples.block);
    }
    return OX_OK;
}
